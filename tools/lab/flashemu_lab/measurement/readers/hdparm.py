# SPDX-License-Identifier: BSD-3-Clause
"""hdparm -t; its units are powers of 1024.  Cached reads (-T) are about the host."""

from __future__ import annotations

import re

from ..numbers import BINARY, NUMBER, number
from ..reader import Line, LineReader, Sink
from ..schema import make_point

_RESULT = re.compile(rf"Timing (buffered|O_DIRECT) disk reads:\s*({NUMBER}) (kB|MB|GB) in\s+"
                     rf"({NUMBER}) seconds\s*=\s*({NUMBER}) (kB|MB|GB)/sec")
_CACHED = re.compile(r"Timing (?:O_DIRECT )?cached reads:.*")


class HdparmReader(LineReader):
    """As reader.Reader."""

    def take(self, line: Line, sink: Sink) -> bool:
        """As for reader.Reader."""
        if _CACHED.fullmatch(line.text):
            sink.leave(line.number, "hdparm -T", "is about the memory of the host")
            return True
        match = _RESULT.fullmatch(line.text)
        if not match:
            return False
        count = number(match[2]) * BINARY[match[3][0].upper()]
        seconds = number(match[4])
        rate = number(match[5]) * BINARY[match[6][0].upper()]
        if 0 in (count, seconds, rate) or abs(count / seconds / rate - 1) > 0.03:
            sink.leave(line.number, "hdparm -t", "bytes, time and rate contradict each other")
        else:
            sink.take(line.number, make_point("hdparm-t", [rate], direct=match[1] == "O_DIRECT"))
        return True
