# SPDX-License-Identifier: BSD-3-Clause
"""A device as `fit` thinks of it: a structure, the times in it, and the keys of a profile.

A structure is what can be counted: the strategy, the page, the unit, how many units are open.
Sizes that hang together are derived here and nowhere else: the blocks follow from the unit and the
page, and the chip is as large as the capacity, the open units and the logs need.  So a search
changes one number, and the profile still fits together.

Not modelled: several dies and channels, which look like larger pages from outside, with one request
in flight; and what an SLC cache does when it is full.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from typing import Any, Iterable, Mapping, Sequence

_KIB, _MIB = 1 << 10, 1 << 20
MOST_PAGES = 8192
# Of a page, in a fit.
MOST_PARTS = 16
# Pages, or parts of pages, that make a comparison dearer.
_SMALL = (2 * _KIB, _KIB)
# Eighths of a unit that it takes in random order before it is merged, where that is assumed.
_LOG_OF_8 = 3
# Units of the log that groups have then, and bytes of the largest write to it.
_LOG_OF_GROUPS, _WRITE_OF_GROUPS = 16, 8 * _KIB
# Units that are open in any order where units spill; units of the log then, and bytes of the
# largest write to it.
_SPILLED, _LOG_OF_SPILLED, _WRITE_OF_SPILLED = 8, 10, 128 * _KIB
# Units of any log for small writes: one is given up while another one takes pages.
LEAST_LOG = 2
# Of an SLC cache that is never seen to be full.
_SLC_BLOCKS = 1024
# ns: no flash reads a page in less, and a search that cannot tell would end at any value.
_LEAST_READ = 1.5e4
# Units that replace failed ones, and one in which a merge writes.
_MARGIN_UNITS = 4


@dataclass(frozen=True)
class Structure:
    """Sizes in bytes; the words are those of the keys of [ftl] and [link].

    page      what is programmed as a whole; planes are not told apart
    parts     programs that may fill a page, part by part
    group     units that make an allocation unit together
    open_units   units open in order and in any order together, 0 without such a limit
    random_log   bytes that a unit open in any order takes, 0 for as many as it has
    record    bytes of which a command's record there takes a multiple, 0 without records
    small_log    units of the log for small writes, 0 without one, else at least `LEAST_LOG`
    small_join   small writes that go on in an open unit are no part of that log
    stay      units replaced within which a group is not gathered
    hot       commands to a group that count when one has to be gathered
    limit     bytes of the largest command
    region    bytes whose map the controller holds
    cache     bytes of the write cache
    behind    bytes of pages that may be on their way to the flash
    tail      pages at a multiple of which a long write may end without loss
    run       with strategy page, bytes in order behind which writes go past a cache of blocks in
              SLC mode, 0 without such a cache
    spare     with strategy page, what the chip has beyond the capacity, in 1/1000 of it: so much
              can be written before a write has to wait for an erase
    rest      bytes to a multiple of which a read fetches what is behind it, 0 if none does
    rest_copied  a write of a part of a page takes time for what it leaves
    ends      a read up to the end of a unit takes longer
    discard   with strategy page, whether it takes TRIM
    """

    strategy: str
    capacity: int
    page: int
    unit: int = 4 * _MIB
    parts: int = 1
    group: int = 1
    scattered: int = 0
    stay: int = 0
    hot: int = 0
    group_switch: bool = False
    open_linear: int = 4
    open_random: int = 0
    open_units: int = 0
    random_log: int = 0
    record: int = 0
    small_log: int = 0
    small_write: int = 0
    small_join: bool = True
    zone_start: int = 0
    zone_units: int = 0
    switch_merge: bool = True
    gap_fill: int = 0
    copyback: bool = False
    copy_buffer: int = 1
    limit: int = 512 * _KIB
    region: int = 4 * _MIB
    cache: int = 0
    behind: int = 0
    tail: int = 1
    spare: int = 120
    run: int = 0
    rest: int = 0
    rest_copied: bool = False
    ends: bool = False
    discard: bool = False

    @property
    def gathers(self) -> bool:
        """Whether groups are ever gathered."""
        return self.group > 1 and self.scattered > 0

    @property
    def spills(self) -> bool:
        """Whether units beyond those that are open in order take writes as in random order, and
        are merged only when their log is full."""
        return self.strategy == "segment" and self.open_random > self.open_linear

    @property
    def reader(self) -> bool:
        """Whether the host seems to be a USB reader of Linux, by the size of its commands."""
        return self.limit <= 120 * _KIB

    @property
    def pages_per_block(self) -> int:
        """A divisor of the pages of a unit; the unit is one block if that is possible."""
        pages = 256 if self.strategy == "page" else max(self.unit // self.page, 1)
        blocks = -(-pages // MOST_PAGES)
        while pages % blocks:
            blocks += 1
        return pages // blocks

    @property
    def blocks(self) -> int:
        """Of the chip: what the capacity takes, and what the strategy needs besides."""
        block = self.page * self.pages_per_block
        if self.strategy == "page":
            cache = _SLC_BLOCKS if self.run else 0
            return -(-self.capacity * (1000 + self.spare) // (1000 * block)) + 16 + cache
        each = max(self.unit // block, 1)
        units = math.ceil(self.capacity / self.unit)
        spare = self.open_linear + self.open_random + self.small_log + _MARGIN_UNITS
        return (units + spare) * each


@dataclass(frozen=True)
class Time:
    """A number that is fitted: its key, where it may lie (ns, or bytes a second), and whether 0 is
    allowed, which is then the least value."""

    key: str
    least: float
    most: float
    zero: bool = False

    def to_x(self, value: float) -> float:
        """On the scale on which a search works: relative changes count alike."""
        return math.log1p(value / self.least) if self.zero else math.log(value)

    def from_x(self, x: float) -> float:
        """The value at a place of that scale."""
        return self.least * math.expm1(x) if self.zero else math.exp(x)

    @property
    def bounds(self) -> tuple[float, float]:
        """The scale's ends."""
        return 0.0 if self.zero else self.to_x(self.least), self.to_x(self.most)


