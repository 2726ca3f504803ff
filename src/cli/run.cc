// SPDX-License-Identifier: Apache-2.0
// baton run: claims an item, runs an agent on it inside its contract, and hands over what it says.
#include <filesystem>
#include <memory>

#include "base/limits.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/supervisors.h"
#include "cli/work.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;

// Claude Code keeps more than its servers in the same file.
constexpr std::size_t kConfigBytesMax = 16u << 20;
constexpr std::int64_t kIdleSeconds = 600, kLastWordsSeconds = 30;

struct Arguments {
  NodeOptions node;
  std::string work, role, pack, client, ttl, wait, timeout, idle, answer_wait, grace;
  std::vector<std::string> phases, mcp_configs, command;
  std::uint32_t repairs = 2;
  bool watch = false, ungoverned = false, scan_output = false;
};

// By its hash, or the beginning of it; by its agent, or its role. Nothing, and a message, when it is none of one.
std::optional<std::string> find_pack(World& world, json::Node packs, const std::string& wanted) {
  std::string found;
  for (const json::Node one : packs["packs"].elements()) {
    const std::string hash = text_of(one["pack"]);
    const bool by_hash = wanted.size() >= 8 && hash.starts_with(wanted);
    if (!by_hash && !one["agent"].is_text(wanted) && !one["role"].is_text(wanted)) continue;
    if (!found.empty() && found != hash)
      return could_not(world, "several packs are called `" + printable(wanted, 64) + "`; name one by its hash"),
             std::nullopt;
    found = hash;
  }
  if (found.empty()) return could_not(world, "no pack `" + printable(wanted, 64) + "` is active"), std::nullopt;
  return found;
}

// The servers of the client's configuration. False, and a message: what is in a file cannot be told, so nobody knows what would start.
bool read_client_servers(World& world, const Arguments& arguments, supervisor::Options& options) {
  std::error_code error;
  const std::string folder = fs::current_path(error).string();
  const auto files = supervisor::server_files(options.client, world.environment("HOME").value_or(""), folder,
                                              world.environment("CODEX_HOME").value_or(""));
  const auto read = [&](supervisor::Client client, const std::string& file) {
    const auto text = read_document(world, file, kConfigBytesMax);
    if (!text) return could_not(world, text.error().text()), false;
    if (supervisor::read_servers(client, *text, folder, options.servers)) return true;
    could_not(world, printable(file, 200) + " is not JSON: which MCP servers the client has cannot be told");
    return false;
  };
  for (const std::string& file : files)
    if (fs::exists(file, error) && !read(options.client, file)) return false;
  options.home = world.environment("HOME").value_or("");
  if (const std::string file = supervisor::settings_file(options.client, options.home);
      !file.empty() && fs::exists(file, error)) {
    const auto text = read_document(world, file, kConfigBytesMax);
    if (!text) return could_not(world, text.error().text()), false;
    options.client_settings = *text;
  }
  if (const std::string file = supervisor::overriding_file(options.client, folder);
      !file.empty() && fs::exists(file, error)) {
    const auto text = read_document(world, file, kConfigBytesMax);
    if (!text) return could_not(world, text.error().text()), false;
    if (const std::string problem = supervisor::problem_with_override(options.client, *text); !problem.empty())
      return could_not(world, printable(file, 200) + " counts before what is wired for the run, and " + problem), false;
  }
  for (const std::string& file : arguments.mcp_configs)
    if (!read(supervisor::Client::Claude, file)) return false;
  return true;
}

std::optional<supervisor::Options> options_of(World& world, const Arguments& arguments) {
  const auto wrong = [&](std::string_view what) { return could_not(world, what), std::nullopt; };
  if (arguments.command.empty()) return wrong("say which agent: -- COMMAND ARGS...");
  if (!arguments.work.empty() && !arguments.phases.empty())
    return wrong("an item that is named has its own phase; --phase is for the next one");
  if (!arguments.work.empty() && arguments.watch) return wrong("--watch takes one item after the other; --work is one");
  if (arguments.ungoverned && !arguments.pack.empty())
    return wrong("--ungoverned holds the session to no pack, and --pack to one");
  const Span ttl = span_option(world, "--ttl", arguments.ttl), wait = span_option(world, "--wait", arguments.wait),
             timeout = span_option(world, "--timeout", arguments.timeout),
             idle = span_option(world, "--idle", arguments.idle),
             answer_wait = span_option(world, "--answer-wait", arguments.answer_wait),
             grace = span_option(world, "--grace", arguments.grace);
  for (const Span* span : {&ttl, &wait, &timeout, &idle, &answer_wait, &grace})
    if (!span->good) return std::nullopt;
  supervisor::Options out;
  out.work = arguments.work;
  out.role = arguments.role;
  out.phases = arguments.phases;
  out.ttl_seconds = ttl.seconds;
  out.wait_seconds = wait.seconds.value_or(0);
  out.watch = arguments.watch;
  out.governed = !arguments.ungoverned;
  out.argv = arguments.command;
  out.client = arguments.client.empty() ? supervisor::guess_client(arguments.command)
                                        : supervisor::find_client(arguments.client).value_or(supervisor::Client::Other);
  out.scan_output = arguments.scan_output;
  out.terms.timeout_ns = timeout.seconds.value_or(0) * kNanosecondsPerSecond;
  out.terms.idle_ns = std::max<std::int64_t>(1, idle.seconds.value_or(kIdleSeconds)) * kNanosecondsPerSecond;
  out.terms.answer_wait_ns = answer_wait.seconds.value_or(0) * kNanosecondsPerSecond;
  out.terms.last_words_ns = kLastWordsSeconds * kNanosecondsPerSecond;
  out.terms.repairs_max = static_cast<int>(arguments.repairs);
  if (grace.seconds) out.grace = std::chrono::seconds(*grace.seconds);
  out.json = arguments.node.json();
  return out;
}

