# SPDX-License-Identifier: BSD-3-Clause
"""flashbench -a, -O (also -r) and -f.

    ======= AU=5, linear access =======      how
    4MiB    6.69M/s                          a result
    2MiB    2.72M/s                          a result
"""

from __future__ import annotations

import re

from ..numbers import BINARY, NUMBER, number, size
from ..reader import Line, LineReader, Sink
from ..schema import Point, make_point

_ALIGN = re.compile(r"align (\d{1,18})\s+pre (\S+)\s+on (\S+)\s+post (\S+)\s+diff (\S+)\s*")
_TIME = re.compile(rf"(-?{NUMBER})(n|[uµμ]|m|s|)s?")
_NS = {"": 1.0, "n": 1.0, "u": 1e3, "µ": 1e3, "μ": 1e3, "m": 1e6, "s": 1e9}
_RATES = re.compile(rf"(\d{{1,6}})(B|KiB|MiB|GiB)((?:\s+{NUMBER}[KMG]?/s)+)\s*")
_RATE = re.compile(rf"({NUMBER})([KMG]?)/s")
_RATE_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
_AU = re.compile(r"\bAU\s*=\s*(\d{1,3})\s*,\s*(linear|random)\b", re.I)
_FIND_FAT = re.compile(r"\bfind[- ]fat\b", re.I)
_COMMAND = re.compile(r"\bflashbench\s+(.*)")


def least_align(lines: list[Line]) -> int:
    """The smallest alignment of -a in a log, 2 if there is none."""
    found = [int(match[1]) for line in lines if (match := _ALIGN.fullmatch(line.text))]
    return min((align for align in found if align >= 2), default=2)


class FlashbenchReader(LineReader):
    """-a, -O (also --random) and -f, behind headings such as those of the public collections of
    results, or behind the commands themselves.

    A table of -O does not say how many units were open, so one without heading and command is not
    read.  The size of a unit is what the command says; otherwise it is the first size of the
    table, because flashbench begins with whole units.  -a ends at an alignment of two blocks, so a
    block is half of the smallest alignment of the log if no command says it.  A command that says
    neither means 4 MiB and 16 KiB.
    """

    def __init__(self, least_align: int) -> None:
        self._least_align = least_align
        self._test = ""
        self._open = 0
        self._random = False
        self._erasesize = 0     # what the command says, or 0
        self._first = 0         # the first size of this table
        self._last = 0          # the last one
        self._bs = 0            # what the command says

    def take(self, line: Line, sink: Sink) -> bool:
        """As for reader.Reader."""
        text = line.text
        result: list[Point] | str | None = None
        if match := _ALIGN.fullmatch(text):
            result = self._align(match)
        elif match := _RATES.fullmatch(text):
            result = self._rates(match)
        elif match := _COMMAND.search(text):
            self._command(match[1])
            return True
        elif match := _AU.search(text):
            self._begin("open-au", int(match[1]), match[2].lower() == "random")
            return True
        elif _FIND_FAT.search(text):
            self._begin("find-fat")
            return True
        if isinstance(result, str):
            sink.leave(line.number, f"flashbench, {text.split()[0]}", result)
        else:
            sink.take(line.number, *(result or []))
        return result is not None

    def _begin(self, test: str, units: int = 0, in_random_order: bool = False) -> None:
        self._test, self._open, self._random = test, units, in_random_order
        self._erasesize = self._first = self._last = self._bs = 0

    def _command(self, text: str) -> None:
        """An option is --name=VALUE, --name VALUE, or a letter."""
        words = re.sub(r"\$\(\(|\$\[", "", text).replace("]", "").replace("))", "")
        options = {name: value for name, value in
                   re.findall(r"--([a-z-]+)(?:[= ]([0-9][^\s]*))?", words)}
        letters = set("".join(re.findall(r"(?:^|\s)-([A-Za-z]+)", words)))
        if "align" in options or "a" in letters:
            self._begin("align")
        elif "open-au" in options or "O" in letters:
            units = options.get("open-au-nr", "")
            self._begin("open-au", int(units) if re.fullmatch(r"\d{1,3}", units) else 2,
                        "random" in options or "r" in letters)
        elif "find-fat" in options or "f" in letters:
            self._begin("find-fat")
        else:
            self._begin("")
        def said(name: str, letter: str, usual: str) -> int:
            short = re.search(rf"(?:^|\s)-{letter}\s*(\d\S*)", words)
            return size(options.get(name, short[1] if short else usual)) or 0
        self._erasesize = said("erasesize", "e", "4M" if self._test else "")
        self._bs = said("blocksize", "b", "16K" if self._test else "")

    def _align(self, match: re.Match[str]) -> list[Point] | str:
        """flashbench cuts a time after 7 bytes, so the end of its unit may be missing."""
        align = int(match[1])
        times = []
        for text in match.groups()[1:]:
            part = _TIME.fullmatch(text)
            if not part:
                return f"{text} is no time"
            times.append(number(part[1]) * _NS[part[2]])
        expected = times[1] - (times[0] + times[2]) / 2
        if min(times[:3]) <= 0 or abs(expected - times[3]) > 0.02 * max(times[:3]) or align < 2 \
                or align & (align - 1):
            return "its times contradict each other"
        return [make_point("flashbench-align", [value], align=align, place=place,
                           bs=self._bs or self._least_align // 2)
                for place, value in zip(("pre", "on", "post", "diff"), times)]

    def _rates(self, match: re.Match[str]) -> list[Point] | str:
        chunk = int(match[1]) * BINARY[match[2].rstrip("B").rstrip("i")]
        rates = [number(text) * _RATE_UNITS[unit] for text, unit in _RATE.findall(match[3])]
        if chunk == 0 or min(rates) <= 0:
            return "a size or a rate is 0"
        if self._last and chunk >= self._last:
            self._first = 0     # a table of its own, without a heading
            if self._test == "open-au":
                self._test = ""
        if len(rates) > 1 and self._test != "find-fat":
            self._begin("find-fat")
        if self._test == "" or (self._test == "open-au" and not 0 < self._open < 256):
            return "no heading or command in front says how many units were open"
        if self._test == "align":
            return "the command in front is about -a"
        self._first = self._first or self._erasesize or chunk
        if chunk > self._first:
            return f"is larger than a unit of {self._first} bytes"
        self._last = chunk
        if self._test == "open-au":
            return [make_point("flashbench-open-au", rates, erasesize=self._first,
                               open=self._open, random=self._random, chunk=chunk)]
        return [make_point("flashbench-find-fat", [rate], erasesize=self._first,
                           units=len(rates), unit=i, chunk=chunk)
                for i, rate in enumerate(rates)]
