// SPDX-License-Identifier: Apache-2.0
#include "net/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>
#include <cstring>
#include <exception>
#include <utility>

#include "base/limits.h"
#include "base/text.h"

namespace baton::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Outcome = Transport::Outcome;
using Direction = asio::posix::descriptor_base;

// How long a client that was told to go may take to hear it.
constexpr std::chrono::milliseconds kLingerTime{1000};

Bytes bytes_of(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

const Bytes kHeartbeat = bytes_of(":\n\n");
const Bytes kLastChunk = bytes_of("0\r\n\r\n");

Refusal too_large_head(std::size_t max) {
  return {431, "HTTP_HEADER_TOO_LARGE", "the request's head has more than " + std::to_string(max) + " bytes"};
}

Refusal refusal_of(const boost::system::error_code& error, const ServerLimits& limits) {
  if (error == http::error::header_limit) return too_large_head(limits.header_bytes);
  if (error == http::error::body_limit)
    return {413, "HTTP_BODY_TOO_LARGE",
            "the request's body has more than " + std::to_string(limits.body_bytes) + " bytes"};
  if (error == http::error::bad_version) return {505, "HTTP_MALFORMED", "the request is not of HTTP/1.1 or HTTP/1.0"};
  return {400, "HTTP_MALFORMED", "the request is not HTTP: " + error.message()};
}

}  // namespace

// A request that is being read.
struct Connection::Incoming {
  http::request_parser<http::string_body> parser;
  std::size_t head_bytes = 0;
  ServerRequest request;  // without its body, once the head is there
  bool expects_continue = false;
  bool leaves_body_out = false;
};

Connection::Connection(Worker& worker, Descriptor socket, Seat seat, Peer peer)
    : worker_(worker),
      seat_(std::move(seat)),
      socket_(worker.context, socket.get()),
      timer_(worker.context),
      transport_(socket.release()),
      peer_(std::move(peer)) {}

Connection::~Connection() = default;

void Connection::start() {
  if (peer_.tls) {
    if (!transport_.begin_server_tls(*worker_.service.tls)) return close();
    state_ = State::Handshake;
    set_deadline(worker_.service.limits.read_time);
  } else {
    set_deadline(worker_.service.limits.idle_time);
  }
  drive();
}

void Connection::drive() {
  const auto self = shared_from_this();  // close() lets go of it
  for (State before = State::Closed; state_ != State::Closed && state_ != before;) {
    before = state_;
    step();
  }
}

void Connection::step() {
  switch (state_) {
    case State::Handshake: return shake_hands();
    case State::Idle:
    case State::Reading: return read_request();
    case State::Handling: return watch_client();
    case State::Writing: return write_response();
    case State::Streaming: return stream_events();
    case State::Lingering: return drop_input();
    case State::Closed: return;
  }
}

// --- waiting ----------------------------------------------------------------------------------------------------------

bool Connection::wait_after(Outcome outcome) {
  if (outcome == Outcome::WantRead) wait(Direction::wait_read, waiting_read_);
  else if (outcome == Outcome::WantWrite) wait(Direction::wait_write, waiting_write_);
  else return false;
  return true;
}

void Connection::wait(Direction::wait_type direction, bool& waiting) {
  if (std::exchange(waiting, true)) return;
  socket_.async_wait(direction, [self = shared_from_this(), &waiting](const boost::system::error_code& error) {
    waiting = false;
    if (!error) self->drive();
  });
}

void Connection::set_deadline(std::chrono::milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([self = shared_from_this(), number = ++deadline_](const boost::system::error_code& error) {
    if (!error && number == self->deadline_) self->on_deadline();
  });
}

void Connection::on_deadline() {
  if (state_ == State::Reading) {
    refuse({408, "HTTP_TIMEOUT", "the request did not come to its end in time"});
    return drive();
  }
  if (state_ != State::Streaming || deadline_set_) return close();
  if (!std::exchange(stream_wrote_, false)) out_.add({kHeartbeat, is_http_1_1_});
  set_deadline(worker_.service.limits.heartbeat);
  drive();
  stream_wrote_ = false;
}

void Connection::close() {
  if (state_ == State::Closed) return;
  const auto self = shared_from_this();
  const bool was_streaming = stream_ != nullptr;
  state_ = State::Closed;
  drop_deadline();
  timer_.cancel();
  boost::system::error_code ignored;
  socket_.close(ignored);
  out_ = {};
  incoming_.reset();
  if (was_streaming) --worker_.service.streams_open;
  worker_.forget(self);
  if (pending_) std::exchange(pending_, nullptr)->gone();
  if (was_streaming) std::exchange(stream_, nullptr)->ended();
}

