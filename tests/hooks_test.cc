// SPDX-License-Identifier: Apache-2.0
// Hook events of real clients, read and answered, from the files of tests/hooks/.
//
// events_CLIENT.json and hostile.json are {"about", "client", "cases": [{"about", "event", "given" or "bytes", "servers"?, "read" or
// "refused"}]}. `given` is the event as JSON, `bytes` as it is, byte for byte; `servers` are those that are configured, `tools` those
// that there are contracts for, `last_message` is what was found in the client's transcript. `read` is
// all of the Event that is neither empty nor false, `refused` the words. Most were recorded from the clients themselves, with
// their paths and ids made short.
//
// replies.json is {"cases": [{"client", "event", "reply", "text"?, "out", "err"?, "exit"?}]}: exactly what is printed and ended with.
//
// CASES=update writes what is there now into `read`, `refused`, `out`, `err` and `exit`.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"
#include "hooks/event.h"
#include "hooks/names.h"
#include "hooks/paths.h"
#include "hooks/read.h"
#include "hooks/transcript.h"
#include "hooks/write.h"
#include "json/parse.h"
#include "json/value.h"

namespace baton::hooks {
namespace {

using json::Node;
using json::Value;

const std::filesystem::path kFolder = std::filesystem::path(BATON_TESTS_DIR) / "hooks";

bool is_updating() {
  const char* cases = std::getenv("CASES");
  return cases && std::string_view(cases) == "update";
}

Value load(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string bytes = text.str();
  auto document = json::parse(bytes);
  if (!document) ADD_FAILURE() << file << ": " << document.error().what << " at byte " << document.error().offset;
  return document ? Value::copy(document->root()) : Value::object();
}

void save(const std::filesystem::path& file, const Value& value) {
  std::ofstream(file) << json::write_pretty(value) << "\n";
}

std::string text_in(const Value& value, std::string_view name) {
  const Value* member = value.find(name);
  return member && member->is_string() ? member->string() : std::string();
}

// What stands for the reader of command lines here: it says that it was asked, and for where.
Value read_command(std::string_view command, std::string_view cwd) {
  Value out = Value::object();
  out.set("command", command);
  out.set("opaque", false);
  out.set("seen_from", cwd);
  return out;
}

Value show(const Event& event) {
  Value out = Value::object();
  const auto put = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) out.set(name, text);
  };
  out.set("kind", kind_name(event.kind));
  put("client_session", event.client_session);
  put("agent_id", event.agent_id);
  put("agent_type", event.agent_type);
  put("cwd", event.cwd);
  put("transcript", event.transcript);
  put("call_id", event.call_id);
  put("tool", event.tool);
  if (event.is_mcp) out.set("is_mcp", true);
  if (!event.arguments.is_null()) out.set("arguments", event.arguments);
  put("reserved", event.reserved);
  if (event.output) out.set("output", *event.output);
  if (event.failed) out.set("failed", true);
  if (event.exit_code) out.set("exit_code", *event.exit_code);
  put("error", event.error);
  put("last_message", event.last_message);
  if (event.stop_was_blocked) out.set("stop_was_blocked", true);
  return out;
}

