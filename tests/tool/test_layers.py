#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""No file of the program needs one that needs it.

    test_layers.py ROOT BUILD      the folders of the sources and of the build

A folder of src includes headers of itself and of the folders above it in src/meson.build.  Headers
do not include each other in a circle.  And of the files that are linked together, none calls a file
that calls it, directly or through others: what it calls says nm of its object.  Each line of the
output is such a mistake.  The modules of the lab are checked by tests/lab/test_types.py.
"""

import os
import re
import subprocess
import sys

LINKED = ("src/", "plugin/", "vhost/", "tools/")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def files(root, folder, ends):
    return sorted(os.path.relpath(os.path.join(place, name), root)
                  for place, _, names in os.walk(os.path.join(root, folder)) for name in names
                  if name.endswith(ends))


def circles(needs):
    """The sets of two or more names that need each other, directly or through others."""
    found, number, lowest, stack = [], {}, {}, []

    def visit(name):
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for other in sorted(needs.get(name, ())):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == number[name]:
            at = stack.index(name)
            if len(stack) - at > 1 or name in needs.get(name, ()):
                found.append(sorted(stack[at:]))
            del stack[at:]

    for name in sorted(needs):
        if name not in number:
            visit(name)
    return found


def include_mistakes(root):
    order = re.findall(r"^subdir\('(\w+)'\)", read(root, "src/meson.build"), re.M)
    headers = {}
    for path in files(root, "src", (".c", ".h")) + files(root, "include", ".h"):
        included = re.findall(r'^#include "([^"]+)"', read(root, path), re.M)
        folder = path.split("/")[1]
        for name in included:
            below = name.split("/")[0]
            if path.startswith("include/") and below != "flashemu":
                yield f"{path} includes {name}, and is for those who have no src"
            elif path.startswith("src/") and below != "flashemu" and (
                    below not in order or order.index(below) > order.index(folder)):
                yield f"{path} includes {name}: src/{below} is not above src/{folder}"
        if path.endswith(".h"):
            headers[path.split("/", 1)[1]] = set(included)
    for circle in circles(headers):
        yield "headers that include each other: " + " ".join(circle)


def symbols(paths):
    """{path: (the names that the object defines, those that it asks others for)}."""
    out = subprocess.run(["nm", "-P", "-g", "-A", *paths], stdout=subprocess.PIPE, check=True,
                         encoding="utf-8").stdout
    found = {path: (set(), set()) for path in paths}
    for line in out.splitlines():
        path, name, kind = re.match(r"(.*?): (\S+) (\S)", line).groups()
        found[path][kind in "Uvw"].add(name)
    return found


def calls(paths):
    """Which objects ask which others, with one of the names: {object: {object: name}}."""
    known = symbols(paths)
    owner = {name: path for path, (defined, _) in known.items() for name in defined}
    return {path: {owner[name]: name for name in asked if owner.get(name, path) != path}
            for path, (_, asked) in known.items()}


def object_mistakes(build):
    seen = 0
    for place, _, names in os.walk(build):
        paths = [os.path.join(place, name) for name in names if name.endswith(".c.o")]
        if not paths or not os.path.relpath(place, build).startswith(LINKED):
            continue
        needs = calls(sorted(paths))
        seen += sum(map(len, needs.values()))
        for circle in circles(needs):
            yield "files that call each other: " + ", ".join(
                f"{os.path.relpath(a, build)} calls {needs[a][b]} of {os.path.basename(b)}"
                for a in circle for b in circle if b in needs[a])
    assert seen > 100, "where are the objects?"


def test_itself():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "e": {"a"}, "f": {"f"}}) == [
        ["b", "c"], ["f"]]
    assert circles({"a": {"b"}, "b": {"c"}, "d": {"a", "c"}}) == []


if __name__ == "__main__":
    test_itself()
    mistakes = [*include_mistakes(sys.argv[1]), *object_mistakes(sys.argv[2])]
    print("\n".join(mistakes))
    sys.exit(1 if mistakes else 0)
