# SPDX-License-Identifier: BSD-3-Clause
"""Standard output and standard error: what a locale cannot write there, and what the host refuses.

The lab writes narrow spaces between thousands, and names as users have given them.  A locale such
as de_DE.ISO-8859-1 has no narrow space, and a file's name need not be text at all.  Neither is a
reason to lose an answer that took an hour.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from typing import Any, Callable, Iterator, TextIO, cast

from .errors import LabError
from .units import NARROW_SPACE

_ERRORS = "flashemu-lab"  # the name of the handler below


def _instead(e: UnicodeError) -> tuple[str | bytes, int]:
    """For an encoder: a space for a narrow one, a byte of a file's name as it was, and ? for what
    else the locale has no character for."""
    if not isinstance(e, UnicodeEncodeError):
        raise e
    char = e.object[e.start]
    if 0xdc80 <= ord(char) <= 0xdcff:
        return bytes([ord(char) - 0xdc00]), e.start + 1
    return " " if char == NARROW_SPACE else "?", e.start + 1


def _leave_output() -> None:
    """What is left of standard output goes nowhere, so that the interpreter does not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as e:
        _leave_output()
        raise LabError(f"standard output: {e.strerror}") from None


class _Output:
    """Standard output; a LabError if the host does not take what is written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with _told():
            return self._stream.write(text)

    def flush(self) -> None:
        with _told():
            self._stream.flush()


@contextlib.contextmanager
def _prepared() -> Iterator[None]:
    """Standard output and standard error take every text meanwhile, and all has been written at the
    end."""
    codecs.register_error(_ERRORS, _instead)
    for stream in sys.stdout, sys.stderr:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)
    if sys.stdout is None:
        raise LabError("standard output: is closed")
    before = sys.stdout
    sys.stdout = cast(TextIO, _Output(before))
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    finally:
        sys.stdout = before


def run(perform: Callable[[], int]) -> int:
    """Performs a command and returns the exit code of the program: that of the command; that of a
    LabError, whose lines go to standard error; 0 if nobody reads the output any more; 130, after
    a line, if a signal came."""
    try:
        with _prepared():
            return perform()
    except LabError as e:
        for line in str(e).splitlines():
            print(f"flashemu-lab: {line}", file=sys.stderr)
        return e.code
    except BrokenPipeError:
        _leave_output()
        return 0
    except KeyboardInterrupt:
        print("flashemu-lab: interrupted", file=sys.stderr)
        return 130
