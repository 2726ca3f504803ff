// SPDX-License-Identifier: Apache-2.0
#include "session/route.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

#include "json/parse.h"
#include "session/fitting.h"

namespace baton::session {
namespace {

using contract::Constraint;
using contract::Metric;
using contract::Role;

// What a slot or a stage holds.
enum Filled : char { Empty = 0, AsItWas = 1, Anew = 2 };

constexpr std::size_t kEntitiesMax = 8;     // that are told apart
constexpr std::size_t kWaysToCallMax = 64;  // of one tool: who it is about

class Search {
 public:
  Search(const Rules& rules, const State& state, const RouteTarget& target, const Hiding* hiding)
      : rules_(rules), plan_(*rules.plan), state_(state), target_(target), hiding_(hiding) {
    usable_.resize(plan_.tools.size());
    relevant_.resize(plan_.tools.size());
    gather();
    name_entities();
    list_ways();
    lay_out();
    find_due();
  }

  Route run() {
    Route out;
    std::string start(size_, '\0');
    begin(start);
    std::unordered_set<std::string> seen{start};
    spots_.push_back({std::move(start), 0, 0, 0, 0});
    bool cut = cut_;
    for (std::size_t i = 0; i < spots_.size(); ++i) {
      if (is_there(spots_[i])) {
        out.status = Route::Status::Found;
        out.steps = steps_to(i);
        out.states = spots_.size();
        return out;
      }
      if (spots_[i].depth == kRouteCallsMax) {
        cut = true;
        continue;
      }
      const std::optional<std::size_t> due = due_at(spots_[i]);
      for (std::size_t way = due.value_or(0); way < (due ? *due + 1 : ways_.size()); ++way) {
        if (!can_call(spots_[i], ways_[way])) continue;
        Spot next = spots_[i];
        call(next, ways_[way]);
        if (!seen.insert(next.cells).second) continue;
        if (spots_.size() == kRouteStatesMax) {
          cut = true;
          break;
        }
        next.from = i;
        next.by = way;
        spots_.push_back(std::move(next));
      }
    }
    out.status = cut ? Route::Status::NotWithinBounds : Route::Status::None;
    out.states = spots_.size();
    return out;
  }

 private:
  // A tool, and for each of its paths that tell entities apart, which one.
  struct Way {
    ToolId tool = kNone;
    std::vector<std::pair<std::uint32_t, std::size_t>> about;  // path, entity
  };
  struct Spot {
    std::string cells;  // phase and all that is laid out below
    std::size_t depth, calls, from, by;
  };

  // --- what matters ---------------------------------------------------------------------------------------------------------------

  bool may_use(ToolId id) const {
    const contract::Tool& tool = rules_.tool(id);
    if (!tool.passes_gate || std::ranges::binary_search(state_.denied, id)) return false;
    for (const std::uint32_t gate : tool.label_gates)
      if (state_.has_label(plan_.label_gates[gate].label)) return false;
    if (state_.cancel_requested && contract::is_mutating(tool.side_effect)) return false;
    return std::ranges::none_of(fits_of(rules_, state_, id, false, hiding_),
                                [](const auto& one) { return one.second.is_impossible(); });
  }

  void add_tool(ToolId id) {
    if (relevant_[id]) return;
    relevant_[id] = true;
    usable_[id] = may_use(id);
    if (usable_[id]) add_needs(id);
  }

  void add_slot(SlotId slot) {
    if (!slots_.emplace(slot, 0).second) return;
    for (ToolId id = 0; id < plan_.tools.size(); ++id)
      for (const contract::Bind& bind : plan_.tools[id].binds)
        if (bind.slot == slot) add_tool(id);
  }

  void add_envelope(std::uint32_t envelope) {
    if (!envelopes_.emplace(envelope, 0).second) return;
    for (const contract::Stage& stage : plan_.envelopes[envelope].stages)
      if (stage.role != Role::Constrained) add_tool(stage.tool);
  }

