// SPDX-License-Identifier: Apache-2.0
#include "workflow/door.h"

#include <algorithm>

namespace baton::workflow {
namespace {

using json::Value;
using session::EngineDoor;
using session::Hold;
using session::SharedKey;
using session::State;

Value refused(std::string_view code) {
  Value out = Value::object();
  out.set("refused", code);
  return out;
}
Value refused(const Refusal& refusal) { return refused(info(refusal.code()).name); }

std::string text_in(const Value& value, std::string_view member) {
  const Value* found = value.find(member);
  return found != nullptr && found->is_string() ? found->string() : std::string();
}

class Engine final : public Door, public Family, public Holds {
 public:
  explicit Engine(const ScenarioWorkflow& opened) : opened_(opened), plan_(*opened.plan) {
    for (const contract::WorkflowRole& role : plan_.roles)
      rules_.push_back(session::make_rules(role.plan, opened.plan));
  }

  Value begin(const std::string& name, const std::string& role) override {
    if (auto refusal = may_begin(plan_, totals_)) return refused(*refusal);
    const auto at = std::ranges::find(plan_.roles, role, &contract::WorkflowRole::name);
    if (at == plan_.roles.end()) return refused("WORKFLOW_ROLE");
    open({name, static_cast<std::uint32_t>(at - plan_.roles.begin()), {}, {}, Standing::Open}, {});
    return Value::object();
  }

  Value offer(const std::string& id, const std::string& from, const std::string& to, const Value& artifacts,
              const std::vector<std::string>& resources) override {
    const auto parent = member(from);
    if (!parent) return refused("SESSION_UNKNOWN");
    std::set<std::string, std::less<>> there;
    if (artifacts.is_object())
      for (const auto& [name, value] : artifacts.members())
        if (!value.is_null()) there.insert(name);
    Handoff handoff{id, 0, from, {}, Stage::Offered, {}};
    if (auto refusal = may_offer(plan_, totals_, *parent, to, there, handoff.edge)) return refused(*refusal);
    if (auto refusal = may_hand_over(plan_, resources, handoff.resources)) return refused(*refusal);
    ++totals_.open_handoffs;
    handoffs_.push_back(std::move(handoff));
    return Value::object();
  }

  Value claim(const std::string& id, const std::string& as) override {
    Handoff* handoff = find(id);
    if (handoff == nullptr) return refused("HANDOFF_UNKNOWN");
    if (auto refusal = may_claim(plan_, totals_, *handoff)) return refused(*refusal);
    handoff->stage = *next(handoff->stage, Event::Claim);
    handoff->child = as;
    open({as, plan_.handoffs[handoff->edge].to, handoff->from, id, Standing::Open}, labels(handoff->from));
    hand_over(*this, handoff->from, as, handoff->resources);
    return Value::object();
  }

  Value end_offer(const std::string& id, Event event) override {
    Handoff* handoff = find(id);
    if (handoff == nullptr) return refused("HANDOFF_UNKNOWN");
    if (auto refusal = may_end(*handoff, event)) return refused(*refusal);
    end_handoff(*handoff, *next(handoff->stage, event));
    return Value::object();
  }

  Value close(const std::string& name) override {
    session::Door* door = session(name);
    return door == nullptr ? refused("SESSION_UNKNOWN") : door->close();
  }

  Value kill(Scope scope, const std::string& name, const std::string& by) override {
    if (auto refusal = may_kill(plan_, scope, by.empty())) return refused(*refusal);
    if (scope == Scope::Workflow) totals_.killed = true;
    carry_out(kill_of(plan_, *this, scope, name));
    return Value::object();
  }

  session::Door* session(const std::string& name) override {
    const auto at = doors_.find(name);
    return at == doors_.end() ? nullptr : at->second.get();
  }

  std::string stage_of(const std::string& id) override {
    const Handoff* handoff = find(id);
    return handoff == nullptr ? std::string() : std::string(name_of(handoff->stage));
  }

  // --- Family -------------------------------------------------------------------------------------------------------------------------

