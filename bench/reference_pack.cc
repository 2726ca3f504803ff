// SPDX-License-Identifier: Apache-2.0
#include "reference_pack.h"

#include "load.h"

namespace baton::bench {
namespace {

constexpr std::string_view kOutput = R"({"ok":true,"approved":true})";

std::string contract_of(const std::string& effect, const std::string& rest) {
  return "side_effect: " + effect +
         "\nevidence_class: local_transaction\ncommit_requirement: acknowledged\n"
         "timeouts: {total_ms: 1000}\nretries: {max_attempts: 1, retry_on: []}\n"
         "rate_limits: {on_429: {respect_retry_after: true, max_sleep_seconds: 1}}\n"
         "assertions: {input_invariants: [], output_invariants: []}\ngolden_cases: []\nallowed_errors: []\n" +
         rest;
}

constexpr std::string_view kRefund =
    "gate: allow\n"
    "transitions: {valid_in_phases: [approved]}\n"
    "preconditions:\n"
    "  - {requires_prior_tool: lookup_order, resource: {bind_from: arguments, path: $.order_id}}\n"
    "  - requires_prior_tool: approve_refund\n"
    "    resource: {bind_from: arguments, path: $.order_id}\n"
    "    with_output: [{path: $.approved, equals: true}]\n"
    "argument_value_invariants:\n"
    "  - {path: $.amount, gte: 0.01, lte: 500}\n"
    "  - {path: $.currency, one_of: [EUR, USD, GBP]}\n"
    "  - {path: $.channel.kind, one_of: [chat, mail, phone]}\n"
    "  - {path: $.channel.turn, gte: 1, lte: 1000}\n"
    "  - {path: $.email, regex: \"^[a-z0-9.]+@[a-z0-9-]+(\\\\.[a-z0-9-]+)+$\"}\n";

void add_tool(contract::PackSource& source, const std::string& name, const std::string& effect,
              const std::string& rest) {
  source.contracts.push_back({name + ".yaml", "tool: " + name + "\n" + contract_of(effect, rest)});
}

std::string sum_of(const std::string& name, const std::string& tool) {
  return "  - {name: " + name + ", metric: sum, tool: " + tool +
         ", path: $.amount, lte: 1000000000000, reason: Enough for one session}\n";
}

}  // namespace

contract::PackSource pack_source(const PackShape& shape) {
  contract::PackSource out;
  add_tool(out, "lookup_order", "read", "");
  add_tool(
      out, "approve_refund", "write",
      "transitions: {valid_in_phases: [handling, approved], advances_to: approved}\n"
      "preconditions: [{requires_prior_tool: lookup_order, resource: {bind_from: arguments, path: $.order_id}}]\n");
  add_tool(out, "refund_order", "financial", std::string(kRefund));
  add_tool(out, "close_case", "write", "transitions: {valid_in_phases: [approved], advances_to: closed}\n");
  for (std::size_t i = out.contracts.size(); i < shape.tools; ++i)
    add_tool(out, "other_" + std::to_string(i), "write",
             "transitions: {valid_in_phases: [handling]}\npreconditions: [{requires_prior_tool: lookup_order}]\n"
             "argument_value_invariants: [{path: $.amount, gte: 0}]\n");
  std::string session =
      "schema_version: \"1.0\"\nagent: support\n"
      "phases: [{name: handling, initial: true}, {name: approved}, {name: closed, terminal: true}]\n"
      "transitions: {handling: [approved], approved: [closed]}\n"
      "risk_defaults: {read: allow, write: allow, destructive: block, admin: block, financial: block}\n"
      "session_limits: {max_tool_calls: 1000000000";
  if (shape.loop) session += ", loop_detection: {window: 6, threshold: 1000000}";
  session += "}\naggregates:\n";
  for (std::size_t i = 0; i < shape.aggregates; ++i) session += sum_of("refunded_" + std::to_string(i), "refund_order");
  for (std::size_t i = 0; i < shape.aggregates_elsewhere; ++i)
    session += sum_of("elsewhere_" + std::to_string(i), "other_4");
  if (shape.distinct)
    session +=
        "  - {name: orders, metric: count_distinct, tool: refund_order, path: $.order_id, lte: 1000000000, "
        "reason: Enough orders}\n";
  out.session = contract::SourceFile{"session.yaml", session};
  return out;
}

std::string order_id(std::size_t number) {
  const std::string digits = std::to_string(number);
  return "ord-" + std::string(digits.size() < 7 ? 7 - digits.size() : 0, '0') + digits;
}

std::string order_arguments(std::size_t order) { return R"({"order_id":")" + order_id(order) + R"("})"; }

namespace {

std::string arguments_with(std::size_t order, std::string_view amount, std::string_view currency,
                           std::string_view email) {
  std::string out = R"({"order_id":")" + order_id(order) + R"(","customer_id":"cus-20480","amount":)" +
                    std::string(amount) + R"(,"currency":")" + std::string(currency) +
                    R"(","reason":"damaged on arrival","notify":true,"email":")" + std::string(email) +
                    R"(","channel":{"kind":"chat","conversation":"conv-7781","turn":14},"lines":[)";
  for (int i = 1; i <= 4; ++i)
    out += std::string(i == 1 ? "" : ",") + R"({"sku":"sku-)" + std::to_string(1000 + i) + R"(","quantity":)" +
           std::to_string(i) + R"(,"price":12.5,"title":"A thing of the warehouse"})";
  out += R"(],"note":")";
  constexpr std::string_view kProse =
      "The customer says that the parcel came open and that one thing in it is broken. ";
  while (out.size() + kProse.size() + 2 < 1024) out += kProse;
  out.append(1024 - 2 - out.size(), '.');
  return out + R"("})";
}

}  // namespace

