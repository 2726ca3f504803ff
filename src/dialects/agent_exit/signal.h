// SPDX-License-Identifier: Apache-2.0
// The exit signal: how an agent says that a work phase is over.
//
//   {"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"IMPLEMENTATION","exit_reason":"completed"}
//
// One JSON object of at most 65,536 bytes. Build one and write it, or check somebody's text and get one. Checking is
// plain linting and always available; whatever *acts* on a signal goes through check_if_enabled (the feature flag
// AGENT_EXIT_PROTOCOL_ENABLED, off unless told otherwise) and accept (does the signal fit the session?).
//
// Example: examples/exit_signal/main.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "diagnostics/diagnostic.h"
#include "dialects/agent_exit/phase.h"
#include "handoff/handoff.h"

namespace baton::agent_exit {

inline constexpr std::string_view kProtocol = "apm2_agent_exit";

struct Signal {
  Signal(Phase phase, Reason reason) : phase_completed(phase), exit_reason(reason) {}

  Signal& with_pr_url(std::string url) { return pr_url = std::move(url), *this; }
  Signal& with_evidence_bundle_ref(std::string ref) { return evidence_bundle_ref = std::move(ref), *this; }
  Signal& with_notes(std::string text) { return notes = std::move(text), *this; }

  // Everything that is wrong with it; empty when it is fit to be sent.
  std::vector<Diagnostic> check() const;
  // As JSON; absent fields are left out.
  std::string write() const;
  std::string write_pretty() const;

  std::string version = "1.0.0";
  Phase phase_completed;
  Reason exit_reason;
  std::optional<std::string> pr_url;
  std::optional<std::string> evidence_bundle_ref;
  std::optional<std::string> notes;
};

struct Checked {
  std::vector<Diagnostic> diagnostics;     // all faults, fields in the order of the format, unknown ones last
  std::optional<Signal> signal;            // set when there are none
  std::optional<json::Document> document;  // set with it; refers to the text that was checked

  bool valid() const { return signal.has_value(); }
  // The public one-line text of the first fault; empty when valid.
  std::string text() const { return diagnostics.empty() ? "" : diagnostics.front().message; }
  // Where the signal would lead; nothing when it is refused or its phase is final.
  std::optional<Phase> next_phase() const;
};

// Checks a text that should be one signal and nothing else.
Checked check(std::string_view text);

// Does the flag's value (null: not set) switch acting on signals on? `true`, `1` or `yes` in any case, untrimmed.
bool is_enabled(const char* value);
// The same check behind the flag: off refuses everything, before size or syntax.
Checked check_if_enabled(std::string_view text, const char* flag);

struct Verdict {
  std::vector<Diagnostic> diagnostics;
  std::optional<Phase> next_phase;  // set when accepted

  bool accepted() const { return next_phase.has_value(); }
};

// Judges a checked signal against the session it came from: its active phase (nothing: none) and the actor's kind.
Verdict accept(const Checked& checked, std::optional<Phase> active_phase, ActorKind actor);

// What the ledger records when a signal is accepted.
struct SessionCompleted {
  std::string event_id;  // a UUID
  Time timestamp;
  std::string session_id, actor_id, work_id;
  Signal signal;
  Phase next_phase;

  std::string write() const;  // JSON, event_type `AgentSessionCompleted`, optional fields when present
};

// Makes the event for a signal whose phase is not final (nothing otherwise).
std::optional<SessionCompleted> session_completed(std::string session_id, std::string actor_id, std::string work_id,
                                                  const Signal& signal, Time time, Random& random);

// --- as a dialect ---------------------------------------------------------------------------------------------------

bool recognise(json::Node root);
// Is this text a JSON object of the protocol, fit to be checked or not? For transcript::OutputScanner, which finds the
// signal in an agent's output (limits::kExitSignalBytesMax is the largest one).
bool is_signal(std::string_view text);
std::span<const Row> rows();
Handoff to_handoff(json::Node root, std::string_view raw);
json::Value from_handoff(const Handoff& handoff);

}  // namespace baton::agent_exit
