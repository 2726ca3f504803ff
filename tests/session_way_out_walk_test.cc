// SPDX-License-Identifier: Apache-2.0
// Ways out, judged by the engine itself. Packs and sessions are made from seeds; whoever is refused does what it is told, as an agent
// would, and must then go ahead. What lies just outside an interval that was offered must still be refused, and no sequence of
// calls that was tried out one by one may be shorter than the one that was told.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "json/decimal.h"
#include "session/route.h"
#include "way_out_world.h"

namespace baton::session {
namespace {

using json::Value;

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  int between(int least, int most) { return least + below(most - least + 1); }

 private:
  std::mt19937 engine_;
};

Value object(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value out = Value::object();
  for (const auto& [name, value] : members) out.set(name, value);
  return out;
}
Value list(std::vector<Value> elements) { return Value(Value::Array(std::move(elements))); }

// --- packs --------------------------------------------------------------------------------------------------------------------------
// Arguments: `id` says who it is about, `num` is a number under rules, `ref` must be what a slot has, `word` is a text. Outputs: `ok`
// and `v`.

class PackMaker {
 public:
  PackMaker(Dice& dice, int tools) : dice_(dice), tools_(tools) {}

  Value make() {
    Value contracts = Value::array();
    for (int i = 0; i < tools_; ++i) contracts.push(tool(i));
    Value session = object({{"risk_defaults", object({{"write", "allow"}})}});
    if (phases_) {
      session.set("phases", list({object({{"name", "p0"}, {"initial", true}}), object({{"name", "p1"}}),
                                  object({{"name", "p2"}, {"terminal", true}})}));
      session.set("transitions", object({{"p0", list({"p1"})}, {"p1", list({"p2", "p0"})}}));
    }
    session.set("session_limits", limits());
    session.set("aggregates", aggregates());
    session.set("envelopes", envelopes());
    Value out = object({{"contracts", std::move(contracts)}});
    if (dice_.chance(30)) {
      session.set("policy", object({{"label_gates", list({object({{"when_label", "taint"},
                                                                  {"deny_tools", list({name(dice_.below(tools_))})},
                                                                  {"reason", "not here"}})})}}));
      out.set("labels", list({"taint"}));
    }
    out.set("session", std::move(session));
    return out;
  }

  static std::string name(int tool) { return std::string("act_") + static_cast<char>('a' + tool); }

 private:
  Value tool(int i) {
    Value out = object({{"tool", name(i)}, {"side_effect", dice_.chance(30) ? "write" : "read"}});
    if (phases_ && dice_.chance(60)) {
      Value transitions = Value::object();
      if (dice_.chance(60)) transitions.set("valid_in_phases", list({"p" + std::to_string(dice_.below(3))}));
      if (dice_.chance(60)) transitions.set("advances_to", "p" + std::to_string(dice_.below(3)));
      if (!transitions.members().empty()) out.set("transitions", std::move(transitions));
    }
    Value preconditions = Value::array();
    for (int k = 0; k < 2; ++k) {
      if (!dice_.chance(35)) continue;
      const int prior = dice_.below(tools_);
      if (prior == i) continue;
      Value one = object({{"requires_prior_tool", name(prior)}});
      if (dice_.chance(50)) one.set("resource", object({{"bind_from", "arguments"}, {"path", "$.id"}}));
      if (dice_.chance(50)) one.set("with_output", list({object({{"path", "$.ok"}, {"equals", true}})}));
      preconditions.push(std::move(one));
    }
    if (dice_.chance(10)) preconditions.push(object({{"requires_step_count", object({{"gte", dice_.between(1, 4)}})}}));
    if (!preconditions.elements().empty()) out.set("preconditions", std::move(preconditions));
    if (dice_.chance(15)) out.set("forbids_after", list({name(dice_.below(tools_))}));
    if (dice_.chance(40)) {
      const bool output = dice_.chance(60);
      out.set("binds", list({object({{"name", "slot_" + std::to_string(i)},
                                     {"source", output ? "output" : "arguments"},
                                     {"path", output ? "$.v" : "$.num"}})}));
      slots_.push_back(i);
    }
    out.set("argument_value_invariants", invariants(i));
    if (dice_.chance(20))
      out.set("execution_constraints",
              object({{"arguments", list({object({{"path", "$.num"}, {"gte", dice_.between(-5, 5)}})})}}));
    if (dice_.chance(10)) out.set("checkpoint", object({{"when", "always"}, {"timeout_seconds", 60}}));
    return out;
  }

