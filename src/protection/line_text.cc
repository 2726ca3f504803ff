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

namespace {

using Values = std::map<std::string, std::string>;

// Appends what an expansion becomes. False: that is not known.
bool put_value(std::string_view name, const Values& values, bool in_quotes, std::string& out) {
  const auto known = values.find(std::string(name));
  if (known == values.end()) return false;
  const std::string& value = known->second;
  if (name == "HOME" || name == "PWD" || name == "OLDPWD") {
    for (const char c : value) {
      const bool is_plain = is_alphanumeric(c) || std::string_view("/._-+@%,:=").find(c) != std::string_view::npos ||
                            static_cast<unsigned char>(c) >= 0x80;
      if (!is_plain && (!in_quotes || std::string_view("\"$`\\").find(c) != std::string_view::npos))
        out.push_back('\\');
      out.push_back(c);
    }
    return !value.empty();
  }
  // No shell reads a value again. Outside of quotes it is cut at blanks and its wildcards count.
  const std::string_view special = in_quotes ? "\"$`\\" : "'\"\\$`;&|<>()#!";
  for (const char c : value) {
    if (special.find(c) != special.npos) out.push_back('\\');
    out.push_back(c == '\n' && !in_quotes ? ' ' : c);
  }
  return true;
}

// The expansion at `at`, which is a `$`: where it ends; `at`: it is not known.
std::size_t put_expansion(std::string_view line, std::size_t at, const Values& values, bool in_quotes,
                          std::string& out) {
  const std::string_view rest = line.substr(at);
  if (rest.starts_with("$(pwd)")) return put_value("PWD", values, in_quotes, out) ? at + 6 : at;
  const bool braced = rest.starts_with("${");
  const std::size_t begin = braced ? 2 : 1;
  std::size_t end = begin;
  while (end < rest.size() && (is_alphanumeric(rest[end]) || rest[end] == '_')) ++end;
  if (end == begin && end < rest.size() && (rest[end] == '@' || rest[end] == '*')) ++end;
  const std::string_view name = rest.substr(begin, end - begin);
  if (!braced) return put_value(name == "*" ? "@" : name, values, in_quotes, out) ? at + end : at;
  const std::size_t close = rest.find('}', end);
  if (close == rest.npos) return at;
  if (put_value(name, values, in_quotes, out)) return at + close + 1;
  // `${x:-text}`
  std::string_view text = rest.substr(end, close - end);
  if (text.starts_with(':')) text.remove_prefix(1);
  if ((!text.starts_with('-') && !text.starts_with('=')) || text.find_first_of("'\"\\$`;&|<>()\n#!{") != text.npos)
    return at;
  out += text.substr(1);
  return at + close + 1;
}

}  // namespace

std::string expanded(std::string_view line, const Values& values) {
  std::string out;
  bool in_quotes = false;
  for (std::size_t at = 0; at < line.size() && out.size() <= limits::kShellCommandBytesMax; ++at) {
    const char c = line[at];
    if (c == '\\' && at + 1 < line.size()) {
      out += line.substr(at++, 2);
    } else if (c == '\'' && !in_quotes) {
      const std::size_t close = std::min(line.find('\'', at + 1), line.size() - 1);
      out += line.substr(at, close - at + 1);
      at = close;
    } else if (c == '$') {
      const std::size_t end = put_expansion(line, at, values, in_quotes, out);
      if (end == at) out.push_back(c);
      else at = end - 1;
    } else if (c == '`' && line.substr(at).starts_with("`pwd`") && put_value("PWD", values, in_quotes, out)) {
      at += 4;
    } else if (c == '~' && !in_quotes &&
               (at == 0 || std::string_view(" \t\n;&|()<>=:").find(line[at - 1]) != std::string_view::npos)) {
      const std::size_t end = std::min(line.find_first_of(" \t\n;&|()<>/:'\"", at), line.size());
      const std::string_view user = line.substr(at + 1, end - at - 1);
      const auto home = values.find("HOME");
      const bool is_home = user.empty() || (home != values.end() && home->second.ends_with("/" + std::string(user)));
      const std::string_view name = is_home ? "HOME" : user == "+" ? "PWD" : user == "-" ? "OLDPWD" : "";
      if (put_value(name, values, false, out)) at = end - 1;
      else out.push_back(c);
    } else {
      if (c == '"') in_quotes = !in_quotes;
      out.push_back(c);
    }
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
