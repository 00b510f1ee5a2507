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
from collections import deque
from dataclasses import dataclass, field
from typing import IO, Generator, Iterable, Protocol

from ..core.signals import hold
from .program import Outcome, Tool, check_unchanged, outcome
from .run import Run
from .store import Store


# Runs with their outcomes; closing the generator ends what is running.
Outcomes = Generator[tuple[Run, Outcome], None, None]


class Engine(Protocol):
    """What every engine offers."""

    def perform(self, runs: Iterable[Run]) -> Outcomes:
        """Each run once, in the order in which they end.  Closing the generator ends what
        is running; nothing that was started survives."""


# How many runs on one device a process does at most, because their requests are its arguments.
_MOST = 256
# The end of a result in the program's output.
_END = b"\n}\n"


def batches(runs: Iterable[Run], jobs: int) -> list[list[Run]]:
    """The runs, in groups that one process each can do.

    To make a large device takes longer than most recordings, and runs of one batch share it.  There
    are several batches for each of the `jobs`, so that all of these have work until the end.
    """
    groups: dict[object, list[Run]] = {}
    count = 0
    for run in runs:
        groups.setdefault(run.shared(), []).append(run)
        count += 1
    most = max(1, min(_MOST, count // (4 * jobs)))
    return [group[i:i + most] for group in groups.values() for i in range(0, len(group), most)]


@dataclass
class _Child:
    """A process, with those of its runs that have no outcome yet."""

    runs: list[Run]
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    output: bytearray = field(default_factory=bytearray)

    def ended(self) -> Outcomes:
        """The runs whose results are there.  The last one is not among them, because the exit code
        decides about it."""
        while len(self.runs) > 1 and _END in self.output:
            size = self.output.index(_END) + len(_END)
            text = bytes(self.output[:size])
            del self.output[:size]
            yield self.runs.pop(0), outcome(0, text, b"")


class LocalEngine:
    """Processes on this machine, `jobs` of them at the same time."""

    def __init__(self, tool: Tool, jobs: int) -> None:
        assert jobs > 0
        self._tool = tool
        self._jobs = jobs

    def perform(self, runs: Iterable[Run]) -> Outcomes:
        waiting = deque(batches(runs, self._jobs))
        children: dict[int, _Child] = {}
        with selectors.DefaultSelector() as ready:
            try:
                while waiting or children:
                    while waiting and len(children) < self._jobs:
                        batch = waiting.popleft()
                        with hold():  # a child that was started is a child that is ended
                            child = self._start(batch)
                            if isinstance(child, _Child):
                                assert child.process.stdout
                                fd = child.process.stdout.fileno()
                                children[fd] = child
                                ready.register(fd, selectors.EVENT_READ)
                        if isinstance(child, Outcome):
                            yield from ((run, child) for run in batch)
                    for key, _ in ready.select() if children else ():
                        child = children[key.fd]
                        data = os.read(key.fd, 65536)
                        child.output += data
                        if data:
                            yield from child.ended()
                            continue
                        ready.unregister(key.fd)
                        code = child.process.wait()
                        del children[key.fd]
                        yield child.runs.pop(0), self._end(child, code)
                        if child.runs:  # the one in front of them has failed
                            waiting.appendleft(child.runs)
            finally:
                for child in children.values():
                    child.process.kill()
                for child in children.values():
                    self._end(child, child.process.wait())

    def _start(self, runs: list[Run]) -> _Child | Outcome:
        errors = tempfile.TemporaryFile()
        try:
            return _Child(runs, self._tool.start(runs, errors), errors)
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
    is a LabError.  So is a file that has changed since a run was planned: what such a run says is
    not stored.
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
            check_unchanged(run.inputs())
            if ended.status != "lost":
                store.put(run, ended)
            yield run, ended
