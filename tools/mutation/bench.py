# SPDX-License-Identifier: BSD-3-Clause
"""One worker's bench: a copy of the tree, a build directory, and the tests.

    STATE/worker-N/tree         the copy; a mutant changes it, and the change is undone afterwards
    STATE/worker-N/tree/build   built with -O2 -g0; only the changed file is built again
    STATE/worker-N/log          what the last build printed

A mutant goes through three questions:

    1. Does it compile?                       no:  invalid
    2. Does any object file differ?           no:  equivalent, the compiler sees no difference
    3. Does a test fail, or run for too long? yes: noticed; no: survived

Before a test runs, its programs are built and compared with those of the unchanged tree. A
test whose programs are the same cannot notice the mutant, so it does not run. In this way the
tests of other layers cost nothing.

A mutant of the laboratory needs no build. The functions of tests that call the changed function run,
test by test, from the shortest to the longest; python_calls.py finds out on the unchanged tree what
they call. A test that only reads the text of a module (as mypy does) has no part in this.

A survivor would run nearly every test, since most of the program is in most programs. So the
places that are going to change are marked before the tests run on the unchanged tree: the block
around a change leaves a link in STATE/worker-N/marks when it is executed, in whatever process. A
test that leaves no mark of a change does not run for it. A change outside of functions has no
place for a mark.

A test that fails runs a second time, and counts only when it fails again. A busy machine can
make a test of a server fail by chance.
"""

import hashlib
import json
import math
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from .plan import Mutant
from .process import Outcome, Runner
from .python_calls import Functions, read_calls, read_seconds, telling
from .python_changes import LAB

# What does not change the outcome of a test.
NOT_BUILT = ("docs/", "tools/mutate", "tools/mutation/", "tests/planted/", ".ci/")
SUITES = ("unit", "golden", "tool", "property", "plugin", "crash")  # from cheap to expensive
NEVER = ("vm",)
# What leaves a mark; it keeps errno, and leaves no descriptor open.
MARKED = (
    "{static char marked; if (!marked) {extern int symlink(const char *, const char *), "
    "*__errno_location(void); int kept = *__errno_location(); marked = 1; "
    "(void)!symlink(\"-\", %s); *__errno_location() = kept;}}")
SKIPPED = 77
LEAST_WALL_S, LEAST_CPU_S = 60.0, 20  # a busy machine is slow to start a program
WALL_FACTOR, CPU_FACTOR = 10, 5  # times what the test takes without a change
BASELINE_FACTOR = 4  # times the limit that meson has for the test


class BenchError(Exception):
    """The unchanged tree does not build, or cannot be read."""


@dataclass(frozen=True)
class Test:
    name: str  # SUITE:TEST
    command: list[str]
    env: dict[str, str]
    folder: Path
    programs: list[Path]  # what the test needs built
    timeout: float  # the longest time on the unchanged tree

    @property
    def suite(self) -> str:
        return self.name.split(":")[0]


@dataclass(frozen=True)
class Chosen:
    """A test that is to run."""

    name: str
    seconds: float  # what it usually takes
    functions: tuple[str, ...] = ()  # which of its functions; all if there are none


@dataclass(frozen=True)
class Measured:
    """What a test does on the unchanged tree."""

    outcome: Outcome
    calls: Functions  # of the laboratory
    seconds: dict[str, float]  # by function of the test that is done
    marks: list[int]  # the places of these mutants are executed


@dataclass(frozen=True)
class Verdict:
    status: str  # noticed, hang, survived, equivalent or invalid
    by: str  # the test that noticed, else ""
    tests: int  # how many ran


