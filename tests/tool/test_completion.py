#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The completion for bash: what it offers comes from the tool.

Each test gives bash a line and asks for what may stand at its end.
"""

import os
import re
import shutil

from flashemu_bash import Bash
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
ASK_NBDKIT = ASK.replace("_flashemu \"$tool\"", "_flashemu_nbdkit nbdkit").replace(
    "COMP_WORDS=(\"$tool\"", "COMP_WORDS=(nbdkit")


def as_bash_divides(words):
    """bash takes = and : for words of their own.  Behind one of them it completes an empty word,
    but says that the word is the = itself."""
    divided = [part for word in words for part in re.split("([=:])", word) if part or not word]
    return divided, "" if divided[-1] in "=:" else divided[-1]


def offered(*words, ask=ASK):
    """What bash would offer for the last word of a line."""
    divided, completed = as_bash_divides(words)
    ask = ask.replace('"${COMP_WORDS[COMP_CWORD]}"', "'%s'" % completed)
    path = os.path.dirname(TOOL) + ":" + os.environ["PATH"]
    code, out, err = ended(["bash", "-c", ask, "bash", SCRIPT, TOOL, *divided],
                           env=dict(os.environ, PATH=path))
    assert code == 0 and err == "", (words, code, err)
    return out.split()


def commands():
    return [line.split()[0] for line in good("--help").splitlines() if line.startswith("  ")]


def test_commands():
    assert set(commands()) | {"--help", "--version"} == set(offered("")), offered("")
    assert offered("rep") == ["replay", "report"]


def test_options_of_every_command_are_those_of_its_help():
    for name in commands():
        parsed = set(re.findall(r"^(--[\w-]+)", good(name, "--complete"), re.M))
        listed = set(offered(name, "x", "-"))
        assert {"--help", "--quiet", "--version"} <= listed == parsed, (name, parsed ^ listed)


def test_profiles_and_keys():
    profiles = good("profiles").split()
    keys = [o["key"] for o in good_json("help", "--json")]
    for command in ["show", "verify", "replay"]:
        assert offered(command, "") == profiles, command
        assert offered(command, "ideal", "nand.tR") == ["nand.tR="], command
    assert offered("replay", "ideal,gen") == ["ideal,generic32m"]
    assert offered("replay", "ideal", "x", "--vary", "nand.tR") == ["nand.tR="]
    sections = {key.split(".")[0] for key in keys}
    strategies = next(o for o in good_json("help", "--json") if o["key"] == "ftl.type")["allowed"]
    assert set(offered("help", "")) == (set(keys) | sections | set(commands()) | set(profiles) |
                                        set(strategies.split(", ")) | {"all"})
    for topic in set(offered("help", "")) - set(keys):
        good("help", topic)
    assert offered("help", "transcend8") == ["transcend8g"]
    assert offered("verify", "ideal", "flashbench-") == [
        p["name"] for p in good_json("verify", "--list", "--json")
        if p["name"].startswith("flashbench-")]


def test_values():
    strategies = next(o for o in good_json("help", "--json") if o["key"] == "ftl.type")["allowed"]
    for command in ["show", "verify", "replay", "align"]:
        assert offered(command, "ideal", "x", "ftl.type=") == strategies.split(", "), command
    assert offered("replay", "ideal", "x", "ftl.type=pa") == ["page"]
    assert offered("replay", "ideal", "x", "device.discard=") == ["yes", "no"]
    assert offered("replay", "ideal", "x", "ftl.op=") == ["7%"]
    assert offered("replay", "ideal", "x", "nand.endurance=") == ["unlimited"]
    assert offered("replay", "ideal", "x", "ftl.nothing=") == []
    assert offered("replay", "ideal", "x", "--vary", "ftl.type=page,d") == ["page,dftl"]
    assert offered("replay", "ideal", "x", "--vary", "ftl.gc_policy=gr") == ["greedy"]


def test_keys_and_values_of_a_server():
    live = [o["key"] for o in good_json("help", "--json") if o["live"]]
    server = ["time-scale", "transport-overhead"]
    assert offered("ctl", "socket", "set", "") == live + server
    assert set(live) < set(offered("ctl", "socket", "get", "")) > {"clock", "ftl.type"}
    assert offered("ctl", "socket", "set", "link.bandwidth", "") == ["unlimited"]
    assert offered("ctl", "socket", "power-cut", "") == ["after"]
    assert offered("ctl", "socket", "stats", "") == []


def test_sources_of_requests():
    assert offered("replay", "ideal", "gen:seq") == ["sequential"]
    assert "theta=" in [word.rpartition(",")[2] for word in offered("replay", "ideal", "gen:zipf,")]
    assert offered("replay", "ideal", "gen:random,op=w") == ["write"]
    write("flashemu-lab", "#!/bin/sh\necho 'ext4-log   12 requests'\necho 'vfat-log   9 requests'\n")
    os.chmod("flashemu-lab", 0o755)
    ask = "PATH=$PWD:$PATH\n" + ASK
    assert offered("replay", "ideal", "rec:v", ask=ask) == ["vfat-log"]
    assert offered("replay", "ideal", "gen:random,op=write,fua=") == ["yes", "no"]


def test_nbdkit():
    """What the server takes comes from its own help; here nbdkit only says what a plugin says."""
    write("nbdkit", """#!/bin/sh
