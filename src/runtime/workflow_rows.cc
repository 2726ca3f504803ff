// SPDX-License-Identifier: Apache-2.0
#include "runtime/workflow_rows.h"

#include "json/parse.h"
#include "runtime/work_rows.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;
using store::Row;

tl::unexpected<Failure> unreadable(std::string_view table, const Row& row) {
  return failure("reading " + std::string(table), "the row `" + text_at(row, 0) + "` is not what this version writes");
}

void set_text(Value& out, std::string_view name, const std::string& text) {
  if (!text.empty()) out.set(name, text);
}

std::string optional_text(json::Node node, std::string_view name) {
  return node[name].is_string() ? std::string(node[name].string()) : std::string();
}

bool read_decimal(json::Node node, std::string_view name, json::Decimal& out) {
  if (!node[name].is_number()) return false;
  out = json::Decimal::from_number(node[name].number_text());
  return true;
}

Value value_of(const session::SharedCall& call) { return Value(Value::Array{Value(call.session), Value(call.call)}); }

Value value_of(const std::vector<session::SharedCall>& calls) {
  Value out = Value::array();
  for (const session::SharedCall& call : calls) out.push(value_of(call));
  return out;
}

std::optional<session::SharedCall> read_call(json::Node node) {
  if (!node.is_array() || node.size() != 2 || !node.element(0).is_string() || !node.element(1).is_string())
    return std::nullopt;
  return session::SharedCall{std::string(node.element(0).string()), std::string(node.element(1).string())};
}

bool read_calls(json::Node node, std::vector<session::SharedCall>& out) {
  for (const json::Node one : node.elements()) {
    auto call = read_call(one);
    if (!call) return false;
    out.push_back(std::move(*call));
  }
  return true;
}

}  // namespace

// --- workflows ------------------------------------------------------------------------------------------------------------------------

Row row_of(const Workflow& workflow) {
  const workflow::Totals& totals = workflow.totals;
  Value out = Value::object();
  out.set("workflow", workflow.hash);
  out.set("name", workflow.name);
  out.set("started_by", workflow.started_by);
  out.set("started_at", format_time(workflow.started_at));
  out.set("sessions", totals.sessions);
  out.set("active", totals.active);
  out.set("open_handoffs", totals.open_handoffs);
  out.set("steps", totals.spent.steps);
  out.set("cost", Value::number(totals.spent.cost.text()));
  out.set("reserved", Value::number(totals.spent.reserved.text()));
  return {workflow.id, std::string(totals.killed ? "killed" : "open"), json::write(out)};
}

Result<Workflow> read_workflow(const Row& row) {
  const auto document = json::parse(text_at(row, 2));
  if (!document) return unreadable("workflows", row);
  const json::Node root = document->root();
  Workflow out;
  out.id = text_at(row, 0);
  workflow::Totals& totals = out.totals;
  totals.killed = text_at(row, 1) == "killed";
  if (!read_text(root, "workflow", out.hash) || !read_text(root, "name", out.name) ||
      !read_text(root, "started_by", out.started_by) || !read_time(root, "started_at", out.started_at) ||
      !read_number(root, "sessions", totals.sessions) || !read_number(root, "active", totals.active) ||
      !read_number(root, "open_handoffs", totals.open_handoffs) || !read_number(root, "steps", totals.spent.steps) ||
      !read_decimal(root, "cost", totals.spent.cost) || !read_decimal(root, "reserved", totals.spent.reserved))
    return unreadable("workflows", row);
  return out;
}

// --- sessions of one --------------------------------------------------------------------------------------------------------------------

Row row_of(const WorkflowMember& member) {
  Value out = Value::object();
  out.set("role", member.member.role);
  set_text(out, "handoff", member.member.handoff);
  out.set("standing", session::name_of(member.member.standing));
  return {member.member.session, member.workflow_id, member.member.parent, json::write(out)};
}

Result<WorkflowMember> read_member(const Row& row) {
  const auto document = json::parse(text_at(row, 3));
  if (!document) return unreadable("workflow_members", row);
  const json::Node root = document->root();
  WorkflowMember out;
  out.member.session = text_at(row, 0);
  out.workflow_id = text_at(row, 1);
  out.member.parent = text_at(row, 2);
  out.member.handoff = optional_text(root, "handoff");
  std::int64_t role = 0;
  if (!read_number(root, "role", role)) return unreadable("workflow_members", row);
  out.member.role = static_cast<std::uint32_t>(role);
  const std::string standing = optional_text(root, "standing");
  if (standing == "killed") out.member.standing = session::Standing::Killed;
  else if (standing == "closed") out.member.standing = session::Standing::Closed;
  else if (standing != "open") return unreadable("workflow_members", row);
  return out;
}

// --- handoffs -------------------------------------------------------------------------------------------------------------------------

