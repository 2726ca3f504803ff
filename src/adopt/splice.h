// SPDX-License-Identifier: Apache-2.0
// Changes a settings file that a person wrote: what is not changed stays as it is, byte for byte, comments and layout among it.
//
// JSON, with comments and trailing commas where there are any: they are blanked, which keeps every place where it is, and the rest is
// parsed strictly. New parts are laid out like what is around them.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "json/document.h"
#include "json/value.h"

namespace baton::adopt {

// `text` with comments, a byte order mark and commas before a closing bracket as blanks; as long as it was.
std::string without_comments(std::string_view text);

// `text` with a carriage return before every line feed; it has none yet.
std::string with_returns(std::string_view text);

class Splice {
 public:
  // An empty text is an empty object. Why it is none that can be changed, in words.
  static tl::expected<Splice, std::string> of(std::string text);

  json::Node root() const { return document_.root(); }
  bool is_changed() const { return !edits_.empty(); }

  // Of nodes of this document; each place at most once.
  void replace(json::Node node, const json::Value& value);
  void add(json::Node object, const std::vector<std::pair<std::string, json::Value>>& members);
  void push(json::Node array, const json::Value& value);

  std::string text() const;

 private:
  struct Edit {
    std::size_t at, size;
    std::string text;
  };
  Splice(std::string text, std::string plain, json::Document document)
      : text_(std::move(text)), plain_(std::move(plain)), document_(std::move(document)) {}

  std::size_t end_of(std::size_t at) const;
  void append(json::Node container, const std::vector<std::pair<std::string, json::Value>>& parts);
  std::string laid_out(const json::Value& value, std::string_view indent) const;

  std::string text_;   // as it is
  std::string plain_;  // without comments
  json::Document document_;
  std::vector<Edit> edits_;
};

}  // namespace baton::adopt
