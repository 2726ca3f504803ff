// SPDX-License-Identifier: Apache-2.0
// How much of something each actor has used of late: a bucket for each, which holds one period's worth and fills again steadily.
//
// The number of buckets is fixed, and taking allocates nothing. Where more actors are active at one time than there are buckets, the
// actor that used least gives its bucket up, and begins with a full one when it comes back: whoever uses much is always remembered.
// Pure but for its own memory: the time is passed in. Any thread may call.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace baton::runtime {

class ActorQuota {
 public:
  // `limit` in each `period_ns`; 0: no limit, and nothing is remembered.
  ActorQuota(std::uint64_t limit, std::int64_t period_ns);

  std::uint64_t limit() const { return limit_; }

  // Takes one if there is one. Else nothing is taken; the nanoseconds until there is one.
  std::optional<std::int64_t> take(std::string_view actor, std::int64_t now_ns);

  // Is something left, where `times` the limit may be used? The nanoseconds until there is; nothing: now.
  std::optional<std::int64_t> wait_for(std::string_view actor, std::int64_t now_ns, std::int64_t times = 1);
  // Takes so much, whether it is left or not: what is known only afterwards.
  void charge(std::string_view actor, std::uint64_t amount, std::int64_t now_ns);

 private:
  // Full again at `full_at`: what is used up is as much as fills in the time until then.
  struct Bucket {
    std::uint64_t actor = 0;  // hash of its id; 0: nobody's
    std::int64_t full_at = 0;
  };
  static constexpr std::size_t kWays = 4;
  Bucket& bucket_of(std::string_view actor, std::int64_t now_ns);
  std::int64_t nanoseconds_of(std::uint64_t amount) const;

  const std::uint64_t limit_;
  const std::int64_t period_ns_;
  std::mutex mutex_;
  std::vector<std::array<Bucket, kWays>> sets_;  // an actor's hash names the one that its bucket is in
};

}  // namespace baton::runtime