TIMES = (
    Time("link.command_overhead", 1e3, 5e7), Time("link.bandwidth", 5e5, 1e9),
    Time("nand.tPROG", 1e4, 1e8), Time("nand.bus_rate", 1e6, 4e9),
    Time("nand.tR", _LEAST_READ, 2e7), Time("nand.tBERS", 1e5, 5e7),
    Time("ftl.map_switch", 2e4, 5e7, True), Time("ftl.map_read", 2e4, 2e7, True),
    Time("ftl.unit_read", 2e4, 2e7, True),
    Time("ftl.part_write", 2e4, 5e7, True), Time("ftl.tail_write", 2e4, 5e7, True),
    Time("ftl.copy_page", 2e4, 2e7, True), Time("ftl.rest_write", 2e4, 5e7, True),
    Time("ftl.rest_read", 2e4, 2e7, True), Time("ftl.end_read", 2e4, 2e7, True),
    Time("nand.slc_tPROG", 1e4, 1e8),
)
# Those of them that are no times.
RATES = ("nand.bus_rate", "link.bandwidth")
# Those that a strategy does not have.
_ABSENT = {"segment": (), "page": ("ftl.unit_read", "ftl.copy_page"),
           "block": ("ftl.map_switch", "ftl.map_read", "ftl.unit_read", "ftl.part_write",
                     "ftl.tail_write")}


def times_of(s: Structure) -> tuple[Time, ...]:
    """The times of this structure, always in the same order.  What only some structures of a
    strategy have comes last."""
    absent = [*_ABSENT[s.strategy], *([] if s.rest_copied else ["ftl.rest_write"]),
              *([] if s.rest else ["ftl.rest_read"]),
              *([] if s.ends else ["ftl.end_read"]),
              *([] if s.run else ["nand.slc_tPROG"])]
    return tuple(t for t in TIMES if t.key not in absent)


