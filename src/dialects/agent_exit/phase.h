// SPDX-License-Identifier: Apache-2.0
// The eight work phases, the three ways to leave one, and where each leads: the exit protocol's one table.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace baton::agent_exit {

enum class Phase { Draft, Implementation, CiPending, ReadyForReview, Review, ReadyForMerge, Completed, Blocked };
inline constexpr std::array kPhases = {Phase::Draft,  Phase::Implementation, Phase::CiPending, Phase::ReadyForReview,
                                       Phase::Review, Phase::ReadyForMerge,  Phase::Completed, Phase::Blocked};

std::string_view phase_name(Phase phase);                // "CI_PENDING"
std::optional<Phase> find_phase(std::string_view name);  // exact case

enum class Reason { Completed, Blocked, Error };
std::string_view reason_name(Reason reason);               // "completed"
std::optional<Reason> find_reason(std::string_view name);  // exact case

// Where leaving `phase` for `reason` leads; nothing when the phase is final.
std::optional<Phase> next_phase(Phase phase, Reason reason);

// Who acts on a signal. Only CI can declare CI green.
enum class ActorKind { Agent, Operator, Ci, Auditor, Node };
std::string_view actor_kind_name(ActorKind kind);
std::optional<ActorKind> find_actor_kind(std::string_view name);

}  // namespace baton::agent_exit
