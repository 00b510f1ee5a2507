# SPDX-License-Identifier: BSD-3-Clause
"""What a fit leaves behind: the profile, its page, and the same as JSON.

Every number of the profile says where it comes from: fitted, with an interval; chosen, with the
other values that are as good; not identifiable from these data; or assumed.  What decides where a
partition should begin, or how many units are open, is never called found if no point speaks about
it: then it is "taken from NAME, not measured", or "assumed, not measured" if no shipped device has
the same.  `flashemu align` looks for these words.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields
from itertools import count
from typing import Callable, Mapping, Sequence

from markupsafe import Markup

from ..core.text import listed
from ..core.units import number
from ..measurement.schema import Measurement, Point
from ..probe import next_step, speaking
from ..probe.datasheet import bytes_text, chart
from ..report import html
from ..report.charts import share_chart
from ..report.page import document, grid
from . import rows_in_order, rules
from .curves import curves
from .fitting import Errors, Fitted, GOOD_MEDIAN, GOOD_SHARE, Judged, summed
from .kinds import far, off_text
from .model import Structure, times_of
from .search import kind

# Of the kinds of request that a profile misses, how many are named.
_MOST_FAR = 3
# Percents: within which of them points are counted for the figure.
_LIMITS = (1, 2, 5, 10, 20, 50)
# The keys whose value is a member of Structure with another name.
_NAMED = {
    "nand.page_size": "page", "nand.page_parts": "parts", "ftl.type": "strategy",
    "ftl.unit_size": "unit", "ftl.group_units": "group", "ftl.scattered_policy:stay": "stay",
    "ftl.scattered_policy:fewest": "hot", "ftl.random_record": "record",
    "ftl.zone_units:start": "zone_start", "ftl.map_region": "region", "cache.size": "cache",
    "cache.write_behind": "behind", "ftl.tail_align": "tail", "link.max_transfer": "limit",
    "nand.blocks_per_plane": "spare", "ftl.slc_run": "run"}
_MEMBERS = {member.name for member in fields(Structure)}
_BYTES = ("page", "unit", "random_log", "record", "small_write", "region", "cache", "behind",
          "limit", "run")
_ASSUMED = {
    "device.used": "assumed: written all over before",
    "nand.endurance": "assumed: no test wears a block out",
    "nand.cell": "assumed; all pages have one time here, so it does not show",
    "nand.pages_per_block": "derived: a unit is as few blocks as possible",
    "ftl.small_pace": "assumed: means do not show it, and an SD card may be busy for 250 ms only",
    "ftl.small_join": "assumed, or of what probe measured the nearer one of both",
    "nand.slc_tR": "assumed: as nand.tR",
    "ftl.slc_mode": "assumed: blocks set aside",
    "ftl.slc_blocks": "assumed: no test of a fit fills the cache",
    "device.discard": "measured: it took TRIM",
    "link.type": "assumed from link.max_transfer; the keys below decide",
    "link.queue_depth": "assumed: one request was in flight"}
# What benchmarks do on a region.
_LOADS = ("load", "load-latency", "fio-rate", "fio-latency")
# An id of [fidelity] for each of these, if it is about the beginning of the device.
_ROWS = ("seq-read", "seq-write")


# --- the profile ---

def profile(f: Fitted, m: Measurement, source: str, made_by: str) -> str:
    """The profile as an INI file; `source` is how the measurement is called."""
    return profile_text(f, m, source, made_by, _left_open(f, m),
                        lambda key: provenance(f, m, key, source), _fidelity(f, m))


def profile_text(f: Judged, m: Measurement, source: str, made_by: str, notes: Sequence[str],
                 why: Callable[[str], str], rows: Sequence[str]) -> str:
    """The INI file of any result: `notes` stand in front of everything, `why` says where a key
    comes from, and `rows` are those of [fidelity]."""
    keys, few, seen = f.keys(), next_step.too_few(m), set()
    model = (m.name or f"fitted to {source}").replace("\n", " ")[:60]
    lines = [f"; {model}, fitted to {source} by {made_by}:",
             *(f"; {line}" for line in (*notes, sentence(f))),
             *sections({"device.model": model, **keys}), "", "[provenance]"]
    for key in keys:
        main, _, detail = key.partition(":")
        lines.append((f"    {detail}: " if main in seen else f"{main} = ") + why(key))
        seen.add(main)
    lines += [*([f"figures = {few}"] if few else []), *worst_line(f), "errors = " + sentence(f)]
    return "\n".join([*lines, *(["", "[fidelity]", *rows] if rows else [])]) + "\n"


def sections(keys: Mapping[str, str]) -> list[str]:
    """Lines of an INI file with these "SECTION.KEY" and values; an empty one before a section."""
    lines, section = [], ""
    for key, value in with_details(keys).items():
        name, _, word = key.partition(".")
        if name != section:
            lines += ["", f"[{name}]"]
            section = name
        lines.append(f"{word} = {value}")
    return lines


def with_details(keys: Mapping[str, str]) -> dict[str, str]:
    """The same, with "SECTION.KEY:NAME" in the value of "SECTION.KEY", which stands before it."""
    whole: dict[str, str] = {}
    for key, value in keys.items():
        main, _, name = key.partition(":")
        piece = f"{name}:{value}" if name else value
        whole[main] = f"{whole[main]},{piece}" if main in whole else piece
    return whole


def provenance(f: Fitted, m: Measurement, key: str, source: str) -> str:
    """Where a number comes from."""
    if key == "device.capacity":
        assumed = rules.capacity(m, curves(m.points))[1]
        return "assumed: what flashbench -a went up to" if assumed else f"{source}: its capacity"
    if key == "nand.blocks_per_plane" and f.structure.strategy != "page":
        return "derived: the capacity, the open units and the logs"
    if key == "ftl.rest_align":
        return f"{source}: what explains best how long reads at multiples take"
    if key in _ASSUMED:
        return _ASSUMED[key]
    if why := untold(f, m, key):
        return f"taken from {f.taken[key]}, not measured" if key in f.taken else \
            f"assumed, not measured: {why}"
    if member := _member(key):
        others = f.as_good.get(member)
        if member == "strategy":
            return f"fitted to {source}: better than the other candidates, if there were others"
        if others is None:
            return "assumed: no other value was tried"
        if not others:
            return f"fitted to {source}: no other value that was tried is as good" + \
                _end_of(f, m, key)
        told = listed([_shown(member, value) for value in others])
        return f"not identifiable from these data: {told} would be as good; of those one is taken"
    factor = f.intervals.get(key)
    return f"fitted to {source}: within a factor of {factor:.3g} (about 95 %)" if factor else \
        "not identifiable from these data: a value that does no harm"


# What decides how fast several open units are, and whether random order tells it.
_OPEN = {"ftl.open_linear": False, "ftl.open_random": True, "ftl.open_units": True,
         "ftl.random_log": True, "ftl.random_record": True}
_SIZES = ("nand.page_size", "ftl.unit_size")


def _measured(f: Fitted, m: Measurement, key: str) -> tuple[int, speaking.Sizes | None]:
    """The page or the unit that the device shows, and the sizes about which points speak."""
    told = f.speaks or speaking.told(m.points)
    s = f.structure
    return (s.page, told.page) if key == "nand.page_size" else (s.unit * s.group, told.unit)


def untold(f: Fitted, m: Measurement, key: str) -> str:
    """Why a number of the structure was not measured; "" if it was, or if the key is no such
    number."""
    if key in _OPEN and f.structure.strategy == "segment":
        told = f.speaks or speaking.told(m.points)
        spilled = key == "ftl.random_log" and f.structure.spills    # order shows what these take
        if spilled or (told.open_random if _OPEN[key] else told.open_linear):
            return ""
    elif key in _SIZES:
        size, sizes = _measured(f, m, key)
        return "" if sizes is None or sizes.has(size) else \
            f"beyond {bytes_text(sizes.least)} to {bytes_text(sizes.most)}, which was measured"
    usual = _usual(f.structure, _member(key))
    if usual and not rows_in_order.shows_random_order(m.points):
        return f"nothing was written in random order, and {usual}"
    return ("the measurement does not show it" if key in _OPEN and f.structure.strategy == "segment"
            else "")


def _end_of(f: Fitted, m: Measurement, key: str) -> str:
    """What a size at an end of what was measured leaves open."""
    if key not in _SIZES:
        return ""
    size, sizes = _measured(f, m, key)
    return "" if sizes is None else "; nothing larger was measured" if size == sizes.most else \
        "; nothing smaller was measured" if size == sizes.least else ""


def _not_measured(f: Fitted, m: Measurement) -> list[str]:
    """A sentence for each source of numbers that nobody has measured, and for sizes at an end of
    what was measured."""
    sources: dict[str, list[str]] = {}
    told = []
    for key, value in f.keys().items():
        shown = _shown(_member(key), int(value)) if value.isdigit() else value
        words = f"{_WORDS.get(key, key)} ({shown})"
        if untold(f, m, key):
            source = f"Taken from {f.taken[key]}" if key in f.taken else "Assumed"
            sources.setdefault(source, []).append(words)
        elif end := _end_of(f, m, key):
            told.append(f"About {words}: {end[2:]}.")
    return [f"{source}, not measured: {listed(names)}." for source, names in sources.items()] + told


# Numbers of the structure in words.
_WORDS = {"nand.page_size": "the page", "ftl.unit_size": "the unit",
          "ftl.open_linear": "units open in order", "ftl.open_random": "units open in random order",
          "ftl.open_units": "units open in any order",
          "ftl.random_log": "what a unit takes in random order",
          "ftl.small_write": "the largest small write"}


def _usual(s: Structure, member: str) -> str:
    """What cards have, if only random order shows it."""
    if s.gathers:
        return {"open_random": "cards with such groups have none open",
                "small_write": "cards with such groups have such a log"}.get(member, "")
    if s.spills:
        return {"open_random": "cards that slow down with each further unit have about eight open",
                "small_write": "cards that slow down with each further unit have such a log"
                }.get(member, "")
    return {"open_random": "most cards have as many open as in order",
            "random_log": "most cards merge a unit before it is full"}.get(member, "")


def _shown(member: str, value: int) -> str:
    if member in _BYTES:
        return bytes_text(value)
    if member == "spare":
        return f"{value / 10:g} %"
    return ("no", "yes")[value] if member in ("copyback", "switch_merge", "group_switch") else \
        str(value)


def _fidelity(f: Fitted, m: Measurement) -> list[str]:
    def procedure(p: Point) -> str:
        how = dict(p.parameters)
        return f"{p.procedure} bs={how['bs']} size={how['size']}" \
            if p.procedure in _ROWS and not how.get("offset") else ""
    numbers = count(1)
    return figure_rows(f, m, procedure, lambda text: f"{text.split()[0]}.{next(numbers)}",
                       (10, 0.09))


def figure_rows(f: Judged, m: Measurement, procedure: Callable[[Point], str],
                name: Callable[[str], str], most: tuple[int, float]) -> list[str]:
    """The rows of [fidelity] of the points that have a procedure, with this tolerance in percent;
    an error beyond the other number is told."""
    return [f"{name(text)} = {text} | {p.value / 1e6:.6g} MB/s | {most[0]}%" + (
        f" | {percent_text(error)} off when the profile was fitted: the other figures speak "
        "against it" if abs(error) > most[1] else "")
        for p, error in zip(m.points, f.errors)
        if error is not None and (text := procedure(p))]


def _member(key: str) -> str:
    """The member of Structure that is the value of a key; "" if it has none."""
    name = _NAMED.get(key, key.partition(".")[2])
    return name if name in _MEMBERS else ""


def percent_text(error: float) -> str:
    """A logarithmic error in percent."""
    return f"{100 * (2.718281828459045 ** error - 1):+.0f} %"


# --- in words ---

def errors_text(e: Errors) -> str:
    """The median error, and how many points are near."""
    return (f"median error {100 * e.median:.1f} %, {100 * e.near:.0f} % of {e.points} points "
            "within 10 %")


def sentence(f: Judged) -> str:
    """How near the profile comes, and what it is worst at."""
    worst = f.kinds[:1]
    return errors_text(f.all) + "".join(f"; worst at {off_text(k)}" for k in worst)


def verdict(f: Judged, failed: str) -> str:
    """Whether the profile comes near, in a sentence; `failed` says what it means if not."""
    if not f.good:
        return (f"{failed}: {sentence(f)}, where at most {100 * GOOD_MEDIAN:.0f} % and at least "
                f"{100 * GOOD_SHARE:.0f} % would be good.")
    every = f.kinds
    missed = [k for k in every if far(k)]
    if not missed:
        return f"The profile comes near: {sentence(f)}."
    more = f", and {len(missed) - _MOST_FAR} more" if len(missed) > _MOST_FAR else ""
    return (f"The profile comes near for {len(every) - len(missed)} of {len(every)} kinds of "
            f"request, but not for {'; '.join(map(off_text, missed[:_MOST_FAR]))}{more} "
            f"({errors_text(f.all)}).")


def certainty(f: Judged, found: str, times: Sequence[str]) -> list[str]:
    """What is predicted of what was left out, where the profile was `found` without it, and which
    of these times the data do not tell."""
    unknown = [key for key in times if f.intervals.get(key) is None]
    return [f"{found} without {name}, the profile predicts what was left out with {errors_text(e)}."
            for name, e in f.held] + (
        [f"Not identifiable from these data: {listed(unknown)}."] if unknown else [])


def worst_line(f: Judged) -> list[str]:
    """The line of [provenance] that others repeat: what a profile is far off at; none if it is
    near at everything."""
    worst = [off_text(k) for k in f.kinds[:1] if far(k)]
    return [f"worst = This profile is far from its measurement at {text}" for text in worst]


def structure_text(s: Structure, untold_key: Callable[[str], bool] = lambda key: False) -> str:
    """The structure in a sentence; what was not measured is marked."""
    def marked(key: str, words: str) -> str:
        return words + (" (not measured)" if untold_key(key) else "")
    page = marked("nand.page_size", f"pages of {bytes_text(s.page)}")
    behind = "; it writes while the next data arrive" if s.behind else ""
    if s.strategy == "page":
        past = f"; runs of more than {bytes_text(s.run)} go past an SLC cache" if s.run else ""
        return f"The device is mapped by pages, {page}{past}{behind}."
    if s.strategy == "block":
        return (f"The device is mapped by units of {bytes_text(s.unit)}, {page}, and copies a unit "
                f"for each command that writes a part of it{behind}.")
    groups = f", {s.group} of which make {bytes_text(s.unit * s.group)}" if s.group > 1 else ""
    log = f"; writes of up to {bytes_text(s.small_write)} go to a log of {s.small_log} units" \
        if s.small_log else ""
    both = f", {s.open_units} together" if s.open_units else ""
    unit = marked("ftl.unit_size", bytes_text(s.unit))
    linear = marked("ftl.open_linear", f"{s.open_linear} units open in order")
    in_random = marked("ftl.open_random", f"{s.open_random} in random order")
    return (f"The device is mapped by units of {unit}{groups}, {page}, with {linear} and "
            f"{in_random}{both}{log}{behind}.")


def _left_open(f: Fitted, m: Measurement) -> list[str]:
    """What stands in front of everything: a map by pages has no open units to be told."""
    return next_step.left_open(m, f.structure.strategy == "segment") + _not_measured(f, m)


def sentences(f: Fitted, m: Measurement) -> list[str]:
    """What came out, the verdict first; in front of it what nobody has measured."""
    told = _left_open(f, m)
    told += [verdict(f, "The model cannot do what this device did"),
             structure_text(f.structure, lambda key: bool(untold(f, m, key)))]
    told += by_conversation(f)
    told += certainty(f, "Fitted again", [t.key for t in times_of(f.structure)])
    told += [f"The model cannot do this: {text}." for text in misses(f, m)]
    return told + missing(m)


def by_conversation(f: Fitted) -> list[str]:
    """How near it comes to all that was asked, and which structure came next."""
    if not f.rivals:
        return []
    first, *others = f.rivals
    told = [f"Judged by all that the device was asked, it scores {first.score:.3f}, where the "
            f"device itself has 0; it is farthest off at {first.worst}."]
    if others and math.isfinite(others[0].score):
        told.append(f"Next comes, with {others[0].score:.3f}: "
                    f"{structure_text(others[0].fit.structure)}")
    return told


def missing(m: Measurement) -> list[str]:
    """The tests that the measurement lacks and that nothing in it replaces, a sentence for each."""
    told = []
    if not rows_in_order.shows_random_order(m.points):
        told.append("Nothing was written in random order, so what the profile does then is assumed;"
                    " flashbench -O --random measures it.")
    if not any(p.procedure in ("flashbench-find-fat", "request") for p in m.points):
        told.append("Nothing says whether the first units differ from the others; flashbench -f "
                    "measures it.")
    return told


def by_kind(f: Judged, m: Measurement, name: Callable[[Point], str] = kind) -> dict[str, Errors]:
    """The errors of the points that have the same name."""
    found = {}
    for one in dict.fromkeys(map(name, m.points)):
        errors = summed([e for p, e in zip(m.points, f.errors) if name(p) == one])
        if errors:
            found[one] = errors
    return found


def misses(f: Fitted, m: Measurement) -> list[str]:
    """The tests with the largest errors, at most three."""
    tests: dict[str, list[float]] = {}
    for p, error in zip(m.points, f.errors):
        if error is not None:
            tests.setdefault(test_name(p), []).append(error)
    off = []
    for name, errors in tests.items():
        middle = sorted(errors)[len(errors) // 2]
        if abs(middle) > 0.2:
            off.append((-abs(middle) * len(errors),
                        f"{name} ({percent_text(middle)} in the median of {len(errors)} "
                        f"{'points' if len(errors) > 1 else 'point'})"))
    return [text for _, text in sorted(off)[:3]]


def test_name(p: Point) -> str:
    """The test that a point belongs to, as pages name it."""
    how = dict(p.parameters)
    if p.procedure in _LOADS:
        order = "random order" if how["pattern"] == "random" else "order"
        flight = int(how.get("depth", 1)) * int(how.get("jobs", 1))
        queue = "" if "queue" not in how else ", with queue" if how["queue"] else ", without queue"
        return (f"{how['op']}s in {order}" + (f", {flight} in flight" if flight > 1 else "")
                + queue)
    if p.procedure == "flashbench-open-au":
        units = "unit" if how["open"] == 1 else "units"
        return f"{how['open']} open {units} in {'random order' if how['random'] else 'order'}"
    return f"unit {how['unit']} of -f" if p.procedure == "flashbench-find-fat" else kind(p)


# --- for programs ---

def errors_json(e: Errors) -> dict[str, float]:
    """Errors as a program reads them."""
    return {"points": e.points, "median_error": e.median, "share_within_10_percent": e.near}


def to_json(f: Fitted, m: Measurement, source: str, made_by: str) -> str:
    """The whole result."""
    return json_text(f, m, source, made_by, by_kind(f, m), {
        "as_good": f.as_good,
        "candidates": [{"structure": structure_text(t.structure), "error": t.error}
                       for t in f.tried],
        "rivals": [{"structure": structure_text(r.fit.structure),
                    "score": r.score if math.isfinite(r.score) else None,
                    "worst": r.worst, "worst_error": r.error if math.isfinite(r.error) else None}
                   for r in f.rivals]})


def json_text(f: Judged, m: Measurement, source: str, made_by: str, tests: Mapping[str, Errors],
              more: Mapping[str, object]) -> str:
    """Any result, with what only some have."""
    return json.dumps({
        "made_by": made_by, "measurement": source, "good": f.good, "profile": f.keys(),
        "all": errors_json(f.all),
        "kinds": [{"kind": k.name, "points": k.points, "log_error": k.middle,
                   "median_error": math.expm1(k.off)} for k in f.kinds],
        "tests": {k: errors_json(e) for k, e in tests.items()},
        "held_out": {name: errors_json(e) for name, e in f.held}, "intervals": f.intervals,
        "comparisons": f.comparisons, **more,
        "points": [{"procedure": p.procedure, "parameters": dict(p.parameters), "unit": p.unit,
                    "measured": p.value, "model": got, "log_error": e}
                   for p, got, e in zip(m.points, f.measured, f.errors)]},
        indent=1, ensure_ascii=False) + "\n"


# --- the page ---

def page(f: Fitted, m: Measurement, source: str, made_by: str) -> str:
    """The page about a fit."""
    return page_text(f, m, source, made_by, sentences(f, m),
                     lambda key: provenance(f, m, key, source), table(
                         "Structures that the rules suggested",
                         ["structure", "typical error, first fit"],
                         [[structure_text(t.structure), f"{100 * t.error:.1f} %"]
                          for t in f.tried], 1))


def page_text(f: Judged, m: Measurement, source: str, made_by: str, told: list[str],
              why: Callable[[str], str], candidates: Markup) -> str:
    """The page about any result: what it says, where a key comes from, and what was tried."""
    rows = [[html.part("code", key), value, why(key)] for key, value in f.keys().items()]
    keys = table("Every number, and where it comes from", ["key", "value", "from"], rows, 0)
    return whole_page("fit", m, source, f"{source}, fitted by {made_by}", told, f,
                      [keys, candidates])


def whole_page(command: str, m: Measurement, source: str, about: str, told: list[str],
               f: Judged, tables: Sequence[Markup]) -> str:
    """A page with all points, measured and of the model."""
    return document(command, m.name or source, f"{about} with {f.comparisons} comparisons", told,
                    [grid("Measured, and of the model", figures(m, f.measured)), *tables,
                     points_table(m, f.measured, f.errors)], how_near(f.errors))


def how_near(errors: Sequence[float | None]) -> str:
    """The figure that answers how near a profile comes: the share of the points that are off by no
    more than some percents.  `errors` are ln(model / measured), where they are known."""
    off = [abs(math.expm1(e)) for e in errors if e is not None]
    return share_chart(f"How many of {len(off)} points the profile meets", [
        (f"within {limit} %", sum(o <= limit / 100 for o in off) / len(off))
        for limit in _LIMITS], "of the points") if off else ""


def figures(m: Measurement, modelled: Sequence[float | None]) -> list[str]:
    """A picture for each number of open units and order, for -a and -f, and for each load, as text
    of SVG; `model` has a value for each point.  Of several points of one size, such as those of
    files of several sizes, the first one is drawn, and one size alone is no picture."""
    tables: dict[str, dict[int, tuple[float, float | None]]] = {}
    for p, got in zip(m.points, modelled):
        how = dict(p.parameters)
        scale = 1e-6 if p.unit == "bytes/s" else 1e-3
        size = how.get("chunk", how.get("align") if how.get("place") == "on" else None)
        if p.procedure in _LOADS:
            size = how.get("bs")
        if size is not None:
            name = test_name(p) + (", MB/s" if p.unit == "bytes/s" else ", us")
            tables.setdefault(name, {}).setdefault(int(size), (
                p.value * scale, None if got is None else got * scale))
    return [_figure(name, rows) for name, rows in tables.items() if len(rows) > 1]


def _figure(name: str, rows: dict[int, tuple[float, float | None]]) -> str:
    title, _, unit = name.rpartition(", ")
    sizes = sorted(rows)
    labels = [f"{s >> 20}M" if s >= 1 << 20 else f"{s >> 10}K" for s in sizes]
    return chart(title, "size", labels, unit, [("measured", [rows[s][0] for s in sizes]),
                                               ("model", [rows[s][1] for s in sizes])])


def table(heading: str, names: Sequence[str], rows: Sequence[Sequence[str]], numbers: int
          ) -> Markup:
    """A table whose last `numbers` columns are numbers, one click away."""
    first = len(names) - numbers
    return html.part("fold", heading, html.table([(name, i >= first) for i, name in
                                                    enumerate(names)], rows))


def points_table(m: Measurement, modelled: Sequence[float | None],
                 errors: Sequence[float | None]) -> Markup:
    """Every point, measured and of the model, and ln(model / measured)."""
    rows = []
    for p, got, error in zip(m.points, modelled, errors):
        unit, scale = ("us", 1e3) if p.unit == "ns" else ("MB/s", 1e6)
        rows.append([html.part("code", p.text()), f"{number(p.value / scale)} {unit}",
                     "-" if got is None else f"{number(got / scale)} {unit}",
                     "-" if error is None else percent_text(error)])
    return table(f"All {len(rows)} points", ["procedure and parameters", "measured", "model",
                                              "error"], rows, 3)
