# SPDX-License-Identifier: BSD-3-Clause
"""How a search moves, whatever its candidates are.

    times      down the slopes of the errors, by least squares (`descent`)
    form       to the neighbour that is better; where none is, the times get new slopes, and the
               nearest neighbours get times of their own, because times can make up for a wrong form
    by chance  CMA-ES, for times and whole numbers together

A candidate has times, on the scale on which a search works, and a form, which is everything else: a
structure, or the sizes and words of a shipped card.  Each comparison has a price, and a search that
has used up its budget ends with what it has reached.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Callable, Generic, Hashable, Sequence, TypeVar, cast

import numpy as np

from ..core.errors import module
from .compare import Question
from .descent import Descent
from .model import Time, changes

# Of a time, the step for its slope; from 0 on; and the first one by chance.
_STEP, _FIRST_STEP, SPREAD = 0.04, 0.3, 0.08
SOFT = 0.1
# Beyond this an error counts less and less.
KNEE = 0.05
# Comparisons along one descent, besides those for the slopes; and what it must gain if another one
# is to follow.
STEPS = 8
_SETTLED = 0.995
# Of the error: what is not better than this is no better.
BETTER = 0.998
# ln of the error of a point that a candidate cannot have at all.
MISSING = 1.5


def counted(errors: Any) -> Any:
    """What logarithmic errors count, elementwise; as the program adds them up with a knee."""
    return KNEE * np.log1p(np.abs(errors) / KNEE)


def typical(mean: float) -> float:
    """The error that counts so much; the inverse of `counted`."""
    return KNEE * math.expm1(mean / KNEE)


class Candidate:
    """Something that may be the device: its times, on the scale of a search, everything else, and
    its typical error, infinity if nobody has compared it."""

    x: tuple[float, ...]
    error: float

    @property
    def known(self) -> tuple[Time, ...]:
        """The times that it has, one for each of `x`."""
        raise NotImplementedError

    @property
    def form(self) -> Hashable:
        """What is no time."""
        raise NotImplementedError

    @property
    def strategy(self) -> str:
        """Of its profile."""
        raise NotImplementedError

    def keys(self) -> dict[str, str]:
        """Of its profile."""
        raise NotImplementedError

    def question(self) -> Question:
        """About all points, whatever it takes."""
        return Question(self.strategy, tuple(changes(self.keys())))


C = TypeVar("C", bound=Candidate)
N = TypeVar("N", bound=Hashable)


class Stopped(Exception):
    """The budget is used up.  `best` is the candidate that a move has reached by then."""

    def __init__(self, best: Any = None) -> None:
        super().__init__()
        self.best = best


class Climb(Generic[C]):
    """Where a search for a better form is, and what it need not try again."""

    def __init__(self, fit: C) -> None:
        self.fit = fit
        self.others: list[Any] = []   # forms from which it may take something
        self.tried: set[Any] = {fit.form}
        self.refitted: set[Any] = {fit.form}
        self.settled = False

    def move(self, fit: C) -> None:
        """To a better form."""
        self.fit, self.settled = fit, False


class Mover(Generic[C, N]):
    """A search with what is `left` of its budget, in comparisons; if that is too little, `Stopped`
    is raised.  N is a neighbour's form, or the neighbour itself."""

    scale = SOFT    # the residual beyond which a descent counts one less and less

    def __init__(self, told: Callable[[float], None]) -> None:
        self.best = math.inf
        self.left = 0
        self._told = told
        self._descent = Descent()

    # --- what the candidates are ---

    def residuals(self, some: Sequence[C]) -> list[Any]:
        """For each an array: what is off, the squares of which a descent makes less."""
        raise NotImplementedError

    def error(self, one: C, residuals: Any) -> float:
        """The typical error with these residuals."""
        raise NotImplementedError

    def judge(self, some: Sequence[C]) -> list[C]:
        """The same with their errors."""
        found = [self.placed(c, c.x, self.error(c, r)) for c, r in zip(some, self.residuals(some))]
        self.note(*(c.error for c in found))
        return found

    def _near(self, one: C, others: Sequence[Any] = ()) -> list[N]:
        """The neighbours, and what the candidate can take from others."""
        raise NotImplementedError

    def moved(self, one: C, to: N) -> C:
        """The candidate as such a neighbour, with the times that it has then."""
        raise NotImplementedError

    def placed(self, one: C, x: tuple[float, ...], error: float = math.inf) -> C:
        """The same form with other times."""
        found: C = replace(cast(Any, one), x=x, error=error)
        return found

    def _first_better(self, one: C, near: list[N], tried: set[Any]) -> C | None:
        """A neighbour that is better; what was compared is added to `tried`."""
        raise NotImplementedError

    def _form(self, near: N) -> Hashable:
        return near

    def _numbers(self, one: C) -> list[tuple[float, float, float]]:
        """What moves by chance besides the times, in whole steps: where it is, and its ends."""
        return []

    def _at(self, one: C, x: Sequence[float]) -> C:
        """The candidate with these times, and numbers behind them."""
        return self.placed(one, tuple(x))

    # --- moves ---

    def note(self, *errors: float) -> None:
        """Tells the best error so far."""
        self.best = min([self.best, *errors])
        self._told(self.best)

    def jacobian(self, one: C) -> tuple[Any, Any]:
        """The residuals, and the change of each with each time; shape (residuals, times)."""
        base = self.residuals([one])[0]
        return base, self._slopes(one, base)

    def _slopes(self, one: C, base: Any, zeros: bool = True) -> Any:
        """The slopes of `jacobian`, with the residuals here; without `zeros`, times that are 0 have
        no slope, which saves a comparison each."""
        columns = np.zeros((len(base), len(one.x)))
        steps = {k: _FIRST_STEP if t.zero and x < _STEP else
                 _STEP if x + _STEP <= t.bounds[1] else -_STEP
                 for k, (x, t) in enumerate(zip(one.x, one.known)) if zeros or x != 0 or not t.zero}
        tried = [self.placed(one, (*one.x[:k], one.x[k] + step, *one.x[k + 1:]))
                 for k, step in steps.items()]
        for (k, step), r in zip(steps.items(), self.residuals(tried)):
            columns[:, k] = (r - base) / step
        return columns

    def _missed(self, residuals: Any) -> float:
        """What a descent that goes down `sharply` makes less."""
        raise NotImplementedError

    def _descend(self, one: C, zeros: bool = True, sharply: bool = False) -> C:
        """A few steps of least squares.  The slopes are those of the last descent, if there was
        one: they hardly change with the form."""
        best, least = one, math.inf if sharply else one.error
        kept: dict[tuple[float, ...], Any] = {}

        def at(x: Any) -> Any:
            nonlocal best, least
            here = tuple(float(v) for v in x)
            if here not in kept:
                kept[here] = self.residuals([self.placed(one, here)])[0]
                error = self.error(one, kept[here])
                value = self._missed(kept[here]) if sharply else error
                if value < least:
                    best, least = self.placed(one, here, error), value
                    self.note(error)
            return kept[here]

        def slopes_at(x: Any, base: Any) -> Any:
            return self._slopes(self.placed(one, tuple(float(v) for v in x)), base, zeros)

        bounds = [t.bounds[0] for t in one.known], [t.bounds[1] for t in one.known]
        try:
            self._descent.run(at, slopes_at, one.x, bounds, "cauchy" if sharply else "soft_l1",
                              self.scale, STEPS)
        except Stopped:
            raise Stopped(best) from None
        return best

    def times(self, one: C, rounds: float = math.inf, zeros: bool = True) -> C:
        """The same form with better times: at most `rounds` descents, each with slopes of its own,
        until there is no gain.  What was reached is kept if the budget ends.  Without `zeros`,
        times that are 0 stay so."""
        before = math.inf
        try:
            while rounds > 0 and not one.error > _SETTLED * before:
                rounds, before = rounds - 1, one.error
                self._descent.slopes = None
                one = self._descend(one, zeros)
        except Stopped as stopped:
            one = stopped.best if stopped.best else one
        return one

    def structure(self, climb: Climb[C]) -> C:
        """Goes on with a climb until the budget ends or there is nothing better near, and returns
        where it is."""
        try:
            while self._step(climb):
                pass
        except Stopped as stopped:
            if stopped.best and stopped.best.error < climb.fit.error:
                climb.move(stopped.best)
        return climb.fit

    def rest(self, one: C, seed: int) -> C:
        """CMA-ES with margins around a candidate, until the budget ends or nothing is better any
        more."""
        def values(places: list[list[float]]) -> list[float]:
            nonlocal one
            found = self.judge([self._at(one, x) for x in places])
            one = min([one, *found], key=lambda c: c.error)
            return [min(c.error, 10.0) for c in found]
        numbers, times = self._numbers(one), len(one.x)
        ends = [*(t.bounds for t in one.known), *((low, high) for _, low, high in numbers)]
        try:
            by_chance([*one.x, *(begin for begin, _, _ in numbers)],
                      ([low for low, _ in ends], [high for _, high in ends]),
                      [SPREAD] * times + [1.0] * len(numbers),
                      [n >= times for n in range(len(ends))], seed, values)
        except Stopped:
            pass
        return one

    def _step(self, climb: Climb[C]) -> bool:
        """The best neighbour that is better; or new slopes; or a neighbour with times of its own.
        Returns whether there is more to try."""
        one = climb.fit
        better = self._first_better(one, [n for n in self._near(one, climb.others)
                                          if self._form(n) not in climb.tried], climb.tried)
        if better is not None:
            climb.move(better)
            climb.fit = self._descend(better)
        elif not climb.settled:
            self._descent.slopes = None
            climb.fit = self._descend(one)
            climb.settled = True
        else:
            rest = [n for n in self._near(one) if self._form(n) not in climb.refitted]
            if not rest:
                return False
            other = self._descend(self.moved(one, rest[0]))
            climb.refitted.add(self._form(rest[0]))
            if other.error < BETTER * one.error:
                climb.move(other)
        return True


def by_chance(begin: Any, bounds: tuple[Any, Any], steps: Any, whole: Sequence[bool], seed: int,
              values: Callable[[list[list[float]]], Sequence[float] | None]) -> None:
    """CMA-ES with margins, so that a whole number does not get stuck, until nothing is better any
    more, or `values` of some places is None or raises.  `steps` are small changes of the numbers,
    1 for whole ones; what begins beyond its bounds by a rounding error begins at them."""
    low, high, unit = (np.array(a, dtype=float) for a in (*bounds, steps))
    optimizer = module("cmaes", "python3-cmaes").CMAwM(
        mean=np.clip(np.array(begin, dtype=float), low, high) / unit, sigma=1.0,
        steps=np.array(whole, dtype=float), seed=seed,
        bounds=np.stack([low / unit, high / unit], axis=1))
    while not optimizer.should_stop():
        asked = [optimizer.ask() for _ in range(optimizer.population_size)]
        found = values([[float(v) for v in x * unit] for x, _ in asked])
        if found is None:
            break
        optimizer.tell([(raw, value) for (_, raw), value in zip(asked, found)])
