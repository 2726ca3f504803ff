// SPDX-License-Identifier: Apache-2.0
// What the compiler gives: places of findings, hashes, the contents of plans, tool definitions, workflows, the reference.
#include <functional>
#include <map>

#include "contract/scenario.h"
#include "contract/shapes.h"
#include "contract_world.h"
#include "json/parse.h"
#include "json/value.h"

namespace baton::contract {
namespace {

// --- places ---------------------------------------------------------------------------------------------------------------------

// "file:line:column CODE /pointer `text`" of each.
std::vector<std::string> places(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& one : findings)
    out.push_back(one.file + ":" + std::to_string(one.diagnostic.place.line) + ":" +
                  std::to_string(one.diagnostic.place.column) + " " + std::string(info(one.diagnostic.code).name) +
                  " " + one.diagnostic.place.pointer + " `" + one.text + "`");
  return out;
}

TEST(Compile, FindingsHaveTheirPlaces) {
  PackSource pack;
  pack.session = SourceFile{"session.yaml",
                            "schema_version: \"1.0\"\n"
                            "agent: clerk\n"
                            "session_limits:\n"
                            "  max_steps: 0\n"
                            "  max_calls: 3\n"
                            "risk_defaults: {read: ask}\n"
                            "graph_analysis:\n"
                            "  suppress:\n"
                            "    - check: dead_tol\n"
                            "      reason: meant\n"};
  pack.contracts.push_back(tool_file("t",
                                     "preconditions:\n"                  // 11
                                     "  - requires_prior_tool: ghost\n"  // 12
                                     "argument_value_invariants:\n"      // 13
                                     "  - path: $.a\n"                   // 14
                                     "    regex: \"(\"\n"                // 15
                                     "  - {path: $..b, gte: 1}\n"        // 16
                                     "binds:\n"                          // 17
                                     "  - name: s\n"));                  // 18
  const Compiled compiled = compile(pack);
  EXPECT_FALSE(compiled.plan);
  EXPECT_EQ(
      places(compiled.findings),
      (std::vector<std::string>{"session.yaml:4:14 LIMIT_INVALID /session_limits/max_steps `0`",
                                "session.yaml:5:3 UNKNOWN_FIELD /session_limits/max_calls `max_calls`",
                                "session.yaml:6:23 FIELD_ENUM /risk_defaults/read `ask`",
                                "session.yaml:9:14 GRAPH_CHECK_UNKNOWN /graph_analysis/suppress/0/check `dead_tol`",
                                "t.yaml:12:26 PRECONDITION_UNKNOWN_TOOL /preconditions/0/requires_prior_tool `ghost`",
                                "t.yaml:15:12 REGEX_INVALID /argument_value_invariants/0/regex `(`",
                                "t.yaml:16:12 JSONPATH_UNSUPPORTED /argument_value_invariants/1/path `$..b`",
                                "t.yaml:18:5 FIELD_REQUIRED /binds/0/path ``"}));
}

TEST(Compile, ASyntaxErrorHidesNothingInOtherFiles) {
  PackSource pack;
  pack.session = SourceFile{"session.yaml", "schema_version: \"1.0\"\nagent: [\n"};
  pack.contracts = {tool_file("a", "gate: ajar\n"),
                    {"b.yaml", "tool: b\n tool: c\n"},
                    tool_file("c", "transitions: {valid_in_phases: [x]}\n")};
  const auto codes = code_set(compile(pack).findings);
  EXPECT_TRUE(codes.contains("YAML_SYNTAX"));
  EXPECT_TRUE(codes.contains("FIELD_ENUM"));
  // What session.yaml declares is not known, so that nothing can be said against it.
  EXPECT_FALSE(codes.contains("PHASES_NOT_DECLARED")) << shown(compile(pack).findings);
}

TEST(Compile, LongOffendingTextsAreCut) {
  std::string long_text(200, 'x');
  long_text[59] = '\xc3';  // a character of two bytes across the cut
  long_text[60] = '\xa9';
  const Compiled compiled = compile({.contracts = {tool_file("t", "gate: \"" + long_text + "\"\n")},
                                     .session = std::nullopt,
                                     .tools = std::nullopt,
                                     .tools_lock = std::nullopt,
                                     .golden = {}});
  ASSERT_EQ(compiled.findings.size(), 1u);
  EXPECT_EQ(compiled.findings[0].text, std::string(59, 'x') + "...");
}

TEST(Compile, StrictMakesWarningsErrorsAndLeavesNotes) {
  PackSource pack;
  pack.contracts = {tool_file("t", "forbids_after: [ghost]\n")};
  EXPECT_TRUE(compile(pack).plan);
  CompileOptions strict;
  strict.strict = true;
  const Compiled compiled = compile(pack, strict);
  EXPECT_FALSE(compiled.plan);
  EXPECT_EQ(codes_of(compiled.findings), std::vector<std::string>{"FORBIDS_UNKNOWN_TOOL"});
  pack.contracts = {tool_file("t")};
  pack.tools = SourceFile{"tools.json", R"([{"name":"t","inputSchema":{"properties":{"a":{"anyOf":[]}}}}])"};
  EXPECT_TRUE(compile(pack, strict).plan);
  EXPECT_EQ(codes_of(compile(pack, strict).findings), std::vector<std::string>{"schema_part_skipped"});
}

TEST(Compile, FindingsAreBounded) {
  std::string text = "binds:\n";
  for (int i = 0; i < 5000; ++i) text += "  - 5\n";
  const Compiled compiled = compile({.contracts = {tool_file("t", text)},
                                     .session = std::nullopt,
                                     .tools = std::nullopt,
                                     .tools_lock = std::nullopt,
                                     .golden = {}});
  EXPECT_EQ(compiled.findings.size(), limits::kContractFindingsMax);
  EXPECT_FALSE(compiled.plan);
}

// Thousands of warnings do not hide an error that comes after them.
TEST(Compile, AnErrorIsNeverLeftOut) {
  std::string ghosts = "forbids_after:\n";
  for (int i = 0; i < 5000; ++i) ghosts += "  - ghost" + std::to_string(i) + "\n";
  PackSource pack;
  pack.contracts = {tool_file("t", ghosts)};
  EXPECT_TRUE(compile(pack).plan);
  pack.session = session_file("aggregates: [{name: a, metric: count, tool: nobody, lte: 1, reason: r}]\n");
  const Compiled compiled = compile(pack);
  EXPECT_FALSE(compiled.plan);
  EXPECT_TRUE(find(compiled.findings, Code::AGGREGATE_UNKNOWN_TOOL));
  EXPECT_EQ(compiled.findings.size(), limits::kContractFindingsMax);
}

TEST(Compile, NoSessionFileMeansAllDefaults) {
  const auto plan = plan_of({.contracts = {tool_file("r"), tool_file("w", "", "write")},
                             .session = std::nullopt,
                             .tools = std::nullopt,
                             .tools_lock = std::nullopt,
                             .golden = {}});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->tools[0].passes_gate);
  EXPECT_FALSE(plan->tools[1].passes_gate);
  EXPECT_TRUE(plan->phases.empty());
  EXPECT_TRUE(plan->schema_derived);
  EXPECT_FALSE(plan->default_deny);
  EXPECT_FALSE(plan->needs_principal);
}

