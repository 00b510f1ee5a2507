# SPDX-License-Identifier: BSD-3-Clause
"""What somebody has measured on a device, as a file: flashemu-measurement(5).

A measurement is a list of points in the order in which they were measured.  A point says which
procedure gave it, with its parameters, and every value that came out:

    {"procedure": "flashbench-open-au",
     "parameters": {"erasesize": 4194304, "open": 5, "random": false, "chunk": 65536},
     "unit": "bytes/s", "values": [4480000, 4510000, 4490000]}

A parameter that is missing was not said, which is another thing than its usual value.  The order
matters, because a test leaves units open in the device, and the next test has to pay for
that.  Values of a point that was repeated are not averaged, so that everyone can see how much they
differ.  Sizes are in bytes, times in ns, and rates in bytes a second.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Iterable, Iterator, Mapping

from ..core.errors import LabError
from ..core.files import write_whole
from ..core.json_text import loads, shown, wrong

FORMAT = "flashemu-measurement"
# Files of version 1 have no percentiles and fewer parameters; whoever reads 2 reads 1.
VERSION, READ = 2, (1, 2)
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
_MAYBE_FROM_0, _MAYBE_WORD = Parameter("size", True, least=0), Parameter("word", True)
_SYNC = Parameter("word", True, ("sync", "dsync"))
_FIO = {"op": Parameter("word", words=("read", "write", "trim")),
        "pattern": Parameter("word", words=("sequential", "random")), "bs": _MAYBE_SIZE,
        "depth": _SIZE, "jobs": _SIZE, "direct": _MAYBE_FLAG, "share": _MAYBE_SIZE,
        "size": _MAYBE_SIZE, "job": _MAYBE_WORD, "queue": _MAYBE_FLAG,
        "sizes": _MAYBE_WORD, "offset": _MAYBE_FROM_0, "percent": _MAYBE_SIZE,
        "gap": _MAYBE_SIZE, "distribution": _MAYBE_WORD, "shared": _MAYBE_FLAG,
        "fsync": _MAYBE_SIZE, "fdatasync": _MAYBE_SIZE, "sync": _SYNC, "end_fsync": _MAYBE_FLAG,
        "rate": _MAYBE_SIZE, "beside": _MAYBE_SIZE}
_SEQ = {"bs": _SIZE, "size": _SIZE, "offset": Parameter("size", True, least=0)}
_LOAD = {"op": Parameter("word", words=("read", "write")),
         "pattern": Parameter("word", words=("sequential", "random")), "bs": _SIZE,
         "size": _MAYBE_SIZE, "offset": _MAYBE_FROM_0, "depth": _MAYBE_SIZE, "jobs": _MAYBE_SIZE,
         "program": _MAYBE_WORD, "queue": _MAYBE_FLAG}
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
        "bs": _MAYBE_SIZE, "offset": _MAYBE_FROM_0,
        "on": Parameter("word", True, ("device", "file")), "direct": _MAYBE_FLAG,
        "sync": _SYNC, "end_fsync": _MAYBE_FLAG}),
    "hdparm-t": Procedure(RATE, {"direct": _FLAG}),
    "load": Procedure(RATE, _LOAD),
    "load-latency": Procedure(TIME, _LOAD),
    "fio-rate": Procedure(RATE, _FIO),
    "fio-latency": Procedure(TIME, _FIO),
    "fio-sync-latency": Procedure(TIME, _FIO),
    "iozone": Procedure(RATE, {
        "test": Parameter("word", words=_IOZONE), "file": _SIZE, "bs": _SIZE,
        "direct": _MAYBE_FLAG, "fsync": _MAYBE_FLAG, "jobs": _MAYBE_SIZE, "sync": _SYNC}),
}


@dataclass(frozen=True)
class Point:
    """One procedure with its parameters, and what came out.

    parameters  in the order of the table
    values      at least one, in the unit of the procedure, in the order of the repetitions
    spread      the standard deviation if a program reports only that and the mean, else None
    source      index of `Measurement.sources`, or None
    percentiles of a latency, such as ("99.9", (1.5e6, 1.7e6)): for each repetition that has it
    """

    procedure: str
    parameters: tuple[tuple[str, Scalar], ...]
    values: tuple[float, ...]
    spread: float | None = None
    source: int | None = None
    percentiles: tuple[tuple[str, tuple[float, ...]], ...] = ()

    @property
    def value(self) -> float:
        """The median of the values."""
        return self.values[0] if len(self.values) == 1 else median(self.values)

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
    """A file from which points came: its name, how many of its lines said nothing, and how many
    results were left out."""

    name: str
    sha256: str
    lines: int
    skipped: int
    left_out: int = 0


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


def each(points: Iterable[Point], *procedures: str,
         **wanted: Scalar) -> Iterator[tuple[dict[str, Scalar], float]]:
    """Parameters and value of the points of these procedures that have these parameters."""
    for p in points:
        if p.procedure in procedures:
            how = dict(p.parameters)
            if all(name in how and how[name] == value for name, value in wanted.items()):
                yield how, p.value


def by_parameters(points: list[Point]) -> tuple[Point, ...]:
    """The points with the values of equal ones together, in the order of the first ones."""
    found: dict[tuple[str, tuple[tuple[str, Scalar], ...]], Point] = {}
    for p in points:
        key = (p.procedure, p.parameters)
        old = found.get(key)
        found[key] = p if old is None else replace(
            old, values=old.values + p.values, percentiles=_together(old, p))
    return tuple(found.values())


def _together(a: Point, b: Point) -> tuple[tuple[str, tuple[float, ...]], ...]:
    found = dict(a.percentiles)
    for share, values in b.percentiles:
        found[share] = found.get(share, ()) + values
    return tuple(sorted(found.items(), key=lambda item: float(item[0])))


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
    if text.strip() and text.lstrip()[0] not in "{[":
        raise LabError(f"{name}: is no measurement, which begins with a '{{'; `flashemu-lab "
                       "import` makes one of what a benchmark has printed")
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
    if isinstance(value, dict) and "format" not in value:
        raise LabError(f'is no measurement: there is no "format": "{FORMAT}" in it')
    o = _object(value, "the file", {"format", "version", "device", "state", "made_by", "sources",
                                    "points"})
    if o.get("format") != FORMAT:
        raise wrong("format", o.get("format"), f'"{FORMAT}"')
    if o.get("version") not in READ or isinstance(o.get("version"), bool):
        raise wrong("version", o.get("version"), " or ".join(map(str, READ)))
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
    counts = ("lines", "skipped", "left_out")
    o = _object(value, path, {"name", "sha256", *counts})
    return Source(_text(o, "name", path), _text(o, "sha256", path),
                  *(_whole(o.get(key, 0), f"{path}.{key}", 0) for key in counts))


def _point(value: object, path: str) -> Point:
    o = _object(value, path, {"procedure", "parameters", "unit", "values", "spread", "source",
                              "percentiles"})
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
        None if source is None else _whole(source, f"{path}.source", 0),
        _percentiles(o.get("percentiles", {}), f"{path}.percentiles", procedure))


SHARE = r"[0-9]{1,2}(\.[0-9]{1,4})?|100"  # of percentiles


def _percentiles(value: object, path: str, procedure: Procedure) -> tuple[
        tuple[str, tuple[float, ...]], ...]:
    if not isinstance(value, dict) or (value and procedure.unit != TIME):
        raise wrong(path, value, "an object, of a point in ns")
    found = []
    for share, times in value.items():
        if not re.fullmatch(SHARE, share):
            raise LabError(f"{path}: {shown(share)}; allowed: a percentage such as 99.9")
        at = f"{path}.{share}"
        if not _list(times, at):
            raise LabError(f"{at}: there are none; allowed: at least one number")
        found.append((share, tuple(_number(v, f"{at}[{i}]", False)
                                   for i, v in enumerate(_list(times, at)))))
    return tuple(sorted(found, key=lambda item: float(item[0])))


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
    if "sizes" in procedure.parameters and ("bs" in o) == ("sizes" in o):
        raise LabError(f"{path}: bs or sizes; allowed: one of them")
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
                         "skipped": s.skipped, "left_out": s.left_out} for s in m.sources]}
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
        if p.percentiles:
            o["percentiles"] = {share: list(times) for share, times in p.percentiles}
        points.append("  " + json.dumps(o, ensure_ascii=False))
    return "\n".join(["{", *lines, ' "points": [', ",\n".join(points), " ]", "}"]) + "\n"


def save(m: Measurement, path: Path) -> None:
    """Writes the file, whole or not at all; LabError if the host cannot."""
    write_whole(path, to_json(m))
