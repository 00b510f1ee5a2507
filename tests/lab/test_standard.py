#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the lab does with a standard output that fails, and with what a locale cannot write."""

import os
import subprocess
import sys

from flashemu_lab_bench import LAB, SMALL, TOP, bad, good, write
from flashemu_script import run

CARD = os.path.join(TOP, "tests/data/measurements/card.txt")


def to(stdout, *words, **env):
    """(exit code, standard error) when standard output is a file, or closed (None)."""
    done = subprocess.run([sys.executable, LAB, *words], stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, encoding="utf-8", check=False,
                          env=dict(os.environ, FLASHEMU_LAB_STORE="store", **env))
    return done.returncode, done.stderr


def test_a_full_disk():
    write("small.toml", SMALL)
    for words in (["list"], ["list", "--json"], ["--help"], ["--version"], ["show", "waf"],
                  ["run", "small.toml"], ["run", "small.toml", "--json"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            code, err = to(full, *words)
        assert code == 2, (words, code, err)
        assert err.endswith("flashemu-lab: standard output: No space left on device\n"), err
        assert "Traceback" not in err and "ignored" not in err, err


def test_a_closed_output():
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, LAB, "list"],
                          stderr=subprocess.PIPE, encoding="utf-8", check=False)
    assert done.returncode == 2, done
    assert done.stderr == "flashemu-lab: standard output: is closed\n", done


def test_a_reader_that_leaves():
    done = subprocess.run(["sh", "-c", '"$@" | :', "sh", sys.executable, LAB, "list"],
                          stderr=subprocess.PIPE, encoding="utf-8", check=False)
    assert done.returncode == 0 and done.stderr == "", done


def test_a_locale_without_narrow_spaces():
    words = ["sweep", "ssd-page", "ftl.op=7%,28%", "device.used=16T",
             "gen:random,op=write,count=50K"]
    told = good(*words)
    assert "\u2009" in told
    for encoding in "ascii", "latin-1":
        plain = good(*words, env={"PYTHONIOENCODING": encoding})
        assert plain == told.replace("\u2009", " "), (encoding, plain)


def test_names_that_are_not_text():
    name = os.fsdecode(b"n\xff")
    bad("x.json: would have a name that is not UTF-8", "import", CARD, "-o", "x.json",
        "--name", name)
    assert [f for f in os.listdir(".") if "x.json" in f] == []
    bad("advise", name + ".json", "--quick")


run(globals())
