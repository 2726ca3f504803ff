// SPDX-License-Identifier: Apache-2.0
// baton contract simulate: runs scenario files against their packs. Nothing is executed.
#include <algorithm>
#include <filesystem>

#include "base/limits.h"
#include "base/text.h"
#include "cli/contract.h"
#include "cli/input.h"
#include "cli/render.h"
#include "contract/scenario.h"
#include "session/scenario.h"
#include "workflow/scenario.h"

namespace baton::cli {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string format = "human";
};

class Simulate {
 public:
  Simulate(World& world, const Arguments& arguments) : world_(world), arguments_(arguments) {}

  int run() {
    for (const std::string& file : arguments_.files) status_ = std::max(status_, simulate(file));
    if (arguments_.format == "human" && arguments_.files.size() > 1)
      world_.print(std::to_string(passed_) + " passed, " + std::to_string(failed_) + " differ\n");
    return status_;
  }

 private:
  int simulate(const std::string& path) {
    auto text = read_document(world_, path, limits::kCliDocumentBytesMax);
    if (!text) return could_not(world_, text.error().text());
    const std::filesystem::path name(path);
    if (name.extension() != ".jsonl")
      return judge({source_name(path), std::move(*text), name.extension() == ".json"},
                   path == "-" ? "" : name.stem().string());
    // A scenario a line.
    int status = kYes;
    std::size_t number = 0;
    for (const std::string_view line : split(*text, '\n')) {
      ++number;
      if (trim(line).empty()) continue;
      status = std::max(status, judge({source_name(path) + ":" + std::to_string(number), std::string(line), true}, ""));
    }
    return status;
  }

  int judge(contract::SourceFile file, const std::string& stem) {
    contract::ScenarioReport report = contract::judge_scenario(file, stem);
    if (report.is_readable() && report.body == contract::Body::Run) report = session::judge_run(file, stem);
    if (report.is_readable() && report.body == contract::Body::Events) report = workflow::judge_events(file, stem);
    if (!report.is_readable()) {
      for (const contract::Finding& finding : report.findings)
        world_.print_error(render_human({finding.diagnostic}, file.name, file.text, world_.colour_errors));
      return could_not(world_, file.name + " cannot be read as a scenario");
    }
    const std::size_t wrong =
        static_cast<std::size_t>(std::ranges::count(report.entries, false, &contract::Judged::passed));
    passed_ += report.entries.size() - wrong;
    failed_ += wrong;
    if (arguments_.format == "json") print_json(file.name, report);
    else print_human(file.name, report, wrong);
    return wrong == 0 ? kYes : kNo;
  }

  void print_human(const std::string& name, const contract::ScenarioReport& report, std::size_t wrong) {
    std::string out;
    const std::string what = report.body == contract::Body::Cases ? "case" : "entry";
    for (const contract::Judged& entry : report.entries) {
      if (entry.passed) continue;
      out += name + ":" + std::to_string(entry.place.line) + ": " + what + " " + std::to_string(entry.number) +
             " differs\n";
      out += "  expected: " + printable(entry.expected, 400) + "\n  got:      " + printable(entry.got, 400) + "\n";
      if (!entry.why.empty()) out += "  why:      " + printable(entry.why, 400) + "\n";
    }
    out += name + ": " + std::to_string(report.entries.size() - wrong) + " of " +
           std::to_string(report.entries.size()) + (what == "case" ? " cases" : " entries") + " as expected\n";
    world_.print(out);
  }

  void print_json(const std::string& name, const contract::ScenarioReport& report) {
    json::Value out = json::Value::object();
    out.set("file", name);
    out.set("scenario", report.scenario);
    out.set("passed", report.passed());
    json::Value entries = json::Value::array();
    for (const contract::Judged& entry : report.entries) {
      json::Value one = json::Value::object();
      one.set("number", entry.number);
      one.set("line", entry.place.line);
      one.set("passed", entry.passed);
      if (!entry.passed) {
        one.set("expected", entry.expected);
        one.set("got", entry.got);
      }
      if (!entry.why.empty()) one.set("why", entry.why);
      entries.push(std::move(one));
    }
    out.set("entries", std::move(entries));
    world_.print(json::write(redacted(out)) + "\n");
  }

  World& world_;
  const Arguments& arguments_;
  std::size_t passed_ = 0, failed_ = 0;
  int status_ = kYes;
};

}  // namespace

void add_contract_simulate(Command& contract, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = contract.add_subcommand("simulate", "Run scenario files: what must be decided, is it?");
  command->add_option("FILE", arguments->files, "Scenario files (YAML, JSON, or JSON lines); `-` is standard input")
      ->required();
  command->add_option("--format", arguments->format, "human or json (a line for each scenario)")
      ->one_of({"human", "json"});
  examples(*command,
           "  baton contract simulate scenarios/*.yaml\n  baton contract simulate refunds.yaml --format json");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return Simulate(world, *arguments).run(); }; });
}

}  // namespace baton::cli
