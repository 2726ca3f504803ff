// SPDX-License-Identifier: Apache-2.0
// Finding the `agent_contract_handoff` block in a message, as the message comes.
//
// The block is a code fence of three or more backticks, indented at most three columns, whose info string is exactly
// `agent_contract_handoff` (blanks may follow, not precede), closed by a line of at least as many backticks and nothing
// else. Any other fence hides what is in it, also one of tildes, also one that is never closed. The last complete block
// counts. Time is linear; memory is one block.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace baton::agent_contract {

inline constexpr std::string_view kTag = "agent_contract_handoff";

class BlockFinder {
 public:
  void feed(std::string_view bytes);
  // No more bytes will come: a closing fence without a line end after it counts too.
  void end();

  struct Block {
    std::string body;         // between the fences, without the last line's end
    std::size_t offset = 0;   // of the body's first byte in everything fed
    std::size_t line = 0;     // of the body's first line, from 1
    bool too_large = false;   // the body is beyond the format's limit, and cut
    bool text_after = false;  // something that is not blank follows the block
    bool differs_from_earlier = false;
  };
  const std::optional<Block>& last() const { return last_; }
  std::size_t complete_blocks() const { return complete_; }

 private:
  void line_ended();
  void open_fence(std::string_view line);
  bool closes_fence(std::string_view line) const;

  std::string line_;       // the line being read, as much as it takes to judge it
  bool line_cut_ = false;  // more came than was kept
  bool cut_holds_backtick_ = false;
  bool cut_holds_text_ = false;  // something else than blanks
  std::size_t position_ = 0;
  std::size_t line_number_ = 1;

  std::size_t fence_length_ = 0;  // 0: outside
  char fence_character_ = '`';
  bool fence_is_ours_ = false;
  Block open_;
  std::size_t body_before_line_ = 0;

  std::optional<Block> last_;
  std::size_t complete_ = 0;
};

}  // namespace baton::agent_contract
