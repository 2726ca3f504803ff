// SPDX-License-Identifier: Apache-2.0
#include "runtime/waiting_starts.h"

#include <algorithm>
#include <vector>

#include "json/parse.h"

namespace baton::runtime {
namespace {

using Clock = std::chrono::steady_clock;

bool is_busy(const Result<Answer>& answer) {
  if (!answer || !answer->refused.empty()) return false;
  const json::Value* reason = answer->body.find("reason");
  return reason != nullptr && reason->is_string() && reason->string() == info(Code::resource_busy).name;
}

std::string call_in(const std::string& start) {
  const auto document = json::parse(start);
  return document && document->root()["call_id"].is_string() ? std::string(document->root()["call_id"].string())
                                                             : std::string();
}

}  // namespace

struct WaitingStarts::Inside : std::enable_shared_from_this<Inside> {
  struct Waiter {
    std::uint64_t number;
    Mutation by;
    std::string session_id, call_id, start;
    Clock::time_point until;
    Answered done;
    Answer last = {};  // what it was told: that it is busy
  };

  explicit Inside(UseCases& all) : cases(all) {}

  // Tries, and waits when it is busy and there is time.
  void attempt(std::shared_ptr<Waiter> waiter) {
    {
      const std::lock_guard lock(mutex);
      ++trying;
    }
    const auto told = [self = shared_from_this(), waiter](Result<Answer> answer) {
      const bool waits = is_busy(answer) && self->take_place(waiter, *answer);
      if (!waits) waiter->done(std::move(answer));
      const std::lock_guard lock(self->mutex);
      --self->trying;
      self->changed.notify_all();
    };
    // A key is for the question as a whole: that it is busy is not the answer, and who asks again waits again.
    cases.start_call(waiter->by, waiter->session_id, waiter->start, told, true);
  }

  bool take_place(const std::shared_ptr<Waiter>& waiter, const Answer& answer) {
    const std::lock_guard lock(mutex);
    if (stopped || Clock::now() >= waiter->until || cancelled_before(waiter->number)) return false;
    waiter->last = answer;
    waiters.push_back(waiter);
    look = true;  // what would wake it may have happened already
    changed.notify_all();
    return true;
  }

  bool cancelled_before(std::uint64_t number) {
    const auto at = std::ranges::find(cancelled, number);
    if (at == cancelled.end()) return false;
    cancelled.erase(at);
    return true;
  }

  void run() {
    std::unique_lock lock(mutex);
    while (!stopped) {
      auto next = Clock::time_point::max();
      for (const auto& waiter : waiters) next = std::min(next, waiter->until);
      const auto due = [&] { return stopped || look; };
      if (next == Clock::time_point::max()) changed.wait(lock, due);
      else changed.wait_until(lock, next, due);
      if (stopped) break;
      look = false;
      const std::list<std::shared_ptr<Waiter>> all = waiters;
      lock.unlock();
      for (const auto& waiter : all) judge(waiter);
      lock.lock();
    }
  }

  // Its turn, or its time is over; else it goes on waiting.
  void judge(const std::shared_ptr<Waiter>& waiter) {
    const bool over = Clock::now() >= waiter->until;
    // A store that cannot be read says nothing: it is tried, and the failure is the answer.
    const auto turn = over ? Result<bool>(false) : cases.is_turn_of(waiter->session_id, waiter->call_id);
    if (!over && turn && !*turn) return;
    {
      const std::lock_guard lock(mutex);
      if (std::erase(waiters, waiter) == 0) return;  // it was cancelled
    }
    if (over) waiter->done(std::move(waiter->last));
    else attempt(waiter);
  }

  void cancel(std::uint64_t number) {
    std::shared_ptr<Waiter> found;
    {
      const std::lock_guard lock(mutex);
      const auto at = std::ranges::find(waiters, number, [](const auto& one) { return one->number; });
      if (at == waiters.end()) {
        if (trying > 0) cancelled.push_back(number);  // it may be about to take its place
        return;
      }
      found = *at;
      waiters.erase(at);
    }
    found->done(std::move(found->last));
  }

  void stop() {
    std::list<std::shared_ptr<Waiter>> left;
    {
      const std::lock_guard lock(mutex);
      stopped = true;
      left.swap(waiters);
      changed.notify_all();
    }
    for (const auto& waiter : left) waiter->done(std::move(waiter->last));
  }

  UseCases& cases;
  std::mutex mutex;
  std::condition_variable changed;
  std::list<std::shared_ptr<Waiter>> waiters;
  std::vector<std::uint64_t> cancelled;  // while they were tried
  std::uint64_t next_number = 1;
  std::size_t trying = 0;
  bool look = false, stopped = false;
};

WaitingStarts::WaitingStarts(UseCases& cases)
    : inside_(std::make_shared<Inside>(cases)), thread_([inside = inside_] { inside->run(); }) {}

WaitingStarts::~WaitingStarts() {
  stop();
  if (thread_.joinable()) thread_.join();
  std::unique_lock lock(inside_->mutex);
  inside_->changed.wait(lock, [&] { return inside_->trying == 0; });
}

std::function<void()> WaitingStarts::add(const Mutation& by, std::string session_id, std::string start,
                                         std::chrono::milliseconds wait, Answered done) {
  auto waiter = std::make_shared<Inside::Waiter>();
  waiter->by = by;
  waiter->session_id = std::move(session_id);
  waiter->call_id = call_in(start);
  waiter->start = std::move(start);
  waiter->until = Clock::now() + wait;
  waiter->done = std::move(done);
  {
    const std::lock_guard lock(inside_->mutex);
    waiter->number = inside_->next_number++;
  }
  const std::uint64_t number = waiter->number;
  inside_->attempt(std::move(waiter));
  return [inside = std::weak_ptr(inside_), number] {
    if (const auto there = inside.lock()) there->cancel(number);
  };
}

void WaitingStarts::see(const FedEntries& entries) {
  const bool matters =
      std::ranges::any_of(*entries, [](const FedEntry& entry) { return entry.stream.starts_with("session/"); });
  if (!matters) return;
  const std::lock_guard lock(inside_->mutex);
  if (inside_->waiters.empty()) return;
  inside_->look = true;
  inside_->changed.notify_all();
}

void WaitingStarts::stop() { inside_->stop(); }

std::uint64_t WaitingStarts::waiting() const {
  const std::lock_guard lock(inside_->mutex);
  return inside_->waiters.size();
}

}  // namespace baton::runtime
