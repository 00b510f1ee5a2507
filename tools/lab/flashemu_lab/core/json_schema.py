# SPDX-License-Identifier: BSD-3-Clause
"""JSON Schema, draft 2020-12, of what `json_text.record` reads: made from the same dataclasses, so
that the two cannot differ."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from typing import Any

from .json_text import MOST

Schema = dict[str, Any]

_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"}, bool: {"type": "boolean"},
    int: {"type": "integer", "exclusiveMinimum": -MOST, "exclusiveMaximum": MOST},
    float: {"type": "number", "exclusiveMinimum": -MOST, "exclusiveMaximum": MOST}}


def of_type(kind: Any) -> Schema:
    """The schema of a member whose type is `kind`, one of those that `record` knows."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return {}
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [of_type(next(k for k in inner if k is not types.NoneType)),
                          {"type": "null"}]}
    if origin in (tuple, list):
        return {"type": "array", "items": of_type(inner[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": of_type(inner[1])}
    if dataclasses.is_dataclass(kind):
        hints, fields = typing.get_type_hints(kind), dataclasses.fields(kind)
        return of_members({f.name: of_type(hints[f.name]) for f in fields}, [
            f.name for f in fields if f.default is dataclasses.MISSING
            and f.default_factory is dataclasses.MISSING])
    return _SCALARS[kind]


def of_members(members: dict[str, Schema], required: list[str]) -> Schema:
    """The schema of an object that has these members and no others."""
    return {"type": "object", "properties": members, "required": required,
            "additionalProperties": False}


def published(name: str, title: str, schema: Schema) -> str:
    """The file of a schema."""
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema",
                       "$id": f"urn:flashemu:{name}", "title": title, **schema}, indent=1) + "\n"