TEST(Transcripts, have_the_last_words_of_the_agent) {
  const std::string said = R"({"type":"assistant.message","data":{"content":"one\ntwo"},"id":"i"})";
  const auto last = [](std::string_view tail) { return last_message_in(Client::Copilot, tail); };
  EXPECT_EQ(last(said), "one\ntwo");
  EXPECT_EQ(last(said + "\n" + R"({"type":"assistant.turn_end","data":{}})" + "\n\n"), "one\ntwo");
  EXPECT_EQ(last(R"(ssage","data":{"content":"cut"}})"
                 "\n" +
                 said),
            "one\ntwo");  // begins within a line
  EXPECT_EQ(last(R"(ssage","data":{"content":"cut"}})"), std::nullopt);
  EXPECT_EQ(last(said + "\n" + R"({"type":"assistant.message","data":{"content":"a child","parentToolCallId":"t"}})"),
            "one\ntwo");
  EXPECT_EQ(last(said + "\n" + R"({"type":"assistant.message","data":{"content":"a child"},"agentId":"x"})"),
            "one\ntwo");
  // What somebody else said of such a message is none.
  EXPECT_EQ(last(said + "\n" + R"({"type":"user.message","data":{"content":"\"type\":\"assistant.message\""}})"),
            "one\ntwo");
  EXPECT_EQ(last(said + "\n" + R"({"type":"assistant.message","data":{"content":7}})"), "one\ntwo");
  EXPECT_EQ(last(""), std::nullopt);
  EXPECT_EQ(last("\n\n"), std::nullopt);
  EXPECT_EQ(last("not json assistant.message"), std::nullopt);
  EXPECT_EQ(last_message_in(Client::Cursor, said), std::nullopt);
  const std::string gemini = R"({"id":"1","type":"gemini","content":"first"})"
                             "\n"
                             R"({"id":"2","type":"gemini","content":"second"})"
                             "\n"
                             R"({"$set":{"lastUpdated":"now"}})"
                             "\n";
  EXPECT_EQ(last_message_in(Client::Gemini, gemini), "second");
  EXPECT_EQ(last_message_in(Client::Gemini, gemini + R"({"type":"user","content":"\"gemini\""})"), "second");
  EXPECT_EQ(last_message_in(Client::Gemini, said), std::nullopt);
  EXPECT_EQ(last(gemini), std::nullopt);
}

// --- events -----------------------------------------------------------------------------------------------------------

class Events : public testing::TestWithParam<std::string> {};

TEST_P(Events, are_read_as_the_file_says) {
  const std::filesystem::path path = kFolder / GetParam();
  Value file = load(path);
  ASSERT_TRUE(file.find("cases"));
  for (Value& one : file.find("cases")->elements()) {
    SCOPED_TRACE(text_in(one, "about"));
    const std::string named = one.find("client") ? text_in(one, "client") : text_in(file, "client");
    const auto client = client_named(named);
    ASSERT_TRUE(client) << named;
    std::vector<std::string> servers;
    if (const Value* listed = one.find("servers"))
      for (const Value& server : listed->elements()) servers.push_back(server.string());
    std::vector<std::string> tools;
    if (const Value* listed = one.find("tools"))
      for (const Value& tool : listed->elements()) tools.push_back(tool.string());
    const std::string last_message = text_in(one, "last_message");
    const Value* given = one.find("given");
    const std::string bytes = given ? json::write(*given) : text_in(one, "bytes");
    const auto event = read(*client, text_in(one, "event"), bytes, {read_command, servers, tools, last_message});
    if (is_updating()) {
      one.erase("read");
      one.erase("refused");
      one.set(event ? "read" : "refused", event ? show(*event) : Value(event.error()));
      continue;
    }
    if (!event) {
      EXPECT_EQ(event.error(), text_in(one, "refused"));
      continue;
    }
    ASSERT_TRUE(one.find("read")) << "was read as " << json::write(show(*event));
    EXPECT_EQ(json::write(show(*event)), json::write(*one.find("read")));
    EXPECT_EQ(event->client, *client);
    EXPECT_EQ(event->name.empty(), false);
  }
  if (is_updating()) save(path, file);
}

std::vector<std::string> event_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().filename() != "replies.json") out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}
INSTANTIATE_TEST_SUITE_P(Files, Events, testing::ValuesIn(event_files()),
                         [](const auto& info) { return info.param.substr(0, info.param.find('.')); });

