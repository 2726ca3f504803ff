// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/random.h"
#include "dialects/agent_exit/signal.h"

namespace baton::agent_exit {
namespace {

Signal sample() {
  return Signal(Phase::Implementation, Reason::Completed)
      .with_pr_url("https://forge.test/org/repo/pull/123")
      .with_notes("Implementation complete");
}

TEST(signal, what_is_built_is_written_and_parsed_back) {
  const Signal signal = sample();
  EXPECT_TRUE(signal.check().empty());
  EXPECT_EQ(signal.write(),
            "{\"protocol\":\"apm2_agent_exit\",\"version\":\"1.0.0\",\"phase_completed\":\"IMPLEMENTATION\",\"exit_"
            "reason\":\"completed\","
            "\"pr_url\":\"https://forge.test/org/repo/pull/123\",\"notes\":\"Implementation complete\"}");
  for (const std::string& text : {signal.write(), signal.write_pretty()}) {
    const Checked checked = check(text);
    ASSERT_TRUE(checked.valid());
    EXPECT_EQ(checked.signal->notes, "Implementation complete");
    EXPECT_FALSE(checked.signal->evidence_bundle_ref);
    EXPECT_EQ(checked.next_phase(), Phase::CiPending);
  }
}

TEST(signal, a_built_one_can_be_wrong_too) {
  EXPECT_EQ(sample().with_evidence_bundle_ref("../x").check().front().code, Code::EXIT_EVIDENCE_REF);
}

TEST(flag, off_refuses_before_anything_else) {
  EXPECT_EQ(check_if_enabled("not even JSON", nullptr).text(),
            "exit signal validation is disabled (AGENT_EXIT_PROTOCOL_ENABLED=false)");
  EXPECT_EQ(check_if_enabled(sample().write(), "off").diagnostics.front().code, Code::EXIT_DISABLED);
  EXPECT_TRUE(check_if_enabled(sample().write(), "YES").valid());
}

TEST(signal, the_four_public_texts_word_for_word) {
  const auto text = [](const char* input) { return check(input).text(); };
  EXPECT_EQ(text(R"({"protocol":"wrong_protocol","version":"1.0.0","phase_completed":"DRAFT","exit_reason":"error"})"),
            "unknown protocol: expected 'apm2_agent_exit', got 'wrong_protocol'");
  EXPECT_EQ(text(R"({"protocol":"apm2_agent_exit","version":"2.0.0","phase_completed":"DRAFT","exit_reason":"error"})"),
            "unsupported version: expected '1.x', got '2.0.0'");
  EXPECT_EQ(text("{\n  \"protocol\": \"apm2_agent_exit\",\n    version: \"1.0.0\"\n}"),
            "invalid JSON: expected `\"` at line 3 column 5");
}

TEST(event, carries_the_signal_and_where_it_leads) {
  CountingRandom random;
  const auto event =
      session_completed("session-123", "actor-456", "W-7", sample(), *parse_time("2026-11-15T04:00:00Z").time, random);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->write(),
            "{\"event_id\":\"00010203-0405-4607-8809-0a0b0c0d0e0f\",\"event_type\":\"AgentSessionCompleted\","
            "\"timestamp\":\"2026-11-15T04:00:00Z\","
            "\"source\":\"agent_exit_protocol\",\"session_id\":\"session-123\",\"actor_id\":\"actor-456\",\"work_id\":"
            "\"W-7\","
            "\"phase_completed\":\"IMPLEMENTATION\",\"exit_reason\":\"completed\",\"next_phase\":\"CI_PENDING\","
            "\"pr_url\":\"https://forge.test/org/repo/pull/123\",\"notes\":\"Implementation complete\"}");
  EXPECT_FALSE(session_completed("s", "a", "w", Signal(Phase::Blocked, Reason::Completed), Time{}, random));
}

}  // namespace
}  // namespace baton::agent_exit
