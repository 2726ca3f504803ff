// SPDX-License-Identifier: Apache-2.0
#include "contract/scenario.h"

#include <algorithm>
#include <array>
#include <set>

#include "contract/compiler.h"
#include "contract/graph.h"
#include "contract/reading.h"
#include "contract/scenario_shapes.h"
#include "json/parse.h"

namespace baton::contract {
namespace {

// --- what a file may hold -------------------------------------------------------------------------------------------------------

using scenario_shapes::kAny;
using scenario_shapes::kBoolean;
using scenario_shapes::kObject;
using scenario_shapes::kObjects;
using scenario_shapes::kText;
using scenario_shapes::kTexts;
constexpr Shape kVariables{.form = Form::Map, .expected = "an object of strings", .element = &kText};
constexpr Shape kList{.form = Form::List, .expected = "a list", .element = &kAny};
constexpr std::array<std::string_view, 3> kSeverities = {"error", "warning", "info"};
constexpr Shape kSeverity{.form = Form::Text, .expected = "a severity", .values = kSeverities};
constexpr std::array<std::string_view, 3> kGates = {"reject_all", "strip_partial", "strip_blocked"};
constexpr Shape kGate{.form = Form::Text, .expected = "a gate", .values = kGates};
constexpr std::array<std::string_view, 2> kModes = {"enforce", "shadow"};
constexpr Shape kMode{.form = Form::Text, .expected = "a mode", .values = kModes};

constexpr std::array kPackFields = {Field{"session", kObject, "session.yaml"},
                                    Field{"contracts", kObjects, "the tools' contracts"},
                                    Field{"tools", kObject, "JSON Schemas of arguments"},
                                    Field{"principal", kAny, "the principal"},
                                    Field{"environment", kVariables, "variables"},
                                    Field{"labels", kTexts, "labels at creation"}};
constexpr Shape kPack{.form = Form::Object, .expected = "a pack", .fields = kPackFields};
constexpr Shape kPacks{.form = Form::Map, .expected = "an object with a pack for each role", .element = &kPack};

constexpr std::array kCaseFields = {Field{"contract", kObject, "one contract"},
                                    Field{"contracts", kObjects, "several contracts"},
                                    Field{"session", kObject, "session.yaml"},
                                    Field{"tools", kObject, "JSON Schemas of arguments"},
                                    Field{"environment", kVariables, "variables"},
                                    Field{"workflow", kObject, "workflow.yaml"},
                                    Field{"packs", kPacks, "the roles' packs"},
                                    Field{"code", kText, "what must be among the findings", true},
                                    Field{"severity", kSeverity, "and how severe it is"},
                                    Field{"codes", kTexts, "exactly the errors"},
                                    Field{"boilerplate", kBoolean, "fill in what is absent"},
                                    Field{"contract_text", kText, "a contract as YAML"},
                                    Field{"session_text", kText, "session.yaml as YAML"},
                                    Field{"workflow_text", kText, "workflow.yaml as YAML"},
                                    Field{"file", kText, "the contract's file"},
                                    Field{"principal", kAny, "`none`: the session has none"},
                                    Field{"unwrapped", kTexts, "tools that are called past the engine"},
                                    Field{"why", kText, "said when it differs"}};
constexpr Shape kCase{.form = Form::Object, .expected = "a case", .fields = kCaseFields};
constexpr Shape kCases{.form = Form::List, .expected = "a list of cases", .element = &kCase};

constexpr std::array kScenarioFields = {Field{"scenario", kText, "the file's stem", true},
                                        Field{"about", kText, "one sentence"},
                                        Field{"session", kObject, "session.yaml"},
                                        Field{"contracts", kObjects, "the tools' contracts"},
                                        Field{"defaults", kObject, "fields for every contract"},
                                        Field{"tools", kObject, "JSON Schemas of arguments"},
                                        Field{"principal", kAny, "the principal"},
                                        Field{"environment", kVariables, "variables"},
                                        Field{"labels", kTexts, "labels at creation"},
                                        Field{"gate", kGate, "what a blocked call does to its step"},
                                        Field{"mode", kMode, "enforce or shadow"},
                                        Field{"run", kList, "one session"},
                                        Field{"events", kList, "a workflow"},
                                        Field{"cases", kCases, "compile only"},
                                        Field{"workflow", kObject, "workflow.yaml"},
                                        Field{"packs", kPacks, "the roles' packs"},
                                        Field{"why", kText, "said when it differs"}};
constexpr Shape kScenario{.form = Form::Object, .expected = "a scenario", .fields = kScenarioFields};

// --- filling in -----------------------------------------------------------------------------------------------------------------

// What a contract of a scenario has where the file says nothing.
constexpr std::string_view kBoilerplate = R"({
  "side_effect": "read", "evidence_class": "local_transaction", "commit_requirement": "acknowledged",
  "timeouts": {"total_ms": 30000}, "retries": {"max_attempts": 1, "retry_on": []},
  "rate_limits": {"on_429": {"respect_retry_after": true, "max_sleep_seconds": 30}},
  "assertions": {"input_invariants": [], "output_invariants": []}, "golden_cases": [], "allowed_errors": []})";

