// SPDX-License-Identifier: Apache-2.0
// baton workflow: several sessions that work together, as they are, and what an operator does with them.
#include "cli/workflow.h"

#include <memory>

#include "base/text.h"
#include "cli/input.h"
#include "cli/shell.h"
#include "cli/table.h"
#include "json/parse.h"
#include "secrets/detector.h"

namespace baton::cli {

// --- beginning a session ------------------------------------------------------------------------------------------------------

void add_begin_options(Command& command, BeginOptions& options) {
  command.add_option("--label", options.labels, "A label to begin with; may be repeated")->allow_extra_args(false);
  command.add_option("--principal", options.principal, "A JSON file about whom the session acts for");
  command.add_option("--mode", options.mode, "enforce (default); an operator may say shadow or log-only")
      ->one_of({"enforce", "shadow", "log-only"});
  command.add_option("--gate", options.gate, "What a blocked call does to the others of its response")
      ->one_of({"reject_all", "strip_partial", "strip_blocked"});
}

std::optional<int> put_begin(World& world, const BeginOptions& options, json::Value& body) {
  if (!options.mode.empty()) body.set("mode", options.mode);
  if (!options.gate.empty()) body.set("gate", options.gate);
  if (!options.labels.empty()) {
    json::Value labels = json::Value::array();
    for (const std::string& label : options.labels) labels.push(label);
    body.set("labels", std::move(labels));
  }
  if (options.principal.empty()) return std::nullopt;
  const auto text = read_document(world, options.principal, 1u << 20);
  if (!text) return could_not(world, text.error());
  const auto document = json::parse(*text);
  if (!document) return could_not(world, printable(options.principal, 200) + " is not JSON: " + document.error().what);
  body.set("principal", json::Value::copy(document->root()));
  return std::nullopt;
}

int tell_begun(World& world, const NodeOptions& node, const Result<Answer>& answer,
               const std::function<std::string(json::Node root)>& what) {
  return tell(world, node, answer, [&](json::Node root) {
    const json::Node session = root["session"];
    if (node.format == "env") {
      const json::Node workflow = root["workflow"], handoff = root["handoff"];
      world.print(export_line("BATON_SESSION_TOKEN", text_of(session["token"])) +
                  export_line("BATON_SESSION", text_of(session["id"])) +
                  export_line("BATON_AGENT_ID", text_of(session["agent_id"])) +
                  export_line("BATON_WORKFLOW", text_of(workflow ? workflow["id"] : handoff["workflow_id"])) +
                  (handoff ? export_line("BATON_HANDOFF", text_of(handoff["id"])) : ""));
      return;
    }
    world.print(what(root) + "session " + shown(session["id"]) + "\n");
    if (session["token"]) world.print("BATON_SESSION_TOKEN=" + text_of(session["token"]) + "\n");
  });
}

namespace {

struct StartArguments {
  NodeOptions node;
  std::string workflow, role;
  BeginOptions begin;
};

int start(World& world, const StartArguments& arguments) {
  json::Value body = json::Value::object();
  body.set("workflow", arguments.workflow);
  if (!arguments.role.empty()) body.set("role", arguments.role);
  if (const auto status = put_begin(world, arguments.begin, body)) return *status;
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  return tell_begun(world, arguments.node, client->post("/v1/workflows", body), [](json::Node root) {
    return "workflow " + shown(root["workflow"]["id"]) + " (" + shown(root["workflow"]["name"]) + ")\n";
  });
}

// --- looking --------------------------------------------------------------------------------------------------------------------

struct IdArguments {
  NodeOptions node;
  std::string id;
};

int list(World& world, const NodeOptions& node) {
  auto client = Client::open(world, node, Presents::Token);
  if (!client) return could_not(world, client.error());
  Table table(world.colour);
  table.heading({"WORKFLOW", "NAME", "STANDING", "STARTED", "SESSIONS", "ACTIVE", "HANDOFFS", "STEPS", "COST", "BY"});
  const Time now = world.clock.now();
  std::string after;
  std::size_t count = 0;
  constexpr int kPagesMax = 1000;
  for (int page = 0; page < kPagesMax; ++page) {
    const auto answer = client->get("/v1/workflows?limit=500" + (after.empty() ? "" : "&after=" + url_part(after)));
    if (!answer) return could_not(world, answer.error());
    if (!answer->ok()) return refused(world, node, *answer);
    for (const json::Node one : (*answer)["workflows"].elements()) {
      ++count;
      if (node.json()) {
        world.print(json::write(one) + "\n");
        continue;
      }
      const auto started = parse_time(text_of(one["started_at"])).time;
      const std::string standing = shown(one["standing"], 20);
      table.row({{shown(one["id"]), "1"},
                 {shown(one["name"], 40)},
                 {standing, standing_colour(standing)},
                 {started ? age_text(*started, now) : "", "2"},
                 {shown(one["sessions"], 20)},
                 {shown(one["active"], 20)},
                 {shown(one["open_handoffs"], 20)},
                 {shown(one["steps"], 20)},
                 {shown(one["cost"], 40)},
                 {shown(one["started_by"], 24)}});
    }
    if (!(*answer)["next"].is_string()) break;
    after = text_of((*answer)["next"]);
  }
  if (!node.json()) world.print(count == 0 ? "no workflow was started\n" : table.text());
  return kYes;
}

int show(World& world, const IdArguments& arguments, bool tree) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->get("/v1/workflows/" + url_part(arguments.id)), [&](json::Node root) {
    const json::Node workflow = root["workflow"];
    if (arguments.node.format == "dot") world.print(secrets::redact(workflow_dot(workflow)));
    else if (arguments.node.format == "svg") world.print(secrets::redact(workflow_svg(workflow)));
    else
      world.print(tree ? workflow_tree(workflow, world.clock.now(), world.colour)
                       : workflow_tables(workflow, world.clock.now(), world.colour));
  });
}

