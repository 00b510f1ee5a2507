# SPDX-License-Identifier: BSD-3-Clause
"""Finds out what a test calls of the laboratory, so that a change of a function meets no other tests.

While a test is measured, the laboratory's `__init__.py` has a few lines more, in which Python tells of
each call. So it does not matter how a test starts the laboratory, in how many processes, and how
these end. A function is known by its file and its first line, a module by the file alone.

Tests of the laboratory are scripts of functions, which can be run by name. Which of them runs,
flashemu_script.py says in the environment.
"""

import ast
import difflib
import re
from pathlib import Path
from typing import Iterator

from .python_changes import LAB

# Written at each first call, because a process may be killed.  No call is followed line by line.
_TELLING = '''

def _tell(frame, event, argument, known=set(), folder=__file__.rpartition("/")[0] + "/",
          environ=__import__("os").environ):
    file, first = frame.f_code.co_filename, frame.f_code.co_firstlineno
    if file.startswith(folder):
        place = f"{{environ.get('TEST_FUNCTION', '')}}:{{file[len(folder):]}}:{{first}}\\n"
        if place not in known:
            known.add(place)
            with open({told!r}, "a", encoding="utf-8") as out:
                out.write(place)


__import__("threading").settrace(_tell)
__import__("sys").settrace(_tell)
'''

_DONE = re.compile(r"^ok +(test_\w+) \((\d+\.\d+) s\)$", re.M)

Calls = dict[str, list[int]]  # by file: the first lines of what is called
Functions = dict[str, Calls]  # by function of a test; "" stands for what belongs to none


def telling(text: bytes, told: Path) -> bytes:
    """The laboratory's `__init__.py` with lines that write each call into the file `told`."""
    return text + _TELLING.format(told=str(told)).encode()


def read_calls(told: Path) -> Functions:
    """What has been written into the file `told`, which is missing if nothing was called."""
    found: dict[str, dict[str, set[int]]] = {}
    if told.is_file():
        for line in told.read_text(encoding="utf-8").splitlines():
            function, file, first = line.split(":")
            found.setdefault(function, {}).setdefault(f"{LAB}/{file}", set()).add(int(first))
    return {function: {file: sorted(lines) for file, lines in sorted(calls.items())}
            for function, calls in sorted(found.items())}


def read_seconds(said: Path) -> dict[str, float]:
    """How long each function of a test took that is done, by the test's output."""
    text = said.read_text(encoding="utf-8", errors="replace")
    return {name: float(seconds) for name, seconds in _DONE.findall(text)}


def changed_functions(before: bytes, after: bytes) -> set[int | None]:
    """The first lines of the functions in which a file has changed; None stands for what only runs
    when the file is loaded."""
    functions = list(_functions(before))
    found: set[int | None] = set()
    rows = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for kind, start, end, _, _ in rows.get_opcodes():
        if kind != "equal":
            # a line that comes in belongs to the one above it
            for line in range(start + 1, end + 1) if end > start else [start]:
                found.add(max((a for a, b in functions if a <= line <= b), default=None))
    return found


def _functions(text: bytes) -> Iterator[tuple[int, int]]:
    """The first line of each function, which is that of a decorator, and the last."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            yield min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno


def can_notice(calls: Calls, changed: dict[str, set[int | None]]) -> bool:
    """Whether anything that has changed is called; by file, what `changed_functions` says."""
    return any(first is None or first in calls[file]
               for file, functions in changed.items() if file in calls for first in functions)
