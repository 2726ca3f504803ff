// SPDX-License-Identifier: Apache-2.0
#include "protection/guarded.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <span>

#include "adopt/adopt.h"
#include "base/limits.h"
#include "base/text.h"
#include "protection/programs.h"
#include "shell/effects.h"

namespace baton::protection {
namespace {

// --- by name ----------------------------------------------------------------------------------------------------------------------

// Wherever they lie: the last parts of a path, or its parts in the middle when a folder is meant (it ends with a slash).
constexpr std::array<std::string_view, 3> kSecretNames = {".baton/", ".config/baton/", "operator.token"};
// Files of clients that adopt does not write and that switch hooks or servers on and off all the same, or take the place of the client's
// own tools; and what was approved of MCP servers, which lies in packs.
constexpr auto kFixedNames = std::to_array<std::string_view>({
    ".claude/plugins/",
    ".codex/hooks.json",
    ".config/opencode/tool/",
    ".config/opencode/tools/",
    ".copilot/config.json",
    ".copilot/hooks/",
    ".copilot/installed-plugins/",
    ".copilot/settings.json",
    ".cursor/hooks.json",
    ".gemini/extensions/",
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
    ".github/hooks/",
    ".opencode/plugin/",
    ".opencode/plugins/",
    ".opencode/tool/",
    ".opencode/tools/",
    "opencode/plugins/",
    "tools.lock.json",
});
constexpr std::string_view kRunFolder = "baton-run-";
// A wildcard for a name that could lie anywhere has to spell out as many of its characters; a dot at the beginning is enough.
constexpr int kSpelledMin = 3;

using Names = std::vector<std::string>;

struct Name {
  Names parts;
  bool is_folder = false;
  Guard guard = Guard::None;
  std::string text;  // the parts with a slash between

