# SPDX-License-Identifier: BSD-3-Clause
"""fio --output-format=json or json+, also of fio --client, and of fio 2.

Before version 2.8 fio wrote no options of the jobs.  Then the size of a request follows from bytes
and requests, and the depth from how often which number was in flight; the order does not.
"""

from __future__ import annotations

import json
import math
from typing import Iterator

from .fio_jobs import Call, Latency, Section, Side
from .fio_options import OPS
from ..reader import Document

_MOST_DEEP = 8


def calls_in(found: Document) -> list[Call]:
    """The results of fio in an object, however deep they lie."""
    return [_call(value, found.number) for value in _results(found.value, _MOST_DEEP)]


def _results(value: object, deep: int) -> Iterator[dict[str, object]]:
    if isinstance(value, dict) and "fio version" in value and (
            "jobs" in value or "client_stats" in value):
        yield value
    elif isinstance(value, (dict, list)) and deep:
        for member in value.values() if isinstance(value, dict) else value:
            yield from _results(member, deep - 1)


def _call(value: dict[str, object], line: int) -> Call:
    jobs = value.get("jobs", value.get("client_stats"))
    everywhere = _dict(value.get("global options"))
    time = value.get("timestamp_ms", value.get("timestamp"))
    found = [job for job in (jobs if isinstance(jobs, list) else []) if isinstance(job, dict)
             and not (job.get("jobname") == "All clients" and "client_stats" in value)]
    hosts = {str(job.get("hostname")) for job in found if "hostname" in job}
    wrong = "fio ran on several machines, so these are several devices" if len(hosts) > 1 else ""
    return Call("json", [_section(job, everywhere, line, wrong, time) for job in found])


def _section(job: dict[str, object], everywhere: dict[str, object], line: int, wrong: str,
             time: object) -> Section:
    options = None
    if "job options" in job or everywhere:
        options = {str(k): str(v) for k, v in {**everywhere,
                                               **_dict(job.get("job options"))}.items()}
    sides = {op: side for op in OPS if (side := _side(_dict(job.get(op))))}
    if "mixed" in job:
        wrong = wrong or "unified_rw_reporting mixes reads and writes"
    sync = _dict(job.get("sync"))
    syncs = _latency(_dict(sync.get("lat_ns")), 1.0) or _latency(_dict(sync.get("lat")), 1e3)
    return Section(line, str(job.get("jobname", "")), int(_float(job.get("groupid"))),
                   int(_float(job.get("error"))), 0, sides, syncs,
                   options, None, _derived(job), wrong,
                   (time, json.dumps(job, sort_keys=True, default=str)))


def _derived(job: dict[str, object]) -> dict[str, str]:
    """What follows about options that fio has not written."""
    found = {}
    sizes = set()
    for op in OPS:
        side = _dict(job.get(op))
        # of fio 2, which writes bw in KiB alone and the bytes in KiB, too
        unit = 1 if "bw_bytes" in side else 1024
        count = _float(side.get("total_ios"))
        if count:
            sizes.add(_float(side.get("io_bytes")) * unit / count)
    if len(sizes) == 1 and (bs := sizes.pop()) == int(bs):
        found["bs"] = str(int(bs))
    for level, share in _dict(job.get("iodepth_level")).items():
        if _float(share) > 90 and level.isdigit():
            found["iodepth"] = level
    return found


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _float(value: object) -> float:
    """A finite number of at least 0; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if math.isfinite(value) and 0 <= value < 1e18 else 0.0


def _side(side: dict[str, object]) -> Side | None:
    requests = _float(side.get("total_ios")) or _float(side.get("io_bytes"))
    if not requests:
        return None
    rate = _float(side.get("bw_bytes")) or _float(side.get("bw")) * 1024
    latency = None
    for key, unit in (("clat_ns", 1.0), ("lat_ns", 1.0), ("clat", 1e3), ("lat", 1e3)):
        latency = latency or _latency(_dict(side.get(key)), unit, requests)
    return Side(requests, rate, _float(side.get("runtime")), latency)


def _latency(times: dict[str, object], unit: float, n: float = 1.0) -> Latency | None:
    mean = _float(times.get("mean"))
    if not mean:
        return None
    found = []
    for share, value in _dict(times.get("percentile")).items():
        try:
            name = f"{float(share):.4f}".rstrip("0").rstrip(".")
        except ValueError:
            continue
        if 0 < float(share) <= 100 and _float(value):
            found.append((name, _float(value) * unit))
    return Latency(mean * unit, _float(times.get("stddev")) * unit, _float(times.get("N")) or n,
                   tuple(found))
