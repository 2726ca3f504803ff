// SPDX-License-Identifier: Apache-2.0
// The door of session/door.h with the use cases of a node behind it: every question is a use case, recorded and committed.
#pragma once

#include "json/parse.h"
#include "session/scenario.h"
#include "use_cases_fixture.h"

namespace baton::runtime {

class NodeDoor : public session::Door {
 public:
  NodeDoor(CasesFixture& fixture, const session::ScenarioSession& opened) : fixture_(fixture) {
    // The node has one environment; each scenario its own.
    fixture.cases().use_environment(opened.environment);
    const auto active = ask([&](Answered done) {
      fixture.cases().activate_pack(as_operator(), *opened.pack, "agent", opened.plan->hash, std::move(done));
    });
    EXPECT_EQ(outcome(active), "taken");
    OpenSession open;
    open.pack = opened.plan->hash;
    open.labels = opened.labels;
    open.mode = opened.mode;
    open.gate = opened.gate;
    if (opened.principal) open.principal = json::Value::copy(opened.principal);
    const Mutation by = opened.mode == session::Mode::Enforce ? as("alice") : as("olga", work::ActorKind::Operator);
    const auto answer = ask([&](Answered done) { fixture.cases().open_session(by, open, std::move(done)); });
    EXPECT_EQ(outcome(answer), "taken");
    id_ = text_at(answer, "/session/id");
    by_ = in_session(as("alice"), id_);
  }

  // A session that is open already, behind whichever node.
  NodeDoor(CasesFixture& fixture, UseCases& cases, std::string id, const Mutation& by)
      : fixture_(fixture), cases_(&cases), id_(std::move(id)), by_(in_session(by, id_)) {}

  json::Value propose(const json::Value& step) override {
    // A scenario says what a contract judges: with facts, where there are some.
    return told(ask(
        [&](Answered done) { cases().govern_call(by_, id_, json::write(step), std::move(done), UseCases::Facts{}); }));
  }
  json::Value preflight(const json::Value& asked) override {
    return told(cases().preflight(by_.caller, id_, json::write(asked)));
  }
  json::Value rule(const std::string& call_id, session::Ruling ruling) override {
    const auto approval = find_approval(call_id);
    if (!approval) return refused("checkpoint_closed");
    if (ruling == session::Ruling::TimedOut) return time_out(*approval, call_id);
    ApprovalDecision decision{text_at(*approval, "/id"), ruling == session::Ruling::Approved,
                              text_at(*approval, "/digest")};
    json::Value out =
        told(ask([&](Answered done) { cases().decide_approval(as_operator(), decision, std::move(done)); }));
    if (text_at(out, "/refused") == "APPROVAL_CLOSED") return refused("checkpoint_closed");
    return out;
  }
  json::Value start(const std::string& call_id, const json::Value* arguments) override {
    json::Value asked = json::Value::object();
    asked.set("call_id", call_id);
    if (arguments != nullptr) asked.set("arguments", *arguments);
    return told(ask([&](Answered done) { cases().start_call(by_, id_, json::write(asked), std::move(done)); }));
  }
  json::Value settle(const std::string& call_id, const json::Value& receipt) override {
    json::Value asked = receipt;
    asked.set("call_id", call_id);
    return told(ask([&](Answered done) { cases().settle_call(by_, id_, json::write(asked), std::move(done)); }));
  }
  json::Value add_label(const std::string& label) override {
    return told(ask([&](Answered done) { cases().add_label(by_, id_, label, std::move(done)); }));
  }
  json::Value report_cost(const json::Value& cost) override {
    const auto document = json::parse_owned(json::write(cost));
    std::optional<json::Decimal> number;
    if (!session::read_cost(document->root(), "cost", number).empty())
      return refused(info(Code::SESSION_OPTIONS).name);  // as by http_api
    return told(ask([&](Answered done) { cases().report_cost(by_, id_, *number, std::move(done)); }));
  }
  json::Value kill() override {
    return told(ask([&](Answered done) { cases().kill_session(as_operator(), id_, "", std::move(done)); }));
  }
  json::Value close() override {
    return told(ask([&](Answered done) { cases().close_session(by_, id_, std::move(done)); }));
  }
  json::Value view() override {
    const auto shown = cases().show_session(id_);
    EXPECT_TRUE(shown && *shown);
    const json::Value* governed = (*shown)->find("governed");
    EXPECT_NE(governed, nullptr);
    return *governed;
  }

  const std::string& id() const { return id_; }
  const Mutation& by() const { return by_; }

 private:
  UseCases& cases() { return cases_ == nullptr ? fixture_.cases() : *cases_; }

 public:
  static json::Value refused(std::string_view code) {
    json::Value out = json::Value::object();
    out.set("refused", code);
    return out;
  }
  static json::Value told(const Result<Answer>& answer) {
    if (!answer) return refused("failed: " + answer.error().text());
    if (!answer->refused.empty()) return refused(info(answer->refused.front().code).name);
    return answer->body;
  }

 private:
  std::optional<json::Value> find_approval(const std::string& call_id) {
    const auto all = cases().list_approvals("", 1000);
    EXPECT_TRUE(all);
    for (const json::Value& one : all->find("approvals")->elements())
      if (text_at(one, "/call_id") == call_id && text_at(one, "/session_id") == id_) return one;
    return std::nullopt;
  }

  // Time passes, and the node sweeps. What became of the calls is read from the entry.
  json::Value time_out(const json::Value& approval, const std::string& call_id) {
    if (text_at(approval, "/state") != "pending") return refused("checkpoint_closed");
    const auto expires = parse_time(text_at(approval, "/expires_at")).time;
    fixture_.clock_.advance(expires->nanoseconds - fixture_.clock_.now().nanoseconds + 1);
    EXPECT_EQ(outcome(fixture_.sweep()), "taken");
    json::Value out = json::Value::object();
    fixture_.for_entries([&](const store::EntryRow& row) {
      if (row.type != "session.ruled" || row.payload.find(id_) == std::string_view::npos) return;
      const auto payload = json::parse(row.payload);
      if (!payload->root()["call_id"].is_text(call_id)) return;
      out = json::Value::copy(payload->root());
      for (json::Value& call : out.find("calls")->elements()) {
        const json::Value* failures = call.find("failures");
        if (!failures->elements().empty()) call.set("reason", *failures->elements().front().find("code"));
      }
    });
    return out;
  }

  CasesFixture& fixture_;
  UseCases* cases_ = nullptr;  // null: the fixture's
  std::string id_;
  Mutation by_;
};

}  // namespace baton::runtime
