#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a ledger says of workflows, entry by entry, by an account of its own: for tests that let many sessions loose.

    workflow_account.py

`Account` knows of the modes of shared resources no more than their words: no two owners at any entry, nothing spent that was not there,
each handoff claimed once. `Acknowledged` keeps what clients were told, and finds what of it is not in the ledger, or was done twice. Run by
itself, it feeds both a forged ledger of each kind, which they must find: a check that cannot fail is none.
"""

import collections
import hashlib
import sys
import threading
from decimal import Decimal

MODES = ("single_writer", "exclusive_pending", "serial_only")
PATHS = {"thing": "k", "other": "also"}  # shared resources, and which argument names them


class Terms:
    """What one workflow was held to."""

    def __init__(self, mode, limits):
        self.mode, self.limits = mode, limits


class Call:
    def __init__(self, session, name, tool, keys, estimate):
        self.session, self.name, self.keys, self.estimate = session, name, keys, estimate
        self.writes = tool == "edit"
        self.state = "pending"
        self.paid = False

    def is_open(self):
        return self.state in ("pending", "executing", "unknown")

    def reserves(self):
        return self.estimate if self.state in ("pending", "executing") else 0


class Session:
    def __init__(self, workflow):
        self.workflow, self.over, self.calls = workflow, False, {}


class Flow:
    """One workflow as it stands at an entry."""

    def __init__(self, terms):
        self.terms, self.ended = terms, False
        self.steps, self.ever, self.active, self.open_handoffs = 0, 0, 0, 0
        self.cost, self.late, self.reserved = Decimal(0), Decimal(0), Decimal(0)
        self.open = collections.defaultdict(set)    # by key: calls that are not over
        self.tokens = {}                            # by key: the call that executes, where one does at a time
        self.owners = {}                            # by key: the session that writes it
        self.writes = collections.defaultdict(list)  # by key and owner: its mutating calls since it is the owner
        self.handoffs = {}


class Account:
    """Takes the entries of a ledger in their order, and notes what must not be."""

    def __init__(self, terms):
        self.flows = {workflow: Flow(one) for workflow, one in terms.items()}
        self.sessions, self.problems, self.counts = {}, [], collections.Counter()

    def take(self, sequence, kind, payload):
        self.at = sequence
        act = getattr(self, "on_" + kind.replace(".", "_"), None)
        flow = self.flow_of(payload)
        if act is None or flow is None:
            return
        self.counts[kind] += 1
        act(flow, payload)
        self.hold_to_limits(flow)

    def flow_of(self, payload):
        session = self.sessions.get(payload.get("session_id"))
        return self.flows.get(session.workflow if session else payload.get("workflow_id"))

    def wrong(self, text):
        self.problems.append(f"entry {self.at}: {text}")

    def hold_to_limits(self, flow):
        limits = flow.terms.limits
        used = {"max_total_steps": flow.steps, "max_total_cost": flow.cost - flow.late, "max_sessions": flow.ever,
                "max_active_sessions": flow.active, "max_open_handoffs": flow.open_handoffs}
        for name, most in limits.items():
            if used[name] > most:
                self.wrong(f"{name} is {most}, and {used[name]} are used")

    # Sessions.

    def on_session_opened(self, flow, payload):
        if flow.ended:
            self.wrong("a session began in a workflow that was killed")
        flow.ever += 1
        flow.active += 1
        self.sessions[payload["session_id"]] = Session(payload["workflow_id"])

    def on_session_ended(self, flow, payload):
        name = payload["session_id"]
        session = self.sessions[name]
        if session.over:
            return self.wrong(f"{name} ended twice")
        session.over = True
        flow.active -= 1
        for call in list(session.calls.values()):
            # Whoever is gone has no turn any more, whether or not it is known what became of its call.
            self.give_turn_back(flow, call)
            if call.state == "pending":
                self.becomes(flow, call, "cancelled")
            elif call.state == "executing" and payload["to"] == "killed":
                self.becomes(flow, call, "unknown")
        for key in [key for key, owner in flow.owners.items() if owner == name]:
            self.free_if_done(flow, key, name)

    # Calls.

    def on_session_step(self, flow, payload):
        name = payload["session_id"]
        session = self.sessions[name]
        allowed = [one for one in payload["calls"] if one["verdict"] == "allow"]
        if not allowed:
            return
        if session.over:
            self.wrong(f"{name} was allowed a call after its end")
        estimate = Decimal(payload.get("estimate", 0))
        if flow.cost + flow.reserved + estimate > flow.terms.limits["max_total_cost"]:
            self.wrong(f"{estimate} more was allowed with {flow.cost} spent and {flow.reserved} under way")
        flow.steps += 1
        for one in allowed:
            keys = {(alias, one["arguments"][member]) for alias, member in PATHS.items() if member in one["arguments"]}
            call = Call(name, one["call_id"], one["tool"], keys, estimate if one is allowed[0] else Decimal(0))
            if call.name in session.calls:
                self.wrong(f"{call.name} of {name} was proposed twice")
            for key in sorted(keys):
                self.enter(flow, key, call)
            session.calls[call.name] = call
            flow.reserved += call.reserves()

    def enter(self, flow, key, call):
        """A call on a key goes ahead."""
        others = {other.session for other in flow.open[key]} - {call.session}
        if flow.terms.mode == "exclusive_pending" and others:
            self.wrong(f"{call.session} has a call on {key} while {sorted(others)} have open ones")
        flow.open[key].add(call)
        if flow.terms.mode == "single_writer" and call.writes:
            owner = flow.owners.setdefault(key, call.session)
            if owner != call.session:
                self.wrong(f"{call.session} may write {key}, which {owner} owns")
            flow.writes[key, call.session].append(call)

    def on_session_call_started(self, flow, payload):
        if payload["verdict"] != "allow":
            # Who has to wait keeps its call; whatever else is refused at the beginning is over.
            if not any(one["code"] == "resource_busy" for one in payload["failures"]):
                call = self.call_of(payload)
                if call is not None and call.state == "pending":
                    self.becomes(flow, call, "cancelled")
            return
        call = self.call_of(payload)
        if call is None:
            return
        if call.state != "pending":
            self.wrong(f"{call.name} of {call.session} began when it was {call.state}")
        if self.sessions[call.session].over:
            self.wrong(f"{call.name} began after the end of {call.session}")
        call.state = "executing"
        for key in sorted(call.keys):
            if flow.terms.mode == "serial_only":
                if key in flow.tokens:
                    self.wrong(f"{call.name} executes on {key} while {flow.tokens[key].name} does")
                flow.tokens[key] = call
            if flow.terms.mode == "single_writer" and call.writes and flow.owners.get(key) != call.session:
                self.wrong(f"{call.session} writes {key}, which {flow.owners.get(key)} owns")

    def on_session_call_settled(self, flow, payload):
        call = self.call_of(payload)
        if call is None:
            return
        if not call.is_open():
            self.wrong(f"{call.name} of {call.session} was settled when it was {call.state}")
        self.give_turn_back(flow, call)
        self.becomes(flow, call, payload["state"])

    def call_of(self, payload):
        call = self.sessions[payload["session_id"]].calls.get(payload["call_id"])
        if call is None:
            self.wrong(f"there is no call {payload['call_id']} of {payload['session_id']}")
        return call

    def give_turn_back(self, flow, call):
        for key in [key for key, holder in flow.tokens.items() if holder is call]:
            del flow.tokens[key]

    def becomes(self, flow, call, state):
        before = call.reserves()
        call.state = state
        flow.reserved += call.reserves() - before
        for key in call.keys:
            if not call.is_open():
                flow.open[key].discard(call)
            self.free_if_done(flow, key, call.session)

    def free_if_done(self, flow, key, session):
        """An owner is one until its session ends, and longer while nobody knows what its calls do. It never was one when nothing came
        of its calls but at most one failure."""
        if flow.owners.get(key) != session:
            return
        made = [call.state for call in flow.writes[key, session] if call.state != "cancelled"]
        if self.sessions[session].over:
            done = "executing" not in made and "unknown" not in made
        else:
            done = made in ([], ["failed"])
        if done:
            del flow.owners[key]
            del flow.writes[key, session]

    # Money. What is told while a call of the step goes on is covered by what was reserved for it. What is told of a call that was killed
    # is late: its reservation is gone, and what was spent is spent. That part is counted, and not held against the limit.
    def on_session_cost(self, flow, payload):
        cost = Decimal(payload["cost"])
        flow.cost += cost
        unpaid = [call for call in self.sessions[payload["session_id"]].calls.values() if not call.paid and call.estimate >= cost]
        under_way = [call for call in unpaid if call.state in ("pending", "executing")]
        for call in (under_way or unpaid)[-1:]:
            call.paid = True
        if unpaid and not under_way:
            flow.late += cost
            self.counts["late"] += 1

    # Handoffs.

    def on_workflow_offered(self, flow, payload):
        flow.handoffs[payload["handoff_id"]] = "offered"
        flow.open_handoffs += 1

    def on_workflow_claimed(self, flow, payload):
        stage = flow.handoffs.get(payload["handoff_id"])
        if stage != "offered":
            self.wrong(f"{payload['handoff_id']} was claimed when it was {stage}")
        flow.handoffs[payload["handoff_id"]] = "claimed"

    def on_workflow_handoff_ended(self, flow, payload):
        stage = flow.handoffs.get(payload["handoff_id"])
        if stage not in ("offered", "claimed"):
            self.wrong(f"{payload['handoff_id']} ended when it was {stage}")
        flow.handoffs[payload["handoff_id"]] = payload["to"]
        flow.open_handoffs -= 1

    def on_workflow_killed(self, flow, payload):
        flow.ended = True


class Acknowledged:
    """What clients were told has happened. Kept as it is told; held against the ledger at the end."""

    def __init__(self):
        self.told, self.ended, self.answers, self.lock = [], set(), {}, threading.Lock()

    def receipt(self, answer, kind, **members):
        with self.lock:
            self.told.append((answer["receipt"]["sequence"], answer["receipt"]["hash"], kind, members))

    def end(self, sessions):
        with self.lock:
            self.ended.update(sessions)

    def answer(self, key, status, answer):
        """The last word to whoever asked with this Idempotency-Key."""
        with self.lock:
            self.answers[hashlib.sha256(key.encode()).hexdigest()[:32]] = (status, answer)

    def check_answer(self, payload):
        """Of a request that was done: was it answered like this, too?"""
        status, answer = self.answers.get(payload["key"], (None, None))
        if status is None:
            return []
        if status >= 400:
            return [f"a request was refused ({status} {answer.get('code')}), and had been done: {payload['answer']['entry']}"]
        told = {name: value for name, value in answer.items() if name != "receipt"}
        if isinstance(told.get("session"), dict):
            told["session"] = {name: value for name, value in told["session"].items() if name != "token"}
        kept = payload["answer"]["body"]
        return [] if told == kept else [f"a request was answered with {told}, and {kept} is recorded"]

    def check(self, entries):
        """`entries`: (sequence, hash, type, payload). What is missing, other than was said, or there twice."""
        problems, by_sequence, ends, seen = [], {}, set(), collections.Counter()
        costs = collections.Counter()
        for sequence, digest, kind, payload in entries:
            by_sequence[sequence] = (digest, kind, payload)
            if kind == "session.ended":
                ends.add(payload["session_id"])
            if kind == "session.step":
                seen.update((payload["session_id"], call["call_id"]) for call in payload["calls"])
            if kind == "session.cost":
                costs[payload["session_id"]] += Decimal(payload["cost"])
            if kind == "api.answered":
                problems += self.check_answer(payload)
        told_costs, told_at = collections.Counter(), {}
        for sequence, digest, kind, members in self.told:
            there = by_sequence.get(sequence)
            if there is None or there[0] != digest or there[1] != kind:
                problems.append(f"entry {sequence}, {kind} {members}, was acknowledged, but is {there and there[1]}")
                continue
            for name, value in members.items():
                found = [[one["call_id"], one["verdict"]] for one in there[2]["calls"]] if name == "calls" else there[2].get(name)
                if found != value:
                    problems.append(f"entry {sequence}: {name} was said to be {value}, and is {found}")
            if told_at.setdefault(sequence, members) is not members:
                problems.append(f"entry {sequence} was the answer to two requests")
            if kind == "session.cost":
                told_costs[members["session_id"]] += Decimal(there[2]["cost"])
        problems += [f"{one} was said to have ended, and did not" for one in sorted(self.ended - ends)]
        problems += [f"{call} was proposed {count} times" for call, count in seen.items() if count > 1]
        # Everybody asked until there was an answer: what is there beyond what was told was done twice.
        problems += [f"{one} cost {costs[one]}, and was told of {told_costs[one]}" for one in costs if costs[one] != told_costs[one]]
        return problems


# --- can they fail? -------------------------------------------------------------------------------------------------------------------


class Forged:
    """A ledger of one workflow, as nobody wrote it."""

    def __init__(self, mode="single_writer", sessions=("x", "y"), **limits):
        self.terms = {"w": Terms(mode, {"max_total_steps": 100, "max_total_cost": 100, "max_sessions": 100, "max_active_sessions": 100,
                                        "max_open_handoffs": 100, **limits})}
        self.entries = []
        for one in sessions:
            self.opened(one)

    def add(self, kind, **payload):
        sequence = len(self.entries) + 1
        self.entries.append((sequence, f"hash {sequence}", kind, payload))
        return self

    def opened(self, session):
        return self.add("session.opened", session_id=session, workflow_id="w")

    def step(self, session, call, tool="edit", verdict="allow", estimate=0, **arguments):
        return self.add("session.step", session_id=session, estimate=estimate,
                        calls=[{"call_id": call, "tool": tool, "verdict": verdict, "arguments": arguments or {"k": 1}}])

    def started(self, session, call, verdict="allow", code=None):
        return self.add("session.call_started", session_id=session, call_id=call, verdict=verdict,
                        failures=[{"code": code}] if code else [])

    def settled(self, session, call, state="committed"):
        return self.add("session.call_settled", session_id=session, call_id=call, state=state)

    def done(self, session, call, state="committed", **step):
        return self.step(session, call, **step).started(session, call).settled(session, call, state)

    def ended(self, session, to="killed"):
        return self.add("session.ended", session_id=session, to=to)

    def cost(self, session, cost):
        return self.add("session.cost", session_id=session, cost=cost)

    def offered(self, handoff):
        return self.add("workflow.offered", workflow_id="w", handoff_id=handoff)

    def claimed(self, handoff, session):
        return self.add("workflow.claimed", workflow_id="w", handoff_id=handoff, session_id=session)

    def handoff_ended(self, handoff, to="completed"):
        return self.add("workflow.handoff_ended", workflow_id="w", handoff_id=handoff, to=to)

    def problems(self):
        account = Account(self.terms)
        for sequence, _, kind, payload in self.entries:
            account.take(sequence, kind, payload)
        return account.problems


def forged_ledgers():
    """(what it is, the ledger, what must be found; None: nothing)"""
    sw, ep, so = MODES

    def f(mode=sw, **more):
        return Forged(mode, **more)

    yield "an owner writes twice, another reads", f().done("x", "1").done("x", "2").done("y", "3", tool="look"), None
    yield "two owners", f().step("x", "1").step("y", "2"), "which x owns"
    yield "two owners of the second thing", f().step("x", "1", k=1, also=2).step("y", "2", k=2, also=2), "which x owns"
    yield "an owner whose calls are done is one still", f().done("x", "1").step("y", "2"), "which x owns"
    yield "an owner whose second call failed is one still", f().done("x", "1").done("x", "2", "failed").step("y", "3"), "which x owns"
    yield "an owner that failed twice is one still", f().step("x", "1").step("x", "2").started("x", "1").settled(
        "x", "1", "failed").started("x", "2").settled("x", "2", "failed").step("y", "3"), "which x owns"
    yield "one that failed at once is none", f().done("x", "1", "failed").step("y", "2"), None
    yield "one that was refused at the beginning is none", f().step("x", "1").started("x", "1", "block", "label_denied").step(
        "y", "2"), None
    yield "an owner that ended is none", f().done("x", "1").ended("x", "closed").step("y", "2"), None
    yield "one of whose calls nobody knows is one still", f().step("x", "1").started("x", "1").ended("x").step("y", "2"), "which x owns"
    yield "until somebody knows", f().step("x", "1").started("x", "1").ended("x").settled("x", "1", "failed").step("y", "2"), None
    yield "what is closed while it writes is its still", f().step("x", "1").started("x", "1").ended("x", "closed").step(
        "y", "2"), "which x owns"
    yield "begun by one who is not the owner", f().done("x", "1", "failed").step("y", "2").step("x", "3", tool="look").step(
        "x", "4", k=2).started("x", "4"), None
    lost = f().step("x", "1")
    lost.entries.append((9, "", "session.call_started", {"session_id": "x", "call_id": "2", "verdict": "allow", "failures": []}))
    yield "a call that nobody proposed begins", lost, "no call 2"

    yield "one after another", f(ep).done("x", "1").done("y", "2"), None
    yield "another key", f(ep).step("x", "1").step("y", "2", k=2), None
    yield "two calls of one session", f(ep).step("x", "1").step("x", "2"), None
    yield "two have open calls", f(ep).step("x", "1").step("y", "2"), "while ['x'] have open ones"
    yield "reading counts too", f(ep).step("x", "1").step("y", "2", tool="look"), "while ['x'] have open ones"
    yield "one executes", f(ep).step("x", "1").started("x", "1").step("y", "2"), "while ['x'] have open ones"
    yield "of one nobody knows", f(ep).done("x", "1", "unknown").step("y", "2"), "while ['x'] have open ones"
    yield "of one nobody knows, and it is killed", f(ep).done("x", "1", "unknown").ended("x").step("y", "2"), "while ['x'] have open ones"
    yield "it was cancelled with its session", f(ep).step("x", "1").ended("x").step("y", "2"), None

    yield "both may propose", f(so).step("x", "1").step("y", "2").started("x", "1").started("y", "2", "block", "resource_busy").settled(
        "x", "1").started("y", "2"), None
    yield "two execute", f(so).step("x", "1").step("y", "2").started("x", "1").started("y", "2"), "executes on ('thing', 1) while 1 does"
    yield "two of one session execute", f(so).step("x", "1").step("x", "2").started("x", "1").started("x", "2"), "while 1 does"
    yield "the second of two things", f(so).step("x", "1", k=1, also=1).step("y", "2", k=2, also=1).started("x", "1").started("y", "2"), \
        "executes on ('other', 1) while 1 does"
    yield "who is gone has no turn", f(so).step("x", "1").step("y", "2").started("x", "1").ended("x").started("y", "2"), None

    yield "begun after the end", f(so).step("x", "1").ended("x").started("x", "1"), "after the end of x"
    yield "proposed after the end", f(so).ended("x").step("x", "1"), "after its end"
    yield "begun twice", f().step("x", "1").started("x", "1").started("x", "1"), "began when it was executing"
    yield "settled twice", f().done("x", "1").settled("x", "1"), "settled when it was committed"
    yield "proposed twice", f().done("x", "1").step("x", "1"), "proposed twice"
    yield "ended twice", f().ended("x").ended("x"), "ended twice"

    yield "as many steps as there may be", f(max_total_steps=2).step("x", "1").step("x", "2").step("y", "3", verdict="block"), None
    yield "a step too many", f(max_total_steps=2).step("x", "1").step("x", "2").step("x", "3"), "max_total_steps is 2, and 3"
    yield "all of the money", f(max_total_cost=2).step("x", "1", estimate=1).step("y", "2", k=2, estimate=1).cost("x", 1).cost("y", 1), None
    yield "more than there is", f(max_total_cost=2).step("x", "1", estimate=1).step("y", "2", k=2, estimate=2), "1 under way"
    yield "more than was spent leaves", f(max_total_cost=2).step("x", "1", estimate=1).cost("x", 1).settled("x", "1").step(
        "x", "2", estimate=2), "with 1 spent"
    yield "paid twice out of one reservation", f(max_total_cost=1).step("x", "1", estimate=1).cost("x", 1).cost("x", 1), \
        "max_total_cost is 1, and 2"
    yield "paid more than was reserved", f(max_total_cost=1).step("x", "1", estimate=1).cost("x", 2), "max_total_cost is 1, and 2"
    twice = f(max_total_cost=2).step("x", "1", estimate=2).step("x", "2", estimate=0)
    twice.entries[-1][3]["estimate"] = -1
    yield "an estimate below nothing makes room", twice.step("x", "3", estimate=1).cost("x", 2).cost("x", 1), "max_total_cost is 2, and 3"
    yield "told late", f(max_total_cost=2).step("x", "1", estimate=2).started("x", "1").ended("x").step("y", "2", k=2, estimate=2).cost(
        "y", 2).cost("x", 2), None
    yield "a session too many", f(max_sessions=2).ended("x").opened("z"), "max_sessions is 2, and 3"
    yield "one too many at a time", f(max_active_sessions=2).opened("z"), "max_active_sessions is 2, and 3"
    yield "one after another ended", f(max_active_sessions=2).ended("x").opened("z"), None
    yield "an offer too many", f(max_open_handoffs=1).offered("h").offered("i"), "max_open_handoffs is 1, and 2"
    yield "one after another was done", f(max_open_handoffs=1).offered("h").claimed("h", "x").handoff_ended("h").offered("i"), None
    yield "claimed twice", f().offered("h").claimed("h", "x").claimed("h", "y"), "claimed when it was claimed"
    yield "claimed when it was taken back", f().offered("h").handoff_ended("h", "cancelled").claimed("h", "y"), \
        "claimed when it was cancelled"
    yield "ended twice over", f().offered("h").handoff_ended("h").handoff_ended("h"), "ended when it was completed"
    yield "begun in a killed workflow", f().add("workflow.killed", workflow_id="w").opened("z"), "that was killed"


def forged_acknowledgements():
    ledger = Forged().done("x", "1").cost("x", 2).ended("x").entries

    def told(*more, sequence=3, digest="hash 3", kind="session.step", entries=ledger, cost=True, **members):
        out = Acknowledged()
        out.receipt({"receipt": {"sequence": sequence, "hash": digest}}, kind, **members)
        if cost:
            out.receipt({"receipt": {"sequence": 6, "hash": "hash 6"}}, "session.cost", session_id="x")
        out.end(more)
        return out.check(entries)

    yield "as it was told", told("x", session_id="x", calls=[["1", "allow"]]), None
    yield "it is not there", told(sequence=30), "was acknowledged"
    yield "another entry is there", told(digest="hash 4"), "was acknowledged"
    yield "another type", told(kind="session.cost", cost=False), "was acknowledged"
    yield "another verdict", told(calls=[["1", "block"]]), "was said to be"
    yield "another session", told(session_id="y"), "was said to be"
    yield "not ended", told("y"), "y was said to have ended"
    yield "one answer to two", told(sequence=6, digest="hash 6", kind="session.cost", session_id="x"), "answer to two requests"
    yield "proposed in two sessions' names", told(entries=[*ledger, (9, "", "session.step", ledger[2][3])]), "was proposed 2 times"
    entry = {"stream": "session/x", "type": "session.cost"}
    kept = (9, "", "api.answered", {"key": hashlib.sha256(b"mine").hexdigest()[:32], "answer": {"body": {"cost": 2}, "entry": entry}})
    for name, status, answer, wanted in (
            ("answered as it is kept", 200, {"cost": 2, "receipt": {}}, None),
            ("answered otherwise", 200, {"cost": 3, "receipt": {}}, "was answered with"),
            ("refused, and done", 409, {"code": "call_not_open"}, "was refused (409 call_not_open), and had been done")):
        asked = Acknowledged()
        asked.answer("mine", status, answer)
        asked.answer("another", 409, {})
        yield name, asked.check([kept]), wanted
    yield "paid twice", told(entries=[*ledger, (9, "", "session.cost", ledger[5][3])]), "cost 4, and was told of 2"


def selftest():
    missed, found = [], 0
    cases = [(name, ledger.problems(), wanted) for name, ledger, wanted in forged_ledgers()] + list(forged_acknowledgements())
    for name, problems, wanted in cases:
        if wanted is None and problems:
            missed.append(f"{name}: nothing is wrong with it, and was found: {problems}")
        if wanted is not None and not any(wanted in one for one in problems):
            missed.append(f"{name}: `{wanted}` was not found, but {problems}")
        found += wanted is not None
    for one in missed:
        print(f"selftest: {one}", file=sys.stderr)
    print(f"selftest: {found} forged ledgers found, {len(cases) - found} good ones held for good" if not missed else "selftest failed")
    return not missed


if __name__ == "__main__":
    sys.exit(0 if selftest() else 1)
