// SPDX-License-Identifier: Apache-2.0
// Plays the entries of a scenario file that are about one session through its door, and judges what the file expects of each. The body
// `run` is one session's; in the body `events` each session of a workflow has its player.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "contract/scenario.h"
#include "contract/shape.h"
#include "session/door.h"

namespace baton::session {

class Player {
 public:
  // `lets_through`: nothing is held back (shadow, log-only).
  Player(const Plan& plan, Door& door, bool lets_through);
  ~Player();

  contract::Judged play(json::Node entry, std::size_t number);
  // Calls may have ended without an entry of this session.
  void look_again();

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

// What an entry about one session may hold.
std::span<const contract::Field> entry_fields();
// Each entry has known members and exactly one action, of those about a session or of `more_actions`.
void check_entries(contract::Findings& findings, json::Node entries,
                   std::span<const contract::Field> fields = entry_fields(),
                   std::span<const std::string_view> more_actions = {});

}  // namespace baton::session
