// SPDX-License-Identifier: Apache-2.0
#include "runtime/use_cases/reading.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "json/parse.h"
#include "runtime/session_events.h"
#include "runtime/use_cases/govern.h"
#include "runtime/use_cases/inside.h"
#include "runtime/work_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;

void add_sorted(std::vector<std::string>& labels, const std::vector<std::string>& more) {
  labels.insert(labels.end(), more.begin(), more.end());
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
}

// What a row of session_states says without its pack.
struct StateSeen {
  bool is_there = false, is_open = false;
  std::vector<std::string> labels;
};

Result<StateSeen> state_of(store::Reader& reader, const std::string& session_id) {
  StateSeen out;
  const auto row = reader.get(tables::kSessionStates, {session_id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return out;
  out.is_there = true;
  out.is_open = text_at(**row, 1) == session::name_of(session::Standing::Open);
  const auto content = json::parse(text_at(**row, 4));
  if (!content) return failure("reading the labels of a session", "its row is not JSON");
  for (const json::Node label : content->root()["state"]["labels"].elements()) out.labels.emplace_back(label.string());
  std::ranges::sort(out.labels);
  return out;
}

Result<std::optional<work::Session>> session_in(store::Reader& reader, const std::string& id) {
  if (!work::is_work_id(id)) return std::nullopt;
  const auto row = reader.get(tables::kSessions, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  auto session = read_session(**row);
  if (!session) return tl::make_unexpected(session.error());
  return std::optional(std::move(*session));
}

Result<std::optional<work::Item>> item_in(store::Reader& reader, const std::string& id) {
  if (!work::is_work_id(id)) return std::nullopt;
  const auto row = reader.get(tables::kWorkItems, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  auto item = read_item(**row);
  if (!item) return tl::make_unexpected(item.error());
  return std::optional(std::move(*item));
}

}  // namespace

// --- roles ----------------------------------------------------------------------------------------------------------------

std::optional<std::vector<std::string>> roles_of(const Caller& caller, const work::Policy& policy) {
  if (caller.actor.kind == work::ActorKind::Operator || caller.actor.kind == work::ActorKind::Node) return std::nullopt;
  if (!caller.grant.roles.empty()) return caller.grant.roles;
  if (caller.grant.is_host) return std::nullopt;
  return work::default_roles(policy);
}

std::optional<Diagnostic> check_role(std::string_view role, const std::vector<std::string>& roles) {
  if (std::ranges::find(roles, role) != roles.end()) return std::nullopt;
  return report(Code::ACCESS_ROLE, {}, {{"role", role}, {"roles", "`" + join(roles, "`, `") + "`"}});
}

const std::string& session_of(const Caller& caller) {
  return caller.session_id.empty() ? caller.agent_session : caller.session_id;
}

// --- labels ---------------------------------------------------------------------------------------------------------------

Result<std::vector<std::string>> labels_of_item(store::Reader& reader, const std::string& work_id) {
  auto item = item_in(reader, work_id);
  if (!item) return tl::make_unexpected(item.error());
  return *item ? std::move((*item)->labels) : std::vector<std::string>();
}

Result<std::vector<std::string>> labels_of_session(store::Reader& reader, const std::string& session_id) {
  const auto session = session_in(reader, session_id);
  if (!session) return tl::make_unexpected(session.error());
  if (!*session) return std::vector<std::string>();
  auto state = state_of(reader, session_id);
  if (!state) return tl::make_unexpected(state.error());
  const auto item = labels_of_item(reader, (*session)->work_id);
  if (!item) return item;
  add_sorted(state->labels, *item);
  return std::move(state->labels);
}

Result<std::vector<std::string>> labels_of_workflow(store::Reader& reader, const std::string& workflow_id) {
  std::vector<std::string> sessions, out;
  auto found = reader.find(
      {.table = tables::kWorkflowMembers, .index = &tables::kWorkflowMembersByWorkflow, .equal = {workflow_id}},
      [&](const store::Row& row) {
        sessions.push_back(text_at(row, 0));
        return true;
      });
  if (!found) return tl::make_unexpected(found.error());
  for (const std::string& session : sessions) {
    const auto labels = labels_of_session(reader, session);
    if (!labels) return labels;
    add_sorted(out, *labels);
  }
  return out;
}

// --- who reads ------------------------------------------------------------------------------------------------------------

bool ReadingAs::owns(std::string_view stream) const {
  return (!session_id.empty() && stream == session_stream(session_id)) ||
         (!work_id.empty() && stream == work_stream(work_id));
}

Result<ReadingAs> reading_as(store::Reader& reader, const work::Policy& policy, const Caller& caller, bool can_gain) {
  ReadingAs out;
  if (caller.actor.kind != work::ActorKind::Agent && !caller.supervised) {
    out.clearance.reads_all = true;
    return out;
  }
  out.session_id = session_of(caller);
  const auto add_role = [&](std::string_view name) {
    if (const work::Role* role = policy.find_role(name)) out.clearance.roles.push_back(role);
  };
  if (out.session_id.empty()) {
    // Which it would take is not known: what any of them reads.
    if (const auto roles = roles_of(caller, policy))
      for (const std::string& role : *roles) add_role(role);
    else
      for (const work::Role& role : policy.roles) out.clearance.roles.push_back(&role);
    return out;
  }
  const auto session = session_in(reader, out.session_id);
  if (!session) return tl::make_unexpected(session.error());
  if (!*session) return out;
  add_role((*session)->role);
  out.work_id = (*session)->work_id;
  const auto state = state_of(reader, out.session_id);
  if (!state) return tl::make_unexpected(state.error());
  const auto item = item_in(reader, out.work_id);
  if (!item) return tl::make_unexpected(item.error());
  out.clearance.labels = state->labels;
  if (*item) {
    // What its item has, a session that is held to a pack has too; it may have been opened before.
    std::vector<std::string> both;
    std::ranges::set_intersection(state->labels, (*item)->labels, std::back_inserter(both));
    out.clearance.labels = state->is_there ? std::move(both) : (*item)->labels;
  }
  const bool holds = *item && (*item)->lease && (*item)->lease->session_id == out.session_id;
  out.clearance.can_gain = can_gain && (out.work_id.empty() ? state->is_open : holds);
  return out;
}

Result<ReadingAs> UseCases::reading_as(const Caller& caller, bool can_gain) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  return runtime::reading_as(**reader, inside_->config.policy, caller, can_gain);
}

Diagnostic withheld_because(std::string_view what, const work::ReadDecision& decision) {
  return report(Code::READ_LABELLED, {},
                {{"what", what},
                 {"labels", "`" + join(decision.missing, "`, `") + "`"},
                 {"problem", decision.too_many ? "the session that reads cannot have so many"
                                               : "no session that is open reads it and could have them"}});
}

Value shown_withheld(const Diagnostic& why, const std::vector<std::string>& labels) {
  Value out = Value::object();
  out.set("code", info(why.code).name);
  out.set("labels", texts_value(labels));
  out.set("problem", why.message);
  out.set("help", why.help);
  return out;
}

// --- of entries -----------------------------------------------------------------------------------------------------------

Result<std::optional<std::vector<std::string>>> UseCases::labels_of_entry(std::string_view stream,
                                                                          std::string_view payload) {
  using Labels = std::optional<std::vector<std::string>>;
  const auto behind = [&](std::string_view prefix) -> std::optional<std::string> {
    if (!stream.starts_with(prefix)) return std::nullopt;
    return std::string(stream.substr(prefix.size()));
  };
  // The answers of all callers, whatever they were about.
  if (stream == kApiStream) return Labels();
  const auto is_approvals = stream == kApprovalsStream;
  const auto context = behind("context/"), session = behind("session/"), work = behind("work/"),
             workflow = behind("workflow/");
  if (!is_approvals && !context && !session && !work && !workflow) return Labels(std::in_place);
  const auto opened = inside_->store.reader();
  if (!opened) return tl::make_unexpected(opened.error());
  const auto as_labels = [](Result<std::vector<std::string>> labels) {
    return std::move(labels).map([](std::vector<std::string> all) { return Labels(std::move(all)); });
  };
  if (session) return as_labels(labels_of_session(**opened, *session));
  if (work) return as_labels(labels_of_item(**opened, *work));
  if (workflow) return as_labels(labels_of_workflow(**opened, *workflow));
  const auto document = json::parse(payload);
  std::vector<std::string> out;
  if (!document) return Labels();
  const json::Node root = document->root();
  if (context) {
    if (!read_texts(root, "labels", out)) return Labels();
    return Labels(std::move(out));
  }
  std::string id, of_session, of_work;
  if (!read_text(root, "id", id) && !read_text(root, "approval_id", id)) return Labels();
  const auto row = (*opened)->get(tables::kApprovals, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return Labels();
  const auto approval = read_approval(**row);
  if (!approval) return tl::make_unexpected(approval.error());
  auto labels = labels_of_session(**opened, approval->session_id);
  const auto of_item = labels ? labels_of_item(**opened, approval->work_id) : labels;
  if (!of_item) return tl::make_unexpected(of_item.error());
  add_sorted(*labels, *of_item);
  return Labels(std::move(*labels));
}

// --- reading adds them ----------------------------------------------------------------------------------------------------

void UseCases::gain_labels(const Mutation& by, std::vector<std::string> labels, std::string read, Answered done) {
  Mutation reading = by;
  reading.idempotency_key.clear();  // of a request that only reads
  const std::string session_id = session_of(by.caller);
  std::vector<Read> reads = reads_of_session(session_id);
  inside_->run(reading,
               [session_id, labels = std::move(labels), read = std::move(read)](Act& act) -> Result<void> {
                 const auto cannot = [&](bool too_many) {
                   work::ReadDecision why;
                   why.missing = labels;
                   why.too_many = too_many;
                   act.refuse(withheld_because("`" + read + "`", why));
                   return Result<void>();
                 };
                 Result<std::optional<work::Session>> session;
                 if (work::is_work_id(session_id)) session = act.session(session_id);
                 if (!session) return tl::make_unexpected(session.error());
                 if (!*session || !may_act_for(act.caller(), **session)) return cannot(false);
                 std::optional<work::Item> item;
                 if (!(*session)->work_id.empty()) {
                   auto held = act.item((*session)->work_id);
                   if (!held) return tl::make_unexpected(held.error());
                   item = std::move(*held);
                   if (!item || !item->lease || item->lease->session_id != session_id) return cannot(false);
                 }
                 const auto gained = gain_labels_in(act, **session, item ? &*item : nullptr, labels, read);
                 if (!gained) return tl::make_unexpected(gained.error());
                 return *gained ? Result<void>() : cannot(true);
               },
               std::move(done), {.reads = std::move(reads)});
}

Result<bool> gain_labels_in(Act& act, const work::Session& session, work::Item* item,
                            const std::vector<std::string>& labels, std::string_view read) {
  const auto row = act.unit.get(tables::kSessionStates, {session.id});
  if (!row) return tl::make_unexpected(row.error());
  if (*row && text_at(**row, 1) == session::name_of(session::Standing::Open)) {
    const auto content = json::parse(text_at(**row, 4));
    if (!content) return failure("reading the labels of a session", "its row is not JSON");
    std::vector<std::string> has;
    for (const json::Node label : content->root()["state"]["labels"].elements()) has.emplace_back(label.string());
    std::vector<std::string> added;
    for (const std::string& label : labels)
      if (std::ranges::find(has, label) == has.end()) added.push_back(label);
    if (has.size() + added.size() > limits::kWorkLabelsMax) return false;
    for (const std::string& label : added) {
      Value payload = session_payload(act, session.id);
      payload.set("label", label);
      if (!read.empty()) payload.set("read", read);
      if (auto done = act.append(session_stream(session.id), kSessionLabelled, std::move(payload), Act::Is::Beside,
                                 {"/session_id"});
          !done)
        return tl::make_unexpected(done.error());
    }
  } else if (item == nullptr) {
    return false;
  }
  if (item == nullptr) return true;
  const work::Ruling ruling = work::add_labels(*item, labels, act.now);
  if (!ruling.allowed()) return false;
  for (const work::Event& event : ruling.events)
    if (auto done = act.record(event, *item, Act::Is::Beside); !done) return tl::make_unexpected(done.error());
  return true;
}

}  // namespace baton::runtime
