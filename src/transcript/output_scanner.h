// SPDX-License-Identifier: Apache-2.0
// Finding a wanted JSON object in an agent's whole output: plain text, or the JSON lines of a coding agent (then only in
// the last message the model wrote). The last one found wins.
#pragma once

#include <optional>
#include <string_view>

#include "transcript/object_scanner.h"
#include "transcript/reader.h"

namespace baton::transcript {

class OutputScanner final : private Listener {
 public:
  OutputScanner(std::size_t bytes_max, Wanted wanted)
      : empty_(bytes_max, wanted), scanner_(empty_), message_scanner_(empty_) {}

  void feed(std::string_view bytes) { reader_.feed(bytes); }
  void end();

  // After end(). `in_message` says that `offset` counts from the start of the message, not of the output.
  struct Found {
    ObjectScanner::Found object;
    bool in_message = false;
    std::size_t position = 0;  // in the output, of the object or of the message's line: to tell which of two is later
  };
  const std::optional<Found>& found() const { return found_; }

 private:
  void raw(std::string_view bytes) override;
  void message_begin() override { message_scanner_ = empty_; }
  void message_text(std::string_view text) override { message_scanner_.feed(text); }
  void message_end(std::size_t position) override;

  Reader reader_{*this};
  const ObjectScanner empty_;
  ObjectScanner scanner_;
  ObjectScanner message_scanner_;
  std::optional<ObjectScanner::Found> message_found_;  // in the newest message
  std::size_t message_position_ = 0;                   // in the output, where that message was
  std::optional<Found> found_;
};

}  // namespace baton::transcript
