# SPDX-License-Identifier: BSD-3-Clause
"""How far a command is, for people in front of a terminal."""

from __future__ import annotations

import sys
import time


class Progress:
    """One line on standard error that is written over; nothing if that is no terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._begin = time.monotonic()
        self._shown = 0.0
        self._on = sys.stderr.isatty()

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
        sys.stderr.write(f"\r{text}\033[K")
        sys.stderr.flush()

    def end(self) -> None:
        """Removes the line."""
        if self._on:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class Note:
    """One line on standard error that says what is being done; nothing if that is no terminal."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._on = sys.stderr.isatty()

    def show(self, what: str, state: str) -> None:
        """`what` has come as far as `state`."""
        if self._on:
            seconds = int(time.monotonic() - self._begin)
            sys.stderr.write(f"\r{what}: {state}, {seconds} s\033[K")
            sys.stderr.flush()

    def end(self) -> None:
        """Removes the line."""
        if self._on:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
