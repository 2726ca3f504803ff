#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workflows whose nodes are killed: two real nodes on one PostgreSQL, sixteen sessions, the same few things.

    with_postgres.py python3 soak_workflow_nodes.py BATON [--seconds S] [--seed N] [--mode MODE]...

For S seconds in each mode of shared resources (BATON_SOAK_SECONDS, else 2) sixteen agents offer, claim, propose, begin, settle and end,
each request by whichever of the two nodes it happens to ask. Meanwhile sessions and subtrees are killed, and nodes with SIGKILL: mostly
one, sometimes both. Who loses the connection asks again with the same Idempotency-Key, the other node first. The time is spent in rounds,
a workflow each: one whose budgets are ample, one that runs out of steps, one that runs out of money, and again.

Then everything is settled, and the ledger is read by an account of its own (workflow_account.py): no two owners at any entry, nothing
spent that was not there, whatever was acknowledged is recorded, and nothing was done twice. Whoever comes at the end gets every one of the
things; and `baton ledger verify --rebuild` holds.

Prints the seed; the same one draws the same things, but not the same orders. Python 3 and its standard library, nothing else.
"""

import argparse
import collections
import itertools
import json
import os
import random
import socket
import sys
import threading
import time
import traceback
from decimal import Decimal

from node_harness import Workspace
from workflow_account import MODES, Account, Acknowledged, Terms, selftest

CONFLICT = {"single_writer": "resource_not_owner", "exclusive_pending": "resource_pending_elsewhere", "serial_only": "resource_busy"}
KINDS = ("ample", "steps", "cost")  # of rounds: what runs out
AGENTS = 16
ANSWER_SECONDS_MAX = 60   # both nodes may be gone for a while; not for longer
RUN_OUT_SECONDS_MAX = 30  # in a round where something is to run out, and is not much
SECONDS_FOR_ALL = 10      # rounds of all kinds in each mode
RESOLVED_BY_COMMAND = 5   # a round; the others over HTTP, which is sooner done

# Every tool names what it works on by `k`; some by a second resource, `also`, too: then two things are taken in order.
VALUES = (0, 1, 2)
TOOL = """tool: {name}
side_effect: {effect}
evidence_class: local_transaction
commit_requirement: acknowledged
timeouts: {{total_ms: 10000}}
retries: {{max_attempts: 1, retry_on: []}}
rate_limits: {{on_429: {{respect_retry_after: true, max_sleep_seconds: 30}}}}
assertions: {{input_invariants: [], output_invariants: []}}
allowed_errors: []
golden_cases: []
"""
SESSION = """schema_version: "1.0"
agent: {name}
risk_defaults: {{read: allow, write: allow}}
"""
RESOURCES = "resources: {thing: {type: t, extract_from: {path: $.k}}, other: {type: o, extract_from: {path: $.also}}}\n"
WORKFLOW = """schema_version: "1.0"
workflow: {name}
roles:
  - {{name: boss, session_contract: packs/boss/session.yaml}}
  - {{name: hand, session_contract: packs/hand/session.yaml}}
handoffs:
  - {{from: boss, to: hand, parent_close_policy: abandon}}
  - {{from: hand, to: hand, parent_close_policy: terminate}}
shared_resources:
  - {{alias: thing, mode: {mode}}}
  - {{alias: other, mode: {mode}}}
workflow_limits: {limits}
cancellation: {{subtree_kill: true, workflow_kill: operator_only}}
"""


def read_json(text):
    return json.loads(text, parse_float=Decimal)


def need(condition, text):
    if not condition:
        raise AssertionError(text)


# --- two nodes, and clients of either -------------------------------------------------------------------------------------------------


class Lost(Exception):
    """The connection was gone before there was an answer: nobody knows whether it was done."""


class Connection:
    """HTTP/1.1 to one node, kept alive."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.address = address
        try:
            self.socket = socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS_MAX)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.file = self.socket.makefile("rb")
        except OSError as problem:
            raise Lost(str(problem)) from None

    def send(self, method, path, headers, body):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.address}", f"Content-Length: {len(body)}", "Content-Type: application/json"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        try:
            self.socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        except OSError as problem:
            raise Lost(str(problem)) from None

    def answer(self):
        try:
            status = self.file.readline()
            if not status.endswith(b"\n"):
                raise Lost("no answer")
            told = {}
            while (line := self.file.readline()) not in (b"\r\n", b""):
                name, _, value = line.decode().partition(":")
                told[name.lower()] = value.strip()
            size = int(told["content-length"])
            text = self.file.read(size)
            if len(text) != size:
                raise Lost("half an answer")
            return int(status.split()[1]), told, text
        except (OSError, KeyError) as problem:
            raise Lost(str(problem)) from None

    def close(self):
        self.file.close()
        self.socket.close()


