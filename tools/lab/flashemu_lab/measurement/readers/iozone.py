# SPDX-License-Identifier: BSD-3-Clause
"""iozone: the table of automatic mode, and throughput mode (-t).  Its kB are 1024 bytes.

What was done stands in the lines in front of the table, or in the command that iozone or a shell
has printed.  A table alone does not say whether requests were direct.

                                                random    random     bkwd    record    stride
     kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read
  102400       4     1640     1500     4500     4510     4490      193                      3303

Columns of tests that did not run are blank.  So a value belongs to the column under whose name it
ends.  Where blanks were lost, the tests of the command tell the columns, if their number fits.
"""

from __future__ import annotations

import re

from ..numbers import BINARY, NUMBER, number
from ..reader import Line, LineReader, Sink
from ..schema import Scalar, make_point

_COLUMNS = ("write", "rewrite", "read", "reread", "random-read", "random-write", "backward-read",
            "record-rewrite", "stride-read", "fwrite", "frewrite", "fread", "freread")
# The columns of each test of -i.
_TESTS = {0: (0, 1), 1: (2, 3), 2: (4, 5), 3: (6,), 4: (7,), 5: (8,), 6: (9, 10), 7: (11, 12)}
_HEADING = re.compile(r"kb\s+reclen\s+write\s+rewrite(?:\s+(?:read|reread|write|rewrite|fwrite|"
                      r"frewrite|fread|freread))*", re.I)
_ROW = re.compile(r"\d{1,12}(?:\s+\d{1,12}){2,14}")
_NEAR = 3           # how far from the end of a column's name a value may end
_COMMAND = re.compile(r"(?:^|[\s/])iozone3?\s+(-.*)", re.I)
_EACH = re.compile(r"each (?:process|thread) writes an? (\d{1,12}) (k|m|g)?bytes? file in "
                   r"(\d{1,9}) (k|m|g)?bytes? records", re.I)
_CHILDREN = re.compile(rf"Children see throughput for\s+(\d{{1,5}}) ([a-z -]+?)\s*=\s*"
                       rf"({NUMBER}) (\S+)", re.I)
_RUNS = {"initial writers": "write", "rewriters": "rewrite", "readers": "read",
         "re-readers": "reread", "random readers": "random-read", "random writers": "random-write",
         "reverse readers": "backward-read", "stride readers": "stride-read",
         "fwriters": "fwrite", "freaders": "fread"}
_NAMES = {name.replace("-", ""): test for name, test in _RUNS.items()}
_KNOWN = re.compile(
    r"(?:Output is in kbytes/sec|Record Size \d+.*|File size set to \d+.*|Time Resolution =.*|"
    r"Auto Mode.*|Processor cache.*|File stride size.*|Using m(?:in|ax)imum file size.*|"
    r"Excel chart generation.*|Throughput test with \d+ .*|M(?:in|ax) throughput per.*|"
    r"Avg throughput per.*|Min xfer.*|Parent sees throughput.*|random\s+random.*)", re.I)
# What a line of the banner or a letter of a command means.
_BANNER = {"output is in operations per second": ("unit", "ops"),
           "output is in microseconds per operation": ("unit", "us"),
           "o_direct feature enabled": ("direct", "yes"),
           "include fsync in write timing": ("fsync", "yes"),
           "sync mode": ("sync", "yes")}
_REFUSED = {"using mmap files": "maps its file", "cpu utilization mode": "",
            "using async": "gathers requests", "include close in write timing": "",
            "purge mode": "", "read only": ""}
_LETTERS = {"O": ("unit", "ops"), "N": ("unit", "us"), "I": ("direct", "yes"),
            "e": ("fsync", "yes"), "o": ("sync", "yes")}
_WRITES = ("write", "rewrite", "random-write", "record-rewrite", "fwrite", "frewrite")


