# SPDX-License-Identifier: BSD-3-Clause
"""Readers of what benchmarks print.

A log is a mixture: headings that a script has printed, commands, the output of several programs in
any language, messages of the kernel.  So a reader takes one line after the other.  It answers with
points if the line has a result, with nothing if the line only tells how the next results are
measured, and with None if the line says nothing to it.

    ======= AU=5, linear access =======      how
    4MiB    6.69M/s                          a result
    usb 1-1: reset high-speed USB device     None
    2MiB    2.72M/s                          a result

A line that looks like a result but contradicts itself is damaged and gives None as well.
"""

from __future__ import annotations

import re
from typing import Protocol

from .schema import Point, Scalar, make_point

_BINARY = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_NUMBER = r"\d{1,15}(?:[.,]\d{1,9})?(?:[eE][-+]?\d{1,2})?"


class Reader(Protocol):
    """Reads the lines of one log; a new log needs a new reader."""

    def take(self, line: str) -> list[Point] | None:
        """The points of a line; [] if it only says how the next ones are measured; None if it says
        nothing."""


def number(text: str) -> float:
    """A number with a point or a comma in front of its fraction."""
    return float(text.replace(",", "."))


def size(text: str) -> int | None:
    """Bytes, as dd and scripts write them: "4M", "64kb", "1MiB", "4096", "$[4*1024*1024]"."""
    product = 1
    for factor in re.split(r"[*x]", text.strip("$[]() \"'")):
        match = re.fullmatch(r"\s*(\d{1,15})\s*([kKmMgGtT]?)(i?[bB])?\s*", factor)
        if not match:
            return None
        product *= int(match[1]) * _BINARY[match[2].upper()]
    return product if 0 < product < 1 << 62 else None


# --- flashbench ---

_ALIGN = re.compile(r"align (\d{1,18})\s+pre (\S+)\s+on (\S+)\s+post (\S+)\s+diff (\S+)\s*")
_TIME = re.compile(rf"(-?{_NUMBER})(n|[uµμ]|m|s|)s?")
_NS = {"": 1.0, "n": 1.0, "u": 1e3, "µ": 1e3, "μ": 1e3, "m": 1e6, "s": 1e9}
_RATES = re.compile(rf"(\d{{1,6}})(B|KiB|MiB|GiB)((?:\s+{_NUMBER}[KMG]?/s)+)\s*")
_RATE = re.compile(rf"({_NUMBER})([KMG]?)/s")
_RATE_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
_AU = re.compile(r"\bAU\s*=\s*(\d{1,3})\s*,\s*(linear|random)\b", re.I)
_FIND_FAT = re.compile(r"\bfind[- ]fat\b", re.I)
_COMMAND = re.compile(r"\bflashbench\s+(.*)")


