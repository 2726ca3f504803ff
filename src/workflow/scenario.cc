// SPDX-License-Identifier: Apache-2.0
#include "workflow/scenario.h"

#include <algorithm>
#include <array>

#include "contract/scenario_shapes.h"
#include "json/parse.h"
#include "session/player.h"

namespace baton::workflow {
namespace {

using contract::Field;
using contract::Form;
using contract::Judged;
using contract::Shape;
using contract::scenario_shapes::kAny;
using contract::scenario_shapes::kBoolean;
using contract::scenario_shapes::kObject;
using contract::scenario_shapes::kText;
using contract::scenario_shapes::kTexts;
using json::Value;

constexpr Shape kStages{.form = Form::Map, .expected = "an object of handoffs and what they are", .element = &kText};

constexpr std::array kEventFields = {Field{"in", kText, "the session it is about"},
                                     Field{"of", kText, "the session whose state is looked at"},
                                     Field{"create", kText, "the first session"},
                                     Field{"role", kText, "its role"},
                                     Field{"offer", kText, "a handoff"},
                                     Field{"from", kText, "the session that offers it"},
                                     Field{"to", kText, "the role it is offered to"},
                                     Field{"artifacts", kObject, "what is handed over"},
                                     Field{"resources", kTexts, "what it owns that becomes the child's"},
                                     Field{"claim", kText, "a handoff"},
                                     Field{"decline", kText, "a handoff"},
                                     Field{"cancel", kText, "a handoff"},
                                     Field{"expire", kText, "a handoff"},
                                     Field{"target", kText, "the session that is killed"},
                                     Field{"by", kText, "operator, or the session that kills"},
                                     Field{"cancel_requested", kBoolean, "was the session asked to end"},
                                     Field{"handoffs", kStages, "what has become of handoffs"}};
constexpr std::array<std::string_view, 6> kEventActions = {"create", "offer", "claim", "decline", "cancel", "expire"};

// What an entry about a session may hold, and what one about the workflow may.
std::vector<Field> all_fields() {
  std::vector<Field> out;
  for (const Field& one : session::entry_fields()) out.emplace_back(one);
  for (const Field& one : kEventFields) out.emplace_back(one);
  return out;
}

std::string text_of(json::Node node) { return node.is_string() ? std::string(node.string()) : std::string(); }

// State that entries of a session expect: looked at whoever the entry is about.
constexpr std::array<std::string_view, 8> kOfState = {"phase",     "killed",         "paused",        "bindings",
                                                      "forbidden", "session_labels", "tools_visible", "counters"};

class Play {
 public:
  Play(const ScenarioWorkflow& opened, Door& door) : opened_(opened), door_(door) {}

  Judged play(json::Node entry, std::size_t number) {
    judged_ = {number, place_of(entry),
               true,   {},
               {},     entry["why"] && !entry["why"].is_string() ? json::write(entry["why"]) : text_of(entry["why"])};
    act(entry, number);
    for (const json::Member one : entry["handoffs"].members())
      expect("handoff " + std::string(one.name()), text_of(one.value), door_.stage_of(std::string(one.name())));
    if (entry["cancel_requested"]) {
      std::string name = text_of(entry["of"] ? entry["of"] : entry["in"]);
      if (name.empty()) name = text_of(entry["target"] ? entry["target"] : entry["close"]);
      session::Door* seen = door_.session(name);
      const Value view = seen == nullptr ? Value::object() : seen->view();
      const Value* flag = view.find("cancel_requested");
      expect("cancel_requested", json::write(entry["cancel_requested"]),
             flag != nullptr && flag->boolean() ? "true" : "false");
    }
    return std::move(judged_);
  }

 private:
  void differ(const std::string& expected, const std::string& got) {
    judged_.passed = false;
    judged_.expected.append(judged_.expected.empty() ? "" : "; ").append(expected);
    judged_.got.append(judged_.got.empty() ? "" : "; ").append(got);
  }
  void expect(const std::string& what, const std::string& wanted, const std::string& got) {
    if (wanted != got) differ(what + " " + wanted, got.empty() ? "none" : got);
  }
  void take(const Judged& judged) {
    if (!judged.passed) differ(judged.expected, judged.got);
  }

  void act(json::Node entry, std::size_t number) {
    if (entry["create"]) {
      const std::string name = text_of(entry["create"]);
      answered(entry, number, begun(name, door_.begin(name, text_of(entry["role"])), text_of(entry["role"])), name);
    } else if (entry["offer"]) {
      const Value artifacts = entry["artifacts"] ? Value::copy(entry["artifacts"]) : Value::object();
      std::vector<std::string> resources;
      for (const json::Node one : entry["resources"].elements()) resources.push_back(text_of(one));
      answered(entry, number,
               door_.offer(text_of(entry["offer"]), text_of(entry["from"]), text_of(entry["to"]), artifacts, resources),
               text_of(entry["from"]));
      if (door_.stage_of(text_of(entry["offer"])) == "offered") roles_[text_of(entry["offer"])] = text_of(entry["to"]);
    } else if (entry["claim"]) {
      const std::string name = text_of(entry["as"]), id = text_of(entry["claim"]);
      answered(entry, number, begun(name, door_.claim(id, name), roles_[id]), name);
    } else if (entry["decline"]) {
      answered(entry, number, door_.end_offer(text_of(entry["decline"]), Event::Decline));
    } else if (entry["cancel"]) {
      answered(entry, number, door_.end_offer(text_of(entry["cancel"]), Event::Cancel));
    } else if (entry["expire"]) {
      answered(entry, number, door_.end_offer(text_of(entry["expire"]), Event::Expire));
    } else if (entry["close"]) {
      const std::string name = entry["close"].is_string() ? text_of(entry["close"]) : text_of(entry["in"]);
      answered(entry, number, door_.close(name), name);
    } else if (entry["kill"]) {
      kill(entry, number);
    } else {
      in_session(entry, number);
    }
  }

