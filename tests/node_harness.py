# SPDX-License-Identifier: Apache-2.0
"""For tests that run real nodes: a workspace of its own, `baton serve` started and ended, requests over socket and TCP.

Python 3 and its standard library, nothing else. Every process that is started here is ended by its id.
"""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

READY_SECONDS_MAX = 60
END_SECONDS_MAX = 30


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json.get("code")

    def __repr__(self):
        return f"{self.status} {self.body[:400]!r}"


class Node:
    """A running `baton serve`."""

    def __init__(self, process, socket_path, address, log):
        self.process, self.socket_path, self.address, self.log = process, socket_path, address, log

    def request(self, method, path, body=None, token=None, session=None, headers=(), tcp=False, timeout=30):
        if tcp:
            host, port = self.address.rsplit(":", 1)
            connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
        else:
            connection = UnixConnection(self.socket_path, timeout)
        sent = dict(headers)
        if token:
            sent["Authorization"] = "Bearer " + token
        if session:
            sent["Baton-Session"] = session
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def kill(self):
        """As by a power cut."""
        self.process.kill()
        self.process.wait(END_SECONDS_MAX)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(END_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise AssertionError("the node did not end when it was asked to")
        return self.process.returncode


class Workspace:
    """A folder with a home, keys, a store (or a PostgreSQL URL) and a configuration; gone at the end, nodes first."""

    def __init__(self, baton, store=None, config="exit_protocol: true\n"):
        self.baton = os.path.abspath(baton)
        self.folder = tempfile.mkdtemp(prefix="baton-test-")
        self.store = store or os.path.join(self.folder, "store")
        self.nodes = []
        os.makedirs(os.path.join(self.folder, "home"))
        os.makedirs(os.path.join(self.folder, "secrets"))
        with open(self.config_file, "w") as file:
            file.write(config)

    config_file = property(lambda self: os.path.join(self.folder, "config.yaml"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            if node.process.poll() is None:
                node.process.kill()
                node.process.wait(END_SECONDS_MAX)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, **more):
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
        kept.update(HOME=os.path.join(self.folder, "home"), BATON_STORE=self.store,
                    BATON_KEYS=os.path.join(self.folder, "keys"), NO_COLOR="1")
        kept.update({name: value for name, value in more.items() if value is not None})
        return kept

    def run(self, *arguments, status=0, input=None, timeout=120, **environment):
        """A command to its end; what it printed. `status` None: whatever it is, and the whole result is given."""
        done = subprocess.run([self.baton, *arguments], input=input, capture_output=True, text=True, timeout=timeout,
                              env=self.environment(**environment), cwd=self.folder)
        if status is None:
            return done
        assert done.returncode == status, f"baton {' '.join(arguments)}: status {done.returncode}, wanted {status}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def init(self):
        self.run("init", "--store", self.store)
        with open(os.path.join(self.folder, "home", ".config", "baton", "operator.token")) as file:
            return file.read().strip()

    def serve(self, name="a", *arguments, stdin=subprocess.DEVNULL):
        """Starts a node on a socket and a free port, and waits until it answers."""
        socket_path = os.path.join(self.folder, name + ".sock")
        log_path = os.path.join(self.folder, name + ".log")
        out_path = os.path.join(self.folder, name + ".out")
        with open(out_path, "wb") as out:
            process = subprocess.Popen(
                [self.baton, "serve", "--store", self.store, "--config", self.config_file, "--socket", socket_path,
                 "--listen", "127.0.0.1:0", "--log", log_path, *arguments],
                stdin=stdin, stdout=out, stderr=subprocess.STDOUT, env=self.environment(), cwd=self.folder)
        node = Node(process, socket_path, None, log_path)
        self.nodes.append(node)
        until = time.monotonic() + READY_SECONDS_MAX
        while time.monotonic() < until:
            with open(out_path) as out:
                text = out.read()
            found = re.search(r"127\.0\.0\.1:(\d+)", text)
            if found and os.path.exists(socket_path):
                node.address = "127.0.0.1:" + found.group(1)
                return node
            if process.poll() is not None:
                raise AssertionError(f"the node ended with status {process.returncode}: {text}")
            time.sleep(0.02)
        raise AssertionError("the node did not get ready")

    def verify(self):
        said = self.run("ledger", "verify", "--rebuild", status=None)
        assert said.returncode == 0, f"ledger verify --rebuild: {said.stdout}\n{said.stderr}"
