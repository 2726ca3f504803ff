// SPDX-License-Identifier: Apache-2.0
// Puts a coding agent behind Baton by its own settings: hooks that ask baton-hook, and the MCP proxy in front of every server. And takes it out
// again.
//
// Pure: texts of settings files in, changed texts out; whoever calls reads and writes the files, and keeps the originals. Everything that is not
// changed stays byte for byte (adopt/splice.h, adopt/toml.h). Doing it twice changes nothing the second time, and that is also how tampering is found:
// what a second time would change is what somebody took out.
//
// What the client's own rules say (permissions and the like) stays in force in the client. It is also carried into a pack as far as contracts can
// say it, and what they cannot is listed with the reason (adopt/rules.h).
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "adopt/rules.h"
#include "hooks/event.h"

namespace baton::adopt {

enum class Base : std::uint8_t { Project, Home };

// A file that a client reads and `adopt` looks at.
struct Place {
  Base base;
  std::string_view path;  // below the project's folder or the user's home
};
std::vector<Place> places_of(hooks::Client client);

struct File {
  Place place;
  bool exists = false;
  std::string text;
};

struct Options {
  std::string baton;  // absolute paths of the two programs
  std::string hook;
  std::string project;  // absolute; for rules about relative paths
  std::string home;
  std::string store = {};   // the folder of the store, absolute; empty: the programs find it by themselves
  std::string socket = {};  // the socket of a node of another user; then `store` is only where Baton keeps what it did
  std::string node_key = {};  // of the node's answers to hooks; empty: hooks believe whatever answers there
  std::string role = {};      // of the sessions; empty: theirs
  std::string secrets =
      {};  // the folder where files for headers of servers may lie; empty: such servers are left alone
  // Servers that `adopt` put behind the proxy before: how they are called there is Baton's, whoever changed it. `FILE NAME`, as in Adoption::servers.
  std::vector<std::string> wired = {};
  std::vector<ServerTool> tools = {};  // of servers, as far as somebody has asked them
};

struct Edit {
  Place place;
  bool existed = false;
  std::string before, after;
};

// An MCP server as the client would start or reach it, for whoever wants to ask it something. It may hold secrets.
struct Server {
  std::string name;
  std::vector<std::string> argv, environment;  // NAME=VALUE; without those that the client would fill in
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
};

// A value that a command line refers to and does not hold.
struct SecretFile {
  std::string path, text;
};

struct Adoption {
  std::vector<Edit> edits;              // files that change
  std::vector<std::string> changes;     // what, one line each: "hook PreToolUse in .claude/settings.json"
  std::vector<std::string> left_alone;  // what should be wired and could not be, and why
  std::vector<std::string> unhooked;    // those of them that are about hooks: the client is not held to anything
  std::vector<std::string> unreadable;  // those that are about a whole file: what is in it is not known
  std::vector<std::string> servers;     // MCP servers that are behind the proxy after it: `FILE NAME`
  std::vector<Server> reached;          // the same, as they are without the proxy
  std::vector<SecretFile> secrets;      // to be written first, for nobody else to read
  Pack pack;
};

// `files` are those of places_of(client), with what they hold; a file that is not there is not written unless hooks go into it.
Adoption adopt(hooks::Client client, const std::vector<File>& files, const Options& options);

// What is not as `adopt` would have it, one line each; empty: it is all there. Also what switches hooks off as a whole.
std::vector<std::string> tampered(hooks::Client client, const std::vector<File>& files, const Options& options);

// What a file is without what `adopt` put into it: the original, or, when somebody has changed it since, what it is now with only that taken out.
// Why not, in words: the two cannot be told apart.
tl::expected<std::string, std::string> undo(const Edit& edit, std::string_view now);

// What the client's user has to do beside it, one sentence each: what a client wants confirmed by a person before it runs hooks of a project.
std::vector<std::string> left_to_do(hooks::Client client, const std::string& project);

// Is one of them there that Baton did not make? For finding out which clients are used.
bool is_used(const std::vector<File>& files);

}  // namespace baton::adopt
