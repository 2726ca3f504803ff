// SPDX-License-Identifier: Apache-2.0
#include "session/rules.h"

#include <algorithm>

#include "contract/facts.h"

namespace baton::session {
namespace {

using contract::Invariant;
using contract::PathAt;

void add_path(std::vector<PathAt>& paths, const PathAt& at) {
  if (std::ranges::find(paths, at.path, &PathAt::path) == paths.end()) paths.push_back(at);
}

class Maker {
 public:
  explicit Maker(Rules& rules) : rules_(rules), plan_(*rules.plan), workflow_(rules.workflow.get()) {}

  void make() {
    rules_.tools.resize(plan_.tools.size());
    for (ToolId id = 0; id < plan_.tools.size(); ++id) needs_of(id);
    for (ToolId id = 0; id < plan_.tools.size(); ++id) {
      told_to(id);
      rest_of(id);
      look(id);
    }
    for (ToolId id = 0; id < plan_.tools.size(); ++id) {
      rules_.tools[id].is_unremembered_read = is_unremembered_read(id);
      rules_.tools[id].is_plain_read = rules_.tools[id].is_unremembered_read && !is_guarded(id);
    }
  }

 private:
  std::uint32_t fact(ToolId id, const PathAt& at) {
    auto& paths = rules_.tools[id].paths;
    const auto found = std::ranges::find(paths, at.path, &PathAt::path);
    if (found != paths.end()) return static_cast<std::uint32_t>(found - paths.begin());
    paths.push_back(at);
    return static_cast<std::uint32_t>(paths.size() - 1);
  }

  void needs_of(ToolId id) {
    const contract::Tool& tool = plan_.tools[id];
    for (std::uint32_t i = 0; i < tool.preconditions.size(); ++i) {
      const contract::Precondition& one = tool.preconditions[i];
      ToolRules::Need need;
      if (one.prior) {
        need.watch = static_cast<std::uint32_t>(rules_.watches.size());
        rules_.watches.push_back({*one.prior, id, i, one.resource.has_value()});
        if (one.resource) need.fact = fact(id, *one.resource);
      }
      rules_.tools[id].needs.push_back(need);
    }
  }

  void told_to(ToolId id) {
    for (std::uint32_t i = 0; i < rules_.watches.size(); ++i) {
      const Watch& watch = rules_.watches[i];
      if (watch.prior != id) continue;
      const contract::Precondition& one = plan_.tools[watch.dependent].preconditions[watch.precondition];
      const std::uint32_t key =
          one.resource ? fact(id, one.prior_resource ? *one.prior_resource : *one.resource) : kNone;
      rules_.tools[id].told.push_back({i, key});
    }
  }

  void rest_of(ToolId id) {
    const contract::Tool& tool = plan_.tools[id];
    ToolRules& out = rules_.tools[id];
    for (std::uint32_t i = 0; i < tool.arguments.size(); ++i)
      if (tool.arguments[i].ref) out.refs.push_back({i, fact(id, tool.arguments[i].at)});
    for (const std::uint32_t index : tool.aggregates) {
      const auto& at = plan_.aggregates[index].at;
      out.aggregates.push_back(at ? fact(id, *at) : kNone);
    }
    for (std::uint32_t e = 0; e < plan_.envelopes.size(); ++e)
      for (std::uint32_t s = 0; s < plan_.envelopes[e].stages.size(); ++s) {
        const contract::Stage& stage = plan_.envelopes[e].stages[s];
        if (stage.tool != id) continue;
        out.stages.push_back({e, s, stage.source == contract::Source::Arguments ? fact(id, stage.at) : kNone});
      }
    for (const contract::EntityForbid& one : tool.forbids_per) out.forbids_per.push_back(fact(id, one.per));
    for (ToolId by = 0; by < plan_.tools.size(); ++by)
      for (std::uint32_t i = 0; i < plan_.tools[by].forbids_per.size(); ++i)
        if (plan_.tools[by].forbids_per[i].tool == id)
          out.bars.push_back({by, i, fact(id, plan_.tools[by].forbids_per[i].target_per)});
    for (const contract::Bind& bind : tool.binds)
      out.binds.push_back(bind.source == contract::Source::Arguments ? fact(id, bind.at) : kNone);
    if (workflow_ == nullptr) return;
    for (std::uint32_t i = 0; i < workflow_->shared.size(); ++i) {
      const auto resource = std::ranges::find(plan_.resources, workflow_->shared[i].alias, &contract::Resource::name);
      if (resource != plan_.resources.end()) out.shared.push_back({i, fact(id, resource->at)});
    }
    std::ranges::sort(out.shared, {}, [&](const ToolRules::Shared& one) -> const std::string& {
      return workflow_->shared[one.resource].alias;
    });
  }

