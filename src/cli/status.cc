// SPDX-License-Identifier: Apache-2.0
// baton status and baton stop: the node itself.
#include <memory>

#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/work.h"

namespace baton::cli {
namespace {

struct Arguments {
  NodeOptions node;
};

// Nobody is there: that is the answer.
int none_runs(World& world, const Arguments& arguments, const Client& client) {
  if (arguments.node.json()) {
    json::Value out = json::Value::object();
    out.set("running", false);
    out.set("place", client.place());
    world.print(json::write(out) + "\n");
  } else {
    world.print("no node runs at " + printable(client.place(), 400) + "\n");
  }
  return kNo;
}

void print_held(World& world, const std::vector<ShownWork>& held) {
  if (held.empty()) return;
  const Time now = world.clock.now();
  Table table(world.colour);
  for (const ShownWork& item : held) {
    const std::string left = item.held_until ? age_text(now, *item.held_until) : "";
    table.row({{"  " + item.holder},
               {item.id, "1"},
               {item.phase},
               {item.state == "parked" ? "waits for " + item.waits_for
                : left == "now"        ? "is over"
                                       : left + " left",
                "2"},
               {item.title, "2"}});
  }
  world.print("\nheld\n" + table.text());
}

// Coding agents that are wired to the store: {"adoptions": [...]}. Looking has the node record what is new. Null: a node that knows of none.
json::Value adoptions_of(Client& client) {
  const auto answer = client.post_once("/v1/adoptions", json::Value::object());
  if (!answer || !answer->ok() || !answer->root()["adoptions"].is_array()) return {};
  return json::Value::copy(answer->root()["adoptions"]);
}

bool is_whole(const json::Value& adoption) {
  const json::Value* whole = adoption.find("whole");
  return whole != nullptr && whole->kind() == json::Kind::Boolean && whole->boolean();
}
// Is nothing recorded, because the store was restored or cut?
bool is_behind(json::Node status) { return status["ledger"]["behind"].is_array(); }

int status_of(json::Node status, const json::Value& adoptions) {
  if (is_behind(status)) return kNo;
  if (!adoptions.is_array()) return kYes;
  for (const json::Value& one : adoptions.elements())
    if (!is_whole(one)) return kNo;
  return kYes;
}

void print_adoptions(World& world, const json::Value& adoptions) {
  if (!adoptions.is_array() || adoptions.elements().empty()) return;
  const auto text = [](const json::Value& of, std::string_view name) {
    const json::Value* found = of.find(name);
    return found != nullptr && found->is_string() ? printable(found->string(), 400) : std::string();
  };
  std::string out = "\nadopted\n";
  for (const json::Value& one : adoptions.elements()) {
    const bool whole = is_whole(one);
    out += "  " + painted(fitted(text(one, "client"), 15), "1", world.colour) + text(one, "project") + "  " +
           (whole ? painted("whole", "32", world.colour) : painted("not whole", "31", world.colour)) + "\n";
    for (const auto& [name, word] :
         {std::pair("findings", "not as it was wired: "), {"unreadable", "cannot be told: "}})
      if (const json::Value* lines = one.find(name); lines != nullptr && lines->is_array())
        for (const json::Value& line : lines->elements())
          out += "                 " + painted(word, "31", world.colour) + printable(line.string(), 400) + "\n";
    if (!whole)
      out += "                 `baton adopt " + text(one, "client") +
             "` in that folder wires it again, `--undo` takes it out\n";
  }
  world.print(out);
}

// Open sessions that somebody should look at: of the first few hundred.
void print_alarms(World& world, Client& client) {
  const auto answer = client.get("/v1/sessions?standing=open&limit=500");
  if (!answer || !answer->ok()) return;
  std::string out;
  for (const json::Node session : (*answer)["sessions"].elements()) {
    const std::string id = "  " + shown(session["id"]) + "  ";
    if (session["paused_because"])
      out += id + "paused: " + shown(session["paused_because"], 80) + " (`baton session resume`)\n";
    if (session["unhooked_calls"])
      out += id + shown(session["unhooked_calls"]) + " calls were made past Baton (unhooked_call)\n";
  }
  if (!out.empty()) world.print("\nalarms\n" + out);
}

int status(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token, Client::Start::Never);
  if (!client) return could_not(world, client.error());
  const auto answer = client->get("/v1/status");
  if (!answer && answer.error().code == "NODE_UNREACHABLE") return none_runs(world, arguments, *client);
  if (!answer) return could_not(world, answer.error());
  if (!answer->ok()) return refused(world, arguments.node, *answer);
  const json::Value adoptions = adoptions_of(*client);
  if (arguments.node.json()) {
    json::Value out = json::Value::copy(answer->root());
    out.set("running", true);
    out.set("adoptions", adoptions.is_array() ? adoptions : json::Value::array());
    world.print(json::write(out) + "\n");
    return status_of(answer->root(), adoptions);
  }
  const json::Node root = answer->root();
  std::vector<ShownWork> held;
  const auto refusal = for_each_work(*client, "", [&](json::Node work) {
    if (work["lease"].is_object()) held.push_back(shown_work(work));
  });
  if (!refusal) return could_not(world, refusal.error());
  std::string out = painted("a node runs", "32", world.colour) + " at " + printable(client->place(), 400) + "\n";
  const auto line = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) out += "  " + painted(fitted(name, 15), "2", world.colour) + text + "\n";
  };
  line("version", shown(root["version"], 64));
  line("process", shown(root["node"]["pid"], 24));
  line("store", shown(root["store"], 400));
  line("ledger", shown(root["ledger"]["origin"], 200) + ", " + shown(root["ledger"]["size"], 24) + " entries");
  line("up", shown(root["uptime_seconds"], 24) + " s");
  if (const json::Node disk = root["disk"])
    line("disk", (disk["free_bytes"] ? shown(disk["free_bytes"], 24) + " bytes free" : std::string("not known")) +
                     (disk["low"].is_true() ? painted(", less than the " + shown(disk["floor_bytes"], 24) +
                                                          " that must be: the node begins no work (STORE_DISK_LOW)",
                                                      "31", world.colour)
                                            : ""));
  line("exit protocol", root["exit_protocol"].is_true() ? "on" : "off");
  std::vector<std::string> phases, sessions;
  for (const json::Member phase : root["work"].members())
    if (const std::string count = shown(phase.value, 24); count != "0")
      phases.push_back(count + " " + printable(phase.name(), 32));
  for (const json::Member state : root["sessions"].members())
    if (const std::string count = shown(state.value, 24); count != "0")
      sessions.push_back(count + " " + printable(state.name(), 32));
  line("work", phases.empty() ? "none" : join(phases, ", "));
  line("sessions", join(sessions, ", "));
  for (const json::Node one : root["ledger"]["behind"].elements())
    out += painted("the store was restored or cut", "31", world.colour) + ": " + shown(one["problem"], 400) + "\n";
  if (is_behind(root))
    out +=
        "  nothing is recorded, so nothing is allowed, until an operator has put back the newest store or accepted "
        "this "
        "one (LEDGER_BEHIND)\n";
  world.print(out);
  print_held(world, held);
  print_alarms(world, *client);
  print_adoptions(world, adoptions);
  return status_of(root, adoptions);
}

