# SPDX-License-Identifier: BSD-3-Clause
"""The last line of dd.

It is recognised in any language by its numbers: bytes, seconds and the rate have to agree.  What
was done follows from the command or the heading in front of it.  With status=progress, or when it
gets a signal, dd prints such lines before it has ended, too; these are no results:

    $ dd if=/dev/zero of=/dev/sdb bs=1M count=100 oflag=direct status=progress
    31457280 bytes (31 MB, 30 MiB) copied, 2 s, 15.7 MB/s           goes on
    104857600 bytes (105 MB, 100 MiB) copied, 10 s, 10.5 MB/s       goes on, or is the end
    100+0 records in
    100+0 records out
    104857600 bytes (105 MB, 100 MiB) copied, 10.2 s, 10.3 MB/s     the end

Units of operands are GNU's: c 1, w 2, b 512, K and KiB 1024, kB 1000, and so on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..numbers import NUMBER, number, size
from ..reader import Line, LineReader, Sink
from ..schema import Scalar, make_point

# GNU and busybox: NUMBER words (sizes) words, SECONDS unit, RATE unit/unit; whatever the language.
# Some put a word in front of the number, so it may be anywhere before the parenthesis; few bytes
# have no parenthesis.
_END = re.compile(rf"(?:^|\s)(\d{{3,18}})\s*[^\d(]*\(([^()]*)\)[^\d]*,?\s*({NUMBER})\s*[^\d\s,]*"
                  rf"\s*,\s*({NUMBER})\s*(\S{{1,6}})/\S{{1,8}}\s*")
_SHORT = re.compile(rf"(\d{{1,3}}) bytes? copied, ({NUMBER}) s(?:econds)?, ({NUMBER}) ?(\S+)/s")
_BSD = re.compile(rf"(\d{{3,18}}) bytes transferred in ({NUMBER}) secs? "
                  rf"\(({NUMBER}) bytes/sec\)\s*")
_RECORDS = re.compile(r"(?:^|.*\s)(\d{1,15})\+(\d{1,15})\b.*")
_HEADING = re.compile(r"\b(read|write)\b.*\bdd\b", re.I)
_COMMAND = re.compile(r"\bdd\s+((?:[a-z]+=\S+\s*)+)")
_FAILED = re.compile(r"\bdd: |No space left")
_WIDE = str.maketrans("（），、：", "(),,:")
_UNITS = {"c": 1, "w": 2, "b": 512, "": 1, "B": 1}


def dd_size(text: str) -> int | None:
    """Bytes or blocks as GNU's dd reads them: "4M", "1MB", "8b", "2x512"; None if it is none."""
    product = 1
    for factor in re.split(r"[*x]", text.strip("$[]() \"'")):
        match = re.fullmatch(r"\s*(\d{1,15})\s*([cwbB]?|([kKMmGgTt])(i?B|D)?)\s*", factor)
        if not match:
            return None
        power = "kmgt".index(match[3].lower()) + 1 if match[3] else 0
        base = 1000 if match[4] in ("B", "D") else 1024
        product *= int(match[1]) * (base**power if power else _UNITS[match[2]])
    return product if 0 < product < 1 << 62 else None


@dataclass
class _Ended:
    """A line that may be the end of a call."""

    line: int
    count: int
    seconds: float
    rate: float
    whole_seconds: bool     # as progress has them
    records: bool           # the numbers of records were in front of it


