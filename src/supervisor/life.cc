// SPDX-License-Identifier: Apache-2.0
#include "supervisor/life.h"

#include <algorithm>
#include <utility>

namespace baton::supervisor {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// A lease is renewed when a third of it has gone; one that could not be is asked for again after a tenth.
constexpr std::int64_t kRenewals = 3, kRenewTries = 10;
// Silence that a person at the terminal is told of.
constexpr std::int64_t kSilence = 10 * kSecond;

End end_of(std::string_view outcome) {
  return outcome == "completed" || outcome == "offered" ? End::Completed : End::Blocked;
}

std::string words_for(std::string_view outcome) {
  if (outcome == "completed") return "handed over";
  if (outcome == "offered") return "offered to another";
  return "handed over as " + std::string(outcome);
}

std::string span_text(std::int64_t nanoseconds) {
  const std::int64_t seconds = nanoseconds / kSecond;
  return seconds < 120 ? std::to_string(seconds) + " s" : std::to_string(seconds / 60) + " min";
}

}  // namespace

std::string_view end_name(End end) {
  switch (end) {
    case End::Completed: return "completed";
    case End::Blocked: return "blocked";
    case End::Refused: return "refused";
    case End::CouldNot: return "could_not";
    case End::Crashed: return "crashed";
    case End::TimedOut: return "timed_out";
  }
  return "could_not";
}

std::vector<Action> Life::happens(const Happening& happening, std::int64_t now_ns) {
  now_ = std::max(now_, now_ns);
  Actions out;
  if (state_ == State::Finished) return out;
  std::visit([&](const auto& what) { on(out, what); }, happening);
  return out;
}

// --- steps -------------------------------------------------------------------------------------------------------------------------------

void Life::start(Actions& out, StartAgent what) {
  state_ = State::Running;
  life_ = now_;
  out.emplace_back(std::move(what));
}

void Life::end_agent(Actions& out, End end, std::string why, Then then) {
  state_ = State::Ending;
  end_ = end;
  why_ = std::move(why);
  then_ = then;
  out.emplace_back(EndAgent{});
}

void Life::close(Actions& out, End end, std::string why, Then then) {
  if (then == Then::Nothing) return finish(out, end, std::move(why));
  state_ = State::Closing;
  end_ = end;
  why_ = why;
  if (then == Then::Release) out.emplace_back(Release{std::move(why)});
  else out.emplace_back(EndSession{then == Then::Fail});
}

void Life::finish(Actions& out, End end, std::string why) {
  state_ = State::Finished;
  out.emplace_back(Finish{end, std::move(why)});
}

void Life::repair(Actions& out, std::string problems) {
  if (stopping_) return close(out, End::CouldNot, "told to stop", Then::Release);
  if (repairs_ >= terms_.repairs_max) {
    const std::string times =
        repairs_ == 0 ? "" : " after " + std::to_string(repairs_) + (repairs_ == 1 ? " repair" : " repairs");
    return close(out, End::Refused, "no handoff could be taken" + times, Then::Fail);
  }
  ++repairs_;
  start(out, {StartAgent::Round::Repair, std::move(problems), repairs_});
}

void Life::lose(Actions& out, std::string why, const std::string& outcome) {
  const bool handed_over = !outcome.empty();
  const End end = handed_over ? end_of(outcome) : End::Refused;
  if (handed_over) why = words_for(outcome);
  switch (state_) {
    case State::Running:
      // Who has handed over may say so before going.
      if (handed_over) over_ = Over{end, std::move(why), now_ + terms_.last_words_ns};
      else end_agent(out, end, std::move(why), Then::Nothing);
      return;
    case State::Waiting: return finish(out, end, std::move(why));
    case State::Ending:
      // There is no session left to be ended.
      then_ = Then::Nothing;
      if (handed_over) {
        end_ = end;
        why_ = std::move(why);
      }
      return;
    // The node's answer says it as well.
    case State::Idle:
    case State::HandingOver:
    case State::Closing:
    case State::Finished: return;
  }
}

