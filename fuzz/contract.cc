// SPDX-License-Identifier: Apache-2.0
// Compiling packs, workflows and scenarios from any bytes, and looking at what compiles as a whole.
//
// The first byte chooses. A pack: session.yaml, tools.json and contracts, with 0x1f between them; an empty part is a file that
// is not there. A workflow: workflow.yaml, then the pack of its roles `a` and `b`. A scenario: the whole text.
#include "contract/compile.h"
#include "contract/graph.h"
#include "contract/scenario.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

using contract::Finding;
using contract::PackSource;
using contract::SourceFile;

constexpr contract::GraphBudget kBudget{.states = 500};

std::vector<Diagnostic> diagnostics_of(const std::vector<Finding>& findings) {
  std::vector<Diagnostic> out;
  for (const Finding& finding : findings) out.push_back(finding.diagnostic);
  return out;
}

// Each finding is fit to be shown, and names a line of a file that is there.
void require_findings(const std::vector<Finding>& findings, const std::vector<const SourceFile*>& files) {
  require_presentable(diagnostics_of(findings));
  for (const Finding& finding : findings) {
    const std::string_view name = info(finding.diagnostic.code).name;
    require(find_invalid_utf8(finding.text) == finding.text.size(), "an offending text is UTF-8", name);
    // Two contracts may be in files of the same name.
    bool named = false, inside = false;
    for (const SourceFile* file : files) {
      if (file->name != finding.file) continue;
      named = true;
      inside =
          inside || finding.diagnostic.place.line <= 1 + static_cast<std::size_t>(std::ranges::count(file->text, '\n'));
    }
    require(!named || inside, "a finding's line is one of its file", name);
  }
}

std::vector<const SourceFile*> files_of(const PackSource& pack) {
  std::vector<const SourceFile*> out;
  if (pack.session) out.push_back(&*pack.session);
  if (pack.tools) out.push_back(&*pack.tools);
  for (const SourceFile& file : pack.contracts) out.push_back(&file);
  return out;
}

// The file that a contract would be in.
std::string file_name(std::string_view text) {
  const auto at = text.find("tool: ");
  if (at == std::string_view::npos) return "t.yaml";
  const std::string_view rest = text.substr(at + 6);
  return std::string(rest.substr(0, rest.find('\n'))) + ".yaml";
}

PackSource pack_of(Input& input) {
  PackSource out;
  if (const std::string_view text = input.part(); !text.empty())
    out.session = SourceFile{"session.yaml", std::string(text)};
  if (const std::string_view text = input.part(); !text.empty())
    out.tools = SourceFile{"tools.json", std::string(text)};
  while (!input.rest().empty() && out.contracts.size() < 16) {
    const std::string_view text = input.part();
    out.contracts.push_back({file_name(text), std::string(text)});
  }
  return out;
}

void check_analysis(const contract::Plan& plan) {
  const contract::Analysis first = contract::analyse(plan, "session.yaml", kBudget);
  const contract::Analysis again = contract::analyse(plan, "session.yaml", kBudget);
  require_presentable(diagnostics_of(first.findings));
  require_same_codes(diagnostics_of(first.findings), diagnostics_of(again.findings), "a plan is judged the same again");
  for (const Finding& finding : first.findings)
    for (const std::string& call : finding.calls)
      require(plan.find_tool(call).has_value(), "the calls that show a finding are the plan's tools", call);
}

void check_pack(const PackSource& pack, const contract::CompileOptions& options) {
  const contract::Compiled compiled = contract::compile(pack, options);
  require_findings(compiled.findings, files_of(pack));
  require((compiled.plan != nullptr) == !has_errors(compiled.findings), "a plan, or an error");

  // The order of the files says nothing; a tool that is there twice is reported at the later one, though.
  PackSource turned = pack;
  std::ranges::reverse(turned.contracts);
  const contract::Compiled other = contract::compile(turned, options);
  require((other.plan != nullptr) == (compiled.plan != nullptr), "the order of files does not matter");
  if (!compiled.plan) return;
  require(other.plan->hash == compiled.plan->hash, "the order of files does not change the hash");
  check_analysis(*compiled.plan);
}

void check_workflow(Input& input, const contract::CompileOptions& options) {
  contract::WorkflowSource source;
  source.workflow = {"workflow.yaml", std::string(input.part())};
  source.packs.emplace("a", pack_of(input));
  source.packs.emplace("b", source.packs.at("a"));
  const contract::CompiledWorkflow compiled = contract::compile_workflow(source, options);
  require_findings(compiled.findings, {&source.workflow});
  require((compiled.plan != nullptr) == !has_errors(compiled.findings), "a plan, or an error");
  for (const auto& [role, file] : contract::session_contracts(source.workflow))
    require(!role.empty() && !file.empty(), "a role and its file have names");
}

void check_scenario(std::string_view text) {
  const SourceFile file{"s.yaml", std::string(text)};
  const contract::ScenarioReport report = contract::judge_scenario(file, "");
  require_findings(report.findings, {&file});
  require(report.is_readable() || report.entries.empty(), "what cannot be read is not judged");
  const std::vector<contract::ScenarioPack> packs = contract::scenario_packs(file);
  if (report.is_readable() && report.body == contract::Body::Cases)
    require(packs.size() == report.entries.size(), "there is a pack for each case");
  const contract::CompiledScenario compiled = contract::compile_scenario(file, "");
  if (compiled.body == contract::Body::Run || compiled.body == contract::Body::Events)
    require((compiled.plan || compiled.workflow) == !has_errors(compiled.findings), "a plan, or an error");
}

void run(Input input) {
  const std::uint8_t choice = input.choice();
  contract::CompileOptions options;
  options.strict = (choice & 4) != 0;
  options.without_principal = (choice & 8) != 0;
  if (choice & 16) options.environment.emplace();
  if (choice & 32) options.unwrapped = {"t"};
  switch (choice % 4) {
    case 0:
    case 1: return check_pack(pack_of(input), options);
    case 2: return check_workflow(input, options);
    default: return check_scenario(input.rest());
  }
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run({data, size}); });
}
