# SPDX-License-Identifier: BSD-3-Clause
"""The card of today that comes nearest to a measurement: a shipped one, with numbers of its own.

A card with a command queue has an SLC cache, buffers and fast paths that no benchmark shows one by
one.  What a table of it has are some rates with the queue and without.  So nothing here is told by
rules: the search begins at every shipped card of today, because cards of one maker have much in
common, and moves what is written about them.

    relatives   all of them as they are; the nearest get times of their own, by least squares
    climbs      the nearest two: one size, number or word becomes the next one, and what makes the
                error smaller is kept; then the times again
    the rest    the times once more, by CMA-ES: what a host hears depends on its sleeps, so errors
                go up and down along the way, and least squares stop early
    the end     what can be as it was with the relative becomes so, at hardly any cost

A table of rates without a queue begins at every shipped device that has times.  So does a
measurement that leaves the structure open, because no point speaks about the page, the unit or the
map; then the structure is kept as it is, with the page and the unit that reads across multiples may
have shown: only times move.

Errors count as those of `search` do, each point as much as any other.  A number that is not the
relative's counts, too, as if a point were missed by a tenth of the logarithm by which it has moved:
what no point speaks about stays, and a few figures move little.

Few figures can be met by wrong numbers.  So three results compete, and what decides is how near
each comes to figures that it was not given:

    as it is     the shipped device that comes nearest, with no number changed
    times        the best of those with times of their own
    numbers      what has climbed

Not modelled: what the host does.  Whoever measures on another host than the shipped cards were
measured on gets its habits (busy_poll, busy_ask) as numbers of the card.
"""

from __future__ import annotations

import math
from collections import ChainMap
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Mapping, MutableMapping, Sequence

import numpy as np

from ..core.errors import LabError
from ..measurement import figures
from ..measurement.schema import Measurement, Point
from ..probe import speaking
from ..runs.program import Tool
from .cards import (OF_UNITS, TIMES, Card, Shown, changed, neighbours, plain, resized, shipped,
                    shown_by)
from .compare import Comparer, Question, log_errors
from .fitting import Judged, intervals_of, summed
from .moves import BETTER, MISSING, STEPS, Climb, Mover, Stopped, counted, typical

# One comparison sends some 300 000 requests, as many as some comparisons of other measurements.
PRICE = 3
_FOLDS = 4
# How many relatives get times of their own, and how many climb.
_DESCEND, _CLIMB = 4, 2
# What a number that is not the relative's counts, as a residual: for each e-fold of a time, and for
# a size, number or word.
_MOVED, _REPLACED = 0.03, 0.05
# So many figures that do not follow from each other are enough to change more than times.
_CLIMBABLE = 12
# Of an error: what simpler numbers may cost.  Nothing below the noise counts: three runs of one
# test of a card differ by 1.2 % in the median.
_SIMPLER, _NOISE = 1.003, 0.01
# What a benchmark prints about a file or a region.
_RATES = ("iozone", "fio-rate", "load", "dd", "hdparm-t")
# What a profile has in any case.
_NEEDED = ("device.capacity", "nand.cell", "nand.pages_per_block", "nand.page_size", "nand.tR",
           "nand.tPROG", "nand.tBERS", "ftl.type", "ftl.unit_size", "link.type")

Told = Callable[[str, float], None]


@dataclass
class Related(Judged):
    """The result.

    card         the numbers
    told         what the points speak about
    relative     the keys as the shipped card has them, but the page and the unit that points show
    shown        these two, where the structure is the shipped card's otherwise
    plain        the keys as a card without any of its own has them
    chosen       which of the results this is, "as it is", "times" or "numbers"
    rivals       the typical error of each of these at what was left out
    kept         the keys that a climb leaves alone
    tried        the relatives, with times of their own if they have any, the nearest first
    """

    card: Card
    told: speaking.Told
    relative: dict[str, str]
    plain: dict[str, str]
    tried: list[Card] = field(default_factory=list)
    shown: Shown = field(default_factory=Shown)
    chosen: str = "times"
    rivals: dict[str, float] = field(default_factory=dict)
    kept: tuple[str, ...] = ()

    def keys(self) -> dict[str, str]:
        """In the order of the option table, without those that have their default."""
        keys = self.card.keys()
        return {k: keys[k] for k, default in self.plain.items()
                if k in keys and (k in _NEEDED or keys[k] != default)}


def applies(m: Measurement) -> bool:
    """Whether a measurement says that its host used a command queue or did not."""
    return any("queue" in dict(p.parameters) for p in m.points)


def are_rates(points: Sequence[Point]) -> bool:
    """Whether all points are rates as benchmarks print them, and nothing that asks for one number
    of a structure."""
    return all(p.procedure in _RATES for p in points)


def begins(m: Measurement, whole: Measurement) -> bool:
    """Whether a fit of a measurement, what can be compared of a `whole` one, begins at shipped
    cards: if no rules tell its structure."""
    return applies(m) or are_rates(whole.points) or not speaking.told(whole.points).structure


# The answers: ln(model / measured) of each point, none if there is no such card.
Known = MutableMapping[Question, list[float | None]]