// A person is asked, and the agent has gone.
void Life::wait_or_finish(Actions& out) {
  if (answered_) {
    answered_ = false;
    lease_until_ = now_ + terms_.lease_ns;
    return start(out, {StartAgent::Round::GoOn, std::exchange(answer_, {}), 0, true});
  }
  if (terms_.answer_wait_ns == 0 || stopping_) return finish(out, End::Blocked, "it waits for a person");
  state_ = State::Waiting;
  waits_until_ = now_ + terms_.answer_wait_ns;
}

void Life::settle_end(Actions& out, const AgentEnded& ended) {
  if (over_) return finish(out, over_->end, over_->why);
  if (parked_ || answered_) return wait_or_finish(out);
  if (elsewhere_)
    return close(out, End::Crashed, "it ended without its last handoff (" + ended.how + ")", Then::Abandon);
  if (!ended.found) {
    if (ended.in_order && !terms_.handoff_owed)
      return close(out, End::Blocked, "it ended without a handoff, and its pack asks for none", Then::Abandon);
    if (ended.in_order) return repair(out, {});
    return close(out, End::Crashed, "it ended without a handoff (" + ended.how + ")", Then::Abandon);
  }
  if (!ended.found->problems.empty()) return repair(out, ended.found->problems);
  state_ = State::HandingOver;
  out.emplace_back(HandOver{ended.found->document});
}

std::int64_t Life::renew_at() const {
  const std::int64_t due = lease_until_ - terms_.lease_ns + terms_.lease_ns / kRenewals;
  return std::max(due, asked_to_renew_ == 0 ? due : asked_to_renew_ + terms_.lease_ns / kRenewTries);
}

void Life::look_at_the_time(Actions& out) {
  if (state_ == State::Waiting && now_ >= waits_until_) return finish(out, End::Blocked, "nobody has answered in time");
  if (state_ != State::Running) return;
  if (over_) {
    if (now_ >= over_->until) end_agent(out, over_->end, over_->why, Then::Nothing);
    return;
  }
  if (terms_.timeout_ns > 0 && now_ >= began_ + terms_.timeout_ns)
    return end_agent(out, End::TimedOut, "it ran for more than " + span_text(terms_.timeout_ns),
                     parked_ ? Then::Nothing : Then::Abandon);
  if (parked_) return;
  if (now_ >= lease_until_)
    return end_agent(out, End::Refused, "the lease could not be renewed in time", Then::Nothing);
  if (now_ >= life_ + terms_.idle_ns)
    return end_agent(out, End::TimedOut, "it showed no life for " + span_text(terms_.idle_ns), Then::Abandon);
  if (!renewing_ && now_ >= renew_at()) {
    renewing_ = true;
    asked_to_renew_ = now_;
    out.emplace_back(Renew{});
  }
}

std::optional<std::int64_t> Life::wakes_at() const {
  if (state_ == State::Waiting) return waits_until_;
  if (state_ != State::Running) return std::nullopt;
  if (over_) return over_->until;
  std::int64_t at = terms_.timeout_ns > 0 ? began_ + terms_.timeout_ns : INT64_MAX;
  if (!parked_) {
    at = std::min({at, lease_until_, life_ + terms_.idle_ns});
    if (!renewing_) at = std::min(at, renew_at());
  }
  return at == INT64_MAX ? std::nullopt : std::optional(at);
}

std::string Life::standing(std::int64_t now_ns) const {
  switch (state_) {
    case State::Idle: return "starts";
    case State::Running: break;
    case State::Ending: return "is ended: " + why_;
    case State::HandingOver: return "hands over";
    case State::Waiting: return "waits for a person";
    case State::Closing:
    case State::Finished: return "has ended";
  }
  if (over_) return over_->why;
  if (parked_) return "asks a person";
  std::string out =
      repairs_ == 0 ? "" : "repair " + std::to_string(repairs_) + " of " + std::to_string(terms_.repairs_max) + ", ";
  return out + (now_ns - life_ < kSilence ? "working" : "silent for " + span_text(now_ns - life_));
}

// --- what happens --------------------------------------------------------------------------------------------------------------------------

