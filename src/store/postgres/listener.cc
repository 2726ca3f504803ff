// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "diagnostics/diagnostic.h"
#include "store/postgres/sql.h"

namespace baton::store::postgres {
namespace {

constexpr int kFirstPauseMs = 50;
constexpr int kPauseMsMax = 5'000;

constexpr std::string_view kSizeAndSchema = "SELECT size, CAST(current_schema() AS TEXT) FROM head WHERE one = 1";

}  // namespace

Listener::Listener(std::shared_ptr<const Libpq> libpq, Target target, const ConnectionOptions& options)
    : libpq_(std::move(libpq)), target_(std::move(target)), options_(options) {}

Listener::~Listener() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(stop_fd_, &one, sizeof one);  // cannot fail: its counter is at zero
    thread_.join();
  }
  if (stop_fd_ >= 0) ::close(stop_fd_);
}

void Listener::grown_to(std::uint64_t size) {
  {
    const std::lock_guard lock(mutex_);
    if (size <= size_) return;
    size_ = size;
  }
  changed_.notify_all();
}

Result<void> Listener::start() {
  if (thread_.joinable()) return {};
  stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
  if (stop_fd_ < 0)
    return failure_of(Code::STORE_IO, "listening to " + target_.name, {{"problem", std::strerror(errno)}});
  thread_ = std::thread([this] { run(); });
  return {};
}

Result<std::uint64_t> Listener::wait(std::uint64_t seen, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto grown = [&] { return size_ > seen; };
  if (grown()) return size_;
  if (Result<void> started = start(); !started) return tl::make_unexpected(std::move(started.error()));
  changed_.wait_for(lock, timeout, grown);
  // A short time may be over before it is known what the size is.
  changed_.wait_for(lock, std::chrono::milliseconds(options_.connect_silence_ms), [&] { return grown() || tried_; });
  if (failure_ && !grown()) return tl::make_unexpected(*failure_);
  return size_;
}

void Listener::run() {
  int pause_ms = kFirstPauseMs;
  while (true) {
    Result<std::unique_ptr<Connection>> connection = Connection::connect(libpq_, target_, options_, stop_fd_);
    Result<void> listened =
        connection ? listen(**connection) : Result<void>(tl::make_unexpected(std::move(connection.error())));
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      if (!failure_) pause_ms = kFirstPauseMs;  // it did listen until now
      tried_ = true;
      if (!listened) failure_ = std::move(listened.error());
    }
    changed_.notify_all();
    pollfd stop = {stop_fd_, POLLIN, 0};
    ::poll(&stop, 1, pause_ms);
    pause_ms = std::min(pause_ms * 2, kPauseMsMax);
  }
}

Result<void> Listener::listen(Connection& connection) {
  connection.begin_turn("listening to");
  connection.send_once(std::string(kListen));
  if (Result<void> done = connection.await_all(); !done) return done;
  if (Result<void> read = read_size(connection); !read) return read;
  while (true) {
    Result<std::vector<std::string>> payloads = connection.await_notifications(stop_fd_);
    if (!payloads) return tl::make_unexpected(std::move(payloads.error()));
    if (payloads->empty()) return {};  // told to stop
    for (const std::string& payload : *payloads) hear(connection, payload);
    if (connection.fault()) return tl::make_unexpected(*connection.fault());
  }
}

Result<void> Listener::read_size(Connection& connection) {
  Result<Rows> rows = connection.await(connection.send(kSizeAndSchema, {}, Connection::Want::Rows));
  if (Result<void> all = connection.await_all(); !all) return all;
  if (!rows) return tl::make_unexpected(std::move(rows.error()));
  if (rows->size() != 1)
    return failure_of(Code::STORE_CORRUPT, "reading " + target_.name, {{"problem", "the head row is missing"}});
  schema_ = rows->bytes(0, 1);
  {
    const std::lock_guard lock(mutex_);
    size_ = static_cast<std::uint64_t>(rows->integer(0, 0));
    tried_ = true;
    failure_.reset();
  }
  changed_.notify_all();
  return {};
}

void Listener::hear(Connection& connection, std::string_view payload) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(payload.data(), payload.data() + payload.size(), size);
  const std::string_view rest(end, static_cast<std::size_t>(payload.data() + payload.size() - end));
  if (error != std::errc() || !rest.starts_with(' ')) {
    (void)read_size(connection);  // somebody's NOTIFY by hand; listen() looks at the connection's fault
    return;
  }
  if (rest.substr(1) == schema_) grown_to(size);
}

}  // namespace baton::store::postgres
