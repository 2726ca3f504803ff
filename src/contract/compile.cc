// SPDX-License-Identifier: Apache-2.0
#include "contract/compile.h"

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "contract/compiler.h"
#include "contract/describe.h"
#include "contract/reading.h"
#include "contract/shapes.h"
#include "contract/tools_lock.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "yaml/yaml.h"

namespace baton::contract {

namespace {

std::string too_many_digits() { return "has more than " + std::to_string(limits::kNumberDigitsMax) + " digits"; }

}  // namespace

Parsed parse_file(Findings& findings, const SourceFile& file) {
  findings.in(file.name);
  if (file.is_json) {
    auto parsed = json::parse_owned(file.text);
    if (parsed) return {file.name, std::move(*parsed)};
    findings.add(
        report(Code::JSON_SYNTAX, place_at(file.text, parsed.error().offset), {{"what", parsed.error().what}}));
    return {file.name, std::nullopt};
  }
  yaml::Parsed parsed = yaml::parse(file.text);
  for (Diagnostic& diagnostic : parsed.diagnostics) findings.add(std::move(diagnostic));
  return {file.name, std::move(parsed.document)};
}

Parsed parse_rules(Findings& findings, const SourceFile& file) {
  Parsed parsed = parse_file(findings, file);
  if (!parsed.document) return parsed;
  if (const json::Node number = json::number_beyond_digits(parsed.document->root())) {
    findings.add(Code::YAML_NUMBER, number, {{"problem", too_many_digits()}});
    parsed.document.reset();
  }
  return parsed;
}

namespace {

// The stem of a file name: what `tool` must be.
std::string_view stem_of(std::string_view file) {
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  for (const std::string_view end : {".yaml", ".yml"})
    if (file.ends_with(end)) return file.substr(0, file.size() - end.size());
  return file;
}

}  // namespace

// --- files and names ----------------------------------------------------------------------------------------------------------

void Compiler::read_files() {
  if (source.session) {
    session = parse_rules(findings, *source.session);
    if (session.document) check_shape(findings, session.document->root(), kSessionShape, "session");
  }
  if (source.tools) {
    findings.in(source.tools->name);
    auto parsed = json::parse_owned(source.tools->text);
    tools.file = source.tools->name;
    if (!parsed)
      findings.add(report(Code::TOOLS_FILE, place_at(source.tools->text, parsed.error().offset),
                          {{"problem", parsed.error().what}}));
    else if (const json::Node number = json::number_beyond_digits(parsed->root()))
      findings.add(Code::TOOLS_FILE, number, {{"problem", "holds a number that " + too_many_digits()}});
    else {
      tools.document = std::move(*parsed);
      for (auto& [name, schema] : read_tool_definitions(findings, tools.document->root()))
        schemas.emplace(name, schema);
    }
  }
  if (source.tools_lock) {
    findings.in(source.tools_lock->name);
    LockRead read = read_tools_lock(source.tools_lock->text);
    if (!read.lock) findings.add(report(Code::TOOLS_LOCK, {}, {{"problem", read.problem}}));
    plan.tools_lock = std::move(read.lock);
  }
}

void Compiler::name_tools() {
  // In the order of their names, whatever the order of the files.
  std::map<std::string, Parsed> named;
  for (const SourceFile& file : source.contracts) {
    Parsed parsed = parse_rules(findings, file);
    if (!parsed.document) {
      unread.emplace(stem_of(file.name));
      continue;
    }
    check_shape(findings, parsed.document->root(), kToolShape, "contract");
    const std::string name = text_in(parsed.root(), "tool");
    if (name.empty()) {
      unread.emplace(stem_of(file.name));
      continue;
    }
    if (is_tool_name(name) && name != stem_of(file.name))
      findings.add(Code::TOOL_NAME_MISMATCH, parsed.root()["tool"], {{"tool", name}, {"file", file.name}});
    if (const auto there = named.find(name); there != named.end())
      findings.add(Code::TOOL_DUPLICATE, parsed.root()["tool"], {{"tool", name}, {"file", there->second.file}});
    else named.emplace(name, std::move(parsed));
  }
  for (auto& [name, parsed] : named) {
    tool_ids.emplace(name, static_cast<ToolId>(contracts.size()));
    Tool& tool = plan.tools.emplace_back();
    tool.name = name;
    tool.file = parsed.file;
    contracts.push_back(std::move(parsed));
  }
}

void Compiler::name_slots() {
  std::map<std::string, ToolId> slots;
  for (ToolId id = 0; id < contracts.size(); ++id) {
    findings.in(contracts[id].file);
    for (const json::Node bind : contracts[id].root()["binds"].elements()) {
      const std::string name = text_in(bind, "name");
      if (name.empty()) continue;
      if (const auto [there, is_new] = slots.emplace(name, id); !is_new)
        findings.add(Code::BIND_NAME_DUPLICATE, bind["name"],
                     {{"slot", name}, {"tool", plan.tools[there->second].name}});
    }
  }
  for (const auto& [name, binder] : slots) {
    slot_ids.emplace(name, static_cast<SlotId>(plan.slots.size()));
    plan.slots.push_back(name);
    binders.push_back(binder);
  }
}

std::optional<ToolId> Compiler::need_tool(json::Node at, Code code) {
  if (!at.is_string() || at.string().empty()) return std::nullopt;
  if (const auto found = tool_ids.find(at.string()); found != tool_ids.end()) return found->second;
  if (unread.contains(at.string())) return std::nullopt;
  findings.add(code, at, {{"tool", at.string()}});
  return std::nullopt;
}

std::optional<PhaseId> Compiler::need_phase(json::Node at) {
  if (!at.is_string() || at.string().empty()) return std::nullopt;
  if (const auto found = phase_ids.find(at.string()); found != phase_ids.end()) return found->second;
  if (phases_unread) return std::nullopt;
  findings.add(Code::PHASE_UNKNOWN, at, {{"phase", at.string()}});
  return std::nullopt;
}

std::optional<SlotId> Compiler::need_slot(json::Node at) {
  if (!at.is_string() || at.string().empty()) return std::nullopt;
  if (const auto found = slot_ids.find(at.string()); found != slot_ids.end()) return found->second;
  if (!unread.empty()) return std::nullopt;  // one of them may fill it
  findings.add(Code::REF_UNKNOWN_BINDING, at, {{"slot", at.string()}});
  return std::nullopt;
}

// --- what is known only of the whole --------------------------------------------------------------------------------------------

// Output of a tool that shows nothing by it cannot decide anything.
void Compiler::check_evidence() {
  const auto look = [&](const std::string& file, json::Node at, ToolId tool, std::string_view what) {
    const Evidence evidence = plan.tools[tool].evidence;
    if (evidence == Evidence::LocalTransaction) return;
    findings.in(file);
    Finding& finding = findings.add(Code::OUTPUT_NOT_EVIDENCE, at,
                                    {{"what", what}, {"tool", plan.tools[tool].name}, {"class", name_of(evidence)}});
    if (evidence == Evidence::Unverifiable) finding.diagnostic.severity = Severity::Warning;
  };
  for (ToolId id = 0; id < contracts.size(); ++id) {
    const json::Node root = contracts[id].root();
    for (const json::Node bind : root["binds"].elements())
      if (bind["source"].is_text("output")) look(contracts[id].file, bind["source"], id, "the slot's value");
    for (const json::Node entry : root["preconditions"].elements()) {
      const auto prior = tool_ids.find(text_in(entry, "requires_prior_tool"));
      if (prior != tool_ids.end() && entry["with_output"])
        look(contracts[id].file, entry["with_output"], prior->second, "`with_output`");
    }
  }
  for (const json::Node envelope : session.root()["envelopes"].elements())
    for (const json::Node stage : envelope["stages"].elements()) {
      const auto tool = tool_ids.find(text_in(stage, "tool"));
      if (tool != tool_ids.end() && stage["source"].is_text("output"))
        look(session.file, stage["source"], tool->second, "the stage's value");
    }
}

void Compiler::check_beginning() {
  plan.needs_principal = !plan.rules.empty();
  for (const Tool& tool : plan.tools)
    plan.needs_principal = plan.needs_principal || !tool.allow.empty() || !tool.deny.empty();
  const auto first_file = [&] {
    return source.session ? source.session->name : contracts.empty() ? std::string() : contracts[0].file;
  };
  if (options.without_principal && plan.needs_principal) {
    findings.in(first_file());
    findings.add(report(Code::PRINCIPAL_REQUIRED, {}));
  }
  for (ToolId id = 0; id < contracts.size(); ++id)
    if (!plan.tools[id].execution_constraints.empty() && options.unwrapped.contains(plan.tools[id].name)) {
      findings.in(contracts[id].file);
      findings.add(Code::EXECUTION_CONSTRAINT_UNWRAPPED, contracts[id].root()["execution_constraints"],
                   {{"tool", plan.tools[id].name}});
    }
  // Variables: every equals_env of the pack, in the order of the files.
  std::set<std::string> variables;
  const auto look = [&](const std::vector<Invariant>& invariants) {
    for (const Invariant& invariant : invariants)
      for (const Test& test : invariant.tests)
        if (test.op == Op::EqualsEnv) {
          const std::string& name = test.value.string();
          if (variables.insert(name).second && options.environment && !options.environment->contains(name))
            findings.add(report(Code::ENV_UNSET, {}, {{"variable", name}}));
        }
  };
  for (ToolId id = 0; id < contracts.size(); ++id) {
    findings.in(contracts[id].file);
    const Tool& tool = plan.tools[id];
    look(tool.input_assertions);
    look(tool.output_assertions);
    look(tool.execution_constraints);
    for (const Precondition& precondition : tool.preconditions) look(precondition.with_output);
  }
  plan.environment.assign(variables.begin(), variables.end());
}

void Compiler::check_servers() {
  if (!plan.tools_lock) return;
  for (ToolId id = 0; id < plan.tools.size(); ++id) {
    const std::string& name = plan.tools[id].name;
    std::vector<std::string> servers;
    for (const auto& [server, known] : plan.tools_lock->servers)
      if (known.tools.contains(name)) servers.push_back(server);
    if (servers.size() < 2) continue;
    findings.in(contracts[id].file);
    findings.add(Code::TOOL_OF_SEVERAL_SERVERS, contracts[id].root()["tool"],
                 {{"tool", name}, {"servers", join(servers, ", ")}, {"example", servers.front() + ":" + name}});
  }
}

// Which checks can fail for a tool at all, in the order in which they are made.
void Compiler::list_checks() {
  // From the session's lists to the tools: each list is walked once, however long it is.
  const auto distribute = [&](std::uint32_t index, bool all, const std::vector<ToolId>& tools,
                              std::vector<std::uint32_t> Tool::* into) {
    const auto give = [&](ToolId id) {
      std::vector<std::uint32_t>& list = plan.tools[id].*into;
      if (list.empty() || list.back() != index) list.push_back(index);
    };
    if (all)
      for (ToolId id = 0; id < plan.tools.size(); ++id) give(id);
    else
      for (const ToolId id : tools) give(id);
  };
  for (std::uint32_t i = 0; i < plan.label_gates.size(); ++i)
    distribute(i, plan.label_gates[i].all_tools, plan.label_gates[i].tools, &Tool::label_gates);
  for (std::uint32_t i = 0; i < plan.rules.size(); ++i)
    distribute(i, plan.rules[i].all_tools, plan.rules[i].tools, &Tool::rules);
  for (std::uint32_t i = 0; i < plan.aggregates.size(); ++i)
    distribute(i, plan.aggregates[i].all_tools, plan.aggregates[i].tools, &Tool::aggregates);
  for (std::uint32_t i = 0; i < plan.envelopes.size(); ++i) {
    std::vector<ToolId> tools;
    for (const Stage& stage : plan.envelopes[i].stages) tools.push_back(stage.tool);
    distribute(i, false, tools, &Tool::envelopes);
  }
  for (std::uint32_t i = 0; i < plan.checkpoints.size(); ++i) {
    const auto& tool = plan.checkpoints[i].tool;
    distribute(i, !tool, tool ? std::vector<ToolId>{*tool} : std::vector<ToolId>(), &Tool::checkpoints);
  }
  std::vector<bool> is_forbidden(plan.tools.size());
  for (const Tool& tool : plan.tools)
    for (const ToolId other : tool.forbids) is_forbidden[other] = true;
  for (Tool& tool : plan.tools) {
    if (!tool.forbids_per.empty()) is_forbidden[static_cast<std::size_t>(&tool - plan.tools.data())] = true;
    for (const EntityForbid& one : tool.forbids_per) is_forbidden[one.tool] = true;
  }

  for (ToolId id = 0; id < plan.tools.size(); ++id) {
    Tool& tool = plan.tools[id];
    const auto boundary = [](const Invariant& invariant) { return invariant.scope == Scope::Boundary; };
    const auto call = [](const Invariant& invariant) { return invariant.scope == Scope::Call; };
    const bool moves = !plan.phases.empty() && (tool.names_phases || tool.advances_to);
    const std::pair<Check, bool> all[] = {
        {Check::Labels, !tool.label_gates.empty()},
        {Check::Policy, plan.default_deny || !tool.rules.empty() || !tool.allow.empty() || !tool.deny.empty()},
        {Check::Gate, !tool.passes_gate},
        {Check::Phase, moves},
        {Check::Forbidden, is_forbidden[id]},
        {Check::Limits, true},  // a workflow's budgets are among them
        {Check::Loop, plan.limits.loop_threshold.has_value()},
        {Check::ResponseFormat, tool.response_format.has_value()},
        {Check::BoundaryAssertions,
         std::ranges::any_of(tool.input_assertions, boundary) || std::ranges::any_of(tool.output_assertions, boundary)},
        {Check::Preconditions, !tool.preconditions.empty()},
        {Check::Arguments,
         std::ranges::any_of(tool.arguments, [](const Invariant& one) { return !one.tests.empty(); })},
        {Check::InputAssertions, std::ranges::any_of(tool.input_assertions, call)},
        {Check::ExecutionConstraints, !tool.execution_constraints.empty()},
        {Check::Refs, std::ranges::any_of(tool.arguments, [](const Invariant& one) { return one.ref.has_value(); })},
        {Check::Aggregates, !tool.aggregates.empty()},
        {Check::Envelopes, !tool.envelopes.empty()},
        {Check::Resources, !plan.resources.empty()},  // shared ones, when the session is one of a workflow
        {Check::Checkpoints, tool.checkpoint.has_value() || !tool.checkpoints.empty()}};
    for (const auto& [check, applies] : all)
      if (applies) tool.checks.push_back(check);
  }
}

// --- all of it ------------------------------------------------------------------------------------------------------------------

Compiled compile(const PackSource& source, const CompileOptions& options) {
  Compiler compiler{source, options};
  compiler.read_files();
  compiler.name_tools();
  compiler.name_slots();
  compiler.read_session();
  for (ToolId id = 0; id < compiler.contracts.size(); ++id) {
    compiler.read_tool(id);
    compiler.derive_invariants(id);
  }
  compiler.fix_types();
  compiler.read_rules_over_tools();
  compiler.check_evidence();
  compiler.check_beginning();
  compiler.check_servers();
  compiler.list_checks();

  Compiled out;
  out.findings = compiler.findings.take();
  if (options.strict) make_strict(out.findings);
  sort(out.findings);
  if (has_errors(out.findings)) return out;
  compiler.plan.hash = hash_of(compiler.plan);
  out.plan = std::make_shared<const Plan>(std::move(compiler.plan));
  return out;
}

}  // namespace baton::contract