  void add_needs(ToolId id) {
    const contract::Tool& tool = rules_.tool(id);
    if (!plan_.phases.empty() && (tool.names_phases || tool.advances_to) && !phases_matter_) {
      phases_matter_ = true;
      for (ToolId other = 0; other < plan_.tools.size(); ++other)
        if (plan_.tools[other].advances_to) add_tool(other);
    }
    for (std::size_t i = 0; i < tool.preconditions.size(); ++i) {
      const std::uint32_t watch = rules_.tools[id].needs[i].watch;
      if (watch == kNone) {
        steps_wanted_ = std::max(steps_wanted_, tool.preconditions[i].steps - state_.steps);
      } else if (watches_.emplace(watch, 0).second) {
        add_tool(rules_.watches[watch].prior);
      }
    }
    for (const ToolRules::Ref& ref : rules_.tools[id].refs) add_slot(*tool.arguments[ref.invariant].ref);
    for (const ToolRules::Stage& at : rules_.tools[id].stages)
      if (plan_.envelopes[at.envelope].stages[at.stage].role == Role::Constrained) add_envelope(at.envelope);
  }

  void gather() {
    steps_wanted_ = target_.responses_before;
    add_needs(target_.tool);
    for (const SlotId slot : target_.refill) add_slot(slot);
    for (const auto& [envelope, stage] : target_.recapture) add_envelope(envelope);
  }

  // --- entities -------------------------------------------------------------------------------------------------------------------

  std::size_t add_entity(const Fact& fact) {
    const auto found = std::ranges::find(entities_, fact);
    if (found != entities_.end()) return static_cast<std::size_t>(found - entities_.begin());
    if (entities_.size() == kEntitiesMax) {
      cut_ = true;
      return 0;
    }
    entities_.push_back(fact);
    return entities_.size() - 1;
  }

  // The paths by which calls of a tool tell entities apart.
  std::vector<std::uint32_t> paths_of(ToolId id) const {
    std::set<std::uint32_t> out;
    for (const ToolRules::Need& need : rules_.tools[id].needs)
      if (need.fact != kNone) out.insert(need.fact);
    for (const ToolRules::Told& told : rules_.tools[id].told)
      if (told.fact != kNone && watches_.contains(told.watch)) out.insert(told.fact);
    return {out.begin(), out.end()};
  }

  void name_entities() {
    entities_.push_back({});  // the first: one that nothing is known of
    for (const ToolRules::Need& need : rules_.tools[target_.tool].needs) {
      if (need.fact == kNone) continue;
      const Fact& fact = target_.facts[need.fact];
      of_target_[need.fact] = is_scalar(fact) ? add_entity(fact) : 0;
    }
    // Of those that are known, one of each that different things are known of.
    std::map<Fact, std::set<std::uint32_t>> known;
    for (const auto& [watch, cell] : watches_)
      for (const auto& [entity, met] : state_.records[watch].by_entity)
        if (met && usable_[rules_.watches[watch].prior]) known[entity].insert(watch);
    std::set<std::set<std::uint32_t>> told;
    for (const auto& [entity, of] : known)
      if (told.insert(of).second) add_entity(entity);
    for (ToolId id = 0; id < plan_.tools.size(); ++id) {
      if (!relevant_[id] || !usable_[id]) continue;
      for (const std::uint32_t path : paths_of(id)) name_literals(id, path);
    }
  }

  // What an argument must be by the contract, or by a slot.
  void name_literals(ToolId id, std::uint32_t path) {
    for (const ToolRules::Ref& ref : rules_.tools[id].refs)
      if (const Fact& slot = state_.slots[*rules_.tool(id).arguments[ref.invariant].ref];
          ref.fact == path && is_scalar(slot))
        add_entity(slot);
    const contract::PathAt& at = rules_.tools[id].paths[path];
    for (const auto& [place, fit] : fits_of(rules_, state_, id, false, hiding_)) {
      if (fit.path() != at.path) continue;
      if (const auto listed = fit.listed())
        for (const json::Value& one : *listed)
          if (const auto document = json::parse_owned(json::write(one)))
            add_entity(fact_of(document->root(), at, hiding_));
    }
  }

  bool may_be(const Fits& fits, const contract::PathAt& at, const Fact& entity) const {
    for (const auto& [place, fit] : fits) {
      if (fit.path() != at.path) continue;
      if (entity.empty()) return fit.admits_new();
      if (is_hidden(entity)) return true;
      const auto document = json::parse(entity);
      return document && fit.admits(document->root());
    }
    return true;
  }