TEST(Compile, GoldenFilesAreThere) {
  PackSource pack;
  SourceFile file = tool_file("t");
  file.text.replace(file.text.find("golden_cases: []"), 16,
                    "golden_cases: [{id: a, input_ref: golden/a.json, expect_ok: false, expected_error: x}]");
  pack.contracts = {file};
  EXPECT_EQ(codes_of(compile(pack).findings), std::vector<std::string>{"GOLDEN_REF_MISSING"});
  pack.golden["golden/a.json"] = "{}";
  const auto plan = plan_of(pack);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tools[0].golden.at(0).input_ref, "golden/a.json");
}

// --- the hash ---------------------------------------------------------------------------------------------------------------------

json::Value value_of(const std::string& text) {
  const auto parsed = json::parse(text);
  EXPECT_TRUE(parsed) << text;
  return json::Value::copy(parsed->root());
}

// Members in the opposite order, all the way down.
json::Value turned(const json::Value& value) {
  json::Value out = value;
  if (value.is_object()) {
    out = json::Value::object();
    for (auto member = value.members().rbegin(); member != value.members().rend(); ++member)
      out.set(member->first, turned(member->second));
  } else if (value.is_array()) {
    for (json::Value& element : out.elements()) element = turned(element);
  }
  return out;
}

PackSource case_pack(const char* file) {
  return scenario_packs(read_file(tests_folder() / "contracts" / file)).at(0).pack;
}

TEST(Hash, IsThatOfTheMeaning) {
  for (const char* file : {"tool_fields.yaml", "session_fields.yaml"}) {
    PackSource pack = case_pack(file);
    const std::string hash = plan_of(pack)->hash;
    EXPECT_EQ(hash.size(), 7u + 64u);
    EXPECT_TRUE(hash.starts_with("sha256:"));
    std::ranges::reverse(pack.contracts);
    for (SourceFile& one : pack.contracts) {
      one.text = "# a comment\n" + json::write_pretty(turned(value_of(one.text))) + "\n";
      one.is_json = false;
    }
    pack.session->text = json::write_pretty(turned(value_of(pack.session->text)));
    pack.session->is_json = false;
    EXPECT_EQ(plan_of(pack)->hash, hash) << file;
  }
}

TEST(Hash, SpellingsOfOneValueAreOne) {
  const auto hash = [](const std::string& rest, const std::string& session = "") {
    PackSource pack;
    pack.contracts = {tool_file("t", rest), tool_file("u")};
    pack.session = session_file(session);
    return plan_of(pack)->hash;
  };
  EXPECT_EQ(hash("argument_value_invariants: [{path: $.a, gte: 1}]\n"),
            hash("argument_value_invariants: [{path: \"$['a']\", gte: 1.0}]\n"));
  EXPECT_EQ(hash("forbids_after: [t, u]\n"), hash("forbids_after: [u, t, u]\n"));
  EXPECT_EQ(hash("schema_derived: true\n"), hash(""));
  EXPECT_EQ(hash("response_format_invariants: {finish_reason: tool_use}\n"),
            hash("response_format_invariants: {finish_reason: tool_calls, content_when_tool_calls: allowed}\n"));
  EXPECT_EQ(hash("checkpoint: {when: always, timeout_seconds: 30}\n"),
            hash("checkpoint: {when: always, timeout_seconds: 30.0, match: any, on_timeout: deny}\n"));
  EXPECT_EQ(hash("", "risk_defaults: {read: allow, admin: block}\n"), hash(""));
  EXPECT_EQ(hash("x-note: one\n", "x-note: two\n"), hash(""));
  EXPECT_EQ(hash("", "approvals: {client_user_is_operator: false}\n"), hash(""));
  EXPECT_EQ(hash("", "mcp: {unlisted: refuse, unknown_content: refuse}\n"), hash(""));
  EXPECT_NE(hash("", "mcp: {unlisted: record}\n"), hash(""));
  EXPECT_NE(hash("", "mcp: {unlisted: record}\n"), hash("", "mcp: {unknown_content: drop}\n"));
  EXPECT_EQ(hash("", "handoff: {dialect: any, subagents: none}\nclaims: \"off\"\n"), hash(""));
  EXPECT_NE(hash("", "handoff: {subagents: agent-contract}\n"), hash(""));
  EXPECT_NE(hash("", "claims: warn\n"), hash("", "claims: require\n"));
  EXPECT_EQ(hash("", "phases: [{name: a, initial: true}, {name: b, terminal: true}]\ntransitions: {a: [b]}\n"),
            hash("", "transitions: {b: [], a: [b]}\nphases: [{terminal: true, name: b}, {name: a, initial: true}]\n"));
}

