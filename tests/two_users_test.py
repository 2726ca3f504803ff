#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node under its own system user, and agents of another: runs docs/reference/two-users.md, and attacks it.

    two_users_test.py PATH/TO/baton PATH/TO/baton-hook

Needs root. Everything happens in a mount namespace of its own: /etc is a copy, so that no user of the machine is made or changed, and /home,
/run, /srv, /var/lib and /usr/local/bin are empty. Without root, or where no namespace can be made, it ends with 77: skipped.

The blocks of the document that are marked `<!-- run: root -->`, `<!-- run: root, in the background -->` and `<!-- run: ada -->` are run in
their order, by those users.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stories import CONTRACT

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent / "docs/reference/two-users.md"
SKIPPED, WAIT = 77, 120
OWN = "BATON_TWO_USERS_NAMESPACE"
STORE, SOCKET, MAIN = "/var/lib/baton/store", "/run/baton/agents.sock", "/var/lib/baton/store/node.sock"

BLOCK = """#!/bin/sh
# Hands over by the explicit channel.
baton handoff submit <<END
\\`\\`\\`agent_contract_handoff
{"agent_status": {"plan_status": "COMPLETE", "agent_id": "$BATON_AGENT_ID", "pending_steps": [], "next_action": "done"},
 "evidence_report": {"patterns_checked": [], "files_checked": [], "commands_run": [], "key_outputs": ["the tide table is right"],
  "verbatim_outputs": [], "cross_layer_impacts": [], "open_gaps": [], "verification": {"method": "self-review", "result": "pass"}},
 "user_facing_summary": "The tide table is right."}
\\`\\`\\`
END
"""


def need(holds, what):
    if not holds:
        raise AssertionError(str(what))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def as_user(user, *command, input=None, environment=None, folder="/srv/tides"):
    """What a user's command printed and ended with."""
    settings = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "NO_COLOR": "1", "LC_ALL": "C.UTF-8", **(environment or {})}
    home = {"root": "/root", "baton": "/var/lib/baton"}.get(user, f"/home/{user}")
    before = [] if user == "root" else ["setpriv", "--reuid", user, "--regid", user, "--init-groups", "--"]
    return subprocess.run([*before, *command], input=input, capture_output=True, text=True, timeout=WAIT, cwd=folder,
                          env={**settings, "HOME": home})


def good(done):
    need(done.returncode == 0, f"{done.args}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def lines_of(done):
    return [json.loads(line) for line in good(done).splitlines()]


def baton(*arguments, **more):
    """A command of the operator."""
    return as_user("baton", "baton", *arguments, "--store", STORE, **more)


def ada(*arguments, environment=None, user="ada", **more):
    return as_user(user, *arguments, environment={"BATON_NODE": "unix:" + SOCKET, **(environment or {})}, **more)


def blocks():
    """(who, in the background?, text) of each marked block."""
    found = re.findall(r"<!-- run: (\w+)(, in the background)? -->\n```sh\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.S)
    need(len(found) >= 6, f"the document has {len(found)} blocks to run")
    return [(user, bool(background), text) for user, background, text in found]


# --- a machine of its own ---------------------------------------------------------------------------------------------------------------


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True, timeout=WAIT)


def make_machine(programs, kept):
    # What is needed of folders that are hidden below.
    os.chmod(kept, 0o755)
    for program in programs:
        there = Path(kept) / Path(program).name
        there.touch()
        mount("--bind", program, str(there))
    os.mkdir(Path(kept) / "bin")
    mount("--bind", "/usr/local/bin", str(Path(kept) / "bin"))
    etc = str(Path(kept) / "etc")
    shutil.copytree("/etc", etc, symlinks=True, dirs_exist_ok=True, ignore_dangling_symlinks=True)
    mount("--bind", etc, "/etc")
    for folder in ("/home", "/run", "/srv", "/var/lib", "/usr/local/bin"):
        mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", folder)
    for program in (Path(kept) / "bin").iterdir():
        if not program.name.startswith("baton"):
            os.symlink(program, Path("/usr/local/bin") / program.name)
    for program in programs:
        there = Path("/usr/local/bin") / Path(program).name
        there.touch()
        mount("--bind", str(Path(kept) / there.name), str(there))
    for user in ("ada", "eve"):
        subprocess.run(["useradd", "--user-group", "--create-home", "--shell", "/bin/sh", user], check=True, timeout=WAIT)
    os.makedirs("/srv/tides/.claude")
    Path("/srv/tides/.claude/settings.json").write_text(json.dumps({"permissions": {"allow": ["Bash(make:*)"], "deny": ["Bash(git push:*)"]}}, indent=2))
    Path("/srv/tides/agent.sh").write_text(BLOCK)
    os.chmod("/srv/tides/agent.sh", 0o755)
    subprocess.run(["chown", "-R", "ada:ada", "/srv/tides"], check=True, timeout=WAIT)


def run_document(all_blocks):
    """The blocks in their order; the node that one of them starts."""
    node, said = None, []
    for user, background, text in all_blocks:
        if background:
            log = open("/srv/node.out", "wb")
            node = subprocess.Popen(["bash", "-e", "-c", text], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                                    env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}, cwd="/")
            until = time.monotonic() + WAIT
            while not (os.path.exists(SOCKET) and os.path.exists(MAIN)):
                need(node.poll() is None and time.monotonic() < until, Path("/srv/node.out").read_text())
                time.sleep(0.05)
        else:
            said.append(good(as_user(user, "bash", "-e", "-c", text, folder="/srv/tides" if user == "ada" else "/")))
            print(f"ran as {user}: {text.strip().splitlines()[-1]}")
    return node, said


