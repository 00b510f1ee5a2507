# SPDX-License-Identifier: BSD-3-Clause
"""Measurements as the tests of `verify --against` write them, and what the tool answers."""

import json

from flashemu_tool import SLC_PROFILE, call, good_json, write


def point(procedure, values, measured_in="bytes/s", **parameters):
    return {"procedure": procedure, "parameters": parameters, "unit": measured_in,
            "values": values if isinstance(values, list) else [values]}


def document(*points, **more):
    return json.dumps({"format": "flashemu-measurement", "version": 1, "points": points, **more})


def against(*points, device="card.ini", args=()):
    """The points that the tool prints, and the JSON."""
    write("my.json", document(*points))
    out = good_json("verify", device, "--against", "my.json", "--json", *args)
    return out["points"], out


def small_card():
    return write("card.ini", (SLC_PROFILE % "64M").replace("[fidelity]", ""))


def sets(lines, device="card.ini", code=0, args=()):
    """The answers to lines of a search, or with another code the message."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    write("sets.jsonl", text)
    got, out, err = call("verify", device, "--against", "my.json", "--sets", "sets.jsonl", *args)
    assert got == code, (got, out, err)
    return err if code else [json.loads(line) for line in out.splitlines()]
