// SPDX-License-Identifier: Apache-2.0
// baton handoff: from a session of a workflow to a role, with what it is given along; and what a session hands in.
#include <memory>

#include "base/limits.h"
#include "base/text.h"
#include "cli/input.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/work.h"
#include "cli/workflow.h"
#include "json/parse.h"

namespace baton::cli {
namespace {

void print_handoff(World& world, json::Node handoff) {
  world.print("handoff " + shown(handoff["id"]) + " to " + shown(handoff["to"], 60) + " is " +
              shown(handoff["stage"], 20) + "\n");
}

// Whoever carries a session's token asks for that session.
bool carries_session(World& world, const NodeOptions& node) {
  return world.environment("BATON_SESSION_TOKEN") || !node.session_token_file.empty();
}

// --- offer ----------------------------------------------------------------------------------------------------------------------

struct OfferArguments {
  NodeOptions node;
  std::string session, to, expires;
  std::vector<std::string> artifacts, resources;
};

// NAME=VALUE, NAME=@FILE: JSON when it reads as JSON, else the text itself. False, and a message, when it is neither.
bool put_artifact(World& world, const std::string& text, json::Value& artifacts) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    could_not(world, "--artifact takes NAME=VALUE or NAME=@FILE, not `" + printable(text, 60) + "`");
    return false;
  }
  const std::string name = text.substr(0, equals);
  std::string value = text.substr(equals + 1);
  if (value.starts_with('@')) {
    auto read = read_document(world, value.substr(1), limits::kArtifactBytesMax);
    if (!read) {
      could_not(world, read.error());
      return false;
    }
    value = std::move(*read);
  }
  if (artifacts.find(name) != nullptr) {
    could_not(world, "there are two artifacts `" + printable(name, 60) + "`");
    return false;
  }
  const auto document = json::parse(value);
  artifacts.set(name, document ? json::Value::copy(document->root()) : json::Value(value));
  return true;
}

int offer(World& world, const OfferArguments& arguments) {
  const Span expires = span_option(world, "--expires", arguments.expires);
  if (!expires.good) return kCouldNot;
  json::Value body = json::Value::object(), artifacts = json::Value::object();
  body.set("to", arguments.to);
  for (const std::string& one : arguments.artifacts)
    if (!put_artifact(world, one, artifacts)) return kCouldNot;
  body.set("artifacts", std::move(artifacts));
  if (!arguments.resources.empty()) {
    json::Value resources = json::Value::array();
    for (const std::string& one : arguments.resources) resources.push(one);
    body.set("resources", std::move(resources));
  }
  if (expires.seconds) body.set("expires_seconds", *expires.seconds);
  auto client = Client::open(world, arguments.node, Presents::Session);
  if (!client) return could_not(world, client.error());
  const std::string session = arguments.session.empty() ? client->session_id() : arguments.session;
  if (session.empty()) return could_not(world, "say with --session which one offers, or set BATON_SESSION_TOKEN");
  return tell(world, arguments.node, client->post("/v1/sessions/" + url_part(session) + "/offers", body),
              [&](json::Node root) { print_handoff(world, root["handoff"]); });
}

// --- claim, decline, cancel -------------------------------------------------------------------------------------------------------

struct ClaimArguments {
  NodeOptions node;
  std::string id, session;
  BeginOptions begin;
};

int claim(World& world, const ClaimArguments& arguments) {
  json::Value body = json::Value::object();
  if (!arguments.session.empty()) body.set("session_id", arguments.session);
  if (const auto status = put_begin(world, arguments.begin, body)) return *status;
  auto client = Client::open(world, arguments.node, arguments.session.empty() ? Presents::Token : Presents::Session);
  if (!client) return could_not(world, client.error());
  return tell_begun(world, arguments.node, client->post("/v1/handoffs/" + url_part(arguments.id) + "/claim", body),
                    [](json::Node root) {
                      const json::Node handoff = root["handoff"];
                      return "claimed " + shown(handoff["id"]) + " of " + shown(handoff["workflow_id"]) + " as " +
                             shown(handoff["to"], 60) + ": " + artifacts_text(handoff["artifacts"]) + "\n";
                    });
}

struct EndArguments {
  NodeOptions node;
  std::string id;
};

int end(World& world, const EndArguments& arguments, bool decline) {
  const Presents presents = decline                                  ? Presents::Token
                            : carries_session(world, arguments.node) ? Presents::Session
                                                                     : Presents::Operator;
  auto client = Client::open(world, arguments.node, presents);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node,
              client->post("/v1/handoffs/" + url_part(arguments.id) + (decline ? "/decline" : "/cancel"),
                           json::Value::object()),
              [&](json::Node root) { print_handoff(world, root["handoff"]); });
}

// --- documents: what a session hands in, and what is answered to a packet ----------------------------------------------------------

struct DocumentArguments {
  NodeOptions node;
  std::string file = "-";
};

