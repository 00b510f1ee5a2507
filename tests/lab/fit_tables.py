#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""fit_tables.py [--budget N] [--jobs N] [--without NAME] TABLE.csv DEVICE...: how near a shipped
card, with other numbers, comes to what a table says about cards with a command queue.

Each device is imported from the table with both of its columns, and fitted.  With --without, the
search does not know this shipped card, such as the one of the device itself.  Prints a line of JSON
for each device: the errors over all points, how many are off by more than 15 %, what a quarter of
the points that was left out comes to, and what has changed.  This is no test: it takes some minutes
for each.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from statistics import mean

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tools/lab"))

from flashemu_lab.fit import relatives  # noqa: E402
from flashemu_lab.fit.budget import BUDGET  # noqa: E402
from flashemu_lab.measurement import importing  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402


def card(table, device, budget, jobs):
    tool = Tool()
    m = importing.join([importing.read_file(table, device)], "fit_tables.py")
    begin = time.monotonic()
    found = relatives.fit(tool, m, budget, 1, jobs)
    off = [abs(math.expm1(e)) for e in found.errors]
    return {"device": device, "relative": found.card.relative, "points": len(off),
            "mean": round(mean(off), 4), "median": round(found.all.median, 4),
            "largest": round(max(off), 3), "beyond_15_percent": sum(e > 0.15 for e in off),
            "left_out": {"median": round(found.held[0][1].median, 4),
                         "near": round(found.held[0][1].near, 3)},
            "seconds": round(time.monotonic() - begin), "comparisons": found.comparisons,
            "changed": {k: v for k, v in found.keys().items() if found.relative.get(k, v) != v},
            "candidates": [[c.relative, round(c.error, 4)] for c in found.tried]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("devices", nargs="+")
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--without", default="")
    arguments = parser.parse_args()
    shipped = relatives.shipped
    relatives.shipped = lambda tool, capacity=0: [
        c for c in shipped(tool, capacity) if c.relative != arguments.without]
    for device in arguments.devices:
        print(json.dumps(card(arguments.table, device, arguments.budget, arguments.jobs)),
              flush=True)


main()
