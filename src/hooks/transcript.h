// SPDX-License-Identifier: Apache-2.0
// What the model wrote last, for clients whose events do not say: it is in a file of theirs, whose end baton-hook sends along.
//
// Copilot CLI keeps one JSON object a line; {"type": "assistant.message", "data": {"content"}} is what the model said, and is there
// before its hooks are asked (seen with 1.0.102). A message of a subagent, which has a `parentToolCallId` or an `agentId`, is not the agent's.
// Of Cursor's files nothing is known, so they are not read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hooks/event.h"

namespace baton::hooks {

// The last message of the agent in the end of its transcript, which may begin within a line. Nothing: there is none.
std::optional<std::string> last_message_in(Client client, std::string_view tail);

}  // namespace baton::hooks
