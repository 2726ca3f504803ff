// SPDX-License-Identifier: Apache-2.0
// baton mcp: stands between an MCP client and its servers, and lets through what the contract allows.
#include <memory>

#include "base/limits.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/credentials.h"
#include "cli/mcp.h"
#include "cli/proxies.h"

namespace baton::cli {
namespace {

constexpr std::size_t kMegabyte = 1u << 20;

struct Arguments {
  NodeOptions node;
  McpServerArguments servers;
  std::string pack, role, session, work, client, mode = "enforce";
  bool among_others = false;
  std::vector<std::string> labels;
  ListenOptions listen;
  std::string listen_token_file, operator_token_file;
  std::size_t client_megabytes = 4, server_megabytes = 64, timeout_seconds = 300;
};

// --- the session ----------------------------------------------------------------------------------------------------------------------

// Finds the session that conversations are held to, or what each is to open one by.
class Governing {
 public:
  Governing(World& world, const Arguments& arguments, Client& client, proxy::Options& options)
      : world_(world), arguments_(arguments), client_(client), options_(options) {}

  // kYes, or what to end with.
  int find() {
    options_.role = arguments_.role;
    options_.mode = arguments_.mode == "enforce" ? "" : arguments_.mode;
    options_.labels = arguments_.labels;
    // Asked whatever else is: a node is started for it where none runs.
    auto packs = client_.get("/v1/packs");
    if (!packs) return could_not(world_, packs.error());
    if (!packs->ok()) return refused(world_, arguments_.node, *packs);
    if (!arguments_.pack.empty())
      if (const int status = find_pack(packs->root()); status != kYes) return status;
    // Texts of servers are held to a pack that says so, also before anything is called.
    for (const json::Node one : packs->root()["packs"].elements())
      options_.discover_needs_session = options_.discover_needs_session || one["holds_texts"].is_true();
    if (!arguments_.work.empty()) return claim();
    const bool joins = arguments_.session.empty() ? !client_.session_id().empty() : arguments_.session != "new";
    if (!joins) {
      client_.use_session({});
      if (arguments_.pack.empty() && !has_role(packs->root()))
        return could_not(world_, "no pack is active for the role `" +
                                     (arguments_.role.empty() ? std::string("agent") : arguments_.role) +
                                     "`: --pack or --role names one; `baton contract activate` makes one active"),
               kNo;
      return kYes;
    }
    return join();
  }

  // What was claimed for the proxy is given back, unless it was handed over.
  void give_back() {
    if (claimed_.empty()) return;
    client_.renew_idempotency_key();
    json::Value body = json::Value::object();
    body.set("reason", "the proxy ended");
    static_cast<void>(client_.post("/v1/sessions/" + url_part(claimed_) + "/release", body));
  }

 private:
  bool has_role(json::Node packs) const {
    const std::string role = arguments_.role.empty() ? "agent" : arguments_.role;
    for (const json::Node one : packs["packs"].elements())
      if (one["role"].is_text(role)) return true;
    return false;
  }

  // By its hash, or the beginning of it; by its agent, or its role.
  int find_pack(json::Node packs) {
    const std::string& wanted = arguments_.pack;
    std::string found, listed, role;
    bool several = false;
    for (const json::Node one : packs["packs"].elements()) {
      const std::string hash = text_of(one["pack"]);
      listed += (listed.empty() ? "" : ", ") + shown(one["role"], 64);
      const bool by_hash = wanted.size() >= 8 && hash.starts_with(wanted);
      if (!by_hash && !one["agent"].is_text(wanted) && !one["role"].is_text(wanted)) continue;
      several = several || (!found.empty() && found != hash);
      found = hash;
      role = text_of(one["role"]);
    }
    if (several)
      return could_not(world_, "several packs are called `" + printable(wanted, 64) + "`; name one by its hash"), kNo;
    if (found.empty())
      return could_not(world_, "no pack `" + printable(wanted, 64) + "` is active; there are those of the roles: " +
                                   (listed.empty() ? "(none)" : listed)),
             kNo;
    options_.pack = found;
    if (options_.role.empty()) options_.role = role;
    return kYes;
  }

