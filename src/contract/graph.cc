// SPDX-License-Identifier: Apache-2.0
#include "contract/graph.h"

#include <algorithm>
#include <array>
#include <set>

#include "contract/bounds.h"
#include "contract/reach.h"

namespace baton::contract {
namespace {

// The checks that a suppression can name.
constexpr std::array kChecks = {Code::aggregate_negative_escape,
                                Code::aggregate_unsatisfiable,
                                Code::aggregate_when_shadowed,
                                Code::aggregate_when_tightens_on_optional_binding,
                                Code::bind_after_use,
                                Code::bind_unused,
                                Code::checkpoint_never_fires,
                                Code::checkpoint_shadowed,
                                Code::dead_tool,
                                Code::envelope_self_reference,
                                Code::envelope_stage_impossible,
                                Code::forbids_blocks_terminal,
                                Code::forbids_precondition_conflict,
                                Code::graph_undecided,
                                Code::label_gate_unknown_tool,
                                Code::limit_conflict,
                                Code::missing_checkpoint_high_risk,
                                Code::partially_illegal_advance,
                                Code::phase_no_exit,
                                Code::policy_allow_deny_overlap,
                                Code::precondition_cycle,
                                Code::precondition_output_contradiction,
                                Code::precondition_phase_order,
                                Code::ref_never_bound,
                                Code::ref_without_precondition,
                                Code::resource_unused,
                                Code::retry_on_high_risk,
                                Code::terminal_unreachable_by_tools,
                                Code::unreachable_phase};

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

std::string quoted_list(const auto& names) {
  std::string out;
  for (const auto& name : names) out.append(out.empty() ? "" : ", ").append(quoted(name));
  return out;
}

// Comparisons that the checks between entries may take together: some tenths of a second.
constexpr std::size_t kComparisonsMax = 20'000'000;

// What a finding is about.
struct Subject {
  std::string tool = {}, phase = {}, name = {};
};

class Analyser {
 public:
  Analyser(const Plan& plan, std::string_view session_file, const GraphBudget& budget)
      : plan_(plan),
        session_file_(session_file),
        budget_(budget),
        graph_(plan),
        reach_(reach_of(graph_)),
        walk_(graph_, reach_, Walk::Forbids::Count, budget.states) {}

  Analysis run() {
    for (ToolId id = 0; id < plan_.tools.size(); ++id)
      for (const Bind& bind : plan_.tools[id].binds)
        if (!binders_[bind.slot]) binders_[bind.slot] = id;
    if (!reach_.complete) {
      undecided("which tools can be called");
    } else {
      check_tools();
      check_phases();
      check_end();
      check_preconditions();
      check_slots();
      check_envelopes();
      check_high_risk();
    }
    check_forbids();
    check_advances();
    check_aggregates();
    check_checkpoints();
    check_limits();
    check_policy();
    check_outputs();
    check_resources();
    return suppress();
  }

 private:
  // --- reporting ------------------------------------------------------------------------------------------------------------

  Finding& add(Code code, Subject subject, std::initializer_list<Argument> arguments,
               std::vector<std::string> calls = {}) {
    Finding finding{std::string(session_file_), report(code, {}, arguments)};
    if (const auto tool = subject.tool.empty() ? std::nullopt : plan_.find_tool(subject.tool))
      finding.file = plan_.tools[*tool].file;
    finding.tool = std::move(subject.tool);
    finding.phase = std::move(subject.phase);
    finding.name = std::move(subject.name);
    finding.calls = std::move(calls);
    return findings_.emplace_back(std::move(finding));
  }

  void undecided(std::string_view what) {
    if (!undecided_.insert(std::string(what)).second) return;
    add(Code::graph_undecided, {}, {{"check", what}, {"states", std::to_string(budget_.states)}}).is_undecided = true;
  }

  std::vector<std::string> calls_to_phase(PhaseId phase) const {
    return walk_.to_phase(phase).value_or(std::vector<std::string>());
  }
  std::vector<std::string> calls_of(ToolId tool) const {
    return walk_.to_call(tool).value_or(std::vector<std::string>());
  }
  const std::string& name(ToolId tool) const { return plan_.tools[tool].name; }

  // Where a tool could be called if nothing but the phase counted.
  PhaseSet places_of(ToolId tool) const {
    PhaseSet out = graph_.tools[tool].domain;
    out.keep(reach_.phases);
    return out;
  }

  // The checks that compare one with another, or a rule with every tool, take a share of what a pack may cost. False: it is used up.
  bool spend(std::size_t work, std::string_view what) {
    work_ += work;
    if (work_ <= kComparisonsMax) return true;
    undecided(what);
    return false;
  }

  // --- tools ------------------------------------------------------------------------------------------------------------------

  void check_tools() {
    for (ToolId id = 0; id < plan_.tools.size(); ++id)
      if (!reach_.can_call(id))
        add(Code::dead_tool, {.tool = name(id)}, {{"tool", name(id)}, {"cause", cause_of_death(id)}});
  }