  Value invariants(int i) {
    Value out = Value::array();
    if (dice_.chance(60)) {
      Value one = object({{"path", "$.num"}});
      const int kind = dice_.below(4);
      if (kind == 0) one.set("one_of", list({1, 7, 20, 40}));
      if (kind == 1 || kind == 2) one.set("gte", dice_.between(-10, 10));
      if (kind == 2 || kind == 3) one.set("lte", dice_.between(10, 60));
      if (dice_.chance(20)) one.set("type", "integer");
      out.push(std::move(one));
    }
    if (dice_.chance(25)) out.push(object({{"path", "$.word"}, {"one_of", list({"red", "green"})}}));
    if (!slots_.empty() && slots_.back() != i && dice_.chance(40)) {
      Value one = object(
          {{"path", "$.ref"},
           {"ref",
            "slot_" + std::to_string(slots_[static_cast<std::size_t>(dice_.below(static_cast<int>(slots_.size())))])}});
      if (dice_.chance(40)) one.set("tolerance", Value::number("0.1"));
      out.push(std::move(one));
    }
    return out;
  }

  Value limits() {
    Value out = object({{"max_steps", 60}});
    if (dice_.chance(30)) out.set("max_tool_calls", dice_.between(3, 8));
    if (dice_.chance(30)) out.set("max_calls_per_tool", object({{name(dice_.below(tools_)), dice_.between(1, 2)}}));
    if (dice_.chance(30))
      out.set("loop_detection", object({{"window", dice_.between(3, 5)}, {"threshold", dice_.between(2, 3)}}));
    return out;
  }

  Value aggregates() {
    Value out = Value::array();
    for (int k = 0; k < 2; ++k) {
      if (!dice_.chance(50)) continue;
      const int metric = dice_.below(5);
      constexpr const char* kMetrics[] = {"sum", "max", "min", "count", "count_distinct"};
      Value one = object({{"name", "total_" + std::to_string(k)}, {"metric", kMetrics[metric]}, {"reason", "bounded"}});
      const int other = dice_.below(tools_);
      one.set("tool", dice_.chance(50) ? Value(name(other)) : Value("*"));
      if (metric <= 2) one.set("path", "$.num");
      if (metric == 4) one.set("path", "$.id");
      if (metric == 2) one.set("gte", dice_.between(-5, 5));
      else one.set("lte", metric >= 3 ? dice_.between(1, 4) : dice_.between(20, 80));
      if (metric == 0 && dice_.chance(30)) one.set("gte", dice_.between(1, 5));
      out.push(std::move(one));
    }
    return out;
  }

  Value envelopes() {
    Value out = Value::array();
    if (tools_ < 2 || !dice_.chance(60)) return out;
    const int reference = dice_.below(tools_), constrained = dice_.below(tools_);
    if (reference == constrained) return out;
    constexpr std::pair<const char*, const char*> kKinds[] = {{"lte_ceiling", "ceiling"},
                                                              {"gte_floor", "floor"},
                                                              {"within_band", "anchor"},
                                                              {"monotonic_decrease", "initial"},
                                                              {"monotonic_increase", "initial"}};
    const auto& [constraint, role] = kKinds[dice_.below(5)];
    const bool output = dice_.chance(50);
    Value stage = object({{"tool", name(reference)}, {"path", output ? "$.v" : "$.num"}, {"role", role}});
    if (output) stage.set("source", "output");
    Value one = object({{"name", "envelope"}, {"constraint", constraint}, {"reason", "held"}});
    if (std::string_view(role) == "anchor") one.set("band", Value::number("0.2"));
    one.set("stages", list({std::move(stage),
                            object({{"tool", name(constrained)}, {"path", "$.num"}, {"role", "constrained"}})}));
    out.push(std::move(one));
    return out;
  }

