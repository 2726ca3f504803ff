#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who is asking: supervised agents that show what is not theirs, labels on every read path, and who says a session's role and principal.

    who_asks_test.py PATH/TO/baton [STORY...]

Real nodes, sockets and processes. Each story has a workspace and a node of its own; at its end the ledger is verified and rebuilt.
Prints one line a story; exits 1 when one failed.
"""

import json
import os
import sys
from pathlib import Path

from node_harness import UnixConnection, Workspace
from stories import CONTRACT, need, tell

MARK = "tide-of-the-north"  # what only a labelled session wrote
LABEL = "customer-data"
CONFIG = "exit_protocol: true\n"
TWO_ROLES = CONFIG + """roles:
  implementer: {phases: [DRAFT, IMPLEMENTATION], reads: [project]}
  reviewer: {phases: [READY_FOR_REVIEW, REVIEW, READY_FOR_MERGE], reads: [findings]}
"""


class Place(Workspace):
    def __init__(self, baton, config=CONFIG):
        super().__init__(baton, config=config)
        self.token = self.init()
        self.node = self.serve()

    def ask(self, method, path, body=None, want=None, **how):
        answer = self.node.request(method, path, body, **how)
        need(want is None or answer.status == want, (method, path, want, answer))
        return answer

    def create(self, **more):
        body = {"title": "tide tables", "phase": "IMPLEMENTATION", **more}
        return self.ask("POST", "/v1/work", body, 201, token=self.token).json["work"]["id"]

    def item(self, name):
        return self.ask("GET", "/v1/work/" + name, None, 200, token=self.token).json["work"]

    def make_token(self, actor, kind="agent", **more):
        body = {"actor": actor, "kind": kind, **more}
        return self.ask("POST", "/v1/tokens", body, 201, token=self.token).json["token"]

    def claim(self, token, name, **more):
        return self.ask("POST", f"/v1/work/{name}/claim", more, 200, token=token).json["session"]

    def open(self, body, **how):
        return self.node.request("POST", "/v1/sessions", body, **how)

    def entries(self, kind, token=None):
        return [one for one in self.events("from=1", token=token or self.token) if one["type"] == kind]

    def events(self, query="from=1", seconds=1.5, token=None, session=None, headers=(), during=None):
        """What an event stream says until it is quiet."""
        connection = UnixConnection(self.node.socket_path, seconds)
        sent = dict(headers)
        if token:
            sent["Authorization"] = "Bearer " + token
        if session:
            sent["Baton-Session"] = session
        connection.request("GET", "/v1/events?" + query, headers=sent)
        answer = connection.getresponse()
        need(answer.status == 200, answer.status)
        if during:
            during()
        out = []
        try:
            while True:
                line = answer.readline()
                if not line:
                    break
                if line.startswith(b"data: "):
                    out.append(json.loads(line[6:]))
        except (TimeoutError, OSError):
            pass
        connection.close()
        return out

    def as_agent(self, session, steps, below=0):
        """Asks in a process that is registered as the session's agent, or `below` processes under it. What each step is: arguments of
        request(). The answers."""
        to_us, from_child = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(to_us)
            try:
                answer = self.node.request("POST", f"/v1/sessions/{session['id']}/process", {"pid": os.getpid()}, session=session["token"])
                out = [[answer.status, answer.json]]
                for _ in range(below):
                    grandchild = os.fork()
                    if grandchild:
                        os.waitpid(grandchild, 0)
                        os._exit(0)
                for method, path, body, how in steps:
                    got = self.node.request(method, path, body, **how)
                    out.append([got.status, got.json])
                os.write(from_child, json.dumps(out).encode())
            except BaseException as error:  # the parent must hear of it
                os.write(from_child, json.dumps([[0, {"error": repr(error)}]]).encode())
            os._exit(0)
        os.close(from_child)
        text = b""
        while piece := os.read(to_us, 65536):
            text += piece
        os.close(to_us)
        os.waitpid(child, 0)
        answers = json.loads(text)
        need(answers and answers[0][0] == 200, answers)
        return answers[1:]

    def write_labelled(self, token):
        """A labelled session writes a section, and ends."""
        name = self.create(labels=[LABEL])
        session = self.claim(token, name)
        block = {"agent_status": {"plan_status": "COMPLETE", "agent_id": session["agent_id"], "pending_steps": [], "next_action": MARK},
                 "evidence_report": {"patterns_checked": [], "files_checked": [], "commands_run": [], "key_outputs": [], "verbatim_outputs": [],
                                     "cross_layer_impacts": [], "open_gaps": [], "verification": {"result": "pass"}},
                 "update_contracts": [{"contract": "project", "payload": {"secret": MARK}}]}
        text = "```agent_contract_handoff\n" + json.dumps(block) + "\n```\n"
        self.ask("POST", f"/v1/sessions/{session['id']}/handoff", text, 200, session=session["token"], headers={"Content-Type": "text/plain"})
        return name

    def activate(self, role, session=None, tools=("look",)):
        pack = Path(self.folder) / ("pack-" + role)
        pack.mkdir()
        (pack / "session.yaml").write_text(json.dumps({"schema_version": "1.0", "agent": role, **(session or {})}))
        for tool in tools:
            (pack / (tool + ".yaml")).write_text(json.dumps({"tool": tool, **CONTRACT}))
        self.run("contract", "activate", str(pack), "--role", role, "--node", "unix:" + self.node.socket_path)
        packs = self.ask("GET", "/v1/packs", None, 200, token=self.token).json["packs"]
        return next(one["pack"] for one in packs if one["role"] == role)


# --- who it is -----------------------------------------------------------------------------------------------------------


def a_supervised_agent_is_itself(place):
    own, other, host = place.make_token("worker"), place.make_token("other"), place.make_token("desk", "host")
    names = [place.create() for _ in range(3)]
    session, others = place.claim(own, names[0]), place.claim(other, names[1])
    second = place.claim(own, names[2])
    for below in (0, 1):
        said = place.as_agent(session, [
            ["POST", "/v1/work", {"title": "a", "id": f"A-{below}"}, {}],
            ["POST", "/v1/work", {"title": "b", "id": f"B-{below}"}, {"token": other}],
            ["POST", "/v1/work", {"title": "c", "id": f"C-{below}"}, {"token": place.token}],
            ["POST", "/v1/work/W-1/abort", {"reason": "no"}, {"token": place.token}],
            ["POST", "/v1/work/W-1/abort", {"reason": "no"}, {"token": place.token, "session": session["token"]}],
            ["GET", "/v1/sessions/" + others["id"], None, {"session": others["token"]}],
            ["GET", "/v1/sessions/" + others["id"], None, {"session": others["token"], "token": other}],
            ["POST", "/v1/tokens", {"actor": "x", "kind": "operator"}, {"token": host}],
            ["GET", "/v1/sessions/" + session["id"], None, {"session": session["token"], "token": other}],
            ["GET", "/v1/sessions/" + second["id"], None, {"session": second["token"]}],
        ], below)
        for status, body in said[:3]:
            need(status == 201 and body["work"]["created_by"] == "worker", body)
        need([(status, body.get("code")) for status, body in said[3:8]] ==
             [(403, "ACCESS_SUPERVISED")] * 2 + [(403, "ACCESS_OTHER_AGENT")] * 2 + [(403, "ACCESS_SUPERVISED")], said[3:8])
        need(said[8][0] == 200 and said[9][0] == 200, "its own sessions")
    # Not below any agent, tokens count; one agent's does not act in another's session.
    crossed = place.ask("GET", "/v1/sessions/" + session["id"], None, 403, session=session["token"], token=other)
    need(crossed.code == "ACCESS_OTHER_AGENT", crossed)
    crossed = place.ask("GET", "/v1/sessions/" + session["id"], None, 403, session=session["token"], token=other, tcp=True)
    need(crossed.code == "ACCESS_OTHER_AGENT", crossed)


def less_than_its_token_is_not_more(place):
    narrow = place.make_token("worker", scopes=["read", "session", "register", "work.claim"])
    session = place.claim(narrow, place.create())
    said = place.as_agent(session, [["POST", "/v1/work", {"title": "a"}, {}], ["POST", "/v1/work", {"title": "a"}, {"token": narrow}]])
    need([(status, body.get("code")) for status, body in said] == [(403, "ACCESS_SCOPE")] * 2, said)


# --- labels --------------------------------------------------------------------------------------------------------------


def labels_hold_on_every_path(place):
    agent, auditor = place.make_token("worker"), place.make_token("ada", "auditor")
    labelled = place.write_labelled(agent)

    # An item that a labelled session creates says what that session knows.
    author = place.claim(agent, place.create(labels=[LABEL]))
    (status, made), = place.as_agent(author, [["POST", "/v1/work", {"title": "about " + MARK, "text": MARK}, {}]])
    need(status == 201 and made["work"]["labels"] == [LABEL], made)
    made = made["work"]["id"]

    # Who has no session that could have them.
    for how in ({}, {"token": agent}, {"token": agent, "tcp": True}):
        refused = place.ask("GET", "/v1/context/project", None, 403, **how)
        need(refused.code == "READ_LABELLED" and MARK not in refused.body.decode(), refused)
        for path in ("/v1/context/project/history", "/v1/context", "/v1/work/" + labelled, "/v1/work/" + made, "/v1/work", "/v1/approvals", "/v1/sessions",
                     "/v1/handoffs", "/v1/workflows", "/v1/packs", "/v1/status"):
            got = place.ask("GET", path, None, 200, **how).body.decode()
            need(MARK not in got, (path, how, got))
        need("READ_LABELLED" in place.ask("GET", "/v1/context/project/history", None, 200, **how).body.decode(), "said so")
        shown = place.ask("GET", "/v1/work/" + labelled, None, 200, **how).json["work"]
        need(shown["withheld"]["labels"] == [LABEL] and shown["phase"] == "CI_PENDING" and shown["title"] == "tide tables", shown)
    for how in ({"token": place.token}, {"token": auditor}):
        need(place.ask("GET", "/v1/context/project", None, 200, **how).json["value"]["secret"] == MARK, how)
        need(MARK in place.ask("GET", "/v1/context/project/history", None, 200, **how).body.decode(), how)
        need(MARK in place.ask("GET", "/v1/work/" + made, None, 200, **how).body.decode(), how)
        need("labels" not in place.item(place.create()), "nobody got labels")

    # A claim gives what the role reads, and the labels with it.
    name = place.create()
    place.claim(agent, name)
    need(place.item(name)["labels"] == [LABEL], place.item(name))


def reading_adds_them(place):
    agent = place.make_token("worker")
    early = [place.claim(agent, place.create()) for _ in range(4)]
    item = [place.ask("GET", "/v1/sessions/" + one["id"], None, 200, session=one["token"]).json["session"]["work_id"] for one in early]
    place.write_labelled(agent)
    author = place.claim(agent, place.create(labels=[LABEL]))
    (_, made), = place.as_agent(author, [["POST", "/v1/work", {"title": MARK}, {}]])
    paths = ["/v1/context/project", "/v1/context/project/history", "/v1/work/" + made["work"]["id"]]
    for at, path in enumerate(paths):
        need("labels" not in place.item(item[at]), "before")
        if at == 0:  # without any token, by its processes
            (status, body), = place.as_agent(early[at], [["GET", path, None, {}]], 1)
            need(status == 200 and body["value"]["secret"] == MARK, body)
        else:
            need(MARK in place.ask("GET", path, None, 200, session=early[at]["token"]).body.decode(), path)
        need(place.item(item[at])["labels"] == [LABEL], (path, place.item(item[at])))
    need(len([one for one in place.entries("work.labelled") if one["payload"]["labels"] == [LABEL]]) == 3, "recorded")
    # Lists add none, and show none of it.
    got = place.ask("GET", "/v1/work", None, 200, session=early[3]["token"]).body.decode()
    need(MARK not in got and "labels" not in place.item(item[3]), got)
    # What a labelled session's agent creates or claims has the labels, named or not.
    (status, copied), (_, claimed) = place.as_agent(early[0], [["POST", "/v1/work", {"title": "copied"}, {}],
                                                           ["POST", "/v1/work/" + place.create() + "/claim", {}, {}]])
    need(status == 201 and copied["work"]["labels"] == [LABEL], copied)
    need(claimed["work"]["labels"] == [LABEL], claimed)
    # A session that has ended has none to give to.
    place.ask("POST", f"/v1/sessions/{early[3]['id']}/release", {}, 200, session=early[3]["token"])
    need(place.ask("GET", "/v1/context/project", None, 403, session=early[3]["token"]).code == "READ_LABELLED", "ended")


def streams_withhold_them(place):
    agent = place.make_token("worker")
    plain = place.claim(agent, place.create(title="plain words"))
    live = {}
    heard = place.events("from=1", token=agent, during=lambda: live.update(name=place.write_labelled(agent)))
    need(any(one["type"] == "work.created" and one["payload"].get("title") == "plain words" for one in heard), "unlabelled is whole")
    for said in (heard, place.events("from=1", token=agent), place.events("from=1"), place.events("from=1", session=plain["token"]),
                 place.events("", token=agent, headers={"Last-Event-ID": "1"}),
                 place.events("from=1&stream=work/*", token=agent), place.events("from=1&stream=context/*&type=context.*", token=agent)):
        need(said and MARK not in json.dumps(said), [one for one in said if MARK in json.dumps(one)])
        need(any(one["payload"].get("withheld", {}).get("code") == "READ_LABELLED" for one in said), "said so")
    need(MARK in json.dumps(place.events("from=1", token=place.token)), "operators hear all")
    # Who has the labels hears it.
    place.ask("GET", "/v1/context/project", None, 200, session=plain["token"])
    need(MARK in json.dumps(place.events("from=1&stream=context/*", session=plain["token"])), "with the labels")
    need(not any(one["type"] == "api.answered" and "answer" in one["payload"] for one in place.events("from=1", token=agent)), "answers of others")


# --- role and principal ---------------------------------------------------------------------------------------------------

L2 = {"tier": "L2", "name": "Carla Clerk"}
POLICY = {"policy": {"rules": [{"deny": {"principal": {"path": "$.tier", "equals": "L1"}}}]}}


def the_token_says_role_and_principal(place):
    packs = {role: place.activate(role, POLICY) for role in ("agent", "refunds")}
    plain = place.make_token("plain")
    clerk = place.make_token("clerk", roles=["refunds"], principal=L2)
    junior = place.make_token("junior", roles=["refunds"], principal={"tier": "L1"})
    two = place.make_token("two", roles=["refunds", "agent"], principal=L2)

    def opened(body, **how):
        answer = place.open(body, **how)
        return answer.code if answer.status >= 300 else answer.json["session"]["role"]

    for how in ({"token": plain}, {"token": plain, "tcp": True}, {}):
        need(opened({}, **how) == "PRINCIPAL_REQUIRED", how)
        need(opened({"principal": L2}, **how) == "ACCESS_PRINCIPAL", how)
        need(opened({"role": "refunds", "principal": L2}, **how) == "ACCESS_ROLE", how)
        need(opened({"pack": packs["refunds"], "principal": L2}, **how) != "agent", how)
    need(opened({}, token=clerk) == "refunds", "the one role is the default")
    need(opened({"role": "agent"}, token=clerk) == "ACCESS_ROLE", "no other")
    need(opened({"principal": L2}, token=clerk) == "refunds", "naming the token's own says nothing new")
    need(opened({"principal": {"tier": "L3"}}, token=clerk) == "ACCESS_PRINCIPAL", "no other")
    need(opened({}, token=two) == "agent" and opened({"role": "refunds"}, token=two) == "refunds", "one of several")

    # The policy judges by what the token says.
    for token, verdict in ((clerk, "allow"), (junior, "block")):
        session = place.open({}, token=token).json["session"]
        said = place.ask("POST", f"/v1/sessions/{session['id']}/calls", {"calls": [{"tool": "look", "arguments": {}}]}, 200, session=session["token"])
        need(said.json["calls"][0]["verdict"] == verdict, said)

    # Nothing of the person in the record, but what can be erased.
    made = place.entries("token.created")
    need("Carla" not in json.dumps(place.events("from=1", token=place.token)), "personal data in an entry")
    with_principal = next(one["payload"] for one in made if one["payload"]["actor_id"] == "clerk")
    need(with_principal["principal_sha256"].startswith("hmac-sha256:"), with_principal)
    blob = with_principal["principal"]["blob"]["sha256"]
    place.ask("POST", f"/v1/ledger/blobs/{blob}/erase", {"reason": "asked for"}, 200, token=place.token)
    need(opened({}, token=clerk) == "ACCESS_PRINCIPAL", "whom it acts for is not known any more")


def hosts_and_operators_name_them(place):
    for role in ("agent", "refunds", "admin"):
        place.activate(role, POLICY)
    any_role, some = place.make_token("desk", "host"), place.make_token("shop", "host", roles=["refunds"])
    for token, role, want in ((any_role, "admin", 201), (any_role, "refunds", 201), (some, "refunds", 201), (some, "admin", 403),
                              (place.token, "admin", 201)):
        got = place.open({"role": role, "principal": L2}, token=token)
        need(got.status == want and (want == 201 or got.code == "ACCESS_ROLE"), (role, got))
    # Its agents are no hosts, nor is anything that was started by one.
    session = place.claim(any_role, place.create())
    said = place.as_agent(session, [
        ["POST", "/v1/sessions", {"role": "admin", "principal": L2}, {"token": any_role}],
        ["POST", "/v1/sessions", {"principal": L2}, {"token": any_role}],
        ["POST", "/v1/sessions", {"principal": L2}, {"token": any_role, "session": session["token"]}],
        ["POST", "/v1/sessions", {"role": "admin", "principal": L2}, {"token": place.token}],
    ])
    need([body.get("code") for _, body in said] == ["ACCESS_ROLE", "ACCESS_PRINCIPAL", "ACCESS_PRINCIPAL", "ACCESS_ROLE"], said)
    need(place.ask("POST", "/v1/tokens", {"actor": "x", "kind": "operator", "roles": ["a"]}, 422, token=place.token).code == "TOKEN_FIELD", "roles")
    for wrong in ("text", ["a"], 1):
        need(place.ask("POST", "/v1/tokens", {"actor": "x", "kind": "agent", "principal": wrong}, token=place.token).status in (400, 422), wrong)


def a_claims_role_is_the_tokens(place):
    plain, reviewer, implementer = (place.make_token(name, **({} if name == "plain" else {"roles": [name]})) for name in ("plain", "reviewer", "implementer"))
    name = place.create()
    got = place.ask("POST", f"/v1/work/{name}/claim", {}, 409, token=reviewer)
    need(got.code == "CLAIM_ROLE" and "none of the caller's" in got.body.decode(), got)
    need(place.ask("POST", f"/v1/work/{name}/claim", {"role": "implementer"}, 409, token=reviewer).code == "CLAIM_ROLE", "named")
    need(place.ask("POST", "/v1/claim", {"role": "implementer"}, 200, token=reviewer).json["work"] is None, "nothing for it")
    need(place.ask("POST", "/v1/claim", {}, 200, token=reviewer).json["work"] is None, "nothing for it")
    need(place.claim(implementer, name)["role"] == "implementer", "the one that its token has")
    need(place.claim(plain, place.create())["role"] == "implementer", "the phase's")
    # And so does what it may read.
    place.write_labelled(implementer)
    for token, want in ((implementer, 403), (plain, 403), (reviewer, 404)):
        place.ask("GET", "/v1/context/project", None, want, token=token)
    heard = place.events("from=1&stream=context/*", token=reviewer)
    need(not heard, heard)


def by_the_command_line(place):
    place.activate("refunds", POLICY)
    node = ["--node", "unix:" + place.node.socket_path]
    principal = Path(place.folder) / "clerk.json"
    principal.write_text(json.dumps(L2))
    token = os.path.join(place.folder, "clerk.token")
    place.run("token", "create", "--actor", "clerk", "--role", "refunds", "--principal", "@" + str(principal), "--token-out", token, *node)
    said = place.run("session", "open", "--token-file", token, "--format", "json", *node)
    need(json.loads(said)["session"]["role"] == "refunds", said)
    other = place.run("session", "open", "--token-file", token, "--role", "agent", *node, status=None)
    need(other.returncode == 1 and "ACCESS_ROLE" in other.stderr + other.stdout, other)
    bad = place.run("token", "create", "--actor", "clerk", "--principal", "L2", *node, status=None)
    need(bad.returncode == 2 and "no JSON object" in bad.stderr, bad)
    listed = json.loads(place.run("token", "list", "--format", "json", *node))["tokens"]
    clerk = next(one for one in listed if one["actor"] == "clerk")
    need(clerk["roles"] == ["refunds"] and clerk["principal_sha256"], clerk)


STORIES = {
    "a_supervised_agent_is_itself": (a_supervised_agent_is_itself, {}),
    "less_than_its_token_is_not_more": (less_than_its_token_is_not_more, {}),
    "labels_hold_on_every_path": (labels_hold_on_every_path, {}),
    "reading_adds_them": (reading_adds_them, {}),
    "streams_withhold_them": (streams_withhold_them, {}),
    "the_token_says_role_and_principal": (the_token_says_role_and_principal, {}),
    "hosts_and_operators_name_them": (hosts_and_operators_name_them, {}),
    "a_claims_role_is_the_tokens": (a_claims_role_is_the_tokens, {"config": TWO_ROLES}),
    "by_the_command_line": (by_the_command_line, {}),
}

if __name__ == "__main__":
    sys.exit(tell(STORIES, sys.argv[2:], lambda **how: Place(sys.argv[1], **how)))
