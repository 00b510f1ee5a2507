# SPDX-License-Identifier: BSD-3-Clause
"""A boundary that shows in reads, by flashbench -a alone: most likely that of the allocation unit.

A read that lies in two units needs the map of both, so across all multiples of the unit it takes
longer than beside them, and across smaller powers of two it does not:

    align        2K  4K  8K  16K ... 1M | 2M   4M   8G
    on - beside   4   4  48   18     18 | 210  216  221 us     the unit: 2 MiB

Where there are several such steps, the highest one is meant.  Reads do not tell whether several of
these units are one for writes, which is why probe goes by writes where it may write.
"""

from __future__ import annotations

from typing import Sequence

from ...measurement.schema import Point
from .structure import aligned

_KIB, _MIB = 1 << 10, 1 << 20
_LEAST, _MOST = 128 * _KIB, 64 * _MIB
# Rows on each side of the step, at least.
_ROWS = 2
# Every row behind the step has so many times what any in front of it has, and so much more of the
# time of a read.
_TIMES, _STANDS_OUT = 2.0, 0.04


def excesses(points: Sequence[Point]) -> dict[int, tuple[float, float]]:
    """For each complete row of -a, the smallest alignment first: how many ns a read across takes
    more than the mean of those beside it, and that mean."""
    found = {}
    for align, row in sorted(aligned(points).items()):
        if row.keys() >= {"pre", "on", "post"}:
            beside = (row["pre"] + row["post"]) / 2
            found[align] = (row["on"] - beside, beside)
    return found


def step_from(points: Sequence[Point]) -> tuple[int, float, float] | None:
    """The alignment from which on reads across take longer, the least ns more from there on, and
    the most in front of it; None if there is no such step."""
    rows = excesses(points)
    best, found = _TIMES, None
    for align in (a for a in rows if _LEAST <= a <= _MOST):
        low = [e for a, (e, _) in rows.items() if a < align]
        high = [e for a, (e, _) in rows.items() if align <= a <= _MOST]
        if len(high) < _ROWS:   # larger ones tell less: other maps have steps, too
            high = [e for a, (e, _) in rows.items() if a >= align]
        if min(len(low), len(high)) < _ROWS:
            continue
        before, step = max(*low, 0.0), min(high)
        if step - before > _STANDS_OUT * rows[align][1] and step > best * before:
            # in front of it there may be nothing at all
            best, found = step / max(before, 1.0), (align, step, before)
    return found
