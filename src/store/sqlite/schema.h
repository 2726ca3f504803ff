// SPDX-License-Identifier: Apache-2.0
// Whether a database file is a Baton store, which schema it has, and bringing it up to date.
#pragma once

#include <filesystem>
#include <span>

#include "base/result.h"
#include "store/migrations.h"
#include "store/sqlite/connection.h"

namespace baton::store::sqlite {

// In the header of every store's database file (PRAGMA application_id): "Batn".
inline constexpr std::int64_t kApplicationId = 0x4261746e;

// The number of the schema (PRAGMA user_version); 0 when the file is a database without anything in it. Failures:
// STORE_LOCATION (of another program), STORE_NEWER, STORE_CORRUPT.
Result<int> schema_of(Connection& connection, const std::filesystem::path& folder,
                      std::span<const Migration> migrations);

// Runs the migrations after `found` in one transaction.
Result<void> migrate(Connection& connection, int found, std::span<const Migration> migrations);

}  // namespace baton::store::sqlite
