// SPDX-License-Identifier: Apache-2.0
// The compiler: session.yaml.
#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "contract/compiler.h"
#include "contract/graph.h"
#include "contract/reading.h"
#include "contract/shapes.h"

namespace baton::contract {
namespace {

constexpr std::array<std::string_view, 2> kProviders = {"anthropic", "openai"};

// --- phases -------------------------------------------------------------------------------------------------------------------

class PhaseReader {
 public:
  explicit PhaseReader(Compiler& compiler)
      : compiler_(compiler), findings_(compiler.findings), plan_(compiler.plan), root_(compiler.session.root()) {}

  void read() {
    name_phases();
    read_transitions();
    if (compiler_.has_phases) check();
  }

 private:
  void name_phases() {
    const json::Node list = root_["phases"];
    compiler_.phases_unread = compiler_.source.session && (!root_ || (list && !list.is_array()));
    if (!list.is_array()) return;
    compiler_.has_phases = true;
    for (const json::Node entry : list.elements()) {
      const std::string name = text_in(entry, "name");
      if (name.empty()) continue;
      const bool initial = flag_in(entry, "initial", false), terminal = flag_in(entry, "terminal", false);
      if (initial) ++initials_;
      const auto [there, is_new] = compiler_.phase_ids.emplace(name, static_cast<PhaseId>(plan_.phases.size()));
      if (!is_new) {
        findings_.add(Code::PHASE_DUPLICATE, entry["name"], {{"phase", name}});
        Phase& first = plan_.phases[there->second];
        first.initial = first.initial || initial;
        first.terminal = first.terminal || terminal;
        continue;
      }
      if (initial && terminal) findings_.add(Code::PHASE_INITIAL_TERMINAL, entry["name"], {{"phase", name}});
      plan_.phases.push_back({name, initial, terminal});
      places_.push_back(entry["name"]);
    }
    for (Phase& phase : plan_.phases) phase.next = PhaseSet(plan_.phases.size());
  }

  void read_transitions() {
    for (const json::Member member : root_["transitions"].members()) {
      const auto from = compiler_.need_phase(member.key);
      for (const json::Node to : member.value.elements())
        if (const auto phase = compiler_.need_phase(to); phase && from) plan_.phases[*from].next.add(*phase);
      if (from && plan_.phases[*from].terminal && !plan_.phases[*from].next.empty())
        findings_.add(Code::PHASE_TERMINAL_LEAVES, member.key, {{"phase", member.name()}});
    }
  }

  void check() {
    if (initials_ != 1)
      findings_.add(Code::PHASE_INITIAL_COUNT, root_["phases"], {{"count", std::to_string(initials_)}});
    const bool has_terminal = std::ranges::any_of(plan_.phases, &Phase::terminal);
    if (!has_terminal) findings_.add(Code::PHASE_TERMINAL_MISSING, root_["phases"]);
    for (PhaseId phase = 0; phase < plan_.phases.size(); ++phase)
      if (plan_.phases[phase].initial && !plan_.initial) plan_.initial = phase;
    if (initials_ == 1 && has_terminal) check_ways();
  }

