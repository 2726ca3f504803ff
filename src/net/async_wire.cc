// SPDX-License-Identifier: Apache-2.0
#include "net/async_wire.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace baton::net {
namespace {

namespace asio = boost::asio;
using Outcome = Transport::Outcome;
using Direction = asio::posix::descriptor_base;

constexpr int kReadsMax = 8;                               // of one turn, so that one stream does not starve the others
constexpr std::chrono::milliseconds kConnectAgainTime{2};  // while the queue of a unix socket's listener is full

bool is_of_type(std::string_view content_type, std::string_view wanted) {
  content_type = content_type.substr(0, content_type.find(';'));
  while (content_type.ends_with(' ')) content_type.remove_suffix(1);
  return to_lower_ascii(content_type) == wanted;
}

// Does the text begin and end with the braces of one object? What is between them is somebody else's business.
bool is_one_object(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      else if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    else if (c == '{') ++depth;
    else if (c == '}' && (depth == 0 || --depth == 0)) return at + 1 == text.size();
    if (depth == 0) return false;
  }
  return false;
}

// Gives the lines that these bytes complete; the answer is a stream from the first of them on. False: one is too large. Where the
// first line is no object, it is an answer like any other, and kept.
bool take_lines(AsyncCall& call, std::string_view bytes) {
  HttpAnswer& answer = call.reader->answer();
  const bool is_whole = !call.streaming && !answer.body.empty();
  while (!bytes.empty() && !is_whole) {
    const std::size_t end = bytes.find('\n');
    call.line += bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (call.line.size() > call.request.event_bytes_max) return false;
    if (end == std::string_view::npos) return true;
    const std::string_view line = trim(call.line);
    if (!call.streaming && !line.empty() && !is_one_object(line)) {
      answer.body = std::exchange(call.line, {}) + '\n';
      break;
    }
    if (!line.empty()) {
      call.streaming = true;
      call.pending.push_back({.id = {}, .event = "message", .data = std::string(line)});
    }
    call.line.clear();
  }
  answer.body += bytes;
  return answer.body.size() <= call.request.answer_bytes_max;
}

// Where the body of the answer goes.
AnswerReader::Take choose(AsyncCall& call, const HttpAnswer& head) {
  if (head.status / 100 != 2) return {};
  if (call.request.takes_json_lines && is_of_type(head.content_type, "application/json") &&
      !head.header("Content-Length")) {
    call.line.clear();
    return [&call](std::string_view bytes) { return take_lines(call, bytes); };
  }
  if (!is_of_type(head.content_type, "text/event-stream")) return {};
  call.streaming = true;
  call.sse.emplace(call.request.event_bytes_max);
  return [&call](std::string_view bytes) {
    for (SseEvent& event : call.sse->put(bytes)) call.pending.push_back(std::move(event));
    return !call.sse->too_large();
  };
}

}  // namespace

AsyncWire::AsyncWire(asio::io_context& context, AsyncWireOwner& owner)
    : context_(context), owner_(&owner), socket_(context) {}

void AsyncWire::close() {
  owner_ = nullptr;
  state_ = State::Closed;
  call_.reset();
  transport_ = Transport();
  boost::system::error_code ignored;
  socket_.close(ignored);
  if (resolver_) resolver_->cancel();
  if (again_) again_->cancel();
}

void AsyncWire::drive() {
  switch (state_) {
    case State::Resolving:
    case State::Closed: return;
    case State::Connecting: return see_connected();
    case State::Handshake: return shake_hands();
    case State::Asking: write_some(); return read_some();
    case State::Idle: {
      if (is_quiet()) return wait(Direction::wait_read, waiting_read_);
      AsyncWireOwner* const owner = owner_;
      const auto self = shared_from_this();
      close();
      return owner->lost(self);
    }
  }
}

// --- waiting ---------------------------------------------------------------------------------------------------------

bool AsyncWire::wait_after(Outcome outcome) {
  if (outcome == Outcome::WantRead) wait(Direction::wait_read, waiting_read_);
  else if (outcome == Outcome::WantWrite) wait(Direction::wait_write, waiting_write_);
  else return false;
  return true;
}

void AsyncWire::wait(Direction::wait_type direction, bool& waiting) {
  if (std::exchange(waiting, true)) return;
  socket_.async_wait(direction, [self = shared_from_this(), &waiting](const boost::system::error_code& error) {
    waiting = false;
    if (!error) self->drive();
  });
}

bool AsyncWire::is_quiet() {
  std::array<char, 1> byte;
  return transport_.read(byte).outcome == Outcome::WantRead;
}

