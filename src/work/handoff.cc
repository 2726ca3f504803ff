// SPDX-License-Identifier: Apache-2.0
// What a handoff of any dialect does to its item.
#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "base/text.h"
#include "dialects/agent_exit/signal.h"
#include "work/phases.h"
#include "work/ruling.h"

namespace baton::work {
namespace {

using agent_exit::Reason;

// Active phase, phase mismatch, CI actor: judged as the exit protocol judges its signals. In a final phase nothing can be
// completed, whatever the handoff claims.
agent_exit::Verdict judge(std::optional<Phase> active, std::optional<Phase> claimed, Reason reason, ActorKind kind) {
  if (active && (!claimed || is_final(*active))) claimed = active;
  agent_exit::Checked signal;
  signal.signal.emplace(claimed.value_or(Phase::Draft), reason);
  return agent_exit::accept(signal, active, kind);
}

// Notes that an entry does not hold inline lie beside the ledger; an item that is blocked by them shows how they begin.
std::string short_notes(const Exit& asked) {
  if (asked.reason == Reason::Completed || asked.notes.size() <= limits::kWorkTextBytesMax) return "";
  return beginning_of(asked.notes, limits::kWorkTextBytesMax);
}

// How CI says what a signal says.
std::string_view conclusion_of(Reason reason) {
  switch (reason) {
    case Reason::Completed: return "success";
    case Reason::Blocked: return "failure";
    case Reason::Error: return "error";
  }
  CHECK(false);
}

// The required checks that no report has made green, for a person to read.
std::string checks_missing(const Item& item, const Policy& policy) {
  std::string out;
  for (const std::string& check : policy.required_checks) {
    const auto known = item.checks.find(check);
    if (known != item.checks.end() && known->second == conclusion_of(Reason::Completed)) continue;
    out += (out.empty() ? "`" : ", `") + check + "`";
  }
  return out;
}

}  // namespace

Ruling exit(const Item& item, const Session& session, const Actor& actor, const Exit& asked, Time now) {
  if (session.work_id.empty()) return refuse(Code::EXIT_NO_ACTIVE_PHASE, {});
  if (auto refused = check_lease(item, session, now, Code::EXIT_LEASE); !refused.empty()) return {refused, {}};
  const agent_exit::Verdict verdict = judge(item.phase, asked.phase_completed, asked.reason, actor.kind);
  if (!verdict.accepted()) return {verdict.diagnostics, {}};
  // It asked a person, and nobody has answered: it may give up, but not go on as if it had not asked.
  if (asked.reason == Reason::Completed && item.lease->parked_until)
    return refuse(Code::LEASE_PARKED, {{"work", item.id}, {"waits_for", waits_for_name(item.waits_for)}});
  // Whoever brings the handoff (a supervisor may), the work was the session's actor's.
  return Happens(kCompleted, item, *item.lease, now)
      .with("event_id", asked.event_id)
      .with("event_type", "AgentSessionCompleted")
      .with("timestamp", format_time(now))
      .with("source", asked.source)
      .with("actor_id", session.actor_id)
      .with("phase_completed", agent_exit::phase_name(item.phase))
      .with("exit_reason", agent_exit::reason_name(asked.reason))
      .with("next_phase", agent_exit::phase_name(*verdict.next_phase))
      .with_text("pr_url", asked.pr_url)
      .with_text("evidence_bundle_ref", asked.evidence_bundle_ref)
      .with_text("notes", asked.notes)
      .with_text("because", short_notes(asked));
}

Ruling exit_as_ci(const Item& item, const Actor& actor, const Exit& asked, const Policy& policy, Time now) {
  if (item.aborted) return refuse(Code::WORK_CLOSED, {{"work", item.id}, {"problem", "was aborted"}});
  const Phase claimed = asked.phase_completed.value_or(Phase::CiPending);
  if (claimed != Phase::CiPending && !is_final(item.phase))
    return refuse(Code::EXIT_LEASE,
                  {{"work", item.id}, {"problem", "only CI_PENDING is completed without one, by CI"}});
  const agent_exit::Verdict verdict = judge(item.phase, claimed, asked.reason, actor.kind);
  if (!verdict.accepted()) return {verdict.diagnostics, {}};
  // Without a lease even `blocked` is for CI alone to say.
  if (actor.kind != ActorKind::Ci)
    return refuse(report(Code::EXIT_CI_ACTOR, place_named("/phase_completed"),
                         {{"actor", agent_exit::actor_kind_name(actor.kind)}}));
  if (const std::string missing = checks_missing(item, policy); asked.reason == Reason::Completed && !missing.empty())
    return refuse(Code::EXIT_CI_CHECKS, {{"checks", missing}});
  return Happens(kCiReported, item, now)
      .with("check", "")
      .with("conclusion", conclusion_of(asked.reason))
      .with("source", "signal")
      .with("event_id", asked.event_id)
      .with("next_phase", agent_exit::phase_name(*verdict.next_phase))
      .with_text("pr_url", asked.pr_url)
      .with_text("evidence_bundle_ref", asked.evidence_bundle_ref)
      .with_text("notes", asked.notes)
      .with_text("because", short_notes(asked));
}

Ruling park(const Item& item, const Session& session, WaitsFor waits_for, std::string_view question,
            const Policy& policy, Time now) {
  CHECK(waits_for != WaitsFor::Nothing);
  if (auto refused = check_lease(item, session, now, Code::EXIT_LEASE); !refused.empty()) return {refused, {}};
  if (item.lease->parked_until)
    return refuse(Code::LEASE_PARKED, {{"work", item.id}, {"waits_for", waits_for_name(item.waits_for)}});
  return Happens(kParked, item, *item.lease, now)
      .with("waits_for", waits_for_name(waits_for))
      .with("question", beginning_of(question, limits::kWorkTextBytesMax))
      .with("until", format_time(later(now, policy.max_parked)));
}

Ruling offer(const Item& item, const Session& session, const Offer& offer, const Policy& policy, Time now) {
  if (auto refused = check_lease(item, session, now, Code::EXIT_LEASE); !refused.empty()) return {refused, {}};
  // It asked a person, and nobody has answered: the question is not for the next one to lose.
  if (item.lease->parked_until)
    return refuse(Code::LEASE_PARKED, {{"work", item.id}, {"waits_for", waits_for_name(item.waits_for)}});
  for (const auto& [field, text] : {std::pair("to", &offer.to), std::pair("message_id", &offer.message_id)})
    if (text->size() > limits::kWorkNameBytesMax || find_invalid_utf8(*text) != text->size())
      return refuse(
          bad_field(field, "is not a name of at most " + std::to_string(limits::kWorkNameBytesMax) + " bytes"));
  if (offer.to.empty()) return refuse(bad_field("to", "is empty"));
  return Happens(kOffered, item, *item.lease, now)
      .with("to", offer.to)
      .with("until", format_time(std::min(offer.until, later(now, policy.max_parked))))
      .with("message_id", offer.message_id);
}

Ruling add_labels(const Item& item, std::vector<std::string> labels, Time now) {
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  std::erase_if(labels, [&](const std::string& label) {
    return std::find(item.labels.begin(), item.labels.end(), label) != item.labels.end();
  });
  if (labels.empty()) return {};
  if (item.labels.size() + labels.size() > limits::kWorkLabelsMax)
    return refuse(bad_field("labels", "would be more than " + std::to_string(limits::kWorkLabelsMax) +
                                          " with those that work item `" + item.id + "` has"));
  return Happens(kLabelled, item, now).with("labels", json::Value::Array(labels.begin(), labels.end()));
}

}  // namespace baton::work
