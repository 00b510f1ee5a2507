#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Too little evidence: no profile and no advice, and what was taken is never called measured."""

import json
import os
from dataclasses import replace
from pathlib import Path

from flashemu_lab_bench import FLASHEMU, good, lab, read, write
from flashemu_script import ended, run, skip

try:
    import cmaes  # noqa: F401
    import scipy.optimize  # noqa: F401
except ImportError:
    skip("no Python module cmaes or scipy")

from flashemu_lab.fit import refining, relatives, relatives_result  # noqa: E402
from flashemu_lab.measurement import schema  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, make_point  # noqa: E402
from flashemu_lab.probe import speaking  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20

# What the owner of a card of 8 GB has measured.
THREE = """\
/dev/sdb:
 Timing buffered disk reads:  62 MB in  3.07 seconds =  20.21 MB/sec
$ dd if=/dev/zero of=/dev/sdb bs=4M count=50 oflag=direct
209715200 bytes (210 MB, 200 MiB) copied, 40.0 s, 5.2 MB/s
$ dd if=/dev/zero of=/dev/sdb bs=4k count=2560 oflag=direct
10485760 bytes (10 MB, 10 MiB) copied, 21.0 s, 499 kB/s
"""
SIZES = [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB]
RATES = {"write": (1.2e6, 2.2e6, 4e6, 5.1e6, 5.6e6), "read": (6e6, 9e6, 14e6, 18e6, 19.5e6)}


def fio(op, pattern, bs, rate, depth=1):
    return make_point("fio-rate", [rate], op=op, pattern=pattern, bs=bs, depth=depth, jobs=1,
                      direct=True, size=16 * MIB)


def saved(name, points):
    schema.save(Measurement(tuple(points), "mine", 512 * MIB), Path(name))
    return name


def refused(*words):
    """The one line of a command that answers no, and writes nothing."""
    code, out, err = lab(*words)
    assert code == 1 and out == "" and err.count("\n") == 1, (words, code, out, err)
    return err


def test_three_figures_are_no_profile():
    write("mine.txt", THREE)
    good("import", "mine.txt", "-o", "mine.json", "--capacity", "8000000000")
    for words in (["fit", "mine.json", "-o", "o.ini", "--quick"],
                  ["advise", "mine.json", "-o", "a", "--quick"],
                  ["refine", "intenso4g", "mine.json", "-o", "o.ini", "--quick"]):
        said = refused(*words)
        assert "3 figures that do not follow from each other are too little for a profile (at " \
            "least 8), and no point speaks about the page, the allocation unit, " in said, said
        assert "`flashemu-lab probe /dev/sdX -o PROBED.json --destroy 8000000000`" in said
        assert "min on a slow stick" in said
        assert not any(map(os.path.exists, ("o.ini", "o.html", "mine.ini", "a")))


def test_eight_are_enough_and_seven_are_not():
    points = [fio(op, "sequential", bs, rate) for op, rates in RATES.items()
              for bs, rate in zip(SIZES, rates)]
    again = [replace(p, values=(p.value * 1.01,), parameters=tuple(
        (k, 8 * MIB if k == "size" else v) for k, v in p.parameters)) for p in points[:7]]
    for count in (1, 2, 7):
        said = refused("fit", saved("some.json", points[:count] + again[:count]), "-o", "o.ini")
        assert ("One figure is" if count == 1 else f"{count} figures that").lower() in \
            said.lower(), said
    # enough for a profile, and no reason for a start of partitions
    said = refused("advise", saved("eight.json", points[:8]), "--quick")
    assert "no point speaks about the allocation unit" in said and "too little" not in said, said
    assert "about another device; measure next: `flashemu-lab probe" in said


def test_reads_are_no_profile_however_many():
    points = [fio("read", order, bs, rate) for order in ("sequential", "random")
              for bs, rate in zip(SIZES, RATES["read"])]
    for words in (["fit", saved("reads.json", points), "-o", "o.ini"], ["advise", "reads.json"]):
        said = refused(*words)
        assert "nothing was written, so a profile would make up what writes take, and no point " \
            "speaks about the page, " in said and "measure next: `flashemu-lab probe" in said, said


def test_one_size_in_random_order():
    points = [fio("write", "random", 4 * KIB, 1e5 * n, n) for n in range(1, 10)]
    said = refused("advise", saved("one.json", points))
    assert "no point speaks about the page, the allocation unit, whether writes" in said, said


