// SPDX-License-Identifier: Apache-2.0
// State is a fold: replays a ledger's entries through the fold into an empty store and compares every row of every table
// that is a projection. Before that, the backend checks its own files and indexes (Store::check_integrity); after it, the
// tables that are not projections are checked for rows that no entry accounts for: blobs, their keys, webhook cursors.
// Says nothing about whether the entries are genuine: that is verify.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "diagnostics/diagnostic.h"
#include "store/store.h"

namespace baton::runtime {

struct RebuildReport {
  std::optional<Diagnostic>
      difference;  // the first: LEDGER_STORAGE, LEDGER_PROJECTION, or an entry that cannot be folded
  std::uint64_t entries = 0;
  std::uint64_t rows = 0;         // compared
  std::uint64_t older_rules = 0;  // decisions of sessions that were opened with other rules: these do not judge them
};

// Rules before version 2 left numbers rounded in the rows of sessions: is one column of two rows the same but for that?
bool is_same_but_rounded(const store::Value& left, const store::Value& right);

// `scratch` is an empty store that can be thrown away.
Result<RebuildReport> rebuild_and_compare(store::Store& store, store::Store& scratch,
                                          const std::function<void(std::uint64_t, std::uint64_t)>& progress = {});

}  // namespace baton::runtime
