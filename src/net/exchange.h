// SPDX-License-Identifier: Apache-2.0
// The two ends of an answer: what the handler holds (an Exchange, an EventStream; any thread), and what the connection takes
// from it (its own thread). Neither owns the other.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/http_server.h"
#include "net/outgoing.h"
#include "net/worker.h"

namespace baton::net {

// Does somebody still wait for the answer?
class Pending {
 public:
  // The handler's end.
  bool answer();  // true: nobody had answered before
  void on_gone(std::function<void()> call);
  // The connection's end: the client has gone, or it was answered.
  void gone();
  void settled();

 private:
  std::mutex mutex_;
  bool answered_ = false, gone_ = false, settled_ = false;
  std::function<void()> on_gone_;
};

class ServerExchange final : public Exchange {
 public:
  ServerExchange(ServerRequest request, std::weak_ptr<Connection> connection, std::shared_ptr<Mailbox> mailbox,
                 std::size_t stream_backlog_bytes);
  ~ServerExchange() override;

  const ServerRequest& request() const override { return request_; }
  void respond(ServerResponse response) override;
  std::shared_ptr<EventStream> stream(std::vector<Header> headers) override;
  void on_gone(std::function<void()> call) override { pending_->on_gone(std::move(call)); }

  const std::shared_ptr<Pending>& pending() const { return pending_; }

 private:
  const ServerRequest request_;
  const std::weak_ptr<Connection> connection_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::size_t stream_backlog_bytes_;
  const std::shared_ptr<Pending> pending_ = std::make_shared<Pending>();
};

// Bytes on their way from any thread to the connection's.
class ServerStream final : public EventStream {
 public:
  ServerStream(std::weak_ptr<Connection> connection, std::shared_ptr<Mailbox> mailbox, std::size_t backlog_bytes);

  bool send(Bytes bytes) override;
  void close() override;
  void when_taken(std::function<void()> call) override;
  void on_closed(std::function<void()> call) override;

  // The connection's end: what came since the last time, in order; and is that all there will ever be?
  struct Taken {
    std::vector<Bytes> bytes;
    bool last = false;
    bool cut_off = false;  // the client is too far behind
  };
  Taken take();
  void written(std::size_t bytes);  // so many of those taken are with the kernel
  void ended();                     // the connection is no more

 private:
  enum class State : unsigned char { Open, Closing, CutOff, Ended };
  void wake();  // with the mutex held

  const std::weak_ptr<Connection> connection_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::size_t backlog_bytes_;
  std::mutex mutex_;
  State state_ = State::Open;
  bool woken_ = true;  // the connection will come for bytes; true at first: it comes when it has begun
  std::size_t unsent_ = 0;
  std::vector<Bytes> waiting_;
  std::function<void()> on_closed_, when_taken_;
};

}  // namespace baton::net
