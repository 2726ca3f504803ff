// SPDX-License-Identifier: Apache-2.0
// The bytes a connection has yet to write, in pieces that several connections may have in common.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace baton::net {

using Bytes = std::shared_ptr<const std::string>;

class Outgoing {
 public:
  struct Piece {
    Bytes bytes;
    bool chunk = false;  // framed as the chunked coding has it; not empty
    bool event = false;  // counted by advance()
  };

  void add(Piece piece) { pieces_.push_back(std::move(piece)); }
  bool empty() const { return pieces_.empty(); }

  // What is to be written next: a large piece as it is, small ones and chunks together in `scratch`. Until advance() is
  // called, the next call gives the same bytes, or more.
  std::string_view next(std::span<char> scratch) const;
  // So many of them were written. Gives the bytes of the events that are written to their end by that, without frames.
  std::size_t advance(std::size_t bytes);
  void clear() { *this = {}; }

 private:
  std::vector<Piece> pieces_;
  std::size_t at_ = 0;      // the piece being written,
  std::size_t offset_ = 0;  // and how much of it, with its frame, is
};

}  // namespace baton::net