# --- attacks ----------------------------------------------------------------------------------------------------------------------------


def hook_commands():
    settings = json.loads(Path("/srv/tides/.claude/settings.json").read_text())
    return {event: groups[0]["hooks"][0]["command"] for event, groups in settings["hooks"].items()}


def ask_hook(tool, arguments, call, command=None, user="ada", session="c-1"):
    event = {"hook_event_name": "PreToolUse", "session_id": session, "transcript_path": "/t", "cwd": "/srv/tides", "tool_name": tool,
             "tool_input": arguments, "tool_use_id": call}
    return as_user(user, "sh", "-c", command or hook_commands()["PreToolUse"], input=json.dumps(event))


def hooks_work():
    command = hook_commands()["PreToolUse"]
    need(f"--socket {SOCKET}" in command and re.search(r"--node-key [0-9a-f]{64}( |$)", command) and "--store" not in command, command)
    allowed = ask_hook("Bash", {"command": "make test"}, "t1")
    need(allowed.returncode == 0 and "deny" not in allowed.stdout, allowed)
    refused = ask_hook("Bash", {"command": "git push origin main"}, "t2")
    need(refused.returncode == 2 and "Denied by " in refused.stderr, refused)
    # Also as the node itself finds it: no agent may touch what protects it.
    touched = ask_hook("Write", {"file_path": "/srv/tides/.claude/settings.json", "content": "{}"}, "t3")
    need(touched.returncode == 2 and "Denied by " in touched.stderr, touched)


def run_completed(said):
    need(any("recorded as entry" in one or "completed" in one.lower() for one in said), said)
    items = lines_of(baton("work", "list", "--format", "json"))
    need([one["phase"] for one in items] == ["CI_PENDING"] and items[0]["implementer"] == "local:ada", items)


def node_is_out_of_reach(operator_token):
    for path in ("/var/lib/baton", STORE, f"{STORE}/config.yaml", "/var/lib/baton/.config/baton", "/var/lib/baton/.config/baton/operator.token",
                 "/var/lib/baton/node.log"):
        done = ada("sh", "-c", f"cat '{path}' || ls '{path}'")
        need(done.returncode != 0 and "Permission denied" in done.stderr and operator_token not in done.stdout, done)
    for path in ("/var/lib/baton/x", f"{STORE}/x", "/run/baton/x"):
        need(ada("sh", "-c", f": > '{path}'").returncode != 0, path)
    keys = good(as_user("root", "find", "/var/lib/baton", "-name", "*.key", folder="/")).split()
    need(len(keys) >= 2, keys)
    for key in keys:
        need(ada("cat", key).returncode != 0, key)
    pid = good(as_user("root", "pgrep", "-u", "baton", "-x", "baton", folder="/")).split()[0]
    need(ada("kill", "-9", pid).returncode != 0, "ada ended the node")
    need(ada("cat", f"/proc/{pid}/environ").returncode != 0 and ada("ls", f"/proc/{pid}/fd").returncode != 0, "ada looks into the node")
    # Opening the store in a process of one's own, instead of asking the node.
    need(ada("baton", "work", "list", "--store", STORE, environment={"BATON_IN_PROCESS": "1", "BATON_NODE": ""}).returncode == 2, "ada opened the store")


def connect_script(path):
    return f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({path!r}); print('connected')"


