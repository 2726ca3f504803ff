// SPDX-License-Identifier: Apache-2.0
// What is recorded about governed sessions, their packs and what people are asked. Every payload says when (`at`, RFC 3339) and has
// what its fold and a replay need: decisions can be made again from it (runtime/recheck.h).
#pragma once

#include <string>
#include <string_view>

namespace baton::runtime {

// On `packs`. Part: pack (its hash), part, texts[] (pieces of the pack as JSON). Activated: pack, parts, role, agent, folder?,
// holds_texts? (true: what MCP servers say of themselves is held to it), at.
inline constexpr std::string_view kPacksStream = "packs";
inline constexpr std::string_view kPackPart = "pack.part";
inline constexpr std::string_view kPackActivated = "pack.activated";

// On session/<id>, which the payload names (session_id).
// Opened: pack, rules_version (session/rules_version.h; absent: 1), role, agent_id, actor_id, actor_kind, token_id?, work_id?, fence?, mode, gate, labels[], denied[] (tools that the policy
// denies to the principal), environment{name: keyed}, calls_before?, cost_before?, principal? (an erasable blob), principal_sha256?
inline constexpr std::string_view kSessionOpened = "session.opened";
// A response was judged: calls[{call_id, tool, arguments | arguments_text | malformed (malformed_as?: a code), arguments_sha256?, values{}, verdict,
// failures[{code, detail?, in_flight?}], approval_id?, allow_on_timeout?, would_ask?, breaks_constraint?, spends? (an approval of content)}], request{}? response{}? (values at the paths that contracts look at),
// shape{}?, estimate?, lease_stale?, approvals_left?, approvals_scope?, subagent? (the agent_id of the subagent that asked),
// other_door? (another door is to begin them), sighting? (by what a hook knows the one call: call_id?, input_sha256), outcome, killed?
inline constexpr std::string_view kSessionStep = "session.step";
// A person, or time, ruled on a call that waited: call_id, ruling, calls[{call_id, verdict, failures[]}], lease_stale?, killed?
inline constexpr std::string_view kSessionRuled = "session.ruled";
// call_id, verdict, failures[], arguments? arguments_sha256? values? (when they differ from what was judged), malformed? (they cannot be looked
// at, and are left out), sighting? (as of a step, when a hook began a call that was proposed before), lease_stale?, killed?
inline constexpr std::string_view kCallStarted = "session.call_started";
// call_id, result, exit_code? (of a command), ack?, output? (redacted), output_object? (false: it was none), values{}? (of the output), error{}?, state, failures[], counts_as_error, binds[], captures[],
// told[], killed?, by? (an operator who resolved it)
inline constexpr std::string_view kCallSettled = "session.call_settled";
inline constexpr std::string_view kSessionLabelled = "session.labelled";  // label, read? (the stream that brought it)
inline constexpr std::string_view kSessionCost = "session.cost";          // cost
inline constexpr std::string_view kSessionEnded = "session.ended";        // to (`closed`, `killed`), because
inline constexpr std::string_view kSessionReopened =
    "session.reopened";                                               // its client came back to it after it was closed
inline constexpr std::string_view kSessionPaused = "session.paused";  // because, call_id?: a person must look at it
inline constexpr std::string_view kSessionResumed = "session.resumed";  // by, note?
// A call was made that nobody had been asked about, or that was refused: tool, call_id?, arguments_sha256, problem, subagent?
inline constexpr std::string_view kUnhookedCall = "session.unhooked_call";

// Agents that the session's agent started and that work inside its session (docs/decisions/0048). agent_id is the one that Baton issued.
// Started: agent_id, type? (as the client calls its kind), client_agent_id? (as the client calls this one), owes? (`agent-contract`),
// again? (it had ended, and goes on).
// Refused: agent_id, codes[], repairs (with this one): it was asked again for its handoff.
// Ended: agent_id, outcome? (of its handoff; `blocked` when it was given up), because?, and of a handoff that was taken handoff_id, dialect,
// mode, digest, key, raw, plan_status, reports_in_a_row; of one that was not, output (the last of what it said).
inline constexpr std::string_view kSubagentStarted = "session.subagent_started";
inline constexpr std::string_view kSubagentRefused = "session.subagent_refused";
inline constexpr std::string_view kSubagentEnded = "session.subagent_ended";

// On `approvals`. Requested: approval_id, kind, session_id?, work_id?, call_id?, tool?, subject{}, digest, context{}, risk, requested_by,
// expires_at, spend_seconds, on_timeout. Moved: approval_id, to (approved, denied, expired, cancelled, spent, lapsed), by, note?,
// spend_until?. Enriched: approval_id, context{} (what the agent said of it since, shown beside what is decided on).
inline constexpr std::string_view kApprovalsStream = "approvals";
inline constexpr std::string_view kApprovalRequested = "approval.requested";
inline constexpr std::string_view kApprovalMoved = "approval.moved";
inline constexpr std::string_view kApprovalEnriched = "approval.enriched";

}  // namespace baton::runtime
