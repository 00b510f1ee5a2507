# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes of users, and what is not installed."""

from __future__ import annotations

import importlib
from typing import Any


class LabError(Exception):
    """Something that the user has to change; the text is one line a mistake, without a prefix.

    The program prints the text and exits with `code`: 2 for wrong use or bad input, 1 if the
    work was done and the answer is no.
    """

    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(text)
        self.code = code


def module(name: str, package: str, what: str = "") -> Any:
    """A Python module that not every command needs; LabError if the Debian package is missing or
    is for another Python, with `what` needs it in front."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise LabError(f"{what} needs the Python module {name.partition('.')[0]}: apt-get install "
                       f"{package}".lstrip()) from None
