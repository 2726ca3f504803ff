// SPDX-License-Identifier: Apache-2.0
// What was found wrong with a pack: diagnostics, each with the file it is in. All independent faults are collected.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "diagnostics/diagnostic.h"

namespace baton::contract {

struct Finding {
  std::string file;  // as the pack names it: "session.yaml"
  Diagnostic diagnostic;
  std::string text = {};  // the offending text, as it stands in the file; empty: there is none

  // Of a graph check: what it is about, the calls that show it, and why it was suppressed.
  std::string tool = {}, phase = {}, name = {};
  std::vector<std::string> calls = {};  // a shortest sequence that gets stuck, or that reaches what it should not
  bool is_undecided = false;            // the budget was used up before an answer was found
};

class Findings {
 public:
  // What is reported from here on is in this file.
  void in(std::string file) { file_ = std::move(file); }
  const std::string& file() const { return file_; }

  Finding& add(Code code, json::Node at, std::initializer_list<Argument> arguments = {});
  Finding& add_absent(Code code, json::Node parent, std::string_view member,
                      std::initializer_list<Argument> arguments = {});
  Finding& add(Diagnostic diagnostic);

  const std::vector<Finding>& list() const { return list_; }
  std::vector<Finding> take() { return std::move(list_); }

 private:
  Finding& keep(Finding finding);

  std::string file_;
  std::vector<Finding> list_;
  Finding dropped_;  // what is beyond the bound goes here
};

bool has_errors(const std::vector<Finding>& findings);
// --strict: warnings become errors. What is only information stays that.
void make_strict(std::vector<Finding>& findings);
// By file, then by place.
void sort(std::vector<Finding>& findings);

}  // namespace baton::contract
