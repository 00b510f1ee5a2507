# SPDX-License-Identifier: BSD-3-Clause
"""The text of CrystalDiskMark 3 to 8 and of KDiskMark, one row for each figure.

    [Read]
      SEQ    1MiB (Q=  8, T= 1):    33.064 MB/s [     31.5 IOPS] <253650.43 us>      version 7 and 8
    Sequential 1 MiB (Q= 8, T= 1):  33.010 MB/s [     31.5 IOPS] <253000.00 us>      KDiskMark
       Sequential Read (Q= 32,T= 1) :    33.872 MB/s                                 version 5 and 6
       Random Read 4KiB (Q= 32,T= 1) :    4.872 MB/s [  1189.5 IOPS]

Requests a second and the time of one follow from the rate and the depth, so they are no figures of
their own.  The size of the test stands behind the rows.  Where versions 5 and 6 say no block, that
is 128 KiB for the row with a queue, and 1 MiB for the other one (-b128K and -b1M of its diskspd).
"""

from __future__ import annotations

import re

from ..numbers import NUMBER, number, size
from ..reader import Line, LineReader, Sink
from ..schema import Scalar, make_point

_NAME = re.compile(r"(CrystalDiskMark|KDiskMark)\b", re.I)
_SECTION = re.compile(r"\[(Read|Write|Mix)[^\]]*\]", re.I)
_RATE = rf"\s*:\s*({NUMBER}) ?([KMG]B)/s\b.*"
_NEW = re.compile(r"(SEQ|RND|Sequential|Random)\s+(\d+\s*[KMG]i?B)\s*\(Q=\s*(\d{1,4}),\s*"
                  r"T=\s*(\d{1,4})\)" + _RATE, re.I)
_OLD = re.compile(r"(Sequential|Random) (Read|Write)\s*(\d+\s*[KMG]i?B)?\s*(?:\((?:Q=\s*(\d{1,4})"
                  r",\s*)?(?:T=\s*(\d{1,4})|QD=\s*(\d{1,4}))\))?" + _RATE, re.I)
_TEST = re.compile(r"Test\s*:\s*(\d{1,9}) ?([MG]i?B)\b.*", re.I)
_UNITS = {"KB": 1e3, "MB": 1e6, "GB": 1e9}


def _rate(text: str, unit: str) -> float:
    """Bytes a second."""
    return round(number(text) * _UNITS[unit.upper()], 3)


class CrystalDiskMarkReader(LineReader):
    """As reader.Reader.  Rows wait for the size of their test."""

    def __init__(self) -> None:
        self._program = ""
        self._section = ""
        self._rows: list[tuple[int, str, float, dict[str, Scalar]]] = []

    def take(self, line: Line, sink: Sink) -> bool:
        """As for reader.Reader."""
        text = line.text
        if match := _NAME.search(text):
            if not self._program or self._rows:
                self.end(sink)
            self._program = self._program or match[1].lower()
        elif (match := _SECTION.match(text)) and self._program:
            self._section = match[1].lower()
        elif match := _NEW.fullmatch(text):
            self._row(line, match[1], self._section, match[2], int(match[3]), int(match[4]),
                      _rate(match[5], match[6]), sink)
        elif match := _OLD.fullmatch(text):
            depth = int(match[4] or match[6] or 1)
            block = match[3] or ("128K" if match[4] and match[1].lower() == "sequential" else "1M")
            self._row(line, match[1], match[2].lower(), block, depth, int(match[5] or 1),
                      _rate(match[7], match[8]), sink)
        elif (match := _TEST.fullmatch(text)) and self._program:
            self._settle(size(match[1] + match[2]), sink)
        else:
            return bool(self._program) and re.match(
                r"\* (?:MB/s|KB) =|-{20,}$|(?:Profile|Mode|Time|Date|OS|Comment)\s*:|"
                r"Flexible I/O Tester|Crystal Dew World", text) is not None
        return True

    def _row(self, line: Line, order: str, op: str, block: str, depth: int, jobs: int, rate: float,
             sink: Sink) -> None:
        what = f"{self._program or 'CrystalDiskMark'}, {op} {order} {block}"
        if op not in ("read", "write"):
            reason = "is a mix of reads and writes" if op else "no line says whether it reads"
            sink.leave(line.number, what, reason)
        elif rate <= 0:
            sink.leave(line.number, what, "its rate is shown as 0")
        else:
            self._rows.append((line.number, what, rate, {
                "op": op, "pattern": "sequential" if order[:3].lower() == "seq" else "random",
                "bs": size(block) or 0, "depth": depth, "jobs": jobs,
                "program": self._program or "crystaldiskmark"}))

    def _settle(self, whole: int | None, sink: Sink) -> None:
        rates: dict[tuple[tuple[str, Scalar], ...], set[float]] = {}
        for _, _, rate, how in self._rows:
            rates.setdefault(tuple(how.items()), set()).add(rate)
        for at, what, rate, how in self._rows:
            if len(rates[tuple(how.items())]) > 1:
                sink.leave(at, what, "the test has another row of the same name")
            elif not how["bs"] or not how["depth"] or not how["jobs"]:
                sink.leave(at, what, "says no size or depth that is known here")
            elif not whole:
                sink.leave(at, what, "the line with the size of its test is missing, such as "
                           "Test: 1 GiB")
            else:
                sink.take(at, make_point("load", [rate], size=whole, **how))
        self._rows, self._section = [], ""

    def end(self, sink: Sink) -> None:
        """As for reader.Reader."""
        self._settle(None, sink)
        self._program = ""
