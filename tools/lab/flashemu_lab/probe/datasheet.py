# SPDX-License-Identifier: BSD-3-Clause
"""The page that says what a probed device is like: the datasheet that its maker did not print."""

from __future__ import annotations

from typing import Sequence

from markupsafe import Markup

from ..core.units import number
from ..measurement.schema import Measurement, Point
from ..report import html
from ..report.charts import Chart, Series, line_chart
from .findings import Found
from .tests import (behaviour, flashbench_open_units, forged, partial_pages, structure,
                    unit_crossings, unit_pairs, unit_reads, unit_size)

# Bytes of the usual allocation unit of a card, and the rows of -a without which nothing is said.
_USUAL_UNIT = 4 << 20
_ROWS_OF_READS = 6


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
        return f"All units that were tried stay fast when they are written {order}."
    if limit == 0:
        return f"It keeps no unit open that is written {order}."
    units = "one unit open that is" if limit == 1 else f"{limit} units open that are"
    return f"It keeps {units} written {order}; one more makes all of them slow."


def sentences(found: Found) -> list[str]:
    """What the measurements say, each sentence with what it follows from."""
    told = []
    link = structure.link_from(found.points)
    if link:
        told.append(f"A read costs {number(link[0] / 1e3)} us, and then the data come at "
                    f"{number(link[1] / 1e6)} MB/s (the line through reads of up to 64 KiB).")
    hidden = found.cache is not None
    if hidden:
        told.append("It has a write cache, so small writes " +
                    ("are seen with a flush behind each." if found.seen.flush else
                     "are seen when more data push them out." if found.seen.push else
                     "cannot be seen."))
    if unit_crossings.excesses(found.points) or unit_pairs.pairs(found.points):
        told.append(f"The allocation unit is {bytes_text(found.unit)} "
                    f"({unit_size.reason(found.points)})." if found.unit else
                    "No allocation unit shows: the place of a small write does not change how long "
                    "it takes." + (" Behind this cache, a log that takes all writes may hide it."
                               if found.seen.push else ""))
    else:
        told += _boundary_texts(found.points)
    if found.seen.push and found.open_linear is None and found.open_random is None:
        told.append("How many units it keeps open does not show through this cache.")
    told += _page_texts(found, hidden)
    for in_random_order, limit, order in ((False, found.open_linear, "in order"),
                                          (True, found.open_random, "in random order")):
        tried = limit is not None or not hidden and bool(
            flashbench_open_units.rows(found.points, in_random_order))
        told.append(_open_text(limit, tried, order))
    told += [_real_text(found), *_small_texts(found), *_memory_texts(found), *_work_texts(found),
             *_trim_texts(found)]
    return [text for text in told if text] or ["Nothing follows from these measurements."]


def _boundary_texts(points: Sequence[Point]) -> list[str]:
    """About a unit of which nothing but reads across multiples may tell."""
    step = unit_reads.step_from(points)
    if step is None:
        return ["No allocation unit shows: reads across multiples of all sizes take equally "
                "long."] if len(unit_reads.excesses(points)) >= _ROWS_OF_READS else []
    unit, more, before = step
    usual = f" or of {bytes_text(_USUAL_UNIT)}" if unit < _USUAL_UNIT else ""
    why = ", because reads do not tell whether several of these are one unit for writes" \
        if usual else ""
    return [f"The allocation unit is probably {bytes_text(unit)} (a read across a multiple of this "
            f"size takes at least {number(more / 1e3)} us longer than beside it, and across "
            f"smaller ones at most {number(before / 1e3)} us).",
            f"Partitions should begin at a multiple of {bytes_text(unit)}{usual}{why}."]


