#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas of `baton contract schema` accept exactly what the shape check accepts.

    tests/contract_schema_test.py BATON CONTRACT_DOCUMENTS

Every contract, session.yaml and workflow.yaml of the case files (contracts/*.yaml, vectors/scenarios/*.yaml) is given to both:
a small validator of the schema, and `baton contract check`, of whose findings only those about shape count. Then each
document is changed in many small ways, and both are asked again. Standard library only.
"""

import copy
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from decimal import Decimal

TESTS = pathlib.Path(__file__).resolve().parent

# What the shape check reports. Codes that the rules report as well, for reasons no schema can state, are told apart by place.
SHAPE = {
    "FIELD_TYPE", "FIELD_ENUM", "FIELD_REQUIRED", "UNKNOWN_FIELD", "TIMEOUT_INVALID", "RETRY_INVALID",
    "RATE_LIMIT_INVALID", "TOOL_NAME_INVALID", "BIND_SOURCE", "ONE_OF_EMPTY", "PHASE_LIST_EMPTY", "LIMIT_INVALID",
    "LOOP_INVALID", "AGGREGATE_METRIC", "AGGREGATE_REASON_REQUIRED", "ENVELOPE_REASON_REQUIRED",
    "CHECKPOINT_TIMEOUT_MIN", "CHECKPOINT_WHEN_REQUIRED", "CHECKPOINT_WHEN_EMPTY", "SUPPRESSION_REASON_REQUIRED",
    "SCHEMA_VERSION_UNSUPPORTED", "ROLE_SESSION_MISSING", "WORKFLOW_LIMIT_INVALID", "SHARED_RESOURCE_MODE",
    "PARENT_CLOSE_POLICY", "INVARIANT_NO_OPERATOR", "INVARIANT_OPERATOR_NOT_ALLOWED", "ALLOWED_ERROR_EMPTY",
    "PRECONDITION_SHAPE", "ENVELOPE_BAND_REQUIRED",
}


def is_of_shape(finding):
    """Is it something that a schema can say of a single value?"""
    code, pointer = finding["code"], finding.get("pointer", "")
    if code == "PRECONDITION_SHAPE":  # of the number of steps, not of what goes together
        return pointer.endswith("/requires_step_count/gte")
    if code == "ENVELOPE_BAND_REQUIRED":  # of a band that is there
        return finding.get("text", "") != ""
    if code == "PARENT_CLOSE_POLICY":  # of a word, not of the key that is there twice
        return not pointer.endswith("/parent_close_policy") or finding.get("text", "") != ""
    if code == "ROLE_SESSION_MISSING":  # absent, not a file that is not there
        return finding.get("text", "") == ""
    if code == "FIELD_ENUM" and "of a constrained stage" in finding["message"]:
        return False
    return code in SHAPE


# --- a validator for the keywords that the schemas use ------------------------------------------------------------------------

KEYWORDS = {
    "$schema", "title", "description", "type", "enum", "pattern", "minLength", "minimum", "maximum", "exclusiveMinimum",
    "items", "minItems", "properties", "patternProperties", "additionalProperties", "required", "anyOf",
}


def is_number(value):
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def has_type(value, name):
    return {
        "string": lambda: isinstance(value, str),
        "boolean": lambda: isinstance(value, bool),
        "number": lambda: is_number(value),
        "integer": lambda: is_number(value) and value == int(value),
        "array": lambda: isinstance(value, list),
        "object": lambda: isinstance(value, dict),
    }[name]()


def accepts(schema, value):
    if isinstance(schema, bool):
        return schema
    unknown = set(schema) - KEYWORDS
    assert not unknown, f"the validator does not know {unknown}"
    if "type" in schema and not has_type(value, schema["type"]):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            return False
        if "pattern" in schema and not re.search(schema["pattern"].replace("$", r"\Z"), value):
            return False
    if is_number(value):
        if "minimum" in schema and value < schema["minimum"] or "maximum" in schema and value > schema["maximum"]:
            return False
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            return False
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            return False
        if not all(accepts(schema.get("items", True), one) for one in value):
            return False
    if isinstance(value, dict):
        if not all(name in value for name in schema.get("required", [])):
            return False
        for name, member in value.items():
            named = name in schema.get("properties", {})
            patterns = [one for pattern, one in schema.get("patternProperties", {}).items() if re.search(pattern, name)]
            if named and not accepts(schema["properties"][name], member):
                return False
            if not all(accepts(one, member) for one in patterns):
                return False
            if not named and not patterns and not accepts(schema.get("additionalProperties", True), member):
                return False
    return "anyOf" not in schema or any(accepts(one, value) for one in schema["anyOf"])


def every_property(schema, at=""):
    """All (place, property) of a schema."""
    if not isinstance(schema, dict):
        return
    for name, one in schema.get("properties", {}).items():
        yield f"{at}.{name}", one
        yield from every_property(one, f"{at}.{name}")
    for one in schema.get("anyOf", []):
        yield from every_property(one, at)
    for keyword in ("items", "additionalProperties"):
        yield from every_property(schema.get(keyword), at + "[]")


# --- documents ------------------------------------------------------------------------------------------------------------------


class Baton:
    def __init__(self, binary):
        self.binary = binary

    def schema(self, kind):
        out = subprocess.run([self.binary, "contract", "schema", kind], capture_output=True, text=True, check=True)
        return json.loads(out.stdout, parse_float=Decimal)

    def shape_findings(self, documents):
        """For each (kind, document): the findings about its shape. All at once, each as a pack of its own."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            packs = []
            for number, (kind, document) in enumerate(documents):
                pack = root / str(number)
                pack.mkdir()
                name = {"tool": "t.yaml", "session": "session.yaml", "workflow": "workflow.yaml"}[kind]
                (pack / name).write_text(written(document))
                packs.append(str(pack))
            out = []
            for start in range(0, len(packs), 400):
                run = subprocess.run(
                    [self.binary, "contract", "check", "--format", "json", *packs[start : start + 400]],
                    capture_output=True, text=True, check=False)
                assert run.returncode in (0, 1), run.stderr
                out += [json.loads(line)["findings"] for line in run.stdout.splitlines()]
        assert len(out) == len(documents)
        return [[one for one in findings if is_of_shape(one)] for findings in out]


def written(document):
    """As JSON, every number in its own digits."""
    if isinstance(document, dict):
        return "{" + ",".join(json.dumps(name) + ": " + written(one) for name, one in document.items()) + "}"
    if isinstance(document, list):
        return "[" + ",".join(map(written, document)) + "]"
    return str(document) if isinstance(document, Decimal) else json.dumps(document)


# --- small changes ----------------------------------------------------------------------------------------------------------------

OTHERS = [
    None, True, False, 0, 1, -1, 2, 21, 29, 30, 600, Decimal("0.5"), Decimal("-0.5"), Decimal("1e30"), 2**63, 2**63 - 1,
    "", "other", "*", "always", "allow", "read", "$.a", "two words", "1.0", [], ["x"], [""], [5], [{}], {}, {"x-own": 5},
    {"x": 5}, {"path": "$.a"}, {"path": "$.a", "gte": 1}, [{"path": "$.a", "equals": None}],
]
NAMES = ["x-own", "other", "path", "equals", "exact_match", "ref", "note", "when", "reason", "gte"]


def places(value, way=()):
    yield way
    if isinstance(value, dict):
        for name in value:
            yield from places(value[name], (*way, name))
    if isinstance(value, list):
        for position in range(len(value)):
            yield from places(value[position], (*way, position))


def changed(document, choose):
    """A copy with one value replaced, taken out or added."""
    out = copy.deepcopy(document)
    way = choose.choice(list(places(out)))
    if not way:
        out[choose.choice(NAMES)] = copy.deepcopy(choose.choice(OTHERS))
        return out
    parent = out
    for step in way[:-1]:
        parent = parent[step]
    what = choose.randrange(4)
    if what == 0:
        del parent[way[-1]]
    elif what == 1 and isinstance(parent[way[-1]], dict):
        parent[way[-1]][choose.choice(NAMES)] = copy.deepcopy(choose.choice(OTHERS))
    else:
        parent[way[-1]] = copy.deepcopy(choose.choice(OTHERS))
    return out


def compare(baton, schemas, documents):
    wrong = right = differences = 0
    for (kind, document), findings in zip(documents, baton.shape_findings(documents)):
        accepted = accepts(schemas[kind], document)
        right += accepted
        wrong += not accepted
        if accepted != (not findings):
            differences += 1
            said = ", ".join(f"{one['code']} at {one.get('pointer', '')}" for one in findings) or "nothing"
            print(f"the schema {'accepts' if accepted else 'refuses'} it, and check says {said}:\n  {kind} {written(document)}")
            if differences >= 5:
                sys.exit("and perhaps more")
    return right, wrong, differences


def is_read(value):
    """A file with a number of more than 10,000 digits is not read: that is all that check says of it."""
    if isinstance(value, Decimal):
        return abs(value.adjusted()) < 10_000
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(map(is_read, inner))


def main():
    baton = Baton(sys.argv[1])
    schemas = {kind: baton.schema(kind) for kind in ("tool", "session", "workflow")}
    faults = 0
    for kind, schema in schemas.items():
        properties = list(every_property(schema))
        assert len(properties) > 20, kind
        for at, one in properties:
            if not one.get("description"):
                faults += 1
                print(f"{kind}{at} has no description")

    files = sorted([*TESTS.glob("contracts/*.yaml"), *TESTS.glob("vectors/scenarios/*.yaml")])
    out = subprocess.run([sys.argv[2], *map(str, files)], capture_output=True, text=True, check=True).stdout
    seen, documents = set(), []
    for line in out.splitlines():
        entry = json.loads(line, parse_float=Decimal)
        if line not in seen:
            documents.append((entry["kind"], entry["document"]))
        seen.add(line)
    right, wrong, differences = compare(baton, schemas, documents)
    assert right > 100 and wrong > 100, (right, wrong)
    faults += differences
    print(f"case files: {right} documents are right, {wrong} are not, {differences} judged differently")

    choose = random.Random(7)
    objects = [one for one in documents if isinstance(one[1], dict) and one[1] and is_read(one[1])]
    mutants = []
    for _ in range(4000):
        kind, document = choose.choice(objects)
        mutants.append((kind, changed(document, choose)))
    right, wrong, differences = compare(baton, schemas, mutants)
    assert right > 300 and wrong > 300, (right, wrong)
    faults += differences
    print(f"changed: {right} documents are right, {wrong} are not, {differences} judged differently")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
