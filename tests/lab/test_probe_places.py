#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab probe: where its tests write, so that places have nothing in common but what is
meant, and what follows where something in common cannot be avoided."""

import flashemu_lab_bench  # noqa: F401
from flashemu_script import run

from flashemu_lab import findings, habits, opened, probing
from flashemu_lab.findings import Found
from flashemu_lab.measurement import make_point

KIB, MIB = 1 << 10, 1 << 20


def test_scattered_writes_stay_inside():
    """Most writes of each sort go across no multiple of 128 KiB or of a larger unit."""
    for capacity in (480 * MIB, 768 * MIB, 960 * MIB, 1440 * MIB, 1 << 32):
        test = habits.scattered(4 * MIB, capacity)
        for unit in (n * KIB for n in (128, 160, 192, 224, 256, 320, 384, 768, 3072, 5120, 6144)):
            for key in range(len(test.keys)):
                mine = [r for r in test.requests if r.key == key]
                across = sum((r.offset + r.length - 1) // unit != r.offset // unit for r in mine)
                assert 2 * across < len(mine), (capacity, unit, test.keys[key])


def test_rows_of_both_orders_have_nothing_in_common():
    """Equal requests would be one point, also when rows begin at the start again."""
    starts = {}
    for in_random_order in (True, False):
        first = opened.behind([], in_random_order, MIB)
        for units in (1, 2, 3, 96, 64, 96, 56, 60, 57, 58):
            test = opened.passes(MIB, units, in_random_order, 16 * KIB, 8, first, probing.OUTRIGHT,
                                 400 * MIB)
            starts.setdefault(in_random_order, set()).update(
                (how["start"], how["count"]) for _, how in test.keys[1:])
            assert all(r.offset + r.length <= 400 * MIB for r in test.requests)
            first = opened.next_place(first, units, MIB, 400 * MIB, probing.OUTRIGHT,
                                      in_random_order)
    assert len(starts[True]) == len(starts[False]) == 30
    assert not starts[True] & starts[False]


def pushed_rows(merge, extra):
    """Rows in random order behind a cache, of a device that has four units open; the visits of the
    row for one unit cost so many merges more."""
    points, seen = [], probing.Seen(push=MIB)
    for units in range(1, 9):
        test = opened.passes(MIB, units, True, 16 * KIB, 8, 20 * units, seen, 1 << 30)
        merges = [2, 8]     # the writes to other units
        for n in (1, 2, 3):
            merges += [0] * (n - 1) + [units * (1 if units <= 4 else n) + (extra[n - 1]
                                                                          if units == 1 else 0)]
        points += [make_point(procedure, [(10**6 + merge * some) / how["count"]], **how)
                   for some, (procedure, how) in zip(merges, test.keys)]
    return points


def test_a_merge_more_in_the_first_row():
    """Behind a cache a visit may pay for what was open before; a write to an open unit is no
    quicker for that."""
    for extra in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)):
        assert opened.limit_from(pushed_rows(2 * 10**8, extra), True) == 4, extra


def test_writes_behind_a_cache_are_not_small():
    """A small write pushes out what others have written, and a log for small writes takes that."""
    unknown = Found(seen=probing.Seen(push=MIB))
    assert findings.small(unknown) == 32 * KIB and findings.small(Found()) == 8 * KIB
    assert findings.small(Found(small_write=16 * KIB)) == 32 * KIB


run(globals())
