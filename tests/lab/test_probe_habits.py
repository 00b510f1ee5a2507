#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab probe: what follows from points, on points made by hand and on drawn devices."""

import tempfile
from pathlib import Path

import flashemu_lab_bench  # noqa: F401
from flashemu_script import run, sampled_unless_long

import probe_truth
from flashemu_lab.probe import findings
from flashemu_lab.probe.tests import (behaviour, flashbench_open_units, forged, merge_cost,
                                      open_units, structure, unit_pairs, unit_size)
from flashemu_lab.probe.datasheet import sentences
from flashemu_lab.probe.findings import Found
from flashemu_lab.measurement.schema import make_point
from flashemu_lab.runs.program import Tool

MIB = 1 << 20
# Numbers of devices of probe_truth.py, and which of their findings nothing shows.
SAMPLE = {2: [], 3: [], 4: [], 7: []}
SEED = 31
# And with --cards, of seed 1: devices of which everything shows.
CARDS = (2, 7, 12, 13, 36, 38)
# Of these, some that were not told once: (seed, number).  A sample of them, and of those below, is done
# without long-tests: what each was missed for has a test by hand.
MISSED_CARDS = ((1, 9), (1, 25), (1, 44), (1, 54), (1, 63), (1, 67), (1, 81), (1, 92),
                (20261127, 12), (20261128, 45), (20261128, 51), (20261128, 69), (20261128, 93))
# Devices of other seeds that were not told once: (seed, number).
MISSED = ((911, 44), (911, 47), (911, 48), (911, 79), (911, 85), (5000, 1), (5000, 42), (5000, 66),
          (1301, 44), (1301, 47), (1301, 49), (4219, 14), (4711, 11))


def forged_answer(test, real, module, written):
    """What the looks of a test find on a device of this real capacity, whose addresses come round
    at `module`; `written` has the writes."""
    seen = {}
    for r in test.requests:
        if r.op == "write":
            written.append((r.offset, r.length))
        elif r.op == "look":
            place = r.offset % module
            addresses = ((start + (place - start) % module, start + length)
                         for start, length in reversed(written) if place < real)
            seen[r.offset] = next((at for at, end in addresses if at < end), "zeros")
    return seen


def forged_found(real, module, claimed):
    """What is found of such a device."""
    found, written = Found(), []
    while found.real is None:
        between = forged.bounds(found.points)
        test = forged.narrower(*between, claimed) if between else forged.first_test(claimed)
        found.points += structure.contents(test, forged_answer(test, real, module, written))
        found.real = forged.real_from(found.points)
        assert forged.bounds(found.points) not in (None, between), (real, module, between)
    return found.real, forged.module(found.points), forged.kind(found.points)


NEVER = 1 << 60


