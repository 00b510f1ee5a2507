# SPDX-License-Identifier: BSD-3-Clause
"""The order of all tests of `probe`, and what is known after each of them.

    reading only        the link, flashbench -a, reads in order, reads in flight
    then                the real capacity, because a forged stick answers the other tests for
                        somewhere else
    the write cache     because it hides the structure; with a flush behind each write, or with
                        more data that push it out, the structure is seen through it
    structure           the page, the unit, open units
    habits              from those that change the device least to TRIM of everything

Every conclusion is drawn again from all points after each test.  So a run that was interrupted
continues where it was: it has the points of its file, and leaves out the tests that made them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Callable, Iterator

from ..measurement.schema import Point
from ..runs.program import Tool
from .tests import (behaviour, flashbench_open_units, forged, open_units, structure, unit_crossings,
                    unit_pairs, unit_pushed_pairs, unit_size)
from .tests.structure import OUTRIGHT, Seen, Test

_KIB, _MIB = 1 << 10, 1 << 20
_READS = 16 * _MIB
_LARGEST_CACHE = 8 * _MIB   # that the tests of the structure push out
_NOT_SMALL = 64 * _KIB      # at most
_SMALL = 8 * _KIB           # bytes of the writes that cross multiples


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
    seen: Seen = OUTRIGHT


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
    cache, slc = behaviour.cache_from(points), behaviour.slc_from(points)
    found.flushes = behaviour.flush_matters(points)
    found.cache = cache[0] if cache else None
    found.slc = slc[0] if slc else None
    found.real = forged.real_from(points)
    found.seen = _seen(found)
    shows = cache is None or found.seen != OUTRIGHT
    found.unit = unit_size.shown(points) if shows else None
    found.page = structure.page_read_from(points) or (
        structure.page_from(points) if cache is None else None)
    found.granule = behaviour.granule_from(points) or behaviour.wide_granule_from(points) \
        if shows else None
    found.small_write = behaviour.small_write_from(points) or unit_size.logged(points) or \
        behaviour.small_write_behind(
            points, open_units.merge_from(points) or math.inf) if shows else None
    found.open_linear = _limit(points, False, cache is None)
    found.open_random = _limit(points, True, cache is None)


def _seen(found: Found) -> Seen:
    """How writes are seen.  A cache is as large as it seemed, or some more.  What takes its time
    behind the answer would count for the next write, if no flush followed."""
    if found.flushes or found.cache is None and behaviour.writes_behind(found.points):
        return Seen(flush=True)
    if found.cache is None or found.cache > _LARGEST_CACHE:
        return OUTRIGHT
    return Seen(push=-(-found.cache * 3 // 2 // structure.PUSH) * structure.PUSH + structure.PUSH)


def _limit(points: list[Point], in_random_order: bool, cacheless: bool) -> int | None:
    """How many units are open, by the passes, or else by flashbench -O."""
    found = open_units.limit_from(points, in_random_order)
    if found is not None or not cacheless or open_units.rows(points, in_random_order):
        return found
    return flashbench_open_units.limit_from(points, in_random_order)


def tests(tool: Tool, wishes: Wishes, found: Found, judged: Callable[[], None]) -> Iterator[Test]:
    """The tests one by one.  Between two of them the caller adds the points of the last one to
    `found`; `judged` draws the conclusions then."""
    capacity = wishes.capacity
    yield structure.link(capacity)
    judged()
    yield structure.align(tool, capacity)
    if wishes.read_only:
        yield behaviour.reads(0, min(_READS, capacity))
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
    yield behaviour.burst(capacity, False)
    yield behaviour.burst(capacity, True)
    yield behaviour.flushes(capacity)
    judged()
    yield structure.page_reads(capacity)
    judged()
    yield unit_crossings.opening(capacity, found.seen)
    yield behaviour.scattered(4 * _MIB, capacity, found.seen)
    judged()
    if found.cache is None or found.seen != OUTRIGHT:
        yield from _pairs(capacity, found, judged)
    for n, bs in enumerate(_across(found)):
        if n == 0 or found.unit is None:
            yield from _units(bs, n == 0, capacity, found, judged)
    if found.unit is None and found.granule is None:
        yield behaviour.scattered_wide(capacity, found.seen)
    yield structure.page(unit_of(found, capacity), capacity)
    judged()
    for in_random_order in (True, False):
        # pieces of a unit that a log takes tell nothing
        if found.unit and not unit_size.logged(found.points):
            yield from _passes(in_random_order, found.unit, capacity, found, judged)
        else:   # how many places in turn are quick
            for units in (1, 2, 4, 8):
                yield flashbench_open_units.open_units(tool, unit_of(found, capacity), units,
                                                       in_random_order, capacity)
            judged()
    if found.unit and found.seen.push and found.cache:
        yield behaviour.scattered_behind(found.unit, found.cache, capacity)
        judged()


def _pairs(capacity: int, found: Found, judged: Callable[[], None]) -> Iterator[Test]:
    """The unit by pairs of writes."""
    bs = small(found)
    from_ends = unit_pairs.edge(bs, found.page)
    how = unit_pushed_pairs if found.seen.push else unit_pairs
    tried: set[int] = set()
    while some := [n for n in how.next_sizes(found.points, capacity, from_ends)
                   if n not in tried]:
        tried.update(some)
        for size in some:
            yield unit_pairs.test(size, capacity, bs, from_ends, found.seen)
        judged()


def small(found: Found) -> int:
    """Bytes of a small write that no log for small writes takes.  Behind a cache that log is not
    known yet, and it would also take what a small write pushes out."""
    known = found.small_write or (_NOT_SMALL // 4 if found.seen.push else 0)
    return min(max(_SMALL, 2 * known), _NOT_SMALL)


def _across(found: Found) -> list[int]:
    """Bytes of writes across boundaries, to be tried until the unit shows.  What seemed to be a
    log for small writes may be one for all writes; and behind a cache, the merges of such a log are
    less by accident if more of them come together.  A page that is gathered is written when the
    flush comes, so a short write that touches two pages may merge twice, wherever it is; one of
    four pages merges twice within a unit, and three times across.  At last come writes that are
    larger than all scattered ones, which a log may have taken."""
    if found.seen.push:     # pages that are written in part would show as well
        return sorted({min(max(small(found), 2 * (found.page or 0)), _NOT_SMALL), _NOT_SMALL})
    long = [4 * (found.page or 16 * _KIB)] if found.seen.flush else []
    return [*sorted({small(found), _SMALL}, reverse=True), *long, unit_crossings.PAST_LOGS]


def _units(bs: int, opens: bool, capacity: int, found: Found,
           judged: Callable[[], None]) -> Iterator[Test]:
    """The unit by writes of `bs` bytes across boundaries.  With `opens`, units are opened before
    odd sizes are tried."""
    had: set[tuple[object, object]] = set()
    known = unit_size.by_places(found.points)
    # the large ones first: small ones write inside of open units, which may end these
    for unit in reversed(unit_crossings.candidates(capacity)):
        if 2 * unit >= 3 * bs and (known is None or known <= 2 * unit <= 4 * known):
            yield _crossing(unit, capacity, found.seen, bs, had)
    judged()
    others = unit_crossings.odd_candidates(capacity) \
        if found.unit is None and bs < unit_crossings.PAST_LOGS else []
    if others and opens:
        yield unit_crossings.opening(capacity, found.seen, odd=True)
    for unit in reversed(others):
        yield _crossing(unit, capacity, found.seen, bs, had)
    judged()
    again = unit_crossings.doubtful(found.points) if found.unit is None and found.seen.push else []
    for unit in again:
        yield _crossing(unit, capacity, found.seen, bs, had)
    judged()


def _crossing(unit: int, capacity: int, seen: Seen, bs: int,
              had: set[tuple[object, object]]) -> Test:
    """A test whose points no other one has had, if that is possible: they would be one point."""
    many = seen.push and 7 * unit * unit_crossings.MANY_CROSSINGS <= capacity
    count = {"count": unit_crossings.MANY_CROSSINGS} if many else {}
    for closer in range(8):
        test = unit_crossings.crossing(unit, capacity, seen, bs, closer=closer, **count)
        mine = {(how["start"], how["stride"]) for _, how in test.keys}
        if not mine & had:
            break
    had |= mine
    return test


def _passes(in_random_order: bool, unit: int, capacity: int, found: Found,
            judged: Callable[[], None]) -> Iterator[Test]:
    """How many units are open.  In order it has to be known how many are in random order."""
    tried: set[int] = set()
    before = 8 if in_random_order else max(8, (found.open_random or 0) + 2)
    bs = open_units.piece(unit, found.page, small(found) // 2)
    while some := [n for n in open_units.next_rows(found.points, in_random_order, unit, capacity)
                   if n not in tried]:
        first = open_units.behind(found.points, in_random_order, unit)
        for units in some:
            tried.add(units)
            yield open_units.passes(unit, units, in_random_order, bs, before, first, found.seen,
                                capacity)
            first = open_units.next_place(first, units, unit, capacity, found.seen, in_random_order)
        judged()


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
        for n in behaviour.DEPTHS:
            yield behaviour.depth(op, n, capacity, unit)


def _habits(tool: Tool, capacity: int, wishes: Wishes, found: Found,
            judged: Callable[[], None]) -> Iterator[Test]:
    unit = unit_of(found, capacity)
    yield behaviour.find_fat(tool, unit, capacity)
    yield from _in_flight(("read", "write"), wishes, capacity, unit)
    yield behaviour.rest(capacity)
    for n in range(len(behaviour.fill_ends(capacity))):
        yield behaviour.fill(capacity, n)
        judged()
        if behaviour.slowed(found.points):
            break
    for idle in behaviour.RESTS if found.slc else ():
        yield behaviour.refill(capacity, found.slc or 0, idle)
    if found.small_write and not found.seen.push:
        yield behaviour.logged(found.small_write, capacity, found.seen)
    if found.page:
        yield structure.tails(unit, found.page, capacity)
    yield behaviour.reads(0, min(_READS, capacity // 2))
    if wishes.trims:
        yield behaviour.trim(capacity)
    judged()
