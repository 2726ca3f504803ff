// SPDX-License-Identifier: Apache-2.0
#include "proxy/child_back.h"

#include <boost/asio/post.hpp>

#include "base/text.h"

namespace baton::proxy {
namespace {

// What a process that has ended left in its pipe: a pipe holds 64 KiB, or 1 MiB where it was made larger.
constexpr std::size_t kLeftBehindMax = 4u << 20;

}  // namespace

ChildBack::ChildBack(Shared& shared, const ServerOptions& options, std::size_t server, BackListener& listener)
    : shared_(shared), options_(options), server_(server), listener_(listener), pause_(shared.context) {}

ChildBack::~ChildBack() { *alive_ = false; }

void ChildBack::later(std::function<void()> what) {
  boost::asio::post(shared_.context, [alive = alive_, what = std::move(what)] {
    if (*alive) what();
  });
}

void ChildBack::start() { run(); }

void ChildBack::run() {
  auto child = net::Child::start(
      shared_.context, {.argv = options_.argv, .environment = options_.environment, .folder = options_.folder},
      {.on_stderr = [this](std::string_view line) { complain(line); },
       .on_exit = [this](const net::ChildExit& exit) { exited(exit); }});
  if (!child) {
    // Nothing that time would mend: the next start would fail alike.
    const std::string why = "could not be started: " + child.error().reason;
    shared_.report(options_.name + ": " + why);
    return later([this, why] { listener_.gone(server_, why, false); });
  }
  child_ = std::move(*child);
  broken_.clear();
  writer_ = std::make_unique<net::LineWriter>(shared_.context, child_->take_stdin(), net::LineWriterOptions{},
                                              net::LineWriterEvents{
                                                  .on_full = [this] { was_full_ = true; },
                                                  .on_drained =
                                                      [this] {
                                                        was_full_ = false;
                                                        listener_.drained(server_);
                                                      },
                                                  // That it does not read any more is heard of by its end.
                                              });
  reader_ = std::make_unique<net::LineReader>(
      shared_.context, child_->take_stdout(), shared_.options.server_bytes_max,
      net::LineReaderEvents{
          .on_line = [this](std::string bytes) { line(std::move(bytes)); },
          .on_long_line = [this](const net::LongLine& one) { listener_.oversized(server_, one.head, one.tail, 0); },
          .on_end =
              [this](const std::optional<Failure>&) {
                // Whoever closes its stdout while it runs can answer nothing any more.
                if (child_ == nullptr || child_->has_ended() || ending_) return;
                broken_ = "closed its output";
                child_->end(kBeforeTerm, kBeforeKill);
                if (writer_) writer_->end();
              }});
  if (paused_) reader_->pause();
}

void ChildBack::line(std::string bytes) {
  if (!bytes.empty() && bytes.back() == '\r') bytes.pop_back();
  if (!bytes.empty()) listener_.message(server_, std::move(bytes), 0);
}

void ChildBack::send(mcp::ToServer message) { write(std::move(message.bytes)); }

void ChildBack::withdraw(mcp::Withdraw request) { write(std::move(request.bytes)); }

// What cannot be written is not told of apart: the process has ended or is about to be ended, and that is told.
void ChildBack::write(std::string bytes) {
  if (!writer_ || child_ == nullptr || child_->has_ended()) return;
  if (writer_->write(std::move(bytes)) || !broken_.empty() || ending_) return;
  broken_ = "does not read what it is sent";
  child_->kill();
}

void ChildBack::exited(const net::ChildExit& exit) {
  const std::shared_ptr<bool> alive = alive_;
  if (reader_ && !ending_) {
    if (paused_) reader_->resume();
    reader_->read_now(kLeftBehindMax);
    if (!*alive) return;
  }
  reader_.reset();
  writer_.reset();
  if (stderr_dropped_ != 0)
    shared_.report(options_.name + ": " + std::to_string(stderr_dropped_) + " more lines were left out");
  stderr_dropped_ = 0;
  if (ending_) return listener_.ended(server_);
  lost(broken_.empty() ? "ended with " + net::exit_text(exit) : broken_ + " (" + net::exit_text(exit) + ")");
}

void ChildBack::lost(std::string why) {
  const std::shared_ptr<bool> alive = alive_;
  const std::int64_t now = shared_.clock.monotonic_ns() / 1'000'000;
  while (!restarts_.empty() && now - restarts_.front() >= kRestartWindow.count()) restarts_.pop_front();
  const bool again = restarts_.size() < kRestartsMax;
  shared_.report(options_.name + ": " + why +
                 (again ? "; it is started again" : "; it has ended too often and stays away"));
  if (again) {
    const auto after = kFirstPause * (1 << (2 * restarts_.size()));
    restarts_.push_back(now);
    pause_.expires_after(after);
    pause_.async_wait([this, alive](const boost::system::error_code& error) {
      if (error || !*alive || ending_) return;
      run();
      if (child_ != nullptr && !child_->has_ended()) listener_.back(server_);
    });
  }
  listener_.gone(server_, std::move(why), again);
}

void ChildBack::end() {
  if (ending_) return;
  ending_ = true;
  pause_.cancel();
  if (child_ == nullptr || child_->has_ended()) return later([this] { listener_.ended(server_); });
  if (writer_) writer_->end();
  child_->end(kBeforeTerm, kBeforeKill);
}

void ChildBack::pause() {
  paused_ = true;
  if (reader_) reader_->pause();
}

void ChildBack::resume() {
  paused_ = false;
  if (reader_) reader_->resume();
}

bool ChildBack::is_full() const { return writer_ && writer_->is_full(); }

void ChildBack::complain(std::string_view line) {
  const std::int64_t second = shared_.clock.monotonic_ns() / 1'000'000'000;
  if (second != stderr_second_) {
    if (stderr_dropped_ != 0)
      shared_.report(options_.name + ": " + std::to_string(stderr_dropped_) + " more lines were left out");
    stderr_second_ = second;
    stderr_lines_ = stderr_dropped_ = 0;
  }
  if (++stderr_lines_ > kStderrLinesMax) {
    ++stderr_dropped_;
    return;
  }
  shared_.report(options_.name + ": " + printable(line));
}

}  // namespace baton::proxy
