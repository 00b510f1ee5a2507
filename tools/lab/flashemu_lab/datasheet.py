# SPDX-License-Identifier: BSD-3-Clause
"""The page that says what a probed device is like: the datasheet that its maker did not print."""

from __future__ import annotations

from html import escape
from typing import Sequence

from . import probing, svg
from .charts import Chart, Series, line_chart
from .errors import number
from .measurement import Measurement, Point
from .page import _STYLE as STYLE
from .probing import Found


def bytes_text(count: int) -> str:
    """Such as "4 MiB" or "1.5 MiB"."""
    for size, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{number(count / size)} {name}"
    return f"{count} bytes"


def _open_text(limit: int | None, tried: bool, order: str) -> str:
    if not tried:
        return ""
    if limit is None:
        return f"It keeps all units fast that were tried, when they are written {order}."
    if limit == 0:
        return f"It keeps no unit open that is written {order}."
    units = "one unit" if limit == 1 else f"{limit} units"
    return f"It keeps {units} open that are written {order}; one more makes all of them slow."


def sentences(found: Found) -> list[str]:
    """What the measurements say, each sentence with what it follows from."""
    told = []
    link = probing.link_from(found.points)
    if link:
        told.append(f"A read costs {number(link[0] / 1e3)} us, and then the data come at "
                    f"{number(link[1] / 1e6)} MB/s (the line through reads of 512 bytes to "
                    "64 KiB).")
    if probing.excesses(found.points):
        told.append(f"The allocation unit is {bytes_text(found.unit)} (small writes across its "
                    "multiples take longer, others do not)." if found.unit else
                    "No allocation unit shows: small writes take as long wherever they are.")
    if any(p.procedure == "seq-write" for p in found.points):
        told.append(f"It programs {bytes_text(found.page)} at a time (commands of this size take "
                    "longest when they are shifted by half of it)." if found.page else
                    "No page shows: shifted commands take as long as aligned ones.")
    for in_random_order, limit, order in ((False, found.open_linear, "in order"),
                                          (True, found.open_random, "in random order")):
        tried = any(p.procedure == "flashbench-open-au"
                    and dict(p.parameters)["random"] == in_random_order for p in found.points)
        text = _open_text(limit, tried, order)
        if text:
            told.append(text)
    return told or ["Nothing follows from these measurements."]


def _chart(title: str, x_name: str, x_labels: list[str], y_name: str,
           series: list[tuple[str, list[float | None]]]) -> str:
    values = [v for _, row in series for v in row if v is not None]
    drawn = [Series(name, row, [f"{name}, {x}: {number(v) if v is not None else '-'} {y_name}"
                                for x, v in zip(x_labels, row)], i)
             for i, (name, row) in enumerate(series)]
    return line_chart(Chart(title, x_name, x_labels, y_name, drawn, True, min(values), max(values)))


def _figures(points: Sequence[Point]) -> list[str]:
    drawn = []
    reads = [(int(dict(p.parameters)["bs"]), p.value / 1e3) for p in points
             if p.procedure == "request" and dict(p.parameters)["op"] == "read"]
    if reads:
        drawn.append(_chart("Reads by size", "size", [_short(n) for n, _ in reads], "us",
                            [("read", [t for _, t in reads])]))
    excess = sorted(probing.excesses(points).items())
    if excess:
        drawn.append(_chart("Writes of 8 KiB around multiples of a size", "size",
                            [_short(unit) for unit, _ in excess], "ms",
                            [("across", [max(e + t, 1.0) / 1e6 for _, (e, t) in excess]),
                             ("before and behind", [t / 1e6 for _, (_, t) in excess])]))
    for in_random_order in (False, True):
        rows: dict[int, dict[int, float]] = {}
        for p in points:
            how = dict(p.parameters)
            if p.procedure == "flashbench-open-au" and how["random"] == in_random_order:
                rows.setdefault(int(how["open"]), {})[int(how["chunk"])] = p.value / 1e6
        if rows:
            chunks = sorted({chunk for row in rows.values() for chunk in row})
            shown = [n for n in rows if n in (1, 2, 4, max(rows) - 1, max(rows))]
            order = "random order" if in_random_order else "order"
            drawn.append(_chart(f"Open units, written in {order}", "command",
                                [_short(c) for c in chunks], "MB/s",
                                [(f"{n} open", [rows[n].get(c) for c in chunks]) for n in shown]))
    return drawn


def _short(count: int) -> str:
    """For an axis: "1.5M"."""
    for size, name in ((1 << 20, "M"), (1 << 10, "K")):
        if count >= size:
            return f"{number(count / size)}{name}"
    return str(count)


def _rows(points: Sequence[Point]) -> str:
    rows = []
    for p in points:
        unit, scale = ("us", 1e3) if p.unit == "ns" else ("MB/s", 1e6)
        rows.append(f"<tr><td><code>{escape(p.text())}</code></td>"
                    f'<td class="n">{number(p.value / scale)} {unit}</td></tr>')
    return "\n".join(rows)


def datasheet(m: Measurement, found: Found, notes: Sequence[str]) -> str:
    """The whole page; `notes` say what was left out and why."""
    told = sentences(found)
    name = m.name or m.host or "A flash device"
    more = "".join(f"<li>{escape(s)}</li>" for s in told[1:])
    left = "".join(f'<p class="notes">{escape(n)}</p>' for n in notes)
    figures = "\n".join(_figures(m.points))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(name)}</title><style>{STYLE}{svg.STYLE}</style></head><body><main>"
        f'<p class="from">flashemu-lab probe</p><h1>{escape(name)}</h1>'
        f'<p class="question">{escape(bytes_text(m.capacity))}'
        f'{escape(", through " + m.host if m.host else "")}'
        f'{escape("; " + m.state if m.state else "")}</p>'
        f'<section class="answer"><p>{escape(told[0])}</p><ul>{more}</ul></section>{left}'
        f'<h2>Figures</h2><div class="figures">{figures}</div>'
        f'<h2>All {len(m.points)} points</h2><div class="scroll rows"><table><thead><tr>'
        '<th>procedure and parameters</th><th class="n">value</th></tr></thead><tbody>\n'
        f"{_rows(m.points)}\n</tbody></table></div>"
        f'<p class="notes">{escape(m.made_by)}. <code>flashemu verify PROFILE --against</code> '
        "compares a profile with these points.</p></main></body></html>\n")
