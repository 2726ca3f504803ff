// SPDX-License-Identifier: Apache-2.0
// The compiler: {tool}.yaml.
#include <algorithm>
#include <array>
#include <set>

#include "contract/compiler.h"
#include "contract/facts.h"
#include "contract/reading.h"
#include "contract/shapes.h"
#include "json/parse.h"

namespace baton::contract {
namespace {

// The first names of paths into what goes to the model and comes from it.
constexpr std::array<std::string_view, 8> kBoundaryNames = {"model",  "messages",   "tools",   "tool_choice",
                                                            "system", "tool_calls", "content", "finish_reason"};

std::string first_name(const json::Path& path) {
  if (path.steps().empty()) return {};
  const auto* name = std::get_if<std::string>(&path.steps().front());
  return name == nullptr ? std::string() : *name;
}

// Providers have their own words for the same end.
std::string normal_finish_reason(std::string reason) {
  if (reason == "tool_use") return "tool_calls";
  if (reason == "end_turn") return "stop";
  if (reason == "max_tokens") return "length";
  return reason;
}

class ToolReader {
 public:
  ToolReader(Compiler& compiler, ToolId id)
      : compiler_(compiler),
        findings_(compiler.findings),
        tool_(compiler.plan.tools[id]),
        root_(compiler.contracts[id].root()),
        id_(id) {
    findings_.in(compiler.contracts[id].file);
  }

  void read() {
    tool_.side_effect = word_in<SideEffect>(root_, "side_effect", kSideEffectNames).value_or(SideEffect::Read);
    tool_.evidence = word_in<Evidence>(root_, "evidence_class", kEvidenceNames).value_or(Evidence::LocalTransaction);
    tool_.commit = word_in<Commit>(root_, "commit_requirement", kCommitNames).value_or(Commit::Acknowledged);
    tool_.total_ms = whole_in(root_["timeouts"], "total_ms").value_or(0);
    tool_.gate = word_in<Gate>(root_, "gate", kGateNames);
    tool_.passes_gate = tool_.gate ? *tool_.gate == Gate::Allow
                                   : compiler_.plan.risk_allows[static_cast<std::size_t>(tool_.side_effect)];
    read_risk();
    read_retries();
    read_allowed_errors();
    read_golden();
    read_transitions();
    read_preconditions();
    read_forbids();
    read_arguments();
    tool_.input_assertions = assertions("input_invariants");
    tool_.output_assertions = assertions("output_invariants");
    tool_.execution_constraints = invariants_in(findings_, root_["execution_constraints"], "arguments");
    read_response_format();
    read_policy();
    read_binds();
    if (root_["checkpoint"].is_object()) read_checkpoint();
    if (root_["command_path"]) tool_.command_path = path_in(findings_, root_, "command_path");
    warn_of_moved();
  }

 private:
  void read_risk() {
    const json::Node effect = root_["side_effect"];
    if (!effect || !is_high_risk(tool_.side_effect)) return;
    const std::string_view name = name_of(tool_.side_effect);
    if (tool_.evidence == Evidence::AckOnly)
      findings_.add(Code::ACK_ONLY_ON_HIGH_RISK, root_["evidence_class"], {{"effect", name}});
    if (tool_.commit == Commit::None)
      findings_.add(Code::COMMIT_NONE_ON_HIGH_RISK, root_["commit_requirement"], {{"effect", name}});
    if (whole_in(root_["retries"], "max_attempts").value_or(1) > 1)
      findings_.add(Code::RETRY_ON_HIGH_RISK, root_["retries"]["max_attempts"], {{"effect", name}});
  }

  void read_retries() {
    tool_.retries.max_attempts = whole_in(root_["retries"], "max_attempts").value_or(1);
    tool_.retries.retry_on = texts_in(root_["retries"], "retry_on");
    const json::Node on_429 = root_["rate_limits"]["on_429"];
    tool_.retries.respect_retry_after = flag_in(on_429, "respect_retry_after", true);
    tool_.retries.max_sleep_seconds = number_in(on_429, "max_sleep_seconds").value_or(json::Decimal());
  }

