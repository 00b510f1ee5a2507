#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a device owes to its host: flashemu_lab.crash.owed, on conversations made by hand."""

import os
import sys

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


run(globals())
