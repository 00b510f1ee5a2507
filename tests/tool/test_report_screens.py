#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a browser makes of flashemu report: as wide as a desk and as a phone, light and dark.

Two things are looked at.  A script that is added to a copy of the page measures the layout, and the
rules below hold with every browser and every font.  And a screenshot of each figure is made very
small and compared with one that is kept in screens/report.json; figures have no text inside their
axes that matters at this size, so fonts do not either.

    FLASHEMU_UPDATE=1 meson test -C build tool_report_screens      keeps the pictures of this run
"""

import base64
import json
import os
import random

from flashemu_browser import BROWSER, answers, browser, found_in, url
from flashemu_script import run, skip
from flashemu_tool import good, read, write

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "screens", "report.json")
HEAD = "# flashemu trace 1\n"
WIDTHS = (1280, 390)
COLUMNS, ROWS = 16, 10  # of a small picture
LEAST_TEXT = 10         # CSS pixels
TEXT_CONTRAST, LINE_CONTRAST = 4.5, 3  # as WCAG 2.1 has them for level AA
# A colour has 16 levels.  Another font moves ticks, which changes the cells at the edges a little.
MEAN_OFF, CELL_OFF = 0.35, 5

# Rules are checked where the numbers are, so the answer is short: what is wrong, in words.
MEASURE = r"""<script>
"use strict";
const wrong = [], root = document.documentElement, width = root.clientWidth;
const say = (what, e) => wrong.push(what + ": " + (e.textContent || "").trim().slice(0, 40));
const light = c => {
  const v = c.match(/[\d.]+/g).slice(0, 3).map(x => x / 255)
    .map(x => x > 0.03928 ? ((x + 0.055) / 1.055) ** 2.4 : x / 12.92);
  return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
};
const contrast = (a, b) => {
  const x = [light(a), light(b)].sort((m, n) => n - m);
  return (x[0] + 0.05) / (x[1] + 0.05);
};
const page = getComputedStyle(document.body).backgroundColor;
const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;
const texts = [], boxes = [...document.querySelectorAll("figure, h1, h2, table, button")];

const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let n = walk.nextNode(); n; n = walk.nextNode()) {
  const e = n.parentElement, style = getComputedStyle(e), drawn = e.closest("svg.plot, svg.map");
  if (!n.data.trim() || e.closest("script, style, title, desc")) continue;
  const range = document.createRange();
  range.selectNodeContents(n);
  const scale = drawn ? drawn.getBoundingClientRect().width / drawn.viewBox.baseVal.width : 1;
  if (LEAST > scale * parseFloat(style.fontSize)) say("small text", n);
  if (TEXT_CONTRAST > contrast(drawn ? style.fill : style.color, e.closest("button") ?
      getComputedStyle(e.closest("button")).backgroundColor : page)) say("pale text", n);
  for (const r of range.getClientRects()) {
    if (!e.closest(".wide") && (0 > r.left + 1 || r.right > width + 1)) say("cut text", n);
    for (let a = e; a && a !== document.body; a = a.parentElement) {
      const b = a.getBoundingClientRect();
      if (getComputedStyle(a).overflow === "hidden" && (r.right > b.right + 1 ||
          r.bottom > b.bottom + 1 || b.left > r.left + 1 || b.top > r.top + 1)) say("cut text", n);
    }
    const svg = drawn && drawn.getBoundingClientRect();
    if (svg && (svg.left > r.left + 1 || r.right > svg.right + 1 || r.bottom > svg.bottom + 1))
      say("text outside its picture", n);
    if (r.width > 0) texts.push({r: r, n: n});
  }
}
texts.sort((a, b) => a.r.top - b.r.top);
for (let i = 0; texts.length > i; i++)
  for (let k = i + 1; texts.length > k && texts[i].r.bottom > texts[k].r.top; k++)
    if (texts[i].n !== texts[k].n && meet(texts[i].r, texts[k].r))
      say("text over " + texts[k].n.data.trim().slice(0, 20), texts[i].n);
boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
  if (!a.contains(b) && !b.contains(a) && meet(a.getBoundingClientRect(),
      b.getBoundingClientRect())) say("boxes overlap", a);
}));
if (Math.max(root.scrollWidth, document.body.scrollWidth) > width)
  wrong.push("the page is wider than the window");

const colours = {};
for (const name of ["read", "write", "gc", "merge"]) {
  const e = document.body.appendChild(document.createElement("i"));
  e.className = name;
  colours[name] = getComputedStyle(e).color;
  if (LINE_CONTRAST > contrast(colours[name], page)) wrong.push("pale colour of " + name);
  e.remove();
}
const rgb = c => c.match(/[\d.]+/g).map(Number);
for (const a in colours) for (const b in colours)
  if (b > a && 90 > Math.hypot(...rgb(colours[a]).map((v, i) => v - rgb(colours[b])[i])))
    wrong.push("one colour for " + a + " and " + b);

