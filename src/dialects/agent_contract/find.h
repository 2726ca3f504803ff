// SPDX-License-Identifier: Apache-2.0
// Finding the contract block in an agent's whole output: plain text, or the JSON lines of a coding agent (then only in
// the last message the model wrote).
#pragma once

#include <optional>
#include <string_view>

#include "dialects/agent_contract/block.h"
#include "transcript/reader.h"

namespace baton::agent_contract {

class OutputFinder final : private transcript::Listener {
 public:
  void feed(std::string_view bytes) { reader_.feed(bytes); }
  void end() {
    reader_.end();
    finder_.end();
  }

  // After end(): the newest of the last message's block and the plain text's.
  const std::optional<BlockFinder::Block>& found() const { return in_message() ? message_block_ : finder_.last(); }
  bool in_message() const { return message_block_ && !(finder_.last() && finder_.last()->offset > message_position_); }
  std::size_t complete_blocks() const { return in_message() ? message_blocks_ : finder_.complete_blocks(); }
  // In the output, of the block or of the message's line: to tell which of two finds is later.
  std::size_t position() const {
    return in_message() ? message_position_ : finder_.last() ? finder_.last()->offset : 0;
  }

 private:
  void raw(std::string_view bytes) override { finder_.feed(bytes); }
  void message_begin() override { message_finder_ = BlockFinder(); }
  void message_text(std::string_view text) override { message_finder_.feed(text); }
  void message_end(std::size_t position) override {
    message_finder_.end();
    message_block_ = message_finder_.last();
    message_blocks_ = message_finder_.complete_blocks();
    message_position_ = position;
  }

  transcript::Reader reader_{*this};
  BlockFinder finder_;
  BlockFinder message_finder_;
  std::optional<BlockFinder::Block> message_block_;
  std::size_t message_blocks_ = 0;
  std::size_t message_position_ = 0;
};

}  // namespace baton::agent_contract
