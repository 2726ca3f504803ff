#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the documents to the program and to each other.

    tests/docs_test.py PATH/TO/baton

- docs/reference/diagnostics.md is what `baton explain --all` prints.
- Every relative link of README.md, ARCHITECTURE.md, CONTRIBUTING.md and docs/ leads to a file, and its #fragment to a
  heading of that file.
- Every command of `baton --help`, and every command below one, has a section `## baton NAME` in docs/reference/cli.md,
  and that section names every option of the command.
- docs/formats/contracts.md names every field, and every word of an enumeration, of `baton contract schema`, and every code of
  src/diagnostics/contract.def; docs/formats/scenarios.md every member of the tables in src/contract/scenario.cc.
- A YAML block of a document that is a scenario with a `run` body is decided as it says (`baton contract simulate`).

Prints one line a finding and exits 1 when there is any; 2 when it could not run.
"""

import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
DIAGNOSTICS = ROOT / "docs/reference/diagnostics.md"
CLI = ROOT / "docs/reference/cli.md"

findings = []


def fail(where, what):
    findings.append(f"{where}: {what}")


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env={**os.environ, "NO_COLOR": "1"})
    return done.stdout


# --- the catalogue ----------------------------------------------------------------------------------------------------


def check_diagnostics(baton):
    made, written = output_of(baton, "explain", "--all"), DIAGNOSTICS.read_text(encoding="utf-8")
    if made == written:
        return
    name = DIAGNOSTICS.relative_to(ROOT)
    fail(name, f"is not what `baton explain --all` prints; make it again: baton explain --all > {name}")
    print("\n".join(difflib.unified_diff(written.splitlines(), made.splitlines(), str(name), "baton explain --all", lineterm="", n=0)))


# --- links ------------------------------------------------------------------------------------------------------------


def prose_of(text):
    """The text with code blocks and code spans taken out; lines stay where they are."""
    lines, fence = [], None
    for line in text.splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence is None and mark:
            fence = mark.group(1)
            lines.append("")
        elif fence is not None:
            if re.fullmatch(r" {0,3}" + re.escape(fence[0]) + "{%d,}\\s*" % len(fence), line):
                fence = None
            lines.append("")
        else:
            lines.append(re.sub(r"`[^`]*`", lambda span: span.group() if span.string[: span.start()].endswith("[") else "", line))
    return lines


def anchors_of(file):
    """The fragments that headings have, made the way GitHub makes them."""
    anchors = set()
    fence = None
    for line in file.read_text(encoding="utf-8").splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if mark and (fence is None or line.strip().startswith(fence)):
            fence = mark.group(1) if fence is None else None
            continue
        heading = re.match(r"#{1,6}\s+(.*)", line) if fence is None else None
        if heading:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).replace("`", "")
            anchors.add(re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-"))
    return anchors


def check_links():
    files = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").rglob("*.md"))
    for file in files:
        name = file.relative_to(ROOT)
        if not file.is_file():
            fail(name, "does not exist")
            continue
        for number, line in enumerate(prose_of(file.read_text(encoding="utf-8")), start=1):
            for target in re.findall(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", line) + re.findall(r"^\[[^\]]+\]:\s*(\S+)", line):
                if re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue
                path, _, fragment = unquote(target).partition("#")
                linked = (file.parent / path).resolve() if path else file
                if not linked.exists():
                    fail(f"{name}:{number}", f"there is no {path}")
                elif ROOT not in (linked, *linked.parents):
                    fail(f"{name}:{number}", f"{path} lies outside the repository")
                elif fragment and linked.suffix == ".md" and fragment not in anchors_of(linked):
                    fail(f"{name}:{number}", f"{path or name} has no heading #{fragment}")


# --- commands ---------------------------------------------------------------------------------------------------------


def below(help_text):
    """The names under the heading Subcommands of a help text."""
    found = re.search(r"^Subcommands:\n((?:  .*\n)+)", help_text, re.MULTILINE)
    return re.findall(r"^  ([a-z][\w-]*)\s", found.group(1), re.MULTILINE) if found else []


def options_in(help_text):
    return sorted(set(re.findall(r"^  (?:-\w,)?(--[a-z][\w-]*)", help_text, re.MULTILINE)) - {"--help"})


def sections_of(text):
    sections, name = {}, None
    for line in text.splitlines():
        heading = re.match(r"#{2,3} `?(baton [a-z -]+?)`?\s*$", line)
        if heading:
            name = heading.group(1)
            sections[name] = ""
        elif re.match(r"#{1,2} ", line):
            name = None
        elif name:
            sections[name] += line + "\n"
    return sections


def check_commands(baton):
    sections = sections_of(CLI.read_text(encoding="utf-8"))
    where = CLI.relative_to(ROOT)
    pending = [[name] for name in below(output_of(baton, "--help"))]
    if not pending:
        fail(where, "`baton --help` lists no command")
    commands = set()
    while pending:
        path = pending.pop(0)
        help_text = output_of(baton, *path, "--help")
        names = below(help_text)
        pending += [[*path, name] for name in names]
        if not names or path == ["mcp"]:  # the proxy is a command that has commands below it
            commands.add(" ".join(path))
        heading = " ".join(["baton", *path])
        if heading not in sections:
            fail(where, f"has no section `## {heading}`")
            continue
        for option in options_in(help_text):
            if not re.search(re.escape(option) + r"(?![\w-])", sections[heading]):
                fail(where, f"the section `{heading}` does not name {option}")
    # Whom each command is for must be decided, and not by leaving it out.
    file = ROOT / "tests/protection/commands.json"
    classes = json.loads(file.read_text(encoding="utf-8"))
    listed = classes["agents"] + classes["operators"]
    for name in sorted(commands ^ set(listed)):
        fail(file.relative_to(ROOT), f"`baton {name}` is " + ("not listed" if name in commands else "not a command"))
    for name in sorted(name for name in set(listed) if listed.count(name) > 1):
        fail(file.relative_to(ROOT), f"`baton {name}` is listed twice")


# --- claims ------------------------------------------------------------------------------------------------------------


def check_claims():
    """Each claim of docs/security.md names a test, as `FILE` `NAME`, and the file has the name."""
    page = ROOT / "docs/security.md"
    claims = 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3 or cells[0] in ("claim", "who") or set(cells[0]) <= {"-"} or "`tests/" not in line:
            continue
        claims += 1
        file = None
        for name in re.findall(r"`([^`]+)`", cells[2]):
            if name.startswith("tests/"):
                file = ROOT / name
                if not file.is_file():
                    fail(f"{page.relative_to(ROOT)}:{number}", f"there is no {name}")
            elif file and file.is_file() and not re.search(rf"\b{re.escape(name)}\b", file.read_text(encoding="utf-8")):
                fail(f"{page.relative_to(ROOT)}:{number}", f"{file.relative_to(ROOT)} has no {name}")
    if claims < 10:
        fail(page.relative_to(ROOT), f"only {claims} claims name a test")


# --- contracts --------------------------------------------------------------------------------------------------------


def names_in(schema):
    """The fields of a schema and the words of its enumerations, all the way down."""
    if isinstance(schema, list):
        return set().union(*map(names_in, schema))
    if not isinstance(schema, dict):
        return set()
    words = {word for word in schema.get("enum", []) if re.fullmatch(r"[a-z_]+", word)}
    fields = set(schema.get("properties", {}))
    below = [*schema.get("properties", {}).values(), *(schema.get(key) for key in ("items", "anyOf", "additionalProperties"))]
    return words | fields | names_in(below)


def check_contracts(baton):
    schemas = [json.loads(output_of(baton, "contract", "schema", kind)) for kind in ("tool", "session", "workflow")]
    codes = re.findall(r"^DIAGNOSTIC\((\w+)", (ROOT / "src/diagnostics/contract.def").read_text(encoding="utf-8"), re.MULTILINE)
    members = re.findall(r'Field\{"(\w+)"', (ROOT / "src/contract/scenario.cc").read_text(encoding="utf-8"))
    for file, names in (("contracts", names_in(schemas) | set(codes)), ("scenarios", set(members))):
        path = ROOT / f"docs/formats/{file}.md"
        # What stands in code spans, taken apart into words: `on_429: allow` names both.
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", text))))
        if not names:
            fail(path.relative_to(ROOT), "there is nothing to hold it to")
        for name in sorted(names - named):
            fail(path.relative_to(ROOT), f"does not name `{name}`")


# --- scenarios --------------------------------------------------------------------------------------------------------


def check_scenarios(baton):
    ran = 0
    for file in sorted((ROOT / "docs").rglob("*.md")):
        for block in re.findall(r"^```yaml\n(scenario: (\w+)\n.*?)^```", file.read_text(encoding="utf-8"), re.M | re.S):
            ran += 1
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"{block[1]}.yaml"
                path.write_text(block[0], encoding="utf-8")
                done = subprocess.run([baton, "contract", "simulate", path], capture_output=True, text=True, timeout=60, check=False)
            if done.returncode != 0:
                fail(file.relative_to(ROOT), f"its scenario {block[1]} is not as it says: {done.stdout}{done.stderr}")
    if not ran:
        fail("docs", "there is no scenario in any document")


def main(arguments):
    if len(arguments) != 1 or not os.access(arguments[0], os.X_OK):
        print(__doc__, file=sys.stderr)
        return 2
    baton = str(Path(arguments[0]).resolve())
    check_diagnostics(baton)
    check_links()
    check_commands(baton)
    check_claims()
    check_contracts(baton)
    check_scenarios(baton)
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in the documents")
    return 1 if findings else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (OSError, subprocess.SubprocessError) as problem:
        print(f"docs_test: {problem}", file=sys.stderr)
        sys.exit(2)
