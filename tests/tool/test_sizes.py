#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nothing has become too large to be read: files of 600 lines, headers of 200, functions of 60.

    test_sizes.py ROOT      the folder of the sources

Each line of the output names a file, and a function, with the number of its lines.  The modules of
the lab are counted by tests/lab/test_types.py.
"""

import os
import re
import sys

MOST_LINES = {".c": 600, ".h": 200, ".inc": 600, ".py": 600, ".sh": 600, ".js": 600}
MOST_OF_A_FUNCTION = 60
MOST_COLUMNS = {".js": 112}
FOLDERS = ("include", "src", "plugin", "vhost", "tools", "tests")


def sources(root):
    """Paths from there, of files that people write."""
    for folder in FOLDERS:
        for place, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                path = os.path.relpath(os.path.join(place, name), root)
                if os.path.splitext(name)[1] in MOST_LINES and "tests/data" not in path:
                    yield path


def functions(text):
    """The name and the number of lines of each function of C, from its head to its brace."""
    lines = text.split("\n")
    head = None
    for number, line in enumerate(lines):
        if re.match(r"[A-Za-z_]", line) and not line.startswith(("typedef", "#", "case ")):
            head = number
        elif line == "{" and head is not None:
            name = re.search(r"(\w+)\($|(\w+)\(", lines[head])
            end = lines.index("}", number)
            yield (name[1] or name[2]) if name else lines[head], end - head + 1
            head = None


def mistakes(root):
    for path in sorted(sources(root)):
        end = os.path.splitext(path)[1]
        with open(os.path.join(root, path), encoding="utf-8") as f:
            text = f.read()
        n = text.count("\n")
        if n > MOST_LINES[end]:
            yield f"{path} has {n} lines, and {MOST_LINES[end]} is the limit"
        for name, n in functions(text) if end == ".c" else ():
            if n > MOST_OF_A_FUNCTION:
                yield (f"{path}: {name} has {n} lines, and {MOST_OF_A_FUNCTION} is the limit of "
                       "a function")
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > MOST_COLUMNS.get(end, len(line)):
                yield f"{path}:{number}: {len(line)} columns, and {MOST_COLUMNS[end]} is the limit"


if __name__ == "__main__":
    assert list(functions("int f(int a,\n      int b)\n{\n    g();\n}\n")) == [("f", 5)]
    found = list(mistakes(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
