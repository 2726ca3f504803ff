// SPDX-License-Identifier: Apache-2.0
// Brings a database's tables to the schema of this program (store/migrations.h).
#pragma once

#include <string>

#include "base/result.h"
#include "store/postgres/connection.h"

namespace baton::store::postgres {

// In one transaction and under an advisory lock: of nodes that start at once one does it, and the others find it done. The
// tables lie in the connection's default schema; `baton_schema` there holds the numbers of the migrations that ran.
//
// STORE_NEWER for a schema that this program does not know. With `create` false nothing is changed: STORE_NOT_FOUND when
// there is no store, STORE_READ_ONLY when its schema is an older one.
Result<void> migrate(Connection& connection, const std::string& name, bool create);

}  // namespace baton::store::postgres
