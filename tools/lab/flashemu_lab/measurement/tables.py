# SPDX-License-Identifier: BSD-3-Clause
"""Figures in tables: those that somebody has typed from a screen, and collections of many devices.

ATTO, HD Tune and CrystalDiskMark show figures and print no log.  So their figures are typed:

    program,op,block,value,unit
    atto,write,4K,3.12,MB/s
    atto,read,4K,6.51,MB/s
    hdtune,read,,20.5,MB/s
    hdtune-access,read,,0.9,ms

The first line names the columns, in any order.  A program is a row of `PROGRAMS`, which says what
is meant where a cell is empty.  Unlike a log, a table has no lines that mean nothing: a mistake
ends the import, with the line and what is allowed.

Collections are recognised by their first line as well.  They have many devices, so somebody has to
say which one.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass, replace
from statistics import median
from typing import Callable, Iterator, Mapping

from ..core.errors import LabError
from ..core.text import listed
from ..core.units import decimal
from .numbers import size
from .schema import Point, make_point

_KIB, _MIB = 1 << 10, 1 << 20
_RATES = {"B/s": 1.0, "kB/s": 1e3, "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "KiB/s": 2.0**10,
          "MiB/s": 2.0**20, "GiB/s": 2.0**30}
_TIMES = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_COUNTED = "IOPS"
# As people write them; kB/s and KB/s are the same.
_UNITS = {unit.lower(): unit for unit in (*_RATES, *_TIMES, _COUNTED)}
_OPS = ("read", "write")
_PATTERNS = ("sequential", "random")


@dataclass(frozen=True)
class Program:
    """What a figure of a program means.  What a cell says goes before.

    block, size   bytes of a request, and of the region; block 0: it must be said
    depth         requests in flight
    latency       the figure is the time of a request
    """

    pattern: str
    block: int
    size: int
    depth: int = 1
    latency: bool = False


# ATTO writes and reads a file of 256 MB with four requests in flight.  HD Tune reads 64 KiB at a
# time over the whole device, and single sectors for its access time; 256 MiB stand for the device.
PROGRAMS: Mapping[str, Program] = {
    "atto": Program("sequential", 0, 256 * _MIB, 4),
    "hdtune": Program("sequential", 64 * _KIB, 256 * _MIB),
    "hdtune-access": Program("random", 512, 256 * _MIB, latency=True),
    "cdm-seq": Program("sequential", _MIB, 1024 * _MIB, 8),
    "cdm-random": Program("random", 4 * _KIB, 1024 * _MIB),
    "other": Program("sequential", 0, 256 * _MIB),
}

_NEEDED = ("program", "op", "value", "unit")
_MAY_BE = ("block", "size", "depth", "pattern", "offset", "queue")


@dataclass(frozen=True)
class Row:
    """A line of a table: its number in the file, and its cells by column."""

    line: int
    cells: Mapping[str, str]

    def wrong(self, column: str, allowed: str) -> LabError:
        """A mistake in a cell; the name of the file is put in front later."""
        return LabError(f"{self.line}: {column}: {self.cells.get(column, '')}; allowed: {allowed}")


def _cells(line: str, number: int, mark: str) -> list[str]:
    """The cells of a line; none of them goes on in the next one."""
    try:
        return [c.strip() for c in next(csv.reader([line], delimiter=mark, strict=True))]
    except (csv.Error, StopIteration):
        raise LabError(f"{number}: is no line of a table: a quotation mark is missing") from None


def _marked(line: str, mark: str) -> str:
    """A line of a table in Markdown without the marks at its ends."""
    return line.strip().removeprefix("|").removesuffix("|") if mark == "|" else line


def _first(lines: list[str]) -> tuple[int, str]:
    """Where a table begins and what is between its cells; -1 if there is none.  A spreadsheet may
    say the mark in a line of its own.  Typed figures in Markdown may stand in a page."""
    for i, line in enumerate(lines):
        if line.strip().startswith("|"):
            columns = {c.strip().lower() for c in _marked(line, "|").split("|")}
            if columns.issuperset(_NEEDED):
                return i, "|"
    said = ""
    for i, line in enumerate(lines):
        if match := re.fullmatch(r"\"?sep=(.)\"?\s*", line, re.I):
            said = match[1]
        elif line.strip() and line[0] != "#":
            return i, said or max(",;\t", key=line.count)
    return -1, ""


def _apart(lines: list[str], first: int) -> tuple[list[str], str]:
    """A page with the lines of its table in Markdown alone, and the text of the others; each is in
    its place, so that numbers of lines stay right."""
    end = next((i for i in range(first, len(lines)) if not lines[i].strip().startswith("|")),
               len(lines))
    return ([line if first <= i < end else "" for i, line in enumerate(lines)],
            "\n".join("" if first <= i < end else line for i, line in enumerate(lines)))


def _rows(lines: list[str], first: int, mark: str) -> tuple[list[str], Iterator[Row]]:
    """The columns and the rows of a table; comments and blank lines are left out.  The names of the
    columns may be written with capital letters."""
    if first < 0:
        return [], iter(())
    columns = [c.lower() for c in _cells(_marked(lines[first], mark), first + 1, mark)]

    def rest() -> Iterator[Row]:
        for number, line in enumerate(lines[first + 1:], first + 2):
            if not line.strip() or line[0] == "#" or re.fullmatch(r"[\s|:-]+", line):
                continue
            cells = _cells(_marked(line, mark), number, mark)
            if len(cells) > len(columns):
                raise LabError(f"{number}: has {len(cells)} cells; allowed: {len(columns)}, as the "
                               "first line has")
            if any(cells):
                yield Row(number, dict(zip(columns, cells + [""] * len(columns))))
    return columns, rest()


def _number(row: Row, column: str) -> float:
    text = row.cells.get(column, "").replace(" ", "")
    value = decimal(text.replace(",", "."))
    if not value or value >= 1e15:
        raise row.wrong(column, "a number greater than 0")
    return value


def _size(row: Row, column: str, usual: int) -> int:
    text = row.cells.get(column, "")
    value = size(text) if text else usual
    if not value:
        raise row.wrong(column, "bytes, such as 4096, 4K or 1M")
    return value


def _word(row: Row, column: str, words: tuple[str, ...], usual: str = "") -> str:
    word = row.cells.get(column, "").lower() or usual
    if word not in words:
        raise row.wrong(column, ", ".join(words))
    return word


# --- typed figures ---

def _figure(row: Row) -> Point:
    name = _word(row, "program", tuple(PROGRAMS))
    program = PROGRAMS[name]
    op = _word(row, "op", _OPS)
    bs = _size(row, "block", program.block)
    region = _size(row, "size", program.size)
    depth = _size(row, "depth", program.depth)
    pattern = _word(row, "pattern", _PATTERNS, program.pattern)
    if region < bs:
        raise row.wrong("size", f"at least a block, {bs}")
    if depth > 64:
        raise row.wrong("depth", "1 to 64")
    value, unit = _number(row, "value"), _UNITS.get(row.cells.get("unit", "").lower(), "")
    offset = size(row.cells["offset"]) if row.cells.get("offset") else None
    how: dict[str, int | float | str | bool] = {
        "op": op, "pattern": pattern, "bs": bs, "size": region, "depth": depth, "program": name}
    if offset:
        how["offset"] = offset
    if row.cells.get("queue"):
        how["queue"] = _word(row, "queue", ("on", "off")) == "on"
    if unit in _TIMES:
        return make_point("load-latency", [value * _TIMES[unit]], **how)
    if program.latency:
        raise row.wrong("unit", ", ".join(_TIMES))
    if unit == _COUNTED:
        return make_point("load", [value * bs], **how)
    if unit not in _RATES:
        raise row.wrong("unit", ", ".join([*_RATES, _COUNTED, *_TIMES]))
    return make_point("load", [value * _RATES[unit]], **how)


def _typed(columns: list[str], rows: Iterator[Row], device: str) -> list[Point]:
    for column in columns:
        if column not in (*_NEEDED, *_MAY_BE):
            raise LabError(f"1: unknown column {column}; allowed: "
                           f"{', '.join((*_NEEDED, *_MAY_BE))}")
    if device:
        raise LabError(f"--device {device}: typed figures are about one device")
    return [_figure(row) for row in rows]


# --- collections ---

def _chosen(rows: Iterator[Row], column: str, device: str) -> list[Row]:
    """The rows of one device."""
    every = list(rows)
    names = sorted({row.cells.get(column, "") for row in every})
    if device in names or (not device and len(names) == 1):
        return [row for row in every if row.cells.get(column) == (device or names[0])]
    shown = names if len(names) <= 40 else [*names[:40], f"{len(names) - 40} more"]
    raise LabError((f"--device {device}: is not in the table" if device else
                    "has several devices") + f"; allowed with --device: {', '.join(shown)}")


def _curves(columns: list[str], rows: Iterator[Row], device: str) -> list[Point]:
    """flashbench's tables of many cards.  A unit is what the largest commands of a test have."""
    mine = _chosen(rows, "file", device)
    largest: dict[str, int] = {}
    units: dict[str, int] = {}
    for row in mine:
        test, chunk = row.cells["test"], _size(row, "chunk_or_align_bytes", 0)
        largest[test] = max(largest.get(test, 0), chunk)
        if row.cells.get("au_index"):
            units[test] = max(units.get(test, 0), int(_number_or_0(row, "au_index")) + 1)
    points = []
    for row in mine:
        test, chunk = row.cells["test"], _size(row, "chunk_or_align_bytes", 0)
        if test in ("open-au-linear", "open-au-random"):
            points.append(make_point(
                "flashbench-open-au", [_number(row, "value_bytes_per_s_or_us")],
                erasesize=largest[test], open=int(_number(row, "open_au_nr")),
                random=test.endswith("random"), chunk=chunk))
        elif test == "find-fat":
            points.append(make_point(
                "flashbench-find-fat", [_number(row, "value_bytes_per_s_or_us")],
                erasesize=largest[test], units=units[test],
                unit=int(_number_or_0(row, "au_index")), chunk=chunk))
        elif test == "align-pre-us":
            points.append(make_point(
                "flashbench-align", [1e3 * _number(row, "value_bytes_per_s_or_us")], align=chunk,
                place="pre", bs=min(_size(r, "chunk_or_align_bytes", 0) for r in mine
                                    if r.cells["test"] == test) // 2))
    return points


def _number_or_0(row: Row, column: str) -> float:
    return 0.0 if row.cells.get(column) in ("0", "") else _number(row, column)


# Tests of cards of today by fio: op, pattern, and MiB of the file.  Neither the depth nor the
# file of fio's table is published: cards whose queue is used read 4 KiB three times as fast as they
# do without it, so several requests are in flight, and the sniff test has four.
_BY_FIO: Mapping[str, tuple[str, str, int]] = {
    "fio-read": ("read", "sequential", 128), "fio-write": ("write", "sequential", 128),
    "fio-randread": ("read", "random", 128), "fio-randwrite": ("write", "random", 128),
    "agnostics-seq-read": ("read", "sequential", 64),
    "agnostics-seq-write": ("write", "sequential", 64),
    "agnostics-rand-4k-read": ("read", "random", 64),
    "agnostics-rand-4k-write": ("write", "random", 64)}
_DEPTH_OF_FIO = 4
# How much quicker a file that is there is written than one that grows one request at a time.
_GROWN = 1.1
# By iozone -e -I -a -s 100M.
_BY_IOZONE = {"iozone-seq-read": "read", "iozone-seq-write": "write",
              "iozone-rand-read": "random-read", "iozone-rand-write": "random-write",
              "iozone-4k-rand-read": "random-read", "iozone-4k-rand-write": "random-write"}
_FILE_OF_IOZONE = 100 * _MIB
_QUEUE = {"cq=on": True, "cq=off": False}


def _card_point(row: Row) -> Point | None:
    """The point that a figure is, None if nothing here measures it."""
    test, unit = row.cells["test"], row.cells.get("unit", "")
    if test not in (*_BY_FIO, *_BY_IOZONE, "hdparm-t") or unit not in (*_RATES, _COUNTED):
        return None
    if test == "hdparm-t":
        return make_point("hdparm-t", [_number(row, "value") * _RATES[unit]], direct=False)
    bs = _size(row, "block_bytes", 0)
    rate = [_number(row, "value") * (bs if unit == _COUNTED else _RATES[unit])]
    if test in _BY_IOZONE:
        return make_point("iozone", rate, test=_BY_IOZONE[test], file=_FILE_OF_IOZONE, bs=bs,
                          direct=True, fsync=True)
    op, pattern, file = _BY_FIO[test]
    config = row.cells.get("config", "")
    queue = {"queue": _QUEUE[config]} if config in _QUEUE else {}
    return make_point("fio-rate", rate, op=op, pattern=pattern, bs=bs, depth=_DEPTH_OF_FIO, jobs=1,
                      size=file * _MIB, **queue)


def _cards(columns: list[str], rows: Iterator[Row], device: str) -> list[Point]:
    """Figures of cards of today: a device is written DEVICE/CONFIG, or DEVICE for all that is known
    about it with and without its queue."""
    every = list(rows)
    both = [replace(row, cells={**row.cells, "which": row.cells.get("device", "")})
            for row in every if row.cells.get("config", "") in _QUEUE]
    named = [replace(row, cells={**row.cells, "which": f"{row.cells.get('device', '')}/"
                                 f"{row.cells.get('config', '')}"}) for row in every]
    found = map(_card_point, _chosen(iter([*both, *named]), "which", device))
    return _grown([p for p in found if p])


def _grown(points: list[Point]) -> list[Point]:
    """The same, with fio's writes one at a time where its file seems to have grown: Linux writes
    such a file so.  It shows where the sniff test, which writes a file that is there, with four
    requests in flight, is quicker by the same 512 KiB."""
    rates: dict[tuple[object, object], list[float]] = {}
    for p in points:
        how = dict(p.parameters)
        if p.procedure == "fio-rate" and (how["op"], how["pattern"], how["bs"]) == (
                "write", "sequential", _MIB // 2):
            rates.setdefault((how.get("queue"), how["size"]), []).append(p.value)
    table, sniff = (_BY_FIO[name][2] * _MIB for name in ("fio-write", "agnostics-seq-write"))
    grown = {queue for queue, _ in rates
             if median(rates.get((queue, sniff), [0.0])) >
             _GROWN * median(rates.get((queue, table), [math.inf]))}

    def told(p: Point) -> Point:
        how = dict(p.parameters)
        if p.procedure == "fio-rate" and how["op"] == "write" and how["size"] == table and \
                how.get("queue") in grown:
            how["depth"] = 1
            return make_point(p.procedure, list(p.values), **how)
        return p
    return [told(p) for p in points]


def _published(columns: list[str], rows: Iterator[Row], device: str) -> list[Point]:
    """Figures from articles; what was done is said in words, so only some of them are known."""
    points = []
    for row in _chosen(rows, "device", device):
        done, unit = row.cells.get("procedure", ""), row.cells.get("unit", "")
        if unit not in _RATES:
            continue
        rate = _number(row, "value") * _RATES[unit]
        if done.startswith("HD Tune read"):
            hdtune = PROGRAMS["hdtune"]
            points.append(make_point("load", [rate], op="read", pattern=hdtune.pattern,
                                     bs=hdtune.block, size=hdtune.size, depth=1,
                                     program="hdtune"))
        elif done.startswith("hdparm -t"):
            points.append(make_point("hdparm-t", [rate], direct=False))
    return points


_KINDS: tuple[tuple[tuple[str, ...], Callable[[list[str], Iterator[Row], str], list[Point]]],
              ...] = (
    (_NEEDED, _typed),
    (("file", "test", "open_au_nr", "chunk_or_align_bytes", "value_bytes_per_s_or_us"), _curves),
    (("device", "config", "test", "block_bytes", "value", "unit"), _cards),
    (("id", "device", "procedure", "quantity", "value", "unit"), _published))


def read_table(text: str, name: str, device: str) -> tuple[list[Point], int, str] | None:
    """The points of a table, how many lines it has, and the text around it if it stands in a page;
    None if the text is no table that is known.  LabError "NAME:LINE: ..." for a mistake in it."""
    lines = text.split("\n")
    first, mark = _first(lines)
    table, around = _apart(lines, first) if mark == "|" else (lines, "")
    try:
        columns, rows = _rows(table, first, mark)
    except LabError:
        return None     # a log may begin with anything
    for needed, take in _KINDS:
        if all(column in columns for column in needed):
            try:
                points = take(columns, rows, device)
            except LabError as e:
                colon = ":" if str(e)[:1].isdigit() else ": "
                raise LabError(f"{name}{colon}{e}") from None
            if not points:
                raise LabError(f"{name}: has no figure that a procedure of flashemu-measurement(5) "
                               f"means; columns: {listed(columns)}")
            return points, sum(1 for line in table if line.strip()), around
    return None
