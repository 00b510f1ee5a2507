#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The completion for bash: what it offers comes from the tool.

Each test gives bash a line and asks for what may stand at its end.
"""

import os
import re

from flashemu_script import ended, need, run
from flashemu_tool import TOOL, good, good_json, trace_formats, write

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../tools/completion/flashemu.bash")
ASK = """
. "$1"; tool=$2; shift 2
COMP_WORDS=("$tool" "$@"); COMP_CWORD=$#
_flashemu "$tool" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(*words):
    """The words that bash would offer for the last one of a line."""
    code, out, err = ended(["bash", "-c", ASK, "bash", SCRIPT, TOOL, *words])
    assert code == 0 and err == "", (words, code, err)
    return out.split()


def commands():
    return [line.split()[0] for line in good("--help").splitlines() if line.startswith("  ")]


def test_commands():
    assert set(commands()) | {"--help", "--version"} == set(offered("")), offered("")
    assert offered("rep") == ["replay", "report"]


def test_options_of_every_command_are_those_of_its_help():
    for name in commands():
        told = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", good(name, "--help"), re.M))
        listed = set(offered(name, "x", "-"))
        assert "--help" in listed and told <= listed, (name, told - listed)


def test_profiles_and_keys():
    profiles = good("profiles").split()
    keys = [o["key"] for o in good_json("help", "--json")]
    for command in ["show", "verify", "replay"]:
        assert offered(command, "") == profiles, command
        assert offered(command, "ideal", "nand.tR") == ["nand.tR="], command
    assert offered("replay", "ideal,gen") == ["ideal,generic32m"]
    assert offered("replay", "ideal", "x", "--vary", "nand.tR") == ["nand.tR="]
    sections = {key.split(".")[0] for key in keys}
    assert set(offered("help", "")) == set(keys) | sections | set(commands())
    assert offered("verify", "ideal", "flashbench-") == [
        p["name"] for p in good_json("verify", "--list", "--json")
        if p["name"].startswith("flashbench-")]


def test_traces():
    write("one.trace", "")
    assert offered("replay", "ideal", "--json", "one") == ["one.trace"]
    assert offered("replay", "ideal", "--depth", "4", "one.trace", "o") == ["one.trace"]
    for words in (["trace", "--to"], ["trace", "--format"], ["gen", "random", "--format"],
                  ["replay", "ideal", "--format"]):
        assert offered(*words, "") == trace_formats(), words
    assert offered("trace", "--event", "") == ["D", "Q", "G", "I", "C"]


def test_patterns_and_their_options():
    assert offered("gen", "") == [line.split()[0]
                                  for line in good("gen", "--patterns").splitlines()]
    assert "--theta" in offered("gen", "zipf", "--") and "--theta" not in offered("gen", "random",
                                                                                "--")
    assert offered("gen", "random", "--op", "") == ["read", "write", "trim"]
    assert offered("gen", "fat-append", "--layout", "") == ["mkfs", "packed", "factory"]
    assert offered("gen", "random", "--fua", "") == ["yes", "no"]
    assert offered("gen", "random", "--count", "") == []


def test_words_that_only_a_help_lists():
    stick = write("socket", "")
    assert set(offered("ctl", stick, "")) >= {"stats", "set", "power-cut", "events", "quit"}
    assert offered("ctl", stick, "power") == ["power-cut", "power-on"]
    assert offered("verify", "ideal", "--kernel", "") == ["auto", "vm", "host", "none"]


def test_unknown_commands_have_nothing():
    assert offered("nope", "") == [] and offered("nope", "x", "-") == []


need("bash")
run(globals())
