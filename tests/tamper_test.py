#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Alters a ledger in its database with plain SQL and sees that `baton ledger verify` finds each alteration and its place.

    tamper_test.py BATON [--postgres] [--samples N] [--seed N]

A ledger of 1,000 entries (several streams, blobs, a rotated key) is made with the program itself. Then, one at a time and
undone again: bytes of every column of sampled entries, seals, tree rows and the head; dropped, repeated, inserted, swapped
entries; cut tails; rows of projections. With --postgres (under with_postgres.py) the same through psql. Every byte of
every column is tried on the memory form, in ledger_tests.
"""

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

ENTRIES = 1000
LIMIT_SECONDS = 120
COLUMNS = {
    "entries": ["sequence", "stream", "type", "actor_id", "actor_kind", "time", "payload", "previous", "hash"],
    "seals": ["size", "note"],
    "tree": ["level", "position", "hash", "streams"],
    "head": ["size", "hash", "time", "peaks", "open_streams"],
    "ledger_keys": ["key_id", "key", "state"],
    "blobs": ["bytes"],
}
NUMBERS = {"sequence", "time", "size", "level", "position"}
BYTES = {"previous", "hash", "streams", "peaks", "open_streams", "bytes"}


def fail(text):
    print(f"tamper_test: {text}", file=sys.stderr)
    sys.exit(1)


class Sqlite:
    def __init__(self, folder):
        self.location = str(folder / "store")
        self.file = folder / "store" / "ledger.db"

    def run(self, statement):
        with sqlite3.connect(self.file, isolation_level=None) as database:
            return database.execute(statement).fetchall()

    def many(self, statements):
        with sqlite3.connect(self.file, isolation_level=None) as database:
            database.executescript("BEGIN;" + ";".join(statements) + ";COMMIT;")

    @staticmethod
    def literal(column, value):
        if column in NUMBERS:
            return str(value)
        if column in BYTES:
            return f"X'{value.hex()}'"
        return "'" + value.replace("'", "''") + "'"


class Postgres:
    def __init__(self, _folder):
        self.url = os.environ["BATON_TEST_POSTGRES"]
        self.psql(self.url, "CREATE DATABASE tamper TEMPLATE template0 ENCODING 'UTF8'")
        self.location = self.url.rsplit("/", 1)[0] + "/tamper"

    @staticmethod
    def psql(url, text):
        done = subprocess.run(["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1", url],
                              input=text, capture_output=True, text=True, timeout=LIMIT_SECONDS)
        if done.returncode != 0:
            fail(f"psql: {done.stderr}")
        return done.stdout

    def run(self, statement):
        if not statement.startswith("SELECT"):
            self.psql(self.location, statement)
            return []
        rows = []
        for line in self.psql(self.location, f"SELECT row_to_json(t) FROM ({statement}) t").splitlines():
            row = json.loads(line)
            rows.append(tuple(bytes.fromhex(v[2:]) if k in BYTES and v is not None else v for k, v in row.items()))
        return rows

    def many(self, statements):
        self.psql(self.location, "BEGIN;" + ";".join(statements) + ";COMMIT;")

    @staticmethod
    def literal(column, value):
        if column in NUMBERS:
            return str(value)
        if column in BYTES:
            return f"'\\x{value.hex()}'::bytea"
        return "'" + value.replace("'", "''") + "'"


class Test:
    def __init__(self, arguments, folder):
        self.baton = arguments.baton
        self.chance = random.Random(arguments.seed)
        self.samples = arguments.samples
        self.tried = 0
        self.keys = str(folder / "keys")
        self.folder = folder
        self.database = Postgres(folder) if arguments.postgres else Sqlite(folder)
        self.make()

    def command(self, *words, text=""):
        return subprocess.run([self.baton, "ledger", *words, "--store", self.database.location], input=text,
                              capture_output=True, text=True, timeout=LIMIT_SECONDS)

    def make(self):
        made, commits = 1, 0
        while made < ENTRIES:
            if made < ENTRIES // 2 <= made + 40:
                self.expect_done(self.command("keys", "rotate", "--keys", self.keys))
                made += 1
            count = min(self.chance.choice([1, 1, 5, 40]), ENTRIES - made)
            lines = "".join(json.dumps({"number": made + i, "text": "x" * self.chance.choice([3, 30, 300, 9000 if i == 0 else 9])}) + "\n"
                            for i in range(count))
            stream = f"work/{self.chance.randrange(20)}"
            self.expect_done(self.command("append", "--keys", self.keys, "--stream", stream, text=lines))
            made += count
            commits += 1
        self.public_key = str(self.folder / "ledger.pub")
        seal = self.command("seal").stdout
        self.checkpoint = str(self.folder / "kept")
        Path(self.checkpoint).write_text(seal, encoding="utf-8")
        verdict = self.verify()
        if verdict["broken"] or verdict["entries"] != ENTRIES:
            fail(f"the ledger is not whole to begin with: {verdict}")

    @staticmethod
    def expect_done(done):
        if done.returncode != 0:
            fail(done.stderr)

    def verify(self, *more):
        done = self.command("verify", "--format", "json", *more)
        if done.returncode not in (0, 1):
            return {"broken": {"code": f"status {done.returncode}", "sequence": None, "message": done.stderr}, "entries": 0}
        return json.loads(done.stdout)

    def expect_found(self, what, places, do, undo, *more, codes=None):
        """`places`: where it may be said to be; None for anywhere."""
        self.database.many(do)
        verdict = self.verify(*more)
        self.database.many(undo)
        self.tried += 1
        broken = verdict["broken"]
        if not broken:
            fail(f"{what}: not found")
        if places is not None and broken["sequence"] not in places:
            fail(f"{what}: found at {broken['sequence']}, not at {sorted(places)}: {broken}")
        if codes is not None and broken["code"] not in codes:
            fail(f"{what}: {broken['code']}, not one of {codes}: {broken}")

    def changed(self, column, value):
        """One byte (or bit) of the value is another."""
        if column in NUMBERS:
            # High enough that the number of no other row comes out.
            return value ^ (1 << self.chance.randrange(12, 40))
        if column in BYTES:
            if not value:
                return b"\0"
            at = self.chance.randrange(len(value))
            return value[:at] + bytes([value[at] ^ (1 << self.chance.randrange(8))]) + value[at + 1 :]
        at = self.chance.randrange(len(value))
        other = self.chance.choice([c for c in "abcxyz019" if c != value[at]])
        return value[:at] + other + value[at + 1 :]

    def where(self, table, row):
        literal = self.database.literal
        keys = {"entries": ["sequence"], "seals": ["size"], "tree": ["level", "position"], "head": [], "ledger_keys": ["key_id"]}[table]
        columns = COLUMNS[table]
        return " AND ".join(f"{k} = {literal(k, row[columns.index(k)])}" for k in keys) or "1 = 1"

    def change_columns(self, table, rows, places_of, *more, skip=()):
        columns = COLUMNS[table]
        for row in rows:
            for column in columns:
                if column in skip:
                    continue
                old = row[columns.index(column)]
                new = self.changed(column, old)
                altered = list(row)
                altered[columns.index(column)] = new
                literal = self.database.literal
                do = f"UPDATE {table} SET {column} = {literal(column, new)} WHERE {self.where(table, row)}"
                undo = f"UPDATE {table} SET {column} = {literal(column, old)} WHERE {self.where(table, altered)}"
                self.expect_found(f"{table}.{column} of {row[0]}", places_of(row, column), [do], [undo], *more)

    def rows(self, table, where="1 = 1"):
        return self.database.run(f"SELECT {', '.join(COLUMNS[table])} FROM {table} WHERE {where}")

    def insert(self, table, row):
        literal = self.database.literal
        return f"INSERT INTO {table} ({', '.join(COLUMNS[table])}) VALUES ({', '.join(literal(c, v) for c, v in zip(COLUMNS[table], row))})"

    def entry(self, sequence):
        return self.rows("entries", f"sequence = {sequence}")[0]

    def run(self):
        sequences = [1, ENTRIES, *self.chance.sample(range(2, ENTRIES), self.samples)]
        # A number that is another may stand anywhere; all else is found where it is.
        self.change_columns("entries", [self.entry(n) for n in sequences],
                            lambda row, column: None if column == "sequence" else {row[0]})
        for n in self.chance.sample(range(2, ENTRIES), self.samples):
            row = self.entry(n)
            self.expect_found(f"drop of {n}", {n}, [f"DELETE FROM entries WHERE sequence = {n}"], [self.insert("entries", row)],
                              codes={"LEDGER_GAP"})
            again = (ENTRIES + 1, *row[1:])
            self.expect_found(f"repeat of {n} at the end", {ENTRIES + 1, ENTRIES}, [self.insert("entries", again)],
                              [f"DELETE FROM entries WHERE sequence = {ENTRIES + 1}"])
            far = (ENTRIES + 4000, *row[1:])
            self.expect_found(f"repeat of {n} far beyond the end", {ENTRIES + 1}, [self.insert("entries", far)],
                              [f"DELETE FROM entries WHERE sequence = {ENTRIES + 4000}"])
            other = self.chance.choice([m for m in range(2, ENTRIES) if m != n])
            swap = [f"UPDATE entries SET sequence = -1 WHERE sequence = {n}",
                    f"UPDATE entries SET sequence = {n} WHERE sequence = {other}",
                    f"UPDATE entries SET sequence = {other} WHERE sequence = -1"]
            self.expect_found(f"swap of {n} and {other}", {min(n, other)}, swap, swap)
        self.cut_tails()
        seals = self.rows("seals")
        self.change_columns("seals", self.chance.sample(seals, min(self.samples, len(seals))),
                            lambda row, column: {row[0]} if column == "note" else None)
        # The newest seal must be there; of the others, one that covers a rotation.
        newest = max(seals)
        self.expect_found("drop of the newest seal", None, [f"DELETE FROM seals WHERE size = {newest[0]}"],
                          [self.insert("seals", newest)])
        self.change_columns("tree", self.rows("tree"), lambda row, column: None)
        self.change_columns("head", self.rows("head"), lambda row, column: None)
        self.change_columns("ledger_keys", self.rows("ledger_keys"), lambda row, column: None, "--rebuild", skip=("key_id",))
        self.change_blobs()
        verdict = self.verify("--rebuild", "--checkpoint", self.checkpoint)
        if verdict["broken"]:
            fail(f"the alterations were not undone: {verdict}")
        print(f"{self.tried} alterations, all found")

    def cut_tails(self):
        """The tail goes with everything that tells of it: only what was kept elsewhere can tell."""
        for size in (1, 2, 17):
            kept = ENTRIES - size
            gone = self.rows("entries", f"sequence > {kept}")
            seals = self.rows("seals", f"size > {kept}")
            do = [f"DELETE FROM entries WHERE sequence > {kept}", f"DELETE FROM seals WHERE size > {kept}"]
            undo = [self.insert("entries", row) for row in gone] + [self.insert("seals", row) for row in seals]
            self.expect_found(f"cut of {size}", None, do, undo)
            self.expect_found(f"cut of {size} against the kept seal", None, do, undo, "--checkpoint", self.checkpoint,
                              codes={"LEDGER_CUT", "LEDGER_GAP", "LEDGER_HEAD"})

    def change_blobs(self):
        literal = self.database.literal
        for sha256, content in self.database.run("SELECT sha256, bytes FROM blobs")[:5]:
            new = self.changed("bytes", content)
            self.expect_found(f"blob {sha256}", None, [f"UPDATE blobs SET bytes = {literal('bytes', new)} WHERE sha256 = '{sha256}'"],
                              [f"UPDATE blobs SET bytes = {literal('bytes', content)} WHERE sha256 = '{sha256}'"],
                              codes={"LEDGER_BLOB_CHANGED"})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("baton")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="baton-tamper-") as name:
        Test(arguments, Path(name)).run()


if __name__ == "__main__":
    main()
