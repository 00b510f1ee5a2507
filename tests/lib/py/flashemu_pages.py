# SPDX-License-Identifier: BSD-3-Clause
"""What makes a page good, in a browser: wide and narrow, light and dark.

A script that is added to a copy of each page measures what the browser has made of it.  The answer is
the first thing with the class "top", a picture or a list of rows.

STRUCTURE is what a page says to whoever does not see it.
"""

import re

from flashemu_browser import answers

WIDTHS = (1280, 390)
SCREEN = 900        # CSS pixels
SMALLEST_TEXT = 9.0  # CSS pixels
LEAST_CONTRAST = 4.5  # of text, as WCAG 2.1 has it for level AA

# unsaid(): what lacks a language, a title, a heading in its order, or a name.
STRUCTURE = r"""
function unsaid() {
  const wrong = [];
  if (!document.documentElement.lang) wrong.push("no language");
  if (!document.title.trim()) wrong.push("no title");
  let last = 0;
  for (const h of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const level = Number(h.tagName[1]);
    if (level > last + 1 || (level === 1) !== (last === 0)) wrong.push("out of order: " + h.outerHTML);
    last = level;
  }
  if (!last) wrong.push("no heading");
  for (const e of document.querySelectorAll(
    "svg, canvas, button, a, summary, input, select, progress, [role=region]")) {
    if (e.parentElement.closest("svg") || e.closest("[aria-hidden=true]")) continue;
    const drawn = e.matches("svg, canvas");
    const said = e.getAttribute("aria-label") || [...(e.labels || [])].map(l => l.textContent).join("")
      || (e.matches("button, a, summary") ? e.textContent : "");
    if (!said.trim() || (drawn && e.getAttribute("role") !== "img"))
      wrong.push("no name: " + e.outerHTML.slice(0, 80));
  }
  return wrong;
}
"""

MEASURE = r"""<script>
""" + STRUCTURE + r"""
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
// The number of a cell stands on the box in front of it, which lets the page shine through.
function cell(e) {
  const style = getComputedStyle(e.previousElementSibling), share = parseFloat(style.fillOpacity);
  const [a, b] = [style.fill, behind(e)].map(c => c.match(/[\d.]+/g).map(Number));
  return `rgb(${[0, 1, 2].map(i => share * a[i] + (1 - share) * b[i])})`;
}
const root = document.documentElement, texts = [], outside = [];
const opened = {high: root.scrollHeight,
  figure: document.querySelector(".top .rows, .top svg").getBoundingClientRect().bottom};
document.querySelectorAll("details").forEach(d => d.open = true);  // what is folded is looked at, too
const cut = [...document.querySelectorAll("table")].map(t => t.parentElement)
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.trim().slice(0, 40));
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim());
  if (!own || e.closest("title, script, style")) continue;
  const style = getComputedStyle(e), drawn = e instanceof SVGTextElement;
  texts.push({size: parseFloat(style.fontSize) * (drawn ? Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) : 1),
    contrast: contrast(drawn ? style.fill : style.color,
      e.classList.contains("quiet") ? cell(e) : behind(e)), text: e.textContent.slice(0, 40)});
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
  ...opened, cut: cut,
  small: texts.sort((a, b) => a.size - b.size)[0],
  pale: [...texts].sort((a, b) => a.contrast - b.contrast)[0],
  unsaid: unsaid(), marks: marks.length, dumb: marks.filter(e => !e.querySelector("title")?.textContent).length,
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
        "cut": width < WIDTHS[0] or got["cut"] == [],  # a table that is not whole
        "small": got["small"]["size"] >= SMALLEST_TEXT,
        "pale": got["pale"]["contrast"] >= LEAST_CONTRAST,
        "unsaid": got["unsaid"] == [],
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
    text = re.sub(r'<a href="[\w./-]*index.html">', "", text)  # to a page of the same result
    return {word for word in ("<script", "<link", "<img", "<iframe", "src=", "href=", "url(",
                              "@import") if word in text}


def check(pages):
    """{name: page}, all in all widths and colours."""
    for (name, text), found in zip(pages.items(), found_faults(list(pages.values()))):
        assert not links(text), (name, links(text))
        assert not found, (name, found)
