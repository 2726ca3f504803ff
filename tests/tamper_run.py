#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Alters a store in every way that raw SQL and raw bytes allow, and sees that `baton ledger verify --rebuild` finds it.

    tamper_run.py BATON [--alterations N] [--seed N] [--progress]

A real node fills every table once: items, sessions, packs, approvals, a workflow, tokens, webhooks, blobs. Then, on a fresh copy for each
alteration: a column of a row is another; rows are deleted, inserted, exchanged; indexes, tables and triggers are dropped, made or altered;
bytes of the database file and of its log are flipped, cut or removed; the ledger is emptied; the files of an older day are put back.

An alteration counts as found when verify does not say that the store is whole (status 1, or 2: it cannot even be read). One that leaves
every row, index and entry as it was (bytes that nothing uses) is counted as empty. What the docs do not claim (docs/formats/ledger.md,
"What verify finds") is counted apart. Everything else that is not found is printed, and the run fails.

Python 3 and its standard library, nothing else.
"""

import argparse
import collections
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from node_harness import Workspace
from stories import CONTRACT
from work_story_test import deliver, workflow_run

LIMIT_SECONDS = 300
GITHUB = "a webhook secret of more than 32 bytes, for tests"
HERE = Path(__file__).resolve().parent
CONFIG = """
exit_protocol: true
webhooks:
  in: [{repository: harbour/tideboard, secret_file: secrets/github}]
  out: [{name: board, url: "http://127.0.0.1:9/none", secret_file: secrets/board}]
