// SPDX-License-Identifier: Apache-2.0
#include "session/decide.h"

#include <algorithm>

#include "base/limits.h"
#include "base/sha256.h"
#include "base/text.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "session/judge.h"

namespace baton::session {
namespace {

using json::Decimal;

Refusal refusal(Code code, std::initializer_list<Argument> arguments = {}) { return {report(code, {}, arguments), {}}; }

// 1: may this session do anything at all? Empty: it may.
std::optional<Refusal> standing_refusal(const State& state, bool lease_stale) {
  if (lease_stale) return refusal(Code::lease_stale);
  if (state.standing == Standing::Killed) return refusal(Code::session_killed, {{"reason", state.ended_because}});
  if (state.standing == Standing::Closed) return refusal(Code::session_closed);
  return std::nullopt;
}

Refusal pause_refusal(const State& state) {
  Refusal out = refusal(Code::session_paused);
  out.detail = state.paused_because;
  return out;
}

// Why a step's calls cannot be looked at, from a document.
std::optional<std::string> problem_of(json::Node root) {
  if (!root.is_object()) return "they are " + std::string(json::kind_name(root.kind()));
  if (!json::are_within_digits(root))
    return "they have a number of more than " + std::to_string(limits::kNumberDigitsMax) + " digits";
  return std::nullopt;
}

bool has_broken_constraint(const CallVerdict& call) {
  return std::ranges::any_of(call.failures,
                             [](const Refusal& one) { return one.code() == Code::execution_constraint_violated; });
}

// The response as a whole: what each call's verdict does to the others.
class StepJudge {
 public:
  StepJudge(const Rules& rules, const State& state, const Proposal& proposal, const Hiding* hiding)
      : rules_(rules), state_(state), proposal_(proposal), hiding_(hiding) {
    step_.proposal = &proposal;
    step_.estimate = proposal.estimate;
    step_.commons = proposal.commons;
  }

  StepVerdict judge() {
    StepVerdict out;
    out.calls.reserve(proposal_.calls.size());
    step_.ahead.reserve(proposal_.calls.size());
    for (const Proposed& call : proposal_.calls) {
      out.calls.emplace_back();
      judge(call, out.calls.back());
      ++step_.position;
    }
    combine(out);
    // Whatever was found, the host goes ahead with it.
    if (state_.is_letting_through()) out.outcome = Outcome::Proceed;
    return out;
  }

 private:
  void judge(const Proposed& call, CallVerdict& out) {
    const auto tool = rules_.plan->find_tool(call.tool);
    if (tool) out.tool = *tool;
    if (auto refused = standing_refusal(state_, proposal_.lease_stale)) return block(out, std::move(*refused));
    if (joins(call, out)) return;
    if (state_.mode == Mode::Enforce && state_.is_paused() && !goes_on_meanwhile(tool))
      return block(out, pause_refusal(state_));
    if (state_.cancel_requested && (!tool || contract::is_mutating(rules_.tool(*tool).side_effect)))
      return block(out, refusal(Code::cancel_requested));
    if (const auto problem = session::problem_of(call))
      return block(
          out, refusal(call.malformed_as, {{"problem", *problem}, {"member", call.malformed}, {"tool", call.tool}}));
    if (!call.protected_path.empty() &&
        (call.protected_always || !tool || contract::is_mutating(rules_.tool(*tool).side_effect)))
      return block(out, refusal(Code::protected_path, {{"path", call.protected_path}}));
    if (!tool) {
      // Recorded and let through: there is nothing to judge it by.
      if (rules_.plan->unlisted == contract::Unlisted::Record && contract::is_server_operation(call.tool)) return;
      return block(out, refusal(Code::no_contract, {{"tool", call.tool}}));
    }
    const bool loops = rules_.plan->limits.loop_threshold.has_value();
    if (!call.digest.empty()) out.digest = call.digest;
    else if (loops) need_digest(call, out);
    Judge judge(rules_, state_, *tool, step_, hiding_);
    judge.measure(call.arguments, out.facts);
    judge.all(&call.arguments, out);
    out.breaks_constraint = has_broken_constraint(out);
    // What is let through all the same is held to its constraints when it begins, though it was refused for something that comes first.
    if (state_.is_letting_through() && !out.failures.empty() && !out.breaks_constraint) {
      CallVerdict apart;
      judge.execution_constraints(call.arguments, apart);
      out.breaks_constraint = has_broken_constraint(apart);
    }
    const bool in_flight = !out.failures.empty() && out.failures.front().in_flight;
    if (loops && !in_flight) step_.proposed.push_back(Judge::looped(*tool, out.digest));
    if (!out.failures.empty()) {
      out.verdict = Verdict::Block;
      return;
    }
    if (out.asked && !call.content_approval.empty() && rules_.tool(*tool).command_path) {
      out.asked.reset();
      out.spends = call.content_approval;
      need_digest(call, out);  // it must not begin with anything else
    }
    if (out.asked && asked_ == proposal_.approvals_left) {
      out.asked.reset();
      return block(out,
                   refusal(Code::approval_queue_full, {{"count", std::to_string(proposal_.approvals_waiting + asked_)},
                                                       {"scope", proposal_.approvals_scope}}));
    }
    if (out.asked) {
      ++asked_;
      out.verdict = Verdict::Checkpoint;
      need_digest(call, out);
    }
    step_.ahead.push_back({*tool, &out.facts, &out.digest});
  }