TEST(Hash, SchemasCountByWhatIsTakenFromThem) {
  PackSource pack;
  pack.contracts = {tool_file("t")};
  const std::string without = plan_of(pack)->hash;
  pack.tools = SourceFile{"tools.json", R"([{"name":"t","inputSchema":{"properties":{"a":{"minimum":1}}}}])"};
  const std::string with = plan_of(pack)->hash;
  EXPECT_NE(with, without);
  pack.tools->text = R"([{"name":"t","inputSchema":{"title":"T","properties":{"a":{"minimum":1.0,"type":"number"}}}}])";
  EXPECT_EQ(plan_of(pack)->hash, with);
  pack.contracts = {tool_file("t", "schema_derived: false\n")};
  EXPECT_EQ(plan_of(pack)->hash, without);
  pack.contracts = {tool_file("t", "schema_derived_exclude: [$.a]\n")};
  EXPECT_EQ(plan_of(pack)->hash, without);
  pack.contracts = {tool_file("t")};
  pack.session = session_file("schema_derived: false\n");
  const std::string off = plan_of(pack)->hash;
  pack.tools.reset();
  EXPECT_EQ(plan_of(pack)->hash, off);
}

// A value at a pointer, and the shape that it has.
struct Leaf {
  std::string pointer, field;  // the field's way through the tables: "binds[].name"
  const Shape* shape;
  json::Value value;
};

void leaves(std::vector<Leaf>& out, const json::Value& value, const Shape& any, const std::string& pointer,
            const std::string& field) {
  const Shape* shape = &any;
  for (const Shape* one : any.alternatives)
    if ((one->form == Form::Text && value.is_string()) || (one->form == Form::List && value.is_array()) ||
        (one->form == Form::Object && value.is_object()))
      shape = one;
  if (value.is_array() && shape->element != nullptr) {
    for (std::size_t i = 0; i < value.elements().size(); ++i)
      leaves(out, value.elements()[i], *shape->element, pointer + "/" + std::to_string(i), field + "[]");
  } else if (value.is_object() && shape->form != Form::Any) {
    for (const auto& [name, member] : value.members()) {
      const auto found = std::ranges::find(shape->fields, name, &Field::name);
      if (shape->form == Form::Map) leaves(out, member, *shape->element, pointer + "/" + name, field + ".*");
      else if (found != shape->fields.end())
        leaves(out, member, found->shape, pointer + "/" + name, field + "." + name);
    }
  } else {
    out.push_back({pointer, field, shape, value});
  }
}

// Other values that may be right in the same place.
std::vector<json::Value> others(const Leaf& leaf) {
  std::vector<json::Value> out;
  switch (leaf.value.kind()) {
    case json::Kind::Boolean: out = {json::Value(!leaf.value.boolean())}; break;
    case json::Kind::Number:
      for (const char* text : {"0.5", "2", "3", "7", "45", "504"})
        if (leaf.value.number_text() != text) out.push_back(json::Value::number(text));
      break;
    case json::Kind::String:
      for (const std::string_view word : leaf.shape->values)
        if (word != leaf.value.string()) out.emplace_back(word);
      // Of a slot, a tool, a phase; else any text and any path.
      for (const char* text : {"price", "slot", "look", "u", "t", "b", "shut", "$.other", "other", "bind_unused"})
        if (leaf.value.string() != text) out.emplace_back(text);
      break;
    default: out = {json::Value("other")};
  }
  return out;
}

// Every scalar of a file is changed, one at a time. Where some other value compiles, the hash is another one; `silent` are
// the fields that are no part of the meaning, `fixed` those where no other value alone is right.
void expect_every_change_counts(const PackSource& pack, const SourceFile& file, const Shape& shape,
                                const std::function<void(PackSource&, std::string)>& put,
                                const std::set<std::string>& silent, const std::set<std::string>& fixed) {
  const std::string hash = plan_of(pack)->hash;
  std::vector<Leaf> all;
  leaves(all, value_of(file.text), shape, "", "");
  ASSERT_GT(all.size(), 40u);
  std::set<std::string> changed, seen;
  for (const Leaf& leaf : all) {
    seen.insert(leaf.field);
    for (const json::Value& other : others(leaf)) {
      json::Value document = value_of(file.text);
      ASSERT_TRUE(document.set_at(leaf.pointer, other)) << leaf.pointer;
      PackSource changed_pack = pack;
      put(changed_pack, json::write(document));
      const Compiled compiled = compile(changed_pack);
      if (!compiled.plan) continue;
      changed.insert(leaf.field);
      const bool is_silent =
          std::ranges::any_of(silent, [&](const std::string& one) { return leaf.field.starts_with(one); });
      EXPECT_EQ(compiled.plan->hash == hash, is_silent) << leaf.pointer << " -> " << json::write(other);
    }
  }
  for (const std::string& field : seen)
    EXPECT_NE(changed.contains(field), fixed.contains(field)) << field << " was changed: " << changed.contains(field);
}

