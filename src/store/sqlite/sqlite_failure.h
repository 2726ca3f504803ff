// SPDX-License-Identifier: Apache-2.0
// What SQLite and the system say went wrong, as failures with a code of the catalogue.
#pragma once

#include <sqlite3.h>

#include <string>

#include "base/result.h"
#include "diagnostics/diagnostic.h"

namespace baton::store::sqlite {

// STORE_FULL, STORE_READ_ONLY, STORE_LOCKED, STORE_CORRUPT, STORE_CONFLICT or STORE_IO, from an (extended) result code.
// `database` may be null; it is asked for its text and for the system's error.
tl::unexpected<Failure> sqlite_failure(sqlite3* database, int code, std::string doing);

// STORE_FULL, STORE_READ_ONLY or STORE_IO, from an errno.
tl::unexpected<Failure> system_failure(int error, std::string doing);

}  // namespace baton::store::sqlite
