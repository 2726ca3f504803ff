// SPDX-License-Identifier: Apache-2.0
#include "runtime/use_cases/timekeeper.h"

#include <algorithm>

#include "base/limits.h"
#include "json/parse.h"
#include "ledger/entry.h"
#include "ledger/streams.h"
#include "runtime/ledger_events.h"
#include "runtime/work_rows.h"

namespace baton::runtime {
namespace {

// More jumps than a lease or a question outlasts. Of older ones nothing is known: what they moved is due early.
constexpr std::size_t kJumpsMax = 64;

}  // namespace

Result<void> Timekeeper::begin(store::Reader& reader) {
  const auto head = reader.head();
  if (!head) return tl::make_unexpected(head.error());
  if (head->size == 0) return {};
  std::int64_t latest = head->time;
  // While the clock is behind, the ledger's own time stands still, and what happened says itself when it did.
  auto newest = reader.entries(head->size, head->size, [&](const store::EntryRow& row) {
    const auto payload = json::parse(row.payload);
    Time at;
    if (payload && read_time(payload->root(), "at", at)) latest = std::max(latest, at.nanoseconds);
    return false;
  });
  if (!newest) return newest;
  std::vector<Jump> jumps;  // the newest first
  auto read = ledger::read_stream_backwards(reader, kLedgerStream, [&](const store::EntryRow& row) {
    if (row.type != kClockJumped) return true;
    const auto payload = json::parse(row.payload);
    Time from;
    std::int64_t by = 0;
    if (payload && read_time(payload->root(), "from", from) && read_number(payload->root(), "by_ns", by) && by > 0)
      jumps.push_back({from.nanoseconds, by});
    return jumps.size() < kJumpsMax;
  });
  if (!read) return read;

  const std::lock_guard lock(mutex_);
  earliest_ = std::max(earliest_, latest);
  began_steady_ = clock_.monotonic_ns();
  // Every node notices a jump of a server's clock and says so; the second one saw it from before the first one's end.
  for (auto jump = jumps.rbegin(); jump != jumps.rend(); ++jump)
    if (jumps_.empty() || jump->from >= jumps_.back().from + jumps_.back().by) remember(*jump);
  return {};
}

Time Timekeeper::judge(Time wall) {
  const std::int64_t steady = clock_.monotonic_ns();
  const std::lock_guard lock(mutex_);
  // All of one transaction have its time.
  if (seen_ && seen_->wall == wall.nanoseconds) return {std::max(wall.nanoseconds + ahead_, earliest_)};
  std::int64_t offset = wall.nanoseconds - steady;
  if (!seen_) {
    if (wall.nanoseconds < earliest_) ahead_ = earliest_ + (steady - began_steady_) - wall.nanoseconds;
  } else {
    const std::int64_t drift = (steady - seen_->steady) / limits::kClockDriftDivisor;
    const std::int64_t by = offset - seen_->offset;
    if (by > limits::kClockJumpNanoseconds + drift || -by > limits::kClockJumpNanoseconds + drift)
      jumped(wall.nanoseconds - by, by);
    // Whoever had to wait between the two clocks finds the wall clock behind: no more of that is believed than clocks drift.
    else offset = std::max(offset, seen_->offset - drift);
  }
  seen_ = Seen{wall.nanoseconds, steady, offset};
  earliest_ = std::max(earliest_, wall.nanoseconds + ahead_);
  return {earliest_};
}

void Timekeeper::jumped(std::int64_t expected, std::int64_t by) {
  // Set ahead after it was set back: so far it only comes back to the time that is told.
  const std::int64_t before = ahead_;
  ahead_ = std::max<std::int64_t>(0, ahead_ - by);
  if (const std::int64_t skipped = by - before; by > 0 && skipped > 0) remember({expected + before, skipped});
}

void Timekeeper::remember(Jump jump) {
  if (jumps_.size() == kJumpsMax) jumps_.erase(jumps_.begin());
  jumps_.push_back(jump);
}

std::int64_t Timekeeper::skipped_since(Time time) {
  const std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const Jump& jump : jumps_)
    if (time.nanoseconds <= jump.from) sum += jump.by;
  return sum;
}

}  // namespace baton::runtime
