#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab refine: a profile whose structure is right, and whose numbers are not."""

import json
import math
import os
from dataclasses import replace
from pathlib import Path

from flashemu_fit_bench import (MIB, PAGE, SEGMENT, TIMES, ends_at_a_signal, measured, plan,
                                values)
from flashemu_lab_bench import FLASHEMU, bad, lab, opens_short, read, write
from flashemu_script import run, skip

try:
    import cmaes  # noqa: F401
except ImportError:
    skip("no Python module cmaes")

from flashemu_lab.fit import fit_result, model, refine_result, refining  # noqa: E402
from flashemu_lab.measurement import schema  # noqa: E402
from flashemu_lab.probe import speaking  # noqa: E402
from flashemu_lab.fit.compare import Answer  # noqa: E402
from flashemu_lab.core.errors import LabError  # noqa: E402
from flashemu_lab.core.units import quantity  # noqa: E402
from flashemu_lab.runs.expression import parse_profile  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, make_point  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

# What a profile gets wrong, as factors.
OFF = {"nand.tPROG": 1.25, "link.command_overhead": 0.8, "nand.tR": 1.3, "ftl.map_switch": 0.7}


def save_profile(name, s, factors, **changed):
    """A profile of this structure whose times are off, with words of its own."""
    times = [v * factors.get(t.key, 1) for t, v in zip(model.times_of(s), values(s))]
    keys = model.profile_keys(s, times) | changed
    lines = ["; a profile with words of its own", *fit_result.sections(keys), "", "[provenance]",
             "nand.tPROG = guessed: a chip of that size", "    and of that age",
             "nand.page_size = a data sheet"]
    write(name, "\n".join(lines) + "\n")


def numbers_of(**changed):
    keys = {"nand.tPROG": "416us/1126us", "nand.bus_rate": "122451KB/s", "nand.tR": "150us",
            "link.bandwidth": "19MB/s", "ftl.map_switch": "0", "nand.tBERS": "auto",
            "ftl.map_region": "256K", "ftl.open_linear": "4", "ftl.small_log": "0"} | changed
    return keys, refining.numbers(keys, speaking.told(plan(2 * MIB, 2)))


def test_numbers_that_move():
    keys, some = numbers_of()
    assert {(n.key, n.part) for n in some} == {
        ("nand.tPROG", 0), ("nand.tPROG", 1), ("nand.bus_rate", 0), ("nand.tR", 0),
        ("link.bandwidth", 0), ("ftl.map_switch", 0), ("ftl.map_region", 0),
        ("ftl.open_linear", 0)}, some
    for log, moves in (("1", []), ("2", [2]), ("9", [2])):  # a log of one unit stays one
        assert [n.low for n in numbers_of(**{"ftl.small_log": log})[1]
                if n.key == "ftl.small_log"] == moves
    for key in ("ftl.rest_write", "ftl.rest_read", "ftl.end_read"):  # few cards take such times
        for value, moves in (("0", False), ("200us", True)):
            assert any(n.key == key for n in numbers_of(**{key: value})[1]) == moves, (key, value)
    for n in some:
        assert n.low <= n.begin <= n.high and n.low < n.high, n
    assert refining.written(some, [n.begin for n in some], keys) == {}
    # a size that is no power of two times its least value, and one below it, stay
    assert "ftl.map_region" not in {n.key for n in numbers_of(**{"ftl.map_region": "384K"})[1]}
    assert "ftl.map_region" not in {n.key for n in numbers_of(**{"ftl.map_region": "8K"})[1]}
    # times that are no number, and those that cannot be 0
    assert "nand.tR" not in {n.key for n in numbers_of(**{"nand.tR": "0"})[1]}


def test_numbers_as_they_are_written():
    keys, some = numbers_of()
    by = {(n.key, n.part): i for i, n in enumerate(some)}

    def moved(key, part, x):
        place = [n.begin for n in some]
        place[by[key, part]] = x
        return refining.written(some, place, keys)
    assert moved("nand.tPROG", 1, math.log(1234567)) == {"nand.tPROG": "416us/1235us"}
    assert moved("nand.tPROG", 0, math.log(432.1)) == {"nand.tPROG": "432ns/1126us"}
    assert moved("nand.bus_rate", 0, math.log(123456789)) == {"nand.bus_rate": "123.5MB/s"}
    assert moved("link.bandwidth", 0, math.log(512.0)) == {"link.bandwidth": "1KB/s"}
    assert moved("ftl.map_region", 0, 8.2) == {"ftl.map_region": "4M"}
    assert moved("ftl.map_region", 0, 0.0) == {"ftl.map_region": "16K"}
    assert moved("ftl.open_linear", 0, 5.0) == {"ftl.open_linear": "5"}
    for at in (0.5, 2.0, 5.0):
        text = moved("ftl.map_switch", 0, at)["ftl.map_switch"]
        assert abs(quantity(text) / (2e4 * math.expm1(at)) - 1) < 1e-3, text


