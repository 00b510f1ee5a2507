# SPDX-License-Identifier: BSD-3-Clause
"""The command `job`: a script in a kernel that lives in the time of emulated devices."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Sequence, TextIO

from ..core.errors import LabError
from ..core.files import can_write, write_whole
from ..core.json_text import loads
from ..core.progress import Note
from ..core.units import quantity
from ..crash.checks import CANNOT_TELL
from ..kernel import job
from ..kernel.timed import Life, Timed
from ..runs.program import Tool
from ..runs.run import Json
from .arguments import MOST_SEED


def job_(arguments: argparse.Namespace) -> int:
    """Runs the job on each device with each seed, or compares two.  The exit code is 1 if the
    script has failed somewhere, or if the second job takes longer than the first."""
    if arguments.compare:
        given = [f"--{name}" for name in ("on", "against", "bisect", "output", "json")
                 if getattr(arguments, name)]
        if given or arguments.words or arguments.command_behind is not None:
            raise LabError("--compare runs no job and writes no file: it is not for "
                           f"{', '.join(given) or 'a script'}")
        first, second = (_read(path) for path in arguments.compare)
        return _compared(first, second)
    if arguments.bisect and not arguments.against:
        raise LabError("--bisect needs --against BASE.json")
    lives = _lives(arguments)
    base = _read(arguments.against) if arguments.against else []
    if arguments.against:
        job.check_comparable(base, lives)
    if arguments.output:
        can_write(arguments.output)
    found, failed = _run(lives, Tool(), arguments.verbose)
    text = json.dumps(found, indent=1) + "\n"
    if arguments.output:
        write_whole(arguments.output, text)
    sys.stdout.write(text if arguments.json else _table(found))
    if failed:
        return CANNOT_TELL if arguments.bisect else 1
    return _compared(base, found, sys.stderr if arguments.json else sys.stdout) if base else 0


def _compared(first: list[Json], second: list[Json], to: TextIO | None = None) -> int:
    """Prints what a comparison says; 1 if the second job takes longer."""
    told = job.compare(first, second)
    print(told.sentence, file=to)
    return int(told.longer)


def _run(lives: list[Life], tool: Tool, verbose: bool) -> tuple[list[Json], bool]:
    """The figures of these lives, and whether a script has failed.  Its output is said then, or
    always."""
    for life in lives:  # a mistake is told before a kernel is built, which takes minutes
        tool.canonical(life.profile, life.overrides)
    timed, note, found = Timed(tool), Note(), []
    failed = False
    try:
        for number, life in enumerate(lives):
            note.show("job", f"{number} of {len(lives)}")
            with tempfile.TemporaryDirectory(prefix="flashemu-job.") as folder:
                try:
                    lived = timed.live(life, Path(folder))
                except LabError as e:
                    raise LabError(f"{life.profile}, seed {life.seed}: {e}") from None
                found.append(job.figures(life, lived))
            failed |= lived.code != 0
            if verbose or lived.code:
                sys.stderr.write(lived.output)
    finally:
        note.end()
    return found, failed


def _lives(arguments: argparse.Namespace) -> list[Life]:
    script = _script(arguments.words, arguments.command_behind)
    if not script or not arguments.on:
        raise LabError("job needs a script or -- CMD, and --on PROFILE; "
                       "or --compare A.json B.json")
    for name in ("mkfs", "mount"):
        if arguments.fs == "none" and getattr(arguments, name):
            raise LabError(f"--{name} needs a filesystem, and not --fs none")
    devices = [str(Path(on).absolute()) if "/" in on else on for on in arguments.on]
    if len(set(devices)) < len(devices):
        raise LabError("a device is named twice")
    if arguments.seed + arguments.seeds - 1 > MOST_SEED:
        raise LabError(f"--seeds {arguments.seeds}: the last one would be larger than {MOST_SEED}")
    think, files = _think(arguments.think), _files(arguments.file)
    return [Life(profile=device, overrides=tuple(arguments.set), script=script, files=files,
                 filesystem=arguments.fs, mkfs=arguments.mkfs, mount=arguments.mount, seed=seed,
                 think_ns=think, limit_s=arguments.timeout, memory_mib=arguments.mem)
            for device in devices
            for seed in range(arguments.seed, arguments.seed + arguments.seeds)]


def _files(told: Sequence[Path]) -> tuple[Path, ...]:
    """What the guest gets, each under its own name in /root.  LabError if two have the same."""
    files: dict[str, Path] = {}
    for path in told:
        if not path.exists():
            raise LabError(f"{path}: no such file")
        file = Path(os.path.abspath(path))
        if not file.name:
            raise LabError(f"--file {path}: has no name")
        if file.name in files:
            raise LabError(f"--file {path}: {files[file.name]} has the same name in the guest")
        files[file.name] = file
    return tuple(files.values())


def _script(words: Sequence[str], command: Sequence[str] | None) -> str:
    """What the guest's shell is given: a file of one's own, or a command, which is everything
    behind --; "" if there is neither."""
    if command is not None and words:
        raise LabError(f"job {words[0]} -- ...: a script, or a command behind --; not both")
    if command and not command[0]:
        raise LabError("job -- '': the command is empty")
    if command:
        return f"cd /mnt\n{shlex.join(command)}\n"
    if not words:
        return ""
    if len(words) > 1:
        raise LabError(f"job {shlex.join(words)}: a command stands behind --, as in job --on "
                       f"PROFILE -- {shlex.join(words)}")
    try:
        return Path(words[0]).read_text()
    except UnicodeDecodeError:
        raise LabError(f"{words[0]}: is no script; a command stands behind --, as in job --on "
                       f"PROFILE -- {words[0]}") from None
    except OSError as e:
        raise LabError(f"{words[0]}: {e.strerror}; a command stands behind --, as in job --on "
                       f"PROFILE -- {words[0]}") from None


def _think(text: str) -> int:
    value = quantity(text)
    if value is None or not 0 <= value <= 10**9 or not text.strip().endswith("s"):
        raise LabError(f"--think {text}: allowed: 0 to 1s, such as 500ns")
    return int(value)


def _read(path: Path) -> list[Json]:
    try:
        found = loads(path.read_text(), str(path))
    except (OSError, ValueError):
        raise LabError(f"{path}: cannot be read as JSON") from None
    if not isinstance(found, list) or not all(job.is_figures(one) for one in found):
        raise LabError(f"{path}: is not what `flashemu-lab job -o` writes")
    return found


def _table(found: Sequence[Json]) -> str:
    rows = [("device", "seed", "time", "on this machine", "written", "requests", "WAF", "syncs",
             "longest")]
    for one in found:
        syncs = [s["ns"] for s in one["syncs"]]
        rows.append((
            one["profile"], str(one["seed"]), f"{one['device_ns'] / 1e9:.6f} s",
            f"{one['host_s']:.1f} s", f"{one['requests']['write']['bytes'] / 1e6:.1f} MB",
            str(sum(r["ops"] for r in one["requests"].values())),
            f"{one['waf']:.2f}" if one["waf"] else "-", str(len(syncs)),
            f"{max(syncs) / 1e6:.3f} ms" if syncs else "-"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(word.ljust(width) if i == 0 else word.rjust(width)
                       for i, (word, width) in enumerate(zip(row, widths))) for row in rows]
    for one in found:
        if one["marks"] and len(found) == 1:
            lines += [f"{m['at_ns'] / 1e9:15.6f} s  {m['name']}" for m in one["marks"]]
    kernels = sorted({str(one["kernel"]) for one in found})
    thinks = sorted({int(one["think_ns"]) for one in found})
    lines.append(f"kernel {', '.join(kernels)}; what programs compute takes no time, and a system "
                 f"call {', '.join(map(str, thinks))} ns")
    return "\n".join(lines) + "\n"
