// SPDX-License-Identifier: Apache-2.0
// A program that holds an agent's tool calls to a contract itself: it compiles a pack, opens a session, and asks before each call.
#include <baton/session.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace {

constexpr const char* kSession = R"(
schema_version: "1.0"
agent: desk
risk_defaults: {write: allow, financial: allow}
aggregates:
  - {name: total, metric: sum, tool: order, path: $.shares, lte: 100, reason: the desk's limit}
)";

// What every contract says beside its own rules.
constexpr const char* kRest = R"(
evidence_class: local_transaction
commit_requirement: acknowledged
timeouts: {total_ms: 30000}
retries: {max_attempts: 1, retry_on: []}
rate_limits: {on_429: {respect_retry_after: true, max_sleep_seconds: 30}}
assertions: {input_invariants: [], output_invariants: []}
golden_cases: []
allowed_errors: []
)";

baton::json::Value step(const std::string& id, const std::string& tool, int shares) {
  baton::json::Value arguments = baton::json::Value::object();
  arguments.set("shares", shares);
  baton::json::Value call = baton::json::Value::object();
  call.set("call_id", id);
  call.set("tool", tool);
  call.set("arguments", std::move(arguments));
  baton::json::Value out = baton::json::Value::object();
  out.set("calls", baton::json::Value(baton::json::Value::Array{std::move(call)}));
  return out;
}

}  // namespace

int main() {
  namespace contract = baton::contract;
  namespace session = baton::session;

  contract::PackSource pack;
  pack.session = contract::SourceFile{"session.yaml", kSession};
  pack.contracts.push_back({"approve.yaml", std::string("tool: approve\nside_effect: write\n") + kRest});
  pack.contracts.push_back({"order.yaml", std::string("tool: order\nside_effect: financial\n"
                                                      "preconditions: [{requires_prior_tool: approve}]\n"
                                                      "argument_value_invariants: [{path: $.shares, gte: 1}]\n") +
                                              kRest});
  const contract::Compiled compiled = contract::compile(pack);
  if (!compiled.plan) {
    for (const contract::Finding& finding : compiled.findings)
      std::cerr << finding.file << ": " << finding.diagnostic.message << "\n";
    return EXIT_FAILURE;
  }

  // A session, and every answer as JSON: the same that a node gives.
  const auto rules = session::make_rules(compiled.plan);
  session::EngineDoor door(rules, session::open(*rules, {}));
  const auto propose = [&](const std::string& id, const std::string& tool, int shares) {
    const baton::json::Value answer = door.propose(step(id, tool, shares));
    const baton::json::Value& call = answer.find("calls")->elements().front();
    std::cout << tool << " " << shares << ": " << call.find("verdict")->string();
    if (const auto* reason = call.find("reason")) std::cout << ", " << reason->string();
    if (const auto* way_out = call.find("way_out")) std::cout << "; " << way_out->find("text")->string();
    std::cout << "\n";
    return call.find("verdict")->string() == "allow";
  };
  const auto done = [&](const std::string& id) {
    baton::json::Value receipt = baton::json::Value::object();
    receipt.set("result", "ok");
    receipt.set("output", baton::json::Value::object());
    door.start(id, nullptr);
    door.settle(id, receipt);
  };

  propose("1", "order", 10);
  if (propose("2", "approve", 10)) done("2");
  if (propose("3", "order", 60)) done("3");
  propose("4", "order", 50);
  if (propose("5", "order", 40)) done("5");
  return EXIT_SUCCESS;
}