def test_the_worst_sort_of_test_counts():
    m = Measurement((make_point("seq-write", [1], bs=4096, size=MIB),
                     *(make_point("flashbench-open-au", [1], erasesize=MIB, open=1, random=r,
                                  chunk=c) for r in (False, True) for c in (4096, 8192))), "x", 0)
    judge = refining.Judge(m, [0.05, 0.1, 0.1, 0.2, 0.2])
    assert judge.value([0.05, 0.1, 0.1, 0.2, 0.2]) == 1
    assert judge.value([0.0, 0.05, 0.05, 0.1, 0.1]) < 0.6
    # one that is worse spoils what all others gain, and so does a point without a value
    assert judge.value([0.0, 0.01, 0.01, 0.202, 0.202]) > 1
    assert judge.value([0.0, 0.01, 0.01, None, 0.01]) > 10
    assert judge.value([0.05, 0.1, 0.1, -0.19, -0.19]) < 1
    # two runs of one device differ by as much as this
    noise = refining.Judge(m, [0.001, 0.1, 0.1, 0.2, 0.2])
    assert noise.value([0.019, 0.05, 0.05, 0.1, 0.1]) < 1
    assert noise.value([0.03, 0.05, 0.05, 0.1, 0.1]) > 1
    # what the profile cannot do is not asked of others
    assert refining.Judge(m, [None, 0.1, 0.1, 0.2, 0.2]).value([None, 0.05, 0.05, 0.1, 0.1]) < 1
    try:
        refining.Judge(m, [None] * 5)
    except LabError as e:
        assert "can be compared with this profile" in str(e)
    else:
        raise AssertionError("nothing to compare")


def test_a_step_is_a_sort_by_itself():
    """Each time of -a is within 4 %, and what a read across takes more is half of it."""
    def across(pre, on, post, align=1 << 20):
        return [make_point("flashbench-align", [v], align=align, bs=1024, place=place)
                for place, v in (("pre", pre), ("on", on), ("post", post))]
    m = Measurement(tuple(across(480e3, 600e3, 520e3) + across(500e3, 510e3, 500e3, 2048)), "x", 0)

    def errors(pre, on, post):
        times = [pre, on, post, 500e3, 510e3, 500e3]
        return [math.log(t / p.value) for t, p in zip(times, m.points)]
    # a step of a fiftieth is none
    told = refining.sorts(m, errors(500e3, 600e3, 500e3))
    assert told.keys() == {"reads across multiples (-a)", refining.STEPS}, told
    assert len(told[refining.STEPS]) == 1 and abs(told[refining.STEPS][0]) < 1e-9, told
    halved = refining.sorts(m, errors(500e3, 550e3, 500e3))[refining.STEPS]
    assert abs(halved[0] - math.log(0.5)) < 1e-9, halved
    none = refining.sorts(m, errors(600e3, 600e3, 600e3))[refining.STEPS]
    assert none == [math.log(0.01)], none
    assert refining.STEPS not in refining.sorts(m, [0.1, None, 0.1, None, None, None])
    judge = refining.Judge(m, errors(500e3, 590e3, 500e3))
    assert judge.value(errors(480e3, 550e3, 520e3)) > 1  # all three times are nearer
    assert judge.value(errors(480e3, 595e3, 520e3)) < 1


