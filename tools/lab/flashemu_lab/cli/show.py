# SPDX-License-Identifier: BSD-3-Clause
"""What commands print for people."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from dataclasses import asdict
from typing import Sequence

from ..advise import filesystems
from ..advise.workloads import ABOUT, WORKLOADS
from ..core.units import alike
from ..experiment.ensemble.agreement import Ranges, ranges, split
from ..experiment.choice import paste
from ..experiment.conclusion import conclusion
from ..experiment.replay_accuracy import Sample, percent
from ..experiment.spec import Experiment
from ..experiment.table import Row, Table
from ..life import asked
from ..recording import recordings
from ..recording.recordings import Recording
from ..runs.run import Json

# More rows than this are not printed; -o and --json have all of them.
MOST_ROWS = 60


def _wrapped(text: str, width: int = 78, indent: int = 0) -> list[str]:
    """Lines of a text, all but the first one behind so many blanks.  Names such as "ext4-log" stay
    whole."""
    return textwrap.wrap(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def runs(e: Experiment) -> int:
    """How many runs an experiment has."""
    return math.prod(len(f.levels) for f in e.factors)


def describe(e: Experiment, stored: int) -> str:
    """An experiment in words; `stored` of its runs have a result already."""
    parts = [e.title, ""]
    if e.question:
        parts += [*_wrapped(e.question), ""]
    for f in e.factors:
        parts += _wrapped(f"{f.name:<20} {', '.join(f.levels)}", indent=21)
    parts += ["", f"{'device':<20} {' '.join((e.profile, *e.settings)).strip()}"]
    if e.warmup:
        parts.append(f"{'before it counts':<20} {e.warmup}")
    parts.append(f"{'requests':<20} {' '.join(e.requests)}")
    for m in e.measures:
        parts.append(f"{'measured':<20} {m.label} = {m.value}")
    parts += ["", f"{runs(e)} runs, of which {stored} are stored."]
    if e.notes:
        parts += ["", *_wrapped(e.notes)]
    return "\n".join(parts) + "\n"


def _column(shown: Sequence[Row], measure: str, spread: Ranges) -> list[str]:
    """The values of rows, which are alike, each with its spread."""
    told = alike([row.values.get(measure) for row in shown])
    for i, row in enumerate(shown):
        if row.levels in spread and row.values.get(measure) is not None:
            told[i] += " ({} to {})".format(*alike(spread[row.levels]))
    return told


def summary(table: Table) -> str:
    """The rows and the conclusion; with an ensemble, the rows with the parameters as shipped, and
    behind each value the least and the largest one."""
    return f"{_rows(table, MOST_ROWS)}\n{answer(table)}"


def answer(table: Table) -> str:
    """The conclusion; what is to be pasted stands behind its first sentence."""
    parts = ["\n".join(_wrapped(sentence)) + "\n" for sentence in conclusion(table)]
    if table.replay:
        parts.append("\n".join(_wrapped(table.replay["sentence"])) + "\n")
    literal = paste(split(table)[0])
    if literal:
        parts.insert(1, f"\n{literal}\n")
    return "".join(parts)


def rows(table: Table) -> str:
    """All rows, and why some of them failed."""
    return _rows(table, len(table.rows))


def _rows(table: Table, most: int) -> str:
    tables = split(table)
    table = tables[0]
    e = table.experiment
    spread = {m.name: ranges(tables, m.name) for m in e.measures} if len(tables) > 1 else {}
    head = [f.label for f in e.factors]
    head += [f"{m.label} {m.unit}".rstrip() for m in e.measures]
    if e.law:
        head.append("theory")
    cells = [head]
    reasons = Counter(row.message for row in table.rows if row.message)
    shown = table.rows[:most]
    columns = [_column(shown, m.name, spread.get(m.name, {})) for m in e.measures]
    if e.law:
        columns.append(alike([row.theory for row in shown]))
    for i, row in enumerate(shown):
        cells.append([*row.levels, *(column[i] for column in columns),
                      *([row.message if reasons[row.message] == 1 else "failed"]
                        if row.message else [])])
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    lines = []
    for line in cells:
        left = [f"{c:<{w}}" for c, w in zip(line[:len(e.factors)], widths)]
        right = [f"{c:>{w}}" for c, w in
                 zip(line[len(e.factors):len(head)], widths[len(e.factors):])]
        lines.append("  ".join([*left, *right, *line[len(head):]]).rstrip())
    if len(table.rows) > most:
        lines.append(f"... and {len(table.rows) - most} more rows")
    lines += [f"{'all' if count == len(table.rows) else count} runs failed: {message}"
              for message, count in reasons.items() if count > 1]
    return "\n".join(lines) + "\n"


def describe_samples(samples: list[Sample], kernels: list[str]) -> str:
    """Samples with the device's times in seconds, and the kernels that they were run through."""
    lines = [f"{'recording':<28} {'phase':<10} {'device':<20} {'start':>6} {'pace 0 s':>9} "
             f"{'kernel s':>9} {'its pace':>9} {'replay s':>9}"]
    lines += [f"{s.recording:<28} {s.phase:<10} {s.profile:<20} {s.start:>6} "
              f"{s.quick_ns / 1e9:>9.3f} {s.kernel_ns / 1e9:>9.3f} {s.pace:>9} "
              f"{s.replay_ns / 1e9:>9.3f} {percent(s):>8}" for s in samples]
    lines += [f"kernel {kernel}" for kernel in kernels]
    return "\n".join(lines) + "\n"


