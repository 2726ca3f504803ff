#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A store that was restored from a backup, cut, or lost its log: the node reads and records nothing until an operator accepts it.

    restore_test.py BATON

Real nodes on SQLite. Python 3 and its standard library, nothing else.
"""

import json
import os
import shutil
import sys
import time

from node_harness import Workspace


def create(node, operator, title):
    return node.request("POST", "/v1/work", {"title": title, "phase": "IMPLEMENTATION"}, token=operator)


def last_seal(workspace):
    keys = os.path.join(workspace.folder, "keys")
    folders = [name for name in os.listdir(keys) if os.path.isdir(os.path.join(keys, name))]
    assert len(folders) == 1, folders
    return os.path.join(keys, folders[0], "last.seal")


def kept_size(workspace):
    with open(last_seal(workspace)) as file:
        return int(file.read().splitlines()[1])


def expect_behind(workspace, node, operator, agent, keeper):
    shown = node.request("GET", "/v1/status", token=operator)
    assert shown.status == 200, shown
    behind = shown.json["ledger"]["behind"]
    assert any(keeper in one["problem"] for one in behind), behind
    # Nothing is recorded, so nothing is allowed, whoever asks; reading goes on.
    for method, path, body, token in (("POST", "/v1/work", {"title": "x"}, operator),
                                      ("POST", "/v1/claim", {"phases": ["IMPLEMENTATION"]}, agent),
                                      ("POST", "/v1/tokens", {"actor": "x", "kind": "agent"}, operator),
                                      ("POST", "/v1/ledger/keys/rotate", {}, operator),
                                      ("POST", "/v1/ledger/witnesses", {"witness": "folder:/nowhere"}, operator)):
        refused = node.request(method, path, body, token=token)
        assert (refused.status, refused.code) == (503, "LEDGER_BEHIND"), (path, refused)
        assert "accept-restore" not in json.dumps(refused.json), refused
    assert node.request("GET", "/v1/work", token=agent).status == 200
    said = workspace.run("status", "--format", "json", status=None, BATON_NODE="unix:" + node.socket_path, BATON_TOKEN=operator)
    assert said.returncode == 1 and json.loads(said.stdout)["ledger"]["behind"], said
    said = workspace.run("status", status=None, BATON_NODE="unix:" + node.socket_path, BATON_TOKEN=operator)
    assert said.returncode == 1 and "restored or cut" in said.stdout, said
    # An agent accepts nothing.
    refused = node.request("POST", "/v1/ledger/restore/accept", {"note": "me"}, token=agent)
    assert refused.status == 403, refused


def accept(workspace, node, operator, note):
    environment = {"BATON_NODE": "unix:" + node.socket_path, "BATON_TOKEN": operator}
    done = workspace.run("ledger", "accept-restore", "--yes", "--note", note, **environment)
    assert "accepted" in done, done
    again = workspace.run("ledger", "accept-restore", "--yes", status=None, **environment)
    assert again.returncode == 1 and "nothing to accept" in again.stderr, again


def verdict(workspace):
    said = workspace.run("ledger", "verify", "--format", "json", status=None)
    assert said.returncode in (0, 1), said
    return json.loads(said.stdout)


def main():
    baton = sys.argv[1]
    with Workspace(baton) as workspace:
        operator = workspace.init()
        node = workspace.serve()
        agent = node.request("POST", "/v1/tokens", {"actor": "alice", "kind": "agent"}, token=operator).json["token"]
        assert create(node, operator, "one").status == 201
        assert node.stop() == 0
        backup = os.path.join(workspace.folder, "backup")
        shutil.copytree(workspace.store, backup)

        node = workspace.serve()
        witness = os.path.join(workspace.folder, "witness")
        os.makedirs(witness)
        assert node.request("POST", "/v1/ledger/witnesses", {"witness": "folder:" + witness}, token=operator).status == 200
        for number in range(5):
            assert create(node, operator, f"after the backup {number}").status == 201
        assert node.stop() == 0
        newest = os.path.join(workspace.folder, "newest")
        shutil.copytree(workspace.store, newest)
        size = kept_size(workspace)
        assert verdict(workspace)["entries"] == size, "an orderly end keeps the newest seal"

        # Restored from the backup: the witness is not in it, the node's own seal tells.
        shutil.rmtree(workspace.store)
        shutil.copytree(backup, workspace.store)
        found = verdict(workspace)
        assert found["broken"]["code"] == "LEDGER_CUT" and "this node" in found["broken"]["message"], found
        node = workspace.serve()
        expect_behind(workspace, node, operator, agent, "this node has seen")
        assert node.stop() == 0
        assert verdict(workspace)["broken"]["code"] == "LEDGER_CUT", "nothing was recorded"

        # The newest store is put back: all is well, nothing had to be accepted.
        shutil.rmtree(workspace.store)
        shutil.copytree(newest, workspace.store)
        node = workspace.serve()
        assert create(node, operator, "it was put back").status == 201
        assert node.stop() == 0
        workspace.verify()
        shutil.rmtree(newest)
        shutil.copytree(workspace.store, newest)

        # Accepted: an entry says so, also after a restart, and the ledger is whole.
        shutil.rmtree(workspace.store)
        shutil.copytree(backup, workspace.store)
        node = workspace.serve()
        accept(workspace, node, operator, "a disk failed")
        assert create(node, operator, "it goes on").status == 201
        assert node.stop() == 0
        entry = [json.loads(line)["entry"] for line in
                 workspace.run("ledger", "show", "--format", "json", "--type", "ledger.restore_accepted").splitlines()]
        assert len(entry) == 1 and entry[0]["actor"]["kind"] == "operator", entry
        payload = entry[0]["payload"]
        assert payload["note"] == "a disk failed" and payload["kept"][0]["size"] > payload["found"]["size"], payload
        assert payload["kept"][0]["seal"].startswith("baton/ledger/"), payload
        node = workspace.serve()
        assert create(node, operator, "and on").status == 201
        workspace.verify()

        # A witness that has seen more than the accepted store: accepted once, with this node's own.
        node.stop()
        shutil.rmtree(workspace.store)
        shutil.copytree(newest, workspace.store)
        os.remove(last_seal(workspace))
        node = workspace.serve()
        for number in range(3):
            assert create(node, operator, f"witnessed {number}").status == 201
        assert node.stop() == 0
        shutil.rmtree(workspace.store)
        shutil.copytree(newest, workspace.store)
        os.remove(last_seal(workspace))  # the witness alone tells
        node = workspace.serve()
        expect_behind(workspace, node, operator, agent, "the witness folder:")
        accept(workspace, node, operator, "a drill")
        assert create(node, operator, "it goes on").status == 201
        assert node.stop() == 0
        found = verdict(workspace)
        assert not found["broken"] and "LEDGER_RESTORED" in [one["code"] for one in found["warnings"]], found
        node = workspace.serve()
        assert create(node, operator, "and on").status == 201, "what was accepted stays accepted"
        node.kill()

        # Killed, and the log is gone or cut: what was acknowledged lay in it.
        for harm in ("removed", "cut"):
            node = workspace.serve()
            for number in range(20):
                assert create(node, operator, f"in the log {number}").status == 201
            time.sleep(2.2)  # the seal is kept within a second
            wanted = kept_size(workspace)
            node.kill()
            log = os.path.join(workspace.store, "ledger.db-wal")
            assert os.path.getsize(log) > 0
            if harm == "removed":
                os.remove(log)
            else:
                os.truncate(log, os.path.getsize(log) // 2 if os.path.getsize(log) > 200_000 else 0)
            found = verdict(workspace)
            assert found["broken"] and found["entries"] < wanted, (harm, found)
            node = workspace.serve()
            expect_behind(workspace, node, operator, agent, "this node has seen")
            accept(workspace, node, operator, f"the log was {harm}")
            assert create(node, operator, "it goes on").status == 201
            node.kill()
        # Killed without harm: nothing is behind anything, however often.
        for _ in range(10):
            node = workspace.serve()
            shown = node.request("GET", "/v1/status", token=operator)
            assert "behind" not in shown.json["ledger"], shown
            for number in range(3):
                assert create(node, operator, f"round {number}").status == 201
            node.kill()
    print("what was restored or cut is found")


if __name__ == "__main__":
    main()
