// SPDX-License-Identifier: Apache-2.0
// What is recorded about work beside the events of the items themselves (work/events.h): handoffs, context, tokens, answers,
// deliveries, refusals. Every payload says when (`at`, RFC 3339) and has what its fold needs.
#pragma once

#include <string>
#include <string_view>

namespace baton::runtime {

inline std::string work_stream(std::string_view work_id) { return "work/" + std::string(work_id); }
// Which processes are supervised: read as a whole at each start.
inline constexpr std::string_view kProcessesStream = "processes";
inline std::string session_stream(std::string_view session_id) { return "session/" + std::string(session_id); }
inline std::string context_stream(std::string_view section) { return "context/" + std::string(section); }
inline constexpr std::string_view kTokensStream = "tokens";
inline constexpr std::string_view kApiStream = "api";
inline constexpr std::string_view kCiStream = "ci";
inline constexpr std::string_view kRefusalsStream = "refusals";

// On the item's stream, or that of a session without one: a handoff was taken. handoff_id, work_id?, session_id? (CI has none), fence, dialect, mode, outcome,
// digest (SHA-256 of the bytes), key (the idempotency key: SHA-256 over session, fence and canonical document), raw,
// plan_status?, reports_in_a_row? (agent-contract), attributed? (UAIX), message_id?, at.
inline constexpr std::string_view kHandoffAccepted = "handoff.accepted";
// On the same stream: source_id (as the rules about replay know it), message_id, idempotency_key, digest, work_id (or that stream),
// expires_at (when it may be forgotten), at.
inline constexpr std::string_view kUaixMessageSeen = "uaix.message_seen";

// On context/<section>: section, version, value (the whole, merged), changed[] (pointers), author, session_id, work_id, labels[], at.
inline constexpr std::string_view kContextUpdated = "context.updated";

// On `tokens`. Created: token_id, actor_id, kind (`host`, too), scopes[], names[], roles[]?, principal? (an erasable blob), principal_sha256?, secret_sha256, expires_at?, created_by, note?, at,
// first? (the first operator's: there is one such entry).
// Revoked: token_id, at.
inline constexpr std::string_view kTokenCreated = "token.created";
inline constexpr std::string_view kTokenRevoked = "token.revoked";
// A new operator's token was made with the seal key, because the passphrase of the old one was lost: token_id, actor_id.
inline constexpr std::string_view kOperatorRecovered = "operator.recovered";

// On `api`. Answered: actor_id, key (hashed), request_sha256, answer (without secrets), expires_at, at.
// Forgotten: answers ([[key, actor_id]]), deliveries[] (hashed), messages ([[message_id, source_id]]), at.
inline constexpr std::string_view kApiAnswered = "api.answered";
inline constexpr std::string_view kApiForgotten = "api.forgotten";

// On `ci`. Taken: delivery_id, key (the same, hashed), body_sha256, kind, repository, at. Ignored: reason, work_id?, delivery_id?, repository?, pull_request?, check?,
// conclusion?, commit?, at.
inline constexpr std::string_view kCiDeliveryTaken = "ci.delivery_taken";
inline constexpr std::string_view kCiIgnored = "ci.ignored";

// On session/<id>: boot_id, pid, started, session_id, at.
inline constexpr std::string_view kProcessRegistered = "session.process_registered";

// On `refusals`, for the record alone: subject, codes[], also (how many more there were since the last such entry), session_id?, at.
inline constexpr std::string_view kSignalRefused = "work.signal_refused";
inline constexpr std::string_view kAccessRefused = "access.refused";

}  // namespace baton::runtime
