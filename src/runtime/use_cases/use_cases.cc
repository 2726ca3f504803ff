// SPDX-License-Identifier: Apache-2.0
#include "runtime/use_cases.h"

#include "runtime/use_cases/fast_lane.h"
#include "runtime/use_cases/inside.h"

namespace baton::runtime {

UseCases::UseCases(store::Store& store, Ledger& ledger, Clock& clock, Random& random, const workspace::Config& config)
    : inside_(std::make_unique<Inside>(store, ledger, clock, random, config)) {}

UseCases::~UseCases() = default;

void UseCases::note_refusal(std::string_view what, const Caller& caller, std::string_view subject,
                            const std::vector<Diagnostic>& refused) {
  std::vector<std::string> codes;
  for (const Diagnostic& one : refused) codes.emplace_back(info(one.code).name);
  inside_->refusals.note(
      {std::string(what), ledger_actor(caller.actor), caller.session_id, std::string(subject), std::move(codes)});
}

void UseCases::watch_disk(FreeBytes free_bytes) {
  const std::uint64_t floor = inside_->config.limits.disk_free_bytes;
  if (floor != 0) inside_->disk = std::make_unique<DiskFloor>(floor, std::move(free_bytes), inside_->clock);
}

std::optional<UseCases::DiskState> UseCases::disk() {
  DiskFloor* disk = inside_->disk.get();
  if (disk == nullptr) return std::nullopt;
  const auto free = disk->free();
  return DiskState{disk->floor(), free, free && *free < disk->floor()};
}

void UseCases::open_fast_lane() { inside_->lane = std::make_unique<FastLane>(*inside_); }

void UseCases::close_fast_lane() {
  if (inside_->lane) inside_->lane->close();
}

std::uint64_t UseCases::fast_reads() const { return inside_->lane ? inside_->lane->reads() : 0; }

const workspace::Config& UseCases::config() const { return inside_->config; }

}  // namespace baton::runtime
