// SPDX-License-Identifier: Apache-2.0
// Every valid document of the vectors goes through the one Handoff and back, and comes out as the same document; and what
// a translation gives always passes its target's checker.
#include <gtest/gtest.h>

#include <fstream>

#include "checker/checker.h"
#include "dialects/agent_contract/block.h"
#include "dialects/agent_contract/contract.h"
#include "dialects/agent_exit/signal.h"
#include "dialects/handoff_spec/spec.h"
#include "dialects/uaix/packet.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "translate/draft.h"
#include "translate/translate.h"

namespace baton {
namespace {

std::string canonical(const std::string& text) {
  const auto document = json::parse(text);
  return document ? json::canonical(document->root(), json::Numbers::Exact).value() : "not JSON";
}

struct Row {
  std::string id, document;
  checker::Options options;
};

// The documents of a vector file, with the options they are to be checked with.
std::vector<Row> rows_of(const std::string& file, Dialect dialect) {
  std::vector<Row> out;
  std::ifstream in(std::string(BATON_TESTS_DIR) + "/vectors/" + file);
  for (std::string line; std::getline(in, line);) {
    for (std::size_t at; (at = line.find("\u27e6\u27e7")) != std::string::npos;) line.erase(at, 6);
    const auto parsed = json::parse(line);
    if (!parsed) continue;
    const json::Node row = parsed->root();
    Row one{std::string(row["id"].string()), {}, {}};
    one.options.dialect = dialect;
    one.options.profile = handoff_spec::find_profile("raxx");
    if (row["now"].is_string()) one.options.now = *parse_time(row["now"].string()).time;
    if (row["message"]) one.document = row["message"].string();
    else if (row["raw"]) one.document = row["raw"].string();
    else one.document = row["input"].is_string() ? std::string(row["input"].string()) : json::write(row["input"]);
    out.push_back(std::move(one));
  }
  return out;
}

const std::pair<const char*, Dialect> kFiles[] = {{"agent_exit.jsonl", Dialect::AgentExit},
                                                  {"agent_contract.jsonl", Dialect::AgentContract},
                                                  {"uaix.jsonl", Dialect::Uaix},
                                                  {"handoff_spec.jsonl", Dialect::HandoffSpec}};

std::string body_of(const Row& row) {
  if (row.options.dialect != Dialect::AgentContract) return row.document;
  agent_contract::BlockFinder finder;
  finder.feed(row.document);
  finder.end();
  return finder.last()->body;
}

TEST(handoff, every_valid_document_comes_back_the_same) {
  for (const auto& [file, dialect] : kFiles) {
    std::size_t seen = 0;
    for (const Row& row : rows_of(file, dialect)) {
      const checker::Report report = checker::check(row.document, row.options);
      if (!report.valid() || !report.handoff) continue;
      ++seen;
      EXPECT_EQ(canonical(json::write(translate::handoff_document(*report.handoff))), canonical(body_of(row)))
          << file << " " << row.id;
    }
    EXPECT_GT(seen, 5u) << file;
  }
}

json::Value parsed(const std::string& text) {
  const auto document = json::parse(text);
  EXPECT_TRUE(document.has_value()) << text;
  return json::Value::copy(document->root());
}

// What a caller knows when it translates into each dialect.
json::Value supplies_for(Dialect dialect) {
  switch (dialect) {
    case Dialect::AgentExit: return parsed(R"({"phase_completed":"REVIEW"})");
    case Dialect::AgentContract: return parsed(R"({"agent_status":{"agent_id":"a1b2c3","pending_steps":[]}})");
    default:
      return parsed(R"({"source":{"type":"agent","id":"agt_a.one","label":"One","role":"worker","project":"demo"},
        "target":{"type":"agent","id":"agt_a.two","label":"Two","role":"worker","project":"demo"},
        "conversation":{"conversation_id":"conv_abc","turn_id":"turn_1","correlation_id":"corr_abc","sequence":1},
        "delivery":{"mode":"async","priority":"normal","reply_requested":true,"ack_required":true,"idempotency_key":"idem_abc",
          "retry_count":0,"lifecycle":"transmitted","timeout_ms":1000,"fallback_directive":"Ask.","expected_output_schema":{"profile":"uai.agent.ack.v1"}},
        "trust":{"channel":"local-file","auth_scheme":"none","principal":"urn:demo:one","replay_window_id":"rw-abc"},
        "provenance":{"trace_id":"trace_abc","issued_at":"2026-11-14T00:00:00Z","log_ref":"urn:demo:log","model_id":"m","confidence":1,"lineage":[]},
        "body":{"support_boundary":"A record."}})");
  }
}

// The further members a packet needs, when the source has not said them.
void supply_if_missing(translate::Options& options, const translate::Translation& first) {
  for (const Diagnostic& diagnostic : first.diagnostics) {
    if (diagnostic.code != Code::TRANSLATE_MISSING) continue;
    const std::string& place = diagnostic.argument;
    json::Value value = "text";
    if (place == "/delivery/expires_at") value = "2026-12-01T00:00:00Z";
    if (place == "/body/task_id" || place == "/delivery/task_ref") value = "task_abc";
    if (place == "/evidence_report/verification") value = parsed(R"({"result":"pass"})");
    if (place == "/exit_reason") value = "blocked";
    if (place == "/agent_status/plan_status") value = "NEEDS_INPUT";
    if (place.starts_with("/evidence_report/") && !place.ends_with("verification")) value = json::Value::array();
    if (place == "/body/delegated_authorization")
      value = parsed(R"({"authorization_ref":"ticket-1","secret_values_included":false})");
    options.set.emplace_back(place, value);
  }
}

TEST(translate, what_comes_out_passes_its_checker) {
  std::array<std::array<std::size_t, 4>, 4> done{};
  for (const auto& [file, from] : kFiles) {
    for (const Row& row : rows_of(file, from)) {
      const checker::Report report = checker::check(row.document, row.options);
      if (!report.valid() || !report.handoff) continue;
      for (const Dialect to : kDialects) {
        translate::Options options;
        options.to = to;
        options.now = *parse_time("2026-11-15T00:00:00Z").time;
        options.profile = row.options.profile;
        if (from != to) options.with = supplies_for(to);
        translate::Translation translation = translate::translate(*report.handoff, options);
        if (!translation.done()) {
          supply_if_missing(options, translation);
          translation = translate::translate(*report.handoff, options);
        }
        if (!translation.done()) continue;
        ++done[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
        checker::Options check_options;
        check_options.dialect = to;
        check_options.now = options.now;
        check_options.profile = options.profile;
        EXPECT_TRUE(checker::check(translation.text, check_options).valid())
            << file << " " << row.id << " to " << dialect_name(to);
      }
    }
  }
  // Which pairs can be done at all: nothing becomes a spec, and a spec is no exit.
  const bool possible[4][4] = {
      {true, true, true, false}, {true, true, true, false}, {true, true, true, false}, {false, true, true, true}};
  for (std::size_t from = 0; from < 4; ++from)
    for (std::size_t to = 0; to < 4; ++to)
      EXPECT_EQ(done[from][to] > 0, possible[from][to])
          << dialect_name(kDialects[from]) << " to " << dialect_name(kDialects[to]);
}

Handoff exit_handoff(const std::string& text) {
  checker::Options options;
  options.dialect = Dialect::AgentExit;
  return *checker::check(text, options).handoff;
}

std::vector<std::string> wire(const translate::Translation& translation) {
  std::vector<std::string> out;
  for (const Diagnostic& diagnostic : translation.diagnostics)
    out.push_back(std::string(info(diagnostic.code).name) + (diagnostic.has_argument ? ":" + diagnostic.argument : ""));
  return out;
}

const char* const kBlocked =
    R"({"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"IMPLEMENTATION","exit_reason":"blocked","pr_url":"https://forge.test/1","notes":"no credentials"})";

