// SPDX-License-Identifier: Apache-2.0
// Patterns as IAM writes them: `*` for any characters, also none, and `?` for one.
#pragma once

#include <string_view>

namespace baton::handoff_spec {

// Does the pattern take in all of `text`? Byte for byte; at most pattern times text steps.
constexpr bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      // Let the last star take one character more, and try again behind it.
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace baton::handoff_spec
