# SPDX-License-Identifier: BSD-3-Clause
"""The allocation unit, by writes that lie in two of them.

A write that lies in two units makes the device merge two of them, so of all sizes U, 2 U, 3 U ...
stand out:

    before, across and behind a multiple     |      bb|        |      aa|aa      |ff       |
    merges                                           1               2            1

The size of the writes matters.  A log for small writes takes short ones, wherever they are.  And a
device that gathers a page merges for it once more when the flush comes, so only a write of four
pages costs one merge more across than within.

Not modelled: units that begin elsewhere than at multiples of their size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import Iterator, Mapping, Sequence

from ...measurement.schema import Point, each
from . import merge_cost
from .structure import Draft, OUTRIGHT, Seen, Test, page_read_from

_KIB, _MIB = 1 << 10, 1 << 20
_CROSSINGS = 16
# Bytes of writes that no log for small writes is known to take.
PAST_LOGS = 256 * _KIB
# Where they are only seen together with what pushes them out.  It is a prime, so that they never
# fill a log to its last page.
MANY_CROSSINGS = 47
_ENOUGH = 12        # tests of `crossing` that show a unit
_OPENING = 100      # units
_AGAIN = 6          # tests of `crossing` that are repeated at other places
# An excess counts if it is this share of the time of a write that crosses nothing.
_STANDS_OUT = 0.2
# It also counts with this share, if nothing else has a quarter of it.
_LITTLE = 0.04
# A unit has to explain this share of the squares of all excesses.
_EXPLAINS = 0.9
_EXPLAINS_MANY = 0.85
_ODD_COUNTS = 0.01  # of the squares of the test that need not fit


def candidates(capacity: int) -> list[int]:
    """What may be the size of a unit: 2^n and 3 x 2^n from 32 KiB to 48 MiB."""
    found = [base << i for i in range(11) for base in (32 * _KIB, 48 * _KIB)]
    return sorted(n for n in found if 16 * n <= capacity and n <= 48 * _MIB)


def odd_candidates(capacity: int) -> list[int]:
    """Other sizes from 512 KiB to 48 MiB that divide the capacity: 5, 7, 9, 11, 13 and 15 x 2^n."""
    found = [odd * _KIB << i for odd in (5, 7, 9, 11, 13, 15) for i in range(5, 14)]
    return sorted(n for n in found if 512 * _KIB <= n <= 48 * _MIB and capacity % n == 0
                  and 16 * n <= capacity)


def crossing(unit: int, capacity: int, seen: Seen = OUTRIGHT, bs: int = 8 * _KIB,
             count: int = _CROSSINGS, closer: int = 0) -> Test:
    """Writes before, across and behind odd multiples of `unit`, as far apart as they can be, and
    more of them than units are open, so that each goes to one that is not.  The median counts,
    because a device that collects small writes empties its log now and then.  `closer` places them
    otherwise."""
    seen, end = seen.behind(capacity)
    # other units each time, as far as there are some: what is open already opens nothing
    apart = max(1, (end - unit) // (2 * unit * count))
    if apart > 4:
        apart = apart * (72 - unit // (16 * _KIB) % 29) // 72
    apart = max(1, apart - closer)
    turn = apart // 3
    # or all places across were multiples of 3, 5 or 7 units as well, which then looked the same
    while turn and math.gcd(apart, 2 * turn + 1, 105) > 1:
        turn += 1
    shift = 2 * unit * turn
    draft = Draft(capacity)
    for n, before in enumerate((bs, bs // 2, 0)):
        draft.add("write", bs, unit - before + n * shift, 2 * unit * apart, count, seen=seen,
                  middle=True)
    return draft.test(f"crossing {unit // _KIB} KiB", merges=4 * count)


def opening(capacity: int, seen: Seen = OUTRIGHT, odd: bool = False) -> Test:
    """Writes across odd multiples of large candidates, which are multiples of smaller units, too: a
    device that may open another unit need not close one, so these open as many as there can be."""
    bs = 32 * _KIB
    sizes = odd_candidates(capacity) if odd else \
        [unit for unit in candidates(capacity) if unit >= _MIB]
    draft = Draft(capacity)
    for of_three in (True, False):
        opened = 0
        for unit in reversed([n for n in sizes if (n % 3 == 0) == of_three]):
            stride = 2 * unit * max(1, (capacity - unit) // (2 * unit * 17))
            # each place once: a second write to a unit would change how it is open
            count = min(17, (capacity - unit) // stride)
            if opened < _OPENING:
                draft.add("write", bs, unit - bs // 2, stride, count, seen=seen)
                opened += count
    return draft.test("opening units" + (", others" if odd else ""),
                      merges=2 * len(draft.requests))


@dataclass(frozen=True)
class Across:
    """What a test of `crossing` has measured: `times` has ns of a write before, across and behind
    the multiples of `unit`."""

    unit: int
    bs: int
    shift: int
    stride: int
    count: int
    pushed: bool
    times: tuple[float, float, float]

    def places(self, which: int) -> tuple[int, ...]:
        """The multiples around which it has written: 0 before, 1 across, 2 behind."""
        return tuple(self.unit + which * self.shift + k * self.stride for k in range(self.count))


def across(points: Sequence[Point]) -> Iterator[Across]:
    """The tests of `crossing`, in their order."""
    series = [((int(how["bs"]), int(how["stride"]), int(how["count"])), int(how["start"]), ns,
               "push" in how) for how, ns in each(points, "request", op="write")
              if how["count"] in (_CROSSINGS, MANY_CROSSINGS)]
    for (one, before, t0, pushed), (two, on, t1, _), (three, behind, t2, _) in zip(
            series, series[1:], series[2:]):
        bs, stride, count = one
        unit, shift = before + bs, on - before - bs // 2
        if one == two == three and behind == unit + 2 * shift and \
                unit > bs and shift % (2 * unit) == 0 and stride % (2 * unit) == 0:
            yield Across(unit, bs, shift, stride, count, pushed, (t0, t1, t2))


def _crossings(points: Sequence[Point]) -> dict[int, tuple[float, float, list[int]]]:
    """What `excesses` has, and the multiples across which was written.  Tests that had to come back
    to the same units, because the device has too few of that size, only count if there are few
    others: such a unit may still have been open.  If it was tried with writes of several sizes, the
    last one counts."""
    found: dict[int, tuple[float, float, list[int]]] = {}
    worse: dict[int, tuple[float, float, list[int]]] = {}
    latest = 0
    for c in across(points):
        if c.bs != latest:
            latest, found, worse = c.bs, {}, {}
        alone = (c.times[0] + c.times[2]) / 2
        (found if c.shift else worse)[c.unit] = c.times[1] - alone, alone, list(c.places(1))
    return found if len(found) >= _ENOUGH else {**worse, **found}


def _multiples(at: Sequence[int], unit: int) -> int:
    """How many of the places are multiples of the unit."""
    return sum(a % unit == 0 for a in at)


def excesses(points: Sequence[Point]) -> dict[int, tuple[float, float]]:
    """For each unit of `crossing`: how much longer a write across takes than the mean of the ones
    before and behind, and that mean, in ns."""
    return {unit: (e, alone) for unit, (e, alone, _) in _crossings(points).items()}


def doubtful(points: Sequence[Point]) -> list[int]:
    """The units of `crossing` that stand out most, the largest first: what was open when they were
    measured may have hidden some merges."""
    found = excesses(points)
    most = max((abs(e) for e, _ in found.values()), default=0.0)
    return sorted((unit for unit, (e, alone) in found.items()
                   if abs(e) > max(_STANDS_OUT * most, _STANDS_OUT * alone)), reverse=True)[:_AGAIN]


def unit_from(points: Sequence[Point]) -> int | None:
    """The allocation unit: the smallest candidate whose multiples all stand out, and next to
    which nothing else does; None if no unit shows, or if it is a page: two pages take twice as
    long as one, too."""
    found = _crossings(points)
    pushed = any("push" in dict(p.parameters) for p in points)
    best: tuple[float, int] | None = None
    for unit in found:
        # odd multiples of one size, a stride apart, may all be multiples of another size
        high = [e for e, _, at in found.values() if 2 * _multiples(at, unit) > len(at)]
        low = [e for e, _, at in found.values() if 2 * _multiples(at, unit) <= len(at)]
        few = 1 if len(high) >= _ENOUGH else 2
        if len(low) < few or len(high) < 1 + (pushed or 2 * unit <= max(found)) or \
                min(high) < max(high) / 2:
            continue
        gap = min(high) - max(low)
        alone = median(t for _, t, _ in found.values())
        clear = gap > _LITTLE * alone and gap > 4 * max(abs(e) for e in low)
        # only one size: it has to cost as much as a merge
        enough = _STANDS_OUT if len(high) > 1 else 0.5
        stands_out = gap > enough * alone or (clear and len(high) > 1)
        if pushed and gap < max(low) - min(low):    # sums hold merges of a log now and then
            continue
        if stands_out and merge_cost.is_one(points, gap, alone, unit) and (
                best is None or gap > best[0]):
            best = (gap, unit)
    many = {unit: row for unit, row in found.items() if len(row[2]) == MANY_CROSSINGS}
    one = best[1] if best else None
    likely = _unit_by_share(points, found) or _unit_by_share(points, many, _EXPLAINS_MANY) or \
        one if many else one or _unit_by_share(points, found)
    page = page_read_from(points)
    if not likely or page is None and likely == min(found):
        return None
    return likely if likely > (page or 0) else None


def _unit_by_share(points: Sequence[Point],
                   crossings: Mapping[int, tuple[float, float, list[int]]],
                   enough: float = _EXPLAINS) -> int | None:
    """The unit that explains the excesses best, if it explains most of them: the excess of a test
    is proportional to the share of its writes that lie across multiples of the unit: odd multiples
    of 2 MiB, for example, are multiples of 1.5 MiB now and then.  Of many tests one need not fit: a
    log may have been full just then.  What does not fit still speaks a little against a unit, or
    twice the unit would be as good, for which only one test does not fit."""
    measured = {unit: (e, alone) for unit, (e, alone, _) in crossings.items()}
    alone = median(t for _, t in measured.values()) if measured else 0.0
    every = sum(e**2 for e, _ in measured.values()) or 1.0
    best, found = 0.0, None
    for unit in measured:
        shares = [_multiples(at, unit) / len(at) for _, _, at in crossings.values()]
        product = sum(s * e for s, (e, _) in zip(shares, measured.values()))
        squares = sum(s**2 for s in shares) or 1.0
        errors = sorted((s * product / squares - e)**2
                        for s, (e, _) in zip(shares, measured.values()))
        odd = errors.pop() if len(errors) >= _ENOUGH else 0.0
        explained = 1 - sum(errors) / ((every - odd) or 1.0)
        value = explained - _ODD_COUNTS * odd / every
        if explained > enough and value > best and \
                product / squares > _STANDS_OUT * alone and \
                merge_cost.is_one(points, product / squares, alone, unit):
            best, found = value, unit
    # the smallest candidates cannot be told from a page
    return found if found not in sorted(measured)[:2] else None
