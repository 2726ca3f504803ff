// SPDX-License-Identifier: Apache-2.0
// baton mcp lock, baton mcp approve-changes: what MCP servers say of their tools, approved by an operator and written into a pack.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/descriptor.h"
#include "base/ids.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/contract.h"
#include "cli/input.h"
#include "cli/mcp.h"
#include "cli/pack.h"
#include "cli/proxies.h"
#include "cli/terminal.h"
#include "contract/tools_lock.h"
#include "json/parse.h"
#include "mcp/wording.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;
using contract::ToolChange;
using contract::ToolsLock;
using json::Value;

constexpr std::string_view kFile = "tools.lock.json";

struct Arguments {
  NodeOptions node;
  McpServerArguments servers;
  std::string folder, role, format = "human";
  bool check = false, yes = false;
};

// What the servers say now.
struct Seen {
  ToolsLock lock;
  std::vector<std::string> problems;    // tools that cannot be approved, and why
  std::vector<std::string> suspicions;  // texts that are to be read with care
};

Result<Seen> look_at_servers(World& world, const std::vector<proxy::ServerOptions>& servers) {
  std::vector<json::Document> documents;  // the nodes of `read` are in them
  std::vector<contract::ServerTools> read;
  Seen out;
  documents.reserve(servers.size());
  for (const proxy::ServerOptions& server : servers) {
    auto text = world.proxies.read_tools(world, server);
    if (!text) return tl::make_unexpected(text.error());
    auto document = json::parse_owned(*text);
    if (!document) return failure("reading the tools of " + server.name, "its answer is not JSON");
    documents.push_back(std::move(*document));
    const json::Node root = documents.back().root();
    contract::ServerTools one{server.name, root["tools"], std::nullopt};
    if (root["instructions"].is_string()) one.instructions = std::string(root["instructions"].string());
    const auto warn = [&](const std::string& whose, const mcp::Suspicion& found) {
      out.suspicions.push_back(whose + ": " + text_of(found));
    };
    if (one.instructions)
      for (const mcp::Suspicion& found : mcp::suspicions_in_text(*one.instructions, "instructions"))
        warn(server.name, found);
    for (const json::Node tool : one.tools.elements())
      for (const mcp::Suspicion& found : mcp::suspicions_in(tool))
        warn(server.name + "/" + (tool["name"].is_string() ? printable(tool["name"].string(), 120) : "?"), found);
    read.push_back(std::move(one));
  }
  contract::LockMade made = contract::make_tools_lock(read);
  out.lock = std::move(made.lock);
  out.problems = std::move(made.problems);
  return out;
}

// --- the file ---------------------------------------------------------------------------------------------------------------------

fs::path file_in(const std::string& folder) { return fs::path(folder) / kFile; }

// Null when the file is missing.
Result<std::shared_ptr<const ToolsLock>> read_lock(World& world, const std::string& folder) {
  const fs::path path = file_in(folder);
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return nullptr;
  auto text = read_document(world, path.string(), limits::kCliDocumentBytesMax);
  if (!text) return tl::make_unexpected(text.error());
  contract::LockRead read = contract::read_tools_lock(*text);
  if (!read.lock) return failure("reading " + path.string(), read.problem);
  return std::move(read.lock);
}

std::string text_of_file(const ToolsLock& lock) { return json::write_pretty(contract::value_of(lock)) + "\n"; }