class Nodes:
    """The two nodes: where they are, killed, started again."""

    def __init__(self, workspace):
        self.workspace, self.running, self.kills = workspace, {}, collections.Counter()
        for name in ("a", "b"):
            self.start(name)

    def start(self, name):
        self.running[name] = self.workspace.serve(name)

    def kill(self, *names):
        for name in names:
            self.running[name].process.kill()
        for name in names:
            self.running.pop(name).process.wait(30)
        self.kills["both" if len(names) == 2 else "one"] += 1

    def start_all(self):
        for name in {"a", "b"} - self.running.keys():
            self.start(name)

    def address(self, name):
        node = self.running.get(name)
        return node.address if node else None


class Client:
    """Asks either node, and again until there is an answer."""

    keys = itertools.count()

    def __init__(self, nodes, token, chance, counts, acknowledged):
        self.nodes, self.token, self.chance, self.counts, self.acknowledged = nodes, token, chance, counts, acknowledged
        self.connections = {}

    def send(self, name, method, path, headers, body):
        address, known = self.nodes.address(name), self.connections.get(name)
        if address is None:
            raise Lost("it is gone")
        if known is None or known.address != address:
            self.drop(name)
            known = self.connections[name] = Connection(address)
        known.send(method, path, headers, body)
        return known

    def drop(self, name):
        if self.connections.get(name) is not None:
            self.connections.pop(name).close()

    def ask(self, method, path, body=None, session=None):
        """(status, answer)"""
        headers = {"Authorization": "Bearer " + self.token}
        if session is not None:
            headers["Baton-Session"] = session["token"]
        if method == "POST":
            headers["Idempotency-Key"] = f"soak-{next(self.keys)}"
        text = json.dumps(body, default=str).encode() if body is not None else b""
        name, until = self.chance.choice("ab"), time.monotonic() + ANSWER_SECONDS_MAX
        # Now and then it does not wait for the answer, and asks the other node while the first may be at it; or asks again when it knows.
        hangs_up, asks_twice = self.chance.random() < 0.02, method == "POST" and self.chance.random() < 0.02
        while time.monotonic() < until:
            try:
                sent = self.send(name, method, path, headers, text)
                if hangs_up:
                    hangs_up = False
                    self.counts["hung up"] += 1
                    self.drop(name)
                else:
                    status, told, body = sent.answer()
                    answer = read_json(body)
                    self.counts["replayed"] += told.get("idempotency-replayed") == "true"
                    if status not in (429, 503):
                        break
                    self.counts["not now"] += 1
            except Lost:
                self.counts["lost"] += 1
                self.drop(name)
            name = "b" if name == "a" else "a"
            time.sleep(self.chance.uniform(0, 0.02))
        else:
            raise AssertionError(f"{method} {path}: nobody answered for {ANSWER_SECONDS_MAX} s")
        need(status < 500, f"{method} {path}: {status} {answer}")
        self.counts["asked"] += 1
        if method == "POST":
            self.acknowledged.answer(headers["Idempotency-Key"], status, answer)
        # That it is busy is no answer for good where it would have waited.
        if asks_twice and "receipt" in answer and not ("wait_seconds" in path and answer["verdict"] == "block"):
            self.ask_again(name, path, headers, text, answer)
        return status, answer

    def ask_again(self, name, path, headers, text, first):
        try:
            status, told, body = self.send("b" if name == "a" else "a", "POST", path, headers, text).answer()
        except Lost:
            return self.close()
        if status not in (429, 503):
            need(told.get("idempotency-replayed") == "true" and read_json(body) == first,
                 f"{path} was answered with {first}, and the second time with {status} {body!r}")
            self.counts["asked twice"] += 1

    def close(self):
        for name in list(self.connections):
            self.drop(name)


