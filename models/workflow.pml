/* SPDX-License-Identifier: Apache-2.0 */
/* How the sessions of one workflow begin, share and end when two nodes serve them: a model of the rules for spin.
 *
 * What each step mirrors (docs/formats/contracts.md, "The workflow"; in quotes the events of docs/formats/scenarios.md):
 *   begin, commit   runtime/writer.h: a use case decides on the rows it reads; whoever finds at its commit that another
 *                   node was first with one of them runs again. The rows here: the workflow's, with its handoffs and who
 *                   is whose child; one for each session, with its calls; one for each key
 *   Offer, Claim, Expire        "offer", "claim": an active parent, an open offer, a living workflow, the limits
 *   End             "close", or "kill" of one session: parent_close_policy decides about its children
 *   KillSubtree, KillWorkflow   "kill" of the scopes that ask no policy
 *   Propose, Start, Receipt     a call is decided, begun, settled. A late receipt settles one that is unknown, also after
 *                   the end of its session: it frees what was claimed, and does nothing else
 *   HandOn          an owner gives its single_writer key to a child it has, while no change of its own is open
 *   Silence         an agent is not heard of again; Sweeper: its lease is over, and its session is killed. Where nothing
 *                   need ever happen, in all but the check of liveness, a silent agent is one that asks nothing more
 *
 * All calls of a run are on one key, and of one kind: changes of a single_writer key, reads of a serial_only key, or
 * changes of an exclusive_pending key. A call is pending, executing or unknown; committed, failed and cancelled ones are
 * gone. A single_writer key is free again when its owner has ended and none of its changes is unknown, or when the only
 * one it tried has failed. A serial_only key has a queue: at its head is who executes, or is next to. The token goes on at
 * every receipt, a timeout's too, and at the end of the session.
 *
 * Left out: roles, artifacts, labels, approvals, max_sessions, budgets and who may kill, which only refuse more; calls
 * with several keys; requests that would be refused as things stand, for they change nothing. parent_close_policy is drawn
 * when a parent ends, when it is first needed, and is the same for all its children.
 *
 * What is checked (tests/workflow_model_test.py, which also breaks the rules one by one and sees that it is found):
 *   1. one owner of a single_writer key: whoever has a change open, or has made one and is alive, is the owner; an owner
 *      is alive or has a change unknown; of an exclusive_pending key no two sessions have open calls. No change begins
 *      but by its owner, and none that was begun is forgotten without a receipt    assert in one_writer, served
 *   2. of a serial_only key one call executes, and it asked before all that wait; a place in the queue belongs to a call
 *      that can use it                                                             assert in one_token, served
 *      whoever waits is served in the end, or its session ends                     ltl token_comes
 *   3. a kill reaches all that is below, also who was being claimed; a policy reaches whom it names and nobody else;
 *      nothing of an ended session is pending, executing or on offer               assert in all_ended, at commit
 *   4. nobody is alive in a workflow that was killed, so no claim succeeded after  assert in all_ended
 *   5. the limits are never passed                                                 assert in limits
 *
 * Variables named seen_ are for the assertions alone: no rule reads them.
 *
 * It is run in parts. ONLY_SESSIONS: a tree grows from its root, without calls, under limits that are drawn. ONLY_CALLS:
 * three sessions from the first, a chain or two children. SHARED fixes the kind of the calls, which is drawn otherwise.
 */
#ifndef STEPS
#define STEPS 5 /* requests of all together, and agents that fall silent */
#endif

#define SESSIONS 3 /* the root; and a child for each of two handoffs, of which the second may be the first child's */
#define CALLS 3    /* open at once, of all sessions */
#define NOBODY 7

#define bit(n) (1 << (n))
#define has(set, n) (((set) >> (n)) & 1)
#define count_of(set) (has(set, 0) + has(set, 1) + has(set, 2))

mtype = { unoffered, offered, claimed, ended };
mtype = { none, pending, executing, unknown };
mtype = { writes, serial, exclusive };
mtype = { request_cancel, terminate, abandon };
mtype = { ok, error, no_answer };
mtype = { Offer, Claim, Expire, End, KillSubtree, KillWorkflow, Propose, Start, Receipt, HandOn };

/* Sets of sessions, a bit each in its session's row. */
byte alive = 1;
byte cancel; /* were asked to end */

/* The workflow's row. */
byte parent[SESSIONS] = NOBODY;
mtype handoff[SESSIONS]; /* by the child it leads to */
byte offered_by[SESSIONS];
bool killed;
byte max_active, max_open;

