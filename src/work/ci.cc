// SPDX-License-Identifier: Apache-2.0
// What CI's reports do to an item in CI_PENDING.
#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/text.h"
#include "work/phases.h"
#include "work/ruling.h"

namespace baton::work {
namespace {

constexpr std::string_view kSuccess = "success";

// What a forge says of a run that is not finished, where it says it in the conclusion's place.
constexpr std::array<std::string_view, 7> kUnfinished = {"",        "queued",      "requested", "waiting",
                                                         "pending", "in_progress", "expected"};
// What stands for a whole commit; a single check run does not.
constexpr std::array<std::string_view, 3> kWholeKinds = {"workflow_run", "check_suite", "api"};

template <class List>
bool contains(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_recordable(const CiReport& report) {
  const auto fits = [](std::string_view text) {
    return text.size() <= limits::kWorkNameBytesMax && find_invalid_utf8(text) == text.size();
  };
  return fits(report.check) && fits(report.conclusion) && fits(report.commit) && fits(report.delivery_id);
}

// Reports gather for one commit: for the item's head, or else for the one they name.
bool goes_with_checks(const Item& item, const CiReport& report) {
  return !item.head_sha.empty() || item.checks_sha.empty() || report.commit.empty() || item.checks_sha == report.commit;
}

// Why a report changes nothing; empty when it counts.
std::string why_ignored(const Item& item, const CiReport& report, const Policy& policy) {
  if (item.aborted) return "the item was aborted";
  if (item.phase != Phase::CiPending)
    return "the item is in " + std::string(agent_exit::phase_name(item.phase)) + ", not in CI_PENDING";
  if (!is_recordable(report)) return "the report's names are too long";
  if (contains(kUnfinished, report.conclusion)) return "the run is not finished";
  if (!item.head_sha.empty()) {
    if (report.commit.empty() && report.kind != "api") return "the report names no commit";
    if (!report.commit.empty() && report.commit != item.head_sha) return "the report is for another commit";
  }
  if (policy.required_checks.empty()) {
    if (!contains(kWholeKinds, report.kind)) return "a " + report.kind + " counts only as a required check";
    return "";
  }
  if (report.check.empty()) return "the report names no check, and the workspace requires certain ones";
  if (!contains(policy.required_checks, report.check)) return "`" + report.check + "` is not a required check";
  if (const auto known = item.checks.find(report.check);
      known != item.checks.end() && known->second == report.conclusion && goes_with_checks(item, report))
    return "`" + report.check + "` was reported already";
  return "";
}

Phase next_phase(const Item& item, const CiReport& report, const Policy& policy) {
  if (report.conclusion != kSuccess) return Phase::Blocked;
  const bool goes_with = goes_with_checks(item, report);
  const auto is_green = [&](const std::string& check) {
    if (check == report.check) return true;
    const auto known = item.checks.find(check);
    return goes_with && known != item.checks.end() && known->second == kSuccess;
  };
  const bool all = std::all_of(policy.required_checks.begin(), policy.required_checks.end(), is_green);
  return all ? Phase::ReadyForReview : Phase::CiPending;
}

}  // namespace

CiRuling report_ci(const Item& item, const CiReport& report, const Policy& policy, Time now) {
  CiRuling ruling;
  ruling.ignored = why_ignored(item, report, policy);
  if (!ruling.ignored.empty()) return ruling;
  ruling.events.push_back(Happens(kCiReported, item, now)
                              .with("check", report.check)
                              .with("conclusion", report.conclusion)
                              .with_text("commit", report.commit)
                              .with("source", report.kind == "api" ? "api" : "webhook")
                              .with_text("delivery_id", report.delivery_id)
                              .with("next_phase", agent_exit::phase_name(next_phase(item, report, policy))));
  return ruling;
}

Ruling see_commit(const Item& item, std::string_view commit, Time now) {
  if (!is_commit(commit))
    return refuse(bad_field("commit", "is not a full commit id: 40 or 64 lower-case hexadecimal digits"));
  if (item.aborted || item.phase == Phase::Completed || item.head_sha == commit) return {};
  // While it is implemented commits come and go; from then on the first one that is seen is what CI has to report on.
  if (!item.head_sha.empty() && is_before(Phase::Implementation, item.phase)) return {};
  return Happens(kCommitSeen, item, now).with("commit", commit);
}

}  // namespace baton::work
