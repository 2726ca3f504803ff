// SPDX-License-Identifier: Apache-2.0
#include "runtime/waiting.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "json/parse.h"
#include "json/value.h"
#include "runtime/opening.h"
#include "runtime/work_events.h"
#include "work/rules.h"

namespace baton::runtime {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

// --- who waits ----------------------------------------------------------------------------------------------------------

enum class State {
  Idle,     // looked in vain
  Due,      // will look as soon as the writer may be asked
  Looking,  // its claim is with the writer
};

enum class Ending { None, TimeOver, Cancelled, Revoked, Stopped };

struct Waiter {
  std::uint64_t number;
  Mutation by;
  ClaimRequest asked;
  Answered done;
  SteadyClock::time_point until;
  std::vector<std::string> queues;  // where it looks when it asks for the next item
  std::string key;                  // equal for those to whom the same is open

  State state = State::Due;
  Ending ending = Ending::None;
  bool has_looked = false;
  std::optional<Opening> opening = {};  // what it looks for, or will
  std::set<std::string> tried = {};     // keys of those who looked for that in vain
  bool again = false;                   // something came while it was looking
  std::size_t rechecks = 0;             // how many of rechecks_ it has made since
  SteadyClock::time_point looks_again_at = {};
  std::chrono::milliseconds pause = 0ms;  // the last one because it could not look
};

std::string key_of(const Mutation& by, const ClaimRequest& asked) {
  json::Value key = json::Value::array();
  key.push(by.caller.actor.id);
  key.push(agent_exit::actor_kind_name(by.caller.actor.kind));
  for (const std::string& name : by.caller.actor.names) key.push(name);
  key.push(json::Value());
  key.push(by.caller.session_id);
  key.push(asked.work_id);
  key.push(asked.role);
  key.push(asked.ttl);
  for (const work::Phase phase : asked.phases) key.push(agent_exit::phase_name(phase));
  return json::write(key);
}

bool suits(const Waiter& waiter, const Opening& opening) {
  if (!waiter.asked.work_id.empty()) return waiter.asked.work_id == opening.work_id;
  return !opening.queue || std::ranges::find(waiter.queues, *opening.queue) != waiter.queues.end();
}

Answer nothing_to_claim() {
  Answer answer;
  answer.body.set("work", nullptr);
  answer.body.set("session", nullptr);
  return answer;
}

// What somebody is told who has nothing. Whose token is worth nothing any more is told that.
Answer answer_to(Ending why) {
  if (why != Ending::Revoked) return nothing_to_claim();
  Answer answer;
  answer.refused.push_back(report(Code::ACCESS_TOKEN, {}));
  return answer;
}

// Which token an entry revokes; empty: none.
std::string revoked_by(const FedEntry& entry) {
  if (entry.type != kTokenRevoked) return "";
  const auto document = json::parse(entry.payload);
  const json::Node id = document ? document->root()["token_id"] : json::Node();
  return id.is_string() ? std::string(id.string()) : "";
}

std::string member_of(const Answer& answer, std::string_view object, std::string_view member) {
  const json::Value* outer = answer.body.find(object);
  const json::Value* inner = outer == nullptr ? nullptr : outer->find(member);
  return inner != nullptr && inner->is_string() ? inner->string() : std::string();
}

// Refusals of a named item that time may change: the claim goes on waiting.
constexpr std::array kPassing = {Code::CLAIM_HELD, Code::CLAIM_OFFERED, Code::CLAIM_PHASE, Code::CLAIM_WAITS};

bool is_in_vain(const Answer& answer) {
  if (!answer.refused.empty())
    return std::ranges::all_of(
        answer.refused, [](const Diagnostic& one) { return std::ranges::find(kPassing, one.code) != kPassing.end(); });
  const json::Value* work = answer.body.find("work");
  return work == nullptr || work->is_null();
}

constexpr std::chrono::milliseconds kFirstPause = 10ms, kLongestPause = 1s;

}  // namespace

// --- the queue ----------------------------------------------------------------------------------------------------------

