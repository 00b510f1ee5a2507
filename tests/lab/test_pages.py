#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pages in a browser: wide and narrow, light, dark and printed."""

import os
import random
import re
import shutil

from flashemu_browser import BROWSER, browser, url
from flashemu_lab_bench import LAB, SMALL, TOP, good, good_json, lab, read, write
from flashemu_pages import check, found_faults, links
from flashemu_script import ended, need, run, skip

from flashemu_lab.experiment import shipped
from flashemu_lab.report.page import page
from flashemu_lab.experiment.plan import plan
from flashemu_lab.experiment.spec import load
from flashemu_lab.experiment.table import tabulate
from flashemu_lab.runs.program import Outcome, Tool


def drawn_numbers(name):
    """The page of a shipped experiment with results that are drawn, in a moment: what is looked
    at is the layout."""
    tool = Tool()
    experiment = load(shipped.locate(name))
    draw = random.Random(name)
    example = tool.members()

    def vary(value):
        if isinstance(value, dict):
            return {k: vary(v) for k, v in value.items()}
        if isinstance(value, (int, float)) and not isinstance(value, bool) or value is None:
            return draw.choice((1, 1000, 10**6)) * draw.uniform(1, 99)
        return value

    return page(tabulate(experiment, tool.program, plan(experiment, tool),
                         lambda key: Outcome("done", vary(example))))


def test_shipped_experiments():
    check({e["name"]: drawn_numbers(e["name"]) for e in good_json("list")})


def test_a_sweep_and_its_report():
    good("sweep", "ssd-page", "ftl.op=10%,28%", "nand.blocks_per_plane=32,64", "device.used=16T",
         "gen:random,op=write,count=2000", "-o", "x")
    good("report", "x", "-o", "again.html")
    assert read("x/index.html") == read("again.html")
    check({"sweep": read("again.html")})


def test_pages_that_no_experiment_makes():
    """Of advise both, of life, and of power cuts."""
    good("advise", "transcend8g", "--workload", "log", "-o", "advice")
    good("life", "logger", "--card", "toshiba16g", "-o", "life")
    recipe = "/usr/bin/python3 " + os.path.join(TOP, "docs/recipes/counter.py")
    code, _, err = lab("crash", "ssd-page", "size=16M", "cache.size=64K", "--run", recipe + " work",
                       "--check", recipe + " check", "-o", "cuts")
    assert code == 1, err
    check({name: read(name + "/index.html") for name in ("advice", "advice/filesystems", "life", "cuts")})


def test_failures_are_shown():
    write("x.toml", SMALL.replace('"4K", "8K", "16K"', '"4K", "4K,offset=1T"'))
    code, _, _ = ended(["env", "FLASHEMU_LAB_STORE=store", LAB, "run", "x.toml", "-o", "x"])
    assert code == 1
    check({"failures": read("x/index.html")})


def test_a_page_that_is_bad_is_noticed():
    """The measurement itself: planted mistakes."""
    write("x.toml", SMALL)
    good("run", "x.toml", "-o", "x")
    text = read("x/index.html")
    planted = {
        "scroll": ("</main>", '<div style="width:1300px">x</div></main>'),
        "small": ("</main>", '<p style="font-size:8px">x</p></main>'),
        "pale": ("</main>", '<p style="color:#999">x</p></main>'),
        "below": ("</h1>", '</h1><div style="height:800px"></div>'),
        "long": ("</main>", '<div style="height:2500px"></div></main>'),
        "dumb": ("<title>ftl.op 10%", "<desc>ftl.op 10%"),
        "unsaid": (' role="img"', ""),
        "cut": ("</th>", "\u00a0x" * 99 + "</th>"),
        "outside": ("svg text{", "svg text{letter-spacing:30px;")}
    for old, _ in planted.values():
        assert old in text, old
    good_one, *others = found_faults([text] + [text.replace(old, new, 1)
                                               for old, new in planted.values()])
    assert not good_one, good_one
    for fault, found in zip(planted, others):
        assert fault in found, (fault, found)
    unsaid = found_faults([text.replace(old, new, 1) for old, new in (
        (' lang="en"', ""), ("<title>", "<title></title><title>"), ("<h1>", "<h2>"),
        ("</main>", "<h3>x</h3></main>"), ("</main>", "<button></button></main>"))])
    assert all(set(found) == {"unsaid"} for found in unsaid), unsaid
    heat = SMALL + '[[figure]]\nkind = "heatmap"\nmeasure = "rate"\nx = "bs"\nseries = "ftl.op"\n'
    write("heat.toml", heat)
    good("run", "heat.toml", "-o", "heat")
    text = read("heat/index.html")
    found, = found_faults([text.replace("svg .heat{", "svg .heat{fill-opacity:1!important;")])
    assert set(found) == {"pale"}, found
    assert not links(text)
    assert links(text.replace("</main>", '<p style="background:url(x.png)">x</p></main>'))


def test_print():
    """A printed page has the conclusion and every row of the table, with its whole command."""
    if not shutil.which("pdftotext"):
        print("no pdftotext: left out")
        return
    write("x.toml", SMALL)
    result = good_json("run", "x.toml", "-o", "x")
    browser(False, "--print-to-pdf=x.pdf", "--no-pdf-header-footer", url("x/index.html"))
    code, out, err = ended(["pdftotext", "-raw", "x.pdf", "-"])
    assert code == 0, err

    def plain(words):
        return re.sub(r"[\s\u00ad]", "", words)

    printed = plain(out)
    for sentence in result["conclusion"]:
        assert plain(sentence) in printed, sentence
    for row in result["rows"]:
        assert plain(row["command"]) in printed, row["command"]
    for line in result["experiment"].splitlines():
        assert plain(line) in printed, line


if not BROWSER:
    skip("no chromium")
need("timeout")
run(globals())
