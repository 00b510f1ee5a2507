# SPDX-License-Identifier: BSD-3-Clause
"""The tests of `probe` about structure: which requests, and what follows from their times.

    link        reads of growing size         overhead of a command, rate of the link
    align       flashbench -a                 reads that cross a boundary
    crossing    writes across, before and     a write that lies in two units makes the device
                behind multiples of U         merge two of them, so U, 2 U, 3 U ... stand out
    page        writes in order, shifted by   a command that ends inside a page costs more
                half of their size; reads     and so does a read that crosses pages

Each test is a list of requests that `flashemu verify --against` repeats exactly, because the same
program makes them there.  `opened` and `flashbench_o` find how many units are open; `habits` has
the tests of caches, parallelism and rests, `forged` that of the real capacity, and `findings` the
order of all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median, median_low
from typing import Iterator, Mapping, Sequence

from . import merges
from .measurement import Point, Scalar, make_point
from .tool import Tool

_KIB, _MIB = 1 << 10, 1 << 20
PUSH = 64 * _KIB            # bytes of a command of a push
_LINK_READS = 16
# What the statement before the start assumes, where nothing has been measured yet: a slow stick.
_READ_RATE, _WRITE_RATE, _REQUEST_S, _MERGE_S = 10e6, 5e6, 1e-3, 0.3
# No page is as small as the first one, which shows what is no excess.
_READ_PAGES = tuple(_KIB << i for i in range(7))
_PAGE_READS = 12
_CROSSINGS = 16
# Where they are only seen together with what pushes them out.  It is a prime, so that they never
# fill a log to its last page.
MANY_CROSSINGS = 47
_ENOUGH = 12        # tests of `crossing` that show a unit
_OPENING = 100      # units
_BEGINS = 48 * _MIB
_AGAIN = 6          # tests of `crossing` that are repeated at other places
# An excess of a read counts if it is this share of the time of a read that crosses nothing.
_READS_STAND_OUT = 0.04
_LITTLE_OF_READS = 0.005
# An excess counts if it is this share of the time of a request that crosses nothing.
_STANDS_OUT = 0.2
# It also counts with this share, if nothing else has a quarter of it.
_LITTLE = 0.04
# A unit has to explain this share of the squares of all excesses.
_EXPLAINS = 0.9
_EXPLAINS_MANY = 0.85
_ODD_COUNTS = 0.01  # of the squares of the test that need not fit


@dataclass(frozen=True)
class Request:
    """What is done, and to which of the test's points its time belongs.

    op      "read", "write", "trim"; "look", a read whose content counts; "flush"; or "rest", for
            `length` ns
    key     -1: the time belongs to no point
    """

    op: str
    offset: int
    length: int
    key: int


@dataclass(frozen=True)
class Test:
    """Requests in order, and the points that their times make.

    keys      procedure and parameters of each point
    rounds    how often each place is visited; the least time of a place counts
    merges    how many requests probably make the device merge a unit, for the estimate
    depth     how many requests are in flight; with more than one there is only one point
    after     what `content` says was done before the looks
    """

    name: str
    requests: tuple[Request, ...]
    keys: tuple[tuple[str, dict[str, Scalar]], ...]
    rounds: int = 1
    merges: int = 0
    depth: int = 1
    after: str = "write"

    @property
    def written(self) -> int:
        """Bytes."""
        return sum(r.length for r in self.requests if r.op == "write")

    @property
    def trims(self) -> bool:
        return any(r.op == "trim" for r in self.requests)

    def seconds(self) -> float:
        """About how long a slow stick needs."""
        read = sum(r.length for r in self.requests if r.op in ("read", "look"))
        rests = sum(r.length for r in self.requests if r.op == "rest")
        return (len(self.requests) * _REQUEST_S + read / _READ_RATE + self.written / _WRITE_RATE
                + self.merges * _MERGE_S + rests / 1e9)


def result(test: Test, times: Sequence[int]) -> list[Point]:
    """The points of a test that has run to its end; `times` in ns, one for each request."""
    by_key: dict[int, list[tuple[int, int]]] = {}
    for request, ns in zip(test.requests, times):
        measured = by_key.setdefault(request.key, [])
        if test.rounds > 1 and request.length < _KIB and request.offset == 0:
            # the rest of a read across the end of the device, which is one read of flashbench
            ns, length = ns + measured[-1][0], request.length + measured.pop()[1]
            measured.append((ns, length))
        elif request.op == "flush" and measured:
            measured[-1] = measured[-1][0] + ns, measured[-1][1]
        else:
            measured.append((ns, request.length))
    points = []
    for key, (procedure, parameters) in enumerate(test.keys):
        measured = by_key.get(key, [])
        if not measured or sum(ns for ns, _ in measured) <= 0:
            continue
        if parameters.get("median"):
            value = float(median_low(ns for ns, _ in measured))
        elif "push" in parameters:
            value = sum(ns for ns, _ in measured) / int(parameters["count"])
        elif procedure in ("request", "flashbench-align"):
            places = len(measured) // test.rounds or 1
            least = [min(ns for ns, _ in measured[i::places]) for i in range(places)]
            value = sum(least) / places
        else:
            value = sum(n for _, n in measured) * 1e9 / sum(ns for ns, _ in measured)
        if value > 0:
            points.append(make_point(procedure, [value], **parameters))
    return points


def contents(test: Test, seen: Mapping[int, int | str]) -> list[Point]:
    """The points about what the looks of a test have found: `seen` has for each offset the address
    for which a sector was written, or a word.  Equal findings are one point."""
    places: dict[tuple[str, int], list[int]] = {}
    for offset, what in seen.items():
        word = what if isinstance(what, str) else "same" if what == offset else "elsewhere"
        # an address that is lower says that something behind the device has been overwritten
        distance = what - offset if isinstance(what, int) and what > offset else 0
        places.setdefault((word, distance), []).append(offset)
    points = []
    for (word, distance), offsets in places.items():
        more: dict[str, Scalar] = {"distance": distance} if distance else {}
        points.append(make_point("content", [len(offsets)], after=test.after, found=word,
                                 first=min(offsets), last=max(offsets), **more))
    return points


# --- tests ---

def series(key: int, op: str, bs: int, start: int, stride: int, count: int,
           capacity: int) -> list[Request]:
    """What the procedure `request` means."""
    return [Request(op, min((start + k * stride) % capacity, capacity - bs), bs, key)
            for k in range(count)]


@dataclass(frozen=True)
class Seen:
    """How the time of a write is seen behind a write cache.

    flush   a flush follows each write
    push    a cache that no flush empties is as good as full, and gives its oldest page to the
            flash for each new one; so many bytes in order behind the writes push these out
    at      where the bytes of the push begin; -1: about 5/16 of the device
    """

    flush: bool = False
    push: int = 0
    at: int = -1

    def by_units(self, unit: int, capacity: int) -> Seen:
        """The same with a push of whole units at the end of the device.  A unit that is written
        from its start to its end merges nothing, neither when it is opened nor when it is
        closed."""
        if not self.push:
            return self
        size = -(-self.push // unit) * unit
        return Seen(self.flush, size, capacity // unit * unit - size)

    def behind(self, capacity: int) -> tuple[Seen, int]:
        """The same with a push near the end of the device, and where it begins: other writes stay
        in front of that, because what they push out would be in the cache already.  It is a
        multiple of most units, so that the push begins one."""
        if not self.push:
            return self, capacity
        at = capacity - self.push
        step = _BEGINS if at >= 2 * _BEGINS else _MIB
        return Seen(self.flush, self.push, at // step * step), at // step * step


OUTRIGHT = Seen()  # the write itself takes the time


class Draft:
    """A test that is being put together."""

    def __init__(self, capacity: int) -> None:
        self.requests: list[Request] = []
        self.keys: list[tuple[str, dict[str, Scalar]]] = []
        self._capacity = capacity

    def add(self, op: str, bs: int, start: int, stride: int, count: int, idle: int = 0,
            look: bool = False, depth: int = 1, seen: Seen = OUTRIGHT,
            middle: bool = False) -> None:
        """A point of the procedure `request`.  With `middle` it is the median of the times, unless
        the writes are only seen together."""
        key = len(self.keys)
        middle = middle and not seen.push
        if idle:
            self.requests.append(Request("rest", 0, idle, -1))
        for r in series(key, "look" if look else op, bs, start, stride, count, self._capacity):
            self.requests += [r, Request("flush", 0, 0, key)] if seen.flush else [r]
        pushed = self._capacity * 5 // 16 // _MIB * _MIB if seen.at < 0 else seen.at
        self.requests += series(key, "write", PUSH, pushed, PUSH, seen.push // PUSH, self._capacity)
        more = {"idle": idle, "depth": depth if depth > 1 else 0, "flush": seen.flush,
                "median": middle, "push": seen.push, "push_start": pushed if seen.push else 0}
        self.keys.append(("request", {
            "op": op, "bs": bs, "start": start, "stride": stride, "count": count,
            **{name: value for name, value in more.items() if value}}))

    def test(self, name: str, merges: int = 0, depth: int = 1, after: str = "write") -> Test:
        """What it has become."""
        return Test(name, tuple(self.requests), tuple(self.keys), merges=merges, depth=depth,
                    after=after)


def link(capacity: int) -> Test:
    """Reads by size; 4 MiB apart, so that no read finds what another one has brought."""
    draft = Draft(capacity)
    for size in (512 << i for i in range(11)):
        if size * 16 < capacity:
            draft.add("read", size, 0, max(capacity // 16 // _MIB, 1) * _MIB, _LINK_READS)
    return draft.test("link")


def traced(tool: Tool, spec: str, capacity: int) -> list[Request]:
    """The requests of a pattern; the key is the line of the output, from 0."""
    found = []
    for line in tool.ask("gen", spec, "--capacity", str(capacity)).splitlines():
        words = line.split()
        if words and not line.startswith("#"):
            found.append(Request(words[1], int(words[2]), int(words[3]),
                                 int(words[4].removeprefix("stream=")) - 1))
    return found


def align(tool: Tool, capacity: int) -> Test:
    """flashbench -a with blocks of 1 KiB."""
    requests = traced(tool, "flashbench-align,bs=1K,rounds=3", capacity)
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


def odd_candidates(capacity: int) -> list[int]:
    """Other sizes from 512 KiB to 48 MiB that divide the capacity: 5, 7, 9, 11, 13 and 15 x 2^n."""
    found = [odd * _KIB << i for odd in (5, 7, 9, 11, 13, 15) for i in range(5, 14)]
    return sorted(n for n in found if 512 * _KIB <= n <= 48 * _MIB and capacity % n == 0
                  and 16 * n <= capacity)


def crossing(unit: int, capacity: int, seen: Seen = OUTRIGHT, bs: int = 8 * _KIB,
             count: int = _CROSSINGS, closer: int = 0) -> Test:
    """Writes before, across and behind odd multiples of `unit`, as far apart as they can be, and
    more of them than units are open, so that each goes to one that is not.  The median counts,
    because a device that collects small writes empties its log now and then.  `closer` places them
    otherwise."""
    seen, end = seen.behind(capacity)
    # other units each time, as far as there are some: what is open already opens nothing
    apart = max(1, (end - unit) // (2 * unit * count))
    if apart > 4:
        apart = apart * (72 - unit // (16 * _KIB) % 29) // 72
    apart = max(1, apart - closer)
    turn = apart // 3
    # or all places across were multiples of 3, 5 or 7 units as well, which then looked the same
    while turn and math.gcd(apart, 2 * turn + 1, 105) > 1:
        turn += 1
    shift = 2 * unit * turn
    draft = Draft(capacity)
    for n, before in enumerate((bs, bs // 2, 0)):
        draft.add("write", bs, unit - before + n * shift, 2 * unit * apart, count, seen=seen,
                  middle=True)
    return draft.test(f"crossing {unit // _KIB} KiB", merges=4 * count)


def opening(capacity: int, seen: Seen = OUTRIGHT, odd: bool = False) -> Test:
    """Writes across odd multiples of large candidates, which are multiples of smaller units, too: a
    device that may open another unit need not close one, so these open as many as there can be."""
    bs = 32 * _KIB
    sizes = odd_candidates(capacity) if odd else \
        [unit for unit in candidates(capacity) if unit >= _MIB]
    draft = Draft(capacity)
    for of_three in (True, False):
        opened = 0
        for unit in reversed([n for n in sizes if (n % 3 == 0) == of_three]):
            stride = 2 * unit * max(1, (capacity - unit) // (2 * unit * 17))
            # each place once: a second write to a unit would change how it is open
            count = min(17, (capacity - unit) // stride)
            if opened < _OPENING:
                draft.add("write", bs, unit - bs // 2, stride, count, seen=seen)
                opened += count
    return draft.test("opening units" + (", others" if odd else ""),
                      merges=2 * len(draft.requests))


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
        requests.extend(series(len(keys), "write", bs, start, bs, size // bs, capacity))
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


def page_reads(capacity: int) -> Test:
    """Reads of 1 KiB before, across and behind odd multiples of 1 KiB to 64 KiB, where `burst` has
    written, because a device does not look for what was never written."""
    begin = capacity // 4 // _MIB * _MIB
    draft = Draft(capacity)
    for size in _READ_PAGES:
        for before in (_KIB, _KIB // 2, 0):
            draft.add("read", _KIB, begin + size - before, 2 * size, _PAGE_READS)
    return draft.test("page, reads")


# --- what follows ---

def reads(points: Sequence[Point]) -> dict[int, float]:
    """ns of a read by its size, from `link`."""
    found = {}
    for p in points:
        how = dict(p.parameters)
        if p.procedure == "request" and how["op"] == "read" and how["start"] == 0 and \
                how["count"] == _LINK_READS and int(how["stride"]) >= _MIB:
            found[int(how["bs"])] = p.value
    return found


def _line(times: Mapping[int, float], most: int) -> tuple[float, float] | None:
    """The line through the times of reads up to this size, in which relative errors count: ns at 0,
    and ns for a byte.  None with less than three of them, or if it does not rise from above 0."""
    pairs = [(float(bs), ns) for bs, ns in times.items() if bs <= most]
    if len(pairs) < 3:
        return None
    weights = [1 / t**2 for _, t in pairs]
    total = sum(weights)
    x = sum(w * n for w, (n, _) in zip(weights, pairs)) / total
    y = sum(w * t for w, (_, t) in zip(weights, pairs)) / total
    slope = sum(w * (n - x) * (t - y) for w, (n, t) in zip(weights, pairs)) / \
        sum(w * (n - x)**2 for w, (n, _) in zip(weights, pairs))
    return (y - slope * x, slope) if slope > 0 and y - slope * x > 0 else None


def link_from(points: Sequence[Point]) -> tuple[float, float] | None:
    """Overhead of a read in ns, and the rate of the link in bytes a second: the line through the
    times of reads up to 64 KiB.  The overhead is that of reads within a page if it is known how
    much is read at a time, because the first page of a longer read can take another time than the
    next ones."""
    times = reads(points)
    line = _line(times, 64 * _KIB)
    if line is None:
        return None
    within = _line(times, page_read_from(points) or 0)
    return (within or line)[0], 1e9 / line[1]


@dataclass(frozen=True)
class Across:
    """What a test of `crossing` has measured: `times` has ns of a write before, across and behind
    the multiples of `unit`."""

    unit: int
    bs: int
    shift: int
    stride: int
    count: int
    pushed: bool
    times: tuple[float, float, float]

    def places(self, which: int) -> tuple[int, ...]:
        """The multiples around which it has written: 0 before, 1 across, 2 behind."""
        return tuple(self.unit + which * self.shift + k * self.stride for k in range(self.count))


def across(points: Sequence[Point]) -> Iterator[Across]:
    """The tests of `crossing`, in their order."""
    every = [(dict(p.parameters), p.value) for p in points if p.procedure == "request"]
    series = [((int(how["bs"]), int(how["stride"]), int(how["count"])), int(how["start"]), ns,
               "push" in how) for how, ns in every
              if how["op"] == "write" and how["count"] in (_CROSSINGS, MANY_CROSSINGS)]
    for (one, before, t0, pushed), (two, on, t1, _), (three, behind, t2, _) in zip(
            series, series[1:], series[2:]):
        bs, stride, count = one
        unit, shift = before + bs, on - before - bs // 2
        if one == two == three and behind == unit + 2 * shift and \
                unit > bs and shift % (2 * unit) == 0 and stride % (2 * unit) == 0:
            yield Across(unit, bs, shift, stride, count, pushed, (t0, t1, t2))


def _crossings(points: Sequence[Point]) -> dict[int, tuple[float, float, list[int]]]:
    """What `excesses` has, and the multiples across which was written.  Tests that had to come back
    to the same units, because the device has too few of that size, only count if there are few
    others: such a unit may still have been open.  If it was tried with writes of several sizes, the
    last one counts."""
    found: dict[int, tuple[float, float, list[int]]] = {}
    worse: dict[int, tuple[float, float, list[int]]] = {}
    latest = 0
    for c in across(points):
        if c.bs != latest:
            latest, found, worse = c.bs, {}, {}
        alone = (c.times[0] + c.times[2]) / 2
        (found if c.shift else worse)[c.unit] = c.times[1] - alone, alone, list(c.places(1))
    return found if len(found) >= _ENOUGH else {**worse, **found}


def _multiples(at: Sequence[int], unit: int) -> int:
    """How many of the places are multiples of the unit."""
    return sum(a % unit == 0 for a in at)


def excesses(points: Sequence[Point]) -> dict[int, tuple[float, float]]:
    """For each unit of `crossing`: how much longer a write across takes than the mean of the ones
    before and behind, and that mean, in ns."""
    return {unit: (e, alone) for unit, (e, alone, _) in _crossings(points).items()}


def doubtful(points: Sequence[Point]) -> list[int]:
    """The units of `crossing` that stand out most, the largest first: what was open when they were
    measured may have hidden some merges."""
    found = excesses(points)
    most = max((abs(e) for e, _ in found.values()), default=0.0)
    return sorted((unit for unit, (e, alone) in found.items()
                   if abs(e) > max(_STANDS_OUT * most, _STANDS_OUT * alone)), reverse=True)[:_AGAIN]


def unit_from(points: Sequence[Point]) -> int | None:
    """The allocation unit: the smallest candidate whose multiples all stand out, and next to
    which nothing else does; None if no unit shows, or if it is a page: two pages take twice as
    long as one, too."""
    found = _crossings(points)
    pushed = any("push" in dict(p.parameters) for p in points)
    best: tuple[float, int] | None = None
    for unit in found:
        # odd multiples of one size, a stride apart, may all be multiples of another size
        high = [e for e, _, at in found.values() if 2 * _multiples(at, unit) > len(at)]
        low = [e for e, _, at in found.values() if 2 * _multiples(at, unit) <= len(at)]
        few = 1 if len(high) >= _ENOUGH else 2
        if len(low) < few or len(high) < 1 + (pushed or 2 * unit <= max(found)) or \
                min(high) < max(high) / 2:
            continue
        gap = min(high) - max(low)
        alone = median(t for _, t, _ in found.values())
        clear = gap > _LITTLE * alone and gap > 4 * max(abs(e) for e in low)
        # only one size: it has to cost as much as a merge
        enough = _STANDS_OUT if len(high) > 1 else 0.5
        stands_out = gap > enough * alone or (clear and len(high) > 1)
        if pushed and gap < max(low) - min(low):    # sums hold merges of a log now and then
            continue
        if stands_out and merges.is_one(points, gap, alone, unit) and (
                best is None or gap > best[0]):
            best = (gap, unit)
    many = {unit: row for unit, row in found.items() if len(row[2]) == MANY_CROSSINGS}
    one = best[1] if best else None
    likely = _unit_by_share(points, found) or _unit_by_share(points, many, _EXPLAINS_MANY) or \
        one if many else one or _unit_by_share(points, found)
    return likely if likely and likely > (page_read_from(points) or 0) else None


def _unit_by_share(points: Sequence[Point],
                   crossings: Mapping[int, tuple[float, float, list[int]]],
                   enough: float = _EXPLAINS) -> int | None:
    """The unit that explains the excesses best, if it explains most of them: the excess of a test
    is proportional to the share of its writes that lie across multiples of the unit: odd multiples
    of 2 MiB, for example, are multiples of 1.5 MiB now and then.  Of many tests one need not fit: a
    log may have been full just then.  What does not fit still speaks a little against a unit, or
    twice the unit would be as good, for which only one test does not fit."""
    measured = {unit: (e, alone) for unit, (e, alone, _) in crossings.items()}
    alone = median(t for _, t in measured.values()) if measured else 0.0
    every = sum(e**2 for e, _ in measured.values()) or 1.0
    best, found = 0.0, None
    for unit in measured:
        shares = [_multiples(at, unit) / len(at) for _, _, at in crossings.values()]
        product = sum(s * e for s, (e, _) in zip(shares, measured.values()))
        squares = sum(s**2 for s in shares) or 1.0
        errors = sorted((s * product / squares - e)**2
                        for s, (e, _) in zip(shares, measured.values()))
        odd = errors.pop() if len(errors) >= _ENOUGH else 0.0
        explained = 1 - sum(errors) / ((every - odd) or 1.0)
        value = explained - _ODD_COUNTS * odd / every
        if explained > enough and value > best and \
                product / squares > _STANDS_OUT * alone and \
                merges.is_one(points, product / squares, alone, unit):
            best, found = value, unit
    # the smallest candidates cannot be told from a page
    return found if found not in sorted(measured)[:2] else None


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


def page_read_excesses(points: Sequence[Point]) -> dict[int, tuple[float, float]]:
    """For each size of `page_reads`, and of flashbench -a up to 64 KiB: how much longer a read
    across its multiples takes, and a read that crosses none, in ns."""
    times: dict[int, float] = {}
    aligned: dict[int, dict[str, float]] = {}
    for p in points:
        how = dict(p.parameters)
        if p.procedure == "request" and how["op"] == "read" and how["bs"] == _KIB and \
                how["count"] == _PAGE_READS:
            times[int(how["start"])] = p.value
        elif p.procedure == "flashbench-align" and int(how["align"]) in _READ_PAGES:
            aligned.setdefault(int(how["align"]), {})[str(how["place"])] = p.value
    begin = max(times, default=0) - max(_READ_PAGES)
    found = {}
    for size in _READ_PAGES:
        row = [times.get(begin + size - before) for before in (_KIB, _KIB // 2, 0)]
        if None in row:
            row = [aligned.get(size, {}).get(place) for place in ("pre", "on", "post")]
        before, on, behind = row
        if before is not None and on is not None and behind is not None:
            found[size] = (on - (before + behind) / 2, (before + behind) / 2)
    return found


def page_read_from(points: Sequence[Point]) -> int | None:
    """The page: the smallest size for which reads across its multiples take longer, and across
    those of larger sizes as well, while for smaller ones they do not; None if that is not so."""
    found = page_read_excesses(points)
    for size in (size for size in found if size > _KIB):
        # the first reads of all may bring in a map, which makes an excess negative
        low = [max(e, 0.0) for other, (e, _) in found.items() if other < size]
        high = [e for other, (e, _) in found.items() if other >= size]
        alone = median(t for _, t in found.values())
        # a small excess counts as well if it is the same everywhere, and smaller sizes have none
        clear = bool(low) and max(low) < min(high) / 10 and max(high) < 1.1 * min(high) and \
            min(high) > _LITTLE_OF_READS * alone
        if clear or min(high) > max(_READS_STAND_OUT * alone, 2 * max(low, default=0.0)):
            return size
    return None