  Dice& dice_;
  const int tools_;
  const bool phases_ = dice_.chance(50);
  std::vector<int> slots_;
};

// --- an agent that does what it is told ---------------------------------------------------------------------------------------------

struct Made {
  std::string tool;
  Value arguments;
};

// Only what an agent cannot do by other arguments.
bool is_about_order(const Value& call) {
  static const std::set<std::string> kOrder = {"wrong_phase",
                                               "illegal_phase_transition",
                                               "forbidden_in_state",
                                               "precondition_not_met",
                                               "session_limit_exceeded",
                                               "loop_detected",
                                               "binding_unbound",
                                               "envelope_reference_missing",
                                               "label_denied",
                                               "session_paused",
                                               "policy_denied",
                                               "risk_gate_blocked"};
  return std::ranges::any_of(call.find("failures")->elements(),
                             [](const Value& one) { return kOrder.contains(one.find("code")->string()); });
}

class Agent {
 public:
  Agent(World world, std::vector<Made> history, Dice& dice, bool upper)
      : world_(std::move(world)), history_(std::move(history)), dice_(dice), upper_(upper) {}

  enum class End { Through, Inconclusive, Refused };

  // Plays the option for the call that was refused. `said`: why it did not end well.
  End follow(const Value& option, const std::string& tool, const Value& arguments, std::string& said) {
    target_ = arguments;
    for (const Value& change : option.find("changes")->elements()) {
      if (!apply(change, target_)) return End::Inconclusive;
    }
    if (option.find("other_arguments") != nullptr) target_.set("another", dice_.below(1 << 20));
    for (const Value& call : option.find("calls")->elements()) {
      const End end = make(call, said);
      if (end != End::Through) return end;
    }
    const Value answer = world_.propose(tool, target_);
    if (!is_blocked(answer)) return End::Through;
    said += "at last " + json::write(target_) + ": " + json::write(answer);
    return option.find("moved") != nullptr && !is_about_order(answer) ? End::Inconclusive : End::Refused;
  }

  // A value as the change wants it; false when this agent knows none.
  bool apply(const Value& change, Value& arguments) {
    const std::string& place = change.find("place")->string();
    std::optional<Value> value;
    std::optional<std::string> least, most;
    for (const Value& must : change.find("must")->elements()) {
      const std::string& op = must.find("op")->string();
      const Value& operand = *must.find("value");
      if (op == "exists" && !operand.boolean()) {
        arguments.erase(place.substr(1));
        return true;
      }
      if (op == "equals") value = operand;
      else if (op == "one_of") value = upper_ ? operand.elements().back() : operand.elements().front();
      else if (op == "gte") least = operand.number_text();
      else if (op == "lte") most = operand.number_text();
      else if (op == "type" && !value) value = operand.string() == "string" ? Value("word") : Value(3);
      else if (op == "exists" && !value) value = Value(3);
      else if (op == "scalar" && !value) value = Value("somebody");
      else if (op == "same_as") value = at(target_, operand.string());
      else if (op == "equals_slot") {
        const Value view = shown(*world_.rules, world_.state);
        value = *view.find("bindings")->find(operand.string());
      } else if (op == "counted_by") {
        for (const Made& made : history_)
          if (const Value* found = made.arguments.find_at(place);
              found != nullptr && counts(made.tool, operand.string()))
            value = *found;
      } else if (op == "not_counted_by" && !value) {
        value = Value("new_" + std::to_string(dice_.below(1 << 20)));
      }
    }
    if (least || most)
      value = Value::number(upper_ ? most.value_or(*(least ? least : most)) : least.value_or(*(most ? most : least)));
    if (!value) return false;
    return arguments.set_at(place, *value);
  }

 private:
  static Value at(const Value& arguments, const std::string& place) {
    const Value* found = arguments.find_at(place);
    return found == nullptr ? Value() : *found;
  }

  bool counts(const std::string& tool, const std::string& aggregate) const {
    const Plan& plan = *world_.rules->plan;
    return std::ranges::any_of(plan.tools[*plan.find_tool(tool)].aggregates,
                               [&](std::uint32_t index) { return plan.aggregates[index].name == aggregate; });
  }

