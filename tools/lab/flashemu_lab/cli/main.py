# SPDX-License-Identifier: BSD-3-Clause
"""The command line."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shlex
import sys
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Iterator, NoReturn, Sequence

from ..advise import filesystems, raw_writes
from ..core import signals, streams
from ..core.errors import LabError
from ..core.files import make_folder, write_whole
from ..core.progress import Note, Progress
from ..core.text import allowed
from ..crash import power_cuts, results
from ..experiment import host_time, parameter_sets, replay_accuracy, shipped, trials
from ..experiment.conclusion import agreements, result
from ..experiment.evidence import Evidence, Judged, Trial
from ..experiment.plan import MOST_RUNS, plan
from ..experiment.spec import Experiment, load, parse
from ..experiment.sweep import sweep_text
from ..experiment.table import Check, Table, from_json, tabulate
from ..kernel import full_runs, sample
from ..kernel.record import record
from ..recording import recipes, recordings
from ..report.folder import read_result, write_folder
from ..report.page import page
from ..runs.local import Engine, execute
from ..runs.program import Outcome, Tool
from ..runs.store import Store
from . import crashing, devices, engines, life, outputs, show
from .arguments import MOST_SEED, number, seeds
from .completion import commands, complete

_ABOUT = """\
Experiments with emulated flash devices, in virtual time.

