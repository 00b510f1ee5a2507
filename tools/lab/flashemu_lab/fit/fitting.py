# SPDX-License-Identifier: BSD-3-Clause
"""From a measurement to a fitted device, and what is known about it.

A budget of comparisons, of which slow ones count more than once, is divided: a quarter to the
candidates, of which most are given up early; thirteen twenty-fourths to the structure of the best
ones, at first the best of each sort; what is left to CMA-ES and the times.  In the end the times
are sharpened: points that no times can meet should not keep them from others.  Where a search ends
is partly luck, so one that has not come near can be followed by a larger one, and the better of
both results is kept.

Candidates, climbs of a round and what is held out do not depend on each other and run side by side.
What decides is what was compared, and never a clock, so the same measurement, budget and seed give
the same profile on every machine whose logarithms round alike.

Two things say how far the result can be trusted:

    held out      the times are fitted again without some points, from the start, and are judged
                  by those points alone; the structure stays, so this says nothing about it
    intervals     how far a time may be off, by the usual linear approximation and the spread of the
                  errors (`descent.spreads`).  A number that nothing depends on is not identifiable
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Callable, Iterable, Sequence, TypeVar

import numpy as np

from ..core.errors import LabError
from ..measurement.schema import Measurement, Point
from ..probe import speaking
from ..runs.program import Tool
from .compare import Comparer, affordable, log_errors
from .descent import spreads
from .judging import Conversation, Rival
from .kinds import Kind, kinds
from .model import Structure, Time, neighbours, other_parts, price, profile_keys, times_of
from .moves import SOFT, Climb, Stopped
from .rows_in_order import shows_random_order, shows_units
from .rules import candidates, first_times, variants
from .search import NUMBERS, Fit, Search, kind, repaged, start, weights_of

# What a search spends on one comparison: tests that took the device so many seconds together, for
# the candidates and afterwards.  A test that is left out in part leaves another state behind.
_COARSE_S, _FINE_S = 400.0, 2000.0
_FOLDS = 4
# Of comparisons for candidates: with so many there are rounds, with so many descents for each.
_LARGE = 200
_ROUNDS = (1, 1)
_FEW = 5
# How many structures are made better: one for each 200 comparisons up to six, and with a large
# budget one for each 333; and the parts of the budget that the rounds have, each with half as many
# structures.
_FIRST_CLIMBS, _EACH, _EACH_MORE = 6, 200, 333
_ROUND_PARTS = (4, 6, 8)
# Of how many of the best other climbs a climb may take something.
_OTHERS = 2
# How many others get times of their own before all are judged by the conversation.
_RIVALS = 2
# If nothing was written in random order, a map by pages is chosen, or else groups, or else units
# that spill, unless the typical error is so many times that of the best structure.
_EXPLAIN = 1.25
# How often the neighbours of the result are looked at again, how much worse one may be before it
# has times of its own, and what it must be better by then.
_LOOKS, _NEAREST, _BETTER = 3, 2.0, 0.95
# Of the typical error: a structure that is worse by less is as good.
_AS_GOOD = 1.01
# A time whose interval is wider than this factor in each direction is not identifiable.
WIDEST = 2.0
# A fit is good if its errors are at most this, and near if their median is at most this.
GOOD_MEDIAN, GOOD_SHARE = 0.15, 0.4
NEAR_MEDIAN = 0.05

Told = Callable[[str, float], None]
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Errors:
    """Relative errors of some points: their median, and the share of at most 10 %."""

    points: int
    median: float
    near: float


def summed(errors: Sequence[float | None]) -> Errors | None:
    """Of logarithmic errors; None if there is none."""
    known = [abs(math.expm1(e)) for e in errors if e is not None]
    if not known:
        return None
    return Errors(len(known), median(known), sum(e <= 0.1 for e in known) / len(known))


@dataclass(kw_only=True)
class Judged:
    """What can be said of a result.

    errors, measured  ln(model / measured) of each of its `points`, None if not comparable, and what
                      the model has there
    intervals         for each time the factor by which it may be off, None if not identifiable
    held              what was left out, and the errors of a fit without it there
    comparisons       how many there were
    """

    errors: list[float | None]
    measured: list[float | None]
    points: tuple[Point, ...] = ()
    intervals: dict[str, float | None] = field(default_factory=dict)
    held: list[tuple[str, Errors]] = field(default_factory=list)
    comparisons: int = 0

    def keys(self) -> dict[str, str]:
        """Of the profile."""
        raise NotImplementedError

    @property
    def all(self) -> Errors:
        """Over all points."""
        found = summed(self.errors)
        assert found
        return found

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of request, the worst one first; none if nobody has said what the points
        are."""
        return kinds(self.points, self.errors)

    @property
    def good(self) -> bool:
        """Whether the profile is worth to be kept, by all points; what it is far off at is said
        with it (`kinds`)."""
        return self.all.median <= GOOD_MEDIAN and self.all.near >= GOOD_SHARE