// Shared with the looks under way and with those who may cancel, so that either can outlast the other.
class WaitingClaims::Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue(UseCases& cases, const workspace::Config& config, std::vector<std::chrono::milliseconds> rechecks)
      : cases_(cases), config_(config), rechecks_(std::move(rechecks)) {}

  std::function<void()> add(const Mutation& by, ClaimRequest asked, std::chrono::milliseconds wait, Answered done);
  void see(const FedEntries& entries);
  void work();  // the thread
  void stop();
  void wait_for_looks();
  std::uint64_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiters_.size();
  }
  std::uint64_t woken() const {
    const std::lock_guard lock(mutex_);
    return woken_;
  }

 private:
  using WaiterPtr = std::shared_ptr<Waiter>;
  // What is to be done once the lock is released.
  struct Afterwards {
    std::vector<std::function<void()>> calls = {};
    void run() {
      for (const auto& call : calls) call();
    }
  };

  void cancel(std::uint64_t number);
  void revoke(const std::string& token_id);
  void look(const WaiterPtr& waiter);
  void looked(const WaiterPtr& waiter, Result<Answer> answer);
  void looked_in_vain(const WaiterPtr& waiter, Afterwards& afterwards);
  void could_not_look(const WaiterPtr& waiter, Failure failure, Afterwards& afterwards);
  void offer(Opening opening, std::set<std::string> tried);
  void withdraw(const std::string& work_id, std::uint64_t claimed_at);
  void pass_on(Waiter& waiter);
  void set_idle(Waiter& waiter);
  void leave_idle(const Waiter& waiter);
  void set_due(Waiter& waiter);
  void look_again_after(Waiter& waiter, std::chrono::milliseconds pause);
  void begin_look(Waiter& waiter);
  void remove(const WaiterPtr& waiter);
  void end(const WaiterPtr& waiter, Ending why, Afterwards& afterwards);
  void give_back(const Waiter& waiter, const Answer& answer);
  std::vector<WaiterPtr> due_now(Afterwards& afterwards);
  SteadyClock::time_point next_time() const;

  UseCases& cases_;
  const workspace::Config& config_;
  const std::vector<std::chrono::milliseconds> rechecks_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;    // of the thread
  std::condition_variable looked_;  // nobody looks any more
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, WaiterPtr> waiters_;                          // in the order they came
  std::set<std::uint64_t> due_;                                         // those who are Due, without pause
  std::set<std::pair<SteadyClock::time_point, std::uint64_t>> times_;   // when each one's time is over
  std::set<std::pair<SteadyClock::time_point, std::uint64_t>> pauses_;  // when somebody looks again
  std::unordered_map<std::string, std::size_t> idle_;                   // how many are Idle, by key
  std::unordered_map<std::string, std::uint64_t> openings_;             // who has an opening, by item
  std::size_t looking_ = 0;
  std::uint64_t woken_ = 0;
  bool stopping_ = false;
};

std::function<void()> WaitingClaims::Queue::add(const Mutation& by, ClaimRequest asked, std::chrono::milliseconds wait,
                                                Answered done) {
  const auto longest = std::chrono::seconds(config_.limits.wait_seconds);
  wait = std::min<std::chrono::milliseconds>(wait, longest);
  auto waiter = std::make_shared<Waiter>(Waiter{.number = 0,
                                                .by = by,
                                                .asked = std::move(asked),
                                                .done = std::move(done),
                                                .until = SteadyClock::now() + wait,
                                                .queues = {},
                                                .key = {}});
  waiter->queues = work::queues_for(by.caller.actor, waiter->asked.role, waiter->asked.phases, config_.policy);
  waiter->key = key_of(by, waiter->asked);

  std::unique_lock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    waiter->done(nothing_to_claim());
    return [] {};
  }
  if (waiters_.size() >= config_.limits.waiting_claims) {
    const std::string count = std::to_string(waiters_.size());
    lock.unlock();
    Answer full;
    full.refused.push_back(report(Code::WAITING_FULL, {}, {{"count", count}}));
    waiter->done(std::move(full));
    return [] {};
  }
  waiter->number = next_number_++;
  waiters_.emplace(waiter->number, waiter);
  times_.emplace(waiter->until, waiter->number);

  // A key that was seen before has its first answer; only the use case knows.
  const bool knows = by.idempotency_key.empty() && idle_.contains(waiter->key);
  bool now = false;
  if (knows) {
    set_idle(*waiter);
  } else if (due_.empty() && looking_ < limits::kWaitingLooksMax) {
    begin_look(*waiter);
    now = true;
  } else {
    set_due(*waiter);
  }
  lock.unlock();
  if (now) look(waiter);
  wake_.notify_one();  // its time may be over first
  return [self = weak_from_this(), number = waiter->number] {
    if (const auto queue = self.lock()) queue->cancel(number);
  };
}

// --- states: all with the lock held -------------------------------------------------------------------------------------

