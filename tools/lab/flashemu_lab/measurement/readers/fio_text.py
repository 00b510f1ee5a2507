# SPDX-License-Identifier: BSD-3-Clause
"""fio's normal output, of versions 2 and 3.

    a: (g=0): rw=randwrite, bs=..., ioengine=libaio, iodepth=4       a job's load, without the rest
    ...                                                              several processes of it
    fio-3.33
    Starting 4 processes                                             how many sections there will be
    a: (groupid=0, jobs=1): err= 0: pid=1: ...                       a section
      write: IOPS=128k, BW=500MiB/s (524MB/s)(1024KiB/2msec)
        clat (nsec): min=1902, max=60129, avg=12837.12, stdev=6506.91
      fsync/fdatasync/sync_file_range:
        sync (usec): min=47, max=553, avg=117.52, stdev=79.64
         issued rwts: total=0,256,0,0                                it is complete

It does not say whether requests were direct, and of syncs only that there were some; how often
follows from the number of all requests behind "IO depths" if one was in flight.  A command or a job
file in front of it says more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from .fio_command import Jobs
from .fio_jobs import Call, Latency, Section, Side, header
from .fio_options import OPS, Load, Refused, understood
from ..numbers import NUMBER, number
from ..reader import Line, Sink
from ..schema import Scalar

_JOB = re.compile(r"(\S.*?): \(g=(\d{1,6})\): rw=(\w+)\S*, bs=(\S.*?), ioengine=([\w-]+)\S*, "
                  r"iodepth=(\d{1,6})")
_VERSION = re.compile(r"fio[- ]\d+\.\d[\w.-]*")
_STARTING = re.compile(r"Starting (?:(\d{1,6}) process(?:es)?)?(?: and )?(?:(\d{1,6}) threads?)?")
_SECTION = re.compile(r"(\S.*?): \(groupid=(\d{1,6}), jobs=(\d{1,6})\): err= *(-?\d+).*?"
                      r"(?:: pid=(\d+): (.*))?")
_SIDE = re.compile(
    rf"(read|write|trim|mixed)\s*: (?:IOPS=\S+, BW=(?:\S+ ?\()?({NUMBER})(B|kB|MB|GB)/s\)?"
    rf"(?: \(\S+\))?\(({NUMBER})(B|[KMGT]iB|kB|MB|GB|TB)/({NUMBER})msec\)"
    rf"|io=({NUMBER}) ?(B|[KMGT]B), bw=({NUMBER}) ?(B|[KMGT]B)/s, iops=\S+, *"
    rf"runt(?:ime)?= *({NUMBER})msec).*")
_TIMES = re.compile(rf"(clat|lat|sync) \((nsec|usec|msec|sec)\)\s*: min= *({NUMBER})([kMG]?), "
                    rf"max= *({NUMBER})([kMG]?), avg= *({NUMBER}), stdev= *({NUMBER})")
_PERCENTILES = re.compile(r"(clat|lat|sync|slat) percentiles \((nsec|usec|msec|sec)\):")
_SHARE = re.compile(r"(\d{1,3}(?:[.,]\d{1,6})?)th=\[ *([\d.,]{1,20})\]")
_DEPTHS = re.compile(r"IO depths\s*: (.*)")
_ISSUED = re.compile(r"issued (?:rwts?|)\s*: total=(?:r=)?(\d+)(?:/w=|,)(\d+)(?:/d=|,)(\d+)\b.*")
_OTHER = re.compile(r"(?:slat|bw|iops|cpu|submit|complete|latency|errors|lat)\s*(?:\(.*?\))?\s*:"
                    r".*|\| *\d.*|Run status group \d+.*|(?:READ|WRITE|TRIM|MIXED): .*|"
                    r"Disk stats.*|\w+: ios=.*|fsync/fdatasync.*|note: both iodepth.*|"
                    r"Jobs: \d+ .*|.*: Laying out IO files?.*|fio: .*|\.\.\.|"
                    r"\w+: No I/O performed by \w+.*")
_NS = {"nsec": 1.0, "usec": 1e3, "msec": 1e6, "sec": 1e9}
_SUFFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_DECIMAL = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_IEC = {"B": 1.0, **{unit + end: 1024.0**(i + 1) for i, unit in enumerate("KMGT")
                     for end in ("B", "iB")}}


@dataclass
class _Job:
    """A job's line: its load, or why it has none."""

    load: Load | None
    engine: str = ""
    depth: int = 1
    group: int = 0
    wrong: str = ""
    several: bool = False


@dataclass
class _Open:
    """A section that has begun."""

    section: Section
    op: str = ""
    rates: dict[str, tuple[float, float]] = field(default_factory=dict)
    times: dict[str, Latency] = field(default_factory=dict)
    percentiles_of: tuple[str, float] | None = None
    synced: float = 0.0     # requests of any sort for each one that moved data
    wrong: str = ""


