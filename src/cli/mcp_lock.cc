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
#include "base/hidden_characters.h"
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
#include "diagnostics/diagnostic.h"
#include "json/parse.h"
#include "mcp/message.h"
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

// The proxy withholds a tool none of whose definitions it can hand on: it is left out here, too.
void leave_out_respelled(const std::vector<contract::ServerTools>& read, Seen& seen) {
  for (const contract::ServerTools& server : read) {
    std::map<std::string, std::string_view> respelled;
    for (const json::Node tool : server.tools.elements())
      if (const std::string_view member = mcp::respelled_in_definition(tool);
          tool["name"].is_string() && !member.empty())
        respelled.emplace(tool["name"].string(), member);
    for (const json::Node tool : server.tools.elements())
      if (tool["name"].is_string() && mcp::respelled_in_definition(tool).empty())
        respelled.erase(std::string(tool["name"].string()));
    for (const auto& [name, member] : respelled) {
      seen.lock.servers[server.server].tools.erase(name);
      seen.problems.push_back(server.server + "/" + printable(name, 80) + ": " + mcp::why_respelled(member) +
                              "; the proxy withholds the tool until its server is fixed");
    }
  }
}

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
  if (!made.conflict.empty())
    return failure("reading the tools of the servers", made.conflict + "; have the server fixed, then try again");
  out.lock = std::move(made.lock);
  out.problems = std::move(made.problems);
  leave_out_respelled(read, out);
  return out;
}

// --- the file ---------------------------------------------------------------------------------------------------------------------

fs::path file_in(const std::string& folder) { return fs::path(folder) / kFile; }

using LockPtr = std::shared_ptr<const ToolsLock>;

Result<LockPtr> lock_in(const std::string& text, const std::string& path) {
  contract::LockRead read = contract::read_tools_lock(text);
  if (!read.lock) return failure("reading " + path, read.problem + "; " + std::string(info(Code::TOOLS_LOCK).help));
  return std::move(read.lock);
}

// Null when the file is missing. Whatever has the name counts as a file: nothing is written over it.
Result<LockPtr> read_lock(World& world, const std::string& folder) {
  const fs::path path = file_in(folder);
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return nullptr;
  auto text = read_document(world, path.string(), limits::kCliDocumentBytesMax);
  if (!text) return tl::make_unexpected(text.error());
  return lock_in(*text, path.string());
}

