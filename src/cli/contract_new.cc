// SPDX-License-Identifier: Apache-2.0
// baton contract new: writes a pack to start from.
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "adopt/rules.h"
#include "base/descriptor.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/contract.h"
#include "cli/input.h"
#include "cli/proxies.h"
#include "cli/render.h"
#include "contract/starter.h"
#include "hooks/event.h"
#include "json/parse.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string folder, agent, from_tools, upstream, client;
  std::vector<std::string> command, environment;
  bool from_mcp = false, force = false;
};

// Never through a link, and never over a file unless that was asked for.
Result<void> write_file(const fs::path& path, std::string_view text, bool force) {
  const std::string doing = "writing " + path.string();
  const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (force ? O_TRUNC : O_EXCL);
  const Descriptor descriptor(::open(path.c_str(), flags, 0666));
  if (descriptor.get() < 0) return failure(doing, std::strerror(errno));
  if (!write_all(descriptor.get(), text)) return failure(doing, std::strerror(errno));
  return {};
}

std::string agent_name(const Arguments& arguments) {
  if (!arguments.agent.empty()) return arguments.agent;
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(arguments.folder, error);
  const std::string name =
      folder.has_filename() ? folder.filename().string() : folder.parent_path().filename().string();
  return name.empty() ? "my-agent" : name;
}

// A server is started for its list of tools and ended again.
Result<std::string> tools_of_server(World& world, const Arguments& arguments) {
  proxy::ServerOptions server;
  server.argv = arguments.command;
  server.url = arguments.upstream;
  server.environment = arguments.environment;
  return world.proxies.read_tools(world, std::move(server));
}

constexpr std::string_view kSessionForAgent =
    R"(# A pack to start from for {agent}: every tool that it has by itself may be called, and a person is asked before a command line
# publishes something or becomes somebody else. Yours to change; docs/formats/contracts.md has every field.
schema_version: "1.0"
agent: {agent}
risk_defaults: {read: allow, write: allow, destructive: block, admin: block, financial: block}
session_limits: {max_tool_calls: 500, max_steps: 500}
claims: warn  # what a handoff says was run and read is compared with the calls; `require` refuses what they do not show
)";
// `dev.baton` has what Baton derives from a command line: docs/reference/hooks.md. A line that Baton cannot read needs approval too.
constexpr std::string_view kAskAboutCommands = R"(checkpoint:
  when: [{path: "$['dev.baton'].opaque", equals: true}, {path: "$['dev.baton'].may.publish", equals: true}, {path: "$['dev.baton'].may.escalate", equals: true}]
  timeout_seconds: 1800
  on_timeout: deny
  context: [{path: "$['dev.baton'].command", label: Command}]
)";

// A contract for each tool that a coding agent has by itself: what `baton adopt` writes where its user has no rules, and what is worth asking
// about.
std::optional<contract::Starter> starter_for(World& world, const Arguments& arguments) {
  const auto client = hooks::client_named(arguments.client);
  if (!client)
    return could_not(world, "no such coding agent: `" + printable(arguments.client, 60) +
                                "`; there are claude, codex, gemini, copilot, opencode and cursor"),
           std::nullopt;
  contract::Starter out;
  for (auto& [name, text] : adopt::pack_of(*client, {}, "", "").files) {
    if (name == "session.yaml") {
      constexpr std::string_view kPlace = "{agent}";
      text = kSessionForAgent;
      for (std::size_t at = text.find(kPlace); at != text.npos; at = text.find(kPlace))
        text.replace(at, kPlace.size(), arguments.client);
    } else if (name == "Bash.yaml") {
      // In the place of the one that only asks about lines that cannot be read.
      const std::size_t begin = text.find("checkpoint:");
      text.replace(begin, text.find('\n', begin) + 1 - begin, kAskAboutCommands);
    }
    out.files.push_back({name, std::move(text)});
  }
  return out;
}

void print_skipped(World& world, const contract::Starter& starter) {
  for (const std::string& skipped : starter.skipped)
    world.print_error("baton: skipped " + printable(skipped, 500) + "\n");
}