// --- ending -----------------------------------------------------------------------------------------------------------------------

struct KillArguments {
  NodeOptions node;
  std::string id, session, scope, reason;
};

int kill(World& world, const KillArguments& arguments) {
  const std::string scope = !arguments.scope.empty()    ? arguments.scope
                            : arguments.session.empty() ? std::string("workflow")
                                                        : std::string("session");
  if (scope == "workflow" && !arguments.session.empty())
    return could_not(world, "--scope workflow ends all of it: leave --session out, or say --scope subtree");
  json::Value body = json::Value::object();
  body.set("scope", scope);
  if (!arguments.session.empty()) body.set("session_id", arguments.session);
  if (!arguments.reason.empty()) body.set("reason", arguments.reason);
  const bool is_session = world.environment("BATON_SESSION_TOKEN") || !arguments.node.session_token_file.empty();
  auto client = Client::open(world, arguments.node, is_session ? Presents::Session : Presents::Operator);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->post("/v1/workflows/" + url_part(arguments.id) + "/kill", body),
              [&](json::Node root) {
                if (count_of(root["killed"]) == 0) world.print("no session was open there\n");
                for (const json::Node one : root["killed"].elements()) world.print(shown(one) + " is killed\n");
              });
}

}  // namespace

void add_workflow(Command& app, Action& chosen) {
  Command* workflow = app.add_subcommand("workflow", "Several sessions that work together under one contract");
  workflow->require_subcommand(1);
  {
    auto arguments = std::make_shared<StartArguments>();
    Command* command = workflow->add_subcommand("start", "Start a workflow with its first session");
    command->add_option("WORKFLOW", arguments->workflow, "Its name, or its hash")->required();
    command->add_option("--role", arguments->role, "Of the first session; default: the first the workflow has");
    add_begin_options(*command, arguments->begin);
    add_node_options(*command, arguments->node, Presents::Operator, Changes::Something, {"human", "json", "env"});
    examples(*command,
             "  baton workflow start release-train --label train-7\n"
             "  eval \"$(baton workflow start release-train --format env)\"\n"
             "\nPrints the workflow, the session and its token. Takes an operator's token.\n"
             "Exit status: 0 it runs, 1 refused, 2 could not.");
    command->callback(
        [arguments, &chosen] { chosen = [arguments](World& world) { return start(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<NodeOptions>();
    Command* command = workflow->add_subcommand("list", "The workflows that were started");
    add_node_options(*command, *arguments, Presents::Token, Changes::Nothing);
    examples(*command, "  baton workflow list\n  baton workflow list --format json\n\nJSON is one workflow a line.");
    command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return list(world, *arguments); }; });
  }
  for (const bool tree : {false, true}) {
    auto arguments = std::make_shared<IdArguments>();
    Command* command =
        tree ? workflow->add_subcommand("tree", "Who handed over to whom, what is open, and what is used up")
             : workflow->add_subcommand("show", "One workflow: sessions, handoffs, budgets, and who holds what");
    command->add_option("WORKFLOW", arguments->id, "The workflow's id")->required();
    add_node_options(
        *command, arguments->node, Presents::Token, Changes::Nothing,
        tree ? std::vector<std::string>{"human", "json", "dot", "svg"} : std::vector<std::string>{"human", "json"});
    examples(*command, tree ? "  baton workflow tree wfl_1f0c...\n"
                              "  baton workflow tree wfl_1f0c... --format svg > tree.svg\n"
                              "  baton workflow tree wfl_1f0c... --format dot | dot -Tpdf -o tree.pdf"
                            : "  baton workflow show wfl_1f0c...");
    command->callback([arguments, tree, &chosen] {
      chosen = [arguments, tree](World& world) { return show(world, *arguments, tree); };
    });
  }
  add_workflow_watch(*workflow, chosen);
  {
    auto arguments = std::make_shared<KillArguments>();
    Command* command = workflow->add_subcommand("kill", "End a session, one with all below it, or all of a workflow");
    command->add_option("WORKFLOW", arguments->id, "The workflow's id")->required();
    command->add_option("--session", arguments->session, "The session; without it all of the workflow is meant");
    command->add_option("--scope", arguments->scope, "session, subtree or workflow")
        ->one_of({"session", "subtree", "workflow"});
    command->add_option("--reason", arguments->reason, "Why, for the record");
    add_node_options(*command, arguments->node, Presents::Session, Changes::Something);
    examples(*command,
             "  baton workflow kill wfl_1f0c... --reason 'wrong release'\n"
             "  baton workflow kill wfl_1f0c... --session ses_7a1e... --scope subtree\n"
             "\nOf one session, what becomes of those below it is what the workflow's parent_close_policy says.\n"
             "Takes an operator's token; a session ends itself and those below it by its own.\n"
             "Exit status: 0 done, 1 refused, 2 could not.");
    command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return kill(world, *arguments); }; });
  }
}

}  // namespace baton::cli
