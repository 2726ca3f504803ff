// SPDX-License-Identifier: Apache-2.0
// baton-conform FILE.jsonl...: runs conformance vectors as they stand, prints each disagreement and a score.
//
// What a row tests is seen from its members: a signal, a move, a flag, a scan, a contract, statuses, a merge, a packet, a
// spec, a gate, a canonical form. Exit status 0 when every row agrees, 1 when one does not, 2 when a file cannot be read.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "base/text.h"
#include "checker/checker.h"
#include "dialects/agent_contract/contract.h"
#include "dialects/agent_exit/signal.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "transcript/output_scanner.h"

namespace {

using baton::Code;
using baton::Diagnostic;
using baton::Dialect;
using baton::info;
using baton::join;
using baton::Place;
using baton::Severity;
using baton::Time;
using baton::json::Node;
namespace agent_contract = baton::agent_contract;
namespace agent_exit = baton::agent_exit;
namespace checker = baton::checker;
namespace handoff_spec = baton::handoff_spec;
namespace json = baton::json;
namespace limits = baton::limits;
namespace transcript = baton::transcript;

// What a row should give and what it gave, as comparable text; equal means agreement.
struct Agreement {
  std::string expected, actual;
  bool agrees() const { return expected == actual; }
  void add(const std::string& name, const std::string& want, const std::string& got) {
    expected += name + "=" + want + " ";
    actual += name + "=" + got + " ";
  }
};

std::string text_of(Node node) { return !node ? "absent" : json::write(node); }

std::string distinct(const std::vector<Diagnostic>& diagnostics, std::optional<Severity> severity = std::nullopt) {
  std::vector<std::string> names;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (severity && diagnostic.severity != *severity) continue;
    const std::string name(info(diagnostic.code).name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return join(names, ",");
}

std::string strings(Node list) {
  std::vector<std::string> out;
  for (const Node element : list.elements()) out.emplace_back(element.string());
  return join(out, ",");
}

std::string sorted(const std::string& list) {
  std::set<std::string> names;
  for (const std::string_view name : baton::split(list, ',')) names.emplace(name);
  return join({names.begin(), names.end()}, ",");
}

std::string boolean(bool value) { return value ? "true" : "false"; }

Time time_of(Node row) {
  const Node now = row["now"];
  return now.is_string() ? baton::parse_time(now.string()).time.value_or(Time{}) : Time{};
}

// The document of a row: raw text, a string that is the text, or a value to be written.
std::string document_of(Node row) {
  if (row["raw"].is_string()) return std::string(row["raw"].string());
  return row["input"].is_string() ? std::string(row["input"].string()) : json::write(row["input"]);
}

void run_exit(Node row, Agreement& outcome) {
  const Node expected = row["expected"];
  const auto checked = agent_exit::check(row["input"].string());
  outcome.add("valid", text_of(expected["valid"]), boolean(checked.valid()));
  outcome.add("codes", strings(expected["codes"]), distinct(checked.diagnostics));
  if (expected["text"].is_string()) outcome.add("text", std::string(expected["text"].string()), checked.text());
  const auto next = checked.next_phase();
  outcome.add("next_phase", expected["next_phase"].is_string() ? std::string(expected["next_phase"].string()) : "null",
              next ? std::string(agent_exit::phase_name(*next)) : "null");
  if (expected["text_prefix"].is_string()) {
    const std::string prefix(expected["text_prefix"].string());
    outcome.add("prefix", prefix, checked.text().substr(0, prefix.size()));
  }
  const Place place = checked.diagnostics.empty() ? Place{} : checked.diagnostics.front().place;
  if (expected["line"].is_number()) outcome.add("line", text_of(expected["line"]), std::to_string(place.line));
  if (expected["column"].is_number()) outcome.add("column", text_of(expected["column"]), std::to_string(place.column));
}

void run_move(Node row, Agreement& outcome) {
  const Node expected = row["expected"], phase = row["active_phase"];
  const auto actor = agent_exit::find_actor_kind(row["actor_kind"].string());
  const auto active = phase.is_string() ? agent_exit::find_phase(phase.string()) : std::nullopt;
  // Acting is judged with the flag on, unless the row says otherwise.
  const std::string flag = row["flag"].is_string() ? std::string(row["flag"].string()) : "true";
  const auto verdict = agent_exit::accept(agent_exit::check_if_enabled(row["input"].string(), flag.c_str()), active,
                                          actor.value_or(agent_exit::ActorKind::Agent));
  outcome.add("accepted", text_of(expected["accepted"]), boolean(verdict.accepted()));
  outcome.add("codes", strings(expected["codes"]), distinct(verdict.diagnostics));
  outcome.add("next_phase", expected["next_phase"].is_string() ? std::string(expected["next_phase"].string()) : "null",
              verdict.next_phase ? std::string(agent_exit::phase_name(*verdict.next_phase)) : "null");
}

void run_flag(Node row, Agreement& outcome) {
  const Node env = row["env"];
  const std::string value = env.is_string() ? std::string(env.string()) : "";
  const bool enabled = agent_exit::is_enabled(env.is_string() ? value.c_str() : nullptr);
  outcome.add("enabled", text_of(row["expected"]["enabled"]), boolean(enabled));
}

void run_scan(Node row, Agreement& outcome) {
  transcript::OutputScanner scanner(limits::kExitSignalBytesMax, agent_exit::is_signal);
  for (const Node chunk : row["chunks"].elements()) {
    if (chunk.is_string()) {
      scanner.feed(chunk.string());
      continue;
    }
    const std::string repeated(chunk["repeat"].string());
    for (long long left = std::stoll(std::string(chunk["times"].number_text())); left > 0; --left)
      scanner.feed(repeated);
  }
  scanner.end();
  const Node expected = row["expected"];
  outcome.add("found", text_of(expected["found"]), boolean(scanner.found().has_value()));
  std::string signal = "null";
  if (scanner.found()) {
    json::ParseLimits deep;
    deep.depth_max = limits::kExitSignalBytesMax;
    const auto document = json::parse(scanner.found()->object.text, deep);
    signal = document ? json::canonical(document->root(), json::Numbers::Exact).value() : "unparsable";
  }
  outcome.add("signal", json::canonical(expected["signal"], json::Numbers::Exact).value(), signal);
}

void run_contract(Node row, Agreement& outcome) {
  const Node expected = row["expected"], envelope = row["input_envelope"];
  agent_contract::Options options;
  if (envelope.is_object()) options.input_envelope = envelope;
  const auto checked = agent_contract::check(row["message"].string(), options);
  outcome.add("valid", text_of(expected["valid"]), boolean(checked.valid()));
  outcome.add("missing", strings(expected["missing"]), join(checked.missing, ","));
  outcome.add("invalid", strings(expected["invalid"]), join(checked.invalid, ","));
  outcome.add("warnings", strings(expected["warnings"]), join(checked.warnings, ","));
  for (const Diagnostic& diagnostic : checked.diagnostics) {
    if (diagnostic.code != Code::HANDOFF_JSON) continue;
    if (expected["line"].is_number())
      outcome.add("line", text_of(expected["line"]), std::to_string(diagnostic.place.line));
    if (expected["column"].is_number())
      outcome.add("column", text_of(expected["column"]), std::to_string(diagnostic.place.column));
  }
}

void run_statuses(Node row, Agreement& outcome) {
  agent_contract::StatusMachine machine;
  auto expected = row["expected"].elements().begin();
  for (const Node status : row["statuses"].elements()) {
    std::vector<std::string> names;
    const auto diagnostics = machine.advance(status.string());
    for (const Diagnostic& diagnostic : diagnostics) names.push_back(agent_contract::wire_name(diagnostic));
    outcome.add("accepted", text_of((*expected)["accepted"]), boolean(!baton::has_errors(diagnostics)));
    outcome.add("codes", strings((*expected)["codes"]), join(names, ","));
    ++expected;
  }
}

void run_merge(Node row, Agreement& outcome) {
  const auto merged = agent_contract::merge(json::Value::copy(row["current"]), json::Value::copy(row["payload"]));
  std::vector<std::string> names;
  for (const Diagnostic& diagnostic : merged.warnings) names.push_back(agent_contract::wire_name(diagnostic));
  const std::string text = json::write(merged.result);
  const auto document = json::parse(text);
  outcome.add("result", json::canonical(row["expected"]["result"], json::Numbers::Exact).value(),
              json::canonical(document->root(), json::Numbers::Exact).value());
  outcome.add("warnings", strings(row["expected"]["warnings"]), join(names, ","));
}

void run_packet(Node row, Agreement& outcome) {
  checker::Options options;
  checker::read_options(row, options);
  options.dialect = Dialect::Uaix;
  const auto report = checker::check(document_of(row), options);
  outcome.add("valid", text_of(row["expected"]["valid"]), boolean(report.valid()));
  outcome.add("codes", sorted(strings(row["expected"]["codes"])),
              sorted(distinct(report.diagnostics, Severity::Error)));
}

void run_spec(Node row, Agreement& outcome) {
  const Node expected = row["expected"];
  checker::Options options;
  options.profile = handoff_spec::find_profile("raxx");
  checker::read_options(row, options);
  options.dialect = Dialect::HandoffSpec;
  const auto report = checker::check(document_of(row), options);
  outcome.add("valid", text_of(expected["valid"]), boolean(report.valid()));
  outcome.add("codes", sorted(strings(expected["codes"])), sorted(distinct(report.diagnostics, Severity::Error)));
  if (expected["warnings"])
    outcome.add("warnings", sorted(strings(expected["warnings"])),
                sorted(distinct(report.diagnostics, Severity::Warning)));
  if (expected["resolved"].is_object()) {
    const std::string text = report.resolved ? json::write(*report.resolved) : "null";
    const auto document = json::parse(text);
    outcome.add("resolved", json::canonical(expected["resolved"], json::Numbers::Exact).value(),
                json::canonical(document->root(), json::Numbers::Exact).value());
  }
}

void run_gate(Node row, Agreement& outcome) {
  const std::string spec = document_of(row);
  const Node manifest = row["manifest"];
  const Node slug = row["cli_task_slug"];
  handoff_spec::GateQuestion question{
      spec, slug.is_string() ? slug.string() : std::string_view(), handoff_spec::VaultAnswer::not_provisioned(), {}};
  if (manifest && !manifest.is_null()) question.vault = handoff_spec::VaultAnswer::found(manifest);
  if (row["vault_unreachable"].is_true()) question.vault = handoff_spec::VaultAnswer::unreachable();
  question.options.profile = handoff_spec::find_profile("raxx");
  question.options.now = time_of(row);
  question.options.strict = row["options"]["strict"].is_true();
  const auto fault = handoff_spec::gate(question);
  const Node expected = row["expected"];
  const std::string want = strings(expected["codes"]);
  outcome.add("valid", text_of(expected["valid"]), boolean(!fault));
  // A pass may be written as no code or as GATE_PASS.
  outcome.add("codes", want == handoff_spec::kGatePass ? "" : want, fault ? std::string(info(fault->code).name) : "");
}

void run_canonical(Node row, Agreement& outcome) {
  std::string actual, error;
  if (row["ieee_hex"].is_string()) {
    const auto bits = std::stoull(std::string(row["ieee_hex"].string()), nullptr, 16);
    const auto written = json::canonical_double(std::bit_cast<double>(static_cast<std::uint64_t>(bits)));
    if (written) actual = *written;
    else error = written.error().code;
  } else {
    const std::string text = document_of(row);
    const auto document = json::parse(text);
    if (document) {
      const auto written = json::canonical(document->root(), json::Numbers::Rfc8785);
      if (written) actual = *written;
      else error = written.error().code;
    } else {
      error = document.error().what;
    }
  }
  if (row["error"].is_string()) outcome.add("error", std::string(row["error"].string()), error);
  else outcome.add("text", std::string(row["expected"].is_string() ? row["expected"].string() : "null"), actual);
}

bool run_row(Node row, const std::string& file, Agreement& outcome) {
  const auto named = [&](std::string_view word) { return file.find(word) != std::string::npos; };
  const bool has_document = row["input"] || row["raw"];
  if (row["ieee_hex"] || (has_document && (row["expected"].is_string() || row["expected"].is_null())))
    run_canonical(row, outcome);
  else if (row["chunks"]) run_scan(row, outcome);
  else if (row["env"]) run_flag(row, outcome);
  else if (row["statuses"]) run_statuses(row, outcome);
  else if (row["payload"]) run_merge(row, outcome);
  else if (row["active_phase"]) run_move(row, outcome);
  else if (row["message"]) run_contract(row, outcome);
  else if (row["kind"].is_text("gate")) run_gate(row, outcome);
  else if (row["expected"]["next_phase"]) run_exit(row, outcome);
  else if (named("spec") || row["expected"]["warnings"]) run_spec(row, outcome);
  else if (row["raw"] || row["input"]) run_packet(row, outcome);
  else return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: baton-conform FILE.jsonl...\n";
    return 2;
  }
  std::size_t passed = 0, failed = 0;
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    if (!in) {
      std::cerr << "baton-conform: cannot read " << argv[i] << "\n";
      return 2;
    }
    const std::string path(argv[i]);
    const std::string file = path.substr(path.rfind('/') + 1);
    std::size_t file_passed = 0, file_failed = 0, number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      // Token-shaped strings are kept broken in the files, so that no scanner takes them for real.
      for (std::size_t at; (at = line.find("\u27e6\u27e7")) != std::string::npos;) line.erase(at, 6);
      if (line.empty()) continue;
      const auto row = json::parse(line);
      Agreement outcome;
      if (!row) {
        outcome.add("row", "JSON", row.error().what);
      } else if (!run_row(row->root(), file, outcome)) {
        outcome.add("row", "a known kind", "none");
      }
      if (outcome.agrees()) {
        ++file_passed;
        continue;
      }
      ++file_failed;
      const std::string id = row && row->root()["id"].is_string() ? std::string(row->root()["id"].string())
                                                                  : "line " + std::to_string(number);
      std::cout << "DISAGREES " << file << " " << id << "\n  want " << baton::printable(outcome.expected, 2000)
                << "\n  got  " << baton::printable(outcome.actual, 2000) << "\n";
    }
    std::cout << file << ": " << file_passed << " of " << file_passed + file_failed << "\n";
    passed += file_passed;
    failed += file_failed;
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}
