// SPDX-License-Identifier: Apache-2.0
#include "runtime/writer.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "base/check.h"
#include "base/limits.h"
#include "diagnostics/diagnostic.h"
#include "json/canonical.h"
#include "ledger/keys.h"
#include "ledger/merkle.h"
#include "ledger/streams.h"
#include "runtime/fold.h"
#include "runtime/ledger_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

constexpr std::string_view kDoing = "recording";
constexpr auto kGathering = std::chrono::microseconds(100);  // less than a commit takes
constexpr std::uint32_t kKeptLevels = 8;  // tree nodes are kept for every eighth level (store/store.h)

// A failure of the store, as against a use case that said no: the transaction it happened in cannot go on.
bool is_of_the_store(const Failure& failure) { return failure.code.starts_with("STORE_"); }
bool is_conflict(const Failure& failure) { return failure.code == "STORE_CONFLICT"; }

std::string time_text(std::int64_t nanoseconds) {
  std::string out;
  ledger::append_time(out, nanoseconds);
  return out;
}

std::string_view view(const Sha256& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

// The rows of a batch and what goes with them. The rows refer to the drafts and to `hashes`.
struct Placed {
  std::vector<Sha256> hashes;  // that of the entry before, then one for each row
  std::vector<store::EntryRow> rows;
  std::vector<store::TreeNode> nodes;
  ledger::Peaks peaks;
  std::string open_streams;
};

void place_rows(Placed& placed, const store::Head& head, std::int64_t time,
                std::span<const ledger::Draft* const> drafts) {
  placed.open_streams = head.open_streams;
  placed.hashes.resize(drafts.size() + 1);
  std::copy(head.hash.begin(), head.hash.end(), placed.hashes[0].begin());
  placed.rows.reserve(drafts.size());
  const std::function<void(const ledger::Peaks::Completed&)> keep = [&](const ledger::Peaks::Completed& subtree) {
    if (subtree.level % kKeptLevels != 0) return;
    placed.nodes.push_back({subtree.level, subtree.position, std::string(view(subtree.hash)),
                            subtree.level == kKeptLevels ? std::exchange(placed.open_streams, {}) : std::string()});
  };
  std::string buffer;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const ledger::Draft& draft = *drafts[i];
    store::EntryRow row{.sequence = head.size + i + 1,
                        .stream = draft.stream,
                        .type = draft.type,
                        .actor_id = draft.actor.id,
                        .actor_kind = ledger::actor_kind_name(draft.actor.kind),
                        .time = time,
                        .payload = draft.payload,
                        .previous = view(placed.hashes[i]),
                        .hash = {}};
    placed.hashes[i + 1] = ledger::entry_hash(row, buffer);
    row.hash = view(placed.hashes[i + 1]);
    placed.rows.push_back(row);
    ledger::add_stream(placed.open_streams, draft.stream);
    placed.peaks.append(placed.hashes[i + 1], &keep);
  }
}

// Whatever a use case does, the writer goes on: its callers would wait for ever.
Result<void> guarded(const UseCase& use_case, Unit& unit) {
  try {
    return use_case(unit);
  } catch (const std::exception& error) {
    return failure("running a use case", error.what());
  } catch (...) {
    return failure("running a use case", "it threw something");
  }
}

ledger::Draft jump_draft(std::string_view node, std::int64_t expected, std::int64_t seen) {
  json::Value payload = json::Value::object();
  payload.set("by_ns", seen - expected);
  payload.set("from", time_text(expected));
  payload.set("to", time_text(seen));
  ledger::Draft draft{
      std::string(kLedgerStream), std::string(kClockJumped), {std::string(node), ledger::ActorKind::Node}, {}};
  CHECK(json::append_canonical(draft.payload, payload, json::Numbers::Exact));
  return draft;
}

}  // namespace

// --- one use case -------------------------------------------------------------------------------------------------------

