# SPDX-License-Identifier: BSD-3-Clause
"""Which level of a factor comes out best, for which work, and what the others cost.

A combination of the other factors' levels, such as a work, is where levels are compared:

    share(level, combination) = value / value of the best level; 1 if no level is better by a
                                difference that counts

The level is chosen whose worst share is the best one: a mean would hide that a filesystem which
is the best for logs writes small files at a sixth of the rate.  Levels whose worst shares do not
differ are compared by the geometric mean of their shares, and then by their wear, in the same two
steps.  Those that are left are equal.  Of these one is chosen whose numbers are best, however
little that means: first by shares that differ by the threshold, and then the first in the file,
because a file lists the most common choice first.  Levels that are only there for comparison,
because nobody asked for them, cannot be chosen, and nothing is measured by them.

A model is no better than its parameters, and a replay no better than its samples.  So two values
differ only if their ratio is above both of

    1 / (1 - threshold)
    (1 + e1) (1 + e2)      where e1 and e2 are the largest differences of replays from a kernel in
                           the samples of the levels' filesystems (replay_accuracy)

A level tells its filesystem by the word `filesystem`, or by its name.

Wear is known only where the device was in a steady state.  A device that still has blocks which
nobody has written programs them and erases nothing, so it seems to wear less than it will.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import geometric_mean
from typing import Callable, Iterable

from ..core.units import measured, quantity
from .nouns import called, noun, the
from .replay_accuracy import off
from .spec import Experiment, Measure
from .table import Table

# The levels of the other factors; and a number for each level of the factor.
Combination = tuple[str, ...]
ByLevel = dict[str, float]
Shares = dict[Combination, ByLevel]
# From which ratio on the values of two levels differ.
Margin = Callable[[str, str], float]
# A device that is in a steady state erases, in the long run, as much as it programs.  With open
# blocks at both ends of a short work it may be less.
_STEADY = 0.5
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Cost:
    """What a level costs, compared with the chosen one.

    measure  which one
    least, most        the smallest and the largest of the ratios to the value of the chosen level
    least_at, most_at  the levels of the other factors there
    """

    measure: Measure
    least: float
    most: float
    least_at: str
    most_at: str

    def words(self) -> str:
        """Such as "20 % (log) to 99 % (database) of the rate" and "the same rate"."""
        label = the(self.measure.label)
        if self.most > self.least * 1.02:
            least, most = span(self.least, self.most)
            of = " of" if most.endswith("%") else ""
            return f"{least} ({self.least_at}) to {most} ({self.most_at}){of} {label}"
        if 0.995 <= self.least < 1.005:
            return f"as much of {label}"
        return f"{times(self.least)}{' of' if self.least < 1.1 else ''} {label}"


def percent(share: float) -> str:
    """A share for people, in whole percents: "96 %"; what is not all is never said to be."""
    if 0 < share < 0.005:
        return "less than 1 %"
    return f"{100 * share:.1f} %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def times(ratio: float) -> str:
    """A ratio for people: "60 %" or "1.70 times"."""
    return percent(ratio) if ratio < 1.1 else f"{measured(ratio)} times"


def span(least: float, most: float) -> tuple[str, str]:
    """Two ratios in one unit and with as many digits: "37 %" and "104 %", or "0.07" and "4.99
    times"."""
    if most < 1.1:
        return percent(least), percent(most)
    return f"{least:.2f}", f"{most:.2f} times"


@dataclass(frozen=True)
class Best:
    """What is best in a group of combinations, such as a work.

    group    its name
    levels   that no other one beats and whose numbers are best, in the order of the file
    perhaps  others that no other one beats
    worst    the level that comes out worst, and its share
    """

    group: str
    levels: tuple[str, ...]
    perhaps: tuple[str, ...]
    worst: tuple[str, float]


@dataclass(frozen=True)
class Choice:
    """What comes out best.

    level     the level that is chosen
    equal     all levels that are as good by both measures, in the order of the file
    share     the worst share of the chosen level, and in which combination that is
    best      what is best for each work: for each level of the only other factor with several, or
              of the one that the statement names
    counts    the ratio from which on a level differs from another one that is exact, less 1
    unsteady  the combinations, as in "transcend8g, log", whose wear is not known
    """

    level: str
    equal: tuple[str, ...]
    share: tuple[float, str]
    best: tuple[Best, ...]
    counts: ByLevel
    unsteady: tuple[str, ...]


