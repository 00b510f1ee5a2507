# SPDX-License-Identifier: BSD-3-Clause
"""Which measurement on the real device would decide about a claim.

Some sets of an ensemble say that a claim holds, others that it does not.  A measurement decides if
its values are apart: all sets in which the claim holds are on one side of a threshold, the others
are on the other side, and the gap is wider than the error of a measurement.  So each measurement
and each threshold between its values is judged by one number:

    right = mean, over the two kinds of sets, of the probability that the measurement puts a set of
            this kind on the right side, if it is off by a normal error of 2 %

A rule that knows nothing has 0.5.  The best measurement is told with its threshold.  With few sets
and many measurements, some measurement is the best one by chance.  So the labels of the sets are
shuffled, and the share of the shuffles in which some measurement is as good is told, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from ...core.text import listed
from ...core.units import number
from ...runs.run import Json
from .agreement import Agreement
from ..evidence import Judged, Trial

# The relative error of a measurement.
ERROR = 0.02
# Below this a measurement does not tell the sets apart.
_USEFUL = 0.75
# Above this a result may well be chance.
_CHANCE = 0.05
_SHUFFLES = 1000
_Array = NDArray[numpy.float64]
_normal = numpy.vectorize(lambda z: 0.5 * (1 + math.erf(z / math.sqrt(2))), otypes=[float])


@dataclass(frozen=True)
class Decision:
    """The best measurement for a claim.

    claim      as in Agreement
    tried      how many measurements there were
    trial      the best one
    threshold  in its unit; the claim holds above it, or below it if `above` is false
    where, where_not  its least and largest value in the sets where the claim holds, and where not;
               the parameters as shipped are one of the former
    right      a fraction of 1
    chance     the share of shuffles in which some measurement is as good, the labels as they are
               among them; so it is never 0
    """

    claim: str
    tried: int
    trial: Trial
    threshold: float
    above: bool
    where: tuple[float, float]
    where_not: tuple[float, float]
    right: float
    chance: float

    @property
    def useful(self) -> bool:
        """Whether the measurement tells the sets apart at all."""
        return self.right >= _USEFUL

    def to_json(self) -> Json:
        """For programs."""
        t = self.trial
        return {"claim": self.claim, "profile": t.profile, "measurement": t.what, "how": t.how,
                "unit": t.unit, "threshold": self.threshold,
                "holds": "above" if self.above else "below", "where": list(self.where),
                "where_not": list(self.where_not), "right": self.right, "chance": self.chance,
                "tried": self.tried, "useful": self.useful}


def _sides(trial: Trial) -> tuple[list[float], _Array]:
    """Thresholds between the values, and for each of them and each set the probability that the
    measurement says "above"."""
    logs = numpy.log(numpy.array(trial.values, dtype=float))
    steps = numpy.unique(logs)
    between = (steps[1:] + steps[:-1]) / 2
    return ([math.exp(t) for t in between],
            _normal((logs[None, :] - between[:, None]) / ERROR).reshape(len(between), len(logs)))


def _right(above: _Array, holds: _Array) -> _Array:
    """For each threshold, how often "holds" means "above"; for the other way round it is 1 minus
    this.  holds is 1 or 0 for each set, with both among them."""
    good = holds / holds.sum() / 2
    bad = (1 - holds) / (1 - holds).sum() / 2
    found: _Array = above @ good + (1 - above) @ bad
    return found


def decide(agreed: Agreement, trials: tuple[Trial, ...]) -> Decision | None:
    """The measurement that decides best; None if all sets agree, or if no measurement has a value
    above 0 in every set and differs between sets."""
    holds = numpy.array((True, *agreed.holds), dtype=float)
    usable = [t for t in trials if all(v is not None and v > 0 for v in t.values)]
    sides = [(t, *_sides(t)) for t in usable if len(set(t.values)) > 1]
    if holds.all() or not sides:
        return None
    everything = numpy.concatenate([above for _, _, above in sides])
    places = [(t, threshold) for t, thresholds, _ in sides for threshold in thresholds]
    rights = _right(everything, holds)
    best = int(numpy.argmax(numpy.abs(rights - 0.5)))
    distance = abs(rights[best] - 0.5)
    trial, threshold = places[best]
    values = [v for v in trial.values if v is not None]
    inside = [v for v, good in zip(values, holds) if good]
    outside = [v for v, good in zip(values, holds) if not good]
    return Decision(agreed.claim, len(sides), trial, threshold, bool(rights[best] > 0.5),
                    (min(inside), max(inside)), (min(outside), max(outside)),
                    0.5 + float(distance), _chance(everything, holds, float(distance)))


def _chance(above: _Array, holds: _Array, distance: float) -> float:
    """The share of labels with which some threshold is as far from 0.5: of the shuffled ones, and
    of those that are there.  Without the latter a share of 0 would claim what no number of shuffles
    can show (Phipson and Smyth, 2010)."""
    random = numpy.random.default_rng(1)
    found = sum(float(numpy.abs(_right(above, random.permutation(holds)) - 0.5).max())
                >= distance - 1e-9 for _ in range(_SHUFFLES))
    return (found + 1) / (_SHUFFLES + 1)


def _range(ends: tuple[float, float], unit: str) -> str:
    low, high = number(ends[0]), number(ends[1])
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def decisive(d: Decision) -> str:
    """The decision as a sentence."""
    t = d.trial
    if not d.useful:
        return (f"None of the {d.tried} measurements that were tried tells whether {d.claim}. The "
                f"best one, {t.what} on {t.profile}, would be right for {100 * d.right:.0f} % of "
                "the sets.")
    one, other = ("above", "below") if d.above else ("below", "above")
    text = (f"Whether {d.claim} can be measured: {t.what} on {t.profile}. {one.capitalize()} "
            f"{number(d.threshold)} {t.unit} it is so ({_range(d.where, t.unit)} in these sets), "
            f"{other} it is not ({_range(d.where_not, t.unit)}). If the measurement is off by "
            f"{100 * ERROR:.0f} %, this is right for {100 * d.right:.0f} % of the sets.")
    if d.chance > _CHANCE:
        text += (f" But with so few sets, one of the {d.tried} measurements would look as good by "
                 f"chance in {100 * d.chance:.0f} % of all cases; use more sets.")
    return text


def weighty(judged: tuple[Judged, ...]) -> list[str]:
    """For each profile, which published figures reject most draws of parameters."""
    found = []
    for profile in dict.fromkeys(j.profile for j in judged):
        rows = [j for j in judged if j.profile == profile and j.judged]
        hard = sorted((j for j in rows if j.rejected), key=lambda j: -j.rejected / j.judged)
        if not hard:
            found.append(f"No published figure of {profile} rejects a draw of parameters, so they "
                         "say little about these.")
            continue
        parts = [f"{j.row} rejects {j.rejected} of {j.judged} draws" for j in hard[:3]]
        found.append(f"The published figures that say most about the parameters of {profile}: "
                     f"{listed(parts)}. {_rest(len(rows) - len(hard[:3]))}".rstrip())
    return found


def _rest(count: int) -> str:
    if count < 1:
        return ""
    return f"The other {count} reject no more." if count > 1 else "The other one rejects no more."