const figures = [...document.querySelectorAll("svg.plot, svg.map")].map(svg => {
  const r = svg.getBoundingClientRect();
  return [svg.getAttribute("aria-label"), r.left, r.top, r.width, r.height];
});
const field = document.querySelector("svg.zoom .field"), before = document
  .querySelector("svg.zoom .tx").textContent;
const answer = {wrong: wrong, figures: figures, height: root.scrollHeight, width: width,
  dark: matchMedia("(prefers-color-scheme:dark)").matches, texts: texts.length};
document.querySelector(".keys button").click();
answer.zoomed = field.getAttribute("viewBox");
answer.ticks = document.querySelector("svg.zoom .tx").textContent !== before;
parent.postMessage(JSON.stringify(answer), "*");
</script>"""
for _name, _value in (("LEAST >", LEAST_TEXT), ("TEXT_CONTRAST >", TEXT_CONTRAST),
                      ("LINE_CONTRAST >", LINE_CONTRAST)):
    MEASURE = MEASURE.replace(_name, "%g >" % _value)

FRAME = """<!DOCTYPE html><body style="margin:0"><iframe src="%s" style="border:0;display:block;
width:%dpx;height:%dpx"></iframe></body>"""

# Makes parts of screenshots small; a page may read the pixels of an image that is in it.
SHRINK = """<!DOCTYPE html><body>%s<pre id="found"></pre><script>
"use strict";
const work = %s, columns = %d, rows = %d;
function small(image, f) {
  const c = document.createElement("canvas"), g = c.getContext("2d");
  const w = c.width = Math.round(f[3]), h = c.height = Math.round(f[4]);
  g.drawImage(image, Math.round(f[1]), Math.round(f[2]), w, h, 0, 0, w, h);
  const all = g.getImageData(0, 0, w, h).data;
  const sums = Array.from({length: columns * rows}, () => [0, 0, 0, 0]);
  for (let y = 0; h > y; y++) for (let x = 0; w > x; x++) {
    const s = sums[Math.floor(y * rows / h) * columns + Math.floor(x * columns / w)];
    for (let i = 0; 3 > i; i++) s[i] += all[4 * (y * w + x) + i];
    s[3]++;
  }
  return [f[0], sums.map(s => s.slice(0, 3).map(v => Math.round(v / s[3] / 17).toString(16))
    .join("")).join(" ")];
}
onload = () => {
  const images = document.querySelectorAll("img");
  document.getElementById("found").textContent = "found " +
    JSON.stringify(work.map((figures, i) => figures.map(f => small(images[i], f))));
};
</script></body>"""


def measured(pages, dark):
    """What the browser says about each page.  `pages`: (text, width)."""
    found = answers(pages, MEASURE, dark)
    for (_, width), got in zip(pages, found):
        assert got["width"] == width and got["dark"] == dark and got["texts"] > 50, got
    return found


def check(text):
    """Every rule, in all variants.  What was measured, by variant."""
    all_got = {}
    for dark in (False, True):
        for width, got in zip(WIDTHS, measured([(text, width) for width in WIDTHS], dark)):
            assert not got["wrong"], (width, dark, got["wrong"][:10])
            assert got["ticks"] and got["zoomed"].split()[2] == "162", got["zoomed"]
            all_got[width, dark] = got
    return all_got


def small_pictures(text, all_got):
    """The figures of each variant: {"1280 light": {label: cells}}."""
    images = ""
    write("page.html", text)
    for (width, dark), got in all_got.items():
        write("frame.html", FRAME % ("page.html", width, got["height"]))
        browser(dark, "--window-size=%d,%d" % (max(width, 500), got["height"]),
                "--screenshot=" + os.path.abspath("screen.png"), url("frame.html"))
        with open("screen.png", "rb") as f:
            images += '<img src="data:image/png;base64,%s">' % base64.b64encode(f.read()).decode()
    figures = json.dumps([got["figures"] for got in all_got.values()])
    write("shrink.html", SHRINK % (images, figures, COLUMNS, ROWS))
    found = found_in(browser(False, "--dump-dom", url("shrink.html")))
    return {"%d %s" % (width, "dark" if dark else "light"): dict(pictures)
            for (width, dark), pictures in zip(all_got, found)}


def how_far(kept, cells):
    """By how many levels of a colour two small pictures differ: the mean, and the worst."""
    pairs = [(int(a, 16), int(b, 16)) for x, y in zip(kept.split(), cells.split())
             for a, b in zip(x, y)]
    off = [abs(a - b) for a, b in pairs]
    return sum(off) / len(off), max(off)


def differences(kept, pictures):
    """What differs from the kept pictures, in words."""
    out = []
    for variant, of_variant in kept.items():
        assert list(of_variant) == list(pictures[variant]), (variant, list(pictures[variant]))
        for label, cells in of_variant.items():
            mean, worst = how_far(cells, pictures[variant][label])
            if mean > MEAN_OFF or worst > CELL_OFF:
                out.append("%s, %s: %.2f on average, %d at most" % (variant, label, mean, worst))
    return out


