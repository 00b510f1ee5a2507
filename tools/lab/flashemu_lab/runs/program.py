# SPDX-License-Identifier: BSD-3-Clause
"""The C program: where it is, and its answers as values.

Every answer is a function of the arguments, so answers are kept and no question is asked twice.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Callable, Iterable

from ..core.errors import LabError
from ..core.text import lines_of
from ..core.units import quantity
from ..recording import recordings
from .run import Input, Json, Run, Source, arguments
from .worker import guarded, program_name

# Members of `replay --json` that differ between two calls, or that only repeat the arguments.
_NOT_RESULT = ("wall_seconds", "cpu_seconds", "host_ops_per_second", "command", "overrides",
               "profile", "version", "seed")
# Sections of a profile that explain it and change nothing.
_NOT_DEVICE = ("[provenance]", "[fidelity]")
_PROGRESS = re.compile(rb"\r([^\r\n]*?) ?\x1b\[K")  # a line that is written over


def find_program() -> Path:
    """$FLASHEMU, or build/tools/flashemu of the source tree that this file is in, or PATH."""
    told = os.environ.get("FLASHEMU")
    if told:
        if not os.access(told, os.X_OK):
            raise LabError(f"FLASHEMU={told}: is not a program that can be executed")
        return Path(told)
    built = Path(__file__).resolve().parents[4] / "build/tools/flashemu"
    if os.access(built, os.X_OK):
        return built
    found = shutil.which("flashemu")
    if not found:
        raise LabError("there is no program flashemu in PATH; set FLASHEMU to its path")
    return Path(found)


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    status    "done": `result` has the device's answer.  "failed": the program refused the run,
              always does, and `message` has its reason.  "lost": the program was killed or could
              not be started, so nothing is known; such an outcome is never stored.
    """

    status: str
    result: Json | None = None
    message: str = ""


