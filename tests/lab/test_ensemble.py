#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""--ensemble: which sets of parameters are drawn, that they fit, and what they say."""

import json
import os
import re
from pathlib import Path

from flashemu_lab_bench import FLASHEMU, SMALL, bad, good, good_json, read, stored, write
from flashemu_script import ended, run

from flashemu_lab.experiment.ensemble import parameter_sets
from flashemu_lab.experiment.conclusion import conclusion
from flashemu_lab.experiment.ensemble.parameter_sets import Basis, Check, basis, draw, missed
from flashemu_lab.core.errors import LabError
from flashemu_lab.experiment.evidence import Judged
from flashemu_lab.runs.expression import parse_profile
from flashemu_lab.experiment.spec import parse
from flashemu_lab.experiment.ensemble.agreement import ranges, split
from flashemu_lab.runs.store import Store
from flashemu_lab.experiment.table import Row, Table
from flashemu_lab.runs.program import Tool

TOOL = Tool()
# A card whose figures need no kernel, and a stick whose figures need one.
CARD, STICK = "sandisk-sd4gb", "transcend8g"
TWO = SMALL.replace('"ftl.op" = ["10%", "28%"]', 'profile = ["%s", "%s"]' % (CARD, STICK)).replace(
    'profile = "ssd-page"\nset = ["nand.blocks_per_plane=32", "device.used=16T"]', "").replace(
        "gen:random", "gen:sequential").replace("count=2000", "count=200") + """
[[conclusion]]
say = "compare"
measure = "rate"
factor = "bs"
from = "4K"
to = "16K"
"""


def numbers(text):
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)]


def test_what_is_drawn():
    for profile, some, never in (
            (CARD, {"nand.tPROG", "ftl.copy_buffer", "link.command_overhead"},
             {"nand.page_size", "ftl.unit_size", "nand.blocks_per_plane", "device.used"}),
            (STICK, {"nand.tPROG", "ftl.open_random", "link.command_overhead"},
             {"nand.tR", "nand.tBERS", "nand.channels", "nand.endurance", "link.bandwidth"})):
        b = basis(TOOL, profile)
        assert some <= set(b.values) and not never & set(b.values), b.values
        seen = {key: set() for key in b.values}
        for i in range(200):
            drawn = draw(b, 1, i)
            assert drawn == draw(b, 1, i) and set(drawn) <= set(b.values)
            for key, value in drawn.items():
                seen[key].add(value)
                old, new = numbers(b.values[key]), numbers(value)
                assert re.sub(r"[\d.]+", "", value) == re.sub(r"[\d.]+", "", b.values[key])
                if b.types[key] == "number":
                    assert abs(new[0] - old[0]) == 1, (key, value)
                    continue
                ratios = [a / o for a, o in zip(new, old, strict=True)]
                assert all(.899 < r < 1.101 for r in ratios), (key, value)
                assert max(ratios) - min(ratios) < .01, "the pages of a cell go together"
        assert all(len(values) >= (2 if b.types[key] == "number" else 100)
                   for key, values in seen.items()), seen
        assert draw(b, 1, 0) != draw(b, 2, 0)


def test_draws_are_devices():
    """Whatever the numbers of a shipped profile are; only a whole number may leave its range."""
    tried = 0
    for profile in TOOL.profiles():
        try:
            b = basis(TOOL, profile)
        except LabError as e:
            assert "has no published figures" in str(e), e
            continue
        for drawn in (draw(b, 1, i) for i in range(8)):
            try:
                TOOL.canonical(profile, tuple("%s=%s" % pair for pair in drawn.items()))
                tried += 1
            except LabError as e:
                assert re.match(r"ftl\.\w+=0: is out of range", str(e)), e
    assert tried > 80


def test_what_is_kept():
    b = Basis("x", {}, {}, (), (Check("a", "", .1, ""), Check("b", "", .2, "")))
    assert missed(b, [10, 10], [10.9, 8.1]) == missed(b, [10, 10], [9.1, 11.9]) == []
    assert missed(b, [10, 10], [11.1, 10]) == ["a"] and missed(b, [10, 10], [10, 7.9]) == ["b"]
    assert missed(b, [10, 10], [8, None]) == ["a", "b"]


def verified(profile, *settings):
    """{row: (verdict, measured)} of the rows that need no kernel."""
    code, out, err = ended([FLASHEMU, "verify", profile, *settings, "--quick", "--kernel", "none",
                            "--json"])
    assert code in (0, 1), err
    return {r["id"]: (r["verdict"], r["measured"]) for r in json.loads(out)["rows"]}


