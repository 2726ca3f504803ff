// SPDX-License-Identifier: Apache-2.0
// What a POST to the MCP endpoint is, whether its headers agree with its body, and which events a stream keeps.
#include <gtest/gtest.h>

#include "mcp/header_value.h"
#include "mcp/message.h"
#include "net/sse.h"
#include "proxy/posted.h"
#include "proxy/replay.h"

namespace baton::proxy {
namespace {

using mcp::decoded_value;
using Headers = std::vector<net::Header>;

constexpr std::string_view kMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})";

std::string modern(std::string_view method, std::string_view params = "") {
  return R"({"jsonrpc":"2.0","id":7,"method":")" + std::string(method) + R"(","params":{)" + std::string(params) +
         (params.empty() ? "" : ",") + std::string(kMeta) + "}}";
}

// The error's code; 0: it may go on.
int code_of(const Headers& headers, const std::string& body) {
  const mcp::Message message(body);
  const auto judged = judge_post(headers, message);
  const auto* const refused = std::get_if<RefusedPost>(&judged);
  if (refused == nullptr) return 0;
  EXPECT_EQ(refused->status, 400u);
  const mcp::Message error(refused->body);
  EXPECT_EQ(error.kind(), mcp::Message::Kind::Error) << refused->body;
  if (message.is_request()) {
    EXPECT_EQ(error.id_text(), message.id_text()) << refused->body;
  }
  const std::size_t at = refused->body.find(R"("code":)");
  return std::stoi(refused->body.substr(at + 7));
}

Posted posted(const Headers& headers, const std::string& body) {
  const mcp::Message message(body);
  auto judged = judge_post(headers, message);
  EXPECT_TRUE(std::holds_alternative<Posted>(judged)) << body;
  return std::holds_alternative<Posted>(judged) ? std::get<Posted>(judged) : Posted{};
}

const net::Header kVersion = {"MCP-Protocol-Version", "2026-07-28"};

TEST(mcp_posted, eras) {
  EXPECT_EQ(posted({kVersion, {"Mcp-Method", "ping"}}, modern("ping")).era, mcp::Era::Modern);
  EXPECT_EQ(posted({}, R"({"jsonrpc":"2.0","id":1,"method":"ping"})").era, mcp::Era::Legacy);
  EXPECT_EQ(posted({{"MCP-Protocol-Version", "2025-11-25"}}, R"({"jsonrpc":"2.0","id":1,"method":"ping"})").era,
            mcp::Era::Legacy);
  EXPECT_TRUE(posted({}, R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})").begins_session);
  EXPECT_FALSE(posted({}, R"({"jsonrpc":"2.0","method":"initialize","params":{}})").begins_session);
  EXPECT_FALSE(posted({}, R"({"jsonrpc":"2.0","id":1,"method":"ping"})").begins_session);
  EXPECT_EQ(posted({}, R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])").era, mcp::Era::Legacy);
  EXPECT_FALSE(posted({}, R"({"jsonrpc":"2.0","id":1,"result":{}})").is_request);
}

TEST(mcp_posted, broken_bodies) {
  EXPECT_EQ(code_of({}, "{"), -32700);
  EXPECT_EQ(code_of({}, ""), -32700);
  EXPECT_EQ(code_of({}, "7"), -32600);
  EXPECT_EQ(code_of({kVersion}, "[" + modern("ping") + "]"), -32600);
}

TEST(mcp_posted, legacy_version) {
  const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  EXPECT_EQ(code_of({{"MCP-Protocol-Version", "1999-01-01"}}, ping), -32600);
  EXPECT_EQ(code_of({{"MCP-Protocol-Version", "2025-06-18"}}, ping), 0);
  EXPECT_EQ(code_of({}, ping), 0);
}

TEST(mcp_posted, modern_needs_meta) {
  const Headers headers = {kVersion, {"Mcp-Method", "server/discover"}};
  const auto body = [](const std::string& params) {
    return R"({"jsonrpc":"2.0","id":"a","method":"server/discover")" + params + "}";
  };
  EXPECT_EQ(code_of(headers, body("")), -32602);
  EXPECT_EQ(code_of(headers, body(R"(,"params":{})")), -32602);
  EXPECT_EQ(code_of(headers, body(R"(,"params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}})")), -32602);
  EXPECT_EQ(code_of(headers, body(R"(,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})")),
            -32602);
  EXPECT_EQ(code_of(headers, modern("server/discover")), 0);
}

