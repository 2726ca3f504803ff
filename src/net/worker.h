// SPDX-License-Identifier: Apache-2.0
// What the connections of one server have in common, and one thread of it with the connections that live there.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "net/http_rules.h"
#include "net/http_server.h"
#include "net/transport.h"

namespace baton::net {

class Connection;

// One server's, for all its threads.
struct Service {
  ServerLimits limits;
  std::vector<std::string> hosts;  // admitted_hosts()
  OriginRules origins;             // origin_rules()
  Handle handle;
  Refuse refuse;
  Admit admit;                      // may be none
  std::size_t tcp_connections = 0;  // with so many open, whoever comes by TCP is turned away
  TlsContext tls;                   // null: TCP is plain
  std::atomic<std::uint64_t> connections_open{0}, connections_total{0}, requests_total{0}, refused_total{0},
      streams_open{0};
};

// A connection's place in the count, from accept to close.
class Seat {
 public:
  explicit Seat(std::atomic<std::uint64_t>& count) : count_(&count) { ++count; }
  ~Seat() {
    if (count_ != nullptr) --*count_;
  }
  Seat(Seat&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  Seat& operator=(Seat&&) = delete;

 private:
  std::atomic<std::uint64_t>* count_;
};

// How other threads reach a connection: by work posted to its thread. Exchanges and streams may outlive the server, and the
// io_context with it; what is posted then is dropped.
class Mailbox {
 public:
  explicit Mailbox(boost::asio::io_context& context) : context_(&context) {}

  template <class Work>
  bool post(Work&& work) {
    const std::lock_guard lock(mutex_);
    if (context_ == nullptr) return false;
    boost::asio::post(*context_, std::forward<Work>(work));
    return true;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
  }

 private:
  std::mutex mutex_;
  boost::asio::io_context* context_;
};

// All but `mailbox` is for the worker's own thread.
struct Worker {
  // `host`: the loop of somebody else, whose thread is the worker's then; none: a loop of its own.
  explicit Worker(Service& service, boost::asio::io_context* host = nullptr)
      : service(service),
        own(host == nullptr ? std::make_unique<boost::asio::io_context>(1) : nullptr),
        context(host == nullptr ? *own : *host) {
    if (own) guard.emplace(context.get_executor());
  }

  Service& service;
  std::unique_ptr<boost::asio::io_context> own;
  boost::asio::io_context& context;
  std::shared_ptr<Mailbox> mailbox = std::make_shared<Mailbox>(context);
  // Of a loop of its own: it runs until it is told to end.
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard;
  boost::asio::steady_timer grace{context};
  bool stopping = false;
  // What is being read or written at the moment; connections that wait have no buffer. A TLS record fits.
  std::vector<char> scratch = std::vector<char>(32u << 10);
  std::unordered_set<std::shared_ptr<Connection>> connections;

  // Takes over an accepted socket.
  void adopt(Descriptor socket, Seat seat, Peer peer);
  // Lets go of a connection that has closed.
  void forget(const std::shared_ptr<Connection>& connection);
  // Ends every connection: idle ones now, the others when they are done, all of them after `grace`.
  void finish(std::chrono::milliseconds grace);
};

}  // namespace baton::net
