// SPDX-License-Identifier: Apache-2.0
// What a request may hold: each member of a body and each parameter of a query is described once, and from that
// description the request is checked and the OpenAPI document is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "json/document.h"
#include "json/value.h"

namespace baton::http_api {

enum class MemberKind {
  Text,     // a string of `least` to `most` characters
  Integer,  // from `least` to `most`
  Choice,   // one of `choices`
  Texts,    // a list of `least` to `most` strings, each of at most limits::kRequestListedCharactersMax characters
  Choices,  // a list of those
  Object,   // an object of at most `most` bytes as written, whatever is in it
};

struct Member {
  std::string_view name;
  MemberKind kind;
  bool required = false;
  std::int64_t least = 0, most = 0;
  std::vector<std::string_view> choices = {};
  std::string_view says = {};  // for the reader of the document
  bool repeated = false;       // a parameter of a query that may be given several times
};
using Members = std::vector<Member>;

// A strict JSON text against its description: the faults, all of them, in the order of the text and then what is missing.
// REQUEST_JSON with line and column, REQUEST_FIELD with a JSON Pointer. An empty text is an empty object.
class Body {
 public:
  std::vector<Diagnostic> read(std::string_view text, const Members& members);

  // Of a body that was read without fault. What is absent is empty, or nothing.
  std::string text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  json::Node object(std::string_view name) const { return find(name); }
  bool has(std::string_view name) const { return static_cast<bool>(find(name)); }

 private:
  json::Node find(std::string_view name) const;

  std::optional<json::Document> document_;
};

// The parameters of a query, percent-decoded: REQUEST_QUERY for what is unknown, malformed, out of range or given twice.
class Query {
 public:
  std::vector<Diagnostic> read(std::string_view text, const Members& members);

  std::string text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> given_;
};

// `%41` becomes `A`; nothing when an escape is not one or the result is not UTF-8. A `+` stays one.
std::optional<std::string> percent_decoded(std::string_view text);

// A decimal number without sign (but `-`) and without leading zeros, within 64 bits.
std::optional<std::int64_t> parse_integer(std::string_view text);

// The JSON Schema of one member, and of an object of them.
json::Value schema_of(const Member& member);
json::Value schema_of(const Members& members);

}  // namespace baton::http_api
