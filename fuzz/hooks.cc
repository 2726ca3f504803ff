// SPDX-License-Identifier: Apache-2.0
// Hook events and answers. Whatever a client, a server or a model makes of an event:
//   what is read names one tool: of a server with a slash, of the client without; the shell is nothing else
//   facts are in a member of their own and are said by their reader, never by the input
//   paths of file tools are listed, and the input is kept as it came
//   a denial of a call is JSON that this client blocks on, a text and exit status 2
//   what is answered is JSON or nothing, and says nothing that Codex would take for a broken hook
// The first byte is the client, the second the event, the third the answer; then the servers, the answer's text and the event.
#include <array>

#include "hooks/facts.h"
#include "hooks/names.h"
#include "hooks/read.h"
#include "hooks/write.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

namespace h = hooks;

constexpr std::array<std::array<std::string_view, 4>, 6> kEvents = {{
    {"PreToolUse", "PostToolUse", "Stop", "PermissionRequest"},
    {"PreToolUse", "PostToolUse", "SubagentStop", "PermissionRequest"},
    {"BeforeTool", "AfterTool", "AfterAgent", "BeforeAgent"},
    {"preToolUse", "postToolUse", "agentStop", "permissionRequest"},
    {"tool.execute.before", "tool.execute.after", "session.idle", "tool.execute.failed"},
    {"preToolUse", "beforeShellExecution", "beforeMCPExecution", "stop"},
}};

json::Value seen(std::string_view command, std::string_view) {
  json::Value out = json::Value::object();
  out.set("command", command);
  out.set("opaque", true);
  out.set("programs", json::Value::array());
  return out;
}

void require_one_tool(const h::Event& event) {
  const std::size_t slash = event.tool.find('/');
  require(!event.tool.empty(), "a call has a tool");
  require((slash != std::string::npos) == event.is_mcp, "a slash is of MCP tools alone", event.tool);
  require(is_ascii(event.tool), "a tool's name is plain", event.tool);
  require(!event.is_mcp || slash + 1 < event.tool.size(), "an MCP tool has a name", event.tool);
  const bool shell = !event.is_mcp && h::shape_of(event.client, event.tool_as_named).shape == h::Shape::Shell;
  require((event.tool == "Bash") == shell, "the shell is Bash, and nothing else is", event.tool_as_named);
}

void require_seen(const h::Event& event) {
  require(event.input.is_object() && event.arguments.is_object(), "a call has its input and its arguments");
  const h::ToolShape shape = h::shape_of(event.client, event.tool_as_named);
  const bool brings_facts = event.input.find(h::kFacts) != nullptr;
  require(!brings_facts || event.reserved == h::kFacts, "an input that brings facts along is known");
  if (event.is_mcp || shape.shape == h::Shape::Plain) {
    json::Value left = event.input;
    left.erase(h::kFacts);
    require(equal(left, event.arguments), "the input of other tools is left as it is");
    return;
  }
  const json::Value* facts = event.arguments.find(h::kFacts);
  require(facts != nullptr && facts->is_object(), "a tool of the client has facts");
  const bool is_command = event.tool == "Bash";
  for (const auto& [name, value] : event.input.members()) {
    const std::vector<std::string_view> own = split(shape.members, ' ');
    const bool is_own = std::ranges::find(own, name) != own.end();
    if (!is_own && h::is_fact_name(is_command ? h::FactsOf::Command : h::FactsOf::Files, name))
      require(!event.reserved.empty(), "an input with the name of a fact is known", name);
  }
  if (is_command) {
    const json::Value* opaque = facts->find("opaque");
    require(opaque && opaque->kind() == json::Kind::Boolean && opaque->boolean(),
            "what is said of a command is its reader's");
    require(facts->find("programs")->elements().empty(), "what is said of a command is its reader's");
    return;
  }
  const json::Value *paths = facts->find("paths"), *writes = facts->find("writes");
  require(paths && paths->is_array() && writes && writes->is_array(), "the paths of a file tool are listed");
  for (const json::Value& path : paths->elements()) {
    require(path.is_string(), "a path is a text");
    const std::string& text = path.string();
    if (text.starts_with('/'))
      require(text.find("/../") == std::string::npos && text.find("//") == std::string::npos,
              "an absolute path is plain", text);
  }
}

void require_blocks(h::Client client, const h::Written& written, std::string_view event) {
  require(written.exit == 2 && !is_blank_text(written.err), "a denial ends with 2 and says why", event);
  const json::Document document = parsed(written.out, "a denial is JSON");
  const json::Node root = document.root();
  const auto says = [](json::Node node, std::string_view decision, std::string_view word, std::string_view reason) {
    return node[decision].is_text(word) && node[reason].is_string() && !is_blank_text(node[reason].string());
  };
  bool blocks = false;
  switch (client) {
    case h::Client::Claude:
    case h::Client::Codex:
      blocks = says(root["hookSpecificOutput"], "permissionDecision", "deny", "permissionDecisionReason");
      break;
    case h::Client::Copilot: blocks = says(root, "permissionDecision", "deny", "permissionDecisionReason"); break;
    case h::Client::Gemini:
    case h::Client::OpenCode: blocks = says(root, "decision", "deny", "reason"); break;
    case h::Client::Cursor: blocks = says(root, "permission", "deny", "agent_message"); break;
  }
  require(blocks, "a denial of a call is one that its client blocks on", written.out);
}

void run(Input input) {
  const auto client = static_cast<h::Client>(input.choice() % h::kClients.size());
  const std::string_view name = kEvents[static_cast<std::size_t>(client)][input.choice() % 4];
  const std::uint8_t choice = input.choice();
  std::vector<std::string> servers;
  for (const std::string_view server : split(input.part(), ' '))
    if (!server.empty()) servers.emplace_back(server);
  const std::string_view text = input.part();
  const std::string bytes(input.rest());

  const auto event = h::read(client, name, bytes, {seen, servers});
  if (!event) {
    require(!event.error().empty() && find_invalid_utf8(event.error()) == event.error().size(), "a refusal says why");
  } else {
    require(event->client == client && event->name == name && !event->client_session.empty(),
            "an event says whose it is");
    if (!event->tool.empty()) require_one_tool(*event), require_seen(*event);
    const auto again = h::read(client, name, bytes, {seen, servers});
    require(again && again->tool == event->tool, "the same event is the same tool");
  }

  const h::Reply reply{static_cast<h::Reply::Kind>(choice % 5), std::string(text)};
  const h::Written written = event ? h::write(*event, reply) : h::write(client, name, reply);
  if (!written.out.empty()) {
    const json::Document document = parsed(written.out, "an answer is JSON");
    if (client == h::Client::Codex) {
      const json::Node decision = document.root()["hookSpecificOutput"]["permissionDecision"];
      require(!decision || decision.is_text("deny"), "Codex is told no other word than deny", written.out);
    }
  }
  require(written.exit == 0 || written.exit == 2, "a hook ends with 0 or 2");
  if (h::kind_of(client, name) != h::Kind::BeforeTool) return;
  if (reply.kind == h::Reply::Kind::Deny) require_blocks(client, written, name);
  require_blocks(client, h::write_failure(client, name, text), name);
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run(baton::fuzz::Input(data, size)); });
}
