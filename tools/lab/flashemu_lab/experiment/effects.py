# SPDX-License-Identifier: BSD-3-Clause
"""Which factor matters how much: the analysis of a full factorial.

The value of a run is the sum of one term for each set of factors:

    y(a, b) = mean + A(a) + B(b) + AB(a, b)

A(a) is how far the mean of all runs with level a is from the mean of all runs: the main effect of
A.  AB(a, b) is what the means of the cells have besides both main effects: the interaction.  The
terms are orthogonal, so their sums of squares add up to the total, and each set has its share of
the variation.  Every combination is run once and the program is deterministic, so there is no
noise: the interaction of all factors is no error term.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Callable, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Effect:
    """The term of one set of factors.

    factors  their indices, ascending
    values   the term for each combination of their levels; as many dimensions as factors, in the
             unit of the values
    share    of the total sum of squares, 0 to 1; the shares of all effects add up to 1
    """

    factors: tuple[int, ...]
    values: Array
    share: float


def analyse(values: Sequence[float], sizes: Sequence[int]) -> list[Effect]:
    """The effects of a full factorial, largest share first.

    values  one for each combination; the last factor changes fastest
    sizes   how many levels each factor has; their product is the length of `values`

    All sets of factors that have at least two levels are there; none if nothing varies.
    """
    y: Array = np.asarray(values, dtype=np.float64).reshape(tuple(sizes))
    total = float(((y - y.mean()) ** 2).sum())
    # Below this, differences are rounding errors of the mean.
    if total <= 1e-24 * float((y**2).sum()):
        return []
    varied = [i for i, size in enumerate(sizes) if size > 1]
    terms: dict[tuple[int, ...], Array] = {(): y.mean(keepdims=True)}
    found = []
    for count in range(1, len(varied) + 1):
        for chosen in itertools.combinations(varied, count):
            others = tuple(i for i in range(y.ndim) if i not in chosen)
            term: Array = y.mean(axis=others, keepdims=True)
            for smaller, known in terms.items():
                if set(smaller) < set(chosen):
                    term = term - known
            terms[chosen] = term
            share = float((term**2).sum()) * (y.size / term.size) / total
            found.append(Effect(chosen, term.reshape([sizes[i] for i in chosen]), share))
    return sorted(found, key=lambda e: -e.share)


def contributions(value: Callable[[frozenset[int]], float], steps: int) -> list[float]:
    """How much each of several steps adds on the way from no step to all of them.

    value  of the state after a set of the steps 0 to steps - 1
    steps  how many there are

    What a step adds depends on the steps before it, so this is the mean over all orders (the
    Shapley value).  The numbers add up to value(all) - value(none).
    """
    found = [0.0] * steps
    for step in range(steps):
        others = [i for i in range(steps) if i != step]
        for count in range(steps):
            weight = 1 / (steps * math.comb(steps - 1, count))
            for before in itertools.combinations(others, count):
                state = frozenset(before)
                found[step] += weight * (value(state | {step}) - value(state))
    return found
