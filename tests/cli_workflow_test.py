#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workflows from the shell, with the real binary and the release train of the examples.

    cli_workflow_test.py PATH/TO/baton [STORY...]

Among the stories: the orchestrator is killed at each step of a release, under each parent_close_policy, and what becomes of the workers
is held to what the policy says. Prints one line a story; exits 1 when one failed.
"""

import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
import xml.dom.minidom
from pathlib import Path

from cli_work_test import Place, Terminal, Wrong, eventually, need

EXAMPLE = Path(__file__).resolve().parent.parent / "examples/workflows/release-train"
POLICIES = ("request_cancel", "terminate", "abandon")


class Train:
    """A workflow that runs, and its sessions by name."""

    def __init__(self, place, name, *words):
        self.place = place
        made = place.run("workflow", "start", name, "--format", "json", *words).json()
        self.id, self.tokens, self.ids = made["workflow"]["id"], {}, {}
        self.keep("orchestrator", made["session"])
        self.handoffs = {}

    def keep(self, name, session):
        self.ids[name], self.tokens[name] = session["id"], session["token"]

    def by(self, name, *words, status=0):
        return self.place.run(*words, status=status, BATON_SESSION_TOKEN=self.tokens[name])

    def offer(self, service, status=0):
        done = self.by("orchestrator", "handoff", "offer", "--to", "worker", "--artifact",
                       "task=" + json.dumps({"service": service, "version": "7.1"}), "--format", "json", status=status)
        if status == 0:
            self.handoffs[service] = done.json()["handoff"]["id"]
        return done

    def claim(self, service):
        self.keep(service, self.place.run("handoff", "claim", self.handoffs[service], "--format", "json").json()["session"])

    def call(self, name, tool, arguments, call, status=0):
        return self.by(name, "session", "call", self.ids[name], tool, "--arguments", json.dumps(arguments), "--id", call, "--start",
                       "--format", "json", status=status)

    def settle(self, name, call, output, status=0):
        return self.by(name, "session", "settle", self.ids[name], call, "--result", "ok", "--output", json.dumps(output),
                       "--format", "json", status=status)

    def look(self, name, service, call="look"):
        self.call(name, "get_status", {"service": service}, call)
        self.settle(name, call, {"version": "7.0"})

    def deploy(self, name, service, call="deploy", status=0):
        return self.call(name, "deploy", {"service": service, "version": "7.1"}, call, status=status)

    def close(self, name):
        self.by(name, "session", "close", self.ids[name])

    def shown(self):
        return self.place.run("workflow", "show", self.id, "--format", "json").json()["workflow"]

    def member(self, name):
        return next(one for one in self.shown()["members"] if one["id"] == self.ids[name])

    def stage(self, service):
        return next(one for one in self.shown()["handoffs"] if one["id"] == self.handoffs[service])["stage"]


def reason_of(done):
    """Of a call that may not be made: the first of its reasons."""
    answer = done.json()
    return answer["calls"][0]["reason"] if "calls" in answer else answer["code"]


def activate(place, policy=None, **limits):
    """The example, with this close policy, under a name of its own."""
    name = "release-train" + ("-" + policy.replace("_", "-") if policy else "")
    folder = place.folder / name
    if not folder.exists():
        shutil.copytree(EXAMPLE, folder)
        text = (folder / "workflow.yaml").read_text()
        text = text.replace("workflow: release-train", "workflow: " + name)
        if policy:
            need("{default: request_cancel}" in text, "the example has its policy")
            text = text.replace("{default: request_cancel}", "{default: %s}" % policy)
        for limit, most in limits.items():
            text = re.sub(rf"{limit}: \S+", f"{limit}: {most}", text)
        (folder / "workflow.yaml").write_text(text)
    done = place.run("contract", "activate", str(folder))
    need(f"workflows of the name {name} are held to sha256:" in done.out, str(done))
    return name


# --- the orchestrator is killed ---------------------------------------------------------------------------------------------

# The story of a release with two workers, step by step.
STEPS = [
    ("it has begun", lambda train: None),
    ("web is offered", lambda train: train.offer("web")),
    ("api is offered", lambda train: train.offer("api")),
    ("web is claimed", lambda train: train.claim("web")),
    ("api is claimed", lambda train: train.claim("api")),
    ("web is looked at", lambda train: train.look("web", "web")),
    ("web is being deployed", lambda train: train.deploy("web", "web")),
    ("api may not deploy web", lambda train: (train.look("api", "web", "look_web"),
                                              need(reason_of(train.deploy("api", "web", "steal", status=1)) == "resource_not_owner",
                                                   "one writer"))),
    ("web is deployed", lambda train: train.settle("web", "deploy", {"running": True})),
    ("web is done", lambda train: train.close("web")),
]


def check_request_cancel(train, name, deploying):
    """They may read, and settle what they have begun, and begin nothing new."""
    member = train.member(name)
    need(member["standing"] == "open" and member["cancel_requested"] is True, f"{name} is asked to end: {member}")
    need(member["parent"] == train.ids["orchestrator"], f"{name} keeps its parent: {member}")
    train.look(name, name, "look_after")
    need(reason_of(train.deploy(name, name, "after", status=1)) == "cancel_requested", f"{name} begins nothing new")
    if deploying:
        need(train.settle(name, "deploy", {"running": True}).json()["state"] == "committed", f"{name} ends what it has begun")
    need(train.stage(name) == "claimed", f"{name} has its handoff still")
    train.close(name)
    need(train.stage(name) == "completed", f"{name} is done")


def check_terminate(train, name, deploying):
    """They are killed."""
    member = train.member(name)
    need(member["standing"] == "killed" and member["ended_because"].startswith("parent_killed"), f"{name} is killed: {member}")
    need(train.stage(name) == "cancelled", f"the handoff of {name} is cancelled")
    need(reason_of(train.call(name, "get_status", {"service": name}, "after", status=1)) == "session_killed", f"{name} does nothing more")
    if deploying:
        need([call["state"] for call in member["open_calls"]] == ["unknown"], f"nobody knows of its deployment: {member}")


def check_abandon(train, name, deploying):
    """They go on as before, without a parent."""
    member = train.member(name)
    need(member["standing"] == "open" and "cancel_requested" not in member, f"{name} goes on: {member}")
    need("parent" not in member, f"{name} has no parent: {member}")
    if deploying:
        train.settle(name, "deploy", {"running": True})
    train.look(name, name, "look_after")
    train.deploy(name, name, "after")
    train.settle(name, "after", {"running": True})
    train.close(name)
    need(train.stage(name) == "completed", f"{name} is done")


def kill_at_each_step(place, policy):
    place.init()
    name = activate(place, policy)
    check = {"request_cancel": check_request_cancel, "terminate": check_terminate, "abandon": check_abandon}[policy]
    for last in range(len(STEPS)):
        where = f"{policy}, killed when {STEPS[last][0]}"
        train = Train(place, name)
        for _, step in STEPS[:last + 1]:
            step(train)
        done = place.run("workflow", "kill", train.id, "--session", train.ids["orchestrator"], "--scope", "session", "--reason", "a test",
                         "--format", "json").json()
        need(done["killed"][0] == train.ids["orchestrator"], f"{where}: {done}")
        workers = [one for one in ("web", "api") if one in train.ids]
        open_workers = [one for one in workers if not (one == "web" and last >= 9)]
        with_it = {train.ids[one] for one in open_workers} if policy == "terminate" else set()
        need(set(done["killed"][1:]) == with_it, f"{where}: {done}")
        root = train.member("orchestrator")
        need(root["standing"] == "killed" and "a test" in root["ended_because"], f"{where}: {root}")
        for service in train.handoffs:
            if service not in workers:
                need(train.stage(service) == "cancelled", f"{where}: the offer of {service} is taken back")
                refused = place.run("handoff", "claim", train.handoffs[service], status=1)
                need("handoff_not_open" in refused.err, f"{where}: {refused}")
        if last >= 9:
            need(train.member("web")["standing"] == "closed" and train.stage("web") == "completed", f"{where}: who was done stays so")
        for worker in open_workers:
            try:
                check(train, worker, deploying=worker == "web" and 6 <= last < 8)
            except Wrong as problem:
                raise Wrong(f"{where}: {problem}") from None
        whole = train.shown()
        need(whole["standing"] == "ended" and whole["active"] == 0 and whole["open_handoffs"] == 0, f"{where}: {whole}")


def killed_under_request_cancel(place):
    kill_at_each_step(place, "request_cancel")


def killed_under_terminate(place):
    kill_at_each_step(place, "terminate")


def killed_under_abandon(place):
    kill_at_each_step(place, "abandon")


# --- what people see ----------------------------------------------------------------------------------------------------------


def shown_in_every_form(place):
    place.init()
    need(place.run("workflow", "list").out == "no workflow was started\n", "none yet")
    need("nothing is offered" in place.run("handoff", "list").out, "none yet")
    activate(place)
    train = Train(place, "release-train", "--label", "release-7.1")
    for service in ("web", "api", "jobs"):
        train.offer(service)
    train.claim("web")
    train.claim("api")
    train.look("web", "web")
    train.deploy("web", "web")

    # An agent without the label is not shown what labelled sessions do; an operator is.
    need("web  single_writer" not in place.run("workflow", "tree", train.id).out, "an outline")
    operator = {"BATON_TOKEN": (place.home / ".config/baton/operator.token").read_text().strip()}
    rows = place.run("workflow", "list").out.splitlines()
    need(len(rows) == 2 and train.id in rows[1] and " open " in rows[1], str(rows))
    need([one["id"] for one in place.run("workflow", "list", "--format", "json").lines()] == [train.id], "as JSON")
    tables = place.run("workflow", "show", train.id, **operator).out
    need("3 of 8 sessions, 3 of 4 active, 2 of 100 steps, 0 of 25 cost, 3 of 3 open handoffs" in tables, tables)
    for expected in ("release-7.1", "single_writer", "HANDOFF", "written by " + train.ids["web"]):
        need(expected in tables, f"{expected}: {tables}")
    need(not re.search(r"baton_s_", tables), "no token is shown")
    tree = place.run("workflow", "tree", train.id, **operator).out
    lines = tree.splitlines()
    need(lines[0].startswith(f"release-train  {train.id}  open"), tree)
    need(lines[2].startswith(f"{train.ids['orchestrator']}  orchestrator  open  in planning  0 steps"), tree)
    web = next(line for line in lines if train.ids["web"] + "  worker" in line)
    need(web.startswith("├─ ") and "2 steps, 1 open call" in web and f"by {train.handoffs['web']}, claimed: task" in web, tree)
    need(re.search(r"^│ +deploy  deploy  executing$", tree, re.MULTILINE), tree)
    need(re.search(rf"^╰─ {train.handoffs['jobs']}  to worker  offered  task \(\d+ bytes\)$", tree, re.MULTILINE), tree)
    need(f'service web  single_writer  written by {train.ids["web"]}' in tree, tree)
    need(place.run("workflow", "tree", train.id, "--format", "json", **operator).json()["workflow"]["id"] == train.id, "as JSON")
    dot = place.run("workflow", "tree", train.id, "--format", "dot", **operator).out
    need(dot.startswith('digraph "release-train" {') and dot.endswith("}\n") and dot.count(" -> ") == 4, dot)
    svg = xml.dom.minidom.parseString(place.run("workflow", "tree", train.id, "--format", "svg", **operator).out)
    texts = [node.firstChild.data for node in svg.getElementsByTagName("text")]
    need(any(train.ids["api"] in text for text in texts), str(texts))
    offered = place.run("handoff", "list", "--role", "worker").out
    need(train.handoffs["jobs"] in offered and train.handoffs["web"] not in offered, offered)
    need("nothing is offered" in place.run("handoff", "list", "--role", "orchestrator").out, "to nobody else")
    need(train.handoffs["web"] in place.run("handoff", "list", "--stage", "claimed").out, "another stage")
    for shell in ("bash", "zsh", "fish"):
        need("workflow" in place.run("completion", shell).out, "completed")


def who_may_what(place):
    place.init()
    activate(place)
    # Whoever has no operator's token starts nothing; and nothing that is not there.
    nobody = place.folder / "nobody"
    nobody.mkdir()
    need("ACCESS_KIND" in place.run("workflow", "start", "release-train", status=1, HOME=str(nobody)).err, "an agent starts none")
    need("WORKFLOW_UNKNOWN" in place.run("workflow", "start", "freight-train", status=1).err, "none of that name")
    need("WORKFLOW_ROLE" in place.run("workflow", "start", "release-train", "--role", "driver", status=1).err, "no such role")
    for command in ("show", "tree", "watch", "kill"):
        need("WORKFLOW_UNKNOWN" in place.run("workflow", command, "wfl_none", status=1).err, command)
    for command in ("claim", "decline", "cancel"):
        need("HANDOFF_UNKNOWN" in place.run("handoff", command, "hnd_none", status=1).err, command)
    place.run("handoff", "offer", "--to", "worker", status=2)  # nobody says which session
    place.run("workflow", "start", status=2)

    train = Train(place, "release-train")
    need("handoff_artifact_missing" in train.by("orchestrator", "handoff", "offer", "--to", "worker", status=1).err, "nothing given")
    for wrong in ("task", "=x", "task=@/does/not/exist"):
        train.by("orchestrator", "handoff", "offer", "--to", "worker", "--artifact", wrong, status=2)
    train.by("orchestrator", "handoff", "offer", "--to", "worker", "--artifact", "task=1", "--artifact", "task=2", status=2)
    notes = "first\nsecond \x1b[31mred\x1b[0m\n"
    (place.work / "notes.txt").write_text(notes)
    done = train.by("orchestrator", "handoff", "offer", "--to", "worker", "--artifact", 'task={"n":[1,2]}', "--artifact",
                    "notes=@notes.txt", "--expires", "1h", "--format", "json").json()["handoff"]
    need("expires_at" in done and [one["type"] for one in done["artifacts"]] in (["text/plain", "application/json"],
                                                                              ["application/json", "text/plain"]), str(done))
    train.handoffs["web"] = done["id"]
    train.claim("web")
    train.offer("api")
    train.claim("api")
    # What was handed over is the child's, and an operator's.
    need(train.by("web", "handoff", "artifact", "task").out == '{"n":[1,2]}\n', "the content itself")
    need(train.by("web", "handoff", "artifact", "notes").out == notes, "as it was")
    need("notes  text/plain" in train.by("web", "handoff", "artifact").out, "which there are")
    need(place.run("handoff", "artifact", "notes", "--session", train.ids["web"]).out == notes, "an operator reads it")
    need("ARTIFACT_UNKNOWN" in train.by("web", "handoff", "artifact", "plan", status=1).err, "there is no such one")
    for other in ("api", "orchestrator"):
        need("REQUEST_SESSION" in train.by(other, "handoff", "artifact", "notes", "--session", train.ids["web"], status=1).err, other)
    # An offer is taken back by whoever made it.
    train.offer("jobs")
    need("SESSION_NOT_YOURS" in train.by("web", "handoff", "cancel", train.handoffs["jobs"], status=1).err, "not by another one")
    need("is cancelled" in train.by("orchestrator", "handoff", "cancel", train.handoffs["jobs"]).out, "taken back")
    train.offer("jobs")
    need("is declined" in place.run("handoff", "decline", train.handoffs["jobs"]).out, "declined")
    need("handoff_not_open" in place.run("handoff", "claim", train.handoffs["jobs"], status=1).err, "and cannot be claimed")
    # Killing: itself, what is below; all of it an operator.
    need("kill_not_permitted" in train.by("web", "workflow", "kill", train.id, status=1).err, "not all of it")
    need("kill_not_permitted" in train.by("web", "workflow", "kill", train.id, "--session", train.ids["api"], status=1).err, "nor another")
    need("kill_not_permitted" in train.by("web", "workflow", "kill", train.id, "--session", train.ids["orchestrator"], "--scope", "subtree",
                                          status=1).err, "nor what is above")
    place.run("workflow", "kill", train.id, "--session", train.ids["api"], "--scope", "workflow", status=2)
    need(train.by("web", "workflow", "kill", train.id, "--scope", "session").out == f"{train.ids['web']} is killed\n", "itself")
    train.offer("mail")
    killed = place.run("workflow", "kill", train.id, "--reason", "no train today").out
    need(sorted(killed.splitlines()) == sorted(f"{train.ids[one]} is killed" for one in ("api", "orchestrator")), killed)
    need("workflow_killed" in place.run("handoff", "claim", train.handoffs["mail"], status=1).err, "nothing begins any more")
    need(train.shown()["standing"] == "killed", "killed")
    need("no session was open there" in place.run("workflow", "kill", train.id).out, "twice is no harm")


def names_tell_a_terminal_nothing(place):
    """Names and reasons are somebody else's text, wherever they are shown."""
    place.init()
    activate(place)
    train = Train(place, "release-train")
    evil = 'a\x1b[31m"\\<b>&\x07\u202e'
    train.by("orchestrator", "handoff", "offer", "--to", "worker", "--artifact", "task=x", "--artifact", evil + "=x")
    place.run("workflow", "kill", train.id, "--session", train.ids["orchestrator"], "--reason", evil)
    for words in (("workflow", "show", train.id), ("workflow", "tree", train.id), ("workflow", "tree", train.id, "--format", "dot"),
                  ("workflow", "tree", train.id, "--format", "svg"), ("handoff", "list", "--stage", "cancelled")):
        out = place.run(*words).out
        need(not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", out), f"{words}: {out!r}")
        need("[31m" in out, f"{words} shows the name: {out!r}")
        if "svg" in words:
            xml.dom.minidom.parseString(out)
        if "dot" in words:
            need('\\"' in out, out)


def offers_end_by_themselves(place):
    place.init()
    activate(place)
    train = Train(place, "release-train")
    done = train.by("orchestrator", "handoff", "offer", "--to", "worker", "--artifact", "task=x", "--expires", "1", "--format", "json")
    train.handoffs["web"] = done.json()["handoff"]["id"]
    eventually("it expires", lambda: train.stage("web") == "expired", seconds=20)  # sooner than the node looks anyway
    need("handoff_not_open" in place.run("handoff", "claim", train.handoffs["web"], status=1).err, "and cannot be claimed")
    need(train.shown()["open_handoffs"] == 0, "nor does it count")


def whoever_holds_a_work_item_may_join(place):
    place.init()
    activate(place)
    train = Train(place, "release-train", "--label", "release-7.1")
    train.offer("web")
    place.run("work", "create", "Deploy web", "--phase", "IMPLEMENTATION")
    held = place.claim("W-1")
    done = place.run("handoff", "claim", train.handoffs["web"], "--session", held["BATON_SESSION"], "--format", "json",
                     BATON_SESSION_TOKEN=held["BATON_SESSION_TOKEN"]).json()
    need(done["session"]["id"] == held["BATON_SESSION"], f"it is the same session: {done}")
    train.ids["web"], train.tokens["web"] = held["BATON_SESSION"], held["BATON_SESSION_TOKEN"]
    member = train.member("web")
    need(member["work_id"] == "W-1" and member["labels"] == ["release-7.1"], str(member))
    train.look("web", "web")
    # Ended with its workflow, it does not hold the item any more.
    place.run("workflow", "kill", train.id)
    need(place.run("work", "show", "W-1", "--format", "json").json()["work"]["phase"] == "BLOCKED", "its item waits for somebody")


def documents_are_handoffs_too(place):
    """An orchestrator offers by a packet, a worker acknowledges it and ends with a block."""
    place.init()
    activate(place)
    train = Train(place, "release-train")
    tokens = {name: place.run("token", "create", "--actor", name, "--name", "agt_" + name, "--format", "json").json()["token"]
              for name in ("conductor", "worker", "stranger")}
    parts = json.loads((EXAMPLE.parent.parent / "uaix/handoff.json").read_text())
    for member in ("integrity", "message_id", "profile"):
        del parts[member]
    del parts["delivery"]["expires_at"], parts["delivery"]["idempotency_key"], parts["provenance"]["issued_at"]
    parts["source"]["id"] = parts["provenance"]["agent_id"] = "agt_conductor"
    parts["target"]["id"] = parts["body"]["target_agent_id"] = "agt_worker"
    parts["target"]["role"] = "worker"
    parts["body"]["evidence_refs"] = ["notes/task.md"]
    parts["extensions"] = []

    def make(kind, given):
        (place.folder / "parts.json").write_text(json.dumps(given))
        (place.folder / f"{kind}.json").write_text(place.run("uaix", "new", kind, "--with", str(place.folder / "parts.json")).out)
        return str(place.folder / f"{kind}.json")

    packet = make("handoff", parts)
    conductor = {"BATON_TOKEN": tokens["conductor"], "BATON_SESSION_TOKEN": train.tokens["orchestrator"]}
    done = place.run("handoff", "submit", packet, "--format", "json", **conductor).json()
    need(done["handoff"]["mode"] == "delegate" and done["offered"]["to"] == "worker", str(done))
    need(done["standing"] == "open", "it goes on")
    need("uaix offered taken" in place.run("handoff", "submit", packet, **conductor).out, "the same again")
    need(train.shown()["open_handoffs"] == 1, "sent again, it is no second offer")

    answer = dict(parts, source=parts["target"], target=parts["source"])
    answer["provenance"] = dict(parts["provenance"], agent_id="agt_worker")
    answer["body"] = {"task_id": parts["body"]["task_id"], "acknowledged_message_id": done["offered"]["message_id"],
                      "decision": "accept", "support_boundary": "The worker does it."}
    ack = make("ack", answer)
    refused = place.run("handoff", "ack", ack, status=1, BATON_TOKEN=tokens["stranger"])
    need("UAIX_UNATTRIBUTED" in refused.err, str(refused))
    claimed = dict(re.findall(r"export (\w+)='(\S+)'",
                              place.run("handoff", "ack", ack, "--format", "env", BATON_TOKEN=tokens["worker"]).out))
    need(claimed["BATON_HANDOFF"] == done["offered"]["id"], str(claimed))
    session = {"BATON_SESSION_TOKEN": claimed["BATON_SESSION_TOKEN"]}
    need(place.run("handoff", "artifact", "task", **session).out.strip() == "notes/task.md", "its evidence came along")

    lists = ("patterns_checked", "files_checked", "commands_run", "key_outputs", "verbatim_outputs", "cross_layer_impacts", "open_gaps")
    block = {"agent_status": {"plan_status": "COMPLETE", "agent_id": claimed["BATON_AGENT_ID"], "pending_steps": [], "next_action": "none"},
             "evidence_report": dict({name: [] for name in lists},
                                     verification={"method": "self-review", "result": "pass", "details": "looked at it"})}
    (place.folder / "block.json").write_text(json.dumps(block))
    last = place.run("handoff", "submit", str(place.folder / "block.json"), **session)
    need("agent-contract completed taken" in last.out and "the session is closed" in last.out, str(last))
    need(train.shown()["open_handoffs"] == 0 and train.shown()["active"] == 1, "the child has ended, the orchestrator goes on")
    need("session_closed" in place.run("handoff", "submit", packet, status=1, **session).err, "it has had its last word")


def subtrees_end_at_once(place):
    """Whatever their close policy says."""
    place.init()
    activate(place, "abandon")
    train = Train(place, "release-train-abandon")
    for service in ("web", "api"):
        train.offer(service)
        train.claim(service)
    killed = place.run("workflow", "kill", train.id, "--session", train.ids["orchestrator"], "--scope", "subtree", "--format", "json").json()
    need(set(killed["killed"]) == set(train.ids.values()), str(killed))
    need({train.stage("web"), train.stage("api")} == {"cancelled"}, "and their handoffs")
    need(train.shown()["standing"] == "ended", "it was not the workflow that was killed")


def activated_as_a_whole_or_in_part(place):
    place.init()
    part = place.run("contract", "activate", str(EXAMPLE), "--role", "worker")
    need("sessions of the role worker are held to sha256:" in part.out, str(part))
    place.run("contract", "activate", str(EXAMPLE), "--role", "driver", status=2)
    need("PACK_ACTIVE" in place.run("contract", "activate", str(EXAMPLE), "--hash", "sha256:0", status=1).err, "another hash")
    need("WORKFLOW_UNKNOWN" in place.run("workflow", "start", "release-train", status=1).err, "a part is no workflow")
    whole = place.run("contract", "activate", str(EXAMPLE), "--format", "json").json()
    need(place.run("contract", "activate", str(EXAMPLE), "--hash", whole["pack"]).status == 0, "the same again")
    made = place.run("workflow", "start", whole["pack"], "--format", "env").out
    need(re.fullmatch(r"export BATON_SESSION_TOKEN='baton_s_\S+'\nexport BATON_SESSION='ses_\w+'\nexport BATON_AGENT_ID='a\w+'\nexport BATON_WORKFLOW='wfl_\w+'\n", made), "by its hash")


def budgets_are_for_all_of_them(place):
    place.init()
    activate(place, max_sessions=3, max_active_sessions=2, max_total_steps=4)
    train = Train(place, "release-train")
    train.offer("web")
    train.offer("api")
    train.claim("web")
    refused = place.run("handoff", "claim", train.handoffs["api"], status=1)
    need("workflow_limit_exceeded" in refused.err and "max_active_sessions is 2" in refused.err, str(refused))
    train.look("web", "web")
    train.close("web")
    train.claim("api")
    for number in range(3):
        train.look("api", "web", f"look_{number}")
    need(reason_of(train.call("api", "get_status", {"service": "web"}, "too_many", status=1)) == "workflow_limit_exceeded", "spent")
    need("4 of 4 steps" in place.run("workflow", "tree", train.id).out, "used up")
    train.close("api")
    train.offer("jobs")
    need("max_sessions is 3" in place.run("handoff", "claim", train.handoffs["jobs"], status=1).err, "no session more, ever")


def watched_in_lines(place):
    place.init()
    activate(place, "terminate")
    train = Train(place, "release-train-terminate")
    other = Train(place, "release-train-terminate")
    watch = place.begin("workflow", "watch", train.id, "--format", "json")
    # When it listens is seen from what it hears.
    while not select.select([watch.stdout], [], [], 0.2)[0]:
        train.offer("nothing")
        train.by("orchestrator", "handoff", "cancel", train.handoffs["nothing"])
    train.offer("web")
    train.claim("web")
    train.look("web", "web")
    other.offer("web")
    train.close("orchestrator")
    text = watch.stdout.read()
    need(watch.wait(timeout=60) == 0, "it ends with the workflow")
    out = [json.loads(line) for line in text.splitlines()]
    types = [one["type"] for one in out]
    need(types.count("workflow.claimed") == 1 and "session.ended" in types and "workflow.handoff_ended" in types, str(types))
    streams = {one["stream"] for one in out}
    need(streams == {f"workflow/{train.id}", *(f"session/{one}" for one in train.ids.values())}, str(streams))
    sequences = [one["sequence"] for one in out]
    need(sequences == sorted(set(sequences)), "each once, in their order")
    last = [one for one in place.run("events", "--format", "json").lines() if one["stream"] in streams][-1]["sequence"]
    need(sequences[-1] == last, "to the very end")
    over = place.run("workflow", "watch", train.id).out
    need(f"{train.id}  ended" in over, "what has ended is not waited for")


def watched_in_a_terminal(place):
    place.init()
    activate(place)
    train = Train(place, "release-train")
    watch = Terminal(place, ["workflow", "watch", train.id])
    watch.wait_for(train.ids["orchestrator"])
    watch.wait_for("q ends")
    at = len(watch.out)
    train.offer("web")
    watch.wait_for(train.handoffs["web"], at)
    train.claim("web")
    watch.wait_for(train.ids["web"], at)
    at = len(watch.out)
    train.look("web", "web")  # of a session that was not there when it began
    watch.wait_for("1 step", at)
    place.run("workflow", "kill", train.id)
    need(watch.finish() == 0, f"it ends with the workflow: {watch.status}")
    left = re.sub(r"\x1b\[[0-9;]*m", "", watch.out[watch.out.rindex("\x1b[?1049l"):])
    need(f"{train.id}  killed" in left, f"and shows what it came to: {left}")
    second = Terminal(place, ["workflow", "watch", Train(place, "release-train").id])
    second.wait_for("q ends")
    second.type("q")
    need(second.finish() == 0, "q ends it")


def the_example_runs(place):
    """As its README says, with nothing left behind."""
    done = subprocess.run([str(EXAMPLE / "run.sh"), place.baton], capture_output=True, text=True, timeout=300, env=place.environment(),
                          cwd=place.work, start_new_session=True)
    need(done.returncode == 0 and done.stdout.endswith("released\n"), done.stdout + done.stderr)
    need("resource_not_owner" in done.stdout and "workflow_limit_exceeded" in done.stderr, done.stdout + done.stderr)
    need(not list(place.work.iterdir()) and not list(place.home.iterdir()), "nothing is left behind")


STORIES = [killed_under_request_cancel, killed_under_terminate, killed_under_abandon, shown_in_every_form, who_may_what,
           names_tell_a_terminal_nothing, offers_end_by_themselves, whoever_holds_a_work_item_may_join,
           documents_are_handoffs_too, subtrees_end_at_once,
           activated_as_a_whole_or_in_part, budgets_are_for_all_of_them, watched_in_lines, watched_in_a_terminal, the_example_runs]


def main(arguments):
    if not arguments or not os.access(arguments[0], os.X_OK):
        print(__doc__, file=sys.stderr)
        return 2
    wanted, failed = arguments[1:], 0
    for story in STORIES:
        if wanted and story.__name__ not in wanted:
            continue
        place = Place(os.path.abspath(arguments[0]))
        began = time.monotonic()
        try:
            story(place)
            print(f"ok      {story.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        except (Wrong, AssertionError, subprocess.SubprocessError, OSError, LookupError, ValueError, AttributeError) as problem:
            failed += 1
            log = place.work / ".baton/node.log"
            print(f"FAILED  {story.__name__}: {problem}\n{log.read_text()[-2000:] if log.exists() else ''}", flush=True)
        finally:
            place.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
