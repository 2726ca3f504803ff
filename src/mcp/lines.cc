// SPDX-License-Identifier: Apache-2.0
#include "mcp/lines.h"

#include <cstring>

#include "json/incremental.h"

namespace baton::mcp {

void Lines::keep(std::string_view piece) {
  size_ += piece.size();
  if (!is_oversized_ && open_.size() + piece.size() <= line_bytes_max_ + 1) {  // + 1: a carriage return may be its last
    open_.append(piece);
    return;
  }
  if (!is_oversized_) {
    is_oversized_ = true;
    open_.append(piece.substr(0, kKept));
    tail_ = open_.size() > kKept ? open_.substr(open_.size() - kKept) : open_;
    // What is not needed any more is given back, not only forgotten.
    open_.resize(std::min(open_.size(), kKept));
    open_.shrink_to_fit();
    piece = piece.substr(std::min(piece.size(), kKept));
  }
  if (piece.size() >= kKept) tail_.assign(piece.substr(piece.size() - kKept));
  else {
    tail_.append(piece);
    if (tail_.size() > kKept) tail_.erase(0, tail_.size() - kKept);
  }
}

void Lines::finish(const std::function<void(std::string)>& line, const std::function<void(Oversized)>& oversized) {
  if (!is_oversized_ && open_.ends_with('\r')) open_.pop_back();
  if (!is_oversized_ && open_.size() > line_bytes_max_) {  // by the one byte that was no carriage return
    is_oversized_ = true;
    tail_ = open_.substr(open_.size() - std::min(open_.size(), kKept));
    open_.resize(std::min(open_.size(), kKept));
  }
  if (is_oversized_) oversized({std::move(open_), std::move(tail_), size_});
  else if (!open_.empty()) line(std::move(open_));
  open_.clear();
  tail_.clear();
  is_oversized_ = false;
  size_ = 0;
}

void Lines::feed(std::string_view bytes, const std::function<void(std::string)>& line,
                 const std::function<void(Oversized)>& oversized) {
  while (!bytes.empty()) {
    const void* found = std::memchr(bytes.data(), '\n', bytes.size());
    if (found == nullptr) return keep(bytes);
    const auto size = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
    keep(bytes.substr(0, size));
    bytes.remove_prefix(size + 1);
    finish(line, oversized);
  }
}

void Lines::end(const std::function<void(std::string)>& line, const std::function<void(Oversized)>& oversized) {
  if (is_oversized_ || !open_.empty()) finish(line, oversized);
}

// --- an id from the ends of a message ------------------------------------------------------------------------------------------------

namespace {

// The string or number at the front; empty when it is neither, or not whole.
std::string_view scalar_at_front(std::string_view text) {
  if (text.starts_with('"')) {
    for (std::size_t at = 1; at < text.size(); ++at) {
      if (text[at] == '\\') ++at;
      else if (text[at] == '"') return text.substr(0, at + 1);
    }
    return {};
  }
  const std::size_t end = text.find_first_not_of("-+.eE0123456789");
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

std::string id_in_head(std::string_view head) {
  json::Tracker tracker;
  std::size_t key = 0;
  for (std::size_t at = 0; at < head.size() && tracker.state() == json::Tracker::State::Open; ++at) {
    tracker.take(head[at]);
    if (tracker.depth() != 1 || !tracker.is_key()) continue;
    if (tracker.began_string()) key = at;
    if (!tracker.ended_string() || head.substr(key, at + 1 - key) != "\"id\"") continue;
    std::string_view rest = without_blanks(head.substr(at + 1));
    if (!rest.starts_with(':')) return {};
    return std::string(scalar_at_front(without_blanks(rest.substr(1))));
  }
  return {};
}

// ..."id":7}
std::string id_in_tail(std::string_view tail) {
  while (!tail.empty() && (tail.back() == ' ' || tail.back() == '\r' || tail.back() == '\t')) tail.remove_suffix(1);
  if (!tail.ends_with('}')) return {};
  const std::size_t at = tail.rfind("\"id\"");
  if (at == std::string_view::npos) return {};
  std::string_view rest = without_blanks(tail.substr(at + 4));
  if (!rest.starts_with(':')) return {};
  rest = without_blanks(rest.substr(1));
  const std::string_view id = scalar_at_front(rest);
  return without_blanks(rest.substr(id.size())) == "}" ? std::string(id) : std::string();
}

}  // namespace

std::string id_in_ends(std::string_view head, std::string_view tail) {
  std::string id = id_in_head(head);
  return id.empty() ? id_in_tail(tail) : id;
}

}  // namespace baton::mcp