def sockets_are_kept():
    status = os.stat(SOCKET)
    import grp
    import pwd
    need(status.st_mode & 0o7777 == 0o660 and grp.getgrgid(status.st_gid).gr_name == "baton-agents" and pwd.getpwuid(status.st_uid).pw_name == "baton", status)
    need(os.stat(MAIN).st_mode & 0o7777 == 0o600, "the node's own socket")
    need("connected" in good(ada("python3", "-c", connect_script(SOCKET))), "ada connects")
    for user, path in (("ada", MAIN), ("eve", MAIN), ("eve", SOCKET)):
        done = ada("python3", "-c", connect_script(path), user=user)
        need(done.returncode != 0 and "Permission" in done.stderr, (user, path, done))
    need(ada("baton", "status", user="eve").returncode != 0, "eve has no group")
    for command in (f"rm {SOCKET}", f"mv {SOCKET} /tmp/x", f"ln -sf /tmp/fake {SOCKET}", f"chmod 0777 {SOCKET}", "mv /run/baton /run/x", "rm -r /run/baton"):
        need(ada("sh", "-c", command).returncode != 0, command)
    need(os.stat(SOCKET).st_ino == status.st_ino, "the socket was replaced")


def nobody_becomes_an_operator(operator_token):
    """A call waits for approval: its agent's user cannot approve it, whatever it shows."""
    pack = Path("/srv/approvals")
    pack.mkdir()
    (pack / "session.yaml").write_text(json.dumps({"schema_version": "1.0", "agent": "pusher"}))
    (pack / "Push.yaml").write_text(json.dumps({"tool": "Push", **CONTRACT, "side_effect": "write", "gate": "allow",
                                                "checkpoint": {"when": [{"path": "$.where", "equals": "main"}], "timeout_seconds": 600}}))
    good(baton("contract", "activate", str(pack), "--role", "agent"))
    push = hook_commands()["PreToolUse"].replace("--role claude", "--role agent")
    event = {"where": "main"}
    first = ask_hook("Push", event, "p1", command=push, session="c-2")
    need(first.returncode == 2 and "checkpoint" in first.stderr, first)
    waiting = lines_of(baton("approvals", "list", "--format", "json"))
    need(len(waiting) == 1 and waiting[0]["state"] == "pending", waiting)
    one = waiting[0]
    decide = "import http.client, json, os, socket, sys\n" \
             "c = http.client.HTTPConnection('localhost'); c.sock = socket.socket(socket.AF_UNIX); c.sock.connect(sys.argv[1])\n" \
             "h = {'Content-Type': 'application/json'}\n" \
             "if sys.argv[4]: h['Authorization'] = 'Bearer ' + sys.argv[4]\n" \
             "c.request('POST', sys.argv[2], body=sys.argv[3], headers=h); a = c.getresponse(); print(a.status, a.read().decode())"
    body = json.dumps({"decision": "approve", "digest": one["digest"]})

    def attempt(token, path=f"/v1/approvals/{one['id']}/decide", text=body):
        status, said = good(ada("python3", "-c", decide, SOCKET, path, text, token)).split(" ", 1)
        return int(status), json.loads(said).get("code")
    need(attempt("") == (403, "ACCESS_KIND"), attempt(""))
    wrong = operator_token[:-1] + ("A" if operator_token[-1] != "A" else "B")
    need(attempt(operator_token) == (403, "ACCESS_AGENT_SOCKET"), attempt(operator_token))
    need(attempt(wrong)[0] in (401, 403) and attempt("bat_nonsense")[0] == 401, (attempt(wrong), attempt("bat_nonsense")))
    for path, text in (("/v1/tokens", '{"actor": "ada", "kind": "operator"}'), ("/v1/stop", ""), ("/v1/ledger/seal", "{}")):
        need(attempt(operator_token, path, text)[0] in (401, 403, 404, 405), path)
        need(attempt("", path, text)[0] in (401, 403, 404, 405), path)
    # By commands, too, and below `baton run`.
    for shown in ({}, {"BATON_TOKEN": operator_token}):
        done = ada("baton", "approvals", "approve", one["id"], "--digest", one["digest"], environment=shown)
        need(done.returncode != 0, done)
        done = ada("baton", "stop", environment=shown)
    states = [a["state"] for a in lines_of(baton("approvals", "list", "--format", "json")) if a["id"] == one["id"]]
    need(states == ["pending"], states)
    need(ask_hook("Push", event, "p2", command=push, session="c-2").returncode == 2, "it went through")
    # The operator can.
    good(baton("approvals", "approve", one["id"], "--digest", one["digest"]))
    passed = ask_hook("Push", event, "p3", command=push, session="c-2")
    need(passed.returncode == 0, passed)


