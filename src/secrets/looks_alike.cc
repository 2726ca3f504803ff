// SPDX-License-Identifier: Apache-2.0
#include "secrets/looks_alike.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "base/text.h"
#include "secrets/characters.h"
#include "secrets/rules.h"

namespace baton::secrets {
namespace {

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_lower_hex(to_lower(text[i]))) return false;
  }
  return true;
}

// `trace_01J8Z3...`: a readable prefix and a ULID, which is as little a secret as a UUID.
bool is_prefixed_ulid(std::string_view text) {
  if (text.size() <= 27) return false;
  const std::string_view prefix = text.substr(0, text.size() - 26);
  const std::string_view ulid = text.substr(text.size() - 26);
  return (prefix.back() == '_' || prefix.back() == '-') && all_of(prefix.substr(0, prefix.size() - 1), is_lower) &&
         ulid[0] >= '0' && ulid[0] <= '7' && all_of(ulid, [](char c) {
           return is_digit(c) || (is_upper(c) && c != 'I' && c != 'L' && c != 'O' && c != 'U');
         });
}

// One part of a name, a path or a phrase: a word in some natural case, a number, or a word and a short number.
bool is_word(std::string_view part, bool& has_number) {
  std::size_t letters = 0;
  while (letters < part.size() && is_letter(part[letters])) ++letters;
  const std::string_view number = part.substr(letters);
  if (!all_of(number, is_digit)) return false;
  if (letters == 0) return number.size() <= 8;
  has_number = !number.empty();
  if (has_number && (number.size() > 4 || letters == 2)) return false;
  std::size_t humps = 0;  // camelCase: rare enough to be words, not letters picked blindly
  for (std::size_t i = 1; i < letters; ++i) humps += is_lower(part[i - 1]) && is_upper(part[i]);
  return letters <= 24 && humps * 5 <= letters;
}

// `docs/release/2026-notes.md`, `change-ticket-3310`, `process.env.API_TOKEN`: several words, none of them random. A
// random value split by dashes mixes letters and digits in its parts and has too few vowels.
bool is_made_of_words(std::string_view text) {
  std::size_t parts = 0, numbered = 0, letters = 0, vowels = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_alphanumeric(text[end])) ++end;
    if (end > at) {
      bool has_number = false;
      if (!is_word(text.substr(at, end - at), has_number)) return false;
      ++parts;
      numbered += has_number;
    }
    at = end + 1;
  }
  for (const char c : text) {
    letters += is_letter(c);
    vowels += std::string_view("aeiou").find(to_lower(c)) != std::string_view::npos;
  }
  return parts >= 2 && numbered <= 2 && letters > 0 && vowels * 4 >= letters;
}

// How much of a text is in words that a reader could say, each counted beyond its first four letters: `include` has three. Random text
// has nearly none. Words begin at a capital.
std::size_t sayable(std::string_view text) {
  std::size_t sum = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (is_letter(text[at])) {
      const bool upper = is_upper(text[at]) && end < text.size() && is_upper(text[end]);
      while (end < text.size() && (upper ? is_upper(text[end]) : is_lower(text[end]))) ++end;
      std::size_t vowels = 0;
      for (std::size_t i = at; i < end; ++i)
        vowels += std::string_view("aeiou").find(to_lower(text[i])) != std::string_view::npos;
      if (end - at > 4 && vowels * 5 >= end - at && vowels * 3 <= 2 * (end - at)) sum += end - at - 4;
    }
    at = end;
  }
  return sum;
}

// `0123456789ABCDEF`.
bool is_alphabet(std::string_view text) {
  std::size_t ascending = 0;
  for (std::size_t i = 1; i < text.size(); ++i) ascending += text[i] == text[i - 1] + 1;
  return ascending * 2 >= text.size();
}

// Base64 has no dots and does not begin with one.
bool is_path(std::string_view text) {
  if (text.starts_with("./") || text.starts_with("../") || text.starts_with("~/")) return true;
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || text.find('/') > dot) return false;
  const std::string_view extension = text.substr(dot + 1);
  return !extension.empty() && extension.size() <= 5 && all_of(extension, is_alphanumeric) && is_lower(extension[0]);
}

bool is_digest_with_prefix(std::string_view text) {
  for (const std::string_view prefix : {"sha1", "sha256", "sha384", "sha512", "md5"}) {
    if (text.starts_with(prefix) && text.size() > prefix.size() && !is_alphanumeric(text[prefix.size()])) {
      return all_of(text.substr(prefix.size() + 1), is_lower_hex);
    }
  }
  return false;
}

