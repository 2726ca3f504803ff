// SPDX-License-Identifier: Apache-2.0
#include "workflow/family.h"

#include <algorithm>
#include <array>
#include <map>

namespace baton::workflow {
namespace {

using contract::ClosePolicy;

constexpr std::array<std::string_view, 6> kStages = {"offered",  "claimed",   "completed",
                                                     "declined", "cancelled", "expired"};
constexpr std::array<std::string_view, 3> kScopes = {"session", "subtree", "workflow"};

template <typename Enum, std::size_t N>
std::optional<Enum> named(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Enum>(at - names.begin());
}

struct Step {
  Stage from;
  Event event;
  Stage to;
};
constexpr std::array<Step, 6> kSteps = {{{Stage::Offered, Event::Claim, Stage::Claimed},
                                         {Stage::Offered, Event::Decline, Stage::Declined},
                                         {Stage::Offered, Event::Cancel, Stage::Cancelled},
                                         {Stage::Offered, Event::Expire, Stage::Expired},
                                         {Stage::Claimed, Event::Complete, Stage::Completed},
                                         {Stage::Claimed, Event::Cancel, Stage::Cancelled}}};

Refusal refusal(Code code, std::initializer_list<Argument> arguments = {}, std::string detail = {}) {
  return {report(code, {}, arguments), std::move(detail)};
}

Refusal over(std::string_view limit, std::int64_t max, std::string_view problem) {
  return refusal(Code::workflow_limit_exceeded, {{"limit", limit}, {"max", std::to_string(max)}, {"problem", problem}},
                 std::string(limit));
}

std::optional<Refusal> no_more_sessions(const WorkflowPlan& plan, const Totals& totals) {
  if (plan.max_sessions && totals.sessions >= *plan.max_sessions)
    return over("max_sessions", *plan.max_sessions, "there were that many");
  if (plan.max_active_sessions && totals.active >= *plan.max_active_sessions)
    return over("max_active_sessions", *plan.max_active_sessions, "that many are active");
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Stage stage) { return kStages[static_cast<std::size_t>(stage)]; }
std::optional<Stage> stage_named(std::string_view name) { return named<Stage>(kStages, name); }
std::string_view name_of(Scope scope) { return kScopes[static_cast<std::size_t>(scope)]; }
std::optional<Scope> scope_named(std::string_view name) { return named<Scope>(kScopes, name); }

std::optional<Stage> next(Stage stage, Event event) {
  const auto step =
      std::ranges::find_if(kSteps, [&](const Step& one) { return one.from == stage && one.event == event; });
  return step == kSteps.end() ? std::nullopt : std::optional(step->to);
}

// --- may it? ----------------------------------------------------------------------------------------------------------------------------

std::optional<Refusal> may_begin(const WorkflowPlan& plan, const Totals& totals) {
  if (totals.sessions > 0) return refusal(Code::workflow_root_exists);
  if (totals.killed) return refusal(Code::workflow_killed);
  return no_more_sessions(plan, totals);
}

std::optional<Refusal> may_offer(const WorkflowPlan& plan, const Totals& totals, const Member& parent,
                                 std::string_view to, const std::set<std::string, std::less<>>& artifacts,
                                 std::uint32_t& edge) {
  const auto declared = std::ranges::find_if(plan.handoffs, [&](const contract::WorkflowHandoff& one) {
    return one.from == parent.role && plan.roles[one.to].name == to;
  });
  if (declared == plan.handoffs.end())
    return refusal(Code::handoff_not_declared, {{"from", plan.roles[parent.role].name}, {"to", to}});
  for (const std::string& name : declared->artifacts)
    if (!artifacts.contains(name))
      return refusal(Code::handoff_artifact_missing, {{"role", to}, {"artifact", name}}, name);
  if (parent.standing == Standing::Killed) return refusal(Code::session_killed, {{"reason", "it cannot hand over"}});
  if (parent.standing == Standing::Closed) return refusal(Code::session_closed);
  if (plan.max_open_handoffs && totals.open_handoffs >= *plan.max_open_handoffs)
    return over("max_open_handoffs", *plan.max_open_handoffs, "that many are open");
  edge = static_cast<std::uint32_t>(declared - plan.handoffs.begin());
  return std::nullopt;
}

std::optional<Refusal> may_hand_over(const WorkflowPlan& plan, const std::vector<std::string>& aliases,
                                     std::vector<std::uint32_t>& resources) {
  for (const std::string& alias : aliases) {
    const auto at = std::ranges::find(plan.shared, alias, &contract::SharedResource::alias);
    if (at == plan.shared.end() || at->mode != contract::SharedMode::SingleWriter)
      return refusal(Code::handoff_resource_unknown, {{"resource", alias}}, alias);
    resources.push_back(static_cast<std::uint32_t>(at - plan.shared.begin()));
  }
  return std::nullopt;
}

std::optional<Refusal> may_claim(const WorkflowPlan& plan, const Totals& totals, const Handoff& handoff) {
  if (totals.killed) return refusal(Code::workflow_killed);
  if (auto refused = may_end(handoff, Event::Claim)) return refused;
  return no_more_sessions(plan, totals);
}

std::optional<Refusal> may_end(const Handoff& handoff, Event event) {
  if (handoff.stage != Stage::Offered || !next(handoff.stage, event))
    return refusal(Code::handoff_not_open, {{"state", name_of(handoff.stage)}}, std::string(name_of(handoff.stage)));
  return std::nullopt;
}

std::optional<Refusal> may_kill(const WorkflowPlan& plan, Scope scope, bool by_operator) {
  if (scope == Scope::Subtree && !plan.subtree_kill) return refusal(Code::kill_scope_disabled);
  if (scope == Scope::Workflow && plan.operator_only_kill && !by_operator) return refusal(Code::kill_not_permitted);
  return std::nullopt;
}

// --- what follows -----------------------------------------------------------------------------------------------------------------------

namespace {

// Walks the tree and writes down what is to be done. Children come before the parent's own handoff, so that labels go all the way up.
class Ending {
 public:
  Ending(const WorkflowPlan& plan, const Family& family) : plan_(plan), family_(family) {}

