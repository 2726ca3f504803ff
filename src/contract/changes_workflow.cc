// SPDX-License-Identifier: Apache-2.0
// The comparison of plans: a workflow, without the packs of its roles.
#include <algorithm>
#include <map>

#include "contract/comparing.h"
#include "contract/describe.h"
#include "contract/words.h"

namespace baton::contract {
namespace {

using std::string;

class WorkflowComparison {
 public:
  WorkflowComparison(const WorkflowPlan& was, const WorkflowPlan& is) : was_(was), is_(is) {}

  std::vector<Change> compare() {
    if (was_.name != is_.name)
      add(Effect::Other, "workflow",
          "the workflow is called " + quoted(is_.name) + " (before: " + quoted(was_.name) + ")");
    roles();
    handoffs();
    limit("max_sessions", was_.max_sessions, is_.max_sessions);
    limit("max_active_sessions", was_.max_active_sessions, is_.max_active_sessions);
    limit("max_total_steps", was_.max_total_steps, is_.max_total_steps);
    limit("max_open_handoffs", was_.max_open_handoffs, is_.max_open_handoffs);
    limit("max_total_cost", was_.max_total_cost, is_.max_total_cost);
    shared();
    if (was_.subtree_kill != is_.subtree_kill)
      add(is_.subtree_kill ? Effect::Allows : Effect::Blocks, "cancellation",
          is_.subtree_kill ? "a session can be ended with all below it"
                           : "a session can no longer be ended with all below it");
    if (was_.operator_only_kill != is_.operator_only_kill)
      add(is_.operator_only_kill ? Effect::Blocks : Effect::Allows, "cancellation",
          is_.operator_only_kill ? "only an operator may end the whole workflow"
                                 : "not only an operator may end the whole workflow");
    if (was_.close_policy != is_.close_policy)
      add(Effect::Other, "parent_close_policy",
          "when a session ends, those below it by default get " + quoted(name_of(is_.close_policy)) +
              " (before: " + quoted(name_of(was_.close_policy)) + ")");
    if (out_.empty()) add(Effect::Other, "workflow", first_difference(described(was_), described(is_)));
    return std::move(out_);
  }

 private:
  void add(Effect effect, std::string_view field, string text) {
    out_.push_back({effect, {}, string(field), std::move(text)});
  }

  void limit(std::string_view name, const std::optional<json::Decimal>& was, const std::optional<json::Decimal>& is) {
    const Direction direction = direction_of_most(was, is);
    if (direction == Direction::Same) return;
    add(effect_of(direction), "workflow_limits",
        quoted(name) + " is " + (is ? is->text() : "none") + " (before: " + (was ? was->text() : "none") + ")");
  }
  void limit(std::string_view name, const std::optional<std::int64_t>& was, const std::optional<std::int64_t>& is) {
    const auto decimal = [](const std::optional<std::int64_t>& number) {
      return number ? std::optional(json::Decimal(*number)) : std::nullopt;
    };
    limit(name, decimal(was), decimal(is));
  }

  void roles() {
    const auto find = [](const WorkflowPlan& plan, const string& name) {
      const auto found = std::ranges::find(plan.roles, name, &WorkflowRole::name);
      return found == plan.roles.end() ? nullptr : &*found;
    };
    for (const WorkflowRole& role : was_.roles)
      if (!find(is_, role.name)) add(Effect::Blocks, "roles", "the role " + quoted(role.name) + " is gone");
    for (const WorkflowRole& role : is_.roles) {
      const WorkflowRole* before = find(was_, role.name);
      if (before == nullptr) add(Effect::Allows, "roles", "the role " + quoted(role.name) + " is new");
      else if ((before->plan ? before->plan->hash : "") != (role.plan ? role.plan->hash : ""))
        add(Effect::Other, "roles", "the pack of the role " + quoted(role.name) + " has changed");
    }
  }

  static std::map<string, const WorkflowHandoff*> edges(const WorkflowPlan& plan) {
    std::map<string, const WorkflowHandoff*> out;
    for (const WorkflowHandoff& one : plan.handoffs)
      out.emplace("from " + quoted(plan.roles[one.from].name) + " to " + quoted(plan.roles[one.to].name), &one);
    return out;
  }

  void handoffs() {
    const auto was = edges(was_), is = edges(is_);
    for (const auto& [edge, one] : was)
      if (!is.contains(edge)) add(Effect::Blocks, "handoffs", "no handoff goes " + edge + " any more");
    for (const auto& [edge, one] : is) {
      const auto found = was.find(edge);
      if (found == was.end()) {
        add(Effect::Allows, "handoffs", "a handoff may go " + edge);
        continue;
      }
      const std::set<string> old_needs(found->second->artifacts.begin(), found->second->artifacts.end()),
          needs(one->artifacts.begin(), one->artifacts.end());
      for (const string& artifact : needs)
        if (!old_needs.contains(artifact))
          add(Effect::Blocks, "handoffs", "a handoff " + edge + " needs " + quoted(artifact) + " (new)");
      for (const string& artifact : old_needs)
        if (!needs.contains(artifact))
          add(Effect::Allows, "handoffs", "a handoff " + edge + " no longer needs " + quoted(artifact));
      const ClosePolicy old_policy = found->second->close_policy.value_or(was_.close_policy),
                        policy = one->close_policy.value_or(is_.close_policy);
      if (old_policy != policy)
        add(Effect::Other, "handoffs",
            "when the session that handed over " + edge + " ends, the other gets " + quoted(name_of(policy)) +
                " (before: " + quoted(name_of(old_policy)) + ")");
    }
  }

  void shared() {
    const auto find = [](const WorkflowPlan& plan, const string& alias) {
      const auto found = std::ranges::find(plan.shared, alias, &SharedResource::alias);
      return found == plan.shared.end() ? nullptr : &*found;
    };
    for (const SharedResource& one : was_.shared)
      if (!find(is_, one.alias))
        add(Effect::Allows, "shared_resources", quoted(one.alias) + " is no longer guarded between sessions");
    for (const SharedResource& one : is_.shared) {
      const SharedResource* before = find(was_, one.alias);
      if (before == nullptr)
        add(Effect::Blocks, "shared_resources",
            quoted(one.alias) + " is guarded between sessions: " + string(name_of(one.mode)));
      else if (before->mode != one.mode)
        add(Effect::Other, "shared_resources",
            quoted(one.alias) + " is " + string(name_of(one.mode)) + " (before: " + string(name_of(before->mode)) +
                "); this may allow some calls and block others");
    }
  }

  const WorkflowPlan &was_, &is_;
  std::vector<Change> out_;
};

}  // namespace

std::vector<Change> changes_between(const WorkflowPlan& before, const WorkflowPlan& after) {
  if (before.hash == after.hash) return {};
  return WorkflowComparison(before, after).compare();
}

}  // namespace baton::contract
