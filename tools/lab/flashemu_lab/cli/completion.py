# SPDX-License-Identifier: BSD-3-Clause
"""Completion in a shell, by argcomplete.

argcomplete walks the parser, and asks for each operand and each value what it may be.  That follows
from the words in capitals of its metavar: PROFILE|MY.json is a profile or a file.  What has none of
the words below, such as a number, is left to the user.
"""

from __future__ import annotations

import argparse
import re
from typing import Callable, Iterable, Sequence

from ..advise.workloads import ABOUT
from ..core.errors import module
from ..crash import choices
from ..experiment import shipped
from ..life import asked
from ..recording import recordings


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the commands, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _profiles() -> Iterable[str]:
    from ..runs.program import Tool  # starts programs, which help need not load

    return Tool().profiles()


def _keys() -> Iterable[str]:
    from ..runs.program import Tool

    return [f"{key}=" for key in Tool().keys()]


def _recorded() -> Iterable[str]:
    return [recordings.PREFIX + name for name in recordings.names()]


_WORDS: dict[str, Callable[[], Iterable[str]]] = {
    "PROFILE": _profiles, "KEY": _keys, "EXPERIMENT": shipped.names, "TRACE": _recorded,
    "RECORDING": recordings.names, "WORKLOAD": lambda: ABOUT,
    "WORK": lambda: [*asked.shipped(), *_recorded()],
}
# Options of which several values stand in one word, by command.
_LISTS: dict[tuple[str, str], Iterable[str]] = {
    ("advise", "workload"): ABOUT, ("crash", "workload"): choices.WORKLOADS,
    ("crash", "filesystem"): choices.FILESYSTEMS, ("crash", "fs"): tuple(choices.RECORDED),
}
_FILES = {"FILE", "DIR", "FOLDER", "TRACE", "WORK", "MY", "OUT", "NEW", "DEVICE"}


class _Completer:
    """What may stand for one operand, or for the value of one option."""

    def __init__(self, command: str, action: argparse.Action, files: Callable[..., list[str]]
                 ) -> None:
        self.kinds = re.findall("[A-Z]+", str(action.metavar))
        self.several = _LISTS.get((command, action.dest), ())
        self.files = files

    def __call__(self, prefix: str, **others: object) -> list[str]:
        before, comma, _ = prefix.rpartition(",")
        found = [before + comma + word for word in self.several]
        for kind in self.kinds:
            found += _WORDS[kind]() if kind in _WORDS else ()
        if _FILES & set(self.kinds):
            found += self.files(prefix=prefix, **others)
        return found


def _options_first(command: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """The words behind a command with its operands at the end, because argparse takes operands on
    both sides of an option for different ones.  An option without its value stays the last word."""
    takes = {option: action.nargs is None for action in command._actions
             for option in action.option_strings}
    options: list[str] = []
    operands: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if not takes.get(word):
            (options if word.startswith("-") else operands).append(word)
        elif left:
            options += [word, left.pop(0)]
        else:
            operands.append(word)
    return [*options, *operands]


def complete(parser: argparse.ArgumentParser) -> None:
    """Answers a shell that asks by argcomplete's protocol, and ends the program."""
    argcomplete = module("argcomplete", "python3-argcomplete")
    files = argcomplete.completers.FilesCompleter()
    known = commands(parser)
    for name, command in known.items():
        for action in command._actions:
            if action.choices is None:
                vars(action)["completer"] = _Completer(name, action, files)
    finder = argcomplete.CompletionFinder()
    of_words = finder._get_completions

    def in_order(words: list[str], *others: object) -> list[str]:
        if words[1:] and not words[1].startswith("-"):
            if words[1] not in known:
                return []
            words = [*words[:2], *_options_first(known[words[1]], words[2:])]
        found: list[str] = of_words(words, *others)
        return found

    finder._get_completions = in_order
    finder(parser, always_complete_options=False)
