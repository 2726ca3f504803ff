#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verifies an exported ledger, without Baton: written from docs/formats/ledger.md, Python's standard library only.

    tools/verify_ledger.py FILE [--public-key FILE] [--checkpoint FILE]...

Checks the chain, the Merkle tree, every seal and every statement about keys. --public-key: a verifier key or PEM known some
other way; it must have created or sealed the ledger. --checkpoint: one that was kept; the ledger must have had that root.
Prints OK and exits 0, or the first broken place and why and exits 1; 2 when it could not run.
"""
import argparse
import base64
import datetime
import functools
import hashlib
import json
import re
import sys

LINE_MAX, NOTE_MAX, SIGNATURES_MAX = 512 << 10, 256 << 10, 100

class Broken(Exception):
    """What is wrong, and where."""

def expect(holds, what="not in the ledger's form"):
    if not holds:
        raise ValueError(what)

# --- Ed25519 (RFC 8032, 5.1), verification only; points are (X, Y, Z, T) ----------------------------------------------
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ZERO = (0, 1, 1, 0)

def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P

def multiply(n, p):
    q = ZERO
    while n:
        q, p, n = add(q, p) if n & 1 else q, add(p, p), n >> 1
    return q

def decompress(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    x2 = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - x2) % P or (x == 0 and sign):
        return ZERO  # which no key may be
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P

def compress(p):
    z = pow(p[2], -1, P)
    return (p[1] * z % P | (p[0] * z % P & 1) << 255).to_bytes(32, "little")

BASE = decompress((4 * pow(5, -1, P) % P).to_bytes(32, "little"))

@functools.lru_cache(None)
def verifies(key, text, signature):
    point, s = decompress(key), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or s >= L or compress(multiply(8, point)) == compress(ZERO):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + text).digest(), "little") % L
    return compress(add(multiply(s, BASE), multiply(k, (P - point[0], point[1], 1, P - point[3])))) == signature[:32]

# --- texts ------------------------------------------------------------------------------------------------------------
class Number(str):
    """A JSON number as it is written."""

def members(pairs):
    expect(len(dict(pairs)) == len(pairs), "a key occurs twice")
    return dict(pairs)

def parse(text):
    refuse = lambda constant: expect(False, f"{constant} is not JSON")
    value = json.loads(text, object_pairs_hook=members, parse_int=Number, parse_float=Number, parse_constant=refuse)
    quoted(value).encode()  # refuses lone surrogates
    return value

def quoted(text):
    return json.dumps(text, ensure_ascii=False)

def unbase64(text):
    data = base64.b64decode(text, validate=True)
    expect(base64.b64encode(data).decode() == text, "not canonical base64")
    return data

def is_name(name):
    return name != "" and not any(c.isspace() or c == "+" or ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in name)

def key_id(name, key):
    return hashlib.sha256(name.encode() + b"\n\x01" + key).digest()[:4]

def verifier_key(text, name):
    """The 32 bytes of a key called `name`."""
    data = unbase64(text[len(name) + 10:])
    expect(len(data) == 33 and data[0] == 1 and text.startswith(f"{name}+{key_id(name, data[1:]).hex()}+"), "not a key")
    return data[1:]

def parse_note(text):
    """(the signed text, [(name, key id, signature)]) of a C2SP signed note."""
    expect(len(text.encode()) <= NOTE_MAX and not re.search(r"[\x00-\x09\x0b-\x1f]", text) and text[-1] == "\n", "a note")
    body, gap, below = text.rpartition("\n\n")
    expect(gap and below.count("\n") <= SIGNATURES_MAX, "not a signed note")
    signatures = []
    for line in below[:-1].split("\n"):
        dash, name, data = line.split(" ")
        data = unbase64(data)
        expect(dash == "\u2014" and is_name(name) and len(data) > 4, "not a signature")
        if len(data) == 68:  # others are of other kinds
            signatures.append((name, data[:4], data[4:]))
    return body + "\n", signatures

def parse_checkpoint(text):
    origin, size, root, *extension, last = text.split("\n")
    expect(origin and re.fullmatch("0|[1-9][0-9]{0,19}", size, re.A) and "" not in extension and not last, "no checkpoint")
    expect(len(unbase64(root)) == 32, "not a checkpoint")
    return origin, int(size), unbase64(root)

def time_of(text):
    expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", text, re.A))
    moment = datetime.datetime.fromisoformat(text[:19]) - datetime.datetime(1970, 1, 1)
    expect(abs(moment.days * 86400 + moment.seconds) <= 9223372035)  # what 64 bits of nanoseconds hold
    return (moment.days * 86400 + moment.seconds) * 10**9 + int(text[20:29])

def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()

# --- the ledger -------------------------------------------------------------------------------------------------------
class Ledger:
    def __init__(self, pinned, kept):
        self.size, self.hash, self.time, self.peaks = 0, bytes(32), None, []  # peaks: (height, hash), largest first
        self.origin, self.keys = None, {}  # key -> [active, takes part in a rotation that no seal has covered]
        self.sealed, self.seals, self.first, self.end = 0, 0, None, None
        self.pinned, self.anchored, self.kept = pinned, False, kept

    def root(self):
        if not self.peaks:
            return hashlib.sha256().digest()
        return functools.reduce(lambda right, left: node(left, right), [h for _, h in reversed(self.peaks)])

    def line(self, line):
        expect(self.end is None, "a line after the end")
        value = parse(line)
        if self.first is None:
            self.first = value["origin"]
            expect(line == '{"baton_ledger":1,"origin":%s}' % quoted(self.first) and type(self.first) is str)
        elif line.startswith('{"entry":'):
            self.entry(line, value["entry"], value["hash"])
        elif line.startswith('{"seal":'):
            expect(line == '{"seal":%s,"size":%d}' % (quoted(value["seal"]), int(value["size"])))
            expect(0 <= int(value["size"]) < 2**64 and type(value["seal"]) is str)
            try:
                self.seal(value["seal"], int(value["size"]))
            except ValueError as problem:
                raise Broken(self.size, f"the seal: {problem}") from None
        else:
            end = bytes.fromhex(value["end"]["hash"]), int(value["end"]["size"])
            expect(line == '{"end":{"hash":"%s","size":%d}}' % (end[0].hex(), end[1]) and len(end[0]) == 32)
            expect(0 <= end[1] < 2**64)
            self.end = end

    def entry(self, line, body, digest):
        actor, sequence, previous, time = body["actor"], int(body["sequence"]), body["previous"], time_of(body["time"])
        stream, kind, place = body["stream"], body["type"], self.size + 1
        before = '{"entry":{"actor":{"id":%s,"kind":%s},"payload":' % (quoted(actor["id"]), quoted(actor["kind"]))
        after = ',"previous":"%s","sequence":%d,"stream":%s,"time":"%s","type":%s},"hash":"%s"}' % (
            previous, sequence, quoted(stream), body["time"], quoted(kind), digest)
        payload = line[len(before):len(line) - len(after)]
        expect(line == before + payload + after and len(body) == 7 and type(body["payload"]) is dict)
        expect(payload[0] == "{" and payload[-1] == "}" and all(type(t) is str for t in (*actor.values(), stream, kind)))
        expect(sequence == place, f"entry {sequence} stands where {place} should")
        leaf = hashlib.sha256(b"\0baton.ledger.entry.v1\n" + line[9:len(line) - 75].encode()).digest()
        expect(leaf.hex() == digest, "the hash does not belong to the entry")
        expect(self.hash.hex() == previous, "the previous hash is not that of the entry before")
        expect(actor["kind"] in ("agent", "operator", "ci", "auditor", "node") and stream and kind, "an unknown actor")
        expect(self.time is None or time >= self.time, "the entry is older than the one before")
        if place == 1 or kind == "ledger.created" or kind.startswith("ledger.key_"):
            self.statement(kind, body["payload"], place)
        self.size, self.hash, self.time, height = place, leaf, time, 0
        while self.peaks and self.peaks[-1][0] == height:
            leaf, height = node(self.peaks.pop()[1], leaf), height + 1
        self.peaks.append((height, leaf))
        for kept in self.kept:
            if kept[1] == place and kept != (self.origin, place, self.root()):
                raise Broken(place, "the root is not that of the kept checkpoint")

    def statement(self, kind, value, place):
        origin, keys = self.origin or value["origin"], self.keys
        expect((place == 1) == (kind == "ledger.created"), "`ledger.created` is the first entry and no other")
        expect(all(type(text) is str for text in value.values()) and value["origin"] == origin and is_name(origin))

        def signed(key, member, tag, *parts):
            text = "".join(part + "\n" for part in (f"baton.{tag}.v1", origin, *parts))
            expect(verifies(key, text.encode(), unbase64(value[member])), f"{member} does not hold")

        def take(*names):
            expect(sorted(value) == sorted((*names, "origin")), "not the members of a statement")
            return [value[name] for name in names[:2]] + [verifier_key(value[name], origin) for name in names[:2]]

        def active(key):
            expect(keys.get(key, [False])[0], "a key that is not active")

        if kind == "ledger.created":
            expect(sorted(value) == ["key", "origin", "redaction_key", "signature"] and origin == self.first)
            expect(re.fullmatch("[0-9a-f]{16}", value["redaction_key"], re.A), "not the id of a key")
            key = verifier_key(value["key"], origin)
            signed(key, "signature", kind, value["key"], value["redaction_key"])
            self.origin, keys[key] = origin, [True, False]
            self.anchored = self.pinned in ((origin, key), ("", key))
        elif kind == "ledger.key_admitted":
            by_text, text, by, key = take("by", "key", "by_signature", "signature")
            active(by)
            expect(key not in keys, "a key that was admitted before")
            signed(by, "by_signature", kind, by_text, text)
            signed(key, "signature", "ledger.key_admission", text)
            keys[key] = [True, False]
        elif kind == "ledger.key_rotated":
            old_text, new_text, old, new = take("old_key", "new_key", "old_signature", "new_signature")
            active(old)
            expect(new not in keys, "a key that was admitted before")
            signed(old, "old_signature", kind, old_text, new_text)
            signed(new, "new_signature", kind, old_text, new_text)
            keys[old], keys[new] = [False, True], [True, True]
        else:
            expect(kind == "ledger.key_retired", "an unknown statement about keys")
            by_text, text, by, key = take("by", "key", "by_signature")
            active(by), active(key)
            expect(by != key, "a key cannot retire itself")
            signed(by, "by_signature", kind, by_text, text)
            keys[key][0] = False

    def seal(self, note, size):
        expect(size == self.size and size > self.sealed, f"covers {size} entries, but stands after {self.size}")
        text, signatures = parse_note(note)
        expect(parse_checkpoint(text) == (self.origin, size, self.root()), "the entries have another root")
        signers, may_sign = set(), [key for key, state in self.keys.items() if any(state)]
        for name, number, signature in signatures:
            known = [key for key in may_sign if name == self.origin and number == key_id(name, key)]
            good = {key for key in known if verifies(key, text.encode(), signature)}
            expect(good or not known, "a signature does not hold")
            signers |= good
        expect(any(self.keys[key][0] for key in signers), "not signed by an active key")
        expect(all(key in signers for key in may_sign if self.keys[key][1]), "a rotation not signed by both keys")
        self.anchored |= any(self.pinned in ((self.origin, key), ("", key)) for key in signers)
        for state in self.keys.values():
            state[1] = False
        self.sealed, self.seals = size, self.seals + 1

    def finish(self):
        for holds, place, why in (
                (self.end, self.size, "the file has no last line: it was cut"),
                (all(kept[1] <= self.size for kept in self.kept), self.size + 1, "entries that the checkpoint saw were cut"),
                (self.end and self.end[1] <= self.size, self.size + 1, "the entry is missing"),
                (self.end == (self.hash, self.size), self.size, "the last line is not that of these entries"),
                (self.sealed == self.size, self.size, f"the newest entries are not sealed: only {self.sealed}"),
                (self.anchored or not self.pinned or not self.size, self.size, "not a ledger of the given key")):
            if not holds:
                raise Broken(place, why)

def verify(file, pinned=None, kept=()):
    """The Ledger that was read, a file of bytes; or raises Broken."""
    ledger = Ledger(pinned, kept)
    while line := file.readline(LINE_MAX + 2):
        try:
            expect(line.endswith(b"\n") and len(line) <= LINE_MAX + 1, "a line without end")
            ledger.line(line[:-1].decode())
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
            raise Broken(ledger.size + 1, str(problem)) from None
    ledger.finish()
    return ledger

def read_key(text):
    if text.startswith("-----BEGIN PUBLIC KEY-----"):
        data = unbase64(text.split("\n")[1])
        expect(len(data) == 44 and data[:12].hex() == "302a300506032b6570032100", "not an Ed25519 public key")
        return "", data[12:]
    return text.split("+")[0], verifier_key(text.strip(), text.split("+")[0])

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=argparse.FileType("rb"))
    parser.add_argument("--public-key", type=argparse.FileType(encoding="utf-8"))
    parser.add_argument("--checkpoint", type=argparse.FileType(encoding="utf-8"), action="append", default=[])
    arguments = parser.parse_args()
    try:
        pinned = read_key(arguments.public_key.read()) if arguments.public_key else None
        kept = [parse_checkpoint(parse_note(file.read())[0]) for file in arguments.checkpoint]
        ledger = verify(arguments.file, pinned, kept)
    except Broken as broken:
        print("BROKEN at {}: {}".format(*broken.args))
        return 1
    except (OSError, ValueError) as problem:
        print(f"verify_ledger: {problem}", file=sys.stderr)
        return 2
    print(f"OK: {ledger.size} entries, {ledger.seals} seals, origin {ledger.origin}, root {ledger.root().hex()}")
    return 0

if __name__ == "__main__":
    sys.exit(main())
