#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""No source file is forgotten by the list that it must be in.

    test_lists.py ROOT      the folder of the sources

A file that no list names is not compiled, a strategy or a format that its table does not name
does not exist, and nothing else would say so.  Each line of the output is such a mistake: it
names the file that has to be changed, and what is missing in it.
"""

import os
import re
import sys


def read(root, *path):
    with open(os.path.join(root, *path), encoding="utf-8") as f:
        return f.read()


def files(root, folder, end):
    """The files below a folder, by their paths from there."""
    top = os.path.join(root, folder)
    return sorted(os.path.relpath(os.path.join(place, name), top)
                  for place, _, names in os.walk(top) for name in names if name.endswith(end))


def not_compiled(root):
    """Source files that the meson.build of their folder does not name."""
    folders = ["src/" + name for name in sorted(os.listdir(os.path.join(root, "src")))
               if os.path.isdir(os.path.join(root, "src", name))]
    builds = {folder: folder for folder in [*folders, "plugin"]}
    builds["tools/flashemu"] = "tools"
    for folder, place in builds.items():
        build = read(root, place, "meson.build")
        for name in files(root, folder, ".c"):
            if not re.search(r"'(flashemu/)?%s'" % re.escape(name), build):
                yield "%s/%s is not named in %s/meson.build" % (folder, name, place)


def not_in_table(root, folder, what, prefix, table, entry):
    """Definitions `const struct WHAT PREFIXname =` without a line ENTRY(name) in the table."""
    listed = re.findall(r"^ +%s\((\w+)\)" % entry, read(root, folder, table), re.M)
    for file in files(root, folder, ".c"):
        for name in re.findall(r"^const struct %s %s(\w+) = {" % (what, prefix),
                               read(root, folder, file), re.M):
            if name not in listed:
                yield ("%s/%s defines %s%s: %s/%s has no line %s(%s)" %
                       (folder, file, prefix, name, folder, table, entry, name))


def not_an_option(root):
    """Parameters of strategies that no row of the option table sets."""
    table = read(root, "src/profile/options.c")
    for line in read(root, "include/flashemu/ftl_params.h").splitlines():
        field = re.match(r" +(?:uint32_t|uint64_t|bool) (\w+);(.*)", line)
        if not field or "no key of the profile" in field[2]:
            continue
        if not re.search(r"FIELD\(ftl\.[\w.]*\b%s\)" % field[1], table):
            yield ("include/flashemu/ftl_params.h: src/profile/options.c has no row for the "
                   "field %s" % field[1])


def mistakes(root):
    yield from not_compiled(root)
    yield from not_in_table(root, "src/ftl", "fe_ftl_ops", "fe_ftl_", "registry.h", "STRATEGY")
    yield from not_in_table(root, "src/workload", "fe_trace_format", "fe_trace_",
                            "formats/format.h", "FORMAT")
    yield from not_an_option(root)


if __name__ == "__main__":
    found = list(mistakes(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
