// SPDX-License-Identifier: Apache-2.0
// What a caller may read: one decision for every read path and stream (docs/decisions/0061). Pure.
//
// - A role's `reads` say which sections of the context its sessions may read.
// - What a labelled session wrote has that session's labels. Who reads it gets them; where they cannot be put on anybody, the
//   content is withheld, with the reason.
// - Operators, auditors, CI and the node read everything, and get no labels.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "work/policy.h"

namespace baton::work {

struct Clearance {
  bool reads_all = false;          // no agent
  std::vector<const Role*> roles;  // of the session; without one those that the caller may take
  bool can_gain = false;           // it reads for a session that is open, and by a path that records what reading adds
  std::vector<std::string> labels{};  // sorted: what the session, and its item, have already

  bool reads(std::string_view section) const;  // of the context; `*`: all of them
};

struct ReadDecision {
  enum class Outcome {
    Whole,       // after `adds`, where there are any, were recorded
    Unreadable,  // the section is not for these roles: there is none, as far as they know
    Withheld,    // it has labels that would be lost
  } outcome = Outcome::Whole;
  std::vector<std::string> adds = {};     // labels that reading it gives to the reader; sorted
  std::vector<std::string> missing = {};  // why it is withheld: these labels cannot be added,
  bool too_many = false;                  // because the reader has too many already, or else because nothing has them

  bool is_whole() const { return outcome == Outcome::Whole && adds.empty(); }
};
// `section` is empty for what is no section of the context. `labels` are sorted.
ReadDecision decide_read(const Clearance& who, std::string_view section, std::span<const std::string> labels);

// The roles of a caller whose token names none: `agent`, and the one that config.yaml gives each phase.
std::vector<std::string> default_roles(const Policy& policy);

}  // namespace baton::work
