# SPDX-License-Identifier: BSD-3-Clause
"""fio's JSON, which may stand anywhere in a log, and its normal output.

fio writes warnings in front of its JSON, and scripts write more.  So every line that begins with a
brace is tried as the beginning of an object, and the object counts if it is fio's.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Iterator

from ..core.errors import LabError
from .readers import size
from .schema import Point, Scalar, make_point

_KEPT = ("read", "write", "trim")
# rw= of fio, without what follows a colon, and whether the offsets are random.
_PATTERNS = {"read": False, "write": False, "trim": False, "rw": False, "readwrite": False,
             "randread": True, "randwrite": True, "randtrim": True, "randrw": True,
             "trimwrite": False, "randtrimwrite": True}


def cut_out(text: str) -> tuple[list[Point], str, int]:
    """The points of fio's objects in a log, the log without these, and how many lines they had."""
    points: list[Point] = []
    rest = []
    at = lines = 0
    for begin, end, found in _objects(text):
        points += found
        rest.append(text[at:begin])
        lines += text.count("\n", begin, end) + 1
        at = end
    rest.append(text[at:])
    return points, "\n".join(rest), lines


def _objects(text: str) -> Iterator[tuple[int, int, list[Point]]]:
    """Half-open ranges of the text with an object of fio, and its points."""
    decoder = json.JSONDecoder()
    at = 0
    while (begin := _next_brace(text, at)) >= 0:
        try:
            value, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            value, end = None, begin + 1
        if isinstance(value, dict) and "fio version" in value:
            yield begin, end, read(value)
        at = end


def _next_brace(text: str, at: int) -> int:
    """The next brace at the beginning of a line, -1 if there is none."""
    if at == 0 and text.startswith("{"):
        return 0
    found = text.find("\n{", max(0, at - 1))
    return found + 1 if found >= 0 else -1