  End make(const Value& call, std::string& said) {
    if (call.find("any_response") != nullptr) {
      world_.propose(object({{"calls", Value::array()}}));
      made_.push_back({});
      return End::Through;
    }
    const std::string& tool = call.find("tool")->string();
    std::vector<Value> attempts;
    // Whom nothing is said of, it is about the same as the refused one: totals count each of them.
    const Value* id = target_.find("id");
    Value first = object({{"id", id != nullptr && id->is_string() ? *id : Value("nobody")}, {"num", 3}});
    first.set("another", dice_.below(1 << 20));
    attempts.push_back(first);
    if (const Value* same = call.find("same"))
      for (const Value& one : same->elements()) {
        const std::string& place = one.find("place")->string();
        if (const Value* as_this = one.find("as_this")) attempts[0].set_at(place, at(target_, as_this->string()));
        if (const Value* before = one.find("as_call"))
          attempts[0].set_at(place, at(made_[static_cast<std::size_t>(std::stoi(before->number_text()))].arguments,
                                       one.find("at")->string()));
        if (const Value* known = one.find("known_to")) {
          attempts.clear();
          for (const Made& made : history_) {
            if (made.tool != known->string()) continue;
            attempts.push_back(first);
            attempts.back().set_at(place, at(made.arguments, "/id"));
          }
        }
      }
    const auto is_prescribed = [&](const std::string& place) {
      for (const std::string_view name : {"same", "wanted"})
        if (const Value* list = call.find(name))
          for (const Value& one : list->elements())
            if (one.find("place")->string() == place) return true;
      return false;
    };
    Value output = object({{"ok", true}, {"v", 3}});
    Value last;
    for (Value arguments : attempts) {
      bool fits = true;
      if (const Value* wanted = call.find("wanted"))
        for (const Value& one : wanted->elements())
          fits = apply(one, one.find("in")->string() == "output" ? output : arguments) && fits;
      if (!fits) return End::Inconclusive;
      World before = world_;
      Value answer = world_.propose(tool, arguments);
      // Its arguments may need a hand, in ways that its own refusal tells.
      for (int k = 0; k < 4 && is_blocked(answer) && !is_about_order(answer); ++k) {
        world_ = before;
        const Value* changes = answer.find_at("/way_out/options/0/changes");
        if (changes == nullptr) break;
        for (const Value& one : changes->elements()) {
          if (is_prescribed(one.find("place")->string())) return End::Inconclusive;  // what calls before it took
          apply(one, arguments);
        }
        answer = world_.propose(tool, arguments);
      }
      if (!is_blocked(answer)) {
        world_.commit(answer, output);
        history_.push_back({tool, arguments});
        made_.push_back({tool, arguments});
        return End::Through;
      }
      world_ = before;
      last = answer;
    }
    said += "on the way " + tool + ": " + json::write(last);
    if (last.is_null()) return End::Refused;
    return is_about_order(last) ? End::Refused : End::Inconclusive;
  }