"""
TOOLS = {"Read": {}, "Deploy": {"side_effect": "write", "gate": "allow",
                                "checkpoint": {"when": [{"path": "$.where", "equals": "production"}], "timeout_seconds": 600}}}
SESSION = {"schema_version": "1.0", "agent": "altered", "session_limits": {"max_tool_calls": 50, "max_steps": 50}}
# Rows that no entry makes, and which nothing but themselves tells of: docs/formats/ledger.md.
NOT_CLAIMED_COLUMNS = {("webhook_cursors", column) for column in ("target", "sequence", "owner", "owned_until", "failures", "next_at")}
NOT_CLAIMED_ROWS = {"webhook_cursors"}  # deleted or inserted


def fail(text):
    print(f"tamper_run: {text}", file=sys.stderr)
    sys.exit(1)


def need(answer, *statuses):
    if answer.status not in statuses:
        fail(f"filling the store: {answer}")
    return answer.json


def fill(workspace):
    """Every table has a row. Gives the folder of an older day."""
    for name in ("board", "github"):
        Path(workspace.folder, "secrets", name).write_text(GITHUB)
        os.chmod(Path(workspace.folder, "secrets", name), 0o600)
    operator = workspace.init()
    node = workspace.serve()
    place = ["--node", "unix:" + node.socket_path]
    own = {"BATON_TOKEN": operator}
    token = lambda kind: need(node.request("POST", "/v1/tokens", {"actor": kind, "kind": kind}, token=operator), 201)["token"]
    alice, gone = token("agent"), need(node.request("POST", "/v1/tokens", {"actor": "gone", "kind": "operator"}, token=operator), 201)
    need(node.request("POST", f"/v1/tokens/{gone['id']}/revoke", {}, token=operator), 200)
    witness = Path(workspace.folder, "witness")
    witness.mkdir()
    need(node.request("POST", "/v1/ledger/witnesses", {"witness": f"folder:{witness}"}, token=operator), 200)
    need(node.request("POST", "/v1/ledger/keys/rotate", {}, token=operator), 200)
    first = need(node.request("POST", "/v1/work", {"title": "first", "phase": "IMPLEMENTATION"}, token=operator,
                              headers={"Idempotency-Key": "once"}), 201)["work"]["id"]
    need(node.request("POST", "/v1/work", {"title": "second", "phase": "IMPLEMENTATION", "depends_on": [first]}, token=operator), 201)
    session = need(node.request("POST", f"/v1/work/{first}/claim", {}, token=alice), 200)["session"]
    sleeper = subprocess.Popen(["sleep", "600"])
    need(node.request("POST", f"/v1/sessions/{session['id']}/process", {"pid": sleeper.pid}, token=alice, session=session["token"]), 200)
    sleeper.kill()
    sleeper.wait()
    pack = Path(workspace.folder, "pack")
    pack.mkdir()
    (pack / "session.yaml").write_text(json.dumps(SESSION))
    for tool, more in TOOLS.items():
        (pack / f"{tool}.yaml").write_text(json.dumps({"tool": tool, **CONTRACT, **more}))
    workspace.run("contract", "activate", str(pack), "--role", "agent", *place, **own)
    principal = Path(workspace.folder, "principal.json")
    principal.write_text('{"name":"Ada","customer":17}')
    opened = json.loads(workspace.run("session", "open", "--role", "agent", "--principal", str(principal), "--format", "json", *place, **own))
    governed = opened["session"] if "session" in opened else opened
    for number, (tool, arguments) in enumerate([("Read", {}), ("Deploy", {"where": "production"})]):
        workspace.run("session", "call", governed["id"], tool, "--arguments", json.dumps(arguments), "--id", f"c{number}", *place,
                      status=None, BATON_TOKEN=operator, BATON_SESSION_TOKEN=governed.get("token"))
    workspace.run("ledger", "append", "--stream", "notes/long", *place, input=json.dumps({"text": "x" * 9000}) + "\n", **own)
    workspace.run("ledger", "append", "--stream", "notes/erased", *place, input=json.dumps({"text": "y" * 9000}) + "\n", **own)
    with sqlite3.connect(f"file:{workspace.store}/ledger.db?mode=ro", uri=True) as database:
        erased = [row[0] for row in database.execute("SELECT sha256, bytes FROM blobs") if row[1] and b"yyyy" in row[1]]
    need(node.request("POST", f"/v1/ledger/blobs/{erased[0]}/erase", {"reason": "asked for"}, token=operator), 200)
    body = workflow_run()
    need(deliver(node, body, secret=GITHUB), 202)
    workspace.run("contract", "activate", str(HERE.parent / "examples/workflows/release-train"), *place, **own)
    flow = dict(line.removeprefix("export ").split("=", 1) for line in
                workspace.run("workflow", "start", "release-train", "--label", "r", "--format", "env", *place, **own).splitlines() if "=" in line)
    flow = {name: value.strip("'\"") for name, value in flow.items()}
    in_session = {"BATON_SESSION_TOKEN": flow["BATON_SESSION_TOKEN"]}
    workspace.run("session", "call", flow["BATON_SESSION"], "read_plan", "--arguments", '{"release":"7.1"}', "--id", "plan", "--start",
                  *place, status=None, **in_session)
    workspace.run("session", "settle", flow["BATON_SESSION"], "plan", "--result", "ok", "--output", '{"services":["web"]}', *place,
                  status=None, **in_session)
    workspace.run("handoff", "offer", "--to", "worker", "--artifact", 'task={"service":"web","version":"7.1"}', *place, status=None,
                  **in_session)
    node.stop()
    older = Path(workspace.folder, "older")
    shutil.copytree(workspace.store, older)
    node = workspace.serve("b")
    place = ["--node", "unix:" + node.socket_path]
    for number in range(80):  # more than one block of the tree
        need(node.request("POST", "/v1/work", {"title": f"more {number}", "phase": "IMPLEMENTATION"}, token=operator), 201)
    for number in range(4):
        work = need(node.request("POST", "/v1/claim", {"phases": ["IMPLEMENTATION"]}, token=alice), 200)
        need(node.request("POST", f"/v1/sessions/{work['session']['id']}/release", {"reason": "later"}, token=alice,
                          session=work["session"]["token"]), 200)
    workspace.run("ledger", "append", "--stream", "notes/many", *place, input="".join(f'{{"n":{n}}}\n' for n in range(150)), **own)
    time.sleep(2.5)  # the seal beside the key is the newest
    node.kill()  # so that there is a log
    return older


class Run:
    def __init__(self, workspace, arguments, older):
        self.workspace, self.chance, self.older = workspace, random.Random(arguments.seed), older
        self.progress = arguments.progress
        self.scratch = Path(workspace.folder, "altered")
        self.with_log = Path(workspace.folder, "with_log")
        shutil.copytree(workspace.store, self.with_log)
        self.plain = Path(workspace.folder, "plain")
        shutil.copytree(workspace.store, self.plain)
        with sqlite3.connect(self.plain / "ledger.db") as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for name in ("ledger.db-wal", "ledger.db-shm"):
            if (self.plain / name).exists():
                (self.plain / name).unlink()
        with sqlite3.connect(self.plain / "ledger.db") as database:
            names = [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
            self.columns = {name: [(row[1], row[2]) for row in database.execute(f"PRAGMA table_info({name})")] for name in names}
            self.counts = {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}
            self.indexes = [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")]
        self.tables = [name for name in names if self.counts[name]]
        print("rows:", ", ".join(f"{name} {self.counts[name]}" for name in sorted(names)))
        self.dumps = {folder: self.dump(folder / "ledger.db") for folder in (self.plain, self.with_log)}
        self.tally = collections.Counter()
        self.codes = collections.Counter()
        self.missed = []

    # --- the program and the database -------------------------------------------------------------------------------------

    def verdict(self):
        done = subprocess.run([self.workspace.baton, "ledger", "verify", "--rebuild", "--format", "json", "--store", str(self.scratch)],
                              capture_output=True, text=True, timeout=LIMIT_SECONDS, env=self.workspace.environment(BATON_STORE=None))
        if done.returncode not in (0, 1, 2):
            fail(f"verify ended with status {done.returncode}: {done.stdout}{done.stderr}")
        if done.returncode == 1:
            return json.loads(done.stdout)["broken"]["code"]
        return None if done.returncode == 0 else "cannot be read"

    @staticmethod
    def dump(file):
        """Every row of every table, and what SQLite says of its file; None when it cannot be read."""
        copy = tempfile.mkdtemp(prefix="baton-dump-")
        try:
            for suffix in ("", "-wal"):
                if os.path.exists(f"{file}{suffix}"):
                    shutil.copy(f"{file}{suffix}", os.path.join(copy, "ledger.db" + suffix))
            database = sqlite3.connect(os.path.join(copy, "ledger.db"))
            try:
                if database.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                    return None
                out = [database.execute("PRAGMA user_version").fetchall(), database.execute("PRAGMA application_id").fetchall(),
                       database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2").fetchall()]
                for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1").fetchall():
                    out.append((name, sorted(map(repr, database.execute(f"SELECT * FROM {name}").fetchall()))))
                return out
            finally:
                database.close()
        except (sqlite3.Error, UnicodeDecodeError):
            return None
        finally:
            shutil.rmtree(copy)

    @staticmethod
    def are_cursors_alone(altered, before):
        """How far webhooks were sent is in no entry (docs/formats/ledger.md): a log that lost nothing else lost nothing of the record."""
        def rest(dump):
            return [one for one in dump if one[:1] != ("webhook_cursors",)]
        return altered is not None and rest(altered) == rest(before)

    def fresh(self, source):
        shutil.rmtree(self.scratch, ignore_errors=True)
        shutil.copytree(source, self.scratch)

    def sql(self, *statements):
        """False when the database does not take it: then it is no alteration."""
        database = sqlite3.connect(self.scratch / "ledger.db", isolation_level=None)
        database.text_factory = bytes
        try:
            database.execute("BEGIN")
            for statement, *values in statements:
                if database.execute(statement, values).rowcount == 0:
                    return False
            database.execute("COMMIT")
            return True
        except sqlite3.Error:
            return False
        finally:
            database.close()

    def row(self, table):
        database = sqlite3.connect(self.scratch / "ledger.db")
        database.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        try:
            names = ", ".join(name for name, _ in self.columns[table])
            return database.execute(f"SELECT {names} FROM {table} LIMIT 1 OFFSET ?", [self.chance.randrange(self.counts[table])]).fetchone()
        finally:
            database.close()

    # --- alterations: each gives what it did and whether it is claimed; None when the database did not take it ---------------

    def where(self, table, row):
        names = [name for name, _ in self.columns[table]]
        return " AND ".join(f"{name} IS ?" for name in names), list(row)

    def altered(self, value, kind):
        if value is None:
            return self.chance.choice([b"x", b"\0" * 32])
        if isinstance(value, int):
            other = self.chance.choice([value + 1, value - 1, value ^ (1 << self.chance.randrange(62)), -value - 1, 0])
            return min(max(other, -(1 << 63)), (1 << 63) - 1)
        if isinstance(value, bytes):
            if not value:
                return b"\0"
            at = self.chance.randrange(len(value))
            return self.chance.choice([value[:at] + bytes([value[at] ^ (1 << self.chance.randrange(8))]) + value[at + 1:], value[:at], value + b"\0"])
        if not value:
            return "x"
        at = self.chance.randrange(len(value))
        swap = {"false": "true", "true": "false", "pending": "approved", "agent": "operator", "closed": "open", "open": "closed", "retired": "active",
                "active": "retired"}
        words = [word for word in swap if word in value]
        if words and self.chance.random() < 0.5:
            word = self.chance.choice(words)
            return value.replace(word, swap[word], 1)
        other = self.chance.choice([c for c in 'abcxyz0189" ' if c != value[at]])
        return self.chance.choice([value[:at] + other + value[at + 1:], value[:at] + value[at + 1:], value + " ", ""])

    def cell(self):
        table = self.chance.choice(self.tables)
        at = self.chance.randrange(len(self.columns[table]))
        column, kind = self.columns[table][at]
        row = self.row(table)
        value = self.altered(row[at], kind)
        if value == row[at]:
            return None
        where, values = self.where(table, row)
        done = self.sql((f"UPDATE {table} SET {column} = ? WHERE {where}", value, *values))
        return (f"{table}.{column} of {row[0]!r}: {str(row[at])[:60]!r} to {str(value)[:60]!r}", (table, column) not in NOT_CLAIMED_COLUMNS) if done else None

    def delete(self):
        table = self.chance.choice(self.tables)
        row = self.row(table)
        where, values = self.where(table, row)
        claimed = table not in NOT_CLAIMED_ROWS
        if table == "seals":  # a seal that is not the newest, nor the first after a rotation, need not be there
            claimed = False
        if table == "blobs" or table == "seals":
            pass
        return (f"a row of {table} deleted: {row[0]!r}", claimed) if self.sql((f"DELETE FROM {table} WHERE {where}", *values)) else None

    def insert(self):
        table = self.chance.choice(self.tables)
        row = list(self.row(table))
        for at in range(len(row)):
            if at == 0 or self.chance.random() < 0.3:
                row[at] = self.altered(row[at], self.columns[table][at][1])
        names = ", ".join(name for name, _ in self.columns[table])
        marks = ", ".join("?" for _ in row)
        return (f"a row of {table} inserted: {row[0]!r}", table not in NOT_CLAIMED_ROWS) if self.sql((f"INSERT INTO {table} ({names}) VALUES ({marks})", *row)) else None

    def exchange(self):
        table = self.chance.choice(self.tables)
        at = self.chance.randrange(len(self.columns[table]))
        column = self.columns[table][at][0]
        left, right = self.row(table), self.row(table)
        if left[at] == right[at] or left == right:
            return None
        first, second = self.where(table, left), self.where(table, right)
        done = self.sql((f"UPDATE {table} SET {column} = ? WHERE {first[0]}", right[at], *first[1]),
                        (f"UPDATE {table} SET {column} = ? WHERE {second[0]}", left[at], *second[1]))
        return (f"{table}.{column} of {left[0]!r} and {right[0]!r} exchanged", (table, column) not in NOT_CLAIMED_COLUMNS) if done else None

    def schema(self):
        index, table = self.chance.choice(self.indexes), self.chance.choice(list(self.columns))
        column = self.chance.choice(self.columns[table])[0]
        what = self.chance.choice(["drop index", "other index", "more index", "drop table", "more table", "trigger", "view", "column", "version"])
        done = {
            "drop index": lambda: self.script(f"DROP INDEX {index}"),
            "other index": lambda: self.script(f"DROP INDEX {index}; CREATE INDEX {index} ON {table} ({column})"),
            "more index": lambda: self.script(f"CREATE INDEX another ON {table} ({column})"),
            "drop table": lambda: self.script(f"DROP TABLE {table}"),
            "more table": lambda: self.script("CREATE TABLE another (a)"),
            "trigger": lambda: self.script(f"CREATE TRIGGER another AFTER INSERT ON {table} BEGIN DELETE FROM approvals; END"),
            "view": lambda: self.script(f"CREATE VIEW another AS SELECT * FROM {table}"),
            "column": lambda: self.script(f"ALTER TABLE {table} ADD COLUMN another"),
            "version": lambda: self.script(f"PRAGMA user_version = {self.chance.choice([0, 1, 2, 99])}"),
        }[what]()
        # Another numbering of the schema has the schema made again, which is then compared: that it was altered is not claimed.
        return (f"{what} ({index}, {table}.{column})", what != "version") if done else None

    def script(self, text):
        database = sqlite3.connect(self.scratch / "ledger.db")
        try:
            database.executescript(text)
            return True
        except sqlite3.Error:
            return False
        finally:
            database.close()

    def index_row(self):
        """An index that lacks a row: made by SQLite itself, with the index hidden from it."""
        index = self.chance.choice(self.indexes)
        database = sqlite3.connect(self.scratch / "ledger.db", isolation_level=None)
        try:
            table, sql = database.execute("SELECT tbl_name, sql FROM sqlite_schema WHERE name = ?", [index]).fetchone()
            if table not in self.tables:
                return None
            row = self.row(table)
            where, values = self.where(table, row)
            database.execute("PRAGMA writable_schema = ON")
            database.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", [sql + " WHERE 0", index])
            database.close()
            database = sqlite3.connect(self.scratch / "ledger.db", isolation_level=None)
            names = ", ".join(name for name, _ in self.columns[table])
            database.execute(f"DELETE FROM {table} WHERE {where}", values)
            database.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' for _ in row)})", row)
            database.execute("PRAGMA writable_schema = ON")
            database.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", [sql, index])
            return f"a row of {table} taken out of {index}", True
        except sqlite3.Error:
            return None
        finally:
            database.close()

    def flip(self, name):
        file = self.scratch / name
        content = bytearray(file.read_bytes())
        at = self.chance.randrange(len(content))
        size = self.chance.choice([1, 1, 1, 8, 4096])
        for i in range(at, min(len(content), at + size)):
            content[i] ^= self.chance.randrange(1, 256)
        file.write_bytes(content)
        return f"{size} bytes of {name} from {at}", True

    def cut(self, name):
        file = self.scratch / name
        size = self.chance.choice([0, self.chance.randrange(file.stat().st_size), max(0, file.stat().st_size - 4096)])
        os.truncate(file, size)
        return f"{name} cut to {size} bytes", True

    def remove(self, name):
        (self.scratch / name).unlink()
        return f"{name} removed", True

    def empty(self):
        tables = self.chance.choice([["entries"], ["entries", "head"], ["entries", "seals", "tree", "head"], list(self.columns)])
        return f"emptied: {', '.join(tables)}", self.sql(*[(f"DELETE FROM {table} WHERE 1 OR ?", 1) for table in tables if self.counts[table]])

    def tail(self):
        """The newest entries go with their seals; the head stays, or is that of an older day."""
        count = self.chance.choice([1, 2, 30, 200])
        size = self.counts["entries"] - count
        return f"the newest {count} entries and their seals cut", self.sql(("DELETE FROM entries WHERE sequence > ?", size), ("DELETE FROM seals WHERE size > ?", size))

    def replace(self):
        shutil.rmtree(self.scratch)
        shutil.copytree(self.older, self.scratch)
        return "the store of an older day", True

    def run(self, count):
        ways = [(30, self.plain, self.cell), (10, self.plain, self.delete), (10, self.plain, self.insert), (8, self.plain, self.exchange),
                (6, self.plain, self.schema), (4, self.plain, self.index_row), (14, self.plain, lambda: self.flip("ledger.db")),
                (3, self.plain, lambda: self.cut("ledger.db")), (6, self.with_log, lambda: self.flip("ledger.db-wal")),
                (4, self.with_log, lambda: self.cut("ledger.db-wal")), (1, self.with_log, lambda: self.remove("ledger.db-wal")),
                (1, self.plain, lambda: self.remove("ledger.db")), (1, self.plain, self.empty), (1, self.plain, self.tail), (1, self.plain, self.replace)]
        began = time.monotonic()
        for source in (self.plain, self.with_log):
            self.fresh(source)
            code = self.verdict()
            if code is not None:
                fail(f"the store is not whole to begin with: {code}")
        # Each way once, then as chance has it.
        queue = [(source, way) for _, source, way in ways]
        while sum(self.tally.values()) < count:
            source, way = queue.pop() if queue else self.chance.choices([(s, w) for _, s, w in ways], [n for n, _, _ in ways])[0]
            self.fresh(source)
            did = way()
            if did is None or did[1] is None:
                continue
            what, claimed = did
            altered = self.dump(self.scratch / "ledger.db")
            if altered == self.dumps[source] and "older day" not in what:
                self.tally["empty"] += 1  # nothing reads the bytes that are other ones
                continue
            code = self.verdict()
            if code is not None:
                self.tally["found"] += 1
                self.codes[code] += 1
            elif not claimed or self.are_cursors_alone(altered, self.dumps[source]):
                self.tally["not claimed"] += 1
            else:
                self.tally["missed"] += 1
                self.missed.append(what)
                print(f"MISSED {what}", flush=True)
            done = sum(self.tally.values())
            if self.progress and done % 50 == 0:
                print(f"{done} of {count} in {time.monotonic() - began:.0f} s: {dict(self.tally)}", flush=True)
        print(f"{sum(self.tally.values())} alterations in {time.monotonic() - began:.0f} s: {dict(self.tally)}; codes: {dict(self.codes.most_common())}")
        if self.missed:
            fail(f"{len(self.missed)} alterations were not found")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("baton")
    parser.add_argument("--alterations", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--progress", action="store_true")
    arguments = parser.parse_args()
    with Workspace(arguments.baton, config=CONFIG) as workspace:
        Run(workspace, arguments, fill(workspace)).run(arguments.alterations)


if __name__ == "__main__":
    main()