  // While calls wait for approval, reads go on that no rule remembers. Not while a person must look at the session itself.
  bool goes_on_meanwhile(std::optional<ToolId> tool) const {
    return state_.paused_because.empty() && tool && rules_.tools[*tool].is_unremembered_read;
  }

  void block(CallVerdict& out, Refusal refusal) {
    out.verdict = Verdict::Block;
    out.failures.push_back(std::move(refusal));
  }

  void need_digest(const Proposed& call, CallVerdict& out) {
    if (!out.digest.empty()) return;
    if (auto digest = digest_of(call.arguments.root())) out.digest = std::move(*digest);
  }

  // The same call again while it waits is the call that waits. Of a response with one call: others would be held with it anew.
  bool joins(const Proposed& call, CallVerdict& out) {
    if (state_.mode != Mode::Enforce || proposal_.calls.size() != 1 || out.tool == kNone || !state_.is_paused())
      return false;
    if (!call.arguments.root()) return false;
    const std::string digest =
        call.digest.empty() ? digest_of(call.arguments.root()).value_or("") : std::string(call.digest);
    out.digest = digest;  // what was compared is recorded, so that it can be compared again
    for (const OpenCall& open : state_.open) {
      if (open.state != CallState::Awaiting || open.tool != out.tool || open.digest != digest) continue;
      out.verdict = Verdict::Checkpoint;
      out.joins = open.id;
      if (open.asks) out.asked = Judge(rules_, state_, out.tool, step_, hiding_).checkpoints(call.arguments);
      return true;
    }
    return false;
  }

  void combine(StepVerdict& out) {
    std::size_t blocked = 0, asked = 0;
    for (const CallVerdict& call : out.calls) {
      blocked += call.verdict == Verdict::Block ? 1u : 0u;
      asked += call.verdict == Verdict::Checkpoint ? 1u : 0u;
    }
    const std::size_t allowed = out.calls.size() - blocked - asked;
    if (out.calls.empty()) return;
    if (state_.gate != Gate::RejectAll) {
      if (blocked == out.calls.size()) out.outcome = state_.gate == Gate::StripPartial ? Outcome::Error : Outcome::Text;
      else out.outcome = allowed > 0 ? Outcome::Proceed : Outcome::Held;
      return;
    }
    if (blocked > 0) {
      out.outcome = Outcome::Reject;
      for (CallVerdict& call : out.calls) {
        if (call.verdict == Verdict::Block) continue;
        call.would_ask = call.asked.has_value();
        call.asked.reset();
        call.spends.clear();
        block(call, refusal(Code::batch_rejected));
      }
    } else if (asked > 0) {
      out.outcome = Outcome::Held;
      for (CallVerdict& call : out.calls) call.verdict = Verdict::Checkpoint;
      // Those that are held need their digest too: it is what they are known by.
      for (std::size_t i = 0; i < out.calls.size(); ++i) need_digest(proposal_.calls[i], out.calls[i]);
    }
  }