// What only punctuation of a password is, never that of a name, a number or a list.
constexpr std::string_view kStrong = "!@#$%^&*?|;";
constexpr std::string_view kOpening = "([{<", kClosing = ")]}>";

bool is_one_of(char c, std::string_view characters) { return characters.find(c) != std::string_view::npos; }

// `a && b`, `x->y`, `${NAME}`, `%s`: code or a template.
bool has_operators(std::string_view value) {
  for (const std::string_view sign :
       {"&&", "||", "==", "!=", "=>", "->", "<-", "::", "++", "?.", "${", "$(", "{{", "://"})
    if (value.find(sign) != std::string_view::npos) return true;
  for (std::size_t i = 0; i + 1 < value.size(); ++i) {
    const char c = value[i], next = value[i + 1];
    if (c == '%' && is_one_of(next, "sdiguxqvrp(")) return true;
    if (c == '$' && (is_letter(next) || next == '_') &&
        (i == 0 || is_one_of(value[i - 1], "-_/:.=") ||
         (is_upper(next) && i + 2 < value.size() && (is_upper(value[i + 2]) || value[i + 2] == '_'))))
      return true;
  }
  return false;
}

// `npm:package@1.2.3`, `arn:aws:...`; `user@host.example`, `package@1.2.3`, `image:1.2@sha256:...`.
bool is_reference(std::string_view value) {
  std::size_t scheme = 0;
  while (scheme < value.size() && is_lower(value[scheme])) ++scheme;
  if (scheme > 1 && scheme < value.size() && value[scheme] == ':') return true;
  const std::size_t at = value.find('@');
  if (at != std::string_view::npos && value.substr(at).starts_with("@sha256:")) return true;
  return at != std::string_view::npos && value.find('.', at) != std::string_view::npos &&
         all_of(value.substr(at + 1), [](char c) { return is_alphanumeric(c) || is_one_of(c, ".-_"); });
}

// `user:${PASSWORD}`, `user:***`, `user:[REDACTED:rule]`: the place of a password, not the password.
bool is_placeholder(std::string_view password) {
  return password.starts_with("$") || password.starts_with("{") || password.starts_with("%") ||
         password.starts_with("[REDACTED:") || password.empty() ||
         all_of(password, [](char c) { return c == '*' || c == '.' || c == 'x'; });
}

// What a manual writes where a password belongs.
bool is_example(std::string_view password) {
  for (const std::string_view word : {"password", "passwd", "pass", "pw", "secret", "token"})
    if (equals_folded(password, word)) return true;
  return false;
}

// Lines of a certificate or a public key stand in front of a further one.
bool is_in_public_pem(std::string_view before) {
  constexpr std::size_t kBodyMax = 16'384;
  const std::size_t least = before.size() < kBodyMax ? 0 : before.size() - kBodyMax;
  std::size_t at = before.size();
  while (at > least && (in(kRun, before[at - 1]) || before[at - 1] == '=' || before[at - 1] == '\n' ||
                        before[at - 1] == '\r' || before[at - 1] == '\\' || before[at - 1] == ' '))
    --at;
  // The words of the head are among what was passed.
  const std::string_view passed = before.substr(at);
  const std::size_t head = passed.rfind("-----BEGIN ");
  if (head == std::string_view::npos) return false;
  const std::string_view kind = passed.substr(head + 11, 60);
  const std::size_t close = kind.find("-----");
  if (close == std::string_view::npos) return false;
  const std::string_view name = kind.substr(0, close);
  return (name.ends_with("CERTIFICATE") || name.ends_with("PUBLIC KEY") || name == "X509 CRL" || name == "PKCS7" ||
          name == "CERTIFICATE REQUEST" || name == "DH PARAMETERS") &&
         passed.find("-----END", head) == std::string_view::npos;
}

}  // namespace

double entropy(std::string_view text) {
  std::array<std::uint32_t, 256> counts{};
  for (const char c : text) ++counts[static_cast<unsigned char>(c)];
  double sum = 0;
  for (const std::uint32_t count : counts) {
    if (count > 1) sum += count * std::log2(static_cast<double>(count));
  }
  const double size = static_cast<double>(text.size());
  return text.empty() ? 0 : std::log2(size) - sum / size;
}

bool is_secret_value(std::string_view value) {
  return value.size() >= kValueLengthMin && value.size() <= kValueLengthMax && !all_of(value, is_letter) &&
         entropy(value) >= kValueEntropyMin && !is_uuid(value) && !is_digest_with_prefix(value) && !is_path(value) &&
         !is_made_of_words(value) && (std::any_of(value.begin(), value.end(), is_digit) || sayable(value) < 4);
}

