// SPDX-License-Identifier: Apache-2.0
// JSONPath, the subset contracts use: `$`, `.name`, `['name']`, `[n]`. A path names at most one value.
//
// A path is compiled once; two spellings of one path (`$.a`, `$['a']`) compile to equal values.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "json/document.h"

namespace baton::json {

struct PathError {
  bool unsupported;    // a construct of JSONPath outside the subset, not a slip of the pen
  std::size_t offset;  // of the offending byte
  std::string what;
};

class Path {
 public:
  using Step = std::variant<std::string, std::size_t>;  // a member's name, or an element's position

  static tl::expected<Path, PathError> compile(std::string_view text);

  // The node this path names from `root`; no node when there is none. Only members the document itself holds count.
  Node resolve(Node root) const;

  const std::vector<Step>& steps() const { return steps_; }
  std::string text() const;  // the normalised spelling: $['a'][0]
  bool operator==(const Path&) const = default;

 private:
  std::vector<Step> steps_;
};

}  // namespace baton::json