def test_what_came_out_in_sentences():
    """Sorts with their median errors, and how many are within 10 %; one that has not changed once."""
    points = tuple([make_point("request", [1e6], op="read", bs=4096, start=i << 20, stride=0, count=1, idle=0)
                    for i in range(3)] + [make_point("seq-read", [1e6], bs=4096 << i, size=1 << 20)
                                          for i in range(3)])
    m = Measurement(points, "x", 0)
    was = [math.log(x) for x in (1.05, 1.20, 1.30, 1.01, 1.02, 1.40)]
    now = [math.log(x) for x in (1.04, 1.06, 1.30, 1.01, 1.02, 1.40)]

    def told(after, errors):
        r = refining.Refined({"nand.tR": "1us"}, after, was, errors=errors, measured=[], comparisons=13)
        return refine_result.sentences(r, m, "")[-3:]
    assert told({"nand.tR": "2us"}, now) == [
        "1 number has changed, and no sort of test is further off by its median error.",
        "Single reads: median error 20.0 %, 33 % of 3 points within 10 %; now median error 6.0 %, 67 % of 3 "
        "points within 10 %.",
        "Rates in order: median error 2.0 %, 67 % of 3 points within 10 %."], told({"nand.tR": "2us"}, now)
    assert told({}, was)[0].startswith("13 comparisons found no other numbers")


def refine(s, budget, jobs=1, **changed):
    save_profile("start.ini", s, OFF, **changed)
    m = measured(s)
    found = refining.refine(Tool(), "./start.ini", m, budget, 1, jobs)
    return m, found


def test_a_device_of_the_model_is_found_again():
    m, found = refine(PAGE, 400)
    assert found.better and found.comparisons <= 400, found
    for name, (was, now) in refine_result.by_kind(found, m).items():
        assert now.median < max(0.3 * was.median, 0.03), (name, was, now)
    keys = parse_profile(Tool().canonical("./start.ini", ())) | found.after
    # what a program and its data take together shows in a write, and a read has the rest
    whole = TIMES["nand.tPROG"] + 8192 * 1e9 / TIMES["nand.bus_rate"]
    got = quantity(keys["nand.tPROG"]) + 8192 * 1e9 / quantity(keys["nand.bus_rate"])
    assert abs(got / whole - 1) < 0.04, keys
    assert set(found.before) == set(found.after)
    assert all(found.before[key] != found.after[key] for key in found.after)


def test_a_wrong_number_of_units_is_found():
    # half of this was enough on one processor and not on another, whose linear algebra rounds
    # differently
    m, found = refine(SEGMENT, 900, **{"ftl.open_linear": "3"})
    assert found.after.get("ftl.open_linear") == "4", found.after
    assert found.before["ftl.open_linear"] == "3"


def test_the_same_with_more_processes_and_another_with_another_seed():
    save_profile("start.ini", PAGE, OFF)
    m = measured(PAGE, points=plan(2 * MIB, 2))
    tool = Tool()
    first = refining.refine(tool, "./start.ini", m, 150, 1, 1)
    assert first == refining.refine(tool, "./start.ini", m, 150, 1, 2)
    assert first.after != refining.refine(tool, "./start.ini", m, 150, 2, 1).after


def test_what_does_not_help_stays_as_it_was():
    """Without writes nothing shows what a program takes."""
    save_profile("start.ini", PAGE, OFF)
    m = measured(PAGE)
    reads = replace(m, points=tuple(p for p in m.points if p.procedure == "flashbench-align"))
    found = refining.refine(Tool(), "./start.ini", reads, 400, 1, 1)
    assert found.better and not found.after.keys() & {
        "nand.tPROG", "nand.tBERS", "ftl.part_write", "ftl.tail_write"}, found.after


def test_sets_that_no_device_has():
    """Some are worse than any; if all are refused, the reason is told."""
    m = Measurement((make_point("seq-write", [1e6], bs=4096, size=MIB),), "x", 0)
    some, judge = numbers_of()[1], refining.Judge(m, [0.5])
    refused = Answer("refused", 0.0, (), "nand.tR: is too long")

    told = []

    def search(answers):
        return refining._Search(lambda places: [answers(i) for i in range(len(places))], some,
                                judge, m, told.append)
    good = Answer("done", 0.0, (1.2e6,), "")
    found = search(lambda i: good if i == 1 else refused)
    found.run(100, 1)
    assert found.least < 0.5 and found.best != [n.begin for n in some]
    assert told[0] == found.least
    told.clear()
    search(lambda i: Answer("done", 0.0, (0.2e6,), "")).run(40, 1)
    assert told and told == [None] * len(told), told
    try:
        search(lambda i: refused).run(100, 1)
    except LabError as e:
        assert str(e) == "nand.tR: is too long"
    else:
        raise AssertionError("every set was refused")


