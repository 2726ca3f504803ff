// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"
#include "dialects/uaix/packet.h"
#include "dialects/uaix/schema.h"

namespace baton::uaix {
namespace {

constexpr std::int64_t kLifetimeSeconds = 24 * 3600;

}  // namespace

bool body_has(std::string_view profile, std::string_view member) {
  const ObjectRule* rule = body_rule(profile);
  if (rule == nullptr) return false;
  for (const MemberRule& known : rule->members)
    if (known.name == member) return true;
  return false;
}

json::Value skeleton(std::string_view profile, Time now, Random& random) {
  using json::Value;
  Value packet = Value::object();
  packet.set("uai_version", "1.0");
  packet.set("profile", profile);
  packet.set("message_id", mint_id("msg_", random));
  packet.set("source", Value::object());
  packet.set("target", Value::object());

  Value conversation = Value::object();
  conversation.set("conversation_id", mint_id("conv_", random));
  conversation.set("turn_id", "turn_1");
  conversation.set("correlation_id", mint_id("corr_", random));
  packet.set("conversation", std::move(conversation));

  Value delivery = Value::object();
  delivery.set("mode", "async");
  delivery.set("priority", "normal");
  delivery.set("expires_at", format_time(now + kLifetimeSeconds));
  delivery.set("reply_requested", profile == kHandoffProfile);
  delivery.set("ack_required", profile == kHandoffProfile);
  delivery.set("idempotency_key", mint_id("idem_", random));
  delivery.set("retry_count", 0);
  delivery.set("lifecycle", "draft");
  delivery.set("timeout_ms", 300'000);
  Value answer = Value::object();
  answer.set("profile", profile == kHandoffProfile ? kAckProfile : kTaskStatusProfile);
  delivery.set("expected_output_schema", std::move(answer));
  packet.set("delivery", std::move(delivery));

  Value trust = Value::object();
  trust.set("channel", "local-file");
  trust.set("auth_scheme", "none");
  trust.set("replay_window_id", mint_id("rw-", random));
  packet.set("trust", std::move(trust));
  packet.set("body", Value::object());

  Value provenance = Value::object();
  provenance.set("trace_id", mint_id("trace_", random));
  provenance.set("issued_at", format_time(now));
  provenance.set("lineage", Value::array());
  packet.set("provenance", std::move(provenance));

  Value integrity = Value::object();
  integrity.set("version", 1);
  integrity.set("algorithm", "sha256");
  integrity.set("canonicalization", "jcs-compatible-sorted-json");
  packet.set("integrity", std::move(integrity));
  packet.set("extensions", Value::array());
  return packet;
}

}  // namespace baton::uaix
