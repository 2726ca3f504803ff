// SPDX-License-Identifier: Apache-2.0
// The commands of `baton session` that have a file of their own; cli/session.cc adds them all.
#pragma once

#include "cli/client.h"
#include "cli/commands.h"

namespace baton::cli {

void add_session_call(Command& session, Action& chosen);
void add_session_settle(Command& session, Action& chosen);
void add_session_close(Command& session, Action& chosen);

}  // namespace baton::cli
