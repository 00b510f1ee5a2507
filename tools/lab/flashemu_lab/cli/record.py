# SPDX-License-Identifier: BSD-3-Clause
"""The commands that need a kernel: `record` and `sample`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import asdict

from ..core.errors import LabError
from ..core.files import write_whole
from ..core.progress import Note
from ..core.text import allowed
from ..experiment import replay_accuracy
from ..experiment.spec import parse
from ..kernel import sample
from ..kernel.record import record
from ..recording import recipes, recordings
from ..runs.program import Tool
from . import run, show


def record_(arguments: argparse.Namespace) -> int:
    path = arguments.recipes or recipes.shipped_path()
    known = recipes.load(path)
    for name in arguments.recordings:
        if name not in known:
            raise LabError(f"{path}: there is no recipe '{name}'; {allowed(name, known)}")
    chosen = [known[name] for name in arguments.recordings or known]
    folder = arguments.output or recordings.user_folder()
    made = []
    note = Note()
    command = shlex.join(["flashemu-lab", "record", *(
        ["--recipes", str(path)] if arguments.recipes else []), *(
        ["--limit", arguments.limit] if arguments.limit else [])])
    try:
        for file in record(chosen, folder, Tool(), command, note.show, arguments.limit,
                           arguments.kernel):
            note.end()
            made.append(recordings.load_file(file))
            if not arguments.json:
                print(f"{file}: {made[-1].phases[-1].last} requests", flush=True)
    finally:
        note.end()
    if arguments.json:
        print(json.dumps([show.recording(r) for r in made], indent=1))
    return 0


def sample_(arguments: argparse.Namespace) -> int:
    seeds = list(dict.fromkeys(int(word) for word in arguments.seed.split(",")))
    drawn = sample.draw(Tool(), seeds, arguments.recordings or list(recordings.names()))
    experiment = parse(sample.experiment_text(drawn), "sample.toml")
    arguments.mode = "replay"  # a kernel takes minutes, so what it is compared with comes first
    table = run.measured(experiment, arguments)
    if table is None:
        return 130
    sample.check(drawn, table)
    arguments.mode = "full"
    table = run.measured(experiment, arguments)
    if table is None:
        return 130
    kernels = [check.kernel for check in table.checks]
    arguments.mode = "replay"
    paced = run.measured(parse(sample.experiment_text(drawn, sample.paces(drawn, table)),
                               "sample.toml"), arguments)
    if paced is None:
        return 130
    found = sample.samples(drawn, table, paced)
    if arguments.output:
        write_whole(arguments.output, replay_accuracy.to_csv(found))
    if arguments.json:
        print(json.dumps([{**asdict(s), "difference": s.difference, "kernel": kernel}
                          for s, kernel in zip(found, kernels, strict=True)], indent=1))
    else:
        sys.stdout.write(show.describe_samples(found, sorted(set(kernels))))
    return 0