  std::string cause_of_death(ToolId id) const {
    const Tool& tool = plan_.tools[id];
    if (!tool.passes_gate)
      return tool.gate ? "its gate is `block`"
                       : "risk_defaults blocks " + std::string(name_of(tool.side_effect)) +
                             " tools, and it has no gate of its own";
    if (plan_.limits.max_steps && graph_.tools[id].steps >= *plan_.limits.max_steps)
      return "it requires " + std::to_string(graph_.tools[id].steps) + " steps before it, and max_steps is " +
             std::to_string(*plan_.limits.max_steps);
    if (!graph_.tools[id].admitted) return "default_deny denies it to everybody: no rule allows it";
    if (graph_.tools[id].domain.empty()) return "it is valid in no phase from which its advance is legal";
    if (places_of(id).empty()) return "none of its phases can be reached";
    for (const Graph::Need& need : graph_.tools[id].needs) {
      PhaseSet met(graph_.phases);
      bool any = false;
      for (const ToolId other : need.any_of) {
        any = any || reach_.can_call(other);
        met.add(reach_.since[other]);
      }
      if (any && met.intersects(places_of(id))) continue;
      const std::string others = need.any_of.empty() ? std::string("nothing") : quoted_list(names_of(need.any_of));
      const std::string state = any ? " can only be called too late" : " can never be called";
      switch (need.kind) {
        case Graph::Need::Kind::Prior: return "it requires " + others + ", which" + state;
        case Graph::Need::Kind::Ref:
          return "it needs the slot " + quoted(plan_.slots[need.index]) + ", and " + others + state;
        case Graph::Need::Kind::Envelope:
          return "the envelope " + quoted(plan_.envelopes[need.index].name) + " has no reference: " + others + state;
      }
    }
    return "what it needs cannot all have happened in one of its phases";
  }

  std::vector<std::string> names_of(const std::vector<ToolId>& tools) const {
    std::vector<std::string> out;
    for (const ToolId tool : tools) out.push_back(name(tool));
    return out;
  }

  void check_high_risk() {
    for (ToolId id = 0; id < plan_.tools.size(); ++id) {
      const Tool& tool = plan_.tools[id];
      if (!is_high_risk(tool.side_effect) || !reach_.can_call(id)) continue;
      const std::string_view effect = name_of(tool.side_effect);
      if (!is_guarded(id))
        add(Code::missing_checkpoint_high_risk, {.tool = tool.name}, {{"tool", tool.name}, {"effect", effect}},
            calls_of(id));
      if (tool.retries.max_attempts > 1)
        add(Code::retry_on_high_risk, {.tool = tool.name},
            {{"tool", tool.name}, {"effect", effect}, {"attempts", std::to_string(tool.retries.max_attempts)}},
            calls_of(id));
    }
  }

  static bool applies(const Checkpoint& checkpoint, const Tool& tool) {
    return !checkpoint.side_effect || *checkpoint.side_effect == tool.side_effect;
  }
  bool is_guarded(ToolId id) const {
    const Tool& tool = plan_.tools[id];
    return (tool.checkpoint && applies(*tool.checkpoint, tool)) ||
           std::ranges::any_of(tool.checkpoints,
                               [&](std::uint32_t one) { return applies(plan_.checkpoints[one], tool); });
  }

  void check_advances() {
    for (const Tool& tool : plan_.tools) {
      if (!tool.advances_to || plan_.phases.empty()) continue;
      std::vector<std::string> illegal;
      bool legal = false;
      tool.valid_in.each([&](PhaseId phase) {
        if (plan_.is_legal(phase, *tool.advances_to)) legal = true;
        else illegal.push_back(plan_.phases[phase].name);
      });
      if (legal && !illegal.empty())
        add(Code::partially_illegal_advance, {.tool = tool.name},
            {{"tool", tool.name}, {"phases", quoted_list(illegal)}, {"phase", plan_.phases[*tool.advances_to].name}});
    }
  }

  // --- phases -----------------------------------------------------------------------------------------------------------------

  void check_phases() {
    if (plan_.phases.empty() || !plan_.initial) return;
    // What the transitions would allow.
    PhaseSet allowed(graph_.phases);
    std::vector<PhaseId> open = {*plan_.initial};
    allowed.add(*plan_.initial);
    while (!open.empty()) {
      const PhaseId phase = open.back();
      open.pop_back();
      plan_.phases[phase].next.each([&](PhaseId next) {
        if (allowed.add(next)) open.push_back(next);
      });
    }
    PhaseSet leaves(graph_.phases);
    for (ToolId id = 0; id < plan_.tools.size(); ++id)
      reach_.callable[id].each([&](PhaseId phase) {
        if (graph_.after(id, phase) != phase) leaves.add(phase);
      });
    for (PhaseId phase = 0; phase < plan_.phases.size(); ++phase) {
      const std::string& phase_name = plan_.phases[phase].name;
      if (!reach_.phases.has(phase)) {
        if (allowed.has(phase))
          add(Code::unreachable_phase, {.phase = phase_name}, {{"phase", phase_name}}, closest_to(phase));
      } else if (!plan_.phases[phase].terminal && !leaves.has(phase)) {
        add(Code::phase_no_exit, {.phase = phase_name}, {{"phase", phase_name}}, calls_to_phase(phase));
      }
    }
  }