  int claim() {
    json::Value body = json::Value::object();
    if (!arguments_.role.empty()) body.set("role", arguments_.role);
    client_.use_session({});
    auto claimed = client_.post("/v1/work/" + url_part(arguments_.work) + "/claim", body);
    if (!claimed) return could_not(world_, claimed.error());
    if (!claimed->ok()) return refused(world_, arguments_.node, *claimed);
    if (!(*claimed)["session"]["token"].is_string())
      return could_not(world_, "the item `" + printable(arguments_.work, 64) + "` cannot be claimed now"), kNo;
    client_.use_session(text_of((*claimed)["session"]["token"]));
    claimed_ = client_.session_id();
    return join();
  }

  // A leased session is held to the pack first.
  int join() {
    const std::string id = arguments_.session.empty() || !claimed_.empty() ? client_.session_id() : arguments_.session;
    if (!client_.session_id().empty() && client_.session_id() != id)
      return could_not(world_, "the session's token is that of another session than --session names");
    auto there = client_.get("/v1/sessions/" + url_part(id));
    if (!there) return could_not(world_, there.error());
    if (!there->ok()) return refused(world_, arguments_.node, *there);
    if (!(*there)["session"]["governed"]) {
      json::Value body = json::Value::object();
      if (client_.session_id().empty()) body.set("session_id", id);
      if (!options_.pack.empty()) body.set("pack", options_.pack);
      if (!arguments_.role.empty()) body.set("role", arguments_.role);
      if (!options_.mode.empty()) body.set("mode", options_.mode);
      client_.renew_idempotency_key();
      auto held = client_.post("/v1/sessions", body);
      if (!held) return could_not(world_, held.error());
      if (!held->ok()) return give_back(), refused(world_, arguments_.node, *held);
    }
    options_.node.session_id = id;
    options_.discover_needs_session = true;  // it is there already, whatever it is held to
    return kYes;
  }

