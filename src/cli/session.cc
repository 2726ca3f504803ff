// SPDX-License-Identifier: Apache-2.0
// baton session: governed sessions as they are, and what an operator does with them.
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/events.h"
#include "cli/input.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/workflow.h"
#include "json/parse.h"

namespace baton::cli {
namespace {

// --- open --------------------------------------------------------------------------------------------------------------

struct OpenArguments {
  NodeOptions node;
  std::string pack, role, mode, gate, principal;
  std::vector<std::string> labels, unwrapped;
};

int open(World& world, const OpenArguments& arguments) {
  json::Value body = json::Value::object();
  const auto set = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) body.set(name, text);
  };
  const auto set_list = [&](std::string_view name, const std::vector<std::string>& list) {
    if (list.empty()) return;
    json::Value texts = json::Value::array();
    for (const std::string& one : list) texts.push(one);
    body.set(name, std::move(texts));
  };
  set("pack", arguments.pack);
  set("role", arguments.role);
  set("mode", arguments.mode);
  set("gate", arguments.gate);
  set_list("labels", arguments.labels);
  set_list("unwrapped", arguments.unwrapped);
  if (!arguments.principal.empty()) {
    const auto text = read_document(world, arguments.principal, 1u << 20);
    if (!text) return could_not(world, text.error());
    const auto document = json::parse(*text);
    if (!document) return could_not(world, arguments.principal + " is not JSON: " + document.error().what);
    body.set("principal", json::Value::copy(document->root()));
  }
  auto client = Client::open(world, arguments.node, Presents::Session);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->post("/v1/sessions", body), [&](json::Node root) {
    const json::Node session = root["session"];
    world.print("session " + shown(session["id"]) + " is held to " + shown(session["pack"]) + "\n");
    if (session["token"]) world.print("BATON_SESSION_TOKEN=" + text_of(session["token"]) + "\n");
  });
}

// --- list ----------------------------------------------------------------------------------------------------------------

struct ListArguments {
  NodeOptions node;
  std::string standing;
};

int list(World& world, const ListArguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  Table table(world.colour);
  const Time now = world.clock.now();
  std::string after;
  std::size_t count = 0;
  constexpr int kPagesMax = 1000;
  for (int page = 0; page < kPagesMax; ++page) {
    const auto answer =
        client->get("/v1/sessions?limit=500" + (arguments.standing.empty() ? "" : "&standing=" + arguments.standing) +
                    (after.empty() ? "" : "&after=" + url_part(after)));
    if (!answer) return could_not(world, answer.error());
    if (!answer->ok()) return refused(world, arguments.node, *answer);
    for (const json::Node session : (*answer)["sessions"].elements()) {
      ++count;
      if (arguments.node.json()) {
        world.print(json::write(session) + "\n");
        continue;
      }
      const auto changed = parse_time(text_of(session["changed_at"])).time;
      const std::string standing = text_of(session["standing"]);
      table.row({{shown(session["id"]), "1"},
                 {standing, standing_colour(standing)},
                 {changed ? age_text(*changed, now) : "", "2"},
                 {shown(session["role"], 20)},
                 {shown(session["work_id"], 20)},
                 {shown(session["actor_id"], 24)},
                 {shown(session["pack"]).substr(0, 19), "2"}});
    }
    if (!(*answer)["next"].is_string()) break;
    after = text_of((*answer)["next"]);
  }
  if (arguments.node.json()) return kYes;
  if (count == 0) {
    world.print("no session is held to a pack\n");
    return kYes;
  }
  table.heading({"SESSION", "STANDING", "CHANGED", "ROLE", "WORK", "ACTOR", "PACK"});
  world.print(table.text());
  return kYes;
}

// --- show ----------------------------------------------------------------------------------------------------------------

struct IdArguments {
  NodeOptions node;
  std::string id, reason;
  bool follow = false;
};

std::string joined(json::Node list, std::string_view member = {}) {
  std::string out;
  for (const json::Node one : list.elements())
    out.append(out.empty() ? "" : ", ").append(shown(member.empty() ? one : one[member], 60));
  return out.empty() ? "none" : out;
}

