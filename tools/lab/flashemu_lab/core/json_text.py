# SPDX-License-Identifier: BSD-3-Clause
"""JSON that somebody else may have written or damaged.

`loads` takes only what JSON is: no NaN, no Infinity, no number that is none (1e400), no file that
nests deeper than this program can follow.  `record` makes a dataclass of an object by the types of
its fields, and names the member that is wrong.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from typing import Any, TypeVar

from .errors import LabError

# Numbers of files lie far below this; a sum or a product of some of them is still a number.
MOST = 1e18
_T = TypeVar("_T")


def loads(text: str, name: str) -> Any:
    """The value of a text; LabError with `name` in front if it is no JSON."""
    if not text.strip():
        raise LabError(f"{name}: is empty")
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_number)
    except json.JSONDecodeError as e:
        raise LabError(f"{name}:{e.lineno}: is no JSON: {_SAID.get(e.msg, e.msg)}") from None
    except (ValueError, RecursionError):
        raise LabError(f"{name}: is no JSON that can be read") from None


# What Python says of a text, as this program says it.
_SAID = {
    "Expecting value": "a value is missing",
    "Extra data": "something stands behind its end",
    "Expecting property name enclosed in double quotes": "a name in double quotes is missing",
    "Illegal trailing comma before end of object": "a comma stands in front of a '}'",
    "Illegal trailing comma before end of array": "a comma stands in front of a ']'",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting ',' delimiter": "a comma is missing",
    "Unterminated string starting at": "a text has no end",
    "Invalid control character at": "a text has a control character",
    "Invalid \\escape": "a text has an escape that JSON does not know",
    "Invalid \\uXXXX escape": "a text has an escape that JSON does not know",
}


def _no_number(word: str) -> float:
    raise json.JSONDecodeError(f"{word} is no number", word, 0)


def _number(word: str) -> float:
    value = float(word)
    return value if math.isfinite(value) else _no_number(word)


def shown(value: object) -> str:
    """A value as it is in the file, cut to a line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."


def wrong(path: str, value: object, allowed: str) -> LabError:
    """The mistake of a member."""
    return LabError(f"{path}: {shown(value)}; allowed: {allowed}")


def record(kind: type[_T], value: object, path: str) -> _T:
    """The dataclass `kind` of an object that has its fields and no others; a field with a default
    may be missing.  LabError names the member, such as "rows[3].key: 7; allowed: a text".

    Fields are texts, whole numbers, numbers, flags, dataclasses, tuples, lists and dictionaries of
    such, X | None, or Any.
    """
    found = _object(value, path)
    fields = {f.name: f for f in dataclasses.fields(typing.cast(Any, kind))}
    for key in found:
        if key not in fields:
            raise LabError(f"{path}: unknown member {shown(key)}; allowed: "
                           f"{', '.join(sorted(fields))}")
    hints = typing.get_type_hints(kind)
    members = {}
    for name, field in fields.items():
        if name in found:
            members[name] = member(hints[name], found[name], f"{path}.{name}".lstrip("."))
        elif field.default is dataclasses.MISSING and \
                field.default_factory is dataclasses.MISSING:
            raise LabError(f"{path}: {name} is missing")
    return kind(**members)


def member(kind: Any, value: object, path: str) -> Any:
    """The value of a member whose type is `kind`, one of those that `record` knows."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin in (types.UnionType, typing.Union):
        return None if value is None else member(
            next(k for k in inner if k is not types.NoneType), value, path)
    if origin in (tuple, list):
        found = [member(inner[0], v, f"{path}[{i}]") for i, v in enumerate(_list(value, path))]
        return tuple(found) if origin is tuple else found
    if origin is dict:
        return {k: member(inner[1], v, f"{path}.{k}") for k, v in _object(value, path).items()}
    if dataclasses.is_dataclass(kind):
        return record(typing.cast(type[Any], kind), value, path)
    return _scalar(kind, value, path)


def _scalar(kind: type, value: object, path: str) -> object:
    if kind is bool or isinstance(value, bool):
        if kind is not bool or not isinstance(value, bool):
            raise wrong(path, value, _NAMES[kind])
        return value
    if kind is str and not isinstance(value, str):
        raise wrong(path, value, _NAMES[str])
    if kind is int and (not isinstance(value, int) or abs(value) >= MOST):
        raise wrong(path, value, _NAMES[int])
    if kind is float and (not isinstance(value, (int, float)) or abs(value) >= MOST):
        raise wrong(path, value, _NAMES[float])
    return value


_NAMES = {str: "a text", int: "a whole number below 10^18", float: "a number below 10^18",
          bool: "true or false"}


def _object(value: object, path: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise wrong(path or "the file", value, "an object")
    return value


def _list(value: object, path: str) -> list[object]:
    if not isinstance(value, list):
        raise wrong(path, value, "a list")
    return value
