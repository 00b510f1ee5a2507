# SPDX-License-Identifier: BSD-3-Clause
"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import LabError


def write_whole(path: Path, content: str | bytes) -> None:
    """Replaces the file, or leaves it as it was; LabError if the host cannot write, or if a name in
    it came from bytes that are no UTF-8."""
    temporary = None
    try:
        data = content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError as e:
        near = e.object[max(e.start - 20, 0):e.end + 20].splitlines()[0]
        raise LabError(f"{path}: would have a name that is not UTF-8: {near}") from None
    try:
        fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(fd, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as e:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise LabError(f"{path}: {e.strerror}") from None


def can_write(path: Path) -> None:
    """LabError if `write_whole` could not write there: for what is known only after a long time."""
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None


def make_folder(folder: Path) -> None:
    """Makes a folder if it is not there; LabError if the host cannot."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise LabError(f"{folder}: {e.strerror}") from None
