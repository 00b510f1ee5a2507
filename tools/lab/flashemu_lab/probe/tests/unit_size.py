# SPDX-License-Identifier: BSD-3-Clause
"""The allocation unit, by whatever shows it, and what that is."""

from __future__ import annotations

from typing import Callable, Sequence

from ...measurement.schema import Point
from . import unit_crossings, unit_first_writes, unit_gaps, unit_pairs, unit_pushed_pairs


_Way = tuple[Callable[[Sequence[Point]], int | None], str]

# What tells the unit, the surest first, and why: by small writes inside of units,
_BY_PLACES: tuple[_Way, ...] = (
    (unit_gaps.unit_from, "small writes take longer the further on in it they are"),
    (unit_pairs.unit_from,
     "of two small writes the second is quick if both are in one unit, and only then"),
    (unit_pushed_pairs.unit_from, "two small writes in two units cost a merge more than in one"))
# and by writes at boundaries.
_AT_BOUNDARIES: tuple[_Way, ...] = (
    (unit_first_writes.unit_from,
     "small writes at its multiples always take the same time, and others do not"),
    (unit_crossings.unit_from, "small writes across its multiples take longer, others do not"))


def _first(points: Sequence[Point], ways: Sequence[_Way]) -> tuple[int, str] | None:
    return next(((unit, why) for tell, why in ways if (unit := tell(points))), None)


def by_places(points: Sequence[Point]) -> int | None:
    """The unit that small writes inside of units tell."""
    found = _first(points, _BY_PLACES)
    return found and found[0]


def shown(points: Sequence[Point]) -> int | None:
    """The unit that anything tells."""
    found = _first(points, _BY_PLACES + _AT_BOUNDARIES)
    return found and found[0]


def reason(points: Sequence[Point]) -> str:
    """What shows that unit, in words; empty if nothing does."""
    found = _first(points, _BY_PLACES + _AT_BOUNDARIES)
    return found[1] if found else ""


def logged(points: Sequence[Point]) -> int | None:
    """The largest write that goes to a log, where the unit shows by writes that are larger than all
    scattered ones; None if it shows otherwise."""
    large = [c.bs for c in unit_crossings.across(points)][-1:] == [unit_crossings.PAST_LOGS]
    return unit_crossings.PAST_LOGS // 2 if large and shown(points) else None
