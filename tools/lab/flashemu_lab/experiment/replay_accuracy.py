# SPDX-License-Identifier: BSD-3-Clause
"""How far replays of recordings are from runs through a kernel, on samples that were drawn by seed.

`flashemu-lab sample` writes the samples to a file `sampled.csv`, which lies next to the recordings:
a row for each, with the device time of the measured phase through a kernel, in the replay at the
pace of that kernel's host, and in a replay by a host that takes no time.  All of them stay in the
file, the worst ones, too.  Every result that comes from recordings says what they say about devices
that take requests as long, and how many there are for its filesystems.
"""

from __future__ import annotations

import csv
import functools
import io
import math
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Iterable, Sequence, Sized

from ..core.errors import LabError
from ..core.json_text import member, wrong
from ..core.text import listed
from ..recording import recordings
from ..recording.recipes import spelled
from ..runs.expression import longest_command
from ..runs.run import Json, Run

NAME = "sampled.csv"
_LAST = "difference"
# Why a shipped sample is so far off, by its recording and device; flashemu-lab-record(1) has more.
_WHY = {("f2fs-large", "sandisk-sd4gb"):
        "in four of ten runs the kernel's requests made this card copy whole units again and "
        "again, and in the others the replay was exact"}


@dataclass(frozen=True)
class Sample:
    """A recording whose phase was measured twice.

    seed                  of the draw
    recording, sha256     its name, and the beginning of the sum of its requests
    limit                 bytes of the longest request in it
    start                 of the partition, in sectors of 512 bytes
    quick_ns              the device's time for the phase, if the host takes no time
    kernel_ns             through the kernel
    pace                  of the kernel's host, as an operand has it
    replay_ns             in a replay at this pace
    """

    seed: int
    filesystem: str
    recording: str
    sha256: str
    limit: int
    profile: str
    start: int
    phase: str
    quick_ns: int
    kernel_ns: int
    pace: str
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
            (seed, filesystem, name, digest, limit, profile, start, phase, quick, kernel, pace,
             replay, told) = words
            sample = Sample(int(seed), filesystem, name, digest, int(limit), profile, int(start),
                            phase, int(quick), int(kernel), pace, int(replay))
            if (min(sample.quick_ns, sample.kernel_ns, sample.replay_ns) < 1
                    or percent(sample) != told):
                raise ValueError
        except ValueError:
            raise LabError(f"{path}:{place}: '{','.join(words)}': expected three times in ns, of "
                           "at least 1, and what the last two differ by; flashemu-lab sample "
                           "writes such files") from None
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


@dataclass(frozen=True)
class _Used:
    """What runs replay; both sets are empty if they replay no recording.

    filesystems  of the recordings, sorted
    limits       bytes of the longest request in them
    lacking      longest commands of devices of which there is no recording
    """

    filesystems: tuple[str, ...]
    limits: frozenset[int]
    lacking: frozenset[int]


def _used(runs: Iterable[Run]) -> _Used:
    pairs = {(source.text, longest_command(run.canonical)) for run in runs
             for source in (*run.requests, run.warmup) if source and source.kind == "recording"}
    found = [(longest, recordings.operand(text, longest).recording) for text, longest in pairs]
    return _Used(tuple(sorted({r.filesystem for _, r in found})),
                 frozenset(r.limit for _, r in found),
                 frozenset(longest for longest, r in found if r.limit != longest))


def agreement(runs: Iterable[Run]) -> Json | None:
    """What the samples say about these runs; None if they replay no recording.

    sentence     for people
    samples      how many there are, of all filesystems and devices
    largest      their largest difference from a kernel, as a share; None without samples
    like         the same two numbers for samples with requests as long as those of these runs
    filesystems  and of these, for each filesystem of these runs
    any          for each filesystem of these runs, of its samples with requests of any length
    """
    used = _used(runs)
    if not used.filesystems:
        return None
    samples = load()
    like = [s for s in samples if s.limit in used.limits]
    of = {name: [s for s in like if s.filesystem == name] for name in used.filesystems}
    return {"sentence": " ".join([_sentence(samples, like, of, used), *_lacking(used)]),
            **_numbers(samples), "like": _numbers(like),
            "filesystems": {name: _numbers(each) for name, each in of.items()},
            "any": {name: _numbers(s for s in samples if s.filesystem == name) for name in of}}


