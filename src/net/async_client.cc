// SPDX-License-Identifier: Apache-2.0
#include "net/async_client.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "net/async_wire.h"

namespace baton::net {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kReadBytes = 64u << 10;
constexpr AsyncTime kNever = AsyncTime::max();

}  // namespace

class AsyncClient::State final : public AsyncWireOwner, public std::enable_shared_from_this<State> {
 public:
  State(asio::io_context& context, AsyncClientOptions options, Place place)
      : context_(context),
        options_(std::move(options)),
        place_(std::move(place)),
        authority_(authority_text(place_.url.host, place_.url.port)),
        doing_("asking " + printable(options_.unix_path.empty() ? options_.url : options_.unix_path, 200)),
        timer_(context),
        moment_(context),
        scratch_(kReadBytes) {}

  AsyncId send(AsyncRequest request, AsyncEvents events) {
    const auto call = std::make_shared<AsyncCall>();
    call->id = ++last_id_;
    call->events = std::move(events);
    auto text = request_text({.method = request.method,
                              .target = request.target.empty() ? place_.url.target : request.target,
                              .authority = authority_,
                              .body = request.body,
                              .content_type = request.content_type,
                              .headers = request.headers,
                              .keep_alive = true});
    if (text && !is_target(request.target)) text = trouble("the target is no path");
    request.body = {};
    call->request = std::move(request);
    call->deadline = after(call->request.timeout);
    calls_.emplace(call->id, call);
    if (!text) {
      asio::post(context_, [self = shared_from_this(), call, trouble = text.error()] { self->give_up(call, trouble); });
      return call->id;
    }
    call->text = std::move(*text);
    arm(call->deadline);
    dispatch(call);
    return call->id;
  }

  void cancel(AsyncId id) {
    const auto at = calls_.find(id);
    if (at == calls_.end()) return;
    const auto call = at->second;
    leave(call);
    serve_waiting();
  }

  void pause(AsyncId id) {
    const auto at = calls_.find(id);
    if (at == calls_.end()) return;
    at->second->paused = true;
    if (at->second->streaming) at->second->deadline = kNever;
  }

  void resume(AsyncId id) {
    const auto at = calls_.find(id);
    if (at == calls_.end() || !std::exchange(at->second->paused, false)) return;
    if (at->second->streaming) stirred(*at->second);
    asio::post(context_, [call = at->second] {
      if (!call->done && call->wire) std::shared_ptr(call->wire)->go_on();
    });
  }

  Figures figures() const {
    const auto waiting = std::ranges::count_if(calls_, [](const auto& entry) { return !entry.second->wire; });
    return {static_cast<std::size_t>(waiting), wires_.size() - idle_.size(), idle_.size(), connections_total_,
            repeated_total_};
  }

  void close() {
    closed_ = true;
    timer_.cancel();
    for (const auto& [id, call] : calls_) {
      call->done = true;
      call->wire.reset();
    }
    for (const auto& wire : wires_) wire->close();
    calls_.clear();
    waiting_.clear();
    idle_.clear();
    wires_.clear();
  }

