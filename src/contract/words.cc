// SPDX-License-Identifier: Apache-2.0
#include "contract/words.h"

#include <algorithm>

#include "base/text.h"
#include "contract/tools_lock.h"

namespace baton::contract {
namespace {

using std::string;

bool is_plain_name(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) &&
         std::ranges::all_of(name, [](char c) { return is_alphanumeric(c) || c == '_'; });
}

string type_in_words(const string& type) {
  return (type == "integer" || type == "object" || type == "array" ? "an " : "a ") + type;
}

string test_in_words(const Test& test, Mood mood) {
  const bool must = mood == Mood::Must;
  const string be = must ? "be " : "is ";
  const string value = json::write(test.value);
  switch (test.op) {
    case Op::Equals: return (must ? "equal " : "equals ") + value;
    case Op::Exists: return test.value.boolean() ? be + "there" : string(must ? "not be there" : "is not there");
    case Op::Type: return be + type_in_words(test.value.string());
    case Op::Contains: return (must ? "contain " : "contains ") + value;
    case Op::OneOf: {
      std::vector<string> items;
      for (const json::Value& item : test.value.elements()) items.push_back(json::write(item));
      return items.size() == 1 ? be + items[0] : be + "one of " + listed(items, "or");
    }
    case Op::Regex: return (must ? "match " : "matches ") + quoted(test.value.string());
    case Op::Gte: return be + "at least " + test.number.text();
    case Op::Lte: return be + "at most " + test.number.text();
    case Op::LengthGte: return (must ? "have" : "has") + string(" a length of at least ") + test.number.text();
    case Op::LengthLte: return (must ? "have" : "has") + string(" a length of at most ") + test.number.text();
    case Op::EqualsEnv:
      return (must ? "equal" : "equals") + string(" the environment variable ") + quoted(test.value.string());
    case Op::ExactMatch: return be + "exactly " + value;
  }
  return {};
}

string counted(std::int64_t count, std::string_view one) {
  return std::to_string(count) + " " + string(one) + (count == 1 ? "" : "s");
}

string percent(const json::Decimal& fraction) { return (fraction * json::Decimal(100)).text() + " %"; }

string phases_in_words(const PhaseSet& set, const Plan& plan) {
  std::vector<string> names;
  set.each([&](PhaseId phase) { names.push_back(quoted(plan.phases[phase].name)); });
  return (names.size() == 1 ? "the phase " : "the phases ") + listed(names);
}

string with_reason(string sentence, const string& name, const string& reason) {
  return sentence + " (" + quoted(name) + (reason.empty() ? "" : ": " + reason) + ").";
}

string because(const string& reason) {
  return reason.empty() ? "." : ": " + reason + (reason.ends_with('.') ? "" : ".");
}

string article_for(SideEffect effect) { return effect == SideEffect::Admin ? "an " : "a "; }

// "only once", "at most 3 times".
string at_most_times(std::int64_t count) { return count == 1 ? "only once" : "at most " + counted(count, "time"); }

string metric_in_words(const Aggregate& aggregate) {
  const string at = aggregate.at ? words_of(aggregate.at->path) : string();
  switch (aggregate.metric) {
    case Metric::Sum: return "the sum of " + at;
    case Metric::Count: return aggregate.at ? "the number of calls with " + at : string("the number of calls");
    case Metric::Max: return "the largest " + at;
    case Metric::Min: return "the smallest " + at;
    case Metric::CountDistinct: return "the number of different values of " + at;
  }
  return {};
}

std::vector<string> stages_of(const Envelope& envelope, Role role, const Plan& plan) {
  std::vector<string> out;
  for (const Stage& stage : envelope.stages)
    if (stage.role == role) out.push_back(words_of(stage, plan));
  return out;
}

// --- a tool -------------------------------------------------------------------------------------------------------------------

class ToolWords {
 public:
  ToolWords(const Tool& tool, const Plan& plan) : tool_(tool), plan_(plan) {}

  Paragraph say() {
    gate();
    who();
    phases();
    order();
    limits();
    arguments();
    model();
    totals();
    approvals();
    afterwards();
    return {quoted(tool_.name) + " is " + article_for(tool_.side_effect) + string(name_of(tool_.side_effect)) + " tool",
            std::move(out_)};
  }

