#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`baton mcp` between a scripted client and a scripted server (mcp/fixture_server.py), with a real node and a real pack.

    mcp_proxy_test.py PATH/TO/baton [STORY...]

Each story has a workspace and a node of its own; at its end the ledger is verified and rebuilt. Prints one line a story; exits 1 when
one failed.
"""

import json
import os
import queue
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from node_harness import Workspace
from stories import CONTRACT, WAIT, Wrong, eventually, need, tell

HERE = Path(__file__).resolve().parent
FIXTURE = str(HERE / "mcp" / "fixture_server.py")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
SESSION_KEY = "dev.baton/session"

# Tools and what their contracts say beyond the defaults; `secret` has none.
CONTRACTS = {
    "echo": {}, "echo_json": {}, "slow": {"timeouts": {"total_ms": 4000}}, "crash": {}, "big": {}, "garbage": {}, "environment": {},
    "redefine": {}, "fail": {}, "ask": {}, "heard": {}, "broken": {}, "speaks": {},
    "say": {"assertions": {"input_invariants": [], "output_invariants": [{"path": "$.good", "equals": True}]}},
    "pay": {"side_effect": "financial", "gate": "allow",
            "argument_value_invariants": [{"path": "$.amount", "lte": 100}],
            "checkpoint": {"when": [{"path": "$.amount", "gte": 10}], "timeout_seconds": 600}},
    "finish": {"side_effect": "write", "gate": "allow", "transitions": {"valid_in_phases": ["intake"], "advances_to": "done"}},
    "close_case": {"side_effect": "write", "gate": "allow", "transitions": {"valid_in_phases": ["done"]}},
    "unseen": {"transitions": {"valid_in_phases": ["done"]}},
    "check": {"assertions": {"input_invariants": [], "output_invariants": [{"path": "$.good", "equals": True}]}},
}
SESSION = {
    "schema_version": "1.0", "agent": "fixture-agent",
    "phases": [{"name": "intake", "initial": True}, {"name": "done", "terminal": True}],
    "transitions": {"intake": ["done"]},
    "session_limits": {"max_tool_calls": 100000, "max_steps": 100000},
    "mcp": {"unlisted": "record"},
}


def modern_meta(capabilities, **more):
    return {META + "protocolVersion": MODERN, META + "clientInfo": {"name": "test", "version": "1"}, META + "clientCapabilities": capabilities, **more}


def write_pack(folder, session=None, contracts=None, **changed):
    folder.mkdir()
    (folder / "session.yaml").write_text(json.dumps({**SESSION, **(session or {})}))
    for tool, more in {**CONTRACTS, **(contracts or {})}.items():
        contract = {"tool": tool, **CONTRACT}
        contract.update(more)
        contract.update(changed.get(tool, {}))
        (folder / (tool + ".yaml")).write_text(json.dumps(contract))


class Client:
    """A proxy and the client's end of it."""

    def __init__(self, place, *arguments, server=None, environment=None, in_process=False):
        self.place = place
        self.errors = open(os.path.join(place.folder, f"proxy-{len(place.clients)}.err"), "w+b")
        command = [place.baton, "mcp", *([] if in_process else ["--node", "unix:" + place.node.socket_path]), "--env", "FIXTURE_LOG", *arguments]
        if "--upstream" not in arguments and "--config" not in arguments:
            command += ["--", *(server or [sys.executable, FIXTURE])]
        more = {"FIXTURE_LOG": place.log, **({"BATON_IN_PROCESS": "1"} if in_process else {}), **(environment or {})}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        env={**place.environment(), **more}, cwd=place.folder)
        self.heard = queue.Queue()
        self.reads = threading.Event()
        self.reads.set()
        self.answers, self.others = {}, []
        self.next_id = 0
        self.modern = False
        self.names = None  # the token of the session that requests name
        place.clients.append(self)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.reads.wait()
            self.heard.put(line)
        self.heard.put(None)

    def stderr(self):
        self.errors.flush()
        return Path(self.errors.name).read_text(errors="replace")

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def say(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def hear(self, timeout=WAIT):
        """The next message that is no answer to an open request is kept in `others`."""
        try:
            line = self.heard.get(timeout=timeout)
        except queue.Empty:
            raise Wrong("nothing came from the proxy; its stderr: " + self.stderr()[-2000:])
        if line is None:
            raise Wrong("the proxy closed its output; its stderr: " + self.stderr()[-2000:])
        message = json.loads(line)
        if "method" in message:
            self.others.append(message)
        else:
            need(message.get("id") not in self.answers, f"answered twice: {line[:300]!r}")
            self.answers[message.get("id")] = message
        return message

    def ask(self, method, params=None, meta=None):
        self.next_id += 1
        params = dict(params or {})
        meta = {**({SESSION_KEY: self.names} if self.names else {}), **(meta or {})}
        if self.modern:
            params["_meta"] = modern_meta(self.capabilities, **meta)
        elif meta:
            params["_meta"] = meta
        self.say({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        return self.next_id

    def wait(self, number, timeout=WAIT):
        until = time.monotonic() + timeout
        while number not in self.answers:
            self.hear(max(0.01, until - time.monotonic()))
        return self.answers[number]

    def request(self, method, params=None, timeout=WAIT):
        return self.wait(self.ask(method, params), timeout)

    def begin(self, version="2025-11-25", capabilities=None):
        answer = self.request("initialize", {"protocolVersion": version, "capabilities": capabilities or {},
                                             "clientInfo": {"name": "test", "version": "1"}})
        need("result" in answer, answer)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def begin_modern(self, capabilities=None):
        self.modern, self.capabilities = True, capabilities or {}
        answer = self.request("server/discover")
        need("result" in answer, answer)
        return answer["result"]

    def tools(self):
        names, cursor = [], None
        while True:
            result = self.request("tools/list", {"cursor": cursor} if cursor else {})["result"]
            names += [one["name"] for one in result["tools"]]
            cursor = result.get("nextCursor")
            if cursor is None:
                return names

    def call(self, tool, arguments=None, timeout=WAIT):
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}}, timeout)

    def start_call(self, tool, arguments=None, meta=None):
        return self.ask("tools/call", {"name": tool, "arguments": arguments or {}}, meta)

    def text(self, tool, arguments=None):
        return text_of(self.call(tool, arguments))

    def end(self):
        """Closes its input, as clients do; the status."""
        if self.process.stdin:
            self.process.stdin.close()
        status = self.process.wait(WAIT)
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(WAIT)


class HttpClient:
    """A proxy that listens, and modern requests to it."""

    def __init__(self, place, *arguments, environment=None):
        self.client = Client(place, "--listen", "127.0.0.1:0", *arguments, environment=environment)
        found = eventually("it listens", lambda: re.search(r"listening on (\S+)", self.client.stderr()))
        self.url = f"http://{found.group(1)}/mcp"
        self.token = Path(re.search(r"bearer token in (\S+)", self.client.stderr()).group(1)).read_text().strip()
        self.next_id = 0

    def post(self, method, params=None, names=None):
        self.next_id += 1
        params = {**(params or {}), "_meta": modern_meta({}, **({SESSION_KEY: names} if names is not None else {}))}
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + self.token,
                   "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        body = json.dumps({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}).encode()
        request = urllib.request.Request(self.url, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=WAIT) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def end(self):
        self.client.process.terminate()
        status = self.client.process.wait(WAIT)
        need(status == 0, f"{status}: {self.client.stderr()}")


def text_of(answer):
    need("result" in answer and not answer["result"].get("isError"), answer)
    return answer["result"]["content"][0]["text"]


def lines_of(output):
    return [json.loads(line) for line in output.splitlines()]


def denied(answer, rule):
    """The text of a refusal, in the one shape that every client shows."""
    result = answer.get("result") or {}
    need(result.get("isError") is True, answer)
    need("structuredContent" not in result, answer)
    need(len(result["content"]) == 1 and result["content"][0]["type"] == "text", answer)
    text = result["content"][0]["text"]
    need(text.startswith(f"Denied by {rule}: "), text)
    need(result["_meta"]["dev.baton/decision"]["rule"] == rule, result["_meta"])
    return text