 private:
  static bool is_target(std::string_view target) {
    const auto unfit = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '#'; };
    return target.empty() || (target.starts_with('/') && std::ranges::none_of(target, unfit));
  }

  // --- connections ---------------------------------------------------------------------------------------------------

  void dispatch(const std::shared_ptr<AsyncCall>& call) {
    while (!idle_.empty()) {
      const auto wire = idle_.back();
      idle_.pop_back();
      // A unix socket that the server closed takes no bytes; TCP would. What must not be done twice looks first.
      if (options_.unix_path.empty() && !call->request.safe_to_repeat && !wire->is_quiet()) {
        drop(wire);
        continue;
      }
      return wire->begin(call);
    }
    if (wires_.size() < options_.connections_max) return start(call);
    waiting_.push_back(call);
  }

  void start(const std::shared_ptr<AsyncCall>& call) {
    const auto wire = std::make_shared<AsyncWire>(context_, *this);
    wires_.insert(wire);
    ++connections_total_;
    wire->start(call);
  }

  void drop(const std::shared_ptr<AsyncWire>& wire) {
    wire->close();
    wires_.erase(wire);
  }

  void serve_waiting() {
    while (!waiting_.empty() && (!idle_.empty() || wires_.size() < options_.connections_max)) {
      const auto call = std::move(waiting_.front());
      waiting_.pop_front();
      if (!call->done) dispatch(call);
    }
  }

  const Place& place() const override { return place_; }
  std::span<char> scratch() override { return scratch_; }

  void answered(const std::shared_ptr<AsyncWire>& wire, const std::shared_ptr<AsyncCall>& call) override {
    const auto self = shared_from_this();
    if (!wire->is_idle()) {
      wires_.erase(wire);
    } else if (idle_.size() >= options_.idle_max && waiting_.empty()) {
      drop(wire);
    } else {
      wire->idle_since = now();
      idle_.push_back(wire);
      arm(wire->idle_since + options_.idle_time);
    }
    serve_waiting();
    tell(call, std::move(call->reader->answer()));
  }

  void failed(const std::shared_ptr<AsyncWire>& wire, const std::shared_ptr<AsyncCall>& call,
              const Trouble& trouble) override {
    const auto self = shared_from_this();
    drop(wire);
    const bool harmless = call->written == 0 || call->request.safe_to_repeat;
    if (trouble.before_answer && wire->is_reused() && harmless && !call->repeated) {
      call->repeated = true;
      call->written = 0;
      ++repeated_total_;
      return start(call);  // a new one: others that were kept may be as dead
    }
    serve_waiting();
    give_up(call, trouble);
  }

  void lost(const std::shared_ptr<AsyncWire>& wire) override {
    std::erase(idle_, wire);
    wires_.erase(wire);
    serve_waiting();
  }

  void stirred(AsyncCall& call) override {
    call.deadline = call.request.idle_timeout.count() == 0 || call.paused ? kNever : after(call.request.idle_timeout);
    arm(call.deadline);
  }

  // --- the end of a request ------------------------------------------------------------------------------------------

  // Takes it out of everything; it hears nothing any more.
  void leave(const std::shared_ptr<AsyncCall>& call) {
    call->done = true;
    calls_.erase(call->id);
    if (const auto wire = std::exchange(call->wire, nullptr)) drop(wire);
    else std::erase(waiting_, call);
  }

  void give_up(const std::shared_ptr<AsyncCall>& call, const Trouble& trouble) {
    if (!call->done) tell(call, tl::make_unexpected(Failure{doing_, trouble.reason, trouble.code}));
  }

  void tell(const std::shared_ptr<AsyncCall>& call, Result<HttpAnswer> answer) {
    AsyncOutcome outcome = {.answer = std::move(answer), .streamed = call->stream_told, .sent = call->sent};
    if (call->sse) {
      outcome.last_event_id = call->sse->last_id();
      outcome.retry_ms = call->sse->retry_ms();
    }
    call->done = true;
    calls_.erase(call->id);
    if (call->events.on_done) call->events.on_done(std::move(outcome));
  }

  // --- time ----------------------------------------------------------------------------------------------------------

  // By the clock that the timer rings by, which is the loop's and nobody else's.
  AsyncTime now() {
    moment_.expires_after({});
    return moment_.expiry();
  }
  AsyncTime after(std::chrono::milliseconds time) { return now() + time; }

  // One timer, for the earliest deadline it was told of. Requests that are answered leave it alone: when it rings too
  // early it is set anew, so that a request costs no timer.
  void arm(AsyncTime time) {
    if (time >= armed_) return;
    armed_ = time;
    timer_.expires_at(time);
    timer_.async_wait([weak = weak_from_this(), time](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (!error && self && !self->closed_ && self->armed_ == time) self->ring();
    });
  }

  void ring() {
    armed_ = kNever;
    const AsyncTime now = this->now();
    std::vector<std::shared_ptr<AsyncCall>> late;
    for (const auto& [id, call] : calls_)
      if (call->deadline <= now) late.push_back(call);
    for (const auto& call : late) {
      if (call->done) continue;
      leave(call);
      call->done = false;  // but of this it hears
      give_up(call, out_of_time());
    }
    if (closed_) return;
    // In the order in which they became idle: the last one is taken first.
    const auto young =
        std::ranges::find_if(idle_, [&](const auto& wire) { return wire->idle_since + options_.idle_time > now; });
    const std::vector<std::shared_ptr<AsyncWire>> old(idle_.begin(), young);
    idle_.erase(idle_.begin(), young);
    for (const auto& wire : old) drop(wire);
    serve_waiting();
    for (const auto& [id, call] : calls_) arm(call->deadline);
    for (const auto& wire : idle_) arm(wire->idle_since + options_.idle_time);
  }

  asio::io_context& context_;
  const AsyncClientOptions options_;
  const Place place_;
  const std::string authority_, doing_;
  asio::steady_timer timer_, moment_;
  AsyncTime armed_ = kNever;
  std::vector<char> scratch_;
  AsyncId last_id_ = 0;
  std::unordered_map<AsyncId, std::shared_ptr<AsyncCall>> calls_;
  std::deque<std::shared_ptr<AsyncCall>> waiting_;        // for a connection
  std::unordered_set<std::shared_ptr<AsyncWire>> wires_;  // all of them
  std::vector<std::shared_ptr<AsyncWire>> idle_;          // the last used at the end: it is the likeliest to live
  std::uint64_t connections_total_ = 0, repeated_total_ = 0;
  bool closed_ = false;
};

Result<std::unique_ptr<AsyncClient>> AsyncClient::make(asio::io_context& context, AsyncClientOptions options) {
  const std::string doing = "asking " + printable(options.unix_path.empty() ? options.url : options.unix_path, 200);
  auto url = parse_url(options.url);
  if (const std::string problem = problem_with_url(options.url);
      !url || (!problem.empty() && options.unix_path.empty()))
    return failure(doing, "the address " + problem);
  State::Place place = {.url = std::move(*url), .unix_path = options.unix_path, .tls = nullptr};
  if (place.url.tls && place.unix_path.empty()) {
    auto tls = client_tls(options.ca_file);
    if (!tls) return tl::make_unexpected(tls.error());
    place.tls = std::move(*tls);
  }
  return std::unique_ptr<AsyncClient>(
      new AsyncClient(std::make_shared<State>(context, std::move(options), std::move(place))));
}

AsyncClient::AsyncClient(std::shared_ptr<State> state) : state_(std::move(state)) {}
AsyncClient::~AsyncClient() { state_->close(); }
AsyncId AsyncClient::send(AsyncRequest request, AsyncEvents events) {
  return state_->send(std::move(request), std::move(events));
}
void AsyncClient::cancel(AsyncId id) { state_->cancel(id); }
void AsyncClient::pause(AsyncId id) { state_->pause(id); }
void AsyncClient::resume(AsyncId id) { state_->resume(id); }
AsyncClient::Figures AsyncClient::figures() const { return state_->figures(); }

}  // namespace baton::net
