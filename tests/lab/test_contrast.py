#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a page shows can be told from what is behind it: computed from the styles of all pages.

WCAG 2.1 has for level AA a contrast of 4.5 for text, and of 3 for marks that mean something and for
the edges of controls.  Both themes of a style are computed, and each rule of it that has a colour.
"""

import os
import re

from flashemu_lab_bench import TOP, read
from flashemu_script import run

from flashemu_lab.report import html, svg

TEXT, MARK = 4.5, 3.0


def of_the_lab():
    return re.search(r"<style>(.*?)</style>", html.render(
        "page.html", name="n", title="t", question="", sentences=[], folded=[], figure="", parts=[]),
        re.S)[1]


# {name: (the style, what may be behind anything, what only parts and decorates)}
STYLES = {
    "laboratory": (of_the_lab(), ("paper", "soft"), ("grid",)),
    "web": (read(os.path.join(TOP, "tools/web/page.css")), ("paper", "soft"), ("line", "free")),
    "report": (read(os.path.join(TOP, "tools/flashemu/report/report.css")), ("page",), ("grid",)),
}
# Selectors of text whose colour is a `fill`.
DRAWN_TEXT = re.compile(r"\bsvg (?:text|\.faint)\b")


def light(colour):
    """The relative luminance of "#rgb" or "#rrggbb"."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(share * x for share, x in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(a, b):
    low, high = sorted((light(a), light(b)))
    return (high + 0.05) / (low + 0.05)


def mixed(colour, opacity, behind):
    """A colour that lets shine through what is behind it."""
    pairs = zip(bytes.fromhex(colour[1:]), bytes.fromhex(behind[1:]))
    return "#" + bytes(round(opacity * a + (1 - opacity) * b) for a, b in pairs).hex()


def themes(style):
    """The variables in the light and in the dark."""
    found = [dict(re.findall(r"--([\w-]+):(#[0-9a-fA-F]{3,6})", block))
             for block in re.findall(r":root\{([^}]*)\}", style)]
    return found[0], {**found[0], **found[1]}


def rules(style):
    """(selector, {property: the variable that it takes}) of each rule behind the variables."""
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", style):
        if ":root" in selector:
            continue
        taken = {}
        for name, value in re.findall(r"([\w-]+):([^;]+)", body):
            if variable := re.search(r"var\(--([\w-]+)\)", value):
                taken[name] = variable[1]
        if taken:
            yield selector.strip().splitlines()[-1], taken


def pale(style, behind, decoration):
    """(theme, selector, property, contrast) of each colour that cannot be told."""
    found = []
    for theme, colours in zip(("light", "dark"), themes(style)):
        for selector, taken in rules(style):
            own = taken.get("background")
            for name, variable in taken.items():
                is_text = name == "color" or name == "fill" and DRAWN_TEXT.search(selector)
                if not is_text and variable in (*behind, *decoration):
                    continue
                grounds = [own] if is_text and own else behind
                least = min(contrast(colours[variable], colours[g]) for g in grounds)
                if least < (TEXT if is_text else MARK):
                    found.append((theme, selector, name, round(least, 2)))
    return found


def test_every_colour_can_be_told():
    for name, (style, behind, decoration) in STYLES.items():
        assert len(list(rules(style))) > 10, name
        assert pale(style, behind, decoration) == [], (name, pale(style, behind, decoration))


def test_a_pale_colour_is_noticed():
    """The measurement itself, in each theme: text, a mark, and text on a ground of its own."""
    style = (":root{--ink:#777;--mark:#949494;--paper:#fff}"
             "@media(x){:root{--ink:#aaa;--mark:#666;--paper:#000}}"
             "p{color:var(--ink)}i{background:var(--mark)}b{background:var(--mark);color:var(--ink)}")
    # by hand: #777 has 4.48 on white, #666 3.66 on black; #949494 has 3.03 on white
    assert pale(style, ("paper",), ()) == [
        ("light", "p", "color", 4.48), ("light", "b", "color", 1.48), ("dark", "b", "color", 2.47)]
    assert abs(contrast("#000", "#ffffff") - 21) < 1e-9


def test_numbers_on_a_heat_map():
    """The ink of a number on the palest and on the fullest cell, and on those between."""
    for colours in (svg.LIGHT, svg.DARK):
        for step in range(11):
            opacity = svg.PALE + (svg.FULL - svg.PALE) * step / 10
            cell = mixed(colours["heat"], opacity, colours["paper"])
            assert contrast(colours["ink"], cell) >= TEXT, (step, cell)
        assert contrast(mixed(colours["heat"], svg.FULL, colours["paper"]), colours["paper"]) >= MARK


def test_the_blocks_of_a_chip():
    """All that a block of the map may hold can be told from an empty one."""
    for colours in themes(STYLES["web"][0]):
        for name in ("valid", "stale", "spare", "gone", "flash", "open", "mark", "edge"):
            for behind in ("free", "paper"):
                assert contrast(colours[name], colours[behind]) >= (3 if name != "edge" else 2.8), (
                    name, behind, colours)


def test_pictures_on_white():
    """Those of the tool, which has no variables."""
    for name in ("tools/flashemu/align/align_svg.c", "tools/flashemu/replay/wear_svg.c"):
        found = set(re.findall(r'"(#[0-9a-f]{6})"', read(os.path.join(TOP, name))))
        assert found, name
        for colour in found - {"#9ec5e8"}:  # a spare block has a frame
            assert contrast(colour, "#ffffff") >= MARK, (name, colour)


run(globals())
