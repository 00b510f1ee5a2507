# SPDX-License-Identifier: BSD-3-Clause
"""What happens with a command line.

Only the module of the command is loaded.  numpy alone takes longer than most of what people ask.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import Callable, Sequence

from ..core import progress, signals, streams
from ..core.errors import LabError
from . import outputs
from .completion import commands, complete
from .parser import build_parser

# Which module of this package performs a command, and its function.
_PERFORMED = {
    "list": "looking.list_", "show": "looking.show_", "run": "run.run", "sweep": "run.sweep",
    "report": "run.report", "record": "record.record_", "sample": "record.sample_",
    "advise": "advise.advise", "crash": "crash.crash", "life": "life.life",
    "job": "job.job_",
    "import": "devices.import_", "probe": "devices.probe_", "datasheet": "devices.datasheet_",
    "fit": "fit.fit", "refine": "fit.refine",
}


def performer(command: str) -> Callable[[argparse.Namespace], int]:
    """The function that performs a command."""
    module, name = _PERFORMED[command].split(".")
    found: Callable[[argparse.Namespace], int] = getattr(
        import_module(f".{module}", __package__), name)
    return found


def _spelt(parser: argparse.ArgumentParser, word: str) -> str:
    """A word, with - for _ in the name of an option."""
    name, is_, value = word.partition("=")
    known = name.replace("_", "-")
    return known + is_ + value if known in parser._option_string_actions else word


def _parsed(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command; options may stand between operands.  What `job` has behind -- is
    a command, whatever it looks like, so it is not argparse's."""
    words, command = list(argv), None
    if parser.get_default("command_behind") and "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1:]
    arguments = parser.parse_intermixed_args([_spelt(parser, word) for word in words])
    arguments.command_behind = command
    return arguments


def _refuse_empty(argv: Sequence[str]) -> None:
    """LabError if a word or a value is empty, as that of a shell's variable that is not set.  As a
    path it would be the folder in which one is, and as a name one that was not given."""
    words = argv[:argv.index("--")] if "--" in argv else argv
    for before, word in zip(["", *words], words):
        if not word.strip():
            raise LabError(f"argument {before}: is empty" if before.startswith("-") else
                           "an argument is empty")
        if word.startswith("--") and word.endswith("="):
            raise LabError(f"argument {word[:-1]}: is empty")


def _dispatch(argv: Sequence[str]) -> int:
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks
        complete(parser)
    _refuse_empty(argv)
    if argv and argv[0] in ("-q", "--quiet"):  # an option of all commands
        argv = [*argv[1:2], argv[0], *argv[2:]]
    known = commands(parser)
    if argv and argv[0] in known:
        name, arguments = argv[0], _parsed(known[argv[0]], argv[1:])
    else:
        name, arguments = "", parser.parse_args(argv)
    if not name:
        parser.print_help()
        return 2
    progress.be_quiet(arguments.quiet)
    outputs.check(name, arguments)
    return performer(name)(arguments)


def _code_for_bisect() -> int:
    from ..crash.checks import CANNOT_TELL

    return CANNOT_TELL


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line; returns the exit code: 0 done, 1 the answer is no, 2 wrong use or bad
    input, 130 stopped by a signal."""
    words = sys.argv[1:] if argv is None else argv
    signals.catch()
    try:
        code = streams.run(lambda: _dispatch(words))
    except SystemExit as e:  # of argparse
        code = e.code if isinstance(e.code, int) else 2
    return _code_for_bisect() if code == 2 and "--bisect" in words else code