def _page_texts(found: Found, hidden: bool) -> list[str]:
    """About what is read and programmed as a whole."""
    told = []
    read, written = structure.page_read_from(found.points), structure.page_from(found.points)
    if read:
        told.append(f"It reads {bytes_text(read)} at a time (a read across a multiple of this size "
                    "takes longer).")
    together, rest_ns = partial_pages.of_reads(found.points)
    if together:
        told.append(f"A read fetches what is behind it as well, up to a multiple of "
                    f"{bytes_text(together)}, which takes up to {number(rest_ns / 1e3)} us.")
    end_ns = partial_pages.end_of_unit(found.points, found.unit) if found.unit else 0
    if end_ns:
        told.append(f"A read up to the end of a unit takes {number(end_ns / 1e3)} us longer.")
    tried = any(p.procedure == "seq-write" for p in found.points) and not hidden
    if tried and written:
        told.append(f"It programs {bytes_text(written)} at a time (commands of this size take "
                    "longest when they are shifted by half of it).")
    elif tried and not read:
        told.append("No page shows: shifted commands take as long as aligned ones.")
    return told


def _real_text(found: Found) -> str:
    points = found.points
    between = forged.bounds(points)
    if found.real is not None:
        kind, end = forged.kind(points), forged.module(points)
        behind = "is lost" if end is None else "overwrites something else" if end == found.real \
            else f"is lost up to {bytes_text(end)}, where it begins to overwrite something else"
        return (f"It is forged: it holds {bytes_text(found.real)} ({found.real} bytes), and what "
                f"is written behind them {behind} ({kind}). Everything else is about these bytes.")
    if between:
        return (f"It does not hold what it claims: what is written at {bytes_text(between[1])} is "
                f"lost or was changed, up to {bytes_text(between[0])} everything came back.")
    return "Its capacity is real: what was written in all parts of it came back." \
        if forged.tried(points) else ""


def _times(factor: float) -> str:
    return f"{number(factor)} times as fast"


def _small_texts(found: Found) -> list[str]:
    """About small writes, and where they are."""
    told = []
    if behaviour.scattered_times(found.points):
        told.append(f"Its map knows parts of {bytes_text(found.granule)} (scattered writes of this "
                    "size take longest when they are shifted by half of it)." if found.granule else
                    "No granule of the map shows: scattered writes take as long when they are "
                    "shifted.")
        if found.small_write:
            told.append(f"Scattered writes of up to {bytes_text(found.small_write)} go to a log; "
                        "larger ones take at least five times as long.")
    zone = behaviour.zone_from(found.points)
    if zone:
        told.append(f"Among the first units, {_units(zone)} written at another rate than the "
                    "others: a place for the FAT.")
    gain = behaviour.fat_gain(found.points)
    if gain and not 0.67 < gain < 1.5:
        told.append(f"Small writes in the first unit are {_times(gain)} as in the middle.")
    return told


def _units(zone: list[int]) -> str:
    return f"unit {zone[0]} is" if len(zone) == 1 else \
        f"units {', '.join(str(n) for n in zone)} are"


def _memory_texts(found: Found) -> list[str]:
    """About the write cache, flush, and the SLC cache."""
    told = []
    cache, slc, flush = (behaviour.cache_from(found.points), behaviour.slc_from(found.points),
                         behaviour.flush_cost(found.points))
    if cache:
        told.append(f"After a pause it takes {bytes_text(cache[0])} at {number(cache[1] / 1e6)} "
                    f"MB/s and goes on at {number(cache[2] / 1e6)} MB/s: a write cache, or a small "
                    "SLC cache.")
    elif any(p.procedure == "fill" for p in found.points):
        told.append("No write cache shows: a burst is as fast as what follows.")
    if flush and found.flushes:
        told.append(f"A flush behind a small write takes {number((flush[1] - flush[0]) / 1e6)} ms: "
                    "without it, data were acknowledged that were not in the flash yet.")
    elif flush:
        told.append("A flush takes no time.")
    if slc:
        told.append(f"The first {bytes_text(slc[0])} go in at {number(slc[1] / 1e6)} MB/s, and "
                    f"then it takes {number(slc[2] / 1e6)} MB/s: an SLC cache, or free blocks that "
                    "run out.")
        for ns, rate in behaviour.recovered_from(found.points):
            told.append(f"After {number(ns / 1e9)} s of pause it takes {number(rate / 1e6)} MB/s "
                        "again.")
    return told


