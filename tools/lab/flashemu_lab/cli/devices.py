# SPDX-License-Identifier: BSD-3-Clause
"""The commands that are about real devices, as a shell calls them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Callable, Mapping

from ..core.errors import LabError, module
from ..core.files import can_write, write_whole
from ..core.progress import Note
from ..core.text import listed
from ..core.units import quantity
from ..fit import fit_result, fitting, refine_result, refining, relatives, relatives_result, taken
from ..fit.rules import fittable
from ..measurement import figures, importing, schema
from ..measurement.fio_options import Refused, understood
from ..probe import next_step, session, speaking
from ..probe.datasheet import datasheet, sentences, to_json
from ..probe.findings import Found, Wishes, judge
from ..probe.target import Clock, DeviceClock, Target, WallClock, allow_destroying, open_target
from ..runs.program import Tool
from . import outputs
from .arguments import number

_MOST_BUDGET = 1000000

Add = Callable[[str, str], argparse.ArgumentParser]


def _bytes(text: str) -> int:
    value = quantity(text)
    if value is None or value < 1 or value != int(value) or value >= 1 << 62 or \
            text.strip().endswith(("s", "%")):
        raise argparse.ArgumentTypeError(f"{text}: allowed: bytes, such as 7948206080 or 8GB")
    return int(value)


def _budget(text: str) -> session.Budget:
    value = quantity(text)
    if value is None or value <= 0 or "/" in text or "%" in text or text.strip()[-1].isdigit():
        raise argparse.ArgumentTypeError(f"{text}: allowed: a time or bytes to write, such as 600s "
                                         "or 2G")
    return session.Budget(seconds=value / 1e9) if text.strip().endswith("s") else \
        session.Budget(written=int(value))


def _fio_options(text: str) -> dict[str, str]:
    """Options as fio has them; what they mean is looked at as if a log had said them."""
    options = {}
    for word in text.split():
        key, equals, value = word.removeprefix("--").partition("=")
        if not equals or not value:
            raise argparse.ArgumentTypeError(f"{word}: allowed: options such as rw=randwrite, with "
                                             "blanks between them")
        options[key] = value
    try:
        understood(options)
    except Refused as e:
        raise argparse.ArgumentTypeError(str(e)) from None
    return options


def _about(command: argparse.ArgumentParser) -> None:
    """What the user knows about the device, and no program."""
    command.add_argument("--name", metavar="TEXT", default="", help="what the device is called")
    command.add_argument("--state", metavar="TEXT", default="",
                         help="what is known about its past, such as new")
    command.add_argument("--host", metavar="TEXT", default="",
                         help="in or through what it was measured, such as a reader")


def add_commands(add: Add) -> None:
    """Adds the parsers of these commands; `add` makes one from its name and a sentence."""
    c = add("import", "make a measurement from what benchmarks have printed")
    c.add_argument("files", metavar="FILE", nargs="+", type=Path,
                   help="what a benchmark has printed, or a table")
    c.add_argument("--device", metavar="NAME", default="",
                   help="which device of a table that has several")
    c.add_argument("-o", "--output", metavar="OUT.json", type=Path, required=True,
                   help="the measurement")
    c.add_argument("--capacity", metavar="SIZE", type=_bytes, default=0,
                   help="of the device (what the files say)")
    c.add_argument("--queue", choices=("on", "off"), default="",
                   help="the host used the command queue and cache of the card, or neither")
    c.add_argument("--fio", metavar="OPTIONS", type=_fio_options, default={},
                   help="options of fio's jobs where a log does not say them, such as "
                        "'rw=randwrite bs=4k direct=1'")
    _about(c)
    c.add_argument("--skipped", action="store_true", help="print the lines that said nothing")
    c.add_argument("--json", action="store_true", help="print JSON")
    c = add("probe", "measure a device from outside")
    c.add_argument("device", metavar="DEVICE-FILE|NBD-URI",
                   help="a block device, or an NBD server such as nbd+unix:///?socket=PATH")
    c.add_argument("-o", "--output", metavar="OUT.json", type=Path, required=True,
                   help="the measurement; the page OUT.html says what follows from it")
    c.add_argument("--destroy", metavar="SIZE|SERIAL", default="",
                   help="write to the device, which has this size or serial number")
    c.add_argument("--read-only", action="store_true", help="only tests that write nothing")
    c.add_argument("--budget", metavar="TIME|BYTES", type=_budget, default=session.Budget(),
                   help="begin no test behind this time, or that would write more than this")
    c.add_argument("--device-time", metavar="FILE", default="",
                   help="take times from the control socket of an emulated device")
    c.add_argument("--json", action="store_true", help="print JSON")
    _about(c)
    c = add("datasheet", "say what a measurement tells about a device, without a fit")
    c.add_argument("measurement", metavar="MY.json", type=Path,
                   help="a measurement, from import or probe")
    c.add_argument("-o", "--output", metavar="MY.html", type=Path, help="the page")
    c.add_argument("--json", action="store_true", help="print JSON")
    _add_fit(add)


def add_fit_options(command: argparse.ArgumentParser) -> None:
    """What decides how long `fit` and `refine` take."""
    command.add_argument("--quick", action="store_true",
                         help=f"a budget of {fitting.QUICK} comparisons")
    command.add_argument("--budget", metavar="N", default=0,
                         type=number(fitting.LEAST_BUDGET, _MOST_BUDGET),
                         help="how many sets of parameters to compare, "
                              f"{fitting.LEAST_BUDGET} to {_MOST_BUDGET} ({fitting.BUDGET})")


def _add_fit(add: Add) -> None:
    c = add("fit", "make a profile from a measurement")
    c.add_argument("measurement", metavar="MY.json", type=Path,
                   help="a measurement, from import or probe")
    c.add_argument("-o", "--output", metavar="MY.ini", type=Path, required=True,
                   help="the profile; the page MY.html says how near it comes")
    add_fit_options(c)
    c.add_argument("--anyway", action="store_true",
                   help="write the profile even if it does not come near, or if the measurement "
                   "has too few figures")
    _add_search_options(c)
    c = add("refine", "bring the numbers of a profile nearer to a measurement")
    c.add_argument("profile", metavar="PROFILE",
                   help="the name of a shipped profile, or a file that ends in .ini")
    c.add_argument("measurement", metavar="MY.json", type=Path,
                   help="a measurement, from import or probe")
    c.add_argument("-o", "--output", metavar="NEW.ini", type=Path, required=True,
                   help="the profile; the page NEW.html says how near it comes")
    add_fit_options(c)
    c.add_argument("--anyway", action="store_true",
                   help="even if the measurement has too few figures")
    _add_search_options(c)


def _add_search_options(command: argparse.ArgumentParser) -> None:
    """Those of `fit` and `refine`, and of no other command."""
    command.add_argument("--seed", metavar="N", type=number(0, 2**32 - 1), default=1,
                         help="of the search (1)")
    command.add_argument("--jobs", metavar="N", type=number(1, 1024), default=os.cpu_count() or 1,
                         help="how many comparisons at the same time (one for each processor)")
    command.add_argument("--json", action="store_true", help="print JSON")


def keeps_inputs(output: Path, inputs: list[Path]) -> None:
    """LabError if the output would replace an input."""
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise LabError(f"-o {output}: is one of the inputs; allowed: another file")


def _keeps_probes(output: Path) -> None:
    """LabError if the output would replace what a probe has measured, perhaps for hours."""
    try:
        there = schema.load(output).made_by
    except LabError:
        return
    if there.startswith(session.MADE_BY):
        raise LabError(f"-o {output}: has what a probe measured; allowed: another file")


def _import(arguments: argparse.Namespace) -> int:
    keeps_inputs(arguments.output, arguments.files)
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
    if arguments.output.suffix == ".html":
        raise LabError(f"-o {arguments.output}: is the name of the page; allowed: another suffix, "
                       "such as .json")
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


def _probe(arguments: argparse.Namespace) -> int:
    tool = Tool()
    target, clock, wishes, found, planned = _start(arguments, tool)
    save = session.writer(target, session.made_by(tool, clock), arguments.output,
                        arguments.name, arguments.state, arguments.host)
    note = Note()
    run = session.Probe(tool, target, clock, wishes, arguments.budget, save,
                      lambda place, what: note.show(
                          arguments.device, f"test {place} of up to {planned.tests}, {what}"),
                      found)
    code = 0
    try:
        run.run()
    except KeyboardInterrupt:
        run.failure, code = "stopped by a signal" + (
            f"; the test '{run.running}' has to be done again" if run.running else ""), 130
    finally:
        note.end()
        target.close()
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
    print("\n".join([*sentences(run.found), *notes, "", str(arguments.output), str(path)]))


def _datasheet(arguments: argparse.Namespace) -> int:
    output: Path | None = arguments.output
    if output:
        keeps_inputs(output, [arguments.measurement])
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


Fit = fitting.Fitted | relatives.Related
# A probe does not write all of a device, and a fit takes for granted that somebody has.
_NEW = "; if the device was new, write it all over and probe it again"
# So many of the tests that are missing are named.
_NAMED = 8


def _outcome(found: Fit) -> ModuleType:
    """What writes the profile and the page: `fit_result`, or `relatives_result`, which has the same
    functions."""
    return relatives_result if isinstance(found, relatives.Related) else fit_result


def _writes(m: schema.Measurement) -> bool:
    """Whether any point of a measurement that a fit can use was more than read."""
    written = ("flashbench-open-au", "flashbench-find-fat", "seq-write")
    return any(p.procedure in written or how.get("op") in ("write", "trim") or "write" in
               str(how.get("test")) for p in m.points for how in [dict(p.parameters)])


def _fittable(path: Path) -> tuple[schema.Measurement, schema.Measurement]:
    """What a fit can use of a measurement, and the whole of it."""
    whole = schema.load(path)
    found = fittable(whole)
    if not found.points:
        raise LabError(f"{path}: has no point that a fit can use")
    return found, whole


def _is_enough(tool: Tool, path: Path, m: schema.Measurement, anyway: bool) -> None:
    """LabError with exit code 1 and what to measure next if a measurement is no reason for a
    profile."""
    refused = "" if anyway else next_step.refusal(tool, m, _writes(m))
    if refused:
        raise LabError(f"{path}: {refused}", 1)


def fit_measurement(tool: Tool, path: Path, arguments: argparse.Namespace, seed: int,
                    anyway: bool = False) -> tuple[schema.Measurement, Fit]:
    """A measurement and the device that was fitted to it, with progress on a terminal.  LabError
    with exit code 1 if it has too few figures or nothing was written in it, unless the user wants a
    profile `anyway`."""
    budget, jobs = budget_of(arguments), arguments.jobs
    more = 0 if arguments.quick or arguments.budget else fitting.MORE
    module("scipy.optimize", "python3-scipy")
    module("cmaes", "python3-cmaes")
    found, whole = _fittable(path)
    _is_enough(tool, path, found, anyway)
    note = Note()

    def told(what: str, error: float) -> None:
        note.show(f"{path}", f"{what}, typical error {100 * error:.1f} %")
    try:
        if relatives.applies(found) or not speaking.told(whole.points).structure:
            return found, relatives.fit(tool, found, budget, seed, jobs, told, whole)
        fit = fitting.fit(tool, found, budget, seed, jobs, told, whole, more)
        fit.speaks = speaking.told(whole.points)
        taken.name_devices(tool, found, fit, jobs, whole)
        return found, fit
    finally:
        note.end()


def budget_of(arguments: argparse.Namespace) -> int:
    """In comparisons; LabError if two options contradict each other."""
    if arguments.quick and arguments.budget:
        raise LabError(f"--budget {arguments.budget}: has no effect with --quick")
    return arguments.budget or (fitting.QUICK if arguments.quick else fitting.BUDGET)


def _output_of(arguments: argparse.Namespace, inputs: list[Path]) -> Path:
    """Where the profile goes; LabError if that cannot be."""
    output: Path = arguments.output
    keeps_inputs(output, inputs)
    if output.suffix != ".ini":
        raise LabError(f"-o {output}: expected a name that ends in .ini")
    can_write(output)
    outputs.check_profile(output, arguments.force)
    return output


def _fit(arguments: argparse.Namespace) -> int:
    output = _output_of(arguments, [arguments.measurement])
    tool = Tool()
    try:
        m, found = fit_measurement(tool, arguments.measurement, arguments, arguments.seed,
                                   arguments.anyway)
    except KeyboardInterrupt:
        print("flashemu-lab: stopped; a fit is written at its end, so there is none",
              file=sys.stderr)
        return 130
    made_by, source = f"flashemu-lab fit {tool.version}", arguments.measurement.name
    page = output.with_suffix(".html")
    outcome = _outcome(found)
    write_whole(page, outcome.page(found, m, source, made_by))
    kept = found.good or arguments.anyway
    if kept:
        outputs.write_profile(output, outcome.profile(found, m, source, made_by))
    if arguments.json:
        sys.stdout.write(outcome.to_json(found, m, source, made_by))
    else:
        print("\n".join([*outcome.sentences(found, m), "", *([str(output)] if kept else []),
                         str(page)]))
    if not found.good:
        print(f"flashemu-lab: {arguments.measurement}: no profile comes near: "
              f"{outcome.sentence(found)}" + ("" if kept else f"; {output} is not written "
                                             "(--anyway writes it)")
              + (_NEW if m.made_by.startswith(session.MADE_BY) else ""), file=sys.stderr)
    return 0 if found.good else 1


def _profile_text(tool: Tool, profile: str) -> str:
    """As it is written: of a file its content, of a shipped profile every line of `show`."""
    if profile not in tool.profiles():
        path = Path(profile)
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as e:
            raise LabError(f"{path}: {getattr(e, 'strerror', None) or 'is not UTF-8'}") from None
    return tool.ask("show", profile)


def _progress(worst: float | None) -> str:
    """Of `refine`, for a terminal."""
    return "nothing is better yet" if worst is None else \
        f"the errors of the worst sort of test are {100 * worst:.1f} % of what they were"


def _refine(arguments: argparse.Namespace) -> int:
    profile: str = arguments.profile
    output = _output_of(arguments, [arguments.measurement, Path(profile)])
    tool, source = Tool(), arguments.measurement.name
    text, (m, whole) = _profile_text(tool, profile), _fittable(arguments.measurement)
    if figures.independent(m.points) < figures.ENOUGH:
        _is_enough(tool, arguments.measurement, m, arguments.anyway)
    note = Note()
    try:
        found = refining.refine(
            tool, profile, m, budget_of(arguments), arguments.seed, arguments.jobs,
            lambda worst: note.show(profile, _progress(worst)), whole)
    except KeyboardInterrupt:
        print("flashemu-lab: stopped; a profile is written at the end, so there is none",
              file=sys.stderr)
        return 130
    finally:
        note.end()
    made_by, start = f"flashemu-lab refine {tool.version}", Path(profile).name
    page = output.with_suffix(".html")
    write_whole(page, refine_result.page(found, m, source, start, made_by, text))
    if found.better:
        outputs.write_profile(output, refine_result.profile(found, text, source, made_by))
    if arguments.json:
        sys.stdout.write(refine_result.to_json(found, m, source, start, made_by))
    else:
        print("\n".join([*refine_result.sentences(found, m, text), "",
                         *([str(output)] if found.better else []), str(page)]))
    if not found.better:
        print(f"flashemu-lab: {profile}: no other numbers come nearer to {source}; {output} is "
              "not written", file=sys.stderr)
    return 0 if found.better else 1


def profile_for_advice(path: Path, arguments: argparse.Namespace) -> str:
    """Fits a profile to a measurement and keeps it next to the measurement; its path.  A profile
    of the same measurement, program and budget that is there already is taken again.  LabError
    with exit code 1 if no profile comes near."""
    tool, budget = Tool(), budget_of(arguments)
    made_by = f"flashemu-lab advise {tool.version}, budget {budget}"
    output = path.with_suffix(".ini")
    mark = f"; measurement {schema.digest(path)}, program {tool.program}, budget {budget}"
    if output.exists():
        with output.open(encoding="utf-8", errors="replace") as file:
            there = file.readline().rstrip("\n")
        if there == mark:
            return str(output) if "/" in str(output) else f"./{output}"
        if not there.startswith("; measurement ") or outputs.is_changed(output):
            raise LabError(f"{output}: is there and is no profile that advise has fitted; move it, "
                           "or give it instead of the measurement")
    can_write(output)
    whole = schema.load(path)
    _is_enough(tool, path, fittable(whole), False)
    if not speaking.told(whole.points).structure:
        raise LabError(f"{path}: {next_step.untold(whole)}, so advice would be about another "
                       f"device; {next_step.measure(tool, whole)}", 1)
    m, found = fit_measurement(tool, path, arguments, 1)
    if not found.good:
        raise LabError(f"{path}: no profile comes near, so advice would be about another device: "
                       f"{_outcome(found).sentence(found)}", 1)
    outputs.write_profile(output, f"{mark}\n" + _outcome(found).profile(
        found, m, path.name, made_by))
    print(f"flashemu-lab: {output}: fitted, {_outcome(found).sentence(found)}", file=sys.stderr)
    return str(output) if "/" in str(output) else f"./{output}"


COMMANDS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "import": _import, "probe": _probe, "datasheet": _datasheet, "fit": _fit, "refine": _refine}
