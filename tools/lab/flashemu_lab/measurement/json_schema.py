# SPDX-License-Identifier: BSD-3-Clause
"""The JSON Schema of a measurement, from the table of procedures.

What no schema can say is left to the program: that `source` is an index of `sources`.
"""

from __future__ import annotations

from ..core.json_schema import Schema, of_members, published
from ..core.json_text import MOST
from .schema import FORMAT, PROCEDURES, READ, SHARE, TIME, Parameter, Procedure

_TEXT: Schema = {"type": "string"}
_POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": MOST}
_FROM_0: Schema = {"type": "number", "minimum": 0, "exclusiveMaximum": MOST}
_SIGNED: Schema = {"type": "number", "exclusiveMinimum": -MOST, "exclusiveMaximum": MOST}


def _whole(least: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": 2**63 - 1}


def _some(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 1}


def _maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _parameter(p: Parameter) -> Schema:
    if p.kind == "flag":
        return {"type": "boolean"}
    if p.kind == "word":
        return {"enum": list(p.words)} if p.words else _TEXT
    return _whole(p.least)


def _point(name: str, procedure: Procedure) -> Schema:
    known = procedure.parameters
    parameters = of_members({key: _parameter(p) for key, p in known.items()},
                            [key for key, p in known.items() if not p.optional])
    if "sizes" in known:
        parameters["oneOf"] = [{"required": ["bs"]}, {"required": ["sizes"]}]
    values = _some(_POSITIVE)
    members: dict[str, Schema] = {
        "procedure": {"const": name}, "parameters": parameters, "unit": {"const": procedure.unit},
        "values": values, "spread": _maybe(_FROM_0), "source": _maybe(_whole(0)),
        "percentiles": {"type": "object", "propertyNames": {"pattern": f"^(?:{SHARE})$"},
                        "additionalProperties": _some(_POSITIVE)}}
    if procedure.unit != TIME:
        members["percentiles"]["maxProperties"] = 0
    found = of_members(members, ["procedure", "parameters", "unit", "values"])
    if "diff" in getattr(known.get("place"), "words", ()):  # the difference of two times
        members["values"] = _some(_SIGNED)
        found["if"] = {"properties": {"parameters": {
            "properties": {"place": {"const": "diff"}}, "required": ["place"]}}}
        found["else"] = {"properties": {"values": values}}
    return found


def text() -> str:
    """The file."""
    source = of_members({"name": _TEXT, "sha256": _TEXT, "lines": _whole(0), "skipped": _whole(0),
                         "left_out": _whole(0)}, [])
    device = of_members({"name": _TEXT, "capacity": _whole(0), "host": _TEXT}, [])
    return published("measurement", "What somebody has measured on a device", of_members({
        "format": {"const": FORMAT}, "version": {"enum": list(READ)}, "device": device,
        "state": _TEXT, "made_by": _TEXT, "sources": {"type": "array", "items": source},
        "points": _some({"oneOf": [_point(*row) for row in PROCEDURES.items()]})},
        ["format", "version", "points"]))
