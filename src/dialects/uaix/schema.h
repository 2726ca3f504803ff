// SPDX-License-Identifier: Apache-2.0
// The shape of UAI-1 packets as data: for every object its members, for every member its rule. schema.cc is the table to
// read; this header says what its columns mean.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/stepped_sha256.h"
#include "diagnostics/diagnostic.h"

namespace baton::uaix {

struct ObjectRule;

enum class Type : std::uint8_t { String, Integer, Number, Boolean, Object, Strings, Objects, Any, AnyObject };

struct MemberRule {
  std::string_view name;
  Type type;
  bool required = true;
  bool nullable = false;
  std::int64_t min = 0, max = 0;  // String: characters (0 max: free); Integer, Number: value; lists: items
  bool (*matches)(std::string_view) = nullptr;    // String: the format
  std::string_view expected = {};                 // in words, for the format or the values
  std::span<const std::string_view> values = {};  // String: the closed list
  const ObjectRule* object = nullptr;             // Object, and each of Objects
  Code missing = Code::UAIX_FIELD_MISSING;
  Code malformed = Code::UAIX_FIELD_FORMAT;  // wrong format; and wrong type too when `malformed_type` is set
  bool malformed_type = false;
};

struct ObjectRule {
  std::span<const MemberRule> members;
  bool is_party = false;       // source and target: whatever is wrong with a member is one code
  std::uint32_t required = 0;  // a bit for each member that is

  template <std::size_t kCount>
  constexpr ObjectRule(const MemberRule (&table)[kCount], bool party = false) : members(table), is_party(party) {
    static_assert(kCount <= 32);
    for (std::size_t i = 0; i < kCount; ++i) required |= table[i].required ? 1u << i : 0u;
  }
};

const ObjectRule& envelope_rule();
// The body of a profile; null for a profile that is not known.
const ObjectRule* body_rule(std::string_view profile);

// Checks an object against its rule, everything in it too. The body is not entered: its rule depends on the profile.
// `meanwhile` goes a step on with each member.
void check_object(json::Node object, const ObjectRule& rule, std::vector<Diagnostic>& out,
                  SteppedSha256* meanwhile = nullptr);

}  // namespace baton::uaix