  // Forwards from the beginning, and backwards from the ends.
  void check_ways() {
    const std::size_t count = plan_.phases.size();
    PhaseSet reached(count), leads_out(count);
    std::vector<PhaseId> open = {*plan_.initial};
    reached.add(*plan_.initial);
    while (!open.empty()) {
      const PhaseId phase = open.back();
      open.pop_back();
      plan_.phases[phase].next.each([&](PhaseId next) {
        if (reached.add(next)) open.push_back(next);
      });
    }
    std::vector<std::vector<PhaseId>> before(count);
    for (PhaseId phase = 0; phase < count; ++phase) {
      plan_.phases[phase].next.each([&](PhaseId next) { before[next].push_back(phase); });
      if (plan_.phases[phase].terminal && leads_out.add(phase)) open.push_back(phase);
    }
    while (!open.empty()) {
      const PhaseId phase = open.back();
      open.pop_back();
      for (const PhaseId from : before[phase])
        if (leads_out.add(from)) open.push_back(from);
    }
    const bool ends = leads_out.has(*plan_.initial);
    if (!ends)
      findings_.add(Code::PHASE_NO_TERMINAL_PATH, root_["phases"], {{"phase", plan_.phases[*plan_.initial].name}});
    for (PhaseId phase = 0; phase < count; ++phase) {
      const std::string& name = plan_.phases[phase].name;
      if (!reached.has(phase)) {
        Finding& finding = findings_.add(Code::PHASE_UNREACHABLE, places_[phase], {{"phase", name}});
        if (plan_.phases[phase].terminal) finding.diagnostic.severity = Severity::Warning;
      } else if (ends && !leads_out.has(phase)) {
        findings_.add(Code::PHASE_CYCLE_NO_EXIT, places_[phase], {{"phase", name}});
      }
    }
  }

  Compiler& compiler_;
  Findings& findings_;
  Plan& plan_;
  const json::Node root_;
  std::vector<json::Node> places_;  // by PhaseId
  std::size_t initials_ = 0;
};

// --- providers ----------------------------------------------------------------------------------------------------------------

bool is_word_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.' ||
         c == ':' || c == '/' || c == '@';
}

std::optional<std::vector<std::string>> dotted(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(text, is_word_character)) return std::nullopt;
  std::vector<std::string> out;
  for (const std::string_view part : split(text, '.')) {
    if (part.empty()) return std::nullopt;
    out.emplace_back(part);
  }
  return out;
}

// term { " + " term }
std::optional<Provider::Pattern> provider_pattern(std::string_view text) {
  Provider::Pattern out;
  while (true) {
    const auto plus = text.find(" + ");
    const std::string_view term = text.substr(0, plus);
    const auto equals = term.find('=');
    auto path = dotted(term.substr(0, equals));
    if (!path) return std::nullopt;
    ProviderTerm one{std::move(*path), std::string(term.substr(0, equals)), std::nullopt};
    if (equals != std::string_view::npos) {
      const std::string_view literal = term.substr(equals + 1);
      if (literal.empty() || literal.find_first_of(" =+") != std::string_view::npos) return std::nullopt;
      one.equals = literal;
    }
    out.push_back(std::move(one));
    if (plus == std::string_view::npos) return out;
    text.remove_prefix(plus + 3);
  }
}

// --- what refers to tools -------------------------------------------------------------------------------------------------------

class RuleReader {
 public:
  explicit RuleReader(Compiler& compiler)
      : compiler_(compiler), findings_(compiler.findings), plan_(compiler.plan), root_(compiler.session.root()) {}

  void read() {
    findings_.in(compiler_.session.file);
    read_calls_per_tool();
    read_policy();
    for (const json::Node entry : root_["aggregates"].elements())
      if (entry.is_object()) read_aggregate(entry);
    for (const json::Node entry : root_["envelopes"].elements())
      if (entry.is_object()) read_envelope(entry);
    for (const json::Node entry : root_["checkpoints"].elements())
      if (entry.is_object()) read_checkpoint(entry);
    for (const json::Member member : root_["resources"].members())
      warn_of_moved(member.value["extract_from"]["path"], std::nullopt);
  }

 private:
  void read_calls_per_tool() {
    for (const json::Member member : root_["session_limits"]["max_calls_per_tool"].members()) {
      const auto tool = compiler_.need_tool(member.key, Code::LIMIT_UNKNOWN_TOOL);
      if (tool && member.value.is_number())
        plan_.limits.max_calls[*tool] = json::to_int64(member.value.number_text()).value_or(1);
    }
  }

