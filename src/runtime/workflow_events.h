// SPDX-License-Identifier: Apache-2.0
// What is recorded about workflows. Their sessions are governed sessions like others (runtime/session_events.h), whose opening names the
// workflow. Every payload says when (`at`, RFC 3339).
#pragma once

#include <string>
#include <string_view>

namespace baton::runtime {

// On workflow/<id>, which the payload names (workflow_id).
inline constexpr std::string_view kWorkflowStarted = "workflow.started";  // workflow (its hash), name, by
// handoff_id, from (a session), to (a role), edge, artifacts[{name, type, sha256, bytes, labels[]}], resources[]? (aliases: what it owns of
// these goes to the child), by? (the session on whose behalf: it ends with the same document), message_id? and target_id? (of the packet), expires_at?
inline constexpr std::string_view kWorkflowOffered = "workflow.offered";
inline constexpr std::string_view kWorkflowClaimed =
    "workflow.claimed";  // handoff_id, session_id (the child), message_id?
// handoff_id, to (completed, declined, cancelled, expired)
inline constexpr std::string_view kWorkflowHandoffEnded = "workflow.handoff_ended";
inline constexpr std::string_view kWorkflowAbandoned = "workflow.abandoned";  // session_id: it has no parent any more
inline constexpr std::string_view kWorkflowKilled = "workflow.killed";        // because

// On session/<id>: its parent has ended, and it is to end too.
inline constexpr std::string_view kSessionCancelRequested = "session.cancel_requested";

inline std::string workflow_stream(std::string_view id) { return "workflow/" + std::string(id); }

}  // namespace baton::runtime
