// SPDX-License-Identifier: Apache-2.0
// baton token: who may speak to a node, and as whom.
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/credentials.h"
#include "cli/input.h"
#include "cli/table.h"
#include "cli/work.h"
#include "json/parse.h"

namespace baton::cli {
namespace {

struct Arguments {
  NodeOptions node;
  std::string actor, kind = "agent", expires, note, token_out, id, principal;
  std::vector<std::string> scopes, names, roles;
};

json::Value texts(const std::vector<std::string>& list) {
  json::Value out = json::Value::array();
  for (const std::string& text : list) out.push(text);
  return out;
}

int create(World& world, const Arguments& arguments) {
  const Span expires = span_option(world, "--expires", arguments.expires);
  if (!expires.good) return kCouldNot;
  json::Value body = json::Value::object();
  body.set("actor", arguments.actor);
  body.set("kind", arguments.kind);
  if (!arguments.scopes.empty()) body.set("scopes", texts(arguments.scopes));
  if (!arguments.names.empty()) body.set("names", texts(arguments.names));
  if (expires.seconds) body.set("expires_in_seconds", *expires.seconds);
  if (!arguments.note.empty()) body.set("note", arguments.note);
  if (!arguments.roles.empty()) body.set("roles", texts(arguments.roles));
  if (!arguments.principal.empty()) {
    std::string text = arguments.principal;
    if (text.starts_with('@')) {
      auto read = read_document(world, text.substr(1), 1u << 20);
      if (!read) return could_not(world, read.error());
      text = std::move(*read);
    }
    const auto document = json::parse(text);
    if (!document || !document->root().is_object())
      return could_not(world, "--principal is no JSON object" +
                                  (document ? std::string() : ": " + document.error().what) + "; no token was made");
    body.set("principal", json::Value::copy(document->root()));
  }
  std::optional<NewSecretFile> file;
  const std::filesystem::path token_out = arguments.token_out;
  if (!arguments.token_out.empty()) {
    std::error_code ignored;
    if (std::filesystem::exists(token_out, ignored))
      return could_not(world, printable(arguments.token_out, 200) + " is there already; no token was made");
    auto made = NewSecretFile::make(token_out.parent_path());
    if (!made) return could_not(world, made.error());
    file.emplace(std::move(*made));
  }
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  const auto answer = client->post("/v1/tokens", body);
  if (file && answer && answer->ok()) {
    if (auto kept = file->keep(token_out.filename().string(), text_of((*answer)["token"])); !kept)
      return could_not(world, kept.error());
    if (arguments.node.json()) {
      json::Value out = json::Value::copy(answer->root());
      out.erase("token");
      world.print(json::write(out) + "\n");
      return kYes;
    }
  }
  return tell(world, arguments.node, answer, [&](json::Node root) {
    world.print("a token for " + printable(arguments.actor, 200) + " (" + arguments.kind + "), id " +
                shown(root["id"], 64) + receipt_text(root) + "\n");
    if (file) world.print("  in " + printable(arguments.token_out, 200) + "\n");
    else world.print("  " + text_of(root["token"]) + "\n  keep it now: it is not shown again\n");
  });
}

int list(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->get("/v1/tokens"), [&](json::Node root) {
    Table table(world.colour);
    for (const json::Node token : root["tokens"].elements()) {
      std::vector<std::string> scopes;
      for (const json::Node scope : token["scopes"].elements()) scopes.push_back(shown(scope, 64));
      const std::string revoked = text_of(token["revoked_at"]), expires = shown(token["expires_at"], 64);
      table.row({{shown(token["id"], 64), "1"},
                 {shown(token["actor"], 64)},
                 {shown(token["kind"], 16)},
                 {join(scopes, ",")},
                 {!revoked.empty()  ? "revoked"
                  : expires.empty() ? "valid"
                                    : "until " + expires,
                  !revoked.empty() ? "31" : ""},
                 {shown(token["note"], 80), "2"}});
    }
    table.heading({"ID", "ACTOR", "KIND", "SCOPES", "STATE", "NOTE"});
    world.print(table.text());
  });
}

int revoke(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node,
              client->post("/v1/tokens/" + url_part(arguments.id) + "/revoke", json::Value::object()),
              [&](json::Node root) { world.print("the token is worth nothing any more" + receipt_text(root) + "\n"); });
}

}  // namespace

void add_token(Command& app, Action& chosen) {
  Command* token = app.add_subcommand("token", "Who may speak to a node: make, list and revoke tokens");
  token->require_subcommand(1);
  examples(*token,
           "  baton token create --actor reviewer-1 --kind agent --token-out reviewer.token\n"
           "  baton token list\n  baton token revoke 5f0c...");
  {
    auto arguments = std::make_shared<Arguments>();
    Command* command = token->add_subcommand("create", "Make a token for an actor");
    command->add_option("--actor", arguments->actor, "Who will present it")->required();
    command
        ->add_option("--kind", arguments->kind,
                     "agent, host (a program that serves several users), operator, ci or auditor")
        ->one_of({"agent", "host", "operator", "ci", "auditor"})
        ->capture_default_str();
    command->add_option("--scope", arguments->scopes, "Only for this; may be repeated; default: all its kind may do")
        ->allow_extra_args(false);
    command->add_option("--name", arguments->names, "A UAIX id it speaks for; may be repeated")
        ->allow_extra_args(false);
    command
        ->add_option("--role", arguments->roles,
                     "A role that its sessions may have; may be repeated; default: the default roles; of a host: any")
        ->allow_extra_args(false);
    command->add_option("--principal", arguments->principal,
                        "Whom its sessions act for: a JSON object, or @FILE; kept where it can be erased");
    command->add_option("--expires", arguments->expires, "After so long, such as 30d; default: never");
    command->add_option("--note", arguments->note, "What it is for");
    command->add_option("--token-out", arguments->token_out,
                        "Write it to this new file, mode 0600, and do not show it");
    add_node_options(*command, arguments->node, Presents::Operator, Changes::Something);
    examples(*command,
             "  baton token create --actor github --kind ci --expires 90d --token-out ci.token\n"
             "  baton token create --actor refunds-1 --role refunds --principal '{\"tier\": \"L2\"}' --token-out "
             "refunds.token\n"
             "\nTakes an operator's token. Exit status: 0 made, 1 refused, 2 could not.");
    command->callback(
        [arguments, &chosen] { chosen = [arguments](World& world) { return create(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<Arguments>();
    Command* command = token->add_subcommand("list", "All tokens, without their texts");
    add_node_options(*command, arguments->node, Presents::Operator, Changes::Nothing);
    examples(*command, "  baton token list --format json");
    command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return list(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<Arguments>();
    Command* command = token->add_subcommand("revoke", "A token is worth nothing any more");
    command->add_option("ID", arguments->id, "As `baton token list` shows it")->required();
    add_node_options(*command, arguments->node, Presents::Operator, Changes::Something);
    examples(*command, "  baton token revoke 5f0c...\n\nExit status: 0 revoked, 1 refused, 2 could not.");
    command->callback(
        [arguments, &chosen] { chosen = [arguments](World& world) { return revoke(world, *arguments); }; });
  }
}

}  // namespace baton::cli