  Name(std::string_view path, bool folder, Guard guarded)
      : parts(parts_of(path).names), is_folder(folder), guard(guarded), text(join(parts, "/")) {}
};

const std::vector<Name>& names() {
  static const std::vector<Name> kNames = [] {
    std::vector<Name> out;
    for (const std::string_view name : kSecretNames) out.emplace_back(name, name.ends_with('/'), Guard::Secret);
    for (const std::string_view name : kFixedNames) out.emplace_back(name, name.ends_with('/'), Guard::Fixed);
    for (const hooks::Client client : hooks::kClients)
      for (const adopt::Place& place : adopt::places_of(client)) out.emplace_back(place.path, false, Guard::Fixed);
    return out;
  }();
  return kNames;
}

template <class Fits>
bool is_at(const Names& path, std::size_t at, std::span<const std::string> name, const Fits& fits) {
  if (at + name.size() > path.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (!fits(path[at + i], name[i])) return false;
  return true;
}

template <class Fits>
bool is_named(const Names& path, const Name& name, const Fits& fits) {
  if (path.size() < name.parts.size()) return false;
  if (!name.is_folder) return is_at(path, path.size() - name.parts.size(), name.parts, fits);
  for (std::size_t at = 0; at + name.parts.size() <= path.size(); ++at)
    if (is_at(path, at, name.parts, fits)) return true;
  return false;
}

// A name that says enough wherever it lies: `.codex/rules`, not `opencode`.
bool is_telling(std::span<const std::string> parts) {
  return std::ranges::any_of(parts, [](const std::string& part) { return part.starts_with('.'); });
}

// The folder a protected file lies in, by its name: what is done to that is done to the file.
template <class Fits>
bool is_folder_of(const Names& path, const Name& name, const Fits& fits) {
  const std::span<const std::string> parts(name.parts);
  for (std::size_t length = 1; length < parts.size(); ++length)
    if (path.size() >= length && is_telling(parts.first(length)) &&
        is_at(path, path.size() - length, parts.first(length), fits))
      return true;
  return false;
}

bool are_equal(const std::string& left, const std::string& right) { return left == right; }

// Places that lead into other folders, or show the memory, the environment and the open files of processes.
bool leads_elsewhere(const Parts& parts) {
  if (!parts.is_absolute || parts.names.size() < 3) return false;
  const auto is = [&](std::size_t at, std::string_view name) {
    const std::string& part = parts.names[at];
    return part == name || (is_pattern(part) && fit(part, name, false) >= 0);
  };
  // `/*/*/...` is any folder of the system.
  const auto is_spelled = [&](std::size_t at) { return parts.names[at].find_first_not_of("*?") != std::string::npos; };
  if (is(0, "dev") && is(1, "fd") && (is_spelled(0) || is_spelled(1)))
    return parts.names.size() > 3 || !std::ranges::all_of(parts.names[2], is_digit);
  if (!is(0, "proc")) return false;
  constexpr std::array<std::string_view, 7> kDoors = {"cwd", "environ", "fd", "fdinfo", "map_files", "mem", "root"};
  for (std::size_t at = 1; at < parts.names.size(); ++at)
    if ((is_spelled(0) || is_spelled(at)) &&
        std::ranges::any_of(kDoors, [&](std::string_view door) { return is(at, door); }))
      return true;
  return false;
}

// With `..` as a name: it goes above what a link leads to.
Parts names_of(std::string_view path) {
  Parts out;
  out.is_absolute = path.starts_with('/');
  for (const std::string_view part : split(path, '/'))
    if (!part.empty() && part != ".") out.names.push_back(part == ".." ? std::string(part) : folded(part));
  return out;
}

// Can the pattern be a path in `there`? Its end may come first: then it can be a folder above.
enum class Reach : std::uint8_t { None, Above, Within };
template <class Fits>
Reach reach(std::span<const std::string> pattern, std::span<const std::string> there, const Fits& fits) {
  // at[i]: the parts of the pattern so far can be the first i of `there`. In this way no pair of parts is compared twice.
  std::vector<bool> at(there.size() + 1);
  at[0] = true;
  for (std::size_t part = 0; part < pattern.size() && !at.back(); ++part) {
    const bool is_last = part + 1 == pattern.size();
    if (pattern[part] == "**") {
      if (!is_last && pattern[part + 1] == "**") continue;
      std::vector<bool> used(at.size());
      for (std::size_t i = 0; i < there.size(); ++i) used[i + 1] = (at[i] || used[i]) && fits(pattern[part], there[i]);
      // What it stands for is below the folder before it.
      for (std::size_t i = 0; i < at.size(); ++i) at[i] = (at[i] && !is_last) || used[i];
    } else {
      for (std::size_t i = there.size(); i > 0; --i) at[i] = at[i - 1] && fits(pattern[part], there[i - 1]);
      at[0] = false;
    }
    if (std::ranges::find(at, true) == at.end()) return Reach::None;
  }
  return at.back() ? Reach::Within : Reach::Above;
}

// How many bytes of work a step counts as: by what they cost, measured.
constexpr std::size_t kJudgeWork = 128;     // one path, besides its bytes
constexpr std::size_t kPatternWeight = 16;  // a byte of a path with wildcards
constexpr std::size_t kSpellingWeight = 2;  // a byte of a spelling
constexpr std::size_t kLookupWeight = 16;   // a byte of a path whose links are followed
constexpr std::size_t kShownMax = 200;      // bytes of a long path in the refusal

void keep(Guard guard, Guard& into) { into = std::max(guard, into); }

}  // namespace

Guarded::Guarded(const Paths& paths, std::string_view cwd) : links_(paths.links.get()), home_(paths.home) {
  const auto add = [&](const std::vector<std::string>& all, Guard guard) {
    for (const std::string& one : all) {
      Place place{parts_of(one), {}, guard};
      place.text = "/" + join(place.parts.names, "/");
      if (!place.parts.names.empty()) places_.push_back(std::move(place));
    }
  };
  add(paths.secret, Guard::Secret);
  add(paths.fixed, Guard::Fixed);
  for (const std::string& one : paths.secret)
    if (one.ends_with("/.baton") && one.size() > 7) projects_.push_back(one.substr(0, one.size() - 7));
  if (cwd.starts_with('/')) {
    folders_.emplace_back(cwd);
    return;
  }
  folders_ = projects_;
  if (!home_.empty()) folders_.push_back(home_);
  for (const std::string& one : paths.fixed | std::views::reverse) {  // packs are the last
    std::string folder = shell::normalised("", one + "/..");
    const auto is_there = [&](const std::vector<std::string>& in) { return std::ranges::find(in, folder) != in.end(); };
    // The folder of Baton's programs: nothing lies below these.
    if (std::ranges::find(paths.fixed, folder + "/baton-hook") != paths.fixed.end()) continue;
    if (folder.size() > 1 && beside_.size() < kBesideMax && !is_there(folders_) && !is_there(beside_))
      beside_.push_back(std::move(folder));
  }
}

void Guarded::judge(const Parts& parts, Found& found) const {
  const auto has_pattern = [](const std::string& name) { return is_pattern(name); };
  if (std::ranges::any_of(parts.names, has_pattern)) judge_pattern(parts.names, parts.is_absolute, found);
  if (leads_elsewhere(parts)) keep(Guard::Secret, found.guard);
  for (const Name& name : names()) {
    if (is_named(parts.names, name, are_equal)) keep(name.guard, found.guard);
    if (is_folder_of(parts.names, name, are_equal)) {
      found.holds = found.holds_by_name = true;
      found.holds_secret = found.holds_secret || name.guard == Guard::Secret;
    }
  }
  if (parts.is_absolute)
    for (const Place& place : places_) {
      const Names &path = parts.names, &there = place.parts.names;
      if (path.size() >= there.size() && std::equal(there.begin(), there.end(), path.begin())) {
        keep(place.guard, found.guard);
      } else if (path.size() < there.size() && std::equal(path.begin(), path.end(), there.begin())) {
        found.holds = true;
        found.holds_secret = found.holds_secret || place.guard == Guard::Secret;
      }
    }
  if (std::ranges::any_of(parts.names, [](const std::string& part) { return part.starts_with(kRunFolder); }))
    keep(Guard::Fixed, found.guard);
}

// A path with wildcards: what it may become.
void Guarded::judge_pattern(const Names& path, bool is_absolute, Found& found) const {
  int spelled = 0;
  const auto fits = [&](const std::string& part, const std::string& name) {
    if (part == "**") return dots || !name.starts_with('.');
    const int characters = is_pattern(part) ? fit(part, name, dots) : part == name ? static_cast<int>(name.size()) : -1;
    if (characters < 0) return false;
    spelled += name.starts_with('.') ? std::max(characters, kSpelledMin) : characters;
    return true;
  };
  for (const Name& name : names()) {
    spelled = 0;
    if (is_named(path, name, fits) && spelled >= kSpelledMin) keep(name.guard, found.guard);
    spelled = 0;
    if (is_folder_of(path, name, fits) && spelled >= kSpelledMin) {
      found.holds = found.holds_by_name = true;
      found.holds_secret = found.holds_secret || name.guard == Guard::Secret;
    }
  }
  if (!is_absolute) return;
  for (const Place& place : places_) {
    switch (reach<decltype(fits)>(path, place.parts.names, fits)) {
      case Reach::None: break;
      case Reach::Within: keep(place.guard, found.guard); break;
      case Reach::Above:
        found.holds = true;
        found.holds_secret = found.holds_secret || place.guard == Guard::Secret;
        break;
    }
  }
}

void Guarded::follow(const std::string& path, Found& found) {
  if (links_ == nullptr || is_exhausted()) return;
  ++lookups_;
  count_work(path.size() * kLookupWeight);
  const std::string real = links_->resolved(path);
  if (real.empty()) lookups_ = kLookupsMax + 1;
  else if (real != path) judge(parts_of(real), found);
}

// The file system opens no such path. Some tools take needless parts out of it before.
Guarded::Found Guarded::find_in_long(std::string_view path) {
  Found out;
  count_work(path.size());
  // What a pattern becomes may be short.
  if (is_pattern(path)) exhaust();
  out.guard = mentioned(path, Mention::Begins);
  out.holds = out.holds_by_name = mentions_folder(path, Mention::Begins);
  out.holds_secret = out.holds && out.guard == Guard::Secret;
  out.path = path.substr(0, kShownMax);
  return out;
}

Guarded::Found Guarded::find(std::string_view path, const std::vector<std::string>* folders) {
  Found out;
  if (is_exhausted()) return out;
  if (path.size() > limits::kShellPathBytesMax) return find_in_long(path);
  const auto take = [&](const std::string& whole) {
    if (is_exhausted()) return;
    count_work(kJudgeWork + whole.size() * (is_pattern(whole) ? kPatternWeight : 1));
    const Guard before = out.guard;
    judge(parts_of(whole), out);
    if (leads_elsewhere(names_of(whole))) keep(Guard::Secret, out.guard);
    // Also with wildcards: a file may have these characters in its name.
    if (whole.starts_with('/')) {
      follow(whole, out);
      // Some tools take `..` out of the text before they open the path, some leave it to the file system.
      if (const std::string plain = shell::normalised("", whole); plain != whole) follow(plain, out);
    }
    if (out.guard != before || out.path.empty()) out.path = whole;
  };
  const auto each = [&](const std::string& one) {
    if (one.starts_with('/')) return take(one);
    const std::vector<std::string>& in = folders != nullptr ? *folders : folders_;
    if (in.empty()) take(one);
    for (const std::string& folder : in) take(folder + "/" + one);
    if (folders == nullptr && parts_of(one).names.size() > 1)
      for (const std::string& folder : beside_) take(folder + "/" + one);
  };
  if (is_pattern(path)) {
    const Braces braces = without_braces(path);
    if (!braces.is_all) exhaust();
    for (const std::string& one : braces.texts) each(one);
  }
  // A file may have these characters in its name.
  each(std::string(path));
  return out;
}

Guarded::Found Guarded::find_any(std::string_view text, const std::vector<std::string>* folders) {
  Found out;
  if (is_exhausted()) return out;
  if (text.size() > limits::kShellPathBytesMax) {
    count_work(text.size());
    out.guard = mentioned(text, Mention::Begins);
    out.path = text.substr(0, kShownMax);
    return out;
  }
  const std::vector<std::string>& in = folders != nullptr ? *folders : folders_;
  const Spellings spellings = spellings_of(text, home_, in.empty() ? std::string_view() : std::string_view(in.front()));
  // What is named in the end is the plainest.
  std::vector<const std::string*> order;
  for (const bool plain : {true, false})
    for (const bool absolute : {true, false})
      for (const std::string& one : spellings.paths) {
        const bool is_plain = std::ranges::none_of(one, [](char c) { return static_cast<unsigned char>(c) < ' '; });
        if (is_plain == plain && one.starts_with('/') == absolute) order.push_back(&one);
      }
  for (const std::string& one : spellings.paths) count_work(kJudgeWork + one.size() * kSpellingWeight);
  for (const std::string* spelled : order) {
    if (is_exhausted()) break;
    const std::string& one = *spelled;
    const Found found = find(one, folders);
    if (found.guard > out.guard) out.path = found.path;
    keep(found.guard, out.guard);
    out.holds = out.holds || found.holds;
    out.holds_secret = out.holds_secret || found.holds_secret;
    out.holds_by_name = out.holds_by_name || found.holds_by_name;
    if (out.path.empty()) out.path = found.path;
    if (out.guard == Guard::Secret) break;
  }
  if (!spellings.is_all) keep(mentioned(text, Mention::Begins), out.guard);
  return out;
}

namespace {

// The paths in a text, as they are compared.
std::string folded_text(std::string_view given) {
  // All of it, so that a long text of many names takes one pass.
  const std::string unicode = is_ascii(given) ? std::string() : folded(given);
  const std::string_view text = is_ascii(given) ? given : std::string_view(unicode);
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (!out.empty() || text.starts_with('/')) out += '/';
    const std::size_t from = out.size();
    for (const char c : part) out.push_back(to_lower(c));
    if (const std::size_t stream = out.find("::$", from); stream != out.npos) out.resize(stream);
    if (out.find_first_not_of('.', from) != out.npos)
      while (out.size() > from && (out.back() == '.' || out.back() == ' ')) out.pop_back();
  }
  if (given.ends_with('/')) out += '/';
  return out;
}

bool is_part_of_name(char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; }

// What a text is searched for, by the first byte.
struct Needle {
  std::string text;
  Guard guard = Guard::None;
  bool is_folder = false;
};
using Needles = std::map<char, std::vector<Needle>>;

const Needles& name_needles() {
  static const Needles kNeedles = [] {
    Needles out;
    for (const Name& name : names()) out[name.text.front()].push_back({name.text, name.guard, name.is_folder});
    return out;
  }();
  return kNeedles;
}

// The folders that hold what has a protected name.
const Needles& folder_needles() {
  static const Needles kNeedles = [] {
    Needles out;
    for (const Name& name : names())
      for (std::size_t length = 1; length < name.parts.size(); ++length)
        if (const std::span<const std::string> front = std::span(name.parts).first(length); is_telling(front)) {
          const std::string text = join(Names(front.begin(), front.end()), "/");
          out[text.front()].push_back({text, name.guard, true});
        }
    return out;
  }();
  return kNeedles;
}

// Each place where one of them stands, from the beginning of a name on: until `take` of it and of what is behind it is true.
template <class Take>
bool says(std::string_view text, const Needles& needles, const Take& take) {
  std::array<const std::vector<Needle>*, 256> by_first = {};
  for (const auto& [first, all] : needles) by_first[static_cast<unsigned char>(first)] = &all;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::vector<Needle>* all = by_first[static_cast<unsigned char>(text[at])];
    if (all == nullptr || (text[at] != '/' && at > 0 && is_part_of_name(text[at - 1]))) continue;
    const std::string_view rest = text.substr(at);
    for (const Needle& one : *all)
      if (rest.starts_with(one.text) && take(one, rest.substr(one.text.size()))) return true;
  }
  return false;
}

}  // namespace

