// SPDX-License-Identifier: Apache-2.0
#include "dialects/agent_exit/signal.h"

#include "base/ids.h"
#include "base/limits.h"
#include "json/parse.h"

namespace baton::agent_exit {
namespace {

void add_optional(json::Value& object, const Signal& signal) {
  if (signal.pr_url) object.set("pr_url", *signal.pr_url);
  if (signal.evidence_bundle_ref) object.set("evidence_bundle_ref", *signal.evidence_bundle_ref);
  if (signal.notes) object.set("notes", *signal.notes);
}

json::Value to_json(const Signal& signal) {
  json::Value object = json::Value::object();
  object.set("protocol", kProtocol);
  object.set("version", signal.version);
  object.set("phase_completed", phase_name(signal.phase_completed));
  object.set("exit_reason", reason_name(signal.exit_reason));
  add_optional(object, signal);
  return object;
}

constexpr std::array<Row, 6> kRows = {{
    {Field::protocol_version, "/version"},
    {Field::phase_completed, "/phase_completed"},
    {Field::reason, "/exit_reason"},
    {Field::pr_url, "/pr_url"},
    {Field::evidence_bundle_ref, "/evidence_bundle_ref"},
    {Field::summary, "/notes"},
}};

}  // namespace

std::string Signal::write() const { return json::write(to_json(*this)); }
std::string Signal::write_pretty() const { return json::write_pretty(to_json(*this)); }

std::optional<SessionCompleted> session_completed(std::string session_id, std::string actor_id, std::string work_id,
                                                  const Signal& signal, Time time, Random& random) {
  const auto next = next_phase(signal.phase_completed, signal.exit_reason);
  if (!next) return std::nullopt;
  return SessionCompleted{
      mint_uuid(random), time, std::move(session_id), std::move(actor_id), std::move(work_id), signal, *next};
}

std::string SessionCompleted::write() const {
  json::Value event = json::Value::object();
  event.set("event_id", event_id);
  event.set("event_type", "AgentSessionCompleted");
  event.set("timestamp", format_time(timestamp));
  event.set("source", "agent_exit_protocol");
  event.set("session_id", session_id);
  event.set("actor_id", actor_id);
  event.set("work_id", work_id);
  event.set("phase_completed", phase_name(signal.phase_completed));
  event.set("exit_reason", reason_name(signal.exit_reason));
  event.set("next_phase", phase_name(next_phase));
  add_optional(event, signal);
  return json::write(event);
}

bool recognise(json::Node root) {
  return root["protocol"].is_text(kProtocol) || (root["phase_completed"] && root["exit_reason"]) ||
         (root["protocol"] && root["phase_completed"]);
}

bool is_signal(std::string_view text) {
  if (text.size() > limits::kExitSignalBytesMax) return false;
  if (text.find("protocol") == std::string_view::npos && text.find('\\') == std::string_view::npos) return false;
  json::ParseLimits limits;
  limits.depth_max = limits::kExitSignalBytesMax;
  const auto document = json::parse(text, limits);
  if (document) return document->root()["protocol"].is_text(kProtocol);
  // A duplicate key is for the check to refuse, not for the scan to overlook.
  return document.error().fault == json::Fault::DuplicateKey && text.find(kProtocol) != std::string_view::npos;
}

std::span<const Row> rows() { return kRows; }

Handoff to_handoff(json::Node root, std::string_view raw) {
  Handoff handoff = read_rows(Dialect::AgentExit, kRows, root, raw);
  handoff.mode = Mode::Transfer;
  const auto reason = find_reason(handoff.text(Field::reason));
  handoff.outcome = reason == Reason::Completed ? Outcome::Completed
                    : reason == Reason::Blocked ? Outcome::Blocked
                                                : Outcome::Error;
  return handoff;
}

json::Value from_handoff(const Handoff& handoff) { return write_rows(kRows, handoff); }

}  // namespace baton::agent_exit
