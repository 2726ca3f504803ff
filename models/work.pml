/* SPDX-License-Identifier: Apache-2.0 */
/* How items, leases and sessions go together when two nodes serve several agents: a model of the rules of work for spin.
 *
 * What each step mirrors:
 *   begin, commit   runtime/writer.h: a use case decides on what it read and on the clock of its transaction; whoever finds at
 *                   its commit that another node was first (STORE_CONFLICT) runs again
 *   settle          work/lease.cc, settle(): a lease that is over ends its session; too many of them block the item
 *   claim           work/claim.cc, claim(): settled first; free, or taken over by another session of the same actor
 *   holds           work/lease.cc, check_lease(): the session, its fence, and the clock
 *   renew, release  work/lease.cc
 *   hand_over       work/handoff.cc, exit(), and dialects/agent_exit/phase.cc for where a phase leads
 *   Clock           the store's clock
 *   Sweeper         settle() of whatever is due, without a claim
 *   Operator        work/people.cc, unblock()
 *   Ci              work/ci.cc, report_ci()
 *
 * A session that ends is not told: it may write long after, with the fence it has; and so may the session before it, of the
 * same agent. Left out: parking, offers, roles, dependencies, who may review. Each of them only makes claiming rarer, or is a
 * lease with another end.
 *
 * What is checked (tests/work_model_test.py, which also breaks the rules one by one and sees that it is found):
 *   1. at most one live session for each item, and it is the one that holds the lease          assert in one_holder
 *   2. nothing that a session wrote is taken unless it holds the newest lease and that is not over  assert in accepted
 *   3. every item is claimable again and again until it is completed                         ltl claimable_again
 *
 * The clock has no number: a lease knows what is left of it. So time goes on for ever in finitely many states. All agents
 * together make so many requests (STEPS), after which none of them is heard of again.
 */
#ifndef STEPS
#define STEPS 5
#endif
#ifndef TTL
#define TTL 2
#endif
#define ITEMS 2
#define SESSIONS 3
#define NODES 2
#define MAX_ATTEMPTS 2

#define actor_of(session) ((session) / 2) /* the first two have one actor, the third another */
#define is_claimable(p) ((p) == implementation || (p) == review)

mtype = { implementation, ci_pending, review, completed, blocked };

typedef Item {
  mtype phase = implementation;
  byte fence;    /* of the newest lease */
  bool leased;
  byte holder;   /* the session, and its fence */
  byte held_fence;
  byte left;     /* until the lease is over: at 0 it is, and stays so */
  byte attempts;
  byte leases;   /* for the assertions alone: how many there have been. No rule reads it. */
};
Item item[ITEMS];

/* An agent: the session it has or had last, and the one before that. */
typedef Agent {
  bool live;     /* in the store's view */
  byte at;       /* the item */
  byte fence;    /* 0: it never had a session */
  byte lease;    /* for the assertions: which of the item's leases */
  byte late_at;
  byte late_fence;
  byte late_lease;
};
Agent agent[SESSIONS];
byte steps = STEPS;

/* A node's open transaction: what was decided on what it read, by the clock of its beginning. */
typedef Transaction {
  bool open;
  byte on;          /* the item */
  bool conflict;    /* another commit changed the item since it was read */
  bool settles;     /* the lease is over */
  bool allowed;     /* the claim or the write may be done */
  bool supersedes;  /* the claim takes over */
  bool in_time;     /* for the assertions alone: the lease was not over when it began */
  bit age;          /* how far the clock went on since then: one tick, and then it commits */
};
Transaction transaction[NODES];

/* Whoever has read the item and has not committed is late. */
inline committed(i) {
  d_step {
    if :: transaction[0].open && transaction[0].on == i -> transaction[0].conflict = true :: else fi;
    if :: transaction[1].open && transaction[1].on == i -> transaction[1].conflict = true :: else fi;
  }
}

/* 1. */
inline one_holder(i) {
  d_step {
    live_sessions = 0;
    if :: agent[0].live && agent[0].at == i -> live_sessions++ :: else fi;
    if :: agent[1].live && agent[1].at == i -> live_sessions++ :: else fi;
    if :: agent[2].live && agent[2].at == i -> live_sessions++ :: else fi;
    assert(live_sessions == (item[i].leased -> 1 : 0));
    assert(!item[i].leased || (agent[item[i].holder].live && agent[item[i].holder].at == i));
    live_sessions = 0;
  }
}
byte live_sessions;

/* 2. `which` is the lease the writer was given. */
inline accepted(i, which, timely) {
  assert(item[i].leased);
  assert(which == item[i].leases);
  assert(timely);
}

/* Inclusive: at its end a lease is over. */
#define is_over(i) (item[i].left <= 0)
#define is_due(i) (item[i].leased && is_over(i))

inline end_lease(i) {
  agent[item[i].holder].live = false;
  item[i].leased = false;
  item[i].holder = 0;
  item[i].held_fence = 0;
  item[i].left = 0;
}

#define attempts_end(i) (item[i].attempts + 1 >= MAX_ATTEMPTS)

inline settle(i) {
  end_lease(i);
  if
  :: attempts_end(i) -> item[i].attempts = MAX_ATTEMPTS; item[i].phase = blocked
  :: else -> item[i].attempts++
  fi
}

