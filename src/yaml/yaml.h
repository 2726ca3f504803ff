// SPDX-License-Identifier: Apache-2.0
// YAML for files that people write (contracts, configuration), read into the tree that JSON gives: rules read both alike.
//
// The subset is what JSON can say. A plain scalar is read by the core schema of YAML 1.2 (yaml/scalar.h); a quoted or
// block scalar is a string; a key is a string. The document's text() is the JSON that the YAML stands for; positions and
// pointers of its nodes are those in the YAML.
//
// Refused, each with line and column, all of them collected until the text cannot be followed any further: a key twice,
// keys that are no strings, anchors, aliases, merge keys, tags, directives, a second document, numbers JSON does not have,
// nesting and sizes beyond the limits, invalid UTF-8, and the characters U+0085, U+2028 and U+2029 unless escaped (YAML 1.1
// takes them for line breaks, YAML 1.2 does not). A key that is not introduced by `?` has at most 1,024 characters.
// What other readers of YAML take for something else (`no`, `on`, `010`) is a warning.
//
// Time is linear in the text. A byte order mark at the start is passed over; an empty text is an empty document: null.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "diagnostics/diagnostic.h"
#include "json/document.h"

namespace baton::yaml {

struct Limits {
  std::size_t bytes_max = limits::kYamlBytesMax;
  std::size_t depth_max = limits::kYamlDepthMax;
};

struct Parsed {
  std::optional<json::Document> document;  // set when there is no error; keeps what it needs of the text
  std::vector<Diagnostic> diagnostics;     // YAML_*, warnings among them, in the order of the text
};

Parsed parse(std::string_view text, const Limits& limits = {});

}  // namespace baton::yaml
