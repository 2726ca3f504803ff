# SPDX-License-Identifier: Apache-2.0
"""A second, slow and obvious implementation of the session decision rules, written from the specification alone.

It plays the `run` body of a scenario (docs: scenarios) and says what must be observable after every entry. The
product's engine keeps running totals; this one keeps nothing but the list of calls and happenings and works everything
out again from that list whenever it is asked, so that the two can only agree by both being right.

    model = Model(scenario)
    for entry in scenario["run"]:
        observed = model.play(entry)

Numbers of checks and sections are those of the contracts specification.
"""

# Readings: where the specification is silent or can be read in two ways, this is what the model does.
#  1. A call that waits for approval is counted in the `tool_calls` counter (its reservation includes the call counts).
#  2. Position k+1 (9.2) is about max_tool_calls only; max_calls_per_tool counts earlier calls of the step that were
#     not blocked.
#  3. Judged again after approval: only the calls decided together have positions for max_tool_calls; calls of the same
#     step that already went ahead (strip modes) count like any others.
#  4. Several gates deny: the label in `detail` is that of the first gate in file order. Several tools forbid: the
#     specification does not say which is named, so no `detail` is expected.
#  5. An argument that is absent where a `ref` stands is judged in item 14, before the slot is looked at, and gives
#     only argument_value_invalid.
#  6. An envelope gives one code for a call, whatever number of its stages fail: reference missing before bad value
#     before violated. Every envelope that fails is listed.
#  7. A tool that is both initial and constrained is not judged while nothing is captured; the first commit with a
#     number at the path is the initial value, later ones never are.
#  8. Monotonic: pending, awaiting and unknown constrained values always count; committed ones count when they were
#     committed after the initial value was captured.
#  9. `none`: a late error receipt makes the call `failed` (late_failure, aggregates released, error counter +1) and a
#     lost one `unknown` (still open for a later receipt, error counter +1). All else that the commit did stays: phase,
#     binds, forbids, captures, and that the tool ran; but 9.12 does not name failed calls, so a constrained value is no
#     longer in its chain. An ok receipt without an output only resets the counter.
# 10. `none`: an ok receipt with an output that fails the output invariants counts as a late error receipt.
# 11. A call cannot be refused at start by its own forbids; a call of the same step can be, when a `none` call listed
#     after it forbids it at the commit that precedes all results.
# 12. Killing cancels calls that wait or are pending and makes executing ones unknown; a later receipt commits them for
#     accounting only: no phase, bind or capture. start_call on a cancelled call is reject:call_not_open.
# 13. Closing cancels the calls that have not begun (pending, awaiting); executing ones stay open for their receipt.
# 14. What is proposed to an ended session is answered and forgotten: no step, no block, no loop window. Receipts still
#     move the error counter, which kills nothing any more.
# 15. A breaker that kills at a step cancels the calls of that step that were allowed (strip modes); their verdict
#     stays.
# 16. Every response is a step of the loop window, also one whose calls are all session_paused.
# 17. A call that is held is in the loop history and stays there when it is batch_rejected later, as its step stays
#     counted (9.4): what was proposed does not become unproposed.
# 18. Proposing an awaiting call again (same tool, same arguments, alone in its response) answers with the same
#     checkpoint and the same request: no new call, no step of any kind.
# 19. When calls decided together are judged again and several are blocked, the breaker moves by one.
# 20. A session paused by another checkpoint does not stop the judging of an approved call, but it does stop a retry.
# 21. Approving one of several checkpoints of a held step answers `checkpoint` until the last approval is given. A
#     result written beside a held call is ignored; one beside an approval counts if that lets the call go ahead.
# 22. strip modes: some calls allowed, some waiting is `proceed`; only waiting ones is `held`. Shadow: always `proceed`.
# 23. Shadow: start_call gives the verdict that would have been given, and the call runs with what was handed over. It
#     counts a block only when the call had been allowed: one that was refused would not have been started. Retries are
#     let through like all else.
# 24. start_call lists, in `failures`, session state alone, else label alone, else forbidden and items 13 to 16 in their
#     order (only the execution constraints when the arguments are the proposed ones). Equality is canonical.
# 25. Loop history keeps the proposed arguments also when start_call was given others.
# 26. Late receipts for an unknown call never move the error counter up, whatever made it unknown; the late ok receipt
#     without evidence fails the call.
# 27. Evidence is judged before the output invariants. Without an output every invariant but `exists: false` fails.
# 28. `ack: false` matters for ack_only alone. Output of an unverifiable tool is stored and may be used.
# 29. `equals` and `one_of` in a checkpoint condition can compare any value that is there; only gte and lte can be
#     indeterminate for a value of another type.
# 30. Backoff counts all retries made so far, of any class. A list of attempts that ends early ends with its last error.
# 31. A retry without a pause is not made when total_ms is already reached.
# 32. At narrowing a resource precondition is kept when the latest record of some resource satisfies it. Narrowing does
#     not look at paused.
# 33. The latest record is the one committed last, not the one proposed last.
# 34. Item 11 in order: response format, boundary input assertions, boundary output assertions; each may also say
#     assertion_context_missing.
# 35. A blocked wholly-paused response gives the outcome of its gate mode (reject, error, text).
# 36. Shadow, tool without a contract: ok commits, an error fails, a timeout is unknown.
# 37. An attempt with `result: timeout` says that total_ms passed: nothing is tried after it, whatever retry_on lists.
#     An attempt with the error `timeout` is an error of that class and may be tried again.
# 38. start_call with other arguments, when all that 24 lists has passed: a call that a person was asked about, or whose
#     new arguments would fire a checkpoint, is refused with approval_mismatch (cancelled, breaker +1).
# 39. A kill does not touch a `none` call, which is committed; its receipt may still come.
# 40. A variable that is not set and a resource value that is no scalar are remarked upon (env_unset,
#     resource_unresolved) beside the failure they cause; narrowing does not remark upon anything.
# 41. Item 8 in order: a missing entity, then what is forbidden. What committed and unknown calls and earlier calls of the
#     step forbid comes before what is forbidden in flight; only the latter is not held against the agent.
# 42. Judged again after approval, a call is held to forbids in flight as start_call holds it: to those of calls that
#     were proposed before it, and of executing ones. Calls that are decided together count as calls of one step.
# 43. What `per` names must have the type that the schema, else an invariant, fixes; an entity of
#     another type is missing.

import copy
import re
from dataclasses import dataclass, field

from values import (ABSENT, all_written_within, canonical, deep_equal, entry_holds, exact, has_type, is_number, is_scalar,
                    operator_holds, parse_json, path_segments, plain, resolve)

BOILERPLATE = {
    "side_effect": "read",
    "evidence_class": "local_transaction",
    "commit_requirement": "acknowledged",
    "timeouts": {"total_ms": 30000},
    "retries": {"max_attempts": 1, "retry_on": []},
    "rate_limits": {"on_429": {"respect_retry_after": True, "max_sleep_seconds": 30}},
    "assertions": {"input_invariants": [], "output_invariants": []},
    "golden_cases": [],
    "allowed_errors": [],
}
RISK_TABLE = {"read": "allow", "write": "block", "destructive": "block", "admin": "block", "financial": "block"}
BOUNDARY_ROOTS = {"model", "messages", "tools", "tool_choice", "system", "tool_calls", "content", "finish_reason"}
ERROR_CLASSES = {"timeout", "network", "rate_limited", "server_error", "client_error", "tool_error"}
FINISH_REASONS = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length"}
SCHEMA_KEYWORDS = {"minimum": "gte", "maximum": "lte", "pattern": "regex", "enum": "one_of", "const": "equals",
                   "minLength": "length_gte", "maxLength": "length_lte"}

OPEN_STATES = {"awaiting_approval", "pending", "executing", "unknown"}
COUNTED_STATES = OPEN_STATES | {"committed", "failed"}
# Verdicts that say nothing about the call itself: neither loop history nor breaker knows them.
NEUTRAL_REASONS = {"session_paused", "batch_rejected", "cancel_requested", "resource_busy"}
ENVELOPE_CODES = ("envelope_reference_missing", "envelope_value_invalid", "envelope_violated")
DETAILED = {"session_limit_exceeded", "aggregate_violated", "aggregate_value_invalid", "envelope_violated",
            "envelope_reference_missing", "envelope_value_invalid", "binding_unbound", "binding_mismatch",
            "label_denied", "forbidden_in_state", "workflow_limit_exceeded", "entity_missing"}


