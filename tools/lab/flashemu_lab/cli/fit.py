# SPDX-License-Identifier: BSD-3-Clause
"""The commands `fit` and `refine`, and the fit in front of advice."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType

from ..core.errors import LabError, module
from ..core.files import can_write, write_whole
from ..core.progress import Note
from ..fit import (fit_result, fitting, refine_result, refining, relatives, relatives_result,
                   taken)
from ..fit.budget import BUDGET, MORE, QUICK
from ..fit.rules import fittable
from ..measurement import figures, schema
from ..probe import conversation, next_step, session, speaking
from ..runs.program import Tool
from . import outputs

Fit = fitting.Fitted | relatives.Related
# A probe does not write all of a device, and a fit takes for granted that somebody has.
_NEW = "; if the device was new, write it all over and probe it again"


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
    more = 0 if arguments.quick or arguments.budget else MORE
    module("scipy.optimize", "python3-scipy")
    module("cmaes", "python3-cmaes")
    found, whole = _fittable(path)
    _is_enough(tool, path, found, anyway)
    note = Note()

    def told(what: str, error: float) -> None:
        note.show(f"{path}", f"{what}, typical error {100 * error:.1f} %")
    try:
        if relatives.begins(found, whole):
            return found, relatives.fit(tool, found, budget, seed, jobs, told, whole)
        fit = fitting.fit(tool, found, budget, seed, jobs, told, whole, more,
                          conversation=_conversation(path, whole))
        fit.speaks = speaking.told(whole.points)
        taken.name_devices(tool, found, fit, jobs, whole)
        return found, fit
    finally:
        note.end()


def _conversation(path: Path, m: schema.Measurement) -> Path | None:
    """What a probe has asked, beside its measurement, if that is there and whole."""
    trace = conversation.beside(path)
    if not m.made_by.startswith(session.MADE_BY) or not trace.exists():
        return None
    if not conversation.is_whole(trace, m.capacity):
        raise LabError(f"{trace}: is not the whole conversation of {path}: its end is missing, or "
                       "it is of another device; move it away to fit without it")
    return trace


def budget_of(arguments: argparse.Namespace) -> int:
    """In comparisons; LabError if two options contradict each other."""
    if arguments.quick and arguments.budget:
        raise LabError(f"--budget {arguments.budget}: has no effect with --quick")
    return arguments.budget or (QUICK if arguments.quick else BUDGET)


def _output_of(arguments: argparse.Namespace, inputs: list[Path]) -> Path:
    """Where the profile goes; LabError if that cannot be."""
    output: Path = arguments.output
    outputs.keeps_inputs(output, inputs)
    if output.suffix != ".ini":
        raise LabError(f"-o {output}: expected a name that ends in .ini")
    can_write(output)
    outputs.check_profile(output, arguments.force)
    return output


def fit(arguments: argparse.Namespace) -> int:
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
              f"{fit_result.sentence(found)}" + ("" if kept else f"; {output} is not written "
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


def refine(arguments: argparse.Namespace) -> int:
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
                       f"{fit_result.sentence(found)}", 1)
    outputs.write_profile(output, f"{mark}\n" + _outcome(found).profile(
        found, m, path.name, made_by))
    print(f"flashemu-lab: {output}: fitted, {fit_result.sentence(found)}", file=sys.stderr)
    return str(output) if "/" in str(output) else f"./{output}"
