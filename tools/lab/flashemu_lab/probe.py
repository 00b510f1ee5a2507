# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests on a device, within a budget, and keeps what has been measured whatever happens.

After every test the file is written anew.  So Ctrl-C, a device that is pulled out, and the end of
the budget cost the test that was running and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from . import measurement, probing
from .errors import LabError, number
from .measurement import Measurement
from .probing import Found, Test
from .target import Clock, Target
from .tool import Tool


@dataclass(frozen=True)
class Budget:
    """No test begins behind `seconds` of the clock, or if more than `written` bytes would be
    written in all; 0 is no limit."""

    seconds: float = 0
    written: int = 0


@dataclass(frozen=True)
class Plan:
    """What will happen at most: tests, bytes that are written, seconds on a slow stick."""

    tests: int
    written: int
    seconds: float

    def text(self, name: str, capacity: int) -> str:
        """The statement in front of everything."""
        size = f"{number(capacity / 1e9)} GB" if capacity >= 10**9 else \
            f"{number(capacity / 1e6)} MB"
        minutes = max(1, round(self.seconds / 60))
        time = f"a slow stick needs about {minutes} min"
        if not self.written:
            return f"{name}: {self.tests} tests; writes nothing; {time}"
        return (f"{name}: up to {self.tests} tests; with units of 4 MiB they write up to "
                f"{number(self.written / 1e6)} MB, which destroys what is on its {size}; {time}")


def plan(tool: Tool, capacity: int, read_only: bool) -> Plan:
    """The most that can happen on a device whose unit is 4 MiB."""
    every = list(probing.tests(tool, capacity, read_only, Found(), lambda: None))
    return Plan(len(every), sum(t.written for t in every), sum(t.seconds() for t in every))


def run_test(test: Test, target: Target, clock: Clock,
             stands_still: bool) -> list[measurement.Point]:
    """The points of one test; OSError if the device fails.  A clock that stands still between two
    requests is read once for both."""
    times: list[int] = []
    end = clock()
    for request in test.requests:
        begin = end if stands_still else clock()
        if request.writes:
            target.write(request.offset, request.length)
        else:
            target.read(request.offset, request.length)
        end = clock()
        times.append(end - begin)
    return probing.result(test, times)


@dataclass
class Probe:
    """A run.  `found` has what was measured, `left` the tests for which the budget was too small,
    `failure` why the run ended early, or ""."""

    tool: Tool
    target: Target
    clock: Clock
    stands_still: bool
    read_only: bool
    budget: Budget
    save: Callable[[Found], None]
    show: Callable[[str], None]

    def __post_init__(self) -> None:
        self.found = Found()
        self.left: list[str] = []
        self.failure = ""
        self.written = 0

    def run(self) -> None:
        """All tests.  KeyboardInterrupt goes through; what was measured is saved then, too."""
        begin = self.clock()
        for test in probing.tests(self.tool, self.target.capacity, self.read_only, self.found,
                                  lambda: probing.judge(self.found)):
            if self._too_much(test, (self.clock() - begin) / 1e9):
                self.left.append(test.name)
                continue
            self.show(test.name)
            self.written += test.written
            try:
                points = run_test(test, self.target, self.clock, self.stands_still)
            except OSError as e:
                self.failure = (f"{self.target.name}: {e.strerror} in the test '{test.name}'; "
                                f"{len(self.found.points)} points have been measured before")
                return
            self.found.points += points
            self.save(self.found)

    def _too_much(self, test: Test, seconds: float) -> bool:
        if self.budget.seconds and seconds > self.budget.seconds:
            return True
        return bool(self.budget.written and test.written
                    and self.written + test.written > self.budget.written)


def to_measurement(found: Found, target: Target, made_by: str, name: str, state: str,
                   host: str) -> Measurement:
    """The file's content."""
    return Measurement(measurement.gather(found.points), name, target.capacity, state,
                       host or target.host, made_by)


def writer(target: Target, made_by: str, output: Path, name: str, state: str,
           host: str) -> Callable[[Found], None]:
    """What saves the points so far."""
    def save(found: Found) -> None:
        if not found.points:
            raise LabError(f"{target.name}: nothing could be measured", 1)
        measurement.save(to_measurement(found, target, made_by, name, state, host), output)
    return save
