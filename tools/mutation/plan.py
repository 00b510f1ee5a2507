# SPDX-License-Identifier: BSD-3-Clause
"""What a run tries: mutants drawn by seed, or hand-made patches.

Every line that can change has the same chance, so a layer gets mutants in proportion to its
lines. On a line every operator has the same chance. A larger count begins with the same
mutants as a smaller one.
"""

import os
import random
import re
import subprocess
import tempfile
import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Sequence

from .python_changes import LAB, OperatorsError, PythonParser, compiles, provide

if TYPE_CHECKING:
    from .change import Change
    from .changes import Parser

FOLDERS = ("src/ftl", "src/nand", "src/store", "src/device", "src/host", "src/sched",
           "src/profile", "src/workload", "plugin", "vhost")
PATCHED = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)", re.M)


class PlanError(Exception):
    """A file that cannot be mutated, or a patch that cannot be read."""


class Parsers:
    """The parser of each file, made when the first of its files is asked for."""

    def __init__(self, top: Path, build: Path, environment: Path) -> None:
        self.top, self._build, self._environment = str(top), str(build), environment

    @cached_property
    def c(self) -> "Parser":
        """libclang's."""
        try:
            from .changes import Parser  # pylint: disable=import-outside-toplevel
        except ImportError as e:
            raise PlanError(f"needs Debian's package python3-clang ({e})") from e
        return Parser(self.top, self._build)

    @cached_property
    def python(self) -> PythonParser:
        """The one with cosmic-ray's operators."""
        try:
            provide(self._environment)
        except OperatorsError as e:
            raise PlanError(str(e)) from e
        return PythonParser(self.top)

    def of(self, name: str) -> "Parser | PythonParser":
        """The parser of a file or folder."""
        return self.python if in_lab(name) else self.c


def in_lab(name: str) -> bool:
    """Whether a file or folder is the laboratory's, which is in Python."""
    return name == LAB or name.startswith(LAB + "/")


@dataclass(frozen=True)
class Mutant:
    """A changed tree."""

    name: str
    file: str  # the first that changes
    line: int
    operator: str
    before: str
    after: str
    edits: dict[str, bytes]  # what the changed files hold; empty: the patch did not apply
    was: str = ""  # its name in an earlier state of the tree, when it is tried again
    place: int = -1  # where `file` can be marked to see which tests execute the change

    @property
    def layer(self) -> str:
        if in_lab(self.file):
            return "/".join(("lab", *self.file[len(LAB) + 1:].split("/")[:-1]))
        parts = self.file.split("/")
        return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]

    @property
    def in_lab(self) -> bool:
        """Whether it changes the laboratory alone, so that nothing has to be built."""
        return bool(self.edits) and all(map(in_lab, self.edits))

    @property
    def is_python(self) -> bool:
        """Whether Python understands what it changes in the laboratory."""
        return all(compiles(text) for file, text in self.edits.items() if in_lab(file))

    def record(self) -> dict[str, Any]:
        """What a result says about the mutant."""
        return {"name": self.name, "layer": self.layer, "file": self.file, "line": self.line,
                "operator": self.operator, "before": self.before, "after": self.after,
                "was": self.was}


def of_change(change: "Change", text: bytes) -> Mutant:
    return Mutant(change.name, change.file, change.line, change.operator, change.before,
                  change.after, {change.file: change.apply(text)}, place=change.place)


def files_to_mutate(parsers: Parsers, chosen: Sequence[str]) -> list[str]:
    """The files that `chosen` names (files or folders): compiled C files and the laboratory's; or
    those of FOLDERS."""
    found: set[str] = set()
    for name in chosen or [f for f in FOLDERS if os.path.isdir(os.path.join(parsers.top, f))]:
        name = os.path.normpath(name)
        inside = [f for f in parsers.of(name).files if f == name or f.startswith(name + "/")]
        if not inside:
            raise PlanError(f"{name}: not a C file that the build compiles, nor a folder of them, "
                            f"nor in {LAB}")
        found.update(inside)
    if not found:
        raise PlanError(f"there is nothing to change in {' '.join(FOLDERS)}")
    return sorted(found)