# --- a round --------------------------------------------------------------------------------------------------------------------------


class Round:
    """One workflow, from its start to its end."""

    def __init__(self, soak, mode, kind, seconds):
        self.soak, self.mode, self.kind, self.chance = soak, mode, kind, random.Random(soak.chance.random())
        self.operator = soak.client(soak.operator, self.chance)
        few = seconds < 3
        self.limits = {
            "max_total_steps": self.chance.randint(10, 20) if few else self.chance.randint(40, 150),
            "max_total_cost": self.chance.randint(2, 4) if few else self.chance.randint(10, 30),
            "max_sessions": 100000,
            "max_active_sessions": self.chance.choice((AGENTS + 1, AGENTS + 1, AGENTS - 4)),
            "max_open_handoffs": 40,
        }
        for limit, wanted in (("max_total_steps", "steps"), ("max_total_cost", "cost")):
            if kind != wanted:
                self.limits[limit] = 1000000
        self.name = f"soak-{soak.rounds}"
        self.until = time.monotonic() + (seconds if kind == "ample" else max(seconds, RUN_OUT_SECONDS_MAX))
        self.refusals_max = AGENTS if few else 3 * AGENTS  # for want of steps or money; then it has run out
        self.lock, self.live, self.offers, self.unknown, self.over_budget = threading.Lock(), {}, collections.deque(), [], 0
        self.counts = soak.counts[mode]

    def begin(self):
        tool = {name: {"name": name + ".yaml", "text": TOOL.format(name=name, effect=effect)}
                for name, effect in (("look", "read"), ("edit", "write"))}
        packs = {"boss": {"session": {"name": "session.yaml", "text": SESSION.format(name="boss")}, "contracts": [tool["look"]]},
                 "hand": {"session": {"name": "session.yaml", "text": SESSION.format(name="hand") + RESOURCES},
                          "contracts": [tool["edit"], tool["look"]]}}
        text = WORKFLOW.format(name=self.name, mode=self.mode, limits=json.dumps(self.limits))
        whole = {"workflow": {"name": "workflow.yaml", "text": text}, "packs": packs}
        status, answer = self.operator.ask("POST", "/v1/packs", {"workflow": whole})
        need(status == 201, f"the workflow is activated: {status} {answer}")
        status, answer = self.operator.ask("POST", "/v1/workflows", {"workflow": self.name})
        need(status == 201, f"the workflow starts: {status} {answer}")
        self.root, self.id = answer["session"], answer["workflow"]["id"]
        self.soak.terms[self.id] = Terms(self.mode, self.limits)

    def is_over(self):
        return time.monotonic() > self.until or self.over_budget >= self.refusals_max or bool(self.soak.failures)

    def run(self):
        self.begin()
        threads = [threading.Thread(target=self.soak.guarded, args=(Agent(self, number).work,)) for number in range(AGENTS)]
        threads.append(threading.Thread(target=self.soak.guarded, args=(self.kill_sessions,)))
        threads.append(threading.Thread(target=self.soak.guarded, args=(self.kill_nodes,)))
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.soak.nodes.start_all()
        if not self.soak.failures:
            self.settle_everything()
            self.take_everything()
        self.operator.close()

    # What befalls them.

    def kill_nodes(self):
        chance, nodes, (least, most) = random.Random(self.chance.random()), self.soak.nodes, self.soak.pace
        while not self.is_over():
            time.sleep(chance.uniform(least, most))
            names = chance.choice(("a", "b", "ab", "a", "b"))
            nodes.kill(*names)
            if chance.random() < 0.5:
                time.sleep(chance.uniform(0, least))
            for name in names:
                nodes.start(name)

    def kill_sessions(self):
        """Of anybody, with or without what is below; and finds out after a while what became of calls nobody knows about."""
        chance = random.Random(self.chance.random())
        client = self.soak.client(self.soak.operator, chance)
        while not self.is_over():
            time.sleep(chance.uniform(0.02, 0.1))
            with self.lock:
                live, due = list(self.live), [one for one in self.unknown if one[0] < time.monotonic()]
                self.unknown = [one for one in self.unknown if one not in due]
            if live and chance.random() < 0.5:
                self.kill(client, chance.choice(live), chance.choice(("session", "subtree")))
            for _, session, call in due:
                self.resolve(client, session, call, chance.random() < 0.5)
        client.close()

    def kill(self, client, session, scope, by=None):
        status, answer = client.ask("POST", f"/v1/workflows/{self.id}/kill", {"scope": scope, "session_id": session}, session=by)
        need(status == 200, f"{session} is killed with {scope}: {status} {answer}")
        self.soak.acknowledged.end(answer["killed"])
        self.counts["killed"] += len(answer["killed"])

    def resolve(self, client, session, call, worked):
        body = {"call_id": call, "result": "ok", "output": {}} if worked else {"call_id": call, "result": "error"}
        status, answer = client.ask("POST", f"/v1/sessions/{session}/resolve", body)
        if status == 200:
            self.soak.acknowledged.receipt(answer, "session.call_settled", session_id=session, call_id=call, state=answer["state"])
            self.counts["resolved"] += 1
        else:  # it may be settled already, by the session itself
            need(answer.get("code") == "call_not_open", f"{call} of {session} is resolved: {status} {answer}")

    # When all is quiet.

    def shown(self):
        status, answer = self.operator.ask("GET", f"/v1/workflows/{self.id}")
        need(status == 200, f"the workflow is shown: {status} {answer}")
        return answer["workflow"]

    def settle_everything(self):
        self.offers.clear()
        for handoff in self.shown()["handoffs"]:
            if handoff["stage"] == "offered":
                status, answer = self.operator.ask("POST", f"/v1/handoffs/{handoff['id']}/cancel", {})
                need(status == 200, f"an offer is taken back: {status} {answer}")
        for member in self.shown()["members"]:
            if member["standing"] == "open" and member["id"] != self.root["id"]:
                self.kill(self.operator, member["id"], "session")
        left = [(member["id"], call) for member in self.shown()["members"] for call in member["open_calls"]]
        for number, (session, call) in enumerate(left):
            worked = self.chance.random() < 0.5
            if number < RESOLVED_BY_COMMAND:
                self.soak.resolve_by_command(session, call["call_id"], worked)
            else:
                self.resolve(self.operator, session, call["call_id"], worked)
        shown = self.shown()
        need(not shown["resources"], f"nothing is held by anybody: {shown['resources']}")
        need(not any(member["open_calls"] for member in shown["members"]), "no call is open")
        need((shown["active"], shown["open_handoffs"], shown["reserved"]) == (1, 0, 0),
             f"only the first session is left: {[shown[name] for name in ('active', 'open_handoffs', 'reserved')]}")

    def take_everything(self):
        """Whoever comes now gets every one of them, or is told that the budget is spent and nothing else; twice, one after the other."""
        for number in range(2):
            shown = self.shown()
            calls = [{"k": one} for one in VALUES] + [{"also": one} for one in VALUES] + [{"k": one, "also": one} for one in VALUES]
            left = min(self.limits["max_total_steps"] - shown["steps"], self.limits["max_total_cost"] - shown["cost"])
            agent = Agent(self, AGENTS + number)
            session = agent.join(refused=lambda what: need(False, f"a fresh session begins: {what}"))
            for arguments in calls:
                status, answer = agent.propose(session, f"fresh-{number}-{json.dumps(arguments)}", "edit", arguments, Decimal(0))
                told = answer["calls"][0]
                codes = [one["code"] for one in told["failures"]]
                need(told["verdict"] == "allow" if left > 0 else codes == ["workflow_limit_exceeded"],
                     f"a fresh session calls on {arguments} with {left} left: {told}")
                if told["verdict"] != "allow":
                    break
                left -= self.limits["max_total_steps"] < 1000000
                need(agent.begin(session, told["call_id"]) == "begun", f"a fresh session begins on {arguments}: {agent.last}")
                agent.settle(session, told["call_id"], "ok")
            agent.end(session, "close")
            agent.client.close()
        shown = self.shown()
        self.soak.shown[self.id] = (shown["steps"], shown["cost"], shown["sessions"])
        need(not shown["resources"], f"and gives it back: {shown['resources']}")
        if self.over_budget > 0:
            self.counts[self.kind + " ran out"] += 1
        status, answer = self.operator.ask("POST", f"/v1/workflows/{self.id}/kill", {"scope": "workflow"})
        need(status == 200, f"the workflow is killed: {status} {answer}")
        self.soak.acknowledged.end(answer["killed"])


