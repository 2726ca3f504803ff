// SPDX-License-Identifier: Apache-2.0
#include "runtime/opening.h"

#include <algorithm>
#include <array>

#include "dialects/agent_exit/phase.h"
#include "json/parse.h"
#include "work/events.h"
#include "work/rules.h"

namespace baton::runtime {
namespace {

// Where an entry's payload says which queue the item is in now.
enum class Says { Phase, NextPhase, OfferedTo, Nothing, NoQueue, Taken };
struct Kind {
  std::string_view type;
  Says says;
};
constexpr std::array kKinds = {
    Kind{work::kCreated, Says::Phase},          Kind{work::kClaimed, Says::Taken},
    Kind{work::kReleased, Says::Nothing},       Kind{work::kExpired, Says::Phase},
    Kind{work::kAbandoned, Says::Phase},        Kind{work::kFailed, Says::NoQueue},
    Kind{work::kAnswered, Says::NoQueue},       Kind{work::kParkingLapsed, Says::NoQueue},
    Kind{work::kCompleted, Says::NextPhase},    Kind{work::kOffered, Says::OfferedTo},
    Kind{work::kOfferEnded, Says::Nothing},     Kind{work::kUnblocked, Says::Phase},
    Kind{work::kAborted, Says::NoQueue},        Kind{work::kCiReported, Says::NextPhase},
    Kind{work::kDependencyDone, Says::Nothing},
};

// The queue of items in a phase; empty where nobody claims.
std::optional<std::string> queue_of_phase(json::Node name) {
  if (!name.is_string()) return std::nullopt;
  const auto phase = agent_exit::find_phase(name.string());
  if (!phase) return std::nullopt;
  return work::is_claimable(*phase) ? std::string(name.string()) : std::string();
}

std::optional<std::string> queue_in(Says says, json::Node payload) {
  switch (says) {
    case Says::Phase:
      if (payload["open_dependencies"].is_array() && payload["open_dependencies"].size() > 0) return std::string();
      return queue_of_phase(payload["phase"]);
    case Says::NextPhase: return queue_of_phase(payload["next_phase"]);
    case Says::OfferedTo:
      return payload["to"].is_string() ? std::optional("@" + std::string(payload["to"].string())) : std::nullopt;
    case Says::NoQueue: return std::string();
    case Says::Nothing:
    case Says::Taken: break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Opening> opening_of(std::uint64_t sequence, std::string_view type, std::string_view payload) {
  const auto kind = std::ranges::find(kKinds, type, &Kind::type);
  if (kind == kKinds.end()) return std::nullopt;
  const auto document = json::parse(payload);
  if (!document || !document->root()["work_id"].is_string()) return std::nullopt;
  return Opening{.work_id = std::string(document->root()["work_id"].string()),
                 .sequence = sequence,
                 .taken = kind->says == Says::Taken,
                 .queue = queue_in(kind->says, document->root())};
}

}  // namespace baton::runtime
