# SPDX-License-Identifier: BSD-3-Clause
"""The answer as sentences, JSON and a page."""

from __future__ import annotations

import json
import math
from typing import Any, Sequence

from ..core.text import counted, listed
from ..core.units import number
from ..report import charts
from ..report.page import document, plain_table
from .prediction import HIGH, LOW, Prediction

# Blocks are no reason any more: other parts of a card, and its owner, have an end, too.
LONG = 30.0
# No number is told beyond this, because no card is as old as that by far.
MOST = 100.0
# Lives that differ by less are called equal.
EQUAL = 1.05


def digits(value: float, n: int) -> str:
    """A number with so many digits that count, also where the last ones are 0: those of a row or a
    column look alike then."""
    text = f"{float(f'{value:.{n}g}'):#.{n}g}"
    return number(float(text)) if "e" in text else text.rstrip(".")


def _in_unit(years: float, unit_of: float) -> tuple[str, str]:
    """A time as a number with two digits, and its unit: years, or days if `unit_of` years are
    less than one."""
    unit, parts = ("years", 1.0) if unit_of >= 0.95 else ("days", 365.25)
    return (f"more than {MOST:g}" if years > MOST else digits(years * parts, 2)), unit


def span(years: float) -> str:
    """A time for people."""
    return " ".join(_in_unit(years, years))


def _interval(p: Prediction) -> str:
    """The interval in the unit of the median, such as "0.66 to 5.6 years"."""
    low, unit = _in_unit(p.quantile(LOW), p.median)
    high = "" if p.quantile(LOW) > MOST else f" to {_in_unit(p.quantile(HIGH), p.median)[0]}"
    return f"{low}{high} {unit}"


def first(p: Prediction) -> str:
    """The sentence that stands first."""
    doubt = f", but without evidence: {listed(list(p.doubts))}" if p.doubts else ""
    if p.work.health and any(low >= 1 for low, _ in p.work.health.used.values()):
        when = f", within {span(p.median)}" if p.work.age else ""
        return f"This device has used up the life that it is rated for{when}."
    if p.work.before:
        text = (f"At the pace between its two readings, this device lives {_interval(p)} from the "
                f"second one on, most likely {span(p.median)}")
    elif not p.card:
        text = (f"At the pace of its first {span(p.work.age / 86400 / 365.25)}, this device lives "
                f"{_interval(p)}, most likely {span(p.median)}")
    else:
        text = (f"{p.card.profile} lives {span(p.median)} under {p.work.name} "
                f"(8 of 10 such cards live {_interval(p)})")
    return f"{text}{doubt}."


def more(p: Prediction) -> list[str]:
    """What follows it."""
    spares = p.work.health.spares if p.work.health else 0
    if spares > 1:
        return ["Its pre-EOL information says that " + ("nine tenths of its spare blocks are used."
                if spares == 3 else "eight tenths of its spare blocks are used.")]
    if not p.card or p.waf is None:
        return []
    found = [f"The host writes {digits(p.per_day / 1e9, 3)} GB a day, and the chip programs "
             f"{digits(p.chip_per_day / 1e9, 3)} GB: {digits(p.waf, 3)} times as much."]
    shapes = {name: s.waf for name, s in p.steady.items()}
    if len(shapes) > 1:
        found.append("Sums have no places: " + listed(
            [f"with requests {name} the chip programs {digits(w, 3)} times as much"
             for name, w in shapes.items()]) + ".")
    found.append(_end(p))
    at_rest = max(s.cold for s in p.steady.values())
    if at_rest:
        found.append(f"{counted(at_rest, 'block')} with data that never change "
                     f"{'do' if at_rest > 1 else 'does'} not share the wear, because this profile "
                     "never moves such data.")
    if p.median > LONG:
        found.append("Other causes end most cards before that.")
    return found


def _end(p: Prediction) -> str:
    """What ends the life."""
    assert p.card
    spares = next(iter(p.steady.values())).spares
    name = max(p.ends, key=lambda n: p.ends[n])
    share = f" ({100 * p.ends[name]:.0f} % of the cards)" if p.ends[name] < 0.995 else ""
    then = {"read-only": "it takes no more writes", "full": "it takes no more writes",
            "dead": "it does not answer any more", "slow": "it is slow",
            "silent": "it loses data silently"}.get(p.card.values.get("faults.end_of_life", ""),
                                                     "it ends")
    return (f"What ends it is the wear of {name}{share}: when more than "
            f"{counted(spares, 'block')} {'has' if spares == 1 else 'have'} failed, no spare is "
            f"left, and {then}.")


def sentences(p: Prediction) -> list[str]:
    """All of an answer but its numbers."""
    return [first(p), *more(p)]


def as_json(p: Prediction) -> dict[str, Any]:
    """An answer for programs; times in years, sizes in bytes."""
    return {
        "sentence": first(p), "work": p.work.name, "about": p.work.title,
        "card": p.card.profile if p.card else None,
        "settings": list(p.card.settings) if p.card else [],
        "years": {"median": p.median, "low": p.quantile(LOW), "high": p.quantile(HIGH),
                  "interval": HIGH - LOW, "cards": len(p.years)},
        "host_bytes_per_day": p.per_day or None, "chip_bytes_per_day": p.chip_per_day or None,
        "waf": p.waf,
        "ends": {"sentence": _end(p) if p.card else None, "share": dict(p.ends)},
        "evidence": not p.doubts, "doubts": list(p.doubts),
        "steady": {name: {"reached": s.reached, "requests": s.requests, "waf": s.waf,
                          "passes": list(s.passes), "spares": s.spares, "blocks_at_rest": s.cold,
                          "pools": [{"name": q.name, "blocks": q.blocks, "cycles": q.cycles,
                                     "erases_per_host_byte": q.rate} for q in s.pools]}
                   for name, s in p.steady.items()},
        "assumed": [{"what": n.what, "value": n.value, "source": n.source} for n in p.assumed],
        "commands": list(p.commands),
    }


