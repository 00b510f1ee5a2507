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

from flashemu_lab.advise import raw_writes  # noqa: E402
from flashemu_lab.core.units import quantity  # noqa: E402
from flashemu_lab.fit import (fit_result, fitting, refine_result, refining, relatives,  # noqa: E402
                              relatives_result, taken)
from flashemu_lab.fit.compare import Comparer, Question  # noqa: E402
from flashemu_lab.fit.model import Structure, as_in_order, changes, times_of  # noqa: E402
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
        assert "3 figures that do not follow from each other are too few for a profile (at " \
            "least 8), and the measurement does not show how large a page is, how large an " \
            "allocation unit is, " in said, said
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
    assert "does not show how large an allocation unit is" in said and "too few" not in said, said
    assert "about another device; measure next: `flashemu-lab probe" in said


def test_reads_are_no_profile_however_many():
    points = [fio("read", order, bs, rate) for order in ("sequential", "random")
              for bs, rate in zip(SIZES, RATES["read"])]
    for words in (["fit", saved("reads.json", points), "-o", "o.ini"], ["advise", "reads.json"]):
        said = refused(*words)
        assert "nothing was written, so a profile would make up what writes take, and the " \
            "measurement does not show how large a page is, " in said and \
            "measure next: `flashemu-lab probe" in said, said


def test_one_size_in_random_order():
    points = [fio("write", "random", 4 * KIB, 1e5 * n, n) for n in range(1, 10)]
    said = refused("advise", saved("one.json", points))
    assert "does not show how large a page is, how large an allocation unit is, whether " \
        "writes" in said, said


def test_what_no_point_speaks_about_is_taken():
    """Writes in order speak about the page, and about nothing else of the structure."""
    points = [fio(op, "sequential", bs, rate) for op, rates in RATES.items()
              for bs, rate in zip(SIZES, rates)]
    code, out, err = lab("fit", saved("ten.json", points), "-o", "ten.ini", "--budget", "60",
                         "--jobs", "2", "--anyway")
    lines = out.splitlines()
    assert code in (0, 1) and lines[0].startswith("The measurement does not show how large an"), out
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
    assert "not measured" in page
    assert page.index("The measurement does not show") < page.index("median error")
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
                                             "too few for a profile (at least 8).\n"), out
    assert "\nfigures = 5 figures that" in read("five.ini")
    found = json.loads(ended([FLASHEMU, "align", "./five.ini", "--json"])[1])
    assert found["advice"]["given"] is False and found["advice"]["multiple"] is None
    assert found["advice"]["text"].startswith("5 figures that do not"), found["advice"]


def test_all_devices_begin_such_a_search():
    tool = Tool()
    every = {card.relative: card for card in relatives.shipped(tool, 0, True)}
    assert set(every) == set(tool.profiles()) - {"ideal"}   # which has no times
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
    for count, is_taken in ((1, True), (3, False)):
        points = [make_point("fio-rate", [1e6], op="write", pattern=order, bs=4 * KIB << i, depth=1,
                             jobs=1, queue=True) for i in range(count)
                  for order in ("random", "sequential")]
        m = Measurement(tuple(points), "x", 512 * MIB)
        r = relatives.Related(card, speaking.told(points), card.keys(), {}, errors=[], measured=[],
                              chosen="numbers", kept=("nand.page_size",) if is_taken else ())
        said = relatives_result.provenance(r, m, "nand.page_size", "x")
        assert (said == f"taken from {card.relative}, not measured") == is_taken, said


def rows(sizes, counts, random=False, unit=4 * MIB):
    return [make_point("flashbench-open-au", [1e6], erasesize=unit, open=n, random=random, chunk=c)
            for n in counts for c in sizes]


def fitted(s, points, **more):
    """A fit that ended at this structure."""
    one = fitting.Fitted(s, [max(t.least, 1e5) for t in times_of(s)], {"page": [], "unit": [], "open_linear": [], "open_random": []},
                         errors=[0.0] * len(points), measured=[], **more)
    one.speaks = speaking.told(points)
    return one, Measurement(tuple(points), "x", 512 * MIB)


