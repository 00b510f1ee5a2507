#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lab's completion for bash, and its manual."""

import os
import re
import shutil
import sys

from flashemu_lab_bench import FLASHEMU, LAB, TOP, good, good_json, lab, read, write
from flashemu_script import ended, need, run
from flashemu_lab.cli.main import performer

HEAVY = {"numpy", "scipy", "asyncio", "subprocess", "flashemu_lab.runs.program"}
SCRIPT = os.path.join(TOP, "tools/completion/flashemu-lab.bash")
ASK = """
. "$1"; tool=$2; shift 2
COMP_WORDS=("$tool" "$@"); COMP_CWORD=$#
_flashemu_lab "$tool" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(*words):
    """The words that bash would offer for the last one of a line."""
    path = os.path.dirname(FLASHEMU) + ":" + os.environ["PATH"]
    code, out, err = ended(["bash", "-c", ASK, "bash", SCRIPT, LAB, *words],
                           env=dict(os.environ, PATH=path))
    assert code == 0 and err == "", (words, code, err)
    return out.split()


def commands():
    return [line.split()[0] for line in good("--complete").splitlines()]


def test_words():
    assert set(offered("")) == {*commands(), "--help", "--version"}
    names = [e["name"] for e in good_json("list")]
    write("mine.toml", "")
    assert offered("run", "") == [*names, "mine.toml"] and offered("show", "wa") == ["waf"]
    assert "--jobs" in offered("run", "waf", "--") and offered("run", "--jobs", "") == []
    assert offered("run", "waf", "-o", "mi") == ["mine.toml"]
    assert offered("sweep", "ssd") == ["ssd-page"]
    assert offered("sweep", "ssd-page", "ftl.gc_p") == ["ftl.gc_policy="]
    assert offered("sweep", "ssd-page", "--depth", "2", "ftl.op=1%", "mi") == ["mine.toml"]
    assert offered("nope", "") == []
    assert offered("life", "camera", "mi") == ["mine.toml"] and offered("life", "logg") == ["logger"]
    assert offered("life", "camera", "--card", "ssd") == ["ssd-page"]
    for command in ("advise", "crash", "refine"):
        assert "transcend8g" in offered(command, "transcend"), command
    assert offered("advise", "ideal", "--workload", "lo") == ["log"]


def test_the_command_line_loads_little():
    """Help and completion need no numbers and no cluster; numpy alone is half of a start."""
    for words in (["--help"], ["crash", "--help"], ["--complete"], ["fit", "--complete"], ["--nope"]):
        code, out, err = ended([sys.executable, "-X", "importtime", LAB, *words])
        loaded = set(re.findall(r"\| +(\S+)$", err, re.M))
        assert "argparse" in loaded and not loaded & HEAVY, (words, loaded & HEAVY)


def test_every_command_is_performed_by_a_function():
    for name in commands():
        assert callable(performer(name)), name
    # and without numpy the message says which package is missing
    os.makedirs("without")
    write("without/numpy.py", "raise ModuleNotFoundError('no numpy', name='numpy')\n")
    env = dict(os.environ, PYTHONPATH="without:" + os.environ.get("PYTHONPATH", ""))
    assert ended([sys.executable, LAB, "--complete"], env=env)[0] == 0
    assert ended([sys.executable, LAB, "run", "waf"], env=env) == (
        2, "", "flashemu-lab: needs the Python module numpy: apt-get install python3-numpy\n")


def test_what_was_meant():
    for words, want in ((["adivse", "ideal"], "; did you mean advise? (try"),
                        (["advise", "ideal", "--worklaod", "log"], "; did you mean --workload? (try"),
                        (["xyzzy"], ") (try")):
        code, out, err = lab(*words)
        assert code == 2 and out == "" and err.count("\n") == 1 and want in err, (words, err)
    assert good("-V") == good("--version") == good("advise", "-V") == good("run", "--version")


def test_the_manual_has_every_command_and_option():
    text = read(os.path.join(TOP, "docs/man/flashemu-lab.1"))
    for command in commands():
        assert re.search(r"^\.(Cm|It Cm|Ss) %s" % command, text, re.M), command
        code, out, _ = lab(command, "--help")
        assert code == 0
        for option in re.findall(r"^  (?:-\w.*, )?--([a-z-]+)", out, re.M):
            if option != "help":
                assert "Fl Fl " + option in text, (command, option)
    if shutil.which("mandoc"):
        code, out, err = ended(["mandoc", "-T", "lint", "-W", "warning",
                                os.path.join(TOP, "docs/man/flashemu-lab.1")])
        assert code == 0, out


need("bash")
run(globals())
