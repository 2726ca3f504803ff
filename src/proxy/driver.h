// SPDX-License-Identifier: Apache-2.0
// One conversation (mcp/conversation.h) carried out: with its governed session at the node, and the servers behind it.
//
// A Front has the client; a Driver has everything else. The front gives the driver what the client says, the driver gives the front
// what the client is to get. One thread, that of the context, on which all is called. A driver never calls its front from within
// make(); from within its other functions it may.
//
// Beginning: the governed session is opened, or joined, when the client says something that needs one (mcp/conversation.h), and the
// servers are started when there is something to tell them. When the session cannot be opened, or no server can be started, requests are
// answered with an error that says why: nothing goes ahead, and a client that shows errors to its user shows what is wrong. A
// session that is opened when the client is already gone is closed again.
//
// Back pressure: while Front::is_full() nothing is read from the servers; front_drained() goes on. While a server does not read, the
// front is asked to stop reading from the client: is_full() of the driver, Front::server_drained().
//
// Ending: client_gone() ends the conversation. Calls that are under way are settled as unknown, the session is closed if this driver
// opened it, the servers are ended, and Front::ended is called once, last, when all of that is done or kEndWait is over. A driver that
// is destroyed before cuts everything off.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "mcp/conversation.h"
#include "net/async_client.h"
#include "proxy/options.h"

namespace baton::proxy {

// Whoever faces the client.
class Front {
 public:
  virtual ~Front() = default;
  virtual void to_client(mcp::ToClient message) = 0;
  virtual void accepted(mcp::Stream stream) = 0;
  // Close the stream without ending it: the client comes back to it after so many milliseconds.
  virtual void leave_off(mcp::Stream, mcp::Milliseconds) {}
  // The conversation is over; nothing is called afterwards. The driver may be destroyed, but not from within.
  virtual void ended(const std::string& why) = 0;
  // The client is behind: what comes from servers waits.
  virtual bool is_full() const = 0;
  // After Driver::is_full() was true: the client may be read again.
  virtual void server_drained() {}
  // The session that the client named could not be joined; what it asked has been answered so.
  virtual void session_refused() {}
};

// What all conversations of the process have in common.
struct Shared {
  boost::asio::io_context& context;
  Clock& clock;
  Random& random;
  const Options& options;
  net::AsyncPlace& node;                              // of all conversations
  mcp::SealKey seal_key;                              // random, of this process
  std::function<void(std::string_view line)> report;  // a line for people, on standard error; no line feed
  bool said_no_operator = false;                      // that a pack's operator decides, and we have no token of one
};

// How long the settling of what is under way and the closing of the session may take when a conversation ends.
constexpr std::chrono::milliseconds kEndWait{5'000};
// Clients end a server that does not end by itself after two seconds.
constexpr std::chrono::milliseconds kFinishWait{1'000};

class Driver {
 public:
  // `shared` and `front` outlive it.
  static std::shared_ptr<Driver> make(Shared& shared, Front& front);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // A message of the client, whole, without its line feed. `parameters`: over HTTP, what headers say of arguments.
  void from_client(mcp::Stream stream, std::string message, std::optional<mcp::ParameterHeaders> parameters = {});
  // One that was too large to be kept: its two ends.
  void oversized_from_client(mcp::Stream stream, std::string_view head, std::string_view tail);
  void stream_gone(mcp::Stream stream);
  // The client came back to one that Front::leave_off closed, or that broke.
  void stream_back(mcp::Stream stream);
  // It is gone for good, and reads no more.
  void client_gone();
  // It says nothing more, and perhaps still reads (the end of stdin): what it asked is answered if that takes no longer than
  // kFinishWait, then it is gone.
  void client_done();
  // The front is not full any more.
  void front_drained();
  // A server does not read as fast as the client writes.
  bool is_full() const;

  // Agreed on with the client; null: not yet (legacy), or the newest request's (modern).
  const mcp::Revision* revision() const;

 private:
  class Core;
  explicit Driver(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace baton::proxy
