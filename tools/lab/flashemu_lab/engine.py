# SPDX-License-Identifier: BSD-3-Clause
"""Executes runs.

An engine takes runs and yields each of them with its outcome, in the order in which they end.  It
knows neither experiments nor the store.  `execute` here puts the store around any engine: what is
stored is not run, and what has ended is stored before anything else happens.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from typing import IO, Generator, Iterable, Protocol

from .run import Run
from .signals import hold
from .store import Store
from .tool import Outcome, Tool, outcome


# Runs with their outcomes; closing the generator ends what is running.
Outcomes = Generator[tuple[Run, Outcome], None, None]


class Engine(Protocol):
    """What every engine offers."""

    def perform(self, runs: Iterable[Run]) -> Outcomes:
        """Each run once, in the order in which they end.  Closing the generator ends what
        is running; nothing that was started survives."""


@dataclass
class _Child:
    run: Run
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    output: bytearray = field(default_factory=bytearray)


class LocalEngine:
    """Processes on this machine, `jobs` of them at the same time."""

    def __init__(self, tool: Tool, jobs: int) -> None:
        assert jobs > 0
        self._tool = tool
        self._jobs = jobs

    def perform(self, runs: Iterable[Run]) -> Outcomes:
        waiting = iter(runs)
        children: dict[int, _Child] = {}
        with selectors.DefaultSelector() as ready:
            try:
                while True:
                    while len(children) < self._jobs:
                        run = next(waiting, None)
                        if run is None:
                            break
                        with hold():  # a child that was started is a child that is ended
                            child = self._start(run)
                            if isinstance(child, _Child):
                                assert child.process.stdout
                                fd = child.process.stdout.fileno()
                                children[fd] = child
                                ready.register(fd, selectors.EVENT_READ)
                        if isinstance(child, Outcome):
                            yield run, child
                    if not children:
                        return
                    for key, _ in ready.select():
                        child = children[key.fd]
                        data = os.read(key.fd, 65536)
                        child.output += data
                        if data:
                            continue
                        ready.unregister(key.fd)
                        code = child.process.wait()
                        del children[key.fd]
                        yield child.run, self._end(child, code)
            finally:
                for child in children.values():
                    child.process.kill()
                for child in children.values():
                    self._end(child, child.process.wait())

    def _start(self, run: Run) -> _Child | Outcome:
        errors = tempfile.TemporaryFile()
        try:
            return _Child(run, self._tool.start(run, errors), errors)
        except OSError as e:
            errors.close()
            return Outcome("lost", message=f"{self._tool.path}: {e.strerror}")

    @staticmethod
    def _end(child: _Child, code: int) -> Outcome:
        with child.errors as errors:
            errors.seek(0)
            text = errors.read()
        assert child.process.stdout
        child.process.stdout.close()
        return outcome(code, bytes(child.output), text)


def execute(runs: Iterable[Run], store: Store, engine: Engine,
            again: bool = False) -> Outcomes:
    """Yields each different run once with its outcome: first the stored ones, then the others as
    they end, stored before they are yielded.

    With `again` the stored runs are executed, too, and a result that differs from the stored one
    is a LabError.
    """
    missing = []
    for run in {run.key(): run for run in runs}.values():
        found = None if again else store.get(run)
        if found:
            yield run, found
        else:
            missing.append(run)
    with closing(engine.perform(missing)) as outcomes:
        for run, ended in outcomes:
            if ended.status != "lost":
                store.put(run, ended)
            yield run, ended
