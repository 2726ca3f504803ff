// SPDX-License-Identifier: Apache-2.0
#include "runtime/sweeper.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "json/parse.h"
#include "runtime/session_events.h"
#include "runtime/workflow_events.h"
#include "work/events.h"

namespace baton::runtime {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kLongestSleep = 30s;
constexpr std::chrono::nanoseconds kFirstPause = 50ms, kLongestPause = 1s;

struct Due {
  std::string_view type;
  std::string_view member;  // where its payload has the time
};
constexpr std::array kDue = {
    Due{work::kClaimed, "expires_at"},   Due{work::kRenewed, "expires_at"},     Due{work::kAnswered, "expires_at"},
    Due{work::kParked, "until"},         Due{work::kOffered, "until"},          Due{work::kPostponed, "until"},
    Due{kWorkflowOffered, "expires_at"}, Due{kApprovalRequested, "expires_at"}, Due{kApprovalMoved, "spend_until"}};

// What a use case answers, for whoever waits for it. Kept by both, because either may be gone first.
struct Waited {
  std::mutex mutex;
  std::condition_variable came;
  std::optional<Result<Answer>> answer;
};

// How much a sweep found to do.
std::uint64_t done_in(const Answer& answer) {
  std::uint64_t sum = 0;
  for (const std::string_view member : {"settled", "forgotten"}) {
    const json::Value* number = answer.body.find(member);
    if (number == nullptr || number->kind() != json::Kind::Number) continue;
    std::uint64_t one = 0;
    for (const char digit : number->number_text()) one = one * 10 + static_cast<std::uint64_t>(digit - '0');
    sum += one;
  }
  return sum;
}

}  // namespace

std::optional<Time> deadline_in(std::string_view type, std::string_view payload) {
  const auto due = std::ranges::find(kDue, type, &Due::type);
  if (due == kDue.end()) return std::nullopt;
  const auto document = json::parse(payload);
  if (!document) return std::nullopt;
  const json::Node time = document->root()[due->member];
  return time.is_string() ? parse_time(time.string()).time : std::nullopt;
}

Sweeper::Sweeper(UseCases& cases, Clock& clock, Log log)
    : cases_(cases), clock_(clock), log_(std::move(log)), thread_([this] { work(); }) {}

Sweeper::~Sweeper() { stop(); }

void Sweeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Sweeper::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void Sweeper::see(const FedEntries& entries) {
  std::optional<Time> earliest;
  for (const FedEntry& entry : *entries)
    if (const auto time = deadline_in(entry.type, entry.payload))
      earliest = earliest ? std::min(*earliest, *time) : *time;
  if (!earliest) return;
  {
    const std::lock_guard lock(mutex_);
    if (told_ && *told_ <= *earliest) return;
    told_ = earliest;
  }
  wake_.notify_all();
}

void Sweeper::work() {
  std::chrono::nanoseconds pause = kFirstPause;
  bool in_vain = false;  // something seemed due, and nothing was
  while (true) {
    // What the feed tells of from here on counts, also when next_deadline() knows it already.
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      told_.reset();
    }
    std::chrono::nanoseconds sleep(nanoseconds_to_next());
    const bool seems_due = sleep <= 0ns;
    if (seems_due && in_vain) {
      sleep = pause;
      pause = std::min(pause * 2, kLongestPause);
    } else if (!seems_due) {
      pause = kFirstPause;
    }
    {
      std::unique_lock lock(mutex_);
      auto until = std::chrono::steady_clock::now() + sleep;
      while (!stopping_) {
        if (told_ && !seems_due) {
          const std::chrono::nanoseconds left(told_->nanoseconds - clock_.now().nanoseconds);
          until = std::min(until, std::chrono::steady_clock::now() + left);
        }
        if (std::chrono::steady_clock::now() >= until) break;
        wake_.wait_until(lock, until);
      }
      if (stopping_) return;
    }
    const auto settled = sweep_all();
    if (!settled && log_ && !in_vain) log_("settling what is due: " + settled.error().reason);
    in_vain = !settled || *settled == 0;
    if (!in_vain) pause = kFirstPause;
  }
}

std::int64_t Sweeper::nanoseconds_to_next() {
  const auto next = cases_.next_deadline();
  // Not to be known now: to be tried again soon, and not at once.
  if (!next) return std::chrono::nanoseconds(kLongestPause).count();
  if (!*next) return kLongestSleep.count();
  const std::int64_t now = clock_.now().nanoseconds;
  if ((*next)->nanoseconds <= now) return 0;
  return std::min<std::int64_t>((*next)->nanoseconds - now, kLongestSleep.count());
}

Result<std::uint64_t> Sweeper::sweep_all() {
  std::uint64_t settled = 0;
  while (!is_stopping()) {
    const auto once = sweep_once();
    if (!once) return once;
    settled += *once;
    if (*once == 0) break;
  }
  return settled;
}

Result<std::uint64_t> Sweeper::sweep_once() {
  const auto waited = std::make_shared<Waited>();
  ++sweeps_;
  cases_.sweep(limits::kSweepItemsMax, [waited](Result<Answer> answer) {
    const std::lock_guard lock(waited->mutex);
    waited->answer = std::move(answer);
    waited->came.notify_all();
  });
  std::unique_lock lock(waited->mutex);
  waited->came.wait(lock, [&] { return waited->answer.has_value(); });
  if (!*waited->answer) return tl::make_unexpected(waited->answer->error());
  return done_in(**waited->answer);
}

}  // namespace baton::runtime
