#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""fresh_cards.py [--budget N] [--jobs N] [--only TEXT] LOG.txt|TABLE.csv...: what a fit is worth
for cards that nobody made a profile of.

Each log, and each device of a table with at least twelve figures that a benchmark has, is a card.
Of each of its tests every other figure is taken away, a profile is fitted to the rest as
`flashemu-lab fit` does it, without the card's own profile if there is one (`OWN`), and the figures
that were taken away are compared with it.  Next to that stands the shipped profile that is nearest
to the rest as it is.  Prints a line of JSON for each card, and at last one for all: the errors of
unseen figures, and those of random writes of sizes that were not fitted.  This is no test: it takes
some minutes for each.
"""

import argparse
import csv
import json
import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tools/lab"))

from flashemu_lab.fit import fitting, relatives, rules  # noqa: E402
from flashemu_lab.fit.budget import BUDGET  # noqa: E402
from flashemu_lab.fit.compare import Comparer, Question, log_errors  # noqa: E402
from flashemu_lab.fit.kinds import kind_of  # noqa: E402
from flashemu_lab.fit.model import changes  # noqa: E402
from flashemu_lab.measurement import importing  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

LEAST = 12
# The shipped profile of a card, by words of its name.
OWN = {"industrial": "sandisk-industrial8g", "intenso": "intenso4g",
       "extreme a1": "sandisk-extreme32g", "samsung emmc 8gb": "samsung-emmc8g",
       "raspberry pi 32": "raspberrypi32g", "raspberry pi 64": "raspberrypi64g",
       "pro plus 128": "samsung-proplus128g", "extreme 64gb": "sandisk-extreme64g",
       "silicongo": "silicongo-emmc8g"}


def own(name):
    return next((profile for words, profile in OWN.items() if words in name.lower()), "")


def cards(paths):
    """(name, measurement) of each."""
    for path in paths:
        if path.suffix != ".csv":
            yield path.stem, importing.join([importing.read_file(path)], "fresh_cards.py")
            continue
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        # With the queue and without are one card; any other host is named with it.
        names = dict.fromkeys(row["device"] if row["config"].startswith("cq=") else
                              f"{row['device']}/{row['config']}" for row in rows)
        for name in names:
            m = importing.join([importing.read_file(path, name)], "fresh_cards.py")
            if len(m.points) >= LEAST:
                yield name, m


def halves(m):
    """The numbers of the figures that are fitted, and of the others: every other one of a test."""
    seen, kept = {}, []
    for i, p in enumerate(m.points):
        how = dict(p.parameters)
        test = (p.procedure, how.get("test"), how.get("op"), how.get("pattern"), how.get("queue"),
                how.get("depth"))
        seen[test] = seen.get(test, len(seen) % 2) + 1
        if seen[test] % 2:
            kept.append(i)
    return kept, [i for i in range(len(m.points)) if i not in kept]


def relative_errors(tool, m, strategy, keys):
    """|model / measured - 1| of each point, None where the model has none."""
    with Comparer(tool, m, 1) as comparer:
        answer = comparer.ask([Question(strategy, tuple(changes(keys)))])[0]
    return [e and abs(math.expm1(e)) for e in log_errors(answer, m)] if answer.state == "done" \
        else [None] * len(m.points)


def fitted(tool, half, budget, jobs):
    """The strategy and the keys."""
    if relatives.begins(half, half):
        found = relatives.fit(tool, half, budget, 1, jobs)
        return found.card.relative, found.card.strategy, found.card.keys()
    found = fitting.fit(tool, rules.fittable(half), budget, 1, jobs, whole=half, trust=False)
    return "rules", found.structure.strategy, found.keys()


def nearest(tool, m, kept):
    """The errors of the shipped profile that comes nearest to what was kept."""
    every = []
    for card in relatives.shipped(tool, m.capacity, True):
        errors = relative_errors(tool, m, card.strategy, card.keys())
        known = [errors[i] for i in kept if errors[i] is not None]
        every.append((-len(known), median(known) if known else math.inf, card.relative, errors))
    return min(every)[2:]


def summed(errors):
    known = [e for e in errors if e is not None]
    return {"figures": len(known), "median": round(median(known), 4),
            "mean": round(mean(known), 4),
            "within_15_percent": round(sum(e <= 0.15 for e in known) / len(known), 3)} \
        if known else {"figures": 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="cards with this in their names")
    arguments = parser.parse_args()
    tool, shipped = Tool(), relatives.shipped
    unseen, scattered, others = [], [], []
    for name, m in cards(arguments.paths):
        if arguments.only.lower() not in name.lower():
            continue
        mine = own(name)
        relatives.shipped = lambda *words, mine=mine: [
            c for c in shipped(*words) if c.relative != mine]
        kept, left = halves(m)
        half = replace(m, points=tuple(m.points[i] for i in kept))
        begun, strategy, keys = fitted(tool, half, arguments.budget, arguments.jobs)
        errors = relative_errors(tool, m, strategy, keys)
        near, other = nearest(tool, m, kept)
        random = [errors[i] for i in left if kind_of(m.points[i]).startswith("writes in random")]
        print(json.dumps({"card": name, "began_at": begun, "fitted": len(kept),
                          "unseen": summed([errors[i] for i in left]),
                          "random_writes": summed(random), "nearest": near,
                          "nearest_unseen": summed([other[i] for i in left])}), flush=True)
        unseen += [errors[i] for i in left]
        others += [other[i] for i in left]
        scattered += random
    print(json.dumps({"unseen": summed(unseen), "random_writes": summed(scattered),
                      "nearest_unseen": summed(others)}))


main()
