# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose output is known and not read: each is named, with the shortest way to type its
figures as a table, see flashemu-measurement(5)."""

from __future__ import annotations

import re

from ..reader import Line, LineReader, Sink

_HEAD = "program,op,pattern,block,value,unit"


def _typed(*rows: str) -> str:
    return f"type its figures as a table: the line {_HEAD}, and lines such as {' or '.join(rows)}"


# A line by which a program is known, its name, and what to do.
_PROGRAMS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"<Results>.*|Command Line: .*diskspd.*|.*Results for timespan \d+:.*", re.I),
     "diskspd", _typed("other,write,random,4K,0.41,MB/s")),
    (re.compile(r"sysbench \d.*|File operations:|written, MiB/s:.*|reads/s:.*|"
                r"Operations performed: .*\bOther = .*", re.I),
     "sysbench fileio", _typed("other,write,random,16K,0.83,MiB/s")),
    (re.compile(r"\d\.\d\d\w?,\d\.\d\d\w?,.*|Version +\d\.\d+\w* +-+Sequential Output-+.*",
                re.I),
     "bonnie++", _typed("other,write,sequential,1M,8.25,MB/s")),
    (re.compile(r"(?:write|read) speed and latency|speed,max,min,avg", re.I),
     "SdFat bench", _typed("other,write,sequential,512,203.93,KB/s")),
    (re.compile(r"ATTO Disk Benchmark.*", re.I), "ATTO",
     "type its figures as a table: the line program,op,block,value,unit, and lines such as "
     "atto,write,0.5K,1.2,MB/s"),
    (re.compile(r"AS SSD Benchmark.*", re.I), "AS SSD", _typed("other,read,random,4K,4.2,MB/s")),
    (re.compile(r"Average (?:Read|Write) Rate:? .*|Average Access Time:? .*", re.I), "gnome-disks",
     _typed("other,read,sequential,10M,20.5,MB/s", "hdtune-access,read,random,512,0.9,ms")),
    (re.compile(r"--- .* ioping statistics ---", re.I), "ioping",
     _typed("other,read,random,4K,0.41,ms")),
    (re.compile(r"Extended CSD rev \d.*", re.I), "mmc extcsd read",
     "is a register of the card and no measurement; measure with dd, fio or flashbench"),
    (re.compile(r"(?:.* )?DEV +tps .*|Device:? +(?:rrqm/s|r/s|tps) .*", re.I),
     "sar -d or iostat",
     "shows what a system asked for, and not what the device can do; measure with fio or dd"))


class RefusedReader(LineReader):
    """Names each program once."""

    def __init__(self) -> None:
        self._named: set[str] = set()

    def take(self, line: Line, sink: Sink) -> bool:
        """As for reader.Reader."""
        for pattern, name, what in _PROGRAMS:
            if pattern.fullmatch(line.text):
                if name not in self._named:
                    sink.leave(line.number, name, f"is not read; {what}" if "type" in what[:5]
                               else what)
                self._named.add(name)
                return True
        return False
