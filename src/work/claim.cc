// SPDX-License-Identifier: Apache-2.0
// Who may take an item.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "work/phases.h"
#include "work/ruling.h"

namespace baton::work {
namespace {

constexpr std::string_view kRolePrefix = "role:";

// What the checks look at, and the role they find.
struct Asked {
  const Item& item;
  const Claim& claim;
  const Policy& policy;
  Time now;
  const Role* role = nullptr;

  const PhaseRules& phase_rules() const { return rules_of(item.phase); }
  std::string_view phase_name() const { return agent_exit::phase_name(item.phase); }
  std::int64_t ttl() const { return claim.ttl == 0 ? policy.lease_ttl : claim.ttl; }
};

bool takes(const Role& role, Phase phase) {
  return std::find(role.phases.begin(), role.phases.end(), phase) != role.phases.end();
}

using Refusal = std::optional<Diagnostic>;

Refusal check_closed(Asked& asked) {
  if (!asked.item.aborted) return {};
  return report(Code::WORK_CLOSED, {}, {{"work", asked.item.id}, {"problem", "was aborted"}});
}

Refusal check_phase(Asked& asked) {
  if (asked.phase_rules().claimable) return {};
  return report(Code::CLAIM_PHASE, {}, {{"work", asked.item.id}, {"phase", asked.phase_name()}});
}

Refusal check_dependencies(Asked& asked) {
  if (asked.item.open_dependencies.empty()) return {};
  const std::string names = "`" + join(asked.item.open_dependencies, "`, `") + "`";
  return report(Code::CLAIM_WAITS, {}, {{"work", asked.item.id}, {"dependencies", names}});
}

// Another session of the holder takes over. A lease that is over and was not settled is held: whoever claims settles first.
Refusal check_held(Asked& asked) {
  const std::optional<Lease>& lease = asked.item.lease;
  if (!lease || (lease->holder == asked.claim.actor.id && !lease->is_over(asked.now))) return {};
  const std::string until =
      (lease->parked_until ? "while a person is asked, at most until " : "until ") + format_time(lease->deadline());
  return report(Code::CLAIM_HELD, {}, {{"work", asked.item.id}, {"holder", lease->holder}, {"until", until}});
}

bool is_offered_to(const Asked& asked, std::string_view to) {
  const Actor& actor = asked.claim.actor;
  if (to.starts_with(kRolePrefix)) return asked.claim.role.empty() || asked.claim.role == to.substr(kRolePrefix.size());
  return actor.id == to || std::find(actor.names.begin(), actor.names.end(), to) != actor.names.end();
}

Refusal check_offered(Asked& asked) {
  const std::optional<Offer>& offer = asked.item.offer;
  if (!offer || is_offered_to(asked, offer->to)) return {};
  return report(Code::CLAIM_OFFERED, {},
                {{"work", asked.item.id}, {"to", offer->to}, {"until", format_time(offer->until)}});
}

bool may_have(const Asked& asked, std::string_view role) {
  const std::vector<std::string>& roles = asked.claim.roles;
  return roles.empty() || std::find(roles.begin(), roles.end(), role) != roles.end();
}

// Who names no role has the one the item is offered to, or else the phase's.
Refusal check_role(Asked& asked) {
  std::string_view name = asked.claim.role;
  if (name.empty() && asked.item.offer && asked.item.offer->to.starts_with(kRolePrefix))
    name = std::string_view(asked.item.offer->to).substr(kRolePrefix.size());
  asked.role = name.empty() ? asked.policy.role_of(asked.item.phase) : asked.policy.find_role(name);
  // Of several roles that take the phase, the first that the caller may have.
  if (name.empty() && asked.role != nullptr && !may_have(asked, asked.role->name))
    for (const Role& role : asked.policy.roles)
      if (takes(role, asked.item.phase) && may_have(asked, role.name)) {
        asked.role = &role;
        break;
      }
  const bool is_for_phase = asked.role != nullptr && takes(*asked.role, asked.item.phase);
  if (is_for_phase && may_have(asked, asked.role->name)) return {};
  const std::string problem =
      is_for_phase            ? "the role `" + asked.role->name + "` is none of the caller's"
      : name.empty()          ? "no role takes " + std::string(asked.phase_name())
      : asked.role == nullptr ? "there is no role `" + std::string(name) + "`"
                              : "the role `" + std::string(name) + "` does not take " + std::string(asked.phase_name());
  return report(Code::CLAIM_ROLE, {}, {{"work", asked.item.id}, {"problem", problem}});
}

Refusal check_operator(Asked& asked) {
  const bool for_operators = asked.policy.review_by_operator && asked.phase_rules().is_review;
  // So many have implemented it that not all are remembered, and somebody might review his own work.
  const bool too_many = !asked.policy.allow_self_review && asked.phase_rules().not_implementers &&
                        asked.item.earlier_implementers.size() >= kImplementersMax;
  if (!for_operators && !too_many) return {};
  if (asked.claim.actor.kind == ActorKind::Operator) return {};
  return report(Code::CLAIM_OPERATOR_ONLY, {}, {{"work", asked.item.id}, {"phase", asked.phase_name()}});
}

Refusal check_same_actor(Asked& asked) {
  const std::string& actor = asked.claim.actor.id;
  if (asked.policy.allow_self_review || !asked.phase_rules().not_implementers) return {};
  const auto& earlier = asked.item.earlier_implementers;
  if (asked.item.implementer != actor && std::find(earlier.begin(), earlier.end(), actor) == earlier.end()) return {};
  return report(Code::CLAIM_SAME_ACTOR, {}, {{"actor", actor}, {"work", asked.item.id}, {"phase", asked.phase_name()}});
}

Refusal check_ttl(Asked& asked) { return check_lease_ttl(asked.claim.ttl, asked.policy); }

// In the order they are refused in.
constexpr std::array kChecks = {check_closed, check_phase,    check_dependencies, check_held, check_offered,
                                check_role,   check_operator, check_same_actor,   check_ttl};

Event claimed(const Asked& asked) {
  const auto& [item, claim, policy, now, role] = asked;
  return Happens(kClaimed, item, now)
      .with("session_id", claim.session_id)
      .with("lease_id", claim.lease_id)
      .with("fence", item.fence + 1)
      .with("actor_id", claim.actor.id)
      .with("actor_kind", agent_exit::actor_kind_name(claim.actor.kind))
      .with("agent_id", claim.agent_id)
      .with("role", role->name)
      .with("from_phase", asked.phase_name())
      .with("phase", agent_exit::phase_name(asked.phase_rules().held_in))
      .with("ttl", asked.ttl())
      .with("expires_at", format_time(later(now, asked.ttl())))
      .with_text("superseded", item.lease ? item.lease->session_id : "")
      .with_text("token_id", claim.token_id);
}

}  // namespace

Ruling claim(const Item& item, const Claim& asked, const Policy& policy, Time now) {
  // Its own session has it already.
  if (item.lease && !asked.present_session.empty() && item.lease->session_id == asked.present_session &&
      !item.lease->is_over(now))
    return {};
  Asked question{item, asked, policy, now};
  for (const auto check : kChecks)
    if (Refusal refusal = check(question)) return refuse(std::move(*refusal));
  Ruling ruling;
  ruling.events.push_back(claimed(question));
  return ruling;
}

std::vector<std::string> queues_for(const Actor& actor, std::string_view role, std::span<const Phase> phases,
                                    const Policy& policy) {
  std::vector<std::string> queues;
  const auto add = [&](std::string queue) {
    if (std::find(queues.begin(), queues.end(), queue) == queues.end()) queues.push_back(std::move(queue));
  };
  add("@" + actor.id);
  for (const std::string& name : actor.names) add("@" + name);

  std::vector<const Role*> roles;  // whoever names none may take any
  for (const Role& each : policy.roles)
    if (role.empty() || each.name == role) roles.push_back(&each);
  for (const Role* each : roles) add("@" + std::string(kRolePrefix) + each->name);

  const std::span<const Phase> wanted = phases.empty() ? std::span<const Phase>(agent_exit::kPhases) : phases;
  for (const Phase phase : wanted) {
    if (!is_claimable(phase)) continue;
    if (std::none_of(roles.begin(), roles.end(), [&](const Role* each) { return takes(*each, phase); })) continue;
    // There is nothing for it in there: every item would be refused.
    if (rules_of(phase).is_review && policy.review_by_operator && actor.kind != ActorKind::Operator) continue;
    add(std::string(agent_exit::phase_name(phase)));
  }
  return queues;
}

}  // namespace baton::work