SERVER_OPERATIONS = {f"server:{name}" for name in (
    "resources.read", "resources.subscribe", "prompts.get", "completion", "sampling", "elicitation", "roots")}


class InFlight(str):
    """The code of a refusal that ends when the call does that causes it."""


FORBIDDEN_IN_FLIGHT = InFlight("forbidden_in_state")


@dataclass(eq=False)
class Step:
    """One response: its calls, and what the host knows of the exchange with the model."""

    number: int
    text: bool = False
    request: object = ABSENT
    response: object = ABSENT
    estimate: object = 0
    calls: list = field(default_factory=list)


@dataclass(eq=False)
class Call:
    """One proposed call, with everything that ever became of it."""

    step: Step
    tool: str
    args: object
    name: str = ""
    malformed: bool = False
    neutral: bool = False  # its proposal says nothing about the agent
    state: str = "proposed"
    verdict: str = ""
    failures: list = field(default_factory=list)
    verdict_at_proposal: str = ""
    went_ahead: bool = False
    proposed_args: object = None
    approval: object = None  # the merged request while and after it is asked for
    approval_open: bool = False
    output: object = ABSENT
    why_failed: str = ""
    committed_at: int = 0
    accounting_only: bool = False
    receipt_due: bool = False  # `none`: committed at once, the receipt is still to come
    attempts_used: int = 0
    slept: list = field(default_factory=list)

    def reason(self):
        return self.failures[0][0] if self.failures else ""

    def is_neutral(self):
        """Refused for something that says nothing about the agent."""
        return self.reason() in NEUTRAL_REASONS or isinstance(self.reason(), InFlight)

    def spoken_verdict(self):
        return f"block:{self.reason()}" if self.verdict == "block" else self.verdict


def twin_of(thing):
    """What copy.copy gives, in a third of the time."""
    twin = object.__new__(type(thing))
    vars(twin).update(vars(thing))
    return twin


def read_error(error):
    """The short forms of an error in a scenario, as {code, class, http_status, message}."""
    if error is None:
        return {"code": None, "class": "tool_error", "http_status": None, "message": ""}
    if isinstance(error, dict):
        status = error.get("http_status")
        return {"code": error.get("code"), "class": error.get("class", class_of_status(status)), "http_status": status,
                "message": error.get("message", "")}
    if error in ERROR_CLASSES:
        return {"code": error, "class": error, "http_status": None, "message": ""}
    if re.fullmatch("[0-9]{3}", error):
        return {"code": error, "class": class_of_status(int(error)), "http_status": int(error), "message": ""}
    return {"code": error, "class": "tool_error", "http_status": None, "message": ""}


def class_of_status(status):
    if status == 429:
        return "rate_limited"
    if status is not None and 500 <= status <= 599:
        return "server_error"
    if status is not None and 400 <= status <= 499:
        return "client_error"
    return "tool_error"


TIMEOUT_ERROR = {"code": "timeout", "class": "timeout", "http_status": None, "message": ""}


def parse_output(output):
    """An output that is text is parsed as JSON once; what does not parse stays the text (9.11)."""
    if isinstance(output, str):
        try:
            return parse_json(output)
        except ValueError:
            return output
    return ABSENT if output is None else output


def normalised_finish_reason(reason):
    return FINISH_REASONS.get(reason, reason)


def content_is_empty(content):
    return content is ABSENT or content is None or content == [] or (isinstance(content, str) and not content.strip())


def is_boundary(entry):
    if "scope" in entry:
        return entry["scope"] == "boundary"
    segments = path_segments(entry["path"])
    return bool(segments) and segments[0] in BOUNDARY_ROOTS