def below_a_run(operator_token):
    """What an agent of ada's starts is that agent to a node of another user, too, whatever it shows or leaves out."""
    good(baton("work", "create", "High water", "--phase", "IMPLEMENTATION"))
    hook = hook_commands()["PreToolUse"]
    before = len(lines_of(baton("session", "list", "--format", "json")))
    event = json.dumps({"hook_event_name": "PreToolUse", "session_id": "c-9", "transcript_path": "/t", "cwd": "/srv/tides", "tool_name": "Bash",
                        "tool_input": {"command": "git push origin main"}, "tool_use_id": "b1"})
    Path("/srv/tides/below.sh").write_text(
        "#!/bin/sh\nexec 2>&1\n"
        f"echo '{event}' | env -u BATON_SESSION_TOKEN {hook} > below.hook; echo \"hook $?\" > below.log\n"
        f"env -u BATON_SESSION_TOKEN BATON_TOKEN={operator_token} baton token list > below.token; echo \"token $?\" >> below.log\n"
        "env -u BATON_SESSION_TOKEN baton stop > below.stop; echo \"stop $?\" >> below.log\n" + BLOCK.split("\n", 1)[1])
    os.chmod("/srv/tides/below.sh", 0o755)
    # An agent without a token has the default roles: what it is held to is the pack of one of these.
    good(baton("contract", "activate", "/srv/tides/baton-pack", "--role", "agent"))
    ended = ada("baton", "run", "--", "./below.sh")
    need(ended.returncode == 0, ended)
    said = Path("/srv/tides/below.log").read_text().split("\n")
    need(said[0] == "hook 2" and said[1] in ("token 1", "token 2") and said[2] in ("stop 1", "stop 2"), said)
    need("Denied by " in Path("/srv/tides/below.hook").read_text(), "denied by the rules")
    sessions = lines_of(baton("session", "list", "--format", "json"))
    need(len(sessions) == before + 1, "the hook opened a session of its own below a supervised agent")


