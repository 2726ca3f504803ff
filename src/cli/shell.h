// SPDX-License-Identifier: Apache-2.0
// What a POSIX shell takes in with eval.
#pragma once

#include <string>
#include <string_view>

namespace baton::cli {

// One word, whatever is in it.
inline std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

inline std::string export_line(std::string_view name, std::string_view value) {
  return "export " + std::string(name) + "=" + shell_quoted(value) + "\n";
}

}  // namespace baton::cli
