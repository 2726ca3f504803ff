// SPDX-License-Identifier: Apache-2.0
#include "session/fitting.h"

#include <algorithm>

#include "json/parse.h"
#include "session/judge.h"

namespace baton::session {
namespace {

using contract::Metric;
using contract::Op;
using contract::Role;
using contract::Test;
using json::Decimal;
using json::Kind;
using json::Value;

constexpr unsigned bit(Kind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr unsigned kAbsent = 1u << 6;
constexpr unsigned kNothing = kAbsent | bit(Kind::Null);  // what `exists: false` takes
constexpr unsigned kScalar = bit(Kind::Boolean) | bit(Kind::Number) | bit(Kind::String);

// Which kinds can pass at all.
unsigned kinds_of(const Test& test) {
  switch (test.op) {
    case Op::Exists: return test.value.boolean() ? 0x7f & ~kNothing : kNothing;
    case Op::Equals: return bit(test.value.kind());
    case Op::ExactMatch:
    case Op::Regex:
    case Op::EqualsEnv: return bit(Kind::String);
    case Op::Type:
      if (test.value.string() == "integer") return bit(Kind::Number);
      for (const Kind kind : {Kind::Boolean, Kind::Number, Kind::String, Kind::Array, Kind::Object})
        if (json::kind_name(kind) == test.value.string()) return bit(kind);
      return 0;
    case Op::Contains: return bit(Kind::Array) | (test.value.is_string() ? bit(Kind::String) : 0u);
    case Op::OneOf: {
      unsigned out = 0;
      for (const Value& one : test.value.elements()) out |= bit(one.kind());
      return out;
    }
    case Op::Gte:
    case Op::Lte: return bit(Kind::Number);
    case Op::LengthGte:
    case Op::LengthLte: return bit(Kind::String) | bit(Kind::Array);
  }
  return 0;
}

void raise(std::optional<Decimal>& least, const Decimal& to) {
  if (!least || to > *least) least = to;
}
void lower(std::optional<Decimal>& most, const Decimal& to) {
  if (!most || to < *most) most = to;
}

// The next whole number up or down; itself when it is one.
Decimal whole(const Decimal& number, bool up) {
  const std::string text = number.text();
  if (json::is_integer(text)) return number;
  Decimal out = Decimal::from_number(text.substr(0, text.find('.')));  // towards zero
  if (up && out < number) out = out + Decimal(1);
  if (!up && out > number) out = out - Decimal(1);
  return out;
}

Value number_value(const Decimal& number) { return Value::number(number.text()); }

// A value of a contract as a document, so that the engine's own operators judge it.
json::Document document_of(const Value& value) { return std::move(*json::parse_owned(json::write(value))); }

}  // namespace

// --- taking rules in --------------------------------------------------------------------------------------------------------------

void Fit::test(const std::vector<Test>& tests, bool may_be_absent) {
  unsigned kinds = 0x7f;
  for (const Test& test : tests) {
    kinds &= kinds_of(test);
    tests_.push_back(&test);
    if (test.op == Op::Gte) raise(least_, test.number);
    else if (test.op == Op::Lte) lower(most_, test.number);
    else if (test.op == Op::LengthGte) raise(length_least_, test.number);
    else if (test.op == Op::LengthLte) lower(length_most_, test.number);
    else if (test.op == Op::Type && test.value.string() == "integer") integer_ = true;
  }
  kinds_ &= may_be_absent ? kinds | kAbsent : kinds;
}

void Fit::be_between(const std::optional<Decimal>& least, const std::optional<Decimal>& most, bool may_be_absent) {
  kinds_ &= bit(Kind::Number) | (may_be_absent ? kAbsent : 0u);
  if (least) raise(least_, *least);
  if (most) lower(most_, *most);
}

void Fit::be_there() { kinds_ &= ~kAbsent; }
void Fit::be_scalar() {
  kinds_ &= kScalar;
  scalar_ = true;
}
void Fit::be_entity(std::string_view type) {
  be_scalar();
  if (type == "string") kinds_ &= bit(Kind::String);
  else if (type == "boolean") kinds_ &= bit(Kind::Boolean);
  else kinds_ &= bit(Kind::Number);
  integer_ = integer_ || type == "integer";
}
void Fit::be_left_out() { kinds_ &= kNothing; }
void Fit::be_nothing(bool may_be_absent) { kinds_ &= may_be_absent ? kAbsent : 0u; }

void Fit::equal(const Fact& value, const std::string& slot) {
  be_there();
  equals_.push_back({value, slot});
  if (is_number(value)) kinds_ &= bit(Kind::Number);
}

void Fit::be_counted(std::shared_ptr<const Tally> tally, const std::string& aggregate, bool before,
                     bool may_be_absent) {
  if (!may_be_absent) be_there();
  counted_.push_back({std::move(tally), aggregate, before});
}

// --- what passes --------------------------------------------------------------------------------------------------------------------

bool Fit::admits_present(json::Node value) const {
  if ((kinds_ & bit(value.kind())) == 0) return false;
  if (value.is_number()) {
    if (!json::is_within_digits(value.number_text())) return false;  // a slot may have it, and no arguments
    const Decimal number = Decimal::from_number(value.number_text());
    if ((least_ && number < *least_) || (most_ && number > *most_)) return false;
  }
  const auto passing = [&](const Test* test) { return passes(*test, value, environment_); };
  if (!std::ranges::all_of(tests_, passing)) return false;
  const Fact fact = fact_of(value, *at_, environment_.hiding);
  return std::ranges::all_of(equals_, [&](const Equal& one) { return one.value == fact; }) &&
         std::ranges::all_of(counted_, [&](const Counted& one) { return one.tally->has(fact) == one.before; });
}

bool Fit::admits(json::Node value) const { return value ? admits_present(value) : (kinds_ & kAbsent) != 0; }

bool Fit::admits_new() const {
  return (kinds_ & kScalar) != 0 && equals_.empty() && !listed() &&
         std::ranges::none_of(counted_, [](const Counted& one) { return one.before; });
}

std::optional<std::vector<Value>> Fit::listed() const {
  std::optional<std::vector<Value>> out;
  const auto take = [&](const Value& value) {
    const json::Document document = document_of(value);
    if (admits_present(document.root())) out->push_back(value);
  };
  for (const Test* test : tests_) {
    if (test->op != Op::Equals && test->op != Op::ExactMatch && test->op != Op::OneOf) continue;
    out.emplace();
    if (test->op != Op::OneOf) take(test->value);
    else
      for (const Value& one : test->value.elements()) take(one);
    return out;
  }
  // Of what slots have, numbers and booleans are said.
  for (const Equal& one : equals_) {
    if (!is_number(one.value) && one.value != "true" && one.value != "false") continue;
    out.emplace();
    take(is_number(one.value) ? Value::number(one.value) : Value(one.value == "true"));
    return out;
  }
  return out;
}

Change Fit::change(json::Node current) const {
  Change out;
  out.place = pointer_of(at_->path);
  const bool absent = (kinds_ & kAbsent) != 0;
  const auto nothing_passes = [&] {
    out.must.clear();
    if (absent) out.must.push_back({"exists", false});
    else out.impossible = true;
    return out;
  };
  if ((kinds_ & ~kNothing) == 0 && !listed()) return nothing_passes();
  if (const auto list = listed()) {
    if (list->empty()) return nothing_passes();
    if (list->size() == 1) out.must.push_back({"equals", list->front()});
    else out.must.push_back({"one_of", Value(*list)});
    std::optional<Decimal> best;
    for (const Value& one : *list) {
      if (!current.is_number() || one.kind() != Kind::Number) continue;
      const Decimal apart = Decimal::from_number(one.number_text()) - Decimal::from_number(current.number_text());
      const Decimal distance = apart < Decimal() ? -apart : apart;
      if (best && *best <= distance) continue;
      best = distance;
      out.nearest = one;
    }
    out.may_be_left_out = absent;
    return out;
  }
  const auto least = least_ && integer_ ? whole(*least_, true) : least_;
  const auto most = most_ && integer_ ? whole(*most_, false) : most_;
  if ((least && most && *least > *most) ||
      (length_most_ && (*length_most_ < Decimal() || (length_least_ && *length_least_ > *length_most_))))
    return nothing_passes();
  if (integer_) out.must.push_back({"type", "integer"});
  if (least && most && *least == *most) {
    out.must.push_back({"equals", number_value(*least)});
  } else {
    if (least) out.must.push_back({"gte", number_value(*least)});
    if (most) out.must.push_back({"lte", number_value(*most)});
  }
  if (length_least_) out.must.push_back({"length_gte", number_value(*length_least_)});
  if (length_most_) out.must.push_back({"length_lte", number_value(*length_most_)});
  for (const Test* test : tests_)
    if (test->op == Op::Contains || test->op == Op::Regex || test->op == Op::EqualsEnv)
      out.must.push_back({std::string(name_of(test->op)), test->value});
  for (const Equal& one : equals_) out.must.push_back({"equals_slot", one.slot});
  for (const Counted& one : counted_) out.must.push_back({one.before ? "counted_by" : "not_counted_by", one.aggregate});
  // What kind it must be, where nothing above says so.
  const unsigned present = kinds_ & ~kAbsent;
  for (const Kind kind : {Kind::Boolean, Kind::Number, Kind::String, Kind::Array, Kind::Object})
    if (present == bit(kind) && !least && !most && !integer_)
      out.must.insert(out.must.begin(), {"type", json::kind_name(kind)});
  if (scalar_ && present == kScalar) out.must.push_back({"scalar", true});
  if (out.must.empty()) out.must.push_back({"exists", true});
  out.may_be_left_out = absent;
  if (current.is_number() && (least || most)) {
    const Decimal number = Decimal::from_number(current.number_text());
    if (least && number < *least) out.nearest = number_value(*least);
    if (most && number > *most) out.nearest = number_value(*most);
  }
  return out;
}

// --- everything about a tool ----------------------------------------------------------------------------------------------------------

namespace {

void take_aggregate(const Rules& rules, const State& state, std::uint32_t index, Fit& fit) {
  const contract::Aggregate& aggregate = rules.plan->aggregates[index];
  const contract::Bounds bounds = bounds_of(aggregate, state);
  const auto tally = std::make_shared<const Tally>(rules, state, index, Beside{});
  const auto holds = [&](const Decimal& value) {
    return (!bounds.gte || value >= *bounds.gte) && (!bounds.lte || value <= *bounds.lte);
  };
  const bool optional = aggregate.all_tools;
  switch (aggregate.metric) {
    case Metric::Count:
      if (!holds(Decimal(tally->count() + 1))) fit.be_left_out();
      return;
    case Metric::Sum: {
      Decimal others = tally->value();
      std::optional<Decimal> least, most;
      if (bounds.gte) least = *bounds.gte - others;
      if (bounds.lte) most = *bounds.lte - others;
      return fit.be_between(least, most, optional);
    }
    case Metric::Max:
    case Metric::Min: {
      const bool is_max = aggregate.metric == Metric::Max;
      const auto& extreme = tally->extreme();
      // What is there already breaks the bound that it drives against, or meets the other one for good.
      const bool broken =
          extreme && (is_max ? bounds.lte && *extreme > *bounds.lte : bounds.gte && *extreme < *bounds.gte);
      if (broken) return fit.be_nothing(optional);
      std::optional<Decimal> least = bounds.gte, most = bounds.lte;
      if (is_max && extreme && least && *extreme >= *least) least.reset();
      if (!is_max && extreme && most && *extreme <= *most) most.reset();
      return fit.be_between(least, most, optional);
    }
    case Metric::CountDistinct: {
      const Decimal known = tally->value();
      const bool fresh = holds(known + Decimal(1));
      const bool old = known > Decimal() ? holds(known) : fresh;  // where none was counted, each is new
      if (!old && !fresh) return fit.be_nothing(optional);
      if (old != fresh) fit.be_counted(tally, aggregate.name, old, optional);
      else if (!optional) fit.be_there();
      return;
    }
  }
}

void take_ref(const Rules& rules, const State& state, const contract::Invariant& one, Fit& fit) {
  const Fact& slot = state.slots[*one.ref];
  fit.be_there();
  if (!is_there(slot)) return;
  if (!one.tolerance) return fit.equal(slot, rules.plan->slots[*one.ref]);
  const auto bound = number_of(slot);
  if (!bound) return fit.be_nothing(false);
  const Decimal band = *one.tolerance * (*bound < Decimal() ? -*bound : *bound);
  fit.be_between(*bound - band, *bound + band, false);
}

}  // namespace

Fits fits_of(const Rules& rules, const State& state, ToolId id, bool with_references, const Hiding* hiding) {
  const Plan& plan = *rules.plan;
  const contract::Tool& tool = rules.tool(id);
  const Environment environment{plan.environment, state.environment, hiding};
  Fits out;
  const auto at = [&](const contract::PathAt& path) -> Fit& {
    return out.try_emplace(pointer_of(path.path), path, environment).first->second;
  };
  for (const auto* list : {&tool.arguments, &tool.input_assertions, &tool.execution_constraints})
    for (const contract::Invariant& one : *list) {
      if (one.scope != contract::Scope::Call) continue;
      Fit& fit = at(one.at);
      if (!one.tests.empty()) fit.test(one.tests, one.origin == contract::Origin::Schema);
      if (one.ref && with_references) take_ref(rules, state, one, fit);
    }
  for (const std::uint32_t index : tool.aggregates) {
    if (!plan.aggregates[index].at) continue;
    Fit& fit = at(*plan.aggregates[index].at);
    take_aggregate(rules, state, index, fit);
  }
  if (!with_references) return out;
  for (const ToolRules::Stage& stage : rules.tools[id].stages) {
    const contract::Stage& here = plan.envelopes[stage.envelope].stages[stage.stage];
    if (here.role != Role::Constrained) continue;
    const Corridor corridor = corridor_of(rules, state, id, stage, {});
    if (corridor.begins) continue;
    Fit& fit = at(here.at);
    if (corridor.missing != nullptr) fit.be_between({}, {}, false);
    else fit.be_between(corridor.least, corridor.most, false);
  }
  // Which entity a call is about must be one value.
  for (std::size_t i = 0; i < tool.preconditions.size(); ++i)
    if (tool.preconditions[i].resource) at(*tool.preconditions[i].resource).be_scalar();
  // And of the type that is fixed, where a forbid is about one entity.
  for (const contract::EntityForbid& one : tool.forbids_per) at(one.per).be_entity(one.type);
  for (const ToolRules::Bar& bar : rules.tools[id].bars) {
    const contract::EntityForbid& one = rules.tool(bar.by).forbids_per[bar.index];
    at(one.target_per).be_entity(one.target_type);
  }
  return out;
}

Fits boundary_fits(const Rules& rules, const State& state, const std::vector<contract::Invariant>& assertions,
                   const Hiding* hiding) {
  const Environment environment{rules.plan->environment, state.environment, hiding};
  Fits out;
  for (const contract::Invariant& one : assertions)
    if (one.scope == contract::Scope::Boundary)
      out.try_emplace(pointer_of(one.at.path), one.at, environment).first->second.test(one.tests, false);
  return out;
}

}  // namespace baton::session
