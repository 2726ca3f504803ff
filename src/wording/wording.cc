// SPDX-License-Identifier: Apache-2.0
#include "wording/wording.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/hidden_characters.h"
#include "base/text.h"

namespace baton::wording {
namespace {

using Kind = Suspicion::Kind;

constexpr std::size_t kTextBytesMax = 256u
                                      << 10;  // of one text; what is behind it is not looked at, which is said as a gap
constexpr std::size_t kFoundMax = 32;         // of one definition
constexpr std::size_t kTextsMax = 20'000;     // of one definition
constexpr std::size_t kDepthMax = 64;
constexpr std::size_t kExcerptMax = 100;

struct Words {
  Kind kind;
  std::string_view name, about;
};
constexpr std::array<Words, 10> kWords = {{
    {Kind::Invisible, "invisible", "invisible characters"},
    {Kind::Bidirectional, "bidirectional", "characters that change the order in which text is read"},
    {Kind::Control, "control", "control characters"},
    {Kind::Gap, "gap", "text pushed out of sight"},
    {Kind::Override, "override", "words that override other instructions"},
    {Kind::Secrecy, "secrecy", "words that keep something from the user"},
    {Kind::HiddenTag, "hidden_tag", "tags that imitate a system message"},
    {Kind::Role, "role", "words that give the model another role"},
    {Kind::Prompt, "prompt", "words that ask for the system prompt"},
    {Kind::Secrets, "secrets", "words that ask for keys or passwords"},
}};

const Words& words_of(Kind kind) { return *std::ranges::find(kWords, kind, &Words::kind); }

// --- phrases ----------------------------------------------------------------------------------------------------------------------

// On the normalised text. The optional group 1 is a negation: with it the phrase says the opposite and does not count.
struct Phrase {
  Kind kind;
  const char* pattern;
};

#define OTHERS "(?: (?:all|any|every|of|the|your|these|those|other|my|its|and|or))*"
#define EARLIER "(?:previous|prior|earlier|above|preceding|foregoing|system|original|initial|safety|user|users|user's|developer|existing)"
#define ORDERS "(?:instructions?|prompts?|directives?|guidelines?|rules|messages?|constraints?|polic(?:y|ies)|orders)"
#define SOMEBODY "(?:the |any |an? )?(?:users?|humans?|operators?|anyone|anybody|person|people|administrators?)"

constexpr Phrase kPhrases[] = {
    {Kind::Override, "\\b(?:ignore|disregard|forget|override|bypass|discard)" OTHERS " " EARLIER
                     "(?: (?:and|or|previous|prior|system|safety|user|given))* " ORDERS "\\b"},
    {Kind::Override,
     "\\b(?:ignore|disregard|forget)" OTHERS
     " (?:instructions?|prompts?|directives?) (?:above|before|you (?:were|have been|got)|from the (?:user|system))\\b"},
    {Kind::Override,
     "\\b(?:ignore|disregard|forget) (?:(?:all|any) )?your (?:\\w+ )?(?:instructions?|guidelines?|rules|training)\\b"},
    {Kind::Override,
     "\\b(?:ignore|disregard|forget) (?:everything|anything|all) (?:above|before|you (?:were|have been|know|are "
     "told)|(?:that )?i (?:said|told)|(?:that )?(?:was|came|were) (?:said|before|above|told))\\b"},
    {Kind::Override,
     "\\b(?:these|this|the following) (?:\\w+ )?(?:instructions?|rules|directives?) (?:override|supersede|take "
     "(?:precedence|priority) over|replace) (?:\\w+ ){0,3}?" ORDERS "\\b"},
    {Kind::Secrecy,
     "\\b(?:do not|don't|dont|never|must not|should not|shouldn't|avoid) (?:ever "
     ")?(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|warn(?:ing)?) " SOMEBODY "\\b"},
    {Kind::Secrecy,
     "\\b(?:do not|don't|dont|never|must not|should not|shouldn't|avoid) (?:ever "
     ")?(?:mention|reveal|disclose|report|expose|discuss)(?:ing)? (?:this|that|it|these|them|anything|any of "
     "(?:this|these))(?: \\w+){0,3} (?:to|with) " SOMEBODY "\\b"},
    {Kind::Secrecy, "\\bwithout (?:telling|informing|notifying|alerting|asking|warning) " SOMEBODY "\\b"},
    {Kind::Secrecy, "\\bwithout (?:the )?users? ?'?s? (?:knowledge|knowing|noticing|consent)\\b"},
    {Kind::Secrecy,
     "\\b(?:hide|conceal|keep) (?:this|that|it|these|them)(?: \\w+){0,3} (?:from " SOMEBODY "|secret|hidden)\\b"},
    {Kind::Secrecy,
     "\\b(?:the )?users? (?:must|should|does|do|may|can|need) ?(?:not|n't|never) (?:know|be told|be informed|see "
     "this|notice|find out)\\b"},
    {Kind::Role, "\\byou are now (?:an? |the |no longer |in \\w+ mode|free )"},
    {Kind::Role, "\\bfrom now on,? (?:you|your|always|never|ignore|act)\\b"},
    {Kind::Role, "\\b(?:enter|enable|activate|switch to) (?:developer|god|jailbreak|dan|unrestricted|admin) mode\\b"},
    {Kind::Role, "\\bnew (?:system )?instructions? ?:"},
    {Kind::Prompt,
     "\\b(not |never |cannot |can't )?(?:reveal|print|output|repeat|include|send|show|leak|return|copy|paste)(?:ing)? "
     "(?:me |us )?(?:all of )?(?:your|the) (?:full |entire |complete )?(?:system|initial|hidden|secret) "
     "(?:prompts?|instructions|messages?)\\b"},
    {Kind::Prompt,
     "\\b(not |never |cannot |can't )?(?:include|send|pass|append|attach|forward|put)(?: \\w+){0,4} (?:whole |entire "
     "|full |complete )(?:conversation|chat|message)(?: history| log)?\\b"},
    {Kind::Secrets,
     "\\b(not |never |cannot |can't "
     ")?(?:read|open|cat|pass|send|include|attach|append|put|provide|upload|forward|fetch|load)(?: \\S+){0,8}? "
     "\\S*(?:\\.ssh/|id_rsa|id_ed25519|\\.aws/credentials|/etc/(?:passwd|shadow)|\\.cursor/"
     "mcp\\.json|claude_desktop_config|\\.netrc|\\.npmrc|\\.kube/config|operator\\.token)"},
};

// On the text as it is, without hidden characters.
constexpr const char* kTags[] = {
    ("(?i)</?\\s*(?:important|system|secret|hidden|critical|mandatory|confidential|override|instructions?|system[-_ "
     "]?prompt|system[-_ ]?message|assistant|developer[-_ ]message|user[-_ ]?query)(?:\\s[^<>]{0,80})?>"),
    "<\\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id)\\|>",
    "\\[/?INST\\]|<</?SYS>>",
    "(?im)^\\s*#{2,}\\s*(?:system|system prompt|instruction|new instructions?)\\s*:",
};

#undef OTHERS
#undef EARLIER
#undef ORDERS
#undef SOMEBODY

struct Compiled {
  Kind kind;
  std::unique_ptr<RE2> pattern;
};

const std::vector<Compiled>& phrases() {
  static const std::vector<Compiled> kAll = [] {
    std::vector<Compiled> out;
    for (const Phrase& one : kPhrases) out.push_back({one.kind, std::make_unique<RE2>(one.pattern)});
    return out;
  }();
  return kAll;
}

const std::vector<Compiled>& tags() {
  static const std::vector<Compiled> kAll = [] {
    std::vector<Compiled> out;
    for (const char* one : kTags) out.push_back({Kind::HiddenTag, std::make_unique<RE2>(one)});
    return out;
  }();
  return kAll;
}

// --- characters -------------------------------------------------------------------------------------------------------------------

bool is_between(char32_t c, char32_t first, char32_t last) { return first <= c && c <= last; }
bool is_joiner(char32_t c) { return c == 0x200C || c == 0x200D; }
bool is_selector(char32_t c) { return is_between(c, 0xFE00, 0xFE0F) || is_between(c, 0xE0100, 0xE01EF); }
bool is_tag(char32_t c) { return is_between(c, 0xE0000, 0xE007F); }
bool is_mark_of_direction(char32_t c) { return c == 0x200E || c == 0x200F || c == 0x061C; }
bool is_isolate(char32_t c) { return is_between(c, 0x2066, 0x2069); }
bool is_embedding(char32_t c) { return is_between(c, 0x202A, 0x202E); }
bool is_right_to_left(char32_t c) {
  return is_between(c, 0x0590, 0x08FF) || is_between(c, 0xFB1D, 0xFDFF) || is_between(c, 0xFE70, 0xFEFC);
}
bool is_line_end(char32_t c) { return c == 0x2028 || c == 0x2029; }
// Never part of a text that people wrote for people, whatever stands beside it.
bool is_always_invisible(char32_t c) {
  return is_hidden(c) && !is_joiner(c) && !is_tag(c) && !is_mark_of_direction(c) && !is_isolate(c) &&
         !is_embedding(c) && !is_line_end(c) && c != 0x00AD;
}
bool is_dropped(char32_t c) { return (is_hidden(c) && !is_line_end(c)) || is_selector(c); }

bool is_quote(char32_t c) {
  return c == '"' || c == 0xAB || c == 0xBB || is_between(c, 0x201A, 0x201F) || c == 0x2039 || c == 0x203A ||
         is_between(c, 0x300C, 0x300F);
}
bool is_white_space(char32_t c) { return is_blank(c) || is_between(c, 0x09, 0x0D) || c == 0x85 || c == 0x2800; }

std::u32string characters_of(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) out.push_back(next_character(text, at));
  return out;
}

// Joiners belong between letters of scripts that join, and between emoji.
bool is_odd_joiner(const std::u32string& text, std::size_t at) {
  const char32_t before = at > 0 ? text[at - 1] : 0, after = at + 1 < text.size() ? text[at + 1] : 0;
  const auto joins = [](char32_t c) { return c >= 0x0600 && !is_joiner(c) && !is_tag(c); };
  return !joins(before) || !joins(after);
}

// The flags of England, Scotland, Wales: a black flag, at most six letters as tags, and the end.
std::size_t flag_tags(const std::u32string& text, std::size_t at) {
  if (at == 0 || text[at - 1] != 0x1F3F4) return 0;
  std::size_t end = at;
  while (end < text.size() && is_between(text[end], 0xE0030, 0xE007A)) ++end;
  return end < text.size() && text[end] == 0xE007F && end > at && end - at <= 6 ? end + 1 - at : 0;
}

struct Characters {
  bool invisible = false, bidirectional = false, control = false, gap = false;
};

Characters look_at(const std::u32string& text) {
  constexpr std::size_t kLinesMax = 20, kBlanksMax = 200;
  Characters out;
  const bool reads_from_right = std::ranges::any_of(text, is_right_to_left);
  std::size_t lines = 0, blanks = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char32_t c = text[at];
    if (c == '\n' || is_line_end(c)) ++lines, blanks = 0;
    else if (is_white_space(c)) ++blanks;
    else {
      // Only when something is behind it.
      out.gap = out.gap || lines >= kLinesMax || blanks >= kBlanksMax;
      lines = blanks = 0;
    }
    if (is_tag(c)) {
      if (const std::size_t length = flag_tags(text, at); length != 0) at += length - 1;
      else out.invisible = true;
      continue;
    }
    if (is_always_invisible(c) && !(c == 0xFEFF && at == 0)) out.invisible = true;
    if (is_joiner(c) && is_odd_joiner(text, at)) out.invisible = true;
    if (is_selector(c) && at > 0 && is_selector(text[at - 1])) out.invisible = true;
    if (is_embedding(c) || ((is_isolate(c) || is_mark_of_direction(c)) && !reads_from_right)) out.bidirectional = true;
    if (is_control(c) && c != '\n' && c != '\r' && c != '\t') out.control = true;
  }
  return out;
}

