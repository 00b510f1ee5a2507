# SPDX-License-Identifier: BSD-3-Clause
"""A profile that is there, and a measurement: the same structure with numbers that come nearer.

`fit` looks for a structure.  Whoever knows it already, from a data sheet or from another profile,
has a profile that is nearly right.  Here its times, rates and numbers of units move together
(CMA-ES with margins), and everything else stays as it is written.

A sum over all points would let one sort of test pay for another one.  So a set of numbers is as
good as the sort of test that it does worst, compared with the profile as it was:

    set 1   |#######      in order   |####      random order           the longest bar counts
    set 2   |#####        in order   |######    random order           set 2 is the better one

A bar shorter than that of the profile means that every sort came nearer.  Errors below `_NOISE` are
no worse than others, because two runs on one device differ by as much.

A read across a boundary of pages takes little more than one beside it.  So how much more it takes
can be far off while each of the two times is near, and these steps are a sort by themselves.

Not moved: what is no number (the strategy, copyback), the sizes that the chip is made of, numbers
of open units that no point speaks about, and times that no test of a measurement can reach.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

import numpy as np

from ..core.errors import LabError
from ..core.units import quantity
from ..measurement.schema import Measurement
from ..probe import speaking
from ..probe.speaking import Told
from ..runs.expression import parse_profile
from ..runs.program import Tool
from .compare import Answer, Comparer, Question, log_errors
from .fitting import Judged
from .model import LEAST_LOG, RATES, TIMES, Time, changes
from .moves import BETTER, by_chance, counted, typical
from .search import kind

# An error that is no worse than none.
_NOISE = 0.02
# What the mean of all sorts counts beside the worst one, so that there is a slope where that one is
# stuck.
_MEAN_SHARE = 0.1
# Of the logarithm of a time: the first step.
_STEP = 0.04
# A set of numbers that makes no device.
_REFUSED = 100.0
# What a number that is as it was may cost.
_SIMPLER = 1.002
# A step is a sort of test if it is at least this share of a read beside it; a step that the model
# does not have counts as this share of what was measured.
_SHOWS = 0.05
_NO_STEP = 0.01
STEPS = "steps at multiples (-a)"
# Numbers of units, and sizes that are doubled or halved, each with its least value.
_UNITS = {"ftl.scattered": 1, "ftl.small_log": LEAST_LOG, "ftl.open_linear": 1,
          "ftl.open_random": 1, "ftl.open_units": 1}
_DOUBLED = {"ftl.map_region": 16 << 10, "ftl.small_write": 512}
# Most cards take no such time, and those that do show it to a fit.
_IF_THERE = ("ftl.rest_write", "ftl.rest_read", "ftl.end_read")

# Shows the worst sort's error, as a share of what it was; None while no numbers are better.
Show = Callable[[float | None], None]


@dataclass(frozen=True)
class Number:
    """One that moves.

    key, part   of the profile, and which of the values that `/` divides
    begin       where the search begins, on its scale
    low, high   the ends of that scale
    step        what is a small change there; whole numbers have 1
    time        of a time or rate its scale; None for numbers of units
    least       of a size that is doubled: the one at 0
    """

    key: str
    part: int
    begin: float
    low: float
    high: float
    step: float
    time: Time | None = None
    least: int = 0

    def text(self, x: float) -> str:
        """As a profile has it."""
        if self.time is None:
            return size_text(self.least << round(x)) if self.least else str(round(x))
        return time_text(self.time, self.time.from_x(x))


def time_text(time: Time, value: float) -> str:
    """A time in ns or a rate in bytes/s as a profile has it, with four digits."""
    if value <= 0:
        return "0"
    digits = max(0, math.floor(math.log10(value)) - 3)
    value = round(value / 10**digits) * 10**digits
    if time.key in RATES:
        return f"{value / 1e6:g}MB/s" if value >= 1e6 else f"{max(value // 1000, 1)}KB/s"
    return f"{value / 1000:g}us" if value >= 1000 else f"{value}ns"


@dataclass
class Refined(Judged):
    """What came out.

    before, after   of each number that moved, its key and value as written
    was             ln(model / measured) of each point, with the profile
    """

    before: dict[str, str]
    after: dict[str, str]
    was: list[float | None]

    @property
    def better(self) -> bool:
        """Whether there are such numbers."""
        return bool(self.after)


def size_text(count: int) -> str:
    """Bytes as a profile has them."""
    for shift, unit in ((20, "M"), (10, "K")):
        if count % (1 << shift) == 0:
            return f"{count >> shift}{unit}"
    return str(count)


def _split(text: str) -> list[str]:
    """The values that `/` divides; the one in MB/s divides none."""
    return re.split(r"/(?!s$)", text)


def numbers(keys: Mapping[str, str], told: Told) -> list[Number]:
    """Those of a profile that a search moves, of its keys with every default spelled out; `told` is
    what the points speak about."""
    found = []
    kept = {"ftl.open_linear": not told.open_linear, "ftl.open_random": not told.open_random,
            "ftl.open_units": not (told.open_linear or told.open_random)}
    for time in TIMES:
        for part, text in enumerate(_split(keys.get(time.key, ""))):
            value = quantity(text)
            if value is None or value <= 0 and (not time.zero or time.key in _IF_THERE):
                continue
            x, (low, high) = time.to_x(value), time.bounds
            found.append(Number(time.key, part, x, min(low, x), max(high, x), _STEP, time))
    for key, least in _UNITS.items():
        value = quantity(keys.get(key, "")) or 0
        if value >= least and not kept.get(key):
            found.append(Number(key, 0, value, least, 2 * value + 4, 1.0))
    for key, least in _DOUBLED.items():
        value = quantity(keys.get(key, "")) or 0
        exponent = math.log2(value / least) if value >= least else -1.0
        if exponent >= 0 and exponent == int(exponent):
            found.append(Number(key, 0, exponent, 0, exponent + 8, 1.0, least=least))
    return found


def written(some: Sequence[Number], x: Sequence[float], keys: Mapping[str, str]) -> dict[str, str]:
    """The keys at a place of the search, as a profile has them; without those that are as they
    were."""
    found: dict[str, str] = {}
    for number, at in zip(some, x):
        parts = _split(found.get(number.key, keys[number.key]))
        if at != number.begin:
            parts[number.part] = number.text(at)
        found[number.key] = "/".join(parts)
    return {key: text for key, text in found.items() if text != keys[key]}


def _steps(m: Measurement, errors: Sequence[float | None]) -> list[float]:
    """ln(model / measured) of what a read of -a across a multiple takes more than those beside it;
    of the multiples where that shows."""
    # by multiple and size, then by place: measured, and of the model
    times: dict[tuple[object, object], dict[object, tuple[float, float]]] = {}
    for p, error in zip(m.points, errors):
        how = dict(p.parameters)
        if p.procedure == "flashbench-align" and error is not None:
            times.setdefault((how["align"], how["bs"]), {})[how["place"]] = (
                p.value, p.value * math.exp(error))
    found = []
    for at in times.values():
        if at.keys() >= {"pre", "on", "post"}:
            beside = [(before + behind) / 2 for before, behind in zip(at["pre"], at["post"])]
            measured, model = (on - least for on, least in zip(at["on"], beside))
            if measured >= _SHOWS * beside[0]:
                found.append(math.log(max(model / measured, _NO_STEP)))
    return found


def sorts(m: Measurement, errors: Sequence[float | None]) -> dict[str, list[float]]:
    """ln(model / measured) of each sort of test, of the points that have one."""
    found: dict[str, list[float]] = {}
    for p, error in zip(m.points, errors):
        if error is not None:
            found.setdefault(kind(p), []).append(error)
    steps = _steps(m, errors)
    return found | {STEPS: steps} if steps else found


class Judge:
    """Tells how good errors are, compared with those of the profile as it was."""

    def __init__(self, m: Measurement, was: Sequence[float | None]) -> None:
        self._m = m
        self._counts = [e is not None for e in was]
        if not any(self._counts):
            raise LabError("no point of the measurement can be compared with this profile; see "
                           "flashemu-measurement(5)")
        self._was = self._each(was)

    def _each(self, errors: Sequence[float | None]) -> list[tuple[float, float]]:
        """The median error of each sort, and its typical one; none if a point has no value now."""
        known = [e if counts else None for e, counts in zip(errors, self._counts)]
        if [e is not None for e in known] != self._counts:
            return []
        return [(max(float(np.median(np.abs(np.expm1(of_sort)))), _NOISE),
                 max(typical(float(counted(np.array(of_sort)).mean())), _NOISE))
                for of_sort in sorts(self._m, known).values()]

    def value(self, errors: Sequence[float | None]) -> float:
        """Below 1 only if no sort's median error is larger; then the less, the better."""
        now = self._each(errors)
        if not now:
            return _REFUSED
        worst = max(n[0] / w[0] for n, w in zip(now, self._was))
        mean = sum(n[1] / w[1] for n, w in zip(now, self._was)) / len(now)
        return worst if worst > 1 else worst + _MEAN_SHARE * (mean - 1)


