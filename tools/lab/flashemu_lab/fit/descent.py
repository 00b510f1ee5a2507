# SPDX-License-Identifier: BSD-3-Clause
"""Bounded least squares where each set of numbers takes a comparison.

Slopes cost one comparison for each number.  They hardly change along a few steps, or from one
descent to the next that begins near, so a descent begins with those of the one before, and every
step corrects them by what it has shown (Broyden).
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..core.errors import module

# An array of residuals at a place, and their slopes there: shape (residuals, numbers).
At = Callable[[Any], Any]
Slopes = Callable[[Any, Any], Any]


class Descent:
    """Descents that follow each other.  `slopes` are the last ones; None makes the next descent
    compute them anew."""

    def __init__(self) -> None:
        self.slopes: Any = None

    def run(self, at: At, slopes_at: Slopes, begin: Any, bounds: tuple[Any, Any], loss: str,
            scale: float, steps: int) -> None:
        """Goes down from `begin`, at most `steps` steps, between the lower and the upper `bounds`;
        whoever gives `at` sees each place.  An error of `at` or `slopes_at` ends the descent and is
        passed on; the slopes are kept."""
        least_squares = module("scipy.optimize", "python3-scipy").least_squares
        last: tuple[Any, Any] | None = None

        def slopes(x: Any) -> Any:
            nonlocal last
            here = at(x)
            old = self.slopes
            if old is None or old.shape != (len(here), len(x)):
                old = slopes_at(x, here)
            elif last is not None and (x != last[0]).any():
                step = x - last[0]
                old = old + np.outer(here - last[1] - old @ step, step) / float(step @ step)
            last = (x.copy(), here)
            self.slopes = old
            return old

        least_squares(at, begin, bounds=bounds, loss=loss, jac=slopes, max_nfev=steps,
                      f_scale=scale, xtol=1e-3, ftol=1e-3)
