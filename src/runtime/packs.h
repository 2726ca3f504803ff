// SPDX-License-Identifier: Apache-2.0
// Packs as the store keeps them: the texts of their files, in parts that fit into entries, and the rules that are compiled from them.
// A pack's hash names what it says; rules are compiled once in a process and shared.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "contract/compile.h"
#include "session/rules.h"
#include "store/store.h"

namespace baton::runtime {

// The files as one text, and back. Nothing when it is none.
std::string pack_text(const contract::PackSource& pack);
std::optional<contract::PackSource> read_pack_text(std::string_view text);

std::string workflow_text(const contract::WorkflowSource& workflow);
std::optional<contract::WorkflowSource> read_workflow_text(std::string_view text);

// The pack of a workflow's role is known by both: the workflow says what its roles share.
std::string pack_of_role(std::string_view workflow_hash, std::string_view role);

// In pieces of a few KiB.
std::vector<std::string> pack_pieces(std::string_view text);

// The rules of a pack that was activated; null when there is none of this hash. Failure: what is kept is not what its hash says.
using GetRow = std::function<Result<std::optional<store::Row>>(const store::Table&, const store::Row&)>;
Result<std::shared_ptr<const session::Rules>> rules_of(const std::string& pack, const GetRow& get);
// The same of a workflow.
Result<std::shared_ptr<const contract::WorkflowPlan>> workflow_plan_of(const std::string& hash, const GetRow& get);
template <class Rows>
Result<std::shared_ptr<const contract::WorkflowPlan>> workflow_plan_in(Rows& rows, const std::string& hash) {
  return workflow_plan_of(hash,
                          [&rows](const store::Table& table, const store::Row& key) { return rows.get(table, key); });
}
template <class Rows>
Result<std::shared_ptr<const session::Rules>> rules_in(Rows& rows, const std::string& pack) {
  return rules_of(pack, [&rows](const store::Table& table, const store::Row& key) { return rows.get(table, key); });
}

}  // namespace baton::runtime
