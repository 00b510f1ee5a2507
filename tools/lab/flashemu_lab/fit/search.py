# SPDX-License-Identifier: BSD-3-Clause
"""The search for the structure and the times that come nearest to a measurement.

    candidates   each from its own start: bounded least squares for the times, all with the same
                 number of comparisons
    structure    some of them climb: one thing is changed at a time, or what another climb has is
                 taken over, and what makes the error smaller is kept, at once if it does so by
                 much; then the times again.  A climb can be left and gone on with, so that all of
                 them get a little, and the best more
    the rest     CMA-ES over times and whole numbers together, with margins, so that a whole number
                 does not get stuck

Errors are logarithmic: twice as fast is as wrong as half as fast.  A model cannot have some points
of a real device, whatever its numbers.  So an error counts less and less beyond a knee, and a
search finds what is right for most points, instead of what is less wrong for the others:

    counts   |            . --- `
             |       . `              K ln(1 + error / K)
             |   . `
             | .`
             +------|------------------  error
                    K

The typical error is the one that counts as much as the mean of all points.  Each kind of test has
the weight of the square root of its number of points.  Least squares see errors through a soft
threshold for the same reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Callable, Sequence

import numpy as np

from ..core.errors import LabError
from ..measurement.schema import Measurement, Point
from ..probe.tests.behaviour import is_logged
from .compare import SLOWER, Answer, Comparer, device_ns, log_errors, requests_ns
from .model import (LEAST_LOG, Structure, Time, as_in_order, exchanged, joined, neighbours,
                    other_pages, price, profile_keys, times_of)
from .moves import (BETTER, KNEE, MISSING, SOFT, Candidate, Mover, Stopped, counted, typical)
from .rows_in_order import shows_random_order, told_limit
from .rules import first_times

# Of how many better structures the changes are tried together.
_TOGETHER = 4
# Of the error: who finds something better than this looks no further at once.
_MUCH_BETTER = 0.985
# What may be missed, as a share of what was, if a time becomes 0.
_HARDLY = 1.002


@dataclass(frozen=True)
class Fit(Candidate):
    """A set of parameters and its typical error: the |ln(model / measured)| that counts as much as
    the weighted mean of all points does."""

    structure: Structure
    x: tuple[float, ...]
    error: float

    def values(self) -> list[float]:
        """The times in their units."""
        return [t.from_x(x) for t, x in zip(self.known, self.x)]

    @property
    def known(self) -> tuple[Time, ...]:
        return times_of(self.structure)

    @property
    def form(self) -> Structure:
        return self.structure

    @property
    def strategy(self) -> str:
        return self.structure.strategy

    def keys(self) -> dict[str, str]:
        return profile_keys(self.structure, self.values())


# The whole numbers that move by chance.
NUMBERS = ("open_linear", "open_random", "small_log", "scattered")


def start(s: Structure, values: Sequence[float]) -> Fit:
    """A fit that nobody has compared yet."""
    x = tuple(float(np.clip(t.to_x(v), *t.bounds)) for t, v in zip(times_of(s), values))
    return Fit(s, x, math.inf)


def repaged(fit: Fit) -> list[Fit]:
    """Larger and smaller pages, of which a part stays as large.  A byte is copied in the same time,
    and a program takes as long for each byte, or as long as it did: then one of a part shows how
    long, and the page how much is programmed side by side."""
    found = []
    for s in other_pages(fit.structure):
        for scaled in (("ftl.copy_page", "nand.tPROG"), ("ftl.copy_page",)):
            values = [v * s.page / fit.structure.page if t.key in scaled else v
                      for t, v in zip(fit.known, fit.values())]
            found.append(start(s, values))
    return found


def kind(p: Point) -> str:
    """The test that a point belongs to, as pages and weights name it."""
    how = dict(p.parameters)
    if p.procedure == "flashbench-open-au":
        return "open units in random order" if how["random"] else "open units in order"
    if p.procedure == "flashbench-align":
        return "reads across multiples (-a)"
    if p.procedure == "flashbench-find-fat":
        return "the first units (-f)"
    if is_logged(p):
        return "many small writes"
    if p.procedure == "request":
        return "single reads" if how["op"] == "read" else "single writes"
    if p.procedure == "seq-write" and int(how["bs"]) & (int(how["bs"]) - 1):
        return "writes that end inside pages"
    return "rates in order"


def weights_of(m: Measurement, answer: Answer, left: Sequence[int] = ()) -> list[float]:
    """Of the points that the model can have, those of each kind of test together as much as the
    square root of their number; 0 for the others and for `left`.  One unit in order is a kind by
    itself if no other test wrote units from their begin to their end: it is what a single stream
    does, and few of the points of -O."""
    there = [got is not None and i not in set(left) for i, got in enumerate(answer.measured)]
    streams = any(p.procedure == "flashbench-find-fat" for p in m.points)
    kinds = ["one unit in order" if _is_one_unit(p) and not streams else kind(p)
             for p in m.points]
    counts: dict[str, int] = {}
    for name, is_there in zip(kinds, there):
        counts[name] = counts.get(name, 0) + is_there
    return [1 / math.sqrt(counts[name]) if is_there else 0.0
            for name, is_there in zip(kinds, there)]


def _is_one_unit(p: Point) -> bool:
    """Whether -O wrote one unit in order."""
    how = dict(p.parameters)
    return how.get("open") == 1 and not how["random"]


class Search(Mover[Fit, Structure]):
    """One measurement, the weights of its points, which of them not even a device does (`left`),
    and what is left of a budget of comparisons."""

    def __init__(self, comparer: Comparer, m: Measurement, weights: Sequence[float],
                 told: Callable[[float], None] = lambda error: None,
                 left: Sequence[int] = ()) -> None:
        super().__init__(told)
        self._undone = tuple(left)
        self._comparer = comparer
        self._m = m
        self._weights = np.array(weights)
        self._points = tuple(i for i, w in enumerate(weights) if w > 0)
        self._total = float(self._weights.sum())
        here = [m.points[i] for i in self._points]
        self._time = int(SLOWER * (sum(map(device_ns, here)) + requests_ns(here))) or None
        self.assumes = not shows_random_order(m.points)
        self._limited = told_limit(m.points) is not None
        self.scale = SOFT * math.sqrt(self._total / max(len(self._points), 1))
        if not self._points:
            raise LabError("no point of the measurement can be compared with a model; see "
                           "flashemu-measurement(5)")

    def near(self, s: Structure, others: Sequence[Structure] = ()) -> list[Structure]:
        """These others and the neighbours of a structure, each once and without itself.  What the
        measurement does not show is as it is assumed.  Tests in order do not show how large units
        are, because larger ones with quicker copies do the same, nor how they are grouped, nor when
        they are merged in random order.  A limit that is told stays: errors far beyond the knee
        count much alike, so a search cannot tell it from the next number."""
        every = [*others, *neighbours(s)]
        if self.assumes:
            every = [as_in_order(n if s.spills else replace(n, random_log=s.random_log), s.spills)
                     for n in every if (n.unit, n.group) == (s.unit, s.group)]
        if self._limited:
            every = [n for n in every if n.open_linear == s.open_linear]
        return [n for n in dict.fromkeys(every) if n != s]

    def _near(self, one: Fit, others: Sequence[Structure] = ()) -> list[Structure]:
        return self.near(one.structure, [n for other in others
                                         for n in exchanged(one.structure, other)])

    def _assumed(self, s: Structure, spills: bool) -> Structure:
        return as_in_order(s, spills) if self.assumes else s

    def _ask(self, fits: Sequence[Fit], bound: float | None) -> list[Answer]:
        needed = price(f.structure for f in fits)
        if self.left < needed:
            raise Stopped
        self.left -= needed
        limit = None if bound is None or math.isinf(bound) else \
            float(counted(bound)) * self._total
        return self._comparer.ask([
            replace(f.question(), points=self._points, weights=tuple(self._weights), bound=limit,
                    time=self._time, knee=KNEE, left=self._undone) for f in fits])

    def _typical(self, answer: Answer) -> float:
        if answer.state != "done":
            return math.inf
        missing = sum(self._weights[i] for i in self._points if answer.measured[i] is None)
        return typical(float(answer.total + counted(MISSING) * missing) / self._total)

    def judge(self, fits: Sequence[Fit], bound: float | None = None) -> list[Fit]:
        """The fits with their errors; infinity if it exceeds the bound or there is no such
        device."""
        answers = self._ask(fits, bound)
        found = [replace(f, error=self._typical(a)) for f, a in zip(fits, answers)]
        self.note(*(f.error for f in found))
        return found

    def residuals(self, fits: Sequence[Fit]) -> list[Any]:
        """For each fit an array: the weighted logarithmic error of each point that counts; a large
        one where the model has none."""
        scale = np.sqrt(self._weights[list(self._points)])
        found = []
        for answer in self._ask(fits, None):
            errors = log_errors(answer, self._m) if answer.state == "done" else []
            if not errors:
                found.append(scale * MISSING)
                continue
            found.append(scale * np.array([MISSING if errors[i] is None else errors[i]
                                           for i in self._points], dtype=float))
        return found

    def sharpened(self, fit: Fit) -> Fit:
        """Times that meet more of the points, whatever that costs at those that they do not meet.
        A model that cannot have some points is bent by them otherwise until it has none."""
        self._descent.slopes = None
        try:
            for _ in range(2):
                fit = self._descend(fit, sharply=True)
        except Stopped as stopped:
            fit = stopped.best if stopped.best else fit
        return fit

    def without(self, fit: Fit) -> Fit:
        """The same without the times that no point needs: of those that may be 0, one after the
        other becomes 0, as long as hardly more is missed.  A search leaves such a time at any
        value, which does no harm at these points, and a lot in other work."""
        try:
            most = self._missed(self.residuals([fit])[0]) * _HARDLY
            while True:
                fewer = [replace(fit, x=(*fit.x[:k], 0.0, *fit.x[k + 1:]))
                         for k, t in enumerate(times_of(fit.structure)) if t.zero and fit.x[k] > 0]
                every = self.residuals(fewer)
                missed = [self._missed(r) for r in every]
                if min(missed, default=math.inf) > most:
                    return fit
                least = missed.index(min(missed))
                fit = replace(fewer[least], error=self.error(fit, every[least]))
        except Stopped:
            return fit

    def error(self, one: Fit, residuals: Any) -> float:
        weights = self._weights[list(self._points)]
        errors = residuals / np.sqrt(weights)
        return typical(float((counted(errors) * weights).sum()) / self._total)

    def _missed(self, residuals: Any) -> float:
        """What `sharpened` makes less: beyond some percent an error hardly counts for more."""
        weights = self._weights[list(self._points)]
        return float((weights * np.log1p((residuals / np.sqrt(weights) / SOFT) ** 2)).sum())

    def _first_better(self, fit: Fit, near: list[Structure], tried: set[Any]) -> Fit | None:
        """The best of the neighbours with these times, if it is better by some permille; but the
        first ones that are much better are enough.  Several at a time; each of them is given up as
        soon as it is worse.  What several of them have changed for the better is tried together."""
        better: list[Fit] = []  # the best one first
        at = 0
        while at < len(near):
            some = near[at:at + min(8, max(self.left, 1))]
            at += len(some)
            bound = (better[0] if better else fit).error * BETTER
            try:
                found = self.judge([self.moved(fit, n) for n in some], bound)
            except Stopped:
                raise Stopped(better[0] if better else None) from None
            tried.update(some)
            better = sorted([*better, *(f for f in found if f.error < bound)],
                            key=lambda f: f.error)
            if better and better[0].error < _MUCH_BETTER * fit.error:
                break
        return self._together(fit, better, tried) if better else None

    def _together(self, fit: Fit, better: Sequence[Fit], tried: set[Any]) -> Fit:
        """The first of these, or what it becomes with the changes of the next ones as well."""
        best = better[0]
        for other in better[1:_TOGETHER]:
            both = joined(fit.structure, best.structure, other.structure)
            if both is None or both in tried:
                continue
            try:
                found = self.judge([self.moved(fit, both)], best.error)[0]
            except Stopped:
                raise Stopped(best) from None
            tried.add(both)
            if found.error < best.error:
                best = found
        return best

    def moved(self, fit: Fit, s: Structure) -> Fit:
        """The same times with another structure.  A program of another page takes as long for each
        byte, and one during which the next data arrive as long as both did; a time that is 0, or
        that the fit's own structure lacks, begins where the clues put it."""
        x = list(fit.x)
        assert len(x) == len(times_of(s)), (fit.structure, s)
        rate = dict(zip((t.key for t in times_of(fit.structure)), fit.values()))["link.bandwidth"]
        arrives = s.page * 1e9 / rate
        for k, (t, first) in enumerate(zip(times_of(s), first_times(s, self._m))):
            if t.key in ("nand.tPROG", "nand.slc_tPROG"):
                program = t.from_x(x[k]) * s.page / fit.structure.page
                program += arrives * ((s.behind > 0) - (fit.structure.behind > 0))
                x[k] = float(np.clip(t.to_x(max(program, t.least)), *t.bounds))
            elif t.zero and x[k] < t.to_x(t.least):
                x[k] = t.to_x(first)
        return Fit(s, tuple(x), math.inf)

    def _numbers(self, fit: Fit) -> list[tuple[float, float, float]]:
        return [(getattr(fit.structure, name), low, high)
                for name, low, high in self._varied(fit.structure)]

    def _at(self, fit: Fit, x: Sequence[float]) -> Fit:
        whole: dict[str, Any] = {name: int(round(v)) for (name, _, _), v in zip(
            self._varied(fit.structure), x[len(fit.x):])}
        return Fit(self._assumed(replace(fit.structure, **whole), fit.structure.spills),
                   tuple(x[:len(fit.x)]), math.inf)

    def scanned(self, name: str, fit: Fit) -> list[Fit]:
        """The fit with each value of one of NUMBERS, as far as a search by chance would go; none if
        its structure has no such number."""
        return [Fit(s, fit.x, math.inf) for number, low, high in self._varied(fit.structure)
                if number == name for value in range(low, high + 1)
                for s in [self._assumed(replace(fit.structure, **{name: value}),
                                        fit.structure.spills)]]

    def _varied(self, s: Structure) -> list[tuple[str, int, int]]:
        """The whole numbers of a structure that move by chance, each with its ends."""
        if s.strategy != "segment":
            return []
        found = [] if self._limited else [("open_linear", 1, s.open_linear + 8)]
        if not self.assumes:
            found.append(("open_random", 0 if s.switch_merge else 1, s.open_random + 8))
        if s.small_log:
            found.append(("small_log", LEAST_LOG, 2 * s.small_log + 4))
        if s.gathers:
            found.append(("scattered", s.group + 1, 2 * s.scattered))
        return found