  const Rules& rules_;
  const State& state_;
  const Proposal& proposal_;
  const Hiding* hiding_;
  Step step_;
  std::size_t asked_ = 0;
};

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::Proceed: return "proceed";
    case Outcome::Held: return "held";
    case Outcome::Reject: return "reject";
    case Outcome::Error: return "error";
    case Outcome::Text: return "text";
  }
  return "";
}

std::optional<std::string> digest_of(json::Node arguments) {
  if (!arguments) return std::nullopt;
  std::string text;
  if (!json::append_canonical(text, arguments, json::Numbers::Exact)) return std::nullopt;
  return sha256_hex(text);
}

std::optional<std::string> problem_of(const Proposed& call) {
  if (!call.arguments.root()) return call.malformed;
  return call.arguments.is_record() ? std::nullopt : problem_of(call.arguments.root());
}

StepVerdict decide(const Rules& rules, const State& state, const Proposal& proposal, const Hiding* hiding) {
  return StepJudge(rules, state, proposal, hiding).judge();
}

TakenStep step_of(const Proposal& proposal, const StepVerdict& verdict) {
  TakenStep out;
  out.estimate = proposal.estimate;
  for (std::size_t i = 0; i < verdict.calls.size(); ++i) {
    const CallVerdict& call = verdict.calls[i];
    TakenCall taken;
    taken.id = proposal.calls[i].id;
    taken.tool = call.tool;
    if (call.tool == kNone) taken.tool_name = proposal.calls[i].tool;
    taken.verdict = call.verdict;
    if (!call.failures.empty()) {
      taken.reason = call.failures.front().code();
      taken.in_flight = call.failures.front().in_flight;
    }
    taken.asks = call.asked.has_value() || call.would_ask;
    taken.allow_on_timeout = call.asked && call.asked->allow_on_timeout;
    taken.breaks_constraint = call.breaks_constraint;
    taken.digest = call.digest;
    taken.facts = call.facts;
    out.calls.push_back(std::move(taken));
  }
  return out;
}

// --- rulings ----------------------------------------------------------------------------------------------------------------------

std::optional<RulingVerdict> rule_on(const Rules& rules, const State& state, std::string_view call_id, Ruling ruling,
                                     bool lease_stale, const Commons* commons) {
  const OpenCall* ruled = state.find(call_id);
  if (ruled == nullptr || ruled->state != CallState::Awaiting || !ruled->asks || ruled->approved) return std::nullopt;
  if (ruling == Ruling::TimedOut && ruled->allow_on_timeout) ruling = Ruling::Approved;
  std::vector<const OpenCall*> group;
  for (const OpenCall& call : state.open)
    if (call.state == CallState::Awaiting && (&call == ruled || (ruled->group != 0 && call.group == ruled->group)))
      group.push_back(&call);
  RulingVerdict out;
  out.calls.resize(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    out.call_ids.push_back(group[i]->id);
    out.calls[i].tool = group[i]->tool;
    out.calls[i].digest = group[i]->digest;
    if (group[i] == ruled) out.ruled = i;
  }
  const auto reject_others = [&](std::size_t but) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (i == but || !out.calls[i].failures.empty()) continue;
      out.calls[i].verdict = Verdict::Block;
      out.calls[i].failures.push_back(refusal(Code::batch_rejected));
    }
  };
  if (ruling != Ruling::Approved) {
    CallVerdict& call = out.calls[out.ruled];
    call.verdict = Verdict::Block;
    call.failures.push_back(ruling == Ruling::Denied
                                ? refusal(Code::checkpoint_denied, {{"suggestion", "do not propose it again as it is"}})
                                : refusal(Code::checkpoint_timeout));
    reject_others(out.ruled);
    return out;
  }
  for (const OpenCall* call : group)
    if (call != ruled && call->asks && !call->approved) {
      // Others of the response wait still.
      for (CallVerdict& one : out.calls) one.verdict = Verdict::Checkpoint;
      return out;
    }
  Step step;
  step.commons = commons;
  step.left_out = group;
  step.ahead.reserve(group.size());
  bool blocked = false;
  for (std::size_t i = 0; i < group.size(); ++i) {
    CallVerdict& call = out.calls[i];
    call.facts = group[i]->facts;
    step.estimate = group[i]->estimate;
    step.number = group[i]->number;
    if (auto refused = standing_refusal(state, lease_stale)) call.failures.push_back(std::move(*refused));
    else if (state.cancel_requested && (call.tool == kNone || contract::is_mutating(rules.tool(call.tool).side_effect)))
      call.failures.push_back(refusal(Code::cancel_requested));
    else if (call.tool != kNone) Judge(rules, state, call.tool, step, nullptr).all(nullptr, call);
    ++step.position;
    if (!call.failures.empty()) {
      call.verdict = Verdict::Block;
      blocked = true;
    } else if (call.tool != kNone) {
      step.ahead.push_back({call.tool, &call.facts, &call.digest});
    }
  }
  if (blocked) reject_others(group.size());
  return out;
}

