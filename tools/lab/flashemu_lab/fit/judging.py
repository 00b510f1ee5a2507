# SPDX-License-Identifier: BSD-3-Clause
"""Rivals of a fit, judged by the whole conversation of a probe.

A search minimises the errors of points.  They leave out what is not compared, and are medians and
rates of whole tests, so a wrong structure may have a smaller error than the right one.  The rivals
that a search has at its end replay everything that the device was asked (`flashemu replay
--against`).  The right one, with the right times, would score exactly 0, and the least score is
chosen.
"""

from __future__ import annotations

import json
import math
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from ..core.errors import LabError
from ..runs.program import Tool
from .compare import base
from .search import Fit


@dataclass(frozen=True)
class Rival:
    """A fit, and how near it comes to the conversation: the score, infinite if it makes no device,
    and the kind of request that it is farthest off at, with the error there."""

    fit: Fit
    score: float
    worst: str
    error: float


class Conversation:
    """What was said to the device, in a trace with times; several threads replay it."""

    def __init__(self, tool: Tool, trace: Path, jobs: int) -> None:
        self._tool = tool
        self._trace = trace
        self._jobs = jobs

    def judge(self, fits: Sequence[Fit]) -> list[Rival]:
        """Fits of different structures, the nearest one first; LabError if the trace cannot be
        replayed on any of them."""
        with tempfile.TemporaryDirectory(prefix="flashemu-fit-") as folder, \
                ThreadPoolExecutor(self._jobs) as threads:
            for strategy in {f.strategy for f in fits}:
                base(Path(folder), strategy)    # before threads look for it
            found = list(threads.map(lambda f: self._one(Path(folder), f), fits))
        if all(math.isinf(r.score) for r in found):
            raise LabError(found[0].worst)
        return sorted(found, key=lambda r: (r.score, r.fit.error))

    def _one(self, folder: Path, fit: Fit) -> Rival:
        try:
            o = json.loads(self._tool.ask(
                "replay", base(folder, fit.strategy), *fit.question().changes, "--against",
                str(self._trace), "--json"))
        except LabError as e:
            return Rival(fit, math.inf, str(e), math.inf)
        return Rival(fit, float(o["score"]), o["worst"]["kind"], float(o["worst"]["error"]))
