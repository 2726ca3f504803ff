// SPDX-License-Identifier: Apache-2.0
#include "transcript/object_scanner.h"

#include <algorithm>

namespace baton::transcript {
namespace {

// An inner object that holds more levels of inner objects than this is not looked at: what is wanted holds few, and every byte
// is then looked at a bounded number of times, however the text is nested.
constexpr std::size_t kInnerHeightMax = 16;

bool is_line_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

void ObjectScanner::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t taken = 1;
    switch (in_) {
      case In::LineStart: taken = feed_line_start(bytes); break;
      case In::Plain: taken = feed_plain(bytes); break;
      case In::Candidate: taken = feed_candidate(bytes); break;
      case In::Fence: feed_fence(bytes.front()); break;
      case In::Tail: feed_tail(bytes.front()); break;
    }
    bytes.remove_prefix(taken);
    position_ += taken;
  }
}

std::size_t ObjectScanner::feed_line_start(std::string_view bytes) {
  const char c = bytes.front();
  if (c == '{') {
    begin_candidate();
    took(c, true);
  } else if (c == '\n') {
    ++line_;
  } else if (c == '`' || c == '~') {
    in_ = In::Fence;
  } else if (!is_line_blank(c)) {
    in_ = In::Plain;
    text_follows();
  }
  return 1;
}

// A line of nothing but a fence belongs to the fence, not to the text.
void ObjectScanner::feed_fence(char c) {
  if (c == '\n') {
    ++line_;
    in_ = In::LineStart;
  } else if (c != '`' && c != '~' && !is_line_blank(c)) {
    in_ = In::Plain;
    text_follows();
  }
}

void ObjectScanner::text_follows() {
  if (found_) found_->text_after = true;
}

// Nothing on the rest of such a line counts.
std::size_t ObjectScanner::feed_plain(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return bytes.size();
  in_ = In::LineStart;
  ++line_;
  return end + 1;
}

void ObjectScanner::begin_candidate() {
  in_ = In::Candidate;
  tracker_.reset();
  buffer_.clear();
  head_ = 0;
  buffer_start_ = position_;
  start_line_ = line_;
  base_depth_ = 0;
  inner_.clear();
}

std::size_t ObjectScanner::feed_candidate(std::string_view bytes) {
  // Plain stretches of a string go into the buffer at once, but never further than the largest candidate reaches.
  const std::size_t room = bytes_max_ - (buffer_.size() - head_);
  const std::size_t plain = tracker_.plain_prefix(bytes.substr(0, room));
  if (plain > 0) {
    buffer_.append(bytes, 0, plain);
    line_start_ = false;
    inner_tail_.reset();
    if (inner_ended_) inner_ended_->text_after = true;
    return plain;
  }
  if (room == 0) {
    shed_outermost();
    return 0;
  }
  took(bytes.front(), line_start_);
  return 1;
}

// One byte of the candidate. `at_line_start`: nothing but blanks stands before it on its line.
void ObjectScanner::took(char c, bool at_line_start) {
  tracker_.take(c);
  if (c == '\n') ++line_;
  if (tracker_.state() == json::Tracker::State::Broken) {
    if (inner_ended_ && c != '\n') inner_ended_->text_after = true;
    drop_candidate();
    if (c == '\n') {
      in_ = In::LineStart;
    } else if (at_line_start && c == '{') {
      begin_candidate();
      took(c, true);
    } else {
      in_ = In::Plain;
      text_follows();
    }
    return;
  }
  buffer_.push_back(c);
  line_start_ = c == '\n' || (at_line_start && is_line_blank(c));
  if (inner_ended_ && c != '\n' && !is_line_blank(c)) inner_ended_->text_after = true;
  if (inner_tail_) {
    if (c == '\n') inner_ended_ = std::move(inner_tail_), inner_tail_.reset();
    else if (!is_line_blank(c)) inner_tail_.reset();
  }
  if (tracker_.opened_object() && at_line_start && buffer_.size() > head_ + 1) {
    inner_.push_back({tracker_.depth(), buffer_.size() - 1, line_});
  } else if (tracker_.closed()) {
    if (tracker_.depth() == base_depth_) {
      ended_ = Ended{buffer_.substr(head_), buffer_start_ + head_, start_line_};
      in_ = In::Tail;
    } else if (!inner_.empty() && inner_.back().depth == tracker_.depth() + 1) {
      const Inner closed = inner_.back();
      inner_.pop_back();
      if (!inner_.empty()) inner_.back().height = std::max(inner_.back().height, closed.height + 1);
      if (closed.height > kInnerHeightMax) return;
      std::string text = buffer_.substr(closed.start);
      if (wanted_(text)) inner_tail_ = Ended{std::move(text), buffer_start_ + closed.start, closed.line};
    }
  }
}

// The candidate is no JSON: a complete object inside it that stood alone on its lines is what remains.
void ObjectScanner::drop_candidate() {
  if (inner_ended_) remember(std::move(*inner_ended_));
  else text_follows();
  inner_ended_.reset();
  inner_tail_.reset();
  inner_.clear();
}

// The candidate is longer than anything wanted: the next object inside it that began on its own line takes its place.
void ObjectScanner::shed_outermost() {
  if (inner_.empty()) {
    drop_candidate();
    in_ = In::Plain;
    text_follows();
    return;
  }
  head_ = inner_.front().start;
  start_line_ = inner_.front().line;
  base_depth_ = inner_.front().depth - 1;
  inner_.pop_front();
  if (head_ < bytes_max_) return;
  // What was shed goes away in large pieces, so that shedding costs a constant time a byte.
  buffer_.erase(0, head_);
  buffer_start_ += head_;
  for (Inner& inner : inner_) inner.start -= head_;
  head_ = 0;
}

void ObjectScanner::feed_tail(char c) {
  if (c == '\n') {
    ++line_;
    settle();
    in_ = In::LineStart;
  } else if (!is_line_blank(c)) {
    ended_.reset();
    inner_ended_.reset();
    in_ = In::Plain;
    text_follows();
  }
}

void ObjectScanner::settle() {
  if (!ended_) return;
  if (wanted_(ended_->text)) remember(std::move(*ended_));
  else text_follows();
  ended_.reset();
  inner_ended_.reset();  // it lies inside a complete object, so it does not stand alone
}

void ObjectScanner::remember(Ended ended) {
  const bool differs = found_ && (found_->differs_from_earlier || found_->text != ended.text);
  found_ = Found{std::move(ended.text), ended.offset, ended.line, differs, ended.text_after};
}

void ObjectScanner::end() {
  if (in_ == In::Tail) settle();
  if (in_ == In::Candidate) {
    if (inner_tail_) inner_ended_ = std::move(inner_tail_);
    drop_candidate();
  }
  in_ = In::LineStart;
}

}  // namespace baton::transcript
