// SPDX-License-Identifier: Apache-2.0
// Checking and accepting exit signals.
#include "dialects/agent_exit/signal.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

constexpr std::size_t kRespelledBytesMax = 8192;  // escapes are six times as long, and a signal has a limit

void check_accept(const agent_exit::Checked& checked) {
  using agent_exit::ActorKind;
  std::vector<std::optional<agent_exit::Phase>> active = {std::nullopt};
  active.insert(active.end(), agent_exit::kPhases.begin(), agent_exit::kPhases.end());
  for (const auto& phase : active) {
    for (const ActorKind actor :
         {ActorKind::Agent, ActorKind::Operator, ActorKind::Ci, ActorKind::Auditor, ActorKind::Node}) {
      const agent_exit::Verdict verdict = agent_exit::accept(checked, phase, actor);
      require_presentable(verdict.diagnostics);
      require(verdict.accepted() == !has_errors(verdict.diagnostics),
              "what is accepted has no errors, and the reverse");
      if (!verdict.accepted()) continue;
      require(checked.valid() && phase == checked.signal->phase_completed,
              "only a valid signal of the active phase is accepted");
      require(verdict.next_phase == checked.next_phase(), "an accepted signal leads where its check said");
    }
  }
}

void check_valid(const agent_exit::Signal& signal, std::string_view text) {
  require(signal.check().empty(), "a valid signal is fit to be sent");
  for (const std::string& written : {signal.write(), signal.write_pretty()}) {
    const agent_exit::Checked again = agent_exit::check(written);
    require(again.valid() && again.signal->write() == signal.write(), "a signal is what it is written as", written);
    require(agent_exit::is_signal(written), "a signal is known as one", written);
  }
  const json::Document document = parsed(std::string(text), "a valid signal is JSON");
  const Handoff handoff = agent_exit::to_handoff(document.root(), text);
  require_showable(handoff);
  require_same_document(document.root(), agent_exit::from_handoff(handoff));
  CountingRandom random;
  const auto event =
      agent_exit::session_completed("s-1", "a-1", "w-1", signal, Time{1'794'700'800'000'000'000}, random);
  require(event.has_value() == agent_exit::next_phase(signal.phase_completed, signal.exit_reason).has_value(),
          "there is an event when there is a next phase");
  if (event) parsed(event->write(), "an event is JSON");
}

void run(std::string_view text) {
  const agent_exit::Checked checked = agent_exit::check(text);
  require_same_codes(checked.diagnostics, agent_exit::check(text).diagnostics, "the same text gives the same codes");
  require_presentable(checked.diagnostics);
  require(checked.valid() == !has_errors(checked.diagnostics), "a signal is valid when it has no errors");
  require(checked.text().empty() == checked.diagnostics.empty(), "a refused signal says why");
  require(!agent_exit::check_if_enabled(text, nullptr).valid(), "nothing is valid while the flag is off");
  require_same_codes(agent_exit::check_if_enabled(text, "1").diagnostics, checked.diagnostics,
                     "the flag changes nothing else");
  check_accept(checked);
  if (checked.valid()) check_valid(*checked.signal, text);
  const auto document = json::parse(text);
  if (document && document->root().is_object() && text.size() <= kRespelledBytesMax) {
    agent_exit::recognise(document->root());
    const std::string other = respelled(document->root());
    require_same_codes(checked.diagnostics, agent_exit::check(other).diagnostics, "spelling does not matter");
    require(agent_exit::is_signal(other) == agent_exit::is_signal(text), "spelling does not matter to what a signal is",
            other);
  }
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run({reinterpret_cast<const char*>(data), size}); });
}
