# SPDX-License-Identifier: BSD-3-Clause
"""What an ensemble says: by how much the numbers differ, and in how many sets a conclusion holds.

A table with an ensemble is split into tables without one.  The first has the parameters as shipped,
and the page is about it.  The others are asked whether they agree with what the first one says.
What it says is reduced to a claim for that, such as which of two levels has the larger mean: the
numbers in a sentence differ between sets, and a claim can be right or wrong.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import Callable, Iterator

from ..core.text import listed
from ..core.units import alike, number, quantity
from .choice import choose
from .nouns import agreeing, called, combination, instead, noun, nouns, the
from .ratio_words import SAME
from .spec import ENSEMBLE, Statement
from .step_path import way
from .table import Row, Table

# The least and the largest value by the levels of a row.
Ranges = dict[tuple[str, ...], tuple[float, float]]


@dataclass(frozen=True)
class Claim:
    """Something that a table says.

    text   for people, such as "rate falls with start 63 instead of 1M"
    holds  whether a table without an ensemble says so, too
    value  a number that belongs to it, whose spread is told; or None
    """

    text: str
    holds: Callable[[Table], bool]
    value: Callable[[Table], float] | None = None


def split(table: Table) -> list[Table]:
    """A table without an ensemble for each level of the ensemble; [table] if it has none."""
    e = table.experiment
    place = next((i for i, f in enumerate(e.factors) if f.name == ENSEMBLE), None)
    if place is None:
        return [table]
    inner = replace(e, factors=e.factors[:place] + e.factors[place + 1:])
    found = []
    for level in e.factors[place].levels:
        rows = tuple(replace(row, levels=row.levels[:place] + row.levels[place + 1:])
                     for row in table.rows if row.levels[place] == level)
        found.append(Table(inner, table.program, rows, replay=table.replay))
    return found


def ranges(tables: list[Table], measure: str) -> Ranges:
    """The least and the largest value in all tables, by the levels of a row."""
    found: Ranges = {}
    for table in tables:
        for row in table.rows:
            value = row.values.get(measure)
            if value is not None:
                low, high = found.get(row.levels, (value, value))
                found[row.levels] = (min(low, value), max(high, value))
    return found


@dataclass(frozen=True)
class Agreement:
    """Whether a claim of the parameters as shipped holds in the other sets.

    holds   for each of the other sets, in their order
    values  the least and the largest number that belongs to the claim where it holds; or None
    """

    claim: str
    holds: tuple[bool, ...]
    values: tuple[float, float] | None = None

    def sentence(self) -> str:
        """Such as "In 3 of the 10 other sets ..., rate is larger with start 63 instead of 1M."."""
        good = sum(self.holds)
        count = "all" if good == len(self.holds) else f"{good} of the"
        sets = f"In {count} {len(self.holds)} other sets of parameters that fit"
        if len(self.holds) == 1:
            sets = ("In the only other set of parameters that fits" if good else
                    "Only in the set as shipped, and not in the other one that fits")
        words = ""
        if self.values:
            words = f", to {' to '.join(dict.fromkeys(alike(self.values)))} times as much"
        return f"{sets} the published figures as well, {self.claim}{words}."


def agreement(tables: list[Table], statements: tuple[Statement, ...]) -> list[Agreement]:
    """For each claim of the first table, which of the others agree."""
    base, others = tables[0], tables[1:]
    found = []
    for statement in statements:
        for claim in _CLAIMS.get(statement.say, _no_claims)(base, statement.words):
            holds = tuple(claim.holds(t) for t in others)
            values = [claim.value(t) for t, good in zip(others, holds) if good and claim.value]
            found.append(Agreement(claim.text, holds,
                                   (min(values), max(values)) if values else None))
    return found


def mean_ratio(table: Table, words: dict[str, str]) -> float | None:
    """The geometric mean of the ratios of two levels, over all levels of the other factors; None
    without a pair of values above 0."""
    e = table.experiment
    place = e.factors.index(e.factor(words["factor"]))
    only = dict([words["only"].split("=", 1)]) if words["only"] else {}
    values: dict[tuple[str, ...], dict[str, float]] = {}
    for row, value in table.select(words["measure"], only):
        others = row.levels[:place] + row.levels[place + 1:]
        values.setdefault(others, {})[row.levels[place]] = value
    ratios = [v[words["to"]] / v[words["from"]] for v in values.values()
              if v.get(words["to"], 0) > 0 and v.get(words["from"], 0) > 0]
    return geometric_mean(ratios) if ratios else None


def _direction(ratio: float | None) -> str:
    if ratio is None:
        return "has no known effect on"
    if abs(ratio - 1) < SAME:
        return "hardly changes"
    return "raises" if ratio > 1 else "lowers"


def _compare(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    e = table.experiment
    want = _direction(mean_ratio(table, words))
    factor, only = e.factor(words["factor"]), words["only"]
    where = "".join(f" with {name}" for name in
                    nouns(e, dict([only.split("=", 1)]) if only else {}))
    yield Claim(f"{instead(factor, words['to'], words['from'])} {want} "
                f"{the(e.measure(words['measure']).label)}{where}",
                lambda t: _direction(mean_ratio(t, words)) == want,
                lambda t: mean_ratio(t, words) or 1.0)


def _most(table: Table, words: dict[str, str], sign: int) -> Row | None:
    rows = table.select(words["measure"], {})
    return max(rows, key=lambda pair: sign * pair[1])[0] if rows else None


def _extremes(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    e = table.experiment
    for word, sign in (("lowest", -1), ("highest", 1)):
        row = _most(table, words, sign)
        if row:
            yield Claim(f"{agreeing(e.measure(words['measure']), 'is')} {word} with "
                        f"{listed(combination(e, row.levels))}",
                        functools.partial(_is_there, words, sign, row.levels))


def _is_there(words: dict[str, str], sign: int, levels: tuple[str, ...], table: Table) -> bool:
    row = _most(table, words, sign)
    return row is not None and row.levels == levels


def _limits(table: Table, words: dict[str, str]) -> dict[str, str]:
    """Up to which level each combination of the other factors keeps its share."""
    e = table.experiment
    place = e.factors.index(e.factor(words["factor"]))
    share = quantity(words["share"]) or 0
    curves: dict[str, list[tuple[str, float]]] = {}
    for row, value in table.select(words["measure"], {}):
        others = ", ".join(row.levels[:place] + row.levels[place + 1:])
        curves.setdefault(others, []).append((row.levels[place], value))
    found = {}
    for others, curve in curves.items():
        good = 1
        while good < len(curve) and curve[good][1] >= share * curve[0][1]:
            good += 1
        found[others] = curve[good - 1][0]
    return found


def _limit(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    e = table.experiment
    factor, share = e.factor(words["factor"]), number(100 * (quantity(words["share"]) or 0))
    keeps = f"{agreeing(e.measure(words['measure']), 'keeps')} {share} % of the first value"
    for others, level in _limits(table, words).items():
        name = f"{level} {words['what']}" if words["what"] else noun(factor, level)
        yield Claim(f"{keeps} up to {name}{f' with {others}' if others else ''}",
                    functools.partial(_ends_at, words, others, level))


def _ends_at(words: dict[str, str], others: str, level: str, table: Table) -> bool:
    return _limits(table, words).get(others) == level


def _choose(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    found = choose(table, words)
    if found:
        name = called(table.experiment.factor(words["factor"]), found.level)
        yield Claim(f"no choice is better than {name}",
                    functools.partial(_is_best, words, found.level))


def _is_best(words: dict[str, str], level: str, table: Table) -> bool:
    found = choose(table, words)
    return found is not None and level in found.equal


def _main_step(table: Table, words: dict[str, str]) -> str:
    """The factor with the largest part of the way, or ""."""
    found = way(table, words)
    return found.steps[0].factor.name if found else ""


def _between(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    e = table.experiment
    name = _main_step(table, words)
    if name:
        yield Claim(f"{the(e.factor(name).label)} has the largest part in the change of "
                    f"{the(e.measure(words['measure']).label)}",
                    lambda t: _main_step(t, words) == name)


def _no_claims(table: Table, words: dict[str, str]) -> Iterator[Claim]:
    yield from ()


_CLAIMS: dict[str, Callable[[Table, dict[str, str]], Iterator[Claim]]] = {
    "between": _between, "compare": _compare, "extremes": _extremes,
    "limit": _limit, "choose": _choose,
}
