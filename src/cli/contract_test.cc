// SPDX-License-Identifier: Apache-2.0
// baton contract test: the golden cases of a pack, each in a fresh session. Nothing is executed.
#include <algorithm>

#include "base/text.h"
#include "cli/contract.h"
#include "cli/input.h"
#include "cli/pack.h"
#include "cli/render.h"
#include "session/golden.h"

namespace baton::cli {
namespace {

using session::GoldenReport;

struct Arguments {
  std::string pack, only, format = "human";
};

struct Tested {
  std::string role;  // empty: the folder itself
  GoldenReport report;
};

std::string shown(const Tested& one) {
  const GoldenReport& report = one.report;
  const std::string where = report.file + ":" + std::to_string(report.line) + ": ";
  const std::string which = "case `" + printable(report.id, 200) + "` of `" + report.tool + "`";
  if (report.outcome == GoldenReport::Outcome::Skipped) return where + which + " is skipped: " + report.because + "\n";
  std::string out = where + which + " differs\n";
  if (!report.input_ref.empty()) out += "  case in:  " + printable(report.input_ref, 400) + "\n";
  out += "  expected: " + printable(report.expected, 400) + "\n  got:      " + printable(report.got, 400) + "\n";
  if (!report.because.empty()) out += "  because:  " + printable(report.because, 400) + "\n";
  return out;
}

void print_human(World& world, const std::string& pack, const std::vector<Tested>& tested) {
  std::string out;
  std::size_t as_expected = 0, skipped = 0;
  for (const Tested& one : tested) {
    if (one.report.outcome == GoldenReport::Outcome::AsExpected) ++as_expected;
    else out += shown(one);
    if (one.report.outcome == GoldenReport::Outcome::Skipped) ++skipped;
  }
  out += pack + ": " + std::to_string(as_expected) + " of " + std::to_string(tested.size() - skipped) +
         " cases as expected";
  if (skipped > 0) out += ", " + std::to_string(skipped) + " skipped";
  world.print(out + "\n");
}

void print_json(World& world, const std::string& pack, const std::vector<Tested>& tested, bool passed) {
  json::Value out = json::Value::object();
  out.set("pack", pack);
  out.set("passed", passed);
  json::Value cases = json::Value::array();
  for (const auto& [role, report] : tested) {
    json::Value one = json::Value::object();
    if (!role.empty()) one.set("role", role);
    one.set("tool", report.tool);
    one.set("id", report.id);
    one.set("file", report.file);
    one.set("line", report.line);
    if (!report.input_ref.empty()) one.set("input_ref", report.input_ref);
    one.set("outcome", name_of(report.outcome));
    if (report.outcome != GoldenReport::Outcome::Skipped) {
      one.set("expected", report.expected);
      one.set("got", report.got);
    }
    if (!report.because.empty()) one.set("because", report.because);
    cases.push(std::move(one));
  }
  out.set("cases", std::move(cases));
  world.print(json::write(redacted(out)) + "\n");
}

int run(World& world, const Arguments& arguments) {
  const auto folder = read_pack(world, arguments.pack);
  if (!folder) return could_not(world, folder.error().text());
  const Checked checked = check_pack(*folder, {});
  std::vector<Tested> tested;
  for (const CheckedPack& pack : checked.packs) {
    if (!pack.plan) {
      for (const contract::Finding& finding : checked.findings)
        if (finding.diagnostic.severity == Severity::Error)
          world.print_error(
              render_human({finding.diagnostic}, finding.file, text_of(*folder, finding.file), world.colour_errors));
      return could_not(world, arguments.pack + " does not compile");
    }
    const contract::PackSource& source = pack.name.empty() ? folder->pack : folder->workflow->packs.at(pack.name);
    for (GoldenReport& report : session::judge_golden(*session::make_rules(pack.plan), source.golden, arguments.only))
      tested.push_back({pack.name, std::move(report)});
  }
  if (tested.empty())
    return could_not(world, arguments.only.empty() ? arguments.pack + " has no golden cases"
                                                   : arguments.pack + " has no golden case `" + arguments.only + "`");
  const bool passed = std::ranges::none_of(
      tested, [](const Tested& one) { return one.report.outcome == GoldenReport::Outcome::Differs; });
  if (arguments.format == "json") print_json(world, arguments.pack, tested, passed);
  else print_human(world, arguments.pack, tested);
  return passed ? kYes : kNo;
}

}  // namespace

void add_contract_test(Command& contract, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command =
      contract.add_subcommand("test", "Run the golden cases of a pack: is each call decided as its case says?");
  command->add_option("PACK", arguments->pack, "A folder with a pack; of a workflow the packs of all roles")
      ->required();
  command->add_option("--case", arguments->only, "Only the cases of this id; TOOL/ID for those of one tool");
  command->add_option("--format", arguments->format, "human or json")->one_of({"human", "json"});
  examples(*command,
           "  baton contract test my-pack                           0 all as expected, 1 something differs\n"
           "  baton contract test my-pack --case issue_refund/small  one of them");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return run(world, *arguments); }; });
}

}  // namespace baton::cli
