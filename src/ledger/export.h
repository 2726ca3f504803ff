// SPDX-License-Identifier: Apache-2.0
// A ledger as a file: JSON lines that hold everything a verifier needs, so that it can be checked far from its store and
// without Baton (tools/verify_ledger.py).
//
//   {"baton_ledger":1,"origin":"baton/ledger/3f2a…"}
//   {"entry":{…},"hash":"…"}            entries 1, 2, 3, …
//   {"seal":"…","size":2}               after the last entry that it covers
//   {"end":{"hash":"…","size":1024}}    so that a cut file is noticed
//
// Both ways stream: memory does not grow with the ledger. Byte format: docs/formats/ledger.md
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ledger/verifier.h"
#include "store/store.h"

namespace baton::ledger {

// Takes a piece of the file: whole lines, in order. A failure ends the export.
using TakeText = std::function<Result<void>(std::string_view)>;

// Writes the ledger as it lies in the store, unchecked: what was altered there is altered in the file, and found there.
Result<void> write_export(store::Reader& reader, const TakeText& take);

// Verifies a file, piece by piece. After something was found, it takes nothing more.
class ExportVerifier {
 public:
  // Before the first piece: what else must hold (Verifier::expect, Verifier::pin).
  void expect(Checkpoint kept, std::string keeper) { verifier_.expect(std::move(kept), std::move(keeper)); }
  void pin(VerifierKey key) { verifier_.pin(std::move(key)); }

  // The next bytes of the file, cut anywhere. The first thing that is wrong, once it is found.
  std::optional<Break> feed(std::string_view bytes);
  // The file has ended. Without its last line LEDGER_HEAD; else what Verifier::finish finds.
  std::optional<Break> finish();

  const Verifier& verifier() const { return verifier_; }
  std::uint64_t seals() const { return seals_; }
  std::uint64_t lines() const { return lines_; }  // whole ones, so far

 private:
  std::optional<Break> line(std::string_view text);
  std::optional<Break> entry_line(std::string_view text);
  std::optional<Break> seal_line(std::string_view text);
  std::optional<Break> end_line(std::string_view text);
  std::optional<Break> malformed(std::string_view problem) const;

  Verifier verifier_;
  std::string pending_;  // the beginning of a line whose end has not come yet
  std::string origin_;   // of the first line
  std::optional<store::Head> end_;
  std::uint64_t seals_ = 0;
  std::uint64_t lines_ = 0;
  std::string buffer_;
};

}  // namespace baton::ledger