// --- connecting ------------------------------------------------------------------------------------------------------

void AsyncWire::start(std::shared_ptr<AsyncCall> call) {
  call_ = std::move(call);
  call_->wire = shared_from_this();
  if (!owner_->place().unix_path.empty()) return connect_unix();
  look_up();
}

bool AsyncWire::hold(Descriptor socket) {
  boost::system::error_code error;
  socket_.close(error);
  socket_.assign(socket.get(), error);
  if (error) {
    fail({error.message()});
    return false;
  }
  transport_ = Transport(socket.release());
  return true;
}

void AsyncWire::connect_unix() {
  const auto address = unix_address(owner_->place().unix_path);
  if (!address) return fail(address.error());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail({std::generic_category().message(errno)});
  state_ = State::Connecting;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) == 0) {
    if (hold(std::move(socket))) connected();
    return;
  }
  if (errno != EAGAIN) return fail(not_connected(errno));
  // The listener's queue is full, and no descriptor says when it no longer is. The deadline is the owner's.
  if (!again_) again_ = std::make_unique<asio::steady_timer>(context_);
  again_->expires_after(kConnectAgainTime);
  again_->async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && self->state_ == State::Connecting) self->connect_unix();
  });
}

void AsyncWire::look_up() {
  const Url& url = owner_->place().url;
  endpoints_ = known_endpoints(url);
  if (!endpoints_.empty()) return connect_next(std::nullopt);
  resolver_ = std::make_unique<asio::ip::tcp::resolver>(context_);
  resolver_->async_resolve(url.host, url.port,
                           [self = shared_from_this()](const boost::system::error_code& error, const auto& results) {
                             if (self->state_ != State::Resolving) return;
                             if (error) return self->fail({error.message()});
                             for (const auto& entry : results) self->endpoints_.push_back(entry.endpoint());
                             self->connect_next(std::nullopt);
                           });
}

