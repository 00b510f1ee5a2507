#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long the commands of README's first table take: seconds of processor time, in a clone that is
built, with nothing stored from before.

    tests/bench/first_screen.py [--write]     --write puts them into the table

The one that serves until Ctrl-C is left out.  Processor time, because a busy machine distorts it
less; with two processors the laboratory takes about half of it.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
README = os.path.join(TOP, "README.md")
HEAD = "| question | command | seconds |\n"


def spent():
    """Seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(command):
    """Of one command, which writes into a folder that is removed."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("build", "tools"):
            os.symlink(os.path.join(TOP, name), os.path.join(folder, name))
        before = spent()
        subprocess.run(command.split(), cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, FLASHEMU_LAB_STORE=os.path.join(folder, "store")))
        return spent() - before


def main():
    with open(README, encoding="utf-8") as f:
        text = f.read()
    front, _, rest = text.partition(HEAD)
    table, _, after = rest.partition("\n\n")
    lines = table.split("\n")
    for i, line in enumerate(lines):
        found = re.fullmatch(r"(\| .* \| `(.*)` \| )[\d.]+ \|", line)
        if found:
            took = seconds(found[2])
            lines[i] = "%s%s |" % (found[1], "%.1f" % took if took < 2 else "%.0f" % took)
            print(lines[i], flush=True)
    if "--write" in sys.argv[1:]:
        with open(README, "w", encoding="utf-8") as f:
            f.write(front + HEAD + "\n".join(lines) + "\n\n" + after)


if __name__ == "__main__":
    main()