 private:
  void add(string sentence) { out_.push_back(std::move(sentence)); }

  void gate() {
    const string kind = string(name_of(tool_.side_effect)) + " tools";
    if (tool_.gate) add(tool_.passes_gate ? "Its own gate lets it through." : "Its own gate blocks every call.");
    else if (tool_.passes_gate) add("The session lets " + kind + " through.");
    else add("Every call is blocked: the session blocks " + kind + ", and it has no gate of its own.");
  }

  void who() {
    for (const std::uint32_t i : tool_.label_gates) {
      const LabelGate& gate = plan_.label_gates[i];
      add("It is blocked once the session has the label " + quoted(gate.label) + because(gate.reason));
    }
    std::vector<string> session_allows;
    for (const std::uint32_t i : tool_.rules) {
      const Rule& rule = plan_.rules[i];
      if (rule.allows) session_allows.push_back(principal_in_words(rule.principal));
      else add("It is denied to " + principal_in_words(rule.principal) + ".");
    }
    for (const Invariant& one : tool_.deny) add("It is denied to " + principal_in_words(one) + ".");
    std::vector<string> own_allows;
    for (const Invariant& one : tool_.allow) own_allows.push_back(principal_in_words(one));
    if (!own_allows.empty()) add("Only " + listed(own_allows, "or") + " may call it.");
    if (!session_allows.empty())
      add("The session's rules let only " + listed(session_allows, "or") + " call it" +
          (own_allows.empty() ? "." : ", as well."));
    if (plan_.default_deny && own_allows.empty() && session_allows.empty())
      add("Nobody may call it: the policy denies by default, and no rule allows it.");
  }

  void phases() {
    if (plan_.phases.empty()) return;
    if (tool_.names_phases) add("It may be called only in " + phases_in_words(tool_.valid_in, plan_) + ".");
    else add("It may be called in any phase.");
    if (!tool_.advances_to) return;
    const string to = quoted(plan_.phases[*tool_.advances_to].name);
    add("After a successful call the session is in the phase " + to + ".");
    PhaseSet stuck(plan_.phases.size());
    tool_.valid_in.each([&](PhaseId phase) {
      if (!plan_.is_legal(phase, *tool_.advances_to)) stuck.add(phase);
    });
    if (!stuck.empty())
      add("It is blocked in " + phases_in_words(stuck, plan_) + ", because the transitions do not lead from there to " +
          to + ".");
  }

  void order() {
    for (const Precondition& one : tool_.preconditions) add("It may be called only " + words_of(one, plan_) + ".");
    std::vector<string> forbids, forbidden_by;
    bool once = false;
    for (const ToolId other : tool_.forbids) {
      if (&plan_.tools[other] == &tool_) once = true;
      else forbids.push_back(quoted(plan_.tools[other].name));
    }
    const auto self = plan_.find_tool(tool_.name);
    for (const Tool& other : plan_.tools)
      if (&other != &tool_ && self && std::ranges::find(other.forbids, *self) != other.forbids.end())
        forbidden_by.push_back(quoted(other.name));
    if (once) add("It may run only once in a session. While a call of it is open, a second one is blocked.");
    if (!forbids.empty())
      add("While a call of it is open, and for the rest of the session once it has run, " + listed(forbids) +
          (forbids.size() == 1 ? " is" : " are") + " blocked.");
    if (!forbidden_by.empty())
      add("It is blocked while a call of " + listed(forbidden_by, "or") +
          " is open, and for the rest of the session once that has run.");
    for (const EntityForbid& one : tool_.forbids_per) {
      string words = entity_forbid_in_words(one, plan_);
      words[0] = 'W';
      add(words + ".");
    }
    for (const Tool& other : plan_.tools)
      for (const EntityForbid& one : other.forbids_per)
        if (&other != &tool_ && self && one.tool == *self)
          add("Of " + quoted(other.name) + ": " + entity_forbid_in_words(one, plan_) + ".");
  }

  void limits() {
    const auto self = plan_.find_tool(tool_.name);
    if (!self) return;
    if (const auto found = plan_.limits.max_calls.find(*self); found != plan_.limits.max_calls.end())
      add("It may be called " + at_most_times(found->second) + " in a session.");
  }

