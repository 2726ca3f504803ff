// SPDX-License-Identifier: Apache-2.0
// A store that lives in memory and ends with its process: for tests, and to replay a ledger into (verify --rebuild).
//
// A Reader shares what was committed when it was made; the next commit copies those tables it changes that some Reader
// still holds. With no Reader about, nothing is ever copied.
#pragma once

#include <memory>

#include "base/clock.h"
#include "store/store.h"

namespace baton::store {

std::unique_ptr<Store> make_memory_store(Clock& clock);

}  // namespace baton::store
