// SPDX-License-Identifier: Apache-2.0
#include "session/state.h"

#include <algorithm>

#include "base/text.h"
#include "json/canonical.h"
#include "session/tests.h"

namespace baton::session {
namespace {

constexpr std::array<std::string_view, 3> kStandings = {"open", "killed", "closed"};
constexpr std::array<std::string_view, 3> kModes = {"enforce", "shadow", "log-only"};
constexpr std::array<std::string_view, 3> kGates = {"reject_all", "strip_partial", "strip_blocked"};
constexpr std::array<std::string_view, 3> kVerdicts = {"allow", "block", "checkpoint"};
constexpr std::array<std::string_view, 8> kCallStates = {
    "blocked", "awaiting_approval", "pending", "executing", "committed", "failed", "unknown", "cancelled"};

template <class Enum, std::size_t N>
std::optional<Enum> named(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Standing standing) { return kStandings[static_cast<std::size_t>(standing)]; }
std::string_view name_of(Mode mode) { return kModes[static_cast<std::size_t>(mode)]; }
std::string_view name_of(Gate gate) { return kGates[static_cast<std::size_t>(gate)]; }
std::string_view name_of(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }
std::string_view name_of(CallState state) { return kCallStates[static_cast<std::size_t>(state)]; }
std::optional<Mode> mode_named(std::string_view name) { return named<Mode>(kModes, name); }
std::optional<Gate> gate_named(std::string_view name) { return named<Gate>(kGates, name); }
std::optional<Verdict> verdict_named(std::string_view name) { return named<Verdict>(kVerdicts, name); }
std::optional<CallState> call_state_named(std::string_view name) { return named<CallState>(kCallStates, name); }

bool State::is_paused() const {
  return !paused_because.empty() || std::ranges::find(open, CallState::Awaiting, &OpenCall::state) != open.end();
}

bool State::has_label(std::string_view label) const { return std::ranges::binary_search(labels, label); }

const OpenCall* State::find(std::string_view call_id) const {
  const auto at = std::ranges::find(open, call_id, &OpenCall::id);
  return at == open.end() ? nullptr : &*at;
}
OpenCall* State::find(std::string_view call_id) { return const_cast<OpenCall*>(std::as_const(*this).find(call_id)); }

State open(const Rules& rules, const Opening& opening) {
  const Plan& plan = *rules.plan;
  State out;
  out.mode = opening.mode;
  out.gate = opening.gate;
  out.phase = plan.initial.value_or(0);
  out.labels = opening.labels;
  std::ranges::sort(out.labels);
  out.labels.erase(std::unique(out.labels.begin(), out.labels.end()), out.labels.end());
  out.denied = opening.denied;
  out.environment = opening.environment;
  out.environment.resize(plan.environment.size());
  out.calls_before = opening.calls_before;
  out.cost_before = opening.cost_before;
  out.slots.resize(plan.slots.size());
  out.records.resize(rules.watches.size());
  out.totals.resize(plan.aggregates.size());
  out.envelopes.resize(plan.envelopes.size());
  for (std::size_t i = 0; i < plan.envelopes.size(); ++i)
    out.envelopes[i].stages.resize(plan.envelopes[i].stages.size());
  return out;
}

std::vector<ToolId> denied_by_policy(const Plan& plan, json::Node principal) {
  static const std::vector<std::string> kNoNames;
  static const std::vector<Fact> kNoFacts;
  const Environment environment{kNoNames, kNoFacts, nullptr};
  const auto matches = [&](const contract::Invariant& one) {
    const json::Node value = principal ? one.at.path.resolve(principal) : json::Node();
    // Nothing but `exists: false` matches what is not there.
    return std::ranges::all_of(one.tests, [&](const contract::Test& test) { return passes(test, value, environment); });
  };
  std::vector<ToolId> out;
  for (ToolId id = 0; id < plan.tools.size(); ++id) {
    const contract::Tool& tool = plan.tools[id];
    bool denied = std::ranges::any_of(tool.deny, matches);
    bool has_session_allow = false, session_allows = false;
    for (const std::uint32_t index : tool.rules) {
      const contract::Rule& rule = plan.rules[index];
      if (!rule.allows) denied = denied || matches(rule.principal);
      else {
        has_session_allow = true;
        session_allows = session_allows || matches(rule.principal);
      }
    }
    if (!tool.allow.empty() && std::ranges::none_of(tool.allow, matches)) denied = true;
    if (has_session_allow && !session_allows) denied = true;
    if (plan.default_deny && tool.allow.empty() && !has_session_allow) denied = true;
    if (denied) out.push_back(id);
  }
  return out;
}

std::vector<Fact> environment_facts(const Plan& plan, const std::map<std::string, std::string>& variables,
                                    const Hiding* hiding) {
  std::vector<Fact> out;
  for (const std::string& name : plan.environment) {
    const auto at = variables.find(name);
    std::string text;
    if (at != variables.end()) {
      json::append_canonical_string(text, at->second);
      if (hiding != nullptr) text = hiding->keyed(text);
    }
    out.push_back(std::move(text));
  }
  return out;
}

json::Decimal reserved_cost(const State& state) {
  json::Decimal out;
  std::uint32_t counted = 0;  // calls of one step are neighbours
  for (const OpenCall& call : state.open) {
    if (!call.estimate || call.committed || call.state == CallState::Unknown || call.step == counted) continue;
    counted = call.step;
    out = out + *call.estimate;
  }
  return out;
}

namespace {

// Is the call about this entity, as the forbid with that index of the tool `by` sees it?
bool is_about(const ToolRules& rules, const std::vector<Fact>* facts, ToolId by, std::uint32_t index,
              const Fact& entity) {
  return facts != nullptr && is_there(entity) && std::ranges::any_of(rules.bars, [&](const ToolRules::Bar& bar) {
           return bar.by == by && bar.index == index && (*facts)[bar.fact] == entity;
         });
}

}  // namespace

bool forbids(const Rules& rules, ToolId by, const std::vector<Fact>& by_facts, ToolId tool,
             const std::vector<Fact>* facts) {
  const auto& list = rules.tool(by).forbids;
  if (std::ranges::find(list, tool) != list.end()) return true;
  const ToolRules& own = rules.tools[by];
  for (std::uint32_t i = 0; i < own.forbids_per.size(); ++i)
    if (is_about(rules.tools[tool], facts, by, i, by_facts[own.forbids_per[i]])) return true;
  return false;
}

ToolId forbidden_by(const Rules& rules, const State& state, ToolId tool, const std::vector<Fact>* facts,
                    std::uint32_t but) {
  for (const Forbidding& one : state.forbidden)
    if (one.tool == tool && one.number != but &&
        (one.index == kNone || is_about(rules.tools[tool], facts, one.by, one.index, one.entity)))
      return one.by;
  for (const OpenCall& call : state.open)
    if (call.state == CallState::Unknown && call.tool != kNone && !call.committed && call.number != but &&
        forbids(rules, call.tool, call.facts, tool, facts))
      return call.tool;
  return kNone;
}

const OpenCall* forbidden_in_flight_by(const Rules& rules, const State& state, ToolId tool,
                                       const std::vector<Fact>* facts, std::uint32_t number,
                                       std::span<const OpenCall* const> left_out) {
  for (const OpenCall& call : state.open) {
    const bool executes = call.state == CallState::Executing;
    if (call.tool == kNone || call.committed || call.number == number || call.state == CallState::Unknown ||
        !(executes || call.number < number) || std::ranges::find(left_out, &call) != left_out.end())
      continue;
    if (forbids(rules, call.tool, call.facts, tool, facts)) return &call;
  }
  return nullptr;
}

// --- as it is kept ----------------------------------------------------------------------------------------------------------------
// What is as it was at the beginning is left out: most of a state is.

namespace {

using json::Value;

Value number_value(const json::Decimal& number) { return Value::number(number.text()); }

Value texts(const std::vector<std::string>& list) {
  Value out = Value::array();
  for (const std::string& one : list) out.push(one);
  return out;
}

template <class T>
Value numbers(const std::vector<T>& list) {
  Value out = Value::array();
  for (const T& one : list) out.push(one);
  return out;
}

Value call_value(const OpenCall& call) {
  Value out = Value::object();
  out.set("id", call.id);
  if (call.tool != kNone) out.set("tool", call.tool);
  else out.set("name", call.tool_name);
  out.set("state", name_of(call.state));
  if (call.committed) out.set("committed", true);
  if (call.asks) out.set("asks", true);
  if (call.approved) out.set("approved", true);
  if (call.allow_on_timeout) out.set("allow_on_timeout", true);
  if (call.refused) out.set("refused", true);
  if (call.breaks_constraint) out.set("breaks_constraint", true);
  out.set("number", call.number);
  if (call.group != 0) out.set("group", call.group);
  if (!call.digest.empty()) out.set("digest", call.digest);
  if (!call.facts.empty()) out.set("facts", texts(call.facts));
  if (call.step != 0) out.set("step", call.step);
  if (call.estimate) out.set("estimate", number_value(*call.estimate));
  return out;
}

Value record_value(const Record& record) {
  Value out = Value::object();
  if (record.latest) out.set("latest", *record.latest);
  if (!record.by_entity.empty()) {
    // No two are the same; to look for each among the others takes the square of their number.
    Value::Object entities;
    entities.reserve(record.by_entity.size());
    for (const auto& [entity, met] : record.by_entity) entities.emplace_back(entity, met);
    out.set("entities", Value(std::move(entities)));
  }
  return out;
}

Value total_value(const Total& total) {
  Value out = Value::object();
  if (total.count != 0) out.set("count", total.count);
  if (total.sum != json::Decimal()) out.set("sum", number_value(total.sum));
  if (total.extreme) out.set("extreme", number_value(*total.extreme));
  if (!total.distinct.empty()) out.set("distinct", texts(total.distinct));
  return out;
}

Value held_value(const Held& held) {
  Value out = Value::object();
  Value stages = Value::array();
  bool any = false;
  for (const auto& stage : held.stages) {
    stages.push(stage ? number_value(*stage) : Value());
    any = any || stage;
  }
  if (any) out.set("stages", std::move(stages));
  if (held.began_by != 0) out.set("began_by", held.began_by);
  if (held.since != 0) out.set("since", held.since);
  if (held.strictest) out.set("strictest", number_value(*held.strictest));
  return out;
}

// Of what there is one for each of a plan's: those that are not empty, by their position.
template <class T, class Make>
void set_sparse(Value& out, std::string_view name, const std::vector<T>& list, const Make& make) {
  Value sparse = Value::object();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (Value one = make(list[i]); !one.members().empty()) sparse.set(std::to_string(i), std::move(one));
  if (!sparse.members().empty()) out.set(name, std::move(sparse));
}

Value loop_value(const std::vector<LoopStep>& loop) {
  Value out = Value::array();
  for (const LoopStep& step : loop) {
    Value calls = Value::array();
    for (const LoopStep::Call& call : step.calls) calls.push(std::to_string(call.tool) + ":" + hex(call.digest));
    out.push(std::move(calls));
  }
  return out;
}

}  // namespace

Value to_json(const State& state) {
  Value out = Value::object();
  out.set("standing", name_of(state.standing));
  if (!state.ended_because.empty()) out.set("ended_because", state.ended_because);
  if (!state.paused_because.empty()) out.set("paused_because", state.paused_because);
  out.set("mode", name_of(state.mode));
  out.set("gate", name_of(state.gate));
  if (state.cancel_requested) out.set("cancel_requested", true);
  out.set("phase", state.phase);
  out.set("steps", state.steps);
  out.set("tool_calls", state.tool_calls);
  out.set("cost", number_value(state.cost));
  if (state.calls_before != 0) out.set("calls_before", state.calls_before);
  if (state.cost_before != json::Decimal()) out.set("cost_before", number_value(state.cost_before));
  out.set("consecutive_blocks", state.consecutive_blocks);
  out.set("consecutive_errors", state.consecutive_errors);
  out.set("next_number", state.next_number);
  out.set("next_group", state.next_group);
  if (!state.labels.empty()) out.set("labels", texts(state.labels));
  if (!state.denied.empty()) out.set("denied", numbers(state.denied));
  if (!state.environment.empty()) out.set("environment", texts(state.environment));
  if (!state.slots.empty()) out.set("slots", texts(state.slots));
  if (!state.calls.empty()) {
    Value calls = Value::object();
    for (const auto& [tool, count] : state.calls) calls.set(std::to_string(tool), count);
    out.set("calls", std::move(calls));
  }
  if (!state.forbidden.empty()) {
    Value list = Value::array();
    for (const Forbidding& one : state.forbidden) {
      Value entry = Value(Value::Array{one.tool, one.by, one.number});
      if (one.index != kNone) {
        entry.push(one.index);
        entry.push(one.entity);
      }
      list.push(std::move(entry));
    }
    out.set("forbidden", std::move(list));
  }
  set_sparse(out, "records", state.records, record_value);
  set_sparse(out, "totals", state.totals, total_value);
  set_sparse(out, "envelopes", state.envelopes, held_value);
  if (!state.loop.empty()) out.set("loop", loop_value(state.loop));
  if (!state.open.empty()) {
    Value open = Value::array();
    for (const OpenCall& call : state.open) open.push(call_value(call));
    out.set("open", std::move(open));
  }
  return out;
}

namespace {

class StateReader {
 public:
  StateReader(const Rules& rules, json::Node node) : rules_(rules), node_(node) {}

