# SPDX-License-Identifier: BSD-3-Clause
"""The command line: commands, options and what their values may be.

What a command does is elsewhere, and this module loads nothing of it, because the shell asks for
the parser at each press of the tabulator.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Any, Callable, NoReturn

from ..advise import workloads
from ..core.text import meant
from ..core.units import decimal, in_bytes
from ..crash import choices
from ..experiment.bounds import MOST_RUNS, MOST_SETS
from ..fit import budget
from ..life import asked
from ..kernel.choices import FILESYSTEMS, KERNELS
from ..probe.budget import Budget
from ..recording.recordings import LIMITS
from . import outputs
from .arguments import MOST_SEED, number, seeds
from .completion import commands

_ABOUT = """\
Experiments with emulated flash devices, in virtual time.

An experiment is a file that names what is varied, the device, the requests and what is measured.
Every combination is run, results are stored, and the answer is computed and drawn."""
_YEARS = (1990, 2100)

Add = Callable[[str, str], argparse.ArgumentParser]


class _Once(argparse.Action):
    """An option with a value: a second value would replace the first one."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
                 values: Any, option_string: str | None = None) -> None:
        given: set[str] = namespace.__dict__.setdefault("_given", set())
        if option_string:
            if self.dest in given:
                parser.error(f"argument {option_string}: given twice, allowed once")
            given.add(self.dest)
        setattr(namespace, self.dest, values)


class _Version(argparse.Action):
    """-V and --version, wherever they stand."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
                 values: Any, option_string: str | None = None) -> NoReturn:
        from ..runs.program import Tool

        print(f"flashemu-lab {Tool().version}")
        sys.exit(0)


class _Parser(argparse.ArgumentParser):
    """Wrong use is one line, as the C program says it."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **options)
        for name in (None, "store"):
            self.register("action", name, _Once)
        self.add_argument("-V", "--version", action=_Version, nargs=0, help="print the version")

    def error(self, message: str) -> NoReturn:
        print(f"flashemu-lab: {message}{self._meant(message)} (try {self.prog} --help)",
              file=sys.stderr)
        sys.exit(2)

    def _meant(self, message: str) -> str:
        """The command or the option that somebody may have meant, as a question."""
        typed = re.search(r"invalid choice: '([^']*)'|unrecognized arguments: --([^ =]*)", message)
        if not typed:
            return ""
        if typed[1]:
            return meant(typed[1], commands(self))
        options = [option[2:] for action in self._actions for option in action.option_strings
                   if option.startswith("--")]
        return meant(typed[2], options, "--")


# The words of the help, and what may stand there: SIZE, TIME, TIME|SIZE, SECONDS.

def _size(text: str) -> int:
    found = in_bytes(text)
    if not found or found != int(found) or found >= 1 << 62:
        raise argparse.ArgumentTypeError(f"{text}: allowed: bytes, such as 7948206080 or 8GB")
    return int(found)


def _size_a_day(text: str) -> float:
    found = in_bytes(text.removesuffix("/day"))
    if not found:
        raise argparse.ArgumentTypeError(f"{text}: allowed: a size such as 500MB or 2G")
    return found


def _time(text: str) -> float:
    """In seconds."""
    found = asked.seconds(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text}: allowed: a time such as 10s, 5min, 2h, 30d or "
                                         "3y")
    return found


def _time_or_size(text: str) -> Budget:
    seconds, written = asked.seconds(text), in_bytes(text)
    if text.strip()[-1:].isdigit() or not (seconds or written):
        raise argparse.ArgumentTypeError(f"{text}: allowed: a time or bytes to write, such as 600s "
                                         "or 2G")
    return Budget(seconds=seconds) if seconds else Budget(written=int(written or 0))


def _fio_options(text: str) -> dict[str, str]:
    """Options as fio has them; what they mean is looked at as if a log had said them."""
    from ..measurement.readers.fio_options import Refused, understood

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


def _cuts(text: str) -> int:
    try:
        return 0 if text == "all" else number(1)(text)
    except argparse.ArgumentTypeError as e:
        raise argparse.ArgumentTypeError(f"{e}, or all") from None




def _seconds(text: str) -> float:
    value = decimal(text)
    if not value or value > 1e6:
        raise argparse.ArgumentTypeError(f"{text}: allowed: seconds, more than 0 and up to 1000000")
    return value