  // The calls to a phase from which a transition would lead there.
  std::vector<std::string> closest_to(PhaseId phase) const {
    std::optional<std::vector<std::string>> best;
    for (PhaseId from = 0; from < plan_.phases.size(); ++from) {
      if (!plan_.phases[from].next.has(phase)) continue;
      auto calls = walk_.to_phase(from);
      if (calls && (!best || calls->size() < best->size())) best = std::move(calls);
    }
    return best.value_or(std::vector<std::string>());
  }

  void check_end() {
    if (plan_.phases.empty() || !plan_.initial || walk_.reaches_terminal()) return;
    const std::vector<std::string> stuck = walk_.to_dead_end().value_or(std::vector<std::string>());
    bool broadly = false;
    reach_.phases.each([&](PhaseId phase) { broadly = broadly || plan_.phases[phase].terminal; });
    if (!broadly) {
      add(Code::terminal_unreachable_by_tools, {}, {}, stuck);
      return;
    }
    // Too many orders of calls to go through one by one: what can be reached is the same without most of them.
    const auto calls = walk_.complete() ? Walk::Calls::Single : Walk::Calls::Together;
    if (!walk_.complete()) {
      const Walk together(graph_, reach_, Walk::Forbids::Count, budget_.states, calls);
      if (together.reaches_terminal()) return;
      if (!together.complete()) return undecided("whether a session can end");
    }
    const Walk free(graph_, reach_, Walk::Forbids::Ignored, budget_.states, calls);
    if (free.reaches_terminal()) {
      const auto way = *free.to_terminal();
      add(Code::forbids_blocks_terminal, {}, {{"cause", blocked_on(way)}}, stuck);
    } else if (free.complete()) {
      add(Code::terminal_unreachable_by_tools, {}, {}, stuck);
    } else {
      undecided("whether a session can end");
    }
  }

  // On a way that would lead to an end: which call forbids which later one.
  std::string blocked_on(const std::vector<std::string>& way) const {
    for (std::size_t later = 0; later < way.size(); ++later)
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        const auto by = plan_.find_tool(way[earlier]), of = plan_.find_tool(way[later]);
        if (by && of && std::ranges::find(plan_.tools[*by].forbids, *of) != plan_.tools[*by].forbids.end())
          return quoted(way[earlier]) + " forbids " + quoted(way[later]);
      }
    return "what is needed is forbidden before";
  }

  // --- what must come before ----------------------------------------------------------------------------------------------------

  void check_preconditions() {
    for (ToolId id = 0; id < plan_.tools.size(); ++id) {
      std::set<ToolId> seen;
      for (const Precondition& precondition : plan_.tools[id].preconditions) {
        if (!precondition.prior || !seen.insert(*precondition.prior).second) continue;
        const ToolId prior = *precondition.prior;
        if (!reach_.can_call(prior) || places_of(id).empty() || !graph_.tools[id].admitted) continue;
        if (!reach_.since[prior].intersects(places_of(id)))
          add(Code::precondition_phase_order, {.tool = name(id)}, {{"tool", name(id)}, {"prior", name(prior)}},
              calls_of(prior));
      }
    }
    check_cycles();
  }

  // Strongly connected tools of requires_prior_tool, by Tarjan's algorithm without recursion.
  void check_cycles() {
    const std::size_t count = plan_.tools.size();
    std::vector<std::vector<ToolId>> priors(count);
    for (ToolId id = 0; id < count; ++id)
      for (const Precondition& one : plan_.tools[id].preconditions)
        if (one.prior) priors[id].push_back(*one.prior);
    std::vector<std::size_t> order(count, SIZE_MAX), low(count);
    std::vector<bool> on_stack(count);
    std::vector<ToolId> stack;
    std::size_t next = 0;
    struct Frame {
      ToolId tool;
      std::size_t edge;
    };
    for (ToolId root = 0; root < count; ++root) {
      if (order[root] != SIZE_MAX) continue;
      std::vector<Frame> frames = {{root, 0}};
      while (!frames.empty()) {
        Frame& frame = frames.back();
        const ToolId tool = frame.tool;
        if (frame.edge == 0) {
          order[tool] = low[tool] = next++;
          stack.push_back(tool);
          on_stack[tool] = true;
        }
        if (frame.edge < priors[tool].size()) {
          const ToolId prior = priors[tool][frame.edge++];
          if (order[prior] == SIZE_MAX) frames.push_back({prior, 0});
          else if (on_stack[prior]) low[tool] = std::min(low[tool], order[prior]);
          continue;
        }
        if (low[tool] == order[tool]) {
          std::vector<ToolId> members;
          do {
            members.push_back(stack.back());
            on_stack[stack.back()] = false;
            stack.pop_back();
          } while (members.back() != tool);
          const bool itself = std::ranges::find(priors[tool], tool) != priors[tool].end();
          if (members.size() > 1 || itself) {
            std::ranges::sort(members);
            add(Code::precondition_cycle, {.tool = name(members.front())}, {{"tools", quoted_list(names_of(members))}},
                names_of(members));
          }
        }
        frames.pop_back();
        if (!frames.empty()) low[frames.back().tool] = std::min(low[frames.back().tool], low[tool]);
      }
    }
  }