  void arguments() {
    for (const Invariant& one : tool_.arguments) add(words_of(one, plan_, Mood::Must) + ".");
    for (const Invariant& one : tool_.execution_constraints)
      add("When the call is made, " + words_of(one, plan_, Mood::Must) +
          " in the arguments that are really handed over.");
  }

  void model() {
    for (const Invariant& one : tool_.input_assertions)
      add((one.scope == Scope::Boundary ? "In the request to the model, " : "In the call's arguments, ") +
          words_of(one, plan_, Mood::Must) + ".");
    for (const Invariant& one : tool_.output_assertions)
      add(one.scope == Scope::Boundary
              ? "In the model's response, " + words_of(one, plan_, Mood::Must) + "."
              : "In the tool's output, " + words_of(one, plan_, Mood::Must) + ", or the call counts as failed.");
    if (!tool_.response_format) return;
    const ResponseFormat& format = *tool_.response_format;
    std::vector<string> parts;
    if (format.finish_reason) parts.push_back("must end with the finish reason " + quoted(*format.finish_reason));
    if (format.content_empty) parts.push_back("must hold no text beside its calls");
    if (format.tool_calls_present)
      parts.push_back(*format.tool_calls_present ? "must hold a tool call" : "must hold no tool call");
    add("The model's response that calls it must be known" + (parts.empty() ? "" : ", and " + listed(parts)) + ".");
  }

  void totals() {
    for (const std::uint32_t i : tool_.aggregates) add(words_of(plan_.aggregates[i], plan_));
    for (const std::uint32_t i : tool_.envelopes) add(words_of(plan_.envelopes[i], plan_));
  }

  void approvals() {
    if (tool_.checkpoint) add(words_of(*tool_.checkpoint, plan_));
    for (const std::uint32_t i : tool_.checkpoints) {
      const Checkpoint& one = plan_.checkpoints[i];
      if (!one.side_effect || *one.side_effect == tool_.side_effect) add(words_of(one, plan_));
    }
    if (tool_.command_path)
      add("Content that a person approved beforehand permits one call whose " + words_of(tool_.command_path->path) +
          " is exactly that, without asking again.");
  }

  void afterwards() {
    for (const Bind& bind : tool_.binds)
      add("After a successful call, " + words_of(bind.at.path) + " of its " +
          (bind.source == Source::Output ? "output" : "arguments") + " is remembered as " +
          quoted(plan_.slots[bind.slot]) + ".");
    if (tool_.commit == Commit::None) add("It counts as done as soon as it is allowed; nothing is waited for.");
    else switch (tool_.evidence) {
        case Evidence::LocalTransaction: add("It counts as done when it succeeds and answers with an object."); break;
        case Evidence::AckOnly: add("It counts as done when it is acknowledged; its output proves nothing."); break;
        case Evidence::Unverifiable: add("It counts as done when it returns; nothing proves that it worked."); break;
      }
    string time = "A call may take " + duration_in_words(tool_.total_ms) + " in all, and is tried " +
                  (tool_.retries.max_attempts == 1 ? "once" : "at most " + counted(tool_.retries.max_attempts, "time"));
    if (tool_.retries.max_attempts > 1) {
      std::vector<string> classes;
      for (const string& one : tool_.retries.retry_on) classes.push_back(quoted(one));
      time += ", again after " + (classes.empty() ? string() : listed(classes, "or") + " or ") +
              "an answer 429 (waiting " +
              (tool_.retries.respect_retry_after ? "as long as it asks for, " : "a little longer each time, ") +
              "up to " + tool_.retries.max_sleep_seconds.text() + " seconds)";
    }
    add(time + ".");
    std::vector<string> errors;
    for (const AllowedError& error : tool_.allowed_errors) errors.push_back(words_of(error));
    if (!errors.empty()) add("Expected, and not counted by the circuit breaker: " + listed(errors, "or") + ".");
  }

