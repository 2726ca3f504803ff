#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills what writes a ledger, again and again, and looks at what is left.

    crash_test.py BATON LEDGER_LOAD [--rounds N] [--seed N] [--postgres]

Sixteen threads write use cases of several entries, a blob and a row. On SQLite the process is killed with SIGKILL at a
random moment; with --postgres (under with_postgres.py) the server's backends are terminated, or the server itself is
stopped with immediate shutdown and started again, while the writers go on. After each round: every acknowledged use case
is there, none is there in part, and `baton ledger verify --rebuild` finds the ledger whole.
"""

import argparse
import collections
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PARTS = 4
THREADS = 16
ROUNDS_A_STORE = 25  # what is there is looked at as a whole after each round: it should not grow for ever
LIMIT_SECONDS = 120  # for any one command


def fail(text):
    print(f"crash_test: {text}", file=sys.stderr)
    sys.exit(1)


def check(baton, store, keys, acknowledged, what):
    """Everything acknowledged is there, nothing in part, the ledger is whole, and not behind the seal that was kept beside the key."""
    verified = subprocess.run([baton, "ledger", "verify", "--rebuild", "--format", "json", "--store", store, "--keys", keys],
                              capture_output=True, text=True, timeout=LIMIT_SECONDS)
    if verified.returncode != 0:
        fail(f"{what}: verify says {verified.returncode}: {verified.stdout}{verified.stderr}")
    shown = subprocess.run([baton, "ledger", "show", "--format", "json", "--store", store],
                           capture_output=True, text=True, timeout=LIMIT_SECONDS)
    if shown.returncode != 0:
        fail(f"{what}: show says {shown.returncode}: {shown.stderr}")
    parts = collections.Counter()
    for line in shown.stdout.splitlines():
        stream = json.loads(line)["entry"]["stream"]
        if stream.startswith("load/"):
            parts[stream] += 1
    for identity in acknowledged:
        if parts[identity] != PARTS:
            fail(f"{what}: {identity} was acknowledged, but {parts[identity]} of {PARTS} entries are there")
    for identity, count in parts.items():
        if count != PARTS:
            fail(f"{what}: {identity} is there in part: {count} of {PARTS} entries")
    return json.loads(verified.stdout)["entries"], len(parts)


def read_lines(stream, into):
    """Whole lines of what the writers acknowledged; the last one may have been cut by the kill."""
    for line in stream:
        if line.endswith("\n") and line.startswith("load/"):
            into.add(line.strip())


def start(load, store, keys, seconds, seed):
    process = subprocess.Popen([load, store, keys, str(THREADS), str(seconds), str(seed)], stdout=subprocess.PIPE, text=True)
    first = process.stdout.readline()
    if first != "open\n":
        fail(f"the writers did not begin: {first!r}, status {process.wait()}")
    return process


def sqlite_rounds(arguments, folder, chance):
    keys = str(folder / "keys")
    acknowledged, all_acknowledged, all_entries = set(), 0, 0
    for number in range(1, arguments.rounds + 1):
        if (number - 1) % ROUNDS_A_STORE == 0:
            store, acknowledged = str(folder / f"store-{number}"), set()
        process = start(arguments.load, store, keys, 30, f"{arguments.seed}.{number}")
        time.sleep(chance.uniform(0.0, 0.25))
        process.send_signal(signal.SIGKILL)
        before = len(acknowledged)
        read_lines(process.stdout, acknowledged)
        process.wait(timeout=LIMIT_SECONDS)
        entries, _ = check(arguments.baton, store, keys, acknowledged, f"round {number}")
        all_acknowledged += len(acknowledged) - before
        if number % ROUNDS_A_STORE == 0 or number == arguments.rounds:
            all_entries += entries
    print(f"killed {arguments.rounds} times: {all_acknowledged} use cases acknowledged, all there; {all_entries} entries, whole")


def postgres_rounds(arguments, folder, chance):
    server = Server()
    store = server.new_database("crash")
    keys = str(folder / "keys")
    acknowledged = set()
    kinds = collections.Counter()
    for number in range(1, arguments.rounds + 1):
        process = start(arguments.load, store, keys, 3.0, f"{arguments.seed}.{number}")
        for _ in range(2):
            time.sleep(chance.uniform(0.1, 0.8))
            kind = chance.choice(["backends", "restart", "kill"])
            kinds[kind] += 1
            if kind == "backends":
                server.terminate_backends()
            elif kind == "restart":
                server.restart_immediately()
            else:
                process.send_signal(signal.SIGKILL)
                break
        read_lines(process.stdout, acknowledged)
        process.wait(timeout=LIMIT_SECONDS)
        entries, there = check(arguments.baton, store, keys, acknowledged, f"round {number}")
    print(f"{arguments.rounds} rounds, {dict(kinds)}: {len(acknowledged)} use cases acknowledged, {there} there, "
          f"{entries} entries, whole")


class Server:
    """The private server that with_postgres.py made."""

    def __init__(self):
        self.url = os.environ["BATON_TEST_POSTGRES"]
        self.control = shlex.split(os.environ["BATON_TEST_POSTGRES_CTL"])

    def query(self, text, may_fail=False):
        done = subprocess.run(["psql", "--no-psqlrc", "--quiet", "--command", text, self.url], capture_output=True, text=True,
                              timeout=LIMIT_SECONDS)
        if done.returncode != 0 and not may_fail:
            fail(f"psql: {done.stderr}")

    def new_database(self, name):
        self.query(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
        return self.url.rsplit("/", 1)[0] + "/" + name

    def terminate_backends(self):
        # That may end the asking backend's own answer, too.
        self.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'crash' AND pid <> pg_backend_pid()",
                   may_fail=True)

    def restart_immediately(self):
        if subprocess.run([*self.control, "restart"], timeout=LIMIT_SECONDS).returncode != 0:
            fail("the server did not come back")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("baton")
    parser.add_argument("load")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", action="store_true")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="baton-crash-") as name:
        (postgres_rounds if arguments.postgres else sqlite_rounds)(arguments, Path(name), chance)


if __name__ == "__main__":
    main()
