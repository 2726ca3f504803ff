#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the model of the rules of work with spin, in every order in which things can happen.

    work_model_test.py models/work.pml

First the model as it is: no assertion may fail, no item may stay out of reach, and nothing in the model may be unreached (a
model that never gets anywhere is always right). Then the model with one rule broken at a time: spin must find it, or the
check would not be worth anything. Exits 77 (skipped) when spin or a C compiler is not installed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SECONDS_MAX = 500
MEGABYTES_MAX = 900


@dataclass
class Property:
    name: str
    define: list  # for spin
    compile: list  # for the C compiler
    run: list  # for the checker
    complaint: str  # what the checker says when it does not hold


SAFETY = Property("one holder, no stale write", ["-DSTEPS=5", "-DTTL=2"], ["-DSAFETY"], [], "assertion violated")
LIVENESS = Property("claimable again and again", ["-DSTEPS=4", "-DTTL=2", "-DLIVENESS"], ["-DNFAIR=3"], ["-a", "-f"],
                    "acceptance cycle")


@dataclass
class Mutation:
    what: str  # the rule that is broken
    found_by: Property
    old: str
    new: str


MUTATIONS = [
    Mutation("the fence is not compared", SAFETY, "item[i].held_fence == (f) && ", ""),
    Mutation("the session is not compared", SAFETY, "item[i].holder == (s) && item[i].held_fence == (f) && ", ""),
    Mutation("at its very end the holder's lease is not over", SAFETY, "item[i].held_fence == (f) && !is_over(i))",
             "item[i].held_fence == (f) && !(item[i].left < 0))"),
    Mutation("the fence does not rise", SAFETY, "item[i].fence = item[i].fence + 1;", "item[i].fence = 1;"),
    Mutation("a commit of another node is not noticed", SAFETY, ":: transaction[_pid].conflict -> goto begin",
             ":: false -> goto begin"),
    Mutation("who takes over leaves the other session alive", SAFETY,
             "agent[item[i].holder].live = false /* superseded */", "skip"),
    Mutation("whoever ends a lease leaves its session alive", SAFETY,
             "inline end_lease(i) {\n  agent[item[i].holder].live = false;", "inline end_lease(i) {"),
    Mutation("a handoff leaves the lease", SAFETY, "inline hand_over(i, next) {\n  end_lease(i);",
             "inline hand_over(i, next) {\n  agent[item[i].holder].live = false;"),
    Mutation("leases do not end", LIVENESS, "#define is_due(i) (item[i].leased && is_over(i))",
             "#define is_due(i) false"),
    Mutation("the clock stands still for one item", LIVENESS, "if :: item[0].left > 0 -> item[0].left-- :: else fi;",
             "skip;"),
    Mutation("nothing is unblocked", LIVENESS, "item[i].phase = implementation;", "skip;"),
    Mutation("CI never reports", LIVENESS, ":: item[0].phase == ci_pending -> i = 0", ":: false -> i = 0"),
]


def run(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=SECONDS_MAX)
    return done.returncode, done.stdout


def check(model, prop, compiler, optimise):
    """What the checker says of the model's text."""
    with tempfile.TemporaryDirectory(prefix="baton-model-") as folder:
        Path(folder, "model.pml").write_text(model)
        code, output = run(["spin", "-a", *prop.define, "model.pml"], folder)
        if code != 0 or not Path(folder, "pan.c").exists():
            raise SystemExit(f"spin does not take the model:\n{output}")
        code, output = run([compiler, "-w", optimise, "-DCOLLAPSE", f"-DMEMLIM={MEGABYTES_MAX}", *prop.compile,
                            "-o", "pan", "pan.c"], folder)
        if code != 0:
            raise SystemExit(f"the checker does not compile:\n{output}")
        _, output = run([str(Path(folder, "pan")), "-m1000000", *prop.run], folder)
        return output


def errors(output):
    found = re.search(r"errors: (\d+)", output)
    if not found or "max search depth too small" in output or "out of memory" in output:
        raise SystemExit(f"the checker did not finish:\n{output}")
    return int(found.group(1))


def unreached(output):
    """Statements no run came by, but for the ends of processes that have none. Of a claim some never are."""
    out = []
    for block in re.findall(r"unreached in proctype (\w+)\n((?:\t.*\n)*)", output):
        out += [f"{block[0]}: {line.strip()}" for line in block[1].splitlines()
                if '"-end-"' not in line and not re.match(r"\t\(\d+ of \d+ states\)", line)]
    return out


def main():
    path = Path(sys.argv[1]).resolve()
    compiler = next((name for name in (os.environ.get("CC"), "gcc", "cc", "clang", "clang-19") if name and shutil.which(name)),
                    None)
    if shutil.which("spin") is None or compiler is None:
        print("skipped: spin or a C compiler is not installed")
        return 77
    model = path.read_text()
    failed = 0
    for prop in (SAFETY, LIVENESS):
        output = check(model, prop, compiler, "-O2")
        states = re.search(r"(\d+) states, stored", output)
        if errors(output) != 0:
            print(f"FAILED {prop.name}:\n{output}")
            failed += 1
            continue
        if missed := unreached(output):
            print(f"FAILED {prop.name}: the model never gets to\n  " + "\n  ".join(missed))
            failed += 1
        print(f"ok {prop.name}: {states.group(1)} states")
    for mutation in MUTATIONS:
        if model.count(mutation.old) != 1:
            print(f"FAILED {mutation.what}: the model does not have the text to change exactly once")
            failed += 1
            continue
        output = check(model.replace(mutation.old, mutation.new), mutation.found_by, compiler, "-O0")
        if errors(output) == 0 or mutation.found_by.complaint not in output:
            print(f"FAILED {mutation.what}: not found\n{output}")
            failed += 1
        else:
            print(f"ok {mutation.what}: found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
