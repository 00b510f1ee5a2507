#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a device owes to its host: flashemu_lab.crash.owed, on conversations made by hand."""

import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from flashemu_lab_bench import LAB
from flashemu_script import run

sys.path.insert(0, os.path.dirname(LAB))
S = 512


class Bytes:
    """Plays the data of a trace: the place is a text, and each sector of it is full of it."""

    def sector(self, place, offset, at, size):
        return (place * size).encode()[:size]

    def get(self, place, offset, length):
        yield offset, (place * length).encode()[:length]


def missing(requests, state, request, time):
    """requests: (op, first sector, sectors, arrival, done, fua, letter); state: (sector, letter)
    with "0" for zeros and "-" for what cannot be read."""
    from flashemu_lab.crash.owed import Owed
    from flashemu_lab.crash.states import State
    from flashemu_lab.crash.work import Request
    owed = Owed([Request(i + 1, op, a * S, n * S, at, done, fua, letter)
                 for i, (op, a, n, at, done, fua, letter) in enumerate(requests)], Bytes(), Bytes())

    def of(*which):
        return [(s * S, S, letter) for s, letter in state
                if letter in which or not which and letter not in "0-"]
    return owed.missing(State("id", request, time, 0, "", tuple(of()),
                              tuple(x[:2] for x in of("0")), tuple(x[:2] for x in of("-"))))


# a and b of sectors 3 and 4 are flushed at 100; c comes behind it.
WORK = [("write", 3, 2, 10, 20, False, "a"), ("write", 3, 1, 30, 40, False, "b"),
        ("flush", 0, 0, 50, 100, False, ""), ("write", 3, 2, 110, 120, False, "c")]


def test_before_the_flush_is_answered_nothing_is_owed():
    for letter in "0ab":
        assert missing(WORK, [(3, letter)], 3, 99) == 0, letter
    assert missing(WORK, [(3, "x"), (4, "-")], 3, 99) == 2 * S, "but other bytes are nobody's"


def test_what_was_flushed_is_owed():
    assert missing(WORK, [(3, "a"), (4, "0")], 3, 100) == 2 * S
    assert missing(WORK, [(3, "b"), (4, "a")], 4, 115) == 0
    assert missing(WORK, [(3, "c"), (4, "c")], 4, 115) == 0, "newer than what is owed"
    assert missing(WORK, [(3, "-"), (4, "a")], 4, 115) == S


def test_a_flush_covers_what_was_answered_when_it_came():
    late = [("write", 3, 1, 10, 60, False, "a"), ("flush", 0, 0, 50, 100, False, "")]
    assert missing(late, [(3, "0")], 2, 1000) == 0
    two = late + [("flush", 0, 0, 61, 62, False, "")]
    assert missing(two, [(3, "0")], 3, 62) == S


def test_fua_is_owed_when_it_is_answered():
    fua = [("write", 3, 1, 10, 20, False, "a"), ("write", 4, 1, 21, 22, True, "b"),
           ("write", 3, 1, 30, 40, True, "c")]
    assert missing(fua, [(3, "a"), (4, "0")], 3, 39) == S, "the second write was answered"
    assert missing(fua, [(3, "a"), (4, "b")], 3, 40) == S
    assert missing(fua, [(3, "0")], 3, 39) == 0


def test_nothing_is_owed_of_what_was_trimmed():
    trim = [("write", 3, 1, 10, 20, False, "a"), ("trim", 3, 1, 30, 40, False, ""),
            ("flush", 0, 0, 50, 60, False, "")]
    for letter in "0ax-":
        assert missing(trim, [(3, letter)], 3, 70) == 0, letter
    again = trim + [("write", 3, 1, 80, 81, True, "b")]
    assert missing(again, [(3, "a")], 4, 80) == 0
    assert missing(again, [(3, "a")], 4, 81) == S


