// SPDX-License-Identifier: Apache-2.0
// A process that is started, spoken to by pipes and ended in order: a server that speaks on its stdin and stdout. Linux
// only.
//
// No shell is between: the arguments are the arguments. The environment is given whole; nothing of ours is passed on
// beside it. Of our descriptors it gets only the three pipes, none of our signal handlers and no blocked signal. It is
// the leader of a process group of its own, so that what it starts is ended with it, and a Ctrl-C at our terminal
// reaches us and not it.
//
// When does it end?
//   - by itself: on_exit. Whatever is left of its group is killed then, before its number can be somebody else's.
//   - end(): asked first, killed after the times given.
//   - the Child is destroyed: the group is killed at once and the process reaped; on_exit is not called.
//   - we are killed, -9 included: the kernel kills it (PR_SET_PDEATHSIG). That is bound to the thread that called
//     start(), which must therefore live as long as the child; it does not reach what the child has started in turn, nor
//     a child whose program is setuid. What remains notices the end of its stdin.
// A process that leaves the group (setsid) is out of reach.
//
// Reaped by a pidfd, without a SIGCHLD handler. (Where SIGCHLD is ignored, start() sets it to the default: the kernel
// would not keep how a child ended.) Everything is called on the context's thread; on_stderr and on_exit may destroy
// the Child.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace baton::net {

struct ChildOptions {
  // The first is the program: a path when it has a slash (from `folder` when it is relative), else a name that is
  // looked for in the PATH of `environment`.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value, all of it
  std::string folder = {};               // where it runs; empty: where we do
  std::size_t stderr_line_bytes_max = 4096;
};

struct ChildExit {
  int status = -1;  // what it gave back; -1 when a signal ended it
  int signal = 0;   // which one; 0 when none did

  bool operator==(const ChildExit&) const = default;
};
// "exit status 3", "killed by signal 9 (Killed)"
std::string exit_text(const ChildExit& exit);

struct ChildEvents {
  // A line of its stderr, without its end. Of one that is longer than `stderr_line_bytes_max` only the beginning comes.
  std::function<void(std::string_view line)> on_stderr = {};
  // Once. All that it wrote to stderr before has come; its stdout may still have bytes to be read.
  std::function<void(const ChildExit& exit)> on_exit = {};
};

class Child {
 public:
  // Returns when the program runs, or with a Failure that says why it could not be: "no such file or directory".
  static Result<std::unique_ptr<Child>> start(boost::asio::io_context& context, const ChildOptions& options,
                                              ChildEvents events);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const;
  bool has_ended() const;

  // Our ends of its pipes, for a LineWriter and a LineReader (net/line_pipe.h); each can be taken once.
  Descriptor take_stdin();
  Descriptor take_stdout();

  // Asks it to end, in order: closes its stdin (if that was taken, whoever took it closes it), waits, SIGTERM to its
  // group, waits, SIGKILL to its group. on_exit tells when it is done. Said again, the times begin anew where it
  // stands.
  void end(std::chrono::milliseconds before_term = std::chrono::seconds(2),
           std::chrono::milliseconds before_kill = std::chrono::seconds(3));
  // SIGKILL to its group, now.
  void kill();

 private:
  class State;
  explicit Child(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace baton::net