echo 'nbdkit --help'
echo 'profile=NAME|PATH           (required) A shipped profile, or an INI file.'
echo 'clock=real|virtual          Wait for each completion, or never wait (real).'
echo 'spin=auto|off|TIME          Spin this long before the deadline (auto).'
echo 'sync=flush|none             With file: whether flushed data survive the host (flush).'
""")
    os.chmod("nbdkit", 0o755)
    ask = "PATH=$PWD:$PATH\n" + ASK_NBDKIT
    keys = [o["key"] + "=" for o in good_json("help", "--json")]

    def told(*words):
        return offered(*words, ask=ask)

    assert told("flashemu", "") == ["profile=", "clock=", "spin=", "sync="] + keys
    assert told("-f", "./build/nbdkit-flashemu-plugin.so", "profile=transcend8") == ["transcend8g"]
    assert told("flashemu", "profile=ideal", "clock=v") == ["virtual"]
    assert told("flashemu", "profile=ideal", "spin=") == ["auto", "off"]
    assert told("flashemu", "profile=ideal", "ftl.type=pa") == ["page"]
    assert told("flashemu", "profile=ideal", "cl") == ["clock="]
    write("one.data", "")
    assert told("flashemu", "ideal", "trace-data=on") == ["one.data"]

    def served(*words):  # the same parameters stand behind the profile
        return offered("serve", *words, ask="PATH=$PWD:$PATH\n" + ASK)

    assert served("") == good("profiles").split()
    assert served("ideal", "cl") == ["clock="] and served("ideal", "clock=v") == ["virtual"]
    assert served("ideal", "ftl.type=pa") == ["page"]
    assert told("memory", "profile=") == []


def test_in_a_real_bash():
    """Which word bash completes behind a = is known for sure only here."""
    bash = Bash(os.path.dirname(TOOL) + ":" + os.environ["PATH"])
    try:
        bash.shows(". %s; echo re''ady\n" % SCRIPT, "ready\r\n")
        for keys, words in (("flashemu show ideal ftl.type=pa\t#", "ftl.type=page #"),
                            ("\x15flashemu show ideal device.disc\ty\t#",
                             "device.discard=yes #"),
                            ("\x15flashemu replay ideal gen:zip\t#", "gen:zipf #"),
                            ("\x15flashemu help transcend8\t#", "help transcend8g #")):
            bash.shows(keys, words)
    finally:
        bash.end()


OTHERS = os.path.join(os.path.dirname(TOOL), "NAME")  # as configured beside the program


def test_fish():
    if not shutil.which("fish"):
        print("skipped: no fish")
        return
    write("one.trace", "")
    os.makedirs("folder", exist_ok=True)
    path = os.path.dirname(TOOL) + ":" + os.environ["PATH"]

    def told(line):
        code, out, err = ended(
            ["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
             OTHERS.replace("NAME", "flashemu.fish"), line],
            env=dict(os.environ, PATH=path, FLASHEMU_COMPLETION=SCRIPT))
        assert code == 0 and err == "", (line, code, err)
        return [word.split("\t")[0] for word in out.splitlines()]

    assert told("flashemu rep") == ["replay", "report"]
    assert set(told("flashemu show ")) == set(good("profiles").split())
    assert told("flashemu show ideal ftl.type=pa") == ["ftl.type=page"]
    assert told("flashemu show ideal nand.tR") == ["nand.tR="]
    assert told("flashemu replay ideal gen:seq") == ["gen:sequential"]
    assert set(told("flashemu replay ideal fol")) == {"folder/"}
    assert told("flashemu replay ideal --json one") == ["one.trace"]
    assert told("flashemu align --js") == ["--json"] and told("flashemu nope ") == []


def test_zsh():
    if not shutil.which("zsh"):
        print("skipped: no zsh")
        return
    os.makedirs("functions", exist_ok=True)
    shutil.copy(OTHERS.replace("NAME", "_flashemu"), "functions")
    path = os.path.dirname(TOOL) + ":" + os.environ["PATH"]
    zsh = Bash(path, ["zsh", "-f", "-i"], FLASHEMU_COMPLETION=SCRIPT)
    try:
        zsh.shows("fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D; PS1='> '; "
                  "flashemu() { print -r \"[$*]\" }; echo re''ady\n", "ready\r\n")
        for typed, words in (("repl\t#", "replay #"), ("show transcend8\t#", "show transcend8g #"),
                             ("show ideal ftl.type=pa\t#", "show ideal ftl.type=page #"),
                             ("show ideal device.disc\ty\t#", "show ideal device.discard=yes #"),
                             ("replay ideal gen:zip\t#", "replay ideal gen:zipf #"),
                             ("align --js\t#", "align --json #")):
            zsh.shows("flashemu %s\n" % typed, "[%s]" % words)
    finally:
        zsh.end()


def test_traces():
    write("one.trace", "")
    assert offered("replay", "ideal", "--json", "one") == ["one.trace"]
    assert offered("replay", "ideal", "--depth", "4", "one.trace", "o") == ["one.trace"]
    for words in (["trace", "--format"], ["replay", "ideal", "--format"]):
        assert offered(*words, "") == trace_formats(), words
    for words in (["trace", "--to"], ["trace", "one.trace", "--to"], ["gen", "random", "--format"]):
        assert offered(*words, "") == trace_formats(written=True), words
    assert "blktrace" not in trace_formats(written=True) and "msr" in trace_formats(written=True)
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
    assert offered("verify", "ideal", "--kernel", "") == ["auto", "timed", "vm", "host", "none"]


def test_unknown_commands_have_nothing():
    assert offered("nope", "") == [] and offered("nope", "x", "-") == []


need("bash")
run(globals())
