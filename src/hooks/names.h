// SPDX-License-Identifier: Apache-2.0
// What clients call tools, and what Baton calls them: one table.
//
// The canonical name is `server/tool` for a tool of an MCP server and the client's own name otherwise; a client's shell is
// `Bash`, whatever it is called there, because a contract for commands is to hold everywhere. Clients spell MCP tools
//   mcp__server__tool   Claude Code, Codex          server-tool   Copilot CLI (server/tool when it asks for permission)
//   mcp_server_tool     Gemini CLI                  server_tool   OpenCode
//   MCP:server:tool     Cursor; MCP:tool where it does not name the server, which is `/tool` here
// and put `_` for characters that models' APIs do not take.
//
// One name, one tool. Names come from servers and models as well as from clients, so a spelling that could be read as two
// tools (a server `a` with `b__c`, a server `a__b` with `c`) is refused rather than guessed, unless what the client says beside it,
// the list of servers that are configured, or the one tool of that spelling that there is a contract for, leaves one reading. Two different tools never get one canonical name, but for the
// shells: nothing else is ever `Bash`, and no name without a server has a slash.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "hooks/event.h"

namespace baton::hooks {

struct ToolName {
  std::string tool;    // canonical
  std::string server;  // of MCP; empty also when the client does not name it
  bool is_mcp = false;
};

// What is known beside the name. Views: they need only live as long as the call.
struct Beside {
  std::optional<std::string_view>
      server;  // the client says which server (Claude Code's mcp_server, Gemini's mcp_context)
  std::optional<std::string_view> tool;  // and what the server calls it (mcp_context)
  std::span<const std::string> servers;  // that are configured; empty: not known
  std::span<const std::string> tools =
      {};  // `server:tool`, of those that somebody has a contract for: they settle what is left open
  bool servers_are_all = false;  // `servers` is complete: what fits none of them is no MCP tool (OpenCode's plugin)
  bool is_mcp = false;           // the event itself is about an MCP tool (Cursor's beforeMCPExecution)
};

// Or why not, in words.
tl::expected<ToolName, std::string> canonical_name(Client client, std::string_view as_named, const Beside& beside = {});

// May no MCP server's tool run under the contract of this bare name, because a coding agent has a tool of its own that is called so? Of the
// client, where it is known: every name it has. Of any other: the names that no server is expected to use (`Bash`, `Read`, `WebFetch`).
bool is_reserved(std::string_view name, std::optional<Client> client);

// What the input of a client's own tool looks like, as far as Baton reads it.
enum class Shape : std::uint8_t { Plain, Shell, Files, Patch };
struct ToolShape {
  Shape shape = Shape::Plain;
  // Shell: the member with the command. Patch: those that may hold the patch. Files: those with paths. With blanks between.
  std::string_view members = {};
  std::string_view cwd_member = {};  // where the command, or the search, may say that it runs elsewhere
  bool writes = false;               // the files, rather than reading them
  bool may_lack_paths = false;       // then it is about the working directory
};
ToolShape shape_of(Client client, std::string_view as_named);

}  // namespace baton::hooks
