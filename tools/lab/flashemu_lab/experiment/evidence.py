# SPDX-License-Identifier: BSD-3-Clause
"""What is known besides the rows of a table with an ensemble.

There are two kinds.  A draw of parameters was kept because it meets the published figures; which of
them reject most draws says what these figures are worth.  And for each set that was kept, there are
the values of measurements that somebody could make on the real device: they tell sets apart.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Judged:
    """A published figure of a profile, which draws had to meet.

    row       the figure's name in [fidelity]
    judged    the draws that the figure was asked about
    rejected  those of them that miss it
    """

    profile: str
    row: str
    judged: int
    rejected: int


@dataclass(frozen=True)
class Trial:
    """A measurement that can be made on the real device.

    what    for people, such as "random writes of 4 KiB"
    how     how to make it on the real device, as a line for a shell or in words
    unit    of the values, such as "MB/s"
    values  one for each level of the ensemble, the parameters as shipped first; None where the
            device cannot do it
    """

    profile: str
    what: str
    how: str
    unit: str
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Evidence:
    """All of it; trials are there if some claim does not hold in every set."""

    judged: tuple[Judged, ...] = ()
    trials: tuple[Trial, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As json_text.record takes it."""
        return {"judged": [asdict(j) for j in self.judged],
                "trials": [asdict(t) for t in self.trials]}
