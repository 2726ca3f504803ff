#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every cases/**/*.case through the baton binary.

A case is one text file: what it is for on the first line, then sections. `-- NAME --` begins a section; its content is
the lines up to the next one, kept to the byte (U+27E6 U+27E7 pairs, which break token-shaped strings, are taken out).
  -- run --      the command line; several lines are run one after the other
  -- stdin --    what it reads
  -- file N --   a file N in the working folder
  -- want --     exit status and standard output (and standard error after a line `-- stderr --` inside the output)
`CASES=update` rewrites the want sections; the diff is what gets reviewed.
"""
import os, pathlib, re, shlex, subprocess, sys, tempfile

BREAK = "\u27e6\u27e7"

def sections(text):
    parts, name, lines = [], "about", []
    for line in text.splitlines(keepends=True):
        match = re.fullmatch(r"-- ([a-z]+(?: [^ ]+)?) --\n?", line)
        if match:
            parts.append((name, "".join(lines)))
            name, lines = match.group(1), []
        else:
            lines.append(line)
    parts.append((name, "".join(lines)))
    return parts

def run(binary, parts):
    with tempfile.TemporaryDirectory() as folder:
        stdin, commands = "", ""
        for name, content in parts:
            content = content.replace(BREAK, "")
            if name == "run": commands = content
            elif name == "stdin": stdin = content
            elif name.startswith("file "):
                path = pathlib.Path(folder, name[5:])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.encode("utf-8", "surrogateescape"))
        out = ""
        for command in filter(None, commands.split("\n")):
            words = shlex.split(command)
            assert words[0] == "baton", "a case runs baton"
            done = subprocess.run([binary] + words[1:], input=stdin.encode("utf-8", "surrogateescape"), capture_output=True,
                                  cwd=folder, timeout=60, env={"PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=1"})
            out += f"status {done.returncode}\n" + done.stdout.decode("utf-8", "surrogateescape")
            if out and not out.endswith("\n"): out += "\n"
            if done.stderr: out += "stderr:\n" + done.stderr.decode("utf-8", "surrogateescape")
        return out.replace(os.path.realpath(folder), "FOLDER")  # it has another name every time

def main():
    binary, root = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    failed = count = 0
    for path in sorted(root.rglob("*.case")):
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        parts = sections(text)
        want = dict(parts).get("want", "")
        got = run(binary, parts)
        count += 1
        if got == want.replace(BREAK, ""): continue
        if os.environ.get("CASES") == "update":
            head = text.split("-- want --\n")[0]
            path.write_bytes((head + "-- want --\n" + got).encode("utf-8", "surrogateescape"))
            print("updated", path)
            continue
        failed += 1
        print(f"FAILED {path}\n--- want\n{want}--- got\n{got}")
    print(f"{count - failed} of {count} cases")
    if count == 0: sys.exit("there are no cases")
    sys.exit(1 if failed else 0)

main()
