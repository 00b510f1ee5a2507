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

from statistics import median, median_low
from typing import Mapping, Sequence

from ...measurement.schema import Point, Scalar, each
from .structure import Draft, OUTRIGHT, Seen, Test

_KIB, _MIB = 1 << 10, 1 << 20
MOST = 96
# What is tried together until one is too many; then what lies between two numbers.
_STEPS = ((1, 2, 3, 4, 5, 6, 7, 8), (12, 16, 24), (32, 48), (64, MOST))
# A pass over units that are not open costs this share of a merge at least, and one merge at least.
_CLOSED = 0.4
# A write to a unit that is open takes at most this share of one to a unit that is not.
_ALWAYS = 0.5
# Pieces of a unit that a pass writes: the first pass, the second, the third.
_IN_ORDER, _IN_RANDOM_ORDER = (0, 1, 2), (3, 1, 2)
_OF_MAP = 0.25      # bringing in the map of another unit takes less than this share of a merge
_FEW = 2    # writes to units that are not open, to compare with more of them
# Behind a cache, the passes that are pushed out of it together, in order and in random order, each
# time over other units.  In order, a visit must find what a visit by one pass has left.
_PUSHED = ((1, 1, 2), (1, 2, 3))
_THRASHES = 0.5     # in random order each write to too many units merges; this share of them counts
# What a unit costs that is not open is more than so many of four rows say: in front of those, some
# units were open.
_SURE = 3
_SURER = 4  # so many units more than are open have to merge as well


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
    """One row, which begins at the unit with the number `first` if it fits into the first three
    quarters of the device, or else at their start.  `before` is how many units are opened in random
    order first."""
    draft = Draft(capacity)
    shift = 1 if in_random_order else 0
    order = "random" if in_random_order else "in order"
    name = f"{units} units at once, {order}"
    seen = seen.by_units(unit, capacity)
    # other units, in the last quarter; no two rows may have the same requests
    eighth = max(1, (capacity // 4 - seen.push) // unit // 2)
    turns, at = divmod(2 * units + shift, eighth)
    count = before + turns
    few = _FEW if seen.push else 0
    stride = max(1, eighth // (few + count)) * unit
    others = (capacity * 3 // 4 // unit + at) * unit + 3 * bs
    if few and in_random_order:
        draft.add("write", bs, others, stride, few, seen=seen)
    draft.add("write", bs, others + few * stride, stride, count, seen=seen)
    for n in _PUSHED[in_random_order] if few else (len(_IN_ORDER),):
        first = place(first, units, unit, capacity, in_random_order)
        _visit(draft, unit, units, in_random_order, bs, first, n, seen)
        first += units
    return draft.test(name, merges=(6 if few else 2) * units + few + count)


def _visit(draft: Draft, unit: int, units: int, in_random_order: bool, bs: int, first: int,
           number: int, seen: Seen) -> None:
    """So many passes over the same units.  Only all of them together are pushed, because a push
    takes the place of a unit."""
    order = _IN_RANDOM_ORDER if in_random_order else _IN_ORDER
    for k, at in enumerate(order[:number]):
        draft.add("write", bs, first * unit + at * bs, unit, units,
                  seen=seen if k == number - 1 or not seen.push else OUTRIGHT)


def place(first: int, units: int, unit: int, capacity: int, in_random_order: bool) -> int:
    """Where the next row begins: it goes on behind the last one, because what is open already opens
    nothing, and when it has come to the end, with the units that were used longest ago.  Rows in
    random order begin with an odd unit and the others with an even one, because no two rows may
    have the same requests."""
    first += (first + in_random_order) % 2
    return first if (first + units) * unit <= capacity * 3 // 4 else int(in_random_order)


def behind(points: Sequence[Point], in_random_order: bool, unit: int) -> int:
    """The number of the unit behind the last row."""
    order = _IN_RANDOM_ORDER if in_random_order else _IN_ORDER
    number = _PUSHED[in_random_order][-1] if _is_pushed(points) else len(order)
    series = list(each(points, "request", op="write"))
    for i in range(len(series) - number, -1, -1):
        how = series[i][0]
        if how["stride"] == unit and _are_passes(series[i:i + number], order):
            return int(how["start"]) // unit + int(how["count"])
    return int(in_random_order)


def next_place(first: int, units: int, unit: int, capacity: int, seen: Seen,
               in_random_order: bool) -> int:
    """The same after a row that begins there."""
    for _ in range(len(_PUSHED[0]) if seen.push else 1):
        first = place(first, units, unit, capacity, in_random_order) + units
    return first


_Series = Sequence[tuple[dict[str, Scalar], float]]


def rows(points: Sequence[Point], in_random_order: bool) -> dict[int, tuple[float, list[float]]]:
    """For each number of units: ns of a write to a unit that is not open, and the ns of a write in
    each pass."""
    order = _IN_RANDOM_ORDER if in_random_order else _IN_ORDER
    series = list(each(points, "request", op="write"))
    found = {}
    for i in range(len(series) - 3):
        four = series[i:i + 4]
        if _are_passes(four[1:], order) and four[0][0]["bs"] == four[1][0]["bs"] and \
                not any("push" in how for how, _ in four):
            found[int(four[1][0]["count"])] = four[0][1], [ns for _, ns in four[1:]]
    return found or _pushed_rows(series, in_random_order)


def _are_passes(some: _Series, order: Sequence[int]) -> bool:
    """Whether these series are the first passes of a row."""
    first = some[0][0]
    bs = int(first["bs"])
    start = int(first["start"]) - order[0] * bs
    for (how, _), at in zip(some, order):
        if int(how["start"]) != start + at * bs or how["bs"] != bs or \
                how["count"] != first["count"] or how["stride"] != first["stride"]:
            return False
    return True


def _pushed_rows(series: _Series, in_random_order: bool) -> dict[int, tuple[float, list[float]]]:
    """Rows whose writes were pushed out of a cache.  Only sums tell something then, so a write to a
    unit that is not open takes what more of them take, and a pass what more passes take."""
    order = _IN_RANDOM_ORDER if in_random_order else _IN_ORDER
    visits = _PUSHED[in_random_order]
    front = 2 if in_random_order else 0
    found: dict[int, list[float]] = {}
    closed = []
    length = front + sum(visits)
    for i in range(len(series) - length + 1):
        some = series[i:i + length]
        sums, at = [], front
        for n in visits:
            visit, at = some[at:at + n], at + n
            if not _are_passes(visit, order) or \
                    ["push" in how for how, _ in visit] != [False] * (n - 1) + [True]:
                break
            sums.append(sum(ns for _, ns in visit))
        if len(sums) < len(visits) or len({how["count"] for how, _ in some[front:]}) > 1:
            continue
        if front:
            few, more = (ns * int(how["count"]) for how, ns in some[:2])
            closed.append((more - few) / (int(some[1][0]["count"]) - _FEW))
        # one pass, as often as it was visited, is the same each time
        sums = sums[visits.count(1) - 1:]
        units = int(some[-1][0]["count"])
        found[units] = [sums[0], *(b - a for a, b in zip(sums, sums[1:]))]
    if not in_random_order:
        closed = [before for before, _ in _pushed_rows(series, True).values()]
    merge = median(closed) if closed else 0.0
    return {units: (merge, times) for units, times in found.items()}


def merge_from(points: Sequence[Point]) -> float | None:
    """ns of a write to a unit that is not open; None if that was not measured."""
    found = rows(points, True)
    return median(before for before, _ in found.values()) if found else None


def _alone(found: Mapping[int, tuple[float, list[float]]], closed: float) -> float:
    """ns of a write to a unit that is open, from rows in random order behind a cache.  A difference
    of sums may have a merge more or less, because of what was open before, so the median counts,
    of those that can be times.  Rows for one and two units say whether any unit is open.  If one
    is, the median is that of all rows: it is taken off each write of a row, so its error grows with
    the number of units."""
    few = [ns for n in (1, 2) if n in found for ns in found[n][1][1:]]
    alone = median_low([ns for ns in few if ns > 0] or few)
    if alone > _ALWAYS * closed:
        return alone
    return median_low([ns for _, times in found.values() for ns in times[1:]
                       if 0 < ns < _ALWAYS * closed] or [alone])


def _several(found: Mapping[int, tuple[float, list[float]]], alone: float, closed: float) -> float:
    """ns of a write to one of several open units.  It is more than to the only one if the
    controller holds the map of one of them, and far less than a merge."""
    least = min((times[1] for n, (_, times) in found.items() if n > 1), default=alone)
    return max(alone, least) if least < _OF_MAP * closed else alone


def _opens(found: Mapping[int, tuple[float, list[float]]], several: float, closed: float) -> float:
    """What it costs to open a unit in random order while there is room, as a share of a merge.
    Rows in order that cost so much again have opened a unit in that way: in order it was one too
    many.  1 if such a cost does not stand out."""
    least = min((times[0] for _, times in found.values()), default=closed)
    return min((least - several) / (closed - several), 1.0) if least > 2 * several else 1.0


def _is_pushed(points: Sequence[Point]) -> bool:
    return any("push" in dict(p.parameters) for p in points)


def _best_limit(merges: Mapping[int, float]) -> int:
    """The limit that explains most rows in order behind a cache: a row has no merges, one for each
    unit too many, or one for each unit.  Single rows may have others, because units that are opened
    also close what was written before the row."""
    def explained(limit: int) -> int:
        return sum(abs(some - max(0, n - limit)) < _CLOSED or n > limit and some > _THRASHES * n
                   for n, some in merges.items())
    every = {limit: explained(limit) for limit in range(1, max(merges) + 1)}
    best = [limit for limit, rows_ in every.items() if rows_ == max(every.values())]
    # what comes behind the largest number that was measured is not known
    return max(best) if max(merges) in best else best[len(best) // 2]


def _between(points: Sequence[Point], in_random_order: bool) -> tuple[int, int] | None:
    """The largest number of units that are open together, and the smallest that is too many, 0 if
    none was; None without a row for one unit.  (0, 1) if each write merges."""
    in_random = rows(points, True)
    found = in_random if in_random_order else rows(points, False)
    pushed = _is_pushed(points)
    if 1 not in found or pushed and 1 not in in_random:
        return None
    # units may still be open that were written before, most of all in front of rows in order
    known = in_random or found
    closed = sorted(before for before, _ in known.values())[_SURE * len(known) // 4]
    alone = _alone(in_random, closed) if pushed else min(found[1][1][1:])
    if alone > _ALWAYS * closed:
        return 0, 1
    several = alone if pushed else _several(found, alone, closed)
    # if one unit stays open, the second pass may still have filled the gaps of the first one
    fills = in_random_order and not pushed and found[1][1][1] - alone < _CLOSED * closed
    merges = {}
    for n, (_, times) in found.items():
        usual = several if n > 1 else alone
        again = min(times[1:]) if fills else times[1]
        merges[n] = (again - usual) * n / (closed - usual)
    if pushed and not in_random_order:
        limit = _best_limit(merges)
        return limit, limit + 1 if {limit, limit + 1} <= set(merges) else 0
    some = _CLOSED if in_random_order or pushed else \
        _CLOSED * _opens(in_random, several, closed)
    good = {n for n, much in merges.items() if much < (_THRASHES * n if pushed else some)}
    # in random order it is certain that N units stay open, and a merge may have other reasons, such
    # as a log that is full; in order, a unit too many may go on in another way without a merge, so
    # the limit is the one that most rows say, and of two such the smaller one
    def said(limit: int) -> int:
        return sum((n <= limit) == (n in good) for n in found)

    low = max(good, default=0) if in_random_order else max(sorted({0, *good}), key=said)
    return low, min((n for n in found if n > low), default=0)


def limit_from(points: Sequence[Point], in_random_order: bool) -> int | None:
    """The largest number of units that are open together, 0 if each write merges; None if the limit
    is not known."""
    between = _between(points, in_random_order)
    return between[0] if between and between[1] == between[0] + 1 else None


def next_rows(points: Sequence[Point], in_random_order: bool, unit: int,
              capacity: int) -> list[int]:
    """How many units to try next; empty if the limit is known, or cannot be.  A row begins behind
    the units of all rows before it, because what is open already opens nothing."""
    low, high = _between(points, in_random_order) or (0, 0)
    top = most(unit, capacity)
    measured = rows(points, in_random_order)
    if _is_pushed(points) and not in_random_order and 0 < low < max(measured):
        return [n for n in (low, low + 1, low + _SURER) if n not in measured and n <= top]
    if high > low + 1:
        return [(low + high) // 2]
    if high:
        return []
    for step in _STEPS:
        if step[-1] > low:
            return [n for n in step if low < n <= top]
    return []