// Every event that means something to Baton is in the files.
TEST(Events, every_kind_of_every_client_has_a_case) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const std::string& name : event_files()) {
    const Value file = load(kFolder / name);
    for (const Value& one : file.find("cases")->elements())
      if (const Value* event = one.find("read"))
        seen.emplace(one.find("client") ? text_in(one, "client") : text_in(file, "client"), text_in(*event, "kind"));
  }
  for (const Client client : kClients)
    for (const Kind kind : kKinds) {
      // What a client does not tell.
      if (client != Client::Claude && kind == Kind::SettingsChange) continue;
      if (client == Client::Codex && kind == Kind::ToolFailed) continue;
      if (client == Client::Gemini && (kind == Kind::ToolFailed || kind == Kind::PermissionAsked ||
                                       kind == Kind::SubagentStart || kind == Kind::SubagentStop))
        continue;
      if (client == Client::OpenCode && (kind == Kind::PermissionAsked || kind == Kind::SubagentStart ||
                                         kind == Kind::SubagentStop || kind == Kind::Prompt))
        continue;
      if (client == Client::Cursor && kind == Kind::PermissionAsked) continue;
      EXPECT_TRUE(seen.count({std::string(client_name(client)), std::string(kind_name(kind))}))
          << client_name(client) << " " << kind_name(kind);
    }
}

TEST(Events, a_huge_one_is_refused) {
  const std::string padding(9u << 20, 'x');
  const auto event = read(Client::Claude, "", R"({"session_id":"s","hook_event_name":"Stop","x":")" + padding + "\"}");
  ASSERT_FALSE(event);
  EXPECT_NE(event.error().find("not JSON"), std::string::npos) << event.error();
}

TEST(Events, a_deep_one_is_refused) {
  const std::string open(200, '['), close(200, ']');
  EXPECT_FALSE(read(
      Client::Claude, "",
      R"({"session_id":"s","hook_event_name":"PreToolUse","tool_name":"X","tool_input":{"a":)" + open + close + "}}"));
}

TEST(Events, without_a_reader_of_commands_a_command_is_opaque) {
  const auto event =
      read(Client::Claude, "",
           R"({"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}})");
  ASSERT_TRUE(event) << event.error();
  EXPECT_EQ(json::write(event->arguments), R"({"command":"ls","dev.baton":{"command":"ls","opaque":true,"cwd":""}})");
}

TEST(Names, of_clients_and_kinds_are_told_back) {
  for (const Client client : kClients) EXPECT_EQ(client_named(client_name(client)), client);
  EXPECT_FALSE(client_named("vim"));
  std::set<std::string_view> kinds;
  for (const Kind kind : kKinds) kinds.insert(kind_name(kind));
  EXPECT_EQ(kinds.size(), kKinds.size());
}

// --- names ------------------------------------------------------------------------------------------------------------

std::string name_of(Client client, std::string_view as_named, std::vector<std::string> servers = {}, bool all = false) {
  Beside beside;
  beside.servers = servers;
  beside.servers_are_all = all;
  const auto name = canonical_name(client, as_named, beside);
  return name ? name->tool + (name->is_mcp ? " (mcp)" : "") : "refused";
}

TEST(Names, the_same_tool_is_one_name_everywhere) {
  for (const auto& [client, spelling] :
       {std::pair(Client::Claude, "mcp__srv__tool"), std::pair(Client::Codex, "mcp__srv__tool"),
        std::pair(Client::Gemini, "mcp_srv_tool"), std::pair(Client::Copilot, "srv-tool"),
        std::pair(Client::Copilot, "srv/tool"), std::pair(Client::Cursor, "MCP:srv:tool")})
    EXPECT_EQ(name_of(client, spelling), "srv/tool (mcp)") << spelling;
  EXPECT_EQ(name_of(Client::OpenCode, "srv_tool", {"srv"}, true), "srv/tool (mcp)");
  for (const auto& [client, spelling] :
       {std::pair(Client::Claude, "Bash"), std::pair(Client::Codex, "Bash"), std::pair(Client::Codex, "shell"),
        std::pair(Client::Codex, "exec_command"), std::pair(Client::Gemini, "run_shell_command"),
        std::pair(Client::Copilot, "bash"), std::pair(Client::OpenCode, "bash"), std::pair(Client::Cursor, "Shell")})
    EXPECT_EQ(name_of(client, spelling), "Bash") << spelling;
}

