# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of `probe` tell a fit about a structure and its times.

flashbench asks for several things at a time, so most of `rules` weighs one curve against another.
The tests of `probe` ask for one thing each.  So what they say about pages, open units and the
host's longest command is taken as it is, and a descent begins with times that are right already:

    reads of growing size, far apart         the link; a jump where a command is cut
    reads of 1 KiB beside a page's end       a command without its map
    reads of 1 KiB across a page's end       one page more
    scattered writes of a page, and of half  what half a page takes longer
    writes in order of 3/2 and 9/2 pages     what the end of a longer command takes

A measurement without such tests tells nothing here, and the functions say so.
"""

from __future__ import annotations

import math
from typing import Mapping, Sequence

import numpy as np

from ..measurement.schema import Point
from ..probe.tests import behaviour, open_units, structure

_KIB = 1 << 10
# Where a command may be cut, and the least read that tells it.
_LIMITS = (64 * _KIB, 120 * _KIB, 128 * _KIB, 256 * _KIB)
_LONG = 8 * _KIB
# A cut has to explain all but this share of what is left without one, and cost this share of a
# command.
_UNEXPLAINED, _COSTS = 0.25, 0.05
_GAINS = 4 / 3  # times as quick small writes are in a zone
_ENOUGH = 4     # so many reads are too few
# How many writes a test of the structure has that a flush may follow (`unit_pairs`,
# `unit_crossings`).
_OF_STRUCTURE = (2, 16)


def is_probe(points: Sequence[Point]) -> bool:
    """Whether these are points of `probe`."""
    return any(p.procedure == "request" for p in points)


def pages(points: Sequence[Point]) -> list[int]:
    """The page by reads, and what is programmed as a whole by writes in order, if they tell it."""
    if not is_probe(points):
        return []
    found = [structure.page_read_from(points), structure.page_from(points)]
    return list(dict.fromkeys(page for page in found if page))


def no_zone(points: Sequence[Point]) -> bool:
    """Whether small writes take as long in the first unit as in the middle.  The rates of -f alone
    also differ because of what was open before."""
    gain = behaviour.fat_gain(points)
    return gain is not None and 1 / _GAINS < gain < _GAINS


def gathers(points: Sequence[Point]) -> bool:
    """Whether the structure shows only with a flush behind each write: the device gathers pages, or
    has a write cache."""
    return any(how["op"] == "write" and how["count"] in _OF_STRUCTURE and bool(how.get("flush"))
               for how in (dict(p.parameters) for p in points if p.procedure == "request"))


def limits(points: Sequence[Point], usual: int, cut: int) -> list[int]:
    """What the longest command may have, in bytes, by reads: each further command costs the same
    again.  `usual` if commands do not seem to be cut, or a command of `cut` as well if there are
    too few reads to tell."""
    # the pages of a longer read come while others are sent, so shorter ones have another slope
    least = max(_LONG, 2 * (structure.page_read_from(points) or 0))
    times = {size: ns for size, ns in structure.reads(points).items() if size >= least}
    left = {most: _left(times, most) for most in (*_LIMITS, 1 << 62)}
    whole, _ = left.pop(1 << 62)
    best = min(left, key=lambda most: left[most][0])
    errors, cost = left[best]
    if errors < _UNEXPLAINED * whole and cost > _COSTS * min(times.values()):
        return [best]
    return [usual] if len(times) > _ENOUGH else [usual, cut]


def _left(times: Mapping[int, float], most: int) -> tuple[float, float]:
    """The squares of the relative errors that are left if commands are cut behind so many bytes,
    and what each further one costs.  With too few reads to tell, a cut leaves infinity, and no cut
    leaves nothing."""
    columns = 3 if any(size > most for size in times) else 2
    if len(times) <= columns:
        return (math.inf, 0.0) if columns > 2 else (0.0, 0.0)
    sizes, ns = np.array(sorted(times)), np.array([times[size] for size in sorted(times)])
    table = np.stack([np.ones(len(sizes)), sizes, -(-sizes // most) - 1.0], axis=1)[:, :columns]
    table = table / ns[:, None]
    found, _, _, _ = np.linalg.lstsq(table, np.ones(len(sizes)), rcond=None)
    return float(((table @ found - 1)**2).sum()), float(found[2]) if columns > 2 else 0.0


def times(points: Sequence[Point], page: int) -> dict[str, float]:
    """ns, or bytes a second, for some of the keys of `modelled.times_of`: those that these points
    tell for a device with this page."""
    found: dict[str, float] = {}
    line = structure.line(structure.reads(points), max(page, 4 * _KIB))
    across = structure.page_read_excesses(points)
    if is_probe(points) and line and across:
        near = min(ns for _, ns in across.values())
        more = max(across.get(page, (0.0, 0.0))[0], 0.05 * near)
        found = {"link.bandwidth": 1e9 / line[1], "nand.tR": min(more, near / 2),
                 "ftl.map_read": max(line[0] + _KIB * line[1] - near, 0.0)}
        found["link.command_overhead"] = max(near - _KIB * line[1] - found["nand.tR"], near / 10)
        found["ftl.part_write"] = _of_half(points, page)
        tail = _of_tail(points, page)
        if tail is not None:
            found["ftl.tail_write"] = max(tail - found["ftl.part_write"], 0.0)
    return found


def copied_ns(points: Sequence[Point], pages: int) -> float | None:
    """ns that a merge takes for each of the pages of a unit; None if no merge was measured."""
    merge = open_units.merge_from(points)
    return merge / pages if merge is not None else None


def _of_half(points: Sequence[Point], page: int) -> float:
    """ns that half a page takes longer than a whole one, of scattered writes."""
    written = {size: whole for size, (whole, _) in behaviour.scattered_times(points).items()}
    return max(written.get(page // 2, 0.0) - written.get(page, math.inf), 0.0)


def _of_tail(points: Sequence[Point], page: int) -> float | None:
    """ns that a write of a page and a half takes longer than one of two pages, and one of four and
    a half longer than five, whichever is less; None if that was not measured."""
    each: dict[int, float] = {}
    for p in points:
        how = dict(p.parameters)
        bs = int(how.get("bs", 0))
        if p.procedure == "seq-write" and int(how["size"]) >= 4 * bs:
            each.setdefault(bs, bs * 1e9 / p.value)  # the first of a size is not shifted
    whole = each.get(2 * page)
    more = [each[bs] - (bs // page + 1) * whole / 2
            for bs in (page * 3 // 2, page * 9 // 2) if bs in each and whole is not None]
    return min(more, default=None)
