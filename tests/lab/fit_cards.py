#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""fit_cards.py [--budget N] [--seeds N] [--random-out | --whole] MY.json...: how well `fit`
predicts what it has not seen.

Every other point of each test of a measurement is taken away (or, with --random-out, flashbench's
open units in random order and find-fat), a profile is fitted to the rest, and the points that were
taken away are compared with it.  With --whole nothing is taken away, and the points of each sort
are compared that the profile was fitted to.  Prints a line of JSON for each measurement and seed,
and with several seeds the range of their results.  This is no test: it takes minutes for each.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tools/lab"))

from flashemu_lab.fit import compare, fitting, model, search  # noqa: E402
from flashemu_lab.fit.budget import BUDGET, MORE  # noqa: E402
from flashemu_lab.measurement import schema  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

FAT, RANDOM = "the first units (-f)", "open units in random order"


def halves(m):
    """The numbers of the points that are left out: every other one of each test."""
    seen, left = {}, []
    for i, p in enumerate(m.points):
        how = dict(p.parameters)
        test = (p.procedure, how.get("open"), how.get("random"), how.get("unit"), how.get("place"))
        seen[test] = seen.get(test, len(seen) % 2) + 1
        if seen[test] % 2 and p.procedure.startswith("flashbench"):
            left.append(i)
    return left


def told(errors):
    return errors and {"points": errors.points, "median": round(errors.median, 4),
                       "near": round(errors.near, 3)}


def left_out(m, which):
    """The numbers of the points that are left out."""
    if which == "random":
        return [i for i, p in enumerate(m.points) if search.kind(p) in (FAT, RANDOM)]
    return halves(m) if which == "halves" else []


def card(path, budget, which, jobs, seed):
    m = schema.load(path)
    left = left_out(m, which)
    kept = replace(m, points=tuple(p for i, p in enumerate(m.points) if i not in set(left)))
    begin = time.monotonic()
    found = fitting.fit(Tool(), kept, budget or BUDGET, seed, jobs,
                        more=0 if budget else MORE)
    seconds = time.monotonic() - begin
    changes = model.changes(found.keys())
    with compare.Comparer(Tool(), m, 1) as comparer:
        answer = comparer.ask([compare.Question(found.structure.strategy, tuple(changes))])[0]
    errors = compare.log_errors(answer, m)
    result = {"measurement": path.name, "seed": seed, "fitted": told(found.all),
              "left_out": told(fitting.summed([errors[i] for i in left]))}
    judged = left or range(len(m.points))
    for name in dict.fromkeys(search.kind(m.points[i]) for i in judged):
        result[name] = told(fitting.summed([errors[i] for i in judged
                                            if search.kind(m.points[i]) == name]))
    return {**result, "typical": round(found.error, 4), "comparisons": found.comparisons,
            "seconds": round(seconds), "structure": str(found.structure), "keys": found.keys()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measurements", nargs="+", type=Path)
    parser.add_argument("--budget", type=int, default=0, help="of one search, and no larger one")
    parser.add_argument("--jobs", type=int, default=1)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--random-out", dest="which", action="store_const", const="random",
                       default="halves")
    which.add_argument("--whole", dest="which", action="store_const", const="whole")
    parser.add_argument("--seeds", type=int, default=1, help="1 to this number; the default is 1")
    arguments = parser.parse_args()
    for path in arguments.measurements:
        found = []
        for seed in range(1, arguments.seeds + 1):
            found.append(card(path, arguments.budget, arguments.which, arguments.jobs, seed))
            print(json.dumps(found[-1]), flush=True)
        out = [each["left_out"] for each in found if each["left_out"]]
        if len(out) > 1:
            print(json.dumps({"measurement": path.name, "seeds": len(out), **{
                name: [min(o[name] for o in out), max(o[name] for o in out)]
                for name in ("median", "near")}}), flush=True)


main()
