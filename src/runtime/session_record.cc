// SPDX-License-Identifier: Apache-2.0
#include "runtime/session_record.h"

#include <array>

#include "base/limits.h"
#include "base/sha256.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "ledger/redaction.h"
#include "runtime/work_rows.h"

namespace baton::runtime {
namespace {

using json::Value;
using session::kNone;

constexpr std::array<std::string_view, 3> kRulings = {"approved", "denied", "timed_out"};
// Arguments beyond this are kept as one text, which then lies beside the ledger.
constexpr std::size_t kInlineArgumentsBytes = 6u << 10;
// A value beyond this is recorded by its hash.
constexpr std::size_t kInlineValueBytes = 3u << 10;

std::string optional_text(json::Node node, std::string_view name) {
  return node[name].is_string() ? std::string(node[name].string()) : std::string();
}

std::string_view name_in(const json::Path& path) {
  std::string_view name;
  for (const json::Path::Step& step : path.steps())
    if (const auto* member = std::get_if<std::string>(&step)) name = *member;
  return name;
}

// A fact is a text in an entry, but for a number too long to be one: a text of that size would lie beside the ledger. Only numbers are
// that long (session/facts.h).
Value facts_value(const std::vector<session::Fact>& facts) {
  Value out = Value::array();
  for (const session::Fact& fact : facts) {
    const bool is_long_number = session::is_number(fact) && fact.size() > limits::kLedgerInlineBytesMax;
    out.push(is_long_number ? Value::number(fact) : Value(fact));
  }
  return out;
}

bool read_facts(json::Node facts, std::vector<session::Fact>& out) {
  if (!facts.is_array()) return false;
  for (const json::Node fact : facts.elements()) {
    if (!fact.is_string() && !fact.is_number()) return false;
    out.emplace_back(fact.is_string() ? fact.string() : fact.number_text());
  }
  return true;
}

std::optional<Code> first_code(json::Node failures) {
  const json::Node first = failures.element(0);
  if (!first["code"].is_string()) return std::nullopt;
  const CodeInfo* row = find_code(first["code"].string());
  return row == nullptr ? std::nullopt : std::optional(row->code);
}

bool is_in_flight(json::Node failures) { return failures.element(0)["in_flight"].is_true(); }

}  // namespace

std::optional<std::string> KeyedHiding::hidden(json::Node value, std::string_view name) const {
  if (!ledger::holds_secret(value, name)) return std::nullopt;
  return json::write(ledger::keyed_hash(Value::copy(value), key_));
}

std::string keyed_digest(const ledger::RedactionKey& key, std::string_view canonical) {
  return ledger::keyed_hash(Value(canonical), key).find("keyed_hash")->string();
}

std::string KeyedHiding::keyed(std::string_view text) const {
  return json::write(ledger::keyed_hash(Value(text), key_));
}

Value recorded_values(const session::Values& values, const std::vector<contract::PathAt>& paths,
                      const session::Hiding& hiding) {
  Value out = Value::object();
  for (const contract::PathAt& at : paths) {
    const json::Node node = values.at(at);
    if (!node) continue;
    const std::string name = at.path.text();
    if (auto hidden = hiding.hidden(node, name_in(at.path))) {
      out.set(name, Value::copy(json::parse(*hidden)->root()));
      continue;
    }
    Value value = Value::copy(node);
    // A number is kept however long it is: rules add it up.
    if (!node.is_number() &&
        (node.is_string() ? node.string().size() : json::write(value).size()) > kInlineValueBytes) {
      const session::Fact fact = session::fact_of(node, at, nullptr);  // long ones are hashes
      value = Value::copy(json::parse(fact)->root());
    }
    out.set(name, std::move(value));
  }
  return out;
}

// --- writing ----------------------------------------------------------------------------------------------------------------------

Value failures_value(const std::vector<session::Refusal>& failures) {
  Value out = Value::array();
  for (const session::Refusal& one : failures) {
    Value failure = Value::object();
    failure.set("code", info(one.code()).name);
    if (!one.detail.empty()) failure.set("detail", one.detail);
    if (one.in_flight) failure.set("in_flight", true);
    out.push(std::move(failure));
  }
  return out;
}

void set_arguments(Value& out, json::Node arguments) {
  Value copy = Value::copy(arguments);
  std::string text = json::write(copy);
  if (text.size() <= kInlineArgumentsBytes) out.set("arguments", std::move(copy));
  else out.set("arguments_text", std::move(text));
}

Value step_value(const session::Rules& rules, const session::Proposal& proposal, const session::StepVerdict& verdict,
                 const std::vector<std::string>& approvals, const session::Hiding& hiding) {
  Value out = Value::object();
  Value calls = Value::array();
  Value request = Value::object(), response = Value::object();
  for (std::size_t i = 0; i < verdict.calls.size(); ++i) {
    const session::Proposed& asked = proposal.calls[i];
    const session::CallVerdict& judged = verdict.calls[i];
    Value call = Value::object();
    call.set("call_id", asked.id);
    call.set("tool", asked.tool);
    const json::Node root = asked.arguments.root();
    const auto malformed = session::problem_of(asked);
    if (!malformed) {
      set_arguments(call, root);
      if (!judged.digest.empty()) call.set("arguments_sha256", judged.digest);
      if (judged.tool != kNone) {
        const session::ToolRules& tool = rules.tools[judged.tool];
        call.set("values", recorded_values(asked.arguments, tool.looked_at, hiding));
        const Value of_request = recorded_values(proposal.request, tool.request_paths, hiding);
        const Value of_response = recorded_values(proposal.response, tool.response_paths, hiding);
        for (const auto& [name, value] : of_request.members()) request.set(name, value);
        for (const auto& [name, value] : of_response.members()) response.set(name, value);
      }
    } else {
      call.set("malformed", *malformed);
      if (asked.malformed_as != Code::arguments_malformed) call.set("malformed_as", info(asked.malformed_as).name);
    }
    if (!asked.protected_path.empty()) {
      call.set("protected_path", asked.protected_path);
      if (asked.protected_always) call.set("protected_always", true);
    }
    call.set("verdict", session::name_of(judged.verdict));
    call.set("failures", failures_value(judged.failures));
    if (judged.asked) {
      call.set("approval_id", approvals[i]);
      if (judged.asked->allow_on_timeout) call.set("allow_on_timeout", true);
    }
    if (judged.would_ask) call.set("would_ask", true);
    if (judged.breaks_constraint) call.set("breaks_constraint", true);
    if (!judged.spends.empty()) call.set("spends", judged.spends);
    calls.push(std::move(call));
  }
  out.set("calls", std::move(calls));
  if (proposal.request.root()) out.set("request", std::move(request));
  if (proposal.response.root()) out.set("response", std::move(response));
  if (proposal.shape) {
    Value shape = Value::object();
    shape.set("finish_reason", proposal.shape->finish_reason);
    shape.set("content_empty", proposal.shape->content_empty);
    shape.set("tool_calls_present", proposal.shape->tool_calls_present);
    out.set("shape", std::move(shape));
  }
  if (proposal.estimate) out.set("estimate", Value::number(proposal.estimate->text()));
  if (proposal.lease_stale) out.set("lease_stale", true);
  if (proposal.approvals_left != SIZE_MAX) {
    out.set("approvals_left", proposal.approvals_left);
    out.set("approvals_scope", proposal.approvals_scope);
  }
  out.set("outcome", session::name_of(verdict.outcome));
  return out;
}

Value resolved_value(const session::RulingVerdict& verdict) {
  Value out = Value::array();
  for (std::size_t i = 0; i < verdict.calls.size(); ++i) {
    Value call = Value::object();
    call.set("call_id", verdict.call_ids[i]);
    call.set("verdict", session::name_of(verdict.calls[i].verdict));
    call.set("failures", failures_value(verdict.calls[i].failures));
    out.push(std::move(call));
  }
  return out;
}

Value settled_value(const session::SettleVerdict& verdict) {
  Value out = Value::object();
  const session::Settled& settled = verdict.settled;
  out.set("call_id", settled.call_id);
  out.set("state", session::name_of(settled.to));
  out.set("failures", failures_value(verdict.failures));
  out.set("counts_as_error", settled.counts_as_error);
  if (!settled.binds.empty()) out.set("binds", facts_value(settled.binds));
  if (!settled.captures.empty()) out.set("captures", facts_value(settled.captures));
  if (!settled.told.empty()) {
    Value told = Value::array();
    for (const bool one : settled.told) told.elements().emplace_back(one);
    out.set("told", std::move(told));
  }
  return out;
}

// --- reading ----------------------------------------------------------------------------------------------------------------------

std::string_view name_of(session::Ruling ruling) { return kRulings[static_cast<std::size_t>(ruling)]; }
std::optional<session::Ruling> ruling_named(std::string_view name) {
  for (std::size_t i = 0; i < kRulings.size(); ++i)
    if (kRulings[i] == name) return static_cast<session::Ruling>(i);
  return std::nullopt;
}

namespace {

std::vector<session::Fact> facts_in(const session::Rules& rules, session::ToolId tool, json::Node call) {
  std::vector<session::Fact> out;
  const session::Values recorded = session::Values::of_record(call["values"], call["arguments"]);
  for (const contract::PathAt& at : rules.tools[tool].paths)
    out.push_back(session::fact_of(recorded.at(at), at, nullptr));
  return out;
}

}  // namespace

std::optional<session::TakenStep> read_step(const session::Rules& rules, json::Node payload) {
  session::TakenStep out;
  if (!payload["calls"].is_array()) return std::nullopt;
  if (payload["estimate"].is_number()) out.estimate = json::Decimal::from_number(payload["estimate"].number_text());
  for (const json::Node call : payload["calls"].elements()) {
    session::TakenCall taken;
    std::string tool, verdict;
    if (!read_text(call, "call_id", taken.id) || !read_text(call, "tool", tool) || !read_text(call, "verdict", verdict))
      return std::nullopt;
    const auto named = session::verdict_named(verdict);
    if (!named) return std::nullopt;
    taken.verdict = *named;
    taken.reason = first_code(call["failures"]);
    taken.in_flight = is_in_flight(call["failures"]);
    if (taken.verdict == session::Verdict::Block && !taken.reason) return std::nullopt;
    if (const auto id = rules.plan->find_tool(tool)) taken.tool = *id;
    else taken.tool_name = tool;
    taken.asks = call["approval_id"].is_string() || call["would_ask"].is_true();
    taken.allow_on_timeout = call["allow_on_timeout"].is_true();
    taken.breaks_constraint = call["breaks_constraint"].is_true();
    taken.digest = optional_text(call, "arguments_sha256");
    if (taken.tool != kNone && call["values"].is_object()) taken.facts = facts_in(rules, taken.tool, call);
    out.calls.push_back(std::move(taken));
  }
  return out;
}

std::optional<std::vector<session::Resolved>> read_resolved(json::Node payload) {
  std::vector<session::Resolved> out;
  for (const json::Node call : payload["calls"].elements()) {
    session::Resolved one;
    std::string verdict;
    if (!read_text(call, "call_id", one.call_id) || !read_text(call, "verdict", verdict)) return std::nullopt;
    const auto named = session::verdict_named(verdict);
    if (!named) return std::nullopt;
    one.verdict = *named;
    one.reason = first_code(call["failures"]);
    one.in_flight = is_in_flight(call["failures"]);
    out.push_back(std::move(one));
  }
  return out;
}

bool is_told_to_wait(json::Node payload) {
  return payload["verdict"].is_text("block") &&
         payload["failures"].element(0)["code"].is_text(info(Code::resource_busy).name);
}

std::optional<session::Begun> read_begun(const session::Rules& rules, const session::State& state, json::Node payload) {
  session::Begun out;
  std::string verdict;
  if (!read_text(payload, "call_id", out.call_id) || !read_text(payload, "verdict", verdict)) return std::nullopt;
  out.refused = verdict != "allow";
  out.waits = is_told_to_wait(payload);
  out.in_flight = is_in_flight(payload["failures"]);
  const session::OpenCall* call = state.find(out.call_id);
  if (call == nullptr) return std::nullopt;
  if (payload["values"].is_object() && call->tool != kNone) {
    out.facts = facts_in(rules, call->tool, payload);
    out.digest = optional_text(payload, "arguments_sha256");
  }
  return out;
}

std::optional<session::Settled> read_settled(json::Node payload) {
  session::Settled out;
  std::string state;
  if (!read_text(payload, "call_id", out.call_id) || !read_text(payload, "state", state) ||
      !payload["counts_as_error"].is_boolean())
    return std::nullopt;
  const auto named = session::call_state_named(state);
  if (!named) return std::nullopt;
  out.to = *named;
  out.counts_as_error = payload["counts_as_error"].boolean();
  if (payload["binds"] && !read_facts(payload["binds"], out.binds)) return std::nullopt;
  if (payload["captures"] && !read_facts(payload["captures"], out.captures)) return std::nullopt;
  for (const json::Node one : payload["told"].elements()) out.told.push_back(one.is_true());
  return out;
}

session::Proposal recorded_proposal(json::Node payload) {
  session::Proposal out;
  for (const json::Node call : payload["calls"].elements()) {
    session::Proposed one;
    one.id = optional_text(call, "call_id");
    if (call["tool"].is_string()) one.tool = call["tool"].string();
    if (call["malformed"].is_string()) {
      one.malformed = call["malformed"].string();
      for (const Code code : {Code::fact_in_arguments, Code::facts_missing})
        if (call["malformed_as"].is_text(info(code).name)) one.malformed_as = code;
    } else {
      one.arguments = session::Values::of_record(call["values"] ? call["values"] : call, call["arguments"]);
    }
    if (call["arguments_sha256"].is_string()) one.digest = call["arguments_sha256"].string();
    if (call["spends"].is_string()) one.content_approval = call["spends"].string();
    one.protected_path = optional_text(call, "protected_path");
    one.protected_always = call["protected_always"].is_true();
    out.calls.push_back(std::move(one));
  }
  if (payload["request"].is_object()) out.request = session::Values::of_record(payload["request"]);
  if (payload["response"].is_object()) out.response = session::Values::of_record(payload["response"]);
  if (const json::Node shape = payload["shape"]; shape.is_object())
    out.shape = session::ResponseShape{optional_text(shape, "finish_reason"), shape["content_empty"].is_true(),
                                       shape["tool_calls_present"].is_true()};
  if (payload["estimate"].is_number()) out.estimate = json::Decimal::from_number(payload["estimate"].number_text());
  out.lease_stale = payload["lease_stale"].is_true();
  std::int64_t left = 0;
  if (read_number(payload, "approvals_left", left)) out.approvals_left = static_cast<std::size_t>(left);
  if (payload["approvals_scope"].is_string()) out.approvals_scope = payload["approvals_scope"].string();
  return out;
}

session::Receipt recorded_receipt(json::Node payload) {
  session::Receipt out;
  const json::Node result = payload["result"];
  if (result.is_text("error")) out.kind = session::Receipt::Error;
  else if (result.is_text("timeout")) out.kind = session::Receipt::Timeout;
  else if (result.is_text("unknown")) out.kind = session::Receipt::Lost;
  if (payload["ack"].is_boolean()) out.ack = payload["ack"].boolean();
  out.is_unwritable = payload["output_unwritable"].is_true();
  if (payload["values"].is_object()) out.output = session::Values::of_record(payload["values"], payload["output"]);
  if (payload["error_values"].is_object()) out.error_output = session::Values::of_record(payload["error_values"]);
  for (const json::Node one : payload["also_values"].elements()) out.also.push_back(session::Values::of_record(one));
  if (payload["output_object"].is_boolean()) out.recorded_object = payload["output_object"].boolean();
  const json::Node error = payload["error"];
  out.error.code = optional_text(error, "code");
  out.error.error_class = optional_text(error, "class");
  out.error.message = optional_text(error, "message");
  std::int64_t status = 0;
  if (read_number(error, "http_status", status)) out.error.http_status = status;
  return out;
}

bool has_hidden_values(json::Node payload) {
  const auto any = [](json::Node values) {
    const session::Values recorded = session::Values::of_record(values);
    for (const json::Member one : values.members())
      if (recorded.is_hidden(one.value)) return true;
    return false;
  };
  for (const json::Node one : payload["also_values"].elements())
    if (any(one)) return true;
  if (any(payload["values"]) || any(payload["error_values"]) || any(payload["request"]) || any(payload["response"]))
    return true;
  for (const json::Node call : payload["calls"].elements())
    if (any(call["values"])) return true;
  return false;
}

}  // namespace baton::runtime
