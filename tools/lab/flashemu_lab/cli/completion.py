# SPDX-License-Identifier: BSD-3-Clause
"""What the completion of a shell asks for.

    flashemu-lab --complete            commands, each with its operands
    flashemu-lab COMMAND --complete    options, each with the kind of its value
"""

from __future__ import annotations

import argparse
from typing import Iterator


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the commands, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def complete(parser: argparse.ArgumentParser, word: str) -> Iterator[str]:
    """The lines for the first word of a command line."""
    known = commands(parser)
    if word not in known:
        for name, command in known.items():
            operands = [str(a.metavar) + ("..." if a.nargs == "+" else "")
                        for a in command._actions if not a.option_strings]
            yield " ".join([name, *operands])
        return
    for action in known[word]._actions:
        for option in action.option_strings:
            takes_value = action.nargs is None
            yield f"{option} {action.metavar}" if takes_value else option
