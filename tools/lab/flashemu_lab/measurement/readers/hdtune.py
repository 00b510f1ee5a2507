# SPDX-License-Identifier: BSD-3-Clause
"""The text of HD Tune's benchmark.  The average rate and the access time are the figures that a
table has as hdtune and hdtune-access; the others say nothing about a place or a request."""

from __future__ import annotations

import re

from ..numbers import NUMBER, number
from ..reader import Line, LineReader, Sink
from ..schema import make_point
from ..tables import PROGRAMS

_NAME = re.compile(r"HD Tune\b.*", re.I)
_RATE = re.compile(rf"Transfer Rate (Minimum|Maximum|Average)\s*:\s*({NUMBER}) ?(KB|MB|GB)/s"
                   r"(?:ec)?", re.I)
_SIDE = re.compile(r"(Read|Write) transfer rate", re.I)   # HD Tune Pro
_ACCESS = re.compile(rf"Access Time\s*:\s*({NUMBER}) ?(ms|us)", re.I)
_BURST = re.compile(r"Burst Rate\s*:.*", re.I)
_UNITS = {"KB": 1e3, "MB": 1e6, "GB": 1e9, "MS": 1e6, "US": 1e3}


class HdTuneReader(LineReader):
    """As reader.Reader."""

    def __init__(self) -> None:
        self._op = "read"

    def take(self, line: Line, sink: Sink) -> bool:
        """As for reader.Reader."""
        text = line.text
        if _NAME.fullmatch(text):
            self._op = "write" if re.search(r"\bwrite\b", text, re.I) else "read"
        elif match := _SIDE.fullmatch(text):
            self._op = match[1].lower()
        elif match := _RATE.fullmatch(text):
            self._rate(line, match, sink)
        elif match := _ACCESS.fullmatch(text):
            self._take(line, "hdtune-access", number(match[1]) * _UNITS[match[2].upper()], sink)
        elif _BURST.fullmatch(text):
            sink.leave(line.number, "HD Tune, burst rate", "is about the link and the cache")
        else:
            return re.fullmatch(r"CPU Usage\s*:.*%", text, re.I) is not None
        return True

    def _rate(self, line: Line, match: re.Match[str], sink: Sink) -> None:
        if match[1].lower() == "average":
            self._take(line, "hdtune", number(match[2]) * _UNITS[match[3].upper()], sink)
        else:
            sink.leave(line.number, f"HD Tune, {match[1].lower()} rate",
                       "does not say at which place of the device")

    def _take(self, line: Line, name: str, value: float, sink: Sink) -> None:
        program = PROGRAMS[name]
        if value <= 0:
            sink.leave(line.number, name, "is shown as 0")
            return
        sink.take(line.number, make_point(
            "load-latency" if program.latency else "load", [value], op=self._op,
            pattern=program.pattern, bs=program.block, size=program.size, depth=program.depth,
            program=name))
