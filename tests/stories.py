# SPDX-License-Identifier: Apache-2.0
"""Stories with real processes: each is a function that gets a place of its own (a Workspace of node_harness), and says what is wrong.

At the end of a story its nodes are stopped, the ledger is verified and its decisions are made again.
"""

import time
import traceback

WAIT = 120  # a machine may be busy

# A contract as short as one can be: what a tool's own says is put over it.
CONTRACT = {"side_effect": "read", "evidence_class": "unverifiable", "commit_requirement": "acknowledged",
            "timeouts": {"total_ms": 60000}, "retries": {"max_attempts": 1, "retry_on": []},
            "rate_limits": {"on_429": {"respect_retry_after": True, "max_sleep_seconds": 5}},
            "assertions": {"input_invariants": [], "output_invariants": []}, "allowed_errors": [], "golden_cases": []}


class Wrong(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Wrong(str(what)[:4000])


def eventually(what, check, seconds=WAIT):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = check()
        if found:
            return found
        time.sleep(0.02)
    raise Wrong("never happened: " + what)


def tell(stories, chosen, place_for):
    """stories: {name: (story, how)}; place_for(**how) makes a story's place. How many were wrong, as an exit status."""
    failed = 0
    for name in chosen or list(stories):
        story, how = stories[name]
        began = time.monotonic()
        try:
            with place_for(**how) as place:
                story(place)
                for client in getattr(place, "clients", []):
                    client.kill()
                for node in place.nodes:
                    node.stop()
                place.verify()
            print(f"ok    {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except Exception as error:
            failed += 1
            print(f"WRONG {name}: {error if isinstance(error, Wrong) else traceback.format_exc()}", flush=True)
    return 1 if failed else 0
