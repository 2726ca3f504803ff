# SPDX-License-Identifier: Apache-2.0
"""A second, slow and obvious implementation of the workflow rules, written from the specification alone.

It plays the `events` body of a scenario (docs: scenarios): several sessions of session_model.py, the handoffs between
them, what they may do together and what they share. Who holds or waits for a token, who waits, what is spent and what
is open is worked out from the calls and handoffs whenever it is asked for; kept are only the order in which calls asked
for a token, and who took what may have one writer.

    model = WorkflowModel(scenario)
    for entry in scenario["events"]:
        observed = model.play(entry)

Numbers of checks and sections are those of the contracts specification; H stands for the specification of the joints.
"""

# Readings: where the specification is silent or can be read in two ways, this is what the model does. Those of
# session_model.py hold too.
#
# Handoffs and sessions
#  1. An offer is judged in the order of section 7: edge, artifacts, parent active (session_killed, session_closed),
#     max_open_handoffs. An offer that is refused leaves nothing behind; its name may be used again.
#  2. A claim is judged: workflow_killed, handoff_not_open, max_sessions, max_active_sessions. (That the killed workflow
#     comes first is what the published s15 shows.) A claim that is refused leaves the offer open.
#  3. max_open_handoffs counts the offers of all sessions together. A claimed handoff is open until its child has ended,
#     also when the child was abandoned.
#  4. A paused parent, and one that was asked to cancel, may still offer; an offer is not a call. A claim looks at
#     nothing in the parent: a parent that ended has no open offer.
#  5. decline, cancel and expire end what is offered; everything else (claimed, ended) is handoff_not_open.
#  6. workflow_root_exists also when the root has ended; there is never a second one.
#  7. Closing a session that has ended changes nothing (answer ok), nor does killing one: a closed one stays closed.
#
# Ending
#  8. Killing needs no right except for the scope workflow, where operator_only asks for the operator; without
#     operator_only any session may. The scope subtree is refused where it is not switched on, whoever asks. Both are
#     judged before it is looked at what is still alive, so a second refused kill is refused again.
#  9. A kill by the breaker is a kill with scope session: the close policy is applied, its offers and its handoff are
#     cancelled, its labels flow.
# 10. A subtree are all sessions below, through ended ones too, but not those that were abandoned, nor what is below
#     them. A workflow kill ends all. A target that has ended is skipped, what is below it is not.
# 11. In a subtree, and under terminate, what is below ends first, so that labels get all the way up. A session that
#     closes ends what its policy ends before its own labels flow.
# 12. request_cancel reaches the child alone, not what is below it; the flag stays when the child ends. No policy is
#     applied to a child that has ended, so what lives below such a one is left alone. terminate needs no subtree_kill.
#     terminate and the kill of a subtree ignore all policies below.
# 13. An abandoned child has no parent any more: its labels flow to nobody, its handoff ends with it all the same.
#
# Labels
# 14. A child begins with the labels of its pack and those its parent has when it claims; later ones do not follow.
# 15. At the end of a child its labels are added to its parent's, also when the parent has ended; they go one step
#     further only with the end of the parent itself.
# 16. A declined, cancelled or expired offer has had no child, so nothing flows back (H 6 names decline and expiry; in a
#     scenario neither has a session).
#
# cancel_requested
# 17. It belongs to item 1, after killed, closed and paused, before malformed arguments. A tool without a contract is
#     not known to read, so it is refused so too.
# 18. A call that waited for approval is judged again with it (the whole of section 5 on the current state), so the
#     approval comes to nothing unless it reads; the breaker does not move. Starting what is pending looks at it not.
# 19. Narrowing does not look at it. A pre-check that gets past the session's state has the diagnostic cancel_requested.
#
# Budgets
# 20. Both session_limit_exceeded and workflow_limit_exceeded are in `failures` when both fail; of the two budgets only
#     the first that fails, steps before cost, and its name is the `detail`.
# 21. In flight is a step while one of its calls awaits, is pending or executes: so long its estimate is reserved. A
#     response counts as a step when it is proposed. A pre-check reserves nothing: it is a question.
# 22. Reserved cost counts as spent, in both conditions: total >= cap, total + estimate > cap.
# 23. Only pre-checks and proposals are judged by budgets: a text is never refused, and approvals are judged again by
#     them (the step itself left out), starting a call is not.
#
# Shared resources
# 24. Only aliases that the session's own pack declares are looked at. An absent or null value touches nothing. A value
#     that is no scalar is resource_unresolved at item 17, whatever the mode and the side effect. Values are equal when
#     their canonical texts are (1 and 1.0; not 1 and "1").
# 25. Each alias gives at most one failure, in the order of the aliases' names; failures have no `detail`.
# 26. exclusive_pending: executing is pending. Calls of ended sessions that are executing or unknown still block.
# 27. single_writer: ownership is taken when the call goes ahead, not while it waits for approval (2.1 lists the claim
#     for `allow` alone); so an approved call may find that somebody else is the writer now.
# 28. A sole failed first mutation: the only mutating call on the key since ownership was taken, whatever its failure
#     (a late error of an unknown call and of a `none` one too). A cancelled call leaves this count as it leaves all
#     others, so that a sole cancelled one gives ownership back as well. Taking it again begins anew.
# 29. Ownership of an ended session lasts while one of its mutating calls on the key is unknown or still executing
#     (closing leaves executing calls executing).
# 30. A claim hands nothing over by itself: the child cannot write what its parent owns. What the offer names in
#     `resources` (judged last, handoff_resource_unknown) it hands over: all values of it that the parent owns, but for
#     those on which a mutating call of the parent is pending, executing or unknown, or is committed already and has no
#     receipt yet. It is the child's then, whatever fails, until the child ends.
# 31. start_call judges item 17 again in these two modes, after items 13 to 16 and before approval_mismatch; a call that
#     is started with other arguments leaves the key it had and takes the new one.
# 32. serial_only: keys in sorted order; a call joins the queue of a key when it first asks for it, and the queue of the
#     next key only when it is first in all before it. First in the queue has the token, begun or not. It leaves with
#     its receipt of any kind (lost and timed out too: 2.1 keeps those claims for the other two modes only), when it is
#     cancelled, and with the end of its session (also when it goes on executing there).
# 33. The token comes last at start_call: a call that fails another check is refused for that, cancelled, and leaves the
#     queues. resource_busy stands alone in `failures`; the breaker does not move; a result beside it is ignored.
# 34. A call that touches a serial_only key is judged by items 15 and 16 again at start_call also with the proposed
#     arguments, its own reservation left out. A stricter value of a monotonic chain that was allowed later thus stops
#     an earlier one.
# 35. A receipt for a call that was not started is taken as ever ("a pending one counts as begun") and needs no token.

