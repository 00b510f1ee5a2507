#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""fit_truth.py [--devices N] [--seed N] [--budget N]: devices of the model, found again by `fit`.

Each device is drawn by the seed: by pages or by units, also units of 1.5, 3 and 6 MiB; pages of 2
to 32 KiB; up to 8 open units; some fill gaps, have a log for small writes, copy a unit for each
command, or fetch more than a read asks for.  It is measured by the tests of `probe`, without a look
inside, and a profile is fitted.
Prints a line of JSON for each device, and a summary:

    structure   strategy, page, unit and open units are exactly right
    rates       six workloads that nobody measured take the right time, within 5 %
"""

import argparse
import json
import os
import random
import sys
from dataclasses import replace

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tools/lab"))

import probe_truth  # noqa: E402
from flashemu_lab.fit import compare, fitting, model, rules  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, Point, make_point  # noqa: E402
from flashemu_lab.fit.model import Structure  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
UNITS = (512 * KIB, MIB, 3 * MIB // 2, 2 * MIB, 3 * MIB, 4 * MIB, 6 * MIB, 8 * MIB)


def more(s, d):
    """What some of the devices with units have."""
    if s.strategy == "page":
        return {}
    if d.random() < 0.15:
        return {"strategy": "block"}
    return {"gap_fill": s.unit // s.page if s.open_random and d.random() < 0.25 else 0,
            **({"small_log": d.choice([2, 4]), "small_write": d.choice([4, 8]) * KIB}
               if d.random() < 0.25 else {})}


def rests(s, d):
    """What reads of some devices fetch besides, and what that takes."""
    rest = d.choice([4, 8, 16]) * KIB if s.strategy != "block" and d.random() < 0.4 else 0
    ends = s.strategy == "segment" and d.random() < 0.3
    return {"rest": rest, "ends": ends}, {"ftl.rest_read": d.uniform(1e5, 6e5),
                                          "ftl.end_read": d.uniform(2e5, 8e5)}


def draw(number, seed):
    """A structure and its times."""
    d = random.Random(f"{seed} {number}")
    page = d.choice([2, 4, 8, 16, 32]) * KIB
    capacity = d.choice([480, 960, 1440]) * MIB
    if d.random() < 0.25:
        s = Structure("page", capacity, page)
    else:
        s = Structure("segment", capacity, page, d.choice(UNITS), open_linear=d.randint(1, 8),
                      open_random=d.randint(0, 6), switch_merge=True,
                      limit=d.choice([120, 512]) * KIB)

    s = replace(s, **more(s, random.Random(f"{seed} {number} more")))
    numbers, reads = rests(s, random.Random(f"{seed} {number} rests"))
    s = replace(s, **numbers)

    def between(low, high):
        return low * (high / low) ** d.random()

    times = {"link.command_overhead": between(5e4, 8e5), "link.bandwidth": between(1.2e7, 6e7),
             "nand.tPROG": page / KIB * between(3e4, 2e5), "nand.bus_rate": between(3e7, 2e8),
             "nand.tR": between(2.5e4, 3e5), "nand.tBERS": between(1e6, 6e6),
             "ftl.map_switch": d.choice([0.0, between(1e5, 3e6)]),
             "ftl.map_read": d.choice([0.0, between(1e5, 1e6)]), "ftl.unit_read": 0.0,
             "ftl.part_write": d.choice([0.0, between(1e5, 3e6)]),
             "ftl.tail_write": d.choice([0.0, between(1e6, 1e7)]),
             "ftl.copy_page": d.choice([0.0, between(5e4, 1e6)]), **reads}
    return s, [times[t.key] for t in model.times_of(s)]


def run(tool, s, values, keys):
    """The points of these tests on a device, in this order."""
    points = tuple(make_point(procedure, [1.0], **how) for procedure, how in keys)
    m = Measurement(points, "drawn", s.capacity)
    changes = tuple(model.changes(model.profile_keys(s, values)))
    with compare.Comparer(tool, m, 1) as comparer:
        answer = comparer.ask([compare.Question(s.strategy, changes)])[0]
    if answer.state != "done":
        raise ValueError(answer.message)
    return replace(m, points=tuple(Point(p.procedure, p.parameters, (v,))
                                   for p, v in zip(points, answer.measured) if v))


def probe(tool, s, values):
    """What `probe` measures, from outside."""
    found = probe_truth.Device(tool, s.strategy, model.profile_keys(s, values)).probe()
    return Measurement(tuple(found.points), "drawn", s.capacity)


WORK = [("seq-write", {"bs": 64 * KIB, "size": 32 * MIB, "offset": 64 * MIB}),
        ("request", {"op": "write", "bs": 16 * KIB, "start": 0, "stride": 7 * MIB, "count": 40}),
        ("request", {"op": "write", "bs": 20 * KIB, "start": 16 * MIB, "stride": 44 * KIB,
                     "count": 200}),
        ("request", {"op": "write", "bs": 4 * KIB, "start": 48 * MIB, "stride": 28 * KIB,
                     "count": 300}),
        ("seq-read", {"bs": 128 * KIB, "size": 16 * MIB}),
        ("request", {"op": "read", "bs": 4 * KIB, "start": 4096, "stride": 5 * MIB, "count": 60})]


def wrong_in(got, s):
    """The names of the structure's numbers that are wrong."""
    names = ["strategy", "page"] + (["unit"] if s.strategy != "page" else [])
    if s.strategy == "segment":
        names += ["open_linear", "open_random"]
    return [f"{n} {getattr(got, n)} for {getattr(s, n)}" for n in names
            if getattr(got, n) != getattr(s, n)]


def device(tool, number, arguments):
    s, values = draw(number, arguments.seed)
    whole = probe(tool, s, values)
    m = rules.fittable(whole)
    found = fitting.fit(tool, m, arguments.budget, 1, arguments.jobs, whole=whole, trust=False)
    want = run(tool, s, values, WORK)
    got = run(tool, found.structure, found.values, WORK)
    off = [abs(a.value / b.value - 1) for a, b in zip(got.points, want.points)]
    return {"device": number, "wrong": wrong_in(found.structure, s),
            "rates_off": [round(x, 4) for x in off], "median": round(found.all.median, 4),
            "near": round(found.all.near, 3), "points": len(m.points), "strategy": s.strategy,
            "gaps": bool(s.gap_fill), "small_log": [found.structure.small_log, s.small_log],
            "rest": [found.structure.rest, s.rest], "ends": [found.structure.ends, s.ends]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--demand", type=float, default=0, metavar="PERCENT",
                        help="exit code 1 if the structure of fewer devices is right")
    arguments = parser.parse_args()
    tool = Tool()
    done, impossible = [], 0
    for number in range(arguments.first, arguments.first + arguments.devices):
        try:
            done.append(device(tool, number, arguments))
        except ValueError as e:
            impossible += 1
            print(json.dumps({"device": number, "impossible": str(e)}), flush=True)
            continue
        print(json.dumps(done[-1]), flush=True)
    rates = [x for d in done for x in d["rates_off"]]
    print(json.dumps({"devices": len(done), "impossible": impossible,
                      "structure_right": sum(not d["wrong"] for d in done),
                      "rates": len(rates),
                      "rates_within_5_percent": sum(x <= 0.05 for x in rates)}))
    right = 100 * sum(not d["wrong"] for d in done) / max(len(done), 1)
    sys.exit(right < arguments.demand)


if __name__ == "__main__":
    main()