  void read_policy() {
    const json::Node policy = root_["policy"];
    plan_.default_deny = flag_in(policy, "default_deny", false);
    for (const json::Node entry : policy["rules"].elements())
      if (entry.is_object()) read_rule(entry);
    for (const json::Node entry : policy["label_gates"].elements()) {
      if (!entry.is_object()) continue;
      LabelGate gate{text_in(entry, "when_label"), text_in(entry, "reason")};
      for (const std::string& name : texts_in(entry, "deny_tools")) {
        if (name == "*") gate.all_tools = true;
        else if (const auto found = compiler_.tool_ids.find(name); found != compiler_.tool_ids.end())
          gate.tools.push_back(found->second);
        else gate.unknown.push_back(name);
      }
      plan_.label_gates.push_back(std::move(gate));
    }
  }

  void read_rule(json::Node entry) {
    const json::Node allow = entry["allow"], deny = entry["deny"];
    if (bool(allow) == bool(deny)) {
      findings_.add(Code::POLICY_RULE_SHAPE, entry, {{"problem", "needs exactly one of `deny` and `allow`"}});
      for (const json::Node body : {allow, deny})
        invariant_at(findings_, body["principal"]);  // for what is wrong in it
      return;
    }
    const json::Node body = allow ? allow : deny;
    if (body["tools"] && entry["tools"])
      findings_.add(Code::POLICY_RULE_SHAPE, entry["tools"], {{"problem", "names its tools twice"}});
    const json::Node tools = body["tools"] ? body["tools"] : entry["tools"];
    auto principal = invariant_at(findings_, body["principal"]);
    Rule rule{bool(allow), {}, !tools, {}};
    for (const json::Node name : tools.elements()) {
      if (name.is_text("*")) rule.all_tools = true;
      else if (const auto tool = compiler_.need_tool(name, Code::POLICY_UNKNOWN_TOOL)) rule.tools.push_back(*tool);
    }
    if (!principal) return;
    rule.principal = std::move(*principal);
    plan_.rules.push_back(std::move(rule));
  }

  bool is_new_name(std::set<std::string>& names, json::Node entry, Code code) {
    const std::string name = text_in(entry, "name");
    if (name.empty() || names.insert(name).second) return true;
    findings_.add(code, entry["name"], {{"name", name}});
    return false;
  }

  void refuse_inverted(json::Node at, const std::optional<json::Decimal>& gte,
                       const std::optional<json::Decimal>& lte) {
    if (gte && lte && *gte > *lte)
      findings_.add(Code::AGGREGATE_BOUNDS_INVERTED, at, {{"gte", gte->text()}, {"lte", lte->text()}});
  }

  void read_aggregate(json::Node entry) {
    is_new_name(aggregates_, entry, Code::AGGREGATE_NAME_DUPLICATE);
    Aggregate out{text_in(entry, "name"), text_in(entry, "reason")};
    out.metric = word_in<Metric>(entry, "metric", kMetricNames).value_or(Metric::Count);
    const json::Node tool = entry["tool"];
    if (tool.is_text("*")) out.all_tools = true;
    else if (tool.is_string()) add_tool(out, tool);
    for (const json::Node one : tool.elements()) add_tool(out, one);
    if (tool.is_array() && tool.size() == 0) findings_.add(Code::AGGREGATE_UNKNOWN_TOOL, tool, {{"tool", ""}});
    out.at = path_in(findings_, entry, "path");
    warn_of_moved(entry["path"], out.all_tools ? std::nullopt : std::optional(out.tools));
    if (!entry["path"] && entry["metric"] && out.metric != Metric::Count)
      findings_.add_absent(Code::AGGREGATE_PATH_REQUIRED, entry, "path", {{"metric", name_of(out.metric)}});
    out.bounds = {number_in(entry, "gte"), number_in(entry, "lte")};
    if (!entry["gte"] && !entry["lte"]) findings_.add(Code::AGGREGATE_BOUND_MISSING, entry, {{"name", out.name}});
    refuse_inverted(entry["gte"], out.bounds.gte, out.bounds.lte);
    for (const json::Node when : entry["when"].elements())
      if (when.is_object()) read_when(out, when);
    plan_.aggregates.push_back(std::move(out));
  }

