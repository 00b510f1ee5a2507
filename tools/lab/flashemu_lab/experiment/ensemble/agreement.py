# SPDX-License-Identifier: BSD-3-Clause
"""What an ensemble says: by how much the numbers differ, and in how many sets a conclusion holds.

A table with an ensemble is split into tables without one.  The first has the parameters as shipped,
and the page is about it.  The others are asked whether they agree with what the first one says.
What it says is reduced to a claim for that, such as which of two levels has the larger mean: the
numbers in a sentence differ between sets, and a claim can be right or wrong.  Another set agrees if
it makes the same claim.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Iterable, Sequence

from ...core.units import alike
from ..spec import ENSEMBLE
from ..table import Table

# The least and the largest value by the levels of a row.
Ranges = dict[tuple[str, ...], tuple[float, float]]


@dataclass(frozen=True)
class Claim:
    """Something that a table without an ensemble says.

    text    for people, such as "start 63 instead of 1M lowers the rate"; the same claim of another
            table has the same text
    value   a number that belongs to it, whose spread is told; or None
    stated  whether the conclusion says it; if not, it is as true, and nothing is said about it
    """

    text: str
    value: float | None = None
    stated: bool = True


# What a table claims.
Claims = Callable[[Table], Iterable[Claim]]


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


def agreement(tables: Sequence[Table], what: Iterable[Claims]) -> list[Agreement]:
    """For each claim that the first table states, which of the others make it as well."""
    found = []
    for claims in what:
        base, *others = ({c.text: c for c in claims(t)} for t in tables)
        for text in (text for text, claim in base.items() if claim.stated):
            values = [v for other in others if text in other
                      and (v := other[text].value) is not None]
            found.append(Agreement(text, tuple(text in other for other in others),
                                   (min(values), max(values)) if values else None))
    return found
