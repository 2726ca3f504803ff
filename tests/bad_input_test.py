#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input of every kind gets a clear message and exit status 1 or 2: never a crash, never silence, never a hang."""
import os, pathlib, subprocess, sys, tempfile

BATON = os.path.abspath(sys.argv[1])
failures = []

def check(name, arguments, stdin=b"", statuses=(1, 2), said=None):
    try:
        done = subprocess.run([BATON] + arguments, input=stdin, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        failures.append(f"{name}: did not end"); return
    text = (done.stdout + done.stderr).decode("utf-8", "replace")
    if done.returncode not in statuses: failures.append(f"{name}: status {done.returncode}: {text[:400]}")
    if not text.strip(): failures.append(f"{name}: said nothing")
    if said and said not in text: failures.append(f"{name}: did not say {said!r}: {text[:400]}")
    if "Sanitizer" in text or "internal error" in text: failures.append(f"{name}: {text[:800]}")

commands = [["check"], ["check", "--format", "json"], ["check", "--format", "sarif"], ["json", "check"], ["json", "canon"],
            ["uaix", "verify"], ["uaix", "seal"], ["find"], ["translate", "--to", "uaix"]]
for dialect in ("agent-exit", "agent-contract", "uaix", "handoff-spec"):
    commands += [["check", "--dialect", dialect], ["check", "--format", "json", "--dialect", dialect]]
inputs = {
    "empty": b"", "blank": b"  \n\t\n", "binary": bytes(range(256)) * 64, "nul": b"\0" * 1000, "bom": b"\xef\xbb\xbf{}",
    "invalid utf-8": b'{"protocol":"apm2_agent_exit","notes":"\xff\xfe"}', "truncated utf-8": b'{"a":"\xe2\x82',
    "nested brackets": b"[" * 100_000, "nested braces": b'{"a":' * 100_000, "closed nesting": b"[" * 100_000 + b"]" * 100_000,
    "one long line": b"x" * 3_000_000, "long string": b'{"a":"' + b"y" * 3_000_000 + b'"}', "many keys": b"{" + b",".join(b'"k%d":1' % i for i in range(200_000)) + b"}",
    "many same keys": b"{" + b",".join([b'"k":1'] * 50_000) + b"}", "huge number": b'{"n":' + b"9" * 100_000 + b"}", "quotes": b'"' * 100_001,
    "fences": b"```\n" * 50_000, "backslashes": b'{"a":"' + b"\\" * 99_999, "array": b"[]", "number": b"42",
}
for name, data in inputs.items():
    for command in commands:
        statuses = (0, 1, 2) if command[0] == "json" and name in ("long string", "many keys", "huge number", "array", "number") else (1, 2)
        check(f"{' '.join(command)} < {name}", command, data, statuses)

check("a million and one elements", ["json", "check"], b"[" + b"0," * (1 << 20) + b"0]", statuses=(1,), said="JSON_TOO_LARGE")

with tempfile.TemporaryDirectory() as folder:
    check("a directory", ["check", folder], statuses=(2,), said="directory")
    check("no such file", ["check", os.path.join(folder, "none.json")], statuses=(2,), said="No such file")
    check("find a directory", ["find", folder], statuses=(2,), said="directory")
    # A gigabyte that holds nothing: read in bounded memory, answered.
    big = pathlib.Path(folder, "big.bin")
    with open(big, "wb") as out: out.truncate(1 << 30)
    check("a gigabyte", ["check", str(big)], statuses=(2,), said="larger")
    check("a gigabyte, uaix", ["check", "--dialect", "uaix", str(big)], statuses=(1, 2))
    check("a gigabyte of json", ["json", "check", str(big)], statuses=(2,), said="larger")
    check("an unknown option", ["check", "--nonsense"], statuses=(2,))
    check("an unknown command", ["nonsense"], statuses=(2,))
    check("a wrong time", ["check", "--now", "yesterday"], b"{}", statuses=(2,), said="UTC")
    check("an unknown code", ["explain", "NO_SUCH_CODE"], statuses=(2,), said="no code")
    check("a broken envelope", ["check", "--input-envelope", "/dev/null"], b"{}", statuses=(2,), said="envelope")

# A reader that goes away.
read_end, write_end = os.pipe()
os.close(read_end)
done = subprocess.run([BATON, "explain", "--all"], stdout=write_end, stderr=subprocess.PIPE, timeout=60)
os.close(write_end)
if done.returncode != 2 or b"writing to standard output" not in done.stderr: failures.append(f"closed pipe: status {done.returncode} {done.stderr!r}")

# Standard input that is not there.
done = subprocess.run(["bash", "-c", '"$0" check <&-', BATON], capture_output=True, timeout=60)
if done.returncode != 2 or not done.stderr: failures.append(f"closed standard input: status {done.returncode} {done.stderr!r}")

print("\n".join(failures) or "all bad input was answered")
sys.exit(1 if failures else 0)
