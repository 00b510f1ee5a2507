#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab fit: what it takes a probed device for, where that decides about other work."""

import math
from dataclasses import replace

from flashemu_script import run, skip

try:
    import cmaes  # noqa: F401
    import scipy.optimize  # noqa: F401
except ImportError:
    skip("no Python modules cmaes and scipy")

import fit_truth  # noqa: E402
from flashemu_lab.fit import compare, curves, fit_result, fitting, rules  # noqa: E402
from flashemu_lab.probe.tests import behaviour, unit_pairs  # noqa: E402
from flashemu_lab.fit import search  # noqa: E402
from flashemu_lab.probe.tests import structure, unit_size  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, make_point  # noqa: E402
from flashemu_lab.fit.model import Structure, neighbours, paged, profile_keys  # noqa: E402
from flashemu_lab.fit.model import times_of  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402
from flashemu_probe_points import CAPACITY, KIB, MIB, answered, reads, rows, shown  # noqa: E402

MERGE = 10**8


def candidates(*points):
    return rules.candidates(Measurement(points, "x", CAPACITY))


def scattered(ns):
    return answered(behaviour.scattered(4 * MIB, CAPACITY), ns)


def parted(part, page):
    """Scattered writes to a map that knows parts of pages: one program for each page, and a part
    that is written only in part is read before."""
    return scattered(lambda r: 1e6 * -(-r.length // page)
                     + 5e5 * (r.offset % part != 0 or r.length % part != 0))


def test_parts_of_pages():
    known = (*reads(64 * KIB), *shown(MIB), *rows(4))
    for part, page in ((KIB, 8 * KIB), (2 * KIB, 32 * KIB)):
        found = candidates(*known, *parted(part, page))
        assert {(s.page, s.parts) for s in found if s.strategy == "segment" and s.parts > 1} == \
            {(page, page // part)}, found
        # what else the measurement says stays
        assert any(s.parts == 1 for s in found)
        assert {s.unit * s.group for s in found if s.parts > 1} >= {MIB}
    # a page that is a part, one that has too many parts, and no granule at all
    for part, page in ((4 * KIB, 4 * KIB), (KIB, 32 * KIB)):
        assert all(s.parts == 1 for s in candidates(*known, *parted(part, page))), (part, page)
    assert all(s.parts == 1 for s in candidates(*known, *scattered(lambda r: 1e6)))


def test_whether_small_writes_in_order_are_part_of_the_log():
    """Nothing tells but the comparison."""
    known = (*reads(64 * KIB), *shown(4 * MIB))
    assert all(s.small_join for s in candidates(*known))
    logged = scattered(lambda r: 1e6 if r.length <= 8 * KIB else MERGE)
    found = candidates(*known, *logged)
    assert all(s.small_write == 8 * KIB for s in found)
    assert {n for s in found for n in (s, replace(s, small_join=not s.small_join))} == set(found)
    # each of them is tried on
    fits = [fitting.Fit(s, (), 1.0) for s in sorted(found, key=lambda s: not s.small_join)]
    assert not fitting._each_sort_first(fits)[1].structure.small_join


def test_parts_of_allocation_units():
    """Small units may be the parts of those of an SD card, of which the second has the FAT."""
    for unit, group in ((512 * KIB, 8), (MIB, 4), (4 * MIB, 0), (3 * MIB // 2, 0)):
        found = candidates(*reads(64 * KIB), *shown(unit), *rows(4))
        wanted = {(unit, group, 0, 0), (unit, group, group, group)} if group else set()
        assert {(s.unit, s.group, s.zone_start, s.zone_units) for s in found
                if s.group > 1} == wanted, unit
    zoned = [s for s in candidates(*reads(64 * KIB), *shown(512 * KIB), *rows(4)) if s.zone_units]
    assert {(s.small_log, s.small_write) for s in zoned} == {(10, 2 * KIB)}


def test_bursts_count_where_no_cache_takes_them():
    tests = [behaviour.burst(CAPACITY, shifted) for shifted in (False, True)]
    plain = [p for test in tests for p in answered(test, lambda r: 4e6)]
    cached = []
    for test in tests:  # the first 2 MiB behind the rest are quick
        start = next(r.offset for r in test.requests if r.op == "write" and r.key > 0)
        cached += answered(test, lambda r, start=start: r.length if r.op == "rest" else
                           1e6 if r.key > 0 and r.offset - start < 2 * MIB else 4e6)
    assert behaviour.cache_from(cached) and not behaviour.has_cache(plain)
    kept = rules.fittable(Measurement(tuple(plain), "x", CAPACITY)).points
    assert kept == tuple(plain) and all(behaviour.is_burst(p) for p in kept)
    assert rules.fittable(Measurement(tuple(cached), "x", CAPACITY)).points == ()
    whole = [p for n in range(3) for p in answered(behaviour.fill(CAPACITY, n), lambda r: 1e7)]
    assert whole and not any(map(behaviour.is_burst, whole))
    assert rules.fittable(Measurement((*plain, *whole), "x", CAPACITY)).points == tuple(plain)


def test_single_commands_are_no_rate():
    """A cache may have taken one."""
    points = [make_point("seq-write", [value], bs=4096, size=size)
              for size, value in ((4096, 3e8), (12288, 3e8), (16384, 1e7), (4190208, 2e7))]
    others = [make_point("hdparm-t", [3e7], direct=False),
              make_point("dd", [4e7], op="write", bs=MIB, bytes=MIB)]
    assert [rate for _, _, rate in curves.curves([*points, *others]).rates] == [1e7, 2e7, 3e7, 4e7]
    first = candidates(*reads(64 * KIB), *points)[0]
    m = Measurement((*reads(64 * KIB), *points), "x", CAPACITY)
    times = dict(zip((t.key for t in times_of(first)), rules.first_times(first, m)))
    assert math.isclose(times["nand.tPROG"], 0.75 * first.page * 1e9 / 2e7)


def test_rules_look_at_the_whole_measurement():
    """That pairs of writes merge units follows from how quickly a unit can be copied, and that from
    what no fit can use."""
    points = list(reads(64 * KIB))
    for size in (64 * KIB << n for n in range(8)):
        test = unit_pairs.test(size, CAPACITY, 8 * KIB, 16 * KIB, structure.OUTRIGHT)
        points += answered(test, lambda r, size=size: 1e6 if size < 512 * KIB else 4e6)
    fills = answered(behaviour.fill(CAPACITY, 0), lambda r: 40 * r.length + 1)
    assert unit_size.shown(points) and not unit_size.shown([*points, *fills])
    m = Measurement(tuple(points), "x", CAPACITY)
    whole = replace(m, points=(*points, *fills))
    assert rules.fittable(whole) == m
    with compare.Comparer(Tool(), m, 1) as comparer:
        alone = fitting.Fitting(comparer, m, 60, 1)._starts
        seen = fitting.Fitting(comparer, m, 60, 1, whole=whole)._starts
    assert "page" not in {s.strategy for s in alone}
    assert seen == rules.candidates(whole) and "page" in {s.strategy for s in seen}


def in_turn(one, several):
    """Rows of flashbench -O in order: ns for a KiB of one unit, and of several."""
    return [make_point("flashbench-open-au", [KIB * 1e9 / (several if n > 1 else one)],
                       erasesize=4 * MIB, open=n, random=False, chunk=chunk * KIB)
            for n in (1, 2, 4, 8) for chunk in (64, 256, 1024, 4096)]


def test_runs_that_go_past_a_cache():
    known = reads(64 * KIB)
    found = candidates(*known, *in_turn(1e5, 2e5))
    assert {s.run for s in found if s.strategy == "page"} == {0, 64 * KIB, 128 * KIB, 256 * KIB}
    assert {s.run for s in found if s.strategy != "page"} <= {0}
    assert {s.run for s in candidates(*known, *in_turn(1e5, 1.1e5))} == {0}
    # not of a log without probe, and with numbers for which there is a device
    assert {s.run for s in candidates(*in_turn(1e5, 2e5))} == {0}
    s = next(s for s in found if s.run)
    first = dict(zip((t.key for t in times_of(s)), rules.first_times(s, Measurement(
        (*known, *in_turn(1e5, 2e5), *scattered(lambda r: 5e6)), "x", CAPACITY))))
    assert first["ftl.map_switch"] == 0.0 and first["nand.slc_tPROG"] > 4e6, first
    keys = profile_keys(s, list(first.values()))
    assert keys["ftl.slc_run"] == str(s.run) and keys["ftl.slc_mode"] == "static"
    assert fit_result.sections(keys).count("[nand]") == 1, keys
    assert "ftl.slc_run" not in profile_keys(replace(s, run=0), list(first.values())[:-1])
    assert {n.run for n in neighbours(s)} == {s.run // 2, s.run, s.run * 2}
    assert {n.run for n in neighbours(replace(s, run=0))} == {0}
    assert {n.run for n in neighbours(replace(s, run=s.page)) if n.page == s.page} == \
        {s.page, 2 * s.page}
    # one of them is tried on, and larger pages take longer in the cache as well
    without = replace(s, run=0)
    fits = [fitting.Fit(n, (), 1.0) for n in (without, replace(without, spare=60), s)]
    assert fitting._each_sort_first(fits) == [fits[0], fits[2], fits[1]]
    m = Measurement((*known, *in_turn(1e5, 2e5)), "x", CAPACITY)
    with compare.Comparer(Tool(), m, 1) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        fit = search.start(s, list(first.values()))
        other = one.moved(fit, paged(s, 2 * s.page))
    for key, is_program in (("nand.tPROG", True), ("nand.slc_tPROG", True), ("nand.tR", False)):
        value = dict(zip(first, other.values()))[key]
        assert math.isclose(value, first[key] * (1 + is_program)), key


def cloned(s, ns, budget, off):
    """The structure that `fit` finds for a device, whose clone does other work in the right time,
    with logarithmic errors of less than `off`."""
    values = [ns.get(t.key, 0.0) for t in times_of(s)]
    tool = Tool()
    whole = fit_truth.probe(tool, s, values)
    m = rules.fittable(whole)
    found = fitting.fit(tool, m, budget, 1, 1, whole=whole, trust=False)
    want = fit_truth.run(tool, s, values, fit_truth.WORK)
    got = fit_truth.run(tool, found.structure, found.values, fit_truth.WORK)
    errors = [abs(math.log(a.value / b.value)) for a, b in zip(got.points, want.points)]
    assert max(errors) < off, (errors, found.structure, found.keys())
    return found.structure


TIMES = {"link.command_overhead": 1e5, "link.bandwidth": 4e7, "nand.tPROG": 1e6,
         "nand.bus_rate": 1e8, "nand.tR": 1e5, "nand.tBERS": 3e6, "ftl.map_switch": 1e6,
         "ftl.map_read": 2e5}


def test_a_clone_does_other_work():
    """A device with parts of pages and a log that takes small writes in order as well."""
    s = Structure("segment", 480 * MIB, 8 * KIB, 2 * MIB, parts=8, open_linear=1, open_random=0,
                  small_log=3, small_write=8 * KIB, small_join=False)
    assert not cloned(s, TIMES, 300, 0.15).small_join


def test_a_clone_has_an_slc_cache():
    """A card whose small writes take longer than its streams."""
    s = Structure("page", 480 * MIB, 8 * KIB, run=128 * KIB)
    ns = TIMES | {"ftl.map_switch": 0.0, "nand.tPROG": 4e5, "nand.slc_tPROG": 2e6}
    assert cloned(s, ns, 300, 0.1).run == 128 * KIB


run(globals())
