// SPDX-License-Identifier: Apache-2.0
// UAIX packets that were taken: what tells a retry from a replay, in every use case that takes one.
#pragma once

#include <optional>
#include <string>

#include "runtime/use_cases/engine.h"

namespace baton::runtime {

struct PacketIds {
  std::string source;  // who sent it, as far as it is known: ids of somebody else are not used up by it
  std::string message_id, idempotency_key;
  std::string digest;       // uaix::replay_digest()
  std::string target = {};  // whom it is for, where that is looked at
  Time expires_at = {};
};

struct SeenPacket {
  std::string stream;  // where it was recorded what came of it
  std::string message_id;
};
// Nothing: it is new. The same content again is the first one's; other content under the same ids is refused (UAIX_REPLAY,
// UAIX_IDEMPOTENCY_CONFLICT).
Result<std::optional<SeenPacket>> find_seen(Act& act, const PacketIds& packet);

// `subject`: the work item it was about, or the stream of whatever else it was.
Result<void> record_seen(Act& act, const PacketIds& packet, std::string stream, const std::string& subject);

}  // namespace baton::runtime
