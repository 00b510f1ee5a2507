#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab probe: conclusions from points of devices made by hand."""

import flashemu_lab_bench  # noqa: F401  (finds the modules)
from flashemu_script import run

from flashemu_lab.probe.tests import (behaviour, flashbench_open_units, open_units, structure, unit_crossings,
                                      unit_size)
from flashemu_lab.probe.datasheet import sentences
from flashemu_lab.probe.findings import Found
from flashemu_lab.measurement.schema import make_point

MIB = 1 << 20


def across(unit, cost=10.0**9, log=10.0**8):
    """Points of a device that merges a unit of this size for each unit that a write touches."""
    points = []
    for size in unit_crossings.candidates(1 << 33):
        test = unit_crossings.crossing(size, 1 << 33)
        times = []
        for r in test.requests:
            touched = (r.offset + r.length - 1) // unit - r.offset // unit + 1
            times.append(int(log + cost * touched))
        points += structure.result(test, times)
    return points


def test_each_line_of_flashbench_has_a_point():
    """Three lines of each size, of which the first is the largest power of 2 that 1/7 of the device
    lets grow once more."""
    class Tool:
        def ask(self, *words):
            return "# format\n" + "".join(f"0 read {1024 * k} 1024 stream={k + 1}\n" for k in range(6)) * 3

    test = structure.align(Tool(), 8 * MIB)
    wanted = [(align, place) for align in (2 * MIB, MIB) for place in ("pre", "on", "post")]
    assert [(how["align"], how["place"]) for _, how in test.keys] == wanted
    # the least of three rounds counts
    times = [n * (k + 1) for n in (9000, 700, 8000) for k in range(6)]
    points = structure.result(test, times)
    assert [(dict(p.parameters)["align"], p.value) for p in points] == [
        (align, 700.0 * (k + 1)) for k, (align, _) in enumerate(wanted)], points


class Units:
    """A device of allocation units with some of them open, as far as the tests of `open_units` see it:
    each unit that has to be closed costs a merge."""

    def __init__(self, unit, linear, in_random):
        self.unit, self.linear, self.random = unit, linear, in_random
        self.open = {}          # unit -> (is it in order, bytes in order), the latest one last

    def _room(self, in_order, most):
        """Closes the oldest one of its sort if there are so many; how many merges that costs.  A
        unit that is in order and full needs none."""
        mine = [u for u, (ordered, _) in self.open.items() if ordered == in_order]
        return len(mine) >= most and self.open.pop(mine[0]) != (True, self.unit)

    def write(self, offset, length):
        """ns."""
        number, at, merges = offset // self.unit, offset % self.unit, 0
        ordered, end = self.open.pop(number, (None, 0))
        if end == self.unit and ordered:
            ordered = None
        if ordered and at != end:
            ordered = None
            merges += self._room(False, self.random) if self.random else 1
            ordered = False if self.random else None
        if ordered is None:
            end = 0
            ordered = at == 0 or not self.random
            merges += self._room(ordered, self.linear if ordered else self.random)
        self.open[number] = ordered, at + length
        return 10**5 + merges * 10**7


class Behind:
    """A cache in front of a device that gives it each write when so many bytes came after it."""

    def __init__(self, device, size):
        self.device, self.unit, self.size = device, device.unit, size
        self.held, self.queue = 0, []

    def write(self, offset, length):
        """ns."""
        ns = 10**4
        self.queue.append((offset, length))
        self.held += length
        while self.held > self.size:
            self.held -= self.queue[0][1]
            ns += self.device.write(*self.queue.pop(0))
        return ns


def opened_by(device, capacity, in_random_order, before, points, seen=structure.OUTRIGHT):
    """What the passes find on a device."""
    while some := open_units.next_rows(points, in_random_order, device.unit, capacity):
        first = open_units.behind(points, in_random_order, device.unit)
        for units in some:
            test = open_units.passes(device.unit, units, in_random_order, 16384, before, first, seen,
                                 capacity)
            first = open_units.next_place(first, units, device.unit, capacity, seen,
                                      in_random_order)
            points += structure.result(test, [device.write(r.offset, r.length)
                                            for r in test.requests])
    return open_units.limit_from(points, in_random_order)