def test_open_units_that_no_point_speaks_about_have_a_source():
    """Rows in order only, as transcend8g would give them: it has 4 units open in both orders, and
    so has no other device that comes nearer."""
    tool = Tool()
    card = next(c for c in relatives.shipped(tool, 512 * MIB, True) if c.relative == "transcend8g")
    plan = Measurement(tuple(rows((4 * MIB, MIB, 256 * KIB), (1, 4, 5))), "x", 512 * MIB)
    with Comparer(tool, plan, 1) as comparer:
        answer = comparer.ask([Question("segment", tuple(changes(card.keys())))])[0]
    points = [replace(p, values=(v,)) for p, v in zip(plan.points, answer.measured)]
    s = replace(as_in_order(Structure("segment", 512 * MIB, 16 * KIB)), random_log=1536 * KIB)
    one, m = fitted(s, points)
    taken.name_devices(tool, m, one, 2)
    assert one.taken == {"ftl.open_random": "transcend8g"}, one.taken
    said = {key: fit_result.provenance(one, m, key, "x.json") for key in one.keys()}
    assert said["ftl.open_random"] == "taken from transcend8g, not measured"
    assert said["ftl.random_log"] == "assumed, not measured: nothing was written in random order, " \
        "and most cards merge a unit before it is full"
    assert said["ftl.open_linear"].startswith("fitted to x.json"), said
    lines = fit_result.sentences(one, m)
    verdict = next(i for i, line in enumerate(lines) if "comes near" in line)
    front = lines[:verdict]
    assert "Taken from transcend8g, not measured: units open in random order (4)." in front, lines
    assert "Assumed, not measured: what a unit takes in random order (1.5 MiB)." in front, lines
    assert "4 units open in order and 4 in random order (not measured)" in lines[verdict + 1]
    assert fit_result.profile(one, m, "x.json", "a test").index("; Taken from transcend8g") < 200
    # rows of random order speak about it
    one, m = fitted(s, points + rows((MIB, 64 * KIB), (1, 4), True))
    assert fit_result.untold(one, m, "ftl.open_random") == fit_result.untold(
        one, m, "ftl.random_log") == ""
    # nothing but sizes was written: how many units are open nobody knows
    one, m = fitted(s, [fio("write", "random", bs, 1e6) for bs in SIZES])
    assert fit_result.untold(one, m, "ftl.open_linear") == "the measurement does not show it"


def test_sizes_beyond_and_at_the_ends_of_what_was_measured():
    points = [fio("write", order, bs, 1e6) for order in ("random", "sequential")
              for bs in (8 * KIB, 64 * KIB, 512 * KIB, 2 * MIB)] + [
        fio("write", "random", bs, 1e6) for bs in (16 * KIB, 32 * KIB)]
    def said(key, **how):
        one, m = fitted(Structure("segment", 512 * MIB, **how), points)
        return fit_result.provenance(one, m, key, "x"), fit_result.sentences(one, m)
    page, unit = "nand.page_size", "ftl.unit_size"
    fits = "fitted to x: no other value that was tried is as good"
    text, lines = said(unit, page=16 * KIB, unit=4 * MIB)
    assert text == "assumed, not measured: beyond 8 KiB to 2 MiB, which was measured", text
    assert any(line.startswith("Assumed, not measured: the unit (4 MiB)") for line in lines)
    assert said(unit, page=16 * KIB, unit=2 * MIB)[0] == fits + "; nothing larger was measured"
    assert said(unit, page=16 * KIB, unit=MIB)[0] == fits
    # eight parts of 512 KiB are a unit of 4 MiB
    assert said(unit, page=16 * KIB, unit=512 * KIB, group=8, scattered=16)[0] == text
    text, lines = said(page, page=8 * KIB, unit=MIB)
    assert text == fits + "; nothing smaller was measured", text
    assert "About the page (8 KiB): nothing smaller was measured." in lines, lines
    assert said(page, page=4 * KIB, unit=MIB)[0].startswith("assumed, not measured: beyond 8 KiB")


