// SPDX-License-Identifier: Apache-2.0
// Finding the handoff in an agent's output or transcript, of whichever dialect, in one pass over a stream.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "dialects/agent_contract/find.h"
#include "handoff/handoff.h"
#include "transcript/output_scanner.h"

namespace baton::checker {

class Locator {
 public:
  // Nothing: any dialect, whichever comes last.
  explicit Locator(std::optional<Dialect> dialect);

  void feed(std::string_view bytes);

  struct Located {
    Dialect dialect;
    std::string document;              // the handoff's own bytes; a contract without its fence
    std::size_t first_line = 0;        // of the document in the output; 0 when it stood in a message of a transcript
    std::vector<Diagnostic> warnings;  // what makes it less than clear
  };
  // No more bytes will come.
  std::optional<Located> end();

 private:
  std::optional<Dialect> dialect_;
  agent_contract::OutputFinder blocks_;
  transcript::OutputScanner objects_;
  bool look_for_blocks_, look_for_objects_;
};

}  // namespace baton::checker
