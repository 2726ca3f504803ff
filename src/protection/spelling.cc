// SPDX-License-Identifier: Apache-2.0
#include "protection/spelling.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/text.h"

namespace baton::protection {
namespace {

constexpr std::size_t kBracesMax = 64;

std::string unicode_folded(std::string_view name) {
  utf8proc_uint8_t* out = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT |
                                                      UTF8PROC_CASEFOLD | UTF8PROC_IGNORE | UTF8PROC_STRIPNA);
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(name.data()),
                                             static_cast<utf8proc_ssize_t>(name.size()), &out, options);
  if (size < 0) return to_lower_ascii(name);
  std::string folded(reinterpret_cast<const char*>(out), static_cast<std::size_t>(size));
  std::free(out);
  return folded;
}

// Bytes that are no text are left out: some tools do so too.
std::string valid_part(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = find_invalid_utf8(text);
    out.append(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool is_scheme(std::string_view text) {
  return text.size() > 1 &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '+' || c == '-' || c == '.'; });
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%' && at + 2 < text.size() && hex_value(text[at + 1]) >= 0 && hex_value(text[at + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2])));
      at += 2;
    } else {
      out.push_back(text[at]);
    }
  }
  return out;
}

bool is_edge(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\'' || c == '`' || c == '<' || c == '>';
}

// The address of another host's page is no path here.
bool is_page(std::string_view text) {
  const std::string front = to_lower_ascii(text.substr(0, 8));
  if (!front.starts_with("http://") && !front.starts_with("https://")) return false;
  return std::ranges::none_of(text,
                              [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == ',' || c == '|'; });
}

class Speller {
 public:
  Speller(std::string_view home, std::string_view cwd) : home_(home), cwd_(cwd) {}

  Spellings run(std::string_view text) {
    if (is_page(text)) return {};
    add(std::string(text));
    for (std::size_t at = 0; at < out_.paths.size() && out_.is_all; ++at) respell(out_.paths[at]);
    return std::move(out_);
  }

 private:
  void add(std::string text) {
    if (text.empty() || !seen_.insert(text).second) return;
    if (out_.paths.size() >= kSpellingsMax) {
      out_.is_all = false;
      return;
    }
    out_.paths.push_back(std::move(text));
  }

  // By value: `out_` grows.
  void respell(const std::string text) {
    lines(text);
    edges(text);
    if (text.find('%') != text.npos) add(percent_decoded(text));
    if (text.find('\\') != text.npos) {
      std::string slashes = text, without;
      std::ranges::replace(slashes, '\\', '/');
      for (const char c : text)
        if (c != '\\') without.push_back(c);
      add(std::move(slashes));
      add(std::move(without));
      add(unescaped(text));
    }
    address(text);
    folder(text);
    behind(text);
  }

  void lines(std::string_view text) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
    if (std::ranges::none_of(text, is_control)) return;
    std::string without, line;
    for (const char c : text) {
      if (!is_control(c)) {
        without.push_back(c);
        line.push_back(c);
        continue;
      }
      add(std::move(line));
      line.clear();
    }
    add(std::move(line));
    add(std::move(without));
  }

  void edges(std::string_view text) {
    while (!text.empty() && is_edge(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_edge(text.back())) text.remove_suffix(1);
    add(std::string(text));
  }

  // `file:///x`, `file://host/x`, `file:x`, `vscode-remote://host/x`. Other hosts' pages are not files here.
  void address(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == text.npos || !is_scheme(text.substr(0, colon))) return;
    const std::string scheme = to_lower_ascii(text.substr(0, colon));
    std::string_view rest = text.substr(colon + 1);
    const bool has_host = rest.starts_with("//");
    if (scheme != "file" && !has_host) return;
    if (has_host) {
      rest.remove_prefix(2);
      if (const std::size_t slash = rest.find('/'); slash != rest.npos) add(std::string(rest.substr(slash)));
    }
    add(std::string(rest));
    for (const char end : {'?', '#'})
      if (const std::size_t at = rest.find(end); at != rest.npos)
        add(std::string(text.substr(0, text.size() - rest.size() + at)));
  }

  void folder(std::string_view text) {
    const auto replace = [&](std::string_view front, std::string_view by) {
      if (by.empty() || !text.starts_with(front)) return;
      const std::string_view rest = text.substr(front.size());
      if (rest.empty() || rest.front() == '/' || rest.front() == '\\') add(std::string(by) + std::string(rest));
    };
    for (const std::string_view home :
         {"~", "$HOME", "${HOME}", "%HOME%", "%USERPROFILE%", "$env:HOME", "$Env:USERPROFILE"})
      replace(home, home_);
    for (const std::string_view here : {"~+", "$PWD", "${PWD}", "$(pwd)", "`pwd`", "${workspaceFolder}", "%CD%"})
      replace(here, cwd_);
    // `~ida/x`
    if (text.size() > 1 && text[0] == '~' && text[1] != '/' && home_.rfind('/') != home_.npos)
      add(std::string(home_.substr(0, home_.rfind('/') + 1)) + std::string(text.substr(1)));
  }

  // What stands behind an option, a name or a host, and the parts of lists. `--exclude=x` keeps out of x.
  void behind(std::string_view text) {
    for (const std::string_view out : {"--exclude", "--ignore", "--skip", "--no-"})
      if (text.starts_with(out)) return;
    if (text.size() > 2 && text[0] == '-' && text[1] != '-') add(std::string(text.substr(2)));
    if (text.starts_with("-"))
      if (const std::size_t at = text.find_first_of("./~"); at != text.npos) add(std::string(text.substr(at)));
    constexpr std::string_view kBetween = "=:,;@|";
    if (text.find_first_of(kBetween) == text.npos) return;
    std::size_t from = 0;
    for (std::size_t at = 0; at <= text.size(); ++at)
      if (at == text.size() || kBetween.find(text[at]) != kBetween.npos) {
        add(std::string(text.substr(from, at - from)));
        if (at < text.size() && text[at] != ',' && text[at] != ';') add(std::string(text.substr(at + 1)));
        from = at + 1;
      }
  }

  const std::string_view home_, cwd_;
  Spellings out_;
  std::set<std::string> seen_;
};