int acknowledge(World& world, const DocumentArguments& arguments) {
  const auto text = read_document(world, arguments.file, limits::kCliDocumentBytesMax);
  if (!text) return could_not(world, text.error());
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  const auto answer = client->post_text("/v1/handoffs/acknowledge", *text);
  if (answer && !answer->ok()) return refused(world, arguments.node, *answer, source_name(arguments.file), *text);
  if (answer && !(*answer)["session"])
    return tell(world, arguments.node, answer, [&](json::Node root) { print_handoff(world, root["handoff"]); });
  return tell_begun(world, arguments.node, answer, [](json::Node root) {
    const json::Node handoff = root["handoff"];
    return "claimed " + shown(handoff["id"]) + " of " + shown(handoff["workflow_id"]) + " as " +
           shown(handoff["to"], 60) + ": " + artifacts_text(handoff["artifacts"]) + "\n";
  });
}

// --- list -------------------------------------------------------------------------------------------------------------------------

struct ListArguments {
  NodeOptions node;
  std::string role, stage;
};

int list(World& world, const ListArguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  const auto answer = client->get("/v1/handoffs?limit=500&stage=" + arguments.stage +
                                  (arguments.role.empty() ? "" : "&role=" + url_part(arguments.role)));
  if (!answer) return could_not(world, answer.error());
  if (!answer->ok()) return refused(world, arguments.node, *answer);
  if (arguments.node.json()) {
    for (const json::Node one : (*answer)["handoffs"].elements()) world.print(json::write(one) + "\n");
    return kYes;
  }
  if (count_of((*answer)["handoffs"]) == 0) {
    world.print(arguments.stage == "offered" ? "nothing is offered\n" : "there are none\n");
    return kYes;
  }
  Table table(world.colour);
  table.heading({"HANDOFF", "STAGE", "OFFERED", "TO", "FROM", "WORKFLOW", "ARTIFACTS"});
  for (const json::Node one : (*answer)["handoffs"].elements()) {
    const auto offered = parse_time(text_of(one["offered_at"])).time;
    table.row({{shown(one["id"]), "1"},
               {shown(one["stage"], 20)},
               {offered ? age_text(*offered, world.clock.now()) : "", "2"},
               {shown(one["to"], 40)},
               {shown(one["from"], 60)},
               {shown(one["workflow_id"], 60)},
               {artifacts_text(one["artifacts"])}});
  }
  world.print(table.text());
  return kYes;
}

// --- artifact -----------------------------------------------------------------------------------------------------------------------

struct ArtifactArguments {
  NodeOptions node;
  std::string session, name;
};

int artifact(World& world, const ArtifactArguments& arguments) {
  auto client = Client::open(world, arguments.node,
                             carries_session(world, arguments.node) ? Presents::Session : Presents::Operator);
  if (!client) return could_not(world, client.error());
  const std::string session = arguments.session.empty() ? client->session_id() : arguments.session;
  if (session.empty()) return could_not(world, "say with --session whose, or set BATON_SESSION_TOKEN");
  const auto answer = client->get("/v1/sessions/" + url_part(session) + "/artifacts" +
                                  (arguments.name.empty() ? "" : "?name=" + url_part(arguments.name)));
  return tell(world, arguments.node, answer, [&](json::Node root) {
    if (!arguments.name.empty()) {
      // What it says, for whoever works with it; a terminal is not told what to do by it.
      const json::Node content = root["artifact"]["content"];
      const std::string text = content.is_string() ? std::string(content.string()) : json::write(content);
      const std::string author = shown(root["artifact"]["author"], 64);
      if (!author.empty())
        world.print_error("baton: from " + author + ", session " + shown(root["artifact"]["session_id"], 64) + "\n");
      world.print_error(data_lines(root["artifact"]));
      std::string out;
      for (const std::string_view line : split(text, '\n')) out += (out.empty() ? "" : "\n") + printable(line);
      world.print(window_size(world) ? out + "\n" : text + (text.ends_with('\n') ? "" : "\n"));
      return;
    }
    if (count_of(root["artifacts"]) == 0) world.print("nothing was handed to it\n");
    for (const json::Node one : root["artifacts"].elements())
      world.print(shown(one["name"], 128) + "  " + shown(one["type"], 40) + "  " + shown(one["bytes"], 20) +
                  " bytes  sha256 " + shown(one["sha256"], 64) + "\n");
  });
}

}  // namespace

