// SPDX-License-Identifier: Apache-2.0
#include "session/scenario.h"

#include "session/player.h"

namespace baton::session {
namespace {

using contract::Judged;

std::string text_of(json::Node node) { return node.is_string() ? std::string(node.string()) : std::string(); }

}  // namespace

std::unique_ptr<Door> engine_door(const ScenarioSession& opened) {
  auto rules = make_rules(opened.plan);
  Opening opening;
  opening.mode = opened.mode;
  opening.gate = opened.gate;
  opening.labels = opened.labels;
  opening.denied = denied_by_policy(*opened.plan, opened.principal);
  opening.environment = environment_facts(*opened.plan, opened.environment, nullptr);
  State state = open(*rules, opening);
  return std::make_unique<EngineDoor>(std::move(rules), std::move(state), nullptr, EngineDoor::Arguments::OfHost);
}

contract::ScenarioReport judge_run(const contract::SourceFile& file, std::string_view stem, const MakeDoor& make) {
  contract::CompiledScenario compiled = contract::compile_scenario(file, stem);
  contract::ScenarioReport out{compiled.scenario, compiled.body, {}, {}};
  if (!compiled.is_readable) {
    out.findings = std::move(compiled.findings);
    return out;
  }
  const json::Node root = compiled.document->root();
  contract::Findings findings;
  findings.in(file.name);
  check_entries(findings, root["run"]);
  out.findings = findings.take();
  if (!out.is_readable()) return out;
  if (!compiled.plan) {
    out.entries.push_back(contract::not_compiled(compiled));
    return out;
  }
  ScenarioSession opened;
  opened.plan = compiled.plan;
  opened.pack = &compiled.source.pack;
  opened.principal = root["principal"];
  opened.environment = compiled.source.options.environment.value_or(std::map<std::string, std::string>());
  for (const json::Node label : root["labels"].elements()) opened.labels.push_back(text_of(label));
  opened.mode = mode_named(text_of(root["mode"])).value_or(Mode::Enforce);
  opened.gate = gate_named(text_of(root["gate"])).value_or(Gate::RejectAll);
  const std::unique_ptr<Door> door = make(opened);
  Player player(*compiled.plan, *door, opened.mode != Mode::Enforce);
  std::size_t number = 0;
  for (const json::Node entry : root["run"].elements()) out.entries.push_back(player.play(entry, ++number));
  return out;
}

}  // namespace baton::session
