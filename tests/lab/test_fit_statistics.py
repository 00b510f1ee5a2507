#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a fit says about itself: errors, intervals and what was held out, with garbage in what must
not matter."""

import math
import re
from dataclasses import replace

from flashemu_lab_bench import FLASHEMU  # noqa: F401
from flashemu_script import run, skip

try:
    import numpy as np
    import scipy.optimize  # noqa: F401
except ImportError:
    skip("no Python modules numpy and scipy")

from flashemu_fit_bench import MIB, SEGMENT, plan, values  # noqa: E402

from flashemu_lab.fit import curves, fit_result, fitting, model, refining  # noqa: E402
from flashemu_lab.fit import cards, relatives_result, rows_in_order, search  # noqa: E402
from flashemu_lab.fit.compare import Answer  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, Point, make_point  # noqa: E402


def near(got, want, slack=1e-9):
    assert abs(got - want) <= slack * max(1, abs(want)), (got, want)


def ln(*ratios):
    return [None if r is None else math.log(r) for r in ratios]


def test_errors_are_relative():
    """A share of the measured value, and no logarithm; up to 10 % is near."""
    found = fitting.summed(ln(1.099, 0.897, 0.91, None, 3))
    near(found.median, (0.103 + 0.099) / 2)
    assert (found.points, found.near) == (4, 0.5)
    near(fitting.summed(ln(0.8)).median, 0.2)
    assert fitting.summed([None]) is None and fitting.summed([]) is None
    assert [fit_result.percent_text(math.log(r)) for r in (1.25, 0.8, 1, 3)] == \
        ["+25 %", "-20 %", "+0 %", "+200 %"]


def moving(count):
    """Times that cannot be 0, with places in the middle of their scales."""
    times = [t for t in model.times_of(SEGMENT) if not t.zero][:count]
    return times, [sum(t.bounds) / 2 for t in times]


STUDENT_5, STUDENT_7 = 2.5706, 2.3646


def test_how_near_a_fit_comes():
    """Of eight points with an error, in both directions; the ninth has none and does not count."""
    drawn = fit_result.how_near([*ln(1.009, 0.985, 1.04, 0.96, 1.09, 0.85, 1.3, 1.6), None])
    assert "How many of 8 points the profile meets" in drawn
    assert re.findall("<title>within ([0-9]+) %: ([0-9.]+) %", drawn) == [
        ("1", "12.5"), ("2", "25.0"), ("5", "50.0"), ("10", "62.5"), ("20", "75.0"), ("50", "87.5")]
    assert fit_result.how_near([None]) == ""


def test_an_interval():
    """Student's factor for so many more points than numbers, times the root of the mean square;
    a residual that is far off counts no more than one at the end of what counts."""
    times, x = moving(3)
    signs = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]] * 2)
    slopes = signs * [2, 0.02, 1e-3]
    base = np.array([0.001, -0.001] * 4)
    found = fitting.intervals_of(times, x, slopes, base)
    sigma = 0.001 * math.sqrt(8 / 5)
    near(found[times[0].key], math.exp(STUDENT_5 * sigma / math.sqrt(8 * 4)), 1e-5)
    near(found[times[1].key], math.exp(STUDENT_5 * sigma / math.sqrt(8 * 4e-4)), 1e-3)
    assert found[times[2].key] is None   # nothing depends on it
    assert list(found) == [t.key for t in times]
    wide = fitting.intervals_of(times, x, slopes, base * 20)
    assert wide[times[1].key] is None and 1.01 < wide[times[0].key] < 1.02  # beyond 2
    far = [fitting.intervals_of(times, x, slopes, np.array([*base[:7], off]))[times[0].key]
           for off in (1e3, 1e6)]
    near(*far)
    assert found[times[0].key] < far[0] < 1.05


def test_an_interval_of_a_time_near_0():
    """Its scale is that of a sum with `least`; a factor is of the time alone."""
    t = next(t for t in model.times_of(SEGMENT) if t.zero)
    x = t.to_x(3 * t.least)
    found = fitting.intervals_of([t], [x], np.full((8, 1), 2.0), np.array([0.001, -0.001] * 4))
    sigma = 0.001 * math.sqrt(8 / 7)
    near(found[t.key], math.exp(STUDENT_7 * sigma / math.sqrt(8 * 4) * 4 / 3), 1e-5)


def test_points_that_count_less_are_further_off():
    """Four that count a quarter are off by twice as much, and the weighted mean is as good as it
    is."""
    times, x = moving(1)
    weights = np.array([1.0] * 4 + [0.25] * 4)
    base = np.sqrt(weights) * 0.001 * np.array([1, -1] * 4)
    found = fitting.intervals_of(times, x, np.sqrt(weights)[:, None], base, "soft_l1", 0.1, weights)
    sigma = 0.001 * math.sqrt(8 / 7)
    near(found[times[0].key], math.exp(STUDENT_7 * sigma * math.sqrt(4 + 4 / 16) / 5), 1e-5)


class Constant:
    """A comparer whose model has these values, whatever it is asked."""

    def __init__(self, measured):
        self.measured, self.questions = tuple(measured), []

    def ask(self, questions):
        self.questions += [(q.changes, q.points, q.weights) for q in questions]
        return [Answer("done", 1.0, self.measured, "") for _ in questions]

    def side_by_side(self, function, items):
        return [function(i) for i in items]


def fitting_of(m, comparer):
    f = fitting.Fitting.__new__(fitting.Fitting)
    f._comparer, f._m, f._budget, f._seed = comparer, m, 500, 3
    f._told, f._best = (lambda what, error: None), math.inf
    f._weights = [1.0 + i / 7 for i in range(len(m.points))]
    return f


def points(factor=lambda p: 1.0):
    """Times of a plain card, in the places of a small session."""
    found = []
    for i, p in enumerate(plan(2 * MIB)):
        how = dict(p.parameters)
        size = int(how.get("chunk", how.get("bs", 1)))
        value = (4e5 + 40 * size) * (1.2 if how.get("place") == "on" else 1) * (1 + i % 7 / 50)
        value = value if p.unit == "ns" else size * 1e9 / value
        found.append(Point(p.procedure, p.parameters, (value * factor(p),)))
    return tuple(found)


def test_what_is_held_out_is_not_seen():
    """Neither by the rules, which tell the first times, nor by the weights of the search."""
    best = search.start(SEGMENT, values(SEGMENT))
    for name in sorted({search.kind(p) for p in points()}):
        left = [i for i, p in enumerate(points()) if search.kind(p) == name]
        seen, errors = [], []
        for garbage in (1.0, 300.0, 1e-3):
            m = Measurement(points(lambda p, g=garbage: g if search.kind(p) == name else 1.0), "x",
                            512 * MIB)
            comparer = Constant(p.value for p in points())
            f = fitting_of(m, comparer)
            errors.append(f._without(best, 40, left))
            seen.append([(changes, points_, weights) for changes, points_, weights
                         in comparer.questions])
        assert seen[0] == seen[1] == seen[2], name
        for garbage, some in zip((1.0, 300.0, 1e-3), errors):
            assert len(some) == len(left)
            for e in some:
                near(e, -math.log(garbage))


def test_each_point_is_held_out_once():
    """In a quarter of the points, and with all others of its test."""
    m = Measurement(points(), "x", 512 * MIB)
    comparer = Constant(p.value for p in m.points)
    f = fitting_of(m, comparer)
    asked = []

    def without(best, share, left):
        asked.append(list(left))
        return [math.log(1 + 0.01 * len(asked))] * len(left)
    f._without = without
    held = f._held(search.start(SEGMENT, values(SEGMENT)))
    every = list(range(len(m.points)))
    assert sorted(i for some in asked[:4] for i in some) == every
    assert max(map(len, asked[:4])) - min(map(len, asked[:4])) <= 1
    assert all(some != sorted(some) for some in asked[:4]), "not a quarter of the session"
    kinds = list(dict.fromkeys(search.kind(p) for p in m.points))
    assert asked[4:] == [[i for i in every if search.kind(m.points[i]) == k] for k in kinds]
    assert [name for name, _ in held] == ["a quarter of the points, four times", *kinds]
    assert held[0][1].points == len(every)
    assert 0.0199 < held[0][1].median < 0.0301
    for i, (_, summary) in enumerate(held[1:]):
        near(summary.median, 0.05 + 0.01 * i, 1e-6)


def test_numbers_that_are_as_good():
    """Of each member of the structure, the neighbours' values with which the error is the same."""
    m = Measurement(points(), "x", 512 * MIB)
    f = fitting_of(m, Constant(p.value for p in m.points))
    best = search.start(SEGMENT, values(SEGMENT))
    error = f._search("", f._weights, 1000).judge([best])[0].error
    found = f._as_good(replace(best, error=error))
    assert found["cache"] == [16384, 65536] and found["copyback"] == [int(not SEGMENT.copyback)]
    assert found["limit"] == [64 * 1024, 120 * 1024] and "strategy" not in found
    assert set(found["open_random"]) == set(range(9)) - {3}
    worse = f._as_good(replace(best, error=error / 1.02))
    assert worse.keys() == found.keys() and not any(worse.values())


