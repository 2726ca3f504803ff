// SPDX-License-Identifier: Apache-2.0
#include "session/door.h"

#include "base/limits.h"
#include "contract/facts.h"
#include "json/parse.h"
#include "session/shown.h"

namespace baton::session {
namespace {

using json::Value;

Value refused(std::string_view code) {
  Value out = Value::object();
  out.set("refused", code);
  return out;
}

// What a step is expected to cost; nothing when it does not say.
std::string read_estimate(json::Node node, std::optional<json::Decimal>& out) {
  return node ? read_cost(node, "estimate", out) : std::string();
}

// Rules look at values of the request and the response, and what they looked at is recorded.
std::string problem_of_boundary(json::Node holder) {
  for (const std::string_view name : {"request", "response"})
    if (const json::Node value = holder[name]; value && !json::are_writable(value))
      return "`" + std::string(name) + "` has a number with an exponent of more than nine digits";
  return {};
}

json::Document document_of(const Value& value) { return std::move(*json::parse_owned(json::write(value))); }

}  // namespace

std::string read_cost(json::Node node, std::string_view name, std::optional<json::Decimal>& out) {
  const std::string quoted = "`" + std::string(name) + "`";
  if (!node.is_number()) return quoted + " is no number";
  if (!json::is_within_digits(node.number_text()))
    return quoted + " has more than " + std::to_string(limits::kNumberDigitsMax) + " digits";
  const json::Decimal cost = json::Decimal::from_number(node.number_text());
  if (cost < json::Decimal()) return quoted + " is below 0";
  out = cost;
  return {};
}

ReadProposal read_proposal(json::Node step) {
  ReadProposal out;
  const json::Node calls = step["calls"];
  out.documents.reserve(calls.is_array() ? calls.size() : 0);
  for (const json::Node call : calls.elements()) {
    Proposed one;
    if (call["call_id"].is_string()) one.id = call["call_id"].string();
    if (!call["tool"].is_string()) {
      out.problem = "a call has no `tool`";
      return out;
    }
    one.tool = call["tool"].string();
    if (const json::Node text = call["arguments_text"]; text.is_string()) {
      // What is not one JSON value within bounds is no arguments; the call is judged for that.
      auto document = json::parse(
          text.string(), {.bytes_max = limits::kCallArgumentsBytesMax, .depth_max = limits::kCallArgumentsDepthMax});
      if (document) {
        out.documents.push_back(std::move(*document));
        one.arguments = Values::of_call(out.documents.back().root());
      } else {
        one.malformed = document.error().what;
      }
    } else if (call["arguments"]) {
      one.arguments = Values::of_call(call["arguments"]);
    } else {
      one.malformed = "there are none";
    }
    out.proposal.calls.push_back(std::move(one));
  }
  if (step["request"]) out.proposal.request = Values::of_document(step["request"]);
  if (step["response"]) {
    out.proposal.response = Values::of_document(step["response"]);
    out.proposal.shape = shape_of(step["response"]);
  }
  out.problem = read_estimate(step["estimate"], out.proposal.estimate);
  if (out.problem.empty()) out.problem = problem_of_boundary(step);
  return out;
}

ReadPreflight read_preflight(json::Node asked) {
  ReadPreflight out;
  if (asked["provider"].is_string()) out.question.provider = asked["provider"].string();
  out.question.request = asked["request"];
  out.problem = read_estimate(asked["estimate"], out.question.estimate);
  if (out.problem.empty()) out.problem = problem_of_boundary(asked);
  return out;
}

ReadReceipt read_receipt(json::Node node) {
  ReadReceipt out;
  const json::Node result = node["result"];
  if (result.is_text("ok")) out.receipt.kind = Receipt::Ok;
  else if (result.is_text("error")) out.receipt.kind = Receipt::Error;
  else if (result.is_text("timeout")) out.receipt.kind = Receipt::Timeout;
  else if (result.is_text("unknown")) out.receipt.kind = Receipt::Lost;
  else {
    out.problem = "`result` is none of ok, error, timeout, unknown";
    return out;
  }
  if (node["ack"].is_boolean()) out.receipt.ack = node["ack"].boolean();
  const auto values_of = [](json::Node holder, json::Node output) {
    const bool is_text = holder["text_result"].is_true() && output.is_object();
    return is_text ? Values::of_text_result(output) : Values::of_document(output);
  };
  if (const json::Node output = node["output"]; output && !output.is_null())
    out.receipt.output = values_of(node, parsed_output(output, out.parsed));
  const json::Node error = node["error"];
  if (const json::Node output = error["output"]; output && !output.is_null())
    out.receipt.error_output = values_of(error, output);
  for (const json::Node one : node["also"].elements())
    if (one["output"]) out.receipt.also.push_back(values_of(one, one["output"]));
  const auto is_writable = [](const Values& one) { return json::are_writable(one.root()); };
  if (!is_writable(out.receipt.output) || !is_writable(out.receipt.error_output) ||
      !std::ranges::all_of(out.receipt.also, is_writable)) {
    out.receipt.is_unwritable = true;
    out.receipt.output = out.receipt.error_output = {};
    out.receipt.also.clear();
  }
  CallError& into = out.receipt.error;
  if (error.is_string()) into = error_named(error.string());
  else if (error.is_number()) into = error_named(error.number_text());
  else if (error.is_object()) {
    if (error["code"].is_string()) into.code = error["code"].string();
    if (error["http_status"].is_number()) into.http_status = json::to_int64(error["http_status"].number_text());
    if (error["class"].is_string()) into.error_class = error["class"].string();
    else if (into.http_status) into.error_class = class_of_status(*into.http_status);
    else if (!into.code.empty()) into.error_class = error_named(into.code).error_class;
    if (into.error_class.empty()) into.error_class = "tool_error";
    if (error["message"].is_string()) into.message = error["message"].string();
  } else {
    into.error_class = "tool_error";
  }
  return out;
}

// --- the engine -----------------------------------------------------------------------------------------------------------------------

// Why arguments that an agent wrote are not judged as far as facts go; nothing: they are.
std::optional<Code> EngineDoor::problem_of_facts(json::Node arguments, std::optional<ToolId> tool) const {
  if (!arguments.is_object()) return std::nullopt;
  if (arguments_ == Arguments::OfAgent && contract::has_fact_member(arguments)) return Code::fact_in_arguments;
  if (tool && rules_->tools[*tool].reads_facts && !contract::facts_in(arguments)) return Code::facts_missing;
  return std::nullopt;
}

Value EngineDoor::propose(const Value& step) {
  const json::Document document = document_of(step);
  ReadProposal read = read_proposal(document.root());
  if (!read.problem.empty()) return refused(info(Code::SESSION_OPTIONS).name);
  // What is begun later is compared with what was proposed.
  std::vector<std::string> digests(read.proposal.calls.size());
  for (std::size_t i = 0; i < digests.size(); ++i) {
    Proposed& call = read.proposal.calls[i];
    if (const auto problem = problem_of_facts(call.arguments.root(), rules_->plan->find_tool(call.tool))) {
      call.arguments = {};
      call.malformed_as = *problem;
      call.malformed = contract::fact_member();
    }
    if (call.arguments.root().is_object()) digests[i] = digest_of(call.arguments.root()).value_or("");
    call.digest = digests[i];
  }
  read.proposal.commons = commons_;
  const StepVerdict verdict = decide(*rules_, state_, read.proposal);
  Effects effects;
  const bool joins = verdict.calls.size() == 1 && !verdict.calls[0].joins.empty();
  if (!joins) effects = take_step(*rules_, state_, step_of(read.proposal, verdict));
  return shown(*rules_, state_, read.proposal, verdict, effects);
}

Value EngineDoor::preflight(const Value& asked) {
  const json::Document document = document_of(asked);
  auto [question, problem] = read_preflight(document.root());
  if (!problem.empty()) return refused(info(Code::SESSION_OPTIONS).name);
  question.commons = commons_;
  return shown(*rules_, session::preflight(*rules_, state_, question));
}

Value EngineDoor::rule(const std::string& call_id, Ruling ruling) {
  const auto verdict = rule_on(*rules_, state_, call_id, ruling, false, commons_);
  if (!verdict) return refused("checkpoint_closed");
  const Effects effects = take_ruling(*rules_, state_, call_id, ruling, resolved_of(*verdict));
  return shown(*verdict, effects);
}

Value EngineDoor::start(const std::string& call_id, const Value* arguments) {
  std::optional<json::Document> document;
  Values values;
  std::string digest;
  if (arguments != nullptr) {
    document.emplace(document_of(*arguments));
    values = Values::of_call(document->root());
    const OpenCall* call = state_.find(call_id);
    if (call != nullptr && call->tool != kNone)
      if (const auto problem = problem_of_facts(document->root(), call->tool)) return refused(info(*problem).name);
    digest = digest_of(document->root()).value_or("");
  }
  StartVerdict verdict = session::start(*rules_, state_, call_id, values, digest, false, nullptr, commons_);
  if (!verdict.is_open) return refused("call_not_open");
  const Effects effects = take_start(*rules_, state_, begun_of(call_id, verdict));
  return shown(verdict, effects);
}

Value EngineDoor::settle(const std::string& call_id, const Value& receipt) {
  const json::Document document = document_of(receipt);
  const ReadReceipt read = read_receipt(document.root());
  if (!read.problem.empty()) return refused(read.problem);
  const SettleVerdict verdict = session::settle(*rules_, state_, call_id, read.receipt);
  if (!verdict.is_open) return refused("call_not_open");
  const Effects effects = take_settlement(*rules_, state_, verdict.settled);
  return shown(verdict, effects);
}

Value EngineDoor::add_label(const std::string& label) {
  take_label(state_, label);
  return Value::object();
}

Value EngineDoor::report_cost(const Value& cost) {
  const json::Document document = document_of(cost);
  std::optional<json::Decimal> spent;
  if (!read_cost(document.root(), "cost", spent).empty()) return refused(info(Code::SESSION_OPTIONS).name);
  take_cost(state_, *spent);
  return Value::object();
}

namespace {

Value ended(const Effects& effects) {
  Value out = Value::object();
  Value cancelled = Value::array();
  for (const std::string& id : effects.cancelled) cancelled.push(id);
  out.set("cancelled", std::move(cancelled));
  return out;
}

}  // namespace

Value EngineDoor::kill() { return ended(take_end(*rules_, state_, Standing::Killed, "killed")); }
Value EngineDoor::close() { return ended(take_end(*rules_, state_, Standing::Closed, {})); }
Value EngineDoor::view() { return shown(*rules_, state_); }

}  // namespace baton::session
