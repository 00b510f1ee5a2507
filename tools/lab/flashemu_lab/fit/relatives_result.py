# SPDX-License-Identifier: BSD-3-Clause
"""What a fit of a card of today leaves behind: the profile, its page, and the same as JSON.

Every number of the profile says where it comes from: fitted, or that of the shipped card from which
the search began.  Its rows of [fidelity] are the figures, so `flashemu verify` runs them.
"""

from __future__ import annotations

from typing import Mapping

from ..core.text import listed
from ..measurement.schema import Measurement, Point
from ..probe import next_step
from ..report import html
from .fit_result import (by_kind, certainty, figure_rows, json_text, page_text, percent_text,
                         profile_text, table, test_name, verdict)
from .refining import size_text
from .relatives import Related, applies

# Of a row of [fidelity], and how many points that are further off are told.
_TOLERANCE = 0.15
_MOST_MISSES = 5
# What decides where a partition should begin, in words.
_STRUCTURE = (("ftl.type", "the map"), ("nand.page_size", "the page"),
              ("ftl.unit_size", "the unit"),
              ("ftl.group_units", "units of a group"), ("ftl.open_linear", "units open in order"),
              ("ftl.open_random", "units open in random order"))
_CHOICES = {"as it is": "the nearest shipped device as it is",
            "times": "one with times of its own",
            "numbers": "one with other sizes and words, too,"}
_IOZONE = {"write": "iozone-seq-write", "read": "iozone-seq-read",
           "random-read": "iozone-rand-read", "random-write": "iozone-rand-write"}


# --- the profile ---

def profile(r: Related, m: Measurement, source: str, made_by: str) -> str:
    """The profile as an INI file; `source` is how the measurement is called."""
    return profile_text(r, m, source, f"{made_by}, from {r.card.relative} on", taken_texts(r, m),
                        lambda key: provenance(r, m, key, source), _fidelity(r, m))


def provenance(r: Related, m: Measurement, key: str, source: str) -> str:
    """Where a number comes from."""
    if key == "device.capacity":
        return f"{source}: its capacity" if m.capacity else f"assumed: that of {r.card.relative}"
    if why := r.shown.reason(key):
        return f"{source}: {why}"
    was = r.relative[key]
    if r.card.keys()[key] == was and _is_taken(r, key):
        return f"taken from {r.card.relative}, not measured"
    if r.card.keys()[key] == was:
        return f"as {r.card.relative}: another value was not better, or not tried"
    factor = r.intervals.get(key)
    if key in r.intervals and factor is None:
        return f"not identifiable from these data: a value that does no harm; was {was}"
    within = f"within a factor of {factor:.3g} (about 95 %); " if factor else ""
    return f"fitted to {source}: {within}{r.card.relative} has {was}"


# What no procedure of fio repeats.
_SPECIAL = {"share", "sizes", "gap", "percent", "distribution", "fsync", "fdatasync", "sync",
            "end_fsync", "rate", "beside"}


def _is_taken(r: Related, key: str) -> bool:
    """Whether a number that is as the relative has it was not measured, and no other was tried."""
    if r.chosen == "times":
        return key not in {t.key for t in r.card.times}
    return r.chosen == "as it is" or key in r.kept or key == "ftl.type" and not r.told.map


def taken_texts(r: Related, m: Measurement) -> list[str]:
    """What stands in front of everything: what was not measured but taken."""
    keys = r.keys()
    taken = [f"{words} ({keys[key]})" for key, words in _STRUCTURE
             if key in keys and provenance(r, m, key, "").startswith("taken ")]
    said = next_step.left_open(m, not applies(m))
    return said + ([f"Taken from {r.card.relative}, not measured: {listed(taken)}."]
                   if taken else [])


