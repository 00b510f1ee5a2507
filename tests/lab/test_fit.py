#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab fit: a profile from a measurement, in most tests of a small device of the model itself,
whose parameters are known."""

import json
import math
import os
import threading
from dataclasses import replace
from pathlib import Path

from flashemu_fit_bench import (MIB, PAGE, SEGMENT, TIMES, ends_at_a_signal, first_of, half,
                                measured, plan, values)
from flashemu_lab_bench import FLASHEMU, bad, lab, opens_short, read, write
from flashemu_script import run, skip

try:
    import cmaes  # noqa: F401
    import scipy.optimize  # noqa: F401
except ImportError:
    skip("no Python modules cmaes and scipy")

import fit_truth  # noqa: E402

from flashemu_lab.fit import compare, curves, fitting, model  # noqa: E402
from flashemu_lab.fit import moves, rows_in_order, rules, search  # noqa: E402
from flashemu_lab.fit.model import Structure  # noqa: E402
from flashemu_lab.probe.tests import unit_crossings  # noqa: E402
from flashemu_lab.measurement import schema  # noqa: E402
from flashemu_lab.core.errors import LabError  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, Point, make_point  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402


def test_sizes_hang_together():
    """Each neighbour of a structure is a device that runs, and each is another one, by its profile
    as well."""
    m = Measurement((make_point("seq-write", [1e6], bs=4096, size=65536),), "x", 64 * MIB)
    counts = []
    with compare.Comparer(Tool(), m, 1) as comparer:
        for s in (Structure("segment", 64 * MIB, 4096, MIB, small_log=2, small_write=4096),
                  Structure("segment", 96 * MIB, 8192, 3 * MIB // 2, open_random=2),
                  Structure("segment", 64 * MIB, 2048, MIB // 4, group=4, scattered=6),
                  Structure("page", 64 * MIB, 8192)):
            profiles = [model.changes(model.profile_keys(n, values(n)))
                        for n in [s, *model.neighbours(s)]]
            counts.append(len({tuple(keys) for keys in profiles}))
            assert counts[-1] == len(profiles), s
            for keys in profiles:
                answer = comparer.ask([compare.Question(s.strategy, tuple(keys))])[0]
                assert (answer.state, answer.message) == ("done", ""), (keys, answer)
                assert answer.measured[0] > 0, keys
    assert min(counts) > 10 and max(counts) > 40, counts


def test_rules_see_the_structure():
    m = measured(SEGMENT)
    c = curves.curves(m.points)
    assert rules.pages(c, m.points)[0] == SEGMENT.page
    assert rules.shown_units(c, m.points)[0] == SEGMENT.unit
    first = rules.candidates(m)[0]
    assert (first.open_linear, first.open_random) == (4, 3)
    by_pages = measured(PAGE, points=plan(2 * MIB))
    assert rules.candidates(by_pages)[0].strategy == "page"


def test_rules_read_half_of_a_grid():
    """A page that only shows where several units are written in turn, and what a part of it and
    the tail of a long command cost.  Behind a reader that cuts after 120 KiB."""
    s = replace(SEGMENT, limit=120 * 1024, cache=16384, open_linear=7)
    times = dict(TIMES) | {"ftl.part_write": 1.5e6, "ftl.tail_write": 6e6}
    m = half(measured(s, [times[t.key] for t in model.times_of(s)]))
    c = curves.curves(m.points)
    assert rules.pages(c, m.points)[0] == s.page, rules.pages(c, m.points)
    first = first_of(s, m)
    assert 1e6 < first["ftl.part_write"] < 2.5e6, first
    assert 1e6 < first["ftl.tail_write"] < 9e6, first
    plain = replace(s, limit=512 * 1024)
    assert first_of(plain, m)["ftl.tail_write"] == 0  # its commands end with a page
    without = half(measured(SEGMENT))
    assert first_of(replace(SEGMENT, limit=120 * 1024), without)["ftl.tail_write"] < 1e6


def table(points, order=False):
    """The rates of open units in this order: by their number, then by chunk."""
    rows = {}
    for p in points:
        how = dict(p.parameters)
        if p.procedure == "flashbench-open-au" and how["random"] == order:
            rows.setdefault(how["open"], {})[how["chunk"]] = p.value
    return rows


def test_rows_that_have_no_chunk_in_common_are_compared():
    """Half of a grid says as much about the number of open units as all of it."""
    m = measured(SEGMENT)
    for known in (m, half(m)):
        first = rules.candidates(known)[0]
        assert (first.open_linear, first.open_random) == (4, 3), first
    rates = {(n, 2 * MIB >> i): 1e6 * n * (i + 1) for n in (1, 2, 3) for i in range(8)}
    all_of = [make_point("flashbench-open-au", [rate], erasesize=2 * MIB, open=n, random=False,
                         chunk=chunk) for (n, chunk), rate in rates.items()]
    other = make_point("seq-read", [1e6], bs=65536, size=MIB)
    assert sorted(curves.comparable([other, *all_of]), key=str) == sorted([other, *all_of], key=str)
    some = curves.comparable([p for i, p in enumerate(all_of) if (i + i // 8) % 2 == 0])
    inside = [2 * MIB >> i for i in range(1, 7)]  # without the first and the last one
    assert {n: sorted(row, reverse=True) for n, row in table(some).items()} == \
        {n: inside for n in (1, 2, 3)}
    assert math.isclose(table(some)[1][MIB], 1e6 * math.sqrt(3)), table(some)
    assert table(some)[2][MIB] == 4e6
    few = [p for p in all_of if dict(p.parameters)["chunk"] >= MIB]
    assert curves.comparable(few) == few


def test_units_that_are_merged_hide_no_page():
    """The page is that of writes, although each one to a fourth unit merges, and although reads
    take longer across the parts of a page."""
    chunks = [4096 << i for i in range(6)]
    quick = {4096: 2.1e7, 8192: 3e6, 16384: 2.7e6, 32768: 4.4e6, 65536: 7.5e6, 131072: 1.4e7}
    c = curves.Curves({n: dict(quick) if n < 4 else dict.fromkeys(chunks, 4.8e8)
                      for n in range(1, 8)})
    c.across = {align: (2e5 if align >= 4096 else 0.0, 1e6) for align in (1024, 2048, *chunks)}
    assert rules.pages(c, []) == [16384, 4096], rules.pages(c, [])


def test_each_page_has_its_candidates():
    points = [p for p in measured(SEGMENT).points  # nothing that shows a page
              if dict(p.parameters).get("chunk", 0) >= 128 * 1024]
    m = Measurement(tuple(points), "x", SEGMENT.capacity)
    found = [s for s in rules.candidates(m) if s.strategy == "segment" and s.limit > 120 * 1024]
    pages = list(dict.fromkeys(s.page for s in found))
    numbers = [{(s.open_linear, s.open_random) for s in found if s.page == page} for page in pages]
    assert len(pages) == 2 and numbers[0] == numbers[1] and len(numbers[0]) > 1, (pages, numbers)


def test_a_reader_that_cuts_shows():
    """A command takes 1.5 ms besides its data, and so does each piece of 120 KiB."""
    def seen(piece, besides=1.5e6):
        times = {n << 10: 2e5 * n + besides * math.ceil(n / piece) for n in (64, 128, 256, 512)}
        return rules._writes_half_a_mib(curves.Curves({n: times for n in (1, 2, 3)}))
    assert seen(512) and not seen(120) and not seen(64)
    assert not seen(512, 2e5)  # too little to say
    assert not rules._writes_half_a_mib(curves.Curves())
    for limit in (120, 512):
        m = measured(replace(SEGMENT, limit=limit * 1024))
        assert (120 * 1024 in {s.limit for s in rules.candidates(m)}) == (limit == 120), limit


def test_one_row_that_is_slow_is_no_limit():
    def limit(*times):
        return curves.slower_from({n: {65536: t} for n, t in enumerate(times, 1)})
    assert limit(1e6, 1e6, 1e6, 1.2e6, 1.2e6) == 3
    assert limit(1e6, 1e6, 1e6, 1.2e6) == 3
    assert limit(1e6, 1e6, 1.2e6, 1e6, 1e6) is None
    assert limit(1e6, 1e6, 1.2e6, 1e6, 1.2e6, 1.2e6) == 4
    assert limit(1e6, 1.2e6, 1.2e6, 1.2e6) is None  # two units in turn, whatever the limit
    some = {1: 1e6, 2: 1e6, 4: 1e6, 8: 1.2e6, 16: 1.2e6}  # a row that is missing hides no limit
    assert curves.slower_from({n: {65536: t} for n, t in some.items()}) == 4


def test_units_open_in_random_order_although_they_are_slow():
    """Where one unit in random order is slow already, one candidate opens as many as cost the
    same."""
    points = []
    for p in measured(SEGMENT).points:
        how = dict(p.parameters)
        slow = how.get("random") and p.value * min(how["chunk"] / MIB, 0.4) / (
            40 if how["open"] > 2 else 1)
        points.append(Point(p.procedure, p.parameters, (slow or p.value,)))
    found = rules.candidates(Measurement(tuple(points), "x", SEGMENT.capacity))
    assert found[0].open_random == 0, found[0]
    assert replace(found[0], open_random=2) in found, found
    most = max(int(dict(p.parameters).get("open", 0)) for p in points)
    for linear in (found[0].open_linear, 8):  # perhaps there is no limit
        assert replace(found[0], open_linear=linear, open_random=most + 2) in found, found


def test_open_units_of_both_orders_together():
    """A device with so many logs in all, each smaller than a unit, has a candidate, and limits for
    each order alone do not explain it."""
    s = replace(SEGMENT, open_linear=3, open_units=3, random_log=MIB)
    m = measured(s)
    assert any((n.open_units, n.random_log) == (3, MIB) for n in rules.candidates(m)), \
        rules.candidates(m)
    near = [replace(s, open_units=0), replace(s, random_log=0),
            replace(s, open_units=4, open_linear=4, open_random=4)]
    for n in near[:2]:
        assert s in model.neighbours(n) and n in model.neighbours(s), n
    assert near[2] in model.neighbours(s)
    with compare.Comparer(Tool(), m, 2) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        one.left = 4
        fits = one.judge([search.start(n, values(s)) for n in [s, *near]])
    assert fits[0].error < 1e-6 and min(f.error for f in fits[1:]) > 0.03, fits


def test_records_of_commands():
    """A device that keeps a record of each command in a unit open in any order has a candidate, and
    nothing explains it as well without records."""
    s = replace(SEGMENT, open_linear=3, open_units=3, open_random=3, parts=4, record=65536)
    m = measured(s)
    assert any((n.parts, n.record) == (16, 65536) for n in rules.candidates(m)), \
        rules.candidates(m)
    near = [replace(s, record=n) for n in (0, 32768, 131072)]
    assert set(near) <= set(model.neighbours(s)), model.neighbours(s)
    assert s in model.neighbours(near[1]) and near[1] in model.neighbours(near[0])
    with compare.Comparer(Tool(), m, 2) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        one.left = 4
        fits = one.judge([search.start(n, values(s)) for n in [s, *near]])
    assert fits[0].error < 1e-6 and min(f.error for f in fits[1:]) > 0.015, fits


def test_parts_of_pages():
    """A copied page takes as long in parts, and nothing smaller than 1 KiB is a part."""
    assert {n.parts for n in model.neighbours(replace(SEGMENT, page=2048))} == {1, 2}
    s = replace(SEGMENT, parts=4, copy_buffer=2)
    times = [(dict(TIMES) | {"ftl.copy_page": 8e5})[t.key] for t in model.times_of(s)]
    keys = model.profile_keys(s, times)
    assert (keys["nand.page_parts"], keys["ftl.copy_buffer"], keys["ftl.copy_page"]) == (
        "4", "8", "200000ns")
    assert {n.parts for n in model.neighbours(s)} == {1, 2, 4, 8, 16}
    assert {n.parts for n in model.neighbours(PAGE)} == {1}
    # halves of pages in order are programs of parts: the log does not overflow
    p = make_point("flashbench-open-au", [1], erasesize=2 * MIB, open=1, random=False, chunk=8192)
    whole, parts = (measured(replace(SEGMENT, parts=n), points=[p]).points[0].value for n in (1, 2))
    assert parts > 1.5 * whole, (whole, parts)


def test_copies_have_a_time_of_their_own():
    """Where each small write copies a unit, rules say about what a copied page takes beyond a
    program, and the fit of the times finds it."""
    s = replace(SEGMENT, unit=256 * 1024, group=8, open_linear=8, open_random=0)
    m = measured(s, [(dict(TIMES) | {"ftl.copy_page": 8e5})[t.key] for t in model.times_of(s)],
                 plan(2 * MIB, 3))
    assert 4e5 < first_of(s, m)["ftl.copy_page"] < 1.2e6, first_of(s, m)
    assert first_of(replace(s, open_random=3), m)["ftl.copy_page"] == 0
    plain = measured(s, points=plan(2 * MIB, 3))
    assert first_of(s, plain)["ftl.copy_page"] < 2e5, first_of(s, plain)
    with compare.Comparer(Tool(), m, 2) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        one.left = 80
        found = one.times(one.judge([search.start(s, rules.first_times(s, m))])[0], 3)
    got = dict(zip([t.key for t in model.times_of(s)], found.values()))
    transfer = s.page * 1e9 / got["nand.bus_rate"]  # the data tell the sum of a copy's parts alone
    copy = got["nand.tR"] + got["nand.tPROG"] + 2 * transfer + got["ftl.copy_page"]
    assert found.error < 0.02 and abs(copy / 2.51e6 - 1) < 0.05, (found.error, copy, got)
    assert got["ftl.copy_page"] > 5e5, got


def grid(times):
    """Random writes of one to three units and writes in order, of half of the sizes each; times in
    ms by size in KiB, of which each row has every other one."""
    points = []
    for random in (False, True):
        for n in (1, 2, 3):
            for i, size in enumerate(sorted(times)):
                ms = times[size] if random else size * 0.06
                if (i + n) % 2:
                    points.append(make_point("flashbench-open-au", [size * 1024e3 / ms],
                                             erasesize=4 * MIB, open=n, random=random,
                                             chunk=size * 1024))
    return curves.curves(points)


def test_rules_see_the_part_of_a_unit_that_is_merged():
    """By the times of two cards, from logs of flashbench, with every other point of each row."""
    one = {4: 4, 8: 6.5, 16: 53, 32: 51, 64: 49.5, 128: 46, 256: 29.4, 512: 31.4, 1024: 59.4}
    other = {4: 4, 8: 7, 16: 68, 32: 65.5, 64: 61, 128: 65, 256: 59.7, 512: 62.4, 1024: 103}
    for times in one, other:
        assert rules.merged_part(grid(times), 4 * MIB) == 512 * 1024
        assert rows_in_order.small_write(grid(times)) == 8192
    # a page takes as long as parts of it, and a whole unit is no part
    assert rules.merged_part(grid({4: 17, 8: 17, 16: 17, 32: 33, 64: 57}), 4 * MIB) is None
    assert rules.merged_part(grid({64: 30, 128: 31, 256: 30, 512: 31}), 512 * 1024) is None
    assert rules.merged_part(grid({n: n * 0.07 for n in one}), 4 * MIB) is None


def test_a_neighbour_begins_where_the_clues_put_it():
    """A time that is 0 for this structure need not be 0 for the next, and one that is not stays."""
    s = replace(SEGMENT, limit=120 * 1024, open_linear=7, cache=16384)
    keys = [t.key for t in model.times_of(s)]
    m = measured(s, [(dict(TIMES) | {"ftl.tail_write": 6e6})[key] for key in keys])
    with compare.Comparer(Tool(), m, 1) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        plain = search.start(replace(s, limit=512 * 1024, page=32768), values(s))
        moved = dict(zip(keys, one.moved(plain, s).values()))
        again = dict(zip(keys, one.moved(one.moved(plain, s), plain.structure).values()))
    assert 1e6 < moved["ftl.tail_write"] < 9e6, moved
    assert abs(again["ftl.tail_write"] / moved["ftl.tail_write"] - 1) < 1e-9
    assert abs(moved["nand.tPROG"] / TIMES["nand.tPROG"] - 0.5) < 1e-9, moved
    assert abs(moved["ftl.map_switch"] / TIMES["ftl.map_switch"] - 1) < 1e-9, moved


def test_slopes_are_measured_once():
    """A descent measures a slope for each time, and the next one, from a neighbour whose times are
    wrong, only takes its own steps."""
    m = measured(SEGMENT, points=plan(2 * MIB, 4))
    wrong = [v * (1.25 if i % 2 else 0.8) for i, v in enumerate(values(SEGMENT))]
    with compare.Comparer(Tool(), m, 2) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        one.left = 1 + len(wrong) + moves.STEPS
        first = one._descend(one.judge([search.start(SEGMENT, wrong)])[0])
        assert first.error < 0.03, first.error
        one.left = moves.STEPS + 1
        moved = one.judge([search.start(replace(SEGMENT, open_linear=5), wrong)])[0]
        second = one._descend(moved)
        assert second.error < 0.5 * moved.error, (moved.error, second.error)


def test_what_a_budget_leaves_is_kept():
    """A question that is larger than the rest of a budget costs nothing of it."""
    m = measured(PAGE, points=plan(2 * MIB, 1))
    with compare.Comparer(Tool(), m, 1) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        fit = search.start(PAGE, values(PAGE))
        one.left = 3
        try:
            one.judge([fit] * 4)
        except moves.Stopped:
            pass
        else:
            raise AssertionError("more than the budget")
        assert one.left == 3 and one.judge([fit] * 3)[0].error < 1e-6 and one.left == 0


def test_a_time_beyond_its_bound_by_a_rounding_error():
    m = measured(PAGE, points=plan(2 * MIB, 1))
    at = [t.key for t in model.times_of(PAGE)].index("ftl.map_switch")
    with compare.Comparer(Tool(), m, 1) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        one.left = 40
        fit = search.start(PAGE, values(PAGE))
        fit = replace(fit, x=(*fit.x[:at], -2.4e-18, *fit.x[at + 1:]))
        assert one.rest(one.judge([fit])[0], 1).error < math.inf


def test_the_unit_shows_where_others_do_now_and_then():
    for number in (4, 5):
        s, times = fit_truth.draw(number, 1)
        keys = [key for unit in unit_crossings.candidates(s.capacity)
                for key in unit_crossings.crossing(unit, s.capacity).keys]
        points = fit_truth.run(Tool(), s, times, keys).points
        assert unit_crossings.unit_from(points) == s.unit, number


def test_a_search_is_cheap_where_a_device_is_slow():
    slow = [make_point("flashbench-open-au", [1e4], erasesize=4 * MIB, open=n, random=True,
                       chunk=4 * MIB >> i) for n in (1, 2, 3) for i in range(11)]
    quick = make_point("seq-read", [1e7], bs=65536, size=MIB)
    m = Measurement((quick, *slow), "x", 1 << 30)
    kept = compare.affordable(m, 2000)
    assert 0 in kept and 1 < len(kept) < 10
    assert sum(compare.device_ns(m.points[i]) for i in kept) <= 2000e9
    assert all(dict(m.points[i].parameters).get("chunk", 4 * MIB) >= MIB for i in kept)
    assert compare.affordable(m, 1e9) == list(range(34))


def test_variants_of_a_candidate_fit_together():
    grouped = replace(SEGMENT, unit=256 * 1024, group=8, scattered=34, small_log=8,
                      small_write=4096, zone_start=8, zone_units=8)
    found = rules.variants(grouped)
    assert grouped not in found and len(set(found)) == len(found) == 11, len(found)
    assert {s.page for s in found} == {8192, 16384, 32768}
    assert {(s.unit, s.group, s.scattered, s.small_log, s.zone_start, s.zone_units)
            for s in found} == {(256 * 1024, 8, 34, 8, 8, 8), (512 * 1024, 4, 17, 4, 4, 4)}
    assert {s.small_write for s in found} == {4096, 8192}
    assert {(s.page, s.unit) for s in rules.variants(SEGMENT)} == {
        (8192, 2 * MIB), (32768, 2 * MIB)}
    for s in found:
        assert s.unit * s.group == 2 * MIB and s.unit % s.page == 0


def test_blocks_that_a_device_has_besides_are_found():
    """After some writes each needs an erase; before it does not."""
    points = [make_point("request", [1], op="write", bs=1 << 20, start=i * 8 * MIB, stride=1 << 20,
                         count=8) for i in range(30)]
    m = measured(replace(PAGE, spare=200), points=points)
    times = [p.value for p in m.points]
    assert times[-1] > 1.005 * times[0]
    with compare.Comparer(Tool(), m, 1) as comparer:
        one = search.Search(comparer, m, [1.0] * len(points))
        one.left = 4
        fits = one.judge([search.start(replace(PAGE, spare=n), values(PAGE))
                          for n in (50, 120, 200, 400)])
    assert min(fits, key=lambda f: f.error).structure.spare == 200 and fits[2].error < 1e-6


def test_a_device_of_the_model_is_found_again():
    for s in (SEGMENT, PAGE):
        m = measured(s, points=plan(2 * MIB))
        found = fitting.fit(Tool(), m, 200, 1, 2, trust=False)
        assert found.good and found.all.median < 0.02, (s, found.all)
        got = found.structure
        assert (got.strategy, got.page) == (s.strategy, s.page), got
        if s.strategy == "segment":
            assert (got.unit, got.open_linear, got.open_random) == (2 * MIB, 4, 3), got


def test_the_same_again_with_more_processes():
    m = measured(PAGE, points=plan(2 * MIB, 2))
    one, two = (fitting.fit(Tool(), m, 60, 3, jobs) for jobs in (1, 2))
    assert one.keys() == two.keys() and one.held == two.held and one.errors == two.errors
    assert one.comparisons == two.comparisons


def test_searches_run_side_by_side():
    """Two searches wait for each other, so they must run at the same time; the results have the
    order of the items, and an error is the caller's."""
    m = measured(PAGE, points=plan(2 * MIB, 1))
    both = threading.Barrier(2, timeout=60)

    def search_for(item):
        both.wait()
        answer = comparer.ask([search.start(PAGE, values(PAGE)).question()])[0]
        if item == "wrong":
            raise LabError("nothing is found")
        return item, answer.state

    with compare.Comparer(Tool(), m, 2) as comparer:
        assert comparer.side_by_side(search_for, ["a", "b"]) == [("a", "done"), ("b", "done")]
        assert comparer.asked == 2
        try:
            comparer.side_by_side(search_for, ["wrong", "c"])
        except LabError as e:
            assert str(e) == "nothing is found"
        else:
            raise AssertionError("no error")


