# SPDX-License-Identifier: BSD-3-Clause
"""The commands that are about real devices: `import`, `probe` and `datasheet`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Callable

from ..core.errors import LabError
from ..core.files import write_whole
from ..core.progress import Note
from ..core.text import listed
from ..measurement import figures, importing, schema
from ..probe import conversation, next_step, session, speaking
from ..probe.datasheet import datasheet, sentences, to_json
from ..probe.findings import Found, judge, Wishes
from ..probe.target import allow_destroying, Clock, DeviceClock, open_target, Target, WallClock
from ..runs.program import Tool
from . import outputs

# So many of the tests that are missing are named.
_NAMED = 8


def _keeps_probes(output: Path) -> None:
    """LabError if the output would replace what a probe has measured, perhaps for hours."""
    try:
        there = schema.load(output).made_by
    except LabError:
        return
    if there.startswith(session.MADE_BY):
        raise LabError(f"-o {output}: has what a probe measured; allowed: another file")


def import_(arguments: argparse.Namespace) -> int:
    outputs.keeps_inputs(arguments.output, arguments.files)
    _keeps_probes(arguments.output)
    logs = [importing.read_file(path, arguments.device, arguments.fio) for path in arguments.files]
    if arguments.queue:
        logs = [importing.with_queue(log, arguments.queue == "on") for log in logs]
    found = importing.join(logs, f"flashemu-lab import {Tool().version}", arguments.name,
                           arguments.capacity, arguments.state, arguments.host)
    schema.save(found, arguments.output)
    if arguments.json:
        print(json.dumps({
            "points": len(found.points), "values": sum(len(p.values) for p in found.points),
            "files": [{"name": log.name, "lines": log.lines, "skipped": len(log.skipped),
                       "values": sum(len(p.values) for p in log.points),
                       "left_out": [asdict(one) for one in log.left],
                       **({"direct_unsaid": importing.unsaid(log)} if importing.unsaid(log)
                          else {}),
                       **({"skipped_lines": log.skipped} if arguments.skipped else {})}
                      for log in logs]}, indent=1))
        return 0
    for log in logs:
        print(importing.summary(log))
        for line in log.skipped if arguments.skipped else ():
            print(f"  skipped: {line}".encode(errors="replace").decode())
    print(f"{arguments.output}: {len(found.points)} point{'s' * (len(found.points) != 1)}")
    sys.stdout.flush()
    return 0


def _start(arguments: argparse.Namespace, tool: Tool
           ) -> tuple[Target, Clock, Wishes, Found, session.Plan]:
    """The device and what is known about it, after everything that forbids to measure it has been
    looked at."""
    for suffix, what in ((".html", "the page"), (".trace", "what is asked")):
        if arguments.output.suffix == suffix:
            raise LabError(f"-o {arguments.output}: is the name of {what}; allowed: another "
                           "suffix, such as .json")
    if arguments.read_only and arguments.destroy:
        raise LabError(f"--destroy {arguments.destroy}: has no effect with --read-only")
    clock: Clock = WallClock()
    if arguments.device_time:
        clock = DeviceClock(arguments.device_time)
    target = open_target(arguments.device, bool(arguments.destroy))
    if target.sector > 512 or target.capacity < 16 << 20:
        raise LabError(f"{target.name}: has {target.capacity} bytes in sectors of {target.sector}; "
                       "allowed: at least 16 MiB, and sectors of 512")
    wishes = Wishes(target.capacity, arguments.read_only, target.can_trim, not clock.in_turn)
    found = session.earlier(arguments.output, target, clock)
    planned = session.plan(tool, wishes)
    print(planned.text(target.name, target.capacity), file=sys.stderr, flush=True)
    if not arguments.read_only:
        allow_destroying(target, arguments.destroy)
    return target, clock, wishes, found, planned


def _conversation(tool: Tool, target: Target, output: Path,
                  found: Found) -> conversation.Conversation | None:
    """Where the requests go, behind those of an earlier run; None if these are not all there."""
    path = conversation.beside(output)
    if not found.points:
        return conversation.begun(path, tool.version, target.name, target.capacity)
    return conversation.resumed(path)


def probe_(arguments: argparse.Namespace) -> int:
    tool = Tool()
    target, clock, wishes, found, planned = _start(arguments, tool)
    heard = _conversation(tool, target, arguments.output, found)
    save = session.writer(target, session.made_by(tool, clock), arguments.output,
                        arguments.name, arguments.state, arguments.host)
    note = Note()
    run = session.Probe(tool, target, clock, wishes, arguments.budget, save,
                      lambda place, what: note.show(
                          arguments.device, f"test {place} of up to {planned.tests}, {what}"),
                      found, heard)
    code = 0
    try:
        run.run()
    except KeyboardInterrupt:
        run.failure, code = "stopped by a signal" + (
            f"; the test '{run.running}' has to be done again" if run.running else ""), 130
    finally:
        note.end()
        target.close()
        if heard:
            heard.end()
    if run.failure:
        print(f"flashemu-lab: {run.failure}", file=sys.stderr)
        code = code or 1
    if run.found.points:
        _told(arguments, run, save)
    return code


def _some(tests: list[str]) -> str:
    """The tests as a sentence names them: the first ones if they are many."""
    names = list(dict.fromkeys(tests))
    if len(names) <= _NAMED:
        return listed(names)
    return f"{len(tests)} tests: {'; '.join(names[:_NAMED])}; and others"


def _notes(arguments: argparse.Namespace, run: session.Probe) -> list[str]:
    """What a reader of the page has to know."""
    notes = [f"The measurement ended early: {run.failure}."] if run.failure else []
    if not run.conversation:
        notes.append(f"What an earlier run asked is not all in "
                     f"{conversation.beside(arguments.output)}, so this run has not added to it.")
    if run.kept:
        notes.append(f"{run.kept} tests were in {arguments.output} already.")
    if run.left:
        notes.append(f"The budget was too small for {_some(run.left)}.")
    if run.refused:
        notes.append(f"The device offers TRIM and does not do it, so {listed(run.refused)} is "
                     "missing.")
    if arguments.device_time:
        notes.append("Times are those of an emulated device, from its server.")
    if not run.wishes.in_flight:
        notes.append("A virtual clock takes requests one by one, so nothing is known about "
                     "several in flight.")
    return notes


def _told(arguments: argparse.Namespace, run: session.Probe, save: Callable[[Found], None]) -> None:
    """Saves and prints what was found."""
    judge(run.found)
    save(run.found)
    notes = _notes(arguments, run)
    path = arguments.output.with_suffix(".html")
    write_whole(path, datasheet(schema.load(arguments.output), run.found, notes))
    if arguments.json:
        print(json.dumps({"points": len(run.found.points), "written": run.written,
                          "kept": run.kept, "left": run.left, "refused": run.refused,
                          **to_json(run.found), "failure": run.failure or None}, indent=1))
        return
    print("\n".join([*sentences(run.found), *notes, "", str(arguments.output), str(path),
                     *([str(run.conversation.path)] if run.conversation else [])]))


def datasheet_(arguments: argparse.Namespace) -> int:
    output: Path | None = arguments.output
    if output:
        outputs.keeps_inputs(output, [arguments.measurement])
        if output.suffix != ".html":
            raise LabError(f"-o {output}: expected a name that ends in .html")
        outputs.check_page(output, arguments.force)
    m = schema.load(arguments.measurement)
    found = Found(list(m.points))
    judge(found)
    told = speaking.told(m.points)
    left = next_step.sentence(Tool(), m)
    if output:
        write_whole(output, datasheet(m, found, [left] if left else [], "datasheet"))
    if arguments.json:
        print(json.dumps({"figures": figures.independent(m.points), "points": len(m.points),
                          **to_json(found), "untold": told.untold(), "next": left or None},
                         indent=1))
        return 0
    print("\n".join([*sentences(found), *([left] if left else []),
                     *(["", str(output)] if output else [])]))
    return 0
