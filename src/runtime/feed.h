// SPDX-License-Identifier: Apache-2.0
// The thread that follows the ledger (Feed in runtime/node.h). A store that fails is asked again, at longer and longer
// intervals, and the reading goes on where it stopped: nobody who subscribed sees a gap or an entry twice.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "runtime/node.h"
#include "store/store.h"

namespace baton::runtime {

// What a node has to say to whoever runs it: one line, without secrets. Any thread.
using Log = std::function<void(std::string_view line)>;

class LedgerFeed final : public Feed {
 public:
  // Stands after the newest entry. The store outlives the feed.
  static Result<std::unique_ptr<LedgerFeed>> open(store::Store& store, Log log);
  ~LedgerFeed() override;

  // Begins to follow, from where it was opened: who subscribed before misses nothing of that.
  void start();

  std::uint64_t subscribe(Take take) override;
  // From within the subscription's own call it returns at once; from elsewhere it waits for a call that is under way.
  void unsubscribe(std::uint64_t subscription) override;
  std::uint64_t position() const override { return position_.load(); }

  // How many entries were handed out.
  std::uint64_t seen() const { return seen_.load(); }

  // Ends the thread: after the wait that is under way, at most a second; at once when an entry comes meanwhile.
  void stop();
  void stop_soon();  // the same without waiting for the end

 private:
  LedgerFeed(store::Store& store, Log log, std::uint64_t position);

  void follow();
  // Reads on until nothing is left.
  Result<void> read_on();
  void hand_out(const FedEntries& entries);
  bool is_stopping() const { return stopping_.load(); }

  store::Store& store_;
  const Log log_;
  std::atomic<std::uint64_t> position_;
  std::atomic<std::uint64_t> seen_ = 0;
  std::atomic<bool> stopping_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, std::shared_ptr<const Take>> subscribers_;
  std::uint64_t next_subscription_ = 1;
  std::uint64_t called_ = 0;  // the subscription that is being called; 0: none
  std::thread::id own_thread_;
  std::thread thread_;
};

}  // namespace baton::runtime
