#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real `baton serve` as a process: ready, alone, ended, killed, idle, crowded, and what it writes about it.

    node_process_test.py BATON [--streams N] [--only PART_OF_A_NAME]

Python 3 and its standard library, nothing else. Every process that is started here is ended by its id.
"""

import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from node_harness import END_SECONDS_MAX, Workspace

PATIENCE = 60


def eventually(is_so, what):
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until, what
        time.sleep(0.02)


def is_there(pid):
    """A process that runs; one that has ended and is not waited for yet does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def resident_bytes(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) * 1024


def connect(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(path)  # blocking: a crowd at the door waits its turn
    client.settimeout(PATIENCE)
    return client


def read_all(client):
    out = b""
    while True:
        try:
            piece = client.recv(65536)
        except ConnectionResetError:
            return out
        if not piece:
            return out
        out += piece


def log_lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.strip()]


# --- beginning and ending -----------------------------------------------------------------------------------------------


def test_ready_and_alone(workspace, operator):
    node = workspace.serve()
    for tcp in (False, True):
        assert node.request("GET", "/healthz", tcp=tcp).json == {"status": "ok"}
    assert node.request("GET", "/v1/status", tcp=True).status == 401
    status = node.request("GET", "/v1/status", token=operator, tcp=True).json
    assert status["node"]["pid"] == node.process.pid and status["exit_protocol"] is True, status
    assert os.stat(node.socket_path).st_mode & 0o777 == 0o600
    # No picture of its memory on the disk, nor for others of its user; root sees everything.
    with open(f"/proc/{node.process.pid}/limits", encoding="ascii") as limits:
        assert re.search(r"^Max core file size +0 +0 ", limits.read(), re.M)
    if os.geteuid() != 0 and "ASAN_OPTIONS" not in os.environ:
        assert not os.access(f"/proc/{node.process.pid}/environ", os.R_OK)

    second = workspace.run("serve", "--store", workspace.store, "--config", workspace.config_file, "--socket",
                           os.path.join(workspace.folder, "b.sock"), status=None)
    assert second.returncode == 2, second
    assert "STORE_LOCKED" in second.stderr and str(node.process.pid) in second.stderr, second.stderr
    assert not os.path.exists(os.path.join(workspace.folder, "b.sock"))
    assert node.request("GET", "/healthz").status == 200  # the first one does not mind


def test_ends_in_order(workspace, operator):
    node = workspace.serve()
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(
        node.request("POST", "/v1/claim", {"wait_seconds": 500}, token=operator, timeout=PATIENCE)))
    waiting.start()
    stream = connect(node.socket_path)
    stream.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert stream.recv(4096).startswith(b"HTTP/1.1 200")
    idle = connect(node.socket_path)
    eventually(lambda: node.request("GET", "/v1/status", token=operator).json["node"]["waiting_claims"] == 1, "nobody waits")
    node.process.send_signal(signal.SIGTERM)
    waiting.join(PATIENCE)
    assert answers and answers[0].status == 200 and answers[0].json == {"work": None, "session": None}, answers
    read_all(stream)
    read_all(idle)
    assert node.process.wait(END_SECONDS_MAX) == 0
    assert not os.path.exists(node.socket_path), "the socket is still there"
    assert [line["event"] for line in log_lines(node.log)][-2:] == ["ending", "ended"]
    workspace.verify()


def test_killed_and_back(workspace, operator):
    node = workspace.serve()
    made = [node.request("POST", "/v1/work", {"title": f"item {at}"}, token=operator).json["work"]["id"] for at in range(5)]
    node.kill()
    assert os.path.exists(node.socket_path), "a killed node cannot remove its socket"
    node = workspace.serve()
    listed = [item["id"] for item in node.request("GET", "/v1/work", token=operator).json["items"]]
    assert listed == made, (listed, made)
    assert node.request("POST", "/v1/work", {"title": "another"}, token=operator).status == 201
    assert node.stop() == 0
    workspace.verify()


PACK = {
    "session.yaml": 'schema_version: "1.0"\nagent: reader\nphases: [{name: open, initial: true, terminal: true}]\n',
    "look.yaml": """tool: look
side_effect: read
evidence_class: local_transaction
commit_requirement: acknowledged
timeouts: {total_ms: 1000}
retries: {max_attempts: 1, retry_on: []}
rate_limits: {on_429: {respect_retry_after: true, max_sleep_seconds: 1}}
assertions: {input_invariants: [], output_invariants: []}
golden_cases: []
allowed_errors: []
""",
}