std::vector<Resolved> resolved_of(const RulingVerdict& verdict) {
  std::vector<Resolved> out;
  for (std::size_t i = 0; i < verdict.calls.size(); ++i) {
    const CallVerdict& call = verdict.calls[i];
    out.push_back({verdict.call_ids[i], call.verdict,
                   call.failures.empty() ? std::nullopt : std::optional(call.failures.front().code()),
                   !call.failures.empty() && call.failures.front().in_flight});
  }
  return out;
}

namespace {

// Nothing else is against it: is it the call's turn among those of the workflow that execute one at a time? What stood when it was
// judged may stand no more by the time it is, so it is looked at once more: who would be refused does not wait.
void take_turn(Judge& judge, const SharedCall& call, bool judged_again, CallVerdict& verdict, StartVerdict& out) {
  if (!verdict.failures.empty() || !judge.is_serial(verdict)) return;
  if (!judged_again) {
    judge.aggregates(verdict);
    judge.envelopes(verdict);
  }
  if (!verdict.failures.empty()) return;
  judge.serial(call, verdict);
  out.waits = !verdict.failures.empty();
}

}  // namespace

// --- starting ---------------------------------------------------------------------------------------------------------------------

StartVerdict start(const Rules& rules, const State& state, std::string_view call_id, const Values& arguments,
                   std::string_view digest, bool lease_stale, const Hiding* hiding, const Commons* commons,
                   std::string_view protected_path) {
  StartVerdict out;
  const OpenCall* call = state.find(call_id);
  if (call == nullptr || call->state != CallState::Pending) {
    out.is_open = false;
    return out;
  }
  CallVerdict verdict;
  verdict.facts = call->facts;
  if (auto refused = standing_refusal(state, lease_stale)) verdict.failures.push_back(std::move(*refused));
  // Not while others are only asked about: what was allowed goes ahead then.
  else if (state.mode == Mode::Enforce && !state.paused_because.empty())
    verdict.failures.push_back(pause_refusal(state));
  else if (!protected_path.empty())
    verdict.failures.push_back(refusal(Code::protected_path, {{"path", protected_path}}));
  if (call->tool == kNone) {  // let through without a contract, which is all there is to judge it by
    out.failures = std::move(verdict.failures);
    return out;
  }
  const std::optional<std::string> problem =
      arguments.root() && !arguments.is_record() ? problem_of(arguments.root()) : std::nullopt;
  if (problem && verdict.failures.empty())
    verdict.failures.push_back(refusal(Code::arguments_malformed, {{"problem", *problem}}));
  const bool differs = arguments.root() && !problem && (call->digest.empty() || digest != call->digest);
  Step step;
  step.commons = commons;
  step.left_out = {call};
  step.number = call->number;
  Judge judge(rules, state, call->tool, step, hiding);
  if (verdict.failures.empty()) {
    judge.labels(verdict);
  }
  // Whoever may not call it learns no more.
  if (!verdict.failures.empty()) {
    out.failures = std::move(verdict.failures);
    return out;
  }
  if (differs) {
    verdict.facts.clear();
    judge.measure(arguments, verdict.facts);
  }
  judge.forbidden(verdict);
  if (differs) {
    judge.arguments_again(arguments, verdict);
    // What a person was asked about, or would have to be, is not begun with anything else.
    if (verdict.failures.empty() && (call->asks || judge.checkpoints(arguments)))
      verdict.failures.push_back(refusal(Code::approval_mismatch, {{"tool", rules.tool(call->tool).name}}));
    out.facts = verdict.facts;
    out.digest = digest;
  } else {
    // What was let through against a constraint still breaks it.
    if (call->breaks_constraint)
      verdict.failures.push_back(refusal(
          Code::execution_constraint_violated,
          {{"path", "an argument"}, {"problem", "breaks a constraint"}, {"remedy", "propose other arguments"}}));
    judge.resources(verdict);
  }
  take_turn(judge, {commons == nullptr ? std::string() : commons->session(), call->id}, differs, verdict, out);
  out.diagnostics = std::move(verdict.diagnostics);
  out.failures = std::move(verdict.failures);
  return out;
}