  const Tool& tool_;
  const Plan& plan_;
  std::vector<string> out_;
};

// --- the session --------------------------------------------------------------------------------------------------------------

Paragraph phases_paragraph(const Plan& plan) {
  Paragraph out{"Phases", {}};
  if (plan.phases.empty()) {
    out.sentences.push_back("There are no phases: every tool may be called at any time, as far as phases go.");
    return out;
  }
  if (plan.initial) out.sentences.push_back("A session begins in " + quoted(plan.phases[*plan.initial].name) + ".");
  for (const Phase& phase : plan.phases) {
    std::vector<string> next;
    phase.next.each([&](PhaseId to) { next.push_back(quoted(plan.phases[to].name)); });
    string sentence =
        "From " + quoted(phase.name) + " it can go " + (next.empty() ? "nowhere" : "to " + listed(next, "or"));
    if (phase.terminal) sentence += "; it may end there";
    out.sentences.push_back(sentence + ".");
  }
  return out;
}

Paragraph limits_paragraph(const Plan& plan) {
  const Limits& limits = plan.limits;
  Paragraph out{"Limits", {}};
  const auto add = [&](string sentence) { out.sentences.push_back(std::move(sentence)); };
  if (limits.max_steps) add("A session has at most " + counted(*limits.max_steps, "step") + ".");
  if (limits.max_tool_calls)
    add("It makes at most " + counted(*limits.max_tool_calls, "call") + "; after that " +
        (limits.narrow ? "the model gets no tools and can only answer in text." : "the model is not asked again."));
  if (limits.max_cost) add("It costs at most " + limits.max_cost->text() + ".");
  for (const auto& [tool, count] : limits.max_calls)
    add(quoted(plan.tools[tool].name) + " is called " + at_most_times(count) + ".");
  if (limits.loop_threshold)
    add("The same call with the same arguments is blocked when it is proposed " +
        counted(*limits.loop_threshold, "time") +
        (limits.loop_window ? " within " + counted(*limits.loop_window, "step") : string()) + ".");
  if (limits.consecutive_blocks)
    add("The session is ended after " + counted(*limits.consecutive_blocks, "step") + " in a row with a blocked call.");
  if (limits.consecutive_errors)
    add("The session is ended after " + counted(*limits.consecutive_errors, "unexpected error") + " in a row.");
  if (out.sentences.empty()) add("There are no limits.");
  return out;
}

Paragraph policy_paragraph(const Plan& plan) {
  Paragraph out{"Who and what", {}};
  const auto add = [&](string sentence) { out.sentences.push_back(std::move(sentence)); };
  std::vector<string> allowed, blocked;
  for (std::size_t i = 0; i < 5; ++i)
    (plan.risk_allows[i] ? allowed : blocked).emplace_back(name_of(static_cast<SideEffect>(i)));
  const string otherwise = ", unless a tool's own gate says otherwise.";
  if (!allowed.empty()) add("The risk gate lets " + listed(allowed) + " tools through" + otherwise);
  if (!blocked.empty()) add("The risk gate blocks " + listed(blocked) + " tools" + otherwise);
  if (plan.default_deny) add("A tool that no rule allows is denied to everybody.");
  for (const Rule& rule : plan.rules)
    add((rule.allows ? "Allowed: " : "Denied: ") + principal_in_words(rule.principal) + ", for " +
        tools_in_words(rule.all_tools, rule.tools, plan) + ".");
  if (plan.needs_principal) add("A session must say on whose behalf it runs.");
  for (const LabelGate& gate : plan.label_gates)
    add("Once the session has the label " + quoted(gate.label) + ", " +
        tools_in_words(gate.all_tools, gate.tools, plan) +
        (!gate.all_tools && gate.tools.size() > 1 ? " are blocked" : " is blocked") + because(gate.reason));
  return out;
}

Paragraph models_paragraph(const Plan& plan) {
  Paragraph out{"Models", {}};
  for (const Provider& provider : plan.providers) {
    for (const Provider::Named& one : provider.block)
      out.sentences.push_back("A request to " + quoted(provider.name) + " with " + quoted(one.text) + " is blocked.");
    for (const Provider::Named& one : provider.warn)
      out.sentences.push_back("A request to " + quoted(provider.name) + " with " + quoted(one.text) +
                              " gives a warning.");
    if (provider.warn_floating_alias)
      out.sentences.push_back("A model of " + quoted(provider.name) + " without a fixed version gives a warning.");
  }
  return out;
}

}  // namespace

