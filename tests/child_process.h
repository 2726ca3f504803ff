// SPDX-License-Identifier: Apache-2.0
// Another process, for tests of what several of them do to one thing: a fork that does one piece of work and exits. To be
// made while the test has no other thread.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/check.h"

namespace baton {

// Numbers to and from the other process.
class Channel {
 public:
  Channel(int in, int out) : in_(in), out_(out) {}
  bool send(std::uint64_t number) const { return ::write(out_, &number, sizeof number) == sizeof number; }
  // Waits; nothing when the other side has ended.
  std::optional<std::uint64_t> receive() const {
    std::uint64_t number = 0;
    if (::read(in_, &number, sizeof number) != sizeof number) return std::nullopt;
    return number;
  }

 private:
  int in_;
  int out_;
};

class ChildProcess {
 public:
  // `work` gives the exit status.
  explicit ChildProcess(const std::function<int(const Channel&)>& work) {
    CHECK(::pipe(to_child_) == 0 && ::pipe(from_child_) == 0);
    pid_ = ::fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::close(to_child_[1]);
      ::close(from_child_[0]);
      ::_exit(work(Channel(to_child_[0], from_child_[1])));
    }
    ::close(to_child_[0]);
    ::close(from_child_[1]);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    if (pid_ > 0) end(SIGKILL);
    ::close(to_child_[1]);
    ::close(from_child_[0]);
  }

  pid_t pid() const { return pid_; }
  Channel channel() const { return {from_child_[0], to_child_[1]}; }

  // Waits for its end; its exit status, or -1 when it was ended by a signal.
  int wait() {
    int status = 0;
    CHECK(::waitpid(pid_, &status, 0) == pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int end(int signal) {
    ::kill(pid_, signal);
    return wait();
  }

 private:
  int to_child_[2];
  int from_child_[2];
  pid_t pid_ = -1;
};

}  // namespace baton