def refine(tool: Tool, profile: str, m: Measurement, budget: int, seed: int, jobs: int,
           show: Show = lambda worst: None, whole: Measurement | None = None) -> Refined:
    """The numbers of a profile with which it comes nearest to a measurement; `budget` is a number
    of comparisons.  If the measurement is what can be compared of a `whole` one, all of that is
    done.  The same arguments give the same numbers, whatever `jobs` is.  LabError if the
    profile and the measurement cannot be compared."""
    keys = parse_profile(tool.canonical(profile, ()))
    some = numbers(keys, speaking.told(m.points))
    with Comparer(tool, m, jobs, profile, whole) as comparer:
        def ask(places: Sequence[Sequence[float]]) -> list[Answer]:
            return comparer.ask([Question("", tuple(changes(written(some, x, keys))))
                                 for x in places])
        begin = [n.begin for n in some]
        first = ask([begin])[0]
        if first.state != "done":
            raise LabError(f"{profile}: {first.message}")
        was = log_errors(first, m)
        search = _Search(ask, some, Judge(m, was), m, show)
        search.run(budget - 2 - len(some), seed)
        search.simplify()
        after = written(some, search.best, keys)
        last = ask([search.best])[0]
        return Refined({key: keys[key] for key in after}, after, was, errors=log_errors(last, m),
                       measured=list(last.measured), comparisons=comparer.asked)


