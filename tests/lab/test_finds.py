#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/FINDS.md is what tools/finds makes of docs/finds.tsv, and its rows come out as they say.

    test_finds.py          two rows that need no kernel, with few cuts
    test_finds.py --all    all rows as they are, also those that need a kernel"""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys

from flashemu_lab_bench import LAB, read
from flashemu_script import need, run

ROOT = os.path.join(os.path.dirname(LAB), "../..")
FINDS = os.path.join(ROOT, "tools/finds")
ALL = "--all" in sys.argv
if ALL:
    sys.argv.remove("--all")


def finds():
    """tools/finds as a module."""
    loader = importlib.machinery.SourceFileLoader("finds", FINDS)
    spec = importlib.util.spec_from_loader("finds", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def program(*words):
    p = subprocess.run(["/usr/bin/python3", FINDS, *words], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, encoding="utf-8", check=False)
    return p.returncode, p.stdout


def test_the_page_is_that_of_the_table():
    rows = finds().read_table()
    assert read(os.path.join(ROOT, "docs/FINDS.md")) == finds().page_of(rows), \
        "docs/FINDS.md is old: run tools/finds --page"
    assert len({row["name"] for row in rows}) == len(rows) > 20
    for row in rows:
        assert row["code"] == str(int(int(row["broken"]) > 0)), row
        assert int(row["cuts"]) <= int(row["instants"]) and int(row["states"]) > int(row["broken"]), row
        assert (row["code"] == "1") == bool(row["says"]), row


def test_rows_come_out_as_they_say():
    names = [] if ALL else ["--cuts", "14", "device-updater-unordered", "device-log"]
    code, out = program("--check", *names)
    assert code == 0 and "WRONG" not in out, out
    for name in names[2:]:
        assert f"{name}: " in out, out


def test_a_row_that_comes_out_in_another_way():
    module = finds()
    row = next(r for r in module.read_table() if r["name"] == "device-updater-unordered")
    for change, why in (({"code": "0"}, "exit code 1"), ({"says": "no such words"}, "nobody says"),
                        ({"command": "nosuch --work log"}, "ended with exit code 2")):
        _, wrong = module.do({**row, **change}, "14")
        assert wrong.startswith(why), (change, wrong)
    assert program("nosuch")[0] == 2


need("nbdkit", "setpriv")
run(globals())
