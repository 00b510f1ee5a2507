# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and sizes as benchmarks and scripts print them, in any country."""

from __future__ import annotations

import re

BINARY = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# A number, perhaps with marks between thousands, for other expressions.
NUMBER = r"\d{1,15}(?:[.,]\d{1,9}){0,4}(?:[eE][-+]?\d{1,2})?"


def number(text: str) -> float:
    """A number with a point or a comma in front of its fraction; if it has both, the last one is,
    and one that comes several times stands between thousands."""
    marks = [c for c in text if c in ".,"]
    last = marks[-1] if marks and marks.count(marks[-1]) == 1 else ""
    return float("".join("." if c == last else "" if c in ".," else c for c in text))


def size(text: str) -> int | None:
    """Bytes as scripts and tables write them: "4M", "64kb", "1MiB", "0.5K", "$[4*1024*1024]"; all
    letters mean powers of 1024.  None if it is none, or no whole number."""
    product = 1.0
    for factor in re.split(r"[*x]", text.strip("$[]() \"'")):
        match = re.fullmatch(r"\s*(\d{1,15}(?:[.,]\d{1,3})?)\s*([kKmMgGtT]?)(i?[bB]|ytes)?\s*",
                             factor)
        if not match:
            return None
        product *= number(match[1]) * BINARY[match[2].upper()]
    return int(product) if 0 < product < 1 << 62 and product == int(product) else None
