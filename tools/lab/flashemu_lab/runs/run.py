# SPDX-License-Identifier: BSD-3-Clause
"""One run as a value, and the key under which its result is stored.

A run is a pure function of what stands here, because the program is one:

    program version, profile, seed, requests, options   ->   what `flashemu replay --json` says

The key is the SHA-256 of exactly these in canonical JSON.  A profile counts by its canonical
form, so two ways to write the same device have one key.  A trace counts by its content and not by
its name.

Between the plan and the run, somebody may write to a file that the run reads, or replace the
program.  So a run knows the files that its key was computed from, as they were then (Input).  When
the run has ended, one that has changed makes the result worthless, and the result is not stored.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Hashable, Protocol

from ..core.errors import LabError
from ..recording import recordings
from . import worker

# A JSON object.
Json = dict[str, Any]


def canonical_json(value: object) -> str:
    """One text for equal values: keys are sorted, and there are no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


class Keyed(Protocol):
    """What the store keeps results for."""

    def identity(self) -> Json:
        """Everything that decides about the result, and nothing else."""

    def key(self) -> str:
        """64 hexadecimal digits, which follow from the identity."""

    def command(self) -> str:
        """The line that a user pastes into a shell to see the result again."""


def key_of(identity: Json) -> str:
    """The SHA-256 of an identity."""
    return hashlib.sha256(canonical_json(identity).encode()).hexdigest()


@dataclass(frozen=True)
class Input:
    """A file that a run reads.

    word    the argument of `flashemu` that names it, or "rec:NAME" in front of its first comma; ""
            for the program itself
    sha256  of the content when the run was planned, and `stamp` is worker.stamp() of that time
    """

    word: str
    path: str
    sha256: str
    stamp: worker.Stamp

    @staticmethod
    def of(word: str, path: str) -> Input:
        """The file as it is now; OSError if it cannot be read."""
        stamp, sha256 = worker.fingerprint(path)
        return Input(word, path, sha256, stamp)

    def has_changed(self) -> bool:
        """Whether somebody has written to the file since, or replaced or removed it."""
        try:
            return worker.stamp(self.path) != self.stamp
        except OSError:
            return True


@dataclass(frozen=True)
class Source:
    """Where requests come from.

    kind      "pattern" (the program makes the requests), "trace" (a file) or "recording" (of a
              filesystem; see recordings.py)
    text      the operand of `flashemu replay`: "gen:NAME,KEY=VALUE...", a path, or
              "rec:NAME,start=SECTOR,measure=PHASE"
    identity  what counts for the key: the pattern's text, the SHA-256 of the file, or the
              recording's SHA-256 with start, phase and pace
    input     the file of a trace or a recording
    """

    kind: str
    text: str
    identity: str
    input: Input | None = None

    @staticmethod
    def of(text: str, base: Path, longest: int) -> Source:
        """The source that a user means by `text`, for a device whose longest command has so many
        bytes; paths are relative to the folder `base`.

        LabError if a file cannot be read.
        """
        if text.startswith("gen:"):
            return Source.pattern(text)
        if text.startswith(recordings.PREFIX):
            name = text.removeprefix(recordings.PREFIX).split(",")[0]
            if "/" in name:
                text = text.replace(name, os.path.join(base, name), 1)
            return Source._recording(text, longest)
        path = str(base / text)
        try:
            file = Input.of(path, path)
        except OSError as e:
            raise LabError(f"{text}: {e.strerror}; allowed: a trace file, gen:PATTERN or "
                           "rec:RECORDING") from None
        return Source("trace", path, file.sha256, file)

    @staticmethod
    def pattern(text: str) -> Source:
        """Requests that the program makes."""
        return Source("pattern", text, text)

    @staticmethod
    def _recording(text: str, longest: int) -> Source:
        path = str(recordings.operand(text, longest).recording.path)
        try:
            file = Input.of(text.partition(",")[0], path)
        except OSError as e:
            raise LabError(f"{path}: {e.strerror}") from None
        identity = recordings.identity(text, longest)
        if file.has_changed():
            raise LabError(f"{path}: has changed while it was read")
        return Source("recording", text, identity, file)


@dataclass(frozen=True)
class Run:
    """One call of `flashemu replay`.

    program     version and build of the C program, as Tool.program() says
    profile     the name or path that the program is called with
    overrides   "SECTION.KEY=VALUE" each
    canonical   the whole profile, as Tool.canonical() says
    seed        of the device's randomness
    flags       further options without a value, such as "--wrap"
    files       what is read besides the requests: the program, and the profile's file
    """

    program: str
    profile: str
    overrides: tuple[str, ...]
    canonical: str
    seed: int
    requests: tuple[Source, ...]
    warmup: Source | None = None
    depth: int = 1
    flags: tuple[str, ...] = ()
    files: tuple[Input, ...] = ()

    def inputs(self) -> tuple[Input, ...]:
        """All files that the run reads."""
        sources = (*self.requests, *((self.warmup,) if self.warmup else ()))
        return (*self.files, *(s.input for s in sources if s.input))

    def identity(self) -> Json:
        """Everything that decides about the result, and nothing else."""
        def one(source: Source) -> Json:
            return {"kind": source.kind, "identity": source.identity}
        return {
            "program": self.program, "profile": self.canonical, "seed": self.seed,
            "requests": [one(s) for s in self.requests],
            "warmup": one(self.warmup) if self.warmup else None,
            "depth": self.depth, "flags": sorted(self.flags),
        }

    @functools.cached_property
    def _key(self) -> str:
        return key_of(self.identity())

    def key(self) -> str:
        """64 hexadecimal digits."""
        return self._key

    def shared(self) -> Hashable:
        """Equal for runs that differ in nothing but their requests, of which each has one source;
        one process can do such runs."""
        several = self.requests if len(self.requests) > 1 else ()
        return (self.program, self.profile, self.overrides, self.canonical, self.seed, self.warmup,
                self.depth, self.flags, several)

    def arguments(self) -> list[str]:
        """The arguments of `flashemu` that repeat the run."""
        return arguments([self])

    def command(self) -> str:
        """The line that a user pastes into a shell to see the run again."""
        return shlex.join(["flashemu", *self.arguments()])


def arguments(runs: list[Run]) -> list[str]:
    """The arguments of `flashemu` that repeat one run, or several that share all but their
    requests."""
    one = runs[0]
    assert all(run.shared() == one.shared() for run in runs)
    words = ["replay", one.profile]
    if one.warmup:
        words += ["--warmup", one.warmup.text]
    words += [source.text for run in runs for source in run.requests]
    words += list(one.overrides)
    if one.depth != 1:
        words += ["--depth", str(one.depth)]
    if one.seed != 1:
        words += ["--seed", str(one.seed)]
    if len(runs) > 1:
        words += ["--each", "--jobs", "1"]  # the lab itself keeps the processors busy
    return words + list(one.flags)
