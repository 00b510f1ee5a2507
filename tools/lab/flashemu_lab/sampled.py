# SPDX-License-Identifier: BSD-3-Clause
"""How far replays of recordings are from runs through a kernel, on samples that were drawn by seed.

`flashemu-lab sample` writes the samples to a file `sampled.csv`, which lies next to the recordings:
a row for each, with the device time of the measured phase through a kernel and in the replay.  All
of them stay in the file, the worst ones, too.  Every result that comes from recordings says what
they say, and how many there are for its filesystems.
"""

from __future__ import annotations

import csv
import functools
import io
import math
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Iterable

from . import recordings
from .errors import LabError, listed
from .run import Json, Run

NAME = "sampled.csv"
_LAST = "difference"


@dataclass(frozen=True)
class Sample:
    """A recording whose phase was measured twice.

    seed                  of the draw
    recording, sha256     its name, and the beginning of the sum of its requests
    start                 of the partition, in sectors of 512 bytes
    kernel_ns, replay_ns  the device's time for the phase
    """

    seed: int
    filesystem: str
    recording: str
    sha256: str
    profile: str
    start: int
    phase: str
    kernel_ns: int
    replay_ns: int

    @property
    def difference(self) -> float:
        """Of the kernel's time from the replay's; 0.01 if the kernel's is 1 % longer."""
        return self.kernel_ns / self.replay_ns - 1


_COLUMNS = (*(f.name for f in fields(Sample)), _LAST)


def to_csv(samples: Iterable[Sample]) -> str:
    """The text of a file; the difference is in percent."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows((*astuple(s), percent(s)) for s in samples)
    return out.getvalue()


def percent(sample: Sample) -> str:
    """The difference as the file has it."""
    return f"{100 * sample.difference:+.2f}%"


def parse(text: str, path: str) -> tuple[Sample, ...]:
    """The samples of a file; LabError, with its line, if it is damaged."""
    lines = list(csv.reader(io.StringIO(text)))
    if not lines or tuple(lines[0]) != _COLUMNS:
        raise LabError(f"{path}:1: expected {','.join(_COLUMNS)}")
    found = []
    for place, words in enumerate(lines[1:], 2):
        try:
            seed, filesystem, name, digest, profile, start, phase, kernel, replay, told = words
            sample = Sample(int(seed), filesystem, name, digest, profile, int(start), phase,
                            int(kernel), int(replay))
            if sample.kernel_ns < 1 or sample.replay_ns < 1 or percent(sample) != told:
                raise ValueError
        except ValueError:
            raise LabError(f"{path}:{place}: '{','.join(words)}': expected two times in ns, of at "
                           "least 1, and what they differ by; flashemu-lab sample writes such "
                           "files") from None
        found.append(sample)
    return tuple(found)


def load() -> tuple[Sample, ...]:
    """The samples next to the recordings, from the first folder that has some; none if there is
    no file.  LabError if it is damaged."""
    for folder in recordings.folders():
        path = folder / NAME
        if path.is_file():
            return _read(path)
    return ()


@functools.lru_cache(maxsize=None)
def _read(path: Path) -> tuple[Sample, ...]:
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None
    except UnicodeDecodeError:
        raise LabError(f"{path}: is damaged") from None


def filesystems(runs: Iterable[Run]) -> list[str]:
    """The filesystems whose recordings these runs replay, sorted."""
    sources = {source.text for run in runs for source in (*run.requests, run.warmup)
               if source and source.kind == "recording"}
    return sorted({recordings.operand(text).recording.filesystem for text in sources})


def agreement(runs: Iterable[Run]) -> Json | None:
    """What the samples say about these runs; None if they replay no recording.

    sentence     for people
    samples      how many there are, of all filesystems
    largest      their largest difference from a kernel, as a share; None without samples
    filesystems  the same two numbers for each filesystem of these runs
    """
    names = filesystems(runs)
    if not names:
        return None
    samples = load()
    of = {name: [s for s in samples if s.filesystem == name] for name in names}
    return {"sentence": _sentence(samples, of), **_numbers(samples),
            "filesystems": {name: _numbers(each) for name, each in of.items()}}


def _largest(samples: Iterable[Sample]) -> float | None:
    return max((abs(s.difference) for s in samples), default=None)


def _numbers(samples: Iterable[Sample]) -> Json:
    some = list(samples)
    return {"samples": len(some), "largest": _largest(some)}


def _share(samples: Iterable[Sample]) -> str:
    """Such as "1.4 %": rounded up, but not for the last bit of a binary fraction."""
    return f"{math.ceil(round(1000 * (_largest(samples) or 0.0), 6)) / 10:.1f} %"


def _count(samples: list[Sample]) -> str:
    return f"{len(samples)} sample{'s' if len(samples) != 1 else ''}"


def _sentence(samples: tuple[Sample, ...], of: dict[str, list[Sample]]) -> str:
    if not samples:
        return ("It is not known how far these replayed results are from runs through the kernel: "
                f"there are no samples (no {NAME} next to the recordings).")
    known = [name for name, some in of.items() if some]
    unknown = [name for name, some in of.items() if not some]
    here = [s for name in known for s in of[name]]
    parts = [f"{', '.join(known)}: {_share(here)} in {_count(here)}"] if known else []
    parts += [f"no sample of {listed(unknown)}"] if unknown else []
    return (f"Replayed results differ by at most {_share(samples)} from runs through the kernel "
            f"({_count(list(samples))}; here: {'; '.join(parts)}).")
