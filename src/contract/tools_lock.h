// SPDX-License-Identifier: Apache-2.0
// tools.lock.json: the tools of MCP servers as an operator approved them. `baton mcp lock` writes the file into a pack, and the pack's
// hash covers it. The proxy withholds a definition that differs from it.
//
//   {"version": "1",
//    "servers": {"files": {"instructions": "...",
//                          "tools": {"read_file": {"sha256": "HEX", "definition": {"description": "...", "inputSchema": {...}}}}}}}
//
// `definition` has the members of kDefinitionParts that the server gives; an `execution` that says only what is the default (`{}`,
// `{"taskSupport":"forbidden"}`) counts as absent. `sha256` is of its canonical JSON, so that an accidental edit is found; it is no signature.
// Two definitions are equal when their parts have the same canonical JSON.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/document.h"
#include "json/value.h"

namespace baton::contract {

// What of a tool's definition is compared: what a model reads, what arguments are checked against, and how a client is to call it.
inline constexpr std::array<std::string_view, 6> kDefinitionParts = {"annotations", "description",  "execution",
                                                                     "inputSchema", "outputSchema", "title"};

// A definition: the canonical JSON of each part that is present, by its name.
using Definition = std::map<std::string, std::string, std::less<>>;
Definition definition_of(json::Node tool);

struct LockedServer {
  std::optional<std::string> instructions = {};
  std::map<std::string, Definition, std::less<>> tools = {};
};
struct ToolsLock {
  std::map<std::string, LockedServer, std::less<>> servers = {};

  const LockedServer* server(std::string_view name) const;
  const Definition* tool(std::string_view server, std::string_view tool) const;
};

struct LockRead {
  std::shared_ptr<const ToolsLock> lock;  // null: `problem` says why
  std::string problem;
};
LockRead read_tools_lock(std::string_view text);
json::Value value_of(const ToolsLock& lock);
std::string digest_of(const ToolsLock& lock);  // sha256:HEX, the same for locks that say the same

// Definitions, as a proxy or a command has just read them, as a lock. `problem`: a name, or a value that has no canonical form.
struct ServerTools {
  std::string server;
  json::Node tools;  // the list of a tools/list result
  std::optional<std::string> instructions = {};
};
struct LockMade {
  ToolsLock lock;
  std::vector<std::string> problems;  // tools that are left out, and why
  // A tool that its server lists twice, differently. Which of the two a client gets is not known, so that nothing can be approved.
  std::string conflict = {};
};
LockMade make_tools_lock(const std::vector<ServerTools>& servers);

// --- differences ------------------------------------------------------------------------------------------------------------------

// One place at which two definitions differ. `before` and `after` are JSON, empty where the place is missing.
struct Difference {
  std::string place;  // "description", "inputSchema/properties/to", "instructions"
  std::string before, after;
};

// How much of a change is kept and printed: a bounded part for the log, or everything for the operator who approves it.
enum class Detail { Short, All };

struct ToolChange {
  enum class Kind { New, Gone, Changed } kind = Kind::Changed;
  std::string server;
  std::string tool;  // empty: the server's instructions
  std::vector<Difference> differences = {};
  // Only texts for people and models differ (description, title, instructions), no schema and no hint.
  bool is_wording = false;
  bool is_cut = false;  // there are further differences
};

// Of one tool; nothing when the definition is the approved one. A tool that is not in the lock is New.
std::optional<ToolChange> change_of_tool(const ToolsLock& lock, std::string_view server, std::string_view tool,
                                         const Definition& now, Detail detail = Detail::Short);
// Of a server's instructions. A server that is not in the lock has none that are approved.
std::optional<ToolChange> change_of_instructions(const ToolsLock& lock, std::string_view server,
                                                 const std::optional<std::string>& now);
// Of all servers of `now`, every difference. Servers that `now` does not have are not compared.
std::vector<ToolChange> changes_of(const ToolsLock& lock, const ToolsLock& now);

// For people: which parts changed ("description, inputSchema"), without a word of the server's.
std::string parts_of(const ToolChange& change);
// For people: `- ` before and `+ ` after, a line for each; control characters and characters that nobody sees are escapes. Short: of a long
// value the part around the first difference. All: whole values; for a long one also the part around the first difference, and which
// characters beyond ASCII came and went, because some of them look like ASCII letters.
std::vector<std::string> lines_of(const ToolChange& change, Detail detail = Detail::Short);
// "files/read_file is new"
std::string headline_of(const ToolChange& change);
json::Value value_of(const ToolChange& change);

// --- names ------------------------------------------------------------------------------------------------------------------------

// What is known of the servers beside a server's tool, apart from who is running: the configuration, and the pack's lock.
struct ServersKnown {
  bool is_only_server = false;      // the configuration has this server and no other
  const ToolsLock* lock = nullptr;  // null: the pack has none
  bool is_reserved = false;         // a coding agent has a tool of its own with this name
};

// May a contract that names no server be the one for this tool? Only where no other server may offer a tool of that name: with a lock, by
// the lock; else where the configuration has one server. Never for a reserved name, or one with `:` or `/`.
bool may_be_bare(std::string_view server, std::string_view tool, const ServersKnown& known);

// What a call of a server's tool is called at the node: `server/tool`, or the bare name where that may be and there is no contract for
// `server:tool`. `has`: is there a contract of this name?
template <class Has>
std::string call_name(std::string_view server, std::string_view tool, const ServersKnown& known, Has&& has) {
  const std::string in_pack = std::string(server) + ":" + std::string(tool);
  if (!has(in_pack) && may_be_bare(server, tool, known)) return std::string(tool);
  return std::string(server) + "/" + std::string(tool);
}

// Why the contract `tool`, which is there, is not the one for this tool, and what to do: a sentence for the operator.
std::string why_not_bare(std::string_view server, std::string_view tool, const ServersKnown& known);

}  // namespace baton::contract