void AsyncWire::connect_next(std::optional<Trouble> last) {
  state_ = State::Connecting;
  if (next_endpoint_ == endpoints_.size()) return fail(last.value_or(Trouble{"the host has no address"}));
  const auto& endpoint = endpoints_[next_endpoint_++];
  Descriptor socket(::socket(endpoint.data()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return connect_next(Trouble{std::generic_category().message(errno)});
  const int number = socket.get(), on = 1;
  ::setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (!hold(std::move(socket))) return;
  if (::connect(number, endpoint.data(), static_cast<socklen_t>(endpoint.size())) == 0) return connected();
  if (errno != EINPROGRESS) return connect_next(not_connected(errno));
  wait(Direction::wait_write, waiting_write_);
}

void AsyncWire::see_connected() {
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return connect_next(not_connected(error));
  // A wait may end for nothing: an event of a descriptor that was closed in the same turn and whose place this one
  // took.
  sockaddr_storage peer;
  size = sizeof(peer);
  if (::getpeername(socket_.native_handle(), reinterpret_cast<sockaddr*>(&peer), &size) != 0)
    return wait(Direction::wait_write, waiting_write_);
  connected();
}

void AsyncWire::connected() {
  const AsyncWireOwner::Place& place = owner_->place();
  if (!place.tls) return ask();
  if (!transport_.begin_client_tls(*place.tls, place.url.host)) return fail({"TLS could not begin"});
  state_ = State::Handshake;
  shake_hands();
}

void AsyncWire::shake_hands() {
  const Transport::Step step = transport_.handshake();
  if (step.outcome == Outcome::Done) return ask();
  if (!wait_after(step.outcome))
    fail({transport_.problem().empty() ? "the connection was closed" : transport_.problem()});
}

// --- asking ----------------------------------------------------------------------------------------------------------

void AsyncWire::begin(std::shared_ptr<AsyncCall> call) {
  reused_ = true;
  call_ = std::move(call);
  call_->wire = shared_from_this();
  ask();
}

void AsyncWire::ask() {
  state_ = State::Asking;
  write_broken_ = ended_ = false;
  AsyncCall& call = *call_;
  call.reader.emplace(call.request.method == "HEAD", call.request.answer_bytes_max,
                      [&call](const HttpAnswer& head) { return choose(call, head); });
  write_some();
  wait(Direction::wait_read, waiting_read_);
}

void AsyncWire::write_some() {
  AsyncCall& call = *call_;
  while (call.written < call.text.size() && !write_broken_) {
    const Transport::Step step = transport_.write(std::string_view(call.text).substr(call.written));
    if (wait_after(step.outcome)) return;
    // A server that refuses may answer and close before it has read all: its answer is read even if the writing fails.
    if (step.outcome != Outcome::Done) write_broken_ = true;
    call.written += step.bytes;
    call.sent = call.sent || step.bytes > 0;
  }
}

void AsyncWire::read_some() {
  const auto self = shared_from_this();
  for (int reads = 0; reads < kReadsMax; ++reads) {
    if (ended_ || call_->paused) return;
    const std::span<char> into = owner_->scratch();
    const Transport::Step step = transport_.read(into);
    if (wait_after(step.outcome)) return;
    if (step.outcome != Outcome::Done) return see_eof(step.outcome == Outcome::Failed);
    if (!take({into.data(), step.bytes})) return;
    if (step.bytes < into.size() && !transport_.is_tls()) return wait(Direction::wait_read, waiting_read_);
  }
  asio::post(context_, [self] {
    if (self->state_ == State::Asking) self->read_some();
  });
}

// False: the answer has ended, or nobody wants it any more.
bool AsyncWire::take(std::string_view bytes) {
  AsyncCall& call = *call_;
  const auto progress = call.reader->put(bytes);
  if (call.streaming) owner_->stirred(call);
  if (!progress) {
    end_with(progress.error());
  } else if (*progress == AnswerReader::Progress::Left) {
    end_with(Trouble{"an event has more than " + std::to_string(call.request.event_bytes_max) + " bytes",
                     "HTTP_BODY_TOO_LARGE"});
  } else if (*progress == AnswerReader::Progress::Done) {
    end_with(std::nullopt);
  } else {
    return deliver();
  }
  return false;
}

void AsyncWire::see_eof(bool broken) {
  const std::string reason = transport_.problem().empty() ? "the connection was closed" : transport_.problem();
  AnswerReader& reader = *call_->reader;
  if (!reader.has_any()) return fail({reason, {}, true});
  if (reader.end() && !broken) return end_with(std::nullopt);
  end_with(Trouble{(call_->streaming ? "the stream broke off: " : "the answer was cut off: ") + reason});
}

// Gives what is there of a stream. False: the owner has closed this, or goes on later.
bool AsyncWire::deliver() {
  const auto call = call_;
  if (!call->streaming) return true;
  if (!std::exchange(call->stream_told, true) && call->events.on_stream) call->events.on_stream(call->reader->answer());
  while (!call->done && !call->paused && !call->pending.empty()) {
    SseEvent event = std::move(call->pending.front());
    call->pending.pop_front();
    if (call->events.on_event) call->events.on_event(std::move(event));
  }
  return !call->done && state_ == State::Asking;
}

// Nothing more comes; the call is told when it has got what came before.
void AsyncWire::end_with(std::optional<Trouble> trouble) {
  ended_ = true;
  // A last line without its end; or all of the answer, where it has but one.
  if (std::string line = std::exchange(call_->line, {}); !line.empty() && !trouble) {
    if (call_->streaming) call_->pending.push_back({.id = {}, .event = "message", .data = std::move(line)});
    else call_->reader->answer().body = std::move(line);
  }
  ended_badly_ = std::move(trouble);
  if (deliver()) finish();
}

void AsyncWire::finish() {
  if (call_->paused) return;  // go_on() comes back
  if (ended_badly_) return fail(*std::exchange(ended_badly_, std::nullopt));
  const auto self = shared_from_this();
  const auto call = std::exchange(call_, nullptr);
  AsyncWireOwner* const owner = owner_;
  call->wire.reset();
  if (call->reader->keeps_alive() && call->written == call->text.size()) {
    state_ = State::Idle;
    wait(Direction::wait_read, waiting_read_);
  } else {
    close();
  }
  owner->answered(self, call);
}

void AsyncWire::go_on() {
  const auto self = shared_from_this();
  if (state_ != State::Asking || call_->paused || !deliver()) return;
  if (ended_) return finish();
  read_some();
}

void AsyncWire::fail(Trouble trouble) {
  const auto call = std::exchange(call_, nullptr);
  AsyncWireOwner* const owner = owner_;
  state_ = State::Closed;
  boost::system::error_code ignored;
  socket_.close(ignored);
  transport_ = Transport();
  asio::post(context_, [self = shared_from_this(), call, owner, trouble = std::move(trouble)] {
    // Closed meanwhile: there may be no owner any more.
    if (self->owner_ == nullptr || call->done) return;
    call->wire.reset();
    owner->failed(self, call, trouble);
  });
}

}  // namespace baton::net