void without_braces(std::string text, std::vector<std::string>& out) {
  const std::size_t open = text.find('{');
  if (open == text.npos) {
    if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
    return;
  }
  std::size_t depth = 0, close = open;
  std::vector<std::size_t> commas;
  for (; close < text.size(); ++close) {
    if (text[close] == '{') ++depth;
    if (text[close] == '}' && --depth == 0) break;
    if (text[close] == ',' && depth == 1) commas.push_back(close);
  }
  const std::string front = text.substr(0, open);
  if (close == text.size() || commas.empty() || out.size() + commas.size() >= kBracesMax) {
    const std::string back = close == text.size() ? std::string() : text.substr(close + 1);
    return without_braces(front + "*" + back, out);
  }
  const std::string back = text.substr(close + 1);
  std::size_t from = open + 1;
  commas.push_back(close);
  for (const std::size_t comma : commas) {
    without_braces(front + text.substr(from, comma - from) + back, out);
    from = comma + 1;
  }
}

}  // namespace

std::string folded(std::string_view name) {
  std::string out = is_ascii(name)
                        ? to_lower_ascii(name)
                        : unicode_folded(find_invalid_utf8(name) == name.size() ? std::string(name) : valid_part(name));
  // A stream of a file is the file.
  if (const std::size_t stream = out.find("::$"); stream != out.npos) out.resize(stream);
  if (out.find_first_not_of('.') != out.npos)
    while (out.ends_with('.') || out.ends_with(' ')) out.pop_back();
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      out.push_back(text[at]);
      continue;
    }
    const char kind = text[++at];
    const bool is_octal = kind >= '0' && kind <= '7';
    const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : is_octal ? 3 : 0;
    char32_t value = 0;
    std::size_t end = is_octal ? at : at + 1, count = 0;
    for (; count < digits && end < text.size(); ++end, ++count) {
      const int digit = hex_value(text[end]);
      if (digit < 0 || (is_octal && digit > 7)) break;
      value = value * (is_octal ? 8 : 16) + static_cast<char32_t>(digit);
    }
    if (count == 0) {
      out.push_back(kind);
      continue;
    }
    if (value < 0x80) out.push_back(static_cast<char>(value));
    else if (value < 0x110000 && (value < 0xd800 || value > 0xdfff)) append_utf8(out, value);
    at = end - 1;
  }
  return out;
}

Parts parts_of(std::string_view path) {
  Parts out;
  out.is_absolute = path.starts_with('/');
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      std::string name = folded(part);
      if (!name.empty() && name != ".") out.names.push_back(std::move(name));
    } else if (!out.names.empty() && out.names.back() != "..") {
      out.names.pop_back();
    } else if (!out.is_absolute) {
      out.names.emplace_back("..");
    }
  }
  return out;
}

Spellings spellings_of(std::string_view text, std::string_view home, std::string_view cwd) {
  return Speller(home, cwd).run(text);
}

bool is_pattern(std::string_view text) { return text.find_first_of("*?[{") != text.npos; }

std::vector<std::string> without_braces(std::string_view pattern) {
  std::vector<std::string> out;
  without_braces(std::string(pattern), out);
  return out;
}

int fit(std::string_view pattern, std::string_view name, bool dots) {
  // Nor does one fit nothing before such a dot: `*.*` is no `.baton`.
  if (!dots && name.starts_with('.') && !pattern.empty() && is_pattern(pattern.substr(0, 1))) return -1;
  // best[at]: characters of `name` that were spelled out when its first `at` are used up; -1: that cannot be.
  std::vector<int> best(name.size() + 1, -1), next;
  best[0] = 0;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    next.assign(name.size() + 1, -1);
    const char c = pattern[at];
    const auto may_be_any = [&](std::size_t place) { return dots || place != 0 || name[0] != '.'; };
    if (c == '*') {
      for (std::size_t i = 0; i <= name.size(); ++i) {
        next[i] = std::max(next[i], best[i]);
        if (i > 0 && next[i - 1] >= 0 && may_be_any(i - 1)) next[i] = std::max(next[i], next[i - 1]);
      }
    } else if (c == '?' || c == '[') {
      std::size_t close = at;
      if (c == '[') {
        close = pattern.find(']', at + 2);
        if (close == pattern.npos) close = pattern.size() - 1;
      }
      // Which characters a set has is not looked at: ranges and classes depend on the locale.
      for (std::size_t i = 0; i < name.size(); ++i)
        if (best[i] >= 0 && may_be_any(i)) next[i + 1] = std::max(next[i + 1], best[i]);
      at = close;
    } else {
      for (std::size_t i = 0; i < name.size(); ++i)
        if (best[i] >= 0 && name[i] == c) next[i + 1] = std::max(next[i + 1], best[i] + 1);
    }
    best.swap(next);
  }
  return best[name.size()];
}

}  // namespace baton::protection