TEST(Names, only_a_shell_is_the_shell) {
  EXPECT_EQ(name_of(Client::Copilot, "Bash"), "refused");
  EXPECT_EQ(name_of(Client::OpenCode, "Bash", {}, true), "refused");
  EXPECT_EQ(name_of(Client::Gemini, "Bash"), "refused");
  EXPECT_EQ(name_of(Client::Claude, "bash"), "bash");
  EXPECT_EQ(name_of(Client::Claude, "mcp__srv__Bash"), "srv/Bash (mcp)");
  EXPECT_EQ(name_of(Client::Cursor, "MCP:Bash"), "/Bash (mcp)");
}

TEST(Names, what_could_be_two_tools_is_neither) {
  EXPECT_EQ(name_of(Client::Claude, "mcp__a__b__c"), "refused");
  EXPECT_EQ(name_of(Client::Claude, "mcp__a___b"), "refused");
  EXPECT_EQ(name_of(Client::Claude, "mcp__a__b__c", {"a"}), "a/b__c (mcp)");
  EXPECT_EQ(name_of(Client::Claude, "mcp__a__b__c", {"a__b"}), "a__b/c (mcp)");
  EXPECT_EQ(name_of(Client::Claude, "mcp__a__b__c", {"a", "a__b"}), "refused");
  EXPECT_EQ(name_of(Client::Claude, "mcp__my_srv__x", {"my.srv"}), "my.srv/x (mcp)");
  EXPECT_EQ(name_of(Client::Claude, "mcp__my_srv__x", {"my.srv", "my_srv"}), "refused");
  EXPECT_EQ(name_of(Client::Gemini, "mcp_my_server_do"), "refused");
  EXPECT_EQ(name_of(Client::Gemini, "mcp_my_server_do", {"my_server"}), "my_server/do (mcp)");
  EXPECT_EQ(name_of(Client::Copilot, "github-mcp-list"), "refused");
  EXPECT_EQ(name_of(Client::Copilot, "github-mcp-list", {"github-mcp"}), "github-mcp/list (mcp)");
  EXPECT_EQ(name_of(Client::OpenCode, "apply_patch", {"apply"}, true), "refused");
  EXPECT_EQ(name_of(Client::OpenCode, "my_tool"), "refused");
  EXPECT_EQ(name_of(Client::OpenCode, "my_tool", {}, true), "my_tool");
  EXPECT_EQ(name_of(Client::Cursor, "MCP:a:b:c"), "refused");
}

TEST(Names, that_are_none_are_refused) {
  for (const std::string& name : {std::string(), std::string("a/b"), std::string("a b"), std::string("Rеad"),
                                  std::string("a\nb"), std::string("mcp__"), std::string("mcp____x"),
                                  std::string("mcp__srv__"), std::string("mcp__srv"), std::string(300, 'x')})
    EXPECT_EQ(name_of(Client::Claude, name), "refused") << name;
  EXPECT_EQ(name_of(Client::Copilot, "/x"), "refused");
  EXPECT_EQ(name_of(Client::Copilot, "-x"), "refused");
  EXPECT_EQ(name_of(Client::Cursor, "MCP:"), "refused");
  EXPECT_EQ(name_of(Client::Cursor, "MCP::x"), "refused");
}

// A contract with a colon is for a server's tool.
TEST(Names, no_tool_of_a_client_has_the_name_of_a_servers) {
  for (const Client client : {Client::Claude, Client::Codex, Client::Gemini, Client::Cursor})
    EXPECT_EQ(name_of(client, "files:read"), "refused");
  EXPECT_EQ(name_of(Client::Copilot, "files:read"), "refused");
  EXPECT_EQ(name_of(Client::OpenCode, "files:read", {}, true), "refused");
}

