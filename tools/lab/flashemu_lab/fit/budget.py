# SPDX-License-Identifier: BSD-3-Clause
"""How many sets of parameters a fit compares."""

from __future__ import annotations

# Of one search, of the larger one that follows if it has not come near, and of a quick one.
BUDGET, MORE, QUICK = 8000, 16000, 720
LEAST_BUDGET = 60
MOST_BUDGET = 1000000
