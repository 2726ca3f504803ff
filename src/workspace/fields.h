// SPDX-License-Identifier: Apache-2.0
// Reading an object of a configuration by a table of its members: each row is a name and the function that reads its value.
//
// A reader takes the findings, the value with the name it goes by, and what it fills in. What cannot be read is a finding
// and leaves the default. The readers here are made for a member of a struct:
//
//   constexpr std::array kLimitFields = {
//       Field<NodeLimits>{"connections", integer<&NodeLimits::connections, 1, 65'536>},
//   };
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "diagnostics/diagnostic.h"
#include "json/decimal.h"
#include "workspace/text_rules.h"

namespace baton::workspace {

// A value and the member it belongs to; elements of a list go by the list's name.
struct Value {
  json::Node node;
  std::string_view name;
};

class Findings {
 public:
  void add(Code code, json::Node at, std::initializer_list<Argument> arguments) {
    if (!full()) list_.push_back(report(code, place_of(at), arguments));
  }
  void add_missing(json::Node parent, std::string_view name, std::string_view expected) {
    if (!full())
      list_.push_back(
          report(Code::CONFIG_FIELD_MISSING, place_of_absent(parent, name), {{"field", name}, {"expected", expected}}));
  }
  std::vector<Diagnostic> take() { return std::move(list_); }

  // Is the value of this kind? A finding when not.
  bool is(json::Kind kind, Value value, std::string_view expected) {
    if (value.node.is(kind)) return true;
    add(Code::CONFIG_FIELD_TYPE, value.node,
        {{"field", value.name}, {"kind", json::kind_name(value.node.kind())}, {"expected", expected}});
    return false;
  }
  void refuse(Value value, std::string_view problem, std::string_view expected) {
    add(Code::CONFIG_FIELD_VALUE, value.node, {{"field", value.name}, {"problem", problem}, {"expected", expected}});
  }
  void out_of_range(Value value, std::string_view expected) {
    add(Code::CONFIG_FIELD_RANGE, value.node, {{"field", value.name}, {"expected", expected}});
  }

 private:
  bool full() const { return list_.size() >= limits::kDiagnosticsMax; }
  std::vector<Diagnostic> list_;
};

template <class Into>
struct Field {
  std::string_view name;
  void (*read)(Findings&, Value, Into&);
  std::string_view required = {};  // what is expected when it has to be there; empty: it may be absent
};

// Members of people's own, which nobody reads.
inline bool is_own(std::string_view name) { return name.starts_with("x-"); }

// --- objects ----------------------------------------------------------------------------------------------------------

template <class Fields, class Into>
void read_object(Findings& findings, Value value, const Fields& fields, Into& into) {
  if (!findings.is(json::Kind::Object, value, "an object")) return;
  for (const json::Member member : value.node.members()) {
    const auto row = [&] {
      for (const auto& field : fields)
        if (field.name == member.name()) return &field;
      return decltype(&fields[0]){nullptr};
    }();
    if (row != nullptr) {
      row->read(findings, {member.value, row->name}, into);
    } else if (!is_own(member.name())) {
      std::string known;
      for (const auto& field : fields) ((known += known.empty() ? "`" : ", `") += field.name) += "`";
      findings.add(Code::CONFIG_FIELD_UNKNOWN, member.key, {{"field", member.name()}, {"known", known}});
    }
  }
  for (const auto& field : fields)
    if (!field.required.empty() && !value.node[field.name])
      findings.add_missing(value.node, field.name, field.required);
}

template <const auto& fields, class Into>
void object(Findings& findings, Value value, Into& into) {
  read_object(findings, value, fields, into);
}

// --- scalars ----------------------------------------------------------------------------------------------------------

namespace member_of {
template <class T>
struct Parts;
template <class Object, class Type>
struct Parts<Type Object::*> {
  using Owner = Object;
  using Member = Type;
};
template <auto member>
using Owner = typename Parts<decltype(member)>::Owner;
template <auto member>
using Type = typename Parts<decltype(member)>::Member;
}  // namespace member_of

template <auto member>
void boolean(Findings& findings, Value value, member_of::Owner<member>& into) {
  if (findings.is(json::Kind::Boolean, value, "true or false")) into.*member = value.node.boolean();
}

template <auto member, std::int64_t min, std::int64_t max>
void integer(Findings& findings, Value value, member_of::Owner<member>& into) {
  if (!findings.is(json::Kind::Number, value, "a whole number")) return;
  const auto number = json::to_int64(value.node.number_text());
  if (number && *number >= min && *number <= max) into.*member = static_cast<member_of::Type<member>>(*number);
  else findings.out_of_range(value, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
}

// The text, when it is one and the rule has nothing against it; null otherwise.
inline const json::Node* checked_text(Findings& findings, const Value& value, const TextRule& rule) {
  if (!findings.is(json::Kind::String, value, "a string")) return nullptr;
  const std::string_view problem = rule.problem(value.node.string());
  if (problem.empty()) return &value.node;
  findings.refuse(value, problem, rule.expected);
  return nullptr;
}

template <auto member, const TextRule& rule>
void text(Findings& findings, Value value, member_of::Owner<member>& into) {
  if (const json::Node* node = checked_text(findings, value, rule)) into.*member = node->string();
}

// A list of texts, none of them twice.
template <auto member, const TextRule& rule>
void texts(Findings& findings, Value value, member_of::Owner<member>& into) {
  if (!findings.is(json::Kind::Array, value, "a list of strings")) return;
  auto& list = into.*member;
  list.clear();
  std::set<std::string_view> seen;
  for (const json::Node element : value.node.elements()) {
    const Value one{element, value.name};
    if (checked_text(findings, one, rule) == nullptr) continue;
    if (seen.insert(element.string()).second) list.emplace_back(element.string());
    else findings.refuse(one, "lists the same twice", "each once");
  }
}

}  // namespace baton::workspace
