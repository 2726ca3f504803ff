// SPDX-License-Identifier: Apache-2.0
// Inside the use cases: what all of them go through. The engine looks an idempotency key up, runs the body in one transaction,
// keeps the answer, and tells the caller after the commit; an Act is one such run, as its body sees it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protection/protection.h"
#include "runtime/actor_quota.h"
#include "runtime/data_source.h"
#include "runtime/disk_floor.h"
#include "runtime/session_rows.h"
#include "runtime/use_cases.h"
#include "runtime/use_cases/refusals.h"
#include "runtime/use_cases/timekeeper.h"
#include "runtime/work_rows.h"
#include "runtime/workflow_rows.h"
#include "work/events.h"

namespace baton::runtime {

class Act;
class FastLane;

// Where an entry is found again: a replayed answer has the receipt of the first.
struct EntryMark {
  std::string stream, type;
  std::string payload_sha256;  // of its payload, hexadecimal

  json::Value to_json() const;
  static std::optional<EntryMark> read(json::Node node);
};

class Engine {
 public:
  // A body decides and appends; it may run several times, so that it keeps nothing outside its Act. What it refuses is an
  // answer, not a failure.
  using Body = std::function<Result<void>(Act&)>;
  // Both run after the commit, on the thread that made it. What must not be kept (a token) is added to the answer there; and
  // what has to be read beside it.
  using Dress = std::function<void(Answer&)>;
  using Finish = std::function<Result<void>(store::Reader&, Answer&)>;

  Engine(store::Store& store, Ledger& ledger, Clock& clock, Random& random, const workspace::Config& config);
  ~Engine();  // waits until everyone who asked has been told

  // What a use case adds to the store. Where the store is nearly full, work does not begin; an actor that made the store keep too much
  // begins no work either, and hands over until it is twice as much. Settling, releasing and ending always goes on.
  enum class Adds { Little, Handoff, Work };

  // `signal`: a handoff of this subject, whose refusal is recorded (empty: it is not). `finish_replay` makes an answer that
  // was kept into the first one again.
  struct Manner {
    std::string signal = {};
    Finish finish_replay = {};
    std::vector<Read> reads = {};  // rows that the body will want
    // The one governed session that the body may touch; empty: it may be any. Reads of all others stay on the fast lane meanwhile.
    std::string touches = {};
    Adds adds = Adds::Little;
  };
  void run(const Mutation& by, Body body, Answered done) { run(by, std::move(body), std::move(done), Manner{}); }
  void run(const Mutation& by, Body body, Answered done, Manner manner);

  // The same without a transaction.
  void refuse(const Mutation& by, std::vector<Diagnostic> refused, const Answered& done, const std::string& signal = {},
              std::int64_t retry_seconds = 0);

  // STORE_DISK_LOW, ACTOR_BYTES: why this must not be added now, and after how many seconds it may be (0: time does not help).
  struct NoRoom {
    Diagnostic why;
    std::int64_t retry_seconds = 0;
  };
  std::optional<NoRoom> need_room(const Caller& caller, Adds adds);
  // The actor's requests made the store keep so much more.
  void charge(const Caller& caller, std::size_t bytes);

  // `baton_s_<id>_<43 base64url>`
  std::string session_token(std::string_view session_id) const;

  // What no agent may touch (UseCases::protect); what is protected by its name everywhere is so without.
  std::shared_ptr<const protection::Paths> protects() const { return protects_.load(); }
  void protect(std::shared_ptr<const protection::Paths> paths) { protects_.store(std::move(paths)); }

  store::Store& store;
  Ledger& ledger;
  Clock& clock;
  Random& random;
  const workspace::Config& config;
  Refusals refusals;
  Timekeeper timekeeper;
  ActorQuota bytes;                 // what each actor makes the store keep within an hour
  std::unique_ptr<DiskFloor> disk;  // null: not watched. Set before anything is asked
  std::unique_ptr<FastLane> lane;   // null: reads have none. Set before anything is asked

 private:
  struct Running;
  Result<void> conduct(Running& running, Unit& unit);
  Result<bool> replay(Running& running, Act& act, const std::string& key);
  Result<void> keep_answer(Running& running, Act& act, const std::string& key);
  void tell(Running& running, Result<Acknowledgement> acknowledgement);

  std::atomic<std::shared_ptr<const protection::Paths>> protects_ = std::make_shared<const protection::Paths>();
  // Calls that are not answered yet. Theirs too: whoever is the last of them says so when the engine may be gone.
  std::shared_ptr<std::atomic<std::size_t>> under_way_ = std::make_shared<std::atomic<std::size_t>>(0);
};

// One run of a use case.
class Act {
 public:
  Act(Engine& engine, Unit& unit, const Mutation& by, Answer& answer, Time now)
      : engine(engine), unit(unit), by(by), answer(answer), now(engine.timekeeper.judge(now)) {}

  Engine& engine;
  Unit& unit;
  const Mutation& by;
  Answer& answer;
  const Time now;  // the store's clock, without its jumps

  const work::Policy& policy() const { return engine.config.policy; }
  const Caller& caller() const { return by.caller; }

  // --- what is there: rows, locked; nothing when there is none -------------------------------------------------------------
  Result<std::optional<work::Item>> item(const std::string& work_id);
  Result<std::optional<work::Session>> session(const std::string& session_id);

