# SPDX-License-Identifier: BSD-3-Clause
"""The commands `run`, `sweep` and `report`, and how every experiment of another command is run."""

from __future__ import annotations

import argparse
import os
import re
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Iterator

from ..core.errors import LabError
from ..core.files import write_whole
from ..core.progress import Note, Progress
from ..crash import results
from ..experiment import host_time, shipped
from ..experiment.conclusion import agreements, result
from ..experiment.ensemble import parameter_sets, trials
from ..experiment.evidence import Evidence, Judged, Trial
from ..experiment.plan import plan
from ..experiment.spec import Experiment, load, parse
from ..experiment.sweep import sweep_text
from ..experiment.table import Check, from_json, Table, tabulate
from ..kernel import full_runs
from ..report.folder import read_result, write_folder
from ..report.page import page
from ..runs.local import Engine, execute
from ..runs.program import Outcome, Tool
from ..runs.store import Store
from . import engines, outputs, show


@contextmanager
def without_places(name: str) -> Iterator[None]:
    """Mistakes in an experiment that the command line describes: there is no file of this name that
    the user could open, so its lines are no help."""
    try:
        yield
    except LabError as e:
        raise LabError(re.sub(rf"^{re.escape(name)}(:\d+)?: ", "", str(e), flags=re.MULTILINE),
                       e.code) from None


def say_stopped(progress: Progress, what: str) -> None:
    progress.end()
    print(f"flashemu-lab: stopped with {what}; the same command continues", file=sys.stderr)


def _print(table: Table, folder: Path | None) -> None:
    sys.stdout.write(show.summary(table))
    if folder:
        print(f"\n{folder / 'index.html'}")


def measured(experiment: Experiment, arguments: argparse.Namespace) -> Table | None:
    """Runs what is missing; None if a signal ended that."""
    tool, store = Tool(), engines.store_of(arguments)
    engine = engines.engine_of(arguments, tool)
    judged: tuple[Judged, ...] = ()
    if arguments.ensemble:
        text, judged = parameter_sets.with_sets(experiment, tool, store, arguments.jobs,
                                          arguments.ensemble, arguments.ensemble_seed)
        experiment = parse(text, experiment.path)
    points = plan(experiment, tool, arguments.most)
    kernel = None
    if getattr(arguments, "mode", "replay") == "full":
        chosen = full_runs.sample(points, arguments.sample, arguments.sample_seed)
        kernel = full_runs.Kernel(experiment, chosen, tool, arguments.kernel)
    runs = {p.run.key(): p.run for p in points if p.run}
    outcomes: dict[str, Outcome] = {}
    stored = 0
    for key, run in runs.items():
        found = store.get(run)
        if found and found.status == "failed" and arguments.retry:
            store.forget(run)
        elif found and not arguments.again:
            stored += 1
    progress = Progress(len(runs))
    try:
        for run, outcome in execute(runs.values(), store, engine, arguments.again):
            outcomes[run.key()] = outcome
            progress.show(len(outcomes), stored)
    except KeyboardInterrupt:
        say_stopped(progress, f"{len(outcomes)} of {len(runs)} runs stored")
        return None
    finally:
        progress.end()
    table = tabulate(experiment, tool.program, points, outcomes.__getitem__)
    try:
        if table.replay:
            table = replace(table, replay=host_time.told(table.replay, runs.values(),
                                                        outcomes.__getitem__, store, engine))
        table = replace(table, evidence=Evidence(judged, _trials(table, tool, store, engine)))
    except KeyboardInterrupt:
        print("flashemu-lab: stopped while measuring what would decide; the same command continues",
              file=sys.stderr)
        return None
    if kernel:
        table = replace(table, checks=tuple(_checked(kernel)))
    return table


def _trials(table: Table, tool: Tool, store: Store, engine: Engine) -> tuple[Trial, ...]:
    """Measurements that may tell the sets of an ensemble apart; none if these agree."""
    if all(all(a.holds) for a in agreements(table)):
        return ()
    note = Note()
    try:
        return trials.perform(table.experiment, tool, store, engine, lambda done, all_of: note.show(
            "what would decide", f"{done} of {all_of} runs"))
    finally:
        note.end()


def _checked(kernel: full_runs.Kernel) -> list[Check]:
    note = Note()
    try:
        return kernel.check(note.show)
    finally:
        note.end()


def _run(experiment: Experiment, arguments: argparse.Namespace) -> int:
    """Runs what is missing, and prints and writes the result."""
    table = measured(experiment, arguments)
    if table is None:
        return 130
    if arguments.output:
        write_folder(table, arguments.output)
    if arguments.json:
        sys.stdout.write(result(table))
    else:
        _print(table, arguments.output)
    return 1 if table.failures else 0


def run(arguments: argparse.Namespace) -> int:
    for option in ("kernel", "sample"):
        if getattr(arguments, option) and arguments.mode != "full":
            raise LabError(f"--{option} needs --mode full")
    return _run(load(shipped.locate(arguments.experiment)), arguments)


def sweep(arguments: argparse.Namespace) -> int:
    flags = [f"--{name}" for name in ("timed", "wrap", "drop-trim")
             if getattr(arguments, name.replace("-", "_"))]
    text = sweep_text(arguments.profile, arguments.operands, arguments.warmup, arguments.depth,
                      arguments.seed, arguments.measure, flags)
    with without_places("sweep.toml"):
        return _run(parse(text, "sweep.toml"), arguments)


def report(arguments: argparse.Namespace) -> int:
    outputs.check_page(arguments.output, arguments.force)
    text, path = read_result(arguments.folder)
    here = os.path.relpath(arguments.folder, arguments.output.parent)
    write_whole(arguments.output, results.to_page(results.from_json(text, path))
                if results.is_crash(text)
                else page(from_json(text, path), "" if here == "." else here))
    return 0