def _work_texts(found: Found) -> list[str]:
    """About requests in flight, and pauses."""
    told = []
    for op in ("read", "write"):
        depth = behaviour.depth_from(found.points, op)
        if depth:
            told.append(f"Several {op}s in flight are no faster than one." if depth[0] == 1 else
                        f"With {depth[0]} {op}s in flight it is {_times(depth[1])} as with one.")
    gain = behaviour.rest_gain(found.points)
    if gain and gain > 1.3:
        told.append(f"After a pause of 10 s, scattered writes are {_times(gain)}: it uses pauses "
                    "to clean up" + (", or to empty its cache." if found.cache else "."))
    elif gain:
        told.append("A pause does not make scattered writes faster.")
    rates = [p.value for p in found.points if p.procedure == "seq-read"]
    if rates:
        told.append(f"It reads in order at up to {number(max(rates) / 1e6)} MB/s.")
    return told


_TRIM_READS = {"zeros": "zeros", "ones": "ones", "same": "the old data", "elsewhere":
               "data of another place", "other": "something else"}


def _trim_texts(found: Found) -> list[str]:
    reads, gain = behaviour.trim_reads(found.points), behaviour.trim_gain(found.points)
    if reads is None or gain is None:
        return []
    speed = f"scattered writes are {_times(gain)} afterwards" if gain > 1.2 else \
        "writes are no faster afterwards"
    return [f"After TRIM, reads give {_TRIM_READS[reads]}, and {speed}."]


def to_json(found: Found) -> dict[str, object]:
    """What was found, for programs; sizes in bytes, times in ns, rates in bytes a second."""
    points = found.points
    link, flush = structure.link_from(points), behaviour.flush_cost(points)
    cache, slc = behaviour.cache_from(points), behaviour.slc_from(points)
    reads, writes = (behaviour.depth_from(points, op) for op in ("read", "write"))
    together, rest_ns = partial_pages.of_reads(points)
    step = unit_reads.step_from(points)
    return {
        "overhead_ns": link and link[0], "bytes_per_s": link and link[1],
        "real_capacity": found.real, "forged": forged.kind(points),
        "wraps": forged.module(points) is not None if found.real else None,
        "module": forged.module(points),
        "read_rest": together and {"bytes": together, "ns": rest_ns} or None,
        "unit": found.unit, "unit_by_reads": step and step[0],
        "page": found.page, "open_linear": found.open_linear,
        "open_random": found.open_random, "granule": found.granule,
        "small_write": found.small_write, "zone": behaviour.zone_from(points) or None,
        "fat_gain": behaviour.fat_gain(points),
        "cache": cache and {"bytes": cache[0], "fast": cache[1], "slow": cache[2]},
        "flush_ns": flush and flush[1] - flush[0],
        "slc": slc and {"bytes": slc[0], "fast": slc[1], "slow": slc[2],
                        "after_rest": dict(behaviour.recovered_from(points))},
        "reads_in_flight": reads and {"depth": reads[0], "gain": reads[1]},
        "writes_in_flight": writes and {"depth": writes[0], "gain": writes[1]},
        "rest_gain": behaviour.rest_gain(points), "trim_gain": behaviour.trim_gain(points),
        "trim_reads": behaviour.trim_reads(points)}


def chart(title: str, x_name: str, x_labels: list[str], y_name: str,
          series: list[tuple[str, list[float | None]]]) -> str:
    """A picture with a line for each named series, None where it has no value."""
    values = [v for _, row in series for v in row if v is not None and v > 0]
    drawn = [Series(name, row, [f"{name}, {x}: {number(v) if v is not None else '-'} {y_name}"
                                for x, v in zip(x_labels, row)], i)
             for i, (name, row) in enumerate(series)]
    return line_chart(Chart(title, x_name, x_labels, y_name, drawn, True, min(values), max(values)))


