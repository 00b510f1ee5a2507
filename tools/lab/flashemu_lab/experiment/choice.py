# SPDX-License-Identifier: BSD-3-Clause
"""Which level of a factor comes out best, and what the others cost.

    score(level) = geometric mean, over all combinations of the other factors, of
                   value(level, combination) / best value of the combination

So each combination counts as much as any other, however fast it is.  For a measure of which less
is better the ratio is the other way round.  A score is between 0 and 1.

A model is no better than its parameters, so a difference below a threshold says nothing.  The
levels whose score is within the threshold of the best one are equal; so are those of them whose
wear is within the threshold of the least.  Of these the first in the file is chosen: a file lists
the most common choice first.  Levels that are only there for comparison, because nobody asked for
them, cannot be chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import geometric_mean

from ..core.units import number, quantity
from .spec import Measure
from .table import Table


@dataclass(frozen=True)
class Cost:
    """What a level costs, compared with the chosen one.

    measure  which one
    ratio    value divided by that of the chosen level, the geometric mean over the combinations
    least, most        the smallest and the largest ratio
    least_at, most_at  the levels of the other factors there
    """

    measure: Measure
    ratio: float
    least: float
    most: float
    least_at: str
    most_at: str

    def words(self) -> str:
        """Such as "rate 60 % (20 % with log, 99 % with database)"."""
        found = f"{self.measure.label} {times(self.ratio)}"
        if self.most > self.least * 1.02:
            found += (f" ({times(self.least)} with {self.least_at}, {times(self.most)} with "
                      f"{self.most_at})")
        return found


def times(ratio: float) -> str:
    """A ratio for people: "60 %" or "1.7 times"."""
    return f"{number(100 * ratio)} %" if ratio < 1.1 else f"{number(ratio)} times"


@dataclass(frozen=True)
class Choice:
    """What comes out best.

    level   the level that is chosen
    equal   all levels that are as good by both measures, in the order of the file
    speed   score of each level by the measure
    wear    score of each level by the second measure; empty without one
    """

    level: str
    equal: tuple[str, ...]
    speed: dict[str, float]
    wear: dict[str, float]


def scores(table: Table, factor: str, measure: Measure) -> dict[str, float]:
    """The score of each level of a factor.

    A combination in which some level has no value above 0 does not count, and a level without
    any combination has no score.
    """
    e = table.experiment
    place = e.factors.index(e.factor(factor))
    cells: dict[tuple[str, ...], dict[str, float]] = {}
    for row, value in table.select(measure.name, {}):
        if value > 0:
            others = row.levels[:place] + row.levels[place + 1:]
            cells.setdefault(others, {})[row.levels[place]] = value
    levels = e.factor(factor).levels
    whole = [cell for cell in cells.values() if len(cell) == len(levels)]
    if not whole:
        return {}

    def ratio(cell: dict[str, float], level: str) -> float:
        if measure.better == "less":
            return min(cell.values()) / cell[level]
        return cell[level] / max(cell.values())

    return {level: geometric_mean([ratio(cell, level) for cell in whole]) for level in levels}


def choose(table: Table, words: dict[str, str]) -> Choice | None:
    """The choice that [[conclusion]] with say = "choose" asks for; None if there is no value.

    words  measure, factor, threshold, wear (a second measure, or ""), and among (what the names of
           levels that can be chosen have in them)
    """
    e = table.experiment
    threshold = quantity(words["threshold"])
    assert threshold is not None
    speed = scores(table, words["factor"], e.measure(words["measure"]))
    if not speed:
        return None
    wear = scores(table, words["factor"], e.measure(words["wear"])) if words["wear"] else {}
    equal = _near(speed, [level for level in speed if words["among"] in level], threshold)
    if wear:
        equal = _near(wear, equal, threshold)
    return Choice(equal[0], tuple(equal), speed, wear)


def costs(table: Table, words: dict[str, str], found: Choice, level: str) -> list[Cost]:
    """What a level costs instead of the chosen one, by each measure that the choice is about."""
    e = table.experiment
    place = e.factors.index(e.factor(words["factor"]))
    result = []
    for name in (words["measure"], words["wear"]):
        values: dict[str, dict[str, float]] = {}
        for row, value in table.select(name, {}) if name else ():
            others = ", ".join(row.levels[:place] + row.levels[place + 1:])
            values.setdefault(row.levels[place], {})[others] = value
        base, mine = values.get(found.level, {}), values.get(level, {})
        ratios = sorted((mine[at] / base[at], at) for at in base
                        if base[at] > 0 and mine.get(at, 0) > 0)
        if ratios:
            result.append(Cost(e.measure(name), geometric_mean([r for r, _ in ratios]),
                               ratios[0][0], ratios[-1][0], ratios[0][1], ratios[-1][1]))
    return result


def _near(scored: dict[str, float], levels: list[str], threshold: float) -> list[str]:
    """Those of the levels that are within the threshold of the best of them."""
    best = max(scored[level] for level in levels)
    return [level for level in levels if scored[level] >= best * (1 - threshold)]


def paste(table: Table) -> str:
    """The text to paste that the chosen level has under the word `paste`, or ""."""
    for statement in table.experiment.statements:
        if statement.say == "choose":
            found = choose(table, statement.words)
            factor = table.experiment.factor(statement.words["factor"])
            return factor.given(found.level).get("paste", "") if found else ""
    return ""

