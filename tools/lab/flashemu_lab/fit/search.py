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

from ..core.errors import LabError, module
from ..measurement.schema import Measurement, Point
from ..probe.tests.behaviour import is_logged
from .compare import (SLOWER, Answer, Comparer, Question, device_ns, log_errors,
                      requests_ns)
from .descent import Descent
from .model import (LEAST_LOG, Structure, as_in_order, changes, exchanged, joined, neighbours,
                    price, profile_keys, times_of)
from .rows_in_order import shows_random_order, told_limit
from .rules import first_times

# ln of the error of a point that a structure cannot have at all.
_MISSING = 1.5
_STEP = 0.04
SOFT = 0.1
# Beyond this an error counts less and less.
KNEE = 0.05
# Comparisons along one descent, besides those for the slopes; and what it must gain if another one
# is to follow.
_STEPS = 8
_SETTLED = 0.995
# Of how many better structures the changes are tried together.
_TOGETHER = 4
# Of the error: who finds something better than this looks no further at once.
_MUCH_BETTER = 0.985
# What may be missed, as a share of what was, if a time becomes 0.
_HARDLY = 1.002


@dataclass(frozen=True)
class Fit:
    """A set of parameters and its typical error: the |ln(model / measured)| that counts as much as
    the weighted mean of all points does."""

    structure: Structure
    x: tuple[float, ...]
    error: float

    def values(self) -> list[float]:
        """The times in their units."""
        return [t.from_x(x) for t, x in zip(times_of(self.structure), self.x)]


def counted(errors: Any) -> Any:
    """What logarithmic errors count, elementwise; as the program adds them up with a knee."""
    return KNEE * np.log1p(np.abs(errors) / KNEE)


def typical(mean: float) -> float:
    """The error that counts so much; the inverse of `counted`."""
    return KNEE * math.expm1(mean / KNEE)


def start(s: Structure, values: Sequence[float]) -> Fit:
    """A fit that nobody has compared yet."""
    x = tuple(float(np.clip(t.to_x(v), *t.bounds)) for t, v in zip(times_of(s), values))
    return Fit(s, x, math.inf)


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


class Climb:
    """Where a search for a better structure is, and what it need not try again."""

    def __init__(self, fit: Fit) -> None:
        self.fit = fit
        self.others: list[Structure] = []   # from which it may take something
        self.tried = {fit.structure}
        self.refitted = {fit.structure}
        self.settled = False

    def move(self, fit: Fit) -> None:
        """To a better structure."""
        self.fit, self.settled = fit, False


class Stopped(Exception):
    """The budget is used up.  `best` is what a descent has reached by then."""

    def __init__(self, best: Fit | None = None) -> None:
        super().__init__()
        self.best = best


