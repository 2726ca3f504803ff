// SPDX-License-Identifier: Apache-2.0
#include "cli/live.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "net/sse.h"

namespace baton::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSilence{45'000};
constexpr milliseconds kBrokenPause{500};  // before a connection that broke is made again

volatile std::sig_atomic_t was_ended = 0, was_resized = 0;

// Listens until the pipe's other end is gone. Never returns.
[[noreturn]] void listen(Client& client, const std::string& path, int pipe) {
  std::string last_id;
  for (;;) {
    net::SseParser parser;
    bool heard = true;
    (void)client.follow(
        path, last_id,
        [&](std::string_view bytes) {
          if (parser.put(bytes).empty()) return !parser.too_large();
          last_id = parser.last_id();
          heard = ::write(pipe, "!", 1) == 1 || errno == EAGAIN;  // a full pipe has been told already
          return heard;
        },
        kSilence);
    // After a break something may have happened that is not sent again.
    if (!heard || (::write(pipe, "!", 1) != 1 && errno != EAGAIN)) ::_exit(0);
    std::this_thread::sleep_for(kBrokenPause);
  }
}

}  // namespace

Ears::Ears(Client& client, const std::vector<std::string>& streams, std::uint64_t from) {
  std::string path = "/v1/events?from=" + std::to_string(from);
  for (const std::string& stream : streams) path += "&stream=" + url_part(stream);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    ::close(ends[0]);
    ::signal(SIGINT, SIG_IGN);  // of the terminal's whole group: the parent ends this one
    ::signal(SIGTERM, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);
    listen(client, path, ends[1]);
  }
  ::close(ends[1]);
  pipe_ = ends[0];
}

Ears::~Ears() {
  if (process_ > 0) {
    ::kill(process_,
           SIGKILL);  // it has nothing to put in order, and may not have got as far as minding a softer signal
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (pipe_ >= 0) ::close(pipe_);
}

bool Ears::drain() {
  char bytes[256];
  ssize_t got = 0;
  while ((got = ::read(pipe_, bytes, sizeof bytes)) > 0) {
  }
  return got != 0;
}

void LiveSignals::watch() {
  struct sigaction action = {};
  action.sa_handler = [](int signal) { (signal == SIGWINCH ? was_resized : was_ended) = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) ::sigaction(signal, &action, nullptr);
}

bool LiveSignals::ended() { return was_ended != 0; }

bool LiveSignals::resized() {
  const bool was = was_resized != 0;
  was_resized = 0;
  return was;
}

}  // namespace baton::cli