class TextParser:
    """Takes the sections of one call after the other."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.jobs: Jobs = {}        # what a command in front said
        self._begin()

    def _begin(self) -> None:
        self._headers: dict[str, _Job] = {}
        self._call: Call | None = None
        self._last = ""
        self._expected = 0
        self._open: _Open | None = None

    def take(self, line: Line, sink: Sink) -> bool:
        """Whether the line belongs to fio's normal output."""
        text = line.text
        if match := _JOB.fullmatch(text):
            self._job(match)
        elif match := _SECTION.fullmatch(text):
            self._section(line, match)
        elif _VERSION.fullmatch(text):
            if self._call:
                self.close()
        elif (match := _STARTING.fullmatch(text)) and (match[1] or match[2]):
            self._expected = int(match[1] or 0) + int(match[2] or 0)
        elif text == "..." and self._last in self._headers:
            self._headers[self._last].several = True
        elif self._open and self._of_section(text):
            pass
        else:
            return bool((self._headers or self._call) and _OTHER.fullmatch(text))
        return True

    def _job(self, match: re.Match[str]) -> None:
        if self._call:
            self.close()
        name, group, rw, bs, engine, depth = match.groups()
        job = self._headers[name] = _Job(None, engine, int(depth), int(group))
        try:
            job.load = header(rw, _sizes(bs), engine, int(depth))
        except Refused as e:
            job.wrong = str(e)
        self._last = name

    def _section(self, line: Line, match: re.Match[str]) -> None:
        self._finish()
        if self._call is None:
            self._call = Call("text", [], self._expected)
        name, group, count, error = match[1], int(match[2]), int(match[3]), abs(int(match[4]))
        self._open = _Open(Section(line.number, name, group, error, max(count, 1), {},
                                   identity=(name, match[5], match[6])))

    def _of_section(self, text: str) -> bool:
        """The figures of a section."""
        o = self._open
        assert o
        if match := _SIDE.fullmatch(text):
            self._side(o, match)
        elif match := _TIMES.fullmatch(text):
            self._times(o, match)
        elif match := _PERCENTILES.fullmatch(text):
            o.percentiles_of = (match[1] if match[1] == "sync" else f"{match[1]} {o.op}",
                                _NS[match[2]])
        elif o.percentiles_of and _SHARE.search(text):
            self._shares(o, text)
        elif match := _DEPTHS.fullmatch(text):
            shares = re.findall(r"(>=64|\d+)=([\d.,]+)%", match[1])
            o.synced = sum(number(share) for _, share in shares) / 100
        elif match := _ISSUED.fullmatch(text):
            self._complete(o, [int(n) for n in match.groups()])
        else:
            return False
        return True

    def _side(self, o: _Open, match: re.Match[str]) -> None:
        op, rate, unit, done, size, runtime, *old = match.groups()
        o.op, o.percentiles_of = op, None
        if rate is None:
            done, size, rate, unit, runtime = old
        scale = _DECIMAL[unit] if match[2] else _IEC[unit]
        whole = _DECIMAL.get(size, _IEC.get(size, 0.0)) if match[2] else _IEC[size]
        value, time = number(rate) * scale, number(runtime)
        if op == "mixed":
            o.wrong = "unified_rw_reporting mixes reads and writes"
        elif op in o.rates and o.rates[op] != (value, time):
            o.wrong = f"says {op} twice"
        elif time >= 20 and abs(number(done) * whole * 1e3 / time - value) > 0.3 * value:
            o.wrong = f"the rate of {op} contradicts its bytes and its time"
        o.rates[op] = value, time

    def _times(self, o: _Open, match: re.Match[str]) -> None:
        kind, unit, *texts = match.groups()
        least, most = (number(texts[i]) * _SUFFIX[texts[i + 1]] for i in (0, 2))
        mean, spread = number(texts[4]), number(texts[5])
        if not least <= mean + 1 or not mean <= most + 1:
            o.wrong = f"the mean of {kind} is not between its least and its most"
        kind = kind if kind == "sync" else f"{kind} {o.op}"
        found = Latency(mean * _NS[unit], spread * _NS[unit])
        if (o.times.get(kind) or found).mean != found.mean:
            o.wrong = f"says {kind} twice"
        o.times[kind] = found

    def _shares(self, o: _Open, text: str) -> None:
        assert o.percentiles_of
        kind, scale = o.percentiles_of
        if kind in o.times:
            found = tuple((f"{number(share):.4f}".rstrip("0").rstrip("."), number(value) * scale)
                          for share, value in _SHARE.findall(text))
            o.times[kind] = replace(o.times[kind],
                                    percentiles=o.times[kind].percentiles + found)

    def _complete(self, o: _Open, issued: list[int]) -> None:
        """All figures of the section are known."""
        assert self._call
        self._open = None
        sides = {}
        for op, count in zip(OPS, issued):
            if op in o.rates and count:
                latency = o.times.get(f"clat {op}") or o.times.get(f"lat {op}")
                sides[op] = Side(count, *o.rates[op],
                                 latency and replace(latency, n=float(count)))
        self._call.sections.append(self._told(replace(
            o.section, sides=sides, sync=o.times.get("sync"), wrong=o.wrong), o.synced))

    def _told(self, section: Section, synced: float) -> Section:
        """The section with what is said about its job."""
        job = self._headers.get(section.name)
        if section.wrong or not job or not job.load:
            return replace(section, wrong=section.wrong or (
                job.wrong if job else "no line in front of it says its rw and bs"))
        if options := self._options(section.name, job):
            return replace(section, options=options)
        load = replace(job.load, processes=0 if job.several else 1)
        if section.sync and section.sync.mean:
            every = _every(section, synced)
            if not every:
                return replace(section, wrong="has syncs, and no line says behind how many writes")
            load = replace(load, how=(*load.how, ("fsync", every)))
        return replace(section, load=load)

    def _options(self, name: str, job: _Job) -> dict[str, str] | None:
        """What a command or a job file in front says about this job, if it is about it."""
        assert job.load
        names = [said for said in self.jobs if said == name or "$" in said]
        if not names:
            return None
        options = dict(self.jobs[names[0]])
        for key in ("numjobs", "size", "runtime", "filename", "directory"):
            if "$" in options.get(key, ""):
                del options[key]
        for key in [key for key in options if "$" in options[key] and key in (
                "rw", "readwrite", "bs", "blocksize", "iodepth", "ioengine")]:
            del options[key]
        key, value = job.load.sizes[0]
        shown = {"rw": job.load.rw, "ioengine": job.engine, "iodepth": str(job.depth)}
        if key == "bs" and not {"bsrange", "bssplit", "bs", "blocksize"} & set(options):
            shown["bs"] = str(value)
        told = {**shown, **options}
        try:
            load = understood({**told, "ioengine": job.engine})
        except Refused:
            return told     # it refuses its job
        same = load.rw == job.load.rw and (key != "bs" or load.sizes == job.load.sizes) and \
            dict(load.how)["depth"] == dict(job.load.how)["depth"]
        return {**told, "ioengine": job.engine} if same else None

    def _finish(self) -> None:
        """A section that has no end is no result."""
        if self._open and self._call:
            wrong = "the log does not have all of its lines"
            self._call.sections.append(replace(self._open.section, wrong=wrong))
        self._open = None

    def close(self) -> None:
        """The output of a call has ended."""
        self._finish()
        if self._call:
            there = {section.name for section in self._call.sections}
            merged = {job.group for name, job in self._headers.items() if name not in there}
            self._call.sections = [
                replace(s, wrong=s.wrong or "fio has put jobs of its group together, or some of "
                        "them are missing") if s.group in merged else s
                for s in _once(self._call.sections)]
            self.calls.append(self._call)
        self._begin()