def in_order(rows, slow, factor=60.0):
    """Rows of -O in order; small writes of the rows in `slow` merge a unit each."""
    return [make_point("flashbench-open-au",
                       [chunk * 1e9 / ((2e6 + 20 * chunk) * (factor if n in slow else 1))],
                       erasesize=4 * MIB, open=n, random=False, chunk=chunk)
            for n in rows for chunk in (4096 << i for i in range(11))]


def test_a_limit_that_was_tried():
    """A limit is told if the row behind it was tried; otherwise it may be any number between."""
    assert rows_in_order.merges_from(in_order(range(1, 8), (6, 7))) == 5
    assert rows_in_order.told_limit(in_order(range(1, 8), (6, 7))) == 5
    for rows in ((1, 2, 3, 5, 7), (1, 2, 3, 5, 7, 8)):
        assert rows_in_order.merges_from(in_order(rows, (7, 8))) == 5
        assert rows_in_order.told_limit(in_order(rows, (7, 8))) is None
    assert rows_in_order.told_limit(in_order((1, 2, 3, 4, 6, 7), (7,))) == 6
    assert rows_in_order.told_limit(in_order(range(1, 8), ())) is None
    random = [replace(p, parameters=tuple(dict(p.parameters, random=True).items()))
              for p in in_order((1,), ())]
    assert rows_in_order.told_limit([*in_order(range(1, 8), (6, 7)), *random]) is None


