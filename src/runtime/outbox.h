// SPDX-License-Identifier: Apache-2.0
// Events to webhooks. The ledger is the outbox: for each target the store keeps how far it has been told (the table
// webhook_cursors), and a thread sends what comes after that, one event after another.
//
// Each event that fits a target's patterns is sent at least once, in the order of the ledger; the next only after the one
// before was taken (2xx). Anything else is tried again, after a second, two, ... five minutes, and never left out. A target
// that answers 410 Gone is told nothing more until the node starts again. A target that is new to the store begins with what
// happens from then on.
//
// Among several nodes one at a time tells a target: whoever has something to send takes the target's row for a while, and
// another node goes on when that has lapsed.
//
// The request: POST with the event as JSON {"sequence", "stream", "type", "actor": {"id", "kind"}, "time", "payload"} and
//   Baton-Event: <type>
//   Baton-Delivery: <target>-<sequence>, the same for each try
//   Baton-Signature: t=<seconds since 1970>,v1=<HMAC-SHA-256 of "<t>.<body>", hexadecimal>
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "runtime/feed.h"
#include "runtime/node.h"
#include "store/store.h"
#include "workspace/config.h"

namespace baton::runtime {

class Outbox {
 public:
  struct Options {
    std::string config_folder;  // where the secret files lie
    std::string owner;          // this node's name among those of the store
    Log log = {};
  };
  // Everything given outlives this. WEBHOOK_SECRET, or a failure of the store.
  static Result<std::unique_ptr<Outbox>> start(store::Store& store, Clock& clock,
                                               const std::vector<workspace::WebhookTarget>& targets,
                                               const Options& options);
  ~Outbox();

  // On the feed's thread.
  void see(const FedEntries& entries);
  // Lets a delivery that is under way finish, for a second; it is made again later otherwise.
  void stop();

  std::uint64_t sent() const;
  std::uint64_t failed() const;  // tries that did not succeed

 private:
  class Target;
  explicit Outbox(std::vector<std::unique_ptr<Target>> targets);
  std::vector<std::unique_ptr<Target>> targets_;
};

// Pure, for tests and readers: what is sent and with which signature; and how long the n-th failure (from 1) makes one wait.
std::string webhook_body(const FedEntry& entry);
std::string webhook_signature(std::string_view secret, std::int64_t seconds, std::string_view body);
std::int64_t webhook_pause_ms(std::int64_t failures, std::string_view jitter_of);

}  // namespace baton::runtime
