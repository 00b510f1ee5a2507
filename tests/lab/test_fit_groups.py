#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab fit: units that are smaller than the one that shows, and their groups."""

from dataclasses import replace

from flashemu_fit_bench import MIB, SEGMENT, measured, values
from flashemu_script import run, skip

try:
    import scipy.optimize  # noqa: F401
except ImportError:
    skip("no Python module scipy")

from flashemu_lab.fit import compare, fit_result, fitting, model, search  # noqa: E402
from flashemu_lab.measurement.schema import make_point  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

GROUPS = replace(SEGMENT, unit=256 * 1024, group=8, open_linear=8, open_random=0, scattered=24)
FIND_FAT = [make_point("flashbench-find-fat", [1], erasesize=2 * MIB, units=6, unit=unit,
                       chunk=2 * MIB >> i) for i in range(6) for unit in range(6)]


def test_groups_that_stay_are_seen():
    """Of four numbers, the right one explains what happens beyond the limit of open units."""
    s = replace(GROUPS, stay=16)
    points = [make_point("flashbench-open-au", [1], erasesize=2 * MIB, open=n, random=order,
                         chunk=2 * MIB >> i)
              for order in (False, True) for n in (2, 4, 5) for i in range(6)]
    m = measured(s, points=points)
    with compare.Comparer(Tool(), m, 2) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        one.left = 4
        fits = one.judge([search.start(replace(s, stay=n), values(s)) for n in (0, 8, 16, 32)])
    assert fits[2].error < 1e-6 and fits[0].error > 0.1, [f.error for f in fits]
    assert replace(s, stay=0) in model.neighbours(s)
    assert s in model.neighbours(replace(s, stay=0))


def test_commands_that_make_groups_stay_are_seen():
    """The same for the number of commands that count, where small ones make the difference."""
    s = replace(GROUPS, stay=16, hot=8)
    points = [make_point("flashbench-open-au", [1], erasesize=2 * MIB, open=n, random=False,
                         chunk=2 * MIB >> i) for n in (2, 4, 5) for i in range(8)]
    m = measured(s, points=points)
    others = [n for n in model.neighbours(s) if n == replace(s, hot=n.hot)]
    assert [n.hot for n in others] == [0, 4, 16], others
    assert all(n.hot == 8 for n in model.neighbours(replace(s, stay=0)))
    with compare.Comparer(Tool(), m, 2) as comparer:
        one = search.Search(comparer, m, [1.0] * len(m.points))
        one.left = 2
        fits = one.judge([search.start(n, values(s)) for n in (s, others[0])])
    assert fits[0].error < 1e-6 and fits[1].error > 0.05, fits


def test_other_parts_keep_the_bytes_that_are_scattered():
    """A quarter of a unit and an eighth of it: 20 and 40 units that may lie scattered are the same
    room.  With 20 of both the right number of parts looks worse than the wrong one."""
    s = replace(SEGMENT, unit=MIB, group=4, scattered=20, stay=12, hot=8, small_log=8, small_write=8192,
                zone_start=4, zone_units=4, open_random=0)
    finer = replace(s, unit=MIB // 2, group=8, scattered=40, stay=24, small_log=16, zone_start=8, zone_units=8)
    assert finer in model.neighbours(s) and s in model.neighbours(finer)
    assert model.resized(s, MIB) == s and model.resized(finer, 4 * MIB) == replace(
        s, unit=4 * MIB, group=1, scattered=5, stay=3, small_log=2, zone_start=1, zone_units=1)
    assert model.resized(replace(s, scattered=0, stay=0), MIB // 2).scattered == 0
    assert model.resized(replace(s, scattered=5), 2 * MIB).scattered == 3


def test_a_small_log_is_emptied_gradually():
    """So it has two units at least, whatever becomes of it."""
    s = replace(SEGMENT, unit=2 * MIB, small_log=2, small_write=4096, zone_units=1)
    keys = model.profile_keys(s, values(s))
    assert keys["ftl.small_log"] == "2" and keys["ftl.small_pace"] == "1"
    assert "ftl.small_pace" not in model.profile_keys(SEGMENT, values(SEGMENT))
    for near in [s, *model.neighbours(s), *model.neighbours(SEGMENT)]:
        assert near.small_log == 0 or near.small_log >= 2, near
    assert {n.small_log for n in model.neighbours(s)} == {0, 2, 3, 4, 8}
    assert model.resized(replace(s, group=8), 16 * MIB).small_log == 2
    one = fitting.Fitted(s, values(s), errors=[], measured=[])
    told = fit_result.provenance(one, measured(SEGMENT), "ftl.small_pace", "x.json")
    assert told.startswith("assumed") and "250 ms" in told


run(globals())
