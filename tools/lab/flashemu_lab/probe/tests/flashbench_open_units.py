# SPDX-License-Identifier: BSD-3-Clause
"""flashbench -O: how many units a device keeps open.

One unit too many, and each of them is merged.  `open_units` finds the same with fewer writes, where
the unit is known.  Where none shows, `probe` asks this as well.
"""

from __future__ import annotations

import math
from typing import Mapping, Sequence

from ...measurement.schema import Point, Scalar, each
from ...runs.program import Tool
from .structure import Test, traced

_LONGEST_WHOLE = 120 << 10  # bytes that also a reader with short transfers sends as one command


def open_units(tool: Tool, unit: int, units: int, in_random_order: bool, capacity: int) -> Test:
    """flashbench -O with this many units, by commands from a unit down to its 64th part."""
    chunk = unit >> 6
    spec = (f"flashbench-open-au,erasesize={unit},bs={chunk},open-au-nr={units},"
            f"random={'yes' if in_random_order else 'no'}")
    requests = traced(tool, spec, capacity)
    keys: list[tuple[str, dict[str, Scalar]]] = [
        ("flashbench-open-au", {"erasesize": unit, "open": units, "random": in_random_order,
                                "chunk": unit >> i}) for i in range(7)]
    order = "random" if in_random_order else "in order"
    return Test(f"{units} open units, {order}", requests, tuple(keys))


def rows(points: Sequence[Point], in_random_order: bool) -> dict[int, dict[int, float]]:
    """The rates of -O by the number of open units and the size of the command."""
    found: dict[int, dict[int, float]] = {}
    for how, rate in each(points, "flashbench-open-au", random=in_random_order):
        found.setdefault(int(how["open"]), {})[int(how["chunk"])] = rate
    return found


def _means(points: Sequence[Point], in_random_order: bool, longest: int) -> dict[int, float]:
    """The geometric mean of the rates of -O for each number of open units, by commands of up to
    this many bytes."""
    logs = {units: [math.log(rate) for chunk, rate in row.items() if chunk <= longest]
            for units, row in rows(points, in_random_order).items()}
    return {units: math.exp(sum(some) / len(some)) for units, some in logs.items() if some}


def _fall(means: Mapping[int, float]) -> int | None:
    """The first N for which N + 1 units have less than 4/5 of the mean rate, and for N = 1 less
    than half of it; `flashemu verify` has the same rule."""
    for units in sorted(means):
        if units + 1 in means and means[units + 1] < means[units] * (0.5 if units == 1 else 0.8):
            return units
    return None


def _step(means: Mapping[int, float]) -> int | None:
    """The first N > 1 for which N + 1 and N + 2 units have less than 14/15 of the mean rate, while
    fewer than N have the same rate: beyond N, a device may keep units open in another, slower
    way."""
    for units in sorted(means):
        later = [means.get(units + 1), means.get(units + 2)]
        before = [means[n] for n in means if 1 < n < units]
        if units > 1 and all(m is not None and m < means[units] * 14 / 15 for m in later) and \
                all(abs(m / means[units] - 1) < 1 / 30 for m in before):
            return units
    return None


def limits(points: Sequence[Point], in_random_order: bool) -> list[int | None]:
    """How many units may be open, by all commands, and in order also by those that are sent as one;
    None where there is no limit so far.  A small step counts if nothing else changes.  The limit is
    0 in random order if one unit is slow already.

    A host cuts a long command, and most readers transfer up to 120 KiB.  If the parts end inside
    pages, the device does not see writes in order, and long commands show how many units it keeps
    open in random order."""
    means = _means(points, in_random_order, 1 << 62)
    if in_random_order:
        return [0 if _is_slow_alone(points) else _fall(means)]
    return [_step(m) or _fall(m) for m in (means, _means(points, False, _LONGEST_WHOLE))]


def _is_slow_alone(points: Sequence[Point]) -> bool:
    """Whether one unit in random order has less than half of the rate in order, and the rate falls
    with the size of commands: each command costs a merge, not only the unit as a whole."""
    in_order, in_random = (rows(points, order).get(1, {}) for order in (False, True))
    both = [chunk for chunk in in_random if chunk in in_order]
    if not both:
        return False
    logs = [math.log(in_random[chunk] / in_order[chunk]) for chunk in both]
    return math.exp(sum(logs) / len(logs)) < 0.5 and (
        len(both) < 2 or in_random[min(both)] < max(in_random.values()) / 4)


def limit_from(points: Sequence[Point], in_random_order: bool) -> int | None:
    """The largest of `limits`; None if there is none so far."""
    return max((n for n in limits(points, in_random_order) if n is not None), default=None)
