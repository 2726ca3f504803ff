// SPDX-License-Identifier: Apache-2.0
// The handoff in what an agent prints, read as it comes. Stricter than `baton find`, which is for files: here nobody guesses. Pure.
//
// - In a structured stream only the last message that the model itself wrote is searched; what tools, users and the client say is not.
//   Once a line of such a stream was seen, plain text beside it does not count any more.
// - Otherwise a handoff stands alone on its lines or in its own fence.
// - The output of a client that is not known counts only if the operator said so: such a client prints what it likes, also files and what
//   its tools print, and a handoff in those is not its own. It hands in by an explicit channel (`baton handoff submit`, `baton_handoff`).
// - Two that differ, or text behind it, are a problem that the agent is asked about (EXIT_AMBIGUOUS, HANDOFF_AMBIGUOUS).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/locate.h"
#include "supervisor/clients.h"

namespace baton::supervisor {

class Search {
 public:
  // `scan_output`: the output of a client that is not known counts as well.
  explicit Search(Client client, bool scan_output = false);

  void feed(std::string_view bytes);

  struct Result {
    Dialect dialect;
    std::string document;              // as a node takes it: a contract in its fence
    std::string body;                  // without one
    std::vector<Diagnostic> problems;  // why it cannot be taken
  };
  // No more will come. Nothing: there is none.
  std::optional<Result> end();
  // After end(): was there a handoff that does not count, because the client is not known?
  bool has_uncounted() const { return uncounted_; }

  // As its output says (supervisor/clients.h); empty: not said yet.
  const std::string& conversation() const { return conversation_; }

 private:
  void take_line();
  void take_event(std::string_view line);

  Client client_;
  bool counts_, uncounted_ = false;
  checker::Locator locator_{std::nullopt};  // plain text, and the streams that transcript/ reads
  // Streams that are only known here: the message is put together from its pieces.
  std::string line_, message_;
  bool line_cut_ = false;
  bool structured_ = false;
  std::string conversation_;
};

}  // namespace baton::supervisor
