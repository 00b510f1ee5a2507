# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests on a device, within a budget, and keeps what has been measured whatever happens.

After every test the file is written anew.  So Ctrl-C, a device that is pulled out, and the end of
the budget cost the test that was running and nothing else.  A second run with the same file leaves
out the tests whose points are there.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ..core.errors import LabError
from ..core.units import number
from ..measurement import schema
from ..measurement.schema import Measurement, Point
from ..runs.program import Tool
from . import findings
from .budget import Budget
from .conversation import Conversation
from .findings import Found, Wishes
from .target import Clock, SILENCE_S, Target, silent
from .tests import structure
from .tests.structure import Request, Test

MADE_BY = "flashemu-lab probe "
_DEVICE_TIME = ", device time"
_OPS = {"look": "read"}     # what requests are called in a trace


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


def plan(tool: Tool, wishes: Wishes) -> Plan:
    """The most that can happen on a device whose unit is 4 MiB, or that shows none, not even with
    a flush behind each write."""
    some = (Found(unit=unit, page=16 << 10, small_write=4 << 10, slc=wishes.capacity, seen=seen)
            for unit, seen in ((4 << 20, structure.OUTRIGHT), (None, structure.Seen(flush=True))))
    every = [list(findings.tests(tool, wishes, found, lambda: None)) for found in some]
    return Plan(max(map(len, every)), max(sum(t.written for t in tests) for tests in every),
                max(sum(t.seconds() for t in tests) for tests in every))