/* May this session claim the item once it is settled? Another session of the holder's actor takes over. */
#define is_free(i) (!item[i].leased || (is_due(i) && !attempts_end(i)))
#define may_take_over(i, s) (item[i].leased && !is_over(i) && actor_of(item[i].holder) == actor_of(s))
#define may_claim(i, s) (is_claimable(item[i].phase) && (is_free(i) || may_take_over(i, s)))

#define holds(i, s, f) \
  (item[i].leased && item[i].holder == (s) && item[i].held_fence == (f) && !is_over(i))

inline issue(i, s, passed, takes_over) {
  if
  :: takes_over -> agent[item[i].holder].live = false /* superseded */
  :: else
  fi;
  item[i].fence = item[i].fence + 1;
  item[i].leases = item[i].leases + 1;
  item[i].leased = true;
  item[i].holder = s;
  item[i].held_fence = item[i].fence;
  item[i].left = TTL - passed;
  agent[s].late_at = agent[s].at;
  agent[s].late_fence = agent[s].fence;
  agent[s].late_lease = agent[s].lease;
  agent[s].live = true;
  agent[s].at = i;
  agent[s].fence = item[i].fence;
  agent[s].lease = item[i].leases;
}

inline hand_over(i, next) {
  end_lease(i);
  item[i].attempts = 0;
  item[i].phase = next;
}

/* What a holder may do. */
inline write(i, passed) {
  if
  :: item[i].left = TTL - passed /* renew: never before its end as it was */
  :: end_lease(i) /* release */
  :: item[i].phase == implementation -> hand_over(i, ci_pending)
  :: item[i].phase == review -> hand_over(i, completed)
  :: hand_over(i, blocked)
  fi
}

active [NODES] proctype Node() {
  byte s, i, fence, lease; /* of the session that asks; no fence: it claims */
  do
  :: atomic {
       steps > 0;
       steps--;
       if
       :: s = 0
       :: s = 1
       :: s = 2
       fi;
       if
       :: !agent[s].live -> if :: i = 0 :: i = 1 fi
       :: agent[s].fence > 0 -> i = agent[s].at; fence = agent[s].fence; lease = agent[s].lease
       :: agent[s].late_fence > 0 -> i = agent[s].late_at; fence = agent[s].late_fence; lease = agent[s].late_lease
       fi;
begin:
       transaction[_pid].open = true;
       transaction[_pid].on = i;
       transaction[_pid].conflict = false;
       transaction[_pid].age = 0;
       if
       :: fence == 0 ->
          transaction[_pid].settles = is_due(i);
          transaction[_pid].allowed = may_claim(i, s);
          transaction[_pid].supersedes = may_take_over(i, s)
       :: else ->
          transaction[_pid].allowed = holds(i, s, fence);
          transaction[_pid].in_time = (item[i].left > 0)
       fi
     };
     atomic { /* commit */
       if
       :: transaction[_pid].conflict -> goto begin
       :: else
       fi;
       if
       :: fence == 0 ->
          if
          :: transaction[_pid].settles -> settle(i)
          :: else
          fi;
          /* An agent that got a session meanwhile, through the other node, has what it wanted. */
          if
          :: transaction[_pid].allowed && !agent[s].live ->
             issue(i, s, transaction[_pid].age, transaction[_pid].supersedes)
          :: else
          fi;
          committed(i)
       :: fence > 0 && transaction[_pid].allowed ->
          accepted(i, lease, transaction[_pid].in_time);
          write(i, transaction[_pid].age);
          committed(i)
       :: else
       fi;
       one_holder(i);
       transaction[_pid].open = false;
       transaction[_pid].on = 0;
       transaction[_pid].conflict = false;
       transaction[_pid].settles = false;
       transaction[_pid].allowed = false;
       transaction[_pid].supersedes = false;
       transaction[_pid].in_time = false;
       transaction[_pid].age = 0;
       s = 0; i = 0; fence = 0; lease = 0
     }
  od
}

#define may_tick(n) (!transaction[n].open || transaction[n].age == 0)

active proctype Clock() {
  do
  :: d_step {
       may_tick(0) && may_tick(1);
       if :: item[0].left > 0 -> item[0].left-- :: else fi;
       if :: item[1].left > 0 -> item[1].left-- :: else fi;
       if :: transaction[0].open -> transaction[0].age = 1 :: else fi;
       if :: transaction[1].open -> transaction[1].age = 1 :: else fi
     }
  od
}

active proctype Sweeper() {
  byte i;
  do
  :: atomic {
       if
       :: is_due(0) -> i = 0
       :: is_due(1) -> i = 1
       fi;
       settle(i);
       committed(i);
       one_holder(i);
       i = 0
     }
  od
}

active proctype Operator() {
  byte i;
  do
  :: atomic {
       if
       :: item[0].phase == blocked -> i = 0
       :: item[1].phase == blocked -> i = 1
       fi;
       item[i].phase = implementation;
       item[i].attempts = 0;
       committed(i);
       i = 0
     }
  od
}

active proctype Ci() {
  byte i;
  do
  :: atomic {
       if
       :: item[0].phase == ci_pending -> i = 0
       :: item[1].phase == ci_pending -> i = 1
       fi;
       if
       :: item[i].phase = review
       :: item[i].phase = blocked
       fi;
       committed(i);
       i = 0
     }
  od
}

/* 3. The items are alike, so one of them speaks for both. */
#ifdef LIVENESS
#define waits_to_be_claimed (is_claimable(item[0].phase) && !item[0].leased)
ltl claimable_again { [] <> (waits_to_be_claimed || item[0].phase == completed) }
#endif
