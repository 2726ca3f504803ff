// SPDX-License-Identifier: Apache-2.0
// What tests of sessions share: a session of a pack that is written as a scenario has it, and calls that are played through it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "contract/scenario.h"
#include "json/parse.h"
#include "json/value.h"
#include "session/door.h"
#include "session/scenario.h"
#include "session/shown.h"

namespace baton::session {

inline json::Document document_of(const json::Value& value) {
  return std::move(*json::parse_owned(json::write(value)));
}
inline json::Value value_of(std::string_view text) { return json::Value::copy(json::parse(text)->root()); }

// The session of a pack: {session, contracts, tools, principal, environment, labels, gate, mode}. Nothing when it does not compile.
struct World {
  std::shared_ptr<const Rules> rules;
  State state;

  static std::optional<World> open(json::Value pack, std::string* problem = nullptr) {
    pack.set("scenario", "x");
    json::Value check = json::Value::object();
    check.set("check", true);
    pack.set("run", json::Value(json::Value::Array{check}));
    const contract::SourceFile file{"x.json", json::write(pack), true};
    const contract::CompiledScenario compiled = contract::compile_scenario(file, "");
    if (!compiled.plan) {
      for (const contract::Finding& one : compiled.findings)
        if (problem != nullptr) problem->append(one.diagnostic.message).append("; ");
      return std::nullopt;
    }
    const json::Node root = compiled.document->root();
    World out;
    out.rules = make_rules(compiled.plan);
    Opening opening;
    if (root["gate"]) opening.gate = *gate_named(root["gate"].string());
    if (root["mode"]) opening.mode = *mode_named(root["mode"].string());
    for (const json::Node label : root["labels"].elements()) opening.labels.emplace_back(label.string());
    opening.denied = denied_by_policy(*compiled.plan, root["principal"]);
    opening.environment = environment_facts(
        *compiled.plan, compiled.source.options.environment.value_or(std::map<std::string, std::string>()), nullptr);
    out.state = session::open(*out.rules, opening);
    return out;
  }

  // The answer to a response of these calls ({call_id?, tool, arguments}). The session goes on from it.
  json::Value propose(json::Value step) {
    for (json::Value& call : step.find("calls")->elements())
      if (call.find("call_id") == nullptr) call.set("call_id", "#" + std::to_string(++made_));
    EngineDoor door(rules, std::move(state), nullptr, EngineDoor::Arguments::OfHost);
    json::Value out = door.propose(step);
    state = door.state();
    return out;
  }
  json::Value propose(const std::string& tool, const json::Value& arguments) {
    json::Value call = json::Value::object();
    call.set("tool", tool);
    call.set("arguments", arguments);
    json::Value step = json::Value::object();
    step.set("calls", json::Value(json::Value::Array{call}));
    return propose(std::move(step)).find("calls")->elements()[0];
  }

  // Carries a call out that was let through, or asked about; an output that is an object commits it.
  void commit(const json::Value& call, const json::Value& output) {
    const std::string id = call.find("call_id")->string();
    EngineDoor door(rules, std::move(state), nullptr, EngineDoor::Arguments::OfHost);
    if (call.find("verdict")->string() == "checkpoint") door.rule(id, Ruling::Approved);
    json::Value receipt = json::Value::object();
    receipt.set("result", "ok");
    receipt.set("output", output);
    door.settle(id, receipt);
    state = door.state();
  }

 private:
  int made_ = 0;
};

inline bool is_blocked(const json::Value& call) { return call.find("verdict")->string() == "block"; }

}  // namespace baton::session
