// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 server: listens on a unix socket and on TCP (with TLS when given a certificate), holds everyone to limits,
// and hands whole requests to one handler. It knows nothing of what the requests mean.
//
// The handler is called on one of the server's threads and must not block there: it keeps the Exchange and answers later,
// from any thread. An answer is a whole response, or a stream of server-sent events that goes on until one side ends it.
//
// One io_context a thread, no strands: a connection lives on one thread from accept to close. Or none of its own: on the loop of
// whoever has it (ServerOptions::context), for an owner whose handler would hand every request to that loop anyhow. Two threads
// that wake each other cost more than a small request does.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/header.h"

namespace boost::asio {
class io_context;
}

namespace baton::net {

// Who is at the other end.
struct Peer {
  bool local = false;     // came by the unix socket: the ids below are the kernel's word (SO_PEERCRED)
  std::int64_t pid = 0;   // local only
  std::int64_t uid = -1;  // local only
  std::uint64_t started =
      0;                // local only: when that process began (net/process.h), as of the accept; 0: it was gone already
  std::string address;  // TCP only: "127.0.0.1:41234"
  bool tls = false;
  bool for_agents = false;  // local only: came by the agents' socket (ServerOptions::agents)
};

struct ServerRequest {
  std::string method;
  std::string path;   // as it came, without the query
  std::string query;  // as it came, without the `?`
  std::vector<Header> headers;
  std::string body;
  Peer peer;
  bool body_left_out = false;  // there was one, and Admit did not want it read: the answer ends the connection

  // The first header of that name, in any case; nothing when there is none.
  std::optional<std::string_view> header(std::string_view name) const;
};

struct ServerResponse {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<Header> headers = {};  // further ones
};

// A stream of server-sent events that is open. May be used by any thread.
class EventStream {
 public:
  virtual ~EventStream() = default;
  // Queues bytes as they are (`id: 7\nevent: x\ndata: {...}\n\n`). Shared, so that thousands of streams carry one copy.
  // False when the client is gone or so far behind that it was cut off (ServerLimits::stream_backlog_bytes).
  virtual bool send(std::shared_ptr<const std::string> bytes) = 0;
  virtual void close() = 0;
  // Calls once when all that was sent is with the kernel, or the stream has ended; at once, on this thread, when it is so
  // already. For whoever has more to send than the backlog takes.
  virtual void when_taken(std::function<void()> call) { call(); }
  // Called once, on a thread of the server's, when the stream has ended for whatever reason.
  virtual void on_closed(std::function<void()> call) = 0;
};

// One request and the answer to it. Exactly one of respond() and stream() is called, once, by any thread; an Exchange that
// is dropped without an answer gives a 500.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const ServerRequest& request() const = 0;
  virtual void respond(ServerResponse response) = 0;
  virtual std::shared_ptr<EventStream> stream(std::vector<Header> headers = {}) = 0;
  // Called once if the client goes away before it was answered; at once if it has gone already. For whoever waits on its
  // behalf.
  virtual void on_gone(std::function<void()> call) = 0;
};
using Handle = std::function<void(std::shared_ptr<Exchange>)>;

// What a request that never reaches the handler is answered with (too large, too slow, not HTTP, wrong Host): the owner
// words it. `code` is a name of the diagnostics catalogue.
using Refuse = std::function<ServerResponse(unsigned status, std::string_view code, std::string_view problem)>;

// Asked on a server's thread, with the head alone, whether a body of more than ServerLimits::unasked_body_bytes is to be read, or
// one of unknown length beyond that; must not block. False: the handler is called at once, without the body. None: all are.
using Admit = std::function<bool(const ServerRequest& head)>;

struct ServerLimits {
  std::size_t header_bytes = 16u << 10;
  std::size_t body_bytes = 1u << 20;
  // What is read of anybody before Admit is asked: a small request costs no more to hold than its head.
  std::size_t unasked_body_bytes = 16u << 10;
  std::size_t connections =
      8192;                    // where there is a unix socket, the last of them are for `unix_path` (socket_reserve())
  std::size_t streams = 8192;  // open event streams among them
  std::size_t stream_backlog_bytes = 1u << 20;   // unsent bytes of one stream before it is cut off
  std::chrono::milliseconds read_time{10'000};   // from a request's first byte to its last
  std::chrono::milliseconds idle_time{60'000};   // between requests of one connection
  std::chrono::milliseconds write_time{10'000};  // for a response, or an event, to be taken
  std::chrono::milliseconds heartbeat{15'000};   // a comment on an idle stream, so that a dead peer is noticed
};

// A caller that fills the node by TCP, or an agent by the agents' socket, must not keep its own user from reaching it.
constexpr std::size_t socket_reserve(std::size_t connections) {
  return connections < 2 ? 0 : std::clamp<std::size_t>(connections / 16, 1, 64);
}

struct ListenAddress {
  std::string host;        // a literal address or `localhost`
  std::uint16_t port = 0;  // 0: any free one
};

// A unix socket for the users of a group: mode 0660. Its folder must belong to this user or root, and nobody else may write there.
struct GroupSocket {
  std::string path;  // a stale file is replaced
  unsigned group = 0;
};

struct ServerOptions {
  std::string unix_path;              // empty: no unix socket. Mode 0600; a stale file is replaced
  std::optional<GroupSocket> agents;  // a second unix socket, whose peers are `for_agents`
  std::vector<ListenAddress> listen;
  std::string certificate_file, key_file;  // PEM; both or neither; TLS 1.2 and up on every TCP listener
  std::vector<std::string> hosts;  // further names a Host header may carry, beside loopback names and the listen hosts
  std::vector<std::string> origins;  // pages that may call beside those of the host itself: "https://app.example:8443"
  bool loopback_origins = false;     // and those of this machine, on any port
  ServerLimits limits;
  unsigned threads = 1;
  // Everything happens on this loop, which outlives the server; `threads` says nothing then. The server is started, stopped and
  // destroyed on the loop's thread, and stop() waits for nobody.
  boost::asio::io_context* context = nullptr;
};

struct ServerFigures {
  std::uint64_t connections_open, connections_total, requests_total, refused_total, streams_open;
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;  // stops at once
  // Where it listens, with real ports: "127.0.0.1:7070".
  virtual std::vector<std::string> addresses() const = 0;
  virtual ServerFigures figures() const = 0;
  // Accepts nobody new, lets requests that are being answered finish (up to `grace`), ends streams, and returns when all is
  // closed.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

// Starts listening; the handler may be called before this returns. Failures name the address.
Result<std::unique_ptr<HttpServer>> start_http_server(const ServerOptions& options, Handle handle, Refuse refuse,
                                                      Admit admit = {});

}  // namespace baton::net