class Tool:
    """The program at one path."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or find_program()

    def ask(self, *words: str, codes: tuple[int, ...] = (0,)) -> str:
        """Standard output; LabError with the program's own message unless its exit code is one of
        `codes`."""
        try:
            done = subprocess.run([str(self.path), *words], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  encoding="utf-8", errors="replace")
        except OSError as e:
            raise LabError(f"{self.path}: {e.strerror}") from None
        if done.returncode not in codes:
            raise LabError(_reason(done.stderr, done.returncode))
        return done.stdout

    def watch(self, show: Callable[[str], None], *words: str, codes: tuple[int, ...] = (0,)) -> str:
        """As `ask`, of a command with --progress: `show` hears how far it is.  The process does not
        survive the lab, not even if the lab is killed."""
        said = b""
        with open(os.memfd_create("answer"), "w+b") as out, subprocess.Popen(
                guarded([str(self.path), *words, "--progress"]), stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.PIPE) as process:
            assert process.stderr
            try:
                while chunk := os.read(process.stderr.fileno(), 65536):
                    for text in _PROGRESS.findall(said := said + chunk)[-1:]:
                        show(text.decode(errors="replace"))
                    said = _PROGRESS.sub(b"", said)
            except BaseException:
                process.kill()
                raise
            code = process.wait()
            out.seek(0)
            answer = out.read().decode(errors="replace")
        if code not in codes:
            raise LabError(_reason(said.decode(errors="replace"), code))
        return answer

    @functools.cached_property
    def version(self) -> str:
        """Such as "0.1.0"."""
        return self.ask("--version").split()[-1]

    @functools.cached_property
    def program(self) -> str:
        """The version and the beginning of the SHA-256 of the program, such as
        "0.1.0+8f3a52c01d7e".

        Two builds of one version may differ while somebody works on the program.  A result of
        one must not answer for the other.
        """
        return program_name(self.version, str(self.path))

    @functools.lru_cache(maxsize=None)
    def files(self, profile: str) -> tuple[Input, ...]:
        """The program, and the profile's file if it is not built in, as they are before any
        question about them.  A profile is looked up as the program does it."""
        paths = [profile] if "/" in profile or profile.endswith(".ini") else [
            f"{folder}/{profile}.ini" for folder in os.environ.get("FLASHEMU_PATH", "").split(":")
            if folder]
        found = [Input.of("", str(self.path))]
        for path in paths:
            try:
                return (*found, Input.of(profile, path))
            except OSError:
                continue  # what is wrong with a file that is there, the program says
        return tuple(found)

    @functools.lru_cache(maxsize=None)
    def canonical(self, profile: str, overrides: tuple[str, ...]) -> str:
        """The profile in canonical form with every default spelled out, without the sections
        that only explain it.  LabError if its file has changed since `files` was asked."""
        files = self.files(profile)
        kept = []
        wanted = True
        for line in lines_of(self.ask("show", profile, *overrides)):
            if line.startswith("["):
                wanted = line not in _NOT_DEVICE
            if wanted and line:
                kept.append(line)
        check_unchanged(files)
        return "\n".join(kept) + "\n"

    def run(self, profile: str, overrides: tuple[str, ...], requests: tuple[Source, ...],
            seed: int = 1, warmup: Source | None = None, depth: int = 1,
            flags: tuple[str, ...] = ()) -> Run:
        """A run of this program; LabError if it refuses the profile or an override."""
        return Run(self.program, profile, overrides, self.canonical(profile, overrides), seed,
                   requests, warmup, depth, flags, self.files(profile))

    @functools.lru_cache(maxsize=None)
    def profiles(self) -> tuple[str, ...]:
        """The names of the shipped profiles."""
        return tuple(self.ask("profiles").split())

    @functools.lru_cache(maxsize=None)
    def keys(self) -> tuple[str, ...]:
        """The keys that a profile may have."""
        return tuple(option["key"] for option in json.loads(self.ask("help", "--json")))

    @functools.lru_cache(maxsize=None)
    def members(self) -> Json:
        """An example of a result, which shows the members that a measure may name."""
        text = self.ask("replay", "--json", "ideal", "gen:sequential,op=write,count=1")
        return _result(text)

    @functools.lru_cache(maxsize=None)
    def check_pattern(self, text: str) -> None:
        """LabError if the program does not know "gen:NAME,KEY=VALUE..."."""
        words = [w for w in text.removeprefix("gen:").split(",") if not w.startswith("count=")]
        counts = [w for w in text.split(",") if w.startswith("count=")]
        for word in counts:
            if not (quantity(word.removeprefix("count=")) or 0) >= 1:
                raise LabError(f"{word}: expected a number of at least 1")
        if len(counts) > 1:
            raise LabError(f"{text}: has count= twice")
        self.ask("gen", ",".join([*words, "count=1"]), "--capacity", "16T", "-o", os.devnull)

    def start(self, runs: list[Run], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        """Begins runs that share all but their requests; their results come from the standard
        output, one after the other, until one fails.  The process does not survive the lab, not
        even if the lab is killed."""
        places = ":".join(str(folder) for folder in recordings.folders())
        return subprocess.Popen(guarded([str(self.path), *arguments(runs), "--json"]),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                env={**os.environ, "FLASHEMU_RECORDINGS": places})


def check_unchanged(inputs: Iterable[Input]) -> None:
    """LabError if one of these files is no longer what it was."""
    for one in inputs:
        if one.has_changed():
            raise LabError(f"{one.path}: has changed since the runs were planned; what needs it "
                           "was not stored; start the command again")


def outcome(code: int, output: bytes, errors: bytes) -> Outcome:
    """What the end of a started run means."""
    if code < 0 or code > 2:
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Outcome("lost", message=f"flashemu ended by {name}")
    if code:
        return Outcome("failed", message=_reason(errors.decode(errors="replace"), code))
    try:
        return Outcome("done", _result(output.decode()))
    except ValueError:
        return Outcome("lost", message="flashemu printed no JSON")


def _result(text: str) -> Json:
    value: Json = json.loads(text)
    return {k: v for k, v in value.items() if k not in _NOT_RESULT}


def _reason(errors: str, code: int) -> str:
    """The program's message without its prefix; notes come before it."""
    lines = [line for line in errors.splitlines() if not line.startswith("flashemu: note: ")]
    if not lines:
        return f"flashemu ended with exit code {code}"
    return lines[-1].removeprefix("flashemu: ")
