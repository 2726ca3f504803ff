// SPDX-License-Identifier: Apache-2.0
// baton contract show: what a pack allows, in sentences.
#include "base/text.h"
#include "cli/contract.h"
#include "cli/pack.h"
#include "cli/render.h"
#include "cli/sentences.h"
#include "contract/describe.h"
#include "contract/words.h"

namespace baton::cli {
namespace {

struct Arguments {
  std::string pack = ".", tool, role, format = "human";
};

int show_json(World& world, const contract::Plan& plan, const contract::Tool* tool) {
  json::Value out = json::Value::object();
  out.set("hash", plan.hash);
  if (tool != nullptr) out.set("tool", contract::described(*tool, plan));
  else out.set("plan", contract::described(plan));
  world.print(json::write_pretty(redacted(out)) + "\n");
  return kYes;
}

int show(World& world, const Arguments& arguments) {
  const auto plan = need_plan(world, arguments.pack, arguments.role);
  if (!plan) return kCouldNot;
  const contract::Tool* tool = nullptr;
  if (!arguments.tool.empty()) {
    const auto id = plan->find_tool(arguments.tool);
    if (!id) return could_not(world, "the pack has no tool `" + printable(arguments.tool, 128) + "`");
    tool = &plan->tools[*id];
  }
  if (arguments.format == "json") return show_json(world, *plan, tool);

  SentencePrinter printer(world);
  if (tool == nullptr) {
    printer.heading(contract::quoted(plan->agent.empty() ? "(an agent without a name)" : plan->agent) + ", " +
                    plan->hash);
    for (const contract::Paragraph& paragraph : contract::words_of_session(*plan)) {
      printer.heading(paragraph.title);
      for (const std::string& sentence : paragraph.sentences) printer.sentence(sentence);
    }
  }
  for (const contract::Tool& one : plan->tools) {
    if (tool != nullptr && &one != tool) continue;
    const contract::Paragraph paragraph = contract::words_of(one, *plan);
    printer.heading(paragraph.title);
    for (const std::string& sentence : paragraph.sentences) printer.sentence(sentence);
  }
  return kYes;
}

}  // namespace

void add_contract_show(Command& contract, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = contract.add_subcommand("show", "What a pack allows, in plain English");
  command->add_option("PACK", arguments->pack, "The folder of the pack (default: this one)");
  command->add_option("--tool", arguments->tool, "Only this tool");
  command->add_option("--role", arguments->role, "Of a workflow: the pack of this role");
  command->add_option("--format", arguments->format, "human, or json: the plan as data, with its hash")
      ->one_of({"human", "json"});
  examples(*command,
           "  baton contract show my-pack\n"
           "  baton contract show my-pack --tool issue_refund\n"
           "  baton contract show my-pack --format json");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return show(world, *arguments); }; });
}

}  // namespace baton::cli