Guard Guarded::mentioned(std::string_view text, Mention how) const {
  const std::string in = folded_text(text);
  Guard out = Guard::None;
  const auto take = [&](const Needle& one, std::string_view behind) {
    const bool ends = how == Mention::Begins                    ? true
                      : how == Mention::AsPath && one.is_folder ? behind.starts_with('/')
                                                                : behind.empty() || !is_part_of_name(behind.front());
    if (ends) keep(one.guard, out);
    return out == Guard::Secret;
  };
  Needles there;
  for (const Place& place : places_) there['/'].push_back({place.text, place.guard, false});
  if (!says(in, name_needles(), take)) says(in, there, take);
  return out;
}

bool Guarded::mentions_folder(std::string_view text, Mention how) const {
  const auto take = [&](const Needle&, std::string_view behind) {
    if (how == Mention::Begins) return true;
    while (behind.starts_with("/.") && (behind.size() == 2 || !is_part_of_name(behind[2]))) behind.remove_prefix(2);
    if (behind.starts_with('/')) behind.remove_prefix(1);
    return behind.empty() || (behind.front() != '/' && !is_part_of_name(behind.front()));
  };
  if (says(folded_text(text), folder_needles(), take)) return true;
  // `.claude /tmp`: the blank may be the end of the name, or between two.
  if (text.find(" /") == text.npos) return false;
  std::string words(text);
  std::ranges::replace(words, ' ', '\n');
  return says(folded_text(words), folder_needles(), take);
}

