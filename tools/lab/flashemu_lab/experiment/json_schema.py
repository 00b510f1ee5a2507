# SPDX-License-Identifier: BSD-3-Clause
"""The JSON Schema of results.json, from the dataclasses by which the program reads it.

What no schema can say is left to the program: that rows are the combinations of the factors'
levels, and that the rest follows from the experiment.
"""

from __future__ import annotations

from ..core.json_schema import Schema, of_members, of_type, published
from .spec import Measure
from .table import FORMAT, STATUS, InFile, Row

_TEXT: Schema = {"type": "string"}


def text() -> str:
    """The file."""
    found = of_type(InFile)
    row = of_type(Row)
    row["properties"]["levels"] = of_type(dict[str, str])
    row["properties"]["status"] = {"enum": list(STATUS)}
    found["properties"].update({
        "format": {"const": FORMAT}, "name": _TEXT, "title": _TEXT,
        "conclusion": of_type(list[str]),
        "decisions": {"type": ["array", "null"], "items": {"type": "object"}},
        "factors": {"type": "array", "items": of_members(
            {"name": _TEXT, "label": _TEXT, "levels": of_type(list[str])},
            ["name", "label", "levels"])},
        "measures": {"type": "array", "items": of_type(Measure)},
        "rows": {"type": "array", "items": row}})
    return published("results", "What an experiment has found", found)
