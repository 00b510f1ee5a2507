# SPDX-License-Identifier: BSD-3-Clause
"""Types of options for argparse: numbers with their bounds."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Callable

from ..core.units import whole

MOST_SEED = 2**63 - 1


def number(least: int, most: int | None = None) -> Callable[[str], int]:
    """The type of a whole number within these bounds, both included."""
    def parse(text: str) -> int:
        value = whole(text)
        if value is None or value < least or (most is not None and value > most):
            raise ArgumentTypeError(f"{text}: allowed: " + (
                f"a number of at least {least}" if most is None else f"{least} to {most}"))
        return value
    return parse


def seeds(text: str) -> str:
    """The type of one or several seeds with ',' between them."""
    for word in text.split(","):
        value = whole(word)
        if value is None or value > MOST_SEED:
            raise ArgumentTypeError(f"{text}: allowed: whole numbers from 0 to {MOST_SEED} with "
                                    "',' between them")
    return text