  void read_allowed_errors() {
    for (const json::Node entry : root_["allowed_errors"].elements()) {
      AllowedError error;
      if (entry.is_string()) {
        error.code = entry.string();
      } else if (entry.is_object()) {
        if (!entry["code"] && !entry["class"] && !entry["http_status"] && !entry["message_regex"])
          findings_.add(Code::ALLOWED_ERROR_EMPTY, entry);
        if (entry["code"].is_string()) error.code = entry["code"].string();
        if (entry["class"].is_string()) error.error_class = entry["class"].string();
        error.http_status = whole_in(entry, "http_status");
        error.message = regex_at(findings_, entry["message_regex"]);
      } else {
        continue;
      }
      tool_.allowed_errors.push_back(std::move(error));
    }
  }

  // A file under golden/, by a name that leads nowhere else.
  bool is_golden_name(std::string_view name) {
    return name.starts_with("golden/") && name.size() > 7 && name.find("..") == std::string_view::npos &&
           name.find('\\') == std::string_view::npos;
  }

  void read_golden() {
    std::set<std::string> ids;
    for (const json::Node entry : root_["golden_cases"].elements()) {
      if (!entry.is_object()) continue;
      Golden golden{text_in(entry, "id"), text_in(entry, "input_ref"), json::Value::copy(entry), place_of(entry).line};
      if (!golden.id.empty() && !ids.insert(golden.id).second)
        findings_.add(Code::GOLDEN_ID_DUPLICATE, entry["id"], {{"id", golden.id}});
      const json::Node ref = entry["input_ref"];
      if (ref.is_string()) {
        const bool named = is_golden_name(golden.input_ref);
        if (!named || !compiler_.source.golden.contains(golden.input_ref))
          findings_.add(
              Code::GOLDEN_REF_MISSING, ref,
              {{"file", golden.input_ref}, {"problem", named ? "is not there" : "is not a file under `golden/`"}});
        else read_golden_file(golden.input_ref, compiler_.source.golden.at(golden.input_ref));
      }
      check_golden_names(entry);
      if (const std::string_view problem = golden_problem(entry); !problem.empty())
        findings_.add(Code::GOLDEN_EXPECTATION, entry, {{"problem", problem}});
      tool_.golden.push_back(std::move(golden));
    }
  }

  void read_golden_file(const std::string& name, const std::string& text) {
    const std::string contract = findings_.file();
    const Parsed parsed = parse_file(findings_, {name, text, true});
    if (parsed.document) {
      check_shape(findings_, parsed.document->root(), kGoldenFileShape, "case");
      check_golden_names(parsed.document->root());
    }
    findings_.in(contract);
  }

  // A case about a phase, a slot or a tool that is not there would show nothing. Warnings: no decision depends on cases.
  void check_golden_names(json::Node entry) {
    const auto warn = [&](Code code, json::Node at, std::initializer_list<Argument> arguments) {
      findings_.add(code, at, arguments).diagnostic.severity = Severity::Warning;
    };
    if (const json::Node phase = entry["phase"]; phase.is_string() && !compiler_.phase_ids.contains(phase.string()))
      warn(Code::PHASE_UNKNOWN, phase, {{"phase", phase.string()}});
    for (const json::Member slot : entry["bindings"].members())
      if (!compiler_.slot_ids.contains(slot.name())) warn(Code::REF_UNKNOWN_BINDING, slot.key, {{"slot", slot.name()}});
    for (const json::Node call : entry["history"].elements())
      if (const std::string tool = text_in(call, "tool"); !tool.empty() && !compiler_.tool_ids.contains(tool))
        warn(Code::GOLDEN_EXPECTATION, call["tool"],
             {{"problem", "has a call of `" + tool + "` in its history, which is no tool of the pack"}});
  }

  static std::string_view golden_problem(json::Node entry) {
    if (!entry["input_ref"]) {
      if (entry["expect_ok"] || entry["expected_error"]) return "`expect_ok` and `expected_error` go with `input_ref`";
      return entry["expect"] ? std::string_view() : "has neither `input_ref` nor `expect`";
    }
    if (entry["expect"] || entry["arguments"]) return "has `input_ref` beside a case of its own";
    if (!entry["expect_ok"]) return "has `input_ref` without `expect_ok`";
    const bool ok = entry["expect_ok"].is_true();
    if (!ok && !entry["expected_error"]) return "expects a refusal without `expected_error`";
    if (ok && entry["expected_error"]) return "expects an error of a call that goes ahead";
    return {};
  }

