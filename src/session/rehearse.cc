// SPDX-License-Identifier: Apache-2.0
#include "session/rehearse.h"

#include <algorithm>

#include "json/parse.h"
#include "session/judge.h"
#include "session/tests.h"

namespace baton::session {
namespace {

using contract::Invariant;
using contract::Op;
using contract::PathAt;
using contract::Source;
using json::Value;

constexpr std::string_view kVariable = "set";  // what every variable of the environment is
constexpr std::size_t kRegexCharactersMax = 256;
constexpr std::size_t kLengthMax = 10'000;  // nothing longer is made up
constexpr std::int64_t kTextStepsMax = 1'000;

Value at_path(const json::Path& path, Value value, Value into) {
  const std::string pointer = pointer_of(path);
  if (pointer.empty()) return value;
  // Elements before the one that is wanted are nulls.
  for (std::size_t i = 0; i < path.steps().size(); ++i) {
    const auto* position = std::get_if<std::size_t>(&path.steps()[i]);
    if (position == nullptr) continue;
    std::size_t end = 0;  // of the pointer to the list
    for (std::size_t k = 0; k < i; ++k) end = pointer.find('/', end + 1);
    const std::string before = i == 0 ? std::string() : pointer.substr(0, end);
    const Value* there = into.find_at(before);
    Value list = there != nullptr && there->is_array() ? *there : Value::array();
    if (list.elements().size() <= *position) list.elements().resize(std::min(*position + 1, kLengthMax));
    into.set_at(before, std::move(list));
  }
  into.set_at(pointer, std::move(value));
  return into;
}

std::size_t least_length(const std::vector<const Invariant*>& rules) {
  std::size_t out = 0;
  for (const Invariant* rule : rules)
    for (const contract::Test& test : rule->tests)
      if (test.op == Op::LengthGte)
        while (out < kLengthMax && json::Decimal(static_cast<std::int64_t>(out)) < test.number) ++out;
  return out;
}

std::vector<Value> candidates(const std::vector<const Invariant*>& rules, const std::vector<Value>& known) {
  std::vector<Value> out = known;
  std::vector<std::string> texts = {"x"};
  Value list = Value::array();
  for (const Invariant* rule : rules)
    for (const contract::Test& test : rule->tests) switch (test.op) {
        case Op::Equals:
        case Op::ExactMatch: out.push_back(test.value); break;
        case Op::OneOf:
          if (test.value.is_array())
            for (const Value& one : test.value.elements()) out.push_back(one);
          break;
        case Op::Contains:
          list.push(test.value);
          if (test.value.is_string()) texts.push_back(test.value.string());
          break;
        case Op::Regex: {
          std::string least, most;
          if (test.regex && test.regex->PossibleMatchRange(&least, &most, kRegexCharactersMax)) {
            texts.push_back(least);
            texts.push_back(least + "a");
            texts.push_back(least + "0");
          }
          break;
        }
        case Op::Gte:
        case Op::Lte: out.push_back(Value::number(test.number.text())); break;
        case Op::EqualsEnv: out.push_back(Value(kVariable)); break;
        default: break;
      }
  for (const int number : {1, 0}) out.push_back(Value(number));
  const std::size_t length = least_length(rules);
  std::string together;
  for (const std::string& text : texts) together += text;
  texts.push_back(together);
  for (const std::string& text : texts) {
    out.push_back(Value(text));
    if (text.size() < length) out.push_back(Value(text + std::string(length - text.size(), 'x')));
  }
  out.push_back(Value(true));
  out.push_back(Value(false));
  out.push_back(list);
  if (list.elements().size() < length) list.elements().resize(length, Value(1));
  out.push_back(list);
  out.push_back(Value::object());
  out.push_back(Value(nullptr));
  return out;
}

// The values of golden cases: what whoever wrote the pack thinks a call looks like.
void known_from_golden(const contract::Tool& tool, Source source, const PathAt& at, std::vector<Value>& out) {
  for (const contract::Golden& golden : tool.golden) {
    const Value* document = golden.body.find(source == Source::Arguments ? "arguments" : "output");
    if (document == nullptr) continue;
    if (const Value* value = document->find_at(pointer_of(at.path))) out.push_back(*value);
  }
}

}  // namespace

MadeUp::MadeUp(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {
  std::map<std::string, std::string> variables;
  for (const std::string& name : rules_->plan->environment) variables[name] = kVariable;
  environment_names_ = rules_->plan->environment;
  environment_ = environment_facts(*rules_->plan, variables, nullptr);
  collect();
  choose();
  request_ = boundary(true);
  response_ = boundary(false);
}

std::vector<Fact> MadeUp::environment() const { return environment_; }

std::uint32_t MadeUp::place(ToolId tool, Source source, const PathAt& at) {
  for (std::uint32_t i = 0; i < places_.size(); ++i)
    if (places_[i].tool == tool && places_[i].source == source && places_[i].at.path == at.path) return i;
  places_.push_back({tool, source, at});
  parents_.push_back(static_cast<std::uint32_t>(parents_.size()));
  return static_cast<std::uint32_t>(places_.size() - 1);
}

std::uint32_t MadeUp::root(std::uint32_t place) const {
  while (parents_[place] != place) place = parents_[place];
  return place;
}

void MadeUp::join(std::uint32_t left, std::uint32_t right) {
  places_[left].must_be_there = places_[right].must_be_there = true;
  parents_[root(left)] = root(right);
}

void MadeUp::collect() {
  const Plan& plan = *rules_->plan;
  for (ToolId id = 0; id < plan.tools.size(); ++id) collect(id);
  for (const contract::Envelope& envelope : plan.envelopes)
    for (std::size_t i = 1; i < envelope.stages.size(); ++i)
      join(place(envelope.stages[0].tool, envelope.stages[0].source, envelope.stages[0].at),
           place(envelope.stages[i].tool, envelope.stages[i].source, envelope.stages[i].at));
}

void MadeUp::collect(ToolId id) {
  const Plan& plan = *rules_->plan;
  const contract::Tool& tool = plan.tools[id];
  const auto add = [&](const std::vector<Invariant>& list, Source source, ToolId of) {
    for (const Invariant& one : list)
      if (one.scope == contract::Scope::Call) places_[place(of, source, one.at)].rules.push_back(&one);
  };
  add(tool.arguments, Source::Arguments, id);
  add(tool.input_assertions, Source::Arguments, id);
  add(tool.execution_constraints, Source::Arguments, id);
  add(tool.output_assertions, Source::Output, id);
  for (const contract::Precondition& one : tool.preconditions) {
    if (!one.prior) continue;
    add(one.with_output, Source::Output, *one.prior);
    if (one.resource)
      join(place(id, Source::Arguments, *one.resource),
           place(*one.prior, Source::Arguments, one.prior_resource ? *one.prior_resource : *one.resource));
  }
  for (const Invariant& one : tool.arguments)
    if (one.ref)
      for (ToolId other = 0; other < plan.tools.size(); ++other)
        for (const contract::Bind& bind : plan.tools[other].binds)
          if (bind.slot == *one.ref) join(place(id, Source::Arguments, one.at), place(other, bind.source, bind.at));
  for (const std::uint32_t index : tool.aggregates) {
    const contract::Aggregate& aggregate = plan.aggregates[index];
    if (aggregate.at && !aggregate.all_tools && aggregate.metric != contract::Metric::Count)
      places_[place(id, Source::Arguments, *aggregate.at)].must_be_there = true;
  }
}

void MadeUp::choose() {
  std::map<std::uint32_t, std::vector<std::uint32_t>> classes;
  for (std::uint32_t i = 0; i < places_.size(); ++i) classes[root(i)].push_back(i);
  for (const auto& [top, members] : classes) {
    std::vector<const Invariant*> rules;
    std::vector<Value> known;
    bool must_be_there = false;
    for (const std::uint32_t member : members) {
      const Place& one = places_[member];
      rules.insert(rules.end(), one.rules.begin(), one.rules.end());
      must_be_there = must_be_there || one.must_be_there;
      known_from_golden(rules_->tool(one.tool), one.source, one.at, known);
    }
    values_[top] = fitting(rules, must_be_there, known);
  }
}

std::optional<Value> MadeUp::fitting(const std::vector<const Invariant*>& rules, bool must_be_there,
                                     const std::vector<Value>& known) const {
  const Environment environment{environment_names_, environment_, nullptr};
  const auto fits = [&](json::Node node) {
    return std::ranges::all_of(rules, [&](const Invariant* rule) { return passes(*rule, node, environment); });
  };
  if (!must_be_there && fits({})) return std::nullopt;
  for (const Value& one : candidates(rules, known)) {
    const auto document = json::parse_owned(json::write(one));
    if (document && fits(document->root()) && !(must_be_there && one.is_null())) return one;
  }
  return must_be_there ? std::optional(Value(1)) : std::nullopt;  // the engine will say what is wrong with it
}

Value MadeUp::built(ToolId tool, Source source) const {
  Value out = Value::object();
  std::vector<std::uint32_t> mine;
  for (std::uint32_t i = 0; i < places_.size(); ++i)
    if (places_[i].tool == tool && places_[i].source == source) mine.push_back(i);
  std::ranges::sort(mine, {}, [&](std::uint32_t i) { return std::pair(places_[i].at.path.steps().size(), i); });
  for (const std::uint32_t i : mine)
    if (const auto& value = values_.at(root(i))) out = at_path(places_[i].at.path, *value, std::move(out));
  return out;
}

Value MadeUp::boundary(bool of_request) const {
  Value out = Value::object();
  if (!of_request) {
    out.set("finish_reason", "tool_calls");
    out.set("content", nullptr);
    Value calls = Value::array();
    calls.push(Value::object());
    out.set("tool_calls", std::move(calls));
  }
  for (const contract::Tool& tool : rules_->plan->tools)
    for (const Invariant& one : of_request ? tool.input_assertions : tool.output_assertions) {
      if (one.scope != contract::Scope::Boundary) continue;
      const auto document = json::parse_owned(json::write(out));
      const json::Node there = document ? one.at.path.resolve(document->root()) : json::Node();
      if (passes(one, there, Environment{environment_names_, environment_, nullptr})) continue;
      if (auto value = fitting({&one}, true, {})) out = at_path(one.at.path, *value, std::move(out));
    }
  return out;
}

Value MadeUp::arguments(ToolId tool, std::int64_t turn) const {
  Value out = built(tool, Source::Arguments);
  if (turn > 0 && out.is_object()) out.set("turn", turn);
  return out;
}

Value MadeUp::output(ToolId tool) const { return built(tool, Source::Output); }

bool MadeUp::is_shared(ToolId tool, const PathAt& at) const {
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    if (places_[i].tool != tool || places_[i].source != Source::Arguments || places_[i].at.path != at.path) continue;
    for (std::uint32_t other = 0; other < places_.size(); ++other)
      if (other != i && root(other) == root(i)) return true;
  }
  return false;
}

// --- the session --------------------------------------------------------------------------------------------------------------------

namespace {

std::string id_of(std::uint32_t call) { return "call" + std::to_string(call); }

bool note(Rehearsal::Refused& refused, const std::vector<Refusal>& failures) {
  if (failures.empty()) return false;
  refused = {failures.front().code(), failures.front().detail};
  return true;
}

}  // namespace

std::optional<std::uint32_t> Rehearsal::propose(ToolId tool, Refused& refused) {
  refused = {};
  std::int64_t steps = 0;
  for (const contract::Precondition& one : rules_->tool(tool).preconditions) steps = std::max(steps, one.steps);
  while (state_.steps < std::min(steps, kTextStepsMax)) take_step(*rules_, state_, {});
  const auto before = std::ranges::count(calls_, tool, &Call::tool);
  Call call{tool, made_up_->arguments(tool, before), Value(), false, Call::At::Proposed};
  const auto arguments = json::parse_owned(json::write(call.arguments));
  const auto request = json::parse_owned(json::write(made_up_->request()));
  const auto response = json::parse_owned(json::write(made_up_->response()));
  if (!arguments || !request || !response) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(calls_.size());
  Proposal proposal;
  Proposed proposed;
  proposed.id = id_of(number);
  proposed.tool = rules_->tool(tool).name;
  proposed.arguments = Values::of_call(arguments->root());
  proposal.calls.push_back(std::move(proposed));
  proposal.request = Values::of_document(request->root());
  proposal.response = Values::of_document(response->root());
  proposal.shape = shape_of(response->root());
  const StepVerdict verdict = decide(*rules_, state_, proposal);
  if (note(refused, verdict.calls[0].failures)) return std::nullopt;
  take_step(*rules_, state_, step_of(proposal, verdict));
  if (verdict.calls[0].verdict == Verdict::Checkpoint) {
    call.approved = true;
    const auto ruling = rule_on(*rules_, state_, id_of(number), Ruling::Approved);
    if (!ruling) return std::nullopt;
    take_ruling(*rules_, state_, id_of(number), Ruling::Approved, resolved_of(*ruling));
    if (note(refused, ruling->calls[ruling->ruled].failures)) return std::nullopt;
  }
  calls_.push_back(std::move(call));
  return number;
}

bool Rehearsal::start(std::uint32_t call, Refused& refused) {
  refused = {};
  const StartVerdict verdict = session::start(*rules_, state_, id_of(call), {}, {});
  if (!verdict.is_open) return false;
  if (note(refused, verdict.failures)) return false;
  take_start(*rules_, state_, {id_of(call), false, std::nullopt, {}});
  calls_[call].at = Call::At::Begun;
  return true;
}

bool Rehearsal::settle(std::uint32_t call, Refused& refused) {
  refused = {};
  calls_[call].output = made_up_->output(calls_[call].tool);
  const auto output = json::parse_owned(json::write(calls_[call].output));
  if (!output) return false;
  Receipt receipt;
  receipt.output = Values::of_document(output->root());
  const SettleVerdict verdict = session::settle(*rules_, state_, id_of(call), receipt);
  if (!verdict.is_open) return false;
  if (note(refused, verdict.failures)) return false;
  take_settlement(*rules_, state_, verdict.settled);
  calls_[call].at = Call::At::Committed;
  return true;
}

void Rehearsal::lose(std::uint32_t call) { end(call, Receipt::Lost, Call::At::Lost); }
void Rehearsal::fail(std::uint32_t call) { end(call, Receipt::Error, Call::At::Failed); }

// An answer without an output and without an acknowledgement is no evidence for any class that asks for one.
void Rehearsal::leave_unproven(std::uint32_t call) {
  Receipt receipt;
  receipt.ack = false;
  take_settlement(*rules_, state_, session::settle(*rules_, state_, id_of(call), receipt).settled);
  calls_[call].at = Call::At::Failed;
}

void Rehearsal::end(std::uint32_t call, Receipt::Kind kind, Call::At at) {
  Receipt receipt;
  receipt.kind = kind;
  take_settlement(*rules_, state_, session::settle(*rules_, state_, id_of(call), receipt).settled);
  calls_[call].at = at;
}

std::optional<std::uint32_t> Rehearsal::waiting(ToolId tool) const {
  for (std::uint32_t i = 0; i < calls_.size(); ++i)
    if (calls_[i].tool == tool && calls_[i].at == Call::At::Proposed) return i;
  return std::nullopt;
}

std::optional<std::uint32_t> Rehearsal::begun(ToolId tool) const {
  for (std::uint32_t i = 0; i < calls_.size(); ++i)
    if (calls_[i].tool == tool && calls_[i].at == Call::At::Begun) return i;
  return std::nullopt;
}

}  // namespace baton::session
