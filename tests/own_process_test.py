#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What other processes of the same user learn of Baton's own: no environment, no memory, no credential. And what the node still knows.

    own_process_test.py PATH/TO/baton [STORY...]

Runs as an ordinary user: started by root, it becomes nobody first, because root may read everything.
"""

import ctypes
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

NOBODY = 65534
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ.update(HOME="/", PATH="/usr/local/bin:/usr/bin:/bin")
    python = sys.executable if os.access(sys.executable, os.X_OK) else "/usr/bin/python3"  # one below /root is not for nobody
    os.execv(python, [python, *sys.argv])  # else this process could not be traced either

import run_test
from run_test import AGENT, Place
from stories import WAIT, Wrong, eventually, need, tell

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
SECRET = "baton_o_" + "a-credential-of-the-test"


def closed(pid, what, secret=SECRET):
    """Nothing of the process can be read, and it cannot be traced."""
    for name in ("environ", "mem", "maps", "auxv"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                seen = file.read(1 << 16)
        except OSError:
            continue
        need(name in ("maps", "auxv") and not seen, f"{what}: /proc/{pid}/{name} can be read")
    need(LIBC.ptrace(PTRACE_ATTACH, pid, None, None) != 0, f"{what}: it can be traced")
    need(secret.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes(), f"{what}: on its command line")
    limits = Path(f"/proc/{pid}/limits")
    try:
        text = limits.read_text()
    except OSError:
        return
    need(re.search(r"^Max core file size +0 ", text, re.M), f"{what}: it leaves a core")


def this_process_is_open(place):
    """The checks above would find something: they find this process's own child."""
    child = subprocess.Popen(["sleep", "60"], env={"BATON_TOKEN": SECRET})
    try:
        need(SECRET.encode() in eventually("it has begun", lambda: Path(f"/proc/{child.pid}/environ").read_bytes()), "it can be read")
        try:
            closed(child.pid, "a process that is not Baton's")
        except Wrong:
            return
        raise Wrong("what can be read is not found")
    finally:
        child.kill()
        child.wait(WAIT)


def run_is_closed(place):
    place.create()
    run = place.begin("note", place.notes, "sleep", "60", environment={"BATON_TOKEN": SECRET})
    noted = eventually("the agent runs", place.noted)[0]
    closed(run.pid, "baton run")
    # Its agent is an ordinary process, with its session's token alone.
    seen = Path(f"/proc/{noted['pid']}/environ").read_bytes()
    need(SECRET.encode() not in seen and b"BATON_SESSION_TOKEN=baton" in seen, "the agent's environment")
    run.terminate()
    run.wait(WAIT)


def node_is_closed(place):
    closed(place.node.process.pid, "baton serve")


def proxy_is_closed(place):
    server = [sys.executable, str(run_test.HERE / "mcp" / "fixture_server.py")]
    proxy = subprocess.Popen([place.baton, "mcp", "--node", "unix:" + place.node.socket_path, "--", *server], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=place.environment(BATON_TOKEN=place.token), cwd=place.folder)
    try:
        # It answers, so its pipes could be opened anew, which goes by its own /proc.
        proxy.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        proxy.stdin.flush()
        need(b'"id":1' in proxy.stdout.readline(), "it answers")
        closed(proxy.pid, "baton mcp", place.token)
    finally:
        proxy.kill()
        proxy.wait(WAIT)


def hook_is_closed(place):
    hook = subprocess.Popen([os.path.join(os.path.dirname(place.baton), "baton-hook"), "claude", "PreToolUse", "--socket", place.node.socket_path,
                             "--deadline-ms", "30000"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env=place.environment(BATON_SESSION_TOKEN=SECRET))
    try:
        time.sleep(0.5)
        need(hook.poll() is None, "it waits for its event")
        closed(hook.pid, "baton-hook")
    finally:
        hook.kill()
        hook.wait(WAIT)


def operators_commands_are_closed(place):
    main, terminal = pty.openpty()
    watch = subprocess.Popen([place.baton, "approvals", "watch", "--node", "unix:" + place.node.socket_path], stdin=terminal, stdout=terminal,
                             stderr=terminal, env=place.environment(BATON_TOKEN=place.token, TERM="xterm"), cwd=place.folder, start_new_session=True)
    follow = subprocess.Popen([place.baton, "work", "watch", "--node", "unix:" + place.node.socket_path], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=place.environment(BATON_TOKEN=place.token), cwd=place.folder)
    try:
        time.sleep(0.5)
        for process, name in ((watch, "baton approvals watch"), (follow, "baton work watch")):
            if process.poll() is None:
                closed(process.pid, name, place.token)
        need(watch.poll() is None, "it watches")
    finally:
        for process in (watch, follow):
            process.kill()
            process.wait(WAIT)
        os.close(main)
        os.close(terminal)


def descent_is_known(place):
    """The node reads who is above a caller, though it may read nothing else of `baton run`."""
    run_test.its_processes_are_agents(place)


def environment_is_overwritten(place):
    """As the kernel shows it: also where a debugger or root could look."""
    program = os.path.join(os.path.dirname(place.baton), "baton")
    # A process may read its own environment, whatever others may: `baton mcp` starts a server that looks at its parent's, which it may not.
    reader = "import os,sys; sys.stderr.write(open(f'/proc/{os.getppid()}/environ').read())"
    done = subprocess.run([program, "mcp", "lock", place.folder + "/pack", "--", sys.executable, "-c", reader], capture_output=True,
                          text=True, env=place.environment(BATON_TOKEN=SECRET), cwd=place.folder, timeout=WAIT)
    need("Permission denied" in done.stderr and SECRET not in done.stdout + done.stderr, done)


STORIES = {name: (story, {}) for name, story in (
    ("this_process_is_open", this_process_is_open), ("run_is_closed", run_is_closed), ("node_is_closed", node_is_closed),
    ("proxy_is_closed", proxy_is_closed), ("hook_is_closed", hook_is_closed),
    ("operators_commands_are_closed", operators_commands_are_closed), ("descent_is_known", descent_is_known),
    ("environment_is_overwritten", environment_is_overwritten), ("supervised", run_test.completes),
    ("submitted", run_test.submits_itself))}

if __name__ == "__main__":
    sys.exit(tell(STORIES, sys.argv[2:], lambda **how: Place(sys.argv[1], **how)))