void WaitingClaims::Queue::set_idle(Waiter& waiter) {
  waiter.state = State::Idle;
  ++idle_[waiter.key];
}

void WaitingClaims::Queue::leave_idle(const Waiter& waiter) {
  if (waiter.state != State::Idle) return;
  if (const auto idle = idle_.find(waiter.key); --idle->second == 0) idle_.erase(idle);
}

void WaitingClaims::Queue::set_due(Waiter& waiter) {
  leave_idle(waiter);
  waiter.state = State::Due;
  due_.insert(waiter.number);
  wake_.notify_one();
}

void WaitingClaims::Queue::look_again_after(Waiter& waiter, std::chrono::milliseconds pause) {
  pauses_.erase({waiter.looks_again_at, waiter.number});
  waiter.looks_again_at = SteadyClock::now() + pause;
  pauses_.emplace(waiter.looks_again_at, waiter.number);
}

void WaitingClaims::Queue::begin_look(Waiter& waiter) {
  waiter.state = State::Looking;
  waiter.again = false;
  ++looking_;
}

void WaitingClaims::Queue::remove(const WaiterPtr& waiter) {
  leave_idle(*waiter);
  waiters_.erase(waiter->number);
  due_.erase(waiter->number);
  times_.erase({waiter->until, waiter->number});
  pauses_.erase({waiter->looks_again_at, waiter->number});
  pass_on(*waiter);
}

// Hands an opening to the first whom it suits and who has none; where all of those are looking for something else, they
// look once more.
void WaitingClaims::Queue::offer(Opening opening, std::set<std::string> tried) {
  std::vector<Waiter*> busy;
  for (const auto& [number, waiter] : waiters_) {
    if (waiter->ending != Ending::None || !suits(*waiter, opening) || tried.contains(waiter->key)) continue;
    if (waiter->opening) {
      busy.push_back(waiter.get());
      continue;
    }
    openings_[opening.work_id] = number;
    waiter->opening = std::move(opening);
    waiter->tried = std::move(tried);
    if (waiter->state == State::Idle) set_due(*waiter);
    if (waiter->state == State::Looking) waiter->again = true;
    return;
  }
  for (Waiter* waiter : busy) waiter->again = true;
}

// An entry says that the item is somebody's: an opening from before is worth nothing any more.
void WaitingClaims::Queue::withdraw(const std::string& work_id, std::uint64_t claimed_at) {
  const auto found = openings_.find(work_id);
  if (found == openings_.end()) return;
  Waiter& waiter = *waiters_.at(found->second);
  if (waiter.opening->sequence > claimed_at) return;
  openings_.erase(found);
  waiter.opening.reset();
  waiter.tried.clear();
  if (waiter.state != State::Due || !waiter.has_looked || waiter.again) return;
  due_.erase(waiter.number);
  set_idle(waiter);
}

// The next one has what this one does not need.
void WaitingClaims::Queue::pass_on(Waiter& waiter) {
  if (!waiter.opening) return;
  Opening opening = std::move(*waiter.opening);
  std::set<std::string> tried = std::move(waiter.tried);
  waiter.opening.reset();
  waiter.tried.clear();
  openings_.erase(opening.work_id);
  offer(std::move(opening), std::move(tried));
}

// Answers that there is nothing, now or when its look is back.
void WaitingClaims::Queue::end(const WaiterPtr& waiter, Ending why, Afterwards& afterwards) {
  const bool is_gone = why == Ending::Cancelled || why == Ending::Revoked;  // what it may still find is not for it
  if (waiter->ending == Ending::None || is_gone) waiter->ending = why;
  if (waiter->state == State::Looking) {
    times_.erase({waiter->until, waiter->number});
    return;
  }
  remove(waiter);
  afterwards.calls.push_back([waiter] { waiter->done(answer_to(waiter->ending)); });
}

// --- looking ------------------------------------------------------------------------------------------------------------

// Without the lock.
void WaitingClaims::Queue::look(const WaiterPtr& waiter) {
  cases_.claim(waiter->by, waiter->asked,
               [self = shared_from_this(), waiter](Result<Answer> answer) { self->looked(waiter, std::move(answer)); });
}