def test_the_text_stays():
    text = ("; mine\n[nand]\ntR   =  150us\n\n[ftl]\ntype = page\n; why\n\n[provenance]\n"
            "nand.tR = a\n\tlong\n    reason\nftl.type = b\n")
    r = refining.Refined(
        before={"nand.tR": "150us", "ftl.map_read": "0", "link.bandwidth": "1MB/s"},
        after={"nand.tR": "140us", "ftl.map_read": "3us", "link.bandwidth": "2MB/s"},
        was=[], errors=[], measured=[], comparisons=7)
    got = refine_result.profile(r, text, "my.json", "refine 1")
    assert got == ("; mine\n[nand]\ntR = 140us\n\n[ftl]\ntype = page\n; why\nmap_read = 3us\n\n"
                   "[provenance]\n"
                   "nand.tR = fitted to my.json by refine 1; was 150us\nftl.type = b\n"
                   "ftl.map_read = fitted to my.json by refine 1; was 0\n"
                   "link.bandwidth = fitted to my.json by refine 1; was 1MB/s\n\n"
                   "[link]\nbandwidth = 2MB/s\n"), got


def test_command():
    save_profile("start.ini", PAGE, OFF)
    schema.save(measured(PAGE, points=plan(2 * MIB, 3)), Path("my.json"))
    code, out, err = lab("refine", "start.ini", "my.json", "-o", "new.ini", "--budget", "200",
                         "--jobs", "1")
    assert code == 0 and err == "" and "no sort of test is further off" in out, (out, err)
    text = read("new.ini")
    assert text.startswith("; a profile with words of its own\n")
    assert "nand.page_size = a data sheet" in text and "of that age" not in text
    assert "nand.tPROG = fitted to my.json by flashemu-lab refine" in text
    assert os.system(f"{FLASHEMU} check new.ini >/dev/null") == 0
    page = read("new.html")
    assert opens_short(page)
    assert "The numbers that moved" in page and "start.ini, fitted to my.json" in page
    # verify finds what was promised
    code, out, _ = lab("refine", "start.ini", "my.json", "-o", "new.ini", "--budget", "200",
                       "--json")
    told = json.loads(out)
    got = json.loads(os.popen(f"{FLASHEMU} verify ./new.ini --against my.json --json").read())
    errors = sorted(abs(math.expm1(p["log_error"])) for p in told["points"])
    middle = (errors[(len(errors) - 1) // 2] + errors[len(errors) // 2]) / 2
    assert abs(got["all"]["median_error_percent"] - 100 * middle) < 0.1, got["all"]
    assert told["better"] and told["numbers"]["nand.tPROG"]["was"], told["numbers"]
    assert told["tests"]["open units in order"]["was"] != told["tests"]["open units in order"][
        "now"]


def test_numbers_that_are_right():
    save_profile("start.ini", PAGE, {})
    schema.save(measured(PAGE, points=plan(2 * MIB, 1)), Path("my.json"))
    code, out, err = lab("refine", "start.ini", "my.json", "-o", "new.ini", "--budget", "60")
    assert code == 1 and "found no other numbers" in out and "is not written" in err, (out, err)
    assert not os.path.exists("new.ini") and os.path.exists("new.html")


def test_mistakes():
    save_profile("start.ini", PAGE, OFF)
    schema.save(measured(PAGE, points=plan(2 * MIB, 1)), Path("my.json"))
    bad("-o start.ini: is one of the inputs", "refine", "start.ini", "my.json", "-o", "start.ini")
    bad("-o a.txt: expected a name that ends in .ini", "refine", "ideal", "my.json", "-o", "a.txt")
    bad("nope.json: No such file", "refine", "ideal", "nope.json", "-o", "a.ini")
    bad("profile=nope: no profile of that name", "refine", "nope", "my.json", "-o", "a.ini")
    bad("nope.ini: No such file", "refine", "nope.ini", "my.json", "-o", "a.ini")
    bad("--budget 500: has no effect with --quick", "refine", "ideal", "my.json", "-o", "a.ini",
        "--quick", "--budget", "500")
    Path("latin.ini").write_bytes(b"; \xe9\n")
    bad("latin.ini: is not UTF-8", "refine", "latin.ini", "my.json", "-o", "a.ini")
    assert not os.path.exists("a.ini") and not os.path.exists("a.html")


def test_stopped_by_a_signal():
    save_profile("start.ini", SEGMENT, OFF)
    schema.save(measured(SEGMENT, points=plan(2 * MIB, 3)), Path("my.json"))
    ends_at_a_signal("refine", "start.ini", "my.json")


run(globals())
