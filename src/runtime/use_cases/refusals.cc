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

Refusals::Kept& Refusals::Book::kept_for(const Refusal& refusal, std::int64_t second) {
  const std::string name = refusal.session_id.empty() ? "a/" + refusal.actor.id : "s/" + refusal.session_id;
  const std::string key = refusal.what + "/" + name;
  if (kept.size() >= limits::kRefusalsKeptMax && !kept.contains(key)) {
    std::erase_if(kept, [&](const auto& each) { return each.second.counted.also == 0 && each.second.second < second; });
    // Too many at once: the rest is counted together.
    if (kept.size() >= limits::kRefusalsKeptMax) return kept[refusal.what];
  }
  return kept[key];
}

void Refusals::note(Refusal refusal) {
  const std::int64_t second = this->second();
  refusal.subject = printable(refusal.subject, kSubjectCharactersMax);
  if (refusal.codes.size() > kCodesMax) refusal.codes.resize(kCodesMax);
  {
    const std::lock_guard lock(book_->mutex);
    Kept& kept = book_->kept_for(refusal, second);
    if (kept.second == second) {
      const std::uint64_t also = kept.counted.also + 1;
      kept.counted = std::move(refusal);
      kept.counted.also = also;
      return;
    }
    refusal.also = kept.counted.also;
    kept = {second, {}};
  }
  // The entry's time is the store's.
  const auto use_case = [refusal](Unit& unit) -> Result<void> {
    const auto now = unit.now();
    if (!now) return tl::make_unexpected(now.error());
    return unit.append(happening_of(refusal, *now));
  };
  const auto written = [book = book_, refusal, second](const Result<Acknowledgement>& acknowledgement) {
    if (!acknowledgement && !is_unwanted(acknowledgement.error())) book->give_back(refusal, second);
  };
  if (!ledger_.writer().submit(use_case, written)) book_->give_back(refusal, second);
}

std::vector<Refusals::Refusal> Refusals::take_counted() {
  const std::int64_t second = this->second();
  std::vector<Refusal> out;
  const std::lock_guard lock(book_->mutex);
  for (auto at = book_->kept.begin(); at != book_->kept.end();) {
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
    at = book_->kept.erase(at);
  }
  return out;
}

void Refusals::give_back(const std::vector<Refusal>& counted) {
  for (const Refusal& refusal : counted) book_->give_back(refusal, second());
}

void Refusals::Book::give_back(const Refusal& refusal, std::int64_t second) {
  const std::lock_guard lock(mutex);
  Kept& to = kept_for(refusal, second);
  const std::uint64_t also = to.counted.also + refusal.also + 1;
  to.counted = refusal;
  to.counted.also = also;
}

std::int64_t Refusals::second() const { return clock_.monotonic_ns() / kNanosecondsPerSecond; }

bool Refusals::is_unwanted(const Failure& failure) {
  for (const Code code : {Code::LEDGER_DRAFT, Code::LEDGER_SECRET, Code::LEDGER_TOO_LARGE})
    if (failure.code == info(code).name) return true;
  return false;
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
