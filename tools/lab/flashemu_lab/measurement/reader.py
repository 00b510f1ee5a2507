# SPDX-License-Identifier: BSD-3-Clause
"""What all readers have in common.

A log is a mixture: headings that a script has printed, commands, the output of several programs in
any language, messages of the kernel.  So each reader is offered every line, and each object in
JSON, one after the other.  It says whether that means something to it, and puts into a sink what
came out:

    $ dd if=/dev/zero of=/dev/sdb bs=4k ...          yes: how the next result is measured
    10485760 bytes (10 MB) copied, 21.0 s, ...       yes, and sink.take(point)
    104857600 bytes (105 MB) copied, 2 s, ...        yes, and sink.leave(..., "is not the end")
    usb 1-1: reset high-speed USB device             no

One rule holds for all: a figure is taken with everything that decides what was measured, or it is
left out, with its line and the reason.  A line that looks like a result but contradicts itself is
left out as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from .schema import Point


@dataclass(frozen=True)
class Line:
    """A line of a log.

    number  in the file, from 1 on
    whole   without what stands around it, but with its indentation
    cut     the file ends in it, perhaps in the middle of a number
    """

    number: int
    whole: str
    cut: bool = False

    @property
    def text(self) -> str:
        """Without indentation."""
        return self.whole.strip()


@dataclass(frozen=True)
class Document:
    """An object or a list in JSON that stands in a log: the number of its first line, and how many
    lines it has that are not blank."""

    number: int
    lines: int
    value: dict[str, object] | list[object]


@dataclass(frozen=True)
class LeftOut:
    """A result that was not taken: where it is, what it is, and why."""

    line: int
    what: str
    reason: str

    def text(self) -> str:
        """Such as "12: fio job log, rate: rate=1m limits it"."""
        return f"{self.line}: {self.what}: {self.reason}"


@dataclass
class Sink:
    """What has been found in a log.  Readers may put it in any order, because each knows its line.
    """

    taken: list[tuple[int, Point]] = field(default_factory=list)
    left: list[LeftOut] = field(default_factory=list)

    def take(self, line: int, *points: Point) -> None:
        """Results of a line."""
        self.taken += [(line, p) for p in points]

    def leave(self, line: int, what: str, reason: str) -> None:
        """A result that is not taken; the same is said once for a line."""
        found = LeftOut(line, what, reason)
        if found not in self.left:
            self.left.append(found)

    def points(self) -> list[Point]:
        """In the order of the file."""
        return [p for _, p in sorted(self.taken, key=lambda one: one[0])]


class Reader(Protocol):
    """Reads one log; a new program needs a new reader."""

    def take(self, line: Line, sink: Sink) -> bool:
        """Whether the line says something; its results are in the sink, at the latest at the end.
        """

    def document(self, found: Document, sink: Sink) -> bool:
        """The same for an object in JSON."""

    def end(self, sink: Sink) -> None:
        """The log has ended."""


class LineReader:
    """A reader to which no object says anything, and the end neither."""

    def document(self, found: Document, sink: Sink) -> bool:
        """As for Reader."""
        return False

    def end(self, sink: Sink) -> None:
        """As for Reader."""
