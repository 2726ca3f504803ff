// SPDX-License-Identifier: Apache-2.0
#include "dialects/uaix/packet.h"

namespace baton::uaix {
namespace {

constexpr Row kRows[] = {
    {Field::protocol_version, "/uai_version"},
    {Field::profile, "/profile"},
    {Field::message_id, "/message_id"},
    {Field::from, "/source"},
    {Field::to, "/target"},
    {Field::conversation, "/conversation"},
    {Field::priority, "/delivery/priority"},
    {Field::expires_at, "/delivery/expires_at"},
    {Field::idempotency_key, "/delivery/idempotency_key"},
    {Field::retry_count, "/delivery/retry_count"},
    {Field::timeout_ms, "/delivery/timeout_ms"},
    {Field::fallback_directive, "/delivery/fallback_directive"},
    {Field::expected_output_schema, "/delivery/expected_output_schema"},
    {Field::trust, "/trust"},
    {Field::work_id, "/body/task_id"},
    {Field::target_agent_id, "/body/target_agent_id"},
    {Field::summary, "/body/context_summary"},
    {Field::reason, "/body/handoff_reason"},
    {Field::next_action, "/body/exact_next_action"},
    {Field::authorization, "/body/delegated_authorization"},
    {Field::support_boundary, "/body/support_boundary"},
    {Field::required_reads, "/body/required_reads"},
    {Field::evidence_refs, "/body/evidence_refs"},
    {Field::open_gaps, "/body/blockers"},
    {Field::risks, "/body/risks"},
    {Field::issued_at, "/provenance/issued_at"},
    {Field::integrity, "/integrity"},
    {Field::extensions, "/extensions"},
};

}  // namespace

bool recognise(json::Node root) {
  return root["uai_version"] || (root["profile"].is_string() && root["profile"].string().starts_with("uai."));
}

std::span<const Row> rows() { return kRows; }

std::optional<Handoff> to_handoff(json::Node root, std::string_view raw) {
  const json::Node profile = root["profile"];
  const bool status = profile.is_text(kTaskStatusProfile);
  if (!profile.is_text(kHandoffProfile) && !status) return std::nullopt;
  Handoff handoff = read_rows(Dialect::Uaix, kRows, root, raw);
  const json::Value* blockers = handoff.value(Field::open_gaps);
  const bool blocked = blockers != nullptr && blockers->is_array() && !blockers->elements().empty();
  handoff.mode = status ? Mode::Report : Mode::Transfer;
  handoff.outcome = status ? Outcome::InProgress : blocked ? Outcome::Blocked : Outcome::Offered;
  return handoff;
}

json::Value from_handoff(const Handoff& handoff) { return write_rows(kRows, handoff); }

}  // namespace baton::uaix
