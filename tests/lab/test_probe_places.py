#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab probe: where its tests write, so that places have nothing in common but what is
meant, and what follows where something in common cannot be avoided."""

import flashemu_lab_bench  # noqa: F401
from flashemu_script import run

from flashemu_lab.probe import findings
from flashemu_lab.probe.tests import (behaviour, open_units, structure, unit_crossings, unit_pairs,
                                      unit_pushed_pairs, unit_size)
from flashemu_lab.probe.findings import Found
from flashemu_lab.measurement.schema import make_point

KIB, MIB = 1 << 10, 1 << 20


def test_places_across_are_multiples_of_one_unit():
    """Not all of them are multiples of 3, 5 or 7 units as well, as far as there is a choice: these
    would stand out in the same way."""
    judged = 0
    for capacity in (480 * MIB, 768 * MIB, 960 * MIB, 1160 * MIB, 1 << 32, 24 * 105 * MIB):
        for unit in unit_crossings.candidates(capacity):
            for count in (16, unit_crossings.MANY_CROSSINGS):
                test = unit_crossings.crossing(unit, capacity, count=count)
                at = [r.offset + r.length // 2 for r in test.requests if r.key == 1]
                if len(set(at)) < count or 7 * unit * count > capacity:
                    continue
                judged += 1
                assert all(a % unit == 0 and a % (2 * unit) for a in at), (capacity, unit)
                for odd in (3, 5, 7):
                    assert any(a % (odd * unit) for a in at), (capacity, unit, count, odd)
    assert judged > 30, judged


def test_scattered_writes_stay_inside():
    """Most writes of each sort go across no multiple of 128 KiB or of a larger unit."""
    for capacity in (480 * MIB, 768 * MIB, 960 * MIB, 1440 * MIB, 1 << 32):
        test = behaviour.scattered(4 * MIB, capacity)
        for unit in (n * KIB for n in (128, 160, 192, 224, 256, 320, 384, 768, 3072, 5120, 6144)):
            for key in range(len(test.keys)):
                mine = [r for r in test.requests if r.key == key]
                across = sum((r.offset + r.length - 1) // unit != r.offset // unit for r in mine)
                assert 2 * across < len(mine), (capacity, unit, test.keys[key])


def test_rows_of_both_orders_have_nothing_in_common():
    """Equal requests would be one point, also when rows begin at the start again."""
    starts = {}
    for in_random_order in (True, False):
        first = open_units.behind([], in_random_order, MIB)
        for units in (1, 2, 3, 96, 64, 96, 56, 60, 57, 58):
            test = open_units.passes(MIB, units, in_random_order, 16 * KIB, 8, first, structure.OUTRIGHT,
                                 400 * MIB)
            starts.setdefault(in_random_order, set()).update(
                (how["start"], how["count"]) for _, how in test.keys[1:])
            assert all(r.offset + r.length <= 400 * MIB for r in test.requests)
            first = open_units.next_place(first, units, MIB, 400 * MIB, structure.OUTRIGHT,
                                      in_random_order)
    assert len(starts[True]) == len(starts[False]) == 30
    assert not starts[True] & starts[False]
    # also if other rows lie before them
    ends = [open_units.next_place(open_units.behind([], order, MIB), 2 - order, MIB, 400 * MIB,
                              structure.OUTRIGHT, order) for order in (False, True)]
    rows = [open_units.passes(MIB, 9, order, 16 * KIB, 8, first, structure.OUTRIGHT, 400 * MIB)
            for order, first in zip((False, True), ends)]
    in_order, in_random_order = ({how["start"] for _, how in row.keys[1:]} for row in rows)
    assert not in_order & in_random_order


def pushed_rows(merge, extra):
    """Rows in random order behind a cache, of a device that has four units open; the visits of the
    row for one unit cost so many merges more."""
    points, seen = [], structure.Seen(push=MIB)
    for units in range(1, 9):
        test = open_units.passes(MIB, units, True, 16 * KIB, 8, 20 * units, seen, 1 << 30)
        merges = [2, 8]     # the writes to other units
        for n in (1, 2, 3):
            merges += [0] * (n - 1) + [units * (1 if units <= 4 else n) + (extra[n - 1]
                                                                          if units == 1 else 0)]
        points += [make_point(procedure, [(10**6 + merge * some) / how["count"]], **how)
                   for some, (procedure, how) in zip(merges, test.keys)]
    return points


def test_a_merge_more_in_the_first_row():
    """Behind a cache a visit may pay for what was open before; a write to an open unit is no
    quicker for that."""
    for extra in ((0, 0, 0), (1.5, 0, 0), (0, 1.5, 0), (0, 0, 1.5)):
        assert open_units.limit_from(pushed_rows(2 * 10**8, extra), True) == 4, extra


def test_a_write_to_an_open_unit_by_all_rows():
    """The rows for one and two units may have merges in both ways; no time is below 0, and what is
    multiplied by the number of units is the time of all rows."""
    def row(units, times):
        return {units: (3.3e9, [0.0, *times])}
    found = {**row(1, (4.2e7, -3.4e9)), **row(2, (-1.7e9, 1.7e9)), **row(3, (1.1e9, 5e6)),
             **row(4, (5e6, 5e6)), **row(5, (5e6, 5e6)), **row(6, (3.3e9, 3.3e9))}
    assert open_units._alone(found, 3.3e9) == 5e6
    # none is open: the time of a merge
    assert open_units._alone({**row(1, (3.3e9, 3.2e9)), **row(3, (1e6, 1e6))}, 3.3e9) == 3.2e9


def test_windows_larger_than_a_unit():
    """Two sizes have to show a unit of 16 MiB."""
    sizes = unit_pushed_pairs.next_sizes([], 1 << 32, 8 * KIB)
    assert [size // MIB for size in sizes if size > 16 * MIB] == [32, 64, 128]
    assert max(unit_pushed_pairs.next_sizes([], 2047 * MIB, 8 * KIB)) == 32 * MIB


def test_what_stands_out_is_measured_again():
    def excess(unit, ns):
        test = unit_crossings.crossing(unit, 1 << 30)
        return [make_point(procedure, [10**9 + ns * (n == 1)], **how)
                for n, (procedure, how) in enumerate(test.keys)]
    points = [p for unit, ns in ((MIB, 0), (2 * MIB, 8e8), (3 * MIB, -7e8), (4 * MIB, 1e8),
                                 (6 * MIB, 5e8)) for p in excess(unit, ns)]
    assert unit_crossings.doubtful(points) == [6 * MIB, 3 * MIB, 2 * MIB]
    assert unit_crossings.doubtful(excess(MIB, 10**6)) == [] and unit_crossings.doubtful([]) == []


def test_sums_that_scatter():
    """Behind a cache two sizes that stand out are no unit if those that do not differ as much."""
    def found(scatter):
        seen, points = structure.Seen(push=MIB), []
        for n, unit in enumerate(unit_crossings.candidates(1 << 33)):
            test = unit_crossings.crossing(unit, 1 << 33, seen)
            excess = 2e8 if unit in (24 * MIB, 48 * MIB) else scatter * (-1, 1, 1, -1, 0)[n % 5]
            points += [make_point(procedure, [10**8 + excess * (i == 1)], **how)
                       for i, (procedure, how) in enumerate(test.keys)]
        return unit_crossings.unit_from(points)
    assert found(1e6) == 24 * MIB and found(8e7) is None


def test_writes_behind_a_cache_are_not_small():
    """A small write pushes out what others have written, and a log for small writes takes that."""
    unknown = Found(seen=structure.Seen(push=MIB))
    assert findings.small(unknown) == 32 * KIB and findings.small(Found()) == 8 * KIB
    assert findings.small(Found(small_write=16 * KIB)) == 32 * KIB


class Merges:
    """A device that keeps so many units open and closes the one that was used longest ago, behind
    a cache: a push costs what was merged since the last one."""

    def __init__(self, unit, most):
        self.unit, self.most, self.open, self.merges = unit, most, list(range(most)), 0

    def measure(self, test):
        """The points of a test."""
        values = [0.0] * len(test.keys)
        for r in test.requests:
            pushes = test.keys[r.key][1].get("push", 0)
            if r.length == structure.PUSH:
                values[r.key], self.merges = values[r.key] + self.merges * 5e8, 0
            else:
                values[r.key] += 10**6 + 10**7 * bool(pushes)
                if (unit := r.offset // self.unit) not in self.open:
                    self.merges += 1
                    del self.open[0]
                else:
                    self.open.remove(unit)
                self.open.append(unit)
        return [make_point(procedure, [ns / int(how["count"])], **how)
                for ns, (procedure, how) in zip(values, test.keys)]


def by_sums(capacity, measure):
    """What pairs behind a cache find, and their points."""
    points = []
    while some := unit_pushed_pairs.next_sizes(points, capacity, 8 * KIB):
        for size in some:
            test = unit_pairs.test(size, capacity, 8 * KIB, 8 * KIB, structure.Seen(push=2 * MIB))
            assert all(r.offset + r.length <= capacity for r in test.requests)
            points += measure(test)
    return unit_pushed_pairs.unit_from(points), points


def test_pairs_behind_a_cache():
    for unit in (512 * KIB, MIB, 3 * MIB // 2, 5 * MIB, 7 * MIB, 12 * MIB, 24 * MIB):
        for most in (1, 4, 40):
            capacity = max(128, 8 * most) * unit
            found, points = by_sums(capacity, Merges(unit, most).measure)
            assert found == unit and unit_size.shown(points) == unit, (unit, most, found)
            assert len({p.parameters for p in points}) == len(points)
            assert unit_pairs.pairs(points) == [], "these have no times of their own"


def test_pairs_behind_a_cache_that_tell_nothing():
    """Every write merges, or none does, or a log is full now and then, or only a pair in two units
    merges."""
    times = iter(range(10**6))

    def always(ns):
        return lambda test: [make_point(procedure, [ns(how)], **how)
                             for procedure, how in test.keys]
    for ns in (lambda how: 1e9, lambda how: 1e6,
               lambda how: 1e6 + 1e10 * ("push" in how and next(times) % 4 == 0)):
        assert by_sums(1 << 30, always(ns))[0] is None

    def parted(test):
        both = [(one.offset // MIB, two.offset // MIB) for one, two in zip(
            test.requests[::2], test.requests[1::2]) if one.key == two.key]
        some = sum(one != two for one, two in both[:len(test.keys)])
        return [make_point(procedure, [1e5 + 3e8 * some * ("push" in how)], **how)
                for procedure, how in test.keys]
    assert by_sums(1 << 30, parted)[0] is None
    # each write costs much more than what pairs in two units cost more
    device = Merges(512 * KIB, 1)

    def much(test):
        return [make_point(p.procedure, [p.value / 10 + 4e9 * (dict(p.parameters).get("push", 0) > 0)],
                           **dict(p.parameters)) for p in device.measure(test)]
    assert by_sums(1 << 30, much)[0] is None
    assert unit_pushed_pairs.sums([]) == [] and unit_pushed_pairs.unit_from([]) is None
    # rows for two units are no pairs
    rows = [open_units.passes(MIB, 2, True, 16 * KIB, 8, 0, structure.Seen(push=MIB), 1 << 30)]
    assert unit_pushed_pairs.sums([p for row in rows for p in always(lambda how: 1e6)(row)]) == []


run(globals())
