// SPDX-License-Identifier: Apache-2.0
// Choosing a passphrase for the operator's token.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/world.h"

namespace baton::cli {

struct PassphraseOptions {
  std::string file;   // --passphrase-file: its line is the passphrase
  bool none = false;  // --no-passphrase
};

// What it means to have none, for the person who chose that.
inline constexpr std::string_view kWithoutPassphrase =
    "without a passphrase every program that runs as you can decide as the operator, agents too";

// The passphrase; empty: none is wanted, or there is no terminal to ask at. At a terminal an empty line is no answer: it is asked
// for again, and --no-passphrase is named.
Result<std::string> new_passphrase(World& world, const PassphraseOptions& options);

}  // namespace baton::cli
