#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab fit: what it takes from the tests of `probe`, by hand and on drawn devices."""

import argparse
import math
from dataclasses import replace

from flashemu_fit_bench import SEGMENT, measured, values
from flashemu_script import run, skip

try:
    import cmaes  # noqa: F401
    import scipy.optimize  # noqa: F401
except ImportError:
    skip("no Python modules cmaes and scipy")

import fit_truth  # noqa: E402
from flashemu_lab.fit import compare, fit_result, fitting, rules  # noqa: E402
from flashemu_lab.probe.tests import behaviour  # noqa: E402
from flashemu_lab.fit import from_probe, model, search  # noqa: E402
from flashemu_lab.probe.tests import open_units, structure  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, make_point  # noqa: E402
from flashemu_lab.fit.model import Structure, times_of  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402
from flashemu_probe_points import CAPACITY, KIB, MIB, answered, looked, reads, rows  # noqa: E402
from flashemu_probe_points import shown  # noqa: E402

CUT = 120 * KIB


def test_where_commands_are_cut():
    for limit in (64 * KIB, 120 * KIB, 128 * KIB, 256 * KIB):
        assert from_probe.limits(reads(limit), 512 * KIB, CUT) == [limit], limit
    assert from_probe.limits(reads(512 * KIB), 512 * KIB, CUT) == [512 * KIB]
    # what costs a hundredth of a command is no cut
    assert from_probe.limits(reads(64 * KIB, again=3e3), 512 * KIB, CUT) == [512 * KIB]
    # of large pages there are too few reads of several
    assert from_probe.limits(reads(512 * KIB, 64 * KIB), 512 * KIB, CUT) == [512 * KIB, CUT]
    assert from_probe.limits([], 512 * KIB, CUT) == [512 * KIB, CUT]


def test_times_by_hand():
    for page in (4 * KIB, 16 * KIB):
        found = from_probe.times(reads(512 * KIB, page), page)
        wanted = {"link.bandwidth": 2e7, "nand.tR": 1e5, "ftl.map_read": 2e5,
                  "link.command_overhead": 3e5, "ftl.part_write": 0.0}
        assert found.keys() == wanted.keys()
        for key, value in wanted.items():
            assert math.isclose(found[key], value, rel_tol=0.01), (key, found[key])
    assert from_probe.times([], 4 * KIB) == {}
    written = answered(behaviour.scattered(4 * MIB, CAPACITY),
                       lambda r: 2e6 if r.length >= 16 * KIB else 3e6)
    found = from_probe.times([*reads(512 * KIB, 16 * KIB), *written], 16 * KIB)
    assert found["ftl.part_write"] == 1e6


