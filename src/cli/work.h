// SPDX-License-Identifier: Apache-2.0
// The commands of `baton work`, one function each; cli/work.cc adds them all. And what they share: reading a work
// item from an answer, and showing it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/table.h"

namespace baton::cli {

void add_work_create(Command& work, Action& chosen);
void add_work_list(Command& work, Action& chosen);
void add_work_show(Command& work, Action& chosen);
void add_work_claim(Command& work, Action& chosen);
void add_work_wait(Command& work, Action& chosen);
void add_work_renew(Command& work, Action& chosen);
void add_work_release(Command& work, Action& chosen);
void add_work_exit(Command& work, Action& chosen);
void add_work_unblock(Command& work, Action& chosen);
void add_work_answer(Command& work, Action& chosen);
void add_work_abort(Command& work, Action& chosen);
void add_work_ci(Command& work, Action& chosen);
void add_work_board(Command& work, Action& chosen);

// `baton work exit` and `baton handoff submit`: the document in a file is the session's handoff.
int submit_handoff(World& world, const NodeOptions& node, const std::string& file);

// What people are shown of an item; every text is fit to be shown.
struct ShownWork {
  std::string id, title, phase, state, holder, waits_for;
  std::string priority;
  std::optional<Time> waiting_since, held_until;
};
ShownWork shown_work(json::Node work);

// SGR codes: what is held, blocked, done.
std::string_view state_colour(std::string_view state);

// "W-1 is CI_PENDING (with_ci): Fix the tide table"
std::string work_line(json::Node work, bool colour);

// ", recorded as entry 12"; empty when there is no receipt.
std::string receipt_text(json::Node root);

// Every item, page by page; `phase` may be empty. `take` is called for each.
Result<std::optional<Answer>> for_each_work(Client& client, std::string_view phase,
                                            const std::function<void(json::Node)>& take);

// Values of --phase.
const std::vector<std::string>& phase_names();

}  // namespace baton::cli
