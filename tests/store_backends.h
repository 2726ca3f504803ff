// SPDX-License-Identifier: Apache-2.0
// The backends that the conformance suite (store_conformance.h) and the tests with failing stores run on.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/migrations.h"
#include "store/store.h"

namespace baton::store {

// A store made for one test, and what it takes to open it again.
class TestStore {
 public:
  virtual ~TestStore() = default;
  virtual Store& store() = 0;
  // Closes it and opens the same one again. Only where the backend is durable.
  virtual void reopen() = 0;
};

struct Backend {
  std::string name;
  bool durable = false;         // what was committed is there after reopen()
  bool one_transaction = true;  // begin() waits for the transaction before
  bool takes_our_clock = true;  // now() is that of the clock it was given; else it is the server's
  // Makes a new, empty store that has `more` tables beside those of all_tables().
  std::function<std::unique_ptr<TestStore>(Clock& clock, std::span<const Table* const> more)> make;

  friend void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }
};

// All that can be tried here. A backend that needs a server is there when the environment says where that is.
std::vector<Backend> backends();

// The statements that make a table and its indexes, with words in braces (store/migrations.h): the test tables come
// into a SQL store the way all others do.
std::vector<std::string> table_statements(const Table& table);

}  // namespace baton::store
