// SPDX-License-Identifier: Apache-2.0
// A server behind a conversation, as the conversation's driver sees it: somebody who is sent messages, and of whom things are heard.
// proxy/child_back.h starts a command, proxy/http_back.h speaks Streamable HTTP.
//
// One thread, that of the context. What is heard is told from the loop, never from within a function of the back; a listener may end
// or destroy the back that tells it something.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mcp/conversation.h"

namespace baton::proxy {

struct Shared;
struct ServerOptions;

class BackListener {
 public:
  virtual void message(std::size_t server, std::string bytes, mcp::Ticket ticket) = 0;
  // Larger than Options::server_bytes_max: only its ends are known, or nothing.
  virtual void oversized(std::size_t server, std::string_view head, std::string_view tail, mcp::Ticket ticket) = 0;
  // A request failed below the protocol.
  virtual void attempt_failed(std::size_t server, mcp::Ticket ticket, mcp::AttemptFailure failure) = 0;
  // The server closed the answer to a request before its end, in good order; it is taken up again after so many milliseconds.
  virtual void left_off(std::size_t, mcp::Ticket, mcp::Milliseconds) {}
  // What was under way there is lost; `returns`: it is being started again. And: there is somebody again, who knows nothing of what
  // was said before.
  virtual void gone(std::size_t server, std::string why, bool returns) = 0;
  virtual void back(std::size_t server) = 0;
  // After Back::is_full().
  virtual void drained(std::size_t server) = 0;
  // After Back::end(), once and last.
  virtual void ended(std::size_t server) = 0;

 protected:
  ~BackListener() = default;
};

class Back {
 public:
  virtual ~Back() = default;
  // Once, at first. Whether it could be done is heard: gone() when it could not.
  virtual void start() = 0;
  virtual void send(mcp::ToServer message) = 0;
  virtual void withdraw(mcp::Withdraw request) = 0;
  // An answer that was left off (BackListener::left_off) is to be taken up now.
  virtual void take_up(mcp::Ticket) {}
  // In order: it is told that it is not needed any more. ended() follows.
  virtual void end() = 0;
  // Nothing is read from it while it is paused.
  virtual void pause() = 0;
  virtual void resume() = 0;
  // More waits to be sent than should: what comes from the client should wait.
  virtual bool is_full() const = 0;
};

// A command, or an address, as the options say.
std::unique_ptr<Back> make_back(Shared& shared, const ServerOptions& options, std::size_t server,
                                BackListener& listener);

}  // namespace baton::proxy