def test_what_an_end_inside_a_page_takes():
    """Of commands that are longer than a page; 5 ms, of which half a page takes 1."""
    page = 16 * KIB

    def ns(r):
        pages = -(-r.length // page)
        end = r.length % page != 0
        return 2e6 * pages + 1e6 * end + 4e6 * (end and r.length > page)
    written = [*answered(structure.page(4 * MIB, CAPACITY), ns),
               *answered(behaviour.scattered(4 * MIB, CAPACITY), ns)]
    ends = answered(structure.tails(4 * MIB, page, CAPACITY), ns)
    assert {(dict(p.parameters)["bs"], dict(p.parameters)["size"]) for p in ends} == {
        (24 * KIB, 24 * KIB), (24 * KIB, 84 * 24 * KIB),
        (72 * KIB, 72 * KIB), (72 * KIB, 27 * 72 * KIB)}
    assert {search.kind(p) for p in ends} == {"writes that end inside pages"}
    assert {search.kind(p) for p in written} == {"rates in order", "single writes"}
    known = reads(512 * KIB, page)
    assert math.isclose(from_probe.times([*known, *written, *ends], page)["ftl.tail_write"], 4e6)
    assert "ftl.tail_write" not in from_probe.times([*known, *written], page)
    # a unit of a few pages is too short
    assert not structure.tails(64 * KIB, page, CAPACITY).requests
    for capacity in (8 * MIB, 48 * MIB, CAPACITY):
        requests = structure.tails(4 * MIB, page, capacity).requests
        assert all(r.op == "write" and r.offset + r.length <= capacity for r in requests)


def test_many_small_writes():
    """They are all over the device, and a fit uses them, though they are many."""
    for capacity in (48 * MIB, CAPACITY):
        test = behaviour.logged(4 * KIB, capacity)
        places = [r.offset for r in test.requests]
        assert len(places) == len(set(places)) == 3 * behaviour.LOGGED and test.merges > 0
        assert 0 < min(places) and 0.7 * capacity < max(places) <= capacity - 4 * KIB
        assert all(r.offset % (16 * KIB) == 0 and r.op == "write" for r in test.requests)
    points = answered(test, lambda r: 1e6)
    assert [p.value for p in points] == [1e6] * 3
    flushed = answered(behaviour.logged(4 * KIB, CAPACITY, structure.Seen(flush=True)),
                       lambda r: 1e6 if r.op == "write" else 5e5)
    assert [p.value for p in flushed] == [1.5e6] * 3
    others = [make_point("request", [1e6], op="write", bs=4096, start=0, stride=4096, count=256,
                         depth=4),
              make_point("request", [1e6], op="write", bs=4096, start=0, stride=8192, count=300)]
    kept = rules.fittable(Measurement((*points, *flushed, *others), "x", CAPACITY)).points
    assert kept == (*points, *flushed)
    assert {search.kind(p) for p in kept} == {"many small writes"}
    assert search.kind(others[1]) == "single writes"


def test_flashbench_tells_none_of_it():
    points = [make_point("flashbench-open-au", [1e7], erasesize=MIB, open=1, random=False,
                         chunk=64 * KIB)]
    points += [make_point("flashbench-align", [1e6 + 1e5 * (place == "on" and align >= 16 * KIB)],
                          align=align, bs=KIB, place=place)
               for align in (2 * KIB << i for i in range(12)) for place in ("pre", "on", "post")]
    assert structure.page_read_from(points) == 16 * KIB
    assert not from_probe.is_probe(points) and from_probe.pages(points) == []
    assert from_probe.times(points, 4 * KIB) == {} and not from_probe.gathers(points)
    assert not from_probe.no_zone(points)


def test_a_device_that_gathers():
    for flush, count, wanted in ((True, 16, True), (True, 2, True), (True, 32, False),
                                 (False, 16, False)):
        more = {"flush": True} if flush else {}
        points = [make_point("request", [1e6], op="write", bs=8192, start=0, stride=MIB,
                             count=count, **more)]
        assert from_probe.gathers(points) is wanted, (flush, count)


def test_a_zone_is_quick_for_small_writes():
    assert from_probe.no_zone(looked(1e6, 1.2e6)) and from_probe.no_zone(looked(1.2e6, 1e6))
    assert not from_probe.no_zone(looked(1e6, 2e6)) and not from_probe.no_zone(looked(2e6, 1e6))


def test_rates_of_first_units_alone_make_no_zone():
    """A unit that is rewritten at half of the rate was open before, if small writes say nothing
    else."""
    fat = [make_point("flashbench-find-fat", [1e7 / (1 + (unit == 4))], erasesize=MIB, units=6,
                      unit=unit, chunk=chunk)
           for chunk in (MIB, MIB // 2, MIB // 4) for unit in range(6)]
    points = (*reads(64 * KIB), *shown(MIB), *rows(4), *fat)
    for more, units in (((), 1), (looked(1e6, 1e6), 0), (looked(1e6, 3e6), 1)):
        m = Measurement((*points, *more), "x", CAPACITY)
        assert rules.candidates(m)[0].zone_units == units, more


def test_what_is_told_is_no_candidate_twice():
    points = (*reads(64 * KIB), *shown(MIB), *rows(40))
    m = Measurement(points, "x", CAPACITY)
    kept = rules.fittable(m)
    assert open_units.limit_from(kept.points, True) == open_units.limit_from(kept.points, False) == 40
    found = rules.candidates(kept)
    assert found[0] == Structure("segment", CAPACITY, 4 * KIB, MIB, open_linear=40, open_random=40,
                                 limit=64 * KIB)
    assert all((s.strategy, s.page, s.open_linear, s.limit, s.behind) ==
               ("segment", 4 * KIB, 40, 64 * KIB, 0) for s in found)
    # a descent begins where the reads say
    first = dict(zip((k.key for k in times_of(found[0])), rules.first_times(found[0], kept)))
    assert math.isclose(first["nand.tR"], 1e5, rel_tol=0.01), first
    # a unit without a page that it consists of
    odd = rules.candidates(Measurement((*reads(64 * KIB, 64 * KIB), *shown(96 * KIB)), "x",
                                       CAPACITY))
    assert {s.strategy for s in odd} == {"page"}
    # without what shows the unit, there may be none, and long rows are not a fit's
    other = rules.fittable(replace(m, points=(*reads(64 * KIB), *rows(40))))
    assert open_units.limit_from(other.points, True) is None
    assert "page" in {s.strategy for s in rules.candidates(other)}
    # a device that gathers may write behind
    flushed = make_point("request", [1e8], op="write", bs=8192, start=8192, stride=3 * MIB, count=2,
                         flush=True)
    behind = rules.candidates(rules.fittable(replace(m, points=(*points, flushed))))
    assert {(s.cache, s.behind) for s in behind} == {(0, 0), (4 * KIB, 8 * KIB)}


def test_a_device_that_merges_for_each_write_copies_units():
    """Even its writes in order copy them, so the program is that of a merge; with units that are
    open in random order, a gap may be filled."""
    def merging(r):
        return 10**8
    passes = [answered(open_units.passes(MIB, n, order, 16 * KIB, 8, 70 * n % 500, structure.OUTRIGHT,
                                     CAPACITY), merging)
              for order in (True, False) for n in (1, 2)]
    points = (*reads(64 * KIB), *shown(MIB), *(p for some in passes for p in some))
    m = Measurement(points, "x", CAPACITY)
    assert open_units.limit_from(points, False) == open_units.limit_from(points, True) == 0
    found = rules.candidates(m)
    assert found[0] == Structure("block", CAPACITY, 4 * KIB, MIB, limit=64 * KIB)
    assert [s for s in found if s.strategy == "block"] == found[:1]
    first = dict(zip((k.key for k in times_of(found[0])), rules.first_times(found[0], m)))
    copied = from_probe.copied_ns(points, 256)
    assert first["nand.tPROG"] == 0.75 * copied and first["ftl.copy_page"] == 0
    assert not first.keys() & {"ftl.map_read", "ftl.part_write", "ftl.tail_write"}
    keys = model.profile_keys(found[0], list(first.values()))
    assert keys["ftl.type"] == "block" and "ftl.open_linear" not in keys and \
        "ftl.map_region" not in keys
    near = model.neighbours(found[0])
    assert all(n.strategy == "block" for n in near)
    assert {n.unit for n in near} == {MIB // 2, MIB, 2 * MIB}
    told = fit_result.structure_text(found[0])
    assert told == ("The device is mapped by units of 1 MiB, pages of 4 KiB, and copies a unit for "
                    "each command that writes a part of it."), told


def test_gaps_are_a_candidate_and_the_nearer_one_stays():
    points = (*reads(64 * KIB), *shown(MIB), *rows(4))
    found = rules.candidates(Measurement(points, "x", CAPACITY))
    assert [(s.open_random, s.gap_fill) for s in found[:2]] == [(4, 0), (4, 256)]
    for errors in ((0.2, 0.1), (0.1, 0.2)):
        fits = [replace(search.start(s, rules.first_times(s, Measurement(points, "x", CAPACITY))),
                        error=e) for s, e in zip(found, errors)]
        other = replace(fits[0], structure=replace(found[0], open_linear=9), error=0.3)
        kept = fitting._nearer_twins([*fits, other])
        assert kept == [min(fits, key=lambda f: f.error), other]


def test_times_that_nothing_needs_become_zero():
    """What the device has stays; a time that no point shows goes, and so do two of the kind."""
    m = measured(SEGMENT)
    wanted = dict(zip((t.key for t in times_of(SEGMENT)), values(SEGMENT)))
    extra = wanted | {"ftl.tail_write": 5e7, "ftl.part_write": 1e3}
    with compare.Comparer(Tool(), m, 1) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        one.left = 100
        fit = one.judge([search.start(SEGMENT, list(extra.values()))])[0]
        after = one.without(fit)
        assert after.error <= fit.error * 1.01 and after.structure == SEGMENT
        left = dict(zip(extra, after.values()))
        assert left["ftl.tail_write"] == left["ftl.part_write"] == 0, left
        assert math.isclose(left["ftl.map_switch"], wanted["ftl.map_switch"], rel_tol=1e-6), left
        one.left = 3  # the budget ends: what has been found stays
        assert one.without(fit) == fit


def test_a_descent_begins_with_the_merges_that_were_measured():
    """Beyond 5/4 of a program, which takes 0.5 ms at the 8 MB/s that are assumed, each of the 256
    pages of a unit takes what it takes."""
    for merge in (10**9, 10**8):
        points = (*reads(64 * KIB), *shown(MIB), *rows(4, merge))
        m = Measurement(points, "x", CAPACITY)
        assert from_probe.copied_ns(points, 256) == merge / 256
        s = rules.candidates(m)[0]
        first = dict(zip((k.key for k in times_of(s)), rules.first_times(s, m)))
        assert math.isclose(first["ftl.copy_page"], max(merge / 256 - 6.4e5, 0.0)), first
    assert from_probe.copied_ns([], 256) is None


def test_requests_take_their_time():
    """A median hides how long the slower requests took, so a search allows for the slowest."""
    points = [make_point("request", [1e6], op="write", bs=8192, start=0, stride=MIB, count=2,
                         median=True),
              make_point("request", [3e8], op="write", bs=8192, start=0, stride=MIB, count=4),
              make_point("request", [1e5], op="read", bs=8192, start=0, stride=MIB, count=10),
              make_point("seq-write", [1e6], bs=8192, size=MIB)]
    assert compare.requests_ns(points) == 2 * 3e8 + 4 * 3e8 + 10 * 1e5
    assert compare.requests_ns(points[3:]) == 0


def test_a_device_is_not_given_up_for_its_requests():
    """They merge a unit each, which takes far longer than the test of flashbench beside them."""
    points = [make_point("flashbench-open-au", [1], erasesize=2 * MIB, open=1, random=False,
                         chunk=2 * MIB),
              make_point("request", [1], op="write", bs=16 * KIB, start=MIB, stride=10 * MIB,
                         count=40)]
    m = measured(SEGMENT, points=points)
    assert 40 * m.points[1].value > 20 * compare.device_ns(m.points[0])
    with compare.Comparer(Tool(), m, 1) as comparer:
        one = search.Search(comparer, m, [1.0, 1.0])
        one.left = 1
        assert one.judge([search.start(SEGMENT, values(SEGMENT))])[0].error < 1e-6


def test_reads_and_writes_are_two_kinds():
    kinds = [search.kind(make_point("request", [1], op=op, bs=512, start=0, stride=0, count=1))
             for op in ("read", "write")]
    assert kinds == ["single reads", "single writes"]


def test_a_probed_device_is_found_again():
    """One that copies a unit for each command, a map only, one that fills gaps and whose long
    commands take longer when they end inside a page, and one with a log for small writes.  What
    nobody measured takes the right time."""
    arguments = argparse.Namespace(seed=1, budget=400, jobs=2)
    for number in (1, 3, 18, 17):
        line = fit_truth.device(Tool(), number, arguments)
        assert line["small_log"][0] == line["small_log"][1], line
        assert line["wrong"] == [] and line["near"] > 0.95, line
        assert max(line["rates_off"]) < 0.05, line


run(globals())
