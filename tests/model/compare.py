#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the product's engine with the model, over drawn packs and sequences of events.

    compare.py --baton PATH --count N [--seed S] [--jobs J] [--show K] [--workflows]
    compare.py --statistics --count N [--seed S] [--workflows]

Draws N scenarios from seed S on, of one session (see generate.py) or, with --workflows, of several that work together
(generate_workflow.py), has `baton contract simulate` play them and reports how many agreed.
For the first K that differ it prints the seed, the scenario without all that the difference does not need, and what was
expected and got. With --statistics nothing is run: it says how often every reason, state and feature occurred, and
which never did. Exits 0 when all agree, 1 on a difference, 2 when something could not be run.
"""

import argparse
import collections
import copy
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

sys.dont_write_bytecode = True  # a test leaves nothing beside its sources

import generate
import generate_workflow
from expectations import without_expectations
from values import write_json

SCENARIOS_IN_A_FILE = 200
SECONDS_MAX = 600
JOBS_MAX = 2
SHRINK_RUNS_MAX = 800

REASONS = [
    "session_killed", "session_closed", "session_paused", "arguments_malformed", "no_contract", "label_denied",
    "policy_denied", "risk_gate_blocked", "wrong_phase", "illegal_phase_transition", "phase_conflict",
    "forbidden_in_state", "entity_missing", "session_limit_exceeded", "loop_detected", "response_format_invalid",
    "assertion_context_missing", "input_assertion_failed", "output_assertion_failed", "precondition_not_met",
    "argument_value_invalid", "execution_constraint_violated", "binding_unbound", "binding_mismatch",
    "aggregate_violated", "aggregate_value_invalid", "envelope_violated", "envelope_reference_missing",
    "envelope_value_invalid", "checkpoint_denied", "checkpoint_timeout", "batch_rejected", "provider_incompatible",
    "checkpoint_closed", "call_not_open", "approval_mismatch",
]
SETTLES = ["pending", "committed", "failed", "failed:evidence_insufficient", "failed:output_assertion_failed",
           "unknown", "cancelled"]
OUTCOMES = ["proceed", "held", "reject", "error", "text"]
DIAGNOSTICS = ["bind_source_missing", "phase_advance_skipped", "envelope_capture_missing", "late_failure",
               "provider_warning", "floating_model_alias", "env_unset", "resource_unresolved"]
BUDGETS = ["max_total_steps", "max_total_cost"]
LIMITS = ["max_steps", "max_cost_per_session", "max_tool_calls", "max_calls_per_tool"]
WORKFLOW_REASONS = [
    "session_killed", "session_closed", "session_paused", "cancel_requested", "arguments_malformed", "no_contract",
    "label_denied", "forbidden_in_state", "session_limit_exceeded", "workflow_limit_exceeded", "loop_detected",
    "aggregate_violated", "envelope_violated", "resource_unresolved", "resource_pending_elsewhere",
    "resource_not_owner", "resource_busy", "checkpoint_denied", "checkpoint_timeout", "batch_rejected",
    "checkpoint_closed", "call_not_open", "workflow_root_exists", "handoff_not_declared", "handoff_artifact_missing", "handoff_resource_unknown",
    "handoff_not_open", "workflow_killed", "kill_scope_disabled", "kill_not_permitted",
]
WORKFLOW_FEATURES = generate_workflow.MODES + [
    "max_sessions", "max_active_sessions", "max_total_steps", "max_total_cost", "max_open_handoffs", "checkpoint",
    "label_gates", "labels at creation", "breaker", "aggregate", "envelope", "commit_none"]
HANDOFF_STATES = ["offered", "claimed", "completed", "declined", "cancelled", "expired"]
HAPPENINGS = ["forbidden in flight", "forbidden for good", "start refused for a call in flight",
              "read while a call waits", "killed", "paused", "retried", "slept", "begin with other arguments", "late receipt", "held step",
              "judged again and blocked", "approved", "approved by timeout"]


def body_of(scenario):
    return "events" if "events" in scenario else "run"


def drawing(workflows):
    """The module that draws."""
    return generate_workflow if workflows else generate


class CannotRun(Exception):
    """The program could not be run, or did not say what it should."""


class CannotPlay(CannotRun):
    """The program ran, but not all that it was given."""


def simulate(baton, scenarios, folder, name):
    """The program's answer to every scenario, in order."""
    path = Path(folder) / f"{name}.jsonl"
    path.write_text("".join(write_json(scenario) + "\n" for scenario in scenarios), encoding="utf-8")
    command = [baton, "contract", "simulate", str(path), "--format", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise CannotRun(str(fault)) from fault
    try:
        answers = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    except ValueError as fault:
        raise CannotPlay(f"not JSON: {fault}") from fault
    if done.returncode not in (0, 1) or len(answers) != len(scenarios):
        raise CannotPlay(f"status {done.returncode}, {len(answers)} answers to {len(scenarios)} scenarios: "
                         f"{done.stderr.strip()[:2000] or done.stdout.strip()[:2000]}")
    return answers


def failed_entries(answer):
    """Entries judged differently; number 0 stands for a pack that does not compile, which is none of them."""
    return [entry for entry in answer.get("entries", []) if not entry.get("passed", False) and entry.get("number")]


def kind_of(answer):
    """What the first difference is about, so that making it small does not end in another one."""
    failed = failed_entries(answer)
    return str(failed[0]["expected"]).split(" ")[0] if failed else ""


# -- making a differing scenario small ---------------------------------------------------------------------------------


class Shrinker:
    """Takes out what the difference does not need; stops after so many runs of the program."""

    def __init__(self, baton, folder):
        self.baton = baton
        self.folder = folder
        self.kind = ""
        self.runs = 0

    def differs(self, scenario):
        """Whether an entry is judged differently, in the way it was at first."""
        if self.runs >= SHRINK_RUNS_MAX:
            return False
        self.runs += 1
        try:
            answer = simulate(self.baton, [scenario], self.folder, "shrink")[0]
        except CannotRun:
            return False
        return not answer["passed"] and kind_of(answer) == self.kind

    def attempt(self, scenario):
        """The scenario with new expectations when it still differs, else None."""
        try:
            candidate = drawing("events" in scenario).annotate(scenario)
        except (KeyError, StopIteration, ValueError, IndexError):
            return None  # something that is referred to was taken out
        return candidate if self.differs(candidate) else None

    def shrink(self, scenario, answer):
        """Round and round, going on where something could be taken out, until nothing can."""
        self.kind = kind_of(answer)
        scenario = self.cut_end(scenario)
        smaller, at, in_vain = list(smaller_ones(scenario)), 0, 0
        while in_vain < len(smaller) and self.runs < SHRINK_RUNS_MAX:
            found = self.attempt(smaller[at % len(smaller)])
            if found is None:
                at, in_vain = at + 1, in_vain + 1
            else:
                scenario, in_vain = found, 0
                smaller = list(smaller_ones(scenario))
        return scenario

    def cut_end(self, scenario):
        """Everything after the first difference goes at once."""
        body = body_of(scenario)
        for length in range(1, len(scenario[body])):
            found = self.attempt({**scenario, body: scenario[body][:length]})
            if found is not None:
                return found
        return scenario


def smaller_ones(scenario):
    """Copies of the scenario with one thing less, large things first."""
    return smaller_workflows(scenario) if "events" in scenario else smaller_sessions(scenario)


def smaller_workflows(scenario):
    events = scenario["events"]
    for size in (8, 4, 2, 1):
        for at in range(0, len(events) - size, size):  # the last one is what it is about
            yield {**scenario, "events": events[:at] + events[at + size:]}
    yield from [without_key(scenario, key) for key in ("gate",) if key in scenario]
    for key, value in scenario["workflow"].items():
        if key not in ("roles", "handoffs"):
            yield changed(scenario, ["workflow"], without_key(scenario["workflow"], key))
        if isinstance(value, (list, dict)) and key != "roles":
            yield from without_one_member(scenario, ["workflow", key])
    for role, pack in scenario["packs"].items():
        if not any(role in (entry.get("role"), entry.get("to")) for entry in events):
            yield without_role(scenario, role)
        yield from without_one_member(scenario, ["packs", role, "contracts"])
        if "labels" in pack:
            yield changed(scenario, ["packs", role], without_key(pack, "labels"))
        for key, value in pack["session"].items():
            yield changed(scenario, ["packs", role, "session"], without_key(pack["session"], key))
            if isinstance(value, dict) and key != "transitions":
                yield from without_one_member(scenario, ["packs", role, "session", key])
        for number, contract in enumerate(pack["contracts"]):
            for key in [name for name in contract if name != "tool"]:
                yield changed(scenario, ["packs", role, "contracts", number], without_key(contract, key))
    yield from smaller_entries(scenario, "events")


def without_role(scenario, role):
    workflow = scenario["workflow"]
    smaller = changed(scenario, ["packs"], without_key(scenario["packs"], role))
    smaller["workflow"] = {
        **workflow, "roles": [entry for entry in workflow["roles"] if entry["name"] != role],
        "handoffs": [edge for edge in workflow["handoffs"] if role not in (edge["from"], edge["to"])]}
    return smaller


def smaller_sessions(scenario):
    yield from without_one_member(scenario, ["contracts"])
    for key in [name for name in scenario if name not in ("scenario", "contracts", "run", "session")]:
        yield without_key(scenario, key)
    yield from without_one_member(scenario, ["run"])
    yield from without_one_member(scenario, ["session"])
    for key, value in scenario["session"].items():
        if isinstance(value, (list, dict)) and key not in ("phases", "transitions"):
            yield from without_one_member(scenario, ["session", key])
    for number, contract in enumerate(scenario["contracts"]):
        for key in [name for name in contract if name != "tool"]:
            yield changed(scenario, ["contracts", number], without_key(contract, key))
    yield from smaller_entries(scenario, "run")


def smaller_entries(scenario, body):
    for number, entry in enumerate(scenario[body]):
        if "step" in entry and len(entry["step"]) > 1:
            yield from without_one_member(scenario, [body, number, "step"])
        for key in ("request", "response", "estimate"):
            if key in entry:
                yield changed(scenario, [body, number], without_key(entry, key))
        if isinstance(entry.get("args"), dict):
            yield from without_one_member(scenario, [body, number, "args"])


def without_key(members, key):
    return {name: value for name, value in members.items() if name != key}


def without_one_member(scenario, path):
    container = scenario
    for key in path:
        container = container[key]
    if isinstance(container, list):
        for index in reversed(range(len(container))):
            yield changed(scenario, path, container[:index] + container[index + 1:])
    else:
        for key in list(container):
            yield changed(scenario, path, without_key(container, key))


def changed(scenario, path, value):
    copied = copy.deepcopy(scenario)
    container = copied
    for key in path[:-1]:
        container = container[key]
    container[path[-1]] = copy.deepcopy(value)
    return copied


def show(scenario):
    """The scenario so that it can be read: one line a contract, one line an entry, expectations left out."""
    apart = ("contracts", "run", "session", "workflow", "packs", "events")
    lines = [f"{key}: {write_json(value)}" for key, value in scenario.items() if key not in apart]
    if "events" in scenario:
        for part in ("workflow", "packs"):
            lines += [f"{part}:"] + [f"  {key}: {write_json(value)}" for key, value in scenario[part].items()]
        lines += ["events:"] + [f"  - {write_json(without_expectations(entry))}" for entry in scenario["events"]]
        return "\n".join(lines)
    lines += ["session:"] + [f"  {key}: {write_json(value)}" for key, value in scenario["session"].items()]
    lines += ["contracts:"] + [f"  - {write_json(contract)}" for contract in scenario["contracts"]]
    lines += ["run:"] + [f"  - {write_json(without_expectations(entry))}" for entry in scenario["run"]]
    return "\n".join(lines)


# -- comparing ---------------------------------------------------------------------------------------------------------


def answers_to(baton, scenarios, folder, name):
    """The program's answers; where it cannot play one of many, that one is found and has differed."""
    try:
        return simulate(baton, scenarios, folder, name)
    except CannotPlay as fault:
        if len(scenarios) == 1:
            return [{"passed": False, "fault": str(fault)}]
    half = len(scenarios) // 2
    return answers_to(baton, scenarios[:half], folder, name) + answers_to(baton, scenarios[half:], folder, name)


def play_group(baton, folder, workflows, seeds):
    """(seed, scenario, answer) of those that differ."""
    scenarios = [drawing(workflows).draw(seed)[0] for seed in seeds]
    answers = answers_to(baton, scenarios, folder, f"g{seeds[0]}")
    return [played for played in zip(seeds, scenarios, answers) if not played[2]["passed"]]


def compare(options):
    began = time.monotonic()
    seeds = range(options.seed, options.seed + options.count)
    groups = [seeds[at:at + SCENARIOS_IN_A_FILE] for at in range(0, len(seeds), SCENARIOS_IN_A_FILE)]
    differing = []
    # Most of the time goes into drawing, which threads would not share.
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(min(options.jobs, JOBS_MAX)) as pool:
        for found in pool.map(play_group, repeat(options.baton), repeat(folder), repeat(options.workflows), groups):
            differing += found
        for seed, scenario, answer in differing[:options.show]:
            report(options.baton, folder, seed, scenario, answer)
    if differing:
        print("differing: " + " ".join(str(seed) for seed, _, _ in differing[:50]))
    print(f"{len(seeds) - len(differing)} of {len(seeds)} agreed, seeds {seeds[0]} to {seeds[-1]}, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if differing else 0


def report(baton, folder, seed, scenario, answer):
    print(f"==== seed {seed}")
    if not failed_entries(answer):
        print(f"refused as a whole: {json.dumps(answer)[:2000]}\n{show(scenario)}\n")
        return
    small = Shrinker(baton, folder).shrink(scenario, answer)
    answer = simulate(baton, [small], folder, "shown")[0]
    print(show(small))
    for entry in failed_entries(answer):
        print(f"entry {entry['number']}")
        print(f"  expected {json.dumps(entry['expected'])}\n  got      {json.dumps(entry['got'])}")
    print()


# -- statistics --------------------------------------------------------------------------------------------------------


def statistics(options):
    counts = {name: collections.Counter() for name in ("verdict", "reason", "failure", "limit", "settles", "outcome",
                                                       "diagnostic", "happening", "feature", "action", "handoff")}
    for seed in range(options.seed, options.seed + options.count):
        _, features, observations = drawing(options.workflows).draw(seed)
        counts["feature"].update(features)
        for entry, observed in observations:
            count_entry(counts, entry, observed)
    known = {"reason": REASONS, "limit": LIMITS, "settles": SETTLES, "outcome": OUTCOMES, "diagnostic": DIAGNOSTICS,
             "happening": HAPPENINGS, "feature": generate.FEATURES}
    if options.workflows:
        known = {"reason": WORKFLOW_REASONS, "outcome": OUTCOMES, "diagnostic": ["cancel_requested"],
                 "limit": LIMITS + BUDGETS, "feature": WORKFLOW_FEATURES, "handoff": HANDOFF_STATES}
    for kind, counter in counts.items():
        print(f"-- {kind}")
        for name, number in counter.most_common():
            print(f"{number:8}  {name}")
        never = [name for name in known.get(kind, []) if not counter[name]]
        if never:
            print(f"   never: {', '.join(never)}")
    return 0


def count_entry(counts, entry, observed):
    counts["action"].update(key for key in ("call", "step", "text", "preflight", "approve", "deny", "timeout", "begin",
                                            "receipt", "label", "cost", "kill", "close", "check", "create", "offer",
                                            "claim", "decline", "cancel", "expire") if key in entry)
    counts["handoff"].update(observed.get("handoffs", {}).values())
    counts["outcome"].update([observed["outcome"]] if observed.get("outcome") else [])
    counts["diagnostic"].update(observed["diagnostics"])
    counts["happening"].update(name for name in ("killed", "paused", "cancel_requested") if observed.get(name))
    for seen in observed.get("members", []) + [observed]:
        if seen.get("expect"):
            verdict, _, reason = seen["expect"].partition(":")
            counts["verdict"][verdict] += 1
            counts["reason"].update([reason] if reason else [])
        counts["failure"].update(seen.get("failures", []))
        counts["limit"].update([seen["detail"]] if seen.get("detail") in LIMITS + BUDGETS else [])
        if "in_flight" in seen:
            counts["happening"].update(["forbidden in flight" if seen["in_flight"] else "forbidden for good"])
            counts["happening"].update(["start refused for a call in flight"] if seen["in_flight"] and "begin" in entry
                                       else [])
        counts["happening"].update(["read while a call waits"] if observed.get("paused") and "call" in entry
                                   and seen.get("expect") == "allow" else [])
        counts["settles"].update([seen["settles"]] if seen.get("settles") else [])
        counts["happening"].update(["retried"] if seen.get("attempts_used", 0) > 1 else [])
        counts["happening"].update(["slept"] if seen.get("slept") else [])
    counts["happening"].update(happenings(entry, observed))


def happenings(entry, observed):
    expect = observed.get("expect", "")
    if "begin" in entry and "args" in entry:
        yield "begin with other arguments"
    if "receipt" in entry and expect == "ok":
        yield "late receipt"
    if "step" in entry and observed.get("outcome") == "held":
        yield "held step"
    if ("approve" in entry or "timeout" in entry) and expect.startswith("block") and "checkpoint_" not in expect:
        yield "judged again and blocked"
    if "approve" in entry and expect == "allow":
        yield "approved"
    if "timeout" in entry and expect == "allow":
        yield "approved by timeout"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--baton", help="the program to compare with")
    parser.add_argument("--count", type=int, default=200, help="how many scenarios")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=JOBS_MAX, help=f"how many at a time, {JOBS_MAX} at most")
    parser.add_argument("--show", type=int, default=3, help="how many differences to make small and print")
    parser.add_argument("--workflows", action="store_true", help="of several sessions instead of one")
    parser.add_argument("--statistics", action="store_true", help="only say what the scenarios hold")
    options = parser.parse_args()
    if options.statistics:
        return statistics(options)
    if not options.baton or options.count < 1 or options.jobs < 1:
        parser.error("--baton is needed, and a count and jobs of at least one")
    try:
        return compare(options)
    except CannotRun as fault:
        print(f"cannot run: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
