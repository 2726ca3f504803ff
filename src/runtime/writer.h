// SPDX-License-Identifier: Apache-2.0
// The writer: runs use cases one after another inside one transaction, records what they say has happened, seals the head
// and commits once for all of them. Whoever waits for a use case hears of it after the commit is durable, never before.
//
// A use case decides on what it reads and appends events; it writes no table itself (runtime/fold.h does, from the
// events). A use case that fails takes back only its own: the others in the batch are not touched. Where another node was
// faster (STORE_CONFLICT), the batch is run again, one use case at a time; so a use case may run several times and must
// not do anything outside its Unit until it is acknowledged.
//
// submit() and run() may be called from any thread, but run() not from within a use case or an acknowledgement. Whoever runs a use case while nobody
// writes commits it himself, without waiting for another thread; everything else is done by a thread of the writer's own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"
#include "ledger/entry.h"
#include "ledger/key_files.h"
#include "ledger/note.h"
#include "ledger/redaction.h"
#include "runtime/batch_signal.h"
#include "runtime/row_cache.h"
#include "store/store.h"

namespace baton::runtime {

// Something that happened, as a use case reports it.
struct Happening {
  std::string stream;
  std::string type;
  ledger::Actor actor;
  json::Value payload = json::Value::object();
  std::vector<std::string_view> exempt = {};  // pointers to what looks like a secret and is public (keys, signatures)
};

// A happening made ready: redacted, checked, canonical.
struct PreparedHappening {
  std::shared_ptr<const ledger::Draft> draft;
  std::vector<ledger::Blob> blobs;
};
// Pure. What a use case knows before it runs is best prepared there, by the caller's thread: the writer's has to do with
// everybody's. Failures: LEDGER_SECRET, LEDGER_DRAFT, LEDGER_TOO_LARGE.
Result<PreparedHappening> prepare(const Happening& happening);

// What the batch holds of one use case until it is committed.
struct Recorded {
  std::vector<std::shared_ptr<const ledger::Draft>> drafts;
};

// One use case's view of the transaction.
class Unit {
 public:
  Unit(RowCache& transaction, Recorded& recorded) : transaction_(transaction), recorded_(recorded) {}

  // The store's clock. Constant in a transaction.
  Result<Time> now() { return transaction_.now(); }
  Result<std::optional<store::Row>> get(const store::Table& table, const store::Row& key) {
    return noted(transaction_.get(table, key));
  }
  Result<void> find(const store::Query& query, store::Lock lock, const store::TakeRow& take) {
    return noted(transaction_.find(query, lock, take));
  }

  // Records: the payload is redacted and checked (ledger/redaction.h), the tables follow at once, the entry gets its place
  // when the batch is committed.
  Result<void> append(const Happening& happening);
  Result<void> append(const PreparedHappening& prepared);
  // The same of a payload that is canonical already and holds nothing of others: statements about keys.
  Result<void> append_prepared(ledger::Draft draft);

  // Keeps a blob; the payload that refers to it is appended by the same use case.
  Result<void> keep(const ledger::Blob& blob);
  // Bytes of the payloads and blobs that this use case has added so far.
  std::size_t bytes_added() const { return bytes_added_; }
  // Makes a blob's content unrecoverable, row kept; the entry that says so is appended by the same use case.
  Result<void> erase_content(std::string_view sha256);

 private:
  friend class Writer;
  // A call of the store that fails spoils the transaction for everyone in it, whatever the use case makes of it.
  template <class T>
  Result<T> noted(Result<T> result) {
    if (!result) store_failed_ = true;
    return result;
  }
  Result<void> write_begins();
  Result<void> record(std::shared_ptr<const ledger::Draft> draft);

  RowCache& transaction_;  // the batch's: what was read or written once is not asked for again
  Recorded& recorded_;
  std::size_t bytes_added_ = 0;
  bool store_failed_ = false;
  bool has_savepoint_ = false;  // made at the first write: most use cases only append, and an entry is only a draft yet
};

using UseCase = std::function<Result<void>(Unit&)>;

// A use case's entries, in place and sealed.
struct Acknowledgement {
  struct Place {
    std::uint64_t sequence;
    Sha256 hash;
  };
  std::vector<Place> entries;  // none: the use case recorded nothing
  Time time;
  std::shared_ptr<const store::Seal> seal;
};
using Acknowledge = std::function<void(Result<Acknowledgement>)>;

// What a seal is made with.
struct Sealing {
  std::string origin;
  ledger::SigningKey key;
  // Where another process with the same key folder has rotated the key: the key as it is now. May be empty.
  std::function<Result<ledger::SigningKey>()> read_key_again = {};
};

struct WriterOptions {
  std::size_t queue_max;
  std::size_t batch_max;
  WriterOptions();
};

class Writer {
 public:
  // Where the store is behind what this writer has committed: what becomes of it. The failure bars the writer.
  using OnSetback = std::function<Failure(const ledger::Checkpoint& committed)>;

