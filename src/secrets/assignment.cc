// SPDX-License-Identifier: Apache-2.0
#include "secrets/assignment.h"

#include <algorithm>

#include "base/text.h"
#include "secrets/characters.h"
#include "secrets/looks_alike.h"
#include "secrets/rules.h"

namespace baton::secrets {
namespace {

// `SECRET_KEY_BASE`, `tokens`, `secretValue` go on naming a secret; `tokenizer` and `secretary` are other words, and
// `token_ref` is a reference. `last` is the keyword's last character.
bool rest_names_value(char last, std::string_view rest) {
  if (rest.empty()) return true;
  if (to_lower(rest[0]) == 's' && (rest.size() == 1 || !is_letter(rest[1]))) rest.remove_prefix(1);
  if (rest.empty()) return true;
  const bool same_word = is_lower(rest[0]) || (is_upper(rest[0]) && is_upper(last));
  if (same_word && !starts_with_folded(rest, "key") && !starts_with_folded(rest, "value")) return false;
  std::size_t start = rest.size();
  while (start > 0 && is_alphanumeric(rest[start - 1])) --start;
  std::string_view word = rest.substr(start);
  if (std::any_of(word.begin(), word.end(), is_lower)) {
    const std::size_t hump = word.find_last_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (hump != std::string_view::npos) word.remove_prefix(hump);
  }
  return std::none_of(std::begin(kReferenceWords), std::end(kReferenceWords),
                      [&](std::string_view reference) { return equals_folded(word, reference); });
}

// The end of the name that a keyword ending at `at` stands in; nothing if it is too long for one.
std::optional<std::size_t> name_end(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && end - at <= kNameRestMax && in(kName, text[end])) ++end;
  if (end - at > kNameRestMax) return std::nullopt;
  return end;
}

enum class Side { Name, Value };  // of the sign

// Moves past blanks and quotes and, before a document's value, into lists. False if a document's backslash makes it
// unclear what stands here.
bool skip_separator(std::string_view text, std::size_t& at, Reading reading, Side side) {
  const std::size_t start = at;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (reading == Reading::Document) {
      if (c == '\\') return false;
      if (c == '\n' || c == '\r' || (c == '[' && side == Side::Value)) continue;
    } else if (at - start == kSeparatorMax) {
      return true;
    }
    if (c != ' ' && c != '\t' && c != '\\' && c != ']' && !is_quote(c)) break;
  }
  return true;
}

// Where an unquoted value with punctuation ends: before the next `&name=`, and before what closes a sentence, a statement or a call.
std::size_t unquoted_end(std::string_view text, std::size_t at, std::size_t end) {
  for (std::size_t i = at; i < end; ++i) {
    if (std::string_view("&;,|").find(text[i]) == std::string_view::npos) continue;
    std::size_t name = i + 1;
    while (name < end && in(kName, text[name])) ++name;
    if (name > i + 1 && name < end && text[name] == '=') end = i;
  }
  while (end > at && std::string_view(".,;:)]}>|&").find(text[end - 1]) != std::string_view::npos) --end;
  return end;
}

// The end of the secret with punctuation that begins at `at`; `at` if there is none.
std::size_t punctuated_end(std::string_view text, std::size_t at, Reading reading) {
  std::size_t end = at;
  while (end < text.size() && end - at <= kValueLengthMax && in(kPunctuated, text[end])) ++end;
  const bool quoted = at > 0 && is_quote(text[at - 1]);
  if (quoted && is_secret_punctuated(text.substr(at, end - at), true)) return end;
  // In a document the quote may be the string's own.
  if (quoted && reading == Reading::Text && end < text.size() && text[end] == text[at - 1]) return at;
  end = unquoted_end(text, at, end);
  return is_secret_punctuated(text.substr(at, end - at), false) ? end : at;
}

