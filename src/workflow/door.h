// SPDX-License-Identifier: Apache-2.0
// A workflow as whoever drives it sees it, whatever is behind: the pure rules, a node, or several. One scenario runs through every door.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "session/door.h"
#include "session/scenario.h"
#include "workflow/family.h"
#include "workflow/follow.h"

namespace baton::workflow {

// Sessions and handoffs are called here what the caller calls them. An answer with `refused` (a code) says that nothing was done.
class Door {
 public:
  virtual ~Door() = default;
  virtual json::Value begin(const std::string& session, const std::string& role) = 0;  // the first session
  virtual json::Value offer(const std::string& handoff, const std::string& from, const std::string& to,
                            const json::Value& artifacts, const std::vector<std::string>& resources) = 0;
  virtual json::Value claim(const std::string& handoff, const std::string& as) = 0;
  virtual json::Value end_offer(const std::string& handoff, Event event) = 0;  // Decline, Cancel, Expire
  virtual json::Value close(const std::string& session) = 0;
  // `by` empty: an operator; else a session.
  virtual json::Value kill(Scope scope, const std::string& session, const std::string& by) = 0;
  // The door of one session; null: there is none of that name.
  virtual session::Door* session(const std::string& name) = 0;
  virtual std::string stage_of(const std::string& handoff) = 0;  // empty: there is none
};

// What the sessions of each role are opened with.
struct RoleOpening {
  json::Node principal;
  std::map<std::string, std::string> environment;
  std::vector<std::string> labels;
};
struct ScenarioWorkflow {
  std::shared_ptr<const WorkflowPlan> plan;
  const contract::WorkflowSource* source;  // what the plan was compiled from
  std::map<std::string, RoleOpening> roles;
  session::Mode mode = session::Mode::Enforce;
  session::Gate gate = session::Gate::RejectAll;
};
using MakeDoor = std::function<std::unique_ptr<Door>(const ScenarioWorkflow&)>;

// The pure rules: everything in memory, nothing recorded.
std::unique_ptr<Door> engine_door(const ScenarioWorkflow& opened);

}  // namespace baton::workflow