def test_the_figures_hold():
    # The card with one figure, which is met exactly as shipped and has a small tolerance.
    text = ended([FLASHEMU, "show", CARD])[1]
    row = "align-pre = flashbench-align-pre | %g us | 3%%\n" % verified(CARD)["align-pre"][1]
    write("card.ini", text[:text.index("[fidelity]")] + "[fidelity]\n" + row)
    found = parameter_sets.sets(TOOL, Store(Path("store")), 2, "./card.ini", 2, 1)
    assert found == parameter_sets.sets(TOOL, Store(Path("store")), 1, "./card.ini", 2, 1)
    kept = found.sets
    for values in kept:
        settings = ["%s=%s" % pair for pair in values.items()]
        assert verified("./card.ini", *settings)["align-pre"][0] == "ok", values
    # They are the first draws that fit.
    b = basis(TOOL, "./card.ini")
    drawn = [draw(b, 1, i) for i in range(80)]
    places = [drawn.index(values) for values in kept]
    assert places == sorted(places)
    for i in set(range(places[-1])) - set(places):
        settings = tuple("%s=%s" % pair for pair in drawn[i].items())
        try:
            TOOL.canonical("./card.ini", settings)
        except LabError:
            continue  # what no device can have
        assert verified("./card.ini", *settings)["align-pre"][0] == "off", drawn[i]


def test_stand_ins_decide_where_a_kernel_is_needed():
    b = basis(TOOL, STICK)
    assert not b.model and {c.row for c in b.checks} >= {"tr8-write-fat32", "tr8-read-aligned"}
    patterns = {c.row: c.pattern for c in b.checks}
    assert "op=read" in patterns["tr8-read-aligned"] and "4096.5K" in patterns["tr8-write-fat32"]
    assert {c.setting for c in b.checks} == {"", "device.used=0"}
    # A profile on which nothing but the command's overhead is unsure, which is most of the time.
    text = ended([FLASHEMU, "show", "ideal"])[1]
    values = parse_profile(text)
    assert values["link.command_overhead"] == "0"
    head = text[:text.index("[provenance]")].replace("command_overhead = 0",
                                                     "command_overhead = 1ms")
    figures = ("[provenance]\nlink.command_overhead = fitted\n"
               "[fidelity]\nr = hdparm-t | 9 MB/s | %s\n")
    write("tight.ini", head + figures % "1%")
    write("wide.ini", head + figures % "50%")
    tight = parameter_sets.sets(TOOL, Store(Path("store")), 2, "./tight.ini", 3, 1)
    few, = tight.judged
    wide = parameter_sets.sets(TOOL, Store(Path("store")), 2, "./wide.ini", 20, 1)
    # The tight figure rejects what is off by more than 1 %, the wide one rejects nothing.
    assert wide.judged == (Judged("./wide.ini", "r", 40, 0),)
    drawn = [draw(basis(TOOL, "./tight.ini"), 1, i) for i in range(few.judged)]
    off = [abs(numbers(d["link.command_overhead"])[0] - 1) > .0101 for d in drawn]
    assert few.judged % 6 == 0 and abs(few.rejected - sum(off)) <= 1, (few, sum(off))

    def overhead(found):
        return [numbers(values["link.command_overhead"])[0] for values in found.sets]
    assert max(abs(v - 1) for v in overhead(tight)) < .011, tight
    assert max(abs(v - 1) for v in overhead(wide)) > .05, wide


def test_a_run_with_an_ensemble():
    write("x.toml", TWO)
    out = good_json("run", "x.toml", "--ensemble", "2", "-o", "x")
    assert [f["name"] for f in out["factors"]] == ["profile", "bs", "ensemble"]
    assert out["factors"][2]["levels"] == ["as shipped", "set 1", "set 2"]
    assert len(out["rows"]) == 2 * 3 * 3 and len({r["key"] for r in out["rows"]}) == 18
    plain = good_json("run", "x.toml")
    shipped = [r for r in out["rows"] if r["levels"]["ensemble"] == "as shipped"]
    assert [r["key"] for r in shipped] == [r["key"] for r in plain["rows"]]
    assert out["conclusion"][:len(plain["conclusion"])] == plain["conclusion"]
    assert out["conclusion"][-1].startswith("The published figures that say most about the param")
    assert any(re.match(r"In (all|\d of the) 2 other sets of parameters", s)
               for s in out["conclusion"])
    before, files = stored(), sorted(os.listdir("store/ensembles"))
    assert good_json("run", "x.toml", "--ensemble", "2") == out
    assert stored() == before and sorted(os.listdir("store/ensembles")) == files
    # What was drawn is drawn again where its file says something else.
    kept = os.path.join("store/ensembles", files[0])
    whole = read(kept)
    assert list(json.loads(whole)) == ["sets", "judged"], whole
    for damaged in (50000 * "[", '{"sets": [], "judged": []}'):
        write(kept, damaged)
        assert good_json("run", "x.toml", "--ensemble", "2")["rows"] == out["rows"], damaged[:20]
        assert read(kept) == whole, damaged[:20]
    other = good_json("run", "x.toml", "--ensemble", "2", "--ensemble-seed", "2")
    assert other["rows"] != out["rows"]
    # The file of the result is an experiment that needs no drawing, and the page has the spread.
    assert good_json("run", "x/experiment.toml")["rows"] == out["rows"]
    page = read("x/index.html")
    assert re.search(r"MB/s \([\d.]+ to [\d.]+ with other parameters\)</title>", page)
    assert page.count("<svg") == len(re.findall("<svg", page_of("x.toml")))
    assert re.search(r" \([\d.]+ to [\d.]+\)", good("run", "x.toml", "--ensemble", "2"))
    bad("has a factor 'ensemble' already", "run", "x/experiment.toml", "--ensemble", "2")