class Model:
    """One session, played entry by entry."""

    def __init__(self, scenario):
        self.session = scenario.get("session") or {}
        self.contracts = {}
        for contract in scenario.get("contracts") or []:
            filled = {**copy.deepcopy(BOILERPLATE), **copy.deepcopy(scenario.get("defaults") or {}), **contract}
            self.contracts[contract["tool"]] = filled
        self.schemas = scenario.get("tools") or {}
        self.principal = scenario.get("principal", ABSENT)
        self.environment = scenario.get("environment") or {}
        self.gate = scenario.get("gate", "reject_all")
        self.shadow = scenario.get("mode", "enforce") == "shadow"
        self.steps = []
        self.calls = []
        self.labels = list(scenario.get("labels") or [])
        self.costs = []
        self.happenings = []  # what the two breakers look at, in order
        self.killed = False
        self.closed = False
        self.clock = 0
        self.diagnostics = []
        self.silent = []  # what the specification does not settle; a generator keeps away from it
        self.unsure = set()  # observations of this entry that hang on such a thing

    def copy(self):
        """A session that goes its own way from here. Documents are never changed once they are read, so they are
        shared: copying them all would be most of the time that drawing a sequence takes."""
        other = twin_of(self)
        steps = {id(step): twin_of(step) for step in self.steps}
        other.steps = list(steps.values())
        calls = {}
        for call in self.calls:
            calls[id(call)] = twin = twin_of(call)
            twin.step, twin.slept = steps[id(call.step)], list(call.slept)
        other.calls = list(calls.values())
        for step in other.steps:
            step.calls = [calls[id(call)] for call in step.calls]
        other.labels, other.costs, other.happenings = list(self.labels), list(self.costs), list(self.happenings)
        other.silent, other.unsure, other.diagnostics = list(self.silent), set(), []
        return other

    # -- what the list of calls says now -------------------------------------------------------------------------------

    def tick(self):
        self.clock += 1
        return self.clock

    def limits(self):
        return self.session.get("session_limits") or {}

    def ended(self):
        return self.killed or self.closed

    def paused(self):
        return not self.ended() and any(call.approval_open for call in self.calls)

    def commits(self):
        """Calls that count as having happened, in the order of their commits; a late failure undoes none of it."""
        done = [call for call in self.calls if call.committed_at and not call.accounting_only]
        return sorted(done, key=lambda call: call.committed_at)

    def total_steps(self, without=None):
        return len([step for step in self.steps if step is not without and self.step_counts(step)])

    def step_counts(self, step):
        going = ("allow", "checkpoint", "block") if self.shadow else ("allow", "checkpoint")
        return step.text or any(call.verdict_at_proposal in going for call in step.calls)

    def counted_calls(self, tool=None):
        return [call for call in self.calls if call.state in COUNTED_STATES and tool in (None, call.tool)]

    def spent(self):
        return sum((exact(cost) for cost in self.costs), exact(0))

    def initial_phase(self):
        names = [phase["name"] for phase in self.session.get("phases") or [] if phase.get("initial")]
        return names[0] if names else None

    def advance_is_legal(self, phase, target):
        return target == phase or target in ((self.session.get("transitions") or {}).get(phase) or [])

    def phase(self):
        phase = self.initial_phase()
        for call in self.commits():
            target = self.advances_to(call.tool)
            if target is not None and self.advance_is_legal(phase, target):
                phase = target
        return phase

    def advances_to(self, tool):
        return (self.contracts.get(tool, {}).get("transitions") or {}).get("advances_to")

    def forbidden(self):
        """Tools that are forbidden now, whatever the arguments are and whatever becomes of open calls."""
        return sorted(tool for tool in self.every_tool()
                      if any(self.forbids(call, tool, None) for call in self.calls if self.forbids_for_good(call)))

    def every_tool(self):
        named = {entry for tool in self.contracts for entry, _, _ in self.forbids_of(tool)}
        return sorted(set(self.contracts) | named)

    @staticmethod
    def forbids_for_good(call):
        return bool(call.committed_at) or call.state == "unknown"

    def forbids_of(self, tool):
        """(tool, per, target_per) of every entry of forbids_after; per is None where all calls are forbidden."""
        entries = self.contracts.get(tool, {}).get("forbids_after") or []
        return [(entry, None, None) if isinstance(entry, str)
                else (entry["tool"], entry["per"], entry.get("target_per", entry["per"])) for entry in entries]

    def forbids(self, call, tool, args):
        """Whether the call forbids a call of the tool with these arguments (None: whatever they are)."""
        for target, per, target_per in self.forbids_of(call.tool):
            if target != tool:
                continue
            if per is None:
                return True
            if args is None or not isinstance(call.args, dict):
                continue
            entity = resolve(per, call.args)
            if is_scalar(entity) and deep_equal_present(resolve(target_per, args), entity):
                return True
        return False

    def fixed_type(self, tool, path):
        """The type that the schema, else an invariant, fixes at the path."""
        schema = self.schemas.get(tool) or {}
        for segment in path_segments(path):
            schema = (schema.get("properties") or {}).get(segment) or {}
        if isinstance(schema.get("type"), str):
            return schema["type"]
        entries = [entry for entry in self.manual_invariants(tool)
                   if path_segments(entry["path"]) == path_segments(path)]
        return next((entry["type"] for entry in entries if "type" in entry), None)

    def missing_entity(self, tool, args):
        """The tool whose forbid of one entity cannot be judged for this call, or None."""
        looked_at = [(tool, per) for _, per, _ in self.forbids_of(tool) if per]
        looked_at += [(other, target_per) for other in sorted(self.contracts)
                      for target, per, target_per in self.forbids_of(other) if per and target == tool]
        for by, path in looked_at:
            entity = resolve(path, args)
            if not is_scalar(entity) or not has_type(entity, self.fixed_type(tool, path)):
                return by
        return None

    def remembers(self, tool):
        """Whether the session keeps something of a call of the tool that only reads (handoff 4, 9.42)."""
        contract = self.contracts[tool]
        priors = [entry.get("requires_prior_tool") for other in self.contracts.values()
                  for entry in other.get("preconditions") or []]
        stages = [stage["tool"] for envelope in self.session.get("envelopes") or [] for stage in envelope["stages"]]
        listed = (self.session.get("checkpoints") or []) + (self.session.get("aggregates") or [])
        return bool(contract.get("binds") or contract.get("forbids_after") or contract.get("checkpoint")
                    or self.advances_to(tool) is not None or tool in priors or tool in stages
                    or any(covers(entry["tool"], tool) for entry in listed)
                    or tool in (self.limits().get("max_calls_per_tool") or {}))

    def goes_on_meanwhile(self, tool):
        contract = self.contracts.get(tool)
        return contract is not None and contract["side_effect"] == "read" and not self.remembers(tool)

    def slots(self):
        """Slot -> (tool, bind entry)."""
        return {bind["name"]: (tool, bind) for tool, contract in self.contracts.items()
                for bind in contract.get("binds") or []}

    def binding(self, slot):
        tool, bind = self.slots()[slot]
        runs = [call for call in self.commits() if call.tool == tool]
        return self.bound_value(runs[-1], bind) if runs else ABSENT

    @staticmethod
    def bound_value(call, bind):
        document = call.output if bind.get("source", "arguments") == "output" else call.args
        value = ABSENT if document is ABSENT else resolve(bind["path"], document)
        return ABSENT if value is None else value

    def consecutive(self, bad, good):
        count = 0
        for happening in self.happenings:
            count = count + 1 if happening == bad else 0 if happening == good else count
        return count

    def consecutive_blocks(self):
        return self.consecutive("block", "allow")

    def consecutive_errors(self):
        return self.consecutive("error", "success")

    # -- what a session in a workflow has beside this (workflow_model.py); alone it has nothing of it ------------------

    def check_1_cancel(self, _tool):
        """Whether the session was asked to end, and this would be something new."""
        return []

    def check_9_budgets(self, _estimate, _without=None):
        """What all sessions of the workflow may do together; a step that is judged again is left out."""
        return []

    def check_17_resources(self, _call):
        """What other sessions do with the same thing."""
        return []

    def judges_totals_at_start(self, _call):
        """Whether items 15 and 16 are judged at start_call also when the arguments are the proposed ones."""
        return False

    def queue_for_start(self, _call, _args):
        """The last thing before a call runs: resource_busy when it must wait for its turn."""
        return []

    # -- section 5, check by check: each gives its failures as (code, detail) ------------------------------------------

    def check_1_session_state(self, again):
        if self.killed:
            return [("session_killed", "")]
        if self.closed:
            return [("session_closed", "")]
        if self.paused() and not again:
            return [("session_paused", "")]
        return []

    @staticmethod
    def check_2_arguments(call):
        return [("arguments_malformed", "")] if call.malformed else []

    def check_3_contract(self, tool):
        return [] if tool in self.contracts or self.is_recorded_alone(tool) else [("no_contract", "")]

    def is_recorded_alone(self, tool):
        """An MCP operation without a contract, under a pack that lets them go ahead (9.41)."""
        return (tool not in self.contracts and tool in SERVER_OPERATIONS
                and (self.session.get("mcp") or {}).get("unlisted") == "record")

    def check_4_labels(self, tool):
        for gate in (self.session.get("policy") or {}).get("label_gates") or []:
            if gate["when_label"] in self.labels and (tool in gate["deny_tools"] or "*" in gate["deny_tools"]):
                return [("label_denied", gate["when_label"])]
        return []

    def check_5_policy(self, tool):
        return [] if self.policy_admits(tool) else [("policy_denied", "")]

    def policy_admits(self, tool):
        policy = self.session.get("policy") or {}
        own = self.contracts[tool].get("policy") or {}
        rules = [(kind, rule[kind]["principal"]) for rule in policy.get("rules") or [] for kind in ("deny", "allow")
                 if kind in rule and self.rule_covers(rule, kind, tool)]
        session_deny = [matcher for kind, matcher in rules if kind == "deny"]
        session_allow = [matcher for kind, matcher in rules if kind == "allow"]
        tool_deny = [rule["principal"] for rule in own.get("deny") or []]
        tool_allow = [rule["principal"] for rule in own.get("allow") or []]
        if any(self.principal_matches(matcher) for matcher in session_deny + tool_deny):
            return False
        if tool_allow and not any(self.principal_matches(matcher) for matcher in tool_allow):
            return False
        if session_allow and not any(self.principal_matches(matcher) for matcher in session_allow):
            return False
        return bool(tool_allow or session_allow) or not policy.get("default_deny", False)

    @staticmethod
    def rule_covers(rule, kind, tool):
        tools = rule[kind].get("tools", rule.get("tools"))
        return tools is None or tool in tools

    def principal_matches(self, matcher):
        return entry_holds(matcher, self.principal, self.environment)

    def check_6_risk(self, tool):
        contract = self.contracts[tool]
        table = {**RISK_TABLE, **(self.session.get("risk_defaults") or {})}
        decision = contract.get("gate") or table[contract["side_effect"]]
        return [("risk_gate_blocked", "")] if decision == "block" else []

    def check_7_phase(self, tool, earlier=()):
        if self.initial_phase() is None:
            return []
        failures = []
        phase, target = self.phase(), self.advances_to(tool)
        valid = (self.contracts[tool].get("transitions") or {}).get("valid_in_phases")
        if valid is not None and phase not in valid:
            failures.append(("wrong_phase", ""))
        if target is not None and not self.advance_is_legal(phase, target):
            failures.append(("illegal_phase_transition", ""))
        others = {self.advances_to(call.tool) for call in earlier} - {None, target}
        if target is not None and others:
            failures.append(("phase_conflict", ""))
        return failures

    def check_8_forbidden(self, call, args, earlier=(), together=()):
        """What is forbidden to this call with these arguments; `together`: it is judged with these, and not held to them."""
        missing = self.missing_entity(call.tool, args)
        failures = [("entity_missing", missing)] if missing else []
        done = [other for other in self.calls if self.forbids_for_good(other) and other is not call]
        by = self.tools_that_forbid(done + list(earlier), call.tool, args)
        if by:
            return failures + [("forbidden_in_state", by[0] if len(by) == 1 else None)]
        open_calls = [other for other in self.calls
                      if other.state in ("awaiting_approval", "pending", "executing") and not other.committed_at
                      and other is not call and other not in earlier and other not in together
                      and (other.state == "executing" or self.is_before(other, call))]
        by = self.tools_that_forbid(open_calls, call.tool, args)
        return failures + ([(FORBIDDEN_IN_FLIGHT, by[0] if len(by) == 1 else None)] if by else [])

    def tools_that_forbid(self, calls, tool, args):
        return sorted({other.tool for other in calls if self.forbids(other, tool, args)})

    def is_before(self, other, call):
        """Whether it was proposed earlier."""
        return self.calls.index(other) < self.calls.index(call)

    def is_forbidden(self, tool):
        """At narrowing: whatever the arguments are, by what is open as well."""
        return any(self.forbids(call, tool, None) for call in self.calls
                   if self.forbids_for_good(call) or call.state in ("awaiting_approval", "pending", "executing"))

    def check_9_limits(self, call, batch, again):
        without = call.step if again else None
        limit = (self.steps_limit(without) or self.cost_limit(call.step.estimate)
                 or self.calls_limit(batch.index(call) + 1, batch) or self.tool_limit(call.tool))
        own = [("session_limit_exceeded", limit)] if limit else []
        return own + self.check_9_budgets(call.step.estimate, without)

    def steps_limit(self, without=None):
        most = self.limits().get("max_steps")
        return "max_steps" if most is not None and self.total_steps(without) >= most else ""

    def cost_limit(self, estimate):
        cap = self.limits().get("max_cost_per_session")
        if cap is None:
            return ""
        over = self.spent() >= exact(cap) or self.spent() + exact(estimate) > exact(cap)
        return "max_cost_per_session" if over else ""

    def calls_limit(self, position, batch=()):
        """With k calls left, positions from k+1 on fail, whatever became of the earlier ones (9.2)."""
        most = self.limits().get("max_tool_calls")
        before = len([call for call in self.counted_calls() if call not in batch])
        return "max_tool_calls" if most is not None and before + position > most else ""

    def tool_limit(self, tool):
        most = (self.limits().get("max_calls_per_tool") or {}).get(tool)
        return "max_calls_per_tool" if most is not None and len(self.counted_calls(tool)) >= most else ""

    def check_10_loop(self, call):
        rule = self.limits().get("loop_detection")
        if not rule:
            return []
        first = call.step.number - rule["window"] + 1
        same = [other for other in self.calls
                if other is not call and other.step.number >= first and not other.neutral
                and not other.malformed and other.tool == call.tool and deep_equal(other.proposed_args, call.args)]
        return [("loop_detected", "")] if len(same) + 1 >= rule["threshold"] else []

    def check_11_boundary(self, call):
        assertions = self.contracts[call.tool]["assertions"]
        return (self.check_response_format(call)
                + self.check_boundary(assertions["input_invariants"], call.step.request, "input_assertion_failed")
                + self.check_boundary(assertions["output_invariants"], call.step.response, "output_assertion_failed"))

    def check_response_format(self, call):
        rule = self.contracts[call.tool].get("response_format_invariants")
        if not rule:
            return []
        response = call.step.response
        if response is ABSENT:
            return [("assertion_context_missing", "")]
        good = True
        if "finish_reason" in rule:
            given = normalised_finish_reason(response.get("finish_reason"))
            good = good and given == normalised_finish_reason(rule["finish_reason"])
        if rule.get("content_when_tool_calls", "allowed") == "empty":
            good = good and content_is_empty(response.get("content", ABSENT))
        if rule.get("tool_calls_present"):
            good = good and len(response.get("tool_calls") or []) >= 1
        return [] if good else [("response_format_invalid", "")]

    def check_boundary(self, entries, document, code):
        entries = [entry for entry in entries if is_boundary(entry)]
        if not entries:
            return []
        if document is ABSENT:
            return [("assertion_context_missing", "")]
        return [] if self.all_hold(entries, document) else [(code, "")]

    def all_hold(self, entries, document):
        """Whether all entries hold; says so when a variable that is not set is why one does not."""
        for entry in entries:
            if "equals_env" in entry and entry["equals_env"] not in self.environment:
                self.diagnostics.append("env_unset")
        return all([entry_holds(entry, document, self.environment) for entry in entries])

    def check_12_preconditions(self, call, again):
        conditions = self.contracts[call.tool].get("preconditions") or []
        steps = self.total_steps(call.step if again else None)
        met = all([self.precondition_met(condition, call, steps, again) for condition in conditions])
        return [] if met else [("precondition_not_met", "")]

    def precondition_met(self, condition, call, steps, again):
        if "requires_step_count" in condition:
            return steps >= condition["requires_step_count"]["gte"]
        records = [record for record in self.commits()
                   if record.tool == condition["requires_prior_tool"] and (again or record.step is not call.step)]
        resource = condition.get("resource")
        if resource:
            wanted = resolve(resource["path"], call.args)
            if not is_scalar(wanted):
                self.diagnostics.append("resource_unresolved")
                return False
            records = [record for record in records if deep_equal_present(self.key_of(record, resource), wanted)]
        return self.latest_satisfies(records, condition)

    @staticmethod
    def key_of(record, resource):
        return resolve(resource.get("prior_path", resource["path"]), record.args)

    def latest_satisfies(self, records, condition):
        if not records:
            return False
        output = records[-1].output
        wanted = condition.get("with_output") or []
        if wanted and output is ABSENT:
            return False
        return all(entry_holds(entry, output, self.environment) for entry in wanted)

    def precondition_may_be_met(self, condition):
        """At narrowing there are no arguments: some resource whose latest record satisfies it is enough."""
        if "requires_step_count" in condition:
            return self.total_steps() >= condition["requires_step_count"]["gte"]
        records = [record for record in self.commits() if record.tool == condition["requires_prior_tool"]]
        resource = condition.get("resource")
        if not resource:
            return self.latest_satisfies(records, condition)
        keys = [self.key_of(record, resource) for record in records]
        return any(self.latest_satisfies([record for record in records
                                          if deep_equal_present(self.key_of(record, resource), key)], condition)
                   for key in keys if is_scalar(key))

    def check_13_arguments(self, call):
        return (self.check_manual_invariants(call) + self.check_derived_invariants(call)
                + self.check_call_assertions(call) + self.check_execution_constraints(call.tool, call.args))

    def manual_invariants(self, tool):
        return self.contracts[tool].get("argument_value_invariants") or []

    def check_manual_invariants(self, call):
        good = self.all_hold(self.manual_invariants(call.tool), call.args)
        return [] if good else [("argument_value_invalid", "")]

    def check_derived_invariants(self, call):
        for segments, operator, wanted in self.derived_invariants(call.tool):
            value = call.args
            for segment in segments:
                value = value.get(segment, ABSENT) if isinstance(value, dict) else ABSENT
            if value is not ABSENT and not operator_holds(operator, wanted, value, self.environment):
                return [("argument_value_invalid", "")]
        return []

    def derived_invariants(self, tool):
        contract = self.contracts[tool]
        if not self.session.get("schema_derived", True) or not contract.get("schema_derived", True):
            return []
        manual = {path_segments(entry["path"]) for entry in self.manual_invariants(tool)}
        excluded = [path_segments(path) for path in contract.get("schema_derived_exclude") or []]
        return [(segments, SCHEMA_KEYWORDS[keyword], leaf[keyword])
                for segments, leaf in schema_leaves(self.schemas.get(tool) or {}) for keyword in SCHEMA_KEYWORDS
                if keyword in leaf and segments not in manual
                and not any(segments[:len(path)] == path for path in excluded)]

    def check_call_assertions(self, call):
        entries = [entry for entry in self.contracts[call.tool]["assertions"]["input_invariants"]
                   if not is_boundary(entry)]
        good = self.all_hold(entries, call.args)
        return [] if good else [("input_assertion_failed", "")]

    def check_execution_constraints(self, tool, args):
        entries = (self.contracts[tool].get("execution_constraints") or {}).get("arguments") or []
        good = self.all_hold(entries, args)
        return [] if good else [("execution_constraint_violated", "")]

    def check_14_refs(self, call):
        return [failure for entry in self.manual_invariants(call.tool) if "ref" in entry
                for failure in self.check_ref(entry, resolve(entry["path"], call.args))]

    def check_ref(self, entry, value):
        slot = entry["ref"]
        if value is ABSENT:
            return [("argument_value_invalid", "")]
        bound = self.binding(slot)
        if bound is ABSENT:
            return [("binding_unbound", slot)]
        if "tolerance" not in entry:
            return [] if deep_equal(value, bound) else [("binding_mismatch", slot)]
        if not is_number(value) or not is_number(bound):
            return [("binding_mismatch", slot)]
        near = abs(exact(value) - exact(bound)) <= exact(entry["tolerance"]) * abs(exact(bound))
        return [] if near else [("binding_mismatch", slot)]

    def check_15_aggregates(self, call):
        return [failure for aggregate in self.session.get("aggregates") or [] if covers(aggregate["tool"], call.tool)
                for failure in self.check_aggregate(aggregate, call)]

    def check_aggregate(self, aggregate, call):
        name = aggregate["name"]
        own = self.contribution(aggregate, call)
        if own == "invalid":
            return [("aggregate_value_invalid", name)]
        if own == "none":
            return []
        others = [other for other in self.calls
                  if other is not call and other.state in OPEN_STATES | {"committed"}
                  and covers(aggregate["tool"], other.tool) and not self.is_recorded_alone(other.tool)
                  and self.contribution(aggregate, other) not in ("invalid", "none")]
        values = [self.contribution(aggregate, other)[0] for other in others + [call]]
        value = measure(aggregate["metric"], values)
        lowest, highest = self.aggregate_bounds(aggregate)
        good = (lowest is None or value >= exact(lowest)) and (highest is None or value <= exact(highest))
        return [] if good else [("aggregate_violated", name)]

    @staticmethod
    def contribution(aggregate, call):
        """(value,) when the call contributes, else "none" or "invalid"."""
        metric = aggregate["metric"]
        if "path" not in aggregate:
            return (1,)
        value = ABSENT if call.malformed else resolve(aggregate["path"], call.args)
        if metric == "count":
            return "none" if value is ABSENT or value is None else (1,)
        if value is ABSENT:
            return "none" if aggregate["tool"] == "*" else "invalid"
        if metric == "count_distinct" or is_number(value):
            return (value,)
        return "invalid"

    def aggregate_bounds(self, aggregate):
        lowest, highest = aggregate.get("gte"), aggregate.get("lte")
        for entry in aggregate.get("when") or []:
            bound = self.binding(entry["binding"])
            if bound is not ABSENT and all(operator_holds(name, entry[name], bound, self.environment)
                                           for name in ("gte", "lte", "equals") if name in entry):
                return entry.get("then_gte", lowest), entry.get("then_lte", highest)
        return lowest, highest

    def check_16_envelopes(self, call):
        return [failure for envelope in self.session.get("envelopes") or []
                for failure in self.check_envelope(envelope, call)]

    def check_envelope(self, envelope, call):
        """The first of its codes, over all constrained stages of the tool."""
        codes = {code for stage in envelope["stages"] if stage["role"] == "constrained" and stage["tool"] == call.tool
                 for code in self.check_stage(envelope, stage, call)}
        return [(code, envelope["name"]) for code in ENVELOPE_CODES if code in codes][:1]

    def check_stage(self, envelope, stage, call):
        references = {role: self.captured(envelope, role) for role in needed_roles(envelope["constraint"])}
        if any(not captures for captures in references.values()):
            if is_dual(envelope, call.tool):
                return []
            return ["envelope_reference_missing"]
        value = resolve(stage["path"], call.args)
        if not is_number(value):
            return ["envelope_value_invalid"]
        return [] if self.inside(envelope, references, exact(value), call) else ["envelope_violated"]

    def inside(self, envelope, references, value, call):
        constraint = envelope["constraint"]
        if constraint == "within_band":
            anchor = references["anchor"][0][0]
            return abs(value - anchor) <= exact(envelope["band"]) * abs(anchor)
        if constraint in ("monotonic_decrease", "monotonic_increase"):
            initial, captured_at = references["initial"][0]
            chain = [initial] + self.chain_values(envelope, captured_at, call)
            return value <= min(chain) if constraint == "monotonic_decrease" else value >= max(chain)
        below = "ceiling" not in references or value <= min(number for number, _ in references["ceiling"])
        above = "floor" not in references or value >= max(number for number, _ in references["floor"])
        return below and above

    def captured(self, envelope, role):
        """(value, time of capture) of every stage of the role that has a value now."""
        captures = [self.stage_capture(envelope, stage) for stage in envelope["stages"] if stage["role"] == role]
        return [capture for capture in captures if capture is not None]

    def stage_capture(self, envelope, stage):
        runs = [call for call in self.commits() if call.tool == stage["tool"]]
        captures = [(self.stage_value(stage, call), call.committed_at) for call in runs]
        if stage["role"] == "initial" and is_dual(envelope, stage["tool"]):
            captures = [capture for capture in captures if capture[0] is not None][:1]
        return captures[-1] if captures and captures[-1][0] is not None else None

    @staticmethod
    def stage_value(stage, call):
        document = call.output if stage.get("source", "arguments") == "output" else call.args
        value = ABSENT if document is ABSENT else resolve(stage["path"], document)
        return exact(value) if is_number(value) else None

    def chain_values(self, envelope, captured_at, call):
        values = []
        for stage in envelope["stages"]:
            for other in self.calls:
                # A capture begins a new chain for what was committed before it; what is still open is in every chain.
                since = other.state in OPEN_STATES or (other.state == "committed" and other.committed_at > captured_at)
                if stage["role"] == "constrained" and other.tool == stage["tool"] and other is not call and since:
                    value = ABSENT if other.malformed else resolve(stage["path"], other.args)
                    values += [exact(value)] if is_number(value) else []
        return values

    def check_18_checkpoints(self, call):
        """The merged approval request, or None when nothing fires."""
        if self.is_recorded_alone(call.tool):
            return None
        contract = self.contracts[call.tool]
        own = [contract["checkpoint"]] if contract.get("checkpoint") else []
        common = [entry for entry in self.session.get("checkpoints") or [] if covers(entry["tool"], call.tool)]
        firing = [entry for entry in own + common if self.checkpoint_fires(entry, call, contract["side_effect"])]
        if not firing:
            return None
        denies = any(entry.get("on_timeout", "deny") == "deny" for entry in firing)
        context = {}
        for entry in firing:
            for item in entry.get("context") or []:
                value = resolve(item["path"], call.args)
                context[item["label"]] = None if value is ABSENT else value
        return {"timeout_seconds": min(exact(entry["timeout_seconds"]) for entry in firing),
                "on_timeout": "deny" if denies else "allow", "context": context}

    @staticmethod
    def checkpoint_fires(entry, call, side_effect):
        if entry.get("when_side_effect", side_effect) != side_effect:
            return False
        if entry["when"] == "always":
            return True
        met = [condition_met(condition, resolve(condition["path"], call.args)) for condition in entry["when"]]
        return all(met) if entry.get("match", "any") == "all" else any(met)

    def judge(self, call, batch, again=False):
        """All failures of a call in the order of section 5; 9.1 says how far the list goes."""
        state = self.check_1_session_state(again)
        if state == [("session_paused", "")] and self.goes_on_meanwhile(call.tool):
            state = []
        failures = (state or self.check_1_cancel(call.tool) or self.check_2_arguments(call)
                    or self.check_3_contract(call.tool))
        if failures or self.is_recorded_alone(call.tool):
            return failures
        failures = self.check_4_labels(call.tool) + self.check_5_policy(call.tool)
        if failures:
            return failures
        earlier = [other for other in call.step.calls[:call.step.calls.index(call)]
                   if other.state in ("awaiting_approval", "pending", "executing")]
        failures = self.check_6_risk(call.tool)
        failures += self.check_7_phase(call.tool, earlier)
        failures += self.check_8_forbidden(call, call.args, earlier, together=batch)
        failures += self.check_9_limits(call, batch, again)
        failures += [] if again else self.check_10_loop(call)
        failures += self.check_11_boundary(call)
        failures += self.check_12_preconditions(call, again)
        failures += self.check_13_arguments(call)
        failures += self.check_14_refs(call)
        failures += self.check_15_aggregates(call)
        failures += self.check_16_envelopes(call)
        failures += self.check_17_resources(call)
        return failures

    # -- narrowing and the check before the model is asked -------------------------------------------------------------

    def narrowing_keeps(self, tool):
        if self.ended() or tool not in self.contracts:
            return False
        if self.check_4_labels(tool) or self.check_5_policy(tool) or self.check_6_risk(tool):
            return False
        if self.check_7_phase(tool) or self.is_forbidden(tool) or self.tool_limit(tool):
            return False
        if self.limits().get("max_tool_calls_mode") == "narrow" and self.calls_limit(1):
            return False
        return all(self.precondition_may_be_met(entry) for entry in self.contracts[tool].get("preconditions") or [])

    def tools_visible(self, offered=None):
        return sorted({tool for tool in (self.contracts if offered is None else offered) if self.narrowing_keeps(tool)})

    def preflight_failures(self, preflight):
        request = preflight.get("request") or {}
        failures = self.check_1_session_state(again=False)
        if failures:
            return failures
        failures = self.check_provider(preflight.get("provider"), request)
        if failures:
            return failures
        limit = self.steps_limit() or self.cost_limit(preflight.get("estimate", 0))
        if not limit and self.limits().get("max_tool_calls_mode", "block") == "block":
            limit = self.calls_limit(1)
        if limit:
            return [("session_limit_exceeded", limit)]
        failures = self.check_9_budgets(preflight.get("estimate", 0))
        if failures:
            return failures
        for tool in self.tools_visible(request.get("tools")):
            entries = self.contracts[tool]["assertions"]["input_invariants"]
            failures = self.check_boundary(entries, request, "input_assertion_failed")
            if failures:
                return failures
        return []

    def check_provider(self, provider, request):
        rules = (self.session.get("provider_constraints") or {}).get(provider) or {}
        if any(pattern_matches(pattern, request) for pattern in rules.get("block_incompatible") or []):
            return [("provider_incompatible", "")]
        if any(pattern_matches(pattern, request) for pattern in rules.get("warn_incompatible") or []):
            self.diagnostics.append("provider_warning")
        model = request.get("model")
        if rules.get("warn_floating_alias") and isinstance(model, str) and not is_pinned(model):
            self.diagnostics.append("floating_model_alias")
        return []

    # -- steps ---------------------------------------------------------------------------------------------------------

    def propose(self, entry, members):
        step = Step(len(self.steps) + 1, estimate=entry.get("estimate", 0))
        step.request = entry.get("request", ABSENT)
        calls = [self.read_call(step, member) for member in members]
        if "response" in entry:
            step.response = {"tool_calls": [{"name": call.tool, "arguments": call.args} for call in calls],
                             **entry["response"]}
        same = self.awaiting_again(calls)
        if same:
            return [same], "held"
        self.steps.append(step)
        self.judge_step(step, calls)
        self.apply_gate(step)
        for call in calls:
            call.verdict_at_proposal, call.neutral = call.verdict, call.is_neutral()
        outcome = self.outcome(step)
        self.count_step(step)
        self.go_ahead(step.calls if self.shadow else [call for call in step.calls if call.verdict == "allow"])
        if not self.killed:
            self.settle_members(calls, members)
        return calls, outcome

    def awaiting_again(self, calls):
        """The call that already waits for approval, when just that is proposed once more."""
        if not self.paused() or len(calls) != 1 or calls[0].malformed:
            return None
        same = [call for call in self.calls if call.state == "awaiting_approval" and call.tool == calls[0].tool
                and deep_equal(call.args, calls[0].args)]
        return same[0] if same else None

    @staticmethod
    def read_call(step, member):
        call = Call(step, member["call"], member.get("args", {}), name=member.get("as", ""))
        if "args_text" in member:
            try:
                call.args = parse_json(member["args_text"])
            except (ValueError, RecursionError):
                call.args = None
        call.malformed = not isinstance(call.args, dict) or not all_written_within(call.args)
        call.proposed_args = call.args
        return call

    def judge_step(self, step, calls):
        step.calls = calls
        for call in calls:
            self.calls.append(call)
            call.failures = self.judge(call, calls)
            if call.failures:
                call.verdict, call.state, call.neutral = "block", "blocked", call.is_neutral()
                continue
            call.approval = self.check_18_checkpoints(call)
            call.verdict = "checkpoint" if call.approval else "allow"
            call.state = "awaiting_approval" if call.approval else "pending"
        for call in calls:
            call.approval_open = call.state == "awaiting_approval" and not self.shadow
        self.keep_away_from_approval_queue(calls)

    def keep_away_from_approval_queue(self, calls):
        waiting = [canonical([call.tool, call.args]) for call in calls if call.approval_open]
        if len(waiting) > 3 or len(set(waiting)) < len(waiting):
            self.silent.append("more than three approvals, or two that join, in one step")

    def apply_gate(self, step):
        if self.gate != "reject_all":
            return
        if any(call.verdict == "block" for call in step.calls):
            for call in step.calls:
                if call.verdict != "block":
                    self.reject_with_batch(call)
        elif any(call.verdict == "checkpoint" for call in step.calls):
            for call in step.calls:
                call.verdict, call.state = "checkpoint", "awaiting_approval"

    @staticmethod
    def reject_with_batch(call):
        call.verdict, call.state, call.failures = "block", "blocked", [("batch_rejected", "")]
        call.approval_open = False

    def outcome(self, step):
        verdicts = {call.verdict for call in step.calls}
        if self.shadow or "allow" in verdicts:
            return "proceed"
        if "checkpoint" in verdicts:
            return "held"
        return {"reject_all": "reject", "strip_partial": "error", "strip_blocked": "text"}[self.gate]

    def count_step(self, step):
        """What the breaker makes of a step (4.3, 9.5)."""
        if self.ended():
            return
        blocks = [call for call in step.calls if call.verdict == "block" and not call.is_neutral()]
        if blocks:
            self.happen("block")
        elif (any(call.verdict == "allow" for call in step.calls)
              and not any(call.verdict == "block" for call in step.calls)):
            self.happen("allow")

    def happen(self, happening):
        """Adds to what the breakers look at; reaching a bound kills (never in shadow)."""
        if self.ended() and happening in ("block", "allow"):
            return
        self.happenings.append(happening)
        breaker = self.limits().get("circuit_breaker") or {}
        blocks, errors = breaker.get("consecutive_blocks"), breaker.get("consecutive_errors")
        if self.shadow or self.ended():
            return
        if happening == "block" and blocks is not None and self.consecutive_blocks() >= blocks:
            self.kill()
        if happening == "error" and errors is not None and self.consecutive_errors() >= errors:
            self.kill()

    def kill(self):
        self.killed = True
        self.cancel_what_has_not_begun()
        for call in self.calls:
            if call.state == "executing":
                call.state = "unknown"

    def cancel_what_has_not_begun(self):
        for call in self.calls:
            call.approval_open = False
            if call.state in ("pending", "awaiting_approval"):
                call.state = "cancelled"

    def go_ahead(self, calls):
        """Calls that were let through; with `none` they commit here, when the whole step is decided (9.9)."""
        if self.killed and not self.shadow:
            return
        for call in calls:
            call.went_ahead, call.state = True, "pending"
        for call in calls:
            if self.contracts.get(call.tool, {}).get("commit_requirement") == "none":
                call.receipt_due = True
                self.commit(call)

    def settle_members(self, calls, members):
        for call, member in zip(calls, members):
            if call.went_ahead and ("result" in member or "attempts" in member):
                self.run_call(call, member)

    # -- starting and settling -----------------------------------------------------------------------------------------

    def can_start(self, call):
        return call.state == "pending" or (call.state == "committed" and call.receipt_due)

    def start_failures(self, call, args):
        failures = self.check_1_session_state(again=True)
        if failures or call.tool not in self.contracts:
            return failures
        if not deep_equal(args, call.args) and not all_written_within(args):
            return [("arguments_malformed", "")]
        failures = self.check_4_labels(call.tool)
        if failures:
            return failures
        failures = self.check_8_forbidden(call, args)
        if deep_equal(args, call.args):
            return failures + self.failures_of_unchanged(call)
        return self.failures_of_changed(call, args, failures)

    def failures_of_unchanged(self, call):
        state, call.state = call.state, "proposed"
        failures = self.check_execution_constraints(call.tool, call.args)
        if self.judges_totals_at_start(call):
            failures += self.check_15_aggregates(call) + self.check_16_envelopes(call)
        failures += self.check_17_resources(call)
        call.state = state
        return failures

    def failures_of_changed(self, call, args, failures):
        """Items 12 to 16 on what is really handed over, the call's own reservation left out (9.14, decision 0057)."""
        before, state = call.args, call.state
        call.args, call.state = args, "proposed"
        failures = (failures + self.check_12_preconditions(call, True) + self.check_13_arguments(call)
                    + self.check_14_refs(call) + self.check_15_aggregates(call) + self.check_16_envelopes(call) + self.check_17_resources(call))
        # An approval is bound to the arguments that were shown; nobody was shown these.
        unseen = call.approval is not None or self.check_18_checkpoints(call) is not None
        call.args, call.state = before, state
        return failures or ([("approval_mismatch", "")] if unseen else [])

    def start(self, call, args):
        """start_call: the failures, and the call executing or cancelled."""
        said = len(self.diagnostics)
        failures = self.start_failures(call, args)
        if self.shadow and args == call.args:
            del self.diagnostics[said:]  # what was said when it was proposed is not said again
        if failures and call.receipt_due:
            self.silent.append("none: refusing to start what is committed")
        counts = failures and not isinstance(failures[0][0], InFlight)
        if counts and not (self.shadow and call.verdict == "block"):
            self.happen("block")
        if failures and not self.shadow:
            call.state = "cancelled"
            return failures
        busy = [] if self.shadow else self.queue_for_start(call, args)
        if busy:
            return busy  # it stays as it is, and may be started later
        call.args = args
        if call.state == "pending":
            call.state = "executing"
        return failures

    def run_call(self, call, result):
        """Begins and settles at once."""
        if not self.can_start(call):
            return
        if not self.shadow:
            if self.start(call, call.args):
                return
        elif call.verdict != "block" and (failures := self.start_failures(call, call.args)):
            if call.verdict == "checkpoint":
                self.silent.append("shadow: refusing to start what would have waited")
            if not isinstance(failures[0][0], InFlight):
                self.happen("block")
        if "attempts" in result:
            outcome = self.play_attempts(call, result["attempts"])
        else:
            outcome = result
        self.settle(call, outcome)

    def play_attempts(self, call, attempts):
        """The outcome of the last attempt that retry policy makes (3.6, 9.15)."""
        contract = self.contracts.get(call.tool, BOILERPLATE)
        total, elapsed = contract["timeouts"]["total_ms"], exact(0)
        for index, attempt in enumerate(attempts):
            call.attempts_used = index + 1
            elapsed += exact(attempt.get("ms", 0))
            if elapsed > total:
                return {"result": "timeout"}
            if attempt["result"] != "error":
                return attempt
            pause = self.pause_before_retry(contract, attempt, index)
            last = index + 1 >= contract["retries"]["max_attempts"] or not self.may_retry(call)
            if pause is None or last or elapsed + pause * 1000 >= total:
                return attempt
            if index + 1 == len(attempts):
                self.silent.append("the list of attempts ends early")
                return attempt
            if read_error(attempt.get("error"))["class"] == "rate_limited":
                call.slept.append(plain(pause))
            elapsed += pause * 1000
        return attempts[-1]

    @staticmethod
    def pause_before_retry(contract, attempt, retries_made):
        """Seconds to wait before the next attempt; None when this error is not tried again."""
        error, rule = read_error(attempt.get("error")), contract["rate_limits"]["on_429"]
        if error["class"] == "rate_limited":
            longest = exact(rule["max_sleep_seconds"])
            if rule["respect_retry_after"] and "retry_after" in attempt:
                wanted = exact(attempt["retry_after"])
                return wanted if wanted <= longest else None
            return min(exact(2) ** retries_made, longest)
        names = {error["class"], error["code"], str(error["http_status"])}
        return exact(0) if names & set(contract["retries"]["retry_on"]) else None

    def may_retry(self, call):
        forbidden = any(self.forbids(other, call.tool, None) for other in self.calls
                        if self.forbids_for_good(other) and other is not call)
        stopped = self.killed or self.paused() or forbidden
        return self.shadow or not stopped

    def settle(self, call, outcome):
        """A receipt: what the outcome makes of the call (2.1, 2.2, 9.7)."""
        kind = outcome["result"]
        if kind == "ok":
            call.output = parse_output(outcome.get("output"))
            self.settle_ok(call, outcome.get("ack", True))
        elif kind == "error":
            self.settle_failed(call, "", self.is_allowed(call, read_error(outcome.get("error"))))
        elif kind == "timeout" and self.contracts.get(call.tool, {}).get("side_effect") == "read":
            self.settle_failed(call, "", self.is_allowed(call, TIMEOUT_ERROR))
        else:
            self.settle_unknown(call, kind == "timeout" and self.is_allowed(call, TIMEOUT_ERROR))

    def is_allowed(self, call, error):
        return any(allowed_matches(allowed, error)
                   for allowed in self.contracts.get(call.tool, {}).get("allowed_errors") or [])

    def settle_ok(self, call, ack):
        if call.receipt_due:
            good = call.output is ABSENT or self.output_invariants_hold(call)
            call.output = ABSENT  # 9.9: no output is stored
            if not good:
                self.settle_failed(call, "output_assertion_failed", False)
                return
            call.receipt_due, call.state = False, "committed"
            self.happen("success")
            return
        why = self.why_not_committed(call, ack)
        if why:
            call.output = ABSENT
            self.settle_failed(call, why, False)
        else:
            self.happen("success")
            self.commit(call)

    def why_not_committed(self, call, ack):
        contract = self.contracts.get(call.tool)
        if contract is None:
            return ""
        if contract["evidence_class"] == "local_transaction" and not isinstance(call.output, dict):
            return "evidence_insufficient"
        if contract["evidence_class"] == "ack_only" and not ack:
            return "evidence_insufficient"
        return "" if self.output_invariants_hold(call) else "output_assertion_failed"

    def output_invariants_hold(self, call):
        entries = self.contracts[call.tool]["assertions"]["output_invariants"]
        return self.all_hold([entry for entry in entries if not is_boundary(entry)], call.output)

    def settle_failed(self, call, why, allowed):
        late = call.state == "unknown"
        if call.receipt_due:
            call.receipt_due = False
            self.diagnostics.append("late_failure")
        call.state, call.why_failed = "failed", why
        if not late and not allowed:
            self.happen("error")

    def settle_unknown(self, call, allowed):
        late = call.state == "unknown"
        if not late:
            call.state = "unknown"
        if not late and not allowed:
            self.happen("error")

    def commit(self, call):
        """The call happened. What follows from it is worked out from the list; here are only the remarks it causes."""
        phase = self.phase()
        call.accounting_only = self.killed
        call.state, call.committed_at = "committed", self.tick()
        if self.killed or call.tool not in self.contracts:
            return
        target = self.advances_to(call.tool)
        if target is not None and not self.advance_is_legal(phase, target):
            self.diagnostics.append("phase_advance_skipped")
        for bind in self.contracts[call.tool].get("binds") or []:
            if self.bound_value(call, bind) is ABSENT:
                self.diagnostics.append("bind_source_missing")
        for envelope in self.session.get("envelopes") or []:
            for stage in envelope["stages"]:
                if stage["tool"] == call.tool and self.misses_capture(envelope, stage, call):
                    self.diagnostics.append("envelope_capture_missing")

    def misses_capture(self, envelope, stage, call):
        if stage["role"] == "constrained" or self.stage_value(stage, call) is not None:
            return False
        if stage["role"] == "initial" and is_dual(envelope, stage["tool"]):
            return self.stage_capture(envelope, stage) is None
        return True

    # -- decisions of people -------------------------------------------------------------------------------------------

    def open_checkpoint(self, who):
        waiting = [call for call in self.calls if call.approval_open and (who is True or call.name == who)]
        return waiting[0] if waiting else None

    def decided_together(self, call):
        if self.gate != "reject_all":
            return [call]
        return [other for other in call.step.calls if other.state == "awaiting_approval"]

    def approve(self, call, result):
        group = self.decided_together(call)
        call.approval_open = False
        if any(other.approval_open for other in group):
            return
        for other in group:
            other.state = "proposed"
        for other in group:
            other.failures = self.judge(other, group, again=True)
            other.state = "blocked" if other.failures else "pending"
            other.verdict = "block" if other.failures else "allow"
        if any(other.failures for other in group):
            for other in group:
                if not other.failures:
                    self.reject_with_batch(other)
            if any(not other.is_neutral() for other in group):
                self.happen("block")
            return
        self.happen("allow")
        self.go_ahead(group)
        if "result" in result or "attempts" in result:
            self.run_call(call, result)

    def refuse(self, call, reason):
        group = self.decided_together(call)
        for other in group:
            self.reject_with_batch(other)
        call.failures = [(reason, "")]
        self.happen("block")

    # -- entries -------------------------------------------------------------------------------------------------------

    def play(self, entry):
        """Plays one entry of `run`; everything observable after it, in the words of the scenario format."""
        self.diagnostics, self.unsure = [], set()
        action = next(name for name in ACTIONS if name in entry)
        observed = getattr(self, "play_" + action)(entry)
        observed["diagnostics"] = sorted(set(self.diagnostics))
        offered = entry["preflight"].get("request", {}).get("tools") if action == "preflight" else None
        observed.update(self.observe_session(offered))
        observed["unsure"] = sorted(self.unsure)
        return observed

    def observe_session(self, offered):
        return {
            "phase": self.phase(), "killed": self.killed, "paused": self.paused(),
            "bindings": {slot: None if self.binding(slot) is ABSENT else plain(self.binding(slot))
                         for slot in self.slots()},
            "forbidden": self.forbidden(), "session_labels": sorted(set(self.labels)),
            "tools_visible": self.tools_visible(offered),
            "counters": {"steps": self.total_steps(), "tool_calls": len(self.counted_calls()),
                         "cost": plain(self.spent()), "consecutive_blocks": self.consecutive_blocks(),
                         "consecutive_errors": self.consecutive_errors()},
        }

    def observe_call(self, call):
        observed = {"expect": call.spoken_verdict(), "failures": sorted({code for code, _ in call.failures})}
        observed.update(detail_of(call.failures))
        if call.went_ahead or call.state == "awaiting_approval":
            observed["settles"] = self.spoken_state(call)
        if call.approval and call.approval_open:
            observed["request_approval"] = plain(call.approval)
        if call.attempts_used:
            observed["attempts_used"], observed["slept"] = call.attempts_used, list(call.slept)
        return observed

    @staticmethod
    def spoken_state(call):
        if call.state in ("awaiting_approval", "pending", "executing"):
            return "pending"
        return f"failed:{call.why_failed}" if call.why_failed and call.state == "failed" else call.state

    def named(self, name):
        return next(call for call in self.calls if call.name == name)

    def play_call(self, entry):
        calls, outcome = self.propose_unless_ended(entry, [entry])
        return {**self.observe_call(calls[0]), "outcome": outcome}

    def play_step(self, entry):
        calls, outcome = self.propose_unless_ended(entry, entry["step"])
        return {"members": [self.observe_call(call) for call in calls], "outcome": outcome}

    def propose_unless_ended(self, entry, members):
        """An ended session answers but keeps nothing of what is proposed."""
        if not self.ended():
            return self.propose(entry, members)
        step = Step(len(self.steps) + 1)
        step.calls = [self.read_call(step, member) for member in members]
        for call in step.calls:
            call.verdict, call.state, call.failures = "block", "blocked", self.check_1_session_state(again=False)
        if self.shadow:
            self.unsure.add("outcome")  # let through as ever, or over: the specification says both
        return step.calls, self.outcome(step)

    def play_text(self, _entry):
        if not self.ended():
            self.steps.append(Step(len(self.steps) + 1, text=True))
        return {}

    def play_preflight(self, entry):
        failures = self.preflight_failures(entry["preflight"])
        observed = {"expect": f"block:{failures[0][0]}" if failures else "allow"}
        if failures and failures[0][0] in DETAILED:
            observed["detail"] = failures[0][1]
        return observed

    def play_approve(self, entry):
        call = self.open_checkpoint(entry["approve"])
        if call is None:
            return {"expect": "reject:checkpoint_closed"}
        self.approve(call, entry)
        return self.observe_decision(call)

    def play_deny(self, entry):
        call = self.open_checkpoint(entry["deny"])
        if call is None:
            return {"expect": "reject:checkpoint_closed"}
        self.refuse(call, "checkpoint_denied")
        return self.observe_decision(call)

    def play_timeout(self, entry):
        call = self.open_checkpoint(entry["timeout"])
        if call is None:
            return {"expect": "reject:checkpoint_closed"}
        if call.approval["on_timeout"] == "allow":
            self.approve(call, entry)
        else:
            self.refuse(call, "checkpoint_timeout")
        return self.observe_decision(call)

    def observe_decision(self, call):
        others = {other.name: other.spoken_verdict() for other in call.step.calls if other.name}
        return {**self.observe_call(call), "decisions": others}

    def play_begin(self, entry):
        call = self.named(entry["begin"])
        if not self.can_start(call):
            return {"expect": "reject:call_not_open", "settles": self.settles_of(call)}
        if call.receipt_due:
            self.silent.append("none: start_call after the commit")
        failures = self.start(call, entry.get("args", call.args))
        observed = {"expect": f"block:{failures[0][0]}" if failures else "allow",
                    "failures": sorted({code for code, _ in failures}), "settles": self.settles_of(call)}
        observed.update(detail_of(failures))
        return observed

    def settles_of(self, call):
        return None if call.state == "blocked" else self.spoken_state(call)

    def play_receipt(self, entry):
        call = self.named(entry["receipt"])
        if call.state not in ("pending", "executing", "unknown") and not call.receipt_due:
            return {"expect": "reject:call_not_open", "settles": self.settles_of(call)}
        if call.state == "pending":
            call.state = "executing"
        self.settle(call, entry)
        return {"expect": "ok", "settles": self.settles_of(call)}

    def play_label(self, entry):
        self.labels.append(entry["label"])
        return {"expect": "ok"}

    def play_cost(self, entry):
        self.costs.append(entry["cost"])
        return {"expect": "ok"}

    def play_kill(self, _entry):
        if not self.ended():
            self.kill()
        return {"expect": "ok"}

    def play_close(self, _entry):
        if not self.ended():
            self.closed = True
            self.cancel_what_has_not_begun()
        return {"expect": "ok"}

    def play_check(self, _entry):
        return {}


