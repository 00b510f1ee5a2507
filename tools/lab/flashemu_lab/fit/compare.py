# SPDX-License-Identifier: BSD-3-Clause
"""Many sets of parameters against one measurement: `flashemu verify --sets`, on several processors.

An answer is a function of the measurement and the set.  So neither the number of processes nor the
order in which they answer changes a result, and a search with a seed can be repeated.

A device is what was done to it, so a model does all that the measured device was asked, also what
is not compared: what no candidate has anyway, or what is held out to judge a fit by.  Then the true
parameters have no error at all.

A search mostly asks one question after the other, and one processor answers it.  So searches that
do not depend on each other run side by side, each in a thread, and share the processes.
"""

from __future__ import annotations

import json
import math
import queue
import subprocess
import tempfile
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Callable, Sequence, TypeVar

from ..core.errors import LabError
from ..measurement import schema
from ..measurement.schema import Measurement, Point
from ..runs.program import Tool
from ..runs.worker import guarded

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# A set is given up if its device takes so many times as long as the measured one.
SLOWER = 6
# What a benchmark takes on a region at most, with the pause in front of it.
_LOAD_NS = 40e9
# A profile needs these keys; every set gives its own values.
BASE = """[nand]
cell = mlc
pages_per_block = 64
page_size = 4K
tR = 50us
tPROG = 1ms
tBERS = 3ms

[ftl]
type = {strategy}
"""


