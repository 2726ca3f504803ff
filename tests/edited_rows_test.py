#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows that somebody edited while the node was down: the node refuses them (LEDGER_PROJECTION) and never acts on them.

    edited_rows_test.py BATON

A real node on SQLite, and plain SQL. Python 3 and its standard library, nothing else.
"""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

from node_harness import Workspace
from stories import CONTRACT

TOOLS = {"Read": {}, "Deploy": {"side_effect": "write", "gate": "allow",
                                "checkpoint": {"when": [{"path": "$.where", "equals": "production"}], "timeout_seconds": 600}}}
SESSION = {"schema_version": "1.0", "agent": "edited", "session_limits": {"max_tool_calls": 3, "max_steps": 50}}


class Store:
    def __init__(self, baton):
        self.workspace = Workspace(baton)

    def __enter__(self):
        self.workspace.__enter__()
        self.operator = self.workspace.init()
        self.node = self.workspace.serve()
        self.alice, self.bob = self.token("alice"), self.token("bob")
        self.items = [self.post("/v1/work", {"title": f"item {n}", "phase": "IMPLEMENTATION"}, self.operator)["work"]["id"] for n in range(3)]
        self.session = self.post(f"/v1/work/{self.items[0]}/claim", {}, self.alice)["session"]
        pack = Path(self.workspace.folder, "pack")
        for name, more in (("strict", {}), ("lax", {"session_limits": {"max_tool_calls": 1000, "max_steps": 1000}})):
            folder = pack / name
            folder.mkdir(parents=True)
            (folder / "session.yaml").write_text(json.dumps({**SESSION, **more}))
            for tool, own in TOOLS.items():
                (folder / f"{tool}.yaml").write_text(json.dumps({"tool": tool, **CONTRACT, **own}))
        self.run("contract", "activate", str(pack / "strict"), "--role", "agent")
        self.run("contract", "activate", str(pack / "lax"), "--role", "trusted")
        opened = json.loads(self.run("session", "open", "--role", "agent", "--format", "json"))
        self.governed = opened.get("session", opened)
        self.call("Read", {}, "c0")
        self.call("Deploy", {"where": "production"}, "c1")
        self.approval = self.node.request("GET", "/v1/approvals?state=pending", token=self.operator).json["approvals"][0]
        self.agent = subprocess.Popen(["sleep", "600"])
        self.post(f"/v1/sessions/{self.session['id']}/process", {"pid": self.agent.pid}, self.alice, self.session["token"])
        self.stop()
        self.kept = str(self.workspace.folder) + "/kept"
        shutil.copytree(self.workspace.store, self.kept)
        return self

    def __exit__(self, *error):
        self.agent.kill()
        self.agent.wait()
        self.workspace.__exit__(*error)

    def token(self, actor):
        return self.post("/v1/tokens", {"actor": actor, "kind": "agent"}, self.operator)["token"]

    def post(self, path, body, token, session=None):
        answer = self.node.request("POST", path, body, token=token, session=session)
        assert answer.status in (200, 201), (path, answer)
        return answer.json

    def run(self, *words, status=0, **environment):
        return self.workspace.run(*words, "--node", "unix:" + self.node.socket_path, status=status, **{"BATON_TOKEN": self.operator, **environment})

    def call(self, tool, arguments, name):
        return self.run("session", "call", self.governed["id"], tool, "--arguments", json.dumps(arguments), "--id", name, "--format", "json",
                        status=None, BATON_SESSION_TOKEN=self.governed.get("token"))

    def stop(self):
        assert self.node.stop() == 0

    def edited(self, *statements):
        """A node on a store with this done to it."""
        shutil.rmtree(self.workspace.store)
        shutil.copytree(self.kept, self.workspace.store)
        with sqlite3.connect(self.workspace.store + "/ledger.db") as database:
            for statement, *values in statements:
                assert database.execute(statement, values).rowcount > 0, statement
        for name in ("last.seal",):
            for file in Path(self.workspace.folder, "keys").glob(f"*/{name}"):
                file.unlink()  # of the store before; this is another test's business
        self.node = self.workspace.serve()


def refused(answer, table):
    assert (answer.status, answer.code) == (503, "LEDGER_PROJECTION"), answer
    assert f"the table {table} " in json.dumps(answer.json), answer


def untouched(store):
    store.edited()
    assert store.node.request("POST", f"/v1/work/{store.items[1]}/claim", {}, token=store.bob).status == 200
    renewed = store.node.request("POST", f"/v1/sessions/{store.session['id']}/renew", {}, token=store.alice, session=store.session["token"])
    assert renewed.status == 200, renewed
    decided = store.node.request("POST", f"/v1/approvals/{store.approval['id']}/decide",
                                 {"decision": "approve", "digest": store.approval["digest"]}, token=store.operator)
    assert decided.status == 200, decided
    assert "LEDGER_PROJECTION" not in store.call("Read", {}, "c2").stderr
    store.stop()
    store.workspace.verify()


def an_item(store):
    for column, change in (("item", "replace(item, 'IMPLEMENTATION', 'READY_FOR_MERGE')"), ("phase", "'READY_FOR_MERGE'"),
                           ("queue", "'READY_FOR_MERGE'"), ("rank", "rank + 1")):
        store.edited((f"UPDATE work_items SET {column} = {change} WHERE work_id = ?", store.items[1]))
        refused(store.node.request("POST", f"/v1/work/{store.items[1]}/claim", {}, token=store.bob), "work_items")
        assert store.node.request("POST", f"/v1/work/{store.items[2]}/claim", {}, token=store.bob).status == 200, "another item"
        store.stop()
    # Somebody else's lease is not to be had by taking it away.
    store.edited(("UPDATE work_items SET item = json_remove(item, '$.lease'), queue = 'IMPLEMENTATION' WHERE work_id = ?", store.items[0]))
    refused(store.node.request("POST", f"/v1/work/{store.items[0]}/claim", {}, token=store.bob), "work_items")
    store.stop()


def a_work_session(store):
    store.edited(("UPDATE sessions SET session = replace(session, 'alice', 'bob') WHERE session_id = ?", store.session["id"]))
    for path in ("renew", "release"):
        answer = store.node.request("POST", f"/v1/sessions/{store.session['id']}/{path}", {}, token=store.bob, session=store.session["token"])
        assert answer.status == 503, answer
    store.stop()
    store.edited(("UPDATE sessions SET work_id = '' WHERE session_id = ?", store.session["id"]))
    answer = store.node.request("POST", f"/v1/sessions/{store.session['id']}/renew", {}, token=store.alice, session=store.session["token"])
    assert answer.status == 503, answer
    store.stop()


def an_approval(store):
    store.edited(("UPDATE approvals SET state = 'approved' WHERE approval_id = ?", store.approval["id"]))
    refused(store.node.request("POST", f"/v1/approvals/{store.approval['id']}/decide", {"decision": "deny", "digest": store.approval["digest"]},
                               token=store.operator), "approvals")
    store.stop()
    store.edited(("UPDATE approvals SET state = 'approved', content = replace(content, 'pending', 'approved') WHERE approval_id = ?",
                  store.approval["id"]))
    said = store.run("session", "call", store.governed["id"], "Deploy", "--arguments", '{"where":"production"}', "--id", "c1", "--start",
                     status=None, BATON_SESSION_TOKEN=store.governed.get("token"))
    assert said.returncode != 0, said
    shown = store.node.request("GET", f"/v1/sessions/{store.governed['id']}", token=store.operator)
    assert "executing" not in json.dumps(shown.json), shown
    store.stop()


def a_governed_session(store):
    store.edited(("UPDATE session_states SET content = json_set(content, '$.state.tool_calls', 0) WHERE session_id = ?",
                  store.governed["id"]))
    said = store.call("Read", {}, "c2")
    assert said.returncode != 0 and "LEDGER_PROJECTION" in said.stdout + said.stderr, said
    store.stop()
    with sqlite3.connect(store.kept + "/ledger.db") as database:
        lax = database.execute("SELECT pack FROM pack_roles WHERE role = 'trusted'").fetchone()[0]
    store.edited(("UPDATE session_states SET pack = ? WHERE session_id = ?", lax, store.governed["id"]))
    said = store.call("Read", {}, "c2")
    assert said.returncode != 0 and "LEDGER_PROJECTION" in said.stdout + said.stderr, said
    store.stop()


def a_role(store):
    with sqlite3.connect(store.kept + "/ledger.db") as database:
        lax = database.execute("SELECT pack FROM pack_roles WHERE role = 'trusted'").fetchone()[0]
    store.edited(("UPDATE pack_roles SET pack = ? WHERE role = 'agent'", lax))
    said = store.run("session", "open", "--role", "agent", status=None)
    assert said.returncode != 0 and "LEDGER_PROJECTION" in said.stdout + said.stderr, said
    store.stop()


def a_supervised_process(store):
    store.edited(("DELETE FROM supervised_processes WHERE 1 OR ?", 1))
    # What descends from the agent is the agent, as it was.
    agent = subprocess.Popen(["bash", "-c", "read -r go; eval \"$go\""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, env=store.workspace.environment(BATON_TOKEN=store.operator, BATON_NODE="unix:" + store.node.socket_path))
    store.post(f"/v1/sessions/{store.session['id']}/process", {"pid": agent.pid}, store.alice, store.session["token"])
    store.stop()
    with sqlite3.connect(store.workspace.store + "/ledger.db") as database:
        assert database.execute("DELETE FROM supervised_processes").rowcount > 0
    store.node = store.workspace.serve()
    said, _ = agent.communicate(f"{store.workspace.baton} token create --actor x --kind operator; echo status $?\n", timeout=120)
    assert "ACCESS_SUPERVISED" in said and "status 0" not in said, said
    store.stop()


def main():
    with Store(sys.argv[1]) as store:
        for case in (untouched, an_item, a_work_session, an_approval, a_governed_session, a_role, a_supervised_process):
            case(store)
            print("ok", case.__name__, flush=True)


if __name__ == "__main__":
    main()
