// SPDX-License-Identifier: Apache-2.0
#include "workspace/text_rules.h"

#include <algorithm>

#include "base/text.h"

namespace baton::workspace {
namespace {

constexpr std::size_t kNameBytesMax = 256;  // a check, a stream, a type: what the ledger takes for a name
constexpr std::size_t kPathBytesMax = 4096;
constexpr std::size_t kUrlBytesMax = 2048;

template <class Accepts>
bool all_of(std::string_view text, Accepts accepts) {
  return std::all_of(text.begin(), text.end(), accepts);
}

bool is_word(std::string_view text, std::string_view further, std::size_t size_max) {
  return !text.empty() && text.size() <= size_max &&
         all_of(text, [&](char c) { return is_alphanumeric(c) || further.find(c) != std::string_view::npos; });
}

bool is_lower_word(std::string_view text, std::string_view further, std::size_t size_max) {
  return is_word(text, further, size_max) && !std::any_of(text.begin(), text.end(), is_upper);
}

// One line that shows something.
bool is_line(std::string_view text, std::size_t size_max) {
  if (text.size() > size_max || is_blank_text(text)) return false;
  for (std::size_t at = 0; at < text.size();)
    if (is_control(next_character(text, at))) return false;
  return true;
}

// --- addresses ---

// 0 to `max`, in decimal, without leading zeros.
bool is_number_up_to(std::string_view text, unsigned max) {
  if (text.empty() || text.size() > 5 || !all_of(text, is_digit) || (text.size() > 1 && text[0] == '0')) return false;
  unsigned value = 0;
  for (const char digit : text) value = value * 10 + static_cast<unsigned>(digit - '0');
  return value <= max;
}

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "[::1]") return true;
  const auto parts = split(host, '.');
  return parts.size() == 4 && parts[0] == "127" &&
         std::all_of(parts.begin(), parts.end(), [](std::string_view part) { return is_number_up_to(part, 255); });
}

bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']'))
    return host.size() > 2 &&
           all_of(host.substr(1, host.size() - 2), [](char c) { return hex_value(c) >= 0 || c == ':' || c == '.'; });
  return is_word(host, ".-", 253) && host.front() != '.' && host.front() != '-';
}

std::string_view url_problem(std::string_view url) {
  const bool secure = url.starts_with("https://");
  if (!secure && !url.starts_with("http://")) return "is no https address";
  if (url.size() > kUrlBytesMax) return "is too long";
  if (!all_of(url, [](char c) { return c > ' ' && c < 0x7f && c != '\\'; }))
    return "holds a character that is no part of an address";
  if (url.find('#') != std::string_view::npos) return "has a fragment";
  url.remove_prefix(secure ? 8 : 7);
  const std::string_view authority = url.substr(0, url.find('/'));
  if (authority.find('@') != std::string_view::npos) return "holds a user or a password";
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = authority.substr(0, colon);
  if (!is_host(host)) return "has no valid host";
  if (colon != std::string_view::npos &&
      (authority.substr(colon + 1) == "0" || !is_number_up_to(authority.substr(colon + 1), 65'535)))
    return "has no valid port";
  if (!secure && !is_loopback(host)) return "is plain http beyond this machine";
  return {};
}

std::string_view witness_problem(std::string_view witness) {
  for (const std::string_view scheme : {"folder:", "git:", "file://"})
    if (witness.starts_with(scheme))
      return witness.substr(scheme.size()).starts_with('/') && is_line(witness, kPathBytesMax)
                 ? std::string_view()
                 : "is not an absolute path";
  return witness.starts_with("http") ? url_problem(witness) : "is no witness";
}

// --- names and patterns ---

std::string_view role_problem(std::string_view text) {
  return is_lower_word(text, "_-", 32) && is_lower(text[0]) ? "" : "is no name of a role";
}

std::string_view pack_problem(std::string_view text) {
  return is_word(text, "._-", 64) && is_alphanumeric(text[0]) ? "" : "is no name of a pack";
}

std::string_view section_problem(std::string_view text) {
  if (text == "*") return "";
  return is_line(text, kNameBytesMax) && text.find('*') == std::string_view::npos ? "" : "is no name of a section";
}

std::string_view check_problem(std::string_view text) {
  return is_line(text, kNameBytesMax) ? "" : "is no name of a check";
}

std::string_view repository_problem(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return "is no repository";
  const std::string_view owner = text.substr(0, slash), name = text.substr(slash + 1);
  return is_word(owner, "-", 39) && is_word(name, "._-", 100) && name != "." && name != ".." ? "" : "is no repository";
}

std::string_view file_problem(std::string_view text) { return is_line(text, kPathBytesMax) ? "" : "is no path"; }

std::string_view target_problem(std::string_view text) {
  return is_lower_word(text, "-", 32) ? "" : "is no name of a target";
}

std::string_view without_star(std::string_view pattern) {
  if (pattern.ends_with('*')) pattern.remove_suffix(1);
  return pattern;
}

std::string_view type_problem(std::string_view text) {
  return text == "*" || is_word(without_star(text), "._-", kNameBytesMax) ? "" : "is no pattern of types";
}

std::string_view stream_problem(std::string_view text) {
  if (text == "*") return "";
  const std::string_view name = without_star(text);
  return is_line(name, kNameBytesMax) && name.find('*') == std::string_view::npos ? "" : "is no pattern of streams";
}

}  // namespace

const TextRule kRoleName = {role_problem, "a lower-case letter, then up to 31 of a-z, 0-9, `_` and `-`"};
const TextRule kPackName = {pack_problem, "a letter or digit, then up to 63 letters, digits, `.`, `_` and `-`"};
const TextRule kSectionName = {section_problem, "the name of a section of the context, or `*` for all of them"};
const TextRule kCheckName = {check_problem, "the name of a check as CI reports it, at most 256 bytes"};
const TextRule kRepository = {repository_problem, "`owner/name`"};
const TextRule kSecretFile = {file_problem, "the path of a file, relative to the configuration's folder or absolute"};
const TextRule kTargetName = {target_problem, "1 to 32 of a-z, 0-9 and `-`"};
const TextRule kTargetUrl = {url_problem, "an https address without user and fragment; http only to this machine"};
const TextRule kTypePattern = {type_problem, "a type such as `session.opened`, or its beginning and `*`: `work.*`"};
const TextRule kStreamPattern = {stream_problem, "a stream such as `work/W-1`, or its beginning and `*`: `work/*`"};
const TextRule kWitnessAddress = {witness_problem, "`folder:/path`, `git:/path`, `file:///path` or an https address"};

}  // namespace baton::workspace
