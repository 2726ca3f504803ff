// SPDX-License-Identifier: Apache-2.0
#include "dialects/agent_contract/contract.h"

namespace baton::agent_contract {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"IN_PROGRESS", "APPROVAL_REQUEST", "COMPLETE", "BLOCKED",
                                                    "NEEDS_INPUT"};
constexpr int kInProgressMax = 2;

}  // namespace

std::string_view status_name(Status status) { return kNames[static_cast<std::size_t>(status)]; }

std::optional<Status> find_status(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Status>(i);
  return std::nullopt;
}

// IN_PROGRESS leads anywhere, itself included for a second time; each of the others leads only back to IN_PROGRESS.
std::vector<Diagnostic> StatusMachine::advance(std::string_view text) {
  const Place place = place_named("/agent_status/plan_status");
  const auto next = find_status(text);
  if (!next) {
    Diagnostic diagnostic = report(Code::HANDOFF_PLAN_STATUS, place, {{"problem", "is `" + std::string(text) + "`"}});
    diagnostic.argument = text;
    diagnostic.has_argument = true;
    return {diagnostic};
  }
  std::vector<Diagnostic> out;
  if (current_ && *current_ != Status::InProgress && *next != Status::InProgress) {
    Diagnostic diagnostic =
        report(Code::HANDOFF_ILLEGAL_TRANSITION, place, {{"from", status_name(*current_)}, {"to", status_name(*next)}});
    diagnostic.argument = std::string(status_name(*current_)) + "->" + std::string(status_name(*next));
    diagnostic.has_argument = true;
    return {diagnostic};
  }
  const int in_a_row = *next == Status::InProgress ? in_progress_in_a_row_ + 1 : 0;
  if (in_a_row > kInProgressMax) return {report(Code::HANDOFF_IN_PROGRESS_RETRY_CAP, place)};
  if (in_a_row == kInProgressMax) out.push_back(report(Code::HANDOFF_IN_PROGRESS_RETRY_LAST, place));
  current_ = next;
  in_progress_in_a_row_ = in_a_row;
  return out;
}

}  // namespace baton::agent_contract
