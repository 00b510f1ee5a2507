# SPDX-License-Identifier: BSD-3-Clause
"""What a life of a kernel was worth: the figures of a job, and the comparison of two jobs.

Two lives with one seed are equal, so one pair of them says nothing about any other.  Jobs are
compared over seeds: each has its own device and its own randomness in the guest, and the two lives
of a pair have the same seed.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from ..core.errors import LabError
from ..core.json_text import MOST
from ..core.text import lines_of
from ..runs.run import Json
from .timed import Life, Lived

SCHEMA = "flashemu-job-1"
# Standard deviations: chance goes so far in less than one of 100 cases, and seven seeds that
# agree do not.
_FAR = 2.7
_LEAST_PAIRS = 8  # fewer may pull to one side alone in more than that


def figures(life: Life, lived: Lived) -> Json:
    """The job's figures, from the start of the script to its end; times in ns."""
    work = _work(lived.trace, lived.start_ns, lived.script_end_ns)
    written = work["write"]["bytes"]
    return {
        "schema": SCHEMA, "profile": life.profile, "overrides": list(life.overrides),
        "seed": life.seed, "filesystem": life.filesystem, "mkfs": life.mkfs, "mount": life.mount,
        "think_ns": life.think_ns, "kernel": lived.kernel, "code": lived.code,
        "device_ns": lived.script_end_ns - lived.start_ns,
        "settled_ns": lived.end_ns - lived.start_ns, "host_s": round(lived.host_s, 3),
        "requests": {kind: work[kind] for kind in ("read", "write", "trim", "flush")},
        "busy_ns": work["busy"]["bytes"],
        "waf": work["programmed"]["bytes"] / written if written else None,
        "marks": [{"name": name, "at_ns": at - lived.start_ns} for name, at in lived.marks],
        "syncs": [{"call": s.call, "program": s.program, "at_ns": s.start_ns - lived.start_ns,
                   "ns": s.ns} for s in lived.syncs],
    }


def is_figures(one: object) -> bool:
    """Whether this has what a comparison needs of `figures`."""
    if not isinstance(one, dict) or one.get("schema") != SCHEMA:
        return False
    numbers = (one.get(key) for key in ("seed", "device_ns", "think_ns", "code"))
    return all(type(n) is int and 0 <= n < MOST for n in numbers) and \
        isinstance(one.get("profile"), str) and isinstance(one.get("overrides"), list)


def _work(trace: Path, start_ns: int, end_ns: int) -> dict[str, dict[str, int]]:
    """What arrived in that time, by operation; "busy" has the time with a request in the device as
    its bytes, and "programmed" what the flash programmed."""
    found = {kind: {"ops": 0, "bytes": 0}
             for kind in ("read", "write", "trim", "flush", "busy", "programmed")}
    busy_until = start_ns
    for line in lines_of(trace.read_text(encoding="utf-8", errors="replace")):
        words = line.split()
        if not words or line.startswith("#") or words[1] not in found:
            continue
        arrival = int(words[0])
        if not start_ns <= arrival < end_ns:
            continue
        more = dict(word.split("=", 1) for word in words[4:] if "=" in word)
        done = int(more["done"])
        found[words[1]]["ops"] += 1
        found[words[1]]["bytes"] += int(words[3])
        found["programmed"]["bytes"] += int(more.get("programmed", 0))
        found["busy"]["bytes"] += max(done - max(arrival, busy_until), 0)
        busy_until = max(busy_until, done)
    return found


@dataclass(frozen=True)
class Comparison:
    """Of a second job with a first one.

    longer  whether the second takes longer, beyond what chance makes of equal ones
    """

    sentence: str
    longer: bool


def compare(first: Sequence[Json], second: Sequence[Json]) -> Comparison:
    """Whether the second job takes another time than the first one, over the seeds that both have.
    LabError if there are too few, or if the jobs are of different devices."""
    pairs = _pairs(first, second)
    if all(a == b for a, b in pairs):
        return Comparison(
            f"both take the same time to the nanosecond, with each of {len(pairs)} seeds", False)
    middle, low, high = _interval([b / a - 1 for a, b in pairs])
    said = f"{100 * abs(middle):.1f} % {'longer' if middle > 0 else 'shorter'}"
    within = f"{100 * low:+.1f} to {100 * high:+.1f} % in 99 of 100 cases, {len(pairs)} seeds"
    if low <= 0 <= high:
        return Comparison(f"no difference can be told: the second takes {said} ({within})", False)
    return Comparison(f"the second takes {said} than the first ({within})", middle > 0)


def _pull(changes: Sequence[float], at: float) -> float:
    """How far these are above `at`, in standard deviations of what chance makes if it pulls to
    both sides alike.  None of them counts as more than twice the middle one, so a seed with which
    the device cleans up for long in one of its lives is one seed, however long."""
    far = 2 * statistics.median(abs(c - at) for c in changes)
    pulls = [min(max(c - at, -far), far) for c in changes]
    norm = math.sqrt(sum(p * p for p in pulls))
    return sum(pulls) / norm if norm else 0.0


def _interval(changes: Sequence[float]) -> tuple[float, float, float]:
    """Where these pull to neither side, and between which limits that is in 99 of 100 cases."""
    room = 1 + 9 * (max(changes) - min(changes))

    def where(pull: float) -> float:
        low, high = min(changes) - room, max(changes) + room
        for _ in range(100):
            at = (low + high) / 2
            low, high = (at, high) if _pull(changes, at) > pull else (low, at)
        return low

    return where(0.0), where(_FAR), where(-_FAR)


def check_comparable(first: Sequence[Json], lives: Sequence[Life]) -> None:
    """LabError, before anything runs, if a job of these lives cannot be compared with the first."""
    _pairs(first, [{"profile": one.profile, "overrides": list(one.overrides), "seed": one.seed,
                    "think_ns": one.think_ns, "device_ns": 1, "code": 0} for one in lives])


def _pairs(first: Sequence[Json], second: Sequence[Json]) -> list[tuple[int, int]]:
    def by_seed(jobs: Sequence[Json]) -> dict[int, Json]:
        found = {int(job["seed"]): job for job in jobs}
        if len(found) < len(jobs):
            raise LabError("a job that has a seed twice is not compared")
        return found

    for job in (*first, *second):
        if job["code"]:
            raise LabError("a job whose script has failed is not compared: exit code "
                           f"{job['code']} with seed {job['seed']}")
    for key in ("profile", "overrides", "think_ns"):
        values = {str(job[key]) for job in (*first, *second)}
        if len(values) > 1:
            raise LabError(f"jobs of different {key} are not compared: "
                           f"{' and '.join(sorted(values))}")
    a, b = by_seed(first), by_seed(second)
    seeds = sorted(set(a) & set(b))
    if len(seeds) < _LEAST_PAIRS:
        raise LabError(f"both jobs have {len(seeds)} seeds in common; a comparison needs at least "
                       f"{_LEAST_PAIRS}, such as --seeds 20")
    found = [(int(a[s]["device_ns"]), int(b[s]["device_ns"])) for s in seeds]
    if not all(x for x, _ in found):
        raise LabError("a job that takes no time is not compared")
    return found