Begun begun_of(std::string call_id, const StartVerdict& verdict) {
  Begun out{std::move(call_id), !verdict.failures.empty(), verdict.facts, verdict.digest, verdict.waits};
  out.in_flight = out.refused && verdict.failures.front().in_flight;
  return out;
}

// --- before the model is asked ------------------------------------------------------------------------------------------------------

std::vector<std::string> tools_of_request(json::Node request) {
  std::vector<std::string> out;
  for (const json::Node tool : request["tools"].elements()) {
    if (tool.is_string()) out.emplace_back(tool.string());
    else if (tool["name"].is_string()) out.emplace_back(tool["name"].string());
    else if (tool["function"]["name"].is_string()) out.emplace_back(tool["function"]["name"].string());
  }
  return out;
}

namespace {

bool may_be_met(const Rules& rules, const State& state, ToolId id) {
  const contract::Tool& tool = rules.tool(id);
  for (std::size_t i = 0; i < tool.preconditions.size(); ++i) {
    const ToolRules::Need& need = rules.tools[id].needs[i];
    if (need.watch == kNone) {
      if (state.steps < tool.preconditions[i].steps) return false;
      continue;
    }
    const Record& record = state.records[need.watch];
    // Which entity the call will be about is not known yet: it is enough that there is one.
    const bool met = need.fact == kNone
                         ? record.latest.value_or(false)
                         : std::ranges::any_of(record.by_entity, [](const auto& one) { return one.second; });
    if (!met) return false;
  }
  return true;
}

struct Narrowing {
  Code why;
  bool in_flight = false;
};

std::optional<Narrowing> narrowing(const Rules& rules, const State& state, ToolId id) {
  const Plan& plan = *rules.plan;
  const contract::Tool& tool = rules.tool(id);
  for (const std::uint32_t gate : tool.label_gates)
    if (state.has_label(plan.label_gates[gate].label)) return Narrowing{Code::label_denied};
  if (std::ranges::binary_search(state.denied, id)) return Narrowing{Code::policy_denied};
  if (!tool.passes_gate) return Narrowing{Code::risk_gate_blocked};
  if (!plan.phases.empty()) {
    if (tool.names_phases && !tool.valid_in.has(state.phase)) return Narrowing{Code::wrong_phase};
    if (tool.advances_to && !plan.is_legal(state.phase, *tool.advances_to))
      return Narrowing{Code::illegal_phase_transition};
  }
  if (forbidden_by(rules, state, id) != kNone) return Narrowing{Code::forbidden_in_state};
  if (forbidden_in_flight_by(rules, state, id, nullptr) != nullptr) return Narrowing{Code::forbidden_in_state, true};
  const contract::Limits& limits = plan.limits;
  if (limits.max_tool_calls && limits.narrow && state.tool_calls + state.calls_before >= *limits.max_tool_calls)
    return Narrowing{Code::session_limit_exceeded};
  if (const auto max = limits.max_calls.find(id); max != limits.max_calls.end()) {
    const auto counted = state.calls.find(id);
    if (counted != state.calls.end() && counted->second >= max->second) return Narrowing{Code::session_limit_exceeded};
  }
  if (!may_be_met(rules, state, id)) return Narrowing{Code::precondition_not_met};
  return std::nullopt;
}

}  // namespace

