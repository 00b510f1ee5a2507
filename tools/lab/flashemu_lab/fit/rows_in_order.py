# SPDX-License-Identifier: BSD-3-Clause
"""What rows of flashbench -O in order tell about open units, and whether random order was tried.

A row writes so many units in turn, by commands from a whole unit down to some KiB.  What happens
where there are more of them than the device holds open differs:

    each small write merges a unit       units, and their number is the limit
    a step, less than that               perhaps groups of smaller units
    each further unit costs a little     units that spill: those beyond the limit take writes as in
                                         random order, and are merged when half of them is written
    nothing                              a map by pages; or units of which more are open, if whole
                                         units take longer behind rows of more units

`rows` are curves of points that can be compared with each other (`curves.comparable`).
"""

from __future__ import annotations

from statistics import median
from typing import Sequence

from ..measurement.schema import Point
from ..probe.speaking import order_written
from .curves import Curves, FEW, SLOWER, comparable, curves, few_units, pooled, slower, slower_from

_KIB = 1 << 10
# Where units of the row before are closed, a whole unit takes so many times as long as half of one.
# Three cards have 2.4 to 2.7, and none of ten that are mapped by pages has more than 2.1.
_CLOSED = 2.25
# If so many units in turn are as fast as two, there may be no units at all.
_MANY = 5
# Small writes that merge a unit each take at least so many times as long as others.
_MERGES = 5
# Of the logarithm of a time: five cards with groups are 0.6 to 1.2 slower behind a limit, and ten
# others 0.04 to 0.38 with any unit more.
_STEP = 0.5
# Each small write merges a unit if it takes so many times as long as with few units in turn.
_CLIFF = 20
# Or if it takes this part of the time of a whole unit.
_PART = 0.3
# Where larger writes go elsewhere, twice the size costs so many times what it costs in order.
_QUICKER = 1.5


def shows_random_order(points: Sequence[Point]) -> bool:
    """Whether something was written in random order.  Single requests count, wherever they were."""
    return any(order_written(p) == "random" or p.procedure == "request"
               and dict(p.parameters)["op"] == "write" for p in points)


def small_write(c: Curves) -> int | None:
    """Bytes of the largest random write that is much quicker than one of twice the size, which it
    is not in order as well; or of the largest one that merges no unit where too many are written in
    turn.  Where every other point of a row is missing, neighbouring rows have the two together.
    Then most of those with many units have to say so: in front of a limit and behind it, all sizes
    differ."""
    in_order = few_units(c.linear)
    found: set[int] = set()
    for rows, factor in ((c.random, _QUICKER), (c.linear, _MERGES)):
        for times in (*rows.values(), few_units(rows)):
            found.update(_much_quicker(times, in_order, factor))
        pairs = [pooled(rows, n, n + 1) for n in rows if n > FEW]
        shown = [chunk for times in pairs for chunk in _much_quicker(times, in_order, factor)]
        found.update(chunk for chunk in shown if 2 * shown.count(chunk) >
                     sum(chunk in times and 2 * chunk in times for times in pairs))
    return max(found, default=None)


def _much_quicker(times: dict[int, float], in_order: dict[int, float], factor: float) -> list[int]:
    """The chunks for which twice the size costs so many times what it costs in order."""
    found = []
    for chunk in times:
        after, usual = times.get(2 * chunk, 0.0), 2.0
        if chunk in in_order and 2 * chunk in in_order:
            usual = max(usual, in_order[2 * chunk] / in_order[chunk])
        if after > max(factor * usual * times[chunk], 4e6) and chunk <= 256 * _KIB:
            found.append(chunk)
    return found


def merges_from(points: Sequence[Point]) -> int | None:
    """How many units in turn were still quick, where with more of them each small write merges one;
    None if that does not show."""
    rows = curves(comparable(points)).linear
    few, small = pooled(rows, 2, FEW), small_write(curves(points)) or 0
    unit = max(few, default=0)
    for n in sorted(n for n in rows if n > FEW):
        longer = [rows[n][chunk] / t for chunk, t in few.items()
                  if chunk in rows[n] and small < chunk <= 64 * _KIB]
        parts = [t / few[unit] for chunk, t in rows[n].items() if small < chunk <= unit // 8] \
            if unit else []
        if longer and median(longer) > _CLIFF or parts and median(parts) > _PART:
            return max(m for m in rows if m < n)
    return None


def shows_units(points: Sequence[Point]) -> bool:
    """Whether so many units were written in turn that each small write merges one.  A map by pages
    has no such limit."""
    return merges_from(points) is not None


def told_limit(points: Sequence[Point]) -> int | None:
    """How many units are open in order, where nothing was written in random order and each small
    write merges a unit with one more of them; None otherwise."""
    if shows_random_order(points):
        return None
    limit = merges_from(points)
    return limit if limit and limit + 1 in curves(comparable(points)).linear else None


def has_soft_limit(c: Curves, rows: Curves) -> bool:
    """Whether nothing says what random order does, and there is a limit of units in order beyond
    which small writes take longer, but not as long as the merge of a unit.  What rises a
    little with each further unit is no limit."""
    limit = None if c.random else slower_from(rows.linear)
    if limit is None or rises_from(rows) is not None:
        return False
    few, more = rows.linear[limit], rows.linear[min(n for n in rows.linear if n > limit)]
    times = [more[chunk] / t for chunk, t in few.items() if chunk in more and chunk <= 64 * _KIB]
    return bool(times) and max(times) < _MERGES


def rises_from(rows: Curves) -> int | None:
    """The number of units in order from which on each further one makes large commands a little
    slower; None if a step shows a limit, or if nothing rises."""
    limit = slower_from(rows.linear)
    if limit is None:
        return None
    several = sorted(n for n in rows.linear if n >= limit)
    steps = (slower(rows.linear[few], rows.linear[more])
             for few, more in zip(several, several[1:]))
    return limit if max(steps) < _STEP else None


def closes_units(rows: Curves) -> bool:
    """Whether the first command of a row of -O, which is as large as a unit, takes much longer than
    twice one of half a unit, in most rows of some units: it closes what the small commands of the
    row before have left open.  A map by pages leaves nothing open."""
    whole = max((chunk for row in rows.linear.values() for chunk in row), default=0)
    times = [row[whole] / row[whole // 2] for n, row in rows.linear.items()
             if n > FEW and whole in row and whole // 2 in row]
    return bool(times) and median(times) > _CLOSED


def no_limit(rows: Curves) -> bool:
    """Whether no number of units in order is slower than fewer, of at least `_MANY`."""
    several = sorted(n for n in rows.linear if n > 1)
    return bool(several) and several[-1] >= _MANY and slower_from(rows.linear) is None and \
        slower(rows.linear[several[0]], rows.linear[several[-1]]) <= SLOWER