def test_a_search_ends_with_its_comparer():
    """It hears an error instead of waiting for ever."""
    m = measured(PAGE, points=plan(2 * MIB, 1))
    ready, heard = threading.Event(), []

    def ask_for_ever():
        try:
            while True:
                comparer.ask([search.start(PAGE, values(PAGE)).question()])
                ready.set()
        except (LabError, RuntimeError) as e:
            heard.append(e)

    with compare.Comparer(Tool(), m, 1) as comparer:
        thread = threading.Thread(target=ask_for_ever)
        thread.start()
        assert ready.wait(60)
    thread.join(60)
    assert not thread.is_alive() and len(heard) == 1, heard


def test_command():
    schema.save(measured(PAGE, points=plan(2 * MIB, 3)), Path("my.json"))
    code, out, err = lab("fit", "my.json", "-o", "my.ini", "--budget", "80", "--jobs", "1")
    assert code == 0 and err == "" and out.startswith("The profile comes near: "), (out, err)
    text = read("my.ini")
    assert "[provenance]" in text and "[fidelity]" in text
    show = os.popen(f"{FLASHEMU} check my.ini").read()
    assert "mistake" not in show
    assert os.system(f"{FLASHEMU} verify ./my.ini --quick --json > rows.json") in (0, 256)
    rows = json.loads(read("rows.json"))["rows"]
    assert {r["id"] for r in rows} == {"seq-write.1", "seq-read.2"}
    page = read("my.html")
    assert opens_short(page) and page.count("<table") == 3
    assert "All " in page and "within 10 %" in page and "nand.tPROG" in page
    # what was promised in the profile is what verify finds
    got = json.loads(os.popen(f"{FLASHEMU} verify ./my.ini --against my.json --json").read())
    told = text.split("median error ")[1].split(" %")[0]
    assert abs(got["all"]["median_error_percent"] - float(told)) < 0.2


