// SPDX-License-Identifier: Apache-2.0
// Which rules decide. The number rises with every change after which some call would be decided otherwise than before, and a session
// records the one it was opened with. Rules of an earlier version are not kept (docs/decisions/0053).
#pragma once

#include <cstdint>

namespace baton::session {

// 1: sessions that record no version.
// 2: forbids_after binds while the forbidding call is open; numbers are exact at any length, and those of more than 10,000 digits
//    malform the arguments; reads that no rule remembers go on while a call waits for approval; forbids_after has `per`; arguments that
//    changed meet preconditions again at the start, and cannot hold facts; output invariants judge the whole result.
inline constexpr std::int64_t kFirstRulesVersion = 1;
inline constexpr std::int64_t kRulesVersion = 2;

}  // namespace baton::session