class Search:
    """One measurement, the weights of its points, which of them not even a device does (`left`),
    and what is left of a budget of comparisons."""

    def __init__(self, comparer: Comparer, m: Measurement, weights: Sequence[float],
                 told: Callable[[float], None] = lambda error: None,
                 left: Sequence[int] = ()) -> None:
        self.best = math.inf
        self._undone = tuple(left)
        self._comparer = comparer
        self._m = m
        self._weights = np.array(weights)
        self._points = tuple(i for i, w in enumerate(weights) if w > 0)
        self._total = float(self._weights.sum())
        here = [m.points[i] for i in self._points]
        self._time = int(SLOWER * (sum(map(device_ns, here)) + requests_ns(here))) or None
        self._told = told
        self.assumes = not shows_random_order(m.points)
        self._limited = told_limit(m.points) is not None
        self._left = 0
        self._descent = Descent()
        if not self._points:
            raise LabError("no point of the measurement can be compared with a model; see "
                           "flashemu-measurement(5)")

    def grant(self, comparisons: int) -> None:
        """From now on comparisons of this price may be made; then `Stopped` is raised."""
        self._left = comparisons

    @property
    def left(self) -> int:
        """The price of what may still be compared."""
        return self._left

    @property
    def scale(self) -> float:
        """The residual beyond which a descent counts one less and less."""
        return SOFT * math.sqrt(self._total / len(self._points))

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

    def _assumed(self, s: Structure, spills: bool) -> Structure:
        return as_in_order(s, spills) if self.assumes else s

    def _ask(self, fits: Sequence[Fit], bound: float | None) -> list[Answer]:
        needed = price(f.structure for f in fits)
        if self._left < needed:
            raise Stopped
        self._left -= needed
        limit = None if bound is None or math.isinf(bound) else \
            float(counted(bound)) * self._total
        return self._comparer.ask([
            Question(f.structure.strategy, tuple(changes(profile_keys(f.structure, f.values()))),
                     self._points, tuple(self._weights), limit, self._time, KNEE, self._undone)
            for f in fits])

    def _error(self, answer: Answer) -> float:
        if answer.state != "done":
            return math.inf
        missing = sum(self._weights[i] for i in self._points if answer.measured[i] is None)
        return typical(float(answer.total + counted(_MISSING) * missing) / self._total)

    def judge(self, fits: Sequence[Fit], bound: float | None = None) -> list[Fit]:
        """The fits with their errors; infinity if it exceeds the bound or there is no such
        device."""
        answers = self._ask(fits, bound)
        found = [replace(f, error=self._error(a)) for f, a in zip(fits, answers)]
        self.best = min([self.best, *(f.error for f in found)])
        self._told(self.best)
        return found

    def residuals(self, fits: Sequence[Fit]) -> list[Any]:
        """For each fit an array: the weighted logarithmic error of each point that counts; a large
        one where the model has none."""
        scale = np.sqrt(self._weights[list(self._points)])
        found = []
        for answer in self._ask(fits, None):
            errors = log_errors(answer, self._m) if answer.state == "done" else []
            if not errors:
                found.append(scale * _MISSING)
                continue
            found.append(scale * np.array([_MISSING if errors[i] is None else errors[i]
                                           for i in self._points], dtype=float))
        return found

    def jacobian(self, fit: Fit) -> tuple[Any, Any]:
        """The residuals, and the change of each with each time; shape (points, times)."""
        base = self.residuals([fit])[0]
        return base, self._slopes(fit, base)

    def _slopes(self, fit: Fit, base: Any, zeros: bool = True) -> Any:
        """The slopes of `jacobian`, with the residuals here; without `zeros`, times that are 0 have
        no slope, which saves a comparison each."""
        columns = np.zeros((len(base), len(fit.x)))
        tried, steps, moved = [], [], []
        for k, (x, t) in enumerate(zip(fit.x, times_of(fit.structure))):
            if t.zero and x == 0 and not zeros:
                continue
            step = _STEP if x + _STEP <= t.bounds[1] else -_STEP
            if t.zero and x < _STEP:
                step = 0.3
            tried.append(replace(fit, x=(*fit.x[:k], x + step, *fit.x[k + 1:])))
            steps.append(step)
            moved.append(k)
        for k, r, s in zip(moved, self.residuals(tried), steps):
            columns[:, k] = (r - base) / s
        return columns

    def times(self, fit: Fit, rounds: int, zeros: bool = True) -> Fit:
        """The structure with better times: at most `rounds` descents, each with slopes of its own.
        What was reached is kept if the budget ends.  Without `zeros`, times that are 0 stay so."""
        try:
            for _ in range(rounds):
                before = fit.error
                self._descent.slopes = None
                fit = self._descend(fit, zeros)
                if fit.error > _SETTLED * before:
                    break
        except Stopped as stopped:
            fit = stopped.best if stopped.best else fit
        return fit

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
                fit = replace(fewer[least], error=self._mean(every[least]))
        except Stopped:
            return fit

    def _descend(self, fit: Fit, zeros: bool = True, sharply: bool = False) -> Fit:
        """A few steps of least squares.  The slopes are those of the last descent, if there was
        one: they hardly change with the structure."""
        known = times_of(fit.structure)
        best, least = fit, math.inf if sharply else fit.error
        kept: dict[tuple[float, ...], Any] = {}

        def at(x: Any) -> Any:
            nonlocal best, least
            here = tuple(float(v) for v in x)
            if here not in kept:
                kept[here] = self.residuals([replace(fit, x=here)])[0]
                error = self._mean(kept[here])
                value = self._missed(kept[here]) if sharply else error
                if value < least:
                    best, least = replace(fit, x=here, error=error), value
                    self.best = min(self.best, error)
                    self._told(self.best)
            return kept[here]

        def slopes_at(x: Any, base: Any) -> Any:
            return self._slopes(replace(fit, x=tuple(float(v) for v in x)), base, zeros)

        bounds = [t.bounds[0] for t in known], [t.bounds[1] for t in known]
        try:
            self._descent.run(at, slopes_at, fit.x, bounds, "cauchy" if sharply else "soft_l1",
                              self.scale, _STEPS)
        except Stopped:
            raise Stopped(best) from None
        return best

    def _mean(self, residuals: Any) -> float:
        weights = self._weights[list(self._points)]
        errors = residuals / np.sqrt(weights)
        return typical(float((counted(errors) * weights).sum()) / self._total)

    def _missed(self, residuals: Any) -> float:
        """What `sharpened` makes less: beyond some percent an error hardly counts for more."""
        weights = self._weights[list(self._points)]
        return float((weights * np.log1p((residuals / np.sqrt(weights) / SOFT) ** 2)).sum())

    def structure(self, climb: Climb) -> Fit:
        """Goes on with a climb until the budget ends or there is nothing better near, and returns
        where it is."""
        try:
            while self._step(climb):
                pass
        except Stopped as stopped:
            if stopped.best and stopped.best.error < climb.fit.error:
                climb.move(stopped.best)
        return climb.fit

    def _step(self, climb: Climb) -> bool:
        """The best neighbour that is better; where none is, the times get new slopes, and the
        nearest neighbours get times of their own, because times can make up for a wrong number.
        Returns whether there is more to try."""
        fit = climb.fit
        taken = [n for other in climb.others for n in exchanged(fit.structure, other)]
        near = [n for n in self.near(fit.structure, taken) if n not in climb.tried]
        better = self._first_better(fit, near, climb.tried)
        if better is not None:
            climb.move(better)
            climb.fit = self._descend(better)
        elif not climb.settled:
            self._descent.slopes = None
            climb.fit = self._descend(fit)
            climb.settled = True
        else:
            rest = [n for n in self.near(fit.structure) if n not in climb.refitted]
            if not rest:
                return False
            other = self._descend(self.moved(fit, rest[0]))
            climb.refitted.add(rest[0])
            if other.error < 0.998 * fit.error:
                climb.move(other)
        return True

    def _first_better(self, fit: Fit, near: list[Structure], tried: set[Structure]) -> Fit | None:
        """The best of the neighbours with these times, if it is better by some permille; but the
        first ones that are much better are enough.  Several at a time; each of them is given up as
        soon as it is worse.  What several of them have changed for the better is tried together."""
        better: list[Fit] = []  # the best one first
        at = 0
        while at < len(near):
            some = near[at:at + min(8, max(self._left, 1))]
            at += len(some)
            bound = (better[0] if better else fit).error * 0.998
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

    def _together(self, fit: Fit, better: Sequence[Fit], tried: set[Structure]) -> Fit:
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
        x = [*fit.x, 0.0][:len(times_of(s))]  # at most the last one is missing, or is too many
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

    def rest(self, fit: Fit, seed: int) -> Fit:
        """CMA-ES with margins around a fit, until the budget ends."""
        cmaes = module("cmaes", "python3-cmaes").CMAwM
        fixed = [name for name, stays in (("open_random", self.assumes),
                                          ("open_linear", self._limited)) if stays]
        numbers = [n for n in _numbers(fit.structure) if n[0] not in fixed]
        known = times_of(fit.structure)
        low = np.array([t.bounds[0] for t in known] + [a for _, a, _ in numbers], dtype=float)
        high = np.array([t.bounds[1] for t in known] + [b for _, _, b in numbers], dtype=float)
        # a step of a whole number is one, and of a time 0.08 of its logarithm
        unit = np.array([0.08] * len(known) + [1.0] * len(numbers))
        mean = np.clip([*fit.x, *(getattr(fit.structure, name) for name, _, _ in numbers)], low,
                       high)  # a search may leave a time beyond its bound by a rounding error
        steps = np.array([0.0] * len(known) + [1.0] * len(numbers))
        optimizer = cmaes(mean=mean / unit, sigma=1.0, steps=steps, seed=seed,
                          bounds=np.stack([low / unit, high / unit], axis=1))
        try:
            while not optimizer.should_stop():
                asked = [optimizer.ask() for _ in range(optimizer.population_size)]
                fits = [_at(fit, x * unit, numbers) for x, _ in asked]
                fits = [replace(f, structure=self._assumed(f.structure, fit.structure.spills))
                        for f in fits]
                found = self.judge(fits)
                fit = min([fit, *found], key=lambda f: f.error)
                optimizer.tell([(x, min(f.error, 10.0)) for (_, x), f in zip(asked, found)])
        except Stopped:
            pass
        return fit


def _numbers(s: Structure) -> list[tuple[str, int, int]]:
    """The whole numbers of a structure that a search may vary, each with its range."""
    if s.strategy != "segment":
        return []
    found = [("open_linear", 1, s.open_linear + 8),
             ("open_random", 0 if s.switch_merge else 1, s.open_random + 8)]
    if s.small_log:
        found.append(("small_log", LEAST_LOG, 2 * s.small_log + 4))
    if s.gathers:
        found.append(("scattered", s.group + 1, 2 * s.scattered))
    return found


def _at(fit: Fit, x: Any, numbers: list[tuple[str, int, int]]) -> Fit:
    n = len(fit.x)
    whole: dict[str, Any] = {name: int(round(v)) for (name, _, _), v in zip(numbers, x[n:])}
    return Fit(replace(fit.structure, **whole), tuple(float(v) for v in x[:n]), math.inf)