def off(replay: Json | None, filesystem: str) -> float:
    """How far replays of a filesystem may be from a kernel, as a share, by what `agreement` has
    said: the largest difference of its samples with requests as long; without such ones of its
    samples; and without any of all samples.  What is no filesystem of these runs, such as a start,
    is as far off as the worst of their filesystems.  0 if nothing was replayed, or without
    samples."""
    told = replay or {}
    known = told.get("filesystems", {})
    if known and filesystem not in known:
        return max(off(replay, name) for name in known)
    for numbers in (known.get(filesystem), told.get("any", {}).get(filesystem), told.get("like"),
                    told):
        if numbers and numbers.get("largest") is not None:
            return float(numbers["largest"])
    return 0.0


def in_percent(share: float) -> str:
    """Such as "1.4 %": rounded up, but not for the last bit of a binary fraction."""
    return f"{math.ceil(round(1000 * share, 6)) / 10:.1f} %"


@dataclass(frozen=True)
class Numbers:
    """How many samples there are, and their largest difference as a share; None without any."""

    samples: int
    largest: float | None


def check(replay: Json) -> None:
    """LabError if this is nothing that `agreement` has made, in what others read of it."""
    member(str, replay.get("sentence"), "replay.sentence")
    found = [member(Numbers, replay["like"], "replay.like")] if "like" in replay else []
    for name in ("filesystems", "any"):
        found += member(dict[str, Numbers], replay.get(name, {}), f"replay.{name}").values()
    largest = member(float | None, replay.get("largest"), "replay.largest")
    for value in (largest, *(n.largest for n in found)):
        if value is not None and value < 0:
            raise wrong("replay", value, "differences of at least 0")


def _worst(samples: Sequence[Sample]) -> str:
    """Which sample differs most, and why if that is known."""
    found = max(samples, key=lambda s: abs(s.difference))
    why = _WHY.get((found.recording, found.profile))
    return (f"{found.recording} on {found.profile} differs most, by {_share([found])}"
            + (f": {why}" if why else ""))


def _largest(samples: Iterable[Sample]) -> float | None:
    return max((abs(s.difference) for s in samples), default=None)


def _numbers(samples: Iterable[Sample]) -> Json:
    some = list(samples)
    return {"samples": len(some), "largest": _largest(some)}


def _share(samples: Iterable[Sample]) -> str:
    return in_percent(_largest(samples) or 0.0)


def _count(samples: Sized) -> str:
    return f"{len(samples)} sample{'s' if len(samples) != 1 else ''}"


def _lengths(limits: Iterable[int]) -> str:
    return listed([f"{limit / 1024:g} KiB" for limit in sorted(limits)])


def _sentence(samples: tuple[Sample, ...], like: list[Sample], of: dict[str, list[Sample]],
              used: _Used) -> str:
    if not samples:
        return ("It is not known how far these replayed results are from runs through the kernel: "
                f"there are no samples (no {NAME} next to the recordings).")
    told = f"requests up to {_lengths(used.limits)}, as here"
    own = [s for s in like if of.get(s.filesystem)]
    unknown = [spelled(name) for name, some in of.items() if not some]
    lacking = f" There is no such sample of {listed(unknown, 'or')}." if unknown else ""
    if own:
        each = [f"{spelled(name)} {_share(some)} in {len(some)}"
                for name, some in of.items() if some]
        parts = f" ({', '.join(each)})" if len(each) > 1 else ""
        first = (f"Replays of {listed([spelled(n) for n in of if of[n]])} differ {_by(own)} from "
                 f"runs through the kernel at the same pace, in {_count(own)} with {told}{parts}.")
    else:
        first = (f"Replays differ {_by(like or samples)} from runs through the kernel at the same "
                 f"pace, in {_count(like or samples)}"
                 f"{f' with {told}' if like else f', none with {told}'}.")
    return (f"{first}{lacking} Of all {_count(samples)}, {_worst(samples)}.")


def _by(samples: Sequence[Sample]) -> str:
    return f"by {'at most ' if len(samples) > 1 else ''}{_share(samples)}"


def _lacking(used: _Used) -> list[str]:
    """What is to be said of devices that would get longer or shorter requests."""
    if not used.lacking:
        return []
    return [f"A kernel would send requests up to {_lengths(used.lacking)} to some of these "
            "devices; there is no recording of that, so the nearest one was taken."]
