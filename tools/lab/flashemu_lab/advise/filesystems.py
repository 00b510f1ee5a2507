# SPDX-License-Identifier: BSD-3-Clause
"""The second part of advice: filesystems, from recordings of a kernel.

A recording NAME-WORK is what a filesystem with its options asked for some work.  Its partition is
moved to the start that the first part has chosen, and to sector 63.  So a filesystem and its
options are compared as a kernel uses them, with its cache and its journal, and in the unit that a
user sees: bytes of files.

A recording belongs to the length of its partition, which is far shorter than that of a whole card.
So where a filesystem puts its tables is as on a short partition, and how full the filesystem is,
too.  All filesystems that have recordings of the same work on a partition of the same length are
compared.  f2fs looks at the start of its partition, so its
recording is only replayed where the start is as far from a multiple of 2 MiB as the recorded one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations

from ..core.text import listed
from ..experiment.sweep import text
from ..recording import recordings
from ..recording.recipes import partition_type, spelled
from ..recording.recordings import Recording
from .raw_writes import Device, RENEWED, place, told_size, workload_level
from .sd_layout import SECTOR

# The work of a recording that a workload of advice means, and the phase that counts.
WORKS = {"large-file": ("large", "write"), "small-files": ("small", "write"),
         "database": ("database", "write"), "log": ("log", "write"),
         "files-at-once": ("streams", "write"), "video": ("video", "write"),
         "boot": ("boot", "read"), "packages": ("packages", "write")}
# FAT12 and FAT16: how many clusters they can have, and what makes a cluster of that many sectors.
_FEW_CLUSTERS = {"-F 12": 4084, "-F 16": 65524}
_CLUSTER = re.compile(r" -s (\d+)\b")
# What f2fs aligns itself to on the device, in bytes.
_SEGMENT = 2 * 2**20
# What most people use comes first, because of equal ones the first is chosen.
_COMMON = ("ext4", "vfat", "vfat-32k", "exfat", "vfat-4k")

_MEASURES = (
    ("rate", "user_bytes / busy_ns * 1000", "rate of files", "MB/s", "more"),
    ("written", "nand.bytes_programmed / user_bytes", "flash written for each byte of files", "",
     "less"),
    ("erases", "nand.block_erases / user_bytes * 1000000000", "erases for each GB of files", "",
     "less"),
    RENEWED,
)


@dataclass(frozen=True)
class Filesystem:
    """A filesystem with its options, and its recordings by workload."""

    name: str
    by_workload: dict[str, Recording]

    @property
    def example(self) -> Recording:
        """Any of the recordings; what makes the filesystem is the same in all."""
        return next(iter(self.by_workload.values()))


def known(workloads: list[str], room: int, asked: bool) -> list[Filesystem]:
    """The filesystems that can be compared for these workloads, the most common one first.

    room   sectors that a partition may have
    asked  whether somebody has asked for just these workloads: then as many of them count as two
           filesystems can do

    Not every filesystem has a recording of every work.  If nobody has asked for a work, those are
    left that give the largest table in which no row lacks one: many filesystems with one workload,
    or fewer with several.  FAT12 and FAT16 are left out where the partition is too large for
    them.  Empty if no workload has two filesystems.
    """
    found: dict[str, dict[str, Recording]] = {}
    for name in recordings.names():
        for workload in workloads:
            work, phase = WORKS[workload]
            stem = name.removesuffix("-" + work)
            if stem != name:
                r = recordings.load(name)
                if (r.sectors <= room and _fills(r.mkfs, room) and r.work.split()[0] == work
                        and any(p.name == phase and p.bytes for p in r.phases)):
                    found.setdefault(stem, {})[workload] = r
    lengths = [r.sectors for by in found.values() for r in by.values()]
    usual = max(set(lengths), key=lambda n: (lengths.count(n), n), default=0)

    def table(chosen: tuple[str, ...]) -> list[Filesystem]:
        return [Filesystem(stem, {w: by[w] for w in chosen}) for stem, by in found.items()
                if all(w in by and by[w].sectors == usual for w in chosen)]

    tables = [table(chosen) for n in range(len(workloads), 0, -1)
              for chosen in combinations(workloads, n)]
    best: list[Filesystem] = max(
        (t for t in tables if len(t) > 1), default=[],
        key=lambda t: (asked * len(t[0].by_workload), len(t) * len(t[0].by_workload)))
    return sorted(best, key=lambda f: (
        _COMMON.index(f.name) if f.name in _COMMON else len(_COMMON), f.name))


def recorded(workload: str) -> list[str]:
    """The names of the recordings of a workload, sorted."""
    return [name for name in recordings.names() if name.endswith(f"-{WORKS[workload][0]}")]


def _fills(mkfs: str, sectors: int) -> bool:
    """Whether mkfs.vfat can make this on a partition of so many sectors; other programs can."""
    cluster = _CLUSTER.search(mkfs)
    return all(kind not in mkfs or (cluster is not None and sectors // int(cluster[1]) <= most)
               for kind, most in _FEW_CLUSTERS.items())


def filesystems_text(d: Device, workloads: list[str], start: int, asked: bool) -> str:
    """The experiment in TOML, with partitions at `start` bytes and at sector 63; "" if there are no
    recordings for it.  See `known` for `asked`."""
    tried = known(workloads, (d.capacity - start) // SECTOR, asked)
    if not tried:
        return ""
    lines = [
        *d.beginning("advise-filesystems", f"Which filesystem for {d.profile}?", _QUESTION, _NOTES,
                     "rec:{name}-{work},start={start},measure={phase}"),
        "[factors.filesystem]", 'label = "filesystem"', 'noun = "{}"',
        "[factors.filesystem.levels]"]
    for at in (start, 63 * SECTOR):
        for f in tried:
            if f.example.filesystem == "f2fs" and (at - f.example.start * SECTOR) % _SEGMENT:
                continue
            words = {"name": f.name, "filesystem": f.example.filesystem,
                     "start": f"{at // SECTOR}", "say": _say(f, at), "paste": _paste(d, f, at)}
            inner = ", ".join(f"{word} = {text(value)}" for word, value in words.items())
            lines.append(f"{text(f'{spelled(f.name)} at {place(at)}')} = {{{inner}}}")
    lines += ["", "[factors.workload]", 'label = "workload"', 'noun = "{}"',
              "[factors.workload.levels]"]
    for w in tried[0].by_workload:
        work, phase = map(text, WORKS[w])
        lines.append(workload_level(w, f"work = {work}, phase = {phase}"))
    left_out = [w for w in workloads if w not in tried[0].by_workload]
    lines += d.ending("filesystem", _MEASURES, f"among = {text(f' at {place(start)}')}",
                      [_missing(left_out)] if left_out else [])
    return "\n".join(lines) + "\n"


_QUESTION = ("Which filesystem and which of its options are best on a partition at the start that "
             "was chosen, and what does sector 63 cost it?")
_NOTES = (
    "The requests are those of Debian's kernel, recorded once on a short partition and replayed "
    "with the partition at each start, behind mkfs, mount and the work before. The options are in "
    "the lines to paste and in `flashemu-lab show` of a recording. Rates are of bytes of files. "
    "The filesystem is chosen whose worst work comes nearest to the best one. Rates differ if "
    "their ratio is above 1.02, and above what the samples of both filesystems say about replays "
    "and a kernel; of equal ones the most common one is chosen.")


def _say(f: Filesystem, start: int) -> str:
    """What to do, as one tells it to a friend."""
    return f"Format the partition at {place(start)} with {spelled(f.name)}"


def _missing(workloads: list[str]) -> str:
    names = [w.replace("-", " ") for w in workloads]
    return (f"Not every filesystem here has a recording of {listed(names, 'or')}, so "
            f"{listed(names)} {'is' if len(names) == 1 else 'are'} left out here.")


def _paste(d: Device, f: Filesystem, start: int) -> str:
    """The lines that make the partition and the filesystem as it was recorded."""
    r = f.example
    sectors = (d.capacity - start) // 2**20 * 2**20 // SECTOR
    kind = partition_type(r.filesystem, r.mkfs)
    # mke2fs and mkntfs were forced to take a device without a partition table.
    mkfs = re.sub(r" -F(?= |$)", "", r.mkfs) if r.filesystem in ("ext4", "ntfs") else r.mkfs
    length = told_size(r.sectors * SECTOR)
    return (f"# The filesystem as it was recorded, on a partition of {length}. "
            "All that is on the device gets lost.\n"
            f"printf 'label: dos\\nstart={start // SECTOR}, size={sectors}, type={kind}\\n' | "
            "sfdisk --wipe always /dev/sdX\n"
            f"{mkfs} /dev/sdX1\n{r.mount} /dev/sdX1 /mnt\n")
