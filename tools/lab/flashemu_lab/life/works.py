# SPDX-License-Identifier: BSD-3-Clause
"""What a user means by a work: requests, and how much of them a day.

    NAME[,every=TIME][,commits=N][,rate=SIZE][,per-day=SIZE]   a shipped work, works.toml
    rec:NAME[,...]      a recording, which happens once an hour unless --every says otherwise
    gen:PATTERN[,...]   a pattern, of which --per-day says how much there is
    host=SIZE, chip=SIZE                bytes a day from the host, or on the chip
    FILE                a trace of any format that flashemu reads, or what a machine has counted
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Sequence

from ..core.errors import LabError
from ..core.text import allowed, lines_of, meant
from ..core.units import decimal, in_bytes, number
from ..recording import recordings
from ..runs.program import Tool
from . import diskstats, extcsd, readings, sysstat
from .asked import DAY, often, seconds, shipped
from .card import Card
from .endurance import Number
from .reading import Reading, between

# A trace that is shorter says nothing about years by itself.
LEAST_SECONDS = 3600.0
_NO_TRACE = "not the first line of a known trace format"
# Where the partition of a recording begins, in sectors, unless the operand says it: at 4 MiB.
START = 8192
_PAUSE = 10**18  # ns, the longest pause of a pattern
# How old an eMMC may be that says anything, in seconds.
_YOUNGEST, _OLDEST = DAY, 50 * 365.25 * DAY
_SEGMENT = 4096  # sectors that f2fs aligns itself to


@dataclass(frozen=True)
class Told:
    """What options say about works: 0 or "" for nothing.

    per_day  bytes that the host writes in a day
    every    seconds after which a recording or a trace happens again
    apart    seconds between two readings
    age      seconds for which a device has been used
    device   whose counters count
    """

    per_day: float = 0
    every: float = 0
    apart: float = 0
    age: float = 0
    device: str = ""


_ASSUMED_SHAPE = "the shape of the requests is assumed"
# What the members of Told say, for the message about one that no work takes.
_SAYS = {"per_day": "how much a recording, a trace, a pattern or a shipped work writes in a day",
         "every": "how often a recording or a trace happens, or one event of a shipped work that "
                  "has events",
         "apart": "what lies between two readings of /proc/diskstats or mmc extcsd",
         "age": "how long the device of one reading of mmc extcsd has been used",
         "device": "whose counters of /proc/diskstats, iostat or sar count"}


@dataclass(frozen=True)
class Work:
    """requests  operands of a replay; several if they are shapes of which nobody knows which it is,
              each with its name; none for a pattern that depends on the card
    size      of the writes of such patterns, in bytes
    per_day   bytes in a day, from the host or on the chip (on_chip); 0: `rounds` says it
    rounds    how often a day the requests happen
    timed     the requests arrive at the trace's times
    end       of the farthest request of a trace, in bytes: on a smaller card it goes to the start
    doubts    why a prediction has no evidence
    health    what a device says about itself, with the age: then there is nothing to replay
    before    what it said `apart` seconds before
    takes     which members of Told say something about such a work
    """

    name: str
    title: str
    requests: tuple[tuple[str, str], ...] = ()
    size: float = 0
    per_day: float = 0
    on_chip: bool = False
    rounds: float = 0
    timed: bool = False
    end: int = 0
    doubts: tuple[str, ...] = ()
    assumed: tuple[Number, ...] = ()
    health: extcsd.Health | None = None
    age: float = 0
    before: extcsd.Health | None = None
    apart: float = 0
    takes: tuple[str, ...] = ()

    def shapes(self, card: Card) -> tuple[tuple[str, str], ...]:
        """The requests for this card, each with the name of its shape."""
        if self.requests:
            return self.requests
        room = min(2**30, card.capacity // 4)
        size = max(512, round(self.size / 512) * 512) if self.size < 4096 else \
            round(min(self.size, room / 4) / 4096) * 4096
        rate = self.per_day / DAY
        pause = min(_PAUSE, round(size / rate * 1e9)) if rate else 0
        think = f",think={pause}ns" if pause and not self.on_chip else ""
        room = room // size * size
        order = f"gen:sequential,op=write,bs={size},size={room},count=100M{think}"
        if self.on_chip:
            return (("in order", order),)
        return (("at random", f"gen:zipf,op=write,bs={size},size={room},count=100M{think}"),
                ("in order", order))


_OTHER_NAMES = {"ha": "home-assistant", "homeassistant": "home-assistant", "home assistant":
                "home-assistant", "log": "logger", "db": "database", "influx": "influxdb",
                "video": "camera"}


def read(tool: Tool, words: Sequence[str], told: Told) -> list[Work]:
    """The works that words mean; two readings of /proc/diskstats are one.  LabError if one is wrong
    or does not say how much is written in a day, or if nothing takes what is told."""
    found: list[Work] = []
    sums: list[tuple[str, str]] = []
    registers: list[tuple[str, str]] = []
    for word in words:
        text = readings.text_of(Path(word))
        kind = readings.kind_of(text) if text else ""
        if kind == "diskstats":
            sums.append((word, text))
        elif kind == "extcsd":
            registers.append((word, text))
        else:
            found.append(_one(tool, word, text, told))
    if sums:
        found.append(replace(
            _of_reading(sums[0][0], diskstats.read(sums, told.device, told.apart)),
            takes=("apart", "device")))
    if registers:
        found.append(_of_registers(registers, told))
    for member, says in _SAYS.items():
        if getattr(told, member) and not any(member in work.takes for work in found):
            raise LabError(f"--{member.replace('_', '-')} says {says}, and here is none: "
                           f"{', '.join(work.name for work in found)}")
    return found


def _one(tool: Tool, word: str, text: str, told: Told) -> Work:
    name = word.partition(",")[0].lower().replace("_", "-")
    name = _OTHER_NAMES.get(name, name)
    if word.startswith(recordings.PREFIX):
        return _recording(word, told)
    if word.startswith("gen:"):
        return _pattern(tool, word, told)
    if name in shipped():
        return _shipped(name, word, told)
    amount = re.fullmatch(r"(?:(host|chip)\s*[:=])?(.*?)(?:/d(?:ay)?)?", word, re.DOTALL)
    if amount and (amount[1] or re.match(r"\s*\d", word)) and not os.path.exists(word):
        return _amount(word, amount[1] or "host", in_bytes(amount[2]))
    if text:
        return _of_text(word, text, told)
    return _trace(tool, word, told)


def _amount(word: str, where: str, size: float | None) -> Work:
    if not size or size < 1:
        raise LabError(f"{word}: allowed: host=SIZE or chip=SIZE, the bytes of a day, such as "
                       "500MB or 2G, or a file that exists")
    shape = Number("shape of the requests", "64 KiB in order, again and again in 1 GiB",
                   "assumed") \
        if where == "chip" else _shape(65536)
    return Work(word, f"{number(size / 1e9)} GB a day " + (
        "on the chip" if where == "chip" else "from the host"), size=65536, per_day=size,
        on_chip=where == "chip", doubts=() if where == "chip" else (_ASSUMED_SHAPE,),
        assumed=(_daily(size, "given"), shape))


def _daily(size: float, source: str) -> Number:
    """How much is written each day, in bytes."""
    return Number("bytes a day", f"{number(size / 1e9)} GB", source)


def _shape(size: float) -> Number:
    return Number("shape of the requests", f"writes of {number(size / 1024)} KiB, between all in "
                                           "order "
                  "and all in random places by Zipf's law, in 1 GiB", "assumed: sums have no "
                                                                      "places")


def _of_text(word: str, text: str, told: Told) -> Work:
    return replace(_of_reading(word, sysstat.read(text, told.device, word)), takes=("device",))


def _of_registers(texts: Sequence[tuple[str, str]], told: Told) -> Work:
    """What an eMMC says about itself, once or at two times."""
    name = texts[0][0]
    parts = [(its_name, *part) for its_name, text in texts for part in extcsd.parts(text)]
    last = extcsd.read(parts[-1][2], parts[-1][0])
    if len(parts) == 1:
        if not told.age:
            raise LabError(f"{name}: says how much of its life is used up, and not since when; "
                           "--age TIME says it, or a second reading with --apart TIME")
        if not _YOUNGEST <= told.age <= _OLDEST:
            raise LabError(f"{name}: --age {told.age:g}s: allowed: 1d to 50y")
        return Work(name, "what the device has done so far", health=last, age=told.age,
                    takes=("age",))
    if told.age:
        raise LabError(f"{name}: --age belongs to one reading of an eMMC, and there are "
                       f"{len(parts)}")
    apart = between([clock for _, clock, _ in parts], told.apart, name)
    before = extcsd.read(parts[0][2], parts[0][0])
    moved = [k for k in last.used if k in before.used and before.used[k] < last.used[k]]
    if any(k not in last.used or last.used[k] < step for k, step in before.used.items()):
        raise LabError(f"{name}: less of the life is used up in a later reading; their order is "
                       "wrong, or they are of two devices")
    if not moved:
        raise LabError(f"{name}: the readings are of the same step of 10 %, so they do not say how "
                       "fast life is used up; --age TIME with one of them does")
    return Work(name, "what the device did between its readings", health=last, before=before,
                apart=apart, takes=("apart",))


def _of_reading(word: str, r: Reading) -> Work:
    if r.per_day <= 0:
        raise LabError(f"{word}: {r.device} has no writes, so nothing wears")
    size = r.size or 65536
    doubts = [_ASSUMED_SHAPE]
    if r.seconds and r.seconds < LEAST_SECONDS:
        doubts.append(f"the readings cover {number(r.seconds)} s, which stand for years")
    assumed = [_daily(r.per_day, f"{r.kind} of {r.device}"),
               Number("size of a write", f"{size:.0f} bytes", r.kind if r.size else "assumed"),
               _shape(size)]
    if not r.seconds:
        assumed.append(Number("time of the reading", "typical", f"assumed: {r.kind} does not say "
                                                                "how "
                              "long it was"))
    return Work(word, f"what {r.device} did", size=size, per_day=r.per_day, doubts=tuple(doubts),
                assumed=tuple(assumed))


def _operand(word: str) -> str:
    """A recording with the start of its partition, the phase that counts, its last one that writes,
    and the pauses of its host, in which devices clean up."""
    found = recordings.operand(word)
    r = found.recording
    if ",start=" not in word:
        start = START + (r.start % _SEGMENT if r.filesystem == "f2fs" else 0)
        word += f",start={start}"
    if not found.measure and len(r.phases) > 1:
        named = [p.name for p in r.phases if p.name in ("write", "again", "install")]
        word += f",measure={named[-1]}" if named else ""
    if ",pace=" not in word and r.thinks:
        word += ",pace=1"
    return word


def _how_often(told: Told, usual: float) -> tuple[float, Number, tuple[str, ...]]:
    if told.every:
        return DAY / told.every, Number("the work happens", often(told.every), "given"), ()
    return DAY / usual, Number("the work happens", often(usual), "assumed; --every TIME says it"), (
        f"that the work happens {often(usual)} is assumed",)


def _recording(word: str, told: Told) -> Work:
    text = _operand(word)
    r = recordings.operand(text).recording
    rounds, often, doubts = _how_often(told, 3600.0)
    sector = recordings.operand(text).start
    start = Number("start of the partition", f"{sector} sectors",
                   "given" if ",start=" in word else "assumed")
    work = Work(word, f"the recording {r.name} ({r.mount}: {r.work})", (("recorded", text),),
                rounds=rounds, doubts=doubts, assumed=(often, start), takes=("every", "per_day"))
    return _given_amount(work, told)


def _given_amount(work: Work, told: Told) -> Work:
    if not told.per_day:
        return work
    if told.every:
        raise LabError(f"{work.name}: --every and --per-day both say how much there is a day")
    return replace(work, per_day=told.per_day, rounds=0, doubts=(), assumed=(
        _daily(told.per_day, "given"), *work.assumed[1:]))


def _pattern(tool: Tool, word: str, told: Told) -> Work:
    tool.check_pattern(word)
    if not told.per_day:
        raise LabError(f"{word}: a pattern does not say how much of it there is; --per-day SIZE "
                       "says it")
    return Work(word, f"the pattern {word}", (("pattern", word),), per_day=told.per_day,
                takes=("per_day",), assumed=(_daily(told.per_day, "given"),))


def _options(word: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for option in word.split(",")[1:]:
        key, _, value = option.partition("=")
        if not value or key in found:
            raise LabError(f"{word}: '{option}': expected KEY=VALUE, each key once")
        found[key] = value
    return found


def _shipped(name: str, word: str, told: Told) -> Work:
    """A work of works.toml with what the user changes of it."""
    w = shipped()[name]
    options = _options(word)
    known = [*(["every"] if "events" in w else ["rate", "per-day"]),
             *(["commits"] if w.get("event") == "a commit" else [])]
    for key in options:
        if key not in known:
            raise LabError(f"{word}: '{key}': {allowed(key, known)}")
    if len(options) > 1:
        raise LabError(f"{word}: allowed: one of {', '.join(known)}")
    takes = ("every", "per_day") if "events" in w else ("per_day",)
    for key, member in ((k, m) for k in options for m in takes if getattr(told, m)):
        raise LabError(f"{word}: {key}={options[key]} and --{member.replace('_', '-')} both say "
                       "how much there is a day")
    shape = Number("shape of the requests", w["shape"], w["requests"].partition(",")[0])
    requests = (("recorded", _operand(w["requests"])),)
    if "events" in w:
        every = told.every or _every(word, options) or w["every"]
        given = bool(told.every or options)
        what = Number(w["event"], often(every), "given" if given else w["source"])
        work = Work(word, w["title"], requests, rounds=DAY / every / w["events"],
                    assumed=(what, shape), takes=takes)
        doubt = f"{what.what} {what.value} is assumed"
    else:
        per_day = _per_day(word, options) or w["per_day"]
        given = bool(options)
        what = _daily(per_day, "given" if given else w["source"])
        work = Work(word, w["title"], requests, per_day=per_day, assumed=(what, shape),
                    takes=takes)
        doubt = f"that {what.value} are written each day is assumed"
    if not given and w["source"].startswith("assumed"):
        work = replace(work, doubts=(doubt,))
    work = _given_amount(work, told if "every" in takes else replace(told, every=0))
    return replace(work, doubts=(*work.doubts, *([w["doubt"]] if "doubt" in w else [])))


def _every(word: str, options: dict[str, str]) -> float:
    if "commits" in options:
        commits = decimal(options["commits"])
        if not commits or not 1e-9 <= commits < 1e9:
            raise LabError(f"{word}: commits={options['commits']}: allowed: a number in a minute")
        return 60 / commits
    if "every" not in options:
        return 0
    found = seconds(options["every"])
    if not found:
        raise LabError(f"{word}: every={options['every']}: allowed: a time such as 10s, 5min, 1h "
                       "or 1d")
    return found


def _per_day(word: str, options: dict[str, str]) -> float:
    for key, ends, scale in (("rate", "/s", DAY), ("per-day", "/day", 1.0)):
        if key in options:
            size = in_bytes(options[key].removesuffix(ends))
            if not size:
                raise LabError(f"{word}: {key}={options[key]}: allowed: " + (
                    "the bytes of a day, such as 2GB" if key == "per-day" else
                    "bytes a second, such as 250KB, which are 2 Mbit"))
            return size * scale
    return 0


def _trace(tool: Tool, word: str, told: Told) -> Work:
    """A trace: what it has written, over how long."""
    if not word or not os.path.exists(word):
        names = list(shipped())
        raise LabError(f"{word or repr(word)}: there is no such file, and no work of this name; "
                       f"allowed: {', '.join(names)}, rec:RECORDING, gen:PATTERN, host=SIZE or "
                       f"chip=SIZE{meant(word, names)}")
    try:
        text = tool.ask("trace", word)
    except LabError as e:
        if _NO_TRACE not in str(e):
            raise
        raise LabError(f"{word}: is no trace of a format that flashemu reads, and not what "
                       "/proc/diskstats, iostat, sar -d or mmc extcsd read prints") from e
    first, last, written, end = _span(text)
    if not written:
        raise LabError(f"{word}: has no writes, so nothing wears")
    length = (last - first) / 1e9
    work = Work(word, f"the trace {word}", (("trace", word),), timed=length > 0, end=end,
                takes=("every", "per_day"))
    if told.per_day:
        work = _given_amount(work, told)
    elif told.every:
        if told.every < length:
            raise LabError(f"{word}: lasts {number(length)} s and cannot happen every "
                           f"{told.every:g} s")
        work = replace(work, rounds=DAY / told.every, assumed=(
            Number("the work happens", often(told.every), "given"),))
    elif length < LEAST_SECONDS:
        raise LabError(f"{word}: lasts {number(length)} s, which cannot stand for years; --every "
                       "TIME "
                       "says how often it happens, or --per-day SIZE how much there is")
    else:
        work = replace(work, per_day=written * DAY / length, assumed=(
            _daily(written * DAY / length, "the trace"),))
    if length < LEAST_SECONDS:
        work = replace(work, doubts=(f"a trace of {number(length)} s stands for years",))
    return work


def _span(text: str) -> tuple[int, int, int, int]:
    """Of a trace as text: its first and last time in ns, bytes written, and the end of the farthest
    request."""
    times: list[int] = []
    written = end = 0
    for line in lines_of(text):
        words = line.split()
        if len(words) < 4 or words[0].startswith("#") or words[1] == "mark":
            continue
        times.append(int(words[0]))
        end = max(end, int(words[2]) + int(words[3]))
        if words[1].startswith("write"):
            written += int(words[3])
    return (min(times), max(times), written, end) if times else (0, 0, 0, 0)