// Beside the file first, so that it is never half written.
Result<void> write_lock(World& world, const std::string& folder, const std::string& text) {
  const fs::path path = file_in(folder);
  const std::string doing = "writing " + path.string();
  const std::string beside = path.string() + "." + mint_id("new-", world.random);
  {
    const Descriptor descriptor(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (descriptor.get() < 0) return failure(doing, std::strerror(errno));
    if (!write_all(descriptor.get(), text) || ::fsync(descriptor.get()) != 0) {
      const int problem = errno;
      ::unlink(beside.c_str());
      return failure(doing, std::strerror(problem));
    }
  }
  if (::rename(beside.c_str(), path.c_str()) == 0) return {};
  const int problem = errno;
  ::unlink(beside.c_str());
  return failure(doing, std::strerror(problem));
}

// --- telling ----------------------------------------------------------------------------------------------------------------------

void print_changes(World& world, const std::vector<ToolChange>& changes) {
  for (const ToolChange& change : changes) {
    world.print(headline_of(change) + "\n");
    for (const std::string& line : lines_of(change)) world.print("  " + line + "\n");
  }
}

void warn(World& world, const Seen& seen) {
  world.flush();
  for (const std::string& one : seen.problems) world.print_error("baton: left out: " + printable(one, 400) + "\n");
  for (const std::string& one : seen.suspicions)
    world.print_error("baton: read with care: " + printable(one, 400) + "\n");
}

Value texts(const std::vector<std::string>& all) {
  Value out = Value::array();
  for (const std::string& one : all) out.push(one);
  return out;
}

Value value_of_comparison(const std::vector<ToolChange>& changes, const Seen& seen) {
  Value out = Value::object(), list = Value::array();
  for (const ToolChange& change : changes) list.push(contract::value_of(change));
  out.set("equal", changes.empty() && seen.problems.empty());
  out.set("changes", std::move(list));
  out.set("left_out", texts(seen.problems));
  out.set("suspicious", texts(seen.suspicions));
  return out;
}

int tell_comparison(World& world, const std::vector<ToolChange>& changes, const Seen& seen, bool as_json) {
  if (as_json) {
    world.print(json::write(value_of_comparison(changes, seen)) + "\n");
  } else {
    print_changes(world, changes);
    warn(world, seen);
    if (changes.empty() && seen.problems.empty()) world.print("the servers' tools are those of tools.lock.json\n");
  }
  return changes.empty() && seen.problems.empty() ? kYes : kNo;
}

// --- the commands -----------------------------------------------------------------------------------------------------------------

// A folder that holds a pack; nothing, and a message, when it does not.
std::optional<PackFolder> need_pack(World& world, const std::string& folder) {
  auto read = read_pack(world, folder);
  if (!read) return could_not(world, read.error().text()), std::nullopt;
  return std::move(*read);
}

int lock(World& world, const Arguments& arguments) {
  const bool as_json = arguments.format == "json";
  if (arguments.check) return compare_with_lock(world, arguments.folder, arguments.servers, as_json);
  const auto pack = need_pack(world, arguments.folder);
  if (!pack) return kCouldNot;
  const auto there = read_lock(world, pack->folder);
  if (!there) return could_not(world, there.error().text());
  const auto servers = servers_of(world, arguments.servers);
  if (!servers) return kCouldNot;
  const auto seen = look_at_servers(world, *servers);
  if (!seen) return could_not(world, seen.error().text());
  const std::string path = file_in(pack->folder).string();
  if (*there) {
    const auto changes = changes_of(**there, seen->lock);
    const int status = tell_comparison(world, changes, *seen, as_json);
    if (status != kYes)
      world.print_error("baton: " + printable(path, 200) +
                        " is there already; `baton mcp approve-changes` approves what differs\n");
    return status;
  }
  if (const auto written = write_lock(world, pack->folder, text_of_file(seen->lock)); !written)
    return could_not(world, written.error().text());
  if (as_json) {
    Value out = value_of_comparison({}, *seen);
    out.set("file", path);
    world.print(json::write(out) + "\n");
  } else {
    for (const auto& [name, server] : seen->lock.servers)
      world.print(name + ": " + std::to_string(server.tools.size()) + (server.tools.size() == 1 ? " tool" : " tools") +
                  (server.instructions ? ", and instructions" : "") + "\n");
    world.print(path + " is written; `baton contract activate` makes it count\n");
    warn(world, *seen);
  }
  return seen->problems.empty() ? kYes : kNo;
}

// The roles whose pack is the folder as it is now.
std::vector<std::string> roles_of(const Answer& packs, const PackFolder& pack) {
  std::vector<std::string> out;
  const contract::Compiled compiled = contract::compile(pack.pack);
  if (!compiled.plan) return out;
  for (const json::Node one : packs["packs"].elements())
    if (one["pack"].is_text(compiled.plan->hash) && one["role"].is_string()) out.emplace_back(one["role"].string());
  return out;
}

// Makes the pack active with another lock, for each role. kYes, or what to end with.
int activate_with(World& world, const Arguments& arguments, const PackFolder& pack, const std::string& text) {
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  // Asked whatever else is: a caller that the node does not know changes no file.
  const auto packs = client->get("/v1/packs");
  if (!packs) return could_not(world, packs.error());
  if (!packs->ok()) return refused(world, arguments.node, *packs);
  std::vector<std::string> roles = {arguments.role};
  if (arguments.role.empty()) roles = roles_of(*packs, pack);
  if (roles.empty())
    world.print_error("baton: the pack is active for no role; `baton contract activate` makes it count\n");
  for (const std::string& role : roles) {
    auto body = activation_of(world, pack.folder, role, {});
    if (!body) return could_not(world, body.error());
    Value file = Value::object();
    file.set("name", kFile);
    file.set("text", text);
    if (Value* sent = body->find("pack")) sent->set("tools_lock", std::move(file));
    client->renew_idempotency_key();
    auto answer = client->post("/v1/packs", *body);
    if (!answer) return could_not(world, answer.error());
    if (!answer->ok()) return refused(world, arguments.node, *answer);
    world.print("sessions of the role " + role + " are held to " + printable((*answer)["pack"].string(), 80) + "\n");
  }
  return kYes;
}

int approve_changes(World& world, const Arguments& arguments) {
  // The caller is an agent, or works for one, when it has a session's token.
  if (world.environment("BATON_SESSION_TOKEN"))
    return could_not(world, "this is for an operator, and BATON_SESSION_TOKEN is set: an agent's session");
  const auto pack = need_pack(world, arguments.folder);
  if (!pack) return kCouldNot;
  const auto there = read_lock(world, pack->folder);
  if (!there) return could_not(world, there.error().text());
  if (!*there)
    return could_not(world, "there is no " + std::string(kFile) + " in " + printable(pack->folder, 200) +
                                "; `baton mcp lock` writes one");
  const auto servers = servers_of(world, arguments.servers);
  if (!servers) return kCouldNot;
  const auto seen = look_at_servers(world, *servers);
  if (!seen) return could_not(world, seen.error().text());
  const auto changes = changes_of(**there, seen->lock);
  if (changes.empty()) {
    warn(world, *seen);
    world.print("nothing changed: the servers' tools are those of tools.lock.json\n");
    return kYes;
  }
  print_changes(world, changes);
  warn(world, *seen);
  if (!arguments.yes) {
    const auto yes = ask_yes(world, "Approve these definitions? [y/N] ");
    if (!yes) return could_not(world, yes.error().text() + "; --yes approves without asking");
    if (!*yes) return world.print("nothing was approved\n"), kNo;
  }
  ToolsLock approved = **there;
  for (const auto& [name, server] : seen->lock.servers) approved.servers.insert_or_assign(name, server);
  const std::string text = text_of_file(approved);
  // The node first: who may not activate a pack changes no file either.
  if (!pack->workflow) {
    if (const int status = activate_with(world, arguments, *pack, text); status != kYes) return status;
  } else {
    world.print_error("baton: a workflow counts with its new lock after `baton contract activate`\n");
  }
  if (const auto written = write_lock(world, pack->folder, text); !written)
    return could_not(world, written.error().text());
  world.print(file_in(pack->folder).string() + " is written\n");
  return seen->problems.empty() ? kYes : kNo;
}

void add_common(Command& command, Arguments& arguments) {
  command.add_option("PACK", arguments.folder, "The folder of the pack")->required();
  add_mcp_server_options(command, arguments.servers);
}

}  // namespace

