// SPDX-License-Identifier: Apache-2.0
// A store that fails when it is told to, around one that works: to try what a failure at every single operation does.
//
// Each call of begin(), reader() and wait_for_change(), and of every member of the Readers and Transactions that come
// from it, is an operation; they are counted from 1 on. Only the one that fails is changed, everything else passes
// through: in particular, a transaction goes on after a failure, so that whoever overlooks one gets half a transaction.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "store/store.h"

namespace baton::store {

struct Fault {
  std::uint64_t at = 0;  // fails this operation; 0: none
  Failure failure;       // with this
  // Where the operation is a commit: it is done all the same, and only its success is not told ("the acknowledgement is
  // lost"). Any other operation fails without being done.
  bool after_commit = false;
};

class FaultyStore final : public Store {
 public:
  // `inner` outlives this store.
  explicit FaultyStore(Store& inner, Fault fault = {});

  // How many operations there were, and whether the fault has struck.
  std::uint64_t operations() const { return plan_.count.load(); }
  bool struck() const { return plan_.fault.at != 0 && operations() >= plan_.fault.at; }
  // The numbers of those that were commits.
  std::vector<std::uint64_t> commits() const;

  Result<std::unique_ptr<Transaction>> begin() override;
  Result<std::unique_ptr<Reader>> reader() override;
  Result<std::uint64_t> wait_for_change(std::uint64_t seen, std::chrono::milliseconds timeout) override;
  Result<void> scrub() override { return inner_.scrub(); }
  Result<std::vector<std::string>> check_integrity() override { return inner_.check_integrity(); }
  std::string name() const override { return inner_.name(); }

  // Shared with the Readers and Transactions.
  struct Plan {
    const Fault fault;
    std::atomic<std::uint64_t> count = 0;
    mutable std::mutex mutex = {};
    std::vector<std::uint64_t> commits = {};  // under the mutex

    // Counts an operation; true when it is the one that fails.
    bool strikes() { return count.fetch_add(1) + 1 == fault.at; }
    bool strikes_commit();
  };

 private:
  Store& inner_;
  Plan plan_;
};

}  // namespace baton::store
