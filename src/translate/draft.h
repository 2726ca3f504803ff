// SPDX-License-Identifier: Apache-2.0
// A target document in the making: what came from where, so that losses can be listed.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "handoff/handoff.h"

namespace baton::translate {

class Draft {
 public:
  explicit Draft(const Handoff& source) : source_(source) {}

  const Handoff& source() const { return source_; }
  json::Value& target() { return target_; }
  std::vector<Diagnostic>& diagnostics() { return diagnostics_; }

  // Puts a field's value at `pointer`, as it is; nothing happens when the source does not have it.
  void carry(Field field, std::string_view pointer);
  // Puts a list at `pointer` as strings: an item that is no string as its JSON.
  void carry_strings(Field field, std::string_view pointer);
  void put(std::string_view pointer, json::Value value);
  // The field has found its place.
  void carried(Field field);

  // Diagnostics for all members of the source that were not carried, except those the format itself implies.
  void report_losses(std::string_view target_name, const std::vector<std::string>& implied);

 private:
  const Handoff& source_;
  json::Value target_ = json::Value::object();
  std::set<std::string> carried_;
  std::vector<Diagnostic> diagnostics_;
};

// The items of a list as strings; one for a string, none for anything else.
std::vector<std::string> as_strings(const json::Value* value);

// At most `bytes_max` bytes, cut between characters.
std::string cut(std::string text, std::size_t bytes_max);

Diagnostic with_pointer(Code code, const std::string& pointer, std::string_view target_name);

// The document a handoff came from.
json::Value handoff_document(const Handoff& handoff);

// The mapping of each pair; errors stand in the draft's diagnostics.
void map_to_agent_exit(Draft& draft);
void map_to_agent_contract(Draft& draft);
void map_to_uaix(Draft& draft);

}  // namespace baton::translate