std::string refund_arguments(std::size_t order) {
  return arguments_with(order, "12.50", "EUR", "jo.doe@customers.example.org");
}
std::string refused_arguments(std::size_t order) { return arguments_with(order, "1250", "CHF", "nobody"); }

ReadCall::ReadCall(std::string_view tool, std::string arguments) : text_(std::move(arguments)) {
  auto parsed = json::parse(text_);
  insist(parsed.has_value(), "the arguments are no JSON");
  document_ = std::make_unique<json::Document>(std::move(*parsed));
  proposal_.calls.push_back({"call-1", tool, session::Values::of_document(document_->root()), {}});
}

std::shared_ptr<const session::Rules> rules_of(const PackShape& shape) {
  const contract::Compiled compiled = contract::compile(pack_source(shape));
  insist(compiled.plan != nullptr,
         compiled.findings.empty() ? "" : "the pack does not compile: " + compiled.findings[0].diagnostic.message);
  return session::make_rules(compiled.plan);
}

void carry_out(const session::Rules& rules, session::State& state, const session::Proposal& proposal, bool settles) {
  static const json::Document output = std::move(*json::parse_owned(std::string(kOutput)));
  const session::StepVerdict verdict = session::decide(rules, state, proposal);
  const session::CallVerdict& call = verdict.calls[0];
  insist(call.verdict == session::Verdict::Allow,
         call.failures.empty() ? "a call waits" : "a call was refused: " + call.failures[0].diagnostic.message);
  session::take_step(rules, state, session::step_of(proposal, verdict));
  const std::string& id = proposal.calls[0].id;
  session::take_start(rules, state, {.call_id = id, .facts = {}, .digest = {}});
  if (!settles) return;
  session::Receipt receipt;
  receipt.output = session::Values::of_document(output.root());
  const session::SettleVerdict settled = session::settle(rules, state, id, receipt);
  insist(settled.state == session::CallState::Committed, "a call was not committed");
  session::take_settlement(rules, state, settled.settled);
}

void carry_out(const session::Rules& rules, session::State& state, std::string_view tool, const std::string& arguments,
               bool settles) {
  carry_out(rules, state, ReadCall(tool, arguments).proposal(), settles);
}

session::State session_with(const session::Rules& rules, std::size_t orders) {
  session::State state = session::open(rules, {});
  for (std::size_t i = 1; i <= orders; ++i) {
    carry_out(rules, state, "lookup_order", order_arguments(i));
    carry_out(rules, state, "approve_refund", order_arguments(i));
    if (i < orders) carry_out(rules, state, "refund_order", refund_arguments(i));
  }
  return state;
}

}  // namespace baton::bench