  World world_;
  std::vector<Made> history_;
  Dice& dice_;
  const bool upper_;
  Value target_;
  std::vector<Made> made_;
};

Value random_arguments(Dice& dice) {
  Value out = object(
      {{"id", "e" + std::to_string(dice.below(3))}, {"num", dice.between(-15, 70)}, {"ref", dice.between(0, 20)}});
  if (dice.chance(50)) out.set("word", dice.chance(50) ? "red" : "blue");
  if (dice.chance(5)) out.erase("num");
  if (dice.chance(5)) out.set("id", list({1}));
  if (dice.chance(5)) out.set("num", "many");
  return out;
}

struct Figures {
  int packs = 0, blocked = 0, options = 0, through = 0, inconclusive = 0, with_calls = 0, edges = 0, none = 0,
      unknown = 0;
};

// Just outside what was offered nothing passes.
void try_outside(const World& world, const std::string& tool, const Value& arguments, const Value& option,
                 Figures& figures) {
  const Value& changes = *option.find("changes");
  if (changes.elements().size() != 1 || !option.find("calls")->elements().empty()) return;
  const std::string& place = changes.elements()[0].find("place")->string();
  for (const Value& must : changes.elements()[0].find("must")->elements()) {
    const std::string& op = must.find("op")->string();
    if (op != "gte" && op != "lte") continue;
    const json::Decimal edge = json::Decimal::from_number(must.find("value")->number_text());
    const json::Decimal step = json::Decimal::from_number("0.001");
    Value outside = arguments;
    outside.set_at(place, Value::number((op == "gte" ? edge - step : edge + step).text()));
    World copy = world;
    const Value answer = copy.propose(tool, outside);
    ++figures.edges;
    EXPECT_TRUE(is_blocked(answer)) << json::write(option) << " but also " << json::write(outside);
  }
}

// No tool is named that the session may not call, and no text of an argument is said.
void keeps_secrets(const World& world, const std::string& tool, const Value& answer) {
  const std::string failures = json::write(*answer.find("failures")), way = json::write(*answer.find("way_out"));
  for (const std::string_view text : {"\"e0\"", "\"e1\"", "\"e2\"", "blue", "many"})
    EXPECT_EQ((failures + way).find(text), std::string::npos) << text << " in " << failures << way;
  for (const contract::LabelGate& gate : world.rules->plan->label_gates)
    for (const ToolId id : gate.tools) {
      const std::string& hidden = world.rules->tool(id).name;
      if (hidden == tool) continue;
      EXPECT_EQ((failures + way).find(hidden), std::string::npos) << hidden << " in " << failures << way;
    }
}

void walk(unsigned seed, Figures& figures) {
  Dice dice(seed);
  const Value pack = PackMaker(dice, dice.between(2, 6)).make();
  auto opened = World::open(pack);
  if (!opened) return;
  ++figures.packs;
  World world = *opened;
  std::vector<Made> history;
  for (int turn = 0; turn < 12; ++turn) {
    const std::string tool = PackMaker::name(dice.below(6));
    const Value arguments = random_arguments(dice);
    const Value answer = world.propose(tool, arguments);
    if (!is_blocked(answer)) {
      world.commit(answer, object({{"ok", dice.chance(60)}, {"v", dice.between(0, 30)}}));
      history.push_back({tool, arguments});
      continue;
    }
    ++figures.blocked;
    const Value& way = *answer.find("way_out");
    keeps_secrets(world, tool, answer);
    figures.none += way.find("status")->string() == "none" ? 1 : 0;
    figures.unknown += way.find("status")->string() == "unknown" ? 1 : 0;
    for (const Value& option : way.find("options")->elements()) {
      try_outside(world, tool, arguments, option, figures);
      for (const bool upper : {false, true}) {
        ++figures.options;
        figures.with_calls += option.find("calls")->elements().empty() ? 0 : 1;
        std::string said;
        const auto end = Agent(world, history, dice, upper).follow(option, tool, arguments, said);
        figures.through += end == Agent::End::Through ? 1 : 0;
        figures.inconclusive += end == Agent::End::Inconclusive ? 1 : 0;
        EXPECT_NE(end, Agent::End::Refused) << "seed " << seed << " turn " << turn << "\n"
                                            << json::write(pack) << "\n"
                                            << tool << json::write(arguments) << "\n"
                                            << json::write(way) << "\n"
                                            << said;
      }
    }
  }
}

TEST(WayOutWalk, WhoeverDoesWhatItSaysGoesAhead) {
  Figures figures;
  for (unsigned seed = 1; seed <= 3000 && !testing::Test::HasFailure(); ++seed) walk(seed, figures);
  // What was made must be worth something: many ways, sequences among them, and few that could not be followed to the end.
  std::printf("packs %d blocked %d options %d through %d inconclusive %d with calls %d edges %d none %d unknown %d\n",
              figures.packs, figures.blocked, figures.options, figures.through, figures.inconclusive,
              figures.with_calls, figures.edges, figures.none, figures.unknown);
  EXPECT_GT(figures.packs, 700);
  EXPECT_GT(figures.with_calls, 1000);
  EXPECT_GT(figures.edges, 500);
  EXPECT_LT(figures.inconclusive * 20, figures.options);
}

// Many that have to come first, in whatever order: there are more orders than could be gone through.
TEST(WayOutWalk, ManyNeedsAreNoMaze) {
  for (const std::size_t count : {kRouteCallsMax, kRouteCallsMax + 1}) {
    Value contracts = Value::array(), preconditions = Value::array();
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "needed_" + std::to_string(i);
      contracts.push(object({{"tool", name}}));
      preconditions.push(object(
          {{"requires_prior_tool", name}, {"resource", object({{"bind_from", "arguments"}, {"path", "$.id"}})}}));
    }
    contracts.push(object({{"tool", "last"}, {"preconditions", preconditions}}));
    auto world = World::open(object({{"contracts", contracts}}));
    ASSERT_TRUE(world);
    const Value answer = world->propose("last", object({{"id", "somebody"}}));
    const Value& way = *answer.find("way_out");
    if (count > kRouteCallsMax) {
      EXPECT_EQ(way.find("status")->string(), "unknown");
      continue;
    }
    ASSERT_EQ(way.find("status")->string(), "found");
    EXPECT_EQ(way.find_at("/options/0/calls")->elements().size(), count);
  }
}

