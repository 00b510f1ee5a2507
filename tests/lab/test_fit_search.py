#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab fit: the search, with answers that follow from a formula instead of a device."""

import math
import tempfile
from dataclasses import replace
from pathlib import Path

from flashemu_lab_bench import LAB  # noqa: F401  (finds the modules)
from flashemu_script import run, skip

try:
    import scipy.optimize  # noqa: F401
except ImportError:
    skip("no Python module scipy")

from flashemu_fit_bench import plan  # noqa: E402
from flashemu_lab.cli import fit as fit_command  # noqa: E402
from flashemu_lab.cli.parser import build_parser  # noqa: E402
from flashemu_lab.fit import budget, fitting, moves, search  # noqa: E402
from flashemu_lab.measurement import schema  # noqa: E402
from flashemu_lab.fit.compare import Answer  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, make_point  # noqa: E402
from flashemu_lab.fit.model import (Structure, as_in_order, exchanged, joined,  # noqa: E402
                                    neighbours, other_pages, price, profile_keys, times_of)
from flashemu_lab.runs.program import Tool  # noqa: E402

MIB = 1 << 20
SEGMENT = Structure("segment", 512 * MIB, 16384, 2 * MIB, open_linear=3, open_random=2)
POINTS = [make_point("seq-write", [1e6 * (i + 1)], bs=4096 << i, size=65536) for i in range(3)]
POINTS.append(make_point("flashbench-open-au", [4e6], erasesize=2 * MIB, open=1, random=True,
                         chunk=32768))
MEASURED = Measurement(tuple(POINTS), "x", 512 * MIB)


class Formula:
    """Answers as a Comparer does: the error of point i is errors(keys)[i].  Remembers what it was
    asked."""

    def __init__(self, errors):
        self.errors = errors
        self.asked = []

    def ask(self, questions):
        self.asked += questions
        return [self.answer(q) for q in questions]

    def answer(self, q):
        errors = self.errors(dict(change.split("=", 1) for change in q.changes))
        weights = q.weights or [1] * len(errors)
        total = sum(w * q.knee * math.log1p(abs(e) / q.knee) for w, e in zip(weights, errors))
        measured = [p.value * math.exp(e) for p, e in zip(POINTS, errors)]
        stopped = q.bound is not None and total > q.bound
        return Answer("stopped" if stopped else "done", total, tuple(measured), "")


def first_values(s):
    return [math.sqrt(max(t.least, 1) * t.most) for t in times_of(s)]


def begun(s, error=math.inf):
    return replace(search.start(s, first_values(s)), error=error)


def test_errors_count_less_beyond_the_knee():
    knee = moves.KNEE
    assert moves.counted(0) == 0
    assert math.isclose(moves.counted(knee * (math.e - 1)), knee)
    assert math.isclose(moves.counted(-knee * (math.e ** 2 - 1)), 2 * knee)
    for error in (0.0, 0.01, 0.3, 2.0):
        assert math.isclose(moves.typical(float(moves.counted(error))), error, abs_tol=1e-12)


def test_the_error_of_a_fit_is_a_mean_with_a_knee():
    """One point far off and three near: the typical error is nearer to that of the three."""
    comparer = Formula(lambda keys: [1.0, 0.01, -0.01, 0.01])
    one = search.Search(comparer, MEASURED, [1, 1, 2, 0])
    one.left = 3
    wanted = moves.typical(sum(w * float(moves.counted(e)) for w, e in
                                ((1, 1.0), (1, 0.01), (2, 0.01))) / 4)
    fit = one.judge([begun(SEGMENT)])[0]
    assert math.isclose(fit.error, wanted) and wanted < (1 + 3 * 0.01) / 4
    assert math.isclose(one.error(fit, one.residuals([fit])[0]), wanted)
    # a bound is an error, and the program's bound is a sum
    assert math.isclose(one.judge([begun(SEGMENT)], wanted * 1.001)[0].error, wanted)
    one.left = 1
    assert math.isinf(one.judge([begun(SEGMENT)], wanted * 0.999)[0].error)


