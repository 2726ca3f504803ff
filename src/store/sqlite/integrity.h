// SPDX-License-Identifier: Apache-2.0
// What SQLite can say about a database file, and what else is in it that no Reader returns.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/migrations.h"
#include "store/sqlite/connection.h"

namespace baton::store::sqlite {

// Runs PRAGMA integrity_check (pages, indexes, NOT NULL, the types of STRICT tables), compares the schema with the one
// that `migrations` make, and counts rows that no commit writes. The connection is in no transaction.
Result<std::vector<std::string>> check_integrity(Connection& connection, std::span<const Migration> migrations);

}  // namespace baton::store::sqlite