TEST(Hash, EveryChangeOfAContractCounts) {
  const PackSource pack = case_pack("tool_fields.yaml");
  const auto at = std::ranges::find(pack.contracts, "pay.yaml", &SourceFile::name) - pack.contracts.begin();
  expect_every_change_counts(
      pack, pack.contracts[static_cast<std::size_t>(at)], kToolShape,
      [&](PackSource& into, std::string text) { into.contracts[static_cast<std::size_t>(at)].text = std::move(text); },
      {".golden_cases", ".allowed_errors[].note", ".schema_derived"},
      {".tool", ".preconditions[].resource.bind_from", ".preconditions[].requires_prior_tool",
       ".transitions.advances_to"});
}

TEST(Hash, EveryChangeOfASessionCounts) {
  const PackSource pack = case_pack("session_fields.yaml");
  expect_every_change_counts(pack, *pack.session, kSessionShape,
                             [&](PackSource& into, std::string text) { into.session->text = std::move(text); },
                             {".graph_analysis", ".schema_derived"},
                             {".schema_version", ".aggregates[].when[].binding", ".checkpoints[].when",
                              ".envelopes[].stages[].role", ".phases[].initial", ".phases[].name", ".transitions.*[]"});
}

// What cannot be changed alone in the packs above, changed in pairs.
TEST(Hash, ChangesThatNeedAnotherCountToo) {
  const auto hash = [](const std::string& session, const std::string& t = "", const std::string& u = "") {
    PackSource pack;
    pack.contracts = {tool_file("t", t), tool_file("u", u), tool_file("v")};
    pack.session = session_file(session);
    const auto plan = plan_of(pack);
    return plan ? plan->hash : std::string();
  };
  const auto phases = [](const std::string& a, const std::string& b, const std::string& c) {
    return "phases: [{name: " + a + ", initial: true}, {name: " + b + ", terminal: true}, {name: " + c +
           ", terminal: true}]\n";
  };
  const std::string plain = phases("a", "b", "c") + "transitions: {a: [b, c]}\n";
  EXPECT_NE(hash(plain, "transitions: {valid_in_phases: [a], advances_to: b}\n"),
            hash(plain, "transitions: {valid_in_phases: [a], advances_to: c}\n"));
  EXPECT_NE(hash(plain), hash(phases("a", "b", "d") + "transitions: {a: [b, d]}\n"));
  EXPECT_NE(hash(plain), hash(phases("a", "b", "c") + "transitions: {a: [b]}\n"));
  EXPECT_NE(hash("phases: [{name: a, initial: true, terminal: true}, {name: b, terminal: true}]\n"),
            hash("phases: [{name: a, terminal: true}, {name: b, initial: true, terminal: true}]\n"));
  EXPECT_NE(hash("", "preconditions: [{requires_prior_tool: u}]\n"),
            hash("", "preconditions: [{requires_prior_tool: v}]\n"));
  const auto aggregate = [](const std::string& slot) {
    return "aggregates: [{name: g, metric: count, tool: t, lte: 3, reason: r, when: [{binding: " + slot +
           ", gte: 1, then_lte: 5}]}]\n";
  };
  const std::string binds = "binds: [{name: r, path: $.r}, {name: s, path: $.s}]\n";
  EXPECT_NE(hash(aggregate("r"), "", binds), hash(aggregate("s"), "", binds));
  const auto checkpoint = [](const std::string& when) {
    return "checkpoints: [{name: c, tool: t, when: " + when + ", timeout_seconds: 30}]\n";
  };
  EXPECT_NE(hash(checkpoint("always")), hash(checkpoint("[{path: $.a, gte: 1}]")));
  const auto envelope = [](const std::string& role, const std::string& constraint) {
    return "envelopes: [{name: e, constraint: " + constraint +
           ", reason: r, stages: [{tool: u, path: $.a, role: " + role +
           "}, {tool: t, path: $.a, role: constrained}]}]\n";
  };
  EXPECT_NE(hash(envelope("ceiling", "lte_ceiling")), hash(envelope("floor", "gte_floor")));
}

// --- plans ------------------------------------------------------------------------------------------------------------------------

std::vector<std::string> checks_of(const Plan& plan, std::string_view tool) {
  std::vector<std::string> out;
  for (const Check check : plan.tools[*plan.find_tool(tool)].checks) out.emplace_back(name_of(check));
  return out;
}

// Section 5: the order of checks, and only those that can fail.
TEST(PlanOf, ListsTheChecksOfEachToolInOrder) {
  const PackSource pack = case_pack("tool_fields.yaml");
  EXPECT_EQ(checks_of(*plan_of(pack), "look"), (std::vector<std::string>{"limits"}));
  EXPECT_EQ(checks_of(*plan_of(pack), "pay"),
            (std::vector<std::string>{"policy", "phase", "forbidden", "limits", "response_format",
                                      "boundary_assertions", "preconditions", "arguments", "input_assertions",
                                      "execution_constraints", "refs", "checkpoints"}));
  const PackSource session = case_pack("session_fields.yaml");
  EXPECT_EQ(checks_of(*plan_of(session), "t"),
            (std::vector<std::string>{"labels", "policy", "limits", "loop", "aggregates", "envelopes", "resources",
                                      "checkpoints"}));
  PackSource blocked;
  blocked.contracts = {tool_file("w", "", "write")};
  EXPECT_EQ(checks_of(*plan_of(blocked), "w"), (std::vector<std::string>{"gate", "limits"}));
}

