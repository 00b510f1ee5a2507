# SPDX-License-Identifier: BSD-3-Clause
"""Files that appear whole or not at all.

Devices and pipes, such as /dev/stdout, are written to as they are: a file that takes their place
would take them from everybody.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from .errors import LabError

_FULL_MODE = 0o666


def _there(path: Path) -> os.stat_result | None:
    """What the name leads to; None for nothing."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _in_place(path: Path, there: os.stat_result | None) -> BinaryIO | None:
    """An open file if this is none that may be replaced: a device, or the standard output, which
    may be a file that a shell has opened."""
    with suppress(OSError):  # nobody may have a standard output
        if there and os.path.samestat(there, os.fstat(1)):
            sys.stdout.flush()
            return open(os.dup(1), "wb")
    return path.open("wb") if there and not stat.S_ISREG(there.st_mode) else None


def _replace(path: Path, there: os.stat_result | None, data: bytes) -> None:
    """Through a file beside it, which keeps the mode of the old one."""
    mask = os.umask(0)
    os.umask(mask)
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.chmod(temporary, stat.S_IMODE(there.st_mode) if there else _FULL_MODE & ~mask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: str | bytes) -> None:
    """Replaces the file to which the name leads, or leaves it as it was; LabError if the host
    cannot write, or if a name in it came from bytes that are no UTF-8."""
    try:
        data = content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError as e:
        near = e.object[max(e.start - 20, 0):e.end + 20].splitlines()[0]
        raise LabError(f"{path}: would have a name that is not UTF-8: {near}") from None
    try:
        there = _there(path)
        special = _in_place(path, there)
        if special:
            with special:
                special.write(data)
        else:
            _replace(Path(os.path.realpath(path)), there, data)
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None


def can_write(path: Path) -> None:
    """LabError if `write_whole` could not write there: for what is known only after a long time."""
    try:
        there = _there(path)
        if there and stat.S_ISDIR(there.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not there or stat.S_ISREG(there.st_mode):
            with tempfile.TemporaryFile(dir=Path(os.path.realpath(path)).parent):
                pass
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None


def make_folder(folder: Path) -> None:
    """Makes a folder if it is not there; LabError if the host cannot."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise LabError(f"{folder}: {e.strerror}") from None
