// SPDX-License-Identifier: Apache-2.0
// What a PostgreSQL server can say about the tables of a store, and what is in them that no Reader returns.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/postgres/connection.h"

namespace baton::store::postgres {

// Looks for missing or unfinished indexes, and for triggers, rules and row security, which Baton does not make. Reads
// each table once through its rows and once through each of its indexes and compares the two; where the extension
// `amcheck` is installed and may be used, it also checks the order inside each index. Counts rows that no commit writes.
// The connection is in no transaction, and is in none afterwards.
Result<std::vector<std::string>> check_integrity(Connection& connection);

}  // namespace baton::store::postgres
