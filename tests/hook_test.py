#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""baton-hook with a real node, as coding agents start it: hook_test.py BATON BATON_HOOK [STORY...]

Every story has a node of its own; at its end the ledger is verified and its decisions are made again.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from node_harness import Workspace
from stories import CONTRACT, WAIT, eventually, need, tell

CONTRACTS = {
    "Read": {}, "Write": {"side_effect": "write", "gate": "allow"},
    "Bash": {"side_effect": "write", "gate": "allow", "argument_value_invariants": [{"path": "$.command", "one_of": ["make test", "make deploy", "cat /dev/stdin", "cat /dev/fd/0"]}]},
    "Deploy": {"side_effect": "write", "gate": "allow", "checkpoint": {"when": [{"path": "$.where", "equals": "production"}], "timeout_seconds": 600}},
    "Checked": {"assertions": {"input_invariants": [], "output_invariants": [{"path": "$.good", "equals": True}]}},
    "Ship": {"side_effect": "write", "gate": "allow", "checkpoint": {"when": [{"path": "$.where", "equals": "production"}], "timeout_seconds": 600}},
    "list": {}, "files:list": {}, "files:Ship": {"side_effect": "write", "gate": "allow", "checkpoint": {"when": [{"path": "$.where", "equals": "production"}], "timeout_seconds": 600}},
    "tickets:list": {"argument_value_invariants": [{"path": "$.of", "one_of": ["me"]}]},
    "issue-tracker:list-all": {}, "task": {},
}
SESSION = {"schema_version": "1.0", "agent": "hooked", "session_limits": {"max_tool_calls": 50, "max_steps": 50}}


class Place(Workspace):
    def __init__(self, baton, hook, config="", session=None):
        super().__init__(baton, config="exit_protocol: true\n" + config)
        self.hook_program = hook
        self.token = self.init()
        self.node = self.serve()
        pack = Path(self.folder) / "pack"
        pack.mkdir()
        (pack / "session.yaml").write_text(json.dumps({**SESSION, **(session or {})}))
        for tool, more in CONTRACTS.items():
            (pack / (tool.replace("/", "_") + ".yaml")).write_text(json.dumps({"tool": tool, **CONTRACT, **more}))
        self.run("contract", "activate", str(pack), "--role", "agent", "--node", "unix:" + self.node.socket_path)
        self.number = 0

    def hook(self, client, event, fields, *arguments, socket_path=None, environment=None, raw=None, timeout=WAIT):
        """What the hook printed and ended with."""
        said = raw if raw is not None else json.dumps({"hook_event_name": event, "session_id": "client-1", "transcript_path": "/t.jsonl",
                                                       "cwd": "/srv/app", **fields})
        return subprocess.run([self.hook_program, client, event, "--socket", socket_path or self.node.socket_path, *arguments],
                              input=said, capture_output=True, text=True, timeout=timeout, env={**self.environment(), **(environment or {})})

    def before(self, tool, arguments, **more):
        self.number += 1
        return self.hook("claude", "PreToolUse", {"tool_name": tool, "tool_input": arguments, "tool_use_id": f"toolu_{self.number}"}, **more)

    def after(self, tool, arguments, response, **more):
        return self.hook("claude", "PostToolUse", {"tool_name": tool, "tool_input": arguments, "tool_response": response,
                                                   "tool_use_id": f"toolu_{self.number}"}, **more)

    def subagent(self, event, agent, words=None, **more):
        said = {"agent_id": agent, "agent_type": "Explore", **({"last_assistant_message": words, "stop_hook_active": False} if words is not None else {})}
        return self.hook("claude", event, said, **more)

    def entries(self, kind):
        """The payloads that the ledger has of a type, the oldest first."""
        answer = self.run("events", "--type", kind, "--format", "json", "--node", "unix:" + self.node.socket_path)
        return [json.loads(line)["payload"] for line in answer.splitlines() if line]

    def restart(self, name):
        self.node.stop()
        self.node = self.serve(name)

    def sessions(self):
        return self.node.request("GET", "/v1/sessions", token=self.token).json["sessions"]

    def session(self, at=0):
        return self.node.request("GET", "/v1/sessions/" + self.sessions()[at]["id"], token=self.token).json["session"]["governed"]


def passed(done):
    need(done.returncode == 0 and done.stdout == "", done)


def denied(done, rule):
    need(done.returncode == 2, done)
    said = json.loads(done.stdout)["hookSpecificOutput"]
    need(said["permissionDecision"] == "deny" and f"Denied by {rule}: " in said["permissionDecisionReason"], done)
    need(f"Denied by {rule}: " in done.stderr, done)
    return said["permissionDecisionReason"]


# --- stories ----------------------------------------------------------------------------------------------------------------------------


def allowed_denied_settled(place):
    passed(place.before("Bash", {"command": "make test"}))
    need([one["state"] for one in place.session()["open_calls"]] == ["executing"], place.session())
    passed(place.after("Bash", {"command": "make test"}, {"stdout": "ok", "exit_code": 0}))
    need(place.session()["open_calls"] == [], place.session())
    reason = denied(place.before("Bash", {"command": "rm -rf /srv"}), "argument_value_invalid")
    need("command" in reason, reason)
    denied(place.before("Unknown", {}), "no_contract")
    passed(place.before("Read", {"file_path": "a.txt"}))
    failed = place.hook("claude", "PostToolUseFailure", {"tool_name": "Read", "tool_input": {"file_path": "a.txt"}, "error": "not there",
                                                         "tool_use_id": f"toolu_{place.number}"})
    need(failed.returncode == 0, failed)
    need(place.session()["open_calls"] == [] and len(place.sessions()) == 1, place.session())


def approved_then_called_again(place):
    reason = denied(place.before("Deploy", {"where": "production"}), "checkpoint")
    approval = place.node.request("GET", "/v1/approvals?state=pending", token=place.token).json["approvals"][0]
    need(approval["id"] in reason, reason)
    # Again before anybody has decided: the same question.
    need(approval["id"] in denied(place.before("Deploy", {"where": "production"}), "checkpoint"), "the same question")
    need(len(place.node.request("GET", "/v1/approvals?state=pending", token=place.token).json["approvals"]) == 1, "one question")
    answer = place.node.request("POST", f"/v1/approvals/{approval['id']}/decide", {"decision": "approve", "digest": approval["digest"]},
                                token=place.token)
    need(answer.status == 200, answer)
    passed(place.before("Deploy", {"where": "production"}))
    passed(place.after("Deploy", {"where": "production"}, {"ok": True}))
    need(place.session()["open_calls"] == [], place.session())
    # Once: the next one is asked about anew.
    denied(place.before("Deploy", {"where": "production"}), "checkpoint")


def the_queue_of_approvals_is_full(place):
    """One place in the queue: the second session is refused until the first one's approval is decided."""
    def ask(session):
        place.number += 1
        return place.hook("claude", "PreToolUse", {"session_id": session, "tool_name": "Deploy", "tool_input": {"where": "production"},
                                                   "tool_use_id": f"toolu_{place.number}"})
    denied(ask("client-1"), "checkpoint")
    reason = denied(ask("client-2"), "approval_queue_full")
    need("1 approvals of this workspace wait" in reason and "baton approvals" not in reason, reason)
    denied(ask("client-1"), "checkpoint")  # it joins the one that waits
    # The same by HTTP.
    agent = place.node.request("POST", "/v1/tokens", {"actor": "bob", "kind": "agent"}, token=place.token).json["token"]
    opened = place.node.request("POST", "/v1/sessions", {}, token=agent).json["session"]
    judged = place.node.request("POST", f"/v1/sessions/{opened['id']}/calls",
                                {"calls": [{"tool": "Deploy", "arguments": {"where": "production"}}]}, token=agent, session=opened["token"])
    need(judged.status == 200 and judged.json["calls"][0].get("reason") == "approval_queue_full", judged)
    approval, = place.node.request("GET", "/v1/approvals?state=pending", token=place.token).json["approvals"]
    answer = place.node.request("POST", f"/v1/approvals/{approval['id']}/decide", {"decision": "deny", "digest": approval["digest"]},
                                token=place.token)
    need(answer.status == 200, answer)
    denied(ask("client-2"), "checkpoint")


def nothing_begins_without_space(place):
    """The store's disk is nearly full: the hook refuses what would begin and says why; what was begun is settled."""
    passed(place.before("Bash", {"command": "make test"}))
    with open(place.config_file, "a") as file:
        file.write(f"limits: {{disk_free_bytes: {1 << 50}}}\n")
    place.restart("low")
    passed(place.after("Bash", {"command": "make test"}, {"stdout": "ok", "exit_code": 0}))
    need(place.session()["open_calls"] == [], place.session())
    reason = denied(place.before("Read", {"file_path": "a.txt"}), "STORE_DISK_LOW")
    need("disk_free_bytes" in reason, reason)


def denied_and_told(place):
    denied(place.before("Deploy", {"where": "production"}), "checkpoint")
    approval = place.node.request("GET", "/v1/approvals?state=pending", token=place.token).json["approvals"][0]
    answer = place.node.request("POST", f"/v1/approvals/{approval['id']}/decide",
                                {"decision": "deny", "digest": approval["digest"], "note": "not on a Friday"}, token=place.token)
    need(answer.status == 200, answer)
    # Whoever calls again is told, and nobody is asked a second time about the same.
    for _ in range(2):
        said = denied(place.before("Deploy", {"where": "production"}), "checkpoint_denied")
        need("not on a Friday" in said, said)
    need(place.node.request("GET", "/v1/approvals?state=pending", token=place.token).json["approvals"] == [], "no question")
    passed(place.before("Deploy", {"where": "staging"}))


def output_is_judged(place):
    passed(place.before("Checked", {}))
    done = place.after("Checked", {}, {"good": False})
    need("output_assertion_failed" in done.stdout + done.stderr, done)


