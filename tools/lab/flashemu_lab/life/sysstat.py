# SPDX-License-Identifier: BSD-3-Clause
"""Rates of writes as the programs of sysstat print them, in any version and language.

    iostat [-x] [-k|-m] [-t] [-h]   tables; of several reports all behind the first one count, which
                                    is since the start of the machine
    sar -d [-p], sar -b             tables; lines that begin with "Average:", in any language, stand
                                    for all others; -b has all disks in one
    sadf -d, -dh, -p                fields between semicolons or tabulators
    iostat -o JSON, sadf -j, -x     objects

The names of columns tell what is what, and no language changes them.  A number may have a comma and
a unit, such as 12,5k.  A table ends with an empty line, so other tables in between do not matter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Iterable, Iterator, Mapping, Sequence

from ..core.errors import LabError
from ..core.json_text import loads
from .diskstats import SECTOR
from .reading import DAY, Reading, pick

ALL = "all disks"
# Columns with bytes written a second, and what one of their numbers means; a kB has 1024 bytes.
_WRITTEN = {"wkb/s": 1024, "wmb/s": 2**20, "wsec/s": SECTOR, "wr_sec/s": SECTOR, "kb_wrtn/s": 1024,
            "mb_wrtn/s": 2**20, "blk_wrtn/s": SECTOR, "bwrtn/s": SECTOR}
# The same of a whole report, which tells how long it was.
_SUMS = {"kb_wrtn": 1024, "mb_wrtn": 2**20, "blk_wrtn": SECTOR}
# Columns with the mean size of a write, or of any request.
_SIZES = {"wareq-sz": 1024, "areq-sz": 1024, "avgrq-sz": SECTOR}
_WRITES = ("w/s", "wtps")
# Objects have some columns by other names.
_OF_OBJECTS = {"wkb": "wkb/s", "wmb": "wmb/s", "wr_sec": "wr_sec/s", "wsec": "wsec/s", "w": "w/s",
               "bwrtn": "bwrtn/s"}
_TOGETHER = ("kb_w+d/s", "mb_w+d/s", "blk_w+d/s", "kb/s", "mb/s", "sec/s")
_UNITS = {"": 0, "s": SECTOR, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
# None is below zero: counters that went round in some version of sysstat have given such.
_NUMBER = re.compile(r"(\d+(?:[.,]\d+)?)([sBkMGT]?)")
_CLOCK = re.compile(r"(?:\S*\d[-/.]\d\S*?[ T])?(\d\d?)[^\s\d](\d\d)[^\s\d](\d\d)\S?"
                    r"(?: ?([AP])M\b)?")
_ONLY_CLOCK = re.compile(_CLOCK.pattern + r"[+-]?(?:\d{4})?")
_MEAN = re.compile(r"\D*[:\uff1a](?=\s)")  # in any language
_BANNER = re.compile(r"^Linux \S+ \(.*\)\s", re.MULTILINE)


@dataclass(frozen=True)
class _Row:
    """report   in which it stands, from 1
    requests of all kinds in a second, which have the mean size; 1 if it does not say so
    weight   seconds for which it stands; 0 if it does not say so
    clock    seconds of the day in front of it, if there are any
    """

    report: int
    average: bool
    device: str
    written: float
    writes: float
    size: float
    requests: float = 1
    weight: float = 0
    clock: float | None = None


def kind_of(text: str) -> str:
    """"iostat", "sar", or "" for anything else."""
    if "<sysstat" in text:
        return "sar"
    if text.lstrip().startswith("{"):
        return "iostat" if '"disk_device"' in text else "sar" if '"sysstat"' in text else ""
    lines = text.splitlines()
    if any(_fields(line) for line in lines):
        return "sar"
    for line in lines:
        if _columns(line):
            return "iostat" if re.search(r"\bDevice:?\s", f"{line} ") else "sar"
    return "sar" if _BANNER.search(text) else ""


def read(text: str, device: str, name: str) -> Reading:
    """The rate of one device."""
    kind = kind_of(text)
    if "<sysstat" in text:
        rows = list(_of_elements(text, name))
    elif text.lstrip().startswith("{"):
        rows = list(_of_objects(text, name))
    elif any(_fields(line) for line in text.splitlines()):
        rows = list(_of_fields(text, name))
    else:
        rows = list(_of_tables(text, name))
    if not any(row.device for row in rows):
        words = {w.lower() for line in text.splitlines() for w in re.split(r"[\s\";]+", line)}
        why = "; its rates are of writes and others together, so leave out -s" \
            if words & set(_TOGETHER) else "; sar -d and iostat print it"
        raise LabError(f"{name}: has no line with the rate of writes of a device{why}")
    return _judged(rows, kind, device, name)


def _judged(rows: Sequence[_Row], kind: str, device: str, name: str) -> Reading:
    chosen = _chosen(rows, kind)
    total: dict[str, float] = {}
    for row in chosen:
        total[row.device] = total.get(row.device, 0) + row.written * (row.weight or 1)
    picked = pick(total, device, name)
    mine = [row for row in chosen if row.device == picked]
    known = all(row.weight for row in mine)
    each = [row.weight if known else 1.0 for row in mine]
    written, writes = (sum(w * getattr(row, what) for w, row in zip(each, mine)) / sum(each)
                       for what in ("written", "writes"))
    sizes = [(w * row.requests, row.size) for w, row in zip(each, mine) if row.size and row.written]
    requests = sum(n for n, _ in sizes)
    size = sum(n * s for n, s in sizes) / requests if requests else 0.0
    if writes:
        size = written / writes
    clocks = [row.clock for row in rows if row.device in (picked, "") and row.clock is not None]
    seconds = sum((b - a) % DAY for a, b in zip(clocks, clocks[1:]))
    return Reading(kind, picked, written * DAY, size, sum(each) if known else seconds)


def _chosen(rows: Sequence[_Row], kind: str) -> list[_Row]:
    """The rows that stand for the whole time, of single devices if there are any."""
    rows = [row for row in rows if row.device]  # others are clocks
    single = [row for row in rows if row.device != ALL] or rows
    average = [row for row in single if row.average]
    later = [row for row in single if row.report > 1]
    return average or (later if kind == "iostat" and later else single)


# ---- values ----

def _number(word: str, unit: float) -> float | None:
    """A number of so many bytes each, unless it has a unit of its own."""
    found = _NUMBER.fullmatch(word)
    return float(found[1].replace(",", ".")) * (_UNITS[found[2].lower()] or unit) if found else None


def _row(values: Mapping[str, str], device: str, report: int, where: str) -> _Row | None:
    """A row from its columns; None if none of them says what was written."""
    column = next((c for c in _WRITTEN if c in values), None)
    if not column:
        return None
    written = _number(values[column], _WRITTEN[column])
    if written is None:
        raise LabError(f"{where}: {column} is '{values[column]}', which is no number")
    writes = next((_number(values[c], 1) for c in _WRITES if c in values), 0)
    size = next((_number(values[c], unit) for c, unit in _SIZES.items() if c in values), 0)
    total = next((_number(values[c], unit) for c, unit in _SUMS.items() if c in values), 0)
    requests = _number(values["tps"], 1) if "tps" in values else 1
    return _Row(report, False, device, written, writes or 0, size or 0, requests or 0,
                (total or 0) / written if written > 1024 else 0)


# ---- tables ----

def _columns(line: str) -> list[str] | None:
    """The names of the columns in the head of a table with rates of writes."""
    words = [w.rstrip(":").lower() for w in line.split()]
    if {"device", "dev"} & set(words) and set(_WRITTEN) & set(words) or "bwrtn/s" in words:
        return words
    return None


def _clock(line: str) -> float | None:
    """Seconds of the day at the beginning of a line, or behind a date there."""
    found = _CLOCK.match(line.strip())
    if not found:
        return None
    hour = int(found[1]) % 12 + 12 * (found[4] == "P") if found[4] else int(found[1])
    return hour * 3600.0 + int(found[2]) * 60 + int(found[3])


class _Span:
    """For how many seconds a mean stands: from the first clock of its table to the last one."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last: float | None = None

    def read(self, line: str, clock: float | None) -> None:
        """The next line, with the seconds of the day in front of it."""
        if clock is not None:
            more = self.seconds + (clock - self._last) % DAY if self._last is not None else 0.0
            self.seconds, self._last = more, clock
        elif _MEAN.match(line):
            self._last = None  # the next clock begins another table


