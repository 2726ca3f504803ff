// SPDX-License-Identifier: Apache-2.0
#include "http_api/routes.h"

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/agent_exit/phase.h"
#include "http_api/handlers.h"

namespace baton::http_api {
namespace {

using runtime::Action;

constexpr std::int64_t kDay = 24 * 3600;
constexpr std::int64_t kSequenceMax = std::int64_t{1} << 62;  // beyond any ledger; some more can be added to it

// --- members that several routes have -----------------------------------------------------------------------------------

std::vector<std::string_view> phase_names() {
  std::vector<std::string_view> out;
  for (const agent_exit::Phase phase : agent_exit::kPhases) out.push_back(agent_exit::phase_name(phase));
  return out;
}

// Rules have their own limits, with words of their own (WORK_FIELD); these keep out what no rule would want to see.
Member text(std::string_view name, std::int64_t most, std::string_view says) {
  return {.name = name, .kind = MemberKind::Text, .most = most, .says = says};
}
Member needed(Member member, std::int64_t least = 1) {
  member.required = true;
  if (member.kind == MemberKind::Text) member.least = least;
  return member;
}
Member repeated(Member member) {
  member.repeated = true;
  member.least = 1;
  return member;
}
Member integer(std::string_view name, std::int64_t least, std::int64_t most, std::string_view says) {
  return {.name = name, .kind = MemberKind::Integer, .least = least, .most = most, .says = says};
}
Member choice(std::string_view name, std::vector<std::string_view> choices, std::string_view says) {
  return {.name = name, .kind = MemberKind::Choice, .choices = std::move(choices), .says = says};
}
Member texts(std::string_view name, std::int64_t most, std::string_view says) {
  return {.name = name, .kind = MemberKind::Texts, .most = most, .says = says};
}

Member object(std::string_view name, std::int64_t most, std::string_view says) {
  return {.name = name, .kind = MemberKind::Object, .most = most, .says = says};
}

Member role() { return text("role", 128, "in which role; default: whatever role the phase has"); }
Member ttl() { return integer("ttl_seconds", 1, 366 * kDay, "how long the lease lasts; default: the workspace's"); }
Member wait() {
  return integer("wait_seconds", 0, kDay, "how long to wait for work; at most what the node's configuration says");
}
Member limit(std::int64_t most) { return integer("limit", 1, most, "at most so many"); }
Member commit() { return text("commit", 128, "the pull request's newest commit"); }

Member phases() {
  return {.name = "phases",
          .kind = MemberKind::Choices,
          .most = 8,
          .choices = phase_names(),
          .says = "of these phases; default: all that the role takes"};
}

// GitHub's, and `error` for whatever else goes wrong.
std::vector<std::string_view> conclusions() {
  return {"success", "failure",         "cancelled", "timed_out",       "neutral",
          "skipped", "action_required", "stale",     "startup_failure", "error"};
}

// --- the table ----------------------------------------------------------------------------------------------------------
// Each row: method, path, name, what it does; door, action; query; what it takes, body; answers; handler. Laid out by hand.
// clang-format off

const std::vector<Reply> kWork = {{200, "WorkAnswer", "The item."}};
const std::vector<Reply> kClaimed = {{200, "Claim", "What was claimed, or nothing."}};
const std::vector<Reply> kRecorded = {{200, "Recorded", "It is done, and recorded."}};
const std::vector<Reply> kHandedOver = {{200, "HandoffAnswer", "It was accepted."}};

std::vector<Route> work_routes() {
  return {
      {"POST", "/v1/work", "create_work", "Creates a work item",
       Door::Action, Action::Create, {},
       Takes::Json, {text("id", 64, "default: the next of W-1, W-2, ..."),
                     needed(text("title", 1000, "one line for people")),
                     text("text", 1 << 20, "what is to be done"),
                     choice("phase", phase_names(), "where it begins; default: DRAFT"),
                     integer("priority", 0, 9, "9 is the most urgent; default: 5"),
                     texts("depends_on", 256, "ids of items that must be COMPLETED first"),
                     texts("labels", 64, "what sessions on it begin with"),
                     text("pr_url", 4096, "its pull request"),
                     commit()},
       {{201, "WorkAnswer", "It was created."}}, handlers::create_work},
      {"GET", "/v1/work", "list_work", "Lists work items by id",
       Door::Action, Action::Read, {choice("phase", phase_names(), "only those in this phase"),
                                    text("after", 64, "only ids behind this one"),
                                    limit(limits::kListedItemsMax)},
       Takes::Nothing, {},
       {{200, "WorkList", "The items."}}, handlers::list_work},
      {"GET", "/v1/work/{id}", "show_work", "One work item",
       Door::Action, Action::Read, {},
       Takes::Nothing, {},
       kWork, handlers::show_work},
      {"POST", "/v1/claim", "claim_next", "Claims the next item, and waits for one if told to",
       Door::Action, Action::Claim, {},
       Takes::Json, {phases(), role(), ttl(), wait()},
       kClaimed, handlers::claim_next},
      {"POST", "/v1/work/{id}/claim", "claim_work", "Claims this item",
       Door::Action, Action::Claim, {},
       Takes::Json, {role(), ttl(), wait()},
       kClaimed, handlers::claim_work},
      {"POST", "/v1/work/{id}/unblock", "unblock_work", "Puts a blocked item back into work",
       Door::Action, Action::Operate, {},
       Takes::Json, {choice("to", phase_names(), "default: where it was blocked, or IMPLEMENTATION from CI on"),
                     text("note", 10'240, "why")},
       kWork, handlers::unblock_work},
      {"POST", "/v1/work/{id}/answer", "answer_work", "Answers what an item waits for",
       Door::Action, Action::Operate, {},
       Takes::Json, {needed(text("text", 65'536, "the answer"))},
       kWork, handlers::answer_work},
      {"POST", "/v1/work/{id}/abort", "abort_work", "Closes an item for good",
       Door::Action, Action::Operate, {},
       Takes::Json, {needed(text("reason", 10'240, "why"))},
       kWork, handlers::abort_work},
      {"POST", "/v1/work/{id}/ci", "report_ci", "Reports a result of CI",
       Door::Action, Action::ReportCi, {},
       Takes::Json, {needed(choice("result", conclusions(), "success goes on, everything else blocks")),
                     text("check", 256, "which check"),
                     text("commit", 128, "which commit it was about")},
       {{200, "CiAnswer", "The item, or why nothing changed."}}, handlers::report_ci},
      {"POST", "/v1/work/{id}/commit", "see_commit", "Says which commit is the pull request's newest",
       Door::ActionOrSession, Action::ReportCi, {},
       Takes::Json, {needed(commit())},
       kWork, handlers::see_commit},
      {"POST", "/v1/work/{id}/handoff", "hand_off_as_ci", "An exit signal of CI that completes CI_PENDING",
       Door::Action, Action::HandOffAsCi, {},
       Takes::Text, {},
       kHandedOver, handlers::hand_off_as_ci},
  };
}

std::vector<Route> session_routes() {
  return {
      {"GET", "/v1/sessions/{id}", "show_session", "A session",
       Door::OwnSession, Action::Session, {},
       Takes::Nothing, {},
       {{200, "SessionAnswer", "The session."}}, handlers::show_session},
      {"POST", "/v1/sessions/{id}/renew", "renew_session", "Extends the session's lease",
       Door::OwnSession, Action::Session, {},
       Takes::Json, {ttl()},
       {{200, "Renewed", "It lasts longer now."}}, handlers::renew_session},
      {"POST", "/v1/sessions/{id}/release", "release_session", "Gives the item back as it is",
       Door::OwnSession, Action::Session, {},
       Takes::Json, {text("reason", 10'240, "why")},
       kWork, handlers::release_session},
      {"POST", "/v1/sessions/{id}/handoff", "hand_off", "Hands over, in any accepted dialect",
       Door::OwnSession, Action::Session, {},
       Takes::Text, {},
       kHandedOver, handlers::hand_off},
      {"POST", "/v1/sessions/{id}/end", "end_session", "The supervisor says that the agent's process ended",
       Door::OwnSession, Action::Session, {},
       Takes::Json, {needed(choice("how", {"abandoned", "failed"}, "without a handoff, or refused too often")),
                     text("output", 65'536, "the end of what it printed")},
       kWork, handlers::end_session},
      {"POST", "/v1/sessions/{id}/process", "register_process", "This process and all below it are the agent",
       Door::OwnSession, Action::Register, {},
       Takes::Json, {needed(integer("pid", 1, 1 << 30, "the caller's, or that of a process below it"))},
       {{200, "ProcessRegistered", "It is registered."}}, handlers::register_process},
  };
}

std::vector<Route> govern_routes() {
  return {
      {"POST", "/v1/packs", "activate_pack", "Makes a contract pack usable for a role, or a workflow with the packs of its roles",
       Door::Action, Action::Operate, {},
       Takes::Text, {},
       {{201, "PackActivated", "It is active."}}, handlers::activate_pack},
      {"GET", "/v1/packs", "list_packs", "The pack of each role",
       Door::Action, Action::Read, {},
       Takes::Nothing, {},
       {{200, "PackList", "The packs."}}, handlers::list_packs},
      {"POST", "/v1/sessions", "open_session", "Opens a session that is held to a pack, or holds a leased one to it",
       Door::Action, Action::Session, {},
       Takes::Text, {},
       {{201, "SessionOpened", "It is open."}}, handlers::open_session},
      {"GET", "/v1/sessions", "list_sessions", "Governed sessions by id",
       Door::Action, Action::Read, {choice("standing", {"open", "killed", "closed"}, "only these"),
                                    text("after", 64, "only ids behind this one"),
                                    limit(limits::kListedItemsMax)},
       Takes::Nothing, {},
       {{200, "SessionList", "The sessions."}}, handlers::list_sessions},
      {"POST", "/v1/sessions/{id}/calls", "govern_call", "Judges a response with its tool calls; what is blocked is said in the answer",
       Door::OwnSession, Action::Session, {},
       Takes::Text, {},
       {{200, "StepDecision", "What was decided."}}, handlers::govern_call},
      {"POST", "/v1/sessions/{id}/preflight", "preflight", "Judges a request before the model is asked; nothing is recorded",
       Door::OwnSession, Action::Session, {},
       Takes::Text, {},
       {{200, "PreflightDecision", "What was decided."}}, handlers::preflight, false},
      {"GET", "/v1/sessions/{id}/mcp", "show_session_mcp", "What an MCP proxy needs to know of the session's pack",
       Door::OwnSession, Action::Session, {},
       Takes::Nothing, {},
       {{200, "SessionMcp", "Names of contracts, and the definitions that are approved."}}, handlers::show_session_mcp},
      {"POST", "/v1/sessions/{id}/start", "start_call", "A call that was allowed begins, with these arguments",
       Door::OwnSession, Action::Session,
       {integer("wait_seconds", 0, kDay, "how long to wait for its turn, where calls of a workflow execute one at a time")},
       Takes::Text, {},
       {{200, "StartDecision", "Whether it may."}}, handlers::start_call},
      {"POST", "/v1/sessions/{id}/settle", "settle_call", "What became of a call",
       Door::OwnSession, Action::Session, {},
       Takes::Text, {},
       {{200, "Settlement", "How it counts."}}, handlers::settle_call},
      {"POST", "/v1/sessions/{id}/resolve", "resolve_call", "An operator says what became of a call nobody knows about",
       Door::Action, Action::Operate, {},
       Takes::Text, {},
       {{200, "Settlement", "How it counts."}}, handlers::settle_call},
      {"POST", "/v1/hooks/{client}", "take_hook", "An event of a coding agent's hooks, and what its hook is to print and end with",
       Door::Action, Action::Session,
       {text("event", 64, "what the client calls the event, where the event does not say so itself"),
        text("role", 64, "of the session that is opened when the client's is first seen; default: agent"),
        text("session", 64, "the session that the hook was wired for: an event on behalf of any other is refused"),
        text("proxied", 1024, "MCP servers behind a proxy of this session, with commas between: it decides about their tools"),
        integer("transcript_bytes", 1, std::int64_t{1} << 20, "so many bytes behind the event are the end of the client's transcript, where the event does not have what the model wrote last")},
       Takes::Text, {},
       {{200, "", "A line `EXIT OUT_BYTES ERR_BYTES`, and the bytes of both.", "text/plain"}}, handlers::take_hook, false},
      {"POST", "/v1/sessions/{id}/labels", "add_label", "Labels the session, and its item",
       Door::OwnSession, Action::Session, {},
       Takes::Json, {needed(text("label", 64, "it stays"))},
       {{200, "SessionLabels", "All of them."}}, handlers::add_label},
      {"POST", "/v1/sessions/{id}/cost", "report_cost", "Reports what was spent",
       Door::OwnSession, Action::Session, {},
       Takes::Json, {needed(text("cost", 40, "a decimal number"))},
       {{200, "SessionCost", "What is spent."}}, handlers::report_cost},
      {"POST", "/v1/sessions/{id}/kill", "kill_session", "Ends a governed session at once",
       Door::Action, Action::Operate, {},
       Takes::Json, {text("reason", 1000, "why")},
       {{200, "SessionEnd", "It is ended."}}, handlers::kill_session},
      {"POST", "/v1/sessions/{id}/resume", "resume_session", "A session that was paused goes on: an operator has looked at why",
       Door::Action, Action::Operate, {},
       Takes::Json, {text("note", 1000, "what was found")},
       {{200, "SessionResumed", "It goes on."}}, handlers::resume_session},
      {"POST", "/v1/sessions/{id}/close", "close_session", "Closes a governed session without a work item",
       Door::OwnSession, Action::Session, {},
       Takes::Json, {},
       {{200, "SessionEnd", "It is closed."}}, handlers::close_session},
      {"GET", "/v1/approvals", "list_approvals", "What people are asked, were asked and said",
       Door::Action, Action::Read, {choice("state", {"pending", "approved", "denied", "expired", "cancelled", "spent", "lapsed"}, "only these"),
                                    limit(limits::kListedItemsMax)},
       Takes::Nothing, {},
       {{200, "ApprovalList", "The approvals."}}, handlers::list_approvals},
      {"GET", "/v1/approvals/{id}", "show_approval", "One approval",
       Door::Action, Action::Read, {},
       Takes::Nothing, {},
       {{200, "ApprovalAnswer", "The approval."}}, handlers::show_approval},
      {"POST", "/v1/approvals/{id}/decide", "decide_approval", "Says yes or no to exactly what was shown",
       Door::Action, Action::Operate, {},
       Takes::Json, {needed(choice("decision", {"approve", "deny"}, "yes or no")),
                     needed(text("digest", 64, "the approval's: what was shown is what is decided on")),
                     text("note", 10'240, "why, or what to do instead")},
       {{200, "ApprovalDecided", "It is decided, and the call was judged again."}}, handlers::decide_approval},
  };
}

std::vector<Route> workflow_routes() {
  return {
      {"POST", "/v1/workflows", "start_workflow", "Starts a workflow with its first session",
       Door::Action, Action::Operate, {},
       Takes::Text, {},
       {{201, "WorkflowStarted", "It runs."}}, handlers::start_workflow},
      {"GET", "/v1/workflows", "list_workflows", "Workflows by id",
       Door::Action, Action::Read, {text("after", 64, "only ids behind this one"), limit(limits::kListedItemsMax)},
       Takes::Nothing, {},
       {{200, "WorkflowList", "The workflows."}}, handlers::list_workflows},
      {"GET", "/v1/workflows/{id}", "show_workflow", "A workflow: its sessions, handoffs, budgets, and who holds what",
       Door::Action, Action::Read, {},
       Takes::Nothing, {},
       {{200, "WorkflowAnswer", "The workflow."}}, handlers::show_workflow},
      {"POST", "/v1/workflows/{id}/kill", "kill_workflow", "Ends a session, one and all below it, or all of a workflow",
       Door::ActionOrSession, Action::Operate, {},
       Takes::Json, {needed(choice("scope", {"session", "subtree", "workflow"}, "how much of it")),
                     text("session_id", 64, "which session; default: the one whose token is presented"),
                     text("reason", 1000, "why")},
       {{200, "WorkflowKilled", "What was ended."}}, handlers::kill_workflow},
      {"POST", "/v1/sessions/{id}/offers", "offer", "Offers a handoff to a role of the session's workflow",
       Door::OwnSession, Action::Session, {},
       Takes::Text, {},
       {{201, "WorkflowHandoffAnswer", "It is offered."}}, handlers::offer},
      {"GET", "/v1/sessions/{id}/artifacts", "show_artifacts", "What was handed to the session",
       Door::OwnSession, Action::Session, {text("name", 1000, "only this one, with its content")},
       Takes::Nothing, {},
       {{200, "Artifacts", "Their names; or the one that was asked for."}}, handlers::show_artifacts},
      {"GET", "/v1/handoffs", "list_handoffs", "Handoffs within workflows",
       Door::Action, Action::Read, {choice("stage", {"offered", "claimed", "completed", "declined", "cancelled", "expired"}, "only these; default: offered"),
                                    text("role", 128, "only those to this role"),
                                    limit(limits::kListedItemsMax)},
       Takes::Nothing, {},
       {{200, "WorkflowHandoffList", "The handoffs."}}, handlers::list_handoffs},
      {"POST", "/v1/handoffs/{id}/claim", "claim_handoff", "Opens the session that a handoff was offered for",
       Door::Action, Action::Claim, {},
       Takes::Text, {},
       {{201, "HandoffClaimed", "It is open."}}, handlers::claim_handoff},
      {"POST", "/v1/handoffs/acknowledge", "acknowledge_handoff", "Takes a UAIX acknowledgement of what was offered by a packet",
       Door::Action, Action::Claim, {},
       Takes::Text, {},
       {{201, "HandoffClaimed", "It was accepted, and is claimed."}, {200, "WorkflowHandoffAnswer", "It was rejected or deferred."}},
       handlers::acknowledge_handoff},
      {"POST", "/v1/handoffs/{id}/decline", "decline_handoff", "Says that nobody will claim it",
       Door::Action, Action::Claim, {},
       Takes::Json, {},
       {{200, "WorkflowHandoffAnswer", "It is declined."}}, handlers::decline_handoff},
      {"POST", "/v1/handoffs/{id}/cancel", "cancel_handoff", "Takes an offer back",
       Door::ActionOrSession, Action::Operate, {},
       Takes::Json, {},
       {{200, "WorkflowHandoffAnswer", "It is cancelled."}}, handlers::cancel_handoff},
  };
}

std::vector<Route> context_and_event_routes() {
  return {
      {"GET", "/v1/context", "list_context", "The sections of the context",
       Door::Action, Action::Read, {},
       Takes::Nothing, {},
       {{200, "ContextList", "The sections."}}, handlers::list_context},
      {"GET", "/v1/context/{section}", "show_context", "One section",
       Door::Action, Action::Read, {},
       Takes::Nothing, {},
       {{200, "ContextSection", "The section."}}, handlers::show_context},
      {"GET", "/v1/context/{section}/history", "context_history", "The versions of a section",
       Door::Action, Action::Read, {limit(500)},
       Takes::Nothing, {},
       {{200, "ContextHistory", "The versions."}}, handlers::context_history},
      {"GET", "/v1/events", "follow_events", "Entries of the ledger as they come",
       Door::Action, Action::Read, {repeated(text("stream", 256, "only these; may end in `*`")),
                                    repeated(text("type", 256, "only these; may end in `*`")),
                                    integer("from", 1, kSequenceMax, "from this entry on; default: from now on")},
       Takes::Nothing, {},
       {{200, "", "Server-sent events.", "text/event-stream"}}, handlers::follow_events},
      {"POST", "/v1/webhooks/github", "take_github_webhook", "A webhook of GitHub's, signed",
       Door::Open, Action::ReportCi, {},
       Takes::Text, {},
       {{202, "WebhookAnswer", "It was taken."}}, handlers::take_github_webhook},
  };
}

constexpr bool kDoneEachTime = false;  // keys and files outside the store take part, which no answer could be kept with

std::vector<Route> ledger_routes() {
  return {
      {"POST", "/v1/ledger/notes", "append_notes", "Records notes: one JSON object a line, all or none",
       Door::Action, Action::Ledger, {text("stream", 256, "what they are about"),
                                      text("type", 256, "`note`, which is the default, or begins with `note.`")},
       Takes::Text, {},
       {{201, "NotesRecorded", "They are recorded."}}, handlers::append_notes},
      {"POST", "/v1/ledger/keys/rotate", "rotate_key", "Makes a new key for this node; the entry is signed by both",
       Door::Action, Action::Ledger, {},
       Takes::Json, {},
       kRecorded, handlers::rotate_key, kDoneEachTime},
      {"POST", "/v1/ledger/keys/admit", "admit_key", "Admits the key of another node",
       Door::Action, Action::Ledger, {},
       Takes::Json, {needed(text("key", 1000, "as `baton ledger keys request` gives it")),
                     needed(text("signature", 1000, "likewise"))},
       kRecorded, handlers::admit_key, kDoneEachTime},
      {"POST", "/v1/ledger/keys/{id}/retire", "retire_key", "The key of another node may not seal any more",
       Door::Action, Action::Ledger, {},
       Takes::Json, {},
       kRecorded, handlers::retire_key, kDoneEachTime},
      {"POST", "/v1/ledger/witnesses", "add_witness", "Keeps seals there from now on",
       Door::Action, Action::Ledger, {},
       Takes::Json, {needed(text("witness", 4096, "folder:/path, git:/path or https://..., as the node sees it"))},
       kRecorded, handlers::add_witness, kDoneEachTime},
      {"POST", "/v1/ledger/witnesses/remove", "remove_witness", "No longer",
       Door::Action, Action::Ledger, {},
       Takes::Json, {needed(text("witness", 4096, "as it was added"))},
       kRecorded, handlers::remove_witness, kDoneEachTime},
      {"POST", "/v1/ledger/restore/accept", "accept_restore", "Accepts a store that was restored or cut, as it is",
       Door::Action, Action::Ledger, {},
       Takes::Json, {text("note", 10'240, "why; recorded")},
       kRecorded, handlers::accept_restore, kDoneEachTime},
      {"POST", "/v1/ledger/blobs/{sha256}/erase", "erase_blob", "Erases a blob's content; the chain stays whole",
       Door::Action, Action::Ledger, {},
       Takes::Json, {needed(text("reason", 10'240, "why; recorded"))},
       kRecorded, handlers::erase_blob, kDoneEachTime},
  };
}

std::vector<Route> node_routes() {
  return {
      {"POST", "/v1/tokens", "create_token", "Makes a token",
       Door::Action, Action::Tokens, {},
       Takes::Json, {text("actor", 128, "whom it names; default: the caller"),
                     needed(choice("kind", {"agent", "host", "operator", "ci", "auditor"}, "what they are; `host`: a program that serves several users")),
                     texts("scopes", 32, "what it is good for; default: all that its kind may"),
                     texts("names", 32, "UAIX ids it speaks for"),
                     texts("roles", 64, "of agent and host: the roles of its sessions; default: the workspace's default ones; of a host: any"),
                     object("principal", limits::kPrincipalBytesMax, "of agent and host: whom its sessions act for; kept where it can be erased"),
                     integer("expires_in_seconds", 1, 3660 * kDay, "default: never"),
                     text("note", 1000, "for people")},
       {{201, "TokenMade", "The token, this once."}}, handlers::create_token},
      {"GET", "/v1/tokens", "list_tokens", "The tokens there are",
       Door::Action, Action::Tokens, {},
       Takes::Nothing, {},
       {{200, "TokenList", "The tokens."}}, handlers::list_tokens},
      {"POST", "/v1/tokens/{id}/revoke", "revoke_token", "Makes a token invalid",
       Door::Action, Action::Tokens, {},
       Takes::Json, {},
       {{200, "TokenRevoked", "It is revoked."}}, handlers::revoke_token},
      {"GET", "/v1/status", "show_status", "The node and what it holds",
       Door::Action, Action::Read, {},
       Takes::Nothing, {},
       {{200, "Status", "As it is now."}}, handlers::show_status},
      {"POST", "/v1/adoptions", "look_at_adoptions", "Are coding agents that were wired to the store still wired? What is new is recorded",
       Door::Action, Action::Read, {},
       Takes::Json, {},
       {{200, "AdoptionList", "As they are now."}}, handlers::look_at_adoptions},
      {"GET", "/healthz", "show_health", "Can the store be read?",
       Door::Open, Action::Read, {},
       Takes::Nothing, {},
       {{200, "Health", "It can."}}, handlers::show_health},
      {"GET", "/metrics", "show_metrics", "Figures for Prometheus",
       Door::Action, Action::Read, {},
       Takes::Nothing, {},
       {{200, "", "Prometheus text, format 0.0.4.", "text/plain"}}, handlers::show_metrics},
      {"GET", "/openapi.json", "show_openapi", "This document",
       Door::Action, Action::Read, {},
       Takes::Nothing, {},
       {{200, "", "OpenAPI 3.1.", "application/json"}}, handlers::show_openapi},
      {"POST", "/v1/stop", "stop_node", "Ends the node",
       Door::Stop, Action::Stop, {},
       Takes::Json, {},
       {{200, "Health", "It ends when what is being answered is answered."}}, handlers::stop_node},
  };
}
// clang-format on

// Does the path fit? `parameter` is then what stands for the braces, as it came.
bool fits(std::string_view pattern, std::string_view path, std::string_view& parameter) {
  while (true) {
    const std::size_t pattern_end = pattern.find('/', 1), path_end = path.find('/', 1);
    const std::string_view wanted = pattern.substr(0, pattern_end), given = path.substr(0, path_end);
    if (wanted.starts_with("/{")) {
      if (given.size() < 2) return false;
      parameter = given.substr(1);
    } else if (!same_text(wanted, given)) {
      return false;
    }
    if (pattern_end == std::string_view::npos || path_end == std::string_view::npos) return pattern_end == path_end;
    pattern.remove_prefix(pattern_end);
    path.remove_prefix(path_end);
  }
}

}  // namespace

std::string_view Route::parameter() const {
  const std::size_t open = path.find('{');
  return open == std::string_view::npos ? std::string_view() : path.substr(open + 1, path.find('}') - open - 1);
}

const std::vector<Route>& routes() {
  static const std::vector<Route> all = [] {
    std::vector<Route> out;
    for (const auto group : {work_routes, session_routes, govern_routes, workflow_routes, context_and_event_routes,
                             ledger_routes, node_routes})
      for (Route& route : group()) out.push_back(std::move(route));
    return out;
  }();
  return all;
}

Found find_route(std::string_view method, std::string_view path) {
  Found found;
  if (!path.starts_with('/')) return found;
  for (const Route& route : routes()) {
    std::string_view parameter;
    if (!fits(route.path, path, parameter)) continue;
    // An id that cannot be one is nowhere.
    auto decoded = percent_decoded(parameter);
    if (!decoded || decoded->size() > limits::kRequestIdBytesMax) continue;
    if (route.method == method) return {&route, std::move(*decoded), {}};
    found.allowed.push_back(route.method);
  }
  return found;
}

}  // namespace baton::http_api
