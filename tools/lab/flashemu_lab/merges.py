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

# No device copies a byte in less time, or so many times as fast as it writes in order.
COPY_NS = 2.5
_FASTER = 4
# Of the time of a write that may be a merge: what costs so much more is another one.
_AGAIN = 0.75


def is_one(points: Sequence[Point], ns: float, alone: float, unit: int) -> bool:
    """Whether a write can have cost one merge of a unit more than another write: the other one took
    `alone`, and this one `ns` longer.  Where each write costs a merge, that is about as much again;
    elsewhere it is at least what a copy takes."""
    return ns > unit * (COPY_NS if ns > _AGAIN * alone else copy_ns(points))


def copy_ns(points: Sequence[Point]) -> float:
    """The least time in which the device copies a byte.  It writes in order at the best rate of the
    bursts that were measured; a cache makes that rate too high, and this time too short, which does
    no harm."""
    best = max((p.value for p in points if p.procedure == "fill"), default=math.inf)
    return max(COPY_NS, 1e9 / best / _FASTER)
