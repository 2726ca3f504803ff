// SPDX-License-Identifier: Apache-2.0
#include "hooks/event.h"

#include "base/check.h"

namespace baton::hooks {
namespace {

struct EventName {
  Client client;
  std::string_view name;
  Kind kind;
};

// Every event that means something to Baton, as its client calls it.
constexpr EventName kEvents[] = {
    {Client::Claude, "PreToolUse", Kind::BeforeTool},
    {Client::Claude, "PostToolUse", Kind::AfterTool},
    {Client::Claude, "PostToolUseFailure", Kind::ToolFailed},
    // The client's own rules said no after the hook had its say: the call is not made.
    {Client::Claude, "PermissionDenied", Kind::ToolFailed},
    {Client::Claude, "PermissionRequest", Kind::PermissionAsked},
    {Client::Claude, "SessionStart", Kind::SessionStart},
    {Client::Claude, "SessionEnd", Kind::SessionEnd},
    {Client::Claude, "SubagentStart", Kind::SubagentStart},
    {Client::Claude, "SubagentStop", Kind::SubagentStop},
    {Client::Claude, "Stop", Kind::Stop},
    {Client::Claude, "UserPromptSubmit", Kind::Prompt},
    {Client::Claude, "ConfigChange", Kind::SettingsChange},

    {Client::Codex, "PreToolUse", Kind::BeforeTool},
    {Client::Codex, "PostToolUse", Kind::AfterTool},
    {Client::Codex, "PermissionRequest", Kind::PermissionAsked},
    {Client::Codex, "SessionStart", Kind::SessionStart},
    {Client::Codex, "SessionEnd", Kind::SessionEnd},
    {Client::Codex, "SubagentStart", Kind::SubagentStart},
    {Client::Codex, "SubagentStop", Kind::SubagentStop},
    {Client::Codex, "Stop", Kind::Stop},
    {Client::Codex, "UserPromptSubmit", Kind::Prompt},

    {Client::Gemini, "BeforeTool", Kind::BeforeTool},
    {Client::Gemini, "AfterTool", Kind::AfterTool},
    {Client::Gemini, "SessionStart", Kind::SessionStart},
    {Client::Gemini, "SessionEnd", Kind::SessionEnd},
    {Client::Gemini, "AfterAgent", Kind::Stop},
    {Client::Gemini, "BeforeAgent", Kind::Prompt},

    {Client::Copilot, "preToolUse", Kind::BeforeTool},
    {Client::Copilot, "postToolUse", Kind::AfterTool},
    {Client::Copilot, "postToolUseFailure", Kind::ToolFailed},
    {Client::Copilot, "permissionRequest", Kind::PermissionAsked},
    {Client::Copilot, "sessionStart", Kind::SessionStart},
    {Client::Copilot, "sessionEnd", Kind::SessionEnd},
    {Client::Copilot, "subagentStart", Kind::SubagentStart},
    {Client::Copilot, "subagentStop", Kind::SubagentStop},
    {Client::Copilot, "agentStop", Kind::Stop},
    {Client::Copilot, "userPromptSubmitted", Kind::Prompt},

    // Of Baton's own plugin (hooks/opencode_plugin.js), named after what OpenCode has there.
    {Client::OpenCode, "tool.execute.before", Kind::BeforeTool},
    {Client::OpenCode, "tool.execute.after", Kind::AfterTool},
    {Client::OpenCode, "tool.execute.failed", Kind::ToolFailed},
    {Client::OpenCode, "session.created", Kind::SessionStart},
    {Client::OpenCode, "session.deleted", Kind::SessionEnd},
    {Client::OpenCode, "session.idle", Kind::Stop},

    {Client::Cursor, "preToolUse", Kind::BeforeTool},
    {Client::Cursor, "beforeShellExecution", Kind::BeforeTool},
    {Client::Cursor, "beforeMCPExecution", Kind::BeforeTool},
    {Client::Cursor, "beforeReadFile", Kind::BeforeTool},
    {Client::Cursor, "postToolUse", Kind::AfterTool},
    {Client::Cursor, "afterShellExecution", Kind::AfterTool},
    {Client::Cursor, "afterMCPExecution", Kind::AfterTool},
    {Client::Cursor, "afterFileEdit", Kind::AfterTool},
    {Client::Cursor, "postToolUseFailure", Kind::ToolFailed},
    {Client::Cursor, "sessionStart", Kind::SessionStart},
    {Client::Cursor, "sessionEnd", Kind::SessionEnd},
    {Client::Cursor, "subagentStart", Kind::SubagentStart},
    {Client::Cursor, "subagentStop", Kind::SubagentStop},
    {Client::Cursor, "stop", Kind::Stop},
    {Client::Cursor, "beforeSubmitPrompt", Kind::Prompt},
};

}  // namespace

std::string_view client_name(Client client) {
  switch (client) {
    case Client::Claude: return "claude";
    case Client::Codex: return "codex";
    case Client::Gemini: return "gemini";
    case Client::Copilot: return "copilot";
    case Client::OpenCode: return "opencode";
    case Client::Cursor: return "cursor";
  }
  CHECK(false);
}

std::optional<Client> client_named(std::string_view name) {
  for (const Client client : kClients)
    if (client_name(client) == name) return client;
  return std::nullopt;
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::BeforeTool: return "before_tool";
    case Kind::AfterTool: return "after_tool";
    case Kind::ToolFailed: return "tool_failed";
    case Kind::PermissionAsked: return "permission_asked";
    case Kind::SessionStart: return "session_start";
    case Kind::SessionEnd: return "session_end";
    case Kind::SubagentStart: return "subagent_start";
    case Kind::SubagentStop: return "subagent_stop";
    case Kind::Stop: return "stop";
    case Kind::Prompt: return "prompt";
    case Kind::SettingsChange: return "settings_change";
    case Kind::Other: return "other";
  }
  CHECK(false);
}

Kind kind_of(Client client, std::string_view event_name) {
  for (const EventName& event : kEvents)
    if (event.client == client && event.name == event_name) return event.kind;
  return Kind::Other;
}

}  // namespace baton::hooks
