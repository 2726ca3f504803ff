// SPDX-License-Identifier: Apache-2.0
// The time machine: what another pack would have said of what was recorded. Sessions are folded through its rules from their beginning,
// and go on as they really did; every decision it would have made otherwise is told. Nothing is executed and nothing written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "session/rules.h"
#include "store/store.h"

namespace baton::runtime {

struct Replayed {
  struct Change {
    std::uint64_t sequence = 0;
    Time at;
    std::string session_id, call_id, tool;
    std::string recorded, now;        // "allow", "block:reason", "checkpoint", "committed", ...
    bool approved_by_person = false;  // somebody had said yes to this call
  };
  std::vector<Change> changes;  // the first `changes_max` of them
  std::uint64_t changed = 0;    // all of them
  std::uint64_t decisions = 0, sessions = 0;
  std::uint64_t not_replayable = 0;                // decisions that depend on something that was not kept
  std::map<std::string, std::uint64_t> by_reason;  // what it would be instead
};

struct ReplayOptions {
  std::shared_ptr<const session::Rules> rules;  // null: each session's own pack
  std::string role;                             // only sessions of this role; empty: all
  Time since{INT64_MIN};                        // decisions before are made again, and not told
  std::size_t changes_max = 1000;
};
Result<Replayed> replay(store::Reader& reader, const ReplayOptions& options,
                        const std::function<void(std::uint64_t, std::uint64_t)>& progress = {});

}  // namespace baton::runtime
