# SPDX-License-Identifier: BSD-3-Clause
"""The order of all tests of `probe`, and what is known after each of them.

    reading only        the link, flashbench -a, reads in order, reads in flight
    then                the real capacity, because a forged stick answers the other tests for
                        somewhere else
    the write cache     because it hides the structure; with flush after flush a unit can be seen
    structure           the unit, the page, open units
    habits              from those that change the device least to TRIM of everything

Every conclusion is drawn again from all points after each test.  So a run that was interrupted
continues where it was: it has the points of its file, and leaves out the tests that made them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Iterator

from . import forged, habits, probing
from .measurement import Point
from .probing import Test
from .tool import Tool

_MIB = 1 << 20
_READS = 16 * _MIB


@dataclass
class Found:
    """What is known so far.  None: not known, or there is none."""

    points: list[Point] = field(default_factory=list)
    real: int | None = None
    unit: int | None = None
    page: int | None = None
    open_linear: int | None = None
    open_random: int | None = None
    granule: int | None = None
    small_write: int | None = None
    flushes: bool = False
    cache: int | None = None
    slc: int | None = None


@dataclass(frozen=True)
class Wishes:
    """What a run may do.

    capacity   that the device claims, in bytes
    read_only  nothing is written
    trims      the device has TRIM
    in_flight  more than one request at a time means something
    """

    capacity: int
    read_only: bool = False
    trims: bool = False
    in_flight: bool = True


def judge(found: Found) -> None:
    """Draws the conclusions from all points that there are.  A write cache hides what is behind it:
    small writes cost the same wherever they are."""
    points = found.points
    cache, slc = habits.cache_from(points), habits.slc_from(points)
    found.flushes = habits.flush_matters(points)
    found.cache = cache[0] if cache else None
    found.slc = slc[0] if slc else None
    found.real = forged.real_from(points)
    seen = cache is None
    found.unit = probing.unit_from(points) if seen or found.flushes else None
    found.page = probing.page_from(points) if seen else None
    found.open_linear = probing.limit_from(points, False) if seen else None
    found.open_random = probing.limit_from(points, True) if seen else None
    found.granule = habits.granule_from(points) if seen else None
    found.small_write = habits.small_write_from(points) if seen else None


def tests(tool: Tool, wishes: Wishes, found: Found, judged: Callable[[], None]) -> Iterator[Test]:
    """The tests one by one.  Between two of them the caller adds the points of the last one to
    `found`; `judged` draws the conclusions then."""
    capacity = wishes.capacity
    yield probing.link(capacity)
    judged()
    yield probing.align(tool, capacity)
    if wishes.read_only:
        yield habits.reads(0, min(_READS, capacity))
        yield from _in_flight(("read",), wishes, capacity, _MIB)
        return
    yield from _real_capacity(capacity, found, judged)
    # of a forged stick only what is there is measured
    capacity = min(capacity, (found.real or capacity) // _MIB * _MIB or capacity)
    yield from _structure(tool, capacity, found, judged)
    yield from _habits(tool, capacity, wishes, found, judged)


def _real_capacity(capacity: int, found: Found, judged: Callable[[], None]) -> Iterator[Test]:
    yield forged.first_test(capacity)
    judged()
    while found.real is None and (between := forged.bounds(found.points)):
        yield forged.narrower(*between, capacity)
        judged()
        if forged.bounds(found.points) == between:      # the test was left out
            break


def _structure(tool: Tool, capacity: int, found: Found, judged: Callable[[], None]) -> Iterator[
        Test]:
    yield habits.burst(capacity, False)
    yield habits.burst(capacity, True)
    yield habits.flushes(capacity)
    judged()
    for unit in probing.candidates(capacity):
        yield probing.crossing(unit, capacity, found.flushes)
    judged()
    yield probing.page(unit_of(found, capacity), capacity)
    judged()
    for in_random_order in (False, True):
        for units in range(1, probing.MOST_OPEN + 1):
            unit = unit_of(found, capacity)
            yield probing.open_units(tool, unit, units, in_random_order, capacity)
            judged()
            if None not in probing.limits(found.points, in_random_order):
                break


def unit_of(found: Found, capacity: int) -> int:
    """The unit for tests that need one, whose 64th part consists of whole sectors."""
    unit = found.unit or 4 * _MIB
    while unit < 96 << 10:
        unit *= 2
    while unit * 16 > capacity:
        unit //= 2
    return unit


def _in_flight(ops: tuple[str, ...], wishes: Wishes, capacity: int, unit: int) -> Iterator[Test]:
    for op in ops if wishes.in_flight else ():
        for n in habits.DEPTHS:
            yield habits.depth(op, n, capacity, unit)


def _habits(tool: Tool, capacity: int, wishes: Wishes, found: Found,
            judged: Callable[[], None]) -> Iterator[Test]:
    unit = unit_of(found, capacity)
    yield habits.scattered(unit, capacity)
    yield habits.find_fat(tool, unit, capacity)
    yield from _in_flight(("read", "write"), wishes, capacity, unit)
    yield habits.rest(capacity)
    for n in range(len(habits.fill_ends(capacity))):
        yield habits.fill(capacity, n)
        judged()
        if habits.slowed(found.points):
            break
    for idle in habits.RESTS if found.slc else ():
        yield habits.refill(capacity, found.slc or 0, idle)
    yield habits.reads(0, min(_READS, capacity // 2))
    if wishes.trims:
        yield habits.trim(capacity)
    judged()