  // The item, with everything recorded that has become due. Nothing: it was refused, WORK_UNKNOWN.
  Result<std::optional<work::Item>> settled_item(const std::string& work_id);
  Result<void> settle(work::Item& item);

  // A session and its item, settled. Nothing: it was refused, SESSION_UNKNOWN or SESSION_NOT_YOURS.
  struct Holding {
    work::Session session;
    work::Item item;
  };
  Result<std::optional<Holding>> holding(const std::string& session_id);

  // A governed session, by one who may act for it, with its item settled. Nothing: it was refused, SESSION_UNKNOWN,
  // SESSION_NOT_YOURS or SESSION_GOVERNED.
  struct Governed {
    GovernedSession session;
    std::optional<work::Session> leased;  // with the item, when it is bound to one
    std::optional<work::Item> item;
    bool lease_stale = false;
    bool opened_by_operator = false;         // for an agent, which has its token
    std::shared_ptr<WorkflowView> workflow;  // what it shares with others; null: nothing
  };
  enum class By { Caller, Node };  // the node itself may act for any, in what follows from what somebody may do
  Result<std::optional<Governed>> governed(const std::string& session_id, By by = By::Caller);
  // Ends it, where it is one and is open: what waited is cancelled. `leased_too`: and what it holds of an item.
  Result<void> end_governed(const std::string& session_id, session::Standing to, std::string_view because);
  // A session of a workflow will: what hangs on it is locked, in the order in which everyone locks.
  Result<void> about_to_end(const std::string& session_id);
  // A session of a workflow has ended, by an entry that is recorded: what hangs on it follows.
  Result<void> leave_workflow(const std::string& session_id, session::Standing how);
  // What rules of workflows want done (use_cases/workflows.cc).
  Result<void> carry_out(const WorkflowView& view, const std::vector<workflow::Consequence>& all);

  // --- what happens ----------------------------------------------------------------------------------------------------------
  enum class Is { Beside, Main };  // the main entry is the one the caller gets the receipt of

  // An event of the item, by the caller; `item` is as it is afterwards.
  Result<void> record(const work::Event& event, work::Item& item, Is is = Is::Main);
  // The same of all events of a ruling, the first of which is the main one; refuses when the ruling does. True: it was allowed.
  Result<bool> record(const work::Ruling& ruling, work::Item& item);
  // Any entry by the caller.
  Result<void> append(std::string stream, std::string_view type, json::Value payload, Is is = Is::Beside,
                      std::vector<std::string_view> exempt = {});

  // The same by somebody else: what time does is done by the node.
  Result<void> append_as(const ledger::Actor& actor, std::string stream, std::string_view type, json::Value payload,
                         Is is, std::vector<std::string_view> exempt);
  Result<void> record_as(const ledger::Actor& actor, const work::Event& event, work::Item& item, Is is);

  void refuse(Diagnostic diagnostic) { answer.refused.push_back(std::move(diagnostic)); }
  void refuse(std::vector<Diagnostic> diagnostics) { answer.refused = std::move(diagnostics); }
  bool refused() const { return !answer.refused.empty(); }

  void dress_with(Engine::Dress dress) { dress_ = std::move(dress); }
  void finish_with(Engine::Finish finish) { finish_ = std::move(finish); }
  // What is told now is not the answer yet: the same key asks the same question again.
  void leave_key_unanswered() { answers_key_ = false; }

  // {section: value} of what a role may read. `labels`, sorted, are those of whoever reads; they become what they are by
  // reading. A section whose labels would be too many for an item is left out.
  Result<GivenContext> context_for(const std::string& role, std::vector<std::string>& labels);

 private:
  friend class Engine;
  // Without what follows for others.
  Result<bool> end_one(const std::string& session_id, session::Standing to, std::string_view because);
  Result<void> end_governed_by(const work::Event& event);
  Result<void> tell_dependents(const std::string& work_id, std::string_view type);

  std::size_t appended_ = 0;
  std::optional<std::size_t> main_;  // which of the entries
  EntryMark main_mark_;
  bool answers_key_ = true;
  Engine::Dress dress_;
  Engine::Finish finish_;
};

ledger::Actor ledger_actor(const work::Actor& actor);
ledger::Actor node_actor();  // what time does is done by the node

// --- as callers are told ------------------------------------------------------------------------------------------------------

json::Value shown(const work::Item& item);
json::Value shown(const work::Session& session, const std::optional<work::Item>& item);
json::Value shown(const ContextSection& section, bool with_value);
json::Value shown(const Token& token);  // without anything of its secret

// --- after a commit -------------------------------------------------------------------------------------------------------------

// The newest entry of a stream that is the one; nothing when there is none.
struct PlacedEntry {
  Acknowledgement::Place place;
  std::string payload;
};
Result<std::optional<PlacedEntry>> find_entry(store::Reader& reader, std::string_view stream, std::string_view type,
                                              const std::function<bool(std::string_view payload)>& is_it);

// What a use case of a session, or of an item, will want to read; nothing when the name is none.
std::vector<Read> reads_of_session(const std::string& session_id);
std::vector<Read> reads_of_item(const std::string& work_id);

// The first 32 hexadecimal digits of the SHA-256: stands for a name that may look like a secret.
std::string short_hash(std::string_view text);

}  // namespace baton::runtime