// --- parts of sentences -------------------------------------------------------------------------------------------------------

string quoted(std::string_view name) { return "`" + string(name) + "`"; }

string words_of(const json::Path& path) {
  string out = "$";
  for (const json::Path::Step& step : path.steps()) {
    if (const auto* position = std::get_if<std::size_t>(&step)) out += "[" + std::to_string(*position) + "]";
    else if (const string& name = std::get<string>(step); is_plain_name(name)) out += "." + name;
    else out += "[" + json::write(json::Value(name)) + "]";
  }
  return quoted(out);
}

string words_of(std::span<const Test> tests, Mood mood) {
  std::vector<string> parts;
  for (const Test& test : tests) parts.push_back(test_in_words(test, mood));
  return listed(parts);
}

string words_of(const Invariant& invariant, const Plan& plan, Mood mood) {
  std::vector<string> parts;
  for (const Test& test : invariant.tests) parts.push_back(test_in_words(test, mood));
  if (invariant.ref) {
    const string slot = "the remembered " + quoted(plan.slots[*invariant.ref]);
    if (invariant.tolerance && *invariant.tolerance != json::Decimal())
      parts.push_back((mood == Mood::Must ? "be within " : "is within ") + percent(*invariant.tolerance) + " of " +
                      slot);
    else parts.push_back((mood == Mood::Must ? "equal " : "equals ") + slot);
  }
  const string path = words_of(invariant.at.path);
  if (invariant.origin == Origin::Schema)
    return path + ", where it is given, must " + listed(parts) + " (by the tool's schema)";
  return path + (mood == Mood::Must ? " must " : " ") + listed(parts);
}

string words_of(const Precondition& precondition, const Plan& plan) {
  if (!precondition.prior) return "after " + counted(precondition.steps, "step");
  string out = "after " + quoted(plan.tools[*precondition.prior].name) + " has succeeded in an earlier step";
  if (precondition.resource) {
    out += " for the same " + words_of(precondition.resource->path);
    if (precondition.prior_resource && precondition.prior_resource->path != precondition.resource->path)
      out += " (" + words_of(precondition.prior_resource->path) + " there)";
  }
  if (precondition.with_output.empty()) return out;
  std::vector<string> parts;
  for (const Invariant& one : precondition.with_output) parts.push_back(words_of(one, plan, Mood::Does));
  return out + ", and only while in its latest output " + listed(parts);
}

string entity_forbid_in_words(const EntityForbid& forbid, const Plan& plan) {
  const string same = forbid.per.path == forbid.target_per.path
                          ? "with the same " + quoted(forbid.per.text)
                          : "whose " + quoted(forbid.target_per.text) + " is its " + quoted(forbid.per.text);
  return "while a call of it is open, and once it has run, " + quoted(plan.tools[forbid.tool].name) +
         " is blocked for calls " + same;
}

string words_of(const AllowedError& error) {
  std::vector<string> parts;
  if (error.code) parts.push_back("the code " + quoted(*error.code));
  if (error.error_class) parts.push_back("the class " + quoted(*error.error_class));
  if (error.http_status) parts.push_back("the HTTP status " + std::to_string(*error.http_status));
  if (error.message) parts.push_back("a message that matches " + quoted(error.message->pattern()));
  return "an error with " + listed(parts);
}

string words_of(const Bounds& bounds) {
  std::vector<string> parts;
  if (bounds.gte) parts.push_back("at least " + bounds.gte->text());
  if (bounds.lte) parts.push_back("at most " + bounds.lte->text());
  return listed(parts);
}

string words_of(const Aggregate::When& when, const Plan& plan) {
  return "while the remembered " + quoted(plan.slots[when.slot]) + " " + words_of(when.tests, Mood::Does) +
         ", it must be " + words_of(when.then) + " instead";
}

string when_in_words(const Checkpoint& checkpoint, const Plan& plan) {
  if (checkpoint.conditions.empty()) return "for every call";
  std::vector<string> parts;
  for (const Invariant& one : checkpoint.conditions) parts.push_back(words_of(one, plan, Mood::Does));
  return "when " + listed(parts, checkpoint.match_all ? "and" : "or") + ", or when that cannot be told";
}

