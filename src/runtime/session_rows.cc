// SPDX-License-Identifier: Apache-2.0
#include "runtime/session_rows.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "json/parse.h"
#include "runtime/shown_subject.h"
#include "runtime/work_rows.h"

namespace baton::runtime {
namespace {

using json::Value;
using store::Row;

constexpr std::array<std::string_view, 7> kApprovalStates = {"pending",   "approved", "denied", "expired",
                                                             "cancelled", "spent",    "lapsed"};

tl::unexpected<Failure> unreadable(std::string_view table, const Row& row) {
  return failure("reading " + std::string(table), "the row `" + text_at(row, 0) + "` is not what this version writes");
}

void set_text(Value& out, std::string_view name, const std::string& text) {
  if (!text.empty()) out.set(name, text);
}

std::string optional_text(json::Node node, std::string_view name) {
  return node[name].is_string() ? std::string(node[name].string()) : std::string();
}

}  // namespace

std::string_view name_of(ApprovalState state) { return kApprovalStates[static_cast<std::size_t>(state)]; }

std::optional<ApprovalState> approval_state_named(std::string_view name) {
  for (std::size_t i = 0; i < kApprovalStates.size(); ++i)
    if (kApprovalStates[i] == name) return static_cast<ApprovalState>(i);
  return std::nullopt;
}

// --- sessions ---------------------------------------------------------------------------------------------------------------------

namespace {

// Whoever executes the call knows its time; a little more, so that it is they who say what became of it if they can.
constexpr std::int64_t kGraceNanoseconds = 5 * kNanosecondsPerSecond;

}  // namespace

Time GovernedSession::over_at(const session::OpenCall& call, Time began) const {
  constexpr std::int64_t kUngoverned = 3'600'000;  // of a tool without a contract, which was let through
  const std::int64_t total_ms = call.tool == session::kNone ? kUngoverned : rules->tool(call.tool).total_ms;
  return Time{began.nanoseconds + std::min<std::int64_t>(total_ms, 1'000'000'000'000) * 1'000'000 + kGraceNanoseconds};
}

std::int64_t GovernedSession::deadline() const {
  std::int64_t first = INT64_MAX;
  for (const auto& [id, began] : begun)
    if (const session::OpenCall* call = state.find(id); call != nullptr && call->state == session::CallState::Executing)
      first = std::min(first, over_at(*call, began).nanoseconds);
  return first;
}

const session::OpenCall* GovernedSession::at_other_door(session::ToolId tool, std::string_view digest) const {
  for (const std::string& id : other_doors)
    if (const session::OpenCall* call = state.find(id);
        call != nullptr && call->state == session::CallState::Pending && call->tool == tool && call->digest == digest)
      return call;
  return nullptr;
}

void GovernedSession::prune_other_doors() {
  std::erase_if(other_doors, [this](const std::string& id) {
    const session::OpenCall* call = state.find(id);
    return call == nullptr ||
           (call->state != session::CallState::Pending && call->state != session::CallState::Awaiting);
  });
}

void GovernedSession::prune_sighted() {
  std::erase_if(sighted, [this](const auto& one) { return state.find(one.first) == nullptr; });
}

// --- subagents

Subagent* GovernedSession::find_subagent(std::string_view agent_id) {
  const auto at = std::ranges::find(subagents, agent_id, &Subagent::id);
  return at == subagents.end() ? nullptr : &*at;
}
const Subagent* GovernedSession::find_subagent(std::string_view agent_id) const {
  return const_cast<GovernedSession*>(this)->find_subagent(agent_id);
}

bool GovernedSession::has_room_for_subagent() const {
  return subagents.size() < limits::kSubagentsMax ||
         std::ranges::any_of(subagents, [](const Subagent& one) { return !one.open; });
}

void GovernedSession::begin_subagent(const std::string& agent_id, const std::string& type, Time at) {
  if (Subagent* known = find_subagent(agent_id)) {
    known->open = true;
    known->outcome.clear();
    known->handoff_digest.clear();
    known->repairs = 0;
    known->reports_in_a_row = 0;
    known->ended_at.reset();
    // It goes on, which Baton sees for itself: it need not say so before it may end again.
    if (!known->plan_status.empty()) known->plan_status = "IN_PROGRESS";
    return;
  }
  if (subagents.size() >= limits::kSubagentsMax)
    if (const auto over = std::ranges::find(subagents, false, &Subagent::open); over != subagents.end())
      subagents.erase(over);
  Subagent added;
  added.id = agent_id;
  added.type = type;
  added.started_at = at;
  subagents.push_back(std::move(added));
}

void GovernedSession::repair_subagent(const std::string& agent_id, std::uint32_t repairs) {
  if (Subagent* known = find_subagent(agent_id)) known->repairs = repairs;
}

void GovernedSession::end_subagent(const std::string& agent_id, const SubagentEnd& how, Time at) {
  Subagent* known = find_subagent(agent_id);
  if (known == nullptr) return;
  known->open = false;
  known->ended_at = at;
  known->outcome = how.outcome;
  if (!how.plan_status.empty()) known->plan_status = how.plan_status;
  known->handoff_digest = how.handoff_digest;
  known->reports_in_a_row = how.reports_in_a_row;
}

Value Subagent::to_json() const {
  Value out = Value::object();
  out.set("agent_id", id);
  set_text(out, "type", type);
  out.set("state", open ? "open" : "ended");
  set_text(out, "outcome", outcome);
  set_text(out, "plan_status", plan_status);
  if (reports_in_a_row != 0) out.set("reports_in_a_row", reports_in_a_row);
  if (repairs != 0) out.set("repairs", repairs);
  set_text(out, "handoff_digest", handoff_digest);
  out.set("started_at", format_time(started_at));
  if (ended_at) out.set("ended_at", format_time(*ended_at));
  return out;
}

namespace {

bool read_subagent(json::Node node, Subagent& out) {
  std::int64_t reports = 0, repairs = 0;
  if (!read_text(node, "agent_id", out.id) || !read_time(node, "started_at", out.started_at) ||
      !read_optional_time(node, "ended_at", out.ended_at) ||
      (node["reports_in_a_row"] && !read_number(node, "reports_in_a_row", reports)) ||
      (node["repairs"] && !read_number(node, "repairs", repairs)))
    return false;
  out.type = optional_text(node, "type");
  out.open = node["state"].is_text("open");
  out.outcome = optional_text(node, "outcome");
  out.plan_status = optional_text(node, "plan_status");
  out.handoff_digest = optional_text(node, "handoff_digest");
  out.reports_in_a_row = static_cast<std::uint32_t>(reports);
  out.repairs = static_cast<std::uint32_t>(repairs);
  return true;
}

}  // namespace

Row row_of(const GovernedSession& session) {
  Value out = Value::object();
  set_text(out, "role", session.role);
  set_text(out, "agent_id", session.agent_id);
  out.set("actor_id", session.actor_id);
  set_text(out, "work_id", session.work_id);
  set_text(out, "workflow_id", session.workflow_id);
  if (session.fence != 0) out.set("fence", session.fence);
  out.set("opened_at", format_time(session.opened_at));
  out.set("changed_at", format_time(session.changed_at));
  if (session.rules_version != session::kFirstRulesVersion) out.set("rules_version", session.rules_version);
  set_text(out, "principal_sha256", session.principal_sha256);
  if (!session.begun.empty()) {
    Value begun = Value::object();
    for (const auto& [id, at] : session.begun) begun.set(id, format_time(at));
    out.set("begun", std::move(begun));
  }
  if (!session.subagents.empty()) {
    Value subagents = Value::array();
    for (const Subagent& one : session.subagents) subagents.push(one.to_json());
    out.set("subagents", std::move(subagents));
  }
  if (session.unhooked_calls != 0) out.set("unhooked_calls", session.unhooked_calls);
  if (!session.other_doors.empty()) out.set("other_doors", texts_value(session.other_doors));
  if (!session.sighted.empty()) {
    Value sighted = Value::object();
    for (const auto& [id, one] : session.sighted) {
      Value kept = Value::object();
      set_text(kept, "call_id", one.call_id);
      kept.set("input_sha256", one.input_sha256);
      sighted.set(id, std::move(kept));
    }
    out.set("sighted", std::move(sighted));
  }
  out.set("state", session::to_json(session.state));
  return {session.id, std::string(session::name_of(session.state.standing)), session.pack, session.deadline(),
          json::write(out)};
}

const std::string& pack_in(const Row& row) { return text_at(row, 2); }

Result<GovernedSession> read_governed(const Row& row, std::shared_ptr<const session::Rules> rules) {
  if (rules == nullptr) return failure("reading session_states", "the pack of `" + text_at(row, 0) + "` is not there");
  const auto document = json::parse(text_at(row, 4));
  if (!document) return unreadable("session_states", row);
  const json::Node root = document->root();
  GovernedSession out;
  out.id = text_at(row, 0);
  out.pack = text_at(row, 2);
  out.role = optional_text(root, "role");
  out.agent_id = optional_text(root, "agent_id");
  out.work_id = optional_text(root, "work_id");
  out.workflow_id = optional_text(root, "workflow_id");
  out.principal_sha256 = optional_text(root, "principal_sha256");
  std::int64_t fence = 0;
  if (!read_text(root, "actor_id", out.actor_id) || (root["fence"] && !read_number(root, "fence", fence)) ||
      !read_time(root, "opened_at", out.opened_at) || !read_time(root, "changed_at", out.changed_at))
    return unreadable("session_states", row);
  out.fence = static_cast<std::uint64_t>(fence);
  if (root["rules_version"] && !read_number(root, "rules_version", out.rules_version))
    return unreadable("session_states", row);
  auto state = session::read_state(*rules, root["state"]);
  if (!state) return unreadable("session_states", row);
  out.state = std::move(*state);
  for (const json::Member member : root["begun"].members())
    if (!read_time(root["begun"], member.name(), out.begun[std::string(member.name())]))
      return unreadable("session_states", row);
  for (const json::Node one : root["subagents"].elements())
    if (!read_subagent(one, out.subagents.emplace_back())) return unreadable("session_states", row);
  if (root["unhooked_calls"] && !read_number(root, "unhooked_calls", out.unhooked_calls))
    return unreadable("session_states", row);
  if (root["other_doors"] && !read_texts(root, "other_doors", out.other_doors))
    return unreadable("session_states", row);
  for (const json::Member member : root["sighted"].members()) {
    Sighted& one = out.sighted[std::string(member.name())];
    if (!read_text(member.value, "input_sha256", one.input_sha256)) return unreadable("session_states", row);
    one.call_id = optional_text(member.value, "call_id");
  }
  out.rules = std::move(rules);
  return out;
}

// --- approvals --------------------------------------------------------------------------------------------------------------------

std::int64_t Approval::deadline() const {
  if (state == ApprovalState::Pending) return expires_at.nanoseconds;
  if (state == ApprovalState::Approved && spend_until) return spend_until->nanoseconds;
  return INT64_MAX;
}

Value Approval::to_json() const {
  Value out = Value::object();
  out.set("id", id);
  out.set("kind", kind);
  out.set("state", name_of(state));
  set_text(out, "session_id", session_id);
  set_text(out, "work_id", work_id);
  set_text(out, "call_id", call_id);
  set_text(out, "tool", tool);
  out.set("subject", subject);
  out.set("digest", digest);
  out.set("context", context);
  if (hidden_parts) out.set("hidden_parts", *hidden_parts);
  if (!not_shown.elements().empty()) out.set("not_shown", not_shown);
  set_text(out, "risk", risk);
  out.set("requested_by", requested_by);
  out.set("requested_at", format_time(requested_at));
  out.set("expires_at", format_time(expires_at));
  out.set("spend_seconds", Value::number(spend_seconds.text()));
  out.set("on_timeout", allow_on_timeout ? "allow" : "deny");
  if (spend_until) out.set("spend_until", format_time(*spend_until));
  if (decided_at) out.set("decided_at", format_time(*decided_at));
  set_text(out, "decided_by", decided_by);
  set_text(out, "note", note);
  return out;
}

Value Approval::cannot_be_shown() const {
  return not_shown.elements().empty() ? runtime::to_json(runtime::not_shown(subject)) : not_shown;
}

Value Approval::told() const {
  Value out = to_json();
  if (Value problems = cannot_be_shown(); !problems.elements().empty()) out.set("not_shown", std::move(problems));
  if (Value found = look_alikes(subject); !found.elements().empty()) out.set("look_alikes", std::move(found));
  return out;
}

Row row_of(const Approval& approval) {
  return {approval.id, std::string(name_of(approval.state)), approval.deadline(), approval.session_id,
          json::write(approval.to_json())};
}

std::optional<Approval> read_approval(json::Node root) {
  Approval out;
  std::string state, on_timeout;
  if (!read_text(root, "id", out.id) || !read_text(root, "kind", out.kind) || !read_text(root, "state", state) ||
      !read_text(root, "digest", out.digest) || !read_text(root, "requested_by", out.requested_by) ||
      !read_time(root, "requested_at", out.requested_at) || !read_time(root, "expires_at", out.expires_at) ||
      !read_text(root, "on_timeout", on_timeout) || !root["spend_seconds"].is_number() ||
      !read_optional_time(root, "spend_until", out.spend_until) ||
      !read_optional_time(root, "decided_at", out.decided_at) || !root["subject"].is_object() ||
      !root["context"].is_object())
    return std::nullopt;
  const auto named = approval_state_named(state);
  if (!named) return std::nullopt;
  out.state = *named;
  out.session_id = optional_text(root, "session_id");
  out.work_id = optional_text(root, "work_id");
  out.call_id = optional_text(root, "call_id");
  out.tool = optional_text(root, "tool");
  out.subject = Value::copy(root["subject"]);
  out.context = Value::copy(root["context"]);
  if (std::int64_t parts = 0; read_number(root, "hidden_parts", parts)) out.hidden_parts = parts;
  if (root["not_shown"].is_array()) out.not_shown = Value::copy(root["not_shown"]);
  out.risk = optional_text(root, "risk");
  out.spend_seconds = json::Decimal::from_number(root["spend_seconds"].number_text());
  out.allow_on_timeout = on_timeout == "allow";
  out.decided_by = optional_text(root, "decided_by");
  out.note = optional_text(root, "note");
  return out;
}

Result<Approval> read_approval(const Row& row) {
  const auto document = json::parse(text_at(row, 4));
  auto approval = document ? read_approval(document->root()) : std::nullopt;
  if (!approval) return unreadable("approvals", row);
  return std::move(*approval);
}

}  // namespace baton::runtime