  // --- ways to go on ----------------------------------------------------------------------------------------------------------------

  void list_ways() {
    // First, so that nobody is sent to call what a word would do for.
    if (steps_wanted_ > 0) ways_.push_back({kNone, {}});
    std::vector<ToolId> tools;
    for (ToolId id = 0; id < plan_.tools.size(); ++id)
      if (relevant_[id] && usable_[id]) tools.push_back(id);
    // Of two that are as short, the one that does less is told.
    std::ranges::sort(tools, {}, [&](ToolId id) { return std::pair(rules_.tool(id).side_effect, id); });
    for (const ToolId id : tools) {
      const std::vector<std::uint32_t> paths = paths_of(id);
      const Fits fits = paths.empty() ? Fits() : fits_of(rules_, state_, id, false, hiding_);
      std::vector<Way> ways{{id, {}}};
      for (const std::uint32_t path : paths) {
        std::vector<Way> more;
        for (const Way& way : ways)
          // The known ones first: whoever waits for one entity is not sent for another.
          for (std::size_t k = 1; k <= entities_.size(); ++k) {
            const std::size_t entity = k % entities_.size();
            if (!may_be(fits, rules_.tools[id].paths[path], entities_[entity])) continue;
            Way next = way;
            next.about.emplace_back(path, entity);
            more.push_back(std::move(next));
          }
        if (more.size() > kWaysToCallMax) {
          more.resize(kWaysToCallMax);
          cut_ = true;
        }
        ways = std::move(more);
      }
      for (Way& way : ways) ways_.push_back(std::move(way));
    }
  }

  // --- cells ------------------------------------------------------------------------------------------------------------------------

  void lay_out() {
    size_ = 4;  // phase, responses so far, calls so far
    for (auto& [watch, cell] : watches_) {
      cell = size_;
      size_ += rules_.watches[watch].by_entity ? entities_.size() : 1;
    }
    for (auto& [slot, cell] : slots_) cell = size_++;
    for (auto& [envelope, cell] : envelopes_) {
      cell = size_;
      size_ += plan_.envelopes[envelope].stages.size();
    }
    const auto concerns = [&](ToolId id) { return id == target_.tool || (relevant_[id] && usable_[id]); };
    for (ToolId id = 0; id < plan_.tools.size(); ++id) {
      if (!concerns(id)) continue;
      if (plan_.limits.max_calls.contains(id)) limited_[id] = size_++;
      for (const ToolId other : rules_.tool(id).forbids)
        if (concerns(other) && !forbidden_.contains(other)) forbidden_[other] = size_++;
      for (const std::uint32_t index : rules_.tool(id).aggregates)
        if (plan_.aggregates[index].metric == Metric::Count && !plan_.aggregates[index].at &&
            !counts_.contains(index)) {
          counts_[index] = {size_++, Tally(rules_, state_, index, {}).count()};
        }
    }
  }

  void begin(std::string& cells) const {
    cells[0] = static_cast<char>(state_.phase & 0xff);
    cells[1] = static_cast<char>(state_.phase >> 8);
    for (const auto& [watch, cell] : watches_) {
      const Record& record = state_.records[watch];
      if (!rules_.watches[watch].by_entity) {
        cells[cell] = record.latest.value_or(false) ? 1 : 0;
        continue;
      }
      for (std::size_t i = 1; i < entities_.size(); ++i) {
        const auto known = record.by_entity.find(entities_[i]);
        cells[cell + i] = known != record.by_entity.end() && known->second ? 1 : 0;
      }
    }
    for (const auto& [slot, cell] : slots_) cells[cell] = session::is_there(state_.slots[slot]) ? AsItWas : Empty;
    for (const auto& [envelope, cell] : envelopes_)
      for (std::size_t i = 0; i < plan_.envelopes[envelope].stages.size(); ++i)
        cells[cell + i] = state_.envelopes[envelope].stages[i] ? AsItWas : Empty;
  }

  PhaseId phase_of(const std::string& cells) const {
    return static_cast<PhaseId>(static_cast<unsigned char>(cells[0])) |
           static_cast<PhaseId>(static_cast<unsigned char>(cells[1])) << 8;
  }

