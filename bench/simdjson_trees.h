// SPDX-License-Identifier: Apache-2.0
// The peer of json::parse: simdjson, then a walk over its tape that makes a tree of one's own, which stays when the parser
// is used again. Like json::parse it refuses a key that an object already has.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace baton::bench {

// Each keeps one parser for all its calls; the text is padded once, before anything is measured.
class SimdjsonPeer {
 public:
  explicit SimdjsonPeer(std::string_view text);
  ~SimdjsonPeer();
  SimdjsonPeer(const SimdjsonPeer&) = delete;
  SimdjsonPeer& operator=(const SimdjsonPeer&) = delete;

  // Only the tape: not owned, duplicate keys accepted.
  bool parse_tape();
  // 16-byte nodes and all strings in one arena made for this tree. The number of nodes; 0 when it was refused.
  std::size_t parse_arena();
  // std::variant, std::vector and std::string, one allocation each.
  std::size_t parse_ordinary();

  static std::string implementation();  // which of simdjson's kernels this machine runs

 private:
  struct State;
  State* state_;
};

}  // namespace baton::bench
