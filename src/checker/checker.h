// SPDX-License-Identifier: Apache-2.0
// One door to the four dialects: recognise a text, check it, and say so in one shape.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "checker/locate.h"
#include "diagnostics/diagnostic.h"
#include "dialects/handoff_spec/spec.h"
#include "dialects/uaix/packet.h"
#include "handoff/handoff.h"

namespace baton::checker {

struct Options {
  std::optional<Dialect> dialect;     // nothing: recognise it
  Time now;                           // expiry is judged by it
  bool strict = false;                // warnings are errors
  json::Node input_envelope;          // agent-contract: what the agent was given
  std::vector<std::string> writable;  // agent-contract: further writable sections
  const handoff_spec::Profile* profile = handoff_spec::find_profile("default");
  bool fixture = false;                       // uaix: accept the published placeholder checksum
  std::vector<std::string> known_extensions;  // uaix
  std::vector<uaix::Seen> seen;               // uaix: packets seen before
};

struct Report {
  std::optional<Dialect> dialect;  // nothing: none was recognised
  std::vector<Diagnostic> diagnostics;
  std::optional<Handoff> handoff;  // when valid, and a handoff (not every packet is one)
  bool duplicate = false;          // uaix: seen before, not to be acted on again

  // agent-contract: the wire names of its lists.
  std::vector<std::string> missing, invalid, warnings;
  // agent-exit: the public one-line text of the first fault, and where the signal leads.
  std::string text;
  std::optional<std::string> next_phase;
  // handoff-spec: what the spec comes to.
  std::optional<json::Value> resolved;

  bool valid() const { return dialect.has_value() && !has_errors(diagnostics); }
};

// Checks a text: as the dialect asked for, or as the one it is recognised to be. A JSON object is recognised by its
// members; other text by the block, signal, packet or spec it holds (the last one, with a warning when that is not clear).
Report check(std::string_view text, const Options& options);

// Checks what a Locator found; places are counted in the output it was found in.
Report check_located(Locator::Located located, const Options& options);

// {"source","dialect","valid","diagnostics":[...],"handoff":{...}|null, ...}: the public JSON form.
json::Value to_json(const Report& report, std::string_view source);
json::Value to_json(const Diagnostic& diagnostic);

// --- options as JSON, for batches and vectors -----------------------------------------------------------------------

// Reads `now`, `options` {fixture, strict, known_extensions, profile, writable, dialect} and `state` {seen} of a batch
// line into `options`; a problem in words when one of them is not what it should be.
std::optional<std::string> read_options(json::Node line, Options& options);

}  // namespace baton::checker
