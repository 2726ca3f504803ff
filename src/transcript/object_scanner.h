// SPDX-License-Identifier: Apache-2.0
// Finding a JSON object of a wanted kind in what an agent prints, as it prints it.
//
// Looked for is the last complete JSON object that stands alone on its lines (also inside a fence) and that the caller
// wants. Found does not mean valid. The text comes in pieces of any size; memory is bounded by the largest object that is
// wanted, time is linear in the text, whatever the text holds.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "json/incremental.h"

namespace baton::transcript {

// Is this object (all of its text, strict JSON or not) one of those looked for?
using Wanted = bool (*)(std::string_view text);

class ObjectScanner {
 public:
  ObjectScanner(std::size_t bytes_max, Wanted wanted) : bytes_max_(bytes_max), wanted_(wanted) {}

  void feed(std::string_view bytes);
  // No more bytes will come: an object without a line end after it counts too.
  void end();

  struct Found {
    std::string text;                   // the object's bytes
    std::size_t offset = 0;             // of its first byte in everything fed
    std::size_t line = 1;               // of its first byte, from 1
    bool differs_from_earlier = false;  // an earlier one had other bytes
    bool text_after = false;            // something that is not blank follows it
  };
  const std::optional<Found>& found() const { return found_; }

 private:
  // An object that begins on a line of its own inside the candidate: if the candidate breaks, this one may stand.
  struct Inner {
    std::size_t depth;  // of the tracker, just after its brace
    std::size_t start;  // in buffer_
    std::size_t line;
    std::size_t height = 1;  // how many levels of such objects it holds, itself included
  };

  struct Ended {
    std::string text;
    std::size_t offset;
    std::size_t line;
    bool text_after = false;
  };

  std::size_t feed_line_start(std::string_view bytes);
  std::size_t feed_plain(std::string_view bytes);
  std::size_t feed_candidate(std::string_view bytes);
  void feed_fence(char c);
  void feed_tail(char c);
  void text_follows();
  void begin_candidate();
  void took(char c, bool at_line_start);
  void drop_candidate();
  void shed_outermost();
  void remember(Ended ended);
  void settle();

  std::size_t bytes_max_;
  Wanted wanted_;

  enum class In { LineStart, Fence, Plain, Candidate, Tail };
  In in_ = In::LineStart;
  std::size_t position_ = 0;    // bytes fed so far
  std::size_t line_ = 1;        // of the byte at position_
  std::size_t start_line_ = 1;  // of the candidate

  json::Tracker tracker_;
  std::string buffer_;  // the candidate stands from head_ on; what lies before it was shed
  std::size_t head_ = 0;
  std::size_t buffer_start_ = 0;  // position of buffer_[0]
  std::size_t base_depth_ = 0;    // the tracker's depth outside the candidate
  bool line_start_ = false;       // inside the candidate: only blanks so far on this line
  std::deque<Inner> inner_;       // open, outermost first

  std::optional<Ended> ended_;        // complete; stands if the rest of its line is blank
  std::optional<Ended> inner_ended_;  // the newest complete inner object alone on its lines
  std::optional<Ended> inner_tail_;   // a complete inner object whose line goes on
  std::optional<Found> found_;
};

}  // namespace baton::transcript
