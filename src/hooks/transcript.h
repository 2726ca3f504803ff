// SPDX-License-Identifier: Apache-2.0
// What the model wrote last, for clients whose events do not say: it is in a file of theirs, whose end baton-hook sends along.
//
// Copilot CLI keeps one JSON object a line; {"type": "assistant.message", "data": {"content"}} is what the model said, written when
// the client finds the time (baton-hook waits for it; seen with 1.0.102). A message of a subagent, which has a `parentToolCallId` or an `agentId`, is not the agent's.
// Gemini CLI tells all that was said since its user spoke, with what was refused already; its file has {"type": "gemini", "content"} for each
// message, and is written before its hooks are asked (seen with 0.61.0).
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
