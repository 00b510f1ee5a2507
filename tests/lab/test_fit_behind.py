#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab fit: cards that write while the next data arrive."""

from dataclasses import replace

from flashemu_fit_bench import MIB, SEGMENT, TIMES, half, measured, plan, values
from flashemu_script import run, skip

try:
    import cmaes  # noqa: F401
    import scipy.optimize  # noqa: F401
except ImportError:
    skip("no Python modules cmaes and scipy")

from flashemu_lab.fit import compare, fit_result, fitting, model, search  # noqa: E402
from flashemu_lab.fit.rules import first_times  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402


def test_only_behind_readers_is_it_tried():
    reader = replace(SEGMENT, limit=120 << 10)
    buffers = {2 * SEGMENT.page, 4 * SEGMENT.page}
    assert {n.behind for n in model.neighbours(reader)} == {0, *buffers}
    assert {n.behind for n in model.neighbours(SEGMENT)} == {0}
    # 64 KiB at a time, in pages of 8
    assert {n.tail for n in model.neighbours(replace(reader, page=8192))} == {1, 2, 4, 8}
    # what has one may lose it, and keeps it otherwise
    card = replace(SEGMENT, behind=2 * SEGMENT.page)
    assert {n.behind for n in model.neighbours(card)} == {0, *buffers}


def test_writing_behind_keeps_what_a_page_takes():
    """Data and program took turns; now the program alone lasts as long, and the other way round."""
    m = measured(SEGMENT, points=plan(2 * MIB, 2))
    with compare.Comparer(Tool(), m, 1) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        plain = search.start(SEGMENT, values(SEGMENT))
        behind = one.moved(plain, replace(SEGMENT, behind=2 * SEGMENT.page))
        again = one.moved(behind, SEGMENT)
        page = one.moved(behind, replace(behind.structure, page=SEGMENT.page // 2))
    arrives = SEGMENT.page * 1e9 / TIMES["link.bandwidth"]
    for fit, wanted in ((behind, TIMES["nand.tPROG"] + arrives), (again, TIMES["nand.tPROG"]),
                        (page, (TIMES["nand.tPROG"] + arrives) / 2)):
        assert abs(dict(zip([t.key for t in model.times_of(fit.structure)], fit.values()))[
            "nand.tPROG"] / wanted - 1) < 1e-9, wanted


def test_a_card_that_writes_while_data_arrive_is_found():
    """Behind a reader of 120 KiB, with a buffer of two pages; from half of the points.  No times
    make up for that buffer."""
    s = replace(SEGMENT, limit=120 << 10, cache=16384, behind=32768, tail=4, open_random=4)
    times = dict(TIMES) | {"ftl.tail_write": 4e6, "nand.tPROG": 2.5e6, "link.bandwidth": 1.6e7}
    m = half(measured(s, [times[t.key] for t in model.times_of(s)]))
    found = fitting.fit(Tool(), m, 700, 1, 2, trust=False)
    assert found.structure.behind and found.structure.limit == s.limit, found.structure
    assert found.all.median < 0.03, found.all
    assert fit_result.structure_text(found.structure).endswith("while the next data arrive.")
    told = fit_result.structure_text(replace(SEGMENT, small_log=2, small_write=4096))
    assert told.endswith("random order; writes of up to 4 KiB go to a log of 2 units."), told
    for others, told in (([], "no other value that was tried is as good"),
                         ([65536], "64 KiB would be as good")):
        text = fit_result.profile(replace(found, as_good={"behind": others}), m, "my.json", "fit 1")
        line = next(n for n in text.splitlines() if n.startswith("cache.write_behind = fitted")
                    or n.startswith("cache.write_behind = not"))
        assert told in line, line
    stream = [i for i, p in enumerate(m.points) if search.kind(p) == "open units in order"
              and dict(p.parameters)["open"] == 1]
    with compare.Comparer(Tool(), m, 2) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        one.left = 400
        worst = []
        for n in (s, replace(s, behind=0)):
            fit = one.times(one.judge([search.start(n, first_times(n, m))])[0], 4)
            errors = compare.log_errors(comparer.ask([fit.question()])[0], m)
            worst.append(max(abs(errors[i]) for i in stream))
    assert worst[0] < 0.01 and worst[1] > 0.1, worst


run(globals())