import copy
from dataclasses import dataclass, field

from session_model import OPEN_STATES, Model, twin_of
from values import ABSENT, canonical, exact, is_scalar, resolve

WORKFLOW_ACTIONS = ("create", "offer", "claim", "decline", "cancel", "expire", "kill", "close")
UNRESOLVED = "unresolved"
IN_FLIGHT = ("awaiting_approval", "pending", "executing")


@dataclass(eq=False)
class Handoff:
    """An offer, and what became of it."""

    sender: str
    role: str
    policy: str
    state: str = "offered"
    child: str = ""
    resources: list = field(default_factory=list)  # aliases whose ownership goes to the child

    def is_open(self):
        return self.state in ("offered", "claimed")


@dataclass(eq=False)
class Ownership:
    """Who may write, and the calls since it was taken."""

    session: str
    calls: list = field(default_factory=list)  # numbers of calls in the session's list
    handed: bool = False  # by a parent: it is kept whatever fails


class Session(Model):
    """One session of a workflow: asks the workflow where the rules look beyond the session."""

    def __init__(self, name, role, pack, workflow):
        super().__init__(pack)
        self.name = name
        self.role = role
        self.workflow = workflow
        self.parent = ""
        self.handoff = ""  # the one it claimed
        self.cancel_requested = False

    def mutates(self, call):
        return self.contracts.get(call.tool, {}).get("side_effect") not in ("read", None)

    def touched(self, alias, args):
        """The canonical value of the resource in these arguments; ABSENT when they do not touch it, or UNRESOLVED."""
        resource = (self.session.get("resources") or {}).get(alias)
        value = ABSENT if resource is None else resolve(resource["extract_from"]["path"], args)
        if value is ABSENT or value is None:
            return ABSENT
        return canonical(value) if is_scalar(value) else UNRESOLVED

    def keys(self, mode, args):
        """The (alias, value) pairs of a mode that a call with these arguments is about, sorted."""
        values = [(alias, self.touched(alias, args)) for alias in self.workflow.aliases(mode)]
        return sorted(key for key in values if key[1] not in (ABSENT, UNRESOLVED))

    def calls_on(self, mode, key):
        return [call for call in self.calls
                if not call.malformed and call.tool in self.contracts and key in self.keys(mode, call.args)]

    # -- the checks that look beyond the session -----------------------------------------------------------------------

    def check_1_cancel(self, tool):
        reads = self.contracts.get(tool, {}).get("side_effect") == "read"
        return [("cancel_requested", "")] if self.cancel_requested and not reads else []

    def check_9_budgets(self, estimate, without=None):
        return self.workflow.check_budgets(self, estimate, without)

    def check_17_resources(self, call):
        return self.workflow.check_resources(self, call)

    def judges_totals_at_start(self, call):
        return bool(self.keys("serial_only", call.args))

    def queue_for_start(self, call, args):
        busy = self.workflow.queue_for_start(self, call, args)
        if busy and canonical(args) != canonical(call.args):
            self.silent.append("waiting for the key of other arguments than the proposed ones")
        if busy and call.receipt_due:
            self.silent.append("none: waiting for a token with what is committed")
        return busy

    # -- what the workflow must hear of --------------------------------------------------------------------------------

    def go_ahead(self, calls):
        super().go_ahead(calls)
        for call in calls:
            self.workflow.take_ownership(self, call)

    def start(self, call, args):
        failures = super().start(call, args)
        if not failures:
            self.workflow.take_ownership(self, call)
        return failures

    def kill(self):
        """Also what the breaker does."""
        self.workflow.kill_session(self)

    def play_preflight(self, entry):
        if self.cancel_requested and not self.check_1_session_state(again=False):
            self.diagnostics.append("cancel_requested")
        return super().play_preflight(entry)

    def observe_session(self, offered):
        return {**super().observe_session(offered), "cancel_requested": self.cancel_requested}


