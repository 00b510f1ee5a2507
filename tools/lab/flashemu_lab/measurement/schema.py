# SPDX-License-Identifier: BSD-3-Clause
"""What somebody has measured on a device, as a file: flashemu-measurement(5).

A measurement is a list of points in the order in which they were measured.  A point says which
procedure gave it, with its parameters, and every value that came out:

    {"procedure": "flashbench-open-au",
     "parameters": {"erasesize": 4194304, "open": 5, "random": false, "chunk": 65536},
     "unit": "bytes/s", "values": [4480000, 4510000, 4490000]}

The order matters, because a test leaves units open in the device, and the next test has to pay for
that.  Values of a point that was repeated are not averaged, so that everyone can see how much they
differ.  Sizes are in bytes, times in ns, and rates in bytes a second.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Mapping

from ..core.errors import LabError
from ..core.files import write_whole
from ..core.json_text import loads, shown, wrong

FORMAT = "flashemu-measurement"
VERSION = 1
RATE, TIME, COUNT = "bytes/s", "ns", "1"
# A larger file is no measurement.
MOST_BYTES = 64 << 20

Scalar = int | float | str | bool


@dataclass(frozen=True)
class Parameter:
    """What a parameter may be.

    kind      "size": a whole number of bytes or units, from `least` on; "flag": true or false;
              "word": one of `words`, or any text if `words` is empty.
    """

    kind: str
    optional: bool = False
    words: tuple[str, ...] = ()
    least: int = 1


@dataclass(frozen=True)
class Procedure:
    """A row of the table of procedures; flashemu-measurement(5) explains each."""

    unit: str
    parameters: Mapping[str, Parameter]


_SIZE, _FROM_0 = Parameter("size"), Parameter("size", least=0)
_MAYBE_SIZE, _FLAG = Parameter("size", True), Parameter("flag")
_MAYBE_FLAG = Parameter("flag", True)
_FIO = {"op": Parameter("word", words=("read", "write", "trim")),
        "pattern": Parameter("word", words=("sequential", "random")), "bs": _SIZE,
        "depth": _SIZE, "jobs": _SIZE, "direct": _MAYBE_FLAG, "share": _MAYBE_SIZE,
        "size": _MAYBE_SIZE, "job": Parameter("word", True), "queue": _MAYBE_FLAG}
_SEQ = {"bs": _SIZE, "size": _SIZE, "offset": Parameter("size", True, least=0)}
_LOAD = {"op": Parameter("word", words=("read", "write")),
         "pattern": Parameter("word", words=("sequential", "random")), "bs": _SIZE, "size": _SIZE,
         "offset": Parameter("size", True, least=0), "depth": Parameter("size", True),
         "program": Parameter("word", True), "queue": _MAYBE_FLAG}
_IOZONE = ("write", "rewrite", "read", "reread", "random-read", "random-write", "backward-read",
           "record-rewrite", "stride-read", "fwrite", "frewrite", "fread", "freread")

PROCEDURES: Mapping[str, Procedure] = {
    "flashbench-align": Procedure(TIME, {
        "align": _SIZE, "bs": _SIZE,
        "place": Parameter("word", words=("pre", "on", "post", "diff"))}),
    "flashbench-open-au": Procedure(RATE, {
        "erasesize": _SIZE, "open": _SIZE, "random": _FLAG, "chunk": _SIZE}),
    "flashbench-find-fat": Procedure(RATE, {
        "erasesize": _SIZE, "units": _SIZE, "unit": _FROM_0, "chunk": _SIZE}),
    "seq-read": Procedure(RATE, _SEQ),
    "seq-write": Procedure(RATE, _SEQ),
    "request": Procedure(TIME, {
        "op": Parameter("word", words=("read", "write", "trim")), "bs": _SIZE, "start": _FROM_0,
        "stride": _FROM_0, "count": _SIZE, "idle": Parameter("size", True, least=0),
        "depth": _MAYBE_SIZE, "flush": _MAYBE_FLAG, "median": _MAYBE_FLAG,
        "push": _MAYBE_SIZE, "push_start": Parameter("size", True, least=0)}),
    "fill": Procedure(RATE, {
        "bs": _SIZE, "start": _FROM_0, "idle": _FROM_0, "after": _FROM_0, "size": _SIZE}),
    "content": Procedure(COUNT, {
        "after": Parameter("word", words=("write", "trim")),
        "found": Parameter("word", words=("same", "elsewhere", "zeros", "ones", "other")),
        "first": _FROM_0, "last": _FROM_0, "distance": _MAYBE_SIZE}),
    "dd": Procedure(RATE, {
        "op": Parameter("word", words=("read", "write", "unknown")), "bytes": _SIZE,
        "bs": _MAYBE_SIZE, "offset": Parameter("size", True, least=0),
        "on": Parameter("word", True, ("device", "file"))}),
    "hdparm-t": Procedure(RATE, {"direct": _FLAG}),
    "load": Procedure(RATE, _LOAD),
    "load-latency": Procedure(TIME, _LOAD),
    "fio-rate": Procedure(RATE, _FIO),
    "fio-latency": Procedure(TIME, _FIO),
    "iozone": Procedure(RATE, {
        "test": Parameter("word", words=_IOZONE), "file": _SIZE, "bs": _SIZE,
        "direct": _FLAG, "fsync": _FLAG, "jobs": _MAYBE_SIZE}),
}


@dataclass(frozen=True)
class Point:
    """One procedure with its parameters, and what came out.

    parameters  in the order of the table
    values      at least one, in the unit of the procedure, in the order of the repetitions
    spread      the standard deviation if a program reports only that and the mean, else None
    source      index of `Measurement.sources`, or None
    """

    procedure: str
    parameters: tuple[tuple[str, Scalar], ...]
    values: tuple[float, ...]
    spread: float | None = None
    source: int | None = None

    @property
    def value(self) -> float:
        """The median of the values."""
        return median(self.values)

    @property
    def unit(self) -> str:
        return PROCEDURES[self.procedure].unit

    def text(self) -> str:
        """Such as "flashbench-open-au erasesize=4194304 open=5 random=no chunk=65536"."""
        words = [f"{k}={('no', 'yes')[v] if isinstance(v, bool) else v}"
                 for k, v in self.parameters]
        return " ".join([self.procedure, *words])


@dataclass(frozen=True)
class Source:
    """A file from which points came: its name, and how many of its lines said nothing."""

    name: str
    sha256: str
    lines: int
    skipped: int


@dataclass(frozen=True)
class Measurement:
    """A file.

    name       what the device is called, "" if nobody said so
    capacity   bytes, 0 if unknown
    state      what was said about the past of the device, such as "new" or "full"
    host       what the device was in, such as a reader
    made_by    the program that wrote the file
    """

    points: tuple[Point, ...]
    name: str = ""
    capacity: int = 0
    state: str = ""
    host: str = ""
    made_by: str = ""
    sources: tuple[Source, ...] = field(default=())


def make_point(procedure: str, values: list[float], **parameters: Scalar) -> Point:
    """A point with its parameters in the order of the table; LabError if it is none."""
    return _point({"procedure": procedure, "parameters": parameters,
                   "unit": PROCEDURES[procedure].unit, "values": values}, procedure)


def gather(points: list[Point]) -> tuple[Point, ...]:
    """The points with the values of equal ones together, in the order of the first ones."""
    found: dict[tuple[str, tuple[tuple[str, Scalar], ...]], Point] = {}
    for p in points:
        key = (p.procedure, p.parameters)
        old = found.get(key)
        found[key] = p if old is None else Point(
            p.procedure, p.parameters, old.values + p.values, old.spread, old.source)
    return tuple(found.values())


# --- reading ---

def load(path: Path) -> Measurement:
    """Reads a file; LabError names the member with a mistake, such as
    "my.json: points[3].values[0]: ..."."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise LabError(f"{path}: has more than {MOST_BYTES} bytes; that is no measurement")
        text = path.read_text(encoding="utf-8")
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}") from None
    except UnicodeDecodeError:
        raise LabError(f"{path}: is no text in UTF-8") from None
    return parse(text, str(path))