Result<void> Unit::write_begins() {
  if (has_savepoint_) return {};
  if (auto made = noted(transaction_.savepoint()); !made) return made;
  has_savepoint_ = true;
  return {};
}

Result<PreparedHappening> prepare(const Happening& happening) {
  if (auto clean = ledger::check_names(happening.stream, happening.actor.id); !clean)
    return tl::make_unexpected(clean.error());
  auto prepared = ledger::prepare_payload(happening.payload, happening.exempt);
  if (!prepared) return tl::make_unexpected(prepared.error());
  auto draft = std::make_shared<const ledger::Draft>(
      ledger::Draft{happening.stream, happening.type, happening.actor, std::move(prepared->payload)});
  if (auto checked = ledger::check_draft(*draft, ledger::Payload::Prepared); !checked)
    return tl::make_unexpected(checked.error());
  return PreparedHappening{std::move(draft), std::move(prepared->blobs)};
}

Result<void> Unit::append(const Happening& happening) {
  const auto prepared = prepare(happening);
  if (!prepared) return tl::make_unexpected(prepared.error());
  return append(*prepared);
}

Result<void> Unit::append(const PreparedHappening& prepared) {
  for (const ledger::Blob& blob : prepared.blobs)
    if (auto kept = keep(blob); !kept) return kept;
  // What only looks like a reference would be a blob that is missing, for ever.
  for (const std::string& sha256 : ledger::blob_references(prepared.draft->payload)) {
    const auto there = get(store::tables::kBlobs, {sha256});
    if (!there) return tl::make_unexpected(there.error());
    if (!*there)
      return failure_of(Code::LEDGER_DRAFT, std::string(kDoing), {{"problem", "refers to a blob that is not there"}});
  }
  return record(prepared.draft);
}

Result<void> Unit::append_prepared(ledger::Draft draft) {
  if (auto checked = ledger::check_draft(draft); !checked) return checked;
  return record(std::make_shared<const ledger::Draft>(std::move(draft)));
}

Result<void> Unit::record(std::shared_ptr<const ledger::Draft> draft) {
  if (is_folded(draft->type)) {
    if (auto begun = write_begins(); !begun) return begun;
    const Event event{draft->stream, draft->type, draft->actor.id, ledger::actor_kind_name(draft->actor.kind),
                      draft->payload};
    if (auto folded = fold(event, transaction_); !folded) return folded;
  }
  bytes_added_ += draft->payload.size();
  recorded_.drafts.push_back(std::move(draft));
  return {};
}

Result<void> Unit::keep(const ledger::Blob& blob) {
  if (blob.bytes.size() > limits::kLedgerBlobBytesMax)
    return failure_of(
        Code::LEDGER_TOO_LARGE, std::string(kDoing),
        {{"bytes", std::to_string(blob.bytes.size())}, {"max", std::to_string(limits::kLedgerBlobBytesMax)}});
  const auto there = get(store::tables::kBlobs, {blob.sha256});
  if (!there) return tl::make_unexpected(there.error());
  if (*there && std::holds_alternative<std::monostate>((**there)[1]))
    return failure_of(Code::LEDGER_DRAFT, std::string(kDoing),
                      {{"problem", "holds content that was erased from this ledger"}});
  if (*there) return {};  // the same content is there once
  if (auto begun = write_begins(); !begun) return begun;
  bytes_added_ += blob.bytes.size();
  return transaction_.insert(store::tables::kBlobs,
                             {blob.sha256, blob.bytes, blob.key.empty() ? store::Value() : store::Value(blob.key)});
}

Result<void> Unit::erase_content(std::string_view sha256) {
  const auto there = get(store::tables::kBlobs, {std::string(sha256)});
  if (!there) return tl::make_unexpected(there.error());
  if (!*there) return failure("erasing a blob", "there is none with this hash");
  if (auto begun = write_begins(); !begun) return begun;
  return transaction_.update(store::tables::kBlobs, {std::string(sha256), {}, {}});
}

// --- the writer ---------------------------------------------------------------------------------------------------------

