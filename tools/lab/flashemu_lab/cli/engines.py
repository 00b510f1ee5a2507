# SPDX-License-Identifier: BSD-3-Clause
"""What the options about running say: the engine, and where results are kept."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..core.errors import LabError
from ..runs.dask_cluster import DaskEngine
from ..runs.local import Engine, LocalEngine
from ..runs.program import Tool
from ..runs.store import Store, default_folder
from .arguments import number


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of everything that makes runs."""
    command.add_argument("--jobs", metavar="N", type=number(1, 1024), default=os.cpu_count() or 1,
                         help="how many runs at the same time (one for each processor)")
    command.add_argument("--engine", metavar="local|dask", choices=("local", "dask"),
                         default="local",
                         help="what executes runs: this machine, or the workers of a Dask cluster")
    command.add_argument("--scheduler", metavar="ADDRESS", default="",
                         help="of the Dask cluster, such as tcp://10.0.0.1:8786")
    command.add_argument("--store", metavar="FOLDER", type=Path, default=None,
                         help="where results are kept ($FLASHEMU_LAB_STORE, or "
                         "~/.cache/flashemu-lab)")


def store_of(arguments: argparse.Namespace) -> Store:
    """Where results are kept."""
    return Store(arguments.store or default_folder())


def engine_of(arguments: argparse.Namespace, tool: Tool) -> Engine:
    """The engine that the options name."""
    if arguments.engine == "dask":
        if not arguments.scheduler:
            raise LabError("--engine dask needs --scheduler ADDRESS, such as tcp://10.0.0.1:8786")
        return DaskEngine(tool, arguments.scheduler)
    if arguments.scheduler:
        raise LabError(f"--scheduler {arguments.scheduler}: has no effect without --engine dask")
    return LocalEngine(tool, arguments.jobs)
