# SPDX-License-Identifier: BSD-3-Clause
"""The commands that are about real devices, as a shell calls them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Callable, Mapping

from . import importing, measurement
from .errors import LabError, quantity
from .tool import Tool

Add = Callable[[str, str], argparse.ArgumentParser]


def _bytes(text: str) -> int:
    value = quantity(text)
    if value is None or value < 1 or value != int(value) or value >= 1 << 62 or \
            text.strip().endswith(("s", "%")):
        raise argparse.ArgumentTypeError(f"{text}: allowed: bytes, such as 7948206080 or 8GB")
    return int(value)


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
                   help="output of flashbench, fio (JSON), iozone, hdparm -t and dd")
    c.add_argument("-o", "--output", metavar="OUT.json", type=Path, required=True,
                   help="the measurement")
    c.add_argument("--capacity", metavar="SIZE", type=_bytes, default=0,
                   help="of the device (what the files say)")
    _about(c)
    c.add_argument("--skipped", action="store_true", help="print the lines that said nothing")
    c.add_argument("--json", action="store_true", help="print JSON")


def keeps_inputs(output: Path, inputs: list[Path]) -> None:
    """LabError if the output would replace an input."""
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise LabError(f"-o {output}: is one of the inputs; allowed: another file")


def _import(arguments: argparse.Namespace) -> int:
    keeps_inputs(arguments.output, arguments.files)
    logs = [importing.read_file(path) for path in arguments.files]
    found = importing.join(logs, f"flashemu-lab import {Tool().version}", arguments.name,
                           arguments.capacity, arguments.state, arguments.host)
    measurement.save(found, arguments.output)
    if arguments.json:
        print(json.dumps({
            "points": len(found.points), "values": sum(len(p.values) for p in found.points),
            "files": [{"name": log.name, "lines": log.lines, "skipped": len(log.skipped),
                       "values": sum(len(p.values) for p in log.points),
                       **({"skipped_lines": log.skipped} if arguments.skipped else {})}
                      for log in logs]}, indent=1))
        return 0
    for log in logs:
        print(importing.summary(log))
        for line in log.skipped if arguments.skipped else ():
            print(f"  skipped: {line}".encode(errors="replace").decode())
    print(f"{arguments.output}: {len(found.points)} points")
    sys.stdout.flush()
    return 0


COMMANDS: Mapping[str, Callable[[argparse.Namespace], int]] = {"import": _import}
