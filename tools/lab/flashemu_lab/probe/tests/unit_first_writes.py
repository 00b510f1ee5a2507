# SPDX-License-Identifier: BSD-3-Clause
"""The unit of a device with one log for all writes, behind a write cache that no flush empties.

Behind such a cache only sums of many writes have a time.  The log is given up now and then, and
then many units are merged together, so the sums of equal writes differ by many merges.  But a write
to the first page of a unit does not go to that log: it begins a log for writes in order, and what
was begun before is merged, always one unit:

    writes at multiples of the unit     a merge each, and nothing else: each time the same
    writes at other places              to the log for all writes: merges in lumps

So the unit is the size whose multiples all take the same time, while other places do not, nor those
in front of multiples.  The writes are those in front of and behind the boundaries of
`crossings.crossing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Mapping, Sequence

from ...measurement.schema import Point
from . import merge_cost, unit_crossings

# Sums are the same if they differ by less than this share.
_SAME = 0.005
_MOST = 0.6         # of the sums of large sizes at multiples are the same
_MOSTLY = 0.8       # of the others differ from these
_LEAST = 3          # sums of each kind


@dataclass(frozen=True)
class Sum:
    """Writes at odd multiples of `size`, or in front of them, and ns of a write."""

    size: int
    at: tuple[int, ...]
    ns: float

    def begins(self, unit: int) -> bool:
        """Whether all of them are at multiples of this size."""
        return all(at % unit == 0 for at in self.at)


def sums(points: Sequence[Point]) -> dict[int, list[Sum]]:
    """The sums in front of and behind boundaries, by how many writes they are of; of writes of
    several lengths, the last that was tried."""
    found: dict[int, list[Sum]] = {}
    latest = 0
    for c in unit_crossings.across(points):
        if c.bs != latest:
            latest, found = c.bs, {}
        if c.pushed:
            before = tuple(at - c.bs for at in c.places(0))
            found.setdefault(c.count, []).extend([Sum(c.unit, before, c.times[0]),
                                                  Sum(c.unit, c.places(2), c.times[2])])
    return found


def _usual(values: Sequence[float], share: float) -> list[float]:
    """Those that are the same, if these are at least this share of them."""
    found: list[float] = max(([v for v in values if one <= v <= one * (1 + _SAME)]
                              for one in values), key=len, default=[])
    return found if len(found) >= max(share * len(values), 2) else []


def _fits(measured: Mapping[int, Sequence[Sum]], unit: int) -> bool:
    """Whether multiples of this size take the same time, by each number of writes for itself, since
    each has its own share of what pushes the writes out; and other places do not.  Among these are
    multiples of another size, or all that shows is where multiples of any size are; and the odd
    multiples of this size are no exception, since they are none of the larger sizes."""
    same = 0
    before: list[bool] = []
    behind: list[bool] = []
    for count, some in measured.items():
        inside = [s.ns for s in some if s.begins(unit)]
        # few writes are of large sizes, which come back to the same places and to what is pushed
        usual = _usual(inside, 1.0 if count == unit_crossings.MANY_CROSSINGS else _MOST)
        if len(inside) < 2:
            continue
        if not usual or usual[0] < unit * merge_cost.COPY_NS or \
                any(s.size == unit and s.begins(unit) and s.ns not in usual for s in some):
            return False
        same += len(usual)
        for s in some:
            if not s.begins(unit):
                off = behind if s.begins(s.size) else before
                off.append(abs(s.ns / fmean(usual) - 1) > _SAME)
    return same >= _LEAST and len(before) + len(behind) >= _LEAST and \
        all(off and sum(off) >= _MOSTLY * len(off) for off in (before, behind))


def unit_from(points: Sequence[Point]) -> int | None:
    """The allocation unit; None if these sums do not tell it, or if they fit several sizes that are
    no multiples of the smallest one.  Sums of few writes alone do not tell it: some are the same by
    accident."""
    measured = sums(points)
    sizes = sorted({s.size for s in measured.get(unit_crossings.MANY_CROSSINGS, [])})
    found = [size for size in sizes if _fits(measured, size)]
    return found[0] if found and all(size % found[0] == 0 for size in found) else None
