# SPDX-License-Identifier: BSD-3-Clause
"""fio, in all forms in which it prints what it has measured.

One call may print several of them (--output-format=normal,json), and people paste a log twice.  So
the results are collected, and each call counts once: the JSON says most, then the normal output.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping

from .fio_command import JobFile, Jobs, of_command
from .fio_jobs import Call, repeats, settle
from .fio_json import calls_in
from .fio_terse import section_of
from .fio_text import TextParser
from ..reader import Document, Line, Sink

_RANKS = ("json", "text", "terse")


class FioReader:
    """Reads fio.  `said` are options that hold where a log does not say them; `used` tells at the
    end whether any job needed them."""

    def __init__(self, said: Mapping[str, str]) -> None:
        self.used = False
        self._said = said
        self._text = TextParser()
        self._file = JobFile()
        self._filed: Jobs = {}
        self._calls: list[Call] = []

    def take(self, line: Line, sink: Sink) -> bool:
        """As for reader.Reader."""
        jobs = of_command(line.text)
        if jobs is not None:
            self._text.close()
            self._text.jobs = jobs or self._file.jobs() or self._filed
            return True
        if self._file.take(line):
            return True
        if found := self._file.jobs():
            self._text.close()
            self._text.jobs = self._filed = found
        if section := section_of(line):
            self._calls.append(Call("terse", [section]))
            return True
        return self._text.take(line, sink)

    def document(self, found: Document, sink: Sink) -> bool:
        """As for reader.Reader."""
        calls = calls_in(found)
        for call in calls:
            call.sections = [s if s.options is not None or s.name not in self._text.jobs else
                             replace(s, options=self._text.jobs[s.name]) for s in call.sections]
        self._calls += calls
        return bool(calls)

    def end(self, sink: Sink) -> None:
        """As for reader.Reader."""
        self._text.close()
        every = self._together(self._calls) + self._text.calls
        for i, call in enumerate(every):
            others = [other for k, other in enumerate(every) if
                      (other.form == call.form and k < i) or
                      _RANKS.index(other.form) < _RANKS.index(call.form)]
            if not repeats(call, others):
                self.used = settle(call, self._said, sink) or self.used

    def _together(self, calls: list[Call]) -> list[Call]:
        """The same with as many lines of terse output in a call as processes are said to have run
        at the same time.  If nobody says so, each line is a call."""
        text = self._said.get("numjobs", "1")
        count = int(text) if text.isdigit() and len(text) < 6 else 1
        found: list[Call] = []
        for call in calls:
            last = found[-1] if found else None
            if last and last.form == call.form == "terse" and len(last.sections) < count and \
                    last.sections[0].name == call.sections[0].name:
                last.sections += call.sections
            else:
                found.append(call)
        return found
