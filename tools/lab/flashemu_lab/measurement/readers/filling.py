# SPDX-License-Identifier: BSD-3-Clause
"""Programs that fill a device with files and read them back: H2testw, and f3write and f3read.

    Writing speed: 17.7 MByte/s                 H2testw 1.4, in English and German
    Average writing speed: 5.23 MB/s            f3

Both mean powers of 1024 (libutils.c of f3; c't of H2testw).  H2testw sends 1 MiB at a time.  f3
goes through the page cache, whose writes are taken to be of 1 MiB, and whose reads of 128 KiB.
"""

from __future__ import annotations

import re

from ..numbers import BINARY, NUMBER, number
from ..reader import Line, LineReader, Sink
from ..schema import Scalar, make_point

_H2TESTW = re.compile(rf"(Writing speed|Schreibrate|Reading speed|Leserate)\s*:\s*({NUMBER}) ?"
                      r"([KMG])Byte/s\.?")
_TESTED = re.compile(r"(?:Warning: Only|Warnung: Nur|Achtung: Nur|Nur)\s+(\d{1,9}) \w+ (\d{1,9}) "
                     r"MByte .*", re.I)
_F3 = re.compile(rf"Average (writing|reading) speed:\s*({NUMBER}) ?(B|Bytes?|[KMGT]i?B)/s", re.I)
_F3_DATA = re.compile(r"Data (OK|LOST):.*\((\d{1,15}) sectors\)", re.I)
_KNOWN = re.compile(r"H2testw v\d.*|F3 (?:write|read) \d.*|(?:Creating|Validating) file \d+\.h2w.*|"
                    r"Free space: .*|(?:Corrupted|Slightly changed|Overwritten): .*|"
                    r"Test finished without errors\.?|You can now delete the test files.*", re.I)
_MIB = 1 << 20


class FillingReader(LineReader):
    """As reader.Reader."""

    def __init__(self) -> None:
        self._size = 0

    def take(self, line: Line, sink: Sink) -> bool:
        """As for reader.Reader."""
        text = line.text
        if match := _TESTED.fullmatch(text):
            self._size = int(match[1]) * _MIB
        elif match := _F3_DATA.fullmatch(text):
            self._size = int(match[2]) * 512 + (self._size if match[1].upper() == "LOST" else 0)
        elif match := _H2TESTW.fullmatch(text):
            op = "write" if match[1][0] in "WS" else "read"
            self._take(line, "h2testw", op, _MIB, number(match[2]) * BINARY[match[3]], sink)
        elif match := _F3.fullmatch(text):
            op = "write" if match[1].lower() == "writing" else "read"
            unit = match[3][0].upper() if len(match[3]) > 1 and match[3][0] in "KMGTkmgt" else ""
            self._take(line, "f3", op, _MIB if op == "write" else 128 << 10,
                       number(match[2]) * BINARY[unit], sink)
        else:
            return _KNOWN.fullmatch(text) is not None
        return True

    def _take(self, line: Line, program: str, op: str, bs: int, rate: float, sink: Sink) -> None:
        if rate <= 0:
            sink.leave(line.number, f"{program}, {op}", "its rate is shown as 0")
            return
        how: dict[str, Scalar] = {"op": op, "pattern": "sequential", "bs": bs, "program": program}
        # a region of more requests than a comparison sends is as good as one of no size
        if bs <= self._size <= bs << 20:
            how["size"] = self._size // bs * bs
        sink.take(line.number, make_point("load", [rate], **how))
