// SPDX-License-Identifier: Apache-2.0
// `baton unlock`: for a while, operator commands that are typed in this terminal ask for no passphrase.
//
// The operator's own token is used once, to make a token that expires when the time is over, and forgotten. A process in the
// background holds that second token: it cannot be traced or dumped, and hands the token only to whom unlock_rules.h lets it.
// It ends, and revokes the token, when the time is over, when the shell ends, or by `baton lock`.
#pragma once

#include <string>
#include <string_view>

#include "cli/world.h"

namespace baton::cli {

struct Unlocked {
  std::string token;    // empty: there is none for us
  std::string refused;  // why, where this terminal is unlocked all the same
};
// Asks the process that `baton unlock` left in this terminal, for the store of this origin.
Unlocked ask_unlocked(World& world, std::string_view origin);

}  // namespace baton::cli