class WorkflowModel:
    """All sessions of a workflow, played event by event."""

    def __init__(self, scenario):
        self.plan = scenario.get("workflow") or {}
        common = {key: scenario[key] for key in ("defaults", "gate", "mode") if key in scenario}
        self.packs = {role: {**common, **pack} for role, pack in (scenario.get("packs") or {}).items()}
        self.sessions = {}
        self.handoffs = {}
        self.killed = False
        self.owners = {}  # (alias, value) -> Ownership
        self.queues = {}  # (alias, value) -> (session, number of call), in the order of their asking
        self.own_silent = []

    def copy(self):
        """A workflow that goes its own way from here; see Model.copy."""
        other = twin_of(self)
        other.sessions = {}
        for name, session in self.sessions.items():
            other.sessions[name] = session.copy()
            other.sessions[name].workflow = other
        other.handoffs = {name: twin_of(handoff) for name, handoff in self.handoffs.items()}
        other.owners = {key: Ownership(owner.session, copy.copy(owner.calls), owner.handed) for key, owner in self.owners.items()}
        other.queues = {key: list(queue) for key, queue in self.queues.items()}
        other.own_silent = list(self.own_silent)
        return other

    def silent(self):
        """What was met that the specification does not settle; a generator keeps away from it."""
        return self.own_silent + [what for session in self.sessions.values() for what in session.silent]

    # -- what workflow.yaml says ---------------------------------------------------------------------------------------

    def limit(self, name):
        return (self.plan.get("workflow_limits") or {}).get(name)

    def cancellation(self):
        return self.plan.get("cancellation") or {}

    def default_policy(self):
        stated = self.plan.get("parent_close_policy") or self.cancellation().get("parent_close_policy") or {}
        return stated.get("default", "request_cancel")

    def aliases(self, mode):
        return [shared["alias"] for shared in self.plan.get("shared_resources") or [] if shared["mode"] == mode]

    def edge(self, sender_role, role):
        edges = [edge for edge in self.plan.get("handoffs") or [] if (edge["from"], edge["to"]) == (sender_role, role)]
        return edges[0] if edges else None

    # -- handoffs: each answers with the reason of its refusal, or nothing ---------------------------------------------

    def create(self, name, role):
        if self.sessions:
            return "workflow_root_exists"
        if self.killed:
            return "workflow_killed"
        self.sessions[name] = Session(name, role, self.packs[role], self)
        return ""

    def offer(self, name, sender, role, artifacts, resources):
        parent = self.sessions[sender]
        edge = self.edge(parent.role, role)
        if edge is None:
            return "handoff_not_declared"
        if any(artifacts.get(artifact) is None for artifact in edge.get("requires_artifacts") or []):
            return "handoff_artifact_missing"
        if parent.ended():
            return "session_killed" if parent.killed else "session_closed"
        most = self.limit("max_open_handoffs")
        if most is not None and len([handoff for handoff in self.handoffs.values() if handoff.is_open()]) >= most:
            return "workflow_limit_exceeded"
        if any(alias not in self.aliases("single_writer") for alias in resources):
            return "handoff_resource_unknown"
        self.handoffs[name] = Handoff(sender, role, edge.get("parent_close_policy") or self.default_policy(), resources=resources)
        return ""

    def claim(self, name, session):
        handoff = self.handoffs.get(name)
        if self.killed:
            return "workflow_killed"
        if handoff is None or handoff.state != "offered":
            return "handoff_not_open"
        ever, active = self.limit("max_sessions"), self.limit("max_active_sessions")
        if ever is not None and len(self.sessions) >= ever:
            return "workflow_limit_exceeded"
        if active is not None and len(self.active()) >= active:
            return "workflow_limit_exceeded"
        child = Session(session, handoff.role, self.packs[handoff.role], self)
        child.parent, child.handoff = handoff.sender, name
        child.labels += self.sessions[handoff.sender].labels
        self.sessions[session] = child
        handoff.state, handoff.child = "claimed", session
        self.hand_over(self.sessions[handoff.sender], child, handoff.resources)
        return ""

    def end_offer(self, name, state):
        handoff = self.handoffs.get(name)
        if handoff is None or handoff.state != "offered":
            return "handoff_not_open"
        handoff.state = state
        return ""

    # -- ending --------------------------------------------------------------------------------------------------------

    def active(self):
        return [session for session in self.sessions.values() if not session.ended()]

    def children(self, session):
        return [other for other in self.sessions.values() if other.parent == session.name]

    def close_session(self, session):
        if session.ended():
            return
        session.closed = True
        session.cancel_what_has_not_begun()
        self.apply_close_policy(session)
        self.leave(session, "completed")

    def kill_session(self, session):
        """Scope session."""
        if session.ended():
            return
        Model.kill(session)
        self.apply_close_policy(session)
        self.leave(session, "cancelled")

    def kill_tree(self, session):
        for child in self.children(session):
            self.kill_tree(child)
        if not session.ended():
            Model.kill(session)
            self.leave(session, "cancelled")

    def apply_close_policy(self, session):
        for child in self.children(session):
            policy = self.handoffs[child.handoff].policy
            if child.ended():
                continue
            if policy == "terminate":
                self.kill_tree(child)
            elif policy == "request_cancel":
                child.cancel_requested = True
            else:
                child.parent = ""

    def leave(self, session, state):
        """What is left of a session that has ended: no offers, its handoff over, its labels with the parent."""
        for handoff in self.handoffs.values():
            if handoff.sender == session.name and handoff.state == "offered":
                handoff.state = "cancelled"
        if session.handoff:
            self.handoffs[session.handoff].state = state
        if session.parent:
            self.sessions[session.parent].labels += session.labels

    def kill(self, scope, target, by):
        if scope == "workflow":
            if by != "operator" and self.cancellation().get("workflow_kill") == "operator_only":
                return "kill_not_permitted"
            self.killed = True
            for session in list(self.sessions.values()):
                if not session.parent:
                    self.kill_tree(session)
            return ""
        if scope == "subtree":
            if not self.cancellation().get("subtree_kill", False):
                return "kill_scope_disabled"
            self.kill_tree(self.sessions[target])
            return ""
        self.kill_session(self.sessions[target])
        return ""

    # -- budgets (item 9) ----------------------------------------------------------------------------------------------

    def check_budgets(self, _session, estimate, without):
        steps = sum(other.total_steps(without) for other in self.sessions.values())
        if self.limit("max_total_steps") is not None and steps >= self.limit("max_total_steps"):
            return [("workflow_limit_exceeded", "max_total_steps")]
        cap = self.limit("max_total_cost")
        if cap is None:
            return []
        spent = sum((other.spent() for other in self.sessions.values()), exact(0)) + self.reserved(without)
        over = spent >= exact(cap) or spent + exact(estimate) > exact(cap)
        return [("workflow_limit_exceeded", "max_total_cost")] if over else []

    def reserved(self, without):
        under_way = {id(call.step): call.step for session in self.sessions.values() for call in session.calls
                     if call.state in IN_FLIGHT and call.step is not without
                     and session.step_counts(call.step)}
        return sum((exact(step.estimate) for step in under_way.values()), exact(0))

    # -- shared resources (item 17) ------------------------------------------------------------------------------------

    def check_resources(self, session, call):
        self.give_back()
        failures = []
        for shared in sorted(self.plan.get("shared_resources") or [], key=lambda shared: shared["alias"]):
            value = session.touched(shared["alias"], call.args)
            if value is ABSENT:
                continue
            key = (shared["alias"], value)
            if value is UNRESOLVED:
                failures.append(("resource_unresolved", ""))
            elif shared["mode"] == "exclusive_pending" and self.waits_elsewhere(session, key):
                failures.append(("resource_pending_elsewhere", ""))
            elif shared["mode"] == "single_writer" and session.mutates(call) and self.owned_elsewhere(session, key):
                failures.append(("resource_not_owner", ""))
        return failures

    def waits_elsewhere(self, session, key):
        return any(call.state in OPEN_STATES for other in self.sessions.values() if other is not session
                   for call in other.calls_on("exclusive_pending", key))

    def owned_elsewhere(self, session, key):
        return key in self.owners and self.owners[key].session != session.name

    def take_ownership(self, session, call):
        """Of every key that nobody owns; where the session is the owner, one more call of it."""
        if not session.mutates(call) or session.ended():
            return
        for key in session.keys("single_writer", call.args):
            owner = self.owners.setdefault(key, Ownership(session.name))
            number = session.calls.index(call)
            if owner.session == session.name and number not in owner.calls:
                owner.calls.append(number)

    def hand_over(self, parent, child, resources):
        self.give_back()
        for key, owner in self.owners.items():
            if owner.session != parent.name or key[0] not in resources:
                continue
            mutations = [call for call in parent.calls_on("single_writer", key) if parent.mutates(call)]
            if not any(call.receipt_due or call.state in ("pending", "executing", "unknown") for call in mutations):
                self.owners[key] = Ownership(child.name, handed=True)

    def give_back(self):
        """Forgets the owners that are none any more; done after everything that happens."""
        self.owners = {key: owner for key, owner in self.owners.items() if self.is_still_owner(key, owner)}

    def is_still_owner(self, key, owner):
        session = self.sessions[owner.session]
        mutations = [call for call in session.calls_on("single_writer", key) if session.mutates(call)]
        if session.ended():
            return any(call.state in ("executing", "unknown") for call in mutations)
        if owner.handed:
            return True
        since = [call for call in mutations if session.calls.index(call) in owner.calls and call.state != "cancelled"]
        return len(since) > 1 or (len(since) == 1 and since[0].state != "failed")

    def queue_for_start(self, session, call, args):
        asking = (session.name, session.calls.index(call))
        for key in session.keys("serial_only", args):
            queue = self.queues.setdefault(key, [])
            queue[:] = [place for place in queue if self.is_waiting(place, key)]
            if asking not in queue:
                queue.append(asking)
            if queue[0] != asking:
                return [("resource_busy", "")]
        return []

    def is_waiting(self, place, key):
        """Whether a call in a queue still wants or has the token: not when it began with another value."""
        session = self.sessions[place[0]]
        call = session.calls[place[1]]
        wants = call.state == "pending" or (
            (call.state == "executing" or (call.receipt_due and call.state == "committed"))
            and key in session.keys("serial_only", call.args))
        return not session.ended() and wants

    # -- entries -------------------------------------------------------------------------------------------------------

    def play(self, entry):
        """Plays one entry of `events`; everything observable after it, in the words of the scenario format."""
        action = next((name for name in WORKFLOW_ACTIONS if name in entry), None)
        if action is None:
            observed = self.play_in_session(entry)
        else:
            reason = getattr(self, "play_" + action)(entry)
            observed = {"expect": f"reject:{reason}" if reason else "ok", "diagnostics": [], "unsure": []}
        self.give_back()
        whose = entry.get("of", entry.get("in"))
        if "of" in entry or (whose and action is not None):
            observed.update(self.sessions[whose].observe_session(None))
        observed["handoffs"] = {name: handoff.state for name, handoff in self.handoffs.items()}
        return observed

    def play_in_session(self, entry):
        return self.sessions[entry["in"]].play(entry)

    def play_create(self, entry):
        return self.create(entry["create"], entry["role"])

    def play_offer(self, entry):
        return self.offer(entry["offer"], entry["from"], entry["to"], entry.get("artifacts") or {}, entry.get("resources") or [])

    def play_claim(self, entry):
        return self.claim(entry["claim"], entry["as"])

    def play_decline(self, entry):
        return self.end_offer(entry["decline"], "declined")

    def play_cancel(self, entry):
        return self.end_offer(entry["cancel"], "cancelled")

    def play_expire(self, entry):
        return self.end_offer(entry["expire"], "expired")

    def play_close(self, entry):
        name = entry["in"] if entry["close"] is True else entry["close"]
        self.close_session(self.sessions[name])
        return ""

    def play_kill(self, entry):
        by = entry.get("by", "operator")
        if by != "operator" and self.sessions[by].ended():
            self.own_silent.append("a kill by a session that has ended")
        return self.kill(entry["kill"], entry.get("target", entry.get("in")), by)
