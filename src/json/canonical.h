// SPDX-License-Identifier: Apache-2.0
// Canonical JSON: one text for one value, so that a digest binds the value and not its spelling.
//
// The layout is RFC 8785's (JCS): no white space, members sorted by the UTF-16 code units of their names, strings with
// the fewest escapes, numbers as ECMAScript writes them. Two modes differ only in numbers:
//   Rfc8785  a number is the double nearest to it: what JCS says to the letter, and what other tools compute
//   Exact    a number keeps every digit it has (1.0 is still 1, 1e2 is 100): for digests that bind content
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "json/document.h"
#include "json/value.h"

namespace baton::json {

enum class Numbers { Rfc8785, Exact };

struct CanonicalError {
  std::string code;  // JCS_NUMBER_NOT_FINITE or JCS_NUMBER_EXPONENT
  std::size_t offset;
};

// Appends the canonical form to `out`. `left_out`, when given, is the index of a node whose member is not written.
tl::expected<void, CanonicalError> append_canonical(std::string& out, Node node, Numbers numbers, Node left_out = {});

tl::expected<std::string, CanonicalError> canonical(Node node, Numbers numbers);

// The same of a value that is being built.
tl::expected<void, CanonicalError> append_canonical(std::string& out, const Value& value, Numbers numbers);

// The order of member names: by UTF-16 code units.
bool utf16_less(std::string_view left, std::string_view right);

// A double as ECMAScript's Number::toString writes it; nothing for NaN and the infinities.
tl::expected<std::string, CanonicalError> canonical_double(double value);

// A string with the canonical escapes, in quotes.
void append_canonical_string(std::string& out, std::string_view text);

}  // namespace baton::json