@dataclass
class Fitted(Judged):
    """The result.

    as_good     for each number of the structure that was varied the other values that are as good
    tried       each candidate and its error, the best one first
    error       the typical error of the search (search.Fit)
    speaks      what the points speak about; None: nobody has asked
    taken       for keys about which they do not, the shipped device that has the same value
    rivals      those that were judged by the whole conversation, this one first; none if there is
                no conversation
    """

    structure: Structure
    values: list[float]
    as_good: dict[str, list[int]] = field(default_factory=dict)
    tried: list[Fit] = field(default_factory=list)
    error: float = math.inf
    speaks: speaking.Told | None = None
    taken: dict[str, str] = field(default_factory=dict)
    rivals: list[Rival] = field(default_factory=list)

    @property
    def is_near(self) -> bool:
        """Whether the search has come so near that no larger one should follow."""
        return self.all.median <= NEAR_MEDIAN

    def keys(self) -> dict[str, str]:
        return profile_keys(self.structure, self.values)


def _firsts(items: Iterable[_Item], key: Callable[[_Item], object]) -> list[_Item]:
    """The first item with each key."""
    found: dict[object, _Item] = {}
    for item in items:
        found.setdefault(key(item), item)
    return list(found.values())


def _each_sort_first(fits: Sequence[Fit]) -> list[Fit]:
    """The same fits, the best of each sort of structure and host in front.  Before any times are
    fitted, the error says little about a structure that explains other things than the rest do."""
    def sort(s: Structure) -> tuple[object, ...]:
        return (s.strategy, s.group > 1, s.open_units > 0, s.parts > 1, s.record > 0,
                s.small_join, s.run > 0, s.reader, s.behind > 0)
    best = _firsts(fits, lambda f: sort(f.structure))
    return [*best, *(f for f in fits if f not in best)]


def _told_apart(fits: Sequence[Fit]) -> list[Fit]:
    """Without those that no comparison tells from another one in front of them, such as two limits
    of small writes between which nothing was measured."""
    return _firsts(fits, lambda f: (f.structure.strategy, f.x, f.error)
                   if math.isfinite(f.error) else f.structure)


def _nearer_twins(fits: Sequence[Fit]) -> list[Fit]:
    """Of those that differ in nothing but gaps that are filled, the nearer one.  Only a measurement
    by `probe` has such candidates, and their first times are right enough to tell."""
    found: dict[Structure, Fit] = {}
    for f in fits:
        other = replace(f.structure, gap_fill=0)
        if other not in found or f.error < found[other].error:
            found[other] = f
    return list(found.values())


def _nearest(climbs: Sequence[Climb[Fit]]) -> list[Climb[Fit]]:
    """The climbs in the order of their errors; of those that have come to the same structure only
    the best."""
    return _firsts(sorted(climbs, key=lambda c: c.fit.error), lambda c: c.fit.structure)