  // Everything given outlives the writer. `on_seal` is called after each commit, by the thread that made it. `on_setback`
  // likewise, when the ledger does not have what was committed last; without it nothing is compared.
  Writer(store::Store& store, Clock& clock, Sealing sealing, WriterOptions options = {},
         std::function<void(const store::Seal&)> on_seal = {}, OnSetback on_setback = {});
  ~Writer();  // commits what is queued, then ends

  // Queues a use case; `acknowledge` is called once, by the thread that commits, after the durable commit or with the failure.
  // False, and nothing is called, when the queue is full.
  // `reads` are rows that it will want, if that is known: those of a whole batch are asked for at once.
  bool submit(UseCase use_case, Acknowledge acknowledge, std::vector<Read> reads = {});

  // The same of what somebody was told already: however full the queue is. Whoever uses it keeps a bound of his own.
  void submit_answered(UseCase use_case, Acknowledge acknowledge);

  // Runs it or queues it, and waits. STORE_BUSY when the queue is full.
  Result<Acknowledgement> run(UseCase use_case);

  // The key changes with the commit of this use case, which appends ledger.key_rotated: the seal of that commit has both
  // signatures, the next ones only the new.
  Result<Acknowledgement> rotate(ledger::SigningKey new_key, UseCase use_case);

  // From now on nothing is recorded: every use case fails with this, until one of lift_bar() is committed.
  void bar(Failure failure);
  bool is_barred() const { return is_barred_.load(std::memory_order_acquire); }
  // As run(), also while barred; recording goes on once it is committed.
  Result<Acknowledgement> lift_bar(UseCase use_case);

  std::size_t queued();

  // For those who read beside the writer, and act on it.
  RowCheck& row_check() { return check_; }

 private:
  struct Job {
    UseCase use_case;
    Acknowledge acknowledge;
    std::shared_ptr<ledger::SigningKey> successor = nullptr;
    std::vector<Read> reads = {};
    bool lifts_bar = false;
  };
  // What becomes of a use case in a transaction.
  struct Done {
    Recorded recorded;
    Result<void> outcome;
  };

  void work();
  void take_jobs(std::unique_lock<std::mutex>& lock, std::vector<Job>& jobs);
  bool is_waited_for() const;
  Result<Acknowledgement> queue_and_wait(std::unique_lock<std::mutex> lock, Job job);
  void run_jobs(std::span<Job> jobs);
  bool turn_away(Job& job);
  // What became of a transaction as a whole.
  struct Attempt {
    Result<void> outcome;
    bool may_be_committed = false;  // the commit failed, and whether it took effect could not be found out
  };
  Attempt attempt(std::span<Job> jobs, std::vector<Result<Acknowledgement>>& results);
  Result<void> run_use_cases(std::span<Job> jobs, store::Transaction& inner, std::span<Done> done);
  Result<void> need_admitted_key(store::Transaction& transaction);
  Attempt place(store::Transaction& transaction, std::span<Done> done, const ledger::SigningKey* successor,
                std::int64_t steady, std::vector<Result<Acknowledgement>>& results);
  bool was_committed(std::uint64_t sequence, const Sha256& hash);
  std::optional<ledger::Draft> notice_jump(std::int64_t wall, std::int64_t steady, const store::Head& head) const;

  store::Store& store_;
  Clock& clock_;
  Sealing sealing_;
  const WriterOptions options_;
  RowCheck check_;
  std::function<void(const store::Seal&)> on_seal_;
  OnSetback on_setback_;

  struct Seen {
    std::int64_t wall, steady;
  };
  std::optional<Seen> last_seen_;  // the two clocks at the last commit
  std::uint64_t sealed_size_ = 0;  // the ledger's size then; 0: there was none
  Sha256 sealed_hash_{}, sealed_root_{};

  std::atomic<bool> is_barred_ = false;
  std::optional<Failure> barred_;  // under the mutex

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;
  bool leading_ = false;  // somebody writes: he alone touches sealing_, last_seen_ and sealed_size_
  bool ending_ = false;
  std::size_t expected_ = 0;      // how many use cases a batch has had of late
  std::size_t gathering_ = 0;     // the writer's thread waits until so many are queued; 0: it does not
  std::uint32_t next_batch_ = 1;  // the number that those who are queued now will have
  BatchSignal signal_;
  std::thread thread_;
};

}  // namespace baton::runtime
