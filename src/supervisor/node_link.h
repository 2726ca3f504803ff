// SPDX-License-Identifier: Apache-2.0
// What a supervisor asks and tells its node, over the HTTP API (docs/reference/http-api.md).
//
// What changes something carries an idempotency key and is asked again while the node is not there or busy, up to the time given; so a
// node that is started again in between loses nothing. Heard from the loop, never from within; after the link is destroyed nothing is.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "json/value.h"
#include "net/async_client.h"

namespace baton::supervisor {

class NodeLink {
 public:
  // `status` 0: it could not be told, and the body says why.
  using Heard = std::function<void(int status, std::string body)>;

  NodeLink(boost::asio::io_context& context, Clock& clock, Random& random, net::AsyncPlace& node, std::string token);
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;

  // From now on on behalf of this session; an empty token: of none.
  void use_session(std::string token) { session_token_ = std::move(token); }

  void get(std::string path, Heard heard);
  void post(std::string path, const json::Value& body, std::chrono::milliseconds patience, Heard heard,
            std::chrono::milliseconds answer_wait = std::chrono::seconds(30));
  void post_text(std::string path, std::string text, std::chrono::milliseconds patience, Heard heard);

  // The newest of what was posted is not waited for any longer: asked once more with the same key, and answered within `time` if it was
  // done, or else heard of as not told.
  void hurry(std::chrono::milliseconds time);

  // The entries of these streams from `from` on, one after the other, for as long as the link lives; a stream that breaks is made again.
  void follow(const std::vector<std::string>& streams, std::uint64_t from, std::function<void(std::string data)> entry);
  void stop_following();

 private:
  struct Asking;
  void ask(const std::shared_ptr<Asking>& asking);
  void ask_later(const std::shared_ptr<Asking>& asking);
  void connect();
  std::vector<net::Header> headers() const;

  boost::asio::io_context& context_;
  Clock& clock_;
  Random& random_;
  net::AsyncPlace& node_;
  std::string token_, session_token_;
  boost::asio::steady_timer follow_pause_;
  std::string follow_target_, last_event_id_;
  std::weak_ptr<Asking> newest_;
  std::function<void(std::string)> entry_;
  net::AsyncId following_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// A part of a path or of a query, percent-encoded.
std::string percent_encoded(std::string_view text);

}  // namespace baton::supervisor
