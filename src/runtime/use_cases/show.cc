// SPDX-License-Identifier: Apache-2.0
// Items, sessions, sections and tokens as callers are told of them: docs/reference/http-api.md
#include "runtime/token_entries.h"
#include "runtime/use_cases/engine.h"

namespace baton::runtime {
namespace {

using json::Value;

std::string_view state_of(const work::Item& item) {
  if (item.aborted) return "aborted";
  switch (item.phase) {
    case work::Phase::Completed: return "completed";
    case work::Phase::Blocked: return "blocked";
    case work::Phase::CiPending: return "with_ci";
    default: break;
  }
  if (!item.lease) return "waiting";
  return item.lease->parked_until ? "parked" : "held";
}

Value shown_lease(const work::Lease& lease) {
  Value out = Value::object();
  out.set("id", lease.id);
  out.set("session_id", lease.session_id);
  out.set("holder", lease.holder);
  out.set("fence", lease.fence);
  out.set("expires_at", format_time(lease.expires_at));
  if (lease.parked_until) out.set("parked_until", format_time(*lease.parked_until));
  return out;
}

}  // namespace

// As it is kept, with what a reader would have to work out; and what is counted is always there.
Value shown(const work::Item& item) {
  Value kept = item.to_json();
  Value out = Value::object();
  for (auto& [name, value] : kept.members()) {
    if (name == "counts_for") continue;  // for the limit alone
    if (name == "lease") out.set(name, shown_lease(*item.lease));
    else out.set(name, std::move(value));
    if (name == "phase") out.set("state", state_of(item));
  }
  if (out.find("attempts") == nullptr) out.set("attempts", item.attempts);
  if (out.find("totals") == nullptr) {
    Value totals = Value::object();
    totals.set("sessions", item.totals.sessions);
    totals.set("attempts", item.totals.attempts);
    totals.set("calls", item.totals.calls);
    out.set("totals", std::move(totals));
  }
  return out;
}

Value shown(const work::Session& session, const std::optional<work::Item>& item) {
  Value out = session.to_json();
  out.erase("earlier_digests");  // for the rule about resending alone
  if (item && item->lease && item->lease->session_id == session.id) {
    out.set("lease_id", item->lease->id);
    out.set("expires_at", format_time(item->lease->expires_at));
    out.set("phase", agent_exit::phase_name(item->phase));
  }
  return out;
}

Value shown(const ContextSection& section, bool with_value) {
  Value out = Value::object();
  out.set("section", section.section);
  out.set("version", section.version);
  if (with_value) out.set("value", section.value);
  out.set("author", section.author);
  out.set("labels", texts_value(section.labels));
  out.set("changed_at", format_time(section.changed_at));
  out.set("session_id", section.session_id);
  out.set("work_id", section.work_id);
  return out;
}

Value shown(const Token& token) {
  Value out = Value::object();
  out.set("id", token.id);
  out.set("actor", token.actor_id);
  out.set("kind", kind_name(token));
  if (!token.grant.roles.empty()) out.set("roles", texts_value(token.grant.roles));
  if (!token.grant.principal_sha256.empty()) out.set("principal_sha256", token.grant.principal_sha256);
  out.set("scopes", texts_value(token.scopes));
  out.set("names", texts_value(token.names));
  out.set("created_at", format_time(token.created_at));
  out.set("created_by", token.created_by);
  if (token.expires_at) out.set("expires_at", format_time(*token.expires_at));
  if (token.revoked_at) out.set("revoked_at", format_time(*token.revoked_at));
  if (!token.note.empty()) out.set("note", token.note);
  return out;
}

}  // namespace baton::runtime
