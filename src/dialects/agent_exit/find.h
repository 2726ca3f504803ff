// SPDX-License-Identifier: Apache-2.0
// Finding the exit signal in an agent's whole output: plain text, or the JSON lines of a coding agent (then only in the
// last message the model wrote). The last one found wins.
#pragma once

#include <optional>
#include <string_view>

#include "dialects/agent_exit/scan.h"
#include "transcript/reader.h"

namespace baton::agent_exit {

class OutputScanner final : private transcript::Listener {
 public:
  void feed(std::string_view bytes) { reader_.feed(bytes); }
  void end();

  // After end(). `in_message` says that `offset` counts from the start of the message, not of the output.
  struct Found {
    Scanner::Found signal;
    bool in_message = false;
  };
  const std::optional<Found>& found() const { return found_; }

 private:
  void raw(std::string_view bytes) override;
  void message_begin() override { message_scanner_ = Scanner(); }
  void message_text(std::string_view text) override { message_scanner_.feed(text); }
  void message_end() override;

  transcript::Reader reader_{*this};
  Scanner scanner_;
  Scanner message_scanner_;
  std::optional<Scanner::Found> message_found_;  // in the newest message
  std::size_t message_position_ = 0;             // in the output, where that message was
  std::size_t position_ = 0;
  std::optional<Found> found_;
};

}  // namespace baton::agent_exit
