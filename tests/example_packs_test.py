#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the packs of examples/contracts to what they are there for.

    tests/example_packs_test.py PATH/TO/baton

- Each compiles without an error, a warning or a note (`baton contract check --strict`), and says why it suppresses what it does.
- What a pack says is what counts: written as JSON, with its members in another order and without golden cases, it has the same
  hash; with one bound changed it has another.
- Every tool has a schema and a golden case; cases of both forms are there, some allowed and some refused; what they name exists;
  and each is decided as it says (`baton contract test`).
- Scenario files: `cases` are as expected. The short packs of `run` and `events` compile; they run, where this version can, and a
  `run` also with the whole pack in the place of the short one, so that the two cannot drift apart.
- What the READMEs of the examples say is proved of every session is proved (`baton contract prove`), also of examples/workflows.
- Together the packs use every field, and every word of every enumeration, that `baton contract schema` has.

Prints one line a finding and exits 1 when there is any; 2 when it could not run.
"""

import copy
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples/contracts"
NOT_RUN = "has a body that this version does not run"

findings = []


def fail(where, what):
    findings.append(f"{where}: {what}")


def name_of(path):
    return path.relative_to(ROOT).as_posix()


# --- YAML, as far as the examples use it -----------------------------------------------------------------------------------
# Blocks by indentation, flow collections, plain and double quoted scalars, comments. Baton reads the files themselves; that this
# reads them alike is seen from the hashes.


class Yaml:
    def __init__(self, text):
        self.lines = []
        for line in text.splitlines():
            bare = re.match(r'(?:[^"#]|"(?:\\.|[^"\\])*"|(?<=\S)#)*', line).group().rstrip()
            if bare.strip():
                self.lines.append([len(bare) - len(bare.lstrip()), bare.strip()])
        self.at = 0

    def read(self):
        value = self.block(0)
        assert self.at == len(self.lines), f"cannot read {self.lines[self.at]}"
        return value

    def block(self, indent):
        if self.lines[self.at][1].startswith("- "):
            out = []
            while self.at < len(self.lines) and self.lines[self.at][0] == indent and self.lines[self.at][1].startswith("- "):
                text = self.lines[self.at][1]
                inner = text[2:].lstrip()
                # The rest of the line is a line of its own, further in.
                self.lines[self.at] = [indent + len(text) - len(inner), inner]
                out.append(self.block(self.lines[self.at][0]))
            return out
        if not re.match(r"""(?:"[^"]*"|[^\s"{\[][^:]*):(?:\s|$)""", self.lines[self.at][1]):
            return self.flow("")
        out = {}
        while self.at < len(self.lines) and self.lines[self.at][0] == indent and not self.lines[self.at][1].startswith("- "):
            key, _, rest = self.lines[self.at][1].partition(":")
            if rest.strip():
                value = self.flow(rest.strip())
            else:
                self.at += 1
                value = self.block(self.lines[self.at][0]) if self.deeper(indent) else None
            out[key.strip('"')] = value
        return out

    def deeper(self, indent):
        if self.at == len(self.lines):
            return False
        next_indent, text = self.lines[self.at]
        return next_indent > indent or (next_indent == indent and text.startswith("- "))

    def flow(self, text):
        text = text or self.lines[self.at][1]
        self.at += 1
        while text[0] in "{[" and self.depth(text) > 0:
            text += " " + self.lines[self.at][1]
            self.at += 1
        value, end = self.value(text, 0, "")
        assert not text[end:].strip(), f"cannot read {text!r}"
        return value

    @staticmethod
    def depth(text):
        bare = re.sub(r'"(?:\\.|[^"\\])*"', "", text)
        return sum(bare.count(c) for c in "{[") - sum(bare.count(c) for c in "}]")

    def value(self, text, at, ends):
        while text[at] == " ":
            at += 1
        if text[at] in "{[":
            is_map, at = text[at] == "{", at + 1
            out = {} if is_map else []
            while True:
                while text[at] in " ,":
                    at += 1
                if text[at] in "}]":
                    return out, at + 1
                if is_map:
                    key, at = self.value(text, at, ":,}")
                    assert text[at] == ":", f"cannot read {text!r}"
                    out[key], at = self.value(text, at + 1, ",}")
                else:
                    one, at = self.value(text, at, ",]")
                    out.append(one)
        if text[at] == '"':
            end = re.compile(r'"(?:\\.|[^"\\])*"').match(text, at).end()
            return json.loads(text[at:end]), end
        end = at
        while end < len(text) and not (text[end] in ends and (text[end] != ":" or text[end + 1:end + 2] in (" ", ""))):
            end += 1
        return self.scalar(text[at:end].strip()), end

    @staticmethod
    def scalar(text):
        words = {"true": True, "false": False, "null": None, "~": None, "": None}
        if text in words:
            return words[text]
        if re.fullmatch(r"-?\d+", text):
            return int(text)
        return float(text) if re.fullmatch(r"-?\d+\.\d+", text) else text


def read_yaml(path):
    return Yaml(path.read_text(encoding="utf-8")).read()


# --- packs -----------------------------------------------------------------------------------------------------------------


class Pack:
    """A folder with a session.yaml, its contracts, tool definitions and golden files."""

    def __init__(self, folder):
        self.folder = folder
        self.session = read_yaml(folder / "session.yaml")
        self.contracts = {p.stem: read_yaml(p) for p in sorted(folder.glob("*.yaml")) if p.name not in ("session.yaml", "workflow.yaml")}
        tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
        self.schemas = {tool["name"]: tool["inputSchema"] for tool in tools}
        self.golden = {p.relative_to(folder).as_posix(): json.loads(p.read_text(encoding="utf-8"))
                       for p in sorted((folder / "golden").rglob("*.json"))}


class Example:
    def __init__(self, folder):
        self.folder = folder
        self.workflow = read_yaml(folder / "workflow.yaml") if (folder / "workflow.yaml").is_file() else None
        self.packs = [Pack(path.parent) for path in sorted(folder.rglob("session.yaml"))]
        self.scenarios = {path: read_yaml(path) for path in sorted((folder / "scenarios").glob("*.yaml"))}


def run(baton, *arguments):
    return subprocess.run([baton, "contract", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)


def check_compiles(baton, example):
    done = run(baton, "check", example.folder, "--strict", "--format", "json")
    said = json.loads(done.stdout) if done.stdout else {"findings": [done.stderr], "suppressed": [], "packs": []}
    if done.returncode != 0 or said["findings"]:
        fail(name_of(example.folder), f"is not clean: {said['findings']}")
    for pack in example.packs:
        for one in pack.session.get("graph_analysis", {}).get("suppress", []):
            if len(one["reason"].split()) < 5:
                fail(name_of(pack.folder), f"suppresses {one['check']} without a sentence that says why")


# --- the hash --------------------------------------------------------------------------------------------------------------


def turned_round(value):
    """The same value with the members of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: turned_round(value[key]) for key in reversed(list(value))}
    return [turned_round(one) for one in value] if isinstance(value, list) else value


