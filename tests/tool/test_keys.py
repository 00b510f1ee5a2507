#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/KEYS.md says of the keys that few profiles use what the program says of them.

Which keys these are is compared in some seconds.  Measuring what stands on each of them takes a
minute, so that is done with -Dlong-tests=true only.
"""

import os
import subprocess
import tempfile

from flashemu_script import run

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SCRIPT = os.path.join(TOP, "tools/keys")
PAGE = os.path.join(TOP, "docs/KEYS.md")


def written(page):
    """{key: profile} of the rows of the page, with "-" for the second table."""
    found, unused = {}, False
    for line in page.splitlines():
        unused = unused or line == "## Used by no profile"
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and "." in cells[0]:
            assert cells[0] not in found, f"{cells[0]} stands there twice"
            found[cells[0]] = "-" if unused else cells[2]
    return found


def keys(*args):
    subprocess.run([SCRIPT, *args], check=True)


def test_the_page_has_the_keys_that_few_profiles_use():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "keys")
        keys("--keys-only", "--page", path)
        with open(path, encoding="utf-8") as file:
            known = dict(line.rstrip("\n").split("\t") for line in file)
    with open(PAGE, encoding="utf-8") as file:
        page = written(file.read())
    assert len(known) > 20, known
    assert page == known, "run tools/keys: %s" % sorted(set(page.items()) ^ set(known.items()))


def test_the_figures_are_those_of_this_program():
    if not os.environ.get("FLASHEMU_LONG"):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "KEYS.md")
        keys("--page", path)
        with open(path, encoding="utf-8") as file, open(PAGE, encoding="utf-8") as page:
            assert file.read() == page.read(), "docs/KEYS.md is old: run tools/keys"


run(globals())