  // --- calls without which it does not go ------------------------------------------------------------------------------------------
  // What the target needs, and what that needs, has to be called in any case. Where such a call takes nothing away it is made as soon
  // as it can be: no sequence gets longer by it, and the many orders of the same calls are not gone through one by one.

  void find_due() {
    std::set<std::pair<ToolId, std::size_t>> known;
    std::vector<std::pair<ToolId, std::size_t>> open;
    const auto need = [&](ToolId id, const auto& entity_of) {
      for (const ToolRules::Need& one : rules_.tools[id].needs) {
        if (one.watch == kNone) continue;
        const ToolId prior = rules_.watches[one.watch].prior;
        const std::size_t entity = one.fact == kNone ? 0 : entity_of(one.fact);
        const std::vector<std::uint32_t> paths = paths_of(prior);
        // Whom it is about must leave one way to call it.
        if (!usable_[prior] || paths.size() > 1 || (paths.size() == 1 && one.fact == kNone)) continue;
        const contract::Tool& tool = rules_.tool(prior);
        const bool takes_away = tool.advances_to || tool.commit == contract::Commit::None ||
                                std::ranges::any_of(tool.forbids, [&](ToolId of) { return forbidden_.contains(of); });
        if (takes_away) continue;
        for (std::size_t way = 0; way < ways_.size(); ++way)
          if (ways_[way].tool == prior && (paths.empty() || ways_[way].about[0].second == entity))
            due_.push_back({way, watches_.at(one.watch) + entity});
        if (known.emplace(prior, entity).second) open.emplace_back(prior, entity);
      }
    };
    need(target_.tool, [&](std::uint32_t fact) { return of_target_.at(fact); });
    std::string start(size_, '\0');
    begin(start);
    for (std::size_t i = 0; i < open.size(); ++i) {
      // Only what is called for certain makes its own needs certain.
      const auto [id, entity] = open[i];
      const bool certain = std::ranges::any_of(due_, [&, id = id, entity = entity](const Due& one) {
        const Way& way = ways_[one.way];
        return way.tool == id && (way.about.empty() || way.about[0].second == entity) && start[one.cell] == 0;
      });
      if (certain) need(id, [entity = entity](std::uint32_t) { return entity; });
    }
  }

  std::optional<std::size_t> due_at(const Spot& spot) const {
    for (const Due& one : due_)
      if (spot.cells[one.cell] == 0 && can_call(spot, ways_[one.way])) return one.way;
    return std::nullopt;
  }

  // --- rules ------------------------------------------------------------------------------------------------------------------------

  bool is_there(const Spot& spot) const {
    if (static_cast<std::int64_t>(spot.depth) < target_.responses_before) return false;
    for (const SlotId slot : target_.refill)
      if (spot.cells[slots_.at(slot)] != Anew) return false;
    for (const auto& [envelope, stage] : target_.recapture)
      if (spot.cells[envelopes_.at(envelope) + stage] != Anew) return false;
    Way way{target_.tool, {}};
    for (const auto& [path, entity] : of_target_) way.about.emplace_back(path, entity);
    return can_call(spot, way);
  }

  static std::size_t entity_at(const Way& way, std::uint32_t path) {
    for (const auto& [at, entity] : way.about)
      if (at == path) return entity;
    return 0;
  }

  bool can_call(const Spot& spot, const Way& way) const {
    const contract::Limits& limits = plan_.limits;
    const auto depth = static_cast<std::int64_t>(spot.depth), calls = static_cast<std::int64_t>(spot.calls);
    if (limits.max_steps && state_.steps + depth >= *limits.max_steps) return false;
    if (way.tool == kNone) return depth < steps_wanted_;
    if (limits.max_tool_calls && state_.tool_calls + state_.calls_before + calls >= *limits.max_tool_calls)
      return false;
    const contract::Tool& tool = rules_.tool(way.tool);
    if (!plan_.phases.empty()) {
      const PhaseId phase = phase_of(spot.cells);
      if (tool.names_phases && !tool.valid_in.has(phase)) return false;
      if (tool.advances_to && !plan_.is_legal(phase, *tool.advances_to)) return false;
    }
    if (forbidden_by(rules_, state_, way.tool) != kNone ||
        forbidden_in_flight_by(rules_, state_, way.tool, nullptr) != nullptr)
      return false;
    if (const auto cell = forbidden_.find(way.tool); cell != forbidden_.end() && spot.cells[cell->second] != 0)
      return false;
    if (const auto cell = limited_.find(way.tool); cell != limited_.end()) {
      const auto counted = state_.calls.find(way.tool);
      const std::int64_t before = counted == state_.calls.end() ? 0 : counted->second;
      if (before + spot.cells[cell->second] >= limits.max_calls.at(way.tool)) return false;
    }
    return are_met(spot, way) && are_filled(spot, way) && are_within(spot, way);
  }