// Tags are letters that nobody sees and that models read: they are read here, too.
std::u32string without_hidden(const std::u32string& text) {
  std::u32string out;
  for (const char32_t c : text)
    if (is_between(c, 0xE0020, 0xE007E)) out += c - 0xE0000;
    else if (!is_dropped(c)) out += c;
  return out;
}

std::string utf8_of(const std::u32string& text) {
  std::string out;
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

bool is_letter(char32_t c) {
  return c < 0x80 ? is_alphanumeric(static_cast<char>(c)) : !is_white_space(c) && !is_quote(c);
}

// How long a tag of HTML is that only sets off words: `<b>`, `</em>`, `<span style="...">`. 0: there is none.
std::size_t inline_tag(const std::u32string& text, std::size_t at) {
  static constexpr std::string_view kTags[] = {"a",      "abbr",   "b",   "big", "br",   "code", "del",   "em",
                                               "font",   "i",      "ins", "kbd", "mark", "s",    "small", "span",
                                               "strike", "strong", "sub", "sup", "tt",   "u",    "wbr"};
  constexpr std::size_t kTagMax = 200;
  if (text[at] != '<') return 0;
  std::size_t end = at + 1;
  if (end < text.size() && text[end] == '/') ++end;
  std::string name;
  for (; end < text.size() && text[end] < 0x80 && is_alphanumeric(static_cast<char>(text[end])); ++end)
    name += to_lower(static_cast<char>(text[end]));
  if (std::ranges::find(kTags, name) == std::end(kTags)) return 0;
  if (end < text.size() && text[end] != '>' && text[end] != '/' && !is_white_space(text[end])) return 0;
  while (end < text.size() && text[end] != '>' && text[end] != '<' && end - at < kTagMax) ++end;
  return end < text.size() && text[end] == '>' ? end + 1 - at : 0;
}

// What a reader takes for a mark around words and not for a part of one. `~` and `=` are marks only where they are doubled: `~/.ssh`, `a=b`.
bool is_mark(const std::u32string& text, std::size_t at) {
  const char32_t c = text[at];
  if (c == '*' || c == '`' || c == '>' || is_quote(c)) return true;
  const auto same_before = [&] { return at > 0 && text[at - 1] == c; };
  const auto same_behind = [&] { return at + 1 < text.size() && text[at + 1] == c; };
  if (c == '~' || c == '=') return same_before() || same_behind();
  if (c == '\\')
    return at + 1 < text.size() &&
           (text[at + 1] == '*' || text[at + 1] == '_' || text[at + 1] == '`' || text[at + 1] == '~');
  return false;
}

std::string normalised(const std::u32string& whole) {
  std::u32string text = without_hidden(whole);
  for (char32_t& c : text)
    if (c == 0x2018 || c == 0x2019 || c == 0x02BC) c = '\'';
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char32_t c = text[at];
    // Between letters these stay: `id_rsa`, `user's`.
    if (c == '_' || c == '\'') {
      const std::size_t begin = at;
      while (at + 1 < text.size() && text[at + 1] == c) ++at;
      const bool is_inside = begin > 0 && at + 1 < text.size() && is_letter(text[begin - 1]) && is_letter(text[at + 1]);
      if (is_inside) out.append(at + 1 - begin, static_cast<char>(c));
      else if (!out.empty() && out.back() != ' ') out += ' ';
      continue;
    }
    const std::size_t tag = inline_tag(text, at);
    if (tag != 0) at += tag - 1;
    if (tag != 0 || is_white_space(c) || is_mark(text, at)) {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else if (c < 0x80) {
      out += to_lower(static_cast<char>(c));
    } else {
      append_utf8(out, c);
    }
  }
  return out;
}

std::string excerpt(std::string_view text) { return printable(text, kExcerptMax); }

void look_for(const std::vector<Compiled>& all, std::string_view text, std::string_view place,
              std::vector<Suspicion>& out) {
  for (const Compiled& one : all) {
    if (std::ranges::any_of(out, [&](const Suspicion& there) { return there.kind == one.kind; })) continue;
    re2::StringPiece rest(text.data(), text.size());
    std::array<re2::StringPiece, 2> found;
    const int groups = std::min(one.pattern->NumberOfCapturingGroups(), 1);
    std::size_t at = 0;
    while (one.pattern->Match(rest, at, rest.size(), RE2::UNANCHORED, found.data(), groups + 1)) {
      if (groups == 0 || found[1].empty()) {
        out.push_back({one.kind, std::string(place), excerpt(std::string_view(found[0].data(), found[0].size()))});
        break;
      }
      at = static_cast<std::size_t>(found[0].data() - rest.data()) + std::max<std::size_t>(found[0].size(), 1);
    }
  }
}

// `data:image/png;base64,...`: without words, and often large.
bool is_encoded_data(std::string_view text) {
  static const RE2 kBegin("data:(?:image|audio|video|font)/[a-z0-9.+-]{1,60};base64,");
  re2::StringPiece rest(text.data(), text.size());
  if (!RE2::Consume(&rest, kBegin)) return false;
  return std::ranges::all_of(
      rest, [](char c) { return is_alphanumeric(c) || c == '+' || c == '/' || c == '=' || c == '-' || c == '_'; });
}

class Walk {
 public:
  std::vector<Suspicion> run(json::Node definition, std::span<const std::string_view> parts) {
    for (const std::string_view part : parts)
      if (const json::Node there = definition[part]) look(there, std::string(part), 0);
    return std::move(out_);
  }

  std::vector<Suspicion> run_value(json::Node value, std::string_view place) {
    look(value, std::string(place), 0);
    return std::move(out_);
  }

 private:
  bool is_full() const { return out_.size() >= kFoundMax || texts_ > kTextsMax; }

  void keep(std::vector<Suspicion> found) {
    for (Suspicion& one : found)
      if (out_.size() < kFoundMax) out_.push_back(std::move(one));
  }

  void look(json::Node node, const std::string& place, std::size_t depth) {
    if (is_full()) return;
    if (depth > kDepthMax || ++texts_ > kTextsMax) return out_.push_back({Kind::Gap, place, "too much to be read"});
    if (node.is_string()) {
      if (!is_encoded_data(node.string())) keep(suspicions_in_text(node.string(), place));
      return;
    }
    if (node.is_array())
      for (const json::Node one : node.elements()) look(one, place, depth + 1);
    for (const json::Member member : node.members()) {
      const std::string below = place + "/" + printable(member.name(), 60);
      keep(suspicions_in_text(member.name(), below));
      look(member.value, below, depth + 1);
    }
  }

  std::vector<Suspicion> out_;
  std::size_t texts_ = 0;
};

}  // namespace