def test_capacity_by_hand():
    """Real capacities from a quarter of the claimed one on."""
    claimed = 1 << 30
    for real in (*range(claimed // 4 + 512, claimed, claimed // 17 // 512 * 512), claimed - 512):
        assert forged_found(real, real, claimed) == (real, real, "wraparound")
        assert forged_found(real, NEVER, claimed) == (real, None, "limbo")


def test_missing_address_lines_by_hand():
    """The real capacity may be at a piece, next to one, or just below the module."""
    for claimed in (1 << 30, 1000000000 // 512 * 512, 1 << 36):
        module = 1 << 28 if claimed < 1 << 36 else 1 << 33
        assert forged_found(module, module, claimed) == (module, module, "wraparound")
        for real in (module - 512, module - (1 << 18), module // 2 + 512, module * 15 // 16,
                     module * 5 // 7 // 512 * 512):
            assert forged_found(real, module, claimed) == (real, module, "chain")
    assert forged_found(8019509248, 1 << 33, 1 << 36) == (8019509248, 1 << 33, "chain")
    assert forged_found(6000000000, 1 << 35, 1 << 39) == (6000000000, 1 << 35, "chain")


def test_a_real_capacity():
    test = forged.first_test(1 << 30)
    found = Found(structure.contents(test, {r.offset: r.offset for r in test.requests
                                          if r.op == "look"}))
    assert forged.real_from(found.points) is None and forged.bounds(found.points) is None
    assert any("Its capacity is real" in s for s in sentences(found))


def rates_of_fill(bs, start, idle, cache, fast, slow, most):
    """Points of a device that takes `cache` bytes at another rate."""
    points, after = [], 0
    while after < most:
        size = after or 128 * 1024
        quick = min(max(cache - after, 0), size)
        rate = size / (quick / fast + (size - quick) / slow)
        points.append(make_point("fill", [rate], bs=bs, start=start, idle=idle, after=after,
                                 size=size))
        after += size
    return points


def test_caches_by_hand():
    for cache in (256 * 1024, MIB, 3 * MIB, 9 * MIB):
        both = [rates_of_fill(32 * 1024, start, 2 * 10**9, cache, 4e7, 1e7, 32 * MIB)
                for start in (0, MIB)]
        size, fast, slow = behaviour.cache_from(sum(both, []))
        assert abs(size / cache - 1) < 0.01 and abs(fast / 4e7 - 1) < 0.01, (cache, size, fast)
        assert abs(slow / 1e7 - 1) < 0.01
        # what ends at another place when the burst begins elsewhere is the rest of a unit
        other = rates_of_fill(32 * 1024, MIB, 2 * 10**9, 2 * cache, 4e7, 1e7, 32 * MIB)
        assert behaviour.cache_from(both[0] + other) is None
        assert behaviour.cache_from(both[0]) is None
    same = [rates_of_fill(32 * 1024, start, 2 * 10**9, MIB, 1e7, 1e7, 32 * MIB) for start in (0, 1)]
    assert behaviour.cache_from(sum(same, [])) is None
    found = Found(rates_of_fill(MIB, 0, 10 * 10**9, 48 * MIB, 4e7, 1e7, 512 * MIB))
    assert behaviour.slc_from(found.points)[0] == 48 * MIB and behaviour.slowed(found.points)
    assert any(s.startswith("The first 48 MiB go in at 40 MB/s") for s in sentences(found))


def write_point(ns, **how):
    return make_point("request", [ns], **{"op": "write", **how})


def test_small_writes_by_hand():
    def device(bs, shifted):
        """A map of 4 KiB: what is written in part has to be read, too."""
        return (200 if shifted and bs == 4096 else 100) + bs / 100
    inside = 288 * 1024     # where in a MiB these writes are
    points = [write_point(device(bs, start > 0) * 1e3, bs=bs, start=inside + start,
                          stride=8 * MIB, count=17) for bs in (512, 1024, 2048, 4096, 8192, 16384)
              for start in (0, bs // 2)[:1 if bs == 512 else 2]]
    assert behaviour.granule_from(points) == 4096
    assert behaviour.granule_from(points[:5]) is None
    log = [write_point(2e6 if bs <= 8192 else 90e6, bs=bs, start=inside,
                       stride=8 * MIB, count=17) for bs in (2048, 4096, 8192, 16384)]
    assert behaviour.small_write_from(log) == 8192 and behaviour.small_write_from(log[:3]) is None
    # only somewhere: a log for all writes was full there
    quick = write_point(3e6, bs=16384, start=inside + 8192, stride=8 * MIB, count=17)
    assert behaviour.small_write_from([*log, quick]) is None


def test_wide_writes_by_hand():
    """Two, four parts that work at the same time: a page more costs something where it is one too
    many for them."""
    for page in (2048, 4096, 16384, 32768):
        for parts in (1, 2, 4):
            test = behaviour.scattered_wide(1 << 30)
            assert all(1 << 28 <= r.offset < (1 << 28) + 32 * MIB for r in test.requests)
            touched = [(r.offset + r.length - 1) // page - r.offset // page + 1
                       for r in test.requests]
            points = structure.result(test, [-(-n // parts) * 10**6 for n in touched])
            assert behaviour.wide_granule_from(points) == page, (page, parts)
            # only writes of this size and this place say something about it
            assert behaviour.granule_from(points) is None
    # a slow link hides most of it, and what is read before shows
    little = structure.result(test, [10**7 + 10**5 * 4 * (n > 4) for n in touched])
    assert behaviour.wide_granule_from(little) == 32768
    same = structure.result(test, [10**6] * len(test.requests))
    assert behaviour.wide_granule_from(same) is None and behaviour.wide_granule_from([]) is None


def opens(unit, most, room=()):
    """The times of writes of a device that keeps this many units open in random order, and closes
    the one that was used longest ago; the units of `room` are open before."""
    order = list(room)

    def write(offset):
        number = offset // unit
        merges = number not in order
        if not merges:
            order.remove(number)
        elif len(order) >= most:
            del order[0]
        order.append(number)
        return 10**8 * merges + 10**6
    return write


def paired(write, capacity, from_ends=8192):
    """What pairs find, and their points."""
    points = []
    while some := unit_pairs.next_sizes(points, capacity, from_ends):
        for size in some:
            test = unit_pairs.test(size, capacity, 8192, from_ends, structure.OUTRIGHT)
            assert all(r.offset + r.length <= capacity for r in test.requests)
            points += structure.result(test, [write(r.offset) for r in test.requests])
    return unit_pairs.unit_from(points), points


def test_pairs_by_hand():
    for unit in (96 * 1024, 128 * 1024, MIB, 3 * MIB // 2, 5 * MIB, 7 * MIB, 15 * MIB, 24 * MIB):
        for most in (1, 5, 64):
            capacity = max(128, 8 * most) * unit
            found, points = paired(opens(unit, most, range(0, 128, 2)[:most]), capacity)
            assert found == unit, (unit, most, found)
            assert unit_size.shown(points) == unit
            assert len({p.parameters for p in points}) == len(points)
    # every write merges, or none does, or they do now and then, or more so the further they go, or
    # what is in front of them in their unit is copied
    times = iter(range(10**6))
    last = [0]

    def far(offset):
        cost, last[0] = abs(offset - last[0]) // 2 + 10**6, offset
        return cost
    for write in (lambda _: 10**8, lambda _: 10**6, far, lambda offset: 10**6 + offset % (2 * MIB),
                  lambda _: 10**8 if next(times) % 9 < 2 else 10**6):
        assert paired(write, 1 << 30)[0] is None
    assert unit_pairs.unit_from([]) is None and unit_size.shown([]) is None


def test_half_of_a_device_is_blank():
    """Where nothing is, nothing is copied; elsewhere a write takes longer the further on it is."""
    last = [0]

    def write(offset):
        before, last[0] = last[0], offset
        other = offset // MIB != before // MIB
        if offset > 400 * MIB:
            return 2 * 10**6 if other else 10**6
        return 10**7 if other else 10**6 + 30 * abs(offset - before)
    assert paired(write, 1 << 30)[0] is None


def held(write, region):
    """The times of a device that holds the map of one region."""
    last = [0]

    def one(offset):
        other, last[0] = offset // region != last[0], offset // region
        return write(offset) + 2 * 10**6 * other
    return one


def test_regions_of_a_map_are_no_units():
    """Another region costs 2 ms, another unit 100."""
    for region in (256 * 1024, MIB, 4 * MIB):
        for unit in (4 * MIB, 6 * MIB):
            assert paired(held(opens(unit, 5), region), 100 * unit)[0] == unit, (region, unit)
    # a few that take far longer than a merge are none
    order, write = iter(range(10**6)), opens(MIB, 5)
    assert paired(lambda offset: write(offset) * (1000 if next(order) // 6 == 31 else 1),
                  480 * MIB)[0] == MIB
    # regions alone cost less than a copy would, by the rate in order, however long a write takes
    found, points = paired(held(lambda _: 10**6, 256 * 1024), 1 << 30)
    assert found == 256 * 1024
    fill = make_point("fill", [8e6], bs=32768, start=0, idle=0, after=0, size=MIB)
    assert unit_pairs.unit_from([*points, fill]) is None
    fill = make_point("fill", [4e7], bs=32768, start=0, idle=0, after=0, size=MIB)
    found, points = paired(held(lambda _: 3 * 10**6, 256 * 1024), 1 << 30)
    assert found == 256 * 1024 and unit_pairs.unit_from([*points, fill]) is None


def test_what_can_be_a_merge():
    """At 8 MB/s in order a copy of 1 MiB takes 52 ms or more, and never less than 2.6."""
    fill = [make_point("fill", [4e6 * n], bs=32768, start=0, idle=0, after=0, size=MIB)
            for n in (2, 2, 0.4)]
    # one more of one, two or three is a merge whatever it copies; a part of a map is none, and what
    # takes a hundred times as long as another write is no second merge
    for ns, alone, wanted in ((6e7, 1e9, True), (5e7, 1e9, False), (3e7, 3e7, True),
                              (3e7, 6e7, True), (3e7, 9e7, True), (3e7, 3e8, False),
                              (9e6, 9e6, False), (3e7, 3e5, False), (2e6, 2e6, False)):
        assert merge_cost.is_one(fill, ns, alone, MIB) is wanted, (ns, alone)
    assert merge_cost.is_one([], 3e6, 1e8, MIB) and not merge_cost.is_one([], 2e6, 1e8, MIB)


def test_several_units_in_regions_of_a_map():
    """Each write to another unit brings in its map, and that is no merge."""
    def limit(most, switch):
        points = []
        for units in range(1, 9):
            row = open_units.passes(MIB, units, False, 16384, 8, 9 * units, structure.OUTRIGHT, 1 << 30)
            usual = 10**6 + switch * (units > 1)
            times = [2 * 10**7, 2 * 10**7, *[usual + 2 * 10**7 * (units > most)] * 2]
            points += structure.result(row, [times[r.key] for r in row.requests])
        return open_units.limit_from(points, False)
    for switch in (0, 10**6, 3 * 10**6):
        assert [limit(most, switch) for most in (1, 2, 5)] == [1, 2, 5], switch


def in_order(rows, before=10**7):
    """What follows from rows in order, whose passes take so many ns for all units together; a write
    to a unit that is not open takes `before`."""
    points = []
    for units, passes in rows.items():
        row = open_units.passes(MIB, units, False, 16384, 8, 9 * units, structure.OUTRIGHT, 1 << 30)
        times = [before, *(ns // units for ns in passes)]
        points += structure.result(row, [times[r.key] for r in row.requests])
    return points


def test_a_merge_in_a_shorter_row():
    """The limit is what most rows say, and of two the smaller one."""
    rows = {n: (n * 10**7, n * 10**5, n * 10**5) for n in range(1, 9)}
    assert open_units.limit_from(in_order({**rows, 9: (9 * 10**7,) * 3}), False) == 8
    for odd, limit in ((1, 8), (4, 8), (6, 8), (7, 6)):
        points = in_order({**rows, odd: (odd * 10**7, odd * 10**7, odd * 10**5),
                           9: (9 * 10**7,) * 3})
        assert open_units.limit_from(points, False) == limit, odd
    # but not if those behind it merge as well
    points = in_order({n: (n * 10**7, (n if n > 3 else 0) * 10**7 + 10**5, 10**5 * n)
                       for n in range(1, 7)})
    assert open_units.limit_from(points, False) == 3


def test_what_was_open_before():
    """In front of rows in order, the units are open that rows in random order have left, so what a
    unit costs that is not open is known from those."""
    rows = {n: (n * 10**7, 10**5 * n + 10**7 * (n > 4), 10**5 * n) for n in range(1, 6)}
    random = []
    for units in (1, 2, 3, 4):
        row = open_units.passes(MIB, units, True, 16384, 8, 7 * units, structure.OUTRIGHT, 1 << 30)
        times = [10**7 if units > 1 else 10**6, 10**7, 10**5, 10**5]
        random += structure.result(row, [times[r.key] for r in row.requests])
    assert open_units.limit_from([*random, *in_order(rows, 2 * 10**5)], False) == 4


def test_a_unit_too_many_that_goes_on_otherwise():
    """In order it costs as much as one that is opened in random order while there is room for it:
    a tenth of a merge.  If that costs nothing, only merges count."""
    def in_random_order(opens):
        found = []
        for units in (1, 2, 3):
            row = open_units.passes(MIB, units, True, 16384, 8, 7 * units, structure.OUTRIGHT, 1 << 30)
            times = [10**7, *([opens, 10**5, 10**5] if units < 3 else [10**7] * 3)]
            found += structure.result(row, [times[r.key] for r in row.requests])
        return found
    rows = {n: (n * 10**7, 10**5 * n + 10**6 * max(0, n - 4), 10**5 * n) for n in range(1, 7)}
    assert open_units.limit_from([*in_random_order(10**6), *in_order(rows)], False) == 4
    merging = {n: (n * 10**7, (10**5 + 3000 * n) * n + 10**7 * (n > 3), 10**5 * n)
               for n in range(1, 6)}
    assert open_units.limit_from([*in_random_order(12 * 10**4), *in_order(merging)], False) == 3
    assert open_units.limit_from(in_order(rows), False) is None


def test_gaps_that_are_filled():
    """A unit that is written further on first has its gaps filled by the second pass; then all of
    it is open.  If one unit cannot stay open, the third pass tells nothing."""
    def limit(one):
        points = []
        for units in (1, 2, 3, 4):
            row = open_units.passes(MIB, units, True, 16384, 8, 7 * units, structure.OUTRIGHT, 1 << 30)
            times = [10**7, 10**7, one if units == 1 else 10**7, 10**5 if units < 4 else 10**7]
            points += structure.result(row, [times[r.key] for r in row.requests])
        return open_units.limit_from(points, True)
    assert limit(10**5) == 3 and limit(10**7) == 0


def test_windows_begin_at_other_places():
    """Neighbours in size have no beginning in common, as long as there is a choice."""
    for capacity in (n * MIB for n in (480, 600, 768, 960, 1100, 1984, 2100, 3300, 4096, 6912)):
        sizes = [64 * 1024 << n for n in range(10) if 32 * (64 * 1024 << n) <= capacity]
        for one, two in zip(sizes, sizes[1:]):
            starts = [set(unit_pairs.windows(size, capacity, 16)) for size in (one, two)]
            assert not starts[0] & starts[1], (capacity, one)
            assert all(at + two <= capacity for at in starts[1])


def test_most_pairs_across_units_are_slow():
    """Some units may have been open before, but not most of them: then the slow pairs have another
    reason, such as a log that is full now and then, and no unit follows."""
    def found(slow, of):
        across = iter(range(10**6))
        points = []
        for size in unit_pairs.next_sizes([], 1 << 30, 8192):
            test = unit_pairs.test(size, 1 << 30, 8192, 8192, structure.OUTRIGHT)
            times = []
            for one, two in zip(test.requests[::2], test.requests[1::2]):
                parted = one.offset // MIB != two.offset // MIB
                times += [10**8 if parted and next(across) % of < slow else 10**6] * 2
            points += structure.result(test, times)
        return unit_pairs.unit_from(points)
    assert found(1, 1) == MIB and found(2, 5) == MIB    # 1.5 quick ones for each slow one
    assert found(2, 7) is None and found(1, 5) is None  # 2.5, and 4


def test_a_merge_for_another_reason():
    """A row that stays open is certain, and a smaller one with a merge was an accident."""
    points = []
    for units in (1, 2, 3, 4, 5, 6):
        row = open_units.passes(MIB, units, True, 16384, 8, 7 * units, structure.OUTRIGHT, 1 << 30)
        slow = {1: (), 4: (1,), 6: (1, 2)}.get(units, ())
        times = {0: 10**8, 1: 10**8, 2: 10**6 + (1 in slow) * 10**8, 3: 10**6 + (2 in slow) * 10**8}
        points += structure.result(row, [times[r.key] for r in row.requests])
    assert open_units.limit_from(points, True) == 5
    assert open_units.next_rows(points, True, MIB, 1 << 30) == []


def test_page_of_reads_with_a_small_excess():
    """What costs about one percent counts if it is the same for all sizes from one on, and nothing
    below."""
    test = structure.page_reads(1 << 30)

    def reads(page, excess, noise=0, key=4):
        return structure.result(test, [10**6 + excess * ((r.offset + r.length - 1) // page
                                                       - r.offset // page) + noise * (r.key == key)
                                     for r in test.requests])
    assert structure.page_read_from(reads(32768, 27000)) == 32768
    assert structure.page_read_from(reads(4096, 15000)) == 4096
    assert structure.page_read_from(reads(16384, 7000)) == 16384
    assert structure.page_read_from(reads(32768, 5000)) is None
    assert structure.page_read_from(reads(32768, 27000, 9000)) is None
    # the first reads of all bring in a map
    assert structure.page_read_from(reads(16384, 200000, 600000, 0)) == 16384
    # less counts if nearly all rows of -a have it
    for others, wanted in ((0, 32768), (1, 32768), (3, None)):
        rows = [make_point("flashbench-align", [10**6 + 4000 * (place == "on") + 9000 * (
            place == "on" and n < others)], align=131072 << n, bs=1024, place=place)
                for n in range(8) for place in ("pre", "on", "post")]
        assert structure.page_read_from([*reads(32768, 4000), *rows]) == wanted, others
    assert structure.page_read_from([*reads(32768, 4000), *rows[-12:]]) is None


def test_a_read_that_brings_in_a_map():
    """One of the reads of a row takes longer, wherever it is."""
    test = structure.page_reads(1 << 30)
    for k in range(0, 252, 5):
        points = structure.result(test, [
            10**6 + 40000 * ((r.offset + r.length - 1) // 16384 - r.offset // 16384)
            + 10**6 * (i == k) for i, r in enumerate(test.requests)])
        assert structure.page_read_from(points) == 16384, k


def test_writes_that_end_behind_their_answers():
    """After a rest the first of two pages has no other one to wait for."""
    def bursts(*rates):
        return [make_point("fill", [rate], bs=32768, start=start, idle=10**10, after=after,
                           size=131072)
                for start in (0, 43 * 32768) for after, rate in enumerate(rates)]
    for rates, wanted in (((6e6, 5e6, 5e6), True), ((5.1e6, 5e6, 5e6), False),
                          ((6e6, 5e6, 6e6), False), ((6e6,), False), ((), False)):
        assert behaviour.writes_behind(bursts(*rates)) is wanted, rates
        found = Found(bursts(*rates))
        findings.judge(found)
        assert found.seen.flush is wanted and not found.flushes
    # the other burst does not show it
    assert not behaviour.writes_behind([*bursts(6e6, 5e6)[:2], *bursts(5e6, 5e6)[2:]])


def test_a_cache_before_merges():
    """What is slower still behind the cache does not make the cache larger."""
    points = []
    for start in (0, MIB):
        rates = rates_of_fill(32 * 1024, start, 2 * 10**9, MIB, 4e7, 1e7, 32 * MIB)
        for p in rates:
            how = dict(p.parameters)
            points.append(make_point("fill", [p.value / (3 if how["after"] >= 8 * MIB else 1)],
                                     **how))
    assert abs(behaviour.cache_from(points)[0] / MIB - 1) < 0.01, behaviour.cache_from(points)


def test_a_cache_before_merges_in_one_of_the_bursts():
    """What comes behind the cache is slower than the device is without merges, in one burst or the
    other, and so is the part in which the cache ends."""
    for slower in ({8: 1.7, 16: 2.6}, {4: 1.2}, {4: 1.2, 8: 2.5, 16: 2}):
        for which in (0, 1):
            points = []
            for n, start in enumerate((0, MIB)):
                for p in rates_of_fill(32 * 1024, start, 10**10, 5 * MIB, 4e7, 1e7, 32 * MIB):
                    how = dict(p.parameters)
                    by = slower.get(how["after"] // MIB, 1) if n == which else 1
                    points.append(make_point("fill", [p.value / by], **how))
            size = behaviour.cache_from(points)[0]
            assert abs(size / (5 * MIB) - 1) < 0.01, (slower, which, size)


def test_a_cache_that_gains_little():
    """A small step counts between two rates that are constant, and only there."""
    def both(noise):
        points = []
        for start in (0, MIB):
            for n, p in enumerate(rates_of_fill(32 * 1024, start, 2 * 10**9, 3 * MIB, 2e7, 1.7e7,
                                                32 * MIB)):
                points.append(make_point("fill", [p.value * (1 + noise * (n % 2))],
                                         **dict(p.parameters)))
        return behaviour.cache_from(points)
    assert abs(both(0)[0] / (3 * MIB) - 1) < 0.01, both(0)
    assert both(0.03) is None


def test_a_cache_that_is_not_empty():
    """The first part of a burst may be slower; the rate is that of the others."""
    points = [make_point("fill", [p.value / (1 + (dict(p.parameters)["after"] == 0))],
                         **dict(p.parameters)) for start in (0, MIB)
              for p in rates_of_fill(32 * 1024, start, 2 * 10**9, MIB, 4e7, 1e7, 32 * MIB)]
    size, fast, _ = behaviour.cache_from(points)
    assert abs(size / MIB - 1) < 0.01 and abs(fast / 4e7 - 1) < 0.01, (size, fast)


def test_flush_depth_rest_and_trim_by_hand():
    small = dict(bs=4096, stride=4096, count=32)
    flushes = [write_point(1e5, start=MIB, **small),
               write_point(3e5, start=MIB + 32 * 4096, flush=True, **small)]
    assert behaviour.flush_cost(flushes) == (1e5, 3e5) and behaviour.flush_matters(flushes)
    assert behaviour.flush_cost(flushes[:1]) is None
    for gains, result in (([1, 2, 4, 4, 4, 4], (4, 4.0)),
                          ([1, 1.05, 1.1, 1.1, 1.1, 1.1], (1, 1.0))):
        points = [write_point(1e6 / gain, bs=65536, start=n, stride=65536, count=128,
                              **({"depth": depth} if depth > 1 else {}))
                  for n, (depth, gain) in enumerate(zip(behaviour.DEPTHS, gains))]
        assert behaviour.depth_from(points, "write") == result, gains
        assert behaviour.depth_from(points, "read") is None
    rests = behaviour.rest(1 << 30)
    points = structure.result(rests, [100 if r.key == 2 else 300 for r in rests.requests])
    assert behaviour.rest_gain(points) == 3 and behaviour.rest_gain(points[:2]) is None
    for rested, quicker in ((1000, False), (999, True)):  # a gain of 1.3, and a little more
        points = structure.result(rests, [rested if r.key == 2 else 1300 for r in rests.requests])
        assert any("After a pause of 10 s" in s for s in sentences(Found(points))) == quicker, rested
    trim = behaviour.trim(1 << 30)
    seen = {r.offset: "zeros" for r in trim.requests if r.op == "look"}
    points = structure.result(trim, [400 if r.key == 0 else 200 for r in trim.requests]) + \
        structure.contents(trim, seen)
    assert behaviour.trim_gain(points) == 2 and behaviour.trim_reads(points) == "zeros"
    assert forged.bounds(points) is None    # what TRIM did says nothing about the capacity
    assert any(s.startswith("After TRIM, reads give zeros") for s in sentences(Found(points)))


def test_a_zone_by_hand():
    """The first command to a unit may pay for what was open before: it is no zone.  Of fewer than
    four units none is the odd one."""
    def rates(odd, units=6):
        return [make_point("flashbench-find-fat", [odd.get((n, size), 9e6)], erasesize=MIB // 2,
                           units=units, unit=n, chunk=size << 16) for size in (8, 4, 2, 1)
                for n in range(units)]
    assert behaviour.zone_from(rates({})) == []
    assert behaviour.zone_from(rates({(1, 8): 0.9e6, (4, 8): 0.9e6})) == []
    assert behaviour.zone_from(rates({(2, size): 12.1e6 for size in (8, 4, 2)})) == [2]
    assert behaviour.zone_from(rates({(2, size): 11.9e6 for size in (8, 4, 2)})) == []
    slow = {(n, size): 3e6 for n in (0, 1) for size in (8, 4, 2, 1)}
    assert behaviour.zone_from(rates(slow)) == [0, 1]
    assert behaviour.zone_from(rates({(3, size): 3e6 for size in (8, 4, 2, 1)}, 4)) == [3]
    assert behaviour.zone_from(rates({(2, size): 3e6 for size in (8, 4, 2, 1)}, 3)) == []


def test_commands_that_are_cut():
    """Long commands in parts that end inside pages show the units in random order."""
    points = [make_point("flashbench-open-au", [1e7 if n <= (7 if chunk < MIB else 2) else 1e6],
                         erasesize=6 * MIB, open=n, random=False, chunk=chunk)
              for n in range(1, 10) for chunk in (6 * MIB, 3 * MIB, 96 * 1024)]
    assert flashbench_open_units.limits(points, False) == [2, 7] and flashbench_open_units.limit_from(points, False) == 7
    assert flashbench_open_units.limits(points[:12], False) == [2, None]  # so the test goes on


def test_some_devices_by_number():
    """A sample of probe_truth.py, which says what it draws.  Judged again from the points that were
    kept, a device is the same, and it is not measured: there is no program."""
    with tempfile.TemporaryDirectory() as folder:
        for number in SAMPLE:
            line = probe_truth.device(number, SEED, Tool(), Path(folder))
            assert "impossible" not in line and line["wrong"] == {}, line
            assert line["hidden"] == SAMPLE[number], line
            assert probe_truth.device(number, SEED, None, Path(folder)) == line


def test_some_cards_by_number():
    """The same with maps in parts, and what is written behind."""
    for number in CARDS:
        line = probe_truth.device(number, 1, Tool(), cards=True)
        assert line["wrong"] == {} and line["hidden"] == [], line


def test_cards_that_were_not_told_once():
    """Merges that a page that is gathered hides, or the answers that come early; regions of a map
    that seemed to be units; rows in order in front of which others had left units open; pages whose
    reads cost little."""
    for seed, number in sampled_unless_long(MISSED_CARDS, 3):
        line = probe_truth.device(number, seed, Tool(), cards=True)
        assert line["wrong"] == {} and line["hidden"] == [], (seed, line)


def test_devices_that_were_not_told_once():
    """What each was missed for: a granule behind parallel parts; a log for all writes that seemed
    to be one for small writes; that log behind a cache; places across that were multiples of 3
    units as well; a merge behind one burst; units in order that are not closed; a cache that is
    emptied slowly; rows in both orders with the same requests; a granule behind a cache and
    parallel parts; a log for all writes behind a cache; no unit that is open in random order; long
    writes that alternate; merges that cost half of what a unit in order does."""
    for seed, number in sampled_unless_long(MISSED, 2):
        line = probe_truth.device(number, seed, Tool())
        assert line["wrong"] == {} and line["hidden"] == [], (seed, line)


run(globals())