def test_a_limit_of_two_slower_rows():
    row = {chunk: 1e6 + 20 * chunk for chunk in (4096 << i for i in range(8))}

    def rows(*factors):
        return {n: {c: t * f for c, t in row.items()} for n, f in enumerate(factors, 1)}
    assert curves.slower_from(rows(1, 1, 1, 1.2, 1.3)) == 3
    assert curves.slower_from(rows(1, 1, 1.2, 1, 1, 1)) is None      # one slow row
    assert curves.slower_from(rows(1, 1, 1, 1, 1.2)) == 4             # nothing behind it
    assert curves.slower_from(rows(1, 1.2, 1.2, 1.2, 1.2)) is None   # one unit is no limit
    assert curves.slower_from(rows(1, 1, 1, 1.06, 1.06)) is None
    near(curves.slower(rows(1)[1], rows(1, 1.5)[2]), math.log(1.5))
    small = {c: t * (9 if c < 64 << 10 else 1.5) for c, t in row.items()}
    near(curves.slower(row, small), math.log(1.5))                    # large commands count


def test_rows_together():
    rows = {1: {4096: 1.0, 8192: 2.0}, 2: {4096: 5.0}, 3: {4096: 3.0, 16384: 7.0},
            4: {4096: 90.0, 8192: 80.0}}
    assert curves.pooled(rows, 1, 3) == {4096: 3.0, 8192: 2.0, 16384: 7.0}
    assert curves.pooled(rows, 2, 3) == {4096: 4.0, 16384: 7.0}
    assert curves.pooled(rows, 4) == {4096: 90.0, 8192: 80.0} and curves.few_units(rows) == \
        curves.pooled(rows, 1, 3)
    assert curves.flat_until({4096: 10.0, 8192: 11.0, 16384: 13.0, 32768: 10.0}, 1.2) == 8192
    assert curves.flat_until({4096: 10.0}, 1.2) == 4096 and curves.flat_until({}, 1.2) == 0


def test_points_as_tables():
    """ns for a write of each size, and what a read across takes more than the mean of those beside
    it."""
    some = [make_point("flashbench-open-au", [2e6], erasesize=MIB, open=3, random=False, chunk=4096),
            make_point("flashbench-open-au", [1e6], erasesize=MIB, open=5, random=True, chunk=8192),
            make_point("flashbench-find-fat", [4e6], erasesize=MIB, units=6, unit=2, chunk=4096),
            *(make_point("flashbench-align", [v], align=8192, bs=1024, place=place)
              for place, v in (("pre", 100), ("on", 260), ("post", 300))),
            make_point("seq-write", [5e6], bs=4096, size=16384),
            make_point("seq-read", [6e6], bs=8192, size=16384)]
    c = curves.curves(some)
    assert (c.linear, c.random, c.fat) == ({3: {4096: 2048000}}, {5: {8192: 8192000}},
                                           {2: {4096: 1024000}})
    assert c.across == {8192: (60, 200)} and c.erasesize == MIB
    assert c.rates == [(True, 4096, 5e6)]   # of single commands nothing is known