  void check_forbids() {
    for (ToolId id = 0; id < plan_.tools.size(); ++id)
      for (const Precondition& precondition : plan_.tools[id].preconditions) {
        if (!precondition.prior) continue;
        const auto& forbids = plan_.tools[*precondition.prior].forbids;
        if (std::ranges::find(forbids, id) != forbids.end())
          add(Code::forbids_precondition_conflict, {.tool = name(id)},
              {{"tool", name(id)}, {"prior", name(*precondition.prior)}}, {name(*precondition.prior), name(id)});
      }
  }

  // Do two preconditions on the same tool look at the same call of it?
  static bool is_of_same_call(const Precondition& left, const Precondition& right) {
    if (!left.resource || !right.resource) return !left.resource && !right.resource;
    return left.resource->path == right.resource->path && left.prior_resource && right.prior_resource &&
           left.prior_resource->path == right.prior_resource->path;
  }

  void check_outputs() {
    for (const Tool& tool : plan_.tools) {
      std::size_t asked_for = 0;  // of outputs
      for (const Precondition& one : tool.preconditions) asked_for += one.with_output.size();
      for (const Precondition& one : tool.preconditions) {
        if (!one.prior) continue;
        if (!spend(one.with_output.size() * (asked_for + tool.preconditions.size()),
                   "outputs that preconditions ask for"))
          return;
        const Tool& prior = plan_.tools[*one.prior];
        for (const Invariant& invariant : one.with_output) {
          Possible possible;
          std::string cause;
          if (prior.output_schema) {
            possible = possible_in_schema(*prior.output_schema, invariant.at.path);
            if (!possible.never && !possible.can_pass(invariant.tests))
              cause = "its output schema does not have such a value at " + invariant.at.text;
          }
          // With everything else that is asked of the same output: they all look at its latest call.
          Possible asked;
          for (const Precondition& other : tool.preconditions)
            if (other.prior == one.prior && is_of_same_call(other, one))
              for (const Invariant& also : other.with_output)
                if (also.at.path == invariant.at.path) asked.narrow(also.tests);
          if (asked.never) cause = "what is asked of " + invariant.at.text + " contradicts itself";
          if (cause.empty()) continue;
          add(Code::precondition_output_contradiction, {.tool = tool.name},
              {{"tool", tool.name}, {"prior", prior.name}, {"cause", cause}});
          break;
        }
      }
    }
  }

  // --- slots ------------------------------------------------------------------------------------------------------------------

  // Does every call of `id` come after one of `prior`? By a precondition, or by those of what it requires.
  bool requires_tool(ToolId id, ToolId prior) const {
    std::vector<bool> seen(plan_.tools.size());
    std::vector<ToolId> open = {id};
    seen[id] = true;
    while (!open.empty()) {
      const ToolId tool = open.back();
      open.pop_back();
      for (const Precondition& one : plan_.tools[tool].preconditions) {
        if (!one.prior) continue;
        if (*one.prior == prior) return true;
        if (seen[*one.prior]) continue;
        seen[*one.prior] = true;
        open.push_back(*one.prior);
      }
    }
    return false;
  }

  std::optional<ToolId> binder_of(SlotId slot) const { return binders_[slot]; }

