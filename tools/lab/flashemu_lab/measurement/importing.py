# SPDX-License-Identifier: BSD-3-Clause
"""From files that people have to a measurement.

Each file is a log that may have anything in it, or a table.  Every line is offered to all readers.
At the end each line has been counted once: it belongs to a result, to one that was left out and is
named, or to nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Mapping

from ..core.errors import LabError
from ..core.text import listed
from . import text as front
from .readers.agnostics import AgnosticsReader
from .readers.crystaldiskmark import CrystalDiskMarkReader
from .readers.dd import DdReader
from .readers.filling import FillingReader
from .readers.fio import FioReader
from .readers.flashbench import FlashbenchReader, least_align
from .readers.hdparm import HdparmReader
from .readers.hdtune import HdTuneReader
from .readers.iozone import IozoneReader
from .reader import Document, LeftOut, Line, Reader, Sink
from .readers.refused import RefusedReader
from .schema import MOST_BYTES, Measurement, PROCEDURES, Point, Source, by_parameters, make_point
from .tables import read_table

# What is printed about skipped lines.
_CARD = re.compile(r"man:0x\w+ oem:0x\w+ name:(\S+) .*\bcid:(\w+)")
_DISK = re.compile(r"/dev/\w+: [^,]*, (\d{6,15})(?= |$)")
_SHOWN = 5      # results that were left out, in a message


@dataclass(frozen=True)
class Log:
    """What one file says.

    lines    how many it has that are not blank
    skipped  those of them that said nothing
    left     results that were not taken
    """

    name: str
    sha256: str
    lines: int
    skipped: tuple[str, ...]
    points: tuple[Point, ...]
    card: str = ""
    capacity: int = 0
    left: tuple[LeftOut, ...] = ()


def read_log(data: bytes, name: str, fio: Mapping[str, str] | None = None) -> Log:
    """Reads the content of a file; never fails, whatever is in it.  `fio` are options of fio's jobs
    that hold where the log says none; LabError if it says them all."""
    text = front.decode(data)
    card, disk = _CARD.search(text), _DISK.search(text)
    lines = front.lines(text)
    of_fio = FioReader(fio or {})
    readers: list[Reader] = [FlashbenchReader(least_align(lines)), DdReader(), HdparmReader(),
                             IozoneReader(), AgnosticsReader(), CrystalDiskMarkReader(),
                             FillingReader(), HdTuneReader(), RefusedReader(), of_fio]
    sink = Sink()
    skipped, count = [], 0
    for item in front.items(lines):
        count += item.lines if isinstance(item, Document) else 1
        if isinstance(item, Line):
            known = [reader.take(item, sink) for reader in readers]
        else:
            known = [reader.document(item, sink) for reader in readers]
        if not any(known):
            skipped.append(item.whole if isinstance(item, Line) else
                           f"{item.lines} lines of JSON from line {item.number} on")
    for reader in readers:
        reader.end(sink)
    if fio and not of_fio.used:
        raise LabError(f"--fio: {name} has no result of fio that does not say its options itself")
    return Log(name, hashlib.sha256(data).hexdigest(), count, tuple(skipped),
               tuple(sink.points()), card[1] if card else "", int(disk[1]) if disk else 0,
               tuple(sorted(sink.left, key=lambda one: one.line)))


def read_file(path: Path, device: str = "", fio: Mapping[str, str] | None = None) -> Log:
    """Reads a file; LabError if the host cannot, or if nothing in it is a result.  `device` is the
    one to take from a table with several, `fio` as for `read_log`."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None
    if len(data) > MOST_BYTES:
        raise LabError(f"{path}: has more than {MOST_BYTES} bytes; that is no log of a benchmark")
    sha256 = hashlib.sha256(data).hexdigest()
    table = read_table(front.decode(data).replace("\r\n", "\n"), str(path), device)
    if table:
        points, lines, around = table
        log = read_log(around.encode(errors="replace"), path.name)
        return replace(log, sha256=sha256, lines=lines + log.lines, card=device or log.card,
                       points=(*points, *log.points))
    if device:
        raise LabError(f"--device {device}: {path} is no table with several devices")
    log = read_log(data, path.name, fio)
    if not log.points:
        raise LabError(f"{path}: {_nothing(log)}")
    return log


def _nothing(log: Log) -> str:
    """Why a file has no result."""
    if log.left:
        shown = [one.text() for one in log.left[:_SHOWN]]
        more = len(log.left) - len(shown)
        return "no result can be taken; " + "; ".join(shown + ([f"and {more} more"] if more else
                                                               []))
    return ("no line is a result of flashbench, fio, iozone, hdparm -t, dd or another program that "
            "is read, see flashemu-lab-probe(1), and it is no table, whose first line is such as "
            f"program,op,block,value,unit; {len(log.skipped)} lines were skipped")


def with_queue(log: Log, queue: bool) -> Log:
    """The same, of a host that used the card's command queue and write cache, or neither.
    LabError if a point says so itself, or if none can."""
    def told(p: Point) -> Point:
        parameters = dict(p.parameters)
        if "queue" not in PROCEDURES[p.procedure].parameters:
            return p
        if "queue" in parameters:
            raise LabError(f"--queue: {log.name} says itself which figures are with the queue")
        return replace(p, parameters=make_point(p.procedure, list(p.values), **parameters,
                                                queue=queue).parameters)
    points = tuple(told(p) for p in log.points)
    if points == log.points:
        raise LabError(f"--queue: {log.name} has no figure of fio or of a load")
    return replace(log, points=points)


def join(logs: list[Log], made_by: str, name: str = "", capacity: int = 0, state: str = "",
         host: str = "") -> Measurement:
    """One measurement of one device; what the user says goes before what the files say."""
    points = by_parameters([replace(p, source=i) for i, log in enumerate(logs)
                            for p in log.points])
    cards = {log.card for log in logs if log.card}
    sizes = {log.capacity for log in logs if log.capacity}
    _alike(cards, name, "--name")
    _alike({str(size) for size in sizes}, str(capacity or ""), "--capacity")
    return Measurement(points, name or "".join(cards), capacity or sum(sizes), state, host, made_by,
                       tuple(Source(log.name, log.sha256, log.lines, len(log.skipped),
                                    len(log.left)) for log in logs))


def _alike(found: set[str], said: str, option: str) -> None:
    if len(found) > 1 and not said:
        raise LabError(f"the files are about different devices: {listed(sorted(found))}; import "
                       f"them one by one, or say {option}")


def unsaid(log: Log) -> int:
    """How many figures of fio do not say whether they went through the page cache; `flashemu
    verify` takes them as direct."""
    return sum(p.procedure.startswith("fio-") and "direct" not in dict(p.parameters)
               for p in log.points)


def summary(log: Log) -> str:
    """What was found in a file: a line with the counts, one for each result that was left out, and
    one for what is taken for granted."""
    found = Counter(p.procedure for p in log.points for _ in p.values)
    kinds = listed([f"{n} of {name}" for name, n in sorted(found.items())])
    left = f"; {len(log.left)} left out" if log.left else ""
    return "\n".join([f"{log.name}: {kinds}{left}; {len(log.skipped)} of {log.lines} lines "
                      "skipped", *(f"{log.name}:{one.text()}" for one in log.left),
                      *([f"{log.name}: {unsaid(log)} figures of fio do not say whether they went "
                         "through the page cache, and count as if not; --fio direct=1 or direct=0 "
                         "says it"] if unsaid(log) else [])])
