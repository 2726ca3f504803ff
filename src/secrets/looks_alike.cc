// SPDX-License-Identifier: Apache-2.0
#include "secrets/looks_alike.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

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

// `user:${PASSWORD}`, `user:***`, `user:[REDACTED:rule]`: the place of a password, not the password.
bool is_placeholder(std::string_view password) {
  return password.starts_with("$") || password.starts_with("{") || password.starts_with("%") ||
         password.starts_with("[REDACTED:") ||
         all_of(password, [](char c) { return c == '*' || c == '.' || c == 'x'; });
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
         !is_made_of_words(value);
}

bool is_secret_run(std::string_view run) {
  return run.size() >= kRunLengthMin && std::any_of(run.begin(), run.end(), is_upper) &&
         std::any_of(run.begin(), run.end(), is_lower) && std::any_of(run.begin(), run.end(), is_digit) &&
         entropy(run) >= kRunEntropyMin && !is_made_of_words(run) && !is_prefixed_ulid(run);
}

bool is_exempt(std::size_t rule, std::string_view token) {
  switch (rule) {
    case VaultLegacyToken: return all_of(token.substr(2), is_letter);
    case CloudflareToken:  // a git id, a rule of dashes, a long name
      return all_of(token, is_lower_hex) || std::none_of(token.begin(), token.end(), is_digit) ||
             std::none_of(token.begin(), token.end(), is_letter) || is_made_of_words(token);
    case UrlUserinfo: return token.starts_with("[REDACTED:") || is_placeholder(token.substr(token.find(':') + 1));
    case AuthorizationHeader:  // "Authorization: Basic authentication is not supported"
      return all_of(token.substr(1),
                    [](char c) { return is_lower(c) || c == '-' || c == '.' || c == '_' || c == ':'; });
    default: return false;
  }
}

}  // namespace baton::secrets
