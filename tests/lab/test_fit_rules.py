#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab fit: rules that need no device, by numbers made by hand."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace

from flashemu_lab_bench import LAB  # noqa: F401  (finds the modules)
from flashemu_script import run

from flashemu_lab.cli import fit as cli_fit
from flashemu_lab.core.units import quantity
from flashemu_lab.experiment.ensemble import parameter_sets
from flashemu_lab.fit import curves, fit_result, fitting, model, refining, rows_in_order, rules
from flashemu_lab.measurement.schema import Measurement, make_point
from flashemu_lab.fit.model import Structure, exchanged, paged, times_of
from flashemu_lab.fit.search import Fit
from flashemu_lab.probe import datasheet, findings

MIB = 1 << 20


def test_a_log_for_random_order_shows_in_merges():
    """Four merges of 400 ms while 4 MiB are written once, by three sizes."""
    chunks = [16384 << i for i in range(3)]
    in_order = {chunk: chunk * 100.0 for chunk in chunks}
    c = curves.Curves({n: in_order for n in (1, 2, 3)})
    c.random = {n: {chunk: in_order[chunk] + 4e8 * (4 * chunk / (4 * MIB) if n < 4 else 1)
                    for chunk in chunks} for n in range(1, 6)}
    assert rules._random_log(c, 3, 4 * MIB, 16384) == MIB
    assert rules._random_log(c, 3, 4 * MIB + 16384 * 2, 16384) == MIB  # whole pages
    del c.random[4], c.random[5]
    assert rules._random_log(c, 3, 4 * MIB, 16384) == 0  # nothing says what a merge takes
    c.random = {n: {chunk: in_order[chunk] + 4e8 * (n > 3) for chunk in chunks} for n in range(6)}
    assert rules._random_log(c, 3, 4 * MIB, 16384) == 0
    c.random[4] = c.random[5] = in_order    # too many units cost as little as order does
    assert rules._random_log(c, 3, 4 * MIB, 16384) == 0


def test_numbers_as_a_profile_has_them():
    """Sizes double, units are counted, and times have four digits."""
    size = refining.Number("link.max_transfer", 0, 3.0, 0.0, 9.0, 1.0, least=512)
    assert [size.text(x) for x in (0, 1, 2.4, 2.6, 11)] == ["512", "1K", "2K", "4K", "1M"]
    units = refining.Number("ftl.open_linear", 0, 3.0, 1.0, 9.0, 1.0)
    assert [units.text(x) for x in (1, 4.4, 4.6)] == ["1", "4", "5"]
    time = next(t for t in model.TIMES if t.key == "nand.tPROG")
    of_time = refining.Number("nand.tPROG", 0, 0.0, -9.0, 9.0, 0.04, time=time)
    assert quantity(of_time.text(time.to_x(1234567.0))) == 1235000


def test_the_worst_sort_counts_and_a_tenth_of_all():
    """Errors as (median, typical) of each sort, and what they were."""
    def value(now, was):
        return refining.Judge.value(SimpleNamespace(_each=lambda errors: now, _was=was), [])
    was = [(0.2, 0.5), (0.4, 1.0)]
    assert math.isclose(value([(0.1, 0.25), (0.24, 0.9)], was), 0.6 + 0.1 * ((0.5 + 0.9) / 2 - 1))
    assert value([(0.1, 0.25), (0.6, 0.1)], was) == 0.6 / 0.4       # one is worse
    assert math.isclose(value(was, was), 1) and value([], was) == refining._REFUSED


def test_progress_of_a_refinement():
    assert cli_fit._progress(None) == "nothing is better yet"
    assert cli_fit._progress(0.4567) == "the errors of the worst sort of test are 45.7 % of what they were"