  bool are_met(const Spot& spot, const Way& way) const {
    const contract::Tool& tool = rules_.tool(way.tool);
    for (std::size_t i = 0; i < tool.preconditions.size(); ++i) {
      const ToolRules::Need& need = rules_.tools[way.tool].needs[i];
      if (need.watch == kNone) {
        if (state_.steps + static_cast<std::int64_t>(spot.depth) < tool.preconditions[i].steps) return false;
        continue;
      }
      const std::size_t entity = need.fact == kNone ? 0 : entity_at(way, need.fact);
      if (spot.cells[watches_.at(need.watch) + entity] == 0) return false;
    }
    return true;
  }

  bool are_filled(const Spot& spot, const Way& way) const {
    const contract::Tool& tool = rules_.tool(way.tool);
    for (const ToolRules::Ref& ref : rules_.tools[way.tool].refs) {
      const contract::Invariant& one = tool.arguments[ref.invariant];
      const char filled = spot.cells[slots_.at(*one.ref)];
      if (filled == Empty) return false;
      // An entity that must be what a slot has is that one; what the target has there is judged as an argument.
      if (filled != AsItWas || one.tolerance || way.tool == target_.tool) continue;
      for (const auto& [path, entity] : way.about)
        if (path == ref.fact && entities_[entity] != state_.slots[*one.ref]) return false;
    }
    for (const ToolRules::Stage& at : rules_.tools[way.tool].stages) {
      const contract::Envelope& envelope = plan_.envelopes[at.envelope];
      if (envelope.stages[at.stage].role == Role::Constrained && !has_references(spot, at.envelope, way.tool))
        return false;
    }
    return true;
  }

  bool has_references(const Spot& spot, std::uint32_t index, ToolId tool) const {
    const contract::Envelope& envelope = plan_.envelopes[index];
    const std::size_t cell = envelopes_.at(index);
    bool has[4] = {};
    for (std::size_t i = 0; i < envelope.stages.size(); ++i) {
      const Role role = envelope.stages[i].role;
      if (role == Role::Constrained) continue;
      if (spot.cells[cell + i] != Empty) has[static_cast<std::size_t>(role)] = true;
      else if (role == Role::Initial && envelope.stages[i].tool == tool) return true;  // it gives it itself
    }
    const auto captured = [&](Role role) { return has[static_cast<std::size_t>(role)]; };
    switch (envelope.constraint) {
      case Constraint::LteCeiling: return captured(Role::Ceiling);
      case Constraint::GteFloor: return captured(Role::Floor);
      case Constraint::Bounded: return captured(Role::Ceiling) && captured(Role::Floor);
      case Constraint::WithinBand: return captured(Role::Anchor);
      case Constraint::MonotonicDecrease:
      case Constraint::MonotonicIncrease: return captured(Role::Initial);
    }
    return false;
  }

  // Aggregates that count calls. What a new bound would allow is not looked into.
  bool are_within(const Spot& spot, const Way& way) const {
    for (const std::uint32_t index : rules_.tool(way.tool).aggregates) {
      const auto at = counts_.find(index);
      if (at == counts_.end()) continue;
      const contract::Bounds bounds = bounds_of(plan_.aggregates[index], state_);
      const std::int64_t more = spot.cells[at->second.first];
      if (way.tool == target_.tool && more == 0) continue;  // as it is now it was judged
      const json::Decimal value(at->second.second + more + 1);
      if ((bounds.lte && value > *bounds.lte) || (bounds.gte && value < *bounds.gte)) return false;
    }
    return true;
  }

