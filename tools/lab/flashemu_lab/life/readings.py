# SPDX-License-Identifier: BSD-3-Clause
"""What a machine says about its writes: /proc/diskstats, iostat, sar -d, and mmc extcsd read.

These have sums and no requests: bytes a day, and at best the mean size of a write.  The shape of
the requests is assumed by whoever uses a reading.

    diskstats   sums since the start of the machine, so two readings and the time between them
    iostat      rates: with several reports the mean of all behind the first one, which is since
                the start of the machine
    sar -d      rates: the line "Average:", or the mean of all rows
    extcsd      life used up in steps of 10 %, so the age of the device is needed
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Iterable, Mapping, Sequence

from ..core.errors import LabError

SECTOR = 512
DAY = 86400.0
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")
# Columns with bytes written, and what one of their numbers means; sysstat's kB are of 1024 bytes.
_WRITTEN = {"wkb/s": 1024, "wmb/s": 2**20, "wsec/s": SECTOR, "wr_sec/s": SECTOR, "kb_wrtn/s": 1024,
            "mb_wrtn/s": 2**20, "blk_wrtn/s": SECTOR}
# Columns with the mean size of a write, or of any request.
_SIZES = {"wareq-sz": 1024, "areq-sz": 1024, "rareq-sz": 0, "avgrq-sz": SECTOR}
_DISK = re.compile(r"mmcblk\d+|sd[a-z]+|vd[a-z]+|nvme\d+n\d+|xvd[a-z]+|hd[a-z]+|nbd\d+|dev\d+-\d+")


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


@dataclass(frozen=True)
class Health:
    """What an eMMC says about itself: shares of its life that are used up, as (least, most), by
    type of its blocks; and whether its spares are nearly gone (1 normal, 2 warning, 3 urgent, 0
    nothing).
    """

    used: Mapping[str, tuple[float, float]]
    spares: int


def kind_of(text: str) -> str:
    """"diskstats", "iostat", "sar", "extcsd", or "" for anything else."""
    lines = text.splitlines()
    if re.search(r"LIFE_TIME_EST|PRE_EOL_INFO|Extended CSD rev", text):
        return "extcsd"
    if any(_header(line) for line in lines):
        return "sar" if any("DEV" in line.split() for line in lines) else "iostat"
    return "diskstats" if any(_sums(line) for line in lines) else ""


# ---- sums ----

@dataclass(frozen=True)
class Sums:
    """Of one device in /proc/diskstats: writes that ended, and bytes that they wrote."""

    writes: int
    written: int


def _sums(line: str) -> tuple[str, Sums] | None:
    words = line.split()
    if len(words) < 14 or not re.fullmatch(r"[A-Za-z][\w!-]*", words[2]) or not all(
            w.isdigit() for w in (*words[:2], *words[3:14])):
        return None
    return words[2], Sums(int(words[7]), int(words[9]) * SECTOR)


def _when(text: str) -> float | None:
    """Seconds of a clock in front of a reading: a date, seconds since 1970, or /proc/uptime."""
    for line in text.splitlines():
        if _sums(line):
            continue
        found = re.search(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", line)
        if found:
            return datetime.datetime.fromisoformat(found[0].replace(" ", "T")).timestamp()
        found = re.search(r"[A-Z][a-z]{2} +([A-Z][a-z]{2}) +(\d+) +(\d\d:\d\d:\d\d).* (\d{4})",
                          line)
        if found:
            return datetime.datetime.strptime(" ".join(found.groups()),
                                              "%b %d %H:%M:%S %Y").timestamp()
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)(?:\s+\d+\.\d+)?\s*", line)
        if found:
            return float(found[1])
    return None


def _readings(text: str) -> list[str]:
    """The readings in a text: a new one begins where a device comes again."""
    parts: list[list[str]] = [[]]
    seen: set[str] = set()
    for line in text.splitlines():
        found = _sums(line)
        if not found and seen:  # a date stands in front of its reading
            parts.append([])
            seen = set()
        elif found and found[0] in seen:
            parts.append([])
            seen = set()
        if found:
            seen.add(found[0])
        parts[-1].append(line)
    texts = ["\n".join(part) for part in parts]
    return [t for t in texts if any(_sums(line) for line in t.splitlines())]


def _pick(names: Iterable[str], written: Mapping[str, float], device: str, name: str) -> str:
    """The device that is meant: the given one, or the whole disk with most writes."""
    known = list(names)
    if device:
        short = device.removeprefix("/dev/")
        if short not in known:
            raise LabError(f"{name}: has no device '{short}'; it has {', '.join(known)}")
        return short
    disks = [n for n in known if _DISK.fullmatch(n)] or known
    if not disks:
        raise LabError(f"{name}: has no device")
    return max(disks, key=lambda n: written[n])


def diskstats(texts: Sequence[tuple[str, str]], device: str, apart: float) -> Reading:
    """Two readings, each with its name, or one text that has both; `apart` seconds lie between
    them, 0 if the readings say it."""
    name = texts[0][0]
    parts = [part for _, text in texts for part in _readings(text)]
    if len(parts) < 2:
        raise LabError(f"{name}: is one reading of /proc/diskstats, which has sums since the "
                       "machine "
                       "was started; a second one is needed, some hours later")
    tables = [dict(found for found in map(_sums, part.splitlines()) if found)
              for part in (parts[0], parts[-1])]
    grown = {n: float(tables[1][n].written - tables[0][n].written) for n in tables[1]
             if n in tables[0]}
    if not grown:
        raise LabError(f"{name}: the two readings have no device in common")
    chosen = _pick(grown, {n: abs(bytes_) for n, bytes_ in grown.items()}, device, name)
    clocks = [_when(part) for part in (parts[0], parts[-1])]
    if not apart and clocks[0] is not None and clocks[1] is not None:
        apart = clocks[1] - clocks[0]
    if not apart:
        raise LabError(f"{name}: the readings do not say how much time lies between them; --apart "
                       "TIME "
                       "says it")
    writes = tables[1][chosen].writes - tables[0][chosen].writes
    if apart < 0 or grown[chosen] < 0 or writes < 0:
        raise LabError(f"{name}: {chosen} has written less in the second reading than in the "
                       "first; "
                       "the machine was started anew between them, or their order is wrong")
    return Reading("/proc/diskstats", chosen, grown[chosen] / apart * DAY,
                   grown[chosen] / writes if writes else 0, apart)


# ---- rates ----

def _header(line: str) -> dict[str, int] | None:
    """The places of the columns, with that of the device's name as "device"."""
    words = [w.rstrip(":").lower() for w in line.split()]
    for word in ("device", "dev"):
        if word in words and any(w in _WRITTEN for w in words):
            return {**{w: i for i, w in enumerate(words)}, "device": words.index(word)}
    return None