def _of_tables(text: str, name: str) -> Iterator[_Row]:
    columns: list[str] | None = None
    report, alone = 0, ""
    span = _Span()
    for number, line in enumerate(text.splitlines(), 1):
        found, clock, words = _columns(line), _clock(line), line.split()
        span.read(line, clock)
        if _BANNER.match(line):  # the program was started once more, as for another day
            columns, report, alone = None, 0, ""
        elif found or (clock is not None and not columns):
            if clock is not None and (found or _ONLY_CLOCK.fullmatch(line.strip())):
                yield _Row(report, False, "", 0, 0, 0, clock=clock)  # the beginning of what follows
            columns, report = found, report + bool(found)
        elif not words:
            columns = None
        elif columns and len(words) == 1 and len(columns) > 1 and "device" in columns:
            alone = words[0]  # old versions give a long name a line of its own
        elif columns and not re.search(r"\bRESTART\b|\s COM ", line):
            words, alone = ([alone] if alone else []) + words, ""
            if len(words) != len(columns):
                raise LabError(f"{name}:{number}: has {len(words)} columns instead of "
                               f"{len(columns)}; it has been cut off")
            values = dict(zip(columns, words))
            device = values.get("device", values.get("dev", ALL)).rstrip(":")
            row = _row(values, device, report, f"{name}:{number}")
            average = "device" not in columns and _MEAN.match(line)
            if row and average:
                yield replace(row, average=True, weight=span.seconds)
            elif row:
                yield replace(row, clock=clock)


