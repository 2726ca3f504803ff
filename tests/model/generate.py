#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws small packs that compile and sequences of events for them, with the model's observations as expectations.

    generate.py SEED...      prints one scenario a line

Values come from small domains, so that rules meet each other, and a call that would be blocked is often drawn again, so
that sessions get somewhere. The same seed gives the same scenario for ever after: nothing but the seed is looked at.
"""

import copy
import decimal
import json
import random
import sys

from expectations import with_expectations, without_expectations
from session_model import Model
from values import exact, is_number, is_written_within, plain, write_json

TOOLS = ["look", "quote", "plan", "approve", "pay", "ship"]
EFFECTS = ["read", "read", "write", "write", "financial", "destructive", "admin"]
ERRORS = ["network", "500", "503", "429", "404", "E_BUSY", "declined", "timeout",
          {"code": "E_BUSY", "class": "server_error", "http_status": 503, "message": "try later"},
          {"code": "no_funds", "class": "client_error", "http_status": 402, "message": "no funds left"}]
LABELS = ["secret", "frozen", "internal"]
# Features whose rules need several things to come together.
OFTEN = {"checkpoint": 4, "session_checkpoint": 2, "phases": 3, "retries": 2, "rate_limit": 2, "provider": 2,
         "call_output": 2, "tolerance": 2, "decrease": 2, "increase": 2, "environment": 2, "once": 3, "forbids_per": 3}
# Features that say most when they are together in one pack.
MEETINGS = [
    ["strip_partial", "checkpoint", "retries"], ["strip_blocked", "session_checkpoint", "rate_limit"],
    ["checkpoint", "max_steps"], ["checkpoint", "max_tool_calls", "sum"], ["checkpoint", "labels", "cost"],
    ["checkpoint", "forbids", "breaker"], ["tolerance"], ["tolerance", "shadow"], ["commit_none", "sum", "breaker"],
    ["breaker", "retries", "allowed_errors"], ["policy_rules", "tool_policy"], ["aggregate_when", "binds"],
    ["once", "forbids"], ["once", "checkpoint", "breaker"], ["once", "loop"], ["once", "strip_partial", "checkpoint"],
    ["forbids_per"], ["forbids_per", "checkpoint"], ["once", "shadow", "breaker"], ["once", "commit_none"],
    ["recorded", "checkpoint"], ["recorded", "checkpoint", "breaker"], ["recorded", "phases", "sum", "loop"],
    ["decrease", "forbids"], ["increase", "checkpoint"], ["phases", "forbids"], ["commit_none", "with_output"],
]
MACHINES = [
    (["a", "b", "z"], {"a": ["b"], "b": ["z"]}),
    (["a", "b", "z"], {"a": ["b", "z"], "b": ["a", "z"]}),
    (["a", "b", "c", "z"], {"a": ["b", "c"], "b": ["z"], "c": ["z", "b"]}),
]


# Where doubles, or a bounded number of digits, would see no difference.
LONG_NUMBERS = [decimal.Decimal(text) for text in (
    "3.00000000000000000000000000000000000000000001", "2.99999999999999999999999999999999999999999999",
    "0.1000000000000000055511151231257827021181583404541015625", "0.00000000000000000000000000000000000000000001",
    "-0.00000000000000000000000000000000000000000001")] + [10 ** 40, 10 ** 40 + 1, -10 ** 40]


def number(rng):
    if rng.random() < 0.03:
        return rng.choice(LONG_NUMBERS)
    return rng.choice([1, 2, 2, 3, 3, 4, 5, 6, 0, 1.5, 2.5, 0.1, 3.0, 10, -1])


class PackMaker:
    """Builds a pack feature by feature; every method named add_ is one feature."""

    def __init__(self, rng):
        self.rng = rng
        self.contracts = [{"tool": name, "side_effect": rng.choice(EFFECTS)}
                          for name in rng.sample(TOOLS, rng.randint(2, len(TOOLS)))]
        self.session = {"risk_defaults": {"read": "allow", "write": "allow", "financial": "allow",
                                          "destructive": "allow", "admin": "allow"}}
        self.scenario = {"session": self.session, "contracts": self.contracts}
        self.output_needed = set()  # tools whose output some rule reads
        self.features = []

    def build(self):
        wanted = self.rng.choices(FEATURES, [OFTEN.get(name, 1) for name in FEATURES], k=self.rng.randint(3, 11))
        if self.rng.random() < 0.5:
            wanted = self.rng.choice(MEETINGS) + wanted[:5]
        drawn = list(dict.fromkeys(wanted))
        # Only when all else is there it is known whose output some rule reads.
        for name in sorted(drawn, key=lambda feature: feature == "ack_only"):
            if getattr(self, "add_" + name)() is not False:
                self.features.append(name)
        return self.scenario

    # -- small draws --

    def contract(self, *without):
        """A random contract that has none of the given fields yet, or None."""
        free = [contract for contract in self.contracts if not any(name in contract for name in without)]
        if free and free[0] is self.contracts[0] and self.rng.random() < 0.35:
            return free[0]  # so that several rules meet in one tool
        return self.rng.choice(free) if free else None

    def tool(self):
        return self.rng.choice(self.contracts[:2] if self.rng.random() < 0.3 else self.contracts)["tool"]

    def two_tools(self):
        first, second = self.rng.sample(self.contracts, 2)
        return first["tool"], second["tool"]

    def limits(self):
        return self.session.setdefault("session_limits", {})

    def policy(self):
        return self.session.setdefault("policy", {})

    def assertions(self, contract):
        return contract.setdefault("assertions", {"input_invariants": [], "output_invariants": []})

    def with_principal(self):
        self.scenario.setdefault("principal", {"type": self.rng.choice(["human", "bot"]), "team": "x",
                                               "tier": self.rng.choice([1, 2, 3])})

    def matcher(self):
        return self.rng.choice([
            {"path": "$.type", "equals": "human"}, {"path": "$.type", "one_of": ["bot", "human"]},
            {"path": "$.tier", "gte": 2}, {"path": "$.tier", "lte": 2, "type": "integer"},
            {"path": "$.nothing", "exists": False}, {"path": "$.nothing", "equals": "x"},
            {"path": "$.team", "regex": "^x", "length_lte": 3}, {"path": "$['team']", "contains": "y"}])

    def slots(self):
        return [bind["name"] for contract in self.contracts for bind in contract.get("binds", [])]

    # -- the session's shape --

    def add_phases(self):
        names, transitions = self.rng.choice(MACHINES)
        self.session["phases"] = [{"name": name, **({"initial": True} if name == "a" else {}),
                                   **({"terminal": True} if name == "z" else {})} for name in names]
        self.session["transitions"] = copy.deepcopy(transitions)
        for contract in self.contracts:
            if self.rng.random() < 0.6:
                self.add_transitions(contract, names, transitions)

    def add_transitions(self, contract, names, transitions):
        rule = {}
        if self.rng.random() < 0.5:
            rule["valid_in_phases"] = sorted(self.rng.sample(names, self.rng.randint(1, len(names))))
        if self.rng.random() < 0.7 or not rule:
            possible = sorted({target for phase in rule.get("valid_in_phases", names)
                               for target in [phase] + transitions.get(phase, [])})
            rule["advances_to"] = self.rng.choice(possible)
        contract["transitions"] = rule

    def add_risk(self):
        for name in self.rng.sample(sorted(self.session["risk_defaults"]), 2):
            if self.rng.random() < 0.5:
                del self.session["risk_defaults"][name]
            else:
                self.session["risk_defaults"][name] = "block"

    def add_gate_override(self):
        self.contract()["gate"] = self.rng.choice(["allow", "allow", "block"])

    def add_strip_partial(self):
        self.scenario["gate"] = "strip_partial"

    def add_strip_blocked(self):
        self.scenario["gate"] = "strip_blocked"

    def add_shadow(self):
        if self.rng.random() < 0.5:
            return False
        self.scenario["mode"] = "shadow"
        return True

    def add_defaults(self):
        self.scenario["defaults"] = {"timeouts": {"total_ms": 4000}, "allowed_errors": ["declined"]}

    # -- order of calls --

    def add_prior_tool(self):
        contract = self.contract("preconditions")
        if contract is None:
            return False
        contract["preconditions"] = [{"requires_prior_tool": self.tool()}]
        return True

    def add_resource(self):
        contract = self.contract("preconditions")
        if contract is None:
            return False
        resource = {"bind_from": "arguments", "path": self.rng.choice(["$.id", "$['id']", "$.n"])}
        if self.rng.random() < 0.2:
            resource["prior_path"] = "$.kind"
        contract["preconditions"] = [{"requires_prior_tool": self.tool(), "resource": resource}]
        if self.rng.random() < 0.5:
            self.add_output_condition(contract["preconditions"][0])
        return True

    def add_with_output(self):
        contract = self.contract("preconditions")
        if contract is None:
            return False
        contract["preconditions"] = [{"requires_prior_tool": self.tool()}]
        self.add_output_condition(contract["preconditions"][0])
        return True

    def add_output_condition(self, condition):
        self.output_needed.add(condition["requires_prior_tool"])
        condition["with_output"] = [self.rng.choice([
            {"path": "$.ok", "equals": True}, {"path": "$.v", "gte": 2, "type": "integer"}, {"path": "$.v", "lte": 4},
            {"path": "$.list[0]", "one_of": [1, "x"]}, {"path": "$.note", "exists": False},
            {"path": "$.list", "contains": 2, "length_gte": 1}, {"path": "$", "type": "object"}])]

    def add_step_count(self):
        contract = self.contract("preconditions")
        if contract is None:
            return False
        contract["preconditions"] = [{"requires_step_count": {"gte": self.rng.randint(1, 4)}}]
        return True

    def add_forbids(self):
        for _ in range(self.rng.randint(1, 2)):
            contract = self.contract()
            contract["forbids_after"] = sorted({self.tool() for _ in range(self.rng.randint(1, 2))})

    def add_once(self):
        """A tool that forbids itself, and mostly others with it."""
        contract = self.contract("forbids_after")
        if contract is None:
            return False
        others = {self.tool() for _ in range(self.rng.randint(0, 2))}
        contract["forbids_after"] = sorted({contract["tool"]} | others)
        return True

    def add_recorded(self):
        """Operations without a contract go ahead."""
        self.session["mcp"] = {"unlisted": "record"}

    def add_forbids_per(self):
        """For one entity; both tools then fix the type of what names it."""
        contract, target = self.contract(), self.tool()
        path = self.rng.choice(["$.id", "$.n", "$.meta.level"])
        entry = {"tool": target, "per": path}
        if path != "$.id" and self.rng.random() < 0.3:
            entry["target_per"] = "$.n"
        contract["forbids_after"] = contract.get("forbids_after", []) + [entry]
        for tool, at in ((contract["tool"], path), (target, entry.get("target_per", path))):
            named = next(one for one in self.contracts if one["tool"] == tool)
            named.setdefault("argument_value_invariants", []).insert(
                0, {"path": at, "type": "string" if at == "$.id" else "number"})

    # -- arguments --

    def add_manual(self):
        contract = self.contract()
        contract.setdefault("argument_value_invariants", []).append(self.rng.choice([
            {"path": "$.n", "gte": 1}, {"path": "$.n", "gte": 1, "lte": 4},
            {"path": "$['n']", "one_of": [1, 2, 3, 4.0]},
            {"path": "$.id", "regex": "^[AB]$"}, {"path": "$.id", "exact_match": "A"},
            {"path": "$.n", "type": "integer"}, {"path": "$.kind", "type": "string"},
            {"path": "$.meta.level", "lte": 3}, {"path": "$.flag", "type": "boolean"}]))

    def add_binds(self):
        for _ in range(self.rng.randint(1, 2)):
            contract = self.contract()
            source = self.rng.choice(["arguments", "arguments", "output"])
            paths = {"output": ["$.v", "$.ok", "$.list[0]"], "arguments": ["$.n", "$.id", "$.n", "$.meta.level"]}
            path = self.rng.choice(paths[source])
            bind = {"name": f"slot{len(self.slots()) + 1}", "path": path}
            if source == "output":
                bind["source"] = source
                self.output_needed.add(contract["tool"])
            contract.setdefault("binds", []).append(bind)

    def add_ref(self):
        if not self.slots():
            self.add_binds()
        entry = {"path": self.rng.choice(["$.n", "$.n", "$.id"]), "ref": self.rng.choice(self.slots())}
        if self.rng.random() < 0.3:
            entry["gte"] = 1
        self.contract().setdefault("argument_value_invariants", []).append(entry)

    def add_tolerance(self):
        """Mostly with a slot of its own that holds a number: a text is never near enough."""
        slots = self.slots()
        if not slots or self.rng.random() < 0.7:
            slots = [f"slot{len(slots) + 1}"]
            self.contract().setdefault("binds", []).append({"name": slots[0], "path": "$.n"})
        entry = {"path": "$.n", "ref": self.rng.choice(slots), "tolerance": self.rng.choice([0, 0.25, 0.25, 0.5, 0.5])}
        self.contract().setdefault("argument_value_invariants", []).append(entry)

    def add_schema(self):
        for _ in range(self.rng.randint(1, 2)):
            self.scenario.setdefault("tools", {})[self.tool()] = {"type": "object", "properties": {
                "n": self.rng.choice([{"type": "number", "minimum": 1}, {"minimum": 0, "maximum": 5},
                                      {"enum": [1, 2, 3, 4]}]),
                "id": self.rng.choice([{"type": "string", "pattern": "^[A-C]"}, {"minLength": 1, "maxLength": 1},
                                       {"enum": ["A", "B"]}, {"const": "A"}]),
                "meta": {"type": "object", "properties": {"level": {"maximum": 3}}}}}

    def add_schema_exclude(self):
        if not self.scenario.get("tools"):
            self.add_schema()
        for contract in self.contracts:
            if contract["tool"] in self.scenario["tools"]:
                contract["schema_derived_exclude"] = [self.rng.choice(["$.n", "$.id", "$.meta", "$['meta'].level"])]

    def add_schema_off(self):
        if not self.scenario.get("tools"):
            self.add_schema()
        if self.rng.random() < 0.3:
            self.session["schema_derived"] = False
        else:
            self.contract()["schema_derived"] = False

    def add_execution(self):
        self.contract()["execution_constraints"] = {"arguments": self.rng.sample([
            {"path": "$.id", "regex": "^[AB]"}, {"path": "$.flag", "equals": False},
            {"path": "$.gone", "exists": False},
            {"path": "$.n", "type": "number", "gte": 0, "lte": 6}, {"path": "$.kind", "contains": "x", "length_lte": 2},
            {"path": "$.list", "length_gte": 1, "contains": 1}, {"path": "$.kind", "one_of": ["x", "xy"]}], 1)}

    def add_environment(self):
        self.scenario["environment"] = {"REGION": "x"} if self.rng.random() < 0.8 else {}
        self.contract()["execution_constraints"] = {"arguments": [{"path": "$.kind", "equals_env": "REGION"}]}

    def add_call_input(self):
        self.assertions(self.contract())["input_invariants"].append(self.rng.choice([
            {"path": "$.id", "type": "string"}, {"path": "$.n", "exists": True},
            {"path": "$.model", "exists": False, "scope": "call"}, {"path": "$.kind", "length_gte": 1}]))

    def add_call_output(self):
        contract = self.contract()
        self.assertions(contract)["output_invariants"].append(self.rng.choice([
            {"path": "$.v", "gte": 1}, {"path": "$.ok", "type": "boolean"},
            {"path": "$.content", "exists": False, "scope": "call"}]))

    def add_boundary_input(self):
        self.assertions(self.contract())["input_invariants"].append(self.rng.choice([
            {"path": "$.model", "regex": "^m-"}, {"path": "$.messages", "length_gte": 1},
            {"path": "$.safe", "equals": True, "scope": "boundary"}]))

    def add_boundary_output(self):
        self.assertions(self.contract())["output_invariants"].append(self.rng.choice([
            {"path": "$.tool_calls", "length_lte": 2}, {"path": "$.content", "exists": False},
            {"path": "$.finish_reason", "one_of": ["tool_calls", "tool_use"]}]))

    def add_response_format(self):
        self.contract()["response_format_invariants"] = self.rng.choice([
            {"finish_reason": "tool_calls"}, {"finish_reason": "tool_use", "tool_calls_present": True},
            {"content_when_tool_calls": "empty"}, {"content_when_tool_calls": "allowed", "tool_calls_present": True}])

    # -- who may, and what taints --

    def add_policy_rules(self):
        self.with_principal()
        rules = self.policy().setdefault("rules", [])
        for _ in range(self.rng.randint(1, 2)):
            rule = {"principal": self.matcher()}
            where = rule if self.rng.random() < 0.7 else None
            kind = self.rng.choice(["allow", "allow", "deny"])
            entry = {kind: rule}
            if self.rng.random() < 0.7:
                (where if where is not None else entry)["tools"] = sorted({self.tool() for _ in range(2)})
            rules.append(entry)

    def add_tool_policy(self):
        self.with_principal()
        kind = self.rng.choice(["allow", "allow", "deny"])
        self.contract().setdefault("policy", {})[kind] = [{"principal": self.matcher()}]

    def add_default_deny(self):
        self.with_principal()
        self.policy()["default_deny"] = True
        tools = sorted({self.tool() for _ in range(4)})
        rule = {"principal": {"path": "$.team", "equals": "x"}, "tools": tools}
        self.policy().setdefault("rules", []).append({"allow": rule})

    def add_labels(self):
        gates = self.policy().setdefault("label_gates", [])
        for label in self.rng.sample(LABELS, self.rng.randint(1, 3)):
            tools = ["*"] if self.rng.random() < 0.15 else sorted({self.tool() for _ in range(2)})
            gates.append({"when_label": label, "deny_tools": tools, "reason": "tainted"})
        if self.rng.random() < 0.3:
            self.scenario["labels"] = [self.rng.choice(LABELS)]

    # -- totals --

    def add_max_steps(self):
        self.limits()["max_steps"] = self.rng.randint(2, 14)

    def add_max_tool_calls(self):
        self.limits()["max_tool_calls"] = self.rng.randint(3, 14)
        if self.rng.random() < 0.5:
            self.limits()["max_tool_calls_mode"] = self.rng.choice(["narrow", "narrow", "block"])

    def add_per_tool(self):
        self.limits()["max_calls_per_tool"] = {self.tool(): self.rng.randint(1, 3)}

    def add_cost(self):
        self.limits()["max_cost_per_session"] = self.rng.choice([1, 0.5, 0.3])

    def add_loop(self):
        self.limits()["loop_detection"] = {"window": self.rng.randint(1, 6), "threshold": self.rng.randint(2, 3)}

    def add_breaker(self):
        self.limits()["circuit_breaker"] = self.rng.choice([
            {"consecutive_blocks": self.rng.randint(2, 4)}, {"consecutive_errors": self.rng.randint(1, 3)},
            {"consecutive_blocks": self.rng.randint(2, 4), "consecutive_errors": self.rng.randint(2, 3)}])

    def aggregate(self, metric, **bounds):
        listed = self.session.setdefault("aggregates", [])
        tools = self.rng.choice([self.tool(), self.tool(), sorted(self.two_tools()), "*"])
        entry = {"name": f"agg{len(listed) + 1}", "metric": metric, "tool": tools, "reason": "bounded", **bounds}
        if metric != "count" or self.rng.random() < 0.4:
            texts, numbers = ["$.id", "$.kind"], ["$.n", "$.n", "$.meta.level"]
            entry["path"] = self.rng.choice(texts if metric == "count_distinct" else numbers)
        if metric == "count_distinct" and self.rng.random() < 0.3:
            entry["path"] = "$.n"
        listed.append(entry)
        return entry

    def add_sum(self):
        self.aggregate("sum", **self.rng.choice([{"lte": 8}, {"lte": 12, "gte": 0}, {"gte": 1}]))

    def add_count(self):
        self.aggregate("count", lte=self.rng.randint(1, 4))

    def add_max(self):
        self.aggregate("max", **self.rng.choice([{"lte": 4}, {"gte": 2}]))

    def add_min(self):
        self.aggregate("min", **self.rng.choice([{"gte": 1}, {"lte": 3}]))

    def add_count_distinct(self):
        self.aggregate("count_distinct", lte=self.rng.randint(1, 3))

    def add_aggregate_when(self):
        if not self.slots():
            self.add_binds()
        entry = self.aggregate(self.rng.choice(["sum", "count"]), gte=0, lte=self.rng.randint(3, 6))
        entry["when"] = [{"binding": self.rng.choice(self.slots()), **self.rng.choice([
            {"gte": 2, "then_lte": 9}, {"lte": 3, "gte": 1, "then_lte": 2}, {"equals": "A", "then_gte": 1},
            {"equals": 2, "then_gte": 2, "then_lte": 20}])} for _ in range(self.rng.randint(1, 2))]

    def envelope(self, constraint, *roles, **more):
        """One stage for each role, references first; the constrained tool is another one."""
        listed = self.session.setdefault("envelopes", [])
        constrained, *others = [contract["tool"] for contract in self.rng.sample(self.contracts, len(self.contracts))]
        stages = []
        for role in roles:
            path = self.rng.choice(["$.n", "$.n", "$.meta.level"])
            stage = {"tool": self.rng.choice(others), "path": path, "role": role}
            if self.rng.random() < 0.2:
                stage.update({"path": "$.v", "source": "output"})
                self.output_needed.add(stage["tool"])
            stages.append(stage)
        stages.append({"tool": constrained, "path": "$.n", "role": "constrained"})
        if self.rng.random() < 0.25:
            stages.append({"tool": self.rng.choice([constrained, constrained] + others), "path": "$.meta.level",
                           "role": "constrained"})
        listed.append({"name": f"env{len(listed) + 1}", "constraint": constraint, "reason": "kept inside",
                       "stages": stages, **more})

    def add_ceiling(self):
        self.envelope("lte_ceiling", *["ceiling"] * self.rng.randint(1, 2))

    def add_floor(self):
        self.envelope("gte_floor", *["floor"] * self.rng.randint(1, 2))

    def add_bounded(self):
        self.envelope("bounded", "floor", "ceiling")

    def add_band(self):
        self.envelope("within_band", "anchor", band=self.rng.choice([0, 0.25, 0.5]))

    def add_decrease(self):
        self.envelope("monotonic_decrease", "initial")
        self.sometimes_dual()

    def add_increase(self):
        self.envelope("monotonic_increase", "initial")
        self.sometimes_dual()

    def sometimes_dual(self):
        """One tool as both initial and constrained, often with two paths: only so a later value that wrongly became the
        initial one would be another than the last of the chain."""
        stages = self.session["envelopes"][-1]["stages"]
        if self.rng.random() < 0.5:
            path = self.rng.choice(["$.n", "$.meta.level", "$.meta.level"])
            stages[0] = {"tool": stages[1]["tool"], "path": path, "role": "initial"}

    # -- people --

    def conditions(self):
        return self.rng.choice(["always"] + [[entry] for entry in (
            {"path": "$.n", "gte": 3}, {"path": "$.n", "gte": 2, "lte": 3}, {"path": "$.kind", "equals": "y"},
            {"path": "$.id", "one_of": ["B", "C"]})]
            + [[{"path": "$.n", "gte": 3}, {"path": "$.kind", "equals": "y"}]] * 2)

    def checkpoint(self):
        entry = {"when": self.conditions(), "timeout_seconds": self.rng.choice([30, 45, 60.5, 300])}
        if self.rng.random() < 0.6:
            entry["on_timeout"] = self.rng.choice(["allow", "deny"])
        if self.rng.random() < 0.5 and entry["when"] != "always":
            entry["match"] = self.rng.choice(["any", "all"])
        if self.rng.random() < 0.2:
            entry["when_side_effect"] = self.rng.choice(EFFECTS)
        return entry

    def add_checkpoint(self):
        contract = self.contract("checkpoint")
        if contract is None:
            return False
        contract["checkpoint"] = self.checkpoint()
        if self.rng.random() < 0.5:
            contract["checkpoint"]["context"] = [{"path": "$.n", "label": "N"}, {"path": "$.memo", "label": "Memo"}]
        return True

    def add_session_checkpoint(self):
        listed = self.session.setdefault("checkpoints", [])
        listed.append({"name": f"ask{len(listed) + 1}", "tool": self.rng.choice([self.tool(), self.tool(), "*"]),
                       **self.checkpoint()})

    # -- the model's provider --

    def add_provider(self):
        self.session["provider_constraints"] = {
            "one": {"block_incompatible": ["tool_choice.type=any + thinking"],
                    "warn_incompatible": ["stream=false + m-small"]},
            "two": {"warn_floating_alias": True, "block_incompatible": ["m-small + limits.top=3"]}}

    # -- evidence, retries, errors --

    def add_retries(self):
        contract = self.contract("retries")
        if contract is None:
            return False
        contract["retries"] = {"max_attempts": self.rng.randint(1, 4),
                               "retry_on": self.rng.sample(["network", "503", "E_BUSY", "server_error", "timeout"], 2)}
        contract["timeouts"] = {"total_ms": self.rng.choice([5000, 2500, 60000])}
        return True

    def add_rate_limit(self):
        contract = self.contract("rate_limits")
        if contract is None:
            return False
        contract.setdefault("retries", {"max_attempts": 3, "retry_on": []})
        contract["rate_limits"] = {"on_429": {"respect_retry_after": self.rng.random() < 0.5,
                                              "max_sleep_seconds": self.rng.choice([1, 2, 10])}}
        return True

    def add_allowed_errors(self):
        self.contract()["allowed_errors"] = self.rng.choice([
            ["declined"], [{"class": "timeout"}], [{"http_status": 404}],
            [{"class": "server_error", "message_regex": "later"}],
            ["network", {"code": "no_funds", "http_status": 402}]])

    def add_ack_only(self):
        free = [contract for contract in self.contracts if contract["tool"] not in self.output_needed
                and contract["side_effect"] in ("read", "write")]
        if not free:
            return False
        self.rng.choice(free)["evidence_class"] = "ack_only"
        return True

    def add_unverifiable(self):
        self.contract()["evidence_class"] = "unverifiable"

    def add_commit_none(self):
        self.contract()["commit_requirement"] = "none"


FEATURES = sorted(name[4:] for name in vars(PackMaker) if name.startswith("add_")
                  and name not in ("add_transitions", "add_output_condition"))


class RunMaker:
    """Draws the entries, looking at the model to find out what is open."""

    def __init__(self, rng, scenario):
        self.rng = rng
        self.scenario = scenario
        self.model = Model(scenario)
        self.tools = [contract["tool"] for contract in scenario["contracts"]]
        self.names = 0
        self.bounded = any("response_format_invariants" in contract or "assertions" in contract
                           for contract in scenario["contracts"])

    def build(self):
        """The entries, each with what the model observed."""
        run, observations, wanted, after_end = [], [], self.rng.randint(8, 25), 0
        for _ in range(wanted * 4):
            if len(run) >= wanted or after_end > 2:
                break
            played = self.draw()
            if played is None:
                continue
            entry, observed = played
            run.append(with_expectations(entry, observed))
            observations.append((run[-1], observed))
            after_end += self.model.ended()
        return run, observations

    def draw(self):
        """One entry that the specification settles; None when this draw came to nothing."""
        action = self.choose_action()
        for attempt in range(4):
            entry = getattr(self, "draw_" + action)()
            if entry is None:
                return None
            entry = plain(entry)
            trial = self.model.copy()
            observed = trial.play(entry)
            if trial.silent:
                continue
            last = action not in ("call", "step") or attempt == 3
            if last or not self.is_blocked(observed) or self.rng.random() < 0.25:
                self.model = trial
                return entry, observed
        return None

    @staticmethod
    def is_blocked(observed):
        verdicts = [observed.get("expect", "")] + [member["expect"] for member in observed.get("members", [])]
        return any(verdict.startswith("block") for verdict in verdicts)

    def choose_action(self):
        if self.model.ended():
            return self.rng.choice(["call", "step", "text", "preflight", "begin", "receipt", "late", "check"])
        if self.model.paused():
            return self.rng.choices(
                ["approve", "deny", "timeout", "call", "again", "text", "preflight", "begin", "receipt", "label",
                 "cost", "disturb", "kill", "close"], [45, 10, 14, 6, 3, 2, 2, 4, 6, 2, 3, 25, 1, 1])[0]
        asked = 14 if "provider_constraints" in self.scenario["session"] or self.bounded else 4
        return self.rng.choices(
            ["call", "step", "text", "preflight", "begin", "receipt", "label", "cost", "kill", "close", "check",
             "late"], [50, 20, 3, asked, 9, 9, 2, 3, 0.5, 0.5, 1, 2])[0]

    # -- values --

    def args(self, tool):
        args = {"n": number(self.rng), "id": self.rng.choice(["A", "A", "B", "C"]),
                "kind": self.rng.choice(["x", "x", "y", "xy"]), "flag": self.rng.random() < 0.2, "list": [1, 2],
                "meta": {"level": self.rng.randint(0, 4)}}
        for name in list(args):
            if self.rng.random() < 0.06:
                del args[name]
        self.follow_references(tool, args)
        if self.rng.random() < 0.05:
            args[self.rng.choice(["n", "id"])] = self.rng.choice([None, "3", True, [1], {"a": 1}])
        if self.rng.random() < 0.35:
            # The same arguments once more: loops, resources and re-approvals need them.
            before = [call.proposed_args for call in self.model.calls if call.tool == tool and not call.malformed]
            return copy.deepcopy(self.rng.choice(before)) if before else args
        return args

    def follow_references(self, tool, args):
        """Often hands over just what a slot holds, since nothing else passes a ref."""
        contract = next((entry for entry in self.scenario["contracts"] if entry["tool"] == tool), {})
        for entry in contract.get("argument_value_invariants", []):
            if "ref" in entry and self.rng.random() < 0.7:
                bound = plain(self.model.binding(entry["ref"]))
                if "tolerance" in entry and is_number(bound):
                    # 1.3 and 2 are too far from what is bound, but not as seen from the value itself.
                    bound = plain(exact(bound) * exact(self.rng.choice([1, 1.25, 1.5, 0.5, 1.3, 2, 0.74])))
                if isinstance(bound, str) or (is_number(bound) and is_written_within(bound)):
                    args[entry["path"][2:]] = bound

    def output(self):
        output = {"ok": self.rng.random() < 0.8, "v": number(self.rng), "list": self.rng.choice([[1, 2], ["x"], []])}
        for name in list(output):
            if self.rng.random() < 0.1:
                del output[name]
        if self.rng.random() < 0.1:
            output["note"] = "hm"
        roll = self.rng.random()
        return write_json(output) if roll < 0.06 else "plain text" if roll < 0.08 else output

    def result(self, always=False):
        roll = self.rng.random() * (0.9 if always else 1)
        if roll < 0.68:
            result = {"result": "ok"}
            if self.rng.random() < 0.95:
                result["output"] = self.output()
            if self.rng.random() < 0.04:
                result["ack"] = False
            return result
        if roll < 0.79:
            return {"result": "error", **({"error": self.rng.choice(ERRORS)} if self.rng.random() < 0.9 else {})}
        if roll < 0.85:
            return {"result": "timeout"}
        return {"result": "unknown"} if roll < 0.9 else {}

    def forbids_something(self, tool):
        contract = next((entry for entry in self.scenario["contracts"] if entry["tool"] == tool), {})
        return bool(contract.get("forbids_after"))

    def result_of(self, tool):
        contract = next((entry for entry in self.scenario["contracts"] if entry["tool"] == tool), {})
        if self.forbids_something(tool) and self.rng.random() < 0.45:
            return {}  # it stays open while others are proposed
        if contract.get("retries") and self.rng.random() < 0.7:
            return {"attempts": self.attempts(contract)}
        return self.result()

    def attempts(self, contract):
        attempts = []
        for _ in range(contract["retries"]["max_attempts"]):
            error = self.rng.choice(["network", "503", "429", "rate_limited", "E_BUSY", "404", "timeout"])
            attempt = {"result": "error", "error": error}
            if attempt["error"] in ("429", "rate_limited") and self.rng.random() < 0.6:
                attempt["retry_after"] = self.rng.choice([1, 2, 3, 11])
            if self.rng.random() < 0.2:
                attempt = self.result(always=True)
                attempt.pop("ack", None)
            if "timeout" in contract["retries"]["retry_on"] and self.rng.random() < 0.15:
                attempt = {"result": "timeout"}  # the end of it, unlike an error of that class
            if self.rng.random() < 0.4:
                attempt["ms"] = self.rng.choice([10, 1000, 1000, 1300, 2000, 2500, 2600])
            attempts.append(attempt)
        if self.rng.random() < 0.6:
            attempts.append({"result": "ok", "output": self.output()})
        return attempts

    def member(self, tools=None):
        tool = self.rng.choice(tools or self.tools)
        shadow = self.scenario.get("mode") == "shadow"
        if self.rng.random() < 0.01 and not shadow:
            tool = "nowhere"
        if not shadow and "mcp" in self.scenario["session"] and self.rng.random() < 0.15:
            tool = self.rng.choice(["server:resources.read", "server:sampling"])
        self.names += 1
        member = {"call": tool, "args": self.args(tool), "as": f"c{self.names}", **self.result_of(tool)}
        if self.rng.random() < 0.01 and not shadow and not self.bounded:
            member.pop("args")
            member.update(self.rng.choice([{"args": [1]}, {"args": "text"}, {"args_text": '{"n":1,"n":2}'},
                                           {"args_text": '{"n":'}, {"args_text": '{"id":"A","n":1e10000}'},
                                           {"args_text": '{"id":"A","n":1e-10000}'},
                                           {"args_text": '{"id":"A","meta":{"level":[1e999999999]}}'}]))
        elif self.rng.random() < 0.02 and not self.bounded:
            member.pop("args")
            member["args_text"] = self.rng.choice(['{"n":2,"id":"A","kind":"x","flag":false}',
                                                   '{"id":"\\u0041","n":1e0}', '{"id":"A","n":1e9999}',
                                                   '{"id":"A","n":1e-9999}'])
        return member

    def exchange(self):
        """What stands beside a response: the request, the response, the expected cost."""
        beside = {}
        if self.bounded and self.rng.random() < 0.9:
            beside["request"] = self.request()
        if self.bounded and self.rng.random() < 0.9:
            reason = self.rng.choice(["tool_calls", "tool_calls", "tool_use", "tool_use", "stop"])
            beside["response"] = {"finish_reason": reason}
            if self.rng.random() < 0.4:
                beside["response"]["content"] = self.rng.choice([None, "", " \n", [], "well"])
        if "max_cost_per_session" in self.model.limits() and self.rng.random() < 0.4:
            beside["estimate"] = self.rng.choice([0.05, 0.1, 0.2])
        return beside

    def request(self):
        models = ["m-small", "m-small", "m-small-2025-01-31", "m-small-20250131", "other@3"]
        request = {"model": self.rng.choice(models)}
        if self.rng.random() < 0.85:
            request["messages"] = [{"role": "user", "content": "go"}]
        if self.rng.random() < 0.8:
            request["safe"] = True
        return request

    # -- entries --

    def draw_call(self):
        visible = self.model.tools_visible()
        member = self.member(visible if visible and self.rng.random() < 0.6 else None)
        return {**member, **self.exchange()}

    def draw_step(self):
        visible = self.model.tools_visible()
        tools = visible if visible and self.rng.random() < 0.6 else None
        return {"step": [self.member(tools) for _ in range(self.rng.choice([2, 2, 3, 4]))], **self.exchange()}

    def draw_text(self):
        return {"text": True}

    def draw_again(self):
        """The call that waits, proposed once more."""
        waiting = [call for call in self.model.calls if call.state == "awaiting_approval"]
        call = self.rng.choice(waiting)
        return {"call": call.tool, "args": copy.deepcopy(call.args)}

    def draw_preflight(self):
        request = self.request()
        if self.rng.random() < 0.3:
            request["tools"] = sorted({self.rng.choice(self.tools), self.rng.choice(self.tools + ["nowhere"])})
            if self.rng.random() < 0.15:
                request["tools"] = []
        if self.rng.random() < 0.5:
            request["tool_choice"] = {"type": self.rng.choice(["any", "any", "auto"])}
            request["thinking"] = self.rng.choice([{"type": "enabled"}] * 2 + [{"type": "disabled"}, None, False, True])
        if self.rng.random() < 0.3:
            request["stream"] = self.rng.random() < 0.4
            request["limits"] = {"top": self.rng.choice([3, 4])}
        preflight = {"provider": self.rng.choice(["one", "two", "three"]), "request": request}
        if self.rng.random() < 0.3:
            preflight["estimate"] = self.rng.choice([0.05, 0.1, 0.5])
        return {"preflight": preflight}

    def open_checkpoint(self):
        waiting = [call for call in self.model.calls if call.approval_open]
        return True if self.rng.random() < 0.4 else self.rng.choice(waiting).name or True

    def draw_approve(self):
        who = self.open_checkpoint()
        return {"approve": who, **self.result_of(self.model.open_checkpoint(who).tool)}

    def draw_deny(self):
        return {"deny": self.open_checkpoint()}

    def draw_timeout(self):
        return {"timeout": self.open_checkpoint(), **self.result()}

    def draw_late(self):
        """A decision that comes too late."""
        closed = [call.name for call in self.model.calls if call.approval and call.name and not call.approval_open]
        if not closed or self.scenario.get("mode") == "shadow":
            return None
        return {self.rng.choice(["approve", "deny", "timeout"]): self.rng.choice(closed)}

    def some_call(self, states):
        """Mostly one in these states, now and then any other."""
        fitting = [call for call in self.model.calls if call.name and (call.state in states or call.receipt_due)]
        others = [call for call in self.model.calls if call.name and not call.malformed]
        calls = fitting if fitting else others if self.rng.random() < 0.1 else []
        return self.rng.choice(calls) if calls else None

    def draw_begin(self):
        call = self.some_call(["pending"])
        if call is None:
            return None
        entry = {"begin": call.name}
        if self.rng.random() < 0.45:
            changed = {**copy.deepcopy(call.args), "n": number(self.rng)}
            if self.rng.random() < 0.3:
                changed["id"] = self.rng.choice(["A", "B", "C"])
            entry["args"] = changed
        return entry

    def draw_receipt(self):
        call = self.some_call(["pending", "executing", "unknown"])
        if call is None:
            return None
        return {"receipt": call.name, **self.result(always=True)}

    def draw_label(self):
        return {"label": self.rng.choice(LABELS + ["other"])}

    def draw_cost(self):
        return {"cost": self.rng.choice([0.1, 0.1, 0.2, 0.25])}

    def draw_disturb(self):
        """Something that stands in the way of what waits for approval, so that approving it comes to nothing."""
        waiting = {call.tool for call in self.model.calls if call.approval_open}
        gates = (self.scenario["session"].get("policy") or {}).get("label_gates") or []
        ways = [{"label": gate["when_label"]} for gate in gates if waiting & set(gate["deny_tools"])]
        if "max_cost_per_session" in self.model.limits():
            ways.append({"cost": self.model.limits()["max_cost_per_session"]})
        pending = [call for call in self.model.calls if call.state in ("pending", "executing") and call.name]
        ways += [{"receipt": call.name, "result": "ok", "output": self.output()} for call in pending]
        return self.rng.choice(ways) if ways else None

    def draw_kill(self):
        return {"kill": "session"}

    def draw_close(self):
        return {"close": True}

    def draw_check(self):
        return {"check": True}


def draw(seed):
    """(scenario, names of its features, [(entry, observed)])."""
    rng = random.Random(f"baton-session-{seed}")
    maker = PackMaker(rng)
    pack = maker.build()
    run, observations = RunMaker(rng, pack).build()
    return {"scenario": f"g{seed}", **pack, "run": run}, maker.features, observations


def generate(seed):
    return draw(seed)[0]


def annotate(scenario):
    """The scenario with all expectations worked out anew, after something was taken out of it."""
    model = Model(scenario)
    run = []
    for entry in scenario["run"]:
        bare = without_expectations(entry)
        run.append(with_expectations(bare, model.play(bare)))
    return {**scenario, "run": run}


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(write_json(generate(int(argument))))
