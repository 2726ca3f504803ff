// SPDX-License-Identifier: Apache-2.0
// Inside protection: the text of a command line, changed so that names in it can be found. None of this reads the line as a shell does.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace baton::protection {

// Without quotes and backslashes, and with `$'...'` decoded.
std::string unquoted(std::string_view line);

// Without expansions, or with the character `by` in the place of each. `$'...'` stays, for unquoted().
std::string without_expansions(std::string_view line, char by = 0);

// `$name` and `${name}` replaced by `values`; `${name:-text}` by the text when `values` does not have the name.
std::string substituted(const std::string& text, const std::map<std::string, std::string>& values);

// The line as a shell reads it after the expansions whose values are known: `$name`, `${name}`, `${name:-text}`, `$(pwd)`, and `~` outside of
// quotes. Characters of a value that mean something to a shell are put in with a backslash. `values` has HOME, PWD and OLDPWD, when they are known.
std::string expanded(std::string_view line, const std::map<std::string, std::string>& values);

// The words between blanks, line ends and the operators of a shell.
std::vector<std::string_view> words_in(std::string_view text);

}  // namespace baton::protection
