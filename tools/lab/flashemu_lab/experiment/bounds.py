# SPDX-License-Identifier: BSD-3-Clause
"""How large an experiment may be: runs, unless an option allows more, and sets of parameters of an
ensemble."""

from __future__ import annotations

MOST_RUNS = 10_000
MOST_SETS = 1000
