# SPDX-License-Identifier: BSD-3-Clause
"""Which places of a device lie in one allocation unit: two small writes that tell it.

The first write to a unit opens it, which closes another one and costs a merge.  A second write to
the same unit finds it open and costs next to nothing; one to another unit costs a merge, too:

    windows of U       |  a        b  |  a        b  |  a        b  |
    units              |      0      |      1      |      2      |
    the quicker write   quick         slow           slow

The quicker one of the two counts.  So a pair is slow only if its writes went to two units, neither
of which was open.  That a pair is quick says less: one of the units may have been open before.
The unit is the size that puts the slow pairs into two units each, and as few quick ones as
possible.  Neither how many units there are nor how many are open matters much.

A controller that holds the map of a part of the device brings in another part for the second write,
which makes a pair slower as well, but by far less than a merge.

A pair tells nothing where no unit is open in random order, all writes go to one log, or the map
knows pages.  There the writes across boundaries (`unit_crossings`) can tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import Iterable, Sequence

from ...measurement.schema import Point
from . import merge_cost, unit_crossings
from .structure import Draft, OUTRIGHT, Seen, Test

_KIB = 1 << 10
_COUNT = 16         # pairs of a test
_PUSHED = 32        # at most, where they are pushed out together
_LEAST = 64 * _KIB
# The largest page that there may be, if it is not known: a unit's first page opens it otherwise.
_PAGE = 32 * _KIB
# A pair is slow if it takes so many times as long as the usual pair of the smallest size.
_SLOW = 1.5
# Slow pairs that take less than this share of the usual slow one, or that many times as long, are
# odd; and how many of all slow pairs may be.
_LEVEL, _LONG = (0.4, 0.1), (2.0, 0.3)
_OF_MAP = 10        # a merge takes so many times as long as bringing in another part of the map
_ENOUGH = 4         # slow pairs
# Quick pairs across units for each slow one.  A log that all units share is full now and then,
# which makes a pair slow wherever it is: then most pairs across units are quick.
_MOST_OPEN = 2
# A slow pair inside of a unit speaks against the unit as much as so many quick ones across.
_AGAINST = 5
_DOUBT = 2          # what speaks this much more against a unit leaves it possible


@dataclass(frozen=True)
class Pair:
    """A pair of writes, at `first` and `second`, in a window of `size`.  `ns` is the time of the
    quicker one, or behind a cache (`pushed_pairs`) of both."""

    size: int
    first: int
    second: int
    ns: float

    def parted(self, unit: int) -> bool:
        """Whether its writes go to two units of this size."""
        return self.first // unit != self.second // unit


def edge(bs: int, page: int | None) -> int:
    """How far from both ends of a window its writes are: not in the first page of a unit."""
    return max(bs, page or _PAGE)


def windows(size: int, capacity: int, count: int) -> list[int]:
    """Where so many windows of this size begin, all over the device.  They are a power of two
    apart, so that they lie in all ways to units of an odd multiple, and shifted by some eighths of
    that, so that they do not begin where the next smaller ones do, whose units may be open."""
    apart = 1
    while 2 * apart * count * size <= capacity:
        apart *= 2
    shift = (size.bit_length() * apart // 8 + (apart < 8)) % apart
    return [(n * apart + shift) * size for n in range(count)]


def test(size: int, capacity: int, bs: int, from_ends: int, seen: Seen) -> Test:
    """Pairs in windows of this size, all over the device; if they are only seen when more data push
    them out, all of them together."""
    starts = windows(size, capacity, min(_PUSHED, capacity // size) if seen.push else _COUNT)
    draft = Draft(capacity)
    for start in starts:
        draft.add("write", bs, start + from_ends, size - 2 * from_ends, 2,
                  seen=OUTRIGHT if seen.push and start != starts[-1] else seen,
                  middle=not seen.push)
    return draft.test(f"pairs in {size // _KIB} KiB", merges=2 * len(starts))


def pair_from(p: Point, ns: float) -> Pair | None:
    """The pair of which this is the point, with this time; None if it is of something else."""
    how = dict(p.parameters)
    if p.procedure != "request" or how["op"] != "write" or how["count"] != 2:
        return None
    start, stride = int(how["start"]), int(how["stride"])
    return Pair(stride + 2 * (start & -start), start, start + stride, ns)


def pairs(points: Sequence[Point]) -> list[Pair]:
    """The pairs that were measured."""
    found = [pair_from(p, p.value) for p in points if dict(p.parameters).get("median")]
    return [pair for pair in found if pair]


def unit_sizes(capacity: int) -> list[int]:
    """What the unit may be."""
    return [size for size in sorted({*unit_crossings.candidates(capacity),
                                     *unit_crossings.odd_candidates(capacity)}) if size >= _LEAST]


def _two_units(measured: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """The pairs that must have gone to two units, and the others.  The smallest windows are in one
    unit."""
    least = min(p.size for p in measured)
    alone = median(p.ns for p in measured if p.size == least)
    from_ns = _merges_from([p.ns for p in measured if p.ns > _SLOW * alone])
    slow = [p for p in measured if p.ns >= from_ns]
    # a merge costs what it costs: where a write costs more the further it goes, none is open
    merge = median([p.ns for p in slow] or [0.0])
    (below, few), (above, some) = _LEVEL, _LONG
    if sum(p.ns < below * merge for p in slow) > few * len(slow) or \
            sum(p.ns > above * merge for p in slow) > some * len(slow):
        return [], list(measured)
    return slow, [p for p in measured if p.ns < from_ns]


def _merges_from(slow: Sequence[float]) -> float:
    """The least time of a merge, of the times of slow pairs; infinity without any.  Pairs that take
    far less than the rest have only gone to another part of the map."""
    times = sorted(slow)
    for below, above in zip(range(_ENOUGH, len(times) - _ENOUGH + 1), times[_ENOUGH:]):
        if above > _OF_MAP * times[below - 1]:
            return above
    return times[0] if times else math.inf


def _ranked(two: Sequence[Pair], others: Sequence[Pair],
            sizes: Iterable[int]) -> list[tuple[int, int]]:
    """(how much speaks against it, unit) for each unit that may be, the best one first; empty if
    too few pairs went to two units."""
    ranked = []
    for unit in sizes:
        good = sum(p.parted(unit) for p in two)
        bad = len(two) - good
        open_before = sum(p.parted(unit) for p in others)
        if good >= max(_ENOUGH, 10 * bad, open_before / _MOST_OPEN):
            ranked.append((_AGAINST * bad + open_before, unit))
    return sorted(ranked)


def next_sizes(points: Sequence[Point], capacity: int, from_ends: int) -> list[int]:
    """Windows to try next; empty if nothing more can be found out.  First powers of two, then what
    explains them best."""
    tried = {p.size for p in pairs(points)}
    sizes = [size for size in unit_sizes(capacity) if size >= 4 * from_ends]
    if not tried:
        return [size for size in sizes if size & (size - 1) == 0]
    return possible(_ranked(*_two_units(pairs(points)), sizes), _DOUBT, tried)


def possible(ranked: Sequence[tuple[float, int]], doubt: float, tried: set[int]) -> list[int]:
    """The units that are ranked so near to the best one that they may be, without those that were
    tried."""
    return [unit for against, unit in ranked
            if against <= ranked[0][0] + doubt and unit not in tried]


def surest(ranked: Sequence[tuple[float, int]]) -> int | None:
    """The unit that is ranked before all others."""
    return ranked[0][1] if len(ranked) == 1 or ranked and ranked[1][0] > ranked[0][0] else None


def unit_from(points: Sequence[Point]) -> int | None:
    """The allocation unit: of the sizes that were tried, the one that explains the pairs best; None
    if the pairs do not tell it, or if what they cost is less than a copy of that unit."""
    measured = pairs(points)
    if not measured:
        return None
    two, others = _two_units(measured)
    unit = surest(_ranked(two, others, sorted({p.size for p in measured})))
    if unit is None:
        return None
    merge = median(p.ns for p in two) - median(p.ns for p in others)
    return unit if merge > unit * merge_cost.copy_ns(points) else None
