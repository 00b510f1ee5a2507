# SPDX-License-Identifier: BSD-3-Clause
"""What a command takes for what it leaves of a page.

A controller that is asked for a part of a page may fetch what is behind it as well.  Then a read
takes the longer the more is left of the page (flashbench -a):

    ns  |  .                          with R bytes that are fetched together, a read of bs bytes at
        |      .                      a multiple of A bytes is A % R behind the beginning of R, and
        |          .                  one in front of it ends at a multiple of A
        |              .
        +--|-----------|-- bytes left
          R - bs       0

One up to the end of a unit may take longer than one up to the end of another page, because the
controller looks for what is behind that.  A write has to copy the rest of the page, so a small one
may take longer than one of a whole page.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import Mapping, Sequence

import numpy as np

from ...measurement.schema import Point, each

_KIB, _MIB = 1 << 10, 1 << 20
# Bytes that may be fetched together.  Multiples of up to `_INSIDE` mostly lie inside of units, and
# those of `_PAGES` and more between two pages.
_TOGETHER = tuple(1 << n for n in range(12, 17))
_INSIDE, _PAGES = 1 * _MIB, 32 * _KIB
# Of the time of a command that leaves nothing, what the rest takes at least, and of the time of the
# rest, how far off the points are at most: for reads, and for writes.
_FETCHED, _FETCHED_OFF, _LEAST_READS = 0.12, 0.2, 8
_COPIED, _COPIED_OFF, _LEAST_WRITES = 0.2, 0.08, 3
# Of the time of a read, what the end of a unit takes at least.
_END = 0.12


@dataclass(frozen=True)
class _Read:
    """One of `bs` bytes that begins or ends at odd multiples of `align`."""

    align: int
    bs: int
    is_front: bool
    ns: float

    def left(self, together: int) -> int:
        """Bytes behind it of those that are fetched together."""
        end = self.align if self.is_front else self.align + self.bs
        return -end % together


def _reads(points: Sequence[Point]) -> list[_Read]:
    return [_Read(int(how["align"]), int(how["bs"]), how["place"] == "pre", ns)
            for how, ns in each(points, "flashbench-align") if how["place"] in ("pre", "post")]


def of_reads(points: Sequence[Point]) -> tuple[int, float]:
    """Bytes that are fetched together, and ns to fetch all of them behind a read; 0 and 0 if reads
    do not take longer the more is left."""
    reads = [r for r in _reads(points) if r.align <= _INSIDE]
    if len(reads) < _LEAST_READS:
        return 0, 0.0
    best = (math.inf, 0, 0.0)
    for together in _TOGETHER:
        shares = [r.left(together) / together for r in reads]
        if max(shares) < 0.5:
            continue
        whole, least, off = _line(shares, [r.ns for r in reads])
        if whole > _FETCHED * least and off < _FETCHED_OFF * whole:
            best = min(best, (off, together, whole))
    return best[1], best[2]


def end_of_unit(points: Sequence[Point], unit: int) -> float:
    """ns that a read up to the end of a unit takes longer than one up to the end of another page,
    beyond what one behind it does; 0 if that is little."""
    reads = [r for r in _reads(points) if r.align >= _PAGES]

    def more(is_front: bool) -> tuple[float, float]:
        at = [r.ns for r in reads if r.is_front == is_front and r.align >= unit]
        inside = [r.ns for r in reads if r.is_front == is_front and r.align < unit]
        if len(at) < 2 or len(inside) < 2:
            return 0.0, 1.0
        return median(at) - median(inside), median(inside)
    (front, usual), (behind, _) = more(True), more(False)
    return front - behind if front - behind > _END * usual else 0.0


def of_writes(times: Mapping[int, float], page: int) -> float:
    """ns that a write takes for a whole page that it leaves, from the time of each size; 0 if small
    writes do not take longer in proportion to what they leave of a page."""
    sizes = [size for size in times if size <= page]
    if page not in times or len(sizes) < _LEAST_WRITES:
        return 0.0
    whole, least, off = _line([1 - size / page for size in sizes], [times[size] for size in sizes])
    return whole if whole > _COPIED * least and off < _COPIED_OFF * whole else 0.0


def _line(shares: Sequence[float], ns: Sequence[float]) -> tuple[float, float, float]:
    """What all of the rest takes, what a command takes besides, and how far off the points are, by
    the line through the shares that are left and the times."""
    x, y = np.array(shares), np.array(ns)
    whole, least = np.polyfit(x, y, 1)
    return float(whole), float(least), float(np.sqrt(((least + whole * x - y) ** 2).mean()))
