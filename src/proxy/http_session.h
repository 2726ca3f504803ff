// SPDX-License-Identifier: Apache-2.0
// One conversation of a client over Streamable HTTP: the streams of its requests, and what comes back on them.
//
// Every POST is a stream of its own. A message that ends one whose answer has not begun is the answer, as JSON; anything else makes
// the answer a stream of server-sent events. In the legacy era
//   - a client of 2025-11-25 that would rather have a stream (prefers_stream() in proxy/posted.h) gets one in any case;
//   - a request that takes long is answered with a stream, too, because that can be resumed: its events have ids, the newest of
//     them are kept (proxy/replay.h), and a GET with Last-Event-ID goes on where a connection broke;
//   - a connection that breaks cancels nothing; and where the server behind closes its own, to be asked later (leave_off), the
//     client's is closed, too: since 2025-11-25 it has an id to come back with;
//   - what belongs to no request waits for the one stream of GET without Last-Event-ID.
// In the modern era a stream that the client closes is its way to cancel the request, and nothing is resumed.
//
// Back pressure: is_full() while the client has not taken what it was sent on its streams, up to HttpLimits::unsent_bytes_max.
//
// One thread, that of the context. Kept by whoever has it; what is under way elsewhere only refers to it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mcp/header_value.h"
#include "mcp/revision.h"
#include "net/http_server.h"
#include "proxy/driver.h"
#include "proxy/replay.h"

namespace baton::proxy {

// Each with its reason.
struct HttpLimits {
  std::size_t sessions = 256;                             // each has servers of its own
  std::chrono::milliseconds idle{30 * 60'000};            // clients that do not say goodbye are common
  std::chrono::milliseconds stream_after{100};            // legacy: from then on a request can be resumed
  std::chrono::milliseconds modern_stream_after{10'000};  // so that nobody in between takes the silence for an end
  std::int64_t retry_ms = 1000;                           // when a client should come back
  std::size_t kept_events = 1024;                         // of one stream
  std::size_t kept_bytes = 4u << 20;                      // of one stream
  std::size_t kept_streams = 16;                          // that are over, of one session
  std::size_t kept_over_bytes = 8u << 20;                 // of those together
  std::size_t streams_max = 4096;                         // open at once, of one session
  std::size_t unsent_bytes_max = 1u << 20;                // of one session, before its servers wait
  std::size_t waiting_bytes_max = 16u << 20;              // of messages that wait for a server to read
};

// What is behind a front: a Driver in the proxy, a script in tests. Functions as in proxy/driver.h.
class Behind {
 public:
  using Parameters = std::optional<mcp::ParameterHeaders>;  // none: the client's era has no such headers
  virtual ~Behind() = default;
  virtual void from_client(mcp::Stream stream, std::string message, Parameters parameters) = 0;
  virtual void stream_gone(mcp::Stream stream) = 0;
  virtual void stream_back(mcp::Stream) {}
  virtual void client_gone() = 0;
  virtual void front_drained() = 0;
  virtual bool is_full() const = 0;
  virtual const mcp::Revision* revision() const = 0;
};
using MakeBehind = std::function<std::unique_ptr<Behind>(Front& front)>;

// An error of JSON-RPC as an HTTP response. `id` as in mcp/answers.h.
net::ServerResponse error_response(unsigned status, int code, std::string_view message, std::string_view id = {});

class HttpSession final : public Front, public std::enable_shared_from_this<HttpSession> {
 public:
  // `id`: legacy only. `on_ended`: nothing more happens here; the session may be let go, but not from within.
  HttpSession(boost::asio::io_context& context, mcp::Era era, std::string id, const HttpLimits& limits,
              std::function<void()> on_ended);
  ~HttpSession() override;
  void begin(const MakeBehind& make);

  // A POST with that body.
  struct Manner {
    bool begins = false;          // it is the `initialize` that made the session
    bool prefers_stream = false;  // legacy
  };
  void post(std::shared_ptr<net::Exchange> exchange, std::string body, Behind::Parameters parameters, Manner manner);
  // A GET, legacy only.
  void listen(std::shared_ptr<net::Exchange> exchange, std::optional<std::string_view> last_event_id);
  // The client says goodbye, or does not come any more.
  void end(const std::string& why);

  const std::string& id() const { return id_; }
  bool is_ending() const { return is_ending_; }
  // Nothing is open: no request, no stream.
  bool is_quiet() const;
  // For whoever ends quiet ones: a number that changes whenever the client does something.
  std::uint64_t activity() const { return activity_; }
  std::size_t unsent() const { return unsent_; }

  void to_client(mcp::ToClient message) override;
  void accepted(mcp::Stream stream) override;
  void leave_off(mcp::Stream stream, mcp::Milliseconds retry_after) override;
  void ended(const std::string& why) override;
  bool is_full() const override { return unsent_ > limits_.unsent_bytes_max; }
  void server_drained() override;
  void session_refused() override;

 private:
  struct Channel;
  struct Held {
    mcp::Stream stream;
    std::string body;
    Behind::Parameters parameters;
  };

  bool is_legacy() const { return era_ == mcp::Era::Legacy; }
  // Its streams begin with an id to come back with.
  bool is_primed() const;
  Channel& add_channel(mcp::Stream stream);
  Channel* channel(mcp::Stream stream);
  void begin_stream(Channel& channel);
  void attach(Channel& channel, std::shared_ptr<net::EventStream> events);
  void detach(Channel& channel);
  void push(Channel& channel, std::string_view message, bool last);
  void send(Channel& channel, Replay::Bytes bytes);
  void watch(Channel& channel);
  void taken(mcp::Stream stream, std::uint64_t connection);
  void closed(mcp::Stream stream, std::uint64_t connection);
  void client_left(mcp::Stream stream);
  void finish(mcp::Stream stream);
  void forget_some();
  void drop_unsent(Channel& channel);
  void answer(Channel& channel, mcp::ToClient message);
  void let_in();
  void pass_on(mcp::Stream stream, std::string body, Behind::Parameters parameters);
  std::vector<net::Header> session_header(const Channel& channel) const;
  // Runs on the context, with the session if it is still there.
  template <class Work>
  std::function<void()> later(Work work);

  boost::asio::io_context& context_;
  const mcp::Era era_;
  const std::string id_;
  const HttpLimits& limits_;
  std::function<void()> on_ended_;
  std::unique_ptr<Behind> behind_;
  std::map<mcp::Stream, std::unique_ptr<Channel>> channels_;
  std::deque<mcp::Stream> over_;  // streams that are over and kept, oldest first
  std::deque<Held> held_;         // while the server does not read
  std::size_t held_bytes_ = 0, unsent_ = 0, over_bytes_ = 0;
  mcp::Stream next_stream_ = mcp::kAside + 1;
  std::uint64_t next_connection_ = 1, activity_ = 0;
  bool is_ending_ = false, has_ended_ = false;
};

}  // namespace baton::proxy
