// SPDX-License-Identifier: Apache-2.0
// baton work create, list, show.
#include <memory>

#include "base/limits.h"
#include "base/text.h"
#include "cli/input.h"
#include "cli/work.h"
#include "secrets/detector.h"

namespace baton::cli {
namespace {

struct CreateArguments {
  NodeOptions node;
  std::string title, id, text, text_file, phase, pr, commit;
  std::optional<int> priority;
  std::vector<std::string> depends_on, labels;
};

json::Value texts(const std::vector<std::string>& list) {
  json::Value out = json::Value::array();
  for (const std::string& text : list) out.push(text);
  return out;
}

int create(World& world, const CreateArguments& arguments) {
  json::Value body = json::Value::object();
  const auto set = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) body.set(name, text);
  };
  set("id", arguments.id);
  body.set("title", arguments.title);
  set("text", arguments.text);
  if (!arguments.text_file.empty()) {
    auto text = read_document(world, arguments.text_file, limits::kCliDocumentBytesMax);
    if (!text) return could_not(world, text.error());
    body.set("text", std::move(*text));
  }
  set("phase", arguments.phase);
  if (arguments.priority) body.set("priority", *arguments.priority);
  if (!arguments.depends_on.empty()) body.set("depends_on", texts(arguments.depends_on));
  if (!arguments.labels.empty()) body.set("labels", texts(arguments.labels));
  set("pr_url", arguments.pr);
  set("commit", arguments.commit);
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->post("/v1/work", body),
              [&](json::Node root) { world.print(work_line(root["work"], world.colour) + receipt_text(root) + "\n"); });
}

// --- list ------------------------------------------------------------------------------------------------------------

struct ListArguments {
  NodeOptions node;
  std::vector<std::string> phases;
};

int list(World& world, const ListArguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  const Time now = world.clock.now();
  Table table(world.colour);
  std::size_t count = 0;
  const auto take = [&](json::Node work) {
    ++count;
    if (arguments.node.json()) return world.print(json::write(work) + "\n");
    const ShownWork item = shown_work(work);
    const std::string state = item.waits_for.empty() ? item.state : item.state + ", waits for " + item.waits_for;
    const bool over = item.state == "completed" || item.state == "aborted";
    table.row({{item.id, "1"},
               {item.phase},
               {state, state_colour(item.state)},
               {item.priority},
               {item.waiting_since ? age_text(*item.waiting_since, now) : "", "2"},
               {item.holder},
               {item.title, over ? "2" : ""}});
  };
  const std::vector<std::string> all = {""};
  for (const std::string& phase : arguments.phases.empty() ? all : arguments.phases) {
    const auto refusal = for_each_work(*client, phase, take);
    if (!refusal) return could_not(world, refusal.error());
    if (*refusal) return refused(world, arguments.node, **refusal);
  }
  if (arguments.node.json()) return kYes;
  if (count == 0) {
    world.print("nothing is to be done\n");
    return kYes;
  }
  table.heading({"ID", "PHASE", "STATE", "PRIORITY", "AGE", "HOLDER", "TITLE"});
  world.print(table.text());
  return kYes;
}

// --- show ------------------------------------------------------------------------------------------------------------

struct ShowArguments {
  NodeOptions node;
  std::string id;
};

// The members of an item that are shown as they are, and how they are called.
constexpr std::pair<std::string_view, std::string_view> kShown[] = {
    {"phase", "phase"},           {"state", "state"},
    {"priority", "priority"},     {"created_at", "created"},
    {"created_by", "by"},         {"attempts", "attempts"},
    {"implementer", "done by"},   {"pr_url", "pull request"},
    {"head_sha", "commit"},       {"waits_for", "waits for"},
    {"question", "question"},     {"answer", "answer"},
    {"blocked_in", "blocked in"}, {"blocked_because", "because"}};

// As it is, on as many lines: last words of an agent, for instance. Those after the first are indented like it.
std::string shown_lines(json::Node node) {
  std::string text = secrets::redact(text_of(node));
  while (text.ends_with('\n')) text.pop_back();
  std::string out;
  for (const std::string_view row : split(text, '\n'))
    out += (out.empty() ? "" : "\n" + std::string(15, ' ')) + printable(row);
  return out;
}

std::string list_text(json::Node list) {
  std::vector<std::string> out;
  for (const json::Node element : list.elements()) out.push_back(shown(element, 200));
  return join(out, ", ");
}