def named(e: Experiment, factor: str, others: Combination) -> str:
    """A combination of the other factors' levels for people: "transcend8g, log"."""
    varied = [(f, level) for f, level in
              zip((f for f in e.factors if f.name != factor), others) if len(f.levels) > 1]
    name = noun if len(varied) > 1 else called
    return ", ".join([name(f, level) for f, level in varied] or others)


def cells(table: Table, factor: str, measure: Measure) -> Shares:
    """The values of each combination.  One in which some level has no value above 0 is left out."""
    e = table.experiment
    place = e.factors.index(e.factor(factor))
    found: Shares = {}
    for row, value in table.select(measure.name, {}):
        if value > 0:
            others = row.levels[:place] + row.levels[place + 1:]
            found.setdefault(others, {})[row.levels[place]] = value
    count = len(e.factor(factor).levels)
    return {others: cell for others, cell in found.items() if len(cell) == count}


def ratios(table: Table, factor: str, measure: Measure) -> Shares:
    """Each value divided by the best one of its combination: at most 1, or at least 1 for a measure
    of which less is better."""
    best = min if measure.better == "less" else max
    return {others: {level: value / best(cell.values()) for level, value in cell.items()}
            for others, cell in cells(table, factor, measure).items()}


def worst(found: Shares, measure: Measure) -> ByLevel:
    """The worst of the `ratios` of each level; none if there is no combination."""
    pick = max if measure.better == "less" else min
    levels: ByLevel = next(iter(found.values()), {})
    return {level: pick(cell[level] for cell in found.values()) for level in levels}


def accuracy(table: Table, factor: str) -> ByLevel:
    """By how much replays differ from a kernel, as a share, for each level; 0 if nothing was
    replayed, or if there are no samples at all."""
    f = table.experiment.factor(factor)
    return {level: off(table.replay, f.given(level).get("filesystem", level))
            for level in f.levels}


def least_margin(words: dict[str, str]) -> float:
    """The ratio from which on the values of exact levels differ."""
    threshold = quantity(words["threshold"])
    assert threshold is not None
    return 1 / (1 - threshold)


def _margin(table: Table, words: dict[str, str]) -> Margin:
    may, least = accuracy(table, words["factor"]), least_margin(words)
    return lambda a, b: max(least, (1 + may[a]) * (1 + may[b]))


def _shares(cell: ByLevel, better: str, margin: Margin) -> ByLevel:
    """The share of each level in a combination."""
    def beaten(level: str) -> list[float]:
        behind = {other: cell[level] / value if better == "less" else value / cell[level]
                  for other, value in cell.items()}
        return [ratio for other, ratio in behind.items()
                if ratio > margin(level, other) * _ROUNDING]
    return {level: 1 / max(beaten(level), default=1.0) for level in cell}


def _unbeaten(scored: ByLevel, margin: Margin) -> list[str]:
    """The levels whose score is not smaller than any other by a difference that counts."""
    return [level for level, score in scored.items()
            if all(other <= score * margin(level, name) * _ROUNDING
                   for name, other in scored.items())]


def _best(found: Iterable[ByLevel], levels: list[str], margin: Margin) -> list[str]:
    """Those of the levels with the best worst share, and of these the ones with the best mean."""
    each = list(found)
    if not each:
        return levels
    levels = _unbeaten({level: min(cell[level] for cell in each) for level in levels}, margin)
    return _unbeaten({level: geometric_mean([cell[level] for cell in each]) for level in levels},
                     margin)