def test_what_cannot_be_good_is_no_profile():
    """Rates that no device has: each is drawn apart from the others."""
    points = [make_point(p.procedure, [10 ** (4 + (i * 7919 % 97) / 20)], **dict(p.parameters))
              for i, p in enumerate(plan(2 * MIB, 2)) if p.procedure == "flashbench-open-au"]
    schema.save(Measurement(tuple(points), "x", 512 * MIB), Path("my.json"))
    code, out, err = lab("fit", "my.json", "-o", "bad.ini", "--budget", "60", "--jobs", "1")
    assert code == 1 and "no profile comes near" in err and "--anyway" in err, (code, out, err)
    assert not os.path.exists("bad.ini") and "cannot do what this device did" in read("bad.html")


def test_mistakes():
    schema.save(measured(PAGE, points=plan(2 * MIB, 1)), Path("my.json"))
    bad("--budget 500: has no effect with --quick", "fit", "my.json", "-o", "a.ini", "--quick",
        "--budget", "500")
    bad("-o my.json: is one of the inputs", "fit", "my.json", "-o", "my.json")
    bad("-o a.txt: expected a name that ends in .ini", "fit", "my.json", "-o", "a.txt")
    bad("nope.json: No such file", "fit", "nope.json", "-o", "a.ini")
    write("none.json", json.dumps({"format": "flashemu-measurement", "version": 1, "points": [
        {"procedure": "iozone", "parameters": {"test": "write", "file": 1, "bs": 1,
                                               "direct": False, "fsync": True},
         "unit": "bytes/s", "values": [1]}]}))
    bad("no point of the measurement can be compared", "fit", "none.json", "-o", "a.ini",
        "--anyway")
    assert lab("fit", "my.json", "-o", "a.ini", "--budget", "3")[0] == 2
    bad("nope/a.ini: No such file or directory", "fit", "my.json", "-o", "nope/a.ini")


