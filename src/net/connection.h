// SPDX-License-Identifier: Apache-2.0
// One connection of the server, from accept to close, on one thread.
//
//   Handshake -> Idle -> Reading -> Handling -> Writing -> Idle ...      a response
//                                            -> Streaming -> Idle ...    an event stream
//                any of them -> Writing -> Lingering -> Closed           a refusal, or the last response
//
// drive() does what the state allows until the socket would block, and then waits for it. Whoever wakes the connection
// (the socket, a deadline, a handler's answer) changes the state and drives. Between requests, and while a stream has
// nothing to send, a connection holds no buffer and no parser.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/exchange.h"
#include "net/http_rules.h"
#include "net/outgoing.h"
#include "net/transport.h"
#include "net/worker.h"

namespace baton::net {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Worker& worker, Descriptor socket, Seat seat, Peer peer);
  ~Connection();

  void start();
  void drive();
  // From the exchange; nothing happens when the client has gone meanwhile.
  void respond(ServerResponse response);
  void begin_stream(std::shared_ptr<ServerStream> stream, const std::vector<Header>& headers);
  void leave_unanswered();
  // The server stops: ends after what is being answered, or now.
  void finish();
  void close();

 private:
  enum class State : std::uint8_t { Handshake, Idle, Reading, Handling, Writing, Streaming, Lingering, Closed };
  enum class Flushed { All, Blocked, Broken };
  struct Incoming;

  void step();
  // Waits for what a step wanted; false: the connection is over.
  bool wait_after(Transport::Outcome outcome);
  void wait(boost::asio::posix::descriptor_base::wait_type direction, bool& waiting);
  void set_deadline(std::chrono::milliseconds time);
  void drop_deadline() { ++deadline_; }
  void on_deadline();

  void shake_hands();
  void read_request();
  void consume(std::string_view fresh);
  std::optional<Refusal> parse(std::string_view& bytes);
  std::optional<Refusal> parse_head(std::string_view& bytes);
  void judge_body();
  bool send_continue();
  void dispatch();
  void refuse(const Refusal& refusal);
  void watch_client();
  void client_gone();

  void queue_response(const ServerResponse& response);
  void write_response();
  Flushed flush();
  void stream_events();
  void keep_ahead(std::string_view bytes);
  void end_stream();
  void linger();
  void drop_input();

  Worker& worker_;
  Seat seat_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer timer_;
  Transport transport_;
  const Peer peer_;
  std::uint32_t deadline_ = 0;  // the number of the one that counts
  State state_ = State::Idle;
  bool waiting_read_ = false, waiting_write_ = false;
  bool input_ended_ = false;  // nothing more comes from the client
  bool keep_alive_ = true, is_http_1_1_ = true, is_head_ = false;
  bool deadline_set_ = false;  // of the request that is being read, or of a blocked write
  bool stream_wrote_ = false;  // since the last heartbeat's turn
  bool stream_last_ = false;   // the end of the stream is in `out_`
  std::size_t dropped_ = 0;    // while lingering
  std::string input_;          // received, not yet parsed
  std::unique_ptr<Incoming> incoming_;
  std::shared_ptr<Pending> pending_;
  std::shared_ptr<ServerStream> stream_;
  Outgoing out_;
};

}  // namespace baton::net
