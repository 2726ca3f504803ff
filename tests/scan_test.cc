// SPDX-License-Identifier: Apache-2.0
// The streaming search: the same answer however the text is cut, and only what stands where a handoff stands.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "checker/locate.h"
#include "dialects/agent_contract/find.h"
#include "dialects/agent_exit/signal.h"
#include "json/value.h"
#include "transcript/output_scanner.h"

namespace baton {
namespace {

const std::string kSignal =
    R"({"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"REVIEW","exit_reason":"completed"})";
const std::string kOther =
    R"({"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"DRAFT","exit_reason":"error"})";

std::string as_json(std::string_view text) { return json::write(json::Value(text)); }

std::optional<std::string> found_in(std::string_view text, std::size_t piece) {
  transcript::OutputScanner scanner(limits::kExitSignalBytesMax, agent_exit::is_signal);
  for (std::size_t at = 0; at < text.size(); at += piece) scanner.feed(text.substr(at, piece));
  scanner.end();
  return scanner.found() ? std::optional(scanner.found()->object.text) : std::nullopt;
}

struct Case {
  std::string name, text;
  std::optional<std::string> want;
};

std::vector<Case> cases() {
  const std::string pretty = "{\n  \"protocol\": \"apm2_agent_exit\",\n  \"notes\": \"a { b } \\\" c\"\n}";
  const std::string claude = "{\"type\":\"result\",\"result\":" + as_json("Done.\n\n" + kSignal) + "}\n";
  const std::string assistant =
      R"({"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":)" +
      as_json("I am done.\n" + kSignal) + "}]}}\n";
  const std::string subagent =
      R"({"type":"assistant","parent_tool_use_id":"t1","message":{"role":"assistant","content":[{"type":"text","text":)" +
      as_json(kOther) + "}]}}\n";
  const std::string user =
      R"({"type":"user","message":{"role":"user","content":[{"type":"text","text":)" + as_json(kOther) + "}]}}\n";
  const std::string codex =
      R"({"type":"item.completed","item":{"id":"i1","type":"agent_message","text":)" + as_json(kSignal) + "}}\n";
  const std::string codex_tool =
      R"({"type":"item.completed","item":{"id":"i2","type":"command_execution","text":)" + as_json(kOther) + "}}\n";
  const std::string silent = "{\"type\":\"result\",\"result\":\"nothing to hand over\"}\n";
  return {
      {"indented", "   \t" + kSignal + "  \n", kSignal},
      {"pretty", "x\n" + pretty + "\ny\n", pretty},
      {"windows lines", "a\r\n" + kSignal + "\r\nb\r\n", kSignal},
      {"in the middle of a line", "done: " + kSignal + "\n", std::nullopt},
      {"with text after it", kSignal + " done\n", std::nullopt},
      {"two on a line", kSignal + kSignal + "\n", std::nullopt},
      {"quoted", "> " + kSignal + "\n", std::nullopt},
      {"inside another object", "{\"inner\":\n" + kSignal + "\n}\n", std::nullopt},
      {"inside one that breaks", "{\"inner\":[\n" + kSignal + "\nthe rest is not JSON\n", kSignal},
      {"inside one that never ends", "{\"inner\":[\n" + kSignal, kSignal},
      {"an element of a broken list", "{\"inner\":[\n" + kOther + "\n" + kSignal + "\n", kSignal},
      {"the last wins", kOther + "\n" + kSignal + "\n", kSignal},
      {"claude's result", user + assistant + claude, kSignal},
      {"claude's transcript", user + assistant, kSignal},
      {"a subagent does not speak for the session", assistant + subagent, kSignal},
      {"the last message counts", claude + silent, std::nullopt},
      {"codex", codex + codex_tool, kSignal},
      {"a duplicate key is found, for the check to refuse",
       "{\"protocol\":\"apm2_agent_exit\",\"protocol\":\"apm2_agent_exit\"}\n",
       "{\"protocol\":\"apm2_agent_exit\",\"protocol\":\"apm2_agent_exit\"}"},
      {"too large",
       "{\"protocol\":\"apm2_agent_exit\",\"notes\":\"" + std::string(limits::kExitSignalBytesMax, 'x') + "\"}\n",
       std::nullopt},
      {"just not too large",
       "{\"protocol\":\"apm2_agent_exit\",\"notes\":\"" + std::string(limits::kExitSignalBytesMax - 41, 'x') + "\"}\n",
       "{\"protocol\":\"apm2_agent_exit\",\"notes\":\"" + std::string(limits::kExitSignalBytesMax - 41, 'x') + "\"}"},
      {"after an object that is too large", "{\"a\":[\n" + std::string(70'000, ' ') + "\n" + kSignal + "\n]}\n",
       kSignal},
  };
}

TEST(scan, finds_what_stands_alone_however_it_is_cut) {
  for (const Case& one : cases())
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{64}, one.text.size() + 1})
      EXPECT_EQ(found_in(one.text, piece), one.want) << one.name << " in pieces of " << piece;
}

TEST(scan, deep_nesting_on_own_lines_is_linear) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "{\"a\":\n";
  text += kSignal + "\n";
  EXPECT_EQ(found_in(text, 4096), kSignal);
}

TEST(scan, ambiguity_is_seen) {
  transcript::OutputScanner scanner(limits::kExitSignalBytesMax, agent_exit::is_signal);
  scanner.feed(kOther + "\n" + kSignal + "\nbye\n");
  scanner.end();
  EXPECT_TRUE(scanner.found()->object.differs_from_earlier);
  EXPECT_TRUE(scanner.found()->object.text_after);
  EXPECT_EQ(scanner.found()->object.line, 2u);
}

TEST(scan, what_follows_is_noticed_whatever_it_is) {
  const auto text_after = [](const std::string& after) {
    transcript::ObjectScanner scanner(limits::kExitSignalBytesMax, agent_exit::is_signal);
    scanner.feed(kSignal + "\n" + after);
    scanner.end();
    return scanner.found()->text_after;
  };
  for (const char* nothing : {"", "\n \t\r\n", "```\n", "  ~~~~  \n"}) EXPECT_FALSE(text_after(nothing)) << nothing;
  for (const char* something : {"bye", "{\"a\":\"open\n", "{\"a\":1}\n", "{\"a\":", "```json\n", "{\n{\n", "{} x\n"})
    EXPECT_TRUE(text_after(something)) << something;
}

TEST(locate, any_dialect_in_any_output) {
  const auto located = [](std::string_view text, std::optional<Dialect> dialect = std::nullopt) {
    checker::Locator locator(dialect);
    locator.feed(text);
    return locator.end();
  };
  const std::string block = "Work is done.\n\n```agent_contract_handoff\n{\"agent_status\":{}}\n```\n";
  EXPECT_EQ(located(block)->dialect, Dialect::AgentContract);
  EXPECT_EQ(located(block)->document, "{\"agent_status\":{}}");
  EXPECT_EQ(located(block)->first_line, 4u);
  EXPECT_FALSE(located(block, Dialect::AgentExit));
  EXPECT_EQ(located("log\n```json\n{\"uai_version\":\"1.0\"}\n```\n")->dialect, Dialect::Uaix);
  EXPECT_EQ(located("log\n{\"task_slug\":\"a-20261115\"}\n")->dialect, Dialect::HandoffSpec);
  EXPECT_EQ(located("{\"type\":\"result\",\"result\":" + as_json(block) + "}\n")->document, "{\"agent_status\":{}}");
  EXPECT_FALSE(located("nothing here\n"));
}

}  // namespace
}  // namespace baton
