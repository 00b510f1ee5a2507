# SPDX-License-Identifier: BSD-3-Clause
"""Lets a command judge each state of a recording.

The command finds the state in a device that it may write to, because what it writes goes to a copy
(nbdkit-cow-filter(1)).  Sectors that cannot be read take their 4096 bytes along:

    FLASHEMU_URI       the device, for a client of NBD
    FLASHEMU_MARKS     a file with the marks up to the cut, one a line
    FLASHEMU           the program

Exit code 0: what was promised is kept.  125: the command cannot tell.  Another one, a signal, or
too much time: it is broken.
"""

from __future__ import annotations

import shlex
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Protocol

from ..core.errors import LabError
from ..runs.program import Tool
from .states import Data, Enumerated, Image, State
from .work import Mark, Recording, how_ended, messages, read_trace, run_beside

CANNOT_TELL = 125
_NO_PROGRAM = (126, 127)  # as a shell says it


def word_of(code: int | None) -> str:
    """kept, unknown or broken, by the exit code of a check; None: it took too long."""
    return "kept" if code == 0 else "unknown" if code == CANNOT_TELL else "broken"


def reason_of(code: int | None, last: str = "") -> str:
    """How a check ended, with the last line that it has said."""
    if code is None:
        return "the check took too long"
    return f"the check {how_ended(code)}" + (f": {last}" if code and last else "")


@dataclass(frozen=True)
class Told:
    """What a judge has said.

    code     0 kept, 125 cannot tell, None: it took too long, else broken
    text     why, if the code does not say it
    notes    what was found and is no fault, such as "dirty"
    kind     what has said so: check, mount, umount, fsck, or kernel, which crashed
    """

    code: int | None
    text: str = ""
    notes: tuple[str, ...] = ()
    kind: str = "check"

    def reason(self) -> str:
        """How it ended, in words."""
        return self.text or reason_of(self.code)


@dataclass(frozen=True)
class Verdict:
    """What a judge has said of a state."""

    state: State
    told: Told

    @property
    def word(self) -> str:
        """kept, unknown or broken."""
        return word_of(self.told.code)

    @property
    def kind(self) -> str:
        """What has said so; "time" if it took too long."""
        return "time" if self.told.code is None else self.told.kind

    def reason(self) -> str:
        """How the check ended."""
        return self.told.reason()


class Judge(Protocol):
    """Who judges states."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    def run(self, folder: Path, image: Path, marks: list[Mark],
            unreadable: tuple[tuple[int, int], ...]) -> Told:
        """Judges an image with these marks, which it does not change.  Other files that are needed
        go to the folder."""
        ...

    def close(self) -> None:
        """Ends what is running."""
        ...


def _mapfile(path: Path, unreadable: tuple[tuple[int, int], ...], capacity: int) -> None:
    """What nbdkit-ddrescue-filter(1) takes: the ranges that cannot be read."""
    lines, at = ["0x0 + 1"], 0
    for offset, length in unreadable:
        if offset > at:
            lines.append(f"{at:#x} {offset - at:#x} +")
        lines.append(f"{offset:#x} {length:#x} -")
        at = offset + length
    if at < capacity:
        lines.append(f"{at:#x} {capacity - at:#x} +")
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _last(text: str) -> str:
    """The last line that is not empty, as a message may have it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    return "".join(c if c.isprintable() else "?" for c in lines[-1])[:200]


