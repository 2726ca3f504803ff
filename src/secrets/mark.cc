// SPDX-License-Identifier: Apache-2.0
#include "secrets/mark.h"

#include <algorithm>

#include "base/text.h"
#include "secrets/characters.h"
#include "secrets/detector.h"

namespace baton::secrets {
namespace {

std::string mark_of(const Finding& finding, std::string_view secret) {
  const std::size_t characters = find_invalid_utf8(secret) == secret.size() ? count_characters(secret) : secret.size();
  const bool has_structure = finding.rule != "private-key" &&
                             std::any_of(secret.begin(), secret.end(), [](char c) { return in(kStructure, c); });
  return std::string(kMark) + std::string(finding.rule) + ", " + std::to_string(characters) +
         (characters == 1 ? " character" : " characters") + (has_structure ? std::string(kStructureMark) : "]");
}

std::string marked_text(std::string_view text, std::size_t& hidden) {
  std::string out;
  std::size_t at = 0;
  for (const Finding& finding : find(text)) {
    out.append(text, at, finding.offset - at);
    out += mark_of(finding, text.substr(finding.offset, finding.length));
    at = finding.offset + finding.length;
    ++hidden;
  }
  return out.append(text, at);
}

}  // namespace

std::string marked(std::string_view name, std::string_view text, std::size_t& hidden) {
  const auto assigned = find_assigned(name, text);
  if (!assigned) return marked_text(text, hidden);
  ++hidden;
  const std::size_t end = assigned->offset + assigned->length;
  return marked_text(text.substr(0, assigned->offset), hidden) +
         mark_of(*assigned, text.substr(assigned->offset, assigned->length)) + marked_text(text.substr(end), hidden);
}

}  // namespace baton::secrets
