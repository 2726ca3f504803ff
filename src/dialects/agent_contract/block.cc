// SPDX-License-Identifier: Apache-2.0
#include "dialects/agent_contract/block.h"

#include <algorithm>

#include "base/limits.h"

namespace baton::agent_contract {
namespace {

// Enough of a line to tell a fence: indentation, a generous run of backticks, the tag.
constexpr std::size_t kLineBytesKept = 1024;
// One byte more than a body may have, and its line end: enough to see that it is too large.
constexpr std::size_t kBodyBytesKept = limits::kContractBytesMax + 3;

bool is_blank_byte(char c) { return c == ' ' || c == '\t' || c == '\r'; }

struct Fence {
  std::size_t length = 0;  // 0: no fence
  char character = '`';
  std::string_view rest;  // after the run
};

// A run of three or more backticks or tildes after at most three blanks. A tab reaches column four: too far.
Fence fence_at(std::string_view line) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  if (indent > 3 || indent == line.size()) return {};
  const char c = line[indent];
  if (c != '`' && c != '~') return {};
  const std::size_t end = std::min(line.find_first_not_of(c, indent), line.size());
  if (end - indent < 3) return {};
  return {end - indent, c, line.substr(end)};
}

std::string_view without_trailing_blanks(std::string_view text) {
  while (!text.empty() && is_blank_byte(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

void BlockFinder::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end == std::string_view::npos ? bytes.size() : end + 1);
    if (fence_is_ours_) {
      const std::size_t room = kBodyBytesKept - std::min(open_.body.size(), kBodyBytesKept);
      open_.body.append(part, 0, room);
      open_.too_large |= part.size() > room;
    }
    std::string_view text = end == std::string_view::npos ? part : part.substr(0, end);
    const std::size_t kept = std::min(text.size(), kLineBytesKept - line_.size());
    line_.append(text, 0, kept);
    text.remove_prefix(kept);
    if (!text.empty()) {
      line_cut_ = true;
      cut_holds_backtick_ |= text.find('`') != std::string_view::npos;
      cut_holds_text_ |= !std::all_of(text.begin(), text.end(), is_blank_byte);
    }
    position_ += part.size();
    if (end != std::string_view::npos) line_ended();
    bytes.remove_prefix(part.size());
  }
}

void BlockFinder::line_ended() {
  if (fence_length_ == 0) {
    open_fence(line_);
    if (last_) last_->text_after |= fence_length_ != 0 || cut_holds_text_ || !without_trailing_blanks(line_).empty();
  } else if (closes_fence(line_)) {
    if (fence_is_ours_) {
      open_.body.resize(std::min(open_.body.size(), body_before_line_));
      // The line end before the closing fence belongs to the fence.
      if (open_.body.ends_with('\n')) open_.body.pop_back();
      if (open_.body.ends_with('\r')) open_.body.pop_back();
      open_.too_large = open_.body.size() > limits::kContractBytesMax;
      open_.differs_from_earlier = last_ && (last_->differs_from_earlier || last_->body != open_.body);
      last_ = std::move(open_);
      ++complete_;
    }
    fence_length_ = 0;
    fence_is_ours_ = false;
    open_ = {};
  }
  body_before_line_ = open_.body.size();
  line_.clear();
  line_cut_ = cut_holds_backtick_ = cut_holds_text_ = false;
  ++line_number_;
}

void BlockFinder::open_fence(std::string_view line) {
  const Fence fence = fence_at(line);
  if (fence.length == 0) return;
  // A backtick in the info string of a backtick fence makes the line inline code.
  if (fence.character == '`' && (cut_holds_backtick_ || fence.rest.find('`') != std::string_view::npos)) return;
  fence_length_ = fence.length;
  fence_character_ = fence.character;
  fence_is_ours_ = fence.character == '`' && !cut_holds_text_ && without_trailing_blanks(fence.rest) == kTag;
  if (fence_is_ours_) open_ = {.body = {}, .offset = position_, .line = line_number_ + 1};
}

bool BlockFinder::closes_fence(std::string_view line) const {
  const Fence fence = fence_at(line);
  return fence.length >= fence_length_ && fence.character == fence_character_ && !cut_holds_text_ &&
         without_trailing_blanks(fence.rest).empty();
}

void BlockFinder::end() {
  if (!line_.empty() || line_cut_) line_ended();
}

}  // namespace baton::agent_contract