  void kill(json::Node entry, std::size_t number) {
    const auto scope = scope_named(text_of(entry["kill"]));
    if (!scope) return differ("a kill of session, subtree or workflow", text_of(entry["kill"]));
    const std::string target = text_of(entry["target"] ? entry["target"] : entry["in"]);
    const std::string by = text_of(entry["by"]) == "operator" ? std::string() : text_of(entry["by"]);
    answered(entry, number, door_.kill(*scope, target, by), target);
  }

  Value begun(const std::string& name, Value answer, const std::string& role) {
    if (answer.find("refused") != nullptr) return answer;
    session::Door* made = door_.session(name);
    const auto at = std::ranges::find(opened_.plan->roles, role, &contract::WorkflowRole::name);
    if (made != nullptr && at != opened_.plan->roles.end())
      players_[name] = std::make_unique<session::Player>(*at->plan, *made, opened_.mode != session::Mode::Enforce);
    return answer;
  }

  void answered(json::Node entry, std::size_t number, const Value& answer, const std::string& about = {}) {
    const Value* refused = answer.find("refused");
    const std::string got = refused == nullptr ? "ok" : "reject:" + refused->string();
    expect("expect", entry["expect"] ? text_of(entry["expect"]) : "ok", got);
    look_at(entry, number, about);
  }

  // What an entry about the workflow expects of a session's state.
  void look_at(json::Node entry, std::size_t number, const std::string& about) {
    if (std::ranges::none_of(kOfState, [&](std::string_view name) { return bool(entry[name]); })) return;
    std::string name = text_of(entry["of"] ? entry["of"] : entry["in"]);
    if (name.empty()) name = about;
    const auto at = players_.find(name);
    if (at == players_.end()) return differ("a session `" + name + "`", "none");
    Value check = Value::object();
    for (const std::string_view field : kOfState)
      if (entry[field]) check.set(field, Value::copy(entry[field]));
    check.set("check", true);
    const auto document = json::parse_owned(json::write(check));
    take(at->second->play(document->root(), number));
  }

  void in_session(json::Node entry, std::size_t number) {
    const std::string name = text_of(entry["in"]);
    const auto at = players_.find(name);
    if (at == players_.end()) return differ("a session `" + name + "`", "none");
    at->second->look_again();
    if (!entry["of"]) return take(at->second->play(entry, number));
    // The entry's own expectations are of one session, the state it looks at is another's.
    Value own = Value::copy(entry);
    for (const std::string_view field : kOfState) own.erase(field);
    const auto document = json::parse_owned(json::write(own));
    take(at->second->play(document->root(), number));
    look_at(entry, number, {});
  }

  const ScenarioWorkflow& opened_;
  Door& door_;
  Judged judged_;
  std::map<std::string, std::string> roles_;  // that handoffs were offered to
  std::map<std::string, std::unique_ptr<session::Player>> players_;
};

}  // namespace

contract::ScenarioReport judge_events(const contract::SourceFile& file, std::string_view stem, const MakeDoor& make) {
  const contract::CompiledScenario compiled = contract::compile_scenario(file, stem);
  contract::ScenarioReport out{compiled.scenario, compiled.body, {}, {}};
  if (!compiled.is_readable) {
    out.findings = compiled.findings;
    return out;
  }
  const json::Node root = compiled.document->root();
  contract::Findings findings;
  findings.in(file.name);
  const std::vector<Field> fields = all_fields();
  session::check_entries(findings, root["events"], fields, kEventActions);
  out.findings = findings.take();
  if (!out.is_readable()) return out;
  if (!compiled.workflow) {
    out.entries.push_back(contract::not_compiled(compiled));
    return out;
  }
  ScenarioWorkflow opened;
  opened.plan = compiled.workflow;
  opened.source = &*compiled.source.workflow;
  for (const json::Member role : root["packs"].members()) {
    RoleOpening& with = opened.roles[std::string(role.name())];
    with.principal = role.value["principal"];
    for (const json::Member one : role.value["environment"].members())
      with.environment.emplace(one.name(), text_of(one.value));
    for (const json::Node label : role.value["labels"].elements()) with.labels.push_back(text_of(label));
  }
  opened.mode = session::mode_named(text_of(root["mode"])).value_or(session::Mode::Enforce);
  opened.gate = session::gate_named(text_of(root["gate"])).value_or(session::Gate::RejectAll);
  const std::unique_ptr<Door> door = make(opened);
  Play play(opened, *door);
  std::size_t number = 0;
  for (const json::Node entry : root["events"].elements()) out.entries.push_back(play.play(entry, ++number));
  return out;
}

}  // namespace baton::workflow
