# SPDX-License-Identifier: BSD-3-Clause
"""What each factor adds on the way from one combination of levels to another.

The steps of the way can be taken in any order, and what a step adds depends on those before it.  So
its part is the mean over all orders.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from .effects import contributions
from .spec import Factor
from .table import Table


# Steps that make so much of a change make it.
NEARLY_ALL = 0.9


@dataclass(frozen=True)
class Step:
    """A factor that changes.

    share        its part of the whole change, a fraction of 1
    alone        the measure's value if only this factor changes
    alone_share  how much of the whole change that is, a fraction of 1
    """

    factor: Factor
    share: float
    alone: float
    alone_share: float


@dataclass(frozen=True)
class Way:
    """Values of the measure at the beginning and the end, the levels there by factor, and the steps
    with the largest share first.

    enough    the fewest steps that together make nearly the whole change, in the order of the file
    together  the measure's value after just these
    """

    first: float
    last: float
    before: dict[str, str]
    after: dict[str, str]
    steps: tuple[Step, ...]
    enough: tuple[Step, ...]
    together: float


def way(table: Table, words: dict[str, str]) -> Way | None:
    """What [[conclusion]] with say = "between" asks for; None if a value is missing or if nothing
    changes.

    words  measure, before and after
    """
    e = table.experiment
    measure = e.measure(words["measure"])
    before, after = (dict(w.strip().split("=", 1) for w in words[key].split(","))
                     for key in ("before", "after"))
    steps = [f for f in e.factors if before.get(f.name) != after.get(f.name)]
    values: dict[frozenset[int], float] = {}
    for count in range(len(steps) + 1):
        for taken in itertools.combinations(range(len(steps)), count):
            moved = {steps[i].name: after[steps[i].name] for i in taken}
            found = table.select(measure.name, {**before, **moved})
            if len(found) != 1 or (measure.log and found[0][1] <= 0):
                return None
            values[frozenset(taken)] = found[0][1]
    everything = frozenset(range(len(steps)))
    first, last = values[frozenset()], values[everything]
    if first == last:
        return None

    def counted(done: frozenset[int]) -> float:
        return math.log(values[done]) if measure.log else values[done]

    total = counted(everything) - counted(frozenset())

    def part(done: frozenset[int]) -> float:
        return (counted(done) - counted(frozenset())) / total

    parts = [Step(f, share / total, values[frozenset({i})], part(frozenset({i})))
             for i, (share, f) in enumerate(zip(contributions(counted, len(steps)), steps))]
    done = min((d for d in values if part(d) >= NEARLY_ALL),
               key=lambda d: (len(d), -part(d), sorted(d)))
    return Way(first, last, before, after, tuple(sorted(parts, key=lambda s: -s.share)),
               tuple(parts[i] for i in sorted(done)), values[done])
