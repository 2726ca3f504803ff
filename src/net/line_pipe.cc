// SPDX-License-Identifier: Apache-2.0
#include "net/line_pipe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace baton::net {
namespace {

namespace asio = boost::asio;
using Direction = asio::posix::descriptor_base;

constexpr std::size_t kReadBytes = 64u << 10;  // what a pipe holds
constexpr std::size_t kPiecesMax = 256;        // of one writev: two a message
constexpr std::size_t kSmallBytes = 2048, kGatherBytes = 64u << 10;
constexpr std::size_t kQueueKept = 1024;  // messages an empty queue keeps room for

Failure failed_to(std::string doing, int error) { return {std::move(doing), std::generic_category().message(error)}; }

// A descriptor that is waited on. Those for which waiting has no meaning (files, /dev/null) are always ready.
class Waited {
 public:
  Waited(asio::io_context& context, Descriptor descriptor) : context_(context), descriptor_(context) {
    boost::system::error_code error;
    descriptor_.assign(descriptor.get(), error);
    if (!error) descriptor_.native_non_blocking(true, error);
    if (descriptor_.is_open()) number_ = descriptor.release();
    problem_ = error.value();
  }

  int number() const { return number_; }
  int problem() const { return problem_; }

  // Calls in one of the next turns, when it is ready; with false when it was closed.
  template <class Call>
  void wait(Direction::wait_type direction, Call call) {
    if (always_ready_) {
      asio::post(context_, [call = std::move(call)]() mutable { call(true); });
      return;
    }
    descriptor_.async_wait(direction, [this, call = std::move(call)](const boost::system::error_code& error) mutable {
      if (error == asio::error::operation_not_supported) always_ready_ = true;
      call(!error || error == asio::error::operation_not_supported);
    });
  }
  void close() {
    boost::system::error_code ignored;
    descriptor_.close(ignored);
    number_ = -1;
  }

 private:
  asio::io_context& context_;
  asio::posix::stream_descriptor descriptor_;
  int number_ = -1;
  int problem_ = 0;
  bool always_ready_ = false;
};

}  // namespace

// --- reading ---------------------------------------------------------------------------------------------------------

class LineReader::State : public std::enable_shared_from_this<State> {
 public:
  State(asio::io_context& context, Descriptor from, std::size_t line_bytes_max, LineReaderEvents events)
      : context_(context),
        from_(context, std::move(from)),
        line_bytes_max_(line_bytes_max),
        events_(std::move(events)),
        buffer_(new char[kReadBytes]) {}

  void start() {
    if (from_.problem() != 0) end_with(failed_to("reading messages", from_.problem()));
    go_on();
  }

  void pause() { paused_ = true; }
  bool is_paused() const { return paused_; }
  void resume() {
    if (!std::exchange(paused_, false) || delivering_) return;
    asio::post(context_, [self = shared_from_this()] { self->go_on(); });
  }

  void read_now(std::size_t bytes_max) {
    if (delivering_) return;
    deliver();
    for (std::size_t taken = 0; taken < bytes_max && can_read();) {
      const std::size_t got = read_some();
      if (got == 0) break;
      taken += got;
      deliver();
    }
    deliver();  // what stood after the last line feed, if that was the end
    tell_end();
  }

  void close() {
    closed_ = true;
    from_.close();
  }

 private:
  bool can_read() const { return !closed_ && !paused_ && !ended_ && begin_ == filled_; }

  // Gives what was read, and then waits for more.
  void go_on() {
    deliver();
    tell_end();
    if (!can_read() || std::exchange(waiting_, true)) return;
    from_.wait(Direction::wait_read, [self = shared_from_this()](bool ready) {
      self->waiting_ = false;
      if (ready && self->can_read()) self->read_some();
      self->go_on();
    });
  }

  // How much came; nothing when there is none yet, or no more.
  std::size_t read_some() {
    for (;;) {
      const ssize_t got = ::read(from_.number(), buffer_.get(), kReadBytes);
      if (got > 0) {
        begin_ = 0;
        filled_ = static_cast<std::size_t>(got);
        return filled_;
      }
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return 0;
      if (got == 0) end_with(std::nullopt);
      else end_with(failed_to("reading messages", errno));
      return 0;
    }
  }