def _procedure(p: Point) -> str:
    """As a row of [fidelity] has it, "" if no procedure measures it."""
    how = dict(p.parameters)
    if p.procedure == "iozone" and how["test"] in _IOZONE and how.get("jobs", 1) == 1:
        return (f"{_IOZONE[str(how['test'])]} bs={_size(how, 'bs')} size={_size(how, 'file')}"
                if how.get("direct") and how.get("fsync") and "sync" not in how else "")
    if p.procedure not in ("fio-rate", "load") or "size" not in how or how["op"] == "trim" or \
            how.get("jobs", 1) != 1 or not how.get("direct", True) or how.get("offset", 0) or \
            _SPECIAL & set(how):
        return ""
    order = "rand" if how["pattern"] == "random" else ""
    off = "" if how.get("queue", True) else "-cq-off"
    return (f"fio-{order}{how['op']}{off} bs={_size(how, 'bs')} depth={how.get('depth', 1)} "
            f"size={_size(how, 'size')}")


def _size(how: Mapping[str, object], key: str) -> str:
    return size_text(int(str(how[key])))


def _row(procedure: str, taken: set[str]) -> str:
    """An id for such a row, as the shipped profiles have them: "randread-4k-off"."""
    name, bs, *_, size = procedure.split()
    off = "-off" if name.endswith("-cq-off") else ""
    found = name.removesuffix("-cq-off").removeprefix("fio-") + bs.replace("bs=", "-").lower()
    if found + off in taken:
        found += size.replace("size=", "-of-").lower()
    number = 2
    wanted = found + off
    while wanted in taken:
        wanted, number = f"{found}{off}-{number}", number + 1
    taken.add(wanted)
    return wanted


def _fidelity(r: Related, m: Measurement) -> list[str]:
    taken: set[str] = set()
    return figure_rows(r, m, _procedure, lambda text: _row(text, taken), (15, 0.12))


# --- in words ---

def sentences(r: Related, m: Measurement) -> list[str]:
    """What came out, the verdict first."""
    cards = "card of today" if applies(m) else "device"
    told = taken_texts(r, m)
    told.append(verdict(r, f"No shipped {cards}, with other numbers, does what this one did"))
    moved = [key for key, value in r.keys().items()
             if key in r.relative and r.relative[key] != value]
    told.append(f"The search began at {r.card.relative}, and {len(moved)} of its numbers have "
                "changed.")
    if len(r.rivals) > 1:
        told.append("What is left out, a quarter of the figures at a time, decides how much may "
                    "change: " + listed([f"{_CHOICES[what]} misses it by {100 * error:.1f} %"
                                         for what, error in r.rivals.items()]) + ".")
    told += certainty(r, "Found by a smaller search",
                      [t.key for t in r.card.times if t.key in r.keys()])
    return told + misses(r, m)


def misses(r: Related, m: Measurement) -> list[str]:
    """The points that are off by more than the tolerance of a row, the farthest first."""
    off = sorted(((-abs(e), p, e) for p, e in zip(m.points, r.errors)
                  if e is not None and abs(e) > _TOLERANCE), key=lambda each: each[0])
    told = [f"The model cannot do this: {test_name(p)} by {dict(p.parameters)['bs']} bytes "
            f"({percent_text(e)})." for _, p, e in off[:_MOST_MISSES]]
    if len(off) > _MOST_MISSES:
        told.append(f"{len(off) - _MOST_MISSES} more points are off by more than "
                    f"{100 * _TOLERANCE:.0f} %.")
    return told


# --- for programs ---

def to_json(r: Related, m: Measurement, source: str, made_by: str) -> str:
    """The whole result."""
    return json_text(r, m, source, made_by, by_kind(r, m, test_name), {
        "from": r.card.relative,
        "changed": {k: {"was": r.relative[k], "now": v} for k, v in r.keys().items()
                    if r.relative.get(k, v) != v},
        "chosen": r.chosen, "rivals": r.rivals,
        "candidates": [{"relative": c.relative, "error": c.error} for c in r.tried]})


# --- the page ---

def page(r: Related, m: Measurement, source: str, made_by: str) -> str:
    """The page about a fit."""
    return page_text(r, m, source, made_by, sentences(r, m),
                     lambda key: provenance(r, m, key, source), table(
                         "Shipped cards, the nearest with times of their own",
                         ["card", "typical error"],
                         [[html.part("code", c.relative), f"{100 * c.error:.1f} %"]
                          for c in r.tried], 1))