class _Search:
    """The best place so far, from the profile's numbers on, and what it is worth."""

    def __init__(self, ask: Callable[[Sequence[Sequence[float]]], list[Answer]],
                 some: Sequence[Number], judge: Judge, m: Measurement, show: Show) -> None:
        self.best = [n.begin for n in some]
        self.least = BETTER
        self._ask = ask
        self._some = some
        self._judge = judge
        self._m = m
        self._show = show

    def _values(self, places: Sequence[Sequence[float]]) -> list[float]:
        answers = self._ask(places)
        if all(a.state != "done" for a in answers):
            raise LabError(answers[0].message)
        return [self._judge.value(log_errors(a, self._m)) if a.state == "done" else _REFUSED
                for a in answers]

    def run(self, budget: int, seed: int) -> None:
        """By chance, until so many comparisons were made or nothing is better any more."""
        def values(places: list[list[float]]) -> list[float] | None:
            nonlocal budget
            if budget < len(places):
                return None
            budget -= len(places)
            found = self._values(places)
            for value, place in zip(found, places):
                if value < self.least:
                    self.best, self.least = place, value
            self._show(self.least if self.least < BETTER else None)
            return found
        by_chance(self.best, ([n.low for n in self._some], [n.high for n in self._some]),
                  [n.step for n in self._some], [n.time is None for n in self._some], seed, values)

    def simplify(self) -> None:
        """Each number goes back to where it was if that costs hardly anything."""
        most = self.least * _SIMPLER
        for i, number in enumerate(self._some):
            if self.best[i] != number.begin:
                place = [*self.best[:i], number.begin, *self.best[i + 1:]]
                if self._values([place])[0] <= most:
                    self.best = place
