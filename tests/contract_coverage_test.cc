// SPDX-License-Identifier: Apache-2.0
// Does every field, operator, word and code of contracts have a case that is right and one that is wrong?
//
// Read from the tables themselves: the shapes (contract/shapes.h) and diagnostics/contract.def. A field is right in a case
// whose pack has no error and uses it, and wrong in one where a finding is placed at it. A code has a case that expects it, and
// one whose `why` begins with `not CODE`, in which it is not reported; that is checked here.
#include <map>
#include <set>

#include "contract/scenario.h"
#include "contract/shapes.h"
#include "contract_world.h"
#include "json/parse.h"
#include "json/pointer.h"
#include "yaml/yaml.h"

namespace baton::contract {
namespace {

// Codes that no case file can bring about, and the tests that do.
const std::map<std::string_view, std::string_view> kElsewhere = {
    {"SCENARIO_FILE", "Cases.AFileThatIsNoScenarioIsNotJudged"},
    {"TOOLS_FILE", "Compile.ToolDefinitionsThatAreNone"},
    {"TOOLS_LOCK", "ToolsLock.AFileThatIsWrongMakesNoPlan"},
    {"TOOL_OF_SEVERAL_SERVERS", "ToolsLock.ABareContractOfSeveralServersIsWarnedOf"},
    {"graph_undecided", "Budget.IsSaidWhenItRunsOut"}};

// --- what there is ------------------------------------------------------------------------------------------------------------

struct Table {
  std::map<const Field*, std::string> fields;  // with a place where it is, for reading
  std::map<const Shape*, std::string> words;   // shapes that are enumerations
  std::set<const Field*> free;                 // may be anything and may be left out: nothing can be wrong with them

  void add(const Shape& shape, const std::string& at) {
    if (!shape.values.empty()) words.emplace(&shape, at);
    for (const Field& field : shape.fields) {
      const std::string below = at + "." + std::string(field.name);
      if (!fields.emplace(&field, below).second) continue;
      if (field.shape.form == Form::Any && !field.required) free.insert(&field);
      add(field.shape, below);
    }
    if (shape.element != nullptr) add(*shape.element, at + "[]");
    for (const Shape* one : shape.alternatives) add(*one, at);
  }
};

// --- what the cases have --------------------------------------------------------------------------------------------------------

struct Seen {
  std::set<const Field*> right, wrong;
  std::set<std::pair<const Shape*, std::string>> right_words;
  std::set<const Shape*> wrong_words;
  std::set<std::string> right_operators, wrong_operators;
  std::set<std::string> expected, not_reported;
};

const Shape& form_for(const Shape& shape, json::Node value) {
  for (const Shape* one : shape.alternatives)
    if ((one->form == Form::Text && value.is_string()) || (one->form == Form::List && value.is_array()) ||
        (one->form == Form::Object && value.is_object()))
      return *one;
  return shape;
}

bool is_operator(std::string_view name) {
  return std::ranges::find(kOperatorNames, name) != kOperatorNames.end() || name == "ref" || name == "tolerance";
}

void note_right(Seen& seen, json::Node value, const Shape& any) {
  const Shape& shape = form_for(any, value);
  if (!shape.values.empty() && value.is_string()) seen.right_words.emplace(&shape, value.string());
  for (const json::Node element : value.elements())
    if (shape.element != nullptr) note_right(seen, element, *shape.element);
  for (const json::Member member : value.members()) {
    if (shape.form == Form::Map) note_right(seen, member.value, *shape.element);
    const auto field = std::ranges::find(shape.fields, member.name(), &Field::name);
    if (field == shape.fields.end()) continue;
    seen.right.insert(&*field);
    if (!shape.any_of.empty() && is_operator(member.name())) seen.right_operators.emplace(member.name());
    note_right(seen, member.value, field->shape);
  }
}

// The last field on the way to a place, and the shape there.
void note_wrong(Seen& seen, json::Node root, const Shape& top, const Finding& finding) {
  const auto steps = json::split_pointer(finding.diagnostic.place.pointer);
  ASSERT_TRUE(steps.has_value());
  json::Node value = root;
  const Shape* shape = &form_for(top, value);
  const Field* last = nullptr;
  for (const std::string& step : *steps) {
    if (shape->form == Form::Object) {
      const auto field = std::ranges::find(shape->fields, step, &Field::name);
      if (finding.diagnostic.code == Code::INVARIANT_OPERATOR_NOT_ALLOWED) seen.wrong_operators.insert(step);
      if (field == shape->fields.end()) return;  // a member that is none
      if (!shape->any_of.empty() && is_operator(step)) seen.wrong_operators.insert(step);
      last = &*field;
      value = value[step];
      shape = &form_for(field->shape, value);
    } else if (shape->element != nullptr) {
      value = value.is_array() ? value.element(std::stoul(step)) : value[step];
      shape = &form_for(*shape->element, value);
    } else {
      return;
    }
  }
  if (last != nullptr) seen.wrong.insert(last);
  const Code code = finding.diagnostic.code;
  if (!shape->values.empty() && (code == Code::FIELD_ENUM || (code == shape->wrong && code != Code::FIELD_TYPE)))
    seen.wrong_words.insert(shape);
}

struct Opened {
  std::string file;
  const Shape* shape;
  json::Document document;
};

void open(std::vector<Opened>& out, const SourceFile& file, const Shape& shape) {
  if (file.is_json) {
    auto parsed = json::parse_owned(file.text);
    ASSERT_TRUE(parsed) << file.text;
    out.push_back({file.name, &shape, std::move(*parsed)});
  } else if (auto parsed = yaml::parse(file.text); parsed.document) {
    out.push_back({file.name, &shape, std::move(*parsed.document)});
  }
}
void open(std::vector<Opened>& out, const PackSource& pack) {
  if (pack.session) open(out, *pack.session, kSessionShape);
  for (const SourceFile& file : pack.contracts) open(out, file, kToolShape);
}

// What is reported of a pack: codes, those of the graph with their prefix.
std::set<std::string> reported(const Plan& plan) {
  std::set<std::string> out;
  for (const Finding& finding : analyse(plan).findings) {
    const std::string name(info(finding.diagnostic.code).name);
    out.insert(is_graph_check(name) ? "graph:" + name : name);
  }
  return out;
}

void look(Seen& seen, const ScenarioPack& source, std::string_view why) {
  std::vector<Opened> files;
  std::vector<Finding> findings;
  std::set<std::string> codes;
  if (source.workflow) {
    const CompiledWorkflow compiled = compile_workflow(*source.workflow, source.options);
    findings = compiled.findings;
    open(files, source.workflow->workflow, kWorkflowShape);
    if (compiled.plan)
      for (const WorkflowRole& role : compiled.plan->roles) codes.merge(reported(*role.plan));
  } else {
    const Compiled compiled = compile(source.pack, source.options);
    findings = compiled.findings;
    open(files, source.pack);
    if (compiled.plan) codes = reported(*compiled.plan);
  }
  codes.merge(code_set(findings));
  for (const Opened& file : files) {
    if (!has_errors(findings)) note_right(seen, file.document.root(), *file.shape);
    for (const Finding& finding : findings)
      if (finding.file == file.file) note_wrong(seen, file.document.root(), *file.shape, finding);
  }
  if (!why.starts_with("not ")) return;
  const std::string code(why.substr(4, why.substr(4).find_first_of(" ,")));
  EXPECT_FALSE(codes.contains(code)) << why;
  seen.not_reported.insert(code);
}

Seen all_cases() {
  Seen seen;
  for (const auto& path : yaml_files(tests_folder() / "contracts")) {
    const SourceFile file = read_file(path);
    const std::vector<ScenarioPack> packs = scenario_packs(file);
    const yaml::Parsed parsed = yaml::parse(file.text);
    std::size_t number = 0;
    for (const json::Node entry : parsed.document->root()["cases"].elements()) {
      const json::Node why = entry["why"];
      seen.expected.emplace(entry["code"].string());
      look(seen, packs.at(number++), why.is_string() ? why.string() : std::string_view());
    }
    EXPECT_EQ(number, packs.size());
  }
  return seen;
}

class Coverage : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    seen_ = all_cases();
    table_ = {};
    table_.add(kToolShape, "tool");
    table_.add(kSessionShape, "session");
    table_.add(kWorkflowShape, "workflow");
  }
  static inline Seen seen_;
  static inline Table table_;
};

