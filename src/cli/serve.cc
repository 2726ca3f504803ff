// SPDX-License-Identifier: Apache-2.0
// baton serve: the node.
#include <memory>

#include "cli/commands.h"
#include "cli/nodes.h"
#include "cli/stores.h"

namespace baton::cli {

void add_serve(Command& app, Action& chosen) {
  struct Arguments {
    StoreOptions store;
    ServeOptions options;
    std::int64_t idle_seconds = 0;
  };
  auto arguments = std::make_shared<Arguments>();
  ServeOptions& options = arguments->options;
  Command* command =
      app.add_subcommand("serve", "Runs a node: the process that owns a store and answers everyone else");
  add_store_options(*command, arguments->store, true);
  command->add_option("--config", options.config, "The configuration; default: config.yaml in the store's folder");
  command->add_option("--socket", options.socket, "The unix socket; default: node.sock in the store's folder");
  Option* agent_socket =
      command->add_option("--agent-socket", options.agent_socket,
                          "A second unix socket, mode 0660, whose callers are always agents; default: none");
  Option* agent_group =
      command->add_option("--agent-group", options.agent_group,
                          "The group whose users may connect to the agents' socket: its name or number");
  agent_socket->needs(agent_group);
  agent_group->needs(agent_socket);
  command->add_option("--listen", options.listen, "Also listen on TCP: HOST:PORT, port 0 for any; several times")
      ->allow_extra_args(false);
  Option* certificate = command->add_option("--tls-certificate", options.certificate, "A PEM file, the chain with it");
  Option* key = command->add_option("--tls-key", options.key, "Its private key, a PEM file");
  certificate->needs(key);
  key->needs(certificate);
  command->add_option("--host", options.hosts, "A further name that clients may call the node by; several times")
      ->allow_extra_args(false);
  Option* idle = command->add_option("--idle", arguments->idle_seconds, "Ends after so many seconds without a client")
                     ->between(std::int64_t{1}, std::int64_t{366 * 24 * 3600});
  command->add_option("--log", options.log, "A file for the log, JSON lines; `-` is standard error")
      ->capture_default_str();
  command->add_flag("--started-by-client", options.started_by_client)->hidden();
  examples(
      *command,
      "  baton serve                                      for .baton here or above, by its socket\n"
      "  baton serve --listen 127.0.0.1:7070 --log node.log\n"
      "  baton serve --listen 0.0.0.0:7070 --tls-certificate node.pem --tls-key node.key --host baton.example\n"
      "  baton serve --store postgresql://baton@db/ledger --config baton.yaml --socket /run/baton/a.sock\n"
      "  baton serve --store /var/lib/baton --agent-socket /run/baton/agents.sock --agent-group baton-agents\n"
      "\nOther machines are listened to only with TLS, and once there is a token. SIGTERM and SIGINT end it: what is\n"
      "being answered is finished, who waits is told, what is queued is written. A second signal does not wait.\n"
      "The HTTP API: docs/reference/http-api.md. The configuration: docs/reference/config.md.\n"
      "Exit status: 0 ended as told, 2 could not start.");
  command->callback([arguments, idle, &chosen] {
    chosen = [arguments, idle](World& world) {
      ServeOptions& given = arguments->options;
      given.store = arguments->store.store;
      given.keys = arguments->store.keys;
      if (idle->count() > 0) given.idle = std::chrono::seconds(arguments->idle_seconds);
      return world.nodes.serve(world, given);
    };
  });
}

}  // namespace baton::cli
