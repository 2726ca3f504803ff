// SPDX-License-Identifier: Apache-2.0
#include "dialects/agent_exit/phase.h"

namespace baton::agent_exit {
namespace {

constexpr std::array<std::string_view, 8> kPhaseNames = {"DRAFT",  "IMPLEMENTATION",  "CI_PENDING", "READY_FOR_REVIEW",
                                                         "REVIEW", "READY_FOR_MERGE", "COMPLETED",  "BLOCKED"};
constexpr std::array<std::string_view, 3> kReasonNames = {"completed", "blocked", "error"};
constexpr std::array<std::string_view, 5> kActorKindNames = {"agent", "operator", "ci", "auditor", "node"};

// phase completed -> {completed, blocked, error}
constexpr std::array<std::array<std::optional<Phase>, 3>, 8> kNext = {{
    /* DRAFT            */ {{Phase::Implementation, Phase::Blocked, Phase::Blocked}},
    /* IMPLEMENTATION   */ {{Phase::CiPending, Phase::Blocked, Phase::Blocked}},
    /* CI_PENDING       */ {{Phase::ReadyForReview, Phase::Blocked, Phase::Blocked}},
    /* READY_FOR_REVIEW */ {{Phase::Review, Phase::Blocked, Phase::Blocked}},
    /* REVIEW           */ {{Phase::ReadyForMerge, Phase::Blocked, Phase::Blocked}},
    /* READY_FOR_MERGE  */ {{Phase::Completed, Phase::Blocked, Phase::Blocked}},
    /* COMPLETED        */ {{std::nullopt, std::nullopt, std::nullopt}},
    /* BLOCKED          */ {{std::nullopt, std::nullopt, std::nullopt}},
}};

template <class Enum, std::size_t N>
std::optional<Enum> find_in(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace

std::string_view phase_name(Phase phase) { return kPhaseNames[static_cast<std::size_t>(phase)]; }
std::string_view reason_name(Reason reason) { return kReasonNames[static_cast<std::size_t>(reason)]; }
std::string_view actor_kind_name(ActorKind kind) { return kActorKindNames[static_cast<std::size_t>(kind)]; }

std::optional<Phase> find_phase(std::string_view name) { return find_in<Phase>(kPhaseNames, name); }
std::optional<Reason> find_reason(std::string_view name) { return find_in<Reason>(kReasonNames, name); }
std::optional<ActorKind> find_actor_kind(std::string_view name) { return find_in<ActorKind>(kActorKindNames, name); }

std::optional<Phase> next_phase(Phase phase, Reason reason) {
  return kNext[static_cast<std::size_t>(phase)][static_cast<std::size_t>(reason)];
}

}  // namespace baton::agent_exit
