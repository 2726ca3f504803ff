// SPDX-License-Identifier: Apache-2.0
#include "session/way_out.h"

#include <algorithm>
#include <array>
#include <set>

#include "session/judge.h"
#include "session/way_out_words.h"

namespace baton::session {
namespace {

using contract::Role;
using json::Decimal;
using json::Value;

// What is said where there is nothing to say, by whose fault that is.
constexpr std::string_view kNoHint = "none";
constexpr std::string_view kNotHere = "no way out in this session";
constexpr std::string_view kNoSequence = "no sequence of calls leads there";

enum class Kind : std::uint8_t { Silent, Final, Wait, Call, Arguments };

// What can be done about a reason at all.
Kind kind_of(Code code) {
  switch (code) {
    case Code::policy_denied:
    case Code::label_denied:
    case Code::no_contract:
    case Code::protected_path:
    case Code::fact_in_arguments:
    case Code::facts_missing:
    case Code::risk_gate_blocked: return Kind::Silent;
    case Code::session_paused:
    case Code::approval_queue_full: return Kind::Wait;
    case Code::wrong_phase:
    case Code::illegal_phase_transition:
    case Code::precondition_not_met:
    case Code::binding_unbound:
    case Code::envelope_reference_missing: return Kind::Call;
    case Code::loop_detected:
    case Code::arguments_malformed:
    case Code::argument_value_invalid:
    case Code::input_assertion_failed:
    case Code::output_assertion_failed:
    case Code::execution_constraint_violated:
    case Code::entity_missing:
    case Code::response_format_invalid:
    case Code::assertion_context_missing:
    case Code::binding_mismatch:
    case Code::aggregate_violated:
    case Code::aggregate_value_invalid:
    case Code::envelope_violated:
    case Code::envelope_value_invalid: return Kind::Arguments;
    default: return Kind::Final;  // limits, what is forbidden, sessions that have ended
  }
}

// One call, alone in its response.
class Finder {
 public:
  Finder(const Rules& rules, const State& state, const Proposal& proposal, const Hiding* hiding)
      : rules_(rules),
        plan_(*rules.plan),
        state_(state),
        proposal_(proposal),
        arguments_(proposal.calls[0].arguments),
        hiding_(hiding) {}

  WayOut find() {
    verdict_ = decide(rules_, state_, proposal_, hiding_).calls[0];
    if (verdict_.failures.empty()) {
      WayOut out{WayOut::Status::Found, {}, {}};
      out.options.emplace_back().alone = true;
      return out;
    }
    for (const Refusal& one : verdict_.failures)
      if (kind_of(one.code()) == Kind::Silent) return {WayOut::Status::None, std::string(kNoHint), {}};
    for (const Refusal& one : verdict_.failures)
      if (kind_of(one.code()) == Kind::Final && !one.in_flight)
        return {WayOut::Status::None, std::string(kNotHere), {}};
    if (std::ranges::any_of(verdict_.failures, &Refusal::in_flight)) {
      WayOut out{WayOut::Status::Found, {}, {}};
      out.options.emplace_back().wait_for = "call";
      return out;
    }
    if (kind_of(verdict_.failures[0].code()) == Kind::Wait) {
      WayOut out{WayOut::Status::Found, {}, {}};
      out.options.emplace_back().wait_for = "approval";
      return out;
    }
    if (verdict_.failures[0].code() == Code::arguments_malformed) {
      WayOut out{WayOut::Status::Found, {}, {}};
      out.options.emplace_back().changes.push_back({Change::In::Arguments, "", {{"type", "object"}}});
      return out;
    }
    look();
    if (derived_) return {WayOut::Status::None, std::string(kNoHint), {}};
    return combine();
  }

 private:
  // A reason that a change of the arguments would remove, or a call that gives the rule something else to go by.
  struct Either {
    std::string place;
    std::vector<SlotId> refill = {};
    std::vector<std::pair<std::uint32_t, std::uint32_t>> recapture = {};
    // What a slot must then have.
    std::map<SlotId, const std::vector<contract::Test>*> slot_wants = {};
  };

  const contract::Tool& tool() const { return rules_.tool(verdict_.tool); }
  const ToolRules& indexes() const { return rules_.tools[verdict_.tool]; }