  void end_with(std::optional<Failure> failure) {
    ended_ = true;
    failure_ = std::move(failure);
    from_.close();
  }

  void deliver() {
    if (std::exchange(delivering_, true)) return;
    while (begin_ < filled_ && !paused_ && !closed_) {
      const char* const from = buffer_.get() + begin_;
      const char* const end = static_cast<const char*>(std::memchr(from, '\n', filled_ - begin_));
      const std::string_view part(from, end == nullptr ? filled_ - begin_ : static_cast<std::size_t>(end - from));
      begin_ += part.size() + (end == nullptr ? 0 : 1);
      if (end != nullptr && partial_.empty() && !is_long_ && part.size() <= line_bytes_max_) {
        events_.on_line(std::string(part));
        continue;
      }
      keep(part);
      if (end != nullptr) give_kept();
    }
    if (ended_ && !paused_ && !closed_ && (is_long_ || !partial_.empty())) give_kept();
    delivering_ = false;
  }

  // Takes a part of a line in.
  void keep(std::string_view part) {
    if (!is_long_ && partial_.size() + part.size() <= line_bytes_max_) {
      partial_ += part;
      return;
    }
    if (!is_long_) {
      is_long_ = true;
      long_bytes_ = partial_.size();
      if (partial_.size() > kLongLineEndBytes) keep_tail(std::string_view(partial_).substr(kLongLineEndBytes));
      // Not resize(): the room goes too.
      partial_ = std::string(partial_, 0, kLongLineEndBytes);
    }
    long_bytes_ += part.size();
    const std::string_view to_head = part.substr(0, kLongLineEndBytes - partial_.size());
    partial_ += to_head;
    keep_tail(part.substr(to_head.size()));
  }

  void keep_tail(std::string_view part) {
    if (part.size() > kLongLineEndBytes) part.remove_prefix(part.size() - kLongLineEndBytes);
    tail_ += part;
    if (tail_.size() > kLongLineEndBytes) tail_.erase(0, tail_.size() - kLongLineEndBytes);
  }

  void give_kept() {
    std::string line = std::exchange(partial_, {});
    const std::string tail = std::exchange(tail_, {});
    if (!std::exchange(is_long_, false)) return events_.on_line(std::move(line));
    if (events_.on_long_line) events_.on_long_line({line, tail, long_bytes_});
  }

  void tell_end() {
    if (!ended_ || paused_ || closed_ || begin_ < filled_ || delivering_) return;
    closed_ = true;
    if (const auto on_end = std::exchange(events_.on_end, {})) on_end(failure_);
  }

  asio::io_context& context_;
  Waited from_;
  const std::size_t line_bytes_max_;
  LineReaderEvents events_;
  const std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0, filled_ = 0;  // what of the buffer was not given yet
  std::string partial_;                 // a line without its end; of a long one, the head
  std::string tail_;                    // of a long one
  std::uint64_t long_bytes_ = 0;
  std::optional<Failure> failure_;
  bool is_long_ = false;
  bool paused_ = false, closed_ = false, ended_ = false;
  bool waiting_ = false, delivering_ = false;
};

LineReader::LineReader(asio::io_context& context, Descriptor from, std::size_t line_bytes_max, LineReaderEvents events)
    : state_(std::make_shared<State>(context, std::move(from), line_bytes_max, std::move(events))) {
  asio::post(context, [state = state_] { state->start(); });
}
LineReader::~LineReader() { close(); }
void LineReader::pause() { state_->pause(); }
void LineReader::resume() { state_->resume(); }
bool LineReader::is_paused() const { return state_->is_paused(); }
void LineReader::read_now(std::size_t bytes_max) {
  const auto kept = state_;
  kept->read_now(bytes_max);
}
void LineReader::close() { state_->close(); }

// --- writing ---------------------------------------------------------------------------------------------------------