An experiment is a file that names what is varied, the device, the requests and what is measured.
Every combination is run, results are stored, and the answer is computed and drawn."""


class _Parser(argparse.ArgumentParser):
    """Wrong use is one line, as the C program says it."""

    def error(self, message: str) -> NoReturn:
        print(f"flashemu-lab: {message}{self._meant(message)} (try {self.prog} --help)",
              file=sys.stderr)
        sys.exit(2)

    def _meant(self, message: str) -> str:
        """The command or the option that somebody may have meant, as a question."""
        typed = re.search(r"invalid choice: '([^']*)'|unrecognized arguments: (--[^ =]*)", message)
        if not typed:
            return ""
        names = list(commands(self)) if typed[1] else [
            option for action in self._actions for option in action.option_strings]
        near = difflib.get_close_matches(typed[1] or typed[2], names, 1)
        return f"; did you mean {near[0]}?" if near else ""


def _common(command: argparse.ArgumentParser) -> None:
    """The options of everything that runs an experiment."""
    command.add_argument("-o", "--output", metavar="DIR", type=Path,
                         help="write page, pictures, CSV and JSON into this folder")
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    engines.add_options(command)
    command.add_argument("--again", action="store_true",
                         help="execute stored runs, too, and compare")
    command.add_argument("--retry", action="store_true",
                         help="execute runs that have failed once more")
    command.add_argument("--ensemble", metavar="N", default=0,
                         type=number(1, parameter_sets.MOST_SETS),
                         help="also run with N sets of parameters that fit the published figures "
                         "as well, and say in how many of them the conclusion holds")
    command.add_argument("--ensemble-seed", metavar="N", type=number(0, MOST_SEED), default=1,
                         help="of the draws of --ensemble (1)")
    command.add_argument("--most", metavar="N", type=number(1), default=MOST_RUNS,
                         help=f"how many runs are allowed ({MOST_RUNS})")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; the completion walks it."""
    parser = _Parser(prog="flashemu-lab", description=_ABOUT, allow_abbrev=False,
                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def add(name: str, about: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".",
                                   allow_abbrev=False)

    _add_experiments(add)
    _add_recordings(add)
    _add_crash(add)
    life.add_command(add)
    devices.add_commands(add)
    c = add("report", "make the page of a result again")
    c.add_argument("folder", metavar="DIR", type=Path)
    c.add_argument("-o", "--output", metavar="OUT.html", type=Path, required=True,
                   help="the page")
    for name, command in commands.choices.items():
        if name in outputs.COMMANDS:
            command.add_argument("--force", action="store_true",
                                 help="replace what is there, also if flashemu-lab has not made it")
    return parser


def _add_experiments(add: devices.Add) -> None:
    c = add("list", "the shipped experiments, or recordings, or workloads")
    what = c.add_mutually_exclusive_group()
    what.add_argument("--recordings", action="store_true", help="recordings instead")
    what.add_argument("--workloads", action="store_true",
                      help="what advise, and its recordings, are about instead")
    what.add_argument("--works", action="store_true", help="the works of life instead")
    c.add_argument("--json", action="store_true", help="print JSON")
    c = add("show", "what an experiment does, or what is in a recording, or a workload")
    c.add_argument("experiment", metavar="EXPERIMENT|RECORDING|WORKLOAD|FILE.toml")
    c.add_argument("--json", action="store_true", help="print JSON, with the command of each run")
    c.add_argument("--toml", action="store_true", help="print the file, to copy and change")
    c.add_argument("--store", metavar="FOLDER", type=Path, default=None,
                   help="where results are kept")
    c = add("run", "run an experiment, or what is missing of it")
    c.add_argument("experiment", metavar="EXPERIMENT|FILE.toml")
    c.add_argument("--resume", action="store_true",
                   help="continue an interrupted run; this is always done")
    c.add_argument("--mode", choices=("replay", "full"), default="replay", metavar="replay|full",
                   help="full: run through a kernel as well, and compare (replay)")
    c.add_argument("--sample", metavar="N", type=number(1), default=0,
                   help="with --mode full: so many runs, drawn by --sample-seed (all)")
    c.add_argument("--sample-seed", metavar="N", type=number(0, MOST_SEED), default=1,
                   help="draws the sample (1)")
    _common(c)
    c = add("sweep", "vary keys of a profile over traces and patterns")
    c.add_argument("profile", metavar="PROFILE", help="one, or several with ',' between them")
    c.add_argument("operands", metavar="KEY=V1,V2...|TRACE|gen:PATTERN", nargs="+",
                   help="what is varied, and the requests")
    c.add_argument("--warmup", metavar="TRACE", default="",
                   help="run this trace first and do not count it")
    c.add_argument("--depth", metavar="N", type=number(1, 1024), default=1,
                   help="requests in flight (1)")
    c.add_argument("--seed", metavar="N", type=seeds, default="1",
                   help="of the device's randomness; several with ',' between them")
    c.add_argument("--measure", metavar="NAME=EXPRESSION", action="append", default=[],
                   help="measure this instead of rate, write amplification and erases")
    c.add_argument("--wrap", action="store_true", help="take offsets modulo the capacity")
    c.add_argument("--drop-trim", action="store_true",
                   help="leave out trims that the device does not offer")
    c.add_argument("--timed", action="store_true", help="requests arrive at the trace's times")
    _common(c)


def _add_recordings(add: devices.Add) -> None:
    c = add("record", "record what a kernel's filesystems ask of a device, in a virtual machine")
    c.add_argument("recordings", metavar="RECORDING", nargs="*",
                   help="names of recipes; all of them without any")
    c.add_argument("--recipes", metavar="FILE.toml", type=Path, default=None,
                   help="recipes of your own (those of the shipped recordings)")
    c.add_argument("-o", "--output", metavar="DIR", type=Path, default=None,
                   help="where to write (~/.local/share/flashemu/recordings)")
    c.add_argument("--limit", choices=recordings.LIMITS, default="",
                   help="longest request of the host (that of the recipe's device)")
    c.add_argument("--json", action="store_true", help="print JSON")

    c = add("sample", "draw replays of recordings by seed, and run them through a kernel as well")
    c.add_argument("recordings", metavar="RECORDING", nargs="*",
                   help="names of recordings to draw from; all of them without any")
    c.add_argument("--seed", metavar="N,...", type=seeds, default="1",
                   help="of the draw, one of each filesystem for each seed (1)")
    c.add_argument("-o", "--output", metavar="FILE.csv", type=Path, default=None,
                   help="write the samples into this file")
    c.add_argument("--json", action="store_true", help="print JSON")
    c.add_argument("--jobs", metavar="N", type=number(1, 1024), default=os.cpu_count() or 1,
                   help="how many replays at the same time (one for each processor)")
    c.add_argument("--store", metavar="FOLDER", type=Path, default=None,
                   help="where results of replays are kept")
    c.set_defaults(sample=0, sample_seed=1, ensemble=0, engine="local", scheduler="",
                   again=False, retry=False, most=MOST_RUNS)

    c = add("advise", "where to start a partition and how to format it, and what else costs")
    c.add_argument("profile", metavar="PROFILE|MY.json",
                   help="a profile's name, or a path to one, or to a measurement")
    c.add_argument("settings", metavar="KEY=VALUE", nargs="*", help="changes keys of the profile")
    devices.add_fit_options(c)
    workloads = (*raw_writes.WORKLOADS, *raw_writes.RECORDED)
    c.add_argument("--workload", metavar="NAME,...", default=None,
                   help=f"what the device is for: {', '.join(workloads)} (all of them)")
    c.add_argument("--rows", action="store_true", help="print the numbers of all runs, too")
    _common(c)


def _cuts(text: str) -> int:
    return 0 if text == "all" else number(1)(text)


def _add_crash(add: devices.Add) -> None:
    c = add("crash", "cut the power under filesystems, in a virtual machine")
    c.add_argument("operands", metavar="PROFILE|KEY=VALUE", nargs="*",
                   help="devices, and keys that are set for all of them")
    c.add_argument("--filesystem", metavar="NAME,...", default="ext4,f2fs,vfat,exfat",
                   help=f"which of {', '.join(power_cuts.FILESYSTEMS)} (ext4,f2fs,vfat,exfat)")
    c.add_argument("--workload", metavar="NAME,...", default="files",
                   help=f"which of {', '.join(power_cuts.WORKLOADS)} (files)")
    c.add_argument("--cuts", metavar="N|all", type=_cuts, default=0,
                   help="power cuts for each device, filesystem and workload (5); with --run of "
                   "all instants (all)")
    c.add_argument("--seed", metavar="N", type=number(0, MOST_SEED), default=1,
                   help="of the cuts' places (1)")
    c.add_argument("--within", metavar="N", type=number(1), default=300,
                   help="each cut is within this many writes to the device (300)")
    c.add_argument("--size", metavar="SIZE", default="512M",
                   help="use so much of a larger device (512M)")
    c.add_argument("--cut", metavar="ID", action="append", default=[],
                   help="do only this cut, by its id")
    c.add_argument("-o", "--output", metavar="DIR", type=Path,
                   help="write index.html and results.json into this folder")
    c.add_argument("--json", action="store_true", help="print the result as JSON")
    c.add_argument("--store", metavar="FOLDER", type=Path, default=None,
                   help="where results are kept")
    c.add_argument("--again", action="store_true", help="do stored cuts again, and replace them")
    crashing.add_arguments(c)


@contextmanager
def _without_places(name: str) -> Iterator[None]:
    """Mistakes in an experiment that the command line describes: there is no file of this name that
    the user could open, so its lines are no help."""
    try:
        yield
    except LabError as e:
        raise LabError(re.sub(rf"^{re.escape(name)}(:\d+)?: ", "", str(e), flags=re.MULTILINE),
                       e.code) from None


def _run(experiment: Experiment, arguments: argparse.Namespace) -> int:
    """Runs what is missing, and prints and writes the result."""
    table = _table(experiment, arguments)
    if table is None:
        return 130
    if arguments.output:
        write_folder(table, arguments.output)
    if arguments.json:
        sys.stdout.write(result(table))
    else:
        _print(table, arguments.output)
    return 1 if table.failures else 0


def _print(table: Table, folder: Path | None) -> None:
    sys.stdout.write(show.summary(table))
    if folder:
        print(f"\n{folder / 'index.html'}")


def _print_advice(layouts: Table, by_filesystem: Table | None, folder: Path | None,
                  rows: bool) -> None:
    """The answer comes first."""
    sys.stdout.write(show.answer(layouts) + "\n")
    if by_filesystem:
        sys.stdout.write(show.answer(by_filesystem))
    else:
        print("There are no recordings that compare filesystems for this (see flashemu-lab list).")
    for table, name in ((layouts, ""), (by_filesystem, "filesystems")):
        if table and (rows or table.failures):
            sys.stdout.write("\n" + show.rows(table))
        if table and folder:
            print(f"\n{folder / name / 'index.html'}")


def _say_stopped(progress: Progress, what: str) -> None:
    progress.end()
    print(f"flashemu-lab: stopped with {what}; the same command continues", file=sys.stderr)


def _table(experiment: Experiment, arguments: argparse.Namespace) -> Table | None:
    """Runs what is missing; None if a signal ended that."""
    tool, store = Tool(), engines.store_of(arguments)
    engine = engines.engine_of(arguments, tool)
    judged: tuple[Judged, ...] = ()
    if arguments.ensemble:
        text, judged = parameter_sets.with_sets(experiment, tool, store, arguments.jobs,
                                          arguments.ensemble, arguments.ensemble_seed)
        experiment = parse(text, experiment.path)
    points = plan(experiment, tool, arguments.most)
    kernel = None
    if getattr(arguments, "mode", "replay") == "full":
        chosen = full_runs.sample(points, arguments.sample, arguments.sample_seed)
        kernel = full_runs.Kernel(experiment, chosen, tool)
    runs = {p.run.key(): p.run for p in points if p.run}
    outcomes: dict[str, Outcome] = {}
    stored = 0
    for key, run in runs.items():
        found = store.get(run)
        if found and found.status == "failed" and arguments.retry:
            store.forget(run)
        elif found and not arguments.again:
            stored += 1
    progress = Progress(len(runs))
    try:
        for run, outcome in execute(runs.values(), store, engine, arguments.again):
            outcomes[run.key()] = outcome
            progress.show(len(outcomes), stored)
    except KeyboardInterrupt:
        _say_stopped(progress, f"{len(outcomes)} of {len(runs)} runs stored")
        return None
    finally:
        progress.end()
    table = tabulate(experiment, tool.program, points, outcomes.__getitem__)
    try:
        if table.replay:
            table = replace(table, replay=host_time.told(table.replay, runs.values(),
                                                        outcomes.__getitem__, store, engine))
        table = replace(table, evidence=Evidence(judged, _trials(table, tool, store, engine)))
    except KeyboardInterrupt:
        print("flashemu-lab: stopped while measuring what would decide; the same command continues",
              file=sys.stderr)
        return None
    if kernel:
        table = replace(table, checks=tuple(_checked(kernel)))
    return table


def _trials(table: Table, tool: Tool, store: Store, engine: Engine) -> tuple[Trial, ...]:
    """Measurements that may tell the sets of an ensemble apart; none if these agree."""
    if all(all(a.holds) for a in agreements(table)):
        return ()
    note = Note()
    try:
        return trials.perform(table.experiment, tool, store, engine, lambda done, all_of: note.show(
            "what would decide", f"{done} of {all_of} runs"))
    finally:
        note.end()


def _checked(kernel: full_runs.Kernel) -> list[Check]:
    note = Note()
    try:
        return kernel.check(note.show)
    finally:
        note.end()


def _list(arguments: argparse.Namespace) -> int:
    if arguments.recordings:
        sys.stdout.write(show.list_recordings(arguments.json))
        return 0
    if arguments.workloads:
        print(json.dumps([show.workload(name) for name in raw_writes.ABOUT], indent=1)
              if arguments.json else show.list_workloads(), end="\n" if arguments.json else "")
        return 0
    if arguments.works:
        sys.stdout.write(show.list_works(arguments.json))
        return 0
    found = [load(shipped.locate(name)) for name in shipped.names()]
    if arguments.json:
        print(json.dumps([{"name": e.name, "title": e.title, "question": e.question,
                           "runs": show.runs(e)} for e in found], indent=1))
    else:
        for e in found:
            print(f"{e.name:<16} {show.runs(e):>5} runs  {e.title}")
    return 0


def _show_recording(name: str, as_json: bool) -> int:
    found = recordings.load(name)
    print(json.dumps(show.recording(found), indent=1) if as_json else
          show.describe_recording(found), end="\n" if as_json else "")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    name = arguments.experiment
    if name in recordings.names() and name not in shipped.names():
        return _show_recording(name, arguments.json)
    if name in raw_writes.ABOUT and name not in shipped.names():
        print(json.dumps(show.workload(name), indent=1) if arguments.json else
              show.describe_workload(name), end="\n" if arguments.json else "")
        return 0
    if name not in shipped.names() and "/" not in name and not name.endswith(".toml"):
        known = (*shipped.names(), *recordings.names(), *raw_writes.ABOUT)
        raise LabError(f"no experiment, recording or workload of the name '{name}'; "
                       f"{allowed(name, known)}; flashemu-lab list, list --recordings and list "
                       "--workloads show them; or a path with '/' or .toml")
    experiment = load(shipped.locate(arguments.experiment))
    if arguments.toml:
        sys.stdout.write(experiment.text)
        return 0
    tool = Tool()
    points = plan(experiment, tool)
    if arguments.json:
        print(json.dumps({
            "name": experiment.name, "title": experiment.title, "question": experiment.question,
            "program": tool.program,
            "runs": [{"levels": dict(zip((f.name for f in experiment.factors), p.levels)),
                      "key": p.run.key() if p.run else None,
                      "command": p.run.command() if p.run else None, "message": p.message}
                     for p in points]}, indent=1))
        return 0
    store = engines.store_of(arguments)
    stored = sum(p.run is not None and store.get(p.run) is not None for p in points)
    sys.stdout.write(show.describe(experiment, stored))
    return 0


def _run_shipped(arguments: argparse.Namespace) -> int:
    return _run(load(shipped.locate(arguments.experiment)), arguments)


def _sweep(arguments: argparse.Namespace) -> int:
    flags = [f"--{name}" for name in ("timed", "wrap", "drop-trim")
             if getattr(arguments, name.replace("-", "_"))]
    text = sweep_text(arguments.profile, arguments.operands, arguments.warmup, arguments.depth,
                      arguments.seed, arguments.measure, flags)
    with _without_places("sweep.toml"):
        return _run(parse(text, "sweep.toml"), arguments)


def _advise(arguments: argparse.Namespace) -> int:
    profile, asked = arguments.profile, arguments.workload is not None
    workloads = arguments.workload.split(",") if asked else list(raw_writes.ABOUT)
    raw_writes.check_workloads(workloads)
    if profile.endswith(".json"):
        profile = devices.profile_for_advice(Path(profile), arguments)
    elif arguments.quick or arguments.budget:
        raise LabError(f"{profile}: --quick and --budget are for measurements, whose names end in "
                       ".json")
    device = raw_writes.look(Tool(), profile, tuple(arguments.settings))
    with _without_places("advise.toml"):
        layouts = _table(parse(raw_writes.advise_text(device, workloads), "advise.toml"), arguments)
    if layouts is None:
        return 130
    text = filesystems.filesystems_text(device, workloads, raw_writes.chosen_start(layouts), asked)
    by_filesystem = _table(parse(text, "advise.toml"), arguments) if text else None
    if text and by_filesystem is None:
        return 130
    folder: Path | None = arguments.output
    if folder:
        write_folder(layouts, folder)
        if by_filesystem:
            write_folder(by_filesystem, folder / "filesystems")
    if arguments.json:
        print(json.dumps({**json.loads(result(layouts)), "filesystems":
                          json.loads(result(by_filesystem)) if by_filesystem else None},
                         indent=1, ensure_ascii=False))
    else:
        _print_advice(layouts, by_filesystem, folder, arguments.rows)
    return 1 if layouts.failures or (by_filesystem and by_filesystem.failures) else 0


def _record(arguments: argparse.Namespace) -> int:
    path = arguments.recipes or recipes.shipped_path()
    known = recipes.load(path)
    for name in arguments.recordings:
        if name not in known:
            raise LabError(f"{path}: there is no recipe '{name}'; {allowed(name, known)}")
    chosen = [known[name] for name in arguments.recordings or known]
    folder = arguments.output or recordings.user_folder()
    made = []
    note = Note()
    command = shlex.join(["flashemu-lab", "record", *(
        ["--recipes", str(path)] if arguments.recipes else []), *(
        ["--limit", arguments.limit] if arguments.limit else [])])
    try:
        for file in record(chosen, folder, Tool(), command, note.show, arguments.limit):
            note.end()
            made.append(recordings.load_file(file))
            if not arguments.json:
                print(f"{file}: {made[-1].phases[-1].last} requests", flush=True)
    finally:
        note.end()
    if arguments.json:
        print(json.dumps([show.recording(r) for r in made], indent=1))
    return 0


def _sample(arguments: argparse.Namespace) -> int:
    seeds = list(dict.fromkeys(int(word) for word in arguments.seed.split(",")))
    drawn = sample.draw(Tool(), seeds, arguments.recordings or list(recordings.names()))
    experiment = parse(sample.experiment_text(drawn), "sample.toml")
    arguments.mode = "replay"  # a kernel takes minutes, so what it is compared with comes first
    table = _table(experiment, arguments)
    if table is None:
        return 130
    sample.check(drawn, table)
    arguments.mode = "full"
    table = _table(experiment, arguments)
    if table is None:
        return 130
    arguments.mode = "replay"
    paced = _table(parse(sample.experiment_text(drawn, sample.paces(drawn, table)), "sample.toml"),
                   arguments)
    if paced is None:
        return 130
    found = sample.samples(drawn, table, paced)
    if arguments.output:
        write_whole(arguments.output, replay_accuracy.to_csv(found))
    if arguments.json:
        print(json.dumps([{**asdict(s), "difference": s.difference} for s in found], indent=1))
    else:
        sys.stdout.write(show.describe_samples(found))
    return 0


def _crash(arguments: argparse.Namespace) -> int:
    """Does the cuts that are missing, and prints and writes the result."""
    if crashing.is_wanted(arguments):
        return crashing.crash(arguments)
    tool, store = Tool(), engines.store_of(arguments)
    cuts = {cut.key(): cut for cut in power_cuts.plan(
        tool, arguments.operands, arguments.filesystem, arguments.workload, arguments.cuts or 5,
        arguments.seed, arguments.within, arguments.size, arguments.cut)}
    outcomes: dict[str, Outcome] = {}
    for key, cut in cuts.items():
        if arguments.again:
            store.forget(cut)
        found = store.get(cut)
        if found:
            outcomes[key] = found
    stored = len(outcomes)
    progress = Progress(len(cuts))
    try:
        missing = [cut for key, cut in cuts.items() if key not in outcomes]
        with closing(power_cuts.perform(missing, tool)) as ended:
            for cut, outcome in ended:
                if outcome.status != "lost":
                    store.put(cut, outcome)
                outcomes[cut.key()] = outcome
                progress.show(len(outcomes), stored)
    except KeyboardInterrupt:
        _say_stopped(progress, f"{len(outcomes)} of {len(cuts)} cuts done")
        return 130
    finally:
        progress.end()
    result = results.Crashed(tool.program, [
        results.Done.of(cut, outcomes[key]) for key, cut in cuts.items()])
    if arguments.output:
        make_folder(arguments.output)
        write_whole(arguments.output / "results.json", results.to_json(result))
        write_whole(arguments.output / "index.html", results.to_page(result))
    sys.stdout.write(results.to_json(result) if arguments.json else results.to_text(result))
    if arguments.output and not arguments.json:
        print(f"\n{arguments.output / 'index.html'}")
    return 1 if result.failures else 0


def _report(arguments: argparse.Namespace) -> int:
    outputs.check_page(arguments.output, arguments.force)
    text, path = read_result(arguments.folder)
    here = os.path.relpath(arguments.folder, arguments.output.parent)
    write_whole(arguments.output, results.to_page(results.from_json(text, path))
                if results.is_crash(text)
                else page(from_json(text, path), "" if here == "." else here))
    return 0


def _dispatch(argv: Sequence[str]) -> int:
    parser = build_parser()
    if "--complete" in argv:
        print("\n".join(complete(parser, argv[0])))
        return 0
    known = commands(parser)
    if argv and argv[0] in known and {"--version", "-V"} & set(argv[1:2]):
        print(f"flashemu-lab {Tool().version}")
        return 0
    if argv and argv[0] in known:  # options may stand between operands
        name, arguments = argv[0], known[argv[0]].parse_intermixed_args(list(argv[1:]))
    else:
        name, arguments = "", parser.parse_args(argv)
    if not name and arguments.version:
        print(f"flashemu-lab {Tool().version}")
        return 0
    if not name:
        parser.print_help()
        return 2
    perform = {"list": _list, "show": _show, "run": _run_shipped, "sweep": _sweep,
               "record": _record, "sample": _sample, "crash": _crash, "advise": _advise,
               "report": _report, "life": life.perform, **devices.COMMANDS}
    outputs.check(name, arguments)
    return perform[name](arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line; returns the exit code: 0 done, 1 the answer is no, 2 wrong use or bad
    input, 130 stopped by a signal."""
    words = sys.argv[1:] if argv is None else argv
    signals.catch()
    try:
        code = streams.run(lambda: _dispatch(words))
    except SystemExit as e:  # of argparse
        code = e.code if isinstance(e.code, int) else 2
    return crashing.CANNOT_TELL if code == 2 and "--bisect" in words else code