def _figures(points: Sequence[Point]) -> list[str]:
    drawn = []
    reads = [(bs, ns / 1e3) for bs, ns in sorted(structure.reads(points).items())]
    if reads:
        drawn.append(chart("Reads by size", "size", [_short(n) for n, _ in reads], "us",
                           [("read", [t for _, t in reads])]))
    excess = sorted(unit_crossings.excesses(points).items())
    if excess:
        drawn.append(chart("Writes around multiples of a size", "size",
                           [_short(unit) for unit, _ in excess], "ms",
                           [("across", [max(e + t, 1.0) / 1e6 for _, (e, t) in excess]),
                            ("before and behind", [t / 1e6 for _, (_, t) in excess])]))
    for in_random_order in (False, True):
        rows = flashbench_open_units.rows(points, in_random_order)
        if rows:
            chunks = sorted({chunk for row in rows.values() for chunk in row})
            shown = [n for n in rows if n in (1, 2, 4, max(rows) - 1, max(rows))]
            order = "random order" if in_random_order else "order"
            drawn.append(chart(f"Open units, written in {order}", "command",
                               [_short(c) for c in chunks], "MB/s",
                               [(f"{n} open", [rows[n][c] / 1e6 if c in rows[n] else None
                                               for c in chunks]) for n in shown]))
    return drawn + _figures_of_habits(points)


def _figures_of_habits(points: Sequence[Point]) -> list[str]:
    drawn = []
    times = behaviour.scattered_times(points)
    if times:
        drawn.append(chart("Scattered writes", "size", [_short(bs) for bs in times], "ms",
                           [("at multiples of their size", [a / 1e6 for a, _ in times.values()]),
                            ("shifted by half of it",
                             [b / 1e6 if b else None for _, b in times.values()])]))
    for title, parts in behaviour.fills(points):
        drawn.append(chart(title, "up to", [_short(after + size) for after, size, _ in parts],
                           "MB/s", [("rate", [rate / 1e6 for _, _, rate in parts])]))
    for op, size in (("read", "4 KiB"), ("write", "64 KiB")):
        depths = sorted(behaviour.depth_times(points, op).items())
        if len(depths) > 1:
            drawn.append(chart(f"{op.capitalize()}s of {size} in flight", "requests in flight",
                               [str(n) for n, _ in depths], "requests/s",
                               [(op, [1e9 / ns for _, ns in depths])]))
    return drawn


def _short(count: int) -> str:
    """For an axis: "1.5M"."""
    for size, name in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if count >= size:
            return f"{number(count / size)}{name}"
    return str(count)


def _points(points: Sequence[Point]) -> Markup:
    rows = []
    for p in points:
        unit, scale = {"ns": ("us", 1e3), "1": ("times", 1.0)}.get(p.unit, ("MB/s", 1e6))
        rows.append([html.part("code", p.text()), f"{number(p.value / scale)} {unit}"])
    return html.table([("procedure and parameters", False), ("value", True)], rows)


def datasheet(m: Measurement, found: Found, notes: Sequence[str], command: str = "probe") -> str:
    """The whole page; `notes` say what was left out and why, and what the points leave open."""
    about = "; ".join(text for text in (", through ".join(text for text in (
        bytes_text(m.capacity) if m.capacity else "", m.host) if text), m.state) if text)
    return html.render(
        "datasheet.html", title=m.name or m.host or "A flash device", command=command, about=about,
        sentences=sentences(found), left=notes, made_by=m.made_by,
        figures=[Markup(drawn) for drawn in _figures(m.points)], points=_points(m.points),
        count=len(m.points))
