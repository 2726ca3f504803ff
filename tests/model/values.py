# SPDX-License-Identifier: Apache-2.0
"""JSON values as the contract rules see them: exact numbers, paths, canonical text and the operators.

Part of the second, independent reading of the specification (see session_model.py). Everything is written for being
obviously right, not for speed: equality is equality of canonical texts, numbers are decimals, a path is walked anew
every time.
"""

import decimal
import functools
import json
import re
import sys

# More digits than a sum or a product of two numbers that a call may hold can have.
decimal.getcontext().prec = 50_000
sys.set_int_max_str_digits(0)
DIGITS_MAX = 10_000  # of a number in a call's arguments, when it is written out


class _Absent:
    """There is no value at that path (null is a value)."""

    def __repr__(self):
        return "ABSENT"

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


ABSENT = _Absent()
FULL_OPERATORS = ("equals", "exists", "type", "contains", "one_of", "regex", "gte", "lte", "length_gte", "length_lte",
                  "equals_env", "exact_match")


def is_number(value):
    return isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool)


def is_scalar(value):
    return isinstance(value, (str, bool)) or is_number(value)


def exact(value):
    """A number as a decimal: a float stands for the text it is written with, so 0.1 is one tenth."""
    return decimal.Decimal(repr(value)) if isinstance(value, float) else decimal.Decimal(value)


def is_written_within(value):
    """Whether a number has no more digits than a call may hold, when it is written out without an exponent."""
    _, digits, exponent = exact(value).as_tuple()
    digits = "".join(map(str, digits)).lstrip("0")
    if not digits:
        return True
    exponent += len(digits) - len(digits.rstrip("0"))
    digits = len(digits.rstrip("0"))
    if exponent >= 0:
        return digits + exponent <= DIGITS_MAX
    return max(digits + exponent, 1) - exponent <= DIGITS_MAX


def all_written_within(value):
    if is_number(value):
        return is_written_within(value)
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return all(all_written_within(member) for member in members)


def write_json(value):
    """JSON text; a decimal is written with all its digits."""
    text = json.dumps(value, default=lambda number: f"<<{number_text(number)}>>")
    return re.sub(r'"<<(-?[0-9.]+)>>"', r"\1", text)


def number_text(value):
    value = exact(value)
    if value == 0:
        return "0"
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def canonical(value):
    """Sorted keys, numbers as exact normalised decimals: 1 and 1.0 are one value, true and 1 are two."""
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value)
    if is_number(value):
        return number_text(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(member) for member in value) + "]"
    return "{" + ",".join(json.dumps(key) + ":" + canonical(value[key]) for key in sorted(value)) + "}"


def deep_equal(left, right):
    return canonical(left) == canonical(right)


def plain(value):
    """The value with decimals as int or float where that is the same number."""
    if isinstance(value, decimal.Decimal):
        if value == value.to_integral_value():
            return int(value)
        return float(value) if exact(float(value)) == value else value
    if isinstance(value, list):
        return [plain(member) for member in value]
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    return value


_SEGMENT = re.compile(r"\.([^.\[\]'\"]+)|\['([^']*)'\]|\[\"([^\"]*)\"\]|\[([0-9]+)\]")


@functools.cache
def path_segments(path):
    """`$.a['b'][0]` as ("a", "b", 0). Two spellings of a path give the same segments."""
    if not path.startswith("$"):
        raise ValueError(f"not a path: {path}")
    segments, at = [], 1
    while at < len(path):
        match = _SEGMENT.match(path, at)
        if not match:
            raise ValueError(f"not a path: {path}")
        names = [name for name in match.groups()[:3] if name is not None]
        segments.append(names[0] if names else int(match.group(4)))
        at = match.end()
    return tuple(segments)


def resolve(path, document):
    value = document
    for segment in path_segments(path):
        if isinstance(segment, str) and isinstance(value, dict) and segment in value:
            value = value[segment]
        elif isinstance(segment, int) and isinstance(value, list) and segment < len(value):
            value = value[segment]
        else:
            return ABSENT
    return value


def refuse_duplicates(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate key")
    return members


def refuse_constant(name):
    raise ValueError(f"not a number of JSON: {name}")


def parse_json(text):
    """The value of a JSON text; ValueError when it is malformed or has a key twice."""
    return json.loads(text, parse_float=decimal.Decimal, parse_constant=refuse_constant,
                      object_pairs_hook=refuse_duplicates)


def has_type(value, name):
    if name == "string":
        return isinstance(value, str)
    if name == "number":
        return is_number(value)
    if name == "integer":
        return is_number(value) and exact(value) == exact(value).to_integral_value()
    if name == "boolean":
        return isinstance(value, bool)
    if name == "object":
        return isinstance(value, dict)
    return isinstance(value, list)


def contains(value, wanted):
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted in value
    if isinstance(value, list):
        return any(deep_equal(member, wanted) for member in value)
    return False


def operator_holds(operator, wanted, value, environment):
    """One operator on one value; an absent value fails everything except `exists: false`."""
    if operator == "exists":
        return (value is not ABSENT and value is not None) == wanted
    if value is ABSENT:
        return False
    if operator == "equals":
        return deep_equal(value, wanted)
    if operator == "type":
        return has_type(value, wanted)
    if operator == "contains":
        return contains(value, wanted)
    if operator == "one_of":
        return any(deep_equal(value, member) for member in wanted)
    if operator == "regex":
        return isinstance(value, str) and re.search(wanted, value) is not None
    if operator == "gte":
        return is_number(value) and exact(value) >= exact(wanted)
    if operator == "lte":
        return is_number(value) and exact(value) <= exact(wanted)
    if operator == "length_gte":
        return isinstance(value, (str, list)) and len(value) >= exact(wanted)
    if operator == "length_lte":
        return isinstance(value, (str, list)) and len(value) <= exact(wanted)
    if operator == "equals_env":
        return isinstance(value, str) and wanted in environment and value == environment[wanted]
    if operator == "exact_match":
        return isinstance(value, str) and value == wanted
    raise ValueError(f"unknown operator: {operator}")


def entry_holds(entry, document, environment):
    """All operators of an entry hold for the value at its path (the document itself may be absent)."""
    value = ABSENT if document is ABSENT else resolve(entry["path"], document)
    return all(operator_holds(name, entry[name], value, environment) for name in FULL_OPERATORS if name in entry)
