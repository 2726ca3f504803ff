// SPDX-License-Identifier: Apache-2.0
#include "checker/checker.h"

#include <algorithm>
#include <iterator>

#include "base/limits.h"
#include "dialects/agent_contract/block.h"
#include "dialects/agent_contract/contract.h"
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
  if (has(agent_contract::kTag) || has("\"agent_status\"")) return Dialect::AgentContract;
  if (has("\"task_slug\"") || has("\"operator_approval\"")) return Dialect::HandoffSpec;
  return std::nullopt;
}

void check_agent_exit(std::string_view text, Report& report) {
  agent_exit::Checked checked = agent_exit::check(text);
  report.text = checked.text();
  if (const auto next = checked.next_phase()) report.next_phase = agent_exit::phase_name(*next);
  report.diagnostics = std::move(checked.diagnostics);
  if (checked.valid()) report.handoff = agent_exit::to_handoff(checked.document->root(), text);
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
  uaix::Options uaix_options{.now = options.now,
                             .fixture = options.fixture,
                             .known_extensions = options.known_extensions,
                             .seen = &options.seen};
  uaix::Checked checked = uaix::check(text, uaix_options);
  report.duplicate = checked.duplicate;
  if (checked.valid()) report.handoff = uaix::to_handoff(checked.document->root(), text);
  report.diagnostics = std::move(checked.diagnostics);
}

void check_handoff_spec(std::string_view text, const Options& options, Report& report) {
  handoff_spec::Checked checked =
      handoff_spec::check(text, {.profile = options.profile, .now = options.now, .strict = options.strict});
  if (checked.resolved) report.resolved = checked.resolved->to_json();
  if (checked.valid()) report.handoff = handoff_spec::to_handoff(checked.document->root(), text);
  report.diagnostics = std::move(checked.diagnostics);
}

}  // namespace

namespace {

// A text that is one JSON object says by its members what it is.
std::optional<Dialect> recognise_document(std::string_view text) {
  if (!looks_like_json(text)) return std::nullopt;
  json::ParseLimits limits;
  limits.depth_max = limits::kExitSignalBytesMax;
  const auto document = json::parse(text, limits);
  return document && document->root().is_object() ? recognise_object(document->root()) : std::nullopt;
}

void finish(Report& report, const Options& options) {
  if (options.strict) make_strict(report.diagnostics);
  if (!report.valid()) report.handoff.reset(), report.resolved.reset();
}

void check_as(Dialect dialect, std::string_view text, const Options& options, Report& report) {
  switch (dialect) {
    case Dialect::AgentExit: check_agent_exit(text, report); break;
    case Dialect::AgentContract: check_agent_contract(text, options, report); break;
    case Dialect::Uaix: check_uaix(text, options, report); break;
    case Dialect::HandoffSpec: check_handoff_spec(text, options, report); break;
  }
}

}  // namespace

Report check_located(Locator::Located located, const Options& options) {
  Report out;
  out.dialect = located.dialect;
  std::string text = std::move(located.document);
  // A contract is checked in its fence, so that a body with backticks of its own is judged like any other.
  if (located.dialect == Dialect::AgentContract) text = agent_contract::in_fence(text);
  check_as(located.dialect, text, options, out);
  const std::size_t shift = located.dialect == Dialect::AgentContract ? 2 : 1;
  for (Diagnostic& diagnostic : out.diagnostics) {
    if (located.first_line == 0) diagnostic.place.line = diagnostic.place.column = 0;
    else if (diagnostic.place.line > 0) diagnostic.place.line += located.first_line - shift;
  }
  std::move(located.warnings.begin(), located.warnings.end(), std::back_inserter(out.diagnostics));
  finish(out, options);
  return out;
}

Report check(std::string_view text, const Options& options) {
  Report out;
  out.dialect = options.dialect ? options.dialect : recognise_document(text);
  if (!out.dialect || out.dialect == Dialect::AgentContract) {
    // A contract is a message with a block in it; everything else that is not one JSON object is an output to search.
    Locator locator(options.dialect);
    locator.feed(text);
    auto located = locator.end();
    const bool block_in_text = located && located->dialect == Dialect::AgentContract && located->first_line != 0;
    if (located && !block_in_text) return check_located(std::move(*located), options);
    if (block_in_text) {
      // Prose around the block is part of the message: the whole is checked, and lines are counted in it.
      out.dialect = Dialect::AgentContract;
      check_as(*out.dialect, text, options, out);
      std::move(located->warnings.begin(), located->warnings.end(), std::back_inserter(out.diagnostics));
      finish(out, options);
      return out;
    }
    if (!out.dialect) out.dialect = guess_by_keys(text);
  }
  if (!out.dialect) {
    out.diagnostics.push_back(report(Code::DIALECT_UNKNOWN, {}));
    return out;
  }
  check_as(*out.dialect, text, options, out);
  finish(out, options);
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
