# SPDX-License-Identifier: BSD-3-Clause
"""What a device owes to its host: all that was flushed, or written with FUA, by the cut.

Of each sector it owes the last version that is durable, or one that the host has written since:

    write a    write b    flush    write c    write d  x
                                                       |   owed: b, c or d

So a state in which it has something else is the device's fault, and in any other state that breaks
a promise, the host has counted on an order of writes that it did not ask for.
"""

from __future__ import annotations

from .states import Data, State
from .work import Request

_SECTOR = 512
_NEW = -1  # the device as it was made


class Owed:
    """Looks at states in the order of their cuts.

    recorded, found   the bytes that the host has written, and those of the states
    """

    def __init__(self, requests: list[Request], recorded: Data, found: Data) -> None:
        self._requests, self._recorded, self._found = requests, recorded, found
        self._arrived = 0
        self._versions: dict[int, list[int]] = {}  # of each sector, by the index of the request
        self._several: set[int] = set()            # sectors that have more than one
        self._open: list[Request] = []  # flushes, and writes with FUA, that were not answered

    def _arrive(self, index: int, request: Request) -> None:
        self._settle(request.arrival)
        if request.op in ("write", "trim"):
            for sector in _sectors(request.offset, request.length):
                self._versions.setdefault(sector, [_NEW]).append(index)
                self._several.add(sector)
        if request.op == "flush" or request.fua:
            self._open.append(request)

    def _settle(self, time: int) -> None:
        """Takes what was answered by then, in ns of the device."""
        answered = [r for r in self._open if r.done <= time]
        self._open = [r for r in self._open if r.done > time]
        for request in sorted(answered, key=lambda r: r.done):
            sectors = list(self._several) if request.op == "flush" else \
                list(_sectors(request.offset, request.length))
            for sector in sectors:
                self._keep(sector, request)

    def _keep(self, sector: int, request: Request) -> None:
        """Versions in front of the last one that this request has made durable may not return."""
        versions = self._versions[sector]
        for i in range(len(versions) - 1, 0, -1):
            write = self._requests[versions[i]]
            if write is request or request.op == "flush" and write.done <= request.arrival:
                del versions[:i]
                break
        if len(versions) == 1:
            self._several.discard(sector)

    def _may_be(self, sector: int, content: bytes | None) -> bool:
        # Nobody owes anything of a sector that was trimmed.
        return any(n != _NEW and self._requests[n].op == "trim" or
                   content == self._content(n, sector)
                   for n in self._versions.get(sector, [_NEW]))

    def _content(self, number: int, sector: int) -> bytes:
        if number == _NEW:
            return bytes(_SECTOR)
        r = self._requests[number]
        return self._recorded.sector(r.place, r.offset, sector * _SECTOR, _SECTOR)

    def missing(self, state: State) -> int:
        """Bytes that the device owes and does not have; the state is not in front of the last
        one."""
        for i in range(self._arrived, state.request):
            self._arrive(i, self._requests[i])
        self._arrived = max(self._arrived, state.request)
        self._settle(state.time)
        bad = 0
        for offset, length, place in state.data:
            for at, piece in self._found.get(place, offset, length):
                for i in range(0, len(piece), _SECTOR):
                    bad += not self._may_be((at + i) // _SECTOR, piece[i:i + _SECTOR])
        for offset, length in state.zeros:
            bad += sum(not self._may_be(s, bytes(_SECTOR)) for s in _sectors(offset, length))
        for offset, length in state.unreadable:
            bad += sum(not self._may_be(s, None) for s in _sectors(offset, length))
        return bad * _SECTOR


def _sectors(offset: int, length: int) -> range:
    return range(offset // _SECTOR, (offset + length) // _SECTOR)
