# SPDX-License-Identifier: BSD-3-Clause
"""One change of one file, whatever language the file is in."""

import zlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """The bytes [start, end) of the file become `new`."""

    file: str  # from the top of the tree
    line: int  # from 1, as is `column`
    column: int
    operator: str  # what kind of change; each parser has a list
    start: int
    end: int
    new: bytes
    before: str  # the whole lines that change
    after: str
    place: int = -1  # a statement here runs whenever the change does; -1: there is no such place

    @property
    def name(self) -> str:
        """Names the change within one state of the tree."""
        check = zlib.crc32(b"%d %s" % (self.end, self.new))
        return f"{self.file}:{self.line}:{self.column}:{self.operator}:{check:08x}"

    def apply(self, text: bytes) -> bytes:
        return text[:self.start] + self.new + text[self.end:]


def made(file: str, operator: str, text: bytes, start: int, end: int, new: bytes,
         place: int = -1) -> Change:
    """The change of a file whose text is `text`."""
    head = text.rfind(b"\n", 0, start) + 1
    tail = text.find(b"\n", end)
    tail = len(text) if tail < 0 else tail
    after = text[head:start] + new + text[end:tail]
    return Change(file, text.count(b"\n", 0, start) + 1, start - head + 1, operator, start, end,
                  new, text[head:tail].decode(), after.decode(), place)
