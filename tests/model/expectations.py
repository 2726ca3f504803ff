# SPDX-License-Identifier: Apache-2.0
"""Expectations of a scenario (docs: scenarios 3), written from what the model observed."""

CALL_KEYS = ("expect", "failures", "detail", "in_flight", "settles", "request_approval", "attempts_used", "slept")
STATE_KEYS = ("outcome", "diagnostics", "phase", "killed", "paused", "bindings", "forbidden", "session_labels",
              "tools_visible", "counters", "decisions", "cancel_requested", "handoffs")


def without_expectations(entry):
    """The entry with its actions alone."""
    bare = {key: value for key, value in entry.items() if key not in CALL_KEYS + STATE_KEYS + ("why",)}
    if "step" in bare:
        bare["step"] = [without_expectations(member) for member in bare["step"]]
    return bare


def with_expectations(entry, observed):
    """The entry with everything the model is sure of."""
    full = without_expectations(entry)
    full.update(call_expectations(observed))
    full.update(state_expectations(observed))
    if "step" in full:
        pairs = zip(full["step"], observed["members"])
        full["step"] = [{**member, **call_expectations(seen)} for member, seen in pairs]
    return full


def call_expectations(observed):
    return {key: observed[key] for key in CALL_KEYS if observed.get(key) is not None}


def state_expectations(observed):
    unsure = set(observed["unsure"])
    stated = {key: observed[key] for key in STATE_KEYS if observed.get(key) is not None and key not in unsure}
    if "counters" in stated:
        stated["counters"] = {name: value for name, value in stated["counters"].items() if name not in unsure}
    return {key: value for key, value in stated.items() if value != {} and (key != "diagnostics" or value)}