class Filler {
 public:
  explicit Filler(json::Node defaults) {
    const auto boilerplate = json::parse(kBoilerplate);
    fields_ = json::Value::copy(boilerplate->root());
    for (const json::Member member : defaults.members()) fields_.set(member.name(), json::Value::copy(member.value));
  }

  std::string contract(json::Node entry, bool fill) const {
    json::Value out = json::Value::copy(entry);
    if (fill)
      for (const auto& [name, value] : fields_.members())
        if (out.find(name) == nullptr) out.set(name, value);
    return json::write(out);
  }

  // session.yaml or workflow.yaml, with its version and its name.
  static std::string head(json::Node entry, std::string_view name, bool fill) {
    json::Value out = entry.is_object() ? json::Value::copy(entry) : json::Value::object();
    if (fill && out.find("schema_version") == nullptr) out.set("schema_version", "1.0");
    if (fill && out.find(name) == nullptr) out.set(name, "scenario");
    return json::write(out);
  }

 private:
  json::Value fields_;
};

std::string tools_file(json::Node tools) {
  json::Value list = json::Value::array();
  for (const json::Member member : tools.members()) {
    json::Value one = json::Value::object();
    one.set("name", member.name());
    one.set("inputSchema", json::Value::copy(member.value));
    list.push(std::move(one));
  }
  json::Value out = json::Value::object();
  out.set("tools", std::move(list));
  return json::write(out);
}

void add_contract(PackSource& pack, json::Node entry, const Filler& filler, bool fill, std::string_view file) {
  const json::Node tool = entry["tool"];
  std::string name = !file.empty()
                         ? std::string(file)
                         : (tool.is_string() ? std::string(tool.string()) : std::string("contract")) + ".yaml";
  pack.contracts.push_back({std::move(name), filler.contract(entry, fill), true});
}

// The parts that a case, a role and a scenario share.
PackSource pack_of(json::Node from, const Filler& filler, bool fill, std::string_view file = {}) {
  PackSource out;
  for (const json::Node entry : from["contracts"].elements()) add_contract(out, entry, filler, fill, {});
  if (from["contract"].is_object()) add_contract(out, from["contract"], filler, fill, file);
  if (from["session"] || fill)
    out.session = SourceFile{"session.yaml", Filler::head(from["session"], "agent", fill), true};
  if (from["tools"].is_object()) out.tools = SourceFile{"tools.json", tools_file(from["tools"])};
  return out;
}

std::map<std::string, std::string> variables_of(json::Node from) {
  std::map<std::string, std::string> out;
  for (const json::Member member : from.members())
    if (member.value.is_string()) out.emplace(member.name(), member.value.string());
  return out;
}

// --- judging --------------------------------------------------------------------------------------------------------------------

std::string_view name_of_code(const Finding& finding) { return info(finding.diagnostic.code).name; }

std::string listed(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out.empty() ? "nothing" : out;
}

std::string tool_named_in(const std::string& text) {
  Findings ignored;
  const Parsed parsed = parse_file(ignored, {"contract.yaml", text});
  const std::string name = text_in(parsed.root(), "tool");
  if (!name.empty()) return name;
  // A text that is no document still has its first line.
  const auto at = text.find("tool: ");
  return at == std::string::npos ? "contract" : text.substr(at + 6, text.find('\n', at) - at - 6);
}

// The workflow that a case or a scenario holds, with the packs of its roles.
WorkflowSource workflow_of(json::Node from, const Filler& filler, bool fill) {
  WorkflowSource out;
  out.workflow = from["workflow_text"]
                     ? SourceFile{"workflow.yaml", text_in(from, "workflow_text")}
                     : SourceFile{"workflow.yaml", Filler::head(from["workflow"], "workflow", fill), true};
  for (const json::Member role : from["packs"].members())
    out.packs.emplace(role.name(), pack_of(role.value, filler, fill));
  return out;
}

