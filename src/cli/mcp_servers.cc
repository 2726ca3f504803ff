// SPDX-License-Identifier: Apache-2.0
// The options that say which MCP servers a command is about.
#include <filesystem>

#include "base/limits.h"
#include "base/text.h"
#include "cli/input.h"
#include "cli/mcp.h"
#include "cli/render.h"
#include "net/http_client.h"
#include "proxy/config.h"

namespace baton::cli {
namespace {

// NAME=VALUE, or NAME=@FILE where the value should not stand on a command line. Nothing, and a message, when it is neither.
std::optional<net::Header> header_option(World& world, const std::string& text) {
  const std::size_t at = text.find('=');
  net::Header header;
  if (at != std::string::npos) {
    header = {text.substr(0, at), text.substr(at + 1)};
    if (header.value.starts_with('@')) {
      auto read = read_document(world, header.value.substr(1), 64u << 10);
      if (!read) return could_not(world, read.error().text()), std::nullopt;
      header.value = std::string(trim(*read));
    }
  }
  if (at == std::string::npos || !net::is_sendable(header)) {
    // The value may be a secret.
    could_not(world,
              "--upstream-header takes NAME=VALUE or NAME=@FILE, not `" + printable(text.substr(0, at), 60) + "`...");
    return std::nullopt;
  }
  return header;
}

// A name for a command without one: that of its program, as far as it can be one.
std::string name_of_command(const std::string& program) {
  std::string out;
  for (const char c : std::filesystem::path(program).filename().string())
    if (out.size() < 32 && (is_alphanumeric(c) || c == '-' || (c == '_' && !out.ends_with('_')))) out += c;
  while (out.ends_with('_')) out.pop_back();
  while (out.starts_with('_')) out.erase(0, 1);
  return out.empty() ? "server" : out;
}

}  // namespace

std::optional<std::vector<proxy::ServerOptions>> servers_of(World& world, const McpServerArguments& arguments) {
  std::vector<proxy::ServerOptions> out;
  const int given =
      (arguments.command.empty() ? 0 : 1) + (arguments.upstream.empty() ? 0 : 1) + (arguments.config.empty() ? 0 : 1);
  if (given != 1)
    return could_not(world, "say which server: -- COMMAND ARGS..., --upstream URL, or --config FILE; one of them"),
           std::nullopt;
  if (!arguments.config.empty()) {
    const auto text = read_document(world, arguments.config, limits::kYamlBytesMax);
    if (!text) return could_not(world, text.error().text()), std::nullopt;
    proxy::ServersRead read = proxy::read_servers(*text);
    if (!read.diagnostics.empty())
      world.print_error(render_human(read.diagnostics, source_name(arguments.config), *text, world.colour_errors));
    if (has_errors(read.diagnostics)) return std::nullopt;
    if (!read.problem.empty())
      return could_not(world, source_name(arguments.config) + ": " + read.problem), std::nullopt;
    out = std::move(read.servers);
  } else {
    proxy::ServerOptions server;
    server.argv = arguments.command;
    server.url = arguments.upstream;
    server.ca_file = arguments.upstream_ca;
    for (const std::string& text : arguments.upstream_headers) {
      auto header = header_option(world, text);
      if (!header) return std::nullopt;
      server.headers.push_back(std::move(*header));
    }
    server.name = !arguments.name.empty()      ? arguments.name
                  : !arguments.command.empty() ? name_of_command(arguments.command[0])
                                               : "server";
    if (const std::string problem = proxy::problem_with_name(server.name); !problem.empty())
      return could_not(world, "--name " + problem), std::nullopt;
    out.push_back(std::move(server));
  }
  for (proxy::ServerOptions& server : out) {
    server.environment.insert(server.environment.begin(), arguments.environment.begin(), arguments.environment.end());
    if (server.url.empty()) continue;
    if (const std::string problem = net::problem_with_url(server.url); !problem.empty())
      return could_not(world, "the address of `" + server.name + "` " + problem), std::nullopt;
  }
  return out;
}

void add_mcp_server_options(Command& command, McpServerArguments& arguments) {
  command.add_option("COMMAND", arguments.command, "The server, and its arguments, behind `--`");
  command.add_option("--name", arguments.name, "What the server is called; default: the program's name");
  command.add_option("--config", arguments.config,
                     "A file with several servers, YAML or JSON; their tools are NAME__TOOL");
  command.add_option("--upstream", arguments.upstream,
                     "A server that runs: the URL of its MCP endpoint (Streamable HTTP)");
  command
      .add_option("--upstream-header", arguments.upstream_headers,
                  "NAME=VALUE or NAME=@FILE, sent to --upstream with every request; several times")
      ->allow_extra_args(false);
  command.add_option("--upstream-ca", arguments.upstream_ca,
                     "A PEM file with the certificates to trust for --upstream");
  command
      .add_option("--env", arguments.environment,
                  "NAME=VALUE, or NAME for ours, for the server's environment; several times")
      ->allow_extra_args(false);
}

}  // namespace baton::cli