int show(World& world, const IdArguments& arguments) {
  // A session looks at itself; an operator at any.
  const bool is_session = world.environment("BATON_SESSION_TOKEN") || !arguments.node.session_token_file.empty();
  auto client = Client::open(world, arguments.node, is_session ? Presents::Session : Presents::Operator);
  if (!client) return could_not(world, client.error());
  const auto answer = client->get("/v1/sessions/" + url_part(arguments.id));
  return tell(world, arguments.node, answer, [&](json::Node root) {
    const json::Node session = root["session"], governed = session["governed"];
    std::string out = painted(shown(session["id"]), "1", world.colour) + "  " + shown(session["state"]) + "  " +
                      shown(session["actor_id"]) + (session["work_id"] ? "  on " + shown(session["work_id"]) : "") +
                      "\n";
    if (!governed) {
      world.print(out + "  held to no pack\n");
      return;
    }
    const auto line = [&](std::string_view name, const std::string& text) {
      out += "  " + std::string(name) + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + text + "\n";
    };
    line("pack", shown(governed["pack"]) + " (" + shown(governed["agent"]) + ")");
    line("standing",
         shown(governed["standing"]) + (governed["ended_because"] ? ": " + shown(governed["ended_because"], 200) : "") +
             (governed["paused"].is_true() ? ", waits for a person" : "") +
             (governed["paused_because"]
                  ? " (" + shown(governed["paused_because"], 200) + "): `baton session resume` lets it go on"
                  : ""));
    line("mode", shown(governed["mode"]) + ", " + shown(governed["gate"]));
    if (governed["phase"])
      line("phase", shown(governed["phase"]) + (governed["may_end"].is_true() ? ", may end here" : ""));
    const json::Node counters = governed["counters"];
    line("counted", shown(counters["steps"]) + " steps, " + shown(counters["tool_calls"]) + " calls, cost " +
                        shown(counters["cost"]) + ", " + shown(counters["consecutive_blocks"]) + " blocks and " +
                        shown(counters["consecutive_errors"]) + " errors in a row");
    line("labels", joined(governed["labels"]));
    line("tools now", joined(governed["tools"]));
    if (governed["forbidden"].size() > 0) line("forbidden", joined(governed["forbidden"], "tool"));
    for (const json::Member slot : governed["bindings"].members())
      line("slot", printable(slot.name(), 60) + " = " + (slot.value.is_null() ? "nothing" : shown(slot.value, 80)));
    for (const json::Node call : governed["open_calls"].elements())
      line("call", shown(call["call_id"], 60) + "  " + shown(call["tool"], 60) + "  " +
                       painted(shown(call["state"]), call["state"].is_text("unknown") ? "33" : "", world.colour));
    for (const json::Node one : governed["subagents"].elements())
      line("subagent", shown(one["agent_id"], 60) + (one["type"] ? "  " + shown(one["type"], 40) : "") + "  " +
                           shown(one["state"]) + (one["outcome"] ? ", " + shown(one["outcome"]) : "") +
                           (one["repairs"] ? ", asked again: " + shown(one["repairs"]) : ""));
    if (governed["unhooked_calls"])
      line("alarm", painted(shown(governed["unhooked_calls"]) + " calls were made past Baton (unhooked_call)", "31",
                            world.colour));
    world.print(out);
  });
}

int tail(World& world, const IdArguments& arguments) {
  EventsArguments events_of;
  events_of.node = arguments.node;
  events_of.streams = {"session/" + arguments.id};
  events_of.follow = arguments.follow;
  if (arguments.follow) events_of.from = 1;
  return events(world, events_of);
}

// --- resolve, kill ---------------------------------------------------------------------------------------------------------

struct ResolveArguments {
  NodeOptions node;
  std::string id, call, result, output, error;
};

int resolve(World& world, const ResolveArguments& arguments) {
  json::Value body = json::Value::object();
  body.set("call_id", arguments.call);
  body.set("result", arguments.result);
  if (!arguments.error.empty()) body.set("error", arguments.error);
  if (!arguments.output.empty()) {
    const auto text = read_document(world, arguments.output, 4u << 20);
    if (!text) return could_not(world, text.error());
    const auto document = json::parse(*text);
    if (!document) return could_not(world, arguments.output + " is not JSON: " + document.error().what);
    body.set("output", json::Value::copy(document->root()));
  }
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->post("/v1/sessions/" + url_part(arguments.id) + "/resolve", body),
              [&](json::Node root) {
                world.print(shown(root["call_id"]) + " is " + shown(root["state"]) +
                            (root["reason"] ? ": " + shown(root["reason"]) : "") + "\n");
              });
}

int resume(World& world, const IdArguments& arguments) {
  json::Value body = json::Value::object();
  if (!arguments.reason.empty()) body.set("note", arguments.reason);
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  return tell(
      world, arguments.node, client->post("/v1/sessions/" + url_part(arguments.id) + "/resume", body),
      [&](json::Node root) {
        world.print(arguments.id + " goes on; it was paused because of " + shown(root["was_paused_because"]) + "\n");
      });
}

int kill(World& world, const IdArguments& arguments) {
  json::Value body = json::Value::object();
  if (!arguments.reason.empty()) body.set("reason", arguments.reason);
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->post("/v1/sessions/" + url_part(arguments.id) + "/kill", body),
              [&](json::Node root) {
                world.print(arguments.id + " is " + shown(root["standing"]) +
                            "; calls cancelled: " + joined(root["cancelled"]) + "\n");
              });
}

}  // namespace

