// SPDX-License-Identifier: Apache-2.0
// The fast lane for reads (docs/decisions/0040): a call of a tool that only reads, and on which nothing else depends, is decided,
// begun and settled on the session's state in memory, answered at once, and recorded a few milliseconds later by the ordinary writer.
//
// While a session is on the lane its state in memory is the newest there is: what is in the store and what is still to be recorded,
// applied in order. Everything else that could touch the session goes through enter() first. That closes the lane for the session, has
// what is still to be recorded queued before it, and keeps the lane closed until leave(). So whatever the writer runs finds every read
// that was answered before it, and limits hold as if each had been recorded at once.
//
// For stores that one process alone writes. Several threads may use it; Engine does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/session_rows.h"
#include "runtime/use_cases.h"
#include "runtime/work_rows.h"
#include "runtime/writer.h"
#include "session/door.h"
#include "session/settle.h"

namespace baton::runtime {

// What a crash may lose: the reads that were answered in so much time. While something older is still to be recorded, nothing more is
// answered here. Stated.
inline constexpr std::int64_t kFastLaneMilliseconds = 10;
// Sessions on the lane, and entries that are still to be recorded: beyond that everything goes the ordinary way, which holds callers back.
inline constexpr std::size_t kFastLaneSessionsMax = 4096, kFastLaneEntriesMax = 8192;

// The entry, on the stream `node`, which says that reads may be missing: within_ms, and, where it is known, how many entries.
inline constexpr std::string_view kUnflushedReads = "node.unflushed_reads";
Happening unflushed(std::size_t entries = 0);

class Engine;
struct Asking;
struct Question;

class FastLane {
 public:
  explicit FastLane(Engine& engine);  // outlives it
  ~FastLane();

  // The answer, when the call can be decided here and is allowed, and was begun. Nothing: it goes the ordinary way, where it is judged
  // again; nothing has happened.
  std::optional<Answer> propose(const Mutation& by, const std::string& session_id,
                                const std::shared_ptr<const Asking>& asking);
  // Likewise of a receipt of a read that succeeded.
  std::optional<Answer> settle(const Mutation& by, const std::string& session_id,
                               const std::shared_ptr<const Question>& question,
                               const std::shared_ptr<const session::ReadReceipt>& read,
                               const std::optional<Sighting>& seen);

  // Before a use case is queued that may touch this session; empty: any. To be followed by leave() when it has been committed or has
  // failed.
  void enter(const std::string& session_id);
  void leave(const std::string& session_id);
  // The same for one that was not queued after all: when all is recorded that was queued before.
  void leave_later(const std::string& session_id);

  // Records what is to be recorded and waits for it; from then on nothing goes over the lane.
  void close();

  std::uint64_t reads() const { return reads_; }  // that were decided here

 private:
  // Something that was answered, and how its entries are made: by another thread than the one that answers.
  struct Pending {
    using Make = std::function<std::vector<Happening>()>;
    std::size_t entries = 0;
    Make make;
  };
  // A session on the lane.
  struct Session {
    std::mutex recording;  // held while its entries are made and queued; taken before `mutex`
    std::mutex mutex;
    GovernedSession governed;
    work::Session session;
    std::optional<work::Item> item;
    bool is_closed = false;
    std::vector<Pending> pending;  // in order
    std::int64_t since = 0;        // when the first of them was answered: monotonic
  };

  std::shared_ptr<Session> find(const std::string& session_id);
  std::shared_ptr<Session> load(const std::string& session_id);
  std::shared_ptr<const session::Rules> rules_for(const std::string& session_id);
  bool may_act(const Session& held, const Caller& caller, Time now) const;
  bool is_behind() const;  // something has waited too long, or there is too much
  void add(Session& held, std::size_t entries, Pending::Make make);
  void record(Session& held);  // its mutexes are free
  void is_recorded();
  void record_all();
  void work();

  Engine& engine_;

  std::mutex mutex_;  // of the maps; never taken while a session's is held
  std::map<std::string, std::shared_ptr<Session>> sessions_;
  std::map<std::string, std::shared_ptr<const session::Rules>> rules_;  // of sessions; a session's never change
  std::map<std::string, std::size_t> entered_;
  std::size_t entered_all_ = 0;

  std::atomic<std::uint64_t> reads_ = 0;
  std::atomic<std::size_t> waiting_ = 0;  // entries to be recorded
  std::atomic<std::size_t> queued_ = 0;   // batches of them that are with the writer
  std::atomic<std::size_t> lost_ = 0;     // entries that the store did not take
  std::atomic<bool> is_open_ = true;
  std::atomic<std::int64_t> oldest_ = INT64_MAX;  // when the first read was answered that is not recorded: monotonic

  std::mutex clock_mutex_;
  std::multiset<std::int64_t> since_;  // of what is pending in each session, and of each batch that is with the writer
  std::condition_variable wake_, recorded_;
  bool is_due_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