def _common(command: argparse.ArgumentParser) -> None:
    """The options of everything that runs an experiment."""
    command.add_argument("-o", "--output", metavar="DIR", type=Path,
                         help="write page, pictures, CSV and JSON into this folder")
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    _add_engine(command)
    command.add_argument("--again", action="store_true",
                         help="execute stored runs, too, and compare")
    command.add_argument("--retry", action="store_true",
                         help="execute runs that have failed once more")
    command.add_argument("--ensemble", metavar="N", default=0,
                         type=number(1, MOST_SETS),
                         help="also run with N sets of parameters that fit the published figures "
                         "as well, and say in how many of them the conclusion holds")
    command.add_argument("--ensemble-seed", metavar="N", type=number(0, MOST_SEED), default=1,
                         help="of the draws of --ensemble (1)")
    command.add_argument("--most", metavar="N", type=number(1), default=MOST_RUNS,
                         help=f"how many runs are allowed ({MOST_RUNS})")


def _add_engine(command: argparse.ArgumentParser) -> None:
    """The options of everything that makes runs."""
    command.add_argument("--jobs", metavar="N", type=number(1, 1024), default=os.cpu_count() or 1,
                         help="how many runs at the same time (one for each processor)")
    command.add_argument("--engine", metavar="local|dask", choices=("local", "dask"),
                         default="local",
                         help="what executes runs: this machine, or the workers of a Dask cluster")
    command.add_argument("--scheduler", metavar="ADDRESS", default="",
                         help="of the Dask cluster, such as tcp://10.0.0.1:8786")
    command.add_argument("--store", metavar="FOLDER", type=Path, default=None,
                         help="where results are kept ($FLASHEMU_LAB_STORE, or "
                         "~/.cache/flashemu-lab)")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; the completion walks it."""
    parser = _Parser(prog="flashemu-lab", description=_ABOUT, allow_abbrev=False,
                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def add(name: str, about: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".",
                                   allow_abbrev=False)
        made.add_argument("-q", "--quiet", action="store_true", help="show no progress")
        return made

    _add_experiments(add)
    _add_recordings(add)
    _add_crash(add)
    _add_job(add)
    _add_life(add)
    _add_devices(add)
    c = add("report", "make the page of a result again")
    c.add_argument("folder", metavar="DIR", type=Path)
    c.add_argument("-o", "--output", metavar="OUT.html", type=Path, required=True,
                   help="the page")
    for name, command in commands.choices.items():
        if name in outputs.COMMANDS:
            command.add_argument("--force", action="store_true",
                                 help="replace what is there, also if flashemu-lab has not made it")
    return parser


def _add_experiments(add: Add) -> None:
    c = add("list", "the shipped experiments, or recordings, or workloads")
    what = c.add_mutually_exclusive_group()
    what.add_argument("--recordings", action="store_true", help="recordings instead")
    what.add_argument("--workloads", action="store_true",
                      help="what advise, and its recordings, are about instead")
    what.add_argument("--works", action="store_true", help="the works of life instead")
    c.add_argument("--json", action="store_true", help="print JSON")
    c = add("show", "what an experiment does, or what is in a recording, or a workload")
    c.add_argument("experiment", metavar="EXPERIMENT|RECORDING|WORKLOAD|FILE.toml")
    form = c.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true",
                      help="print JSON, with the command of each run")
    form.add_argument("--toml", action="store_true", help="print the file, to copy and change")
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
    _add_kernel(c)
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


def _add_kernel(c: argparse.ArgumentParser) -> None:
    """Which kernel does it; "" leaves the choice to the environment."""
    c.add_argument("--kernel", choices=KERNELS, default="", metavar="|".join(KERNELS),
                   help="timed: lives in the time of the device; vm: in a virtual machine; auto: "
                   "timed where it has been built (auto)")


def _add_recordings(add: Add) -> None:
    c = add("record", "record what a kernel's filesystems ask of a device")
    c.add_argument("recordings", metavar="RECORDING", nargs="*",
                   help="names of recipes; all of them without any")
    c.add_argument("--recipes", metavar="FILE.toml", type=Path, default=None,
                   help="recipes of your own (those of the shipped recordings)")
    c.add_argument("-o", "--output", metavar="DIR", type=Path, default=None,
                   help="where to write (~/.local/share/flashemu/recordings)")
    c.add_argument("--limit", choices=LIMITS, default="",
                   help="longest request of the host (that of the recipe's device)")
    _add_kernel(c)
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
    _add_kernel(c)
    c.set_defaults(sample=0, sample_seed=1, ensemble=0, engine="local", scheduler="",
                   again=False, retry=False, most=MOST_RUNS)

    c = add("advise", "where to start a partition and how to format it, and what else costs")
    c.add_argument("profile", metavar="PROFILE|MY.json",
                   help="a profile's name, or a path to one, or to a measurement")
    c.add_argument("settings", metavar="KEY=VALUE", nargs="*", default=[],
                   help="changes keys of the profile")
    _add_fit_options(c)
    c.add_argument("--workload", metavar="NAME,...", default=None,
                   help=f"what the device is for: {', '.join(workloads.ABOUT)} (all of them)")
    c.add_argument("--rows", action="store_true", help="print the numbers of all runs, too")
    _common(c)


def _add_crash(add: Add) -> None:
    c = add("crash", "cut the power under filesystems, in a virtual machine")
    c.add_argument("operands", metavar="PROFILE|KEY=VALUE", nargs="*",
                   help="devices, and keys that are set for all of them")
    c.add_argument("--filesystem", metavar="NAME,...", default="",
                   help="some cuts only; the older name of --fs")
    c.add_argument("--workload", metavar="NAME,...", default="",
                   help=f"some cuts only, under {', '.join(choices.WORKLOADS)} (files); --fs is "
                   f"then of {', '.join(choices.FILESYSTEMS)} ({choices.USUAL})")
    c.add_argument("--cuts", metavar="N|all", type=_cuts, default=0,
                   help="power cuts for each device, filesystem and workload (5); with --run of "
                   "all instants (all)")
    c.add_argument("--seed", metavar="N", type=number(0, MOST_SEED), default=1,
                   help="of the cuts' places (1)")
    c.add_argument("--within", metavar="N", type=number(1), default=0,
                   help="with --workload: each cut is within this many writes to the device (300)")
    c.add_argument("--size", metavar="SIZE", default="",
                   help="use so much of a larger device (512M with --workload)")
    c.add_argument("--cut", metavar="ID", action="append", default=[],
                   help="do only this cut, by its id")
    c.add_argument("-o", "--output", metavar="DIR", type=Path,
                   help="write index.html and results.json into this folder")
    c.add_argument("--json", action="store_true", help="print the result as JSON")
    c.add_argument("--store", metavar="FOLDER", type=Path, default=None,
                   help="where results are kept")
    c.add_argument("--again", action="store_true", help="do stored cuts again, and replace them")
    _add_own_crash(c)


def _add_job(add: Add) -> None:
    c = add("job", "run a script in a kernel that lives in the time of emulated devices")
    c.set_defaults(command_behind=True)
    c.add_argument("words", metavar="FILE|-- CMD", nargs="*",
                   help="a script for bash, or behind -- a command; /mnt is the filesystem on the "
                        "device, $DEV the device, and `mark NAME` notes an instant")
    c.add_argument("--on", metavar="PROFILE", action="append", default=[],
                   help="on this device; several times for several devices")
    c.add_argument("--set", metavar="KEY=VALUE", action="append", default=[],
                   help="override a key of the profile")
    c.add_argument("--fs", metavar="FS", default="ext4",
                   choices=FILESYSTEMS,
                   help="the filesystem (ext4); none: the script does all with $DEV")
    c.add_argument("--mkfs", metavar="OPTIONS", default="", help="of mkfs.FS")
    c.add_argument("--mount", metavar="OPTIONS", default="", help="such as noatime")
    c.add_argument("--file", metavar="PATH", action="append", default=[], type=Path,
                   help="a file for the guest, in /root")
    c.add_argument("--think", metavar="TIME", default="0s",
                   help="what each system call costs the host (0s)")
    c.add_argument("--seed", metavar="N", type=number(0, MOST_SEED), default=1,
                   help="of the device and of the guest's randomness (1)")
    c.add_argument("--seeds", metavar="N", type=number(1, 1000), default=1,
                   help="run it with so many seeds, from --seed on (1)")
    c.add_argument("--timeout", metavar="S", type=number(1, 86400), default=600,
                   help="seconds of this machine for each run (600)")
    c.add_argument("--mem", metavar="MIB", type=number(128, 65536), default=512,
                   help="the guest's memory (512)")
    c.add_argument("--verbose", action="store_true",
                   help="say on standard error what the script has said")
    c.add_argument("--compare", metavar=("A.json", "B.json"), nargs=2, type=Path,
                   help="say whether the jobs of these files take the same time")
    c.add_argument("--against", metavar="BASE.json", type=Path,
                   help="say whether it takes as long as the job of this file; the exit code is 1 "
                        "if it takes longer")
    c.add_argument("--bisect", action="store_true",
                   help="with --against: the exit codes that git bisect run takes")
    c.add_argument("-o", "--output", metavar="OUT.json", type=Path, help="the result as JSON")
    c.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_own_crash(c: argparse.ArgumentParser) -> None:
    """The options of this way to crash."""
    c.add_argument("--run", metavar="CMD", default="",
                   help="record this command, which finds the device in $FLASHEMU_URI, and cut the "
                   "power at every operation of the chip")
    c.add_argument("--trace", metavar="FILE", default="",
                   help="instead of --run: what was recorded elsewhere, a trace with data or a log "
                   "of dm-log-writes")
    c.add_argument("--behind", metavar="MARK", default="",
                   help="cut only behind the first mark with this text (all instants; with --fs "
                   "and without --trace, behind the mount)")
    c.add_argument("--check", metavar="CMD", default="",
                   help="judge each state: 0 kept, 125 cannot tell, else broken")
    c.add_argument("--fs", metavar="NAME,...", default="",
                   help="record the work on each of these filesystems, in the virtual machine, and "
                   f"let a kernel judge each state: {', '.join(choices.RECORDED)}")
    c.add_argument("--mount", metavar="[FS:]OPTIONS", action="append", default=[],
                   help="with --fs: mount options, of one filesystem or of all")
    _add_kernel(c)
    c.add_argument("--work", metavar="NAME", default="",
                   help="a work that comes with its check (files; without --fs: log)")
    c.add_argument("--file", metavar="PATH", action="append", default=[],
                   help="with --fs: a file or folder that the machine gets, in /root")
    c.add_argument("--state", metavar="ID", default="",
                   help="judge only this state again")
    c.add_argument("--second", metavar="N", type=number(0), default=8,
                   help="with --run: one cut of N is cut again while the device recovers (8)")
    c.add_argument("--judge", metavar="N|all", type=_cuts, default=0,
                   help="judge so many of the states, drawn by --seed (all)")
    c.add_argument("--subsets", metavar="N", type=number(0), default=0,
                   help="with --run: besides, N states for which no device is asked: any part of "
                   "what was not flushed, as faults.cut_sector says (0)")
    c.add_argument("--strict", action="store_true",
                   help="with --subsets: a promise that is broken there counts, too")
    c.add_argument("--jobs", metavar="N", type=number(1, 1024),
                   default=len(os.sched_getaffinity(0)),
                   help="with --check: how many at a time (one for each processor)")
    c.add_argument("--timeout", metavar="SECONDS", type=_seconds, default=60,
                   help="of each --check; ten times as long for --run (60)")
    c.add_argument("--bisect", action="store_true",
                   help="exit code 125 where it would be 2, or if nothing can be judged")
    c.add_argument("--junit", metavar="FILE", type=Path, help="write the verdicts as JUnit's XML")


def _add_life(add: Add) -> None:
    """Adds the parser."""
    c = add("life", "how long cards live under a work, and what helps")
    c.add_argument("words", metavar="WORK|KEY=VALUE", nargs="+",
                   help="a shipped work (" + ", ".join(asked.shipped()) + "), rec:RECORDING, "
                   "gen:PATTERN, host=SIZE or chip=SIZE a day, a trace, two readings of "
                   "/proc/diskstats, or what iostat, sar -d or mmc extcsd read has printed; and "
                   "keys "
                   "of the profiles")
    c.add_argument("--card", metavar="PROFILE", action="append", default=[],
                   help=f"the card, or several side by side ({asked.CARD})")
    c.add_argument("--per-day", metavar="SIZE", type=_size_a_day, default=0.0,
                   help="how much the host writes in a day")
    c.add_argument("--every", metavar="TIME", type=_time, default=0.0,
                   help="how often a recording or a trace happens, such as 1h")
    c.add_argument("--apart", metavar="TIME", type=_time, default=0.0,
                   help="the time between two readings, where they do not say it")
    c.add_argument("--age", metavar="TIME", type=_time, default=0.0,
                   help="how long a device has been used, for mmc extcsd")
    c.add_argument("--device", metavar="NAME", default="",
                   help="which device of a reading (the disk with most writes)")
    c.add_argument("--year", metavar="N", type=number(*_YEARS), default=0,
                   help="of the card, which decides about its endurance where the profile does not")
    c.add_argument("--only", action="store_true", help="without what would be if")
    c.add_argument("--most", metavar="N", type=number(1), default=asked.Effort.most,
                   help=f"how many requests of a work are replayed at most ({asked.Effort.most})")
    c.add_argument("--cards", metavar="N", type=number(10, 1000000), default=asked.DRAWS,
                   help=f"how many cards are drawn ({asked.DRAWS})")
    c.add_argument("--seed", metavar="N", type=number(0, MOST_SEED), default=1,
                   help="of the cards that are drawn (1)")
    c.add_argument("-o", "--output", metavar="DIR", type=Path,
                   help="write index.html and results.json into this folder")
    c.add_argument("--json", action="store_true", help="print the result as JSON")
    _add_engine(c)


def _about(command: argparse.ArgumentParser) -> None:
    """What the user knows about the device, and no program."""
    command.add_argument("--name", metavar="TEXT", default="", help="what the device is called")
    command.add_argument("--state", metavar="TEXT", default="",
                         help="what is known about its past, such as new")
    command.add_argument("--host", metavar="TEXT", default="",
                         help="in or through what it was measured, such as a reader")


def _add_devices(add: Add) -> None:
    """Adds the parsers of these commands; `add` makes one from its name and a sentence."""
    c = add("import", "make a measurement from what benchmarks have printed")
    c.add_argument("files", metavar="FILE", nargs="+", type=Path,
                   help="what a benchmark has printed, or a table")
    c.add_argument("--device", metavar="NAME", default="",
                   help="which device of a table that has several")
    c.add_argument("-o", "--output", metavar="OUT.json", type=Path, required=True,
                   help="the measurement")
    c.add_argument("--capacity", metavar="SIZE", type=_size, default=0,
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
    c.add_argument("--budget", metavar="TIME|SIZE", type=_time_or_size, default=Budget(),
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


def _add_fit_options(command: argparse.ArgumentParser) -> None:
    """What decides how long `fit` and `refine` take."""
    command.add_argument("--quick", action="store_true",
                         help=f"a budget of {budget.QUICK} comparisons")
    command.add_argument("--budget", metavar="N", default=0,
                         type=number(budget.LEAST_BUDGET, budget.MOST_BUDGET),
                         help="how many sets of parameters to compare, "
                              f"{budget.LEAST_BUDGET} to {budget.MOST_BUDGET} ({budget.BUDGET})")


def _add_fit(add: Add) -> None:
    _add_search(add("fit", "make a profile from a measurement"), "MY",
                "write the profile even if it does not come near, or if the measurement has too "
                "few figures")
    c = add("refine", "bring the numbers of a profile nearer to a measurement")
    c.add_argument("profile", metavar="PROFILE",
                   help="the name of a shipped profile, or a file that ends in .ini")
    _add_search(c, "NEW", "even if the measurement has too few figures")


def _add_search(command: argparse.ArgumentParser, output: str, anyway: str) -> None:
    """What `fit` and `refine` have, and no other command: the measurement, the profile that they
    write, and how they search."""
    command.add_argument("measurement", metavar="MY.json", type=Path,
                         help="a measurement, from import or probe")
    command.add_argument("-o", "--output", metavar=f"{output}.ini", type=Path, required=True,
                         help=f"the profile; the page {output}.html says how near it comes")
    _add_fit_options(command)
    command.add_argument("--anyway", action="store_true", help=anyway)
    command.add_argument("--seed", metavar="N", type=number(0, 2**32 - 1), default=1,
                         help="of the search (1)")
    command.add_argument("--jobs", metavar="N", type=number(1, 1024), default=os.cpu_count() or 1,
                         help="how many comparisons at the same time (one for each processor)")
    command.add_argument("--json", action="store_true", help="print JSON")
