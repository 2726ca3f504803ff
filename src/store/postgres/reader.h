// SPDX-License-Identifier: Apache-2.0
// A Reader of a PostgreSQL store: a REPEATABLE READ, READ ONLY transaction.
//
// Whatever may be long is read through a cursor, in pieces of about a megabyte, the next one being on its way while one is
// handed out; so memory is bounded however long the ledger is. A callback may use the same Reader.
#pragma once

#include <memory>

#include "base/result.h"
#include "store/postgres/pool.h"
#include "store/store.h"

namespace baton::store::postgres {

// What it shows is settled when this returns.
Result<std::unique_ptr<Reader>> make_reader(Lease connection);

// Also of a Transaction: the row of the head, and rows of a table.
Result<Head> head_in(const Rows& rows, const std::string& doing);
Row row_in(const Rows& rows, std::size_t row, const Table& table);

}  // namespace baton::store::postgres
