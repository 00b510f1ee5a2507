# SPDX-License-Identifier: BSD-3-Clause
"""How far a command is, for people in front of a terminal."""

from __future__ import annotations

import sys
import time


class _Line:
    """One line on standard error that is written over; nothing if that is no terminal, or if nobody
    wants to see it."""

    _quiet = False

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._on = sys.stderr.isatty() and not _Line._quiet

    def _write(self, text: str) -> None:
        if self._on:
            sys.stderr.write(f"\r{text}\033[K")
            sys.stderr.flush()

    def end(self) -> None:
        """Removes the line."""
        self._write("")


def be_quiet(quiet: bool) -> None:
    """Whether nobody wants to see lines from now on."""
    _Line._quiet = quiet


class Progress(_Line):
    """How many runs are done, and how long the others may take."""

    def __init__(self, total: int) -> None:
        super().__init__()
        self._total = total
        self._shown = 0.0

    def show(self, done: int, stored: int) -> None:
        """`done` of all runs have a result, of which `stored` were there before."""
        now = time.monotonic()
        if not self._on or (now - self._shown < 0.1 and done < self._total):
            return
        self._shown = now
        text = f"{done} of {self._total} runs"
        if stored:
            text += f" ({stored} stored)"
        fresh = done - stored
        if fresh and done < self._total:
            left = (now - self._begin) / fresh * (self._total - done)
            text += f", {int(left) // 60}:{int(left) % 60:02} left"
        self._write(text)


class Note(_Line):
    """What is being done, and for how long already."""

    def show(self, what: str, state: str) -> None:
        """`what` has come as far as `state`."""
        self._write(f"{what}: {state}, {int(time.monotonic() - self._begin)} s")
