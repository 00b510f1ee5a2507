# SPDX-License-Identifier: BSD-3-Clause
"""What the points of a measurement can tell about a structure, whatever their values are.

A point speaks about a number of the structure if a device with another number would give another
point.  For sizes that takes a ladder of at least three tests which differ in nothing but a size,
and it speaks about the sizes from its first rung to its last:

                       -a, reads across multiples          writes by size of the command
    page               |--|--|                             |--|--|
    unit                        |--|--|--|                          |--|--|   in random order
    align or size      2K 8K 64K  512K  2M  64M            4K 16K 64K  512K 4M

    the page           reads across multiples of up to 64 KiB; writes of up to 64 KiB
    the unit           reads across multiples from 128 KiB on; writes in random order by size; -O
                       with several numbers of units or in random order; the tests of `probe`
    open units         -O, or the passes of `probe`, with several numbers of units; each order for
                       itself
    the map            whether writes are mapped by pages or by units: the same as for open units,
                       or writes of one size in order and in random order, or a ladder of those

What a ladder says is not asked here: that nothing stands out is an answer, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Mapping, Sequence

from ..measurement.schema import Point, Scalar, each
from .tests import (flashbench_open_units, open_units, structure, unit_crossings, unit_pairs,
                    unit_reads, unit_size)

_KIB, _MIB = 1 << 10, 1 << 20
_RUNGS = 3
_LARGEST_PAGE = 64 * _KIB
_LARGEST_UNIT = 64 * _MIB
# What writes a region in one order, in words of iozone.
_IOZONE = {"write": "sequential", "rewrite": "sequential", "random-write": "random"}


@dataclass(frozen=True)
class Sizes:
    """The sizes about which points speak, in bytes, both ends included."""

    least: int
    most: int

    def has(self, size: int) -> bool:
        """Whether they speak about this one."""
        return self.least <= size <= self.most


@dataclass(frozen=True)
class Told:
    """What points speak about; None or False: about nothing of that kind."""

    page: Sizes | None
    unit: Sizes | None
    open_linear: bool
    open_random: bool
    map: bool

    @property
    def structure(self) -> bool:
        """Whether they speak about everything that decides where a partition should begin."""
        return self.page is not None and self.unit is not None and self.map

    def untold(self) -> list[str]:
        """In words what they do not show."""
        return [words for words, told in (
            ("how large a page is", self.page), ("how large an allocation unit is", self.unit),
            ("whether writes are mapped by pages or by units", self.map),
            ("how many units are open in order", self.open_linear),
            ("how many units are open in random order", self.open_random)) if not told]


def told(points: Sequence[Point]) -> Told:
    """What these points speak about."""
    linear, in_random = (_counts_units(points, order) for order in (False, True))
    scattered = _joined(_ladder(sizes) for sizes in _written(points, "random"))
    return Told(_page(points), _unit(points, linear or in_random, scattered), linear, in_random,
                linear or in_random or scattered is not None or _both_orders(points)
                or _probed(points))


def _ladder(sizes: Iterable[int]) -> Sizes | None:
    found = set(sizes)
    return Sizes(min(found), max(found)) if len(found) >= _RUNGS else None


def _joined(every: Iterable[Sizes | None]) -> Sizes | None:
    some = [sizes for sizes in every if sizes]
    return Sizes(min(s.least for s in some), max(s.most for s in some)) if some else None


def _page(points: Sequence[Point]) -> Sizes | None:
    writes = [row for order in ("sequential", "random") for row in _written(points, order)]
    return _joined([_ladder(structure.page_read_excesses(points)),
                    *(_ladder(size for size in row if size <= _LARGEST_PAGE) for row in writes)])


def _unit(points: Sequence[Point], counted: bool, scattered: Sizes | None) -> Sizes | None:
    large = [align for align in unit_reads.excesses(points)
             if 2 * _LARGEST_PAGE <= align <= _LARGEST_UNIT]
    rows = [int(how["erasesize"]) for how, _ in each(points, "flashbench-open-au")]
    return _joined([_ladder(large), scattered,
                    Sizes(1, max(rows)) if counted and rows else None,
                    Sizes(1, _LARGEST_UNIT) if _probed(points) else None])


def _probed(points: Sequence[Point]) -> bool:
    """Whether tests of `probe` have asked for the unit by writes."""
    return bool(unit_crossings.excesses(points) or unit_pairs.pairs(points)) or \
        unit_size.shown(points) is not None


def _counts_units(points: Sequence[Point], in_random_order: bool) -> bool:
    return len(flashbench_open_units.rows(points, in_random_order)) > 1 or \
        bool(open_units.rows(points, in_random_order))


def _written(points: Sequence[Point], order: str) -> list[set[int]]:
    """The sizes of the commands that were written in this order, of each sort of test and each
    rest of its words for itself.  A write through the cache of the host says nothing about
    sizes."""
    found: dict[tuple[object, ...], set[int]] = {}
    for p in points:
        how: Mapping[str, Scalar] = dict(p.parameters)
        size = how.get("chunk", how.get("bs"))
        if size is None or order_written(p) != order or how.get("direct") is False:
            continue
        rest = (item for item in how.items() if item[0] not in (
            "chunk", "bs", "size", "offset", "file", "bytes", "job", "unit", "start", "stride"))
        found.setdefault((p.procedure, *rest), set()).add(int(size))
    return list(found.values())


def order_written(p: Point) -> str:
    """"sequential" or "random" for writes whose order counts; "" for everything else."""
    how = dict(p.parameters)
    if p.procedure == "flashbench-open-au":
        return "random" if how["random"] else "sequential"
    if p.procedure == "iozone":
        return _IOZONE.get(str(how["test"]), "")
    if p.procedure in ("flashbench-find-fat", "seq-write"):
        return "sequential"
    return "" if how.get("op") != "write" else \
        "sequential" if p.procedure == "dd" else str(how.get("pattern", ""))


def _both_orders(points: Sequence[Point]) -> bool:
    """Whether commands of one size were written in order and in random order."""
    in_order, scattered = ({size for row in _written(points, order) for size in row}
                           for order in ("sequential", "random"))
    return bool(in_order & scattered)
