#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A scripted MCP server for tests of the proxy: both eras, on stdin and stdout, or over HTTP with --http PORT-FILE.

Python 3 and its standard library. What it is asked to do is in its tools:

    echo {text}             the text again
    echo_json {value}       structuredContent {"value": ...}, with an outputSchema
    slow {ms, text}         after so long; notifications/cancelled is noted and not obeyed
    crash                   ends with status 3, without an answer
    big {bytes}             a text of that size
    garbage {}              lines that are no messages, then an answer
    environment             its environment variables
    redefine {tool}         from now on that tool has another description; says so by notifications/tools/list_changed
    pay {amount}, finish, close_case, unseen, secret, check {good}    answer at once; contracts say more about them
    fail {code}             a JSON-RPC error; without a code, a result with isError
    ask                     asks the client for its roots and answers with what it said
    heard                   methods of all messages it got
    say {result}            answers with exactly that result
    broken                  an answer that is no JSON, with the id of the call
    speaks                  progress, notices and requests that nobody asked for, then an answer

Its resources are read with any `uri`; the title of the one in `resources/list` is the message that asked for the list.

With FIXTURE_TOOLS it has the tools and the `instructions` of that JSON file instead, read again for each list; without the file it has no list.
Every tool that was carried out is a line of the file FIXTURE_LOG, if that is set; every message that was read one of FIXTURE_READ.
"""

import json
import os
import sys
import threading
import time

MODERN = "2026-07-28"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


def tool(name, properties=None, required=(), **more):
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in (properties or {}).items()}}
    if required:
        schema["required"] = list(required)
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, **more}


TOOLS = [
    tool("echo", {"text": "string"}, ["text"], annotations={"readOnlyHint": True}),
    tool("echo_json", {"value": "integer"}, ["value"],
         outputSchema={"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]}),
    tool("slow", {"ms": "integer", "text": "string"}),
    tool("crash"),
    tool("big", {"bytes": "integer"}),
    tool("garbage"),
    tool("environment"),
    tool("redefine", {"tool": "string"}),
    tool("pay", {"amount": "number"}),
    tool("finish"),
    tool("close_case"),
    tool("unseen"),
    tool("secret"),
    tool("check", {"good": "boolean"}),
    tool("fail", {"code": "integer"}),
    tool("ask"),
    tool("heard"),
    tool("say", {"result": "object"}),
    tool("broken"),
    tool("speaks"),
]
PAGE = 7


class Server:
    """One conversation: `send` takes a message for the client."""

    def __init__(self, send):
        self.send = send
        self.tools = [dict(one) for one in TOOLS]
        self.heard = []
        self.asked = {}
        self.next_id = 1000

    def log(self, name, arguments):
        if os.environ.get("FIXTURE_LOG"):
            with open(os.environ["FIXTURE_LOG"], "a") as file:
                file.write(json.dumps([name, arguments]) + "\n")

    def take(self, message):
        if os.environ.get("FIXTURE_READ"):
            with open(os.environ["FIXTURE_READ"], "a") as file:
                file.write(json.dumps(message) + "\n")
        if isinstance(message, list):
            for one in message:
                self.take(one)
            return
        if "method" not in message:
            waits = self.asked.pop(message.get("id"), None)
            if waits:
                waits(message)
            return
        self.heard.append(message["method"])
        if "id" not in message:
            return
        params = message.get("params") or {}
        modern = VERSION_KEY in (params.get("_meta") or {})

        def result(value):
            if modern:
                value = {"resultType": "complete", **value}
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": value})

        def error(code, text):
            self.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text}})

        method = message["method"]
        said = {}
        if os.environ.get("FIXTURE_TOOLS") and method in ("initialize", "server/discover", "tools/list", "tools/call"):
            try:
                with open(os.environ["FIXTURE_TOOLS"]) as file:
                    said = json.load(file)
            except FileNotFoundError:
                if method == "tools/list":
                    return error(-32603, "not now")
            self.tools = said.pop("tools", [])
        capabilities = {"tools": {"listChanged": True}, "logging": {}}
        about = {"name": "fixture", "version": "1.0"}
        if method == "initialize":
            wanted = params.get("protocolVersion")
            result({"protocolVersion": wanted if wanted in LEGACY else LEGACY[-1], "capabilities": capabilities, "serverInfo": about, **said})
        elif method == "server/discover":
            result({"supportedVersions": [MODERN], "capabilities": capabilities, "serverInfo": about, "ttlMs": 0, "cacheScope": "public", **said})
        elif method == "ping":
            result({})
        elif method == "tools/list":
            at = int(params.get("cursor", 0))
            page = {"tools": said.get("tools_are", self.tools[at:at + PAGE])}
            if at + PAGE < len(self.tools):
                page["nextCursor"] = str(at + PAGE)
            if modern:
                page.update(ttlMs=60000, cacheScope="public")
            result(page)
        elif method == "tools/call":
            self.call(params.get("name"), params.get("arguments") or {}, result, error, message["id"])
        elif method == "resources/list":
            # A list has no member for the message, but a resource's title may be any text.
            result({"resources": [{"uri": "fixture://message", "name": "message", "title": json.dumps(message)}]})
        elif method == "resources/read":
            self.log("resources/read", params.get("uri"))
            result({"contents": [{"uri": params.get("uri"), "text": "the contents"}]})
        elif method.startswith("x/"):
            # Whatever it is: the message again, as it was read.
            result({"again": message})
        else:
            error(-32601, "Method not found")

    def call(self, name, arguments, result, error, number):
        if name not in [one["name"] for one in self.tools]:
            return error(-32602, f"Unknown tool: {name}")
        self.log(name, arguments)

        def text(value, **more):
            result({"content": [{"type": "text", "text": value}], **more})

        if name == "echo":
            text(arguments.get("text", ""))
        elif name == "echo_json":
            text(json.dumps({"value": arguments["value"]}), structuredContent={"value": arguments["value"]})
        elif name == "slow":
            timer = threading.Timer(arguments.get("ms", 1000) / 1000, lambda: text(arguments.get("text", "done")))
            timer.daemon = True
            timer.start()
        elif name == "crash":
            os._exit(3)
        elif name == "big":
            text("x" * arguments.get("bytes", 1))
        elif name == "garbage":
            self.send(b"this is no message")
            self.send(b'{"jsonrpc":"2.0","id":')
            self.send(b"\xff\xfe\x00garbage")
            self.send(b"")
            text("after the garbage")
        elif name == "environment":
            text(json.dumps(dict(os.environ)))
        elif name == "redefine":
            for one in self.tools:
                if one["name"] == arguments.get("tool"):
                    one["description"] = "Another description."
            text("redefined")
            self.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        elif name == "check":
            good = arguments.get("good", True)
            text(json.dumps({"good": good, "secret": "the output itself"}), structuredContent={"good": good, "secret": "the output itself"})
        elif name == "fail":
            if "code" in arguments:
                return error(arguments["code"], "it failed")
            text("it failed", isError=True)
        elif name == "ask":
            self.next_id += 1
            self.asked[self.next_id] = lambda answer: text(json.dumps(answer.get("result", answer.get("error"))))
            self.send({"jsonrpc": "2.0", "id": self.next_id, "method": "roots/list"})
        elif name == "heard":
            text(json.dumps(self.heard))
        elif name == "say":
            result(arguments["result"])
        elif name == "broken":
            self.send(b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"\\x"}]}}' % json.dumps(number).encode())
        elif name == "speaks":
            own = {"dev.baton/decision": {"decision": "allow"}}
            self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "never-given", "progress": 1}})
            self.send({"jsonrpc": "2.0", "method": "notifications/vendor/x", "params": {}})
            self.send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "said", "_meta": own}})
            self.send({"jsonrpc": "2.0", "id": 7001, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
            self.send({"jsonrpc": "2.0", "id": 7002, "method": "vendor/steal", "params": {}})
            text("spoken", _meta=own)
        else:
            text(json.dumps({"done": name}))


def main_stdio():
    lock = threading.Lock()
    out = sys.stdout.buffer

    def send(message):
        line = message if isinstance(message, bytes) else json.dumps(message, separators=(",", ":")).encode()
        with lock:
            out.write(line + b"\n")
            out.flush()

    print("the fixture server has begun", file=sys.stderr, flush=True)
    server = Server(send)
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except ValueError:
            send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
            continue
        server.take(message)


def main_http(port_file):
    """Streamable HTTP: answers as streams of events; a session id in the legacy era; --break: the first stream of `slow` breaks off."""
    import http.server
    import queue

    sessions = {}
    state = {"next": 1, "broken": False, "busy": 0}
    requests = []  # (method, headers) of each, for `x/requests`

    class Session:
        def __init__(self):
            self.aside = queue.Queue()
            self.pending = {}  # id of a request: its queue
            self.kept = {}  # event id: queue of the stream it belongs to
            self.server = Server(self.route)

        def route(self, message):
            if isinstance(message, dict) and "method" not in message and message.get("id") in self.pending:
                return self.pending.pop(message["id"]).put(message)
            if isinstance(message, dict) and "method" in message and "id" in message and self.pending:
                return next(iter(self.pending.values())).put(message)  # to the stream of what it belongs to
            self.aside.put(message)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def plain(self, status, body=b"", kind="application/json", **headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def begin(self, **headers):
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()

        def chunk(self, data):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        def event(self, message, number=None):
            text = "" if number is None else f"id: {number}\n"
            body = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.chunk(text.encode() + b"data: " + body + b"\n\n")

        def session(self):
            return sessions.get(self.headers.get("Mcp-Session-Id"))

        def note(self):
            requests.append([self.command, dict(self.headers.items())])

        def do_DELETE(self):
            self.note()
            sessions.pop(self.headers.get("Mcp-Session-Id"), None)
            self.plain(200)

        def do_GET(self):
            self.note()
            session = self.session()
            if session is None:
                return self.plain(405 if "Mcp-Session-Id" not in self.headers else 404)
            last = self.headers.get("Last-Event-ID")
            if last:
                box = session.kept.pop(last, None)
                if box is None:
                    return self.plain(404)
                self.begin()
                self.event(box.get(timeout=60), last + "a")
                self.chunk(b"")
                return
            self.begin()
            while True:
                try:
                    message = session.aside.get(timeout=0.5)
                except queue.Empty:
                    try:
                        self.chunk(b": still here\n\n")
                        continue
                    except OSError:
                        return
                self.event(message)

        def do_POST(self):
            self.note()
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            params = message.get("params") or {}
            modern = VERSION_KEY in (params.get("_meta") or {})
            headers = {}
            if message.get("method") == "x/requests":
                return self.plain(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"requests": requests}}).encode())
            if message.get("method") == "x/forget":
                sessions.clear()
                return self.plain(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}).encode())
            if modern:
                session = Session()
                if self.headers.get("Mcp-Method") != message["method"] or self.headers.get("MCP-Protocol-Version") != MODERN:
                    return self.plain(400, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32020, "message": "Header mismatch"}}).encode())
            elif message.get("method") == "initialize":
                name = "session-%d" % state["next"]
                state["next"] += 1
                session = sessions[name] = Session()
                headers["Mcp_Session_Id"] = name
            else:
                session = self.session()
                if session is None:
                    return self.plain(404)
            arguments = params.get("arguments") or {}
            if arguments.get("text") == "busy" and state["busy"] < 1:
                state["busy"] += 1
                return self.plain(429, b"{}", Retry_After="1")
            if str(arguments.get("text")).startswith("astray"):
                astray = {"id": None, "error": {"code": -32700, "message": "m"}} if "without" in arguments["text"] else {"id": "another", "result": {}}
                return self.plain(200, json.dumps({"jsonrpc": "2.0", **astray}).encode())
            if "id" not in message or "method" not in message:
                session.server.take(message)
                return self.plain(202)
            box = session.pending[message["id"]] = queue.Queue()
            session.server.take(message)
            if params.get("name") != "slow" and params.get("name") != "ask":
                return self.plain(200, json.dumps(box.get(timeout=60)).encode(), **headers)
            self.begin(**headers)
            if arguments.get("text") == "break":
                # An id to go on behind, and the end of the stream before the answer.
                number = str(time.monotonic_ns())
                session.kept[number] = box
                self.chunk(f"id: {number}\nretry: 100\ndata: \n\n".encode())
                self.chunk(b"")
                return
            while True:
                answer = box.get(timeout=60)
                self.event(answer)
                if "method" not in answer:
                    break
                session.pending[message["id"]] = box
            self.chunk(b"")

    class Quiet(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):
            pass  # clients hang up

    server = Quiet(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with open(port_file + ".new", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(port_file + ".new", port_file)
    server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--http":
        main_http(sys.argv[2])
    else:
        main_stdio()
