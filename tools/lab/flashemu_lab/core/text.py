# SPDX-License-Identifier: BSD-3-Clause
"""Lists of words in sentences."""

from __future__ import annotations

import difflib
from typing import Collection


def listed(words: list[str], last: str = "and") -> str:
    """The words as English lists them: "a", "a and b", "a, b and c"; with `last` for "and"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def counted(number: int, word: str) -> str:
    """Such as "1 run" and "2 runs"."""
    return f"{number} {word if number == 1 else word + 's'}"


def meant(word: str, known: Collection[str], before: str = "") -> str:
    """What stands behind a name that is unknown, if it is near to one that is known.  `before`
    stands in front of each name, and makes no two of them alike."""
    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {before}{near[0]}?" if near else ""


def allowed(word: str, known: Collection[str]) -> str:
    """What stands behind a name that is unknown: all known ones if they are few, or those near to
    it, or how many there are."""
    near = difflib.get_close_matches(word, known, 5)
    if near and len(known) > 12:
        return f"near to it: {', '.join(near)}"
    if len(known) > 12:
        return f"there are {len(known)} others"
    return f"allowed: {', '.join(known)}{meant(word, known)}"