Value to_json(const Artifact& artifact) {
  Value out = Value::object();
  out.set("name", artifact.name);
  out.set("type", artifact.type);
  out.set("sha256", artifact.sha256);
  out.set("bytes", artifact.bytes);
  if (!artifact.labels.empty()) out.set("labels", texts_value(artifact.labels));
  return out;
}

std::optional<Artifact> read_artifact(json::Node node) {
  Artifact out;
  if (!read_text(node, "name", out.name) || !read_text(node, "type", out.type) ||
      !read_text(node, "sha256", out.sha256) || !read_number(node, "bytes", out.bytes) ||
      (node["labels"] && !read_texts(node, "labels", out.labels)))
    return std::nullopt;
  return out;
}

Row row_of(const WorkflowHandoff& handoff) {
  Value out = Value::object();
  out.set("edge", handoff.handoff.edge);
  set_text(out, "child", handoff.handoff.child);
  Value artifacts = Value::array();
  for (const Artifact& artifact : handoff.artifacts) artifacts.push(to_json(artifact));
  out.set("artifacts", std::move(artifacts));
  if (!handoff.handoff.resources.empty()) {
    Value resources = Value::array();
    for (const std::uint32_t one : handoff.handoff.resources) resources.push(one);
    out.set("resources", std::move(resources));
  }
  set_text(out, "message_id", handoff.message_id);
  set_text(out, "target_id", handoff.target_id);
  out.set("offered_at", format_time(handoff.offered_at));
  if (handoff.expires_at) out.set("expires_at", format_time(*handoff.expires_at));
  const bool is_due = handoff.handoff.stage == workflow::Stage::Offered && handoff.expires_at;
  return {handoff.handoff.id,   handoff.workflow_id,
          handoff.handoff.from, std::string(workflow::name_of(handoff.handoff.stage)),
          handoff.to_role,      is_due ? handoff.expires_at->nanoseconds : INT64_MAX,
          json::write(out)};
}

Result<WorkflowHandoff> read_handoff(const Row& row) {
  const auto document = json::parse(text_at(row, 6));
  const auto stage = workflow::stage_named(text_at(row, 3));
  if (!document || !stage) return unreadable("workflow_handoffs", row);
  const json::Node root = document->root();
  WorkflowHandoff out;
  out.handoff.id = text_at(row, 0);
  out.workflow_id = text_at(row, 1);
  out.handoff.from = text_at(row, 2);
  out.handoff.stage = *stage;
  out.to_role = text_at(row, 4);
  out.handoff.child = optional_text(root, "child");
  std::int64_t edge = 0;
  if (!read_number(root, "edge", edge) || !read_time(root, "offered_at", out.offered_at) ||
      !read_optional_time(root, "expires_at", out.expires_at))
    return unreadable("workflow_handoffs", row);
  out.handoff.edge = static_cast<std::uint32_t>(edge);
  out.message_id = optional_text(root, "message_id");
  out.target_id = optional_text(root, "target_id");
  for (const json::Node one : root["resources"].elements())
    out.handoff.resources.push_back(static_cast<std::uint32_t>(json::to_int64(one.number_text()).value_or(0)));
  for (const json::Node one : root["artifacts"].elements()) {
    auto artifact = read_artifact(one);
    if (!artifact) return unreadable("workflow_handoffs", row);
    out.artifacts.push_back(std::move(*artifact));
  }
  return out;
}

// --- holds ----------------------------------------------------------------------------------------------------------------------------

Row row_of(const std::string& workflow_id, const session::SharedKey& key, const session::Hold& hold) {
  Value out = Value::object();
  if (!hold.open.empty()) out.set("open", value_of(hold.open));
  if (hold.owner) {
    out.set("calls", texts_value(hold.owner->calls));
    if (hold.owner->failed > 0) out.set("failed", hold.owner->failed);
    if (hold.owner->for_good) out.set("for_good", true);
  }
  if (!hold.writing.empty()) out.set("writing", value_of(hold.writing));
  if (hold.token) out.set("token", value_of(*hold.token));
  if (!hold.waiting.empty()) out.set("waiting", value_of(hold.waiting));
  return {workflow_id, static_cast<std::int64_t>(key.resource), key.value,
          hold.owner ? hold.owner->session : std::string(), json::write(out)};
}

Result<session::Hold> read_hold(const Row& row) {
  const auto document = json::parse(text_at(row, 4));
  if (!document) return unreadable("workflow_holds", row);
  const json::Node root = document->root();
  session::Hold out;
  if (!text_at(row, 3).empty()) {
    out.owner = session::Hold::Owner{text_at(row, 3), {}, 0, root["for_good"].is_true()};
    std::int64_t failed = 0;
    if (root["failed"] && !read_number(root, "failed", failed)) return unreadable("workflow_holds", row);
    out.owner->failed = static_cast<std::uint32_t>(failed);
    if (!read_texts(root, "calls", out.owner->calls)) return unreadable("workflow_holds", row);
  }
  if (root["token"] && !(out.token = read_call(root["token"]))) return unreadable("workflow_holds", row);
  if (!read_calls(root["open"], out.open) || !read_calls(root["writing"], out.writing) ||
      !read_calls(root["waiting"], out.waiting))
    return unreadable("workflow_holds", row);
  return out;
}