class LineWriter::State : public std::enable_shared_from_this<State> {
 public:
  State(asio::io_context& context, Descriptor to, LineWriterOptions options, LineWriterEvents events)
      : context_(context), to_(context, std::move(to)), options_(options), events_(std::move(events)) {}

  void start() {
    if (to_.problem() != 0) fail(to_.problem());
  }

  bool write(std::string message) {
    if (closed_ || ending_) return false;
    if (backlog_ > 0 && backlog_ + message.size() + 1 > options_.backlog_bytes_max) return false;
    if (message.find('\n') != std::string::npos) std::ranges::replace(message, '\n', ' ');
    backlog_ += message.size() + 1;
    queue_.push_back(std::move(message));
    if (!in_turn_ && !waiting_) {
      // The first of this turn: now. What follows until the loop comes round is gathered.
      flush();
      in_turn_ = true;
      asio::post(context_, [self = shared_from_this()] {
        self->in_turn_ = false;
        if (!self->waiting_) self->flush();
        self->tell();
      });
    } else if (backlog_ > options_.full_bytes && !full_ && waiting_) {
      // Nobody else would tell before the descriptor takes something.
      asio::post(context_, [self = shared_from_this()] { self->tell(); });
    }
    full_ = full_ || backlog_ > options_.full_bytes;
    return true;
  }

  std::size_t backlog_bytes() const { return backlog_; }
  bool is_full() const { return full_; }

  void end() {
    if (std::exchange(ending_, true) || closed_) return;
    if (queue_.empty()) finish();
  }
  void close() {
    closed_ = true;
    drop_queue();
    to_.close();
  }

 private:
  // Writes until all is written or the descriptor takes no more; then waits for it.
  void flush() {
    while (!closed_ && at_ < queue_.size()) {
      const Asked asked = ask();
      const ssize_t put = ::writev(to_.number(), pieces_.data(), static_cast<int>(asked.pieces));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0 && errno != EAGAIN) return fail(errno);
      if (put > 0) advance(static_cast<std::size_t>(put));
      if (put < 0 || static_cast<std::size_t>(put) < asked.bytes) return wait();
    }
    if (!closed_ && ending_) finish();
  }

  struct Asked {
    std::size_t pieces = 0, bytes = 0;
  };
  // What the next writev is asked to write. Large messages as they lie; of small ones, which a piece each would cost
  // more than the bytes, runs are copied together.
  Asked ask() {
    static char line_feed = '\n';
    Asked asked;
    std::size_t skip = offset_, filled = 0;
    for (std::size_t at = at_; at < queue_.size() && asked.pieces + 2 <= kPiecesMax; ++at, skip = 0) {
      std::string& message = queue_[at];
      const std::size_t left = message.size() - skip;
      asked.bytes += left + 1;
      if (queue_.size() - at_ > 1 && left < kSmallBytes && filled + left + 1 <= kGatherBytes) {
        if (!gathered_) gathered_.reset(new char[kGatherBytes]);
        char* const to = gathered_.get() + filled;
        std::memcpy(to, message.data() + skip, left);
        to[left] = '\n';
        filled += left + 1;
        iovec* const last = asked.pieces == 0 ? nullptr : &pieces_[asked.pieces - 1];
        if (last != nullptr && static_cast<char*>(last->iov_base) + last->iov_len == to) last->iov_len += left + 1;
        else pieces_[asked.pieces++] = {to, left + 1};
        continue;
      }
      if (left > 0) pieces_[asked.pieces++] = {message.data() + skip, left};
      pieces_[asked.pieces++] = {&line_feed, 1};
    }
    return asked;
  }

  void advance(std::size_t bytes) {
    backlog_ -= bytes;
    offset_ += bytes;
    while (at_ < queue_.size() && offset_ > queue_[at_].size()) {
      offset_ -= queue_[at_].size() + 1;
      queue_[at_++] = {};
    }
    if (at_ == queue_.size()) {
      drop_queue();
    } else if (at_ > kQueueKept && at_ > queue_.size() / 2) {
      // A reader that is always a little behind never lets it become empty.
      queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(std::exchange(at_, 0)));
    }
  }

  void drop_queue() {
    queue_.clear();
    if (queue_.capacity() > kQueueKept) queue_.shrink_to_fit();
    at_ = offset_ = backlog_ = 0;
  }

  void wait() {
    if (std::exchange(waiting_, true)) return;
    to_.wait(Direction::wait_write, [self = shared_from_this()](bool ready) {
      self->waiting_ = false;
      if (!ready || self->closed_) return;
      self->flush();
      self->tell();
    });
  }

  // From the loop only.
  void tell() {
    if (closed_) return;
    if (full_ && !full_told_ && backlog_ > options_.full_bytes) {
      full_told_ = true;
      if (events_.on_full) events_.on_full();
    }
    if (closed_ || !full_ || backlog_ > options_.full_bytes / 2) return;
    full_ = full_told_ = false;
    if (events_.on_drained) events_.on_drained();
  }

  void fail(int error) {
    close();
    asio::post(context_, [self = shared_from_this(), failure = failed_to("writing messages", error)] {
      if (const auto on_failed = std::exchange(self->events_.on_failed, {}); on_failed && !self->forgotten_)
        on_failed(failure);
    });
  }
  void finish() {
    close();
    asio::post(context_, [self = shared_from_this()] {
      if (const auto on_ended = std::exchange(self->events_.on_ended, {}); on_ended && !self->forgotten_) on_ended();
    });
  }

 public:
  void forget() {
    forgotten_ = true;
    close();
  }

 private:
  asio::io_context& context_;
  Waited to_;
  const LineWriterOptions options_;
  LineWriterEvents events_;
  std::vector<std::string> queue_;
  std::size_t at_ = 0;      // the message being written,
  std::size_t offset_ = 0;  // and how much of it, with its line feed, is
  std::size_t backlog_ = 0;
  bool full_ = false, full_told_ = false;
  bool ending_ = false, closed_ = false, forgotten_ = false;
  bool waiting_ = false, in_turn_ = false;
  std::array<iovec, kPiecesMax> pieces_;
  std::unique_ptr<char[]> gathered_;  // small messages, for the writev being made
};