Narrowed narrow(const Rules& rules, const State& state, const std::vector<std::string>& offered) {
  Narrowed out;
  const auto judge = [&](const std::string& name, std::optional<ToolId> id) {
    std::optional<Narrowing> narrowed;
    if (state.standing == Standing::Killed) narrowed = Narrowing{Code::session_killed};
    else if (state.standing == Standing::Closed) narrowed = Narrowing{Code::session_closed};
    else if (!id) narrowed = Narrowing{Code::no_contract};
    else narrowed = narrowing(rules, state, *id);
    if (narrowed) out.removed.push_back({name, narrowed->why, narrowed->in_flight});
    else out.kept.push_back(*id);
  };
  if (offered.empty())
    for (ToolId id = 0; id < rules.plan->tools.size(); ++id) judge(rules.plan->tools[id].name, id);
  else
    for (const std::string& name : offered) judge(name, rules.plan->find_tool(name));
  return out;
}

namespace {

// --- provider_constraints ---------------------------------------------------------------------------------------------------------

bool is_dated(std::string_view model, std::string_view base) {
  if (!model.starts_with(base)) return false;
  const std::string_view rest = model.substr(base.size());
  const auto digits = [](std::string_view text) { return std::ranges::all_of(text, is_digit); };
  if (rest.size() == 9 && rest[0] == '-') return digits(rest.substr(1));
  return rest.size() == 11 && rest[0] == '-' && rest[5] == '-' && rest[8] == '-' && digits(rest.substr(1, 4)) &&
         digits(rest.substr(6, 2)) && digits(rest.substr(9, 2));
}

json::Node at_dotted(json::Node node, const std::vector<std::string>& path) {
  for (const std::string& name : path) node = node[name];
  return node;
}

// The literal of a pattern is text; one that is a number stands for that number, however it is written.
bool is_number_named(std::string_view number, const std::string& literal) {
  if (number == literal) return true;
  const auto document = json::parse(literal);
  return document && document->root().is_number() && json::same_number(number, literal);
}

bool matches(const contract::ProviderTerm& term, json::Node request) {
  const json::Node value = at_dotted(request, term.path);
  if (term.equals) {
    if (value.is_string()) return value.string() == *term.equals;
    if (value.is_boolean()) return (value.boolean() ? "true" : "false") == *term.equals;
    if (value.is_null()) return *term.equals == "null";
    return value.is_number() && is_number_named(value.number_text(), *term.equals);
  }
  const json::Node model = request["model"];
  if (model.is_string() && (model.string() == term.text || is_dated(model.string(), term.text))) return true;
  return value && !value.is_null() && !(value.is_boolean() && !value.boolean()) && !value["type"].is_text("disabled");
}

bool matches(const contract::Provider::Pattern& pattern, json::Node request) {
  return std::ranges::all_of(pattern, [&](const contract::ProviderTerm& term) { return matches(term, request); });
}

bool is_floating(std::string_view model) {
  if (model.find('@') != std::string_view::npos) return false;
  return !(model.size() > 9 && is_dated(model, model.substr(0, model.size() - 9))) &&
         !(model.size() > 11 && is_dated(model, model.substr(0, model.size() - 11)));
}

void check_provider(const Plan& plan, const Preflight& asked, PreflightVerdict& out) {
  for (const contract::Provider& provider : plan.providers) {
    if (provider.name != asked.provider) continue;
    for (const auto& pattern : provider.block)
      if (matches(pattern.terms, asked.request))
        out.failures.push_back(
            {report(Code::provider_incompatible, {}, {{"pattern", pattern.text}, {"provider", provider.name}}),
             pattern.text});
    for (const auto& pattern : provider.warn)
      if (matches(pattern.terms, asked.request))
        out.diagnostics.push_back(
            report(Code::provider_warning, {}, {{"pattern", pattern.text}, {"provider", provider.name}}));
    const json::Node model = asked.request["model"];
    if (provider.warn_floating_alias && model.is_string() && is_floating(model.string()))
      out.diagnostics.push_back(report(Code::floating_model_alias, {}, {{"model", model.string()}}));
  }
}

void check_budgets(const Rules& rules, const State& state, const Preflight& asked, PreflightVerdict& out) {
  const contract::Limits& limits = rules.plan->limits;
  const auto exceed = [&](std::string_view name, const std::string& max) {
    out.failures.push_back({report(Code::session_limit_exceeded, {},
                                   {{"limit", name},
                                    {"max", max},
                                    {"problem", "nothing is left of it"},
                                    {"remedy", "end the session with what there is"}}),
                            std::string(name)});
  };
  if (limits.max_steps && state.steps >= *limits.max_steps) exceed("max_steps", std::to_string(*limits.max_steps));
  if (limits.max_cost) {
    const Decimal spent = state.cost + state.cost_before;
    if (spent >= *limits.max_cost || (asked.estimate && spent + *asked.estimate > *limits.max_cost))
      exceed("max_cost_per_session", limits.max_cost->text());
  }
  if (limits.max_tool_calls && !limits.narrow && state.tool_calls + state.calls_before >= *limits.max_tool_calls)
    exceed("max_tool_calls", std::to_string(*limits.max_tool_calls));
  if (asked.commons == nullptr) return;
  for (Refusal& one : over_budget(*asked.commons, asked.commons->spent(), asked.estimate))
    out.failures.push_back(std::move(one));
}

}  // namespace