// --- the store, seen by rules ---------------------------------------------------------------------------------------------------------

WorkflowView::WorkflowView(GetRow get, Find find, std::shared_ptr<const contract::WorkflowPlan> plan,
                           std::string workflow_id, std::string session_id)
    : get_(std::move(get)),
      find_(std::move(find)),
      plan_(std::move(plan)),
      workflow_id_(std::move(workflow_id)),
      session_id_(std::move(session_id)) {}

namespace {

// One row, read; nothing when there is none. What goes wrong is kept.
template <class Read>
auto read_one(const GetRow& get, const store::Table& table, const Row& key, std::optional<Failure>& problem,
              const Read& read) -> std::optional<typename decltype(read(Row()))::value_type> {
  const auto row = get(table, key);
  if (!row) {
    problem = row.error();
    return std::nullopt;
  }
  if (!*row) return std::nullopt;
  auto value = read(**row);
  if (!value) {
    problem = value.error();
    return std::nullopt;
  }
  return std::move(*value);
}

}  // namespace

std::optional<Workflow> WorkflowView::workflow() const {
  return read_one(get_, tables::kWorkflows, {workflow_id_}, problem_, read_workflow);
}

session::Spent WorkflowView::spent() const {
  const auto found = workflow();
  if (!found && !problem_) problem_ = failure("reading workflows", "`" + workflow_id_ + "` is not there").value();
  return found ? found->totals.spent : session::Spent();
}

session::Hold WorkflowView::hold(const session::SharedKey& key) const {
  // A key that nobody has to do with has no row that could be locked: whoever may take one holds the workflow's. Without that, two nodes
  // begin calls at once, and what one was told of a key is not what it was when that was recorded.
  if (!is_locked_) {
    is_locked_ = true;
    if (const auto row = get_(tables::kWorkflows, {workflow_id_}); !row) problem_ = row.error();
  }
  return read_one(get_, tables::kWorkflowHolds, {workflow_id_, static_cast<std::int64_t>(key.resource), key.value},
                  problem_, read_hold)
      .value_or(session::Hold());
}

std::optional<workflow::Member> WorkflowView::member(const std::string& session) const {
  auto found = read_one(get_, tables::kWorkflowMembers, {session}, problem_, read_member);
  return found ? std::optional(std::move(found->member)) : std::nullopt;
}

std::vector<workflow::Member> WorkflowView::members_by(const store::Index& index, const std::string& value) const {
  std::vector<workflow::Member> out;
  auto found = find_({.table = tables::kWorkflowMembers, .index = &index, .equal = {value}}, [&](const Row& row) {
    auto member = read_member(row);
    if (!member) problem_ = member.error();
    else if (member->workflow_id == workflow_id_) out.push_back(std::move(member->member));
    return member.has_value();
  });
  if (!found) problem_ = found.error();
  return out;
}

std::vector<workflow::Member> WorkflowView::children(const std::string& session) const {
  return members_by(tables::kWorkflowMembersByParent, session);
}

std::vector<workflow::Member> WorkflowView::orphans() const {
  std::vector<workflow::Member> out = members_by(tables::kWorkflowMembersByWorkflow, workflow_id_);
  std::erase_if(out, [](const workflow::Member& one) { return !one.parent.empty(); });
  return out;
}

std::vector<workflow::Handoff> WorkflowView::offered_by(const std::string& session) const {
  std::vector<workflow::Handoff> out;
  auto found =
      find_({.table = tables::kWorkflowHandoffs, .index = &tables::kWorkflowHandoffsByFrom, .equal = {session}},
            [&](const Row& row) {
              auto handoff = read_handoff(row);
              if (!handoff) problem_ = handoff.error();
              else if (handoff->handoff.stage == workflow::Stage::Offered) out.push_back(std::move(handoff->handoff));
              return handoff.has_value();
            });
  if (!found) problem_ = found.error();
  return out;
}

std::optional<workflow::Handoff> WorkflowView::handoff(const std::string& id) const {
  if (id.empty()) return std::nullopt;
  auto found = read_one(get_, tables::kWorkflowHandoffs, {id}, problem_, read_handoff);
  return found ? std::optional(std::move(found->handoff)) : std::nullopt;
}

std::vector<std::string> WorkflowView::labels(const std::string& session) const {
  const auto row = get_(tables::kSessionStates, {session});
  if (!row) {
    problem_ = row.error();
    return {};
  }
  if (!*row) return {};
  std::vector<std::string> out;
  const auto document = json::parse(text_at(**row, 4));
  if (document)
    for (const json::Node one : document->root()["state"]["labels"].elements())
      if (one.is_string()) out.emplace_back(one.string());
  return out;
}

}  // namespace baton::runtime
