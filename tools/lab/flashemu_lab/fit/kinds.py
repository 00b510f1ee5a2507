# SPDX-License-Identifier: BSD-3-Clause
"""How near a result comes, judged by kind of request: operation, order, size, and how many are in
flight.

    kind                            points   median
    reads in order by 64 KiB           212      2 %      a median over all points is this kind's
    writes in random order by 4 KiB      9     80 %      nobody would call that near

A median over all points says how near the points are of which there are most.  So each kind counts
once, by its own median, and the worst kind is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import Mapping, Sequence

from ..measurement.schema import Point, Scalar
from ..probe.datasheet import bytes_text

# A kind that is off by more than this factor is not near.
FAR = 2.0
_READS = ("seq-read", "hdparm-t", "flashbench-align", "flashbench-scatter")
_IOZONE = {"write": "writes in order", "rewrite": "rewrites in order", "read": "reads in order",
           "reread": "rereads in order", "random-read": "reads in random order",
           "random-write": "writes in random order"}


@dataclass(frozen=True)
class Kind:
    """The points of a kind: how many, the median of their logarithmic errors, and the median of
    these without sign."""

    name: str
    points: int
    middle: float
    off: float


def kind_of(p: Point) -> str:
    """Operation, order, size and requests in flight, in words."""
    how: Mapping[str, Scalar] = dict(p.parameters)
    size = how.get("chunk", how.get("bs"))
    flight = int(how.get("depth", 1)) * int(how.get("jobs", 1))
    return (_order(p.procedure, how) + (f" by {bytes_text(int(size))}" if size else "")
            + (f", {flight} in flight" if flight > 1 else "")
            + ("" if how.get("queue", True) else ", without queue"))


def _order(procedure: str, how: Mapping[str, Scalar]) -> str:
    if procedure == "iozone":
        return _IOZONE.get(str(how["test"]), str(how["test"]))
    op = str(how.get("op", "read" if procedure in _READS else "write"))
    if procedure == "flashbench-align":
        return "reads across multiples"
    if procedure == "request":
        jumps = int(how["count"]) > 1 and how["stride"] not in (0, how["bs"])
        return f"{op}s " + ("apart" if jumps else "in order")
    random = how.get("random") is True or how.get("pattern") == "random"
    return f"{op}s in " + ("random order" if random else "order")


def kinds(points: Sequence[Point], errors: Sequence[float | None]) -> list[Kind]:
    """The kinds of the points that have a logarithmic error, the worst one first."""
    of: dict[str, list[float]] = {}
    for p, error in zip(points, errors):
        if error is not None:
            of.setdefault(kind_of(p), []).append(error)
    found = [Kind(name, len(some), median(some), median([abs(e) for e in some]))
             for name, some in of.items()]
    return sorted(found, key=lambda k: (-k.off, k.name))


def far(kind: Kind) -> bool:
    """Whether a kind is not near."""
    return kind.off > math.log(FAR)


def off_text(kind: Kind) -> str:
    """How far a kind is off, such as "writes in order by 16 MiB: +82 %"."""
    side = math.copysign(kind.off, kind.middle)
    return f"{kind.name}: {100 * math.expm1(side):+.0f} %"
