// SPDX-License-Identifier: Apache-2.0
#include "contract/plan.h"

#include <algorithm>
#include <array>

#include "contract/shapes.h"

namespace baton::contract {

std::string_view name_of(SideEffect effect) { return kSideEffectNames[static_cast<std::size_t>(effect)]; }
std::string_view name_of(Evidence evidence) { return kEvidenceNames[static_cast<std::size_t>(evidence)]; }
std::string_view name_of(Commit commit) { return kCommitNames[static_cast<std::size_t>(commit)]; }
std::string_view name_of(Gate gate) { return kGateNames[static_cast<std::size_t>(gate)]; }
std::string_view name_of(Metric metric) { return kMetricNames[static_cast<std::size_t>(metric)]; }
std::string_view name_of(Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }
std::string_view name_of(Constraint constraint) { return kConstraintNames[static_cast<std::size_t>(constraint)]; }
std::string_view name_of(SharedMode mode) { return kSharedModeNames[static_cast<std::size_t>(mode)]; }
std::string_view name_of(ClosePolicy policy) { return kClosePolicyNames[static_cast<std::size_t>(policy)]; }
std::string_view name_of(Claims claims) { return kClaimsNames[static_cast<std::size_t>(claims)]; }
std::string_view name_of(Unlisted unlisted) { return kUnlistedNames[static_cast<std::size_t>(unlisted)]; }
std::string_view name_of(UnknownContent content) { return kUnknownContentNames[static_cast<std::size_t>(content)]; }
std::string_view name_of(Owed owed) { return kOwedNames[static_cast<std::size_t>(owed)]; }
std::string_view name_of(Op op) { return kOperatorNames[static_cast<std::size_t>(op)]; }

std::string_view name_of(Check check) {
  constexpr std::array<std::string_view, 18> kNames = {"labels",
                                                       "policy",
                                                       "gate",
                                                       "phase",
                                                       "forbidden",
                                                       "limits",
                                                       "loop",
                                                       "response_format",
                                                       "boundary_assertions",
                                                       "preconditions",
                                                       "arguments",
                                                       "input_assertions",
                                                       "execution_constraints",
                                                       "refs",
                                                       "aggregates",
                                                       "envelopes",
                                                       "resources",
                                                       "checkpoints"};
  return kNames[static_cast<std::size_t>(check)];
}

// --- sets of phases -----------------------------------------------------------------------------------------------------------

PhaseSet PhaseSet::all(std::size_t phases) {
  PhaseSet out(phases);
  for (PhaseId phase = 0; phase < phases; ++phase) out.add(phase);
  return out;
}

bool PhaseSet::add(PhaseId phase) {
  std::uint64_t& word = bits_[phase / 64];
  const std::uint64_t bit = std::uint64_t{1} << (phase % 64);
  const bool is_new = (word & bit) == 0;
  word |= bit;
  return is_new;
}

bool PhaseSet::add(const PhaseSet& other) {
  bool grown = false;
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    grown = grown || (other.bits_[i] & ~bits_[i]) != 0;
    bits_[i] |= other.bits_[i];
  }
  return grown;
}

void PhaseSet::keep(const PhaseSet& other) {
  for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] &= other.bits_[i];
}

bool PhaseSet::intersects(const PhaseSet& other) const {
  for (std::size_t i = 0; i < bits_.size(); ++i)
    if ((bits_[i] & other.bits_[i]) != 0) return true;
  return false;
}

bool PhaseSet::empty() const {
  return std::ranges::all_of(bits_, [](std::uint64_t word) { return word == 0; });
}

// --- names --------------------------------------------------------------------------------------------------------------------

std::string name_in_pack(std::string_view call_name) {
  std::string out(call_name);
  if (const std::size_t at = out.find('/'); at != std::string::npos) out[at] = ':';
  return out;
}

namespace {

constexpr std::array<std::string_view, 8> kServerOperations = {
    "server:resources.read", "server:resources.subscribe", "server:prompts.get", "server:completion",
    "server:sampling",       "server:elicitation",         "server:roots",       "server:request"};

}  // namespace

std::string_view name_of(ServerOperation operation) { return kServerOperations[static_cast<std::size_t>(operation)]; }

bool is_server_operation(std::string_view name) {
  return std::ranges::find(kServerOperations, name) != kServerOperations.end();
}

bool lets_unasked_answers_pass(const Plan& plan) {
  if (plan.unlisted != Unlisted::Record) return false;
  const auto has_contract = [&](ServerOperation one) { return plan.find_tool(name_of(one)).has_value(); };
  return !has_contract(ServerOperation::Sampling) && !has_contract(ServerOperation::Elicitation) &&
         !has_contract(ServerOperation::Roots);
}

std::optional<ToolId> Plan::find_tool(std::string_view name) const {
  if (const std::size_t at = name.find('/'); at != std::string_view::npos) {
    // `a:b/c` would be the contract `a:b:c`, which is that of `b:c` of the server `a`.
    if (name.substr(0, at).find(':') != std::string_view::npos) return std::nullopt;
    const std::string in_pack = name_in_pack(name);
    // A tool of a server that is called `server` is not the operation whose name it would have here.
    if (is_server_operation(in_pack)) return std::nullopt;
    return in_pack.find('/') == std::string::npos ? find_tool(in_pack) : std::nullopt;
  }
  const auto found =
      std::ranges::lower_bound(tools, name, {}, [](const Tool& tool) -> std::string_view { return tool.name; });
  if (found == tools.end() || found->name != name) return std::nullopt;
  return static_cast<ToolId>(found - tools.begin());
}

std::optional<PhaseId> Plan::find_phase(std::string_view name) const {
  const auto found = std::ranges::find(phases, name, &Phase::name);
  if (found == phases.end()) return std::nullopt;
  return static_cast<PhaseId>(found - phases.begin());
}

std::optional<SlotId> Plan::find_slot(std::string_view name) const {
  const auto found = std::ranges::lower_bound(slots, name);
  if (found == slots.end() || *found != name) return std::nullopt;
  return static_cast<SlotId>(found - slots.begin());
}

}  // namespace baton::contract
