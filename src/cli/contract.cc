// SPDX-License-Identifier: Apache-2.0
// baton contract: write, check and understand contract packs. `schema` is here; the others have files of their own.
#include "cli/contract.h"

#include "contract/shapes.h"
#include "json/value.h"

namespace baton::cli {

void add_contract(Command& app, Action& chosen) {
  Command* contract = app.add_subcommand("contract", "Write, check and understand contract packs");
  contract->require_subcommand(1);
  examples(*contract,
           "  baton contract new my-pack                 a pack to start from\n"
           "  baton contract check my-pack               does it say what was meant? 0 yes, 1 no, 2 could not tell\n"
           "  baton contract test my-pack                are its golden cases decided as they say?\n"
           "  baton contract graph my-pack --format svg > pack.svg\n"
           "  baton contract diff old-pack my-pack       what becomes allowed, what becomes blocked\n"
           "  baton contract prove my-pack --always-finish   can every session come to an end?");
  add_contract_check(*contract, chosen);
  add_contract_simulate(*contract, chosen);
  add_contract_test(*contract, chosen);
  add_contract_schema(*contract, chosen);
  add_contract_show(*contract, chosen);
  add_contract_diff(*contract, chosen);
  add_contract_graph(*contract, chosen);
  add_contract_prove(*contract, chosen);
  add_contract_new(*contract, chosen);
  add_contract_activate(*contract, chosen);
}

void add_contract_schema(Command& contract, Action& chosen) {
  auto kind = std::make_shared<std::string>();
  Command* command = contract.add_subcommand("schema", "The JSON Schema of a kind of file, for editors");
  command->add_option("KIND", *kind, "tool ({tool}.yaml), session (session.yaml) or workflow (workflow.yaml)")
      ->required()
      ->one_of({"tool", "session", "workflow"});
  examples(*command,
           "  baton contract schema session > session.schema.json\n"
           "  # and in the first line of session.yaml, for editors that use the YAML language server:\n"
           "  # yaml-language-server: $schema=session.schema.json");
  command->callback([kind, &chosen] {
    chosen = [kind](World& world) {
      const contract::Shape& shape = *kind == "tool"      ? contract::kToolShape
                                     : *kind == "session" ? contract::kSessionShape
                                                          : contract::kWorkflowShape;
      world.print(json::write_pretty(contract::schema_of(shape, "Baton " + *kind + " contract")) + "\n");
      return static_cast<int>(kYes);
    };
  });
}

}  // namespace baton::cli