TEST_F(Coverage, EveryFieldIsRightInOneCaseAndWrongInAnother) {
  EXPECT_GT(table_.fields.size(), 150u);  // the tables were walked
  for (const auto& [field, at] : table_.fields) {
    // The two forms of a golden case exclude each other, and one needs a file: Compile.GoldenFilesAreThere.
    const bool with_file = at == "tool.golden_cases[].input_ref" || at == "tool.golden_cases[].expect_ok" ||
                           at == "tool.golden_cases[].expected_error";
    EXPECT_TRUE(with_file || seen_.right.contains(field)) << at << " is in no case that is right";
    EXPECT_TRUE(table_.free.contains(field) || seen_.wrong.contains(field)) << at << " is wrong in no case";
  }
}

TEST_F(Coverage, EveryWordIsUsedAndEveryEnumerationRefusesOne) {
  EXPECT_GT(table_.words.size(), 15u);
  for (const auto& [shape, at] : table_.words) {
    for (const std::string_view word : shape->values)
      EXPECT_TRUE(seen_.right_words.contains({shape, std::string(word)})) << at << ": no case with " << word;
    EXPECT_TRUE(seen_.wrong_words.contains(shape)) << at << ": no case with a word that is none";
  }
}

TEST_F(Coverage, EveryOperatorIsTakenAndRefused) {
  std::vector<std::string> operators(kOperatorNames.begin(), kOperatorNames.end());
  operators.insert(operators.end(), {"ref", "tolerance"});
  EXPECT_EQ(operators.size(), 14u);
  for (const std::string& name : operators) {
    EXPECT_TRUE(seen_.right_operators.contains(name)) << name << " is in no case that is right";
    EXPECT_TRUE(seen_.wrong_operators.contains(name)) << name << " is refused in no case";
  }
}

TEST_F(Coverage, EveryCodeIsExpectedAndKeptAwayFrom) {
  const std::vector<std::string_view> kCodes = {
#define DIAGNOSTIC(code, severity, message, help) #code,
#include "diagnostics/contract.def"
#undef DIAGNOSTIC
  };
  EXPECT_GT(kCodes.size(), 100u);
  for (const std::string_view code : kCodes) {
    if (kElsewhere.contains(code)) continue;
    const std::string name = (is_graph_check(code) ? "graph:" : "") + std::string(code);
    EXPECT_TRUE(seen_.expected.contains(name)) << name << " is expected in no case";
    EXPECT_TRUE(seen_.not_reported.contains(name)) << name << " has no case that only just does not bring it about";
  }
}

}  // namespace
}  // namespace baton::contract
