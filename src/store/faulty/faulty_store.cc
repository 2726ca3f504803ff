// SPDX-License-Identifier: Apache-2.0
#include "store/faulty/faulty_store.h"

#include <utility>

namespace baton::store {
namespace {

using Plan = FaultyStore::Plan;

// The operation, or the fault in its place.
template <class Operation>
auto attempt(Plan& plan, const Operation& operation) -> decltype(operation()) {
  if (plan.strikes()) return tl::make_unexpected(plan.fault.failure);
  return operation();
}

class FaultyReader final : public Reader {
 public:
  FaultyReader(Plan& plan, std::unique_ptr<Reader> inner) : plan_(plan), inner_(std::move(inner)) {}

  Result<Head> head() override {
    return attempt(plan_, [&] { return inner_->head(); });
  }
  Result<void> entries(std::uint64_t first, std::uint64_t last, const TakeEntry& take) override {
    return attempt(plan_, [&] { return inner_->entries(first, last, take); });
  }
  Result<void> entry_hashes(std::uint64_t first, std::uint64_t last, const TakeEntry& take) override {
    return attempt(plan_, [&] { return inner_->entry_hashes(first, last, take); });
  }
  Result<std::uint64_t> count_entries() override {
    return attempt(plan_, [&] { return inner_->count_entries(); });
  }
  Result<void> nodes(std::uint32_t level, std::uint64_t first, std::uint64_t last, const TakeNode& take) override {
    return attempt(plan_, [&] { return inner_->nodes(level, first, last, take); });
  }
  Result<void> seals(std::uint64_t first, std::uint64_t last, const TakeSeal& take) override {
    return attempt(plan_, [&] { return inner_->seals(first, last, take); });
  }
  Result<std::optional<Seal>> newest_seal() override {
    return attempt(plan_, [&] { return inner_->newest_seal(); });
  }
  Result<std::optional<Row>> get(const Table& table, const Row& key) override {
    return attempt(plan_, [&] { return inner_->get(table, key); });
  }
  Result<void> find(const Query& query, const TakeRow& take) override {
    return attempt(plan_, [&] { return inner_->find(query, take); });
  }

 private:
  Plan& plan_;
  std::unique_ptr<Reader> inner_;
};

class FaultyTransaction final : public Transaction {
 public:
  FaultyTransaction(Plan& plan, std::unique_ptr<Transaction> inner) : plan_(plan), inner_(std::move(inner)) {}

  Result<Time> now() override {
    return attempt(plan_, [&] { return inner_->now(); });
  }
  Result<std::optional<Row>> get(const Table& table, const Row& key) override {
    return attempt(plan_, [&] { return inner_->get(table, key); });
  }
  Result<void> find(const Query& query, Lock lock, const TakeRow& take) override {
    return attempt(plan_, [&] { return inner_->find(query, lock, take); });
  }
  Result<void> insert(const Table& table, const Row& row) override {
    return attempt(plan_, [&] { return inner_->insert(table, row); });
  }
  Result<void> update(const Table& table, const Row& row) override {
    return attempt(plan_, [&] { return inner_->update(table, row); });
  }
  Result<void> erase(const Table& table, const Row& key) override {
    return attempt(plan_, [&] { return inner_->erase(table, key); });
  }
  Result<void> savepoint() override {
    return attempt(plan_, [&] { return inner_->savepoint(); });
  }
  Result<void> rollback_to_savepoint() override {
    return attempt(plan_, [&] { return inner_->rollback_to_savepoint(); });
  }
  Result<void> release_savepoint() override {
    return attempt(plan_, [&] { return inner_->release_savepoint(); });
  }
  Result<Head> take_head() override {
    return attempt(plan_, [&] { return inner_->take_head(); });
  }
  Result<void> append(std::span<const EntryRow> entries, std::span<const TreeNode> nodes, const Seal& seal,
                      const Head& head) override {
    return attempt(plan_, [&] { return inner_->append(entries, nodes, seal, head); });
  }

  Result<void> commit() override {
    const bool strikes = plan_.strikes_commit();
    if (strikes && !plan_.fault.after_commit) return tl::make_unexpected(plan_.fault.failure);
    Result<void> done = inner_->commit();
    if (strikes && done) return tl::make_unexpected(plan_.fault.failure);
    return done;
  }

 private:
  Plan& plan_;
  std::unique_ptr<Transaction> inner_;
};

}  // namespace

bool FaultyStore::Plan::strikes_commit() {
  const std::uint64_t number = count.fetch_add(1) + 1;
  const std::lock_guard lock(mutex);
  commits.push_back(number);
  return number == fault.at;
}

std::vector<std::uint64_t> FaultyStore::commits() const {
  const std::lock_guard lock(plan_.mutex);
  return plan_.commits;
}

FaultyStore::FaultyStore(Store& inner, Fault fault) : inner_(inner), plan_{std::move(fault)} {}

Result<std::unique_ptr<Transaction>> FaultyStore::begin() {
  return attempt(plan_, [&]() -> Result<std::unique_ptr<Transaction>> {
    Result<std::unique_ptr<Transaction>> begun = inner_.begin();
    if (!begun) return begun;
    return std::make_unique<FaultyTransaction>(plan_, std::move(*begun));
  });
}

Result<std::unique_ptr<Reader>> FaultyStore::reader() {
  return attempt(plan_, [&]() -> Result<std::unique_ptr<Reader>> {
    Result<std::unique_ptr<Reader>> made = inner_.reader();
    if (!made) return made;
    return std::make_unique<FaultyReader>(plan_, std::move(*made));
  });
}

Result<std::uint64_t> FaultyStore::wait_for_change(std::uint64_t seen, std::chrono::milliseconds timeout) {
  return attempt(plan_, [&] { return inner_.wait_for_change(seen, timeout); });
}

}  // namespace baton::store