Row = tuple[str, Prediction]


def compared(base: Prediction, p: Prediction) -> str:
    """How a life differs from another."""
    ratio = p.median / base.median
    if 1 / EQUAL < ratio < EQUAL:
        return "equal"
    return f"{digits(ratio, 2)} times as long"


HEADS = [("", False), ("years", True), ("8 of 10", True), ("GB a day", True), ("on the chip", True),
         ("", False)]


def _cell(years: float, n: int) -> str:
    return f"> {MOST:g}" if years > MOST else digits(years, n)


def rows(base: Prediction, found: Sequence[Row]) -> list[list[str]]:
    """A table: what, years, interval, bytes, and the comparison."""
    return [[name, _cell(p.median, 3),
             f"{_cell(p.quantile(LOW), 2)} to {_cell(p.quantile(HIGH), 2)}",
             digits(p.per_day / 1e9, 3) if p.per_day else "-",
             digits(p.chip_per_day / 1e9, 3) if p.per_day else "-",
             "" if p is base else compared(base, p)] for name, p in found]


def _assumed(p: Prediction) -> list[list[str]]:
    """Rows of one cell, which a page as narrow as a phone shows whole."""
    return [[f"{n.what}: {n.value} ({n.source})"] for n in p.assumed]


def text(answers: Sequence[Prediction], what_ifs: Sequence[Row], refused: Sequence[str]) -> str:
    """Everything for people: the first answer with what it rests on, and tables."""
    p = answers[0]
    lines = [*sentences(p)]
    if len(answers) > 1:
        lines += ["", *_lines([("", answers[0]), *[("", a) for a in answers[1:]]], p, True)]
    if what_ifs:
        lines += ["", "What if", *_lines([("as it is", p), *what_ifs], p, False)]
    lines += [f"not compared: {reason}" for reason in refused]
    lines += ["", "Assumed", *(f"  {line}" for line, in _assumed(p))]
    return "\n".join(lines) + "\n"


def name_of(p: Prediction) -> str:
    """A work on a card."""
    return f"{p.work.name} on {p.card.profile}" if p.card else p.work.name


def _lines(found: Sequence[Row], base: Prediction, named: bool) -> list[str]:
    body = rows(base, [(name_of(p) if named else name, p) for name, p in found])
    cells = [[name for name, _ in HEADS], *body]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEADS))]
    return ["  ".join(f"{c:>{w}}" if numeric else f"{c:<{w}}" for c, w, (_, numeric) in
                      zip(row, widths, HEADS)).rstrip() for row in cells]


def to_json(answers: Sequence[Prediction], what_ifs: Sequence[Row], refused: Sequence[str],
            made_by: str) -> str:
    """Everything for programs."""
    base = answers[0]
    return json.dumps({
        "made_by": made_by, **as_json(base),
        "answers": [{**as_json(p), "compared": compared(base, p)} for p in answers],
        "what_if": [{"what": name, "compared": compared(base, p), **as_json(p)}
                    for name, p in what_ifs],
        "not_compared": list(refused)}, indent=1, ensure_ascii=False) + "\n"


def page(answers: Sequence[Prediction], what_ifs: Sequence[Row], refused: Sequence[str],
         made_by: str) -> str:
    """The page."""
    base = answers[0]
    parts = []
    if len(answers) > 1:
        parts.append(plain_table("Side by side", "Lives that differ by less than 5 % are called "
                                 "equal.", HEADS, rows(base, [(name_of(p), p) for p in answers])))
    if what_ifs:
        parts.append(plain_table("What if", "Each line is a replay of its own.", HEADS,
                                 rows(base, [("as it is", base), *what_ifs])))
    if refused:
        parts.append(plain_table("Not compared", "", [("why", False)], [[r] for r in refused]))
    parts.append(plain_table("What is assumed",
                             "Numbers that were not replayed, and where they come from.",
                             [("a number and its source", False)], _assumed(base)))
    parts.append(plain_table("Do it again", f"Made by {made_by}.", [("command", False)],
                             [[c] for c in base.commands]))
    return document("life", _title(base), base.work.title,
                    sentences(base), parts, _lives(answers, what_ifs))


def _title(p: Prediction) -> str:
    who = f"does {p.card.profile}" if p.card else "does this device"
    return f"How long {who} live under {p.work.name}?"


def _lives(answers: Sequence[Prediction], what_ifs: Sequence[Row]) -> str:
    """The figure that answers: each life as an interval with its median, the first one marked."""
    several = len(answers) > 1
    found = [(name_of(p) if several else "as it is", p) for p in answers] + list(what_ifs)
    drawn = [charts.Interval(name, p.quantile(LOW), p.median, p.quantile(HIGH),
                             f"{name}: {span(p.median)} ({_interval(p)})")
             for name, p in found if p.quantile(LOW) > 0 and math.isfinite(p.quantile(HIGH))]
    return charts.interval_chart("How long 8 of 10 such cards live", "years, with the median",
                                 drawn) if drawn else ""