  void add_tool(Aggregate& aggregate, json::Node name) {
    if (name.is_text("*")) aggregate.all_tools = true;
    else if (const auto tool = compiler_.need_tool(name, Code::AGGREGATE_UNKNOWN_TOOL))
      aggregate.tools.push_back(*tool);
  }

  void read_when(Aggregate& aggregate, json::Node entry) {
    constexpr std::array kOps = {Op::Equals, Op::Gte, Op::Lte};
    const auto slot = compiler_.need_slot(entry["binding"]);
    std::vector<Test> tests = tests_in(findings_, entry, kOps);
    if (!entry["gte"] && !entry["lte"] && !entry["equals"]) findings_.add(Code::WHEN_CONDITION_MISSING, entry);
    const Bounds then{number_in(entry, "then_gte"), number_in(entry, "then_lte")};
    if (!entry["then_gte"] && !entry["then_lte"]) findings_.add(Code::WHEN_BOUND_MISSING, entry);
    // What it replaces, beside what it leaves.
    refuse_inverted(entry, then.gte ? then.gte : aggregate.bounds.gte, then.lte ? then.lte : aggregate.bounds.lte);
    if (slot) aggregate.when.push_back({*slot, std::move(tests), then});
  }

  void read_envelope(json::Node entry) {
    is_new_name(envelopes_, entry, Code::ENVELOPE_NAME_DUPLICATE);
    Envelope out{text_in(entry, "name"), text_in(entry, "reason")};
    const auto constraint = word_in<Constraint>(entry, "constraint", kConstraintNames);
    out.constraint = constraint.value_or(Constraint::LteCeiling);
    out.band = number_in(entry, "band");
    const json::Node stages = entry["stages"];
    for (const json::Node stage : stages.elements()) {
      const auto tool = compiler_.need_tool(stage["tool"], Code::ENVELOPE_UNKNOWN_TOOL);
      auto at = path_in(findings_, stage, "path");
      const auto role = word_in<Role>(stage, "role", kRoleNames);
      const bool output = stage["source"].is_text("output");
      // A value that is held to a reference is judged before the call is made: there is no output yet.
      if (output && role == Role::Constrained)
        findings_.add(Code::FIELD_ENUM, stage["source"],
                      {{"field", "source"}, {"value", "output"}, {"expected", "`arguments` (of a constrained stage)"}});
      if (tool && !output) compiler_.warn_of_moved(plan_.tools[*tool].name, stage["path"]);
      if (tool && at && role)
        out.stages.push_back({*tool, *role, output ? Source::Output : Source::Arguments, std::move(*at)});
    }
    if (stages.is_array() && stages.size() < 2) findings_.add(Code::ENVELOPE_STAGES_MIN, stages, {{"name", out.name}});
    else if (constraint && stages.is_array()) check_stages(entry, stages, *constraint);
    if (constraint == Constraint::WithinBand && !entry["band"])
      findings_.add_absent(Code::ENVELOPE_BAND_REQUIRED, entry, "band",
                           {{"field", "band"}, {"expected", "a fraction of at least 0"}});
    if (constraint && constraint != Constraint::WithinBand && entry["band"])
      findings_.add(Code::ENVELOPE_BAND_UNEXPECTED, entry["band"], {{"constraint", name_of(*constraint)}});
    plan_.envelopes.push_back(std::move(out));
  }

  static std::vector<Role> needed(Constraint constraint) {
    switch (constraint) {
      case Constraint::LteCeiling: return {Role::Ceiling};
      case Constraint::GteFloor: return {Role::Floor};
      case Constraint::Bounded: return {Role::Ceiling, Role::Floor};
      case Constraint::WithinBand: return {Role::Anchor};
      case Constraint::MonotonicDecrease:
      case Constraint::MonotonicIncrease: return {Role::Initial};
    }
    return {};
  }

