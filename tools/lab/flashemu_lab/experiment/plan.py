# SPDX-License-Identifier: BSD-3-Clause
"""The runs of an experiment: every combination of the factors' levels."""

from __future__ import annotations

import itertools
import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ..core.errors import LabError
from ..core.toml_lines import Lines, Path
from ..runs.expression import evaluate, longest_command, parse_profile
from ..runs.program import Tool
from ..runs.run import Run, Source
from .bounds import MOST_RUNS
from .spec import ENSEMBLE, Experiment, Mistakes


@dataclass(frozen=True)
class Point:
    """One combination: a level of each factor, in their order, and its run.

    A combination that no device can have (ftl.gc_policy of a strategy that does not clean) has no
    run, and a message instead; `place` is the table of the file that the message is about.
    """

    levels: tuple[str, ...]
    run: Run | None
    message: str = ""
    place: Path = ()


def plan(experiment: Experiment, tool: Tool, most: int = MOST_RUNS) -> list[Point]:
    """The points in the order of the factors; the last factor changes fastest.

    LabError, with lines of the file, for what is wrong whatever the other factors are; and if
    there are more than `most` runs.
    """
    count = math.prod(len(f.levels) for f in experiment.factors)
    if count > most:
        sizes = " x ".join(str(len(f.levels)) for f in experiment.factors)
        raise LabError(f"{experiment.path}: {sizes} = {count} runs; allowed: {most} "
                       "(--most raises the limit)")
    combinations = list(itertools.product(*(f.levels for f in experiment.factors)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        points = list(pool.map(lambda levels: _point(experiment, tool, levels), combinations))
    _check(experiment, tool, points)
    return points


def _point(experiment: Experiment, tool: Tool, levels: tuple[str, ...]) -> Point:
    by_name = {f.name: level for f, level in zip(experiment.factors, levels)}
    words = {word: value for f in experiment.factors
             for word, value in f.given(by_name[f.name]).items()}

    def fill(text: str) -> str:
        # twice, because the value of a word may name other words
        for name, value in (*words.items(), *words.items(), *by_name.items()):
            text = text.replace("{" + name + "}", value)
        return text

    profile = by_name.get("profile") or fill(experiment.profile)
    settings = _settings(experiment, profile, [fill(s) for s in experiment.settings], by_name,
                         words)
    place: Path = ("device",)
    try:
        canonical = tool.canonical(profile, tuple(settings))
        longest = longest_command(canonical)
        place = ("workload", "requests")
        requests = [_source(experiment, tool, fill(t), longest) for t in experiment.requests]
        place = ("workload", "warmup")
        warmup = [_source(experiment, tool, fill(t), longest)
                  for t in (experiment.warmup,) if t]
    except LabError as e:
        return Point(levels, None, str(e), place)
    seed = int(by_name.get("seed", experiment.seed))
    run = tool.run(profile, tuple(settings), tuple(requests), seed, warmup[0] if warmup else None,
                   experiment.depth, experiment.flags)
    return Point(levels, run)


def _settings(experiment: Experiment, profile: str, settings: list[str], by_name: dict[str, str],
              words: dict[str, str]) -> list[str]:
    """SECTION.KEY=VALUE for each key that is set; a word gives way to [device] and factors."""
    chosen = {s.split("=", 1)[0] for s in settings} | {f.name for f in experiment.factors}
    found = []
    for word, value in words.items():
        owner, _, key = word.rpartition(":")
        if "." in key and owner in ("", profile) and key not in chosen:
            found.append(f"{key}={value}")
    return [*found, *settings,
            *(f"{f.name}={by_name[f.name]}" for f in experiment.factors
              if f.is_key and f.name in by_name)]


def profiles(e: Experiment) -> tuple[str, ...]:
    """The profiles of an experiment; LabError if they depend on other factors."""
    found = next((f.levels for f in e.factors if f.name == "profile"), None) or (e.profile,)
    if any("{" in profile for profile in found):
        raise LabError(f"{e.path}: profile = \"{e.profile}\": an ensemble needs the profile's name")
    return found


def settings_of(e: Experiment, profile: str, level: str) -> tuple[str, ...]:
    """What a level of the ensemble sets on a device, with what [device] sets on every device; only
    the latter without a level."""
    words = e.factor(ENSEMBLE).given(level) if level else {}
    fixed = [s for s in e.settings if "{" not in s]
    varied = {f.name for f in e.factors}
    return tuple(s for s in _settings(e, profile, fixed, {}, words)
                 if s.split("=", 1)[0] not in varied)


def _source(experiment: Experiment, tool: Tool, text: str, longest: int) -> Source:
    if text.startswith("gen:"):
        tool.check_pattern(text)
    return Source.of(text, experiment.base, longest)


def _check(experiment: Experiment, tool: Tool, points: list[Point]) -> None:
    """Tells what is wrong whatever the other factors are."""
    mistakes = Mistakes(experiment.path, Lines(experiment.text))
    if all(p.run is None for p in points):
        for place, message in dict.fromkeys((p.place, p.message) for p in points):
            if place == ("device",):
                place = _culprit(experiment, message)
            told = [level for f in experiment.factors if ("factors", f.name) == place
                    for level in f.levels if f"={level}:" in message]
            mistakes.add(place, message, told[0] if told else None)
        mistakes.end()
    for i, factor in enumerate(experiment.factors):
        for level in factor.levels:
            messages = [p.message for p in points if p.levels[i] == level and p.run is None]
            if len(messages) == sum(p.levels[i] == level for p in points):
                mistakes.add(("factors", factor.name), messages[0], level)
    profile = parse_profile(next(p.run.canonical for p in points if p.run))
    for measure in experiment.measures:
        try:
            evaluate(measure.value, tool.members(), profile)
        except LabError as e:
            mistakes.add(("measure", measure.name, "value"), str(e))
    mistakes.end()


def _culprit(experiment: Experiment, message: str) -> Path:
    """The place in the file that a message about a device belongs to."""
    for factor in experiment.factors:
        if factor.is_key and factor.name in message:
            return ("factors", factor.name)
    for setting in experiment.settings:
        if setting.split("=", 1)[0] in message:
            return ("device", "set")
    if message.startswith("profile="):
        return ("device", "profile") if experiment.profile else ("factors", "profile")
    return ("device",)