TEST(Names, that_coding_agents_use_are_reserved) {
  for (const char* name : {"Bash", "Read", "Write", "WebFetch", "Task", "StrReplace", "NotebookEdit", "SemanticSearch"})
    EXPECT_TRUE(is_reserved(name, std::nullopt)) << name;
  for (const char* name : {"read_file", "write_file", "edit", "list", "task", "web_fetch", "update_plan", "echo", ""})
    EXPECT_FALSE(is_reserved(name, std::nullopt)) << name;
  EXPECT_TRUE(is_reserved("read_file", Client::Gemini));
  EXPECT_TRUE(is_reserved("web_fetch", Client::Gemini));
  EXPECT_FALSE(is_reserved("read_file", Client::Claude));
  EXPECT_TRUE(is_reserved("Bash", Client::Gemini));
  EXPECT_TRUE(is_reserved("todowrite", Client::OpenCode));
  EXPECT_FALSE(is_reserved("todo", Client::OpenCode));
  // Every tool that Baton reads the input of is one of them.
  for (const Client client : kClients)
    for (const char* name : {"Bash", "bash", "shell", "Shell", "run_shell_command", "apply_patch", "Edit", "edit"})
      if (shape_of(client, name).shape != Shape::Plain) {
        EXPECT_TRUE(is_reserved(name, client)) << name;
      }
}

TEST(Names, a_server_that_the_client_names_must_fit) {
  Beside beside;
  beside.server = "github";
  EXPECT_EQ(canonical_name(Client::Claude, "mcp__github__x__y", beside)->tool, "github/x__y");
  EXPECT_FALSE(canonical_name(Client::Claude, "mcp__gitlab__x", beside));
  EXPECT_FALSE(canonical_name(Client::Claude, "Bash", beside));
}

TEST(Paths, are_absolute_and_plain) {
  EXPECT_EQ(absolute_path("a/./b//c", "/srv"), "/srv/a/b/c");
  EXPECT_EQ(absolute_path("../x", "/srv/project"), "/srv/x");
  EXPECT_EQ(absolute_path("/a/../../etc/passwd", "/srv"), "/etc/passwd");
  EXPECT_EQ(absolute_path("", "/srv/"), "/srv");
  EXPECT_EQ(absolute_path("..", "/"), "/");
  EXPECT_EQ(absolute_path("~/x", "/srv"), "~/x");
  EXPECT_EQ(absolute_path("x", ""), "x");
}

// --- replies ----------------------------------------------------------------------------------------------------------

Reply::Kind reply_named(const std::string& name) {
  if (name == "pass") return Reply::Kind::Pass;
  if (name == "allow") return Reply::Kind::Allow;
  if (name == "deny") return Reply::Kind::Deny;
  if (name == "ask_again") return Reply::Kind::AskAgain;
  EXPECT_EQ(name, "context");
  return Reply::Kind::Context;
}

TEST(Replies, are_written_byte_for_byte) {
  const std::filesystem::path path = kFolder / "replies.json";
  Value file = load(path);
  ASSERT_TRUE(file.find("cases"));
  std::set<std::string> clients;
  for (Value& one : file.find("cases")->elements()) {
    const auto client = client_named(text_in(one, "client"));
    ASSERT_TRUE(client);
    const std::string event = text_in(one, "event"), kind = text_in(one, "reply");
    SCOPED_TRACE(text_in(one, "client") + " " + event + " " + kind);
    clients.insert(text_in(one, "client"));
    const Written written = kind == "failure" ? write_failure(*client, event, text_in(one, "text"))
                                              : write(*client, event, {reply_named(kind), text_in(one, "text")});
    if (is_updating()) {
      one.set("out", written.out);
      one.set("err", written.err);
      one.set("exit", written.exit);
      continue;
    }
    EXPECT_EQ(written.out, text_in(one, "out"));
    EXPECT_EQ(written.err, text_in(one, "err"));
    EXPECT_EQ(std::to_string(written.exit), one.find("exit") ? one.find("exit")->number_text() : "0");
  }
  EXPECT_EQ(clients.size(), kClients.size());
  if (is_updating()) save(path, file);
}