class Place(Workspace):
    """A workspace with a node, and the pack of the fixture's tools active for the role `agent`."""

    def __init__(self, baton, config="", **changed):
        super().__init__(baton, config="exit_protocol: true\n" + config)
        self.clients, self.children = [], []
        self.log = os.path.join(self.folder, "calls.log")
        self.read = os.path.join(self.folder, "read.log")  # what servers read, where they note it
        self.token = self.init()
        self.node = self.serve()
        write_pack(Path(self.folder) / "pack", **changed)
        self.run("contract", "activate", os.path.join(self.folder, "pack"), "--role", "agent", "--node", "unix:" + self.node.socket_path)

    def __exit__(self, *rest):
        for client in self.clients:
            client.kill()
            client.errors.close()
        for child in self.children:
            child.kill()
            child.wait(WAIT)
        super().__exit__(*rest)

    def client(self, *arguments, **more):
        return Client(self, *arguments, **more)

    def done(self):
        """Tools that the server carried out."""
        try:
            with open(self.log) as file:
                return [json.loads(line)[0] for line in file]
        except FileNotFoundError:
            return []

    def sessions(self):
        return self.node.request("GET", "/v1/sessions", token=self.token).json["sessions"]

    def session(self):
        """The only one."""
        all_of_them = self.sessions()
        need(len(all_of_them) == 1, all_of_them)
        return self.node.request("GET", "/v1/sessions/" + all_of_them[0]["id"], token=self.token).json["session"]["governed"]

    def open_calls(self):
        return self.session()["open_calls"]

    def approval(self):
        found = self.node.request("GET", "/v1/approvals?state=pending", token=self.token).json["approvals"]
        return found[0] if found else None

    def decide(self, approval, decision):
        answer = self.node.request("POST", f"/v1/approvals/{approval['id']}/decide",
                                   {"decision": decision, "digest": approval["digest"]}, token=self.token)
        need(answer.status == 200, answer)


# --- stories ----------------------------------------------------------------------------------------------------------------------------


def allowed_and_denied(place):
    client = place.client()
    result = client.begin()
    need(result["capabilities"]["tools"]["listChanged"] is True and result["serverInfo"]["name"] == "fixture", result)
    need(client.text("echo", {"text": "grüße"}) == "grüße", "the text again")
    answer = client.call("echo_json", {"value": 7})
    need(answer["result"]["structuredContent"] == {"value": 7}, answer)
    text = denied(client.call("pay", {"amount": 500}), "argument_value_invalid")
    need("amount" in text, text)
    client.tools()
    # What is not callable now, and what has no contract, is what does not exist.
    for name in ("close_case", "secret", "no_such_tool"):
        answer = client.call(name)
        need(answer.get("error", {}).get("code") == -32602 and answer["error"]["message"] == f"Unknown tool: {name}", answer)
    need(place.done() == ["echo", "echo_json"], place.done())
    need(client.end() == 0, client.stderr())
    need(place.session()["standing"] == "closed", place.session())
    need(place.open_calls() == [], place.open_calls())


def modern_era(place):
    client = place.client()
    result = client.begin_modern()
    need(result["supportedVersions"] == [MODERN] and result["resultType"] == "complete", result)
    listed = client.request("tools/list")["result"]
    need(listed["cacheScope"] == "private" and listed["ttlMs"] == 0 and listed["resultType"] == "complete", listed)
    client.tools()
    answer = client.call("echo", {"text": "hello"})
    need(text_of(answer) == "hello" and answer["result"]["resultType"] == "complete", answer)
    answer = client.call("pay", {"amount": 500})
    denied(answer, "argument_value_invalid")
    need(answer["result"]["resultType"] == "complete", answer)
    need(client.end() == 0, client.stderr())


def narrowed_by_phase(place):
    client = place.client()
    client.begin()
    before = client.tools()
    for name in ("echo", "finish", "baton_status", "baton_handoff"):
        need(name in before, before)
    for name in ("close_case", "unseen", "secret"):
        need(name not in before, before)
    client.text("finish")
    eventually("the client is told that the list changed",
               lambda: client.request("ping") and [one for one in client.others if one["method"] == "notifications/tools/list_changed"])
    after = client.tools()
    need("close_case" in after and "unseen" in after and "finish" not in after, after)
    client.text("close_case")
    denied_answer = client.call("finish")
    need("error" in denied_answer or denied_answer["result"].get("isError"), denied_answer)
    need(client.end() == 0, client.stderr())


def checkpoint_approved(place):
    client = place.client()
    client.begin()
    number = client.start_call("pay", {"amount": 50}, meta={"progressToken": "tell me"})
    approval = eventually("somebody is asked", place.approval)
    need(place.done() == [], "nothing goes ahead before")
    eventually("progress keeps the client alive", lambda: client.hear() and
               [one for one in client.others if one["method"] == "notifications/progress" and one["params"]["progressToken"] == "tell me"])
    place.decide(approval, "approve")
    need(json.loads(text_of(client.wait(number))) == {"done": "pay"}, client.answers)
    need(place.done() == ["pay"], place.done())
    need(client.end() == 0, client.stderr())


def checkpoint_denied(place):
    client = place.client()
    client.begin()
    number = client.start_call("pay", {"amount": 50})
    place.decide(eventually("somebody is asked", place.approval), "deny")
    denied(client.wait(number), "checkpoint_denied")
    need(place.done() == [], place.done())
    need(client.text("echo", {"text": "on"}) == "on", "the session goes on")
    need(client.end() == 0, client.stderr())


def checkpoint_as_round_trip(place):
    client = place.client()
    client.begin_modern({"elicitation": {}})
    answer = client.call("pay", {"amount": 50})["result"]
    need(answer["resultType"] == "input_required" and len(answer["inputRequests"]) == 1, answer)
    key = next(iter(answer["inputRequests"]))
    need(answer["inputRequests"][key]["method"] == "elicitation/create", answer)
    approval = eventually("somebody is asked", place.approval)
    # The client's own yes decides nothing: still asked, or still waiting when the operator says no.
    place.decide(approval, "approve")
    retry = client.request("tools/call", {"name": "pay", "arguments": {"amount": 50}, "requestState": answer["requestState"],
                                          "inputResponses": {key: {"action": "accept", "content": {}}}})
    need(json.loads(text_of(retry)) == {"done": "pay"}, retry)
    # The same state is good once, and for these arguments alone.
    again = client.request("tools/call", {"name": "pay", "arguments": {"amount": 60}, "requestState": answer["requestState"],
                                          "inputResponses": {key: {"action": "accept", "content": {}}}})
    need("error" in again or again["result"].get("isError"), again)
    need(place.done() == ["pay"], place.done())
    need(client.end() == 0, client.stderr())


def checkpoints_by_the_hundred(place):
    """More calls waited for a person, and were denied or came back, than may be with the node at one time: each leaves room for another."""
    modern, legacy = place.client(), place.client()
    modern.begin_modern({"elicitation": {}})
    legacy.begin()
    for amount in range(1000, 1250):
        # What is denied and what goes ahead take turns, because too many denials end a session.
        for client, decision in ((modern, "approve"), (legacy, "deny" if amount % 2 else "approve"), (legacy, "deny" if amount % 2 else "approve")):
            amount += 0.5
            state = client.call("pay", {"amount": amount / 20})["result"]["requestState"] if client.modern else None
            number = None if client.modern else client.start_call("pay", {"amount": amount / 20})
            place.decide(eventually("somebody is asked", place.approval), decision)
            answer = client.request("tools/call", {"name": "pay", "arguments": {"amount": amount / 20}, "requestState": state}) \
                if client.modern else client.wait(number)
            need("result" in answer, answer)
    for client in (modern, legacy):
        need(client.text("echo", {"text": "on"}) == "on", "there is room")
        need(client.end() == 0, client.stderr())


# --- the client's user is the operator ----------------------------------------------------------------------------------------------------


def answer_elicitation(client, action):
    """The question that the client was sent for its user, answered."""
    eventually("the user is asked", lambda: [one for one in client.others if one["method"] == "elicitation/create"] or client.hear() and None)
    asked = next(one for one in client.others if one["method"] == "elicitation/create")
    client.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": action, **({"content": {}} if action == "accept" else {})}})
    return asked["params"]["message"]


def decided(place):
    """What became of each approval, and who decided it."""
    found = place.node.request("GET", "/v1/approvals", token=place.token).json["approvals"]
    return sorted((one["state"], one.get("decided_by")) for one in found)


def user_decides(place):
    client = place.client()
    client.begin(capabilities={"elicitation": {}})
    number = client.start_call("pay", {"amount": 50})
    text = answer_elicitation(client, "accept")
    need("Accept to approve it" in text and '{"amount":50}' in text, text)
    need(json.loads(text_of(client.wait(number))) == {"done": "pay"}, client.answers)
    need(decided(place) == [("spent", "operator")], decided(place))
    session = place.session()
    need(session["client_user_is_operator"] is True, session)
    # A no is the operator's no.
    client.others.clear()
    number = client.start_call("pay", {"amount": 60})
    answer_elicitation(client, "decline")
    denied(client.wait(number), "checkpoint_denied")
    eventually("it is recorded", lambda: decided(place) == [("denied", "operator"), ("spent", "operator")])
    need(place.done() == ["pay"], place.done())
    need(place.token not in client.stderr(), "no token is shown")
    need(client.end() == 0, client.stderr())


def user_decides_in_the_modern_era(place):
    client = place.client()
    client.begin_modern({"elicitation": {}})
    answer = client.call("pay", {"amount": 50})["result"]
    key = next(iter(answer["inputRequests"]))
    again = {"name": "pay", "arguments": {"amount": 50}, "requestState": answer["requestState"],
             "inputResponses": {key: {"action": "accept", "content": {}}}}
    need(json.loads(text_of(client.request("tools/call", again))) == {"done": "pay"}, "it goes ahead")
    need(decided(place) == [("spent", "operator")], decided(place))
    need(client.end() == 0, client.stderr())


