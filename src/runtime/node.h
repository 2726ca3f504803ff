// SPDX-License-Identifier: Apache-2.0
// A node at work: what goes on beside the use cases. It follows the ledger (its own commits and those of other nodes), wakes whoever
// waits, records what becomes due, sends events to webhooks, and knows when it has been idle.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "runtime/access.h"
#include "runtime/ledger.h"
#include "runtime/use_cases.h"
#include "store/store.h"
#include "workspace/config.h"

namespace baton::runtime {

// What a node records about itself, on the stream `node`. Started: config_digest, version? (of the program), name (this
// node's among those of the store), fast_lane? (reads may be recorded a little later: runtime/use_cases/fast_lane.h). Stopped: name.
inline constexpr std::string_view kNodeStream = "node";
inline constexpr std::string_view kNodeStarted = "node.started";
inline constexpr std::string_view kNodeStopped = "node.stopped";

// An entry as it is passed on to whoever follows.
struct FedEntry {
  std::uint64_t sequence;
  std::string stream, type, actor_id, actor_kind, payload;
  std::int64_t time;
};
using FedEntries = std::shared_ptr<const std::vector<FedEntry>>;

// One thread that follows the ledger: waits for it to grow (no polling), reads what is new once, and hands it to everyone who
// subscribed, in order, without gaps.
class Feed {
 public:
  using Take = std::function<void(const FedEntries&)>;  // on the feed's thread; must not block
  virtual ~Feed() = default;
  // Entries after `position()` at the time of the call. The number ends it; after unsubscribe() returned, it is not called any more.
  virtual std::uint64_t subscribe(Take take) = 0;
  virtual void unsubscribe(std::uint64_t subscription) = 0;
  // The last entry handed out.
  virtual std::uint64_t position() const = 0;
};

struct NodeFigures {
  std::uint64_t waiting_claims, claims_woken, sweeps, webhooks_sent, webhooks_failed, entries_seen;
};

class Node {
 public:
  struct Options {
    std::string config_folder;  // where secret files of the configuration lie
    std::string version = {};   // of the program, for the record; empty: not said
    // What the operator should know and nobody asked for: a webhook that is not taken, a store that fails. One line, no
    // secrets; called by any thread.
    std::function<void(std::string_view line)> log = {};
  };
  // Everything given outlives the node. Records the configuration's digest. Failures: the store's; a secret file that cannot be read.
  static Result<std::unique_ptr<Node>> start(store::Store& store, Ledger& ledger, Clock& clock, UseCases& cases,
                                             Access& access, const workspace::Config& config, Options options);
  virtual ~Node() = default;

  virtual Feed& feed() = 0;

  // A claim that waits until there is something to claim, or the time is over (then {"work": null}). Those who wait are served in the order
  // they came, as far as the items suit them. Calling `cancel` (any thread) ends the waiting: `done` is then called with {"work": null}, if it
  // was not called yet. WAITING_FULL when too many wait.
  using Cancel = std::function<void()>;
  virtual Cancel claim_or_wait(const Mutation& by, ClaimRequest asked, std::chrono::milliseconds wait,
                               Answered done) = 0;

  // start_call, which waits while others of its workflow execute (resource_busy): begun as soon as it is its turn. When the time is over,
  // or `cancel` is called, the answer is the one that it is busy; its place is kept either way.
  virtual Cancel start_or_wait(const Mutation& by, std::string session_id, std::string start,
                               std::chrono::milliseconds wait, Answered done) = 0;

  // GitHub's signature (`sha256=...`) over a body, in constant time; false also when the repository has no secret here.
  virtual bool is_genuine(std::string_view repository, std::string_view body, std::string_view signature) const = 0;

  virtual NodeFigures figures() const = 0;
  // Stops following and serving: waiting claims end with {"work": null}.
  virtual void stop() = 0;
};

// A webhook's body, reduced; nothing when it is not of the form GitHub sends for that kind (`X-GitHub-Event`).
std::optional<CiDelivery> read_github_delivery(std::string_view kind, std::string_view delivery_id,
                                               std::string_view body);

}  // namespace baton::runtime
