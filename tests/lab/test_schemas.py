#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The published JSON Schemas: they are those of the program's tables, and they allow and refuse
what the program does.

FLASHEMU_UPDATE=1 writes them anew.
"""

import copy
import json
import os

from flashemu_lab_bench import LAB, SMALL, good, good_json, read, write
from flashemu_script import run, skip
try:
    from jsonschema import Draft202012Validator
except ImportError:
    skip("no Python module jsonschema")

from flashemu_lab.core.errors import LabError
from flashemu_lab.experiment import json_schema as results
from flashemu_lab.experiment.table import from_json
from flashemu_lab.measurement import json_schema as measurement
from flashemu_lab.measurement import schema

FOLDER = os.path.join(os.path.dirname(LAB), "flashemu_lab/schemas")
MADE = {"measurement": measurement.text, "results": results.text}
POINTS = [
    {"procedure": "flashbench-align", "unit": "ns", "values": [-5, 7.5],
     "parameters": {"align": 4096, "bs": 512, "place": "diff"}},
    {"procedure": "fio-latency", "unit": "ns", "values": [3e5], "spread": 0, "source": 0,
     "percentiles": {"99.9": [8e6], "100": [9e6]},
     "parameters": {"op": "write", "pattern": "random", "bs": 4096, "depth": 2, "jobs": 1,
                    "direct": True, "sync": "dsync"}},
    {"procedure": "seq-read", "unit": "bytes/s", "values": [19e6],
     "parameters": {"bs": 65536, "size": 1 << 30, "offset": 0}}]
FILE = {"format": "flashemu-measurement", "version": 2, "state": "new", "made_by": "a program",
        "device": {"name": "x", "capacity": 8 << 30, "host": "a reader"}, "points": POINTS,
        "sources": [{"name": "a.log", "sha256": "0" * 64, "lines": 3, "skipped": 1, "left_out": 1}]}
WRONG = (None, "", "x", -1, 0, 1.5, 7, 10**30, True, [], {}, [[]], {"a": 1}, [1, "a", None])


def validator(name):
    made = json.loads(MADE[name]())
    Draft202012Validator.check_schema(made)
    return Draft202012Validator(made)


def test_the_files_are_those_of_the_tables():
    for name, text in MADE.items():
        path = os.path.join(FOLDER, f"{name}.json")
        if os.environ.get("FLASHEMU_UPDATE") == "1":
            write(path, text())
        assert read(path) == text(), f"{path}: FLASHEMU_UPDATE=1 writes it anew"


def places(value, at=()):
    """The paths of all members of a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if \
        isinstance(value, list) else ()
    for key, each in inner:
        yield (*at, key)
        yield from places(each, (*at, key))


def changed(value):
    """A value with one member replaced, removed, or another one added; and where that is."""
    for at in places(value):
        for other in (*WRONG, "removed", "added"):
            made = copy.deepcopy(value)
            inner = made
            for key in at[:-1]:
                inner = inner[key]
            if other == "removed":
                del inner[at[-1]]
            elif other == "added" and isinstance(inner, dict):
                inner["other"] = 1
            else:
                inner[at[-1]] = other
            yield at, made


def takes(read_it, value):
    try:
        read_it(json.dumps(value), "x")
    except LabError:
        return False
    return True


def test_measurements():
    """The schema and the program agree about each change of a file that has all members."""
    known, tried = validator("measurement"), [0, 0]
    assert known.is_valid(FILE) and takes(schema.parse, FILE)
    assert known.is_valid(json.loads(schema.to_json(schema.parse(json.dumps(FILE), "x"))))
    for at, value in changed(FILE):
        taken = takes(schema.parse, value)
        tried[taken] += 1
        if at[-1] in ("source", 0) or at[0] == "sources":  # an index of sources, and which there are
            assert known.is_valid(value) or not taken, (at, value)
        else:
            assert known.is_valid(value) == taken, (at, value, taken)
    assert min(tried) > 50, tried
    for name in schema.PROCEDURES:  # each has its own members
        assert not known.is_valid({**FILE, "points": [{**POINTS[2], "procedure": name,
                                                       "parameters": {"nothing": 1}}]}), name
    both = {**POINTS[1], "parameters": {**POINTS[1]["parameters"], "sizes": "4k-8k"}}
    assert not known.is_valid({**FILE, "points": [both]})


def test_results():
    """What run writes fits, and what does not fit is refused."""
    known, tried = validator("results"), [0, 0]
    write("x.toml", SMALL)
    found = good_json("run", "x.toml")
    assert known.is_valid(found), list(known.iter_errors(found))
    found["rows"] = found["rows"][:1]
    for at, value in changed(found):
        if not known.is_valid(value) and at[0] not in ("name", "title", "conclusion", "factors",
                                                       "measures", "decisions", "replay"):
            assert not takes(from_json, value), (at, value)
            tried[0] += 1
        tried[1] += 1
    assert tried[0] > 100 and tried[1] > tried[0], tried


def test_the_manual_names_them():
    for page, name in (("flashemu-measurement.5", "measurement"), ("flashemu-lab.1", "results")):
        text = read(os.path.join(os.path.dirname(LAB), "../../docs/man", page))
        assert f"flashemu_lab/schemas/{name}.json" in text, page
    assert good("list")  # the program itself needs no jsonschema


run(globals())
