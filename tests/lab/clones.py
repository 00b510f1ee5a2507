#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""clones.py [--budget N] [--jobs N] [--used SIZE] PROFILE...: what a profile that is fitted to a device is worth
for work that nobody has measured.

Each shipped profile, all of it written before (or `--used`), is served with a virtual clock, measured by `probe`,
and a profile is fitted to that.  Then the same work is replayed on both: requests in random order
and in order, and recordings of filesystems.  Prints a line of JSON for each profile; `shares` says
how long the fitted one takes for each work, as a share of what the other one takes.  This is no
test: it takes a minute or two for each.
"""

import argparse
import json
import math
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tools/lab"))

import probe_truth  # noqa: E402
from flashemu_lab.fit import fit_result, fitting, model, rules  # noqa: E402
from flashemu_lab.measurement.schema import Measurement  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

WORK = ["gen:random,op=write,bs=4K,count=3000,size=256M",
        "gen:random,op=write,bs=64K,count=600,size=256M",
        "gen:sequential,op=write,bs=64K,count=2000", "gen:random,op=read,bs=4K,count=3000"]
WORK += [f"rec:{name},start=8192,measure=write" for name in
         ("ext4-database", "ext4-small", "vfat-small", "vfat-streams", "f2fs-database")]


def measured(tool, profile, used, trace):
    """What `probe` measures; what it asks goes to the file `trace`."""
    found, failure, capacity = probe_truth.through_nbd(tool, f"profile={profile}", used,
                                                       trace=trace)
    if failure:
        sys.exit(failure)
    return Measurement(tuple(found.points), profile, capacity)


def busy(tool, profile, work, used):
    """ns."""
    told = tool.ask("replay", profile, work, used, "--drop-trim", "--json")
    return json.loads(told)["busy_ns"]


def clone(tool, profile, budget, jobs, used):
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "clone.trace"
        whole = measured(tool, profile, used, trace)
        m = rules.fittable(whole)
        found = fitting.fit(tool, m, budget, 1, jobs, whole=whole, conversation=trace)
        path = Path(folder) / "clone.ini"
        path.write_text(fit_result.profile(found, m, "probe", "clones.py"), encoding="utf-8")
        shares = {work: busy(tool, str(path), work, used) / busy(tool, profile, work, used)
                  for work in WORK}
    return {"profile": profile, "structure": fit_result.structure_text(found.structure),
            "keys": model.changes(found.keys()), "median": round(found.all.median, 4),
            "near": round(found.all.near, 3),
            "rivals": [(round(r.score, 4), fit_result.structure_text(r.fit.structure))
                       for r in found.rivals],
            "shares": {work: round(share, 3) for work, share in shares.items()},
            "within_5_percent": sum(abs(math.log(s)) <= math.log(1.05) for s in shares.values())}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profiles", nargs="+")
    parser.add_argument("--budget", type=int, default=720)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--used", default="16T")
    arguments = parser.parse_args()
    for profile in arguments.profiles:
        line = clone(Tool(), profile, arguments.budget, arguments.jobs,
                     f"device.used={arguments.used}")
        print(json.dumps(line), flush=True)


main()
