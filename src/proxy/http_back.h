// SPDX-License-Identifier: Apache-2.0
// A server that speaks Streamable HTTP: each message is a POST, which is answered with JSON or with a stream of events.
//
// Legacy era. The server's session id (Mcp-Session-Id) is kept and sent. After `notifications/initialized` a GET keeps the stream open
// on which it says what belongs to no request; a server that has none (405) has none. An answer's stream that breaks off, or is closed
// before the answer came, is taken up again with Last-Event-ID where the server gave its events ids. That it was closed in good order is
// told: the server wants to be asked later, and a client that can come back is let go meanwhile. A server that knows our
// session no longer (404) is gone and back: the conversation begins anew with it.
//
// Modern era. What a request is about is said in headers too (Mcp-Method, Mcp-Name, ...); a request is withdrawn by closing its answer.
//
// Order: a notification, or an answer of the client's, is waited for (202) before what comes after it is sent, so that
// `notifications/initialized` is there before the first request. Requests go side by side.
//
// Nothing of the client's goes to the server but its messages: no header, no token. ServerOptions::headers are sent instead.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "net/async_client.h"
#include "proxy/back.h"
#include "proxy/driver.h"

namespace baton::proxy {

class HttpBack final : public Back {
 public:
  static constexpr std::size_t kWaitingBytesMax = 1u << 20;  // is_full() beyond
  static constexpr int kResumesMax = 8;                      // of one answer, without an event between
  static constexpr std::chrono::milliseconds kFirstPause{500}, kLongestPause{30'000}, kEndWait{1'500};

  HttpBack(Shared& shared, const ServerOptions& options, std::size_t server, BackListener& listener);
  ~HttpBack() override;

  void start() override;
  void send(mcp::ToServer message) override;
  void withdraw(mcp::Withdraw request) override;
  void take_up(mcp::Ticket ticket) override;
  void end() override;
  void pause() override;
  void resume() override;
  bool is_full() const override { return waiting_bytes_ > kWaitingBytesMax; }

 private:
  // A request on its way.
  struct Asked {
    mcp::Ticket ticket = 0;
    std::string method;
    bool is_modern = false;
    bool is_answered = false;
    bool is_withdrawn = false;
    bool can_resume = false;
    bool pauses = false;  // it was left, and is to be taken up again
    net::AsyncId id = 0;
    std::string last_event_id;
    int resumes = 0;
  };
  using AskedPtr = std::shared_ptr<Asked>;

  net::AsyncRequest request(std::string method) const;
  void post(mcp::ToServer message);
  void next();
  void answered(const AskedPtr& asked, net::AsyncOutcome outcome);
  void whole(const AskedPtr& asked, const net::HttpAnswer& answer);
  // `in_order`: the server ended the stream itself.
  void broke_off(const AskedPtr& asked, std::optional<std::int64_t> retry_ms, bool in_order);
  void take_up(const AskedPtr& asked);
  void event(const AskedPtr& asked, net::SseEvent event);
  void failed(const AskedPtr& asked, mcp::AttemptFailure failure);
  void no_other(const AskedPtr& asked);
  void note_session(const Asked& asked, const net::HttpAnswer& head);
  void forget_session();
  void listen();
  void listen_later(std::optional<std::int64_t> retry_ms);
  void later(std::function<void()> what);
  void after(std::chrono::milliseconds time, std::function<void()> what);
  void say_ended();

  Shared& shared_;
  const ServerOptions& options_;
  const std::size_t server_;
  BackListener& listener_;
  std::unique_ptr<net::AsyncClient> client_;
  std::string problem_;  // why there is no client
  std::string session_id_, version_;
  std::map<mcp::Ticket, AskedPtr> asked_;
  std::set<net::AsyncId> streams_;  // that can be paused
  std::deque<mcp::ToServer> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_barred_ = false;  // a notification is on its way
  net::AsyncId listening_ = 0;
  bool wants_to_listen_ = false, has_stream_ = true;
  std::string listen_event_id_;
  std::chrono::milliseconds listen_pause_ = kFirstPause;
  boost::asio::steady_timer listen_timer_;
  bool ending_ = false, has_ended_ = false, paused_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace baton::proxy
