# SPDX-License-Identifier: BSD-3-Clause
"""Small devices of the model, whose parameters are known, for the tests of `fit`."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

from flashemu_lab_bench import LAB, children_of, until

from flashemu_lab.fit import compare, model, rules
from flashemu_lab.measurement.schema import Measurement, Point, make_point
from flashemu_lab.fit.model import Structure
from flashemu_lab.runs.program import Tool

MIB = 1 << 20
TIMES = {"link.command_overhead": 3e5, "link.bandwidth": 2e7, "nand.tPROG": 1.2e6,
         "nand.bus_rate": 8e7, "nand.tR": 1e5, "nand.tBERS": 3e6, "ftl.map_switch": 4e5,
         "ftl.map_read": 1e5, "ftl.unit_read": 2e5, "ftl.part_write": 0.0,
         "ftl.tail_write": 0.0, "ftl.copy_page": 0.0, "ftl.rest_write": 0.0, "ftl.rest_read": 0.0,
         "ftl.end_read": 0.0}
SEGMENT = Structure("segment", 512 * MIB, 16384, 2 * MIB, open_linear=4, open_random=3)
PAGE = Structure("page", 512 * MIB, 8192)


def values(s):
    return [TIMES[t.key] for t in model.times_of(s)]


def plan(erasesize, units=6):
    """The points of a small flashbench session, without values."""
    points = [make_point("seq-write", [1], bs=65536, size=8 * MIB),
              make_point("seq-read", [1], bs=65536, size=8 * MIB)]
    points += [make_point("flashbench-align", [1], align=4096 << i, bs=1024, place=place)
               for i in range(12) for place in ("pre", "on", "post")]
    points += [make_point("flashbench-open-au", [1], erasesize=erasesize, open=n, random=order,
                          chunk=erasesize >> i)
               for order in (False, True) for n in range(1, units + 1)
               for i in range(10 if n < 3 else 8)]
    return points


def measured(s, times=None, points=None):
    """What the model's device gives for these points."""
    m = Measurement(tuple(points or plan(s.unit * s.group)), "x", s.capacity)
    keys = model.changes(model.profile_keys(s, times or values(s)))
    with compare.Comparer(Tool(), m, 1) as comparer:
        answer = comparer.ask([compare.Question(s.strategy, tuple(keys))])[0]
    assert answer.state == "done", answer.message
    return Measurement(tuple(Point(p.procedure, p.parameters, (v,))
                             for p, v in zip(m.points, answer.measured) if v), "x", s.capacity)


def half(m):
    """Every other point of each test, beginning with another one in each."""
    seen, kept = {}, []
    for p in m.points:
        how = dict(p.parameters)
        test = (p.procedure, how.get("open"), how.get("random"), how.get("place"))
        seen[test] = seen.get(test, len(seen)) + 1
        if seen[test] % 2:
            kept.append(p)
    return replace(m, points=tuple(kept))


def first_of(s, m):
    """The first values of the times by their keys."""
    return dict(zip([t.key for t in model.times_of(s)], rules.first_times(s, m)))


def ends_at_a_signal(*words):
    """Ctrl-C ends a command that writes sig.ini: no profile, no process and no file is left."""
    os.mkdir("scratch")
    scratch = os.path.realpath("scratch")  # in the command lines of the processes
    program = subprocess.Popen([sys.executable, LAB, *words, "-o", "sig.ini", "--jobs", "2"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, TMPDIR=scratch))
    until(lambda: len(children_of(scratch)) >= 2)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate()
    assert program.returncode == 130 and out == "" and "Traceback" not in err, (out, err)
    assert "there is none" in err and not os.path.exists("sig.ini")
    until(lambda: not children_of(scratch))
    assert os.listdir(scratch) == []
