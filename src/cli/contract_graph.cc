// SPDX-License-Identifier: Apache-2.0
// baton contract graph: a pack as a drawing.
#include "cli/contract.h"
#include "cli/pack.h"
#include "contract/draw.h"
#include "secrets/detector.h"

namespace baton::cli {
namespace {

struct Arguments {
  std::string pack = ".", role, format = "text";
};

int graph(World& world, const Arguments& arguments) {
  const auto plan = need_plan(world, arguments.pack, arguments.role);
  if (!plan) return kCouldNot;
  const std::string drawing = arguments.format == "dot"   ? contract::draw_dot(*plan)
                              : arguments.format == "svg" ? contract::draw_svg(*plan)
                                                          : contract::draw_text(*plan, world.colour);
  world.print(secrets::redact(drawing));
  return kYes;
}

}  // namespace

void add_contract_graph(Command& contract, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = contract.add_subcommand("graph", "Draw the phases and the tools that move between them");
  command->add_option("PACK", arguments->pack, "The folder of the pack (default: this one)");
  command->add_option("--role", arguments->role, "Of a workflow: the pack of this role");
  command->add_option("--format", arguments->format, "text (for a terminal), dot (for Graphviz) or svg")
      ->one_of({"text", "dot", "svg"});
  examples(*command,
           "  baton contract graph my-pack\n"
           "  baton contract graph my-pack --format svg > pack.svg\n"
           "  baton contract graph my-pack --format dot | dot -Tpdf -o pack.pdf");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return graph(world, *arguments); }; });
}

}  // namespace baton::cli
