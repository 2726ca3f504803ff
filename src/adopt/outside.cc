// SPDX-License-Identifier: Apache-2.0
#include "adopt/outside.h"

#include "base/text.h"

namespace baton::adopt {
namespace {

std::string quoted(char c) { return regex_quoted(std::string_view(&c, 1)); }

// Texts of characters that are none of `never`: these, and a line feed where there are lines.
class Walk {
 public:
  Walk(Among among, std::string never) : never_(std::move(never)) {
    if (among == Among::Lines) never_ += "\\n";
  }

  std::string any() const { return never_.empty() ? "." : "[^" + never_ + "]"; }
  std::string but(char c) const { return "[^" + never_ + quoted(c) + "]"; }

  // What does not begin with `front`; `after`: what may stand behind all of it.
  std::string not_beginning(std::string_view front, const std::string& after) const {
    std::string out = after;
    for (std::size_t at = front.size(); at-- > 0;) {
      const std::string deeper = out.empty() ? "" : "|" + quoted(front[at]) + out;
      out = "(?:|" + but(front[at]) + any() + "*" + deeper + ")";
    }
    return out;
  }
  // `last_not`: what it does not end with besides.
  std::string not_ending(std::string_view end, std::string_view last_not = {}) const {
    std::string out;
    for (std::size_t at = 0; at < end.size(); ++at) {
      const std::string deeper = out.empty() ? "" : "|" + out + quoted(end[at]);
      const std::string last = at + 1 < end.size() ? "" : std::string(last_not);
      out = "(?:|" + any() + "*[^" + never_ + quoted(end[at]) + last + "]" + deeper + ")";
    }
    return out;
  }
  std::string longer() const { return any() + any() + "*"; }

 private:
  std::string never_;
};

}  // namespace

std::string regex_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!is_alphanumeric(c) && c != '_' && c != '/' && c != ' ' && static_cast<unsigned char>(c) < 0x80)
      out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string beyond(std::string_view name, std::optional<char> separator, Among among) {
  const Walk walk(among, "");
  return walk.not_beginning(name, separator ? walk.but(*separator) + walk.any() + "*" : walk.longer());
}

std::optional<std::string> outside(const PathRule& rule, Among among) {
  if (rule.name.empty()) return beyond(rule.folder, '/', among);
  const Walk part(among, "/");
  const bool open_end = rule.name.ends_with('*'), open_front = rule.name.starts_with('*');
  std::string_view name = rule.name;
  if (open_end) name.remove_suffix(1);
  if (open_front && !name.empty()) name.remove_prefix(1);
  if (name.empty() || (open_end && open_front) || name.find_first_of("*?[]{}!\\/") != std::string_view::npos)
    return std::nullopt;
  const std::string other = open_front ? part.not_ending(name)
                            : open_end ? part.not_beginning(name, "")
                                       : part.not_beginning(name, part.longer());
  const std::string whatever = Walk(among, "").any() + "*";
  const std::string below = rule.any_depth ? "(?:/" + other + ")*" : "(?:/" + other + "(?:/" + whatever + ")?)?";
  // Without a folder it is about every part of a path, wherever that begins.
  if (rule.folder.empty()) return rule.any_depth ? other + below : below;
  return "(?:" + beyond(rule.folder, '/', among) + "|" + regex_quoted(rule.folder) + below + ")";
}

std::string another_host(std::string_view host) {
  const bool below = host.starts_with("*.");
  if (below) host.remove_prefix(1);
  static const std::string kNever = "/?#:@%\\\\\\s\\[\\]";
  const Walk walk(Among::Alone, kNever);
  // A name may end with a dot, and is the same name.
  const std::string other =
      below ? walk.not_ending(host, "\\.") : walk.not_beginning(host, walk.any() + "*[^\\." + kNever + "]");
  return "(?i)^[a-z]+://(?:[^/?#\\\\\\s]*@)?" + other + "(?::[0-9]*)?(?:[/?#][^\\\\\\s]*)?$";
}

std::string whole_text(const std::string& one, Among among) {
  return among == Among::Lines ? "^(?:" + one + "\\n)*$" : "(?s)^" + one + "$";
}

}  // namespace baton::adopt
