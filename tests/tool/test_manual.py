#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages of the tool have its commands and options, all of them and no others.

The tool's parser is asked for its options, as the shells ask it.  An option must be in the help of its
command and on its page, and what is on a page must be an option of one of its commands.
"""

import os
import re
import shutil

from flashemu_script import ended, run
from flashemu_tool import good

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/man")
# Other names of an option, which nobody needs to learn.
ALIASES = {"replay": {"format", "trace", "wear-svg"}, "gen": {"format"}, "trace": {"format"},
           "align": {"svg"}}
COMMON = {"help", "quiet", "version"}
MOST_LINES = 450


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
        return f.read()


def pages():
    """The pages of the tool: each names its commands in its synopsis, and flashemu.1 has all others."""
    return sorted(name for name in os.listdir(FOLDER)
                  if re.fullmatch(r"flashemu(-(?!lab|vhost).*)?\.1", name))


def commands():
    return [line.split()[0] for line in good("--complete").splitlines() if line[0] != "-"]


def synopsis(name):
    return set(re.findall(r"^\.Cm (\w+)", read(name).partition(".Sh DESCRIPTION")[0], re.M))


def page_of(command):
    found = [name for name in pages() if name != "flashemu.1" and command in synopsis(name)]
    assert len(found) <= 1, (command, found)
    return found[0] if found else "flashemu.1"


def parsed(command):
    """The options of a command, as its parser has them."""
    return set(re.findall(r"^--([\w-]+)", good(command, "--complete"), re.M)) - COMMON


def helped(command):
    """What the help of a command names behind --, whether or not it describes it."""
    return set(re.findall(r"--([a-z][\w-]*)", good(command, "--help"))) - COMMON


def on_page(name):
    """The options that a page describes; what it says about other programs is quoted."""
    text = re.sub(r"^\.(Bd(?s:.*?)^\.Ed|Ql.*|D1.*)", "", read(name), flags=re.M)
    return set(re.findall(r"\bFl Fl ([a-z][\w-]*)", text)) - COMMON - {"option"}


def test_every_command_has_its_place():
    overview = read("flashemu.1")
    for command in commands():
        entry = re.search(r"^\.It Cm %s\n(?:[^.].*\n)+(\.Xr (\S+) 1)?" % command, overview, re.M)
        assert entry, command
        own = page_of(command)
        assert (entry[2] or "flashemu") + ".1" == own, (command, own, entry[2])
    listed = re.findall(r"^\.It Cm (\w+)$", overview.partition(".Ss Common")[0], re.M)
    assert sorted(listed) == sorted(commands()), listed


def test_help_and_parser_agree():
    for command in commands():
        known, told = parsed(command), helped(command)
        if command == "gen":  # which names options of patterns, too
            told -= {"op", "bs", "size", "offset", "count", "seed"}
        assert known - ALIASES.get(command, set()) <= told, (command, known - told)
        others = set().union(*map(parsed, commands()))
        assert told <= others, (command, told - others)


def test_pages_and_parser_agree():
    for name in pages():
        of_page = [c for c in commands() if page_of(c) == name]
        assert of_page, name
        wanted = set().union(*(parsed(c) - ALIASES.get(c, set()) for c in of_page))
        there = on_page(name)
        assert wanted <= there, (name, wanted - there)
        everywhere = set().union(*map(parsed, commands()))
        assert there <= everywhere | {"count"}, (name, there - everywhere)


def test_commands_of_a_server():
    told = re.findall(r"^  ([a-z][a-z-]*)", good("ctl", "--help").partition("--raw  ")[0], re.M)
    page = read("flashemu-ctl.1")
    for command in told:
        assert re.search(r"^\.(It )?Cm (\w+ .*, Cm )?%s\b" % command, page, re.M), command


def test_pages_are_well_made():
    every = {name.removesuffix(".in") for name in os.listdir(FOLDER)}
    for name in pages():
        text = read(name)
        assert ".Dt %s 1\n" % name[:-2].upper() in text, name
        assert text.count("\n") <= MOST_LINES, (name, text.count("\n"))
        for other, section in re.findall(r"\.Xr ((?:nbdkit-)?flashemu\S*) (\d)", text):
            assert "%s.%s" % (other, section) in every, (name, other, section)
        for section in re.findall(r"^\.Sx (.*?)(?: \.)?$(?!\nof\n)", text, re.M):
            assert ".Sh %s\n" % section in text, (name, section)
        if shutil.which("mandoc"):
            code, out, err = ended(["mandoc", "-T", "lint", "-W", "warning",
                                    os.path.join(FOLDER, name)])
            assert code == 0, (name, out, err)


run(globals())
