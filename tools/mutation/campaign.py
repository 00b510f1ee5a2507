# SPDX-License-Identifier: BSD-3-Clause
"""A run: hands the mutants to the workers, and stores each result as soon as it is known.

    STATE/results.jsonl     one line for each mutant that was tried, with the tree's fingerprint
    STATE/durations.json    how long each test takes without a change, and what it executes
    STATE/worker-N          a worker's bench
    STATE/lock              held while a run uses the folder

A run that was interrupted goes on when the same command starts again: a mutant with a result
for the same tree and the same tests is not tried again.
"""

import fcntl
import json
import os
import queue
import sys
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Callable, Iterator, Sequence, TypeVar

from . import equivalent
from .bench import (SKIPPED, SUITES, Bench, BenchError, Chosen, Measured, Verdict, fingerprint,
                    tree_files)
from .plan import Mutant
from .process import Runner
from .python_calls import Functions, can_notice, changed_functions
from .report import Progress

T = TypeVar("T")
R = TypeVar("R")


@dataclass
class Baseline:
    """The tests of the unchanged tree."""

    seconds: dict[str, float] = field(default_factory=dict)  # of those that pass
    calls: dict[str, Functions] = field(default_factory=dict)  # what they call of the laboratory
    functions: dict[str, dict[str, float]] = field(default_factory=dict)  # of these: seconds
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    marked: list[str] = field(default_factory=list)  # mutants whose places were marked
    executes: dict[str, list[str]] = field(default_factory=dict)  # those that each test executes

    def add(self, test: str, done: Measured, marked: Sequence[Mutant]) -> None:
        """A test that passes, or was cut off."""
        if done.outcome.code == 0:
            self.seconds[test] = round(done.outcome.seconds, 2)
            if marked:
                self.executes[test] = [marked[n].name for n in done.marks]
        if done.calls:
            self.calls[test], self.functions[test] = done.calls, done.seconds

    def executed(self, test: str, mutant: Mutant) -> bool:
        """Whether a test may execute what a mutant changes in C."""
        return (mutant.name not in self.marked or test not in self.executes
                or mutant.name in self.executes[test])


@dataclass(frozen=True)
class Choice:
    """Which tests run, and in which order."""

    golden: bool
    longest: float  # seconds; tests that take longer do not run
    by_duration: bool
    suites: tuple[str, ...] = ()  # only tests of these
    lab: bool = False  # only tests of the laboratory

    def takes(self, suite: str) -> bool:
        """Whether tests of a suite run."""
        return suite in self.suites if self.suites else self.golden or suite != "golden"

    @property
    def name(self) -> str:
        """Identifies the tests that had their chance to notice a survivor."""
        return ("golden" if self.golden else "all") + (" of the laboratory" if self.lab else "") \
            + f" up to {self.longest:g} s" + ("".join(f" {s}" for s in self.suites))


