# SPDX-License-Identifier: BSD-3-Clause
"""Measurements that somebody could make on the real device, tried with every set of an ensemble.

They are simple on purpose: reads and writes in order and at random, of several sizes, aligned or
shifted, the points of flashbench -O, files that grow, and a file on FAT32 and ext4 as in the
article.  Each
of them is a pattern or a recording that `flashemu replay` runs, and a line for the real device.  A
pattern writes on a device that is as full as the profile says, so the real one must be, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from ...core.errors import LabError
from ...core.units import quantity
from ...recording import recordings
from ...runs.expression import evaluate, longest_command, parse_profile
from ...runs.local import Engine, execute
from ...runs.program import Tool
from ...runs.run import Run, Source
from ...runs.store import Store
from ..evidence import Trial
from ..plan import profiles, settings_of
from ..spec import ENSEMBLE, Experiment

# Told after each run: how many are done, and of how many.
Tell = Callable[[int, int], None]

_K, _M = 2**10, 2**20
_RATE = "(host.read.bytes + host.write.bytes) / elapsed_ns * 1000"
_FILE_RATE = "user_bytes / busy_ns * 1000"
_UNIT = "MB/s"
# Requests in order and at random, in bytes, besides the longest one that the host sends.
_SIZES = (4 * _K, 16 * _K, 64 * _K, 256 * _K, _M)
_SHIFTS = (512, 2 * _K, 16 * _K)
# Recordings of a file that is written, as people say it, and starts of the partition.
_FILES = {
    "vfat-4k-large": "a file of 100 MiB on FAT32 with clusters of 4 KiB",
    "vfat-32k-large": "a file of 100 MiB on FAT32 with clusters of 32 KiB",
    "ext4-stripe-large": "a file of 100 MiB on ext4",
    "article-fat32-untold-synced": "a file of 16 MiB on FAT32 mounted with -o sync",
    "article-ext4-told-synced": "a file of 16 MiB on ext4 mounted with -o sync",
}
_STARTS = (63, 256, 2048)


@dataclass(frozen=True)
class Candidate:
    """What and how are as in Trial; `requests` is an operand of `flashemu replay`, and `value` is
    an expression over its result."""

    what: str
    how: str
    requests: str
    value: str = _RATE


def _size(value: int) -> str:
    return f"{value // _M} MiB" if value % _M == 0 else (
        f"{value // _K} KiB" if value % _K == 0 else f"{value} bytes")


def _fio(kind: str, bs: int, count: int, region: int, offset: int) -> str:
    return (f"fio --name=x --filename=/dev/sdX --direct=1 --rw={kind} --bs={bs} --offset={offset} "
            f"--size={region} --number_ios={count}")


def _plain(limit: int, region: int) -> list[Candidate]:
    """Requests in order and at random, in a region of this many bytes behind 4 MiB; a shifted one
    begins later."""
    found = []

    def add(order: str, op: str, bs: int, shift: int, count: int) -> None:
        name = "in order" if order == "sequential" else "at random"
        kind = op if order == "sequential" else f"rand{op}"
        offset = 4 * _M + shift
        where = f", shifted by {_size(shift)}" if shift else ""
        found.append(Candidate(
            f"{op}s of {_size(bs)} {name}{where}", _fio(kind, bs, count, region, offset),
            f"gen:{order},op={op},bs={bs},offset={offset},size={region},count={count}"))

    add("sequential", "read", limit, 0, 500)
    for bs in (4 * _K, 64 * _K):
        add("random", "read", bs, 0, 500)
    for bs in dict.fromkeys((*_SIZES[:3], limit)):
        add("sequential", "write", bs, 0, max(400, min(2000, region // bs)))
    for shift in _SHIFTS:
        add("sequential", "write", limit, shift, max(400, min(2000, region // limit)))
    for bs in _SIZES:
        add("random", "write", bs, 0, 300 if bs < _M else 100)
    for shift in _SHIFTS[:2]:
        add("random", "write", 16 * _K, shift, 300)
    return found


def _open_units(unit: int, capacity: int) -> list[Candidate]:
    """flashbench -O with 2 to 8 units, in order and at random, in blocks of 64 KiB."""
    bs = min(64 * _K, unit)
    return [Candidate(
        f"flashbench -O with {n} units, {'at random' if random else 'in order'}",
        f"flashbench -O --erasesize={unit} --blocksize={bs} --open-au-nr={n}"
        f"{' --random' if random else ''} /dev/sdX",
        f"gen:flashbench-open-au,erasesize={unit},bs={bs},open-au-nr={n},"
        f"offset={unit}{',random=yes' if random else ''}")
        for random in (False, True) for n in range(2, 9) if (n + 2) * unit <= capacity]


def _files(capacity: int) -> list[Candidate]:
    """A file on a filesystem that starts at several sectors, if its recording fits the device."""
    found = []
    for name, what in _FILES.items():
        if name not in recordings.names():
            continue
        r = recordings.load(name)
        _, amount, block, *_ = (*r.work.split(), "1M")
        count = int(amount) * _M // int(quantity(block) or _M)
        dd = f"dd if=/dev/zero of=/mnt/file bs={block} count={count} conv=fsync"
        for start in _STARTS:
            if (start + r.sectors) * recordings.SECTOR <= capacity:
                found.append(Candidate(
                    f"{what}, partition at sector {start}",
                    f"{r.mkfs} /dev/sdX1; {r.mount} /dev/sdX1 /mnt; {dd}",
                    f"rec:{name},start={start},measure=write", _FILE_RATE))
    return found


def _appends(capacity: int) -> list[Candidate]:
    """Files that grow with their FAT entries, each written when it has changed."""
    return [Candidate(
        f"{files} {'files that grow' if files > 1 else 'file that grows'} by {_size(bs)} and an "
        "fsync each on FAT32", f"{files} times: dd bs={bs} oflag=append conv=notrunc,fsync",
        f"gen:fat-append,start=1M,size={min(capacity, 2**31)},layout=mkfs,cluster=4K,bs={bs},"
        f"sync={bs},files={files},count=800")
        for files in (1, 4) for bs in (4 * _K, 64 * _K)]


def candidates(canonical: str) -> list[Candidate]:
    """The measurements for a device with this profile in canonical form, simple ones first."""
    keys = parse_profile(canonical)

    def amount(key: str, default: int) -> int:
        return int(quantity(keys.get(key, "")) or default)

    capacity = amount("device.capacity", _M)
    limit = min(amount("link.max_transfer", _M), _M)
    unit = amount("ftl.unit_size", 4 * _M)
    region = min(64 * _M, capacity // 4 // _M * _M) or _M
    return [*_plain(limit, region), *_open_units(unit, capacity), *_appends(capacity),
            *_files(capacity)]


def _runs(e: Experiment, tool: Tool, profile: str, c: Candidate) -> list[Run | None]:
    """A run for each level of the ensemble; None where the program refuses it."""
    found: list[Run | None] = []
    if c.requests.startswith("gen:"):
        tool.check_pattern(c.requests)
    for level in e.factor(ENSEMBLE).levels:
        try:
            settings = settings_of(e, profile, level)
            longest = longest_command(tool.canonical(profile, settings))
            source = Source.of(c.requests, e.base, longest)
            found.append(tool.run(profile, settings, (source,)))
        except LabError:
            found.append(None)
    return found


def planned(e: Experiment, tool: Tool) -> list[tuple[str, Candidate, list[Run | None]]]:
    """For each profile of an experiment with an ensemble, each candidate and its runs."""
    return [(profile, c, _runs(e, tool, profile, c)) for profile in profiles(e)
            for c in candidates(tool.canonical(profile, settings_of(e, profile, "")))]


def perform(e: Experiment, tool: Tool, store: Store, engine: Engine,
            tell: Tell) -> tuple[Trial, ...]:
    """The value of each candidate for each level of the ensemble."""
    plan = planned(e, tool)
    runs = {run.key(): run for _, _, row in plan for run in row if run}
    found: dict[tuple[str, str], float | None] = {}
    values = {c.value for _, c, _ in plan}
    for done, (run, outcome) in enumerate(execute(runs.values(), store, engine), 1):
        for value in values if outcome.result else ():
            found[run.key(), value] = evaluate(value, outcome.result or {}, {})
        tell(done, len(runs))
    return tuple(Trial(profile, c.what, c.how, _UNIT,
                       tuple(found.get((run.key(), c.value)) if run else None for run in row))
                 for profile, c, row in plan)
