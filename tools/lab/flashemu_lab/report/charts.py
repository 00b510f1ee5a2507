# SPDX-License-Identifier: BSD-3-Clause
"""Charts: what to draw as plain values in, a picture out.

A picture is 460 units wide.  That is a column of a page on a desk and the width of a phone, so
letters are never too small to read.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Callable, Sequence

from ..core.units import NARROW_SPACE, alike, number
from . import svg

WIDTH = 460.0
_LEFT, _RIGHT, _BOTTOM, _PLOT = 52.0, 12.0, 44.0, 190.0
_SLOPE = 35.0  # degrees, of names that have no room side by side
_TITLE = 56    # letters of a title that one line has room for
_LINE = 17.0   # from one line of a title to the next
_SMALL = 7.0   # how wide a small letter is on a phone, which draws it larger


@dataclass(frozen=True)
class Series:
    """One value for each place on the x axis, or None; `tips` tell them to the pointer.  `spreads`
    has the least and the largest value with other parameters for each place, or None."""

    name: str
    values: list[float | None]
    tips: list[str]
    colour: int
    theory: bool = False
    spreads: Sequence[tuple[float, float] | None] = ()


@dataclass(frozen=True)
class Chart:
    """A chart with axes.  `top` and `least` are the largest and the smallest value of the scale,
    so that neighbouring charts can have the same one."""

    title: str
    x_name: str
    x_labels: list[str]
    y_name: str
    series: list[Series]
    log: bool
    least: float
    top: float


def under(title: str, height: float, parts: list[str], name: str = "") -> str:
    """The picture of parts that begin below a title of one line.  A longer title takes more lines,
    and moves them down.  `name` stands for the title where there is none."""
    lines = textwrap.wrap(title, _TITLE)
    down = _LINE * max(len(lines) - 1, 0)
    if down:
        parts = [f'<g transform="translate(0 {down:.0f})">', *parts, "</g>"]
    heads = [svg.text(8, 16 + _LINE * i, line, "head") for i, line in enumerate(lines)]
    return svg.picture(WIDTH, height + down, title or name, heads + parts)


def _row_height(names: list[str], wide: float) -> float:
    """Where a name takes two lines, rows stand apart so that its lines belong together."""
    return 26.0 if all(svg.text_width(name) <= wide for name in names) else 33.0


def _row_name(x: float, y: float, words: str, wide: float) -> list[str]:
    """The name of a row, which ends at x and has `wide` units: in two small lines if it must."""
    if svg.text_width(words) <= wide:
        return [svg.text(x, y, words, "", "end")]
    lines = textwrap.wrap(words, int(wide / _SMALL), max_lines=2, placeholder="\u2026")
    return [svg.text(x, y - 6 + 13 * i, line, "small", "end") for i, line in enumerate(lines)]


def _legend(series: list[Series], y: float, bars: bool) -> tuple[list[str], float]:
    """The names of the series in rows, and where the rows end."""
    if len(series) < 2:
        return [], y
    parts = []
    x = _LEFT
    theories = [one for one in series if one.theory]
    for one in [one for one in series if not one.theory] + theories[:1]:
        name = "theory" if one.theory else one.name
        width = 22 + svg.text_width(name) + 12
        if x + width > WIDTH - _RIGHT and x > _LEFT:
            x = _LEFT
            y += 17
        if one.theory:
            parts.append(svg.line(x, y - 4, x + 16, y - 4, "theory"))
        elif bars:
            parts.append(svg.box(x + 3, y - 9, 11, 11, f"f{one.colour} key"))
        else:
            parts.append(svg.mark(one.colour, x + 8, y - 4, f"f{one.colour} key"))
        parts.append(svg.text(x + 21, y, name))
        x += width
    return parts, y + 17


def _labels(measured: list[Series]) -> list[list[str]]:
    """What stands at the bars of each series: numbers alike, or short ones if one is long."""
    every = [v for one in measured for v in one.values]
    texts = iter(["" if v is None else _short(v) for v in every] if
                 any(v is not None and abs(v) >= 1e5 for v in every) else alike(every))
    return [[next(texts) for _ in one.values] for one in measured]


def _short(value: float) -> str:
    """A number where there is room for six digits, at an axis or a bar: 200 000 is 200 k."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(unit, 1e5):
            return f"{number(value / unit)}{NARROW_SPACE}{name}"
    return number(value)


