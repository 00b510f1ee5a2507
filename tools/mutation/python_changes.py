# SPDX-License-Identifier: BSD-3-Clause
"""Finds the single changes that can be made to a Python file.

The changes are those of cosmic-ray, which is not in Debian.  So it is installed with pip into an
environment of its own in the state folder, always in the same version: a seed gives the same
changes again.  Of its operators those are used that make mistakes as people make them; a shift
instead of a sum, or 999 999 instead of 1e6, tells nothing about tests.

    relation    n <= limit         n >= limit       (for n < limit)
    arithmetic  done - size        done * size      (for +, and for /)
    negation    if not found:      return value     (for `if found:` and -value)
    condition   a or b             a and b
    constant    rows[i + 2]        rows[i]          True, False
    jump        continue           break
    loop        for x in []:

Annotations, decorators, assertions, literal strings and comments are never changed.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

from .change import Change, made

LAB = "tools/lab/flashemu_lab"
KEPT = ("cosmic-ray==8.7.0", "parso==0.8.7")
_RELATIONS = ("Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt",
              "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is")
_ARITHMETIC = ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Div", "FloorDiv_Mul",
               "Mod_FloorDiv", "Pow_Mul", "LShift_RShift", "RShift_LShift", "BitOr_BitAnd",
               "BitAnd_BitOr", "BitXor_BitOr")
OPERATORS = {
    "relation": [f"ReplaceComparisonOperator_{name}" for name in _RELATIONS],
    "arithmetic": [f"ReplaceBinaryOperator_{name}" for name in _ARITHMETIC],
    "negation": ["AddNot", "ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_USub"],
    "condition": ["ReplaceAndWithOr", "ReplaceOrWithAnd"],
    "constant": ["NumberReplacer", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue"],
    "jump": ["ReplaceBreakWithContinue", "ReplaceContinueWithBreak"],
    "loop": ["ZeroIterationForLoop"],
}
_LARGE = 100_000  # one more or less of a number from here on is no mistake that anybody makes


class OperatorsError(Exception):
    """cosmic-ray is not there and cannot be installed."""


def provide(folder: Path) -> None:
    """Makes cosmic-ray importable; installs it into `folder` at the first time."""
    if not (folder / "ready").is_file():
        for command in ([sys.executable, "-m", "venv", "--clear", str(folder)],
                        [str(folder / "bin/pip"), "install", "-q", *KEPT]):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, encoding="utf-8", check=False)
            if done.returncode:
                last = (done.stdout.strip() or "no message").splitlines()[-1]
                raise OperatorsError(f"cannot install {KEPT[0]}, whose operators change Python: "
                                     f"{last}")
        (folder / "ready").write_text("\n".join(KEPT) + "\n", encoding="utf-8")
    found = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    sys.path.append(str(folder / found))


class PythonParser:
    """Finds the changes of the laboratory's files; `provide` comes first."""

    def __init__(self, top: str) -> None:
        from cosmic_ray.plugins import get_operator  # type: ignore # pylint: disable=all
        self.top = top
        self._operators = [(word, get_operator(f"core/{name}")())
                           for word, names in OPERATORS.items() for name in names]

    @property
    def files(self) -> list[str]:
        """The files that can change."""
        return sorted(os.path.relpath(path, self.top)
                      for path in Path(self.top, LAB).rglob("*.py"))

    def read(self, file: str) -> bytes:
        return Path(self.top, file).read_bytes()

    def changes(self, file: str) -> list[Change]:
        """Every change of one file, in a fixed order."""
        from cosmic_ray.ast import ast_nodes, get_ast  # type: ignore # pylint: disable=all
        text = self.read(file)
        lines = [0]
        for line in text.splitlines(keepends=True):
            lines.append(lines[-1] + len(line))
        left_alone = list(_left_alone(text, lines))
        found = set()
        for node in list(ast_nodes(get_ast(text.decode()))):
            if _is_large(node):
                continue
            for word, operator in self._operators:
                for index, _ in enumerate(operator.mutation_positions(node)):
                    change = _change(file, word, text, lines, node,
                                     _mutated(operator, node, index))
                    if change and not any(a <= change.start < b for a, b in left_alone):
                        found.add(change)
        return sorted(found, key=lambda c: (c.start, c.end, c.operator, c.new))

    def compiles(self, change: Change) -> bool:
        return compiles(change.apply(self.read(change.file)))


def compiles(text: bytes) -> bool:
    """Whether Python understands a file."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _is_large(node: Any) -> bool:
    if node.type != "number":
        return False
    value = ast.literal_eval(node.value)
    return isinstance(value, (int, float)) and value >= _LARGE


def _left_alone(text: bytes, lines: list[int]) -> Iterator[tuple[int, int]]:
    """The ranges of annotations, decorators and assertions."""
    for node in ast.walk(ast.parse(text)):
        parts: list[ast.AST | None] = [getattr(node, "annotation", None),
                                       getattr(node, "returns", None)]
        parts += getattr(node, "decorator_list", [])
        if isinstance(node, ast.Assert):
            parts.append(node)
        for part in parts:
            if isinstance(part, (ast.expr, ast.stmt)) and part.end_lineno is not None:
                assert part.end_col_offset is not None
                yield (lines[part.lineno - 1] + part.col_offset,
                       lines[part.end_lineno - 1] + part.end_col_offset)


def _mutated(operator: Any, node: Any, index: int) -> str:
    """The text of a node after a change; the tree is as it was afterwards."""
    from cosmic_ray.ast import ast_nodes  # pylint: disable=all
    kept = [(n, {name: getattr(n, name) for name in ("value", "prefix") if hasattr(n, name)},
             list(getattr(n, "children", ()))) for n in ast_nodes(node)]
    changed = operator.mutate(node, index)
    text = "" if changed is None else str(changed.get_code())
    for n, values, children in kept:
        if children:
            n.children = children
        else:
            for name, value in values.items():
                setattr(n, name, value)
    return text


def _change(file: str, word: str, text: bytes, lines: list[int], node: Any,
            after: str) -> Change | None:
    """What is left of a change without what is the same at both ends; None if nothing is."""
    before, new = str(node.get_code()).encode(), after.encode()
    line, column = node.end_pos
    last = text[lines[line - 1]:].decode()[:column].encode()
    end = lines[line - 1] + len(last)
    start = end - len(before)
    if text[start:end] != before or before == new:
        return None
    same = len(os.path.commonprefix([before, new]))
    before, new, start = before[same:], new[same:], start + same
    same = len(os.path.commonprefix([before[::-1], new[::-1]]))
    return made(file, word, text, start, end - same, new[:len(new) - same])
