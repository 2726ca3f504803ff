// SPDX-License-Identifier: Apache-2.0
// Refusals for the record: at most one entry a second for each kind and actor (or session). The rest is counted; the count is in
// the next entry, or in one that the sweep appends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
  // Records it or counts it; what cannot be recorded is counted. Returns at once, from any thread.
  void note(Refusal refusal);

  // What was counted and is older than a second, as entries that say so. The counts are gone from here; give_back() returns
  // them when the entries could not be written.
  std::vector<Refusal> take_counted();
  void give_back(const std::vector<Refusal>& counted);

  // The ledger does not take such an entry, now or later: an actor's id that looks like a secret, say.
  static bool is_unwanted(const Failure& failure);

  static Happening happening_of(const Refusal& refusal, Time at);

 private:
  struct Kept {
    std::int64_t second = INT64_MIN;  // when the last entry was made
    Refusal counted;                  // what came since
  };
  // Whoever records holds it too: the writer may be done later than this is.
  struct Book {
    std::mutex mutex;
    std::map<std::string, Kept, std::less<>> kept;

    // Whose refusals are counted together. With the mutex held.
    Kept& kept_for(const Refusal& refusal, std::int64_t second);
    void give_back(const Refusal& refusal, std::int64_t second);
  };
  std::int64_t second() const;

  Ledger& ledger_;
  Clock& clock_;
  const std::shared_ptr<Book> book_ = std::make_shared<Book>();
};

}  // namespace baton::runtime