def _ticks(chart: Chart) -> list[float]:
    if chart.log and chart.least > 0:
        return svg.log_ticks(chart.least, chart.top)
    return svg.linear_ticks(chart.top)


def _frame(chart: Chart, bars: bool) -> tuple[list[str], Callable[[float], float], float]:
    """Legend, grid and labels; the y of a value; and the y of the axis."""
    parts, top = _legend(chart.series, 36, bars)
    parts.append(svg.text(8, top, chart.y_name, "faint small"))
    top += 12
    ticks = _ticks(chart)
    log = chart.log and chart.least > 0
    low, high = (math.log(ticks[0]), math.log(ticks[-1])) if log else (ticks[0], ticks[-1])

    def place(value: float) -> float:
        at = math.log(value) if log and value > 0 else (low if log else value)
        return top + _PLOT * (1 - (at - low) / (high - low))

    sparse = log and len(ticks) > 8
    for tick in ticks:
        if sparse and abs(math.log10(tick) - round(math.log10(tick))) > 1e-6:
            continue
        parts.append(svg.line(_LEFT, place(tick), WIDTH - _RIGHT, place(tick), "grid"))
        parts.append(svg.text(_LEFT - 6, place(tick) + 4, _short(tick), "faint", "end"))
    base = top + _PLOT
    parts.append(svg.line(_LEFT, base, WIDTH - _RIGHT, base, "axis"))
    parts += _x_labels(chart, base)
    return parts, place, base


def _slot(chart: Chart) -> float:
    return (WIDTH - _LEFT - _RIGHT) / len(chart.x_labels)


def _x_labels(chart: Chart, base: float) -> list[str]:
    """As many labels as there is room for, and the name of the axis."""
    slot = _slot(chart)
    widest = max(svg.text_width(label) for label in chart.x_labels) + 6
    every = max(1, math.ceil(widest / slot))
    parts = [svg.text(_LEFT + (i + 0.5) * slot, base + 17, label, "", "middle")
             for i, label in enumerate(chart.x_labels) if i % every == 0]
    parts.append(svg.text((WIDTH + _LEFT - _RIGHT) / 2, base + 36, chart.x_name, "faint",
                          "middle"))
    return parts


def _whiskers(one: Series, x: Callable[[int], float], place: Callable[[float], float]) -> list[str]:
    """A line from the least to the largest value with other parameters."""
    return [svg.line(x(i), place(spread[0]), x(i), place(spread[1]), "axis")
            for i, spread in enumerate(one.spreads) if spread]


def line_chart(chart: Chart) -> str:
    """A line for each series, with a mark at each value; theory is dashed, without marks."""
    parts, place, base = _frame(chart, False)
    slot = _slot(chart)
    lines: list[str] = []
    marks: list[str] = []
    for one in sorted(chart.series, key=lambda s: s.theory):
        points = [(_LEFT + (i + 0.5) * slot, place(v), tip)
                  for i, (v, tip) in enumerate(zip(one.values, one.tips)) if v is not None]
        kind = "theory" if one.theory else f"line k{one.colour}"
        lines.append(svg.path([(x, y) for x, y, _ in points], kind))
        lines += _whiskers(one, lambda i: _LEFT + (i + 0.5) * slot, place)
        if not one.theory:
            marks += [svg.mark(one.colour, x, y, f"f{one.colour}", tip) for x, y, tip in points]
    parts += lines + marks
    return under(chart.title, base + _BOTTOM, parts, chart.y_name)