def fake_nodes_are_refused(operator_token):
    """A socket of ada's that answers "allow": not believed by her registered hook, and never sent the operator's token."""
    fake = "/srv/tides/fake.sock"
    script = f"""
import os, socket
s = socket.socket(socket.AF_UNIX); s.bind({fake!r}); os.chmod({fake!r}, 0o660); s.listen(9); print('ready', flush=True)
while True:
    c, _ = s.accept(); open('/srv/tides/fake.log', 'ab').write(c.recv(65536)); c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 6\\r\\n\\r\\n0 0 0\\n'); c.close()
"""
    listener = subprocess.Popen(["setpriv", "--reuid", "ada", "--regid", "baton-agents", "--init-groups", "--", "python3", "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        need(listener.stdout.readline() == "ready\n", "the fake listens")
        command = hook_commands()["PreToolUse"].replace(SOCKET, fake)
        done = ask_hook("Bash", {"command": "git push origin main"}, "f1", command=command)
        need(done.returncode == 2 and "node_not_trusted" in done.stderr, done)
        unkeyed = re.sub(r" --node-key [0-9a-f]+", "", command)
        need(ask_hook("Bash", {"command": "git push origin main"}, "f2", command=unkeyed).returncode == 0, "without a key whoever listens is believed")
        # A user who names it speaks to it, when it looks like an agents' socket; what the operator keeps is not sent there.
        log = Path("/srv/tides/fake.log")
        log.write_bytes(b"")
        done = as_user("baton", "baton", "approvals", "approve", "apr_x", "--digest", "0" * 64, "--node", "unix:" + fake)
        need(done.returncode != 0 and b"POST /v1/approvals/apr_x/decide" in log.read_bytes(), done)
        need(operator_token.encode() not in log.read_bytes() and b"Authorization" not in log.read_bytes(), log.read_bytes())
        # Nobody else's group, and no folder where others can write.
        done = as_user("eve", "baton", "work", "list", "--node", "unix:" + fake)
        need(done.returncode != 0 and "ACCESS_USER" in done.stdout + done.stderr, done)
        os.chmod("/srv/tides", 0o777)
        done = as_user("baton", "baton", "work", "list", "--node", "unix:" + fake)
        need(done.returncode != 0 and "ACCESS_USER" in done.stdout + done.stderr, done)
    finally:
        os.chmod("/srv/tides", 0o755)
        listener.kill()
        listener.wait(WAIT)


def undone():
    """The client's user takes it out again, also when the node does not run."""
    node = ada("baton", "adopt", "claude", "--undo", environment={"BATON_NODE": "unix:/run/baton/gone.sock"})
    good(node)
    settings = json.loads(Path("/srv/tides/.claude/settings.json").read_text())
    need("hooks" not in settings and settings["permissions"]["deny"] == ["Bash(git push:*)"], settings)


def unsafe_places_are_refused():
    """A node does not make its agents' socket where somebody else could replace it, or for a group that it has no part in."""
    def serve(path, group="baton-agents"):
        good(as_user("root", "install", "-d", "-o", "baton", "-g", "baton", "-m", "0700", "/var/lib/baton/other", folder="/"))
        if not os.path.exists("/var/lib/baton/other/store"):
            good(as_user("baton", "baton", "init", "--store", "/var/lib/baton/other/store", "--keys", "/var/lib/baton/other/keys", folder="/"))
        return as_user("baton", "timeout", "30", "baton", "serve", "--store", "/var/lib/baton/other/store", "--keys", "/var/lib/baton/other/keys", "--agent-socket", path, "--agent-group", group, "--idle", "1", folder="/")
    open_folder = "/srv/open"
    os.mkdir(open_folder)
    shutil.chown(open_folder, "baton", "baton-agents")
    for mode in (0o770, 0o777, 0o1777):
        os.chmod(open_folder, mode)
        done = serve(open_folder + "/a.sock")
        need(done.returncode == 2 and "could replace the socket" in done.stderr and not os.path.exists(open_folder + "/a.sock"), (oct(mode), done))
    done = serve("/srv/tides/a.sock")
    need(done.returncode == 2 and "another user" in done.stderr, done)
    done = serve("/run/baton/b.sock", "ada")
    need(done.returncode == 2 and "member of the group" in done.stderr and not os.path.exists("/run/baton/b.sock"), done)
    done = serve("/run/baton/b.sock", "no-such-group")
    need(done.returncode == 2 and "no-such-group" in done.stderr, done)
    done = serve("/run/baton/b.sock")
    need(done.returncode == 0, done)


def main(programs):
    kept = tempfile.mkdtemp(prefix="baton-two-users-")
    all_blocks = blocks()
    node = None
    try:
        make_machine(programs, kept)
        node, said = run_document(all_blocks)
        operator_token = Path("/var/lib/baton/.config/baton/operator.token").read_text().strip()
        stories = {"hooks": hooks_work, "a run": lambda: run_completed(said), "the node is out of reach": lambda: node_is_out_of_reach(operator_token),
                   "the sockets": sockets_are_kept, "operators": lambda: nobody_becomes_an_operator(operator_token), "below a run": lambda: below_a_run(operator_token), "fake nodes": lambda: fake_nodes_are_refused(operator_token),
                   "unsafe places": unsafe_places_are_refused, "undone": undone}
        for name, story in stories.items():
            story()
            print(f"ok {name}")
        good(baton("ledger", "verify", "--rebuild"))
        print("ok the ledger")
        return 0
    finally:
        if node is not None and node.poll() is None:
            node.terminate()  # runuser passes it on
            try:
                node.wait(30)
            except subprocess.TimeoutExpired:
                node.kill()
        # What is mounted goes with the namespace; what it is mounted on is removed after it.
        subprocess.run(["umount", "-l", "/etc", str(Path(kept) / "bin"), *(str(Path(kept) / Path(program).name) for program in programs)],
                       check=False, timeout=WAIT, stderr=subprocess.DEVNULL)
        try:
            if (Path(kept) / "bin").exists():
                os.rmdir(Path(kept) / "bin")  # fails where it still leads to the machine's own folder
            shutil.rmtree(kept, ignore_errors=True)
        except OSError as problem:
            print(f"{kept} stays: {problem}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    if os.geteuid() != 0:
        skip("it needs root to be two users")
    for needed in ("useradd", "groupadd", "usermod", "setpriv", "runuser", "unshare", "mount"):
        if shutil.which(needed) is None:
            skip(f"there is no program {needed}")
    if OWN not in os.environ:
        if subprocess.run(["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", "/srv"], capture_output=True, check=False).returncode != 0:
            skip("no mount namespace can be made here")
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, __file__, *map(os.path.abspath, sys.argv[1:])], {**os.environ, OWN: "1"})
    sys.exit(main(sys.argv[1:]))
