// SPDX-License-Identifier: Apache-2.0
#include "main/house_node.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace baton::main {
namespace {

// Told apart from those of the client, which count from 1.
constexpr net::AsyncId kFirstDirect = net::AsyncId{1} << 62;
constexpr std::chrono::milliseconds kGrace{5'000};

// The two that every call has. The rest is rare, may be a stream, or may wait: the socket has all that is needed for it.
bool is_of_every_call(const net::AsyncRequest& request) {
  return request.method == "POST" && (request.target.ends_with("/calls") || request.target.ends_with("/settle"));
}

}  // namespace

Result<std::unique_ptr<HouseNode>> HouseNode::open(cli::World& world, const cli::ServeOptions& options,
                                                   boost::asio::io_context& context) {
  auto host = NodeHost::open({.world = world, .options = options, .log = {}, .refuse_agents = true});
  if (!host) return tl::make_unexpected(host.error());
  if (auto listening = (*host)->listen(); !listening) return tl::make_unexpected(listening.error());
  constexpr std::string_view kUnix = "unix:";
  std::string path;
  for (const std::string& address : (*host)->addresses())
    if (address.starts_with(kUnix)) path = address.substr(kUnix.size());
  auto client = net::AsyncClient::make(context, {.unix_path = std::move(path), .idle_max = 64});
  if (!client) return tl::make_unexpected(client.error());
  return std::unique_ptr<HouseNode>(new HouseNode(context, std::move(*host), std::move(*client)));
}

HouseNode::HouseNode(boost::asio::io_context& context, std::unique_ptr<NodeHost> host,
                     std::unique_ptr<net::AsyncClient> client)
    : host_(std::move(host)),
      client_(std::move(client)),
      self_(NodeHost::self()),
      open_(std::make_shared<Open>(context)),
      next_(kFirstDirect) {}

HouseNode::~HouseNode() {
  open_->ids.clear();
  host_->close(kGrace);
}

net::AsyncId HouseNode::send(net::AsyncRequest request, net::AsyncEvents events) {
  if (!is_of_every_call(request) || !host_->takes(request.body))
    return client_->send(std::move(request), std::move(events));
  const net::AsyncId id = next_++;
  open_->ids.insert(id);
  net::ServerRequest asked;
  asked.method = std::move(request.method);
  asked.path = std::move(request.target);
  asked.headers = std::move(request.headers);
  asked.headers.push_back({"Content-Type", std::move(request.content_type)});
  asked.body = std::move(request.body);
  asked.peer = self_;
  host_->ask(std::move(asked), [open = open_, id, done = std::move(events.on_done)](net::ServerResponse response) {
    boost::asio::post(open->context, [open, id, done, response = std::move(response)]() mutable {
      if (open->ids.erase(id) == 0) return;
      net::AsyncOutcome outcome;
      outcome.sent = true;
      outcome.answer = net::HttpAnswer{.status = response.status,
                                       .body = std::move(response.body),
                                       .content_type = std::move(response.content_type),
                                       .headers = std::move(response.headers)};
      done(std::move(outcome));
    });
  });
  return id;
}

void HouseNode::cancel(net::AsyncId id) {
  if (id >= kFirstDirect) open_->ids.erase(id);
  else client_->cancel(id);
}

}  // namespace baton::main