def test_fast_lane(workspace, operator):
    """A node that was killed may have lost reads, and the next one says so; one that stopped has not."""
    folder = os.path.join(workspace.folder, "pack")
    os.makedirs(folder)
    for name, text in PACK.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    with open(workspace.config_file, "a") as file:
        file.write("fast_lane: {reads: true}\n")

    def unflushed():
        shown = workspace.run("ledger", "show", "--stream", "node", "--type", "node.unflushed_reads", "--format", "json", status=None)
        return len(shown.stdout.splitlines())

    def read(node, session, token, call):
        answer = node.request("POST", f"/v1/sessions/{session}/calls",
                              {"start": True, "calls": [{"call_id": call, "tool": "look", "arguments": {}}]},
                              token=operator, session=token)
        assert answer.status == 200 and answer.json["outcome"] == "proceed", answer
        on_lane = answer.json.get("fast_lane") is True
        assert on_lane == ("receipt" not in answer.json), answer
        return on_lane  # where commits take long, some go the ordinary way

    def calls(node, session):
        return node.request("GET", f"/v1/sessions/{session}", token=operator).json["session"]["governed"]["counters"]["tool_calls"]

    node = workspace.serve()
    workspace.run("contract", "activate", folder, "--node", "unix:" + node.socket_path)
    opened = node.request("POST", "/v1/sessions", {}, token=operator).json["session"]
    session, token = opened["id"], opened["token"]
    assert any([read(node, session, token, f"r{at}") for at in range(20)]), "none was on the lane"
    eventually(lambda: calls(node, session) == 20, "what was read is not recorded")
    node.kill()
    node = workspace.serve()
    assert unflushed() == 1
    assert calls(node, session) == 20, "what was recorded is gone"
    for at in range(5):
        read(node, session, token, f"s{at}")
    assert node.stop() == 0
    node = workspace.serve()
    assert unflushed() == 1, "nothing can be missing after a stop in order"
    assert calls(node, session) == 25
    node.kill()
    # Without a lane the one before is still spoken of, once.
    with open(workspace.config_file, "w") as file:
        file.write("exit_protocol: true\n")
    assert workspace.serve().stop() == 0
    assert workspace.serve().stop() == 0
    assert unflushed() == 2
    workspace.verify()


def test_idle_end(workspace, _):
    node = workspace.serve("a", "--idle", "1")
    busy = connect(node.socket_path)  # somebody is there
    time.sleep(2.5)
    assert node.process.poll() is None, "it ended under a client"
    busy.close()
    assert node.process.wait(END_SECONDS_MAX) == 0
    assert log_lines(node.log)[-2]["why"] == "idle"


def test_stop_by_request(workspace, operator):
    node = workspace.serve()
    assert node.request("POST", "/v1/stop").status == 403  # not started by a client: operators only
    assert node.request("POST", "/v1/stop", token=operator).status == 200
    assert node.process.wait(END_SECONDS_MAX) == 0


# --- what does not start --------------------------------------------------------------------------------------------------


