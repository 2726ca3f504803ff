// SPDX-License-Identifier: Apache-2.0
// The door of workflow/door.h with the use cases of a node behind it, or of two nodes in turn where a store takes several: every question
// is a use case, recorded and committed.
#pragma once

#include <map>

#include "node_door.h"
#include "workflow/scenario.h"

namespace baton::runtime {

class NodeWorkflow : public workflow::Door {
 public:
  NodeWorkflow(CasesFixture& fixture, const workflow::ScenarioWorkflow& opened) : fixture_(fixture), opened_(opened) {
    const auto active = ask([&](Answered done) {
      fixture.cases().activate_workflow(as_operator(), *opened.source, opened.plan->hash, std::move(done));
    });
    EXPECT_EQ(outcome(active), "taken");
  }

  json::Value begin(const std::string& name, const std::string& role) override {
    // A node starts a workflow with its first session: there is no second start of the same one.
    if (!id_.empty()) return NodeDoor::refused("workflow_root_exists");
    StartWorkflow asked;
    asked.workflow = opened_.plan->hash;
    asked.role = role;
    asked.session = opening(role);
    const auto answer = ask([&](Answered done) { node().start_workflow(as_operator(), asked, std::move(done)); });
    if (outcome(answer) == "taken") {
      id_ = text_at(answer, "/workflow/id");
      keep(name, answer);
    }
    return NodeDoor::told(answer);
  }

  json::Value offer(const std::string& handoff, const std::string& from, const std::string& to,
                    const json::Value& artifacts, const std::vector<std::string>& resources) override {
    const auto session = sessions_.find(from);
    if (session == sessions_.end()) return NodeDoor::refused("SESSION_UNKNOWN");
    OfferRequest asked{to, artifacts, 3600, resources};
    const auto answer = ask([&](Answered done) {
      node().offer(in_session(by(), session->second->id()), session->second->id(), asked, std::move(done));
    });
    if (outcome(answer) == "taken") handoffs_[handoff] = text_at(answer, "/handoff/id");
    return NodeDoor::told(answer);
  }

  json::Value claim(const std::string& handoff, const std::string& as_name) override {
    if (!handoffs_.contains(handoff)) return NodeDoor::refused("HANDOFF_UNKNOWN");
    ClaimHandoff asked{handoffs_[handoff], opening(role_of(handoff))};
    const auto answer = ask([&](Answered done) { node().claim_handoff(by(), asked, std::move(done)); });
    if (outcome(answer) == "taken") keep(as_name, answer);
    return NodeDoor::told(answer);
  }

  json::Value end_offer(const std::string& handoff, workflow::Event event) override {
    if (!handoffs_.contains(handoff)) return NodeDoor::refused("HANDOFF_UNKNOWN");
    const Mutation who = event == workflow::Event::Expire ? as("node", work::ActorKind::Node) : as_operator();
    return NodeDoor::told(
        ask([&](Answered done) { node().end_offer(who, handoffs_[handoff], event, std::move(done)); }));
  }

  json::Value close(const std::string& name) override {
    const auto session = sessions_.find(name);
    if (session == sessions_.end()) return NodeDoor::refused("SESSION_UNKNOWN");
    json::Value out = session->second->close();
    // What is over is over.
    if (text_at(out, "/refused") == "SESSION_ENDED") return json::Value::object();
    return out;
  }

  json::Value kill(workflow::Scope scope, const std::string& name, const std::string& by_name) override {
    const auto target = sessions_.find(name);
    KillWorkflow asked{id_, target == sessions_.end() ? name : target->second->id(), scope, {}};
    const auto who = sessions_.find(by_name);
    const Mutation caller = who == sessions_.end() ? as_operator() : in_session(by(), who->second->id());
    const auto answer = ask([&](Answered done) { node().kill_workflow(caller, asked, std::move(done)); });
    return NodeDoor::told(answer);
  }

  session::Door* session(const std::string& name) override {
    const auto found = sessions_.find(name);
    return found == sessions_.end() ? nullptr : found->second.get();
  }

  std::string stage_of(const std::string& handoff) override {
    const auto named = handoffs_.find(handoff);
    if (named == handoffs_.end()) return {};
    const auto shown = node().show_workflow(id_);
    EXPECT_TRUE(shown && *shown);
    for (const json::Value& one : (*shown)->find("workflow")->find("handoffs")->elements())
      if (text_at(one, "/id") == named->second) return text_at(one, "/stage");
    return {};
  }

  const std::string& id() const { return id_; }

 private:
  static Mutation by() { return as("alice"); }
  // The nodes in turn.
  UseCases& node() { return ++turn_ % 2 == 0 ? fixture_.cases() : fixture_.other_cases(); }

  std::string role_of(const std::string& handoff) {
    const auto shown = fixture_.cases().show_workflow(id_);
    for (const json::Value& one : (*shown)->find("workflow")->find("handoffs")->elements())
      if (text_at(one, "/id") == handoffs_[handoff]) return text_at(one, "/to");
    return {};
  }

  OpenSession opening(const std::string& role) {
    OpenSession out;
    out.mode = opened_.mode;
    out.gate = opened_.gate;
    const auto given = opened_.roles.find(role);
    if (given == opened_.roles.end()) return out;
    out.labels = given->second.labels;
    if (given->second.principal) out.principal = json::Value::copy(given->second.principal);
    fixture_.cases().use_environment(given->second.environment);
    fixture_.other_cases().use_environment(given->second.environment);
    return out;
  }

  void keep(const std::string& name, const Result<Answer>& answer) {
    sessions_[name] = std::make_unique<NodeDoor>(fixture_, node(), text_at(answer, "/session/id"), by());
  }

  CasesFixture& fixture_;
  const workflow::ScenarioWorkflow& opened_;
  std::string id_;
  std::size_t turn_ = 0;
  std::map<std::string, std::string> handoffs_;
  std::map<std::string, std::unique_ptr<NodeDoor>> sessions_;
};

}  // namespace baton::runtime