LineWriter::LineWriter(asio::io_context& context, Descriptor to, LineWriterOptions options, LineWriterEvents events)
    : state_(std::make_shared<State>(context, std::move(to), options, std::move(events))) {
  struct sigaction now = {};
  if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
  state_->start();
}
LineWriter::~LineWriter() { close(); }
bool LineWriter::write(std::string message) { return state_->write(std::move(message)); }
std::size_t LineWriter::backlog_bytes() const { return state_->backlog_bytes(); }
bool LineWriter::is_full() const { return state_->is_full(); }
void LineWriter::end() { state_->end(); }
void LineWriter::close() { state_->forget(); }

// --- our own ---------------------------------------------------------------------------------------------------------

namespace {

// A descriptor of our own, at 3 or above, for what is open at `number`.
Descriptor own(int number, int access) {
  struct stat kind = {};
  Descriptor opened;
  if (::fstat(number, &kind) == 0 && (S_ISFIFO(kind.st_mode) || S_ISCHR(kind.st_mode)))
    opened = Descriptor(
        ::open(("/proc/self/fd/" + std::to_string(number)).c_str(), access | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (opened.get() > STDERR_FILENO) return opened;
  return Descriptor(::fcntl(opened ? opened.get() : number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace

Result<StandardStreams> take_standard_streams() {
  StandardStreams streams;
  streams.in = own(STDIN_FILENO, O_RDONLY);
  if (!streams.in) return tl::make_unexpected(failed_to("taking stdin", errno));
  streams.out = own(STDOUT_FILENO, O_WRONLY);
  if (!streams.out) return tl::make_unexpected(failed_to("taking stdout", errno));
  const Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0)
    return tl::make_unexpected(failed_to("leaving stdin", errno));
  if (::dup2(STDERR_FILENO, STDOUT_FILENO) < 0 && ::dup2(nothing.get(), STDOUT_FILENO) < 0)
    return tl::make_unexpected(failed_to("leaving stdout", errno));
  return streams;
}

}  // namespace baton::net
