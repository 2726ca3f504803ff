// SPDX-License-Identifier: Apache-2.0
// Inside the compiler: reading the values of a file that was checked against its shape. What is not of its shape has been
// reported there; these pass over it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/findings.h"
#include "contract/plan.h"
#include "contract/shape.h"

namespace baton::contract {

std::string text_in(json::Node object, std::string_view member);  // empty when it is none
std::vector<std::string> texts_in(json::Node object, std::string_view member);
bool flag_in(json::Node object, std::string_view member, bool otherwise);
std::optional<std::int64_t> whole_in(json::Node object, std::string_view member);
std::optional<json::Decimal> number_in(json::Node object, std::string_view member);

// The value of an enumeration, by the place of its word; nothing when it is none of them.
template <class Enum>
std::optional<Enum> word_in(json::Node object, std::string_view member, std::span<const std::string_view> words) {
  const json::Node value = object[member];
  if (!value.is_string()) return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == value.string()) return static_cast<Enum>(i);
  return std::nullopt;
}

// JSONPATH_SYNTAX, JSONPATH_UNSUPPORTED.
std::optional<PathAt> path_at(Findings& findings, json::Node value);
std::optional<PathAt> path_in(Findings& findings, json::Node object, std::string_view member);

// REGEX_INVALID, REGEX_UNSUPPORTED, at the node.
std::shared_ptr<const re2::RE2> regex_at(Findings& findings, json::Node value);
// The same without a finding: null, and what is wrong.
std::shared_ptr<const re2::RE2> compile_regex(std::string_view pattern, bool& unsupported, std::string& problem);

// An invariant's operators. INVARIANT_NO_OPERATOR, INVARIANT_CONTRADICTION, and what paths and expressions give. Nothing when
// its path is none. `ref` and `tolerance` are not looked at.
std::optional<Invariant> invariant_at(Findings& findings, json::Node entry, bool has_ref = false);
std::vector<Invariant> invariants_in(Findings& findings, json::Node object, std::string_view member);

// gte, lte and equals of an object without a path.
std::vector<Test> tests_in(Findings& findings, json::Node entry, std::span<const Op> ops);

}  // namespace baton::contract
