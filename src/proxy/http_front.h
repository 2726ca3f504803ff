// SPDX-License-Identifier: Apache-2.0
// Streamable HTTP in front of conversations: the endpoint (/mcp, and / for those who were told no path) that MCP clients of both eras
// call.
//
//   legacy   `initialize` begins a session, which has a conversation of its own. Its id is ours (128 random bits), goes out with the
//            answer in Mcp-Session-Id and comes back with every request: missing 400, unknown or ended 404. DELETE ends it.
//   modern   there are no sessions: all requests of one credential share one conversation, and those that name a governed session
//            (mcp::kMetaSession) one for each that they name. GET and DELETE are 405.
//
// Who may call: a Host that is ours and an Origin that is allowed (else 403); whoever presents a bearer token (else 401).
// Tokens are looked at here and go no further. A session belongs to the credential that began it: to others it does not exist.
// Each token has its rate of requests; where none is asked for, each address has (else 429). Bodies have a limit (else 413), and of a
// stranger's no more is read than a head's worth.
//
// Threads: everything happens on the context's, on which all functions here are to be called. With TLS, HTTP is spoken, tokens are
// compared and bodies are parsed on threads of the server's own: there is more to do then for each byte and each who comes.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "net/http_server.h"
#include "proxy/http_session.h"

namespace baton::proxy {

struct HttpFrontOptions {
  std::vector<net::ListenAddress> listen;
  std::string certificate_file, key_file;
  std::vector<std::string> hosts;    // further names that a Host header may carry
  std::vector<std::string> origins;  // pages that may call, and read the answers; those of this machine may call anyhow
  std::vector<std::string> tokens;   // the bearer tokens that are accepted
  // Every request is accepted without a token. For loopback addresses only.
  bool without_token = false;
  HttpLimits limits;
  std::size_t client_bytes_max = 4u << 20;   // one message of the client
  std::size_t server_bytes_max = 64u << 20;  // one message to it
  double requests_per_second = 1000;         // of one token, or of one address where there are none; 0: any number
  double requests_at_once = 2000;            // of one of those, after it was quiet
  std::size_t connections = 2048;
  std::chrono::milliseconds write_time{30'000};  // a client that takes nothing for so long is cut off
  unsigned threads = 1;                          // with TLS
};

// What stands in the way of listening so; empty: nothing. Other machines are listened to only with TLS and a token.
std::string problem_with(const HttpFrontOptions& options);

class HttpFront {
 public:
  // `context`, `clock` and `random` outlive it. `make` is called on the context's thread, once for each conversation.
  static Result<std::unique_ptr<HttpFront>> start(boost::asio::io_context& context, Clock& clock, Random& random,
                                                  HttpFrontOptions options, MakeBehind make);
  // Cuts off whoever is connected; conversations go without a word. stop() first is kinder.
  ~HttpFront();
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  // With real ports: "127.0.0.1:7070".
  std::vector<std::string> addresses() const;
  // Ends all conversations and lets nobody new in; `done` is called on the context when the last has ended.
  void stop(std::function<void()> done);

  struct Figures {
    std::size_t sessions;       // legacy ones
    std::size_t conversations;  // those, the modern ones, and those that are ending
  };
  Figures figures() const;

 private:
  class Core;
  explicit HttpFront(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace baton::proxy
