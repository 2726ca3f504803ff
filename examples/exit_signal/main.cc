// SPDX-License-Identifier: Apache-2.0
// What an agent, and the program that supervises it, do with an exit signal: make it, check it, write it, read it back,
// read it only where the feature flag allows that, and turn it into the event that a ledger would record.
//
// Clock and randomness are passed in and fixed here, so that the program prints the same every time.
#include <baton/exit_signal.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace exit_protocol = baton::agent_exit;

namespace {

// Every fault, one a line. The message alone is a public text; code and place come with it.
int refuse(const std::vector<baton::Diagnostic>& diagnostics) {
  for (const baton::Diagnostic& diagnostic : diagnostics)
    std::cerr << "Error: " << diagnostic.message << " (" << baton::info(diagnostic.code).name << ")\n";
  return EXIT_FAILURE;
}

}  // namespace

int main() {
  using exit_protocol::Phase, exit_protocol::Reason, exit_protocol::Signal;

  // The agent: make a signal and check it before it is sent.
  const Signal signal = Signal(Phase::Implementation, Reason::Completed)
                            .with_pr_url("https://git.example.org/harbour/tideboard/pull/57")
                            .with_notes("Tide times follow daylight saving");
  if (const auto faults = signal.check(); !faults.empty()) return refuse(faults);
  const std::string text = signal.write_pretty();
  std::cout << text << "\n";

  // Whoever reads it: plain checking is always allowed.
  const exit_protocol::Checked parsed = exit_protocol::check(text);
  if (!parsed.valid()) return refuse(parsed.diagnostics);

  // Acting on it is not, unless AGENT_EXIT_PROTOCOL_ENABLED says so. A program would pass std::getenv's answer.
  std::cout << "flag not set: " << exit_protocol::check_if_enabled(text, nullptr).text() << "\n";
  const exit_protocol::Checked allowed = exit_protocol::check_if_enabled(text, "true");
  if (!allowed.valid()) return refuse(allowed.diagnostics);

  // Does it fit the session it came from? Then it becomes an event.
  const exit_protocol::Verdict verdict =
      exit_protocol::accept(allowed, Phase::Implementation, exit_protocol::ActorKind::Agent);
  if (!verdict.accepted()) return refuse(verdict.diagnostics);
  std::cout << exit_protocol::phase_name(allowed.signal->phase_completed) << " leads to "
            << exit_protocol::phase_name(*verdict.next_phase) << "\n";

  baton::CountingRandom random;
  const baton::Time time = *baton::parse_time("2026-11-15T12:00:00Z").time;
  const std::optional<exit_protocol::SessionCompleted> event =
      exit_protocol::session_completed("session-123", "actor-456", "tideboard-57", *allowed.signal, time, random);
  if (!event) return EXIT_FAILURE;  // only a final phase has no event, and accept() has refused that
  std::cout << event->write() << "\n";
}
