# SPDX-License-Identifier: BSD-3-Clause
"""The tests of `probe`: which requests, and what follows from their times.

    link        reads of growing size         overhead of a command, rate of the link
    align       flashbench -a                 reads that cross a boundary
    crossing    writes across, before and     a write that lies in two units makes the device
                behind multiples of U         merge two of them, so U, 2 U, 3 U ... stand out
    page        writes in order, shifted by   a command that ends inside a page costs more
                half of their size
    open        flashbench -O                 one unit too many, and each of them is merged

Each test is a list of requests that `flashemu verify --against` repeats exactly, because the same
program makes them there.  Later tests depend on what the earlier ones have found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import median
from typing import Callable, Iterator, Sequence

from .measurement import Point, Scalar, make_point
from .tool import Tool

_KIB, _MIB = 1 << 10, 1 << 20
MOST_OPEN = 12
# What the statement before the start assumes, where nothing has been measured yet: a slow stick.
_READ_RATE, _WRITE_RATE, _REQUEST_S, _MERGE_S = 10e6, 5e6, 1e-3, 0.3
# An excess counts if it is this share of the time of a request that crosses nothing.
_STANDS_OUT = 0.2
# A unit has to explain this share of the squares of all excesses.
_EXPLAINS = 0.9


@dataclass(frozen=True)
class Request:
    """`key` says to which of the test's points it belongs."""

    writes: bool
    offset: int
    length: int
    key: int


@dataclass(frozen=True)
class Test:
    """Requests in order, and the points that their times make.

    keys      procedure and parameters of each point
    rounds    how often each place is visited; the least time of a place counts
    merges    how many requests probably make the device merge a unit, for the estimate
    """

    name: str
    requests: tuple[Request, ...]
    keys: tuple[tuple[str, dict[str, Scalar]], ...]
    rounds: int = 1
    merges: int = 0

    @property
    def written(self) -> int:
        """Bytes."""
        return sum(r.length for r in self.requests if r.writes)

    def seconds(self) -> float:
        """About how long a slow stick needs."""
        read = sum(r.length for r in self.requests if not r.writes)
        return (len(self.requests) * _REQUEST_S + read / _READ_RATE + self.written / _WRITE_RATE
                + self.merges * _MERGE_S)


@dataclass
class Found:
    """What is known so far."""

    points: list[Point] = field(default_factory=list)
    unit: int | None = None
    page: int | None = None
    open_linear: int | None = None
    open_random: int | None = None


def result(test: Test, times: Sequence[int]) -> list[Point]:
    """The points of a test that has run to its end; `times` in ns, one for each request."""
    by_key: dict[int, list[tuple[int, int]]] = {}
    for request, ns in zip(test.requests, times):
        measured = by_key.setdefault(request.key, [])
        if test.rounds > 1 and request.length < _KIB and request.offset == 0:
            # the rest of a read across the end of the device, which is one read of flashbench
            ns, length = ns + measured[-1][0], request.length + measured.pop()[1]
            measured.append((ns, length))
        else:
            measured.append((ns, request.length))
    points = []
    for key, (procedure, parameters) in enumerate(test.keys):
        measured = by_key.get(key, [])
        if not measured or sum(ns for ns, _ in measured) <= 0:
            continue
        if procedure in ("request", "flashbench-align"):
            places = len(measured) // test.rounds or 1
            least = [min(ns for ns, _ in measured[i::places]) for i in range(places)]
            value = sum(least) / places
        else:
            value = sum(n for _, n in measured) * 1e9 / sum(ns for ns, _ in measured)
        if value > 0:
            points.append(make_point(procedure, [value], **parameters))
    return points


# --- tests ---

def _series(key: int, writes: bool, bs: int, start: int, stride: int, count: int,
            capacity: int) -> list[Request]:
    """What the procedure `request` means."""
    return [Request(writes, min((start + k * stride) % capacity, capacity - bs), bs, key)
            for k in range(count)]