// Statements end at `;`, `&`, `|` and, outside of round brackets, at the end of a line.
bool Guarded::handles_folder(std::string_view text) {
  count_work(text.size());
  std::size_t from = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= text.size() && !is_exhausted(); ++at) {
    const char c = at < text.size() ? text[at] : ';';
    if (c == '(') ++depth;
    if (c == ')' && depth > 0) --depth;
    if (c != ';' && c != '&' && c != '|' && (c != '\n' || depth > 0)) continue;
    const std::string_view statement = text.substr(from, at - from);
    from = at + 1;
    if (!handles_folders(statement)) continue;
    count_work(statement.size() * kSpellingWeight);
    // `x().config` is no folder.
    std::string names(statement);
    for (std::size_t dot = 1; dot < names.size(); ++dot)
      if (names[dot] == '.' && (names[dot - 1] == ')' || names[dot - 1] == ']')) names[dot - 1] = '_';
    if (mentions_folder(names)) return true;
  }
  return false;
}

bool Guarded::fits_tracked(std::string_view pattern, const std::vector<std::string>& folders) const {
  const std::string like = to_lower_ascii(pattern);
  if (std::ranges::any_of(names(), [&](const Name& name) {
        return fit(like, name.is_folder ? name.text + "/x" : name.text, true) >= 0;
      }))
    return true;
  for (const Place& place : places_)
    for (const std::string& folder : folders) {
      const std::string in = "/" + join(parts_of(folder).names, "/");
      if (shell::is_within(place.text, in) && place.text.size() > in.size() &&
          fit(like, place.text.substr(in.size() + 1) + "/x.yaml", true) >= 0)
        return true;
    }
  return false;
}

bool Guarded::is_in_project(std::string_view folder) const {
  const std::string there = shell::normalised("", folder);
  return std::ranges::any_of(projects_, [&](const std::string& one) { return shell::is_within(there, one); });
}

}  // namespace baton::protection