TEST(mcp_posted, modern_names_a_session) {
  const Headers headers = {kVersion, {"Mcp-Method", "ping"}};
  const auto naming = [](std::string_view value) {
    std::string text = modern("ping");
    return text.insert(text.find(R"("_meta":{)") + 9, R"("dev.baton/session":)" + std::string(value) + ",");
  };
  EXPECT_FALSE(posted(headers, modern("ping")).session);
  EXPECT_EQ(posted(headers, naming(R"("one")")).session, sha256("one"));
  EXPECT_EQ(code_of(headers, naming("7")), mcp::kInvalidParams);
  EXPECT_EQ(code_of(headers, naming(R"("")")), mcp::kInvalidParams);
}

TEST(mcp_posted, modern_headers_agree) {
  const std::string call = modern("tools/call", R"("name":"weather","arguments":{})");
  const net::Header method = {"Mcp-Method", "tools/call"};
  EXPECT_EQ(code_of({kVersion, method, {"Mcp-Name", "weather"}}, call), 0);
  EXPECT_EQ(
      code_of({{"mcp-protocol-VERSION", "2026-07-28"}, {"MCP-METHOD", "tools/call"}, {"mcp-name", " weather "}}, call),
      0);
  EXPECT_EQ(code_of({kVersion, method, {"Mcp-Name", "=?base64?d2VhdGhlcg==?="}}, call), 0);
  EXPECT_EQ(code_of({method, {"Mcp-Name", "weather"}}, call), -32020) << "no version";
  EXPECT_EQ(code_of({{"MCP-Protocol-Version", "2025-11-25"}, method, {"Mcp-Name", "weather"}}, call), -32020);
  EXPECT_EQ(code_of({kVersion, {"Mcp-Name", "weather"}}, call), -32020) << "no method";
  EXPECT_EQ(code_of({kVersion, {"Mcp-Method", "TOOLS/CALL"}, {"Mcp-Name", "weather"}}, call), -32020);
  EXPECT_EQ(code_of({kVersion, method}, call), -32020) << "no name";
  EXPECT_EQ(code_of({kVersion, method, {"Mcp-Name", "other"}}, call), -32020);
  EXPECT_EQ(code_of({kVersion, method, {"Mcp-Name", "weather"}, {"Mcp-Name", "weather"}}, call), -32020) << "twice";
  EXPECT_EQ(code_of({kVersion, method, {"Mcp-Name", "=?base64?d2VhdGhlcg=?="}}, call), -32020);
  EXPECT_EQ(
      code_of({kVersion, method, {"Mcp-Name", "w\xc3\xa4ther"}}, modern("tools/call", "\"name\":\"w\xc3\xa4ther\"")),
      -32020);
  EXPECT_EQ(code_of({kVersion, {"Mcp-Method", "resources/read"}, {"Mcp-Name", "a://b"}},
                    modern("resources/read", R"("uri":"a://b")")),
            0);
  EXPECT_EQ(code_of({kVersion, {"Mcp-Method", "resources/read"}}, modern("resources/read", R"("uri":"a://b")")),
            -32020);
  EXPECT_EQ(code_of({kVersion, {"Mcp-Method", "tools/list"}}, modern("tools/list")), 0);
  EXPECT_EQ(code_of({kVersion}, R"({"jsonrpc":"2.0","method":"notifications/x"})"), 0);
  EXPECT_EQ(code_of({kVersion}, R"({"jsonrpc":"2.0","id":1,"result":{}})"), -32600);
}

TEST(mcp_posted, modern_has_no_initialize) {
  const mcp::Message message(modern("initialize"));
  const auto judged = judge_post({}, message);
  ASSERT_TRUE(std::holds_alternative<RefusedPost>(judged));
  EXPECT_EQ(std::get<RefusedPost>(judged).status, 404u);
  EXPECT_NE(std::get<RefusedPost>(judged).body.find(R"("id":7,"error":{"code":-32601)"), std::string::npos);
}

// It is another layer's to know whether the version is one that is carried.
TEST(mcp_posted, modern_unknown_version_goes_on) {
  std::string body = modern("tools/list");
  body.replace(body.find("2026-07-28"), 10, "2099-01-01");
  EXPECT_EQ(code_of({{"MCP-Protocol-Version", "2099-01-01"}, {"Mcp-Method", "tools/list"}}, body), 0);
}

TEST(mcp_posted, parameters_are_handed_on) {
  const Posted one = posted({kVersion,
                             {"Mcp-Method", "tools/call"},
                             {"Mcp-Name", "w"},
                             {"Mcp-Param-Region", "eu"},
                             {"mcp-param-x", "=?base64?YQ==?="}},
                            modern("tools/call", R"("name":"w")"));
  ASSERT_EQ(one.parameters.size(), 2u);
  EXPECT_EQ(one.parameters[0].first, "Mcp-Param-Region");
  EXPECT_EQ(one.parameters[0].second, "eu");
  EXPECT_EQ(one.parameters[1].second, "=?base64?YQ==?=");
}

TEST(mcp_posted, values) {
  EXPECT_EQ(decoded_value("us-west1"), "us-west1");
  EXPECT_EQ(decoded_value("  us west  "), "us west");
  EXPECT_EQ(decoded_value("=?base64?SGVsbG8sIOS4lueVjA==?="), "Hello, 世界");
  EXPECT_EQ(decoded_value("=?base64?IHBhZGRlZCA=?="), " padded ");
  EXPECT_EQ(decoded_value("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="), "=?base64?literal?=");
  EXPECT_EQ(decoded_value("=?base64?"
                          "?="),
            "");
  EXPECT_EQ(decoded_value("=?base64?SGVsbG8="), "=?base64?SGVsbG8=") << "no end: as it is";
  EXPECT_EQ(decoded_value("=?BASE64?SGVsbG8=?="), "=?BASE64?SGVsbG8=?=") << "the mark is in lower case";
  EXPECT_FALSE(decoded_value("=?base64?SGVsbG8?="));
  EXPECT_FALSE(decoded_value("=?base64?SGVs!!!bG8=?="));
  EXPECT_FALSE(decoded_value("=?base64?SGVsbG9=?=")) << "bits that stand for nothing";
  EXPECT_FALSE(decoded_value("=?base64?====?="));
  EXPECT_FALSE(decoded_value("a\x01z"));
  EXPECT_FALSE(decoded_value("\xc3\xa4"));
}

TEST(mcp_posted, accept) {
  const auto both = [](const std::string& value) {
    return accepts({{"ACCEPT", value}}, "application/json") && accepts({{"ACCEPT", value}}, "text/event-stream");
  };
  EXPECT_TRUE(both("application/json, text/event-stream"));
  EXPECT_TRUE(both("text/event-stream;q=0.5 , Application/JSON;q=1"));
  EXPECT_TRUE(both("*/*"));
  EXPECT_TRUE(both("text/*, application/*"));
  EXPECT_FALSE(both("application/json"));
  EXPECT_FALSE(both("text/event-stream, application/jsonx"));
  EXPECT_FALSE(accepts({}, "application/json"));
  EXPECT_TRUE(accepts({{"Accept", "text/html"}, {"Accept", "application/json"}}, "application/json"));
}

// --- events that are kept ---------------------------------------------------------------------------------------------------------

TEST(mcp_replay, ids) {
  EXPECT_EQ(parse_event_id("3-17")->stream, 3u);
  EXPECT_EQ(parse_event_id("3-17")->number, 17u);
  for (const std::string_view wrong : {"", "3", "-", "3-", "-1", "3-1x", " 3-1", "3-99999999999999999999", "3--1"})
    EXPECT_FALSE(parse_event_id(wrong)) << wrong;
}

std::vector<std::string> data_of(const std::vector<Replay::Bytes>& events) {
  std::vector<std::string> found;
  net::SseParser parser;
  for (const Replay::Bytes& bytes : events)
    for (const net::SseEvent& event : parser.put(*bytes)) found.push_back(event.id + " " + event.data);
  return found;
}

TEST(mcp_replay, what_came_after) {
  Replay replay(3, 10, 10'000);
  EXPECT_NE(replay.priming(500)->find("id: 3-0\n"), std::string::npos);
  EXPECT_NE(replay.priming(500)->find("retry: 500\n"), std::string::npos);
  for (const char* text : {"a", "b", "c"}) replay.add(text, false);
  EXPECT_EQ(data_of(replay.after(0)), (std::vector<std::string>{"3-1 a", "3-2 b", "3-3 c"}));
  EXPECT_EQ(data_of(replay.after(2)), (std::vector<std::string>{"3-3 c"}));
  EXPECT_TRUE(replay.after(3).empty());
}

TEST(mcp_replay, is_bounded) {
  Replay few(1, 2, 10'000);
  for (const char* text : {"a", "b", "c"}) few.add(text, false);
  EXPECT_EQ(data_of(few.after(0)), (std::vector<std::string>{"1-2 b", "1-3 c"}));

  Replay small(1, 100, 1000);
  for (int i = 0; i < 50; ++i) small.add(std::string(100, 'x'), false);
  EXPECT_LE(small.bytes(), 1000u);
  EXPECT_GT(small.after(0).size(), 3u);
  EXPECT_EQ(small.newest(), 50u);
  small.add(std::string(2000, 'y'), false);
  EXPECT_FALSE(small.last_is_lost()) << "a notice may be missed";
  small.add(std::string(2000, 'y'), true);
  EXPECT_TRUE(small.last_is_lost());
}

}  // namespace
}  // namespace baton::proxy
