// SPDX-License-Identifier: Apache-2.0
#include "net/outgoing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace baton::net {
namespace {

// More than an idle stream should keep room for.
constexpr std::size_t kPiecesKept = 16;

// What stands before a chunk: its size in hexadecimal, and a line end.
struct ChunkSize {
  std::array<char, 18> text;
  std::size_t length = 0;

  explicit ChunkSize(std::size_t bytes) {
    char* const end = std::to_chars(text.data(), text.data() + 16, bytes, 16).ptr;
    end[0] = '\r';
    end[1] = '\n';
    length = static_cast<std::size_t>(end - text.data()) + 2;
  }
  std::string_view view() const { return {text.data(), length}; }
};
constexpr std::string_view kAfterChunk = "\r\n";

}  // namespace

std::string_view Outgoing::next(std::span<char> scratch) const {
  const Piece& first = pieces_[at_];
  if (!first.chunk && first.bytes->size() - offset_ >= scratch.size() / 2)
    return std::string_view(*first.bytes).substr(offset_);
  std::size_t filled = 0, skip = offset_;
  const auto add = [&](std::string_view part) {
    const std::size_t skipped = std::min(skip, part.size());
    skip -= skipped;
    part = part.substr(skipped, scratch.size() - filled);
    std::memcpy(scratch.data() + filled, part.data(), part.size());
    filled += part.size();
  };
  for (std::size_t at = at_; at < pieces_.size() && filled < scratch.size(); ++at) {
    const Piece& piece = pieces_[at];
    if (piece.chunk) add(ChunkSize(piece.bytes->size()).view());
    add(*piece.bytes);
    if (piece.chunk) add(kAfterChunk);
  }
  return {scratch.data(), filled};
}

std::size_t Outgoing::advance(std::size_t bytes) {
  std::size_t events = 0;
  offset_ += bytes;
  while (at_ < pieces_.size()) {
    Piece& piece = pieces_[at_];
    const std::size_t content = piece.bytes->size();
    const std::size_t size = piece.chunk ? ChunkSize(content).length + content + kAfterChunk.size() : content;
    if (offset_ < size) {
      // A reader that is always a little behind never empties it.
      if (at_ > kPiecesKept && at_ > pieces_.size() / 2) {
        pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(std::exchange(at_, 0)));
      }
      return events;
    }
    offset_ -= size;
    if (piece.event) events += content;
    piece.bytes.reset();
    ++at_;
  }
  pieces_.clear();
  at_ = 0;
  if (pieces_.capacity() > kPiecesKept) pieces_.shrink_to_fit();
  return events;
}

}  // namespace baton::net