int run(World& world, const Arguments& arguments) {
  auto options = options_of(world, arguments);
  if (!options) return kCouldNot;
  if (options->governed && options->client != supervisor::Client::Other) {
    if (const std::string problem = supervisor::problem_with_command(options->client, options->argv); !problem.empty())
      return could_not(world, problem);
    if (!read_client_servers(world, arguments, *options)) return kCouldNot;
  } else if (!arguments.mcp_configs.empty()) {
    return could_not(world, "--mcp-config is for a client that is known, and held to a pack");
  }
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  if (client->in_process()) return could_not(world, "an agent and its supervisor need a node: unset BATON_IN_PROCESS");
  // Asked first: a node is started for it where none runs.
  const auto packs = client->get("/v1/packs");
  if (!packs) return could_not(world, packs.error());
  if (!packs->ok()) return refused(world, arguments.node, *packs);
  if (!arguments.pack.empty()) {
    const auto pack = find_pack(world, packs->root(), arguments.pack);
    if (!pack) return kNo;
    options->pack = *pack;
  } else if (options->governed && packs->root()["packs"].size() == 0) {
    could_not(world,
              "no pack is active, so there is nothing to hold the agent to: `baton contract activate PACK` makes one "
              "active, `baton contract new PACK --for claude` writes one to start from; --ungoverned runs it without");
    return kNo;
  }
  const Client::Address address = client->address();
  const auto key = client->answer_key();
  if (!key) return could_not(world, key.error());
  options->node = {address.url, address.unix_path, address.token, *key};
  return world.supervisors.run(world, std::move(*options));
}

}  // namespace

void add_run(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command =
      app.add_subcommand("run", "Claims an item, runs an agent on it inside its contract, and hands over what it says");
  command->add_option("COMMAND", arguments->command, "The agent, and its arguments, behind `--`");
  command->add_option("--work", arguments->work, "This item; default: the next one that can be claimed");
  command->add_option("--phase", arguments->phases, "The next one in this phase; may be repeated")
      ->allow_extra_args(false)
      ->one_of(phase_names());
  command->add_option("--role", arguments->role, "In this role; default: the one the phase has");
  command->add_option("--wait", arguments->wait,
                      "When there is nothing to claim, wait for something so long, such as 10m");
  command->add_flag("--watch", arguments->watch, "One item after the other, until told to stop: a worker");
  command->add_option("--ttl", arguments->ttl,
                      "How long the lease lasts when it is not renewed; default: what the workspace says");
  command->add_option("--pack", arguments->pack,
                      "The pack the session is held to: its hash, its agent or its role; default: that of the role");
  command->add_flag("--ungoverned", arguments->ungoverned,
                    "Hold the session to no pack, and wire nothing: the agent's calls are not judged");
  command->add_option("--client", arguments->client, "What the command is; default: by the name of its program")
      ->one_of(supervisor::client_names());
  command->add_flag(
      "--scan-output", arguments->scan_output,
      "Of a client that is not known: search all its output for the handoff. A file that it prints can then "
      "complete the item; default: only `baton handoff submit` and the tool baton_handoff count");
  command
      ->add_option("--mcp-config", arguments->mcp_configs,
                   "A JSON file with `mcpServers` that the client gets, behind the proxy; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--timeout", arguments->timeout,
                      "The agent may run so long in all, such as 2h; default: as long as it likes");
  command->add_option("--idle", arguments->idle,
                      "Without output, calls or use of the processor for so long it is dead; default: 10m");
  command->add_option("--answer-wait", arguments->answer_wait,
                      "When it ends by asking a person: wait so long for the answer and go on with it; default: end");
  command->add_option("--repairs", arguments->repairs, "How often it is asked again for a handoff that can be taken")
      ->between(std::uint64_t{0}, std::uint64_t{2})
      ->capture_default_str();
  command->add_option("--grace", arguments->grace, "Between SIGTERM and SIGKILL when it is ended; default: 5s");
  add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
  examples(*command,
           "  baton run --work web-12 -- claude -p 'Do what the item says.' --output-format stream-json --verbose\n"
           "  baton run --role implementer -- codex exec --json 'Do what the item says.'\n"
           "  baton run --watch --timeout 2h -- ./agent.sh         a worker: one item after the other\n"
           "  baton run --ungoverned --format json -- ./agent.sh   no pack; the result as one line of JSON\n"
           "\nWhat the agent is given and how it hands over: docs/reference/run.md. Exit status: 0 completed;\n"
           "1 blocked: its handoff says so, or it waits for a person, or there is nothing to claim; 2 could not; 3 "
           "crashed:\n"
           "it ended without a handoff; 4 timed out, or showed no life; 5 refused: no handoff was taken, or the lease "
           "was lost.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return run(world, *arguments); }; });
}

}  // namespace baton::cli
