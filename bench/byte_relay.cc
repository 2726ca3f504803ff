// SPDX-License-Identifier: Apache-2.0
// byte_relay COMMAND ARGS...: the least that can stand between a client and a server on stdin and stdout: copies bytes both ways, looks
// at none of them. What `./dev bench mcp` compares the proxy with.
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>

extern char** environ;

namespace {

// Blocking reads and writes, one buffer: a message is a read, a write and a poll.
bool copy(int from, int to) {
  static std::array<char, 64 << 10> buffer;
  const ssize_t got = ::read(from, buffer.data(), buffer.size());
  if (got <= 0) return false;
  for (ssize_t at = 0; at < got;) {
    const ssize_t put = ::write(to, buffer.data() + at, static_cast<std::size_t>(got - at));
    if (put < 0) return false;
    at += put;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int down[2], up[2];
  if (argc < 2 || ::pipe(down) != 0 || ::pipe(up) != 0) return 2;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, down[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, up[1], 1);
  for (const int one : {down[0], down[1], up[0], up[1]}) ::posix_spawn_file_actions_addclose(&actions, one);
  pid_t child = 0;
  if (::posix_spawnp(&child, argv[1], &actions, nullptr, argv + 1, environ) != 0) return 2;
  ::close(down[0]);
  ::close(up[1]);
  while (true) {
    std::array<pollfd, 2> waits = {pollfd{0, POLLIN, 0}, pollfd{up[0], POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0) break;
    if (waits[1].revents != 0 && !copy(up[0], 1)) break;
    if (waits[0].revents != 0 && !copy(0, down[1])) break;
  }
  ::close(down[1]);
  ::waitpid(child, nullptr, 0);
  return 0;
}