bool is_secret_punctuated(std::string_view value, bool quoted) {
  if (value.size() < kPunctuatedLengthMin || value.size() > kValueLengthMax) return false;
  if (!is_alphanumeric(value[0]) && value[0] != '!' && value[0] != '#') return false;
  std::size_t letters = 0, digits = 0, strong = 0, open = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    letters += is_letter(c);
    digits += is_digit(c);
    strong += i > 0 && is_one_of(c, kStrong);
    if (is_one_of(c, kOpening) || is_one_of(c, kClosing)) {
      if (!quoted || (open > 0 && is_one_of(c, kClosing))) return false;
      open += is_one_of(c, kOpening);
      ++strong;
    }
  }
  if (letters == 0 || digits == 0 || strong == 0 || entropy(value) < kPunctuatedEntropyMin || has_operators(value) ||
      is_reference(value))
    return false;
  // Words and numbers between signs (`page1#section2`) are no password, unless a sign is the last character (`Summer2024!`).
  if (is_one_of(value.back(), "!@#$%^*")) return true;
  for (std::size_t at = 0; at < value.size();) {
    std::size_t end = at;
    while (end < value.size() && is_alphanumeric(value[end])) ++end;
    bool has_number = false;
    if (end > at && !is_word(value.substr(at, end - at), has_number)) return true;
    at = end + 1;
  }
  return false;
}

bool is_encoded_userinfo(std::string_view base64) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : base64) {
    if (c == '=') break;
    const int value = is_upper(c)   ? c - 'A'
                      : is_lower(c) ? c - 'a' + 26
                      : is_digit(c) ? c - '0' + 52
                      : c == '+'    ? 62
                                    : 63;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    text.push_back(static_cast<char>(bits >> count & 0xff));
  }
  const std::size_t colon = text.find(':');
  return colon != std::string::npos && find_invalid_utf8(text) == text.size() &&
         !is_placeholder(text.substr(colon + 1)) &&
         all_of(text, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; });
}

bool is_secret_run(std::string_view run) {
  return run.size() >= kRunLengthMin && std::any_of(run.begin(), run.end(), is_upper) &&
         std::any_of(run.begin(), run.end(), is_lower) && std::any_of(run.begin(), run.end(), is_digit) &&
         entropy(run) >= kRunEntropyMin && !is_made_of_words(run) && !is_prefixed_ulid(run) && !is_alphabet(run) &&
         sayable(run) < std::max<std::size_t>(5, run.size() / 7);
}

bool is_public_run(std::string_view before, std::string_view run) {
  struct Digest {
    std::string_view name;
    std::size_t length;  // in base64 without padding
  };
  for (const Digest& digest : {Digest{"md5-", 22}, {"sha1-", 27}, {"sha256-", 43}, {"sha384-", 64}, {"sha512-", 86}})
    if (run.size() == digest.name.size() + digest.length && run.starts_with(digest.name)) return true;
  if (is_in_public_pem(before)) return true;
  if (run.size() == 43 && (before.ends_with("h1:") || before.ends_with("sha256=") || before.ends_with("SHA256:")))
    return true;
  if (before.ends_with(";base64,")) return true;
  // Public keys of ssh name their kind first; pictures begin with a few bytes of their own (PNG, JPEG, GIF, WebP).
  for (const std::string_view start :
       {"AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNhLXNoYTIt", "AAAAGnNrLXNza", "AAAAInNrLWVjZHNh", "iVBORw0KGgo",
        "/9j/4AAQ", "/9j/4QA", "R0lGODdh", "R0lGODlh", "UklGR"})
    if (run.starts_with(start)) return true;
  return false;
}

bool is_exempt(std::size_t rule, std::string_view token) {
  switch (rule) {
    case VaultLegacyToken: return all_of(token.substr(2), is_letter);
    case CloudflareToken:  // a git id, a rule of dashes, a long name
      return all_of(token, is_lower_hex) || std::none_of(token.begin(), token.end(), is_digit) ||
             std::none_of(token.begin(), token.end(), is_letter) || is_made_of_words(token);
    case UrlUserinfo: return token.starts_with("[REDACTED:") || is_placeholder(token.substr(token.find(':') + 1));
    case BasicAuth:
    case RegistryAuth: return !is_encoded_userinfo(token);
    case Netrc: return is_placeholder(token) || is_example(token);
    case CurlUser: {
      const std::string_view password = token.substr(token.find(':') + 1);
      return is_placeholder(password) || is_example(password);
    }
    case AuthorizationHeader:  // "Authorization: Basic authentication is not supported"
      return all_of(token.substr(1),
                    [](char c) { return is_lower(c) || c == '-' || c == '.' || c == '_' || c == ':'; });
    default: return false;
  }
}

}  // namespace baton::secrets