void WaitingClaims::Queue::looked(const WaiterPtr& waiter, Result<Answer> answer) {
  Afterwards afterwards;
  {
    const std::lock_guard lock(mutex_);
    if (!answer) {
      could_not_look(waiter, std::move(answer.error()), afterwards);
    } else if (is_in_vain(*answer)) {
      looked_in_vain(waiter, afterwards);
    } else {
      const std::string work_id = member_of(*answer, "work", "id");
      // The first answer to an idempotency key, again, and a session's own item tell nothing new.
      if (answer->entry && !answer->replayed) withdraw(work_id, answer->entry->sequence);
      remove(waiter);
      const bool gone = (waiter->ending == Ending::Cancelled && waiter->by.idempotency_key.empty()) ||
                        waiter->ending == Ending::Revoked;
      const bool unwanted = gone && answer->refused.empty();
      afterwards.calls.push_back([this, waiter, unwanted, result = std::move(*answer)]() mutable {
        if (unwanted) give_back(*waiter, result);
        waiter->done(unwanted ? answer_to(waiter->ending) : std::move(result));
      });
    }
    wake_.notify_one();
  }
  afterwards.run();
  const std::lock_guard lock(mutex_);
  if (--looking_ == 0) looked_.notify_all();
  wake_.notify_one();
}

void WaitingClaims::Queue::looked_in_vain(const WaiterPtr& waiter, Afterwards& afterwards) {
  waiter->has_looked = true;
  waiter->pause = 0ms;
  waiter->state = State::Due;
  if (waiter->ending != Ending::None || stopping_) return end(waiter, Ending::Stopped, afterwards);
  if (waiter->again) {
    waiter->again = false;
    return set_due(*waiter);
  }
  set_idle(*waiter);
  if (waiter->opening) {
    waiter->rechecks = 0;
    waiter->tried.insert(waiter->key);
  }
  if (!rechecks_.empty()) {
    look_again_after(*waiter, rechecks_[std::min(waiter->rechecks, rechecks_.size() - 1)]);
    ++waiter->rechecks;
  }
  pass_on(*waiter);
}

// A node that is busy for a moment, or a store that fails while somebody has waited for an hour already, is no reason to
// send everyone away; but who has only just come is told.
void WaitingClaims::Queue::could_not_look(const WaiterPtr& waiter, Failure failure, Afterwards& afterwards) {
  const bool may_wait = waiter->has_looked || failure.code == info(Code::STORE_BUSY).name;
  waiter->state = State::Due;
  if (waiter->ending != Ending::None || stopping_ || !may_wait) {
    remove(waiter);
    afterwards.calls.push_back([waiter, failure = std::move(failure)] { waiter->done(tl::make_unexpected(failure)); });
    return;
  }
  waiter->pause = std::clamp(waiter->pause * 2, kFirstPause, kLongestPause);
  look_again_after(*waiter, waiter->pause);
}

// Claimed for somebody who has gone, and who cannot ask for the answer again.
void WaitingClaims::Queue::give_back(const Waiter& waiter, const Answer& answer) {
  const std::string session_id = member_of(answer, "session", "id");
  if (session_id.empty()) return;
  Mutation by{.caller = waiter.by.caller};
  by.caller.session_id = session_id;
  cases_.release(by, session_id, "the claimer went away", [](const Result<Answer>&) {});
}

// --- what comes from outside --------------------------------------------------------------------------------------------

void WaitingClaims::Queue::cancel(std::uint64_t number) {
  Afterwards afterwards;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiters_.find(number);
    if (found == waiters_.end()) return;
    const WaiterPtr waiter = found->second;
    end(waiter, Ending::Cancelled, afterwards);
  }
  afterwards.run();
}

void WaitingClaims::Queue::revoke(const std::string& token_id) {
  Afterwards afterwards;
  {
    const std::lock_guard lock(mutex_);
    std::vector<WaiterPtr> its;
    for (const auto& [number, waiter] : waiters_)
      if (waiter->by.caller.token_id == token_id) its.push_back(waiter);
    for (const WaiterPtr& waiter : its) end(waiter, Ending::Revoked, afterwards);
  }
  afterwards.run();
}