@dataclass(frozen=True)
class Question:
    """A set, and how it is judged.

    changes   "SECTION.KEY=VALUE" each
    points    numbers of the points to compare, or None for all; the others are done as well
    left      numbers of points that are not even done
    weights   of the points in the sum of errors, or None for 1 each
    knee      beyond which an error counts less and less, or None: K ln(1 + error / K)
    bound     of that sum, or None
    time      of the device's clock in ns for these points, or None
    """

    strategy: str
    changes: tuple[str, ...]
    points: tuple[int, ...] | None = None
    weights: tuple[float, ...] | None = None
    bound: float | None = None
    time: int | None = None
    knee: float | None = None
    left: tuple[int, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a set gives.

    state     "done", "stopped" at a limit, or "refused", and then `message` says why
    total     the sum of weight * |ln(measured / published)|
    measured  in the unit of each point, or None
    """

    state: str
    total: float
    measured: tuple[float | None, ...]
    message: str


class Comparer:
    """Processes that answer questions about one measurement.  Use it in a `with` block.  Several
    threads may ask.  A set changes `profile`, if one is given; otherwise it has all keys of its
    own.  If the measurement is a part of a `whole` one, in the same order, numbers and values are
    those of the part, and what the rest asks for is done as well."""

    def __init__(self, tool: Tool, m: Measurement, jobs: int, profile: str = "",
                 whole: Measurement | None = None) -> None:
        self.asked = 0
        self._profile = profile
        self._tool = tool
        self._folder = tempfile.TemporaryDirectory(prefix="flashemu-fit-")
        self._path = Path(self._folder.name)
        self._whole = (whole or m).points
        self._numbers = _places(m.points, self._whole)
        schema.save(whole or m, self._path / "m.json")
        self._free: queue.SimpleQueue[dict[str, subprocess.Popen[str]]] = queue.SimpleQueue()
        self._all: list[dict[str, subprocess.Popen[str]]] = [{} for _ in range(jobs)]
        for each in self._all:
            self._free.put(each)
        self._threads = ThreadPoolExecutor(jobs)
        self._searches = ThreadPoolExecutor(jobs)
        self._lock = threading.Lock()  # of `asked`, and of what runs
        self._ended = False

    def __enter__(self) -> "Comparer":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 where: TracebackType | None) -> None:
        with self._lock:
            self._ended = True
            running = [p for each in self._all for p in each.values()]
        for process in running:
            process.kill()
            process.wait()
        # A search that still asks hears that its process has ended.
        self._searches.shutdown(cancel_futures=True)
        self._threads.shutdown(cancel_futures=True)
        self._folder.cleanup()

    def side_by_side(self, search: Callable[[_Item], _Result],
                     items: Sequence[_Item]) -> list[_Result]:
        """A search for each item, as many at a time as there are processes; the results in the
        order of the items.  The first error of any of them; a search must not call this itself."""
        return list(self._searches.map(search, items))

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """The answers in the order of the questions; LabError if a process or all of them ended."""
        with self._lock:
            self.asked += len(questions)
        try:
            return list(self._threads.map(self._one, questions))
        except CancelledError:
            raise LabError("no more comparisons are made") from None

    def _one(self, question: Question) -> Answer:
        processes = self._free.get()
        try:
            return self._answer(processes, question)
        finally:
            self._free.put(processes)

    def _answer(self, processes: dict[str, subprocess.Popen[str]], q: Question) -> Answer:
        with self._lock:
            process = processes.get(q.strategy)
            if process is None:
                process = processes[q.strategy] = self._start(q.strategy)
        line = self._line(q)
        assert process.stdin and process.stdout
        try:
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
            text = process.stdout.readline()
        except BrokenPipeError:
            text = ""
        if not text:
            raise LabError(f"flashemu ended while it compared {' '.join(q.changes)}")
        o = json.loads(text)
        return Answer(o["state"], float(o["sum"]),
                      tuple(o["measured"][i] for i in self._numbers), o["message"] or "")

    def _line(self, q: Question) -> dict[str, object]:
        """The question as the program has it, about the whole measurement."""
        here = self._numbers
        line: dict[str, object] = {"set": q.changes}
        if q.points is not None or len(here) < len(self._whole):
            line["points"] = here if q.points is None else [here[i] for i in q.points]
        if q.weights is not None:
            of = dict(zip(here, q.weights))
            line["weights"] = [of.get(i, 0.0) for i in range(len(self._whole))]
        if q.left:
            line["left"] = [here[i] for i in q.left]
        if q.time is not None:
            compared = {here[i] for i in (range(len(here)) if q.points is None else q.points)}
            gone = compared | {here[i] for i in q.left}
            line["time"] = q.time + int(SLOWER * done_ns(
                [p for i, p in enumerate(self._whole) if i not in gone]))
        return line | {name: getattr(q, name) for name in ("knee", "bound")
                       if getattr(q, name) is not None}

    def _start(self, strategy: str) -> subprocess.Popen[str]:
        if self._ended:
            raise LabError("the comparison has been stopped")
        return subprocess.Popen(
            guarded([str(self._tool.path), "verify", self._base(strategy), "--against",
                     str(self._path / "m.json"), "--sets", "-"]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            encoding="utf-8", errors="replace")

    def _base(self, strategy: str) -> str:
        """The profile that sets change."""
        return self._profile or base(self._path, strategy)


def base(folder: Path, strategy: str) -> str:
    """The profile in a folder that has only what every profile needs."""
    path = folder / f"{strategy}.ini"
    if not path.exists():
        path.write_text(BASE.format(strategy=strategy), encoding="utf-8")
    return str(path)


def _places(some: Sequence[Point], whole: Sequence[Point]) -> list[int]:
    """Where points that were taken from others, in their order, are among these."""
    found: list[int] = []
    for p in some:
        found.append(whole.index(p, found[-1] + 1 if found else 0))
    return found


def log_errors(answer: Answer, m: Measurement) -> list[float | None]:
    """ln(model / measured) for each point that the model has a value for."""
    return [math.log(got / p.value) if got and got > 0 and p.value > 0 else None
            for got, p in zip(answer.measured, m.points)]


def device_ns(p: Point) -> float:
    """How long the device took for a point of -O or -f; 0 for the others.  `requests_ns` has what
    single requests took."""
    how = dict(p.parameters)
    if p.procedure == "flashbench-open-au":
        return int(how["erasesize"]) * int(how["open"]) * 1e9 / p.value
    return int(how["erasesize"]) * 1e9 / p.value if p.procedure == "flashbench-find-fat" else 0.0


def requests_ns(points: Sequence[Point]) -> float:
    """How long the device took for the requests of `request` at most.  Of a point that is a median
    the slower ones are not known, so each of them may have been as slow as the slowest point."""
    requests = [(dict(p.parameters), p.value) for p in points if p.procedure == "request"]
    slowest = {op: max((ns for how, ns in requests if how["op"] == op), default=0.0)
               for op in {how["op"] for how, _ in requests}}
    return sum(int(how["count"]) * (slowest[how["op"]] if how.get("median") else ns)
               for how, ns in requests)


def done_ns(points: Sequence[Point]) -> float:
    """How long all of these took the device, or more."""
    rest = 0.0
    for p in points:
        how = dict(p.parameters)
        rest += int(how.get("idle", 0))
        if p.procedure in ("fill", "seq-write"):
            rest += int(how["size"]) * 1e9 / p.value
        elif p.procedure not in ("request", "seq-read", "content"):
            rest += _LOAD_NS
    return rest + sum(map(device_ns, points)) + requests_ns(points)


def affordable(m: Measurement, seconds: float) -> list[int]:
    """The points of a search: those of tests that took less time together, from the largest chunks
    of each test on, since a test comes to small ones only behind the large ones.

    A device that copies a unit for each small write takes hours for them.  Emulating that takes
    seconds, and after the first such points it says nothing new.  All other points are there.
    """
    tests: dict[tuple[object, ...], list[int]] = {}
    for i, p in enumerate(m.points):
        if device_ns(p) > 0:
            how = dict(p.parameters)
            words = ("erasesize", "open", "random")
            tests.setdefault((p.procedure, *(how.get(w) for w in words)), []).append(i)
    kept = [i for i, p in enumerate(m.points) if device_ns(p) == 0]
    left = seconds * 1e9
    levels = {key: sorted({int(dict(m.points[i].parameters)["chunk"]) for i in points},
                          reverse=True) for key, points in tests.items()}
    for level in range(max((len(each) for each in levels.values()), default=0)):
        for key, chunks in levels.items():
            some = [i for i in tests[key] if level < len(chunks)
                    and dict(m.points[i].parameters)["chunk"] == chunks[level]]
            cost = sum(device_ns(m.points[i]) for i in some)
            if cost <= left:
                kept += some
                left -= cost
            else:
                levels[key] = chunks[:level]
    return sorted(kept)
