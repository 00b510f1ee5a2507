# SPDX-License-Identifier: BSD-3-Clause
"""The shipped devices as a fit sees them: sizes, numbers and words as text, and times that move.

A card has next ones, which differ in one size, number or word.  What hangs together moves together:
with another page a program takes as long for each byte, and a unit is a block where it was one.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Mapping, Sequence

import numpy as np

from ..core.units import quantity
from ..measurement.schema import Measurement
from ..probe.findings import Found, judge
from ..probe.tests import unit_reads, unit_size
from ..runs.expression import parse_profile
from ..runs.program import Tool
from .compare import base
from .model import Time
from .moves import Candidate
from .refining import size_text, time_text

# What the defaults of others follow from.
_PLAIN = ("device.capacity", "nand.cell", "link.type")
_PLAIN_UNITS = ("nand.page_size", "nand.pages_per_block", "ftl.unit_size")
# What follows from other keys, and what is another card's.
_DERIVED = ("nand.blocks_per_plane", "nand.oob_size", "device.model", "device.claimed_capacity")

TIMES = (
    Time("nand.tR", 1e3, 2e6), Time("nand.tPROG", 1e4, 2e7), Time("nand.slc_tR", 1e3, 2e6),
    Time("nand.slc_tPROG", 1e4, 2e7), Time("nand.bus_rate", 1e7, 4e9),
    Time("ftl.map_switch", 1e4, 1e7, True), Time("ftl.map_read", 1e4, 1e7, True),
    Time("ftl.stream_read", 1e4, 1e7, True), Time("link.bandwidth", 5e6, 1e9),
    Time("link.command_overhead", 1e3, 1e7), Time("link.task_overhead", 1e3, 1e7, True),
    Time("link.write_overhead", 1e3, 1e7, True), Time("link.busy_poll", 1e4, 1e6, True),
    Time("link.busy_ask", 1e4, 1e6, True), Time("ftl.part_write", 1e4, 1e8, True),
    Time("ftl.copy_page", 1e4, 2e7, True))


@dataclass(frozen=True)
class Ladder:
    """A size or number of which the next ones are tried: twice and half of it, and with `ones` one
    more and less.  A key that may be turned off has a word for it, `off`; the first value then."""

    least: int
    most: int
    off: str = ""
    first: int = 0
    ones: bool = False

    def next_to(self, value: int) -> list[int]:
        """The values to try instead."""
        if value == 0:
            return [self.first]
        found = [value * 2, value // 2, *([value - 1, value + 1] if self.ones else [])]
        kept = [v for v in dict.fromkeys(found) if self.least <= v <= self.most and v != value]
        return kept + ([0] if self.off else [])


_KIB, _MIB = 1 << 10, 1 << 20
_LADDERS: Mapping[str, Ladder] = {
    "nand.page_size": Ladder(4 * _KIB, 32 * _KIB),
    "nand.dies_per_channel": Ladder(1, 64, ones=True),
    "ftl.map_region": Ladder(256 * _KIB, 64 * _MIB), "ftl.map_held": Ladder(1, 256),
    "ftl.slc_run": Ladder(8 * _KIB, _MIB, "never", 64 * _KIB),
    "ftl.slc_gather": Ladder(16 * _KIB, 256 * _KIB, "page", 64 * _KIB),
    "ftl.slc_dies": Ladder(1, 4, "all", 1),
    "cache.size": Ladder(16 * _KIB, _MIB, "none", 64 * _KIB),
    "cache.write_behind": Ladder(16 * _KIB, _MIB, "none", 64 * _KIB),
    "link.turn_read": Ladder(4 * _KIB, 512 * _KIB, "none", 32 * _KIB),
    "link.read_buffer": Ladder(8 * _KIB, 512 * _KIB, "none", 64 * _KIB),
    "ftl.unit_size": Ladder(128 * _KIB, 16 * _MIB), "nand.page_parts": Ladder(1, 16),
    "ftl.open_linear": Ladder(1, 64, ones=True),
    "ftl.open_random": Ladder(1, 64, "0", 1, ones=True),
    "ftl.small_log": Ladder(2, 256, "0", 8), "ftl.small_write": Ladder(512, 64 * _KIB)}
_COUNTS = ("nand.dies_per_channel", "ftl.map_held", "ftl.slc_dies", "nand.page_parts",
           "ftl.open_linear", "ftl.open_random", "ftl.small_log")
# What a climb leaves alone as long as no point speaks about it.
OF_UNITS = ("ftl.unit_size", "ftl.open_linear", "ftl.open_random", "ftl.small_log",
             "ftl.small_write")
_WORDS: Mapping[str, tuple[str, ...]] = {
    "ftl.slc_pause": ("yes", "no"), "cache.mode": ("on", "off"),
    "ftl.small_join": ("yes", "no"), "link.queue": ("in-order", "in-turn", "off")}


@dataclass(frozen=True)
class Card(Candidate):
    """A set of numbers: a shipped card's name, its keys that are no times, as text, and the times
    on the scale of a search.  `error` is typical, infinity if nobody has compared it.  `times` are
    those of `TIMES` that its profile has, and as one number."""

    relative: str
    words: tuple[tuple[str, str], ...]
    x: tuple[float, ...]
    error: float = math.inf
    times: tuple[Time, ...] = TIMES

    @property
    def strategy(self) -> str:
        return dict(self.words)["ftl.type"]

    @property
    def known(self) -> tuple[Time, ...]:
        return self.times

    @property
    def form(self) -> tuple[tuple[str, str], ...]:
        return self.words

    def keys(self) -> dict[str, str]:
        """Without those that follow from others."""
        return {**dict(self.words),
                **{t.key: time_text(t, t.from_x(x)) for t, x in zip(self.times, self.x)}}


@dataclass(frozen=True)
class Shown:
    """The page and the unit that the points show, in bytes, and why; 0 and "" if they show none."""

    page: int = 0
    unit: int = 0
    unit_why: str = ""

    def reason(self, key: str) -> str:
        """Why a key of a profile has its value; "" if it does not follow from the points."""
        return "" if not {"nand.page_size": self.page, "ftl.unit_size": self.unit}.get(key) else \
            "reads or shifted writes show the page" if key == "nand.page_size" else self.unit_why


def shipped(tool: Tool, capacity: int = 0, any_device: bool = False) -> list[Card]:
    """The shipped cards of today, which have an SLC cache, or all devices, with this capacity if it
    is known."""
    every = {name: parse_profile(tool.canonical(name, ())) for name in tool.profiles()}
    own = {"device.capacity": size_text(capacity)} if capacity else {}
    return [_card(name, {**keys, **own}) for name, keys in every.items()
            if keys.get("nand.tR") != "0" and (
                any_device or keys.get("ftl.slc_mode", "off") != "off")]


def shown_by(m: Measurement) -> Shown:
    """What tests of the page and the unit themselves tell, such as flashbench -a."""
    found = Found(list(m.points))
    judge(found)
    page = found.page or 0
    if found.unit:
        return Shown(page, found.unit, unit_size.reason(m.points))
    step = unit_reads.step_from(m.points)
    return Shown(page, step[0], "reads across its multiples take longer") if step else Shown(page)


def resized(card: Card, told: Shown) -> Card | None:
    """The card with the page and the unit that points show; None if it has no units and points
    show one, or if its groups make no such unit."""
    words = dict(card.words)
    if told.unit and "ftl.unit_size" not in words:
        return None
    group = int(words.get("ftl.group_units", "1"))
    page, old = told.page or int(quantity(words["nand.page_size"]) or 0), words["nand.page_size"]
    planes = int(words["nand.planes_per_die"]) if words.get("nand.multiplane") == "yes" else 1
    block = int(quantity(old) or 0) * int(words["nand.pages_per_block"]) * planes
    if told.page:
        card = _scaled(card, "nand.page_size", size_text(page), page / (quantity(old) or page))
    if told.unit:
        unit = block = told.unit // group
        if told.unit % group or unit % page or unit < page:
            return None
        card = changed(card, "ftl.unit_size", size_text(unit))
    pages = block // (page * planes)
    return changed(card, "nand.pages_per_block", str(pages)) if pages else None


def _card(name: str, keys: Mapping[str, str]) -> Card:
    times = tuple(t for t in TIMES if quantity(keys.get(t.key, "")) is not None)
    of_time = {t.key for t in times}
    words = tuple((k, v) for k, v in keys.items() if k not in of_time and k not in _DERIVED)
    values = [max(quantity(keys[t.key]) or 0.0, 0.0 if t.zero else t.least) for t in times]
    return Card(name, words, tuple(float(np.clip(t.to_x(v), *t.bounds))
                                   for t, v in zip(times, values)), times=times)


def plain(tool: Tool, words: Mapping[str, str]) -> dict[str, str]:
    """The keys of a device of which only this is said: what the defaults of others follow from."""
    with tempfile.TemporaryDirectory(prefix="flashemu-fit-") as folder:
        return parse_profile(tool.canonical(base(Path(folder), words["ftl.type"]), tuple(
            f"{key}={words[key]}" for key in
            (*_PLAIN, *(_PLAIN_UNITS if "ftl.unit_size" in words else ())))))


def neighbours(card: Card, kept: Sequence[str] = ()) -> list[Card]:
    """The cards that differ in one size, number or word, but not in those that are kept."""
    found, words = [], dict(card.words)
    for key, ladder in _LADDERS.items():
        if key not in words or key in kept:
            continue
        value = int(quantity(words[key]) or 0)
        for other in ladder.next_to(value):
            text = ladder.off if other == 0 else \
                str(other) if key in _COUNTS else size_text(other)
            found.append(_scaled(card, key, text, other / value if value and other else 1.0))
    for key, choices in _WORDS.items():
        found += [changed(card, key, word) for word in choices
                  if key in words and word != words[key]]
    return found


def changed(card: Card, key: str, text: str) -> Card:
    """The same with another size, number or word; nobody has compared it."""
    return replace(card, words=tuple((k, text if k == key else v) for k, v in card.words),
                   error=math.inf)


def _scaled(card: Card, key: str, text: str, factor: float) -> Card:
    """With another page or number of dies the programs take as long for each byte, and a block
    keeps its bytes where it is a unit, or grows with it."""
    moved = {"nand.page_size": ("nand.tPROG", "nand.slc_tPROG"),
             "nand.dies_per_channel": ("nand.tPROG",)}.get(key, ())
    x = [float(np.clip(t.to_x(t.from_x(v) * factor), *t.bounds)) if t.key in moved else v
         for t, v in zip(card.times, card.x)]
    words = dict(card.words)
    if "ftl.unit_size" in words and key in ("nand.page_size", "ftl.unit_size"):
        pages = int(int(words["nand.pages_per_block"]) * (
            factor if key == "ftl.unit_size" else 1 / factor))
        card = changed(card, "nand.pages_per_block", str(max(pages, 1)))
    return replace(changed(card, key, text), x=tuple(x))