TEST(PlanOf, HasPhasesAsSets) {
  PackSource pack;
  pack.session = session_file(
      "phases: [{name: c, initial: true}, {name: a}, {name: b, terminal: true}]\ntransitions: {c: [a, b], a: [b]}\n");
  pack.contracts = {tool_file("one", "transitions: {valid_in_phases: [a, c], advances_to: b}\n"), tool_file("two")};
  const auto plan = plan_of(pack);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->initial, 0u);
  const Tool& one = plan->tools[*plan->find_tool("one")];
  EXPECT_TRUE(one.valid_in.has(0) && one.valid_in.has(1) && !one.valid_in.has(2));
  EXPECT_EQ(one.advances_to, plan->find_phase("b"));
  EXPECT_TRUE(plan->tools[*plan->find_tool("two")].valid_in == PhaseSet::all(3));
  EXPECT_TRUE(plan->is_legal(0, 1) && plan->is_legal(0, 2) && plan->is_legal(1, 2) && plan->is_legal(1, 1));
  EXPECT_FALSE(plan->is_legal(1, 0) || plan->is_legal(2, 0));
  EXPECT_EQ(plan->find_phase("d"), std::nullopt);
}

TEST(PlanOf, NumbersToolsAndSlotsByTheirNames) {
  PackSource pack;
  pack.contracts = {tool_file("z", "binds: [{name: m, path: $.m}, {name: a, path: $.a}]\n"), tool_file("b"),
                    tool_file("a")};
  const auto plan = plan_of(pack);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->find_tool("a"), 0u);
  EXPECT_EQ(plan->find_tool("z"), 2u);
  EXPECT_EQ(plan->slots, (std::vector<std::string>{"a", "m"}));
  EXPECT_EQ(plan->tools[2].binds.at(0).slot, 1u);
}

// Section 3.5: by the first name of the path, unless `scope` says otherwise.
TEST(PlanOf, AssertionsKnowTheirDocument) {
  SourceFile file = tool_file("t");
  file.text.replace(file.text.find("input_invariants: []"), 20,
                    "input_invariants: [{path: $.messages, exists: true}, {path: $.amount, gte: 1}, "
                    "{path: $.model, equals: x, scope: call}, {path: $.amount, gte: 1, scope: boundary}, "
                    "{path: \"$['tool_choice'].type\", equals: any}, {path: $, type: object}]");
  PackSource pack;
  pack.contracts = {file};
  const auto plan = plan_of(pack);
  ASSERT_TRUE(plan);
  std::vector<Scope> scopes;
  for (const Invariant& one : plan->tools[0].input_assertions) scopes.push_back(one.scope);
  EXPECT_EQ(scopes, (std::vector<Scope>{Scope::Boundary, Scope::Call, Scope::Call, Scope::Boundary, Scope::Boundary,
                                        Scope::Call}));
}

TEST(PlanOf, ResourcesOfPreconditionsMayBeElsewhereInTheEarlierCall) {
  PackSource pack;
  pack.contracts = {
      tool_file("a"),
      tool_file("b",
                "preconditions:\n  - {requires_prior_tool: a, resource: {bind_from: arguments, path: $.id}}\n"
                "  - {requires_prior_tool: a, resource: {bind_from: arguments, path: $.id, prior_path: $.order}}\n"
                "  - {requires_step_count: {gte: 3}}\n")};
  const auto plan = plan_of(pack);
  ASSERT_TRUE(plan);
  const auto& preconditions = plan->tools[1].preconditions;
  ASSERT_EQ(preconditions.size(), 3u);
  EXPECT_EQ(preconditions[0].prior_resource->text, "$.id");
  EXPECT_EQ(preconditions[1].resource->text, "$.id");
  EXPECT_EQ(preconditions[1].prior_resource->text, "$.order");
  EXPECT_FALSE(preconditions[2].prior);
  EXPECT_EQ(preconditions[2].steps, 3);
}

TEST(PlanOf, TheGateDecidesBeforeTheRiskDefaults) {
  PackSource pack;
  pack.session = session_file("risk_defaults: {read: block, write: allow}\n");
  pack.contracts = {tool_file("a"), tool_file("b", "gate: allow\n"), tool_file("c", "", "write"),
                    tool_file("d", "gate: block\n", "write"), tool_file("e", "", "financial")};
  const auto plan = plan_of(pack);
  ASSERT_TRUE(plan);
  std::vector<bool> passes;
  for (const Tool& tool : plan->tools) passes.push_back(tool.passes_gate);
  EXPECT_EQ(passes, (std::vector<bool>{false, true, true, false, false}));
}

TEST(PlanOf, KeepsWhatDecimalsSay) {
  PackSource pack;
  pack.contracts = {tool_file("t", "argument_value_invariants: [{path: $.a, lte: 0.300000000000000001}]\n")};
  const auto plan = plan_of(pack);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->tools[0].arguments.at(0).tests.at(0).number > json::Decimal::from_number("0.3"));
}

TEST(PlanOf, KnowsWhatASessionMustBringAlong) {
  const auto plan = plan_of(case_pack("tool_fields.yaml"));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->needs_principal);
  EXPECT_EQ(plan->environment, std::vector<std::string>{"ACCOUNT"});
}

// --- what schemas give ------------------------------------------------------------------------------------------------------------

