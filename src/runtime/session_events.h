// SPDX-License-Identifier: Apache-2.0
// What is recorded about governed sessions, their packs and what people are asked. Every payload says when (`at`, RFC 3339) and has
// what its fold and a replay need: decisions can be made again from it (runtime/recheck.h).
#pragma once

#include <string>
#include <string_view>

namespace baton::runtime {

// On `packs`. Part: pack (its hash), part, texts[] (pieces of the pack as JSON). Activated: pack, parts, role, agent, at.
inline constexpr std::string_view kPacksStream = "packs";
inline constexpr std::string_view kPackPart = "pack.part";
inline constexpr std::string_view kPackActivated = "pack.activated";

// On session/<id>, which the payload names (session_id).
// Opened: pack, role, agent_id, actor_id, actor_kind, token_id?, work_id?, fence?, mode, gate, labels[], denied[] (tools that the policy
// denies to the principal), environment{name: keyed}, calls_before?, cost_before?, principal? (an erasable blob), principal_sha256?
inline constexpr std::string_view kSessionOpened = "session.opened";
// A response was judged: calls[{call_id, tool, arguments | arguments_text | malformed, arguments_sha256?, values{}, verdict,
// failures[{code, detail?}], approval_id?, allow_on_timeout?, would_ask?, breaks_constraint?, spends? (an approval of content)}], request{}? response{}? (values at the paths that contracts look at),
// shape{}?, estimate?, lease_stale?, approvals_left?, approvals_scope?, outcome, killed?
inline constexpr std::string_view kSessionStep = "session.step";
// A person, or time, ruled on a call that waited: call_id, ruling, calls[{call_id, verdict, failures[]}], lease_stale?, killed?
inline constexpr std::string_view kSessionRuled = "session.ruled";
// call_id, verdict, failures[], arguments? arguments_sha256? values? (when they differ from what was judged), lease_stale?, killed?
inline constexpr std::string_view kCallStarted = "session.call_started";
// call_id, result, ack?, output? (redacted), output_object? (false: it was none), values{}? (of the output), error{}?, state, failures[], counts_as_error, binds[], captures[],
// told[], killed?, by? (an operator who resolved it)
inline constexpr std::string_view kCallSettled = "session.call_settled";
inline constexpr std::string_view kSessionLabelled = "session.labelled";  // label
inline constexpr std::string_view kSessionCost = "session.cost";          // cost
inline constexpr std::string_view kSessionEnded = "session.ended";        // to (`closed`, `killed`), because

// On `approvals`. Requested: approval_id, kind, session_id?, work_id?, call_id?, tool?, subject{}, digest, context{}, risk, requested_by,
// expires_at, spend_seconds, on_timeout. Moved: approval_id, to (approved, denied, expired, cancelled, spent, lapsed), by, note?,
// spend_until?. Enriched: approval_id, context{} (what the agent said of it since, shown beside what is decided on).
inline constexpr std::string_view kApprovalsStream = "approvals";
inline constexpr std::string_view kApprovalRequested = "approval.requested";
inline constexpr std::string_view kApprovalMoved = "approval.moved";
inline constexpr std::string_view kApprovalEnriched = "approval.enriched";

}  // namespace baton::runtime
