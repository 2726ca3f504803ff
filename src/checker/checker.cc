// SPDX-License-Identifier: Apache-2.0
#include "checker/checker.h"

#include "base/text.h"
#include "dialects/agent_contract/contract.h"
#include "dialects/agent_contract/find.h"
#include "dialects/agent_exit/find.h"
#include "dialects/agent_exit/signal.h"
#include "json/parse.h"

namespace baton::checker {
namespace {

bool looks_like_json(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && text[at] == '{';
}

std::optional<Dialect> recognise_object(json::Node root) {
  if (uaix::recognise(root)) return Dialect::Uaix;
  if (agent_exit::recognise(root)) return Dialect::AgentExit;
  if (agent_contract::recognise(root)) return Dialect::AgentContract;
  if (handoff_spec::recognise(root)) return Dialect::HandoffSpec;
  return std::nullopt;
}

// A text that should be one object but is not JSON still says by its keys what it was meant to be.
std::optional<Dialect> guess_by_keys(std::string_view text) {
  const auto has = [&](std::string_view key) { return text.find(key) != std::string_view::npos; };
  if (has("\"uai_version\"") || has("\"uai.agent.")) return Dialect::Uaix;
  if (has("apm2_agent_exit") || has("\"phase_completed\"") || has("\"exit_reason\"")) return Dialect::AgentExit;
  if (has("\"task_slug\"") || has("\"operator_approval\"")) return Dialect::HandoffSpec;
  return std::nullopt;
}

void check_agent_exit(std::string_view text, Report& report) {
  agent_exit::Checked checked = agent_exit::check(text);
  report.text = checked.text();
  if (const auto next = checked.next_phase()) report.next_phase = agent_exit::phase_name(*next);
  report.diagnostics = std::move(checked.diagnostics);
  if (!checked.valid()) return;
  json::ParseLimits limits;
  limits.depth_max = text.size() + 1;
  const auto document = json::parse(text, limits);
  report.handoff = agent_exit::to_handoff(document->root(), text);
}

void check_agent_contract(std::string_view text, const Options& options, Report& report) {
  agent_contract::Checked checked = agent_contract::check(text, {options.input_envelope, options.writable});
  report.diagnostics = std::move(checked.diagnostics);
  report.missing = std::move(checked.missing);
  report.invalid = std::move(checked.invalid);
  report.warnings = std::move(checked.warnings);
  if (report.missing.empty() && report.invalid.empty() && checked.document)
    report.handoff = agent_contract::to_handoff(checked.document->root(), checked.document->text());
}

void check_uaix(std::string_view text, const Options& options, Report& report) {
  uaix::Options uaix_options{.now = options.now, .fixture = options.fixture, .known_extensions = options.known_extensions, .seen = &options.seen};
  uaix::Checked checked = uaix::check(text, uaix_options);
  report.duplicate = checked.duplicate;
  if (checked.valid()) report.handoff = uaix::to_handoff(checked.document->root(), text);
  report.diagnostics = std::move(checked.diagnostics);
}

void check_handoff_spec(std::string_view text, const Options& options, Report& report) {
  handoff_spec::Checked checked = handoff_spec::check(text, {.profile = options.profile, .now = options.now, .strict = options.strict});
  if (checked.resolved) report.resolved = checked.resolved->to_json();
  if (checked.valid()) report.handoff = handoff_spec::to_handoff(checked.document->root(), text);
  report.diagnostics = std::move(checked.diagnostics);
}

// The handoff inside a longer output: the model's last message of a transcript, or the text itself.
struct Located {
  std::optional<Dialect> dialect;
  std::string document;
  std::vector<Diagnostic> warnings;
  std::size_t first_line = 1;  // of the document, in the output (0: inside a message)
};

Located locate(std::string_view text) {
  agent_contract::OutputFinder blocks;
  agent_exit::OutputScanner signals;
  blocks.feed(text);
  signals.feed(text);
  blocks.end();
  signals.end();
  Located located;
  if (blocks.found()) {
    located.dialect = Dialect::AgentContract;
    located.document = "```" + std::string(agent_contract::kTag) + "\n" + blocks.found()->body + "```\n";
  } else if (signals.found()) {
    const auto& signal = signals.found()->signal;
    located.dialect = Dialect::AgentExit;
    located.document = signal.text;
    located.first_line = signals.found()->in_message ? 0 : json::position_at(text, signal.offset).line;
    if (signal.differs_from_earlier)
      located.warnings.push_back(report(Code::EXIT_AMBIGUOUS, {}, {{"problem", "the output holds several exit signals that differ"}}));
    else if (signal.text_after)
      located.warnings.push_back(report(Code::EXIT_AMBIGUOUS, {}, {{"problem", "text follows the exit signal"}}));
  }
  return located;
}

}  // namespace

std::optional<Dialect> recognise(std::string_view text) {
  if (looks_like_json(text)) {
    json::ParseLimits limits;
    limits.depth_max = limits::kExitSignalBytesMax;
    const auto document = json::parse(text, limits);
    if (document && document->root().is_object())
      if (const auto dialect = recognise_object(document->root())) return dialect;
  }
  if (const auto located = locate(text); located.dialect) return located.dialect;
  return guess_by_keys(text);
}

Report check(std::string_view text, const Options& options) {
  Report out;
  std::string located_text;
  std::size_t first_line = 1;
  out.dialect = options.dialect;
  if (!out.dialect && looks_like_json(text)) {
    json::ParseLimits limits;
    limits.depth_max = limits::kExitSignalBytesMax;
    const auto document = json::parse(text, limits);
    if (document && document->root().is_object()) out.dialect = recognise_object(document->root());
  }
  std::vector<Diagnostic> found_warnings;
  if (!out.dialect) {
    // Prose around the block is part of the message: the block's own check finds it and counts lines in the message.
    if (agent_contract::recognise_text(text)) {
      out.dialect = Dialect::AgentContract;
    } else if (Located located = locate(text); located.dialect) {
      out.dialect = located.dialect;
      located_text = std::move(located.document);
      found_warnings = std::move(located.warnings);
      first_line = located.first_line;
      text = located_text;
    } else {
      out.dialect = guess_by_keys(text);
    }
  }
  if (!out.dialect) {
    out.diagnostics.push_back(report(Code::DIALECT_UNKNOWN, {}));
    return out;
  }
  switch (*out.dialect) {
    case Dialect::AgentExit: check_agent_exit(text, out); break;
    case Dialect::AgentContract: check_agent_contract(text, options, out); break;
    case Dialect::Uaix: check_uaix(text, options, out); break;
    case Dialect::HandoffSpec: check_handoff_spec(text, options, out); break;
  }
  for (Diagnostic& diagnostic : out.diagnostics) {
    if (first_line == 0) diagnostic.place.line = diagnostic.place.column = 0;
    else if (diagnostic.place.line > 0) diagnostic.place.line += first_line - 1;
  }
  out.diagnostics.insert(out.diagnostics.end(), std::make_move_iterator(found_warnings.begin()), std::make_move_iterator(found_warnings.end()));
  if (options.strict) make_strict(out.diagnostics);
  if (!out.valid()) out.handoff.reset(), out.resolved.reset();
  out.document = std::string(text);
  return out;
}

json::Value to_json(const Diagnostic& diagnostic) {
  json::Value out = json::Value::object();
  out.set("code", info(diagnostic.code).name);
  out.set("severity", severity_name(diagnostic.severity));
  out.set("message", diagnostic.message);
  out.set("help", diagnostic.help);
  out.set("pointer", diagnostic.place.pointer);
  const auto number = [](std::size_t value) { return value == 0 ? json::Value(nullptr) : json::Value(value); };
  out.set("line", number(diagnostic.place.line));
  out.set("column", number(diagnostic.place.column));
  return out;
}

json::Value to_json(const Report& report, std::string_view source) {
  json::Value out = json::Value::object();
  out.set("source", source);
  out.set("dialect", report.dialect ? json::Value(dialect_name(*report.dialect)) : json::Value(nullptr));
  out.set("valid", report.valid());
  json::Value diagnostics = json::Value::array();
  for (const Diagnostic& diagnostic : report.diagnostics) diagnostics.push(to_json(diagnostic));
  out.set("diagnostics", std::move(diagnostics));
  out.set("handoff", report.handoff ? report.handoff->to_json() : json::Value(nullptr));
  const auto list = [](const std::vector<std::string>& names) {
    json::Value array = json::Value::array();
    for (const std::string& name : names) array.push(name);
    return array;
  };
  if (report.dialect == Dialect::AgentContract) {
    out.set("missing", list(report.missing));
    out.set("invalid", list(report.invalid));
    out.set("warnings", list(report.warnings));
  } else if (report.dialect == Dialect::AgentExit) {
    out.set("text", report.text.empty() ? json::Value(nullptr) : json::Value(report.text));
    out.set("next_phase", report.next_phase ? json::Value(*report.next_phase) : json::Value(nullptr));
  } else if (report.dialect == Dialect::HandoffSpec) {
    out.set("resolved", report.resolved ? *report.resolved : json::Value(nullptr));
  } else if (report.dialect == Dialect::Uaix && report.duplicate) {
    out.set("duplicate", true);
  }
  return out;
}

}  // namespace baton::checker
