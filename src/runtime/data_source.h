// SPDX-License-Identifier: Apache-2.0
// Where data comes from that one agent wrote and another is given: with each section of the context its author, its labels, and what in it
// looks like an instruction (wording/data.h). Any thread.
#pragma once

#include "json/value.h"
#include "runtime/work_rows.h"

namespace baton::runtime {

// {"author", "labels", "version", "changed_at", "session_id", "work_id", "suspicious"?}
json::Value source_of(const ContextSection& section);

// The sections that a session is given: their values by name, and where each comes from.
struct GivenContext {
  json::Value sections = json::Value::object(), sources = json::Value::object();

  void add(ContextSection section);
  // As `context`, `context_sources` and `data_notice`.
  void set_in(json::Value& answer) const;
};

// What of an item's texts looks like an instruction, as `suspicious`; and the notice where agents may have written some.
void flag_item(json::Value& shown);

}  // namespace baton::runtime
