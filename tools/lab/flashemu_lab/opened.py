# SPDX-License-Identifier: BSD-3-Clause
"""How many units a device keeps open: few writes that tell it, also for many units.

The passes of a test go over N units, and each pass writes one piece into every unit:

    unit          0          1          2    ...   N - 1
    pass 1      |a. . . .| |a. . . .| |a. . .     opens them, which closes what was open before
    pass 2      |a b . . | |a b . . | |a b .      costs nothing more if all of them are still open
    pass 3      |a b c . | |a b c . | |a b c      and if not: can they be opened in another way?

In order, the pieces of a unit follow each other from its start.  In random order they do not, so a
device that wants pages in order has to open such units in another way.  A device with too few
units closes the one that was used longest ago, so one unit more shows in pass 2 at the latest.  In
order, it may go on with it as a unit in random order.  That costs the merge of whatever it kept
open in random order before, so the test first opens as many of those as there can be.

flashbench -O measures the same by filling all units, by commands of any size: with 64 units of
4 MiB that would be 2 GB for one row.
"""

from __future__ import annotations

from statistics import median
from typing import Sequence

from .measurement import Point
from .probing import Draft, Seen, Test

_KIB, _MIB = 1 << 10, 1 << 20
MOST = 96
# What is tried together until one is too many; then what lies between two numbers.
_STEPS = ((1, 2, 3, 4, 5, 6, 7, 8), (12, 16, 24), (32, 48), (64, MOST))
# A pass over units that are not open costs this share of a merge at least, and one merge at least.
_CLOSED = 0.4
# A write to a unit that is open takes at most this share of one to a unit that is not.
_ALWAYS = 0.75
# Pieces of a unit that a pass writes: the first pass, the second, the third.
_IN_ORDER, _IN_RANDOM_ORDER = (0, 1, 2), (3, 1, 2)


def piece(unit: int, page: int | None, small_write: int | None) -> int:
    """Bytes of a write: whole pages, too long for a log of small writes, and four of them fit the
    unit."""
    bs = page or 16 * _KIB
    while bs < 16 * _KIB or bs <= (small_write or 0):
        bs *= 2
    while 4 * bs > unit and bs > 4 * _KIB:
        bs //= 2
    return bs


def most(unit: int, capacity: int) -> int:
    """How many units can be tried on this device."""
    return min(MOST, capacity // (4 * unit))


def passes(unit: int, units: int, in_random_order: bool, bs: int, before: int, first: int,
           seen: Seen, capacity: int) -> Test:
    """One row, which begins at the unit with the number `first`, modulo three quarters of the
    device.  `before` is how many units are opened in random order first."""
    draft = Draft(capacity)
    shift = 1 if in_random_order else 0
    # other units, in the last quarter; no two rows may have the same requests
    quarter = max(1, capacity // 4 // unit)
    turns, at = divmod(2 * units + shift, quarter)
    count = before + turns
    others = capacity * 3 // 4 // unit * unit
    draft.add("write", bs, others + 3 * bs + at % max(1, quarter - count) * unit,
              max(1, quarter // count // 2) * unit, count, seen=seen)
    start = (first + shift) % max(2, capacity * 3 // 4 // unit - units) * unit
    for at in _IN_RANDOM_ORDER if in_random_order else _IN_ORDER:
        draft.add("write", bs, start + at * bs, unit, units, seen=seen)
    order = "random" if in_random_order else "in order"
    return draft.test(f"{units} units at once, {order}", merges=2 * units + count)


def rows(points: Sequence[Point], in_random_order: bool) -> dict[int, tuple[float, list[float]]]:
    """For each number of units: ns of a write to a unit that is not open, and the ns of a write in
    each pass."""
    found: dict[int, tuple[float, list[float]]] = {}
    series = [({**dict(p.parameters)}, p.value) for p in points if p.procedure == "request"
              and dict(p.parameters)["op"] == "write"]
    for i in range(len(series) - 3):
        four = series[i:i + 4]
        units, bs = int(four[1][0]["count"]), int(four[1][0]["bs"])
        starts = [int(how["start"]) for how, _ in four[1:]]
        order = _IN_RANDOM_ORDER if in_random_order else _IN_ORDER
        if all(how["count"] == units and how["bs"] == bs for how, _ in four[1:]) and \
                four[0][0]["bs"] == bs and \
                [start - starts[0] for start in starts] == [(at - order[0]) * bs for at in order] \
                and len({how["stride"] for how, _ in four[1:]}) == 1:
            found[units] = four[0][1], [ns for _, ns in four[1:]]
    return found


def _open(row: tuple[float, list[float]], alone: float, merge: float, units: int,
          number: int) -> bool:
    """Whether pass `number` (1 or 2) has merged nothing."""
    return (row[1][number] - alone) * units < _CLOSED * merge


def _between(points: Sequence[Point], in_random_order: bool,
             number: int) -> tuple[int, int] | None:
    """The largest number of units that are open together, and the smallest that is too many, 0 if
    none was; None without a row for one unit.  (0, 1) if each write merges."""
    found = rows(points, in_random_order)
    if 1 not in found:
        return None
    closed = median(before for before, _ in found.values())
    alone = min(found[1][1][1:])
    if alone > _ALWAYS * closed:
        return 0, 1
    good = {n for n, row in found.items() if _open(row, alone, closed - alone, n, number)}
    # in random order it is certain that N units stay open, and a merge may have other reasons, such
    # as a log that is full; in order, a unit too many may go on in another way without a merge
    high = 0 if in_random_order else min((n for n in found if n not in good), default=0)
    low = max((n for n in good if not high or n < high), default=0)
    return low, min((n for n in found if n > low), default=0)


def limit_from(points: Sequence[Point], in_random_order: bool, number: int = 1) -> int | None:
    """The largest number of units that are open together, 0 if each write merges; None if the limit
    is not known.  `number` 2 also counts those in order that are kept in another way."""
    between = _between(points, in_random_order, number)
    return between[0] if between and between[1] == between[0] + 1 else None


def next_rows(points: Sequence[Point], in_random_order: bool, unit: int,
              capacity: int) -> list[int]:
    """How many units to try next; empty if the limit is known, or cannot be.  A row begins behind
    the units of all rows before it, because what is open already opens nothing."""
    low, high = _between(points, in_random_order, 1) or (0, 0)
    top = most(unit, capacity)
    if high:
        return [(low + high) // 2] if high > low + 1 else []
    for step in _STEPS:
        if step[-1] > low:
            return [n for n in step if low < n <= top]
    return []
