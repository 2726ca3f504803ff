// SPDX-License-Identifier: Apache-2.0
// The sockets a server listens on: opening them, and taking in who comes.
#pragma once

#include <sys/types.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/http_server.h"
#include "net/transport.h"
#include "net/worker.h"

namespace baton::net {

// A socket that is bound and listens.
struct Listening {
  Descriptor socket;
  std::string address;      // TCP: with its real port
  std::string unix_path;    // or this
  bool for_agents = false;  // a GroupSocket
  dev_t device = 0;         // of the socket's file: whether it is still ours when we leave
  ino_t inode = 0;
};

// A file nobody listens on is replaced; one that somebody answers at is a failure. Mode 0600. The folder must be there.
Result<Listening> listen_unix(const std::string& path);
// The same for a group: mode 0660. A failure unless the folder is this user's or root's, and nobody else can write there.
Result<Listening> listen_unix(const GroupSocket& socket);
// One socket, or two for `localhost`: 127.0.0.1 and, where the machine has it, ::1.
Result<std::vector<Listening>> listen_tcp(const ListenAddress& address);

// Accepts for all workers, on the thread of the first. When it cannot (no descriptors, no memory), it waits a little and
// tries again; who comes beyond the limit is told and closed.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(Worker& home, const std::vector<std::unique_ptr<Worker>>& workers, Listening listening);
  ~Listener();

  void start() { wait(); }
  void close();  // the file of a unix socket goes as well

 private:
  void wait();
  void accept_some();
  bool accept_one();
  void take(Descriptor socket);
  void turn_away(Descriptor socket);

  Worker& home_;
  const std::vector<std::unique_ptr<Worker>>& workers_;
  Listening listening_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  std::size_t next_ = 0;
  bool closed_ = false;
};

}  // namespace baton::net
