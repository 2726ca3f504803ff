// SPDX-License-Identifier: Apache-2.0
#include "runtime/use_cases/refusals.h"

#include "base/limits.h"
#include "base/text.h"
#include "runtime/work_events.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kSubjectCharactersMax = 128;
constexpr std::size_t kCodesMax = 32;

}  // namespace

Refusals::Kept& Refusals::kept_for(const Refusal& refusal, std::int64_t second) {
  const std::string name = refusal.session_id.empty() ? "a/" + refusal.actor.id : "s/" + refusal.session_id;
  const std::string key = refusal.what + "/" + name;
  if (kept_.size() >= limits::kRefusalsKeptMax && !kept_.contains(key)) {
    std::erase_if(kept_,
                  [&](const auto& each) { return each.second.counted.also == 0 && each.second.second < second; });
    // Too many at once: the rest is counted together.
    if (kept_.size() >= limits::kRefusalsKeptMax) return kept_[refusal.what];
  }
  return kept_[key];
}

void Refusals::note(Refusal refusal) {
  const std::int64_t second = clock_.monotonic_ns() / kNanosecondsPerSecond;
  refusal.subject = printable(refusal.subject, kSubjectCharactersMax);
  if (refusal.codes.size() > kCodesMax) refusal.codes.resize(kCodesMax);
  {
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_for(refusal, second);
    if (kept.second == second) {
      const std::uint64_t also = kept.counted.also + 1;
      kept.counted = std::move(refusal);
      kept.counted.also = also;
      return;
    }
    refusal.also = kept.counted.also;
    kept = {second, {}};
  }
  // The entry's time is the store's; whether it can be written is nobody's concern here.
  const auto use_case = [refusal](Unit& unit) -> Result<void> {
    const auto now = unit.now();
    if (!now) return tl::make_unexpected(now.error());
    return unit.append(happening_of(refusal, *now));
  };
  ledger_.writer().submit(use_case, [](const Result<Acknowledgement>&) {});
}

std::vector<Refusals::Refusal> Refusals::take_counted() {
  const std::int64_t second = clock_.monotonic_ns() / kNanosecondsPerSecond;
  std::vector<Refusal> out;
  const std::lock_guard lock(mutex_);
  for (auto at = kept_.begin(); at != kept_.end();) {
    Kept& kept = at->second;
    if (kept.second >= second) {
      ++at;
      continue;
    }
    if (kept.counted.also > 0) {
      if (out.size() == limits::kRefusalsFlushedMax) break;
      --kept.counted.also;  // the entry itself is about one of them
      out.push_back(std::move(kept.counted));
    }
    at = kept_.erase(at);
  }
  return out;
}

void Refusals::give_back(const std::vector<Refusal>& counted) {
  const std::int64_t second = clock_.monotonic_ns() / kNanosecondsPerSecond;
  const std::lock_guard lock(mutex_);
  for (const Refusal& refusal : counted) {
    Kept& kept = kept_for(refusal, second);
    const std::uint64_t also = kept.counted.also + refusal.also + 1;
    kept.counted = refusal;
    kept.counted.also = also;
  }
}

Happening Refusals::happening_of(const Refusal& refusal, Time at) {
  Happening out{std::string(kRefusalsStream), refusal.what, refusal.actor};
  out.payload.set("subject", refusal.subject);
  out.payload.set("codes", json::Value::Array(refusal.codes.begin(), refusal.codes.end()));
  out.payload.set("also", refusal.also);
  if (!refusal.session_id.empty()) out.payload.set("session_id", refusal.session_id);
  out.payload.set("at", format_time(at));
  return out;
}

}  // namespace baton::runtime
