// SPDX-License-Identifier: Apache-2.0
#include "http_api/shapes.h"

#include <string>

namespace baton::http_api {
namespace {

constexpr bool kMaybe = false;

json::Value object_of(std::string_view name, std::string_view value) {
  json::Value out = json::Value::object();
  out.set(name, value);
  return out;
}

json::Value schema_of_type(std::string_view type) {
  if (type.ends_with('?')) {
    json::Value either = json::Value::array(), out = json::Value::object();
    either.push(schema_of_type(type.substr(0, type.size() - 1)));
    either.push(object_of("type", "null"));
    out.set("oneOf", std::move(either));
    return out;
  }
  if (type.starts_with("[]")) {
    json::Value out = object_of("type", "array");
    out.set("items", schema_of_type(type.substr(2)));
    return out;
  }
  if (type == "any") return json::Value::object();
  if (type == "time") {
    json::Value out = object_of("type", "string");
    out.set("format", "date-time");
    return out;
  }
  if (type == "integers" || type == "strings") {
    json::Value out = object_of("type", "object");
    out.set("additionalProperties", object_of("type", type.substr(0, type.size() - 1)));
    return out;
  }
  if (type == "string" || type == "integer" || type == "boolean" || type == "object") return object_of("type", type);
  return object_of("$ref", "#/components/schemas/" + std::string(type));
}

std::vector<ShapeMember> token_members(std::vector<ShapeMember> beside = {}) {
  std::vector<ShapeMember> out = {{"id", "string"},
                                  {"actor", "string"},
                                  {"kind", "string"},
                                  {"scopes", "[]string"},
                                  {"names", "[]string"},
                                  {"created_at", "time"},
                                  {"created_by", "string"},
                                  {"expires_at", "time", kMaybe},
                                  {"revoked_at", "time", kMaybe},
                                  {"note", "string", kMaybe}};
  out.insert(out.end(), beside.begin(), beside.end());
  return out;
}

std::vector<ShapeMember> workflow_members(std::vector<ShapeMember> beside = {}) {
  std::vector<ShapeMember> out = {{"id", "string"},
                                  {"name", "string"},
                                  {"workflow", "string", true, "its hash"},
                                  {"standing", "string", true, "open, ended or killed"},
                                  {"sessions", "integer", true, "ever"},
                                  {"active", "integer", true, "sessions that have not ended"},
                                  {"open_handoffs", "integer"},
                                  {"steps", "integer", true, "of all sessions"},
                                  {"cost", "any", true, "a number: what all sessions have spent"},
                                  {"reserved", "any", true, "a number: what calls that go on may cost"},
                                  {"started_by", "string"},
                                  {"started_at", "time"}};
  out.insert(out.end(), beside.begin(), beside.end());
  return out;
}

std::vector<ShapeMember> artifact_members(std::vector<ShapeMember> beside = {}) {
  std::vector<ShapeMember> out = {{"name", "string"},
                                  {"type", "string", true, "text/plain or application/json"},
                                  {"sha256", "string"},
                                  {"bytes", "integer"},
                                  {"labels", "[]string", kMaybe, "of the session that made it"}};
  out.insert(out.end(), beside.begin(), beside.end());
  return out;
}

}  // namespace

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {"Problem",
       "A refusal (RFC 9457).",
       {{"type", "string", true, "`urn:baton:problem:CODE`"},
        {"title", "string"},
        {"status", "integer"},
        {"detail", "string"},
        {"code", "string", true, "a name of the diagnostics catalogue: `baton explain CODE`"},
        {"help", "string"},
        {"diagnostics", "[]Diagnostic"}}},
      {"Diagnostic",
       "One thing that is wrong, and where.",
       {{"code", "string"},
        {"severity", "string"},
        {"message", "string"},
        {"help", "string"},
        {"pointer", "string", kMaybe, "a JSON Pointer into what was sent"},
        {"line", "integer", kMaybe},
        {"column", "integer", kMaybe}}},
      {"Receipt",
       "Where it is recorded; `baton ledger prove SEQUENCE` makes a proof of it.",
       {{"sequence", "integer"}, {"hash", "string"}}},
      {"Lease",
       "The right of one session to work on an item.",
       {{"id", "string"},
        {"session_id", "string"},
        {"holder", "string"},
        {"fence", "integer"},
        {"expires_at", "time"},
        {"parked_until", "time", kMaybe}}},
      {"Offer",
       "To whom an item is offered alone, until when.",
       {{"to", "string"}, {"until", "time"}, {"message_id", "string", kMaybe}}},
      {"Totals",
       "Over all sessions of an item.",
       {{"sessions", "integer"}, {"attempts", "integer"}, {"calls", "integer"}}},
      {"Work",
       "A work item.",
       {{"id", "string"},
        {"title", "string"},
        {"text", "string", kMaybe},
        {"phase", "string"},
        {"priority", "integer"},
        {"state", "string", true, "waiting, held, parked, blocked, with_ci, completed or aborted"},
        {"waiting_since", "time"},
        {"created_at", "time"},
        {"changed_at", "time"},
        {"created_by", "string"},
        {"fence", "integer"},
        {"lease", "Lease", kMaybe},
        {"depends_on", "[]string", kMaybe},
        {"open_dependencies", "[]string", kMaybe, "those that are not COMPLETED yet"},
        {"aborted", "boolean", kMaybe},
        {"waits_for", "string", kMaybe},
        {"question", "string", kMaybe},
        {"answer", "string", kMaybe},
        {"blocked_in", "string", kMaybe},
        {"blocked_because", "string", kMaybe},
        {"attempts", "integer"},
        {"implementer", "string", kMaybe},
        {"earlier_implementers", "[]string", kMaybe, "who else completed IMPLEMENTATION; none of them reviews it"},
        {"pr_url", "string", kMaybe},
        {"repository", "string", kMaybe, "`owner/name` of pr_url"},
        {"pr_number", "integer", kMaybe},
        {"evidence_bundle_ref", "string", kMaybe},
        {"head_sha", "string", kMaybe},
        {"checks", "strings", kMaybe, "conclusions of CI, by check"},
        {"checks_sha", "string", kMaybe, "the commit they are about"},
        {"labels", "[]string", kMaybe},
        {"offer", "Offer", kMaybe},
        {"totals", "Totals"}}},
      {"WorkAnswer", "An item as it is now.", {{"work", "Work"}, {"receipt", "Receipt", kMaybe}}},
      {"WorkList", "Items by id.", {{"items", "[]Work"}, {"next", "string", kMaybe, "what `after` takes for more"}}},
      {"CiAnswer",
       "What a report of CI did.",
       {{"work", "Work", kMaybe},
        {"ignored", "string", kMaybe, "why it changed nothing"},
        {"receipt", "Receipt", kMaybe}}},
      {"ClaimedSession",
       "The session a claim opened. The token is the agent's for this session.",
       {{"id", "string"},
        {"token", "string"},
        {"agent_id", "string"},
        {"fence", "integer"},
        {"lease_id", "string"},
        {"expires_at", "time"},
        {"role", "string"},
        {"phase", "string"},
        {"reads", "[]string", kMaybe, "sections of the context that the role sees; `*` is all"},
        {"writes", "[]string", kMaybe, "those it may change"}}},
      {"Claim",
       "What was claimed; both null when there was nothing to claim.",
       {{"work", "Work?"}, {"session", "ClaimedSession?"}, {"context", "any", kMaybe}, {"receipt", "Receipt", kMaybe}}},
      {"Session",
       "A session, without its token.",
       {{"id", "string"},
        {"work_id", "string", kMaybe},
        {"actor_id", "string"},
        {"actor_kind", "string"},
        {"agent_id", "string"},
        {"token_id", "string", kMaybe, "of the token it was claimed with"},
        {"role", "string"},
        {"fence", "integer"},
        {"state", "string", true, "open, paused, closed, killed or abandoned"},
        {"ended_because", "string", kMaybe},
        {"opened_at", "time"},
        {"ended_at", "time", kMaybe},
        {"plan_status", "string", kMaybe, "of its last agent-contract block"},
        {"reports_in_a_row", "integer", kMaybe},
        {"handoff_digest", "string", kMaybe},
        {"lease_id", "string", kMaybe, "while it holds the item"},
        {"expires_at", "time", kMaybe},
        {"phase", "string", kMaybe}}},
      {"SessionAnswer", "A session.", {{"session", "Session"}}},
      {"Renewed", "Until when the lease lasts now.", {{"expires_at", "time"}, {"receipt", "Receipt", kMaybe}}},
      {"HandoffSummary",
       "What the document said.",
       {{"id", "string"}, {"dialect", "string"}, {"mode", "string"}, {"outcome", "string"}}},
      {"HandoffAnswer",
       "A handoff that was accepted.",
       {{"handoff", "HandoffSummary"},
        {"attributed", "boolean", kMaybe, "of a UAIX packet: was it sent by whom it names?"},
        {"offered", "WorkflowHandoff", kMaybe, "to a role of the session's workflow"},
        {"standing", "string", kMaybe, "of a session without a work item: open, closed or killed"},
        {"work", "Work?", kMaybe},
        {"next_phase", "string?", kMaybe},
        {"claims", "[]object", kMaybe, "pointer, claim, verdict, call_id, why; where the session's pack asks for it"},
        {"claims_counted", "object", kMaybe, "proven, unproven, contradicted, calls"},
        {"warnings", "[]Diagnostic", kMaybe},
        {"receipt", "Receipt", kMaybe}}},
      {"ProcessRegistered", "It was recorded.", {{"session_id", "string"}, {"receipt", "Receipt", kMaybe}}},
      {"PackActivated",
       "A pack that sessions can be held to.",
       {{"pack", "string", true, "its hash"}, {"agent", "string"}, {"role", "string"}, {"receipt", "Receipt", kMaybe}}},
      {"PackList", "The pack of each role.", {{"packs", "[]object"}}},
      {"SessionOpened",
       "A governed session; `session.token` when it is a new one.",
       {{"session", "object"}, {"receipt", "Receipt", kMaybe}}},
      {"SessionList",
       "Governed sessions.",
       {{"sessions", "[]object"}, {"next", "string", kMaybe, "ask again with `after`"}}},
      {"CallDecision",
       "What was decided of one call, with all its reasons.",
       {{"call_id", "string"},
        {"tool", "string"},
        {"verdict", "string", true, "allow, block or checkpoint"},
        {"reason", "string", kMaybe, "the first check that failed"},
        {"failures", "[]object", true, "every check that failed: code, message, help, detail, place"},
        {"way_out", "object", kMaybe, "what would be legal instead, in words and as data"},
        {"request_approval", "object", kMaybe},
        {"approval", "object", kMaybe, "id, digest and expires_at of what a person is asked"},
        {"spends", "string", kMaybe, "the approval of content that took the place of asking"},
        {"joins", "string", kMaybe, "the call that waits already"},
        {"execution", "object", kMaybe, "with `start`: how to carry it out; total_ms, max_attempts, retry_on, ..."},
        {"started", "boolean", kMaybe}}},
      {"StepDecision",
       "What was decided of a response.",
       {{"outcome", "string", true, "proceed, held, reject, error or text"},
        {"calls", "[]CallDecision"},
        {"diagnostics", "[]object"},
        {"session_killed", "boolean"},
        {"cancelled", "[]string", kMaybe, "calls that ended with the session"},
        {"fast_lane", "boolean", kMaybe, "true: it will be recorded within 10 ms, and has no receipt"},
        {"receipt", "Receipt", kMaybe}}},
      {"PreflightDecision",
       "What would be said now.",
       {{"verdict", "string"},
        {"reason", "string", kMaybe},
        {"failures", "[]object"},
        {"diagnostics", "[]object"},
        {"tools", "[]string", true, "that narrowing keeps"},
        {"removed", "[]object"}}},
      {"StartDecision",
       "Whether the call may begin.",
       {{"call_id", "string"},
        {"verdict", "string"},
        {"reason", "string", kMaybe},
        {"failures", "[]object"},
        {"diagnostics", "[]object"},
        {"session_killed", "boolean"},
        {"cancelled", "[]string", kMaybe},
        {"receipt", "Receipt", kMaybe}}},
      {"Settlement",
       "What became of a call.",
       {{"call_id", "string"},
        {"state", "string", true, "committed, failed or unknown"},
        {"reason", "string", kMaybe},
        {"failures", "[]object"},
        {"allowed_error", "boolean", kMaybe},
        {"diagnostics", "[]object"},
        {"session_killed", "boolean"},
        {"cancelled", "[]string", kMaybe},
        {"fast_lane", "boolean", kMaybe, "true: it will be recorded within 10 ms, and has no receipt"},
        {"receipt", "Receipt", kMaybe}}},
      {"SessionLabels", "The session's labels.", {{"labels", "[]string"}, {"receipt", "Receipt", kMaybe}}},
      {"SessionCost",
       "What the session has spent.",
       {{"cost", "any", true, "a number"}, {"receipt", "Receipt", kMaybe}}},
      {"SessionEnd",
       "A session that is over.",
       {{"standing", "string"}, {"cancelled", "[]string"}, {"receipt", "Receipt", kMaybe}}},
      {"SessionResumed",
       "A session that goes on.",
       {{"standing", "string"}, {"was_paused_because", "string"}, {"receipt", "Receipt", kMaybe}}},
      {"WorkflowName",
       "Which workflow it is.",
       {{"id", "string"}, {"name", "string"}, {"workflow", "string", true, "its hash"}}},
      {"WorkflowStarted",
       "A workflow that runs, and its first session; `session.token` when it is a new one.",
       {{"workflow", "WorkflowName"}, {"session", "object"}, {"receipt", "Receipt", kMaybe}}},
      {"Workflow", "A workflow, and what it has spent.", workflow_members()},
      {"WorkflowList",
       "Workflows by id.",
       {{"workflows", "[]Workflow"}, {"next", "string", kMaybe, "what `after` takes for more"}}},
      {"WorkflowMember",
       "A session of a workflow; the other members are those of a governed session.",
       {{"id", "string"},
        {"role", "string"},
        {"parent", "string", kMaybe, "the session that handed over to it; none: the first, or one that was abandoned"},
        {"handoff", "string", kMaybe, "it came by"},
        {"standing", "string", kMaybe, "open, killed or closed"},
        {"ended_because", "string", kMaybe},
        {"phase", "string", kMaybe},
        {"paused", "boolean", kMaybe, "waits for a person"},
        {"cancel_requested", "boolean", kMaybe, "its parent has ended, and it is to end too"},
        {"labels", "[]string", kMaybe},
        {"counters", "object", kMaybe},
        {"limits", "object", kMaybe, "those of the session that counters are held to"},
        {"open_calls", "[]object", kMaybe},
        {"opened_at", "time", kMaybe},
        {"changed_at", "time", kMaybe},
        {"actor_id", "string", kMaybe},
        {"work_id", "string", kMaybe}}},
      {"SharedCall", "A call of some session.", {{"session_id", "string"}, {"call_id", "string"}}},
      {"SharedResource",
       "Something that the sessions of a workflow share, and who has it.",
       {{"alias", "string"},
        {"mode", "string", true, "single_writer, exclusive_pending or serial_only"},
        {"value", "any"},
        {"owner", "string", kMaybe, "the session that writes it"},
        {"writing", "[]SharedCall", kMaybe},
        {"open", "[]SharedCall", kMaybe},
        {"executing", "SharedCall", kMaybe},
        {"waiting", "[]SharedCall", kMaybe, "in the order of their turns"}}},
      {"WorkflowDetails", "A workflow with all that belongs to it.",
       workflow_members({{"limits", "object", true, "those it has"},
                         {"members", "[]WorkflowMember"},
                         {"handoffs", "[]WorkflowHandoff"},
                         {"resources", "[]SharedResource"}})},
      {"WorkflowAnswer", "A workflow.", {{"workflow", "WorkflowDetails"}}},
      {"WorkflowKilled",
       "The sessions that were ended by it.",
       {{"killed", "[]string"}, {"receipt", "Receipt", kMaybe}}},
      {"Artifact", "Something that was handed over.", artifact_members()},
      {"ArtifactContent", "The same, with what it says.",
       artifact_members({{"content", "any", true, "a text, or what the JSON says"}})},
      {"Artifacts",
       "What was handed to a session: all, or the one that was asked for.",
       {{"artifacts", "[]Artifact", kMaybe}, {"artifact", "ArtifactContent", kMaybe}}},
      {"WorkflowHandoff",
       "A handoff from a session to a role of its workflow.",
       {{"id", "string"},
        {"workflow_id", "string"},
        {"from", "string", true, "a session"},
        {"to", "string", true, "a role"},
        {"stage", "string", true, "offered, claimed, completed, declined, cancelled or expired"},
        {"child", "string", kMaybe, "the session that claimed it"},
        {"artifacts", "[]Artifact"},
        {"message_id", "string", kMaybe, "of the packet that offered it"},
        {"offered_at", "time"},
        {"expires_at", "time", kMaybe}}},
      {"WorkflowHandoffAnswer",
       "A handoff as it is now.",
       {{"handoff", "WorkflowHandoff"}, {"receipt", "Receipt", kMaybe}}},
      {"WorkflowHandoffList", "Handoffs.", {{"handoffs", "[]WorkflowHandoff"}}},
      {"HandoffClaimed",
       "The session that the claim opened, and the handoff; `session.token` when it is a new one.",
       {{"session", "object"}, {"handoff", "WorkflowHandoff"}, {"receipt", "Receipt", kMaybe}}},
      {"ApprovalList", "Approvals by id.", {{"approvals", "[]object"}}},
      {"ApprovalAnswer", "One approval.", {{"approval", "object"}}},
      {"ApprovalDecided",
       "The approval, and what became of its calls.",
       {{"approval", "object"},
        {"calls", "[]object", kMaybe},
        {"diagnostics", "[]object", kMaybe},
        {"session_killed", "boolean", kMaybe},
        {"cancelled", "[]string", kMaybe},
        {"receipt", "Receipt", kMaybe}}},
      {"ContextEntry",
       "A section of the context, without its value.",
       {{"section", "string"},
        {"version", "integer"},
        {"author", "string"},
        {"labels", "[]string"},
        {"changed_at", "time"},
        {"session_id", "string", kMaybe},
        {"work_id", "string", kMaybe}}},
      {"ContextList", "All sections the caller may read.", {{"sections", "[]ContextEntry"}}},
      {"ContextSection",
       "A section of the context.",
       {{"section", "string"},
        {"version", "integer"},
        {"value", "any"},
        {"author", "string"},
        {"labels", "[]string"},
        {"changed_at", "time"},
        {"session_id", "string", kMaybe},
        {"work_id", "string", kMaybe}}},
      {"ContextHistory", "Versions of a section, newest first.", {{"versions", "[]object"}}},
      {"Token", "A token, without its text.", token_members()},
      {"TokenMade", "A new token. Its text is shown this once.",
       token_members({{"token", "string"}, {"receipt", "Receipt", kMaybe}})},
      {"TokenRevoked", "A token that is not valid any more.",
       token_members(
           {{"sessions_ended", "integer", true, "claimed with it, and held work"}, {"receipt", "Receipt", kMaybe}})},
      {"TokenList", "Tokens, without their texts.", {{"tokens", "[]Token"}}},
      {"Recorded", "What was done to the ledger.", {{"receipt", "Receipt"}}},
      {"NotesRecorded", "Where the notes are.", {{"entries", "[]Receipt"}, {"receipt", "Receipt"}}},
      {"WebhookAnswer", "moved, ignored or duplicate.", {{"result", "string"}}},
      {"LedgerState", "The ledger.", {{"origin", "string"}, {"size", "integer"}}},
      {"Status",
       "The node and what it holds.",
       {{"version", "string"},
        {"store", "string"},
        {"ledger", "LedgerState"},
        {"uptime_seconds", "integer"},
        {"work", "integers", true, "items by phase"},
        {"sessions", "integers", true, "sessions by state"},
        {"node", "object"},
        {"exit_protocol", "boolean", true, "are exit signals acted on?"}}},
      {"Adoption",
       "A coding agent of a project that is wired to the store.",
       {{"id", "string"},
        {"client", "string"},
        {"project", "string"},
        {"role", "string"},
        {"pack", "string", true, "the folder of the pack that was written"},
        {"whole", "boolean", true, "everything is as it was wired"},
        {"findings", "[]string", true, "what is not"},
        {"unreadable", "[]string", true, "files that the node cannot read"}}},
      {"AdoptionList", "Coding agents that are wired to the store.", {{"adoptions", "[]Adoption"}}},
      {"Health", "`ok`, or `stopping`.", {{"status", "string"}}},
  };
  return all;
}

json::Value shape_schemas() {
  json::Value out = json::Value::object();
  for (const Shape& shape : shapes()) {
    json::Value schema = object_of("type", "object"), properties = json::Value::object(), always = json::Value::array();
    schema.set("description", shape.says);
    for (const ShapeMember& member : shape.members) {
      json::Value described = schema_of_type(member.type);
      if (!member.says.empty()) described.set("description", member.says);
      properties.set(member.name, std::move(described));
      if (member.always) always.push(member.name);
    }
    schema.set("properties", std::move(properties));
    if (!always.elements().empty()) schema.set("required", std::move(always));
    out.set(shape.name, std::move(schema));
  }
  return out;
}

}  // namespace baton::http_api
