# SPDX-License-Identifier: BSD-3-Clause
"""How much a device really holds.

A forged stick claims more than it has.  What lies beyond its real capacity R is lost (limbo), or
its addresses come round at the module M: that is R (wraparound), or a power of two above R, and
what is between R and M is lost (chain).  All are found with few writes, because what is written
carries its address:

    0               W               2 W                            M                     claimed
    |m m m m m m m m m               x               x             |  x               x
     marks, G apart                  pieces of G bytes, W apart       |
        ^                            (the last one first)             |
        '--------------- comes here, where a mark is overwritten -----'

The piece that follows M is W bytes away from it at most, so it covers one of the marks.  What is
found there says for which address it was written, and the difference is M, exactly.  If M is no
power of two, it is also R.  Else R is between the last piece in front of M that came back and the
first one that did not, and some more tests narrow that down.

A device whose module is below W, which is the square root of the claimed capacity times 512 (the
square root of 256 KiB), may be told a multiple of it.  A device that answers from a cache is told
more than it has, and that it is real if the cache takes all of these writes.
"""

from __future__ import annotations

import math
from typing import Sequence

from ...measurement.schema import Point, Scalar, each
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


def _looks(points: Sequence[Point]) -> list[dict[str, Scalar]]:
    """What was found where something had been written."""
    return [how for how, _ in each(points, "content", after="write")]


def module(points: Sequence[Point]) -> int | None:
    """The bytes after which addresses come round; None: they do not, as far as is known."""
    return min((int(how["distance"]) for how in _looks(points) if "distance" in how), default=None)


def bounds(points: Sequence[Point]) -> tuple[int, int] | None:
    """The last offset that came back, or that something behind M has overwritten, and the first one
    behind it that did not, or where addresses come round; None if everything came back."""
    end = module(points)
    good, lost = [0], [] if end is None else [end]
    for how in _looks(points):
        if how["found"] == "same" or "distance" in how:
            good += [int(how["first"]), int(how["last"])]
        else:
            lost.append(int(how["first"]))
    if not lost:
        return None
    first = min(lost)
    return max((g for g in good if g < first), default=0), first


def real_from(points: Sequence[Point]) -> int | None:
    """The real capacity in bytes, if it is known to the sector; None if everything came back, or
    not known yet."""
    end = module(points)
    if end is not None and end & (end - 1):     # no address line: it is the capacity
        return end
    between = bounds(points)
    return between[1] if between and between[1] - between[0] <= _SECTOR else None


def kind(points: Sequence[Point]) -> str | None:
    """What f3 calls a stick whose real capacity is known: "limbo", "wraparound" or "chain"."""
    real, end = real_from(points), module(points)
    if real is None:
        return None
    return "limbo" if end is None else "wraparound" if end == real else "chain"


def tried(points: Sequence[Point]) -> bool:
    """Whether anything is known about the capacity."""
    return bool(_looks(points))


