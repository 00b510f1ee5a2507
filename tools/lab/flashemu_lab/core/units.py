# SPDX-License-Identifier: BSD-3-Clause
"""Quantities as users write and read them."""

from __future__ import annotations

import math
import re
from typing import Sequence

# Powers of 1024 are written K, M, G, T; powers of 1000 are written KB, MB, GB.  Times are in ns,
# rates in bytes a second, shares are fractions of 1.
_UNITS = {
    "": 1.0, "%": 0.01, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40,
    "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9,
    "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "MT/s": 1e6,
}
NARROW_SPACE = "\u2009"  # between thousands
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z%/]*)", re.ASCII)
# Of bytes only, as the program reads them.
_SIZES = {"": 1.0, "B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
          **{unit: 2.0**(10 * n) for n, letter in enumerate("KMGT", 1)
             for unit in (letter, letter.lower(), f"{letter}iB")}}
_WHOLE = re.compile(r"\d{1,30}", re.ASCII)
_DECIMAL = re.compile(r"(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][-+]?\d{1,3})?", re.ASCII)


def quantity(text: str) -> float | None:
    """The number behind `text`, such as "4K" (4096.0), "7%" (0.07) or "30us" (30000.0).

    None if the text is not a single number with a known unit, or is larger than any number.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if not match or match[2] not in _UNITS:
        return None
    value = float(match[1]) * _UNITS[match[2]]
    return value if math.isfinite(value) else None


def in_bytes(text: str) -> float | None:
    """The bytes behind `text`, such as "4K", "4KiB" (4096.0) or "4KB" (4000.0).

    None if it is not a single number from 0 on, or has a unit that is none of bytes, such as that
    of a rate, of bits or of a time.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if not match or match[2] not in _SIZES or match[1].startswith("-"):
        return None
    value = float(match[1]) * _SIZES[match[2]]
    return value if math.isfinite(value) else None


def whole(text: str) -> int | None:
    """The whole number, from 0 on, that is written with the digits 0 to 9 only; otherwise None."""
    return int(text) if _WHOLE.fullmatch(text) else None


def decimal(text: str) -> float | None:
    """The number, from 0 on, that is written with the digits 0 to 9, such as "12", "0.5" or "1e6";
    otherwise None, also if it is larger than any number."""
    value = float(text) if _DECIMAL.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def number(value: float) -> str:
    """A number for people: three significant digits, thousands apart, never an exponent below
    10^15."""
    if value != value:
        return "-"
    size = abs(value)
    if size == 0:
        return "0"
    if size >= 1e15 or size < 1e-4:
        return f"{value:.3g}"
    if size >= 999.5:  # it has four digits when it is rounded
        return f"{value:,.0f}".replace(",", NARROW_SPACE)
    digits = 2 if size >= 1 else 4
    text = f"{float(f'{value:.3g}'):.{digits}f}"
    return text.rstrip("0").rstrip(".")


def measured(value: float) -> str:
    """A number that was measured: as `number` has it, but always with three significant digits, so
    that "3.80" beside "3.73" does not look like a coarser one."""
    size = abs(value)
    if not 1e-4 <= size < 999.5:  # such numbers have their digits, and NaN has none
        return number(value)
    rounded = float(f"{value:.3g}")
    return f"{rounded:.{2 - math.floor(math.log10(abs(rounded)))}f}"


def alike(values: Sequence[float | None]) -> list[str]:
    """Numbers that stand in a row: counts if all of them are whole, otherwise each with three
    significant digits; "-" for what is not known."""
    known = [v for v in values if v is not None]
    say = number if all(v == v and v == round(v) for v in known) else measured
    return ["-" if v is None else say(v) for v in values]