void Life::on(Actions& out, const Claimed&) {
  began_ = now_;
  lease_until_ = now_ + terms_.lease_ns;
  start(out, {});
}

void Life::on(Actions& out, const NotStarted& what) {
  if (state_ != State::Running) return;
  close(out, End::CouldNot, what.why, Then::Release);
}

void Life::on(Actions& out, const ShowedLife&) {
  life_ = now_;
  look_at_the_time(out);
}

void Life::on(Actions& out, const AgentEnded& ended) {
  if (state_ == State::Running) return settle_end(out, ended);
  if (state_ == State::Ending) return close(out, end_, why_, then_);
}

void Life::on(Actions& out, const HandoffTaken& taken) {
  if (state_ != State::HandingOver) return;
  if (!taken.moved)
    return repair(out,
                  "It was recorded, but it moves nothing: nobody vouches for its source. Hand over with a document of "
                  "your own session.");
  if (taken.outcome == "needs_input" || taken.outcome == "needs_approval") {
    parked_ = true;
    return wait_or_finish(out);
  }
  if (taken.outcome == "in_progress") {
    if (stopping_) return close(out, End::CouldNot, "told to stop", Then::Release);
    lease_until_ = now_ + terms_.lease_ns;
    return start(out, {StartAgent::Round::GoOn, {}, 0});
  }
  finish(out, end_of(taken.outcome), words_for(taken.outcome));
}

void Life::on(Actions& out, const HandoffRefused& refused) {
  if (state_ != State::HandingOver) return;
  if (refused.lost) return finish(out, End::Refused, "its handoff came too late");
  repair(out, refused.problems);
}

void Life::on(Actions& out, const Unheard& what) {
  renewing_ = false;
  if (state_ == State::HandingOver)
    return finish(out, End::CouldNot, "its handoff could not be brought to the node: " + what.why);
  if (state_ == State::Closing) return finish(out, end_, why_);
}

void Life::on(Actions& out, const Renewed&) {
  if (renewing_) lease_until_ = asked_to_renew_ + terms_.lease_ns;
  renewing_ = false;
  asked_to_renew_ = 0;
  look_at_the_time(out);
}

void Life::on(Actions& out, const NotRenewed& refused) {
  renewing_ = false;
  if (refused.because == NotRenewed::Because::Parked) parked_ = true;
  else lose(out, refused.why, {});
}

void Life::on(Actions&, const HandedInElsewhere&) {
  if (state_ == State::Running) elsewhere_ = true;
}

void Life::on(Actions& out, const SessionOver& over) { lose(out, over.why, over.outcome); }

void Life::on(Actions&, const Parked&) { parked_ = true; }

void Life::on(Actions& out, const Answered& answered) {
  if (!parked_) return;
  parked_ = false;
  life_ = now_;
  lease_until_ = now_ + terms_.lease_ns;
  if (state_ == State::Waiting) return start(out, {StartAgent::Round::GoOn, answered.text, 0, true});
  // Of a call that waits inside the agent it hears by itself; of a question that it ended with, when it is started again.
  if (elsewhere_ || state_ == State::HandingOver) {
    answered_ = true;
    answer_ = answered.text;
  }
}

void Life::on(Actions& out, const SessionEnded&) {
  if (state_ == State::Closing) finish(out, end_, why_);
}

void Life::on(Actions& out, const ToldToStop&) {
  const bool again = std::exchange(stopping_, true);
  switch (state_) {
    case State::Idle: return finish(out, End::CouldNot, "told to stop");
    case State::Running:
      if (over_) return end_agent(out, over_->end, over_->why, Then::Nothing);
      return end_agent(out, End::CouldNot, "told to stop", parked_ ? Then::Nothing : Then::Release);
    case State::Ending:
      if (again) out.emplace_back(EndAgent{true});
      return;
    case State::Waiting: return finish(out, End::Blocked, "it waits for a person");
    case State::HandingOver:
    case State::Closing:
    case State::Finished: return;
  }
}

void Life::on(Actions& out, const TimePassed&) { look_at_the_time(out); }

}  // namespace baton::supervisor
