# SPDX-License-Identifier: BSD-3-Clause
"""What the options about running say: the engine, and where results are kept."""

from __future__ import annotations

import argparse

from ..core.errors import LabError
from ..runs.local import Engine, LocalEngine
from ..runs.program import Tool
from ..runs.store import Store, default_folder


def store_of(arguments: argparse.Namespace) -> Store:
    """Where results are kept."""
    return Store(arguments.store or default_folder())


def engine_of(arguments: argparse.Namespace, tool: Tool) -> Engine:
    """The engine that the options name."""
    if arguments.engine == "dask":
        if not arguments.scheduler:
            raise LabError("--engine dask needs --scheduler ADDRESS, such as tcp://10.0.0.1:8786")
        from ..runs.dask_cluster import DaskEngine  # loads asyncio

        return DaskEngine(tool, arguments.scheduler)
    if arguments.scheduler:
        raise LabError(f"--scheduler {arguments.scheduler}: has no effect without --engine dask")
    return LocalEngine(tool, arguments.jobs)