  // --- what fails -------------------------------------------------------------------------------------------------------------------

  void look() {
    fits_ = fits_of(rules_, state_, verdict_.tool, true, hiding_);
    for (const Refusal& one : verdict_.failures) {
      switch (one.code()) {
        case Code::loop_detected: loops_ = true; break;
        case Code::argument_value_invalid:
        case Code::execution_constraint_violated:
        case Code::entity_missing:
        case Code::aggregate_value_invalid:
        case Code::envelope_value_invalid: places_.insert(one.diagnostic.place.pointer); break;
        case Code::input_assertion_failed: look_at_assertions(); break;
        case Code::output_assertion_failed:
          look_at(Change::In::Response, tool().output_assertions, proposal_.response);
          break;
        case Code::response_format_invalid: look_at_format(); break;
        case Code::assertion_context_missing: look_for_context(); break;
        case Code::binding_mismatch: look_at_slot(one); break;
        case Code::aggregate_violated: look_at_aggregate(one); break;
        case Code::envelope_violated: look_at_envelope(one); break;
        case Code::precondition_not_met: look_at_entities(); break;
        case Code::envelope_reference_missing: look_for_numbers(); break;
        default: break;  // the search for calls sees the rest
      }
    }
  }

  // Where an envelope has no reference yet, its values are not looked at; once it has one they must be numbers.
  void look_for_numbers() {
    for (const ToolRules::Stage& at : indexes().stages) {
      const contract::Stage& stage = rules_.plan->envelopes[at.envelope].stages[at.stage];
      if (stage.role == contract::Role::Constrained && !number_of(verdict_.facts[at.fact]))
        places_.insert(pointer_of(stage.at.path));
    }
  }

  // Assertions are about the arguments, or about what the model was asked.
  void look_at_assertions() {
    for (const auto& one : tool().input_assertions)
      if (one.scope == contract::Scope::Call && failing(one, arguments_.at(one.at), environment()) != nullptr) {
        places_.insert(pointer_of(one.at.path));
        // The caller does not choose a fact: no argument of this name would be accepted.
        derived_ = derived_ || arguments_.names_fact(one.at);
      }
    look_at(Change::In::Request, tool().input_assertions, proposal_.request);
  }

  Environment environment() const { return {plan_.environment, state_.environment, hiding_}; }

  void look_at(Change::In in, const std::vector<contract::Invariant>& assertions, const Values& document) {
    if (!document.root()) return;
    const Fits fits = boundary_fits(rules_, state_, assertions, hiding_);
    std::set<std::string> told;
    for (const contract::Invariant& one : assertions) {
      const std::string place = pointer_of(one.at.path);
      if (one.scope != contract::Scope::Boundary || failing(one, document.at(one.at), environment()) == nullptr ||
          !told.insert(place).second)
        continue;
      Change change = fits.at(place).change({});
      change.in = in;
      take(std::move(change));
    }
  }

  void look_at_format() {
    const contract::ResponseFormat& format = *tool().response_format;
    const ResponseShape& shape = *proposal_.shape;
    if (format.finish_reason && shape.finish_reason != *format.finish_reason)
      take({Change::In::Response, "/finish_reason", {{"equals", *format.finish_reason}}});
    if (format.content_empty && !shape.content_empty) take({Change::In::Response, "/content", {{"exists", false}}});
    if (format.tool_calls_present && *format.tool_calls_present != shape.tool_calls_present)
      take({Change::In::Response, "/tool_calls", {{"exists", *format.tool_calls_present}}});
  }

  void look_for_context() {
    const auto is_asked = [](const contract::Invariant& one) { return one.scope == contract::Scope::Boundary; };
    if (!proposal_.request.root() && std::ranges::any_of(tool().input_assertions, is_asked))
      take({Change::In::Request, "", {{"exists", true}}});
    if (!proposal_.response.root() &&
        (std::ranges::any_of(tool().output_assertions, is_asked) || tool().response_format))
      take({Change::In::Response, "", {{"exists", true}}});
  }

  void take(Change change) {
    const bool told = std::ranges::any_of(
        fixed_, [&](const Change& one) { return one.in == change.in && one.place == change.place; });
    if (!told) fixed_.push_back(std::move(change));
  }