def link(capacity: int) -> Test:
    """Reads by size; 4 MiB apart, so that no read finds what another one has brought."""
    sizes = [n for n in (512 << i for i in range(11)) if n * 16 < capacity]
    stride = max(capacity // 16 // _MIB, 1) * _MIB
    requests: list[Request] = []
    keys: list[tuple[str, dict[str, Scalar]]] = []
    for size in sizes:
        requests += _series(len(keys), False, size, 0, stride, 16, capacity)
        keys.append(("request", {"op": "read", "bs": size, "start": 0, "stride": stride,
                                 "count": 16}))
    return Test("link", tuple(requests), tuple(keys))


def _traced(tool: Tool, spec: str, capacity: int) -> list[Request]:
    """The requests of a pattern; the key is the line of the output, from 0."""
    found = []
    for line in tool.ask("gen", spec, "--capacity", str(capacity)).splitlines():
        words = line.split()
        if words and not line.startswith("#"):
            found.append(Request(words[1] == "write", int(words[2]), int(words[3]),
                                 int(words[4].removeprefix("stream=")) - 1))
    return found


def align(tool: Tool, capacity: int) -> Test:
    """flashbench -a with blocks of 1 KiB."""
    requests = _traced(tool, "flashbench-align,bs=1K,rounds=3", capacity)
    top = 2 * _KIB
    while top < capacity / 7:
        top *= 2
    lines = max(r.key for r in requests) + 1
    keys: list[tuple[str, dict[str, Scalar]]] = [
        ("flashbench-align", {"align": top >> i // 3, "bs": _KIB,
                              "place": ("pre", "on", "post")[i % 3]}) for i in range(lines)]
    return Test("align", tuple(requests), tuple(keys), rounds=3)


def candidates(capacity: int) -> list[int]:
    """What may be the size of a unit: 2^n and 3 x 2^n from 32 KiB to 48 MiB."""
    found = [base << i for i in range(11) for base in (32 * _KIB, 48 * _KIB)]
    return sorted(n for n in found if 16 * n <= capacity and n <= 48 * _MIB)


def crossing(unit: int, capacity: int, count: int = 8) -> Test:
    """Writes of 8 KiB before, across and behind odd multiples of `unit`, as far apart as they can
    be, so that each of them goes to a unit that is not open."""
    bs = 8 * _KIB
    stride = 2 * unit * max(1, (capacity - unit) // (2 * unit * count))
    requests: list[Request] = []
    keys: list[tuple[str, dict[str, Scalar]]] = []
    for before in (bs, bs // 2, 0):
        requests += _series(len(keys), True, bs, unit - before, stride, count, capacity)
        keys.append(("request", {"op": "write", "bs": bs, "start": unit - before,
                                 "stride": stride, "count": count}))
    return Test(f"crossing {unit // _KIB} KiB", tuple(requests), tuple(keys),
                merges=len(requests) + count)


def page(unit: int, capacity: int) -> Test:
    """Units written in order by growing commands: a unit from its start, the next one shifted by
    half a command.  Each unit is written completely, so that none has to be merged.  The first
    command has a point of its own, because it may pay for the unit that was open before."""
    requests: list[Request] = []
    keys: list[tuple[str, dict[str, Scalar]]] = []
    at = unit * max(1, 32 * _MIB // unit)
    if at + 12 * unit > capacity:
        at = unit

    def add(bs: int, start: int, size: int) -> None:
        requests.extend(_series(len(keys), True, bs, start, bs, size // bs, capacity))
        keys.append(("seq-write", {"bs": bs, "size": size, "offset": start}))

    for bs in (2 * _KIB << i for i in range(6)):
        if at + 2 * unit > capacity or 16 * bs > unit:
            break
        add(bs, at, bs)
        add(bs, at + bs, unit - bs)
        at += unit
        add(bs // 2, at, bs // 2)
        add(bs, at + bs // 2, unit - bs)
        add(bs // 2, at + unit - bs // 2, bs // 2)
        at += unit
    return Test("page", tuple(requests), tuple(keys), merges=len(keys))


def open_units(tool: Tool, unit: int, units: int, in_random_order: bool, capacity: int) -> Test:
    """flashbench -O with this many units, by commands from a unit down to its 64th part."""
    chunk = unit >> 6
    spec = (f"flashbench-open-au,erasesize={unit},bs={chunk},open-au-nr={units},"
            f"random={'yes' if in_random_order else 'no'}")
    requests = _traced(tool, spec, capacity)
    keys: list[tuple[str, dict[str, Scalar]]] = [
        ("flashbench-open-au", {"erasesize": unit, "open": units, "random": in_random_order,
                                "chunk": unit >> i}) for i in range(7)]
    order = "random" if in_random_order else "in order"
    return Test(f"{units} open units, {order}", tuple(requests), tuple(keys))


# --- what follows ---

def link_from(points: Sequence[Point]) -> tuple[float, float] | None:
    """Overhead of a read in ns, and the rate of the link in bytes a second: the line through the
    times of reads up to 64 KiB, in which relative errors count."""
    pairs = [(float(dict(p.parameters)["bs"]), p.value) for p in points
             if p.procedure == "request" and dict(p.parameters)["op"] == "read"
             and int(dict(p.parameters)["bs"]) <= 64 * _KIB]
    if len(pairs) < 3:
        return None
    weights = [1 / t**2 for _, t in pairs]
    total = sum(weights)
    x = sum(w * n for w, (n, _) in zip(weights, pairs)) / total
    y = sum(w * t for w, (_, t) in zip(weights, pairs)) / total
    slope = sum(w * (n - x) * (t - y) for w, (n, t) in zip(weights, pairs)) / \
        sum(w * (n - x)**2 for w, (n, _) in zip(weights, pairs))
    overhead = y - slope * x
    return (overhead, 1e9 / slope) if slope > 0 and overhead > 0 else None


def excesses(points: Sequence[Point]) -> dict[int, tuple[float, float]]:
    """For each unit of `crossing`: how much longer a write across takes than the mean of the ones
    before and behind, and that mean, in ns."""
    bs = 8 * _KIB
    times: dict[tuple[int, int], float] = {}
    for p in points:
        how = dict(p.parameters)
        if p.procedure == "request" and how["op"] == "write" and how["bs"] == bs:
            times[int(how["start"]), int(how["stride"])] = p.value
    found = {}
    for unit, stride in ((start, stride) for start, stride in times):
        on, before = times.get((unit - bs // 2, stride)), times.get((unit - bs, stride))
        if on is not None and before is not None:
            alone = (times[unit, stride] + before) / 2
            found[unit] = (on - alone, alone)
    return found


def unit_from(points: Sequence[Point]) -> int | None:
    """The allocation unit: the smallest candidate whose multiples all stand out, and next to
    which nothing else does; None if no unit shows."""
    found = excesses(points)
    best: tuple[float, int] | None = None
    for unit in found:
        high = [e for other, (e, _) in found.items() if other % unit == 0]
        low = [e for other, (e, _) in found.items() if other % unit]
        if not low or len(high) < 2:
            continue
        gap = min(high) - max(low)
        alone = median(t for _, t in found.values())
        if gap > _STANDS_OUT * alone and (best is None or gap > best[0]):
            best = (gap, unit)
    return best[1] if best else _unit_by_share(points)


def _unit_by_share(points: Sequence[Point]) -> int | None:
    """The unit that explains the excesses best, if it explains most of them: the excess of a test
    is proportional to the share of its writes that lie across multiples of the unit.  Odd multiples
    of 2 MiB, for example, are multiples of 1.5 MiB now and then."""
    measured = excesses(points)
    places = {int(dict(p.parameters)["start"]): dict(p.parameters) for p in points
              if p.procedure == "request" and dict(p.parameters)["op"] == "write"}
    total = sum(e**2 for e, _ in measured.values())
    alone = median(t for _, t in measured.values()) if measured else 0.0
    best, found = _EXPLAINS, None
    for unit in measured:
        shares = []
        for other in measured:
            how = places[other]
            at = [other + k * int(how["stride"]) for k in range(int(how["count"]))]
            shares.append(sum(a % unit == 0 for a in at) / len(at))
        product = sum(s * e for s, (e, _) in zip(shares, measured.values()))
        squares = sum(s**2 for s in shares) or 1.0
        explained = product * abs(product) / squares / (total or 1.0)
        if explained > best and product / squares > _STANDS_OUT * alone:
            best, found = explained, unit
    return found


def page_from(points: Sequence[Point]) -> int | None:
    """The page: the command for which writing in order costs most more when it is shifted by half
    of its size.  A shifted command of a page touches two pages; one of half a page does so only
    every second time, and one of two pages touches three instead of two.  None if no shift costs
    anything."""
    rates: dict[tuple[int, bool], float] = {}
    for p in points:
        how = dict(p.parameters)
        bs = int(how.get("bs", 0))
        if p.procedure == "seq-write" and int(how["size"]) >= 8 * bs:
            rates[bs, int(how.get("offset", 0)) % bs != 0] = p.value
    costs = [(rates[bs, False] / rates[bs, True], -bs) for bs in {bs for bs, _ in rates}
             if (bs, False) in rates and (bs, True) in rates]
    most, bs = max(costs, default=(0.0, 0))
    return -bs if most > 1 + _STANDS_OUT else None


def _means(points: Sequence[Point], in_random_order: bool) -> dict[int, float]:
    """The geometric mean of the rates of -O for each number of open units."""
    logs: dict[int, list[float]] = {}
    for p in points:
        how = dict(p.parameters)
        if p.procedure == "flashbench-open-au" and how["random"] == in_random_order:
            logs.setdefault(int(how["open"]), []).append(math.log(p.value))
    return {units: math.exp(sum(each) / len(each)) for units, each in logs.items()}


def limit_from(points: Sequence[Point], in_random_order: bool) -> int | None:
    """How many units may be open: the first N for which N + 1 units have less than 4/5 of the
    mean rate, and for N = 1 less than half of it; `flashemu verify` has the same rule.  It is 0 in
    random order if one unit has less than half of the rate that it has in order.  None if there is
    no limit so far."""
    means, in_order = _means(points, in_random_order), _means(points, False)
    if in_random_order and 1 in means and 1 in in_order and means[1] < in_order[1] / 2:
        return 0
    for units in sorted(means):
        if units + 1 in means and means[units + 1] < means[units] * (0.5 if units == 1 else 0.8):
            return units
    return None


# --- the order ---

def tests(tool: Tool, capacity: int, read_only: bool, found: Found,
          judge: Callable[[], None]) -> Iterator[Test]:
    """The tests one by one.  Between two of them the caller adds the points of the last one to
    `found` and `judge` has been called."""
    yield link(capacity)
    judge()
    yield align(tool, capacity)
    if read_only:
        return
    for unit in candidates(capacity):
        yield crossing(unit, capacity)
    judge()
    unit = found.unit or 4 * _MIB
    while unit * 16 > capacity:
        unit //= 2
    yield page(unit, capacity)
    judge()
    for in_random_order in (False, True):
        for units in range(1, MOST_OPEN + 1):
            yield open_units(tool, unit, units, in_random_order, capacity)
            judge()
            if (found.open_random if in_random_order else found.open_linear) is not None:
                break


def judge(found: Found) -> None:
    """Draws the conclusions from all points that there are."""
    found.unit = unit_from(found.points)
    found.page = page_from(found.points)
    found.open_linear = limit_from(found.points, False)
    found.open_random = limit_from(found.points, True)
