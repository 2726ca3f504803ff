// SPDX-License-Identifier: Apache-2.0
// The commands of `baton workflow` that have a file of their own, and how a workflow is shown: made from what a node answers
// (`GET /v1/workflows/{id}`, its member `workflow`). Names are somebody else's text: they are escaped, and cut where they are long.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "json/document.h"

namespace baton::cli {

void add_workflow_watch(Command& workflow, Action& chosen);

// SGR code of open, killed, ended, closed.
std::string_view standing_colour(std::string_view standing);

// "12 of 100 steps" each, what has no limit too.
std::vector<std::string> budgets_of(json::Node workflow);
// What it is, in two lines: name, id, standing, who and when; and the budgets.
std::string workflow_head(json::Node workflow, Time now, bool colour);
// The sessions below the one that handed over to them, with their calls that are not over; handoffs that no session came by; and
// who holds what.
std::string workflow_tree(json::Node workflow, Time now, bool colour);
// The same in tables.
std::string workflow_tables(json::Node workflow, Time now, bool colour);

inline constexpr std::size_t kRowsDrawnMax = 500;  // of an SVG drawing; the others show all
std::string workflow_dot(json::Node workflow);     // for Graphviz
std::string workflow_svg(json::Node workflow);     // a whole file

// --- for handoffs too -------------------------------------------------------------------------------------------------------

// How many; of what is no list none.
inline std::size_t count_of(json::Node list) { return list.is_array() ? list.size() : 0; }

// "task (2 KiB), plan"; what there is none of is `nothing`.
std::string artifacts_text(json::Node artifacts);

// How a session is opened, of the commands that begin one.
struct BeginOptions {
  std::string mode, gate, principal;
  std::vector<std::string> labels;
};
void add_begin_options(Command& command, BeginOptions& options);
// Into the body of the request; the status when that could not be done, and why has been said.
std::optional<int> put_begin(World& world, const BeginOptions& options, json::Value& body);
// The session that was begun, with its token; `what` is the line before it. As JSON, as lines for a shell, or for people.
int tell_begun(World& world, const NodeOptions& node, const Result<Answer>& answer,
               const std::function<std::string(json::Node root)>& what);

}  // namespace baton::cli