  void look_at_entities() {
    for (std::size_t i = 0; i < tool().preconditions.size(); ++i) {
      const std::uint32_t fact = indexes().needs[i].fact;
      if (fact != kNone && !is_scalar(verdict_.facts[fact])) places_.insert(pointer_of(indexes().paths[fact].path));
    }
  }

  void look_at_slot(const Refusal& refusal) {
    Either either{refusal.diagnostic.place.pointer};
    const auto slot = plan_.find_slot(refusal.detail);
    if (!slot) return;
    either.refill.push_back(*slot);  // what it must have is said for every slot that is filled on the way
    eithers_.push_back(std::move(either));
  }

  void look_at_aggregate(const Refusal& refusal) {
    for (std::size_t i = 0; i < tool().aggregates.size(); ++i) {
      const contract::Aggregate& aggregate = plan_.aggregates[tool().aggregates[i]];
      if (aggregate.name != refusal.detail) continue;
      Either either{refusal.diagnostic.place.pointer};
      const bool changeable = aggregate.at.has_value();
      if (look_at_bounds(tool().aggregates[i], indexes().aggregates[i], either)) {
        if (changeable) eithers_.push_back(std::move(either));
        else must_call_.push_back(std::move(either));
      } else if (changeable) {
        places_.insert(either.place);
      } else {
        hopeless_ = true;
      }
    }
  }

  // A slot that would give the aggregate bounds which this call keeps.
  bool look_at_bounds(std::uint32_t index, std::uint32_t fact, Either& either) const {
    const contract::Aggregate& aggregate = plan_.aggregates[index];
    Tally tally(rules_, state_, index, {});
    tally.add(share_of(aggregate, fact == kNone ? nullptr : &verdict_.facts[fact]));
    const Decimal value = tally.value();
    const auto keeps = [&](const contract::Bounds& then) {
      const auto gte = then.gte ? then.gte : aggregate.bounds.gte, lte = then.lte ? then.lte : aggregate.bounds.lte;
      return (!gte || value >= *gte) && (!lte || value <= *lte);
    };
    for (std::size_t i = 0; i < aggregate.when.size(); ++i) {
      const contract::Aggregate::When& when = aggregate.when[i];
      if (!keeps(when.then)) continue;
      // What stands before it must not take its place, or must allow as much.
      const bool first =
          std::all_of(aggregate.when.begin(), aggregate.when.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const auto& other) { return other.slot == when.slot ? keeps(other.then) : !holds(other); });
      if (!first) continue;
      either.refill.push_back(when.slot);
      either.slot_wants[when.slot] = &when.tests;
      return true;
    }
    return false;
  }

  bool holds(const contract::Aggregate::When& when) const {
    return std::ranges::all_of(
        when.tests, [&](const contract::Test& test) { return passes(test, state_.slots[when.slot]).value_or(false); });
  }

  // Which stages would have to give something else for the value to pass.
  void look_at_envelope(const Refusal& refusal) {
    for (const ToolRules::Stage& at : indexes().stages) {
      const contract::Envelope& envelope = plan_.envelopes[at.envelope];
      const contract::Stage& here = envelope.stages[at.stage];
      if (envelope.name != refusal.detail || here.role != Role::Constrained ||
          pointer_of(here.at.path) != refusal.diagnostic.place.pointer)
        continue;
      Either either{refusal.diagnostic.place.pointer};
      const Decimal value = *number_of(verdict_.facts[at.fact]);
      for (std::uint32_t s = 0; s < envelope.stages.size(); ++s) {
        const auto& held = state_.envelopes[at.envelope].stages[s];
        const Role role = envelope.stages[s].role;
        if (role == Role::Constrained || !held) continue;
        if (role == Role::Ceiling && value <= *held) continue;
        if (role == Role::Floor && value >= *held) continue;
        either.recapture.emplace_back(at.envelope, s);
      }
      eithers_.push_back(std::move(either));
    }
  }

  // --- together ---------------------------------------------------------------------------------------------------------------------

