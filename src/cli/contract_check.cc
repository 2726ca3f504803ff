// SPDX-License-Identifier: Apache-2.0
// baton contract check: compiles packs, looks at them as a whole, and says what is wrong and where.
#include <algorithm>

#include "base/text.h"
#include "cli/contract.h"
#include "cli/pack.h"
#include "cli/render.h"

namespace baton::cli {
namespace {

struct Arguments {
  std::vector<std::string> packs;
  std::string format = "human";
  bool strict = false, quiet = false;
};

// A finding for reading: the calls that show it are part of its help.
Diagnostic shown(const contract::Finding& finding) {
  Diagnostic out = finding.diagnostic;
  if (!finding.calls.empty()) out.help += "; shown by the calls: " + join(finding.calls, " -> ");
  return out;
}

std::string counted(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

json::Value as_json(const contract::Finding& finding) {
  const Diagnostic& diagnostic = finding.diagnostic;
  json::Value out = json::Value::object();
  out.set("code", info(diagnostic.code).name);
  out.set("severity", severity_name(diagnostic.severity));
  out.set("file", finding.file);
  if (diagnostic.place.line > 0) {
    out.set("line", diagnostic.place.line);
    out.set("column", diagnostic.place.column);
  }
  if (!diagnostic.place.pointer.empty()) out.set("pointer", diagnostic.place.pointer);
  out.set("message", diagnostic.message);
  out.set("help", diagnostic.help);
  if (!finding.text.empty()) out.set("text", finding.text);
  for (const auto& [name, value] :
       {std::pair{"tool", &finding.tool}, std::pair{"phase", &finding.phase}, std::pair{"name", &finding.name}})
    if (!value->empty()) out.set(name, *value);
  if (!finding.calls.empty()) {
    json::Value calls = json::Value::array();
    for (const std::string& call : finding.calls) calls.push(call);
    out.set("calls", std::move(calls));
  }
  return out;
}

class Check {
 public:
  Check(World& world, const Arguments& arguments)
      : world_(world), arguments_(arguments), format_(*find_format(arguments.format)) {
    options_.strict = arguments.strict;
  }

  int run() {
    for (const std::string& path : arguments_.packs) status_ = std::max(status_, check(path));
    if (format_ == Format::Sarif) world_.print(render_sarif(sarif_));
    return status_;
  }

 private:
  int check(const std::string& path) {
    const auto folder = read_pack(world_, path);
    if (!folder) return could_not(world_, folder.error().text());
    const Checked checked = check_pack(*folder, options_);
    const bool valid = !has_errors(checked.findings);
    switch (format_) {
      case Format::Human: print_human(path, *folder, checked, valid); break;
      case Format::Json: print_json(path, checked, valid); break;
      case Format::Github:
        for (const contract::Finding& finding : checked.findings)
          world_.print(render_github({shown(finding)}, finding.file));
        break;
      case Format::Sarif:
        for (const contract::Finding& finding : checked.findings)
          sarif_.push_back({finding.file, std::string(text_of(*folder, finding.file)), {shown(finding)}});
        break;
    }
    return valid ? kYes : kNo;
  }

  void print_human(const std::string& path, const PackFolder& folder, const Checked& checked, bool valid) {
    std::size_t errors = 0, warnings = 0, notes = 0;
    for (const contract::Finding& finding : checked.findings) {
      const Severity severity = finding.diagnostic.severity;
      ++(severity == Severity::Error ? errors : severity == Severity::Warning ? warnings : notes);
      if (arguments_.quiet && severity == Severity::Info) continue;
      world_.print(render_human({shown(finding)}, finding.file, text_of(folder, finding.file), world_.colour));
    }
    std::string line = printable(path, 200) + ": ";
    if (!valid) {
      line += "not valid (" + counted(errors, "error");
    } else {
      std::size_t tools = 0, phases = 0;
      for (const CheckedPack& pack : checked.packs)
        if (pack.plan) {
          tools += pack.plan->tools.size();
          phases += pack.plan->phases.size();
        }
      line += "valid (" + counted(tools, "tool") + ", " + counted(phases, "phase");
      if (checked.workflow) line += ", " + counted(checked.workflow->roles.size(), "role");
    }
    if (warnings > 0) line += ", " + counted(warnings, "warning");
    if (notes > 0) line += ", " + counted(notes, "note");
    if (!checked.suppressed.empty()) line += ", " + std::to_string(checked.suppressed.size()) + " suppressed";
    line += ")\n";
    for (const CheckedPack& pack : checked.packs)
      if (pack.plan) line += "  " + (pack.name.empty() ? std::string() : pack.name + " ") + pack.plan->hash + "\n";
    if (checked.workflow) line += "  workflow " + checked.workflow->hash + "\n";
    world_.print(line);
  }

  void print_json(const std::string& path, const Checked& checked, bool valid) {
    json::Value out = json::Value::object();
    out.set("pack", path);
    out.set("valid", valid);
    json::Value findings = json::Value::array(), suppressed = json::Value::array(), packs = json::Value::array();
    for (const contract::Finding& finding : checked.findings) findings.push(as_json(finding));
    for (const contract::Finding& finding : checked.suppressed) suppressed.push(as_json(finding));
    for (const CheckedPack& pack : checked.packs) {
      if (!pack.plan) continue;
      json::Value one = json::Value::object();
      if (!pack.name.empty()) one.set("role", pack.name);
      one.set("hash", pack.plan->hash);
      one.set("tools", pack.plan->tools.size());
      one.set("phases", pack.plan->phases.size());
      packs.push(std::move(one));
    }
    out.set("findings", std::move(findings));
    out.set("suppressed", std::move(suppressed));
    out.set("packs", std::move(packs));
    if (checked.workflow) out.set("workflow", checked.workflow->hash);
    world_.print(json::write(redacted(out)) + "\n");
  }

  World& world_;
  const Arguments& arguments_;
  const Format format_;
  contract::CompileOptions options_;
  std::vector<SarifDocument> sarif_;
  int status_ = kYes;
};

}  // namespace

void add_contract_check(Command& contract, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = contract.add_subcommand("check", "Is the pack right, and can the agent still finish?");
  command->add_option("PACK", arguments->packs, "Folders of packs (default: this one)");
  command->add_option("--format", arguments->format, "human, json (a line for each pack), sarif or github")
      ->one_of({"human", "json", "sarif", "github"});
  command->add_flag("--strict", arguments->strict, "Take warnings for errors");
  command->add_flag("--quiet", arguments->quiet, "Leave notes out");
  examples(*command,
           "  baton contract check my-pack\n"
           "  baton contract check packs/* --strict\n"
           "  baton contract check my-pack --format github     in a workflow of GitHub");
  command->callback([arguments, &chosen] {
    chosen = [arguments](World& world) {
      if (arguments->packs.empty()) arguments->packs = {"."};
      return Check(world, *arguments).run();
    };
  });
}

}  // namespace baton::cli