// "path: op value, ...; ..." of what came from the schema.
std::string derived(const PackSource& pack) {
  const auto plan = plan_of(pack);
  if (!plan) return "no plan";
  std::string out;
  for (const Invariant& one : plan->tools[0].arguments) {
    if (one.origin != Origin::Schema) continue;
    out += (out.empty() ? "" : "; ") + one.at.text + ":";
    for (const Test& test : one.tests) out += " " + std::string(name_of(test.op)) + " " + json::write(test.value);
  }
  return out;
}

PackSource with_schema(const std::string& properties, const std::string& rest = "", const std::string& session = "") {
  PackSource pack;
  pack.contracts = {tool_file("t", rest)};
  pack.session = session_file(session);
  pack.tools = SourceFile{
      "tools.json", R"({"tools":[{"name":"t","inputSchema":{"type":"object","properties":)" + properties + "}}]}"};
  return pack;
}

TEST(Derived, EachKeywordIsAnOperator) {
  EXPECT_EQ(derived(with_schema(R"({"a":{"minimum":1},"b":{"maximum":2},"c":{"pattern":"^x"},"d":{"enum":["p",1]},)"
                                R"("e":{"const":null},"f":{"minLength":3},"g":{"maxLength":4}})")),
            "$['a']: gte 1; $['b']: lte 2; $['c']: regex \"^x\"; $['d']: one_of [\"p\",1]; $['e']: equals null; "
            "$['f']: length_gte 3; $['g']: length_lte 4");
}

TEST(Derived, OnlyLeavesAndOnlyWhatIsListed) {
  EXPECT_EQ(
      derived(with_schema(R"({"a":{"type":"object","minimum":9,"properties":{"b":{"minimum":1,"format":"x"}}},)"
                          R"("c":{"exclusiveMinimum":1},"d":{"minimum":"1"},"e":{"anyOf":[],"maximum":5},"f":true})")),
      "$['a']['b']: gte 1; $['e']: lte 5");
}

TEST(Derived, AWrittenInvariantTakesTheWholePath) {
  const std::string schema = R"({"a":{"minimum":1,"maximum":9},"b":{"minimum":1}})";
  EXPECT_EQ(derived(with_schema(schema, "argument_value_invariants: [{path: \"$['a']\", type: integer}]\n")),
            "$['b']: gte 1");
  // Only argument_value_invariants do: the others are looked at besides.
  EXPECT_EQ(derived(with_schema(schema, "execution_constraints: {arguments: [{path: $.a, gte: 0}]}\n")),
            "$['a']: gte 1 lte 9; $['b']: gte 1");
}

TEST(Derived, ExclusionsTakeWhatIsBelow) {
  const std::string schema = R"({"a":{"properties":{"b":{"minimum":1},"c":{"minimum":2}}},"ab":{"minimum":3}})";
  EXPECT_EQ(derived(with_schema(schema, "schema_derived_exclude: [$.a]\n")), "$['ab']: gte 3");
  EXPECT_EQ(derived(with_schema(schema, "schema_derived_exclude: [$.a.b]\n")), "$['a']['c']: gte 2; $['ab']: gte 3");
}

TEST(Derived, EitherSwitchTurnsItOff) {
  const std::string schema = R"({"a":{"minimum":1}})";
  EXPECT_EQ(derived(with_schema(schema)), "$['a']: gte 1");
  EXPECT_EQ(derived(with_schema(schema, "schema_derived: false\n")), "");
  EXPECT_EQ(derived(with_schema(schema, "", "schema_derived: false\n")), "");
  EXPECT_EQ(derived(with_schema(schema, "schema_derived: true\n", "schema_derived: false\n")), "");
  EXPECT_EQ(derived(with_schema(schema, "schema_derived: false\n", "schema_derived: true\n")), "");
}