  void check_slots() {
    std::vector<bool> used(plan_.slots.size());
    for (const Aggregate& aggregate : plan_.aggregates)
      for (const Aggregate::When& when : aggregate.when) used[when.slot] = true;
    for (ToolId id = 0; id < plan_.tools.size(); ++id) {
      std::set<SlotId> seen;
      for (const Invariant& invariant : plan_.tools[id].arguments) {
        if (!invariant.ref) continue;
        used[*invariant.ref] = true;
        const auto binder = binder_of(*invariant.ref);
        if (!binder || !seen.insert(*invariant.ref).second) continue;
        const std::string& slot = plan_.slots[*invariant.ref];
        const Subject subject{.tool = name(id), .name = slot};
        if (!reach_.can_call(*binder)) {
          add(Code::ref_never_bound, subject, {{"tool", name(id)}, {"slot", slot}, {"binder", name(*binder)}});
          continue;
        }
        if (!places_of(id).empty() && !reach_.since[*binder].intersects(places_of(id)))
          add(Code::bind_after_use, subject, {{"tool", name(id)}, {"slot", slot}, {"binder", name(*binder)}},
              calls_of(*binder));
        if (*binder != id && !requires_tool(id, *binder))
          add(Code::ref_without_precondition, subject, {{"tool", name(id)}, {"slot", slot}, {"binder", name(*binder)}});
      }
    }
    for (SlotId slot = 0; slot < plan_.slots.size(); ++slot)
      if (!used[slot]) {
        const auto binder = binder_of(slot);
        add(Code::bind_unused, {.tool = binder ? name(*binder) : std::string(), .name = plan_.slots[slot]},
            {{"slot", plan_.slots[slot]}});
      }
  }

  // --- aggregates and envelopes ---------------------------------------------------------------------------------------------------

  std::vector<ToolId> tools_of(const Aggregate& aggregate) const {
    if (!aggregate.all_tools) return aggregate.tools;
    std::vector<ToolId> all;
    for (ToolId id = 0; id < plan_.tools.size(); ++id) all.push_back(id);
    return all;
  }

  void check_aggregates() {
    for (const Aggregate& aggregate : plan_.aggregates) {
      if (const std::string cause = impossible(aggregate); !cause.empty()) {
        std::vector<std::string> calls;
        if (!aggregate.all_tools && !aggregate.tools.empty()) calls = calls_of(aggregate.tools.front());
        add(Code::aggregate_unsatisfiable, {.name = aggregate.name}, {{"name", aggregate.name}, {"cause", cause}},
            std::move(calls));
      }
      check_escape(aggregate);
      check_when(aggregate);
    }
  }

  // Why no first call could be within the bounds; empty when one could, or when other bounds may apply.
  std::string impossible(const Aggregate& aggregate) {
    const json::Decimal one(1);
    for (const Aggregate::When& when : aggregate.when) {
      const bool lower = when.then.gte && aggregate.bounds.gte && *when.then.gte < *aggregate.bounds.gte;
      const bool higher = when.then.lte && aggregate.bounds.lte && *when.then.lte > *aggregate.bounds.lte;
      if (lower || higher) return {};
    }
    const auto& [gte, lte] = aggregate.bounds;
    if (aggregate.metric == Metric::Count || aggregate.metric == Metric::CountDistinct) {
      if (gte && *gte > one) return "the first call counts 1, and " + gte->text() + " is required";
      if (lte && *lte < one) return "the first call counts 1, and at most " + lte->text() + " is allowed";
      return {};
    }
    if (!aggregate.at || aggregate.all_tools || aggregate.tools.empty()) return {};
    // With one call the sum, the maximum and the minimum are that call's value. Where an earlier call of another tool can lift a
    // sum or a maximum, or lower a minimum or a sum, it takes all tools to make it impossible.
    std::string low, high;
    std::size_t too_low = 0, too_high = 0;
    bool can_fall = false;
    for (const ToolId id : aggregate.tools) {
      if (!spend(plan_.tools[id].arguments.size() + 1, "bounds of aggregates")) return {};
      const Possible value = possible_at(plan_.tools[id], aggregate.at->path);
      can_fall = can_fall || !value.least || *value.least < json::Decimal(0);
      if (gte && value.most && *value.most < *gte && too_low++ == 0)
        low = quoted(name(id)) + " takes at most " + value.most->text() + " at " + aggregate.at->text + ", and " +
              gte->text() + " is required";
      if (lte && value.least && *value.least > *lte && too_high++ == 0)
        high = quoted(name(id)) + " takes at least " + value.least->text() + " at " + aggregate.at->text +
               ", and at most " + lte->text() + " is allowed";
    }
    const std::size_t all = aggregate.tools.size();
    const bool others_lift = aggregate.metric != Metric::Min;
    const bool others_lower = aggregate.metric == Metric::Min || (aggregate.metric == Metric::Sum && can_fall);
    if (too_low > 0 && (too_low == all || !others_lift)) return low;
    if (too_high > 0 && (too_high == all || !others_lower)) return high;
    return {};
  }

  void check_escape(const Aggregate& aggregate) {
    if (aggregate.metric != Metric::Sum || !aggregate.bounds.lte || !aggregate.at) return;
    for (const ToolId id : tools_of(aggregate)) {
      if (!spend(plan_.tools[id].arguments.size() + 1, "negative values in aggregates")) return;
      const Possible value = possible_at(plan_.tools[id], aggregate.at->path);
      if (value.least && *value.least >= json::Decimal(0)) continue;
      if (value.among && std::ranges::all_of(*value.among, [](const json::Value& one) {
            return one.kind() != json::Kind::Number ||
                   json::Decimal::from_number(one.number_text()) >= json::Decimal(0);
          }))
        continue;
      add(Code::aggregate_negative_escape, {.tool = name(id), .name = aggregate.name},
          {{"path", aggregate.at->text}, {"name", aggregate.name}}, calls_of(id));
      if (aggregate.all_tools) break;  // one that shows it is enough
    }
  }