string words_of(const Stage& stage, const Plan& plan) {
  return words_of(stage.at.path) + " of the " + (stage.source == Source::Output ? "output" : "arguments") + " of " +
         quoted(plan.tools[stage.tool].name);
}

string words_of(const Aggregate& aggregate, const Plan& plan) {
  string out = "Over the session, " + metric_in_words(aggregate) + " in calls of " +
               tools_in_words(aggregate.all_tools, aggregate.tools, plan) + " must be " + words_of(aggregate.bounds);
  for (const Aggregate::When& when : aggregate.when)
    out += (&when == &aggregate.when.front() ? "; " : "; else ") + words_of(when, plan);
  return with_reason(std::move(out), aggregate.name, aggregate.reason);
}

string words_of(const Envelope& envelope, const Plan& plan) {
  const auto of = [&](Role role, std::string_view last = "and") {
    return listed(stages_of(envelope, role, plan), last);
  };
  string out;
  switch (envelope.constraint) {
    case Constraint::LteCeiling: out = "must not be above " + of(Role::Ceiling); break;
    case Constraint::GteFloor: out = "must not be below " + of(Role::Floor); break;
    case Constraint::Bounded: out = "must not be below " + of(Role::Floor) + " nor above " + of(Role::Ceiling); break;
    case Constraint::WithinBand:
      out = "must be within " + percent(envelope.band.value_or(json::Decimal())) + " of " + of(Role::Anchor);
      break;
    case Constraint::MonotonicDecrease:
      out = "must never be above what it was before, beginning with " + of(Role::Initial);
      break;
    case Constraint::MonotonicIncrease:
      out = "must never be below what it was before, beginning with " + of(Role::Initial);
      break;
  }
  const string subject = of(Role::Constrained);
  return with_reason(subject + " " + out + ", which must have happened first", envelope.name, envelope.reason);
}

string words_of(const Checkpoint& checkpoint, const Plan& plan) {
  string out = "A person must approve " + string(checkpoint.conditions.empty() ? "every call" : "the call");
  if (checkpoint.side_effect)
    out += " of " + article_for(*checkpoint.side_effect) + string(name_of(*checkpoint.side_effect)) + " tool";
  if (!checkpoint.conditions.empty()) out += " " + when_in_words(checkpoint, plan);
  out += ", within " + checkpoint.timeout_seconds.text() + " seconds; without an answer it is " +
         (checkpoint.allow_on_timeout ? "allowed" : "denied");
  if (!checkpoint.name.empty()) out += " (" + quoted(checkpoint.name) + ")";
  out += ".";
  if (checkpoint.context.empty()) return out;
  std::vector<string> shown;
  for (const Checkpoint::Shown& one : checkpoint.context)
    shown.push_back(one.label + " (" + words_of(one.at.path) + ")");
  return out + " The approver is shown " + listed(shown) + ".";
}

string principal_in_words(const Invariant& principal) {
  return "a principal whose " + words_of(principal.at.path) + " " + words_of(principal.tests, Mood::Does);
}

string duration_in_words(std::int64_t milliseconds) {
  if (milliseconds < 1000) return counted(milliseconds, "millisecond");
  const json::Decimal seconds = json::Decimal(milliseconds) * json::Decimal::from_number("0.001");
  return seconds.text() + (milliseconds == 1000 ? " second" : " seconds");
}

string listed(const std::vector<string>& items, std::string_view last) {
  string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += i + 1 == items.size() ? " " + string(last) + " " : ", ";
    out += items[i];
  }
  return out;
}

string tools_in_words(bool all, const std::vector<ToolId>& tools, const Plan& plan) {
  if (all) return "every tool";
  std::vector<string> names;
  for (const ToolId tool : tools) names.push_back(quoted(plan.tools[tool].name));
  return names.empty() ? "no tool" : listed(names);
}

PhaseSet callable_phases(const Tool& tool, const Plan& plan) {
  PhaseSet out(plan.phases.size());
  if (plan.phases.empty()) return out;
  tool.valid_in.each([&](PhaseId phase) {
    if (!tool.advances_to || plan.is_legal(phase, *tool.advances_to)) out.add(phase);
  });
  return out;
}