  void read_transitions() {
    const Plan& plan = compiler_.plan;
    tool_.valid_in = PhaseSet::all(plan.phases.size());
    const json::Node transitions = root_["transitions"];
    if (!transitions.is_object()) return;
    if (!compiler_.has_phases) {
      if (!compiler_.phases_unread) findings_.add(Code::PHASES_NOT_DECLARED, transitions, {});
      return;
    }
    if (const json::Node list = transitions["valid_in_phases"]; list.is_array() && list.size() != 0) {
      tool_.names_phases = true;
      tool_.valid_in = PhaseSet(plan.phases.size());
      for (const json::Node name : list.elements())
        if (const auto phase = compiler_.need_phase(name)) tool_.valid_in.add(*phase);
    }
    tool_.advances_to = compiler_.need_phase(transitions["advances_to"]);
    if (!tool_.advances_to || tool_.valid_in.empty()) return;
    bool legal = false;
    tool_.valid_in.each([&](PhaseId phase) { legal = legal || plan.is_legal(phase, *tool_.advances_to); });
    if (!legal)
      findings_.add(Code::TRANSITION_ILLEGAL, transitions["advances_to"],
                    {{"tool", tool_.name}, {"phase", plan.phases[*tool_.advances_to].name}});
  }

  void read_preconditions() {
    for (const json::Node entry : root_["preconditions"].elements()) {
      if (!entry.is_object()) continue;
      const json::Node prior = entry["requires_prior_tool"], steps = entry["requires_step_count"];
      std::string_view problem;
      if (bool(prior) == bool(steps)) problem = "needs exactly one of `requires_prior_tool` and `requires_step_count`";
      else if (steps && (entry["with_output"] || entry["resource"]))
        problem = "has `with_output` or `resource` without `requires_prior_tool`";
      if (!problem.empty()) {
        findings_.add(Code::PRECONDITION_SHAPE, entry, {{"problem", problem}});
        invariants_in(findings_, entry, "with_output");  // for what is wrong in them
        continue;
      }
      Precondition out;
      if (prior) {
        out.prior = compiler_.need_tool(prior, Code::PRECONDITION_UNKNOWN_TOOL);
        out.with_output = invariants_in(findings_, entry, "with_output");
        if (const json::Node resource = entry["resource"]; resource.is_object()) {
          out.resource = path_in(findings_, resource, "path");
          out.prior_resource = resource["prior_path"] ? path_in(findings_, resource, "prior_path") : out.resource;
          compiler_.warn_of_moved(tool_.name, resource["path"]);
          if (out.prior) compiler_.warn_of_moved(compiler_.plan.tools[*out.prior].name, resource["prior_path"]);
        }
        if (!out.prior) continue;
      } else {
        out.steps = whole_in(steps, "gte").value_or(0);
      }
      tool_.preconditions.push_back(std::move(out));
    }
  }

  void read_forbids() {
    for (const json::Node entry : root_["forbids_after"].elements()) {
      const auto tool = compiler_.need_tool(entry.is_object() ? entry["tool"] : entry, Code::FORBIDS_UNKNOWN_TOOL);
      if (!entry.is_object()) {
        if (tool) tool_.forbids.push_back(*tool);
        continue;
      }
      auto per = path_in(findings_, entry, "per");
      auto target = entry["target_per"] ? path_in(findings_, entry, "target_per") : per;
      compiler_.warn_of_moved(tool_.name, entry["per"]);
      if (tool) compiler_.warn_of_moved(compiler_.plan.tools[*tool].name, entry["target_per"]);
      if (!tool || !per || !target) continue;
      tool_.forbids_per.push_back({*tool, std::move(*per), std::move(*target), {}, {}});
      compiler_.forbids_at.push_back({id_, tool_.forbids_per.size() - 1, entry});
    }
    std::ranges::sort(tool_.forbids);
    tool_.forbids.erase(std::unique(tool_.forbids.begin(), tool_.forbids.end()), tool_.forbids.end());
  }

  void read_arguments() {
    for (const json::Node entry : root_["argument_value_invariants"].elements()) {
      if (!entry.is_object()) continue;
      const json::Node ref = entry["ref"], tolerance = entry["tolerance"];
      auto invariant = invariant_at(findings_, entry, bool(ref));
      const auto slot = compiler_.need_slot(ref);
      if (tolerance && !ref) findings_.add(Code::TOLERANCE_WITHOUT_REF, tolerance);
      const auto fraction = number_in(entry, "tolerance");
      if (fraction && (*fraction < json::Decimal(0) || *fraction >= json::Decimal(1)))
        findings_.add(Code::TOLERANCE_RANGE, tolerance, {{"value", tolerance.number_text()}});
      if (!invariant) continue;
      invariant->ref = slot;
      if (ref) invariant->tolerance = fraction;
      tool_.arguments.push_back(std::move(*invariant));
    }
  }

