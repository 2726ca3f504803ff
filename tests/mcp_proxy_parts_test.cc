// SPDX-License-Identifier: Apache-2.0
// The parts of the proxy that are only values: which servers a file names, what environment a command gets, what the node's answers are
// in words.
#include <gtest/gtest.h>

#include <algorithm>

#include "proxy/config.h"
#include "proxy/words.h"

namespace baton::proxy {
namespace {

TEST(ProxyConfig, ReadsCommandsAndAddresses) {
  const ServersRead read = read_servers(
      "servers:\n"
      "  files: {command: npx, args: [-y, some-server, 8080], env: {LOG: debug, N: 1}, cwd: /srv}\n"
      "  tickets: {url: 'https://tickets.example/mcp', headers: {X-Team: web}, ca_file: team.pem, type: http}\n");
  ASSERT_EQ(read.problem, "");
  ASSERT_EQ(read.servers.size(), 2u);
  EXPECT_EQ(read.servers[0].name, "files");
  EXPECT_EQ(read.servers[0].argv, (std::vector<std::string>{"npx", "-y", "some-server", "8080"}));
  EXPECT_EQ(read.servers[0].environment, (std::vector<std::string>{"LOG=debug", "N=1"}));
  EXPECT_EQ(read.servers[0].folder, "/srv");
  EXPECT_EQ(read.servers[0].url, "");
  EXPECT_EQ(read.servers[1].url, "https://tickets.example/mcp");
  EXPECT_TRUE(read.servers[1].argv.empty());
  ASSERT_EQ(read.servers[1].headers.size(), 1u);
  EXPECT_EQ(read.servers[1].headers[0].value, "web");
  EXPECT_EQ(read.servers[1].ca_file, "team.pem");
}

TEST(ProxyConfig, ReadsTheShapeOfClients) {
  const ServersRead read = read_servers(R"({"mcpServers": {"a": {"command": "x", "disabled": false}}})");
  EXPECT_EQ(read.problem, "");
  ASSERT_EQ(read.servers.size(), 1u);
  EXPECT_EQ(read.servers[0].argv, std::vector<std::string>{"x"});
}

TEST(ProxyConfig, SaysWhatIsWrong) {
  const auto problem = [](std::string_view text) {
    const ServersRead read = read_servers(text);
    return read.diagnostics.empty() ? read.problem : std::string("YAML");
  };
  EXPECT_NE(problem("{}").find("no `servers`"), std::string::npos);
  EXPECT_NE(problem("servers: {}").find("no `servers`"), std::string::npos);
  EXPECT_NE(problem("servers: {a: {}}").find("either `command` or `url`"), std::string::npos);
  EXPECT_NE(problem("servers: {a: {command: x, url: z}}").find("either `command` or `url`"), std::string::npos);
  EXPECT_NE(problem("servers: {a__b: {command: x}}").find("no two in a row"), std::string::npos);
  EXPECT_NE(problem("servers: {a b: {command: x}}").find("letters"), std::string::npos);
  EXPECT_NE(problem("servers: {a: {command: x, args: z}}").find("`args`"), std::string::npos);
  EXPECT_NE(problem("servers: {a: {command: x, args: [{}]}}").find("`args`"), std::string::npos);
  EXPECT_NE(problem("servers: {a: {command: x, env: [z]}}").find("`env`"), std::string::npos);
  EXPECT_NE(problem("servers: {a: {url: x, headers: {'a b': z}}}").find("`headers`"), std::string::npos);
  EXPECT_EQ(problem("servers: {a: *b}"), "YAML");
}

TEST(ProxyConfig, PassesOnlyWhatIsNamed) {
  const std::vector<std::string> ours = {"PATH=/bin", "HOME=/root", "LC_ALL=C", "BATON_TOKEN=secret",
                                         "API_KEY=k", "EMPTY=",     "odd"};
  EXPECT_EQ(child_environment(ours, {}), (std::vector<std::string>{"HOME=/root", "LC_ALL=C", "PATH=/bin"}));
  EXPECT_EQ(child_environment(ours, {"API_KEY", "MISSING", "EMPTY", "PATH=/usr/bin", "X=a=b", "X=c"}),
            (std::vector<std::string>{"API_KEY=k", "EMPTY=", "HOME=/root", "LC_ALL=C", "PATH=/usr/bin", "X=c"}));
}

TEST(ProxyWords, TellHowTheSessionStands) {
  const mcp::NodeAnswer answer = status_answer(
      200,
      R"({"session":{"id":"ses_1","governed":{"standing":"open","phase":"intake","mode":"enforce","paused":false,"tools":["a","b"],)"
      R"("counters":{"steps":3,"tool_calls":4,"tool_calls_before":2,"cost":0.5},"limits":{"max_steps":10,"max_tool_calls":20,"max_cost_per_session":2},)"
      R"("forbidden":[],"open_calls":[]}}})");
  EXPECT_TRUE(answer.ok);
  EXPECT_NE(answer.text.find("in the phase `intake`"), std::string::npos) << answer.text;
  EXPECT_NE(answer.text.find("Callable now: a, b."), std::string::npos) << answer.text;
  EXPECT_NE(answer.text.find("Left: 7 steps, 14 calls, 1.5 cost."), std::string::npos) << answer.text;
  EXPECT_NE(answer.text.find(R"("left":{"steps":7,"tool_calls":14,"cost":1.5})"), std::string::npos) << answer.text;
}

TEST(ProxyWords, SayWhatIsWrongWithADocument) {
  const mcp::NodeAnswer refused = handoff_answer(
      422,
      R"({"diagnostics":[{"code":"EXIT_FIELD","message":"`phase` is missing","help":"say it","pointer":"/phase"}]})");
  EXPECT_FALSE(refused.ok);
  EXPECT_EQ(refused.text, "The handoff was not accepted. EXIT_FIELD: `phase` is missing (at /phase); say it");
  const mcp::NodeAnswer taken = handoff_answer(
      200, R"({"handoff":{"id":"h_1"},"next_phase":"REVIEW","warnings":[],"receipt":{"sequence":12,"hash":"ab"}})");
  EXPECT_TRUE(taken.ok);
  EXPECT_EQ(taken.text, "Handed over as h_1; next is REVIEW. Receipt: entry 12, ab.");
  EXPECT_EQ(refusal_text(0, "nobody listens"), "the node could not be reached: nobody listens");
  EXPECT_EQ(refusal_text(500, "<html>"), "the node answered with status 500");
}

}  // namespace
}  // namespace baton::proxy
