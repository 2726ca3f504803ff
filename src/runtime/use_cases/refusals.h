// SPDX-License-Identifier: Apache-2.0
// Refusals for the record: at most one entry a second for each kind and actor (or session). The rest is counted; the count is in
// the next entry, or in one that the sweep appends.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "diagnostics/diagnostic.h"
#include "runtime/ledger.h"
#include "runtime/writer.h"

namespace baton::runtime {

class Refusals {
 public:
  Refusals(Ledger& ledger, Clock& clock) : ledger_(ledger), clock_(clock) {}

  struct Refusal {
    std::string what;  // the entry's type
    ledger::Actor actor;
    std::string session_id, subject;
    std::vector<std::string> codes;
    std::uint64_t also = 0;  // how many more like it were not recorded
  };
  // Records it or counts it. Returns at once, from any thread.
  void note(Refusal refusal);

  // What was counted and is older than a second, as entries that say so. The counts are gone from here; give_back() returns
  // them when the entries could not be written.
  std::vector<Refusal> take_counted();
  void give_back(const std::vector<Refusal>& counted);

  static Happening happening_of(const Refusal& refusal, Time at);

 private:
  struct Kept {
    std::int64_t second = INT64_MIN;  // when the last entry was made
    Refusal counted;                  // what came since
  };
  // Whose refusals are counted together.
  Kept& kept_for(const Refusal& refusal, std::int64_t second);

  Ledger& ledger_;
  Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Kept, std::less<>> kept_;
};

}  // namespace baton::runtime
