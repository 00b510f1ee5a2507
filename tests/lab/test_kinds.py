#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How near a profile comes is judged by kind of request, and whoever uses it hears of the worst."""

import json
import math
from dataclasses import replace

from flashemu_lab_bench import FLASHEMU
from flashemu_script import ended, run, skip

try:
    import numpy  # noqa: F401
except ImportError:
    skip("no Python module numpy")

from pathlib import Path  # noqa: E402

from flashemu_fit_bench import MIB, SEGMENT, values  # noqa: E402

from flashemu_lab.fit import fit_result, fitting, relatives, relatives_result  # noqa: E402
from flashemu_lab.fit import kinds  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, make_point  # noqa: E402
from flashemu_lab.probe import speaking  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

KIB = 1 << 10


def iozone(test, bs):
    return make_point("iozone", [1e6], test=test, bs=bs, file=100 * MIB, direct=True, fsync=True)


def request(op, bs, stride, count=17, **more):
    return make_point("request", [1e6], op=op, bs=bs, start=0, stride=stride, count=count, **more)


def fitted(points, factors):
    """A result whose model has so many times the measured values."""
    return fitting.Fitted(SEGMENT, values(SEGMENT), errors=[f and math.log(f) for f in factors],
                          measured=[1.0] * len(points), points=tuple(points))


def test_operation_order_size_and_depth_make_a_kind():
    names = [kinds.kind_of(p) for p in (
        iozone("write", 16 * MIB), iozone("rewrite", 16 * MIB), iozone("random-write", 4 * KIB),
        iozone("reread", KIB),
        make_point("fio-rate", [1], op="write", pattern="random", bs=4096, depth=4, jobs=2),
        make_point("fio-rate", [1], op="read", pattern="sequential", bs=4096, depth=1, jobs=1,
                   queue=False),
        make_point("hdparm-t", [1], direct=True),
        make_point("dd", [1], op="write", bs=MIB, bytes=MIB),
        make_point("flashbench-open-au", [1], erasesize=MIB, open=3, random=True, chunk=65536),
        make_point("flashbench-open-au", [1], erasesize=MIB, open=5, random=True, chunk=65536),
        make_point("flashbench-find-fat", [1], erasesize=MIB, units=3, unit=1, chunk=8192),
        make_point("flashbench-align", [1], align=8192, bs=1024, place="on"),
        make_point("seq-read", [1], bs=65536, size=MIB), request("write", 4096, 4096),
        request("write", 4096, MIB), request("read", 512, 0, count=1),
        request("read", 4096, MIB, depth=8))]
    assert names == [
        "writes in order by 16 MiB", "rewrites in order by 16 MiB",
        "writes in random order by 4 KiB", "rereads in order by 1 KiB",
        "writes in random order by 4 KiB, 8 in flight", "reads in order by 4 KiB, without queue",
        "reads in order", "writes in order by 1 MiB", "writes in random order by 64 KiB",
        "writes in random order by 64 KiB", "writes in order by 8 KiB",
        "reads across multiples by 1 KiB", "reads in order by 64 KiB", "writes in order by 4 KiB",
        "writes apart by 4 KiB", "reads in order by 512 bytes", "reads apart by 4 KiB, 8 in flight"]


def test_many_points_of_one_kind_do_not_hide_others():
    """Sixty reads that are right, and three kinds of writes that are not."""
    points = [*(request("read", 4096, MIB * (k + 1)) for k in range(60)),
              *(request("write", bs, bs) for bs in (4096, 8192, 16384))]
    bad = fitted(points, [1.01] * 60 + [1.3, 0.5, 22.0])
    assert bad.all.median < 0.02 and bad.all.near > 0.9 and bad.good
    assert [(k.name, k.points) for k in bad.kinds] == [
        ("writes in order by 16 KiB", 1), ("writes in order by 8 KiB", 1),
        ("writes in order by 4 KiB", 1), ("reads apart by 4 KiB", 60)]
    assert kinds.off_text(bad.kinds[0]) == "writes in order by 16 KiB: +2100 %"
    assert kinds.off_text(bad.kinds[1]) == "writes in order by 8 KiB: -50 %"
    assert fitted(points, [1.01] * 60 + [1.05, 1.05, None]).good
    unknown = replace(bad, points=())
    assert unknown.kinds == [] and unknown.good


def near_but(factor):
    points = [request("write", 4096 << k, 4096 << k) for k in range(8)]
    points += [iozone("random-write", 4 * KIB)] * 3
    return points, fitted(points, [1.02] * 8 + [factor] * 3)


def test_the_worst_kind_is_said():
    points, far = near_but(22.0)
    m = Measurement(tuple(points), "x", 512 * MIB)
    told = " ".join(fit_result.sentences(far, m))
    assert ("The profile comes near for 8 of 9 kinds of request, but not for writes in random "
            "order by 4 KiB: +2100 % (median error 2.0 %") in told
    assert "The profile comes near:" not in told
    text = fit_result.profile(far, m, "m.json", "test")
    assert ("\nworst = This profile is far from its measurement at writes in random order by "
            "4 KiB: +2100 %\n") in text
    assert "\nerrors = median error 2.0 %" in text and "; worst at writes in random order" in text
    assert "not for writes in random order by 4 KiB: +2100 %" in fit_result.page(far, m, "x", "y")
    o = json.loads(fit_result.to_json(far, m, "m.json", "test"))["kinds"]
    assert len(o) == 9 and o[0]["kind"] == "writes in random order by 4 KiB"
    assert o[0]["points"] == 3 and math.isclose(o[0]["median_error"], 21)
    points, near = near_but(1.9)
    told = " ".join(fit_result.sentences(near, m))
    assert "The profile comes near: median error 2.0 %" in told
    assert "; worst at writes in random order by 4 KiB: +90 %." in told
    assert "worst = " not in fit_result.profile(near, m, "m.json", "test")


def test_a_relative_says_it_as_well():
    points = (*[iozone("write", 4096 << k) for k in range(9)], iozone("random-write", 4096))
    m = Measurement(points, "x", 0)
    card = next(c for c in relatives.shipped(Tool()) if c.relative == "raspberrypi32g")
    r = relatives.Related(card, speaking.told(points), card.keys(), card.keys(), points=points,
                          errors=[0.01] * 9 + [math.log(0.1)], measured=[1.0] * 10)
    told = " ".join(relatives_result.sentences(r, m))
    assert ("comes near for 9 of 10 kinds of request, but not for writes in random order by 4 KiB: "
            "-90 %") in told, told
    assert "\nworst = This profile is far" in relatives_result.profile(r, m, "m.json", "test")


def test_who_uses_the_profile_hears_of_it():
    """What `flashemu align` says in front of its table is what `advise` repeats."""
    points, far = near_but(22.0)
    m = Measurement(tuple(points), "x", 512 * MIB)
    Path("far.ini").write_text(fit_result.profile(far, m, "m.json", "test"), encoding="utf-8")
    wanted = ("This profile is far from its measurement at writes in random order by 4 KiB: "
              "+2100 %.  ")
    code, out, err = ended([FLASHEMU, "align", "./far.ini"])
    assert code == 0 and wanted in out.partition("\n\n")[0], (out, err)
    code, out, err = ended([FLASHEMU, "align", "./far.ini", "--json"])
    advice = json.loads(out)["advice"]
    assert code == 0 and wanted in advice["text"] and advice["given"], (out, err)


run(globals())
