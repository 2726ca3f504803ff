// SPDX-License-Identifier: Apache-2.0
// One connection of the asynchronous client (net/async_client.h), from connect to close, and the request that is on it.
//
//   Resolving -> Connecting -> Handshake -> Asking -> Idle -> Asking ...       any of them -> Closed
//
// Whoever wakes it (the socket, a name that was found, its owner) drives it until the socket would block. A read is
// always being waited for while it is idle, and still is when the next request is written: a server that closes is
// noticed without asking, and a request costs no further system call for it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/async_client.h"
#include "net/http_message.h"
#include "net/transport.h"

namespace baton::net {

class AsyncWire;
using AsyncTime = std::chrono::steady_clock::time_point;

// A request on its way.
struct AsyncCall {
  AsyncId id = 0;
  AsyncRequest request;  // its body is in `text`
  AsyncEvents events;
  std::string text;
  AsyncTime deadline;
  std::size_t written = 0;   // of the text, to the present connection
  bool sent = false;         // bytes of it went out, on this connection or one before
  bool repeated = false;     // this is the second try
  bool streaming = false;    // the answer is a stream,
  bool stream_told = false;  // and on_stream was called
  bool paused = false;
  bool done = false;  // nobody is to be called any more
  std::optional<AnswerReader> reader;
  std::optional<SseParser> sse;
  std::string line;                 // of JSON lines: what has come of the next
  std::deque<SseEvent> pending;     // of the stream, not given yet
  std::shared_ptr<AsyncWire> wire;  // none: it waits for one
};

// What a wire needs of the client it belongs to.
class AsyncWireOwner {
 public:
  struct Place {
    Url url;
    std::string unix_path;
    TlsContext tls;  // none: plain
  };
  virtual const Place& place() const = 0;
  virtual std::span<char> scratch() = 0;  // to read into, for the moment
  // The answer is complete; the wire is idle, or closed.
  virtual void answered(const std::shared_ptr<AsyncWire>& wire, const std::shared_ptr<AsyncCall>& call) = 0;
  // The wire is closed. Called from the loop, with nothing of the wire's under way.
  virtual void failed(const std::shared_ptr<AsyncWire>& wire, const std::shared_ptr<AsyncCall>& call,
                      const Trouble& trouble) = 0;
  // An idle wire was closed by the server.
  virtual void lost(const std::shared_ptr<AsyncWire>& wire) = 0;
  // Bytes of a stream came.
  virtual void stirred(AsyncCall& call) = 0;

 protected:
  ~AsyncWireOwner() = default;
};

class AsyncWire : public std::enable_shared_from_this<AsyncWire> {
 public:
  AsyncWire(boost::asio::io_context& context, AsyncWireOwner& owner);

  // Connects and asks; or asks on the connection there is. Nobody is called from within.
  void start(std::shared_ptr<AsyncCall> call);
  void begin(std::shared_ptr<AsyncCall> call);
  // A stream that was paused goes on.
  void go_on();
  // Nothing is called any more; what is under way is left.
  void close();

  bool is_idle() const { return state_ == State::Idle; }
  bool is_reused() const { return reused_; }
  // Nothing came on an idle connection: no end, and no bytes nobody asked for.
  bool is_quiet();

  AsyncTime idle_since;  // the owner's

 private:
  enum class State : std::uint8_t { Resolving, Connecting, Handshake, Asking, Idle, Closed };

  void drive();
  bool wait_after(Transport::Outcome outcome);
  void wait(boost::asio::posix::descriptor_base::wait_type direction, bool& waiting);
  bool hold(Descriptor socket);
  void connect_unix();
  void look_up();
  void connect_next(std::optional<Trouble> last);
  void see_connected();
  void connected();
  void shake_hands();
  void ask();
  void write_some();
  void read_some();
  bool take(std::string_view bytes);
  void see_eof(bool broken);
  bool deliver();
  void end_with(std::optional<Trouble> trouble);
  void finish();
  void fail(Trouble trouble);

  boost::asio::io_context& context_;
  AsyncWireOwner* owner_;  // none once it is closed
  State state_ = State::Resolving;
  bool reused_ = false;  // the request is not the first here
  bool write_broken_ = false;
  bool waiting_read_ = false, waiting_write_ = false;
  bool ended_ = false;  // the answer has, but not all of it was given
  std::optional<Trouble> ended_badly_;
  std::shared_ptr<AsyncCall> call_;
  boost::asio::posix::stream_descriptor socket_;
  Transport transport_;
  Endpoints endpoints_;
  std::size_t next_endpoint_ = 0;
  std::unique_ptr<boost::asio::ip::tcp::resolver> resolver_;
  std::unique_ptr<boost::asio::steady_timer> again_;  // while the listener's queue is full
};

}  // namespace baton::net
