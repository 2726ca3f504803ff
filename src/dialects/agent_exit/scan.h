// SPDX-License-Identifier: Apache-2.0
// Finding the exit signal in what an agent prints, as it prints it.
//
// The signal is the last complete JSON object that stands alone on its lines (also inside a fence) and whose `protocol`
// is `apm2_agent_exit`. Found does not mean valid. The text comes in pieces of any size; memory is bounded by the largest
// signal there can be, time is linear in the text, whatever the text holds.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "json/incremental.h"

namespace baton::agent_exit {

class Scanner {
 public:
  void feed(std::string_view bytes);
  // No more bytes will come: a signal without a line end after it counts too.
  void end();

  struct Found {
    std::string text;        // the object's bytes
    std::size_t offset = 0;  // of its first byte in everything fed
    bool differs_from_earlier = false;  // an earlier signal had other bytes
    bool text_after = false;            // something that is not blank follows it
  };
  const std::optional<Found>& found() const { return found_; }

 private:
  // An object that begins on a line of its own inside the candidate: if the candidate breaks, this one may stand.
  struct Inner {
    std::size_t depth;       // of the tracker, just after its brace
    std::size_t start;       // in buffer_
    std::size_t height = 1;  // how many levels of such objects it holds, itself included
  };

  std::size_t feed_line_start(std::string_view bytes);
  std::size_t feed_plain(std::string_view bytes);
  std::size_t feed_candidate(std::string_view bytes);
  void feed_tail(char c);
  void begin_candidate();
  void took(char c, bool at_line_start);
  void drop_candidate();
  void shed_outermost();
  void remember(std::string text, std::size_t offset);
  void settle();

  enum class In { LineStart, Plain, Candidate, Tail };
  In in_ = In::LineStart;
  std::size_t position_ = 0;  // bytes fed so far

  json::Tracker tracker_;
  std::string buffer_;            // the candidate stands from head_ on; what lies before it was shed
  std::size_t head_ = 0;
  std::size_t buffer_start_ = 0;  // position of buffer_[0]
  std::size_t base_depth_ = 0;    // the tracker's depth outside the candidate
  bool line_start_ = false;       // inside the candidate: only blanks so far on this line
  std::deque<Inner> inner_;       // open, outermost first

  struct Ended {
    std::string text;
    std::size_t offset;
  };
  std::optional<Ended> ended_;           // complete; stands if the rest of its line is blank
  std::optional<Ended> inner_ended_;     // the newest complete inner object alone on its lines
  std::optional<Ended> inner_tail_;      // a complete inner object whose line goes on
  std::optional<Found> found_;
};

}  // namespace baton::agent_exit
