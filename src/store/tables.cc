// SPDX-License-Identifier: Apache-2.0
#include "store/tables.h"

#include <array>

namespace baton::store {
namespace tables {
namespace {

constexpr std::array kLedgerKeysColumns = {Column{"key_id", Type::Text}, Column{"key", Type::Text},
                                           Column{"state", Type::Text}};
constexpr std::array kLedgerWitnessesColumns = {Column{"witness", Type::Text}};
constexpr std::array kLedgerErasuresColumns = {Column{"sha256", Type::Text}, Column{"reason", Type::Text}};
constexpr std::array kBlobsColumns = {Column{"sha256", Type::Text}, Column{"bytes", Type::Bytes, true},
                                      Column{"key", Type::Bytes, true}};

}  // namespace

const Table kLedgerKeys = {"ledger_keys", kLedgerKeysColumns, 1};
const Table kLedgerWitnesses = {"ledger_witnesses", kLedgerWitnessesColumns, 1};
const Table kLedgerErasures = {"ledger_erasures", kLedgerErasuresColumns, 1};
const Table kBlobs = {.name = "blobs", .columns = kBlobsColumns, .key_columns = 1, .projection = false};

}  // namespace tables

std::span<const Table* const> all_tables() {
  static constexpr std::array all = {&tables::kLedgerKeys, &tables::kLedgerWitnesses, &tables::kLedgerErasures,
                                     &tables::kBlobs};
  return all;
}

}  // namespace baton::store