  void check_when(const Aggregate& aggregate) {
    for (std::size_t later = 0; later < aggregate.when.size(); ++later) {
      if (!spend(later + plan_.tools.size(), "conditional bounds of aggregates")) return;
      const Aggregate::When& when = aggregate.when[later];
      const bool shadowed =
          std::any_of(aggregate.when.begin(), aggregate.when.begin() + static_cast<std::ptrdiff_t>(later),
                      [&](const Aggregate::When& earlier) {
                        return earlier.slot == when.slot &&
                               (implies(when.tests, earlier.tests) || same_tests(when.tests, earlier.tests));
                      });
      if (shadowed) add(Code::aggregate_when_shadowed, {.name = aggregate.name}, {{"name", aggregate.name}});
      const auto& [gte, lte] = aggregate.bounds;
      const bool tightens =
          (when.then.lte && (!lte || *when.then.lte < *lte)) || (when.then.gte && (!gte || *when.then.gte > *gte));
      const auto binder = binder_of(when.slot);
      if (!tightens || !binder) continue;
      for (const ToolId id : tools_of(aggregate)) {
        if (requires_tool(id, *binder)) continue;
        add(Code::aggregate_when_tightens_on_optional_binding, {.tool = name(id), .name = aggregate.name},
            {{"name", aggregate.name}, {"slot", plan_.slots[when.slot]}, {"binder", name(*binder)}});
        break;
      }
    }
  }

  void check_envelopes() {
    for (ToolId id = 0; id < plan_.tools.size(); ++id)
      for (const Graph::Need& need : graph_.tools[id].needs) {
        if (need.kind != Graph::Need::Kind::Envelope || !graph_.tools[id].admitted || places_of(id).empty()) continue;
        PhaseSet met(graph_.phases);
        for (const ToolId other : need.any_of) met.add(reach_.since[other]);
        if (met.intersects(places_of(id))) continue;
        const Envelope& envelope = plan_.envelopes[need.index];
        const std::string reference = need.any_of.empty() ? std::string(name_of(need.role)) : name(need.any_of.front());
        add(Code::envelope_stage_impossible, {.tool = name(id), .name = envelope.name},
            {{"name", envelope.name}, {"tool", name(id)}, {"reference", reference}});
      }
    for (const Envelope& envelope : plan_.envelopes)
      for (const Stage& stage : envelope.stages) {
        if (stage.role == Role::Constrained || stage.source == Source::Output || is_guarded(stage.tool)) continue;
        std::vector<std::string> calls = {name(stage.tool)};
        for (const Stage& other : envelope.stages)
          if (other.role == Role::Constrained) {
            calls.push_back(name(other.tool));
            break;
          }
        add(Code::envelope_self_reference, {.tool = name(stage.tool), .name = envelope.name},
            {{"name", envelope.name}, {"tool", name(stage.tool)}}, std::move(calls));
      }
  }

  // --- checkpoints ----------------------------------------------------------------------------------------------------------------

  // A value that is absent, or that cannot be compared, counts as one that meets the condition.
  static bool can_be_met(const Invariant& condition, const Tool& tool) {
    const json::Path& path = condition.at.path;
    const bool compares =
        std::ranges::any_of(condition.tests, [](const Test& test) { return test.op == Op::Gte || test.op == Op::Lte; });
    if (!must_be_there(tool, path) || (compares && !must_be_number(tool, path))) return true;
    return possible_at(tool, path).can_pass(condition.tests);
  }

  // Why a checkpoint never fires for a tool; empty when it may.
  std::string never_fires(const Checkpoint& checkpoint, ToolId id) {
    const Tool& tool = plan_.tools[id];
    if (!spend(checkpoint.conditions.size() * (tool.arguments.size() + 1) + 1, "whether checkpoints fire")) return {};
    if (!applies(checkpoint, tool))
      return quoted(tool.name) + " is " + std::string(name_of(tool.side_effect)) + ", not " +
             std::string(name_of(*checkpoint.side_effect));
    if (reach_.complete && !reach_.can_call(id)) return quoted(tool.name) + " can never be called";
    // An absent value fires the checkpoint, so only what also refuses absent values keeps it from firing.
    std::size_t impossible = 0;
    for (const Invariant& condition : checkpoint.conditions)
      if (!can_be_met(condition, tool)) ++impossible;
    const bool never = !checkpoint.conditions.empty() &&
                       (checkpoint.match_all ? impossible > 0 : impossible == checkpoint.conditions.size());
    return never ? "the arguments of " + quoted(tool.name) + " cannot be so" : std::string();
  }

