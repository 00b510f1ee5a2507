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

A measurement may also leave the structure open, because no point speaks about the page, the unit or
the map.  Then the search begins at every shipped device that has times, and its structure is kept
as it is, with the page and the unit that reads across multiples may have shown: only times move.

Errors count as those of `search` do, each point as much as any other.

Not modelled: what the host does.  Whoever measures on another host than the shipped cards were
measured on gets its habits (busy_poll, busy_ask) as numbers of the card.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from ..core.errors import LabError, module
from ..core.units import quantity
from ..measurement.schema import Measurement, Point
from ..probe import speaking
from ..probe.findings import Found, judge
from ..probe.tests import unit_reads, unit_size
from ..runs.expression import parse_profile
from ..runs.program import Tool
from .compare import BASE, Comparer, Question, log_errors
from .descent import Descent
from .fitting import Errors, Judged, intervals_of, summed
from .model import Time, changes
from .refining import size_text, time_text
from .search import SOFT, counted, typical

# One comparison sends some 300 000 requests, as many as some comparisons of other measurements.
PRICE = 3
_FOLDS = 4
# How many relatives get times of their own, and how many climb.
_DESCEND, _CLIMB = 4, 2
_STEPS, _STEP, _FIRST_STEP = 8, 0.04, 0.3
# Of the logarithm of a time, the first step of CMA-ES.
_SPREAD = 0.08
# ln of the error of a point that a card cannot have.
_MISSING = 1.5
# Of an error: what is better by less is no better, and what simpler numbers may cost.  Nothing
# below the noise counts: three runs of one test of a card differ by 1.2 % in the median.
_BETTER, _SIMPLER, _NOISE = 0.998, 1.003, 0.01
# What a profile has in any case.
_NEEDED = ("device.capacity", "nand.cell", "nand.pages_per_block", "nand.page_size", "nand.tR",
           "nand.tPROG", "nand.tBERS", "ftl.type", "ftl.unit_size", "link.type")
# What the defaults of others follow from.
_PLAIN = ("device.capacity", "nand.cell", "link.type")
_PLAIN_UNITS = ("nand.page_size", "nand.pages_per_block", "ftl.unit_size")
# What follows from other keys, and what is another card's.
_DERIVED = ("nand.blocks_per_plane", "nand.oob_size", "device.model", "device.claimed_capacity")

TIMES = (
    Time("nand.tR", 1e3, 2e6), Time("nand.tPROG", 1e4, 2e7), Time("nand.slc_tR", 1e3, 2e6),
    Time("nand.slc_tPROG", 1e4, 2e7), Time("nand.bus_rate", 1e7, 4e9),
    Time("ftl.map_switch", 1e4, 1e7, True), Time("ftl.map_read", 1e4, 1e7, True),
    Time("ftl.stream_read", 1e4, 1e7, True), Time("link.bandwidth", 5e6, 1e9),
    Time("link.command_overhead", 1e3, 1e7), Time("link.task_overhead", 1e3, 1e7, True),
    Time("link.write_overhead", 1e3, 1e7, True), Time("link.busy_poll", 1e4, 1e6, True),
    Time("link.busy_ask", 1e4, 1e6, True))


