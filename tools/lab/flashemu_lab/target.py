# SPDX-License-Identifier: BSD-3-Clause
"""A device that is measured from outside: a block device of this machine, or an NBD server.

Both read and write past the host's cache, with one request in flight.  Before anything is written,
a block device has to pass `refuse_in_use`: probing destroys what is on it.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import mmap
import os
import re
import socket
import stat
import struct
import time
from pathlib import Path
from typing import Any, Callable, Protocol

from .errors import LabError, quantity

LONGEST = 32 << 20      # bytes of a request
_BLKGETSIZE64, _BLKROGET, _BLKSSZGET = 0x80081272, 0x125E, 0x1268


class Target(Protocol):
    """An open device.

    name      as the user wrote it
    capacity  bytes
    sector    bytes; offsets and lengths are multiples of it
    serial    "" if it has none
    host      what is known about the way to it
    """

    name: str
    capacity: int
    sector: int
    serial: str
    host: str

    def read(self, offset: int, length: int) -> None:
        """OSError if the device cannot."""

    def write(self, offset: int, length: int) -> None:
        """Writes noise; OSError if the device cannot."""

    def close(self) -> None:
        """Ends the connection."""


class BlockTarget:
    """A block device, with O_DIRECT.  With `writable` it is opened for this program alone."""

    def __init__(self, path: str, writable: bool) -> None:
        self.name = path
        flags = (os.O_RDWR | os.O_EXCL if writable else os.O_RDONLY) | os.O_DIRECT
        try:
            if not stat.S_ISBLK(os.stat(path).st_mode):
                raise LabError(f"{path}: is no block device and no NBD URI")
            self._fd = os.open(path, flags)
        except OSError as e:
            raise LabError(f"{path}: {e.strerror}") from None
        self.capacity = struct.unpack("Q", fcntl.ioctl(self._fd, _BLKGETSIZE64, bytes(8)))[0]
        self.sector = struct.unpack("I", fcntl.ioctl(self._fd, _BLKSSZGET, bytes(4)))[0]
        if writable and struct.unpack("I", fcntl.ioctl(self._fd, _BLKROGET, bytes(4)))[0]:
            os.close(self._fd)
            raise LabError(f"{path}: is read-only; allowed: --read-only")
        self.serial, self.host = _identity(path)
        self._buffer = mmap.mmap(-1, LONGEST)       # aligned, as O_DIRECT demands
        self._buffer[:] = _noise()
        self._view = memoryview(self._buffer)

    def read(self, offset: int, length: int) -> None:
        if os.preadv(self._fd, [self._view[:length]], offset) != length:
            raise OSError(5, "the device ends early")

    def write(self, offset: int, length: int) -> None:
        if os.pwritev(self._fd, [self._view[:length]], offset) != length:
            raise OSError(5, "the device ends early")

    def close(self) -> None:
        os.close(self._fd)


class NbdTarget:
    """A server, through libnbd."""

    def __init__(self, uri: str, writable: bool) -> None:
        self.name, self.serial, self.host = uri, "", "NBD"
        try:
            nbd: Any = importlib.import_module("nbd")
        except ImportError:
            raise LabError(f"{uri}: there is no Python module nbd (Debian: python3-libnbd)"
                           ) from None
        self._error = nbd.Error
        self._handle = nbd.NBD()
        try:
            self._handle.connect_uri(uri)
            self.capacity = int(self._handle.get_size())
            self.sector = max(512, int(self._handle.get_block_size(nbd.SIZE_MINIMUM)))
            read_only = bool(self._handle.is_read_only())
        except nbd.Error as e:
            raise LabError(f"{uri}: {e.string}") from None
        if writable and read_only:
            raise LabError(f"{uri}: is read-only; allowed: --read-only")
        self._noise = _noise()

    def read(self, offset: int, length: int) -> None:
        self._call(self._handle.pread, length, offset)

    def write(self, offset: int, length: int) -> None:
        self._call(self._handle.pwrite, self._noise[:length], offset)

    def close(self) -> None:
        try:
            self._handle.shutdown()
        except self._error:
            pass

    def _call(self, function: Callable[..., object], *words: object) -> None:
        try:
            function(*words)
        except self._error as e:
            raise OSError(e.errnum or 5, e.string) from None


def _noise() -> bytes:
    return os.urandom(1 << 20) * (LONGEST >> 20)


def open_target(name: str, writable: bool, sys_folder: Path = Path("/sys")) -> Target:
    """The device; LabError if it cannot be opened, or must not be."""
    if re.match(r"nbd(s?)(\+\w+)?:", name):
        return NbdTarget(name, writable)
    if writable:
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


# --- what must not be written to ---

def _folder(path: str, sys_folder: Path) -> Path:
    """The device's folder in /sys."""
    try:
        number = os.stat(path).st_rdev
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None
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

class DeviceClock:
    """The time in which the emulated device was busy, from the control socket of its server."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(path)
        except OSError as e:
            raise LabError(f"--device-time {path}: {e.strerror}") from None
        self._file = self._socket.makefile("r", encoding="utf-8")

    def __call__(self) -> int:
        """ns since the server's start."""
        try:
            self._socket.sendall(b'{"cmd":"stats"}\n')
            answer = json.loads(self._file.readline())
            return int(answer["busy_ns"])
        except (OSError, ValueError, KeyError, TypeError):
            raise LabError(f"--device-time {self._path}: the server does not answer with its "
                           "time", 1) from None


Clock = Callable[[], int]
wall_clock: Clock = time.monotonic_ns
