// SPDX-License-Identifier: Apache-2.0
// What a session passes on beside its work: the update_contracts of its block, merged into context sections.
#pragma once

#include <vector>

#include "base/result.h"
#include "diagnostics/diagnostic.h"
#include "json/value.h"
#include "runtime/use_cases/engine.h"

namespace baton::runtime {

struct ContextChange {
  ContextSection section;            // as it will be
  std::vector<std::string> changed;  // pointers of what is new or another value
};

struct ContextChanges {
  std::vector<Diagnostic> refused;   // CONTEXT_TOO_LARGE: nothing is taken
  std::vector<Diagnostic> warnings;  // entries that are left out, and what a merge warns of
  std::vector<ContextChange> changes;
};

// What the updates come to; writes nothing. Sections the role may not write are left out, and said so.
Result<ContextChanges> merge_updates(Act& act, const json::Value* updates, const work::Session& session,
                                     const work::Item& item);
Result<void> record_changes(Act& act, const ContextChanges& changes);

}  // namespace baton::runtime