int stop(World& world, const Arguments& arguments) {
  // A node that a client started is stopped by its own user; only for others the operator's token is looked for.
  auto client = Client::open(world, arguments.node, Presents::Token, Client::Start::Never);
  if (!client) return could_not(world, client.error());
  auto answer = client->post("/v1/stop", json::Value::object());
  if (!answer && answer.error().code == "NODE_UNREACHABLE") return none_runs(world, arguments, *client);
  if (answer && (answer->status == 401 || answer->status == 403)) {
    auto as_operator = Client::open(world, arguments.node, Presents::Operator, Client::Start::Never);
    if (!as_operator) return could_not(world, as_operator.error());
    answer = as_operator->post("/v1/stop", json::Value::object());
  }
  return tell(world, arguments.node, answer, [&](json::Node) { world.print("the node ends\n"); });
}

}  // namespace

void add_status(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("status", "Does a node run, of what store, and who holds what?");
  add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
  examples(*command,
           "  baton status\n  baton status --node https://baton.example.org:7070 --token-file t --format json\n"
           "\nStarts no node. Exit status: 0 one runs, 1 none, or a coding agent that was adopted is no longer wired "
           "as it was,\n"
           "or the store was restored or cut and nobody has accepted it, 2 could not tell.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return status(world, *arguments); }; });
}

void add_stop(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("stop", "Ask the node to end; the next command that needs one starts it again");
  add_node_options(*command, arguments->node, Presents::Operator, Changes::Nothing);
  examples(
      *command,
      "  baton stop                    after config.yaml was changed: it is read at the start\n"
      "\nTakes an operator's token, unless a client started the node. Exit status: 0 it ends, 1 none runs or refused, "
      "2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return stop(world, *arguments); }; });
}

}  // namespace baton::cli
