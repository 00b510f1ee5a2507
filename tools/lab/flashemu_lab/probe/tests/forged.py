# SPDX-License-Identifier: BSD-3-Clause
"""How much a device really holds.

A forged stick claims more than it has.  What lies beyond its real capacity R is lost, or it is
written where the address modulo R is.  Both are found with few writes, because what is written
carries its address:

    0               W               2 W                            R                     claimed
    |m m m m m m m m m               x               x             |  x               x
     marks, G apart                  pieces of G bytes, W apart       |
        ^                            (the last one first)             |
        '--------------- comes here, where a mark is overwritten -----'

The piece that follows R is W bytes away from it at most, so it covers one of the marks.  What is
found there says for which address it was written, and the difference is R, exactly.  Where nothing
comes back at all, R is between two pieces, and some more tests narrow that down.

A device whose real capacity is below W, which is the square root of the claimed one times 512
(the square root of 256 KiB), may be told a multiple of it.  A device that answers from a cache as
large as all of these writes deceives this test.
"""

from __future__ import annotations

import math
from typing import Sequence

from ...measurement.schema import Point
from .structure import Draft, Test

_KIB = 1 << 10
_MARK = 4 * _KIB
_PIECE = 256 * _KIB
_FEWER = 64     # steps of each test that narrows down
_SECTOR = 512


def first_test(capacity: int) -> Test:
    """Marks at the start, and pieces over all of the device."""
    window = max(math.isqrt(capacity // _PIECE), 1) * _PIECE
    pieces = (capacity - _PIECE) // window - 1
    draft = Draft(capacity)
    draft.add("write", _MARK, 0, _PIECE, window // _PIECE + 1)
    draft.add("write", _PIECE, capacity - _PIECE, 0, 1)
    # downwards: a stride that is `window` less than the capacity
    draft.add("write", _PIECE, (pieces + 1) * window, capacity - window, pieces)
    draft.add("read", _SECTOR, 2 * window, window, pieces, look=True)
    draft.add("read", _SECTOR, capacity - _SECTOR, 0, 1, look=True)
    draft.add("read", _SECTOR, 0, _PIECE, window // _PIECE + 1, look=True)
    return draft.test("real capacity", merges=pieces + 1)


def narrower(low: int, high: int, capacity: int) -> Test:
    """What lies at `low` comes back, what lies at `high` does not: looks between them."""
    step = max((high - low) // _FEWER // _SECTOR, 1) * _SECTOR
    count = (high - low - 1) // step
    draft = Draft(capacity)
    draft.add("write", _SECTOR, low + step, step, count)
    draft.add("read", _SECTOR, low + step, step, count, look=True)
    return draft.test(f"real capacity, within {(high - low + _KIB - 1) // _KIB} KiB", merges=count)


def bounds(points: Sequence[Point]) -> tuple[int, int] | None:
    """The last offset that came back and the first one behind it that did not; None if everything
    came back."""
    good, lost = [0], list[int]()
    for p in points:
        how = dict(p.parameters)
        if p.procedure == "content" and how["after"] == "write":
            (good if how["found"] == "same" else lost).append(int(how["first"]))
            if how["found"] == "same":
                good.append(int(how["last"]))
    if not lost:
        return None
    first = min(lost)
    return max((g for g in good if g < first), default=0), first


def real_from(points: Sequence[Point]) -> int | None:
    """The real capacity in bytes, if it is known to the sector; None if everything came back, or
    not known yet."""
    distances = [int(dict(p.parameters)["distance"]) for p in points
                 if p.procedure == "content" and dict(p.parameters)["after"] == "write"
                 and "distance" in dict(p.parameters)]
    if distances:
        return min(distances)
    between = bounds(points)
    return between[1] if between and between[1] - between[0] <= _SECTOR else None


def wraps(points: Sequence[Point]) -> bool:
    """Whether what is written behind the real capacity overwrites something else."""
    return any("distance" in dict(p.parameters) for p in points if p.procedure == "content")


def tried(points: Sequence[Point]) -> bool:
    """Whether anything is known about the capacity."""
    return any(p.procedure == "content" and dict(p.parameters)["after"] == "write"
               for p in points)


