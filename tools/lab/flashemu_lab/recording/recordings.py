# SPDX-License-Identifier: BSD-3-Clause
"""Recordings: what a kernel's filesystem asked of a device for some work.

A recording is a file NAME.trace.gz: a trace in the text format of flashemu-trace(5), with times of
0 and with the host's think times.  Its first comments say where it comes from and what is in it.

    # flashemu trace 1
    # filesystem: vfat                      recorded by: kernel, tools, mkfs, mount, work, limit,
    # command: flashemu-lab record NAME     scale, command
    # machine: 900 1024                     seconds and MiB that the machine may take
    # offers: flush fua                     to the host; without it, no flush is recorded
    # think: of the host, emulated          the requests have think=; without it, none has
    # capacity: 8019509248                  of the device, in bytes
    # partition: 256 15000000               first sector, and how many
    # phase: format 312 0                   name, requests from the beginning of the trace to
    # phase: write 1204 104857600           its end, bytes of files written or read in it

`rec:NAME,start=SECTOR,measure=PHASE,pace=R` is an operand of `flashemu replay`, which moves the
partition and counts one phase.  The phases in front of it are its warm-up, on the same device.
Flushes and FUA are left out on a device that does not offer them, as a kernel would.  The host
thinks R times as long as the recorded one, by default not at all.

A kernel cuts its requests to the longest command of the device.  So a recording may have a file for
each limit, and a device gets the one that is nearest to its own by ratio:

    FOLDER/NAME.trace.gz                    says its limit itself
    FOLDER/64K/NAME.trace.gz                and so on, for each of LIMITS
"""

from __future__ import annotations

import difflib
import functools
import gzip
import hashlib
import os
import re
import time
import zlib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ..core.errors import LabError
from ..core.text import lines_of
from ..core.units import in_bytes, quantity, whole

PREFIX = "rec:"
# The longest requests of hosts, for which a recording may have a file of its own in a folder of
# this name: Windows up to 7, Linux with a USB reader, Linux with a slot for cards.
LIMITS = ("64K", "120K", "512K")
SUFFIX = ".trace.gz"
HEAD = "# flashemu trace 1"
SECTOR = 512
# Comments that have one text.
_TEXTS = ("filesystem", "work", "mkfs", "mount", "kernel", "tools", "limit", "command")
# Comments that decide about a replay.
_DECIDES = ("capacity", "partition", "phase", "mkfs", "offers")
# What a machine may take, unless a recipe says otherwise; the memory in MiB.
SECONDS, MEMORY = 900, 1024
# A file system's clock is no finer than this, so a younger file may be written to without a trace.
_TICK_NS = 20_000_000
# The largest pace.
MAX_PACE = 10000


@dataclass(frozen=True)
class Phase:
    """A part of a recording.

    first, last  its requests, half-open, counted from 0
    bytes        of the user's files, written or read in it
    """

    name: str
    first: int
    last: int
    bytes: int


@dataclass(frozen=True)
class Recording:
    """A recording without its requests.

    work            of tools/vm/record.sh, with its arguments; those with a '=' say how
    mkfs, mount     the commands without their last words
    tools           versions of the programs
    limit           bytes of the largest request of the host
    scale           how many seconds the server waited for a second of the device
    offers          what the device offered to the host: "flush fua", or "" in old recordings
    command         makes it again
    seconds         of the clock, after which the machine is ended if the work is not done
    memory          of the machine, in MiB
    capacity        of the device on which it was recorded, in bytes
    start, sectors  of the partition, in sectors of 512 bytes
    sha256          of the requests and all that decides about a replay by a host that takes no time
    thinks          of the requests with their think times; "" if it has none
    """

    name: str
    path: Path
    filesystem: str
    work: str
    mkfs: str
    mount: str
    kernel: str
    tools: str
    limit: int
    scale: float
    offers: str
    command: str
    seconds: int
    memory: int
    capacity: int
    start: int
    sectors: int
    phases: tuple[Phase, ...]
    sha256: str
    thinks: str

    @property
    def job(self) -> str:
        """What the work does, whichever way: its words without a '='."""
        return " ".join(word for word in self.work.split() if "=" not in word)

    @property
    def way(self) -> str:
        """How it does that: its words with a '=', such as "journal_mode=wal"; often none."""
        return " ".join(word for word in self.work.split() if "=" in word)

    def phase(self, name: str) -> Phase:
        """The phase of this name; LabError if there is none."""
        for phase in self.phases:
            if phase.name == name:
                return phase
        raise LabError(f"{PREFIX}{self.name}: measure={name}: this recording has the phases "
                       f"{', '.join(p.name for p in self.phases)}")