/* The single_writer key's row. */
byte owner = NOBODY;
bool changed; /* by its owner: what fails now does not give it back */

typedef Call { /* in its session's row */
  mtype state = none;
  mtype kind = writes;
  byte session;
  byte place;        /* in the key's row: 1 is the head of the queue, 0 none */
  byte seen_earlier; /* the calls that asked before it did and still wait or execute */
};
Call call[CALLS];

mtype shared; /* the kind of all calls of this run */
byte silent;  /* the agents of which nothing is heard */
byte steps = STEPS;

byte seen_killed;   /* sessions that were to end with all below them */
bool seen_kill_all; /* the workflow was killed */
byte seen_cancel;   /* sessions that were asked to end */
byte seen_spared;   /* sessions that must outlive this commit */
byte seen_begun;    /* how many changes were begun, of which no outcome is known */
byte seen_writers;  /* sessions that are alive and have changed the single_writer key, and not handed it on */

#define row_workflow 1
#define row_session(s) (2 << (s))
#define row_writer 16
#define row_serial 32
#define row_exclusive 64
#define rows_of(sessions) ((sessions) << 1)

/* A node's open transaction: what was decided on what it read. */
typedef Transaction {
  bool open;
  bool conflict;  /* another commit changed a row that was read */
  byte reads;
  bool allowed;
  bool next;      /* the call begun is the next to execute */
  byte ends;      /* sessions that end, are asked to, are left without a parent */
  byte asked;
  byte orphans;
  byte calls;     /* calls of those that end */
  bool frees;     /* they have the single_writer key, and none of their changes was begun */
};
Transaction transaction[2];

/* Whoever has read one of the rows and has not committed is late. */
inline committed(rows) {
  if :: transaction[0].open && (transaction[0].reads & rows) -> transaction[0].conflict = true :: else fi;
  if :: transaction[1].open && (transaction[1].reads & rows) -> transaction[1].conflict = true :: else fi
}

/* --- the tree -------------------------------------------------------------------------------------------------------- */

#define is_below(s, t) ((s) == (t) || parent[s] == (t) || (parent[s] == 1 && parent[1] == (t)))
#define below(t) ((is_below(0, t) -> 1 : 0) | (is_below(1, t) -> 2 : 0) | (is_below(2, t) -> 4 : 0))
#define alive_below(t) (alive & below(t))
#define children(s) (alive & ((parent[1] == (s) -> 2 : 0) | (parent[2] == (s) -> 4 : 0)))
#define below_children(s) \
  ((parent[1] == (s) -> alive_below(1) : 0) | (parent[2] == (s) -> alive_below(2) : 0))

#define is_open(h) (handoff[h] == offered || handoff[h] == claimed)
#define open_handoffs ((is_open(1) -> 1 : 0) + (is_open(2) -> 1 : 0))

#define may_offer(s, h) (has(alive, s) && handoff[h] == unoffered && open_handoffs < max_open)
/* No offer outlives the workflow, so that `killed` alone refuses nothing: two locks on one door. */
#define may_claim(h) (handoff[h] == offered && !killed && count_of(alive) < max_active)

/* --- the calls ------------------------------------------------------------------------------------------------------- */

#define is_open_call(c, k, s) (call[c].state != none && call[c].kind == (k) && call[c].session == (s))
#define has_open(k, s) (is_open_call(0, k, s) || is_open_call(1, k, s) || is_open_call(2, k, s))
#define others_have(k, s) \
  (((s) != 0 && has_open(k, 0)) || ((s) != 1 && has_open(k, 1)) || ((s) != 2 && has_open(k, 2)))

#define is_begun(c) ((call[c].state == executing || call[c].state == unknown) && call[c].kind != serial -> 1 : 0)
#define has_room (call[0].state == none || call[1].state == none || call[2].state == none)

#define may_write(s) (!has(cancel, s) && (owner == NOBODY || owner == (s)))
#define may_exclude(s) (!has(cancel, s) && !others_have(exclusive, s))
#define may_propose(s, k) \
  (has(alive, s) && ((k) == serial || ((k) == writes && may_write(s)) || ((k) == exclusive && may_exclude(s))))

#define queue_length ((call[0].place > 0 -> 1 : 0) + (call[1].place > 0 -> 1 : 0) + (call[2].place > 0 -> 1 : 0))
#define queued ((call[0].place > 0 -> 1 : 0) | (call[1].place > 0 -> 2 : 0) | (call[2].place > 0 -> 4 : 0))
#define is_next(c) (call[c].place == 1 || (call[c].place == 0 && queue_length == 0))

