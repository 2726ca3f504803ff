#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole story of work from the shell, with the real binary: what a person, two agents and CI type.

    cli_work_test.py PATH/TO/baton [STORY...]

Every story has a folder, a HOME and stores of its own, and ends the nodes it caused to be started, by the process id that
`baton status` gives, also when it fails. Prints one line a story; exits 1 when one failed.
"""

import contextlib
import http.server
import json
import os
import pty
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

LIMIT_SECONDS = 120  # for any one command, on a machine that does much else
TOKEN = re.compile(r"baton_[a-z]_[0-9A-Za-z_-]{40,}")


class Wrong(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Wrong(what)


def signal_text(phase, reason="completed", **more):
    return json.dumps({"protocol": "apm2_agent_exit", "version": "1.0.0", "phase_completed": phase, "exit_reason": reason, **more})


class Done:
    def __init__(self, command, process):
        self.command, self.status = command, process.returncode
        self.out, self.err = process.stdout, process.stderr

    def json(self):
        return json.loads(self.out)

    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def __str__(self):
        return f"{' '.join(self.command)}\nstatus {self.status}\n{self.out}{self.err}"


class Place:
    """A folder with a HOME of its own."""

    def __init__(self, baton):
        self.baton = baton
        self.folder = Path(tempfile.mkdtemp(prefix="baton-work-"))
        self.home = self.folder / "home"
        self.work = self.folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.stores = {self.work / ".baton"}
        self.processes = []

    def environment(self, **more):
        base = {"PATH": os.environ["PATH"], "HOME": str(self.home), "USER": "ines", "LANG": "C.UTF-8", "TERM": "xterm"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                base[name] = os.environ[name]
        return {**base, **more}

    def run(self, *words, status=0, input="", **environment):
        """Runs baton; `status` is what it must exit with. A session of its own: no terminal to ask at."""
        done = Done(words, subprocess.run([self.baton, *words], input=input, capture_output=True, text=True, cwd=self.work,
                                          timeout=LIMIT_SECONDS, env=self.environment(**environment), start_new_session=True))
        need(done.status == status, f"wanted status {status}: {done}")
        need(not TOKEN.search(done.err), f"a token on standard error: {' '.join(words)}")
        return done

    def begin(self, *words, **environment):
        process = subprocess.Popen([self.baton, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=self.work, env=self.environment(**environment), start_new_session=True)
        self.processes.append(process)
        return process

    def finish(self, process, status=0):
        out, err = process.communicate(timeout=LIMIT_SECONDS)
        need(process.returncode == status, f"wanted status {status}, got {process.returncode}: {process.args}\n{out}{err}")
        return out

    def settings(self, text):
        (self.work / ".baton/config.yaml").write_text(text, encoding="utf-8")

    def node_pid(self, store=None):
        done = subprocess.run([self.baton, "status", "--format", "json", "--store", str(store or self.work / ".baton")],
                              capture_output=True, text=True, timeout=LIMIT_SECONDS, env=self.environment())
        return json.loads(done.stdout)["node"]["pid"] if done.returncode == 0 else None

    def wait_until_gone(self, pid):
        """Until it has ended, whether or not somebody has asked for its status yet."""
        for _ in range(600):
            try:
                if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                    return
            except OSError:
                return
            time.sleep(0.05)
        raise Wrong(f"the node {pid} does not end")

    def stop(self):
        pid = self.node_pid()
        self.run("stop")
        self.wait_until_gone(pid)

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        for store in self.stores:
            with contextlib.suppress(Exception):
                if pid := self.node_pid(store):
                    os.kill(pid, signal.SIGTERM)
                    self.wait_until_gone(pid)
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- what several stories do ---------------------------------------------------------------------------------------

    def init(self, settings=None):
        self.run("init")
        if settings:
            self.settings(settings)

    def claim(self, *words, **environment):
        """Claims; the environment that the session's commands need."""
        out = self.run("work", "claim", *words, "--format", "env", **environment).out
        session = dict(re.fullmatch(r"export ([A-Z_]+)='([^']*)'", line).groups() for line in out.splitlines())
        need(session["BATON_SESSION_TOKEN"].startswith("baton_s_" + session["BATON_SESSION"]), "the token names its session")
        return session

    def token(self, actor, kind="agent", *words):
        return self.run("token", "create", "--actor", actor, "--kind", kind, *words, "--format", "json").json()["token"]