  std::optional<State> read() {
    State out = open(rules_, {});
    const auto standing = named<Standing>(kStandings, text(node_, "standing"));
    const auto mode = mode_named(text(node_, "mode"));
    const auto gate = gate_named(text(node_, "gate"));
    if (!standing || !mode || !gate) return std::nullopt;
    out.standing = *standing;
    out.mode = *mode;
    out.gate = *gate;
    if (node_["ended_because"]) out.ended_because = text(node_, "ended_because");
    if (node_["paused_because"]) out.paused_because = text(node_, "paused_because");
    out.cancel_requested = node_["cancel_requested"].is_true();
    out.phase = static_cast<PhaseId>(whole(node_, "phase"));
    out.steps = whole(node_, "steps");
    out.tool_calls = whole(node_, "tool_calls");
    out.cost = decimal(node_["cost"]);
    if (node_["calls_before"]) out.calls_before = whole(node_, "calls_before");
    if (node_["cost_before"]) out.cost_before = decimal(node_["cost_before"]);
    out.consecutive_blocks = whole(node_, "consecutive_blocks");
    out.consecutive_errors = whole(node_, "consecutive_errors");
    out.next_number = static_cast<std::uint32_t>(whole(node_, "next_number"));
    out.next_group = static_cast<std::uint32_t>(whole(node_, "next_group"));
    out.labels = list(node_["labels"]);
    for (const json::Node one : node_["denied"].elements()) out.denied.push_back(tool(one));
    read_sized(node_["environment"], out.environment);
    read_sized(node_["slots"], out.slots);
    for (const json::Member one : node_["calls"].members()) out.calls[position(one.name())] = number(one.value);
    for (const json::Node one : node_["forbidden"].elements()) out.forbidden.push_back(forbidding(one));
    sparse(node_["records"], out.records, [&](json::Node one, Record& to) {
      if (one["latest"].is_boolean()) to.latest = one["latest"].boolean();
      for (const json::Member entity : one["entities"].members())
        to.by_entity.emplace(entity.name(), entity.value.is_true());
    });
    sparse(node_["totals"], out.totals, [&](json::Node one, Total& to) {
      if (one["count"]) to.count = number(one["count"]);
      if (one["sum"]) to.sum = decimal(one["sum"]);
      if (one["extreme"]) to.extreme = decimal(one["extreme"]);
      to.distinct = list(one["distinct"]);
    });
    sparse(node_["envelopes"], out.envelopes, [&](json::Node one, Held& to) {
      std::size_t i = 0;
      for (const json::Node stage : one["stages"].elements()) {
        if (i >= to.stages.size()) {
          ok_ = false;
          break;
        }
        if (!stage.is_null()) to.stages[i] = decimal(stage);
        ++i;
      }
      if (one["began_by"]) to.began_by = static_cast<std::uint32_t>(number(one["began_by"]));
      if (one["since"]) to.since = static_cast<std::uint32_t>(number(one["since"]));
      if (one["strictest"]) to.strictest = decimal(one["strictest"]);
    });
    for (const json::Node step : node_["loop"].elements()) out.loop.push_back(loop_step(step));
    for (const json::Node call : node_["open"].elements()) out.open.push_back(open_call(call));
    if (out.phase >= std::max<std::size_t>(rules_.plan->phases.size(), 1)) ok_ = false;
    if (!ok_) return std::nullopt;
    return out;
  }