  void check_checkpoints() {
    for (ToolId id = 0; id < plan_.tools.size(); ++id) {
      const Tool& tool = plan_.tools[id];
      if (!tool.checkpoint) continue;
      if (const std::string cause = never_fires(*tool.checkpoint, id); !cause.empty())
        add(Code::checkpoint_never_fires, {.tool = tool.name}, {{"name", "of " + quoted(tool.name)}, {"cause", cause}});
    }
    for (std::size_t i = 0; i < plan_.checkpoints.size(); ++i) {
      const Checkpoint& checkpoint = plan_.checkpoints[i];
      std::string cause = plan_.tools.empty() ? "the pack has no tools" : "";
      bool fires = false;
      for (ToolId id = 0; id < plan_.tools.size() && !fires; ++id) {
        if (checkpoint.tool && *checkpoint.tool != id) continue;
        const std::string here = never_fires(checkpoint, id);
        fires = here.empty();
        if (cause.empty()) cause = here;
      }
      if (!fires) {
        if (!checkpoint.tool && !plan_.tools.empty()) cause = "no tool that can be called is meant by it";
        add(Code::checkpoint_never_fires, {.name = checkpoint.name},
            {{"name", quoted(checkpoint.name)}, {"cause", cause}});
        continue;
      }
      if (const std::string by = shadow_of(i); !by.empty())
        add(Code::checkpoint_shadowed, {.name = checkpoint.name}, {{"name", checkpoint.name}, {"cause", by}});
    }
  }

  // Does `wide` ask for an approval whenever `narrow` does, at least as strictly and showing as much?
  static bool covers(const Checkpoint& wide, const Checkpoint& narrow) {
    if (wide.side_effect && wide.side_effect != narrow.side_effect) return false;
    if (!wide.conditions.empty()) {
      if (wide.conditions.size() != narrow.conditions.size() ||
          (wide.conditions.size() > 1 && wide.match_all != narrow.match_all))
        return false;
      for (std::size_t i = 0; i < wide.conditions.size(); ++i)
        if (!(wide.conditions[i].at.path == narrow.conditions[i].at.path) ||
            !implies(narrow.conditions[i].tests, wide.conditions[i].tests))
          return false;
    }
    if (wide.timeout_seconds > narrow.timeout_seconds || (wide.allow_on_timeout && !narrow.allow_on_timeout))
      return false;
    return std::ranges::all_of(narrow.context, [&](const Checkpoint::Shown& shown) {
      return std::ranges::any_of(wide.context,
                                 [&](const Checkpoint::Shown& other) { return other.at.path == shown.at.path; });
    });
  }

  std::string shadow_of(std::size_t index) {
    const Checkpoint& checkpoint = plan_.checkpoints[index];
    if (!spend(plan_.checkpoints.size() * (checkpoint.conditions.size() + 1), "whether checkpoints add something"))
      return {};
    if (checkpoint.tool && plan_.tools[*checkpoint.tool].checkpoint &&
        covers(*plan_.tools[*checkpoint.tool].checkpoint, checkpoint))
      return "that of " + quoted(name(*checkpoint.tool)) + " fires whenever it does";
    for (std::size_t i = 0; i < plan_.checkpoints.size(); ++i) {
      const Checkpoint& other = plan_.checkpoints[i];
      if (i == index || (other.tool && other.tool != checkpoint.tool) || !covers(other, checkpoint)) continue;
      if (i > index && covers(checkpoint, other) && checkpoint.tool == other.tool)
        continue;  // of two equals the later adds nothing
      return quoted(other.name) + " fires whenever it does";
    }
    return {};
  }

  // --- limits, policy, labels, resources --------------------------------------------------------------------------------------------

  void check_limits() {
    const Limits& limits = plan_.limits;
    for (const auto& [tool, count] : limits.max_calls)
      if (limits.max_tool_calls && count > *limits.max_tool_calls)
        add(Code::limit_conflict, {.tool = name(tool), .name = "max_calls_per_tool"},
            {{"cause", quoted(name(tool)) + " may be called " + std::to_string(count) +
                           " times, and all tools together " + std::to_string(*limits.max_tool_calls)}});
    if (plan_.phases.empty()) return;
    const auto calls = walk_.steps_to_terminal();
    if (!calls) return;
    const auto conflict = [&](std::string_view limit, const std::optional<std::int64_t>& most, std::size_t needed,
                              std::string_view unit) {
      if (!most || static_cast<std::int64_t>(needed) <= *most) return;
      const std::string cause = "the shortest way to an end takes " + std::to_string(needed) + " " + std::string(unit) +
                                ", and " + std::string(limit) + " is " + std::to_string(*most);
      add(Code::limit_conflict, {.name = std::string(limit)}, {{"cause", cause}}, *walk_.to_terminal())
          .diagnostic.severity = Severity::Error;
    };
    if (limits.max_steps) conflict("max_steps", limits.max_steps, steps_to_end(graph_).value_or(0), "steps");
    conflict("max_tool_calls", limits.max_tool_calls, *calls, "calls");
  }