void Connection::finish() {
  keep_alive_ = false;
  switch (state_) {
    case State::Handshake:
    case State::Idle:
    case State::Reading: return close();
    case State::Streaming: return stream_->close();
    default: return;  // ends after its response
  }
}

// --- reading ----------------------------------------------------------------------------------------------------------

void Connection::shake_hands() {
  const auto [outcome, bytes] = transport_.handshake();
  if (outcome == Outcome::Done) {
    // The handshake's last word gets no answer that would carry its acknowledgement; a client that collects small writes
    // (Nagle) would hold its request back for the 40 ms until the kernel sends one.
    const int on = 1;
    ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
    state_ = State::Idle;
    set_deadline(worker_.service.limits.idle_time);
  } else if (!wait_after(outcome)) {
    close();
  }
}

void Connection::read_request() {
  if (!input_.empty() && !incoming_) consume({});  // sent ahead while the request before was answered
  while (state_ == State::Idle || state_ == State::Reading) {
    if (input_ended_) return close();
    if (waiting_read_ && !transport_.has_buffered()) break;
    const auto [outcome, bytes] = transport_.read(worker_.scratch);
    if (outcome == Outcome::Done) {
      consume({worker_.scratch.data(), bytes});
    } else if (wait_after(outcome)) {
      break;
    } else {
      return close();
    }
  }
  if (state_ == State::Reading && !std::exchange(deadline_set_, true)) set_deadline(worker_.service.limits.read_time);
}

// Takes in what is left from before and `fresh`, as far as one request goes; keeps the rest.
void Connection::consume(std::string_view fresh) {
  std::string joined;
  std::string_view bytes = fresh;
  if (!input_.empty()) {
    joined = std::exchange(input_, {});
    joined += fresh;
    bytes = joined;
  }
  // An empty line before a request is ignored (RFC 9112, 2.2).
  if (!incoming_) bytes.remove_prefix(std::min(bytes.find_first_not_of("\r\n"), bytes.size()));
  if (bytes.empty()) return;
  if (state_ == State::Idle) {
    state_ = State::Reading;
    deadline_set_ = false;
    incoming_ = std::make_unique<Incoming>();
  }
  const auto refusal = parse(bytes);
  if (joined.empty() || bytes.size() != joined.size()) input_ = bytes;
  else input_ = std::move(joined);
  if (refusal) refuse(*refusal);
  else if (incoming_->parser.is_done() || incoming_->leaves_body_out) dispatch();
  else if (incoming_->expects_continue && input_.empty() && !send_continue()) close();
}

std::optional<Refusal> Connection::parse(std::string_view& bytes) {
  auto& parser = incoming_->parser;
  const ServerLimits& limits = worker_.service.limits;
  if (!parser.is_header_done()) {
    if (auto refusal = parse_head(bytes)) return refusal;
    if (!parser.is_header_done()) return std::nullopt;
  }
  if (parser.is_done() || incoming_->leaves_body_out || bytes.empty()) return std::nullopt;
  incoming_->expects_continue = false;  // it did not wait
  boost::system::error_code error;
  bytes.remove_prefix(parser.put(asio::buffer(bytes), error));
  if (error == http::error::need_more) {
    // The line before a chunk, or the trailers, of which the parser itself would take any number.
    if (bytes.size() > limits.header_bytes) return too_large_head(limits.header_bytes);
    return std::nullopt;
  }
  if (error) return refusal_of(error, limits);
  return std::nullopt;
}

std::optional<Refusal> Connection::parse_head(std::string_view& bytes) {
  auto& parser = incoming_->parser;
  const ServerLimits& limits = worker_.service.limits;
  if (incoming_->head_bytes == 0) {
    // Whatever speaks another protocol is told at once; it would not send the empty line that ends a head.
    const unsigned char first = static_cast<unsigned char>(bytes.front());
    if (first <= ' ' || first >= 0x7f) return refusal_of(http::error::bad_method, limits);
    parser.header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(limits.header_bytes, UINT32_MAX)));
    parser.body_limit(limits.body_bytes);
    parser.eager(false);
  }
  boost::system::error_code error;
  const std::size_t taken = parser.put(asio::buffer(bytes), error);
  bytes.remove_prefix(taken);
  incoming_->head_bytes += taken;
  // The parser holds each of its own steps to the limit, not their sum.
  const std::size_t held = error == http::error::need_more ? bytes.size() : 0;
  if (incoming_->head_bytes + held > limits.header_bytes) return too_large_head(limits.header_bytes);
  if (error == http::error::need_more) return std::nullopt;
  if (error) return refusal_of(error, limits);

  const auto& message = parser.get();
  is_http_1_1_ = message.version() == 11;
  is_head_ = message.method() == http::verb::head;
  ServerRequest& request = incoming_->request;
  for (const auto& field : message) request.headers.push_back({field.name_string(), field.value()});
  const RequestHead head{message.target(), is_http_1_1_, request.headers, peer_.local};
  if (auto refusal = check_head(head, worker_.service.hosts, worker_.service.origins)) return refusal;
  auto target = parse_target(message.target());
  request.method = message.method_string();
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  request.peer = peer_;
  incoming_->expects_continue = expects_continue(request.headers) && is_http_1_1_;
  parser.eager(true);
  judge_body();
  return std::nullopt;
}

