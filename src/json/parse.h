// SPDX-License-Identifier: Apache-2.0
// Strict JSON (RFC 8259): parses all of the text or says exactly where and why not.
//
// Refused, beyond what the grammar refuses: invalid UTF-8, a byte order mark, a lone surrogate in an escape, a key that
// an object already has (at the second one), and whatever goes beyond the limits given. Nesting costs heap, not stack.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/limits.h"
#include "json/document.h"

namespace baton::json {

enum class Fault {
  TooLarge,
  UnexpectedEnd,
  ExpectedValue,
  ExpectedKey,
  ExpectedColon,
  ExpectedCommaOrBrace,
  ExpectedCommaOrBracket,
  TrailingText,
  BadNumber,
  ControlCharacter,
  BadEscape,
  LoneSurrogate,
  BadUtf8,
  DuplicateKey,
  TooDeep,
  TooManyMembers,
};

struct ParseError {
  Fault fault;
  std::size_t offset;  // of the offending byte; the text's size when it ended too early
  std::string what;    // for people, without the place: "expected `,` or `}`"
};

struct ParseLimits {
  std::size_t bytes_max = limits::kJsonBytesMax;
  std::size_t depth_max = limits::kJsonDepthMax;
  std::size_t members_max = limits::kJsonMembersMax;
};

// The document refers to `text`, which must outlive it.
tl::expected<Document, ParseError> parse(std::string_view text, const ParseLimits& limits = {});

// The document keeps the text.
tl::expected<Document, ParseError> parse_owned(std::string text, const ParseLimits& limits = {});

}  // namespace baton::json