void add_handoff(Command& app, Action& chosen) {
  Command* handoff = app.add_subcommand("handoff", "Handing over within a workflow: offered, claimed, declined");
  handoff->require_subcommand(1);
  {
    auto arguments = std::make_shared<OfferArguments>();
    Command* command = handoff->add_subcommand("offer", "Offer a task to a role of the session's workflow");
    command->add_option("--session", arguments->session, "The session; default: the one whose token is presented");
    command->add_option("--to", arguments->to, "The role")->required();
    command
        ->add_option("--artifact", arguments->artifacts,
                     "NAME=VALUE or NAME=@FILE: JSON when it reads as JSON, else text; may be repeated")
        ->allow_extra_args(false);
    command
        ->add_option("--resource", arguments->resources,
                     "A shared resource: what the session owns of it becomes the child's; may be repeated")
        ->allow_extra_args(false);
    command->add_option("--expires", arguments->expires, "The offer ends by itself: 90, 10m, 2h, 30d");
    add_node_options(*command, arguments->node, Presents::Session, Changes::Something);
    examples(*command,
             "  baton handoff offer --to worker --artifact task='deploy web' --artifact plan=@plan.json\n"
             "\nTakes the session's token. Exit status: 0 offered, 1 refused, 2 could not.");
    command->callback(
        [arguments, &chosen] { chosen = [arguments](World& world) { return offer(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<ClaimArguments>();
    Command* command = handoff->add_subcommand("claim", "Take it: a session of that role begins");
    command->add_option("HANDOFF", arguments->id, "The handoff")->required();
    command->add_option("--session", arguments->session,
                        "A session that holds a work item becomes that session; with its token");
    add_begin_options(*command, arguments->begin);
    add_node_options(*command, arguments->node, Presents::Session, Changes::Something, {"human", "json", "env"});
    examples(*command,
             "  baton handoff claim hnd_42ab...\n  eval \"$(baton handoff claim hnd_42ab... --format env)\"\n"
             "\nPrints the session and its token. Exit status: 0 claimed, 1 refused, 2 could not.");
    command->callback(
        [arguments, &chosen] { chosen = [arguments](World& world) { return claim(world, *arguments); }; });
  }
  for (const bool decline : {true, false}) {
    auto arguments = std::make_shared<EndArguments>();
    Command* command = decline ? handoff->add_subcommand("decline", "Say that it will not be claimed")
                               : handoff->add_subcommand("cancel", "Take an offer back");
    command->add_option("HANDOFF", arguments->id, "The handoff")->required();
    add_node_options(*command, arguments->node, decline ? Presents::Token : Presents::Session, Changes::Something);
    examples(*command, decline ? "  baton handoff decline hnd_42ab...\n"
                                 "\nExit status: 0 done, 1 refused, 2 could not."
                               : "  baton handoff cancel hnd_42ab...\n"
                                 "\nTakes the token of the session that offered it, or an operator's.\n"
                                 "Exit status: 0 done, 1 refused, 2 could not.");
    command->callback([arguments, decline, &chosen] {
      chosen = [arguments, decline](World& world) { return end(world, *arguments, decline); };
    });
  }
  {
    auto arguments = std::make_shared<DocumentArguments>();
    Command* command = handoff->add_subcommand("submit", "Hand in what a session says at its end, or meanwhile");
    command->add_option("FILE", arguments->file,
                        "An exit signal, an agent_contract_handoff block or a UAIX packet; - reads standard input");
    add_node_options(*command, arguments->node, Presents::Session, Changes::Something);
    examples(
        *command,
        "  baton handoff submit block.md\n  agent | baton find | baton handoff submit\n"
        "\nTakes the session's token. The last word of a session without a work item closes it; one that names a role\n"
        "of its workflow offers a handoff to it. Exit status: 0 taken, 1 refused (nothing changed), 2 could not.");
    command->callback([arguments, &chosen] {
      chosen = [arguments](World& world) { return submit_handoff(world, arguments->node, arguments->file); };
    });
  }
  {
    auto arguments = std::make_shared<DocumentArguments>();
    Command* command =
        handoff->add_subcommand("ack", "Answer a UAIX packet that offered a handoff: accepting it claims");
    command->add_option("FILE", arguments->file, "The packet of profile uai.agent.ack.v1; - reads standard input");
    add_node_options(*command, arguments->node, Presents::Token, Changes::Something, {"human", "json", "env"});
    examples(*command,
             "  baton uaix new ack --with parties.json --set /body/decision=accept | baton handoff ack\n"
             "\nTakes a token that has the name of the packet's source: the role that the handoff was offered to.\n"
             "Exit status: 0 taken, 1 refused, 2 could not.");
    command->callback(
        [arguments, &chosen] { chosen = [arguments](World& world) { return acknowledge(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<ListArguments>();
    arguments->stage = "offered";
    Command* command = handoff->add_subcommand("list", "What can be claimed");
    command->add_option("--role", arguments->role, "Only what is offered to this role");
    command->add_option("--stage", arguments->stage, "offered (default), or another stage")
        ->one_of({"offered", "claimed", "completed", "declined", "cancelled", "expired"});
    add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
    examples(*command,
             "  baton handoff list --role worker\n  baton handoff list --format json\n\nJSON is one handoff a line.");
    command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return list(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<ArtifactArguments>();
    Command* command = handoff->add_subcommand("artifact", "What was handed to a session");
    command->add_option("NAME", arguments->name, "One of them: its content; default: which there are");
    command->add_option("--session", arguments->session, "The session; default: the one whose token is presented");
    add_node_options(*command, arguments->node, Presents::Session, Changes::Nothing);
    examples(*command,
             "  baton handoff artifact\n  baton handoff artifact task > task.txt\n"
             "\nTakes that session's token, or an operator's. Exit status: 0 here it is, 1 refused, 2 could not.");
    command->callback(
        [arguments, &chosen] { chosen = [arguments](World& world) { return artifact(world, *arguments); }; });
  }
}

}  // namespace baton::cli