@dataclass(frozen=True)
class Check:
    """A judge that is a command, as a shell takes it, which ends in at most `timeout_s` s.  The
    last line that it prints belongs to the reason; with `loud` the user sees all that it prints."""

    command: str
    tool: Tool
    timeout_s: float
    loud: bool = False

    @property
    def name(self) -> str:
        """As it was given."""
        return f"--check {shlex.quote(self.command)}"

    def run(self, folder: Path, image: Path, marks: list[Mark],
            unreadable: tuple[tuple[int, int], ...]) -> Told:
        """As `Judge` says."""
        told, words = folder / "marks", ["--filter=cow"]
        told.write_text("".join(f"{mark.text}\n" for mark in marks), encoding="utf-8",
                        errors="surrogateescape")
        if unreadable:
            _mapfile(folder / "map", unreadable, image.stat().st_size)
            words += ["--filter=ddrescue"]
        words += ["file", str(image), "cow-block-size=4096"]
        if unreadable:
            words += [f"ddrescue-mapfile={folder / 'map'}"]
        with (folder / "said").open("w+b") as said, messages() as errors:
            code = run_beside(words, self.command, {"FLASHEMU_MARKS": str(told),
                                                    "FLASHEMU": str(self.tool.path)},
                              self.timeout_s, errors, said)
            said.seek(0)
            text = said.read().decode(errors="replace")
        if self.loud:
            sys.stderr.write(text)
        if code is None:
            return Told(None, f"the check took more than {self.timeout_s:g} s")
        return Told(code, reason_of(code, _last(text)))

    def close(self) -> None:
        """Nothing is running."""


def check_program(name: str, told: Told) -> None:
    """LabError if a check of which nobody knows whether it works could not be executed."""
    if told.code in _NO_PROGRAM:
        raise LabError(f"{name}: is no program that can be executed")


class BrokenUncut(LabError):
    """Without a power cut, with all that the host has written, something is broken.

    why   what the judge says of it
    """

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why.removeprefix('the check ')} on the state without a power "
                         "cut, so it would find a fault where there is none")
        self.why = why


class Checker:
    """One state at a time, on an image of its own in a folder of its own, by a judge of its own."""

    def __init__(self, folder: Path, judge: Judge, recording: Recording,
                 found: Enumerated) -> None:
        requests, self._marks = read_trace(recording.trace)
        self._last, self._folder, self._judge = len(requests), folder, judge
        self._command = recording.work.check
        self._image = Image(folder / "image", found.numbers["capacity"], requests,
                            Data(recording.data), found.data)

    def judge(self, state: State) -> Verdict:
        """The verdict about a state, which is not in front of the last one."""
        self._image.become(state)
        return Verdict(state, self._judge.run(self._folder, self._image.path,
                                              self._marks[:state.marks], state.unreadable))

    def judge_whole(self) -> None:
        """LabError if the judge does not say 0 without a cut, with all that the host has written:
        then it is wrong itself.  It is BrokenUncut if the judge has found something."""
        self._image.advance(self._last)
        told = self._judge.run(self._folder, self._image.path, self._marks, ())
        name = f"--check {shlex.quote(self._command)}" if told.kind == "check" and told.code else \
            self._judge.name
        why = told.reason().removeprefix("the check ")
        check_program(name, told)
        if told.code is None:
            raise LabError(f"{name}: {why} on the state without a power cut; --timeout allows more")
        if told.code == CANNOT_TELL:
            raise LabError(f"{name}: cannot tell whether the state without a power cut keeps what "
                           f"was promised ({why}); it must say 0 there")
        if told.code:
            raise BrokenUncut(name, told.reason())

    def close(self) -> None:
        """Removes the image, and ends what is running."""
        self._judge.close()
        self._image.close()


def judge_all(make: Callable[[int], Checker], found: Enumerated, jobs: int,
              show: Callable[[int, int], None]) -> list[Verdict]:
    """The verdicts about all states, in their order.  `make` makes the checker of a number; `show`
    hears how many are done, and how many of them are broken.

    Each checker takes the next state of the list, so its states come in the order of the list.  If
    one of them fails, or if a signal comes, all end behind the state that they are at.
    """
    verdicts: list[Verdict | None] = [None] * len(found.states)
    lock, is_over = threading.Lock(), threading.Event()
    numbers = iter(range(len(found.states)))
    counts = [0, 0]

    def work(number: int) -> None:
        checker = make(number)
        try:
            while True:
                with lock:
                    i = next(numbers, None)
                if i is None or is_over.is_set():
                    return
                verdict = checker.judge(found.states[i])
                with lock:
                    verdicts[i] = verdict
                    counts[0] += 1
                    counts[1] += verdict.word == "broken"
                    show(*counts)
        except BaseException:
            is_over.set()
            raise
        finally:
            checker.close()

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for done in [pool.submit(work, n) for n in range(jobs)]:
                done.result()
        finally:
            is_over.set()
    return [v for v in verdicts if v is not None]

