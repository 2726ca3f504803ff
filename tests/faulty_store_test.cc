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

TEST_P(FailingStore, a_failure_at_any_operation_leaves_whole_transactions) {
  for (const bool after_commit : {false, true}) {
    std::uint64_t lost = 0;  // acknowledgements
    std::uint64_t at = 0;
    for (bool struck = true; struck;) {
      SCOPED_TRACE(testing::Message() << "operation " << ++at << (after_commit ? ", after a commit" : ""));
      const std::unique_ptr<TestStore> made = GetParam().make(clock_, {});
      FaultyStore faulty(made->store(), {at, failure_, after_commit});
      const std::uint64_t acknowledged = run_scenario(faulty).acknowledged;
      struck = faulty.struck();
      const std::uint64_t there = check_scenario(made->store(), acknowledged);
      EXPECT_GE(acknowledged + 1, kScenarioTransactions);  // one fault, one failure
      EXPECT_TRUE(struck || acknowledged == kScenarioTransactions);
      lost += there - acknowledged;
      if (GetParam().durable) {
        made->reopen();
        EXPECT_EQ(check_scenario(made->store(), acknowledged), there);
      }
      ASSERT_LT(at, 1'000u);
      if (HasFailure()) return;
    }
    EXPECT_GT(at, 20u * kScenarioTransactions);
    EXPECT_EQ(lost, after_commit ? kScenarioTransactions : 0u);
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
