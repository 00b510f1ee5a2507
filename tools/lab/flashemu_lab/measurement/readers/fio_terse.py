# SPDX-License-Identifier: BSD-3-Clause
"""fio --output-format=terse (--minimal), versions 3, 4 and 5: a line for each section.

Its fields are numbers in the order of fio's HOWTO.  It says neither rw nor bs nor direct; the size
of a request follows if bytes, requests a second and time leave only one multiple of 512.
"""

from __future__ import annotations

import math
import re
from typing import Sequence

from .fio_jobs import Latency, Section, Side
from ..numbers import number
from ..reader import Line

_BEGIN = re.compile(r"([2-9]);(fio-[^;]{1,40});([^;]{0,200});(\d{1,6});(\d{1,6});(.*)")
_VERSIONS = {"3": ("read", "write"), "4": ("read", "write", "trim"), "5": ("read", "write", "trim")}
_SHARES = 20        # percentiles of a direction
_FIRST = 5          # the field with the KiB of the first direction
_US = 1e3


def section_of(line: Line) -> Section | None:
    """The section of a line; None if it is none of fio's terse output."""
    match = _BEGIN.fullmatch(line.text)
    if not match:
        return None
    fields = line.text.split(";")
    ops, width = _VERSIONS.get(match[1], ()), 41 + 6 * (match[1] == "5")
    after = _FIRST + width * len(ops)
    sides = {}
    wrong = "" if ops else f"terse output of version {match[1]} is not read; allowed: 3, 4 and 5"
    sizes: set[int] = set()
    try:
        for i, op in enumerate(ops):
            side, size = _side(fields[_FIRST + i * width:_FIRST + (i + 1) * width], width)
            if side:
                sides[op] = side
                sizes.add(size)
        depths = [number(text.rstrip("%")) for text in fields[after + 5:after + 12]]
        complete = len(fields) >= after + 12 + 22 or not ops
    except (ValueError, IndexError):
        complete, depths = False, []
    if not complete:
        wrong = "the line is cut off or damaged"
    derived = {"bs": str(min(sizes))} if len(sizes) == 1 and 0 not in sizes else {}
    if depths and max(depths[:6]) > 90:
        derived["iodepth"] = str(1 << depths.index(max(depths)))
    return Section(line.number, match[3], int(match[4]), int(match[5]), 0, sides, None, None, None,
                   derived, wrong, (line.text,))


def _side(fields: Sequence[str], width: int) -> tuple[Side | None, int]:
    """A direction and the size of its requests, 0 if it does not follow."""
    if len(fields) != width:
        raise ValueError
    kib, bw, iops, runtime = (number(text) for text in fields[:4])
    mean, spread = (number(text) for text in fields[10:12])
    lat = [number(text) for text in fields[34:36]]
    if not kib and not bw:
        return None, 0
    found = []
    for text in fields[12:12 + _SHARES]:
        share, _, value = text.partition("%=")
        if number(share) > 0:
            found.append((f"{number(share):.4f}".rstrip("0").rstrip("."), number(value) * _US))
    if not mean:
        mean, spread, found = lat[0], lat[1], []
    requests = iops * runtime / 1e3
    latency = Latency(mean * _US, spread * _US, max(requests, 1.0), tuple(found)) if mean else None
    return Side(max(requests, 1.0), bw * 1024, runtime, latency), _size(kib, iops, runtime)


def _size(kib: float, iops: float, runtime: float) -> int:
    """The only multiple of 512 that fits numbers which fio has rounded down; 0 if several do."""
    least = kib * 1024 * 1e3 / ((iops + 1) * (runtime + 1))
    most = (kib + 1) * 1024 * 1e3 / (iops * runtime) if iops * runtime else 0.0
    found = range(math.ceil(least / 512), math.floor(most / 512) + 1)
    return 512 * found[0] if len(found) == 1 else 0
