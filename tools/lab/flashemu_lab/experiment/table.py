# SPDX-License-Identifier: BSD-3-Clause
"""An experiment with its results: one row for each point, in the order of the plan.

A table has no time and no path of this machine in it, so two runs of an experiment give the same
table, byte for byte.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from dataclasses import asdict, dataclass
from typing import Any, Callable

from ..core.errors import LabError
from ..core.json_text import loads, member, record, wrong
from ..runs.expression import evaluate, parse_profile
from ..runs.program import Outcome
from ..runs.run import Json
from .evidence import Evidence
from .plan import Point
from .replay_accuracy import agreement, check
from .spec import ENSEMBLE, Experiment, parse
from .theory import predict

FORMAT = 1
STATUS = ("done", "failed", "lost")


@dataclass(frozen=True)
class Row:
    """One point.

    key      of the run in the store; "" if there is no such run
    status   "done", "failed" (with `message`) or "lost" (not known, run it again)
    values   the measures by name; None where the result has none
    theory   what theory says about the law's measure, or None
    command  repeats the run
    """

    levels: tuple[str, ...]
    key: str
    status: str
    values: dict[str, float | None]
    theory: float | None
    command: str
    message: str


@dataclass(frozen=True)
class Check:
    """A point that was run through a kernel, too: what was measured there.

    pace    how long the kernel's host thought, in think times of the recording; 0 if that has none
    kernel  its version, and whose time it lived in
    """

    levels: tuple[str, ...]
    values: dict[str, float | None]
    pace: float = 0.0
    kernel: str = ""


@dataclass(frozen=True)
class Table:
    """`program` is the version and the build of the C program; `checks` are points that were run
    through a kernel as well; `evidence` belongs to an ensemble; `replay` says how far replays of
    these recordings are from a kernel (sampled.agreement), None without recordings."""

    experiment: Experiment
    program: str
    rows: tuple[Row, ...]
    checks: tuple[Check, ...] = ()
    evidence: Evidence = Evidence()
    replay: Json | None = None

    def differences(self, measure: str) -> list[tuple[Row, float, float]]:
        """The rows that a kernel has run as well, with the value of the replay and that of the
        kernel; none is 0."""
        by_levels = {row.levels: row for row in self.rows}
        found = []
        for one in self.checks:
            row = by_levels[one.levels]
            replayed, full = row.values.get(measure), one.values.get(measure)
            if replayed and full:
                found.append((row, replayed, full))
        return found

    def select(self, measure: str, levels: dict[str, str]) -> list[tuple[Row, float]]:
        """The rows that have these levels of these factors, with a value of the measure."""
        places = {i: levels[f.name] for i, f in enumerate(self.experiment.factors)
                  if f.name in levels}
        found = []
        for row in self.rows:
            value = row.values.get(measure)
            if value is not None and all(row.levels[i] == v for i, v in places.items()):
                found.append((row, value))
        return found

    @property
    def failures(self) -> list[Row]:
        """The rows that have no result."""
        return [row for row in self.rows if row.status != "done"]


def tabulate(experiment: Experiment, program: str, points: list[Point],
             find: Callable[[str], Outcome]) -> Table:
    """The table of all points; `find` gives the outcome of a run by its key."""
    rows = []
    for point in points:
        if point.run is None:
            rows.append(Row(point.levels, "", "failed", {}, None, "", point.message))
            continue
        key = point.run.key()
        outcome = find(key)
        profile = parse_profile(point.run.canonical)
        values: dict[str, float | None] = {}
        if outcome.result is not None:
            for measure in experiment.measures:
                values[measure.name] = evaluate(measure.value, outcome.result, profile)
        expected = predict(experiment.law, profile) if experiment.law else None
        rows.append(Row(point.levels, key, outcome.status, values, expected,
                        point.run.command(), outcome.message))
    return Table(experiment, program, tuple(rows),
                 replay=agreement(p.run for p in points if p.run))


def to_json(table: Table, conclusion: list[str], decisions: list[Json]) -> str:
    """All of a table as JSON, from which `from_json` makes it again; conclusion and decisions
    follow from the rest."""
    e = table.experiment
    return json.dumps({
        "format": FORMAT, "program": table.program, "name": e.name, "title": e.title,
        "conclusion": conclusion, "decisions": decisions, "replay": table.replay,
        "factors": [{"name": f.name, "label": f.label, "levels": f.levels} for f in e.factors],
        "measures": [asdict(m) for m in e.measures],
        "rows": [{**asdict(row), "levels": dict(zip((f.name for f in e.factors), row.levels))}
                 for row in table.rows],
        "full": [asdict(c) for c in table.checks],
        "evidence": table.evidence.to_json(), "experiment": e.text,
    }, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class InFile:
    """A file that `to_json` has made.  Members of type Any follow from the others."""

    format: int
    program: str
    name: Any
    title: Any
    conclusion: Any
    factors: Any
    measures: Any
    rows: tuple[dict[str, Any], ...]
    experiment: str
    decisions: Any = None
    replay: dict[str, Any] | None = None
    full: tuple[Check, ...] = ()
    evidence: Evidence = Evidence()


def from_json(text: str, path: str) -> Table:
    """The table of a file that `to_json` has made; LabError if it is another file, or damaged."""
    value = loads(text, path)
    if not isinstance(value, dict) or not {"format", "experiment", "rows"} <= value.keys():
        raise LabError(f"{path}: is not a result of flashemu-lab")
    try:
        if value["format"] != FORMAT:
            raise wrong("format", value["format"], str(FORMAT))
        file = record(InFile, value, "")
        if file.replay is not None:
            check(file.replay)
    except LabError as e:
        raise LabError(f"{path}: {e}") from None
    experiment = parse(file.experiment, f"{path}: experiment")
    try:
        rows = tuple(_row(experiment, row, f"rows[{i}]") for i, row in enumerate(file.rows))
        found = Table(experiment, file.program, rows, file.full, file.evidence, file.replay)
        _check(found)
    except LabError as e:
        raise LabError(f"{path}: {e}") from None
    return found


def _row(e: Experiment, value: Json, path: str) -> Row:
    """A row, whose levels are an object by the factors' names."""
    levels = member(dict[str, str], value.get("levels"), f"{path}.levels")
    if list(levels) != [f.name for f in e.factors]:
        raise wrong(f"{path}.levels", levels, "a level of each factor, in their order")
    found = record(Row, {**value, "levels": list(levels.values())}, path)
    if found.status not in STATUS:
        raise wrong(f"{path}.status", found.status, ", ".join(STATUS))
    return found


