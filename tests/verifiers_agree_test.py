#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two verifiers that share no code, Baton's and tools/verify_ledger.py, give the same answer: on a good file, and on
hundreds of copies that were tampered with.

    tests/verifiers_agree_test.py PATH/TO/ledger_check_file

The answer is OK with the number of entries, or the first broken place. Prints each difference and exits 1.
"""

import hashlib
import importlib.util
import io
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIES = 800


def load_verifier():
    spec = importlib.util.spec_from_file_location("verify_ledger", ROOT / "tools/verify_ledger.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer_of_script(module, data):
    try:
        return f"OK {module.verify(io.BytesIO(data)).size}"
    except module.Broken as broken:
        return str(broken.args[0])


def answers_of_program(program, names):
    done = subprocess.run([program, "check"], input="\n".join(map(str, names)), capture_output=True, text=True, timeout=300, check=True)
    return [line if line.startswith("OK") else line.split()[0] for line in done.stdout.splitlines()]


# --- tampering --------------------------------------------------------------------------------------------------------


def hashed_again(line):
    body = line[len(b'{"entry":'):-75]
    digest = hashlib.sha256(b"\0baton.ledger.entry.v1\n" + body).hexdigest().encode()
    return b'{"entry":' + body + b',"hash":"' + digest + b'"}', digest


def linked_again(lines, first):
    """Every entry from lines[first] on with its hash, and the next one's previous hash, made to fit."""
    last = None
    for at in range(first, len(lines)):
        if not lines[at].startswith(b'{"entry":'):
            continue
        line = lines[at]
        if last:
            place = line.rindex(b',"previous":"') + 13
            line = line[:place] + last + line[place + 64:]
        lines[at], last = hashed_again(line)
    return lines


def tampered(data, pick):
    lines = data.split(b"\n")[:-1]
    entries = [at for at, line in enumerate(lines) if line.startswith(b'{"entry":')]
    one, other = pick.choice(entries), pick.randrange(len(lines))
    way = pick.randrange(16)
    if way < 4:  # a byte becomes another
        at = pick.randrange(len(data))
        return data[:at] + bytes([data[at] ^ pick.randrange(1, 256)]) + data[at + 1:]
    if way == 4:
        at = pick.randrange(len(data))
        return data[:at] + data[at + 1:]
    if way == 5:
        at = pick.randrange(len(data))
        return data[:at] + bytes([pick.randrange(256)]) + data[at:]
    if way == 6:
        return data[:pick.randrange(len(data))]
    if way == 7:
        del lines[other]
    elif way == 8:
        lines.insert(other, lines[pick.randrange(len(lines))])
    elif way == 9:
        third = pick.randrange(len(lines))
        lines[other], lines[third] = lines[third], lines[other]
    elif way == 10:  # a whole tail, end line kept
        del lines[pick.randrange(1, len(lines) - 1):-1]
    elif way == 11:  # the seals of a stretch
        lines = [line for line in lines if not line.startswith(b'{"seal":') or pick.random() < 0.5]
    elif way in (12, 13):  # content changed, and hashed again; then perhaps all that follows
        line = lines[one]
        at = pick.choice([line.index(b'"id":"') + 6, line.index(b'"payload":{') + 11, line.rindex(b'"time":"') + 30, line.rindex(b'"type":"') + 8])
        line = line[:at] + bytes([pick.choice(b'0189az"{}\\ ,:.')]) + line[at + 1:]
        lines[one] = hashed_again(line)[0]
        if way == 13:
            linked_again(lines, one)
    elif way == 14:  # white space and escapes that change no value
        lines[one] = pick.choice([lines[one].replace(b":", b": ", 1), lines[one] + b" ", lines[one].replace(b"a", b"\\u0061", 1),
                                  lines[one].replace(b"{}", b"{ }", 1), lines[one] + b"\r"])
    else:  # a digit of a size, a sequence or an end
        line = lines[other]
        digits = [at for at, c in enumerate(line) if chr(c).isdigit()]
        at = pick.choice(digits)
        lines[other] = line[:at] + pick.choice([b"", b"0", b"9", b"-1", b"1.0"]) + line[at + 1:]
    return b"\n".join(lines) + b"\n"


def check_options(good, folder):
    """The script's own options, in processes of their own."""
    findings = []
    file, key, stranger, kept = folder / "good.jsonl", folder / "key", folder / "stranger", folder / "kept"
    file.write_bytes(good)
    module = load_verifier()
    lines = [module.parse(line) for line in good.decode().splitlines()]
    key.write_text(lines[1]["entry"]["payload"]["key"] + "\n")
    stranger.write_text("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n")
    seals = [line["seal"] for line in lines if "seal" in line]
    kept.write_text(seals[2])
    other_root = folder / "other_root"
    other_root.write_text(seals[2].replace("\n9\n", "\n8\n"))
    longer = folder / "longer"
    longer.write_text(seals[2].replace("\n9\n", "\n900\n"))
    cut = folder / "cut.jsonl"
    cut.write_bytes(good[:-20])
    for arguments, want in (([file], 0), ([file, "--public-key", key, "--checkpoint", kept], 0), ([file, "--public-key", stranger], 1),
                            ([file, "--checkpoint", other_root], 1), ([file, "--checkpoint", longer], 1), ([cut], 1),
                            ([folder / "absent"], 2), ([file, "--public-key", kept], 2), ([], 2)):
        done = subprocess.run([sys.executable, ROOT / "tools/verify_ledger.py", *arguments], capture_output=True, text=True, timeout=60)
        if done.returncode != want:
            findings.append(f"verify_ledger.py {arguments}: status {done.returncode}, not {want}: {done.stdout}{done.stderr}")
    return findings


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    module = load_verifier()
    good = subprocess.run([arguments[0], "make"], capture_output=True, timeout=60, check=True).stdout
    pick = random.Random(3)
    copies = [good] + [tampered(good, pick) for _ in range(COPIES)]
    with tempfile.TemporaryDirectory() as folder:
        names = [Path(folder) / str(number) for number in range(len(copies))]
        for name, data in zip(names, copies):
            name.write_bytes(data)
        theirs = answers_of_program(arguments[0], names)
        findings = check_options(good, Path(folder))
    ours = [answer_of_script(module, data) for data in copies]
    example = re.search(r"^```jsonl\n(.*?)^```", (ROOT / "docs/formats/ledger.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if answer_of_script(module, example.group(1).encode()) != "OK 4":
        findings.append("the example of docs/formats/ledger.md does not hold")
    if len(theirs) != len(ours):
        findings.append(f"{len(copies)} files, but {len(theirs)} answers")
    if not ours[0].startswith("OK"):
        findings.append(f"the good file: {ours[0]}")
    for number, (program, script) in enumerate(zip(theirs, ours)):
        if program != script:
            findings.append(f"copy {number}: ledger_check_file says {program}, verify_ledger.py says {script}")
    broken = sum(not answer.startswith("OK") for answer in ours)
    if broken < COPIES * 0.9:
        findings.append(f"only {broken} of {COPIES} tampered copies are broken: the tampering does not tamper")
    print("\n".join(findings + [f"{COPIES} copies, {broken} broken, {len(findings)} findings"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
