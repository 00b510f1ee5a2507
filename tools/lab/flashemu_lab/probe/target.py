# SPDX-License-Identifier: BSD-3-Clause
"""A device that is measured from outside: a block device of this machine, or an NBD server.

Both read and write past the host's cache.  A block device has to pass `refuse_in_use`, because
probing destroys what is on it, and times of a device that others use as well are not its own.

Each sector that is written begins with a mark, so a later read tells whether it finds what was
written there, what was written somewhere else, or neither:

    | number of this run, 8 bytes | address, 8 bytes | noise, 496 bytes |
"""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import re
import socket
import stat
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Protocol, Sequence

import numpy as np
import numpy.typing as npt

from ..core.errors import LabError, module
from ..core.units import quantity

LONGEST = 32 << 20      # bytes of a request
SILENCE_S = 30.0        # a device that takes longer for a read or write hangs, as for Linux
_SECTOR = 512
_BLKGETSIZE64, _BLKROGET, _BLKSSZGET, _BLKDISCARD = 0x80081272, 0x125E, 0x1268, 0x1277


class Marks:
    """What is written: noise, with a mark in each sector."""

    def __init__(self, buffer: memoryview | bytearray) -> None:
        buffer[:] = os.urandom(1 << 20) * (LONGEST >> 20)
        self._words: npt.NDArray[np.uint64] = np.frombuffer(buffer, np.uint64).reshape(
            -1, _SECTOR // 8)
        self.run = int.from_bytes(os.urandom(8), "little") | 1
        self._steps = np.arange(LONGEST // _SECTOR, dtype=np.uint64) * np.uint64(_SECTOR)

    def stamp(self, offset: int, length: int) -> None:
        """Marks the first `length` bytes of the buffer for this address."""
        sectors = length // _SECTOR
        self._words[:sectors, 0] = self.run
        self._words[:sectors, 1] = self._steps[:sectors] + np.uint64(offset)

    def seen(self, data: bytes | bytearray | memoryview) -> int | str:
        """What a sector has: the address for which this run has written it, "zeros", "ones" (all
        bits) or "other"."""
        run, address = struct.unpack_from("<QQ", data)
        if run == self.run:
            return int(address)
        sector = bytes(data[:_SECTOR])
        return "zeros" if not any(sector) else "ones" if sector == b"\xff" * _SECTOR else "other"


class Target(Protocol):
    """An open device.

    name      as the user wrote it
    capacity  bytes
    sector    bytes; offsets and lengths are multiples of it
    serial    "" if it has none
    host      what is known about the way to it
    can_trim  whether it offers TRIM
    """

    name: str
    capacity: int
    sector: int
    serial: str
    host: str
    can_trim: bool
    _marks: Marks
    _read: bytearray | memoryview   # what was read last

    def read(self, offset: int, length: int) -> None:
        """OSError if the device cannot, or does not answer for `SILENCE_S`."""

    def look(self, offset: int, length: int) -> int | str:
        """A read, and what its first sector has: an address (what this run has written for it),
        "zeros", "ones" or "other"."""
        self.read(offset, length)
        return self._marks.seen(self._read)

    def write(self, offset: int, length: int) -> None:
        """Writes marked noise; OSError as for a read."""
        self._marks.stamp(offset, length)
        self._put(offset, length)

    def _put(self, offset: int, length: int) -> None:
        """Writes what is marked for this address."""

    def flush(self) -> bool:
        """What was written is safe; nothing, and False, if the device has no such command."""

    def trim(self, offset: int, length: int) -> None:
        """TRIM; OSError if the device cannot."""

    def burst(self, writes: bool, places: Sequence[tuple[int, int]],
              depth: int) -> list[tuple[int, int]]:
        """Reads or writes (offset, length) each, with `depth` of them in flight; when each began
        and ended, in ns of this machine."""

    def close(self) -> None:
        """Ends the connection."""


# What helps if a device cannot be opened.
_CURES = {
    errno.EACCES: "; root may open it (sudo), and so may the group that ls -l shows",
    errno.ENOENT: "; lsblk lists the devices",
    errno.EBUSY: "; unmount it first, as findmnt shows it",
}


class BlockTarget(Target):
    """A block device, with O_DIRECT.  With `writable` it is opened for this program alone."""

    def __init__(self, path: str, writable: bool) -> None:
        self.name = path
        flags = (os.O_RDWR | os.O_EXCL if writable else os.O_RDONLY) | os.O_DIRECT
        try:
            self._fd = os.open(path, flags)
        except OSError as e:
            raise LabError(f"{path}: {e.strerror}{_CURES.get(e.errno or 0, '')}") from None
        self.capacity = struct.unpack("Q", fcntl.ioctl(self._fd, _BLKGETSIZE64, bytes(8)))[0]
        self.sector = struct.unpack("I", fcntl.ioctl(self._fd, _BLKSSZGET, bytes(4)))[0]
        if writable and struct.unpack("I", fcntl.ioctl(self._fd, _BLKROGET, bytes(4)))[0]:
            os.close(self._fd)
            raise LabError(f"{path}: is read-only; allowed: --read-only")
        self.serial, self.host = _identity(path)
        most = _content(_folder(path, Path("/sys")) / "queue/discard_max_bytes")
        self.can_trim = writable and most.isdigit() and int(most) > 0
        self._view = memoryview(mmap.mmap(-1, LONGEST))     # aligned, as O_DIRECT demands
        self._marks = Marks(self._view)
        self._read = memoryview(mmap.mmap(-1, LONGEST))

    def read(self, offset: int, length: int) -> None:
        if os.preadv(self._fd, [self._read[:length]], offset) != length:
            raise OSError(errno.EIO, "the device ends early")

    def _put(self, offset: int, length: int) -> None:
        if os.pwritev(self._fd, [self._view[:length]], offset) != length:
            raise OSError(errno.EIO, "the device ends early")

    def flush(self) -> bool:
        os.fsync(self._fd)
        return True

    def trim(self, offset: int, length: int) -> None:
        fcntl.ioctl(self._fd, _BLKDISCARD, struct.pack("QQ", offset, length))

    def burst(self, writes: bool, places: Sequence[tuple[int, int]],
              depth: int) -> list[tuple[int, int]]:
        one = self._put if writes else self.read

        def timed(place: tuple[int, int]) -> tuple[int, int]:
            begin = time.monotonic_ns()
            one(*place)
            return begin, time.monotonic_ns()
        with ThreadPoolExecutor(depth) as threads:
            return list(threads.map(timed, places))

    def close(self) -> None:
        os.close(self._fd)


class NbdTarget(Target):
    """A server, through libnbd."""

    def __init__(self, uri: str, writable: bool) -> None:
        self.name, self.serial, self.host = uri, "", "NBD"
        nbd = module("nbd", "python3-libnbd", uri)
        self._error = nbd.Error
        self._buffer = nbd.Buffer
        self._handle = nbd.NBD()
        self._silent = False
        try:
            self._handle.connect_uri(uri)
            self.capacity = int(self._handle.get_size())
            self.sector = max(_SECTOR, int(self._handle.get_block_size(nbd.SIZE_MINIMUM)))
            read_only = bool(self._handle.is_read_only())
            self.can_trim = writable and bool(self._handle.can_trim())
            self._can_flush = bool(self._handle.can_flush())
        except nbd.Error as e:
            raise LabError(f"{uri}: {e.string}") from None
        if writable and read_only:
            raise LabError(f"{uri}: is read-only; allowed: --read-only")
        self._noise, self._read = bytearray(LONGEST), bytearray(LONGEST)
        self._marks = Marks(self._noise)
        self._parts: dict[tuple[bool, int], Any] = {}

    def read(self, offset: int, length: int) -> None:
        self._whole(self._handle.aio_pread, self._part(False, length), offset)

    def _put(self, offset: int, length: int) -> None:
        self._whole(self._handle.aio_pwrite, self._part(True, length), offset)

    def flush(self) -> bool:
        if self._can_flush:
            self._whole(self._handle.aio_flush)
        return self._can_flush

    def trim(self, offset: int, length: int) -> None:
        self._whole(self._handle.aio_trim, length, offset)

    def burst(self, writes: bool, places: Sequence[tuple[int, int]],
              depth: int) -> list[tuple[int, int]]:
        flying: list[int] = []
        seen: dict[int, tuple[int, int]] = {}   # by the number of the request, in their order
        one = self._handle.aio_pwrite if writes else self._handle.aio_pread

        def land() -> None:
            before = list(flying)
            self._land(flying)
            now = time.monotonic_ns()
            seen.update({n: (seen[n][0], now) for n in before if n not in flying})
        for offset, length in places:
            while len(flying) >= depth:
                land()
            begin = time.monotonic_ns()
            flying.append(self._start(one, self._part(writes, length), offset))
            seen[flying[-1]] = begin, begin
        while flying:
            land()
        return list(seen.values())

    def close(self) -> None:
        if self._silent:        # it would be waited for
            return
        try:
            self._handle.shutdown()
        except self._error:
            pass

    def _part(self, writes: bool, length: int) -> Any:
        """The first bytes of what is written, or of what is read, as libnbd wants them.  libnbd
        1.14 keeps a reference to the buffer of each request for ever, so all requests of a length
        share one."""
        if (writes, length) not in self._parts:
            whole = memoryview(self._noise if writes else self._read)
            self._parts[writes, length] = self._buffer.from_buffer(whole[:length])
        return self._parts[writes, length]

    def _whole(self, function: Callable[..., int], *words: object) -> None:
        """One request from its start to its end."""
        flying = [self._start(function, *words)]
        while flying:
            self._land(flying)

    def _start(self, function: Callable[..., int], *words: object) -> int:
        """The number of a request that was sent."""
        try:
            return function(*words)
        except self._error as e:
            raise OSError(e.errnum or errno.EIO, e.string) from None

    def _land(self, flying: list[int]) -> None:
        """Waits, and takes what is done from the list; OSError if the device is silent."""
        end = time.monotonic() + SILENCE_S
        try:
            while True:
                done = [n for n in flying if self._handle.aio_command_completed(n)]
                if done:
                    break
                if self._handle.poll(max(int((end - time.monotonic()) * 1000), 0)) == 0 and \
                        time.monotonic() >= end:
                    self._silent = True
                    raise silent(SILENCE_S)
        except self._error as e:
            raise OSError(e.errnum or errno.EIO, e.string) from None
        flying[:] = [n for n in flying if n not in done]


def silent(seconds: float) -> OSError:
    """The error of a device that did not answer for so long."""
    return OSError(errno.ETIMEDOUT, f"the device did not answer for {seconds:.0f} s")


def open_target(name: str, writable: bool, sys_folder: Path = Path("/sys")) -> Target:
    """The device; LabError if it cannot be opened, or must not be."""
    if re.match(r"nbd(s?)(\+\w+)?:", name):
        return NbdTarget(name, writable)
    if not stat.S_ISBLK(_stat(name).st_mode):
        raise LabError(f"{name}: is no block device and no NBD URI")
    refuse_in_use(name, sys_folder, Path("/proc/self/mountinfo"), Path("/proc/swaps"))
    return BlockTarget(name, writable)


def allow_destroying(target: Target, word: str) -> None:
    """LabError unless the user has typed the size or the serial number of this device."""
    allowed = f"--destroy {target.capacity}"
    if target.serial:
        allowed += f" or --destroy {target.serial}"
    if not word:
        raise LabError(f"{target.name}: probing destroys what is on it; allowed: {allowed}, or "
                       "--read-only")
    if word != target.serial and quantity(word) != target.capacity:
        raise LabError(f"--destroy {word}: is not this device; allowed: {allowed}")


# --- what must not be probed ---

def _stat(path: str) -> os.stat_result:
    try:
        return os.stat(path)
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}{_CURES.get(e.errno or 0, '')}") from None


def _folder(path: str, sys_folder: Path) -> Path:
    """The device's folder in /sys."""
    number = _stat(path).st_rdev
    return sys_folder / "dev/block" / f"{os.major(number)}:{os.minor(number)}"


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _identity(path: str) -> tuple[str, str]:
    """Serial number and the way to the device, as far as /sys knows them."""
    folder = _folder(path, Path("/sys")).resolve()
    for place in (folder / "device", *folder.parents):
        serial = _content(place / "serial")
        if serial:
            break
    model = " ".join(filter(None, (_content(folder / "device" / n) for n in ("vendor", "model",
                                                                              "name"))))
    return serial, model or folder.name


def refuse_in_use(path: str, sys_folder: Path, mounts: Path, swaps: Path) -> None:
    """LabError if the device is mounted, used by something else, a partition, or no medium that
    can be taken out.  Loop and network block devices count as such media."""
    folder = _folder(path, sys_folder).resolve()
    if not (folder / "dev").exists():
        raise LabError(f"{path}: is not in {sys_folder}, so nobody knows whether it is in use")
    if (folder / "partition").exists():
        raise LabError(f"{path}: is a partition; allowed: the whole device")
    parts = [folder, *(part for part in folder.iterdir() if (part / "partition").exists())]
    numbers = {_content(part / "dev"): part.name for part in parts}
    for line in _content(mounts).splitlines():
        words = line.split()
        if len(words) > 4 and words[2] in numbers:
            raise LabError(f"{path}: {numbers[words[2]]} is mounted at {words[4]}; allowed: a "
                           "device that is not in use")
    for part in parts:
        holders = part / "holders"
        for holder in holders.iterdir() if holders.is_dir() else ():
            raise LabError(f"{path}: {part.name} is used by {holder.name}; allowed: a device that "
                           "is not in use")
        if any(line.split()[0] == f"/dev/{part.name}" for line in _content(swaps).splitlines()
               if line):
            raise LabError(f"{path}: {part.name} is used for swapping; allowed: a device that is "
                           "not in use")
    way = str(folder)
    removable = _content(folder / "removable") == "1" or "/usb" in way or \
        (folder.name.startswith("mmc") and _content(folder / "device/type") == "SD")
    if not removable and not re.fullmatch(r"(loop|nbd)\d+", folder.name):
        raise LabError(f"{path}: is not removable; allowed: a USB stick, a card, a loop device or "
                       "a network block device")


# --- clocks ---

class Clock(Protocol):
    """Which time counts.

    stands_still  it does not move between two requests, so it need not be read twice
    in_turn       requests are answered one after the other, however many are in flight
    """

    stands_still: bool
    in_turn: bool

    def now(self) -> int:
        """ns since some moment."""

    def rest(self, ns: int) -> None:
        """Leaves the device alone for so long."""


class WallClock:
    """The time of this machine."""

    stands_still = in_turn = False

    def now(self) -> int:
        return time.monotonic_ns()

    def rest(self, ns: int) -> None:
        time.sleep(ns / 1e9)


class DeviceClock:
    """The time in which the emulated device was busy, from the control socket of its server."""

    stands_still = True

    def __init__(self, path: str) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(path)
        except OSError as e:
            raise LabError(f"--device-time {path}: {e.strerror}") from None
        self._file = self._socket.makefile("r", encoding="utf-8")
        self.in_turn = self._ask("get", "clock").get("value") == "virtual"

    def now(self) -> int:
        busy = self._ask("stats").get("busy_ns")
        if not isinstance(busy, int):
            raise self._silent()
        return busy

    def rest(self, ns: int) -> None:
        self._ask("idle", f"{ns}ns")

    def _ask(self, command: str, *words: str) -> dict[str, object]:
        try:
            self._socket.sendall(json.dumps({"cmd": command, "args": words}).encode() + b"\n")
            answer = json.loads(self._file.readline())
        except (OSError, ValueError):
            raise self._silent() from None
        if not isinstance(answer, dict) or answer.get("ok") is not True:
            raise self._silent()
        return answer

    def _silent(self) -> LabError:
        return LabError(f"--device-time {self._path}: the server does not answer with its time", 1)
