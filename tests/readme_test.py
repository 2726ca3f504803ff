#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what the documents show.

    tests/readme_test.py PATH/TO/baton [FILE.md ...]

Every ```console block of README.md and docs/**/*.md (or of the files named) is run from the repository root, with the
folder of the binary first on PATH, and what comes out (standard output and error as one) must be what the block says:

    ```console
    $ baton check examples/agent-exit/wrong-protocol.json
    Error: unknown protocol: ...
    $ echo $?
    1
    ```

A line that begins with `$ ` is a command; a command that ends in a backslash goes on in a line that begins with `> `.
All other lines are output. An output line `...` stands for any number of lines. `$?` is the status of the command before.
Prints a diff for each difference and exits 1 when there is one; 2 when it could not run.
"""

import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS_MAX = 60  # for one command
ANY = "..."


class Command:
    def __init__(self, file, line, text):
        self.file, self.line, self.text = file, line, text
        self.expected = []


def blocks_in(file):
    """The console blocks of a Markdown file, each a list of (line number, text)."""
    block, fence = None, None
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        mark = re.match(r" {0,3}(`{3,}|~{3,})\s*(\S*)", line)
        if fence is None and mark:
            fence = mark.group(1)
            block = [] if mark.group(2) == "console" else None
        elif fence is not None and re.fullmatch(r" {0,3}" + re.escape(fence[0]) + "{%d,}\\s*" % len(fence), line):
            if block is not None:
                yield block
            block, fence = None, None
        elif block is not None:
            block.append((number, line))


def commands_in(file, block):
    commands = []
    for number, line in block:
        if line.startswith("$ "):
            commands.append(Command(file, number, line[2:]))
        elif not commands:
            raise ValueError(f"{file.relative_to(ROOT)}:{number}: a console block begins with a command: `$ ...`")
        elif line.startswith("> ") and commands[-1].text.endswith("\\") and not commands[-1].expected:
            commands[-1].text += "\n" + line[2:]
        else:
            commands[-1].expected.append(line)
    return commands


def matches(expected, actual):
    """Do the lines match, where ANY stands for any number of them?"""
    if ANY not in expected:
        return expected == actual
    at = expected.index(ANY)
    if actual[:at] != expected[:at]:
        return False
    rest = expected[at + 1 :]
    return any(matches(rest, actual[start:]) for start in range(at, len(actual) + 1))


def run(command, status, environment):
    script = f"(exit {status})\n{command.text}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_MAX, check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "backslashreplace").splitlines()


def main(arguments):
    if not arguments or not os.access(arguments[0], os.X_OK):
        print(__doc__, file=sys.stderr)
        return 2
    binary = Path(arguments[0]).resolve()
    files = [Path(name).resolve() for name in arguments[1:]] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    environment = {
        "PATH": f"{binary.parent}:{os.environ['PATH']}", "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8", "NO_COLOR": "1",
    }
    ran = failed = 0
    for file in files:
        for block in blocks_in(file):
            status = 0
            for command in commands_in(file, block):
                status, actual = run(command, status, environment)
                ran += 1
                if matches(command.expected, actual):
                    continue
                failed += 1
                place = f"{file.relative_to(ROOT)}:{command.line}"
                print(f"{place}: $ {command.text}")
                for line in difflib.unified_diff(command.expected, actual, f"{place} says", "it printed", lineterm=""):
                    print(f"  {line}")
    print(f"{ran} commands ran, {failed} printed something else")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        print(f"readme_test: {problem}", file=sys.stderr)
        sys.exit(2)