def test_nothing_is_made_up():
    """A profile of a device that was only read would say what nobody measured; `advise` would
    count on it."""
    m = measured(PAGE, points=[p for p in plan(2 * MIB, 1) if p.procedure == "flashbench-align"])
    schema.save(m, Path("read.json"))
    said = "read.json: nothing was written, so a profile would make up what writes take"
    for words in (["fit", "read.json", "-o", "read.ini"], ["advise", "read.json"]):
        code, out, err = lab(*words, "--budget", "60")
        assert code == 1 and out == "" and said in err and not os.path.exists("read.ini"), err
    code, _, _ = lab("fit", "read.json", "-o", "read.ini", "--budget", "60", "--anyway")
    assert code == 0 and os.path.exists("read.ini")


def test_what_is_not_installed():
    """One line, with the package."""
    schema.save(measured(PAGE, points=plan(2 * MIB, 1)), Path("my.json"))
    fit = ("fit", "my.json", "-o", "without.ini", "--budget", "60")
    probe = ("probe", "nbd://localhost", "-o", "probed.json", "--read-only")
    for name, package, words in (("scipy", "scipy", fit), ("cmaes", "cmaes", fit),
                                 ("nbd", "libnbd", probe)):
        os.makedirs(f"without-{name}")
        write(f"without-{name}/{name}.py", f"raise ModuleNotFoundError('no {name}')\n")
        bad(f"needs the Python module {name}: apt-get install python3-{package}", *words,
            env={"PYTHONPATH": f"without-{name}"})


