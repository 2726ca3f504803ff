// SPDX-License-Identifier: Apache-2.0
#include "work/phases.h"

#include <array>

#include "work/rules.h"

namespace baton::work {
namespace {

constexpr bool kYes = true, kNo = false;

// clang-format off
constexpr std::array<PhaseRules, 8> kPhaseRules = {{
    // phase                claimable  held in                 review  not implementer's  unblocks to
    {Phase::Draft,          kYes,      Phase::Draft,           kNo,    kNo,               Phase::Draft},
    {Phase::Implementation, kYes,      Phase::Implementation,  kNo,    kNo,               Phase::Implementation},
    {Phase::CiPending,      kNo,       Phase::CiPending,       kNo,    kNo,               Phase::Implementation},
    {Phase::ReadyForReview, kYes,      Phase::Review,          kYes,   kYes,              Phase::Implementation},
    {Phase::Review,         kYes,      Phase::Review,          kYes,   kYes,              Phase::Implementation},
    {Phase::ReadyForMerge,  kYes,      Phase::ReadyForMerge,   kNo,    kYes,              Phase::Implementation},
    {Phase::Completed,      kNo,       Phase::Completed,       kNo,    kNo,               Phase::Completed},
    {Phase::Blocked,        kNo,       Phase::Blocked,         kNo,    kNo,               Phase::Blocked},
}};
// clang-format on

constexpr bool stands_in_order() {
  for (std::size_t i = 0; i < kPhaseRules.size(); ++i)
    if (static_cast<std::size_t>(kPhaseRules[i].phase) != i) return false;
  return true;
}
static_assert(stands_in_order(), "a phase is the index of its row");

}  // namespace

const PhaseRules& rules_of(Phase phase) { return kPhaseRules[static_cast<std::size_t>(phase)]; }

bool is_final(Phase phase) { return !agent_exit::next_phase(phase, agent_exit::Reason::Completed); }

bool is_before(Phase first, Phase second) { return static_cast<int>(first) < static_cast<int>(second); }

bool is_claimable(Phase phase) { return rules_of(phase).claimable; }

}  // namespace baton::work