def intervals_of(times: Sequence[Time], x: Sequence[float], slopes: Any, base: Any,
                 loss: str = "soft_l1", scale: float = SOFT,
                 weights: Any = None) -> dict[str, float | None]:
    """For each of some times, which a descent has found at `x`, the factor by which it may be off
    in 95 % of cases, or None beyond `WIDEST`: from the residuals there, and their slopes, shape
    (residuals, times).  The other words are those of `descent.spreads`."""
    found: dict[str, float | None] = {}
    off = spreads(slopes, base, loss, scale, weights) or [math.inf] * len(x)
    for k, (t, here, spread) in enumerate(zip(times, x, off)):
        seen = float(np.abs(slopes[:, k]).max()) > 0.01
        if t.zero and t.from_x(here) > 0:  # from the scale of the search to that of factors
            spread *= (t.least + t.from_x(here)) / t.from_x(here)
        found[t.key] = math.exp(spread) if seen and spread <= math.log(WIDEST) else None
    return found


class Fitting:
    """One measurement and a budget."""

    def __init__(self, comparer: Comparer, m: Measurement, budget: int, seed: int,
                 told: Told = lambda what, error: None, whole: Measurement | None = None,
                 conversation: Conversation | None = None) -> None:
        self._conversation = conversation
        self._comparer = comparer
        self._m = m
        self._budget = budget
        self._seed = seed
        self._told = told
        self._best = math.inf
        self._starts = candidates(whole or m)
        self._coarse, self._weights = self._comparable()

    _climbs: Sequence[Climb[Fit]] = ()   # where they ended, the nearest one first
    # what takes too long to be done, for the candidates and afterwards
    _undone: tuple[Sequence[int], Sequence[int]] = ((), ())

    def _comparable(self) -> tuple[list[float], list[float]]:
        """The weights of the points of a search, for the candidates and afterwards.  A device
        that is fast and mapped by pages can do every test, and shows which points can be compared
        at all."""
        s = Structure("page", self._starts[0].capacity, 16 << 10)
        plain = start(s, [t.least * 2 if t.key.startswith("nand.t") else
                          0.0 if t.zero else math.sqrt(t.least * t.most) for t in times_of(s)])
        answer = self._comparer.ask([plain.question()])[0]
        if answer.state != "done":
            raise LabError(f"no device of {s.capacity} bytes can be compared with the measurement: "
                           f"{answer.message}")
        everything = set(range(len(self._m.points)))
        coarse, fine = (sorted(everything - set(affordable(self._m, seconds)))
                        for seconds in (_COARSE_S, _FINE_S))
        self._undone = coarse, fine
        return weights_of(self._m, answer, coarse), weights_of(self._m, answer, fine)

    def _search(self, what: str, weights: Sequence[float], comparisons: int) -> Search:
        search = Search(self._comparer, self._m, weights,
                        lambda error: self._told(what, min(error, self._best)),
                        self._undone[what != "candidates"])
        search.left = max(comparisons, 1)
        return search

    def run(self, trust: bool) -> Fitted:
        """Searches; LabError if no candidate makes a device.  What says how far the result can be
        trusted takes nearly as many comparisons again."""
        tried = self._candidates()
        self._best = math.inf
        best, left = self._climbed(tried)
        others = [c.fit for c in self._climbs if c.fit is not best]
        search = self._search("the rest", self._weights, self._budget // 20)
        best = search.rest(best, self._seed)
        search = self._search("times", self._weights, self._budget // 12 + left + search.left)
        best = min(best, search.times(best, 4), key=lambda f: f.error)
        self._best = best.error
        best = self._last_look(best)
        best = self._in_parts(best)
        best = self._finished(best, search.left)
        rivals = self._nearer(*self._ranked([best, *others])) if self._conversation else []
        if rivals and rivals[0].fit is not best:
            best = rivals[0].fit
        return self._judged(best, tried, rivals, trust)

    def _finished(self, best: Fit, more: int = 0) -> Fit:
        """A fit with times that meet more points, and without those that none needs."""
        search = self._search("times", self._weights, self._budget // 20 + more)
        best = search.sharpened(best)
        # each round tries one time less than the round before
        most = (len(best.x) + 1)**2 // 2
        search = self._search("times", self._weights, most * price([best.structure]))
        return search.without(best)

    def _ranked(self, fits: Sequence[Fit]) -> list[Rival]:
        """The result and its rivals, each a structure of its own, by the whole conversation.  The
        nearest rivals get times as the result did, so that they are not behind by these."""
        assert self._conversation
        first, *rest = _firsts(fits, lambda f: f.structure)
        judged = self._conversation.judge(rest)[:_RIVALS] if rest else []
        better = self._comparer.side_by_side(self._finished, [r.fit for r in judged])
        return self._conversation.judge([first, *better])

    def _nearer(self, best: Rival, *others: Rival) -> list[Rival]:
        """The same, and small steps have taken the best one on; its error is that of the points."""
        assert self._conversation
        search = self._search("structure", self._weights, 0)
        best = self._conversation.nearer(best, [
            lambda f: [search.moved(f, s) for s in neighbours(f.structure)],
            *(partial(search.scanned, name) for name in NUMBERS)], repaged)
        search.left = price([best.fit.structure])
        return [replace(best, fit=search.judge([best.fit])[0]), *others]

    def _last_look(self, best: Fit) -> Fit:
        """The nearest neighbour with times of its own, as long as that is better: a climb has tried
        each once, when times may have been far off, and times make up for a wrong number."""
        for _ in range(_LOOKS):
            search = self._search("structure", self._weights, 0)
            near = search.near(best.structure)
            search.left = price(near)
            found = min(search.judge([search.moved(best, n) for n in near], _NEAREST * best.error),
                        key=lambda f: f.error, default=best)
            if math.isinf(found.error):
                break
            found = self._timed(found)
            if found.error >= _BETTER * best.error:
                break
            best = found
        return best

    def _in_parts(self, best: Fit) -> Fit:
        """The allocation unit made of other parts, each of them with times of its own, if that is
        better: what a merge copies is a part, so no time of the present parts says what others
        would do, and the steps to them look worse than they are."""
        if best.structure.group == 1:
            return best
        search = self._search("structure", self._weights, 0)
        parts = [search.moved(best, n) for n in other_parts(best.structure)]
        search.left = price(f.structure for f in parts)
        found = min(self._comparer.side_by_side(self._timed, search.judge(parts)),
                    key=lambda f: f.error, default=best)
        return self._last_look(found) if found.error < _BETTER * best.error else best

    def _timed(self, f: Fit) -> Fit:
        return min(f, self._search("times", self._weights, self._budget // 10).times(f, 2),
                   key=lambda f: f.error)

    def _climbed(self, tried: Sequence[Fit]) -> tuple[Fit, int]:
        """The best structure, from the best candidate of each sort and others, and what is left of
        the budget.  In each round those that have come nearest go on."""
        number = max(min(self._budget // _EACH, _FIRST_CLIMBS), self._budget // _EACH_MORE, 2)
        begun = _each_sort_first(tried)[:number]
        search = self._search("structure", self._weights, price(f.structure for f in begun))
        every = climbs = [Climb(f) for f in search.judge(begun)]
        left = 0
        for part in _ROUND_PARTS:
            climbs = self._going_on(climbs, number)
            if part != _ROUND_PARTS[0]:
                for climb in climbs:
                    climb.others = [c.fit.structure for c in climbs if c is not climb][:_OTHERS]
            share = (self._budget // part + left) // len(climbs)
            left = sum(self._comparer.side_by_side(partial(self._climb, share), climbs))
            self._best = min(self._best, *(c.fit.error for c in climbs))
            number = (number + 1) // 2
        self._climbs = _nearest(every)
        return self._simplest(climbs), left

    def _going_on(self, climbs: Sequence[Climb[Fit]], number: int) -> list[Climb[Fit]]:
        """So many that have come nearest; and those that may be preferred."""
        nearest = _nearest(climbs)
        kept = nearest[:number]
        return kept + [c for c in self._preferred(nearest) if c not in kept]

    def _simplest(self, climbs: Sequence[Climb[Fit]]) -> Fit:
        """The nearest one, unless one that is preferred explains nearly as much."""
        nearest = _nearest(climbs)
        best = nearest[0].fit
        return next((c.fit for c in self._preferred(nearest)
                     if c.fit.error < _EXPLAIN * best.error), best)

    def _preferred(self, nearest: Sequence[Climb[Fit]]) -> list[Climb[Fit]]:
        """The first map by pages, the first one with groups and the first one whose units spill, if
        nothing shows units or what they do in random order."""
        if shows_random_order(self._m.points) or shows_units(self._m.points):
            return []
        sorts: list[Callable[[Structure], bool]] = [lambda s: s.strategy == "page",
                                                    lambda s: s.group > 1, lambda s: s.spills]
        firsts = (next((c for c in nearest if sort(c.fit.structure)), None) for sort in sorts)
        return [c for c in firsts if c]

    def _climb(self, share: int, climb: Climb[Fit]) -> int:
        """Goes on with a climb; what it leaves of its share."""
        search = self._search("structure", self._weights, share)
        search.structure(climb)
        return search.left

    def _candidates(self) -> list[Fit]:
        """The best starts with times of their own, the best one first.  With a large budget there
        are many, and most are given up early: the second round has half of the starts of the
        first."""
        budget = self._budget // 4
        starts, kept = self._starts, _FEW
        rounds: tuple[int, ...] = (3,)
        if budget >= _LARGE:
            starts = starts + self._varied()
            kept, rounds = budget // 25, _ROUNDS
        starts = list(dict.fromkeys(starts))[:max(budget // 6, len(self._starts))]
        search = self._search("candidates", self._coarse, price(starts))
        found = _told_apart(_nearer_twins(search.judge(
            [start(s, first_times(s, self._m)) for s in starts])))
        first = found[0]  # the most likely one is never given up
        for number, descents in enumerate(rounds):
            others = [f for f in sorted(found, key=lambda f: f.error) if f is not first]
            if number == 0:  # no times are fitted yet
                others = _each_sort_first(others)
            better = partial(self._better, descents, budget // kept)
            found = self._comparer.side_by_side(better, [first, *others[:kept - 1]])
            first, kept = found[0], max(kept // 2, 2)
            self._best = min(self._best, *(f.error for f in found))
        found.sort(key=lambda f: f.error)
        if math.isinf(found[0].error):
            raise LabError("no structure that the measurement suggests makes a device that can "
                           "be compared")
        return found

    def _varied(self) -> list[Structure]:
        """Variants of the starts.  Tests in order do not show how units are grouped, so that
        stays."""
        known = shows_random_order(self._m.points)
        return [n for s in self._starts for n in variants(s) if known or n.group == s.group]

    def _better(self, descents: int, share: int, one: Fit) -> Fit:
        """A candidate after some descents, with a share of the comparisons."""
        return self._search("candidates", self._coarse, share).times(one, descents, False)

    def _judged(self, best: Fit, tried: list[Fit], rivals: list[Rival], trust: bool) -> Fitted:
        answer = self._comparer.ask([best.question()])[0]
        result = Fitted(best.structure, best.values(), tried=tried, error=best.error,
                        rivals=rivals, errors=log_errors(answer, self._m),
                        measured=list(answer.measured), points=self._m.points)
        if trust:
            result.intervals = self._intervals(best)
            result.as_good = self._as_good(best)
            result.held = self._held(best)
        result.comparisons = self._comparer.asked
        return result

    # --- trust ---

    def _intervals(self, best: Fit) -> dict[str, float | None]:
        """For each time the factor by which it may be off, or None beyond `WIDEST`."""
        search = self._search("intervals", self._weights,
                              (1 + len(best.x)) * price([best.structure]))
        try:
            base, slopes = search.jacobian(best)
        except Stopped:
            return {}
        return intervals_of(times_of(best.structure), best.x, slopes, base, "cauchy", search.scale,
                            np.array([w for w in self._weights if w > 0]))

    def _as_good(self, best: Fit) -> dict[str, list[int]]:
        """Numbers of the structure that could as well be others."""
        search = self._search("alternatives", self._weights, 0)
        near = search.near(best.structure)
        search.left = price(near)
        found: dict[str, list[int]] = {}
        judged = search.judge([search.moved(best, n) for n in near], best.error * _AS_GOOD)
        for n, f in zip(near, judged):
            differing = [x.name for x in fields(n)
                         if getattr(n, x.name) != getattr(best.structure, x.name)]
            for leads in ("page", *(["open_linear"] if search.assumes else [])):
                if leads in differing:  # the others go with it
                    differing = [leads]
            values = found.setdefault(differing[0], [])
            if f.error <= best.error * _AS_GOOD and len(differing) == 1:
                values.append(int(getattr(n, differing[0])))
        return found

    def _held(self, best: Fit) -> list[tuple[str, Errors]]:
        """Folds, and whole tests."""
        order = np.random.default_rng(self._seed).permutation(len(self._m.points))
        share = self._budget // 50 + 12
        kinds = list(dict.fromkeys(kind(p) for p in self._m.points))
        left = [[int(i) for i in order[k::_FOLDS]] for k in range(_FOLDS)]
        left += [[i for i, p in enumerate(self._m.points) if kind(p) == name]
                 for name in kinds if len(kinds) > 1]
        errors = self._comparer.side_by_side(partial(self._without, best, share), left)
        folds = [e for some in errors[:_FOLDS] for e in some]
        found = [("a quarter of the points, four times", summed(folds)),
                 *zip(kinds, map(summed, errors[_FOLDS:]))]
        return [(name, summary) for name, summary in found if summary]

    def _without(self, best: Fit, share: int, left: Sequence[int]) -> list[float | None]:
        """The errors at some points of a fit of the times without them."""
        gone = set(left)
        weights = [0.0 if i in gone else w for i, w in enumerate(self._weights)]
        rest = replace(self._m, points=tuple(p for i, p in enumerate(self._m.points)
                                             if i not in gone))
        if not any(weights) or not rest.points:
            return []
        search = self._search("held out", weights, share)
        begun = start(best.structure, first_times(best.structure, rest))
        fit = search.times(search.judge([begun])[0], 4)
        if math.isinf(fit.error):
            return []
        errors = log_errors(self._comparer.ask([fit.question()])[0], self._m)
        return [errors[i] for i in left]


def fit(tool: Tool, m: Measurement, budget: int, seed: int, jobs: int,
        told: Told = lambda what, error: None, whole: Measurement | None = None,
        more: int = 0, conversation: Path | None = None, trust: bool = True) -> Fitted:
    """The device that comes nearest to a measurement.  If that is only what a fit can use of a
    `whole` one (`rules.fittable`), the rules look at all of it, and all of it is done.  A search
    that has not come near is followed by one with a budget of `more`, unless that is 0.  With the
    `conversation` of a probe, rivals are ranked by it.  Without `trust` the result has no
    intervals, no numbers that are as good, and nothing was held out: for who knows what is
    right."""
    talk = Conversation(tool, conversation, jobs) if conversation else None

    def told_again(what: str, error: float) -> None:
        told(f"a larger search, {what}", error)

    with Comparer(tool, m, jobs, whole=whole) as comparer:
        found = Fitting(comparer, m, budget, seed, told, whole, talk).run(trust)
        if more and not found.is_near:
            again = Fitting(comparer, m, more, seed, told_again, whole, talk).run(trust)
            found = min(found, again, key=lambda f: f.rivals[0].score if f.rivals else f.error)
            found.comparisons = comparer.asked
        return found
