// SPDX-License-Identifier: Apache-2.0
// Inside the use cases of workflows: what doing and showing have in common, and what time does.
#pragma once

#include <string>

#include "runtime/use_cases/govern.h"
#include "runtime/workflow_rows.h"

namespace baton::runtime {

json::Value shown_handoff(const WorkflowHandoff& handoff);

// An offer of a session to a role of its workflow, however it was made.
struct Offer {
  std::string handoff_id;  // minted
  std::string to;          // a role
  json::Value artifacts = json::Value::object();
  std::vector<std::string> resources = {};
  std::optional<Time> expires_at = {};
  std::string message_id = {}, target_id = {};  // of the packet that makes it
  // The session ends with the document that offers: the offer is that of the session it works for, and outlives it.
  bool for_parent = false;
};
// Judged and recorded. Nothing: it was refused.
Result<std::optional<WorkflowHandoff>> make_offer(Act& act, Act::Governed& held, const Offer& offer, Act::Is is);

// What the offer is known by that a packet makes: whoever has the packet can name it.
std::string handoff_id_of(std::string_view source_id, std::string_view message_id);

// An offer that is over. False: it is not.
Result<bool> expire_handoff(Act& act, const std::string& handoff_id);

}  // namespace baton::runtime
