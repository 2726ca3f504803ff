// SPDX-License-Identifier: Apache-2.0
// Reads what a client tells its hook into an Event.
//
// Strict, because what is misread here is allowed there: an event that is not one JSON object, a call without a tool or
// without an input, a name that could be two tools, a command that is no text is an error in words, and whoever asked has the
// call denied with them (hooks/write.h). What Baton does not know beside that is left alone: clients add members all the time.
//
// What a contract sees of a call (Event::arguments):
//   MCP tools      the input, as it is
//   shells         the input, and the facts that `command` gives for the command (below), with `cwd`: where it would run
//   file tools     the input with its paths absolute and normalised, and the facts `paths` (all of them), `writes` (those written to), `cwd`
//   patches        the input, and the facts `paths` and `writes` from its headers, `opaque` (true: no header could be read), `cwd`
//   others         the input, as it is
// Facts are in the member `dev.baton` of the arguments (hooks/facts.h). Event::reserved names a member of the input that is called so, or, of
// a tool with facts, has the name of one.
// Event::input is the input as it came, always.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "hooks/event.h"

namespace baton::hooks {

// What a contract is to see of a command line that would run in `cwd` (which may be empty): an object.
using CommandReader = std::function<json::Value(std::string_view command, std::string_view cwd)>;

struct Reading {
  CommandReader command = {};                 // empty: {"command": ..., "opaque": true}
  std::span<const std::string> servers = {};  // MCP servers that are configured for the client, where that is known
  std::span<const std::string> tools = {};    // `server:tool`: MCP tools that there are contracts for
  // What the model wrote last, from the client's transcript (hooks/transcript.h), where the event does not have it.
  std::string_view last_message = {};
};

// `event_name` as the hook was registered for it; may be empty for clients whose events name themselves (all but Copilot CLI).
// An event that says another name than that is refused.
tl::expected<Event, std::string> read(Client client, std::string_view event_name, std::string_view bytes,
                                      const Reading& reading = {});

}  // namespace baton::hooks