  bool is_unremembered_read(ToolId id) const {
    const contract::Tool& tool = plan_.tools[id];
    const ToolRules& own = rules_.tools[id];
    return !contract::is_mutating(tool.side_effect) && tool.binds.empty() && tool.aggregates.empty() &&
           tool.envelopes.empty() && own.stages.empty() && own.told.empty() && !tool.advances_to &&
           tool.forbids.empty() && tool.forbids_per.empty() && !plan_.limits.max_calls.contains(id) &&
           !tool.checkpoint && tool.checkpoints.empty();
  }

  bool is_guarded(ToolId id) const {
    const contract::Tool& tool = plan_.tools[id];
    return !tool.preconditions.empty() || !tool.label_gates.empty() || !rules_.tools[id].bars.empty() ||
           std::ranges::any_of(plan_.tools, [&](const contract::Tool& other) {
             return std::ranges::find(other.forbids, id) != other.forbids.end();
           });
  }

  void look(ToolId id) {
    const contract::Tool& tool = plan_.tools[id];
    ToolRules& out = rules_.tools[id];
    out.looked_at = out.paths;
    const auto add_all = [&](const std::vector<Invariant>& list, std::vector<PathAt>& to) {
      for (const Invariant& one : list)
        if (one.scope == contract::Scope::Call) add_path(to, one.at);
    };
    add_all(tool.arguments, out.looked_at);
    add_all(tool.input_assertions, out.looked_at);
    add_all(tool.execution_constraints, out.looked_at);
    const auto add_checkpoint = [&](const contract::Checkpoint& checkpoint) {
      add_all(checkpoint.conditions, out.looked_at);
      for (const auto& shown : checkpoint.context) add_path(out.looked_at, shown.at);
    };
    if (tool.checkpoint) add_checkpoint(*tool.checkpoint);
    for (const std::uint32_t index : tool.checkpoints) add_checkpoint(plan_.checkpoints[index]);
    if (tool.command_path) add_path(out.looked_at, *tool.command_path);
    for (const contract::Resource& resource : plan_.resources) add_path(out.looked_at, resource.at);
    out.reads_facts =
        std::ranges::any_of(out.looked_at, [&](const PathAt& at) { return contract::reads_fact(tool.name, at.path); });

    for (const Invariant& one : tool.input_assertions)
      if (one.scope == contract::Scope::Boundary) add_path(out.request_paths, one.at);
    for (const Invariant& one : tool.output_assertions)
      if (one.scope == contract::Scope::Boundary) add_path(out.response_paths, one.at);

    add_all(tool.output_assertions, out.output_paths);
    for (const auto& told : out.told) {
      const Watch& watch = rules_.watches[told.watch];
      add_all(plan_.tools[watch.dependent].preconditions[watch.precondition].with_output, out.output_paths);
    }
    for (const contract::Bind& bind : tool.binds)
      if (bind.source == contract::Source::Output) add_path(out.output_paths, bind.at);
    for (const auto& stage : out.stages)
      if (stage.fact == kNone) add_path(out.output_paths, plan_.envelopes[stage.envelope].stages[stage.stage].at);
  }

  Rules& rules_;
  const Plan& plan_;
  const contract::WorkflowPlan* const workflow_;
};

}  // namespace

std::shared_ptr<const Rules> make_rules(std::shared_ptr<const Plan> plan,
                                        std::shared_ptr<const contract::WorkflowPlan> workflow) {
  auto out = std::make_shared<Rules>();
  out->plan = std::move(plan);
  out->workflow = std::move(workflow);
  Maker(*out).make();
  return out;
}

}  // namespace baton::session
