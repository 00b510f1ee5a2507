# SPDX-License-Identifier: BSD-3-Clause
"""What a step does to a measure, in words: "costs 39 % of the rate", "gives 1.69 times the rate".

    ratio          words
    below 0.5      leaves 27 % of
    below 0.995    costs 39 % of; saves, of what is better if there is less
    up to 1.005    hardly changes
    below 1.1      adds 4 % to
    above          gives 1.69 times

So "costs" and "saves" are only said where more or less is known to be better; otherwise a step
"takes away".  Of several pairs of runs the mean is told, and the least and the largest in its unit
and with as many digits.
"""

from __future__ import annotations

from statistics import geometric_mean

from .nouns import the
from .spec import Measure

# A ratio between 1 / 1.005 and 1.005 is no difference.
SAME = 0.005
_HALF = 0.5
_FEW = 1.1
_LOSS = {"more": "costs", "less": "saves", "": "takes away"}


def _digits(value: float) -> int:
    """How many digits behind the point a percentage or a ratio has."""
    return 0 if value >= 10 else 1 if value >= 1 else 2


def _percent(share: float, digits: int) -> str:
    text = f"{100 * share:.{digits}f}"
    return f"less than {10 ** -digits:.{digits}f}" if share > 0 and float(text) == 0 else text


def _signed(ratio: float, digits: int) -> str:
    """Such as "8.5 % less" and "2.1 % more"."""
    if ratio >= 2:
        return f"{ratio:.2f} times as much"
    return f"{100 * abs(ratio - 1):.{digits}f} % {'less' if ratio < 1 else 'more'}"


def _around(least: float, most: float, digits: int) -> str:
    return f"from {_signed(least, digits)} to {_signed(most, digits)}"


def step(ratios: list[float], measure: Measure) -> str:
    """The words, with the number of pairs of runs that the ratios are of; all are above 0."""
    mean = geometric_mean(ratios)
    least, most = min(ratios), max(ratios)
    label = the(measure.label)
    if abs(mean - 1) < SAME:
        text, spread = f"hardly changes {label}", _around(least, most, 1)
    elif mean < _HALF:
        digits = _digits(100 * mean)
        text = f"leaves {_percent(mean, digits)} % of {label}"
        spread = f"{100 * least:.{digits}f} to {100 * most:.{digits}f} %"
    elif mean < _FEW:
        lost = 1 - mean
        digits = _digits(100 * abs(lost))
        amount = f"{_percent(abs(lost), digits)} %"
        text = (f"{_LOSS[measure.better]} {amount} of {label}" if lost > 0 else
                f"adds {amount} to {label}")
        ends = sorted((abs(1 - least), abs(1 - most)))
        spread = f"{100 * ends[0]:.{digits}f} to {100 * ends[1]:.{digits}f} %"
        if (least < 1) != (most < 1):
            spread = _around(least, most, digits)
    else:
        digits = 0 if mean >= 100 else 1 if mean >= 10 else 2
        text = f"gives {mean:.{digits}f} times {label}"
        spread = f"{least:.{digits}f} to {most:.{digits}f} times"
    if len(ratios) == 1:
        return f"{text} (one pair of runs)"
    if most / least < 1 + SAME:
        return f"{text} in each of {len(ratios)} pairs of runs"
    return f"{text} on average over {len(ratios)} pairs of runs ({spread})"
