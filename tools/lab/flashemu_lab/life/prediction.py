# SPDX-License-Identifier: BSD-3-Clause
"""Years, and what they rest on.

    bytes a day on the chip = bytes a day from the host x write amplification
    years                   = bytes that the host can write / bytes a day / 365.25

The first line is exact, because both sides are counted in one replay.  Where several shapes of
requests are possible, as many cards are drawn under each, so the interval is as wide as what is not
known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Iterable, Mapping

import numpy as np

from ..core.errors import LabError
from ..core.units import number
from ..runs.local import Engine, execute
from ..runs.program import Outcome, Tool
from ..runs.run import Json, Run, Source
from ..runs.store import Store
from . import lives
from .asked import DAY, DRAWS, Effort
from .card import Card
from .endurance import Number
from .lives import Array
from .steady import Steady, judge
from .works import Work

YEAR = 365.25
# Shares of the cards that end before the interval, and before its end.
LOW, HIGH = 0.1, 0.9


@dataclass(frozen=True)
class Question:
    """A work on a card, and how it is replayed.

    steady  the run that repeats the requests, by the name of their shape
    once    the requests once, where it must be known how much they write
    """

    work: Work
    card: Card
    steady: Mapping[str, Run]
    once: Run | None


@dataclass(frozen=True)
class Prediction:
    """years     of each card that was drawn, sorted
    per_day   bytes from the host, and chip_per_day on the chip
    ends      what ends the life, with the share of the cards
    steady    what the replays say, by shape
    doubts    why there is no evidence; empty if there is
    """

    work: Work
    card: Card | None
    years: Array
    per_day: float
    chip_per_day: float
    ends: Mapping[str, float]
    steady: Mapping[str, Steady]
    doubts: tuple[str, ...]
    assumed: tuple[Number, ...]
    commands: tuple[str, ...]

    def quantile(self, share: float) -> float:
        """Years within which this share of the cards ends."""
        return float(np.quantile(self.years, share))

    @property
    def median(self) -> float:
        """Years of the card in the middle."""
        return self.quantile(0.5)

    @property
    def waf(self) -> float | None:
        """Chip bytes for each byte of the host; None where nothing was replayed."""
        return self.chip_per_day / self.per_day if self.steady else None


def ask(tool: Tool, work: Work, card: Card, effort: Effort) -> Question:
    """How a work on a card is replayed; LabError if it cannot be."""
    limit = card.longest
    flags = ["--drop-trim", *(["--timed"] if work.timed else []),
             *(["--wrap"] if work.end else [])]
    repeat = ["--until=steady", f"--most={effort.most}"]
    runs = {}
    for name, text in work.shapes(card):
        source = Source.of(text, Path(), limit)
        runs[name] = tool.run(card.profile, card.replayed, (source,), effort.seed,
                              flags=tuple(flags + repeat))
    once = None
    if work.rounds:
        source = Source.of(work.requests[0][1], Path(), limit)
        once = tool.run(card.profile, card.replayed, (source,), effort.seed, flags=tuple(flags))
    return Question(work, card, runs, once)


def round_bytes(tool: Tool, q: Question, effort: Effort, store: Store, engine: Engine) -> float:
    """How much the host writes when the requests happen once; 0 if they are a pattern."""
    if len(q.work.requests) != 1 or q.work.requests[0][1].startswith("gen:"):
        return 0
    counted = q.once or ask(tool, replace(q.work, rounds=1.0), q.card, effort).once
    assert counted
    outcomes = {run.key(): outcome for run, outcome in execute([counted], store, engine)}
    return float(_result(counted, outcomes)["host"]["write"]["bytes"])


def perform(questions: Iterable[Question], store: Store, engine: Engine) -> dict[str, Outcome]:
    """The outcomes of all runs, by their keys."""
    runs = [run for q in questions for run in (*q.steady.values(), *([q.once] if q.once else []))]
    return {run.key(): outcome for run, outcome in execute(runs, store, engine)}


def _result(run: Run, outcomes: Mapping[str, Outcome]) -> Json:
    found = outcomes[run.key()]
    if found.result is None:
        raise LabError(f"{run.profile}: {found.message}")
    return found.result


def answer(q: Question, outcomes: Mapping[str, Outcome], effort: Effort) -> Prediction:
    """The prediction.  LabError if nothing wears, or if the numbers contradict each other."""
    steady = {name: judge(_result(run, outcomes), q.card, q.work.name)
              for name, run in q.steady.items()}
    waf = sum(s.waf for s in steady.values()) / len(steady)
    per_day = q.work.per_day
    if q.once:
        per_day = q.work.rounds * _result(q.once, outcomes)["host"]["write"]["bytes"]
    elif q.work.on_chip:
        per_day = per_day / waf
    most = max(s.most for s in steady.values())
    if per_day > most:
        raise LabError(f"{q.work.name}: {number(per_day / 1e9)} GB a day are more than "
                       f"{q.card.profile} can write, {number(most / 1e9)} GB a day")
    years, ends = _years(q, steady, per_day, effort)
    doubts = [*q.work.doubts, *_behind(q), *_unsteady(steady), *_refreshed(steady)]
    return Prediction(q.work, q.card, years, per_day, per_day * waf, ends, steady, tuple(doubts),
                      (*q.work.assumed, *q.card.assumed),
                      tuple(run.command() for run in q.steady.values()))


def _behind(q: Question) -> list[str]:
    """Whether a trace is of a larger device."""
    if q.work.end <= q.card.capacity:
        return []
    return [f"requests behind the end of the card, up to {number(q.work.end / 1e9)} GB, go to its "
            "start"]


def _years(q: Question, steady: Mapping[str, Steady], per_day: float,
           effort: Effort) -> tuple[Array, dict[str, float]]:
    """Of cards drawn under each shape, and what ends them."""
    possible = [(s, pools) for s in steady.values() for pools in s.possible]
    each = max(1, effort.cards // len(possible))
    parts: list[Array] = []
    ends: dict[str, float] = {}
    for s, pools in possible:
        drawn = lives.draw(pools, s.spares, q.card.spread, effort.seed, each)
        parts.append(np.array(np.maximum(drawn.bytes + s.gained, 0) / per_day / YEAR, dtype=float))
        for name, share in drawn.ends.items():
            ends[name] = ends.get(name, 0.0) + share / len(possible)
    return np.sort(np.concatenate(parts)), ends


def _unsteady(steady: Mapping[str, Steady]) -> list[str]:
    """A sentence for each replay that did not come to a steady state."""
    found = []
    for name, s in steady.items():
        if not s.reached:
            moved = f", the write amplification still moves by {100 * _moves(s):.0f} %" \
                if len(s.passes) > 1 else ""
            found.append(f"the device is not steady after {s.requests} requests ({name}){moved}; "
                         "--most "
                         "N replays more")
    return found


def _refreshed(steady: Mapping[str, Steady]) -> list[str]:
    """A sentence if refresh has so much of the wear that two lives are possible."""
    if not any(s.shared for s in steady.values()):
        return []
    share = max(s.refreshed for s in steady.values())
    return [f"{100 * share:.0f} % of the erases are of refresh, so half of the cards are drawn as "
            "if blocks kept their parts in it, and half as if all shared it"]


def _moves(s: Steady) -> float:
    return abs(s.passes[-1] / s.passes[-2] - 1)


def of_health(work: Work) -> Prediction:
    """What a device says about itself, from then on at the same pace: its life from the first
    day."""
    assert work.health
    if work.before:
        return _of_two(work, work.health.used, work.before.used)
    used = work.health.used
    kind = max(used, key=lambda k: used[k][1])
    low, high = used[kind]
    age = work.age / DAY / YEAR
    # All shares within the step are as likely.
    shares = np.linspace(low, high, DRAWS + 1)[1:]
    step = f"{100 * low:.0f} to {100 * high:.0f} %, type {kind}"
    assumed = (Number("share of its life used up", step, "the device"),
               Number("age", f"{age:.3g} years", "given"),
               Number("share within the step", "all are as likely", "assumed"))
    return Prediction(work, None, np.sort(age / shares), 0, 0, {f"type {kind}": 1.0}, {}, (),
                      assumed, ())


def _of_two(work: Work, used: Mapping[str, tuple[float, float]],
            before: Mapping[str, tuple[float, float]]) -> Prediction:
    """Years from the second reading on, at the pace between the two, for the type that
    ends first."""
    rng = np.random.default_rng(1)
    found: dict[str, Array] = {}
    for kind in used:
        if kind in before and before[kind] < used[kind]:
            first, second = (low + (high - low) * rng.random(DRAWS)
                             for low, high in (before[kind], used[kind]))
            pace = (second - first) / (work.apart / DAY / YEAR)
            found[kind] = np.sort((1 - second) / pace)
    kind = min(found, key=lambda k: float(np.median(found[k])))
    steps = ", then ".join(f"{100 * low:.0f} to {100 * high:.0f} %"
                           for low, high in (before[kind], used[kind]))
    assumed = (Number("share of its life used up", f"{steps}, type {kind}", "the device"),
               Number("between the readings", f"{work.apart / DAY:.4g} days", "the readings"),
               Number("share within the step", "all are as likely", "assumed"))
    return Prediction(work, None, found[kind], 0, 0, {f"type {kind}": 1.0}, {}, (), assumed, ())