WriterOptions::WriterOptions() : queue_max(limits::kWriterQueueMax), batch_max(limits::kWriterBatchMax) {}

Writer::Writer(store::Store& store, Clock& clock, Sealing sealing, WriterOptions options,
               std::function<void(const store::Seal&)> on_seal, OnSetback on_setback)
    : store_(store),
      clock_(clock),
      sealing_(std::move(sealing)),
      options_(options),
      check_(store),
      on_seal_(std::move(on_seal)),
      on_setback_(std::move(on_setback)),
      thread_([this] { work(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

bool Writer::submit(UseCase use_case, Acknowledge acknowledge, std::vector<Read> reads) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= options_.queue_max) return false;
    queue_.push_back({std::move(use_case), std::move(acknowledge), nullptr, std::move(reads)});
    if (!is_waited_for()) return true;
  }
  wake_.notify_one();
  return true;
}

void Writer::submit_answered(UseCase use_case, Acknowledge acknowledge) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(use_case), std::move(acknowledge)});
    if (!is_waited_for()) return;
  }
  wake_.notify_one();
}

Result<Acknowledgement> Writer::run(UseCase use_case) {
  std::unique_lock lock(mutex_);
  if (leading_ || !queue_.empty()) {
    if (queue_.size() >= options_.queue_max)
      return failure_of(Code::STORE_BUSY, std::string(kDoing), {{"count", std::to_string(options_.queue_max)}});
    return queue_and_wait(std::move(lock), {std::move(use_case), {}});
  }
  leading_ = true;
  lock.unlock();
  std::optional<Result<Acknowledgement>> result;
  Job job{std::move(use_case), [&](Result<Acknowledgement> outcome) { result.emplace(std::move(outcome)); }};
  run_jobs({&job, 1});
  lock.lock();
  leading_ = false;
  const bool more = !queue_.empty();
  lock.unlock();
  if (more) wake_.notify_one();
  return std::move(*result);
}

Result<Acknowledgement> Writer::rotate(ledger::SigningKey new_key, UseCase use_case) {
  // Not subject to the bound: an operator's deed, one at a time.
  return queue_and_wait(std::unique_lock(mutex_),
                        {std::move(use_case), {}, std::make_shared<ledger::SigningKey>(std::move(new_key))});
}

void Writer::bar(Failure failure) {
  const std::lock_guard lock(mutex_);
  barred_ = std::move(failure);
  is_barred_.store(true, std::memory_order_release);
}

Result<Acknowledgement> Writer::lift_bar(UseCase use_case) {
  Job job{std::move(use_case), {}};
  job.lifts_bar = true;
  return queue_and_wait(std::unique_lock(mutex_), std::move(job));
}

// Is nothing recorded now, and was the use case told so?
bool Writer::turn_away(Job& job) {
  if (job.lifts_bar || !is_barred()) return false;
  std::unique_lock lock(mutex_);
  if (!barred_) return false;
  const Failure failure = *barred_;
  lock.unlock();
  job.acknowledge(tl::make_unexpected(failure));
  return true;
}

Result<Acknowledgement> Writer::queue_and_wait(std::unique_lock<std::mutex> lock, Job job) {
  std::optional<Result<Acknowledgement>> result;
  std::atomic<bool> there = false;  // set last: from then on nobody else touches these two
  job.acknowledge = [&](Result<Acknowledgement> outcome) {
    result.emplace(std::move(outcome));
    there.store(true, std::memory_order_release);
  };
  queue_.push_back(std::move(job));
  std::uint32_t batch = next_batch_;
  const bool wake = is_waited_for();
  lock.unlock();
  if (wake) wake_.notify_one();
  // A batch may be cut short: then it is one of the next.
  while (!there.load(std::memory_order_acquire)) signal_.wait(batch++);
  return std::move(*result);
}

// Whoever writes looks at the queue when he is done; only one that sleeps has to be told of it.
bool Writer::is_waited_for() const { return !leading_ || (gathering_ != 0 && queue_.size() >= gathering_); }

