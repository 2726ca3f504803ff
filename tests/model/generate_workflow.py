#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws small workflows that compile and sequences of events for them, with the model's observations as expectations.

    generate_workflow.py SEED...      prints one scenario a line

Few roles, few tools, few values: sessions get in each other's way. Features of single sessions are drawn lightly, only
where a workflow makes something new of them; generate.py has the others. The same seed gives the same scenario for ever
after: nothing but the seed is looked at.
"""

import copy
import json
import random
import sys

from expectations import with_expectations, without_expectations
from values import plain
from workflow_model import WorkflowModel

ROLES = ["boss", "hand", "eye", "clerk"]
MODES = ["exclusive_pending", "single_writer", "serial_only"]
POLICIES = ["request_cancel", "terminate", "abandon"]
EFFECTS = ["read", "write", "write", "admin", "financial", "destructive"]
LABELS = ["secret", "frozen"]
ENTRIES_MAX = 60
# What a scenario is most about; nearly half of them are about nothing above all.
THEMES = ["ends", "ends", "tokens", "writers", "asked", "waits", "", "", "", ""]
# How much more often a theme draws an action.
OFTEN = {"ends": {"close": 4, "kill": 4, "label": 5, "offer": 2, "claim": 3, "check": 2, "begin": 0.5},
         "tokens": {"begin": 2.5, "claim": 2, "close": 1.5, "kill": 1.5},
         "writers": {"begin": 1.5, "receipt": 1.5, "claim": 2, "close": 1.5},
         "asked": {"close": 4, "claim": 2, "decide": 0.4},
         "waits": {"preflight": 4, "cost": 2}}


class WorkflowMaker:
    """Builds workflow.yaml and the packs of its roles."""

    def __init__(self, rng):
        self.rng = rng
        self.theme = rng.choice(THEMES)
        self.roles = ROLES[:rng.choice([1, 2, 2, 2, 3, 3, 4])]
        modes = {"tokens": ["serial_only"], "writers": ["single_writer"]}.get(self.theme, MODES)
        fewest = 1 if len(modes) == 1 else 0
        self.shared = [{"alias": alias, "mode": rng.choice(modes)}
                       for alias in ["door", "file", "lamp"][:rng.choice([fewest, 1, 1, 1, 2, 2, 3])]]
        self.features = [shared["mode"] for shared in self.shared]

    def build(self):
        packs = {role: self.pack() for role in self.roles}
        if self.shared and not any(pack["session"].get("resources") for pack in packs.values()):
            packs["boss"]["session"]["resources"] = self.resources()
        declared = {alias for pack in packs.values() for alias in pack["session"].get("resources", {})}
        self.shared = [shared for shared in self.shared if shared["alias"] in declared]
        scenario = {"workflow": self.workflow(), "packs": packs}
        if self.rng.random() < 0.3:
            scenario["gate"] = self.rng.choice(["strip_partial", "strip_blocked"])
        return scenario

    def chance(self, share, feature):
        """Whether a feature is drawn, in a scenario with a theme more rarely; remembers that it was."""
        wanted = (self.theme, feature) in (("asked", "checkpoint"), ("ends", "label_gates"),
                                           ("waits", "max_total_steps"), ("waits", "max_total_cost"))
        drawn = self.rng.random() < (0.7 if wanted else share * 0.4 if self.theme else share)
        if drawn:
            self.features.append(feature)
        return drawn

    def workflow(self):
        workflow = {"roles": [{"name": role, "session_contract": f"{role}/session.yaml"} for role in self.roles],
                    "handoffs": self.handoffs()}
        limits = {name: draw() for name, share, draw in (
            ("max_sessions", 0.3, lambda: self.rng.randint(2, 6)),
            ("max_active_sessions", 0.3, lambda: self.rng.randint(2, 4)),
            ("max_total_steps", 0.35, lambda: self.rng.randint(3, 16)),
            ("max_total_cost", 0.35, lambda: self.rng.choice([0.5, 1, 1.5])),
            ("max_open_handoffs", 0.3, lambda: self.rng.randint(1, 4))) if self.chance(share, name)}
        if limits:
            workflow["workflow_limits"] = limits
        if self.shared:
            workflow["shared_resources"] = self.shared
        cancellation = {}
        if self.rng.random() < (1 if self.theme == "ends" else 0.6):
            cancellation["subtree_kill"] = self.rng.random() < 0.8
        if self.rng.random() < 0.5:
            cancellation["workflow_kill"] = "operator_only"
        if self.rng.random() < 0.5:
            where = cancellation if self.rng.random() < 0.4 else workflow
            where["parent_close_policy"] = {"default": self.policy()}
        if cancellation:
            workflow["cancellation"] = cancellation
        return workflow

    def policy(self):
        often = {"asked": "request_cancel", "ends": "terminate"}.get(self.theme)
        return often if often and self.rng.random() < 0.4 else self.rng.choice(POLICIES)

    def handoffs(self):
        """Any role to any role, itself too; the first to the second always, so that most workflows have children."""
        pairs = [(sender, role) for sender in self.roles for role in self.roles]
        drawn = self.rng.sample(pairs, self.rng.randint(1, len(pairs)))
        if len(self.roles) > 1 and ("boss", "hand") not in drawn:
            drawn.append(("boss", "hand"))
        edges = []
        for sender, role in drawn:
            edge = {"from": sender, "to": role}
            if self.rng.random() < 0.25:
                edge["requires_artifacts"] = ["plan"]
            if self.rng.random() < 0.5:
                edge["parent_close_policy"] = self.policy()
            edges.append(edge)
        return edges

    def resources(self):
        paths = {"door": ["$.d", "$.d", "$['d']", "$.deep.d"], "file": ["$.f"], "lamp": ["$.f", "$.l"]}
        return {shared["alias"]: {"type": "thing", "extract_from": {"path": self.rng.choice(paths[shared["alias"]])}}
                for shared in self.shared}

    def pack(self):
        tools = self.rng.sample(["look", "put", "cut", "pay"], self.rng.randint(1, 3))
        contracts = [{"tool": tool, "side_effect": "read" if tool == "look" else self.rng.choice(EFFECTS)}
                     for tool in tools]
        session = {"risk_defaults": {effect: "allow" for effect in ("write", "admin", "financial", "destructive")}}
        pack = {"session": session, "contracts": contracts}
        if self.shared and self.rng.random() < 0.9:
            session["resources"] = self.resources()
        self.add_limits(session, tools)
        self.add_rules(session, contracts, tools)
        if self.chance(0.1, "labels at creation"):
            pack["labels"] = [self.rng.choice(LABELS)]
        return pack

    def add_limits(self, session, tools):
        limits = {}
        if self.chance(0.12, "max_steps"):
            limits["max_steps"] = self.rng.randint(2, 8)
        if self.chance(0.12, "max_tool_calls"):
            limits["max_tool_calls"] = self.rng.randint(2, 8)
        if self.chance(0.1, "per_tool"):
            limits["max_calls_per_tool"] = {self.rng.choice(tools): self.rng.randint(1, 3)}
        if self.chance(0.1, "cost"):
            limits["max_cost_per_session"] = self.rng.choice([0.3, 0.5])
        if self.chance(0.15, "loop"):
            limits["loop_detection"] = {"window": self.rng.randint(1, 5), "threshold": self.rng.randint(2, 3)}
        if self.chance(0.25, "breaker"):
            limits["circuit_breaker"] = self.rng.choice([
                {"consecutive_blocks": self.rng.randint(2, 3)}, {"consecutive_errors": self.rng.randint(1, 3)}])
        if limits:
            session["session_limits"] = limits

    def add_rules(self, session, contracts, tools):
        if self.chance(0.25, "checkpoint"):
            self.rng.choice(contracts)["checkpoint"] = {
                "when": self.rng.choice(["always", [{"path": "$.n", "gte": 3}]]), "timeout_seconds": 60,
                "on_timeout": self.rng.choice(["allow", "deny"])}
        if self.chance(0.35, "label_gates"):
            session["policy"] = {"label_gates": [
                {"when_label": label, "reason": "tainted", "deny_tools": [self.rng.choice(tools + ["*"])]}
                for label in self.rng.sample(LABELS, self.rng.randint(1, 2))]}
        if self.chance(0.15, "aggregate"):
            session["aggregates"] = [{"name": "sum", "metric": "sum", "tool": "*", "path": "$.n", "lte": 9,
                                      "reason": "bounded"}]
        if self.chance(0.15, "envelope") and len(tools) > 1:
            session["envelopes"] = [{"name": "falls", "constraint": "monotonic_decrease", "reason": "falls", "stages": [
                {"tool": tools[0], "path": "$.n", "role": "initial"},
                {"tool": tools[1], "path": "$.n", "role": "constrained"}]}]
        if self.chance(0.15, "forbids"):
            self.rng.choice(contracts)["forbids_after"] = [self.rng.choice(tools)]
        if self.chance(0.1, "binds"):
            self.rng.choice(contracts)["binds"] = [{"name": "slot", "path": "$.n"}]
        if self.chance(0.08, "commit_none"):
            self.rng.choice(contracts)["commit_requirement"] = "none"
        if self.chance(0.1, "ack_only"):
            for contract in contracts:
                if contract["side_effect"] in ("read", "write"):
                    contract["evidence_class"] = "ack_only"
        if self.chance(0.1, "phases"):
            session["phases"] = [{"name": "a", "initial": True}, {"name": "z", "terminal": True}]
            session["transitions"] = {"a": ["z"]}
            self.rng.choice(contracts)["transitions"] = {"advances_to": "z"}


class EventsMaker:
    """Draws the entries, looking at the model to find out what is open."""

    def __init__(self, rng, scenario, theme):
        self.rng = rng
        self.scenario = scenario
        self.model = WorkflowModel(scenario)
        self.roles = list(scenario["packs"])
        self.names = 0
        self.theme = theme
        self.plenty = rng.randint(2, 7)  # sessions that are enough

    def build(self):
        """The entries, each with what the model observed."""
        events, observations = [], []
        self.play({"create": "s0", "role": self.rng.choice(self.roles[:2]), "of": "s0"}, events, observations)
        wanted, after_end = self.rng.randint(10, ENTRIES_MAX), 0
        for _ in range(wanted * 4):
            if len(events) >= wanted or after_end > 4:
                break
            self.draw(events, observations)
            after_end += not self.model.active()
        return events, observations

    def play(self, entry, events, observations):
        """Whether the specification settles what the entry does; then it is played and kept."""
        entry = plain(entry)
        trial = self.model.copy()
        observed = trial.play(entry)
        if trial.silent():
            return False
        self.model = trial
        events.append(with_expectations(entry, observed))
        observations.append((events[-1], observed))
        return True

    def draw(self, events, observations):
        action = self.choose_action()
        for attempt in range(3):
            entry = getattr(self, "draw_" + action)()
            if entry is None:
                return
            if action in ("call", "step") and attempt < 2 and self.is_dull(entry) and self.rng.random() < 0.8:
                continue
            if self.play(entry, events, observations):
                break
        if action in ("close", "kill"):
            self.look_around(events, observations)

    def is_dull(self, entry):
        """Refused for a reason that needs no workflow."""
        observed = self.model.copy().play(plain(entry))
        verdicts = [observed.get("expect", "")] + [member["expect"] for member in observed.get("members", [])]
        return any(verdict.startswith("block") for verdict in verdicts) and not any(
            name in verdict for verdict in verdicts for name in ("resource", "workflow", "cancel"))

    def look_around(self, events, observations):
        """After an ending, what became of the others."""
        for name in self.model.sessions:
            if self.rng.random() < 0.6 and len(events) < ENTRIES_MAX:
                self.play({"check": True, "in": name}, events, observations)

    def choose_action(self):
        few = len(self.model.active()) < self.plenty
        waiting = any(handoff.state == "offered" for handoff in self.model.handoffs.values())
        asked = 25 if any(session.paused() for session in self.model.sessions.values()) else 1
        if self.model.killed:
            waiting = few = True  # claims that come too late
        weights = {"call": 42, "step": 7, "text": 2, "preflight": 6, "begin": 15, "receipt": 13, "decide": asked,
                   "label": 2, "cost": 4, "offer": 9 if few else 3, "claim": 20 if waiting and few else 2,
                   "end_offer": 1.2, "close": 3, "kill": 3, "check": 2, "create": 0.3}
        more = OFTEN.get(self.theme, {})
        return self.rng.choices(list(weights), [weight * more.get(name, 1) for name, weight in weights.items()])[0]

    # -- who and what --

    def session(self):
        """Mostly one that is active, and often the same as before."""
        active = [session.name for session in self.model.active()]
        if active and self.theme == "ends" and self.rng.random() < 0.5:
            return self.model.sessions[active[-1]]  # so that there is something below what is below
        if active and self.rng.random() < 0.97:
            return self.model.sessions[self.rng.choice(active[:4])]
        return self.model.sessions[self.rng.choice(list(self.model.sessions))]

    def of(self):
        return {"of": self.rng.choice(list(self.model.sessions))}

    def args(self, session):
        args = {"n": self.rng.choice([1, 1, 2, 3, 4]), "d": self.rng.choice(["a", "a", "b", 1, 1.0, "1"]),
                "f": self.rng.choice(["x", "x", "y"]), "l": self.rng.choice([1, 2]),
                "deep": {"d": self.rng.choice(["a", "b"])}}
        for name in list(args):
            if self.rng.random() < 0.1:
                del args[name]
        if self.rng.random() < 0.03:
            args[self.rng.choice(["d", "f"])] = self.rng.choice([None, ["a"], {"a": 1}])
        before = [call.proposed_args for call in session.calls if not call.malformed]
        if before and self.rng.random() < 0.25:
            return copy.deepcopy(self.rng.choice(before))
        return args

    def result(self):
        roll = self.rng.random()
        if roll < 0.6:
            return {"result": "ok", **({"output": {}} if self.rng.random() < 0.95 else {})}
        if roll < 0.82:
            return {"result": "error"}
        return {"result": self.rng.choice(["timeout", "unknown"])}

    def member(self, session):
        self.names += 1
        tool = self.rng.choice(list(session.contracts))
        if self.rng.random() < 0.01:
            tool = "nowhere"
        member = {"call": tool, "args": self.args(session), "as": f"c{self.names}"}
        if self.rng.random() < 0.01:
            member["args"] = [1]
        if self.rng.random() < (0.2 if self.theme == "tokens" else 0.45):
            member.update(self.result())
        return member

    def estimate(self, share):
        return {"estimate": self.rng.choice([0.1, 0.25, 0.5])} if self.rng.random() < share else {}

    # -- entries of one session --

    def draw_call(self):
        session = self.session()
        return {**self.member(session), "in": session.name, **self.estimate(0.15)}

    def draw_step(self):
        session = self.session()
        members = [self.member(session) for _ in range(self.rng.choice([2, 2, 3]))]
        return {"step": members, "in": session.name, **self.estimate(0.15)}

    def draw_text(self):
        return {"text": True, "in": self.session().name}

    def draw_preflight(self):
        return {"preflight": {"request": {}, **self.estimate(0.6)}, "in": self.session().name}

    def some_call(self, states):
        """Mostly one in these states, now and then any other: (session, call)."""
        calls = [(session, call) for session in self.model.sessions.values() for call in session.calls if call.name]
        fitting = [(session, call) for session, call in calls if call.state in states]
        if self.rng.random() < 0.06:
            fitting = calls
        return self.rng.choice(fitting) if fitting else None

    def draw_begin(self):
        found = self.some_call(["pending"])
        if found is None or found[1].malformed:
            return None
        session, call = found
        entry = {"begin": call.name, "in": session.name}
        if self.rng.random() < (0.35 if self.theme == "writers" else 0.12):
            entry["args"] = {**copy.deepcopy(call.args), self.rng.choice(["n", "d", "f"]): self.rng.choice([1, "b", 5])}
        return entry

    def draw_receipt(self):
        found = self.some_call(["executing", "executing", "unknown", "pending"])
        return None if found is None else {"receipt": found[1].name, "in": found[0].name, **self.result()}

    def draw_decide(self):
        waiting = [session for session in self.model.sessions.values() if session.paused()]
        if not waiting:
            return self.late_decision()
        session = self.rng.choice(waiting)
        what = self.rng.choice(["approve", "approve", "deny", "timeout"])
        return {what: True, "in": session.name, **(self.result() if what != "deny" and self.rng.random() < 0.5 else {})}

    def late_decision(self):
        closed = [(session.name, call.name) for session in self.model.sessions.values() for call in session.calls
                  if call.approval and call.name and not call.approval_open]
        if not closed:
            return None
        session, call = self.rng.choice(closed)
        return {self.rng.choice(["approve", "deny", "timeout"]): call, "in": session}

    def draw_label(self):
        session = self.session()
        return None if session.ended() else {"label": self.rng.choice(LABELS + ["other"]), "in": session.name}

    def draw_cost(self):
        session = self.session()
        return None if session.ended() else {"cost": self.rng.choice([0.1, 0.2, 0.25]), "in": session.name}

    def draw_check(self):
        return {"check": True, "in": self.rng.choice(list(self.model.sessions))}

    # -- entries of the workflow --

    def draw_create(self):
        self.names += 1
        return {"create": f"s{self.names}", "role": self.rng.choice(self.roles), **self.of()}

    def draw_offer(self):
        sender = self.session()
        edges = [edge["to"] for edge in self.scenario["workflow"]["handoffs"] if edge["from"] == sender.role]
        role = self.rng.choice(edges if edges and self.rng.random() < 0.9 else self.roles)
        self.names += 1
        entry = {"offer": f"h{self.names}", "from": sender.name, "to": role, **self.of()}
        if self.rng.random() < 0.9:
            entry["artifacts"] = {"plan": self.rng.choice(["do it"] * 6 + [{"steps": 3}, None])}
        if self.rng.random() < 0.4:
            owned = [one["alias"] for one in self.scenario["workflow"].get("shared_resources") or [] if one["mode"] == "single_writer"]
            entry["resources"] = owned if self.rng.random() < 0.9 else [self.rng.choice(["nothing", "thing"])]
        return entry

    def some_handoff(self):
        """Mostly one that is offered, now and then one that is over."""
        offered = [name for name, handoff in self.model.handoffs.items() if handoff.state == "offered"]
        names = offered if offered and self.rng.random() < 0.9 else list(self.model.handoffs)
        return self.rng.choice(names) if names else None

    def draw_claim(self):
        name = self.some_handoff()
        if name is None:
            return None
        self.names += 1
        entry = {"claim": name, "as": f"s{self.names}"}
        trial = self.model.copy()
        # What a refused claim would have made is nobody's.
        return {**entry, "of": entry["as"]} if not trial.claim(name, entry["as"]) else {**entry, **self.of()}

    def draw_end_offer(self):
        name = self.some_handoff()
        return None if name is None else {self.rng.choice(["decline", "cancel", "expire"]): name, **self.of()}

    def is_early(self, target):
        """Whether this would be an end before anything began."""
        return (len(self.model.active()) < 2 or target == "s0") and self.rng.random() < 0.7

    def draw_close(self):
        parents = [session.name for session in self.model.active() if self.model.children(session)]
        waiting = [session.parent for session in self.model.active() if session.paused() and session.parent]
        if waiting and self.rng.random() < 0.5:
            return {"close": self.rng.choice(waiting), "of": self.rng.choice(waiting)}  # a child waits for a person
        name = self.rng.choice(parents) if parents and self.rng.random() < 0.5 else self.session().name
        if self.is_early(name):
            return None
        return {"close": name, "of": name}

    def draw_kill(self):
        scope = self.rng.choices(["session", "subtree", "workflow"], [6, 4, 2])[0]
        entry = {"kill": scope}
        if scope != "workflow":
            parents = [session.name for session in self.model.sessions.values() if self.model.children(session)]
            entry["target"] = self.rng.choice(parents if parents and self.rng.random() < 0.5 else [self.session().name])
        if self.is_early(entry.get("target", "s0")):
            return None
        if self.rng.random() < 0.5:
            entry["by"] = self.rng.choice([session.name for session in self.model.active()] + ["operator"])
        return {**entry, "of": entry.get("target", self.of()["of"])}


def draw(seed):
    """(scenario, names of its features, [(entry, observed)])."""
    rng = random.Random(f"baton-workflow-{seed}")
    maker = WorkflowMaker(rng)
    pack = maker.build()
    events, observations = EventsMaker(rng, pack, maker.theme).build()
    return {"scenario": f"w{seed}", **pack, "events": events}, maker.features, observations


def annotate(scenario):
    """The scenario with all expectations worked out anew, after something was taken out of it."""
    model = WorkflowModel(scenario)
    events = []
    for entry in scenario["events"]:
        bare = without_expectations(entry)
        events.append(with_expectations(bare, model.play(bare)))
    return {**scenario, "events": events}


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(json.dumps(draw(int(argument))[0]))