def test_an_ensemble_of_a_way():
    text = good("show", "article", "--toml").replace(
        'levels = ["buffered", "synced"]}', 'levels = ["synced"]}').replace(", writes=buffered", "")
    head = text[:text.index("[[conclusion]]")]
    way = text[text.index("[[conclusion]]"):].split("[[")[1]
    write("way.toml", head + "[[" + way)
    out = good_json("run", "way.toml", "--ensemble", "1")
    assert any("In the only other set" in s and "has the largest part in the change of the rate" in s
               for s in out["conclusion"]), out["conclusion"]


def page_of(name):
    good("run", name, "-o", "plain")
    return read("plain/index.html")


def table_of(values):
    """Two starts and two sizes with an ensemble; values[level][start][size]."""
    text = SMALL.replace('"ftl.op" = ["10%", "28%"]', 'start = ["1", "2"]').replace(
        '"4K", "8K", "16K"', '"4K", "8K"').replace("count=2000", "seed={start}") + """
[[conclusion]]
say = "compare"
measure = "waf"
factor = "start"
from = "1"
to = "2"
[[conclusion]]
say = "extremes"
measure = "waf"
[[conclusion]]
say = "limit"
measure = "waf"
factor = "bs"
[[conclusion]]
say = "choose"
measure = "waf"
factor = "start"
[factors.ensemble]
[factors.ensemble.levels]
"as shipped" = {}
"""
    text += "".join('"set %d" = {"ftl.op" = "%d%%"}\n' % (i, 7 + i) for i in range(1, len(values)))
    e = parse(text, "x")
    rows = [Row((str(start + 1), bs, level), "", "done", {"waf": values[i][start][j], "rate": 1},
                None, "", "") for start in (0, 1) for j, bs in enumerate(("4K", "8K"))
            for i, level in enumerate(e.factors[2].levels)]
    return Table(e, "", tuple(rows))


def test_what_is_said():
    table = table_of([[[1, 2], [2, 4]], [[1, 2], [3, 6]], [[2, 1], [1, 1]]])
    tables = split(table)
    assert [[r.values["waf"] for r in t.rows] for t in tables] == [
        [1, 2, 2, 4], [1, 2, 3, 6], [2, 1, 1, 1]]
    assert ranges(tables, "waf")["2", "8K"] == (1, 6) and ranges(tables, "waf")["1", "4K"] == (1, 2)
    told = conclusion(table)
    assert told[0].startswith("Start 2 instead of 1 gives 2.00 times the write amplification in")
    agree = [s.partition("published figures as well, ") for s in told if " sets of par" in s]
    words = {said: who.split(" other")[0] for who, _, said in agree}
    assert words == {
        "start 2 instead of 1 raises the write amplification, to 3.00 times as much.": "In 1 of the 2",
        "the write amplification is lowest with start 1 and request 4K.": "In 1 of the 2",
        "the write amplification is highest with start 2 and request 8K.": "In 1 of the 2",
        "the write amplification keeps 80 % of the first value up to request 8K with 1.": "In 1 of the 2",
        "the write amplification keeps 80 % of the first value up to request 8K with 2.": "In all 2",
        "no choice is better than 1.": "In 1 of the 2"}, words


def test_wrong_use():
    bad("--ensemble: ssd-page has no published figures in [fidelity]", "advise", "ssd-page",
        "--workload", "log", "--ensemble", "2")
    for n in ("0", "x", "1001"):
        bad("--ensemble: %s: allowed: 1 to 1000" % n, "run", "waf", "--ensemble", n)
    write("x.toml", TWO.replace('profile = ["%s", "%s"]' % (CARD, STICK), 'p = ["ideal"]').replace(
        "[device]", '[device]\nprofile = "{p}"'))
    bad('profile = "{p}": an ensemble needs the profile\'s name', "run", "x.toml", "--ensemble",
        "2")


run(globals())
