// SPDX-License-Identifier: Apache-2.0
// The command line. One file a command; each adds itself to the application and leaves what it does in `chosen`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/command.h"
#include "cli/world.h"
#include "handoff/handoff.h"
#include "json/value.h"

namespace baton::cli {

// Runs the command line; the exit status.
int run(World& world, int argc, const char* const* argv);

using Action = std::function<int(World&)>;

void add_check(Command& app, Action& chosen);
void add_find(Command& app, Action& chosen);
void add_translate(Command& app, Action& chosen);
void add_uaix(Command& app, Action& chosen);
void add_json(Command& app, Action& chosen);
void add_explain(Command& app, Action& chosen);
void add_ledger(Command& app, Action& chosen);
void add_receipt(Command& app, Action& chosen);
void add_init(Command& app, Action& chosen);
void add_work(Command& app, Action& chosen);
void add_token(Command& app, Action& chosen);
void add_operator(Command& app, Action& chosen);
void add_unlock(Command& app, Action& chosen);
void add_context(Command& app, Action& chosen);
void add_events(Command& app, Action& chosen);
void add_status(Command& app, Action& chosen);
void add_doctor(Command& app, Action& chosen);
void add_stop(Command& app, Action& chosen);
void add_serve(Command& app, Action& chosen);
void add_contract(Command& app, Action& chosen);
void add_session(Command& app, Action& chosen);
void add_mcp(Command& app, Action& chosen);
void add_adopt(Command& app, Action& chosen);
void add_run(Command& app, Action& chosen);
void add_workflow(Command& app, Action& chosen);
void add_handoff(Command& app, Action& chosen);
void add_approvals(Command& app, Action& chosen);
void add_replay(Command& app, Action& chosen);
void add_completion(Command& app, Action& chosen);

// --- shared by commands ---------------------------------------------------------------------------------------------

// Says what could not be done, on standard error; kCouldNot.
int could_not(World& world, std::string_view what);

// `--now`: the given time, or the clock's; nothing (and a message) when the text is no time.
std::optional<Time> time_option(World& world, const std::string& text);

// `--set /path=value`: a JSON Pointer and a value, JSON when it reads as JSON, else the text itself. Nothing (and a message)
// when it is something else.
std::optional<std::pair<std::string, json::Value>> assignment(World& world, const std::string& text);

// A command's examples, at the end of its help.
void examples(Command& command, std::string_view text);

// Values of --dialect, with and without `auto`.
const std::vector<std::string>& dialect_names();

}  // namespace baton::cli