  void check_stages(json::Node entry, json::Node stages, Constraint constraint) {
    const std::vector<Role> roles = needed(constraint);
    std::vector<json::Node> constrained;
    std::vector<std::optional<std::size_t>> first(roles.size());
    std::size_t position = 0, first_constrained = SIZE_MAX;
    for (const json::Node stage : stages.elements()) {
      const auto role = word_in<Role>(stage, "role", kRoleNames);
      const std::size_t here = position++;
      if (!role) return;  // what is no role has been reported; more would only follow from it
      if (*role == Role::Constrained) {
        constrained.push_back(stage);
        first_constrained = std::min(first_constrained, here);
        continue;
      }
      const auto found = std::ranges::find(roles, *role);
      if (found == roles.end()) {
        findings_.add(Code::ENVELOPE_ROLE_UNUSED, stage["role"],
                      {{"role", name_of(*role)}, {"constraint", name_of(constraint)}});
        continue;
      }
      auto& seen = first[static_cast<std::size_t>(found - roles.begin())];
      if (seen && (*role == Role::Anchor || *role == Role::Initial))
        findings_.add(Code::ENVELOPE_ROLE_DUPLICATE, stage["role"], {{"role", name_of(*role)}});
      if (!seen) seen = here;
    }
    if (constrained.empty()) findings_.add(Code::ENVELOPE_NO_CONSTRAINED, stages, {{"name", text_in(entry, "name")}});
    for (std::size_t i = 0; i < roles.size(); ++i) {
      if (!first[i])
        findings_.add(Code::ENVELOPE_ROLE_MISSING, stages,
                      {{"role", name_of(roles[i])}, {"constraint", name_of(constraint)}});
      else if (first_constrained < *first[i])
        findings_.add(Code::ENVELOPE_STAGE_ORDER, constrained.front(), {{"role", name_of(roles[i])}});
    }
  }

  // A path into the arguments of several tools, or of all: the warning comes once.
  void warn_of_moved(json::Node path, const std::optional<std::vector<ToolId>>& tools) {
    const std::size_t before = findings_.list().size();
    for (ToolId id = 0; id < plan_.tools.size() && findings_.list().size() == before; ++id)
      if (!tools || std::ranges::find(*tools, id) != tools->end()) compiler_.warn_of_moved(plan_.tools[id].name, path);
  }

  void read_checkpoint(json::Node entry) {
    is_new_name(checkpoints_, entry, Code::CHECKPOINT_NAME_DUPLICATE);
    Checkpoint out = compiler_.checkpoint_at(entry);
    out.name = text_in(entry, "name");
    const json::Node tool = entry["tool"];
    if (!tool.is_text("*")) {
      out.tool = compiler_.need_tool(tool, Code::CHECKPOINT_UNKNOWN_TOOL);
      if (!out.tool) return;
    }
    for (const json::Node list : {entry["when"], entry["context"]})
      for (const json::Node one : list.elements())
        warn_of_moved(one["path"], out.tool ? std::optional(std::vector{*out.tool}) : std::nullopt);
    if (out.allow_on_timeout)
      for (ToolId id = 0; id < plan_.tools.size(); ++id) {
        const Tool& one = plan_.tools[id];
        if ((out.tool && *out.tool != id) || !is_high_risk(one.side_effect)) continue;
        if (out.side_effect && *out.side_effect != one.side_effect) continue;
        findings_.add(Code::CHECKPOINT_TIMEOUT_ALLOW_HIGH_RISK, entry["on_timeout"],
                      {{"tool", one.name}, {"effect", name_of(one.side_effect)}});
        break;  // one that shows it is enough
      }
    plan_.checkpoints.push_back(std::move(out));
  }

  Compiler& compiler_;
  Findings& findings_;
  Plan& plan_;
  const json::Node root_;
  std::set<std::string> aggregates_, envelopes_, checkpoints_;
};

}  // namespace

