# SPDX-License-Identifier: Apache-2.0
"""What the tests of the models in models/ have in common: running spin, and seeing that it finds what is broken.

A test names the properties of its model and the mutations, each of which breaks one rule, and calls check_model(). First
the model as it is: no property may fail, and no statement of the model may be unreached (a model that never gets anywhere
is always right). Then the model with one rule broken at a time: the property named must fail, or the check would not be
worth anything. Exit status 77 (skipped) when spin or a C compiler is not installed.

The checks do not depend on one another, so as many run at once as there are processors, but not more than JOBS_MAX: each
may take MEGABYTES_MAX. What is longest comes first.
"""

import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

SECONDS_MAX = 500
MEGABYTES_MAX = 900
JOBS_MAX = 4
# Nothing but what is checked is compiled in: no fairness, no partial order reduction (nearly all steps touch what all see).
SAFETY_ONLY = ["-DSAFETY", "-DNOREDUCE", "-DNOBOUNDCHECK", "-DNOFAIR"]


@dataclass
class Property:
    name: str
    define: list  # for spin
    compile: list  # for the C compiler
    run: list  # for the checker
    complaint: str  # what the checker says when it does not hold
    optimise: str = "-O2"  # less where compiling takes longer than checking


@dataclass
class Mutation:
    what: str  # the rule that is broken
    found_by: Property
    old: str
    new: str


class Unfinished(Exception):
    """The checker came to no result: nothing can be said of the model."""


@dataclass
class Outcome:
    errors: int
    states: str
    unreached: set = field(default_factory=set)
    output: str = ""


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
            raise Unfinished(f"spin does not take the model:\n{output}")
        code, output = run([compiler, "-w", optimise, f"-DMEMLIM={MEGABYTES_MAX}", *prop.compile,
                            "-o", "pan", "pan.c"], folder)
        if code != 0:
            raise Unfinished(f"the checker does not compile:\n{output}")
        _, output = run([str(Path(folder, "pan")), "-m100000", *prop.run], folder)
    errors = re.search(r"errors: (\d+)", output)
    states = re.search(r"(\d+) states, stored", output)
    if not errors or not states or "max search depth too small" in output or "out of memory" in output:
        raise Unfinished(f"the checker did not finish:\n{output}")
    return Outcome(int(errors.group(1)), states.group(1), unreached(output), output)


def unreached(output):
    """Statements no run came by, but for the ends of processes that have none. Of a claim some never are."""
    out = set()
    for name, block in re.findall(r"unreached in (?:proctype )?(\w+)\n((?:\t.*\n)*)", output):
        for line in block.splitlines():
            statement = re.match(r'\tmodel\.pml:(\d+), state \d+, "(.*)"', line)
            if statement and statement.group(2) != "-end-":
                out.add((name, int(statement.group(1)), statement.group(2)))
    return out


def all_statements(prop, steps):
    """The property with fewer steps and each statement by itself (spin joins them otherwise, and tells of the first only)."""
    define = [word for word in prop.define if not word.startswith("-DSTEPS=")]
    return replace(prop, name=f"statements reached: {prop.name}", define=["-o3", *define, f"-DSTEPS={steps}"], optimise="-O0")


def check_model(path, properties, reached_by, mutations):
    """The exit status. `reached_by` are to reach all statements together: all_statements() of properties."""
    compilers = (os.environ.get("CC"), "gcc", "cc", "clang", "clang-19")
    compiler = next((name for name in compilers if name and shutil.which(name)), None)
    if shutil.which("spin") is None or compiler is None:
        print("skipped: spin or a C compiler is not installed")
        return 77
    model = Path(path).resolve().read_text()
    failed = 0

    def say(ok, what, detail=""):
        nonlocal failed
        failed += 0 if ok else 1
        print(f"{'ok' if ok else 'FAILED'} {what}{detail}", flush=True)

    with ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), JOBS_MAX)) as pool:
        whole = [(prop, pool.submit(check, model, prop, compiler, prop.optimise)) for prop in [*properties, *reached_by]]
        broken = []
        for mutation in mutations:
            if model.count(mutation.old) != 1:
                say(False, mutation.what, ": the model does not have the text to change exactly once")
                continue
            text = model.replace(mutation.old, mutation.new)
            broken.append((mutation, pool.submit(check, text, mutation.found_by, compiler, "-O0")))

        missed = []
        for prop, future in whole:
            try:
                outcome = future.result()
            except Unfinished as problem:
                say(False, prop.name, f": {problem}")
                continue
            if outcome.errors:
                say(False, prop.name, f":\n{outcome.output}")
            else:
                say(True, prop.name, f": {outcome.states} states")
            if prop in reached_by:
                missed.append(outcome.unreached)
        for name, line, text in sorted(set.intersection(*missed)) if missed else []:
            say(False, f"the model never gets to line {line}, in {name}: {text}")

        for mutation, future in broken:
            try:
                outcome = future.result()
            except Unfinished as problem:
                say(False, mutation.what, f": {problem}")
                continue
            if outcome.errors == 0 or mutation.found_by.complaint not in outcome.output:
                say(False, mutation.what, f": not found\n{outcome.output}")
            else:
                say(True, mutation.what, ": found")
    return 1 if failed else 0
