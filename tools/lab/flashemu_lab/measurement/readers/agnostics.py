# SPDX-License-Identifier: BSD-3-Clause
"""Raspberry Pi's card test ("agnostics"): for each job of its sd_bench.fio the read rate, reads a
second, the write rate and writes a second, as fio's terse output has them.

    seq-write;0;0;14160;27
    rand-4k-read;3534;883;0;0

The file (github raspberrypi-ui/agnostics, data/sd_bench.fio) says libaio, iodepth=4, size=64m,
direct=1 and end_fsync=1; rates are in KiB/s.  The size of a request in order is the one that both
numbers fit: 512 KiB, or 4 MiB in later versions.
"""

from __future__ import annotations

import re

from ..reader import Line, LineReader, Sink
from ..schema import Scalar, make_point

_ROW = re.compile(r"((?:prepare|seq|rand)-[\w-]{1,30});(\d{1,9});(\d{1,9});(\d{1,9});(\d{1,9})")
_KNOWN = re.compile(r"Raspberry Pi Diagnostics.*|Test : SD Card.*|Run \d+|"
                    r"(?:Sequential write|Random write|Random read) speed \d+ .*|"
                    r"Test (?:PASS|FAIL)")
_BLOCKS = {"seq": (512 << 10, 4 << 20), "prepare": (512 << 10, 4 << 20), "rand": (4 << 10,)}


class AgnosticsReader(LineReader):
    """As reader.Reader."""

    def take(self, line: Line, sink: Sink) -> bool:
        """As for reader.Reader."""
        match = _ROW.fullmatch(line.text)
        if not match:
            return _KNOWN.fullmatch(line.text) is not None
        name, *texts = match.groups()
        rates = [int(text) for text in texts]
        for i, op in enumerate(("read", "write")):
            if rates[2 * i]:
                self._side(line, name, op, rates[2 * i], rates[2 * i + 1], sink)
        if not any(rates):
            sink.leave(line.number, f"agnostics, {name}", "has sent no request")
        return True

    def _side(self, line: Line, name: str, op: str, kib: int, count: int, sink: Sink) -> None:
        kind = name.partition("-")[0]
        fits = [bs for bs in _BLOCKS[kind][:1 if line.cut else None]
                if (kib << 10) // bs == count]
        if len(fits) != 1:
            sink.leave(line.number, f"agnostics, {name}", f"{kib} KB/s in {count} requests a "
                       "second are of no size that its job file has had")
            return
        how: dict[str, Scalar] = {
            "op": op, "pattern": "random" if kind == "rand" else "sequential", "bs": fits[0],
            "depth": 4, "jobs": 1, "direct": True, "size": 64 << 20, "job": name}
        if op == "write":
            how["end_fsync"] = True
        sink.take(line.number, make_point("fio-rate", [kib * 1024.0], **how))