// Is the body worth reading? A small one always is; a larger one is when the owner knows who sends it.
void Connection::judge_body() {
  auto& parser = incoming_->parser;
  const std::size_t unasked = worker_.service.limits.unasked_body_bytes;
  const auto length = parser.content_length();
  if (!worker_.service.admit || (length ? *length <= unasked : !parser.chunked())) return;
  if (worker_.service.admit(incoming_->request)) return;
  if (length) incoming_->leaves_body_out = true;
  else parser.body_limit(std::min(unasked, worker_.service.limits.body_bytes));
}

bool Connection::send_continue() {
  incoming_->expects_continue = false;
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  // Nothing else is on its way out, so that the kernel takes it whole, or the connection is of no use.
  const auto [outcome, bytes] = transport_.write(kContinue);
  return outcome == Outcome::Done && bytes == kContinue.size();
}

void Connection::dispatch() {
  auto& parser = incoming_->parser;
  keep_alive_ = parser.keep_alive() && !worker_.stopping && !incoming_->leaves_body_out;
  ServerRequest request = std::move(incoming_->request);
  request.body_left_out = incoming_->leaves_body_out;
  request.body = std::move(parser.get().body());
  incoming_.reset();
  state_ = State::Handling;
  drop_deadline();
  ++worker_.service.requests_total;
  auto exchange = std::make_shared<ServerExchange>(std::move(request), weak_from_this(), worker_.mailbox,
                                                   worker_.service.limits.stream_backlog_bytes);
  pending_ = exchange->pending();
  if (input_ended_) pending_->gone();
  try {
    worker_.service.handle(std::move(exchange));
  } catch (const std::exception&) {
    // The exchange went with the exception; without an answer it gives a 500.
  }
}

// While the request is being answered: has the client gone? What it sends ahead is kept, up to a bound.
void Connection::watch_client() {
  while (!input_ended_ && input_.size() < limits::kHttpReadAheadBytesMax) {
    if (waiting_read_ && !transport_.has_buffered()) return;
    const std::size_t room = std::min(worker_.scratch.size(), limits::kHttpReadAheadBytesMax - input_.size());
    const auto [outcome, bytes] = transport_.read(std::span(worker_.scratch).first(room));
    if (outcome == Outcome::Done) input_.append(worker_.scratch.data(), bytes);
    else if (wait_after(outcome)) return;
    else if (outcome != Outcome::Closed) return close();
    else client_gone();
  }
}

// It may have ended only its own side: the answers to what it sent are still tried.
void Connection::client_gone() {
  input_ended_ = true;
  if (pending_) pending_->gone();
}

// --- answering --------------------------------------------------------------------------------------------------------

void Connection::respond(ServerResponse response) {
  if (state_ != State::Handling) return;
  queue_response(response);
  drive();
}

void Connection::leave_unanswered() {
  if (state_ != State::Handling) return;
  refuse({500, "HTTP_UNANSWERED", "the node gave no answer to the request"});
  drive();
}

void Connection::refuse(const Refusal& refusal) {
  ++worker_.service.refused_total;
  incoming_.reset();
  keep_alive_ = false;
  const Refuse& word = worker_.service.refuse;
  queue_response(word ? word(refusal.status, refusal.code, refusal.problem)
                      : ServerResponse{refusal.status, "text/plain; charset=utf-8", refusal.problem + "\n"});
}

void Connection::queue_response(const ServerResponse& response) {
  if (pending_) std::exchange(pending_, nullptr)->settled();
  if (worker_.stopping) keep_alive_ = false;
  std::string text = response_head(response.status, response.content_type, response.body.size(), response.headers,
                                   {.is_http_1_1 = is_http_1_1_, .keep_alive = keep_alive_});
  if (!is_head_ && has_body(response.status)) text += response.body;
  out_.add({bytes_of(std::move(text))});
  state_ = State::Writing;
  deadline_set_ = false;
  drop_deadline();
}

void Connection::write_response() {
  switch (flush()) {
    case Flushed::Broken: return close();
    case Flushed::Blocked:
      if (!std::exchange(deadline_set_, true)) set_deadline(worker_.service.limits.write_time);
      return;
    case Flushed::All: break;
  }
  if (!keep_alive_) return linger();
  state_ = State::Idle;
  is_head_ = false;
  set_deadline(worker_.service.limits.idle_time);
}

