#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab fit: measurements in which nothing was written in random order."""

from dataclasses import replace

from flashemu_fit_bench import MIB, PAGE, SEGMENT, measured, plan, values
from flashemu_script import run, skip

try:
    import cmaes  # noqa: F401
    import scipy.optimize  # noqa: F401
except ImportError:
    skip("no Python modules cmaes and scipy")

from flashemu_lab.fit import compare, curves, fit_result, fitting, rows_in_order, rules  # noqa: E402
from flashemu_lab.fit import model, moves, search  # noqa: E402
from flashemu_lab.fit.compare import Answer  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, make_point  # noqa: E402
from flashemu_lab.fit.model import as_in_order  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

GROUPS = replace(SEGMENT, unit=256 * 1024, group=8, open_linear=8, open_random=0, scattered=24)


def in_order(m):
    """Without flashbench -O --random."""
    return replace(m, points=tuple(p for p in m.points if not dict(p.parameters).get("random")))


def asked_of(one):
    """The fits that a search will compare; a list that grows."""
    asked, judge = [], one.judge
    one.judge = lambda fits, bound=None: asked.extend(fits) or judge(fits, bound)
    return asked


def test_what_says_something_about_random_order():
    def says(procedure, **how):
        return rows_in_order.shows_random_order([make_point(procedure, [1e6], **how)])
    assert says("flashbench-open-au", erasesize=MIB, open=1, random=True, chunk=4096)
    assert not says("flashbench-open-au", erasesize=MIB, open=1, random=False, chunk=4096)
    assert not says("flashbench-find-fat", erasesize=MIB, units=2, unit=0, chunk=4096)
    for op in ("read", "write"):
        assert says("request", op=op, bs=4096, start=0, stride=4096, count=8) == (op == "write")
        for pattern in ("sequential", "random"):
            for procedure in ("load", "fio-rate"):
                size = {"size": MIB} if procedure == "load" else {}
                jobs = {"jobs": 1} if procedure == "fio-rate" else {}
                assert says(procedure, op=op, pattern=pattern, bs=4096, depth=1, **jobs,
                            **size) == (op == "write" and pattern == "random")
    for test in ("random-write", "random-read", "write"):
        assert says("iozone", test=test, file=MIB, bs=4096, direct=True,
                    fsync=False) == (test == "random-write")
    assert not says("seq-write", bs=4096, size=MIB) and not rows_in_order.shows_random_order([])


def test_candidates_have_one_number_of_open_units():
    """And those of a measurement that has both orders keep the two that it shows."""
    m = measured(SEGMENT)
    some = [s for s in rules.candidates(in_order(m)) if s.strategy == "segment"]
    assert some and some[0].open_linear == 4, some
    # A limit as hard as this one suggests no groups; a soft one does.  Neither has a log of small
    # writes, without which nobody assumes that units are merged before they are full.
    soft = [s for s in rules.candidates(in_order(measured(GROUPS))) if s.strategy == "segment"]
    for known, groups in ((some, {False}), (soft, {False, True})):
        plain = [s for s in known if not s.spills]
        assert {s.gathers for s in plain} == groups, plain
        for s in plain:
            most = 0 if s.gathers else s.open_linear
            assert s.open_random == most and s.open_units in (0, most), s
            assert s == replace(s, random_log=0, record=0, gap_fill=0), s
    assert {(s.open_linear, s.open_units) for s in some} >= {(4, 0), (4, 4)}, some
    assert {s.unit * s.group for s in some} == {SEGMENT.unit}
    pages = [s for s in rules.candidates(in_order(m)) if s.strategy == "page"]
    assert pages and all(s == as_in_order(replace(s, open_units=0)) for s in pages), pages
    assert rules.candidates(m)[0].open_random == 3
    assert as_in_order(PAGE) == PAGE
    logs = replace(GROUPS, small_log=16, small_write=8192)
    assert as_in_order(GROUPS) == logs == as_in_order(replace(logs, small_write=65536))
    assert as_in_order(replace(logs, small_log=9)).small_log == 9
    assert as_in_order(replace(GROUPS, scattered=0)).open_random == 8
    log = 3 * SEGMENT.unit // 8
    assert as_in_order(replace(SEGMENT, open_units=3, random_log=MIB, record=65536,
                               gap_fill=32)) == replace(SEGMENT, open_random=4, open_units=4,
                                                        random_log=log)
    assert as_in_order(SEGMENT) == replace(SEGMENT, open_random=4)
    pages = replace(SEGMENT, unit=10 * 16384, page=16384, random_log=1)
    assert as_in_order(pages).random_log == 3 * 16384   # whole pages


