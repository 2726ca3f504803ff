// SPDX-License-Identifier: Apache-2.0
// Claims that wait for something to claim. They stand in one queue, in the order they came. An entry that makes an item
// claimable is an opening: it goes to the first who waits and whom the item could suit, who then looks, that is, claims
// as anybody would. Who looks in vain goes back to its place, and the opening passes to the next whose request or actor
// is another one, until somebody has the item: another node may have been faster, or a rule may keep it from this one.
//
// No opening is missed: whoever comes is in the queue before it looks for the first time, and an opening that comes while
// everyone whom it suits is looking makes them look again. Who comes and asks exactly what somebody asks who has already
// looked in vain and waits need not look: nothing has come since.
//
// Who waits by a token that is revoked is sent away (ACCESS_TOKEN), and what was just claimed for it is given back.
//
// One thread for all of them, for time that runs out and for looks that are due. `done` is called without any lock held,
// by that thread, the writer's, or whoever cancels.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/node.h"
#include "runtime/use_cases.h"
#include "workspace/config.h"

namespace baton::runtime {

class WaitingClaims {
 public:
  // Cases and config outlive this.
  //
  // `rechecks`: a claim passes over an item that another node's transaction holds at that moment; when that one does not take
  // it after all, nothing happens that would tell. So who has looked in vain looks again so much later, and then waits for
  // news only.
  WaitingClaims(UseCases& cases, const workspace::Config& config,
                std::vector<std::chrono::milliseconds> rechecks = {std::chrono::milliseconds(250),
                                                                   std::chrono::milliseconds(1500)});
  ~WaitingClaims();  // as stop(), then waits for those who look

  // See Node::claim_or_wait. Waits no longer than the configuration's `wait_seconds`.
  std::function<void()> add(const Mutation& by, ClaimRequest asked, std::chrono::milliseconds wait, Answered done);

  // On the feed's thread.
  void see(const FedEntries& entries);

  // Everyone who waits is answered {"work": null}; who is looking, with what it finds. Nobody waits any more afterwards.
  void stop();

  std::uint64_t waiting() const;
  std::uint64_t woken() const;  // looks that an opening led to, in all

 private:
  class Queue;
  std::shared_ptr<Queue> queue_;
  std::thread thread_;
};

}  // namespace baton::runtime
