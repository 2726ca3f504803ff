// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 client on an io_context: many requests at once to one place, on connections that are kept. The place is
// one an operator configured, or the node's unix socket; rules as in net/http_client.h: plain http only to this
// machine, no redirects.
//
// An answer comes whole, or, when it is a success of the type text/event-stream, event by event until one side ends it.
//
// Everything happens on the context's thread, on which all is to be called; nothing is called from within send(),
// cancel() or resume(). A callback may send, cancel, and destroy the client. After cancel() or the destructor nothing
// is called any more. The client keeps the context busy until it is destroyed (kept connections, one timer for all
// deadlines).
//
// A Failure's code is one of
//   NODE_UNREACHABLE      nobody listens there: no socket file, or the connection was refused; nothing was sent
//   HTTP_TIMEOUT          no answer in time, or a stream was silent for too long
//   HTTP_BODY_TOO_LARGE   the answer, or an event of it, is larger than the request allows
//   none                  anything else: no TLS with that peer, an answer that is not HTTP or was cut off, ...
// `sent` of the outcome tells whether the server may have seen the request.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/header.h"
#include "net/http_client.h"
#include "net/sse.h"

namespace baton::net {

struct AsyncClientOptions {
  std::string url = "http://localhost";  // the place; a path in it is the target of requests that name none
  std::string unix_path = {};            // connect to this socket; the URL's host then only fills the Host header
  std::string ca_file = {};              // https: trust the certificates of this PEM file; empty: those of the system
  std::size_t connections_max = 256;     // at once, streams among them; further requests wait for one
  std::size_t idle_max = 16;             // kept for later requests
  std::chrono::milliseconds idle_time = std::chrono::seconds(30);  // kept so long; below what common servers allow
};

struct AsyncRequest {
  std::string method = "POST";
  std::string target = {};  // path and query; empty: that of the client's URL
  std::string body = {};
  std::string content_type = "application/json";  // of a body that is not empty
  std::vector<Header> headers = {};               // further ones
  // From send() to the end of an answer that comes whole, or to the head of a stream; waiting for a connection counts.
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
  // Between the bytes of a stream (comments count); zero: for ever.
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(60);
  std::size_t answer_bytes_max = 1u << 20;  // of an answer that comes whole
  std::size_t event_bytes_max = 1u << 20;   // of one event of a stream
  // There are servers that stream JSON, a message a line, where they should send events. With this such an answer (status 2xx,
  // application/json without a length, whose first line is a whole object) is a stream, each line the data of an event.
  bool takes_json_lines = false;
  // A kept connection may be closed by the server just as the request is on its way. When no byte of an answer has come
  // then, the request is sent once more, on a new connection: always when none of it was taken by the old one, else
  // only if it says here that being done twice does no harm.
  bool safe_to_repeat = false;
};

// The end of a request, for better or worse.
struct AsyncOutcome {
  // Of a stream: its head, when the server ended it in order. One that broke off is a Failure.
  Result<HttpAnswer> answer;
  bool streamed = false;                      // on_stream was called
  bool sent = false;                          // a failure: bytes of the request were handed to the kernel
  std::string last_event_id = {};             // of a stream: where to go on
  std::optional<std::int64_t> retry_ms = {};  // of a stream: how long the server asks to wait before that
};

struct AsyncEvents {
  std::function<void(AsyncOutcome outcome)> on_done;           // once, and the last
  std::function<void(const HttpAnswer& head)> on_stream = {};  // the answer is a stream: status and headers
  std::function<void(SseEvent event)> on_event = {};           // an event of it
};

// Never given twice; 0 is none.
using AsyncId = std::uint64_t;

// Whoever takes requests to one place: by HTTP, or because the place is in this process. All that is said above holds of each.
class AsyncPlace {
 public:
  virtual ~AsyncPlace() = default;
  virtual AsyncId send(AsyncRequest request, AsyncEvents events) = 0;
  // Nobody waits for the answer any more. Unknown ids are ignored.
  virtual void cancel(AsyncId id) = 0;
};

class AsyncClient final : public AsyncPlace {
 public:
  // Fails when the address is none we may call, or the CA file cannot be read. Connects to nobody yet.
  static Result<std::unique_ptr<AsyncClient>> make(boost::asio::io_context& context, AsyncClientOptions options);
  ~AsyncClient() override;
  AsyncClient(const AsyncClient&) = delete;
  AsyncClient& operator=(const AsyncClient&) = delete;

  AsyncId send(AsyncRequest request, AsyncEvents events) override;
  // Closes the request's connection, if it has one; the server sees that nobody waits any more.
  void cancel(AsyncId id) override;
  // A stream is not read on while it is paused, and its idle time does not run.
  void pause(AsyncId id);
  void resume(AsyncId id);

  struct Figures {
    std::size_t waiting, active,
        idle;  // requests without a connection, connections with a request, connections without
    std::uint64_t connections_total, repeated_total;  // made so far; requests sent once more
  };
  Figures figures() const;

 private:
  class State;
  explicit AsyncClient(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace baton::net
