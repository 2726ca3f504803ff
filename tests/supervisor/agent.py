#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent that does what its arguments say, one after the other; for run_test.py.

    say TEXT            prints it
    claim-done          prints a contract block: COMPLETE
    exit-done           prints an exit signal: completed
    blocked | asks | reports   a block: BLOCKED, NEEDS_INPUT, IN_PROGRESS
    rubbish             a block with nothing in it
    twice               two blocks that differ
    behind              a block with text behind it
    stranger            a block of another agent
    submit              hands over by `baton handoff submit`
    evidence JSON       what its blocks say in their evidence_report, over what they say anyway
    update JSON         {"updates": the update_contracts of its blocks}
    bash COMMAND STATUS says by a hook that it ran the command, and how that ended; whether it may
    then                what stands behind it is for the next start, and the last part for all that follow
    sleep SECONDS | spin SECONDS | tick SECONDS     does nothing; uses the processor; prints a line a second
    deaf                does not hear SIGTERM
    child SECONDS       starts a process of its own group that sleeps, and says its id
    fail STATUS | die   ends so
    note FILE           appends a line to it, with what it was given
    stream              what it prints next, as Claude Code's stream-json
"""

import json
import os
import signal
import subprocess
import sys
import time

words = sys.argv[1:]
repair = "BATON_REPAIR_FILE" in os.environ
answer = "BATON_ANSWER_FILE" in os.environ
streaming = False
evidence = {}
updates = []
calls = 0


def put(text):
    if streaming:
        print(json.dumps({"type": "result", "subtype": "success", "result": text}), flush=True)
    else:
        print(text, flush=True)


def block(status, agent=None, **more):
    report = {name: [] for name in ("patterns_checked", "files_checked", "commands_run", "key_outputs", "verbatim_outputs",
                                    "cross_layer_impacts", "open_gaps")}
    report["key_outputs"] = ["the tide table is right"]
    if status == "COMPLETE":
        report["verification"] = {"method": "self-review", "result": "pass"}
    report.update(evidence)
    if updates:
        more = {**more, "update_contracts": updates}
    body = {"agent_status": {"plan_status": status, "agent_id": agent or os.environ["BATON_AGENT_ID"], "pending_steps": [],
                             "next_action": "which harbour?" if status == "NEEDS_INPUT" else "done"},
            "evidence_report": report, **more}
    return "```agent_contract_handoff\n" + json.dumps(body) + "\n```"


def hook(event, **fields):
    program = os.path.join(os.path.dirname(os.environ["TEST_BATON"]), "baton-hook")
    said = {"hook_event_name": event, "session_id": "scripted", "cwd": "/srv/app", "tool_name": "Bash", **fields}
    return subprocess.run([program, "claude", event, "--socket", os.environ["BATON_NODE"].removeprefix("unix:")], input=json.dumps(said),
                          text=True, capture_output=True).returncode


def bash(command, status):
    global calls
    calls += 1
    call = {"tool_input": {"command": command}, "tool_use_id": f"toolu_{os.environ['BATON_ROUND']}_{calls}"}
    if hook("PreToolUse", **call) != 0:
        return print("refused:", command, flush=True)
    if status == 0:
        hook("PostToolUse", tool_response={"stdout": ""}, **call)
    else:
        hook("PostToolUseFailure", error=f"Exit code {status}\nit went wrong", **call)


for _ in range(int(os.environ["BATON_ROUND"]) - 1):
    if "then" in words:
        words = words[words.index("then") + 1:]
if "then" in words:
    words = words[:words.index("then")]

while words:
    word = words.pop(0)
    if word == "say":
        put(words.pop(0))
    elif word == "claim-done":
        put("Here it is.\n\n" + block("COMPLETE", user_facing_summary="The harbour opens at seven."))
    elif word == "exit-done":
        put(json.dumps({"protocol": "apm2_agent_exit", "version": "1.0.0", "phase_completed": os.environ["BATON_PHASE"],
                        "exit_reason": "completed", "notes": "looked at the tide"}))
    elif word in ("blocked", "asks", "reports"):
        put(block({"blocked": "BLOCKED", "asks": "NEEDS_INPUT", "reports": "IN_PROGRESS"}[word]))
    elif word == "rubbish":
        put("```agent_contract_handoff\n{}\n```")
    elif word == "twice":
        put(block("BLOCKED") + "\n\n" + block("COMPLETE"))
    elif word == "behind":
        put(block("COMPLETE") + "\n\nThat is all.")
    elif word == "stranger":
        put(block("COMPLETE", agent="a0123456789"))
    elif word == "submit":
        done = subprocess.run([os.environ["TEST_BATON"], "handoff", "submit"], input=block("COMPLETE", user_facing_summary="Submitted."),
                              text=True, capture_output=True)
        print(done.stdout, done.stderr, flush=True)
    elif word == "evidence":
        evidence = json.loads(words.pop(0))
    elif word == "update":
        updates = json.loads(words.pop(0))["updates"]
    elif word == "bash":
        bash(words.pop(0), int(words.pop(0)))
    elif word == "sleep":
        time.sleep(float(words.pop(0)))
    elif word == "spin":
        until = time.monotonic() + float(words.pop(0))
        while time.monotonic() < until:
            pass
    elif word == "tick":
        for second in range(int(words.pop(0))):
            print("tick", second, flush=True)
            time.sleep(1)
    elif word == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif word == "child":
        child = subprocess.Popen(["sleep", words.pop(0)])
        print("child", child.pid, flush=True)
    elif word == "fail":
        sys.exit(int(words.pop(0)))
    elif word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "stream":
        streaming = True
    elif word == "note":
        said = sys.stdin.read()
        with open(words.pop(0), "a") as file:
            with open(os.environ["BATON_INPUT_FILE"]) as given:
                envelope = json.load(given)
            file.write(json.dumps({"arguments": sys.argv[1:], "input": said, "envelope": envelope, "pid": os.getpid(),
                                   "environment": {name: value for name, value in os.environ.items() if name.startswith("BATON_")},
                                   "repair": open(os.environ["BATON_REPAIR_FILE"]).read() if repair else None,
                                   "answer": open(os.environ["BATON_ANSWER_FILE"]).read() if answer else None}) + "\n")
    else:
        sys.exit(f"agent.py: {word}?")
