// SPDX-License-Identifier: Apache-2.0
// Brings a database's tables to the schema of this program (store/migrations.h).
#pragma once

#include <string>

#include "base/result.h"
#include "store/postgres/connection.h"
#include "store/postgres/postgres_store.h"

namespace baton::store::postgres {

// In one transaction and under an advisory lock: of nodes that start at once one does it, and the others find it done. The
// tables lie in the connection's default schema; `baton_schema` there holds the numbers of the migrations that ran.
//
// STORE_NEWER for a schema that this program does not know, STORE_NOT_FOUND when there is no store and none is to be
// created, STORE_READ_ONLY when the schema is an older one and nothing may be changed.
Result<void> migrate(Connection& connection, const std::string& name, const PostgresOptions& options);

}  // namespace baton::store::postgres