def bar_chart(chart: Chart) -> str:
    """Bars side by side; theory is a line across the bar of its colour."""
    parts, place, base = _frame(chart, True)
    measured = [s for s in chart.series if not s.theory]
    slot = _slot(chart)
    width = min(slot * 0.8 / len(measured), 46)
    labels = _labels(measured)
    for n, one in enumerate(measured):
        shift = (n - len(measured) / 2) * width
        theory = next((s for s in chart.series if s.theory and s.colour == one.colour), None)
        for i, (value, tip) in enumerate(zip(one.values, one.tips)):
            x = _LEFT + (i + 0.5) * slot + shift
            if value is not None:
                top = place(value)
                parts.append(svg.box(x + 0.75, top, width - 1.5, base - top, f"f{one.colour}", tip))
                words = labels[n][i]
                if svg.text_width(words, 11) <= width:
                    spread = one.spreads[i] if one.spreads else None
                    above = min(top, place(spread[1])) if spread else top
                    parts.append(svg.text(x + width / 2, above - 4, words, "small", "middle"))
            expected = theory.values[i] if theory else None
            if expected is not None:
                y = place(expected)
                parts.append(svg.line(x, y, x + width, y, "theory"))
        parts += _whiskers(one, lambda i: _LEFT + (i + 0.5) * slot + shift + width / 2, place)
    return under(chart.title, base + _BOTTOM, parts, chart.y_name)


def heat_map(title: str, x_name: str, x_labels: list[str], y_name: str, y_labels: list[str],
             values: Sequence[Sequence[float | None]], tips: list[list[str]], log: bool,
             say: str = "", mark: int | None = None, what: str = "") -> str:
    """A cell for each pair; the larger, the fuller its colour.  values[row][column].  The row
    `mark` has a frame.  `say` is the format of all numbers in cells; without one they are alike.
    `what` names the values in a legend, with the least and the most.  Where numbers stand in the
    cells, each column has its name, if need be on a slope."""
    left = min(max(svg.text_width(label, 13) for label in y_labels) + 18, 225)  # as on a phone
    known = [v for row in values for v in row if v is not None and (v > 0 or not log)]
    texts = iter([say.format(v) for v in known] if say else alike(known))

    def scale(value: float) -> float:
        return math.log(value) if log else value

    low, high = (scale(min(known)), scale(max(known))) if known else (0.0, 1.0)
    cell = (WIDTH - left - _RIGHT) / len(x_labels)
    height = 28.0 if len(y_labels) <= 8 else 21.0 if len(y_labels) <= 20 else 16.0
    parts = [svg.text(8, 36, y_name, "faint small")]
    if what and known:
        parts += _heat_legend(what, alike([min(known), max(known)]))
    top = 44.0
    for r, row in enumerate(values):
        y = top + r * height
        parts.append(svg.text(left - 8, y + height / 2 + 4, y_labels[r], "", "end"))
        for c, value in enumerate(row):
            x = left + c * cell
            if value is None or (log and value <= 0):
                parts.append(svg.box(x, y, cell - 1.5, height - 1.5, "none", tips[r][c]))
                continue
            share = (scale(value) - low) / (high - low) if high > low else 0.5
            parts.append(svg.box(x, y, cell - 1.5, height - 1.5, "heat", tips[r][c],
                                 _opacity(share)))
            words = next(texts)
            if svg.text_width(words, 11) < cell - 3 and height > 20:
                parts.append(svg.text(x + cell / 2 - 0.75, y + height / 2 + 4,
                                      words, "small quiet", "middle"))
    if mark is not None:
        parts.append(svg.box(left - 2, top + mark * height - 2, WIDTH - left - _RIGHT + 2.5,
                             height + 2.5, "mark key"))
    base = top + len(y_labels) * height
    every = max(1, math.ceil((max(svg.text_width(t) for t in x_labels) + 6) / cell))
    if every > 1 and cell >= 14:
        names, height = _names_below(x_labels, [left + (i + 0.5) * cell for i in range(
            len(x_labels))], base)
        return under(title, base + height, parts + names)
    parts += [svg.text(left + (i + 0.5) * cell, base + 15, label, "", "middle")
              for i, label in enumerate(x_labels) if i % every == 0]
    parts.append(svg.text((left + WIDTH - _RIGHT) / 2, base + 34, x_name, "faint", "middle"))
    return under(title, base + 42, parts)


def _opacity(share: float) -> str:
    """Of a cell that has this share of the way from the least to the largest value."""
    return f' fill-opacity="{svg.PALE + (svg.FULL - svg.PALE) * share:.3f}"'