def test_measured_and_modelled_in_a_picture():
    """Each mark says its value, and "-" where the model has none."""
    picture = fit_result._figure("writes of -f, MB/s", {4096: (1.5, 2.5), 1 << 20: (3.5, None), 65536: (7.5, 4.25)})
    tips = re.findall(r"<title>([^<]*)</title>", picture)
    assert [t for t in tips if "," in t] == [
        "measured, 4K: 1.5 MB/s", "measured, 64K: 7.5 MB/s", "measured, 1M: 3.5 MB/s",
        "model, 4K: 2.5 MB/s", "model, 64K: 4.25 MB/s"], tips


def test_where_the_capacity_comes_from():
    kept = rules.capacity
    try:
        for assumed, wanted in ((True, "assumed: what flashbench -a went up to"), (False, "x.json: its capacity")):
            rules.capacity = lambda m, c, assumed=assumed: (7, assumed)
            m = Measurement((make_point("seq-write", [1e6], bs=4096, size=65536),), "x", 0)
            assert fit_result.provenance(None, m, "device.capacity", "x.json") == wanted
    finally:
        rules.capacity = kept


def test_whether_addresses_come_round():
    """Nothing is said of it as long as the capacity is not known."""
    kept = datasheet.forged.module
    try:
        for real, module, wanted in ((None, None, None), (None, 7, None), (9 * MIB, None, False), (9 * MIB, 8 * MIB, True)):
            datasheet.forged.module = lambda points, module=module: module
            told = datasheet.to_json(findings.Found(real=real))
            assert (told["wraps"], told["module"], told["real_capacity"]) == (wanted, module, real)
    finally:
        datasheet.forged.module = kept


def test_explanations_of_a_profile():
    """Those of its section alone, with the lines that continue them."""
    shown = ("[nand]\ntPROG = 3\n[provenance]\nnand.tPROG = fitted: to\n  two = figures\n   and one\n"
             "ftl.op = assumed: a guess\n\n[fidelity]\nid = 7 | x\n[other]\nnand.tPROG = 9\n")
    assert parameter_sets._provenance(shown) == {
        "nand.tPROG": "fitted: to two = figures and one", "ftl.op": "assumed: a guess"}
    assert parameter_sets._provenance("[nand]\ntPROG = 3\n") == {}


def test_small_writes_are_asked_of_what_was_measured():
    """A probe has a test for them, and flashbench only rows of them; each may find none."""
    c = curves.Curves({n: {65536: 1e6} for n in (1, 2, 3)})
    kept = rules.behaviour.small_write_from, rules.small_write, rules.zone
    try:
        for probed, by_row, zone, wanted in (
                (2048, 8192, None, (2048, 3, 0, 0)), (None, 8192, None, (0, 0, 0, 0)),
                (2048, 8192, (7, 5), (2048, 7, 7, 5)), (None, None, (7, 5), (16384, 7, 7, 5))):
            rules.behaviour.small_write_from = lambda points, found=probed: found
            rules.small_write = lambda rows, found=by_row: found
            rules.zone = lambda points, erasesize, unit, found=zone: found
            for procedure, how, small in (
                    ("request", {"op": "write", "bs": 512, "start": 0, "stride": 0, "count": 1}, probed),
                    ("flashbench-align", {"align": 4096, "bs": 512, "place": "on"}, by_row)):
                point = [make_point(procedure, [1e6], **how)]
                s = rules._segment(c, c, point, point, 512 * MIB, 32768, 4 * MIB)
                got = s.small_write, s.small_log, s.zone_start, s.zone_units
                odd = zone or (0, 0)
                assert got == ((small or (16384 if zone else 0)), odd[1] + 2 if zone else 3 if small else 0,
                               *odd), (procedure, got)
                assert procedure != "request" or got == wanted, got
    finally:
        rules.behaviour.small_write_from, rules.small_write, rules.zone = kept