def far(keys):
    """A valley with its lowest place at 6 units in order and 5 in random order."""
    off = abs(int(keys["ftl.open_linear"]) - 6) + abs(int(keys["ftl.open_random"]) - 5)
    other = int(keys["nand.page_size"]) != 16384 or keys["nand.copyback"] != "no"
    return [0.02 + 0.1 * off + 0.3 * other] * 4


def test_a_climb_goes_on_where_it_was():
    """With many small budgets a climb comes to the same place as with one, and nothing is tried
    twice with the same times."""
    found = []
    for grants in ([4000], [37] * 110):
        comparer = Formula(far)
        climb = moves.Climb(begun(SEGMENT))
        for grant in grants:
            one = search.Search(comparer, MEASURED, [1.0] * 4)
            one.left = grant
            assert one.structure(climb) is climb.fit
        found.append(climb.fit)
        assert climb.fit.structure in climb.tried and SEGMENT in climb.tried
    assert [(f.structure.open_linear, f.structure.open_random) for f in found] == [(6, 5)] * 2
    assert all(math.isclose(f.error, 0.02) for f in found)


def test_a_climb_tries_no_neighbour_twice():
    comparer = Formula(lambda keys: [0.1] * 4)   # nothing is better than anything else
    small = replace(SEGMENT, page=4096)
    climb = moves.Climb(begun(small, 0.1))
    near = set(neighbours(small))
    for grant in (0, 2, 0, price(near) - 2):   # what the budget does not reach is not tried
        one = search.Search(comparer, MEASURED, [1.0] * 4)
        one.left = grant
        one.structure(climb)
        assert len(climb.tried) == 1 + len(comparer.asked)
    asked = {q.changes for q in comparer.asked}
    assert climb.tried == {small, *near} and len(asked) == len(near)
    comparer.asked.clear()
    one.left = 1   # too few for slopes, so the next part of the budget is for them, too
    one.structure(climb)
    assert len(comparer.asked) == 1 and not climb.settled
    assert not asked & {q.changes for q in comparer.asked}


def test_many_parts_of_pages_count_more():
    """A comparison of a device that takes longer uses up more of a budget, and there is none for
    which the budget does not suffice."""
    comparer = Formula(lambda keys: [0.1] * 4)
    one = search.Search(comparer, MEASURED, [1.0] * 4)
    some = [replace(SEGMENT, parts=n) for n in (1, 2, 4, 8, 16)]
    small = [replace(SEGMENT, page=4096, parts=n) for n in (1, 2, 4)] + [
        replace(SEGMENT, page=2048), replace(SEGMENT, page=32768, parts=8)]
    for s, counts in zip([*some, *small], (1, 1, 1, 2, 3, 1, 2, 3, 2, 1)):
        one.left = 10
        one.judge([begun(s)])
        assert one.left == 10 - counts, s
    one.left = price(some)
    assert one.left == 8
    one.judge([begun(s) for s in some])
    assert one.left == 0
    one.left = 2
    asked = len(comparer.asked)
    try:
        one.judge([begun(some[-1])])
    except moves.Stopped:
        pass
    else:
        raise AssertionError("three comparisons with a budget of two")
    assert len(comparer.asked) == asked and one.left == 2
    one.judge([begun(some[-2])])


def test_what_a_climb_has_found_is_kept():
    """The budget ends while the neighbours are still looked through."""
    comparer = Formula(lambda keys: [0.1 - 0.001 * (keys["nand.page_size"] == "8192")] * 4)
    climb = moves.Climb(begun(SEGMENT, 0.1))
    one = search.Search(comparer, MEASURED, [1.0] * 4)
    one.left = 20
    assert one.structure(climb).structure.page == 8192 and climb.fit.error < 0.0991
    assert len(comparer.asked) <= 20


def test_the_place_where_a_budget_ends_is_not_settled():
    """A neighbour that became better while its times were fitted: its own times come next."""
    other = replace(SEGMENT, open_linear=7)
    for error, wanted in ((0.05, other), (0.2, SEGMENT)):
        climb = moves.Climb(begun(SEGMENT, 0.1))
        climb.settled = True
        one = search.Search(Formula(far), MEASURED, [1.0] * 4)

        def ends(_climb):
            raise moves.Stopped(begun(other, error))
        one._step = ends
        assert one.structure(climb).structure == wanted
        assert climb.settled == (wanted == SEGMENT)