class Search(Mover[Card, Card]):
    """One measurement, which of its points count, what is known of some cards, and what is left of
    a budget.  Numbers count that are not those of the card's relative, if it is in `relatives`."""

    def __init__(self, comparer: Comparer, m: Measurement, points: Sequence[int],
                 told: Callable[[float], None] = lambda error: None,
                 relatives: Mapping[str, Card] = {}, known: Known | None = None) -> None:
        super().__init__(told)
        self.kept: Sequence[str] = ()   # keys that a climb leaves alone
        self.known: Known = {} if known is None else known
        self._comparer = comparer
        self._m = m
        self._points = tuple(points)
        self._relatives = relatives

    def errors(self, cards: Sequence[Card]) -> list[list[float | None]]:
        """For each card ln(model / measured) of each point of the measurement; none if there is no
        such card.  What is known costs nothing."""
        every = [c.question() for c in cards]
        asked = [q for q in dict.fromkeys(every) if q not in self.known]
        if self.left < len(asked):
            raise Stopped
        self.left -= len(asked)
        for q, a in zip(asked, self._comparer.ask(asked)):
            self.known[q] = log_errors(a, self._m) if a.state == "done" else []
        return [self.known[q] for q in every]

    def residuals(self, cards: Sequence[Card]) -> list[Any]:
        """For each card an array: ln(model / measured) of each point that counts, and what its
        times count."""
        found = []
        for card, errors in zip(cards, self.errors(cards)):
            known = [errors[i] for i in self._points] if errors else []
            origin = self._relatives.get(card.relative)
            found.append(np.array([
                *(([MISSING if e is None else e for e in known]) if known else
                  [2 * MISSING] * len(self._points)),
                *([_MOVED * (x - was) for x, was in zip(card.x, origin.x)] if origin else [])]))
        return found

    def error(self, card: Card, residuals: Any) -> float:
        """The typical error, with what the card's numbers count."""
        origin = self._relatives.get(card.relative, card)
        words = sum(a != b for a, b in zip(card.words, origin.words)) * counted(_REPLACED)
        return typical((math.fsum(counted(residuals).tolist()) + words) / len(self._points))

    def _near(self, one: Card, others: Sequence[Any] = ()) -> list[Card]:
        return neighbours(one, self.kept)

    def moved(self, one: Card, to: Card) -> Card:
        return to

    def _form(self, near: Card) -> tuple[tuple[str, str], ...]:
        return near.words

    def _first_better(self, one: Card, near: list[Card], tried: set[Any]) -> Card | None:
        tried.update(n.words for n in near)
        found = min(self.judge(near), key=lambda c: c.error, default=one)
        return found if found.error < BETTER * one.error else None

    def intervals(self, card: Card) -> dict[str, float | None]:
        """Of the times, as `Related` has them."""
        self.left = len(card.times) + 1
        (base, slopes), count = self.jacobian(card), len(self._points)
        return intervals_of(card.times, card.x, slopes[:count], base[:count])

    def simplified(self, card: Card, relative: Card) -> Card:
        """Each number as the relative has it, if that costs hardly anything."""
        most = max(card.error * _SIMPLER, _NOISE)
        for k in range(len(card.times)):
            if card.x[k] != relative.x[k]:
                x = (*card.x[:k], relative.x[k], *card.x[k + 1:])
                card = self._unless(card, replace(card, x=x), most)
        for key, text in relative.words:
            if dict(card.words)[key] != text:
                card = self._unless(card, changed(card, key, text), most)
        return card

    def _unless(self, card: Card, other: Card, most: float) -> Card:
        self.left += 1
        found = self.judge([other])[0]
        return found if found.error <= most else card


