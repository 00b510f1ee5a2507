# SPDX-License-Identifier: BSD-3-Clause
"""What a merge costs at least: it copies a unit.

Other things make a small write slower as well.  A controller that holds the map of a part of the
device brings in another part; a log is full; the flash is busy with something else.  What takes
less time than copying a unit says nothing about units of that size.
"""

from __future__ import annotations

import math
from typing import Sequence

from ...measurement.schema import Point

# No device copies a byte in less time, or so many times as fast as it writes in order.
COPY_NS = 2.5
_FASTER = 2.5
# Where each write merges one to three times, one more merge takes such a share of its time,
_AGAIN = 0.3, 1.2
# and it takes longer than any controller needs to bring in a part of its map.
_NO_MAP = 10e6


def is_one(points: Sequence[Point], ns: float, alone: float, unit: int) -> bool:
    """Whether a write can have cost one merge of a unit more than another write: the other one took
    `alone`, and this one `ns` longer.  That is at least what a copy takes.  Where each write costs
    a merge, the device is never seen to write in order, so it may copy faster than it seems."""
    least, most = _AGAIN
    each = least * alone < ns < most * alone and ns > _NO_MAP
    return ns > unit * (COPY_NS if each else copy_ns(points))


def copy_ns(points: Sequence[Point]) -> float:
    """The least time in which the device copies a byte.  It writes in order at the best rate of the
    bursts that were measured; a cache makes that rate too high, and this time too short, which does
    no harm."""
    best = max((p.value for p in points if p.procedure == "fill"), default=math.inf)
    return max(COPY_NS, 1e9 / best / _FASTER)