def profile_keys(s: Structure, values: Sequence[float]) -> dict[str, str]:
    """Every key of a profile that differs from its default, in the order of the option table.  The
    program counts pages, and times, of copies by parts."""
    times = {t.key: _time_text(t.key, v / s.parts if t.key == "ftl.copy_page" else v)
             for t, v in zip(times_of(s), values)}
    units, segment, mapped = s.strategy != "page", s.strategy == "segment", s.strategy != "block"
    group, log, run = segment and s.group > 1, segment and s.small_log > 0, s.run > 0
    gathers, zone = group and s.scattered > 0, log and s.zone_units > 0
    every: dict[str, str | int | None] = {
        "device.capacity": s.capacity, "device.used": s.capacity,
        "device.discard": s.discard or None, "nand.cell": "mlc", "nand.blocks_per_plane": s.blocks,
        "nand.pages_per_block": s.pages_per_block, "nand.page_size": s.page,
        "nand.page_parts": s.parts, "nand.endurance": "unlimited", "nand.copyback": s.copyback,
        **_some(times, "nand.tR", "nand.tPROG", "nand.tBERS"),
        "nand.slc_tR": times["nand.tR"] if run else None,
        **_some(times, "nand.slc_tPROG", "nand.bus_rate"), "ftl.type": s.strategy,
        "ftl.unit_size": s.unit if units else None,
        **({"ftl.open_linear": s.open_linear, "ftl.open_random": s.open_random,
            "ftl.open_units": s.open_units or None, "ftl.random_log": s.random_log or None,
            "ftl.random_record": s.record or None} if segment else {}),
        "ftl.copy_buffer": s.copy_buffer * s.parts if units else None,
        **_some(times, "ftl.copy_page"), "ftl.gap_fill": s.gap_fill * s.parts if segment else None,
        "ftl.switch_merge": s.switch_merge if segment else None,
        **_some(times, "ftl.unit_read", "ftl.end_read"),
        "ftl.group_units": s.group if group else None,
        "ftl.group_switch": s.group_switch if group else None,
        "ftl.scattered": s.scattered if gathers else None,
        "ftl.scattered_policy:stay": s.stay if gathers else None,
        "ftl.scattered_policy:fewest": s.hot if gathers else None,
        **({"ftl.small_log": s.small_log, "ftl.small_pace": "1", "ftl.small_write": s.small_write,
            "ftl.small_join": s.small_join} if log else {}),
        "ftl.zone_units": s.zone_units if zone else None,
        "ftl.zone_units:start": s.zone_start if zone else None,
        **({"ftl.slc_mode": "static", "ftl.slc_blocks": _SLC_BLOCKS, "ftl.slc_run": s.run}
           if run else {}),
        "ftl.map_region": s.region if mapped else None,
        **_some(times, "ftl.map_switch", "ftl.map_read", "ftl.part_write", "ftl.tail_write"),
        "ftl.tail_align": s.tail * s.page if mapped and s.tail > 1 else None,
        **_some(times, "ftl.rest_write", "ftl.rest_read"), "ftl.rest_align": s.rest or None,
        "cache.size": s.cache or None, "cache.write_behind": s.behind or None,
        "link.type": "usb-hs" if s.reader else "sd-hs",
        **_some(times, "link.bandwidth", "link.command_overhead"), "link.max_transfer": s.limit,
        "link.queue_depth": "1"}
    return {key: ("no", "yes")[value] if isinstance(value, bool) else str(value)
            for key, value in every.items() if value is not None}


def _some(times: Mapping[str, str], *keys: str) -> dict[str, str | int | None]:
    """Those of these times that a structure has."""
    return {key: times.get(key) for key in keys}


def _time_text(key: str, value: float) -> str:
    """A time, or a rate, as a profile of a fit has it."""
    return f"{max(round(value / 1e3), 1)}KB/s" if key in RATES else f"{round(value)}ns"


