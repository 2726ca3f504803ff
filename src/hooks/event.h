// SPDX-License-Identifier: Apache-2.0
// One hook event of a coding agent, whichever agent it is: what is about to happen, or has happened.
//
// Clients differ in what they call things (hooks/names.h, hooks/read.h) and in what they understand as an answer
// (hooks/write.h); everything between the two sees only this value. Pure: no clock, no disk, no process.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"

namespace baton::hooks {

enum class Client : std::uint8_t { Claude, Codex, Gemini, Copilot, OpenCode, Cursor };
inline constexpr std::array kClients = {Client::Claude,  Client::Codex,    Client::Gemini,
                                        Client::Copilot, Client::OpenCode, Client::Cursor};

// "claude", "codex", "gemini", "copilot", "opencode", "cursor": what people type.
std::string_view client_name(Client client);
std::optional<Client> client_named(std::string_view name);

enum class Kind : std::uint8_t {
  BeforeTool,       // a call is about to be made: may it?
  AfterTool,        // it was made
  ToolFailed,       // it was made, or was to be, and failed
  PermissionAsked,  // the client is about to ask its user about a call
  SessionStart,
  SessionEnd,
  SubagentStart,
  SubagentStop,    // a subagent would end; it can be told to go on
  Stop,            // the agent would end; it can be told to go on
  Prompt,          // the user said something
  SettingsChange,  // the client's settings were edited while it runs, and are about to count
  Other,           // nothing that Baton has to do with
};
inline constexpr std::array kKinds = {Kind::BeforeTool,   Kind::AfterTool,  Kind::ToolFailed,     Kind::PermissionAsked,
                                      Kind::SessionStart, Kind::SessionEnd, Kind::SubagentStart,  Kind::SubagentStop,
                                      Kind::Stop,         Kind::Prompt,     Kind::SettingsChange, Kind::Other};

// "before_tool", ...
std::string_view kind_name(Kind kind);

// What an event of this name is to this client; Other for a name it is not known to have.
Kind kind_of(Client client, std::string_view event_name);

struct Event {
  Client client = Client::Claude;
  Kind kind = Kind::Other;
  std::string name;  // as the client calls the event: `PreToolUse`

  std::string client_session;  // the client's own id of it; never empty
  std::string agent_id;        // of a subagent; empty: the main agent
  std::string agent_type;
  std::string cwd;         // absolute, or empty when the client does not say
  std::string transcript;  // a file of the client's; of the subagent, when it is about one

  // Of a call; empty and null otherwise.
  std::string call_id;  // the client's; empty: it has none
  std::string tool;     // the canonical name (hooks/names.h): `Bash`, `Read`, `server/tool`
  std::string tool_as_named;
  bool is_mcp = false;
  json::Value arguments;  // as contracts see them: with facts (hooks/facts.h), paths absolute (hooks/read.h)
  std::string reserved;   // a member of the input that has the name of a fact; not empty: the call must be refused
  json::Value input;      // as it came: what is compared before and after

  // After a call.
  std::optional<json::Value> output;
  bool failed = false;           // the client says so, or the command's exit status does
  std::optional<int> exit_code;  // of a shell command, where the client tells
  std::string error;             // why it failed, in the client's words

  // Of Stop and SubagentStop.
  std::string
      last_message;  // what the model wrote last; empty where the client does not tell (it is in the transcript)
  bool stop_was_blocked = false;  // it goes on because it was told to, and would end again
};

}  // namespace baton::hooks