  std::vector<Invariant> assertions(std::string_view list) {
    std::vector<Invariant> out;
    for (const json::Node entry : root_["assertions"][list].elements()) {
      auto invariant = invariant_at(findings_, entry);
      if (!invariant) continue;
      const std::string name = first_name(invariant->at.path);
      const bool boundary = std::ranges::find(kBoundaryNames, name) != kBoundaryNames.end();
      invariant->scope = boundary ? Scope::Boundary : Scope::Call;
      if (entry["scope"].is_string()) {
        invariant->scope = entry["scope"].is_text("boundary") ? Scope::Boundary : Scope::Call;
      } else if (const auto schema = compiler_.schemas.find(tool_.name);
                 boundary && list == "input_invariants" && schema != compiler_.schemas.end() && schema->second.schema &&
                 schema->second.schema["properties"][name]) {
        findings_.add(Code::assertion_scope_ambiguous, entry["path"], {{"name", name}});
      }
      out.push_back(std::move(*invariant));
    }
    return out;
  }

  void read_response_format() {
    const json::Node format = root_["response_format_invariants"];
    if (!format.is_object()) return;
    ResponseFormat out;
    if (format["finish_reason"].is_string())
      out.finish_reason = normal_finish_reason(std::string(format["finish_reason"].string()));
    out.content_empty = format["content_when_tool_calls"].is_text("empty");
    if (format["tool_calls_present"].is_boolean()) out.tool_calls_present = format["tool_calls_present"].boolean();
    tool_.response_format = std::move(out);
  }

  void read_policy() {
    for (const auto& [list, into] : {std::pair{"allow", &tool_.allow}, std::pair{"deny", &tool_.deny}})
      for (const json::Node entry : root_["policy"][list].elements())
        if (auto matcher = invariant_at(findings_, entry["principal"])) into->push_back(std::move(*matcher));
  }

  void read_binds() {
    for (const json::Node entry : root_["binds"].elements()) {
      const auto slot = compiler_.slot_ids.find(text_in(entry, "name"));
      auto path = path_in(findings_, entry, "path");
      if (slot == compiler_.slot_ids.end() || !path) continue;
      tool_.binds.push_back(
          {slot->second, entry["source"].is_text("output") ? Source::Output : Source::Arguments, std::move(*path)});
    }
  }

  void read_checkpoint() {
    tool_.checkpoint = compiler_.checkpoint_at(root_["checkpoint"]);
    if (tool_.checkpoint->allow_on_timeout && is_high_risk(tool_.side_effect))
      findings_.add(Code::CHECKPOINT_TIMEOUT_ALLOW_HIGH_RISK, root_["checkpoint"]["on_timeout"],
                    {{"tool", tool_.name}, {"effect", name_of(tool_.side_effect)}});
  }

  void warn_of_moved() {
    for (const json::Node list : {root_["argument_value_invariants"], root_["assertions"]["input_invariants"],
                                  root_["execution_constraints"]["arguments"], root_["checkpoint"]["when"],
                                  root_["checkpoint"]["context"], root_["binds"]})
      for (const json::Node entry : list.elements())
        if (!entry["source"].is_text("output")) compiler_.warn_of_moved(tool_.name, entry["path"]);
    compiler_.warn_of_moved(tool_.name, root_["command_path"]);
  }

