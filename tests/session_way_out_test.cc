// SPDX-License-Identifier: Apache-2.0
// What a refused call is told: the cases of way_out/cases.yaml, and that every reason has one.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "way_out_world.h"
#include "yaml/yaml.h"

namespace baton::session {
namespace {

json::Document cases_file() {
  std::ifstream in(std::string(BATON_TESTS_DIR) + "/way_out/cases.yaml", std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  yaml::Parsed parsed = yaml::parse(text.str());
  for (const Diagnostic& one : parsed.diagnostics) ADD_FAILURE() << one.place.line << ": " << one.message;
  return std::move(*parsed.document);
}

std::string text_in(json::Node node, std::string_view name, std::string_view otherwise = {}) {
  return std::string(node[name].is_string() ? node[name].string() : otherwise);
}

json::Value step_of(json::Node one) {
  json::Value calls = json::Value::array();
  for (const json::Node call : one["step"].elements()) {
    json::Value value = json::Value::object();
    value.set("tool", text_in(call, "call"));
    value.set("arguments", json::Value::copy(call["args"]));
    calls.push(std::move(value));
  }
  json::Value out = json::Value::object();
  out.set("calls", std::move(calls));
  for (const std::string_view name : {"request", "response"})
    if (one[name]) out.set(name, json::Value::copy(one[name]));
  return out;
}

void check(json::Node one) {
  std::string problem;
  auto world = World::open(json::Value::copy(one["pack"]), &problem);
  ASSERT_TRUE(world) << problem;
  for (const json::Node before : one["before"].elements()) {
    const json::Value call = world->propose(text_in(before, "call"), json::Value::copy(before["args"]));
    ASSERT_FALSE(is_blocked(call)) << json::write(call);
    if (!before["open"]) world->commit(call, json::Value::copy(before["output"]));
  }
  const json::Value answer = world->propose(step_of(one));
  const json::Value& call = answer.find("calls")->elements().back();
  const std::string whole = json::write(answer);
  ASSERT_TRUE(is_blocked(call)) << whole;
  EXPECT_EQ(call.find("reason")->string(), text_in(one, "reason")) << whole;
  const json::Value* way = call.find("way_out");
  ASSERT_NE(way, nullptr);
  EXPECT_EQ(way->find("text")->string(), text_in(one, "text")) << whole;
  EXPECT_EQ(way->find("status")->string(), text_in(one, "status", "found")) << whole;
  EXPECT_EQ(way->find("options")->elements().empty(), way->find("status")->string() != "found");
  if (one["nearest"]) {
    const json::Value* nearest = way->find_at("/options/0/changes/0/nearest");
    ASSERT_NE(nearest, nullptr) << whole;
    EXPECT_EQ(nearest->number_text(), one["nearest"].number_text());
  }
  for (const json::Node word : one["never"].elements())
    EXPECT_EQ(whole.find(word.string()), std::string::npos) << word.string() << " in " << whole;
}

TEST(WayOut, Cases) {
  const json::Document file = cases_file();
  std::size_t count = 0;
  for (const json::Node one : file.root()["cases"].elements()) {
    SCOPED_TRACE(text_in(one, "about") + ", line " + std::to_string(one.position().line));
    ++count;
    check(one);
  }
  EXPECT_GT(count, 50u);
}

// Whatever can be the first failure of a proposal has a case. The others need more than a session: a lease, a workspace, an end.
TEST(WayOut, EveryReasonHasACase) {
  const std::set<std::string> elsewhere = {
      "approval_mismatch", "approval_queue_full", "approval_stale", "cancel_requested", "checkpoint_denied",
      "checkpoint_timeout", "engine_error", "lease_stale", "protected_path", "session_closed", "session_killed",
      "call_not_open", "checkpoint_closed", "evidence_insufficient", "fact_in_arguments", "facts_missing",
      "provider_incompatible", "resource_unresolved",
      // of the proxy, before or behind a session
      "call_timed_out", "node_unreachable", "output_too_large", "output_unjudged", "tool_definition_changed",
      "tool_not_approved", "tool_text_suspicious"};
  const json::Document file = cases_file();
  std::set<std::string> told;
  for (const json::Node one : file.root()["cases"].elements()) told.insert(text_in(one, "reason"));
  std::ifstream in(std::string(BATON_TESTS_DIR) + "/../src/diagnostics/session.def");
  std::size_t seen = 0;
  for (std::string line; std::getline(in, line);) {
    constexpr std::string_view kRow = "DIAGNOSTIC(";
    if (!line.starts_with(kRow) || line.find(", Error,") == std::string::npos) continue;
    const std::string code = line.substr(kRow.size(), line.find(',') - kRow.size());
    if (code[0] < 'a') continue;  // refusals of operations
    ++seen;
    EXPECT_TRUE(told.contains(code) != elsewhere.contains(code)) << code;
  }
  EXPECT_GT(seen, 30u);
}

// A response that goes ahead is told nothing, and neither is one that is let through all the same.
TEST(WayOut, OnlyOfWhatIsHeldBack) {
  json::Value pack = value_of(R"({"contracts":[{"tool":"a","argument_value_invariants":[{"path":"$.n","lte":5}]}]})");
  auto world = World::open(pack);
  EXPECT_EQ(world->propose("a", value_of(R"({"n":1})")).find("way_out"), nullptr);
  EXPECT_NE(world->propose("a", value_of(R"({"n":6})")).find("way_out"), nullptr);
  pack.set("mode", "shadow");
  auto shadow = World::open(pack);
  const json::Value call = shadow->propose("a", value_of(R"({"n":6})"));
  EXPECT_TRUE(is_blocked(call));
  EXPECT_EQ(call.find("way_out"), nullptr);
}

// Where texts are kept as keyed hashes, an entity is still the same, and nothing of it is said.
TEST(WayOut, OfHiddenValues) {
  struct Keyed : Hiding {
    std::optional<std::string> hidden(json::Node value, std::string_view) const override {
      return value.is_string() ? std::optional(keyed(value.string())) : std::nullopt;
    }
    std::string keyed(std::string_view text) const override {
      return R"({"keyed_hash":"h)" + std::to_string(std::hash<std::string_view>()(text)) + "\"}";
    }
  } const hiding;
  auto world = World::open(
      value_of(R"({"contracts":[{"tool":"check"},{"tool":"pay","preconditions":[{"requires_prior_tool":"check",)"
               R"("resource":{"bind_from":"arguments","path":"$.id"}}]}]})"));
  const auto propose = [&](std::string_view text) {
    const json::Document document = std::move(*json::parse(text));
    const ReadProposal read = read_proposal(document.root());
    const StepVerdict verdict = decide(*world->rules, world->state, read.proposal, &hiding);
    const Effects effects = take_step(*world->rules, world->state, step_of(read.proposal, verdict));
    return json::write(shown(*world->rules, world->state, read.proposal, verdict, effects, &hiding));
  };
  const std::string pay = R"({"calls":[{"call_id":"p","tool":"pay","arguments":{"id":"SECRET-7f"}}]})";
  const std::string refused = propose(pay);
  EXPECT_NE(refused.find(R"("text":"call check for the same id first")"), std::string::npos) << refused;
  EXPECT_EQ(refused.find("SECRET-7f"), std::string::npos) << refused;
  EXPECT_EQ(refused.find("keyed_hash"), std::string::npos) << refused;
  propose(R"({"calls":[{"call_id":"c","tool":"check","arguments":{"id":"SECRET-7f"}}]})");
  const json::Document output = std::move(*json::parse("{}"));
  Receipt receipt;
  receipt.output = Values::of_document(output.root());
  take_settlement(*world->rules, world->state, settle(*world->rules, world->state, "c", receipt, &hiding).settled);
  EXPECT_NE(propose(pay).find(R"("verdict":"allow")"), std::string::npos);
}

// After a killed or a closed session there is nothing to say.
TEST(WayOut, NoneAfterTheEnd) {
  for (const Standing standing : {Standing::Killed, Standing::Closed}) {
    auto world = World::open(value_of(R"({"contracts":[{"tool":"a"}]})"));
    take_end(*world->rules, world->state, standing, "over");
    const json::Value call = world->propose("a", value_of("{}"));
    ASSERT_TRUE(is_blocked(call));
    EXPECT_EQ(call.find_at("/way_out/text")->string(), "no way out in this session");
  }
}

}  // namespace
}  // namespace baton::session
