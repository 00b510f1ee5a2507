# SPDX-License-Identifier: BSD-3-Clause
"""What a measurement says about a device's structure before anything is fitted: rules.

    strategy   random writes as fast as those in order: a map by pages; else units
    page       reads across its multiples take longer (-a); shifted commands cost more (probe);
               writes below it cost as much as a page
    parts      scattered writes from a part of a page to all of it that take the same time (probe)
    unit       a second step of -a, writes across (probe), or the unit of -O; a small one may be a
               part of the allocation unit of an SD card
    group      random writes that all cost the same, up to a part of the unit: that part is merged
    open       the number of units of -O behind which each small write merges one, or else the
               first one at which the rate falls
    commands   the time for each byte goes down from 64 to 128 KiB, unless a reader cuts before; it
               goes up where a reader cuts inside pages
    small log  random writes, or writes to too many units, that are quicker again below some size
    zone       neighbouring units of -f with another rate than the rest
    run        one place in order that is quicker than several in turn, of a map by pages (probe)
    rests      reads (-a) and writes that take longer the more they leave of a page, and reads at
               the end of a unit

Where `probe` has a test that asks for just one of these, what that says is taken (`from_probe`).
Where nothing was written in random order, what it does is assumed (`as_in_order`).  Cards with a
small log merge a unit before it is full, so that is assumed of them.  There are no candidates with
units if five or more of them in turn are as fast as two.  Rows of units written in turn tell more
(`rows_in_order`).

Where the data leave it open there is more than one candidate; the comparison decides.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median, median_low
from typing import Sequence

from ..measurement.schema import Measurement, Point
from ..probe.tests import (behaviour, flashbench_open_units, open_units, partial_pages, structure,
                           unit_size)
from . import from_probe
from .curves import Curves, FEW, comparable, curves, few_units, flat_until, pooled, slower_from
from .model import MOST_PARTS, Structure, as_in_order, paged, resized, spilling, times_of
from .rows_in_order import (closes_units, has_soft_limit, merges_from, no_limit, rises_from,
                            shows_random_order, small_write, told_limit)

_KIB, _MIB = 1 << 10, 1 << 20
_USUAL_CAPACITY = 4 << 30
# Bytes of a merged part; what is shorter is a page.
_LEAST_PART = 64 << 10
# A unit is taken for a group of so many where only order was measured; two known cards have them.
_PARTS = 8
# Bytes of the usual allocation unit of an SD card, and of what is in front of its partition.
_ALLOCATION = 4 * _MIB
# A device without a limit has room for so many units more than were written in turn.
_MORE = 2
# A card may write so many bytes at a time, and a long command loses time if it ends between.
_STREAM = 64 * _KIB
# Writes that take one program each differ by this factor at most.
_ALIKE = 1.1
# A command of a run takes so many times as long where there is no run.
_RUNS = 1.15
# Bytes beyond 64 KiB take so many times as long where commands end inside pages.
_CUT = 1.2


# --- sizes ---

def _steps(c: Curves, least: int, most: int) -> list[int]:
    """Alignments from which on a read across takes longer than at all smaller ones."""
    found = []
    for align in sorted(a for a in c.across if least <= a <= most):
        below = [c.across[a][0] for a in c.across if a < align]
        above = [c.across[a][0] for a in c.across if align <= a <= 8 * align]
        step = median(above) - median(below[-3:] or [0.0])
        if step > max(0.03 * c.across[align][1], 8e3) and \
                min(above) > max(below[-3:] or [0.0]):
            found.append(align)
    return found


def _quick_writes(c: Curves, most: float = math.inf) -> list[dict[int, float]]:
    """Times by chunk in which a page shows: of several units in turn, so that no write goes on
    where the last one ended, and of whole units in order.  Only of up to so many units."""
    return [pooled(c.linear, 2, most), pooled(c.linear, 1, most), pooled(c.fat, 0)]


def pages(c: Curves, points: Sequence[Point]) -> list[int]:
    """Candidates for the page, the most likely one first: by writes of so few units that none of
    them is merged for every write, and by reads.  Those take longer across what is corrected as a
    whole as well, which can be a part of a page."""
    found = from_probe.pages(points)
    if not found:
        found = [structure.page_from(points) or 0]
        found += [flat_until(table, 1.3) for table in _quick_writes(c, FEW)]
        found += _steps(c, 4 * _KIB, 64 * _KIB)[:1]
    kept = [p for p in dict.fromkeys(found) if 2 * _KIB <= p <= 64 * _KIB and p & (p - 1) == 0]
    return kept or [16 * _KIB, 8 * _KIB, 4 * _KIB]


def shown_units(c: Curves, points: Sequence[Point]) -> list[int]:
    """Candidates for the unit that the device shows."""
    found = [unit_size.shown(points) or 0, c.erasesize,
             *_steps(c, 512 * _KIB, 64 * _MIB)[:1]]
    return [u for u in dict.fromkeys(found) if u] or [4 * _MIB]


def merged_part(c: Curves, unit: int) -> int | None:
    """Bytes that a random write makes the device copy, if that is less than the unit: the end of
    the sizes that all take about the same time, much more than in order.  Large ones of them may
    take less, because they copy less."""
    times, in_order = few_units(c.random), few_units(c.linear)
    flat: list[int] = []
    for chunk in sorted(times):
        if flat and times[chunk] > 1.35 * min(times[size] for size in flat):
            if len(flat) >= 3:
                break
            flat = []
        if 0 < len(flat) < 3 and times[chunk] < 0.65 * times[flat[0]]:
            flat = []
        if flat or times[chunk] > 3 * in_order.get(chunk, 0.0):
            flat.append(chunk)
    return flat[-1] if len(flat) >= 3 and _LEAST_PART <= flat[-1] < unit else None


def zone(points: Sequence[Point], erasesize: int, unit: int) -> tuple[int, int] | None:
    """First unit and number of units of a zone that bulk is written to at another rate, of -f."""
    odd = behaviour.zone_from(points)
    if not odd or odd[-1] - odd[0] >= len(odd) + 1:
        return None
    per = max(erasesize // unit, 1)
    return odd[0] * per, (odd[-1] - odd[0] + 1) * per


def is_by_pages(c: Curves, points: Sequence[Point]) -> bool | None:
    """Whether random writes are about as fast as those in order, and no number of units makes them
    slow; None without a comparison."""
    if any(flashbench_open_units.limit_from(points, order) is not None for order in (False, True)):
        return False
    ratios = [c.random[n][chunk] / t for n, times in c.linear.items() if n in c.random
              for chunk, t in times.items() if chunk in c.random[n] and chunk >= 16 * _KIB]
    return median(ratios) < 1.5 and max(ratios) < 6 if ratios else None


def capacity(m: Measurement, c: Curves) -> tuple[int, bool]:
    """Bytes, and whether that is only assumed: -a goes up to a seventh of it."""
    if m.capacity:
        return m.capacity // 512 * 512, False
    top = max(c.across, default=0)
    return (top * 15 // 4 if top >= 16 * _MIB else _USUAL_CAPACITY), True


# --- what a fit can use ---

def fittable(m: Measurement) -> Measurement:
    """Without the points about caches, rests, TRIM, and several requests in flight: no candidate
    has the numbers that they depend on.  Of long series, those of open units and of small writes
    stay, and so do bursts where no cache takes them."""
    unit, cached = unit_size.shown(m.points), behaviour.has_cache(m.points)

    def is_left_out(p: Point) -> bool:
        how = dict(p.parameters)
        if p.procedure == "fill":
            return cached or not behaviour.is_burst(p)
        return p.procedure == "content" or (p.procedure == "request" and (
            how["op"] == "trim" or "idle" in how or "depth" in how
            or int(how["count"]) > (open_units.MOST if how["stride"] == unit else 32)
            and not behaviour.is_logged(p)))
    return replace(m, points=tuple(p for p in m.points if not is_left_out(p)))


# --- candidates ---

def candidates(m: Measurement) -> list[Structure]:
    """What the device may be, the most likely structure first; at least one."""
    c = curves(m.points)
    size, _ = capacity(m, c)
    whole = comparable(m.points)
    rows = curves(whole)
    by_pages = is_by_pages(rows, whole)
    other = flashbench_open_units.limit_from(whole, False)
    has_units = unit_size.shown(m.points) is not None
    told, rising = open_units.limit_from(m.points, False), rises_from(rows)
    found: list[Structure] = []
    shown, known = shown_units(c, m.points), shows_random_order(m.points)
    for page in pages(c, m.points)[:2]:
        first = len(found)
        for unit in (u for u in shown[:2 if known else 1] if u % page == 0):
            found.append(_segment(c, rows, whole, m.points, size, page, unit))
            part = merged_part(c, unit) or (unit // _PARTS if has_soft_limit(c, rows) else None)
            if part:
                found.append(_grouped(found[-1], part))
            if has_units and from_probe.is_probe(m.points):
                found += _in_groups(found[-1], unit)
        if len(found) > first:
            s = found[first]
            # parts of pages and units in random order can look like a limit of units in order
            found += [replace(s, open_linear=n) for n in (other, 8)
                      if n and n != s.open_linear and not told]
            if s.open_random == 0 and c.random:  # slow, but perhaps not for each write
                most = slower_from(rows.random) or max(c.random)
                found += [replace(s, open_random=most),
                          *(replace(s, open_linear=n, open_random=max(c.random) + _MORE)
                            for n in dict.fromkeys((s.open_linear, 8)))]
            found += [n for one in found[first:] for n in _logs_in_all(one, rows)]
            if rising and not from_probe.is_probe(m.points):
                found.append(spilling(s, rising))
            if told == 0:
                found.insert(first, Structure("block", size, s.page, s.unit))
        if not has_units or len(found) == first:
            found.append(Structure("page", size, page))
        if by_pages and found[-1].strategy == "page":
            found.insert(0, found.pop())
    if from_probe.is_probe(m.points):
        found = [n for s in found
                 for one in (s, *_gaps(s), *_parted(s, m.points), *_past_cache(s, rows))
                 for host in _hosted(one, m.points) for n in _joined(host)]
    elif not _writes_half_a_mib(c):  # perhaps through a USB reader of Linux
        cut = [replace(s, limit=120 * _KIB) for s in found]
        found = [n for s in cut for n in _streaming(s)] if _is_cut(c) else found + cut
    if not known:
        found = _as_assumed(found, c, rows, other, m.points)
    if any(dict(p.parameters).get("op") == "trim" for p in m.points):
        found = [replace(s, discard=s.strategy == "page") for s in found]
    return list(dict.fromkeys(_with_rests(found, c, m.points, shown[0])))


def _as_assumed(found: Sequence[Structure], c: Curves, rows: Curves, other: int | None,
                points: Sequence[Point]) -> list[Structure]:
    """The same where nothing was written in random order."""
    if closes_units(rows):
        found = [s for s in found if s.strategy != "page"] or found
    elif other is None and no_limit(rows):
        found = [s for s in found if s.strategy == "page"]
    limit = told_limit(points)
    if limit is not None:
        found = [replace(s, open_linear=limit) if _has_units(s) else s for s in found]
    log = 1 if small_write(c) else 0
    return [as_in_order(s, True) if s.spills else
            as_in_order(replace(s, open_units=n, random_log=log)) for s in found
            for n in (0, s.open_linear)]


def _with_rests(found: Sequence[Structure], c: Curves, points: Sequence[Point],
                unit: int) -> list[Structure]:
    """The same with the times that reads and writes take for what they leave.  Not for writes that
    a probe has measured: there small ones merge units, which looks alike."""
    fetched = partial_pages.of_reads(points)[0]
    at_ends = partial_pages.end_of_unit(points, unit) > 0
    copied = not from_probe.is_probe(points) and any(_copied_rest(c, s.page) > 0 for s in found)
    return [s if s.strategy == "block" else
            replace(s, rest=fetched, rest_copied=copied, ends=at_ends and s.strategy == "segment")
            for s in found]


def _copied_rest(c: Curves, page: int) -> float:
    """ns that a write takes for a whole page that it leaves, by the first table that shows it."""
    every = (partial_pages.of_writes(times, page) for times in _quick_writes(c, FEW))
    return next((ns for ns in every if ns), 0.0)


def _has_units(s: Structure) -> bool:
    """Whether units are open, and are no parts of larger ones."""
    return s.strategy == "segment" and s.group == 1


def _gaps(s: Structure) -> list[Structure]:
    """The same where a jump ahead in a unit fills the gap, which nothing but random order shows:
    then a unit is never in random order as long as it has room."""
    return [replace(s, gap_fill=s.unit // s.page)] if s.open_random and not s.gathers else []


def _parted(s: Structure, points: Sequence[Point]) -> list[Structure]:
    """The same with pages that several programs fill, if the map knows parts of them: scattered
    writes from one part up to a whole page take one program each, and so the same time."""
    part = behaviour.granule_from(points) or 0
    times = {bs: ns for bs, (ns, _) in behaviour.scattered_times(points).items() if bs >= part > 0}
    page = flat_until(times, _ALIKE)
    if s.strategy != "segment" or not part < page <= MOST_PARTS * part or s.unit % page:
        return []
    return [replace(paged(s, page), parts=page // part)]


def _past_cache(s: Structure, rows: Curves) -> list[Structure]:
    """The same where long runs go past a cache in SLC mode, if a map by pages writes one place in
    order quicker than several in turn: these make no runs of more than one command."""
    several = pooled(rows.linear, 2)
    longer = [several[chunk] / t for chunk, t in rows.linear.get(1, {}).items() if chunk in several]
    if s.strategy != "page" or max(longer, default=0.0) < _RUNS:
        return []
    return [replace(s, run=n) for n in (64 * _KIB, 128 * _KIB, 256 * _KIB)]


def _joined(s: Structure) -> list[Structure]:
    """Whether small writes that go on in an open unit are part of the log: no test tells."""
    return [s, replace(s, small_join=False)] if s.small_log else [s]


def _hosted(s: Structure, points: Sequence[Point]) -> list[Structure]:
    """The structure with the longest command that `probe` has seen; and if it gathers, with a page
    of a buffer that is written while the next data arrive, and without."""
    found = [replace(s, limit=n) for n in from_probe.limits(points, s.limit, 120 * _KIB)]
    behind = [replace(n, cache=n.page, behind=2 * n.page) for n in found]
    return behind + found if from_probe.gathers(points) else found


def _streaming(s: Structure) -> list[Structure]:
    """Structures that gather short commands, write what they have gathered while the next data
    arrive, and lose time where a long command ends."""
    each = replace(s, cache=s.page, behind=2 * s.page)
    return [replace(each, tail=max(_STREAM // s.page, 1)), replace(each, tail=2)]


def _is_cut(c: Curves) -> bool:
    """Whether the host seems to cut commands after 120 KiB.  Then those of longer writes end and
    begin inside pages, and each byte takes much longer than in writes of 64 KiB."""
    small = 64 * _KIB
    more = [times[size] * small / (times[small] * size)
            for times in (c.linear.get(1, {}), *c.fat.values()) if small in times
            for size in (2 * small, 4 * small) if size in times]
    return bool(more) and median(more) > _CUT


def _writes_half_a_mib(c: Curves) -> bool:
    """Whether the host writes 512 KiB in one command.  What a command takes besides its data is
    shared by all of its bytes, so the time for a byte falls with the length of a write.  Of what it
    falls by from 64 to 512 KiB, more than half comes by 128 KiB; nothing does if the host cuts
    commands after 120."""
    for times in (pooled(c.fat, 0), pooled(c.linear, 1, FEW)):
        if all(n * _KIB in times for n in (64, 128, 512)):
            some, twice, most = (times[n * _KIB] / n for n in (64, 128, 512))
            if some - most > 0.03 * some and some - twice > 0.3 * (some - most):
                return True
    return False


def variants(s: Structure) -> list[Structure]:
    """Structures from which a search can start as well as from this one, because the clues about
    these numbers are weak: whether it writes behind, the page, the largest write of the small log,
    and which part of a unit is merged."""
    found = _streaming(s)[:1] if s.reader and not s.behind else []
    for page in (s.page, 2 * s.page, s.page // 2):
        for unit in {s.unit, 2 * s.unit} if s.group > 1 else {s.unit}:
            for small in {s.small_write, 2 * s.small_write}:
                if 2 * _KIB <= page <= 64 * _KIB and unit % page == 0:
                    found.append(resized(replace(paged(s, page), small_write=small), unit))
    return [n for n in found if n != s]


def _segment(c: Curves, rows: Curves, whole: Sequence[Point], points: Sequence[Point], size: int,
             page: int, unit: int) -> Structure:
    """The most likely structure with units; `rows` are the curves of `whole`, those `points` of
    which rows can be compared with each other."""
    most = max([*c.linear, *c.random, 4])
    linear = open_units.limit_from(points, False) or merges_from(whole) or \
        slower_from(rows.linear) or flashbench_open_units.limit_from(whole, False)
    in_random = open_units.limit_from(points, True)
    if in_random is None:
        in_random = flashbench_open_units.limit_from(whole, True)
    tried = bool(c.random)
    s = Structure("segment", size, page, unit, open_linear=linear or most + 1,
                  open_random=(in_random if in_random is not None else most + 1 if tried else 0))
    small = behaviour.small_write_from(points) or unit_size.logged(points) \
        if from_probe.is_probe(points) else small_write(c)
    odd = None if from_probe.no_zone(points) else zone(points, c.erasesize, unit)
    if small or odd:
        s = replace(s, small_log=max(3, behaviour.logged_bytes(points) // unit),
                    small_write=small or page // 2)
    if odd:
        s = replace(s, zone_start=odd[0], zone_units=odd[1], small_log=odd[1] + 2)
    return s


def _logs_in_all(s: Structure, rows: Curves) -> list[Structure]:
    """Where both orders have the same limit, units of both may be counted together.  Then writes of
    parts of pages, which no small log takes, would fill such a log early, unless they are parts."""
    if s.open_linear != s.open_random or s.open_linear >= max(rows.random, default=0):
        return []
    both = replace(s, open_units=s.open_linear,
                   random_log=_random_log(rows, s.open_linear, s.unit, s.page))
    parts = min(s.page // (2 * s.small_write or _KIB), MOST_PARTS)
    found = [both, *(replace(both, parts=n) for n in sorted({min(parts, 4), parts}) if n > 1)]
    record = _record(rows, s.open_linear)
    if record:
        found += [replace(found[-1], record=record, random_log=n)
                  for n in dict.fromkeys((0, both.random_log))]
    return found


def _record(rows: Curves, limit: int) -> int:
    """Bytes of a record for each command in a unit open in any order, 0 if none shows.  Commands of
    several sizes bring the next merge equally near, and one of twice the largest of them brings it
    twice as near: beside its head it no longer fits into one record.  One of four times its size
    fills three."""
    in_order = pooled(rows.linear, 1, limit)
    more = {chunk: t - in_order[chunk] for chunk, t in pooled(rows.random, 1, limit).items()
            if chunk in in_order and t > 2 * in_order[chunk]}
    last = flat_until(more, 1.3)
    if sum(chunk <= last for chunk in more) < 2:
        return 0
    twice, four = (more.get(n * last, 0.0) / more[last] for n in (2, 4))
    return 2 * last if 1.6 < twice < 2.4 and 2.4 < four < 3.6 else 0


def _random_log(rows: Curves, limit: int, unit: int, page: int) -> int:
    """Bytes that a unit takes in random order before it is merged, 0 for all of it.  A write with
    more units than there is room for is a merge; how many of them the other rows have says what a
    unit takes between two."""
    many, in_order = pooled(rows.random, limit + 1), pooled(rows.linear, 1, limit)
    merges = [(t - in_order[chunk]) * unit / chunk / (many[chunk] - in_order[chunk])
              for chunk, t in pooled(rows.random, 1, limit).items()
              if page <= chunk <= unit // 8 and chunk in in_order
              and many.get(chunk, in_order[chunk]) != in_order[chunk]]
    each = round(median(merges)) if merges else 0
    return unit // each // page * page if each > 1 else 0


def _grouped(s: Structure, part: int) -> Structure:
    """The same with units of `part` bytes, of which several make one that shows.  As many of these
    as are open in order may lie scattered, and they stay for the time in which two of them could be
    replaced."""
    part = max(part, s.page * 4)
    group = max(s.unit // part, 1)
    log = s.small_log and max(s.small_log, 8)
    return replace(s, unit=part, group=group, open_random=0, open_units=0, random_log=0,
                   stay=3 * group, hot=8,
                   scattered=max(s.open_linear * group, group + 1),
                   open_linear=max(8, s.open_linear), small_log=log,
                   zone_start=s.zone_start * group, zone_units=s.zone_units * group)


def _in_groups(s: Structure, unit: int) -> list[Structure]:
    """The same where units of this size, which small writes show, are the parts of allocation units
    of an SD card, also with a zone where its FAT is: the second one, at which its partition
    begins."""
    group = _ALLOCATION // unit
    if group < 2 or _ALLOCATION % unit:
        return []
    whole = replace(s, unit=_ALLOCATION, group=1, zone_start=0, zone_units=0)
    found = _grouped(whole, unit)
    return [found, replace(found, small_log=max(found.small_log, group + 2), zone_start=group,
                           zone_units=group, small_write=s.small_write or s.page // 2)]


def first_times(s: Structure, m: Measurement) -> list[float]:
    """Values from which a fit of this structure begins, one for each of `times_of`."""
    c, whole = curves(m.points), curves(comparable(m.points))
    alone = median([t for _, t in c.across.values()] + [t for bs, t in c.reads if bs <= 4096]
                   or [6e5])
    writes = [chunk * 1e9 / t for times in c.linear.values() for chunk, t in times.items()]
    writes += [rate for is_write, _, rate in c.rates if is_write]
    fastest = max(writes, default=8e6)
    # larger ones may be of a host that had the data in its memory
    reading = median_low([rate for is_write, _, rate in c.rates if not is_write] or [1.4e7])
    program = s.page * 1e9 / fastest
    copy, part = _copy(c, s, program), 0.0 if s.rest_copied else _part(c, s.page)
    start = {"link.command_overhead": alone / 2, "link.bandwidth": 1.15 * max(fastest, reading),
             "nand.tPROG": 0.75 * program, "nand.bus_rate": max(5 * fastest, 4e7),
             "nand.tR": min(alone / 4, 2e5), "nand.tBERS": 3e6, "ftl.map_switch": _jump(whole),
             "ftl.map_read": alone / 20, "ftl.unit_read": 2e4, "ftl.part_write": part,
             "ftl.tail_write": _tail(c, s), "ftl.copy_page": copy,
             "ftl.rest_write": _copied_rest(c, s.page) if s.rest_copied else 0.0,
             "ftl.rest_read": partial_pages.of_reads(m.points)[1] if s.rest else 0.0,
             "ftl.end_read": (partial_pages.end_of_unit(m.points, s.unit * s.group) if s.ends
                              else 0.0)}
    start |= from_probe.times(m.points, s.page)
    if s.run:   # what a jump takes beyond a stream is what the cache takes
        small, _ = behaviour.scattered_times(m.points).get(s.page, (0.0, None))
        start |= {"ftl.map_switch": 0.0, "nand.slc_tPROG": max(small - alone, program)}
    copied = from_probe.copied_ns(m.points, s.unit // s.page)
    if copied is not None and s.strategy == "block":  # even writes in order copied units
        start["nand.tPROG"] = min(start["nand.tPROG"], 0.75 * copied)
    elif copied is not None:
        start["ftl.copy_page"] = max(copied - 1.25 * program, 0.0)
    return [min(max(start[t.key], 0 if t.zero else t.least * 1.01), t.most * 0.99)
            for t in times_of(s)]


def _part(c: Curves, page: int) -> float:
    """ns that half a page takes longer than a whole one, when several units are written in turn."""
    times = _quick_writes(c)[0]
    more = times.get(page // 2, 0.0) - times.get(page, math.inf)
    return more if 0 < more < times.get(page, 0.0) else 0.0


def _copy(c: Curves, s: Structure, program: float) -> float:
    """ns that a merge takes for each page that it copies beyond 5/4 of a program.  It shows where
    the units of a group are written in random order: each write leaves its unit and copies it."""
    if s.group == 1 or s.open_random:
        return 0.0
    times = few_units(c.random)
    each = [(t - chunk / s.page * program) / ((s.unit - chunk) / s.page)
            for chunk, t in times.items()
            if max(s.page, s.small_write + 1) <= chunk <= s.unit // 4]
    return max(median(each) - 1.25 * program, 0.0) if each else 0.0


def _tail(c: Curves, s: Structure) -> float:
    """ns that each command of the largest size costs beyond the bytes that it writes, if that is no
    multiple of what a long write may end at; by writes of whole units in order."""
    if s.limit % (s.tail * s.page) == 0:
        return 0.0
    times = (c.linear.get(1) or few_units(c.linear)) | pooled(c.fat, 0)
    whole = s.limit // s.page * s.page
    below = [t / chunk for chunk, t in times.items() if s.page <= chunk <= whole]
    above = [t / chunk for chunk, t in times.items() if chunk > s.limit]
    more = (median(above) - min(below)) * s.limit if below and above else 0.0
    return max(more, 0.0)


def _jump(c: Curves) -> float:
    """ns that small writes to two units in turn take longer than to one."""
    one, two = c.linear.get(1, {}), c.linear.get(2, {})
    more = [two[chunk] - one[chunk] for chunk in one if chunk in two and chunk <= 64 * _KIB]
    return max(median(more), 0.0) if more else 0.0
