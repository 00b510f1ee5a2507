# SPDX-License-Identifier: BSD-3-Clause
"""The points of a measurement as tables, and how rows of these tables compare.

    linear    open units  chunk: 4K    8K   16K         random    the same, in random order
                 1              ...
                 2              ...                     fat       by number of the unit

A row of -O says how long a write of each size takes with so many units in turn.  Rows of which
every other point is missing differ because of that alone, so they are compared by what they have in
common.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import median
from typing import Sequence

from ..measurement.schema import Point, each, make_point
from ..probe.tests import flashbench_open_units
from ..probe.tests.structure import aligned

_KIB = 1 << 10
# Units for which there is room in most devices, so that none of them is merged for every write.
FEW = 3
# The logarithm of how much longer a slower row takes.
SLOWER = 0.07
# Commands of a rate.
_SEVERAL = 4
# Chunks that rows of -O must have in common.
_LEAST_COMMON = 3


@dataclass
class Curves:
    """The points as tables.

    linear, random   number of open units, then chunk: ns for a write of this size
    fat              number of the unit, then chunk: the same
    across           alignment: ns that a read across takes more than those beside, and their mean
    erasesize        of -O or -f, 0 without any
    rates            (writes, request, bytes a second) of what runs in order
    """

    linear: dict[int, dict[int, float]] = field(default_factory=dict)
    random: dict[int, dict[int, float]] = field(default_factory=dict)
    fat: dict[int, dict[int, float]] = field(default_factory=dict)
    across: dict[int, tuple[float, float]] = field(default_factory=dict)
    erasesize: int = 0
    rates: list[tuple[bool, int, float]] = field(default_factory=list)
    reads: list[tuple[int, float]] = field(default_factory=list)


def curves(points: Sequence[Point]) -> Curves:
    """Sorts the points."""
    in_order, in_random = (
        {units: {chunk: chunk * 1e9 / rate for chunk, rate in row.items()}
         for units, row in flashbench_open_units.rows(points, order).items()}
        for order in (False, True))
    c = Curves(in_order, in_random)
    for how, rate in each(points, "flashbench-find-fat"):
        chunk = int(how["chunk"])
        c.fat.setdefault(int(how["unit"]), {})[chunk] = chunk * 1e9 / rate
    c.erasesize = next((int(how["erasesize"]) for how, _ in each(
        points, "flashbench-open-au", "flashbench-find-fat")), 0)
    c.reads = [(int(how["bs"]), ns) for how, ns in each(points, "request", op="read")]
    for p in points:
        how = dict(p.parameters)
        if p.procedure in ("seq-read", "seq-write", "hdparm-t", "dd"):
            writes = p.procedure == "seq-write" or how.get("op") == "write"
            # a cache may have taken single commands
            single = "size" in how and int(how["size"]) < _SEVERAL * int(how.get("bs", 0))
            if how.get("op") != "unknown" and not single:
                c.rates.append((writes, int(how.get("bs", 128 * _KIB)), p.value))
    for align, at in aligned(points).items():
        beside = [at[k] for k in ("pre", "post") if k in at]
        if beside and "on" in at:
            c.across[align] = (at["on"] - sum(beside) / len(beside), sum(beside) / len(beside))
    return c


def comparable(points: Sequence[Point]) -> list[Point]:
    """The points with rows of -O that can be compared with each other.  Rows of which every other
    point is missing have no chunk in common, and their means differ only because of that.  So a
    point between two others gets the mean of their logarithms, and chunks that a row of the same
    order still has not are left out, unless hardly any would be left."""
    rows: dict[bool, dict[int, dict[int, Point]]] = {}
    kept = []
    for p in points:
        how = dict(p.parameters)
        if p.procedure == "flashbench-open-au":
            row = rows.setdefault(bool(how["random"]), {}).setdefault(int(how["open"]), {})
            row[int(how["chunk"])] = p
        else:
            kept.append(p)
    for same in rows.values():
        chunks = {chunk for row in same.values() for chunk in row}
        for row in same.values():
            _fill(row, chunks)
        common = {chunk for chunk in chunks if all(chunk in row for row in same.values())}
        if len(common) < _LEAST_COMMON:
            common = chunks
        kept += [p for row in same.values() for chunk, p in row.items() if chunk in common]
    return kept


def _fill(row: dict[int, Point], chunks: set[int]) -> None:
    """Adds points for those of the chunks that are between two others of the row."""
    for chunk in sorted(chunks - row.keys()):
        below, above = row.get(chunk // 2), row.get(2 * chunk)
        if below and above:
            row[chunk] = make_point("flashbench-open-au", [math.sqrt(below.value * above.value)],
                                    **dict(below.parameters) | {"chunk": chunk})


def flat_until(times: dict[int, float], slack: float) -> int:
    """The largest chunk up to which a write takes as long as the smallest one; 0 without any."""
    chunks = sorted(times)
    last = 0
    for chunk in chunks:
        if times[chunk] > slack * min(times[c] for c in chunks if c <= chunk):
            break
        last = chunk
    return last


def pooled(rows: dict[int, dict[int, float]], least: int,
            most: float = math.inf) -> dict[int, float]:
    """The median time of each chunk over the rows of `least` to `most` units.  Rows of which every
    other point is missing have different ones, and together they have all."""
    found: dict[int, list[float]] = {}
    for row, times in rows.items():
        for chunk, t in times.items() if least <= row <= most else ():
            found.setdefault(chunk, []).append(t)
    return {chunk: median(times) for chunk, times in sorted(found.items())}


def few_units(rows: dict[int, dict[int, float]]) -> dict[int, float]:
    """The median time of each chunk with so few units that there is room for them."""
    return pooled(rows, 1, FEW)


def slower_from(rows: dict[int, dict[int, float]]) -> int | None:
    """The number of units of which the next larger one that was measured is a little slower, and
    the one behind that as well, if fewer were not; by large commands, because parts of pages fill a
    unit early."""
    known = sorted(rows)
    for i, n in enumerate(known[:-1]):
        more = [slower(rows[n], rows[m]) for m in known[i + 1:i + 3]]
        if n > 1 and min(more) > SLOWER:
            return n
    return None


def slower(few: dict[int, float], many: dict[int, float]) -> float:
    """The mean logarithm of how much longer large commands of a row take than those of another."""
    more = [math.log(many[chunk] / few[chunk]) for chunk in few
            if chunk in many and chunk >= 64 * _KIB]
    return sum(more) / len(more) if more else 0.0
