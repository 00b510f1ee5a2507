# SPDX-License-Identifier: BSD-3-Clause
"""From which shipped device a fit has the numbers about which no point speaks.

A fit assumes what most cards have, such as as many units open in random order as in order.  That is
no measurement, and people should see whose habit it is.  So all shipped devices with the same map
are compared with the measurement, the nearest one first, and the first of them that has the same
value is named.  If none has it, nobody is named.
"""

from __future__ import annotations

from ..core.units import quantity
from ..measurement.schema import Measurement
from ..runs.program import Tool
from .cards import Card, shipped
from .compare import Comparer, affordable
from .fit_result import untold
from .fitting import Fitted
from .relatives import Search

# Tests that took the device longer are left out of this comparison, in seconds.
_SECONDS = 100.0


def name_devices(tool: Tool, m: Measurement, f: Fitted, jobs: int,
                 whole: Measurement | None = None) -> None:
    """Sets `f.taken`; `f.speaks` must be known.  `whole` is as for `fitting.fit`."""
    keys = {key: value for key, value in f.keys().items() if untold(f, m, key)}
    if not keys:
        return
    near = _nearest(tool, m, f.structure.strategy, jobs, whole)
    for key, value in keys.items():
        name = next((c.relative for c in near if _same(c.keys().get(key, ""), value)), "")
        if name:
            f.taken[key] = name


def _nearest(tool: Tool, m: Measurement, strategy: str, jobs: int,
             whole: Measurement | None) -> list[Card]:
    """The shipped devices with this strategy, the nearest one first."""
    cards = [c for c in shipped(tool, m.capacity, True) if c.strategy == strategy]
    with Comparer(tool, m, jobs, whole=whole) as comparer:
        search = Search(comparer, m, affordable(m, _SECONDS))
        search.left = len(cards)
        return sorted(search.judge(cards), key=lambda c: c.error)


def _same(one: str, other: str) -> bool:
    value = quantity(one)
    return one == other or (value is not None and value == quantity(other))
