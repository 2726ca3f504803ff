// SPDX-License-Identifier: Apache-2.0
// How a SQL store's schema came to be what it is: numbered steps, forward only, each run in a transaction and never
// changed once released. A store whose schema is newer than this program knows is refused.
//
// The text is standard SQL with a few words in braces that each SQL backend replaces with its own (see migrations.cc).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace baton::store {

struct Migration {
  int number;                                    // 1, 2, 3, ...
  std::string_view what;                         // for people
  std::span<const std::string_view> statements;  // with words in braces
};

std::span<const Migration> migrations();

// The schema this program writes: the number of the last migration.
int schema_version();

// What a backend says instead of a word in braces.
struct SqlWords {
  std::string_view integer;  // {integer}: 64 bits
  std::string_view text;     // {text}: compared as bytes
  std::string_view bytes;    // {bytes}
  std::string_view strict;   // {strict}: after the closing parenthesis of a table
  // {keyed}: after that, in a table of small rows whose key is not one integer. SQLite then keeps the rows in the order of
  // the key instead of keeping a second tree for it, so that writing a row touches one page and not two.
  std::string_view keyed = {};
};
std::string in_words(std::string_view statement, const SqlWords& words);

}  // namespace baton::store
