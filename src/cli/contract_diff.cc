// SPDX-License-Identifier: Apache-2.0
// baton contract diff: what becomes allowed and what becomes blocked between two packs.
#include <algorithm>

#include "base/text.h"
#include "cli/contract.h"
#include "cli/mcp.h"
#include "cli/pack.h"
#include "cli/render.h"
#include "cli/sentences.h"
#include "contract/changes.h"
#include "contract/words.h"

namespace baton::cli {
namespace {

using contract::Change;
using contract::Effect;

struct Arguments {
  std::string before, after, role, format = "human";
  bool from_mcp = false;
  McpServerArguments servers;
};

struct Group {
  Effect effect;
  std::string_view title, colour;
};
constexpr Group kGroups[] = {{Effect::Allows, "Becomes allowed", "1;32"},
                             {Effect::Blocks, "Becomes blocked, or waits for a person", "1;31"},
                             {Effect::Other, "Changes otherwise", "1"}};

// What was compared: a pack, or the workflow or a role of one.
struct Compared {
  std::string name;           // empty: the one pack there is
  std::string before, after;  // hashes
  std::vector<Change> changes;
};

void print_human(World& world, const Compared& compared) {
  SentencePrinter printer(world);
  const std::string about = compared.name.empty() ? "" : compared.name + ": ";
  if (compared.changes.empty()) {
    printer.heading(about + "nothing changes (" + compared.after + ")", "");
    return;
  }
  printer.heading(about + compared.before + " -> " + compared.after, "2");
  for (const Group& group : kGroups) {
    if (std::ranges::find(compared.changes, group.effect, &Change::effect) == compared.changes.end()) continue;
    printer.heading(group.title, group.colour);
    for (const Change& change : compared.changes) {
      if (change.effect != group.effect) continue;
      const std::string subject = change.tool.empty() ? "" : contract::quoted(change.tool) + ": ";
      printer.sentence(subject + change.text + " [" + change.field + "]");
      for (const std::string& detail : change.details) printer.sentence(detail, 1);
    }
  }
}

json::Value as_json(const Compared& compared) {
  json::Value out = json::Value::object();
  if (!compared.name.empty()) out.set("of", compared.name);
  out.set("before", compared.before);
  out.set("after", compared.after);
  out.set("same", compared.changes.empty());
  for (const Group& group : kGroups) {
    json::Value list = json::Value::array();
    for (const Change& change : compared.changes) {
      if (change.effect != group.effect) continue;
      json::Value one = json::Value::object();
      if (!change.tool.empty()) one.set("tool", change.tool);
      one.set("field", change.field);
      one.set("text", change.text);
      if (!change.details.empty()) {
        json::Value details = json::Value::array();
        for (const std::string& detail : change.details) details.push(detail);
        one.set("details", std::move(details));
      }
      list.push(std::move(one));
    }
    out.set(name_of(group.effect), std::move(list));
  }
  return out;
}

// The workflow itself and the packs of the roles that both have; nothing when it is not that both are workflows.
std::optional<std::vector<Compared>> compare_workflows(World& world, const Arguments& arguments) {
  const auto before = read_pack(world, arguments.before), after = read_pack(world, arguments.after);
  if (!before || !after || !before->workflow || !after->workflow) return std::nullopt;
  const auto was = compile_workflow(*before->workflow).plan, is = compile_workflow(*after->workflow).plan;
  if (!was || !is) return std::nullopt;
  std::vector<Compared> out = {{"workflow", was->hash, is->hash, changes_between(*was, *is)}};
  for (const contract::WorkflowRole& role : is->roles) {
    const auto found = std::ranges::find(was->roles, role.name, &contract::WorkflowRole::name);
    if (found == was->roles.end() || !found->plan || !role.plan) continue;
    out.push_back({"role " + contract::quoted(role.name), found->plan->hash, role.plan->hash,
                   changes_between(*found->plan, *role.plan)});
  }
  return out;
}

// The first word of the server's command is read as NEW: it stands where that does.
int diff_from_mcp(World& world, const Arguments& arguments) {
  McpServerArguments servers = arguments.servers;
  if (!arguments.after.empty() && (!servers.upstream.empty() || !servers.config.empty()))
    return could_not(
        world, "OLD is compared either with the pack NEW or, by --from-mcp, with what servers say now: leave out `" +
                   printable(arguments.after, 200) + "`, or --from-mcp and the servers");
  if (!arguments.after.empty()) servers.command.insert(servers.command.begin(), arguments.after);
  return compare_with_lock(world, arguments.before, servers, arguments.format == "json");
}

int diff(World& world, const Arguments& arguments) {
  if (arguments.from_mcp) return diff_from_mcp(world, arguments);
  if (arguments.after.empty()) return could_not(world, "name the pack as it is to be, NEW, or give --from-mcp");
  if (!arguments.servers.command.empty() || !arguments.servers.upstream.empty() || !arguments.servers.config.empty())
    return could_not(world, "a server goes with --from-mcp");
  std::vector<Compared> all;
  if (auto workflows = arguments.role.empty() ? compare_workflows(world, arguments) : std::nullopt) {
    all = std::move(*workflows);
  } else {
    const auto before = need_plan(world, arguments.before, arguments.role);
    if (!before) return kCouldNot;
    const auto after = need_plan(world, arguments.after, arguments.role);
    if (!after) return kCouldNot;
    all.push_back({"", before->hash, after->hash, changes_between(*before, *after)});
  }
  bool same = true;
  for (const Compared& compared : all) {
    if (&compared != &all.front() && arguments.format == "human") world.print("\n");
    if (arguments.format == "json") world.print(json::write(redacted(as_json(compared))) + "\n");
    else print_human(world, compared);
    same = same && compared.changes.empty();
  }
  return same ? kYes : kNo;
}

}  // namespace

void add_contract_diff(Command& contract, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = contract.add_subcommand("diff", "What becomes allowed, what becomes blocked");
  command->add_option("OLD", arguments->before, "The folder of the pack as it was")->required();
  command->add_option("NEW", arguments->after, "The folder of the pack as it is to be");
  command->add_flag(
      "--from-mcp", arguments->from_mcp,
      "Compare the tools.lock.json of OLD with what MCP servers say now: -- COMMAND, --upstream or --config");
  add_mcp_server_options(*command, arguments->servers);
  command->add_option("--role", arguments->role, "Of workflows: only the packs of this role");
  command->add_option("--format", arguments->format, "human, or json (a line for each pack or comparison)")
      ->one_of({"human", "json"});
  examples(
      *command,
      "  baton contract diff old-pack my-pack             0 nothing changes, 1 something does\n"
      "  git worktree add ../before main && baton contract diff ../before/pack pack\n"
      "  baton contract diff old-pack my-pack --format json\n"
      "  baton contract diff my-pack --from-mcp --name files -- npx -y @modelcontextprotocol/server-filesystem /srv\n"
      "\nExit status: 0 nothing changes, 1 something does, 2 could not tell.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return diff(world, *arguments); }; });
}

}  // namespace baton::cli
