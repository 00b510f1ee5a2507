# SPDX-License-Identifier: BSD-3-Clause
"""The commands `list` and `show`."""

from __future__ import annotations

import argparse
import json
import sys

from ..advise.workloads import ABOUT
from ..core.errors import LabError
from ..core.text import allowed
from ..experiment import shipped
from ..experiment.plan import plan
from ..experiment.spec import load
from ..recording import recordings
from ..runs.program import Tool
from . import engines, show


def list_(arguments: argparse.Namespace) -> int:
    if arguments.recordings:
        sys.stdout.write(show.list_recordings(arguments.json))
        return 0
    if arguments.workloads:
        print(json.dumps([show.workload(name) for name in ABOUT], indent=1)
              if arguments.json else show.list_workloads(), end="\n" if arguments.json else "")
        return 0
    if arguments.works:
        sys.stdout.write(show.list_works(arguments.json))
        return 0
    found = [load(shipped.locate(name)) for name in shipped.names()]
    if arguments.json:
        print(json.dumps([{"name": e.name, "title": e.title, "question": e.question,
                           "runs": show.runs(e)} for e in found], indent=1))
    else:
        for e in found:
            print(f"{e.name:<16} {show.runs(e):>5} runs  {e.title}")
    return 0


def _show_recording(name: str, as_json: bool) -> int:
    found = recordings.load(name)
    print(json.dumps(show.recording(found), indent=1) if as_json else
          show.describe_recording(found), end="\n" if as_json else "")
    return 0


def show_(arguments: argparse.Namespace) -> int:
    name = arguments.experiment
    if name in recordings.names() and name not in shipped.names():
        return _show_recording(name, arguments.json)
    if name in ABOUT and name not in shipped.names():
        print(json.dumps(show.workload(name), indent=1) if arguments.json else
              show.describe_workload(name), end="\n" if arguments.json else "")
        return 0
    if name not in shipped.names() and "/" not in name and not name.endswith(".toml"):
        known = (*shipped.names(), *recordings.names(), *ABOUT)
        raise LabError(f"no experiment, recording or workload of the name '{name}'; "
                       f"{allowed(name, known)}; flashemu-lab list, list --recordings and list "
                       "--workloads show them; or a path with '/' or .toml")
    experiment = load(shipped.locate(arguments.experiment))
    if arguments.toml:
        sys.stdout.write(experiment.text)
        return 0
    tool = Tool()
    points = plan(experiment, tool)
    if arguments.json:
        print(json.dumps({
            "name": experiment.name, "title": experiment.title, "question": experiment.question,
            "program": tool.program,
            "runs": [{"levels": dict(zip((f.name for f in experiment.factors), p.levels)),
                      "key": p.run.key() if p.run else None,
                      "command": p.run.command() if p.run else None, "message": p.message}
                     for p in points]}, indent=1))
        return 0
    store = engines.store_of(arguments)
    stored = sum(p.run is not None and store.get(p.run) is not None for p in points)
    sys.stdout.write(show.describe(experiment, stored))
    return 0