class Campaign:
    def __init__(self, source: Path, state: Path, workers: int, choice: Choice) -> None:
        self.source, self.state, self.choice = source, state, choice
        cores = len(os.sched_getaffinity(0))
        self.runner = Runner()
        self.benches = [Bench(state / f"worker-{n}", source, self.runner, max(1, cores // workers))
                        for n in range(workers)]
        self.files: list[str] = []
        self.fingerprint = ""
        self.baseline = Baseline()
        self.progress = Progress(sys.stderr)
        self.lock: IO[str] | None = None

    def open(self) -> None:
        """Takes the state folder, and makes the copy of the tree that the run works with."""
        self.state.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.state / "lock", "w", encoding="utf-8")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            raise BenchError(f"{self.state}: another run uses this folder") from e
        inside = self.state.resolve()
        self.files = [f for f in tree_files(self.source)
                      if inside not in (self.source / f).resolve().parents]
        first = self.benches[0]
        self.progress.status("copying the tree")
        first.configure(self.files)
        self.fingerprint = fingerprint(first.tree, self.files)
        for bench in self.benches[1:]:
            bench.source = first.tree  # the user may go on working on the source

    def results(self) -> list[dict[str, Any]]:
        """The newest result of each mutant, tree and choice of tests, the oldest first."""
        found: dict[tuple[str, str, str], dict[str, Any]] = {}
        path = self.state / "results.jsonl"
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    r = json.loads(line)
                except json.JSONDecodeError:
                    continue  # the run was killed while it wrote this line
                key = r["name"], r["tree"], r["choice"]
                found.pop(key, None)
                found[key] = r
        return list(found.values())

    def survivors(self) -> list[dict[str, Any]]:
        """The drawn mutants whose newest result, of whatever tree, is that they survived."""
        newest: dict[str, dict[str, Any]] = {}
        for r in self.results():
            newest.pop(r["was"], None)
            newest[r["name"]] = r
        return [r for r in newest.values()
                if r["status"] == "survived" and r["operator"] != "patch"]

    def known(self) -> dict[str, dict[str, Any]]:
        """The results that count for this tree and these tests.

        A mutant that survived fewer tests is tried again. One that was noticed is not, if the
        test that noticed it is among the tests of this run.
        """
        def counts(r: dict[str, Any]) -> bool:
            if r["status"] == "survived":
                return bool(r["choice"] == self.choice.name)
            return r["by"] == "" or r["by"] in tests

        tests = self.baseline.seconds.keys() | self.baseline.calls.keys()
        return {r["name"]: r for r in self.results()
                if r["tree"] == self.fingerprint and counts(r)}

    def each(self, items: Sequence[T], work: Callable[[Bench, T], R]) -> Iterator[tuple[T, R]]:
        """Does the work for each item on some bench, and yields the results as they come."""
        todo: queue.SimpleQueue[T] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[T, R] | BaseException] = queue.SimpleQueue()
        for item in items:
            todo.put(item)

        def worker(bench: Bench) -> None:
            try:
                while True:
                    item = todo.get_nowait()
                    if not bench.ready:
                        bench.prepare(self.choice.takes, self.choice.lab)
                    done.put((item, work(bench, item)))
            except queue.Empty:
                pass
            except BaseException as e:  # pylint: disable=broad-except
                done.put(e)

        for bench in self.benches[1:len(items)]:
            if not bench.ready:
                bench.configure(self.files)  # as long as the first tree, its source, has no mutant
        threads = [threading.Thread(target=worker, args=(b,)) for b in self.benches[:len(items)]]
        for t in threads:
            t.start()
        try:
            for _ in items:
                result = done.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        except BaseException:
            self.runner.stop()
            raise
        finally:
            for t in threads:
                t.join()

    def measure(self, mutants: Sequence[Mutant]) -> None:
        """Runs every test on the unchanged tree, unless that is known already: how long it takes,
        and which of the mutants' places it executes."""
        path = self.state / "durations.json"
        key = f"{self.fingerprint} {self.choice.name}"
        marked = [m for m in mutants if m.place >= 0]
        if path.is_file():
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored.pop("key") == key and {m.name for m in marked} <= set(stored["marked"]):
                self.baseline = Baseline(**stored)
                return
        first = self.benches[0]
        self.progress.status("building")
        first.prepare(self.choice.takes, self.choice.lab)
        base = Baseline(marked=[m.name for m in marked])
        left = sorted(first.tests)
        if marked:
            left = self.measure_tests(left, base, marked)
        for name in self.measure_tests(left, base, []):
            base.failed.append(name)
        self.baseline = base
        path.write_text(json.dumps({"key": key, **base.__dict__}), encoding="utf-8")

    def measure_tests(self, names: Sequence[str], base: Baseline,
                      marked: Sequence[Mutant]) -> list[str]:
        """Runs tests on the tree with these marks. Returns those that fail."""
        failed = []

        def work(bench: Bench, test: str) -> Measured:
            if marked and bench.unmarked is None:
                bench.mark(marked)
            return bench.measure(bench.tests[test], self.choice.longest)

        for n, (name, done) in enumerate(self.each(names, work), 1):
            self.progress.status(f"tests without a change: {n} of {len(names)}")
            if done.outcome.code == SKIPPED:
                base.skipped.append(name)
            elif done.outcome.code == 0 or done.outcome.seconds >= self.choice.longest:
                base.add(name, done, marked)
            else:
                failed.append(name)
        for bench in self.benches:
            bench.unmark()
        return failed

    def order(self) -> list[Chosen]:
        """The tests in the order in which they run: of a suite those first that execute few of
        the mutants, because they look at these more closely."""
        def cost(test: Chosen) -> tuple[int, int, float, str]:
            suite = test.name.split(":")[0]
            rank = SUITES.index(suite) if suite in SUITES else len(SUITES)
            before = (0, 0) if self.choice.by_duration else (
                rank, len(self.baseline.executes.get(test.name, ())))
            return *before, test.seconds, test.name
        return sorted((Chosen(*item) for item in self.baseline.seconds.items()), key=cost)

    def order_for(self, mutant: Mutant, tree: Path) -> list[Chosen]:
        """The tests that can notice a mutant of an unchanged tree, in the order in which they run."""
        if not mutant.in_lab:
            return [test for test in self.order() if self.baseline.executed(test.name, mutant)]
        changed = {file: changed_functions((tree / file).read_bytes(), text)
                   for file, text in mutant.edits.items()
                   if file.endswith(".py") and (tree / file).is_file()}
        data = any(not file.endswith(".py") for file in mutant.edits)
        found = []
        for name, calls in self.baseline.calls.items():
            whole = data or can_notice(calls.get("", {}), changed)
            seconds = self.baseline.functions[name]
            functions = tuple(f for f in seconds if whole or can_notice(calls.get(f, {}), changed))
            if whole and name in self.baseline.seconds:
                found.append(Chosen(name, self.baseline.seconds[name]))
            elif functions:
                found.append(Chosen(name, sum(seconds[f] for f in functions), functions))
        return sorted(found, key=lambda test: (test.seconds, test.name))

    def run(self, mutants: Sequence[Mutant], afresh: bool) -> list[dict[str, Any]]:
        """The results of all the mutants, in their order."""
        real = [m for m in mutants if m.edits]
        self.choice = replace(self.choice, lab=bool(real) and all(m.in_lab for m in real))
        self.measure(real)
        for name in self.baseline.failed:
            self.progress.line(f"left out, because it fails without a change: {name}")
        if not self.baseline.seconds:
            raise BenchError("no test passes without a change")
        known = {} if afresh else self.known()
        results = {m.name: known[m.name] for m in mutants if m.name in known}
        todo = [m for m in mutants if m.name not in known]

        def judge(bench: Bench, mutant: Mutant) -> Verdict:
            found = bench.judge(mutant, self.order_for(mutant, bench.tree))
            if found.status == "survived" and equivalent.is_listed(mutant):
                return replace(found, status="equivalent")
            return found

        with open(self.state / "results.jsonl", "a", encoding="utf-8") as out:
            self.progress.count(len(results), len(mutants))
            for mutant, verdict in self.each(todo, judge):
                result = {**mutant.record(), "status": verdict.status, "by": verdict.by,
                          "tests": verdict.tests, "tree": self.fingerprint,
                          "choice": self.choice.name}
                out.write(json.dumps(result) + "\n")
                out.flush()
                results[mutant.name] = result
                self.progress.result(result)
                self.progress.count(len(results), len(mutants))
        self.progress.clear()
        return [results[m.name] for m in mutants]
