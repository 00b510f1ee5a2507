# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C and SIGTERM: they end what is running, but not between two steps that belong together."""

from __future__ import annotations

import contextlib
import signal
from types import FrameType
from typing import Iterator


class _State:
    held = 0
    pending = False


def _stop(number: int, frame: FrameType | None) -> None:
    if _State.held:
        _State.pending = True
    else:
        raise KeyboardInterrupt


def catch() -> None:
    """From now on SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt in the main thread."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)


@contextlib.contextmanager
def hold() -> Iterator[None]:
    """A signal that arrives in this block raises at its end.  The block must be short."""
    _State.held += 1
    try:
        yield
    finally:
        _State.held -= 1
    if _State.pending and not _State.held:
        _State.pending = False
        raise KeyboardInterrupt
