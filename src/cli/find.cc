// SPDX-License-Identifier: Apache-2.0
// baton find: the handoff in an agent's output or transcript.
#include "checker/locate.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/render.h"
#include "dialects/agent_contract/contract.h"

namespace baton::cli {
namespace {

struct Arguments {
  std::string dialect = "auto", file = "-";
};

int find(World& world, const Arguments& arguments) {
  std::optional<Dialect> dialect;
  if (arguments.dialect != "auto") dialect = find_dialect(arguments.dialect);
  checker::Locator locator(dialect);
  const auto read = read_stream(world, arguments.file, [&](std::string_view piece) { locator.feed(piece); });
  if (!read) return could_not(world, read.error().text());
  const auto located = locator.end();
  if (!located) {
    world.print_error("baton: no handoff found in " + source_name(arguments.file) + "\n");
    return kNo;
  }
  world.print_error(render_human(located->warnings, source_name(arguments.file), {}, world.colour_errors));
  // A contract is printed in its fence: without it, it is none.
  if (located->dialect == Dialect::AgentContract) world.print(agent_contract::in_fence(located->document));
  else world.print(located->document + "\n");
  return kYes;
}

}  // namespace

void add_find(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("find", "Print the handoff found in an agent's output or transcript");
  std::vector<std::string> dialects = dialect_names();
  dialects.insert(dialects.begin(), "auto");
  command->add_option("--dialect", arguments->dialect, "Look for this dialect only")
      ->one_of(dialects)
      ->capture_default_str();
  command->add_option("FILE", arguments->file, "A file; - or none reads standard input");
  examples(*command,
           "  baton find build.log                    the last handoff in plain output, fenced or not\n"
           "  baton find --dialect agent-exit session.jsonl\n"
           "                                          in the last message of a Claude Code or Codex transcript\n"
           "\nThe output is read as a stream in bounded memory, however large. Found does not mean valid: pipe it into "
           "baton check.\n"
           "Exit status: 0 found, 1 none, 2 could not read.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return find(world, *arguments); }; });
}

}  // namespace baton::cli
