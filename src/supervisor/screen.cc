// SPDX-License-Identifier: Apache-2.0
#include "supervisor/screen.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace baton::supervisor {
namespace {

// POSIX: what poll() says can be written to a pipe can be, up to PIPE_BUF bytes, without waiting.
constexpr std::size_t kPieceBytes = 4096;
constexpr std::chrono::milliseconds kPause{30};
constexpr int kFlushTries = 50, kFlushWaitMs = 100;

}  // namespace

Screen::Screen(boost::asio::io_context& context, int out, int err, bool terminal)
    : out_{out}, err_{err}, terminal_(terminal), timer_(context) {}
Screen::~Screen() { flush(); }

void Screen::pump(Pipe& pipe) {
  std::size_t done = 0;
  while (done < pipe.waiting.size() && !pipe.broken) {
    pollfd ready = {pipe.descriptor, POLLOUT, 0};
    if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) {
      pipe.broken = (ready.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
      break;
    }
    const ssize_t put =
        ::write(pipe.descriptor, pipe.waiting.data() + done, std::min(kPieceBytes, pipe.waiting.size() - done));
    if (put > 0) done += static_cast<std::size_t>(put);
    else if (errno != EINTR && errno != EAGAIN) pipe.broken = true;
    else break;
  }
  pipe.waiting.erase(0, done);
  // Nobody reads any more: the agent goes on all the same.
  if (pipe.broken) pipe.waiting.clear();
}

void Screen::pump_later() {
  if (waits_ || (out_.waiting.empty() && err_.waiting.empty())) return;
  waits_ = true;
  timer_.expires_after(kPause);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    waits_ = false;
    pump(out_);
    pump(err_);
    if (was_full_ && !is_full()) {
      was_full_ = false;
      if (drained_) drained_();
    }
    pump_later();
  });
}

void Screen::put(Pipe& pipe, std::string_view bytes) {
  if (bytes.empty() || pipe.broken) return;
  pipe.waiting += bytes;
  pipe.at_line_start = bytes.back() == '\n';
  pump(pipe);
  was_full_ = was_full_ || is_full();
  pump_later();
}

void Screen::hide() {
  if (!shown_) return;
  shown_ = false;
  put(err_, "\r\x1b[K");
  err_.at_line_start = true;
}

// Only where a line begins: in the middle of one it would become part of it.
void Screen::show() {
  if (!terminal_ || status_.empty() || !out_.at_line_start || !err_.at_line_start) return;
  put(err_, "\r\x1b[K" + status_);
  err_.at_line_start = true;
  shown_ = true;
}

void Screen::output(std::string_view bytes) {
  hide();
  put(out_, bytes);
  show();
}

void Screen::error(std::string_view bytes) {
  hide();
  put(err_, bytes);
  show();
}

void Screen::status(std::string line) {
  if (!terminal_ || line == status_) return;
  status_ = std::move(line);
  if (status_.empty()) hide();
  else show();
}

void Screen::flush() {
  hide();
  for (int tries = 0; tries < kFlushTries; ++tries) {
    pump(out_);
    pump(err_);
    if (out_.waiting.empty() && err_.waiting.empty()) return;
    pollfd ready[] = {{out_.waiting.empty() ? -1 : out_.descriptor, POLLOUT, 0},
                      {err_.waiting.empty() ? -1 : err_.descriptor, POLLOUT, 0}};
    static_cast<void>(::poll(ready, 2, kFlushWaitMs));
  }
}

}  // namespace baton::supervisor