TEST(translate, names_what_is_missing_and_what_is_lost) {
  translate::Options options;
  options.to = Dialect::AgentContract;
  const auto translation = translate::translate(exit_handoff(kBlocked), options);
  EXPECT_FALSE(translation.done());
  EXPECT_EQ(wire(translation),
            (std::vector<std::string>{"TRANSLATE_EMPTY_EVIDENCE", "TRANSLATE_MISSING:/agent_status/agent_id",
                                      "TRANSLATE_MISSING:/agent_status/pending_steps",
                                      "TRANSLATE_MISSING:/agent_status/next_action", "TRANSLATE_LOST:/version",
                                      "TRANSLATE_LOST:/phase_completed", "TRANSLATE_LOST:/pr_url"}));
}

TEST(translate, a_supplied_member_never_overrides_the_source) {
  translate::Options options;
  options.to = Dialect::AgentContract;
  options.with = supplies_for(Dialect::AgentContract);
  options.set.emplace_back("/agent_status/next_action", "go on");
  options.set.emplace_back("/agent_status/plan_status", "COMPLETE");
  const auto translation = translate::translate(exit_handoff(kBlocked), options);
  EXPECT_FALSE(translation.done());
  EXPECT_EQ(wire(translation).front(), "TRANSLATE_SUPPLIED_CONFLICT:/agent_status/plan_status");
}

TEST(translate, completed_never_becomes_complete_without_proof) {
  const Handoff completed = exit_handoff(
      R"({"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"REVIEW","exit_reason":"completed"})");
  translate::Options options;
  options.to = Dialect::AgentContract;
  options.with = supplies_for(Dialect::AgentContract);
  options.set.emplace_back("/agent_status/next_action", "go on");
  auto translation = translate::translate(completed, options);
  EXPECT_FALSE(translation.done());
  EXPECT_EQ(wire(translation)[1], "TRANSLATE_MISSING:/evidence_report/verification");
  options.set.emplace_back("/evidence_report/verification", parsed(R"({"result":"pass"})"));
  translation = translate::translate(completed, options);
  EXPECT_TRUE(translation.done());
}

TEST(translate, strict_refuses_a_loss) {
  translate::Options options;
  options.to = Dialect::AgentContract;
  options.with = supplies_for(Dialect::AgentContract);
  options.set.emplace_back("/agent_status/next_action", "go on");
  EXPECT_TRUE(translate::translate(exit_handoff(kBlocked), options).done());
  options.strict = true;
  EXPECT_FALSE(translate::translate(exit_handoff(kBlocked), options).done());
}

TEST(translate, rights_are_never_created) {
  translate::Options options;
  options.to = Dialect::HandoffSpec;
  const auto translation = translate::translate(exit_handoff(kBlocked), options);
  EXPECT_EQ(wire(translation), std::vector<std::string>{"TRANSLATE_UNRELATED"});
}

}  // namespace
}  // namespace baton
