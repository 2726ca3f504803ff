// SPDX-License-Identifier: Apache-2.0
#include "main/proxies.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/mcp_listen.h"
#include "cli/stores.h"
#include "main/house_node.h"
#include "main/node_host.h"
#include "net/line_pipe.h"
#include "net/url.h"
#include "proxy/config.h"
#include "proxy/driver.h"
#include "proxy/http_front.h"
#include "proxy/stdio_front.h"
#include "proxy/tool_list.h"

extern char** environ;

namespace baton::main {
namespace {

constexpr std::chrono::seconds kToolsWait{30};

// With the credentials that were taken out of it: a server gets one only if `--env` names it.
std::vector<std::string> our_environment(const OwnCredentials& credentials) {
  std::vector<std::string> out = credentials.taken();
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) out.emplace_back(*one);
  return out;
}

// A conversation behind the HTTP front.
class Behind final : public proxy::Behind {
 public:
  Behind(proxy::Shared& shared, proxy::Front& front) : driver_(proxy::Driver::make(shared, front)) {}
  void from_client(mcp::Stream stream, std::string message, Parameters parameters) override {
    driver_->from_client(stream, std::move(message), std::move(parameters));
  }
  void stream_gone(mcp::Stream stream) override { driver_->stream_gone(stream); }
  void stream_back(mcp::Stream stream) override { driver_->stream_back(stream); }
  void client_gone() override { driver_->client_gone(); }
  void front_drained() override { driver_->front_drained(); }
  bool is_full() const override { return driver_->is_full(); }
  const mcp::Revision* revision() const override { return driver_->revision(); }

 private:
  std::shared_ptr<proxy::Driver> driver_;
};

int run_http(cli::World& world, proxy::Shared& shared, boost::asio::signal_set& signals,
             const cli::ListenOptions& listen) {
  proxy::HttpFrontOptions options;
  for (const std::string& text : listen.listen) {
    const auto address = parse_listen(text);
    if (!address) return cli::could_not(world, "--listen takes HOST:PORT, not `" + printable(text, 100) + "`");
    options.listen.push_back(*address);
  }
  options.certificate_file = listen.certificate;
  options.key_file = listen.key;
  options.hosts = listen.hosts;
  options.origins = listen.origins;
  options.without_token = listen.without_token;
  using cli::ListenToken;
  const ListenToken kind = listen.without_token   ? ListenToken::None
                           : listen.token.empty() ? ListenToken::Made
                                                  : ListenToken::Given;
  const std::string token = kind == ListenToken::Made ? cli::new_listen_token(world) : listen.token;
  if (kind == ListenToken::Made) {
    // A token that the proxy made is for clients of this machine: others need one that was given to both sides.
    for (const net::ListenAddress& address : options.listen)
      if (!net::is_loopback(address.host))
        return cli::could_not(world,
                              "other machines are listened to only with TLS and a token that both sides were given: "
                              "--listen-token-file names its file");
  }
  if (!token.empty()) options.tokens = {token};
  options.requests_per_second = static_cast<double>(listen.requests_per_second);
  options.requests_at_once = 2 * options.requests_per_second;
  options.client_bytes_max = shared.options.client_bytes_max;
  options.server_bytes_max = shared.options.server_bytes_max;
  if (const std::string problem = proxy::problem_with(options); !problem.empty()) return cli::could_not(world, problem);
  auto front = proxy::HttpFront::start(shared.context, world.clock, world.random, std::move(options),
                                       [&shared](proxy::Front& of) { return std::make_unique<Behind>(shared, of); });
  if (!front) return cli::could_not(world, front.error().text());
  // Before it is said that the proxy listens: whoever waits for that reads the token next.
  auto files = cli::ListenFiles::keep(world, (*front)->addresses().front(), kind, token);
  if (!files) {
    if (kind == ListenToken::Made) return cli::could_not(world, files.error());
    shared.report("no note for `baton doctor`: " + files.error().text());
  } else if (kind == ListenToken::Made) {
    shared.report("clients present the bearer token in " + files->token_file().string());
  }
  if (kind == ListenToken::None)
    shared.report(
        "warning: --listen-without-token: every process of every user of this machine can call the servers behind this "
        "proxy");
  for (const std::string& address : (*front)->addresses()) shared.report("listening on " + address);
  const auto work = boost::asio::make_work_guard(shared.context);
  signals.async_wait([&front, &shared](const boost::system::error_code& error, int) {
    if (!error) (*front)->stop([&shared] { shared.context.stop(); });
  });
  shared.context.run();
  return cli::kYes;
}

}  // namespace

int RealProxies::run(cli::World& world, proxy::Options options, const cli::ListenOptions& listen,
                     const cli::ServeOptions* house) {
  const std::vector<std::string> ours = our_environment(credentials_);
  for (proxy::ServerOptions& server : options.servers)
    server.environment = proxy::child_environment(ours, server.environment);
  boost::asio::io_context context(1);
  std::unique_ptr<net::AsyncPlace> node;
  if (house != nullptr) {
    auto opened = HouseNode::open(world, *house, context);
    if (!opened) return cli::could_not(world, opened.error());
    node = std::move(*opened);
  } else {
    auto made =
        net::AsyncClient::make(context, {.url = options.node.url, .unix_path = options.node.unix_path, .idle_max = 64});
    if (!made) return cli::could_not(world, made.error().text());
    node = std::move(*made);
  }
  proxy::Shared shared{context, world.clock, world.random, options, *node, {}, [&world](std::string_view line) {
                         world.print_error("baton mcp: " + std::string(line) + "\n");
                       }};
  world.random.fill(shared.seal_key);
  boost::asio::signal_set signals(context, SIGTERM, SIGINT, SIGHUP);

  if (!listen.listen.empty()) return run_http(world, shared, signals, listen);
  auto streams = net::take_standard_streams();
  if (!streams) return cli::could_not(world, streams.error().text());
  proxy::StdioFront front(shared, std::move(streams->in), std::move(streams->out),
                          [&context](const std::string&) { context.stop(); });
  signals.async_wait([&front](const boost::system::error_code& error, int) {
    if (!error) front.stop();
  });
  context.run();
  return cli::kYes;
}

Result<std::string> RealProxies::read_tools(cli::World& world, proxy::ServerOptions server) {
  server.environment = proxy::child_environment(our_environment(credentials_), server.environment);
  return proxy::read_tools(world.clock, world.random, server, kToolsWait, [&world](std::string_view line) {
    world.print_error("baton: " + std::string(line) + "\n");
  });
}

}  // namespace baton::main