def judged(*codes):
    """What checks say that end so, each after a cut at 105 ns of WORK; the work is a made-up one."""
    from flashemu_lab.crash import broken, checks, states, work
    requests = [work.Request(i + 1, op, a * S, n * S, at, done, fua, 0)
                for i, (op, a, n, at, done, fua, _) in enumerate(WORK)]
    broken.read_trace = lambda trace: (requests, [work.Mark(1, 25, "half")])
    state = states.State("4:2", 4, 115_000_000, 1, "", (), ((3 * S, S),), ())
    requests[:] = [replace(r, arrival=r.arrival * 10**6, done=r.done * 10**6) for r in requests]
    recording = SimpleNamespace(trace="", folder="f", work=SimpleNamespace(
        profile="p", settings=(), seed=1, fs="", mount="", run="r", check="c"))
    numbers = {"cuts": 7, "second_cuts": 2, "instants": 3, "states": 5, "cases": 8, "failed": 0, "dead": 0,
               "unreadable": 0}
    return broken, broken.Judged("1", recording, SimpleNamespace(numbers=numbers), [
        checks.Verdict(state, checks.Told(code)) for code in codes], None, {"4:2": 1536})


def test_why_a_server_does_not_start():
    """The first line that it says, whatever follows; and its exit code if it says nothing."""
    from flashemu_lab.core.errors import LabError
    from flashemu_lab.crash import work
    os.mkdir("bin")
    os.environ["PATH"] = f"{os.getcwd()}/bin:{os.environ['PATH']}"
    for script, wanted in (("echo 'nbdkit: error: no such key' >&2; echo more >&2; exit 3", "no such key"),
                           ("echo one line >&2; exit 1", "one line"), ("exit 9", "nbdkit: exit code 9")):
        with open("bin/nbdkit", "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{script}\n")
        os.chmod("bin/nbdkit", 0o755)
        try:
            with open("errors", "w+", encoding="utf-8") as errors, work._serving(["x"], Path("."), errors):
                raise AssertionError("it has started")
        except LabError as e:
            assert str(e) == wanted, (script, e)


def test_the_last_words_of_a_guest():
    """What the guest said that was started last, not one before it."""
    from flashemu_lab.crash.mounted import Mounted
    guests = SimpleNamespace(_folder=Path("."), _boots=3)
    for n, text in enumerate(("zero\n", "one\n", "", "three\n")):
        os.mkdir(f"boot{n}")
        Path(f"boot{n}/said").write_text(text, encoding="utf-8")
    for boots, wanted in ((1, "zero"), (2, "one"), (3, "without a word")):
        guests._boots = boots
        assert Mounted._last_words(guests) == wanted, boots
    Path("boot2/said").write_text("first\nKernel panic\n", encoding="utf-8")
    assert Mounted._last_words(guests) == "Kernel panic"


def test_what_a_check_could_not_tell_is_said():
    for codes, told, first in (((0, 0), False, "No promise is broken in 2 states."),
                               ((0, 125, 125), True, "No promise is broken in 1 state."),
                               ((0, 9), False, "A promise is broken in 1 of 2 states."),
                               ((125, 9, None, 9), True, "A promise is broken in 3 of 4 states.")):
        broken, found = judged(*codes)
        said = broken.sentences(found)
        assert said[0] == first, said
        unknown = [line for line in said if "could not judge" in line]
        assert unknown == ([f"The check could not judge {'2 states' if codes[0] == 0 else '1 state'}."]
                           if told else []), unknown
    assert "4:2" in said[2] and "(write of 1024 bytes at 1536)" in said[1] and "behind the mark 'half'" in said[1], said


def test_the_page_says_what_has_become_of_each_request():
    """At 115: a and b are durable, the flush is answered, and c has only arrived."""
    broken, found = judged(0, 3)
    page = broken.to_page(found)
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in re.findall(r"<tr>(.*?)</tr>", page, re.S)]
    rows = [[re.sub(r"<[^>]*>", "", cell).strip() for cell in row] for row in rows if len(row) == 9]
    assert rows == [["1", "write", "1536", "1024", "10.000", "20.000", "yes", "yes", "there"],
                    ["2", "write", "1536", "512", "30.000", "40.000", "yes", "yes", "there"],
                    ["3", "flush", "0", "0", "50.000", "100.000", "yes", "no", "-"],
                    ["4", "write", "1536", "1024", "110.000", "120.000", "no", "no", "512 bytes lost"]], rows
    assert "<td>1536</td>" in page and "4:2" in page


run(globals())
