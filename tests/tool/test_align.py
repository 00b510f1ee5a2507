#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu align: figures that can be computed by hand, the conclusion, and what it refuses."""

import json
import os
import re
import tempfile
import xml.etree.ElementTree

from flashemu_script import run
from flashemu_tool import bad, good, good_json, read, write

KIB, MIB = 1 << 10, 1 << 20

# Blocks of 16 KiB, mapped as units of three of them: the unit is no power of two.
ODD = """[device]
capacity = 48M
[nand]
cell = slc
pages_per_block = 8
page_size = 2K
blocks_per_plane = 3300
tR = 25us
tPROG = 200us
tBERS = 1.5ms
[ftl]
type = block
unit_size = 48K
[link]
bandwidth = 20MB/s
"""


def align(*args):
    """(the rate, the write amplification) by start and (order, bs), and the advice"""
    o = good_json("align", "--json", *args)
    cells = {(s["start"], p["order"], p["bs"]): (p["bytes_per_second"], p["waf"])
             for s in o["starts"] for p in s["patterns"]}
    assert all(s["sector"] == s["start"] // 512 for s in o["starts"])
    return cells, o["advice"]


def test_a_page_is_programmed_for_each_one_that_a_write_touches():
    # pages of 4 KiB; no delays
    cells, advice = align("ideal", "--start", "63s,32K,8M")
    for start in [63 * 512, 32 * KIB, 8 * MIB]:
        for order in ["sequential", "random"]:
            for bs in [4 * KIB, 64 * KIB]:
                pages = bs // (4 * KIB) + (start % (4 * KIB) != 0)
                rate, waf = cells[start, order, bs]
                assert rate is None and abs(waf * bs / 4 / KIB - pages) < 1e-9, (start, bs, waf)
    assert advice["matters"] and advice["multiple"] == 32 * KIB
    assert "write amplification is 2.00 instead of 1.00" in advice["text"]
    assert "inf" not in advice["text"]


def test_a_unit_is_copied_for_each_write_of_a_part():
    cells, advice = align("kingston512m")  # a map of units of 256 KiB, through one buffer
    for start in [64 * KIB, 256 * KIB, MIB]:
        assert abs(cells[start, "random", 4 * KIB][1] - 64) < 1.5, cells
    assert cells[64 * KIB, "sequential", 64 * KIB][1] == 4
    assert cells[63 * 512, "sequential", 64 * KIB][1] == 5  # touches one more unit in four
    assert advice["multiple"] == 64 * KIB


def test_the_usual_starts_have_the_unit_of_the_profile():
    path = write("odd.ini", ODD)
    starts = [s["start"] for s in good_json("align", "--json", path)["starts"]]
    assert 48 * KIB in starts and starts == sorted(starts)
    # A write of 4 KiB costs a copy of its unit of 48 KiB, and of two units if it crosses a border.
    # No write does so in a partition that begins at a border; at sector 63 some writes do.
    cells, _ = align(path, "--start", "48K,63s")
    assert cells[48 * KIB, "sequential", 4 * KIB][1] == 12
    assert 12 < cells[63 * 512, "sequential", 4 * KIB][1] < 14


def test_no_delay_and_no_difference():
    _, advice = align("generic32m", "--start", "63s,32K,1M")
    assert not advice["matters"] and advice["multiple"] is None
    assert "does not matter" in advice["text"]


def test_the_same_command_gives_the_same_bytes():
    command = ["align", "transcend8g", "--json", "--start", "63s,1M"]
    first = good(*command)
    assert first == good(*command)
    assert align(*command[1:2], "--start", "1M,63s") == align(*command[1:2], "--start", "63s,1M")
    assert json.loads(first)["starts"] != good_json(*command, "--seed", "2")["starts"]


def test_the_table_has_the_figures_of_json():
    text = good("align", "transcend8g", "--start", "63s,128K")
    cells, advice = align("transcend8g", "--start", "63s,128K")
    rows = [line.split() for line in text.splitlines() if "KiB" in line and line[0].isdigit()]
    assert [row[:3] for row in rows] == [["31.5", "KiB", "63"], ["128", "KiB", "256"]]
    assert rows[0][3] == "%.2f" % (cells[63 * 512, "sequential", MIB][0] / 1e6)
    assert text.splitlines()[-1] == advice["text"]
    assert max(len(line) for line in text.splitlines()[:-1]) <= 80


def test_overrides_and_the_seed_count():
    slow, _ = align("transcend8g", "--start", "1M", "nand.tPROG=2ms")
    fast, _ = align("transcend8g", "--start", "1M")
    assert slow[MIB, "sequential", MIB][0] < fast[MIB, "sequential", MIB][0]


def test_picture():
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        path = os.path.join(folder, "align.svg")
        good("align", "transcend8g", "--start", "63s,128K", "--svg", path)
        root = xml.etree.ElementTree.fromstring(read(path))
        space = "{http://www.w3.org/2000/svg}"
        assert len(list(root.iter(space + "title"))) == 10  # two starts, five patterns
        assert "transcend8g" in "".join(root.itertext())
        colours = [r.get("fill") for r in root.iter(space + "rect")][1:]
        slow, fast = colours[0], colours[1]  # sector 63 loses in the first column
        assert slow != fast and colours[-2:] == [fast, slow], "the legend: good, slower"
        assert [t.text for t in root.iter(space + "text")][-2:] == [
            "bold: within 5 % of the best rate of its column", "slower"]
        # Behind sector 63's first bar, and behind the one of 128 KiB.
        numbers = [t for t in root.iter(space + "text") if re.fullmatch(r"[\d.]+", t.text)]
        assert [t.get("font-weight") for t in numbers[:2]] == [None, "bold"]


def test_bad_input():
    bad("align: expected PROFILE; flashemu profiles", "align")
    bad("nothing", "align", "nothing")
    for start in [",", "x", "1M,,2M", "1.3s", "4Ms"]:
        bad("expected a size such as 4M", "align", "ideal", "--start", start)
    bad("--start 63: is not a whole number of the device's sectors of 512 bytes", "align", "ideal",
        "--start", "63")
    bad("one start is given twice", "align", "ideal", "--start", "1M,2048s")
    bad("at most 64 starts", "align", "ideal", "--start",
        ",".join("%ds" % i for i in range(1, 66)))
    bad("leaves less than", "align", "generic32m", "--start", "32M")
    bad("ftl.nothing", "align", "ideal", "ftl.nothing=1")
    bad("--seed x", "align", "ideal", "--seed", "x")
    bad("/nowhere/a.svg", "align", "ideal", "--start", "1M", "--svg", "/nowhere/a.svg")


def test_help_and_json_are_whole():
    assert "usage: flashemu align PROFILE" in good("align", "--help")
    o = good_json("align", "kingston512m", "--json")
    assert o["profile"] == "kingston512m" and o["seed"] == 1 and o["region"] == 64 * MIB
    assert len(o["starts"]) == 10
    start = ("--start", "63s", "--json")
    assert good_json("align", "ideal", "device.used=0", *start)["starts"] == good_json(
        "align", "ideal", *start)["starts"]
    assert good_json("align", "generic32m", "device.capacity=16M", *start)["capacity"] == 16 * MIB


def noted(name, *lines):
    write(name, ODD + "\n".join(["[provenance]", *lines]) + "\n")
    return "./" + name


def test_no_start_rests_on_what_was_taken():
    """As `flashemu-lab fit` says it of a number of which no point speaks."""
    fast = ("--start", "63s,48K,96K")
    plain = good("align", noted("plain.ini", "ftl.unit_size = a data sheet"), *fast)
    assert plain.startswith("plain: ") and "nothing follows" not in plain, plain
    for key, words in (("ftl.type", "how writes are mapped"), ("nand.page_size", "the page"),
                       ("ftl.unit_size", "the allocation unit")):
        path = noted("taken.ini", f"{key} = taken from kingston512m, not measured")
        text = good("align", path, *fast)
        first, last = text.splitlines()[0], text.splitlines()[-1]
        assert first.rstrip() == f"Not measured, but taken from kingston512m: {words}.", text
        assert last.startswith("So nothing follows for the start of a partition"), text
        assert "Start partitions" not in text and "best start" not in text
        o = good_json("align", "--json", path, *fast)
        assert o["not_measured"] == [key]
        assert o["advice"]["text"].startswith("Not measured, but taken from kingston512m")
        assert o["advice"]["multiple"] is None and o["advice"]["best"] is None
        assert o["advice"]["given"] is False and o["advice"]["matters"] is False
    # who gives the number on the command line knows it
    path = noted("taken.ini", "ftl.unit_size = taken from kingston512m, not measured",
                 "nand.page_size = taken from kingston512m, not measured")
    text = good("align", path, "ftl.unit_size=48K", *fast)
    assert text.startswith("Not measured, but taken from kingston512m: the page.  \n"), text
    text = good("align", path, "ftl.unit_size=48K", "nand.page_size=2K", *fast)
    assert text.startswith("taken: ") and "nothing follows" not in text, text


def test_open_units_that_were_taken_are_told_first():
    """They decide how fast writes are, and not where a partition should begin."""
    path = noted("open.ini", "ftl.open_linear = taken from intenso4g, not measured",
                 "ftl.open_random = taken from intenso4g, not measured")
    text = good("align", path, "--start", "63s,48K,96K")
    assert text.startswith("Not measured, but taken from intenso4g: how many units are open in "
                           "order and how many units are open in random order.  \n"), text
    assert "nothing follows" not in text
    o = good_json("align", "--json", path, "--start", "63s,48K,96K")
    assert o["advice"]["given"] is True and o["not_measured"] == ["ftl.open_linear",
                                                                  "ftl.open_random"]


def test_what_was_assumed_and_taken_from_several():
    path = noted("several.ini", "ftl.open_linear = taken from intenso4g, not measured",
                 "ftl.random_log = assumed, not measured: most cards have it",
                 "ftl.open_random = taken from transcend8g, not measured",
                 "ftl.open_units = taken from intenso4g, not measured")
    words = ("Not measured, but taken from intenso4g: how many units are open in order and how many "
             "units are open in any order.  Not measured, but taken from transcend8g: how many units "
             "are open in random order.  Not measured, but assumed: how much a unit takes in random "
             "order.  ")
    assert good("align", path, "--start", "63s,96K").startswith(words + "\n\nseveral: ")
    assert good_json("align", "--json", path, "--start", "63s,96K")["note"] == words
    # a size beyond what was measured decides
    path = noted("beyond.ini", "ftl.unit_size = assumed, not measured: beyond 4K to 64K")
    text = good("align", path, "--start", "63s,96K")
    assert text.startswith("Not measured, but assumed: the allocation unit.") and \
        "nothing follows" in text, text


def test_the_picture_says_what_was_taken():
    plain, told = (noted(name, *lines) for name, lines in (
        ("plain.ini", ["ftl.open_random = a data sheet"]),
        ("told.ini", ["figures = 3 figures <are> too little, and " + 12 * "so on " + "end",
                      "ftl.unit_size = taken from intenso4g, not measured"])))
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for path in (plain, told):
            svg = os.path.join(folder, os.path.basename(path) + ".svg")
            good("align", path, "--start", "63s,96K", "--svg", svg)
            root = xml.etree.ElementTree.fromstring(read(svg))
            found.append(([t.text for t in root.iter("{http://www.w3.org/2000/svg}text")],
                          int(root.get("height"))))
    (before, height), (after, higher) = found
    assert after[0].startswith("told: MB/s") and height == 66 + 2 * 20 + 30, (after, height)
    lines = after[1:-(len(before) - 1)]
    assert " ".join(lines).startswith("3 figures <are> too little, and so on") and \
        " ".join(lines).endswith("taken from intenso4g: the allocation unit.  "), lines
    assert len(lines) > 1 and all(len(line) <= 130 for line in lines), lines
    assert higher == height + 16 * len(lines) and after[len(lines) + 1:] == before[1:]


def test_too_few_figures_give_no_start():
    path = noted("few.ini", "figures = 3 figures are too little")
    text = good("align", path, "--start", "63s,48K,96K")
    assert text.startswith("3 figures are too little.  \n") and "nothing follows" in text, text
    assert good_json("align", "--json", path, "--start", "48K")["not_measured"] == []
    # words that only look like it
    for value in ("taken from a data sheet", "taken from , not measured", "not measured"):
        text = good("align", noted("other.ini", f"ftl.unit_size = {value}"), "--start", "63s,96K")
        assert text.startswith("other: "), text


run(globals())