def test_records_show_in_how_near_a_command_brings_the_next_merge():
    """Records of 32 KiB with a head: 4, 8 and 16 KiB take one, 32 KiB two, and 64 KiB three."""
    chunks = [4096 << i for i in range(6)]
    c = curves.Curves({n: {chunk: 1e6 + chunk * 100.0 for chunk in chunks} for n in (1, 2)})

    def seen(records, *without):
        c.random = {n: {chunk: c.linear[n][chunk] + 13e6 * records(chunk) for chunk in chunks
                        if chunk not in without} for n in (1, 2)}
        return rules._record(c, 2)
    assert seen(lambda chunk: chunk // 32768 + 1) == 32768
    assert seen(lambda chunk: chunk // 32768 + 1, 4096) == 32768
    assert seen(lambda chunk: chunk // 32768 + 1, 4096, 8192) == 0      # nothing is equal
    assert seen(lambda chunk: chunk // 32768 + 1, 65536) == 0
    assert seen(lambda chunk: max(chunk // 16384, 1)) == 0      # pages without heads
    assert seen(lambda chunk: 1) == 0                           # a merge for each command
    assert seen(lambda chunk: 0.01) == 0                        # no merges
    assert rules._record(curves.Curves(), 2) == 0


def in_order(tail):
    """ns by chunk of a device that takes 100 ns a byte, and `tail` for each whole command."""
    chunks = [4096 << i for i in range(9)]
    return {chunk: chunk * 100.0 + chunk // (120 << 10) * tail for chunk in chunks}


def test_commands_that_end_inside_pages_show():
    """Commands of 120 KiB take 5 ms more, so 64 KiB are by far the quickest for each byte."""
    cut, plain = in_order(5e6), in_order(0)
    some = [{n: t for i, (n, t) in enumerate(cut.items()) if i % 2 == odd} for odd in (0, 1)]
    assert rules._is_cut(curves.Curves({1: cut})) and not rules._is_cut(curves.Curves({1: plain}))
    assert rules._is_cut(curves.Curves(fat={0: cut, 1: cut, 2: plain}))
    assert not rules._is_cut(curves.Curves(fat={0: cut, 1: plain, 2: plain}))
    assert rules._is_cut(curves.Curves({1: some[0]}))        # 64 and 256 KiB
    assert not rules._is_cut(curves.Curves({1: some[1]}))    # nothing says how long 64 KiB take
    assert not rules._is_cut(curves.Curves({2: cut}))        # each write is to another unit
    assert not rules._is_cut(curves.Curves())


def test_a_reader_of_120_kib_has_a_cache_of_a_page():
    """Then each command goes on in the page in which the last one ended, perhaps of a group that is
    written at once, while the next data arrive."""
    def found(tail):
        points = [make_point("flashbench-find-fat", [chunk * 1e9 / t], erasesize=4 * MIB, units=4,
                             unit=unit, chunk=chunk)
                  for unit in range(4) for chunk, t in in_order(tail).items()]
        some = rules.candidates(Measurement(tuple(points), "x", 512 * MIB))
        return {(s.limit >> 10, s.cache // s.page, s.behind // s.page,
                 s.tail * s.page >> 10 if s.tail > 2 else s.tail) for s in some}
    assert found(5e6) == {(120, 1, 2, 64), (120, 1, 2, 2)}
    assert found(0) == {(120, 0, 0, 1), (512, 0, 0, 1)}


def test_a_page_is_changed_with_what_counts_in_pages():
    s = Structure("page", 512 * MIB, 16384, tail=4, cache=16384, behind=32768)
    assert paged(s, 8192) == replace(s, page=8192, tail=8)
    assert paged(s, 32768) == replace(s, page=32768, tail=2, cache=32768)
    assert paged(s, 65536) == replace(s, page=65536, tail=1, cache=65536, behind=65536)
    plain = Structure("page", 512 * MIB, 16384)
    assert paged(plain, 65536) == replace(plain, page=65536)
    # no buffer that is smaller than a page
    assert replace(s, page=65536) not in exchanged(s, replace(plain, page=65536))


def session(*rates):
    """One stream, and with more than three units a merge for each write; then dd and hdparm."""
    one = {chunk: 3e5 + t for chunk, t in in_order(5e6).items()}
    points = [make_point("flashbench-open-au", [chunk * 1e9 / (t + 3e6 * (n > 1) + 4e8 * (n > 3))],
                         open=n, erasesize=4 * MIB, random=False, chunk=chunk)
              for n in range(1, 8) for chunk, t in one.items()]
    points += [make_point("dd", [rate], op="read", bs=4 * MIB, bytes=40 * MIB, offset=0,
                          on="device") for rate in rates]
    return Measurement(tuple(points), "x", 512 * MIB)


def first_of(s, m):
    return dict(zip([t.key for t in times_of(s)], rules.first_times(s, m)))


def test_what_the_end_of_a_long_command_costs_shows_in_one_stream():
    """However many of the other rows are slow, and whatever a long write may end at."""
    m, page = session(), 16384
    s = Structure("segment", 512 * MIB, page, limit=120 << 10, cache=page, behind=2 * page)
    for tail in (2, 4):
        assert 3e6 < first_of(replace(s, tail=tail), m)["ftl.tail_write"] < 6e6
    assert 3e6 < first_of(replace(s, page=8192, tail=8), m)["ftl.tail_write"] < 6e6
    assert first_of(replace(s, page=8192, tail=1), m)["ftl.tail_write"] == 0


def test_data_that_the_host_had_in_its_memory_do_not_tell_the_rate_of_a_link():
    s = Structure("page", 512 * MIB, 16384)
    for rates, wanted in (((2.4e9, 1.2e7), 1.38e7), ((2e7, 1.4e6, 2.1e7), 2.3e7),
                          ((), 1.61e7), ((2e6,), 1.15 * 65536 / 6.85e-3)):
        assert abs(first_of(s, session(*rates))["link.bandwidth"] / wanted - 1) < 0.02, rates


def test_small_writes_that_go_elsewhere_show():
    """Random writes of up to 8 KiB take 1 ms, larger ones 40 ms and more."""
    plain = in_order(0)
    log = {chunk: 1e6 if chunk <= 8192 else 4e7 + t for chunk, t in plain.items()}
    merges = {chunk: 4e8 + t for chunk, t in plain.items()}

    def seen(rows, usual=plain):
        return rows_in_order.small_write(curves.Curves({1: usual}, rows))

    def every_other(rows):
        return {n: {chunk: t for i, (chunk, t) in enumerate(row.items()) if (i + n) % 2}
                for n, row in rows.items()}
    for rows in ({n: log for n in range(1, 8)}, {n: log for n in (1, 2, 3)},
                 {n: log if n > 3 else plain for n in range(1, 8)}):
        assert seen(rows) == 8192 and seen(every_other(rows)) == 8192, rows
    limit = {n: merges if n > 6 else plain for n in range(1, 8)}
    assert seen(limit) is None and seen(every_other(limit)) is None
    two = {chunk: t * (1 if chunk <= 8192 else 5 if chunk <= 32768 else 25)
           for chunk, t in in_order(0).items()}
    assert seen({1: two}) == 32768
    tail = {chunk: 1e6 if chunk <= 65536 else 1e7 for chunk in plain}
    assert seen({1: tail}) == 65536 and seen({1: tail}, tail) is None  # in order as well


def test_small_writes_that_merge_no_unit_show_in_order_too():
    """4 KiB take 20 ms where a fourth unit makes every larger write merge one."""
    plain = in_order(0)

    def seen(limit, small, merge, odd=None):
        many = {chunk: small if chunk == 4096 else merge + t for chunk, t in plain.items()}
        rows = {n: plain if n <= limit else many for n in range(1, 8)}
        if odd is not None:
            rows = {n: {chunk: t for i, (chunk, t) in enumerate(row.items()) if (i + n) % 2 == odd}
                    for n, row in rows.items()}
        return rows_in_order.small_write(curves.Curves(rows))
    assert [seen(3, 2e7, 5e8, odd) for odd in (None, 0, 1)] == [4096] * 3
    assert seen(3, 2e7, 1e8) is None                            # no merge of a unit
    assert [seen(6, 5e8, 5e8, odd) for odd in (None, 0, 1)] == [None] * 3


def test_a_unit_too_many_shows_units():
    def seen(most, slower, rows=range(1, 8)):
        return rows_in_order.merges_from([
            make_point("flashbench-open-au", [chunk * 1e9 / (t * (slower if n > most else 1))],
                       erasesize=4 * MIB, open=n, random=False, chunk=chunk)
            for n in rows for chunk, t in in_order(0).items()])
    assert seen(3, 50) == 3 and seen(6, 50) == 6 and seen(7, 50) is None
    assert seen(5, 50, (1, 2, 3, 5, 7)) == seen(6, 50, (1, 2, 3, 5, 7)) == 5
    assert seen(3, 10) is None              # groups may be that slow
    assert seen(3, 50, (1, 2, 3)) is None and seen(1, 50) is None   # nothing to compare with
    assert rows_in_order.merges_from([]) is None


def test_units_that_are_merged_say_how_many_are_open():
    """A third unit is a little slower, and a seventh one is merged for each small write."""
    points = [make_point("flashbench-open-au", [chunk * 1e9 / (t * (1.3 if n > 2 else 1)
                                                               + 8e8 * (n > 6))],
                         erasesize=4 * MIB, open=n, random=False, chunk=chunk)
              for n in range(1, 8) for chunk, t in in_order(0).items()]
    some = [s.open_linear for s in rules.candidates(Measurement(tuple(points), "x", 512 * MIB))
            if s.strategy == "segment" and s.group == 1]
    assert set(some) == {6}, some


def test_a_write_that_takes_a_third_of_a_unit_shows_units():
    """It need not take twenty times as long as another one, if only larger ones were measured; and
    those that go to a small log say nothing."""
    plain = in_order(0)  # 1 MiB takes 105 ms

    def seen(merge, small=0, least=4096):
        return rows_in_order.shows_units([
            make_point("flashbench-open-au", [chunk * 1e9 / (
                t if n < 5 else 2e7 + t if chunk <= small else max(t, merge))],
                       erasesize=MIB, open=n, random=False, chunk=chunk)
            for n in range(1, 7) for chunk, t in plain.items() if n < 5 or chunk >= least])
    assert seen(4e7) and not seen(2.5e7)
    assert seen(4e7, least=64 << 10) and not seen(2.5e7, least=64 << 10)
    assert seen(5e8, 32 << 10) and seen(5e8, 64 << 10)
    assert not seen(4e7, least=256 << 10)   # parts of a unit that are too large to say


def test_few_and_many_parts_are_tried():
    """Comparisons with many parts count more, so a search that begins there ends early."""
    s = Structure("segment", 512 * MIB, 16384, open_linear=3, open_random=3)
    rows = curves.Curves(random={n: in_order(0) for n in range(1, 6)})
    assert [n.parts for n in rules._logs_in_all(s, rows)] == [1, 4, 16]
    assert [n.parts for n in rules._logs_in_all(replace(s, small_write=4096), rows)] == [1, 2]
    assert not rules._logs_in_all(replace(s, open_random=2), rows)
    assert not rules._logs_in_all(replace(s, open_linear=5, open_random=5), rows)  # no limit


def test_each_sort_of_structure_comes_first_once():
    def fit(error, **how):
        return Fit(Structure("segment", 512 * MIB, 16384, **how), (), error)
    plain, again = fit(0.1), fit(0.2, open_linear=5)
    both, parts = fit(0.3, open_units=3), fit(0.4, open_units=3, parts=2)
    record = fit(0.5, open_units=3, parts=2, record=32768)
    other, behind = Fit(Structure("page", 512 * MIB, 16384), (), 0.6), fit(0.7, behind=32768)
    assert fitting._each_sort_first([plain, again, both, parts, record, other, behind]) == [
        plain, both, parts, record, other, behind, again]


run(globals())
