// SPDX-License-Identifier: Apache-2.0
// What happened and what happens, as a node tells it: for commands that show a part of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/world.h"

namespace baton::cli {

struct EventsArguments {
  NodeOptions node;
  std::vector<std::string> streams, types;
  std::uint64_t from = 0;  // 0: not given
  bool follow = false;
};
int events(World& world, const EventsArguments& arguments);

// One event for people, as `ledger tail` shows entries; with its end of line.
std::string event_line(json::Node entry, bool colour);

}  // namespace baton::cli