void Compiler::read_session() {
  findings.in(session.file);
  const json::Node root = session.root();
  plan.agent = text_in(root, "agent");
  PhaseReader(*this).read();

  const json::Node limits = root["session_limits"], loop = limits["loop_detection"],
                   breaker = limits["circuit_breaker"];
  plan.limits.max_steps = whole_in(limits, "max_steps");
  plan.limits.max_tool_calls = whole_in(limits, "max_tool_calls");
  plan.limits.narrow = limits["max_tool_calls_mode"].is_text("narrow");
  plan.limits.max_cost = number_in(limits, "max_cost_per_session");
  plan.limits.loop_window = whole_in(loop, "window");
  plan.limits.loop_threshold = whole_in(loop, "threshold");
  plan.limits.consecutive_blocks = whole_in(breaker, "consecutive_blocks");
  plan.limits.consecutive_errors = whole_in(breaker, "consecutive_errors");

  for (std::size_t i = 0; i < kSideEffectNames.size(); ++i)
    if (const auto gate = word_in<Gate>(root["risk_defaults"], kSideEffectNames[i], kGateNames))
      plan.risk_allows[i] = *gate == Gate::Allow;

  for (const json::Member member : root["provider_constraints"].members()) {
    if (std::ranges::find(kProviders, member.name()) == kProviders.end())
      findings.add(Code::PROVIDER_UNKNOWN, member.key, {{"provider", member.name()}});
    Provider provider{std::string(member.name()), {}, {}, flag_in(member.value, "warn_floating_alias", false)};
    for (const auto& [list, into] :
         {std::pair{"block_incompatible", &provider.block}, std::pair{"warn_incompatible", &provider.warn}})
      for (const json::Node pattern : member.value[list].elements()) {
        if (!pattern.is_string() || pattern.string().empty()) continue;
        if (auto terms = provider_pattern(pattern.string()))
          into->push_back({std::string(pattern.string()), std::move(*terms)});
        else findings.add(Code::PROVIDER_PATTERN_INVALID, pattern, {{"pattern", pattern.string()}});
      }
    plan.providers.push_back(std::move(provider));
  }

  for (const json::Member member : root["resources"].members()) {
    if (auto at = path_in(findings, member.value["extract_from"], "path"))
      plan.resources.push_back({std::string(member.name()), text_in(member.value, "type"), std::move(*at)});
  }

  plan.client_user_is_operator = flag_in(root["approvals"], "client_user_is_operator", false);
  plan.unlisted = word_in<Unlisted>(root["mcp"], "unlisted", kUnlistedNames).value_or(Unlisted::Refuse);
  plan.unknown_content =
      word_in<UnknownContent>(root["mcp"], "unknown_content", kUnknownContentNames).value_or(UnknownContent::Refuse);
  plan.claims = word_in<Claims>(root, "claims", kClaimsNames).value_or(Claims::Off);
  plan.owed = word_in<Owed>(root["handoff"], "dialect", kOwedNames).value_or(Owed::Any);
  plan.owed_by_subagents = word_in<Owed>(root["handoff"], "subagents", kOwedNames).value_or(Owed::None);
  plan.schema_derived = flag_in(root, "schema_derived", true);
  plan.wording_may_change = root["mcp"]["wording_changes"].is_text("allow");
  plan.suspicious_text_is_withheld = root["mcp"]["suspicious_text"].is_text("withhold");
  for (const json::Node entry : root["graph_analysis"]["suppress"].elements()) {
    if (!entry.is_object()) continue;
    Suppression out{text_in(entry, "check"), text_in(entry, "tool"), text_in(entry, "phase"), text_in(entry, "name"),
                    text_in(entry, "reason")};
    const json::Position position = entry.position();
    out.line = position.line;
    out.column = position.column;
    if (!out.check.empty() && !is_graph_check(out.check))
      findings.add(Code::GRAPH_CHECK_UNKNOWN, entry["check"], {{"check", out.check}});
    else plan.suppressions.push_back(std::move(out));
  }
}

void Compiler::read_rules_over_tools() { RuleReader(*this).read(); }

}  // namespace baton::contract
