// SPDX-License-Identifier: Apache-2.0
// baton contract activate: makes a pack usable by its hash, for a role; or a workflow with the packs of its roles. The files themselves
// are recorded.
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "cli/client.h"
#include "cli/contract.h"
#include "cli/pack.h"
#include "json/parse.h"
#include "runtime/packs.h"

namespace baton::cli {
namespace {

struct Arguments {
  NodeOptions node;
  std::string pack, role, hash;
};

// Files are known by their names in the pack, wherever it lies.
void shorten(contract::SourceFile& file) {
  const auto slash = file.name.rfind('/');
  if (slash != std::string::npos) file.name.erase(0, slash + 1);
}

void shorten(contract::PackSource& pack) {
  for (contract::SourceFile& file : pack.contracts) shorten(file);
  if (pack.session) shorten(*pack.session);
  if (pack.tools) shorten(*pack.tools);
  if (pack.tools_lock) shorten(*pack.tools_lock);
}

json::Value value_of(const std::string& text) { return json::Value::copy(json::parse_owned(text)->root()); }

// Where the files lie, so that agents are kept from them. Empty where more than the pack lies there (a project), or its name is no text.
std::string own_folder(const std::string& pack) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::weakly_canonical(pack, error);
  if (error || !std::filesystem::is_directory(folder, error) || folder == folder.root_path()) return {};
  for (const char* of_a_project : {".git", ".baton"})
    if (std::filesystem::exists(folder / of_a_project, error)) return {};
  const std::string out = folder.string();
  return find_invalid_utf8(out) == out.size() ? out : std::string();
}

// The whole workflow, or one pack.
struct Activation {
  json::Value body = json::Value::object();
  bool whole = false;
};
Result<Activation> activation_in(const PackFolder& folder, const std::string& path, const std::string& role,
                                 const std::string& hash) {
  Activation out;
  if (!hash.empty()) out.body.set("hash", hash);
  if (const std::string place = own_folder(path); !place.empty()) out.body.set("folder", place);
  out.whole = folder.workflow && role.empty();
  if (out.whole) {
    contract::WorkflowSource workflow = *folder.workflow;
    shorten(workflow.workflow);
    for (auto& [name, pack] : workflow.packs) shorten(pack);
    out.body.set("workflow", value_of(runtime::workflow_text(workflow)));
    return out;
  }
  contract::PackSource pack = folder.pack;
  if (folder.workflow) {
    const auto found = folder.workflow->packs.find(role);
    if (found == folder.workflow->packs.end())
      return failure("reading the pack",
                     printable(path, 200) + " is a workflow without a role `" + printable(role, 60) + "`");
    pack = found->second;
  }
  shorten(pack);
  if (!role.empty()) out.body.set("role", role);
  out.body.set("pack", value_of(runtime::pack_text(pack)));
  return out;
}

Result<Activation> read_activation(World& world, const std::string& path, const std::string& role,
                                   const std::string& hash) {
  const auto folder = read_pack(world, path);
  if (!folder) return tl::make_unexpected(folder.error());
  return activation_in(*folder, path, role, hash);
}

int activate(World& world, const Arguments& arguments) {
  const auto activation = read_activation(world, arguments.pack, arguments.role, arguments.hash);
  if (!activation) return could_not(world, activation.error());
  const bool whole = activation->whole;
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->post("/v1/packs", activation->body), [&](json::Node root) {
    if (whole)
      world.print("workflows of the name " + shown(root["agent"]) + " are held to " + shown(root["pack"]) + "\n");
    else
      world.print("sessions of the role " + shown(root["role"]) + " are held to " + shown(root["pack"]) + " (" +
                  shown(root["agent"]) + ")\n");
  });
}

}  // namespace

Result<json::Value> activation_of(World& world, const std::string& folder, const std::string& role,
                                  const std::string& hash) {
  auto activation = read_activation(world, folder, role, hash);
  if (!activation) return tl::make_unexpected(activation.error());
  return std::move(activation->body);
}

Result<json::Value> activation_of(const PackFolder& folder, const std::string& role, const std::string& hash) {
  auto activation = activation_in(folder, folder.folder, role, hash);
  if (!activation) return tl::make_unexpected(activation.error());
  return std::move(activation->body);
}

void add_contract_activate(Command& contract, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = contract.add_subcommand(
      "activate", "Make a pack the one that sessions of a role are held to, or a workflow one that can be started");
  command->add_option("PACK", arguments->pack, "The folder of the pack, or of the workflow")->required();
  command->add_option("--role", arguments->role,
                      "The role; default: agent. Of a workflow: this one of its packs alone");
  command->add_option("--hash", arguments->hash, "Only if the pack has this hash (`baton contract show` gives it)");
  add_node_options(*command, arguments->node, Presents::Operator, Changes::Something);
  examples(*command,
           "  baton contract activate contracts/\n"
           "  baton contract activate contracts/ --role refunds --hash sha256:7d3f...\n"
           "  baton contract activate release-train/         a folder with a workflow.yaml: all of it\n"
           "\nTakes an operator's token. Sessions that are open keep the pack they began with.\n"
           "Exit status: 0 it is active, 1 refused, 2 could not.");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return activate(world, *arguments); }; });
}

}  // namespace baton::cli
