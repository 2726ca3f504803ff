#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays scenario files of workflows with the model and holds what they expect against what it says.

    check_workflows.py FILE...

For files with an `events` body. A scenario that people wrote and the model must agree before either is held
against the product. Prints every difference; exits 0 when there is none, 1 otherwise, 2 when a file cannot be read, 77
where Python has no yaml.
"""

import re
import sys
from pathlib import Path

try:
    import yaml
except ImportError:
    print("skipped: Python has no yaml here")
    sys.exit(77)

sys.dont_write_bytecode = True  # a test leaves nothing beside its sources

from expectations import CALL_KEYS, STATE_KEYS
from values import canonical, plain
from workflow_model import WorkflowModel

SETS = ("failures", "forbidden", "session_labels", "tools_visible")
SOME = ("bindings", "counters", "handoffs", "decisions", "request_approval")  # only the members that are listed
DEFAULT_OK = ("receipt", "label", "cost", "create", "offer", "claim", "decline", "cancel", "expire", "kill", "close")


class CoreLoader(yaml.SafeLoader):
    """YAML 1.2: `no`, `on` and `off` are strings."""


CoreLoader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
CoreLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))


def matches(key, wanted, got):
    if key == "diagnostics":
        return set(wanted) <= set(got or [])
    if key in SETS:
        return set(wanted) == set(got or [])
    if key in SOME:
        return all(name in (got or {}) and canonical(value) == canonical(plain(got[name]))
                   for name, value in wanted.items())
    if key == "settles" and wanted == "failed":
        return got == "failed" or (got or "").startswith("failed:")
    return canonical(wanted) == canonical(plain(got))


def differences(entry, observed):
    """(key, expected, got) of an entry and the members of its step."""
    wanted = dict(entry)
    if any(key in entry for key in DEFAULT_OK):
        wanted.setdefault("expect", "ok")
    for key in CALL_KEYS + STATE_KEYS:
        if key in wanted and not matches(key, wanted[key], observed.get(key)):
            yield key, wanted[key], observed.get(key)
    for member, seen in zip(entry.get("step", []), observed.get("members", [])):
        yield from differences(member, seen)


def check(path):
    """How many entries differ."""
    scenario = yaml.load(path.read_text(encoding="utf-8"), CoreLoader)
    if scenario.get("scenario") != path.stem:
        print(f"{path}: is called `{scenario.get('scenario')}`")
        return 1
    model, wrong = WorkflowModel(scenario), 0
    for number, entry in enumerate(scenario["events"], 1):
        found = list(differences(entry, model.play(entry)))
        for key, wanted, got in found:
            print(f"{path}: entry {number}: {key}: expected {wanted}, got {got}  ({entry.get('why', '')})")
        wrong += bool(found)
    return wrong


def main():
    try:
        wrong = sum([check(Path(name)) for name in sys.argv[1:]])
    except (OSError, KeyError, yaml.YAMLError) as fault:
        print(f"cannot read: {fault}", file=sys.stderr)
        return 2
    print(f"{len(sys.argv) - 1} files, {wrong} entries differ")
    return 1 if wrong or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