class IozoneReader(LineReader):
    """As reader.Reader."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._said: dict[str, str] = {}
        self._banner = False        # iozone itself has said how
        self._tests: tuple[int, ...] = ()
        self._ends: list[int] = []  # where the names of the columns end; none: no heading yet
        self._file = self._record = 0
        self._wrong = ""

    def take(self, line: Line, sink: Sink) -> bool:
        """As for reader.Reader."""
        text = line.text
        low = text.lower()
        if match := _HEADING.fullmatch(text):
            at = len(line.whole) - len(line.whole.lstrip())
            self._ends = [at + word.end() for word in re.finditer(r"\S+", text)]
        elif "iozone" in low and ("version" in low or "performance test of file i/o" in low) or \
                low.startswith("iozone test complete"):
            self._begin()
        elif match := _COMMAND.search(text):
            self._command(match[1], "command line used" in low)
        elif match := _EACH.search(text):
            self._file, self._record = (
                int(match[i]) * BINARY[(match[i + 1] or "").upper()] for i in (1, 3))
        elif match := _CHILDREN.fullmatch(text):
            self._children(line, match, sink)
        elif self._ends and _ROW.fullmatch(text):
            self._row(line, sink)
        elif re.fullmatch(r'".* report"', low):
            sink.leave(line.number, "iozone -R", "its report repeats the table in front of it")
        else:
            return self._line(low) or _KNOWN.fullmatch(text) is not None
        return True

    def _line(self, low: str) -> bool:
        """A line of the banner."""
        found = False
        for text, (key, value) in _BANNER.items():
            if text in low and (text != "sync mode" or low.startswith(text)):
                self._said[key], found = value, True
        for text, why in _REFUSED.items():
            if low.startswith(text):
                self._wrong, found = self._wrong or why, True
        if low.startswith("output is in"):
            self._banner = True
        return found

    def _command(self, text: str, by_iozone: bool) -> None:
        """Options of a command; a shell's command in front begins anew."""
        if not by_iozone:
            self._begin()
        self._said["command"] = "yes"
        words = re.sub(r"[;&|<>].*", "", text).split()      # the shell's
        tests = []
        for i, word in enumerate(words):
            match = re.fullmatch(r"-([A-Za-z+]+)(\d*)", word)
            if not match:
                continue
            value = match[2] or (words[i + 1] if i + 1 < len(words) else "")
            if match[1] == "i" and value.isdigit() and int(value) in _TESTS:
                tests.append(int(value))
            if match[1] in ("B", "H", "k", "K", "J", "j", "Y", "Z") or "+" in match[1][:1]:
                self._wrong = self._wrong or f"-{match[1]} changes what is done"
            for letter in match[1] if match[1].isalpha() else "":
                if letter in _LETTERS and match[1] != "i":
                    key, meaning = _LETTERS[letter]
                    self._said[key] = meaning
        self._tests = tuple(sorted(set(tests)))

    def _how(self, test: str) -> dict[str, Scalar]:
        """Whether requests were direct and so on, as far as it was said."""
        how: dict[str, Scalar] = {"test": test}
        if self._banner or self._said.keys() & {"command", "direct", "fsync", "sync"}:
            how["direct"] = "direct" in self._said
            how["fsync"] = "fsync" in self._said
        if "sync" in self._said and test in _WRITES:
            how["sync"] = "sync"
        return how

    def _row(self, line: Line, sink: Sink) -> None:
        words = list(re.finditer(r"\d+", line.whole))
        file, record, *values = (int(word[0]) for word in words)
        columns = self._columns([word.end() for word in words[2:]])
        wrong = self._wrong
        if not record or file < record:
            wrong = wrong or "a record is not smaller than the file"
        if columns is None:
            wrong = wrong or "nobody knows to which columns its values belong"
        if wrong or columns is None:
            sink.leave(line.number, f"iozone, {file} kB by {record} kB", wrong)
            return
        for column, value in zip(columns, values):
            test, bs = _COLUMNS[column], record << 10
            if not value or (line.cut and column == columns[-1]):
                sink.leave(line.number, f"iozone, {test}",
                           "the log ends in it" if value else "is 0")
                continue
            rate = {"ops": value * float(bs), "us": bs * 1e6 / value}.get(
                self._said.get("unit", ""), value * 1024.0)
            sink.take(line.number, make_point("iozone", [rate], file=file << 10, bs=bs,
                                              **self._how(test)))

    def _columns(self, ends: list[int]) -> list[int] | None:
        """The columns of values that end at these places."""
        names = self._ends[2:]
        found = []
        for end in ends:
            near = min(range(len(names)), key=lambda i: abs(names[i] - end), default=0)
            if not names or abs(names[near] - end) > _NEAR:
                break
            found.append(near)
        if len(found) == len(ends) and found == sorted(set(found)):
            return found
        told = [column for test in self._tests for column in _TESTS[test]]
        if len(told) == len(ends):
            return told
        return list(range(len(ends))) if len(ends) == len(_COLUMNS) else None

    def _children(self, line: Line, match: re.Match[str], sink: Sink) -> None:
        """The rate of all processes together."""
        test = _NAMES.get(match[2].lower().replace("-", "").strip())
        jobs, value, unit = int(match[1]), number(match[3]), match[4].lower()
        wrong = self._wrong
        scale = {"bytes/sec": 1.0, "kb/sec": 2.0**10, "kbytes/sec": 2.0**10, "mb/sec": 2.0**20,
                 "gb/sec": 2.0**30, "ops/sec": float(self._record)}.get(unit, 0.0)
        if test is None:
            wrong = wrong or f"nothing here repeats its {match[2].strip()}"
        if not 0 < self._record <= self._file:
            wrong = wrong or "no line in front says how large the file and a record are"
        if not scale or not value or not jobs:
            wrong = wrong or f"{match[3]} {match[4]} is no rate that is known here"
        if wrong or test is None:
            sink.leave(line.number, f"iozone -t, {match[2].strip()}", wrong)
            return
        sink.take(line.number, make_point(
            "iozone", [value * scale], file=self._file, bs=self._record, **self._how(test),
            **({"jobs": jobs} if jobs > 1 else {})))

