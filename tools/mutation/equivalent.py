# SPDX-License-Identifier: BSD-3-Clause
"""Changes that alter nothing that anybody can see, listed by hand in equivalent.toml.

A change is known by its file, its kind and the text of its lines, because the lines above may move
it. A listed change is tried as any other; only if it survives, it counts as equivalent.
"""

import functools
import tomllib
from pathlib import Path

from .plan import Mutant

LIST = Path(__file__).with_name("equivalent.toml")


@functools.cache
def listed() -> frozenset[tuple[str, str, str, str]]:
    """File, kind, lines before and lines after of each change."""
    with open(LIST, "rb") as f:
        rows = tomllib.load(f).get("change", [])
    return frozenset((r["file"], r["operator"], r["before"].strip(), r["after"].strip())
                     for r in rows)


def is_listed(mutant: Mutant) -> bool:
    """Whether somebody has found that the mutant does the same as the unchanged program."""
    return (mutant.file, mutant.operator, mutant.before.strip(),
            mutant.after.strip()) in listed()