void WaitingClaims::Queue::see(const FedEntries& entries) {
  {
    const std::lock_guard lock(mutex_);
    if (waiters_.empty()) return;  // whoever comes now looks first
  }
  for (const FedEntry& entry : *entries)
    if (const std::string token_id = revoked_by(entry); !token_id.empty()) revoke(token_id);
  // What is claimable at the end of these entries, in the order it became so.
  std::vector<Opening> openings;
  std::unordered_map<std::string, std::size_t> at;
  for (const FedEntry& entry : *entries) {
    auto opening = opening_of(entry.sequence, entry.type, entry.payload);
    if (!opening) continue;
    if (const auto before = at.find(opening->work_id); before != at.end()) openings[before->second].work_id.clear();
    at[opening->work_id] = openings.size();
    openings.push_back(std::move(*opening));
  }
  const std::lock_guard lock(mutex_);
  for (Opening& opening : openings) {
    if (opening.work_id.empty()) continue;
    if (opening.taken) {
      withdraw(opening.work_id, opening.sequence);
      continue;
    }
    // Who has looked for this item in vain may find it now: it has changed.
    const auto held = openings_.find(opening.work_id);
    if (held != openings_.end()) {
      const WaiterPtr waiter = waiters_.at(held->second);
      if (waiter->state == State::Looking) waiter->again = true;
      waiter->tried.clear();
      if (suits(*waiter, opening)) {
        waiter->opening = std::move(opening);
        continue;
      }
      waiter->opening.reset();
      openings_.erase(held);
    }
    offer(std::move(opening), {});
  }
}

// --- the thread ---------------------------------------------------------------------------------------------------------

SteadyClock::time_point WaitingClaims::Queue::next_time() const {
  SteadyClock::time_point next = SteadyClock::now() + 1h;
  if (!times_.empty()) next = std::min(next, times_.begin()->first);
  if (!pauses_.empty()) next = std::min(next, pauses_.begin()->first);
  return next;
}

// Whose time is over is answered; who is due and may look begins.
std::vector<WaitingClaims::Queue::WaiterPtr> WaitingClaims::Queue::due_now(Afterwards& afterwards) {
  const SteadyClock::time_point now = SteadyClock::now();
  while (!times_.empty() && times_.begin()->first <= now) {
    const WaiterPtr waiter = waiters_.at(times_.begin()->second);
    times_.erase(times_.begin());
    end(waiter, Ending::TimeOver, afterwards);
  }
  while (!pauses_.empty() && pauses_.begin()->first <= now) {
    const WaiterPtr waiter = waiters_.at(pauses_.begin()->second);
    pauses_.erase(pauses_.begin());
    if (waiter->state != State::Looking) set_due(*waiter);
  }
  std::vector<WaiterPtr> out;
  while (!due_.empty() && looking_ < limits::kWaitingLooksMax) {
    const WaiterPtr waiter = waiters_.at(*due_.begin());
    due_.erase(due_.begin());
    if (waiter->opening) ++woken_;
    begin_look(*waiter);
    out.push_back(waiter);
  }
  return out;
}

void WaitingClaims::Queue::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Afterwards afterwards;
    const std::vector<WaiterPtr> due = due_now(afterwards);
    if (due.empty() && afterwards.calls.empty()) {
      wake_.wait_until(lock, next_time());
      continue;
    }
    lock.unlock();
    afterwards.run();
    for (const WaiterPtr& waiter : due) look(waiter);
    lock.lock();
  }
}

void WaitingClaims::Queue::stop() {
  Afterwards afterwards;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    std::vector<WaiterPtr> all;
    for (const auto& [number, waiter] : waiters_) all.push_back(waiter);
    // Nobody passes anything on to those who are about to be sent away.
    for (const WaiterPtr& waiter : all) waiter->opening.reset();
    openings_.clear();
    for (const WaiterPtr& waiter : all) end(waiter, Ending::Stopped, afterwards);
  }
  wake_.notify_all();
  afterwards.run();
}

void WaitingClaims::Queue::wait_for_looks() {
  std::unique_lock lock(mutex_);
  looked_.wait(lock, [this] { return looking_ == 0; });
}

// --- the shell ----------------------------------------------------------------------------------------------------------

WaitingClaims::WaitingClaims(UseCases& cases, const workspace::Config& config,
                             std::vector<std::chrono::milliseconds> rechecks)
    : queue_(std::make_shared<Queue>(cases, config, std::move(rechecks))),
      thread_([queue = queue_] { queue->work(); }) {}

WaitingClaims::~WaitingClaims() {
  stop();
  queue_->wait_for_looks();
}

std::function<void()> WaitingClaims::add(const Mutation& by, ClaimRequest asked, std::chrono::milliseconds wait,
                                         Answered done) {
  return queue_->add(by, std::move(asked), wait, std::move(done));
}
void WaitingClaims::see(const FedEntries& entries) { queue_->see(entries); }
void WaitingClaims::stop() {
  queue_->stop();
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}
std::uint64_t WaitingClaims::waiting() const { return queue_->waiting(); }
std::uint64_t WaitingClaims::woken() const { return queue_->woken(); }

}  // namespace baton::runtime