class Agent:
    """Begins a session, uses it and ends it, again and again."""

    def __init__(self, round, number):
        self.round, self.soak, self.number = round, round.soak, number
        self.chance = random.Random(round.chance.random())
        self.client = self.soak.client(self.soak.agents[number % AGENTS], self.chance)
        self.counts, self.calls, self.last = round.counts, 0, None

    def work(self):
        while not self.round.is_over():
            session = self.join()
            if session is None:
                time.sleep(0.01)
                continue
            with self.round.lock:
                self.round.live[session["id"]] = self
            begun = self.use(session)
            with self.round.lock:
                self.round.live.pop(session["id"], None)
            self.leave(session, begun)
        self.client.close()

    def offer(self, session):
        status, answer = self.client.ask("POST", f"/v1/sessions/{session['id']}/offers", {"to": "hand", "artifacts": {"task": "write"}},
                                         session=session)
        if status != 201:
            return None  # too many, or it was killed meanwhile
        self.soak.acknowledged.receipt(answer, "workflow.offered", handoff_id=answer["handoff"]["id"])
        return answer["handoff"]["id"]

    def join(self, refused=lambda what: None):
        try:
            handoff = self.round.offers.popleft() if self.chance.random() < 0.5 else self.offer(self.round.root)
        except IndexError:
            handoff = self.offer(self.round.root)
        if handoff is None:
            return refused("nothing could be offered")
        status, answer = self.client.ask("POST", f"/v1/handoffs/{handoff}/claim", {})
        if status != 201:
            refused(answer)
            need(answer.get("code") in ("handoff_not_open", "workflow_limit_exceeded"), f"a claim: {status} {answer}")
            if answer["code"] == "workflow_limit_exceeded":
                self.client.ask("POST", f"/v1/handoffs/{handoff}/decline", {})
            return None
        self.soak.acknowledged.receipt(answer, "session.opened", handoff_id=handoff, session_id=answer["session"]["id"])
        return answer["session"]

    def propose(self, session, call, tool, arguments, estimate, start=False):
        body = {"calls": [{"call_id": call, "tool": tool, "arguments": arguments}], "estimate": float(estimate)}
        if start:
            body["start"] = True
        status, answer = self.client.ask("POST", f"/v1/sessions/{session['id']}/calls", body, session=session)
        if status == 200 and not start:
            self.soak.acknowledged.receipt(answer, "session.step", session_id=session["id"],
                                           calls=[[one["call_id"], one["verdict"]] for one in answer["calls"]])
        return status, answer

    def begin(self, session, call):
        """"begun", "busy" (it has its place still), or "refused"."""
        for _ in range(60):
            wait = self.chance.choice(("", "", "?wait_seconds=1"))
            status, answer = self.client.ask("POST", f"/v1/sessions/{session['id']}/start{wait}", {"call_id": call}, session=session)
            self.last = (status, answer)
            if status != 200:
                return "refused"
            if "receipt" in answer:
                self.soak.acknowledged.receipt(answer, "session.call_started", session_id=session["id"], call_id=call,
                                               verdict=answer["verdict"])
            if answer["verdict"] == "allow":
                self.counts["begun"] += 1
                return "begun"
            self.counts[answer["reason"]] += 1
            if answer["reason"] != "resource_busy":
                return "refused"
            if self.round.is_over():
                break
            time.sleep(0.003)
        return "busy"

    def settle(self, session, call, result):
        body = {"call_id": call, "result": result, **({"output": {}} if result == "ok" else {})}
        status, answer = self.client.ask("POST", f"/v1/sessions/{session['id']}/settle", body, session=session)
        if status == 200:
            self.soak.acknowledged.receipt(answer, "session.call_settled", session_id=session["id"], call_id=call, state=answer["state"])
            self.counts["settled"] += 1
            return answer["state"]
        return None

    def use(self, session):
        """Which calls were begun and are, for all it knows, not over."""
        chance, left = self.chance, []
        for _ in range(chance.randint(3, 9)):
            if self.round.is_over():
                break
            if chance.random() < 0.15:
                offered = self.offer(session)
                if offered is not None:  # sometimes two come for it
                    self.round.offers.extend([offered] * chance.choice((1, 1, 2)))
            arguments = {"k": chance.choice(VALUES), "n": self.calls}
            if chance.random() < 0.2:
                arguments["also"] = chance.choice(VALUES)
            estimate = Decimal(chance.randint(0, 4)) / 4
            self.calls += 1
            call = f"{self.round.name}-{self.number}-{self.calls}"
            tool = "look" if chance.random() < 0.2 else "edit"
            status, answer = self.propose(session, call, tool, arguments, estimate, start=chance.random() < 0.2)
            if status != 200:
                break  # it was killed
            told = answer["calls"][0]
            if told["verdict"] != "allow":
                self.blocked(told)
                if told["reason"] in ("session_killed", "session_closed"):
                    break
                time.sleep(chance.uniform(0, 0.01))
                continue
            self.counts["allowed"] += 1
            if self.begin(session, call) != "begun":
                left.append(call)  # others wait behind it: it goes
                break
            if estimate and chance.random() < 0.9:
                self.pay(session, Decimal(chance.randint(0, int(estimate * 4))) / 4)
            if chance.random() < 0.1:
                left.append(call)
                if chance.random() < 0.5:
                    break
                continue
            if self.settle(session, call, chance.choice(("ok", "ok", "ok", "error", "unknown", "timeout"))) in (None, "unknown"):
                left.append(call)
        return left

    def blocked(self, told):
        codes = {one["code"] for one in told["failures"]}
        self.counts.update(codes)
        if "workflow_limit_exceeded" in codes:
            with self.round.lock:
                self.round.over_budget += 1

    def pay(self, session, cost):
        status, answer = self.client.ask("POST", f"/v1/sessions/{session['id']}/cost", {"cost": str(cost)}, session=session)
        need(status == 200, f"what was spent is told: {status} {answer}")
        self.soak.acknowledged.receipt(answer, "session.cost", session_id=session["id"])

    def leave(self, session, begun):
        how = self.chance.choice(("close", "close", "session", "subtree"))
        self.end(session, how)
        for call in begun:
            if how == "close":  # what goes on may be settled by it still
                if self.settle(session, call, self.chance.choice(("ok", "error"))) is not None:
                    continue
            with self.round.lock:
                self.round.unknown.append((time.monotonic() + self.chance.uniform(0, 0.2), session["id"], call))

    def end(self, session, how):
        if how == "close":
            status, answer = self.client.ask("POST", f"/v1/sessions/{session['id']}/close", {}, session=session)
            if status == 200:
                self.soak.acknowledged.end([session["id"]])
        else:
            self.round.kill(self.client, session["id"], how, by=session)