ScenarioPack pack_of_case(json::Node scenario, json::Node entry) {
  ScenarioPack out;
  out.options.environment = variables_of(entry["environment"] ? entry["environment"] : scenario["environment"]);
  out.options.without_principal = entry["principal"].is_text("none");
  for (const std::string& tool : texts_in(entry, "unwrapped")) out.options.unwrapped.insert(tool);
  const Filler filler(scenario["defaults"]);
  const bool fill = flag_in(entry, "boilerplate", true);
  if (entry["workflow"] || entry["workflow_text"]) {
    out.workflow = workflow_of(entry, filler, fill);
    return out;
  }
  out.pack = pack_of(entry, filler, fill, text_in(entry, "file"));
  if (const std::string text = text_in(entry, "contract_text"); entry["contract_text"]) {
    // Raw text is read from the file it would be in: that of the tool it names, as far as that can be told.
    std::string file = text_in(entry, "file");
    if (file.empty()) file = tool_named_in(text) + ".yaml";
    out.pack.contracts.push_back({std::move(file), text});
  }
  if (entry["session_text"]) out.pack.session = SourceFile{"session.yaml", text_in(entry, "session_text")};
  return out;
}

// Of `run` and `events`. Roles have principals and variables of their own, which are looked at when their sessions begin.
ScenarioPack pack_of_scenario(json::Node root, Body body) {
  ScenarioPack out;
  const Filler filler(root["defaults"]);
  if (body == Body::Events) {
    out.workflow = workflow_of(root, filler, true);
    return out;
  }
  out.options.environment = variables_of(root["environment"]);
  out.options.without_principal = !root["principal"];
  out.pack = pack_of(root, filler, true);
  return out;
}

class CaseJudge {
 public:
  CaseJudge(json::Node scenario, json::Node entry) : entry_(entry), source_(pack_of_case(scenario, entry)) {}

  Judged judge(std::size_t number) {
    if (source_.workflow) compile_all();
    else take(compile(source_.pack, source_.options));
    Judged out{number, place_of(entry_), true, {}, {}, text_in(entry_, "why")};
    compare(out);
    return out;
  }

 private:
  void take(const Compiled& compiled) {
    findings_.insert(findings_.end(), compiled.findings.begin(), compiled.findings.end());
    if (!compiled.plan) return;
    Analysis analysis = analyse(*compiled.plan);
    for (Finding& finding : analysis.findings)
      (finding.diagnostic.code == Code::SUPPRESSION_UNUSED ? findings_ : graph_).push_back(std::move(finding));
  }

  void compile_all() {
    const CompiledWorkflow compiled = compile_workflow(*source_.workflow, source_.options);
    findings_ = compiled.findings;
    if (!compiled.plan) return;
    for (const WorkflowRole& role : compiled.plan->roles)
      if (role.plan) {
        Analysis analysis = analyse(*role.plan);
        graph_.insert(graph_.end(), analysis.findings.begin(), analysis.findings.end());
      }
    // A remark on the whole is one of the graph too.
    for (const Finding& finding : findings_)
      if (finding.diagnostic.code == Code::resource_unused) graph_.push_back(finding);
  }

  void differ(Judged& out, std::string expected, std::string got) {
    out.passed = false;
    out.expected.append(out.expected.empty() ? "" : "; ").append(expected);
    out.got.append(out.got.empty() ? "" : "; ").append(got);
  }

  void compare(Judged& out) {
    const std::string code = text_in(entry_, "code");
    std::set<std::string> errors, all;
    for (const Finding& finding : findings_) {
      all.emplace(name_of_code(finding));
      if (finding.diagnostic.severity == Severity::Error) errors.emplace(name_of_code(finding));
    }
    for (const Finding& finding : graph_) all.insert("graph:" + std::string(name_of_code(finding)));
    if (code == "OK") {
      if (!errors.empty()) differ(out, "no error", listed(errors));
    } else if (!all.contains(code)) {
      differ(out, code, listed(all));
    } else if (const std::string severity = text_in(entry_, "severity"); !severity.empty()) {
      const bool of_graph = code.starts_with("graph:");
      const std::string_view name = of_graph ? std::string_view(code).substr(6) : std::string_view(code);
      const auto& list = of_graph ? graph_ : findings_;
      const auto found = std::ranges::find_if(list, [&](const Finding& finding) {
        return name_of_code(finding) == name && severity_name(finding.diagnostic.severity) == severity;
      });
      if (found == list.end()) differ(out, code + " as " + severity, "another severity");
    }
    if (entry_["codes"]) {
      const std::vector<std::string> wanted = texts_in(entry_, "codes");
      if (errors != std::set<std::string>(wanted.begin(), wanted.end()))
        differ(out, "exactly the errors " + listed({wanted.begin(), wanted.end()}), listed(errors));
    }
  }

