// SPDX-License-Identifier: Apache-2.0
#include "runtime/use_cases/packets.h"

#include "runtime/work_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;

constexpr std::int64_t kReplayKeptSeconds = 300;  // stated: beyond a packet's own end

// Names of items have no `/`.
std::string stream_of(const std::string& subject) {
  return subject.find('/') == std::string::npos ? work_stream(subject) : subject;
}

}  // namespace

Result<std::optional<SeenPacket>> find_seen(Act& act, const PacketIds& packet) {
  std::optional<SeenPacket> same;
  const auto look = [&](const store::Row& row, Code code, std::string_view pointer) {
    if (text_at(row, 3) == packet.digest) same = SeenPacket{stream_of(text_at(row, 4)), text_at(row, 0)};
    else act.refuse(report(code, place_named(std::string(pointer))));
  };
  const auto by_id = act.unit.get(tables::kUaixMessages, {packet.message_id, packet.source});
  if (!by_id) return tl::make_unexpected(by_id.error());
  if (*by_id) look(**by_id, Code::UAIX_REPLAY, "/message_id");
  auto by_key = act.unit.find({.table = tables::kUaixMessages,
                               .index = &tables::kUaixMessagesByKey,
                               .equal = {packet.source, packet.idempotency_key},
                               .limit = 1},
                              store::Lock::Wait, [&](const store::Row& row) {
                                look(row, Code::UAIX_IDEMPOTENCY_CONFLICT, "/delivery/idempotency_key");
                                return true;
                              });
  if (!by_key) return tl::make_unexpected(by_key.error());
  return same;
}

Result<void> record_seen(Act& act, const PacketIds& packet, std::string stream, const std::string& subject) {
  json::Value payload = json::Value::object();
  payload.set("source_id", packet.source);
  payload.set("message_id", packet.message_id);
  payload.set("idempotency_key", packet.idempotency_key);
  payload.set("digest", packet.digest);
  payload.set("work_id", subject);
  payload.set("expires_at", format_time(packet.expires_at + kReplayKeptSeconds));
  payload.set("at", format_time(act.now));
  return act.append(std::move(stream), kUaixMessageSeen, std::move(payload), Act::Is::Beside,
                    {"/message_id", "/idempotency_key", "/digest"});
}

}  // namespace baton::runtime
