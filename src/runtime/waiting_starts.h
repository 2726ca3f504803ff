// SPDX-License-Identifier: Apache-2.0
// Calls of workflows that wait for their turn (`serial_only`). Whoever is told resource_busy keeps its place in the ledger; who waits here
// is begun again when an entry may have made it its turn: woken, never polled. Whose turn it is is read before anything is tried, so that
// waiting records nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/node.h"
#include "runtime/use_cases.h"

namespace baton::runtime {

class WaitingStarts {
 public:
  explicit WaitingStarts(UseCases& cases);  // which outlives this
  ~WaitingStarts();                         // as stop(), then waits for those who look

  // See Node::start_or_wait.
  std::function<void()> add(const Mutation& by, std::string session_id, std::string start,
                            std::chrono::milliseconds wait, Answered done);
  // On the feed's thread.
  void see(const FedEntries& entries);
  // Everyone who waits is told what they were told first. Nobody waits any more afterwards.
  void stop();

  std::uint64_t waiting() const;

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
  std::thread thread_;
};

}  // namespace baton::runtime
