# SPDX-License-Identifier: BSD-3-Clause
"""How much a probe may do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """No test begins behind `seconds` of the clock, or if more than `written` bytes would be
    written in all; 0 is no limit."""

    seconds: float = 0
    written: int = 0
