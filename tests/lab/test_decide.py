#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which measurement would decide: that it is the one that reveals what a claim depends on."""

import json
import os

from flashemu_lab_bench import FLASHEMU, good, good_json, read, write
from flashemu_script import ended, run

from flashemu_lab.core.json_text import record
from flashemu_lab.experiment.ensemble import trials
from flashemu_lab.recording import recordings
from flashemu_lab.experiment.ensemble.decision import decide, decisive, weighty
from flashemu_lab.experiment.evidence import Evidence, Judged, Trial
from flashemu_lab.experiment.ensemble.agreement import Agreement
from flashemu_lab.experiment.table import from_json
from flashemu_lab.runs.program import Tool

# A small stick with two numbers that are unsure, and a figure that says nothing about them.
END = """[provenance]
ftl.open_random = assumed
nand.tPROG = fitted
[fidelity]
r = hdparm-t | 33 MB/s | 10%
"""
# How many units can be written simultaneously, which depends on ftl.open_random alone.
UNITS = """name = "planted"
title = "How many units?"
[factors]
n = ["2", "3", "4"]
[device]
profile = "./small.ini"
[workload]
requests = "gen:flashbench-open-au,erasesize=4M,bs=64K,offset=4M,open-au-nr={n},random=yes"
[measure.rate]
value = "host.write.bytes / elapsed_ns * 1000"
unit = "MB/s"
[[conclusion]]
say = "limit"
measure = "rate"
factor = "n"
share = "50%"
what = "units"
"""
# Reads of a fixed speed against writes, whose speed depends on nand.tPROG alone.
RACE = """name = "planted"
title = "Reads or writes?"
[factors.work]
label = "work"
[factors.work.levels]
read = {run = "gen:random,op=read,bs=8K,size=64M,count=300,think=262us"}
write = {run = "gen:sequential,op=write,bs=120K,offset=4M,size=90M,count=700"}
[device]
profile = "./small.ini"
set = ["device.used=0"]
[workload]
requests = "{run}"
[measure.rate]
value = "(host.read.bytes + host.write.bytes) / elapsed_ns * 1000"
unit = "MB/s"
[[conclusion]]
say = "compare"
measure = "rate"
factor = "work"
from = "read"
to = "write"
"""


def trial(what, *values, profile="p"):
    return Trial(profile, what, "how", "MB/s", values)


def test_the_gap_decides():
    agreed = Agreement("it is so", (True, True, False, False, False))
    apart = trial("apart", 10, 10.5, 11, 7, 7.5, 8)
    near = trial("near", 10, 10.01, 10.02, 9.97, 9.98, 9.99)
    mixed = trial("mixed", 10, 20, 30, 5, 25, 15)
    nothing = trial("nothing", 5, 5, 5, 5, 5, 5)
    broken = trial("broken", 10, 10, None, 1, 1, 1)
    stopped = trial("stopped", 10, 10, 10, 0, 1, 1)
    d = decide(agreed, (mixed, near, nothing, broken, stopped, apart))
    assert d.trial is apart and d.tried == 3 and d.useful and d.above
    assert abs(d.threshold - 80 ** .5) < 1e-9
    assert (d.where, d.where_not) == ((10, 11), (7, 8)) and d.right > .999
    assert "Above 8.94 MB/s it is so (10 to 11 MB/s in these sets)" in decisive(d)
    # The other way round.
    d = decide(agreed, (trial("less", *(1 / v for v in apart.values)),))
    assert not d.above and d.right > .999 and "Below 0.112 MB/s it is so" in decisive(d)
    # A gap within the error of a measurement is worth little, and an overlap less than a gap.
    d = decide(agreed, (near,))
    assert .5 < d.right < .75 and not d.useful and decisive(d).startswith("None of the 1 measure")
    overlap = trial("overlap", 10, 10.5, 11, 7, 7.5, 10.7)
    d = decide(agreed, (overlap,))
    assert .75 < d.right < .9 and decide(agreed, (overlap, apart)).trial is apart


def test_nothing_to_decide():
    apart = trial("apart", 10, 10.5, 7)
    assert decide(Agreement("x", (True, True)), (apart,)) is None
    assert decide(Agreement("x", (True, False)), ()) is None
    assert decide(Agreement("x", (True, False)), (trial("same", 1, 1, 1),)) is None