def digest(path: Path) -> str:
    """The SHA-256 of a file, after it has been read as a measurement; LabError as `load`."""
    load(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def parse(text: str, name: str) -> Measurement:
    """The measurement in a text; `name` is put in front of messages."""
    value = loads(text, name)
    try:
        return _measurement(value)
    except LabError as e:
        raise LabError(f"{name}: {e}") from None


def _object(value: object, path: str, known: set[str]) -> dict[str, object]:
    """An object with no other members than the known ones."""
    if not isinstance(value, dict):
        raise wrong(path, value, "an object")
    for key in value:
        if key not in known:
            raise LabError(f"{path}: unknown member {shown(key)}; allowed: "
                           f"{', '.join(sorted(known))}")
    return value


def _text(o: dict[str, object], key: str, path: str) -> str:
    value = o.get(key, "")
    if not isinstance(value, str):
        raise wrong(f"{path}.{key}".lstrip("."), value, "a text")
    return value


def _whole(value: object, path: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 63:
        raise wrong(path, value, f"a whole number from {least} to 2^63 - 1")
    return value


def _list(value: object, path: str) -> list[object]:
    if not isinstance(value, list):
        raise wrong(path, value, "a list")
    return value


def _measurement(value: object) -> Measurement:
    o = _object(value, "the file", {"format", "version", "device", "state", "made_by", "sources",
                                    "points"})
    if o.get("format") != FORMAT:
        raise wrong("format", o.get("format"), f'"{FORMAT}"')
    if o.get("version") != VERSION or isinstance(o.get("version"), bool):
        raise wrong("version", o.get("version"), f"{VERSION}, the only version that there is")
    device = _object(o.get("device", {}), "device", {"name", "capacity", "host"})
    sources = tuple(_source(s, f"sources[{i}]")
                    for i, s in enumerate(_list(o.get("sources", []), "sources")))
    points = tuple(_point(p, f"points[{i}]")
                   for i, p in enumerate(_list(o.get("points"), "points")))
    if not points:
        raise LabError("points: there are none; allowed: at least one")
    for i, p in enumerate(points):
        if p.source is not None and p.source >= len(sources):
            raise wrong(f"points[{i}].source", p.source,
                         f"an index of sources, which has {len(sources)} members")
    return Measurement(points, _text(device, "name", "device"),
                       _whole(device.get("capacity", 0), "device.capacity", 0),
                       _text(o, "state", ""), _text(device, "host", "device"),
                       _text(o, "made_by", ""), sources)


def _source(value: object, path: str) -> Source:
    o = _object(value, path, {"name", "sha256", "lines", "skipped"})
    return Source(_text(o, "name", path), _text(o, "sha256", path),
                  _whole(o.get("lines", 0), f"{path}.lines", 0),
                  _whole(o.get("skipped", 0), f"{path}.skipped", 0))


def _point(value: object, path: str) -> Point:
    o = _object(value, path, {"procedure", "parameters", "unit", "values", "spread", "source"})
    name = o.get("procedure")
    procedure = PROCEDURES.get(name) if isinstance(name, str) else None
    if procedure is None or not isinstance(name, str):
        raise wrong(f"{path}.procedure", name, ", ".join(PROCEDURES))
    if o.get("unit") != procedure.unit:
        raise wrong(f"{path}.unit", o.get("unit"), f'"{procedure.unit}" for {name}')
    parameters = _parameters(o.get("parameters"), f"{path}.parameters", procedure)
    signed = dict(parameters).get("place") == "diff"
    values = _list(o.get("values"), f"{path}.values")
    if not values:
        raise LabError(f"{path}.values: there are none; allowed: at least one number")
    spread = o.get("spread")
    source = o.get("source")
    return Point(
        name, parameters,
        tuple(_number(v, f"{path}.values[{i}]", signed) for i, v in enumerate(values)),
        None if spread is None else _number(spread, f"{path}.spread", False, True),
        None if source is None else _whole(source, f"{path}.source", 0))


def _number(value: object, path: str, signed: bool, zero: bool = False) -> float:
    """A finite number; greater than 0 if it is not `signed`, and 0 itself only with `zero`."""
    allowed = "a number" if signed else "a number of at least 0" if zero else \
        "a number greater than 0"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(path, value, allowed)
    if abs(value) >= 1e18 or not math.isfinite(value):
        raise wrong(path, value, f"{allowed}, below 10^18")
    if not signed and (value < 0 or (value == 0 and not zero)):
        raise wrong(path, value, allowed)
    return value


def _parameters(value: object, path: str, procedure: Procedure) -> tuple[
        tuple[str, Scalar], ...]:
    o = _object(value, path, set(procedure.parameters))
    found: list[tuple[str, Scalar]] = []
    for key, parameter in procedure.parameters.items():
        if key in o:
            found.append((key, _scalar(o[key], f"{path}.{key}", parameter)))
        elif not parameter.optional:
            raise LabError(f"{path}: {key} is missing")
    return tuple(found)


def _scalar(value: object, path: str, parameter: Parameter) -> Scalar:
    if parameter.kind == "flag":
        if not isinstance(value, bool):
            raise wrong(path, value, "true or false")
        return value
    if parameter.kind == "word":
        if not isinstance(value, str) or (parameter.words and value not in parameter.words):
            raise wrong(path, value, ", ".join(parameter.words) or "a text")
        return value
    return _whole(value, path, parameter.least)


# --- writing ---

def to_json(m: Measurement) -> str:
    """The file's text, a line for each point; `parse` gives the same measurement again."""
    device: dict[str, Scalar] = {"name": m.name, "capacity": m.capacity, "host": m.host}
    head = {"format": FORMAT, "version": VERSION,
            "device": {k: v for k, v in device.items() if v}, "state": m.state,
            "made_by": m.made_by,
            "sources": [{"name": s.name, "sha256": s.sha256, "lines": s.lines,
                         "skipped": s.skipped} for s in m.sources]}
    lines = [f" {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)},"
             for k, v in head.items() if v]
    points = []
    for p in m.points:
        o: dict[str, object] = {"procedure": p.procedure, "parameters": dict(p.parameters),
                                "unit": p.unit, "values": list(p.values)}
        if p.spread is not None:
            o["spread"] = p.spread
        if p.source is not None:
            o["source"] = p.source
        points.append("  " + json.dumps(o, ensure_ascii=False))
    return "\n".join(["{", *lines, ' "points": [', ",\n".join(points), " ]", "}"]) + "\n"


def save(m: Measurement, path: Path) -> None:
    """Writes the file, whole or not at all; LabError if the host cannot."""
    write_whole(path, to_json(m))