ACTIONS = ("call", "step", "text", "preflight", "approve", "deny", "timeout", "begin", "receipt", "label", "cost",
           "kill", "close", "check")


def detail_of(failures):
    """What the first failure is about, and whether it is a call in flight."""
    observed = {}
    if failures and failures[0][0] in DETAILED:
        observed["detail"] = failures[0][1]
    if failures and failures[0][0] == "forbidden_in_state":
        observed["in_flight"] = isinstance(failures[0][0], InFlight)
    return observed


def covers(tools, tool):
    return tools == "*" or tool == tools or (isinstance(tools, list) and tool in tools)


def deep_equal_present(value, wanted):
    return value is not ABSENT and deep_equal(value, wanted)


def needed_roles(constraint):
    return {"lte_ceiling": ["ceiling"], "gte_floor": ["floor"], "bounded": ["ceiling", "floor"],
            "within_band": ["anchor"], "monotonic_decrease": ["initial"], "monotonic_increase": ["initial"]}[constraint]


def is_dual(envelope, tool):
    roles = {stage["role"] for stage in envelope["stages"] if stage["tool"] == tool}
    return {"initial", "constrained"} <= roles


def measure(metric, values):
    if metric == "count":
        return exact(len(values))
    if metric == "count_distinct":
        return exact(len({canonical(value) for value in values}))
    numbers = [exact(value) for value in values]
    return {"sum": sum, "max": max, "min": min}[metric](numbers)