int compare_with_lock(World& world, const std::string& folder, const McpServerArguments& arguments, bool as_json) {
  const auto pack = need_pack(world, folder);
  if (!pack) return kCouldNot;
  const auto there = read_lock(world, pack->folder);
  if (!there) return could_not(world, there.error().text());
  if (!*there)
    return could_not(world, "there is no " + std::string(kFile) + " in " + printable(pack->folder, 200) +
                                "; `baton mcp lock` writes one");
  const auto servers = servers_of(world, arguments);
  if (!servers) return kCouldNot;
  const auto seen = look_at_servers(world, *servers);
  if (!seen) return could_not(world, seen.error().text());
  return tell_comparison(world, changes_of(**there, seen->lock), *seen, as_json);
}

void add_mcp_lock(Command& mcp, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command =
      mcp.add_subcommand("lock", "Write what servers say of their tools into a pack, as tools.lock.json");
  add_common(*command, *arguments);
  command->add_flag("--check", arguments->check, "Write nothing: compare the file with what the servers say now");
  command->add_option("--format", arguments->format, "human, or json")->one_of({"human", "json"});
  examples(*command,
           "  baton mcp lock my-pack --name files -- npx -y @modelcontextprotocol/server-filesystem /srv\n"
           "  baton mcp lock my-pack --config servers.yaml\n"
           "  baton mcp lock my-pack --config servers.yaml --check --format json       in CI\n"
           "\nThe servers are started, or called, and ended again. Without --check an existing file stays as it is.\n"
           "Exit status: 0 written, or equal; 1 the servers say something else; 2 could not tell.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return lock(world, *arguments); }; });
}

void add_mcp_approve_changes(Command& mcp, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command =
      mcp.add_subcommand("approve-changes", "Show what servers changed about their tools, and approve it (operators)");
  add_common(*command, *arguments);
  command->add_flag("--yes", arguments->yes, "Approve without asking at the terminal");
  command->add_option("--role", arguments->role,
                      "Make the pack active for this role; default: each role whose pack it is now");
  add_node_options(*command, arguments->node, Presents::Operator, Changes::Something);
  examples(*command,
           "  baton mcp approve-changes my-pack --config servers.yaml\n"
           "  baton mcp approve-changes my-pack --name files --yes -- ./server --stdio\n"
           "\nTakes an operator's token. Sessions that are open keep the definitions they began with.\n"
           "Exit status: 0 approved, or nothing changed; 1 not approved; 2 could not.");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return approve_changes(world, *arguments); }; });
}

}  // namespace baton::cli