class FlashbenchReader:
    """-a, -O (also --random) and -f, behind headings such as those of the public collections of
    results, or behind the commands themselves.

    A table of -O does not say how many units were open, so one without heading and command is not
    read.  The size of a unit is what the command says; otherwise it is the first size of the
    table, because flashbench begins with whole units.  -a ends at an alignment of two blocks, so a
    block is half of the smallest alignment of the log if no command says it.
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

    def take(self, line: str) -> list[Point] | None:
        match = _ALIGN.fullmatch(line)
        if match:
            return self._align(match)
        match = _RATES.fullmatch(line)
        if match:
            return self._rates(match)
        match = _COMMAND.search(line)
        if match:
            return self._command(match[1])
        match = _AU.search(line)
        if match:
            return self._begin("open-au", int(match[1]), match[2].lower() == "random")
        if _FIND_FAT.search(line):
            return self._begin("find-fat")
        return None

    def _begin(self, test: str, units: int = 0, in_random_order: bool = False) -> list[Point]:
        self._test, self._open, self._random = test, units, in_random_order
        self._erasesize = self._first = self._last = self._bs = 0
        return []

    def _command(self, text: str) -> list[Point]:
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
                        "random" in options or "R" in letters)
        elif "find-fat" in options or "f" in letters:
            self._begin("find-fat")
        else:
            self._begin("")
        self._erasesize = size(options.get("erasesize", "")) or 0
        short = re.search(r"(?:^|\s)-b\s*(\d\S*)", words)
        self._bs = size(options.get("blocksize", short[1] if short else "")) or 0
        return []

    def _align(self, match: re.Match[str]) -> list[Point] | None:
        """flashbench cuts a time after 7 bytes, so the end of its unit may be missing."""
        align = int(match[1])
        times = []
        for text in match.groups()[1:]:
            part = _TIME.fullmatch(text)
            if not part:
                return None
            times.append(number(part[1]) * _NS[part[2]])
        expected = times[1] - (times[0] + times[2]) / 2
        if min(times[:3]) <= 0 or abs(expected - times[3]) > 0.02 * max(times[:3]) or align < 2 \
                or align & (align - 1):
            return None
        return [make_point("flashbench-align", [value], align=align, place=place,
                           bs=self._bs or self._least_align // 2)
                for place, value in zip(("pre", "on", "post", "diff"), times)]

    def _rates(self, match: re.Match[str]) -> list[Point] | None:
        chunk = int(match[1]) * _BINARY[match[2].rstrip("B").rstrip("i")]
        rates = [number(text) * _RATE_UNITS[unit] for text, unit in _RATE.findall(match[3])]
        if chunk == 0 or min(rates) <= 0:
            return None
        if self._last and chunk >= self._last:
            self._first = 0     # a table of its own, without a heading
            if self._test == "open-au":
                self._test = ""
        if len(rates) > 1 and self._test != "find-fat":
            self._begin("find-fat")
        if self._test == "" or (self._test == "open-au" and not 0 < self._open < 256):
            return None
        if self._test == "align":
            return None
        self._first = self._first or self._erasesize or chunk
        if chunk > self._first:
            return None
        self._last = chunk
        if self._test == "open-au":
            return [make_point("flashbench-open-au", rates, erasesize=self._first,
                               open=self._open, random=self._random, chunk=chunk)]
        return [make_point("flashbench-find-fat", [rate], erasesize=self._first,
                           units=len(rates), unit=i, chunk=chunk)
                for i, rate in enumerate(rates)]


# --- dd ---

# GNU and busybox: NUMBER words (sizes) words, SECONDS unit, RATE unit/unit; whatever the language.
# Some put a word in front of the number, so it may be anywhere before the parenthesis.
_DD = re.compile(rf"(?:^|\s)(\d{{3,18}})\s*[^\d(]*\(([^()]*)\)[^\d]*,?\s*({_NUMBER})\s*[^\d\s,]*"
                 rf"\s*,\s*({_NUMBER})\s*(\S{{1,6}})/\S{{1,8}}\s*")
_DD_BSD = re.compile(rf"(\d{{3,18}}) bytes transferred in ({_NUMBER}) secs? "
                     rf"\(({_NUMBER}) bytes/sec\)\s*")
_DD_HEADING = re.compile(r"\b(read|write)\b.*\bdd\b", re.I)
_DD_COMMAND = re.compile(r"\bdd\s+((?:\S+=\S+\s*)+)")
_WIDE = str.maketrans("（），、：", "(),,:")


class DdReader:
    """The last line of dd.

    It is recognised in any language by its numbers: bytes, seconds and the rate have to agree.
    What was done follows from the command or the heading in front of it, if there is one.
    """

    def __init__(self) -> None:
        self._how: dict[str, Scalar] = {"op": "unknown"}

    def take(self, line: str) -> list[Point] | None:
        line = line.translate(_WIDE)
        match = _DD.search(line)
        if match:
            return self._point(int(match[1]), number(match[3]), number(match[4]), True)
        match = _DD_BSD.fullmatch(line)
        if match:
            return self._point(int(match[1]), number(match[2]), number(match[3]), False)
        match = _DD_COMMAND.search(line)
        if match:
            self._command(dict(word.split("=", 1) for word in match[1].split() if "=" in word))
            return []
        match = _DD_HEADING.search(line)
        if match:
            self._heading(match[1].lower(), line)
            return []
        if re.search(r"={4,}", line) and re.search(r"[A-Za-z]{4}", line):
            self._how = {"op": "unknown"}       # the heading of something else
        return None

    def _point(self, count: int, seconds: float, rate: float, scaled: bool) -> list[Point] | None:
        if count == 0 or not 1e-9 < seconds < 1e9 or rate <= 0:
            return None
        measured = count / seconds
        units = [1000.0**i for i in range(5)] + [1024.0**i for i in range(1, 5)]
        if not any(abs(measured / (rate * unit) - 1) < 0.06 for unit in units[:None if scaled
                                                                              else 1]):
            return None
        return [make_point("dd", [measured], bytes=count, **self._how)]

    def _heading(self, op: str, line: str) -> None:
        """Such as "Linear write speed (dd, 4M block, seek 10)"."""
        self._how = {"op": op, "on": "device"}
        block = re.search(r"(\d+\s*[kKMG]?i?[bB]?)\s+block", line)
        skip = re.search(r"\b(?:seek|skip)[ =](\d{1,12})", line)
        bs = size(block[1]) if block else None
        if bs:
            self._how["bs"] = bs
            self._how["offset"] = bs * int(skip[1]) if skip else 0

    def _command(self, words: dict[str, str]) -> None:
        source, target = words.get("if", ""), words.get("of", "")
        reads = target == "/dev/null" or not target
        other = source if reads else target
        self._how = {"op": "read" if reads else "write",
                     "on": "device" if re.match(r"/dev/(?!shm|zero|null|u?random)", other)
                     else "file"}
        bs = size(words.get("bs", words.get("ibs" if reads else "obs", "512")))
        skip = words.get("skip" if reads else "seek", words.get("iseek" if reads else "oseek", "0"))
        if bs:
            self._how["bs"] = bs
            if skip.isdigit() and len(skip) < 13 and self._how["on"] == "device":
                self._how["offset"] = bs * int(skip)


# --- hdparm ---

_HDPARM = re.compile(rf"\s*Timing (buffered|O_DIRECT) disk reads:\s*(\d{{1,9}}) (kB|MB|GB) in\s+"
                     rf"({_NUMBER}) seconds\s*=\s*({_NUMBER}) (kB|MB|GB)/sec\s*")


class HdparmReader:
    """hdparm -t; its units are powers of 1024.  Cached reads (-T) are about the host."""

    def take(self, line: str) -> list[Point] | None:
        match = _HDPARM.fullmatch(line)
        if not match:
            return None
        count = int(match[2]) * _BINARY[match[3][0].upper()]
        seconds = number(match[4])
        rate = number(match[5]) * _BINARY[match[6][0].upper()]
        if 0 in (count, seconds, rate) or abs(count / seconds / rate - 1) > 0.03:
            return None
        return [make_point("hdparm-t", [rate], direct=match[1] == "O_DIRECT")]


# --- iozone ---

_COLUMNS = ("write", "rewrite", "read", "reread", "random-read", "random-write", "backward-read",
            "record-rewrite", "stride-read", "fwrite", "frewrite", "fread", "freread")


class IozoneReader:
    """The table of automatic mode; its kB are 1024 bytes.

    Columns of tests that were left out are blank.  A row is read as far as its columns follow each
    other.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._on = self._ops = self._direct = self._fsync = False

    def take(self, line: str) -> list[Point] | None:
        low = line.lower()
        if re.fullmatch(r"\s*kb\s+reclen\s+write\s+rewrite\s+read\s+reread.*", low):
            self._on = True
            return []
        for text, name in (("output is in operations per second", "_ops"),
                           ("o_direct feature enabled", "_direct"),
                           ("include fsync in write timing", "_fsync")):
            if text in low:
                setattr(self, name, True)
                return []
        if "output is in kbytes/sec" in low:
            return []
        if "iozone" in low and "version" in low or low.startswith("iozone test complete"):
            self._begin()
            return []
        return self._row(line) if self._on else None

    def _row(self, line: str) -> list[Point] | None:
        if not re.fullmatch(r"\s*\d{1,12}(\s+\d{1,12}){3,14}\s*", line):
            return None
        gaps = [len(gap) for gap in re.findall(r"(?<=\d)\s+(?=\d)", line)[1:]]
        file_kb, record_kb, *values = (int(word) for word in line.split())
        if record_kb == 0 or file_kb < record_kb or 0 in values or max(gaps) > 13:
            return None
        bs = record_kb << 10
        return [make_point("iozone", [value * (bs if self._ops else 1024)], test=test,
                           file=file_kb << 10, bs=bs, direct=self._direct, fsync=self._fsync)
                for test, value in zip(_COLUMNS, values)]


