// SPDX-License-Identifier: Apache-2.0
// The life of one agent under `baton run`, from its first start to the end of its session: what happened goes in, what is to be done
// comes out. Pure: no clock, no process, no node. Times are nanoseconds of a clock that only goes forward.
//
//   first start -> running -> its output has a handoff -> handed over -> taken: the end
//                     ^                  none, or refused -> asked again, at most `repairs_max` times; then BLOCKED
//                     +-----------------------------------------+
//
// - It shows life by output, by calls that the node sees and by using the processor. While it does, its lease is renewed, three times
//   in the life of a lease; when it has not for `idle_ns`, it is dead, and is ended. Slow is not dead.
// - Whoever loses the session (the lease is over, or another's; somebody killed it) has no business running: ended at once.
// - A handoff that came another way (`baton handoff submit`, the tool baton_handoff, a hook) is the handoff: what it prints is not
//   searched any more.
// - While a person is asked, the lease stands still and nobody need show life.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace baton::supervisor {

// How it came out; the exit status of `baton run`.
enum class End { Completed = 0, Blocked = 1, CouldNot = 2, Crashed = 3, TimedOut = 4, Refused = 5 };
std::string_view end_name(End end);  // "completed", "blocked", "could_not", "crashed", "timed_out", "refused"

struct Terms {
  std::int64_t lease_ns = 0;    // how long a lease lasts that is not renewed
  std::int64_t idle_ns = 0;     // without a sign of life so long: dead
  std::int64_t timeout_ns = 0;  // it may run so long in all; 0: as long as it likes
  std::int64_t answer_wait_ns =
      0;  // after it has asked a person: wait so long for the answer and go on with it; 0: do not wait
  std::int64_t last_words_ns = 0;  // after its handoff was taken by another way: it may still run so long
  int repairs_max = 2;
  bool handoff_owed = true;  // false: one that ends without a handoff is not asked for it
};

// --- what happens ------------------------------------------------------------------------------------------------------------------------

struct Claimed {};  // the item is ours, its session is open
struct NotStarted {
  std::string why;
};
struct ShowedLife {
  enum class By { Output, Call, Processor } by;
};
// The handoff in its output.
struct Found {
  std::string document;
  std::string problems = {};  // why it cannot be taken for one: several that differ, text behind it; empty: nothing
};
struct AgentEnded {
  bool in_order = true;  // exit status 0
  std::string how;       // "exit status 3"
  std::optional<Found> found;
};
struct HandoffTaken {
  std::string outcome;  // completed, blocked, error, in_progress, needs_input, needs_approval, offered
  bool moved = true;    // false: it says nothing that moves the item (a packet that nobody vouches for)
};
struct HandoffRefused {
  std::string problems;
  bool lost = false;  // the session is over, whatever the document says
};
struct Unheard {  // the node could not be told what Renew, HandOver, EndSession or Release wanted
  std::string why;
};
struct Renewed {};
struct NotRenewed {
  enum class Because { Lost, Parked } because;
  std::string why;
};
struct HandedInElsewhere {};  // by another way than its output
struct SessionOver {
  std::string why;      // "the lease expired"
  std::string outcome;  // of a handoff that ended it; else empty
};
struct Parked {
  std::string waits_for;  // input, approval
};
struct Answered {
  std::string text;  // of a person; empty: an approval, which says nothing
};
struct SessionEnded {};  // what EndSession or Release wanted is done, or refused
struct ToldToStop {};
struct TimePassed {};

using Happening =
    std::variant<Claimed, NotStarted, ShowedLife, AgentEnded, HandoffTaken, HandoffRefused, Unheard, Renewed,
                 NotRenewed, HandedInElsewhere, SessionOver, Parked, Answered, SessionEnded, ToldToStop, TimePassed>;

// --- what is to be done --------------------------------------------------------------------------------------------------------------

struct StartAgent {
  enum class Round { First, Repair, GoOn } round = Round::First;
  std::string text = {};  // Repair: what is wrong with its handoff; GoOn: what a person has answered
  int repair = 0;         // which repair this is, from 1
  bool answered = false;  // GoOn: a person has acted, whether or not with words; else it has only reported
};
struct EndAgent {
  bool at_once = false;  // killed; else asked first
};
struct Renew {};
struct HandOver {
  std::string document;
};
struct EndSession {
  bool failed = false;  // refused too often: BLOCKED; else abandoned: one more attempt
};
struct Release {
  std::string reason;
};
struct Finish {
  End end;
  std::string why;
};

using Action = std::variant<StartAgent, EndAgent, Renew, HandOver, EndSession, Release, Finish>;

// --- the machine -----------------------------------------------------------------------------------------------------------------------

class Life {
 public:
  explicit Life(const Terms& terms) : terms_(terms) {}

  // What follows, in order. After a Finish nothing follows any more.
  std::vector<Action> happens(const Happening& happening, std::int64_t now_ns);
  // When TimePassed is to be told next; nothing: never.
  std::optional<std::int64_t> wakes_at() const;

  // For the status line: "working", "silent for 40 s", "asks a person", "is asked again (1 of 2)".
  std::string standing(std::int64_t now_ns) const;
  int repairs() const { return repairs_; }

 private:
  enum class State { Idle, Running, Ending, HandingOver, Waiting, Closing, Finished };
  // What is done about the session when the agent has gone.
  enum class Then { Nothing, Abandon, Fail, Release };
  using Actions = std::vector<Action>;

  void start(Actions& out, StartAgent what);
  void end_agent(Actions& out, End end, std::string why, Then then);
  void close(Actions& out, End end, std::string why, Then then);
  void finish(Actions& out, End end, std::string why);
  void repair(Actions& out, std::string problems);
  void lose(Actions& out, std::string why, const std::string& outcome);
  void wait_or_finish(Actions& out);
  void settle_end(Actions& out, const AgentEnded& ended);
  void look_at_the_time(Actions& out);
  std::int64_t renew_at() const;

  void on(Actions& out, const Claimed&);
  void on(Actions& out, const NotStarted&);
  void on(Actions& out, const ShowedLife&);
  void on(Actions& out, const AgentEnded&);
  void on(Actions& out, const HandoffTaken&);
  void on(Actions& out, const HandoffRefused&);
  void on(Actions& out, const Unheard&);
  void on(Actions& out, const Renewed&);
  void on(Actions& out, const NotRenewed&);
  void on(Actions& out, const HandedInElsewhere&);
  void on(Actions& out, const SessionOver&);
  void on(Actions& out, const Parked&);
  void on(Actions& out, const Answered&);
  void on(Actions& out, const SessionEnded&);
  void on(Actions& out, const ToldToStop&);
  void on(Actions& out, const TimePassed&);

  const Terms terms_;
  State state_ = State::Idle;
  std::int64_t now_ = 0, began_ = 0, life_ = 0;
  std::int64_t lease_until_ = 0, asked_to_renew_ = 0, waits_until_ = 0;
  bool renewing_ = false;
  bool parked_ = false;
  bool elsewhere_ = false;  // a handoff was taken that did not come by its output
  bool stopping_ = false;
  int repairs_ = 0;
  std::string answer_;  // came while the agent still ran
  bool answered_ = false;
  // Its handoff was taken while it ran: how that came out, and until when it may go on.
  struct Over {
    End end;
    std::string why;
    std::int64_t until;
  };
  std::optional<Over> over_;
  End end_ = End::CouldNot;  // of Ending and Closing
  std::string why_;
  Then then_ = Then::Nothing;
};

}  // namespace baton::supervisor
