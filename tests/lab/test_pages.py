#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pages in a browser: wide and narrow, light, dark and printed.

Each page is shown in a frame of a certain width by headless Chromium.  A script that is added to a
copy of the page measures what the browser has made of it.
"""

import html
import json
import os
import random
import re
import shutil
import subprocess

from flashemu_lab_bench import LAB, SMALL, good, good_json, read, write
from flashemu_script import PROGRAM_HANG_S, ended, need, run, skip

from flashemu_lab.experiment import shipped
from flashemu_lab.report.page import page
from flashemu_lab.experiment.plan import plan
from flashemu_lab.experiment.spec import load
from flashemu_lab.experiment.table import tabulate
from flashemu_lab.runs.program import Outcome, Tool

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = (1280, 390)
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
  texts.push({size: parseFloat(style.fontSize) * (drawn ? e.getScreenCTM().a : 1),
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
  small: texts.sort((a, b) => a.size - b.size)[0],
  pale: [...texts].sort((a, b) => a.contrast - b.contrast)[0],
  marks: marks.length, dumb: marks.filter(e => !e.querySelector("title")?.textContent).length,
  loaded: performance.getEntriesByType("resource").length}), "*");
</script>"""

FRAME = """<!DOCTYPE html><html><body style="margin:0"><iframe src="measured.html" width="%d"
height="900" style="border:0"></iframe><pre id="found"></pre><script>
onmessage = m => { document.getElementById("found").textContent = "found " + m.data; };
</script></body></html>"""


def browser(*args):
    """Standard output of a browser without a window and without a network."""
    p = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--user-data-dir=browser", "--host-resolver-rules=MAP * ~NOTFOUND",
         "--virtual-time-budget=20000", *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PROGRAM_HANG_S)
    assert p.returncode == 0, p.stderr[-2000:]
    return p.stdout.decode()


def measured(text, width, dark):
    """What the browser says about the page with this text."""
    write("measured.html", text.replace("</body>", MEASURE + "</body>"))
    write("frame.html", FRAME % width)
    scheme = 0 if dark else 1
    out = browser("--window-size=1280,900", "--blink-settings=preferredColorScheme=%d" % scheme,
                  "--dump-dom", "file://" + os.path.abspath("frame.html"))
    found = re.search(r'<pre id="found">found (.*?)</pre>', out, re.S)
    assert found, out[-2000:]
    return json.loads(html.unescape(found[1]))


def check(name, text):
    """One page in all widths and colours."""
    for word in ("<script", "<link", "<img", "<iframe", "src=", "href=", "url(", "@import"):
        assert word not in text, (name, word)
    for width in WIDTHS:
        for dark in (False, True):
            got = measured(text, width, dark)
            where = (name, width, "dark" if dark else "light", got)
            assert got["width"] == width and got["dark"] == dark and got["loaded"] == 0, where
            assert got["scroll"] <= width, where
            assert got["small"]["size"] >= SMALLEST_TEXT, where
            assert got["pale"]["contrast"] >= LEAST_CONTRAST, where
            assert got["marks"] > 0 and got["dumb"] == 0, where
            assert got["outside"] == [], where


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
    for e in good_json("list"):
        check(e["name"], drawn_numbers(e["name"]))


def test_a_sweep_and_its_report():
    good("sweep", "ssd-page", "ftl.op=10%,28%", "nand.blocks_per_plane=32,64", "device.used=16T",
         "gen:random,op=write,count=2000", "-o", "x")
    good("report", "x", "-o", "again.html")
    assert read("x/index.html") == read("again.html")
    check("sweep", read("again.html"))


def test_failures_are_shown():
    write("x.toml", SMALL.replace('"4K", "8K", "16K"', '"4K", "4K,offset=1T"'))
    code, _, _ = ended(["env", "FLASHEMU_LAB_STORE=store", LAB, "run", "x.toml", "-o", "x"])
    assert code == 1
    check("failures", read("x/index.html"))


def test_a_page_that_is_bad_is_noticed():
    """The measurement itself: planted mistakes."""
    write("x.toml", SMALL)
    good("run", "x.toml", "-o", "x")
    text = read("x/index.html")
    check("small", text)
    for old, new in (("</main>", '<div style="width:1300px">x</div></main>'),
                     ("</main>", '<p style="font-size:8px">x</p></main>'),
                     ("</main>", '<p style="color:#999">x</p></main>'),
                     ("<title>ftl.op 10%", "<desc>ftl.op 10%"),
                     ("svg text{", "svg text{letter-spacing:30px;"),
                     ("</main>", '<p style="background:url(x.png)">x</p></main>')):
        assert old in text, old
        try:
            check("planted", text.replace(old, new, 1))
        except AssertionError:
            continue
        raise AssertionError("not noticed: " + new)


def test_print():
    """A printed page has the conclusion and every row of the table, with its whole command."""
    if not shutil.which("pdftotext"):
        print("no pdftotext: left out")
        return
    write("x.toml", SMALL)
    result = good_json("run", "x.toml", "-o", "x")
    browser("--print-to-pdf=x.pdf", "--no-pdf-header-footer",
            "file://" + os.path.abspath("x/index.html"))
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