  std::optional<Member> member(const std::string& name) const override {
    const auto at = std::ranges::find(members_, name, &Member::session);
    return at == members_.end() ? std::nullopt : std::optional(*at);
  }
  std::vector<Member> children(const std::string& name) const override {
    return select(members_, [&](const Member& one) { return one.parent == name; });
  }
  std::vector<Member> orphans() const override {
    return select(members_, [](const Member& one) { return one.parent.empty(); });
  }
  std::vector<Handoff> offered_by(const std::string& name) const override {
    return select(handoffs_, [&](const Handoff& one) { return one.from == name && one.stage == Stage::Offered; });
  }
  std::optional<Handoff> handoff(const std::string& id) const override {
    const auto at = std::ranges::find(handoffs_, id, &Handoff::id);
    return at == handoffs_.end() ? std::nullopt : std::optional(*at);
  }
  std::vector<std::string> labels(const std::string& name) const override {
    const auto at = doors_.find(name);
    return at == doors_.end() ? std::vector<std::string>() : at->second->state().labels;
  }

  // --- Holds --------------------------------------------------------------------------------------------------------------------------

  Hold get(const SharedKey& key) override {
    const auto at = holds_.find(key);
    return at == holds_.end() ? Hold() : at->second;
  }
  void put(const SharedKey& key, const Hold& hold) override {
    if (hold.is_free()) holds_.erase(key);
    else holds_[key] = hold;
  }
  std::vector<SharedKey> owned_by(const std::string& name) override {
    std::vector<SharedKey> out;
    for (const auto& [key, hold] : holds_)
      if (hold.owner && hold.owner->session == name) out.push_back(key);
    return out;
  }

 private:
  // What one session sees of the others.
  class Seen final : public session::Commons {
   public:
    Seen(Engine& engine, std::string name) : engine_(engine), name_(std::move(name)) {}
    const WorkflowPlan& plan() const override { return engine_.plan_; }
    const std::string& session() const override { return name_; }
    session::Spent spent() const override { return engine_.totals_.spent; }
    Hold hold(const SharedKey& key) const override { return engine_.get(key); }

   private:
    Engine& engine_;
    const std::string name_;
  };

  // A session whose every change is followed.
  class Shared final : public EngineDoor {
   public:
    Shared(Engine& engine, const std::string& name, std::shared_ptr<const session::Rules> rules, State state)
        : EngineDoor(std::move(rules), std::move(state), &seen_, Arguments::OfHost),
          engine_(engine),
          name_(name),
          seen_(engine, name) {}

    Value propose(const Value& step) override {
      return around([&] { return EngineDoor::propose(step); });
    }
    Value rule(const std::string& call, session::Ruling ruling) override {
      return around([&] { return EngineDoor::rule(call, ruling); });
    }
    Value start(const std::string& call, const Value* arguments) override {
      const Footprint before = footprint_of(*rules_, state_);
      Value out = EngineDoor::start(call, arguments);
      follow_from(before,
                  {.waits = text_in(out, "reason") == "resource_busy" ? call : "", .committed = {}, .failed = {}});
      return out;
    }
    Value settle(const std::string& call, const Value& receipt) override {
      const Footprint before = footprint_of(*rules_, state_);
      Value out = EngineDoor::settle(call, receipt);
      const std::string state = text_in(out, "state");
      follow_from(
          before,
          {.waits = {}, .committed = state == "committed" ? call : "", .failed = state == "failed" ? call : ""});
      return out;
    }
    Value report_cost(const Value& cost) override {
      return around([&] { return EngineDoor::report_cost(cost); });
    }
    Value kill() override { return engine_.kill(Scope::Session, name_, {}); }
    Value close() override {
      return around([&] { return EngineDoor::close(); });
    }

    void end(const std::string& because) {
      const Footprint before = footprint_of(*rules_, state_);
      session::take_end(*rules_, state_, Standing::Killed, because);
      follow(before, {});
    }
    void request_cancel() { session::take_cancel_request(state_); }
    void add_labels(const std::vector<std::string>& labels) {
      for (const std::string& label : labels) session::take_label(state_, label);
    }

