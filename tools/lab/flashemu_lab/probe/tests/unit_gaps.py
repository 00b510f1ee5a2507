# SPDX-License-Identifier: BSD-3-Clause
"""The unit of a device that opens no unit in random order: a saw-tooth over the place in the unit.

Such a device takes a page that is further on in an open unit after it has copied all pages between,
and what is left of a unit when it is closed:

    unit that is opened   |cccccccW         |      copies what is in front of the write
    unit that is closed   |........wCCCCCCCC|      copies what is behind the last write to it

So a write takes a time that grows with its place in its unit, until the next unit begins.  It also
depends on the unit that it closes, which is the one that was used longest ago.  Both follow from
the places of all writes before, if the size of a unit and how many are open are known.  All sizes
and numbers are tried, and the unit is the size that explains the times of small writes all over the
device, those of `unit_pairs` and across boundaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import median_low
from typing import Sequence

import numpy as np
import numpy.typing as npt

from ...measurement.schema import Point
from . import merge_cost, unit_pairs

_KIB, _MIB = 1 << 10, 1 << 20
_MOST = 72          # units that may be open
_ENOUGH = 24        # points
_EXPLAINS = 0.95    # the share of the squares that a unit has to explain
_SURER = 3.0        # another size leaves so many times as much unexplained
_CLOSE = 2          # sizes of the closest pairs
_ODD = (1, 3, 5, 7, 9, 11, 13, 15)
_LEAST, _LARGEST = 64 * _KIB, 48 * _MIB
_Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Writes:
    """A point: small writes of `bs` bytes at `at`.  `ns` is the median of their times; 0 if it is
    not known."""

    bs: int
    at: tuple[int, ...]
    ns: float


def writes_from(points: Sequence[Point]) -> tuple[Writes, ...]:
    """The writes of the procedure `request`, in their order, from the first of `opening` on until
    something else was written."""
    found: list[Writes] = []
    for p in points:
        how = dict(p.parameters)
        if p.procedure != "request":
            found = found if any(w.ns for w in found) else []
            if found and p.procedure not in ("flashbench-align", "seq-read", "content"):
                break
        elif how["op"] == "write":
            at = tuple(int(how["start"]) + k * int(how["stride"]) for k in range(int(how["count"])))
            found.append(Writes(int(how["bs"]), at, p.value if how.get("median") else 0.0))
    return tuple(found)


def sizes() -> list[int]:
    """What the unit may be."""
    return sorted(n for n in (odd * _KIB << i for odd in _ODD for i in range(17))
                  if _LEAST <= n <= _LARGEST and (n >= 512 * _KIB or n % (3 * _KIB) == 0
                                                  or n & (n - 1) == 0))


def _pieces(unit: int, at: int, bs: int) -> list[tuple[int, int, int]]:
    """(unit, first byte, end) of the parts of a write that lie in one unit each."""
    found, end = [], at + bs
    while at < end:
        number = at // unit
        stop = min(end, (number + 1) * unit)
        found.append((number, at - number * unit, stop - number * unit))
        at = stop
    return found


def predicted(writes: Sequence[Writes], unit: int) -> tuple[_Array, _Array]:
    """For each point with a time and each number of open units from 1 on: bytes that the median
    write copies, and the units that are closed for it.  NaN where that depends on what was before
    the first write."""
    order: list[int] = []           # units, the one that was used last first
    ends: list[float] = []          # how far each of them is written
    number = np.arange(_MOST)
    copied_rows, closed_rows = [], []
    for w in writes:
        each = []
        for at in w.at:
            copied, closed = np.zeros(_MOST), np.zeros(_MOST)
            for name, first, end in _pieces(unit, at, w.bs):
                evicted = np.full(_MOST, np.nan)
                evicted[:len(ends)] = ends[:_MOST]
                place = order.index(name) if name in order else _MOST
                own = ends[place] if place < _MOST else 0.0
                goes_on = first >= own
                copied += np.where(number >= place, first - own if goes_on else first + unit - own,
                                   first + unit - evicted)
                closed += np.where(number >= place, not goes_on, 1)
                if place < len(order):
                    del order[place], ends[place]
                order.insert(0, name)
                ends.insert(0, float(end))
                del order[_MOST:], ends[_MOST:]
            each.append((copied, closed))
        if w.ns:
            table = np.array([copied for copied, _ in each])
            middle = np.argsort(table, axis=0)[(len(each) - 1) // 2]
            unknown = np.isnan(table).any(axis=0)
            row = table[middle, number]
            row[unknown] = np.nan
            copied_rows.append(row)
            closed_rows.append(np.array([closed for _, closed in each])[middle, number])
    return np.array(copied_rows), np.array(closed_rows)


def _unexplained(times: _Array, copied: _Array, closed: _Array) -> float | None:
    """The share of the squares that is left, or None if it is too much or the copies are too
    quick."""
    known = ~np.isnan(copied)
    if known.sum() < _ENOUGH:
        return None
    y, x = times[known], np.stack([np.ones(known.sum()), copied[known], closed[known]], axis=1)
    squares = float(((y - y.mean())**2).sum())
    found, _, _, _ = np.linalg.lstsq(x, y, rcond=None)
    errors = float(((y - x @ found)**2).sum())
    if not squares or errors > (1 - _EXPLAINS) * squares or found[1] < merge_cost.COPY_NS:
        return None
    return errors / squares


def _grows(points: Sequence[Point]) -> bool:
    """Whether a second write near a first one takes longer the further on it is, by pairs so close
    together that most are in one unit.  Without this there is no saw-tooth."""
    by_size: dict[int, list[float]] = {}
    for pair in unit_pairs.pairs(points):
        by_size.setdefault(pair.size, []).append(pair.ns)
    times = [(size, median_low(ns)) for size, ns in sorted(by_size.items())][:_CLOSE]
    return len(times) == _CLOSE and all(
        t1 - t0 > merge_cost.COPY_NS * (far - near)
        for (near, t0), (far, t1) in zip(times, times[1:]))


@lru_cache(maxsize=4)
def ranked(writes: tuple[Writes, ...]) -> list[tuple[float, int, int]]:
    """(the share that is unexplained, unit, open units) for each unit that may be, the best one
    first."""
    times = np.array([w.ns for w in writes if w.ns])
    found = []
    if len(times) < _ENOUGH:
        return []
    for unit in sizes():
        copied, closed = predicted(writes, unit)
        each = [(errors, unit, n + 1) for n in range(_MOST)
                if (errors := _unexplained(times, copied[:, n], closed[:, n])) is not None]
        found += [min(each)] if each else []
    return sorted(found)


def unit_from(points: Sequence[Point]) -> int | None:
    """The allocation unit; None if these points do not tell it."""
    found = ranked(writes_from(points)) if _grows(points) else []
    if not found or len(found) > 1 and found[1][0] < _SURER * found[0][0]:
        return None
    return found[0][1]
