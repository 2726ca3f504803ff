// SPDX-License-Identifier: Apache-2.0
#include "hook/failing.h"

#include <array>

namespace baton::hook {
namespace {

// Nothing runs because of these. Everything else might be before a tool.
constexpr std::array<std::string_view, 40> kHarmless = {
    // Claude Code, Codex
    "PostToolUse", "PostToolUseFailure", "PostToolBatch", "PermissionDenied", "SessionStart", "SessionEnd",
    "SubagentStart", "SubagentStop", "Stop", "StopFailure", "UserPromptSubmit", "PreCompact", "PostCompact",
    "Notification", "Setup",
    // Gemini CLI
    "AfterTool", "AfterAgent", "BeforeAgent", "BeforeModel", "AfterModel", "PreCompress",
    // Copilot CLI
    "postToolUse", "sessionStart", "sessionEnd", "userPromptSubmitted", "agentStop", "subagentStop", "errorOccurred",
    // OpenCode's plugin
    "tool.execute.after", "session.idle", "session.created", "session.deleted",
    // Cursor
    "stop", "afterShellExecution", "afterMCPExecution", "afterFileEdit", "afterAgentResponse", "afterAgentThought",
    "beforeSubmitPrompt", "subagentStart"};

void append_escaped(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (byte < 0x20 || byte >= 0x7f) ((out += "\\u00") += kDigits[byte >> 4]) += kDigits[byte & 15];
    else out += c;
  }
  out += '"';
}

}  // namespace

bool is_before_tool(std::string_view event) {
  for (const std::string_view one : kHarmless)
    if (one == event) return false;
  return true;
}

std::string event_in(std::string_view input) {
  constexpr std::string_view kName = "\"hook_event_name\"";
  std::string found;
  for (std::size_t at = input.find(kName); at != std::string_view::npos; at = input.find(kName, at + 1)) {
    std::size_t begin = input.find_first_not_of(" \t\r\n", at + kName.size());
    if (begin == std::string_view::npos || input[begin] != ':') continue;
    begin = input.find_first_not_of(" \t\r\n", begin + 1);
    if (begin == std::string_view::npos || input[begin] != '"') return {};
    const std::size_t end = input.find('"', begin + 1);
    if (end == std::string_view::npos) return {};
    const std::string_view one = input.substr(begin + 1, end - begin - 1);
    if (!found.empty() && found != one) return {};
    found = one;
  }
  return found;
}

Said failing(std::string_view client, std::string_view event, std::string_view reason) {
  Said said;
  said.err = "baton: " + std::string(reason) + "\n";
  if (!is_before_tool(event)) return said;
  const std::string why = "Denied by Baton: " + std::string(reason) + "; nothing goes ahead while it cannot be decided";
  said.exit = 2;
  said.err = why + "\n";
  if (client == "copilot") {
    said.exit = 0;
    said.out = R"({"permissionDecision":"deny","permissionDecisionReason":)";
    append_escaped(said.out, why);
    said.out += "}\n";
  } else if (client == "cursor") {
    said.out = R"({"permission":"deny","user_message":)";
    append_escaped(said.out, why);
    said.out += R"(,"agent_message":)";
    append_escaped(said.out, why);
    said.out += "}\n";
  }
  return said;
}

}  // namespace baton::hook