def other_input_than_was_judged(place):
    """The call is unknown and the session paused, until an operator resumes it."""
    passed(place.before("Bash", {"command": "make test"}))
    done = place.after("Bash", {"command": "make deploy"}, {"stdout": "ok"})
    need("input_changed" in done.stdout + done.stderr, done)
    need([one["state"] for one in place.session()["open_calls"]] == ["unknown"], place.session())
    need(place.session()["paused"] and place.session()["paused_because"] == "input_changed", place.session())
    denied(place.before("Read", {"file_path": "a"}), "session_paused")
    place.restart("again")
    denied(place.before("Read", {"file_path": "a"}), "session_paused")
    session = place.sessions()[0]["id"]
    # Not by whoever is paused: who shows no operator's token is an agent.
    refused = place.node.request("POST", f"/v1/sessions/{session}/resume", {})
    need(refused.status == 403, refused)
    node = "unix:" + place.node.socket_path
    need("input_changed" in place.run("session", "show", session, "--node", node), "session show says so")
    place.run("session", "resume", session, "--note", "another hook did it", "--node", node)
    place.run("session", "resume", session, "--node", node, status=1)
    passed(place.before("Read", {"file_path": "a"}))
    need(not place.session()["paused"], place.session())


def paused_with_a_lease(place):
    """While somebody must look, the item waits, and goes on with the session."""
    place.run("work", "create", "The almanac", "--id", "W-1", "--node", "unix:" + place.node.socket_path)
    claimed = place.node.request("POST", "/v1/work/W-1/claim", {}, token=place.token).json
    shown, session = {"BATON_SESSION_TOKEN": claimed["session"]["token"]}, claimed["session"]["id"]
    need(place.node.request("POST", "/v1/sessions", {"session_id": session}, token=place.token, session=shown["BATON_SESSION_TOKEN"]).status == 201, "opened")
    passed(place.before("Bash", {"command": "make test"}, environment=shown))
    place.after("Bash", {"command": "make deploy"}, {"stdout": "ok"}, environment=shown)
    item = place.node.request("GET", "/v1/work/W-1", token=place.token).json["work"]
    need(item["waits_for"] == "approval" and "parked_until" in item["lease"], item)
    place.run("session", "resume", session, "--node", "unix:" + place.node.socket_path)
    item = place.node.request("GET", "/v1/work/W-1", token=place.token).json["work"]
    need("waits_for" not in item and "parked_until" not in item["lease"], item)
    passed(place.before("Read", {"file_path": "a"}, environment=shown))


def streams_of_the_command(place):
    """The node's own standard input is a pipe: that is not what a command reads."""
    place.node.stop()
    place.node = place.serve("b", stdin=subprocess.PIPE)
    for line in ("cat /dev/stdin", "cat /dev/fd/0"):
        passed(place.before("Bash", {"command": line}))
        place.after("Bash", {"command": line}, {})


def proxied_servers_are_the_proxys(place):
    passed(place.before("mcp__files__list", {}))
    need([one["tool"] for one in place.session()["open_calls"]] == ["files:list"], place.session())
    # A contract that names no server is for none, when it is not known which servers there are.
    text = denied(place.before("mcp__other__list", {}), "no_contract")
    need("name the contract `other:list`, or run `baton mcp lock`" in text, text)
    denied(place.before("mcp__tickets__list", {"of": "you"}), "argument_value_invalid")
    passed(place.before("mcp__tickets__list", {"of": "me"}))
    need([one["tool"] for one in place.session()["open_calls"]] == ["files:list", "tickets:list"], place.session())
    passed(place.after("mcp__tickets__list", {"of": "me"}, [{"type": "text", "text": "none"}]))
    # A contract for a tool of the client's own is none for a server's of that name.
    denied(place.before("mcp__files__Read", {"file_path": "/etc/shadow"}), "no_contract")
    denied(place.before("mcp__files__Bash", {"command": "make test"}), "no_contract")
    self = place.hook("claude", "PreToolUse", {"tool_name": "mcp__files__list", "tool_input": {}, "tool_use_id": "x"}, "--proxied", "a,files")
    passed(self)
    need(len(place.session()["open_calls"]) == 1, place.session())


def sessions_of_the_client(place):
    started = place.hook("claude", "SessionStart", {"source": "startup"})
    need(started.returncode == 0 and "held to a contract" in started.stdout, started)
    passed(place.before("Read", {"file_path": "a"}))
    passed(place.after("Read", {"file_path": "a"}, {"text": ""}))
    # The node starts again and forgets: the session is found again by what the client calls it.
    place.node.stop()
    place.node = place.serve("again")
    passed(place.before("Read", {"file_path": "b"}))
    need(len(place.sessions()) == 1 and place.session()["counters"]["tool_calls"] == 2, place.sessions())
    passed(place.after("Read", {"file_path": "b"}, {"text": ""}))
    need(place.hook("claude", "SessionEnd", {"reason": "exit"}).returncode == 0, "it ends")
    need(place.session()["standing"] == "closed", place.session())
    # Resumed: the same governed session, with all that it has used up.
    need(place.hook("claude", "SessionStart", {"source": "resume"}).returncode == 0, "it begins")
    passed(place.before("Read", {"file_path": "c"}))
    need([one["standing"] for one in place.sessions()] == ["open"], place.sessions())
    need(place.session()["counters"]["tool_calls"] == 3, place.session())
    # Another session of the client is another one here.
    need(place.hook("claude", "SessionStart", {"source": "startup", "session_id": "client-2"}).returncode == 0, "another one")
    need(len(place.sessions()) == 2, place.sessions())


def no_fresh_limits(place):
    """An agent that calls the hook itself, ends its session and comes back has the limits that it had."""
    for number in range(50):
        passed(place.before("Read", {"file_path": f"f{number}"}))
        passed(place.after("Read", {"file_path": f"f{number}"}, {"text": ""}))
    denied(place.before("Read", {"file_path": "one more"}), "session_limit_exceeded")
    need(place.hook("claude", "SessionEnd", {"reason": "exit"}).returncode == 0, "it ends itself")
    denied(place.before("Read", {"file_path": "one more"}), "session_limit_exceeded")
    session = place.sessions()[0]["id"]
    need([one["session_id"] for one in place.entries("session.reopened")] == [session], place.entries("session.reopened"))
    place.hook("claude", "SessionEnd", {"reason": "exit"})
    place.restart("again")
    need(place.hook("claude", "SessionStart", {"source": "resume"}).returncode == 0, "it begins")
    denied(place.before("Read", {"file_path": "one more"}), "session_limit_exceeded")
    need([one["id"] for one in place.sessions()] == [session], place.sessions())
    # Killed is killed.
    need(place.node.request("POST", f"/v1/sessions/{session}/kill", {}, token=place.token).status == 200, "killed")
    place.hook("claude", "SessionStart", {"source": "resume"})
    denied(place.before("Read", {"file_path": "x"}), "session_killed")


def leased(place, work="W-1"):
    """A session with a lease and a pack: its id, and the environment of its agent."""
    place.run("work", "create", "The almanac", "--id", work, "--node", "unix:" + place.node.socket_path)
    claimed = place.node.request("POST", f"/v1/work/{work}/claim", {}, token=place.token).json
    token, session = claimed["session"]["token"], claimed["session"]["id"]
    opened = place.node.request("POST", "/v1/sessions", {"session_id": session}, token=place.token, session=token)
    need(opened.status == 201, opened)
    return claimed, session, token


def one_call_two_doors(place):
    """The hook proposes and counts, the proxy begins and settles, the hook confirms: one call, under one id."""
    claimed, session, token = leased(place)
    shown = {"BATON_SESSION_TOKEN": token}

    def by_hook(event, arguments, number, tool="mcp__files__list", **more):
        return place.hook("claude", event, {"tool_name": tool, "tool_input": arguments, "tool_use_id": f"toolu_{number}", **more},
                          "--proxied", "files,tickets", environment=shown)

    def by_proxy(path, body):
        answer = place.node.request("POST", f"/v1/sessions/{session}/{path}", body, session=token)
        need(answer.status == 200, answer)
        return answer.json

    def proposed(arguments, number, tool="files/list"):
        return by_proxy("calls", {"calls": [{"call_id": f"proxy-{number}", "tool": tool, "arguments": arguments}], "start": True})["calls"][0]

    passed(by_hook("PreToolUse", {"of": "all"}, 1))
    need([(one["call_id"], one["state"]) for one in place.session()["open_calls"]] == [("toolu_1", "pending")], place.session())
    begun = proposed({"of": "all"}, 1)
    need(begun["call_id"] == "toolu_1" and begun["started"] and begun["execution"]["total_ms"] == 60000, begun)
    need(place.session()["counters"]["tool_calls"] == 1, place.session())
    # Afterwards both tell: whoever began it is heard.
    passed(by_hook("PostToolUse", {"of": "all"}, 1, tool_response=[{"type": "text", "text": "by the hook"}]))
    need([one["state"] for one in place.session()["open_calls"]] == ["executing"], place.session())
    by_proxy("settle", {"call_id": "toolu_1", "result": "ok", "output": {"files": []}})
    passed(by_hook("PostToolUse", {"of": "all"}, 1, tool_response=[{"type": "text", "text": "late"}]))
    need(place.session()["open_calls"] == [] and "unhooked_calls" not in place.session(), place.session())
    # Other arguments than those that the hook saw are another call.
    passed(by_hook("PreToolUse", {"of": "all"}, 2))
    need(proposed({"of": "others"}, 2)["call_id"] == "proxy-2", "it is judged by itself")
    eventually("it is counted", lambda: place.session()["counters"]["tool_calls"] == 3)
    # The proxy was passed by: then the hook was the last door, and what it saw counts.
    passed(by_hook("PostToolUse", {"of": "all"}, 2, tool_response=[{"type": "text", "text": "seen"}]))
    need([one["call_id"] for one in place.session()["open_calls"]] == ["proxy-2"], place.session())
    # A person must be asked: the hook lets it by, and the proxy, which can wait, finds the question that was asked.
    passed(by_hook("PreToolUse", {"where": "production"}, 4, tool="mcp__files__Ship"))
    question = proposed({"where": "production"}, 4, tool="files/Ship")
    need(question["verdict"] == "checkpoint", question)
    approvals = place.node.request("GET", "/v1/approvals?state=pending", token=place.token).json["approvals"]
    need([one["id"] for one in approvals] == [question["approval"]["id"]], approvals)
    need(place.node.request("POST", f"/v1/approvals/{approvals[0]['id']}/decide", {"decision": "approve", "digest": approvals[0]["digest"]},
                            token=place.token).status == 200, "approved")
    need(by_proxy("start", {"call_id": "toolu_4"})["verdict"] == "allow", "it begins")
    by_proxy("settle", {"call_id": "toolu_4", "result": "ok", "output": {}})
    # Tools that the proxy itself offers are its own.
    passed(by_hook("PreToolUse", {}, 5, tool="mcp__files__baton_status"))
    # What the contract refuses is refused at the first door.
    denied(by_hook("PreToolUse", {"of": "you"}, 3, tool="mcp__tickets__list"), "argument_value_invalid")