  static bool same_principals(const Invariant& left, const Invariant& right) {
    return left.at.path == right.at.path && same_tests(left.tests, right.tests);
  }

  void check_policy() {
    for (const LabelGate& gate : plan_.label_gates)
      for (const std::string& tool : gate.unknown)
        add(Code::label_gate_unknown_tool, {.tool = tool, .name = gate.label}, {{"tool", tool}, {"label", gate.label}});
    const auto meet = [](const Rule& left, const Rule& right) {
      return left.all_tools || right.all_tools || std::ranges::any_of(left.tools, [&](ToolId tool) {
               return std::ranges::find(right.tools, tool) != right.tools.end();
             });
    };
    for (const Rule& allow : plan_.rules) {
      if (!spend(plan_.rules.size() * (allow.tools.size() + 1), "policies that contradict each other")) return;
      if (allow.allows && std::ranges::any_of(plan_.rules, [&](const Rule& deny) {
            return !deny.allows && meet(allow, deny) && same_principals(allow.principal, deny.principal);
          }))
        add(Code::policy_allow_deny_overlap, {}, {{"what", "by two rules of the session"}});
    }
    for (const Tool& tool : plan_.tools) {
      if (!spend((tool.deny.size() + tool.allow.size() + 1) * (tool.allow.size() + tool.rules.size() + 1),
                 "policies that contradict each other"))
        return;
      bool overlap = false;
      for (const Invariant& deny : tool.deny)
        for (const Invariant& allow : tool.allow) overlap = overlap || same_principals(allow, deny);
      for (const std::uint32_t rule : tool.rules)
        for (const Invariant& other : plan_.rules[rule].allows ? tool.deny : tool.allow)
          overlap = overlap || same_principals(plan_.rules[rule].principal, other);
      if (overlap) add(Code::policy_allow_deny_overlap, {.tool = tool.name}, {{"what", quoted(tool.name)}});
    }
  }

  // A resource that no call can be about: every tool's arguments are known, and none has the path.
  void check_resources() {
    for (const Resource& resource : plan_.resources) {
      const bool may_be_used = std::ranges::any_of(
          plan_.tools, [&](const Tool& tool) { return !tool.schema || has_path(*tool.schema, resource.at.path); });
      if (!may_be_used) add(Code::resource_unused, {.name = resource.name}, {{"name", resource.name}});
    }
  }

  static bool has_path(const json::Value& schema, const json::Path& path) {
    const json::Value* at = &schema;
    for (const json::Path::Step& step : path.steps()) {
      const auto* member = std::get_if<std::string>(&step);
      const json::Value* properties = at->find("properties");
      if (member == nullptr || properties == nullptr) return true;  // it cannot be told
      at = properties->find(*member);
      if (at == nullptr) return false;
    }
    return true;
  }

  // --- suppressions -----------------------------------------------------------------------------------------------------------------

  Analysis suppress() {
    Analysis out;
    std::vector<bool> used(plan_.suppressions.size());
    const auto fits = [](const std::string& wanted, const std::string& is) { return wanted.empty() || wanted == is; };
    for (Finding& finding : findings_) {
      bool gone = false;
      for (std::size_t i = 0; i < plan_.suppressions.size(); ++i) {
        const Suppression& one = plan_.suppressions[i];
        if (one.check != info(finding.diagnostic.code).name || !fits(one.tool, finding.tool) ||
            !fits(one.phase, finding.phase) || !fits(one.name, finding.name))
          continue;
        used[i] = gone = true;
      }
      (gone ? out.suppressed : out.findings).push_back(std::move(finding));
    }
    for (std::size_t i = 0; i < plan_.suppressions.size(); ++i)
      if (!used[i]) {
        Place place;
        place.line = plan_.suppressions[i].line;
        place.column = plan_.suppressions[i].column;
        out.findings.push_back({std::string(session_file_),
                                report(Code::SUPPRESSION_UNUSED, place, {{"check", plan_.suppressions[i].check}})});
      }
    return out;
  }

  const Plan& plan_;
  const std::string_view session_file_;
  const GraphBudget& budget_;
  const Graph graph_;
  const Reach reach_;
  const Walk walk_;
  std::vector<std::optional<ToolId>> binders_ = std::vector<std::optional<ToolId>>(plan_.slots.size());
  std::vector<Finding> findings_;
  std::set<std::string> undecided_;
  std::size_t work_ = 0;
};

}  // namespace

Analysis analyse(const Plan& plan, std::string_view session_file, const GraphBudget& budget) {
  return Analyser(plan, session_file, budget).run();
}

bool is_graph_check(std::string_view name) {
  return std::ranges::any_of(kChecks, [&](Code code) { return info(code).name == name; });
}

}  // namespace baton::contract