def test_a_step_beside_unequal_reads():
    """A read across is compared with the mean of those before and behind it."""
    some = [make_point("flashbench-align", [v], align=8192, bs=1024, place=place)
            for place, v in (("pre", 100), ("on", 260), ("post", 300))]
    m = Measurement(tuple(some), "x")
    found = refining.sorts(m, ln(1, 230 / 260, 1))
    near(found[refining.STEPS][0], math.log(30 / 60))
    assert len(found[refining.STEPS]) == 1
    found = refining.sorts(m, ln(1, 150 / 260, 1))      # the model has no step
    near(found[refining.STEPS][0], math.log(0.01))
    flat = [make_point("flashbench-align", [v], align=8192, bs=1024, place=place)
            for place, v in (("pre", 200), ("on", 209), ("post", 200))]
    assert refining.STEPS not in refining.sorts(Measurement(tuple(flat), "x"), ln(1, 1, 1))


def test_no_sort_of_test_pays_for_another():
    some = [make_point("seq-write", [1e6], bs=4096, size=1 << 20),
            make_point("flashbench-find-fat", [1e6], erasesize=MIB, units=3, unit=1, chunk=4096)]
    judge = refining.Judge(Measurement(tuple(some), "x"), ln(1.4, 1.2))
    assert judge.value(ln(1.04, 1.21)) > 1 and judge.value(ln(1.41, 1.03)) > 1
    assert judge.value(ln(1.3, 1.1)) < 1 and judge.value(ln(1.3, None)) > 50
    near(judge.value(ln(1.04, 1.22)), 1.1)
    near(judge.value(ln(1.4, 1.2)), 1)


def test_numbers_as_a_profile_has_them():
    by_key = {t.key: t for t in model.TIMES}
    rate, time = by_key["nand.bus_rate"], by_key["nand.tR"]
    assert [refining.time_text(rate, v) for v in (123456789, 1e6, 999960, 654321, 1234)] == [
        "123.5MB/s", "1MB/s", "1MB/s", "654KB/s", "1KB/s"]
    assert [refining.time_text(time, v) for v in (123456, 1000, 999, 12.4, 0, -1)] == [
        "123.5us", "1us", "999ns", "12ns", "0", "0"]
    assert [refining.size_text(n) for n in (3 << 20, 3 << 10, 1536, 1000)] == [
        "3M", "3K", "1536", "1000"]


def test_weights_of_tests():
    """A kind of test counts as much as the square root of its number of points."""
    some = [make_point("flashbench-open-au", [1e6], erasesize=MIB, open=2, random=order,
                       chunk=4096 << i) for order, n in ((False, 4), (True, 9)) for i in range(n)]
    m = Measurement(tuple(some), "x")
    answer = Answer("done", 0.0, (1e6,) * 13, "")
    weights = search.weights_of(m, answer)
    assert weights[:4] == [0.5] * 4
    for w in weights[4:]:
        near(w, 1 / 3)
    lacking = replace(answer, measured=(None, *(1e6,) * 12))
    weights = search.weights_of(m, lacking, [1, 2])
    assert weights[:4] == [0, 0, 0, 1]


def test_what_a_row_lacks_between_two_others():
    """The geometric mean of the rates beside it; nothing at the ends of a row."""
    def row(units, rates):
        return [make_point("flashbench-open-au", [r], erasesize=MIB, open=units, random=False,
                           chunk=c) for c, r in rates.items()]
    found = curves.comparable(row(1, {4096: 2.0, 16384: 8.0, 65536: 50.0})
                              + row(2, {4096: 3.0, 8192: 5.0, 16384: 7.0, 32768: 9.0, 65536: 11.0}))
    rates = {dict(p.parameters)["chunk"]: p.value for p in found if dict(p.parameters)["open"] == 1}
    assert sorted(rates) == [4096, 8192, 16384, 32768, 65536]
    near(rates[8192], 4.0)
    near(rates[32768], 20.0)
    ends = curves.comparable(row(1, {8192: 2.0, 16384: 8.0, 32768: 9.0})
                             + row(2, {4096: 3.0, 8192: 5.0, 16384: 7.0, 32768: 1.0}))
    assert {dict(p.parameters)["chunk"] for p in ends} == {8192, 16384, 32768}


