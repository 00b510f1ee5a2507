#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The patches of tests/planted still fit the sources, and each says what it breaks; the changes
that are listed as equivalent are still possible, and each says why nobody can notice it.

    test_planted.py ROOT      the folder of the sources

A patch that no longer applies would leave `tools/mutate --patch` without that bug.  Whether a
patch compiles, and which test notices it, only that command finds out.  Exits 77 without patch(1).
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

if not shutil.which("patch"):
    print("skipped: there is no patch(1)")
    sys.exit(77)

CODE = r"(src|plugin|vhost|tools/flashemu)/.*\.[ch]$|tools/lab/flashemu_lab/.*\.py$"
root = Path(sys.argv[1])
patches = sorted((root / "tests/planted").iterdir())
assert len(patches) >= 25, patches
wrong = []
for path in patches:
    text = path.read_text(encoding="utf-8")
    if not re.match(r"[A-Za-z][^\n]*\.\n(?:[^\n]+\n)*diff --git ", text):
        wrong.append(f"{path}: does not begin with a sentence and a diff")
    if not re.fullmatch(r"[a-z0-9-]+\.patch", path.name):
        wrong.append(f"{path}: names are made of small letters, digits and hyphens")
    for file in re.findall(r"^\+\+\+ b/(.*)$", text, re.M):
        if not re.match(CODE, file):
            wrong.append(f"{path}: changes {file}, which is no code of the program or the "
                         "laboratory")
    done = subprocess.run(["patch", "-p1", "--dry-run", "-s", "-f", "-d", str(root)], input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                          check=False)
    if done.returncode != 0:
        wrong.append(f"{path}: does not apply: {done.stdout.strip()}")
path = root / "tools/mutation/equivalent.toml"
for row in tomllib.loads(path.read_text(encoding="utf-8")).get("change", []):
    if row["before"] not in (root / row["file"]).read_text(encoding="utf-8"):
        wrong.append(f"{path}: {row['file']} has no line {row['before']!r} any more")
    if len(row["reason"].split()) < 3:
        wrong.append(f"{path}: {row['after']!r} needs a reason")
for line in wrong:
    print(line)
sys.exit(1 if wrong else 0)
