# SPDX-License-Identifier: BSD-3-Clause
"""What power cuts have left: sums, sentences, a table, a page and JSON.

Cuts of the same profile, filesystem and workload are one group.  What counts first is what fsync
had confirmed.  The rest shows what a user who does not sync may hope for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import median
from typing import Any, Callable

from markupsafe import Markup

from ..core.errors import LabError
from ..core.json_text import loads, member, record, wrong
from ..core.text import counted, listed
from ..core.units import number
from ..recording.recipes import spelled
from ..report import charts, html
from ..report.page import document, grid
from ..runs.program import Outcome
from ..runs.run import Json
from .power_cuts import COUNTS, Cut, PROMISE, parse_id

_FORMAT = 1
_THINGS = {"files": "files", "log": "records", "database": "blocks"}


@dataclass(frozen=True)
class Group:
    """Sums over the cuts of one profile, filesystem and workload.

    counts    COUNTS by name
    mounts    device time of each mount in ns, with the repair if one was needed
    recovers  device time in ns that each device took to be ready after the power came back
    """

    name: tuple[str, str, str]
    cuts: int
    counts: dict[str, int]
    errors: int
    repaired: int
    unusable: int
    mounts: list[int]
    recovers: list[int]

    @property
    def things(self) -> str:
        """What is counted."""
        return _THINGS[self.name[2]]


@dataclass(frozen=True)
class Done:
    """A cut with its outcome: what is shown of it."""

    id: str
    writes: int
    key: str
    command: str
    outcome: Outcome

    @staticmethod
    def of(cut: Cut, outcome: Outcome) -> Done:
        """The cut as it is shown."""
        return Done(cut.id, cut.writes, cut.key(), cut.command(), outcome)

    @property
    def name(self) -> tuple[str, str, str]:
        """Profile, filesystem and workload."""
        return parse_id(self.id)[:3]


@dataclass(frozen=True)
class Crashed:
    """All cuts with their outcomes, in the order of the plan."""

    program: str
    rows: list[Done]

    def groups(self) -> list[Group]:
        """The groups in the order of the plan, of the cuts that have a result."""
        members: dict[tuple[str, str, str], list[Json]] = {}
        for done in self.rows:
            if done.outcome.result is not None:
                members.setdefault(done.name, []).append(done.outcome.result)
        return [_group(name, results) for name, results in members.items()]

    @property
    def failures(self) -> list[Done]:
        """The cuts without a result."""
        return [done for done in self.rows if done.outcome.result is None]


def _group(name: tuple[str, str, str], results: list[Json]) -> Group:
    def count(member: str, value: str) -> int:
        return sum(r[member] == value for r in results)
    return Group(name, len(results), {c: sum(r[c] for r in results) for c in COUNTS},
                 count("fsck", "errors"), count("mounted", "repaired"), count("mounted", "no"),
                 [r["mount_ns"] for r in results], [r["recover_ns"] for r in results])


def sentences(crashed: Crashed) -> list[str]:
    """The conclusion, the most important sentence first."""
    groups = crashed.groups()
    found = []
    bad = [g for g in groups if g.counts["lost"] + g.counts["wrong"] > 0]
    good = [g for g in groups if g not in bad and g.counts["synced"]]
    for g in bad:
        broken = ("; that breaks the promise of fsync" if g.name[1] in PROMISE else
                  ", although fsync had confirmed them")
        done = listed([f"{verb} {n}" for verb, n in (("lost", g.counts["lost"]),
                                                     ("damaged", g.counts["wrong"])) if n])
        found.append(f"{_who(g)} {done} of {g.counts['synced']} synced {g.things} in "
                     f"{counted(g.cuts, 'power cut')}{broken}.")
    if good:
        total = sum(g.counts["synced"] for g in good)
        cuts = sum(g.cuts for g in good)
        found.append(f"Nothing that fsync had confirmed was lost with {listed(_each(good))}: "
                     f"{total} files, records and blocks in {counted(cuts, 'power cut')}.")
    for g in groups:
        if g.repaired or g.unusable:
            how = listed([f"{words} {counted(n, 'time')}" for words, n in (
                ("only after a repair", g.repaired), ("not at all", g.unusable)) if n])
            found.append(f"{_who(g)} could be mounted {how} in "
                         f"{counted(g.cuts, 'power cut')}.")
    if groups:
        slow = max(groups, key=lambda g: max(g.mounts))
        found.append(f"The slowest mount took {_ms(max(slow.mounts))} ms of the device's time "
                     f"with {_who(slow)}.")
    if crashed.failures:
        first = crashed.failures[0]
        found.append(f"{len(crashed.failures)} of {len(crashed.rows)} cuts have no result. The "
                     f"first message: {first.id}: {first.outcome.message}.")
    return found


def _who(g: Group) -> str:
    return f"{spelled(g.name[1])} on {g.name[0]} ({g.name[2]})"


def _each(groups: list[Group]) -> list[str]:
    return [f"{spelled(fs)} on {profile}"
            for profile, fs in dict.fromkeys(g.name[:2] for g in groups)]


def _ms(ns: float) -> str:
    return number(ns / 1e6)


# Heading and cell of each column; the first three are words.
_COLUMNS: tuple[tuple[str, Callable[[Group], str]], ...] = (
    ("profile", lambda g: g.name[0]), ("filesystem", lambda g: spelled(g.name[1])),
    ("workload", lambda g: g.name[2]), ("cuts", lambda g: str(g.cuts)),
    ("synced", lambda g: str(g.counts["synced"])), ("lost", lambda g: str(g.counts["lost"])),
    ("damaged", lambda g: str(g.counts["wrong"])),
    ("not synced", lambda g: str(g.counts["unsynced"])),
    ("whole", lambda g: str(g.counts["whole"])), ("in part", lambda g: str(g.counts["part"])),
    ("gone", lambda g: str(g.counts["gone"])), ("other", lambda g: str(g.counts["bad"])),
    ("fsck errors", lambda g: str(g.errors)), ("repaired", lambda g: str(g.repaired)),
    ("unusable", lambda g: str(g.unusable)), ("mount ms", lambda g: _ms(median(g.mounts))),
    ("ready ms", lambda g: _ms(median(g.recovers))),
)


def to_text(crashed: Crashed) -> str:
    """The table and the conclusion for a terminal."""
    lines = [[head for head, _ in _COLUMNS]]
    lines += [[cell(g) for _, cell in _COLUMNS] for g in crashed.groups()]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
    text = ["  ".join(c.ljust(w) if i < 3 else c.rjust(w)
                      for i, (c, w) in enumerate(zip(line, widths))).rstrip() for line in lines]
    return "\n".join([*text, "", *sentences(crashed)]) + "\n"


def to_json(crashed: Crashed) -> str:
    """Everything, for programs."""
    return json.dumps({
        "format": _FORMAT, "kind": "crash", "program": crashed.program,
        "conclusion": sentences(crashed),
        "groups": [{"profile": g.name[0], "filesystem": g.name[1], "workload": g.name[2],
                    "cuts": g.cuts, **g.counts, "fsck_errors": g.errors, "repaired": g.repaired,
                    "unusable": g.unusable, "mount_ns": g.mounts, "recover_ns": g.recovers}
                   for g in crashed.groups()],
        "cuts": [{"id": d.id, "writes": d.writes, "key": d.key, "command": d.command,
                  "status": d.outcome.status, "result": d.outcome.result,
                  "message": d.outcome.message}
                 for d in crashed.rows]}, indent=1, ensure_ascii=False) + "\n"


def is_crash(text: str) -> bool:
    """Whether a results.json is one of power cuts."""
    try:
        value = loads(text, "")
    except LabError:
        return False
    return isinstance(value, dict) and value.get("kind") == "crash"


@dataclass(frozen=True)
class _CutInFile:
    """A cut as `to_json` writes it."""

    id: str
    writes: int
    key: str
    command: str
    status: str
    result: dict[str, Any] | None
    message: str


@dataclass(frozen=True)
class _File:
    """A file that `to_json` has made.  Members of type Any follow from the others."""

    format: int
    kind: str
    program: str
    conclusion: Any
    groups: Any
    cuts: tuple[_CutInFile, ...]


def from_json(text: str, path: str) -> Crashed:
    """What `to_json` has made; LabError if it is something else."""
    value = loads(text, path)
    try:
        if value.get("format") != _FORMAT:
            raise wrong("format", value.get("format"), str(_FORMAT))
        file = record(_File, value, "")
        return Crashed(file.program, [_done(c, f"cuts[{i}]") for i, c in enumerate(file.cuts)])
    except LabError as e:
        raise LabError(f"{path}: {e}") from None


def _done(cut: _CutInFile, path: str) -> Done:
    try:
        parse_id(cut.id)
    except LabError as e:
        raise LabError(f"{path}.id: {e}") from None
    if cut.result is not None:
        for name in (*COUNTS, "mount_ns", "recover_ns"):
            member(int, cut.result.get(name), f"{path}.result.{name}")
        for name in ("mounted", "fsck"):
            member(str, cut.result.get(name), f"{path}.result.{name}")
    return Done(cut.id, cut.writes, cut.key, cut.command,
                Outcome(cut.status, cut.result, cut.message))


def _percent(part: int, whole: int) -> float | None:
    """Of nothing there is no share, and none is drawn."""
    return 100 * part / whole if whole else None


def _bars(groups: list[Group], title: str, y_name: str, values: list[float | None]) -> str:
    """A bar for each filesystem, in a series for each device and workload."""
    systems = list(dict.fromkeys(g.name[1] for g in groups))
    lanes = list(dict.fromkeys((g.name[0], g.name[2]) for g in groups))
    known = {g.name: (v, f"{_who(g)}: {number(v)} {y_name}") for g, v in zip(groups, values)
             if v is not None}
    series = []
    for i, (profile, workload) in enumerate(lanes):
        cells = [known.get((profile, fs, workload)) for fs in systems]
        series.append(charts.Series(f"{profile}, {workload}", [c[0] if c else None for c in cells],
                                    [c[1] if c else "" for c in cells], i % 8))
    most = max(v for v in values if v is not None)
    return charts.bar_chart(charts.Chart(title, "filesystem", [spelled(fs) for fs in systems],
                                         y_name, series, False, 0, most))


def _table(heading: str, heads: list[str], rows: list[list[str]], words: int) -> Markup:
    """One click away; the first columns are words, the others numbers."""
    return html.part("fold", heading, html.table([(head, i >= words) for i, head in
                                                    enumerate(heads)], rows))


def to_page(crashed: Crashed) -> str:
    """A page that needs nothing else."""
    groups = crashed.groups()
    parts: list[Markup] = []
    drawn: list[str] = []
    if groups:
        figures: tuple[tuple[str, str, list[float | None]], ...] = (
            ("Synced, and yet lost or damaged", "% of what was synced",
             [_percent(g.counts["lost"] + g.counts["wrong"], g.counts["synced"]) for g in groups]),
            ("Not synced, and yet whole", "% of what was not synced",
             [_percent(g.counts["whole"], g.counts["unsynced"]) for g in groups]),
            ("Mounting again", "ms (median)", [median(g.mounts) / 1e6 for g in groups]))
        drawn = [_bars(groups, title, unit, values)
                 for title, unit, values in figures if any(values)]
        if drawn[1:]:
            parts.append(grid("More figures", drawn[1:]))
        parts.append(_table(
            "By device, filesystem and workload",
            [head for head, _ in _COLUMNS], [[cell(g) for _, cell in _COLUMNS] for g in groups], 3))
    rows = []
    for done in crashed.rows:
        result = done.outcome.result or {}
        rows.append([done.id, str(result.get("mounted", done.outcome.message)),
                     str(result.get("fsck", "-")), done.command, str(done.writes),
                     *(str(result.get(c, "-")) for c in COUNTS)])
    parts.append(_table(
        f"All {len(rows)} cuts",
        ["cut", "mounted", "fsck", "the command that does the cut again", "after writes",
         "synced", "lost", "damaged", "not synced", "whole", "in part", "gone", "other"], rows, 4))
    parts.append(html.part("fold", "How it was done", html.part("cuts", crashed.program)))
    return document("crash", "What does a power cut leave?",
                    "Files are written, the power fails, and the filesystem is mounted again.",
                    sentences(crashed), parts, drawn[0] if drawn else "")
