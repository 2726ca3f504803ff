// SPDX-License-Identifier: Apache-2.0
#include "runtime/actor_quota.h"

#include <algorithm>
#include <functional>

#include "base/limits.h"

namespace baton::runtime {
namespace {

// What is charged afterwards may be far more than is left; nobody waits longer than so many periods for it.
constexpr std::int64_t kPeriodsOwedMax = 4;

}  // namespace

ActorQuota::ActorQuota(std::uint64_t limit, std::int64_t period_ns)
    : limit_(limit), period_ns_(period_ns), sets_(limit == 0 ? 0 : limits::kActorsMeasuredMax / kWays) {}

std::int64_t ActorQuota::nanoseconds_of(std::uint64_t amount) const {
  const double share = static_cast<double>(amount) / static_cast<double>(limit_);
  return static_cast<std::int64_t>(std::min(share, static_cast<double>(kPeriodsOwedMax)) *
                                   static_cast<double>(period_ns_));
}

ActorQuota::Bucket& ActorQuota::bucket_of(std::string_view actor, std::int64_t now_ns) {
  const std::uint64_t hash = std::hash<std::string_view>()(actor) | 1;  // never that of nobody
  auto& set = sets_[(hash >> 1) % sets_.size()];
  const auto own = std::ranges::find(set, hash, &Bucket::actor);
  if (own != set.end()) {
    own->full_at = std::max(own->full_at, now_ns);
    return *own;
  }
  Bucket& least = *std::ranges::min_element(set, {}, &Bucket::full_at);
  least = {hash, now_ns};
  return least;
}

std::optional<std::int64_t> ActorQuota::take(std::string_view actor, std::int64_t now_ns) {
  if (limit_ == 0) return std::nullopt;
  const std::int64_t one = nanoseconds_of(1);
  const std::lock_guard lock(mutex_);
  Bucket& bucket = bucket_of(actor, now_ns);
  if (const std::int64_t wait = bucket.full_at + one - now_ns - period_ns_; wait > 0) return wait;
  bucket.full_at += one;
  return std::nullopt;
}

std::optional<std::int64_t> ActorQuota::wait_for(std::string_view actor, std::int64_t now_ns, std::int64_t times) {
  if (limit_ == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const std::int64_t wait = bucket_of(actor, now_ns).full_at - now_ns - period_ns_ * times;
  return wait >= 0 ? std::optional(wait + 1) : std::nullopt;
}

void ActorQuota::charge(std::string_view actor, std::uint64_t amount, std::int64_t now_ns) {
  if (limit_ == 0) return;
  const std::lock_guard lock(mutex_);
  Bucket& bucket = bucket_of(actor, now_ns);
  bucket.full_at = std::min(bucket.full_at + nanoseconds_of(amount), now_ns + kPeriodsOwedMax * period_ns_);
}

}  // namespace baton::runtime
