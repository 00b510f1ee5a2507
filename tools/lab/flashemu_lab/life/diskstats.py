# SPDX-License-Identifier: BSD-3-Clause
"""Readings of /proc/diskstats: sums since the start of the machine, and the time between them.

A line has a number for each counter behind the name: 11, since Linux 4.18 15, since 5.5 17; before
2.6.25 a partition has 4 others.  A
counter has 32 bits on a small machine and goes round at 2^32, which is 2 TiB of sectors; one that
falls by less than half of that has been set back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Sequence

from ..core.errors import LabError
from ..core.text import listed
from .reading import DAY, DISK, Clock, Reading, between, clock_of, pick

SECTOR = 512
KIND = "/proc/diskstats"
_LINE = re.compile(r"\s*\d+\s+\d+\s+([A-Za-z][\w!./-]*)((?:\s+\d+)+)\s*", re.ASCII)
_OF_DISK = re.compile(rf"(?:{DISK.pattern})(?:p?\d+)?")  # the disk, or a partition
_ALLOWED, _OLD_PARTITION = (11, 15, 17), 4
# Places of the counters that only grow: reads and writes that ended, and their sectors.
_READS, _READ, _WRITES, _WRITTEN = 0, 2, 4, 6

Counters = tuple[int, ...]


@dataclass(frozen=True)
class _Table:
    """clock     what the clock in front of it says, if there is one
    devices   the counters, by device
    """

    clock: Clock | None
    devices: dict[str, Counters]


def _counters(line: str) -> tuple[str, Counters] | None:
    found = _LINE.fullmatch(line)
    return (found[1], tuple(map(int, found[2].split()))) if found else None


def is_one(text: str) -> bool:
    """Whether it has a line of /proc/diskstats."""
    found = filter(None, map(_counters, text.splitlines()))
    return any(len(counters) >= _ALLOWED[0] for _, counters in found)


def _tables(text: str, name: str) -> list[_Table]:
    """The readings in a text: a new one begins behind a clock, or where a device comes again."""
    tables: list[_Table] = []
    clock: Clock | None = None
    fresh, counted = True, 0
    for number, line in enumerate(text.splitlines(), 1):
        found = _counters(line)
        when = None if found else clock_of(line)
        if when:
            clock, fresh = when, True
        if not found:
            continue
        device, counters = found
        if len(counters) == _OLD_PARTITION and counted == _ALLOWED[0]:
            if not DISK.fullmatch(device):
                continue
        if fresh or device in tables[-1].devices:
            tables.append(_Table(clock, {}))
            clock, fresh, counted = None, False, len(counters)
        if len(counters) not in _ALLOWED and len(counters) < _ALLOWED[-1]:
            raise LabError(f"{name}:{number}: {device} has {len(counters)} numbers; allowed: "
                           f"{', '.join(map(str, _ALLOWED))} or more; has it been cut off?")
        tables[-1].devices[device] = counters
    return tables


def _grown(before: Counters, after: Counters, place: int) -> int | None:
    """What a counter grew by; None if it was set back."""
    by = after[place] - before[place]
    if by < 0 and before[place] < 2**32 and by + 2**32 < 2**31:
        by += 2**32
    return by if by >= 0 else None


def _sums(tables: Sequence[_Table], device: str, name: str) -> tuple[int, int]:
    """Writes that ended between the first table and the last one, and bytes that they wrote."""
    writes = sectors = 0
    for before, after in zip(tables, tables[1:]):
        grown = [_grown(before.devices[device], after.devices[device], place)
                 for place in (_READS, _READ, _WRITES, _WRITTEN)]
        if None in grown:
            raise LabError(f"{name}: {device} has smaller counters in a later reading; their order "
                           "is wrong, or the machine was started anew or the device attached anew "
                           "between them")
        writes += grown[2] or 0
        sectors += grown[3] or 0
    return writes, sectors * SECTOR


def _check_same(tables: Sequence[_Table], name: str) -> None:
    """LabError if a disk that was written to, or a partition, is not in all tables."""
    lone = [d for t in tables for d, counters in t.devices.items()
            if _OF_DISK.fullmatch(d) and counters[_WRITTEN]
            and not all(d in other.devices for other in tables)]
    if lone:
        raise LabError(f"{name}: {listed(sorted(set(lone)))} {'is' if len(lone) == 1 else 'are'} "
                       "not in each of the readings; are they of one machine, and whole? --device "
                       "NAME says whose counters count")


def read(texts: Sequence[tuple[str, str]], device: str, apart: float) -> Reading:
    """Readings, each with its name, or one text that has all; `apart` seconds lie between the first
    and the last one, 0 if the readings say it."""
    name = texts[0][0]
    tables = [table for its_name, text in texts for table in _tables(text, its_name)]
    if len(tables) < 2:
        raise LabError(f"{name}: is one reading of {KIND}, which has sums since the machine was "
                       "started; a second one is needed, some hours later")
    apart = between([t.clock for t in tables], apart, name)
    if all(t.devices == tables[0].devices for t in tables):
        raise LabError(f"{name}: both readings are the same, so nothing was written between them")
    common = [d for d in tables[0].devices if all(d in t.devices for t in tables)]
    if not common:
        raise LabError(f"{name}: the two readings have no device in common")
    if not device:
        _check_same(tables, name)
    chosen = pick({d: abs(tables[-1].devices[d][_WRITTEN] - tables[0].devices[d][_WRITTEN])
                   for d in common}, device, name)
    writes, written = _sums(tables, chosen, name)
    return Reading(KIND, chosen, written / apart * DAY, written / writes if writes else 0, apart)
