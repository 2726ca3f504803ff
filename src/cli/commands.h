// SPDX-License-Identifier: Apache-2.0
// The command line. One file a command; each adds itself to the application and leaves what it does in `chosen`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/world.h"
#include "handoff/handoff.h"
#include "json/value.h"

namespace baton::cli {

// Runs the command line; the exit status.
int run(World& world, int argc, const char* const* argv);

using Action = std::function<int(World&)>;

void add_check(CLI::App& app, Action& chosen);
void add_find(CLI::App& app, Action& chosen);
void add_translate(CLI::App& app, Action& chosen);
void add_uaix(CLI::App& app, Action& chosen);
void add_json(CLI::App& app, Action& chosen);
void add_explain(CLI::App& app, Action& chosen);
void add_ledger(CLI::App& app, Action& chosen);
void add_receipt(CLI::App& app, Action& chosen);
void add_init(CLI::App& app, Action& chosen);
void add_work(CLI::App& app, Action& chosen);
void add_token(CLI::App& app, Action& chosen);
void add_context(CLI::App& app, Action& chosen);
void add_events(CLI::App& app, Action& chosen);
void add_status(CLI::App& app, Action& chosen);
void add_stop(CLI::App& app, Action& chosen);
void add_serve(CLI::App& app, Action& chosen);
void add_contract(CLI::App& app, Action& chosen);
void add_session(CLI::App& app, Action& chosen);
void add_workflow(CLI::App& app, Action& chosen);
void add_handoff(CLI::App& app, Action& chosen);
void add_approvals(CLI::App& app, Action& chosen);
void add_replay(CLI::App& app, Action& chosen);
void add_completion(CLI::App& app, Action& chosen);

// --- shared by commands ---------------------------------------------------------------------------------------------

// Says what could not be done, on standard error; kCouldNot.
int could_not(World& world, std::string_view what);

// `--now`: the given time, or the clock's; nothing (and a message) when the text is no time.
std::optional<Time> time_option(World& world, const std::string& text);

// `--set /path=value`: a JSON Pointer and a value, JSON when it reads as JSON, else the text itself. Nothing (and a message)
// when it is something else.
std::optional<std::pair<std::string, json::Value>> assignment(World& world, const std::string& text);

// A command's examples, at the end of its help.
void examples(CLI::App& command, std::string_view text);

// Values of --dialect, with and without `auto`.
const std::vector<std::string>& dialect_names();

}  // namespace baton::cli
