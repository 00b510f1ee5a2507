# SPDX-License-Identifier: BSD-3-Clause
"""From files that people have to a measurement.

Each file is a log that may have anything in it.  Every line is offered to all readers.  A line that
none of them knows is counted, and the user is told how many there were.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from ..core.errors import LabError
from ..core.text import listed
from . import fio
from .readers import all_readers
from .schema import MOST_BYTES, Measurement, PROCEDURES, Point, Source, gather, make_point
from .tables import read_table

# What is printed about skipped lines.
_CARD = re.compile(r"man:0x\w+ oem:0x\w+ name:(\S+) .*\bcid:(\w+)")
_DISK = re.compile(r"/dev/\w+: [^,]*, (\d{6,15})(?= |$)")


@dataclass(frozen=True)
class Log:
    """What one file says.

    lines    how many it has that are not blank
    skipped  those of them that said nothing
    """

    name: str
    sha256: str
    lines: int
    skipped: tuple[str, ...]
    points: tuple[Point, ...]
    card: str = ""
    capacity: int = 0


def read_log(data: bytes, name: str) -> Log:
    """Reads the content of a file; never fails, whatever is in it."""
    text = _decode(data)
    card, disk = _CARD.search(text), _DISK.search(text)
    points, rest, lines = fio.cut_out(text)
    readers = [*all_readers(text), fio.TextReader()]
    skipped = []
    for line in rest.split("\n"):
        if not line.strip():
            continue
        lines += 1
        answers = [reader.take(line) for reader in readers]
        known = [answer for answer in answers if answer is not None]
        if known:
            points += [p for answer in known for p in answer]
        else:
            skipped.append(line)
    return Log(name, hashlib.sha256(data).hexdigest(), lines, tuple(skipped), tuple(points),
               card[1] if card else "", int(disk[1]) if disk else 0)


def _decode(data: bytes) -> str:
    """Text in UTF-8, in UTF-16 with a byte order mark, or else in Latin-1, which has a micro
    sign, too.  Lines end with \\n alone."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("latin-1") if b"\xb5s" in data else \
                data.decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_file(path: Path, device: str = "") -> Log:
    """Reads a file; LabError if the host cannot, or if nothing in it is a result.  `device` is the
    one to take from a table with several."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None
    if len(data) > MOST_BYTES:
        raise LabError(f"{path}: has more than {MOST_BYTES} bytes; that is no log of a benchmark")
    table = read_table(_decode(data), str(path), device)
    if table:
        points, lines = table
        return Log(path.name, hashlib.sha256(data).hexdigest(), lines, (), tuple(points), device)
    if device:
        raise LabError(f"--device {device}: {path} is no table with several devices")
    log = read_log(data, path.name)
    if not log.points:
        raise LabError(f"{path}: no line is a result of flashbench, fio, iozone, hdparm -t or "
                       f"dd, and it is no table; {len(log.skipped)} lines were skipped")
    return log


def with_queue(log: Log, queue: bool) -> Log:
    """The same, of a host that used the card's command queue and write cache, or neither.
    LabError if a point says so itself, or if none can."""
    def told(p: Point) -> Point:
        parameters = dict(p.parameters)
        if "queue" not in PROCEDURES[p.procedure].parameters:
            return p
        if "queue" in parameters:
            raise LabError(f"--queue: {log.name} says itself which figures are with the queue")
        return make_point(p.procedure, list(p.values), **parameters, queue=queue)
    points = tuple(replace(told(p), spread=p.spread, source=p.source) for p in log.points)
    if points == log.points:
        raise LabError(f"--queue: {log.name} has no figure of fio or of a load")
    return replace(log, points=points)


def join(logs: list[Log], made_by: str, name: str = "", capacity: int = 0, state: str = "",
         host: str = "") -> Measurement:
    """One measurement of one device; what the user says goes before what the files say."""
    points = gather([Point(p.procedure, p.parameters, p.values, p.spread, i)
                     for i, log in enumerate(logs) for p in log.points])
    cards = {log.card for log in logs if log.card}
    sizes = {log.capacity for log in logs if log.capacity}
    _alike(cards, name, "--name")
    _alike({str(size) for size in sizes}, str(capacity or ""), "--capacity")
    return Measurement(points, name or "".join(cards), capacity or sum(sizes), state, host, made_by,
                       tuple(Source(log.name, log.sha256, log.lines, len(log.skipped))
                             for log in logs))


def _alike(found: set[str], said: str, option: str) -> None:
    if len(found) > 1 and not said:
        raise LabError(f"the files are about different devices: {listed(sorted(found))}; import "
                       f"them one by one, or say {option}")


def summary(log: Log) -> str:
    """What was found in a file, in a line."""
    found = Counter(p.procedure for p in log.points for _ in p.values)
    kinds = listed([f"{n} of {name}" for name, n in sorted(found.items())])
    lines = "line" if len(log.skipped) == 1 else "lines"
    return f"{log.name}: {kinds}; {len(log.skipped)} of {log.lines} {lines} skipped"