def test_what_no_point_speaks_about_is_taken():
    """Writes in order speak about the page, and about nothing else of the structure."""
    points = [fio(op, "sequential", bs, rate) for op, rates in RATES.items()
              for bs, rate in zip(SIZES, rates)]
    code, out, err = lab("fit", saved("ten.json", points), "-o", "ten.ini", "--budget", "60",
                         "--jobs", "2", "--anyway")
    lines = out.splitlines()
    assert code in (0, 1) and lines[0].startswith("No point speaks about the allocation unit"), out
    assert lines[1].startswith("Taken from ") and ", not measured: the map (" in lines[1], lines
    name = lines[1].split()[2].rstrip(",")
    ini = read("ten.ini")
    keys = [line.split(" = ")[0] for line in ini.split("[provenance]")[1].splitlines()
            if line.endswith(f" = taken from {name}, not measured")]
    assert {"ftl.type", "nand.page_size"} <= set(keys), keys
    show = ended([FLASHEMU, "show", name])[1]
    for key in keys:
        word, given = key.split(".")[1], ini.split("[provenance]")[0]
        value = [line for line in given.splitlines() if line.startswith(f"{word} = ")]
        assert value and value[0] in show, (key, value)
    page = read("ten.html")
    assert "not measured" in page and page.index("No point speaks") < page.index("median error")
    # and what was taken is no reason for a start
    code, text, _ = ended([FLASHEMU, "align", "./ten.ini"])
    assert code == 0 and text.startswith(f"Not measured, but taken from {name}: how writes are "
                                         "mapped"), text
    assert "Start partitions at" not in text and "nothing follows for the start" in text
    said = refused("advise", "./ten.ini")
    assert f"Not measured, but taken from {name}" in said, said


def test_too_few_figures_are_told_by_the_profile():
    points = [fio("write", "sequential", bs, rate) for bs, rate in zip(SIZES, RATES["write"])]
    code, out, _ = lab("fit", saved("five.json", points), "-o", "five.ini", "--budget", "60",
                       "--jobs", "2", "--anyway")
    assert code in (0, 1) and out.startswith("5 figures that do not follow from each other are "
                                             "too little for a profile (at least 8).\n"), out
    assert "\nfigures = 5 figures that" in read("five.ini")
    found = json.loads(ended([FLASHEMU, "align", "./five.ini", "--json"])[1])
    assert found["advice"]["given"] is False and found["advice"]["multiple"] is None
    assert found["advice"]["text"].startswith("5 figures that do not"), found["advice"]


def test_all_devices_begin_such_a_search():
    tool = Tool()
    every = {card.relative: card for card in relatives.shipped(tool, 0, True)}
    assert set(every) == set(tool.profiles())
    units = every["intenso4g"]
    assert units.strategy == "segment" and "nand.slc_tR" not in units.keys()
    assert f"unit_size = {units.keys()['ftl.unit_size']}\n" in ended([FLASHEMU, "show",
                                                                     "intenso4g"])[1]
    # a time of each page type stays as it is written
    assert all("/" not in card.keys().get(t.key, "").removesuffix("MB/s").removesuffix("KB/s")
               for card in every.values() for t in card.times)


def test_a_page_that_no_point_speaks_about_stays():
    card = relatives.shipped(Tool())[0]
    sizes = {dict(n.words)["nand.page_size"] for n in relatives.neighbours(card)}
    kept = relatives.neighbours(card, ("nand.page_size",))
    assert len(sizes) > 1
    assert {dict(n.words)["nand.page_size"] for n in kept} == {dict(card.words)["nand.page_size"]}


def test_refine_keeps_open_units_that_no_point_speaks_about():
    keys = {"ftl.open_linear": "5", "ftl.open_random": "3", "ftl.small_log": "4"}

    def moved(*orders):
        points = [make_point("flashbench-open-au", [1e6], erasesize=4 * MIB, open=n, random=order,
                             chunk=64 * KIB) for order in orders for n in (1, 2)]
        return {n.key for n in refining.numbers(keys, speaking.told(points))}
    assert moved() == {"ftl.small_log"}
    assert moved(False) == {"ftl.small_log", "ftl.open_linear"}
    assert moved(True) == {"ftl.small_log", "ftl.open_random"}
    assert moved(False, True) == set(keys)


def test_a_table_with_a_queue_takes_its_page():
    """Random writes of one size tell no page; three sizes do."""
    tool = Tool()
    card = relatives.shipped(tool)[0]
    for count, taken in ((1, True), (3, False)):
        points = [make_point("fio-rate", [1e6], op="write", pattern=order, bs=4 * KIB << i, depth=1,
                             jobs=1, queue=True) for i in range(count)
                  for order in ("random", "sequential")]
        m = Measurement(tuple(points), "x", 512 * MIB)
        r = relatives.Related(card, speaking.told(points), card.keys(), {}, {}, [], [])
        said = relatives_result.provenance(r, m, "nand.page_size", "x")
        assert (said == f"taken from {card.relative}, not measured") == taken, said


run(globals())