std::size_t Writer::queued() {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void Writer::work() {
  std::vector<Job> jobs;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return !leading_ && (ending_ || !queue_.empty()); });
    if (queue_.empty()) return;
    leading_ = true;
    take_jobs(lock, jobs);
    const std::uint32_t batch = next_batch_++;
    lock.unlock();
    run_jobs(jobs);
    signal_.done(batch);
    jobs.clear();
    lock.lock();
    leading_ = false;
  }
}

void Writer::take_jobs(std::unique_lock<std::mutex>& lock, std::vector<Job>& jobs) {
  // Those who were just acknowledged come back in a moment with their next use case. A commit costs more than that moment:
  // better one for all of them than two for half each.
  if (queue_.size() < expected_ && !ending_) {
    gathering_ = expected_;
    wake_.wait_for(lock, kGathering, [this] { return queue_.size() >= gathering_ || ending_; });
    gathering_ = 0;
  }
  // A rotation ends its batch: what comes after it is sealed with the new key alone.
  while (!queue_.empty() && jobs.size() < options_.batch_max) {
    jobs.push_back(std::move(queue_.front()));
    queue_.pop_front();
    if (jobs.back().successor || jobs.back().lifts_bar) break;
  }
  // Not just what came this time: a batch that was small by chance would make all that follow small.
  expected_ = std::max(jobs.size(), expected_ - expected_ / 8);
}

void Writer::run_jobs(std::span<Job> jobs) {
  std::vector<Result<Acknowledgement>> results;
  if (is_barred()) {
    for (Job& job : jobs) {
      if (turn_away(job)) continue;
      const Attempt alone = attempt({&job, 1}, results);
      if (alone.outcome && results[0] && job.lifts_bar) {
        const std::lock_guard lock(mutex_);
        barred_.reset();
        is_barred_.store(false, std::memory_order_release);
      }
      job.acknowledge(alone.outcome ? std::move(results[0]) : tl::make_unexpected(alone.outcome.error()));
    }
    return;
  }
  const Attempt together = attempt(jobs, results);
  // What may be recorded already is not run again: the callers hear of the failure, and their retries carry a key by which
  // it is known again.
  if (together.outcome || together.may_be_committed || (jobs.size() == 1 && !is_conflict(together.outcome.error()))) {
    for (std::size_t i = 0; i < jobs.size(); ++i)
      jobs[i].acknowledge(together.outcome ? std::move(results[i]) : tl::make_unexpected(together.outcome.error()));
    return;
  }
  // One of them stands in the way of all, or another node was faster: each by itself.
  for (Job& job : jobs) {
    if (turn_away(job)) continue;
    Attempt alone = together;
    for (int retry = 0; retry < limits::kWriterRetriesMax; ++retry) {
      alone = attempt({&job, 1}, results);
      if (alone.outcome || alone.may_be_committed || !is_conflict(alone.outcome.error())) break;
    }
    job.acknowledge(alone.outcome ? std::move(results[0]) : tl::make_unexpected(alone.outcome.error()));
  }
}

Writer::Attempt Writer::attempt(std::span<Job> jobs, std::vector<Result<Acknowledgement>>& results) {
  auto begun = store_.begin();
  if (!begun) return {tl::make_unexpected(begun.error())};
  // Use cases together hold rows in no order at all; each alone holds them in the one that all keep to.
  if (jobs.size() > 1)
    if (auto hurried = (*begun)->hurry(); !hurried) return {hurried};
  // Beside the store's clock, which is read when the transaction begins: what use cases take is no jump.
  const std::int64_t steady = clock_.monotonic_ns();
  std::vector<Done> done(jobs.size());
  if (auto run = run_use_cases(jobs, **begun, done); !run) return {run};
  const ledger::SigningKey* successor = nullptr;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (done[i].outcome && jobs[i].successor) successor = jobs[i].successor.get();
  return place(**begun, done, successor, steady, results);
}