def hash_of(baton, pack, session, contracts):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "session.yaml").write_text(json.dumps(session), encoding="utf-8")
        (folder / "tools.json").write_text((pack.folder / "tools.json").read_text(encoding="utf-8"), encoding="utf-8")
        for name, contract in contracts.items():
            (folder / f"{name}.yaml").write_text(json.dumps(contract), encoding="utf-8")
        done = run(baton, "check", folder, "--format", "json")
        packs = json.loads(done.stdout)["packs"]
        return packs[0]["hash"] if packs else done.stdout


def check_hash(baton, pack):
    said = json.loads(run(baton, "check", pack.folder, "--format", "json").stdout)
    if not said["packs"]:
        return  # it does not compile, which has been said
    plain = said["packs"][0]["hash"]
    contracts = {name: {**turned_round(contract), "golden_cases": []} for name, contract in pack.contracts.items()}
    session = turned_round({key: value for key, value in pack.session.items() if key != "graph_analysis"})
    if (other := hash_of(baton, pack, session, contracts)) != plain:
        fail(name_of(pack.folder), f"has another hash when it is written in another order: {other}")
    session["session_limits"] = {**session["session_limits"], "max_steps": session["session_limits"]["max_steps"] + 1}
    if hash_of(baton, pack, session, contracts) == plain:
        fail(name_of(pack.folder), "has the same hash with another limit")


# --- tools and their cases -------------------------------------------------------------------------------------------------

INLINE = {"arguments", "principal", "labels", "bindings", "phase", "history", "output", "expect"}


def check_tools(pack):
    where = name_of(pack.folder)
    if sorted(pack.schemas) != sorted(pack.contracts):
        fail(where, f"tools.json and the contracts differ: {sorted(set(pack.schemas) ^ set(pack.contracts))}")
    phases = {phase["name"] for phase in pack.session["phases"]}
    slots = {bind["name"] for contract in pack.contracts.values() for bind in contract.get("binds", [])}
    used = set()
    for tool, contract in pack.contracts.items():
        if not contract["golden_cases"]:
            fail(f"{where}/{tool}.yaml", "has no golden case")
        for entry in contract["golden_cases"]:
            case = entry
            if "input_ref" in entry:
                used.add(entry["input_ref"])
                case = pack.golden[entry["input_ref"]]
                if strangers := set(case) - INLINE:
                    fail(f"{where}/{entry['input_ref']}", f"has members that a case does not have: {strangers}")
            unknown = [name for name in [case.get("phase")] if name and name not in phases]
            unknown += [name for name in case.get("bindings", {}) if name not in slots]
            unknown += [call["tool"] for call in case.get("history", []) if call["tool"] not in pack.contracts]
            if unknown:
                fail(f"{where}/{tool}.yaml", f"the case {entry['id']} names what is not there: {unknown}")
    if used != set(pack.golden):
        fail(where, f"files under golden/ that no case names: {sorted(set(pack.golden) - used)}")


