# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of writes (`unit_pairs`) behind a write cache that no flush empties: the unit by sums.

There a write costs what the cache gives to the flash for it, so no pair has a time of its own.  All
pairs of a test are pushed out together, and how many merges they cost counts:

    pairs in one unit each      a merge for each pair
    pairs in two units each     two merges for each pair

Where many units are open, or windows are next to each other, some units are open already, so how
many are open is a second unknown.

A write across a boundary would tell the same, but it begins a unit at its first page, and while a
device may open more units in order, that closes none.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Sequence

from ...measurement.schema import Point
from . import merge_cost, unit_pairs
from .unit_pairs import Pair

_COUNT = 32         # pairs of a test of large windows
_LEAST_COUNT = 8
_LARGER = (64 << 20, 128 << 20)     # windows
_EXPLAINS = 0.9     # the share of the squares that a unit has to explain
# A pair in one unit costs a merge as well; this share of them counts, because units may be open.
_OF_MERGES = 0.8
_OF_PUSH = 4.0      # and a push may cost so many times what is expected, behind a slow link
# Merges for each pair of a test that shows the units, and of one that is inside of them.
_MANY, _FEW = 1.25, 1.1
_MOST = (1, 2, 4, 6, 8, 12, 16, 24, 32, 40, 48, 56, 64)     # units that may be open
_DOUBT = 6.0        # a unit is possible if it explains the sums by so many squares of merges less


@dataclass(frozen=True)
class Sum:
    """The pairs of a test in windows of `size`, and what they took together with a push of so many
    bytes."""

    size: int
    pairs: tuple[Pair, ...]
    ns: float
    push: int


def sums(points: Sequence[Point]) -> list[Sum]:
    """The tests that were measured."""
    found = []
    some: list[Pair] = []
    for p in points:
        how = dict(p.parameters)
        pair = unit_pairs.pair_from(p, 2 * p.value)
        if not pair or "median" in how or "flush" in how:
            some = []
            continue
        some = [*(some if some and some[-1].size == pair.size else []), pair]
        if "push" in how:
            if len(some) >= _LEAST_COUNT:
                found.append(Sum(pair.size, tuple(some), sum(one.ns for one in some),
                                 int(how["push"])))
            some = []
    return found


def _opens(measured: Sequence[Sum], unit: int, most: int) -> list[int]:
    """How many units of this size each test opens if so many are open at the same time and the one
    that was used longest ago is closed."""
    opened: OrderedDict[int, None] = OrderedDict()
    found = []
    for s in measured:
        count = 0
        for at in (at for p in s.pairs for at in (p.first, p.second)):
            count += at // unit not in opened
            opened[at // unit] = None
            opened.move_to_end(at // unit)
            if len(opened) > most:
                opened.popitem(last=False)
        found.append(count)
    return found


def _against(measured: Sequence[Sum], unit: int, most: int) -> float | None:
    """What this unit leaves unexplained, in squares of merges; None if it explains too little, or
    if that would be no merges."""
    opens = _opens(measured, unit, most)
    mean, mean_ns = fmean(opens), fmean(s.ns for s in measured)
    squares = sum((n - mean)**2 for n in opens)
    every = sum((s.ns - mean_ns)**2 for s in measured)
    if not squares or not every:
        return None
    merge = sum((n - mean) * (s.ns - mean_ns) for n, s in zip(opens, measured)) / squares
    errors = every - merge**2 * squares
    many = sum(n >= _MANY * len(s.pairs) for n, s in zip(opens, measured))
    few = sum(n <= _FEW * len(s.pairs) for n, s in zip(opens, measured)
              if not any(pair.parted(unit) for pair in s.pairs))
    # what is left is the push, which costs about what a merge of as many bytes does
    left, push = mean_ns - merge * mean, merge * max(s.push for s in measured) / unit
    if min(many, few) < 2 or errors > (1 - _EXPLAINS) * every or \
            merge < unit * merge_cost.COPY_NS or mean_ns < _OF_MERGES * merge * mean or \
            left > max(merge * mean, _OF_PUSH * push):
        return None
    return errors / merge**2


@lru_cache(maxsize=4)
def _ranked(measured: tuple[Sum, ...], sizes: tuple[int, ...]) -> list[tuple[float, int]]:
    """(what it leaves unexplained, unit) for each unit that may be, the best one first."""
    ranked = []
    for unit in sizes:
        each = [_against(measured, unit, most) for most in _MOST]
        known = [against for against in each if against is not None]
        if known:
            ranked.append((min(known), unit))
    return sorted(ranked)


def next_sizes(points: Sequence[Point], capacity: int, from_ends: int) -> list[int]:
    """Windows to try next; empty if nothing more can be found out.  First powers of two, and larger
    ones than a unit is, because two of them have to show it; then what explains the sums best."""
    measured = tuple(sums(points))
    tried = {s.size for s in measured}
    sizes = [size for size in unit_pairs.unit_sizes(capacity) if size >= 4 * from_ends
             and size * _LEAST_COUNT <= capacity]
    if not tried:
        return [size for size in [*sizes, *(size for size in _LARGER
                                            if size * _COUNT <= capacity)]
                if size & (size - 1) == 0]
    ranked = _ranked(measured, tuple(sizes))
    return unit_pairs.possible(ranked, _DOUBT, tried)


def unit_from(points: Sequence[Point]) -> int | None:
    """The allocation unit: of the sizes that were tried, the one that explains the sums best; None
    if the pairs do not tell it."""
    measured = tuple(sums(points))
    return unit_pairs.surest(_ranked(measured, tuple(sorted({s.size for s in measured}))))
