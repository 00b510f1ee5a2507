# SPDX-License-Identifier: BSD-3-Clause
"""What theory says about a run.

uniform-writes: the write amplification of a page-mapped device that is overwritten at random,
with b pages in a block, and alpha = physical pages / logical pages.  The gc_reserve blocks that
are free or open whenever a victim is chosen do not count as physical pages.

    random      A = alpha / (alpha - 1)
    fifo        A = 1 / (1 - exp(-alpha / A))                          (Menon, Desnoyers)
    greedy      A = fifo(k alpha) / k,  k = 1 + 1 / 2b                 (Desnoyers)
    d-choices   s(b+1) = 0, s(i) = s(i+1) + c (1 - s(i)^d) / i, and c so that sum s(i) = b / alpha;
                A = b / (b - sum s(i)^d)

There is none for cost-benefit.
"""

from __future__ import annotations

import math
from typing import Callable

from ..core.units import quantity


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses zero."""
    for _ in range(80):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def fifo(alpha: float) -> float:
    """The write amplification of cleaning the oldest block."""
    return _root(lambda a: 1 / -math.expm1(-alpha / a) - a, 1.0001, 1000)


def greedy(alpha: float, b: int) -> float:
    """The write amplification of cleaning the block with the fewest valid pages."""
    k = 1 + 1 / (2 * b)
    return fifo(k * alpha) / k


def d_choices(alpha: float, b: int, d: int) -> float:
    """The write amplification of cleaning the best of d random blocks."""
    def sums(c: float) -> tuple[float, float]:
        s = plain = powers = 0.0
        for i in range(b, 0, -1):
            last = s
            s = _root(lambda x: last + c * (1 - x**d) / i - x, last, 1)
            plain += s
            powers += s**d
        return plain, powers
    c = _root(lambda x: b / alpha - sums(x)[0], 0, b)
    return b / (b - sums(c)[1])


def uniform_writes(profile: dict[str, str]) -> float | None:
    """The law for a profile as measure.parse_profile gives it; None where there is no theory."""
    def value(key: str) -> float:
        return quantity(profile.get(key, "")) or 0.0

    if profile.get("ftl.type") != "page":
        return None
    blocks = math.prod(value("nand." + k) for k in (
        "channels", "dies_per_channel", "planes_per_die", "blocks_per_plane"))
    b = int(value("nand.pages_per_block"))
    alpha = (1 + value("ftl.op")) * (1 - value("ftl.gc_reserve") / blocks)
    if alpha <= 1:
        return None
    policy = profile.get("ftl.gc_policy")
    if policy == "random":
        return alpha / (alpha - 1)
    if policy == "fifo":
        return fifo(alpha)
    if policy == "greedy":
        return greedy(alpha, b)
    if policy == "d-choices":
        return d_choices(alpha, b, int(value("ftl.gc_d")))
    return None


def predict(law: str, profile: dict[str, str]) -> float | None:
    """What the law says about a run with this profile."""
    assert law == "uniform-writes"
    return uniform_writes(profile)
