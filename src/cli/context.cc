// SPDX-License-Identifier: Apache-2.0
// baton context: what sessions have written for those after them.
#include <memory>

#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/render.h"
#include "cli/table.h"

namespace baton::cli {
namespace {

struct Arguments {
  NodeOptions node;
  std::string section;
  std::uint32_t limit = 20;
};

std::string labels_of(json::Node node) {
  std::vector<std::string> labels;
  for (const json::Node label : node["labels"].elements()) labels.push_back(shown(label, 64));
  return join(labels, ",");
}

int list(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->get("/v1/context"), [&](json::Node root) {
    if (root["sections"].is_array() && root["sections"].size() == 0) return world.print("nothing was written yet\n");
    Table table(world.colour);
    for (const json::Node section : root["sections"].elements())
      table.row({{shown(section["section"], 128), "1"},
                 {shown(section["version"], 24)},
                 {shown(section["changed_at"], 64), "2"},
                 {shown(section["author"], 64)},
                 {labels_of(section)}});
    table.heading({"SECTION", "VERSION", "CHANGED", "AUTHOR", "LABELS"});
    world.print(table.text());
  });
}

int show(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->get("/v1/context/" + url_part(arguments.section)), [&](json::Node root) {
    std::string out = painted(shown(root["section"], 128), "1", world.colour) + " version " +
                      shown(root["version"], 24) + ", " + shown(root["changed_at"], 64) + " by " +
                      shown(root["author"], 64);
    if (const std::string work = shown(root["work_id"], 64); !work.empty()) out += " for " + work;
    if (const std::string labels = labels_of(root); !labels.empty()) out += ", labels " + labels;
    out += "\n" + data_lines(root);
    // JSON escapes control characters by itself; the rest is somebody's text.
    const std::string value = json::write_pretty(redacted(json::Value::copy(root["value"])));
    for (const std::string_view line : split(value, '\n')) out += printable(line) + "\n";
    world.print(out);
  });
}

int history(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  const std::string path =
      "/v1/context/" + url_part(arguments.section) + "/history?limit=" + std::to_string(arguments.limit);
  return tell(world, arguments.node, client->get(path), [&](json::Node root) {
    Table table(world.colour);
    for (const json::Node version : root["versions"].elements())
      table.row({{shown(version["version"], 24), "1"},
                 {shown(version["changed_at"], 64), "2"},
                 {shown(version["author"], 64)},
                 {shown(version["work_id"], 64)},
                 {shown(version["value"], 100), "2"}});
    table.heading({"VERSION", "CHANGED", "AUTHOR", "WORK", "VALUE"});
    world.print(table.text());
  });
}

}  // namespace

void add_context(Command& app, Action& chosen) {
  Command* context = app.add_subcommand("context", "What sessions have written for those after them");
  context->require_subcommand(1);
  examples(*context, "  baton context list\n  baton context show findings\n  baton context history findings --limit 5");
  using Run = int (*)(World&, const Arguments&);
  struct Row {
    const char *name, *help, *example;
    Run run;
  };
  static constexpr Row kRows[] = {
      {"list", "All sections", "  baton context list --format json", list},
      {"show", "One section as it is now",
       "  baton context show findings\n\nExit status: 0 shown, 1 there is none, 2 could not.", show},
      {"history", "Its versions, the newest first",
       "  baton context history findings --limit 5\n\nExit status: 0 shown, 1 there is none, 2 could not.", history},
  };
  for (const Row& row : kRows) {
    auto arguments = std::make_shared<Arguments>();
    Command* command = context->add_subcommand(row.name, row.help);
    if (row.run != list) command->add_option("SECTION", arguments->section, "Its name")->required();
    if (row.run == history) command->add_option("--limit", arguments->limit, "At most so many")->capture_default_str();
    add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
    examples(*command, row.example);
    command->callback([arguments, &row, &chosen] {
      chosen = [arguments, &row](World& world) { return row.run(world, *arguments); };
    });
  }
}

}  // namespace baton::cli
