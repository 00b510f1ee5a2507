# SPDX-License-Identifier: BSD-3-Clause
"""The command `advise`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..advise import filesystems, raw_writes
from ..advise.workloads import ABOUT
from ..core.errors import LabError
from ..experiment.conclusion import result
from ..experiment.spec import parse
from ..experiment.table import Table
from ..report.folder import write_folder
from ..runs.program import Tool
from . import fit, run, show


def _print_advice(layouts: Table, by_filesystem: Table | None, folder: Path | None,
                  rows: bool) -> None:
    """The answer comes first."""
    sys.stdout.write(show.answer(layouts) + "\n")
    if by_filesystem:
        sys.stdout.write(show.answer(by_filesystem))
    else:
        print("There are no recordings that compare filesystems for this (see flashemu-lab list).")
    for table, name in ((layouts, ""), (by_filesystem, "filesystems")):
        if table and (rows or table.failures):
            sys.stdout.write("\n" + show.rows(table))
        if table and folder:
            print(f"\n{folder / name / 'index.html'}")


def advise(arguments: argparse.Namespace) -> int:
    profile, asked = arguments.profile, arguments.workload is not None
    workloads = arguments.workload.split(",") if asked else list(ABOUT)
    raw_writes.check_workloads(workloads)
    if profile.endswith(".json"):
        profile = fit.profile_for_advice(Path(profile), arguments)
    elif arguments.quick or arguments.budget:
        raise LabError(f"{profile}: --quick and --budget are for measurements, whose names end in "
                       ".json")
    device = raw_writes.look(Tool(), profile, tuple(arguments.settings))
    with run.without_places("advise.toml"):
        layouts = run.measured(parse(raw_writes.advise_text(device, workloads), "advise.toml"),
                               arguments)
    if layouts is None:
        return 130
    text = filesystems.filesystems_text(device, workloads, raw_writes.chosen_start(layouts), asked)
    by_filesystem = run.measured(parse(text, "advise.toml"), arguments) if text else None
    if text and by_filesystem is None:
        return 130
    folder: Path | None = arguments.output
    if folder:
        write_folder(layouts, folder)
        if by_filesystem:
            write_folder(by_filesystem, folder / "filesystems")
    if arguments.json:
        print(json.dumps({**json.loads(result(layouts)), "filesystems":
                          json.loads(result(by_filesystem)) if by_filesystem else None},
                         indent=1, ensure_ascii=False))
    else:
        _print_advice(layouts, by_filesystem, folder, arguments.rows)
    return 1 if layouts.failures or (by_filesystem and by_filesystem.failures) else 0
