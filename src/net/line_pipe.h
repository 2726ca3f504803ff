// SPDX-License-Identifier: Apache-2.0
// Messages of one line each, read from a descriptor and written to one: pipes, sockets, terminals and files; those of a
// child (net/child.h) or our own stdin and stdout (take_standard_streams()).
//
// Everything happens on the context's thread, on which all is to be called. A callback may pause, close or destroy what
// it was called by. Nothing is called any more after close() or the destructor; what the callbacks hold may be released
// a turn of the loop later. Reader and writer do not know each other.
//
// Back pressure: LineReader::pause() while LineWriter::on_full says that the other side is behind, resume() at
// on_drained.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace baton::net {

// A line over the limit, of which only the two ends were kept.
struct LongLine {
  std::string_view head, tail;  // up to kLongLineEndBytes each; they do not overlap
  std::uint64_t bytes = 0;      // how long it was, without its end
};
constexpr std::size_t kLongLineEndBytes = 4096;

struct LineReaderEvents {
  // A line as it came, without the line feed; a carriage return before it is left. Empty lines come too, and at the end
  // of the input what stands after the last line feed, if anything does.
  std::function<void(std::string line)> on_line;
  // A line was longer than `line_bytes_max`; called once, where on_line would have been.
  std::function<void(const LongLine& line)> on_long_line = {};
  // Once, and the last: the input has ended, or (with a failure) cannot be read any more.
  std::function<void(const std::optional<Failure>& failure)> on_end = {};
};

class LineReader {
 public:
  // Begins to read with the context's next turn. What is held of the input is at most a line of `line_bytes_max` and a
  // buffer of 64 KiB.
  LineReader(boost::asio::io_context& context, Descriptor from, std::size_t line_bytes_max, LineReaderEvents events);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // No line comes until resume(), not even one that was read already; nor does the end.
  void pause();
  void resume();
  bool is_paused() const;
  // Reads what is there now, and gives the lines, without waiting for the context's turn; at most `bytes_max`. For what
  // a process that has ended left behind.
  void read_now(std::size_t bytes_max);
  void close();

 private:
  class State;
  std::shared_ptr<State> state_;
};

struct LineWriterOptions {
  std::size_t full_bytes = 1u << 20;           // on_full when more than this is waiting; on_drained below half of it
  std::size_t backlog_bytes_max = 128u << 20;  // what waits at most, beside one message that may be larger
};

struct LineWriterEvents {
  // More than `full_bytes` wait; from the loop, if they still do then. Who must know at once asks is_full().
  std::function<void()> on_full = {};
  // is_full() was so, whether or not it was told, and is no longer.
  std::function<void()> on_drained = {};
  // Once: the other side does not read any more (a broken pipe), or writing failed. What was waiting is lost.
  std::function<void(const Failure& failure)> on_failed = {};
  // Once, after end(): all is written and the descriptor closed.
  std::function<void()> on_ended = {};
};

class LineWriter {
 public:
  // SIGPIPE, where it would still end the process, is ignored from here on: a broken pipe is a failure to report.
  LineWriter(boost::asio::io_context& context, Descriptor to, LineWriterOptions options = {},
             LineWriterEvents events = {});
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Writes the message and a line feed. The first message of a turn is written at once, when nothing waits; those that
  // follow in the same turn go together in one system call. What the descriptor does not take waits, in order.
  //
  // False, and the message is not taken: the writer has ended or failed, or the message would wait behind more than the
  // backlog allows. on_failed is called later, from the loop, never from here.
  //
  // A line feed in the message is written as a blank: JSON has one only between its tokens, where that is the same.
  bool write(std::string message);
  // Bytes that wait.
  std::size_t backlog_bytes() const;
  bool is_full() const;
  // Closes the descriptor when all that waits is written.
  void end();
  // Closes it now; what waits is lost.
  void close();

 private:
  class State;
  std::shared_ptr<State> state_;
};

struct StandardStreams {
  Descriptor in, out;
};
// Takes stdin and stdout of this process for messages. What is left at 0 is /dev/null, and at 1 is stderr, so that
// nothing else that prints can come between the messages. Pipes and terminals are opened anew (/proc/self/fd), because
// non-blocking mode would otherwise also befall whoever shares them with us, a shell's terminal for one; where that
// cannot be done, it does.
Result<StandardStreams> take_standard_streams();

}  // namespace baton::net
