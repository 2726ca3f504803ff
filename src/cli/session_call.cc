// SPDX-License-Identifier: Apache-2.0
// baton session call, settle, close: what an agent without a client of its own does in its session, from a shell.
#include <memory>

#include "base/text.h"
#include "cli/input.h"
#include "cli/session.h"
#include "json/parse.h"

namespace baton::cli {
namespace {

// What is given on the command line, or @FILE: JSON. Nothing, and a message, when it is not.
std::optional<json::Value> json_option(World& world, std::string_view option, const std::string& given) {
  std::string text = given;
  if (given.starts_with('@')) {
    auto read = read_document(world, given.substr(1), 4u << 20);
    if (!read) {
      could_not(world, read.error());
      return std::nullopt;
    }
    text = std::move(*read);
  }
  const auto document = json::parse(text);
  if (document) return json::Value::copy(document->root());
  could_not(world, std::string(option) + " is not JSON: " + document.error().what);
  return std::nullopt;
}

void print_reasons(World& world, json::Node decided) {
  for (const json::Node one : decided["failures"].elements())
    world.print("  " + shown(one["code"], 64) + ": " + shown(one["message"], 400) + "\n");
}

// --- call ---------------------------------------------------------------------------------------------------------------------

struct CallArguments {
  NodeOptions node;
  std::string session, tool, arguments = "{}", id;
  bool start = false;
};

int call(World& world, const CallArguments& arguments) {
  auto given = json_option(world, "--arguments", arguments.arguments);
  if (!given) return kCouldNot;
  json::Value body = json::Value::object(), calls = json::Value::array(), one = json::Value::object();
  if (!arguments.id.empty()) one.set("call_id", arguments.id);
  one.set("tool", arguments.tool);
  one.set("arguments", std::move(*given));
  calls.push(std::move(one));
  body.set("calls", std::move(calls));
  if (arguments.start) body.set("start", true);
  body.set("resume", true);
  auto client = Client::open(world, arguments.node, Presents::Session);
  if (!client) return could_not(world, client.error());
  const auto answer = client->post("/v1/sessions/" + url_part(arguments.session) + "/calls", body);
  const int status = tell(world, arguments.node, answer, [&](json::Node root) {
    for (const json::Node decided : root["calls"].elements()) {
      world.print(shown(decided["call_id"], 64) + "  " + shown(decided["verdict"], 20) +
                  (decided["started"].is_true() ? ", begun" : "") + "\n");
      print_reasons(world, decided);
      if (decided["approval"]) world.print("  a person is asked: " + shown(decided["approval"]["id"], 64) + "\n");
    }
    if (root["session_killed"].is_true()) world.print("the session is ended\n");
  });
  return status == kYes && !(*answer)["outcome"].is_text("proceed") ? kNo : status;
}

// --- settle, close --------------------------------------------------------------------------------------------------------------

struct SettleArguments {
  NodeOptions node;
  std::string session, call, result, output, error;
};

int settle(World& world, const SettleArguments& arguments) {
  json::Value body = json::Value::object();
  body.set("call_id", arguments.call);
  body.set("result", arguments.result);
  if (!arguments.error.empty()) body.set("error", arguments.error);
  if (!arguments.output.empty()) {
    auto output = json_option(world, "--output", arguments.output);
    if (!output) return kCouldNot;
    body.set("output", std::move(*output));
  }
  auto client = Client::open(world, arguments.node, Presents::Session);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->post("/v1/sessions/" + url_part(arguments.session) + "/settle", body),
              [&](json::Node root) {
                world.print(shown(root["call_id"], 64) + " is " + shown(root["state"], 20) + "\n");
                print_reasons(world, root);
              });
}

struct CloseArguments {
  NodeOptions node;
  std::string session;
};

int close(World& world, const CloseArguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Session);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node,
              client->post("/v1/sessions/" + url_part(arguments.session) + "/close", json::Value::object()),
              [&](json::Node root) {
                world.print(printable(arguments.session, 64) + " is " + shown(root["standing"], 20) + "\n");
              });
}

}  // namespace

void add_session_call(Command& session, Action& chosen) {
  auto arguments = std::make_shared<CallArguments>();
  Command* command = session.add_subcommand("call", "Ask whether a tool may be called now");
  command->add_option("SESSION", arguments->session, "The session")->required();
  command->add_option("TOOL", arguments->tool, "The tool")->required();
  command->add_option("--arguments", arguments->arguments, "JSON, or @FILE; default: {}");
  command->add_option("--id", arguments->id, "The id of the call; default: the node makes one");
  command->add_flag("--start", arguments->start, "Begin the call if it is allowed");
  add_node_options(*command, arguments->node, Presents::Session, Changes::Something);
  examples(*command,
           "  baton session call \"$BATON_SESSION\" deploy --arguments '{\"service\":\"web\"}' --start\n"
           "\nAfter an approval, run the same command again: it continues the approved call.\n"
           "Needs the session's token. Exit status: 0 allowed, 1 refused or waiting for approval, 2 could not tell.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return call(world, *arguments); }; });
}

void add_session_settle(Command& session, Action& chosen) {
  auto arguments = std::make_shared<SettleArguments>();
  Command* command = session.add_subcommand("settle", "Say what became of a call");
  command->add_option("SESSION", arguments->session, "The session")->required();
  command->add_option("CALL", arguments->call, "The call")->required();
  command->add_option("--result", arguments->result, "What became of it")
      ->required()
      ->one_of({"ok", "error", "timeout", "unknown"});
  command->add_option("--output", arguments->output, "Of one that succeeded: what it gave, as JSON or @FILE");
  command->add_option("--error", arguments->error, "Of one that failed: the code");
  add_node_options(*command, arguments->node, Presents::Session, Changes::Something);
  examples(*command,
           "  baton session settle \"$BATON_SESSION\" call_2 --result ok --output '{\"deployed\":true}'\n"
           "\nTakes the session's token. Exit status: 0 recorded, 1 refused, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return settle(world, *arguments); }; });
}

void add_session_close(Command& session, Action& chosen) {
  auto arguments = std::make_shared<CloseArguments>();
  Command* command = session.add_subcommand("close", "End a session that is done, and has no work item");
  command->add_option("SESSION", arguments->session, "The session")->required();
  add_node_options(*command, arguments->node, Presents::Session, Changes::Something);
  examples(*command,
           "  baton session close \"$BATON_SESSION\"\n"
           "\nTakes the session's token. Exit status: 0 it is closed, 1 refused, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return close(world, *arguments); }; });
}

}  // namespace baton::cli
