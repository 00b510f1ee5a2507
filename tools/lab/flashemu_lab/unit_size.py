# SPDX-License-Identifier: BSD-3-Clause
"""The allocation unit, by whatever shows it."""

from __future__ import annotations

from typing import Sequence

from . import firsts, gaps, pairs, probing, pushed_pairs
from .measurement import Point


def by_places(points: Sequence[Point]) -> int | None:
    """The unit that small writes inside of units tell."""
    return gaps.unit_from(points) or pairs.unit_from(points) or pushed_pairs.unit_from(points)


def shown(points: Sequence[Point]) -> int | None:
    """The unit that these tell, or else writes across boundaries."""
    return by_places(points) or firsts.unit_from(points) or probing.unit_from(points)
