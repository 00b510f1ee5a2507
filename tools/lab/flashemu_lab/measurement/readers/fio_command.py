# SPDX-License-Identifier: BSD-3-Clause
"""The options of fio's jobs from what stands in front of its output: a command or a job file.

    $ fio --direct=1 --name=a --rw=read --bs=4k          [global]
                                                         direct=1
                                                         [a]
                                                         rw=read
                                                         bs=4k

A command that names a job file says nothing unless the file stands there, too.
"""

from __future__ import annotations

import re
import shlex

from .fio_options import KNOWN
from ..reader import Line

Jobs = dict[str, dict[str, str]]

_COMMAND = re.compile(r"(?:^|[\s;&|(/])fio\s+(.*)")
_SECTION = re.compile(r"\[([^\[\]=]{1,100})\]")
_OPTION = re.compile(r"([A-Za-z][\w-]{1,40})(?:\s*=\s*(.*?))?\s*(?:[;#].*)?")
# Options of the program, which have no value or say nothing about jobs.
_BARE = frozenset("minimal eta client group_reporting time_based stonewall thread norandommap "
                  "new_group unlink exitall showcmd append-terse readonly refill_buffers "
                  "zero_buffers scramble_buffers invalidate randrepeat".split())


def of_command(text: str) -> Jobs | None:
    """The jobs of a command; None if the text is no such command; {} if their options are in a
    file."""
    match = _COMMAND.search(text)
    if not match or not re.search(r"(?:^|\s)--\w|\.(?:fio|job|ini)\b", match[1]):
        return None
    if re.fullmatch(r"\s*--(?:version|help|enghelp\S*|cmdhelp\S*|parse-only)\s*", match[1]):
        return None
    try:
        words = shlex.split(match[1].partition(" 2>")[0], comments=False)
    except ValueError:
        words = match[1].split()
    everywhere: dict[str, str] = {}
    jobs: Jobs = {}
    job, at, files = everywhere, 0, False
    while at < len(words):
        word, at = words[at], at + 1
        if word in ("|", ">", ">>", "&&", ";", "&", "||") or word.startswith((">", "2>")):
            break
        if not word.startswith("--"):
            files = files or not word.startswith("-")
            continue
        key, equals, value = word[2:].partition("=")
        if not equals and at < len(words) and not words[at].startswith("-") and key not in _BARE:
            value, at = words[at], at + 1
        if key == "name":
            job = everywhere if value == "global" else jobs.setdefault(value, {})
            continue
        job.pop(key, None)
        job[key] = value or "1"
    if files or not (jobs or everywhere):
        return {}
    jobs = jobs or {"fio": {}}
    return {name: {**everywhere, **options} for name, options in jobs.items()}


class JobFile:
    """A job file whose lines stand in a log."""

    def __init__(self) -> None:
        self._jobs: Jobs = {}
        self._everywhere: dict[str, str] = {}
        self._job: dict[str, str] | None = None

    def take(self, line: Line) -> bool:
        """Whether the line belongs to a job file."""
        text = line.text
        if match := _SECTION.fullmatch(text):
            if match[1] == "global":
                self._job = self._everywhere
            else:
                self._job = self._jobs[match[1]] = dict(self._everywhere)
            return True
        if self._job is None:
            return False
        match = _OPTION.fullmatch(text)
        if match and match[1] in KNOWN:
            self._job.pop(match[1], None)
            self._job[match[1]] = (match[2] or "1").strip()
            return True
        if match and match[2] is not None and not text.endswith(")"):
            self._job[match[1]] = match[2].strip()      # it refuses its job
            return True
        self._job = None
        return False

    def jobs(self) -> Jobs:
        """All jobs that have options, and forgets them."""
        found, self._jobs, self._everywhere, self._job = self._jobs, {}, {}, None
        return {name: options for name, options in found.items() if options}