@dataclass(frozen=True)
class Ladder:
    """A size or number of which the next ones are tried: twice and half of it, and with `ones` one
    more and less.  A key that may be turned off has a word for it, `off`; the first value then."""

    least: int
    most: int
    off: str = ""
    first: int = 0
    ones: bool = False

    def next_to(self, value: int) -> list[int]:
        """The values to try instead."""
        if value == 0:
            return [self.first]
        found = [value * 2, value // 2, *([value - 1, value + 1] if self.ones else [])]
        kept = [v for v in dict.fromkeys(found) if self.least <= v <= self.most and v != value]
        return kept + ([0] if self.off else [])


_KIB, _MIB = 1 << 10, 1 << 20
_LADDERS: Mapping[str, Ladder] = {
    "nand.page_size": Ladder(4 * _KIB, 32 * _KIB),
    "nand.dies_per_channel": Ladder(1, 64, ones=True),
    "ftl.map_region": Ladder(256 * _KIB, 64 * _MIB), "ftl.map_held": Ladder(1, 256),
    "ftl.slc_run": Ladder(8 * _KIB, _MIB, "never", 64 * _KIB),
    "ftl.slc_gather": Ladder(16 * _KIB, 256 * _KIB, "page", 64 * _KIB),
    "ftl.slc_dies": Ladder(1, 4, "all", 1),
    "cache.size": Ladder(16 * _KIB, _MIB, "none", 64 * _KIB),
    "cache.write_behind": Ladder(16 * _KIB, _MIB, "none", 64 * _KIB),
    "link.turn_read": Ladder(4 * _KIB, 512 * _KIB, "none", 32 * _KIB),
    "link.read_buffer": Ladder(8 * _KIB, 512 * _KIB, "none", 64 * _KIB)}
_COUNTS = ("nand.dies_per_channel", "ftl.map_held", "ftl.slc_dies")
_WORDS: Mapping[str, tuple[str, ...]] = {
    "ftl.slc_pause": ("yes", "no"), "cache.mode": ("on", "off"),
    "link.queue": ("in-order", "in-turn", "off")}

Told = Callable[[str, float], None]


@dataclass(frozen=True)
class Card:
    """A set of numbers: a shipped card's name, its keys that are no times, as text, and the times
    on the scale of a search.  `error` is typical, infinity if nobody has compared it.  `times` are
    those of `TIMES` that its profile has, and as one number."""

    relative: str
    words: tuple[tuple[str, str], ...]
    x: tuple[float, ...]
    error: float = math.inf
    times: tuple[Time, ...] = TIMES

    @property
    def strategy(self) -> str:
        """As the profile has it."""
        return dict(self.words)["ftl.type"]

    def keys(self) -> dict[str, str]:
        """Every key of a profile but those that follow from others."""
        return {**dict(self.words),
                **{t.key: time_text(t, t.from_x(x)) for t, x in zip(self.times, self.x)}}


@dataclass(frozen=True)
class Shown:
    """The page and the unit that the points show, in bytes, and why; 0 and "" if they show none."""

    page: int = 0
    unit: int = 0
    unit_why: str = ""

    def reason(self, key: str) -> str:
        """Why a key of a profile has its value; "" if it does not follow from the points."""
        return "" if not {"nand.page_size": self.page, "ftl.unit_size": self.unit}.get(key) else \
            "reads or shifted writes show the page" if key == "nand.page_size" else self.unit_why


@dataclass
class Related(Judged):
    """The result.

    card         the numbers
    told         what the points speak about
    relative     the keys as the shipped card has them, but the page and the unit that points show
    shown        these two, where the structure is the shipped card's otherwise
    plain        the keys as a card without any of its own has them
    intervals    for each time the factor by which it may be off, or None if not identifiable
    errors       ln(model / measured) of each point, None if not comparable
    measured     of the model, for each point
    held         what was left out, and the errors of a smaller search without it there
    tried        the relatives, with times of their own if they have any, the nearest first
    comparisons  how many there were
    """

    card: Card
    told: speaking.Told
    relative: dict[str, str]
    plain: dict[str, str]
    intervals: dict[str, float | None]
    errors: list[float | None]
    measured: list[float | None]
    held: list[tuple[str, Errors]] = field(default_factory=list)
    tried: list[Card] = field(default_factory=list)
    comparisons: int = 0
    shown: Shown = field(default_factory=Shown)
    points: tuple[Point, ...] = ()

    def keys(self) -> dict[str, str]:
        """Of the profile, in the order of the option table, without those that have their
        default."""
        keys = self.card.keys()
        return {k: keys[k] for k, default in self.plain.items()
                if k in keys and (k in _NEEDED or keys[k] != default)}


def applies(m: Measurement) -> bool:
    """Whether a measurement says that its host used a command queue or did not."""
    return any("queue" in dict(p.parameters) for p in m.points)


def shipped(tool: Tool, capacity: int = 0, any_device: bool = False) -> list[Card]:
    """The shipped cards of today, which have an SLC cache, or all devices, with this capacity if it
    is known."""
    every = {name: parse_profile(tool.canonical(name, ())) for name in tool.profiles()}
    own = {"device.capacity": size_text(capacity)} if capacity else {}
    return [_card(name, {**keys, **own}) for name, keys in every.items()
            if keys.get("nand.tR") != "0" and (
                any_device or keys.get("ftl.slc_mode", "off") != "off")]


def shown_by(m: Measurement) -> Shown:
    """What tests of the page and the unit themselves tell, such as flashbench -a."""
    found = Found(list(m.points))
    judge(found)
    page = found.page or 0
    if found.unit:
        return Shown(page, found.unit, unit_size.reason(m.points))
    step = unit_reads.step_from(m.points)
    return Shown(page, step[0], "reads across its multiples take longer") if step else Shown(page)


def resized(card: Card, told: Shown) -> Card | None:
    """The card with the page and the unit that points show; None if it has no units and points
    show one, or if its groups make no such unit."""
    words = dict(card.words)
    if told.unit and "ftl.unit_size" not in words:
        return None
    group = int(words.get("ftl.group_units", "1"))
    page, old = told.page or int(quantity(words["nand.page_size"]) or 0), words["nand.page_size"]
    planes = int(words["nand.planes_per_die"]) if words.get("nand.multiplane") == "yes" else 1
    block = int(quantity(old) or 0) * int(words["nand.pages_per_block"]) * planes
    if told.page:
        card = _scaled(card, "nand.page_size", size_text(page), page / (quantity(old) or page))
    if told.unit:
        unit = block = told.unit // group
        if told.unit % group or unit % page or unit < page:
            return None
        card = _changed(card, "ftl.unit_size", size_text(unit))
    pages = block // (page * planes)
    return _changed(card, "nand.pages_per_block", str(pages)) if pages else None


def _card(name: str, keys: Mapping[str, str]) -> Card:
    times = tuple(t for t in TIMES if quantity(keys.get(t.key, "")) is not None)
    of_time = {t.key for t in times}
    words = tuple((k, v) for k, v in keys.items() if k not in of_time and k not in _DERIVED)
    values = [max(quantity(keys[t.key]) or 0.0, 0.0 if t.zero else t.least) for t in times]
    return Card(name, words, tuple(float(np.clip(t.to_x(v), *t.bounds))
                                   for t, v in zip(times, values)), times=times)


def _plain(tool: Tool, words: Mapping[str, str]) -> dict[str, str]:
    """The keys of a device of which only this is said: what the defaults of others follow from."""
    with tempfile.TemporaryDirectory(prefix="flashemu-fit-") as folder:
        path = Path(folder, "plain.ini")
        path.write_text(BASE.format(strategy=words["ftl.type"]), encoding="utf-8")
        return parse_profile(tool.canonical(str(path), tuple(
            f"{key}={words[key]}" for key in
            (*_PLAIN, *(_PLAIN_UNITS if "ftl.unit_size" in words else ())))))


def neighbours(card: Card, kept: Sequence[str] = ()) -> list[Card]:
    """The cards that differ in one size, number or word, but not in those that are kept."""
    found, words = [], dict(card.words)
    for key, ladder in _LADDERS.items():
        if key not in words or key in kept:
            continue
        value = int(quantity(words[key]) or 0)
        for other in ladder.next_to(value):
            text = ladder.off if other == 0 else \
                str(other) if key in _COUNTS else size_text(other)
            found.append(_scaled(card, key, text, other / value if value and other else 1.0))
    for key, choices in _WORDS.items():
        found += [_changed(card, key, word) for word in choices
                  if key in words and word != words[key]]
    return found


def _changed(card: Card, key: str, text: str) -> Card:
    return replace(card, words=tuple((k, text if k == key else v) for k, v in card.words),
                   error=math.inf)


def _scaled(card: Card, key: str, text: str, factor: float) -> Card:
    """With another page or number of dies the programs take as long for each byte."""
    moved = {"nand.page_size": ("nand.tPROG", "nand.slc_tPROG"),
             "nand.dies_per_channel": ("nand.tPROG",)}.get(key, ())
    x = [float(np.clip(t.to_x(t.from_x(v) * factor), *t.bounds)) if t.key in moved else v
         for t, v in zip(card.times, card.x)]
    return replace(_changed(card, key, text), x=tuple(x))


class Ended(Exception):
    """The budget is used up.  `best` is what a descent has reached by then."""

    def __init__(self, best: Card | None = None) -> None:
        super().__init__()
        self.best = best


class Search:
    """One measurement, which of its points count, and what is left of a budget."""

    def __init__(self, comparer: Comparer, m: Measurement, points: Sequence[int],
                 told: Callable[[float], None] = lambda error: None) -> None:
        self.left = 0
        self.kept: Sequence[str] = ()   # keys that a climb leaves alone
        self.best = math.inf
        self._comparer = comparer
        self._m = m
        self._points = tuple(points)
        self._told = told
        self._descent = Descent()

    def residuals(self, cards: Sequence[Card]) -> list[Any]:
        """For each card an array: ln(model / measured) of each point that counts."""
        if self.left < len(cards):
            raise Ended
        self.left -= len(cards)
        answers = self._comparer.ask([
            Question(c.strategy, tuple(changes(c.keys())), self._points) for c in cards])
        found = []
        for a in answers:
            errors = log_errors(a, self._m) if a.state == "done" else []
            known = [errors[i] for i in self._points] if errors else []
            found.append(np.array([_MISSING if e is None else e for e in known])
                         if known else np.full(len(self._points), 2 * _MISSING))
        return found

    def judge(self, cards: Sequence[Card]) -> list[Card]:
        """The cards with their errors."""
        found = [replace(c, error=_error(r)) for c, r in zip(cards, self.residuals(cards))]
        self._note(*(c.error for c in found))
        return found

    def _note(self, *errors: float) -> None:
        self.best = min([self.best, *errors])
        self._told(self.best)

    def _slopes(self, card: Card, x: Any, base: Any) -> Any:
        columns = np.zeros((len(base), len(card.times)))
        tried, steps = [], []
        for k, t in enumerate(card.times):
            step = _FIRST_STEP if t.zero and x[k] < _STEP else \
                _STEP if x[k] + _STEP <= t.bounds[1] else -_STEP
            tried.append(replace(card, x=tuple(float(v) + step * (i == k)
                                               for i, v in enumerate(x))))
            steps.append(step)
        for k, (r, step) in enumerate(zip(self.residuals(tried), steps)):
            columns[:, k] = (r - base) / step
        return columns

    def descend(self, card: Card, anew: bool = False) -> Card:
        """The same with better times; if the budget ends, the exception has what was reached.  The
        slopes are those of the last descent, unless `anew`."""
        if anew:
            self._descent.slopes = None
        best = card
        kept: dict[tuple[float, ...], Any] = {}

        def at(x: Any) -> Any:
            nonlocal best
            here = tuple(float(v) for v in x)
            if here not in kept:
                kept[here] = self.residuals([replace(card, x=here)])[0]
                error = _error(kept[here])
                if error < best.error:
                    best = replace(card, x=here, error=error)
                    self._note(error)
            return kept[here]
        bounds = [t.bounds[0] for t in card.times], [t.bounds[1] for t in card.times]
        try:
            self._descent.run(at, partial(self._slopes, card), card.x, bounds, "soft_l1", SOFT,
                              _STEPS)
        except Ended:
            raise Ended(best) from None
        return best

    def intervals(self, card: Card) -> dict[str, float | None]:
        """Of the times, as `Related` has them."""
        self.left = len(card.times) + 1
        base = self.residuals([card])[0]
        return intervals_of(card.times, card.x, self._slopes(card, card.x, base), base)

    def climb(self, card: Card) -> Card:
        """Until nothing near is better, or the budget ends."""
        tried = {card.words}
        refitted = {card.words}
        settled = False
        while True:
            near = neighbours(card, self.kept)
            try:
                fresh = [n for n in near if n.words not in tried]
                tried.update(n.words for n in fresh)
                found = min(self.judge(fresh), key=lambda c: c.error, default=card)
                if found.error < _BETTER * card.error:
                    card, settled = found, False
                    card = self.descend(card)
                elif not settled:
                    settled = True
                    card = self.descend(card, anew=True)
                else:
                    rest = [n for n in near if n.words not in refitted]
                    if not rest:
                        return card
                    refitted.add(rest[0].words)
                    found = self.descend(self.judge(rest[:1])[0])
                    if found.error < _BETTER * card.error:
                        card, settled = found, False
            except Ended as ended:
                return ended.best if ended.best and ended.best.error < card.error else card

    def rest(self, card: Card, seed: int) -> Card:
        """The times by CMA-ES, until the budget ends or nothing is better any more."""
        cmaes = module("cmaes", "python3-cmaes").CMA
        low, high = (np.array([t.bounds[k] for t in card.times]) / _SPREAD for k in (0, 1))
        optimizer = cmaes(mean=np.clip(np.array(card.x) / _SPREAD, low, high), sigma=1.0, seed=seed,
                          bounds=np.stack([low, high], axis=1))
        while self.left >= optimizer.population_size and not optimizer.should_stop():
            asked = [optimizer.ask() for _ in range(optimizer.population_size)]
            found = self.judge([replace(card, x=tuple(float(v) for v in x * _SPREAD))
                                for x in asked])
            card = min([card, *found], key=lambda c: c.error)
            optimizer.tell([(x, min(c.error, 10.0)) for x, c in zip(asked, found)])
        return card

    def simplified(self, card: Card, relative: Card) -> Card:
        """Each number as the relative has it, if that costs hardly anything."""
        most = max(card.error * _SIMPLER, _NOISE)
        for k in range(len(card.times)):
            if card.x[k] != relative.x[k]:
                x = (*card.x[:k], relative.x[k], *card.x[k + 1:])
                card = self._unless(card, replace(card, x=x), most)
        for key, text in relative.words:
            if dict(card.words)[key] != text:
                card = self._unless(card, _changed(card, key, text), most)
        return card

    def _unless(self, card: Card, other: Card, most: float) -> Card:
        self.left += 1
        found = self.judge([other])[0]
        return found if found.error <= most else card


def _error(residuals: Any) -> float:
    return typical(float(counted(residuals).mean()))


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
        self._speaks = speaking.told(m.points)
        self._keeps = not applies(m)    # the structure
        self._shown = shown_by(m) if self._keeps else Shown()
        every = shipped(tool, m.capacity, self._keeps)
        self._relatives = [c for c in (resized(c, self._shown) for c in every) if c] if \
            self._keeps else every

    def _search(self, what: str, points: Sequence[int], comparisons: int) -> Search:
        search = Search(self._comparer, self._m, points,
                        lambda error: self._told(what, min(error, self._best)))
        search.kept = () if self._speaks.page else ("nand.page_size",)
        search.left = comparisons
        return search

    def run(self, tool: Tool) -> Related:
        """Searches; LabError if no relative makes a device that can be compared."""
        points = self._comparable()
        tried = self._descended(points)
        self._best = tried[0].error
        climbing = tried[:_CLIMB if self._budget >= 400 else 1]
        share = self._budget // 2 // len(climbing)
        searches = [self._search("numbers", points, share) for _ in climbing]
        found = climbing if self._keeps else self._comparer.side_by_side(
            lambda at: at[0].climb(at[1]), list(zip(searches, climbing)))
        best = min(found, key=lambda c: c.error)
        self._best = best.error
        best = self._search("the rest", points, self._budget // 4 +
                            sum(s.left for s in searches)).rest(best, self._seed)
        relative = next(c for c in self._relatives if c.relative == best.relative)
        self._best = best.error
        last = self._search("the end", points, 0)
        best = last.simplified(best, relative)
        answer = self._comparer.ask([Question(best.strategy, tuple(changes(best.keys())))])[0]
        intervals = last.intervals(best)
        held = self._held(relative, points)
        plain = _plain(tool, dict(best.words))
        return Related(best, self._speaks, relative.keys(), plain, intervals,
                       log_errors(answer, self._m), list(answer.measured), held,
                       tried, self._comparer.asked, self._shown, self._m.points)

    def _comparable(self) -> list[int]:
        """The points that the relatives have values for; from now on only those count that have the
        most, because a small one has no room for a large file."""
        answers = self._comparer.ask([Question(c.strategy, tuple(changes(c.keys())))
                                      for c in self._relatives])
        have = [{i for i, v in enumerate(a.measured) if v is not None} if a.state == "done" else
                set() for a in answers]
        most = max(have, key=len)
        if not most:
            raise LabError("no point of the measurement can be compared with a card of today" +
                           (f": {answers[0].message}" if answers[0].message else "") +
                           "; see flashemu-measurement(5)")
        self._relatives = [c for c, points in zip(self._relatives, have) if points == most]
        return sorted(most)

    def _descended(self, points: Sequence[int]) -> list[Card]:
        """The relatives, the nearest ones with times of their own."""
        search = self._search("relatives", points, len(self._relatives))
        judged = sorted(search.judge(self._relatives), key=lambda c: c.error)
        share = max(self._budget // (4 * _DESCEND), len(TIMES) + 4)

        def descended(card: Card) -> Card:
            try:
                return self._search("relatives", points, share).descend(card)
            except Ended as ended:
                return ended.best or card
        some = _DESCEND if self._budget >= 400 else 1
        found = self._comparer.side_by_side(descended, judged[:some])
        return sorted([*found, *judged[some:]], key=lambda c: c.error)

    def _held(self, relative: Card, points: Sequence[int]) -> list[tuple[str, Errors]]:
        """The errors at a quarter of the points, four times, of a smaller search without them: from
        the relative on, with times and then words of its own."""
        order = [points[int(k)] for k in np.random.default_rng(self._seed).permutation(
            len(points))]
        share = max(self._budget // 12, len(TIMES) + _STEPS + 2)

        def without(left: Sequence[int]) -> list[float | None]:
            search = self._search("held out", [i for i in points if i not in set(left)], share)
            card = search.judge([relative])[0]
            try:
                card = search.descend(card)
                card = card if self._keeps else search.climb(card)
            except Ended as ended:
                card = ended.best or card
            answer = self._comparer.ask([Question(card.strategy, tuple(changes(card.keys())))])[0]
            errors = log_errors(answer, self._m)
            return [errors[i] for i in left]
        folds = [order[k::_FOLDS] for k in range(_FOLDS)]
        errors = summed([e for some in self._comparer.side_by_side(without, folds) for e in some])
        return [("a quarter of the points, four times", errors)] if errors else []
