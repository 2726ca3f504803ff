// SPDX-License-Identifier: Apache-2.0
// Verifying a whole ledger in a store: every entry, seal, tree row and blob, against what was kept elsewhere. Reads in
// chunks on several threads; memory does not grow with the ledger. The rules themselves are ledger/verifier.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnostics/diagnostic.h"
#include "ledger/note.h"
#include "ledger/verifier.h"
#include "store/store.h"

namespace baton::runtime {

// A checkpoint that somebody kept: what the ledger must still agree with.
struct KeptCheckpoint {
  std::string name;  // "the witness folder:/x", "checkpoint.txt"
  std::string note;
};

struct VerifyOptions {
  std::vector<ledger::VerifierKey> public_keys = {};  // the first key, or one that sealed: one of them must be met
  std::vector<KeptCheckpoint> kept = {};
  std::vector<std::string> witnesses = {};  // known another way
  std::optional<KeptCheckpoint> own = {};   // the newest seal that this node has kept beside its key
  bool ask_witnesses = true;                // also those the ledger names
  unsigned threads = 2;
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
};

struct VerifyReport {
  std::optional<ledger::Break> broken;  // the first thing that is wrong, if any
  std::vector<Diagnostic> warnings;     // what weakens the verdict
  std::uint64_t entries = 0;            // verified
  std::uint64_t seals = 0;
  std::uint64_t blobs = 0;
  std::uint64_t erased_blobs = 0;
  std::string origin;
  ledger::Checkpoint checkpoint;  // of everything verified
};

// A failure is of the environment: the ledger could not be read. What is wrong with it is in the report.
Result<VerifyReport> verify(store::Store& store, const VerifyOptions& options);

// Makes a verifier expect what was kept. LEDGER_WITNESS in `warnings` for one that is no checkpoint.
template <class Verifier>
void expect_kept(Verifier& verifier, const std::vector<KeptCheckpoint>& kept, std::vector<Diagnostic>& warnings) {
  for (const KeptCheckpoint& one : kept) {
    const auto note = ledger::parse_note(one.note);
    const auto checkpoint = note ? ledger::parse_checkpoint(note->text) : std::nullopt;
    if (checkpoint) verifier.expect(*checkpoint, one.name);
    else
      warnings.push_back(report(Code::LEDGER_WITNESS, {}, {{"witness", one.name}, {"problem", "holds no checkpoint"}}));
  }
}

}  // namespace baton::runtime
