#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the model of the rules of work with spin, in every order in which things can happen.

    work_model_test.py models/work.pml

What is done, and when it is skipped, is said in spin_model.py.
"""

import sys

from spin_model import SAFETY_ONLY, Mutation, Property, all_statements, check_model

SAFETY = Property("one holder, no stale write", ["-DSTEPS=5", "-DTTL=2"], SAFETY_ONLY, [], "assertion violated")
LIVENESS = Property("claimable again and again", ["-DSTEPS=4", "-DTTL=2", "-DLIVENESS"], ["-DNFAIR=3"], ["-a", "-f"],
                    "acceptance cycle")

MUTATIONS = [
    Mutation("the fence is not compared", SAFETY, "item[i].held_fence == (f) && ", ""),
    Mutation("the session is not compared", SAFETY, "item[i].holder == (s) && item[i].held_fence == (f) && ", ""),
    Mutation("at its very end the holder's lease is not over", SAFETY, "item[i].held_fence == (f) && !is_over(i))",
             "item[i].held_fence == (f) && !(item[i].left < 0))"),
    Mutation("the fence does not rise", SAFETY, "item[i].fence = item[i].fence + 1;", "item[i].fence = 1;"),
    Mutation("a commit of another node is not noticed", SAFETY, ":: transaction[_pid].conflict -> goto begin",
             ":: false -> goto begin"),
    Mutation("who takes over leaves the other session alive", SAFETY,
             "agent[item[i].holder].live = false /* superseded */", "skip"),
    Mutation("whoever ends a lease leaves its session alive", SAFETY,
             "inline end_lease(i) {\n  agent[item[i].holder].live = false;", "inline end_lease(i) {"),
    Mutation("a handoff leaves the lease", SAFETY, "inline hand_over(i, next) {\n  end_lease(i);",
             "inline hand_over(i, next) {\n  agent[item[i].holder].live = false;"),
    Mutation("leases do not end", LIVENESS, "#define is_due(i) (item[i].leased && is_over(i))",
             "#define is_due(i) false"),
    Mutation("the clock stands still for one item", LIVENESS, "if :: item[0].left > 0 -> item[0].left-- :: else fi;",
             "skip;"),
    Mutation("nothing is unblocked", LIVENESS, "item[i].phase = implementation;", "skip;"),
    Mutation("CI never reports", LIVENESS, ":: item[0].phase == ci_pending -> i = 0", ":: false -> i = 0"),
]


if __name__ == "__main__":
    sys.exit(check_model(sys.argv[1], [SAFETY, LIVENESS], [all_statements(SAFETY, 4)], MUTATIONS))
