#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command with a PostgreSQL server of its own.

    tests/with_postgres.py COMMAND [ARGUMENT...]

Makes a cluster in a temporary folder (UTF8, locale C, fsync on, scram-sha-256 with a random password), starts it on a
free loopback port, runs the command with

    BATON_TEST_POSTGRES       postgresql://baton:PASSWORD@127.0.0.1:PORT/postgres, a superuser's URL
    BATON_TEST_POSTGRES_CTL   a command line for the test: `$BATON_TEST_POSTGRES_CTL stop` (immediate, as by a power cut),
                              `start`, `restart` (immediate stop and start); each returns when it is done

and exits as the command did. The server and the folder are gone afterwards, also when the command fails or is killed,
or this program is: a process of its own sees to that. Tests make a database each (CREATE DATABASE) in the one cluster.

initdb refuses root, so root runs the server as the user postgres. Exit status 77 (skipped) when PostgreSQL's server is
not installed. Python 3 and its standard library, nothing else.
"""

import glob
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

SKIPPED = 77
START_SECONDS_MAX = 60
SETTINGS = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
fsync = on
shared_buffers = 32MB
max_connections = 200
logging_collector = off
lc_messages = 'C'
"""


def binaries():
    """The folder of the newest server's programs; None when there is none."""
    def version(folder):
        number = re.search(r"/postgresql/([0-9]+)", folder)
        return int(number.group(1)) if number else 0

    found = [f for f in glob.glob("/usr/lib/postgresql/*/bin") if os.access(f + "/initdb", os.X_OK)]
    if found:
        return max(found, key=version)
    initdb = shutil.which("initdb")
    return os.path.dirname(os.path.realpath(initdb)) if initdb else None


def run(arguments, folder):
    """Runs one of the server's programs as a user who may: oneself, or `postgres` when that is root. A failure says why."""
    identity = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    # The server inherits what it is started with: nothing of the test's may be among it.
    with open(os.path.join(folder, "programs.log"), "ab") as log:
        status = subprocess.run(
            arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, close_fds=True, **identity,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}, timeout=2 * START_SECONDS_MAX).returncode
    return status


def control(folder, action):
    data, tool = os.path.join(folder, "data"), os.path.join(binaries(), "pg_ctl")
    # A session of its own: an interrupt at the terminal is for the test, not for the server.
    start = ["setsid", tool, "start", "-D", data, "-w", "-t", str(START_SECONDS_MAX), "-l", os.path.join(folder, "server.log")]
    stop = [tool, "stop", "-D", data, "-m", "immediate", "-w"]
    actions = {"start": [start], "stop": [stop], "restart": [stop, start]}
    if action not in actions:
        sys.exit(f"with_postgres: there is no action `{action}`: start, stop, restart")
    return max(run(arguments, folder) for arguments in actions[action])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def show_logs(folder):
    for name in ("programs.log", "server.log"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                sys.stderr.write(f"--- {name}\n" + "".join(file.readlines()[-40:]))


def make_cluster(folder, password):
    """Returns the port, or None."""
    secret = os.path.join(folder, "password")
    with open(secret, "w", encoding="ascii") as file:
        file.write(password + "\n")
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        for path in (folder, secret):
            os.chown(path, user.pw_uid, user.pw_gid)
    data = os.path.join(folder, "data")
    # Only the making is not synced: a machine that stops meanwhile has no test to go on with.
    made = run([os.path.join(binaries(), "initdb"), "--pgdata", data, "--username=baton", "--pwfile", secret,
                "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"], folder)
    if made != 0:
        return None
    for _ in range(5):  # somebody else may take the port meanwhile
        port = free_port()
        with open(os.path.join(data, "postgresql.auto.conf"), "w", encoding="ascii") as file:
            file.write(SETTINGS.format(port=port, folder=folder))
        if control(folder, "start") == 0:
            return port
    return None


def clean_up_when_closed(folder):
    """Starts a process that stops the server and removes the folder as soon as this one ends, however it ends. Returns
    what to close to have it begin, and what is closed when it is done."""
    begin_read, begin_write = os.pipe()
    done_read, done_write = os.pipe()
    child = os.fork()
    if child != 0:
        os.close(begin_read)
        os.close(done_write)
        os.waitpid(child, 0)
        return begin_write, done_read
    # Twice removed, in a session of its own: who kills this program and all its children (ctest does) spares it.
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    os.close(begin_write)
    os.close(done_read)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    try:
        os.read(begin_read, 1)
        if os.path.exists(os.path.join(folder, "data", "postmaster.pid")):
            control(folder, "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 3 and arguments[0] == "--control":
        return control(arguments[1], arguments[2])
    if not arguments or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    if binaries() is None:
        print("with_postgres: PostgreSQL's server is not installed (Debian: postgresql-15)", file=sys.stderr)
        return SKIPPED

    child = None

    def stop(number, _frame):
        if child is not None:
            child.send_signal(number)  # its end is awaited below
        else:
            sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)

    place = tempfile.gettempdir()
    folder = tempfile.mkdtemp(prefix="baton-postgres-", dir=place if len(place) < 60 else "/tmp")  # a socket's path is short
    begin, done = clean_up_when_closed(folder)
    try:
        password = secrets.token_urlsafe(24)
        port = make_cluster(folder, password)
        if port is None:
            print("with_postgres: the server could not be started", file=sys.stderr)
            show_logs(folder)
            return 1
        environment = dict(os.environ)
        environment["BATON_TEST_POSTGRES"] = f"postgresql://baton:{password}@127.0.0.1:{port}/postgres"
        environment["BATON_TEST_POSTGRES_CTL"] = f"{sys.executable} {os.path.abspath(__file__)} --control {folder}"
        child = subprocess.Popen(arguments, env=environment)
        status = child.wait()
        if status != 0 and os.environ.get("BATON_TEST_VERBOSE"):
            show_logs(folder)
        return status if status >= 0 else 128 - status
    finally:
        os.close(begin)
        os.read(done, 1)


if __name__ == "__main__":
    sys.exit(main())