def test_climbs_to_the_same_place_are_one():
    other = replace(SEGMENT, open_linear=7)
    climbs = [moves.Climb(begun(s, error)) for s, error in
              ((SEGMENT, 0.3), (other, 0.2), (SEGMENT, 0.1))]
    assert fitting._nearest(climbs) == [climbs[2], climbs[1]]


def test_changes_for_the_better_are_made_together():
    """Two changes of eight neighbours that are looked at make the error smaller, and one step makes
    both; but not if they are in each other's way."""
    def errors(keys):
        has = keys["link.max_transfer"] == "65536", keys.get("cache.size") == "16384"
        return [0.1 - 0.02 * sum(has) + spoilt * all(has)] * 4
    for spoilt, cache in ((0, 16384), (0.03, 0)):
        one = search.Search(Formula(errors), MEASURED, [1.0] * 4)
        one.left = 9
        tried = set()
        found = one._first_better(begun(SEGMENT, 0.1), neighbours(SEGMENT), tried)
        both = replace(SEGMENT, limit=64 << 10, cache=16384)
        assert found.structure == replace(both, cache=cache) and both in tried, found
        assert one.left == 0


def test_what_is_in_the_way_is_passed_over():
    """The second of three changes cannot be made with the first, and the third can."""
    def errors(keys):
        return [0.1 - 0.01 * (keys["link.max_transfer"] == "65536") - 0.04 * (keys.get("cache.size") == "16384")] * 4
    better = [begun(replace(SEGMENT, **change), error) for change, error in (
        ({"limit": 64 << 10}, 0.09), ({"limit": 120 << 10}, 0.095), ({"cache": 16384}, 0.096))]
    both = replace(SEGMENT, limit=64 << 10, cache=16384)
    for tried, wanted in ((set(), both), ({both}, better[0].structure)):
        one = search.Search(Formula(errors), MEASURED, [1.0] * 4)
        one.left = 5
        assert one._together(begun(SEGMENT, 0.1), better, tried).structure == wanted
        assert both in tried and one.left == 5 - (wanted == both)


def test_what_a_search_does_not_look_at():
    """Other units where only tests in order tell, and another limit where it is told."""
    one = search.Search(Formula(lambda keys: [0.1] * 4), MEASURED, [1.0] * 4)
    s, other = as_in_order(replace(SEGMENT, group=2)), replace(SEGMENT, group=2, page=8192)
    assert {n.unit for n in one.near(s)} == {MIB, 2 * MIB, 4 * MIB}
    assert {n.open_linear for n in one.near(s)} > {2, 3, 4}
    one.assumes = True
    near = one.near(s, [other, s, replace(other, unit=MIB)])
    assert {(n.unit, n.group) for n in near} == {(2 * MIB, 2)} and s not in near
    assert len(near) == len(set(near)) > 20 and all(n == as_in_order(n) for n in near)
    assert as_in_order(other) in near
    one._limited = True
    assert {n.open_linear for n in one.near(s)} == {3} and len(one.near(s)) > 10


def test_times_get_slopes_once_before_neighbours_get_times():
    """Where no neighbour is better: new slopes, then each neighbour with times of its own, and then
    nothing is left to try."""
    one, climb = search.Search(Formula(far), MEASURED, [1.0] * 4), moves.Climb(begun(SEGMENT, 0.1))
    near = [replace(SEGMENT, page=8192), replace(SEGMENT, cache=16384)]
    descents = []

    def descend(fit, *_):
        descents.append(fit.structure)
        return replace(fit, error=0.1)
    one.near, one._first_better, one._descend = lambda s, others=(): near, lambda *_: None, descend
    assert [one._step(climb) for _ in range(4)] == [True, True, True, False]
    assert descents == [SEGMENT, *near] and climb.settled and climb.fit.structure == SEGMENT