def report():
    """The page of one recording with everything that has a colour, and of statistics.  All of it is
    in virtual time, so it is the same everywhere."""
    draw = random.Random(1)
    write("mixed.tr", HEAD + "".join(
        "0 %s %d %d\n" % (("read", "write", "write")[i % 3], draw.randrange(4000) * 4096,
                          draw.choice((4096, 4096, 65536))) for i in range(1500)))
    stats = good("replay", "transcend8g", "mixed.tr", "--record", "stick.rec", "--json")
    write("stick.json", stats)
    write("ssd.json", good("replay", "ssd-page", "gen:random,op=write,count=2000", "ftl.op=7%",
                           "--json"))
    good("report", "stick.rec", "stick.json", "ssd.json", "-o", "page.html")
    return read("page.html").replace("<details>", "<details open=''>")


def test_screens():
    text = report()
    pictures = small_pictures(text, check(text))
    assert all(len(p) == 6 for p in pictures.values()), {k: list(p) for k, p in pictures.items()}
    if os.environ.get("FLASHEMU_UPDATE"):
        os.makedirs(os.path.dirname(KEPT), exist_ok=True)
        write(KEPT, json.dumps(pictures, indent=1) + "\n")
    assert differences(json.loads(read(KEPT)), pictures) == []


def test_it_opens_on_at_most_three_screens():
    """With one file or with several, of which all but the comparison is folded."""
    several = report().replace("<details open=''>", "<details>")
    good("report", "stick.rec", "-o", "one.html")
    script = "<script>parent.postMessage(document.documentElement.scrollHeight, '*')</script>"
    heights = answers([(several, 1280), (read("one.html"), 1280)], script, False)
    assert max(heights) <= 3 * 900, heights
    assert answers([(report(), 1280)], script, False)[0] > 3 * 900  # what folding is for


def test_a_broken_layout_is_noticed():
    """The measurement itself: planted mistakes, and the word that each of them must bring up."""
    text = report()
    planted = (
        (".figures{display:grid;", ".figures{display:grid;width:1400px;", "wider"),
        ("svg text{font:12px", "svg text{font:6px", "small text"),
        ("figure{margin:0;", "figure{margin:-30px 0;", "over"),
        ("td{padding:.15em 0}", "td{padding:.15em 0;max-width:9em;overflow:hidden;"
         "white-space:nowrap}", "cut text"),
        ("--write:#c2410c", "--write:#1f6fa0", "one colour"),
        ("--soft:#666", "--soft:#aaa", "pale text"),
        ("svg text{", "svg text{letter-spacing:40px;", "outside"))
    for old, _, _ in planted:
        assert old in text, old
    got = measured([(text.replace(old, new, 1), width) for old, new, _ in planted
                    for width in WIDTHS], False)
    for i, (_, new, word) in enumerate(planted):
        wrong = " ".join(w for one in got[2 * i:2 * i + 2] for w in one["wrong"])
        assert word in wrong, (new, wrong[:500])


def test_another_picture_is_noticed():
    """What no rule on text and boxes can see."""
    text = report()
    kept = json.loads(read(KEPT))
    planted = ((".cloud{stroke-width:2;", ".cloud{stroke-width:0;"),
               (".frame{stroke:var(--ink);fill:none}", ".frame{fill:var(--ink)}"),
               ("--write:#c2410c", "--write:#0f7a0f"))
    for old, _ in planted:
        assert old in text, old
    texts = [text.replace(old, new, 1) for old, new in planted]
    for (_, new), changed, got in zip(planted, texts, measured([(t, 1280) for t in texts], False)):
        pictures = small_pictures(changed, {(1280, False): got})
        assert differences({"1280 light": kept["1280 light"]}, pictures), new


def test_long_ticks_have_room():
    # latencies and rates over many decades, and many bytes, have the longest ticks
    write("wide.tr", HEAD + "".join("%d write %d 512 done=%d\n" % (
        t, t % 997 * 512 * 10 ** 6, t + t // 2 + 1) for t in (4 ** i for i in range(22))))
    write("number.tr", HEAD + "0 read 0 512\n" * 1000001)
    good("replay", "transcend8g", "gen:random,op=write,bs=64K,count=300", "--record", "lay.tr")
    good("report", "lay.tr", "wide.tr", "number.tr", "-o", "lay.html")
    assert ">1000000</text>" in read("lay.html")
    opened = read("lay.html").replace("<details>", "<details open=''>")
    for got in measured([(opened, width) for width in WIDTHS], False):
        assert not got["wrong"], (got["width"], got["wrong"][:10])


if not BROWSER:
    skip("no chromium")
run(globals())