def test_refuses_to_start(workspace, _):
    def refused(*arguments, says, store=workspace.store):
        done = workspace.run("serve", "--store", store, *arguments, status=None, timeout=PATIENCE)
        assert done.returncode == 2, done
        for text in says:
            assert text in done.stderr, (text, done.stderr)

    for address in ("0.0.0.0:0", "[::]:0"):
        refused("--listen", address, says=["NODE_LISTEN_OPEN", address])
    refused("--listen", "nonsense", says=["--listen takes"])
    refused("--tls-certificate", "x.pem", says=["--tls-key"])
    refused(store=os.path.join(workspace.folder, "nowhere"), says=["STORE_NOT_FOUND"])
    wrong = os.path.join(workspace.folder, "wrong.yaml")
    with open(wrong, "w") as file:
        file.write("exit_protocol: perhaps\nnonsense: 1\n")
    refused("--config", wrong, says=["NODE_CONFIG", "CONFIG_FIELD_TYPE", "CONFIG_FIELD_UNKNOWN", "wrong.yaml:1:", "wrong.yaml:2:"])
    # What one node holds in memory another would not know of: not where several share a store.
    lane = os.path.join(workspace.folder, "lane.yaml")
    with open(lane, "w") as file:
        file.write("fast_lane: {reads: true}\n")
    refused("--config", lane, store="postgresql://nobody@127.0.0.1:1/none", says=["NODE_CONFIG", "fast_lane", "PostgreSQL"])
    os.chmod(wrong, 0o666)
    refused("--config", wrong, says=["NODE_PATH_WRITABLE", "chmod go-w " + wrong])
    # With a certificate and a token other machines are listened to.
    if shutil.which("openssl") is None:
        return
    key, certificate = (os.path.join(workspace.folder, name) for name in ("node.key", "node.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    node = workspace.serve("tls", "--listen", "0.0.0.0:0", "--tls-certificate", certificate, "--tls-key", key)
    assert node.stop() == 0


def test_refuses_what_others_can_write(workspace, _):
    """The configuration, the store, what lies above them, and the keys: refused with the path, the mode and the command that helps."""
    inner = os.path.join(workspace.folder, "inner")
    os.makedirs(inner)
    store = os.path.join(inner, ".baton")
    workspace.run("init", "--store", store)
    mode = lambda path: os.stat(path).st_mode & 0o7777
    assert mode(store) == 0o700 and mode(os.path.join(workspace.folder, "keys")) == 0o700
    for name in os.listdir(store):
        assert mode(os.path.join(store, name)) & 0o077 == 0, (name, oct(mode(os.path.join(store, name))))

    def starts():
        done = workspace.run("work", "list", "--store", store, status=None, BATON_IN_PROCESS="1")
        return done.returncode == 0, done.stderr

    keys = os.path.join(workspace.folder, "keys")
    one_key = os.path.join(keys, sorted(os.listdir(keys))[0])
    for path, changed, code, command in (
            (store, 0o770, "NODE_PATH_WRITABLE", "chmod go-w "), (store, 0o702, "NODE_PATH_WRITABLE", "chmod go-w "),
            (store, 0o1777, "NODE_PATH_WRITABLE", "chmod go-w "),
            (os.path.join(store, "ledger.db"), 0o660, "NODE_PATH_WRITABLE", "chmod go-w "),
            (os.path.join(store, "config.yaml"), 0o620, "NODE_PATH_WRITABLE", "chmod go-w "),
            (os.path.join(store, "config.yaml"), 0o602, "NODE_PATH_WRITABLE", "chmod go-w "),
            (inner, 0o775, "NODE_PATH_WRITABLE", "chmod go-w "), (inner, 0o757, "NODE_PATH_WRITABLE", "chmod go-w "),
            (keys, 0o750, "NODE_KEYS_OPEN", "chmod 700 "), (keys, 0o701, "NODE_KEYS_OPEN", "chmod 700 "),
            (one_key, 0o711, "NODE_KEYS_OPEN", "chmod 700 ")):
        before = mode(path)
        os.chmod(path, changed)
        started, said = starts()
        assert not started and code in said and command + path in said and oct(changed)[2:] in said, (path, oct(changed), said)
        # The command that is named is enough.
        subprocess.run((command + path).split(), check=True)
        started, said = starts()
        assert started, (path, said)
        os.chmod(path, before)
    # A client that would start a node says so at once, and not only the node's log.
    os.chmod(store, 0o770)
    began = time.monotonic()
    done = workspace.run("work", "list", "--store", store, status=None)
    assert done.returncode == 2 and "NODE_PATH_WRITABLE" in done.stderr and "chmod go-w " + store in done.stderr, done
    assert time.monotonic() - began < 10, "it waited for a node that cannot start"
    os.chmod(store, 0o700)
    if os.geteuid() == 0:
        os.chown(os.path.join(store, "config.yaml"), 54321, -1)
        started, said = starts()
        assert not started and "NODE_PATH_OWNER" in said and "54321" in said, said
        os.chown(os.path.join(store, "config.yaml"), 0, -1)
    # To enter, and to read, is no matter of this; and a sticky folder above lets nobody replace what is ours.
    for path, changed in ((store, 0o750), (store, 0o711), (inner, 0o1777), (os.path.join(store, "config.yaml"), 0o644)):
        before = mode(path)
        os.chmod(path, changed)
        assert starts()[0], (path, oct(changed), starts())
        os.chmod(path, before)
    # By a link: the folder that the link lies in counts, and the one that it leads to.
    links = os.path.join(workspace.folder, "links")
    os.makedirs(links)
    os.symlink(store, os.path.join(links, "store"))
    done = lambda: workspace.run("work", "list", "--store", os.path.join(links, "store"), status=None, BATON_IN_PROCESS="1")
    assert done().returncode == 0, done()
    for path in (links, inner):
        os.chmod(path, 0o777)
        assert "NODE_PATH_WRITABLE" in done().stderr and path in done().stderr, done()
        os.chmod(path, 0o755)
    # Nothing is made where others could replace it.
    os.chmod(inner, 0o777)
    refused = workspace.run("init", "--store", os.path.join(inner, "new"), status=None)
    assert refused.returncode == 2 and "NODE_PATH_WRITABLE" in refused.stderr and not os.path.exists(os.path.join(inner, "new")), refused


# --- limits -----------------------------------------------------------------------------------------------------------------


def test_little_space(workspace, operator):
    """A floor that no disk is above: the node starts, says so, and begins nothing."""
    node = workspace.serve()
    assert node.request("POST", "/v1/work", {"title": "before", "phase": "IMPLEMENTATION"}, token=operator).status == 201
    made = node.request("POST", "/v1/tokens", {"actor": "bob", "kind": "agent"}, token=operator).json
    claimed = node.request("POST", "/v1/claim", {}, token=made["token"]).json["session"]
    status = node.request("GET", "/v1/status", token=operator).json["disk"]
    assert status["low"] is False and status["floor_bytes"] == 256 << 20 and status["free_bytes"] > 0, status
    assert node.stop() == 0
    with open(workspace.config_file, "w") as file:
        file.write(f"exit_protocol: true\nlimits: {{disk_free_bytes: {1 << 50}}}\n")
    node = workspace.serve("b")
    with open(node.log) as file:
        assert "STORE_DISK_LOW" in file.read()
    refused = node.request("POST", "/v1/work", {"title": "after"}, token=operator)
    assert refused.status == 507 and refused.code == "STORE_DISK_LOW" and "Retry-After" not in refused.headers, refused
    assert node.request("POST", "/v1/claim", {}, token=made["token"]).code == "STORE_DISK_LOW"
    assert node.request("POST", "/v1/sessions", {}, token=made["token"]).code == "STORE_DISK_LOW"
    assert node.request("POST", "/v1/tokens", {"actor": "zoe", "kind": "agent"}, token=operator).code == "STORE_DISK_LOW"
    status = node.request("GET", "/v1/status", token=operator).json["disk"]
    assert status["low"] is True, status
    said = workspace.run("status", "--node", "unix:" + node.socket_path)
    assert "STORE_DISK_LOW" in said, said
    assert len(node.request("GET", "/v1/work", token=operator).json["items"]) == 1
    freed = node.request("POST", f"/v1/sessions/{claimed['id']}/release", {}, token=made["token"], session=claimed["token"])
    assert freed.status == 200, freed
    revoked = node.request("POST", f"/v1/tokens/{made['token'].split('_')[2]}/revoke", {}, token=operator)
    assert revoked.status == 200, revoked
    assert node.stop() == 0
    workspace.verify()


def test_limits_of_actors(workspace, operator):
    with open(workspace.config_file, "w") as file:
        file.write("limits: {per_actor: {items: 2, requests_per_second: 20, bytes_per_hour: 3000}}\n")
    node = workspace.serve()
    tokens = {name: node.request("POST", "/v1/tokens", {"actor": name, "kind": "agent"}, token=operator).json["token"]
              for name in ("alice", "bob", "carol")}
    for _ in range(2):
        assert node.request("POST", "/v1/work", {"title": "one"}, token=tokens["alice"]).status == 201
    refused = node.request("POST", "/v1/work", {"title": "one"}, token=tokens["alice"])
    assert refused.status == 409 and refused.code == "ACTOR_ITEMS" and "Retry-After" not in refused.headers, refused
    # Bytes: what begins work is refused, with the time after which it may be tried again.
    assert node.request("POST", "/v1/work", {"title": "one", "text": "x" * 4000}, token=tokens["bob"]).status == 201
    refused = node.request("POST", "/v1/work", {"title": "two"}, token=tokens["bob"])
    assert refused.status == 429 and refused.code == "ACTOR_BYTES", refused
    assert 1 <= int(refused.headers["Retry-After"]) <= 4 * 3600, refused.headers
    # Requests: each actor has its own, and operators have no limit.
    answers = [node.request("GET", "/v1/work", token=tokens["carol"]) for _ in range(200)]
    late = [one for one in answers if one.status == 429]
    assert late and len(answers) - len(late) >= 20, [one.status for one in answers]
    assert all(one.code == "ACTOR_REQUESTS" and int(one.headers["Retry-After"]) >= 1 for one in late), late[0]
    assert all(node.request("GET", "/v1/work", token=operator).status == 200 for _ in range(50))
    time.sleep(1.1)
    assert node.request("GET", "/v1/work", token=tokens["carol"]).status == 200
    assert node.stop() == 0
    workspace.verify()


# --- clients that behave badly ----------------------------------------------------------------------------------------------


def test_bad_clients(workspace, operator):
    with open(workspace.config_file, "w") as file:
        file.write("limits: {body_bytes: 65536, read_seconds: 1, idle_seconds: 2}\n")
    node = workspace.serve()
    large = node.request("POST", "/v1/work", b"{" + b" " * 100_000, token=operator)
    assert large.status == 413 and large.code == "HTTP_BODY_TOO_LARGE", large

    # Half a request, and then nothing: told so, and closed.
    slow = connect(node.socket_path)
    slow.sendall(b"POST /v1/work HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    silent = [connect(node.socket_path) for _ in range(50)]
    # Nobody else notices.
    assert node.request("GET", "/healthz").status == 200
    assert b" 408 " in read_all(slow).split(b"\r\n")[0], "a slow client was not told"
    for client in silent:
        assert read_all(client) == b"", "an idle connection is closed without a word"
    garbage = connect(node.socket_path)
    garbage.sendall(b"\x16\x03\x01 not HTTP at all\r\n\r\n")
    assert read_all(garbage).startswith(b"HTTP/1.1 400")
    rebound = node.request("GET", "/healthz", headers={"Host": "evil.example"}, tcp=True)
    assert rebound.status in (400, 403, 421) and rebound.code == "HTTP_HOST", rebound
    assert node.stop() == 0


def test_many_streams(workspace, operator, count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = count + 200
    if hard != resource.RLIM_INFINITY and hard < need:
        print(f"  only {hard} descriptors: {hard - 200} streams instead of {count}")
        count = hard - 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(need, hard) if hard != resource.RLIM_INFINITY else need, hard))
    node = workspace.serve()
    node.request("GET", "/v1/status", token=operator)
    before = resident_bytes(node.process.pid)
    streams = []
    began = time.monotonic()
    for at in range(count):
        client = connect(node.socket_path)
        client.sendall(b"GET /v1/events?type=work.created HTTP/1.1\r\nHost: localhost\r\n\r\n")
        streams.append(client)
    for client in streams:
        assert client.recv(4096).startswith(b"HTTP/1.1 200"), "a stream was not taken"
    opened = time.monotonic() - began
    eventually(lambda: node.request("GET", "/v1/status", token=operator).json["node"]["streams_open"] == count, "not all are open")
    after = resident_bytes(node.process.pid)
    began = time.monotonic()
    made = node.request("POST", "/v1/work", {"title": "for everyone"}, token=operator).json["work"]["id"]
    wanted = f'"work_id":"{made}"'.encode()
    waiting = {client.fileno(): (client, b"") for client in streams}
    poll = select.poll()
    for descriptor in waiting:
        poll.register(descriptor, select.POLLIN)
    until = time.monotonic() + PATIENCE
    while waiting:
        assert time.monotonic() < until, f"{len(waiting)} streams did not get the event"
        for descriptor, _ in poll.poll(1000):
            client, got = waiting[descriptor]
            got += client.recv(65536)
            waiting[descriptor] = (client, got)
            if wanted in got:
                poll.unregister(descriptor)
                del waiting[descriptor]
    each = (after - before) / count
    print(f"  {count} idle event streams: opened in {opened:.2f} s, {each / 1024:.1f} KiB of memory each, "
          f"an event reached all of them in {time.monotonic() - began:.2f} s")
    assert each < 64 << 10, f"{each:.0f} bytes for an idle stream"
    for client in streams:
        client.close()
    eventually(lambda: node.request("GET", "/v1/status", token=operator).json["node"]["streams_open"] == 0, "streams stay open")
    assert node.stop() == 0
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# --- started by a client, or without a node -----------------------------------------------------------------------------------


def test_started_by_a_client(workspace, operator):
    # A client's flags and credentials are not the node's.
    flags = {"AGENT_EXIT_PROTOCOL_ENABLED": "true", "BATON_TOKEN": operator, "SOME_SECRET": "x"}
    workspace.run("work", "list", **flags)
    status = json.loads(workspace.run("status", "--format", "json"))
    pid = status["node"]["pid"]
    try:
        assert status["exit_protocol"] is False, status
        with open(f"/proc/{pid}/environ", "rb") as file:
            names = {entry.split(b"=")[0].decode() for entry in file.read().split(b"\0") if entry}
        kept = {name for name in names if name in ("PATH", "HOME", "LANG", "TZ") or name.startswith(("LC_", "XDG_"))}
        assert names == kept, names
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
        log = os.path.join(workspace.store, "node.log")
        assert os.stat(log).st_mode & 0o777 == 0o600
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        assert int(fields[3]) != os.getsid(0), "it is in the client's session"
        workspace.run("work", "list")
        assert json.loads(workspace.run("status", "--format", "json"))["node"]["pid"] == pid, "a second one was started"
        assert log_lines(log)[0]["event"] == "started"
        workspace.run("stop")  # its own user may
        eventually(lambda: not is_there(pid), "it did not end")
    finally:
        if is_there(pid):
            os.kill(pid, signal.SIGKILL)


def test_without_a_node(workspace, operator):
    workspace.run("work", "create", "alone", BATON_IN_PROCESS="1")
    listed = workspace.run("work", "list", "--format", "json", BATON_IN_PROCESS="1")
    assert listed.count('"title":"alone"') == 1, listed
    assert not os.path.exists(os.path.join(workspace.store, "node.sock"))
    refused = workspace.run("work", "list", status=None, BATON_IN_PROCESS="1", BATON_SESSION_TOKEN="baton_s_x")
    assert refused.returncode == 2 and "NODE_IN_PROCESS" in refused.stderr, refused
    # The node has the store: whoever wants it for itself is told who has it.
    node = workspace.serve()
    locked = workspace.run("work", "list", status=None, BATON_IN_PROCESS="1")
    assert locked.returncode == 2 and "STORE_LOCKED" in locked.stderr, locked
    # A process that descends from a supervised agent must not run the rules itself, with or without a session's token.
    claimed = node.request("POST", "/v1/claim", {}, token=operator).json
    session = claimed["session"]
    registered = node.request("POST", f"/v1/sessions/{session['id']}/process", {"pid": os.getpid()}, session=session["token"])
    assert registered.status == 200, registered
    eventually(lambda: node.request("GET", "/v1/tokens", token=operator).code == "ACCESS_SUPERVISED", "still an operator")
    assert node.stop() == 0
    refused = workspace.run("work", "list", status=None, BATON_IN_PROCESS="1")
    assert refused.returncode == 2 and "NODE_IN_PROCESS" in refused.stderr, refused


def test_log(workspace, operator):
    node = workspace.serve()
    node.request("GET", "/v1/work", token=operator[:-1] + ("A" if operator[-1] != "A" else "B"), tcp=True)
    node.request("GET", "/v1/nothing/" + operator, token=operator, tcp=True)
    node.request("POST", "/v1/work", {"title": 7, operator: 1}, token=operator)
    assert node.stop() == 0
    lines = log_lines(node.log)
    assert [line["event"] for line in lines].count("request") == 3, lines
    for line in lines:
        assert {"time", "level", "event"} <= line.keys(), line
    with open(node.log) as file:
        text = file.read()
    assert operator not in text and operator[10:40] not in text, text


def main():
    baton = sys.argv[1]
    streams = int(sys.argv[sys.argv.index("--streams") + 1]) if "--streams" in sys.argv else 2000
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    tests = [test_ready_and_alone, test_ends_in_order, test_killed_and_back, test_fast_lane, test_idle_end, test_stop_by_request,
             test_refuses_to_start, test_refuses_what_others_can_write, test_little_space, test_limits_of_actors, test_bad_clients, test_started_by_a_client, test_without_a_node, test_log,
             lambda workspace, operator: test_many_streams(workspace, operator, streams)]
    for test in tests:
        name = test.__name__ if test.__name__ != "<lambda>" else "test_many_streams"
        if only not in name:
            continue
        with Workspace(baton) as workspace:
            print(name, flush=True)
            test(workspace, workspace.init())
    print("all as it should be")


main()
