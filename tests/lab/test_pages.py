#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pages in a browser: wide and narrow, light, dark and printed.

A script that is added to a copy of each page measures what the browser has made of it.
"""

import random
import re
import shutil

from flashemu_browser import BROWSER, answers, browser, url
from flashemu_lab_bench import LAB, SMALL, good, good_json, read, write
from flashemu_script import ended, need, run, skip

from flashemu_lab.experiment import shipped
from flashemu_lab.report.page import page
from flashemu_lab.experiment.plan import plan
from flashemu_lab.experiment.spec import load
from flashemu_lab.experiment.table import tabulate
from flashemu_lab.runs.program import Outcome, Tool

WIDTHS = (1280, 390)
SCREEN = 900        # CSS pixels
SMALLEST_TEXT = 9.0  # CSS pixels
LEAST_CONTRAST = 4.5  # of text, as WCAG 2.1 has it for level AA

MEASURE = r"""<script>
function light(c) {
  const v = c.match(/[\d.]+/g).slice(0, 3).map(x => x / 255)
    .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
}
function contrast(a, b) {
  const [x, y] = [light(a), light(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}
function behind(e) {
  for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (c != "rgba(0, 0, 0, 0)") return c;
  }
  return "rgb(255, 255, 255)";
}
const root = document.documentElement, texts = [], outside = [];
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim());
  if (!own || e.closest("title, script, style")) continue;
  const style = getComputedStyle(e), drawn = e instanceof SVGTextElement;
  texts.push({size: parseFloat(style.fontSize) * (drawn ? Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) : 1),
    contrast: e.classList.contains("quiet") ? 99 : contrast(drawn ? style.fill : style.color,
      behind(e)), text: e.textContent.slice(0, 40)});
  if (drawn) {
    const a = e.getBoundingClientRect(), b = e.ownerSVGElement.getBoundingClientRect();
    if (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 ||
        a.bottom > b.bottom + 1) outside.push(e.textContent);
  }
}
const marks = [...document.querySelectorAll("svg rect, svg circle, svg polygon")]
  .filter(e => !e.classList.contains("key"));
parent.postMessage(JSON.stringify({
  width: innerWidth, scroll: Math.max(root.scrollWidth, document.body.scrollWidth),
  dark: matchMedia("(prefers-color-scheme:dark)").matches, outside: outside,
  high: root.scrollHeight, figure: document.querySelector(".top svg").getBoundingClientRect().bottom,
  small: texts.sort((a, b) => a.size - b.size)[0],
  pale: [...texts].sort((a, b) => a.contrast - b.contrast)[0],
  marks: marks.length, dumb: marks.filter(e => !e.querySelector("title")?.textContent).length,
  loaded: performance.getEntriesByType("resource").length}), "*");
</script>"""

def faults(got, width, dark):
    """The names of what is wrong with a page, of which the browser says this."""
    rules = {
        "width": got["width"] == width, "dark": got["dark"] == dark, "loaded": got["loaded"] == 0,
        "scroll": got["scroll"] <= width,
        # On a desk the figure that answers is seen at once, and the rest is at most three screens.
        "below": width < WIDTHS[0] or got["figure"] <= SCREEN,
        "long": width < WIDTHS[0] or got["high"] <= 3 * SCREEN,
        "small": got["small"]["size"] >= SMALLEST_TEXT,
        "pale": got["pale"]["contrast"] >= LEAST_CONTRAST,
        "marks": got["marks"] > 0, "dumb": got["dumb"] == 0, "outside": got["outside"] == []}
    return {rule for rule, kept in rules.items() if not kept}


def found_faults(texts):
    """For each page with one of these texts, what is wrong with it in any width and colour, and
    what the browser says there."""
    shown = [(i, width) for i in range(len(texts)) for width in WIDTHS]
    found = [{} for _ in texts]
    for dark in (False, True):
        got = answers([(texts[i], width) for i, width in shown], MEASURE, dark)
        for (i, width), answer in zip(shown, got):
            for fault in faults(answer, width, dark):
                found[i][fault] = (width, "dark" if dark else "light", answer)
    return found


def links(text):
    """The words of a page that may load something."""
    text = re.sub(r'<a href="[a-z./]*index.html">', "", text)  # to a page of the same result
    return {word for word in ("<script", "<link", "<img", "<iframe", "src=", "href=", "url(",
                              "@import") if word in text}


def check(pages):
    """{name: page}, all in all widths and colours."""
    for (name, text), found in zip(pages.items(), found_faults(list(pages.values()))):
        assert not links(text), (name, links(text))
        assert not found, (name, found)


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
        "outside": ("svg text{", "svg text{letter-spacing:30px;")}
    for old, _ in planted.values():
        assert old in text, old
    good_one, *others = found_faults([text] + [text.replace(old, new, 1)
                                               for old, new in planted.values()])
    assert not good_one, good_one
    for fault, found in zip(planted, others):
        assert fault in found, (fault, found)
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
