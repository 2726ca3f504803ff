// SPDX-License-Identifier: Apache-2.0
// Which task, for which card, approved by whom, in which repository.
#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/handoff_spec/steps.h"
#include "json/decimal.h"

namespace baton::handoff_spec {
namespace {

constexpr std::size_t kSlugBytesMin = 10, kSlugBytesMax = 63;  // 63: a slug is also an STS session name and a folder
constexpr std::size_t kSlugDateBytes = 8;
constexpr std::size_t kDateBytes = 10;  // YYYY-MM-DD
constexpr std::int64_t kLinkedCardMax = 2'147'483'647;
constexpr std::size_t kRepoBytesMax = 100, kOwnerBytesMax = 39;  // GitHub's

// Runs of characters `is_part` takes, with one hyphen between two of them.
bool is_hyphenated(std::string_view text, bool (*is_part)(char)) {
  for (const std::string_view part : split(text, '-'))
    if (part.empty() || !std::ranges::all_of(part, is_part)) return false;
  return true;
}

bool is_slug(std::string_view slug) {
  if (slug.size() < kSlugBytesMin || slug.size() > kSlugBytesMax) return false;
  const std::string_view date = slug.substr(slug.size() - kSlugDateBytes);
  if (!std::ranges::all_of(date, is_digit) || slug[slug.size() - kSlugDateBytes - 1] != '-') return false;
  return is_hyphenated(slug, [](char c) { return is_lower(c) || is_digit(c); });
}

// There is no year 0 to date anything in.
std::optional<Time> parse_day(std::string_view text) {
  return text.starts_with("0000") ? std::nullopt : parse_date(text);
}

bool ends_in_real_day(std::string_view slug) {
  const std::string date(slug.substr(slug.size() - kSlugDateBytes));
  return parse_day(date.substr(0, 4) + "-" + date.substr(4, 2) + "-" + date.substr(6, 2)).has_value();
}

// The days a text names: every YYYY-MM-DD in it that is a real one and not a piece of a longer number.
std::vector<Time> days_in(std::string_view text) {
  std::vector<Time> days;
  for (std::size_t at = 0; at + kDateBytes <= text.size(); ++at) {
    if (at > 0 && is_digit(text[at - 1])) continue;
    if (at + kDateBytes < text.size() && is_digit(text[at + kDateBytes])) continue;
    if (const auto day = parse_day(text.substr(at, kDateBytes))) days.push_back(*day);
  }
  return days;
}

// `Name YYYY-MM-DD`
bool follows_convention(std::string_view approval) {
  approval = trim(approval);
  if (approval.size() < kDateBytes + 2) return false;
  const std::size_t date_at = approval.size() - kDateBytes;
  return approval[date_at - 1] == ' ' && !is_blank_text(approval.substr(0, date_at)) &&
         parse_day(approval.substr(date_at)).has_value();
}

bool has_controls(std::string_view text) {
  for (std::size_t at = 0; at < text.size();)
    if (is_control(next_character(text, at))) return true;
  return false;
}

std::string_view approval_problem(std::string_view approval) {
  if (is_blank_text(approval)) return "is blank";
  if (count_characters(trim(approval)) > limits::kSpecApprovalCharactersMax) return "is too long";
  if (has_controls(approval)) return "holds a control character";
  return "";
}

bool is_repo(std::string_view repo) {
  if (repo.empty() || repo.size() > kRepoBytesMax || repo == "." || repo == "..") return false;
  return std::ranges::all_of(repo, [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_owner(std::string_view owner) {
  return owner.size() <= kOwnerBytesMax && is_hyphenated(owner, is_alphanumeric);
}

}  // namespace

void check_task_slug(Run& run) {
  const json::Node slug = run.take("task_slug", json::Kind::String, Need::Required);
  if (!slug) return;
  if (!is_slug(slug.string())) run.add(Code::SPEC_TASK_SLUG_FORMAT, slug);
  else if (!ends_in_real_day(slug.string())) run.add(Code::SPEC_TASK_SLUG_DATE, slug);
}

void check_operator_approval(Run& run) {
  const json::Node approval = run.take("operator_approval", json::Kind::String, Need::Required);
  if (!approval) return;
  const std::string_view problem = approval_problem(approval.string());
  if (!problem.empty()) {
    run.add(Code::SPEC_APPROVAL_INVALID, approval, {{"problem", problem}});
    return;
  }
  if (!follows_convention(approval.string())) run.add(Code::SPEC_APPROVAL_CONVENTION, approval);
  // Today began at or before now, so a day that begins after now is a later one.
  const std::vector<Time> days = days_in(approval.string());
  if (std::ranges::any_of(days, [&](Time day) { return day > run.now; })) run.add(Code::SPEC_APPROVAL_FUTURE, approval);
}

void check_linked_card(Run& run) {
  const json::Node card = run.take_integer("linked_card", Need::Required);
  if (!card) return;
  const auto number = json::to_int64(card.number_text());
  if (!number || *number < 1 || *number > kLinkedCardMax) run.add(Code::SPEC_LINKED_CARD_RANGE, card);
}

void check_repository(Run& run) {
  const Need repo_need = run.profile.default_repo ? Need::Optional : Need::Required;
  const json::Node repo = run.take("repo", json::Kind::String, repo_need);
  if (repo && !is_repo(repo.string())) run.add(Code::SPEC_REPO_FORMAT, repo);
  const Need owner_need = run.profile.default_owner ? Need::Optional : Need::Required;
  const json::Node owner = run.take("owner", json::Kind::String, owner_need);
  if (owner && !is_owner(owner.string())) run.add(Code::SPEC_OWNER_FORMAT, owner);
}

}  // namespace baton::handoff_spec