 private:
  std::string text(json::Node from, std::string_view name) {
    const json::Node node = from[name];
    if (!node.is_string()) {
      ok_ = false;
      return {};
    }
    return std::string(node.string());
  }
  std::int64_t number(json::Node node) {
    const auto out = node.is_number() ? json::to_int64(node.number_text()) : std::nullopt;
    if (!out) ok_ = false;
    return out.value_or(0);
  }
  std::int64_t whole(json::Node from, std::string_view name) { return number(from[name]); }
  json::Decimal decimal(json::Node node) {
    if (node.is_number()) return json::Decimal::from_number(node.number_text());
    ok_ = false;
    return {};
  }
  ToolId tool(json::Node node) { return position_of(number(node), rules_.tools.size()); }
  std::uint32_t position_of(std::int64_t number, std::size_t size) {
    if (number >= 0 && static_cast<std::size_t>(number) < size) return static_cast<std::uint32_t>(number);
    ok_ = false;
    return 0;
  }
  std::uint32_t position(std::string_view name) {
    const auto number = json::to_int64(name.empty() || !std::ranges::all_of(name, is_digit) ? "-1" : name);
    if (!number || *number < 0 || *number > 1'000'000) ok_ = false;
    return static_cast<std::uint32_t>(number.value_or(0));
  }
  std::vector<std::string> list(json::Node node) {
    std::vector<std::string> out;
    for (const json::Node one : node.elements()) {
      if (!one.is_string()) ok_ = false;
      else out.emplace_back(one.string());
    }
    return out;
  }
  void read_sized(json::Node node, std::vector<Fact>& to) {
    if (!node) return;
    std::vector<Fact> read = list(node);
    if (read.size() != to.size()) ok_ = false;
    else to = std::move(read);
  }
  template <class T, class Read>
  void sparse(json::Node node, std::vector<T>& to, const Read& read) {
    for (const json::Member member : node.members()) {
      const std::uint32_t at = position(member.name());
      if (at >= to.size()) ok_ = false;
      else read(member.value, to[at]);
    }
  }
  Forbidding forbidding(json::Node node) {
    Forbidding out{tool(node.element(0)), tool(node.element(1)), static_cast<std::uint32_t>(number(node.element(2)))};
    if (!node.element(3)) return out;
    if (ok_) out.index = position_of(number(node.element(3)), rules_.tools[out.by].forbids_per.size());
    if (node.element(4).is_string()) out.entity = node.element(4).string();
    else ok_ = false;
    return out;
  }
  LoopStep loop_step(json::Node node) {
    LoopStep out;
    for (const json::Node one : node.elements()) {
      const std::string_view written = one.is_string() ? one.string() : std::string_view();
      const auto colon = written.find(':');
      if (colon == std::string_view::npos || written.size() != colon + 33) {
        ok_ = false;
        continue;
      }
      LoopStep::Call call{position(written.substr(0, colon)), {}};
      const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
      for (std::size_t i = 0; i < call.digest.size(); ++i)
        call.digest[i] =
            static_cast<std::uint8_t>(digit(written[colon + 1 + 2 * i]) << 4 | digit(written[colon + 2 + 2 * i]));
      out.calls.push_back(call);
    }
    return out;
  }
  OpenCall open_call(json::Node node) {
    OpenCall out;
    out.id = text(node, "id");
    if (node["tool"]) out.tool = tool(node["tool"]);
    else out.tool_name = text(node, "name");
    const auto state = call_state_named(text(node, "state"));
    if (!state) ok_ = false;
    out.state = state.value_or(CallState::Pending);
    out.committed = node["committed"].is_true();
    out.asks = node["asks"].is_true();
    out.approved = node["approved"].is_true();
    out.allow_on_timeout = node["allow_on_timeout"].is_true();
    out.refused = node["refused"].is_true();
    out.breaks_constraint = node["breaks_constraint"].is_true();
    out.number = static_cast<std::uint32_t>(whole(node, "number"));
    if (node["group"]) out.group = static_cast<std::uint32_t>(whole(node, "group"));
    if (node["digest"]) out.digest = text(node, "digest");
    out.facts = list(node["facts"]);
    if (out.tool != kNone && out.facts.size() != rules_.tools[out.tool].paths.size()) ok_ = false;
    if (node["step"]) out.step = static_cast<std::uint32_t>(whole(node, "step"));
    if (node["estimate"]) out.estimate = decimal(node["estimate"]);
    return out;
  }

  const Rules& rules_;
  const json::Node node_;
  bool ok_ = true;
};

}  // namespace

std::optional<State> read_state(const Rules& rules, json::Node node) {
  if (!node.is_object()) return std::nullopt;
  return StateReader(rules, node).read();
}

}  // namespace baton::session