def changes(keys: Mapping[str, str]) -> list[str]:
    """As overrides: "SECTION.KEY=VALUE" each."""
    return [f"{key}={value}" for key, value in keys.items()]


def neighbours(s: Structure) -> list[Structure]:
    """The structures that differ from this one in one thing, without any that makes no sense; first
    the few that change how everything is written, then the many other numbers of units and
    logs."""
    found = [replace(s, limit=n) for n in (64 * _KIB, 120 * _KIB, 512 * _KIB) if n != s.limit]
    found += [paged(s, p) for p in (s.page // 2, s.page * 2) if 2 * _KIB <= p <= 64 * _KIB]
    found += [replace(s, cache=n) for n in (0, s.page, 4 * s.page) if n != s.cache]
    if s.reader or s.behind:  # no card on another host has shown it
        found += [replace(s, behind=n) for n in (0, 2 * s.page, 4 * s.page) if n != s.behind]
    if s.strategy != "block":
        found += [replace(s, tail=n) for n in (1, 2, 4, 8)
                  if n != s.tail and s.limit % (n * s.page)]
    if s.strategy != "page":
        found += [replace(s, copyback=not s.copyback)]
        found += [replace(s, copy_buffer=n) for n in (1, 2, 4, 16) if n != s.copy_buffer]
    if s.strategy == "segment":
        found += [replace(s, parts=n) for n in (1, 2, 4, 8, MOST_PARTS)
                  if n != s.parts and s.page // n >= _KIB]
        found += [replace(s, switch_merge=not s.switch_merge)]
        found += _open_units(s) + _units(s) + _logs(s)
        pages = s.unit // s.page
        found += [replace(s, gap_fill=n) for n in (0, pages // 4, pages) if n != s.gap_fill]
    if s.strategy == "block":
        return [n for n in found + _sized(s) if _makes_sense(n)]
    found += [replace(s, region=n) for n in (s.region // 4, s.region * 4)
              if 16 * _KIB <= n <= 64 * _MIB]
    if s.strategy == "page":
        near = (s.spare // 4, s.spare // 2, s.spare * 3 // 4, s.spare * 4 // 3, s.spare * 2)
        found += [replace(s, run=n) for n in (s.run // 2, s.run * 2) if n >= s.page]
        return found + [replace(s, spare=n) for n in near if 4 <= n <= 500]
    return [n for n in found if _makes_sense(n)]


def paged(s: Structure, page: int) -> Structure:
    """The same with other pages.  The tail, the cache and the buffer behind it keep their bytes, or
    get a page if that is more."""
    return replace(s, page=page, tail=max(s.tail * s.page // page, 1),
                   cache=s.cache and max(s.cache, page), behind=s.behind and max(s.behind, page))


def other_pages(s: Structure) -> list[Structure]:
    """Larger and smaller pages, of which a part stays as large."""
    return [n for p in (s.page // 4, s.page // 2, s.page * 2, s.page * 4)
            if 2 * _KIB <= p <= 64 * _KIB
            for n in [replace(paged(s, p), parts=min(max(s.parts * p // s.page, 1), MOST_PARTS))]
            if _makes_sense(n)]


# What a structure can take from any other one, from one of its strategy, and from one of its units;
# numbers that say little without each other together.
_OF_ALL = (("limit", "cache", "behind", "tail"), ("page",), ("limit",), ("cache",), ("behind",),
           ("tail",), ("region",))
_OF_STRATEGY = (("page", "parts"), ("parts",), ("copyback",), ("copy_buffer",), ("switch_merge",),
                ("spare",))
_OF_UNITS = ("unit", "group", "scattered", "stay", "hot", "group_switch", "open_linear",
             "open_random", "open_units", "random_log", "record", "small_log", "small_write",
             "small_join", "zone_start", "zone_units", "gap_fill")
_OF_EQUAL_UNITS = (("open_linear", "open_random", "open_units"), ("random_log", "record"),
                   ("scattered", "stay", "hot"), ("small_log", "small_write", "small_join"),
                   ("zone_start", "zone_units"), ("gap_fill",))


def exchanged(s: Structure, other: Structure) -> list[Structure]:
    """The structures that take one thing from another one, without those that make no sense."""
    names = [*_OF_ALL]
    if s.strategy == other.strategy:
        names += _OF_STRATEGY
    if s.strategy == other.strategy == "segment":
        same = (s.unit, s.group) == (other.unit, other.group)
        names += _OF_EQUAL_UNITS if same else [_OF_UNITS]
    taken: list[dict[str, Any]] = [{n: getattr(other, n) for n in some} for some in names]
    found = dict.fromkeys(replace(s, **some) for some in taken)
    return [n for n in found if n != s and _makes_sense(n)]


def joined(s: Structure, one: Structure, other: Structure) -> Structure | None:
    """What both of them have changed of a structure; None if it is the same thing, or if it makes
    no sense together."""
    first, second = ({f.name: getattr(n, f.name) for f in fields(n)
                      if getattr(n, f.name) != getattr(s, f.name)} for n in (one, other))
    if first.keys() & second.keys():
        return None
    both = replace(s, **first, **second)
    return both if _makes_sense(both) else None


def price(some: Iterable[Structure]) -> int:
    """What one comparison of each of these takes from a budget: usually 1.  If the pages, or their
    parts, have 2 or 1 KiB, the map has many times as many entries as with 16 KiB.  Then a
    comparison takes three to nine times as long, and counts two or three times."""
    return sum(1 + sum(s.page // s.parts <= size for size in _SMALL) for s in some)


def spilling(s: Structure, limit: int) -> Structure:
    """The same where units beyond so many in order take writes as in random order, up to half of a
    unit, and small writes go elsewhere; with the numbers that such cards have."""
    return replace(s, open_linear=limit, open_random=max(_SPILLED, limit + 1), open_units=0,
                   random_log=s.unit // 2 // s.page * s.page, small_log=_LOG_OF_SPILLED,
                   small_write=_WRITE_OF_SPILLED, copyback=True)


def as_in_order(s: Structure, spills: bool = False) -> Structure:
    """What is assumed of random order where nothing was written so: as many units open as in
    order, counted together with these or not, each of which is merged when it is full, or when a
    usual part of it is; or, where groups are gathered, none, and a log for the smallest writes.  No
    gap is filled, and there are no records; docs/FIT.md says why.  If it `spills`, order shows
    how much such a unit takes, but hardly how many there are, nor which writes go to a log."""
    if spills:
        return replace(s, open_random=max(_SPILLED, s.open_linear + 1), open_units=0, record=0,
                       gap_fill=0, small_write=_WRITE_OF_SPILLED if s.small_log else 0)
    if s.strategy == "segment" and s.gathers:
        s = replace(s, small_log=s.small_log or _LOG_OF_GROUPS, small_write=_WRITE_OF_GROUPS)
    most = 0 if s.strategy != "segment" or s.gathers else s.open_linear
    log = s.unit * _LOG_OF_8 // 8 // s.page * s.page if most and s.random_log else 0
    return replace(s, open_random=most, open_units=most if s.open_units else 0, random_log=log,
                   record=0, gap_fill=0)


def _makes_sense(s: Structure) -> bool:
    """Whether there may be such a device that can be written to."""
    if 0 < s.behind < s.page:
        return False
    return s.page // s.parts >= _KIB and (s.strategy == "page" or s.unit % s.page == 0 and (
        s.strategy == "block" or s.open_random > 0 or s.switch_merge))


def _open_units(s: Structure) -> list[Structure]:
    most = max(s.open_linear, s.open_random, 7) + 1
    linear = sorted((n for n in range(1, most + 1) if n != s.open_linear),
                    key=lambda n: abs(n - s.open_linear))
    in_random = sorted((n for n in range(most + 1) if n != s.open_random),
                       key=lambda n: abs(n - s.open_random))
    found = [[replace(s, open_linear=n) for n in linear],
             [replace(s, open_random=n) for n in in_random]]
    return _counted(s) + [n for pair in zip_longest(*found) for n in pair if n is not None]


def _counted(s: Structure) -> list[Structure]:
    """Other common limits of open units, and other sizes of what a unit in any order takes."""
    if not s.open_random:
        return []
    most = max(s.open_linear, s.open_random)
    found = [replace(s, open_units=0 if s.open_units else most)]
    if s.open_units:
        found += [replace(s, open_units=n, open_linear=n, open_random=n)
                  for n in (s.open_units - 1, s.open_units + 1) if n]
    records = (0, s.record // 2, s.record * 2) if s.record else (s.page, 2 * s.page)
    found += [replace(s, record=n) for n in records if n == 0 or n >= s.page // s.parts]
    logs = (0, s.random_log // 2, s.random_log * 3 // 4, s.random_log * 4 // 3,
            s.random_log * 2, s.unit // 2, s.unit // 4)
    found += [replace(s, random_log=n // s.page * s.page) for n in dict.fromkeys(logs)
              if n != s.random_log and n < s.unit and (n == 0 or n >= 8 * s.page)]
    return found


def _sized(s: Structure) -> list[Structure]:
    """Other units."""
    return [replace(s, unit=u) for u in (s.unit // 2, s.unit * 2) if 64 * _KIB <= u <= 64 * _MIB]


def other_parts(s: Structure) -> list[Structure]:
    """The same allocation unit, made of half and of twice as many units, and of one."""
    shown = s.unit * s.group
    return [resized(s, shown // group) for group in dict.fromkeys((s.group // 2, s.group * 2, 1))
            if 1 <= group <= 64 and group != s.group and shown % group == 0
            and shown // group >= 64 * _KIB]


def _units(s: Structure) -> list[Structure]:
    found = _sized(s) + other_parts(s)
    if s.group > 1:
        found.append(replace(s, group_switch=not s.group_switch))
        if s.scattered:
            found += [replace(s, stay=n) for n in (0, s.group, 2 * s.group, 3 * s.group,
                                                   4 * s.group) if n != s.stay]
            found += [replace(s, hot=n) for n in (0, 4, 8, 16) if n != s.hot and s.stay]
        near = {0, s.scattered - 1, s.scattered + 1, s.scattered - s.group,
                s.scattered + s.group, s.group * 4 + 2}
        found += [replace(s, scattered=n) for n in sorted(near)
                  if (n > s.group or n == 0) and n != s.scattered]
    return found


def resized(s: Structure, unit: int) -> Structure:
    """The same allocation unit, made of parts of this size.  Numbers of parts keep their bytes, or
    the right size alone looks worse than a wrong one."""
    def scale(n: int, least: int) -> int:
        return max(least, n * s.unit // unit) if n else 0
    group = s.unit * s.group // unit
    return s if unit == s.unit else replace(
        s, unit=unit, group=group, small_log=scale(s.small_log, LEAST_LOG),
        zone_units=scale(s.zone_units, 1), zone_start=s.zone_start * s.unit // unit,
        scattered=scale(s.scattered, group + 1), stay=s.stay * s.unit // unit)


def _logs(s: Structure) -> list[Structure]:
    if not s.small_log:
        return [replace(s, small_log=n, small_write=w)
                for n in (3, 8) for w in (4 * _KIB, 16 * _KIB)]
    log = s.small_log
    found = [replace(s, small_log=n)
             for n in sorted({log - 1, log + 1, log * 2, log // 2, log * 4})
             if LEAST_LOG <= n <= 512 and n != log]
    found += [replace(s, small_write=w) for w in (s.small_write // 2, s.small_write * 2)
              if 512 <= w <= s.unit]
    found.append(replace(s, small_log=0, small_write=0, zone_units=0, zone_start=0))
    if s.zone_units:
        found.append(replace(s, zone_units=0, zone_start=0))
    return found