   private:
    template <typename Do>
    Value around(const Do& act) {
      const Footprint before = footprint_of(*rules_, state_);
      Value out = act();
      follow_from(before, {});
      return out;
    }

    void follow(const Footprint& before, const Turn& turn) {
      const Footprint after = footprint_of(*rules_, state_);
      workflow::follow(engine_.plan_, engine_, name_, before, after, turn);
      add(engine_.totals_.spent, before, after);
    }

    // Whatever it was may have ended the session, and then others hang on it.
    void follow_from(const Footprint& before, const Turn& turn) {
      follow(before, turn);
      if (!before.open || state_.standing == Standing::Open) return;
      const auto then = end_of(engine_.plan_, engine_, name_, state_.standing);
      engine_.set_standing(name_, state_.standing);
      engine_.carry_out(then);
    }

    Engine& engine_;
    const std::string name_;
    const Seen seen_;
  };

  template <typename T, typename Which>
  static std::vector<T> select(const std::vector<T>& from, const Which& which) {
    std::vector<T> out;
    std::ranges::copy_if(from, std::back_inserter(out), which);
    return out;
  }

  Handoff* find(const std::string& id) {
    const auto at = std::ranges::find(handoffs_, id, &Handoff::id);
    return at == handoffs_.end() ? nullptr : &*at;
  }

  void open(Member member, const std::vector<std::string>& inherited) {
    const contract::WorkflowRole& role = plan_.roles[member.role];
    session::Opening opening;
    opening.mode = opened_.mode;
    opening.gate = opened_.gate;
    static const RoleOpening kNothing;
    const auto given = opened_.roles.find(role.name);
    const RoleOpening& with = given == opened_.roles.end() ? kNothing : given->second;
    opening.labels = with.labels;
    opening.labels.insert(opening.labels.end(), inherited.begin(), inherited.end());
    opening.denied = session::denied_by_policy(*role.plan, with.principal);
    opening.environment = session::environment_facts(*role.plan, with.environment, nullptr);
    const auto& rules = rules_[member.role];
    doors_[member.session] = std::make_unique<Shared>(*this, member.session, rules, session::open(*rules, opening));
    members_.push_back(std::move(member));
    ++totals_.sessions;
    ++totals_.active;
  }

  void set_standing(const std::string& name, Standing standing) {
    const auto at = std::ranges::find(members_, name, &Member::session);
    if (at->standing == Standing::Open && standing != Standing::Open) --totals_.active;
    at->standing = standing;
  }

  void end_handoff(Handoff& handoff, Stage stage) {
    if (is_open(handoff.stage) && !is_open(stage)) --totals_.open_handoffs;
    handoff.stage = stage;
  }

  void carry_out(const std::vector<Consequence>& all) {
    for (const Consequence& one : all) switch (one.kind) {
        case Consequence::Kill:
          doors_.at(one.session)->end(one.because);
          set_standing(one.session, Standing::Killed);
          break;
        case Consequence::RequestCancel: doors_.at(one.session)->request_cancel(); break;
        case Consequence::Abandon: std::ranges::find(members_, one.session, &Member::session)->parent.clear(); break;
        case Consequence::EndHandoff: end_handoff(*find(one.handoff), one.stage); break;
        case Consequence::AddLabels: doors_.at(one.session)->add_labels(one.labels); break;
      }
  }

  const ScenarioWorkflow opened_;
  const WorkflowPlan& plan_;
  std::vector<std::shared_ptr<const session::Rules>> rules_;  // by role
  Totals totals_;
  std::vector<Member> members_;
  std::vector<Handoff> handoffs_;
  std::map<SharedKey, Hold> holds_;
  std::map<std::string, std::unique_ptr<Shared>> doors_;
};

}  // namespace

std::unique_ptr<Door> engine_door(const ScenarioWorkflow& opened) { return std::make_unique<Engine>(opened); }

}  // namespace baton::workflow
