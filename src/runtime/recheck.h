// SPDX-License-Identifier: Apache-2.0
// Decisions made again from what was recorded: was each what the rules say? `ledger verify --rebuild` asks it of every entry, a replay of
// another pack asks what that would have said.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/fold.h"
#include "runtime/session_rows.h"
#include "session/commons.h"
#include "store/store.h"

namespace baton::runtime {

// What the rules say of a recorded decision.
struct Redecided {
  struct Call {
    std::string call_id, tool;
    std::string recorded,
        now;  // "allow", "block:reason", "checkpoint"; of a settlement "committed", "failed:reason", ...
  };
  std::vector<Call> calls;
  bool is_replayable =
      true;  // false: it depends on something that was recorded as a hash only, and may differ for that
};

// Nothing when the entry records no decision. The session's state is the one before the entry.
// `commons`: of the session's workflow, as it was; null: it has none, or it is not known.
std::optional<Redecided> redecide(std::string_view type, json::Node payload, const session::Rules& rules,
                                  const session::State& state, const session::Commons* commons = nullptr);

struct Rechecked {
  std::string problem = {};  // the first decision that is not what the rules say; empty: there is none
  std::int64_t older = 0;    // decisions of a session that was opened with other rules than these: they are not judged
};
// `transaction` has the tables as they were before the entry.
Result<Rechecked> recheck(const Event& event, store::Transaction& transaction);

}  // namespace baton::runtime