def test_chance():
    # One set among three that differs, and any of the measurements has an extreme one.
    few = decide(Agreement("x", (True, False)), (trial("a", 1, 2, 3), trial("b", 2, 3, 1)))
    assert few.chance > .5 and "use more sets" in decisive(few)
    holds = (True,) * 9 + (False,) * 10
    many = decide(Agreement("x", holds), (trial("a", 2, *(2 + h for h in holds)),))
    assert many.chance < .01 and "more sets" not in decisive(many)
    again = decide(Agreement("x", holds), (trial("a", 2, *(2 + h for h in holds)),))
    assert again == many


def test_what_figures_are_worth():
    told = weighty((Judged("p", "a", 40, 4), Judged("p", "b", 20, 15), Judged("p", "c", 0, 0),
                    Judged("p", "d", 40, 0), Judged("q", "e", 40, 0)))
    assert told == ["The published figures that say most about the parameters of p: b rejects 15 "
                    "of 20 draws and a rejects 4 of 40 draws. The other one rejects no more.",
                    "No published figure of q rejects a draw of parameters, so they say little "
                    "about these."], told


def test_every_candidate_works():
    tool = Tool()
    for profile in ("transcend8g", "luxmini32g"):
        found = trials.candidates(tool.canonical(profile, ()))
        assert len({c.what for c in found}) == len({c.requests for c in found}) == len(found) > 40
        for c in found:
            assert "sdX" in c.how or "dd " in c.how
            if c.requests.startswith("gen:"):
                tool.check_pattern(c.requests)
            else:
                recordings.operand(c.requests)
    for c in trials.candidates(tool.canonical("transcend8g", ()))[::3]:
        code, _, err = ended([FLASHEMU, "replay", "transcend8g", c.requests])
        assert code == 0, (c, err)


def planted():
    shown = ended([FLASHEMU, "show", "transcend8g", "nand.blocks_per_plane=96",
                   "device.capacity=128M", "device.used=96M", "faults.spare_blocks=16"])[1]
    write("small.ini", shown[:shown.index("[provenance]")] + END)
    write("units.toml", UNITS)
    write("race.toml", RACE)


def keys(out, key):
    """Which value of a key each set has, the shipped one as None."""
    levels = out["experiment"].split("[factors.ensemble.levels]")[1].splitlines()[1:]
    return [next((w.split('"')[3] for w in line.split("{")[1].split(", ") if key in w), None)
            for line in levels if "= {" in line]


def test_the_measurement_that_reveals_the_key():
    planted()
    out = good_json("run", "units.toml", "--ensemble", "12", "--ensemble-seed", "3", "-o", "units")
    d, = out["decisions"]
    assert d["measurement"].startswith("flashbench -O with 4 units") and d["right"] > .999, d
    assert d["how"].startswith("flashbench -O --erasesize=4194304") and d["holds"] == "above"
    assert d["where"][0] > d["threshold"] > d["where_not"][1]
    # It splits the sets by this key, whatever the other one is.
    of = next(t for t in out["evidence"]["trials"] if t["what"] == d["measurement"])
    sides = [v > d["threshold"] for v in of["values"]]
    assert sides == [v != "3" for v in keys(out, "ftl.open_random")] and not all(sides)
    assert any(s.startswith("Whether the rate keeps 50 % of the first value up to 4 units can be measured: "
                            "flashbench -O") for s in out["conclusion"])
    page = read("units/index.html")
    assert "What would decide" in page and "flashbench -O with 4 units" in page
    assert "What the published figures are worth" in page
    # The page can be made again from the result.
    good("report", "units", "-o", "again.html")
    assert read("again.html") == page
    assert from_json(read("units/results.json"), "x").evidence == record(
        Evidence, out["evidence"], "")

    out = good_json("run", "race.toml", "--ensemble", "12", "-o", "race")
    d, = out["decisions"]
    assert d["measurement"] == "writes of 120 KiB in order" and d["right"] > .75, d
    of = next(t for t in out["evidence"]["trials"] if t["what"] == d["measurement"])
    times = [500 if t is None else float(t.split("us")[0]) for t in keys(out, "nand.tPROG")]
    units = keys(out, "ftl.open_random")
    by_time = sorted((i for i in range(13) if units[i] != "3"), key=lambda i: times[i])
    rates = [of["values"][i] for i in by_time]
    assert len(rates) > 8 and rates == sorted(rates, reverse=True), "programs decide about this one"


def test_old_results_have_no_evidence():
    planted()
    good("run", "race.toml", "-o", "plain")
    old = json.loads(read("plain/results.json"))
    assert old["evidence"] == {"judged": [], "trials": []} and old["decisions"] == []
    del old["evidence"]
    os.makedirs("old", exist_ok=True)
    write("old/results.json", json.dumps(old))
    good("report", "old", "-o", "old.html")
    assert read("old.html") == read("plain/index.html")


run(globals())
