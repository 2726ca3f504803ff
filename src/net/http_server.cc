// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "net/connection.h"
#include "net/http_rules.h"
#include "net/listener.h"
#include "net/worker.h"

namespace baton::net {

std::optional<std::string_view> ServerRequest::header(std::string_view name) const {
  return find_header(headers, name);
}

// --- Worker -----------------------------------------------------------------------------------------------------------

void Worker::adopt(Descriptor socket, Seat seat, Peer peer) {
  if (stopping) return;
  try {
    const auto connection = std::make_shared<Connection>(*this, std::move(socket), std::move(seat), std::move(peer));
    connections.insert(connection);
    connection->start();
  } catch (const boost::system::system_error&) {
    // The kernel cannot watch one more socket; it is closed.
  }
}

void Worker::forget(const std::shared_ptr<Connection>& connection) {
  connections.erase(connection);
  if (stopping && connections.empty()) grace.cancel();
}

void Worker::finish(std::chrono::milliseconds time) {
  stopping = true;
  guard.reset();
  const auto end_all = [this](void (Connection::*end)()) {
    const std::vector<std::shared_ptr<Connection>> all(connections.begin(), connections.end());
    for (const auto& connection : all) (connection.get()->*end)();
  };
  end_all(&Connection::finish);
  if (connections.empty()) return;
  // Also keeps the thread from ending while a request is being answered and nothing is waited for.
  grace.expires_after(time);
  grace.async_wait([end_all](const boost::system::error_code& error) {
    if (!error) end_all(&Connection::close);
  });
}

// --- the server -------------------------------------------------------------------------------------------------------

namespace {

// What connections refer to. On somebody else's loop they may be let go of after the server.
struct Inside {
  Service service;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::shared_ptr<Listener>> listeners;
};

class Server final : public HttpServer {
 public:
  ~Server() override {
    stop(std::chrono::milliseconds(0));
    // After all that the loop still has of ours.
    if (host_ != nullptr) boost::asio::post(*host_, [inside = inside_] {});
  }

  Result<void> start(const ServerOptions& options, Handle handle, Refuse refuse, Admit admit) {
    service_.limits = options.limits;
    service_.hosts = admitted_hosts(options);
    service_.origins = origin_rules(options);
    service_.handle = std::move(handle);
    service_.refuse = std::move(refuse);
    service_.admit = std::move(admit);
    service_.tcp_connections = options.limits.connections;
    if (!options.unix_path.empty()) service_.tcp_connections -= socket_reserve(options.limits.connections);
    if (options.certificate_file.empty() != options.key_file.empty())
      return failure("starting the server", "a certificate needs its key, and a key its certificate");
    if (!options.certificate_file.empty()) {
      auto tls = server_tls(options.certificate_file, options.key_file);
      if (!tls) return tl::make_unexpected(tls.error());
      service_.tls = std::move(*tls);
    }
    try {
      return open(options);
    } catch (const std::exception& error) {
      return failure("starting the server", error.what());
    }
  }

  std::vector<std::string> addresses() const override { return addresses_; }

  ServerFigures figures() const override {
    return {service_.connections_open, service_.connections_total, service_.requests_total, service_.refused_total,
            service_.streams_open};
  }

  void stop(std::chrono::milliseconds grace) override {
    const std::lock_guard lock(stopping_);
    if (host_ != nullptr) return leave();
    for (const std::thread& thread : threads_) CHECK(thread.get_id() != std::this_thread::get_id());
    if (!threads_.empty()) workers_.front()->mailbox->post([this] { close_listeners(); });
    for (std::size_t i = 0; i < threads_.size(); ++i)
      workers_[i]->mailbox->post([worker = workers_[i].get(), grace] { worker->finish(grace); });
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    close_listeners();
    for (const auto& worker : workers_) {
      // What was posted after the thread had ended: streams that are to hear that they have ended too.
      worker->mailbox->close();
      worker->context.restart();
      worker->context.poll();
    }
  }

 private:
  Result<void> open(const ServerOptions& options) {
    std::vector<Listening> all;
    if (!options.unix_path.empty()) {
      auto listening = listen_unix(options.unix_path);
      if (!listening) return tl::make_unexpected(listening.error());
      all.push_back(std::move(*listening));
    }
    if (options.agents) {
      auto listening = listen_unix(*options.agents);
      if (!listening) return tl::make_unexpected(listening.error());
      all.push_back(std::move(*listening));
    }
    host_ = options.context;
    for (unsigned i = 0; i < (host_ != nullptr ? 1 : std::max(options.threads, 1u)); ++i)
      workers_.push_back(std::make_unique<Worker>(service_, host_));
    const auto add = [this](Listening listening) {
      if (!listening.address.empty()) addresses_.push_back(listening.address);
      listeners_.push_back(std::make_shared<Listener>(*workers_.front(), workers_, std::move(listening)));
    };
    for (Listening& listening : all) add(std::move(listening));
    for (const ListenAddress& address : options.listen) {
      auto opened = listen_tcp(address);
      if (!opened) return tl::make_unexpected(opened.error());
      for (Listening& listening : *opened) add(std::move(listening));
    }
    if (listeners_.empty()) return failure("starting the server", "there is nothing to listen on");
    for (const auto& listener : listeners_) listener->start();
    if (host_ != nullptr) return {};
    for (const auto& worker : workers_) threads_.emplace_back([worker = worker.get()] { worker->context.run(); });
    return {};
  }

  void leave() {
    close_listeners();
    for (const auto& worker : workers_) {
      worker->stopping = true;
      const std::vector<std::shared_ptr<Connection>> all(worker->connections.begin(), worker->connections.end());
      for (const auto& connection : all) connection->close();
      worker->mailbox->close();
    }
  }

  void close_listeners() {
    for (const auto& listener : listeners_) listener->close();
  }

  const std::shared_ptr<Inside> inside_ = std::make_shared<Inside>();
  Service& service_ = inside_->service;
  std::vector<std::unique_ptr<Worker>>& workers_ = inside_->workers;
  std::vector<std::shared_ptr<Listener>>& listeners_ = inside_->listeners;
  boost::asio::io_context* host_ = nullptr;
  std::vector<std::thread> threads_;
  std::vector<std::string> addresses_;
  std::mutex stopping_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> start_http_server(const ServerOptions& options, Handle handle, Refuse refuse,
                                                      Admit admit) {
  auto server = std::make_unique<Server>();
  if (auto started = server->start(options, std::move(handle), std::move(refuse), std::move(admit)); !started)
    return tl::make_unexpected(started.error());
  return server;
}

}  // namespace baton::net
