#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_truth.py [--all]: what was measured on a device speaks for that device.

A shipped profile is served and measured by `probe`, and so are drawn devices without a server.  Then
their own parameters are judged as a fit judges any others, by the points that a fit compares: there
is no error, because what is not compared is done as well.  And by the whole conversation, of which
the score is exactly 0, but for one device of FIT.md.  With --all, each device of FIT.md, and more
drawn ones, these through a server as well.
"""

import json
import os
import sys
from pathlib import Path

sys.argv, ALL = sys.argv[:1], "--all" in sys.argv

from flashemu_lab_bench import FLASHEMU  # noqa: E402,F401
from flashemu_script import run, skip  # noqa: E402

try:
    import numpy  # noqa: F401
except ImportError:
    skip("no Python module numpy")

import fit_truth  # noqa: E402
import probe_truth  # noqa: E402

from flashemu_lab.fit import compare, model, rules  # noqa: E402
from flashemu_lab.measurement.schema import Measurement  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

SHIPPED = ("kingston512m", "rundisk1g", "sandisk-sd4gb", "toshiba16g", "apacer4g", "lexar8g",
           "transcend8g", "intenso4g", "transcend-usd15", "transcend-usd14", "jetflash32g",
           "sandisk-su04g", "sdnand-csnp4g", "samsung-evoplus32g")
# What the whole conversation scores where it is not 0: seen 8.1e-5, in writes behind rests.
SCORES = {"samsung-evoplus32g": 2e-4}
FULL = "device.used=16T"
SEED, QUICK = 20261130, (1,)


def judged(whole, profile, strategy="", changes=()):
    """The errors of the compared points, as percent of the measured value, of a device itself; and
    how many of all points are compared."""
    m = rules.fittable(whole)
    with compare.Comparer(Tool(), m, 1, profile, whole) as comparer:
        answer = comparer.ask([compare.Question(strategy, tuple(changes))])[0]
    assert answer.state == "done", answer.message
    off = [(abs(got / p.value - 1), p) for got, p in zip(answer.measured, m.points)
           if got is not None]
    assert len(off) > 0.9 * len(m.points)
    return off, len(m.points) / len(whole.points)


def right(name, off):
    """Exactly; a read in order has a device of its own, whose map is in another place."""
    for error, p in off:
        assert error < (0.01 if p.procedure == "seq-read" else 1e-6), (name, error, p.text())


def score(trace, profile, *changes):
    return json.loads(Tool().ask("replay", profile, *changes, "--against", str(trace), "--json"))


def test_shipped_devices():
    if "FLASHEMU_PLUGIN" not in os.environ:
        return
    for name in SHIPPED if ALL else ("sandisk-su04g",):
        trace = Path(f"{name}.trace")
        found, failure, capacity = probe_truth.through_nbd(Tool(), f"profile={name}", FULL,
                                                           trace=trace)
        assert not failure, failure
        o = score(trace, name, FULL)
        assert o["score"] <= SCORES.get(name, 0) and o["requests"] > 5000, (name, o)
        off, share = judged(Measurement(tuple(found.points), name, capacity), name,
                            changes=[FULL])
        assert 0.7 < share < 1, share
        right(name, off)


def test_drawn_devices():
    """Of all strategies of a fit."""
    for number in range(1, 21) if ALL else QUICK:
        s, values = fit_truth.draw(number, SEED)
        whole = fit_truth.probe(Tool(), s, values)
        off, _ = judged(whole, "", s.strategy, model.changes(model.profile_keys(s, values)))
        right(number, off)
        if ALL and "FLASHEMU_PLUGIN" in os.environ:
            _talked(number, s.strategy, model.profile_keys(s, values))


def _talked(number, strategy, keys):
    """A drawn device, through a server."""
    profile, trace = Path("drawn.ini"), Path(f"{number}.trace")
    profile.write_text(compare.BASE.format(strategy=strategy))
    changes = [c for c in model.changes(keys) if not c.startswith("ftl.type=")]
    _, failure, _ = probe_truth.through_nbd(Tool(), f"profile={profile.resolve()}", *changes,
                                            trace=trace)
    assert not failure, failure
    o = score(trace, str(profile), *changes)
    assert o["score"] == 0, (number, o["score"], o["worst"])


run(globals())