  // The session is over already, `how`.
  void ended(const Member& member, Standing how) {
    for (const Member& child : family_.children(member.session)) {
      if (child.standing != Standing::Open) continue;
      switch (policy_of(child)) {
        case ClosePolicy::RequestCancel:
          out_.push_back({.kind = Consequence::RequestCancel, .session = child.session});
          break;
        case ClosePolicy::Terminate: kill(child, "parent_" + std::string(session::name_of(how))); break;
        case ClosePolicy::Abandon: out_.push_back({.kind = Consequence::Abandon, .session = child.session}); break;
      }
    }
    leave(member, how);
  }

  // The session and all below it are killed, whatever their policies say.
  void kill(const Member& member, const std::string& because) {
    for (const Member& child : family_.children(member.session)) kill(child, because);
    if (member.standing != Standing::Open) return;
    out_.push_back({.kind = Consequence::Kill, .session = member.session, .because = because});
    leave(member, Standing::Killed);
  }

  std::vector<Consequence> take() { return std::move(out_); }

 private:
  ClosePolicy policy_of(const Member& child) const {
    const auto handoff = family_.handoff(child.handoff);
    const auto& own = handoff ? plan_.handoffs[handoff->edge].close_policy : std::nullopt;
    return own.value_or(plan_.close_policy);
  }

  // Its offers that nobody claimed, the handoff it came by, and its labels.
  void leave(const Member& member, Standing how) {
    for (const Handoff& offer : family_.offered_by(member.session)) end(offer, Event::Cancel);
    if (const auto own = family_.handoff(member.handoff))
      end(*own, how == Standing::Closed ? Event::Complete : Event::Cancel);
    if (member.parent.empty()) return;
    std::vector<std::string> labels = labels_of(member.session);
    std::vector<std::string>& parents = labels_of(member.parent);
    std::erase_if(labels, [&](const std::string& one) { return std::ranges::find(parents, one) != parents.end(); });
    if (labels.empty()) return;
    parents.insert(parents.end(), labels.begin(), labels.end());
    out_.push_back({.kind = Consequence::AddLabels, .session = member.parent, .labels = std::move(labels)});
  }

  void end(const Handoff& handoff, Event event) {
    if (const auto stage = next(handoff.stage, event))
      out_.push_back({.kind = Consequence::EndHandoff, .handoff = handoff.id, .stage = *stage});
  }

  // With what came to it on the way.
  std::vector<std::string>& labels_of(const std::string& session) {
    const auto known = labels_.find(session);
    return known != labels_.end() ? known->second : labels_.emplace(session, family_.labels(session)).first->second;
  }

  const WorkflowPlan& plan_;
  const Family& family_;
  std::map<std::string, std::vector<std::string>> labels_;
  std::vector<Consequence> out_;
};

}  // namespace

std::vector<Consequence> end_of(const WorkflowPlan& plan, const Family& family, const std::string& session,
                                Standing how) {
  Ending ending(plan, family);
  if (const auto member = family.member(session)) ending.ended(*member, how);
  return ending.take();
}

std::vector<Consequence> kill_of(const WorkflowPlan& plan, const Family& family, Scope scope,
                                 const std::string& session) {
  Ending ending(plan, family);
  if (scope == Scope::Workflow) {
    for (const Member& member : family.orphans()) ending.kill(member, "workflow_killed");
    return ending.take();
  }
  const auto member = family.member(session);
  if (!member) return {};
  if (scope == Scope::Subtree) {
    ending.kill(*member, "killed");
    return ending.take();
  }
  if (member->standing != Standing::Open) return {};
  std::vector<Consequence> out = {{.kind = Consequence::Kill, .session = session, .because = "killed"}};
  ending.ended(*member, Standing::Killed);
  for (Consequence& one : ending.take()) out.push_back(std::move(one));
  return out;
}

}  // namespace baton::workflow
