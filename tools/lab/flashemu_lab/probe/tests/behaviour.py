# SPDX-License-Identifier: BSD-3-Clause
"""The tests of `probe` about how a device works: which requests, and what follows from their times.

    scattered   writes of growing size, each        a shift by half of the granule of the map costs
                somewhere else, also shifted by     more; small ones are quicker where there is a
                half of their size                  log for them
    find-fat    flashbench -f, and small writes     another rate, or quicker small writes, where
                at the start and in the middle      the FAT is
    reads       reads in order
    burst       writes in order after a rest, from  they are quicker until a cache is full; what a
                two places                          unit costs depends on where they begin
    flush       small writes, with a flush behind   what a flush costs was only acknowledged before
                each and without
    depth       1, 2, 4 ... 32 requests in flight   more of them are quicker until all parts work
    logged      many small writes               how many a log takes, which only a fit uses
    rest        scattered writes, again, and after  they are quicker if the device cleans meanwhile
                10 s of rest
    fill        writes in order, up to half of the  slower from some place on: an SLC cache is full
                device; after rests                 quick again: it has been emptied
    trim        scattered writes, TRIM of all,      quicker afterwards; what is read
                scattered writes

The model's translation layers do nothing in a rest except cleaning and writing their cache out.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median
from typing import Sequence

from ...measurement.schema import Point, Scalar, each
from ...runs.program import Tool
from .structure import Draft, OUTRIGHT, Request, Seen, Test, traced

_KIB, _MIB = 1 << 10, 1 << 20
_S = 10**9
DEPTHS = (1, 2, 4, 8, 16, 32)
RESTS = (1 * _S, 10 * _S, 60 * _S)
_REST = 10 * _S         # of the test `rest`
_BURST_REST = 10 * _S   # writing a cache out may merge large units
_PLACES = 17
# From a multiple of MiB, so that no write of 64 KiB from there, or half of it further on, goes
# across multiples of 128, 192, 256 KiB ...
_INSIDE = 288 * _KIB
_FILL = 1 * _MIB        # bytes of a command of `fill`, and of `burst` below
_BURST = 32 * _KIB
LOGGED = 256            # writes of a point of `logged`
_EVEN = 16 * _KIB
_SHIFT = 43 * _BURST
_MOST_FILLED = 4 << 30
_MOST_REFILLED = 64 * _MIB
_SMALL = 4 * _KIB
_WIDE_PLACES = 13
_WIDE_STEP = 128 * _KIB     # the longest of these writes
_PUSHED_PLACES = 19
_FIRST_UNITS = 4    # at least, to tell which of them differ
_GRANULES = tuple(_KIB << i for i in range(6))
# A difference counts if it is this share.
_STANDS_OUT = 0.2
_LITTLE = 0.03
# It also counts with this share if it is so many times as much as equal writes differ by.
_LEAST_COST, _SPREADS = 0.003, 5
# A rate that differs by less than this factor is constant, and such rates may differ by little.
_CONSTANT, _STEP, _STEP_PARTS = 1.02, 1.1, 3
_BEHIND = 1.05      # times the rate of a burst: its first part ends behind its answer
# A stride that is no multiple of anything in the device: pages in a row come to all of its parts.
_ODD = 1009


def _apart(unit: int, capacity: int) -> int:
    """A stride for `_PLACES` requests: multiples of units and of MiB, as far apart as possible, but
    not so that all of them lie in the same way to units of 3, 5 or 7 x 2^n."""
    step = math.lcm(unit, _MIB)
    apart = max(1, capacity // ((_PLACES + 1) * step))
    while math.gcd(apart, 105) > 1:
        apart -= 1
    return step * apart


def scattered(unit: int, capacity: int, seen: Seen = OUTRIGHT) -> Test:
    """Writes of 512 bytes to 64 KiB at multiples of their size, and between them."""
    draft = Draft(capacity)
    stride = _apart(unit, capacity)
    for bs in (512 << i for i in range(8)):
        for start in (0, bs // 2)[:1 if bs < _KIB else 2]:
            # other units each time, and never the beginning of one
            turn = len(draft.keys) * max(1, stride // _MIB // 16) * _MIB
            draft.add("write", bs, turn + _INSIDE + start, stride, _PLACES, seen=seen, middle=True)
    return draft.test("scattered writes", merges=len(draft.requests))


def scattered_wide(capacity: int, seen: Seen = OUTRIGHT) -> Test:
    """Writes of four times 1 KiB to 32 KiB, at multiples, shifted by an eighth of their size, and
    at multiples again, which shows by how much equal writes differ.  Parts that work at the same
    time write one page more in the same time, but not a fifth one.
    They go where `burst` has written, because of a page that was never written a device reads
    nothing when a part of it is written."""
    draft = Draft(capacity)
    begin = capacity // 4 // _MIB * _MIB
    stride = max(1, min(32 * _MIB, capacity // 4) // _WIDE_STEP // 16) * _WIDE_STEP
    for granule in _GRANULES:
        for start in (0, granule // 2, 0):
            turn = len(draft.keys) * (stride // 16 // _WIDE_STEP) * _WIDE_STEP
            draft.add("write", 4 * granule, begin + turn + start, stride, _WIDE_PLACES, seen=seen,
                      middle=True)
    return draft.test("scattered writes of four", merges=len(draft.requests))


def scattered_behind(unit: int, cache: int, capacity: int) -> Test:
    """Writes of 32 KiB down to 2 KiB, each somewhere else, and as many of the same size in order as
    push them out of a cache that no flush empties: the device may take for small what it is asked
    for meanwhile, not what it was asked for then.  The large ones first: a log that is full merges
    what came long before."""
    draft = Draft(capacity)
    stride = _apart(unit, capacity)
    for bs in (32 * _KIB >> i for i in range(5)):
        turn = (len(draft.keys) + 1) * max(1, stride // _MIB // 16) * _MIB
        draft.add("write", bs, turn + _INSIDE, stride, _PUSHED_PLACES)
        draft.add("write", bs, capacity * 5 // 16 // unit * unit, bs, cache * 9 // 8 // bs + 1)
    return draft.test("scattered writes behind a cache", merges=3 * _PUSHED_PLACES)


def logged(bs: int, capacity: int, seen: Seen = OUTRIGHT) -> Test:
    """Small writes all over the device, three times `LOGGED`: a log that takes them is full at some
    time, and then they wait for merges.  Not for caches that have to be pushed empty."""
    draft = Draft(capacity)
    stride = max((capacity - 2 * _INSIDE) // (3 * LOGGED + 1) // _EVEN, 1) * _EVEN
    for n in range(3):
        draft.add("write", bs, _INSIDE + n * LOGGED * stride, stride, LOGGED, seen=seen)
    return draft.test("small writes, many", merges=LOGGED)


def find_fat(tool: Tool, unit: int, capacity: int) -> Test:
    """flashbench -f over 6 units, by commands from a unit down to its 64th part; then small writes
    all over the first unit, and over one in the middle."""
    units, chunk = 6, unit >> 6
    traces = traced(tool, f"flashbench-find-fat,erasesize={unit},bs={chunk},fat-nr={units}",
                    capacity)
    requests = [replace(r, key=r.key * units + r.offset // unit) for r in traces]
    keys: list[tuple[str, dict[str, Scalar]]] = [
        ("flashbench-find-fat", {"erasesize": unit, "units": units, "unit": n, "chunk": unit >> i})
        for i in range(7) for n in range(units)]
    middle = capacity // 2 // unit * unit
    draft = Draft(capacity)
    for start in (0, middle):
        # an odd number of small writes further each time, and never behind the end of the unit
        draft.add("write", _SMALL, start, (unit // _SMALL // 40 | 1) * _SMALL, 32)
    return Test("units at the start", (*requests, *(replace(r, key=r.key + len(keys))
                                                    for r in draft.requests)),
                (*keys, *draft.keys), merges=6 + len(draft.requests))


def reads(start: int, most: int) -> Test:
    """A region in order, by growing commands: 256 of them, but not more than `most` bytes."""
    sizes = {bs: min(256 * bs, most // bs * bs) for bs in (4 * _KIB << (2 * i) for i in range(5))}
    return Test("reads in order",
                tuple(Request("read", at, bs, key) for key, (bs, size) in enumerate(sizes.items())
                      for at in range(start, start + size, bs)),
                tuple(("seq-read", {"bs": bs, "size": size, "offset": start})
                      for bs, size in sizes.items()))


def _fill_parts(bs: int, start: int, idle: int, ends: Sequence[int],
                key: int = 0) -> tuple[list[Request], list[tuple[str, dict[str, Scalar]]]]:
    """A flush, a rest and writes in order; a point between each two of `ends`, which are bytes
    from `start` on."""
    requests = [Request("flush", 0, 0, -1)]
    if idle:
        requests.append(Request("rest", 0, idle, -1))
    keys: list[tuple[str, dict[str, Scalar]]] = []
    for after, end in zip((0, *ends), ends):
        requests += [Request("write", start + at, bs, key + len(keys))
                     for at in range(after, end, bs)]
        keys.append(("fill", {"bs": bs, "start": start, "idle": idle, "after": after,
                              "size": end - after}))
    return requests, keys


def burst(capacity: int, shifted: bool) -> Test:
    """After a rest up to 32 MiB in order, from a multiple of MiB, or from a place that is no
    multiple of any unit of 64 KiB or more.  4 MiB in front are written first, so that the burst
    continues what is open."""
    begin = capacity // 4 // _MIB * _MIB + (_SHIFT if shifted else 0)
    most = min(32 * _MIB, capacity // 4)
    ends = [n for n in sorted(base << i for i in range(9) for base in (4 * _BURST, 6 * _BURST))
            if n <= most]
    before = min(4 * _MIB, begin // _BURST * _BURST)
    warm, warm_keys = _fill_parts(_BURST, begin - before, 0, [before])
    requests, keys = _fill_parts(_BURST, begin, _BURST_REST, ends, len(warm_keys))
    name = "burst, shifted" if shifted else "burst"
    return Test(name, (*warm, *requests), (*warm_keys, *keys), merges=2)


def flushes(capacity: int) -> Test:
    """Small writes in order with a flush behind each, and then others without, for which there is
    room in a cache that was flushed."""
    start = capacity * 3 // 4 // _MIB * _MIB
    draft = Draft(capacity)
    draft.add("write", _SMALL, start, _SMALL, 32, seen=Seen(flush=True), middle=True)
    draft.add("write", _SMALL, start + 32 * _SMALL, _SMALL, 32, middle=True)
    return draft.test("flush", merges=1)


def depth(op: str, in_flight: int, capacity: int, unit: int) -> Test:
    """Reads of 4 KiB far apart, or writes of 64 KiB in order; other places for each depth."""
    draft = Draft(capacity)
    n = DEPTHS.index(in_flight)
    if op == "read":
        draft.add("read", _SMALL, n * 16 * _SMALL, _ODD * _SMALL, 128, depth=in_flight)
    else:
        begin = capacity * 5 // 8 // unit * unit
        draft.add("write", 64 * _KIB, begin + n * 8 * _MIB, 64 * _KIB, 128, depth=in_flight)
    return draft.test(f"{op}s, {in_flight} in flight", merges=2 * (op == "write"),
                      depth=in_flight)


def rest(capacity: int) -> Test:
    """Scattered writes of 16 KiB, twice, and once more after a rest."""
    draft = Draft(capacity)
    for n, idle in enumerate((0, 0, _REST)):
        draft.add("write", 16 * _KIB, n * 64 * _KIB, _ODD * 64 * _KIB, 128, idle=idle)
    return draft.test("rest", merges=len(draft.requests))


def fill_ends(capacity: int) -> list[int]:
    """How far `fill` writes, point by point: 8 MiB and always twice as far, to half of the device,
    and at most 4 GiB."""
    most = min(capacity // 2, _MOST_FILLED)
    return [8 * _MIB << i for i in range(20) if 8 * _MIB << i <= most]


def fill(capacity: int, n: int) -> Test:
    """Part `n` of `fill`; the parts follow each other."""
    ends = fill_ends(capacity)
    requests, keys = _fill_parts(_FILL, 0, _REST, ends)
    kept = [replace(r, key=0) for r in requests if r.key == n]
    before = [r for r in requests if r.key < 0] if n == 0 else []
    return Test(f"fill to {ends[n] // _MIB} MiB", (*before, *kept), (keys[n],))


def refill(capacity: int, size: int, idle: int) -> Test:
    """About the first `size` bytes after a rest, when `fill` has left the cache full."""
    size = min(size, _MOST_REFILLED, capacity // 8) // _FILL * _FILL or _FILL
    start = capacity // 2 // _FILL * _FILL + RESTS.index(idle) * size
    requests, keys = _fill_parts(_FILL, start, idle, [size])
    return Test(f"fill after {idle // _S} s", tuple(requests), tuple(keys))


def trim(capacity: int) -> Test:
    """Scattered writes, TRIM of everything, looks, and scattered writes again."""
    draft = Draft(capacity)
    chunk = min(64 * _MIB, capacity // 8 // _MIB * _MIB)
    draft.add("write", 16 * _KIB, 0, _ODD * 48 * _KIB, 128)
    draft.add("trim", chunk, 0, chunk, capacity // chunk)
    draft.add("read", 512, 0, _ODD * 48 * _KIB, 128, look=True)
    draft.add("write", 16 * _KIB, 16 * _KIB, _ODD * 48 * _KIB, 128)
    return draft.test("TRIM", merges=256, after="trim")


# --- what follows ---

def scattered_times(points: Sequence[Point]) -> dict[int, tuple[float, float | None]]:
    """For each size of `scattered`: ns of a write at a multiple of it, and of one between."""
    whole: dict[int, float] = {}
    between: dict[int, float] = {}
    for how, ns in each(points, "request", op="write", count=_PLACES):
        bs, start = int(how["bs"]), int(how["start"]) % _MIB - _INSIDE
        if start in (0, bs // 2) and int(how["stride"]) >= _MIB:
            (between if start else whole)[bs] = ns
    return {bs: (ns, between.get(bs)) for bs, ns in sorted(whole.items())}


def is_logged(p: Point) -> bool:
    """Whether it is a point of `logged`."""
    how = dict(p.parameters)
    return p.procedure == "request" and how["op"] == "write" and how["count"] == LOGGED \
        and "depth" not in how


def logged_bytes(points: Sequence[Point]) -> int:
    """Bytes that a log for small writes has taken before it was full, by `logged`; 0 without that.
    The device merges behind it, and then writes take more than twice as long."""
    series = [(p.value, LOGGED * int(dict(p.parameters)["bs"])) for p in points if is_logged(p)]
    slowest = max((ns for ns, _ in series), default=0.0)
    return sum(size for ns, size in series if ns < slowest / 2)


def granule_from(points: Sequence[Point]) -> int | None:
    """The granule of the map: the size for which a shift by half of it costs most more.  A small
    cost counts if smaller sizes have none: where pages are written at the same time, only what has
    to be read before shows.  None if no shift costs anything, as where each scattered write makes
    the device merge a unit."""
    costs = {bs: b / a - 1 for bs, (a, b) in scattered_times(points).items() if b is not None}
    most, bs = max(((cost, -bs) for bs, cost in costs.items()), default=(0.0, 0))
    others = [abs(cost) for other, cost in costs.items() if other < -bs]
    clear = most > _LITTLE and bool(others) and max(others) < most / 5
    return -bs if most > _STANDS_OUT or clear else None


def wide_granule_from(points: Sequence[Point]) -> int | None:
    """The granule by `scattered_wide`: the largest for which the shift costs something.  That is
    more than equal writes differ by, and than the shift seems to cost for larger ones."""
    equal: dict[int, list[float]] = {}
    shifted: dict[int, float] = {}
    for how, ns in each(points, "request", op="write", count=_WIDE_PLACES):
        granule = int(how["bs"]) // 4
        if int(how["stride"]) % _WIDE_STEP == 0 and int(how["start"]) % (4 * granule):
            shifted[granule] = ns
        elif int(how["stride"]) % _WIDE_STEP == 0:
            equal.setdefault(granule, []).append(ns)
    known = [g for g in _GRANULES if g in equal and g in shifted]
    if not known:
        return None
    # one alone does not say how much equal writes differ by
    spreads = {g: max(equal[g]) / min(equal[g]) - 1 if len(equal[g]) > 1 else _LITTLE / _SPREADS
               for g in known}
    spread = median(spreads.values())
    for g in reversed(known):
        # from the nearest of the equal ones
        cost = shifted[g] / min(max(shifted[g], min(equal[g])), max(equal[g])) - 1
        if cost > max(_SPREADS * spread, _LEAST_COST, spreads[g]):
            return g
        if cost < -max(_SPREADS * spread, _LEAST_COST):
            return None     # commands are cut, which hides what a shift costs
        spread = max(spread, abs(cost))
    return None


def small_write_from(points: Sequence[Point]) -> int | None:
    """The largest write that a log for small writes takes: one of twice the size takes five times
    as long, and at least 4 ms more, wherever it is, since a log that is full is slow as well.  The
    largest step counts."""
    times = {bs: (min(ns, between or ns), max(ns, between or ns))
             for bs, (ns, between) in scattered_times(points).items()}
    steps = {bs: times[2 * bs][0] / ns for bs, (_, ns) in times.items()
             if 2 * bs in times and times[2 * bs][0] > max(5 * ns, ns + 4e6)}
    return max(steps, key=lambda bs: steps[bs]) if steps else None


def small_write_behind(points: Sequence[Point], merge: float) -> int | None:
    """The same by `scattered_behind`: for twice the size most writes cost a merge of `merge` ns.
    The largest step counts, because larger writes may cost more merges."""
    every = list(each(points, "request"))
    sums = {int(one["bs"]): ns * int(one["count"]) + pushed_ns * int(push["count"])
            for (one, ns), (push, pushed_ns) in zip(every, every[1:])
            if one["op"] == "write" and one["count"] == _PUSHED_PLACES
            and push["bs"] == one["bs"] == push["stride"]}
    steps = {bs: sums[2 * bs] / ns for bs, ns in sums.items()
             if 2 * bs in sums and sums[2 * bs] - ns > _PUSHED_PLACES / 2 * merge}
    return max(steps, key=lambda bs: steps[bs]) if steps else None


def fat_gain(points: Sequence[Point]) -> float | None:
    """How many times as quick small writes are in the first unit as in the middle."""
    found = [(how["start"], ns) for how, ns in each(points, "request", op="write", bs=_SMALL,
                                                    count=32)
             if int(how["stride"]) < _MIB and "flush" not in how]
    return next((middle / first for (start, first), (_, middle) in zip(found, found[1:])
                 if start == 0), None)


def zone_from(points: Sequence[Point]) -> list[int]:
    """The units of find-fat whose rates differ from those of the others by a third.  The median of
    a unit counts: the first command to it may pay for what was open before."""
    logs: dict[int, list[float]] = {}
    for how, rate in each(points, "flashbench-find-fat"):
        if int(how["chunk"]) >= 64 * _KIB:
            logs.setdefault(int(how["unit"]), []).append(math.log(rate))
    middles = {unit: median(some) for unit, some in sorted(logs.items())}
    usual = median(middles.values()) if middles else 0.0
    odd = [unit for unit, middle in middles.items() if abs(middle - usual) > math.log(4 / 3)]
    return odd if len(middles) >= _FIRST_UNITS and len(odd) <= len(middles) // 2 else []


def _fills(points: Sequence[Point], bs: int) -> dict[int, list[tuple[int, int, float]]]:
    """For each start of `fill` after a rest: (after, size, bytes/s), in order."""
    found: dict[int, list[tuple[int, int, float]]] = {}
    for how, rate in each(points, "fill", bs=bs):
        if how["idle"]:
            found.setdefault(int(how["start"]), []).append(
                (int(how["after"]), int(how["size"]), rate))
    return {start: sorted(parts) for start, parts in found.items()}


def fills(points: Sequence[Point]) -> list[tuple[str, list[tuple[int, int, float]]]]:
    """A title and (after, size, bytes/s) of what shows a cache."""
    bursts = list(_fills(points, _BURST).values())
    named = list(zip(("Burst after a rest", "Burst after a rest, from another place"), bursts))
    whole = _fills(points, _FILL).get(0, [])
    return [(title, parts) for title, parts in [*named, ("Half of the device in order", whole)]
            if len(parts) > 1]


_Parts = Sequence[tuple[int, int, float]]


def knee(parts: _Parts, others: _Parts = ()) -> tuple[int, float, float] | None:
    """How many bytes are written at the first rate before a second one, and both rates; None if the
    rate does not fall by a third, or by less from one constant rate to another.  The part in which
    it falls is divided so that both rates give its time.  `others` are the parts of the same burst
    from another place, which may merge less behind the knee."""
    for k in range(1, len(parts) - 1):
        mean, slow = _mean_rate(parts[:k]), _mean_rate(parts[k + 1:])
        after, size, rate = parts[k]
        falls = slow < mean / 1.5 and rate < mean / 1.1 and \
            all(r < mean / 1.3 for _, _, r in parts[k + 1:])
        # a cache may still hold something when a burst begins, so its first part may be slower
        fast = median(r for _, _, r in parts[:k])
        if falls or _is_step(parts, k):
            # the part in which it falls may be partly quick; what comes next may be slower because
            # of merges, but not quicker
            least = max(r for some in (parts, others) for _, _, r in some[k + 1:k + 4]
                        if some is parts or r * _STEP < fast)
            share = min(max((1 / least - 1 / rate) / (1 / least - 1 / fast), 0.0), 1.0)
            return after + round(size * share), fast, slow
    return None


def _mean_rate(parts: Sequence[tuple[int, int, float]]) -> float:
    """Bytes a second of all parts together."""
    return sum(size for _, size, _ in parts) / sum(size / rate for _, size, rate in parts)


def _is_step(parts: Sequence[tuple[int, int, float]], k: int) -> bool:
    """Whether the rate is constant before part `k`, and constant and lower behind it."""
    before, behind = ([rate for _, _, rate in some] for some in (parts[:k], parts[k + 1:]))
    return min(len(before), len(behind)) >= _STEP_PARTS and \
        max(before) < _CONSTANT * min(before) and max(behind) < _CONSTANT * min(behind) and \
        max(behind) * _STEP < min(before) and parts[k][2] < min(before)


def cache_from(points: Sequence[Point]) -> tuple[int, float, float] | None:
    """Bytes that the device takes quickly after a rest, and the rates before and behind; None if
    that depends on where the writes begin, because then they are the rest of a unit."""
    bursts = list(_fills(points, _BURST).values())
    knees = [knee(parts, others) for parts, others in zip(bursts, reversed(bursts))]
    both = [found for found in knees if found]
    if len(both) < 2 or len(both) < len(knees):
        return None
    least, most = min(k[0] for k in both), max(k[0] for k in both)
    # a merge in the part in which the rate falls makes it less
    return max(both) if most < 1.3 * least else None


def has_cache(points: Sequence[Point]) -> bool:
    """Whether writes in order are quick until a write cache, an SLC cache, or what else there may
    be is full."""
    return cache_from(points) is not None or slc_from(points) is not None


def is_burst(p: Point) -> bool:
    """Whether it is a point of `burst`."""
    return p.procedure == "fill" and dict(p.parameters)["bs"] == _BURST


def flush_cost(points: Sequence[Point]) -> tuple[float, float] | None:
    """ns of a small write, and of one with a flush behind; they are next to each other."""
    small = [(int(how["start"]), bool(how.get("flush")), ns) for how, ns in each(
        points, "request", op="write", bs=_SMALL, stride=_SMALL, count=32) if int(how["start"]) > 0]
    return next(((without, ns) for start, flush, ns in small for other, too, without in small
                 if flush and not too and abs(start - other) == 32 * _SMALL), None)


def flush_matters(points: Sequence[Point]) -> bool:
    """Whether a flush takes a fifth of the time of a small write, or more."""
    cost = flush_cost(points)
    return cost is not None and cost[1] > (1 + _STANDS_OUT) * cost[0]


def writes_behind(points: Sequence[Point]) -> bool:
    """Whether the first part of each burst is quicker than all others of its size, because the
    answers to the last writes before a rest came before these had ended."""
    bursts = list(_fills(points, _BURST).values())
    equal = [[rate for _, size, rate in parts if size == parts[0][1]] for parts in bursts]
    return bool(equal) and all(len(rates) > 1 and rates[0] > _BEHIND * max(rates[1:])
                               for rates in equal)


def depth_times(points: Sequence[Point], op: str) -> dict[int, float]:
    """ns of a request by how many are in flight."""
    bs = _SMALL if op == "read" else 64 * _KIB
    return {int(how.get("depth", 1)): ns
            for how, ns in each(points, "request", op=op, count=128, bs=bs)}


def depth_from(points: Sequence[Point], op: str) -> tuple[int, float] | None:
    """How many requests in flight are enough, and how many times as quick they are as one; (1, 1)
    if more of them gain nothing.  None without such a test."""
    times = depth_times(points, op)
    if len(times) < 2 or 1 not in times:
        return None
    best = min(times.values())
    if times[1] < (1 + _STANDS_OUT) * best:
        return 1, 1.0
    return min(n for n, ns in times.items() if ns < 1.05 * best), times[1] / best


def rest_gain(points: Sequence[Point]) -> float | None:
    """How many times as quick scattered writes are after a rest as without one."""
    found = list(each(points, "request", op="write", bs=16 * _KIB, count=128,
                      stride=_ODD * 64 * _KIB))
    without, rested = ([ns for how, ns in found if ("idle" in how) == idle]
                       for idle in (False, True))
    return without[-1] / rested[-1] if without and rested else None


def slc_from(points: Sequence[Point]) -> tuple[int, float, float] | None:
    """Bytes that are written quickly before the device becomes slower, and both rates; None if that
    is no more than its write cache explains."""
    found, cache = knee(_fills(points, _FILL).get(0, [])), cache_from(points)
    return found if found and (cache is None or found[0] > 2 * cache[0]) else None


def slowed(points: Sequence[Point]) -> bool:
    """Whether `fill` need not go on: two parts in a row had less than two thirds of the rate of
    the first one."""
    parts = _fills(points, _FILL).get(0, [])
    return len(parts) > 2 and all(rate < parts[0][2] / 1.5 for _, _, rate in parts[-2:])


def recovered_from(points: Sequence[Point]) -> list[tuple[int, float]]:
    """(ns of rest, bytes/s afterwards) of `refill`."""
    return sorted((int(how["idle"]), rate) for how, rate in each(points, "fill", bs=_FILL)
                  if how["start"] != 0)


def trim_gain(points: Sequence[Point]) -> float | None:
    """How many times as quick scattered writes are after TRIM of everything as before."""
    found = [ns for _, ns in each(points, "request", op="write", bs=16 * _KIB, count=128,
                                  stride=_ODD * 48 * _KIB)]
    return found[0] / found[-1] if len(found) > 1 else None


def trim_reads(points: Sequence[Point]) -> str | None:
    """What most reads have found after TRIM: "zeros", "ones", "same" (the old data), ..."""
    found = [(count, str(how["found"])) for how, count in each(points, "content", after="trim")]
    return max(found)[1] if found else None
