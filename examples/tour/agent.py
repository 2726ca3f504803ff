#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent of the tour: it says and does what is written here, so that it needs no model and no network.

    baton run ... -- ./agent.py implement | review | merge

Everything around that is as with a coding agent. It is started by `baton run`, asks its hooks before each call (`baton-hook claude
PreToolUse`, with the JSON that Claude Code sends), makes the call if nothing is said against it, reads why not if something is, and
hands over in its last words. Started again, because that was refused, it reads what was wrong with it.
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
MEMORY = Path(__file__).resolve().parent / "agent-memory.json"  # what a model has in its conversation
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
    output, failed = carry_out(tool, given)
    if failed:
        hook("PostToolUseFailure", tool, given, number, error=failed)
    else:
        hook("PostToolUse", tool, given, number, tool_response=output)
    say(f"[agent] did    {shown(tool, given)}: {failed.splitlines()[-1] if failed else 'ok'}")


def decision_on(approval):
    """Waits until a person has decided, as anybody may who holds the session's token, and says what."""
    until = time.monotonic() + ANSWER_SECONDS_MAX
    while time.monotonic() < until:
        done = subprocess.run(["baton", "approvals", "show", approval, "--format", "json"], capture_output=True, text=True, timeout=CALL_SECONDS_MAX)
        if done.returncode == 0 and (decided := json.loads(done.stdout)["approval"])["state"] != "pending":
            return decided
        time.sleep(0.3)
    return {"state": "not decided"}


# --- what it hands over -----------------------------------------------------------------------------------------------------------


def handoff(status, summary, next_action="none", **evidence):
    report = {"patterns_checked": [], "files_checked": [], "commands_run": [], "key_outputs": [summary], "verbatim_outputs": [],
              "cross_layer_impacts": [], "open_gaps": [], **evidence}
    report = {name: value for name, value in report.items() if value is not None}
    body = {"agent_status": {"plan_status": status, "agent_id": os.environ["BATON_AGENT_ID"], "pending_steps": [], "next_action": next_action},
            "evidence_report": report, "user_facing_summary": summary}
    members = ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in body.items())
    say("```agent_contract_handoff\n{\n" + members + "\n}\n```")


# --- its three jobs ---------------------------------------------------------------------------------------------------------------


def implement():
    if "BATON_REPAIR_FILE" in os.environ:
        return hand_over_again()
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

    try:
        call("Bash", command=PUSH)
        pushed = True
    except Denied as denied:
        asked = re.search(r"approval (apr_\w+)", str(denied))
        if not asked:
            raise
        say("[agent] so I wait until somebody has decided.")
        decision = decision_on(asked.group(1))
        pushed = decision["state"] == "approved"
        say(f"[agent] it is {decision['state']}: {decision.get('note') or 'no note'}")
        if pushed:
            call("Bash", command=PUSH)
    MEMORY.write_text(json.dumps({"pushed": pushed}))
    say("[agent] Done! Everything works.")
    handoff("COMPLETE", "The gate opens two hours before high water.", commands_run=None)  # as they do: nothing to show for it


def hand_over_again():
    say("[agent] my handoff was refused. What I was told:")
    with open(os.environ["BATON_REPAIR_FILE"]) as file:
        told = file.read()
    for line in told.splitlines():
        if "HANDOFF_" in line:
            say(f"[agent]   {line.strip()}")
    seen = {"files_checked": ["tides.py", "test_tides.py"]}
    if json.loads(MEMORY.read_text())["pushed"]:
        handoff("COMPLETE", "The gate opens two hours before high water.", commands_run=[TESTS, PUSH],
                verification={"method": TESTS, "result": "pass"}, **seen)
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
