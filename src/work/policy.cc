// SPDX-License-Identifier: Apache-2.0
#include "work/policy.h"

#include <algorithm>

namespace baton::work {
namespace {

bool names(const std::vector<std::string>& sections, std::string_view section) {
  return std::ranges::any_of(sections, [&](const std::string& name) { return name == "*" || name == section; });
}

}  // namespace

bool Role::reads(std::string_view section) const { return names(readable, section); }
bool Role::writes(std::string_view section) const { return names(writable, section); }

const Role* Policy::find_role(std::string_view name) const {
  const auto found = std::ranges::find(roles, name, &Role::name);
  return found == roles.end() ? nullptr : &*found;
}

const Role* Policy::role_of(Phase phase) const {
  const auto found = std::ranges::find_if(
      roles, [&](const Role& role) { return std::ranges::find(role.phases, phase) != role.phases.end(); });
  return found == roles.end() ? nullptr : &*found;
}

}  // namespace baton::work