  World& world_;
  const Arguments& arguments_;
  Client& client_;
  proxy::Options& options_;
  std::string claimed_;  // a session that is ours to give back
};

int run(World& world, Arguments& arguments) {
  auto servers = servers_of(world, arguments.servers);
  if (!servers) return kCouldNot;
  if (!arguments.work.empty() && !arguments.session.empty())
    return could_not(world, "--work claims the item in a session of its own: without --session");
  // Only an operator opens a session that enforces nothing.
  const Presents presents = arguments.mode == "enforce" ? Presents::Session : Presents::Operator;
  auto client = Client::open(world, arguments.node, presents);
  if (!client) return could_not(world, client.error());
  if (!arguments.listen.without_token) {
    if (!arguments.listen_token_file.empty()) {
      auto token = read_token_file(world, arguments.listen_token_file, false);
      if (!token) return could_not(world, token.error());
      arguments.listen.token = std::move(*token);
    } else {
      arguments.listen.token = std::string(trim(world.environment("BATON_MCP_TOKEN").value_or("")));
    }
  }
  proxy::Options options;
  options.servers_are_all = !arguments.among_others;
  if (!arguments.client.empty()) options.client = hooks::client_named(arguments.client);
  if (!arguments.operator_token_file.empty()) {
    auto token = read_token_file(world, arguments.operator_token_file, false);
    if (!token) return could_not(world, token.error());
    options.operator_token = std::move(*token);
  } else if (auto kept = client->kept_operator_token()) {
    options.operator_token = std::move(*kept);
  }
  options.servers = std::move(*servers);
  options.version = BATON_VERSION;
  options.client_bytes_max = arguments.client_megabytes * kMegabyte;
  options.server_bytes_max = arguments.server_megabytes * kMegabyte;
  options.request_timeout = std::chrono::seconds(arguments.timeout_seconds);
  Governing governing(world, arguments, *client, options);
  if (const int status = governing.find(); status != kYes) return status;
  const Client::Address address = client->address();
  options.node.url = address.url;
  options.node.unix_path = address.unix_path;
  options.node.token = address.token;
  options.node.session_token = address.session_token;
  const int status = world.proxies.run(world, std::move(options), arguments.listen, client->house());
  governing.give_back();
  return status;
}

}  // namespace

void add_mcp(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand(
      "mcp", "Stands between an MCP client and its servers, and lets through what the contract allows");
  command->add_option("--pack", arguments->pack,
                      "The pack sessions are held to: its hash, its agent or its role; default: that of the role");
  command->add_option("--role", arguments->role, "The role of the session; default: agent");
  command->add_option("--session", arguments->session,
                      "A governed session to join, or `new`; default: that of BATON_SESSION_TOKEN, else new");
  command->add_option("--work", arguments->work,
                      "Claim this item for the session; given back at the end unless handed over");
  command->add_option("--label", arguments->labels, "A label that the session begins with; several times")
      ->allow_extra_args(false);
  command
      ->add_option("--mode", arguments->mode,
                   "enforce, or shadow: judged and recorded, and nothing held back (operators)")
      ->one_of({"enforce", "shadow"})
      ->capture_default_str();
  command->add_option("--operator-token-file", arguments->operator_token_file,
                      "For decisions of the client's user, where the pack says that they are the operator; default: "
                      "the operator's that this user keeps");
  add_mcp_server_options(*command, arguments->servers);
  command
      ->add_option("--client", arguments->client,
                   "The coding agent in front: no server's tool may use the contract for one of its own tools")
      ->one_of({"claude", "codex", "gemini", "copilot", "opencode", "cursor"});
  command->add_flag(
      "--among-others", arguments->among_others,
      "The client has further MCP servers: a contract has to name the server (SERVER:TOOL), or the pack has a "
      "tools.lock.json");
  command
      ->add_option("--listen", arguments->listen.listen,
                   "Serve Streamable HTTP on HOST:PORT instead of stdin and stdout")
      ->allow_extra_args(false);
  Option* token = command->add_option(
      "--listen-token-file", arguments->listen_token_file,
      "File with the bearer token that clients of --listen present; default: BATON_MCP_TOKEN, else the proxy makes a "
      "token and prints the path of its file");
  command
      ->add_flag("--listen-without-token", arguments->listen.without_token,
                 "Of --listen on loopback: accept requests without a token, from every user of this machine")
      ->excludes(token);
  Option* certificate = command->add_option("--tls-certificate", arguments->listen.certificate,
                                            "Of --listen: a PEM file, the chain with it");
  Option* key = command->add_option("--tls-key", arguments->listen.key, "Its private key, a PEM file");
  certificate->needs(key);
  key->needs(certificate);
  command
      ->add_option("--host", arguments->listen.hosts,
                   "A further name that clients may call the proxy by; several times")
      ->allow_extra_args(false);
  command
      ->add_option("--origin", arguments->listen.origins, "A web origin whose pages may call the proxy; several times")
      ->allow_extra_args(false);
  command
      ->add_option("--requests-per-second", arguments->listen.requests_per_second,
                   "Of --listen: how many of one token, or of one address with --listen-without-token; 0: any number")
      ->between(std::uint64_t{0}, std::uint64_t{1'000'000})
      ->capture_default_str();
  command->add_option("--client-megabytes", arguments->client_megabytes, "The largest message of the client")
      ->between(std::uint64_t{1}, std::uint64_t{64})
      ->capture_default_str();
  command->add_option("--server-megabytes", arguments->server_megabytes, "The largest message of a server")
      ->between(std::uint64_t{1}, std::uint64_t{64})
      ->capture_default_str();
  command
      ->add_option("--timeout", arguments->timeout_seconds,
                   "Seconds that --upstream has until its answer begins, and each of several servers to begin")
      ->between(std::uint64_t{1}, std::uint64_t{86'400})
      ->capture_default_str();
  add_node_options(*command, arguments->node, Presents::Session, Changes::Nothing, {});
  examples(
      *command,
      "  baton mcp -- npx -y @modelcontextprotocol/server-filesystem /srv\n"
      "  baton mcp --pack refunds --env API_KEY -- ./server --stdio\n"
      "  baton mcp --upstream https://tickets.example/mcp --upstream-header Authorization=@header.txt\n"
      "  baton mcp --config servers.yaml --listen 127.0.0.1:8931\n"
      "  baton mcp --work web-12 --role builder -- ./server          the item is claimed for it\n"
      "\nWhat it does with messages: docs/reference/mcp.md. What is refused is told to the model as the result of the\n"
      "call. Exit status: 0 the client went, 1 no such pack, item or session, 2 could not.");
  add_mcp_lock(*command, chosen);
  add_mcp_approve_changes(*command, chosen);
  command->callback([arguments, &chosen, command] {
    if (!command->subcommand_given()) chosen = [arguments](World& world) { return run(world, *arguments); };
  });
}

}  // namespace baton::cli
