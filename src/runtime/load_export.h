// SPDX-License-Identifier: Apache-2.0
// An exported ledger back into a store, so that everything that reads a store can read a file: entries and seals as they
// stand, tree and tables made from them. Nothing is verified: ledger::ExportVerifier does that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ledger/entry.h"
#include "ledger/merkle.h"
#include "store/store.h"

namespace baton::runtime {

class ExportLoader {
 public:
  // `store` is empty.
  explicit ExportLoader(store::Store& store) : store_(store) {}

  // The next bytes of the file, cut anywhere. What is wrong is said by finish().
  void take(std::string_view bytes);
  // LEDGER_MALFORMED when the file is no export, naming the line.
  Result<void> finish();

 private:
  Result<void> line(std::string_view text);
  Result<void> write();

  store::Store& store_;
  std::string pending_;
  std::uint64_t lines_ = 0;
  bool ended_ = false;
  std::optional<Failure> failed_;

  std::vector<ledger::Entry> entries_;  // up to the next seal
  ledger::Peaks peaks_;
  std::string open_streams_;
  std::optional<store::Seal> seal_;
};

}  // namespace baton::runtime
