#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A session that lost its item (taken over, expired, killed, given back, handed over) tells late what became of a call, over HTTP.

    late_settle_test.py PATH/TO/baton [STORY...]

It is evidence on that session, and changes nothing else: not the item, not the session that holds it now, not its lease, nor any
other stream of the ledger.
"""

import json
import sys
import time
from pathlib import Path

from node_harness import Workspace
from stories import CONTRACT, eventually, need, tell

SESSION = {"schema_version": "1.0", "agent": "scripted", "session_limits": {"circuit_breaker": {"consecutive_errors": 1}}}
# What the former holder may say: that it went well, that it failed, that nobody knows, that something else was done.
RECEIPTS = ({"result": "ok", "output": {"id": 1}}, {"result": "error", "error": "declined"}, {"result": "unknown"},
            {"result": "unknown", "input_changed": True}, {"result": "timeout"})


class Place(Workspace):
    def __init__(self, baton, config=""):
        super().__init__(baton, config="exit_protocol: true\n" + config)
        self.token = self.init()
        self.node = self.serve()
        pack = Path(self.folder) / "pack"
        pack.mkdir()
        (pack / "session.yaml").write_text(json.dumps(SESSION))
        (pack / "look.yaml").write_text(json.dumps({"tool": "look", **CONTRACT}))
        (pack / "put.yaml").write_text(json.dumps({"tool": "put", **CONTRACT, "side_effect": "write", "gate": "allow"}))
        self.run("contract", "activate", str(pack), "--role", "agent", "--node", "unix:" + self.node.socket_path)
        self.tokens = {name: self.ask("POST", "/v1/tokens", {"actor": name, "kind": "agent"})["token"] for name in ("alice", "bob")}

    def ask(self, method, path, body=None, token=None, session=None, status=None):
        answer = self.node.request(method, path, body, token=token or self.token, session=session)
        need(answer.status == status if status else answer.status < 300, f"{method} {path}: {answer}")
        return answer.json

    def claim(self, name, ttl=300, session=None):
        """A leased session that is held to the pack."""
        claimed = self.ask("POST", "/v1/work/W-1/claim", {"ttl_seconds": ttl}, token=self.tokens[name], session=session)["session"]
        held = {"id": claimed["id"], "session": claimed["token"], "token": self.tokens[name]}
        self.ask("POST", "/v1/sessions", {"session_id": held["id"]}, token=held["token"], session=held["session"])
        return held

    def of(self, held, method, path, body=None, **more):
        return self.ask(method, f"/v1/sessions/{held['id']}{path}", body, token=held["token"], session=held["session"], **more)

    def begin_calls(self, held):
        for number in range(len(RECEIPTS)):
            calls = [{"tool": "put", "arguments": {"n": number}, "call_id": f"c{number}"}]
            step = self.of(held, "POST", "/calls", {"start": True, "calls": calls})
            need(step["calls"][0]["verdict"] == "allow" and step["calls"][0]["started"], step)

    def entries(self):
        said = self.run("ledger", "show", "--format", "json", "--limit", "10000", status=None)
        return [json.loads(line)["entry"] for line in said.stdout.splitlines() if line.strip()]

    def everything_else(self, held):
        """All that others see."""
        sessions = sorted({one["payload"]["session_id"] for one in self.entries() if one["type"] == "session.opened"} - {held["id"]})
        return {"work": self.ask("GET", "/v1/work/W-1"), "approvals": self.ask("GET", "/v1/approvals"),
                "sessions": [self.ask("GET", "/v1/sessions/" + one) for one in sessions]}

    def settle_late(self, held, settled=True):
        before, known = self.everything_else(held), len(self.entries())
        own = self.of(held, "GET", "")["session"]
        for number, receipt in enumerate(RECEIPTS):
            answer = self.node.request("POST", f"/v1/sessions/{held['id']}/settle", {"call_id": f"c{number}", **receipt},
                                       token=held["token"], session=held["session"])
            need(answer.status == 200 if settled else answer.status < 500, answer)
        time.sleep(0.2)
        after, new = self.everything_else(held), self.entries()[known:]
        need(after == before, f"changed:\n{before}\n{after}")
        need(all(one["stream"] == "session/" + held["id"] and one["type"] == "session.call_settled" for one in new), new)
        need(len(new) == len(RECEIPTS) if settled else True, new)
        # It is as over as before: no lease, no other standing.
        now = self.of(held, "GET", "")["session"]
        for name in ("state", "ended_because", "lease_id", "expires_at", "ended_at"):
            need(own.get(name) == now.get(name), (name, own, now))
        need(own["governed"]["standing"] == now["governed"]["standing"], (own, now))
        # And nothing new begins in it.
        calls = [{"tool": "look", "arguments": {}, "call_id": "late"}]
        step = self.node.request("POST", f"/v1/sessions/{held['id']}/calls", {"start": True, "calls": calls}, token=held["token"], session=held["session"])
        need(step.status >= 400 or step.json["calls"][0]["verdict"] == "block", step)


def begun(place):
    place.ask("POST", "/v1/work", {"title": "tide tables", "phase": "IMPLEMENTATION", "id": "W-1"})
    held = place.claim("alice")
    place.begin_calls(held)
    return held


def taken_over(place):
    former = begun(place)
    holder = place.claim("alice")
    need(holder["id"] != former["id"], "another session")
    place.begin_calls(holder)
    place.settle_late(former)
    place.of(holder, "POST", "/renew", {})


def expired(place):
    place.ask("POST", "/v1/work", {"title": "tide tables", "phase": "IMPLEMENTATION", "id": "W-1"})
    former = place.claim("alice", ttl=2)
    place.begin_calls(former)
    eventually("its lease is over", lambda: place.ask("GET", "/v1/work/W-1")["work"]["state"] == "waiting")
    place.claim("bob")
    place.settle_late(former)


def expired_and_nobody_came(place):
    place.ask("POST", "/v1/work", {"title": "tide tables", "phase": "IMPLEMENTATION", "id": "W-1"})
    former = place.claim("alice", ttl=2)
    place.begin_calls(former)
    eventually("its lease is over", lambda: place.ask("GET", "/v1/work/W-1")["work"]["state"] == "waiting")
    place.settle_late(former)
    need(place.ask("GET", "/v1/work/W-1")["work"]["state"] == "waiting", "nobody holds it")


def killed(place):
    former = begun(place)
    place.ask("POST", f"/v1/sessions/{former['id']}/kill", {"reason": "enough"})
    place.settle_late(former)


def given_back(place):
    former = begun(place)
    place.of(former, "POST", "/release", {"reason": "later"})
    place.claim("bob")
    place.settle_late(former)


def abandoned(place):
    former = begun(place)
    place.of(former, "POST", "/end", {"how": "abandoned"})
    place.claim("bob")
    place.settle_late(former)


def handed_over(place):
    """With calls under way only a handoff that says so is taken; what becomes of them is told later."""
    former = begun(place)
    signal = {"protocol": "apm2_agent_exit", "version": "1.0.0", "phase_completed": "IMPLEMENTATION", "exit_reason": "blocked", "notes": "it hangs"}
    place.of(former, "POST", "/handoff", signal)
    place.ask("POST", "/v1/work/W-1/unblock", {})
    place.claim("bob")
    place.settle_late(former)


def aborted(place):
    former = begun(place)
    place.ask("POST", "/v1/work/W-1/abort", {"reason": "not any more"})
    place.settle_late(former)


FAST = {"config": "fast_lane: {reads: true}\n"}
STORIES = {one.__name__: (one, {}) for one in (taken_over, expired, expired_and_nobody_came, killed, given_back, abandoned, handed_over, aborted)}
STORIES["taken_over_with_the_fast_lane"] = (taken_over, FAST)

if __name__ == "__main__":
    sys.exit(tell(STORIES, sys.argv[2:], lambda **how: Place(sys.argv[1], **how)))