def condition_met(condition, value):
    """A checkpoint condition; what cannot be compared counts as met (4.9)."""
    if value is ABSENT or value is None:
        return True
    bounds = [name for name in ("gte", "lte") if name in condition]
    if bounds and not is_number(value):
        bounds = []
    return all(operator_holds(name, condition[name], value, {})
               for name in bounds + [name for name in ("equals", "one_of") if name in condition])


def schema_leaves(schema, segments=()):
    """(path, property) of every leaf, through nested `properties` only."""
    for name, member in (schema.get("properties") or {}).items():
        if "properties" in member:
            yield from schema_leaves(member, segments + (name,))
        else:
            yield segments + (name,), member


def allowed_matches(allowed, error):
    if isinstance(allowed, str):
        allowed = {"code": allowed}
    return (all(allowed.get(name, error[name]) == error[name] for name in ("code", "class", "http_status"))
            and ("message_regex" not in allowed or re.search(allowed["message_regex"], error["message"]) is not None))


def pattern_matches(pattern, request):
    return all(term_matches(term.strip(), request) for term in pattern.split(" + "))


def term_matches(term, request):
    if "=" in term:
        path, literal = term.split("=", 1)
        value = dotted(path, request)
        return is_scalar(value) and scalar_text(value) == literal
    model = request.get("model")
    if isinstance(model, str) and re.fullmatch(re.escape(term) + r"(-\d{4}-\d{2}-\d{2}|-\d{8})?", model):
        return True
    value = dotted(term, request)
    switched_off = value is None or value is False or (isinstance(value, dict) and value.get("type") == "disabled")
    return value is not ABSENT and not switched_off


def dotted(path, request):
    value = request
    for name in path.split("."):
        value = value.get(name, ABSENT) if isinstance(value, dict) else ABSENT
    return value


def scalar_text(value):
    return value if isinstance(value, str) else canonical(value)


def is_pinned(model):
    return re.search(r"(-\d{4}-\d{2}-\d{2}|-\d{8}|@[^@]+)$", model) is not None
