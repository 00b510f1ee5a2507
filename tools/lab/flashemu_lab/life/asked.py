# SPDX-License-Identifier: BSD-3-Clause
"""What a command line says about lives before anything is looked at."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DAY = 86400.0
DRAWS = 1000  # cards
# The card that is meant without --card: one that is sold today, for the computers that ask most.
CARD = "raspberrypi32g"
_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": DAY, "w": 7 * DAY,
          "y": 365.25 * DAY}
_LONGEST = 1000 * _TIMES["y"]  # of a time that says anything about cards
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.ASCII)


def seconds(text: str) -> float | None:
    """The time behind "10s", "5min", "2h", "30d" or "3y", in seconds; None if it is none, or more
    than a thousand years."""
    found = _SPAN.fullmatch(text.strip())
    if not found or found[2] not in _TIMES:
        return None
    span = float(found[1]) * _TIMES[found[2]]
    return span if 0 < span <= _LONGEST else None


def often(span: float) -> str:
    """How often something happens that happens every so many seconds: "every day", "every 10 s"."""
    for length, one, unit in ((DAY, "day", "d"), (3600.0, "hour", "h"), (60.0, "minute", "min")):
        if span == length:
            return f"every {one}"
        if span > length and span % length == 0:
            return f"every {span / length:g} {unit}"
    return "every second" if span == 1 else f"every {span:g} s"


@dataclass(frozen=True)
class Effort:
    """How much is done for an answer.

    most   requests of a replay
    cards  that are drawn
    seed   of all randomness
    """

    most: int = 20_000_000
    cards: int = DRAWS
    seed: int = 1


@functools.lru_cache(maxsize=None)
def shipped() -> dict[str, dict[str, Any]]:
    """The works of works.toml by name."""
    text = (Path(__file__).parent / "works.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
