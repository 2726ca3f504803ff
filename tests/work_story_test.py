#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole story with real nodes: two agents, CI and an operator, over HTTP and from the shell.

    work_story_test.py BATON [--postgres]

One node on SQLite, or two on one PostgreSQL (BATON_TEST_POSTGRES, from tests/with_postgres.py), of which one is killed in the
middle. Python 3 and its standard library, nothing else.
"""

import hashlib
import hmac
import json
import os
import subprocess
import sys
import threading
import time
import uuid

from node_harness import Workspace

SECRET = "a webhook secret of more than 32 bytes, for tests"
CONFIG = """
exit_protocol: true
lease: {ttl: 2m}
webhooks:
  in: [{repository: harbour/tideboard, secret_file: secrets/github}]
"""


def signal_of(phase, reason="completed", **more):
    return json.dumps({"protocol": "apm2_agent_exit", "version": "1.0.0", "phase_completed": phase, "exit_reason": reason, **more})


def workflow_run(conclusion="success", sha="b" * 40, number=57):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return json.dumps({
        "action": "completed",
        "workflow_run": {"id": 1, "name": "ci", "status": "completed", "conclusion": conclusion, "head_sha": sha,
                         "updated_at": now, "pull_requests": [{"number": number}]},
        "repository": {"full_name": "harbour/tideboard"},
    })


def deliver(node, body, secret=SECRET, kind="workflow_run", delivery=None):
    signature = "sha256=" + hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    return node.request("POST", "/v1/webhooks/github", body, tcp=True, headers={
        "X-GitHub-Event": kind, "X-GitHub-Delivery": delivery or str(uuid.uuid4()), "X-Hub-Signature-256": signature})


class Story:
    def __init__(self, workspace, operator, first, second):
        self.workspace, self.operator, self.first, self.second = workspace, operator, first, second
        self.alice = self.token("alice", "agent")
        self.bob = self.token("bob", "agent")
        self.ci = self.token("ci-runner", "ci")

    def token(self, actor, kind):
        made = self.first.request("POST", "/v1/tokens", {"actor": actor, "kind": kind}, token=self.operator)
        assert made.status == 201, made
        return made.json["token"]

    def work(self, node, work_id):
        shown = node.request("GET", "/v1/work/" + work_id, token=self.alice, tcp=True)
        assert shown.status == 200, shown
        return shown.json["work"]

    def create(self, node, **members):
        made = node.request("POST", "/v1/work", {"title": "tide tables for 2027", **members}, token=self.operator)
        assert made.status == 201, made
        return made.json["work"]["id"]

    def claim(self, node, token, work_id, **members):
        return node.request("POST", f"/v1/work/{work_id}/claim", members, token=token, tcp=True)

    def hand_off(self, node, token, session, document):
        return node.request("POST", f"/v1/sessions/{session['id']}/handoff", document, token=token, session=session["token"], tcp=True)


def the_whole_story(story, kill_first):
    first, second = story.first, story.second
    work_id = story.create(first, phase="IMPLEMENTATION")
    claimed = story.claim(first, story.alice, work_id)
    assert claimed.status == 200, claimed
    session = claimed.json["session"]
    assert story.claim(second, story.bob, work_id).code == "CLAIM_HELD"

    document = signal_of("IMPLEMENTATION", pr_url="https://github.com/harbour/tideboard/pull/57")
    wrong = story.hand_off(second, story.alice, session, signal_of("REVIEW"))
    assert (wrong.status, wrong.code) == (409, "EXIT_PHASE_MISMATCH"), wrong
    done = story.hand_off(second, story.alice, session, document)
    assert done.status == 200 and done.json["work"]["phase"] == "CI_PENDING", done
    assert "lease" not in done.json["work"], done

    # Sent again: the first receipt. Another document: refused for its lease.
    again = story.hand_off(second, story.alice, session, document)
    assert again.status == 200 and again.json["receipt"] == done.json["receipt"], (again, done)
    other = story.hand_off(second, story.alice, session, signal_of("IMPLEMENTATION", notes="other"))
    assert (other.status, other.code) == (409, "EXIT_LEASE"), other

    # The second agent waits, on the second node, without polling.
    waited = {}

    def wait():
        waited["answer"] = second.request("POST", "/v1/claim", {"phases": ["READY_FOR_REVIEW"], "wait_seconds": 60},
                                          token=story.bob, tcp=True, timeout=90)
        waited["at"] = time.monotonic()

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.5)
    assert waiting.is_alive(), waited

    # An agent cannot play CI; a wrong signature changes nothing.
    played = first.request("POST", f"/v1/work/{work_id}/ci", {"result": "success"}, token=story.alice)
    assert played.status == 403, played
    played = first.request("POST", f"/v1/work/{work_id}/handoff", signal_of("CI_PENDING"), token=story.alice)
    assert played.status == 403, played
    forged = deliver(first, workflow_run(), secret="another secret, also of more than 32 bytes")
    assert forged.status == 401, forged
    assert story.work(second, work_id)["phase"] == "CI_PENDING"
    assert waiting.is_alive()

    if kill_first:
        first.kill()
    delivery = str(uuid.uuid4())
    reported = workflow_run()  # it has the time in it: another one would be another report
    moved_at = time.monotonic()
    moved = deliver(second, reported, delivery=delivery)
    assert moved.status == 202 and moved.json["result"] == "moved", moved
    waiting.join(60)
    assert not waiting.is_alive() and waited["answer"].status == 200, waited
    got = waited["answer"].json
    assert got["work"]["id"] == work_id and got["work"]["phase"] == "REVIEW", got
    print(f"woken {1000 * (waited['at'] - moved_at):.1f} ms after the webhook was sent")
    repeated = deliver(second, reported, delivery=delivery)
    assert repeated.json["result"] == "duplicate", repeated

    # The one who implemented it cannot review it, by any way.
    assert story.claim(second, story.alice, work_id).code in ("CLAIM_SAME_ACTOR", "CLAIM_HELD")
    reviewed = story.hand_off(second, story.bob, got["session"], signal_of("REVIEW"))
    assert reviewed.status == 200 and reviewed.json["next_phase"] == "READY_FOR_MERGE", reviewed
    assert story.claim(second, story.alice, work_id).code == "CLAIM_SAME_ACTOR"
    merging = story.claim(second, story.bob, work_id)
    assert merging.status == 200, merging
    merged = story.hand_off(second, story.bob, merging.json["session"], signal_of("READY_FOR_MERGE"))
    assert merged.status == 200 and merged.json["work"]["phase"] == "COMPLETED", merged
    return work_id


def the_ways_ci_fails(story):
    node = story.second
    # CI says no: blocked. An operator lets it go on, an agent cannot.
    work_id = story.create(node, phase="IMPLEMENTATION")
    session = story.claim(node, story.alice, work_id).json["session"]
    assert story.hand_off(node, story.alice, session, signal_of("IMPLEMENTATION")).status == 200
    failed = node.request("POST", f"/v1/work/{work_id}/ci", {"result": "failure"}, token=story.ci, tcp=True)
    assert failed.status == 200 and failed.json["work"]["phase"] == "BLOCKED", failed
    assert node.request("POST", f"/v1/work/{work_id}/unblock", {}, token=story.alice).status == 403
    unblocked = node.request("POST", f"/v1/work/{work_id}/unblock", {}, token=story.operator)
    assert unblocked.status == 200 and unblocked.json["work"]["phase"] == "IMPLEMENTATION", unblocked
    # An exit signal with a ci token.
    session = story.claim(node, story.alice, work_id).json["session"]
    assert story.hand_off(node, story.alice, session, signal_of("IMPLEMENTATION")).status == 200
    passed = node.request("POST", f"/v1/work/{work_id}/handoff", signal_of("CI_PENDING"), token=story.ci, tcp=True)
    assert passed.status == 200 and passed.json["work"]["phase"] == "READY_FOR_REVIEW", passed


def a_token_counts_on_every_node_at_once(story):
    """Made on one node, shown to the other in the next moment."""
    for _ in range(20):
        token = story.token("alice", "agent")
        shown = story.second.request("GET", "/v1/work", token=token, tcp=True)
        assert shown.status == 200, shown


def an_agent_stays_an_agent(story):
    """Under a supervised agent the operator's token is worth nothing, on the socket; and a session's bearer is an agent on TCP."""
    node = story.second
    work_id = story.create(node, phase="IMPLEMENTATION")
    session = story.claim(node, story.alice, work_id).json["session"]
    blocked = story.hand_off(node, story.alice, session, signal_of("IMPLEMENTATION", "blocked", notes="which datum?"))
    assert blocked.json["work"]["phase"] == "BLOCKED", blocked
    other = story.create(node, phase="IMPLEMENTATION")
    session = story.claim(node, story.alice, other).json["session"]

    # A shell that stands for the agent: registered, then told to try.
    agent = subprocess.Popen(["bash", "-c", "read -r go; eval \"$go\""], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, env=story.workspace.environment(BATON_TOKEN=story.operator, BATON_NODE="unix:" + node.socket_path))
    registered = node.request("POST", f"/v1/sessions/{session['id']}/process", {"pid": agent.pid}, token=story.alice, session=session["token"])
    assert registered.status == 200, registered
    tried = f"{story.workspace.baton} work unblock {work_id}; echo status $?; ( {story.workspace.baton} token create --actor x --kind operator; echo status $? )\n"
    said, _ = agent.communicate(tried, timeout=60)
    assert "ACCESS_SUPERVISED" in said and "status 0" not in said, said
    assert story.work(node, work_id)["phase"] == "BLOCKED"

    # TCP: only tokens count, and whoever carries a session's is an agent.
    for bearer in (story.operator, session["token"]):
        refused = node.request("POST", f"/v1/work/{work_id}/unblock", {}, token=bearer, session=session["token"], tcp=True)
        assert refused.status == 403, refused
    refused = node.request("POST", f"/v1/work/{work_id}/unblock", {}, tcp=True)
    assert refused.status == 401, refused
    refused = node.request("POST", f"/v1/work/{work_id}/unblock", {}, token="baton_o_" + "0" * 32 + "_" + "A" * 43, tcp=True)
    assert (refused.status, refused.code) == (401, "ACCESS_TOKEN"), refused
    # The same from the shell by the operator himself: done.
    story.workspace.run("work", "unblock", work_id, BATON_TOKEN=story.operator, BATON_NODE="unix:" + node.socket_path)
    assert story.work(node, work_id)["phase"] == "IMPLEMENTATION"


def main():
    baton = sys.argv[1]
    postgres = os.environ.get("BATON_TEST_POSTGRES") if "--postgres" in sys.argv else None
    with Workspace(baton, store=postgres, config=CONFIG) as workspace:
        with open(os.path.join(workspace.folder, "secrets", "github"), "w") as file:
            file.write(SECRET)
        os.chmod(file.name, 0o600)
        operator = workspace.init()
        first = workspace.serve("a")
        second = workspace.serve("b") if postgres else first
        story = Story(workspace, operator, first, second)
        a_token_counts_on_every_node_at_once(story)
        the_whole_story(story, kill_first=bool(postgres))
        the_ways_ci_fails(story)
        an_agent_stays_an_agent(story)
        assert second.stop() == 0
        workspace.verify()
    print("the story holds")


if __name__ == "__main__":
    main()