  WayOut combine() {
    // A place that has to be changed anyhow is changed for all that concerns it.
    std::erase_if(eithers_, [&](const Either& one) { return places_.contains(one.place); });
    WayOut out;
    if (hopeless_) {
      out.text = kNotHere;
      return out;
    }
    std::set<std::string> all = places_;
    for (const Either& one : eithers_) all.insert(one.place);
    add_option(out, all, must_call_);
    if (!eithers_.empty()) {
      std::vector<Either> calls = must_call_;
      calls.insert(calls.end(), eithers_.begin(), eithers_.end());
      add_option(out, places_, calls);
    }
    if (!out.options.empty()) out.status = WayOut::Status::Found;
    else if (not_searched_) {
      out.status = WayOut::Status::Unknown;
      out.text = "no sequence of calls was found within " + std::to_string(kRouteCallsMax) + " calls";
    } else if (!impossible_.empty()) {
      out.text = "no value of " + in_words(impossible_) + " passes";
    } else {
      out.text = kNoSequence;
    }
    return out;
  }

  void add_option(WayOut& out, const std::set<std::string>& places, const std::vector<Either>& calls) {
    WayOption option;
    option.changes = fixed_;
    for (const Change& one : fixed_)
      if (one.impossible) {
        impossible_ = one.place;
        return;
      }
    for (const std::string& place : places) {
      const auto fit = fits_.find(place);
      if (fit == fits_.end()) return;
      Change change = fit->second.change(arguments_.root() ? at(place) : json::Node());
      if (change.impossible) {
        impossible_ = place;
        return;
      }
      option.changes.push_back(std::move(change));
    }
    const bool differs =
        std::ranges::any_of(option.changes, [](const Change& one) { return one.in == Change::In::Arguments; });
    RouteTarget target{verdict_.tool, verdict_.facts};
    for (const Either& one : calls) {
      target.refill.insert(target.refill.end(), one.refill.begin(), one.refill.end());
      target.recapture.insert(target.recapture.end(), one.recapture.begin(), one.recapture.end());
    }
    if (!differs) target.responses_before = responses_before();
    if (loops_ && !differs && places.empty() && calls.empty() && !needs_calls()) {
      // Nothing is wrong with it but that it comes again and again.
      option.other_arguments = true;
      out.options.push_back(std::move(option));
      return;
    }
    const Route route = route_to(rules_, state_, target, hiding_);
    if (route.status != Route::Status::Found) {
      not_searched_ = not_searched_ || route.status == Route::Status::NotWithinBounds;
      return;
    }
    if (!tell(route, calls, option)) {
      not_searched_ = true;
      return;
    }
    name_moved(route, places, option);
    const bool told = std::ranges::any_of(
        out.options, [&](const WayOption& one) { return json::write(shown(one)) == json::write(shown(option)); });
    if (!told) out.options.push_back(std::move(option));
  }

  bool needs_calls() const {
    return std::ranges::any_of(verdict_.failures, [](const Refusal& one) { return kind_of(one.code()) == Kind::Call; });
  }

  json::Node at(const std::string& place) const {
    const auto fit = fits_.find(place);
    return arguments_.at({fit->second.path(), {}});
  }

  // How many responses must come before the same call is no longer a loop.
  std::int64_t responses_before() const {
    if (!plan_.limits.loop_threshold) return 0;
    const LoopStep::Call call = Judge::looped(verdict_.tool, verdict_.digest);
    const std::int64_t window = *plan_.limits.loop_window;
    for (std::int64_t between = 0; between < window; ++between) {
      std::int64_t count = 1, steps = 1 + between;
      for (auto step = state_.loop.rbegin(); step != state_.loop.rend() && steps < window; ++step, ++steps)
        count += std::ranges::count(step->calls, call);
      if (count < *plan_.limits.loop_threshold) return between;
    }
    return window;
  }

  // --- the sequence, told -------------------------------------------------------------------------------------------------------------

