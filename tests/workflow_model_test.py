#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the model of the rules of workflows with spin, in every order in which things can happen.

    workflow_model_test.py models/workflow.pml

What is done, and when it is skipped, is said in spin_model.py. The model is run in parts, each of them wholly (no bitstate
hashing): together they would have too many states, and sessions that come, calls, and keys of different modes have to do with
one another only by the sessions that end, which are in every part.
"""

import sys

from spin_model import SAFETY_ONLY, Mutation, Property, all_statements, check_model

ASSERTION = "assertion violated"
TREE = Property("who is alive, and how many", ["-DONLY_SESSIONS", "-DSTEPS=8"], SAFETY_ONLY, [], ASSERTION, "-O0")
CALLS = Property("who may change, and whose turn it is", ["-DONLY_CALLS", "-DSTEPS=6"], SAFETY_ONLY, [], ASSERTION)
# The same, for what breaks the rules of one mode alone.
WRITER = Property("single_writer", [*CALLS.define, "-DSHARED=writes"], SAFETY_ONLY, [], ASSERTION)
EXCLUSIVE = Property("exclusive_pending", [*CALLS.define, "-DSHARED=exclusive"], SAFETY_ONLY, [], ASSERTION)
SERIAL = Property("serial_only", [*CALLS.define, "-DSHARED=serial"], SAFETY_ONLY, [], ASSERTION)
# Assertions are not looked at (-A): what breaks a rule would be found by one, and not seen is that somebody waits for ever.
TOKEN = Property("whoever waits has its turn", ["-DONLY_CALLS", "-DSHARED=serial", "-DSTEPS=5", "-DLIVENESS"], ["-DNFAIR=3"],
                 ["-a", "-f", "-A"], "acceptance cycle", "-O1")

MUTATIONS = [
    # What a use case must read, for others to be in its way.
    Mutation("a commit of another node is not noticed", TREE, ":: transaction[node].conflict -> steps++; goto begin",
             ":: false -> goto begin"),
    Mutation("whoever kills does not read the workflow's row", TREE,
             "#define rows_of_end(sessions) (row_workflow | ", "#define rows_of_end(sessions) ("),
    Mutation("whoever claims does not read the workflow's row", TREE,
             "reads = row_workflow;\n          transaction[node].allowed = may_claim(s)",
             "reads = 0;\n          transaction[node].allowed = may_claim(s)"),
    Mutation("whoever proposes does not read the session's row", WRITER,
             "transaction[node].reads = row_session(s) | (kind", "transaction[node].reads = (kind"),
    Mutation("whoever proposes does not read the key's row", WRITER,
             "transaction[node].reads = row_session(s) | (kind == serial -> 0 : row_of(kind));",
             "transaction[node].reads = row_session(s);"),
    Mutation("whoever begins does not read the key's row", SERIAL,
             "reads = row_session(call[c].session) | (call[c].kind == serial -> row_serial : 0);\n"
             "          transaction[node].next", "reads = row_session(call[c].session);\n          transaction[node].next"),
    Mutation("whoever is handed a key does not know", WRITER, "rows = row_writer | row_session(s)\n",
             "rows = row_writer\n"),
    Mutation("whoever kills does not read the rows of the sessions", WRITER, "row_workflow | rows_of(alive) | ",
             "row_workflow | "),
    # The tree.
    Mutation("a subtree ends with the children", TREE, "transaction[node].ends = alive_below(s);",
             "transaction[node].ends = (alive & bit(s)) | children(s);"),
    Mutation("nothing is below a session that has ended", TREE, "transaction[node].ends = alive_below(s);",
             "transaction[node].ends = (has(alive, s) -> alive_below(s) : 0);"),
    Mutation("the workflow is what is below its root", TREE, "transaction[node].ends = alive;",
             "transaction[node].ends = alive_below(0);"),
    Mutation("terminate kills the children alone", TREE,
             "(how == terminate -> below_children(s) : 0)",
             "(how == terminate -> children(s) : 0)"),
    Mutation("terminate kills nobody", TREE,
             "(how == terminate -> below_children(s) : 0)", "0"),
    Mutation("every policy kills", TREE, "(how == terminate -> below_children(s) : 0)", "below_children(s)"),
    Mutation("request_cancel asks nobody", WRITER, "t.asked = (how == request_cancel -> children(s) : 0);", "t.asked = 0;"),
    Mutation("who was asked to end may begin a change", WRITER, "#define may_write(s) (!has(cancel, s) && ",
             "#define may_write(s) ("),
    Mutation("offers outlive who made them", TREE,
             ":: handoff[h] == offered && has(sessions, offered_by[h]) -> handoff[h] = ended; offered_by[h] = 0\n", ""),
    Mutation("a handoff outlives its child", TREE,
             ":: handoff[h] == claimed && has(sessions, h) -> handoff[h] = ended\n", ""),
    Mutation("one more than max_active_sessions", TREE, "count_of(alive) < max_active)", "count_of(alive) <= max_active)"),
    Mutation("one more than max_open_handoffs", TREE, "open_handoffs < max_open)", "open_handoffs <= max_open)"),
    # single_writer and exclusive_pending.
    Mutation("the owner is not asked for", WRITER, " && (owner == NOBODY || owner == (s)))", ")"),
    Mutation("an owner that has ended is none", WRITER, "(owner == NOBODY || owner == (s))",
             "(owner == NOBODY || owner == (s) || !has(alive, owner))"),
    Mutation("the key is free while a change of who had it is unknown", WRITER,
             " && is_begun(0) + is_begun(1) + is_begun(2) == 0)\n}", ")\n}"),
    Mutation("a late receipt does not free the key of who has ended", WRITER, "     fi;\n     free_key_of_ended()\n",
             "     fi\n"),
    Mutation("any failure gives the key back", WRITER, "result == error && !changed && ", "result == error && "),
    Mutation("a failure gives the key back while another change is open", WRITER,
             "!changed && !has_open(writes, s) ->", "!changed ->"),
    Mutation("a key is handed on while a change is open", WRITER,
             "!has(silent, by) &&\n                                      !has_open(writes, by)", "!has(silent, by)"),
    Mutation("what executes is cancelled when its session ends", WRITER,
             ":: call[c].state == executing -> call[c].state = unknown\n", ":: call[c].state == executing -> forget(c)\n"),
    Mutation("what has not started outlives its session", WRITER, ":: call[c].state == pending -> forget(c)\n", ""),
    Mutation("an unknown call of another session is not in the way", EXCLUSIVE, "&& !others_have(exclusive, s))",
             "&& (!others_have(exclusive, s) || call[0].state == unknown))"),
    # serial_only.
    Mutation("nobody waits for the token", SERIAL, "transaction[node].next = (call[c].kind != serial || is_next(c));",
             "transaction[node].next = true;"),
    Mutation("whoever asks when nobody executes is next", SERIAL, "#define is_next(c) (call[c].place == 1 || ",
             "#define is_next(c) ((executes(0) + executes(1) + executes(2) == 0) || "),
    Mutation("a late receipt gives the token of another back", SERIAL,
             ":: call[c].state == executing -> leave_queue(c)\n",
             ":: call[c].state == executing -> leave_queue(c)\n"
             "  :: call[c].state == unknown && call[0].place == 1 -> leave_queue(0)\n"),
    Mutation("the token is kept while its call is unknown", TOKEN, ":: call[c].state == executing -> leave_queue(c)\n",
             ":: call[c].state == executing && result != no_answer -> leave_queue(c)\n"),
    Mutation("the end of a session does not give the token back", TOKEN, "inline end_call(c) {\n  leave_queue(c);",
             "inline end_call(c) {"),
    Mutation("nobody moves up", TOKEN, "if :: call[other].place > call[c].place -> call[other].place-- :: else fi;",
             "skip;"),
    Mutation("sessions of silent agents do not end", TOKEN, ":: has(alive & silent, 1) -> s = 1\n", ""),
]


if __name__ == "__main__":
    sys.exit(check_model(sys.argv[1], [CALLS, TOKEN, TREE],
                         [all_statements(prop, steps) for prop, steps in ((WRITER, 4), (SERIAL, 5), (TOKEN, 3), (TREE, 5))],
                         MUTATIONS))
