# SPDX-License-Identifier: BSD-3-Clause
"""The tests of `probe` about structure: which requests, and what follows from their times.

    link        reads of growing size         overhead of a command, rate of the link
    align       flashbench -a                 reads that cross a boundary
    page        writes in order, shifted by   a command that ends inside a page costs more
                half of their size; reads     and so does a read that crosses pages
    tails       writes in order by pages      what the end of a longer command inside a page
                and halves                    costs, which only a fit uses

Each test is a list of requests that `flashemu verify --against` repeats exactly, because the same
program makes them there.  The other files of this folder ask about the unit, open units, the
device's behaviour and its real capacity, and `findings` has the order of all of them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from statistics import median, median_low
from typing import Callable, Mapping, Sequence

from ...measurement.schema import Point, Scalar, each, make_point
from ...runs.program import Tool
from . import partial_pages

_KIB, _MIB = 1 << 10, 1 << 20
PUSH = 64 * _KIB            # bytes of a command of a push
_LINK_READS = 16
# What the statement before the start assumes, where nothing has been measured yet: a slow stick.
_READ_RATE, _WRITE_RATE, _REQUEST_S, _MERGE_S = 10e6, 5e6, 1e-3, 0.3
# No page is as small as the first one, which shows what is no excess.
_READ_PAGES = tuple(_KIB << i for i in range(7))
_PAGE_READS = 12
_BEGINS = 48 * _MIB
# An excess of a read counts if it is this share of the time of a read that crosses nothing.
_READS_STAND_OUT = 0.04
# If it is the same for all sizes from one on, this share is enough, or a smaller one that at least
# so many rows of flashbench -a have, and all but this share of them.
_LITTLE_OF_READS = 0.005
_ROWS, _OTHERS = 5, 0.2
# How far off what reads fetch besides may be, as a share of it.
_INEXACT = 0.03
# An excess counts if it is this share of the time of a request that crosses nothing.
_STANDS_OUT = 0.2


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

    def in_order(self, bs: int, start: int, size: int) -> None:
        """A point of the procedure `seq-write`."""
        self.requests += series(len(self.keys), "write", bs, start, bs, size // bs, self._capacity)
        self.keys.append(("seq-write", {"bs": bs, "size": size, "offset": start}))

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


@functools.lru_cache(maxsize=64)
def traced(tool: Tool, spec: str, capacity: int) -> tuple[Request, ...]:
    """The requests of a pattern; the key is the line of the output, from 0.  A probe asks for the
    same ones each time that it looks what comes next."""
    found = []
    for line in tool.ask("gen", spec, "--capacity", str(capacity)).splitlines():
        words = line.split()
        if words and not line.startswith("#"):
            found.append(Request(words[1], int(words[2]), int(words[3]),
                                 int(words[4].removeprefix("stream=")) - 1))
    return tuple(found)


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
    return Test("align", requests, tuple(keys), rounds=3)


def page(unit: int, capacity: int) -> Test:
    """Units written in order by growing commands: a unit from its start, the next one shifted by
    half a command.  Each unit is written completely, so that none has to be merged.  The first
    command has a point of its own, because it may pay for the unit that was open before."""
    draft = Draft(capacity)
    at = unit * max(1, 32 * _MIB // unit)
    if at + 12 * unit > capacity:
        at = unit
    for bs in (2 * _KIB << i for i in range(6)):
        if at + 2 * unit > capacity or 16 * bs > unit:
            break
        draft.in_order(bs, at, bs)
        draft.in_order(bs, at + bs, unit - bs)
        at += unit
        draft.in_order(bs // 2, at, bs // 2)
        draft.in_order(bs, at + bs // 2, unit - bs)
        draft.in_order(bs // 2, at + unit - bs // 2, bs // 2)
        at += unit
    return draft.test("page", merges=len(draft.keys))


def tails(unit: int, page: int, capacity: int) -> Test:
    """Halves of units written in order by commands that are longer than a page and end inside
    one: what such an end costs.  As in `page`, the first command has a point of its own."""
    draft = Draft(capacity)
    at = unit * max(1, 32 * _MIB // unit)
    for bs in (page * 3 // 2, page * 9 // 2):
        count = unit // 2 // bs
        if at + unit <= capacity and count > 4:
            draft.in_order(bs, at, bs)
            draft.in_order(bs, at + bs, (count - 1) * bs)
            at += unit
    return draft.test("ends inside pages", merges=len(draft.keys))


def page_reads(capacity: int) -> Test:
    """Reads of 1 KiB before, across and behind odd multiples of 1 KiB to 64 KiB, where `burst` has
    written, because a device does not look for what was never written.  The median counts, because
    some of them bring in a map."""
    begin = capacity // 4 // _MIB * _MIB
    draft = Draft(capacity)
    for size in _READ_PAGES:
        for before in (_KIB, _KIB // 2, 0):
            draft.add("read", _KIB, begin + size - before, 2 * size, _PAGE_READS, middle=True)
    return draft.test("page, reads")


# --- what follows ---

def reads(points: Sequence[Point]) -> dict[int, float]:
    """ns of a read by its size, from `link`."""
    return {int(how["bs"]): ns
            for how, ns in each(points, "request", op="read", start=0, count=_LINK_READS)
            if int(how["stride"]) >= _MIB}


def line(times: Mapping[int, float], most: int) -> tuple[float, float] | None:
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
    all_of_them = line(times, 64 * _KIB)
    if all_of_them is None:
        return None
    within = line(times, page_read_from(points) or 0)
    return (within or all_of_them)[0], 1e9 / all_of_them[1]


def page_from(points: Sequence[Point]) -> int | None:
    """The page: the command for which writing in order costs most more when it is shifted by half
    of its size.  A shifted command of a page touches two pages; one of half a page does so only
    every second time, and one of two pages touches three instead of two.  None if no shift costs
    anything."""
    rates: dict[tuple[int, bool], float] = {}
    for how, rate in each(points, "seq-write"):
        bs = int(how["bs"])
        if int(how["size"]) >= 8 * bs:
            rates[bs, int(how.get("offset", 0)) % bs != 0] = rate
    costs = [(rates[bs, False] / rates[bs, True], -bs) for bs in {bs for bs, _ in rates}
             if (bs, False) in rates and (bs, True) in rates]
    most, bs = max(costs, default=(0.0, 0))
    return -bs if most > 1 + _STANDS_OUT else None


def page_read_excesses(points: Sequence[Point]) -> dict[int, tuple[float, float]]:
    """For each size of `page_reads`, and of flashbench -a up to 64 KiB: how much longer a read
    across its multiples takes, and a read that crosses none, in ns.  What is fetched besides does
    not count."""
    rows, fetched = aligned(points), _fetched(points)
    times = {int(how["start"]): ns
             for how, ns in each(points, "request", op="read", bs=_KIB, count=_PAGE_READS)}
    begin = max(times, default=0) - max(_READ_PAGES)
    found = {}
    for size in _READ_PAGES:
        row = [times.get(begin + size - before) for before in (_KIB, _KIB // 2, 0)]
        if None in row:
            row = [rows.get(size, {}).get(place) for place in ("pre", "on", "post")]
        before, on, behind = row
        if before is not None and on is not None and behind is not None:
            found[size] = (fetched(size, on - (before + behind) / 2), (before + behind) / 2)
    return found


def _fetched(points: Sequence[Point]) -> Callable[[int, float], float]:
    """What is left of how much longer a read across multiples of a size takes, without what is
    fetched besides: it leaves all of that, of the two beside it one does and one nothing.  0 if it
    is little, because the line through reads is not that exact."""
    together, ns = partial_pages.of_reads(points)

    def left(size: int, excess: float) -> float:
        if not together or size < together:
            return excess
        return excess - ns / 2 if abs(excess - ns / 2) > _INEXACT * ns else 0.0
    return left


def aligned(points: Sequence[Point]) -> dict[int, dict[str, float]]:
    """ns of each row of flashbench -a, by alignment and place."""
    rows: dict[int, dict[str, float]] = {}
    for how, ns in each(points, "flashbench-align"):
        rows.setdefault(int(how["align"]), {})[str(how["place"])] = ns
    return rows


def _is_usual(points: Sequence[Point], size: int, excess: float) -> bool:
    """Whether nearly all rows of flashbench -a from this size on have this excess."""
    fetched = _fetched(points)
    every = [fetched(align, row["on"] - (row["pre"] + row["post"]) / 2)
             for align, row in aligned(points).items() if align >= size and len(row) == 3]
    others = sum(not excess / 1.1 < e < 1.1 * excess for e in every)
    return len(every) >= _ROWS and others <= _OTHERS * len(every)


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
        same = bool(low) and max(low) < min(high) / 10 and max(high) < 1.1 * min(high)
        clear = same and (min(high) > _LITTLE_OF_READS * alone
                          or _is_usual(points, size, min(high)))
        if clear or min(high) > max(_READS_STAND_OUT * alone, 2 * max(low, default=0.0)):
            return size
    return None