def test_only_what_shows_as_a_unit_is_one():
    """Where random order was measured, the second step of -a may be the unit as well."""
    m, shown = measured(SEGMENT), rules.shown_units
    rules.shown_units = lambda c, points: [2 * MIB, MIB // 2]
    try:
        for known, units in ((m, {2 * MIB, MIB // 2}), (in_order(m), {2 * MIB})):
            found = {s.unit * s.group for s in rules.candidates(known) if s.strategy == "segment"}
            assert found == units, found
    finally:
        rules.shown_units = shown


def test_cards_with_a_small_log_merge_units_before_they_are_full():
    """So that is assumed of them, and of no others, and no climb takes it back."""
    m = measured(SEGMENT)
    small = [make_point("flashbench-open-au", [
        chunk / (0.02 if n > 4 and chunk < 16384 else 0.5 if n > 4 else chunk * 1e-7)],
        erasesize=2 * MIB, open=n, random=False, chunk=chunk)
             for n in range(1, 7) for chunk in (4096 << i for i in range(8))]
    for points, first in ((m.points, 0), (small, 3 * SEGMENT.unit // 8)):
        known = in_order(replace(m, points=tuple(points)))
        some = [s for s in rules.candidates(known) if s.strategy == "segment" and not s.spills]
        assert {s.random_log for s in some if not s.gathers} == {first}, some
        with compare.Comparer(Tool(), known, 1) as comparer:
            one = search.Search(comparer, known, [1.0] * len(known.points))
        assert {n.random_log for n in one.near(some[0], [SEGMENT])} == {first}


def test_a_search_assumes_what_nothing_shows():
    """Neither a climb nor CMA-ES tries another number of units in random order, but both do where
    one write in random order was measured."""
    whole = measured(SEGMENT)
    one_more = next(p for p in whole.points if dict(p.parameters).get("random"))
    other = replace(SEGMENT, open_linear=2, open_random=2)
    for m, assumes in ((in_order(whole), True), (replace(in_order(whole), points=(
            *in_order(whole).points, one_more)), False)):
        with compare.Comparer(Tool(), m, 2) as comparer:
            one = search.Search(comparer, m, [1.0] * len(m.points))
            asked = asked_of(one)
            one.left = 120
            climb = moves.Climb(search.start(other, values(other)))
            climb.others = [replace(other, random_log=MIB, open_random=1)]
            one.structure(climb)
            first = len(asked)
            one.left = 40
            one.rest(climb.fit, 1)
        for some in (asked[:first], asked[first:]):
            tied = [f.structure == as_in_order(f.structure) for f in some]
            assert len(tied) > 20 and all(tied) == assumes, (assumes, some)
        assert len({f.structure.open_random for f in asked[first:]}) > 1, asked[first:]


def rows(limit, most=7, merge_ns=5e8, cheap=None, slower=1):
    """flashbench -O up to `most` units in turn: beyond `limit` each write takes `slower` times as
    long, but at least `merge_ns`; with `cheap` units in turn a third of that."""
    points = []
    for n in range(1, most + 1):
        for chunk in (4096 << i for i in range(8)):
            ns = chunk * 200.0
            if n > limit:
                ns = max(slower * ns, merge_ns / 3 if n == cheap else merge_ns)
            points.append(make_point("flashbench-open-au", [chunk * 1e9 / ns], erasesize=2 * MIB,
                                     open=n, random=False, chunk=chunk))
    return points


def test_a_limit_that_is_told_stays():
    """A row of which a third of the writes merge a unit has one unit too many.  Neither the climb
    nor CMA-ES has another limit then; without the row behind the limit, or with one write in random
    order, they try others."""
    told = rows(3, cheap=4)
    assert rows_in_order.told_limit(told) == 3
    assert rows_in_order.told_limit([p for p in told if dict(p.parameters)["open"] != 4]) is None
    assert rows_in_order.told_limit(rows(7)) is None and rows_in_order.told_limit([]) is None
    one = make_point("flashbench-open-au", [1e6], erasesize=2 * MIB, open=1, random=True,
                     chunk=4096)
    assert rows_in_order.told_limit([*told, one]) is None
    soft = rows(3, merge_ns=5e6)
    for points, limits in ((told, {3}), (soft, {2, 3, 4}), ([*told, one], {2, 3, 4})):
        m = Measurement(tuple(points), "rows", 480 * MIB)
        every = rules.candidates(m)
        if limits == {3}:
            assert {s.open_linear for s in every if s.strategy == "segment" and s.group == 1} == {3}
        begin = replace(SEGMENT, open_linear=3, open_random=3)
        with compare.Comparer(Tool(), m, 1) as comparer:
            one_search = search.Search(comparer, m, [1.0] * len(m.points))
            near = one_search.near(begin, [replace(begin, open_linear=5)])
            asked = asked_of(one_search)
            one_search.left = 60
            one_search.rest(search.start(begin, values(begin)), 1)
        assert {n.open_linear for n in near} & {2, 3, 4} == limits, (limits, near)
        assert ({f.structure.open_linear for f in asked} == {3}) == (limits == {3}), limits


SPILLS = replace(SEGMENT, open_linear=2, open_random=8, random_log=MIB, small_log=6,
                 small_write=131072)


def test_what_rises_with_each_unit_suggests_units_that_spill():
    """A unit beyond the limit is merged once for each half of it, not for each write.  A step, or a
    unit that each small write merges, says something else, and so does what `probe` measures."""
    def has(m):
        return {s.spills for s in rules.candidates(m) if s.strategy == "segment"}
    m = in_order(measured(SPILLS))
    assert rows_in_order.merges_from(m.points) is None and has(m) == {False, True}
    assert [(s.open_linear, s.open_random, s.random_log, s.small_write)
            for s in rules.candidates(m) if s.spills] == [(2, 8, MIB, 131072)]
    assert has(measured(SPILLS)) == {False, True}
    assert model.spilling(SEGMENT, 9).spills, "more are open in order than usually spill"
    one = make_point("request", [1e6], op="read", bs=512, start=0, stride=0, count=1)
    assert has(replace(m, points=(*m.points, one))) == {False}
    for points, wanted in ((rows(3), False), (rows(3, merge_ns=0, slower=2), False),
                           (rows(3, merge_ns=0, slower=1.4), True)):
        assert has(Measurement(tuple(points), "rows", 480 * MIB)) == {False, wanted}, wanted


def test_a_search_keeps_what_spills():
    """How much such a unit takes shows in order, and may change; how many are open does not."""
    m = in_order(measured(SPILLS))
    with compare.Comparer(Tool(), m, 1) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        near = one.near(SPILLS, [SEGMENT])
        asked = asked_of(one)
        one.left = 60
        one.rest(search.start(SPILLS, values(SPILLS)), 1)
    assert len(asked) > 20
    for some in (near, [f.structure for f in asked]):
        assert {(s.open_random, s.open_units, s.record, s.gap_fill) for s in some
                if s.open_linear < 8} == {(8, 0, 0, 0)}, some
        assert {s.small_write for s in some if s.small_log} == {131072}, some
    assert len({s.random_log for s in near}) > 3 and len({s.small_log for s in near}) > 3, near
    assert all(s.spills for s in near), near


def test_random_order_follows_from_what_spills():
    """All of the structure that is in order is found; the log of small writes does not show."""
    m = measured(SPILLS)
    found = fitting.fit(Tool(), in_order(m), 400, 1, 1, trust=False)
    assert replace(found.structure, small_log=6, region=SPILLS.region) == SPILLS, found.structure
    with compare.Comparer(Tool(), m, 1) as comparer:
        answer = comparer.ask([search.start(found.structure, found.values).question()])[0]
    errors = [e for p, e in zip(m.points, compare.log_errors(answer, m))
              if dict(p.parameters).get("random")]
    assert fitting.summed(errors).median < 0.25, fitting.summed(errors)


def test_tests_in_order_do_not_say_how_large_units_are():
    """Nor how they are grouped."""
    for m, groups in ((in_order(measured(GROUPS)), {8}), (measured(GROUPS), {1, 4, 8, 16})):
        with compare.Comparer(Tool(), m, 1) as comparer:
            near = search.Search(comparer, m, [1.0] * len(m.points)).near(GROUPS, [SEGMENT])
            varied = fitting.Fitting(comparer, m, 60, 1)._varied()
        assert {n.group for n in near} == groups, near
        assert ({n.unit for n in near} == {GROUPS.unit}) == (groups == {8}), near
        known = {n.group for n in rules.candidates(m)}
        assert ({n.group for n in varied} <= known) == (groups == {8}) and varied, varied


def test_a_soft_limit_in_order_suggests_groups():
    """Beyond the limit a write takes longer, but not as long as a merge of what shows as a unit.
    Where random order was measured, that decides instead."""
    m = measured(GROUPS)
    for known, wanted in ((in_order(m), True),
                          (in_order(measured(replace(SEGMENT, open_random=0))), False)):
        found = [s for s in rules.candidates(known) if s.group > 1]
        assert bool(found) == wanted, found
    assert {(s.unit, s.group) for s in rules.candidates(in_order(m)) if s.group > 1} == \
        {(256 * 1024, 8)}
    rows = {n: {16384 << i: 1e6 * (2 ** i) * (3 if n > 2 else 1) for i in range(6)}
            for n in range(1, 6)}
    c = curves.Curves(rows)
    assert rows_in_order.has_soft_limit(c, c)
    assert not rows_in_order.has_soft_limit(curves.Curves(rows, {1: {16384: 1e6}}), c)
    fewer = curves.Curves(rows | {n: {k: t for k, t in rows[n].items() if k != 32768} for n in (3, 4)})
    assert rows_in_order.has_soft_limit(fewer, fewer)  # a size that was asked of few units only
    merged = curves.Curves(rows | {n: dict.fromkeys(rows[n], 5e8) for n in (3, 4, 5)})
    assert not rows_in_order.has_soft_limit(merged, merged)
    for factors, wanted in (((1, 1, 1.3, 1.6, 2.0, 2.4), False),    # with each further unit
                            ((1, 1, 1.1, 1.1, 2.2, 2.4), True),     # a step, not the first change
                            ((1, 2, 2.2, 2.4, 2.6, 2.9), False)):   # what one stream does
        rising = curves.Curves({n: {16384 << i: 1e6 * (2 ** i) * factor for i in range(6)}
                                for n, factor in enumerate(factors, 1)})
        assert rows_in_order.has_soft_limit(rising, rising) == wanted, factors


def test_many_units_that_are_as_fast_as_two_suggest_pages():
    """Where nothing else was measured; four units are too few to say so."""
    m = measured(replace(SEGMENT, open_linear=8, open_random=8))
    for known, wanted in ((in_order(m), {"page"}), (m, {"page", "segment"})):
        assert {s.strategy for s in rules.candidates(known)} == wanted, rules.candidates(known)
    few = replace(m, points=tuple(p for p in in_order(m).points
                                  if dict(p.parameters).get("open", 0) <= 4))
    assert {s.strategy for s in rules.candidates(few)} == {"page", "segment"}
    assert "segment" in {s.strategy for s in rules.candidates(in_order(measured(SEGMENT)))}
    for more, wanted in ((0.0, True), (0.03, False)):   # slower from row to row
        rows = {n: {1 << 20: 1e8 * (1 + more * n)} for n in range(1, 7)}
        assert rows_in_order.no_limit(curves.Curves(rows)) == wanted, more


def test_units_that_were_left_open_are_no_pages():
    """The first command of each row closes what the last commands of the row before left open; it
    says so even where nothing else tells a limit.  Three units are too few for it."""
    def found(closing_ns, most=7):
        points = [make_point("flashbench-open-au", [chunk * 1e9 / (
            chunk * 150.0 + (closing_ns if chunk == 2 * MIB and n > 1 else 0))],
            erasesize=2 * MIB, open=n, random=False, chunk=chunk)
                  for n in range(1, most + 1) for chunk in (16384 << i for i in range(8))]
        m = Measurement(tuple(points), "rows", 480 * MIB)
        return {s.strategy for s in rules.candidates(m)}
    assert found(0) == found(3e7) == {"page"}
    assert found(1e8) == {"segment"}
    assert found(1e8, 3) == {"page", "segment"}


def test_units_have_to_explain_more_than_pages():
    """A map by pages stays among the climbs, and is the result if its error is not much larger than
    that of the best; only where random order was not measured, and no unit is merged for each
    write."""
    def climbs(*errors):
        sorts = {"page": PAGE, "units": SEGMENT, "others": replace(SEGMENT, page=4096),
                 "groups": GROUPS, "spilling": SPILLS}
        return [moves.Climb(replace(search.start(sorts[n], values(sorts[n])), error=error))
                for n, error in errors]
    near = climbs(("units", 0.04), ("others", 0.045), ("page", 0.049))
    far = climbs(("units", 0.04), ("others", 0.045), ("page", 0.051))
    first = climbs(("page", 0.03), ("units", 0.04))
    m = measured(SEGMENT)
    known = in_order(m)
    cliff = [make_point("flashbench-open-au", [1e6 if n > 4 else 1e8], erasesize=MIB, open=n,
                        random=False, chunk=chunk)
             for n in range(2, 7) for chunk in (16384, 32768, 65536)]
    limited = replace(known, points=(*cliff, *(p for p in known.points
                                               if p.procedure != "flashbench-open-au")))
    for points, chosen, going in ((known, "page", ["segment", "page"]),
                                 (limited, "segment", ["segment"]), (m, "segment", ["segment"])):
        with compare.Comparer(Tool(), points, 1) as comparer:
            one = fitting.Fitting(comparer, points, 60, 1)
        assert one._simplest(near).structure.strategy == chosen
        assert one._simplest(far).structure == SEGMENT
        assert one._simplest(first).structure == PAGE
        assert one._simplest(climbs(("units", 0.04))).structure == SEGMENT
        for some in (near, far):
            kept = [c.fit.structure.strategy for c in one._going_on(some, 1)]
            assert kept == going, kept
        assert [c.fit.structure for c in one._going_on(first, 1)] == [PAGE]
        # groups are preferred to units in the same way, pages to groups, and groups to units that
        # spill, which are preferred to others
        for names, sorts in ((("page", "groups"), [PAGE, GROUPS, SEGMENT]),
                             (("groups", "spilling"), [GROUPS, SPILLS, SEGMENT])):
            if chosen != "page":
                sorts = [SEGMENT] * 3
            for errors, wanted in zip(((0.049, 0.041), (0.051, 0.049), (0.051, 0.051)), sorts):
                all_of = climbs(("units", 0.04), *reversed([*zip(names, errors)]))
                assert one._simplest(all_of).structure == wanted, (names, errors)
                kept = {c.fit.structure for c in one._going_on(all_of, 1)}
                assert kept == {SEGMENT, *sorts}, kept


def test_one_stream_counts_where_nothing_else_shows_it():
    """-f writes whole units, so -O with one unit is a kind of its own only without it."""
    points = [make_point("flashbench-open-au", [1e6], erasesize=MIB, open=n, random=way,
                         chunk=65536) for way in (False, True) for n in (1, 2, 3, 4, 5)]
    fat = make_point("flashbench-find-fat", [1e6], erasesize=MIB, units=1, unit=0, chunk=65536)

    def of_each(points):
        answer = Answer("done", 0.0, tuple(1.0 for _ in points), "")
        return [round(w, 3) for w in search.weights_of(Measurement(tuple(points), "x", 64 * MIB),
                                                       answer)]
    assert of_each(points) == [1.0] + [0.5] * 4 + [0.447] * 5
    assert of_each([*points, fat]) == [0.447] * 10 + [1.0]


def test_random_order_follows_from_order():
    """A fit to what was written in order alone predicts the rest of a device that is as the
    assumption says, and says what it assumes and which measurement is missing."""
    s = as_in_order(SEGMENT)
    m = measured(s, points=plan(2 * MIB))
    known = in_order(m)
    found = fitting.fit(Tool(), known, 300, 1, 2)
    assert found.structure.open_random == found.structure.open_linear == 4, found.structure
    keys = [f"{k}={v}" for k, v in found.keys().items()]
    with compare.Comparer(Tool(), m, 1) as comparer:
        answer = comparer.ask([compare.Question("segment", tuple(keys))])[0]
    errors = fitting.summed([e for p, e in zip(m.points, compare.log_errors(answer, m))
                             if dict(p.parameters).get("random")])
    assert errors.median < 0.05, errors
    assert "open_random" not in found.as_good and found.as_good["open_linear"] == [], found.as_good
    for key, usual in (("ftl.open_random", "most cards have as many open as in order"),
                       ("ftl.random_log", "most cards merge a unit before it is full")):
        assert [fit_result.provenance(found, one, key, "x.json") for one in (known, m)] == [
            f"assumed, not measured: nothing was written in random order, and {usual}",
            "assumed: no other value was tried"], key


class Alike:
    """Answers as a Comparer does; every device is as good as every other one."""

    @staticmethod
    def ask(questions):
        return [Answer("done", 0.1, tuple([None]), "") for _ in questions]


def test_limits_that_are_as_good_are_named():
    """The numbers that go with that of the units in order do not hide others that would do."""
    m = in_order(measured(SEGMENT))
    s = as_in_order(replace(SEGMENT, open_units=4))
    with compare.Comparer(Tool(), m, 1) as comparer:
        one = fitting.Fitting(comparer, m, 60, 1)
    one._comparer, one._weights = Alike(), [1.0]
    found = one._as_good(replace(search.start(s, values(s)), error=one._search(
        "", [1.0], 1).judge([search.start(s, values(s))])[0].error))
    assert {3, 5} <= set(found["open_linear"]) and 4 not in found["open_linear"], found
    assert found["open_units"] == [0] and "open_random" not in found, found
    assert set(found["page"]) == {8192, 32768}, found  # what counts in pages goes with them


def test_what_is_assumed_of_groups_is_said():
    m = measured(GROUPS)
    s = as_in_order(GROUPS)
    one = fitting.Fitted(s, values(s), {"small_write": [4096]}, errors=[], measured=[])
    begin, tried = "assumed, not measured: nothing was written in random order, and cards with such " \
        "groups have ", "assumed: no other value was tried"
    for key, told in (
            ("ftl.open_random", (begin + "none open", tried)),
            ("ftl.small_write", (begin + "such a log", "not identifiable from these data: 4 KiB "
                                 "would be as good; of those one is taken")),
            ("ftl.small_log", (tried, tried))):
        assert told == tuple(fit_result.provenance(one, known, key, "x.json")
                             for known in (in_order(m), m)), key


def test_what_is_assumed_of_units_that_spill_is_said():
    """How many are open is assumed; what they take was measured."""
    m = measured(SPILLS)
    one = fitting.Fitted(SPILLS, values(SPILLS), {"random_log": []}, errors=[], measured=[])
    for key in ("ftl.open_random", "ftl.small_write"):
        assert fit_result.provenance(one, in_order(m), key, "x.json").startswith(
            "assumed, not measured: nothing was written in random order, and cards that slow down")
    assert fit_result.provenance(one, in_order(m), "ftl.random_log", "x.json").startswith("fitted to")


def test_what_is_missing_is_said():
    """Only what is missing: both tests, one of them, or none."""
    def told(*points):
        return [("random order" in line, "first units" in line)
                for line in fit_result.missing(Measurement(points, "x", MIB))]
    fat = make_point("flashbench-find-fat", [1e6], erasesize=MIB, units=2, unit=0, chunk=4096)
    order, in_random = (make_point("flashbench-open-au", [1e6], erasesize=MIB, open=1, random=r,
                                   chunk=4096) for r in (False, True))
    assert told(order) == [(True, False), (False, True)]
    assert told(order, fat) == [(True, False)]
    assert told(order, in_random) == [(False, True)]
    assert told(in_random, fat) == []


run(globals())