def workload(name: str) -> Json:
    """What a workload of `advise` is: its pattern, which is None if there is none, and its
    recordings."""
    return {"name": name, "about": ABOUT[name],
            "pattern": WORKLOADS.get(name),
            "recordings": filesystems.recorded(name)}


def list_workloads() -> str:
    """A line for each workload of `advise`."""
    return "".join(f"{name:<14} {len(filesystems.recorded(name)):>3} recordings  {about}\n"
                   for name, about in ABOUT.items())


def describe_workload(name: str) -> str:
    """A workload in words."""
    w = workload(name)
    rows = [("pattern", [w["pattern"] or "none, only recordings"]),
            ("recordings", _wrapped(", ".join(w["recordings"]), 64) or ["none"])]
    lines = [f"{head if i == 0 else '':<12} {line}" for head, text in rows
             for i, line in enumerate(text)]
    return "\n".join([f"{name}: {w['about']}", "", *lines, "",
                      f"flashemu-lab advise PROFILE --workload {name}"]) + "\n"


def list_works(as_json: bool) -> str:
    """The works that `life` knows by name."""
    known = asked.shipped()
    if as_json:
        return json.dumps([{"name": name, **w} for name, w in known.items()], indent=1) + "\n"
    return "".join(f"{name:<21} {w['title']}\n" for name, w in known.items())


def list_recordings(as_json: bool) -> str:
    """All recordings as JSON, or a line for each."""
    there = [recordings.load(name) for name in recordings.names()]
    if as_json:
        return json.dumps([recording(r) for r in there], indent=1) + "\n"
    return "".join(f"{r.name:<24} {r.filesystem:<6} {r.sectors >> 11:>5} MiB  {r.work}\n"
                   for r in there)


def recording(r: Recording) -> Json:
    """What a recording is, without its requests, as JSON."""
    return {"name": r.name, "filesystem": r.filesystem, "work": r.work, "mkfs": r.mkfs,
            "mount": r.mount, "kernel": r.kernel, "tools": r.tools, "limit": r.limit,
            "limits": list(recordings.limits(r)), "offers": r.offers, "thinks": bool(r.thinks),
            "command": r.command, "capacity": r.capacity, "start": r.start,
            "sectors": r.sectors,
            "phases": [asdict(p) for p in r.phases], "sha256": r.sha256}


def describe_recording(r: Recording) -> str:
    """A recording in words."""
    rows = [("filesystem", f"{r.mkfs}; {r.mount}"), ("work", r.work),
            ("partition", f"{r.sectors} sectors at sector {r.start} of {r.capacity // 512}"),
            ("requests up to", f"{r.limit} bytes"),
            ("other files up to", ", ".join(str(n) for n in recordings.limits(r) if n != r.limit)
             or "none"),
            ("with", (r.offers or "no flush, no fua") + (" think" if r.thinks else "")),
            ("kernel", r.kernel), ("tools", r.tools),
            ("to make it again", r.command)]
    first = f"rec:{r.name},start=63,measure={r.phases[-1].name}"
    lines = [r.name, "", *(f"{name:<17} {text}" for name, text in rows), "",
             f"{'phase':<17} {'requests':>9} {'MB of files':>12}"]
    lines += [f"{p.name:<17} {p.last - p.first:>9} {p.bytes / 1e6:>12.1f}" for p in r.phases]
    return "\n".join([*lines, "", f"flashemu replay PROFILE {first}"]) + "\n"