int show(World& world, const ShowArguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->get("/v1/work/" + url_part(arguments.id)), [&](json::Node root) {
    const json::Node work = root["work"];
    std::string out = painted(shown(work["id"], 64), "1", world.colour) + "  " +
                      painted(shown(work["title"], 200), "1", world.colour) + "\n";
    const auto line = [&](std::string_view name, const std::string& text) {
      if (!text.empty()) out += "  " + painted(fitted(name, 13), "2", world.colour) + text + "\n";
    };
    for (const auto& [member, name] : kShown) {
      const std::string text = shown_lines(work[member]);
      line(name, member == "state" ? painted(text, state_colour(text), world.colour) : text);
    }
    if (const json::Node lease = work["lease"]; lease.is_object()) {
      const std::string parked = shown(lease["parked_until"], 64);
      line("held by", shown(lease["holder"], 200) + " until " +
                          (parked.empty() ? shown(lease["expires_at"], 64) : parked + ", parked") + ", fence " +
                          shown(lease["fence"], 24));
      line("session", shown(lease["session_id"], 200));
    }
    if (const json::Node offer = work["offer"]; offer.is_object())
      line("offered to", shown(offer["to"], 200) + " until " + shown(offer["until"], 64));
    line("depends on", list_text(work["depends_on"]));
    line("labels", list_text(work["labels"]));
    for (const json::Member check : work["checks"].members())
      line("check", printable(check.name(), 200) + ": " + shown(check.value, 64));
    const std::string about = data_lines(work);
    for (const std::string_view row : split(about, '\n'))
      if (!row.empty()) out += "  " + std::string(row) + "\n";
    if (const std::string text = text_of(work["text"]); !text.empty()) {
      out += "\n";
      for (const std::string_view row : split(text, '\n')) out += "  " + printable(row) + "\n";
    }
    out += "\n  " +
           painted("what happened to it: baton ledger show --stream work/" + shown(work["id"], 64), "2", world.colour) +
           "\n";
    world.print(out);
  });
}

}  // namespace

void add_work_create(Command& work, Action& chosen) {
  auto arguments = std::make_shared<CreateArguments>();
  Command* command = work.add_subcommand("create", "Something to be done");
  command->add_option("TITLE", arguments->title, "What it is, in a line")->required();
  command->add_option("--id", arguments->id, "Its name; default: W-1, W-2, ...");
  auto* text = command->add_option("--text", arguments->text, "All that is to be said about it");
  command->add_option("--text-file", arguments->text_file, "The same from a file; - reads standard input")
      ->excludes(text);
  command->add_option("--phase", arguments->phase, "Where it begins; default: DRAFT")->one_of(phase_names());
  command->add_option("--priority", arguments->priority, "0 to 9, 9 the most urgent; default: 5");
  command->add_option("--depends-on", arguments->depends_on, "An item that must be COMPLETED first; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--label", arguments->labels, "A label; may be repeated")->allow_extra_args(false);
  command->add_option("--pr", arguments->pr, "The address of its pull request");
  command->add_option("--commit", arguments->commit, "The head of its pull request");
  add_node_options(*command, arguments->node, Presents::Token, Changes::Something);
  examples(*command,
           "  baton work create 'Mend the tide table' --phase IMPLEMENTATION --priority 7\n"
           "  baton work create 'Publish it' --id W-publish --depends-on W-1 --label release\n"
           "\nExit status: 0 created, 1 refused, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return create(world, *arguments); }; });
}

void add_work_list(Command& work, Action& chosen) {
  auto arguments = std::make_shared<ListArguments>();
  Command* command = work.add_subcommand("list", "All work items, one a line");
  command->add_option("--phase", arguments->phases, "Only those in this phase; may be repeated")
      ->allow_extra_args(false)
      ->one_of(phase_names());
  add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
  examples(*command,
           "  baton work list\n  baton work list --phase BLOCKED --format json\n"
           "\nJSON is one item a line. Exit status: 0 listed, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return list(world, *arguments); }; });
}

void add_work_show(Command& work, Action& chosen) {
  auto arguments = std::make_shared<ShowArguments>();
  Command* command = work.add_subcommand("show", "One work item in full");
  command->add_option("ID", arguments->id, "Its name")->required();
  add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
  examples(*command, "  baton work show W-1\n\nExit status: 0 shown, 1 there is none, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return show(world, *arguments); }; });
}

}  // namespace baton::cli
