# SPDX-License-Identifier: BSD-3-Clause
"""Which program has printed a text: counters of the kernel, of sysstat, or of an eMMC.

Counters have sums and no requests: bytes a day, and at best the mean size of a write.  The shape of
the requests is assumed by whoever uses a reading.
"""

from __future__ import annotations

from pathlib import Path

from ..core.errors import LabError
from . import diskstats, extcsd, sysstat

_BEGINNING = 2**17  # bytes that show what it is
_SYSSTAT = b"\x96\xd5"  # the first bytes of sar's own files


def kind_of(text: str) -> str:
    """"diskstats", "iostat", "sar", "extcsd", or "" for anything else."""
    if extcsd.is_one(text):
        return "extcsd"
    return sysstat.kind_of(text) or ("diskstats" if diskstats.is_one(text) else "")


def _decoded(data: bytes) -> str:
    """Text in any of the encodings that people have; "" for anything else."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return "" if b"\0" in data else data.decode("utf-8-sig", "replace")


def text_of(path: Path) -> str:
    """The text of a file in which a machine has counted something; "" for anything else."""
    try:
        with path.open("rb") as file:
            data = file.read(_BEGINNING)
            data += file.read() if kind_of(_decoded(data)) else b""
    except OSError:
        return ""
    if data.startswith(_SYSSTAT):
        raise LabError(f"{path}: is a file of sar's own; sadf -d {path} -- -d prints it as text")
    text = _decoded(data)
    return text if kind_of(text[:_BEGINNING]) else ""