// The lock of a pack as it was read with its other files.
Result<LockPtr> need_lock(const PackFolder& pack) {
  if (!pack.pack.tools_lock)
    return failure("reading the pack", "there is no " + std::string(kFile) + " in " + printable(pack.folder, 200) +
                                           "; `baton mcp lock` writes one");
  return lock_in(pack.pack.tools_lock->text, pack.pack.tools_lock->name);
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

std::string text_of(const std::vector<ToolChange>& changes) {
  std::string out;
  for (const ToolChange& change : changes) {
    out += headline_of(change) + "\n";
    for (const std::string& line : lines_of(change, contract::Detail::All)) out += "  " + line + "\n";
  }
  return out;
}

// JSON in one line. Hidden characters, which JSON has in strings only, are escapes: a terminal may show this.
void print_json(World& world, const Value& value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const std::string text = json::write(value);
  std::string out;
  const auto escape = [&](char32_t unit) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(unit >> shift) & 0x0fu];
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t c = next_character(text, at);
    if (!is_hidden(c)) {
      out.append(text, start, at - start);
    } else if (c < 0x10000) {
      escape(c);
    } else {
      escape(0xd800 + ((c - 0x10000) >> 10));
      escape(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  world.print(out + "\n");
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
    print_json(world, value_of_comparison(changes, seen));
  } else {
    world.print(text_of(changes));
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
    print_json(world, out);
  } else {
    for (const auto& [name, server] : seen->lock.servers)
      world.print(name + ": " + std::to_string(server.tools.size()) + (server.tools.size() == 1 ? " tool" : " tools") +
                  (server.instructions ? ", and instructions" : "") + "\n");
    world.print(path + " is written; `baton contract activate` makes it count\n");
    warn(world, *seen);
  }
  return seen->problems.empty() ? kYes : kNo;
}

// --- approving --------------------------------------------------------------------------------------------------------------------

// Of a pack, or of a workflow; empty when it does not compile.
std::string hash_of(const PackFolder& pack) {
  if (pack.workflow) {
    const auto plan = contract::compile_workflow(*pack.workflow).plan;
    return plan ? plan->hash : std::string();
  }
  const auto plan = contract::compile(pack.pack).plan;
  return plan ? plan->hash : std::string();
}

// Which active packs are the folder as it was read.
struct Active {
  std::string hash;                // of the folder
  std::vector<std::string> roles;  // that are held to this hash
  std::vector<std::string> older;  // that are held to another state of the folder
  std::string problem;             // why nothing can be approved; empty: nothing is against it
};

// A lock is approved for contracts that an operator has activated. The active pack has contracts and lock under one hash, so that an edit of
// either on disk is found.
Active active_packs(const Answer& packs, const PackFolder& pack, const std::string& role) {
  Active out{hash_of(pack), {}, {}, {}};
  const std::string shown_folder = printable(pack.folder, 200);
  if (out.hash.empty()) {
    out.problem = shown_folder + " has errors: run `baton contract check`";
    return out;
  }
  const auto body = activation_of(pack, {}, {});
  const json::Value* folder = body ? body->find("folder") : nullptr;
  std::string other;
  for (const json::Node one : packs["packs"].elements()) {
    if (!one["role"].is_string() || !one["pack"].is_string()) continue;
    if (!role.empty() && !one["role"].is_text(role)) continue;
    if (one["pack"].is_text(out.hash)) {
      out.roles.emplace_back(one["role"].string());
      continue;
    }
    if (!role.empty() || (folder != nullptr && one["folder"].is_text(folder->string()))) {
      out.older.emplace_back(one["role"].string());
      other = printable(one["pack"].string(), 80);
    }
  }
  if (!out.roles.empty()) return out;
  const std::string how =
      "`baton contract activate " + shown_folder + (role.empty() ? "" : " --role " + printable(role, 60)) + "`";
  if (!out.older.empty())
    out.problem = "the contracts or " + std::string(kFile) + " in " + shown_folder + " (" + out.hash +
                  ") are not those that are active for the role " + printable(out.older.front(), 60) + " (" + other +
                  "); read what differs with `baton contract diff OLD NEW`, then run " + how;
  else if (!role.empty())
    out.problem = "no pack is active for the role " + printable(role, 60) + "; run " + how + " first";
  return out;
}

// Asks the node which packs are active. The problem is nothing, or what to end with.
struct AskedNode {
  Active active;
  std::optional<int> status = {};
};
AskedNode ask_node(World& world, const Arguments& arguments, Client& client, const PackFolder& pack) {
  const auto packs = client.get("/v1/packs");
  if (!packs) return {{}, could_not(world, packs.error())};
  if (!packs->ok()) return {{}, refused(world, arguments.node, *packs)};
  AskedNode out{active_packs(*packs, pack, arguments.role)};
  if (!out.active.problem.empty()) out.status = could_not(world, out.active.problem);
  return out;
}

struct Activated {
  std::string pack;  // the hash
  std::vector<std::string> roles;
};

// Makes the pack that was read active with another lock, for each role. kYes, or what to end with.
int activate_with(World& world, const Arguments& arguments, Client& client, const PackFolder& pack,
                  const Active& active, const std::string& lock_text, Activated& out) {
  // A server could have edited the contracts while it was asked, and another operator could have activated another pack.
  const auto again = read_pack(world, pack.folder);
  if (!again || hash_of(*again) != active.hash)
    return could_not(world,
                     "the files in " + printable(pack.folder, 200) +
                         " changed while the servers were asked; nothing was approved. Read the files, then try again");
  const AskedNode now = ask_node(world, arguments, client, pack);
  if (now.status) return *now.status;
  if (now.active.roles != active.roles)
    return could_not(world, "other packs became active meanwhile; nothing was approved. Try again");
  PackFolder approved = pack;
  approved.pack.tools_lock = contract::SourceFile{std::string(kFile), lock_text, true};
  out.pack = hash_of(approved);
  for (const std::string& role : active.roles) {
    const auto body = activation_of(approved, role, out.pack);
    if (!body) return could_not(world, body.error());
    client.renew_idempotency_key();
    const auto answer = client.post("/v1/packs", *body);
    if (!answer) return could_not(world, answer.error());
    if (!answer->ok()) return refused(world, arguments.node, *answer);
    out.roles.push_back(role);
  }
  return kYes;
}

void print_not_active(World& world, const Active& active, const PackFolder& pack) {
  if (pack.workflow) world.print_error("baton: a workflow counts with its new lock after `baton contract activate`\n");
  else if (active.roles.empty())
    world.print_error("baton: the pack is active for no role; `baton contract activate` makes it count\n");
  if (!active.roles.empty())
    for (const std::string& role : active.older)
      world.print_error("baton: the role " + printable(role, 60) +
                        " is held to an older state of this folder; `baton contract activate` updates it\n");
}

// What became of it, as JSON: the comparison, and what is active now.
void print_approval(World& world, const std::vector<ToolChange>& changes, const Seen& seen, bool is_approved,
                    const Activated& active, const std::string& file = {}) {
  Value out = value_of_comparison(changes, seen);
  out.set("approved", is_approved);
  out.set("roles", texts(active.roles));
  if (!active.roles.empty()) out.set("pack", active.pack);
  if (!file.empty()) out.set("file", file);
  print_json(world, out);
}

// The operator reads every difference before the question.
Result<bool> ask_operator(World& world, const Arguments& arguments, const std::vector<ToolChange>& changes,
                          const Seen& seen) {
  const bool as_json = arguments.node.json();
  if (!as_json) world.print(text_of(changes));
  else if (!arguments.yes) world.print_error(text_of(changes));
  if (!as_json || !arguments.yes) warn(world, seen);
  if (arguments.yes) return true;
  return ask_yes(world, "Approve these definitions? [y/N] ");
}

int approve_changes(World& world, const Arguments& arguments) {
  // The caller is an agent, or works for one, when it has a session's token.
  if (world.environment("BATON_SESSION_TOKEN"))
    return could_not(world, "this is for an operator, and BATON_SESSION_TOKEN is set: an agent's session");
  // Everything that is shown, compared and activated is read here, once: servers run as the same user and can write to the folder.
  const auto pack = need_pack(world, arguments.folder);
  if (!pack) return kCouldNot;
  const auto there = need_lock(*pack);
  if (!there) return could_not(world, there.error().text());
  const auto servers = servers_of(world, arguments.servers);
  if (!servers) return kCouldNot;
  // The node first: a caller that the node does not know starts no server and changes no file.
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  const auto [active, status] = ask_node(world, arguments, *client, *pack);
  if (status) return *status;
  const auto seen = look_at_servers(world, *servers);
  if (!seen) return could_not(world, seen.error().text());
  const auto changes = changes_of(**there, seen->lock);
  const bool as_json = arguments.node.json();
  if (changes.empty()) {
    if (as_json) {
      print_approval(world, changes, *seen, false, {active.hash, active.roles});
    } else {
      warn(world, *seen);
      world.print(seen->problems.empty() ? "nothing changed: the servers' tools are those of tools.lock.json\n"
                                         : "nothing changed that can be approved: what is left out stays withheld\n");
    }
    print_not_active(world, active, *pack);
    return active.roles.empty() || !seen->problems.empty() ? kNo : kYes;
  }
  const auto yes = ask_operator(world, arguments, changes, *seen);
  if (!yes) return could_not(world, yes.error().text() + "; --yes approves without asking");
  if (!*yes) {
    if (as_json) print_approval(world, changes, *seen, false, {active.hash, active.roles});
    else world.print("nothing was approved\n");
    return kNo;
  }
  ToolsLock approved = **there;
  for (const auto& [name, server] : seen->lock.servers) approved.servers.insert_or_assign(name, server);
  const std::string text = text_of_file(approved), file = file_in(pack->folder).string();
  Activated activated;
  if (!pack->workflow)
    if (const int ended = activate_with(world, arguments, *client, *pack, active, text, activated); ended != kYes)
      return ended;
  if (const auto written = write_lock(world, pack->folder, text); !written)
    return could_not(world, written.error().text());
  if (as_json) {
    print_approval(world, changes, *seen, true, activated, file);
  } else {
    for (const std::string& role : activated.roles)
      world.print("sessions of the role " + role + " are held to " + activated.pack + "\n");
    world.print(file + " is written\n");
  }
  print_not_active(world, active, *pack);
  return seen->problems.empty() && (pack->workflow || !active.roles.empty()) ? kYes : kNo;
}

void add_common(Command& command, Arguments& arguments) {
  command.add_option("PACK", arguments.folder, "The folder of the pack")->required();
  add_mcp_server_options(command, arguments.servers);
}

}  // namespace

