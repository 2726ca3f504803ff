// SPDX-License-Identifier: Apache-2.0
// Messages on a byte stream: one message a line. Bytes are fed in whatever pieces they come in; whole lines come out.
//
// Memory is bounded: of a line longer than the limit no more than its first and last bytes are kept, so that whoever sent it can
// be told which of its messages was not read. A carriage return before the line feed is dropped, empty lines are passed over.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace baton::mcp {

class Lines {
 public:
  // What is kept of either end of a line that is too long.
  static constexpr std::size_t kKept = 512;

  struct Oversized {
    std::string head, tail;  // its first and last bytes, at most kKept each
    std::size_t size = 0;
  };

  explicit Lines(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  // Calls `line` for each whole line, `oversized` at the end of each that is too long, in order.
  void feed(std::string_view bytes, const std::function<void(std::string)>& line,
            const std::function<void(Oversized)>& oversized);
  // The stream is over: what came after the last line feed is a line too.
  void end(const std::function<void(std::string)>& line, const std::function<void(Oversized)>& oversized);

  // Bytes held for a line that is not whole yet.
  std::size_t held() const { return open_.size(); }

 private:
  void keep(std::string_view piece);
  void finish(const std::function<void(std::string)>& line, const std::function<void(Oversized)>& oversized);

  std::size_t line_bytes_max_;
  std::string open_;  // of the line so far; of one that is too long its head
  bool is_oversized_ = false;
  std::string tail_;
  std::size_t size_ = 0;
};

// The id of a message of which only both ends are known, as it stands in the text; empty: it cannot be told. An id is looked for as
// a member of the outermost object in the head, and as its last member at the end of the tail.
std::string id_in_ends(std::string_view head, std::string_view tail);

}  // namespace baton::mcp