def _number(word: str) -> float | None:
    return float(word.replace(",", ".")) if _NUMBER.fullmatch(word) else None


@dataclass(frozen=True)
class _Row:
    report: int
    average: bool
    device: str
    written: float
    writes: float
    size: float
    clock: float | None


def _clock(line: str) -> float | None:
    """Seconds of the day at the beginning of a line."""
    found = re.match(r"(\d\d):(\d\d):(\d\d)(?: (AM|PM))?", line.strip())
    if not found:
        return None
    hour = int(found[1]) % 12 + 12 * (found[4] == "PM") if found[4] else int(found[1])
    return hour * 3600.0 + int(found[2]) * 60 + int(found[3])


def _row(columns: Mapping[str, int], line: str, report: int) -> _Row | None:
    words = line.split()
    if len(words) <= max(columns.values()):
        return None
    written, size = None, 0.0
    for column, unit in _WRITTEN.items():
        if column in columns and written is None:
            value = _number(words[columns[column]])
            written = None if value is None else value * unit
    for column, unit in _SIZES.items():
        if column in columns and not size:
            size = (_number(words[columns[column]]) or 0) * unit
    if written is None:
        return None
    writes = _number(words[columns["w/s"]]) if "w/s" in columns else None
    return _Row(report, line.strip().lower().startswith("average"), words[columns["device"]].rstrip(
        ":"), written, writes or 0, size, _clock(line))


def rates(text: str, kind: str, device: str, name: str) -> Reading:
    """What iostat or sar has printed."""
    rows: list[_Row] = []
    columns: dict[str, int] | None = None
    report = 0
    for line in text.splitlines():
        found = _header(line)
        if found:
            report += 1
            columns = found
        elif columns:
            row = _row(columns, line, report)
            rows += [row] if row else []
    if not rows:
        raise LabError(f"{name}: has no line with the rate of writes of a device")
    chosen = _chosen(rows, kind)
    total: dict[str, float] = {}
    for row in chosen:
        total[row.device] = total.get(row.device, 0) + row.written
    picked = _pick(total, total, device, name)
    mine = [row for row in chosen if row.device == picked]
    written = sum(row.written for row in mine) / len(mine)
    writes = sum(row.writes for row in mine) / len(mine)
    sizes = [row.size for row in mine if row.size and row.written]
    size = written / writes if writes else sum(sizes) / len(sizes) if sizes else 0
    clocks = [row.clock for row in rows if row.device == picked and row.clock is not None]
    seconds = sum((b - a) % DAY for a, b in zip(clocks, clocks[1:]))
    return Reading(kind, picked, written * DAY, size, seconds)


def _chosen(rows: list[_Row], kind: str) -> list[_Row]:
    """The rows that stand for the whole time."""
    average = [row for row in rows if row.average]
    if average:
        return average
    later = [row for row in rows if row.report > 1]
    return later if kind == "iostat" and later else rows


# ---- health ----

def health(text: str, name: str) -> Health:
    """What an eMMC says in its extended CSD."""
    used: dict[str, tuple[float, float]] = {}
    for kind in "AB":
        found = re.search(rf"LIFE_TIME_EST(?:IMATION)?_TYP_{kind}\W*(0x[0-9a-fA-F]+)", text)
        step = int(found[1], 16) if found else 0
        if step > 11:
            raise LabError(f"{name}: type {kind} is {found[1] if found else ''}; allowed: 0x00 to "
                           "0x0b")
        if step:
            used[kind] = ((step - 1) / 10, min(step, 10) / 10)
    found = re.search(r"PRE_EOL_INFO\W*(0x[0-9a-fA-F]+)", text)
    if not used:
        raise LabError(f"{name}: the device does not say how much of its life is used up "
                       "(DEVICE_LIFE_TIME_EST is missing or 0x00)")
    return Health(used, int(found[1], 16) if found else 0)