def tree_files(source: Path) -> list[str]:
    """The files that make up the tree: those that git knows or would add, or all but builds."""
    git = subprocess.run(["git", "-C", str(source), "ls-files", "-z", "-co", "--exclude-standard"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if git.returncode == 0 and (source / ".git").exists():
        names = [n for n in git.stdout.decode().split("\0") if n]
    else:
        names = []
        for folder, folders, files in os.walk(source):
            folders[:] = [f for f in folders if not f.startswith(("build", ".", "__pycache__"))]
            names += [os.path.relpath(os.path.join(folder, f), source) for f in files]
    return sorted(n for n in names if (source / n).is_file())


def fingerprint(source: Path, files: Iterable[str]) -> str:
    """Identifies what is built and tested: results of another tree do not count."""
    digest = hashlib.sha256()
    for name in files:
        if not name.startswith(NOT_BUILT) and not name.endswith(".md"):
            digest.update(name.encode() + b"\0" + _hash_file(source / name))
    return digest.hexdigest()[:16]


def _hash_file(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def names_lab(command: list[str]) -> bool:
    """Whether a test is a script that says anything of the laboratory."""
    scripts = [Path(word) for word in command if word.endswith(".py") and Path(word).is_file()]
    return any(word in script.read_text(encoding="utf-8") for script in scripts
               for word in ("flashemu_lab", "flashemu-lab"))


class Bench:
    """Used by one thread at a time."""

    def __init__(self, folder: Path, source: Path, runner: Runner, jobs: int) -> None:
        self.tree, self.log, self.marks = folder / "tree", folder / "log", folder / "marks"
        self.build = self.tree / "build"  # programs find scripts of the tree from there
        self.source, self.runner, self.jobs = source, runner, jobs
        self.ready = False
        self.unmarked: dict[Path, bytes] | None = None  # texts of the marked files
        self.hashes: dict[Path, tuple[int, bytes]] = {}  # by path: time of change and hash
        self.objects: list[Path] = []
        self.tests: dict[str, Test] = {}
        self.original: dict[Path, bytes] = {}
        self.second = 0  # the time of the last file of Python that was written

    def configure(self, files: Iterable[str]) -> None:
        """Makes the copy equal to the source. Files that are equal keep their time."""
        wanted = set(files)
        if self.tree.is_dir():
            for name in tree_files(self.tree):
                if name not in wanted:
                    (self.tree / name).unlink()
        for name in sorted(wanted):
            copy, text = self.tree / name, (self.source / name).read_bytes()
            if not copy.is_file() or copy.read_bytes() != text:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(text)
            shutil.copymode(self.source / name, copy)
        if not (self.build / "build.ninja").is_file():
            shutil.rmtree(self.build, ignore_errors=True)
            self.must("meson", "setup", str(self.build), str(self.tree),
                      "-Doptimization=2", "-Ddebug=false", "-Dwerror=false")
        else:
            self.must("ninja", "-C", str(self.build), "build.ninja")

    def prepare(self, takes: Callable[[str], bool], lab: bool) -> None:
        """Builds the unchanged tree, for the tests of the suites that `takes` says; if `lab`, what
        tests of the laboratory need of it."""
        outputs = {e["output"] for e in self.read_json("compile_commands.json")}
        self.objects = [] if lab else [self.build / o for o in sorted(outputs)]
        self.tests = self.find_tests(takes, lab)
        programs = sorted({p for t in self.tests.values() for p in t.programs})
        self.must(*self.ninja(self.jobs, self.objects + programs))
        self.original = {p: self.hash(p) for p in self.objects + programs}
        self.ready = True

    def must(self, *command: str) -> None:
        if self.runner.run(command, self.tree, log=self.log).code != 0:
            tail = self.log.read_text(errors="replace").splitlines()[-30:]
            raise BenchError("\n".join(["the unchanged tree does not build:", *tail]))

    def read_json(self, name: str) -> Any:
        return json.loads((self.build / name).read_text(encoding="utf-8"))

    def ninja(self, jobs: int, files: Iterable[Path]) -> list[str]:
        return ["ninja", "-C", str(self.build), f"-j{jobs}",
                *(os.path.relpath(f, self.build) for f in files)]

    def find_tests(self, takes: Callable[[str], bool], lab: bool) -> dict[str, Test]:
        programs = {t["id"]: [Path(f) for f in t["filename"]]
                    for t in self.read_json("meson-info/intro-targets.json")}
        found = {}
        for t in self.read_json("meson-info/intro-tests.json"):
            suites = [s.split(":")[-1] for s in t["suite"]] or ["none"]
            if any(s in NEVER for s in suites) or not takes(suites[0]) or not t["depends"]:
                continue  # a test without a program cannot notice a mutant
            if lab and not names_lab(t["cmd"]):
                continue
            name = f"{suites[0]}:{t['name']}"
            found[name] = Test(name, t["cmd"], t["env"], Path(t["workdir"] or self.build),
                               [p for d in t["depends"] for p in programs[d]],
                               BASELINE_FACTOR * (t["timeout"] if t["timeout"] > 0 else 900))
        return found

    def hash(self, path: Path) -> bytes:
        """The hash of a built file; only a file that was built again is read again."""
        changed = path.stat().st_mtime_ns
        known = self.hashes.get(path)
        if known is None or known[0] != changed:
            known = self.hashes[path] = (changed, _hash_file(path))
        return known[1]

    def run_test(self, test: Test, wall: float, cpu: int, functions: Sequence[str] = (),
                 log: Path | None = None) -> Outcome:
        """Runs a test for `wall` seconds at most, and each of its processes for `cpu` seconds."""
        with tempfile.TemporaryDirectory(prefix="mutate-", ignore_cleanup_errors=True) as tmp:
            env = {"MALLOC_PERTURB_": "165", "TEST_FUNCTION": "", **test.env, "TMPDIR": tmp}
            return self.runner.run([*test.command, *functions], test.folder, env=env, wall_s=wall,
                                   cpu_s=cpu, log=log)

    def run_twice(self, test: Test, wall: float, cpu: int, functions: Sequence[str] = (),
                  log: Path | None = None) -> Outcome:
        """Runs a test, and once more if it fails."""
        done = self.run_test(test, wall, cpu, functions, log)
        if done.hang or done.code in (0, SKIPPED):
            return done
        return self.run_test(test, wall, cpu, functions, log)

    def mark(self, mutants: Sequence[Mutant]) -> None:
        """Marks the place of each mutant that has one, and builds that tree."""
        places: dict[str, list[tuple[int, int]]] = {}
        for n, m in enumerate(mutants):
            if m.place >= 0:
                places.setdefault(m.file, []).append((m.place, n))
        self.unmarked = {self.tree / file: (self.tree / file).read_bytes() for file in places}
        for file, found in places.items():
            text = self.unmarked[self.tree / file]
            for place, n in sorted(found, reverse=True):
                mark = MARKED % json.dumps(str(self.marks / str(n)))
                text = text[:place] + mark.encode() + text[place:]
            (self.tree / file).write_bytes(text)
        self.must(*self.ninja(self.jobs, sorted({p for t in self.tests.values()
                                                 for p in t.programs})))

    def unmark(self) -> None:
        """The tree is as it was before mark()."""
        for path, text in (self.unmarked or {}).items():
            path.write_bytes(text)
        self.unmarked = None

    def measure(self, test: Test, longest: float) -> Measured:
        """Runs a test on the unchanged tree, for `longest` seconds at most."""
        first = f"{LAB}/__init__.py"
        path = self.tree / first
        shutil.rmtree(self.marks, ignore_errors=True)
        self.marks.mkdir()
        with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
            told, said = Path(folder, "told"), Path(folder, "said")
            edits = {first: telling(path.read_bytes(), told)} if path.is_file() else {}
            with self.changed(edits):
                done = self.run_twice(test, min(test.timeout, longest), math.ceil(test.timeout),
                                      log=said)
            return Measured(done, read_calls(told), read_seconds(said),
                            sorted(int(mark.name) for mark in self.marks.iterdir()))

    @contextmanager
    def changed(self, edits: Mapping[str, bytes]) -> Iterator[None]:
        """The tree has other files for a while."""
        paths = {self.tree / name: text for name, text in edits.items()}
        saved = {path: path.read_bytes() for path in paths if path.is_file()}
        try:
            for path, text in paths.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                self.write(path, text)
            yield
        finally:
            for path in paths:
                if path in saved:
                    self.write(path, saved[path])
                else:
                    path.unlink(missing_ok=True)

    def write(self, path: Path, text: bytes) -> None:
        """Each file of Python gets a time of its own, in whole seconds: Python takes what it has
        compiled for that of a file of the same time and size."""
        path.write_bytes(text)
        if path.suffix == ".py":
            self.second = max(self.second + 1, int(time.time()))
            os.utime(path, (self.second, self.second))

    def judge(self, mutant: Mutant, order: Iterable[Chosen]) -> Verdict:
        """Runs the tests in the given order until one notices."""
        if not mutant.edits:
            return Verdict("invalid", "", 0)
        with self.changed(mutant.edits):
            return self.judge_tree(order, mutant.in_lab) if mutant.is_python else \
                Verdict("invalid", "", 0)

    def judge_tree(self, order: Iterable[Chosen], in_lab: bool) -> Verdict:
        if not in_lab:
            if not self.make(self.objects):
                return Verdict("invalid", "", 0)
            if all(self.hash(o) == self.original[o] for o in self.objects):
                return Verdict("equivalent", "", 0)
        ran = 0
        for chosen in order:
            test, name, seconds = self.tests[chosen.name], chosen.name, chosen.seconds
            if not in_lab:
                if not self.make(test.programs):
                    return Verdict("invalid", "", ran)
                if all(self.hash(p) == self.original[p] for p in test.programs):
                    continue
            ran += 1
            done = self.run_twice(test, max(LEAST_WALL_S, WALL_FACTOR * seconds),
                                  max(LEAST_CPU_S, int(CPU_FACTOR * seconds)), chosen.functions)
            if done.hang:
                return Verdict("hang", name, ran)
            if done.code not in (0, SKIPPED):
                return Verdict("noticed", name, ran)
        return Verdict("survived", "", ran)

    def make(self, files: list[Path]) -> bool:
        """Builds files; false when the compiler or the linker refuses."""
        if not files:
            return True
        done = self.runner.run(self.ninja(1, files), self.tree, log=self.log)
        if done.code < 0 and -done.code != signal.SIGSEGV:
            raise BenchError(f"ninja was ended by signal {-done.code}")
        return done.code == 0
