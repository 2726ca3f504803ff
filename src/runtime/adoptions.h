// SPDX-License-Identifier: Apache-2.0
// What the ledger knows of coding agents whose settings are wired to this store: that they were wired, that the wiring is no longer whole,
// that it is again, that it was taken out. One entry for each change of that, whoever looks and however often.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "runtime/ledger.h"
#include "store/store.h"

namespace baton::runtime {

// On the stream `adoption`. Wired: id, client, project, role, pack, by, at. Broken: id, client, project, findings, unreadable. Whole and undone: id,
// client, project.
inline constexpr std::string_view kAdoptionStream = "adoption";
inline constexpr std::string_view kAdoptionWired = "adoption.wired";
inline constexpr std::string_view kAdoptionBroken = "adoption.broken";
inline constexpr std::string_view kAdoptionWhole = "adoption.whole";
inline constexpr std::string_view kAdoptionUndone = "adoption.undone";

struct SeenAdoption {
  std::string id, client, project, role, pack, by, at;
  std::vector<std::string> findings;    // what is not as it was wired
  std::vector<std::string> unreadable;  // what cannot be read here
};

class AdoptionLog {
 public:
  // Both outlive this.
  AdoptionLog(store::Store& store, Ledger& ledger) : store_(store), ledger_(ledger) {}

  // `all` there are now. Records what is new about them; on disk when it returns. Any thread.
  Result<void> see(const std::vector<SeenAdoption>& all);

 private:
  struct Known {
    std::string client, project, at, problem;
    bool undone = false;
  };
  Result<void> recall();

  store::Store& store_;
  Ledger& ledger_;
  std::mutex mutex_;
  bool recalled_ = false;
  std::map<std::string, Known> known_;  // by id
};

}  // namespace baton::runtime