def user_decides_nothing(place):
    """The pack does not say so: the client's yes is no decision."""
    client = place.client()
    client.begin(capabilities={"elicitation": {}})
    need("client_user_is_operator" not in place.session(), place.session())
    number = client.start_call("pay", {"amount": 50})
    text = answer_elicitation(client, "accept")
    need("An operator decides it" in text, text)
    for _ in range(3):
        client.request("ping")
        time.sleep(0.5)
    need(number not in client.answers and place.done() == [] and place.approval() is not None, "it waits")
    place.decide(place.approval(), "deny")
    denied(client.wait(number), "checkpoint_denied")
    need(client.end() == 0, client.stderr())


def user_decides_without_a_token(place):
    """The pack says so, and there is no operator's token: said once, and an operator decides."""
    elsewhere = {"environment": {"XDG_CONFIG_HOME": os.path.join(place.folder, "empty")}}
    client = place.client(**elsewhere)
    client.begin(capabilities={"elicitation": {}})
    need(client.stderr().count("there is no operator's token here") == 1, client.stderr())
    number = client.start_call("pay", {"amount": 50})
    need("An operator decides it" in answer_elicitation(client, "accept"), client.others)
    place.decide(eventually("somebody is asked", place.approval), "approve")
    need(json.loads(text_of(client.wait(number))) == {"done": "pay"}, client.answers)
    need(client.end() == 0, client.stderr())
    # With a file it is found again; with another's token than an operator's nothing is decided.
    file = os.path.join(place.folder, "given.token")
    for token, decides in ((place.token, True), ("no-operators-" + "token-at-all", False)):
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            out.write(token + "\n")
        client = place.client("--operator-token-file", file, **elsewhere)
        client.begin(capabilities={"elicitation": {}})
        number = client.start_call("pay", {"amount": 51})
        answer_elicitation(client, "accept")
        if not decides:
            eventually("it is said", lambda: client.request("ping") and "was not taken" in client.stderr())
            need(place.approval() is not None and token not in client.stderr(), client.stderr())
            place.decide(place.approval(), "approve")
        need(json.loads(text_of(client.wait(number))) == {"done": "pay"}, client.answers)
        need(client.end() == 0, client.stderr())


def the_queue_of_approvals_is_full(place):
    """One place in the queue: another session's call is refused until the first one's approval is decided."""
    first, second = place.client(), place.client()
    first.begin()
    second.begin()
    number = first.start_call("pay", {"amount": 50})
    eventually("a person is asked", lambda: place.approval() is not None)
    denied(second.call("pay", {"amount": 50}), "approval_queue_full")
    place.decide(place.approval(), "deny")
    denied(first.wait(number), "checkpoint_denied")
    number = second.start_call("pay", {"amount": 50})
    eventually("a person is asked again", lambda: place.approval() is not None)
    place.decide(place.approval(), "approve")
    need(json.loads(text_of(second.wait(number))) == {"done": "pay"}, second.answers)
    need(place.done() == ["pay"], place.done())
    need(first.end() == 0 and second.end() == 0, first.stderr() + second.stderr())


def output_blocked(place):
    client = place.client()
    client.begin()
    need(client.call("check", {"good": True})["result"]["structuredContent"]["good"] is True, "a good one passes")
    answer = client.call("check", {"good": False})
    denied(answer, "output_assertion_failed")
    need("the output itself" not in json.dumps(answer), answer)
    need(client.end() == 0, client.stderr())


def definition_changed(place):
    client = place.client()
    client.begin()
    client.tools()
    need(client.text("echo", {"text": "before"}) == "before", "as it was pinned")
    client.text("redefine", {"tool": "echo"})
    eventually("the change is passed on", lambda: client.request("ping") and client.others)
    client.tools()
    text = denied(client.call("echo", {"text": "after"}), "tool_definition_changed")
    need("description" in text, text)
    need(place.done() == ["echo", "redefine"], place.done())
    need(client.text("echo_json", {"value": 1}), "others go on")
    need(client.end() == 0, client.stderr())


def timeout_is_unknown(place):
    client = place.client()
    client.begin()
    answer = client.call("slow", {"ms": 20000})
    need(answer["result"]["isError"] is True, answer)
    need("call_timed_out" in json.dumps(answer), answer)
    eventually("the server is told", lambda: "notifications/cancelled" in json.loads(client.text("heard")))
    need(client.end() == 0, client.stderr())


def server_dies(place):
    client = place.client()
    client.begin()
    client.tools()
    answer = client.call("crash")
    need("error" in answer, answer)
    need("ended" in answer["error"]["message"] or "gone" in answer["error"]["message"], answer)
    # Started again, told again, and usable.
    heard = [str(answer)]
    def works():
        said = client.call("echo", {"text": "again"})
        heard.append(str(said))
        return "result" in said and not said["result"].get("isError")
    eventually("it is started again", works)
    need("it is started again" in client.stderr(), client.stderr())
    need("being restarted" in heard[0] and all("tool_definition_changed" not in one for one in heard), heard)
    need(client.end() == 0, client.stderr())


def without_an_id(place):
    """What has no id is a known notification, or reaches no server."""
    client = place.client(environment={"FIXTURE_READ": place.read}, server=None)
    client.begin()
    client.tools()
    said = ["tools/call", "resources/read", "prompts/get", "completion/complete", "resources/subscribe", "initialize", "tools/list", "x/do",
            "notifications/x", "Tools/Call", "tools/call "]
    for method in said:
        client.say({"jsonrpc": "2.0", "method": method, "params": {"name": "pay", "arguments": {"amount": 1}, "uri": "file:///x"}})
    for method in ("Tools/Call", "tools/call ", "tools//call", "TOOLS/CALL", "resources/Read"):
        answer = client.request(method, {"name": "pay", "arguments": {"amount": 1}})
        need(answer["error"]["code"] == -32601, answer)
    client.write(b'{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1}}}\n')
    eventually("an id that is none is told", lambda: client.hear().get("error", {}).get("code") == -32600)
    need(client.text("echo", {"text": "on"}) == "on", "it goes on")
    need(place.done() == ["echo"], place.done())
    need("`tools/call`, it has no id" in client.stderr(), client.stderr())
    need(client.end() == 0, client.stderr())


