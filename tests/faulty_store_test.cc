// SPDX-License-Identifier: Apache-2.0
// A store that fails at the n-th operation, for every n, around each backend: all of a transaction is there, or nothing.
#include "store/faulty/faulty_store.h"

#include <gtest/gtest.h>

#include "diagnostics/diagnostic.h"
#include "store/tables.h"
#include "store_backends.h"
#include "store_rows.h"
#include "store_scenario.h"

namespace baton::store {
namespace {

class FailingStore : public testing::TestWithParam<Backend> {
 protected:
  Failure failure_ = failure_of(Code::STORE_IO, "trying", {{"problem", "the test wants it"}}).value();
  FixedClock clock_{Time{1}};
};

// The scenario with one fault, and what came of it.
class FailingRun {
 public:
  FailingRun(const Backend& backend, Clock& clock, Fault fault) {
    SCOPED_TRACE(testing::Message() << "operation " << fault.at << (fault.after_commit ? ", after it" : ""));
    const std::unique_ptr<TestStore> made = backend.make(clock, {});
    {
      FaultyStore faulty(made->store(), std::move(fault));
      acknowledged = run_scenario(faulty).acknowledged;
      struck = faulty.struck();
      commits = faulty.commits();
    }
    EXPECT_GE(acknowledged + 1, kScenarioTransactions);  // one fault, one failure
    there = check_scenario(made->store(), acknowledged);
    if (!backend.durable) return;
    made->reopen();
    EXPECT_EQ(check_scenario(made->store(), acknowledged), there);
  }

  std::uint64_t acknowledged = 0;
  std::uint64_t there = 0;
  bool struck = false;
  std::vector<std::uint64_t> commits;
};

TEST_P(FailingStore, a_failure_at_any_operation_leaves_whole_transactions) {
  std::uint64_t at = 1;
  for (;; ++at) {
    const FailingRun run(GetParam(), clock_, {at, failure_});
    EXPECT_EQ(run.there, run.acknowledged);
    ASSERT_LT(at, 1'000u);
    if (HasFailure()) return;
    if (run.struck) continue;
    EXPECT_EQ(run.acknowledged, kScenarioTransactions);
    break;
  }
  EXPECT_GT(at, 20u * kScenarioTransactions);
}

TEST_P(FailingStore, a_commit_whose_acknowledgement_is_lost_is_there) {
  const std::vector<std::uint64_t> commits = FailingRun(GetParam(), clock_, {}).commits;
  ASSERT_EQ(commits.size(), kScenarioTransactions);
  for (const std::uint64_t at : commits) {
    const FailingRun run(GetParam(), clock_, {at, failure_, true});
    EXPECT_EQ(run.acknowledged, kScenarioTransactions - 1);
    EXPECT_EQ(run.there, kScenarioTransactions);
  }
}

// Whoever overlooks a failure gets half a transaction: that is what makes the test above able to fail.
TEST(faulty_store, a_transaction_goes_on_after_its_fault) {
  FixedClock clock{Time{1}};
  const std::unique_ptr<TestStore> made = backends().front().make(clock, {});
  FaultyStore faulty(made->store(), {3, failure_of(Code::STORE_FULL, "trying").value()});
  {
    const std::unique_ptr<Transaction> transaction = value_of(faulty.begin());
    expect_done(transaction->insert(tables::kLedgerWitnesses, {"a"}));
    EXPECT_EQ(code_of(transaction->insert(tables::kLedgerWitnesses, {"b"})), "STORE_FULL");
    EXPECT_TRUE(faulty.struck());
    expect_done(transaction->insert(tables::kLedgerWitnesses, {"c"}));
    expect_done(transaction->commit());
  }
  EXPECT_EQ(faulty.operations(), 5u);
  const std::unique_ptr<Reader> reader = value_of(faulty.reader());
  EXPECT_TRUE(value_of(reader->get(tables::kLedgerWitnesses, {"a"})));
  EXPECT_FALSE(value_of(reader->get(tables::kLedgerWitnesses, {"b"})));
  EXPECT_TRUE(value_of(reader->get(tables::kLedgerWitnesses, {"c"})));
  EXPECT_EQ(faulty.operations(), 9u);
}

INSTANTIATE_TEST_SUITE_P(stores, FailingStore, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend>& info) { return info.param.name; });

}  // namespace
}  // namespace baton::store
