#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Works for `flashemu-lab crash --work NAME` without a filesystem, and what each of them promises.
A program of its own, which finds the device in $FLASHEMU_URI:

    plain.py run NAME      does it; each mark says what is promised from then on
    plain.py check NAME    0 if the marks in $FLASHEMU_MARKS are kept; else prints what is not

The names:

    log                records with a sum that are written behind each other, each of them flushed
    log-unsummed       the same, but a reader trusts each record that has begun
    updater            two slots and a pointer; the pointer is written when the new slot is flushed
    updater-unordered  the pointer is written first, and both are flushed together
    overwrite          a block that is overwritten with FUA; it is the old or the new one
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any, Callable

_SECTOR, _RECORD, _SLOT = 512, 6144, 16 << 10
_RECORDS, _VERSIONS, _BLOCKS = 24, 8, 24


def named() -> dict[str, str]:
    """The works by name, each in a sentence."""
    return dict(re.findall(r"^    ([a-z-]+)  +([a-z].*)$", (__doc__ or "").split("names:")[1],
                           re.MULTILINE))


def commands_of(name: str) -> tuple[str, str]:
    """What runs a work, and what checks it."""
    program = shlex.join([sys.executable, str(Path(__file__).resolve())])
    return f"{program} run {name}", f"{program} check {name}"


def _filled(number: int, size: int) -> bytes:
    """What a record, slot or block has: its number, other bytes each time, and their sum."""
    text = b"number %08d " % number
    body = text + bytes((number * 31 + i) % 251 for i in range(size - len(text) - 4))
    return body + zlib.crc32(body).to_bytes(4, "little")


class _Work:
    """A device, and what was promised so far."""

    def __init__(self) -> None:
        nbd: Any = importlib.import_module("nbd")
        self.failed: type[Exception] = nbd.Error
        self.device = nbd.NBD()
        self.device.connect_uri(os.environ["FLASHEMU_URI"])
        self.fua = nbd.CMD_FLAG_FUA

    def promise(self, number: int) -> None:
        """From now on, this number is promised."""
        subprocess.run([os.environ["FLASHEMU"], "ctl", os.environ["FLASHEMU_CONTROL"], "mark",
                        f"number {number}"], check=True, stdout=subprocess.DEVNULL)

    @staticmethod
    def promised() -> int:
        """The number that was promised last; 0 for none."""
        with open(os.environ["FLASHEMU_MARKS"], encoding="utf-8") as file:
            return int((file.read().split() or ["0"])[-1])


def _broken(text: str) -> None:
    print(text)
    sys.exit(1)


def _run_log(work: _Work) -> None:
    for i in range(1, _RECORDS + 1):
        work.device.pwrite(_filled(i, _RECORD), i * _RECORD)
        work.device.flush()
        work.promise(i)


def _check_log(work: _Work, trusts: bool) -> None:
    whole = 0
    for i in range(1, _RECORDS + 1):
        there = bytes(work.device.pread(_RECORD, i * _RECORD))
        if there == _filled(i, _RECORD):
            whole = i
            continue
        if trusts and there[:16] == _filled(i, _RECORD)[:16]:
            _broken(f"record {i} has begun and is not whole")
        break
    if whole < work.promised():
        _broken(f"record {work.promised()} was flushed, and {whole} are whole")


def _run_updater(work: _Work, ordered: bool) -> None:
    for i in range(1, _VERSIONS + 1):
        slot, pointer = (_filled(i, _SLOT), (1 + i % 2) * _SLOT), (_filled(i, _SECTOR), 0)
        first, second = (slot, pointer) if ordered else (pointer, slot)
        work.device.pwrite(*first)
        if ordered:
            work.device.flush()
        work.device.pwrite(*second)
        work.device.flush()
        work.promise(i)


def _check_updater(work: _Work) -> None:
    if not work.promised():
        return
    pointer = bytes(work.device.pread(_SECTOR, 0))
    starts = [i for i in range(work.promised(), _VERSIONS + 1) if pointer == _filled(i, _SECTOR)]
    if not starts:
        _broken(f"version {work.promised()} was installed, and no such one would start")
    if bytes(work.device.pread(_SLOT, (1 + starts[0] % 2) * _SLOT)) != _filled(starts[0], _SLOT):
        _broken(f"the slot of version {starts[0]} is not whole")


def _run_overwrite(work: _Work) -> None:
    for i in range(1, _BLOCKS + 1):
        work.device.pwrite(_filled(i, 4096), 8192, work.fua)
        work.promise(i)


def _check_overwrite(work: _Work) -> None:
    now, last = bytes(work.device.pread(4096, 8192)), work.promised()
    if last and now not in (_filled(last, 4096), _filled(last + 1, 4096)):
        _broken(f"block {last} was written with FUA, and neither it nor the next one is there")


_WORKS: dict[str, tuple[Callable[[_Work], None], Callable[[_Work], None]]] = {
    "log": (_run_log, lambda work: _check_log(work, False)),
    "log-unsummed": (_run_log, lambda work: _check_log(work, True)),
    "updater": (lambda work: _run_updater(work, True), _check_updater),
    "updater-unordered": (lambda work: _run_updater(work, False), _check_updater),
    "overwrite": (_run_overwrite, _check_overwrite),
}


def _do(what: str, name: str) -> None:
    work = _Work()
    try:
        _WORKS[name][what == "check"](work)
    except work.failed as e:
        sys.exit(f"{name}: {e}; the device has {work.device.get_size()} bytes")


if __name__ == "__main__":
    _do(*sys.argv[1:])
