// SPDX-License-Identifier: Apache-2.0
// One path has many spellings. This file says which paths a text may mean, and compares paths so that equal ones are equal.
//
// Comparing ignores what some file system, or some tool on the way to it, ignores: upper and lower case, Unicode composition and width,
// invisible characters, dots and blanks at the end of a name. On a file system that tells such names apart, the other name is protected too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace baton::protection {

// A path, taken apart: names without `.`, `..` and empty parts, folded.
struct Parts {
  std::vector<std::string> names;
  bool is_absolute = false;
};
// The form of a name that is compared.
std::string folded(std::string_view name);
// `..` goes to the folder above, as text.
Parts parts_of(std::string_view path);

// `\x2e`, `\056` and `\u002e` as the character that they stand for, in JSON and in `$'...'` of a shell.
std::string unescaped(std::string_view text);

// The paths that a text may mean to a tool: as it is, decoded, of a `file:` address, with backslashes, of the home folder, without
// blanks and quotes at its ends, behind an option or a name (`--config=x`, `a:b`, `@x`), and each line of it. An `http:` address means none.
// `is_all` false: there are more than kSpellingsMax, or more bytes than kSpellingBytesMax.
struct Spellings {
  std::vector<std::string> paths;
  bool is_all = true;
};
// Is it the address of a page, which is no path here?
bool is_page(std::string_view text);
Spellings spellings_of(std::string_view text, std::string_view home, std::string_view cwd);
inline constexpr std::size_t kSpellingsMax = 512;
inline constexpr std::size_t kSpellingBytesMax = 64u << 10;  // of all spellings of one text

// A path with `*`, `?`, `[...]` and `{a,b}` in it.
bool is_pattern(std::string_view text);
// The texts that the braces of a pattern stand for. Sequences (`{1..9}`), `{}` and lists beyond kBracesMax texts or kBraceBytesMax bytes become
// `*`. `is_all` false: a list beyond these bounds has a slash in it, so that no `*` covers it.
struct Braces {
  std::vector<std::string> texts;
  bool is_all = true;
};
Braces without_braces(std::string_view pattern);
inline constexpr std::size_t kBracesMax = 64;
inline constexpr std::size_t kBraceBytesMax = 64u << 10;
// How well a pattern's part fits a folded name: the number of the name's characters that are spelled out; -1: it does not fit. No wildcard fits
// the dot at the beginning of a name unless `dots`.
int fit(std::string_view pattern, std::string_view name, bool dots);

}  // namespace baton::protection