  // Is `w` what a later call, or the refused one, goes by, and not made anew in between?
  bool is_relied_on(const Route& route, std::size_t from, std::uint32_t watch, const Fact& entity, bool fresh) const {
    const auto needs = [&](ToolId id, const auto& entity_of) {
      for (const ToolRules::Need& need : rules_.tools[id].needs)
        if (need.watch == watch && (need.fact == kNone || entity_of(need.fact) == entity)) return true;
      return false;
    };
    const auto of_step = [](const RouteStep& step) {
      return [&step](std::uint32_t path) {
        for (const RouteEntity& one : step.entities)
          if (one.path == path) return one.value;
        return Fact();
      };
    };
    for (std::size_t i = from + 1; i < route.steps.size(); ++i) {
      const RouteStep& step = route.steps[i];
      if (step.tool == kNone) continue;
      if (needs(step.tool, of_step(step))) return true;
      for (const ToolRules::Told& told : rules_.tools[step.tool].told)
        if (told.watch == watch && (told.fact == kNone || of_step(step)(told.fact) == entity)) return false;
    }
    return needs(verdict_.tool, [&](std::uint32_t fact) {
      return fresh && !is_scalar(verdict_.facts[fact]) ? Fact() : verdict_.facts[fact];
    });
  }

  bool tell(const Route& route, const std::vector<Either>& eithers, WayOption& option) const {
    for (std::size_t i = 0; i < route.steps.size(); ++i) {
      const RouteStep& step = route.steps[i];
      CallBefore& call = option.calls.emplace_back();
      if (step.tool == kNone) continue;
      const contract::Tool& tool = rules_.tool(step.tool);
      call.tool = tool.name;
      call.asks = asks_always(step.tool);
      call.under_way = std::ranges::any_of(state_.open, [&](const OpenCall& open) {
        return open.tool == step.tool && !open.committed && open.state != CallState::Awaiting;
      });
      for (const RouteEntity& entity : step.entities) tell_entity(route, i, entity, call);
      if (!tell_wanted(route, i, eithers, option.changes, call)) return false;
    }
    return true;
  }

  bool asks_always(ToolId id) const {
    const contract::Tool& tool = rules_.tool(id);
    const auto always = [&](const contract::Checkpoint& one) {
      return one.conditions.empty() && (!one.side_effect || *one.side_effect == tool.side_effect);
    };
    return (tool.checkpoint && always(*tool.checkpoint)) ||
           std::ranges::any_of(tool.checkpoints, [&](std::uint32_t index) { return always(plan_.checkpoints[index]); });
  }

  void tell_entity(const Route& route, std::size_t i, const RouteEntity& entity, CallBefore& call) const {
    const RouteStep& step = route.steps[i];
    CallBefore::Same same{pointer_of(rules_.tools[step.tool].paths[entity.path].path), {}, {}, {}, {}};
    for (const ToolRules::Need& need : indexes().needs) {
      if (need.fact == kNone) continue;
      const Fact& fact = verdict_.facts[need.fact];
      const bool matches = entity.value.empty() ? !is_scalar(fact) : fact == entity.value;
      if (!matches || !same.as_this.empty()) continue;
      same.as_this = pointer_of(indexes().paths[need.fact].path);
    }
    for (std::size_t k = 0; k < i && same.as_this.empty() && !same.before; ++k)
      for (const RouteEntity& other : route.steps[k].entities)
        if (other.value == entity.value && !same.before) {
          same.before = k;
          same.before_place = pointer_of(rules_.tools[route.steps[k].tool].paths[other.path].path);
        }
    if (same.as_this.empty() && !same.before && !entity.value.empty())
      for (std::size_t w = 0; w < state_.records.size() && same.known_to.empty(); ++w) {
        const auto known = state_.records[w].by_entity.find(entity.value);
        if (known != state_.records[w].by_entity.end() && known->second && may_be_named(rules_.watches[w].prior))
          same.known_to = rules_.tool(rules_.watches[w].prior).name;
      }
    if (!same.as_this.empty() || same.before || !same.known_to.empty()) call.same.push_back(std::move(same));
  }

  bool may_be_named(ToolId id) const {
    return !std::ranges::binary_search(state_.denied, id) &&
           std::ranges::none_of(rules_.tool(id).label_gates,
                                [&](std::uint32_t gate) { return state_.has_label(plan_.label_gates[gate].label); });
  }

  // What is wanted of one call's arguments and output, place by place.
  struct Wants {
    std::map<std::pair<Change::In, std::string>, Fit> fits = {};
    std::map<std::pair<Change::In, std::string>, std::string> same_as = {};
  };