def _check(table: Table) -> None:
    """LabError if parts of a table do not fit to each other."""
    e = table.experiment
    known = {measure.name for measure in e.measures}
    points = list(itertools.product(*(f.levels for f in e.factors)))
    if [row.levels for row in table.rows] != points:
        raise LabError(f"rows: are not the {len(points)} combinations of the factors' levels")
    for i, row in enumerate(table.rows):
        if row.values.keys() != (known if row.status == "done" else row.values.keys() & known):
            raise wrong(f"rows[{i}].values", sorted(row.values), ", ".join(sorted(known)))
    for i, one in enumerate(table.checks):
        if one.levels not in points:
            raise wrong(f"full[{i}].levels", list(one.levels), "levels of a row")
        if not one.values.keys() <= known:
            raise wrong(f"full[{i}].values", sorted(one.values), ", ".join(sorted(known)))
    sets = len(e.factor(ENSEMBLE).levels) if any(f.name == ENSEMBLE for f in e.factors) else 0
    for i, trial in enumerate(table.evidence.trials):
        if len(trial.values) != sets:
            raise LabError(f"evidence.trials[{i}].values: there are {len(trial.values)}; allowed: "
                           f"{sets}, one for each level of {ENSEMBLE}")


def to_csv(table: Table) -> str:
    """One line for each row: levels, measures, theory, status, key, command, message."""
    e = table.experiment
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*(f.name for f in e.factors), *(m.name for m in e.measures),
                     *(["theory"] if e.law else []), "status", "key", "command", "message"])
    for row in table.rows:
        numbers = [row.values.get(m.name) for m in e.measures] + ([row.theory] if e.law else [])
        writer.writerow([*row.levels, *("" if v is None else repr(v) for v in numbers),
                         row.status, row.key, row.command, row.message])
    return out.getvalue()