#define row_of(k) ((k) == writes -> row_writer : ((k) == serial -> row_serial : row_exclusive))

/* The token goes on, or a place is given up. */
inline leave_queue(c) {
  if
  :: call[c].place > 0 ->
     for (other : 0 .. CALLS - 1) {
       if :: call[other].place > call[c].place -> call[other].place-- :: else fi;
       call[other].seen_earlier = call[other].seen_earlier & ~bit(c)
     }
     call[c].place = 0;
     call[c].seen_earlier = 0;
     other = 0
  :: else
  fi
}
byte other;

inline forget(c) {
  call[c].state = none;
  call[c].kind = writes;
  call[c].session = 0
}

inline free_key() {
  owner = NOBODY;
  changed = false
}

/* An owner that has ended keeps the key while one of its changes is unknown. */
inline free_key_of_ended() {
  if
  :: owner != NOBODY && !has(alive, owner) && !has_open(writes, owner) -> free_key()
  :: else
  fi
}

/* What whoever ends sessions reads. Of a session that is not there yet no row can be read: that one is being claimed is
 * seen by the workflow's row. Of the keys' rows it reads those that the sessions have to do with. */
#define is_call_of(c, sessions) (call[c].state != none && has(sessions, call[c].session))
#define row_of_key(sessions) \
  ((owner != NOBODY && has(sessions, owner)) || \
   is_call_of(0, sessions) || is_call_of(1, sessions) || is_call_of(2, sessions) -> row_of(shared) : 0)
#define rows_of_end(sessions) (row_workflow | rows_of(alive) | row_of_key(sessions))

inline decide_calls(t) {
  t.calls = (is_call_of(0, t.ends) -> 1 : 0) | (is_call_of(1, t.ends) -> 2 : 0) | (is_call_of(2, t.ends) -> 4 : 0);
  t.frees = (owner != NOBODY && has(t.ends, owner) && is_begun(0) + is_begun(1) + is_begun(2) == 0)
}

/* What has not started is cancelled, of what has nothing is known. */
inline end_call(c) {
  leave_queue(c);
  if
  :: call[c].state == pending -> forget(c)
  :: call[c].state == executing -> call[c].state = unknown
  :: else
  fi
}

inline end_handoff(h, sessions) {
  if
  :: handoff[h] == claimed && has(sessions, h) -> handoff[h] = ended
  :: handoff[h] == offered && has(sessions, offered_by[h]) -> handoff[h] = ended; offered_by[h] = 0
  :: else
  fi
}

/* Sessions end, are asked to, or are left without a parent, as was decided. `each` is a variable to use. */
inline end_sessions(t, each) {
  alive = alive & ~t.ends;
  for (each : 0 .. CALLS - 1) {
    if
    :: has(t.calls, each) -> end_call(each)
    :: else
    fi
  }
  if
  :: t.frees -> free_key()
  :: else
  fi;
  for (each : 1 .. SESSIONS - 1) {
    end_handoff(each, t.ends);
    if
    :: has(t.orphans, each) -> parent[each] = NOBODY
    :: else
    fi
  }
  each = 0;
  cancel = cancel | t.asked;
  seen_writers = seen_writers & alive
}

/* What the policy of a parent that ends must come to, by what is there at the commit. */
inline take_down_policy(s, how) {
  if
  :: how == terminate -> seen_killed = seen_killed | children(s)
  :: how == request_cancel -> seen_cancel = seen_cancel | children(s); seen_spared = children(s)
  :: how == abandon -> seen_spared = children(s)
  fi
}

inline decide_end(s, how, t) {
  t.ends = bit(s) | (how == terminate -> below_children(s) : 0);
  t.asked = (how == request_cancel -> children(s) : 0);
  t.orphans = (how == abandon -> children(s) : 0)
}

inline propose(s, k) {
  if
  :: call[0].state == none -> c = 0
  :: call[0].state != none && call[1].state == none -> c = 1
  :: else -> c = 2
  fi;
  call[c].state = pending;
  call[c].kind = k;
  call[c].session = s;
  assert(k == serial || !has(seen_cancel, s));
  if
  :: k == writes -> owner = s
  :: else
  fi
}

/* 1 and 2, at the moment a call begins. */
inline served(c) {
  assert(has(alive, call[c].session));
  assert(call[c].kind != writes || owner == call[c].session);
  assert(call[c].kind != serial || call[c].seen_earlier == 0)
}