def draw(parsers: Parsers, files: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """`count` mutants, or all there are if there are fewer."""
    lines: dict[tuple[str, int], list["Change"]] = {}
    for file in files:
        for change in parsers.of(file).changes(file):
            lines.setdefault((change.file, change.line), []).append(change)
    rng = random.Random(seed)
    keys = sorted(lines)
    drawn: list[Mutant] = []
    while keys and len(drawn) < count:
        rng.shuffle(keys)
        for key in keys:
            if len(drawn) == count:
                break
            parser = parsers.of(key[0])
            taken = _draw_of_line(parser, lines[key], rng)
            if taken is not None:
                drawn.append(of_change(taken, parser.read(taken.file)))
        keys = sorted(k for k in keys if lines[k])
    return drawn


def _draw_of_line(parser: "Parser | PythonParser", left: list["Change"],
                  rng: random.Random) -> "Change | None":
    """Takes one change that compiles from those that are left of a line."""
    while left:
        operator = rng.choice(sorted({c.operator for c in left}))
        change = rng.choice([c for c in left if c.operator == operator])
        left.remove(change)
        if parser.compiles(change):
            return change
    return None


def again(parsers: Parsers, survivors: Sequence[dict[str, Any]],
          chosen: Sequence[str]) -> tuple[list[Mutant], list[dict[str, Any]]]:
    """The mutants that survived before, and those that the files no longer have.

    The text of the changed lines identifies a mutant, because the lines above may have moved it.
    """
    found: list[Mutant] = []
    gone: list[dict[str, Any]] = []
    names = [os.path.normpath(c) for c in chosen]
    changes: dict[str, list["Change"]] = {}
    for old in survivors:
        file = old["file"]
        if names and not any(file == n or file.startswith(n + "/") for n in names):
            continue
        parser = parsers.of(file)
        if file not in changes:
            changes[file] = parser.changes(file) if file in parser.files else []
        same = [c for c in changes[file] if (c.operator, c.before, c.after) ==
                (old["operator"], old["before"], old["after"])]
        if same:
            nearest = min(same, key=lambda c: (abs(c.line - old["line"]), c.start))
            changes[file].remove(nearest)  # the next with the same text is another one
            found.append(replace(of_change(nearest, parser.read(file)), was=old["name"]))
        else:
            gone.append(old)
    return found, gone


def of_patch(top: Path, patch: Path) -> Mutant:
    """Applies a patch (as `git diff` writes it) to copies of the files that it names."""
    try:
        text = patch.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise PlanError(f"{patch}: {e}") from e
    files = [f for f in PATCHED.findall(text) if f != "/dev/null"]
    if not files:
        raise PlanError(f"{patch}: not a patch")
    edits: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for file in files:
            copy = Path(scratch, file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if (top / file).is_file():
                copy.write_bytes((top / file).read_bytes())
        applied = subprocess.run(
            ["patch", "-p1", "-s", "-f", "--no-backup-if-mismatch", "-d", scratch],
            input=text.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if applied.returncode == 0:
            edits = {file: Path(scratch, file).read_bytes() for file in files}
    check = zlib.crc32(repr(sorted(edits.items())).encode())
    return Mutant(f"patch:{patch.name}:{check:08x}", files[0], _first_line(text), "patch",
                  _hunk_lines(text, "-"), _hunk_lines(text, "+"), edits)


def _first_line(text: str) -> int:
    hunk = re.search(r"^@@ -(\d+)", text, re.M)
    return int(hunk.group(1)) if hunk else 0


def _hunk_lines(text: str, sign: str) -> str:
    lines = [x[1:] for x in text.splitlines() if x.startswith(sign) and not x.startswith(sign * 3)]
    return "\n".join(lines)