def test_what_a_descent_has_reached_is_kept():
    """When the budget ends in it; if it has reached nothing, what there was."""
    one, fit = search.Search(Formula(far), MEASURED, [1.0] * 4), begun(SEGMENT, 0.5)
    for best, wanted in ((begun(SEGMENT, 0.25), 0.25), (None, 0.375)):
        for end in (lambda: one.times(fit, 3), lambda: one.sharpened(fit)):
            steps = iter((begun(SEGMENT, 0.375), moves.Stopped(best)))

            def descend(_fit, *_, **__):
                step = next(steps)
                if isinstance(step, moves.Stopped):
                    raise step
                return step
            one._descend = descend
            assert end().error == wanted, (best, end)


def other_values(s, *names):
    """What the neighbours have for these numbers of a structure, if they have another one."""
    def of(n):
        return tuple(getattr(n, name) for name in names)
    return {of(n) for n in neighbours(s) if of(n) != of(s) and ("unit" in names or n.unit == s.unit)}


def test_each_number_has_its_neighbours():
    """Those that are next to it, and half and twice as many; none that there cannot be."""
    units = "open_units", "open_linear", "open_random"
    for n, wanted in ((3, {(2, 2, 2), (4, 4, 4)}), (1, {(2, 2, 2)}), (9, {(8, 8, 8), (10, 10, 10)})):
        s = replace(SEGMENT, open_units=n, open_linear=n, open_random=n)
        assert {v for v in other_values(s, *units) if v[0] != n} == wanted | {(0, n, n)}, n
    assert {v for v in other_values(SEGMENT, *units) if v[0]} == {(3, 3, 2)}
    for n, wanted in ((9, {0, 4, 8, 10, 18, 36}), (2, {0, 3, 4, 8}), (300, {0, 150, 299, 301}), (512, {0, 256, 511})):
        s = replace(SEGMENT, small_log=n, small_write=8192)
        assert other_values(s, "small_log") == {(w,) for w in wanted}, n
    assert other_values(SEGMENT, "small_log", "small_write") == {(3, 4096), (8, 4096), (3, 16384), (8, 16384)}
    s = replace(SEGMENT, record=65536, random_log=MIB)
    assert other_values(s, "record") == {(0,), (32768,), (131072,)}
    assert other_values(SEGMENT, "record") == {(16384,), (32768,)}
    # 4/3 MiB are 85 pages and a third
    assert other_values(s, "random_log") == {(0,), (MIB // 2,), (MIB * 3 // 4,), (85 * 16384,)}
    s = replace(SEGMENT, group=4, scattered=13, stay=8, hot=4)
    assert {v for v in other_values(s, "group", "scattered") if v[0] == 4} == {
        (4, n) for n in (0, 9, 12, 14, 17, 18)}
    assert {v for v in other_values(s, "stay")} == {(0,), (4,), (12,), (16,)}
    assert {v for v in other_values(s, "hot")} == {(0,), (8,), (16,)}
    assert other_values(SEGMENT, "unit", "group") >= {(MIB, 1), (4 * MIB, 1)}


def test_other_pages_keep_their_parts():
    """A byte is copied in the same time, and programmed in the same time or with the page."""
    times = {"nand.tPROG": 800e3, "ftl.copy_page": 100e3, "nand.tR": 60e3}

    def found(s):
        keys = [t.key for t in times_of(s)]
        fits = search.repaged(search.start(s, [times.get(key, 2e6) for key in keys]))
        return [(f.structure.page >> 10, f.structure.parts,
                 *(round(dict(zip(keys, f.values())).get(key, 0) / 1e3) for key in times)) for f in fits]

    s = Structure("segment", 64 * MIB, 8 << 10, MIB, parts=4)
    assert found(s) == [(2, 1, 200, 25, 60), (2, 1, 800, 25, 60), (4, 2, 400, 50, 60), (4, 2, 800, 50, 60),
                        (16, 8, 1600, 200, 60), (16, 8, 800, 200, 60), (32, 16, 3200, 400, 60),
                        (32, 16, 800, 400, 60)], found(s)
    # Of 64 KiB none is larger, and a part is at least 1 KiB; a map by pages copies by commands.
    assert [n[:3] for n in found(replace(s, page=64 << 10, parts=16))] == [
        (16, 4, 200), (16, 4, 800), (32, 8, 400), (32, 8, 800)]
    assert found(Structure("page", 64 * MIB, 2 << 10, discard=True))[:2] == [
        (4, 2, 1600, 0, 60), (4, 2, 800, 0, 60)]
    assert all(s.tail * s.page == 16 << 10 for s in other_pages(replace(s, tail=2)) if s.page < 16 << 10)


def test_keys_of_units_that_there_are():
    """A profile has the keys of what its structure has, and no others."""
    def keys(**more):
        s = replace(SEGMENT, **more)
        return profile_keys(s, first_values(s))
    plain = keys()
    assert (plain["ftl.open_linear"], plain["ftl.open_random"], plain["link.max_transfer"]) == ("3", "2", "524288")
    assert not plain.keys() & {"ftl.open_units", "ftl.random_log"}
    some = keys(open_units=5, random_log=MIB, open_linear=5, open_random=4)
    assert (some["ftl.open_units"], some["ftl.random_log"], some["ftl.open_random"]) == ("5", str(MIB), "4")


def test_what_is_assumed_of_random_order():
    """Each number that order does not show, from a structure in which all are different."""
    full = replace(SEGMENT, open_linear=5, open_random=9, open_units=7, record=32768, gap_fill=65536,
                   small_log=6, small_write=2048, random_log=MIB)
    spills = as_in_order(full, True)
    assert (spills.open_linear, spills.open_units, spills.record, spills.gap_fill, spills.small_log,
            spills.random_log) == (5, 0, 0, 0, 6, MIB)
    assert spills.open_random > 5 and spills.small_write != 2048 and spills.small_write > 0
    assert as_in_order(replace(full, small_log=0), True).small_write == 0
    plain = as_in_order(full)
    assert (plain.open_random, plain.open_units, plain.record, plain.gap_fill, plain.small_log,
            plain.small_write) == (5, 5, 0, 0, 6, 2048)
    assert 0 < plain.random_log < 2 * MIB and plain.random_log % 16384 == 0
    bare = as_in_order(replace(full, open_units=0, random_log=0))
    assert (bare.open_units, bare.open_random, bare.random_log) == (0, 5, 0)


def test_changes_of_the_same_thing_are_not_joined():
    few, many = replace(SEGMENT, cache=4096), replace(SEGMENT, cache=8192)
    paged = replace(SEGMENT, page=8192)
    assert joined(SEGMENT, few, many) is None
    assert joined(SEGMENT, few, paged) == replace(paged, cache=4096)
    assert joined(SEGMENT, few, SEGMENT) == few
    assert joined(SEGMENT, replace(SEGMENT, open_random=0),
                  replace(SEGMENT, switch_merge=False)) is None


def test_a_climb_takes_from_others_what_helps_only_together():
    """Commands of 120 KiB, a cache, and pages that are programmed in pairs: with one or two of the
    three the errors are larger than with none."""
    other = replace(SEGMENT, limit=120 << 10, cache=16384, tail=2, open_linear=7)

    def errors(keys):
        has = (keys["link.max_transfer"] == "122880", keys.get("cache.size") == "16384",
               keys.get("ftl.tail_align") == "32768")
        return [(0.1, 0.2, 0.15, 0.05)[sum(has)] + 0.01 * (keys["ftl.open_linear"] != "3")] * 4
    for others, wanted in (([], SEGMENT), ([other], replace(other, open_linear=3))):
        climb = moves.Climb(begun(SEGMENT, 0.1))
        climb.others = others
        one = search.Search(Formula(errors), MEASURED, [1.0] * 4)
        one.left = 200
        assert one.structure(climb).structure == wanted, (climb.fit, wanted)


def test_what_a_structure_takes_from_another_one():
    other = replace(SEGMENT, unit=4 * MIB, group=2, open_linear=7, small_log=3, small_write=8192,
                    cache=32768, region=MIB)
    whole = replace(other, cache=SEGMENT.cache, region=SEGMENT.region)
    assert exchanged(SEGMENT, other) == [replace(SEGMENT, cache=32768),
                                         replace(SEGMENT, region=MIB), whole]
    # with units of the same size each of their numbers can be taken for itself
    other = replace(other, unit=SEGMENT.unit, group=1)
    assert exchanged(SEGMENT, other)[2:] == [
        replace(SEGMENT, open_linear=7), replace(SEGMENT, small_log=3, small_write=8192)]
    assert exchanged(SEGMENT, SEGMENT) == []
    # the host, the cache and the page are the same things in all strategies
    assert exchanged(SEGMENT, Structure("page", MIB, 4096, spare=60, open_linear=9)) == [
        replace(SEGMENT, page=4096)]
    # the cache, what is written behind it, and the host's commands, together or each for itself
    reader = replace(SEGMENT, limit=120 << 10, cache=16384, behind=32768, tail=2)
    assert exchanged(SEGMENT, reader) == [reader, *(
        replace(SEGMENT, **{name: getattr(reader, name)})
        for name in ("limit", "cache", "behind", "tail"))]
    # no page that does not divide a unit, and no device that could not be written to
    assert exchanged(replace(SEGMENT, unit=96 << 10), replace(SEGMENT, page=65536)) == [SEGMENT]
    assert exchanged(replace(SEGMENT, open_random=0),
                     replace(SEGMENT, open_random=0, switch_merge=False)) == []


def test_starts_that_nothing_tells_apart_are_one():
    first, again = begun(SEGMENT, 0.1), begun(replace(SEGMENT, small_write=8192), 0.1)
    other, unknown = begun(replace(SEGMENT, page=8192), 0.2), begun(SEGMENT)
    worse = begun(replace(SEGMENT, open_linear=9))
    assert fitting._told_apart([first, other, again, unknown, worse]) == [
        first, other, unknown, worse]


class Searches:
    """Stands in the place of `fitting.Fitting`: the searches end with these errors of all points
    and these typical errors, whatever they are asked.  Remembers the budgets."""

    def __init__(self, *ends):
        self.ends = list(ends)
        self.budgets = []
        self.said = []

    def __call__(self, comparer, m, budget, seed, told, whole, conversation):
        assert conversation is None
        self.budgets.append(budget)
        told("times", 0.5)
        return self

    def run(self, trust):
        assert trust
        errors, error = self.ends[len(self.budgets) - 1]
        return fitting.Fitted(SEGMENT, [], error=error, errors=errors, measured=[])

    def fit(self, more):
        kept = fitting.Fitting
        fitting.Fitting = self
        try:
            return fitting.fit(Tool(), MEASURED, 70, 1, 1,
                               lambda what, error: self.said.append(what), more=more)
        finally:
            fitting.Fitting = kept


def test_a_search_that_has_not_come_near_is_followed_by_a_larger_one():
    near, far = [0.04] * 3, [0.06] * 3
    for errors, better, budgets in ((near, 0.3, [70]), (far, 0.3, [70, 90]), (far, 0.1, [70, 90])):
        searches = Searches((errors, 0.2), ([0.5] * 3, better))
        found = searches.fit(90)
        assert searches.budgets == budgets
        assert found.error == (min(0.2, better) if len(budgets) > 1 else 0.2)
        assert searches.said == ["times", "a larger search, times"][:len(budgets)]
    searches = Searches((far, 0.2))
    assert searches.fit(0).error == 0.2 and searches.budgets == [70]


def test_only_the_default_budget_has_a_larger_search():
    asked, kept = [], fitting.fit

    def fit(tool, m, comparisons, *rest, conversation):
        assert conversation is None
        asked.append((comparisons, rest[-1]))
        s = Structure("page", 512 * MIB, 16384)   # has no units that somebody could have taken
        return fitting.Fitted(s, [t.least for t in times_of(s)], errors=[], measured=[])
    fitting.fit = fit
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.json"
            schema.save(Measurement(tuple(plan(4 * MIB)), "x", 512 * MIB), path)
            for words in ([], ["--quick"], ["--budget", "70"]):
                arguments = build_parser().parse_args(["fit", str(path), "-o", "x.ini", *words])
                fit_command.fit_measurement(Tool(), path, arguments, 1, anyway=True)
    finally:
        fitting.fit = kept
    assert asked == [(budget.BUDGET, budget.MORE), (budget.QUICK, 0), (70, 0)]
    assert budget.MORE > budget.BUDGET


run(globals())