Connection::Flushed Connection::flush() {
  while (!out_.empty()) {
    const auto [outcome, bytes] = transport_.write(out_.next(worker_.scratch));
    if (outcome != Outcome::Done) return wait_after(outcome) ? Flushed::Blocked : Flushed::Broken;
    if (const std::size_t events = out_.advance(bytes); events > 0) {
      stream_->written(events);
      deadline_set_ = false;  // the next event has its own time
    }
  }
  return Flushed::All;
}

// --- event streams ----------------------------------------------------------------------------------------------------

void Connection::begin_stream(std::shared_ptr<ServerStream> stream, const std::vector<Header>& headers) {
  if (state_ == State::Handling && input_ended_) close();
  if (state_ != State::Handling) return stream->ended();
  if (worker_.service.streams_open >= worker_.service.limits.streams) {
    refuse({503, "HTTP_CONNECTIONS", "the node has as many event streams open as it takes"});
    drive();
    return stream->ended();
  }
  if (pending_) std::exchange(pending_, nullptr)->settled();
  ++worker_.service.streams_open;
  stream_ = std::move(stream);
  // Without chunks the end of the connection is that of the stream.
  keep_alive_ = keep_alive_ && is_http_1_1_ && !worker_.stopping;
  if (!keep_alive_) input_ = {};
  std::vector<Header> all = {{"Cache-Control", "no-store"}};
  all.insert(all.end(), headers.begin(), headers.end());
  out_.add({bytes_of(response_head(200, "text/event-stream", 0, all,
                                   {.is_http_1_1 = is_http_1_1_, .keep_alive = keep_alive_, .stream = true}))});
  state_ = State::Streaming;
  deadline_set_ = false;
  stream_wrote_ = stream_last_ = false;
  set_deadline(worker_.service.limits.heartbeat);
  if (is_head_ || worker_.stopping) stream_->close();
  drive();
}

void Connection::stream_events() {
  // What counts is whether the client is still there; it has nothing to say but its next request.
  while (!input_ended_ && (!waiting_read_ || transport_.has_buffered())) {
    const auto [outcome, bytes] = transport_.read(worker_.scratch);
    if (outcome == Outcome::Done) {
      keep_ahead({worker_.scratch.data(), bytes});
      continue;
    }
    if (!wait_after(outcome)) return close();
    if (outcome == Outcome::WantWrite) break;
  }
  ServerStream::Taken taken = stream_->take();
  if (taken.cut_off) return close();
  if (!is_head_)
    for (Bytes& bytes : taken.bytes) out_.add({std::move(bytes), is_http_1_1_, true});
  if (taken.last && !std::exchange(stream_last_, true) && is_http_1_1_ && !is_head_) out_.add({kLastChunk});
  if (out_.empty() && !stream_last_) return;
  stream_wrote_ = true;
  const bool was_blocked = deadline_set_;
  switch (flush()) {
    case Flushed::Broken: return close();
    case Flushed::Blocked:
      if (!std::exchange(deadline_set_, true)) set_deadline(worker_.service.limits.write_time);
      return;
    case Flushed::All: break;
  }
  deadline_set_ = false;
  if (stream_last_) return keep_alive_ ? end_stream() : linger();
  if (was_blocked) set_deadline(worker_.service.limits.heartbeat);
}

void Connection::keep_ahead(std::string_view bytes) {
  if (keep_alive_ && input_.size() + bytes.size() <= limits::kHttpReadAheadBytesMax) {
    input_.append(bytes);
    return;
  }
  keep_alive_ = false;
  input_ = {};
}

// The stream has come to its end; the connection has not.
void Connection::end_stream() {
  --worker_.service.streams_open;
  state_ = State::Idle;
  is_head_ = false;
  set_deadline(worker_.service.limits.idle_time);
  std::exchange(stream_, nullptr)->ended();
}

// --- the end ----------------------------------------------------------------------------------------------------------

// Closing a socket with unread bytes resets the connection, and the client may never see what it was told. So only our side
// is ended first, and what comes is dropped until the client ends its own.
void Connection::linger() {
  if (input_ended_) return close();
  transport_.end_writing();
  input_ = {};
  out_ = {};
  state_ = State::Lingering;
  set_deadline(std::min(kLingerTime, worker_.service.limits.write_time));
}

void Connection::drop_input() {
  while (dropped_ < limits::kHttpDroppedBytesMax) {
    if (waiting_read_ && !transport_.has_buffered()) return;
    const auto [outcome, bytes] = transport_.read(worker_.scratch);
    dropped_ += bytes;
    if (outcome == Outcome::Done) continue;
    if (outcome == Outcome::WantRead) return wait(Direction::wait_read, waiting_read_);
    break;
  }
  close();
}

}  // namespace baton::net