# Throughput mode (-t): the rate of all children together.
_CHILDREN = re.compile(rf"\s*Children see throughput for\s+(\d{{1,5}}) ([a-z -]+?)\s*=\s*"
                       rf"({_NUMBER}) (kB|MB|GB|Bytes)/sec\s*", re.I)
_CHILDREN_TESTS = {
    "initial writers": "write", "rewriters": "rewrite", "readers": "read", "re-readers": "reread",
    "random readers": "random-read", "random writers": "random-write",
    "reverse readers": "backward-read", "stride readers": "stride-read",
    "fwriters": "fwrite", "freaders": "fread"}
_CHILDREN_NAMES = {name.replace("-", ""): test for name, test in _CHILDREN_TESTS.items()}


class IozoneThroughputReader:
    """iozone -t.  The size of a file and of a record are in lines of their own in front."""

    def __init__(self) -> None:
        self._file = self._record = 0
        self._direct = self._fsync = False

    def take(self, line: str) -> list[Point] | None:
        low = line.lower()
        match = re.search(r"\beach process writes a (\d{1,12}) (k|m|g)bytes? file in (\d{1,9}) "
                          r"(k|m|g)bytes? records", low)
        if match:
            self._file = int(match[1]) * _BINARY[match[2].upper()]
            self._record = int(match[3]) * _BINARY[match[4].upper()]
            return []
        match = re.search(r"\beach process writes a (\d{1,12}) bytes? file in (\d{1,9}) bytes? ",
                          low)
        if match:
            self._file, self._record = int(match[1]), int(match[2])
            return []
        self._direct = self._direct or "o_direct feature enabled" in low
        self._fsync = self._fsync or "include fsync in write timing" in low
        match = _CHILDREN.fullmatch(line)
        if not match or not 0 < self._record <= self._file:
            return None
        test = _CHILDREN_NAMES.get(match[2].lower().replace("-", "").strip())
        unit = 1 if match[4].lower() == "bytes" else _BINARY[match[4][0].upper()]
        value, jobs = number(match[3]), int(match[1])
        return None if test is None or not value or not jobs else [make_point(
            "iozone", [value * unit], test=test, file=self._file, bs=self._record,
            direct=self._direct, fsync=self._fsync, **({"jobs": jobs} if jobs > 1 else {}))]


def all_readers(text: str) -> list[Reader]:
    """A reader of each kind, for the lines of this log."""
    aligns = [int(a) for a in re.findall(r"^align (\d{1,18})\s+pre ", text, re.M)]
    least = min((a for a in aligns if a >= 2), default=2)
    return [FlashbenchReader(least), DdReader(), HdparmReader(), IozoneReader(),
            IozoneThroughputReader()]