void add_session(Command& app, Action& chosen) {
  Command* session = app.add_subcommand("session", "Sessions that are held to a contract pack");
  session->require_subcommand(1);
  {
    auto arguments = std::make_shared<OpenArguments>();
    Command* command = session->add_subcommand("open", "Open a session under a pack, or hold the leased one to it");
    command->add_option("--pack", arguments->pack, "The pack's hash; default: the one that is active for the role");
    command->add_option("--role", arguments->role, "The role; default: the leased session's, or `agent`");
    command->add_option("--mode", arguments->mode, "enforce (default); an operator may say shadow or log-only")
        ->one_of({"enforce", "shadow", "log-only"});
    command->add_option("--gate", arguments->gate, "What a blocked call does to the others of its response")
        ->one_of({"reject_all", "strip_partial", "strip_blocked"});
    command->add_option("--label", arguments->labels, "A label to begin with; may be repeated")
        ->allow_extra_args(false);
    command->add_option("--principal", arguments->principal,
                        "A JSON file about whom the session acts for; for operators and hosts");
    command->add_option("--unwrapped", arguments->unwrapped, "A tool that is called past Baton; may be repeated")
        ->allow_extra_args(false);
    add_node_options(*command, arguments->node, Presents::Session, Changes::Something);
    examples(*command,
             "  baton session open\n  baton session open --token-file refunds.token\n"
             "  baton session open --token-file operator.token --role refunds --principal clerk.json\n"
             "\nExit status: 0 it is open, 1 refused, 2 could not.");
    command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return open(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<ListArguments>();
    Command* command = session->add_subcommand("list", "The governed sessions");
    command->add_option("--standing", arguments->standing, "Only these")->one_of({"open", "killed", "closed"});
    add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
    examples(*command, "  baton session list --standing open\n  baton session list --format json");
    command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return list(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<IdArguments>();
    Command* command = session->add_subcommand("show", "One session: where it is, what it may do, what is open");
    command->add_option("SESSION", arguments->id, "The session")->required();
    add_node_options(*command, arguments->node, Presents::Session, Changes::Nothing);
    examples(*command, "  baton session show ses_1f0c...");
    command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return show(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<IdArguments>();
    Command* command = session->add_subcommand("tail", "What happened in a session, and what happens now");
    command->add_option("SESSION", arguments->id, "The session")->required();
    command->add_flag("-f,--follow", arguments->follow, "Go on with what comes, until interrupted");
    add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
    examples(*command, "  baton session tail ses_1f0c... --follow");
    command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return tail(world, *arguments); }; });
  }
  add_session_call(*session, chosen);
  add_session_settle(*session, chosen);
  add_session_close(*session, chosen);
  {
    auto arguments = std::make_shared<ResolveArguments>();
    Command* command = session->add_subcommand("resolve", "Say what became of a call nobody knows about");
    command->add_option("SESSION", arguments->id, "The session")->required();
    command->add_option("CALL", arguments->call, "The call")->required();
    command->add_option("--result", arguments->result, "What you found out")->required()->one_of({"ok", "error"});
    command->add_option("--output", arguments->output, "Of a call that succeeded: a JSON file with what it gave");
    command->add_option("--error", arguments->error, "Of one that failed: the code");
    add_node_options(*command, arguments->node, Presents::Operator, Changes::Something);
    examples(*command,
             "  baton session resolve ses_1f0c... call_2 --result error --error declined\n"
             "\nTakes an operator's token. Exit status: 0 done, 1 refused, 2 could not.");
    command->callback(
        [arguments, &chosen] { chosen = [arguments](World& world) { return resolve(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<IdArguments>();
    Command* command = session->add_subcommand("resume", "Let a session go on that was paused for you to look at");
    command->add_option("SESSION", arguments->id, "The session")->required();
    command->add_option("--note", arguments->reason, "What you found, for the record");
    add_node_options(*command, arguments->node, Presents::Operator, Changes::Something);
    examples(*command,
             "  baton session resume ses_1f0c... --note 'another hook had changed the command'\n"
             "\nTakes an operator's token. Exit status: 0 done, 1 refused, 2 could not.");
    command->callback(
        [arguments, &chosen] { chosen = [arguments](World& world) { return resume(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<IdArguments>();
    Command* command = session->add_subcommand("kill", "End a session at once; its item is BLOCKED");
    command->add_option("SESSION", arguments->id, "The session")->required();
    command->add_option("--reason", arguments->reason, "Why, for the record");
    add_node_options(*command, arguments->node, Presents::Operator, Changes::Something);
    examples(*command,
             "  baton session kill ses_1f0c... --reason 'does what it should not'\n"
             "\nTakes an operator's token. Exit status: 0 done, 1 refused, 2 could not.");
    command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return kill(world, *arguments); }; });
  }
}

}  // namespace baton::cli
