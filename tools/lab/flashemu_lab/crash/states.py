# SPDX-License-Identifier: BSD-3-Clause
"""The states in which a device may be found, as `flashemu cuts` lists them, and their images.

A state says in what it differs from all that the host had written by then.  So an image that goes
from one state to the next changes a few sectors only:

    image      ---- request 5 ---- request 6 ---- request 7 ----      written, and kept
                        \\ state        \\ state                       written, and taken back
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import random
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Container, Iterator

from ..core.errors import LabError
from ..runs.program import Tool
from ..runs.run import Json
from .work import Recording, Request

_BLOCK = 4096
_HEAD = 12


@dataclass(frozen=True)
class State:
    """A state with its marks.

    request     the last one that had arrived; 0 for the new device
    time        of the cut, in ns of the device
    data        offset, length and place; zeros and unreadable: offset and length
    any_device  no device was asked: any part of what was not flushed
    """

    id: str
    request: int
    time: int
    marks: int
    hash: str
    data: tuple[tuple[int, int, int], ...]
    zeros: tuple[tuple[int, int], ...]
    unreadable: tuple[tuple[int, int], ...]
    any_device: bool = False

    @staticmethod
    def of(value: Json) -> State:
        """A line of the program."""
        return State(value["id"], value["request"], value["time_ns"], value["marks"],
                     value["hash"], tuple((a, n, place) for a, n, place in value["data"]),
                     tuple((a, n) for a, n in value["zeros"]),
                     tuple((a, n) for a, n in value["unreadable"]),
                     value["sort"] == "any device")


class Data:
    """A file of data (flashemu-trace(5)); the program has checked or written it."""

    def __init__(self, path: Path) -> None:
        self._map: mmap.mmap | bytes = b""
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as e:
            raise LabError(f"{path}: {e}") from None

    def get(self, place: int, offset: int, length: int) -> Iterator[tuple[int, bytes]]:
        """The pieces that were written to [offset, offset + length), each with its offset."""
        at = place + _HEAD
        while length:
            piece = min(length, _BLOCK - offset % _BLOCK)
            block, = struct.unpack_from("<Q", self._map, at)
            yield offset, (self._map[block + _HEAD:block + _HEAD + piece] if block
                           else bytes(piece))
            at, offset, length = at + 8, offset + piece, length - piece

    def sector(self, place: int, offset: int, at: int, size: int) -> bytes:
        """The bytes [at, at + size) of what was written from `offset` on; they are in one block."""
        index = at // _BLOCK - offset // _BLOCK
        first = offset if not index else at - at % _BLOCK
        (_, piece), = self.get(place + 8 * index, first, at + size - first)
        return piece[at - first:]


@dataclass(frozen=True)
class Enumerated:
    """What `flashemu cuts` has found: its numbers, and the states to judge in the order of their
    cuts."""

    numbers: Json
    states: list[State]
    data: Data


def enumerate_states(recording: Recording, tool: Tool, folder: Path, cuts: str,
                     second: int, behind: int = 0, subsets: int = 0, judged: int = 0,
                     show: Callable[[str], None] = lambda text: None) -> Enumerated:
    """All states of a recording behind so many marks, and so many for which no device is asked; its
    files go to the folder.  Only `judged` of the former are to be judged, which the device's seed
    draws; 0: all of them.  `show` hears how far it is.  LabError as the program says."""
    path = folder / "states"
    work = recording.work
    answer = json.loads(tool.watch(
        show, "cuts", work.profile, str(recording.trace), *work.words(), "--timed", "--data",
        str(recording.data), "--json", "--cuts", cuts, "--second", str(second), "--behind",
        str(behind), "--subsets", str(subsets), "--states", str(path), codes=(0, 1)))
    return Enumerated(answer, _read(path, _draw(answer["cases"], judged, work.seed)),
                      Data(Path(f"{path}.data")))


def _draw(of: int, wanted: int, seed: int) -> Container[int]:
    """So many of the numbers from 0 to of - 1, or all."""
    every = range(of)
    return frozenset(random.Random(seed).sample(every, wanted)) if 0 < wanted < of else every


def _read(path: Path, drawn: Container[int]) -> list[State]:
    """The states of a file; of those of the device, the ones with these numbers."""
    found, number = [], 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            state = State.of(json.loads(line))
            if state.any_device or number in drawn:
                found.append(state)
            number += not state.any_device
    return found


class Image:
    """A file that becomes one state after the other, in the order of their requests."""

    def __init__(self, path: Path, capacity: int, requests: list[Request], recorded: Data,
                 found: Data) -> None:
        self.path = path
        self._file = path.open("w+b", buffering=0)
        self._file.truncate(capacity)
        self._requests, self._recorded, self._found = requests, recorded, found
        self._applied = 0
        self._before: list[tuple[int, bytes]] = []

    def _put(self, offset: int, content: bytes) -> None:
        try:
            self._file.seek(offset)
            if self._file.write(content) == len(content):
                return
            reason = os.strerror(errno.ENOSPC)
        except OSError as e:
            reason = e.strerror or str(e)
        raise LabError(f"{self.path}: {reason}")

    def _change(self, offset: int, content: bytes) -> None:
        self._file.seek(offset)
        self._before.append((offset, self._file.read(len(content))))
        self._put(offset, content)

    def _apply(self, request: Request) -> None:
        if request.op == "write":
            for offset, content in self._recorded.get(request.place, request.offset,
                                                      request.length):
                self._put(offset, content)
        elif request.op == "trim":
            self._put(request.offset, bytes(request.length))

    def advance(self, request: int) -> None:
        """All that the host had written when this request had arrived, which is not before that of
        the state before."""
        for offset, content in reversed(self._before):
            self._put(offset, content)
        self._before = []
        for i in range(self._applied, request):
            self._apply(self._requests[i])
        self._applied = max(self._applied, request)

    def become(self, state: State) -> None:
        """The state.  What cannot be read is zeros here."""
        self.advance(state.request)
        for offset, length, place in state.data:
            for at, content in self._found.get(place, offset, length):
                self._change(at, content)
        for offset, length in state.zeros + state.unreadable:
            self._change(offset, bytes(length))

    def close(self) -> None:
        """Removes the file."""
        self._file.close()
        self.path.unlink(missing_ok=True)