def test_stopped_by_a_signal():
    schema.save(measured(SEGMENT, points=plan(2 * MIB, 3)), Path("my.json"))
    ends_at_a_signal("fit", "my.json")


def test_a_process_that_dies():
    m = Measurement((make_point("seq-write", [1e6], bs=4096, size=65536),), "x", 64 * MIB)
    keys = model.changes(model.profile_keys(PAGE, values(PAGE)))
    ask = [compare.Question("page", tuple(keys))]
    with compare.Comparer(Tool(), m, 1) as comparer:
        assert comparer.ask(ask)[0].state == "done"
        for process in [p for each in comparer._all for p in each.values()]:
            process.kill()
            process.wait()
        try:
            comparer.ask(ask)
        except LabError as e:
            assert "flashemu ended while it compared" in str(e)
        else:
            raise AssertionError("no message")


def test_a_search_begins_where_no_error_is_known():
    m = Measurement((make_point("seq-write", [1e6], bs=4096, size=65536),), "x", 64 * MIB)
    with compare.Comparer(Tool(), m, 1) as comparer:
        one = search.Search(comparer, m, [1.0])
        one.left = 60
        found = one.structure(moves.Climb(search.start(PAGE, values(PAGE))))
        assert math.isfinite(found.error)


def test_advice_for_a_measurement():
    s = Structure("page", 512 * MIB, 16384)
    schema.save(measured(s, points=plan(2 * MIB, 2)), Path("card.json"))
    words = ["advise", "card.json", "--budget", "60", "--jobs", "2", "--workload", "log", "--json"]
    code, out, err = lab(*words)
    assert code == 0 and "card.ini: fitted, median error" in err, (code, err)
    first = read("card.ini")
    again = lab(*words)
    assert again == (0, out, "") and read("card.ini") == first
    by_hand = lab("advise", "./card.ini", *words[4:])
    assert by_hand[0] == 0 and json.loads(by_hand[1])["rows"] == json.loads(out)["rows"]
    write("card.ini", "; mine\n")
    bad("card.ini: is there and is no profile that advise has fitted", *words)
    bad("--quick and --budget are for measurements", "advise", "ssd-page", "--quick")
    bad("nope.json: No such file", "advise", "nope.json")