// Each on what the ones before it left. A failure here is of the store, and of the whole transaction.
Result<void> Writer::run_use_cases(std::span<Job> jobs, store::Transaction& inner, std::span<Done> done) {
  RowCache transaction(inner, jobs.size(), &check_);
  std::vector<Read> reads;
  for (const Job& job : jobs) reads.insert(reads.end(), job.reads.begin(), job.reads.end());
  if (auto fetched = transaction.fetch(reads); !fetched) return fetched;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Recorded& recorded = done[i].recorded;
    Result<void>& outcome = done[i].outcome;
    Unit unit(transaction, recorded);
    outcome = guarded(jobs[i].use_case, unit);
    if (outcome && unit.has_savepoint_ && recorded.drafts.empty())
      outcome = failure(std::string(kDoing), "the use case wrote something without recording why");
    if (outcome) {
      if (unit.has_savepoint_)
        if (auto released = transaction.release_savepoint(); !released) return released;
      continue;
    }
    if (unit.store_failed_ || is_of_the_store(outcome.error())) return outcome;
    recorded.drafts.clear();
    if (unit.has_savepoint_) {
      if (auto back = transaction.rollback_to_savepoint(); !back) return back;
      if (auto released = transaction.release_savepoint(); !released) return released;
    }
  }
  return transaction.flush();
}

// A key that was retired or rotated away meanwhile must not seal: nobody could verify what it sealed. Whoever changes keys
// holds the head when he commits, so that with the head in our hands the answer stays true.
Result<void> Writer::need_admitted_key(store::Transaction& transaction) {
  const auto is_active = [&]() -> Result<bool> {
    const ledger::VerifierKey& key = sealing_.key.verifier();
    bool active = false;
    auto found = transaction.find(
        {.table = store::tables::kLedgerKeys, .equal = {key.id_text()}}, store::Lock::None, [&](const store::Row& row) {
          active = std::get<std::string>(row[1]) == key.text() && std::get<std::string>(row[2]) == "active";
          return false;
        });
    if (!found) return tl::make_unexpected(found.error());
    return active;
  };
  auto active = is_active();
  if (active && !*active && sealing_.read_key_again) {
    if (auto now = sealing_.read_key_again()) {
      sealing_.key = std::move(*now);
      active = is_active();
    }
  }
  if (!active) return tl::make_unexpected(active.error());
  if (*active) return {};
  return failure_of(Code::LEDGER_KEY_NOT_ADMITTED, std::string(kDoing), {{"key", sealing_.key.verifier().id_text()}});
}

std::optional<ledger::Draft> Writer::notice_jump(std::int64_t wall, std::int64_t steady,
                                                 const store::Head& head) const {
  // What the wall clock should say: what it said at the last commit and what has passed since. After a restart only a
  // clock behind the stored time can be noticed.
  std::int64_t expected = wall;
  if (last_seen_) expected = last_seen_->wall + (steady - last_seen_->steady);
  else if (head.size != 0 && head.time > wall) expected = head.time;
  // Two clocks drift apart a little while nothing is written.
  const std::int64_t drift = last_seen_ ? (steady - last_seen_->steady) / limits::kClockDriftDivisor : 0;
  if (head.size == 0 || std::abs(wall - expected) <= limits::kClockJumpNanoseconds + drift) return std::nullopt;
  return jump_draft("node/" + sealing_.key.verifier().id_text(), expected, wall);
}

