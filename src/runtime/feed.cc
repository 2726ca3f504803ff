// SPDX-License-Identifier: Apache-2.0
#include "runtime/feed.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/limits.h"

namespace baton::runtime {
namespace {

using namespace std::chrono_literals;

constexpr auto kWait = 1s;
constexpr std::chrono::milliseconds kFirstPause = 50ms, kLongestPause = 5s;

FedEntry copy_of(const store::EntryRow& row) {
  return {row.sequence,
          std::string(row.stream),
          std::string(row.type),
          std::string(row.actor_id),
          std::string(row.actor_kind),
          std::string(row.payload),
          row.time};
}

}  // namespace

Result<std::unique_ptr<LedgerFeed>> LedgerFeed::open(store::Store& store, Log log) {
  const auto reader = store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto head = (*reader)->head();
  if (!head) return tl::make_unexpected(head.error());
  return std::unique_ptr<LedgerFeed>(new LedgerFeed(store, std::move(log), head->size));
}

LedgerFeed::LedgerFeed(store::Store& store, Log log, std::uint64_t position)
    : store_(store), log_(std::move(log)), position_(position) {}

void LedgerFeed::start() {
  thread_ = std::thread([this] { follow(); });
}

LedgerFeed::~LedgerFeed() { stop(); }

void LedgerFeed::stop_soon() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

void LedgerFeed::stop() {
  stop_soon();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t LedgerFeed::subscribe(Take take) {
  const std::lock_guard lock(mutex_);
  subscribers_.emplace(next_subscription_, std::make_shared<const Take>(std::move(take)));
  return next_subscription_++;
}

void LedgerFeed::unsubscribe(std::uint64_t subscription) {
  std::unique_lock lock(mutex_);
  subscribers_.erase(subscription);
  if (std::this_thread::get_id() == own_thread_) return;
  changed_.wait(lock, [&] { return called_ != subscription; });
}

void LedgerFeed::follow() {
  {
    const std::lock_guard lock(mutex_);
    own_thread_ = std::this_thread::get_id();
  }
  std::chrono::milliseconds pause = kFirstPause;
  while (!is_stopping()) {
    const auto size = store_.wait_for_change(position_, kWait);
    const Result<void> read = !size                      ? tl::make_unexpected(size.error())
                              : *size > position_.load() ? read_on()
                                                         : Result<void>();
    if (read) {
      pause = kFirstPause;
      continue;
    }
    if (log_ && pause == kFirstPause) log_("following the ledger: " + read.error().reason);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, pause, [this] { return is_stopping(); });
    pause = std::min(pause * 2, kLongestPause);
  }
}

Result<void> LedgerFeed::read_on() {
  auto reader = store_.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto head = (*reader)->head();
  if (!head) return tl::make_unexpected(head.error());
  while (position_ < head->size && !is_stopping()) {
    const std::uint64_t first = position_ + 1;
    const std::uint64_t last = std::min<std::uint64_t>(head->size, position_ + limits::kFeedEntriesMax);
    auto entries = std::make_shared<std::vector<FedEntry>>();
    entries->reserve(last - first + 1);
    const auto read = (*reader)->entries(first, last, [&](const store::EntryRow& row) {
      // Whoever altered the store may have taken an entry out: better to stand still than to go on without it.
      if (row.sequence != first + entries->size()) return false;
      entries->push_back(copy_of(row));
      return true;
    });
    if (!read) return read;
    if (entries->empty())
      return failure("following the ledger", "entry " + std::to_string(first) + " is not in the store");
    hand_out(entries);
  }
  return {};
}

void LedgerFeed::hand_out(const FedEntries& entries) {
  std::unique_lock lock(mutex_);
  // Whoever subscribes from here on gets what comes after these.
  position_ = entries->back().sequence;
  seen_ += entries->size();
  std::vector<std::uint64_t> subscriptions;
  subscriptions.reserve(subscribers_.size());
  for (const auto& [subscription, take] : subscribers_) subscriptions.push_back(subscription);
  for (const std::uint64_t subscription : subscriptions) {
    const auto found = subscribers_.find(subscription);
    if (found == subscribers_.end()) continue;
    const std::shared_ptr<const Take> take = found->second;
    called_ = subscription;
    lock.unlock();
    (*take)(entries);
    lock.lock();
    called_ = 0;
    changed_.notify_all();
  }
}

}  // namespace baton::runtime
