#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`baton adopt` and `--undo` with real files, a real node and the hooks as clients start them: adopt_command_test.py BATON BATON_HOOK [STORY...]

tests/adopt_command/*.json are configurations: {about, client (null: whichever are found), clients?, files: {PATH: {text, mode?}}, links?, environment?,
secrets, hook, denied, asked, allowed, tamper}. A PATH that begins with `~/` is below the home; `{project}` and `{home}` stand for those folders.
Each goes the whole way: dry run, adopt, the calls that are to be denied, asked about and allowed by the command that now stands in the client's
settings, adopt again, tampering, adopting anew, and undone: byte for byte with modes, links and folders as before.
"""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

from node_harness import READY_SECONDS_MAX, Node, Workspace
from stories import WAIT, eventually, need, tell

CASES = Path(__file__).resolve().parent / "adopt_command"
# How clients tell their hooks of a call.
EVENTS = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool", "copilot": "preToolUse", "cursor": "preToolUse"}


class Place(Workspace):
    def __init__(self, baton, case=None):
        super().__init__(baton)
        self.case = case or {}
        self.home = Path(self.folder) / "home"
        self.project = Path(self.folder) / "work" / "project"
        self.project.mkdir(parents=True)
        self.home, self.project = self.home.resolve(), self.project.resolve()
        self.store = str(self.project / ".baton")
        self.more = {name: self.filled(value) for name, value in self.case.get("environment", {}).items()}
        for name, file in self.case.get("files", {}).items():
            self.write(name, self.filled(file["text"]).encode(), int(file.get("mode", "0644"), 8))
        for name, to in self.case.get("links", {}).items():
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
            self.path(name).symlink_to(self.filled(to))
        self.before = self.everything()
        self.token = self.init()
        self.node = self.serve()

    def filled(self, text):
        return text.replace("{project}", str(self.project)).replace("{home}", str(self.home))

    def path(self, name):
        return self.home / name[2:] if name.startswith("~/") else self.project / name

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        path.chmod(mode)

    def everything(self):
        """Every file of the project and the home, without Baton's own: what it is, its mode, its bytes or where it leads."""
        out = {}
        for root in (self.project, self.home):
            for path in sorted(root.rglob("*")):
                name = str(path.relative_to(root))
                if name.split("/")[0] == ".baton" or name.startswith((".config/baton", ".local")) or name == ".config" and root == self.home:
                    continue
                status = path.lstat()
                said = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
                out[str(path)] = (stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), said)
        return out

    def environment(self, **more):
        return super().environment(**{**getattr(self, "more", {}), **more})

    def run(self, *arguments, status=0, input=None, timeout=WAIT, **environment):
        done = subprocess.run([self.baton, *arguments], input=input, capture_output=True, text=True, timeout=timeout,
                              env=self.environment(**environment), cwd=self.project)
        if status is None:
            return done
        need(done.returncode == status, f"baton {' '.join(arguments)}: status {done.returncode}, wanted {status}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def serve(self):
        """A node at the store's own socket, where hooks look for it."""
        path = os.path.join(self.store, "node.sock")
        with open(os.path.join(self.folder, "node.out"), "wb") as out:
            process = subprocess.Popen([self.baton, "serve", "--store", self.store, "--log", os.path.join(self.folder, "node.log")],
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=self.environment(), cwd=self.folder)
        node = Node(process, path, None, None)
        self.nodes.append(node)
        until = time.monotonic() + READY_SECONDS_MAX
        while time.monotonic() < until:
            try:
                if node.request("GET", "/healthz").status == 200:
                    return node
            except OSError:
                need(process.poll() is None, "the node ended")
            time.sleep(0.02)
        raise AssertionError("the node did not get ready")

    def adopt(self, *arguments, status=0, **environment):
        client = [self.case["client"]] if self.case.get("client") else []
        return self.run("adopt", *client, *arguments, status=status, **environment)

    def entries(self):
        said = self.run("ledger", "show", "--stream", "adoption", "--format", "json", status=None)
        need(said.returncode == 0, said)
        return [json.loads(line) for line in said.stdout.splitlines() if line.strip()]

    def types(self):
        return [entry["entry"]["type"] for entry in self.entries()]

    def hook(self, command, client, tool, arguments, number=[0]):
        number[0] += 1
        if client == "copilot":
            event = {"sessionId": "s-1", "timestamp": 1, "cwd": str(self.project), "toolName": tool, "toolArgs": json.dumps(arguments)}
        else:
            event = {"hook_event_name": EVENTS[client], "session_id": "s-1", "conversation_id": "s-1", "transcript_path": "/t", "cwd": str(self.project),
                     "workspace_roots": [str(self.project)], "tool_name": tool, "tool_input": arguments, "tool_use_id": f"t{number[0]}", "timestamp": "x",
                     "generation_id": "g"}
        return subprocess.run(["sh", "-c", command], input=json.dumps(event), capture_output=True, text=True, timeout=WAIT, env=self.environment(),
                              cwd=self.project)


def commands_in(value, found):
    """Every command of hooks in a settings file."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name in ("command", "bash") and isinstance(member, str):
                found.append(member)
            commands_in(member, found)
    elif isinstance(value, list):
        for member in value:
            commands_in(member, found)
    return found


def plain_json(text):
    """JSON of files without comments within strings, which is what these cases have."""
    lines = [line for line in text.lstrip("\ufeff").splitlines() if not line.strip().startswith(("//", "/*"))]
    import re
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", "\n".join(lines)))


def denied(done):
    if done.returncode == 2:
        return True
    return done.returncode == 0 and done.stdout.strip() != "" and '"deny"' in done.stdout


def without_secrets(place, text, where):
    for secret in place.case["secrets"]:
        need(secret not in text, f"a secret in {where}")


# --- the whole way ------------------------------------------------------------------------------------------------------------------------------


def whole_way(place):
    case = place.case
    dry = place.adopt("--dry-run")
    without_secrets(place, dry, "the dry run")
    need(place.everything() == place.before, "a dry run changes nothing")
    need(place.types() == [] and not os.path.exists(os.path.join(place.store, "adopted")), "a dry run leaves nothing")

    said = place.adopt()
    without_secrets(place, said, "what is said")
    after = place.everything()
    need(after != place.before, "something is wired")
    for name, (kind, mode, _) in place.before.items():
        need(name in after and after[name][0] == kind and after[name][1] == mode, f"{name} is what it was")
    told = json.loads(place.adopt("--format", "json"))
    clients = case.get("clients") or [case["client"]]
    need([one["client"] for one in told["adopted"]] == clients, told)
    for one in told["adopted"]:
        need(not one["changed"] and one["pack"]["active"], one)
        place.run("contract", "check", one["pack"]["folder"])
        pack = "".join(path.read_text() for path in Path(one["pack"]["folder"]).iterdir())
        without_secrets(place, pack, "the pack")
        for line in one["not_carried"]:
            need(line in pack, "what was not carried is listed in the pack's folder: " + line)
    need(place.everything() == after, "a second time changes nothing")
    need(place.types() == ["adoption.wired"] * len(clients), place.types())

    if case["hook"]:
        client = clients[0]
        commands = [one for one in commands_in(plain_json(place.path(case["hook"]).read_bytes().decode("utf-8-sig")), [])
                    if f"baton-hook {client} {EVENTS[client]} " in one]
        need(len(commands) == 1, commands)
        key = place.node.request("GET", "/v1/status", token=place.token).json["ledger"]["answer_key"]
        need(f" --node-key {key}" in commands[0], commands)
        for tool, arguments in case["denied"]:
            done = place.hook(commands[0], client, tool, arguments)
            need(denied(done) and "checkpoint" not in done.stdout, (tool, arguments, done))
        for tool, arguments in case["asked"]:
            done = place.hook(commands[0], client, tool, arguments)
            need(denied(done) and "checkpoint" in done.stdout, (tool, arguments, done))
            # While somebody is asked the session waits.
            waiting = place.node.request("GET", "/v1/approvals?state=pending", token=place.token).json["approvals"]
            need(len(waiting) == 1, waiting)
            decided = {"decision": "deny", "digest": waiting[0]["digest"]}
            need(place.node.request("POST", f"/v1/approvals/{waiting[0]['id']}/decide", decided, token=place.token).status == 200, waiting)
        for tool, arguments in case["allowed"]:
            done = place.hook(commands[0], client, tool, arguments)
            need(not denied(done) and done.returncode == 0, (tool, arguments, done))

    status = json.loads(place.run("status", "--format", "json"))
    need([one["whole"] for one in status["adoptions"]] == [True] * len(clients), status)
    tamper = case["tamper"]
    path = place.path(tamper["file"])
    good = path.read_bytes()
    need(tamper["from"].encode() in good, f"{tamper['from']} is in {tamper['file']}")
    path.write_bytes(good.replace(tamper["from"].encode(), tamper["to"].encode()))
    human = place.run("status", status=1)
    need("not as it was wired: " in human and tamper["file"].split("/")[-1] in human, human)
    place.run("status", "--format", "json", status=1)
    need(place.types().count("adoption.broken") == 1, place.types())
    place.adopt()
    need("not whole" not in place.run("status"), "wired again")
    need(place.types()[-1] in ("adoption.whole", "adoption.wired") and place.types().count("adoption.broken") == 1, place.types())

    place.adopt("--undo")
    now = place.everything()
    need(now == place.before, {name: (place.before.get(name), now.get(name)) for name in {**now, **place.before} if now.get(name) != place.before.get(name)})
    need(place.types()[-1] == "adoption.undone", place.types())
    need(os.listdir(os.path.join(place.store, "adopted")) == [".lock"], os.listdir(os.path.join(place.store, "adopted")))
    place.adopt("--undo", status=1)
    without_secrets(place, place.run("ledger", "export"), "the ledger")


# --- stories of their own -----------------------------------------------------------------------------------------------------------------------


def edited_since(place):
    """What others write into the files between stays when Baton's part is taken out."""
    place.case = {"client": "claude", "secrets": []}
    place.write(".claude/settings.json", b'{\n  "permissions": {\n    "deny": ["Bash(rm:*)"]\n  }\n}\n')
    place.write("~/.claude.json", b'{\n  "numStartups": 1,\n  "mcpServers": {\n    "a": {\n      "command": "a"\n    }\n  }\n}\n', 0o600)
    place.adopt()
    state = place.path("~/.claude.json")
    state.write_bytes(state.read_bytes().replace(b'"numStartups": 1', b'"numStartups": 2'))
    settings = place.path(".claude/settings.json")
    settings.write_bytes(settings.read_bytes().replace(b'["Bash(rm:*)"]', b'["Bash(rm:*)", "WebSearch"]'))
    need("everything is wired" not in place.adopt(), "another rule is another pack")
    place.adopt("--undo")
    need(state.read_bytes() == b'{\n  "numStartups": 2,\n  "mcpServers": {\n    "a": {\n      "command": "a"\n    }\n  }\n}\n', state.read_text())
    need(settings.read_bytes() == b'{\n  "permissions": {\n    "deny": ["Bash(rm:*)", "WebSearch"]\n  }\n}\n', settings.read_text())

    # A client that writes its file anew, as it does.
    servers = {"a": {"type": "stdio", "command": "a", "args": [], "env": {}}, "b": {"command": "b", "args": ["-x", "y"], "env": {"K": "v"}},
               "c": {"type": "http", "url": "https://c.example/mcp"}}
    data = {"numStartups": 1, "mcpServers": servers, "projects": {str(place.project): {"mcpServers": {"d": {"command": "d", "args": []}}, "allowedTools": []}}}
    state.write_text(json.dumps(data, indent=2))
    place.adopt()
    now = json.loads(state.read_text())
    need(now["mcpServers"]["a"]["args"][0] == "mcp" and now["projects"][str(place.project)]["mcpServers"]["d"]["args"][0] == "mcp", now)
    now["numStartups"] = data["numStartups"] = 7
    now["projects"][str(place.project)]["allowedTools"].append("Read")
    data["projects"][str(place.project)]["allowedTools"].append("Read")
    now["tips"] = data["tips"] = {"x": 1}
    state.write_text(json.dumps(now, indent=2))
    place.adopt("--undo")
    need(state.read_text() == json.dumps(data, indent=2), state.read_text())

    # The same lines: refused, nothing changed; --force puts the original back and keeps the other.
    original = settings.read_bytes()
    place.adopt()
    changed = settings.read_bytes().replace(b"claude PreToolUse", b"claude Nothing")
    settings.write_bytes(changed)
    done = place.adopt("--undo", status=None)
    need(done.returncode == 2 and "nothing was changed" in done.stderr and "--force" in done.stderr, done)
    need(settings.read_bytes() == changed, "nothing was changed")
    place.adopt("--undo", "--force")
    need(settings.read_bytes() == original and (settings.parent / "settings.json.before-undo").read_bytes() == changed, "both are there")


def refused(place):
    """Whatever is wrong is told before anything is touched."""
    place.case = {"client": "claude", "secrets": []}

    def no(what, status=2, *arguments, **environment):
        seen = place.everything()
        done = place.adopt(*arguments, status=None, **environment)
        need(done.returncode == status and what in done.stderr + done.stdout, done)
        need(place.everything() == seen and place.types() == [], "nothing was changed")

    place.write(".claude/settings.json", b'{"hooks": ')
    no("it is not JSON")
    place.write(".claude/settings.json", b'{"hooks": []}')
    no("`hooks` is not an object")
    place.write(".claude/settings.json", b"{}", 0o444)
    no("read-only")
    place.path(".claude/settings.json").chmod(0o644)
    no("an agent at work", 2, BATON_SESSION_TOKEN="x")
    no("`baton init` makes one", 2, BATON_STORE=str(place.home / "none"))
    no("nothing is adopted", 1, "--undo")
    pack = place.project / "pack"
    pack.mkdir()
    (pack / "mine.txt").write_text("x")
    no("is not empty", 2, "--pack", str(pack))
    place.case = {"client": None, "secrets": []}
    place.path(".claude/settings.json").unlink()
    no("no settings of a coding agent", 1)


def without_an_operator(place):
    """Who is none gets the command that an operator types; until then every call is refused."""
    place.case = {"client": "claude", "secrets": []}
    place.write(".claude/settings.json", b"{}")
    other = str(Path(place.folder) / "elsewhere")
    said = place.adopt(XDG_CONFIG_HOME=other)
    need("baton contract activate " in said and "--role claude --hash sha256:" in said and "takes an operator" in said, said)
    command = commands_in(json.loads(place.path(".claude/settings.json").read_text())["hooks"]["PreToolUse"], [])[0]
    need(denied(place.hook(command, "claude", "Read", {"file_path": "a"})), "no pack, no call")
    line = next(line for line in said.splitlines() if "baton contract activate" in line).split("      (")[0].split()
    place.run(*line[1:])
    need(place.hook(command, "claude", "Read", {"file_path": "a"}).returncode == 0, "held to the pack")
    place.run("adopt", "claude", "--undo")
    need(place.path(".claude/settings.json").read_bytes() == b"{}", "as it was")


def seen_by_the_node_alone(place):
    """A node that starts looks, and records what it finds once."""
    place.case = {"client": "cursor", "secrets": []}
    place.write(".cursor/mcp.json", b'{"mcpServers": {}}')
    place.adopt()
    place.node.stop()
    place.path(".cursor/hooks.json").unlink()
    place.node = place.serve()
    eventually("the node has looked", lambda: place.types().count("adoption.broken") == 1)
    place.node.stop()
    place.node = place.serve()
    need("adoption.whole" not in place.types(), "it is not")
    place.run("status", status=1)
    need(place.types().count("adoption.broken") == 1, "once")
    servers = place.path(".cursor/mcp.json")
    servers.rename(servers.parent / "aside")
    servers.mkdir()  # what root cannot read either
    need("cannot be told: " in place.run("status", status=1), "what cannot be read is said")
    servers.rmdir()
    (servers.parent / "aside").rename(servers)
    place.adopt()
    place.run("status")
    need(place.types()[-1] in ("adoption.whole", "adoption.wired"), place.types())
    place.adopt("--undo")
    need(not place.path(".cursor/hooks.json").exists(), "as it was")


SERVER = """import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    said = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        said["result"] = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif asked["method"] == "tools/list" and os.environ.get("KEY") == "SECRET-s1":
        said["result"] = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("list_notes", "delete_note", "Read")]}
    else:
        said["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(said), flush=True)
"""


def servers_are_asked(place):
    """With --ask-servers the tools of servers have contracts, and keep them when nobody asks again."""
    place.case = {"client": "claude", "secrets": ["SECRET-s1"]}
    place.write("server.py", SERVER.encode())
    servers = {"notes": {"command": sys.executable, "args": ["server.py"], "env": {"KEY": "SECRET-s1"}}, "gone": {"command": "/nowhere/server"}}
    place.write(".mcp.json", json.dumps({"mcpServers": servers}).encode())
    place.write(".claude/settings.json", json.dumps({"permissions": {"deny": ["mcp__notes__delete_note"]}}).encode())
    before = place.everything()
    done = place.adopt("--ask-servers", status=None)
    need(done.returncode == 0 and "the MCP server gone was not understood" in done.stderr, done)
    without_secrets(place, done.stdout + done.stderr, "what is said")
    told = json.loads(place.adopt("--format", "json"))["adopted"][0]
    need(not told["changed"] and told["pack"]["active"], told)
    command = commands_in(json.loads(place.path(".claude/settings.json").read_text())["hooks"]["PreToolUse"], [])[0]
    need(place.hook(command, "claude", "mcp__notes__list_notes", {}).returncode == 0, "it is allowed")
    need(denied(place.hook(command, "claude", "mcp__notes__delete_note", {})), "it is denied")
    need(denied(place.hook(command, "claude", "mcp__notes__Read", {"file_path": "a"})), "a server's tool is none of the client's own")
    need(denied(place.hook(command, "claude", "mcp__gone__x", {})), "nobody knows it")
    for path in Path(told["pack"]["folder"]).iterdir():
        without_secrets(place, path.read_text(), path.name)
    place.adopt("--undo")
    need(place.everything() == before, "as it was")


def killed(place):
    """Killed again and again while it works: whatever it had done is taken back by the next one."""
    place.case = {"client": "claude", "secrets": []}
    place.write(".claude/settings.json", b'{"permissions": {"deny": ["Bash(rm:*)"]}}')
    place.write(".mcp.json", b'{"mcpServers": {"a": {"command": "a"}}}')
    before = place.everything()
    for number in range(12):
        process = subprocess.Popen([place.baton, "adopt", "claude"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=place.environment(), cwd=place.project)
        time.sleep(0.004 * number)
        process.send_signal(signal.SIGKILL)
        process.wait(WAIT)
        place.run("adopt", "claude", "--undo", status=None)
        need(place.everything() == before, f"as it was, after {number}")
    place.adopt()
    place.adopt("--undo")
    need(place.everything() == before, "as it was")


STORIES = {name: (story, {}) for name, story in (("edited_since", edited_since), ("refused", refused), ("without_an_operator", without_an_operator),
                                                 ("seen_by_the_node_alone", seen_by_the_node_alone), ("servers_are_asked", servers_are_asked), ("killed", killed))}
for path in sorted(CASES.glob("*.json")):
    STORIES[path.stem] = (whole_way, {"case": json.loads(path.read_text())})


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    need(os.path.dirname(os.path.abspath(sys.argv[1])) == os.path.dirname(os.path.abspath(sys.argv[2])), "the two programs lie side by side")
    return tell(STORIES, sys.argv[3:], lambda **how: Place(sys.argv[1], **how))


if __name__ == "__main__":
    sys.exit(main())