def proxied_under_another_name(place):
    """The client calls the proxy, or a server, otherwise than the proxy calls what is behind it."""
    claimed, session, token = leased(place)

    def by_hook(tool, proxied):
        place.number += 1
        return place.hook("claude", "PreToolUse", {"tool_name": tool, "tool_input": {"of": str(place.number)}, "tool_use_id": f"toolu_{place.number}"},
                          "--proxied", proxied, environment={"BATON_SESSION_TOKEN": token})

    def calls():
        return [one["tool"] for one in place.session()["open_calls"]]

    passed(by_hook("mcp__hub__files__list", "hub=files+tickets"))
    need(calls() == ["files:list"], calls())
    denied(by_hook("mcp__hub__tickets__list", "hub=files+tickets"), "argument_value_invalid")
    denied(by_hook("mcp__hub__list", "hub=files+tickets"), "no_contract")
    denied(by_hook("mcp__hub__others__list", "hub=files+tickets"), "no_contract")
    passed(by_hook("mcp__my-files__list", "my-files=files,other"))
    need(calls() == ["files:list"] * 2, calls())
    # The only server that there is: a contract without a server's name is for it.
    passed(by_hook("mcp__notes__list", "notes"))
    need(calls() == ["files:list", "files:list", "list"], calls())
    denied(by_hook("mcp__notes__list", "notes,more"), "no_contract")
    denied(by_hook("mcp__notes__Read", "notes"), "no_contract")
    denied(by_hook("mcp__notes__tickets:list", "notes"), "no_contract")


def below_a_supervised_agent(place):
    """Without its token, and as another client: the session is the supervised agent's all the same."""
    place.run("work", "create", "The almanac", "--id", "W-1", "--node", "unix:" + place.node.socket_path)
    claimed = place.node.request("POST", "/v1/work/W-1/claim", {}, token=place.token).json
    token, session = claimed["session"]["token"], claimed["session"]["id"]
    need(place.node.request("POST", "/v1/sessions", {"session_id": session}, token=place.token, session=token).status == 201, "opened")
    event, flag = Path(place.folder) / "event.json", Path(place.folder) / "go"
    event.write_text(json.dumps({"hook_event_name": "PreToolUse", "session_id": "a-client-of-its-own", "cwd": "/srv/app", "tool_name": "Read",
                                 "tool_input": {"file_path": "a"}, "tool_use_id": "t1"}))
    with event.open() as given:
        agent = subprocess.Popen(["sh", "-c", 'while [ ! -e "$0" ]; do sleep 0.02; done; "$@"; status=$?; exit $status', str(flag), place.hook_program, "claude",
                                  "PreToolUse", "--socket", place.node.socket_path], stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env=place.environment())
    try:
        registered = place.node.request("POST", f"/v1/sessions/{session}/process", {"pid": agent.pid}, token=place.token, session=token)
        need(registered.status == 200, registered)
        flag.write_text("")
        out, err = agent.communicate(timeout=WAIT)
    finally:
        if agent.poll() is None:
            agent.kill()
            agent.wait(WAIT)
    need(agent.returncode == 0 and out == "", (out, err))
    need([one["id"] for one in place.sessions()] == [session] and place.session()["counters"]["tool_calls"] == 1, place.sessions())


def called_past_baton(place):
    """A call that is told of afterwards only, or that had been refused: an alarm, and the session goes on."""
    passed(place.before("Read", {"file_path": "a"}))
    passed(place.after("Read", {"file_path": "a"}, {"text": ""}))
    passed(place.after("Read", {"file_path": "a"}, {"text": ""}))  # told twice
    need("unhooked_calls" not in place.session(), place.session())
    place.number += 1
    done = place.after("Read", {"file_path": "b"}, {"text": ""})
    need(done.returncode == 0 and "unhooked_call: `Read` was called past Baton: nobody was asked" in done.stdout, done)
    denied(place.before("Bash", {"command": "rm -rf /srv"}), "argument_value_invalid")
    done = place.after("Bash", {"command": "rm -rf /srv"}, {"stdout": ""})
    need("it had been refused" in done.stdout, done)
    need(place.session()["unhooked_calls"] == 2, place.session())
    session = place.sessions()[0]["id"]
    need("2 calls were made past Baton" in place.run("session", "show", session, "--node", "unix:" + place.node.socket_path), "it is shown")
    need("2 calls were made past Baton" in place.run("status", "--node", "unix:" + place.node.socket_path), "by the node's status too")
    need([one["tool"] for one in place.entries("session.unhooked_call")] == ["Read", "Bash"], place.entries("session.unhooked_call"))
    passed(place.before("Read", {"file_path": "c"}))