def user_folder() -> Path:
    """Where `flashemu-lab record` writes: $XDG_DATA_HOME/flashemu/recordings."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(data) / "flashemu/recordings"


def shipped_folder() -> Path:
    """In the source tree and in an installation."""
    here = Path(__file__).resolve()
    source = here.parents[2] / "recordings"
    return source if source.is_dir() else here.parents[3] / "recordings"


def folders() -> list[Path]:
    """Where recordings are looked up, the first one first; as in flashemu-replay(1)."""
    told = [Path(word) for word in os.environ.get("FLASHEMU_RECORDINGS", "").split(":") if word]
    return [*told, user_folder(), shipped_folder()]


def names() -> tuple[str, ...]:
    """The names of all recordings, sorted."""
    found = set()
    for folder in folders():
        for place in (folder, *(folder / limit for limit in LIMITS)):
            if place.is_dir():
                found |= {p.name.removesuffix(SUFFIX) for p in place.glob("*" + SUFFIX)}
    return tuple(sorted(found))


def load(name: str, longest: int = 0) -> Recording:
    """The recording of this name, or in the file of this path, which has a '/' in it.

    longest  bytes of the device's longest command, which chooses between the files of a name; with
             0 it is the one that says its limit itself, if there is one

    LabError if there is none, or if the file is damaged.
    """
    if "/" in name:
        return load_file(Path(name))
    for folder in folders():
        files = _files(folder, name)
        if files:
            return load_file(_nearest(files, longest))
    near = difflib.get_close_matches(name, names())
    raise LabError(f"{PREFIX}{name}: there is no such recording; "
                   + (f"near to it: {', '.join(near)}; " if near else "")
                   + "flashemu-lab list --recordings shows them")


def _files(folder: Path, name: str) -> dict[str, Path]:
    """The files of a recording in one folder by their LIMIT, "" for the one that says it itself."""
    files = {limit: folder / limit / (name + SUFFIX) for limit in ("", *LIMITS)}
    return {limit: path for limit, path in files.items() if path.is_file()}


def _limit(limit: str, path: Path) -> int:
    return int(quantity(limit) or 0) if limit else load_file(path).limit


def limits(recording: Recording) -> tuple[int, ...]:
    """Bytes of the longest request in each file of this recording, sorted."""
    folder = recording.path.parent
    found = _files(folder.parent if folder.name in LIMITS else folder, recording.name)
    return tuple(sorted({_limit(limit, path) for limit, path in found.items()}))


def _nearest(files: dict[str, Path], longest: int) -> Path:
    """The file whose limit is nearest to `longest` by ratio; the larger one of two that are as
    near.  The files are in the order of LIMITS, as in flashemu-replay(1)."""
    if not longest or len(files) == 1:
        return next(iter(files.values()))

    def distance(limit: str) -> tuple[float, int]:
        value = _limit(limit, files[limit])
        return max(value, longest) / max(1, min(value, longest)), -value
    return files[min(files, key=distance)]


def load_file(path: Path) -> Recording:
    """The recording in a file; LabError if there is none or it is damaged.  A file that nobody has
    written to since is read only once."""
    try:
        found = path.stat()
        if 0 <= time.time_ns() - found.st_mtime_ns < _TICK_NS:
            return parse(gzip.decompress(path.read_bytes()).decode(), path)
        return _load_file(path, found.st_ino, found.st_mtime_ns, found.st_size)
    except (EOFError, zlib.error, UnicodeDecodeError, gzip.BadGzipFile):
        raise LabError(f"{path}: is damaged") from None
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None


@functools.lru_cache(maxsize=None)
def _load_file(path: Path, inode: int, changed: int, size: int) -> Recording:
    return parse(gzip.decompress(path.read_bytes()).decode(), path)


def think_ns(recording: Recording, phase: Phase) -> int:
    """How long the recorded host thought in a phase; 0 if the recording has no think times."""
    lines = lines_of(gzip.decompress(recording.path.read_bytes()).decode())
    requests = [line for line in lines if line and not line.startswith("#")]
    return sum(int(line.partition(" think=")[2] or 0)
               for line in requests[phase.first:phase.last])


def parse(text: str, path: Path) -> Recording:
    """The recording whose file has this content; LabError if it is another one."""
    comments: dict[str, list[str]] = {}
    digest, paced = hashlib.sha256(), hashlib.sha256()
    in_front = True
    for line in lines_of(text):
        in_front = in_front and line.startswith("#")
        if in_front:
            key, _, value = line.removeprefix("# ").partition(": ")
            comments.setdefault(key, []).append(value)
            if key not in _DECIDES:
                continue
        paced.update(line.encode() + b"\n")
        digest.update(line.partition(" think=")[0].encode() + b"\n")
    try:
        found = {key: comments[key][-1] for key in _TEXTS}
        start, sectors = (int(word) for word in comments["partition"][-1].split())
        machine = comments.get("machine", [f"{SECONDS} {MEMORY}"])[-1]
        seconds, memory = (int(word) for word in machine.split())
        phases = []
        first = 0
        for value in comments["phase"]:
            name, last, size = value.split()
            phases.append(Phase(name, first, int(last), int(size)))
            first = int(last)
        return Recording(path.name.removesuffix(SUFFIX), path, found["filesystem"], found["work"],
                         found["mkfs"], found["mount"], found["kernel"], found["tools"],
                         int(found["limit"]), float(comments.get("scale", ["1"])[-1]),
                         comments.get("offers", [""])[-1], found["command"], seconds, memory,
                         int(comments["capacity"][-1]), start, sectors, tuple(phases),
                         digest.hexdigest(), paced.hexdigest() if "think" in comments else "")
    except (KeyError, ValueError):
        raise LabError(f"{path}: is not a recording of flashemu-lab") from None


@dataclass(frozen=True)
class Operand:
    """What rec:NAME[,start=SECTOR][,measure=PHASE][,pace=R] means.

    start    of the partition, in sectors
    measure  the phase that counts; "" if all do
    pace     how long the host thinks, in think times of the recorded one
    """

    recording: Recording
    start: int
    measure: str
    pace: Decimal


def operand(text: str, longest: int = 0) -> Operand:
    """The meaning of an operand for a device with this longest command, 0 for no device; LabError
    if it is wrong."""
    name, *options = text.removeprefix(PREFIX).split(",")
    recording = load(name, longest)
    start, measure, pace = recording.start, "", Decimal(0)
    for option in options:
        key, _, value = option.partition("=")
        if key == "start":
            start = _sector(text, value)
        elif key == "measure":
            measure = recording.phase(value).name
        elif key == "pace":
            pace = _pace(text, value, recording)
        else:
            raise LabError(f"{text}: '{option}': a recording takes start=SECTOR, measure=PHASE and "
                           "pace=R")
    return Operand(recording, start, measure, pace)


def identity(text: str, longest: int = 0) -> str:
    """What decides about the requests of an operand for a device with this longest command: the
    same text for operands that mean the same.  LabError if the operand is wrong."""
    found = operand(text, longest)
    known = f"{found.recording.sha256} start={found.start} measure={found.measure or 'all'}"
    return known + (f" pace={found.pace:f} of {found.recording.thinks}" if found.pace else "")


def _pace(text: str, value: str, recording: Recording) -> Decimal:
    known = re.fullmatch(r"\d+(\.\d{1,9}0*)?", value, re.ASCII)
    found = Decimal(value).normalize() if known else None
    if found is None or found > MAX_PACE:
        raise LabError(f"{text}: pace={value}: allowed: a decimal number from 0 to {MAX_PACE}")
    if found and not recording.thinks:
        raise LabError(f"{text}: {recording.path} was recorded without the host's think times; "
                       "make it again: flashemu-lab record")
    return found


def _sector(text: str, value: str) -> int:
    sector = whole(value)
    if sector is not None and sector < 1 << 55:
        return sector
    found = in_bytes(value)
    if sector is not None or found is None or found % SECTOR or found >= 1 << 62:
        raise LabError(f"{text}: start={value}: allowed: a sector, or a size in whole sectors "
                       "with its unit (4M)")
    return int(found) // SECTOR