def test_open_units_behind_a_cache():
    """Only sums show what a pass costs, and pushes open units as well."""
    seen = structure.Seen(push=3 * MIB)
    for linear, in_random in ((1, 1), (2, 5), (7, 5), (3, 20), (40, 2), (13, 40)):
        device, points = Behind(Units(MIB, linear, in_random), 2 * MIB), []
        for k in range(300):
            device.write((k * 7 % 1000) * MIB + (k % 2) * 65536, 65536)
        assert opened_by(device, 1000 * MIB, True, 8, points, seen) == in_random, (linear, in_random)
        found = opened_by(device, 1000 * MIB, False, max(8, in_random + 2), points, seen)
        assert found == linear, (linear, in_random, found)
        assert len({p.parameters for p in points}) == len(points)
    # every write merges
    every = Units(MIB, 1, 1)
    every.write = lambda offset, length: 10**7 * length // 16384
    points = []
    assert opened_by(Behind(every, 2 * MIB), 1000 * MIB, True, 8, points, seen) == 0
    assert opened_by(Behind(every, 2 * MIB), 1000 * MIB, False, 8, points, seen) == 0


def test_a_push_of_whole_units():
    assert structure.OUTRIGHT.by_units(MIB, 1 << 30) == structure.OUTRIGHT
    assert structure.Seen(push=5 * MIB // 2).by_units(MIB, (1 << 30) + 5) == \
        structure.Seen(push=3 * MIB, at=(1 << 30) - 3 * MIB)


def test_rows_do_not_come_upon_units_that_are_open():
    """Until three quarters of the device have been used, no unit is used twice, and then those that
    were used first are."""
    for seen, width in ((structure.OUTRIGHT, 1), (structure.Seen(push=MIB), 3)):
        first, used = 0, []
        for units in (1, 2, 9, 24, 48, 30, 60, 48, 7):
            test = open_units.passes(MIB, units, False, 16384, 8, first, seen, 400 * MIB)
            mine = {r.offset // MIB for r in test.requests if r.offset < 300 * MIB}
            assert len(mine) == width * units and not mine & set(used[-100:]), (units, first)
            used += sorted(mine, key=lambda unit: (unit < first, unit))
            first = open_units.next_place(first, units, MIB, 400 * MIB, seen, False)


def test_open_units_by_hand():
    for linear, in_random in ((1, 1), (2, 5), (7, 5), (5, 0), (3, 64), (64, 2), (13, 40)):
        device, points = Units(MIB, linear, in_random), []
        for k in range(200):    # what earlier tests have left open
            device.write((k * 7 % 1000) * MIB + (k % 2) * 65536, 8192)
        assert opened_by(device, 1000 * MIB, True, 8, points) == in_random, (linear, in_random)
        found = opened_by(device, 1000 * MIB, False, max(8, in_random + 2), points)
        assert found == linear, (linear, in_random, found)
        # no two rows have a point in common, or one of them would be taken for the other
        assert len({p.parameters for p in points}) == len(points)
    assert open_units.limit_from([], True) is None
    every = Units(MIB, 1, 1)
    every.write = lambda offset, length: 10**7      # merges for each write
    assert opened_by(every, 1000 * MIB, True, 8, []) == 0


def page_points(page):
    """Reads of a device that reads whole pages."""
    test = structure.page_reads(1 << 30)
    return structure.result(test, [10**5 + 10**4 * ((r.offset + r.length - 1) // page
                                                  - r.offset // page) for r in test.requests])


def test_page_of_reads_by_hand():
    for page in (2048, 4096, 8192, 16384, 32768):
        assert structure.page_read_from(page_points(page)) == page
        assert any("%d KiB at a time" % (page >> 10) in text
                   for text in sentences(Found(page_points(page), page=page)))
    assert structure.page_read_from(page_points(1 << 40)) is None
    assert structure.page_read_from([]) is None


def test_unit_by_hand():
    for unit in unit_crossings.candidates(1 << 33):
        if 32 * 1024 < unit <= 24 * MIB:
            assert unit_crossings.unit_from(across(unit)) == unit, unit
    # the smallest size may be a page, if no read tells the page
    pages = across(32 * 1024)
    assert unit_crossings.unit_from(pages) is None
    assert unit_crossings.unit_from([*pages, *page_points(4096)]) == 32 * 1024
    assert unit_crossings.unit_from(across(1 << 33)) is None and unit_crossings.unit_from([]) is None
    # a difference of some percent is noise, and no unit is copied in 1 ms
    assert unit_crossings.unit_from(across(4 * MIB, cost=10**6, log=10)) is None
    assert unit_crossings.unit_from(across(4 * MIB, cost=1, log=1000)) is None


def rates(in_random_order, *means):
    return [make_point("flashbench-open-au", [mean], erasesize=MIB, open=i + 1,
                       random=in_random_order, chunk=MIB >> k)
            for i, mean in enumerate(means) for k in range(7)]


def test_limits_by_hand():
    assert flashbench_open_units.limit_from(rates(False, 10, 9, 9, 7, 7), False) == 3
    assert flashbench_open_units.limit_from(rates(False, 10, 6, 6), False) is None
    assert flashbench_open_units.limit_from(rates(False, 10, 4), False) == 1
    assert flashbench_open_units.limit_from(rates(True, 10, 9, 2) + rates(False, 10), True) == 2
    # half of the rate once for each unit is a merge of a unit that is full; for each command, none
    # is open
    assert flashbench_open_units.limit_from(rates(True, 4, 4) + rates(False, 10), True) is None
    each = [make_point("flashbench-open-au", [10.0 / (1 << k)], erasesize=MIB, open=1, random=True,
                       chunk=MIB >> k) for k in range(7)]
    assert flashbench_open_units.limit_from(each + rates(False, 10), True) == 0
    # a small step counts if it is the first change and remains
    assert flashbench_open_units.limit_from(rates(False, 10, 10, 10, 9, 8.5, 8, 2), False) == 3
    assert flashbench_open_units.limit_from(rates(False, 10, 10, 10, 9, 10, 10, 2), False) == 6


def test_link_by_hand():
    points = [make_point("request", [100e3 + n / 20e6 * 1e9], op="read", bs=n, start=0, stride=MIB,
                         count=16) for n in (512, 4096, 65536, 1 << 20)]
    overhead, rate = structure.link_from(points)
    assert abs(overhead - 100e3) < 1 and abs(rate - 20e6) < 1
    assert structure.link_from(points[:2]) is None
    assert "A read costs 100 us, and then the data come at 20 MB/s" in sentences(Found(points))[0]


def test_a_log_that_takes_all_scattered_writes():
    """Writes of 256 KiB across multiples of a unit of 512 KiB merge twice, and within it once.  With
    8 KiB nothing shows, because a log takes them.  What it has taken before it was full are the
    writes that take less than half as long as the slowest."""
    def around(bs, unit):
        points = []
        for size in reversed(unit_crossings.candidates(2048 * MIB)):
            if 2 * size >= 3 * bs:
                for _, how in unit_crossings.crossing(size, 2048 * MIB, bs=bs).keys:
                    crosses = unit and (how["start"] + bs // 2) % unit == 0
                    points.append(make_point("request", [60e6 if crosses else 30e6], **how))
        return points
    assert unit_size.logged(around(8192, 0)) is unit_size.logged(around(8192, MIB // 2)) is None
    assert unit_size.logged(around(8192, 0) + around(262144, 0)) is None
    points = around(8192, 0) + around(262144, MIB // 2)
    assert unit_size.shown(points) == MIB // 2 and unit_size.logged(points) == 131072

    def many(*ns):
        return [make_point("request", [each], **how) for each, (_, how) in zip(
            ns, behaviour.logged(131072, 2048 * MIB).keys)]
    assert behaviour.logged_bytes(many(17e6, 42e6, 89e6)) == 64 * MIB
    assert behaviour.logged_bytes(many(17e6, 46e6, 89e6)) == 32 * MIB
    assert behaviour.logged_bytes(many(17e6, 17e6, 17e6)) == behaviour.logged_bytes([]) == 0


run(globals())