def fit(tool: Tool, m: Measurement, budget: int, seed: int, jobs: int,
        told: Told = lambda what, error: None, whole: Measurement | None = None) -> Related:
    """The shipped card that comes nearest, with numbers of its own.  `budget` is that of `fitting`.
    The same arguments give the same card, whatever `jobs` is.  If the measurement is what can be
    compared of a `whole` one, all of that is done.  LabError if no card can be compared."""
    with Comparer(tool, m, jobs, whole=whole) as comparer:
        return _Fitting(tool, comparer, m, max(budget // PRICE, 1), seed, told).run(tool)


class _Fitting:
    """One measurement and a budget."""

    def __init__(self, tool: Tool, comparer: Comparer, m: Measurement, budget: int, seed: int,
                 told: Told) -> None:
        self._comparer = comparer
        self._m = m
        self._budget = budget
        self._seed = seed
        self._told = told
        self._best = math.inf
        self._known: Known = {}
        self._speaks = speaking.told(m.points)
        rates = applies(m) or are_rates(m.points)
        self._climbs = applies(m) or \
            rates and figures.independent(m.points) >= _CLIMBABLE
        self._shown = Shown() if rates else shown_by(m)
        every = shipped(tool, m.capacity, not applies(m))
        self._relatives = every if rates else \
            [c for c in (resized(c, self._shown) for c in every) if c]

    def _search(self, what: str, points: Sequence[int], comparisons: int) -> Search:
        """A search that knows what is known so far; what it learns, it learns for itself."""
        search = Search(self._comparer, self._m, points,
                        lambda error: self._told(what, min(error, self._best)),
                        {c.relative: c for c in self._relatives}, ChainMap({}, self._known))
        search.kept = [key for key, told in (
            ("nand.page_size", self._speaks.page), ("link.queue", applies(self._m)),
            *((key, self._speaks.unit) for key in OF_UNITS)) if not told]
        search.left = comparisons
        return search

    def run(self, tool: Tool) -> Related:
        """Searches; LabError if no relative makes a device that can be compared."""
        points = self._comparable()
        nearest, tried = self._descended(points)
        results = {"as it is": nearest, "times": tried[0]}
        self._best = tried[0].error
        if self._climbs:
            results["numbers"] = self._climbed(tried, points)
        held = {what: self._held(what, card, points) for what, card in results.items()}
        chosen = min(held, key=lambda what: (held[what][0], results[what].error))
        best, left_out = results[chosen], summed(held[chosen][1])
        self._best = best.error
        relative = next(c for c in self._relatives if c.relative == best.relative)
        last = self._search("the end", points, 0)
        best = last.simplified(best, relative)
        intervals = last.intervals(best)
        answer = self._comparer.ask([best.question()])[0]
        return Related(
            best, self._speaks, relative.keys(), plain(tool, dict(best.words)), tried, self._shown,
            chosen, {what: error for what, (error, _) in held.items()}, tuple(last.kept),
            errors=log_errors(answer, self._m), measured=list(answer.measured),
            points=self._m.points, intervals=intervals,
            held=[("a quarter of the points, four times", left_out)] if left_out else [],
            comparisons=self._comparer.asked)

    def _comparable(self) -> list[int]:
        """The points that the relatives have values for; from now on only those count that have the
        most, because a small one has no room for a large file."""
        search = self._search("relatives", [], len(self._relatives))
        search.known = self._known
        have = [{i for i, e in enumerate(errors) if e is not None}
                for errors in search.errors(self._relatives)]
        most = max(have, key=len)
        if not most:
            why = self._comparer.ask([c.question() for c in self._relatives[:1]])[0].message
            raise LabError("no point of the measurement can be compared with a card of today" +
                           (f": {why}" if why else "") + "; see flashemu-measurement(5)")
        self._relatives = [c for c, points in zip(self._relatives, have) if points == most]
        return sorted(most)

    def _descended(self, points: Sequence[int]) -> tuple[Card, list[Card]]:
        """The relative that is nearest as it is, and all of them, the nearest ones with times of
        their own."""
        judged = sorted(self._search("relatives", points, 0).judge(self._relatives),
                        key=lambda c: c.error)
        share = max(self._budget // (4 * _DESCEND), len(TIMES) + STEPS + 2)
        some = judged[:_DESCEND if self._budget >= 400 or not self._climbs else 2]
        searches = [self._search("relatives", points, share) for _ in some]
        found = self._comparer.side_by_side(lambda at: at[0].times(at[1]),
                                            list(zip(searches, some)))
        for search in searches:
            self._known.update(search.known)
        return judged[0], sorted([*found, *judged[len(some):]], key=lambda c: c.error)

    def _climbed(self, tried: Sequence[Card], points: Sequence[int]) -> Card:
        """The nearest ones with other numbers and words, and the times of the best once more."""
        climbing = tried[:_CLIMB if self._budget >= 400 else 1]
        share = self._budget // 2 // len(climbing)
        searches = [self._search("numbers", points, share) for _ in climbing]
        best = min(self._comparer.side_by_side(
            lambda at: at[0].structure(Climb(at[1])), list(zip(searches, climbing))),
            key=lambda c: c.error)
        self._best = best.error
        best = self._search("the rest", points, self._budget // 4 +
                            sum(s.left for s in searches)).rest(best, self._seed)
        return self._search("the rest", points, 2 * (len(TIMES) + STEPS + 2)).times(best)

    def _held(self, what: str, result: Card,
              points: Sequence[int]) -> tuple[float, list[float | None]]:
        """The errors at a quarter of the points, four times, of a smaller search without them: from
        the relative on, with times and then words of its own.  The typical error in front."""
        relative = next(c for c in self._relatives if c.relative == result.relative)
        order = [points[int(k)] for k in np.random.default_rng(self._seed).permutation(
            len(points))]
        share = max(self._budget // 12, len(TIMES) + STEPS + 2)

        def without(left: Sequence[int]) -> list[float | None]:
            search = self._search("held out", [i for i in points if i not in set(left)], share)
            card = search.judge([relative])[0]
            if what != "as it is":
                card = search.times(card)
            if what == "numbers":
                card = search.structure(Climb(card))
            search.left = 1
            return [search.errors([card])[0][i] for i in left]
        folds = [fold for fold in (order[k::_FOLDS] for k in range(_FOLDS)) if fold]
        errors = [e for some in self._comparer.side_by_side(without, folds) for e in some]
        missed = [counted(MISSING if e is None else e) for e in errors]
        return typical(math.fsum(missed) / len(missed)), errors