def _every(section: Section, synced: float) -> int:
    """Behind how many writes there was a sync, 0 if several numbers fit.  fio sends none behind the
    last write, and the share of all requests is rounded to 0.1 %."""
    writes = section.sides["write"].requests if "write" in section.sides else 0.0
    in_all = sum(side.requests for side in section.sides.values())
    least, most = ((synced - 1 + end) * in_all for end in (-0.0006, 0.0006))
    fits = [n for n in range(1, 1001) if least <= (writes - 1) // n <= most]
    return fits[0] if len(fits) == 1 and most >= 1 else 0


def _once(sections: list[Section]) -> list[Section]:
    """The sections, each process once: a part of a log that was pasted twice has them again."""
    found: dict[tuple[object, ...], Section] = {}
    differ = set()
    for i, s in enumerate(sections):
        key = s.identity if s.identity[1] else (i,)
        old = found.get(key)
        if old and not old.wrong and not s.wrong and (old.sides, old.sync) != (s.sides, s.sync):
            differ.add(key)
        if not old or old.wrong:
            found[key] = s
    return [replace(s, wrong="its figures stand there twice, and differ") if key in differ else s
            for key, s in found.items()]


def _sizes(text: str) -> list[tuple[str, Scalar]]:
    """For each direction what is behind bs=: "(R) 4096B-4096B, (W) ..." or "4K-4K/4K-4K/4K-4K"."""
    found: list[tuple[str, Scalar]] = []
    ends = re.findall(rf"({NUMBER})([KMGT]?)i?B?-({NUMBER})([KMGT]?)i?B?", text)
    for low, low_unit, high, high_unit in ends:
        both = [number(value) * {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30,
                                 "T": 1 << 40}[unit]
                for value, unit in ((low, low_unit), (high, high_unit))]
        if any(value <= 0 or value != int(value) for value in both):
            raise Refused(f"bs={text} is rounded, so nobody knows how large a request was")
        if both[0] == both[1]:
            found.append(("bs", int(both[0])))
        else:
            found.append(("sizes", f"{int(both[0])}-{int(both[1])}"))
    if not found:
        raise Refused(f"bs={text} is no size that is known here")
    return (found * len(OPS))[:len(OPS)]
