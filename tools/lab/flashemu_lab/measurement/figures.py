# SPDX-License-Identifier: BSD-3-Clause
"""How many figures of a measurement do not follow from each other.

A figure is what one question to the device gave: a procedure, what is done (read or written), in
which order, in commands of which size, how many at a time, with which sync.  Asked again, or at
another place, or over more bytes, it is the same question; and the rate, the time of a command and
the percentiles of one run are one answer:

    dd write bs=4M, 200 MiB      dd write bs=4M, 1 GiB             one figure
    fio write random bs=4K       rate and latency of it            one figure
    fio write random bs=4K       depth 1 and depth 8               two figures
    flashbench -a, a row         pre, on, post, diff               one figure

What was found in sectors (`content`) is no figure, and neither is a rate of which nobody knows
whether it was read or written.
"""

from __future__ import annotations

from typing import Sequence

from .schema import Point

# So many make a profile.
ENOUGH = 8
# The procedures of which one run gives several, by the first of them.
_OF_ONE_RUN = {"fio-latency": "fio-rate", "fio-sync-latency": "fio-rate", "load-latency": "load"}
# Where it was done, over how much, and how it is called.
_NOT_ASKED = frozenset(("offset", "start", "place", "first", "last", "size", "bytes", "file",
                        "unit", "units", "after", "push_start", "job", "program", "on"))

Figure = tuple[object, ...]


def figure(p: Point) -> Figure | None:
    """The question that a point answers, equal for points that follow from each other; None if it
    is no figure."""
    how = dict(p.parameters)
    if p.procedure == "content" or how.get("op") == "unknown":
        return None
    return (_OF_ONE_RUN.get(p.procedure, p.procedure),
            *((key, value) for key, value in how.items() if key not in _NOT_ASKED))


def independent(points: Sequence[Point]) -> int:
    """How many figures there are."""
    return len({figure(p) for p in points} - {None})