def members_in_another_case(place):
    """A server that ignores case would read another method, or another tool, than the one that was judged."""
    client = place.client("--env", "FIXTURE_READ", environment={"FIXTURE_READ": place.read})
    client.begin()
    client.tools()
    said = [{"method": "ping", "Method": "tools/call", "params": {"name": "secret"}},
            {"method": "tools/call", "params": {"name": "echo", "Name": "secret", "arguments": {"text": "x"}}},
            {"method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}, "ARGUMENTS": {"text": "y"}}},
            {"method": "resources/read", "params": {"uri": "file:///srv/a", "URI": "file:///etc/shadow"}}]
    for number, message in enumerate(said, 700):
        client.say({"jsonrpc": "2.0", "id": number, **message})
        answer = client.wait(number)
        need(answer["error"]["code"] == -32600 and "only in case" in answer["error"]["message"], answer)
    answer = client.call("echo", {"text": "on", "Text": "off"})
    need("`Text` differs from one of the tool's only in case" in answer["error"]["message"], answer)
    need(client.text("echo", {"text": "on", "Name": "as it likes"}) == "on", "other arguments have any names")
    read = Path(place.read).read_text()
    need("secret" not in read and "ARGUMENTS" not in read and "shadow" not in read, read)
    need(client.end() == 0, client.stderr())


def operations_refused(place):
    """A pack that says nothing about other requests refuses them; the server never sees them."""
    client = place.client()
    client.begin(capabilities={"roots": {}, "sampling": {}})
    for method, params in (("resources/read", {"uri": "file:///srv/a"}), ("resources/subscribe", {"uri": "file:///srv/a"}),
                           ("prompts/get", {"name": "p"}), ("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {}})):
        answer = client.request(method, params)
        need(answer["error"]["code"] == 4030 and "no_contract" in answer["error"]["message"], answer)
    answer = client.request("x/unknown", {})
    need(answer["error"]["code"] == -32601, answer)
    need("no_contract" in client.text("ask"), "nor does the server get the roots")
    need(not [one for one in client.others if "id" in one], client.others)
    need(place.done() == ["ask"], place.done())
    need(client.end() == 0, client.stderr())


def operations_judged(place):
    """With a contract an operation is judged by it; what is protected is protected."""
    client = place.client()
    client.begin()
    need(client.request("resources/read", {"uri": "file:///srv/a"})["result"]["contents"][0]["text"] == "the contents", "as the contract says")
    answer = client.request("resources/read", {"uri": "https://elsewhere.example/a"})
    need("argument_value_invalid" in answer["error"]["message"], answer)
    answer = client.request("resources/read", {"uri": "file://" + os.path.join(place.folder, "pack", "session.yaml")})
    need("error" in answer, answer)
    need(steps_of(place, place.sessions()[0]) == 1, "the one that went ahead counts as a call")
    need(place.done() == ["resources/read"], place.done())
    need(client.end() == 0, client.stderr())


def operations_recorded(place):
    """`unlisted: record` lets them go ahead, under the record's eyes, and not to what is protected."""
    client = place.client()
    client.begin()
    need("result" in client.request("resources/read", {"uri": "file:///srv/a"}), "it goes ahead")
    answer = client.request("resources/read", {"uri": "file://" + os.path.join(place.folder, ".baton", "x")})
    need("protected_path" in str(answer), answer)
    need(place.done() == ["resources/read"], place.done())
    eventually("it is settled", lambda: place.open_calls() == [])
    need(client.end() == 0, client.stderr())


def outputs_judged_whole(place):
    client = place.client()
    client.begin()
    good = {"good": True}
    passes = [{"structuredContent": good, "content": [{"type": "text", "text": '{"good": true}'}]},
              {"content": [{"type": "text", "text": '{"good":true,"more":1}'}]}]
    for result in passes:
        answer = client.call("say", {"result": result})
        need(answer["result"] == result, answer)
    text = {"type": "text", "text": "SECRET"}
    blocked = [{"structuredContent": good, "content": [text]},
               {"structuredContent": good, "content": [{"type": "text", "text": '{"good":false}'}]},
               {"structuredContent": good, "content": [{"type": "resource", "resource": {"uri": "x:1", "text": "SECRET"}}]},
               {"structuredContent": good, "content": [], "_meta": {"x": "SECRET"}},
               {"content": [text], "isError": True},
               {"content": [text]}]
    for result in blocked:
        answer = client.call("say", {"result": result})
        denied(answer, "output_assertion_failed")
        need("SECRET" not in str(answer), answer)
    answer = client.call("say", {"result": {"structuredContent": good, "content": [{"type": "video", "data": "SECRET"}]}})
    need("`video`" in denied(answer, "output_unjudged") and "SECRET" not in str(answer), answer)
    need(client.end() == 0, client.stderr())


def unknown_content_dropped(place):
    client = place.client()
    client.begin()
    answer = client.call("say", {"result": {"structuredContent": {"good": True}, "content": [{"type": "video", "data": "SECRET"}]}})
    need(answer["result"] == {"structuredContent": {"good": True}, "content": []}, answer)
    need(client.end() == 0, client.stderr())


def answer_that_cannot_be_read(place):
    client = place.client()
    client.begin()
    began = time.monotonic()
    text = denied(client.call("broken"), "output_unjudged")
    need("cannot be read" in text and time.monotonic() - began < 20, text)
    need(client.text("echo", {"text": "on"}) == "on", "it goes on")
    need(client.end() == 0, client.stderr())


def server_speaks_unasked(place):
    client = place.client()
    client.begin()
    answer = client.call("speaks")
    need(text_of(answer) == "spoken" and answer["result"]["_meta"] == {}, answer)
    need([one["method"] for one in client.others if one["method"] != "notifications/tools/list_changed"] == ["notifications/message"], client.others)
    need("dev.baton" not in str(client.others), client.others)
    need(client.end() == 0, client.stderr())


def server_dies_too_often(place):
    client = place.client()
    client.begin()
    for _ in range(4):
        eventually("it runs", lambda: not client.call("echo", {"text": "x"}).get("result", {"isError": True}).get("isError"))
        answer = client.call("crash")
        need("error" in answer, answer)
    eventually("it stays away", lambda: "stays away" in client.stderr())
    answer = client.call("echo", {"text": "x"})
    need("error" in answer or answer["result"]["isError"], answer)
    need(client.end() == 0, client.stderr())


def proxy_killed(place):
    client = place.client()
    client.begin()
    client.start_call("slow", {"ms": 3000})
    eventually("it is under way", lambda: "slow" in place.done())
    child = children_of(client.process.pid)
    need(len(child) == 1, child)
    client.kill()
    eventually("the server is gone too", lambda: not alive(child[0]))
    calls = place.open_calls()
    need(len(calls) == 1 and calls[0]["state"] == "executing", calls)


def proxy_told_to_end(place):
    client = place.client()
    client.begin()
    client.start_call("slow", {"ms": 3000})
    eventually("it is under way", lambda: "slow" in place.done())
    child = children_of(client.process.pid)
    client.process.send_signal(signal.SIGTERM)
    need(client.process.wait(WAIT) == 0, client.stderr())
    need(not alive(child[0]), "the server is gone too")
    session = place.session()
    need(session["standing"] == "closed", session)
    need([one["state"] for one in session["open_calls"]] in ([], ["unknown"]), session["open_calls"])


def node_killed(place):
    client = place.client()
    client.begin()
    need(client.text("echo", {"text": "1"}) == "1", "it works")
    client.tools()
    place.node.kill()
    denied(client.call("echo", {"text": "2"}), "node_unreachable")
    need(place.done() == ["echo"], place.done())
    # Whatever needs no decision still passes.
    need("result" in client.request("ping"), "ping")
    place.node = place.serve()
    eventually("it goes on with the next node", lambda: not client.call("echo", {"text": "3"})["result"].get("isError"))
    need(client.end() == 0, client.stderr())


def garbage_both_ways(place):
    client = place.client()
    client.begin()
    need(client.text("garbage") == "after the garbage", "garbage of the server is dropped")
    client.write(b"this is no message\n")
    eventually("garbage of the client is told", lambda: client.hear().get("error", {}).get("code") == -32700)
    del client.answers[None]
    client.write(b"\n\r\n[]\n")
    eventually("an empty batch is none", lambda: client.hear().get("error", {}).get("code") == -32600)
    del client.answers[None]
    client.write(b'{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"name":"echo","arguments":{"text":"'
                 + b"x" * (5 << 20) + b'"}}}\n')
    need(client.wait("long")["error"]["code"] == -32600, client.answers)
    need(client.text("echo", {"text": "still here"}) == "still here", "and it goes on")
    need(client.end() == 0, client.stderr())


def bytes_pass_unharmed(place):
    client = place.client()
    client.begin()
    odd = b'{ "params" : {"b":1.50,"a":1e2,"\\u0061b":"\\u00fc","_meta":{"x/y":[ ]}},"method":"resources/list" , "jsonrpc":"2.0","id":"odd-1" , "extra":null}'
    client.write(odd + b"\n")
    read = json.loads(client.wait("odd-1")["result"]["resources"][0]["title"])
    need(read == json.loads(odd), read)
    # To the byte: a server that notes what it read.
    note = os.path.join(place.folder, "read.bin")
    script = "import sys\nf=open(%r,'wb')\nfor l in sys.stdin.buffer:\n  f.write(l); f.flush()\n" % note
    raw = place.client(server=[sys.executable, "-c", script])
    raw.write(odd + b"\n")
    raw.write(b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed",  "params":{"z":0.10}}\n')
    eventually("both are there", lambda: os.path.exists(note) and Path(note).read_bytes().count(b"\n") == 2)
    need(Path(note).read_bytes() == odd + b'\n{"jsonrpc":"2.0","method":"notifications/roots/list_changed",  "params":{"z":0.10}}\n', Path(note).read_bytes())
    raw.kill()
    need(client.end() == 0, client.stderr())


def measured():
    """The environment of a proxy whose memory is looked at: AddressSanitizer keeps what was freed, 256 MiB of it unless told otherwise."""
    return {"ASAN_OPTIONS": ":".join(one for one in (os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=16") if one)}


def large_results(place):
    client = place.client(environment=measured())
    client.begin()
    need(len(client.text("big", {"bytes": 3 << 20})) == 3 << 20, "3 MiB pass")
    answer = client.call("big", {"bytes": 100 << 20}, timeout=180)
    need("error" in answer or answer["result"].get("isError"), str(answer)[:300])
    need(client.text("echo", {"text": "on"}) == "on", "it goes on")
    most = memory_most(client.process.pid)
    need("104857600" not in str(answer) and "output_too_large" in str(answer) and "--server-megabytes" in str(answer), str(answer)[:500])
    need(most < 300 << 10, f"the proxy took {most} KiB")
    need(client.end() == 0, client.stderr())


def larger_than_the_node_takes(place):
    """An output that cannot be judged is not handed on, and what became of the call is unknown."""
    client = place.client()
    client.begin()
    text = denied(client.call("big", {"bytes": 3 << 20}), "output_too_large")
    need("the result of `big` has 3145" in text and "at most 1048576" in text and "limits.body_bytes" in text, text)
    eventually("it is unknown", lambda: [one["state"] for one in place.open_calls()] == ["unknown"])
    need(client.end() == 0, client.stderr())


def pipe_filled(place):
    """The client does not read while thousands of answers come; none is lost, and memory is bounded."""
    client = place.client(environment=measured())
    client.begin()
    client.reads.clear()
    first = client.next_id + 1
    for _ in range(400):
        client.start_call("big", {"bytes": 200_000})
    # The proxy stops reading the server at 1 MiB that the client has not read: five answers. How many more are on their way differs.
    eventually("the pipe is full", lambda: len(place.done()) > 5)
    time.sleep(1)
    most = memory_most(client.process.pid)
    client.reads.set()
    for number in range(first, client.next_id + 1):
        need(len(text_of(client.wait(number, 180))) == 200_000, "each is answered")
    need(most < 400 << 10, f"the proxy took {most} KiB")
    need(client.end() == 0, client.stderr())


def a_thousand_at_once(place):
    client = place.client()
    client.begin()
    first = client.next_id + 1
    for at in range(1000):
        client.start_call("slow" if at % 10 == 0 else "echo", {"ms": 300, "text": str(at)})
    for at in range(1000):
        need(text_of(client.wait(first + at, 180)) == str(at), "each has its own answer")
    need(len(place.done()) == 1000, len(place.done()))
    eventually("all are settled", lambda: place.open_calls() == [])
    need(client.end() == 0, client.stderr())


def own_tools(place):
    client = place.client()
    client.begin()
    text = client.text("baton_status")
    status = json.loads(text.splitlines()[-1])
    need(status["phase"] == "intake" and "echo" in status["callable"] and "close_case" not in status["callable"], text)
    need(status["left"]["tool_calls"] == 100000, text)
    answer = client.call("baton_handoff", {"document": "no document at all"})
    need(answer["result"]["isError"] is True, answer)
    need(client.end() == 0, client.stderr())


def handed_over(place):
    place.node.request("POST", "/v1/work", {"id": "web-1", "title": "a page", "phase": "IMPLEMENTATION"}, token=place.token)
    client = place.client("--work", "web-1")
    client.begin()
    need(client.text("echo", {"text": "at work"}) == "at work", "calls go on the item's session")
    client.text("finish")
    document = {"protocol": "apm2_agent_exit", "version": "1.0.0", "phase_completed": "IMPLEMENTATION", "exit_reason": "completed",
                "pr_url": "https://example.org/pull/7", "evidence_bundle_ref": "evidence/7"}
    answer = client.call("baton_handoff", {"document": document})
    text = text_of(answer)
    need("Handed over" in text and "Receipt" in text, text)
    need(client.end() == 0, client.stderr())
    work = place.node.request("GET", "/v1/work/web-1", token=place.token).json["work"]
    need(work["phase"] != "IMPLEMENTATION" and "lease" not in work, work)


def work_given_back(place):
    place.node.request("POST", "/v1/work", {"id": "web-2", "title": "a page", "phase": "IMPLEMENTATION"}, token=place.token)
    client = place.client("--work", "web-2")
    client.begin()
    need(place.node.request("GET", "/v1/work/web-2", token=place.token).json["work"]["state"] == "held", "claimed")
    need(client.end() == 0, client.stderr())
    need(place.node.request("GET", "/v1/work/web-2", token=place.token).json["work"]["state"] == "waiting", "given back")


def joined_session(place):
    opened = place.node.request("POST", "/v1/sessions", {"role": "agent"}).json["session"]
    client = place.client(environment={"BATON_SESSION_TOKEN": opened["token"]})
    client.begin()
    need(client.text("echo", {"text": "joined"}) == "joined", "it works")
    need(len(place.sessions()) == 1, place.sessions())
    need(client.end() == 0, client.stderr())
    need(place.session()["standing"] == "open", "whoever opened it closes it")
    killed = place.node.request("POST", f"/v1/sessions/{opened['id']}/kill", {"reason": "enough"}, token=place.token)
    need(killed.status == 200, killed)
    client = place.client("--session", opened["id"], environment={"BATON_SESSION_TOKEN": opened["token"]})
    client.begin()
    need("echo" not in client.tools(), "nothing is callable in it")
    answer = client.call("echo", {"text": "x"})
    need("error" in answer or answer["result"]["isError"], answer)
    need(place.done() == ["echo"], place.done())
    need(client.end() == 0, client.stderr())


# --- a session that is named in `_meta` ---------------------------------------------------------------------------------------------------


def open_session(place):
    return place.node.request("POST", "/v1/sessions", {"role": "agent"}).json["session"]


def steps_of(place, session):
    return place.node.request("GET", "/v1/sessions/" + session["id"], token=place.token).json["session"]["governed"]["counters"]["tool_calls"]


def cannot_join(answer, *tokens):
    need(answer.get("error", {}).get("code") == -32602 and "session" in answer["error"]["message"], answer)
    need(not any(token in json.dumps(answer) for token in tokens), answer)


def nobody_saw(place, *tokens):
    """Neither a server nor a log nor a page of the ledger has one of the tokens."""
    read = Path(place.read)
    seen = [read.read_text() if read.exists() else ""] + [client.stderr() for client in place.clients]
    seen.append(json.dumps(place.node.request("GET", "/v1/events?limit=1000", token=place.token).json))
    for token in tokens:
        need(not any(token in text for text in seen), "a token was seen")


def named_session(place):
    one, two = open_session(place), open_session(place)
    reads = {"environment": {"FIXTURE_READ": place.read}}
    # Legacy: `initialize` names it.
    client = place.client("--env", "FIXTURE_READ", **reads)
    client.names = one["token"]
    client.begin()
    client.names = None
    need(client.text("echo", {"text": "joined"}) == "joined" and steps_of(place, one) == 1, "it is that session's call")
    # Another name is refused, and goes ahead in no session.
    client.names = two["token"]
    cannot_join(client.call("echo", {"text": "x"}), one["token"], two["token"])
    need((steps_of(place, one), steps_of(place, two)) == (1, 0) and len(place.sessions()) == 2, place.sessions())
    need(client.end() == 0, client.stderr())
    need({session["standing"] for session in place.sessions()} == {"open"}, "whoever opened them closes them")
    # Modern: each request names it; one that names none is of the same conversation.
    client = place.client("--env", "FIXTURE_READ", **reads)
    client.names = two["token"]
    client.begin_modern()
    need("echo" in client.tools() and client.text("echo", {"text": "joined"}) == "joined", "it works")
    client.names = None
    need(client.text("echo", {"text": "again"}) == "again" and steps_of(place, two) == 2, "on the same session")
    client.names = one["token"]
    cannot_join(client.call("echo", {"text": "x"}), one["token"], two["token"])
    need(client.end() == 0, client.stderr())
    # Where the session was chosen beforehand no other may be named.
    client = place.client("--env", "FIXTURE_READ", environment={**reads["environment"], "BATON_SESSION_TOKEN": one["token"]})
    client.modern, client.capabilities, client.names = True, {}, two["token"]
    cannot_join(client.call("echo", {"text": "x"}), one["token"], two["token"])
    client.names = one["token"]
    need(client.text("echo", {"text": "the same"}) == "the same" and steps_of(place, one) == 2, "the same may be named")
    need(client.end() == 0, client.stderr())
    need(len(place.sessions()) == 2 and place.done() == ["echo"] * 4, place.done())
    nobody_saw(place, one["token"], two["token"])


def named_session_refused(place):
    """A name that is no open session's gets an error, and never another session in its place."""
    one = open_session(place)
    ended = open_session(place)
    need(place.node.request("POST", f"/v1/sessions/{ended['id']}/kill", {"reason": "enough"}, token=place.token).status == 200, "killed")
    forged = one["token"][:-4] + ("AAAA" if not one["token"].endswith("AAAA") else "BBBB")
    for token in (forged, ended["token"], "no token at all", "x\r\nAuthorization: y", 7):
        client = place.client("--env", "FIXTURE_READ", environment={"FIXTURE_READ": place.read})
        client.names = token
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        cannot_join(client.request("initialize", params), str(token) if token != 7 else forged)
        client.names = None
        cannot_join(client.call("echo", {"text": "x"}))
        client.names = one["token"]
        need("result" in client.request("initialize", params), "the right one may still be named")
        need(client.end() == 0, client.stderr())
    need(len(place.sessions()) == 2 and place.done() == [], place.sessions())
    nobody_saw(place, forged, one["token"], ended["token"])


def named_session_over_http(place):
    front = HttpClient(place, "--env", "FIXTURE_READ", environment={"FIXTURE_READ": place.read})
    # A client that only looks opens no session.
    status, answer = front.post("server/discover")
    need(status == 200 and "result" in answer and place.sessions() == [], answer)
    one, two = open_session(place), open_session(place)
    for session, text in ((one, "first"), (two, "second"), (one, "third")):
        status, answer = front.post("tools/call", {"name": "echo", "arguments": {"text": text}}, session["token"])
        need(status == 200 and text_of(answer) == text, answer)
    need((steps_of(place, one), steps_of(place, two)) == (2, 1) and len(place.sessions()) == 2, place.sessions())
    status, answer = front.post("tools/call", {"name": "echo", "arguments": {"text": "own"}})
    need(status == 200 and text_of(answer) == "own" and len(place.sessions()) == 3, "whoever names none has one of their own")
    forged = one["token"][:-4] + ("AAAA" if not one["token"].endswith("AAAA") else "BBBB")
    for token in (forged, "none", 7):
        for _ in range(2):
            status, answer = front.post("tools/call", {"name": "echo", "arguments": {"text": "x"}}, token)
            need(status == 400, answer)
            cannot_join(answer, forged)
    need(place.node.request("POST", f"/v1/sessions/{two['id']}/close", {}, session=two["token"]).status == 200, "closed")
    need(len(place.sessions()) == 3 and place.done() == ["echo"] * 4, place.done())
    front.end()
    nobody_saw(place, one["token"], two["token"], forged)


def environment_is_chosen(place):
    client = place.client("--env", "GIVEN=yes", "--env", "NAMED",
                          environment={"NAMED": "ours", "AWS_SECRET_ACCESS_KEY": "hidden", "BATON_TOKEN": "", "LC_ALL": "C.UTF-8"})
    client.begin()
    seen = json.loads(client.text("environment"))
    need(seen.get("GIVEN") == "yes" and seen.get("NAMED") == "ours" and seen.get("LC_ALL") == "C.UTF-8" and "PATH" in seen, sorted(seen))
    for name in seen:
        need(name in ("PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL", "TZ", "GIVEN", "NAMED", "FIXTURE_LOG") or name.startswith("LC_"), name)
    need(": the fixture server has begun" in client.stderr(), "the server's stderr is ours, with its name")
    need(client.end() == 0, client.stderr())


def server_asks_the_client(place):
    client = place.client()
    client.begin(capabilities={"roots": {}})
    number = client.start_call("ask")
    eventually("the request is passed on", lambda: [one for one in client.others if one["method"] == "roots/list"] or client.hear() and None)
    asked = next(one for one in client.others if one["method"] == "roots/list")
    client.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///srv"}]}})
    need(json.loads(text_of(client.wait(number))) == {"roots": [{"uri": "file:///srv"}]}, client.answers)
    need(client.end() == 0, client.stderr())


def errors_of_the_server(place):
    client = place.client()
    client.begin()
    answer = client.call("fail", {"code": -32050})
    need(answer["error"]["code"] == -32050 and answer["error"]["message"] == "it failed", answer)
    answer = client.call("fail")
    need(answer["result"]["isError"] is True and answer["result"]["content"][0]["text"] == "it failed", answer)
    eventually("both are settled", lambda: place.open_calls() == [])
    need(client.end() == 0, client.stderr())


def several_servers(place):
    config = os.path.join(place.folder, "servers.json")
    with open(config, "w") as file:
        json.dump({"mcpServers": {name: {"command": sys.executable, "args": [FIXTURE], "env": {"FIXTURE_LOG": place.log}}
                                  for name in ("one", "two")}}, file)
    client = place.client("--config", config)
    client.begin()
    names = client.tools()
    need(all("__" in name or name.startswith("baton_") for name in names), names)
    need(client.end() == 0, client.stderr())


def could_not_begin(place):
    """Without a pack there is no session, and the command says so; without a server the client is told."""
    done = subprocess.run([place.baton, "mcp", "--node", "unix:" + place.node.socket_path, "--pack", "no-such-pack", "--", sys.executable, FIXTURE],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, env=place.environment(), timeout=WAIT)
    need(done.returncode == 1 and "no pack `no-such-pack` is active" in done.stderr, done)
    client = place.client(server=[os.path.join(place.folder, "no-such-program")])
    answer = client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    need("error" in answer, answer)
    need("could not be started" in client.stderr(), client.stderr())
    need(client.end() == 0, client.stderr())


def pack_from_a_server(place):
    folder = os.path.join(place.folder, "new-pack")
    done = place.run("contract", "new", folder, "--from-mcp", "--", sys.executable, FIXTURE)
    need("echo.yaml" in done and "heard.yaml" in done, done)
    checked = place.run("contract", "check", folder, status=None)
    need(checked.returncode == 0, checked)


def names_that_a_server_chooses(place):
    """A list of tools gives no permission to anything but its tools, and a name that is skipped is said."""
    tools = os.path.join(place.folder, "tools.json")
    names = ["server:sampling", "files:look", "Bash", "look"]
    with open(tools, "w") as file:
        json.dump({"tools": [{"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}} for name in names]}, file)
    folder = os.path.join(place.folder, "chosen")
    done = place.run("contract", "new", folder, "--from-mcp", "--env", "FIXTURE_TOOLS=" + tools, "--", sys.executable, FIXTURE, status=None)
    need(done.returncode == 1 and sorted(os.listdir(folder)) == ["look.yaml", "session.yaml", "tools.json"], done)
    for name in names[:3]:
        need(f"skipped `{name}`: " in done.stderr and f"`SERVER:{name}`" in done.stderr, done.stderr)
    with open(tools, "w") as file:
        json.dump({"tools": [{"name": "Bash"}]}, file)
    done = place.run("contract", "new", os.path.join(place.folder, "none"), "--from-mcp", "--env", "FIXTURE_TOOLS=" + tools, "--", sys.executable, FIXTURE, status=None)
    need(done.returncode == 2 and "skipped `Bash`: " in done.stderr and "there is no tool" in done.stderr, done.stderr)


def lists_that_cannot_be_read(place):
    """The command says at once what is wrong with a server's answer, instead of waiting for another."""
    script = os.path.join(place.folder, "broken_list.py")
    with open(script, "w") as file:
        file.write("""import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        print("a line of a log, with an id 2 in it")
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    else:
        print(os.environ["ANSWER"].replace("$ID", str(message["id"])), flush=True)
""")
    for answer, why in (('{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"a","name":"b"}]}}', "duplicate key"),
                        ('{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"a","inputSchema":{"x":Infinity}}]}}', "not JSON"),
                        ('{"jsonrpc":"2.0","id":$ID.0,"result":{"tools":[]}}', "`id` is neither"),
                        ('{"jsonrpc":"2.0","result":{"tools":[]}}', "without an id"),
                        ('[{"jsonrpc":"2.0","id":$ID,"result":{"tools":[]}}]', "it is a batch")):
        began = time.monotonic()
        done = place.run("contract", "new", os.path.join(place.folder, "unread"), "--from-mcp", "--env", "ANSWER=" + answer, "--", sys.executable, script, status=None)
        need(done.returncode == 2 and "cannot be read" in done.stderr and why in done.stderr, (answer, done.stderr))
        need(time.monotonic() - began < 15, answer)


def node_in_the_proxy(place):
    """The proxy has the node in its own process; everybody else finds it where a node always is."""
    place.node.stop()
    shutil.copy(place.config_file, os.path.join(place.store, "config.yaml"))
    client = place.client(in_process=True)
    client.begin()
    need(client.text("echo", {"text": "in the house"}) == "in the house", "the text again")
    need(client.text("echo_json", {"value": 7}), "a result")
    denied(client.call("pay", {"amount": 500}), "argument_value_invalid")
    number = client.start_call("pay", {"amount": 50})
    listed = eventually("an operator sees what is waited for", lambda: lines_of(place.run("approvals", "list", "--format", "json")))
    place.run("approvals", "approve", listed[0]["id"])
    text_of(client.wait(number))
    # Whoever wants the store for himself is told who has it.
    second = place.client(in_process=True)
    need(second.process.wait(WAIT) == 2, second.stderr())
    need("STORE_LOCKED" in second.stderr() or "lock" in second.stderr(), second.stderr())
    # Killed in the middle of a call: its outcome is not known, and what was answered before is there.
    client.start_call("slow", {"ms": 60000})
    eventually("the server has it", lambda: len(place.done()) >= 3)
    client.process.kill()
    client.process.wait(WAIT)
    shown = lines_of(place.run("session", "list", "--format", "json"))
    place.run("stop")  # the one that was started for it
    need(len(shown) == 1, shown)


# --- over HTTP ---------------------------------------------------------------------------------------------------------------------------


def over_http(place):
    port_file = os.path.join(place.folder, "port")
    place.children.append(subprocess.Popen([sys.executable, FIXTURE, "--http", port_file], env={**place.environment(), "FIXTURE_LOG": place.log}))
    port = eventually("it listens", lambda: os.path.exists(port_file) and Path(port_file).read_text())
    return f"http://127.0.0.1:{port}/mcp"


def http_legacy(place):
    url = over_http(place)
    client = place.client("--upstream", url, "--upstream-header", "X-Key=given")
    client.begin()
    need("echo" in client.tools(), "it has tools")
    need(client.text("echo", {"text": "over http"}) == "over http", "JSON answers")
    need(client.text("slow", {"ms": 200, "text": "streamed"}) == "streamed", "answers as a stream")
    need(client.text("slow", {"ms": 700, "text": "break"}) == "break", "a stream that broke off is taken up again")
    client.text("redefine", {"tool": "heard"})
    eventually("what belongs to no request comes by the other stream", lambda: client.request("ping") and
               [one for one in client.others if one["method"] == "notifications/tools/list_changed"])
    denied(client.call("pay", {"amount": 500}), "argument_value_invalid")
    requests = client.request("x/requests")["result"]["requests"]
    posts = [headers for method, headers in requests if method == "POST"]
    need(all(headers.get("X-Key") == "given" for headers in posts), posts)
    need(all("Authorization" not in headers and "Baton-Session" not in headers for _, headers in requests), "nothing of ours")
    need(all(headers.get("Mcp-Session-Id") == "session-1" for headers in posts[1:]), posts)
    need(posts[2].get("MCP-Protocol-Version") == "2025-11-25", posts[2])
    # A server that forgot the session is told anew what it was told at the beginning.
    client.request("x/forget")
    client.call("echo", {"text": "lost"})
    eventually("it begins anew", lambda: "result" in client.call("echo", {"text": "again"}))
    need(client.end() == 0, client.stderr())


def http_modern(place):
    url = over_http(place)
    client = place.client("--upstream", url)
    client.begin_modern()
    need("echo" in client.tools(), "it has tools")
    need(client.text("echo", {"text": "over http"}) == "over http", "it works")
    requests = client.request("x/requests")["result"]["requests"]
    call = [headers for _, headers in requests if headers.get("Mcp-Method") == "tools/call"][0]
    need(call["Mcp-Name"] == "echo" and call["MCP-Protocol-Version"] == MODERN and "Mcp-Session-Id" not in call, call)
    need(client.end() == 0, client.stderr())


def http_busy(place):
    url = over_http(place)
    client = place.client("--upstream", url)
    client.begin()
    began = time.monotonic()
    need(client.text("echo", {"text": "busy"}) == "busy", "it is tried again")
    need(time.monotonic() - began >= 1, "after the time it asked for")
    need(client.end() == 0, client.stderr())


def http_astray(place):
    """What answers something else is no answer: the call fails immediately."""
    client = place.client("--upstream", over_http(place))
    client.begin()
    for text in ("astray", "astray without an id"):
        began = time.monotonic()
        answer = client.call("echo", {"text": text})
        need("error" in answer or answer["result"].get("isError"), answer)
        need(time.monotonic() - began < 20, "it does not wait for its time to be over")
    need(client.text("echo", {"text": "on"}) == "on", "it goes on")
    need(client.end() == 0, client.stderr())


def http_nobody(place):
    client = place.client("--upstream", "http://127.0.0.1:9/mcp")
    answer = client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    need("error" in answer, answer)
    need(client.end() == 0, client.stderr())
    client = place.client("--upstream", "http://127.0.0.1:9/mcp")
    client.modern, client.capabilities = True, {}
    answer = client.call("echo", {"text": "x"})
    need("could not be asked" in answer.get("error", {}).get("message", ""), f"nobody says that its definition changed: {answer}")
    need(client.end() == 0, client.stderr())


class Listening:
    """A proxy that listens, and what is posted to it."""

    def __init__(self, place, *arguments, server=None, trust=None, environment=None):
        self.errors = open(os.path.join(place.folder, f"listening-{len(place.children)}.err"), "w+b")
        command = [place.baton, "mcp", "--node", "unix:" + place.node.socket_path, "--env", "FIXTURE_LOG", "--listen", "127.0.0.1:0", *arguments]
        if "--upstream" not in arguments:
            command += ["--", *(server or [sys.executable, FIXTURE])]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors,
                                        env={**place.environment(), "FIXTURE_LOG": place.log, **(environment or {})}, cwd=place.folder)
        place.children.append(self.process)
        found = eventually("it listens: " + self.stderr(), lambda: re.search(r"listening on (\S+)", self.stderr()))
        self.port = found.group(1).rsplit(":", 1)[1]
        self.url = f"http{'s' if trust else ''}://localhost:{self.port}/mcp"
        made = re.search(r"bearer token in (\S+)", self.stderr())
        self.token_file = Path(made.group(1)) if made else None
        self.bearer = {"Authorization": "Bearer " + self.token_file.read_text().strip()} if made else {}
        self.context = ssl.create_default_context(cafile=trust) if trust else None

    def stderr(self):
        return Path(self.errors.name).read_text(errors="replace")

    def ask(self, message=None, headers=None, url=None):
        """The status, the headers and the text of what comes back; GET where there is no message."""
        asked = urllib.request.Request(url or self.url, data=json.dumps(message).encode() if message else None, headers={
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream", **self.bearer, **(headers or {})})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self.context))
        try:
            with opener.open(asked, timeout=WAIT) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def begin(self, headers=None):
        """The headers of a session that has begun."""
        status, got, text = self.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}, headers)
        need(status == 200, (status, text))
        session = {"Mcp-Session-Id": got["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25", **(headers or {})}
        need(self.ask({"jsonrpc": "2.0", "method": "notifications/initialized"}, session)[0] == 202, "it has begun")
        return session

    def call(self, session, tool, arguments, number=1):
        return self.ask({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}, session)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(WAIT)
        need(status == 0, (status, self.stderr()))


def http_left_and_taken_up(place):
    proxy = Listening(place, "--upstream", over_http(place))
    session = proxy.begin()
    status, headers, text = proxy.call(session, "slow", {"ms": 300, "text": "break"})
    need(status == 200 and headers["Content-Type"] == "text/event-stream", (status, text))
    need("retry: 100\n" in text and "result" not in text, f"the stream ends as the server's did: {text}")
    last = re.findall(r"^id: (\S+)$", text, re.M)[-1]
    status, headers, text = proxy.ask(headers={**session, "Last-Event-ID": last})
    need(status == 200 and '"text":"break"' in text.replace(" ", ""), (status, text))
    proxy.end()


def listens_over_tls(place):
    folder = Path(place.folder)
    certificate, key, token = folder / "certificate.pem", folder / "key.pem", "a-token-" + "of-the-listener"
    (folder / "token").write_text(token + "\n")
    os.chmod(folder / "token", 0o600)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = ["--tls-certificate", str(certificate), "--tls-key", str(key)]
    proxy = Listening(place, *tls, "--listen-token-file", str(folder / "token"), trust=str(certificate))
    bearer = {"Authorization": "Bearer " + token}
    session = proxy.begin(bearer)
    status, _, text = proxy.call(session, "echo", {"text": "by tls"})
    need(status == 200 and "by tls" in text, (status, text))
    need("argument_value_invalid" in proxy.call(session, "pay", {"amount": 500})[2], "and it is governed")
    need(proxy.call({**session, "Authorization": "Bearer another"}, "echo", {})[0] == 401, "the token is asked for")
    need(proxy.call({name: value for name, value in session.items() if name != "Authorization"}, "echo", {})[0] == 401, "always")

    def fails(what, ask):
        try:
            answer = ask()
        except (OSError, urllib.error.URLError):
            return
        raise Wrong(f"{what}: {answer}")

    fails("plain HTTP is no TLS", lambda: proxy.ask({}, bearer, url=proxy.url.replace("https:", "http:")))
    proxy.context = ssl.create_default_context()
    fails("a stranger's certificate is not trusted", lambda: proxy.ask({}, bearer))
    need(token not in proxy.stderr(), "the token is not told")
    proxy.end()

    # Other machines: only with both, and the half of a pair is none.
    def refused(*arguments):
        done = subprocess.run([place.baton, "mcp", "--node", "unix:" + place.node.socket_path, *arguments, "--", sys.executable, FIXTURE],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, env=place.environment(), cwd=place.folder, timeout=WAIT)
        need(done.returncode == 2 and "listening on" not in done.stderr, done)
        return done.stderr

    need("TLS" in refused("--listen", "0.0.0.0:0"), "neither")
    need("TLS" in refused("--listen", "0.0.0.0:0", "--listen-token-file", str(folder / "token")), "a token alone")
    need("token" in refused("--listen", "0.0.0.0:0", *tls), "TLS alone")
    need("--tls-key" in refused("--listen", "127.0.0.1:0", *tls[:2]), "a certificate without its key")
    need(str(folder / "none.pem") in refused("--listen", "127.0.0.1:0", "--tls-certificate", str(folder / "none.pem"), *tls[2:]), "no such file")


def listens_with_a_token(place):
    """Whoever has no token is refused, on this machine as well; the one that the proxy makes is in a file of the user's."""
    runtime = Path(place.folder) / "runtime"
    runtime.mkdir(mode=0o700)
    environment = {"XDG_RUNTIME_DIR": str(runtime)}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    def unknown(proxy, **headers):
        known, proxy.bearer = proxy.bearer, {}
        for message, path in ((ping, "/mcp"), (ping, "/"), (None, "/mcp"), (None, "/metrics"), (None, "/elsewhere")):
            status, got, text = proxy.ask(message, headers, url=proxy.url.replace("/mcp", path))
            need(status == 401 and got["WWW-Authenticate"].startswith("Bearer"), (path, status, text))
        need(proxy.ask(url=proxy.url.replace("/mcp", "/.well-known/oauth-protected-resource"))[0] == 404, "there is no authorization server")
        proxy.bearer = known

    proxy = Listening(place, environment=environment)
    token = proxy.token_file.read_text().strip()
    need(proxy.token_file.parent == runtime / "baton" and len(token) >= 64, proxy.token_file)
    need(proxy.token_file.stat().st_mode & 0o777 == 0o600 and proxy.token_file.parent.stat().st_mode & 0o777 == 0o700, "for the user alone")
    unknown(proxy)
    unknown(proxy, Authorization="Bearer " + token[:-1])
    unknown(proxy, Authorization="Basic " + token)
    need("by token" in proxy.call(proxy.begin(), "echo", {"text": "by token"})[2], "with it, it works")
    need(token not in proxy.stderr(), "the token is not printed")
    notes = list((runtime / "baton").glob("mcp-*.listen.json"))
    need(len(notes) == 1 and json.loads(notes[0].read_text())["token"] == "made", notes)
    need(token.encode() not in Path(f"/proc/{proxy.process.pid}/cmdline").read_bytes(), "nor on its command line")
    proxy.end()
    need(list((runtime / "baton").iterdir()) == [], "both files go with it")

    # A token that was given, by the environment: no file.
    given = "given-" + "by-the-environment"
    proxy = Listening(place, environment={**environment, "BATON_MCP_TOKEN": given})
    need(proxy.token_file is None and not list((runtime / "baton").glob("*.token")), "none is made")
    unknown(proxy)
    proxy.bearer = {"Authorization": "Bearer " + given}
    session = proxy.begin()
    need("given" in proxy.call(session, "echo", {"text": "given"})[2], "it works")
    seen = Path(f"/proc/{proxy.process.pid}/environ").read_bytes()
    need(given.encode() not in seen and b"BATON_MCP_TOKEN" in seen, "it is not left in the environment")
    children = Path(f"/proc/{proxy.process.pid}/task/{proxy.process.pid}/children").read_text().split()
    need(children and all(given.encode() not in Path(f"/proc/{child}/environ").read_bytes() for child in children), "servers do not get it")
    proxy.end()

    # Without one only when it is said so; that is warned about and written down.
    proxy = Listening(place, "--listen-without-token", environment=environment)
    need("warning: --listen-without-token" in proxy.stderr(), proxy.stderr())
    need("by nobody" in proxy.call(proxy.begin(), "echo", {"text": "by nobody"})[2], "it works")
    note = json.loads(next((runtime / "baton").glob("mcp-*.listen.json")).read_text())
    need(note == {"address": f"127.0.0.1:{proxy.port}", "pid": proxy.process.pid, "token": "none"}, note)
    proxy.end()

    def refused(*arguments, **more):
        done = subprocess.run([place.baton, "mcp", "--node", "unix:" + place.node.socket_path, *arguments, "--", sys.executable, FIXTURE],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**place.environment(), **environment, **more},
                              cwd=place.folder, timeout=WAIT)
        need(done.returncode == 2 and "listening on" not in done.stderr, done)
        return done.stderr

    need("token" in refused("--listen", "0.0.0.0:0", "--listen-without-token"), "not for other machines")
    (runtime / "token").write_text(given + "\n")
    need("--listen-token-file" in refused("--listen", "127.0.0.1:0", "--listen-without-token", "--listen-token-file", str(runtime / "token")), "not both")
    need("16 characters" in refused("--listen", "127.0.0.1:0", BATON_MCP_TOKEN="short"), "a token has a length")
    os.chmod(runtime / "baton", 0o777)
    need("other users" in refused("--listen", "127.0.0.1:0"), "a folder that others can write is refused")
    shutil.rmtree(runtime / "baton")
    os.symlink(place.folder, runtime / "baton")
    need("no folder" in refused("--listen", "127.0.0.1:0"), "and so is a link")


def listens_with_a_rate(place):
    proxy = Listening(place, "--requests-per-second", "2")
    session = proxy.begin()  # two of the four that may come at once
    answers = [proxy.call(session, "echo", {"text": "x"}, number) for number in range(1, 9)]
    status, headers, _ = next(answer for answer in answers if answer[0] != 200)
    need(status == 429 and headers["Retry-After"], answers)
    need(answers[0][0] == 200, answers[0])
    eventually("it may call again", lambda: proxy.call(session, "echo", {"text": "x"})[0] == 200)
    proxy.end()


# --- processes ---------------------------------------------------------------------------------------------------------------------------


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(one) for one in file.read().split()]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def memory_most(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1))


OPERATOR = {"session": {"approvals": {"client_user_is_operator": True}}}
FAST = {"config": "fast_lane: {reads: true}\n"}
STORIES = {
    "allowed_and_denied": (allowed_and_denied, {}),
    "allowed_and_denied_by_the_fast_lane": (allowed_and_denied, FAST),
    "modern_era": (modern_era, {}),
    "narrowed_by_phase": (narrowed_by_phase, {}),
    "checkpoint_approved": (checkpoint_approved, {}),
    "checkpoint_denied": (checkpoint_denied, {}),
    "checkpoint_as_round_trip": (checkpoint_as_round_trip, {}),
    "checkpoints_by_the_hundred": (checkpoints_by_the_hundred, {}),
    "user_decides": (user_decides, OPERATOR),
    "user_decides_in_the_modern_era": (user_decides_in_the_modern_era, OPERATOR),
    "user_decides_nothing": (user_decides_nothing, {}),
    "user_decides_without_a_token": (user_decides_without_a_token, OPERATOR),
    "output_blocked": (output_blocked, {}),
    "definition_changed": (definition_changed, {}),
    "timeout_is_unknown": (timeout_is_unknown, {}),
    "server_dies": (server_dies, {}),
    "without_an_id": (without_an_id, {}),
    "members_in_another_case": (members_in_another_case, {}),
    "operations_refused": (operations_refused, {"session": {"mcp": {}}}),
    "operations_judged": (operations_judged, {"contracts": {"server:resources.read": {
        "argument_value_invariants": [{"path": "$.uri", "regex": "^file:///srv/"}]}}, "session": {"mcp": {}}}),
    "operations_recorded": (operations_recorded, {}),
    "the_queue_of_approvals_is_full": (the_queue_of_approvals_is_full, {"config": "approvals: {per_workspace: 1}\n"}),
    "outputs_judged_whole": (outputs_judged_whole, {}),
    "unknown_content_dropped": (unknown_content_dropped, {"session": {"mcp": {"unknown_content": "drop"}}}),
    "answer_that_cannot_be_read": (answer_that_cannot_be_read, {}),
    "server_speaks_unasked": (server_speaks_unasked, {}),
    "server_dies_too_often": (server_dies_too_often, {}),
    "proxy_killed": (proxy_killed, {}),
    "proxy_told_to_end": (proxy_told_to_end, {}),
    "node_killed": (node_killed, {}),
    "garbage_both_ways": (garbage_both_ways, {}),
    "bytes_pass_unharmed": (bytes_pass_unharmed, {}),
    "large_results": (large_results, {"config": "limits: {body_bytes: 8388608}\n"}),
    "larger_than_the_node_takes": (larger_than_the_node_takes, {}),
    "pipe_filled": (pipe_filled, {}),
    "a_thousand_at_once": (a_thousand_at_once, {}),
    "a_thousand_by_the_fast_lane": (a_thousand_at_once, FAST),
    "own_tools": (own_tools, {}),
    "handed_over": (handed_over, {}),
    "work_given_back": (work_given_back, {}),
    "joined_session": (joined_session, {}),
    "named_session": (named_session, {}),
    "named_session_refused": (named_session_refused, {}),
    "named_session_over_http": (named_session_over_http, {}),
    "environment_is_chosen": (environment_is_chosen, {}),
    "server_asks_the_client": (server_asks_the_client, {}),
    "errors_of_the_server": (errors_of_the_server, {}),
    "several_servers": (several_servers, {}),
    "could_not_begin": (could_not_begin, {}),
    "pack_from_a_server": (pack_from_a_server, {}),
    "names_that_a_server_chooses": (names_that_a_server_chooses, {}),
    "lists_that_cannot_be_read": (lists_that_cannot_be_read, {}),
    "node_in_the_proxy": (node_in_the_proxy, {}),
    "node_in_the_proxy_with_the_fast_lane": (node_in_the_proxy, FAST),
    "http_legacy": (http_legacy, {}),
    "http_modern": (http_modern, {}),
    "http_busy": (http_busy, {"echo": {"retries": {"max_attempts": 3, "retry_on": []}}}),
    "http_astray": (http_astray, {}),
    "http_nobody": (http_nobody, {}),
    "http_left_and_taken_up": (http_left_and_taken_up, {}),
    "listens_over_tls": (listens_over_tls, {}),
    "listens_with_a_token": (listens_with_a_token, {}),
    "listens_with_a_rate": (listens_with_a_rate, {}),
}


if __name__ == "__main__":
    sys.exit(tell(STORIES, sys.argv[2:], lambda **how: Place(sys.argv[1], **how)))
