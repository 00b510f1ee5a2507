# SPDX-License-Identifier: BSD-3-Clause
"""The experiments that come with the lab."""

from __future__ import annotations

from pathlib import Path

from ..core.errors import LabError
from ..core.text import meant

_FOLDER = Path(__file__).parents[1] / "experiments"


def names() -> list[str]:
    """The names of the shipped experiments."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def locate(word: str) -> str:
    """The file of an experiment: a name, or a path that contains '/' or ends in .toml."""
    if "/" in word or word.endswith(".toml"):
        return word
    if word not in names():
        raise LabError(f"no experiment of the name '{word}'; known: "
                       f"{', '.join(names())}; or a path with '/' or .toml{meant(word, names())}")
    return str(_FOLDER / (word + ".toml"))