inline start(c, is_its_turn) {
  if
  :: call[c].kind == serial && call[c].place == 0 ->
     call[c].seen_earlier = queued;
     call[c].place = queue_length + 1
  :: else
  fi;
  if
  :: is_its_turn ->
     served(c);
     call[c].state = executing;
     seen_begun = seen_begun + (call[c].kind == serial -> 0 : 1)
  :: else /* resource_busy: it stays pending and keeps its place */
  fi
}

inline receipt(c, result) {
  if
  :: call[c].state == executing -> leave_queue(c)
  :: else
  fi;
  seen_begun = seen_begun - (call[c].kind == serial || result == no_answer -> 0 : 1);
  if
  :: result == no_answer -> call[c].state = unknown
  :: else ->
     s = call[c].session;
     forget(c);
     if
     :: owner == s && result == ok && has(alive, s) -> changed = true; seen_writers = seen_writers | bit(s)
     :: owner == s && result == error && !changed && !has_open(writes, s) -> free_key() /* the only one it tried */
     :: else
     fi;
     free_key_of_ended()
  fi
}

/* --- what must hold -------------------------------------------------------------------------------------------------- */

inline one_writer() { /* 1. */
  assert(is_begun(0) + is_begun(1) + is_begun(2) == seen_begun);
  assert(call[0].state == none || call[0].kind != writes || call[0].session == owner);
  assert(call[1].state == none || call[1].kind != writes || call[1].session == owner);
  assert(call[2].state == none || call[2].kind != writes || call[2].session == owner);
  assert(seen_writers == 0 || (owner != NOBODY && seen_writers == bit(owner)));
  assert(owner == NOBODY || has(alive, owner) || has_open(writes, owner));
  assert(!has_open(exclusive, 0) || !others_have(exclusive, 0));
  assert(!has_open(exclusive, 1) || !others_have(exclusive, 1))
}

#define executes(c) (call[c].state == executing && call[c].kind == serial -> 1 : 0)
#define is_at_head(c) (executes(c) == 0 || call[c].place == 1)
#define place_is_held(c) \
  (call[c].place == 0 || \
   (has(alive, call[c].session) && call[c].place <= queue_length && \
    (call[c].state == executing || call[c].state == pending)))

inline one_token() { /* 2. */
  assert(executes(0) + executes(1) + executes(2) <= 1);
  assert(is_at_head(0) && is_at_head(1) && is_at_head(2));
  assert(place_is_held(0) && place_is_held(1) && place_is_held(2))
}

#define is_over(c) (call[c].state == none || call[c].state == unknown || has(alive, call[c].session))

inline all_ended() { /* 3 and 4. */
  assert(!seen_kill_all || alive == 0);
  assert(!has(seen_killed, 0) || alive_below(0) == 0);
  assert(!has(seen_killed, 1) || alive_below(1) == 0);
  assert(!has(seen_killed, 2) || alive_below(2) == 0);
  assert(is_over(0) && is_over(1) && is_over(2));
  assert(handoff[1] != offered || has(alive, offered_by[1]));
  assert(handoff[2] != offered || has(alive, offered_by[2]));
  assert((handoff[1] == claimed) == has(alive, 1));
  assert((handoff[2] == claimed) == has(alive, 2))
}

inline limits() { /* 5. */
  assert(count_of(alive) <= max_active);
  assert(open_handoffs <= max_open)
}

inline all_holds() {
  d_step { one_writer(); one_token(); all_ended(); limits() }
}

/* --- who acts -------------------------------------------------------------------------------------------------------- */