def test_requests_as_tables():
    """Single reads tell the link; single writes and reads in order tell other things."""
    some = [make_point("request", [v], op=op, bs=bs, start=0, stride=0, count=9)
            for op, bs, v in (("read", 4096, 7.0), ("write", 8192, 8.0), ("read", 512, 9.0))]
    assert curves.curves(some).reads == [(4096, 7.0), (512, 9.0)]


def test_words_of_a_card_are_what_is_no_time():
    """Each key is a time or a word, and what follows from others is neither."""
    keys = {"nand.tPROG": "1.5ms", "nand.page_size": "16K", "ftl.open_linear": "3", "nand.tR": "77us"}
    found = cards._card("x", {**keys, **dict.fromkeys(cards._DERIVED, "7")})
    assert dict(found.words) == {"nand.page_size": "16K", "ftl.open_linear": "3"}, found.words
    assert {t.key for t in found.times} == {"nand.tPROG", "nand.tR"}


def test_steps_of_a_ladder():
    ladder = cards.Ladder(2, 16, off="none", first=5, ones=True)
    assert ladder.next_to(8) == [16, 4, 7, 9, 0] and ladder.next_to(0) == [5]
    assert ladder.next_to(16) == [8, 15, 0] and ladder.next_to(2) == [4, 3, 0]
    assert cards.Ladder(2, 16).next_to(8) == [16, 4]


def test_points_that_are_far_off():
    """The farthest first, on either side, and how many more there are beyond 15 %."""
    some = tuple(make_point("fio-rate", [1e6], op="read", pattern="random", bs=512 << i, depth=1,
                            jobs=1) for i in range(8))
    off = [0.14, -0.16, 0.5, -0.7, None, 0.2, 0.3, 0.4]
    told = relatives_result.misses(type("R", (), {"errors": off}), Measurement(some, "x"))
    sizes = [t.split(" by ")[1].split()[0] for t in told[:5]]
    assert sizes == ["4096", "2048", "65536", "32768", "16384"] and "(-50 %)" in told[0], told
    assert told[5:] == ["1 more points are off by more than 15 %."]


def test_both_ends_of_a_ladder_are_reached():
    for key, ladder in cards._LADDERS.items():
        reached, fresh = set(), [ladder.first or ladder.least]
        while fresh:
            reached.update(fresh)
            fresh = [n for value in fresh for n in ladder.next_to(value) if n not in reached]
        assert {ladder.least, ladder.most} <= reached, (key, reached)
        assert (0 in reached) == bool(ladder.off), key


def test_other_numbers_of_scattered_units():
    """None, or more than a group, and never the same number again."""
    s = replace(SEGMENT, unit=MIB // 2, group=4, scattered=6)
    found = {n.scattered for n in model.neighbours(s) if n.group == 4 and n.unit == s.unit}
    assert found - {6} == {0, 5, 7, 10, 18}
    at = model.neighbours(s)
    assert s not in at and len(set(at)) == len(at)


def test_kinds_of_numbers():
    """Sizes in bytes, a share in percent, and flags in words."""
    assert fit_result._shown("unit", 3 << 20) == "3 MiB" and fit_result._shown("spare", 125) == \
        "12.5 %" and fit_result._shown("copyback", 1) == "yes" and \
        fit_result._shown("open_linear", 4096) == "4096"


def test_procedures_that_repeat_a_figure():
    """Of a direct job of one process from the begin of the device, with nothing special."""
    def said(procedure="fio-rate", **how):
        usual = {"op": "write", "pattern": "random", "bs": 4096, "depth": 3, "jobs": 1,
                 "size": 5 << 20}
        usual |= how
        return relatives_result._procedure(make_point(procedure, [1e6], **{
            k: v for k, v in usual.items() if v is not None}))
    assert said() == "fio-randwrite bs=4K depth=3 size=5M"
    assert said(pattern="sequential", op="read", queue=False) == \
        "fio-read-cq-off bs=4K depth=3 size=5M"
    assert said(direct=True, queue=True) == said()
    for other in ({"op": "trim"}, {"jobs": 2}, {"direct": False}, {"size": None}, {"share": 70}):
        assert said(**other) == "", other
    zone = {"test": "random-write", "file": 3 << 20, "bs": 4096, "direct": True, "fsync": True}
    assert relatives_result._procedure(make_point("iozone", [1.0], **zone)) == \
        "iozone-rand-write bs=4K size=3M"
    for other in ({"direct": False}, {"fsync": False}, {"jobs": 2}, {"test": "rewrite"}):
        assert relatives_result._procedure(make_point("iozone", [1.0], **zone | other)) == "", other


run(globals())
