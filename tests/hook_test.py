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
from stories import CONTRACT, WAIT, need, tell

CONTRACTS = {
    "Read": {}, "Write": {"side_effect": "write", "gate": "allow"},
    "Bash": {"side_effect": "write", "gate": "allow", "argument_value_invariants": [{"path": "$.command", "one_of": ["make test", "make deploy"]}]},
    "Deploy": {"side_effect": "write", "gate": "allow", "checkpoint": {"when": [{"path": "$.where", "equals": "production"}], "timeout_seconds": 600}},
    "Checked": {"assertions": {"input_invariants": [], "output_invariants": [{"path": "$.good", "equals": True}]}},
    "list": {}, "tickets:list": {"argument_value_invariants": [{"path": "$.of", "one_of": ["me"]}]},
}
SESSION = {"schema_version": "1.0", "agent": "hooked", "session_limits": {"max_tool_calls": 50, "max_steps": 50}}


class Place(Workspace):
    def __init__(self, baton, hook, config=""):
        super().__init__(baton, config="exit_protocol: true\n" + config)
        self.hook_program = hook
        self.token = self.init()
        self.node = self.serve()
        pack = Path(self.folder) / "pack"
        pack.mkdir()
        (pack / "session.yaml").write_text(json.dumps(SESSION))
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
    passed(place.before("Bash", {"command": "make test"}))
    done = place.after("Bash", {"command": "make deploy"}, {"stdout": "ok"})
    need("input_changed" in done.stdout + done.stderr, done)
    need([one["state"] for one in place.session()["open_calls"]] == ["unknown"], place.session())


def proxied_servers_are_the_proxys(place):
    passed(place.before("mcp__files__list", {}))
    need([one["tool"] for one in place.session()["open_calls"]] == ["list"], place.session())
    denied(place.before("mcp__tickets__list", {"of": "you"}), "argument_value_invalid")
    passed(place.before("mcp__tickets__list", {"of": "me"}))
    need([one["tool"] for one in place.session()["open_calls"]] == ["list", "tickets:list"], place.session())
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
    # Resumed: another governed session, and not one that is over.
    need(place.hook("claude", "SessionStart", {"source": "resume"}).returncode == 0, "it begins")
    passed(place.before("Read", {"file_path": "c"}))
    need(sorted(one["standing"] for one in place.sessions()) == ["closed", "open"], place.sessions())


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
    # What is handed over in the end is looked at as well.
    session = place.node.request("POST", "/v1/sessions", {"role": "agent"}, token=place.token).json["session"]

    def ask(what, body):
        return place.node.request("POST", f"/v1/sessions/{session['id']}/{what}", body, session=session["token"]).json

    proposed = ask("calls", {"calls": [{"tool": "Write", "call_id": "w", "arguments": {"file_path": "/srv/a"}}]})
    need(proposed["calls"][0]["verdict"] == "allow", proposed)
    begun = ask("start", {"call_id": "w", "arguments": {"file_path": "/srv/app/.mcp.json"}})
    need(begun["verdict"] == "block" and begun["failures"][0]["code"] == "protected_path", begun)


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


STORIES = {one.__name__: (one, {}) for one in (
    allowed_denied_settled, approved_then_called_again, denied_and_told, output_is_judged, other_input_than_was_judged, proxied_servers_are_the_proxys,
    sessions_of_the_client, limits_hold, nobody_there, odd_nodes, rubbish_in, with_a_lease,
    what_no_contract_allows, a_pack_to_start_from)}


if __name__ == "__main__":
    sys.exit(tell(STORIES, sys.argv[3:], lambda: Place(sys.argv[1], sys.argv[2])))
