// SPDX-License-Identifier: Apache-2.0
#include "protection/spelling.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"

namespace baton::protection {
namespace {

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

// Blanks beyond ASCII, as bytes: a decoded text may be no UTF-8. Some tools take these off the ends of a text: Unicode's white space, and
// U+180E, U+200B and U+FEFF, which were or look like it.
constexpr auto kWideBlanks = std::to_array<std::string_view>(
    {"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe1\xa0\x8e", "\xe2\x80\x80", "\xe2\x80\x81",
     "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87",
     "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\x8b", "\xe2\x80\xa8", "\xe2\x80\xa9",
     "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf"});

}  // namespace

bool is_page(std::string_view text) {
  const std::string front = to_lower_ascii(text.substr(0, 8));
  if (!front.starts_with("http://") && !front.starts_with("https://")) return false;
  return std::ranges::none_of(text,
                              [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == ',' || c == '|'; });
}

namespace {

class Speller {
 public:
  Speller(std::string_view home, std::string_view cwd) : home_(home), cwd_(cwd) {}

  Spellings run(std::string_view text) {
    if (is_page(text)) return {};
    add(text);
    for (std::size_t at = 0; at < out_.paths.size() && out_.is_all; ++at) respell(out_.paths[at]);
    return std::move(out_);
  }

 private:
  void add(std::string_view text) {
    if (!out_.is_all || text.empty() || seen_.contains(text)) return;
    bytes_ += text.size();
    if (out_.paths.size() >= kSpellingsMax || (bytes_ > kSpellingBytesMax && !out_.paths.empty())) {
      out_.is_all = false;
      return;
    }
    out_.paths.emplace_back(text);
    seen_.emplace(text);
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
      add(slashes);
      add(without);
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
      add(line);
      line.clear();
    }
    add(line);
    add(without);
  }

  void edges(std::string_view text) {
    for (std::size_t before = text.size() + 1; text.size() < before;) {
      before = text.size();
      while (!text.empty() && is_edge(text.front())) text.remove_prefix(1);
      while (!text.empty() && is_edge(text.back())) text.remove_suffix(1);
      for (const std::string_view blank : kWideBlanks) {
        if (text.starts_with(blank)) text.remove_prefix(blank.size());
        if (text.ends_with(blank)) text.remove_suffix(blank.size());
      }
    }
    add(text);
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
      if (const std::size_t slash = rest.find('/'); slash != rest.npos) add(rest.substr(slash));
    }
    add(rest);
    for (const char end : {'?', '#'})
      if (const std::size_t at = rest.find(end); at != rest.npos) add(text.substr(0, text.size() - rest.size() + at));
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
    if (text.size() > 2 && text[0] == '-' && text[1] != '-') add(text.substr(2));
    if (text.starts_with("-"))
      if (const std::size_t at = text.find_first_of("./~"); at != text.npos) add(text.substr(at));
    constexpr std::string_view kBetween = "=:,;@|&?#";
    if (text.find_first_of(kBetween) == text.npos) return;
    std::size_t from = 0;
    for (std::size_t at = 0; at <= text.size() && out_.is_all; ++at)
      if (at == text.size() || kBetween.find(text[at]) != kBetween.npos) {
        add(text.substr(from, at - from));
        if (at < text.size() && std::string_view(",;&").find(text[at]) == std::string_view::npos)
          add(text.substr(at + 1));
        from = at + 1;
      }
  }

  const std::string_view home_, cwd_;
  Spellings out_;
  std::set<std::string, std::less<>> seen_;
  std::size_t bytes_ = 0;
};

// Of the `{` at one place: where its `}` is, and the commas between its parts.
struct Group {
  std::size_t close = std::string::npos;
  std::vector<std::size_t> commas = {};
};

