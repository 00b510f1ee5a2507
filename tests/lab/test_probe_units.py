#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab probe: the unit where no unit is open in random order (`unit_gaps`), and where one log
takes all writes behind a cache (`unit_first_writes`), on devices made by hand."""

import flashemu_lab_bench  # noqa: F401
from flashemu_script import run

from flashemu_lab.probe.tests import (behaviour, structure, unit_crossings, unit_first_writes,
                                      unit_gaps, unit_pairs, unit_size)
from flashemu_lab.probe.datasheet import sentences
from flashemu_lab.probe.findings import Found
from flashemu_lab.measurement.schema import make_point

KIB, MIB = 1 << 10, 1 << 20


def test_overhead_of_reads_within_a_page():
    """A second page is read while the first one is sent, so longer reads are on another line."""
    for page in (2 * KIB, 8 * KIB, 32 * KIB):
        times = [make_point("request", [300e3 + n / 20e6 * 1e9 + 10e3 * (n // page)], op="read",
                            bs=n, start=0, stride=MIB, count=16)
                 for n in (512 << i for i in range(10)) if n != page]
        test = structure.page_reads(1 << 30)
        across = structure.result(test, [
            10**6 + 10**5 * ((r.offset + r.length - 1) // page - r.offset // page)
            for r in test.requests])
        overhead, rate = structure.link_from(times + across)
        assert structure.link_from(times) == (structure.link_from(times)[0], rate)
        if page > 2 * KIB:      # or there are not enough of them
            assert abs(overhead - 300e3) < 1, (page, overhead)
        else:
            assert structure.link_from(times)[0] == overhead


# --- a saw-tooth over the place in the unit ---

class Ahead:
    """A device whose open units take what is ahead in them, and copy what lies between.  ns are
    1 ms for a write, 30 for a byte that is copied, and 5 ms for a unit that is closed."""

    def __init__(self, unit, most):
        self.unit, self.most, self.open = unit, most, {}    # unit -> where it is written to

    def close(self, number):
        return (self.unit - self.open.pop(number)) * 30 + 5 * 10**6

    def write(self, at, length):
        ns, end = 10**6, at + length
        while at < end:
            number, first = divmod(at, self.unit)
            if first < self.open.get(number, 0):
                ns += self.close(number)
            elif number not in self.open and len(self.open) >= self.most:
                ns += self.close(next(iter(self.open)))
            ns += (first - self.open.pop(number, 0)) * 30
            self.open[number] = min(self.unit, first + end - at)
            at = (number + 1) * self.unit
        return ns


def written(write, capacity):
    """The points of the writes all over a device, in the order of `probe`."""
    points = []
    tests = [unit_crossings.opening(capacity), behaviour.scattered(4 * MIB, capacity)]
    for test in tests:
        points += structure.result(test, [write(r.offset, r.length) for r in test.requests])
    for size in unit_pairs.next_sizes(points, capacity, 32 * KIB):
        test = unit_pairs.test(size, capacity, 8 * KIB, 32 * KIB, structure.OUTRIGHT)
        points += structure.result(test, [write(r.offset, r.length) for r in test.requests])
    return points


def test_the_place_in_the_unit():
    for unit, most in ((512 * KIB, 28), (3 * MIB // 2, 1), (4 * MIB, 5), (7 * MIB, 13),
                       (8 * MIB, 64)):
        capacity = max(480 * MIB, 8 * most * unit, 100 * unit) // unit * unit
        points = written(Ahead(unit, most).write, capacity)
        assert unit_gaps.ranked(unit_gaps.writes_from(points))[0][1:] == (unit, most), (unit, most)
        assert unit_gaps.unit_from(points) == unit_size.shown(points) == unit
        # pairs alone would say nothing, or something wrong
        assert unit_pairs.unit_from(points) != unit
    assert any("take longer the further on in it they are" in s
               for s in sentences(Found(points, unit=unit)))


def test_times_that_scatter():
    """Two percent of noise change nothing."""
    noise = iter(range(10**6))
    device = Ahead(4 * MIB, 5)
    points = written(lambda at, length: device.write(at, length)
                     * (98 + next(noise) * 7919 % 5) // 100, 480 * MIB)
    assert unit_gaps.unit_from(points) == 4 * MIB


def test_no_saw_tooth():
    """Each write merges, none does, a merge has another reason, or all units stay open."""
    times = iter(range(10**6))
    order = []

    def opens(at, _):
        number = at // MIB
        merges = number not in order
        if not merges:
            order.remove(number)
        order.append(number)
        del order[:-5]
        return 10**8 * merges + 10**6
    for write in (lambda at, length: 10**8, lambda at, length: 10**6, opens,
                  lambda at, length: 10**8 if next(times) % 9 < 2 else 10**6):
        assert unit_gaps.unit_from(written(write, 480 * MIB)) is None
    assert unit_gaps.unit_from([]) is None and unit_gaps.writes_from([]) == ()
    # time that grows with the distance between the writes of a pair, without a unit
    last = [0]

    def far(at, _):
        cost, last[0] = min(abs(at - last[0]), 4 * MIB) * 30 + 10**6, at
        return cost
    points = written(far, 480 * MIB)
    assert unit_gaps._grows(points) and unit_gaps.unit_from(points) is None


# --- first pages of units behind a cache ---

class Shared:
    """So many logs for all writes, as long as a unit, in pages of 16 KiB, and another one for what
    begins with the first page of a unit.  The latter is completed by the pages that it lacks."""

    def __init__(self, unit, logs):
        self.unit, self.most, self.log, self.begun = unit, unit // 16384 * logs, [], None
        self.merge = unit * 30

    def write(self, at, length):
        ns, page, end = 0, at // 16384, -(-(at + length) // 16384)
        for n in range(page, end):
            number, first = divmod(n, self.unit // 16384)
            ns += 10**6
            if first == 0 or self.begun == (number, first):
                if first == 0 and self.begun:
                    ns += (self.unit - self.begun[1] * 16384) * 30
                self.begun = (number, first + 1) if (first + 1) * 16384 < self.unit else None
                continue
            if len(self.log) == self.most:      # the oldest part is given up
                some = set(self.log[:self.unit // 16384])
                self.log = [one for one in self.log if one not in some]
                ns += len(some) * self.merge
            self.log.append(number)
        return ns


def crossed(write, capacity):
    """The points of writes across boundaries behind a cache."""
    points, seen, bs = [], structure.Seen(push=2 * MIB), 32 * KIB
    for unit in (n for n in reversed(unit_crossings.candidates(capacity)) if n >= 2 * bs):
        many = 7 * unit * unit_crossings.MANY_CROSSINGS <= capacity
        test = unit_crossings.crossing(unit, capacity, seen, bs,
                                **({"count": unit_crossings.MANY_CROSSINGS} if many else {}))
        points += structure.result(test, [write(r.offset, r.length) for r in test.requests])
    return points


def test_first_pages_take_the_same_time():
    for unit in (128 * KIB, 256 * KIB, 512 * KIB, MIB):
        for logs in (3, 8, 11):
            points = crossed(Shared(unit, logs).write, 960 * MIB)
            assert unit_first_writes.unit_from(points) == unit, (unit, logs, unit_first_writes.unit_from(points))
            assert unit_size.shown(points) == unit
    assert any("at its multiples always take the same time" in s
               for s in sentences(Found(points, unit=unit)))


def test_first_pages_that_tell_nothing():
    times = iter(range(10**9))
    for write in (lambda at, length: 10**8, lambda at, length: 10**6,
                  lambda at, length: 10**6 + 10**9 * (next(times) % 97 == 0)):
        assert unit_first_writes.unit_from(crossed(write, 960 * MIB)) is None
    assert unit_first_writes.unit_from([]) is None and unit_first_writes.sums([]) == {}


def test_no_size_twice_as_large():
    """Where all sums are exact, the unit and twice the unit differ in a single test."""
    for unit in (256 * KIB, 512 * KIB, 768 * KIB, 2 * MIB):
        def merges(at, length, unit=unit):
            return 10**7 + 10**8 * ((at + length - 1) // unit - at // unit) * (length < 65536)
        points = crossed(merges, 4096 * MIB)
        assert unit_first_writes.unit_from(points) is None     # all behind boundaries take the same time
        assert unit_crossings.unit_from(points) == unit_size.shown(points) == unit, unit


def test_crossings_go_around_the_push():
    """What a cache holds already would not be pushed out in its turn."""
    capacity, seen, around = 960 * MIB, structure.Seen(push=6 * MIB), 0
    for unit in unit_crossings.candidates(capacity):
        test = unit_crossings.crossing(unit, capacity, seen, 16 * KIB)
        pushed = [r.offset for r in test.requests if r.length == structure.PUSH]
        assert min(pushed) % (48 * MIB) == 0 and max(pushed) + structure.PUSH <= capacity
        if 32 * unit <= min(pushed):    # or it has to come back
            writes = [r for r in test.requests if r.length != structure.PUSH]
            assert writes and all(r.offset + r.length <= min(pushed) for r in writes), unit
            around += 1
    assert around > 5, around
    small = unit_crossings.crossing(MIB, 64 * MIB, seen)
    assert all(r.offset + r.length <= 64 * MIB for r in small.requests)


def test_granules_that_cost_little():
    """What a shift costs counts if it is five times what equal writes differ by."""
    def found(page, share, noise, tests=3):
        draft = behaviour.scattered_wide(1 << 30)
        times = []
        for r in draft.requests:
            parts = (r.offset + r.length - 1) // page - r.offset // page + 1
            more = parts > max(4, -(-r.length // page))
            times.append(round(10**7 * (1 + share * more + noise * (r.key % 3 == 2))))
        points = structure.result(draft, times)
        return behaviour.wide_granule_from([p for n, p in enumerate(points) if n % 3 < tests])
    for page in (2 * KIB, 4 * KIB, 16 * KIB, 32 * KIB):
        assert found(page, 0.019, 0.0) == found(page, 0.019, 0.003) == page, page
        assert found(page, 0.019, 0.006) is None and found(page, 0.05, 0.006) == page
        assert found(page, 0.002, 0.0) is None
        # without equal writes, as in older measurements, it has to be more
        assert found(page, 0.019, 0.0, 2) is None and found(page, 0.05, 0.0, 2) == page


def test_small_writes_behind_a_cache():
    """The first size that merges is the largest step, although a larger one merges twice."""
    def found(merges):
        test = behaviour.scattered_behind(3 * MIB, MIB, 480 * MIB)
        points = []
        for n, (procedure, how) in enumerate(test.keys):
            total = 10**7 if n % 2 == 0 else 10**8 + 8 * 10**8 * merges[how["bs"] // KIB]
            points.append(make_point(procedure, [total / how["count"]], **how))
        return behaviour.small_write_behind(points, 8e8)
    assert found({2: 0, 4: 0, 8: 19, 16: 19, 32: 38}) == 4 * KIB
    assert found({2: 0, 4: 0, 8: 0, 16: 19, 32: 19}) == 8 * KIB
    assert found({2: 0, 4: 0, 8: 0, 16: 5, 32: 9}) is None


def test_long_writes_that_alternate():
    """A command that is cut inside a page shifts the parts that work at the same time, so the next
    long write takes another time.  What a shift costs for shorter ones is no doubt."""
    page = 16 * KIB
    test = behaviour.scattered_wide(1 << 30)
    times = []
    for r in test.requests:
        parts = -(-((r.offset + r.length - 1) // page - r.offset // page + 1) // 2)
        times.append(10**6 * parts + (10**6 if r.length == 128 * KIB and r.key % 3 == 2 else 0))
    assert behaviour.wide_granule_from(structure.result(test, times)) == page


def write_point(ns, **how):
    return make_point("request", [ns], **{"op": "write", **how})


def test_sums_are_of_writes_that_are_pushed_out():
    """Writes with a time of their own are no sums, and of several lengths the last one counts."""
    many = unit_crossings.MANY_CROSSINGS

    def three(bs, **how):
        return [write_point(10**6, bs=bs, start=MIB - before + n * 2 * MIB, stride=8 * MIB,
                            count=many, **how) for n, before in enumerate((bs, bs // 2, 0))]
    assert unit_first_writes.sums(three(8192)) == {}
    found = unit_first_writes.sums(three(8192, push=MIB) + three(16384, push=MIB))
    assert list(found) == [many] and len(found[many]) == 2
    before, behind = found[many]
    assert behind.begins(MIB) and not behind.begins(2 * MIB) and not before.begins(32 * KIB)


run(globals())