PreflightVerdict preflight(const Rules& rules, const State& state, const Preflight& asked) {
  PreflightVerdict out;
  // A request that says nothing of tools is judged for all of them; one with an empty list offers none.
  if (!asked.request["tools"].is_array() || asked.request["tools"].size() > 0)
    out.narrowed = narrow(rules, state, tools_of_request(asked.request));
  if (auto refused = standing_refusal(state, asked.lease_stale)) {
    out.failures.push_back(std::move(*refused));
    return out;
  }
  if (state.mode == Mode::Enforce && state.is_paused()) {
    out.failures.push_back(pause_refusal(state));
    return out;
  }
  if (state.cancel_requested) out.diagnostics.push_back(report(Code::cancel_requested, {}));
  check_provider(*rules.plan, asked, out);
  check_budgets(rules, state, asked, out);
  const Environment environment{rules.plan->environment, state.environment, nullptr};
  for (const ToolId id : out.narrowed.kept) {
    const contract::Tool& tool = rules.tool(id);
    for (const contract::Invariant& one : tool.input_assertions) {
      if (one.scope != contract::Scope::Boundary) continue;
      if (!asked.request) {
        out.failures.push_back(
            refusal(Code::assertion_context_missing, {{"tool", tool.name}, {"what", "the request"}}));
        break;
      }
      const json::Node value = one.at.path.resolve(asked.request);
      if (const contract::Test* test = failing(one, value, environment)) {
        const Wording words = wording_of(*test, value);
        out.failures.push_back(
            {report(Code::input_assertion_failed, {},
                    {{"path", "the request's " + one.at.text}, {"problem", words.problem}, {"remedy", words.remedy}}),
             one.at.text});
      }
    }
  }
  return out;
}

}  // namespace baton::session
