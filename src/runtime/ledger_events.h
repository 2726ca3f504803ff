// SPDX-License-Identifier: Apache-2.0
// What the ledger records about itself, beside its keys (ledger/keys.h). All on the stream `ledger`.
#pragma once

#include <string_view>

namespace baton::runtime {

inline constexpr std::string_view kLedgerStream = "ledger";

inline constexpr std::string_view kWitnessAdded = "ledger.witness_added";      // witness
inline constexpr std::string_view kWitnessRemoved = "ledger.witness_removed";  // witness
inline constexpr std::string_view kBlobErased = "ledger.blob_erased";          // sha256, reason
// An operator accepted a store that was restored or cut: kept (a list of keeper, size, root, seal), found (size, root), note.
inline constexpr std::string_view kRestoreAccepted = "ledger.restore_accepted";
// The wall clock jumped against the steady one: by_ns, from, to. Stored time does not go back with it.
inline constexpr std::string_view kClockJumped = "ledger.clock_jumped";

}  // namespace baton::runtime
