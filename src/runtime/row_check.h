// SPDX-License-Identifier: Apache-2.0
// Rows against the ledger: before a row is acted on for the first time after a start, the entries of its stream are folded
// again, and the row must be what they make. A row that somebody edited is refused (LEDGER_PROJECTION) and never acted on.
//
// Which tables, and what this does not see: docs/decisions/0061
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_set>

#include "base/result.h"
#include "store/store.h"

namespace baton::runtime {

class RowCheck {
 public:
  // `store` outlives this.
  explicit RowCheck(store::Store& store) : store_(store) {}

  // Once for each row and process. Rows of tables that are not checked, and rows that are not there, pass. Any thread.
  Result<void> check(const store::Table& table, const store::Row& key);

  // A row that this process has made itself.
  void trust(const store::Table& table, const store::Row& key);

  static bool is_checked(const store::Table& table);

 private:
  store::Store& store_;
  std::mutex mutex_;
  std::unordered_set<std::string> passed_;  // table and key
};

}  // namespace baton::runtime
