# SPDX-License-Identifier: BSD-3-Clause
"""Runs of an experiment through a real kernel, to see how far a replay of recordings is off.

The kernel makes the filesystem where the partition starts in this run, on the device of this run,
and does the work of the recording again.  So the tools and the kernel see the start and react to
the device's speed, which a replay leaves out.

A kernel does not do the same twice: the order of its threads decides when it writes data out.  A
result of it is therefore not stored, and its difference from the replay has the kernel's own
variation in it.

The host thinks in such a run, and some devices go on meanwhile.  How long it thought is measured in
the server's trace of the same run, so that a replay can take the same pace:

    trace        | request |  think  | request | think | request |
    recording              |  think  |         | think |              pace = sum of the trace's
                                                                      by sum of the recording's
"""

from __future__ import annotations

import random
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import LabError
from ..experiment.plan import Point
from ..experiment.spec import Experiment
from ..experiment.table import Check
from ..recording import recordings
from ..recording.recipes import Recipe
from ..recording.recordings import Recording
from ..runs.expression import evaluate, longest_command, parse_profile
from ..runs.program import Tool
from ..runs.run import Run
from .record import Heard, Job, Tell, find_machine, perform, think_times


# The server waits a tenth of the device's time, or less if the recording was made so.  The kernel's
# timers come after an hour, so what counts is the device's time.  The host's think times become ten
# times as long in it, which matters on devices that go on meanwhile.
_SCALE = 0.1


@dataclass(frozen=True)
class _Wanted:
    """A point, the recording that it replays, and the phase that counts."""

    point: Point
    run: Run
    job: Job
    recording: Recording
    phase: str


def sample(points: list[Point], count: int, seed: int) -> list[Point]:
    """`count` of the points that have a run, drawn by a seed, in their order; all of them if count
    is 0 or there are no more."""
    able = [p for p in points if p.run]
    if not 0 < count < len(able):
        return able
    chosen = sorted(random.Random(seed).sample(range(len(able)), count))
    return [able[i] for i in chosen]


class Kernel:
    """These points, to be run through a kernel: each a life of its own in the device's time, or all
    in one boot of the virtual machine; `kernel` of choices.KERNELS says which.

    LabError, before anything runs, if a point has another source than one recording with a
    measured phase, or if the machine lacks something.
    """

    def __init__(self, experiment: Experiment, points: list[Point], tool: Tool,
                 kernel: str = "") -> None:
        self._measures = experiment.measures
        self._wanted = [_wanted(experiment, point, i) for i, point in enumerate(points)]
        self._machine = find_machine(tool, kernel)

    def check(self, tell: Tell) -> list[Check]:
        """A value of each measure for each point.  LabError if the guest fails."""
        found = []
        with closing(perform(self._machine, [w.job for w in self._wanted], tell)) as done:
            for w, (_, heard, versions, trace) in zip(self._wanted, done):
                result = heard.results.get(w.phase)
                if result is None:
                    raise LabError(f"{w.job.recipe.name}: the guest has not measured {w.phase}")
                result["elapsed_ns"] = result["busy_ns"]
                profile = parse_profile(w.run.canonical)
                values = {m.name: evaluate(m.value, result, profile) for m in self._measures}
                found.append(Check(w.point.levels, values, _pace(w, heard, trace),
                                   versions["kernel"]))
        return found


def _pace(w: _Wanted, heard: Heard, trace: Path) -> float:
    """How long the host thought in the measured phase, in think times of the recording."""
    counts = [sum(one["host"][kind]["ops"] for kind in ("read", "write", "trim", "flush"))
              for one in heard.results.values()]
    at = list(heard.results).index(w.phase)
    first, last = sum(counts[:at]), sum(counts[:at + 1])
    recorded = recordings.think_ns(w.recording, w.recording.phase(w.phase))
    return sum(think_times(trace, last)[first:]) / recorded if recorded else 0.0


def _wanted(experiment: Experiment, point: Point, number: int) -> _Wanted:
    run = point.run
    assert run
    if len(run.requests) != 1 or run.requests[0].kind != "recording" or run.warmup:
        raise LabError(f"{experiment.path}: --mode full: a run must have one recording and no "
                       "warmup")
    operand = recordings.operand(run.requests[0].text, longest_command(run.canonical))
    if not operand.measure or run.depth != 1 or run.flags:
        raise LabError(f"{experiment.path}: --mode full: a run must have measure=PHASE, depth 1 "
                       "and no flags")
    r = operand.recording
    scale = min(r.scale, _SCALE)
    recipe = Recipe(name=f"{number}-{r.name}", profile=run.profile, mkfs=r.mkfs, mount=r.mount,
                    work=r.work, start=operand.start, sectors=r.sectors, scale=scale,
                    seconds=r.seconds, memory=r.memory)
    server = (f"profile={run.profile}", *run.overrides, f"seed={run.seed}")
    return _Wanted(point, run, Job(recipe, server, True), r, operand.measure)
