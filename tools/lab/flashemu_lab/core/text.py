# SPDX-License-Identifier: BSD-3-Clause
"""Lists of words in sentences, names that were meant, and lines."""

from __future__ import annotations

from typing import Collection

_LONGEST = 40     # names beyond this are not compared
_MOST_EDITS = 3
_FEWEST = 3       # letters of the beginning of a name


def listed(words: list[str], last: str = "and") -> str:
    """The words as English lists them: "a", "a and b", "a, b and c"; with `last` for "and"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def lines_of(text: str) -> list[str]:
    """The lines of what a program has printed.  A newline ends one, and nothing else: a value may
    have what Python counts as the end of a line, such as U+2028."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def counted(number: int, word: str) -> str:
    """Such as "1 run" and "2 runs"."""
    return f"{number} {word if number == 1 else word + 's'}"


def _edits(a: str, b: str) -> tuple[int, int]:
    """How many letters are inserted, dropped or replaced, or swapped with their neighbour, until
    one word is the other; and until it is the nearest beginning of it."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row, above = [i], rows[-1]
        for j, y in enumerate(b, 1):
            row.append(min(row[-1] + 1, above[j] + 1, above[j - 1] + (x != y)))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[j] = min(row[j], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1], min(rows[-1])


def _most(letters: int) -> int:
    return min(letters // 4 or letters // 2, _MOST_EDITS)


def _distance(typed: str, name: str) -> int | None:
    """How far a name is from what was typed; None if nobody means the one who types the other.
    The rule is that of src/base/guess.c, where it is explained."""
    longer = max(len(typed), len(name))
    if not typed or longer > _LONGEST:
        return None
    edits, begun = _edits(typed.lower(), name.lower())
    if edits <= _most(longer):
        return edits
    if _FEWEST <= len(typed) < len(name) and begun <= _most(len(typed)) // 2:
        return _MOST_EDITS + begun + len(name) - len(typed)
    return None


def near(word: str, known: Collection[str], most: int) -> list[str]:
    """The names that somebody may have meant, the nearest first, at most so many."""
    far = {name: d for name in known if (d := _distance(word, name)) is not None}
    return sorted(far, key=far.__getitem__)[:most]


def meant(word: str, known: Collection[str], before: str = "") -> str:
    """What stands behind a name that is unknown, if it is near to one that is known.  `before`
    stands in front of each name, and makes no two of them alike."""
    guess = near(word, known, 1)
    return f"; did you mean {before}{guess[0]}?" if guess else ""


def allowed(word: str, known: Collection[str]) -> str:
    """What stands behind a name that is unknown: all known ones if they are few, or those near to
    it, or how many there are."""
    guesses = near(word, known, 5)
    if guesses and len(known) > 12:
        return f"near to it: {', '.join(guesses)}"
    if len(known) > 12:
        return f"there are {len(known)} others"
    return f"allowed: {', '.join(known)}{meant(word, known)}"
