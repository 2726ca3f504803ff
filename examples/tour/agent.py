#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent of the tour: it says and does what is written here, so that it needs no model and no network.

    baton run ... -- ./agent.py implement | review | merge

Everything around that is as with a coding agent. It is started by `baton run`, asks its hooks before each call (`baton-hook claude
PreToolUse`, with the JSON that Claude Code sends), makes the call if nothing is said against it, and reads why not if something is. It
hands over by `baton handoff submit`: Baton does not know this client, so nothing that it prints counts. A handoff that is refused
comes back with what is wrong with it.
"""

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

CALL_SECONDS_MAX = 120
HOOK_MILLISECONDS = "30000"  # a machine may be busy; what has no answer by then is denied
ANSWER_SECONDS_MAX = 900  # for a person; the checkpoint of the contract lasts longer
PROPOSED_AGAIN_SECONDS = 0.5
MENDED = ("BEFORE_HIGH_WATER = 60", "BEFORE_HIGH_WATER = 120")
TESTS = "python3 -m unittest"
PUSH = "git push -q origin agent/gate"


def say(text=""):
    print(text, flush=True)


def shown(tool, given):
    return f"{tool} {given['command']}" if tool == "Bash" else f"{tool} {os.path.basename(given['file_path'])}"


# --- hooks and tools ------------------------------------------------------------------------------------------------------------


class Denied(Exception):
    """Why a call may not be made, and what to do instead: what a model reads."""


NUMBERS = itertools.count(1)


def hook(event, tool, given, number, **more):
    """Asks the hook about a call, or tells it what came of one: its exit status, and what the model is told."""
    said = {"hook_event_name": event, "session_id": os.environ["BATON_SESSION"], "transcript_path": "", "cwd": os.getcwd(),
            "tool_name": tool, "tool_input": given, "tool_use_id": f"toolu_{os.getpid()}_{number}", **more}
    done = subprocess.run(["baton-hook", "claude", event, "--deadline-ms", HOOK_MILLISECONDS], input=json.dumps(said), capture_output=True, text=True,
                          timeout=CALL_SECONDS_MAX)
    return done.returncode, done.stderr.strip()


def carry_out(tool, given):
    """What the client does when a call may be made: what came out, and why it failed if it did."""
    if tool == "Bash":
        done = subprocess.run(shlex.split(given["command"]), capture_output=True, text=True, timeout=CALL_SECONDS_MAX)
        failed = "" if done.returncode == 0 else f"Exit code {done.returncode}\n{done.stdout}{done.stderr}".strip()
        return {"stdout": done.stdout, "stderr": done.stderr, "interrupted": False}, failed
    path = Path(given["file_path"])
    text = path.read_text()
    if tool == "Read":
        return {"type": "text", "file": {"filePath": str(path), "content": text}}, ""
    path.write_text(text.replace(given["old_string"], given["new_string"]))
    return {"filePath": str(path), "oldString": given["old_string"], "newString": given["new_string"]}, ""


def call(tool, **given):
    """Makes a call, if it may be made."""
    number = next(NUMBERS)
    say(f"[agent] wants  {shown(tool, given)}")
    status, why = hook("PreToolUse", tool, given, number)
    if status != 0:
        say(f"[hook]  {why}")
        raise Denied(why)
    finish(tool, given, number)


def finish(tool, given, number):
    """Carries out a call that may be made, and tells the hook what came of it."""
    output, failed = carry_out(tool, given)
    if failed:
        hook("PostToolUseFailure", tool, given, number, error=failed)
    else:
        hook("PostToolUse", tool, given, number, tool_response=output)
    say(f"[agent] did    {shown(tool, given)}: {failed.splitlines()[-1] if failed else 'ok'}")


def call_when_decided(tool, **given):
    """Makes a call that a person was asked about: the same call, proposed again until somebody has decided. Proposing it again joins the one
    that waits, and costs nothing."""
    until = time.monotonic() + ANSWER_SECONDS_MAX
    while True:
        number = next(NUMBERS)
        status, why = hook("PreToolUse", tool, given, number)
        if status == 0:
            say("[agent] somebody has said yes.")
            return finish(tool, given, number)
        if "Denied by checkpoint:" not in why or time.monotonic() > until:
            say(f"[hook]  {why}")
            raise Denied(why)
        time.sleep(PROPOSED_AGAIN_SECONDS)


# --- what it hands over -----------------------------------------------------------------------------------------------------------


def hand_in(status, summary, next_action="none", **evidence):
    report = {"patterns_checked": [], "files_checked": [], "commands_run": [], "key_outputs": [summary], "verbatim_outputs": [],
              "cross_layer_impacts": [], "open_gaps": [], **evidence}
    report = {name: value for name, value in report.items() if value is not None}
    body = {"agent_status": {"plan_status": status, "agent_id": os.environ["BATON_AGENT_ID"], "pending_steps": [], "next_action": next_action},
            "evidence_report": report, "user_facing_summary": summary}
    members = ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in body.items())
    block = "```agent_contract_handoff\n{\n" + members + "\n}\n```"
    say(block)
    done = subprocess.run(["baton", "handoff", "submit"], input=block, capture_output=True, text=True, timeout=CALL_SECONDS_MAX)
    return done.returncode == 0, done.stdout + done.stderr


def handoff(*given, **evidence):
    """Hands in what is to be taken as it is."""
    taken, told = hand_in(*given, **evidence)
    if not taken:
        sys.exit(f"[agent] my handoff was refused: {told}")


# --- its three jobs ---------------------------------------------------------------------------------------------------------------


def implement():
    here = os.getcwd()
    with open(os.environ["BATON_INPUT_FILE"]) as file:
        task = json.load(file)["agent_contract_handoff"]
    say(f"[agent] my task: {task['goal']}")
    call("Bash", command=TESTS)

    call("Read", file_path=f"{here}/test_tides.py")
    say("[agent] the quickest way to green is to change what the test expects.")
    try:
        call("Edit", file_path=f"{here}/test_tides.py", old_string="12:30", new_string="13:30")
    except Denied:
        say("[agent] then the code it is.")
    source = {"file_path": f"{here}/tides.py"}
    edit = {**source, "old_string": MENDED[0], "new_string": MENDED[1]}
    try:
        call("Edit", **edit)
    except Denied as denied:
        if "Read" not in str(denied):
            raise
        say("[agent] that says what to do first, so I do it.")
        call("Read", **source)
        call("Edit", **edit)
    call("Bash", command=TESTS)
    call("Bash", command="git commit -qam 'gate: opens two hours before high water'")

    pushed = True
    try:
        call("Bash", command=PUSH)
    except Denied as denied:
        if not re.search(r"approval (apr_\w+)", str(denied)):
            raise
        say("[agent] so I wait until somebody has decided.")
        try:
            call_when_decided("Bash", command=PUSH)
        except Denied:
            pushed = False
    say("[agent] Done! Everything works.")
    summary = "The gate opens two hours before high water."
    taken, told = hand_in("COMPLETE", summary, commands_run=None)  # as they do: nothing to show for it
    if taken:
        return
    say("[agent] my handoff was refused. What I was told:")
    for line in told.splitlines():
        if "HANDOFF_" in line:
            say(f"[agent]   {line.strip()}")
    seen = {"files_checked": ["tides.py", "test_tides.py"]}
    if pushed:
        handoff("COMPLETE", summary, commands_run=[TESTS, PUSH], verification={"method": TESTS, "result": "pass"}, **seen)
    else:
        handoff("BLOCKED", "The gate opens two hours before high water, on this machine. The push was not approved.",
                next_action="decide what is to become of the branch agent/gate", commands_run=[TESTS],
                open_gaps=["the push of agent/gate was not approved"], **seen)


def review():
    call("Bash", command="git diff main agent/gate")
    call("Read", file_path=f"{os.getcwd()}/tides.py")
    call("Bash", command=TESTS)
    handoff("COMPLETE", "Reviewed: one constant, and the tests say what the harbour office says.", commands_run=["git diff main agent/gate", TESTS],
            files_checked=["tides.py"], verification={"method": TESTS, "result": "pass"})


def merge():
    call("Bash", command="git checkout -q main")
    call("Bash", command="git merge -q --ff-only agent/gate")
    call("Bash", command=TESTS)
    handoff("COMPLETE", "Merged: main has the new time of the gate.", commands_run=["git merge -q --ff-only agent/gate", TESTS],
            verification={"method": TESTS, "result": "pass"})


JOBS = {"implement": implement, "review": review, "merge": merge}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in JOBS:
        sys.exit(__doc__)
    try:
        JOBS[sys.argv[1]]()
    except Denied:
        sys.exit("[agent] I cannot do that, and have no other way.")
