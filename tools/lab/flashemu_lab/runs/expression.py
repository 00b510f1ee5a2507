# SPDX-License-Identifier: BSD-3-Clause
"""Numbers from a result.

A measure is an arithmetic expression over the members of `flashemu replay --json` and, behind
`profile.`, over the keys of the profile:

    ftl.waf
    host.write.bytes / elapsed_ns * 1000
    host.write.bytes / (nand.block_erases * profile.nand.endurance)

Quantities of the profile are in bytes, ns, bytes a second, and fractions of 1.
"""

from __future__ import annotations

import ast
import math
import operator
from typing import Callable

from ..core.errors import LabError
from ..core.text import lines_of
from ..core.units import quantity
from .run import Json

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}


def parse_profile(canonical: str) -> dict[str, str]:
    """The keys of a canonical profile, as "SECTION.KEY", with their values as text."""
    found = {}
    section = ""
    for line in lines_of(canonical):
        if line.startswith("["):
            section = line.strip("[]")
        elif "=" in line:
            key, value = line.split("=", 1)
            found[f"{section}.{key.strip()}"] = value.strip()
    return found


def longest_command(canonical: str) -> int:
    """Bytes of the longest command of the device with this canonical profile."""
    return int(quantity(parse_profile(canonical)["link.max_transfer"]) or 0)


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise LabError(f"'{text}' is not an expression; allowed: members of `flashemu replay "
                       "--json`, numbers, + - * / and parentheses") from None


def _path(node: ast.expr) -> list[str] | None:
    """["host", "write"] of host.write."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        front = _path(node.value)
        return [*front, node.attr] if front else None
    return None


def _member(path: list[str], result: Json, profile: dict[str, str]) -> float | None:
    """The number of a member; None for null.  LabError if there is no such number."""
    name = ".".join(path)
    if path[0] == "profile":
        key = ".".join(path[1:])
        if key not in profile:
            raise LabError(f"'{name}': a profile has no key '{key}' (see flashemu help)")
        value = quantity(profile[key])
        if value is None:
            raise LabError(f"'{name}': the value {profile[key]} is not a number")
        return value
    found: object = result
    for i, word in enumerate(path):
        if not isinstance(found, dict) or word not in found:
            place = found if isinstance(found, dict) else {}
            allowed = ", ".join(sorted(place)) or "nothing"
            raise LabError(f"'{name}': there is no '{word}'"
                           f"{' in ' + '.'.join(path[:i]) if i else ''}; allowed: {allowed}")
        found = found[word]
    if found is not None and (isinstance(found, bool) or not isinstance(found, (int, float))):
        raise LabError(f"'{name}' is not a number")
    return found


def evaluate(text: str, result: Json, profile: dict[str, str]) -> float | None:
    """The number that the expression has for a result and its profile.

    None where a member is null (write amplification without a write), something is divided by
    zero, or the result is larger than a number can be.  LabError if the expression is wrong.
    """
    def value(node: ast.expr) -> float | None:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return float(node.value) if abs(node.value) < 1e300 else None
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = value(node.left), value(node.right)
            if left is None or right is None or (isinstance(node.op, ast.Div) and right == 0):
                return None
            made = _OPERATORS[type(node.op)](left, right)
            return made if math.isfinite(made) else None
        path = _path(node)
        if path:
            return _member(path, result, profile)
        raise LabError(f"'{ast.unparse(node)}' in '{text}': allowed are members, numbers, + - * / "
                       "and parentheses")
    found = value(_parse(text))
    return None if found is None else float(found)
