// SPDX-License-Identifier: Apache-2.0
// The commands of `baton contract`, one file or two for each.
#pragma once

#include "base/result.h"
#include "cli/client.h"
#include "cli/commands.h"

namespace baton::cli {

void add_contract_check(Command& contract, Action& chosen);
void add_contract_simulate(Command& contract, Action& chosen);
void add_contract_test(Command& contract, Action& chosen);
void add_contract_schema(Command& contract, Action& chosen);
void add_contract_show(Command& contract, Action& chosen);
void add_contract_diff(Command& contract, Action& chosen);
void add_contract_graph(Command& contract, Action& chosen);
void add_contract_prove(Command& contract, Action& chosen);
void add_contract_new(Command& contract, Action& chosen);
void add_contract_activate(Command& contract, Action& chosen);

// What activates a pack on disk for a role: the body of POST /v1/packs. `hash`: only if it has this one; empty: whichever.
Result<json::Value> activation_of(World& world, const std::string& folder, const std::string& role,
                                  const std::string& hash);
// The same of a pack that was read before: the files on disk are not read again.
struct PackFolder;
Result<json::Value> activation_of(const PackFolder& folder, const std::string& role, const std::string& hash);

}  // namespace baton::cli