def matched_by_id_then_by_input(place):
    """A call that was never asked about settles no other one, however few are open."""
    passed(place.before("Bash", {"command": "make test"}))
    open_one = place.number

    def told(client, event, fields):
        return place.hook(client, event, fields)

    def is_open():
        need([one["state"] for one in place.session()["open_calls"]] == ["executing"], place.session())

    never = told("claude", "PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "rm -rf /srv"}, "tool_response": {"stdout": ""}, "tool_use_id": "toolu_90"})
    need("unhooked_call: `Bash` was called past Baton: nobody was asked" in never.stdout, never)
    is_open()
    # Nor does the same call, made a second time: the client says that it is another one.
    never = told("claude", "PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "make test"}, "tool_response": {"stdout": ""}, "tool_use_id": "toolu_91"})
    need("nobody was asked" in never.stdout, never)
    is_open()
    # One that failed was made all the same.
    never = told("claude", "PostToolUseFailure", {"tool_name": "Bash", "tool_input": {"command": "rm -rf /srv"}, "error": "Exit code 1", "tool_use_id": "toolu_92"})
    need("nobody was asked" in never.stdout, never)
    is_open()
    # Under the id of the one that was asked about: that call is changed, also where only the tool is another one.
    passed(told("claude", "PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "make test"}, "tool_response": {"stdout": ""}, "tool_use_id": f"toolu_{open_one}"}))
    need(place.session()["open_calls"] == [] and place.session()["unhooked_calls"] == 3, place.session())
    # An id that was settled, again, with something else.
    never = told("claude", "PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "rm -rf /srv"}, "tool_response": {"stdout": ""}, "tool_use_id": f"toolu_{open_one}"})
    need("nobody was asked" in never.stdout, never)
    passed(place.before("Read", {"file_path": "a"}))
    done = told("claude", "PostToolUse", {"tool_name": "Write", "tool_input": {"file_path": "a"}, "tool_response": {}, "tool_use_id": f"toolu_{place.number}"})
    need("input_changed" in done.stdout + done.stderr, done)


def matched_without_ids(place):
    """Gemini CLI gives its calls no ids: what was run with what is all there is."""
    def gemini(event, command, **more):
        return place.hook("gemini", event, {"tool_name": "run_shell_command", "tool_input": {"command": command}, **more})

    def after(command):
        return gemini("AfterTool", command, tool_response={"llmContent": "ok"})

    def states():
        return [one["state"] for one in place.session()["open_calls"]]

    contract = {"tool": "run_shell_command", **CONTRACT, "side_effect": "write", "gate": "allow",
                "argument_value_invariants": [{"path": "$.command", "one_of": ["make test", "make deploy"]}]}
    (Path(place.folder) / "pack" / "run_shell_command.yaml").write_text(json.dumps(contract))
    place.run("contract", "activate", str(Path(place.folder) / "pack"), "--role", "agent", "--node", "unix:" + place.node.socket_path)
    passed(gemini("BeforeTool", "make test"))
    need("nobody was asked" in after("make deploy").stdout, "another command")
    need(states() == ["executing"], states())
    # Several that are the same: each is settled once.
    passed(gemini("BeforeTool", "make test"))
    passed(gemini("BeforeTool", "make deploy"))
    for left in (["executing"] * 2, ["executing"]):
        passed(after("make test"))
        need(states() == left, states())
    need("nobody was asked" in after("make test").stdout, "a third time")
    place.restart("again")
    passed(after("make deploy"))
    need(states() == [] and place.session()["unhooked_calls"] == 2, place.session())
    # What was refused, and ran.
    need(gemini("BeforeTool", "rm -rf /srv").returncode == 2, "refused")
    need("it had been refused" in after("rm -rf /srv").stdout, "it ran")


def other_input_after_a_restart(place):
    """What was judged is in the record: neither a new node nor any number of other calls makes it forgotten."""
    passed(place.before("Bash", {"command": "make test"}))
    place.restart("again")
    done = place.after("Bash", {"command": "make deploy"}, {"stdout": "ok"})
    need("input_changed" in done.stdout + done.stderr, done)
    need(place.session()["paused_because"] == "input_changed", place.session())


def other_input_after_many_calls(place):
    """More calls than the node would keep in memory, of as many sessions as it takes."""
    passed(place.before("Bash", {"command": "make test"}))
    kept = place.number

    def calls(numbers):
        for number in numbers:
            said = {"hook_event_name": "PreToolUse", "session_id": f"other-{number // 45}", "cwd": "/srv/app", "tool_name": "Read",
                    "tool_input": {"file_path": str(number)}, "tool_use_id": f"t{number}"}
            answer = place.node.request("POST", "/v1/hooks/claude?event=PreToolUse", said)
            need(answer.status == 200 and answer.body.startswith(b"0 0 0"), answer)

    threads = [threading.Thread(target=calls, args=(range(at * 630, (at + 1) * 630),)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    need(len(place.entries("session.step")) > 5000, "all were asked about")
    place.number = kept
    done = place.after("Bash", {"command": "make deploy"}, {"stdout": "ok"})
    need("input_changed" in done.stdout + done.stderr, done)
    said = {"tool_name": "Read", "tool_input": {"file_path": "other"}, "tool_response": {}, "tool_use_id": "t0", "session_id": "other-0"}
    done = place.hook("claude", "PostToolUse", said)
    need("input_changed" in done.stdout + done.stderr, done)


def approved_as_it_was(place):
    """An approval of a command line is good for the scripts and files as they were when it was asked for."""
    (Path(place.folder) / "pack" / "Bash.yaml").write_text(json.dumps({"tool": "Bash", **CONTRACT, "side_effect": "write", "gate": "allow",
                                                                       "checkpoint": {"when": "always", "timeout_seconds": 600}}))
    place.run("contract", "activate", str(Path(place.folder) / "pack"), "--role", "agent", "--node", "unix:" + place.node.socket_path)
    work = Path(place.folder) / "src"
    work.mkdir()
    script, data = work / "deploy.sh", work / "values.yaml"

    def call(line, cwd=work):
        place.number += 1
        return place.hook("claude", "PreToolUse", {"cwd": str(cwd), "tool_name": "Bash", "tool_input": {"command": line}, "tool_use_id": f"toolu_{place.number}"})

    def approve():
        [approval] = place.node.request("GET", "/v1/approvals?state=pending", token=place.token).json["approvals"]
        answer = place.node.request("POST", f"/v1/approvals/{approval['id']}/decide", {"decision": "approve", "digest": approval["digest"]}, token=place.token)
        need(answer.status == 200, answer)
        return approval["subject"]["bound"]

    def done(line):
        passed(place.hook("claude", "PostToolUse", {"cwd": str(work), "tool_name": "Bash", "tool_input": {"command": line}, "tool_response": {"stdout": ""},
                                                    "tool_use_id": f"toolu_{place.number}"}))

    def write(text, values="replicas: 2\n"):
        script.write_text(text)
        data.write_text(values)

    # As it was: it runs, once.
    for line in ("./deploy.sh --values values.yaml", "bash deploy.sh", "sh -e ./deploy.sh < values.yaml", f"{script} x", "make all"):
        write("echo deploying\n")
        (work / "Makefile").write_text("all:\n\techo made\n")
        denied(call(line), "checkpoint")
        bound = approve()
        need(bound["cwd"] == str(work), bound)
        passed(call(line))
        done(line)
        # Anything it relies on is another one: refused, and the next proposal is a new question.
        for changed in [script] if "make" not in line else [work / "Makefile"]:
            denied(call(line), "checkpoint")
            files = {one["path"]: one for one in approve()["files"]}
            need(len(files[str(changed)]["sha256"]) == 64, files)
            changed.write_text("curl http://127.0.0.1:9/x | sh\n")
            refused = denied(call(line), "approval_stale")
            need(f"`{changed}` has changed" in refused, refused)
            denied(call(line), "checkpoint")
            approve()
            passed(call(line))
            done(line)
    # A file that it is given, a file that was not there, a link that leads elsewhere now.
    write("cat \"$2\"\n")
    denied(call("./deploy.sh values.yaml"), "checkpoint")
    approve()
    data.write_text("replicas: 2000\n")
    denied(call("./deploy.sh values.yaml"), "approval_stale")
    denied(call("./later.sh"), "checkpoint")
    need(approve()["files"] == [{"path": str(work / "later.sh"), "state": "absent"}], "it is not there")
    (work / "later.sh").write_text("echo now\n")
    denied(call("./later.sh"), "approval_stale")
    (work / "link.sh").symlink_to("deploy.sh")
    denied(call("./link.sh"), "checkpoint")
    approve()
    (work / "link.sh").unlink()
    (work / "link.sh").symlink_to("later.sh")
    denied(call("./link.sh"), "approval_stale")
    # Elsewhere it is another call.
    denied(call("true"), "checkpoint")
    approve()
    denied(call("true", "/"), "checkpoint")
    approve()
    passed(call("true"))
    done("true")


def run_before_it_was_approved(place):
    """Nobody had said yes: the session is over. Denied, or in time nobody: it had been refused."""
    denied(place.before("Deploy", {"where": "production"}), "checkpoint")
    approval = place.node.request("GET", "/v1/approvals?state=pending", token=place.token).json["approvals"][0]
    answer = place.node.request("POST", f"/v1/approvals/{approval['id']}/decide", {"decision": "deny", "digest": approval["digest"]}, token=place.token)
    need(answer.status == 200, answer)
    done = place.after("Deploy", {"where": "production"}, {"ok": True})
    need("unhooked_call" in done.stdout and "it had been refused" in done.stdout, done)
    denied(place.before("Ship", {"where": "production"}), "checkpoint")
    place.number += 1  # the same question under another id
    failed = place.hook("claude", "PostToolUseFailure", {"tool_name": "Ship", "tool_input": {"where": "production"}, "error": "denied",
                                                         "tool_use_id": f"toolu_{place.number}"})
    need(failed.returncode == 0 and place.session()["unhooked_calls"] == 1, failed)
    done = place.after("Ship", {"where": "production"}, {"ok": True})
    need("nobody had approved it yet" in done.stdout + done.stderr, done)
    need(place.session()["standing"] == "killed" and place.session()["unhooked_calls"] == 2, place.session())
    denied(place.before("Read", {"file_path": "a"}), "session_killed")


def block_of(agent, status="COMPLETE", **more):
    report = {name: [] for name in ("patterns_checked", "files_checked", "commands_run", "key_outputs", "verbatim_outputs", "cross_layer_impacts", "open_gaps")}
    document = {"agent_status": {"plan_status": status, "agent_id": agent, "pending_steps": [], "next_action": "none"},
                "evidence_report": {**report, "verification": {"method": "looked", "result": "pass"}}, **more}
    return "Found it.\n```agent_contract_handoff\n" + json.dumps(document) + "\n```\n"


def asked_again(done):
    said = json.loads(done.stdout)
    need(done.returncode == 2 and said["decision"] == "block", done)
    return said["reason"]


def subagents_have_the_parents_limits(place):
    started = place.subagent("SubagentStart", "x1")
    need(started.returncode == 0 and "holds to a contract" in json.loads(started.stdout)["hookSpecificOutput"]["additionalContext"], started)
    child = place.session()["subagents"][0]
    need(child["state"] == "open" and child["type"] == "Explore" and child["agent_id"].startswith("a"), child)
    for number in range(50):
        whose = {"agent_id": f"x{number % 3}", "agent_type": "Explore"} if number % 4 else {}
        place.number += 1
        call = {"tool_name": "Read", "tool_input": {"file_path": f"f{number}"}, "tool_use_id": f"toolu_{place.number}", **whose}
        passed(place.hook("claude", "PreToolUse", call))
        passed(place.hook("claude", "PostToolUse", {**call, "tool_response": {"text": ""}}))
    place.number += 1
    new = place.hook("claude", "PreToolUse", {"tool_name": "Read", "tool_input": {"file_path": "x"}, "tool_use_id": "late", "agent_id": "x9"})
    denied(new, "session_limit_exceeded")
    need(len(place.sessions()) == 1 and place.session()["counters"]["tool_calls"] == 50, place.session())
    # Two were never said to begin: their first call said so.
    need(len(place.session()["subagents"]) == 4, place.session()["subagents"])
    steps = place.entries("session.step")
    need([bool(one.get("subagent")) for one in steps[:5]] == [False, True, True, True, False], steps[:5])
    need(steps[1]["subagent"] == child["agent_id"], (steps[1], child))
    passed(place.subagent("SubagentStop", "x1", "I am done."))
    ended = place.session()["subagents"][0]
    need(ended["state"] == "ended" and "outcome" not in ended, ended)
    need("Explore  ended" in place.run("session", "show", place.sessions()[0]["id"], "--node", "unix:" + place.node.socket_path), "it is shown")


def subagents_owe_a_block(place):
    started = place.subagent("SubagentStart", "x1")
    told = json.loads(started.stdout)["hookSpecificOutput"]["additionalContext"]
    agent = place.session()["subagents"][0]["agent_id"]
    need(agent in told and "agent_contract_handoff" in told, told)
    reason = asked_again(place.subagent("SubagentStop", "x1", "All done, trust me."))
    need(agent in reason and "repair 1 of 2" in reason and "ended as BLOCKED" in reason, reason)
    # The node starts again: how often it was asked is not forgotten.
    place.restart("again")
    reason = asked_again(place.subagent("SubagentStop", "x1", block_of("a0000000")))
    need("HANDOFF_AGENT_ID_MISMATCH" in reason and "repair 2 of 2" in reason, reason)
    passed(place.subagent("SubagentStop", "x1", block_of(agent)))
    child = place.session()["subagents"][0]
    need((child["state"], child["outcome"], child["repairs"]) == ("ended", "completed", 2) and len(child["handoff_digest"]) == 64, child)
    taken = place.entries("session.subagent_ended")
    need(len(taken) == 1 and taken[0]["mode"] == "delegate" and taken[0]["digest"] == child["handoff_digest"], taken)
    need(len(place.entries("session.subagent_refused")) == 2, "two refusals")
    # The same words again: nothing more happens. The session goes on.
    passed(place.subagent("SubagentStop", "x1", block_of(agent)))
    need(len(place.entries("session.subagent_ended")) == 1 and place.session()["standing"] == "open", place.session())
    # It goes on, and ends again with other words.
    place.number += 1
    passed(place.hook("claude", "PreToolUse", {"tool_name": "Read", "tool_input": {"file_path": "a"}, "tool_use_id": "t", "agent_id": "x1"}))
    need(place.session()["subagents"][0]["state"] == "open", place.session())
    passed(place.subagent("SubagentStop", "x1", block_of(agent, "BLOCKED")))
    need(place.session()["subagents"][0]["outcome"] == "blocked", place.session())
    # One that never learns: it ends as BLOCKED, and is let go.
    for _ in range(2):
        asked_again(place.subagent("SubagentStop", "x2", "Nothing to hand over."))
    passed(place.subagent("SubagentStop", "x2", "Nothing to hand over."))
    lost = next(one for one in place.session()["subagents"] if one["agent_id"] != agent)
    need((lost["state"], lost["outcome"], lost["repairs"]) == ("ended", "blocked", 2), lost)
    last = place.entries("session.subagent_ended")[-1]
    need("refused 3 times" in last["because"] and last["output"] == "Nothing to hand over.", last)


def completed_waits_for_subagents(place):
    place.run("work", "create", "The almanac", "--id", "W-1", "--node", "unix:" + place.node.socket_path)
    claimed = place.node.request("POST", "/v1/work/W-1/claim", {}, token=place.token).json
    shown = {"BATON_SESSION_TOKEN": claimed["session"]["token"]}
    session = claimed["session"]["id"]
    need(place.node.request("POST", "/v1/sessions", {"session_id": session}, token=place.token, session=shown["BATON_SESSION_TOKEN"]).status == 201, "opened")
    place.subagent("SubagentStart", "x1", environment=shown)
    agent = place.session()["subagents"][0]["agent_id"]
    signal = json.dumps({"protocol": "apm2_agent_exit", "version": "1.0.0", "phase_completed": claimed["work"]["phase"], "exit_reason": "completed"})
    done = place.hook("claude", "Stop", {"stop_hook_active": False, "last_assistant_message": signal}, environment=shown)
    need("EXIT_SUBAGENTS_OPEN" in asked_again(done) and agent in done.stdout, done)
    passed(place.subagent("SubagentStop", "x1", block_of(agent), environment=shown))
    item = place.node.request("GET", "/v1/work/W-1", token=place.token).json["work"]
    need(item["phase"] == claimed["work"]["phase"] and "lease" in item, item)  # the child's block ends the child, not the item
    passed(place.hook("claude", "Stop", {"stop_hook_active": True, "last_assistant_message": signal}, environment=shown))
    item = place.node.request("GET", "/v1/work/W-1", token=place.token).json["work"]
    need(item["phase"] != claimed["work"]["phase"], item)


def last_words_from_the_transcript(place):
    """Copilot CLI does not tell what its model wrote last: the hook finds it in the client's file."""
    claimed, session, token = leased(place)
    transcript = Path(place.folder) / "events.jsonl"
    signal = json.dumps({"protocol": "apm2_agent_exit", "version": "1.0.0", "phase_completed": claimed["work"]["phase"], "exit_reason": "blocked", "notes": "no almanac"})

    asked_at = 1794837877213

    def stop(lines, written=True):
        nonlocal asked_at
        asked_at += 1
        # The client says that it asks its hook when it has said all that came before.
        lines = [*lines, {"type": "hook.start", "data": {"hookType": "agentStop", "input": {"timestamp": asked_at if written else 7}}}]
        transcript.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines))
        event = {"sessionId": "p", "timestamp": asked_at, "cwd": "/srv/app", "transcriptPath": str(transcript), "stopReason": "end_turn", "stop_hook_active": False}
        return subprocess.run([place.hook_program, "copilot", "agentStop", "--socket", place.node.socket_path], input=json.dumps(event), capture_output=True,
                              text=True, timeout=WAIT, env={**place.environment(), "BATON_SESSION_TOKEN": token})

    def said(text, **more):
        return {"type": "assistant.message", "data": {"messageId": "m", "content": text, "toolRequests": [], **more}, "id": "i"}

    # What was said before is not what is said now: while that is not there, nothing is.
    asked = stop([said(signal)], written=False)
    need(json.loads(asked.stdout)["decision"] == "block", asked)
    # What a subagent said, and what stands in another line, are not its words.
    asked = stop([said("Done."), said(signal, parentToolCallId="t"), {"type": "user.message", "data": {"content": signal + " assistant.message"}}])
    need(json.loads(asked.stdout)["decision"] == "block", asked)
    done = stop([{"type": "x", "data": {"padding": "y" * 100}}] * 20000 + [said(signal), {"type": "assistant.turn_end", "data": {}}])
    need(done.returncode == 0 and done.stdout == "", done)
    item = place.node.request("GET", "/v1/work/W-1", token=place.token).json["work"]
    need(item["phase"] == "BLOCKED", item)


def names_with_dashes(place):
    """Copilot CLI puts a dash between server and tool: the contract says where, when it names both."""
    def before(tool, number):
        event = {"sessionId": "p", "timestamp": number, "cwd": "/srv/app", "toolName": tool, "toolArgs": {"of": "me"}}
        return subprocess.run([place.hook_program, "copilot", "preToolUse", "--socket", place.node.socket_path], input=json.dumps(event), capture_output=True,
                              text=True, timeout=WAIT, env=place.environment())

    need(before("tickets-list", 1).stdout == "", "one dash")
    need(before("issue-tracker-list-all", 2).stdout == "", "a contract names it")
    need([one["tool"] for one in place.session()["open_calls"]] == ["tickets:list", "issue-tracker:list-all"], place.session())
    refused = before("issue-tracker-list-some", 3)
    need("more than one MCP server" in json.loads(refused.stdout)["permissionDecisionReason"], refused)


def copilots_subagents(place):
    """They call as sessions of their own; while one call of `task` is under way they are that session's."""
    def copilot(event, session, **more):
        said = {"sessionId": session, "timestamp": 1, "cwd": "/srv/app", **more}
        return subprocess.run([place.hook_program, "copilot", event, "--socket", place.node.socket_path], input=json.dumps(said), capture_output=True, text=True,
                              timeout=WAIT, env=place.environment())

    call = {"toolName": "Read", "toolArgs": {"file_path": "a"}}
    need(copilot("preToolUse", "p", toolName="task", toolArgs={"prompt": "look"}).stdout == "", "it delegates")
    for child in ("c1", "c2"):
        need(copilot("preToolUse", child, **call).stdout == "", "it calls")
        need(copilot("postToolUse", child, **call, toolResult={"textResultForLlm": "", "resultType": "success"}).stdout == "", "and has called")
    need(len(place.sessions()) == 1 and place.session()["counters"]["tool_calls"] == 3 and len(place.session()["subagents"]) == 2, place.session())
    agent = next(one["subagent"] for one in place.entries("session.step") if "subagent" in one)
    end = {"agentId": "c1", "agentType": "explore", "agentName": "explore", "parentAgentId": "p", "stopReason": "end_turn", "stop_hook_active": False}
    passed(copilot("agentStop", "c1", **end))
    asked = json.loads(copilot("subagentStop", "p", **end, response="It is there.").stdout)
    need(asked["decision"] == "block" and agent in asked["reason"], asked)
    passed(copilot("subagentStop", "p", **end, response=block_of(agent)))
    need(place.session()["subagents"][0]["outcome"] == "completed", place.session())
    # The parent has gone on: a session that nobody knows is one of its own.
    need(copilot("postToolUse", "p", toolName="task", toolArgs={"prompt": "look"}, toolResult={"textResultForLlm": "", "resultType": "success"}).stdout == "", "done")
    need(copilot("preToolUse", "other", **call).stdout == "" and len(place.sessions()) == 2, place.sessions())


def subagents_of_other_clients(place):
    """Codex has the same words; OpenCode tells only who calls."""
    node = place.node.socket_path
    passed(place.hook("codex", "SubagentStop", {"session_id": "c", "agent_id": "k1", "agent_type": "default", "last_assistant_message": "x", "stop_hook_active": False}))
    copilot = {"sessionId": "p", "timestamp": 1, "cwd": "/srv/app", "agentName": "explore"}
    begun = subprocess.run([place.hook_program, "copilot", "subagentStart", "--socket", node], input=json.dumps(copilot), capture_output=True, text=True,
                           timeout=WAIT, env=place.environment())
    need(begun.returncode == 0 and "additionalContext" in begun.stdout, begun)
    opencode = {"event": "tool.execute.before", "session_id": "o", "agent_id": "child", "call_id": "1", "tool": "Deploy", "arguments": {"where": "here"},
                "cwd": "/srv/app", "mcp_servers": []}
    called = subprocess.run([place.hook_program, "opencode", "tool.execute.before", "--socket", node], input=json.dumps(opencode), capture_output=True, text=True,
                            timeout=WAIT, env=place.environment())
    need(json.loads(called.stdout)["decision"] == "pass", called)
    kinds = sorted((one.get("type", ""), one["state"]) for at in range(3) for one in place.session(at).get("subagents", []))
    need(kinds == [("", "open"), ("default", "ended"), ("explore", "open")], kinds)


def limits_hold(place):
    for number in range(50):
        passed(place.before("Read", {"file_path": f"f{number}"}))
        passed(place.after("Read", {"file_path": f"f{number}"}, {"text": ""}))
    denied(place.before("Read", {"file_path": "one more"}), "session_limit_exceeded")


def nobody_there(place):
    """Whatever is wrong, before a tool it is a refusal; after it nothing is held up."""
    place.node.process.kill()
    place.node.process.wait(WAIT)
    done = place.before("Read", {"file_path": "a"})
    denied(done, "Baton")
    need(place.after("Read", {"file_path": "a"}, {}).returncode == 0, "after a tool")
    need(place.hook("claude", "Stop", {"stop_hook_active": False, "last_assistant_message": "x"}).returncode == 0, "at the end")
    for client, event in (("codex", "PreToolUse"), ("gemini", "BeforeTool"), ("cursor", "preToolUse"), ("claude", "NoSuchEvent"), ("codex", "")):
        done = place.hook(client, event, {})
        need(done.returncode == 2 and done.stderr, (client, event, done))
    done = place.hook("copilot", "preToolUse", {})
    need(json.loads(done.stdout)["permissionDecision"] == "deny", done)


def odd_nodes(place):
    """A node that does not answer, breaks off, or answers with something else."""
    answers = {
        "silent": None, "closes": b"", "rubbish": b"hello\r\n\r\n", "short": b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n0 0 0\n",
        "no frame": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nallow", "lies": b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n0 9 0\nab",
        "no length": b"HTTP/1.1 200 OK\r\n\r\n0 0 0\n", "error": b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
        "negative": b"HTTP/1.1 200 OK\r\nContent-Length: -6\r\n\r\n0 0 0\n",
    }
    for name, answer in answers.items():
        path = os.path.join(place.folder, name.replace(" ", "-") + ".sock")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(4)

        def serve(listener=listener, answer=answer):
            connection, _ = listener.accept()
            connection.recv(65536)
            if answer is None:
                time.sleep(2)
            elif answer:
                connection.sendall(answer)
            connection.close()

        threading.Thread(target=serve, daemon=True).start()
        done = place.before("Read", {"file_path": "a"}, socket_path=path, timeout=WAIT) if answer is not None else place.hook(
            "claude", "PreToolUse", {"tool_name": "Read", "tool_input": {}, "tool_use_id": "t"}, "--deadline-ms", "300", socket_path=path)
        need(done.returncode == 2 and "Denied by Baton" in done.stderr, (name, done))
        listener.close()


class Between:
    """A socket that only looks like the node's: whoever comes is answered by `answer(request)`, which may ask the node."""

    def __init__(self, place, name, answer):
        self.path, self.node_path, self.answer, self.seen = os.path.join(place.folder, name + ".sock"), place.node.socket_path, answer, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    @staticmethod
    def message(connection):
        """The whole of a message that says its length."""
        got = b""
        while b"\r\n\r\n" not in got:
            got += connection.recv(65536)
        head, body = got.split(b"\r\n\r\n", 1)
        length = int([line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")][0].split(b":")[1])
        while len(body) < length:
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body

    def ask_node(self, request):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.node_path)
        connection.sendall(request)
        answer = self.message(connection)
        connection.close()
        return answer

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
                answer = self.answer(self, self.message(connection))
                self.seen.append(answer)
                connection.sendall(answer)
                connection.close()
            except OSError:
                return


def with_body(message, body):
    """The same message with another body."""
    lines = message.split(b"\r\n\r\n", 1)[0].split(b"\r\n")
    lines = [b"Content-Length: " + str(len(body)).encode() if line.lower().startswith(b"content-length:") else line for line in lines]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def without_header(message, name):
    head, body = message.split(b"\r\n\r\n", 1)
    return b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(name.lower() + b":")) + b"\r\n\r\n" + body


def signed_answers(place):
    """With the node's key on its command line the hook believes the node alone, of this event alone."""
    key = place.node.request("GET", "/v1/status", token=place.token).json["ledger"]["answer_key"]
    need(len(key) == 64, key)
    allowed, forbidden = {"command": "make test"}, {"command": "rm -rf /srv"}
    allow_body = b"0 0 0\n"
    bare_allow = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n" + allow_body
    number = [0]

    def ask(arguments, path=None, key=key, **more):
        number[0] += 1
        event = {"tool_name": "Bash", "tool_input": arguments, "tool_use_id": f"signed_{number[0]}"}
        return place.hook("claude", "PreToolUse", event, "--role", "agent", *(["--node-key", key] if key is not None else []), socket_path=path, **more)

    def refused(done, why="node_not_trusted"):
        need(done.returncode == 2 and "Denied by Baton: " in done.stderr and why in done.stderr, (why, done))
        need(json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny", done)

    passed(ask(allowed))
    denied(ask(forbidden), "argument_value_invalid")

    # A fake socket that answers "allow": believed by a hook that knows no key, and by no other.
    fake = Between(place, "fake", lambda between, request: bare_allow)
    passed(ask(forbidden, fake.path, key=None))
    refused(ask(forbidden, fake.path))
    refused(ask(allowed, fake.path))

    # What passes everything on unchanged is no obstacle.
    honest = Between(place, "honest", lambda between, request: between.ask_node(request))
    passed(ask(allowed, honest.path))
    denied(ask(forbidden, honest.path), "argument_value_invalid")

    # An earlier answer, whole and with its signature; also when the question is the same.
    earlier = [one for one in honest.seen if one.endswith(b"\r\n\r\n" + allow_body)][0]
    need(b"baton-signature: " in earlier.lower(), earlier)
    replay = Between(place, "replay", lambda between, request: earlier)
    refused(ask(forbidden, replay.path))
    refused(ask(allowed, replay.path))

    # The answer to another event, asked for with this one's nonce.
    def other_event(between, request):
        body = request.split(b"\r\n\r\n", 1)[1].replace(b"rm -rf /srv", b"make test")
        return between.ask_node(with_body(request, body))
    refused(ask(forbidden, Between(place, "other-event", other_event).path))

    # The answer to the same body as another event of the client, or in another role.
    refused(ask(forbidden, Between(place, "other-name", lambda between, request: between.ask_node(request.replace(b"event=PreToolUse", b"event=SessionStart"))).path))
    refused(ask(allowed, Between(place, "other-role", lambda between, request: between.ask_node(request.replace(b"role=agent", b"role=other"))).path))

    # The answer to the same event on behalf of another session.
    stripped = Between(place, "stripped", lambda between, request: between.ask_node(without_header(request, b"Baton-Session")))
    refused(ask(allowed, stripped.path, environment={"BATON_SESSION_TOKEN": "bst_something"}))

    # The same event, asked by somebody else: with a token of another session, or of another actor, that no hook sends.
    worker = place.node.request("POST", "/v1/tokens", {"actor": "worker", "kind": "agent"}, token=place.token).json["token"]
    def as_worker(between, request):
        return between.ask_node(request.replace(b"\r\n\r\n", b"\r\nAuthorization: Bearer " + worker.encode() + b"\r\n\r\n", 1))
    refused(ask(allowed, Between(place, "as-worker", as_worker).path))

    # A hook of one run speaks for its session alone, also when what passes its event on leaves out the token.
    place.run("work", "create", "The almanac", "--id", "W-signed", "--node", "unix:" + place.node.socket_path)
    claimed = place.node.request("POST", "/v1/work/W-signed/claim", {}, token=place.token).json["session"]
    opened = place.node.request("POST", "/v1/sessions", {"session_id": claimed["id"]}, token=place.token, session=claimed["token"])
    need(opened.status == 201, opened)
    event = {"tool_name": "Read", "tool_input": {"file_path": "a"}}
    def of_run(number, *more, **how):
        return place.hook("claude", "PreToolUse", {**event, "tool_use_id": f"run_{number}"}, "--node-key", key, *more, **how)
    own = {"environment": {"BATON_SESSION_TOKEN": claimed["token"]}}
    passed(of_run(1, "--session", claimed["id"], **own))
    for at, (session, how) in enumerate(((claimed["id"], {}), (claimed["id"], {"socket_path": honest.path}), ("ses_other", own), ("ses_other", {}))):
        done = of_run(2 + at, "--session", session, **how)
        need(done.returncode == 2 and "session_mismatch" in done.stderr, (session, how, done))

    # A denial that becomes an allowance on the way; changed status, outputs, or bytes behind.
    def softened(between, request):
        return with_body(between.ask_node(request), allow_body)
    refused(ask(forbidden, Between(place, "softened", softened).path))
    def exit_changed(between, request):
        answer = between.ask_node(request)
        return with_body(answer, b"0" + answer.split(b"\r\n\r\n", 1)[1][1:])
    refused(ask(forbidden, Between(place, "exit-changed", exit_changed).path))

    # No signature; a part of one; too long a one; two of them; one that is no number; a very long header.
    def resigned(change):
        def answer(between, request):
            head, body = between.ask_node(request).split(b"\r\n\r\n", 1)
            lines = [change(line) if line.lower().startswith(b"baton-signature:") else line for line in head.split(b"\r\n")]
            return b"\r\n".join(line for line in lines if line) + b"\r\n\r\n" + body
        return answer
    passed(ask(allowed, Between(place, "same", resigned(lambda line: line)).path))
    changes = {"missing": lambda line: b"", "short": lambda line: line[:-2], "long": lambda line: line + b"00", "twice": lambda line: line + b"\r\n" + line,
               "letters": lambda line: line[:-2] + b"zz", "upper": lambda line: b"Baton-Signature: " + line.split(b": ")[1].upper() + b"A",
               "zero": lambda line: b"Baton-Signature: " + b"0" * 128, "very-long": lambda line: line + b"0" * 200_000,
               "last": lambda line: line[:-1] + (b"0" if line[-1:] != b"0" else b"1"), "blanks": lambda line: b"Baton-Signature:   "}
    for name, change in changes.items():
        refused(ask(allowed, Between(place, "signature-" + name, resigned(change)).path))

    # Another key: another ledger's node, a key that nobody has, a key of small order under which anything may be a signature.
    with Workspace(place.baton) as other:
        other.init()
        other_key = other.serve().request("GET", "/v1/status").json["ledger"]["answer_key"]
    need(other_key != key, "every ledger has a key of its own")
    for wrong in (other_key, "00" * 32, "01" + "00" * 31):
        refused(ask(allowed, key=wrong))
    # What is no key is not taken for none.
    for wrong in ("", key[:-2], key + "00", key.upper() if key.upper() != key else "A" * 64, "not-a-key"):
        refused(ask(allowed, key=wrong), "baton-hook takes")

    # The key stays: a node that is started again, and a rotation of the seal key, change nothing for the hooks.
    place.restart("again")
    passed(ask(allowed))
    place.run("ledger", "keys", "rotate", "--node", "unix:" + place.node.socket_path)
    passed(ask(allowed))
    place.restart("rotated")
    passed(ask(allowed))


def rubbish_in(place):
    for raw in ("", "not json", "[]", "{", '{"hook_event_name":"PreToolUse"}', '{"hook_event_name":"PreToolUse","tool_name":7}',
                '{"hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{},"session_id":"a"}', "\0\0"):
        done = place.hook("claude", "PreToolUse", {}, raw=raw)
        need(done.returncode == 2, (raw, done))
    done = subprocess.run([place.hook_program, "Claude", "PreToolUse"], input="{}", capture_output=True, text=True, timeout=WAIT, env=place.environment())
    need(done.returncode == 2, done)
    need(place.sessions() == [], place.sessions())


def with_a_lease(place):
    """The end of a session with work is its handoff: refused, asked for again, taken; or given up."""
    for story in ("repaired", "given up"):
        place.run("work", "create", "The almanac", "--id", "W-" + story.split()[0], "--node", "unix:" + place.node.socket_path)
        claimed = place.node.request("POST", f"/v1/work/W-{story.split()[0]}/claim", {}, token=place.token).json
        token, session = claimed["session"]["token"], claimed["session"]["id"]
        opened = place.node.request("POST", "/v1/sessions", {"session_id": session}, token=place.token, session=token)
        need(opened.status == 201, opened)
        shown = {"BATON_SESSION_TOKEN": token}
        passed(place.before("Read", {"file_path": "a"}, environment=shown))
        passed(place.after("Read", {"file_path": "a"}, {}, environment=shown))
        for _ in range(2):
            done = place.hook("claude", "Stop", {"stop_hook_active": False, "last_assistant_message": "Done! Everything works."}, environment=shown)
            need(json.loads(done.stdout)["decision"] == "block" and "handoff" in json.loads(done.stdout)["reason"], done)
        if story == "repaired":
            signal = {"protocol": "apm2_agent_exit", "version": "1.0.0", "phase_completed": claimed["work"]["phase"], "exit_reason": "blocked",
                      "notes": "the almanac is not there"}
            done = place.hook("claude", "Stop", {"stop_hook_active": True, "last_assistant_message": json.dumps(signal)}, environment=shown)
            need(done.returncode == 0 and "block" not in done.stdout, done)
        else:
            done = place.hook("claude", "Stop", {"stop_hook_active": True, "last_assistant_message": "Still done."}, environment=shown)
            need(done.returncode == 0 and "block" not in done.stdout, done)
        item = place.node.request("GET", f"/v1/work/W-{story.split()[0]}", token=place.token).json["work"]
        need(item["phase"] == "BLOCKED", item)
        # Late: what it still wants is refused.
        denied(place.before("Read", {"file_path": "b"}, environment=shown), "session_closed" if story == "repaired" else "lease_stale")


def what_no_contract_allows(place):
    here = Path(place.folder)
    denied(place.before("Read", {"file_path": "/srv/app/.baton/config.yaml"}), "protected_path")
    # The node's own store, keys and pack have other names, and are known by where they lie.
    denied(place.before("Read", {"file_path": place.store + "/ledger.db"}), "protected_path")
    denied(place.before("Bash", {"command": f"cat {here}/keys/*"}), "protected_path")
    denied(place.before("Write", {"file_path": str(here / "pack/Bash.yaml"), "content": "x"}), "protected_path")
    denied(place.before("Write", {"file_path": os.path.abspath(place.hook_program), "content": "x"}), "protected_path")
    # Settings may be read, not written.
    passed(place.before("Read", {"file_path": ".claude/settings.json"}))
    passed(place.after("Read", {"file_path": ".claude/settings.json"}, {}))
    denied(place.before("Write", {"file_path": ".claude/settings.json", "content": "{}"}), "protected_path")
    denied(place.before("Bash", {"command": "echo {} > .claude/settings.json"}), "protected_path")
    # A link to what is protected, also to what is not there yet; and a second way into the project.
    os.symlink(place.store, here / "link")
    denied(place.before("Read", {"file_path": str(here / "link/ledger.db")}), "protected_path")
    denied(place.before("Bash", {"command": f"cat {here}/link/ledger.db"}), "protected_path")
    os.symlink(here / ".claude/settings.json", here / "settings")
    denied(place.before("Write", {"file_path": str(here / "settings"), "content": "{}"}), "protected_path")
    os.symlink(here, here / "around")
    denied(place.before("Write", {"file_path": str(here / "around/pack/Bash.yaml"), "content": "x"}), "protected_path")
    # Spelled otherwise, in arguments that no rule of Baton's knows by name, from where the client says it is.
    tracker = "mcp__tickets__list"
    for path in ("x\n" + place.store, f"file://{place.store}", place.store.replace("a", "%61"), str(here / "around/../link/x")):
        denied(place.before(tracker, {"of": "me", "relative": [path]}), "protected_path")
    denied(place.hook("claude", "PreToolUse", {"tool_name": tracker, "tool_input": {"of": "me", "at": "link/x"}, "cwd": str(here), "tool_use_id": "rel"}),
           "protected_path")
    # More names in links than anybody follows, and a folder whose name looks like a wildcard.
    os.mkdir(here / "x")
    os.symlink(place.store, here / "chain0")
    for number in range(13):
        os.symlink("x/../" * 700 + f"chain{number}", here / f"chain{number + 1}")
    os.mkdir(here / "[x]")
    for path in ("chain13/ledger.db", "[x]/../link/ledger.db"):
        denied(place.before(tracker, {"of": "me", "at": str(here) + "/" + path}), "protected_path")
    denied(place.before("Bash", {"command": "cp -r evil/. .claude"}), "protected_path")
    denied(place.before("Bash", {"command": "cat .cl*/x .b*/config.yaml"}), "protected_path")
    # What is handed over in the end is looked at as well.
    session = place.node.request("POST", "/v1/sessions", {"role": "agent"}, token=place.token).json["session"]

    def ask(what, body):
        return place.node.request("POST", f"/v1/sessions/{session['id']}/{what}", body, session=session["token"]).json

    proposed = ask("calls", {"calls": [{"tool": "Write", "call_id": "w", "arguments": {"file_path": "/srv/a"}}]})
    need(proposed["calls"][0]["verdict"] == "allow", proposed)
    begun = ask("start", {"call_id": "w", "arguments": {"file_path": "/srv/app/.mcp.json"}})
    need(begun["verdict"] == "block" and begun["failures"][0]["code"] == "protected_path", begun)


def facts_are_batons(place):
    """What a contract sees of a command is what the hook saw of it; what the model writes beside it is refused."""
    denied(place.before("Bash", {"command": "make test", "program": "ls"}), "fact_in_arguments")
    denied(place.before("Bash", {"command": "make test", "dev.baton": {"opaque": False}}), "fact_in_arguments")
    denied(place.before("Read", {"file_path": "a", "paths": []}), "fact_in_arguments")
    denied(place.before("mcp__tickets__list", {"of": "me", "dev.baton": {}}), "fact_in_arguments")
    passed(place.before("mcp__tickets__list", {"of": "me", "programs": ["ls"]}))
    passed(place.before("Bash", {"command": "make test"}))
    recorded = place.entries("session.step")[-1]["calls"][0]["arguments"]
    need(recorded["command"] == "make test" and recorded["dev.baton"]["program"] == "make" and recorded["dev.baton"]["cwd"] == "/srv/app", recorded)
    passed(place.after("Bash", {"command": "make test"}, {"stdout": "ok"}))
    # A contract on facts, and a call that has none.
    pack = Path(place.folder) / "claude"
    place.run("contract", "new", str(pack), "--for", "claude")
    checked = place.run("contract", "check", str(pack))
    need("FACT_PATH_MOVED" not in checked, checked)
    place.run("contract", "activate", str(pack), "--role", "claude", "--node", "unix:" + place.node.socket_path)
    session = place.node.request("POST", "/v1/sessions", {"role": "claude"}, token=place.token).json["session"]
    for arguments, reason in (({"command": "ls"}, "facts_missing"), ({"command": "ls", "dev.baton": {"opaque": False}}, "fact_in_arguments")):
        told = place.node.request("POST", f"/v1/sessions/{session['id']}/calls", {"calls": [{"tool": "Bash", "arguments": arguments}]},
                                  session=session["token"]).json
        need(told["calls"][0]["reason"] == reason, told)
    # A line that Baton cannot read needs a person.
    denied(place.hook("claude", "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "x=1; $x"}, "tool_use_id": "opaque", "session_id": "client-2"},
                      "--role", "claude"), "checkpoint")


def a_pack_to_start_from(place):
    """What `baton contract new --for` writes lets the agent work, and asks before a command line publishes something."""
    for client in ("claude", "codex", "gemini", "copilot", "opencode", "cursor"):
        pack = Path(place.folder) / client
        need("Bash.yaml" in place.run("contract", "new", str(pack), "--for", client), client)
        place.run("contract", "activate", str(pack), "--role", client, "--node", "unix:" + place.node.socket_path)

    def line(text):
        return place.hook("claude", "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": text}, "tool_use_id": text}, "--role", "claude")

    passed(line("ls -l && make test"))
    denied(line("cd src && git push origin main"), "checkpoint")


def block(agent_id, status="COMPLETE", **evidence):
    report = {name: [] for name in ("patterns_checked", "files_checked", "commands_run", "key_outputs", "verbatim_outputs", "cross_layer_impacts",
                                    "open_gaps")}
    body = {"agent_status": {"plan_status": status, "agent_id": agent_id, "pending_steps": [], "next_action": "done"},
            "evidence_report": {**report, "verification": {"result": "pass"}, **evidence}}
    return "All done.\n\n```agent_contract_handoff\n" + json.dumps(body) + "\n```"


def stop(place, text, **more):
    done = place.hook("claude", "Stop", {"stop_hook_active": False, "last_assistant_message": text}, **more)
    reason = json.loads(done.stdout)["reason"] if "block" in done.stdout else ""
    need(done.returncode == (2 if reason else 0), done)
    return reason


def lies_are_found(place):
    """What a block claims is held against what the hook saw, also after the node was started again."""
    place.run("work", "create", "The almanac", "--id", "W-1", "--node", "unix:" + place.node.socket_path)
    claimed = place.node.request("POST", "/v1/work/W-1/claim", {}, token=place.token).json
    token, session, agent = claimed["session"]["token"], claimed["session"]["id"], claimed["session"]["agent_id"]
    opened = place.node.request("POST", "/v1/sessions", {"session_id": session}, token=place.token, session=token)
    need(opened.status == 201 and opened.json["session"]["claims"] == "require", opened)
    shown = {"BATON_SESSION_TOKEN": token}
    passed(place.before("Bash", {"command": "make test"}, environment=shown))
    place.hook("claude", "PostToolUseFailure", {"tool_name": "Bash", "tool_input": {"command": "make test"}, "error": "Exit code 2\nno rule",
                                                "tool_use_id": f"toolu_{place.number}"}, environment=shown)
    denied(place.before("Bash", {"command": "rm -rf /srv"}, environment=shown), "argument_value_invalid")
    secret = "make deploy TOKEN=" + "ghp" + "_Zx9Qw3Lm7Rt5Yp1Vb8Nc2Kd6Hs4Jf0GuEiOa"
    passed(place.before("Read", {"file_path": "src/a.py"}, environment=shown))
    passed(place.after("Read", {"file_path": "src/a.py"}, {"text": ""}, environment=shown))
    place.node.stop()
    place.node = place.serve("again")
    lie = block(agent, commands_run=["make test (all green)", "rm -rf /srv", "pytest", secret], files_checked=["src/a.py:12", "src/b.py"],
                verification={"command": "make test", "result": "pass"})
    refused = place.node.request("POST", f"/v1/sessions/{session}/handoff", lie.encode(), token=place.token, session=token)
    codes = [(one["code"], one["pointer"]) for one in refused.json["diagnostics"]]
    need(refused.status == 422 and codes == [
        ("CLAIM_CONTRADICTED", "/evidence_report/commands_run/0"), ("CLAIM_CONTRADICTED", "/evidence_report/commands_run/1"),
        ("CLAIM_UNPROVEN", "/evidence_report/commands_run/2"), ("CLAIM_UNPROVEN", "/evidence_report/commands_run/3"),
        ("CLAIM_UNPROVEN", "/evidence_report/files_checked/1"), ("CLAIM_CONTRADICTED", "/evidence_report/verification/command")], refused)
    need(secret[-20:] not in str(refused.json), "a secret is said")
    reason = stop(place, lie, environment=shown)
    need("CLAIM_CONTRADICTED" in reason and "exit code 2" in reason and "argument_value_invalid" in reason, reason)
    # Mended: the check is run, and what was not done is not claimed.
    passed(place.before("Bash", {"command": "make test"}, environment=shown))
    passed(place.after("Bash", {"command": "make test"}, {"stdout": "ok"}, environment=shown))
    truth = block(agent, commands_run=["make test (all green)"], files_checked=["src/a.py:12"], verification={"command": "make test", "result": "pass"})
    need(stop(place, truth, environment=shown) == "", "the truth is refused")
    need(place.node.request("GET", "/v1/work/W-1", token=place.token).json["work"]["phase"] != "BLOCKED", "blocked")
    again = place.node.request("POST", f"/v1/sessions/{session}/handoff", truth.encode(), token=place.token, session=token)
    need(again.status == 200 and again.json["claims_counted"] == {"proven": 3, "unproven": 0, "contradicted": 0, "calls": 4}, again)
    need([one["call_id"] for one in again.json["claims"]] == [f"toolu_{place.number}", "toolu_3", f"toolu_{place.number}"], again)


def a_block_is_owed(place):
    """A pack that names a dialect is owed it by a session without work too: its handoff closes it, and what follows opens it again."""
    started = place.hook("claude", "SessionStart", {"source": "startup"})
    need("agent_contract_handoff" in started.stdout, started)
    passed(place.before("Read", {"file_path": "a"}))
    passed(place.after("Read", {"file_path": "a"}, {}))
    agent = place.node.request("GET", "/v1/sessions/" + place.sessions()[0]["id"], token=place.token).json["session"]["agent_id"]
    reason = stop(place, "Done! Everything works.")
    need("`agent_contract_handoff` block" in reason and agent in reason, reason)
    signal = {"protocol": "apm2_agent_exit", "version": "1.0.0", "phase_completed": "IMPLEMENTATION", "exit_reason": "completed"}
    reason = stop(place, json.dumps(signal))
    need("HANDOFF_DIALECT_OWED" in reason and "`agent-exit`" in reason, reason)
    need(stop(place, block(agent)) == "", "the block is refused")
    need(place.session()["standing"] == "closed", place.session())
    passed(place.before("Read", {"file_path": "b"}))
    need([one["standing"] for one in place.sessions()] == ["open"], place.sessions())  # the same, opened again
    # Never: it is given up.
    for _ in range(2):
        need(stop(place, "I will not.") != "", "asked")
    need(stop(place, "I will not.") == "", "asked a third time")
    need([one["standing"] for one in place.sessions()] == ["killed"], place.sessions())


def nothing_is_owed(place):
    """Work, and a pack that asks for no handoff: it may end without one, and hand over as it likes."""
    place.run("work", "create", "The almanac", "--id", "W-1", "--node", "unix:" + place.node.socket_path)
    claimed = place.node.request("POST", "/v1/work/W-1/claim", {}, token=place.token).json
    token, session = claimed["session"]["token"], claimed["session"]["id"]
    need(place.node.request("POST", "/v1/sessions", {"session_id": session}, token=place.token, session=token).status == 201, "opened")
    need(stop(place, "Done.", environment={"BATON_SESSION_TOKEN": token}) == "", "asked")
    signal = {"protocol": "apm2_agent_exit", "version": "1.0.0", "phase_completed": claimed["work"]["phase"], "exit_reason": "completed"}
    taken = place.node.request("POST", f"/v1/sessions/{session}/handoff", signal, token=place.token, session=token)
    need(taken.status == 200 and "claims" not in taken.json, taken)


STORIES = {one.__name__: (one, {}) for one in (
    allowed_denied_settled, approved_then_called_again, denied_and_told, output_is_judged, other_input_than_was_judged, streams_of_the_command, proxied_servers_are_the_proxys, proxied_under_another_name,
    sessions_of_the_client, limits_hold, nobody_there, odd_nodes, signed_answers, rubbish_in, with_a_lease, paused_with_a_lease, no_fresh_limits,
    below_a_supervised_agent, called_past_baton, matched_by_id_then_by_input, matched_without_ids, other_input_after_a_restart,
    other_input_after_many_calls, run_before_it_was_approved, approved_as_it_was, one_call_two_doors, nothing_begins_without_space, subagents_have_the_parents_limits, subagents_of_other_clients,
    last_words_from_the_transcript, names_with_dashes, what_no_contract_allows, facts_are_batons,
    a_pack_to_start_from)}
STORIES |= {one.__name__: (one, {"session": {"handoff": {"subagents": "agent-contract"}}}) for one in (
    subagents_owe_a_block, completed_waits_for_subagents, copilots_subagents)}


# The same with reads that are answered before they are recorded.
STORIES |= {one.__name__ + "_on_the_fast_lane": (one, {"config": "fast_lane: {reads: true}\n"}) for one in (
    subagents_have_the_parents_limits, one_call_two_doors, called_past_baton, other_input_after_a_restart, matched_by_id_then_by_input)}
STORIES.update({
    "the_queue_of_approvals_is_full": (the_queue_of_approvals_is_full, {"config": "approvals: {per_workspace: 1}\n"}),
    "lies_are_found": (lies_are_found, {"session": {"claims": "require"}}),
    "a_block_is_owed": (a_block_is_owed, {"session": {"handoff": {"dialect": "agent-contract"}}}),
    "nothing_is_owed": (nothing_is_owed, {"session": {"handoff": {"dialect": "none"}}}),
})


if __name__ == "__main__":
    sys.exit(tell(STORIES, sys.argv[3:], lambda **how: Place(sys.argv[1], sys.argv[2], **how)))
