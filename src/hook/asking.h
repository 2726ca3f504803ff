// SPDX-License-Identifier: Apache-2.0
// One question to the node over its unix socket, within a deadline. Nothing but system calls and the standard library: this is the
// whole network of a program that is started for every tool call.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace baton::hook {

using Deadline = std::chrono::steady_clock::time_point;

struct Asked {
  std::string socket;         // the path
  std::string target;         // /v1/hooks/claude?event=PreToolUse
  std::string session_token;  // empty: none
  std::string nonce;          // for the node to sign; empty: no signature is asked for
  std::string body;
};

struct Heard {
  enum class Kind { Answered, NobodyThere, Failed } kind = Kind::Failed;
  int status = 0;
  std::string body;
  std::string signature;  // as it came; empty: none, or more than one
  std::string problem;    // of what did not come to an answer
};

Heard ask(const Asked& asked, Deadline deadline);

// Standard input to its end. False: it took too long, could not be read, or is longer than `most`.
bool read_all(int descriptor, std::string& out, std::size_t most, Deadline deadline);

}  // namespace baton::hook