constexpr std::string_view kBeforeTool[] = {"PreToolUse", "PreToolUse",          "BeforeTool",
                                            "preToolUse", "tool.execute.before", "preToolUse"};

// What each client needs to see to block a call, from what was seen of it.
bool blocks(Client client, const Written& written) {
  if (written.exit != 2 || written.err.empty()) return false;
  const auto document = json::parse(written.out);
  if (!document) return false;
  const Node root = document->root();
  switch (client) {
    case Client::Claude:
    case Client::Codex: {
      const Node specific = root["hookSpecificOutput"];
      return specific["permissionDecision"].is_text("deny") && specific["hookEventName"].is_text("PreToolUse") &&
             specific["permissionDecisionReason"].is_string() &&
             !is_blank_text(specific["permissionDecisionReason"].string());
    }
    case Client::Gemini: return root["decision"].is_text("deny") && root["reason"].is_string();
    case Client::Copilot:
      return root["permissionDecision"].is_text("deny") && root["permissionDecisionReason"].is_string();
    case Client::OpenCode: return root["decision"].is_text("deny") && root["reason"].is_string();
    case Client::Cursor: return root["permission"].is_text("deny") && root["agent_message"].is_string();
  }
  return false;
}

TEST(Replies, a_denial_blocks_whatever_its_text_is) {
  const std::string texts[] = {
      "", " \n", "no\nbecause", "\"}{", std::string(100'000, 'x'), "\xff\xfe", std::string("\0", 1), "\xe2\x80\xae"};
  for (const Client client : kClients)
    for (const std::string& text : texts) {
      const std::string_view event = kBeforeTool[static_cast<std::size_t>(client)];
      EXPECT_TRUE(can_block(client, event));
      EXPECT_TRUE(blocks(client, write(client, event, {Reply::Kind::Deny, text}))) << client_name(client);
      EXPECT_TRUE(blocks(client, write_failure(client, event, text))) << client_name(client);
    }
}

TEST(Replies, nothing_but_a_denial_blocks_and_codex_is_never_told_to_allow) {
  for (const Client client : kClients)
    for (const Reply::Kind kind : {Reply::Kind::Pass, Reply::Kind::Allow, Reply::Kind::Context}) {
      const Written written = write(client, kBeforeTool[static_cast<std::size_t>(client)], {kind, "why"});
      EXPECT_EQ(written.exit, 0);
      EXPECT_EQ(written.err, "");
      if (client == Client::Codex) {
        EXPECT_EQ(written.out.find("permissionDecision"), std::string::npos);
      }
    }
}

TEST(Replies, the_output_of_an_mcp_tool_is_replaced_in_claude_code) {
  const auto event = read(Client::Claude, "",
                          R"({"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__a__b",)"
                          R"("tool_input":{},"tool_response":[{"type":"text","text":"secret"}]})");
  ASSERT_TRUE(event) << event.error();
  EXPECT_EQ(
      write(*event, {Reply::Kind::Deny, "withheld"}).out,
      R"({"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":[{"type":"text","text":"withheld"}]},)"
      R"("decision":"block","reason":"withheld"})");
}

TEST(Replies, a_long_reason_is_cut_and_says_so) {
  const Written written = write(Client::Gemini, "BeforeTool", {Reply::Kind::Deny, std::string(20'000, 'x')});
  EXPECT_LT(written.out.size(), 9'000u);
  EXPECT_NE(written.out.find("[cut]"), std::string::npos);
}

TEST(Replies, the_end_of_an_agent_is_not_held_up_by_a_failure) {
  EXPECT_EQ(write_failure(Client::Claude, "Stop", "no node").exit, 0);
  EXPECT_EQ(write_failure(Client::Claude, "Stop", "no node").out, "");
  EXPECT_EQ(write_failure(Client::Claude, "Stop", "no node").err, "no node\n");
  EXPECT_EQ(write_failure(Client::Claude, "PreTooluse", "no node").exit, 2);
}

}  // namespace
}  // namespace baton::hooks
