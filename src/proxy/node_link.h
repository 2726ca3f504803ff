// SPDX-License-Identifier: Apache-2.0
// One governed session at the node: what a conversation asks and tells there, over the HTTP API (docs/reference/http-api.md).
//
// What is heard is a status and a body, as mcp/node.h reads them; status 0: the node could not be reached, and the body says why. All
// is heard from the loop, never from within a function of the link; after the link is destroyed nothing is.
//
// A proposal is sent once: when its answer is lost, the call does not go ahead. The node may have begun it then, so that it is
// settled afterwards as an error that nothing came of. Of a settlement nobody else knows: it is sent again, up to kSettleTries times
// with growing pauses, and quiet() tells when none is left.
//
// Neither carries an idempotency key, because what does cannot go by the node's fast lane. A settlement that was recorded while
// its answer was lost is therefore refused the second time, as one of a call that is over; whoever waits for it is told that, and
// hands nothing on.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "mcp/conversation.h"
#include "net/async_client.h"
#include "proxy/driver.h"

namespace baton::proxy {

class NodeLink {
 public:
  using Heard = std::function<void(int status, std::string body)>;

  static constexpr std::chrono::milliseconds kAnswerWait{30'000};
  static constexpr int kSettleTries = 8;
  static constexpr std::chrono::milliseconds kApprovalLook{2'000};
  static constexpr int kApprovalTries = 10;  // that fail in a row, before it is said that the node cannot be asked
  static constexpr std::chrono::milliseconds kFollowPause{1'000}, kFollowPauseMax{15'000};

  explicit NodeLink(Shared& shared);
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;

  // Opens a session by the options, or looks at the one that they say is joined; with a token, at the open governed session whose
  // token that is. May be asked again after it was refused.
  struct Opened {
    bool ok = false;
    std::string text;      // what the node says of the session, or why there is none: a sentence without the token
    std::string mcp = {};  // what it says of the session's pack, for a proxy
  };
  void open(std::string token, std::function<void(Opened)> opened);
  const std::string& session_id() const { return session_id_; }
  bool is_own() const { return is_own_; }

  void propose(std::string body, Heard heard);
  void start(std::string body, Heard heard);
  void settle(std::string body, Heard heard);  // `heard` may be empty
  void ask_callable(Heard heard);
  void show_session(Heard heard);
  void hand_off(std::string document, Heard heard);
  void decide(const std::string& approval_id, const std::string& digest, bool approve);
  void close(Heard heard);

  // Heard once, when it is decided, has lapsed, or the node has not answered for long.
  void await_approval(mcp::CallNumber call, std::string approval_id, Heard heard);
  void leave_approval(mcp::CallNumber call) { approvals_.erase(call); }

  // `changed`: something happened in the session that did not come from here.
  void follow(std::string own_calls, std::function<void()> changed);

  // Settlements that are not delivered yet; and a call when there are none.
  bool is_quiet() const { return settling_ == 0; }
  void when_quiet(std::function<void()> then) { quiet_ = std::move(then); }
  // The end is near: settlements are tried again quickly.
  void hurry() { in_a_hurry_ = true; }

 private:
  struct Waiting {
    std::string approval_id;
    Heard heard;
    bool is_asked = false;
    int failures = 0;
  };

  net::AsyncRequest request(std::string method, std::string target, std::string body = {}) const;
  void ask(net::AsyncRequest request, std::function<void(int, std::string, bool sent)> heard);
  void adopt(std::string id, std::string token);
  void join(std::string token, std::function<void(Opened)> opened);
  void read_pack(std::string session, std::function<void(Opened)> opened);
  void settle_again(std::string body, Heard heard, int tries);
  void ask_approval(mcp::CallNumber call);
  void look_at_approvals();
  void listen();
  void listen_again();
  void after(boost::asio::steady_timer& timer, std::chrono::milliseconds time, std::function<void()> what);

  Shared& shared_;
  std::string session_id_, base_;  // base_: /v1/sessions/ID
  std::string open_key_;           // of the session that is being opened
  std::vector<net::Header> headers_;
  std::string calls_target_, settle_target_;
  bool is_own_ = false, in_a_hurry_ = false;
  std::size_t settling_ = 0;
  std::function<void()> quiet_;
  std::map<mcp::CallNumber, Waiting> approvals_;
  boost::asio::steady_timer approval_look_, follow_pause_;
  bool looks_ = false;
  std::function<void()> changed_;
  std::string own_calls_, last_event_id_;
  net::AsyncId following_ = 0;
  std::chrono::milliseconds pause_ = kFollowPause;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace baton::proxy