std::string_view name_of(Kind kind) { return words_of(kind).name; }
std::string_view about(Kind kind) { return words_of(kind).about; }

std::string text_of(const Suspicion& one) {
  std::string out = printable(one.place, 200) + " has " + std::string(about(one.kind));
  if (!one.excerpt.empty()) out += " (`" + one.excerpt + "`)";
  return out;
}

std::vector<Suspicion> suspicions_in_text(std::string_view whole, std::string_view place) {
  std::vector<Suspicion> out;
  std::string_view text = whole.substr(0, kTextBytesMax);
  if (find_invalid_utf8(text) != text.size()) text = text.substr(0, find_invalid_utf8(text));
  const std::u32string characters = characters_of(text);
  const Characters seen = look_at(characters);
  const auto add = [&](bool is_so, Kind kind) {
    if (is_so) out.push_back({kind, std::string(place), {}});
  };
  add(seen.invisible, Kind::Invisible);
  add(seen.bidirectional, Kind::Bidirectional);
  add(seen.control, Kind::Control);
  add(seen.gap || whole.size() > kTextBytesMax, Kind::Gap);
  look_for(phrases(), normalised(characters), place, out);
  look_for(tags(), utf8_of(without_hidden(characters)), place, out);
  return out;
}

std::vector<Suspicion> suspicions_in(json::Node definition, std::span<const std::string_view> parts) {
  return Walk().run(definition, parts);
}

std::vector<Suspicion> suspicions_in_value(json::Node value, std::string_view place) {
  return Walk().run_value(value, place);
}

}  // namespace baton::wording