def align_rows(page, unit):
    """flashbench -a of a device with these."""
    found = []
    for align in (KIB << i for i in range(2, 18)):
        more = 60e3 * (align >= page) + 120e3 * (align >= unit)
        found += [make_point("flashbench-align", [ns], align=align, bs=2 * KIB, place=place)
                  for place, ns in (("pre", 700e3), ("on", 703e3 + more), ("post", 700e3))]
    return found


def test_a_page_and_a_unit_that_reads_show_are_not_taken():
    """They go before those of the shipped devices, of which only those with units are left."""
    points = align_rows(8 * KIB, 2 * MIB)
    shown = relatives.shown_by(Measurement(tuple(points), "x", 512 * MIB))
    assert (shown.page, shown.unit) == (8 * KIB, 2 * MIB), shown
    tool = Tool()
    cards = {c.relative: relatives.resized(c, shown)
             for c in relatives.shipped(tool, 512 * MIB, True)}
    assert cards["raspberrypi32g"] is None
    for name, group, planes in (("transcend8g", 1, 1), ("sandisk-su04g", 8, 2),
                                ("kingston512m", 1, 1)):
        words = dict(cards[name].words)
        sizes = [quantity(words[key]) for key in (
            "nand.page_size", "ftl.unit_size", "nand.pages_per_block")]
        assert sizes == [8 * KIB, 2 * MIB // group, 2 * MIB // group // (8 * KIB * planes)], (
            name, sizes)
        path = write("shown.ini", "\n".join(fit_result.sections(cards[name].keys())) + "\n")
        done = ended([FLASHEMU, "check", path])
        assert done[0] == 0, (name, done)
    m = Measurement((*points, fio("write", "sequential", MIB, 1e6)), "x", 512 * MIB)
    keys = cards["transcend8g"].keys()
    r = relatives.Related(cards["transcend8g"], speaking.told(m.points), keys, keys, shown=shown, errors=[],
                          measured=[])
    said = {key: relatives_result.provenance(r, m, key, "x.json") for key in (
        "nand.page_size", "ftl.unit_size", "ftl.type")}
    assert said == {"nand.page_size": "x.json: reads or shifted writes show the page",
                    "ftl.unit_size": "x.json: reads across its multiples take longer",
                    "ftl.type": "taken from transcend8g, not measured"}, said
    last = relatives_result.taken_texts(r, m)[-1]
    assert last.startswith("Taken from transcend8g, not measured: the map (segment)") and \
        "the page" not in last and "the unit (" not in last, last


def test_advice_repeats_first_what_was_taken():
    ini = ended([FLASHEMU, "show", "kingston512m"])[1].split("[provenance]")[0]
    note = "Not measured, but taken from rundisk1g: how many units are open in random order."
    for lines, front in ((["ftl.open_random = taken from rundisk1g, not measured"], note), ([], "")):
        write("open.ini", ini + "\n[provenance]\n" + "\n".join(lines) + "\n")
        d = raw_writes.look(Tool(), "./open.ini", ())
        assert d.note == front and "Not measured" not in d.finding, d
        said = [line for line in raw_writes.advise_text(d, ["photos"]).splitlines()
                if line.startswith(("say = ", "text = "))]
        assert (said[:3] == ['say = "text"', f'text = "{note}"', 'say = "choose"']) == bool(front), \
            said


def test_a_refined_profile_says_what_its_start_took():
    text = "[provenance]\nftl.open_random = taken from rundisk1g, not measured\n" \
        "ftl.random_log = assumed, not measured: x\nnand.tR = taken from rundisk1g, not measured\n" \
        "ftl.type = fitted to y\n"
    r = refining.Refined({"nand.tR": "1us"}, {"nand.tR": "2us"}, [], errors=[], measured=[], comparisons=1)
    assert refine_result.unmeasured(r, text) == [
        "Taken from rundisk1g, not measured: ftl.open_random.",
        "Assumed, not measured: ftl.random_log."]


run(globals())