// How much of the value at `at`, cut before one of its punctuation marks, is a secret; 0: nothing of it, however it is cut.
std::size_t secret_beginning(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && end - at <= kValueLengthMax && in(kPunctuated, text[end])) {
    ++end;
    const bool may_be_cut =
        end == text.size() ||
        (!is_alphanumeric(text[end]) && std::string_view("_~.=+/-").find(text[end]) == std::string_view::npos);
    const std::string_view part = text.substr(at, end - at);
    if (may_be_cut && part.size() >= kPunctuatedLengthMin &&
        (is_secret_punctuated(part, true) || is_secret_punctuated(part, false) ||
         (part.size() >= kValueLengthMin && is_secret_value(part))))
      return part.size();
  }
  return 0;
}

}  // namespace

std::vector<Place> hidden_parts(std::string_view text, Place place) {
  std::vector<Place> parts;
  const std::size_t end = place.offset + place.length;
  for (std::size_t at = place.offset; at < end;) {
    std::size_t part_end = at;
    while (part_end < end && !in(kStructure, text[part_end])) ++part_end;
    const std::string_view part = text.substr(at, part_end - at);
    const bool is_plain =
        at > place.offset && all_of(part, [](char c) { return is_lower(c) || c == '.' || c == '/' || c == '-'; });
    const bool is_mark = part.starts_with("[REDACTED:") && part.ends_with("]");
    if (!is_plain && !is_mark) parts.push_back({at, part.size()});
    at = part_end + 1;
  }
  return parts;
}

bool is_secret_key(std::string_view text, std::size_t at) {
  std::string_view before = text.substr(0, at - 3);
  if (!before.empty() && std::string_view(" _.-").find(before.back()) != std::string_view::npos)
    before.remove_suffix(1);
  return std::any_of(std::begin(kKeysOf), std::end(kKeysOf),
                     [&](std::string_view word) { return ends_with_folded(before, word); });
}

std::optional<Place> assigned_value(std::string_view text, std::size_t at, Reading reading) {
  // Of an assembly of .NET: the digest of a public key.
  if (ends_with_folded(text.substr(0, at), "publickeytoken")) return std::nullopt;
  const std::size_t start = at;
  const std::optional<std::size_t> end = name_end(text, at);
  if (!end) return std::nullopt;
  at = *end;
  if (!skip_separator(text, at, reading, Side::Name)) return Place{at, 0};
  if (at == text.size() || (text[at] != '=' && text[at] != ':')) return std::nullopt;
  ++at;
  for (int more = 0; more < 2 && at < text.size() && (text[at] == '=' || text[at] == '>' || text[at] == ':'); ++more)
    ++at;
  if (!skip_separator(text, at, reading, Side::Value)) return Place{at, 0};
  std::size_t value_end = at;
  while (value_end < text.size() && value_end - at <= kValueLengthMax && in(kValue, text[value_end])) ++value_end;
  const bool goes_on = value_end < text.size() && in(kPunctuated, text[value_end]);
  // Most values are too short to ask more.
  if ((value_end - at < kValueLengthMin && !goes_on) ||
      !rest_names_value(text[start - 1], text.substr(start, *end - start)))
    return std::nullopt;
  // A part of a document may end anywhere in a value with punctuation, and what ends it may be what makes the whole no secret: the look at
  // the part decides.
  if (goes_on && reading == Reading::Document)
    if (const std::size_t length = secret_beginning(text, at); length > 0) return Place{at, length};
  if (goes_on)
    if (const std::size_t longer = punctuated_end(text, at, reading); longer > value_end) return Place{at, longer - at};
  if (value_end - at < kValueLengthMin || !is_secret_value(text.substr(at, value_end - at))) return std::nullopt;
  return Place{at, value_end - at};
}

bool names_secret(std::string_view name) {
  for (std::size_t at = 3; at <= name.size(); ++at) {
    const std::string_view before = name.substr(0, at);
    const bool keyword = std::any_of(std::begin(kKeywords), std::end(kKeywords),
                                     [&](std::string_view word) { return ends_with_folded(before, word); });
    if (!keyword && !(ends_with_folded(before, "key") && is_secret_key(name, at))) continue;
    if (name_end(name, at) == name.size() && rest_names_value(name[at - 1], name.substr(at))) return true;
  }
  return false;
}

}  // namespace baton::secrets