def read(value: dict[str, object]) -> list[Point]:
    """The points of one run of fio; what is damaged in it gives none."""
    everywhere = _dict(value.get("global options"))
    jobs = value.get("jobs")
    points: list[Point] = []
    for job in jobs if isinstance(jobs, list) else []:
        if isinstance(job, dict):
            options = {**everywhere, **_dict(job.get("job options"))}
            points += _job(job, {str(k): str(v) for k, v in options.items()})
    return points


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _float(value: object) -> float:
    """A finite number of at least 0; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if math.isfinite(value) and 0 <= value < 1e18 else 0.0


def _job(job: dict[str, object], options: dict[str, str]) -> list[Point]:
    sides = {op: _dict(job.get(op)) for op in _KEPT}
    done = {op: _float(side.get("total_ios")) or _float(side.get("io_bytes"))
            for op, side in sides.items()}
    in_all = sum(done.values())
    rw = options.get("rw", options.get("readwrite", "read")).split(":")[0]
    if in_all <= 0 or rw not in _PATTERNS:
        return []
    points: list[Point] = []
    for op in _KEPT:
        share = round(100 * done[op] / in_all)
        if done[op] > 0:
            points += _side(op, sides[op], options, _PATTERNS[rw], share,
                            str(job.get("jobname", "")))
    return points


def _side(op: str, side: dict[str, object], options: dict[str, str], in_random_order: bool,
          share: int, name: str) -> list[Point]:
    """Rate and mean latency of one direction of a job."""
    words = options.get("bs", options.get("blocksize", "4096")).split(",")
    bs = size(words[min(_KEPT.index(op), len(words) - 1)] or words[0])
    if bs is None:
        return []
    how: dict[str, Scalar] = {
        "op": op, "pattern": "random" if in_random_order else "sequential", "bs": bs,
        "depth": size(options.get("iodepth", "1")) or 1,
        "jobs": size(options.get("numjobs", "1")) or 1,
        "direct": options.get("direct", "0") not in ("0", "false")}
    if 0 < share < 100:
        how["share"] = share
    # the file of each process; a share of the device says nothing without the device
    whole = size(options.get("size", options.get("filesize", "")))
    if whole:
        how["size"] = whole
    if name:
        how["job"] = name
    rate = _float(side.get("bw_bytes")) or _float(side.get("bw")) * 1024
    latency = _dict(side.get("clat_ns")) or _dict(side.get("lat_ns"))
    mean, unit = _float(latency.get("mean")), 1.0
    if not mean:
        latency = _dict(side.get("clat")) or _dict(side.get("lat"))     # of fio 2, in us
        mean, unit = _float(latency.get("mean")), 1e3
    points = []
    try:
        if rate:
            points.append(make_point("fio-rate", [rate], **how))
        if mean:
            points.append(replace(make_point("fio-latency", [mean * unit], **how),
                                  spread=_float(latency.get("stddev")) * unit))
    except LabError:
        return []
    return points


# --- the normal output ---

_JOB = re.compile(r"(\S.*?): \(g=\d+\): rw=(\w+)\S*, bs=(\S.*?), ioengine=\S+, "
                  r"iodepth=(\d{1,6})\s*")
_GROUP = re.compile(r"(\S.*?): \(groupid=\d+, jobs=(\d{1,6})\): err= *\d+: .*")
_SIDE = re.compile(r"\s+(read|write|trim)\s*: (?:IOPS=\S+, BW=\S+ \((\S+?)(B|kB|MB|GB)/s\)|"
                   r"io=\S+, bw=(\S+?)(B|KB|MB|GB)/s,).*")
_CLAT = re.compile(r"\s+clat \((nsec|usec|msec)\): .*avg= *([\d.]+), stdev= *([\d.]+)\s*")
_ISSUED = re.compile(r"\s+issued (?:rwts?|)\s*: total=(?:r=)?(\d+)(?:/w=|,)(\d+)"
                     r"(?:/d=|,)(\d+).*")
_CLAT_NS = {"nsec": 1.0, "usec": 1e3, "msec": 1e6}
_DECIMAL = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}
_OLD = {"B": 1.0, "KB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30}     # of fio 2


class TextReader:
    """What fio prints without --output-format=json.  It does not say whether requests were direct.

    A job begins with the line that has its name, and its figures count when the line comes that
    says how many requests there were: that gives the share of each direction.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, tuple[str, list[int | None], int]] = {}
        self._name, self._count, self._op = "", 1, ""
        self._rates: dict[str, float] = {}
        self._times: dict[str, tuple[float, float]] = {}

    def take(self, line: str) -> list[Point] | None:
        """As for readers.Reader."""
        if match := _JOB.fullmatch(line):
            sizes = [size(part.strip()) for part in re.findall(
                r"(?:\([RWT]\) )?(\d+[KMGkmg]?i?B?)-\d+[KMGkmg]?i?B?", match[3])]
            if match[2] in _PATTERNS and sizes and len(match[1]) < 200:
                self._jobs[match[1]] = match[2], (sizes * 3)[:3], int(match[4])
            return []
        if match := _GROUP.fullmatch(line):
            self._name, self._count, self._op = match[1], int(match[2]), ""
            self._rates, self._times = {}, {}
            return []
        if match := _SIDE.fullmatch(line):
            self._op = match[1]
            try:
                self._rates[self._op] = float(match[2]) * _DECIMAL[match[3]] if match[2] else \
                    float(match[4]) * _OLD[match[5]]
            except ValueError:
                return None
            return []
        if (match := _CLAT.fullmatch(line)) and self._op:
            scale = _CLAT_NS[match[1]]
            self._times[self._op] = float(match[2]) * scale, float(match[3]) * scale
            return []
        if match := _ISSUED.fullmatch(line):
            return self._points([int(n) for n in match.groups()])
        return None

    def _points(self, issued: list[int]) -> list[Point]:
        job = self._jobs.get(self._name)
        points: list[Point] = []
        for i, op in enumerate(_KEPT if job and sum(issued) else ()):
            assert job
            rw, sizes, depth = job
            bs, share = sizes[i], round(100 * issued[i] / sum(issued))
            if not issued[i] or not bs:
                continue
            how: dict[str, Scalar] = {"op": op, "pattern": ("sequential", "random")[_PATTERNS[rw]],
                                      "bs": bs, "depth": depth or 1, "jobs": self._count or 1,
                                      "job": self._name}
            if 0 < share < 100:
                how["share"] = share
            if self._rates.get(op):
                points.append(make_point("fio-rate", [self._rates[op]], **how))
            mean, spread = self._times.get(op, (0.0, 0.0))
            if mean:
                points.append(replace(make_point("fio-latency", [mean], **how), spread=spread))
        return points
