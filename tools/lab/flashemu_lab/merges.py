# SPDX-License-Identifier: BSD-3-Clause
"""What a merge costs at least: it copies a unit.

Other things make a small write slower as well.  A controller that holds the map of a part of the
device brings in another part; a log is full; the flash is busy with something else.  What takes
less time than copying a unit says nothing about units of that size.
"""

from __future__ import annotations

import math
from typing import Sequence

from .measurement import Point

# No device copies a byte in less time.
COPY_NS = 2.5
# Of the time of a write: what costs so much more is another merge.
_AGAIN = 0.75
# Nor so many times as fast as it writes in order.
_FASTER = 4


def is_one(points: Sequence[Point], ns: float, alone: float, unit: int) -> bool:
    """Whether `ns` more than a small write that takes `alone` can be the merge of a unit: it is as
    much again, where each write costs a merge, or as much as a copy takes."""
    return ns > unit * (COPY_NS if ns > _AGAIN * alone else copy_ns(points))


def copy_ns(points: Sequence[Point]) -> float:
    """The least time in which the device copies a byte.  It writes in order at the best rate of the
    bursts that were measured; a cache makes that rate too high, and this time too short, which does
    no harm."""
    best = max((p.value for p in points if p.procedure == "fill"), default=math.inf)
    return max(COPY_NS, 1e9 / best / _FASTER)
