# SPDX-License-Identifier: BSD-3-Clause
"""What sentences call a level, a combination of levels and a measure.

A level is called by its word `noun`; otherwise by the factor's `noun`, a pattern such as
"sector {}" or "{size} requests"; otherwise by the factor's label and the level, as in "queue 4".
A device is called by the name of its profile.
"""

from __future__ import annotations

import re
from typing import Iterable

from .spec import Experiment, Factor, Measure

_PREPOSITIONS = frozenset(("a", "an", "at", "by", "each", "for", "from", "in", "of", "per", "to",
                           "with"))
_SIZE = re.compile(r"([0-9.]+)([KMGTkmgt])")


def _parts(factor: Factor, level: str) -> tuple[str, str, str]:
    """What stands in front of a level, the level for people, and what stands behind it.  Where a
    pattern has {size}, 32K is told as 32 KiB."""
    pattern = factor.noun or ("{}" if factor.name == "profile" else factor.label + " {}")
    if "{size}" in pattern:
        head, _, tail = pattern.partition("{size}")
        match = _SIZE.fullmatch(level)
        return head, f"{match[1]} {match[2].upper()}iB" if match else level, tail
    head, _, tail = pattern.partition("{}")
    return head, level, tail


def noun(factor: Factor, level: str) -> str:
    """Such as "sector 63"."""
    return factor.given(level).get("noun") or "".join(_parts(factor, level))


def called(factor: Factor, level: str) -> str:
    """The noun where everybody knows which factor is meant: without one, just the level."""
    own = factor.noun or "noun" in factor.given(level)
    return noun(factor, level) if own else level


def instead(factor: Factor, after: str, before: str) -> str:
    """Such as "sector 256 instead of 63", "synced instead of buffered writes" and "the kernel of
    today instead of that of 2010"."""
    first, last = noun(factor, after), noun(factor, before)
    if "noun" not in factor.given(after):
        (head, new, tail), (_, old, _) = _parts(factor, after), _parts(factor, before)
        if head and not tail:
            last = f"that of {old}" if head.endswith(" of ") else old
        if tail and not head:
            first = new
    return f"{first} instead of {last}"


def nouns(e: Experiment, levels: dict[str, str]) -> list[str]:
    """Those of some factors' levels, in the order of the file."""
    return [noun(f, levels[f.name]) for f in e.factors if f.name in levels]


def combination(e: Experiment, levels: Iterable[str]) -> list[str]:
    """A level of each factor, without the factors that have only one: FAT32 and sector 63."""
    return [noun(f, level) for f, level in zip(e.factors, levels) if len(f.levels) > 1]


def the(label: str) -> str:
    """A label with its article: "the rate".  Labels that are no words, as "ftl.op", have none."""
    return label if label.startswith("the ") or "." in label else f"the {label}"


def several(label: str) -> bool:
    """Whether a label is a plural, such as "erases for each GB"."""
    for word in label.split():
        if word in _PREPOSITIONS:
            break
        if word.endswith("s") and not word.endswith(("ss", "us", "is")):
            return True
    return False


def agreeing(measure: Measure, verb: str) -> str:
    """The measure as a subject with its verb: "the rate is", "the erased blocks are"."""
    label = the(measure.label)
    if several(measure.label):
        verb = "are" if verb == "is" else verb.removesuffix("s")
    return f"{label} {verb}"
