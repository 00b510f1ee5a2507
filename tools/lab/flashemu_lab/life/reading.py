# SPDX-License-Identifier: BSD-3-Clause
"""A reading: what counters say about the writes of one device, which one it is, and clocks."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Mapping, Sequence

from ..core.errors import LabError

DAY = 86400.0
# A pair of readings further apart has the time of a clock that nobody had set.
_FARTHEST = 20 * 365.25 * DAY
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DISK = re.compile(r"mmcblk\d+|sd[a-z]+|vd[a-z]+|nvme\d+n\d+|xvd[a-z]+|hd[a-z]+|nbd\d+|dev\d+-\d+")

# Which clock it is, because two of a kind are needed, and its seconds.
Clock = tuple[str, float]


@dataclass(frozen=True)
class Reading:
    """device   whose writes these are
    per_day  bytes that the host writes in a day
    size     mean bytes of a write; 0 if nobody knows
    seconds  over which it was; 0 if nobody knows
    """

    kind: str
    device: str
    per_day: float
    size: float
    seconds: float


def pick(written: Mapping[str, float], device: str, name: str) -> str:
    """The device that is meant: the given one, or the whole disk with most writes.  `name` is that
    of the text."""
    if device:
        short = device.removeprefix("/dev/")
        if short not in written:
            raise LabError(f"{name}: has no device '{short}'; it has {', '.join(written)}")
        return short
    disks = [n for n in written if DISK.fullmatch(n)] or list(written)
    return max(disks, key=lambda n: written[n])


def clock_of(line: str) -> Clock | None:
    """A date, seconds since 1970, or /proc/uptime; None for a date that there is not."""
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d+)?)(\s+\d+\.\d+)?\s*", line, re.ASCII)
    if found:
        return "uptime" if found[2] else "seconds", float(found[1])
    found = re.search(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,]\d+)?(?: ?([+-]\d\d):?(\d\d))?",
                      line, re.ASCII)
    if not found:
        return _spoken_date(line)
    zone = f"{found[3]}:{found[4]}" if found[3] else "+00:00"
    try:
        return "date", datetime.datetime.fromisoformat(f"{found[1]}T{found[2]}{zone}").timestamp()
    except ValueError:
        return None


def _spoken_date(line: str) -> Clock | None:
    """What date(1) prints: "Mon Nov 30 01:00:00 PM UTC 2026" or "Mon 30 Nov 13:00:00 UTC 2026"."""
    clock = re.search(r"\b(\d\d?):(\d\d):(\d\d)(?: ?([AP])\.?M\b)?", line, re.ASCII)
    year = re.search(r"\b(?:19|20)\d\d\b", line, re.ASCII)
    month = re.search(r"\b(" + "|".join(_MONTHS) + r")", line.lower())
    day = re.search(r"(?<![:\d])(\d\d?)\.?,?(?= )", line, re.ASCII)
    if not clock or not year or not month or not day:
        return None
    hour = int(clock[1]) % 12 + 12 * (clock[4] == "P") if clock[4] else int(clock[1])
    try:
        when = datetime.datetime(int(year[0]), _MONTHS.index(month[1]) + 1, int(day[1]), hour,
                                 int(clock[2]), int(clock[3]), tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
    return "date", when.timestamp()


def between(clocks: Sequence[Clock | None], apart: float, name: str) -> float:
    """Seconds between the first and the last reading, by their clocks or as given."""
    if apart > _FARTHEST:
        raise LabError(f"{name}: --apart {apart:g}s: allowed: up to 20y")
    if None in clocks or len({c[0] for c in clocks if c}) > 1:
        if not apart:
            raise LabError(f"{name}: the readings do not say how much time lies between them; "
                           "--apart TIME says it")
        return apart
    times = [c[1] for c in clocks if c]
    if times != sorted(times):
        raise LabError(f"{name}: a later reading has an earlier time; their order is wrong")
    if times[-1] == times[0]:
        raise LabError(f"{name}: the readings are of the same time; a second one is needed, some "
                       "hours later")
    if times[-1] - times[0] > _FARTHEST:
        years = (times[-1] - times[0]) / 365.25 / DAY
        raise LabError(f"{name}: the readings are {years:.0f} years apart by their own times; had "
                       "somebody set the clock before the first one?")
    if apart and abs(apart / (times[-1] - times[0]) - 1) > 0.02:
        raise LabError(f"{name}: --apart says {apart:g} s, and the readings' own times "
                       f"{times[-1] - times[0]:g} s")
    return times[-1] - times[0]
