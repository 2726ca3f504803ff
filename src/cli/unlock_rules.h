// SPDX-License-Identifier: Apache-2.0
// Whom `baton unlock` answers. Pure: what the kernel says of all processes goes in.
//
// Only a command that was typed at the shell of the terminal where `baton unlock` ran: a child of that shell, in the terminal's
// foreground. And nobody as long as a coding agent runs in that terminal: below the shell, above it, or beside it in the session.
// Not stopped: a program that a person starts there and that is no agent by its name.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "net/process.h"

namespace baton::cli {

struct UnlockedTerminal {
  net::ProcessId shell;  // the leader of the session
  std::int64_t terminal = 0;
};

// Why the process gets no answer, in words for the person at the terminal; empty: it gets one.
std::string why_not_answered(std::span<const net::RunningProcess> all, std::int64_t caller, const UnlockedTerminal& at);

}  // namespace baton::cli