  void call(Spot& spot, const Way& way) const {
    ++spot.depth;
    if (steps_wanted_ > 0)
      spot.cells[2] = static_cast<char>(
          std::min<std::size_t>(spot.depth, static_cast<std::size_t>(std::min<std::int64_t>(steps_wanted_, 100))));
    if (way.tool == kNone) return;
    ++spot.calls;
    if (steps_wanted_ > 0 && plan_.limits.max_tool_calls) spot.cells[3] = static_cast<char>(spot.calls);
    const contract::Tool& tool = rules_.tool(way.tool);
    const ToolRules& indexes = rules_.tools[way.tool];
    const bool has_output = tool.commit != contract::Commit::None;
    for (const ToolRules::Told& told : indexes.told) {
      const auto cell = watches_.find(told.watch);
      if (cell == watches_.end()) continue;
      const Watch& watch = rules_.watches[told.watch];
      const bool met = has_output || rules_.tool(watch.dependent).preconditions[watch.precondition].with_output.empty();
      spot.cells[cell->second + (told.fact == kNone ? 0 : entity_at(way, told.fact))] = met ? 1 : 0;
    }
    if (tool.advances_to) {
      spot.cells[0] = static_cast<char>(*tool.advances_to & 0xff);
      spot.cells[1] = static_cast<char>(*tool.advances_to >> 8);
    }
    for (const contract::Bind& bind : tool.binds)
      if (const auto cell = slots_.find(bind.slot); cell != slots_.end())
        spot.cells[cell->second] = has_output || bind.source == contract::Source::Arguments ? Anew : Empty;
    for (const ToolRules::Stage& at : indexes.stages) {
      const auto cell = envelopes_.find(at.envelope);
      const contract::Envelope& envelope = plan_.envelopes[at.envelope];
      if (cell == envelopes_.end() || envelope.stages[at.stage].role == Role::Constrained) continue;
      char& filled = spot.cells[cell->second + at.stage];
      const bool begins_once = envelope.stages[at.stage].role == Role::Initial &&
                               std::ranges::any_of(envelope.stages, [&](const contract::Stage& stage) {
                                 return stage.tool == way.tool && stage.role == Role::Constrained;
                               });
      if (begins_once && filled != Empty) continue;
      filled = has_output || at.fact != kNone ? Anew : Empty;
    }
    for (const ToolId other : tool.forbids)
      if (const auto cell = forbidden_.find(other); cell != forbidden_.end()) spot.cells[cell->second] = 1;
    if (const auto cell = limited_.find(way.tool); cell != limited_.end()) ++spot.cells[cell->second];
    for (const std::uint32_t index : tool.aggregates)
      if (const auto at = counts_.find(index); at != counts_.end()) ++spot.cells[at->second.first];
  }

  std::vector<RouteStep> steps_to(std::size_t spot) const {
    std::vector<RouteStep> out;
    for (; spot != 0; spot = spots_[spot].from) {
      const Way& way = ways_[spots_[spot].by];
      RouteStep step{way.tool, {}};
      for (const auto& [path, entity] : way.about) step.entities.push_back({path, entities_[entity]});
      out.push_back(std::move(step));
    }
    std::ranges::reverse(out);
    return out;
  }

  const Rules& rules_;
  const Plan& plan_;
  const State& state_;
  const RouteTarget& target_;
  const Hiding* hiding_;
  std::vector<bool> usable_, relevant_;
  bool phases_matter_ = false, cut_ = false;
  std::int64_t steps_wanted_ = 0;
  // Where each has its cell.
  std::map<std::uint32_t, std::size_t> watches_, envelopes_;
  std::map<SlotId, std::size_t> slots_;
  std::map<ToolId, std::size_t> limited_, forbidden_;
  std::map<std::uint32_t, std::pair<std::size_t, std::int64_t>> counts_;  // and how many were counted before
  std::vector<Fact> entities_;
  std::map<std::uint32_t, std::size_t> of_target_;
  std::vector<Way> ways_;
  struct Due {
    std::size_t way, cell;  // a call, and where it is seen whether it was made
  };
  std::vector<Due> due_;
  std::size_t size_ = 0;
  std::vector<Spot> spots_;
};

}  // namespace

Route route_to(const Rules& rules, const State& state, const RouteTarget& target, const Hiding* hiding) {
  return Search(rules, state, target, hiding).run();
}

}  // namespace baton::session
