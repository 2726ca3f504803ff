// SPDX-License-Identifier: Apache-2.0
// The commands of `baton contract`, one file or two for each.
#pragma once

#include "cli/commands.h"

namespace baton::cli {

void add_contract_check(CLI::App& contract, Action& chosen);
void add_contract_simulate(CLI::App& contract, Action& chosen);
void add_contract_test(CLI::App& contract, Action& chosen);
void add_contract_schema(CLI::App& contract, Action& chosen);
void add_contract_show(CLI::App& contract, Action& chosen);
void add_contract_diff(CLI::App& contract, Action& chosen);
void add_contract_graph(CLI::App& contract, Action& chosen);
void add_contract_prove(CLI::App& contract, Action& chosen);
void add_contract_new(CLI::App& contract, Action& chosen);
void add_contract_activate(CLI::App& contract, Action& chosen);

}  // namespace baton::cli
