#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tour (tools/tour) as newcomers and machines start it: tour_test.py PATH/TO/baton [STORY...]

What is looked at is the record that it leaves behind, what it pushed, and what it leaves running (nothing); the text only where somebody
has to answer it. Prints one line a story; exits 1 when one failed. Stories at a terminal wait most of their time, so all run at once.
"""

import concurrent.futures
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from stories import Wrong, eventually, need

ROOT = Path(__file__).resolve().parent.parent
TOUR = ROOT / "tools" / "tour"
WAIT = 600  # a machine may be busy


class Place:
    """A folder that the tour plays in, and a home that it must leave alone."""

    def __init__(self, baton):
        self.baton = os.path.abspath(baton)
        self.around = Path(tempfile.mkdtemp(prefix="baton-tour-"))
        self.folder = self.around / "tour"
        (self.around / "home").mkdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.around, ignore_errors=True)

    def environment(self, **more):
        # Somebody who uses Baton already: nothing of that is the tour's.
        nowhere = str(self.around / "nowhere")
        return {**os.environ, "HOME": str(self.around / "home"), "XDG_CONFIG_HOME": nowhere, "XDG_DATA_HOME": nowhere, "BATON_STORE": nowhere,
                "BATON_NODE": "unix:" + nowhere, "BATON_TOKEN": "not-the-tours", "BATON": self.baton, "TERM": "xterm", **more}

    def quietly(self, *options, status=0, **environment):
        done = subprocess.run([sys.executable, TOUR, "--folder", self.folder, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=WAIT, env=self.environment(**environment), cwd=self.around, check=False)
        need(done.returncode == status, f"status {done.returncode}, wanted {status}\n{done.stdout}")
        need("\033" not in done.stdout, "colours where there is no terminal")
        return done.stdout

    def at_a_terminal(self, answers, status=0):
        """`answers`: what is typed when one is asked, or the signal that is sent then, one after the other; pauses are ended at once."""
        answers = list(answers)
        terminal, other = pty.openpty()
        process = subprocess.Popen([sys.executable, TOUR, "--folder", self.folder], stdin=other, stdout=other, stderr=other, env=self.environment(),
                                   cwd=self.around, start_new_session=True)
        os.close(other)
        said, seen, until = "", 0, time.monotonic() + WAIT
        try:
            while True:
                need(time.monotonic() < until, "it does not end:\n" + said)
                ready, _, _ = select.select([terminal], [], [], 1)
                try:
                    said += os.read(terminal, 65536).decode(errors="replace") if ready else ""
                except OSError:  # its end
                    break
                for prompt, given in (("[Enter goes on]", [""]), ("Approve? [y/n]", answers)):
                    at = said.find(prompt, seen)
                    if at < 0:
                        continue
                    seen = at + len(prompt)
                    answer = given.pop(0)
                    if isinstance(answer, signal.Signals):
                        process.send_signal(answer)
                    else:
                        os.write(terminal, (answer + "\n").encode())
            process.wait(WAIT)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(WAIT)
            os.close(terminal)
        need(process.returncode == status, f"status {process.returncode}, wanted {status}\n{said}")
        need(not answers and "\033[1m" in said, said)
        return said

    # --- what is left behind

    def own(self, *words, at="harbour", status=0):
        """A command in the tour's workspace, as its `env` makes one."""
        script = f'. {self.folder}/env && cd {self.folder}/{at} && exec "$@"'
        done = subprocess.run(["bash", "-c", script, "sh", *words], capture_output=True, text=True,
                              timeout=WAIT, env=self.environment(), check=False)
        need(done.returncode == status, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def entries(self):
        return [json.loads(line)["entry"] for line in self.own("baton", "ledger", "show", "--format", "json", "--limit", "1000").splitlines()]

    def left_running(self):
        left = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if str(self.folder) in os.readlink(process / "cwd"):
                    left.append((process / "cmdline").read_bytes())
            except OSError:
                continue
        return left

    def is_tidy(self):
        """Nothing runs there any more, and nobody's home was touched."""
        need(not self.left_running(), f"still running: {self.left_running()}")
        need(not any((self.around / "home").iterdir()) and not (self.around / "nowhere").exists(), "something of the user's was touched")


def of(entries, kind, **members):
    """The entries of a type whose payload has these members."""
    return [one for one in entries if one["type"] == kind and all(one["payload"].get(name) == value for name, value in members.items())]


def reasons_in(entries):
    """Why calls were refused, and which a person was asked about."""
    calls = [call for one in of(entries, "session.step") for call in one["payload"]["calls"]]
    refused = [failure["code"] for call in calls for failure in call.get("failures", [])]
    return refused + [call["verdict"] for call in calls if call["verdict"] == "checkpoint"]


def began_as_told(place, entries):
    need([one["actor"]["id"] for one in of(entries, "work.claimed")][:1] == ["tide-coder"], "claimed")
    need(len(of(entries, "pack.activated")) == 2, "both packs are active")
    need(reasons_in(entries) == ["argument_value_invalid", "precondition_not_met", "checkpoint"], reasons_in(entries))
    refused, = of(entries, "work.signal_refused")
    need("HANDOFF_VERIFICATION_RESULT_REQUIRED_FOR_COMPLETE" in refused["payload"]["codes"], refused)
    asked, = of(entries, "approval.requested")
    need("git push" in json.dumps(asked["payload"]), asked)
    need("12:30" in (place.folder / "harbour" / "test_tides.py").read_text(), "the test was changed")


def ended_as_told(place, entries):
    said = place.own("baton", "ledger", "verify", "--rebuild", "--public-key", "../stranger/ledger.pub")
    need("whole: " in said and "the tables agree" in said, said)
    said = place.own("baton", "receipt", "verify", "receipt.json", "--public-key", "ledger.pub", at="stranger")
    need(f"holds: entry {of(entries, 'handoff.accepted')[0]['sequence']} is in the ledger" in said, said)
    place.own("baton", "receipt", "verify", "forged.json", "--public-key", "ledger.pub", at="stranger", status=1)
    place.is_tidy()


def decisions(entries):
    return [(one["payload"]["to"], one["actor"]["id"]) for one in of(entries, "approval.moved")]


def went_all_the_way(place):
    entries = place.entries()
    began_as_told(place, entries)
    need(decisions(entries) == [("approved", "you"), ("spent", "tide-coder")], decisions(entries))
    need([one["actor"]["id"] for one in of(entries, "handoff.accepted")] == ["tide-coder", "tide-reviewer", "tide-reviewer"], "handoffs")
    need(len(of(entries, "work.ci_reported", conclusion="success")) == 1, "CI")
    need("agent/gate" in place.own("git", "ls-remote", "origin") and "= 120" in place.own("git", "show", "main:tides.py"), "pushed and merged")
    ended_as_told(place, entries)
    # It can be looked around in, and the node that starts for that is the reader's to stop.
    need("COMPLETED" in place.own("baton", "work", "list"), "completed")
    place.own("baton", "stop")


# --- stories ------------------------------------------------------------------------------------------------------------------------------


def told_to_nobody(place):
    said = place.quietly()
    need("the tour itself says yes" in said, said)
    went_all_the_way(place)
    # Again, in the same place.
    place.quietly("--yes")
    went_all_the_way(place)


def somebody_says_yes(place):
    said = place.at_a_terminal(["what?", "y"])
    asked = said.split("Approve?")[0].replace("\r", "")
    # What the contract wants a person to see comes first, then all of it.
    need(asked.index("  context:\n    Command: git push -q origin agent/gate\n") < asked.index("    arguments:\n") < asked.index("  digest: "), said)
    went_all_the_way(place)


def somebody_says_no(place):
    place.at_a_terminal(["n"])
    entries = place.entries()
    began_as_told(place, entries)
    need(decisions(entries) == [("denied", "you")], decisions(entries))
    handed, = of(entries, "handoff.accepted")
    need(handed["payload"]["outcome"] == "blocked", handed)
    need("agent/gate" not in place.own("git", "ls-remote", "origin"), "it was pushed all the same")
    ended_as_told(place, entries)
    need("BLOCKED" in place.own("baton", "work", "list"), "blocked")
    place.own("baton", "stop")


def stopped_while_it_asks(place):
    said = place.at_a_terminal([signal.SIGTERM], status=1)
    need("stopped at step 4" in said, said)
    place.is_tidy()


def killed_while_it_asks(place):
    place.at_a_terminal([signal.SIGKILL], status=-signal.SIGKILL)
    eventually("all that it had started ends", lambda: not place.left_running())
    place.quietly("--yes")
    place.is_tidy()


def a_step_that_fails_is_named(place):
    # A hook that lets everything through: what the tour promises does not happen.
    programs = place.around / "programs"
    programs.mkdir()
    (programs / "baton").symlink_to(place.baton)
    said = place.quietly(BATON=str(programs / "baton"), status=1)
    need("there is no program at" in said and "baton-hook" in said, said)
    (programs / "baton-hook").write_text("#!/bin/sh\nexit 0\n")
    (programs / "baton-hook").chmod(0o755)
    said = place.quietly(BATON=str(programs / "baton"), status=1)
    need("tour: step 4, An agent works: " in said, said)
    place.is_tidy()


def what_it_did_not_make_stays(place):
    place.folder.mkdir()
    (place.folder / "thesis.txt").write_text("three years of work")
    said = place.quietly(status=1)
    need("not of a tour" in said and (place.folder / "thesis.txt").exists(), said)


def its_packs_say_what_they_mean(place):
    for role in ("implementer", "reviewer"):
        for command in (("check", "--strict"), ("test",)):
            done = subprocess.run([place.baton, "contract", *command, ROOT / "examples" / "tour" / "packs" / role], capture_output=True, text=True,
                                  timeout=WAIT, env=place.environment(), check=False)
            need(done.returncode == 0, f"{role}: {done.stdout}{done.stderr}")


STORIES = [told_to_nobody, somebody_says_yes, somebody_says_no, stopped_while_it_asks, killed_while_it_asks, a_step_that_fails_is_named,
           what_it_did_not_make_stays, its_packs_say_what_they_mean]


def play(story):
    began = time.monotonic()
    try:
        with Place(sys.argv[1]) as place:
            story(place)
        return f"ok    {story.__name__} ({time.monotonic() - began:.1f} s)"
    except Exception as error:
        return f"WRONG {story.__name__}: {error if isinstance(error, Wrong) else traceback.format_exc()}"


if __name__ == "__main__":
    chosen = [story for story in STORIES if not sys.argv[2:] or story.__name__ in sys.argv[2:]]
    with concurrent.futures.ThreadPoolExecutor(len(chosen)) as threads:
        told = list(threads.map(play, chosen))
    print("\n".join(told))
    sys.exit(1 if not told or any(not line.startswith("ok") for line in told) else 0)
