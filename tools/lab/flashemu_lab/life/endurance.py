# SPDX-License-Identifier: BSD-3-Clause
"""How many cycles blocks bear.  endurance.toml has the numbers, each with its source."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Of a device whose year nobody knows.
UNKNOWN_YEAR = 2018
_FIRST, _LAST = 1990, 2100


@dataclass(frozen=True)
class Number:
    """A number that a prediction rests on.

    what    it is, in words
    value   as it is told
    source  where it comes from
    """

    what: str
    value: str
    source: str


@dataclass(frozen=True)
class Cycles:
    """Cycles that a block in the middle of its kind bears."""

    cycles: float
    source: str


@functools.lru_cache(maxsize=None)
def table() -> dict[str, Any]:
    """The whole file."""
    return tomllib.loads((Path(__file__).parent / "endurance.toml").read_text(encoding="utf-8"))


def of_cell(cell: str, year: int) -> Cycles:
    """What blocks of this kind of cell bear in a device of this year; `cell` is slc, mlc, tlc, nor
    or slc-mode."""
    for row in table()["cell"]:
        if row["cell"] == cell and row.get("from", _FIRST) <= year <= row.get("to", _LAST):
            return Cycles(float(row["cycles"]), row["source"])
    raise AssertionError((cell, year))


def year_of(profile: str, told: int) -> Number:
    """The year of a device; `told` is what the user says, 0 for nothing."""
    if told:
        return Number("year of the device", str(told), "given")
    known = table()["years"].get(profile)
    if isinstance(known, int):
        return Number("year of the device", str(known), table()["years"]["source"])
    return Number("year of the device", str(UNKNOWN_YEAR), "assumed; --year N says it")


@dataclass(frozen=True)
class Spread:
    """How far lives lie apart.

    device  standard deviation of the logarithm from card to card
    block   from block to block: the same, or with the shape "uniform" half the width
    shape   "uniform" and "lognormal" as faults.life_spread has them: the endurance is the median of
            blocks.
            "rated": a lognormal of which 2 % fail before the endurance, as a data sheet means it
    """

    device: float
    block: float
    shape: str


# A data sheet says how many blocks of a chip may be bad at its endurance: 2 % with most of them.
RATED_Z = 2.0537489106318225


def usual_spread() -> Spread:
    """That of the table."""
    s = table()["spread"]
    return Spread(float(s["device"]), float(s["block"]), "rated")
