# SPDX-License-Identifier: BSD-3-Clause
"""Rivals of a fit, judged by the whole conversation of a probe.

A search minimises the errors of points.  They leave out what is not compared, and are medians and
rates of whole tests, so a wrong structure may have a smaller error than the right one.  The rivals
that a search has at its end replay everything that the device was asked (`flashemu replay
--against`).  The right one, with the right times, would score exactly 0, and the least score is
chosen.  From there small steps of the structure and of the times lower it further.
"""

from __future__ import annotations

import json
import math
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable, Sequence

from ..core.errors import LabError
from ..runs.program import Tool
from .compare import base
from .search import Fit

# How far the steps of a time go, as natural logarithms, and how often all steps are tried at most.
# A round that leaves more than this share of the score is the last one.
_STEPS, _ROUNDS, _BETTER = (-0.3, 0.3, -0.08, 0.08, -0.02, 0.02), 4, 0.99
# The steps of a time that may be 0, once small ones have ended.
_FAR_STEPS = (-4.0, 4.0, -2.0, 2.0, -1.0, 1.0)
# How often one may leap, and how many times as much as before one may score at first.
_LEAPS, _FAR = 3, 2.0


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
        found = sorted(self._judged(fits), key=lambda r: (r.score, r.fit.error))
        if math.isinf(found[0].score):
            raise LabError(found[0].worst)
        return found

    def _judged(self, fits: Sequence[Fit]) -> list[Rival]:
        with tempfile.TemporaryDirectory(prefix="flashemu-fit-") as folder, \
                ThreadPoolExecutor(self._jobs) as threads:
            for strategy in {f.strategy for f in fits}:
                base(Path(folder), strategy)    # before threads look for it
            return list(threads.map(lambda f: self._one(Path(folder), f), fits))

    def nearer(self, rival: Rival, moves: Sequence[Callable[[Fit], Sequence[Fit]]],
               leap: Callable[[Fit], Sequence[Fit]] = lambda f: ()) -> Rival:
        """What small steps lead to, each of which lowers the score: the best of the structures that
        each of these moves gives, or one time that is longer or shorter.  Where they end, times
        that no point needed are looked for far off, and what a leap gives gets times of its own."""
        rival = self._sought(self._walked(rival, moves))
        for _ in range(_LEAPS):
            near = [r for r in self._judged(leap(rival.fit)) if r.score < _FAR * rival.score]
            found = min(map(self._timed, near), key=lambda r: r.score, default=None)
            found = found and self._walked(found, [])
            if not found or found.score > _BETTER * rival.score:
                break
            rival = self._sought(self._walked(found, moves))
        return rival

    def _walked(self, rival: Rival, moves: Sequence[Callable[[Fit], Sequence[Fit]]]) -> Rival:
        for _ in range(_ROUNDS):
            before = rival.score
            for move in moves:
                rival = self._step(rival, move(rival.fit))
            rival = self._timed(rival)
            if rival.score > _BETTER * before:
                break
        return rival

    def _timed(self, rival: Rival) -> Rival:
        for k in range(len(rival.fit.x)):
            rival = self._step(rival, _at(rival.fit, k, [rival.fit.x[k] + step for step in _STEPS]))
        return rival

    def _sought(self, rival: Rival) -> Rival:
        """Without one of the times that may be 0, or with a far longer or shorter one, if the
        conversation clearly tells it: what it hardly speaks about does harm in other work."""
        for k, t in enumerate(rival.fit.known):
            if t.zero:
                rival = self._step(rival, _at(rival.fit, k, [0.0]))
                far = self._step(rival, _at(rival.fit, k, [
                    rival.fit.x[k] + step for step in _FAR_STEPS]))
                rival = far if far.score < _BETTER * rival.score else rival
        return rival

    def _step(self, rival: Rival, fits: Sequence[Fit]) -> Rival:
        return min([rival, *self._judged(fits)], key=lambda r: r.score)

    def _one(self, folder: Path, fit: Fit) -> Rival:
        try:
            o = json.loads(self._tool.ask(
                "replay", base(folder, fit.strategy), *fit.question().changes, "--against",
                str(self._trace), "--json"))
        except LabError as e:
            return Rival(fit, math.inf, str(e), math.inf)
        return Rival(fit, float(o["score"]), o["worst"]["kind"], float(o["worst"]["error"]))


def _at(fit: Fit, k: int, places: Sequence[float]) -> list[Fit]:
    """The fit with time number k at each of these places, as far as they are inside its bounds."""
    low, high = fit.known[k].bounds
    return [replace(fit, x=(*fit.x[:k], x, *fit.x[k + 1:]), error=math.inf)
            for x in places if low <= x <= high]