  Compiler& compiler_;
  Findings& findings_;
  Tool& tool_;
  const json::Node root_;
  const ToolId id_;
};

// --- types of entities

std::string_view scalar_type(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::String: return "string";
    case json::Kind::Number: return "number";
    case json::Kind::Boolean: return "boolean";
    default: return "";
  }
}

// The type of a value that passes the test; empty: it may have several, or is no single value.
std::string_view type_by(const Test& test) {
  switch (test.op) {
    case Op::Type: {
      const std::string& type = test.value.string();
      return type == "array" || type == "object" ? "" : std::string_view(type);
    }
    case Op::Equals: return scalar_type(test.value);
    case Op::OneOf: {
      const auto& list = test.value.elements();
      const std::string_view type = list.empty() ? "" : scalar_type(list.front());
      const bool same = std::ranges::all_of(list, [&](const json::Value& one) { return scalar_type(one) == type; });
      return same ? type : "";
    }
    case Op::Gte:
    case Op::Lte: return "number";
    case Op::Regex:
    case Op::ExactMatch:
    case Op::EqualsEnv: return "string";
    default: return "";
  }
}

// The one type that a schema says.
std::string type_in_schema(const json::Value* schema, const json::Path& path) {
  for (const json::Path::Step& step : path.steps()) {
    const auto* name = std::get_if<std::string>(&step);
    const json::Value* properties = name == nullptr || schema == nullptr ? nullptr : schema->find("properties");
    schema = properties == nullptr ? nullptr : properties->find(*name);
  }
  const json::Value* type = schema == nullptr ? nullptr : schema->find("type");
  constexpr std::array<std::string_view, 4> kScalars = {"string", "number", "integer", "boolean"};
  if (type == nullptr || !type->is_string() || std::ranges::find(kScalars, type->string()) == kScalars.end()) return {};
  return type->string();
}

// What the schema, or else an invariant, makes the value at the path; empty: nothing does.
std::string fixed_type(const Tool& tool, const json::Path& path) {
  if (std::string type = type_in_schema(tool.schema.get(), path); !type.empty()) return type;
  for (const Invariant& invariant : tool.arguments)
    if (invariant.at.path == path)
      for (const Test& test : invariant.tests)
        if (const std::string_view type = type_by(test); !type.empty()) return std::string(type);
  return {};
}

}  // namespace

// `"42"` and `42` are two entities: where either would do, an agent could be about the same one twice.
void Compiler::fix_types() {
  for (const ForbidAt& at : forbids_at) {
    EntityForbid& one = plan.tools[at.tool].forbids_per[at.index];
    findings.in(contracts[at.tool].file);
    const auto fix = [&](std::string& type, ToolId tool, const PathAt& path, std::string_view member) {
      type = fixed_type(plan.tools[tool], path.path);
      if (type.empty())
        findings.add(Code::PER_TYPE_OPEN, at.entry[member] ? at.entry[member] : at.entry["per"],
                     {{"problem", "nothing fixes the type of " + path.text + " in `" + plan.tools[tool].name +
                                      "`: \"42\" and 42 would be two entities"},
                      {"remedy", "add an invariant with `type` for the path, or the type to the tool's schema"}});
    };
    fix(one.type, at.tool, one.per, "per");
    fix(one.target_type, one.tool, one.target_per, "target_per");
    const auto kind = [](const std::string& type) { return type == "integer" ? std::string("number") : type; };
    if (!one.type.empty() && !one.target_type.empty() && kind(one.type) != kind(one.target_type))
      findings.add(
          Code::PER_TYPE_OPEN, at.entry["per"],
          {{"problem", one.per.text + " is a " + one.type + ", and " + one.target_per.text + " of `" +
                           plan.tools[one.tool].name + "` is a " + one.target_type + ": they are never the same"},
           {"remedy", "name two paths of the same type"}});
  }
}

void Compiler::read_tool(ToolId id) { ToolReader(*this, id).read(); }

void Compiler::warn_of_moved(std::string_view tool, json::Node path) {
  if (!path.is_string()) return;
  const auto old = json::Path::compile(path.string());
  if (const auto now = old ? moved_path(tool, *old) : std::nullopt)
    findings.add(Code::FACT_PATH_MOVED, path, {{"path", path.string()}, {"now", *now}});
}

// In a tool's file and in the session's: the same.
Checkpoint Compiler::checkpoint_at(json::Node entry) {
  Checkpoint out;
  for (const json::Node condition : entry["when"].elements())
    if (auto invariant = invariant_at(findings, condition)) out.conditions.push_back(std::move(*invariant));
  out.match_all = entry["match"].is_text("all");
  out.side_effect = word_in<SideEffect>(entry, "when_side_effect", kSideEffectNames);
  out.timeout_seconds = number_in(entry, "timeout_seconds").value_or(json::Decimal());
  out.allow_on_timeout = entry["on_timeout"].is_text("allow");
  for (const json::Node shown : entry["context"].elements())
    if (auto at = path_in(findings, shown, "path")) {
      std::string label = text_in(shown, "label");
      if (label.empty()) label = at->text;
      out.context.push_back({std::move(label), std::move(*at)});
    }
  return out;
}

}  // namespace baton::contract
