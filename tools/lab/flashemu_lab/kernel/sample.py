# SPDX-License-Identifier: BSD-3-Clause
"""Draws a sample of replays, and runs each of them through a kernel as well.

From every filesystem with a recording the seed draws one of its recordings, a device that has room
for the partition, a start, and the phase that is measured.  What is drawn is an experiment like any
other, so `full` does the work.

A kernel's host thinks, and that of a replay does not.  So each is replayed twice: with a host that
takes no time, as everywhere, and at the pace that was measured in the run through the kernel.  What
the second one differs by is the error of the replay.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from ..core.errors import LabError
from ..core.units import quantity
from ..experiment.replay_accuracy import Sample
from ..experiment.sweep import text
from ..experiment.table import Table
from ..recording import recordings
from ..recording.recordings import Recording, SECTOR
from ..runs.expression import longest_command, parse_profile
from ..runs.program import Tool

# f2fs looks at where its segments of 2 MiB lie, so it moves by whole ones.
_SEGMENT = (2 << 20) // SECTOR
# Half of the samples start at a multiple of 128 KiB, up to 32 MiB.
_ALIGNED = (128 << 10) // SECTOR
_LAST = (32 << 20) // SECTOR
_MEASURE = "busy"


@dataclass(frozen=True)
class Drawn:
    """What a seed has drawn; `recording` is that for the device, and `start` is a sector."""

    seed: int
    recording: Recording
    profile: str
    start: int
    phase: str

    @property
    def level(self) -> str:
        """Its name in the experiment."""
        return f"{self.seed} {_kind(self.recording)}"


def draw(tool: Tool, seeds: list[int], names: list[str]) -> list[Drawn]:
    """For each seed, one of every filesystem that these recordings have.  LabError if there is no
    such recording, or if one fits no device."""
    return [one for seed in seeds for one in _draw(tool, seed, names)]


def _start(chance: random.Random, r: Recording, room: int) -> int:
    """Some sector up to `room`."""
    last = min(room, _LAST)
    if r.filesystem == "f2fs":
        return chance.choice(range(r.start % _SEGMENT or _SEGMENT, last + 1, _SEGMENT))
    aligned = chance.choice(range(_ALIGNED, max(last, _ALIGNED) + 1, _ALIGNED))
    return min(chance.choice([aligned, chance.randrange(1, _ALIGNED)]), room)


def _draw(tool: Tool, seed: int, names: list[str]) -> list[Drawn]:
    by_kind: dict[str, list[Recording]] = {}
    for name in names:
        r = recordings.load(name)
        by_kind.setdefault(_kind(r), []).append(r)
    chance = random.Random(seed)
    found = []
    for kind in sorted(by_kind):
        r = chance.choice(by_kind[kind])
        rooms = _rooms(tool, r)
        if not rooms:
            raise LabError(f"{r.name}: no shipped device has room for {r.sectors} sectors at "
                           f"sector {r.start}")
        profile = chance.choice(sorted(rooms))
        r = recordings.load(r.name, longest_command(tool.canonical(profile, ())))
        start = _start(chance, r, rooms[profile])
        phase = chance.choice([p.name for p in r.phases if p.bytes])
        found.append(Drawn(seed, r, profile, start, phase))
    return found


def _kind(r: Recording) -> str:
    """The filesystem, or vfat12 and vfat16, which lay out their tables otherwise than FAT32."""
    stem = r.name.split("-")[0]
    return stem if stem in ("vfat12", "vfat16") else r.filesystem


def _rooms(tool: Tool, r: Recording) -> dict[str, int]:
    """The devices on which the recording can be, with the largest start; none without a link, which
    take no time."""
    found = {}
    for profile in tool.profiles():
        keys = parse_profile(tool.canonical(profile, ()))
        capacity = quantity(keys["device.capacity"])
        room = int(capacity or 0) // SECTOR - r.sectors
        if keys["link.type"] != "none" and room >= r.start:
            found[profile] = room
    return found


def experiment_text(drawn: list[Drawn], paces: list[str] | None = None) -> str:
    """The experiment in TOML; the hosts take no time, or think at these paces."""
    lines = ['name = "sample"', 'title = "Replays and a kernel"', "", "[device]",
             'profile = "{device}"', "", "[workload]", 'requests = "{run}"', "",
             f"[measure.{_MEASURE}]", 'value = "busy_ns"', "", "[factors.sample.levels]"]
    for d, pace in zip(drawn, paces or ["0"] * len(drawn), strict=True):
        run = f"rec:{d.recording.name},start={d.start},measure={d.phase}"
        run += f",pace={pace}" if paces else ""
        lines.append(f"{text(d.level)} = {{device = {text(d.profile)}, run = {text(run)}}}")
    return "\n".join(lines) + "\n"


def check(drawn: list[Drawn], table: Table) -> None:
    """LabError if a replay has failed, or if its phase took no time."""
    for d, row in zip(drawn, table.rows, strict=True):
        if not row.values.get(_MEASURE):
            raise LabError(f"{d.recording.name}: {row.message or 'the phase took no time'}", 1)


def paces(drawn: list[Drawn], table: Table) -> list[str]:
    """The pace of each run through the kernel, after `check`, as an operand takes it."""
    found = {one.levels: one.pace for one in table.checks}
    return [f"{found[row.levels]:.3f}" for _, row in zip(drawn, table.rows, strict=True)]


def samples(drawn: list[Drawn], table: Table, paced: Table) -> list[Sample]:
    """What the experiment has found, after `check`.  LabError if a phase took no time in the
    kernel.

    table  with the runs through the kernel, and replays by a host that takes no time
    paced  the replays at the paces of the kernel
    """
    kernel = {check.levels: check.values[_MEASURE] for check in table.checks}
    found = []
    for d, row, again, pace in zip(drawn, table.rows, paced.rows, paces(drawn, table), strict=True):
        quick, replayed, full = row.values[_MEASURE], again.values[_MEASURE], kernel[row.levels]
        if not quick or not replayed or not full:
            raise LabError(f"{d.recording.name}: the phase took no time in the kernel", 1)
        r = d.recording
        found.append(Sample(d.seed, r.filesystem, r.name, r.sha256[:12], r.limit, d.profile,
                            d.start, d.phase, int(quick), int(full), pace, int(replayed)))
    return found
