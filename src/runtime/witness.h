// SPDX-License-Identifier: Apache-2.0
// Witnesses: second places where the newest seal of a ledger is kept, out of reach of whoever can rewrite the ledger. A
// kept seal proves later that entries were cut off or the ledger was rewritten.
//
//   folder:/path         a file `<ledger id>.checkpoint` in the folder
//   git:/path            a git note (ref refs/notes/baton) in the repository at the path; its history keeps older ones
//   http://… https://…   PUT of the note, GET gives it back; https beyond loopback
//
// A witness never goes back: one that has seen more entries than a seal offers refuses it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace baton::runtime {

// Is this a witness Baton knows how to reach? LEDGER_DRAFT when not.
Result<void> check_witness(std::string_view witness);

// Brings a seal to a witness. LEDGER_WITNESS when the witness has seen more or another ledger of this name, or cannot be
// reached.
Result<void> keep_seal(std::string_view witness, std::string_view note);

// The seal that a witness has of this ledger; nothing when it has none.
Result<std::optional<std::string>> kept_seal(std::string_view witness, std::string_view origin,
                                             std::chrono::milliseconds timeout = std::chrono::seconds(10));

// Brings the newest seal to every witness in the background, at most once a second: between two seals nothing is gained by
// keeping the first.
class WitnessKeeper {
 public:
  explicit WitnessKeeper(std::vector<std::string> witnesses);
  ~WitnessKeeper();  // the newest seal is brought before it ends

  void offer(const store::Seal& seal);
  void add(std::string witness, const store::Seal& newest);
  void remove(std::string_view witness);
  // Waits until the newest seal has been brought. What went wrong, by witness; empty: all is well.
  std::vector<std::string> settle();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_, settled_;
  std::vector<std::string> witnesses_;
  std::optional<store::Seal> newest_;  // not brought yet
  std::vector<std::string> troubles_;
  bool bringing_ = false, settling_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
