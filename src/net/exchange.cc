// SPDX-License-Identifier: Apache-2.0
#include "net/exchange.h"

#include <utility>

#include "base/check.h"
#include "net/connection.h"

namespace baton::net {

// --- Pending ----------------------------------------------------------------------------------------------------------

bool Pending::answer() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(answered_, true);
}

void Pending::on_gone(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (!gone_) {
      if (!settled_) on_gone_ = std::move(call);
      return;
    }
  }
  call();
}

void Pending::gone() {
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(gone_, true) || settled_) return;
    call = std::exchange(on_gone_, nullptr);
  }
  if (call) call();
}

void Pending::settled() {
  std::function<void()> dropped;  // after the lock: what it holds may have a destructor of its own
  const std::lock_guard lock(mutex_);
  settled_ = true;
  dropped.swap(on_gone_);
}

// --- ServerExchange ---------------------------------------------------------------------------------------------------

ServerExchange::ServerExchange(ServerRequest request, std::weak_ptr<Connection> connection,
                               std::shared_ptr<Mailbox> mailbox, std::size_t stream_backlog_bytes)
    : request_(std::move(request)),
      connection_(std::move(connection)),
      mailbox_(std::move(mailbox)),
      stream_backlog_bytes_(stream_backlog_bytes) {}

ServerExchange::~ServerExchange() {
  if (!pending_->answer()) return;
  mailbox_->post([connection = connection_] {
    if (const auto alive = connection.lock()) alive->leave_unanswered();
  });
}

// The weak pointer is only followed on the connection's thread: a strong one elsewhere could be the last.
void ServerExchange::respond(ServerResponse response) {
  CHECK(pending_->answer());
  mailbox_->post([connection = connection_, response = std::move(response)]() mutable {
    if (const auto alive = connection.lock()) alive->respond(std::move(response));
  });
}

std::shared_ptr<EventStream> ServerExchange::stream(std::vector<Header> headers) {
  CHECK(pending_->answer());
  auto stream = std::make_shared<ServerStream>(connection_, mailbox_, stream_backlog_bytes_);
  const bool posted = mailbox_->post([connection = connection_, stream, headers = std::move(headers)]() mutable {
    if (const auto alive = connection.lock()) alive->begin_stream(std::move(stream), headers);
    else stream->ended();
  });
  if (!posted) stream->ended();
  return stream;
}

// --- ServerStream -----------------------------------------------------------------------------------------------------

ServerStream::ServerStream(std::weak_ptr<Connection> connection, std::shared_ptr<Mailbox> mailbox,
                           std::size_t backlog_bytes)
    : connection_(std::move(connection)), mailbox_(std::move(mailbox)), backlog_bytes_(backlog_bytes) {}

void ServerStream::wake() {
  if (std::exchange(woken_, true)) return;
  mailbox_->post([connection = connection_] {
    if (const auto alive = connection.lock()) alive->drive();
  });
}

bool ServerStream::send(Bytes bytes) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Open) return false;
  if (bytes == nullptr || bytes->empty()) return true;  // an empty chunk would be the end of the stream
  if (unsent_ + bytes->size() > backlog_bytes_) {
    state_ = State::CutOff;
    waiting_ = {};
    wake();
    return false;
  }
  unsent_ += bytes->size();
  waiting_.push_back(std::move(bytes));
  wake();
  return true;
}

void ServerStream::close() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Open) return;
  state_ = State::Closing;
  wake();
}

void ServerStream::when_taken(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (unsent_ > 0 && state_ != State::Ended) {
      when_taken_ = std::move(call);
      return;
    }
  }
  call();
}

void ServerStream::on_closed(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::Ended) {
      on_closed_ = std::move(call);
      return;
    }
  }
  // Not from here: the caller may hold what the call wants. Without a server there is no other thread.
  if (!mailbox_->post(call)) call();
}

ServerStream::Taken ServerStream::take() {
  const std::lock_guard lock(mutex_);
  woken_ = false;
  return {std::exchange(waiting_, {}), state_ != State::Open, state_ == State::CutOff};
}

void ServerStream::written(std::size_t bytes) {
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex_);
    unsent_ -= bytes;
    if (unsent_ == 0) call = std::exchange(when_taken_, nullptr);
  }
  if (call) call();
}

void ServerStream::ended() {
  std::function<void()> taken, call;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::Ended) return;
    state_ = State::Ended;
    waiting_ = {};
    taken = std::exchange(when_taken_, nullptr);
    call = std::exchange(on_closed_, nullptr);
  }
  if (taken) taken();
  if (call) call();
}

}  // namespace baton::net