def eventually(what, question, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := question():
            return answer
        time.sleep(0.05)
    raise Wrong(f"{what}: not within {seconds} s")


# --- stories ------------------------------------------------------------------------------------------------------------


def init_makes_a_store_once(place):
    done = place.run("init", "--actor", "ines")
    token = place.home / ".config/baton/operator.token"
    need(stat.S_IMODE(token.stat().st_mode) == 0o600, "operator.token has mode 0600")
    need(TOKEN.fullmatch(token.read_text().strip()), "operator.token holds the token")
    need(not TOKEN.search(done.out), "init does not show the token")
    need((place.work / ".baton/ledger.db").is_file() and (place.work / ".baton/.gitignore").is_file(), "store and .gitignore")
    settings = (place.work / ".baton/config.yaml").read_text()
    need(all(not line or line.startswith("#") for line in settings.splitlines()), "every setting is a comment")
    need("baton work create" in done.out, "says what next")
    # The very first token is in the ledger, by the operator it names.
    first = [entry for entry in place.run("events", "--format", "json").lines() if entry["type"].startswith("token.")
             or "token" in entry["type"]]
    need(len(first) == 1, "one token was made")
    place.settings("exit_protocol: true\n")
    again = place.run("init", status=1)
    need("already" in again.err and str(token) in again.err, "a second init says what is there")
    need((place.work / ".baton/config.yaml").read_text() == "exit_protocol: true\n", "nothing is written over")
    place.stop()
    # Nor for somebody who has no file of the operator: there is one already (else ACCESS_OPERATOR_EXISTS), and nothing is left behind.
    other = place.folder / "elsewhere"
    other.mkdir()
    keys = str(place.home / ".config/baton/keys")
    other_init = place.run("init", "--keys", keys, status=1, HOME=str(other))
    need("already" in other_init.err, str(other_init))
    need(not list((other / ".config/baton").glob("*")), "no file of a token that was not made")
    need(place.run("init", "--format", "json", status=1).json()["made"] is False, "the same in JSON")


def a_second_store_has_its_own_operator(place):
    place.init()
    second = place.work / "second"
    place.stores.add(second)
    made = place.run("init", "--store", str(second), "--format", "json").json()
    need(made["token_file"].endswith(".token") and "operator-" in made["token_file"], str(made))
    need(made["origin"].rsplit("/", 1)[1].startswith(Path(made["token_file"]).name[len("operator-"):-len(".token")]), str(made))
    place.run("token", "list")
    listed = place.run("token", "list", "--store", str(second), "--format", "json").json()["tokens"]
    need(len(listed) == 1, "each store knows its own")


def sealed_with_a_passphrase(place):
    (place.folder / "passphrase").write_text("low water at noon\n")
    made = place.run("init", "--passphrase-file", str(place.folder / "passphrase"), "--format", "json").json()
    need(made["sealed"] is True, str(made))
    file = Path(made["token_file"])
    need(file.read_text().startswith("baton-sealed-token+1+"), "it is sealed")
    refused = place.run("token", "list", status=2)
    need("CREDENTIAL_PASSPHRASE" in refused.err and "--token-file" in refused.err, str(refused))
    out, status = at_terminal(place, ["token", "list"], [("passphrase", "low water at noon\n")])
    need(status == 0 and "operator" in out and "low water" not in out, f"opened at the terminal, not shown: {status} {out!r}")
    out, status = at_terminal(place, ["token", "list"], [("passphrase", "high water\n")])
    need(status == 2 and "CREDENTIAL_PASSPHRASE" in out, f"another passphrase does not: {status} {out!r}")
    file.write_text("baton-sealed-token+1+3+67108864+AAAA+BBBB\n")
    out, status = at_terminal(place, ["token", "list"], [("passphrase", "low water at noon\n")])
    need(status == 2 and "CREDENTIAL_FILE" in out, f"a damaged one is told: {status} {out!r}")


def an_empty_passphrase_file_is_a_mistake(place):
    (place.folder / "passphrase").write_text("\n")
    refused = place.run("init", "--passphrase-file", str(place.folder / "passphrase"), status=2)
    need("is empty" in refused.err and "nothing was made" in refused.err, str(refused))
    need(not (place.work / ".baton").exists() and not list(place.home.rglob("*.token")), "nothing was made")


def a_deep_folder_has_a_node_too(place):
    deep = place.folder / "/".join(["a-folder-with-a-long-name"] * 6)
    deep.mkdir(parents=True)
    store = deep / ".baton"
    need(len(str(store / "node.sock")) > 107, "longer than a socket's path may be")
    place.stores.add(store)
    place.run("init", "--store", str(store))
    place.run("work", "create", "Deep", "--store", str(store))
    need("Deep" in place.run("work", "list", "--node", f"unix:{store}/node.sock").out, "by its address")
    need((store / "node.sock").is_socket(), "where it always is")
    place.run("stop", "--store", str(store))


def asked_for_a_passphrase_twice(place):
    out, status = at_terminal(place, ["init"], [("passphrase", "spring tide\n"), ("once more", "neap tide\n")])
    need(status == 2 and not (place.work / ".baton").exists(), f"two that differ make nothing: {status} {out!r}")
    out, status = at_terminal(place, ["init"], [("passphrase", "spring tide\n"), ("once more", "spring tide\n")])
    need(status == 0 and "sealed" in out and "spring tide" not in out, f"{status} {out!r}")
    # An empty one is no answer, and what goes without is said; whoever wants none says so.
    place.stores.add(place.work / "open")
    out, status = at_terminal(place, ["init", "--store", "open"], [("Choose a passphrase for the operator's token: ", "\n")] * 3)
    need(status == 2 and out.count("--no-passphrase") >= 3 and not (place.work / "open").exists(), f"{status} {out!r}")
    out, status = at_terminal(place, ["init", "--store", "open"], [("operator's token: ", "\n"), ("operator's token: ", "ebb\n"), ("once more", "ebb\n")])
    need(status == 0 and "sealed with your passphrase" in out, f"{status} {out!r}")
    place.stores.add(place.work / "without")
    out, status = at_terminal(place, ["init", "--store", "without", "--no-passphrase"], [])
    need(status == 0 and "not sealed: without a passphrase every program that runs as you can decide as the operator" in out, f"{status} {out!r}")
    both = place.run("init", "--store", "both", "--no-passphrase", "--passphrase-file", "x", status=2)
    need("exclude each other" in both.err and not (place.work / "both").exists(), str(both))


PASSPHRASE = "low water at noon"


def sealed(place):
    (place.folder / "passphrase").write_text(PASSPHRASE + "\n")
    place.run("init", "--passphrase-file", str(place.folder / "passphrase"))


def asks_always(tool, side_effect):
    """The contract of a tool whose every call needs approval."""
    return f"""tool: {tool}
side_effect: {side_effect}
evidence_class: local_transaction
commit_requirement: acknowledged
timeouts: {{total_ms: 15000}}
retries: {{max_attempts: 1, retry_on: []}}
rate_limits: {{on_429: {{respect_retry_after: true, max_sleep_seconds: 10}}}}
assertions: {{input_invariants: [], output_invariants: []}}
allowed_errors: []
golden_cases: []
checkpoint: {{when: always, timeout_seconds: 600}}
"""


def waiting_approval(place):
    """A call that needs approval; its id."""
    pack = place.work / "pack"
    pack.mkdir()
    (pack / "session.yaml").write_text("schema_version: \"1.0\"\nagent: pilot\nrisk_defaults: {write: allow}\n")
    (pack / "sail.yaml").write_text(asks_always("sail", "write"))
    out, status = at_terminal(place, ["contract", "activate", "pack", "--role", "agent"], [("passphrase", PASSPHRASE + "\n")])
    need(status == 0, out)
    session = place.run("session", "open", "--format", "json").json()["session"]
    asked = place.run("session", "call", session["id"], "sail", "--arguments", '{"to": "sea"}', "--start", "--format", "json", status=1,
                      BATON_SESSION_TOKEN=session["token"]).json()
    return asked["calls"][0]["approval"]["id"]


def each_decision_asks_for_the_passphrase(place):
    sealed(place)
    approval = waiting_approval(place)
    # Without a terminal nobody decides; what stands in standard input is never taken for a passphrase.
    refused = place.run("approvals", "approve", approval, input=PASSPHRASE + "\n" * 3, status=2)
    need("CREDENTIAL_PASSPHRASE" in refused.err, str(refused))
    # Whoever watches sees what waits, and types the passphrase for each decision.
    watch = Terminal(place, ["approvals", "watch"])
    at = watch.wait_for(approval)
    watch.type("y")
    at = watch.wait_for("passphrase", at)
    watch.type("high water\n")
    at = watch.wait_for("this is not the passphrase", at)
    need(place.run("approvals", "list", "--format", "json").lines()[0]["state"] == "pending", "another one decides nothing")
    watch.type("y")
    at = watch.wait_for("passphrase", at)
    watch.type(PASSPHRASE + "\n")
    watch.wait_for(approval + " is approved", at)
    watch.type("q")
    need(watch.finish() == 0 and PASSPHRASE not in watch.out, f"q ends it: {watch.status}")


def unlocked_for_a_while(place):
    sealed(place)
    approval = waiting_approval(place)
    baton = place.baton
    ask = ("passphrase", PASSPHRASE + "\n")
    shell = Shell(place)
    out, status = shell.run(f"{baton} lock")
    need(status == 1 and "nothing is unlocked" in out, out)
    out, status = shell.run(f"{baton} unlock --for 10m", ("passphrase", "high water\n"))
    need(status == 2 and "CREDENTIAL_PASSPHRASE" in out, f"not with another passphrase: {out!r}")
    out, status = shell.run(f"{baton} unlock --for 10m", ask)
    need(status == 0 and "unlocked in this terminal until" in out and PASSPHRASE not in out, out)
    out, status = shell.run(f"{baton} token list")
    need(status == 0 and "baton unlock" in out and "passphrase of" not in out, f"typed at this shell: {out!r}")
    # Not a script, not in the background, not from elsewhere: those are asked for the passphrase.
    for line, why in ((f"sh -c '{baton} token list; true'", "another program started it"), (f"(sleep 0; {baton} token list; true)", "another program started it"),
                      (f"setsid -w {baton} token list", "another terminal")):
        out, status = shell.run(line, *([] if "setsid" in line else [ask]))
        need(why in out or "setsid" in line and "CREDENTIAL_PASSPHRASE" in out, f"{line}: {out!r}")
    refused = place.run("token", "list", status=2)
    need("CREDENTIAL_PASSPHRASE" in refused.err, f"nor a process without the terminal: {refused}")
    other = Shell(place)
    out, status = other.run(f"{baton} token list", ask)
    need("passphrase of" in out, f"nor another terminal: {out!r}")
    other.end()
    # While an agent runs below the shell: a program of such a name, also when it has a session of its own.
    (place.folder / "claude").write_text("#!/bin/sh\nexec sleep 300\n")
    (place.folder / "claude").chmod(0o755)
    agent = place.folder / "codex"
    agent.symlink_to(shutil.which("sleep"))
    for line in (f"{agent} 300 &", f"setsid -w {agent} 300 &"):
        shell.run(f"{line} sleep 0.2")
        out, status = shell.run(f"{baton} approvals approve {approval}", ("passphrase", "high water\n"))
        need(status == 2 and "an agent runs in this terminal: codex" in out, f"{line}: {out!r}")
        shell.run(f"pkill -f '^{agent} 300'; wait")
    out, status = shell.run(f"{baton} approvals approve {approval}")
    need(status == 0 and "is approved" in out, f"the agent has ended: {out!r}")
    # The token in the background expires, is in the record, and is revoked at the end.
    out, status = shell.run(f"{baton} lock")
    need(status == 0, out)
    out, status = shell.run(f"{baton} token list --format json", ask)
    listed = next(json.loads(line) for line in out.splitlines() if line.startswith("{"))["tokens"]
    made = next(one for one in listed if one.get("note") == "baton unlock")
    need(made["kind"] == "operator" and "expires_at" in made, str(made))
    eventually("revoked", lambda: "revoked_at" in next(one for one in json.loads(
        next(line for line in shell.run(f"{baton} token list --format json", ask)[0].splitlines() if line.startswith("{")))["tokens"] if one["id"] == made["id"]))
    # With the shell it ends, too.
    shell.run(f"{baton} unlock --for 10m", ask)
    holder = eventually("the holder", lambda: holders(place))
    shell.end()
    eventually("the end of the holder", lambda: not holders(place))


def holders(place):
    """Processes that hold an unlocked token of this place."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (one / "cmdline").read_bytes().split(b"\0")
            if b"unlock" in words and os.readlink(one / "cwd") == str(place.work):
                found.append(one.name)
    return found


def the_doctor_says_what_is_not_safe(place):
    def found(status=1):
        answer = place.run("doctor", "--format", "json", status=status).json()
        need(answer["safe"] is (status == 0), str(answer))
        return {one["check"]: one for one in answer["findings"]}

    place.init()
    shown = place.run("doctor", status=1)
    need(re.search(r"^problem +the operator's token .*operator.token has no passphrase", shown.out, re.M) and "fix: make a new one" in shown.out, str(shown))
    need(re.search(r"^problem +no witness keeps", shown.out, re.M) and re.search(r"\d problems?; docs/security.md", shown.out), str(shown))
    need("no node runs" in shown.out and place.node_pid() is None, "it starts none")
    place.run("work", "create", "Ebb")
    checks = found()
    need(checks["operator_token"]["state"] == "problem" and checks["folders"]["state"] == "fine" and checks["disk"]["state"] == "fine", str(checks))
    need(checks["clock"]["state"] == "fine" and "versions" not in checks and "node" not in checks, str(checks))
    mode = stat.S_IMODE((place.home / ".config/baton").stat().st_mode)
    (place.home / ".config/baton").chmod(0o755)
    checks = found()
    need(checks["folders"]["state"] == "problem" and checks["folders"]["fix"].startswith("chmod go-rwx "), str(checks))
    (place.home / ".config/baton").chmod(mode)
    # A client that is adopted, of a version that lets calls run.
    (place.folder / "bin").mkdir()
    (place.folder / "bin/claude").write_text("#!/bin/sh\necho '2.1.197 (Claude Code)'\n")
    (place.folder / "bin/claude").chmod(0o755)
    path = f"{place.folder}/bin:{os.environ['PATH']}"
    place.run("adopt", "claude", PATH=path)
    answer = place.run("doctor", "--format", "json", status=1, PATH=path).json()
    hooks = next(one for one in answer["findings"] if one["check"] == "hooks")
    need(hooks["state"] == "problem" and "claude 2.1.197 runs a call when the hook ends with status 1" in hooks["says"], str(answer))


def a_lost_passphrase(place):
    sealed(place)
    place.run("work", "create", "Ebb")
    file = place.home / ".config/baton/operator.token"
    lost = file.read_text()
    refused = place.run("operator", "recover", status=2)
    need("terminal" in refused.err, f"not without a terminal: {refused}")
    out, status = at_terminal(place, ["operator", "recover"], [("(yes/no)", "no\n")])
    need(status == 1 and file.read_text() == lost, f"not without a yes: {out!r}")
    talk = [("(yes/no)", "yes\n"), ("passphrase", "spring tide\n"), ("once more", "spring tide\n")]
    out, status = at_terminal(place, ["operator", "recover"], talk)
    need(status == 2 and "node" in out and file.read_text() == lost, f"not beside a node: {status} {out!r}")
    os.kill(pid := place.node_pid(), signal.SIGTERM)
    place.wait_until_gone(pid)
    keys = place.home / ".config/baton/keys"
    keys.rename(place.home / "keys-elsewhere")
    out, status = at_terminal(place, ["operator", "recover"], talk)
    need(status == 2 and file.read_text() == lost, f"not without the seal key: {status} {out!r}")
    shutil.rmtree(keys, ignore_errors=True)
    (place.home / "keys-elsewhere").rename(keys)
    out, status = at_terminal(place, ["operator", "recover"], talk)
    need(status == 0 and "were revoked: 1" in out and "sealed" in out, f"{status} {out!r}")
    out, status = at_terminal(place, ["token", "list"], [("passphrase", "spring tide\n")])
    need(status == 0, out)
    # The old token is worth nothing, whoever still knows its passphrase.
    (place.folder / "lost").write_text(lost)
    (place.folder / "lost").chmod(0o600)
    out, status = at_terminal(place, ["token", "list", "--token-file", str(place.folder / "lost")], [("passphrase", PASSPHRASE + "\n")])
    need(status == 1 and "ACCESS_TOKEN" in out, out)
    entries = [one["type"] for one in place.run("events", "--format", "json").lines()]
    need("operator.recovered" in entries, "it is an entry")
    place.run("ledger", "verify", "--rebuild")


def a_token_file_for_others_is_refused(place):
    place.init()
    file = place.home / ".config/baton/operator.token"
    text = file.read_text()
    file.chmod(0o644)
    refused = place.run("token", "list", status=2)
    need("CREDENTIAL_FILE" in refused.err and "can be read by others" in refused.err, str(refused))
    file.unlink()
    (place.folder / "elsewhere").write_text(text)
    file.symlink_to(place.folder / "elsewhere")
    need("is a link" in place.run("token", "list", status=2).err, "nor a link")
    file.unlink()
    file.write_text("two words\n")
    file.chmod(0o600)
    need("does not hold a token" in place.run("token", "list", status=2).err, "nor one without a token")
    file.write_text(text)
    place.run("token", "list")
    # One that is named may be anybody's, also a pipe.
    place.run("token", "list", "--token-file", str(place.folder / "elsewhere"), HOME=str(place.folder))


def the_whole_way(place):
    place.init()
    created = place.run("work", "create", "Mend the tide table", "--phase", "IMPLEMENTATION", "--priority", "7", "--label", "tides",
                        "--text", "Daylight saving is off by an hour.", "--pr", "https://github.com/harbour/tideboard/pull/57",
                        "--format", "json").json()
    need(created["work"]["id"] == "W-1" and created["work"]["phase"] == "IMPLEMENTATION" and created["receipt"]["sequence"] > 1, str(created))
    place.run("work", "create", "Publish it", "--id", "W-publish", "--phase", "IMPLEMENTATION", "--depends-on", "W-1")
    listed = place.run("work", "list").out
    need(re.search(r"^W-1 +IMPLEMENTATION +waiting +7 ", listed, re.M), listed)
    at = listed.index("TITLE")
    need([line[at:] for line in listed.splitlines()] == ["TITLE", "Mend the tide table", "Publish it"], listed)

    # The signal is not acted on before the workspace says so.
    session = place.claim()
    need(session["BATON_WORK"] == "W-1" and session["BATON_PHASE"] == "IMPLEMENTATION", str(session))
    signal_ = signal_text("IMPLEMENTATION", notes="per tide, not per day")
    off = place.run("work", "exit", status=1, input=signal_, **session)
    need("EXIT_DISABLED" in off.err and "AGENT_EXIT_PROTOCOL_ENABLED" in off.err, str(off))
    need("`exit_protocol: true`" in off.err and "config.yaml" in off.err and "an operator" in off.err, "what an operator does about it")
    place.settings("exit_protocol: true\n")
    place.stop()
    need(place.run("work", "show", "W-1", "--format", "json").json()["work"]["state"] == "held", "the lease outlives the node")

    # A wrong document is shown like any other; a wrong phase is refused by the rules.
    broken = place.run("work", "exit", status=1, input=signal_.replace("apm2_agent_exit", "agent_exit"), **session)
    need("EXIT_PROTOCOL at <stdin>:1:14 (/protocol)" in broken.err and "^" in broken.err, str(broken))
    need("EXIT_PHASE_MISMATCH" in place.run("work", "exit", status=1, input=signal_text("DRAFT"), **session).err, "the wrong phase")

    waiter = place.begin("work", "wait", "W-1", "--phase", "CI_PENDING", "--timeout", "100s")
    reviewer = {"BATON_TOKEN": place.token("reviewer")}
    next_one = place.begin("work", "wait", "--phase", "READY_FOR_REVIEW", "--format", "json", **reviewer)
    time.sleep(0.3)  # so that both wait; the story is the same when they come late
    (place.work / "signal.json").write_text(signal_)
    taken = place.run("work", "exit", "signal.json", "--format", "json", **session).json()
    need(taken["handoff"]["dialect"] == "agent-exit" and taken["work"]["phase"] == "CI_PENDING", str(taken))
    need("W-1 is CI_PENDING" in place.finish(waiter), "the waiting one is woken")
    again = place.run("work", "exit", "signal.json", "--format", "json", **session).json()
    need(again["receipt"] == taken["receipt"], "the same document gives the first receipt")
    need("EXIT_LEASE" in place.run("work", "exit", status=1, input=signal_text("IMPLEMENTATION", "blocked"), **session).err, "another does not")

    # CI: an agent cannot say that it is green.
    need("ACCESS_KIND" in place.run("work", "ci", "W-1", "--result", "success", status=1, **reviewer).err, "an agent is no CI")
    ci = {"BATON_TOKEN": place.token("github", "ci")}
    green = place.run("work", "ci", "W-1", "--result", "success", "--format", "json", **ci).json()
    need(green["work"]["phase"] in ("READY_FOR_REVIEW", "REVIEW"), str(green))
    need("ignored" in place.run("work", "ci", "W-1", "--result", "success", status=1, **ci).out, "a second report changes nothing")
    claimed = json.loads(place.finish(next_one))
    need(claimed["work"]["id"] == "W-1" and claimed["session"]["phase"] == "REVIEW", "the second agent got it without asking again")

    review = {**reviewer, "BATON_SESSION_TOKEN": claimed["session"]["token"]}
    need("lasts until" in place.run("work", "renew", "--ttl", "30m", **review).out, "renewed")
    held = place.run("work", "claim", "W-1", status=1)
    need("CLAIM_HELD" in held.err, str(held))
    place.run("work", "release", "--reason", "lunch", **review)
    own = place.run("work", "claim", "W-1", status=1)
    need("CLAIM_SAME_ACTOR" in own.err, "nobody reviews his own work")
    need("nothing to claim" in place.run("work", "claim", "--wait", "1s", status=1).out, "nor is it offered to him")
    for phase, following in (("REVIEW", "READY_FOR_MERGE"), ("READY_FOR_MERGE", "COMPLETED")):
        (place.work / "session.token").unlink(missing_ok=True)
        shown = place.run("work", "claim", "W-1", "--token-out", "session.token", **reviewer)
        need(not TOKEN.search(shown.out), "in the file, not on the screen")
        need(stat.S_IMODE((place.work / "session.token").stat().st_mode) == 0o600, "mode 0600")
        done = place.run("work", "exit", "--session-token-file", "session.token", input=signal_text(phase), **reviewer)
        need(f"W-1 is {following}" in done.out, str(done))
    # What it stood in the way of can be claimed now.
    need(place.claim()["BATON_WORK"] == "W-publish", "the dependency is done")

    board = place.run("work", "board", "--once", COLUMNS="160").out
    need("W-1 Mend the tide table" in board and "W-publish" in board and "IMPLEMENTATION 1" in board, board)
    narrow = place.run("work", "board", "--once", COLUMNS="30").out
    need("W-publish" in narrow and all(len(line) <= 30 for line in narrow.splitlines()), narrow)
    status = place.run("status").out
    need("W-publish" in status and "local:" in status and "exit protocol" in status and " on\n" in status, status)
    show = place.run("work", "show", "W-1").out
    need("COMPLETED" in show and "local:" in show and "Daylight saving" in show, show)
    need("WORK_UNKNOWN" in place.run("work", "show", "W-99", status=1).err, "none of that name")
    verified = place.run("ledger", "verify", "--rebuild")
    need("whole" in verified.out, str(verified))
    place.stop()


def what_people_do(place):
    place.init("exit_protocol: true\n")
    place.run("work", "create", "Dredge", "--phase", "IMPLEMENTATION")
    session = place.claim("W-1")
    place.run("work", "exit", input=signal_text("IMPLEMENTATION", "blocked", notes="no ship"), **session)
    need(place.run("work", "show", "W-1", "--format", "json").json()["work"]["state"] == "blocked", "blocked")
    # An agent does not unblock: not with its token, and not with the operator's file when it carries a session.
    need("ACCESS_KIND" in place.run("work", "unblock", "W-1", status=1, BATON_TOKEN=place.token("eager")).err, "an agent may not")
    need("ACCESS_SUPERVISED" in place.run("work", "unblock", "W-1", status=1, **session).err, "whatever it presents")
    unblocked = place.run("work", "unblock", "W-1", "--to", "DRAFT", "--note", "hired one")
    need("W-1 is DRAFT" in unblocked.out, str(unblocked))
    need("UNBLOCK_NOT_BLOCKED" in place.run("work", "unblock", "W-1", status=1).err, "once")
    need("ANSWER_NOT_ASKED" in place.run("work", "answer", "W-1", "--text", "yes", status=1).err, "nothing was asked")
    need("aborted" in place.run("work", "abort", "W-1", "--reason", "the harbour moved").out, "closed")
    need("WORK_CLOSED" in place.run("work", "claim", "W-1", status=1).err, "for good")
    need("it will not come there" in place.run("work", "wait", "W-1", "--phase", "COMPLETED", status=1).out, "and that is told")
    place.run("work", "create", "Another", "--id", "W-2")
    need("in time" in place.run("work", "wait", "W-2", "--phase", "REVIEW", "--timeout", "1s", status=1).err, "not in time")


def the_same_key_gives_the_first_answer(place):
    place.init()
    first = place.run("work", "create", "Once", "--idempotency-key", "k-1", "--format", "json")
    again = place.run("work", "create", "Once", "--idempotency-key", "k-1", "--format", "json")
    need(first.json() == again.json(), f"{first.out} {again.out}")
    conflict = place.run("work", "create", "Twice", "--idempotency-key", "k-1", status=1)
    need("IDEMPOTENCY_CONFLICT" in conflict.err, str(conflict))
    # A claim whose token was not looked at is not lost.
    claimed = place.run("work", "claim")
    need(not TOKEN.search(claimed.out), "people are not shown the token")
    key = re.search(r"--idempotency-key (\S+)", claimed.out).group(1)
    shown = place.run("work", "claim", "--show-token", "--idempotency-key", key)
    need(TOKEN.search(shown.out), "unless they ask")
    place.run("work", "renew", "--ttl", "2h", BATON_SESSION_TOKEN=TOKEN.search(shown.out).group())
    need("no session" in place.run("work", "renew", status=2).err, "a renewal needs one")


def tokens_come_and_go(place):
    place.init()
    made = place.run("token", "create", "--actor", "night-watch", "--kind", "auditor", "--expires", "30d", "--note", "reads")
    need(TOKEN.search(made.out), "shown once")
    quiet = place.run("token", "create", "--actor", "courier", "--token-out", "courier.token")
    need(not TOKEN.search(quiet.out) and stat.S_IMODE((place.work / "courier.token").stat().st_mode) == 0o600, "to a file")
    need("already" in place.run("token", "create", "--actor", "courier", "--token-out", "courier.token", status=2).err, "not over one")
    listed = place.run("token", "list")
    need("night-watch" in listed.out and "auditor" in listed.out and "until 20" in listed.out and not TOKEN.search(listed.out), listed.out)
    tokens = {token["actor"]: token for token in place.run("token", "list", "--format", "json").json()["tokens"]}
    place.run("work", "list", "--token-file", "courier.token")
    place.run("token", "revoke", tokens["courier"]["id"])
    gone = place.run("work", "list", "--token-file", "courier.token", status=1)
    need("ACCESS_TOKEN" in gone.err, str(gone))
    problem = place.run("work", "list", "--token-file", "courier.token", "--format", "json", status=1)
    need(problem.json()["code"] == "ACCESS_TOKEN" and problem.err == "", str(problem))
    need("revoked" in place.run("token", "list").out, "and listed so")
    need("TOKEN_UNKNOWN" in place.run("token", "revoke", "0" * 32, status=1).err, "none of that name")


CONTRACT = """```agent_contract_handoff
{"agent_status": {"plan_status": "COMPLETE", "agent_id": "%s", "pending_steps": [], "next_action": "review"},
 "evidence_report": {"patterns_checked": ["utc_offset"], "files_checked": ["src/timetable.cc"],
  "commands_run": [{"command": "ctest", "result": "14 passed"}], "key_outputs": ["per tide"], "verbatim_outputs": ["100%%"],
  "cross_layer_impacts": [], "open_gaps": [], "verification": {"method": "almanac", "result": "pass"}},
 "update_contracts": [%s],
 "user_facing_summary": "Tide times are right."}
```
"""


def what_is_left_for_the_next(place):
    place.init()
    need("nothing was written" in place.run("context", "list").out, "at first nothing")
    for number in (1, 2):
        place.run("work", "create", f"Survey {number}", "--phase", "IMPLEMENTATION")
        session = place.claim()
        update = json.dumps({"contract": "soundings", "payload": {"depth": number}})
        taken = place.run("work", "exit", input=CONTRACT % (session["BATON_AGENT_ID"], update), **session)
        need("agent-contract completed taken" in taken.out and "CI_PENDING" in taken.out, str(taken))
    need("soundings" in place.run("context", "list").out, "listed")
    shown = place.run("context", "show", "soundings")
    need('"depth": 2' in shown.out and "W-2" in shown.out, str(shown))
    history = place.run("context", "history", "soundings", "--format", "json").json()["versions"]
    need([version["version"] for version in history] == [2, 1], str(history))
    need(len(place.run("context", "history", "soundings", "--limit", "1").out.splitlines()) == 2, "a heading and one")
    place.run("context", "show", "nothing", status=1)


def events_are_followed(place):
    place.init()
    place.run("work", "create", "First")
    all_ = place.run("events", "--format", "json").lines()
    need([entry["sequence"] for entry in all_] == list(range(1, len(all_) + 1)), "every one, in order")
    chosen = place.run("events", "--stream", "work/*", "--type", "work.created", "--format", "json").lines()
    need([entry["payload"]["title"] for entry in chosen] == ["First"], str(chosen))
    people = place.run("events", "--type", "work.*").out
    need(re.search(r"work\.created +work/W-1", people), people)
    need(place.run("events", "--from", str(len(all_) + 1)).out == "", "what is not there yet")

    follower = place.begin("events", "--follow", "--type", "work.created", "--from", "1", "--format", "json")
    lines = []
    threading.Thread(target=lambda: lines.extend(iter(follower.stdout.readline, "")), daemon=True).start()
    titles = lambda: [json.loads(line)["payload"]["title"] for line in list(lines)]
    eventually("what was before", lambda: titles() == ["First"])
    place.run("work", "create", "Second")
    eventually("what comes", lambda: titles() == ["First", "Second"])
    # The node ends and another begins: the follower goes on behind what it has seen.
    place.stop()
    place.run("work", "create", "Third")
    eventually("after a break, nothing twice", lambda: titles() == ["First", "Second", "Third"])
    follower.send_signal(signal.SIGINT)
    eventually("it ends", lambda: follower.poll() is not None)
    need(follower.returncode == 0, f"interrupted: {follower.returncode}")


def many_clients_start_one_node(place):
    place.init()
    clients = [place.begin("work", "create", f"Item {number}", "--format", "json") for number in range(8)]
    ids = {json.loads(place.finish(client))["work"]["id"] for client in clients}
    need(len(ids) == 8, f"each made one: {ids}")
    pid = place.node_pid()
    need(pid, "a node runs")
    log = [json.loads(line) for line in (place.work / ".baton/node.log").read_text().splitlines() if line.startswith("{")]
    started = [line["pid"] for line in log if line.get("event") == "started"]
    need(started == [pid], f"one node: {started}")
    place.stop()
    need("no node runs" in place.run("status", status=1).out, "none runs")
    need(place.run("status", "--format", "json", status=1).json()["running"] is False, "the same in JSON")
    place.run("stop", status=1)


def in_this_process(place):
    place.init()
    alone = {"BATON_IN_PROCESS": "1"}
    place.run("work", "create", "Alone", "--phase", "IMPLEMENTATION", **alone)
    session = place.claim(**alone)
    need(session["BATON_WORK"] == "W-1", str(session))
    need("Alone" in place.run("work", "list", **alone).out, "listed")
    place.run("token", "list", **alone)
    need("NODE_NEEDED" in place.run("events", status=2, **alone).err, "nothing can be followed")
    # Whoever carries a session is an agent, and an agent does not open the store.
    need("NODE_IN_PROCESS" in place.run("work", "release", status=2, **alone, **session).err, "not for an agent")
    place.run("status", status=1)  # and none was started
    place.run("work", "release", **session)


def what_stands_in_the_way(place):
    missing = place.run("work", "list", status=2)
    need("STORE_NOT_FOUND" in missing.err and "baton init" in missing.err, str(missing))
    place.init("exit_protcol: true\n")
    wrong = place.run("work", "list", status=2)
    need("NODE_CONFIG" in wrong.err and "CONFIG_FIELD_UNKNOWN" in wrong.err and "config.yaml:1:1" in wrong.err, str(wrong))
    place.settings("")
    # Somebody else has the store: the node that is started cannot.
    other = place.begin("serve", "--store", str(place.work / ".baton"), "--socket", str(place.folder / "other.sock"))
    eventually("the other node", lambda: (place.folder / "other.sock").exists())
    late = place.run("work", "list", status=2)
    need("NODE_START" in late.err and "node.log" in late.err, str(late))
    place.run("work", "list", "--node", f"unix:{place.folder}/other.sock")
    place.run("work", "list", BATON_NODE=f"unix:{place.folder}/other.sock")
    # It was not started by a client: an agent does not end it, an operator does.
    need("ACCESS_KIND" in place.run("stop", "--node", f"unix:{place.folder}/other.sock", status=1, HOME=str(place.folder)).err, "not by an agent")
    place.run("stop", "--node", f"unix:{place.folder}/other.sock")
    place.finish(other)


def the_ledger_is_changed_through_the_node(place):
    place.init()
    place.run("work", "create", "Something")  # a node runs from here on
    notes = '{"text":"deployed by hand"}\n{"text":"and again"}\n'
    lines = place.run("ledger", "append", "--stream", "deploy", "--format", "json", input=notes).lines()
    need([line["sequence"] for line in lines] == [lines[0]["sequence"], lines[0]["sequence"] + 1], str(lines))
    entry = place.run("ledger", "show", str(lines[1]["sequence"]), "--format", "json").json()
    need(entry["hash"] == lines[1]["hash"] and entry["entry"]["payload"] == {"text": "and again"}, str(entry))
    need(entry["entry"]["actor"] == {"id": "ines", "kind": "operator"}, "by the operator")
    again = [place.run("ledger", "append", "--stream", "deploy", "--idempotency-key", "k1", "--format", "json", input=notes).lines()
             for _ in range(2)]
    need(again[0] == again[1] and again[0] != lines, "the same key gives the first answer again")
    need("LEDGER_DRAFT" in place.run("ledger", "append", "--stream", "deploy", "--type", "note.Loud", status=1, input=notes).err, "refused")

    need("recorded as entry" in place.run("ledger", "keys", "rotate").out, "rotated")
    need(place.run("ledger", "keys", "rotate", "--format", "json").json()["receipt"]["sequence"] > 0, "in JSON too")
    states = [json.loads(line)["state"] for line in place.run("ledger", "keys", "--format", "json").out.splitlines()]
    need(sorted(states) == ["active", "retired", "retired"], str(states))
    witness = place.folder / "witness"
    witness.mkdir()
    added = place.run("ledger", "seal", "--add-witness", f"folder:{witness}", "--format", "json")
    need(added.json()["witnesses"] == [{"witness": f"folder:{witness}", "kept": True}], str(added))
    need(added.json()["seal"].startswith("baton/ledger/") and added.json()["size"] > 0, str(added))
    plain = place.run("ledger", "seal", "--remove-witness", f"folder:{witness}")
    need(plain.out.startswith("baton/ledger/") and "none any more" in plain.err, "standard output is the seal alone")
    need("LEDGER_DRAFT" in place.run("ledger", "seal", "--remove-witness", f"folder:{witness}", status=1).err, "there is none")
    need("REQUEST_NOT_FOUND" in place.run("ledger", "erase", "0" * 64, "--reason", "x", status=1).err, "no such blob")
    need("LEDGER_DRAFT" in place.run("ledger", "keys", "retire", "00000000", status=1).err, "no such key")

    # Not without the operator's token, whoever owns the files.
    agent = {"BATON_TOKEN": place.token("eager")}
    for words in (["append", "--stream", "a"], ["keys", "rotate"], ["keys", "retire", "0"], ["erase", "0" * 64, "--reason", "x"],
                  ["seal", "--add-witness", f"folder:{witness}"]):
        need("ACCESS_KIND" in place.run("ledger", *words, status=1, input='{"a":1}', **agent).err, str(words))
    nobody = {"HOME": str(place.folder), "BATON_KEYS": str(place.home / ".config/baton/keys")}
    need("ACCESS_KIND" in place.run("ledger", "keys", "rotate", status=1, **nobody).err, "nor as whoever has none")
    place.run("ledger", "verify", "--rebuild")
    place.stop()
    need("ACCESS_KIND" in place.run("ledger", "keys", "rotate", status=1, BATON_IN_PROCESS="1", **nobody).err, "nor without a node")
    place.run("ledger", "keys", "rotate", BATON_IN_PROCESS="1")

    # A ledger by itself has no operator to ask for.
    alone = str(place.work / "alone")
    place.run("ledger", "append", "--store", alone, "--stream", "a", input='{"a":1}')
    need(place.run("ledger", "keys", "rotate", "--store", alone, "--format", "json").json()["receipt"]["sequence"] == 3, "directly")


def whoever_is_no_node(place):
    class Web(http.server.BaseHTTPRequestHandler):
        seen = []

        def do_GET(self):
            Web.seen.append(dict(self.headers))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        do_POST = do_GET

        def log_message(self, *_):
            pass

    place.init()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    need("NODE_ANSWER" in place.run("work", "list", "--node", address, status=2).err, "not understood")
    place.run("work", "unblock", "W-1", "--node", address, status=2)
    need(not any("Authorization" in headers for headers in Web.seen), "the operator's file is for nodes of this machine's own")
    server.shutdown()


def by_tcp_with_a_token(place):
    place.init()
    place.run("work", "create", "By wire")
    token = place.token("remote")
    place.stop()
    node = place.begin("serve", "--listen", "127.0.0.1:0")
    address = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\n", wanted_line(node, "127.0.0.1")).group(1)
    need("ACCESS_NO_TOKEN" in place.run("work", "list", "--node", address, status=1).err, "a token is needed")
    need("By wire" in place.run("work", "list", "--node", address + "/", BATON_TOKEN=token).out, "and enough")
    place.run("stop", "--node", address, "--token-file", str(place.home / ".config/baton/operator.token"))
    place.finish(node)


def wanted_line(process, text):
    for line in iter(process.stdout.readline, ""):
        if text in line:
            return line
    raise Wrong(f"the node did not say {text}")


# --- at a terminal --------------------------------------------------------------------------------------------------------


class Terminal:
    """Baton at a terminal of its own."""

    def __init__(self, place, words, columns=120, rows=30, program=None, **environment):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(place.work)
            program = program or place.baton
            os.execve(program, [program, *words], place.environment(**environment))
        import fcntl
        import struct
        import termios
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.out, self.status = "", None

    def read(self, seconds):
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return True
        try:
            piece = os.read(self.descriptor, 65536)
        except OSError:
            return False
        self.out += piece.decode("utf-8", "replace")
        return bool(piece)

    def wait_for(self, text, since=0):
        end = time.monotonic() + LIMIT_SECONDS
        while (found := self.out.find(text, since)) < 0:
            if time.monotonic() > end or not self.read(1):
                raise Wrong(f"the terminal does not show {text!r}: {self.out!r}")
        return found + len(text)

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def finish(self):
        end = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < end and self.read(0.2):
            pass
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
            time.sleep(0.02)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise Wrong(f"it does not end: {self.out!r}")


class Shell(Terminal):
    """An interactive shell at a terminal: what is typed there."""

    def __init__(self, place):
        super().__init__(place, ["--norc", "--noprofile", "-i"], program=shutil.which("bash"), PS1="$ ")
        self.wait_for("$ ")

    def run(self, line, *talk):
        """Types a command, answers its prompts, and returns what it showed and its exit status."""
        begin = at = len(self.out)
        self.type(line + "; echo status=$?=\n")
        at = self.wait_for("\n", at)
        for prompt, answer in talk:
            at = self.wait_for(prompt, at)
            self.type(answer)
        end = time.monotonic() + LIMIT_SECONDS
        while not (found := re.search(r"status=(\d+)=", self.out[at:])):
            need(time.monotonic() < end and self.read(1), f"no end of {line}: {self.out[begin:]!r}")
        return self.out[begin:], int(found.group(1))

    def end(self):
        self.type("exit\n")
        self.finish()


def at_terminal(place, words, talk):
    terminal = Terminal(place, words)
    at = 0
    for prompt, answer in talk:
        at = terminal.wait_for(prompt, at)
        terminal.type(answer)  # nothing is shown any more once the prompt is there
    return terminal.finish() is not None and terminal.out, terminal.status


def the_board_lives(place):
    place.init()
    place.run("work", "create", "Ebb", "--phase", "IMPLEMENTATION")
    board = Terminal(place, ["work", "board"])
    board.wait_for("W-1 Ebb")
    board.wait_for("q ends")
    need("\x1b[?1049h" in board.out, "on a page of its own")
    at = len(board.out)
    place.run("work", "create", "Flood", "--phase", "DRAFT")
    board.wait_for("W-2 Flood", at)
    board.type("q")
    need(board.finish() == 0, f"q ends it: {board.status}")
    need(board.out.endswith("\x1b[?25h\x1b[?1049l"), "and what was there comes back")
    board = Terminal(place, ["work", "board"])
    board.wait_for("W-1 Ebb")
    board.type("\x03")
    need(board.finish() == 0, f"and so does Ctrl-C: {board.status}")


def an_approved_call_goes_on(place):
    """The same command after the approval begins the call that was approved, though it forbids another of its kind while it is open."""
    place.init()
    pack = place.work / "pack"
    pack.mkdir()
    (pack / "session.yaml").write_text("schema_version: \"1.0\"\nagent: payer\nrisk_defaults: {financial: allow}\n")
    (pack / "wire.yaml").write_text(asks_always("wire", "financial") + "forbids_after: [wire]\n")
    place.run("contract", "activate", str(pack))
    session = place.run("session", "open", "--format", "json").json()["session"]

    def call(*words, status):
        return place.run("session", "call", session["id"], "wire", "--arguments", '{"to": "bob"}', "--start", *words, "--format", "json",
                         status=status, BATON_SESSION_TOKEN=session["token"]).json()["calls"][0]

    asked = call(status=1)
    need(asked["verdict"] == "checkpoint" and call(status=1)["call_id"] == asked["call_id"], f"one call, one question: {asked}")
    place.run("approvals", "approve", asked["approval"]["id"])
    begun = call(status=0)
    need(begun["call_id"] == asked["call_id"] and begun["started"] is True, f"the approved call begins: {begun}")
    need(call(status=1)["reason"] == "forbidden_in_state", "it was approved once")
    place.run("session", "settle", session["id"], begun["call_id"], "--result", "ok", "--output", "{}",
              BATON_SESSION_TOKEN=session["token"])
    place.run("ledger", "verify", "--rebuild")


STORIES = [init_makes_a_store_once, a_second_store_has_its_own_operator, sealed_with_a_passphrase, an_empty_passphrase_file_is_a_mistake,
           a_deep_folder_has_a_node_too, the_ledger_is_changed_through_the_node, asked_for_a_passphrase_twice, each_decision_asks_for_the_passphrase, unlocked_for_a_while, a_lost_passphrase,
           the_doctor_says_what_is_not_safe,
           a_token_file_for_others_is_refused, the_whole_way, what_people_do, the_same_key_gives_the_first_answer,
           tokens_come_and_go, what_is_left_for_the_next, events_are_followed, many_clients_start_one_node, in_this_process,
           what_stands_in_the_way, whoever_is_no_node, by_tcp_with_a_token, the_board_lives, an_approved_call_goes_on]


def main(arguments):
    if not arguments or not os.access(arguments[0], os.X_OK):
        print(__doc__, file=sys.stderr)
        return 2
    wanted, failed = arguments[1:], 0
    for story in STORIES:
        if wanted and story.__name__ not in wanted:
            continue
        place = Place(os.path.abspath(arguments[0]))
        began = time.monotonic()
        try:
            story(place)
            print(f"ok      {story.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        except (Wrong, AssertionError, subprocess.SubprocessError, OSError, LookupError, ValueError, AttributeError) as problem:
            failed += 1
            log = place.work / ".baton/node.log"
            print(f"FAILED  {story.__name__}: {problem}\n{log.read_text()[-2000:] if log.exists() else ''}", flush=True)
        finally:
            place.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