# ---- fields ----

def _fields(line: str) -> list[str] | None:
    """The names in the head of what sadf -d prints, or the fields of a line of sadf -p."""
    if line.startswith("# hostname;"):
        return line.removeprefix("# ").removesuffix("[...]").strip().lower().split(";")
    words = line.split("\t")
    return words if len(words) == 6 and re.fullmatch(r"-?\d+", words[1]) else None


def _of_fields(text: str, name: str) -> Iterator[_Row]:
    head: list[str] = []
    single: dict[tuple[str, str, str], dict[str, str]] = {}  # of sadf -p, by device and time
    for number, line in enumerate(text.splitlines(), 1):
        where, found = f"{name}:{number}", _fields(line)
        if found and line.startswith("#"):
            head = found
        elif found:
            key = (found[3] if found[3] != "-" else ALL, found[2], found[1])
            single.setdefault(key, {})[found[4].lower()] = found[5]
        elif head and ";" in line and "RESTART" not in line and not line.startswith("#"):
            yield from _of_semicolons(head, line.split(";"), where)
    for (device, _, interval), values in single.items():
        row = _row(values, device, 1, name)
        if row:
            yield replace(row, weight=float(interval))


def _of_semicolons(head: list[str], words: list[str], where: str) -> Iterator[_Row]:
    """A line: what is of the machine, and then once or several times what is of a device."""
    first = head.index("dev") if "dev" in head else len(head)
    each = len(head) - first
    if len(words) < 3 or len(words) < first or each and (len(words) - first) % each:
        raise LabError(f"{where}: has {len(words)} fields instead of {len(head)}; it has been cut "
                       "off")
    parts = [(ALL, dict(zip(head[:first], words)))]
    for i in range(first, len(words), max(1, each)):
        parts.append((words[i], dict(zip(head[first:], words[i:i + each]))))
    for device, values in parts:
        row = _row(values, device, 1, where)
        if row and float(words[1]) > 0:
            yield replace(row, weight=float(words[1]))


# ---- objects ----

def _of_objects(text: str, name: str) -> Iterator[_Row]:
    # Old versions write numbers in the language of the user.
    found = loads(re.sub(r"(\":\s*-?\d+),(\d\d)(?=\s*[,}\]])", r"\1.\2", text), name)
    try:
        statistics = [s for host in found["sysstat"]["hosts"] for s in host["statistics"]]
    except (KeyError, TypeError) as e:
        raise LabError(f"{name}: has no sysstat.hosts.statistics") from e
    for report, one in enumerate(statistics, 1):
        try:
            time = one.get("timestamp", {})
            weight = float(time.get("interval", 0)) if isinstance(time, dict) else 0.0
            clock = _clock(time) if isinstance(time, str) else None
            parts = list(_objects(one))
        except (AttributeError, TypeError, ValueError) as e:
            raise LabError(f"{name}: report {report} is not what sysstat prints") from e
        for device, values in parts:
            row = _row(values, device, report, name)
            if row:
                yield replace(row, weight=weight or row.weight, clock=clock)


def _objects(one: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """What a report says about devices, with the names of columns."""
    parts = [(d.get("disk_device", d.get("disk-device", ALL)), d) for d in one.get("disk", [])]
    io = one.get("io", {})
    parts.append((ALL, {**io.get("io-writes", {}), "tps": io.get("tps", 0)}))
    for device, values in parts:
        yield str(device), _named((k, str(v)) for k, v in values.items())


def _named(values: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Values of an object by the names of columns."""
    return {_OF_OBJECTS.get(k.lower(), k.lower()): v for k, v in values}


def _of_elements(text: str, name: str) -> Iterator[_Row]:
    """What sadf -x prints."""
    weight = 0.0
    for found in re.finditer(r'<timestamp [^>]*interval="(\d+)"|<disk-device ([^>]*)>', text):
        weight = float(found[1]) if found[1] else weight
        values = _named(re.findall(r'([\w-]+)="([^"]*)"', found[2] or ""))
        row = _row(values, values.get("dev", ""), 1, name)
        if row:
            yield replace(row, weight=weight)