  Fit& want(Wants& wants, ToolId id, contract::Source source, const contract::PathAt& at) const {
    const auto in = source == contract::Source::Arguments ? Change::In::Arguments : Change::In::Output;
    const std::string place = pointer_of(at.path);
    const auto [entry, is_new] = wants.fits.try_emplace({in, place}, at, environment());
    if (!is_new) return entry->second;
    // What its own rules say of the place holds as well.
    const auto& rules_of_it =
        source == contract::Source::Arguments ? rules_.tool(id).arguments : rules_.tool(id).output_assertions;
    for (const auto* list : {&rules_of_it, &rules_.tool(id).execution_constraints}) {
      if (source == contract::Source::Output && list != &rules_of_it) continue;
      for (const contract::Invariant& one : *list)
        if (one.scope == contract::Scope::Call && one.at.path == at.path && !one.tests.empty())
          entry->second.test(one.tests, one.origin == contract::Origin::Schema);
    }
    return entry->second;
  }

  // False: those that wait for the call want what cannot both be.
  bool tell_wanted(const Route& route, std::size_t i, const std::vector<Either>& eithers,
                   const std::vector<Change>& changes, CallBefore& call) const {
    Wants wants;
    want_output(route, i, wants);
    want_fillings(route, i, eithers, wants);
    want_captures(route, i, changes, wants);
    for (const auto& [where, fit] : wants.fits) {
      Change change = fit.change({});
      if (change.impossible) return false;
      change.in = where.first;
      if (const auto same = wants.same_as.find(where); same != wants.same_as.end()) {
        // The value is known: it either is what is wanted, or there is no way.
        change.must = {{"same_as", same->second}};
        const json::Node value = arguments_.at({fits_.at(same->second).path(), {}});
        if (!std::ranges::any_of(changes, [&](const Change& one) { return one.place == same->second; }) &&
            !fit.admits(value))
          return false;
      }
      change.may_be_left_out = false;
      call.wanted.push_back(std::move(change));
    }
    return true;
  }

  void want_output(const Route& route, std::size_t i, Wants& wants) const {
    const RouteStep& step = route.steps[i];
    for (const ToolRules::Told& told : rules_.tools[step.tool].told) {
      Fact entity;
      for (const RouteEntity& one : step.entities)
        if (one.path == told.fact) entity = one.value;
      if (!is_relied_on(route, i, told.watch, entity, entity.empty())) continue;
      const Watch& watch = rules_.watches[told.watch];
      for (const auto& one : rules_.tool(watch.dependent).preconditions[watch.precondition].with_output)
        want(wants, step.tool, contract::Source::Output, one.at).test(one.tests, false);
    }
  }

  // What the slots that this call fills must be given, so that the refused one passes.
  void want_fillings(const Route& route, std::size_t i, const std::vector<Either>& eithers, Wants& wants) const {
    const ToolId id = route.steps[i].tool;
    for (const contract::Bind& bind : rules_.tool(id).binds) {
      const bool again = std::any_of(route.steps.begin() + static_cast<std::ptrdiff_t>(i) + 1, route.steps.end(),
                                     [&](const RouteStep& step) { return step.tool == id; });
      if (again) continue;
      for (const ToolRules::Ref& ref : indexes().refs) {
        const contract::Invariant& one = tool().arguments[ref.invariant];
        if (*one.ref != bind.slot || !is_there(verdict_.facts[ref.fact])) continue;
        want(wants, id, bind.source, bind.at).be_there();
        const auto in = bind.source == contract::Source::Arguments ? Change::In::Arguments : Change::In::Output;
        wants.same_as[{in, pointer_of(bind.at.path)}] = pointer_of(one.at.path);
      }
      for (const Either& either : eithers)
        if (const auto wanted = either.slot_wants.find(bind.slot); wanted != either.slot_wants.end())
          want(wants, id, bind.source, bind.at).test(*wanted->second, false);
    }
  }