proctype Node(bit node) {
  mtype request = Offer;
  mtype how = request_cancel;
  mtype kind = writes;
  mtype outcome = ok;
  byte s, c; /* the session (a handoff goes by its child), the call */
  byte by, rows;
end:
  do
  :: atomic {
       steps > 0;
       if
#ifndef ONLY_CALLS
       :: request = Offer; if :: s = 1 :: s = 2 :: s = 2; by = 1 fi
       :: request = Claim; if :: s = 1 :: s = 2 fi
       :: request = Expire; if :: s = 1 :: s = 2 fi
#endif
       :: request = End; if :: s = 0 :: s = 1 :: s = 2 fi;
          if :: how = request_cancel :: how = terminate :: how = abandon fi
       :: request = KillSubtree; if :: s = 0 :: s = 1 :: s = 2 fi
       :: request = KillWorkflow
#ifndef ONLY_SESSIONS
       :: request = Propose; if :: s = 0 :: s = 1 :: s = 2 fi;
          kind = shared
       :: request = HandOn; if :: s = 1 :: s = 2 fi
       :: request = Start; if :: c = 0 :: c = 1 :: c = 2 fi
       :: request = Receipt; if :: c = 0 :: c = 1 :: c = 2 fi;
          if :: outcome = ok :: outcome = error :: outcome = no_answer fi
#endif
       fi;
begin:
       transaction[node].conflict = false;
       if
       :: request == Offer ->
          transaction[node].reads = row_workflow | row_session(by);
          transaction[node].allowed = may_offer(by, s) && !has(silent, by)
       :: request == Claim ->
          transaction[node].reads = row_workflow;
          transaction[node].allowed = may_claim(s)
       :: request == Expire ->
          transaction[node].reads = row_workflow;
          transaction[node].allowed = (handoff[s] == offered)
       :: request == End ->
          transaction[node].allowed = has(alive, s) && (how == request_cancel || children(s) != 0);
          decide_end(s, how, transaction[node]);
          decide_calls(transaction[node]);
          transaction[node].reads = rows_of_end(transaction[node].ends)
       :: request == KillSubtree ->
          transaction[node].allowed = (alive_below(s) != 0);
          transaction[node].ends = alive_below(s);
          decide_calls(transaction[node]);
          transaction[node].reads = rows_of_end(transaction[node].ends)
       :: request == KillWorkflow ->
          transaction[node].allowed = !killed;
          transaction[node].ends = alive;
          decide_calls(transaction[node]);
          transaction[node].reads = rows_of_end(alive)
       :: request == Propose ->
          transaction[node].reads = row_session(s) | (kind == serial -> 0 : row_of(kind));
          transaction[node].allowed = may_propose(s, kind) && !has(silent, s) && has_room
       :: request == Start ->
          transaction[node].reads = row_session(call[c].session) | (call[c].kind == serial -> row_serial : 0);
          transaction[node].next = (call[c].kind != serial || is_next(c));
          transaction[node].allowed = call[c].state == pending &&
                                      has(alive, call[c].session) && !has(silent, call[c].session) &&
                                      (transaction[node].next || call[c].place == 0)
       :: request == Receipt ->
          transaction[node].reads = row_session(call[c].session) | row_of(call[c].kind);
          transaction[node].allowed = (call[c].state == executing || (call[c].state == unknown && outcome != no_answer))
       :: request == HandOn ->
          by = parent[s];
          transaction[node].reads = row_workflow | row_writer | row_session(s) | (by == NOBODY -> 0 : row_session(by));
          transaction[node].allowed = by != NOBODY && has(alive, s) && owner == by && has(alive, by) && !has(silent, by) &&
                                      !has_open(writes, by)
       fi;
       transaction[node].open = true;
       if
       :: !transaction[node].allowed -> goto done
       :: else -> steps--
       fi
     };
     atomic { /* commit */
       if
       :: transaction[node].conflict -> steps++; goto begin
       :: else
       fi;
       transaction[node].open = false;
       if
       :: request == Offer ->
          handoff[s] = offered;
          offered_by[s] = by;
          rows = row_workflow
       :: request == Claim ->
          handoff[s] = claimed;
          parent[s] = offered_by[s];
          offered_by[s] = 0;
          alive = alive | bit(s);
          rows = row_workflow | row_session(s)
       :: request == Expire ->
          handoff[s] = ended;
          offered_by[s] = 0;
          rows = row_workflow
       :: request == End || request == KillSubtree || request == KillWorkflow ->
          if
          :: request == End -> take_down_policy(s, how)
          :: request == KillSubtree -> seen_killed = seen_killed | bit(s)
          :: request == KillWorkflow -> killed = true; seen_kill_all = true
          fi;
          rows = row_workflow | row_of_key(transaction[node].ends) |
                 rows_of(transaction[node].ends | transaction[node].asked | transaction[node].orphans);
          end_sessions(transaction[node], c);
          assert(request != End || !has(alive, s));
          assert((alive & seen_spared) == seen_spared);
          seen_spared = 0
       :: request == Propose && !has_room -> goto done /* what the model holds, no rule */
       :: request == Propose && has_room ->
          propose(s, kind);
          rows = row_session(s) | (kind == serial -> 0 : row_of(kind))
       :: request == Start ->
          start(c, transaction[node].next);
          rows = row_session(call[c].session) | (call[c].kind == serial -> row_serial : 0)
       :: request == Receipt ->
          rows = row_session(call[c].session) | row_of(call[c].kind);
          receipt(c, outcome)
       :: request == HandOn ->
          owner = s;
          changed = true;
          if :: has(seen_writers, by) -> seen_writers = bit(s) :: else fi;
          rows = row_writer | row_session(s)
       fi;
       committed(rows);
       all_holds();
done:
       transaction[node].open = false;
       transaction[node].conflict = false;
       transaction[node].reads = 0;
       transaction[node].allowed = false;
       transaction[node].next = false;
       transaction[node].ends = 0;
       transaction[node].asked = 0;
       transaction[node].orphans = 0;
       transaction[node].calls = 0;
       transaction[node].frees = false;
       request = Offer; how = request_cancel; kind = writes; outcome = ok;
       s = 0; c = 0; by = 0; rows = 0
     }
  od
}

