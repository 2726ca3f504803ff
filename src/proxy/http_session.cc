// SPDX-License-Identifier: Apache-2.0
#include "proxy/http_session.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "mcp/answers.h"
#include "net/sse.h"

namespace baton::proxy {
namespace {

namespace asio = boost::asio;

// Since this revision a stream may begin with an event without a message; clients of older ones would read it as one.
constexpr std::string_view kPrimedSince = "2025-11-25";

}  // namespace

net::ServerResponse error_response(unsigned status, int code, std::string_view message, std::string_view id) {
  return {.status = status, .body = mcp::error_message(id, code, message)};
}

// One stream to the client.
struct HttpSession::Channel {
  Channel(mcp::Stream number, const HttpLimits& limits)
      : stream(number), kept(number, limits.kept_events, limits.kept_bytes) {}

  mcp::Stream stream;
  std::shared_ptr<net::Exchange> exchange;   // until it is answered
  std::shared_ptr<net::EventStream> events;  // while somebody is connected to it
  std::uint64_t connection = 0;              // of `events`; what is heard of one before is old
  Replay kept;
  std::uint64_t sent = 0;   // the newest event that was sent to anybody
  std::size_t unsent = 0;   // bytes that the client has not taken
  bool is_watched = false;  // it will be told when all is taken,
  bool sent_since = false;  // and something was sent after that was asked for
  bool begins = false;      // of `initialize`
  bool prefers_stream = false;
  bool is_over = false;  // the last message was said
  bool is_lost = false;  // legacy: the client left before it had an id to come back with
  std::unique_ptr<asio::steady_timer> timer;
};

HttpSession::HttpSession(asio::io_context& context, mcp::Era era, std::string id, const HttpLimits& limits,
                         std::function<void()> on_ended)
    : context_(context), era_(era), id_(std::move(id)), limits_(limits), on_ended_(std::move(on_ended)) {
  if (is_legacy()) add_channel(mcp::kAside);
}

HttpSession::~HttpSession() = default;

void HttpSession::begin(const MakeBehind& make) { behind_ = make(*this); }

template <class Work>
std::function<void()> HttpSession::later(Work work) {
  return [self = weak_from_this(), &context = context_, work = std::move(work)] {
    asio::post(context, [self, work] {
      if (const auto alive = self.lock()) work(*alive);
    });
  };
}

HttpSession::Channel& HttpSession::add_channel(mcp::Stream stream) {
  return *channels_.emplace(stream, std::make_unique<Channel>(stream, limits_)).first->second;
}

HttpSession::Channel* HttpSession::channel(mcp::Stream stream) {
  const auto found = channels_.find(stream);
  return found == channels_.end() ? nullptr : found->second.get();
}

bool HttpSession::is_quiet() const {
  return std::ranges::all_of(channels_, [](const auto& entry) {
    const Channel& one = *entry.second;
    return one.events == nullptr && (one.is_over || one.stream == mcp::kAside);
  });
}

bool HttpSession::is_primed() const {
  return is_legacy() && behind_->revision() != nullptr && behind_->revision()->name >= kPrimedSince;
}

std::vector<net::Header> HttpSession::session_header(const Channel& channel) const {
  if (!channel.begins) return {};
  return {{"Mcp-Session-Id", id_}};
}

// --- what the client does -----------------------------------------------------------------------------------------------------------

void HttpSession::post(std::shared_ptr<net::Exchange> exchange, std::string body, Behind::Parameters parameters,
                       Manner manner) {
  ++activity_;
  if (is_ending_) return exchange->respond(error_response(404, mcp::kInvalidRequest, "the session has ended"));
  if (channels_.size() - over_.size() > limits_.streams_max || held_bytes_ + body.size() > limits_.waiting_bytes_max) {
    net::ServerResponse busy = error_response(503, mcp::kInternalError, "too many requests are open");
    busy.headers.push_back({"Retry-After", "1"});
    return exchange->respond(std::move(busy));
  }
  const mcp::Stream stream = next_stream_++;
  Channel& added = add_channel(stream);
  added.begins = manner.begins;
  added.prefers_stream = manner.prefers_stream && !manner.begins;
  exchange->on_gone(later([stream](HttpSession& self) { self.client_left(stream); }));
  added.exchange = std::move(exchange);
  if (!held_.empty() || behind_->is_full()) {
    held_bytes_ += body.size();
    held_.push_back({stream, std::move(body), std::move(parameters)});
    return;
  }
  pass_on(stream, std::move(body), std::move(parameters));
}

void HttpSession::pass_on(mcp::Stream stream, std::string body, Behind::Parameters parameters) {
  behind_->from_client(stream, std::move(body), std::move(parameters));
  // Most are answered by now, or within the time it takes to wait for it. The beginning of a session is not hurried: until it is
  // answered nobody knows whether there is one.
  Channel* const open = channel(stream);
  if (open == nullptr || open->exchange == nullptr || open->begins) return;
  open->timer =
      std::make_unique<asio::steady_timer>(context_, is_legacy() ? limits_.stream_after : limits_.modern_stream_after);
  open->timer->async_wait([self = weak_from_this(), stream](const boost::system::error_code& error) {
    const auto alive = error ? nullptr : self.lock();
    Channel* const late = alive ? alive->channel(stream) : nullptr;
    if (late != nullptr && late->exchange != nullptr) alive->begin_stream(*late);
  });
}

void HttpSession::server_drained() { let_in(); }

// A conversation about that session is none: the next request with its token begins another. In the legacy era the answer to
// `initialize` has ended it.
void HttpSession::session_refused() {
  if (is_legacy()) return;
  asio::post(context_, [self = shared_from_this()] { self->end("the session could not be joined"); });
}

void HttpSession::let_in() {
  while (!held_.empty() && !is_ending_ && !behind_->is_full()) {
    Held next = std::move(held_.front());
    held_.pop_front();
    held_bytes_ -= next.body.size();
    if (channel(next.stream) != nullptr) pass_on(next.stream, std::move(next.body), std::move(next.parameters));
  }
}

void HttpSession::listen(std::shared_ptr<net::Exchange> exchange, std::optional<std::string_view> last_event_id) {
  ++activity_;
  if (is_ending_) return exchange->respond(error_response(404, mcp::kInvalidRequest, "the session has ended"));
  EventId from{mcp::kAside, 0};
  Channel* found = channel(mcp::kAside);
  if (last_event_id) {
    const auto given = parse_event_id(*last_event_id);
    if (!given)
      return exchange->respond(error_response(400, mcp::kInvalidRequest, "Last-Event-ID is no id of this session"));
    from = *given;
    found = channel(from.stream);
    const bool has_ids = found != nullptr && found->exchange == nullptr;
    if (!has_ids || from.number > found->kept.newest() ||
        (found->kept.last_is_lost() && from.number < found->kept.newest()))
      return exchange->respond(
          error_response(410, mcp::kInvalidRequest, "the events of that stream are not kept any more"));
  } else {
    if (found->events != nullptr)
      return exchange->respond(error_response(409, mcp::kInvalidRequest, "the session has a stream of GET already"));
    from.number = found->sent;
  }
  // Somebody who resumes a stream has lost the connection that still seems to be there.
  if (found->events != nullptr) {
    const auto before = found->events;
    detach(*found);
    before->close();
  }
  attach(*found, exchange->stream({{"X-Accel-Buffering", "no"}}));
  if (!last_event_id && is_primed()) send(*found, found->kept.priming(limits_.retry_ms));
  for (Replay::Bytes& bytes : found->kept.after(from.number)) send(*found, std::move(bytes));
  found->sent = std::max(found->sent, found->kept.newest());
  if (found->is_over) found->events->close();
  else if (last_event_id && from.stream != mcp::kAside) behind_->stream_back(from.stream);
}

// Before its request was answered at all.
void HttpSession::client_left(mcp::Stream stream) {
  Channel* const left = channel(stream);
  if (left == nullptr || left->exchange == nullptr) return;
  left->exchange.reset();
  left->timer.reset();
  left->is_lost = true;
  if (is_legacy()) return;  // no cancellation: it goes on
  channels_.erase(stream);
  if (!is_ending_) behind_->stream_gone(stream);
}

void HttpSession::closed(mcp::Stream stream, std::uint64_t connection) {
  ++activity_;
  Channel* const left = channel(stream);
  if (left == nullptr || left->connection != connection) return;
  detach(*left);
  if (is_legacy()) return;
  const bool was_over = left->is_over;
  channels_.erase(stream);
  if (!was_over && !is_ending_) behind_->stream_gone(stream);
}

void HttpSession::end(const std::string& why) {
  if (is_ending_) return;
  is_ending_ = true;
  held_.clear();
  for (auto& [stream, open] : channels_) {
    if (open->exchange != nullptr)
      std::exchange(open->exchange, nullptr)->respond(error_response(404, mcp::kInvalidRequest, why));
    if (open->events != nullptr) {
      const auto events = open->events;
      detach(*open);
      events->close();
    }
  }
  channels_.clear();
  over_.clear();
  if (!has_ended_) behind_->client_gone();
}

// --- what is said to it -------------------------------------------------------------------------------------------------------------

void HttpSession::to_client(mcp::ToClient message) {
  Channel* const to = channel(message.stream);
  if (to == nullptr || to->is_over) return;  // the client has left it, or (modern) there is no stream aside
  if (to->is_lost) {
    if (message.last) channels_.erase(message.stream);
    return;
  }
  // Where there was no agreement there is no session.
  if (to->begins && message.last && message.error_code != 0) {
    to->begins = false;
    asio::post(context_, [self = shared_from_this()] { self->end("there was no agreement to begin with"); });
  }
  if (to->exchange != nullptr && message.last && !(to->prefers_stream && is_primed()))
    return answer(*to, std::move(message));
  if (to->exchange != nullptr) begin_stream(*to);
  push(*to, message.bytes, message.last);
  if (message.last) finish(message.stream);
}

void HttpSession::accepted(mcp::Stream stream) {
  Channel* const to = channel(stream);
  if (to == nullptr || stream == mcp::kAside) return;
  if (to->exchange != nullptr || to->is_lost) {
    if (to->exchange != nullptr) to->exchange->respond({.status = 202, .content_type = "", .body = ""});
    channels_.erase(stream);
  } else {
    finish(stream);
  }
}

void HttpSession::leave_off(mcp::Stream stream, mcp::Milliseconds retry_after) {
  Channel* const to = channel(stream);
  // Whoever has no id to come back with is kept waiting here instead.
  if (to == nullptr || to->is_over || to->is_lost || to->begins || !is_primed()) return;
  if (to->exchange != nullptr) begin_stream(*to);
  if (to->events == nullptr) return;
  send(*to, to->kept.priming(retry_after));
  const auto events = to->events;
  detach(*to);
  events->close();
}

void HttpSession::answer(Channel& to, mcp::ToClient message) {
  net::ServerResponse response{
      .status = is_legacy() ? 200u : static_cast<unsigned>(mcp::http_status_of(message.error_code)),
      .body = std::move(message.bytes),
      .headers = session_header(to)};
  const auto exchange = std::exchange(to.exchange, nullptr);
  channels_.erase(to.stream);
  exchange->respond(std::move(response));
}

void HttpSession::begin_stream(Channel& to) {
  to.timer.reset();
  std::vector<net::Header> headers = session_header(to);
  headers.push_back({"X-Accel-Buffering", "no"});
  const auto exchange = std::exchange(to.exchange, nullptr);
  attach(to, exchange->stream(std::move(headers)));
  if (is_primed()) send(to, to.kept.priming(limits_.retry_ms));
}

void HttpSession::attach(Channel& to, std::shared_ptr<net::EventStream> events) {
  to.connection = next_connection_++;
  to.events = std::move(events);
  to.is_watched = to.sent_since = false;
  to.events->on_closed(
      later([stream = to.stream, connection = to.connection](HttpSession& self) { self.closed(stream, connection); }));
}

void HttpSession::detach(Channel& from) {
  from.events.reset();
  from.connection = 0;
  drop_unsent(from);
}

void HttpSession::push(Channel& to, std::string_view message, bool last) {
  if (!is_legacy()) {
    if (to.events != nullptr) send(to, std::make_shared<const std::string>(net::sse_event({}, "message", message)));
    return;
  }
  Replay::Bytes bytes = to.kept.add(message, last);
  if (to.events == nullptr) return;
  to.sent = to.kept.newest();
  send(to, std::move(bytes));
}

void HttpSession::send(Channel& to, Replay::Bytes bytes) {
  const std::size_t size = bytes->size();
  if (!to.events->send(std::move(bytes))) return;  // cut off, or gone: closed() comes
  to.unsent += size;
  unsent_ += size;
  if (to.is_watched) to.sent_since = true;
  else watch(to);
}

void HttpSession::watch(Channel& to) {
  to.is_watched = true;
  to.sent_since = false;
  to.events->when_taken(
      later([stream = to.stream, connection = to.connection](HttpSession& self) { self.taken(stream, connection); }));
}

void HttpSession::taken(mcp::Stream stream, std::uint64_t connection) {
  Channel* const of = channel(stream);
  if (of == nullptr || of->connection != connection) return;
  if (of->sent_since) return watch(*of);
  of->is_watched = false;
  drop_unsent(*of);
}

void HttpSession::drop_unsent(Channel& of) {
  const bool was_full = is_full();
  unsent_ -= std::exchange(of.unsent, 0);
  if (was_full && !is_full() && !is_ending_) behind_->front_drained();
}

// The last message was said.
void HttpSession::finish(mcp::Stream stream) {
  Channel* const done = channel(stream);
  if (done == nullptr || done->is_over) return;
  done->is_over = true;
  done->timer.reset();
  if (done->events != nullptr) done->events->close();
  if (!is_legacy()) {
    if (done->events == nullptr) channels_.erase(stream);
    return;  // closed() lets go of it
  }
  over_.push_back(stream);
  over_bytes_ += done->kept.bytes();
  forget_some();
}

void HttpSession::forget_some() {
  while (over_.size() > limits_.kept_streams || over_bytes_ > limits_.kept_over_bytes) {
    const auto oldest = channels_.find(over_.front());
    over_.pop_front();
    over_bytes_ -= oldest->second->kept.bytes();
    drop_unsent(*oldest->second);
    channels_.erase(oldest);
  }
}

void HttpSession::ended(const std::string& why) {
  if (has_ended_) return;
  has_ended_ = true;
  asio::post(context_, [self = shared_from_this(), why] {
    if (!self->is_ending_) self->end(why);
    self->on_ended_();
  });
}

}  // namespace baton::proxy
