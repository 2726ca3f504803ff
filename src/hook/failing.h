// SPDX-License-Identifier: Apache-2.0
// What `baton-hook` says when it has nothing from the node: before a tool that is a refusal, in the way that makes the client refuse.
// Pure, and without anything but the standard library: it is all that is left when everything else is broken.
//
// Clients let a tool run when a hook ends with an unexpected status, says something they cannot read, or takes too long. So a
// refusal is what they were seen to obey:
//   Claude Code, Codex, Gemini CLI, OpenCode's plugin    status 2, the reason on standard error
//   Copilot CLI    {"permissionDecision":"deny",...} on standard output; it obeys status 2 too, but loses the reason
//   Cursor         {"permission":"deny",...} on standard output, and status 2
// Events after which nothing runs (a tool that has run, an end, a beginning) are let pass, with the reason on standard error.
#pragma once

#include <string>
#include <string_view>

namespace baton::hook {

struct Said {
  std::string out, err;
  int exit = 0;
};

// Does the tool run when this event is let pass? Yes for names that are not known: whatever it is, it is not let pass.
bool is_before_tool(std::string_view event);

// The event's name in the client's JSON, where the command line does not give it: the text of "hook_event_name". Empty: there is none,
// or more than one that differ.
std::string event_in(std::string_view input);

// `reason` is plain text; it is escaped where it has to be.
Said failing(std::string_view client, std::string_view event, std::string_view reason);

}  // namespace baton::hook