Writer::Attempt Writer::place(store::Transaction& transaction, std::span<Done> done,
                              const ledger::SigningKey* successor, std::int64_t steady,
                              std::vector<Result<Acknowledgement>>& results) {
  results.clear();
  std::vector<const ledger::Draft*> drafts;
  for (Done& one : done) {
    for (const auto& draft : one.recorded.drafts) drafts.push_back(draft.get());
    if (one.outcome) results.emplace_back(Acknowledgement{});
    else results.emplace_back(tl::make_unexpected(one.outcome.error()));
  }
  if (drafts.empty()) return {};  // nothing happened; the transaction is given up

  const auto now = transaction.now();
  if (!now) return {tl::make_unexpected(now.error())};
  const auto head = transaction.take_head();
  if (!head) return {tl::make_unexpected(head.error())};
  // Stores do not go back. One that did was restored under our feet: what was acknowledged is gone.
  if (on_setback_ && sealed_size_ != 0 && !is_barred() &&
      (head->size < sealed_size_ || (head->size == sealed_size_ && head->hash != view(sealed_hash_)))) {
    Failure failure = on_setback_({sealing_.origin, sealed_size_, sealed_root_});
    bar(failure);
    return {tl::make_unexpected(std::move(failure))};
  }
  const bool creates = drafts.front()->type == ledger::kCreated;
  if (creates && head->size != 0) return {failure_of(Code::STORE_CONFLICT, std::string(kDoing))};
  if (!creates && head->size == 0) return {failure(std::string(kDoing), "the ledger has not been created")};
  // Where nobody else has written since our last commit, nobody has changed the keys: no need to ask. A rotation's own
  // statement has seen to it that the old key is active, and holds its row.
  if (!creates && successor == nullptr && head->size != sealed_size_)
    if (auto admitted = need_admitted_key(transaction); !admitted) return {admitted};
  const auto peaks = ledger::Peaks::read(head->size, head->peaks);
  if (!peaks || head->hash.size() != sizeof(Sha256))
    return {failure_of(Code::LEDGER_HEAD, std::string(kDoing), {{"problem", "its size and its peaks do not fit"}})};

  const auto jump = notice_jump(now->nanoseconds, steady, *head);
  if (jump) drafts.insert(drafts.begin(), &*jump);
  const std::int64_t time = std::max(now->nanoseconds, head->time);  // stored time never goes back

  Placed placed;
  placed.peaks = *peaks;
  place_rows(placed, *head, time, drafts);
  const store::Head moved{head->size + drafts.size(), std::string(view(placed.hashes.back())), time,
                          placed.peaks.bytes(), placed.open_streams};
  const ledger::SigningKey* keys[] = {&sealing_.key, successor};
  const auto seal = std::make_shared<store::Seal>(store::Seal{
      moved.size, ledger::sign_note(ledger::checkpoint_text({sealing_.origin, moved.size, placed.peaks.root()}),
                                    std::span(keys, successor == nullptr ? 1 : 2))});
  if (auto appended = transaction.append(placed.rows, placed.nodes, *seal, moved); !appended) return {appended};
  if (auto committed = transaction.commit(); !committed) {
    // The answer to a commit may be lost on its way though the commit was not.
    if (is_conflict(committed.error())) return {committed};
    if (!was_committed(moved.size, placed.hashes.back())) return {committed, true};
  }

  last_seen_ = Seen{now->nanoseconds, steady};
  sealed_size_ = moved.size;
  sealed_hash_ = placed.hashes.back();
  sealed_root_ = placed.peaks.root();
  if (successor != nullptr) sealing_.key = ledger::SigningKey::from_seed(successor->verifier().name, successor->seed());
  std::size_t row = jump ? 1 : 0;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (!results[i]) continue;
    Acknowledgement& acknowledgement = *results[i];
    acknowledgement.time = {time};
    acknowledgement.seal = seal;
    for (std::size_t k = 0; k < done[i].recorded.drafts.size(); ++k, ++row)
      acknowledgement.entries.push_back({placed.rows[row].sequence, placed.hashes[row + 1]});
  }
  if (on_seal_) on_seal_(*seal);
  return {};
}

bool Writer::was_committed(std::uint64_t sequence, const Sha256& hash) {
  const auto reader = store_.reader();
  if (!reader) return false;
  bool there = false;
  const auto read = (*reader)->entry_hashes(sequence, sequence, [&](const store::EntryRow& row) {
    there = row.hash == view(hash);
    return false;
  });
  return read && there;
}

}  // namespace baton::runtime