def check_cases(baton, example):
    cases = [case for pack in example.packs for contract in pack.contracts.values() for case in contract["golden_cases"]]
    forms = {"inline, allowed": any(case.get("expect", {}).get("verdict") == "allow" for case in cases),
             "inline, refused": any(case.get("expect", {}).get("verdict") == "block" for case in cases),
             "by input_ref": any("input_ref" in case for case in cases)}
    for form, there in forms.items():
        if not there:
            fail(name_of(example.folder), f"has no golden case of the form: {form}")
    done = run(baton, "test", example.folder, "--format", "json")
    said = json.loads(done.stdout) if done.stdout else {"passed": False, "cases": [done.stderr]}
    if done.returncode != 0 or not said["passed"]:
        fail(name_of(example.folder), f"has golden cases that differ: {[case for case in said['cases'] if case['outcome'] == 'differs']}")
    if len(said["cases"]) != len(cases):
        fail(name_of(example.folder), f"has {len(cases)} golden cases, and {len(said['cases'])} were run")


# --- scenarios -------------------------------------------------------------------------------------------------------------


def simulate(baton, where, stem, scenario):
    """Runs a scenario; a body that this version does not run is none of our business."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{stem}.json"
        path.write_text(json.dumps({"scenario": stem, **scenario}), encoding="utf-8")
        done = run(baton, "simulate", path)
    if done.returncode != 0 and NOT_RUN not in done.stderr:
        fail(where, f"{done.stdout}{done.stderr}".strip())


def check_scenario(baton, example, path, scenario):
    where, body = name_of(path), next(key for key in ("run", "events", "cases") if key in scenario)
    done = run(baton, "simulate", path)
    if done.returncode != 0 and (body == "cases" or NOT_RUN not in done.stderr):
        fail(where, f"{done.stdout}{done.stderr}".strip())
    if body == "cases":
        return body
    pack = {key: scenario[key] for key in ("session", "contracts", "tools", "environment", "workflow", "packs") if key in scenario}
    simulate(baton, f"{where}, its pack", path.stem, {"cases": [{**pack, "code": "OK", "codes": []}]})
    if body == "run":
        whole = next(pack for pack in example.packs if {one["tool"] for one in scenario["contracts"]} <= set(pack.contracts))
        in_place = {"session": whole.session, "contracts": list(whole.contracts.values()), "tools": whole.schemas}
        for contract in in_place["contracts"]:  # no files under golden/ in a scenario
            contract["golden_cases"] = [case for case in contract["golden_cases"] if "input_ref" not in case]
        simulate(baton, f"{where}, the whole pack", path.stem, {"cases": [{**in_place, "code": "OK", "codes": []}]})
        given = {key: value for key, value in scenario.items() if key in ("principal", "environment", "labels", "gate", "mode", "run")}
        simulate(baton, f"{where}, with the whole pack", path.stem, {**given, **in_place})
    return body


def check_scenarios(baton, example):
    bodies = [check_scenario(baton, copy.deepcopy(example), path, scenario) for path, scenario in example.scenarios.items()]
    for body in ("run", "cases"):
        if body not in bodies:
            fail(name_of(example.folder), f"has no scenario with the body {body}")
    readme = (example.folder / "README.md").read_text(encoding="utf-8")
    for path in example.scenarios:
        if path.name not in readme:
            fail(name_of(example.folder / "README.md"), f"does not say what scenarios/{path.name} shows")


# --- every field -----------------------------------------------------------------------------------------------------------

# Where one and the same kind of entry stands in several places, it counts wherever it is used.
SAME = {"with_output": "invariant", "input_invariants": "invariant", "output_invariants": "invariant", "principal": "invariant",
        "execution_constraints/arguments": "invariant", "checkpoint": "checkpoint", "checkpoints": "checkpoint"}


def folded(path):
    """A path of field names; within such an entry, the path from it."""
    for field, kind in SAME.items():
        _, found, rest = f"{path}/".rpartition(f"/{field}/")
        if found and rest:
            return f"{kind}/{rest}".rstrip("/")
    return path


def word_of(schema, word):
    return f"the word {word} of {' | '.join(schema['enum'])}"


def fields_of(schema, path, out):
    """Every field of a schema as a path, and every word of its enumerations."""
    out.update(word_of(schema, word) for word in schema.get("enum", []))
    for one in schema.get("anyOf", []):
        fields_of(one, path, out)
    if "items" in schema:
        fields_of(schema["items"], path, out)
    if isinstance(schema.get("additionalProperties"), dict):
        fields_of(schema["additionalProperties"], path + "/*", out)
    for name, below in schema.get("properties", {}).items():
        out.add(folded(f"{path}/{name}"))
        fields_of(below, f"{path}/{name}", out)


def used_by(value, schema, path, out):
    if isinstance(value, str) and value in schema.get("enum", []):
        out.add(word_of(schema, value))
    for one in schema.get("anyOf", []):
        used_by(value, one, path, out)
    if isinstance(value, list) and "items" in schema:
        for one in value:
            used_by(one, schema["items"], path, out)
    if isinstance(value, dict):
        for name, below in value.items():
            if name in schema.get("properties", {}):
                out.add(folded(f"{path}/{name}"))
                used_by(below, schema["properties"][name], f"{path}/{name}", out)
            elif isinstance(schema.get("additionalProperties"), dict):
                used_by(below, schema["additionalProperties"], path + "/*", out)


def check_fields(baton, examples):
    packs = [pack for example in examples for pack in example.packs]
    files = {"tool": [contract for pack in packs for contract in pack.contracts.values()],
             "session": [pack.session for pack in packs],
             "workflow": [example.workflow for example in examples if example.workflow]}
    fields, used = set(), set()
    for kind, values in files.items():
        schema = json.loads(run(baton, "schema", kind).stdout)
        fields_of(schema, kind, fields)
        for value in values:
            used_by(value, schema, kind, used)
    # The one key that may stand in two places: the workflow has it in the other.
    for unused in sorted(fields - used):
        if not unused.startswith("workflow/cancellation/parent_close_policy"):
            fail("examples/contracts", f"no pack uses {unused}")
    return len(fields)


# A row of a README's section on what is proved: a claim, and the options of `prove` that show it.
PROOF = re.compile(r"^\| (?P<claim>.+) \| `(?P<options>--.+)` \|$")


def proofs_of(readme):
    """(claim, options) of each row under "What is proved"."""
    _, found, section = readme.read_text(encoding="utf-8").partition("\n## What is proved\n")
    if not found:
        fail(name_of(readme), "does not say what is proved")
    rows = [PROOF.match(line) for line in section.partition("\n## ")[0].splitlines() if "`--" in line]
    if not all(rows):
        fail(name_of(readme), "has a row under `What is proved` that is no claim with options")
    return [(row["claim"], shlex.split(row["options"])) for row in rows if row]


def check_proofs(baton):
    """What the READMEs of the examples claim to be proved is proved, for every role."""
    readmes = sorted(EXAMPLES.glob("*/README.md")) + sorted((EXAMPLES.parent / "workflows").glob("*/README.md"))
    for readme in readmes:
        folder, proved = readme.parent, set()
        for claim, options in proofs_of(readme):
            result = run(baton, "prove", folder, *options)
            if result.returncode != 0:
                fail(name_of(readme), f"claims `{claim}`, which is not proved:\n{result.stdout}{result.stderr}")
            if "lacks evidence" in result.stdout:
                fail(name_of(readme), f"claims `{claim}`, which an ok answer without evidence breaks:\n{result.stdout}")
            proved.add(options[options.index("--role") + 1] if "--role" in options else "")
        workflow = folder / "workflow.yaml"
        for role in [one["name"] for one in read_yaml(workflow)["roles"]] if workflow.is_file() else [""]:
            if role not in proved:
                fail(name_of(readme), f"proves nothing of {role or 'the pack'}")
    for pack in sorted((EXAMPLES.parent / "tour" / "packs").iterdir()):
        result = run(baton, "prove", pack, "--always-finish")
        if result.returncode != 0:
            fail(name_of(pack), f"a session may not come to an end:\n{result.stdout}{result.stderr}")


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    baton = sys.argv[1]
    examples = [Example(folder) for folder in sorted(EXAMPLES.iterdir()) if folder.is_dir()]
    for example in examples:
        check_compiles(baton, example)
        check_cases(baton, example)
        check_scenarios(baton, example)
        for pack in example.packs:
            check_hash(baton, pack)
            check_tools(pack)
    check_proofs(baton)
    fields = check_fields(baton, examples)
    for finding in findings:
        print(finding)
    print(f"{len(examples)} examples, {sum(len(one.packs) for one in examples)} packs, {fields} fields and words: {len(findings)} findings")
    return 1 if findings or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