def _heat_legend(what: str, ends: list[str]) -> list[str]:
    """What the colours of a map mean, from its right edge on: the pale end, and the full one."""
    parts = []
    x = WIDTH - _RIGHT
    for words, share in zip(reversed(ends), (1.0, 0.0)):
        x -= svg.text_width(words, 11)
        parts.append(svg.text(x, 36, words, "faint small"))
        x -= 16
        parts.append(svg.box(x, 27, 11, 11, "heat key", "", _opacity(share)))
        x -= 10
    parts.append(svg.text(x, 36, what, "faint small", "end"))
    return parts


def _names_below(labels: list[str], places: list[float], base: float) -> tuple[list[str], float]:
    """Names of columns on a slope, or upright if one would leave the picture; and the height that
    they need.  A phone draws letters that are larger than here."""
    wide = [1.15 * svg.text_width(label) for label in labels]
    along = math.cos(math.radians(_SLOPE))
    slope = _SLOPE if all(w * along < x for w, x in zip(wide, places)) else 90.0
    names = [svg.sloping(x + (4 if slope == 90 else 0), base + (8 if slope == 90 else 14), label,
                         slope) for x, label in zip(places, labels)]
    return names, 24 + max(wide) * math.sin(math.radians(slope))


def share_chart(title: str, rows: list[tuple[str, float]], of: str = "of the variation") -> str:
    """A bar for each share of 1; `of` tells the pointer what it is a share of."""
    wide = min(max([svg.text_width(name) for name, _ in rows] + [60]), 196)
    left = wide + 14
    parts: list[str] = []
    room = WIDTH - left - 6 - svg.text_width("100.0 %") - _RIGHT
    height = _row_height([name for name, _ in rows], wide)
    for i, (name, share) in enumerate(rows):
        words = f"{100 * share:.1f} %"
        y = 30 + i * height
        parts += _row_name(left - 8, y + 14, name, wide)
        parts.append(svg.box(left, y, max(room * share, 1), 19, "f0", f"{name}: {words} {of}"))
        parts.append(svg.text(left + room * share + 6, y + 14, words))
    return under(title, 30 + len(rows) * height + 6, parts)


@dataclass(frozen=True)
class Interval:
    """A value between a smaller and a larger one, all above 0; `tip` tells them to the pointer."""

    name: str
    least: float
    middle: float
    most: float
    tip: str


def interval_chart(title: str, x_name: str, rows: Sequence[Interval]) -> str:
    """A bar from the least to the largest value of each row with a line at the middle one, on a
    logarithmic scale.  The first row has a colour of its own: it is the one that was asked for."""
    wide = min(max(svg.text_width(row.name) for row in rows), 196)
    left, top, height = wide + 14, 30.0, _row_height([row.name for row in rows], wide)
    ticks = svg.log_ticks(min(row.least for row in rows), max(row.most for row in rows))
    low, high = math.log(ticks[0]), math.log(ticks[-1])
    base = top + height * len(rows)

    def place(value: float) -> float:
        return left + (WIDTH - _RIGHT - 14 - left) * (math.log(value) - low) / (high - low)

    parts: list[str] = []
    sparse = len(ticks) > 7
    for tick in ticks:
        if sparse and abs(math.log10(tick) - round(math.log10(tick))) > 1e-6:
            continue
        parts.append(svg.line(place(tick), top, place(tick), base, "grid"))
        parts.append(svg.text(place(tick), base + 17, _short(tick), "faint", "middle"))
    for i, row in enumerate(rows):
        y = top + height * i
        parts += _row_name(left - 8, y + 17, row.name, wide)
        parts.append(svg.box(place(row.least), y + 5, place(row.most) - place(row.least), 16,
                             f"f{1 if i else 0}", row.tip))
        parts.append(svg.line(place(row.middle), y + 2, place(row.middle), y + 24, "middle"))
    parts.append(svg.text((left + WIDTH - _RIGHT) / 2, base + 36, x_name, "faint", "middle"))
    return under(title, base + 44, parts)
