# SPDX-License-Identifier: BSD-3-Clause
"""From the jobs of a call of fio, in whatever form it has printed them, to points.

    call     what fio has printed in one call
    group    jobs that ran at the same time: fio begins a new one at each stonewall
    section  what fio printed about a process, or about all of a group (group_reporting)

Processes with the same load are one figure: rates add up, and latencies are means over all
requests.  A job beside which others with another load ran is told so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Mapping, Sequence

from ...core.errors import LabError
from .fio_options import MAPPED, OPS, PATTERNS, Load, Refused, fio_size, understood
from ..reader import Sink
from ..schema import Scalar, make_point


@dataclass(frozen=True)
class Latency:
    """Of n requests, in ns; percentiles in the order in which fio writes them."""

    mean: float
    spread: float = 0.0
    n: float = 1.0
    percentiles: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Side:
    """A direction of a section: requests, bytes a second, and the time of all in ms."""

    requests: float
    rate: float
    runtime: float = 0.0
    latency: Latency | None = None


@dataclass(frozen=True)
class Section:
    """What fio printed at a line.

    error      fio's error number, 0 for none
    processes  how many are in it, 0 if it does not say
    options    of its job; None if nobody has said them
    load       or what is known without options, of the normal output: see `header`
    derived    or options that follow from the figures
    wrong      why nothing of it can be taken, or ""
    identity   what two prints of one section have in common, and no other has
    """

    line: int
    name: str
    group: int
    error: int
    processes: int
    sides: Mapping[str, Side]
    sync: Latency | None = None
    options: Mapping[str, str] | None = None
    load: Load | None = None
    derived: Mapping[str, str] = field(default_factory=dict)
    wrong: str = ""
    identity: tuple[object, ...] = ()

    def what(self) -> str:
        """For messages."""
        return f"fio job {self.name}" if self.name else "fio job"

    def in_any_form(self) -> tuple[object, ...]:
        """The same for each form in which fio prints it."""
        return (self.name, self.group, *((op, round(side.runtime)) for op, side in
                                         sorted(self.sides.items())))


@dataclass
class Call:
    """All sections of a call, in their order.  `expected` is how many processes fio has started,
    0 if unknown; `form` is "json", "text" or "terse"."""

    form: str
    sections: list[Section] = field(default_factory=list)
    expected: int = 0


def repeats(call: Call, others: Sequence[Call]) -> bool:
    """Whether all sections of a call are in another one: a log that was pasted twice, or several
    output formats of one call."""
    def marks(one: Call, form: str) -> list[tuple[object, ...]]:
        return [s.identity if one.form == form else s.in_any_form() for s in one.sections]
    return bool(call.sections) and any(
        set(marks(call, other.form)) <= set(marks(other, call.form)) for other in others)


def settle(call: Call, said: Mapping[str, str], sink: Sink) -> bool:
    """Puts what a call has measured into the sink.  `said` are options that hold where the log says
    none; True if some job needed them."""
    used = False
    groups: dict[int, list[tuple[Section, Load]]] = {}
    broken = set()      # groups of which some section is no result
    for section in call.sections:
        reason = section.wrong
        if section.error:
            reason = f"ended with error {section.error}, so it is no result"
        used = used or (bool(said) and section.options is None)
        try:
            load = None if reason else _load(section, said)
        except Refused as e:
            load, reason = None, str(e)
        if load is None:
            sink.leave(section.line, section.what(), reason)
            broken.add(section.group)
            continue
        groups.setdefault(section.group, []).append((section, load))
    whole = not call.expected or sum(s.processes or 1 for s in call.sections) >= call.expected
    for group, members in groups.items():
        if group in broken:
            for section, _ in members:
                sink.leave(section.line, section.what(),
                           "ran beside another one of its group that is no result")
        else:
            _group(members, whole, sink)
    return used


def _load(section: Section, said: Mapping[str, str]) -> Load:
    """The load of a section."""
    if section.options is not None:
        return understood(section.options)
    if section.load and not said:
        return section.load
    told = {"ioengine": "libaio", **section.derived, **said}
    if section.load:
        told["rw"] = section.load.rw
    for key in ("bs", "iodepth"):
        _agrees(key, said, section.derived)
    if "rw" not in told or "bs" not in told and not section.load:
        known = " ".join(f"{key}={value}" for key, value in section.derived.items())
        raise Refused("its output does not say rw" + ("" if "bs" in told else " and bs") +
                      ", so nobody knows what was done; say it, such as --fio 'rw=randwrite " +
                      (known or "bs=4k iodepth=1") + " direct=1'")
    load = understood(told)
    how = dict(load.how)
    if not {"direct", "buffered"} & set(said):
        del how["direct"]
    if section.load:
        how.update(section.load.how)
        load = replace(load, sizes=section.load.sizes, processes=section.load.processes)
    return replace(load, how=tuple(how.items()))


def _agrees(key: str, said: Mapping[str, str], derived: Mapping[str, str]) -> None:
    """Refused if the user says something else than what follows from the figures."""
    if key not in said or key not in derived:
        return
    told, found = fio_size(said[key]) or 0, int(derived[key])
    if not (found <= told < 2 * found if key == "iodepth" else found == told):
        raise Refused(f"--fio says {key}={said[key]}, and its figures say {found}")


def _group(members: list[tuple[Section, Load]], whole: bool, sink: Sink) -> None:
    """Jobs that ran at the same time."""
    kinds: dict[tuple[object, ...], list[tuple[Section, Load]]] = {}
    for section, load in members:
        same_load = (section.name, load.rw, load.how, load.sizes, load.rates)
        kinds.setdefault(same_load, []).append((section, load))
    counts = {key: _processes(same) for key, same in kinds.items()}
    in_all = sum(counts.values())
    for kind, same in kinds.items():
        first, load = same[0]
        reason = ""
        if len(members) > 1 and any(load.alone for _, load in members):
            reason = "jobs of its group started one after the other"
        elif counts[kind] <= 0:
            reason = f"{load.processes} processes ran at the same time, and only {len(same)} of " \
                "them are in the log"
        elif not whole and (len(members) > 1 or load.processes != 1):
            reason = "the log does not have all processes that ran at the same time"
        if reason:
            sink.leave(first.line, first.what(), reason)
            continue
        _figures(same, load, counts[kind], in_all - counts[kind], sink)


def _processes(same: list[tuple[Section, Load]]) -> int:
    """How many processes ran this load; 0 if some are missing."""
    told = sum(section.processes for section, _ in same)
    wanted = same[0][1].processes or 1
    if not told:
        told = wanted if len(same) == 1 else len(same)
    return told if told % wanted == 0 else 0


def _figures(same: list[tuple[Section, Load]], load: Load, processes: int, beside: int,
             sink: Sink) -> None:
    """The points of one load."""
    first = same[0][0]
    sides = {op: [s.sides[op] for s, _ in same if op in s.sides and s.sides[op].requests > 0]
             for op in OPS}
    in_all = sum(side.requests for found in sides.values() for side in found)
    if not in_all:
        sink.leave(first.line, first.what(), "has sent no request")
    for op, found in sides.items():
        if not found:
            continue
        if op not in load.ops:
            sink.leave(first.line, f"{first.what()}, {op}",
                       f"rw={load.rw} does not {op}: several jobs in one, or read back")
            continue
        how = dict(load.how)
        key, value = load.sizes[OPS.index(op)]
        how.update({"op": op, key: value, "jobs": processes})
        share = round(100 * sum(side.requests for side in found) / in_all)
        if 0 < share < 100:
            how["share"] = share
        if first.name:
            how["job"] = first.name
        if beside:
            how["beside"] = beside
        _side(first, how, found, load.rates[OPS.index(op)], load.limit, sink)
        if op == "write":
            _sync(first, how, [s.sync for s, _ in same if s.sync], sink)


def _side(first: Section, how: dict[str, Scalar], found: list[Side], limit: float, said: str,
          sink: Sink) -> None:
    what = f"{first.what()}, {how['op']}"
    rate = sum(side.rate for side in found)
    if limit:
        sink.leave(first.line, f"{what}, rate", f"{said} limits it; the device could do more")
        if limit > 0:
            how = {**how, "rate": round(limit)}
    elif rate > 0:
        _take(first.line, what, "fio-rate", rate, how, sink)
    else:
        sink.leave(first.line, f"{what}, rate", "is 0")
    times = [side.latency for side in found if side.latency and side.latency.mean > 0]
    if limit >= 0 and len(times) == len(found):
        _latency(first.line, what, "fio-latency", times, how, sink)


def _sync(first: Section, how: dict[str, Scalar], times: list[Latency], sink: Sink) -> None:
    """What a sync takes, which is a figure of its own."""
    if times and all(t.mean > 0 for t in times):
        how.pop("share", None)
        _latency(first.line, f"{first.what()}, sync", "fio-sync-latency", times, how, sink)


def _latency(line: int, what: str, procedure: str, times: list[Latency], how: dict[str, Scalar],
             sink: Sink) -> None:
    first = times[0]
    if len(times) == 1:  # as it is printed, to the last digit
        _take(line, what, procedure, first.mean, how, sink, first.spread,
              tuple((share, (value,)) for share, value in first.percentiles if value > 0))
        return
    n = sum(t.n for t in times)
    mean = sum(t.mean * t.n for t in times) / n
    square = sum(t.n * (t.spread**2 + t.mean**2) for t in times) / n
    _take(line, what, procedure, mean, how, sink, math.sqrt(max(square - mean**2, 0.0)), ())


def _take(line: int, what: str, procedure: str, value: float, how: dict[str, Scalar], sink: Sink,
          spread: float | None = None,
          percentiles: tuple[tuple[str, tuple[float, ...]], ...] = ()) -> None:
    try:
        point = make_point(procedure, [value], **how)
    except LabError as e:
        sink.leave(line, what, str(e))
        return
    sink.take(line, replace(point, spread=spread, percentiles=percentiles))


def header(rw: str, sizes: Sequence[tuple[str, Scalar]], engine: str, depth: int) -> Load:
    """What the line with a job's name in fio's normal output says.  Refused if it says nothing."""
    if rw not in PATTERNS:
        raise Refused(f"rw={rw} has no meaning that is known here")
    known = understood({"rw": rw, "ioengine": engine, "iodepth": str(depth)})
    how = {key: value for key, value in known.how if key in ("pattern", "depth")}
    if engine in MAPPED:
        how["direct"] = False
    return Load(rw, tuple(how.items()), tuple(sizes), (0.0,) * len(OPS), 1, False)
