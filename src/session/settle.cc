// SPDX-License-Identifier: Apache-2.0
#include "session/settle.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "json/parse.h"
#include "session/judge.h"
#include "session/tests.h"

namespace baton::session {

using contract::Evidence;
using contract::Invariant;
using json::Decimal;

std::string_view class_of_status(std::int64_t status) {
  if (status == 429) return "rate_limited";
  if (status >= 500 && status <= 599) return "server_error";
  if (status >= 400 && status <= 499) return "client_error";
  return {};
}

CallError error_named(std::string_view text) {
  constexpr std::array<std::string_view, 6> kClasses = {"timeout",      "network",      "rate_limited",
                                                        "server_error", "client_error", "tool_error"};
  CallError out{std::string(text), "tool_error", {}, {}};
  if (std::ranges::find(kClasses, text) != kClasses.end()) out.error_class = text;
  if (text.size() == 3 && std::ranges::all_of(text, is_digit)) {
    out.http_status = (text[0] - '0') * 100 + (text[1] - '0') * 10 + (text[2] - '0');
    if (const auto named = class_of_status(*out.http_status); !named.empty()) out.error_class = named;
  }
  return out;
}

json::Node parsed_output(json::Node output, std::unique_ptr<json::Document>& parsed) {
  if (!output.is_string()) return output;
  auto document = json::parse(output.string());
  if (!document) return output;
  parsed = std::make_unique<json::Document>(std::move(*document));
  return parsed->root();
}

namespace {

bool is_allowed(const contract::Tool& tool, const CallError& error) {
  return std::ranges::any_of(tool.allowed_errors, [&](const contract::AllowedError& one) {
    if (one.code && *one.code != error.code) return false;
    if (one.error_class && *one.error_class != error.error_class) return false;
    if (one.http_status && one.http_status != error.http_status) return false;
    return !one.message || re2::RE2::PartialMatch(error.message, *one.message);
  });
}

// What the commit of this call will leave behind of its output.
void read_output(const Rules& rules, ToolId id, const Values& output, const Environment& environment,
                 const Hiding* hiding, Settled& out) {
  const contract::Tool& tool = rules.tool(id);
  const ToolRules& indexes = rules.tools[id];
  for (const contract::Bind& bind : tool.binds)
    if (bind.source == contract::Source::Output) out.binds.push_back(fact_of(output.at(bind.at), bind.at, hiding));
  for (const ToolRules::Stage& stage : indexes.stages)
    if (stage.fact == kNone) {
      const contract::PathAt& at = rules.plan->envelopes[stage.envelope].stages[stage.stage].at;
      out.captures.push_back(fact_of(output.at(at), at, hiding));
    }
  for (const ToolRules::Told& told : indexes.told) {
    const Watch& watch = rules.watches[told.watch];
    const auto& wanted = rules.tool(watch.dependent).preconditions[watch.precondition].with_output;
    const bool met = wanted.empty() || (output.root() && std::ranges::all_of(wanted, [&](const Invariant& one) {
                                          return passes(one, output.at(one.at), environment);
                                        }));
    out.told.push_back(met);
  }
}

// Does an ok receipt prove that it happened? What is missing, when not.
std::string_view missing_evidence(const contract::Tool& tool, const Receipt& receipt) {
  if (tool.evidence == Evidence::LocalTransaction && !receipt.has_object()) return "an output object";
  if (tool.evidence == Evidence::AckOnly && !receipt.ack) return "an acknowledgement";
  return {};
}

// An invariant must be true of the output and of everything that was given with it.
void judge_output(const contract::Tool& tool, const Values& output, const std::vector<Values>& also,
                  const Environment& environment, SettleVerdict& out) {
  for (const Invariant& one : tool.output_assertions) {
    if (one.scope != contract::Scope::Call) continue;
    json::Node value = output.at(one.at);
    const contract::Test* test = failing(one, value, environment);
    const bool is_beside = test == nullptr;
    for (const Values& other : also) {
      if (test != nullptr) break;
      value = other.at(one.at);
      test = failing(one, value, environment);
    }
    if (test == nullptr) continue;
    const Wording words = wording_of(*test, value);
    const std::string problem = (is_beside ? "in what stands beside the structured output, " : "") + words.problem;
    out.failures.push_back({report(Code::output_assertion_failed, place_named(pointer_of(one.at.path)),
                                   {{"path", one.at.text}, {"problem", problem}, {"remedy", words.remedy}}),
                            one.at.text});
  }
}

}  // namespace

Settled committed_with(const Rules& rules, const State& state, const OpenCall& call, const Values& output,
                       const Hiding* hiding) {
  Settled out;
  out.call_id = call.id;
  out.to = CallState::Committed;
  read_output(rules, call.tool, output, {rules.plan->environment, state.environment, hiding}, hiding, out);
  return out;
}

SettleVerdict settle(const Rules& rules, const State& state, std::string_view call_id, const Receipt& receipt,
                     const Hiding* hiding) {
  SettleVerdict out;
  const OpenCall* call = state.find(call_id);
  if (call == nullptr || call->state == CallState::Awaiting) {
    out.is_open = false;
    return out;
  }
  out.settled.call_id = call_id;
  const auto finish = [&](CallState to, bool error) {
    out.state = out.settled.to = to;
    out.settled.counts_as_error = error;
  };
  if (call->tool == kNone) {  // without a contract there is nothing to judge it by
    if (receipt.kind == Receipt::Ok) finish(CallState::Committed, false);
    else finish(receipt.kind == Receipt::Error ? CallState::Failed : CallState::Unknown, true);
    return out;
  }
  const contract::Tool& tool = rules.tool(call->tool);
  const Environment environment{rules.plan->environment, state.environment, hiding};
  if (receipt.is_unwritable)
    out.failures.push_back({report(Code::evidence_insufficient, {},
                                   {{"tool", tool.name}, {"expected", "an output whose numbers can be written down"}}),
                            tool.name});
  switch (receipt.kind) {
    case Receipt::Error:
      out.allowed_error = is_allowed(tool, receipt.error);
      // What an error says reaches the caller as an output does.
      if (receipt.error_output.root()) judge_output(tool, receipt.error_output, receipt.also, environment, out);
      finish(CallState::Failed, !out.allowed_error);
      break;
    case Receipt::Timeout: {
      CallError error = receipt.error;
      error.error_class = "timeout";
      if (error.code.empty()) error.code = "timeout";
      out.allowed_error = is_allowed(tool, error);
      finish(tool.side_effect == contract::SideEffect::Read ? CallState::Failed : CallState::Unknown,
             !out.allowed_error);
      break;
    }
    case Receipt::Lost: finish(CallState::Unknown, true); break;
    case Receipt::Ok: {
      if (receipt.is_unwritable) {
        finish(CallState::Failed, true);
        break;
      }
      // What counted as done when it was allowed needs no proof any more.
      if (const auto missing = missing_evidence(tool, receipt); !missing.empty() && !call->committed) {
        out.failures.push_back(
            {report(Code::evidence_insufficient, {}, {{"tool", tool.name}, {"expected", missing}}), tool.name});
        finish(CallState::Failed, true);
        break;
      }
      // A call that counted as done without an output is not held to one.
      if (!call->committed || receipt.output.root()) judge_output(tool, receipt.output, receipt.also, environment, out);
      if (!out.failures.empty()) {
        finish(CallState::Failed, true);
        break;
      }
      finish(CallState::Committed, false);
      out.settled = committed_with(rules, state, *call, receipt.output, hiding);
      break;
    }
  }
  return out;
}

// --- trying again -----------------------------------------------------------------------------------------------------------------

Retry retry(const contract::Tool& tool, const Attempt& attempt, std::int64_t made, const Decimal& elapsed_ms) {
  const Decimal total(tool.total_ms);
  if (elapsed_ms > total) return {{}, true, false};
  // A call whose time is over may have happened: it is not tried again. An attempt that took too long is an error of that class.
  if (attempt.kind != Receipt::Error || made >= tool.retries.max_attempts) return {};
  const CallError& error = attempt.error;
  const bool limited = error.error_class == "rate_limited" || error.http_status == 429;
  Decimal sleep;
  if (limited) {
    if (tool.retries.respect_retry_after && attempt.retry_after) {
      if (*attempt.retry_after > tool.retries.max_sleep_seconds) return {{}, false, true};
      sleep = *attempt.retry_after;
    } else {
      const std::int64_t doublings = std::min<std::int64_t>(made - 1, 40);
      sleep = std::min(Decimal(std::int64_t{1} << doublings), tool.retries.max_sleep_seconds, std::less<>());
    }
  } else {
    const auto& on = tool.retries.retry_on;
    const auto listed = [&](std::string_view word) { return std::ranges::find(on, word) != on.end(); };
    const bool wanted = listed(error.error_class) || listed(error.code) ||
                        (error.http_status && listed(std::to_string(*error.http_status)));
    if (!wanted) return {};
  }
  if (elapsed_ms + sleep * Decimal(1000) >= total) return {};
  return {sleep, false, false};
}

}  // namespace baton::session
