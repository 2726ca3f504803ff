// SPDX-License-Identifier: Apache-2.0
#include "protection/line_text.h"

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "protection/spelling.h"

namespace baton::protection {

std::string unquoted(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '$' && at + 1 < line.size() && line[at + 1] == '\'') {
      std::size_t end = at + 2;
      while (end < line.size() && line[end] != '\'') end += line[end] == '\\' ? 2 : 1;
      end = std::min(end, line.size());
      out += unescaped(line.substr(at + 2, end - at - 2));
      at = end;
    } else if (line[at] != '\'' && line[at] != '"' && line[at] != '\\') {
      out.push_back(line[at]);
    }
  }
  return out;
}

std::string without_expansions(std::string_view line, char by) {
  std::string out;
  const auto leave_out = [&] {
    if (by != 0) out.push_back(by);
  };
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char next = at + 1 < line.size() ? line[at + 1] : '\0';
    if (line[at] == '`') {
      at = std::min(line.find('`', at + 1), line.size());
      leave_out();
    } else if (line[at] != '$' || next == '\'' || next == '"' || next == '\0') {
      out.push_back(line[at]);
    } else if (next == '{' || next == '(') {
      std::size_t depth = 0;
      for (++at; at < line.size(); ++at) {
        if (line[at] == '{' || line[at] == '(') ++depth;
        if ((line[at] == '}' || line[at] == ')') && --depth == 0) break;
      }
      leave_out();
    } else {
      ++at;
      leave_out();
      while ((is_alphanumeric(next) || next == '_') && at + 1 < line.size() &&
             (is_alphanumeric(line[at + 1]) || line[at + 1] == '_'))
        ++at;
    }
  }
  return out;
}

std::string substituted(const std::string& text, const std::map<std::string, std::string>& values) {
  std::string out;
  for (std::size_t at = 0; at < text.size() && out.size() < 4 * limits::kShellCommandBytesMax; ++at) {
    if (text[at] != '$') {
      out.push_back(text[at]);
      continue;
    }
    const bool braced = at + 1 < text.size() && text[at + 1] == '{';
    std::size_t begin = at + (braced ? 2 : 1), end = begin;
    while (end < text.size() && (is_alphanumeric(text[end]) || text[end] == '_')) ++end;
    const auto known = values.find(text.substr(begin, end - begin));
    if (known == values.end()) {
      const std::size_t text_at = end + (end < text.size() && text[end] == ':' ? 1 : 0);
      if (braced && text_at < text.size() && (text[text_at] == '-' || text[text_at] == '=')) {
        const std::size_t close = std::min(text.find('}', text_at), text.size() - 1);
        out += text.substr(text_at + 1, close - text_at - 1);
        at = close;
      } else {
        out.push_back('$');
      }
      continue;
    }
    out += known->second;
    if (braced) end = std::min(text.find('}', end), text.size() - 1) + 1;
    at = end - 1;
  }
  return out;
}

std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t from = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && std::string_view(" \t\n;&|()<>`").find(text[at]) == std::string_view::npos) continue;
    if (at > from) out.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  return out;
}

}  // namespace baton::protection