def _run_burst(test: Test, target: Target, clock: Clock, heard: Conversation) -> list[Point]:
    """The point of a test with several requests in flight."""
    places = [(r.offset, r.length) for r in test.requests]
    writes = any(r.op == "write" for r in test.requests)
    begin = clock.now()
    seen = target.burst(writes, places, test.depth)
    end = clock.now()
    heard.burst("write" if writes else "read", places, seen, begin, end)
    return structure.result(test, [(end - begin) // len(places)] * len(places))


def _rest(r: Request, clock: Clock, heard: Conversation) -> int:
    """Leaves the device alone; the clock's time then."""
    before = clock.now()
    clock.rest(r.length)
    after = clock.now()
    if clock.stands_still:
        heard.rested(r.length, after - before)
    return after


def run_test(test: Test, target: Target, clock: Clock,
             heard: Conversation | None = None) -> list[Point]:
    """The points of one test; OSError if the device fails or is silent for too long.  A clock that
    stands still between two requests is read once for both.  What is asked is told to `heard`."""
    heard = heard or Conversation()
    if test.depth > 1:
        return _run_burst(test, target, clock, heard)
    times: list[int] = []
    seen: dict[int, int | str] = {}
    end = clock.now()
    for r in test.requests:
        if r.op == "rest":
            end = _rest(r, clock, heard)
            times.append(0)
            continue
        begin = end if clock.stands_still else clock.now()
        there = True
        try:
            if r.op == "look":
                seen[r.offset] = target.look(r.offset, r.length)
            elif r.op == "flush":
                there = target.flush()
            else:
                {"read": target.read, "write": target.write, "trim": target.trim}[r.op](
                    r.offset, r.length)
        except OSError:
            if r.op != "trim":      # one that the device does not do was not asked
                heard.said(_OPS.get(r.op, r.op), r.offset, r.length, begin, clock.now(), True)
            raise
        end = clock.now()
        if there:
            heard.said(_OPS.get(r.op, r.op), r.offset, r.length, begin, end)
        if r.op in ("read", "look", "write") and end - begin > SILENCE_S * 1e9:
            raise silent((end - begin) / 1e9)
        times.append(end - begin)
    return structure.result(test, times) + structure.contents(test, seen)


@dataclass
class Probe:
    """A run, which shows the number of the test that begins and what it is.  `found` has what was
    measured, also by an earlier run; `left` the tests for which the budget was too small, `refused`
    those with a TRIM that the device offers and does not do, `failure` why the run ended early, or
    "", `kept` how many tests were there already, and `running` the test that has not ended, or
    "".  `conversation` has all requests; None: nobody wants to know."""

    tool: Tool
    target: Target
    clock: Clock
    wishes: Wishes
    budget: Budget
    save: Callable[[Found], None]
    show: Callable[[int, str], None]
    found: Found
    conversation: Conversation | None = None

    def __post_init__(self) -> None:
        self.left: list[str] = []
        self.refused: list[str] = []
        self.failure = self.running = ""
        self.written = self.kept = 0

    def run(self) -> None:
        """All tests.  KeyboardInterrupt goes through; what was measured is saved then, too."""
        begin = self.clock.now()
        there = {(p.procedure, p.parameters) for p in self.found.points}
        findings.judge(self.found)
        every = findings.tests(self.tool, self.wishes, self.found,
                               lambda: findings.judge(self.found))
        for place, test in enumerate(every, 1):
            if self._is_there(test, there):
                self.kept += 1
                continue
            if self._too_much(test, (self.clock.now() - begin) / 1e9):
                self.left.append(test.name)
                continue
            self.show(place, f"{test.name}, {number(self.written / 1e6)} MB written")
            self.written += test.written
            self.running = test.name
            try:
                points = self._heard(test)
            except OSError as e:
                if test.trims and e.errno == errno.EOPNOTSUPP:
                    self.refused.append(test.name)
                    self.running = ""
                    continue
                self.failure = (f"{self.target.name}: {e.strerror} in the test '{test.name}'; "
                                f"{len(self.found.points)} points have been measured before")
                return
            self.found.points += points
            self.save(self.found)
            self.running = ""

    def _heard(self, test: Test) -> list[Point]:
        """The points of a test, which is in the conversation however it ends."""
        try:
            return run_test(test, self.target, self.clock, self.conversation)
        finally:
            if self.conversation:
                self.conversation.save()

    @staticmethod
    def _is_there(test: Test, there: set[tuple[str, tuple[tuple[str, schema.Scalar], ...]]]
                  ) -> bool:
        """Whether an earlier run has measured all points of the test."""
        return all((p.procedure, p.parameters) in there for p in (
            schema.make_point(procedure, [1.0], **how) for procedure, how in test.keys))

    def _too_much(self, test: Test, seconds: float) -> bool:
        if self.budget.seconds and seconds > self.budget.seconds:
            return True
        return bool(self.budget.written and test.written
                    and self.written + test.written > self.budget.written)


def made_by(tool: Tool, clock: Clock) -> str:
    """What the file says of the program, and of a clock that is not the wall's."""
    return f"{MADE_BY}{tool.version}{_DEVICE_TIME if clock.stands_still else ''}"


def earlier(path: Path, target: Target, clock: Clock) -> Found:
    """What a run with this output has measured before; LabError if the file is something else, or
    has times of another clock."""
    found = Found()
    if not path.exists():
        return found
    m = schema.load(path)
    if not m.made_by.startswith(MADE_BY):
        raise LabError(f"-o {path}: is there and was not made by probe; allowed: another file")
    if m.capacity != target.capacity:
        raise LabError(f"-o {path}: is the measurement of a device of {m.capacity} bytes, and "
                       f"{target.name} has {target.capacity}; allowed: another file")
    if m.made_by.endswith(_DEVICE_TIME) != clock.stands_still:
        other = "this machine" if clock.stands_still else "an emulated device (--device-time)"
        raise LabError(f"-o {path}: has times of {other}; allowed: another file")
    found.points = list(m.points)
    return found


def to_measurement(found: Found, target: Target, made_by: str, name: str, state: str,
                   host: str) -> Measurement:
    """The file's content."""
    return Measurement(schema.by_parameters(found.points), name, target.capacity, state,
                       host or target.host, made_by)


def writer(target: Target, made_by: str, output: Path, name: str, state: str,
           host: str) -> Callable[[Found], None]:
    """What saves the points so far."""
    def save(found: Found) -> None:
        if not found.points:
            raise LabError(f"{target.name}: nothing could be measured", 1)
        schema.save(to_measurement(found, target, made_by, name, state, host), output)
    return save