// --- nothing shorter ----------------------------------------------------------------------------------------------------------------

// Every sequence of calls up to a length, tried out.
class BruteForce {
 public:
  BruteForce(std::string tool, const Value& arguments) : tool_(std::move(tool)), target_(arguments) {}

  // The sequence that gets there, in words; empty when none of this length does.
  std::string find(const World& world, int length) {
    if (length == 0) return is_there(world) ? "." : "";
    for (const contract::Tool& tool : world.rules->plan->tools)
      for (const Value& id : ids_)
        for (const Value& v : {Value(3), *target_.find("ref"), number()}) {
          World next = world;
          Value arguments = object({{"id", id}, {"num", v}, {"ref", *target_.find("ref")}});
          Value answer = next.propose(tool.name, arguments);
          for (int k = 0; k < 3 && is_blocked(answer) && !is_about_order(answer); ++k) {
            const Value* changes = answer.find_at("/way_out/options/0/changes");
            if (changes == nullptr) break;
            next = world;
            Dice dice(1);
            Agent agent(world, {}, dice, false);
            for (const Value& one : changes->elements()) agent.apply(one, arguments);
            answer = next.propose(tool.name, arguments);
          }
          if (is_blocked(answer)) continue;
          next.commit(answer, object({{"ok", true}, {"v", v}}));
          if (const std::string rest = find(next, length - 1); !rest.empty())
            return tool.name + json::write(arguments) + " " + rest;
        }
    World next = world;
    next.propose(object({{"calls", Value::array()}}));
    if (const std::string rest = find(next, length - 1); !rest.empty()) return "text " + rest;
    return "";
  }

 private:
  Value number() const {
    const Value* num = target_.find("num");
    return num != nullptr && num->kind() == json::Kind::Number ? *num : Value(5);
  }

  // It goes ahead, or would with other arguments.
  bool is_there(World world) const {
    const Value answer = world.propose(tool_, target_);
    if (!is_blocked(answer)) return true;
    if (is_about_order(answer)) return false;
    const Value* calls = answer.find_at("/way_out/options/0/calls");
    return calls != nullptr && calls->elements().empty();
  }

  const std::string tool_;
  const Value target_;
  const std::vector<Value> ids_ = {*target_.find("id"), Value("e0"), Value("zz")};
};

TEST(WayOutWalk, NothingIsShorter) {
  int compared = 0, none = 0;
  for (unsigned seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    Dice dice(seed * 7919);
    const int tools = dice.between(2, 4);
    const Value pack = PackMaker(dice, tools).make();
    auto world = World::open(pack);
    if (!world) continue;
    for (int turn = 0; turn < 4; ++turn) {
      const std::string tool = PackMaker::name(dice.below(tools));
      Value arguments = random_arguments(dice);
      const Value answer = world->propose(tool, arguments);
      if (!is_blocked(answer)) {
        world->commit(answer, object({{"ok", dice.chance(60)}, {"v", dice.between(0, 30)}}));
        continue;
      }
      const Value& way = *answer.find("way_out");
      std::size_t told = 3;  // none: then nothing up to two calls may lead there
      if (way.find("text")->string() == "no sequence of calls leads there") ++none;
      else if (way.find("options")->elements().empty()) continue;
      for (const Value& option : way.find("options")->elements())
        told = std::min(told, option.find("calls")->elements().size());
      if (told == 0 || !is_about_order(answer)) continue;
      ++compared;
      BruteForce force(tool, arguments);
      for (int length = 0; length < static_cast<int>(told); ++length)
        EXPECT_EQ(force.find(*world, length), "") << "seed " << seed << " turn " << turn << "\n"
                                                  << json::write(pack) << "\n"
                                                  << tool << json::write(arguments) << "\n"
                                                  << json::write(way);
    }
  }
  std::printf("compared %d none %d\n", compared, none);
  EXPECT_GT(compared, 200);
  EXPECT_GT(none, 50);
}

}  // namespace
}  // namespace baton::session