def test_points_that_no_times_meet_do_not_bend_the_others():
    """Every third point takes half as long again; the others stay within 10 %."""
    right = measured(PAGE, points=plan(2 * MIB, 2))
    m = replace(right, points=tuple(
        Point(p.procedure, p.parameters, (p.value * 1.5 ** (i % 3 == 0),))
        for i, p in enumerate(right.points)))
    with compare.Comparer(Tool(), m, 2) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        one.left = 200
        bent = one.times(one.judge([search.start(PAGE, values(PAGE))])[0], 3)
        sharp = one.sharpened(bent)
        near = [sum(abs(e) < 0.1 for e in one.residuals([f])[0]) for f in (bent, sharp)]
        assert one._missed(one.residuals([sharp])[0]) < one._missed(one.residuals([bent])[0])
    assert near[1] >= near[0] > 0.6 * len(m.points), near


def test_weights():
    m = Measurement(tuple(plan(2 * MIB, 1)), "x", 512 * MIB)
    answer = compare.Answer("done", 0.0, tuple(1.0 for _ in m.points), "")
    weights = search.weights_of(m, answer, [0])
    assert weights[0] == 0 and math.isclose(weights[1], 1)
    align = [w for p, w in zip(m.points, weights) if p.procedure == "flashbench-align"]
    assert math.isclose(sum(align), math.sqrt(len(align)))


run(globals())