// Nothing (and a message) when the definitions cannot be read.
std::optional<contract::Starter> starter_of(World& world, const Arguments& arguments) {
  if (!arguments.client.empty()) return starter_for(world, arguments);
  if (arguments.from_tools.empty() && !arguments.from_mcp) return contract::starter_pack(agent_name(arguments));
  const std::string source = arguments.from_mcp ? "the server's list" : source_name(arguments.from_tools);
  const auto text = arguments.from_mcp ? tools_of_server(world, arguments)
                                       : read_document(world, arguments.from_tools, limits::kCliDocumentBytesMax);
  if (!text) return could_not(world, text.error().text()), std::nullopt;
  const auto document = json::parse_owned(*text);
  if (!document) return could_not(world, source + " is not JSON: " + document.error().what), std::nullopt;
  contract::Findings findings;
  findings.in(source);
  contract::Starter starter = contract::starter_from_tools(findings, agent_name(arguments), document->root());
  for (const contract::Finding& finding : findings.list())
    world.print_error(render_human({finding.diagnostic}, finding.file, *text, world.colour_errors));
  if (starter.files.size() <= 2) {  // session.yaml and tools.json
    print_skipped(world, starter);
    return could_not(world, "there is no tool in " + source + " to write a contract for"), std::nullopt;
  }
  starter.skipped.insert(starter.skipped.end(), findings.list().size(),
                         "an entry that is no tool definition of its own");
  return starter;
}

int make_new(World& world, const Arguments& arguments) {
  if (!arguments.client.empty() && (arguments.from_mcp || !arguments.from_tools.empty() || !arguments.agent.empty()))
    return could_not(world, "--for goes with none of --agent, --from-tools and --from-mcp");
  if (arguments.from_mcp ? arguments.command.empty() == arguments.upstream.empty() : !arguments.command.empty())
    return could_not(world, "--from-mcp takes a server: -- COMMAND ARGS..., or --upstream URL");
  const auto starter = starter_of(world, arguments);
  if (!starter) return kCouldNot;
  const fs::path folder(arguments.folder);
  if (!arguments.force) {
    std::string there;
    std::error_code error;
    for (const contract::StarterFile& file : starter->files)
      if (fs::exists(fs::symlink_status(folder / file.name, error))) there += (there.empty() ? "" : ", ") + file.name;
    if (!there.empty())
      return could_not(world, "in " + printable(arguments.folder, 200) + " there are already " + printable(there, 400) +
                                  "; nothing was written (--force writes over them)");
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return could_not(world, "making the folder " + arguments.folder + ": " + error.message());
  for (const contract::StarterFile& file : starter->files) {
    if (const auto written = write_file(folder / file.name, file.text, arguments.force); !written)
      return could_not(world, written.error().text());
    world.print((folder / file.name).string() + "\n");
  }
  print_skipped(world, *starter);
  return starter->skipped.empty() ? kYes : kNo;
}

}  // namespace

void add_contract_new(Command& contract, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = contract.add_subcommand("new", "Write a pack to start from");
  command->add_option("FOLDER", arguments->folder, "Where to; it is made when it is not there")->required();
  command->add_option("--agent", arguments->agent, "The agent's name (default: that of the folder)");
  command->add_option("--for", arguments->client,
                      "A contract for each tool of a coding agent: claude, codex, gemini, copilot, opencode or cursor");
  command->add_option(
      "--from-tools", arguments->from_tools,
      "A contract for each of these tools: an MCP tools/list result, or OpenAI's or Anthropic's definitions");
  command->add_flag("--from-mcp", arguments->from_mcp,
                    "A contract for each tool of an MCP server, which is started for it");
  command->add_option("COMMAND", arguments->command, "The server of --from-mcp, and its arguments, behind `--`");
  command->add_option("--upstream", arguments->upstream,
                      "The server of --from-mcp is one that runs: the URL of its endpoint");
  command
      ->add_option("--env", arguments->environment,
                   "NAME=VALUE, or NAME for ours, for the environment of the server of --from-mcp; several times")
      ->allow_extra_args(false);
  command->add_flag("--force", arguments->force, "Write over files that are there");
  examples(*command,
           "  baton contract new my-pack\n"
           "  baton contract new my-pack --for claude          a pack that Claude Code can work under\n"
           "  baton contract new my-pack --agent refunds --from-tools tools.json\n"
           "  baton contract new my-pack --from-mcp -- npx -y @modelcontextprotocol/server-filesystem /srv\n"
           "  grep REVIEW my-pack/*.yaml                       what was guessed");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return make_new(world, *arguments); }; });
}

}  // namespace baton::cli
