// SPDX-License-Identifier: Apache-2.0
// What a workspace has decided about its work: the part of its configuration that rules read (workspace/config.h reads the
// file).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dialects/agent_exit/phase.h"

namespace baton::work {

using agent_exit::Phase;

// Who takes which phases, and what of the context they see. Default: one role `agent` for all phases, all sections.
struct Role {
  std::string name = "agent";
  std::vector<Phase> phases = {agent_exit::kPhases.begin(), agent_exit::kPhases.end()};
  std::string pack = {};                      // the contract pack of its sessions; empty: none
  std::vector<std::string> readable = {"*"};  // context sections; `*`: all
  std::vector<std::string> writable = {"*"};

  bool reads(std::string_view section) const;
  bool writes(std::string_view section) const;
};

struct Policy {
  bool exit_protocol = false;  // are exit signals acted on? The environment's flag wins over the file
  std::int64_t lease_ttl = 600 * kNanosecondsPerSecond;
  std::int64_t lease_ttl_max = 24 * 3600 * kNanosecondsPerSecond;  // what a claim may ask for
  std::int64_t max_parked = 7 * 24 * 3600 * kNanosecondsPerSecond;
  std::uint32_t max_attempts = 3;
  bool allow_self_review = false;
  bool review_by_operator = false;  // REVIEW is for operators alone
  std::vector<Role> roles = {Role{}};
  std::vector<std::string> required_checks = {};  // of CI; none: only workflow_run and check_suite count

  const Role* find_role(std::string_view name) const;
  // The role that takes a phase: the first that names it; null when none does.
  const Role* role_of(Phase phase) const;
};

}  // namespace baton::work
