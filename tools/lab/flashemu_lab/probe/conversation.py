# SPDX-License-Identifier: BSD-3-Clause
"""All that a probe has asked a device, and how long each request took: a trace with times.

A measurement has sums, and leaves out what is not compared.  The conversation has every request in
its order, with the pauses between them, so `flashemu replay PROFILE --against` can say how near any
device comes to all of it.  The file stands beside the measurement, M.trace beside M.json.

    # flashemu trace 1                     flashemu-trace(5)
    # capacity: 8019509248
    # end: the last line is '# end'
    0 read 4096 1024 done=412000
    415000 write 8388608 65536 done=9120000
    # end

It grows by a test at a time.  A run that goes on takes the end away and adds to it, as if no time
had passed.  If the run before was killed, requests of a test are missing.  Then there is no end,
and nothing is added.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Sequence

from ..core.errors import LabError

_FIRST, _COMMAND = "# flashemu trace 1\n", "# command: flashemu-lab probe "
_PROMISE, _END = "# end: the last line is '# end'\n", "# end\n"
_TAIL = 4096    # bytes that have the last request


class Conversation:
    """What is said to a device, in a file or, without one, in `lines`."""

    def __init__(self, path: Path | None = None, last_ns: int = 0) -> None:
        self.path = path
        self.lines: list[str] = []
        self._last_ns = last_ns                 # when the last request was done, in the trace
        self._shift_ns: int | None = None       # from the clock's time to that of the trace

    def said(self, op: str, offset: int, length: int, begin_ns: int, end_ns: int,
             failed: bool = False) -> None:
        """A request, by the clock's time."""
        if self._shift_ns is None:
            self._shift_ns = self._last_ns - begin_ns
        begin, end = begin_ns + self._shift_ns, end_ns + self._shift_ns
        self._last_ns = max(self._last_ns, end)
        word = " status=" + ("uncorrectable" if op == "read" else "prog-failed") if failed else ""
        self.lines.append(f"{begin} {op} {offset} {length}" + (f" done={end}" if end else "") + word
                          + "\n")

    def rested(self, asked_ns: int, seen_ns: int) -> None:
        """The device was left alone for so long, of which the clock has seen `seen_ns`."""
        if self._shift_ns is None:
            self._last_ns += asked_ns
        else:
            self._shift_ns += asked_ns - seen_ns

    def burst(self, op: str, places: Sequence[tuple[int, int]],
              seen: Sequence[tuple[int, int]], begin_ns: int, end_ns: int) -> None:
        """Several requests in flight, between two instants of the clock; each was `seen` to begin
        and to end by this machine.  The clock of an emulated device may run otherwise, and then all
        are stretched alike."""
        first, last = min(b for b, _ in seen), max(e for _, e in seen)
        scale = (end_ns - begin_ns) / max(last - first, 1)
        for (begin, end), (offset, length) in sorted(zip(seen, places)):
            self.said(op, offset, length, begin_ns + round((begin - first) * scale),
                      begin_ns + round((end - first) * scale))

    def save(self) -> None:
        """Adds to the file what was said since; LabError if the host cannot."""
        if self.path and self.lines:
            _append(self.path, "".join(self.lines))
            self.lines.clear()

    def end(self) -> None:
        """Nothing more is said."""
        self.save()
        if self.path and self.path.exists():
            _append(self.path, _END)


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None


def beside(measurement: Path) -> Path:
    """Where the conversation of a measurement is."""
    return measurement.with_suffix(".trace")


def begun(path: Path, version: str, device: str, capacity: int) -> Conversation:
    """A new one; LabError if the file is something else."""
    name = "".join(c if c.isprintable() else "?" for c in device)
    head = f"{_FIRST}# version: {version}\n{_COMMAND}{name}\n# capacity: {capacity}\n{_PROMISE}"
    try:
        with path.open("a+", encoding="utf-8") as file:
            file.seek(0)
            there = file.read(_TAIL)
            if there and not (there.startswith(_FIRST) and f"\n{_COMMAND}" in there):
                raise LabError(f"{path}: is there and was not made by probe, which writes beside "
                               "the measurement what it asked; allowed: another name with -o")
            file.truncate(0)
            file.write(head)
    except UnicodeDecodeError:
        raise LabError(f"{path}: is there and was not made by probe; allowed: another name with "
                       "-o") from None
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None
    return Conversation(path)


def _ends(file: BinaryIO) -> tuple[str, str]:
    """The begin and the end of a trace, which has its last request."""
    head = file.read(_TAIL).decode("utf-8", "replace")
    file.seek(-min(_TAIL, os.fstat(file.fileno()).st_size), os.SEEK_END)
    return head, file.read().decode("utf-8", "replace")


def is_whole(path: Path, capacity: int | None) -> bool:
    """Whether a file is a whole conversation with a device of this capacity; LabError if it cannot
    be read."""
    try:
        with path.open("rb") as file:
            head, tail = _ends(file)
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None
    return (head.startswith(_FIRST) and f"\n# capacity: {capacity}\n" in head
            and tail.endswith(f"\n{_END}"))


def resumed(path: Path) -> Conversation | None:
    """One that goes on; None if it is not whole, or not there."""
    try:
        with path.open("r+b") as file:
            _, tail = _ends(file)
            if not tail.endswith(f"\n{_END}"):
                return None
            file.seek(-len(_END), os.SEEK_END)
            file.truncate()
    except FileNotFoundError:
        return None
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None
    done = [word[5:] for line in tail.splitlines() for word in line.split()
            if word.startswith("done=")]
    return Conversation(path, max(map(int, done), default=0))