int compare_with_lock(World& world, const std::string& folder, const McpServerArguments& arguments, bool as_json) {
  const auto pack = need_pack(world, folder);
  if (!pack) return kCouldNot;
  const auto there = need_lock(*pack);
  if (!there) return could_not(world, there.error().text());
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
  examples(
      *command,
      "  baton mcp lock my-pack --name files -- npx -y @modelcontextprotocol/server-filesystem /srv\n"
      "  baton mcp lock my-pack --config servers.yaml\n"
      "  baton mcp lock my-pack --config servers.yaml --check --format json       in CI\n"
      "\nThe command starts or calls the servers, and ends them. Without --check an existing file stays as it is.\n"
      "It needs no token: the file has no effect before `baton contract activate`, which needs an operator's.\n"
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
                      "Approve for this role only, whose active pack PACK is; default: for each such role");
  add_node_options(*command, arguments->node, Presents::Operator, Changes::Something);
  examples(
      *command,
      "  baton mcp approve-changes my-pack --config servers.yaml\n"
      "  baton mcp approve-changes my-pack --name files --yes -- ./server --stdio\n"
      "\nNeeds an operator's token. Open sessions keep the definitions they began with. The command approves what\n"
      "servers changed, nothing else: it refuses a PACK whose files differ from the active pack of the role.\n"
      "Compare those with `baton contract diff`, and run `baton contract activate`.\n"
      "Exit status: 0 approved, or nothing changed; 1 not approved, or the pack is not active; 2 could not.");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return approve_changes(world, *arguments); }; });
}

}  // namespace baton::cli