  // The same of what it captures for envelopes.
  void want_captures(const Route& route, std::size_t i, const std::vector<Change>& changes, Wants& wants) const {
    const ToolId id = route.steps[i].tool;
    for (const ToolRules::Stage& at : rules_.tools[id].stages) {
      const contract::Envelope& envelope = plan_.envelopes[at.envelope];
      const contract::Stage& stage = envelope.stages[at.stage];
      if (stage.role == Role::Constrained) continue;
      for (const ToolRules::Stage& held : indexes().stages) {
        if (held.envelope != at.envelope || envelope.stages[held.stage].role != Role::Constrained) continue;
        const auto value = number_at(held.fact, changes);
        if (!value) continue;
        const bool rises = envelope.constraint == contract::Constraint::MonotonicIncrease;
        Fit& fit = want(wants, id, stage.source, stage.at);
        if (stage.role == Role::Ceiling || (stage.role == Role::Initial && !rises)) fit.be_between(value, {}, false);
        else if (stage.role == Role::Floor || stage.role == Role::Initial) fit.be_between({}, value, false);
        else fit.be_between(value, value, false);  // of a band: the value itself is always in it
      }
    }
  }

  // The number that the refused call will have there.
  std::optional<Decimal> number_at(std::uint32_t fact, const std::vector<Change>& changes) const {
    const std::string place = pointer_of(indexes().paths[fact].path);
    for (const Change& one : changes)
      if (one.in == Change::In::Arguments && one.place == place) {
        if (one.nearest && one.nearest->kind() == json::Kind::Number)
          return Decimal::from_number(one.nearest->number_text());
        if (!one.must.empty() && one.must[0].op == "equals" && one.must[0].value.kind() == json::Kind::Number)
          return Decimal::from_number(one.must[0].value.number_text());
        return std::nullopt;
      }
    return number_of(verdict_.facts[fact]);
  }

  // Calls that are made before take from totals, and go on with chains, that the refused one is judged by.
  void name_moved(const Route& route, const std::set<std::string>& places, WayOption& option) const {
    std::set<std::string> moved;
    for (const RouteStep& step : route.steps) {
      if (step.tool == kNone) continue;
      for (const std::uint32_t index : tool().aggregates) {
        const contract::Aggregate& aggregate = plan_.aggregates[index];
        const bool counted = aggregate.metric == contract::Metric::Count && !aggregate.at;  // by the search
        if (!counted && std::ranges::count(rules_.tool(step.tool).aggregates, index) > 0) moved.insert(aggregate.name);
      }
      for (const ToolRules::Stage& own : indexes().stages)
        for (const ToolRules::Stage& other : rules_.tools[step.tool].stages) {
          const contract::Envelope& envelope = plan_.envelopes[own.envelope];
          if (other.envelope != own.envelope || envelope.stages[own.stage].role != Role::Constrained) continue;
          const bool goes_on =
              envelope.stages[other.stage].role == Role::Constrained && is_monotonic(envelope.constraint);
          if (goes_on || places.contains(pointer_of(envelope.stages[own.stage].at.path))) moved.insert(envelope.name);
        }
    }
    option.moved.assign(moved.begin(), moved.end());
  }

  const Rules& rules_;
  const Plan& plan_;
  const State& state_;
  const Proposal& proposal_;
  const Values arguments_;
  const Hiding* hiding_;
  CallVerdict verdict_;
  Fits fits_;
  std::set<std::string> places_;  // of arguments, to be changed
  std::vector<Change> fixed_;     // of what the model was asked, and what it said
  std::vector<Either> eithers_, must_call_;
  bool loops_ = false, hopeless_ = false, not_searched_ = false, derived_ = false;
  std::string impossible_;
};

}  // namespace

WayOut way_out(const Rules& rules, const State& state, const Proposal& proposal, std::size_t call,
               const CallVerdict& verdict, const Hiding* hiding) {
  for (const Refusal& one : verdict.failures)
    if (kind_of(one.code()) == Kind::Silent) return {WayOut::Status::None, std::string(kNoHint), {}};
  // The rules would let it be asked about; a person has answered.
  for (const Refusal& one : verdict.failures)
    if (one.code() == Code::checkpoint_denied) return {WayOut::Status::None, std::string(kNotHere), {}};
  Proposal alone = proposal;
  alone.calls = {proposal.calls[call]};
  WayOut out = Finder(rules, state, alone, hiding).find();
  if (out.text.empty()) out.text = in_words(out);
  return out;
}

}  // namespace baton::session
