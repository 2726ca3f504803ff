// SPDX-License-Identifier: Apache-2.0
// baton work unblock, answer, abort, ci: what people and CI do with an item. One table: each is one change with some
// texts.
#include <array>
#include <memory>

#include "base/text.h"
#include "cli/work.h"

namespace baton::cli {
namespace {

struct TextOption {
  const char* name;    // on the command line
  const char* member;  // in the request
  const char* help;
  bool required = false;
  bool is_phase = false;
};

struct Change {
  const char* name;  // of the command, and of the route
  const char* help;
  const char* examples;
  std::array<TextOption, 3> options;
};

constexpr Change kChanges[] = {
    {"unblock",
     "Put a BLOCKED item back into work",
     "  baton work unblock W-1\n  baton work unblock W-1 --to DRAFT --note 'begin again'\n"
     "\nTakes an operator's token. Exit status: 0 done, 1 refused, 2 could not.",
     {{{"--to", "to", "The phase, the one it was blocked in or an earlier one; default: where it makes sense to go on",
        false, true},
       {"--note", "note", "What whoever takes it should know"},
       {}}}},
    {"answer",
     "Answer what an item waits for",
     "  baton work answer W-1 --text 'chart datum'\n"
     "\nTakes an operator's token. Exit status: 0 done, 1 refused, 2 could not.",
     {{{"--text", "text", "The answer; the session that asked is given it", true}, {}, {}}}},
    {"abort",
     "Close an item for good, whatever its phase",
     "  baton work abort W-1 --reason 'no longer wanted'\n"
     "\nTakes an operator's token. Exit status: 0 done, 1 refused, 2 could not.",
     {{{"--reason", "reason", "Why, for the record", true}, {}, {}}}},
    {"ci",
     "Report what CI found",
     "  baton work ci W-1 --result success --commit \"$(git rev-parse HEAD)\"\n"
     "  baton work ci W-1 --result failure --check unit-tests\n"
     "\nTakes a token of kind ci or operator. Exit status: 0 taken, 1 it changes nothing or was refused, 2 could not.",
     {{{"--result", "result", "success, or any other conclusion, such as failure", true},
       {"--check", "check", "The check's name, where the workspace lists required ones"},
       {"--commit", "commit", "The commit it is about"}}}},
};

struct Arguments {
  NodeOptions node;
  std::string id;
  std::array<std::string, 3> texts;
};

int act(World& world, const Change& change, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  json::Value body = json::Value::object();
  for (std::size_t at = 0; at < change.options.size(); ++at)
    if (change.options[at].name != nullptr && !arguments.texts[at].empty())
      body.set(change.options[at].member, arguments.texts[at]);
  const auto answer = client->post("/v1/work/" + url_part(arguments.id) + "/" + change.name, body);
  const bool ignored = answer && answer->ok() && (*answer)["ignored"];
  const int status = tell(world, arguments.node, answer, [&](json::Node root) {
    if (ignored) world.print("ignored: " + shown(root["ignored"], 400) + "\n");
    else world.print(work_line(root["work"], world.colour) + receipt_text(root) + "\n");
  });
  return ignored ? kNo : status;
}

void add_change(Command& work, Action& chosen, std::string_view name) {
  for (const Change& change : kChanges) {
    if (change.name != name) continue;
    auto arguments = std::make_shared<Arguments>();
    Command* command = work.add_subcommand(change.name, change.help);
    command->add_option("ID", arguments->id, "The item")->required();
    for (std::size_t at = 0; at < change.options.size(); ++at) {
      const TextOption& option = change.options[at];
      if (option.name == nullptr) continue;
      Option* added = command->add_option(option.name, arguments->texts[at], option.help);
      if (option.required) added->required();
      if (option.is_phase) added->one_of(phase_names());
    }
    add_node_options(*command, arguments->node, Presents::Operator, Changes::Something);
    examples(*command, change.examples);
    command->callback([arguments, &change, &chosen] {
      chosen = [arguments, &change](World& world) { return act(world, change, *arguments); };
    });
  }
}

}  // namespace

void add_work_unblock(Command& work, Action& chosen) { add_change(work, chosen, "unblock"); }
void add_work_answer(Command& work, Action& chosen) { add_change(work, chosen, "answer"); }
void add_work_abort(Command& work, Action& chosen) { add_change(work, chosen, "abort"); }
void add_work_ci(Command& work, Action& chosen) { add_change(work, chosen, "ci"); }

}  // namespace baton::cli
