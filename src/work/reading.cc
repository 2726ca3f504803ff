// SPDX-License-Identifier: Apache-2.0
#include "work/reading.h"

#include <algorithm>
#include <iterator>

#include "base/limits.h"

namespace baton::work {

bool Clearance::reads(std::string_view section) const {
  return reads_all || std::ranges::any_of(roles, [&](const Role* role) { return role->reads(section); });
}

ReadDecision decide_read(const Clearance& who, std::string_view section, std::span<const std::string> labels) {
  ReadDecision out;
  if (who.reads_all) return out;
  if (!section.empty() && !who.reads(section)) {
    out.outcome = ReadDecision::Outcome::Unreadable;
    return out;
  }
  std::vector<std::string> missing;
  std::ranges::set_difference(labels, who.labels, std::back_inserter(missing));
  if (missing.empty()) return out;
  out.too_many = who.labels.size() + missing.size() > limits::kWorkLabelsMax;
  if (who.can_gain && !out.too_many) {
    out.adds = std::move(missing);
    return out;
  }
  out.outcome = ReadDecision::Outcome::Withheld;
  out.too_many = out.too_many && who.can_gain;
  out.missing = std::move(missing);
  return out;
}

std::vector<std::string> default_roles(const Policy& policy) {
  std::vector<std::string> out = {"agent"};
  for (const Phase phase : agent_exit::kPhases)
    if (const Role* role = policy.role_of(phase); role != nullptr && std::ranges::find(out, role->name) == out.end())
      out.push_back(role->name);
  return out;
}

}  // namespace baton::work