class DdReader(LineReader):
    """As reader.Reader.  A result waits until it is clear that its call does not go on."""

    def __init__(self) -> None:
        self._seen: dict[str, object] = {}      # the lines of results, and what was done
        self._later: list[dict[str, str]] = []  # further commands of the same line
        self._forget()
        self._waiting: _Ended | None = None

    def _forget(self) -> None:
        self._how: dict[str, Scalar] = {"op": "unknown"}
        self._wrong = ""
        self._whole = 0             # bytes that the command wants to copy, 0 if it does not say
        self._records: list[tuple[int, int]] = []
        self._failed = self._is_command = self._progress = False

    def take(self, line: Line, sink: Sink) -> bool:
        """As for reader.Reader."""
        text = line.text.translate(_WIDE)
        if match := _END.search(text) or _SHORT.fullmatch(text):
            groups = match.groups()
            if self._seen.setdefault(text, self._how) != self._how:
                sink.leave(line.number, "dd", "is the same line as behind another command")
                return True
            return self._ended(line, int(groups[0]), groups[-3], number(groups[-2]), True, sink)
        if match := _BSD.fullmatch(text):
            return self._ended(line, int(match[1]), match[2], number(match[3]), False, sink)
        if commands := _COMMAND.findall(text):
            self.end(sink)
            first, *self._later = map(_operands, commands)
            self._command(first)
            return True
        if _FAILED.search(text):
            self._failed = True
            return True
        if (match := _RECORDS.fullmatch(text)) and len(text) < 80 and "=" not in text:
            self._records = [*self._records[-1:], (int(match[1]), int(match[2]))]
            return True
        if match := _HEADING.search(text):
            self.end(sink)
            self._heading(match[1].lower(), text)
            return True
        if re.search(r"={4,}", text) and re.search(r"[A-Za-z]{4}", text):
            self.end(sink)
            self._forget()          # the heading of something else
        return False

    def _ended(self, line: Line, count: int, time: str, rate: float, scaled: bool, sink: Sink
               ) -> bool:
        """A line with a rate; dd may go on behind it."""
        seconds = number(time)
        new = _Ended(line.number, count, seconds, 0.0, re.fullmatch(r"\d+", time) is not None,
                     len(self._records) > 1)
        self._records = []
        if count == 0 or not 1e-9 < seconds < 1e9 or rate <= 0 or \
                not _agree(count / seconds, rate, scaled):
            sink.leave(line.number, "dd", "bytes, time and rate contradict each other")
            return True
        new.rate = count / seconds
        old, self._waiting = self._waiting, new
        if old and not self._goes_on(old, new):
            self._settle(old, sink)
            if self._later:
                self._command(self._later.pop(0))
        elif old:
            sink.leave(old.line, "dd", "is not the end")
        return True

    def _goes_on(self, old: _Ended, new: _Ended) -> bool:
        """Whether the call went on behind the old line to the new one."""
        if new.count < old.count or new.seconds < old.seconds:
            return False
        if self._progress and old.whole_seconds and new.count == old.count:
            return new.seconds - old.seconds <= 1
        if old.records:
            return self._is_command and new.count > old.count and (
                old.count < self._whole or not self._whole)
        return new.records or (new.count > old.count and (old.whole_seconds or self._is_command))

    def _settle(self, one: _Ended, sink: Sink) -> None:
        if self._wrong:
            sink.leave(one.line, "dd", self._wrong)
        elif one.count < self._whole and not one.records and not self._failed:
            sink.leave(one.line, "dd", f"was to copy {self._whole} bytes, so this is not the end")
        elif one.whole_seconds and not one.records and (self._progress or not self._whole):
            sink.leave(one.line, "dd", "is a line of its progress, and the end is missing")
        else:
            sink.take(one.line, make_point("dd", [one.rate], bytes=one.count, **self._how))

    def end(self, sink: Sink) -> None:
        """As for reader.Reader."""
        if self._waiting:
            self._settle(self._waiting, sink)
        self._waiting = None
        self._records = []
        self._failed = False

    def _heading(self, op: str, line: str) -> None:
        """Such as "Linear write speed (dd, 4M block, seek 10)"."""
        self._forget()
        self._how = {"op": op, "on": "device"}
        block = re.search(r"(\d+\s*[kKMG]?i?[bB]?)\s+block", line)
        skip = re.search(r"\b(?:seek|skip)[ =](\d{1,12})", line)
        bs = size(block[1]) if block else None
        if bs:
            self._how["bs"] = bs
            self._how["offset"] = bs * int(skip[1]) if skip else 0

    def _command(self, words: dict[str, str]) -> None:
        self._forget()
        self._is_command = True
        self._progress = words.get("status") == "progress"
        source, target = words.get("if", ""), words.get("of", "")
        reads = not target or re.match(r"/dev/(?:null|zero|stdout)\b", target) is not None
        other = source if reads else target
        if not reads and re.match(r"/dev/(?!zero|u?random|shm)", source):
            self._how["op"] = "unknown"
            self._wrong = "copies from one device to another, and either may be the slower one"
            return
        self._how = {"op": "read" if reads else "write",
                     "on": "device" if re.match(r"/dev/(?!shm|zero|null|u?random)|/dev/rdisk|"
                                                r"\\\\\.\\", other) else "file"}
        self._flags(words, reads)
        self._places(words, reads)

    def _flags(self, words: dict[str, str], reads: bool) -> None:
        """What oflag=, iflag= and conv= mean for the device."""
        flags = set(words.get("iflag" if reads else "oflag", "").split(","))
        conv = set(words.get("conv", "").split(","))
        if "sparse" in conv and not reads:
            self._wrong = "conv=sparse leaves out blocks of zeros"
        raw = words.get("if" if reads else "of", "").startswith("/dev/rdisk")  # of macOS
        self._how["direct"] = "direct" in flags or raw
        if not reads and flags & {"sync", "dsync"}:
            self._how["sync"] = "sync" if "sync" in flags else "dsync"
        if not reads and conv & {"fsync", "fdatasync"}:
            self._how["end_fsync"] = True

    def _places(self, words: dict[str, str], reads: bool) -> None:
        text = words.get("bs", words.get("ibs" if reads else "obs", "512"))
        bs, count = dd_size(text), words.get("count", "")
        flags = words.get("iflag", "") + "," + words.get("oflag", "")
        if bs is None:
            if "$" not in text:
                self._wrong = f"bs={text} is no size that is known here"
            return
        self._how["bs"] = bs
        blocks = dd_size(count)
        source_bs = dd_size(words.get("bs", words.get("ibs", "512"))) or 0
        if blocks and count:
            self._whole = blocks * (1 if count.endswith("B") or "count_bytes" in flags else
                                    source_bs)
        key = "skip" if reads else "seek"
        text = words.get(key, words.get("iseek" if reads else "oseek", "0"))
        skip = 0 if text == "0" else dd_size(text)
        if skip is not None and self._how["on"] == "device":
            in_bytes = text.endswith("B") or f"{key}_bytes" in flags
            self._how["offset"] = skip * (1 if in_bytes else bs)
        elif skip is None and "$" not in text:
            self._wrong = f"{key}={text} is no number that is known here"


def _operands(command: str) -> dict[str, str]:
    """The operands of a command, up to where the shell's own words begin."""
    found = {}
    for word in command.split():
        key, _, value = word.partition("=")
        value = value.strip("\"'`")
        end = re.search(r"[;&|<>]" if "(" in value else r"[;&|<>)]", value)
        found[key] = (value[:end.start()] if end else value).rstrip("\"'`")
        if end:
            break
    return found


def _agree(measured: float, rate: float, scaled: bool) -> bool:
    """Whether a rate that was printed with some unit is what was measured."""
    units = [1000.0**i for i in range(5)] + [1024.0**i for i in range(1, 5)]
    return any(abs(measured / (rate * unit) - 1) < 0.06 for unit in units[:None if scaled else 1])
