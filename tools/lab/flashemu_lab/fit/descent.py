# SPDX-License-Identifier: BSD-3-Clause
"""Bounded robust least squares where each set of numbers takes a comparison.

Slopes cost one comparison for each number.  They hardly change along a few steps, or from one
descent to the next that begins near, so a descent begins with those of the one before, and every
step corrects them by what it has shown (Broyden), also a step that led nowhere.

A residual counts less the larger it is.  Each step takes the residuals with the weights that they
have here, and least squares with these (Levenberg, Marquardt): a step that the slopes describe
rightly never goes up.  A number that would leave its bounds stays there, and the others make up for
it.

`spreads` says how far numbers may be off that a descent has found.  Residuals that were fitted are
smaller than errors, the more so the more numbers there are for them, and large ones count for less
than they are; both is made up for (Huber).

Sums are exact (`math.fsum`) and equations are solved here, so a descent is the same on every
processor, whatever its linear algebra is.  Arrays that are handed in stay as they are.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Mapping, Sequence

import numpy as np

# An array of residuals at a place, and their slopes there: shape (residuals, numbers).
At = Callable[[Any], Any]
Slopes = Callable[[Any, Any], Any]

# What a residual r counts, its weight beside the others, and the slope of weight * r with r: all of
# z = (r / scale)^2.
_Loss = tuple[Callable[[float], float], At, At]
_LOSSES: Mapping[str, _Loss] = {
    "soft_l1": (lambda z: 2 * math.sqrt(1 + z) - 2, lambda z: 1 / np.sqrt(1 + z),
                lambda z: 1 / (np.sqrt(1 + z) * (1 + z))),
    "cauchy": (math.log1p, lambda z: 1 / (1 + z), lambda z: (1 - z) / (1 + z)**2)}
# How much a step is held back: at first, at least, by what share less behind a step down, and how
# many times as much behind one that led nowhere.
_DAMPING, _LEAST, _FREER, _SHORTER = 1e-3, 1e-7, 0.1, 16.0
# Of the largest curvature: what a number that hardly matters is held back by as well.
_FLOOR = 1e-2
# Of the mean slope of what counts: where it is less, too many residuals are far beyond the scale.
_LEAST_SLOPE = 0.1
# What keeps a number that nothing depends on from an endless spread.
_RIDGE = 1e-9
# A step that takes less of the cost is the last one, and one that is a smaller share of the place
# is not tried.
_SETTLED, _STILL = 1e-3, 1e-4


def product(a: Any, b: Any) -> float:
    """The sum of the products of two arrays, rounded once."""
    return math.fsum((a * b).tolist())


def normal(slopes: Any, weights: Any) -> list[list[float]]:
    """The weighted products of all columns with each other."""
    columns = [slopes[:, k] for k in range(slopes.shape[1])]
    lower = [[product(a * weights, b) for b in columns[:i + 1]] for i, a in enumerate(columns)]
    return [[lower[max(i, j)][min(i, j)] for j in range(len(columns))]
            for i in range(len(columns))]


def solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """x of matrix x = right; the matrix is symmetric and positive definite."""
    rows = [[*row, r] for row, r in zip(matrix, right)]
    for k, pivot in enumerate(rows):
        for row in rows[k + 1:]:
            share = row[k] / pivot[k]
            for j in range(k, len(row)):
                row[j] -= share * pivot[j]
    x = [0.0] * len(rows)
    for k in reversed(range(len(rows))):
        known = math.fsum(rows[k][j] * x[j] for j in range(k + 1, len(rows)))
        x[k] = (rows[k][-1] - known) / rows[k][k]
    return x


class Descent:
    """Descents that follow each other.  `slopes` are the last ones; None makes the next descent
    compute them anew."""

    def __init__(self) -> None:
        self.slopes: Any = None

    def run(self, at: At, slopes_at: Slopes, begin: Any, bounds: tuple[Any, Any], loss: str,
            scale: float, steps: int) -> None:
        """Goes down from `begin`, to at most `steps` places, between the lower and the upper
        `bounds`; whoever gives `at` sees each place.  `loss` is "soft_l1", or "cauchy", by which
        residuals far beyond `scale` hardly count.  An error of `at` or `slopes_at` ends the descent
        and is passed on; the slopes are kept."""
        value, weight, _ = _LOSSES[loss]
        x, damping = np.clip(np.array(begin, dtype=float), *bounds), _DAMPING
        here = np.array(at(x), dtype=float)
        if self.slopes is None or self.slopes.shape != (len(here), len(x)):
            self.slopes = np.array(slopes_at(x, here), dtype=float)
        cost = math.fsum(value(float(r)) for r in (here / scale)**2)
        for _ in range(steps - 1):
            step = _step(x, here, self.slopes, weight((here / scale)**2), damping, bounds)
            length = product(step, step)
            if length <= (_STILL * (_STILL + math.sqrt(product(x, x))))**2:
                break
            beyond = np.clip(x + step, *bounds)  # a sum is rounded
            there = np.array(at(beyond), dtype=float)
            expected = np.array([product(row, step) for row in self.slopes])
            self.slopes = self.slopes + np.outer(there - here - expected, step) / length
            now = math.fsum(value(float(r)) for r in (there / scale)**2)
            if now >= cost:
                damping *= _SHORTER
                continue
            settled = cost - now <= _SETTLED * cost
            x, here, cost, damping = beyond, there, now, max(damping * _FREER, _LEAST)
            if settled:
                break


def _step(x: Any, here: Any, slopes: Any, weights: Any, damping: float,
          bounds: tuple[Any, Any]) -> Any:
    """The step of damped least squares that stays between the bounds."""
    low, high = (np.broadcast_to(np.asarray(bound, dtype=float), x.shape) for bound in bounds)
    curved = normal(slopes, weights)
    down = [-product(slopes[:, k], weights * here) for k in range(len(x))]
    floor = _FLOOR * max(curved[k][k] for k in range(len(x)))
    step = np.zeros(len(x))
    free = [k for k in range(len(x)) if curved[k][k] > 0 and
            (down[k] > 0 and x[k] < high[k] or down[k] < 0 and x[k] > low[k])]
    while free:
        held = [k for k in range(len(x)) if step[k] != 0 and k not in free]
        found = solved([[curved[i][j] + (i == j) * damping * (curved[i][i] + floor) for j in free]
                        for i in free],
                       [down[i] - math.fsum(curved[i][j] * step[j] for j in held) for i in free])
        for k, s in zip(free, found):
            step[k] = min(max(s, low[k] - x[k]), high[k] - x[k])
        inside = [k for k, s in zip(free, found) if step[k] == s]
        if inside == free:
            break
        free = inside
    return step


def spreads(slopes: Any, residuals: Any, loss: str, scale: float,
            weights: Any = None) -> list[float] | None:
    """By how much each number that a descent has found may be off, in 95 % of cases.  The residuals
    are errors of one size times the square root of their `weights`.  None if there are no more
    residuals than numbers, or if most are far beyond `scale`."""
    count, numbers = slopes.shape
    if weights is None:
        weights = np.ones(count)
    _, weight, slope = _LOSSES[loss]
    z = (residuals / scale)**2
    bent = slope(z).tolist()
    mean = math.fsum(bent) / count
    if count <= numbers or mean < _LEAST_SLOPE:
        return None
    varied = math.fsum((b - mean)**2 for b in bent) / count
    counts = product((weight(z) * residuals)**2, 1 / weights) / (count - numbers)
    sigma = (1 + numbers / count * varied / mean**2) * math.sqrt(counts) / mean
    curved, errors = normal(slopes, np.ones(count)), normal(slopes, weights)
    for k in range(numbers):
        curved[k][k] += _RIDGE
    found = []
    for k in range(numbers):
        column = solved(curved, [float(i == k) for i in range(numbers)])
        spread = math.fsum(a * b * errors[i][j] for i, a in enumerate(column)
                           for j, b in enumerate(column))
        found.append(_student(count - numbers) * sigma * math.sqrt(max(spread, 0.0)))
    return found


def _student(freedom: int) -> float:
    """95 % of Student's distribution are not beyond it on either side; for 3 and more within 1 %,
    and for fewer too small (Cornish and Fisher)."""
    z = 1.959964
    return (z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3))