  const json::Node entry_;
  const ScenarioPack source_;
  std::vector<Finding> findings_, graph_;
};

// A file as a scenario: its document, which body it has, and what is wrong with it.
struct Read {
  Parsed parsed;
  std::string name;
  Body body = Body::None;
  std::vector<Finding> findings;
};

Read read_scenario(const SourceFile& file, std::string_view stem) {
  Read out;
  Findings findings;
  out.parsed = parse_file(findings, file);
  if (!out.parsed.document) {
    out.findings = findings.take();
    return out;
  }
  const json::Node root = out.parsed.document->root();
  check_shape(findings, root, kScenario, "scenario");
  out.name = text_in(root, "scenario");
  if (!stem.empty() && !out.name.empty() && out.name != stem)
    findings.add(Code::SCENARIO_FILE, root["scenario"],
                 {{"problem", "is called `" + out.name + "`, and its file `" + std::string(stem) + "`"}});
  const std::array bodies = {std::pair{"cases", Body::Cases}, std::pair{"run", Body::Run},
                             std::pair{"events", Body::Events}};
  std::size_t count = 0;
  for (const auto& [name, body] : bodies)
    if (root[name]) {
      out.body = body;
      ++count;
    }
  if (count != 1) findings.add(Code::SCENARIO_FILE, root, {{"problem", "has " + std::to_string(count) + " bodies"}});
  out.findings = findings.take();
  return out;
}

}  // namespace

bool ScenarioReport::passed() const { return is_readable() && std::ranges::all_of(entries, &Judged::passed); }

ScenarioReport judge_scenario(const SourceFile& file, std::string_view stem) {
  Read read = read_scenario(file, stem);
  ScenarioReport out{read.name, read.body, std::move(read.findings), {}};
  if (!out.is_readable() || out.body != Body::Cases) return out;
  const json::Node root = read.parsed.root();
  std::size_t number = 0;
  for (const json::Node entry : root["cases"].elements()) out.entries.push_back(CaseJudge(root, entry).judge(++number));
  return out;
}

std::vector<ScenarioPack> scenario_packs(const SourceFile& file) {
  const Read read = read_scenario(file, {});
  std::vector<ScenarioPack> out;
  if (has_errors(read.findings)) return out;
  const json::Node root = read.parsed.root();
  if (read.body != Body::Cases) out.push_back(pack_of_scenario(root, read.body));
  for (const json::Node entry : root["cases"].elements()) out.push_back(pack_of_case(root, entry));
  return out;
}

Judged not_compiled(const CompiledScenario& compiled) {
  Judged out{0, place_of(compiled.document->root()), false, "a pack that compiles", {}, {}};
  for (const Finding& finding : compiled.findings)
    if (finding.diagnostic.severity == Severity::Error)
      out.got.append(out.got.empty() ? "" : "; ")
          .append(std::string(info(finding.diagnostic.code).name) + " in " + finding.file + ": " +
                  finding.diagnostic.message);
  return out;
}

CompiledScenario compile_scenario(const SourceFile& file, std::string_view stem) {
  Read read = read_scenario(file, stem);
  CompiledScenario out;
  out.scenario = read.name;
  out.body = read.body;
  out.findings = std::move(read.findings);
  out.is_readable = !has_errors(out.findings);
  if (!out.is_readable) return out;
  out.document = std::make_shared<const json::Document>(std::move(*read.parsed.document));
  if (read.body == Body::Cases) return out;
  out.source = pack_of_scenario(out.document->root(), read.body);
  if (out.source.workflow) {
    CompiledWorkflow compiled = compile_workflow(*out.source.workflow, out.source.options);
    out.workflow = std::move(compiled.plan);
    std::ranges::move(compiled.findings, std::back_inserter(out.findings));
  } else {
    Compiled compiled = compile(out.source.pack, out.source.options);
    out.plan = std::move(compiled.plan);
    std::ranges::move(compiled.findings, std::back_inserter(out.findings));
  }
  return out;
}

}  // namespace baton::contract
