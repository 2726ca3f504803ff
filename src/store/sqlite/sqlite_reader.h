// SPDX-License-Identifier: Apache-2.0
// A Reader on a connection of its own, in a read transaction: what SQLite calls a snapshot.
#pragma once

#include <memory>

#include "store/sqlite/reader_pool.h"
#include "store/store.h"

namespace baton::store::sqlite {

// The pool outlives the Reader, which gives its connection back.
Result<std::unique_ptr<Reader>> make_reader(ReaderPool& pool);

}  // namespace baton::store::sqlite