// --- whole plans --------------------------------------------------------------------------------------------------------------

Paragraph words_of(const Tool& tool, const Plan& plan) { return ToolWords(tool, plan).say(); }

std::string words_of_owed(Owed owed) {
  switch (owed) {
    case Owed::AgentContract: return "The agent ends with an `agent-contract` block, whether it has work or not.";
    case Owed::AgentExit: return "The agent ends with an `agent-exit` signal, whether it has work or not.";
    case Owed::Any: return "An agent that has work ends with a handoff, of whichever dialect.";
    case Owed::None: return "The agent is asked for no handoff when it ends.";
  }
  return {};
}

std::string words_of_claims(Claims claims) {
  switch (claims) {
    case Claims::Off: return "What a handoff claims is not compared with the calls that were seen.";
    case Claims::Warn: return "What a handoff claims and no seen call shows is a warning.";
    case Claims::Require: return "A handoff is refused when it claims what no seen call shows.";
  }
  return {};
}

std::string_view words_of_unlisted() {
  return "MCP operations other than tool calls (resources, prompts, completion, sampling, elicitation, roots and other "
         "requests) go ahead and are recorded where they have no contract.";
}

std::string_view words_of_unknown_content() {
  return "Content blocks of a type that Baton does not know are dropped from an MCP result.";
}

std::vector<Paragraph> words_of_session(const Plan& plan) {
  std::vector<Paragraph> out = {phases_paragraph(plan), limits_paragraph(plan), policy_paragraph(plan)};
  Paragraph totals{"Totals and envelopes", {}}, approvals{"Approvals", {}}, handoff{"The handoff", {}},
      resources{"Resources", {}}, servers{"MCP servers", {}};
  for (const Aggregate& one : plan.aggregates) totals.sentences.push_back(words_of(one, plan));
  for (const Envelope& one : plan.envelopes) totals.sentences.push_back(words_of(one, plan));
  for (const Checkpoint& one : plan.checkpoints)
    approvals.sentences.push_back("For " + (one.tool ? quoted(plan.tools[*one.tool].name) : string("every tool")) +
                                  ": " + words_of(one, plan));
  if (plan.client_user_is_operator)
    approvals.sentences.emplace_back(
        "What the user of the agent's MCP client answers is the operator's decision, where the proxy has an operator's "
        "token.");
  for (const Resource& one : plan.resources)
    resources.sentences.push_back(words_of(one.at.path) + " of a call's arguments names the " + one.type +
                                  " it touches (" + quoted(one.name) + ").");
  if (plan.owed != Owed::Any) handoff.sentences.push_back(words_of_owed(plan.owed));
  if (plan.owed_by_subagents != Owed::None)
    handoff.sentences.emplace_back("Each of its subagents ends with an `agent-contract` block.");
  if (plan.claims != Claims::Off) handoff.sentences.push_back(words_of_claims(plan.claims));
  if (plan.tools_lock) {
    std::size_t tools = 0;
    for (const auto& [name, server] : plan.tools_lock->servers) tools += server.tools.size();
    servers.sentences.push_back("tools.lock.json approves " + counted(static_cast<std::int64_t>(tools), "definition") +
                                " of " + counted(static_cast<std::int64_t>(plan.tools_lock->servers.size()), "server") +
                                "; the proxy withholds a tool whose definition differs" +
                                (plan.wording_may_change ? " in more than its texts." : "."));
  }
  if (plan.suspicious_text_is_withheld)
    servers.sentences.emplace_back("The proxy withholds a tool whose texts look like instructions to a model.");
  if (plan.unlisted == Unlisted::Record) servers.sentences.emplace_back(words_of_unlisted());
  if (plan.unknown_content == UnknownContent::Drop) servers.sentences.emplace_back(words_of_unknown_content());
  for (Paragraph* paragraph : {&totals, &approvals, &handoff, &resources, &servers})
    if (!paragraph->sentences.empty()) out.push_back(std::move(*paragraph));
  if (Paragraph models = models_paragraph(plan); !models.sentences.empty()) out.push_back(std::move(models));
  return out;
}

}  // namespace baton::contract