def choose(table: Table, words: dict[str, str]) -> Choice | None:
    """The choice that [[conclusion]] with say = "choose" asks for; None if there is no value.

    words  measure, factor, threshold, wear (a second measure, or ""), among (what the names of
           levels that can be chosen have in them), steady (a measure: the blocks that were erased
           as a share of those that were programmed; or ""), and by (the factor whose levels are
           told one by one, or "")
    """
    e = table.experiment
    factor, measure = e.factor(words["factor"]), e.measure(words["measure"])
    levels = [level for level in factor.levels if words["among"] in level]
    margin = _margin(table, words)

    def shares(measure: Measure, margin: Margin) -> Shares:
        return {others: _shares({level: cell[level] for level in levels}, measure.better, margin)
                for others, cell in cells(table, factor.name, measure).items()}

    speed, plain = shares(measure, margin), shares(measure, _plain(words))
    if not speed:
        return None
    equal = _best(speed.values(), levels, margin)
    unsteady = _unsteady(table, words)
    if words["wear"]:
        wear = shares(e.measure(words["wear"]), margin)
        equal = _best([cell for at, cell in wear.items() if at not in unsteady], equal, margin)
    level = _best(plain.values(), equal, _plain(words))[0]
    at = min(speed, key=lambda others: speed[others][level])
    may = accuracy(table, factor.name)
    return Choice(level, tuple(equal), (speed[at][level], named(e, factor.name, at)),
                  tuple(_groups(e, words, speed, plain, margin)),
                  {name: max(least_margin(words) - 1, may[name]) for name in levels},
                  tuple(named(e, factor.name, others) for others in unsteady))


def _plain(words: dict[str, str]) -> Margin:
    """What counts if all levels are exact."""
    return lambda a, b: least_margin(words)


def _groups(e: Experiment, words: dict[str, str], speed: Shares, plain: Shares, margin: Margin
            ) -> list[Best]:
    """What is best for each level of the factor `by`."""
    others = [f for f in e.factors if f.name != words["factor"]]
    varied = [f.name for f in others if len(f.levels) > 1]
    by = words["by"] or (varied[0] if len(varied) == 1 else "")
    if not by:
        return []
    place = [f.name for f in others].index(by)
    found = []
    for group in dict.fromkeys(at[place] for at in speed):
        inside = [at for at in speed if at[place] == group]
        least, shown = ({level: min(each[at][level] for at in inside) for level in each[inside[0]]}
                        for each in (speed, plain))
        good = _unbeaten(least, margin)
        best = _unbeaten({level: shown[level] for level in good}, _plain(words))
        last = min(least, key=lambda level: least[level])
        perhaps = tuple(x for x in good if x not in best)
        found.append(Best(called(e.factor(by), group), tuple(best), perhaps, (last, least[last])))
    return found


def _unsteady(table: Table, words: dict[str, str]) -> list[Combination]:
    """The combinations in which, with some level, the device erased less than half of what it
    programmed."""
    if not words["steady"]:
        return []
    e = table.experiment
    place = e.factors.index(e.factor(words["factor"]))
    found = [row.levels[:place] + row.levels[place + 1:]
             for row, value in table.select(words["steady"], {}) if value < _STEADY]
    return list(dict.fromkeys(found))


def costs(table: Table, words: dict[str, str], found: Choice, level: str) -> list[Cost]:
    """What a level costs instead of the chosen one, by each measure that the choice is about; wear
    only where it is known."""
    e = table.experiment
    place = e.factors.index(e.factor(words["factor"]))
    result = []
    for name in (words["measure"], words["wear"]):
        values: dict[str, ByLevel] = {}
        for row, value in table.select(name, {}) if name else ():
            others = named(e, words["factor"], row.levels[:place] + row.levels[place + 1:])
            if name == words["measure"] or others not in found.unsteady:
                values.setdefault(row.levels[place], {})[others] = value
        base, mine = values.get(found.level, {}), values.get(level, {})
        each = sorted((mine[at] / base[at], at) for at in base
                      if base[at] > 0 and mine.get(at, 0) > 0)
        if each:
            result.append(Cost(e.measure(name), each[0][0], each[-1][0], each[0][1], each[-1][1]))
    return result


def paste(table: Table) -> str:
    """The text to paste that the chosen level has under the word `paste`, or ""."""
    for statement in table.experiment.statements:
        if statement.say == "choose":
            found = choose(table, statement.words)
            factor = table.experiment.factor(statement.words["factor"])
            return factor.given(found.level).get("paste", "") if found else ""
    return ""