TEST(Derived, NamesThatNeedQuotesKeepThem) {
  EXPECT_EQ(derived(with_schema(R"({"it's a\\b":{"minimum":1},"":{"minimum":2}})")),
            R"($['it\'s a\\b']: gte 1; $['']: gte 2)");
}

TEST(Compile, ToolDefinitionsInEveryForm) {
  const std::string schema = R"({"type":"object","properties":{"a":{"minimum":1}}})";
  const std::map<std::string, std::string> kForms = {
      {"MCP", R"({"tools":[{"name":"t","inputSchema":)" + schema + "}]}"},
      {"MCP result", R"({"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":)" + schema + "}]}}"},
      {"Anthropic", R"([{"name":"t","description":"d","input_schema":)" + schema + "}]"},
      {"OpenAI chat", R"([{"type":"function","function":{"name":"t","parameters":)" + schema + "}}]"},
      {"OpenAI responses", R"([{"type":"function","name":"t","parameters":)" + schema + ",\"strict\":true}]"},
      {"OpenAI request", R"({"tools":[{"type":"function","function":{"name":"t","parameters":)" + schema + "}}]}"}};
  for (const auto& [name, text] : kForms) {
    PackSource pack = with_schema("{}");
    pack.tools->text = text;
    EXPECT_EQ(derived(pack), "$['a']: gte 1") << name;
  }
}

TEST(Compile, ToolDefinitionsThatAreNone) {
  for (const char* text :
       {"{", "5", "{}", R"({"tools":{}})", "[5]", "[{}]", R"([{"name":5}])", R"([{"name":"t"},{"name":"t"}])"}) {
    PackSource pack = with_schema("{}");
    pack.tools->text = text;
    const Compiled compiled = compile(pack);
    EXPECT_EQ(codes_of(compiled.findings), std::vector<std::string>{"TOOLS_FILE"}) << text;
    EXPECT_EQ(compiled.findings.at(0).file, "tools.json");
    EXPECT_FALSE(compiled.plan) << text;
  }
  // A tool without a schema, and one that has no contract, are nothing to complain about.
  PackSource pack = with_schema("{}");
  pack.tools->text = R"([{"name":"t"},{"name":"other","inputSchema":{}}])";
  EXPECT_TRUE(plan_of(pack));
}

TEST(Compile, OutputSchemasTellWhatAPreconditionCanHope) {
  PackSource pack;
  pack.contracts = {tool_file("a"), tool_file("b",
                                              "preconditions: [{requires_prior_tool: a, with_output: "
                                              "[{path: $.state, equals: open}]}]\n")};
  const auto with = [&](const std::string& states) {
    pack.tools =
        SourceFile{"tools.json", R"([{"name":"a","inputSchema":{},"outputSchema":{"properties":{"state":{"enum":)" +
                                     states + "}}}}]"};
    return find(analyse(*plan_of(pack)).findings, Code::precondition_output_contradiction) != nullptr;
  };
  EXPECT_TRUE(with(R"(["shut","lost"])"));
  EXPECT_FALSE(with(R"(["open","shut"])"));
}

// --- workflows --------------------------------------------------------------------------------------------------------------------

WorkflowSource workflow_source() {
  return *scenario_packs(read_file(tests_folder() / "contracts" / "workflow.yaml")).at(0).workflow;
}

TEST(Workflow, ThePlanSaysWhatTheFileSays) {
  const CompiledWorkflow compiled = compile_workflow(workflow_source());
  ASSERT_TRUE(compiled.plan) << shown(compiled.findings);
  const WorkflowPlan& plan = *compiled.plan;
  EXPECT_EQ(plan.name, "sales");
  ASSERT_EQ(plan.roles.size(), 2u);
  EXPECT_EQ(plan.roles[1].session_contract, "b/session.yaml");
  EXPECT_EQ(plan.roles[0].plan->resources.size(), 2u);
  ASSERT_EQ(plan.handoffs.size(), 1u);
  EXPECT_EQ(plan.handoffs[0].from, 0u);
  EXPECT_EQ(plan.handoffs[0].to, 1u);
  EXPECT_EQ(plan.handoffs[0].artifacts, std::vector<std::string>{"summary"});
  EXPECT_EQ(plan.handoffs[0].close_policy, ClosePolicy::Terminate);
  EXPECT_EQ(plan.close_policy, ClosePolicy::Abandon);
  EXPECT_EQ(plan.max_sessions, 1);
  EXPECT_EQ(plan.max_total_cost->text(), "0.5");
  EXPECT_EQ(plan.shared.at(2).mode, SharedMode::SerialOnly);
  EXPECT_TRUE(plan.subtree_kill && plan.operator_only_kill);
}

TEST(Workflow, ParentClosePolicyMayStandUnderCancellation) {
  WorkflowSource source = workflow_source();
  const std::string hash = compile_workflow(source).plan->hash;
  json::Value document = value_of(source.workflow.text);
  json::Value policy = *document.find("parent_close_policy");
  document.erase("parent_close_policy");
  document.find("cancellation")->set("parent_close_policy", std::move(policy));
  source.workflow.text = json::write(document);
  const CompiledWorkflow compiled = compile_workflow(source);
  ASSERT_TRUE(compiled.plan) << shown(compiled.findings);
  EXPECT_EQ(compiled.plan->close_policy, ClosePolicy::Abandon);
  EXPECT_EQ(compiled.plan->hash, hash);
}

TEST(Workflow, EveryChangeChangesTheHash) {
  const WorkflowSource source = workflow_source();
  const std::string hash = compile_workflow(source).plan->hash;
  std::vector<Leaf> all;
  leaves(all, value_of(source.workflow.text), kWorkflowShape, "", "");
  std::set<std::string> changed;
  for (const Leaf& leaf : all)
    for (const json::Value& other : others(leaf)) {
      json::Value document = value_of(source.workflow.text);
      ASSERT_TRUE(document.set_at(leaf.pointer, other));
      WorkflowSource with = source;
      with.workflow.text = json::write(document);
      const CompiledWorkflow compiled = compile_workflow(with);
      if (!compiled.plan) continue;
      changed.insert(leaf.field);
      // Where the files of roles are says nothing about what may happen: their own hashes do.
      EXPECT_EQ(compiled.plan->hash == hash, leaf.field == ".roles[].session_contract") << leaf.pointer;
    }
  EXPECT_EQ(changed, (std::set<std::string>{".workflow", ".roles[].session_contract", ".handoffs[].from",
                                            ".handoffs[].requires_artifacts[]", ".handoffs[].parent_close_policy",
                                            ".workflow_limits.max_sessions", ".workflow_limits.max_active_sessions",
                                            ".workflow_limits.max_total_steps", ".workflow_limits.max_total_cost",
                                            ".workflow_limits.max_open_handoffs", ".shared_resources[].mode",
                                            ".cancellation.subtree_kill", ".parent_close_policy.default"}));
  const auto kill = source.workflow.text.find(",\"workflow_kill\":\"operator_only\"");
  ASSERT_NE(kill, std::string::npos);
  WorkflowSource anybody = source;
  anybody.workflow.text.erase(kill, 32);
  ASSERT_TRUE(compile_workflow(anybody).plan);
  EXPECT_NE(compile_workflow(anybody).plan->hash, hash);
  WorkflowSource with = source;
  with.packs.at("a").session->text.insert(1, "\"session_limits\":{\"max_steps\":3},");
  ASSERT_TRUE(compile_workflow(with).plan);
  EXPECT_NE(compile_workflow(with).plan->hash, hash);
}

TEST(Workflow, FindingsOfItsPacksNameTheirFiles) {
  WorkflowSource source = workflow_source();
  source.packs.at("b").contracts.push_back(tool_file("t", "gate: ajar\n"));
  const CompiledWorkflow compiled = compile_workflow(source);
  EXPECT_FALSE(compiled.plan);
  ASSERT_EQ(codes_of(compiled.findings), std::vector<std::string>{"FIELD_ENUM"}) << shown(compiled.findings);
  EXPECT_EQ(compiled.findings[0].file, "t.yaml");
}

TEST(Workflow, SaysWhichFilesItsRolesName) {
  EXPECT_EQ(
      session_contracts({"workflow.yaml", "roles: [{name: a, session_contract: x/session.yaml}, {name: b}, 5]\n"}),
      (std::map<std::string, std::string>{{"a", "x/session.yaml"}}));
  EXPECT_TRUE(session_contracts({"workflow.yaml", "roles: ["}).empty());
}

// --- the published reference --------------------------------------------------------------------------------------------------------

PackSource read_pack(const std::filesystem::path& folder) {
  PackSource out;
  for (const auto& path : yaml_files(folder)) {
    if (path.filename() == "session.yaml") out.session = read_file(path);
    else if (path.filename() != "workflow.yaml") out.contracts.push_back(read_file(path));
  }
  if (std::filesystem::exists(folder / "tools.json")) {
    out.tools = read_file(folder / "tools.json");
    out.tools->is_json = false;
  }
  if (std::filesystem::exists(folder / "golden"))
    for (const auto& entry : std::filesystem::directory_iterator(folder / "golden"))
      out.golden["golden/" + entry.path().filename().string()] = read_file(entry.path()).text;
  return out;
}

TEST(Reference, SessionAndContractsCompileWithoutAWord) {
  const Compiled compiled = compile(read_pack(tests_folder() / "contracts" / "reference" / "session"));
  EXPECT_TRUE(compiled.findings.empty()) << shown(compiled.findings);
  ASSERT_TRUE(compiled.plan);
  const Plan& plan = *compiled.plan;
  const Analysis analysis = analyse(plan);
  EXPECT_TRUE(analysis.findings.empty()) << shown(analysis.findings);
  ASSERT_EQ(analysis.suppressed.size(), 1u);
  EXPECT_EQ(analysis.suppressed[0].tool, "sentinel_tool");
  EXPECT_EQ(plan.limits.max_cost->text(), "10");
  EXPECT_EQ(plan.limits.max_calls.at(*plan.find_tool("dangerous_tool")), 1);
  EXPECT_EQ(plan.rules.size(), 2u);
  EXPECT_EQ(plan.label_gates.at(0).tools.size(), 2u);
  EXPECT_EQ(plan.providers.size(), 2u);
  EXPECT_EQ(plan.aggregates.at(1).when.at(0).then.lte->text(), "10");
  EXPECT_EQ(plan.aggregates.at(1).when.at(0).tests.at(0).number.text(), "0.1");
  EXPECT_EQ(plan.envelopes.at(0).constraint, Constraint::LteCeiling);
  EXPECT_EQ(plan.checkpoints.at(0).timeout_seconds.text(), "300");
}

TEST(Reference, FragmentsOfContractsCompile) {
  const Compiled compiled = compile(read_pack(tests_folder() / "contracts" / "reference" / "tools"));
  EXPECT_FALSE(has_errors(compiled.findings)) << shown(compiled.findings);
  ASSERT_TRUE(compiled.plan);
  EXPECT_FALSE(has_errors(analyse(*compiled.plan).findings)) << shown(analyse(*compiled.plan).findings);
  const Plan& plan = *compiled.plan;
  const Tool& consumer = plan.tools[*plan.find_tool("consumer")];
  EXPECT_EQ(consumer.arguments.at(1).tolerance->text(), "0.01");
  ASSERT_EQ(consumer.arguments.size(), 3u);  // two that are written, and metadata.note from the schema
  EXPECT_EQ(consumer.arguments[2].at.text, "$['metadata']['note']");
  EXPECT_EQ(consumer.checkpoint->context.at(1).label, "Notional Value");
  EXPECT_TRUE(plan.tools[*plan.find_tool("schema_off")].arguments.empty());
  EXPECT_EQ(plan.tools[*plan.find_tool("preconditions")].preconditions.size(), 4u);
  EXPECT_EQ(plan.tools[*plan.find_tool("argument_values")].arguments.size(), 6u);
}

TEST(Reference, WorkflowCompiles) {
  const auto folder = tests_folder() / "contracts" / "reference" / "workflow";
  WorkflowSource source{read_file(folder / "workflow.yaml"), {}};
  for (const auto& [role, file] : session_contracts(source.workflow))
    source.packs.emplace(role, read_pack((folder / file).parent_path()));
  ASSERT_EQ(source.packs.size(), 2u);
  const CompiledWorkflow compiled = compile_workflow(source);
  EXPECT_TRUE(compiled.findings.empty()) << shown(compiled.findings);
  ASSERT_TRUE(compiled.plan);
  EXPECT_EQ(compiled.plan->max_total_cost->text(), "25");
  EXPECT_EQ(compiled.plan->handoffs.at(0).artifacts, std::vector<std::string>{"task_summary"});
}

}  // namespace
}  // namespace baton::contract