#ifdef LIVENESS
proctype Silence() {
end:
  do
  :: d_step { steps > 0 && has(alive & ~silent, 0) -> silent = silent | bit(0); steps-- }
  :: d_step { steps > 0 && has(alive & ~silent, 1) -> silent = silent | bit(1); steps-- }
  :: d_step { steps > 0 && has(alive & ~silent, 2) -> silent = silent | bit(2); steps-- }
  od
}

proctype Sweeper() {
  byte s, c, rows;
  Transaction t;
end:
  do
  :: atomic {
       if
       :: has(alive & silent, 0) -> s = 0
       :: has(alive & silent, 1) -> s = 1
       :: has(alive & silent, 2) -> s = 2
       fi;
       decide_end(s, request_cancel, t);
       decide_calls(t);
       rows = row_workflow | row_of_key(t.ends) | rows_of(t.ends | t.asked);
       end_sessions(t, c);
       committed(rows);
       rows = 0;
       t.ends = 0;
       t.asked = 0;
       t.calls = 0;
       t.frees = false;
       s = 0
     }
  od
}

#define may_go_on(c) (call[c].place == 1 && call[c].state == pending && !has(silent, call[c].session))

/* An agent that was told resource_busy asks again. */
proctype Again() {
  byte c, rows;
end:
  do
  :: atomic {
       if
       :: may_go_on(0) -> c = 0
       :: may_go_on(1) -> c = 1
       :: may_go_on(2) -> c = 2
       fi;
       start(c, true);
       rows = row_session(call[c].session) | row_serial;
       committed(rows);
       c = 0; rows = 0
     }
  od
}

/* No call executes for ever. */
proctype Timer() {
  byte c, s, rows;
end:
  do
  :: atomic {
       if
       :: call[0].state == executing -> c = 0
       :: call[1].state == executing -> c = 1
       :: call[2].state == executing -> c = 2
       fi;
       rows = row_session(call[c].session) | row_serial;
       receipt(c, no_answer);
       committed(rows);
       c = 0; rows = 0
     }
  od
}

/* When all requests have been made, the queue runs empty. */
#define nobody_waits (call[0].place == 0 && call[1].place == 0 && call[2].place == 0)
ltl token_comes { [] <> nobody_waits }
#endif

init {
  byte s, c;
  atomic {
    handoff[0] = claimed;
    handoff[1] = unoffered;
    handoff[2] = unoffered;
#ifdef ONLY_CALLS /* three sessions from the first: a chain, or two children */
    max_active = 3;
    max_open = 2;
    alive = 7;
    handoff[1] = claimed;
    handoff[2] = claimed;
    parent[1] = 0;
    if
    :: parent[2] = 0
    :: parent[2] = 1
    fi;
#ifdef SHARED
    shared = SHARED;
#else
    if
    :: shared = writes
    :: shared = serial
    :: shared = exclusive
    fi;
#endif
    if
    :: shared == serial -> /* anyone may propose, so three have; the steps are for what comes then */
       steps = steps - 2;
       for (c : 0 .. CALLS - 1) {
         call[c].state = pending;
         call[c].kind = serial;
         if
         :: s <= 0 -> s = 0
         :: s <= 1 -> s = 1
         :: s <= 2 -> s = 2
         fi;
         call[c].session = s
       }
    :: else
    fi;
    s = 0;
    c = 0;
#else
    if
    :: max_active = 3; max_open = 2
    :: max_active = 2; max_open = 2
    :: max_active = 3; max_open = 1
    fi;
#endif
    run Node(0);
    run Node(1)
#ifdef LIVENESS
    ;
    run Silence();
    run Sweeper();
    run Again();
    run Timer()
#endif
  }
}