# --- all of it ------------------------------------------------------------------------------------------------------------------------


class Soak:
    def __init__(self, workspace, seconds, seed, modes):
        self.workspace, self.seconds, self.modes, self.chance = workspace, seconds, modes, random.Random(seed)
        self.pace = (0.2, 0.5) if seconds < SECONDS_FOR_ALL else (0.6, 1.4)  # between kills of nodes
        self.counts = {mode: collections.Counter() for mode in modes}
        self.acknowledged, self.terms, self.shown, self.failures, self.rounds = Acknowledged(), {}, {}, [], 0

    def client(self, token, chance):
        return Client(self.nodes, token, random.Random(chance.random()), self.counts[self.mode], self.acknowledged)

    def guarded(self, act):
        try:
            act()
        except Exception:  # a thread's; the run ends, and says why
            self.failures.append(traceback.format_exc())

    def resolve_by_command(self, session, call, worked):
        output = os.path.join(self.workspace.folder, "output.json")
        with open(output, "w") as file:
            file.write("{}")
        result = ["--result", "ok", "--output", output] if worked else ["--result", "error"]
        node = self.chance.choice(sorted(self.nodes.running))
        answer = read_json(self.workspace.run("session", "resolve", session, call, *result, "--format", "json", BATON_TOKEN=self.operator,
                                              BATON_NODE="unix:" + self.nodes.running[node].socket_path))
        need(answer["state"] == ("committed" if worked else "failed"), f"{call} of {session} is resolved: {answer}")
        self.acknowledged.receipt(answer, "session.call_settled", session_id=session, call_id=call, state=answer["state"])

    def run(self):
        self.operator = self.workspace.init()
        self.nodes = Nodes(self.workspace)
        first = self.nodes.running["a"]
        self.agents = [first.request("POST", "/v1/tokens", {"actor": f"agent-{number}", "kind": "agent"}, token=self.operator).json["token"]
                       for number in range(AGENTS)]
        for self.mode in self.modes:
            until = time.monotonic() + self.seconds
            # When there is little time, one round in which nothing runs out, and one in which either does.
            kinds = KINDS if self.seconds >= SECONDS_FOR_ALL else ("ample", KINDS[1 + self.rounds // 2 % 2])
            for number in itertools.count():
                if number >= len(kinds) and time.monotonic() > until - 1 or self.failures:
                    break
                self.rounds += 1
                Round(self, self.mode, kinds[number % len(kinds)], self.seconds / len(kinds)).run()
            if self.failures:
                raise AssertionError("\n".join(self.failures[:3]))
            counted = [f"{count} {name}" for name, count in sorted(self.counts[self.mode].items()) if count]
            print(f"{self.mode}: {', '.join(counted)}", flush=True)
        for name, node in self.nodes.running.items():
            need(node.stop() == 0, f"node {name} ends when it is asked to")
        self.workspace.verify()
        self.check_ledger()
        self.check_that_it_was_something()

    def check_ledger(self):
        entries = []
        for line in self.workspace.run("ledger", "export", timeout=600).splitlines():
            one = read_json(line)
            if "entry" in one:
                entries.append((one["entry"]["sequence"], one["hash"], one["entry"]["type"], one["entry"]["payload"]))
        account = Account(self.terms)
        for sequence, _, kind, payload in entries:
            account.take(sequence, kind, payload)
        problems = account.problems + self.acknowledged.check(entries)
        for workflow, (steps, cost, sessions) in self.shown.items():
            flow = account.flows[workflow]
            if (flow.steps, flow.cost, flow.ever) != (steps, cost, sessions):
                problems.append(f"{workflow}: {flow.steps} steps, {flow.cost} spent and {flow.ever} sessions by its entries, and shown are "
                                f"{steps}, {cost} and {sessions}")
        need(not problems, f"{len(problems)} things are wrong:\n" + "\n".join(problems[:20]))
        print(f"{len(entries)} entries of {len(self.terms)} workflows: {account.counts['session.opened']} sessions, "
              f"{account.counts['session.step']} steps, {account.counts['session.call_settled']} settled, "
              f"{len(self.acknowledged.told)} acknowledged; {account.counts['late']} costs told after a kill")

    def check_that_it_was_something(self):
        """A run in which nothing happened shows nothing. How much happens in a second is the machine's: a short run says so and no more."""
        is_long = self.seconds >= 30

        def need(fact, message):
            if not fact and is_long:
                raise AssertionError(message)
            if not fact:
                print("note: " + message)

        for mode, counts in self.counts.items():
            for name in ("begun", "settled", "killed", CONFLICT[mode]):
                need(counts[name] > 0, f"{mode}: nothing was {name}")
        for name in ("steps ran out", "cost ran out"):
            need(len(self.modes) < len(MODES) or any(counts[name] for counts in self.counts.values()), f"no {name}")
        need(self.nodes.kills["one"] + self.nodes.kills["both"] >= len(self.modes), f"nodes were killed: {self.nodes.kills}")
        lost = sum(counts["lost"] for counts in self.counts.values())
        need(lost > 0, "nobody noticed that nodes were killed")
        kills, replayed = self.nodes.kills, sum(counts["replayed"] for counts in self.counts.values())
        print(f"nodes killed: {kills['one']} times one, {kills['both']} times both; {lost} requests lost and sent again; {replayed} of "
              f"those sent again had been done")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("baton")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("BATON_SOAK_SECONDS", "2")))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--mode", choices=MODES, action="append")
    arguments = parser.parse_args()
    if not selftest():
        return 1
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1, 1 << 31)
    print(f"seed {seed}, {arguments.seconds:g} s in each mode", flush=True)
    with Workspace(arguments.baton, store=os.environ["BATON_TEST_POSTGRES"]) as workspace:
        try:
            Soak(workspace, arguments.seconds, seed, arguments.mode or MODES).run()
        except AssertionError as problem:
            print(f"FAILED (seed {seed}): {problem}", file=sys.stderr)
            return 1
    print("nothing was lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