// Every pair of braces of a text, by the place of its `{`. A shell takes a `{` without its `}` as a letter.
std::map<std::size_t, Group> groups_of(std::string_view text) {
  std::map<std::size_t, Group> out;
  std::vector<std::pair<std::size_t, Group>> open;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '{') {
      open.emplace_back(at, Group{});
    } else if (text[at] == ',' && !open.empty()) {
      open.back().second.commas.push_back(at);
    } else if (text[at] == '}' && !open.empty()) {
      open.back().second.close = at;
      out.insert(std::move(open.back()));
      open.pop_back();
    }
  }
  return out;
}

// Each list becomes `*`, except one with a slash in it: nothing covers that.
std::optional<std::string> starred(std::string_view text, std::size_t from) {
  std::string out(text.substr(0, from));
  const std::map<std::size_t, Group> groups = groups_of(text);
  for (std::size_t at = from; at < text.size(); ++at) {
    const auto group = groups.find(at);
    if (group == groups.end()) {
      out.push_back(text[at]);
      continue;
    }
    if (text.substr(at, group->second.close - at).find('/') != text.npos) return std::nullopt;
    if (!out.ends_with('*')) out.push_back('*');
    at = group->second.close;
  }
  return out;
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

Braces without_braces(std::string_view pattern) {
  struct Partly {
    std::string text;
    std::size_t done = 0;  // no braces are left in front of it
  };
  Braces out;
  std::vector<Partly> left;
  left.push_back({std::string(pattern)});
  std::set<std::string, std::less<>> seen;
  std::size_t bytes = 0;
  const auto keep = [&](std::string text) {
    if (seen.insert(text).second) out.texts.push_back(std::move(text));
  };
  while (!left.empty()) {
    Partly one = std::move(left.back());
    left.pop_back();
    bytes += one.text.size();
    const std::map<std::size_t, Group> groups = groups_of(one.text);
    std::string text(one.text, 0, one.done);
    std::size_t at = one.done;
    for (; at < one.text.size(); ++at) {
      const auto group = groups.find(at);
      if (group == groups.end()) {
        text.push_back(one.text[at]);
        continue;
      }
      const auto& [close, commas] = group->second;
      const std::string_view inside = std::string_view(one.text).substr(at + 1, close - at - 1);
      if (commas.empty()) {
        // `{1..9}`, `{}`, and `{x}`, which some tools take for `x`. Else the braces are letters, and there may be a list between them.
        if (inside.find_first_of("/{") != inside.npos) {
          text.push_back('{');
        } else {
          if (!text.ends_with('*')) text.push_back('*');
          at = close;
        }
        continue;
      }
      if (out.texts.size() + left.size() + commas.size() >= kBracesMax ||
          bytes + commas.size() * one.text.size() > kBraceBytesMax) {
        const std::size_t done = text.size();
        if (auto rest = starred(text + one.text.substr(at), done)) keep(std::move(*rest));
        else out.is_all = false;
        break;
      }
      const std::string back = one.text.substr(close + 1);
      std::vector<std::string_view> parts;
      std::size_t from = 0;
      for (const std::size_t comma : commas) {
        parts.push_back(inside.substr(from, comma - at - 1 - from));
        from = comma - at;
      }
      parts.push_back(inside.substr(from));
      for (auto part = parts.rbegin(); part != parts.rend(); ++part)
        left.push_back({text + std::string(*part) + back, text.size()});
      break;
    }
    if (at >= one.text.size()) keep(std::move(text));
  }
  return out;
}

int fit(std::string_view pattern, std::string_view name, bool dots) {
  // Nor does one fit nothing before such a dot: `*.*` is no `.baton`.
  if (!dots && name.starts_with('.') && !pattern.empty() && is_pattern(pattern.substr(0, 1))) return -1;
  // best[at]: characters of `name` that were spelled out when its first `at` are used up; -1: that cannot be.
  std::vector<int> best(name.size() + 1, -1), next;
  best[0] = 0;
  // It ends with the pattern, or with the name: each of its characters but `*` uses one of the name up.
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '*' && at > 0 && pattern[at - 1] == '*') continue;
    if (std::ranges::all_of(best, [](int one) { return one < 0; })) return -1;
    next.assign(name.size() + 1, -1);
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
